/*
 * flow_rules: compiled FlowSchemas and PriorityLevelConfigurations, which give the level and the flow of a request.
 *
 * Of the schemas that match, the one with the lowest precedence counts, then the first by name; a schema whose level is
 * missing matches nothing. Requests that no schema matches belong to catch-all, which exists even without objects.
 */
#ifndef BERTH_SERVER_FLOW_RULES_H
#define BERTH_SERVER_FLOW_RULES_H

#include "mirror/mirror.h"
#include "server/kit/request.h"

enum { FLOW_SCHEMAS_MAX = 1000, FLOW_LEVELS_MAX = 200 };

struct flow_level_rule {
    struct str name, uid; /* uid: empty for one that is not stored */
    bool exempt, rejects;
    int64_t shares;
    int64_t lends;                  /* percent of its seats, while they are free */
    int64_t borrows;                /* percent of its seats, of others; -1: any number */
    size_t flow_waits, level_waits; /* how many requests of a flow, and of all of them, may wait */
};

struct flow_schema_rule {
    struct str name, uid;
    size_t level; /* index */
    int64_t precedence;
    enum { FLOW_ONE, FLOW_BY_USER, FLOW_BY_NAMESPACE } distinguisher;
    yyjson_val *rules;
};

struct flow_rules {
    struct arena arena;
    struct flow_level_rule levels[FLOW_LEVELS_MAX];
    size_t n_levels;
    struct flow_schema_rule *schemas; /* in the order in which they are tried */
    size_t n_schemas;
};

/* ERR_NOMEM; then *ret need not be released. */
int flow_rules_make(const struct mirror *m, struct flow_rules *ret);
void flow_rules_release(struct flow_rules *r);

/* Never NULL. */
const struct flow_schema_rule *flow_rules_match(const struct flow_rules *r,
                                                const struct api_request *q);
/* What tells the flow from others of its level: the schema, and the user (as user_account has it) or namespace. A view
 * of the arena. */
struct str flow_rules_key(const struct flow_schema_rule *s, const struct api_request *q,
                          struct arena *a);

/* The objects that Kubernetes has from the start, as JSON: each(ctx, json), until it fails. */
int flow_rules_defaults(int (*each)(void *ctx, struct str json, struct err *err), void *ctx,
                        struct err *err);

#endif

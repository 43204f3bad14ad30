/*
 * cel: the rules of x-kubernetes-validations: parsed when a schema is compiled, evaluated when an object is written.
 *
 * An expression language of our own making inside the bounds that docs/custom-resources.md names. A definition with a
 * rule beyond them is refused; in one that was stored before, such a rule is `unsupported`: it is named in a warning
 * and never evaluated. Pure, with a budget of steps. Types
 * are checked as values meet, not beforehand.
 *
 *     text --cel_parse--> tree (cel_tree.h) --cel_eval--> value
 */
#ifndef BERTH_API_CEL_H
#define BERTH_API_CEL_H

#include "api/walk/causes.h"
#include "wire/json/json.h"

struct cel_expr;
struct cel_value;
struct crd_node;

struct cel_rule {
    struct str rule, message, reason, field_path; /* as written */
    const struct cel_expr *expr;                  /* NULL: unsupported */
    const struct cel_expr *message_expr;          /* or NULL */
    struct str unsupported; /* why it is not enforced; NUL-terminated; empty: it is */
    bool uses_old, optional_old;
};

/* Compiles the array `rules` of a schema; everything in the arena. ERR_NOMEM. */
int cel_rules_new(struct arena *a, yyjson_val *rules, struct cel_rule **ret, size_t *ret_n);

/* One expression in the arena. ERR_SYNTAX: none; ERR_UNSUPPORTED: beyond us; ERR_TOO_LARGE, ERR_NOMEM. */
int cel_parse(struct arena *a, struct str text, const struct cel_expr **ret, struct err *err);
/* Whether a variable may be called so. */
bool cel_is_name(struct str s);
/* Whether it names this variable. */
bool cel_uses(const struct cel_expr *e, const char *name);

/* What an authorizer is asked, and says. */
struct cel_access_ask {
    struct str path; /* of no resource; else the rest */
    struct str group, resource, subresource, ns, name, verb;
    struct str account_ns, account; /* asked for this ServiceAccount; empty: for who asks */
};
struct cel_access_answer {
    bool allowed;
    struct str reason, error;
};

/* `variables` of a policy: each is evaluated when it is first read. */
struct cel_variable {
    struct str name;
    const struct cel_expr *expr;
};
struct cel_variables {
    const struct cel_variable *v;
    size_t n;
    struct cel_value **made; /* n of them, NULL at first: what was evaluated */
};

/* A name that an expression may use. */
enum cel_bound { CEL_BOUND_JSON, CEL_BOUND_VARIABLES, CEL_BOUND_AUTHORIZER };
struct cel_bind {
    const char *name;
    enum cel_bound what;
    yyjson_val *json; /* JSON: NULL is null */
};
enum { CEL_BINDS = 8 };

/* What an evaluation may see and spend. */
struct cel_input {
    const struct cel_bind *binds; /* at most CEL_BINDS; NULL: self and old are what there is */
    size_t n_binds;
    const struct cel_variables *variables;
    yyjson_val
        *request_access; /* of authorizer.requestResource: group, resource, subresource, ... */
    void (*access)(void *ctx, const struct cel_access_ask *q, struct arena *a,
                   struct cel_access_answer *ret);
    void *access_ctx;
    yyjson_val *self, *old;      /* old: NULL when there is none */
    const struct crd_node *node; /* of both; may be NULL */
    bool optional_old;           /* oldSelf is an optional value */
    struct arena *arena;         /* for what is made on the way */
    size_t steps; /* spent so far; the limit of the object holds for all rules together */
    size_t limit;
};
enum cel_outcome { CEL_FALSE, CEL_TRUE, CEL_ERROR, CEL_TOO_LONG };
/* A rule: whether it holds; for CEL_ERROR *ret_text gets why it could not be told. */
enum cel_outcome cel_check(const struct cel_expr *e, struct cel_input *in, struct str *ret_text);
/* A message: false when it is no text or could not be made. */
bool cel_message(const struct cel_expr *e, struct cel_input *in, struct str *ret);
/* The same for a value that may be null (then it is empty) and of any length. ret_text as of cel_check. */
enum cel_outcome cel_text(const struct cel_expr *e, struct cel_input *in, struct str *ret,
                          struct str *ret_text);
/* The value as JSON in d, with the names that its members have in documents. */
enum cel_outcome cel_json(const struct cel_expr *e, struct cel_input *in, yyjson_mut_doc *d,
                          yyjson_mut_val **ret, struct str *ret_text);

#endif

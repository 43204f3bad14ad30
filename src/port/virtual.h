/*
 * virtual: resources that are computed when read and never stored (queue positions, explanations, previews).
 *
 * The API server asks, after authentication, authorization and, for creates, decoding, pruning and defaulting by the
 * kind's table; whoever can answer (control) adds itself to the registry that world hands to both. Everything happens
 * on the loop thread; an answer may come at once or later.
 *
 *     struct virtual_registry *r = virtual_new();       world; before server and control, freed after both
 *     virtual_add(r, &me->source);                      a controller, in its _new
 *     virtual_remove(r, &me->source);                   in its _free: what it was asked and has not answered is
 *                                                       answered with ERR_UNAVAILABLE by itself, before
 */
#ifndef BERTH_PORT_VIRTUAL_H
#define BERTH_PORT_VIRTUAL_H

#include "api/schema/kind.h"
#include "base/str.h"

struct virtual_registry;
struct virtual_call;

struct virtual_param {
    struct str key, value;
};

/* What is asked; it and all it points to stay valid until `done` was called or `cancel` returned. */
struct virtual_ask {
    const char *verb;        /* "get", "list", "create" */
    const struct kind *kind; /* of the resource in the path */
    struct str version;      /* of the path: "v1beta2" */
    struct str subresource;  /* "pendingworkloads", or empty */
    struct str ns, name;     /* empty where there is none */
    struct str body;         /* create: JSON of the object, storage version */
    const struct virtual_param *query;
    size_t n_query;
    /* Berth's own admission alone says it, no request: what fits is kept for the object of this name for a moment. */
    struct str hold;
    struct str user; /* who asks */
    const struct str *groups;
    size_t n_groups;
    /* May the asker do this as well? ns and name may be empty (ns: in the whole cluster); "reservations/manage" is a
     * subresource. */
    bool (*may)(const struct virtual_ask *q, const char *verb, const char *group,
                const char *resource, struct str ns, struct str name);
    void *may_ctx;
};

/* code 0: json is the answer, with apiVersion and kind, borrowed. Else the error, for a Status. */
typedef void virtual_done(void *ctx, int code, struct str json, const struct err *err);

struct virtual_source {
    const char *group, *resource, *subresource; /* static; subresource "" for none */
    /* 0: done(ctx, ...) comes exactly once, perhaps inside ask (then *ret is left as it was); *ret can be cancelled
     * until then. Otherwise an error, and done does not come: ERR_NOT_FOUND, ERR_TOO_MANY, ERR_INVALID, ... */
    int (*ask)(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done, void *ctx,
               struct virtual_call **ret, struct err *err);
    void (*cancel)(struct virtual_source *s,
                   struct virtual_call *c); /* done does not come any more */
    struct virtual_source *next;            /* the registry's */
};

struct virtual_registry *virtual_new(void); /* NULL: out of memory */
void virtual_free(struct virtual_registry *r);
void virtual_add(struct virtual_registry *r, struct virtual_source *s);
void virtual_remove(struct virtual_registry *r,
                    struct virtual_source *s); /* no-op when it is not there */
struct virtual_source *virtual_find(const struct virtual_registry *r, struct str group,
                                    struct str resource, struct str subresource);
/* The first value of a parameter, or empty. */
struct str virtual_param(const struct virtual_ask *q, const char *key);

#endif

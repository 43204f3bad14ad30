/*
 * keys: an interface of the gateway that finds the sender of a request by its bearer token.
 *
 * The store of keys implements it; the gateway calls it on its workers' threads, concurrently, once for each request.
 * An implementation answers from memory and never blocks. It sees the token only during the call and keeps at most its
 * SHA-256; the gateway writes the token nowhere.
 *
 * A key that was found stays valid until it is released, even if it is revoked meanwhile: running requests continue,
 * the next one is refused. The gateway calls `find` for every request, so a revocation takes effect as soon as `find`
 * knows of it.
 */
#ifndef BERTH_GATEWAY_KEYS_H
#define BERTH_GATEWAY_KEYS_H

#include <stdint.h>

#include "gateway/routes.h"

struct gateway_key {
    uint64_t
        number; /* not 0; of this key as long as it exists: its limits and its share are kept by it */
    struct str name;    /* for logs and metrics: of the object, never of the token */
    struct str subject; /* who: a user, or "system:serviceaccount:NAMESPACE:NAME" */
    struct str
        project; /* who pays, and the namespace in which names of models are looked up first */
    const struct str *projects; /* further namespaces whose models it may use; "*": any */
    size_t n_projects;
    const struct str
        *models; /* names, or patterns with one '*' at the end; none: all of its projects */
    size_t n_models;
    struct routes_limits limits;         /* of the key */
    struct routes_limits project_limits; /* of the project: the same in each of its keys */
    int32_t weight;                      /* of the project's share when busy; 1 to 10000 */
    int32_t priority;                    /* is added to the model's */
    int64_t expires_s;                   /* since 1970; 0: never */
};

enum gateway_key_found {
    GATEWAY_KEY_FOUND,
    GATEWAY_KEY_UNKNOWN, /* 401: none, or revoked */
    GATEWAY_KEY_EXPIRED, /* 401, and says so */
    GATEWAY_KEY_ASKING,  /* a TokenReview runs: the worker calls again every 10 ms, for 5 s */
    GATEWAY_KEY_BUSY,    /* 503: whose token it is cannot be found out now */
};

struct gateway_keys {
    /* token: what follows "Bearer " (or the value of x-api-key); empty when there was none. With GATEWAY_KEY_FOUND,
     * *ret is the caller's until `release`. now_s: since 1970. */
    enum gateway_key_found (*find)(struct gateway_keys *k, struct str token, int64_t now_s,
                                   const struct gateway_key **ret);
    void (*release)(struct gateway_keys *k, const struct gateway_key *key);
};

static inline bool gateway_key_matches(struct str pattern, struct str name) {
    return pattern.n > 0 && pattern.p[pattern.n - 1] == '*'
               ? str_starts(name, str_head(pattern, pattern.n - 1))
               : str_eq(pattern, name);
}

/* Whether the key may use the model: its project is the key's or one of `projects`, and its name, or the alias under
 * which it was asked for, matches one of `models`, if there are any. */
static inline bool gateway_key_may(const struct gateway_key *key, const struct routes_model *m,
                                   const struct routes_alias *alias) {
    bool project = str_eq(key->project, m->project), model = key->n_models == 0;
    for (size_t i = 0; i < key->n_projects && !project; i++) {
        project = gateway_key_matches(key->projects[i], m->project);
    }
    for (size_t i = 0; i < key->n_models && !model; i++) {
        model = gateway_key_matches(key->models[i], m->name) ||
                (alias && gateway_key_matches(key->models[i], alias->name));
    }
    return project && model;
}

/* What the key means by a name: as routes_find says for its project; where several projects have a model of that
 * name, the one which the key may use, so that others' models are no obstacle. None, or two of them: ROUTES_AMBIGUOUS.
 * Whether it may use what was found is not looked at otherwise. key may be NULL. */
static inline enum routes_answer gateway_key_find(const struct routes *r,
                                                  const struct gateway_key *key, struct str name,
                                                  struct routes_found *ret) {
    struct routes_found f;
    size_t n = 0;
    enum routes_answer a = routes_find(r, key ? key->project : STR(""), name, ret);
    for (size_t i = 0; a == ROUTES_AMBIGUOUS && key && i < key->n_projects; i++) {
        struct str project = key->projects[i];
        if (routes_find(r, project, name, &f) == ROUTES_FOUND &&
            str_eq(f.model->project, project) && gateway_key_may(key, f.model, f.alias)) {
            *ret = f;
            n++;
        }
    }
    return n == 1 ? ROUTES_FOUND : a;
}

#endif

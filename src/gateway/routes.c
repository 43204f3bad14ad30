/*
 * routes: the table of models. See routes.h.
 *
 * Two maps: "project/name" to the model, and the bare name to the model or, when several projects have it, to a mark
 * that says so. Aliases are in both like names.
 */
#include "gateway/routes.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/route/bucket.h"
#include "core/route/endpoint.h"

struct routes_name { /* what the maps hold */
    size_t place;    /* of the model */
    const struct routes_alias *alias;
    bool ambiguous;
};

VEC(routes_vec, const struct routes_model *);

struct routes {
    atomic_size_t refs;
    struct arena arena;
    struct routes_vec models;
    struct map full, bare; /* "project/name"; name */
};

struct routes *routes_new(void) {
    struct routes *r = mem_zalloc(sizeof(*r));
    if (r) {
        atomic_init(&r->refs, 1);
        arena_init(&r->arena, ROUTES_BYTES_MAX);
        map_init(&r->full);
        map_init(&r->bare);
    }
    return r;
}

struct routes *routes_ref(struct routes *r) {
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

void routes_unref(struct routes *r) {
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
        map_release(&r->full);
        map_release(&r->bare);
        routes_vec_release(&r->models);
        arena_release(&r->arena);
        mem_free(r);
    }
}

/* ---- checks ---- */

#define SERVED "at most 512 characters without blanks and parts . or .."

static int bad(struct err *err, const struct routes_model *m, const char *field, const char *want) {
    return err_set(err, ERR_INVALID, "model %.*s: %s: must be %s", STR_ARG(m->name), field, want);
}

static bool name_ok(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f) {
            return false;
        }
    }
    return s.n > 0 && s.n <= ROUTES_NAME_MAX;
}

/* What servers call a model also becomes a part of their path: whole parts, none of which leads up. Empty: the
 * client's name. */
static bool served_ok(struct str s) {
    struct str rest = s, part;
    while (str_next(&rest, '/', &part)) {
        if (str_is(part, ".") || str_is(part, "..")) {
            return false;
        }
    }
    return s.n == 0 || name_ok(s);
}

static bool is_ip(struct str s) {
    char text[64];
    unsigned char to[16];
    return str_copy(s, text, sizeof(text)) &&
           (inet_pton(AF_INET, text, to) == 1 || inet_pton(AF_INET6, text, to) == 1);
}

static int check_endpoints(const struct routes_model *m, struct err *err) {
    size_t n = 0;
    for (size_t b = 0; b < m->n_backends; b++) {
        const struct routes_backend *x = &m->backends[b];
        if (x->weight < 0 || x->weight > 1000000) {
            return bad(err, m, "backends.weight", "0 to 1000000");
        }
        if (!served_ok(x->served)) {
            return bad(err, m, "backends.served", SERVED);
        }
        for (size_t i = 0; i < x->n_endpoints; i++) {
            const struct routes_endpoint *e = &x->endpoints[i];
            if (e->id == 0 || e->port == 0 || e->limit < 0) {
                return bad(err, m, "endpoints", "each with id and port, and no limit below 0");
            }
            if (!is_ip(e->address)) {
                return err_set(err, ERR_INVALID,
                               "model %.*s: endpoints.address: %.*s is not an IP address",
                               STR_ARG(m->name), STR_ARG(e->address));
            }
            n++;
        }
    }
    return n <= ENDPOINTS_MAX ? 0 : bad(err, m, "endpoints", "at most 1024");
}

static int check(const struct routes *r, const struct routes_model *m, struct err *err) {
    if (!name_ok(m->name)) {
        return bad(err, m, "name", "1 to 512 characters without blanks");
    }
    if (m->project.n > 253) {
        return bad(err, m, "project", "at most 253 characters");
    }
    for (size_t i = 0; i < m->n_aliases; i++) {
        if (!name_ok(m->aliases[i].name)) {
            return bad(err, m, "aliases.name", "1 to 512 characters without blanks");
        }
        if (!served_ok(m->aliases[i].served)) {
            return bad(err, m, "aliases.served", SERVED);
        }
    }
    if (r->models.n >= ROUTES_MODELS_MAX) {
        return err_set(err, ERR_TOO_LARGE, "there are %d models already", ROUTES_MODELS_MAX);
    }
    if (m->n_aliases > ROUTES_ALIASES_MAX) {
        return bad(err, m, "aliases", "at most 256");
    }
    if (m->n_backends > ENDPOINT_GROUPS_MAX) {
        return bad(err, m, "backends", "at most 8");
    }
    const struct routes_limits *l = &m->limits;
    if (l->requests < 0 || l->tokens < 0 || l->streams < 0 || l->requests > BUCKET_LIMIT_MAX ||
        l->tokens > BUCKET_LIMIT_MAX) {
        return bad(err, m, "limits", "0 to 1000000000");
    }
    if (m->connect_ms < 0 || m->first_byte_ms < 0 || m->idle_ms < 0 || m->hold_ms < 0) {
        return bad(err, m, "timeouts", "0 or more");
    }
    return check_endpoints(m, err);
}

/* ---- copies ---- */

static const struct routes_endpoint *copy_endpoints(struct arena *a,
                                                    const struct routes_backend *b) {
    struct routes_endpoint *v = ARENA_ARRAY(a, struct routes_endpoint, b->n_endpoints);
    for (size_t i = 0; v && i < b->n_endpoints; i++) {
        v[i] = b->endpoints[i];
        v[i].name = arena_str(a, v[i].name);
        v[i].address = arena_str(a, v[i].address);
        v[i].zone = arena_str(a, v[i].zone);
    }
    return v;
}

static const struct routes_backend *copy_backends(struct arena *a, const struct routes_model *m) {
    struct routes_backend *v = ARENA_ARRAY(a, struct routes_backend, m->n_backends);
    for (size_t i = 0; v && i < m->n_backends; i++) {
        v[i] = m->backends[i];
        v[i].name = arena_str(a, v[i].name);
        v[i].served = arena_str(a, v[i].served);
        v[i].endpoints = copy_endpoints(a, &m->backends[i]);
    }
    return v;
}

static struct routes_model *copy(struct arena *a, const struct routes_model *m) {
    struct routes_model *c = ARENA_NEW(a, struct routes_model);
    if (c == NULL) {
        return NULL;
    }
    *c = *m;
    c->name = arena_str(a, m->name);
    c->project = arena_str(a, m->project);
    c->service = arena_str(a, m->service);
    c->reason = arena_str(a, m->reason);
    c->protocols = m->protocols ? m->protocols : (ROUTES_OPENAI | ROUTES_V1 | ROUTES_V2);
    struct routes_alias *aliases = ARENA_ARRAY(a, struct routes_alias, m->n_aliases);
    for (size_t i = 0; aliases && i < m->n_aliases; i++) {
        aliases[i].name = arena_str(a, m->aliases[i].name);
        aliases[i].served = arena_str(a, m->aliases[i].served);
    }
    c->aliases = aliases;
    c->backends = copy_backends(a, m);
    return arena_ok(a) == 0 ? c : NULL;
}

/* ---- names ---- */

static int add_name(struct routes *r, struct str project, struct str name, size_t place,
                    const struct routes_alias *alias) {
    struct routes_name *x = ARENA_NEW(&r->arena, struct routes_name);
    struct str full = arena_f(&r->arena, "%.*s/%.*s", STR_ARG(project), STR_ARG(name));
    if (x == NULL || full.p == NULL) {
        return ERR_NOMEM;
    }
    *x = (struct routes_name){.place = place, .alias = alias};
    struct routes_name *other = map_get(&r->bare, name);
    if (other == NULL) {
        int code = map_put(&r->bare, name, x, NULL);
        if (code != 0) {
            return code;
        }
    } else {
        struct routes_name *two = ARENA_NEW(&r->arena, struct routes_name);
        if (two == NULL || map_put(&r->bare, name, two, NULL) != 0) {
            return ERR_NOMEM;
        }
        two->ambiguous = true;
    }
    return map_put(&r->full, full, x, NULL);
}

static bool taken(const struct routes *r, struct str project, struct str name) {
    char full[1024];
    int n = snprintf(full, sizeof(full), "%.*s/%.*s", STR_ARG(project), STR_ARG(name));
    return n > 0 && (size_t)n < sizeof(full) && map_get(&r->full, str_from(full, (size_t)n));
}

static int check_names(const struct routes *r, const struct routes_model *m, struct err *err) {
    for (size_t i = 0; i <= m->n_aliases; i++) {
        struct str name = i ? m->aliases[i - 1].name : m->name;
        bool twice = taken(r, m->project, name);
        for (size_t k = 0; k < i; k++) {
            twice |= str_eq(name, k ? m->aliases[k - 1].name : m->name);
        }
        if (twice) {
            return err_set(err, ERR_EXISTS, "project %.*s has a model %.*s already",
                           STR_ARG(m->project), STR_ARG(name));
        }
    }
    return 0;
}

int routes_add(struct routes *r, const struct routes_model *m, struct err *err) {
    int code = check(r, m, err);
    code = code ? code : check_names(r, m, err);
    if (code != 0) {
        return code;
    }
    struct routes_model *c = copy(&r->arena, m);
    if (c == NULL) {
        return arena_full(&r->arena)
                   ? err_set(err, ERR_TOO_LARGE, "the routes take too much memory")
                   : err_set(err, ERR_NOMEM, "no memory");
    }
    size_t place = r->models.n;
    code = routes_vec_push(&r->models, c);
    code = code ? code : add_name(r, c->project, c->name, place, NULL);
    for (size_t i = 0; i < c->n_aliases && code == 0; i++) {
        code = add_name(r, c->project, c->aliases[i].name, place, &c->aliases[i]);
    }
    return code ? err_set(err, code, "no memory") : 0;
}

/* ---- finding ---- */

static enum routes_answer found(const struct routes *r, const struct routes_name *x,
                                struct routes_found *ret) {
    if (x == NULL) {
        return ROUTES_UNKNOWN;
    }
    if (x->ambiguous) {
        return ROUTES_AMBIGUOUS;
    }
    *ret = (struct routes_found){r->models.v[x->place], x->alias, x->place};
    return ROUTES_FOUND;
}

enum routes_answer routes_find(const struct routes *r, struct str project, struct str name,
                               struct routes_found *ret) {
    char full[1024];
    int n =
        project.n ? snprintf(full, sizeof(full), "%.*s/%.*s", STR_ARG(project), STR_ARG(name)) : 0;
    const struct routes_name *x = NULL;
    if (n > 0 && (size_t)n < sizeof(full)) {
        x = map_get(&r->full, str_from(full, (size_t)n));
    }
    x = x ? x : map_get(&r->full, name); /* it says the project itself */
    x = x ? x : map_get(&r->bare, name);
    return found(r, x, ret);
}

size_t routes_count(const struct routes *r) {
    return r->models.n;
}

const struct routes_model *routes_at(const struct routes *r, size_t place) {
    return r->models.v[place];
}

struct str routes_served(const struct routes_found *f, size_t backend, struct str asked) {
    if (f->alias && f->alias->served.n) {
        return f->alias->served;
    }
    struct str served = f->model->backends[backend].served;
    return served.n ? served : asked;
}

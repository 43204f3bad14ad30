/*
 * discover: see discover.h.
 *
 *     CORE      /api,  aggregated -> resources; else its versions
 *     GROUPS    /apis, aggregated -> resources; else its groups' versions
 *     EACH      /api/V, /apis/G/V: one request for each version that was only named
 */
#include "kube/discover.h"

#include "base/mem.h"
#include "base/vec.h"
#include "wire/json.h"

#define AGGREGATED                                                                                 \
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"                        \
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"                   \
    "application/json"

enum { ARENA_MAX = 64 << 20, VERSIONS_MAX = 4096, RESOURCES_MAX = 100000 };

struct to_ask {
    struct str group, version;
    bool preferred;
};

VEC(found_vec, struct discovered);
VEC(ask_vec, struct to_ask);

enum step { STEP_CORE, STEP_GROUPS, STEP_EACH };

struct discover {
    struct kube_client *client;
    struct kube_call *call;
    void (*done)(void *ctx, int code, const struct discovery *d, const struct err *err);
    void *ctx;
    enum step step;
    size_t asked; /* of ask */
    struct arena arena;
    struct found_vec found;
    struct ask_vec ask;
    size_t missing;
    bool failed; /* no memory, or too many */
};

const struct discovered *discovery_find(const struct discovery *d, struct str group,
                                        struct str version, struct str kind) {
    const struct discovered *best = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const struct discovered *x = &d->v[i];
        bool same = str_eq(x->group, group) && str_eq(x->kind, kind) &&
                    (version.n == 0 || str_eq(x->version, version));
        if (same && (!best || (x->preferred && !best->preferred))) {
            best = x;
        }
    }
    return best;
}

static void discover_free(struct discover *d) {
    found_vec_release(&d->found);
    ask_vec_release(&d->ask);
    arena_release(&d->arena);
    mem_free(d);
}

void discover_cancel(struct discover *d) {
    if (d) {
        kube_cancel(d->call);
        discover_free(d);
    }
}

static void finish(struct discover *d, int code, const struct err *err) {
    struct discovery all = {.v = d->found.v, .n = d->found.n, .missing = d->missing};
    d->done(d->ctx, code, code == 0 ? &all : NULL, err);
    discover_free(d);
}

static struct str keep(struct discover *d, struct str s) {
    struct str copy = arena_str(&d->arena, s);
    d->failed = d->failed || !copy.p;
    return copy;
}

static void add_found(struct discover *d, struct discovered x) {
    x.group = keep(d, x.group);
    x.version = keep(d, x.version);
    x.plural = keep(d, x.plural);
    x.kind = keep(d, x.kind);
    d->failed = d->failed || d->found.n >= RESOURCES_MAX || found_vec_push(&d->found, x) != 0;
}

static void add_ask(struct discover *d, struct str group, struct str version, bool preferred) {
    struct to_ask x = {
        .group = keep(d, group), .version = keep(d, version), .preferred = preferred};
    d->failed = d->failed || d->ask.n >= VERSIONS_MAX || ask_vec_push(&d->ask, x) != 0;
}

/* ---- reading ---- */

static void take_version(struct discover *d, struct str group, yyjson_val *v, bool preferred) {
    yyjson_val *r, *sub;
    size_t i, n, k, m;
    if (str_is(json_str_at(v, "freshness"), "Stale")) {
        d->missing++;
        return;
    }
    yyjson_arr_foreach(json_get(v, STR("resources")), i, n, r) {
        struct discovered x = {.group = group,
                               .version = json_str_at(v, "version"),
                               .plural = json_str_at(r, "resource"),
                               .kind = json_str_at(r, "responseKind.kind"),
                               .namespaced = str_is(json_str_at(r, "scope"), "Namespaced"),
                               .preferred = preferred};
        yyjson_arr_foreach(json_get(r, STR("subresources")), k, m, sub) {
            x.status = x.status || str_is(json_str_at(sub, "subresource"), "status");
        }
        add_found(d, x);
    }
}

static void take_aggregated(struct discover *d, yyjson_val *root) {
    yyjson_val *g, *v;
    size_t i, n, k, m;
    yyjson_arr_foreach(json_get(root, STR("items")), i, n, g) {
        yyjson_arr_foreach(json_get(g, STR("versions")), k, m, v) {
            take_version(d, json_str_at(g, "metadata.name"), v, k == 0);
        }
    }
}

static void take_core_versions(struct discover *d, yyjson_val *root) {
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(json_get(root, STR("versions")), i, n, v) {
        add_ask(d, STR(""), json_str(v), i == 0);
    }
}

static void take_groups(struct discover *d, yyjson_val *root) {
    yyjson_val *g, *v;
    size_t i, n, k, m;
    yyjson_arr_foreach(json_get(root, STR("groups")), i, n, g) {
        struct str first = json_str_at(g, "preferredVersion.version");
        yyjson_arr_foreach(json_get(g, STR("versions")), k, m, v) {
            struct str version = json_str_at(v, "version");
            add_ask(d, json_str_at(g, "name"), version, str_eq(version, first));
        }
    }
}

static void take_resources(struct discover *d, const struct to_ask *of, yyjson_val *root) {
    yyjson_val *list = json_get(root, STR("resources")), *r, *other;
    size_t i, n, k, m;
    yyjson_arr_foreach(list, i, n, r) {
        struct str name = json_str_at(r, "name");
        if (str_find(name, '/') >= 0) {
            continue;
        }
        struct discovered x = {.group = of->group,
                               .version = of->version,
                               .plural = name,
                               .kind = json_str_at(r, "kind"),
                               .namespaced = json_bool_at(r, "namespaced", false),
                               .preferred = of->preferred};
        yyjson_arr_foreach(list, k, m, other) {
            struct str sub = json_str_at(other, "name");
            x.status = x.status || (sub.n == name.n + 7 && str_starts(sub, name) &&
                                    str_ends(sub, STR("/status")));
        }
        add_found(d, x);
    }
}

static int take_answer(struct discover *d, struct str body, struct err *err) {
    struct arena a;
    yyjson_doc *doc;
    arena_init(&a, ARENA_MAX);
    int code = json_parse(&a, body, &doc, err);
    yyjson_val *root = code == 0 ? yyjson_doc_get_root(doc) : NULL;
    struct str kind = json_str_at(root, "kind");
    if (str_is(kind, "APIGroupDiscoveryList") && d->step != STEP_EACH) {
        take_aggregated(d, root);
    } else if (str_is(kind, "APIVersions") && d->step == STEP_CORE) {
        take_core_versions(d, root);
    } else if (str_is(kind, "APIGroupList") && d->step == STEP_GROUPS) {
        take_groups(d, root);
    } else if (str_is(kind, "APIResourceList") && d->step == STEP_EACH) {
        struct to_ask of = d->ask.v[d->asked - 1];
        take_resources(d, &of, root);
    } else if (code == 0) {
        code = err_set(err, ERR_SYNTAX, "discovery: an answer of kind \"%.*s\"", STR_ARG(kind));
    }
    arena_release(&a);
    return code        ? code
           : d->failed ? err_set(err, ERR_NOMEM, "discovery: too much, or no memory")
                       : 0;
}

/* ---- asking ---- */

static int ask_next(struct discover *d, struct err *err);

static void on_answer(void *ctx, const struct kube_reply *r) {
    struct discover *d = ctx;
    struct err err = r->err;
    int code = r->code;
    d->call = NULL;
    code = code ? code : take_answer(d, r->body, &err);
    if (code != 0 && d->step == STEP_EACH && !d->failed) {
        d->missing++; /* one group's server is down: the others count */
        code = 0;
    }
    if (code != 0) {
        finish(d, code, &err);
        return;
    }
    d->step = d->step == STEP_CORE ? STEP_GROUPS : STEP_EACH;
    if (d->step == STEP_EACH && d->asked == d->ask.n) {
        finish(d, 0, NULL);
        return;
    }
    code = ask_next(d, &err);
    if (code != 0) {
        finish(d, code, &err);
    }
}

static int ask_next(struct discover *d, struct err *err) {
    struct kube_request q = {.method = "GET", .done = on_answer, .ctx = d};
    struct arena a;
    arena_init(&a, 1 << 16);
    if (d->step == STEP_EACH) {
        const struct to_ask *t = &d->ask.v[d->asked++];
        q.path = t->group.n ? arena_f(&a, "/apis/%.*s/%.*s", STR_ARG(t->group), STR_ARG(t->version))
                            : arena_f(&a, "/api/%.*s", STR_ARG(t->version));
    } else {
        q.path = d->step == STEP_CORE ? STR("/api") : STR("/apis");
        q.accept = AGGREGATED;
    }
    int code =
        q.path.n ? kube_send(d->client, &q, &d->call, err) : err_set(err, ERR_NOMEM, "no memory");
    arena_release(&a);
    return code;
}

struct discover *discover_start(struct kube_client *c,
                                void (*done)(void *ctx, int code, const struct discovery *d,
                                             const struct err *err),
                                void *ctx, struct err *err) {
    struct discover *d = mem_zalloc(sizeof(*d));
    if (!d) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    d->client = c;
    d->done = done;
    d->ctx = ctx;
    arena_init(&d->arena, ARENA_MAX);
    if (ask_next(d, err) != 0) {
        discover_free(d);
        return NULL;
    }
    return d;
}

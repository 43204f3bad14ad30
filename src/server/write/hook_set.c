/* hook_set: see hook_set.h. */
#include "server/write/hook_set.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/kit/resource_rule.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"

enum { SET_BYTES = 16 << 20 };

/* ---- compiling ---- */

static int read_hook(struct hook_set *s, yyjson_val *tree, struct hook *ret) {
    struct hook h = {.set = s, .tree = tree, .name = json_str_at(tree, "name")};
    int r = selector_from_json(&s->arena, json_get(tree, STR("namespaceSelector")), &h.namespaces,
                               NULL);
    r = r ? r
          : selector_from_json(&s->arena, json_get(tree, STR("objectSelector")), &h.objects, NULL);
    h.namespaces.nothing = h.objects.nothing = false; /* absent: everything */
    h.equivalent = !str_is(json_str_at(tree, "matchPolicy"), "Exact");
    h.ignore = str_is(json_str_at(tree, "failurePolicy"), "Ignore");
    h.again = str_is(json_str_at(tree, "reinvocationPolicy"), "IfNeeded");
    h.timeout_s = json_i64_at(tree, "timeoutSeconds", 10);
    *ret = h;
    return r;
}

/* An empty set of the object, and the object's tree. */
static int set_new(struct loop *l, const struct object *o, size_t hooks, struct hook_set **ret,
                   yyjson_val **ret_tree) {
    struct hook_set *s = mem_zalloc(sizeof(*s));
    yyjson_doc *doc;
    if (s == NULL) {
        return ERR_NOMEM;
    }
    arena_init(&s->arena, SET_BYTES);
    s->refs = 1;
    s->loop = l;
    s->rv = o->rv;
    s->name = arena_str(&s->arena, o->name);
    s->v = ARENA_ARRAY(&s->arena, struct hook, hooks);
    if (s->v == NULL || object_tree(o, &s->arena, &doc, NULL) != 0) {
        hook_set_unref(s);
        return ERR_NOMEM;
    }
    *ret = s;
    *ret_tree = yyjson_doc_get_root(doc);
    return 0;
}

int hook_set_new(struct loop *l, const struct object *o, struct hook_set **ret) {
    struct hook_set *s;
    yyjson_val *tree, *hook;
    size_t i, n;
    if (set_new(l, o, LIMIT_WEBHOOKS, &s, &tree) != 0) {
        return ERR_NOMEM;
    }
    yyjson_val *list = json_get(tree, STR("webhooks"));
    yyjson_arr_foreach(list, i, n, hook) {
        s->n += s->n < LIMIT_WEBHOOKS && read_hook(s, hook, &s->v[s->n]) == 0;
    }
    *ret = s;
    return 0;
}

int hook_set_of_conversion(struct loop *l, const struct object *o, struct hook_set **ret) {
    struct hook_set *s;
    yyjson_val *tree;
    if (set_new(l, o, 1, &s, &tree) != 0) {
        return ERR_NOMEM;
    }
    s->v[0] = (struct hook){.set = s, .tree = json_path(tree, "spec.conversion.webhook")};
    s->n = 1;
    *ret = s;
    return 0;
}

struct hook_set *hook_set_ref(struct hook_set *s) {
    s->refs++;
    return s;
}

static void set_free(void *ctx) {
    struct hook_set *s = ctx;
    for (size_t i = 0; i < s->n; i++) {
        http_client_free(s->v[i].client);
        mem_free((void *)(uintptr_t)s->v[i].origin.p);
    }
    for (size_t i = 0; i < s->n_retired; i++) {
        http_client_free(s->retired[i]);
    }
    mem_free(s->retired);
    arena_release(&s->arena);
    mem_free(s);
}

void hook_set_unref(struct hook_set *s) {
    if (s == NULL || --s->refs > 0) {
        return;
    }
    bool clients = s->n_retired > 0;
    for (size_t i = 0; i < s->n; i++) {
        clients = clients || s->v[i].client != NULL;
    }
    /* Never inside an answer of one of them. */
    if (!clients || loop_defer(s->loop, set_free, s) != 0) {
        set_free(s);
    }
}

/* ---- matching ---- */

static bool any_rule(const struct hook *h, const struct hook_match *m, struct str version) {
    yyjson_val *rules = json_get(h->tree, STR("rules")), *rule;
    struct resource_ask ask = {m->kind, m->subresource, m->operation, {0}};
    size_t i, n;
    yyjson_arr_foreach(rules, i, n, rule) {
        if (resource_rule_matches(rule, &ask, version)) {
            return true;
        }
    }
    return false;
}

static bool selected(const struct hook *h, const struct hook_match *m) {
    if (m->namespace_labels != NULL && !selector_matches(&h->namespaces, m->namespace_labels)) {
        return false;
    }
    return h->objects.n == 0 || (m->labels != NULL && selector_matches(&h->objects, m->labels)) ||
           (m->old_labels != NULL && selector_matches(&h->objects, m->old_labels));
}

bool hook_matches(const struct hook *h, const struct hook_match *m,
                  const struct kind_version **ret_version) {
    const struct kind_version *found = NULL;
    if (any_rule(h, m, m->version)) {
        found = kind_version(m->kind, m->version);
    }
    for (size_t i = 0; found == NULL && h->equivalent && i < m->kind->n_versions; i++) {
        if (any_rule(h, m, str_of(m->kind->versions[i].version))) {
            found = &m->kind->versions[i];
        }
    }
    if (found == NULL || !selected(h, m)) {
        return false;
    }
    *ret_version = found;
    return true;
}

/* ---- whom to ask ---- */

static int make_client(struct hook *h, struct arena *a, struct str tls_name, struct str origin,
                       struct http_client **ret, struct err *err) {
    struct http_client_options o = {
        .ca_pem = base64_decode(a, json_str_at(h->tree, "clientConfig.caBundle")),
        .user_agent = STR("berth-apiserver"),
        .tls_name = tls_name,
        .tls_origin = origin,
    };
    return http_client_new(h->set->loop, &o, ret, err);
}

/* The port that the Service's pods listen on: by its name or number in the Endpoints. */
static int64_t endpoint_port(yyjson_val *service, yyjson_val *subset, int64_t want) {
    yyjson_val *ports = json_path(service, "spec.ports"), *p, *e;
    yyjson_val *theirs = json_get(subset, STR("ports"));
    size_t i, j, n, m;
    yyjson_arr_foreach(ports, i, n, p) {
        if (json_i64_at(p, "port", 0) != want) {
            continue;
        }
        yyjson_arr_foreach(theirs, j, m, e) {
            if (str_eq(json_str_at(e, "name"), json_str_at(p, "name"))) {
                return json_i64_at(e, "port", 0);
            }
        }
    }
    return yyjson_arr_size(ports) == 0 && yyjson_arr_size(theirs) == 1
               ? json_i64_at(yyjson_arr_get_first(theirs), "port", 0)
               : 0;
}

static yyjson_val *tree_of(struct mirror *m, const char *kind, struct str ns, struct str name,
                           struct arena *a) {
    const struct object *o = mirror_get(m, kind_by_name(STR(""), str_of(kind)), ns, name);
    yyjson_doc *doc;
    return o != NULL && object_tree(o, a, &doc, NULL) == 0 ? yyjson_doc_get_root(doc) : NULL;
}

/* "https://10.0.0.1:9443"; empty: nobody is there. */
static struct str service_origin(struct mirror *m, struct str ns, struct str name, int64_t port,
                                 struct arena *a) {
    yyjson_val *service = tree_of(m, "Service", ns, name, a);
    yyjson_val *subsets = json_get(tree_of(m, "Endpoints", ns, name, a), STR("subsets")), *s;
    struct str external = json_str_at(service, "spec.externalName");
    size_t i, n;
    if (external.n > 0) {
        return arena_f(a, "https://%.*s:%lld", STR_ARG(external), (long long)port);
    }
    yyjson_arr_foreach(subsets, i, n, s) {
        yyjson_val *first = yyjson_arr_get_first(json_get(s, STR("addresses")));
        struct str ip = json_str_at(first, "ip");
        int64_t at = endpoint_port(service, s, port);
        if (ip.n > 0 && at > 0) {
            bool v6 = str_find(ip, ':') >= 0;
            return arena_f(a, "https://%s%.*s%s:%lld", v6 ? "[" : "", STR_ARG(ip), v6 ? "]" : "",
                           (long long)at);
        }
    }
    return (struct str){0};
}

/* The Service moved: whoever still waits for an answer of the old address keeps its client. */
static int retire(struct hook *h) {
    struct hook_set *s = h->set;
    if (h->client == NULL) {
        return 0;
    }
    if (vec_grow((void **)&s->retired, &s->cap_retired, s->n_retired, 1, sizeof(*s->retired)) !=
        0) {
        return ERR_NOMEM;
    }
    s->retired[s->n_retired++] = h->client;
    h->client = NULL;
    return 0;
}

static int service_target(struct hook *h, struct mirror *m, struct arena *a, struct str *ret_url,
                          struct err *err) {
    yyjson_val *ref = json_path(h->tree, "clientConfig.service");
    struct str ns = json_str_at(ref, "namespace"), name = json_str_at(ref, "name");
    struct str path = json_str_at(ref, "path");
    struct str origin = service_origin(m, ns, name, json_i64_at(ref, "port", 443), a);
    if (origin.n == 0) {
        return err_set(err, ERR_NOT_FOUND, "service \"%.*s\" in namespace \"%.*s\" has no address",
                       STR_ARG(name), STR_ARG(ns));
    }
    if (h->client == NULL || !str_eq(h->origin, origin)) {
        struct str tls_name = arena_f(a, "%.*s.%.*s.svc", STR_ARG(name), STR_ARG(ns));
        char *kept = mem_cstr(origin);
        int r = kept == NULL || retire(h) != 0
                    ? err_set(err, ERR_NOMEM, "out of memory")
                    : make_client(h, a, tls_name, origin, &h->client, err);
        if (r != 0) {
            mem_free(kept);
            return r;
        }
        mem_free((void *)(uintptr_t)h->origin.p);
        h->origin = str_of(kept);
    }
    *ret_url = arena_f(a, "%.*s%s%.*s", STR_ARG(origin), str_starts(path, STR("/")) ? "" : "/",
                       STR_ARG(path));
    return 0;
}

int hook_target(struct hook *h, struct mirror *m, struct arena *a, struct http_client **ret,
                struct str *ret_url, struct err *err) {
    struct str url = json_str_at(h->tree, "clientConfig.url");
    int r = 0;
    if (url.n == 0) {
        r = service_target(h, m, a, &url, err);
    } else if (h->client == NULL) {
        r = make_client(h, a, (struct str){0}, (struct str){0}, &h->client, err);
    }
    if (r == 0) {
        *ret = h->client;
        *ret_url = url;
    }
    return r;
}

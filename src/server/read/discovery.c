/*
 * discovery: what is served, in the aggregated form (two requests for everything) and in the legacy one. Made from the
 * kind tables at each request: they are small, and an ETag answers most repeats.
 */
#include "api/openapi/subresource.h"
#include "server/kit/handlers.h"

static const char *const all_verbs = "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\","
                                     "\"patch\",\"update\",\"watch\"]";

static const char *verbs_of(const struct kind *k) {
    if (k->flags & KIND_VIRTUAL) {
        return "[\"create\"]";
    }
    if (k->flags & KIND_COMPUTED) {
        return k->subresources != NULL ? "[]" : "[\"get\",\"list\",\"watch\"]";
    }
    return all_verbs;
}

static void write_names(struct buf *b, const char *key, const char *const *v) {
    if (v == NULL || v[0] == NULL) {
        return;
    }
    buf_f(b, ",\"%s\":[", key);
    for (size_t i = 0; v[i] != NULL; i++) {
        buf_f(b, "%s\"%s\"", i ? "," : "", v[i]);
    }
    buf_ch(b, ']');
}

static void aggregated_resource(struct buf *b, const struct kind *k, const char *version) {
    bool custom = kind_version(k, str_of(version))->schema->custom != NULL;
    buf_f(b, "{\"resource\":\"%s\",\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",",
          k->plural, custom ? k->group : "", custom ? version : "");
    buf_f(b, "\"kind\":\"%s\"},", k->kind);
    buf_f(b, "\"scope\":\"%s\",\"singularResource\":\"%s\",\"verbs\":%s",
          k->flags & KIND_NAMESPACED ? "Namespaced" : "Cluster", k->singular, verbs_of(k));
    write_names(b, "shortNames", k->short_names);
    write_names(b, "categories", k->categories);
    const struct subresource *s;
    for (size_t i = 0; (s = subresource_at(k, i)) != NULL; i++) {
        buf_f(b,
              "%s{\"subresource\":\"%s\",\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\","
              "\"kind\":\"%s\"},\"verbs\":%s}",
              i ? "," : ",\"subresources\":[", s->name,
              s->kind  ? s->group
              : custom ? k->group
                       : "",
              s->kind  ? s->version
              : custom ? version
                       : "",
              s->kind ? s->kind : k->kind, s->verbs);
    }
    buf_c(b, subresource_at(k, 0) != NULL ? "]}" : "}");
}

static bool serves(const struct kind *k, const char *group, const char *version) {
    return str_is(str_of(k->group), group) && kind_version(k, str_of(version)) != NULL;
}

/* The next group but core at or after *i, or NULL. */
static const char *next_group(size_t *i) {
    size_t n;
    const struct group_version *v = groups_all(&n);
    while (*i < n) {
        const char *group = v[(*i)++].group;
        while (*i < n && strcmp(v[*i].group, group) == 0) {
            ++*i;
        }
        if (group[0] != '\0') {
            return group;
        }
    }
    return NULL;
}

static void aggregated_group(struct buf *b, const char *group) {
    size_t n_kinds, n;
    const struct group_version *versions = groups_of(group, &n);
    const struct kind *const *kinds = groups_kinds(group, &n_kinds);
    buf_c(b, "{\"metadata\":{");
    if (group[0] != '\0') {
        buf_f(b, "\"name\":\"%s\",", group);
    }
    buf_c(b, "\"creationTimestamp\":null},\"versions\":[");
    for (size_t v = 0; v < n; v++) {
        buf_f(b, "%s{\"version\":\"%s\",\"freshness\":\"Current\",\"resources\":[", v ? "," : "",
              versions[v].version);
        bool first = true;
        for (size_t i = 0; i < n_kinds; i++) {
            if (serves(kinds[i], group, versions[v].version)) {
                buf_c(b, first ? "" : ",");
                aggregated_resource(b, kinds[i], versions[v].version);
                first = false;
            }
        }
        buf_c(b, "]}");
    }
    buf_c(b, "]}");
}

static void aggregated(struct buf *b, bool core, bool beta) {
    const char *group;
    buf_f(b,
          "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\","
          "\"metadata\":{},\"items\":[",
          beta ? "v2beta1" : "v2");
    if (core) {
        aggregated_group(b, "");
    } else {
        size_t written = 0;
        for (size_t i = 0; (group = next_group(&i)) != NULL;) {
            buf_c(b, written++ ? "," : "");
            aggregated_group(b, group);
        }
    }
    buf_c(b, "]}\n");
}

static void legacy_group(struct buf *b, const char *group, bool top) {
    size_t n;
    const struct group_version *versions = groups_of(group, &n);
    buf_c(b, "{");
    if (top) {
        buf_c(b, "\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
    }
    buf_f(b, "\"name\":\"%s\",\"versions\":[", group);
    for (size_t i = 0; i < n; i++) {
        buf_f(b, "%s{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", i ? "," : "", group,
              versions[i].version, versions[i].version);
    }
    buf_f(b, "],\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}}", group,
          versions[0].version, versions[0].version);
}

static void legacy_resources(struct buf *b, const char *group, const char *version) {
    size_t n_kinds;
    const struct kind *const *kinds = groups_kinds(group, &n_kinds);
    buf_f(b,
          "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\","
          "\"resources\":[",
          group, group[0] ? "/" : "", version);
    bool first = true;
    for (size_t i = 0; i < n_kinds; i++) {
        const struct kind *k = kinds[i];
        if (!serves(k, group, version)) {
            continue;
        }
        const char *scope = k->flags & KIND_NAMESPACED ? "true" : "false";
        buf_f(b,
              "%s{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\","
              "\"verbs\":%s",
              first ? "" : ",", k->plural, k->singular, scope, k->kind, verbs_of(k));
        first = false;
        write_names(b, "shortNames", k->short_names);
        write_names(b, "categories", k->categories);
        buf_ch(b, '}');
        const struct subresource *s;
        for (size_t j = 0; (s = subresource_at(k, j)) != NULL; j++) {
            buf_f(b, ",{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s,", k->plural,
                  s->name, scope);
            if (s->kind != NULL && s->group[0] != '\0') {
                buf_f(b, "\"group\":\"%s\",\"version\":\"%s\",", s->group, s->version);
            }
            buf_f(b, "\"kind\":\"%s\",\"verbs\":%s}", s->kind ? s->kind : k->kind, s->verbs);
        }
    }
    buf_c(b, "]}\n");
}

static void answer(struct call *c, struct buf *b, const char *type) {
    struct str etag = arena_f(c->arena, "\"%016llX\"", (unsigned long long)str_hash(buf_view(b)));
    (void)http_add_header(c->http, "ETag", etag);
    (void)http_add_header(c->http, "Vary", STR("Accept"));
    (void)http_add_header(c->http, "Cache-Control", STR("public"));
    if (negotiate_etag(http_header(c->http, "If-None-Match"), etag)) {
        call_bytes(c, 304, type, (struct str){0});
    } else {
        call_bytes(c, 200, type, buf_view(b));
    }
}

static void root_index(struct call *c, struct buf *b) {
    struct str listen = http_header(c->http, "Host");
    buf_c(b, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":["
             "{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":");
    buf_json(b, listen);
    buf_c(b, "}]}\n");
}

static void group_list(struct buf *b) {
    const char *group;
    size_t written = 0;
    buf_c(b, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; (group = next_group(&i)) != NULL;) {
        buf_c(b, written++ ? "," : "");
        legacy_group(b, group, false);
    }
    buf_c(b, "]}\n");
}

/* /api/v1, /apis/G, /apis/G/V: fills b; false when there is no such group or version. */
static bool below(struct call *c, struct str path, struct buf *b) {
    struct str group, version = {0};
    if (str_starts(path, STR("/api/"))) {
        group = STR("");
        version = str_skip(path, 5);
    } else {
        struct str rest = str_skip(path, 6);
        if (!str_cut(rest, '/', &group, &version)) {
            group = rest;
        }
    }
    group = arena_str(c->arena, group);
    version = arena_str(c->arena, version);
    if (group.p == NULL || version.p == NULL) {
        return false;
    }
    size_t n;
    const struct group_version *versions = groups_of(group.p, &n);
    if (version.n == 0 && n > 0 && group.n > 0) {
        legacy_group(b, group.p, true);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (str_is(version, versions[i].version)) {
            legacy_resources(b, group.p, version.p);
            return true;
        }
    }
    return false;
}

bool discovery_request(struct call *c, struct str path) {
    struct err err = {0};
    struct media m = {0};
    bool api = str_is(path, "/api"), apis = str_is(path, "/apis");
    if (!api && !apis && !str_starts(path, STR("/api/")) && !str_starts(path, STR("/apis/"))) {
        return false;
    }
    struct buf b;
    buf_init(&b, 0);
    const char *type = "application/json";
    unsigned allowed = api || apis ? ACCEPT_DISCOVERY : 0;
    if (!str_is(c->req.method, "GET")) {
        (void)failure_method(&c->failure);
    } else if (negotiate_accept(http_header(c->http, "Accept"), allowed, &m, &err) != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
    } else if (m.shape == SHAPE_DISCOVERY) {
        aggregated(&b, api, m.v1beta1);
        type = m.v1beta1 ? "application/json;g=apidiscovery.k8s.io;v=v2beta1;as="
                           "APIGroupDiscoveryList"
                         : "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    } else if (api) {
        root_index(c, &b);
    } else if (apis) {
        group_list(&b);
    } else if (!below(c, path, &b)) {
        (void)failure_unknown_path(&c->failure);
    }
    if (c->failure.code == 0 && buf_ok(&b) != 0) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    if (c->failure.code != 0) {
        call_fail(c);
    } else {
        answer(c, &b, type);
    }
    buf_release(&b);
    return true;
}

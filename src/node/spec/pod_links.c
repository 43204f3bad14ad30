/* pod_links: see pod_links.h. */
#include "node/spec/pod_links.h"

/* "web-one" as WEB_ONE. */
static struct str upper(struct arena *a, struct str name) {
    char *p = arena_alloc(a, name.n + 1);

    for (size_t i = 0; p && i < name.n; i++) {
        char c = name.p[i];
        p[i] = c == '-' || c == '.' ? '_' : (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    return str_from(p ? p : "", p ? name.n : 0);
}

static struct str lower(struct arena *a, struct str name) {
    char *p = arena_alloc(a, name.n + 1);

    for (size_t i = 0; p && i < name.n; i++) {
        p[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
    }
    return str_from(p ? p : "", p ? name.n : 0);
}

struct link_port {
    struct str name, protocol, number;
};

static int add_port(struct pod_env *e, struct str base, struct str ip, const struct link_port *p,
                    bool first) {
    struct arena *a = e->arena;
    struct str protocol = p->protocol, name = p->name, number = p->number,
               small = lower(a, protocol),
               url = arena_f(a, "%.*s://%.*s:%.*s", STR_ARG(small), STR_ARG(ip), STR_ARG(number)),
               stem = arena_f(a, "%.*s_PORT_%.*s_%.*s", STR_ARG(base), STR_ARG(number),
                              STR_ARG(protocol));
    int code = 0;

    if (first) {
        code = pod_env_set(e, arena_f(a, "%.*s_SERVICE_PORT", STR_ARG(base)), number);
        code = code ? code : pod_env_set(e, arena_f(a, "%.*s_PORT", STR_ARG(base)), url);
    }
    if (code == 0 && name.n) {
        struct str up = upper(a, name);
        code = pod_env_set(e, arena_f(a, "%.*s_SERVICE_PORT_%.*s", STR_ARG(base), STR_ARG(up)),
                           number);
    }
    code = code ? code : pod_env_set(e, stem, url);
    code = code ? code : pod_env_set(e, arena_f(a, "%.*s_PROTO", STR_ARG(stem)), small);
    code = code ? code : pod_env_set(e, arena_f(a, "%.*s_PORT", STR_ARG(stem)), number);
    return code ? code : pod_env_set(e, arena_f(a, "%.*s_ADDR", STR_ARG(stem)), ip);
}

int pod_links_add(struct pod_env *e, struct str name, yyjson_val *spec) {
    struct str base = upper(e->arena, name),
               ip = arena_str(e->arena, json_str_at(spec, "clusterIP"));
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(spec, STR("ports")));
    bool first = true;
    int code = pod_env_set(e, arena_f(e->arena, "%.*s_SERVICE_HOST", STR_ARG(base)), ip);

    for (yyjson_val *p; code == 0 && (p = yyjson_arr_iter_next(&it)); first = false) {
        const struct link_port port = {
            json_str_at(p, "name"), json_str_at(p, "protocol"),
            arena_f(e->arena, "%lld", (long long)json_i64_at(p, "port", 0))};
        code = add_port(e, base, ip, &port, first);
    }
    return code;
}

int pod_links_api(struct pod_env *e, struct str host, struct str port) {
    const struct link_port p = {STR("https"), STR("TCP"), port};
    int code = pod_env_set(e, STR("KUBERNETES_SERVICE_HOST"), host);

    return code ? code : add_port(e, STR("KUBERNETES"), host, &p, true);
}

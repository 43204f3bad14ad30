/* routes_yaml: see routes_yaml.h. Members are read by tables, so that an unknown one is refused. */
#include "gateway/routes_yaml.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/clock.h"
#include "core/route/endpoint.h"
#include "wire/text/time.h"
#include "wire/yaml.h"

enum member_type {
    TYPE_TEXT,
    TYPE_INT,
    TYPE_BOOL,
    TYPE_MS,
    TYPE_PORT_ADDRESS,
    TYPE_STATE,
    TYPE_OTHER
};

struct member_rule {
    const char *name;
    enum member_type type;
    size_t at; /* offset in the struct that is read */
};

struct routes_reader {
    struct arena *arena;
    struct err *err;
};

static int bad(struct routes_reader *r, struct str path, const char *name, const char *want) {
    return err_set(r->err, ERR_INVALID, "%.*s%s%s: must be %s", STR_ARG(path), name ? "." : "",
                   name ? name : "", want);
}

/* ---- values ---- */

static int read_text(yyjson_mut_val *v, void *to, const char **want) {
    *want = "a string";
    if (!yyjson_mut_is_str(v)) {
        return ERR_INVALID;
    }
    *(struct str *)to = json_mstr(v);
    return 0;
}

static int read_int(yyjson_mut_val *v, void *to, const char **want) {
    *want = "an integer from 0 to 2147483647";
    if (!yyjson_mut_is_uint(v) || yyjson_mut_get_uint(v) > INT32_MAX) {
        return ERR_INVALID;
    }
    *(int64_t *)to = (int64_t)yyjson_mut_get_uint(v);
    return 0;
}

static int read_ms(yyjson_mut_val *v, void *to, const char **want) {
    int64_t ns;
    *want = "a duration from 1ms to 24h, like 30s";
    if (!yyjson_mut_is_str(v) || duration_parse(json_mstr(v), &ns, NULL) != 0 || ns < NS_PER_MS ||
        ns > 24 * 3600 * NS_PER_SEC) {
        return ERR_INVALID;
    }
    *(int64_t *)to = ns / NS_PER_MS;
    return 0;
}

static int read_state(yyjson_mut_val *v, void *to, const char **want) {
    static const char *const names[] = {"Serving", "AtZero", "Starting", "Queued", "Stopped"};
    *want = "Serving, AtZero, Starting, Queued or Stopped";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (str_is(json_mstr(v), names[i])) {
            *(enum routes_state *)to = (enum routes_state)i;
            return 0;
        }
    }
    return ERR_INVALID;
}

/* "127.0.0.1:8000" or "[::1]:8000", into an endpoint. */
static int read_address(yyjson_mut_val *v, void *to, const char **want) {
    struct routes_endpoint *e = to;
    struct str s = json_mstr(v);
    ptrdiff_t colon = str_find_last(s, ':');
    uint64_t port = 0;
    *want = "an IP address and a port, like 127.0.0.1:8000 or [::1]:8000";
    if (colon <= 0 || !str_to_u64(str_skip(s, (size_t)colon + 1), &port) || port == 0 ||
        port > 65535) {
        return ERR_INVALID;
    }
    s = str_head(s, (size_t)colon);
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
        s = str_from(s.p + 1, s.n - 2);
    }
    e->address = s;
    e->port = (uint16_t)port;
    return 0;
}

static int read_value(const struct member_rule *m, yyjson_mut_val *v, char *to, const char **want) {
    switch (m->type) {
    case TYPE_TEXT:
        return read_text(v, to + m->at, want);
    case TYPE_INT:
        return read_int(v, to + m->at, want);
    case TYPE_MS:
        return read_ms(v, to + m->at, want);
    case TYPE_STATE:
        return read_state(v, to + m->at, want);
    case TYPE_PORT_ADDRESS:
        return read_address(v, to, want);
    case TYPE_BOOL:
        *want = "true or false";
        if (!yyjson_mut_is_bool(v)) {
            return ERR_INVALID;
        }
        *(bool *)(to + m->at) = yyjson_mut_get_bool(v);
        return 0;
    case TYPE_OTHER:
        break;
    }
    return 0;
}

/* All members of an object by its table; those of TYPE_OTHER are read by the caller. */
static int read_object(struct routes_reader *r, yyjson_mut_val *v, struct str path,
                       const struct member_rule *rules, size_t n, void *to) {
    size_t i, count;
    yyjson_mut_val *key, *value;
    if (!yyjson_mut_is_obj(v)) {
        return bad(r, path, NULL, "an object");
    }
    yyjson_mut_obj_foreach(v, i, count, key, value) {
        const struct member_rule *m = NULL;
        const char *want = "";
        for (size_t k = 0; k < n; k++) {
            m = str_is(json_mstr(key), rules[k].name) ? &rules[k] : m;
        }
        if (m == NULL) {
            return err_set(r->err, ERR_INVALID, "%.*s: unknown member %.*s", STR_ARG(path),
                           STR_ARG(json_mstr(key)));
        }
        if (read_value(m, value, to, &want) != 0) {
            return bad(r, path, m->name, want);
        }
    }
    return 0;
}
#define READ(r, v, path, rules, to)                                                                \
    read_object(r, v, path, rules, sizeof(rules) / sizeof(*(rules)), to)

/* A list's length; ERR_INVALID when it is something else. Absent: 0. */
static int list_of(struct routes_reader *r, yyjson_mut_val *v, struct str path, const char *name,
                   size_t *ret) {
    *ret = 0;
    if (v == NULL || yyjson_mut_is_null(v)) {
        return 0;
    }
    if (!yyjson_mut_is_arr(v)) {
        return bad(r, path, name, "a list");
    }
    *ret = yyjson_mut_arr_size(v);
    return 0;
}

static struct str sub(struct routes_reader *r, struct str path, const char *name, size_t i) {
    return arena_f(r->arena, "%.*s.%s[%zu]", STR_ARG(path), name, i);
}

/* ---- the table ---- */

struct endpoint_file {
    struct routes_endpoint e; /* first: TYPE_PORT_ADDRESS */
    int64_t limit;
};

static int read_endpoint(struct routes_reader *r, yyjson_mut_val *v, struct str path,
                         struct routes_endpoint *ret) {
    static const struct member_rule rules[] = {
        {"address", TYPE_PORT_ADDRESS, 0},
        {"name", TYPE_TEXT, offsetof(struct endpoint_file, e.name)},
        {"zone", TYPE_TEXT, offsetof(struct endpoint_file, e.zone)},
        {"ready", TYPE_BOOL, offsetof(struct endpoint_file, e.ready)},
        {"draining", TYPE_BOOL, offsetof(struct endpoint_file, e.draining)},
        {"limit", TYPE_INT, offsetof(struct endpoint_file, limit)},
    };
    struct endpoint_file f = {.e.ready = true};
    int code = READ(r, v, path, rules, &f);
    if (code == 0 && f.e.port == 0) {
        return bad(r, path, "address", "an IP address and a port, like 127.0.0.1:8000");
    }
    if (code == 0) {
        struct str id =
            arena_f(r->arena, "%.*s %u %.*s", STR_ARG(f.e.address), f.e.port, STR_ARG(f.e.name));
        f.e.id = (uint32_t)(str_hash(id) | 1);
        f.e.limit = (int32_t)f.limit;
        f.e.name = f.e.name.n ? f.e.name : json_mstr(yyjson_mut_obj_get(v, "address"));
        *ret = f.e;
    }
    return code;
}

struct backend_file {
    struct routes_backend b;
    int64_t weight;
};

static int read_backend(struct routes_reader *r, yyjson_mut_val *v, struct str path,
                        struct routes_backend *ret) {
    static const struct member_rule rules[] = {
        {"name", TYPE_TEXT, offsetof(struct backend_file, b.name)},
        {"served", TYPE_TEXT, offsetof(struct backend_file, b.served)},
        {"weight", TYPE_INT, offsetof(struct backend_file, weight)},
        {"endpoints", TYPE_OTHER, 0},
    };
    struct backend_file f = {.weight = 1};
    yyjson_mut_val *list = yyjson_mut_obj_get(v, "endpoints");
    size_t n = 0;
    int code = READ(r, v, path, rules, &f);
    code = code ? code : list_of(r, list, path, "endpoints", &n);
    struct routes_endpoint *es = ARENA_ARRAY(r->arena, struct routes_endpoint, n);
    for (size_t i = 0; es && i < n && code == 0; i++) {
        code = read_endpoint(r, yyjson_mut_arr_get(list, i), sub(r, path, "endpoints", i), &es[i]);
        for (size_t k = 0; k < i && code == 0; k++) {
            if (es[k].id == es[i].id) {
                return bad(r, sub(r, path, "endpoints", i), "address", "another than those before");
            }
        }
    }
    f.b.weight = (int32_t)f.weight;
    f.b.endpoints = es;
    f.b.n_endpoints = n;
    *ret = f.b;
    return code;
}

static int read_aliases(struct routes_reader *r, yyjson_mut_val *list, struct str path,
                        struct routes_model *m) {
    static const struct member_rule rules[] = {
        {"name", TYPE_TEXT, offsetof(struct routes_alias, name)},
        {"served", TYPE_TEXT, offsetof(struct routes_alias, served)},
    };
    size_t n = 0;
    int code = list_of(r, list, path, "aliases", &n);
    struct routes_alias *as = ARENA_ARRAY(r->arena, struct routes_alias, n);
    for (size_t i = 0; as && i < n && code == 0; i++) {
        code = READ(r, yyjson_mut_arr_get(list, i), sub(r, path, "aliases", i), rules, &as[i]);
    }
    m->aliases = as;
    m->n_aliases = n;
    return code;
}

static int read_protocols(struct routes_reader *r, yyjson_mut_val *list, struct str path,
                          struct routes_model *m) {
    static const char *const names[] = {"OpenAI", "V1", "V2"};
    size_t n = 0;
    int code = list_of(r, list, path, "protocols", &n);
    for (size_t i = 0; i < n && code == 0; i++) {
        unsigned bit = 0;
        for (unsigned k = 0; k < 3; k++) {
            bit = str_is(json_mstr(yyjson_mut_arr_get(list, i)), names[k]) ? 1u << k : bit;
        }
        code = bit ? 0 : bad(r, path, "protocols", "of OpenAI, V1 and V2");
        m->protocols |= bit;
    }
    return code;
}

static int read_parts(struct routes_reader *r, yyjson_mut_val *v, struct str path,
                      struct routes_model *m) {
    static const struct member_rule limits[] = {
        {"requests", TYPE_INT, offsetof(struct routes_limits, requests)},
        {"tokens", TYPE_INT, offsetof(struct routes_limits, tokens)},
        {"streams", TYPE_INT, offsetof(struct routes_limits, streams)},
    };
    static const struct member_rule timeouts[] = {
        {"connect", TYPE_MS, offsetof(struct routes_model, connect_ms)},
        {"firstByte", TYPE_MS, offsetof(struct routes_model, first_byte_ms)},
        {"idle", TYPE_MS, offsetof(struct routes_model, idle_ms)},
        {"hold", TYPE_MS, offsetof(struct routes_model, hold_ms)},
    };
    yyjson_mut_val *part;
    int code = read_aliases(r, yyjson_mut_obj_get(v, "aliases"), path, m);
    code = code ? code : read_protocols(r, yyjson_mut_obj_get(v, "protocols"), path, m);
    if (code == 0 && (part = yyjson_mut_obj_get(v, "limits")) != NULL) {
        code = READ(r, part, arena_f(r->arena, "%.*s.limits", STR_ARG(path)), limits, &m->limits);
    }
    if (code == 0 && (part = yyjson_mut_obj_get(v, "timeouts")) != NULL) {
        code = READ(r, part, arena_f(r->arena, "%.*s.timeouts", STR_ARG(path)), timeouts, m);
    }
    size_t n = 0;
    part = yyjson_mut_obj_get(v, "backends");
    code = code ? code : list_of(r, part, path, "backends", &n);
    struct routes_backend *bs = ARENA_ARRAY(r->arena, struct routes_backend, n);
    for (size_t i = 0; bs && i < n && code == 0; i++) {
        code = read_backend(r, yyjson_mut_arr_get(part, i), sub(r, path, "backends", i), &bs[i]);
    }
    m->backends = bs;
    m->n_backends = n;
    return code;
}

struct model_file {
    struct routes_model m;
    int64_t priority;
};

static int read_model(struct routes_reader *r, yyjson_mut_val *v, size_t i, struct routes *to) {
    static const struct member_rule rules[] = {
        {"name", TYPE_TEXT, offsetof(struct model_file, m.name)},
        {"project", TYPE_TEXT, offsetof(struct model_file, m.project)},
        {"service", TYPE_TEXT, offsetof(struct model_file, m.service)},
        {"state", TYPE_STATE, offsetof(struct model_file, m.state)},
        {"reason", TYPE_TEXT, offsetof(struct model_file, m.reason)},
        {"position", TYPE_INT, offsetof(struct model_file, m.position)},
        {"etaSeconds", TYPE_INT, offsetof(struct model_file, m.eta_s)},
        {"createdSeconds", TYPE_INT, offsetof(struct model_file, m.created_s)},
        {"priority", TYPE_INT, offsetof(struct model_file, priority)},
        {"prefixAffinity", TYPE_BOOL, offsetof(struct model_file, m.prefix_affinity)},
        {"aliases", TYPE_OTHER, 0},
        {"protocols", TYPE_OTHER, 0},
        {"limits", TYPE_OTHER, 0},
        {"timeouts", TYPE_OTHER, 0},
        {"backends", TYPE_OTHER, 0},
    };
    struct str path = arena_f(r->arena, "models[%zu]", i);
    struct model_file f = {0};
    int code = READ(r, v, path, rules, &f);
    code = code ? code : read_parts(r, v, path, &f.m);
    f.m.priority = (int32_t)f.priority;
    code = code ? code : routes_add(to, &f.m, r->err);
    return code;
}

int routes_read_yaml(struct str text, struct routes **ret, struct err *err) {
    static const struct member_rule rules[] = {{"models", TYPE_OTHER, 0}};
    struct arena arena;
    struct routes_reader r = {&arena, err};
    yyjson_mut_doc *doc = NULL;
    struct routes *to = routes_new();
    size_t n = 0;
    char none;
    arena_init(&arena, ROUTES_BYTES_MAX);
    int code = to ? yaml_parse_one(&arena, text, &doc, err) : err_set(err, ERR_NOMEM, "no memory");
    yyjson_mut_val *root = code ? NULL : yyjson_mut_doc_get_root(doc), *models;
    code = code ? code : READ(&r, root, STR("the file"), rules, &none);
    models = code ? NULL : yyjson_mut_obj_get(root, "models");
    code = code ? code : list_of(&r, models, STR("the file"), "models", &n);
    for (size_t i = 0; i < n && code == 0; i++) {
        code = read_model(&r, yyjson_mut_arr_get(models, i), i, to);
    }
    if (code == 0 && arena_ok(&arena) != 0) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    arena_release(&arena);
    if (code != 0) {
        routes_unref(to);
        return code;
    }
    *ret = to;
    return 0;
}

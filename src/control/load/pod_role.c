/* pod_role: a pod's shape, written as Kubernetes' own types are. See pod_role.h. */
#include "control/load/pod_role.h"

#include "api/tables/table.h"
#include "api/tables/view_core.h"
#include "api/walk/canonical.h"
#include "base/hash/sha256.h"
#include "base/limits.h"

/* ---- one value ---- */

static bool is_zero(yyjson_val *v) {
    return v == NULL || yyjson_is_null(v) || (yyjson_is_str(v) && yyjson_get_len(v) == 0) ||
           (yyjson_is_num(v) && yyjson_get_num(v) == 0) || yyjson_is_false(v);
}

static bool is_hollow(yyjson_val *v) { /* a list or map without anything */
    return v == NULL || yyjson_is_null(v) || (yyjson_is_ctn(v) && unsafe_yyjson_get_len(v) == 0);
}

static bool is_unset(const struct field *f, yyjson_val *v) {
    return f->shape != FIELD_ONE           ? is_hollow(v)
           : (f->flags & FIELD_F_OPT) != 0 ? v == NULL || yyjson_is_null(v)
                                           : is_zero(v);
}

/* As Go writes Kubernetes' own types. */
static const struct canonical as_go = {is_unset, .keep_empty = true};

/* ---- the shape ---- */

static const struct field *field_of(const struct schema *s, const char *name) {
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->fields[i].json, name) == 0) {
            return &s->fields[i];
        }
    }
    return NULL;
}

/* A member of some object, or null. */
static void write_member(struct buf *b, const struct schema *s, const char *name, yyjson_val *v,
                         struct arena *a) {
    const struct field *f = field_of(s, name);
    yyjson_val *m = json_get(v, str_of(name));
    if (f == NULL || m == NULL || yyjson_is_null(m) || (f->shape != FIELD_ONE && is_hollow(m))) {
        buf_c(b, "null");
    } else {
        canonical_member(&as_go, f, m, a, b);
    }
}

static void write_containers(struct buf *b, yyjson_val *list, struct arena *a) {
    yyjson_val *c;
    size_t i, n;
    if (is_hollow(list)) {
        buf_c(b, "null");
        return;
    }
    buf_ch(b, '[');
    yyjson_arr_foreach(list, i, n, c) {
        buf_c(b, i ? ",{\"ports\":" : "{\"ports\":");
        write_member(b, &schema_container, "ports", c, a);
        buf_c(b, ",\"resources\":{\"requests\":");
        write_member(b, &schema_resources, "requests", json_get(c, STR("resources")), a);
        buf_c(b, "}}");
    }
    buf_ch(b, ']');
}

static const char *const members[] = {
    "affinity",
    "containers",
    "initContainers",
    "nodeSelector",
    "overhead",
    "priority",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "tolerations",
    "topologySpreadConstraints",
};

static void write_part(struct buf *b, const char *name, yyjson_val *spec, struct arena *a) {
    yyjson_val *v = json_get(spec, str_of(name));
    if (strcmp(name, "containers") == 0 || strcmp(name, "initContainers") == 0) {
        write_containers(b, v, a);
    } else if (strcmp(name, "resources") == 0) {
        write_member(b, &schema_resources, "requests", v, a);
    } else {
        write_member(b, &schema_pod_spec, name, spec, a);
    }
}

void pod_role_shape(yyjson_val *spec, struct arena *a, struct buf *out) {
    bool any = false;
    buf_ch(out, '{');
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i], "resources") == 0 && json_get(spec, STR("resources")) == NULL) {
            continue; /* only where it is set, so that older hashes stay */
        }
        buf_f(out, any ? ",\"%s\":" : "\"%s\":", members[i]);
        any = true;
        write_part(out, members[i], spec, a);
    }
    buf_ch(out, '}');
}

/* As Go writes JSON: these stand escaped inside of texts. */
static void escape(struct str text, struct buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '<' || text.p[i] == '>' || text.p[i] == '&') {
            buf_f(out, "\\u%04x", (unsigned)text.p[i]);
        } else {
            buf_ch(out, text.p[i]);
        }
    }
}

struct str pod_role_hash(yyjson_val *spec, struct arena *a) {
    uint8_t h[SHA256_BYTES];
    struct buf plain, text;
    struct str r = {0};
    buf_init(&plain, LIMIT_OBJECT_BYTES);
    buf_init(&text, 2 * LIMIT_OBJECT_BYTES);
    buf_c(&text, "{\"spec\":");
    pod_role_shape(spec, a, &plain);
    escape(buf_view(&plain), &text);
    buf_ch(&text, '}');
    if (buf_ok(&plain) == 0 && buf_ok(&text) == 0) {
        sha256(buf_view(&text), h);
        r = arena_f(a, "%02x%02x%02x%02x", h[0], h[1], h[2], h[3]);
    }
    buf_release(&plain);
    buf_release(&text);
    return arena_ok(a) ? (struct str){0} : r;
}

/* ---- differences ---- */

struct compare {
    struct arena *arena;
    void (*differs)(void *ctx, struct str field);
    void *ctx;
    struct buf x, y;
};

static void tell(struct compare *c, struct str field) {
    if (buf_ok(&c->x) != 0 || buf_ok(&c->y) != 0 || !str_eq(buf_view(&c->x), buf_view(&c->y))) {
        c->differs(c->ctx, field);
    }
    buf_reset(&c->x);
    buf_reset(&c->y);
}

static void compare_containers(struct compare *c, const char *name, yyjson_val *now,
                               yyjson_val *was) {
    yyjson_val *x = json_get(now, str_of(name)), *y = json_get(was, str_of(name));
    size_t n = yyjson_arr_size(x);
    if (n != yyjson_arr_size(y)) {
        c->differs(c->ctx, str_of(name));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        yyjson_val *p = yyjson_arr_get(x, i), *q = yyjson_arr_get(y, i);
        write_member(&c->x, &schema_container, "ports", p, c->arena);
        write_member(&c->y, &schema_container, "ports", q, c->arena);
        tell(c, arena_f(c->arena, "%s[%zu].ports", name, i));
        write_member(&c->x, &schema_resources, "requests", json_get(p, STR("resources")), c->arena);
        write_member(&c->y, &schema_resources, "requests", json_get(q, STR("resources")), c->arena);
        tell(c, arena_f(c->arena, "%s[%zu].resources.requests", name, i));
    }
}

void pod_role_compare(yyjson_val *now, yyjson_val *was, struct arena *a,
                      void (*differs)(void *ctx, struct str field), void *ctx) {
    struct compare c = {.arena = a, .differs = differs, .ctx = ctx};
    buf_init(&c.x, LIMIT_OBJECT_BYTES);
    buf_init(&c.y, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (str_ends(str_of(members[i]), STR("ontainers"))) {
            compare_containers(&c, members[i], now, was);
        } else {
            write_part(&c.x, members[i], now, a);
            write_part(&c.y, members[i], was, a);
            tell(&c, str_of(members[i]));
        }
    }
    buf_release(&c.x);
    buf_release(&c.y);
}

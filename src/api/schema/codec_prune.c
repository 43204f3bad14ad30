/*
 * codec_prune: removes what the tables do not know, naming each.
 *
 * A null member goes too, silently: for Kubernetes it is the same as an absent one ("creationTimestamp": null).
 */
#include "api/schema/check.h"
#include "api/schema/codec.h"
#include "api/schema/crd_schema.h"
#include "api/walk/walk.h"
#include "base/map.h"

struct prune {
    void (*unknown)(void *ctx, struct str path);
    void *ctx;
    struct buf text;
    struct causes *types; /* what does not decode; NULL: not looked for */
};

static void prune_object(struct prune *p, const struct schema *s, yyjson_mut_val *obj,
                         const struct path *at);

static void report(struct prune *p, const struct path *at) {
    if (p->unknown != NULL) {
        buf_reset(&p->text);
        path_write(at, &p->text);
        p->unknown(p->ctx, buf_view(&p->text));
    }
}

static void drop_nulls(yyjson_mut_val *map) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        if (yyjson_mut_is_null(yyjson_mut_obj_iter_get_val(k))) {
            yyjson_mut_obj_iter_remove(&it);
        }
    }
}

/* What a null among values is to a decoder of Go: the zero of their type. */
static void set_zero(const struct field *f, yyjson_mut_val *v) {
    switch ((enum field_type)f->type) {
    case FIELD_OBJECT:
        (void)yyjson_mut_set_obj(v);
        break;
    case FIELD_STRING:
    case FIELD_BYTES:
        (void)yyjson_mut_set_strn(v, "", 0);
        break;
    case FIELD_QUANTITY:
        (void)yyjson_mut_set_strn(v, "0", 1);
        break;
    case FIELD_BOOL:
        (void)yyjson_mut_set_bool(v, false);
        break;
    case FIELD_INT32:
    case FIELD_INT64:
        (void)yyjson_mut_set_sint(v, 0);
        break;
    default:
        break;
    }
}

/* What upstream's types do not write, and so do not keep: the empty value of a member that is no pointer. */
static bool is_zero(const struct field *f, yyjson_mut_val *v) {
    const uint32_t written = FIELD_F_OPT | FIELD_F_KEEP_EMPTY | FIELD_F_REQUIRED | FIELD_F_EITHER;
    if ((f->flags & written) != 0 || f->min > 0) {
        return false;
    }
    if (f->shape != FIELD_ONE) {
        return yyjson_mut_is_ctn(v) && yyjson_mut_get_len(v) == 0;
    }
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
        return yyjson_mut_is_str(v) && yyjson_mut_get_len(v) == 0;
    case FIELD_BOOL:
        return yyjson_mut_is_false(v);
    case FIELD_INT32:
    case FIELD_INT64:
        return yyjson_mut_is_int(v) && yyjson_mut_get_uint(v) == 0;
    default:
        return false;
    }
}

static void check_value(struct prune *p, const struct field *f, yyjson_mut_val *v,
                        const struct path *at) {
    if (yyjson_mut_is_null(v)) {
        set_zero(f, v);
    } else if (p->types->n == 0) {
        (void)codec_fits(f, v, at, p->types);
    }
}

static void check_field(struct prune *p, const struct field *f, yyjson_mut_val *v,
                        const struct path *at) {
    yyjson_mut_val *e, *k;
    size_t i, n;
    if (f->shape == FIELD_ONE) {
        check_value(p, f, v, at);
    } else if (f->shape == FIELD_LIST && yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, n, e) {
            struct path here = path_index(at, i);
            check_value(p, f, e, &here);
        }
    } else if (f->shape == FIELD_MAP && yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach(v, i, n, k, e) {
            struct path here = path_key(at, json_mstr(k));
            check_value(p, f, e, &here);
        }
    } else if (p->types->n == 0) {
        const char *want = f->shape == FIELD_LIST ? "array" : "object";
        cause_wrong_type(p->types, at, str_of(want), check_type_name(v));
    }
}

static void prune_field(struct prune *p, const struct field *f, yyjson_mut_val *v,
                        const struct path *at) {
    if (p->types != NULL && (f->flags & FIELD_F_EITHER) == 0) {
        check_field(p, f, v, at);
    }
    if (f->shape == FIELD_MAP) {
        drop_nulls(v);
    }
    if (f->type != FIELD_OBJECT) {
        return;
    }
    if (f->shape == FIELD_ONE) {
        prune_object(p, f->of, v, at);
    } else if (f->shape == FIELD_LIST) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        yyjson_mut_val *e;
        for (size_t i = 0; (e = yyjson_mut_arr_iter_next(&it)) != NULL; i++) {
            struct path sub = path_index(at, i);
            prune_object(p, f->of, e, &sub);
        }
    } else {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            struct path sub = path_key(at, json_mstr(k));
            prune_object(p, f->of, yyjson_mut_obj_iter_get_val(k), &sub);
        }
    }
}

static void prune_object(struct prune *p, const struct schema *s, yyjson_mut_val *obj,
                         const struct path *at) {
    if (!yyjson_mut_is_obj(obj)) {
        return;
    }
    size_t hint = 0;
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        const struct field *f = schema_find(s, json_mstr(k), &hint);
        yyjson_mut_val *v = yyjson_mut_obj_iter_get_val(k);
        if (f == NULL) {
            struct path here = {.up = at, .step = PATH_MEMBER, .name = json_mstr(k)};
            report(p, &here);
            yyjson_mut_obj_iter_remove(&it);
        } else if (yyjson_mut_is_null(v)) {
            yyjson_mut_obj_iter_remove(&it);
        } else {
            struct path here = path_field(at, f);
            prune_field(p, f, v, &here);
            if (p->types != NULL && is_zero(f, v)) {
                yyjson_mut_obj_iter_remove(&it);
            }
        }
    }
}

void codec_prune_at(const struct schema *s, yyjson_mut_val *obj, const struct path *at,
                    void (*unknown)(void *ctx, struct str path), void *ctx) {
    struct prune p = {.unknown = unknown, .ctx = ctx};
    buf_init(&p.text, 0);
    prune_object(&p, s, obj, at);
    buf_release(&p.text);
}

/* A custom kind's: the table has apiVersion, kind and metadata, the schema knows the rest. */
static int prune_custom(const struct schema *s, yyjson_mut_val *obj, bool status,
                        void (*unknown)(void *ctx, struct str path), void *ctx) {
    const struct crd_node *root = s->custom->root;
    struct crd_pruner p = {.unknown = unknown, .ctx = ctx};
    struct path at = path_member(NULL, status ? "status" : "metadata");
    yyjson_mut_val *part = json_mget(obj, at.name);
    buf_init(&p.text, 0);
    if (!status) {
        codec_prune_at(s->fields[s->n - 1].of, part, &at, unknown, ctx);
        crd_prune(&p, root, obj, NULL, true);
    } else if (part != NULL && crd_member(root, at.name) != NULL) {
        crd_prune(&p, crd_member(root, at.name), part, &at, false);
    }
    int r = buf_ok(&p.text);
    buf_release(&p.text);
    return r;
}

int codec_prune_status(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj,
                       void (*unknown)(void *ctx, struct str path), void *ctx) {
    (void)d;
    if (s->custom != NULL) {
        return prune_custom(s, obj, true, unknown, ctx);
    }
    struct prune p = {.unknown = unknown, .ctx = ctx};
    size_t hint = 0;
    yyjson_mut_val *status = json_mget(obj, STR("status"));
    const struct field *f = status != NULL ? schema_find(s, STR("status"), &hint) : NULL;
    buf_init(&p.text, 0);
    if (f != NULL) {
        struct path here = path_field(NULL, f);
        prune_field(&p, f, status, &here);
    }
    int r = buf_ok(&p.text);
    buf_release(&p.text);
    return r;
}

int codec_prune(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj,
                void (*unknown)(void *ctx, struct str path), void *ctx) {
    return codec_prune_body(s, d, obj, unknown, ctx, NULL);
}

int codec_prune_body(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj,
                     void (*unknown)(void *ctx, struct str path), void *ctx, struct causes *types) {
    (void)d;
    if (s->custom != NULL) {
        return prune_custom(s, obj, false, unknown, ctx);
    }
    struct prune p = {.unknown = unknown, .ctx = ctx, .types = types};
    buf_init(&p.text, 0);
    prune_object(&p, s, obj, NULL);
    int r = buf_ok(&p.text);
    buf_release(&p.text);
    return r;
}

/* ---- names, in the order of the text ---- */

struct name_walk {
    const struct codec_names *names;
    struct buf text;
    int code;
};

static void names_of(struct name_walk *w, const struct schema *s, const struct field *values,
                     yyjson_val *v, const struct path *at);

static void say(struct name_walk *w, void (*how)(void *ctx, struct str path),
                const struct path *at) {
    buf_reset(&w->text);
    path_write(at, &w->text);
    how(w->names->ctx, buf_view(&w->text));
}

static void names_of_field(struct name_walk *w, const struct field *f, yyjson_val *v,
                           const struct path *at) {
    size_t i, n;
    yyjson_val *e;
    if (f->shape == FIELD_MAP) {
        names_of(w, NULL, f, v, at);
    } else if (f->type == FIELD_OBJECT && f->shape == FIELD_ONE) {
        names_of(w, f->of, NULL, v, at);
    } else if (f->type == FIELD_OBJECT) {
        yyjson_arr_foreach(v, i, n, e) {
            struct path here = path_index(at, i);
            names_of(w, f->of, NULL, e, &here);
        }
    }
}

/* An object of a table, or a map of `values`, which takes any names. */
static void names_of(struct name_walk *w, const struct schema *s, const struct field *values,
                     yyjson_val *v, const struct path *at) {
    struct map seen;
    size_t hint = 0;
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    map_init(&seen);
    for (yyjson_val *k; yyjson_is_obj(v) && (k = yyjson_obj_iter_next(&it)) != NULL;) {
        struct path here = {.up = at, .step = PATH_MEMBER, .name = json_str(k)};
        const struct field *f = s == NULL ? values : schema_find(s, here.name, &hint);
        if (f == NULL) {
            say(w, w->names->unknown, &here);
            continue;
        }
        if (map_get(&seen, here.name) != NULL) {
            say(w, w->names->repeated, &here);
        }
        w->code = w->code ? w->code : map_put(&seen, here.name, k, NULL);
        if (s != NULL) {
            names_of_field(w, f, yyjson_obj_iter_get_val(k), &here);
        } else if (f->type == FIELD_OBJECT) {
            names_of(w, f->of, NULL, yyjson_obj_iter_get_val(k), &here);
        }
    }
    map_release(&seen);
}

int codec_names(const struct schema *s, yyjson_val *body, const struct codec_names *names) {
    struct name_walk w = {.names = names};
    buf_init(&w.text, 0);
    names_of(&w, s, NULL, body, NULL);
    int r = w.code ? w.code : buf_ok(&w.text);
    buf_release(&w.text);
    return r;
}

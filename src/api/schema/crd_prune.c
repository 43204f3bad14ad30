/*
 * crd_prune: what a structural schema does not name goes, what it has a default for comes. See crd_schema.h.
 *
 * Below x-kubernetes-preserve-unknown-fields nothing is removed but where the schema names something again. Objects
 * embedded in others keep apiVersion, kind and metadata, the latter as any object's metadata.
 */
#include "api/schema/codec.h"
#include "api/schema/crd_schema.h"
#include "api/tables/view_meta.h"
#include "wire/json/json_edit.h"

static bool is_meta(struct str name) {
    return str_is(name, "apiVersion") || str_is(name, "kind") || str_is(name, "metadata");
}

static void tell(struct crd_pruner *p, const struct path *at, struct str name) {
    if (p->unknown != NULL) {
        struct path here = {.up = at, .step = PATH_MEMBER, .name = name};
        buf_reset(&p->text);
        path_write(&here, &p->text);
        p->unknown(p->ctx, buf_view(&p->text));
    }
}

/* A value that no node describes: every member of every object goes. */
static void prune_all(struct crd_pruner *p, yyjson_mut_val *v, const struct path *at) {
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        yyjson_mut_val *e;
        for (size_t i = 0; (e = yyjson_mut_arr_iter_next(&it)) != NULL; i++) {
            struct path here = path_index(at, i);
            prune_all(p, e, &here);
        }
    } else if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            tell(p, at, json_mstr(k));
            yyjson_mut_obj_iter_remove(&it);
        }
    }
}

static void prune_members(struct crd_pruner *p, const struct crd_node *n, yyjson_mut_val *obj,
                          const struct path *at, bool root) {
    bool resource = root || (n->flags & CRD_EMBEDDED);
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct str name = json_mstr(k);
        yyjson_mut_val *v = yyjson_mut_obj_iter_get_val(k);
        struct path here = {.up = at, .step = PATH_MEMBER, .name = name};
        if (resource && is_meta(name)) {
            continue;
        }
        const struct crd_node *prop = crd_member(n, name);
        if (prop != NULL) {
            crd_prune(p, prop, v, &here, false);
        } else if (n->flags & CRD_PRESERVE) {
            continue;
        } else if (n->flags &
                   (CRD_ADDITIONAL | CRD_NO_ADDITIONAL)) { /* if not allowed: refused later */
            prune_all(p, v, &here);
        } else {
            tell(p, at, name);
            yyjson_mut_obj_iter_remove(&it);
        }
    }
}

void crd_prune(struct crd_pruner *p, const struct crd_node *n, yyjson_mut_val *v,
               const struct path *at, bool root) {
    if (yyjson_mut_is_obj(v)) {
        prune_members(p, n, v, at, root);
        yyjson_mut_val *meta = json_mget(v, STR("metadata"));
        if ((n->flags & CRD_EMBEDDED) && !root && yyjson_mut_is_obj(meta)) {
            struct path here = path_member(at, "metadata");
            codec_prune_at(&schema_meta, meta, &here, p->unknown, p->ctx);
        }
    } else if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        yyjson_mut_val *e;
        for (size_t i = 0; (e = yyjson_mut_arr_iter_next(&it)) != NULL; i++) {
            struct path here = path_index(at, i);
            if (n->items != NULL) {
                crd_prune(p, n->items, e, &here, false);
            } else if (!(n->flags & CRD_PRESERVE)) {
                prune_all(p, e, &here);
            }
        }
    }
}

static bool forbidden_null(const struct crd_node *n, yyjson_mut_val *v) {
    return n != NULL && yyjson_mut_is_null(v) && !(n->flags & CRD_NULLABLE);
}

void crd_drop_nulls(const struct crd_node *n, yyjson_mut_val *v) {
    if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            const struct crd_node *m = crd_member(n, json_mstr(k));
            yyjson_mut_val *x = yyjson_mut_obj_iter_get_val(k);
            if (forbidden_null(m, x) && m->def == NULL) {
                yyjson_mut_obj_iter_remove(&it);
            } else if (m != NULL) {
                crd_drop_nulls(m, x);
            }
        }
    } else if (yyjson_mut_is_arr(v) && n->items != NULL) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        yyjson_mut_val *e;
        while ((e = yyjson_mut_arr_iter_next(&it)) != NULL) {
            crd_drop_nulls(n->items, e);
        }
    }
}

/* The default of the node becomes the value of v itself, which was null. */
static int become_default(const struct crd_node *n, yyjson_mut_doc *d, yyjson_mut_val *v) {
    yyjson_mut_val *copy = yyjson_val_mut_copy(d, n->def);
    if (copy == NULL) {
        return ERR_NOMEM;
    }
    v->tag = copy->tag; /* the place in its parent (next) stays */
    v->uni = copy->uni;
    return 0;
}

static int default_members(const struct crd_node *n, yyjson_mut_doc *d, yyjson_mut_val *obj) {
    struct json_edit e;
    int code = json_edit_begin(&e, d, obj, n->n_props);
    for (size_t i = 0; i < n->n_props && code == 0; i++) {
        const struct crd_node *p = n->props[i].node;
        if (p->def == NULL || json_edit_get(&e, n->props[i].name) != NULL) {
            continue;
        }
        (void)arena_charge(json_arena(d),
                           12 + 12 * (uint64_t)(unsafe_yyjson_get_next(p->def) - p->def));
        yyjson_mut_val *copy = arena_spent(json_arena(d)) ? NULL : yyjson_val_mut_copy(d, p->def);
        code = copy == NULL ? ERR_NOMEM : json_edit_set(&e, n->props[i].name, copy);
    }
    json_edit_end(&e);
    /* What is made of nothing, in each of many elements, is the guest's as well. */
    if (code != 0 || !arena_charge(json_arena(d), 4 * n->n_props)) {
        return ERR_NOMEM;
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        const struct crd_node *m = crd_member(n, json_mstr(k));
        yyjson_mut_val *v = yyjson_mut_obj_iter_get_val(k);
        if (m == NULL || !(m->flags & CRD_DEFAULTS)) {
            continue;
        }
        int r = forbidden_null(m, v) && m->def != NULL ? become_default(m, d, v) : 0;
        r = r ? r : crd_default(m, d, v);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

int crd_default(const struct crd_node *n, yyjson_mut_doc *d, yyjson_mut_val *v) {
    if (!(n->flags & CRD_DEFAULTS)) {
        return 0;
    }
    if (yyjson_mut_is_obj(v)) {
        return default_members(n, d, v);
    }
    int r = 0;
    if (yyjson_mut_is_arr(v) && n->items != NULL) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        yyjson_mut_val *e;
        while (r == 0 && (e = yyjson_mut_arr_iter_next(&it)) != NULL) {
            bool fill = forbidden_null(n->items, e) && n->items->def != NULL;
            r = fill ? become_default(n->items, d, e) : 0;
            r = r ? r : crd_default(n->items, d, e);
        }
    }
    return r;
}

/*
 * fields_json: FieldsV1 to sets of paths, and back: `{"f:spec":{"f:replicas":{}}}`.
 *
 * A node without members is one path; "." beside others says that the node itself is in the set as well.
 */
#include "base/limits.h"

#include "api/managed/fields.h"

static int read_node(struct arena *a, struct buf *scratch, yyjson_mut_val *v, int depth,
                     struct fields *node) {
    size_t i, n;
    yyjson_mut_val *key, *below;
    if (!yyjson_mut_is_obj(v) || depth > LIMIT_JSON_DEPTH) {
        return ERR_INVALID;
    }
    if (!arena_charge(a, 1 + 25 * yyjson_mut_obj_size(v))) {
        return 0;
    }
    fields_reserve(a, node, yyjson_mut_obj_size(v));
    yyjson_mut_obj_foreach(v, i, n, key, below) {
        struct fields kid = {0};
        if (str_is(json_mstr(key), ".")) {
            node->member = true;
            continue;
        }
        int r = step_parse(a, scratch, json_mstr(key), &kid.step);
        if (r == ERR_NOT_FOUND) {
            continue;
        }
        r = r ? r : read_node(a, scratch, below, depth + 1, &kid);
        if (r != 0) {
            return r;
        }
        fields_add(a, node, &kid);
    }
    fields_order(a, node);
    node->member = node->member || node->n == 0;
    return 0;
}

int fields_read(struct arena *a, yyjson_mut_val *v, struct fields *ret) {
    struct buf scratch;
    struct fields root = {0};
    buf_init(&scratch, 0);
    int r = read_node(a, &scratch, v, 0, &root);
    buf_release(&scratch);
    r = r ? r : arena_ok(a);
    if (r == 0) {
        root.member = false; /* nobody owns the whole */
        *ret = root;
    }
    return r;
}

static yyjson_mut_val *node_tree(yyjson_mut_doc *d, const struct fields *f, bool root) {
    yyjson_mut_val *obj = yyjson_mut_obj(d);
    if (obj == NULL) {
        return NULL;
    }
    if (f->member && f->n > 0 && !root) {
        yyjson_mut_val *dot = yyjson_mut_strn(d, ".", 1), *empty = yyjson_mut_obj(d);
        if (dot == NULL || empty == NULL || !yyjson_mut_obj_add(obj, dot, empty)) {
            return NULL;
        }
    }
    for (uint32_t i = 0; i < f->n; i++) {
        struct str name = step_name(json_arena(d), &f->v[i].step);
        yyjson_mut_val *key = name.p != NULL ? yyjson_mut_strn(d, name.p, name.n) : NULL;
        yyjson_mut_val *v = key != NULL ? node_tree(d, &f->v[i], false) : NULL;
        if (v == NULL || !yyjson_mut_obj_add(obj, key, v)) {
            return NULL;
        }
    }
    return obj;
}

yyjson_mut_val *fields_tree(yyjson_mut_doc *d, const struct fields *f) {
    return node_tree(d, f, true);
}

/*
 * patch: RFC 7386 merge patch and RFC 6902 JSON patch. See patch.h.
 *
 * Recursion is as deep as the patch or the document, both of which parsing bounds. Only JSON patch can make a document
 * deeper than its parts; what it adds is measured before it goes in.
 */
#include "wire/json/patch.h"

#include "wire/json/json_edit.h"

/* ---- RFC 7386 ---- */

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "no memory to patch");
}

static struct str key_of(yyjson_val *key) {
    return json_str(key);
}

static int merge_into(yyjson_mut_doc *d, yyjson_mut_val *target, yyjson_val *patch);

/* A copy of the patch's value; inside objects nulls are dropped, as if merged into {}. */
static yyjson_mut_val *fresh(yyjson_mut_doc *d, yyjson_val *v) {
    if (!yyjson_is_obj(v)) {
        return yyjson_val_mut_copy(d, v);
    }
    yyjson_mut_val *obj = yyjson_mut_obj(d);
    return obj && merge_into(d, obj, v) == 0 ? obj : NULL;
}

static int merge_member(yyjson_mut_doc *d, struct json_edit *e, struct str name, yyjson_val *val) {
    if (yyjson_is_null(val)) {
        json_edit_del(e, name);
        return 0;
    }
    yyjson_mut_val *old = json_edit_get(e, name);
    if (yyjson_is_obj(val) && yyjson_mut_is_obj(old)) {
        return merge_into(d, old, val);
    }
    yyjson_mut_val *v = fresh(d, val);
    return v ? json_edit_set(e, name, v) : ERR_NOMEM;
}

static int merge_into(yyjson_mut_doc *d, yyjson_mut_val *target, yyjson_val *patch) {
    struct json_edit e;
    size_t i, max;
    yyjson_val *key, *val;
    int r = json_edit_begin(&e, d, target, yyjson_obj_size(patch));
    yyjson_obj_foreach(patch, i, max, key, val) {
        r = r ? r : merge_member(d, &e, key_of(key), val);
    }
    json_edit_end(&e);
    return r;
}

int patch_merge(yyjson_mut_doc *d, yyjson_val *patch, struct err *err) {
    if (yyjson_is_obj(patch) && yyjson_mut_is_obj(d->root)) {
        return merge_into(d, d->root, patch) == 0 ? 0 : no_memory(err);
    }
    yyjson_mut_val *root = fresh(d, patch);
    if (root == NULL) {
        return no_memory(err);
    }
    yyjson_mut_doc_set_root(d, root);
    return 0;
}

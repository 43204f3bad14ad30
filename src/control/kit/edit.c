/* edit: see edit.h. */
#include "control/kit/edit.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"

static struct codec_lock lock_of(const struct object *o, unsigned on) {
    return (struct codec_lock){.rv = on & EDIT_VERSION ? o->rv : 0,
                               .uid = on & EDIT_UID ? o->uid : (struct str){0}};
}

static int result(bool any, const struct buf *out) {
    int r = buf_ok(out);
    return r != 0 ? r : any ? 0 : ERR_NOT_FOUND;
}

int edit_write_as(const struct schema *s, const struct object *o, unsigned on, const void *was,
                  const void *want, struct buf *out) {
    struct codec_lock lock = lock_of(o, on);
    return result(codec_patch(s, was, want, &lock, out), out);
}

int edit_write_tree(const struct object *o, unsigned on, yyjson_val *was, yyjson_mut_val *want,
                    struct buf *out) {
    struct codec_lock lock = lock_of(o, on);
    return result(codec_patch_tree(was, want, false, &lock, out), out);
}

int edit_write_spec(const struct object *o, unsigned on, yyjson_val *was, yyjson_mut_val *want,
                    struct buf *out) {
    struct codec_lock lock = lock_of(o, on);
    return result(codec_patch_tree(was, want, true, &lock, out), out);
}

int edit_write(const struct object *o, unsigned on, const void *was, const void *want,
               struct buf *out) {
    return edit_write_as(kind_storage(o->kind)->schema, o, on, was, want, out);
}

static int send(struct round *r, const struct object *o, const char *subresource, int code,
                struct buf *body) {
    if (code == 0) {
        round_patch(r, o->kind, o->ns, o->name, subresource, PATCH_MERGE, buf_view(body));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(body);
    return code;
}

int edit_send(struct round *r, const struct object *o, const char *subresource, unsigned on,
              const void *was, const void *want) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    return send(r, o, subresource, edit_write(o, on, was, want, &b), &b);
}

int edit_create(struct round *r, const struct kind *k, struct str ns, const void *view) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    codec_encode_object(k, view, &b);
    int code = buf_ok(&b);
    if (code == 0) {
        round_create(r, k, ns, buf_view(&b));
    } else {
        round_fail(r, code);
    }
    buf_release(&b);
    return code;
}

int edit_send_meta(struct round *r, const struct object *o, unsigned on, const struct meta *was,
                   const struct meta *want) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    return send(r, o, "", edit_write_meta(o, on, was, want, &b), &b);
}

int edit_write_meta(const struct object *o, unsigned on, const struct meta *was,
                    const struct meta *want, struct buf *out) {
    struct partial_object before = {(struct meta *)was}, after = {(struct meta *)want};
    return edit_write_as(&schema_partial_object, o, on, &before, &after, out);
}

int edit_meta_of(yyjson_val *tree, struct arena *a, struct meta **ret) {
    struct partial_object p;
    int r = codec_decode(&schema_partial_object, tree, a, &p, NULL);
    if (r == 0 && p.metadata == NULL) {
        r = ERR_SYNTAX;
    }
    if (r == 0) {
        *ret = p.metadata;
    }
    return r;
}

int edit_read_meta(const struct object *o, struct arena *a, struct meta **ret) {
    yyjson_doc *d;
    int r = object_tree(o, a, &d, NULL);
    if (r != 0) {
        return r;
    }
    return edit_meta_of(yyjson_doc_get_root(d), a, ret);
}

int edit_drop_finalizer(const struct object *o, const char *finalizer, struct arena *a,
                        struct buf *out) {
    struct meta *was, want;
    int r = edit_read_meta(o, a, &was);
    if (r != 0) {
        return r;
    }
    want = *was;
    r = meta_remove_finalizer(&want, a, finalizer);
    return r != 0 ? r : edit_write_meta(o, EDIT_VERSION | EDIT_UID, was, &want, out);
}

/* apply: see apply.h. */
#include "control/kit/apply.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "api/walk/value.h"
#include "base/limits.h"
#include "control/kit/edit.h"

static int add_digest(struct apply *x, const struct kind *k, const void *intent,
                      struct meta *meta) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    codec_encode(kind_storage(k)->schema, intent, &b);
    int r = buf_ok(&b);
    if (r == 0) {
        struct str digest =
            arena_f(x->arena, "%016llx", (unsigned long long)str_hash(buf_view(&b)));
        r = digest.p ? meta_set(&meta->annotations, x->arena, APPLY_INTENT, digest) : ERR_NOMEM;
    }
    buf_release(&b);
    return r;
}

static int create(struct apply *x, const struct kind *k, const void *intent, struct meta *meta) {
    int r = str_empty(x->first.key)
                ? 0
                : meta_set(&meta->annotations, x->arena, x->first.key.p, x->first.value);
    return r != 0 ? r : edit_create(x->round, k, meta->namespace, intent);
}

/* The view of what is there, and the same with the intent laid over it. */
static int compare(struct apply *x, const struct object *o, const void *intent, void **ret_was,
                   void **ret_want) {
    const struct schema *s = kind_storage(o->kind)->schema;
    yyjson_doc *d;
    void *was = arena_zalloc(x->arena, s->size);
    int r = was ? object_tree(o, x->arena, &d, NULL) : ERR_NOMEM;
    r = r ? r : codec_decode(s, yyjson_doc_get_root(d), x->arena, was, NULL);
    *ret_was = was;
    *ret_want = r == 0 ? value_lay(s, was, intent, x->arena) : NULL;
    return r ? r : *ret_want ? 0 : ERR_NOMEM;
}

static void tell(struct apply *x, const struct object *o, const struct meta *want) {
    struct meta *was;
    if (edit_read_meta(o, x->arena, &was) == 0 &&
        str_eq(meta_annotation(was, APPLY_INTENT), meta_annotation(want, APPLY_INTENT))) {
        recorder_event(x->recorder, o, EVENT_WARNING, "Reverted", "%s", x->reverted);
    }
}

bool apply_object(struct apply *x, const struct kind *k, const struct object *o, void *intent,
                  struct meta *meta) {
    void *was, *want;
    struct buf b;
    int r = x->reverted != NULL ? add_digest(x, k, intent, meta) : 0;
    if (r == 0 && o == NULL) {
        r = create(x, k, intent, meta);
    } else if (r == 0 && (r = compare(x, o, intent, &was, &want)) == 0) {
        buf_init(&b, LIMIT_OBJECT_BYTES);
        r = edit_write(o, EDIT_VERSION, was, want, &b);
        if (r == 0) {
            if (x->reverted != NULL) {
                tell(x, o, meta);
            }
            round_patch(x->round, k, o->ns, o->name, "", PATCH_MERGE, buf_view(&b));
        }
        buf_release(&b);
    }
    if (r == ERR_NOT_FOUND) {
        return o->deleting_ns != 0;
    }
    if (r != 0) {
        round_fail(x->round, r);
    }
    return true;
}

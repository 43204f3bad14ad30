/*
 * object (mirror): one version of one API object, immutable, shared by reference.
 *
 * An object is its bytes: canonical JSON of the storage version, without metadata.resourceVersion, which is
 * spliced in on the way out. Canonical: compact, members in the order the writer sent them, apiVersion, kind and
 * metadata first, name and uid present in metadata. A small decoded head lies beside the bytes; its views point
 * into them. Reference counts are atomic, so the store's writer thread may hold one; everything else happens on
 * the loop thread.
 */
#ifndef BERTH_MIRROR_OBJECT_H
#define BERTH_MIRROR_OBJECT_H

#include "api/schema/kind.h"
#include "base/buf.h"

struct owner_ref {
    struct str api_version, kind, name, uid;
    bool controller, block;
};

struct object {
    const struct kind *kind;
    struct str ns, name, uid; /* ns empty for cluster-scoped */
    uint64_t rv;              /* revision that wrote this version; 0 before mirror_write */
    int64_t generation;
    int64_t created_ns;  /* creationTimestamp */
    int64_t deleting_ns; /* deletionTimestamp, 0 when not being deleted */
    struct str_map labels;
    struct owner_ref *owners;
    size_t n_owners;
    size_t n_finalizers;
    struct str json; /* canonical bytes */
    size_t rv_at;    /* where `"resourceVersion":"N",` goes in (just after `"metadata":{`) */
    size_t body_at;  /* offset of `"metadata"`: items of built-in lists omit apiVersion and kind */
};

/* Parses bytes (copied; made canonical where they are not; a resourceVersion in them becomes rv) into an object
 * with one reference. ERR_SYNTAX, ERR_NOMEM, ERR_TOO_LARGE. */
int object_new(const struct kind *k, struct str json, struct object **ret, struct err *err);
/* From a mutable tree: puts apiVersion, kind, metadata first, drops resourceVersion, then as above. */
int object_new_mut(const struct kind *k, yyjson_mut_val *root, struct object **ret,
                   struct err *err);
struct object *object_ref(const struct object *o); /* returns its argument */
void object_unref(const struct object *o);         /* NULL is a no-op */

/* The bytes with resourceVersion in place. */
void object_emit(const struct object *o, struct buf *out);
/* The same as an item of a built-in list: without apiVersion and kind. */
void object_emit_item(const struct object *o, struct buf *out);
/* Parses the bytes (with resourceVersion) into an arena. */
int object_tree(const struct object *o, struct arena *a, yyjson_doc **ret, struct err *err);

struct str object_label(const struct object *o, struct str key);   /* empty when absent */
const struct owner_ref *object_controller(const struct object *o); /* NULL when none */
/* Whether an object had a controller before, and has another one or none now. old may be NULL. */
bool object_left(const struct object *old, const struct object *now);
/* Whether ref, of an object of namespace ns ("": of none), names owner: its uid, and its kind and name where such an
 * object may have owners, which is its own namespace, or outside of all. A uid alone is no proof: anybody may write
 * it. */
bool object_named_by(const struct object *owner, struct str ns, const struct owner_ref *ref);

#endif

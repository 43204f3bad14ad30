/* memory_store: each change is a tree that is read, edited and committed. See memory_store.h. */
#include "mirror/memory/memory_store.h"

#include <stdio.h>

#include "api/schema/codec.h"
#include "wire/json/patch.h"
#include "wire/text/time.h"

enum { STORE_ARENA = 8 << 20 };

static struct str now_text(struct memory_store *s, int64_t plus_s, char *buf) {
    return time_text(clock_wall(s->clock) + plus_s * NS_PER_SEC, buf);
}

/* Edits of a tree do not say when they found no memory; its arena does. */
static int enough(const struct arena *a, struct err *err) {
    return arena_ok(a) ? err_set(err, ERR_NOMEM, "an object needs too much memory") : 0;
}

static int commit(struct memory_store *s, enum change_type type, struct object *o, uint64_t rv,
                  const struct object **ret, struct err *err) {
    const struct object *keep = object_ref(o);
    int r = mirror_write(s->mirror, type, o, rv, NULL, NULL, err);
    if (r != 0) {
        object_unref(keep);
        return r;
    }
    mirror_flush(s->mirror);
    *ret = keep;
    return 0;
}

/* A deleted object goes out with its last state. */
static int commit_removal(struct memory_store *s, const struct kind *k, yyjson_mut_doc *d,
                          const struct object *old, const struct object **ret, struct err *err) {
    struct object *last;
    int r = object_new_mut(k, yyjson_mut_doc_get_root(d), &last, err);
    return r ? r : commit(s, CHANGE_DELETED, last, old->rv, ret, err);
}

static void name_it(struct memory_store *s, yyjson_mut_doc *d, yyjson_mut_val *meta) {
    char text[320], at[TIME_TEXT_MAX];
    s->serial++;
    if (str_empty(json_mstr_at(meta, "name"))) {
        int n = snprintf(text, sizeof text, "%.*s%05llu",
                         STR_ARG(str_head(json_mstr_at(meta, "generateName"), 240)),
                         (unsigned long long)s->serial);
        json_mset_str(d, meta, "name", str_from(text, (size_t)n));
    }
    /* The first eight digits tell them apart, as a real one's mostly do. */
    int n = snprintf(text, sizeof text, "%08llx-0000-4000-8000-%012llx",
                     (unsigned long long)(s->serial & UINT32_MAX), (unsigned long long)s->serial);
    json_mset_str(d, meta, "uid", str_from(text, (size_t)n));
    json_mset_str(d, meta, "creationTimestamp", now_text(s, 0, at));
}

int memory_store_create(struct memory_store *s, const struct kind *k, struct str ns,
                        struct str json, const struct object **ret, struct err *err) {
    struct arena a;
    arena_init(&a, STORE_ARENA);
    yyjson_mut_doc *d;
    struct object *o;
    int r = json_parse_mut(&a, json, &d, err);
    if (r != 0) {
        goto out;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    json_mset_str(d, root, "apiVersion", str_of(kind_api_version(k)));
    json_mset_str(d, root, "kind", str_of(k->kind));
    if (k->flags & KIND_NAMESPACED) {
        json_mset_str(d, meta, "namespace", ns);
    }
    name_it(s, d, meta);
    if (k->flags & KIND_GENERATION) {
        json_mset_i64(d, meta, "generation", 1);
    }
    r = codec_default(k, d, err);
    if (r == 0 && k->prepare) {
        k->prepare(d, root, NULL, clock_wall(s->clock));
    }
    if (r == 0 && mirror_get(s->mirror, k, ns, json_mstr_at(meta, "name"))) {
        r = err_set(err, ERR_EXISTS, "%s \"%.*s\" already exists", k->plural,
                    STR_ARG(json_mstr_at(meta, "name")));
    }
    r = r ? r : enough(&a, err);
    r = r ? r : object_new_mut(k, root, &o, err);
    r = r ? r : commit(s, CHANGE_ADDED, o, 0, ret, err);
out:
    arena_release(&a);
    return r;
}

static size_t length_at(yyjson_mut_val *v, const char *dotted) {
    yyjson_mut_val *list = json_mpath(v, dotted);
    return list && yyjson_mut_is_arr(list) ? yyjson_mut_arr_size(list) : 0;
}

static bool may_go(const struct kind *k, yyjson_mut_val *root) {
    yyjson_mut_val *grace = json_mpath(root, "metadata.deletionGracePeriodSeconds");
    return json_mpath(root, "metadata.deletionTimestamp") &&
           length_at(root, "metadata.finalizers") == 0 &&
           (grace == NULL || yyjson_mut_get_sint(grace) == 0) &&
           (strcmp(k->kind, "Namespace") != 0 || length_at(root, "spec.finalizers") == 0);
}

/* Puts back from `old` the part of the object that this subresource does not write. */
static void keep_other_parts(yyjson_mut_doc *d, const struct kind *k, yyjson_val *old,
                             const char *sub) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    if (!(k->flags & KIND_STATUS)) {
        return;
    }
    if (strcmp(sub, "status") == 0) {
        json_mset(d, root, STR("spec"), yyjson_val_mut_copy(d, json_get(old, STR("spec"))));
    } else if (strcmp(sub, "finalize") != 0) {
        json_mset(d, root, STR("status"), yyjson_val_mut_copy(d, json_get(old, STR("status"))));
    }
}

static int check_preconditions(const struct object *o, struct str uid, struct str rv,
                               struct err *err) {
    uint64_t want;
    if (!str_empty(uid) && !str_eq(uid, o->uid)) {
        return err_set(err, ERR_CONFLICT, "the UID in the precondition is another");
    }
    if (!str_empty(rv) && (!str_to_u64(rv, &want) || want != o->rv)) {
        return err_set(err, ERR_CONFLICT, "the object has been modified");
    }
    return 0;
}

static int apply_patch(yyjson_mut_doc *d, enum patch_type type, yyjson_val *patch,
                       struct err *err) {
    switch (type) {
    case PATCH_MERGE:
        return patch_merge(d, patch, err);
    case PATCH_JSON:
        return patch_json(d, patch, err);
    default:
        return err_set(err, ERR_UNSUPPORTED, "a store in memory has no such patch");
    }
}

/* Whether the tree says what the object says. Texts of one length are compared in full: members may have changed
 * places, and a write that changes nothing must not be seen. */
static bool same(struct arena *a, yyjson_mut_val *root, yyjson_val *was, size_t length,
                 size_t length_was) {
    if (length != length_was) {
        return false;
    }
    yyjson_mut_doc *copy = json_mut_copy(a, was);
    yyjson_mut_val *old = copy ? yyjson_mut_doc_get_root(copy) : NULL;
    json_mdel(json_mpath(old, "metadata"), STR("resourceVersion"));
    return old && json_mequal(root, old);
}

static bool spec_changed(struct arena *a, yyjson_mut_val *root, yyjson_val *was) {
    yyjson_mut_val *now = json_mpath(root, "spec");
    yyjson_val *old = json_get(was, STR("spec"));
    yyjson_mut_doc *copy = old ? json_mut_copy(a, old) : NULL;
    return copy ? !json_mequal(now, yyjson_mut_doc_get_root(copy)) : now || old;
}

/* What is left of a patch once it is applied. status: only that subresource was written. */
static int finish_patch(struct memory_store *s, const struct object *o, struct arena *a,
                        yyjson_mut_doc *d, yyjson_val *was, bool status, const struct object **ret,
                        struct err *err) {
    const struct kind *k = o->kind;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    struct object *next;
    json_mdel(json_mpath(root, "metadata"), STR("resourceVersion"));
    int r = enough(a, err);
    if (r == 0 && may_go(k, root)) {
        return commit_removal(s, k, d, o, ret, err);
    }
    if (r == 0 && (k->flags & KIND_GENERATION) && !status && spec_changed(a, root, was)) {
        json_mset_i64(d, json_mpath(root, "metadata"), "generation", o->generation + 1);
    }
    r = r ? r : object_new_mut(k, root, &next, err);
    if (r != 0) {
        return r;
    }
    if (same(a, root, was, next->json.n, o->json.n)) {
        object_unref(next);
        *ret = object_ref(o);
        return 0;
    }
    r = enough(a, err);
    if (r != 0) {
        object_unref(next);
        return r;
    }
    return commit(s, CHANGE_MODIFIED, next, o->rv, ret, err);
}

int memory_store_patch(struct memory_store *s, const struct kind *k, struct str ns, struct str name,
                       const char *sub, enum patch_type type, struct str body,
                       const struct object **ret, struct err *err) {
    const struct object *o = mirror_get(s->mirror, k, ns, name);
    if (o == NULL) {
        return err_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found", k->plural, STR_ARG(name));
    }
    struct arena a;
    arena_init(&a, STORE_ARENA);
    yyjson_doc *patch, *was;
    int r = json_parse(&a, body, &patch, err);
    r = r ? r : object_tree(o, &a, &was, err);
    if (r == 0) {
        yyjson_val *p = yyjson_doc_get_root(patch), *old = yyjson_doc_get_root(was);
        if (type == PATCH_MERGE) {
            r = check_preconditions(o, json_str_at(p, "metadata.uid"),
                                    json_str_at(p, "metadata.resourceVersion"), err);
        }
        yyjson_mut_doc *d = json_mut_copy(&a, old);
        r = r == 0 && d == NULL ? err_set(err, ERR_NOMEM, "out of memory") : r;
        r = r ? r : apply_patch(d, type, p, err);
        if (r == 0) {
            keep_other_parts(d, k, old, sub);
            bool status = (k->flags & KIND_STATUS) && strcmp(sub, "status") == 0;
            r = finish_patch(s, o, &a, d, old, status, ret, err);
        }
    }
    arena_release(&a);
    return r;
}

static void drop_finalizer(yyjson_mut_val *list, const char *name) {
    size_t i, n;
    yyjson_mut_val *v;
    if (list == NULL) {
        return;
    }
    yyjson_mut_arr_foreach(list, i, n, v) {
        if (str_is(json_mstr(v), name)) {
            yyjson_mut_arr_remove(list, i);
            return;
        }
    }
}

static void set_propagation(yyjson_mut_doc *d, yyjson_mut_val *root, const struct kind *k,
                            struct str policy) {
    bool none = str_empty(policy);
    bool orphan = str_is(policy, "Orphan") || (none && (k->flags & KIND_ORPHANS));
    bool foreground = str_is(policy, "Foreground");
    yyjson_mut_val *meta = json_mpath(root, "metadata");
    yyjson_mut_val *list = json_mpath(meta, "finalizers");
    if (none && !orphan) {
        return;
    }
    drop_finalizer(list, "orphan");
    drop_finalizer(list, "foregroundDeletion");
    if (orphan || foreground) {
        if (list == NULL) {
            list = yyjson_mut_arr(d);
            json_mset(d, meta, STR("finalizers"), list);
        }
        yyjson_mut_arr_append(list, yyjson_mut_str(d, orphan ? "orphan" : "foregroundDeletion"));
    }
}

static int64_t grace_of(const struct kind *k, yyjson_mut_val *root,
                        const struct delete_options *o) {
    struct str phase = json_mstr_at(root, "status.phase");
    if (!(k->flags & KIND_GRACEFUL) || str_empty(json_mstr_at(root, "spec.nodeName")) ||
        str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        return 0;
    }
    yyjson_mut_val *spec = json_mpath(root, "spec.terminationGracePeriodSeconds");
    return o && o->grace_seconds >= 0 ? o->grace_seconds : spec ? yyjson_mut_get_sint(spec) : 30;
}

int memory_store_remove(struct memory_store *s, const struct kind *k, struct str ns,
                        struct str name, const struct delete_options *o, const struct object **ret,
                        struct err *err) {
    const struct object *was = mirror_get(s->mirror, k, ns, name);
    if (was == NULL) {
        return err_set(err, ERR_NOT_FOUND, "%s \"%.*s\" not found", k->plural, STR_ARG(name));
    }
    if (o && ((!str_empty(o->uid) && !str_eq(o->uid, was->uid)) || (o->rv && o->rv != was->rv))) {
        return err_set(err, ERR_CONFLICT, "a precondition failed");
    }
    struct arena a;
    arena_init(&a, STORE_ARENA);
    yyjson_doc *tree;
    int r = object_tree(was, &a, &tree, err);
    if (r == 0) {
        yyjson_val *old = yyjson_doc_get_root(tree);
        yyjson_mut_doc *d = json_mut_copy(&a, old);
        yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *meta = json_mpath(root, "metadata");
        char at[TIME_TEXT_MAX];
        int64_t grace = grace_of(k, root, o);
        set_propagation(d, root, k, o ? o->propagation : STR(""));
        if (!was->deleting_ns) {
            json_mset_str(d, meta, "deletionTimestamp", now_text(s, grace, at));
            json_mset_i64(d, meta, "deletionGracePeriodSeconds", grace);
        } else if (grace == 0) {
            json_mset_i64(d, meta, "deletionGracePeriodSeconds", 0);
        }
        if (strcmp(k->kind, "Namespace") == 0) {
            json_mset_str(d, json_mensure(d, root, "status"), "phase", STR("Terminating"));
        }
        r = finish_patch(s, was, &a, d, old, false, ret, err);
    }
    arena_release(&a);
    return r;
}

/* meta: see meta.h. */
#include "server/write/meta.h"

#include "base/map.h"

#include "server/kit/names.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

/* What a client sends of these is replaced by the stored value (or dropped on create). */
static const char *const server_owned[] = {
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
};

static int nomem(struct write *w) {
    return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
}

static yyjson_mut_val *metadata_of(struct write *w) {
    return json_mensure(w->doc, yyjson_mut_doc_get_root(w->doc), "metadata");
}

int meta_set_time(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t ns) {
    char text[TIME_TEXT_MAX];
    return json_mset_str(d, obj, key, time_text(ns, text));
}

int meta_set_condition(struct write *w, const char *type, const char *reason, const char *message) {
    yyjson_mut_val *status = json_mensure(w->doc, yyjson_mut_doc_get_root(w->doc), "status");
    yyjson_mut_val *list = json_mget(status, STR("conditions"));
    if (status != NULL && !yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(w->doc);
        if (json_mset(w->doc, status, STR("conditions"), list) != 0) {
            return ERR_NOMEM;
        }
    }
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        if (str_is(json_mstr_at(yyjson_mut_arr_get(list, i), "type"), type)) {
            (void)yyjson_mut_arr_remove(list, i);
        }
    }
    yyjson_mut_val *cond = yyjson_mut_obj(w->doc);
    int r = json_mset_str(w->doc, cond, "type", str_of(type));
    r = r ? r : json_mset_str(w->doc, cond, "status", STR("True"));
    r = r || reason == NULL ? r : json_mset_str(w->doc, cond, "reason", str_of(reason));
    r = r || message == NULL ? r : json_mset_str(w->doc, cond, "message", str_of(message));
    r = r ? r : meta_set_time(w->doc, cond, "lastTransitionTime", w->now);
    return r != 0 || !yyjson_mut_arr_append(list, cond) ? ERR_NOMEM : 0;
}

static int check_namespace(struct write *w, yyjson_mut_val *meta) {
    struct str ns = json_mstr(json_mget(meta, STR("namespace")));
    struct str want = request_key_ns(w->req);
    if (!(w->req->kind->flags & KIND_NAMESPACED)) {
        json_mdel(meta, STR("namespace"));
        return 0;
    }
    if (ns.n > 0 && !str_eq(ns, want)) {
        return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                           "the namespace of the provided object does not match the namespace sent "
                           "on the request");
    }
    return json_mset_str(w->doc, meta, "namespace", want) != 0 ? nomem(w) : 0;
}

/* A free name from generateName: tries a few, as upstream does. */
static int generate_name(struct write *w, yyjson_mut_val *meta, struct str base) {
    _Static_assert(sizeof(w->name) >= NAME_BASE_MAX + NAME_SUFFIX + 1, "no room for a name");
    char name[NAME_BASE_MAX + NAME_SUFFIX + 1];
    memcpy(name, w->name, sizeof(name));
    struct err err = {0};
    for (int i = 0; i < 8; i++) {
        bool made = i == 0 && name[0] != 0; /* in an earlier run */
        int r = made ? 0 : names_generate(w->s, base, name, &err);
        if (r != 0) {
            return failure_err(&w->failure, w->arena, &err);
        }
        if (mirror_pending(w->s->o.mirror, kind_stored(w->req->kind), request_key_ns(w->req),
                           str_of(name)) == NULL) {
            memcpy(w->name, name, sizeof(name));
            return json_mset_str(w->doc, meta, "name", str_of(name)) != 0 ? nomem(w) : 0;
        }
    }
    (void)failure_exists(&w->failure, w->arena, w->req->kind, arena_str(w->arena, str_of(name)));
    w->failure.retry_after = 1;
    return w->failure.code;
}

static int settle_name(struct write *w, yyjson_mut_val *meta) {
    struct str name = json_mstr(json_mget(meta, STR("name")));
    struct str base = json_mstr(json_mget(meta, STR("generateName")));
    if (w->req->name.n > 0) { /* create by PUT, or a controller's */
        if (name.n > 0 && !str_eq(name, w->req->name)) {
            return failure_set(&w->failure, w->arena, ERR_BAD_REQUEST,
                               "the name of the object (%.*s) does not match the name on the URL "
                               "(%.*s)",
                               STR_ARG(name), STR_ARG(w->req->name));
        }
        return json_mset_str(w->doc, meta, "name", w->req->name) != 0 ? nomem(w) : 0;
    }
    if (name.n > 0) {
        return 0;
    }
    if (base.n > 0) {
        return generate_name(w, meta, base);
    }
    return failure_invalid_one(&w->failure, w->arena, w->req->kind->group, w->req->kind->kind,
                               (struct str){0}, CAUSE_REQUIRED, "metadata.name",
                               "Required value: name or generateName is required");
}

int meta_create(struct write *w) {
    yyjson_mut_val *meta = metadata_of(w);
    if (meta == NULL) {
        return nomem(w);
    }
    for (size_t i = 0; i < sizeof(server_owned) / sizeof(server_owned[0]); i++) {
        json_mdel(meta, str_of(server_owned[i]));
    }
    json_mdel(meta, STR("resourceVersion"));
    json_mdel(meta, STR("selfLink"));
    int r = check_namespace(w, meta);
    r = r ? r : settle_name(w, meta);
    if (r != 0) {
        return r;
    }
    struct err err = {0};
    _Static_assert(sizeof(w->uid) >= UID_TEXT_MAX, "no room for a uid");
    char uid[UID_TEXT_MAX];
    memcpy(uid, w->uid, sizeof(uid));
    r = uid[0] != 0 ? 0 : names_uid(w->s, uid, &err);
    if (r != 0) {
        return failure_err(&w->failure, w->arena, &err);
    }
    memcpy(w->uid, uid, sizeof(uid));
    r = json_mset_str(w->doc, meta, "uid", str_of(uid));
    r = r ? r : meta_set_time(w->doc, meta, "creationTimestamp", w->now);
    if (r == 0 && (w->req->kind->flags & KIND_GENERATION)) {
        r = json_mset_i64(w->doc, meta, "generation", 1);
    }
    if (w->req->kind->flags & KIND_STATUS) {
        json_mdel(yyjson_mut_doc_get_root(w->doc), STR("status"));
    }
    return r != 0 ? nomem(w) : 0;
}

static int check_revision(struct write *w, yyjson_mut_val *meta) {
    struct str rv = json_mstr(json_mget(meta, STR("resourceVersion")));
    const struct kind *k = w->req->kind;
    uint64_t n = 0;
    if (rv.n == 0) {
        if ((k->flags & KIND_RV_REQUIRED) && w->req->verb == VERB_UPDATE) {
            return failure_invalid_one(&w->failure, w->arena, k->group, k->kind, w->old->name,
                                       CAUSE_INVALID, "metadata.resourceVersion",
                                       "Invalid value: 0: must be specified for an update");
        }
        return 0;
    }
    if (!str_to_u64(rv, &n)) {
        return failure_invalid_one(&w->failure, w->arena, k->group, k->kind, w->old->name,
                                   CAUSE_INVALID, "metadata.resourceVersion",
                                   "Invalid value: \"%.*s\": must be a number",
                                   STR_ARG(str_head(rv, 64)));
    }
    return n != w->old->rv
               ? failure_conflict(&w->failure, w->arena, k, w->old->name, (struct str){0})
               : 0;
}

static int check_uid(struct write *w, yyjson_mut_val *meta) {
    struct str uid = json_mstr(json_mget(meta, STR("uid")));
    if (uid.n == 0 || str_eq(uid, w->old->uid)) {
        return 0;
    }
    const struct kind *k = w->req->kind;
    if (w->req->verb == VERB_PATCH) {
        return failure_invalid_one(
            &w->failure, w->arena, k->group, k->kind, w->old->name, CAUSE_INVALID, "metadata.uid",
            "Invalid value: \"%.*s\": field is immutable", STR_ARG(str_head(uid, 64)));
    }
    return failure_conflict(&w->failure, w->arena, k, w->old->name,
                            arena_f(w->arena,
                                    "Precondition failed: UID in precondition: %.*s, UID in object "
                                    "meta: %.*s",
                                    STR_ARG(uid), STR_ARG(w->old->uid)));
}

/* Once marked for deletion, finalizers only go. */
static int check_finalizers(struct write *w, yyjson_mut_val *meta) {
    if (w->old->deleting_ns == 0) {
        return 0;
    }
    yyjson_val *before = json_path(w->old_tree, "metadata.finalizers"), *b;
    yyjson_mut_val *list = json_mget(meta, STR("finalizers")), *f;
    struct map known = {0};
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(before, i, n, b) {
        r = r ? r : map_put(&known, json_str(b), b, NULL);
    }
    r = r ? nomem(w) : 0;
    yyjson_mut_arr_foreach(list, i, n, f) {
        if (r == 0 && map_get(&known, json_mstr(f)) == NULL) {
            r = failure_invalid_one(&w->failure, w->arena, w->req->kind->group, w->req->kind->kind,
                                    w->old->name, CAUSE_FORBIDDEN, "metadata.finalizers",
                                    "Forbidden: no new finalizers can be added if the object is "
                                    "being deleted, found new finalizers [\"%.*s\"]",
                                    STR_ARG(json_mstr(f)));
        }
    }
    map_release(&known);
    return r;
}

int meta_update(struct write *w) {
    yyjson_mut_val *meta = metadata_of(w);
    if (meta == NULL) {
        return nomem(w);
    }
    struct str name = json_mstr(json_mget(meta, STR("name")));
    if (name.n > 0 && !str_eq(name, w->old->name)) {
        return failure_set(
            &w->failure, w->arena, ERR_BAD_REQUEST,
            "the name of the object (%.*s) does not match the name on the URL (%.*s)",
            STR_ARG(name), STR_ARG(w->old->name));
    }
    int r = check_namespace(w, meta);
    r = r ? r : check_revision(w, meta);
    r = r ? r : check_uid(w, meta);
    r = r ? r : check_finalizers(w, meta);
    if (r != 0) {
        return r;
    }
    r = json_mset_str(w->doc, meta, "name", w->old->name);
    yyjson_val *old = json_path(w->old_tree, "metadata");
    for (size_t i = 0; i < sizeof(server_owned) / sizeof(server_owned[0]); i++) {
        struct str key = str_of(server_owned[i]);
        yyjson_val *v = json_get(old, key);
        yyjson_mut_val *copy = v != NULL ? yyjson_val_mut_copy(w->doc, v) : NULL;
        if ((v != NULL && copy == NULL) || (r = r ? r : json_mset(w->doc, meta, key, copy)) != 0) {
            return nomem(w);
        }
    }
    json_mdel(meta, STR("resourceVersion"));
    json_mdel(meta, STR("selfLink"));
    return r != 0 ? nomem(w) : 0;
}

int meta_precondition(struct write *w) {
    yyjson_mut_val *meta = metadata_of(w);
    if (meta == NULL) {
        return nomem(w);
    }
    int r = check_revision(w, meta);
    json_mdel(meta, STR("resourceVersion"));
    return r;
}

/* Not part of the generation: metadata, and the status where it is written apart. */
static bool is_apart(const struct kind *k, struct str name) {
    bool status = (k->flags & KIND_STATUS) || !(k->flags & KIND_CUSTOM);
    return str_is(name, "metadata") || (status && str_is(name, "status"));
}

/* Equality of all members but metadata and status, both ways. */
static bool same_spec(const struct kind *kind, yyjson_mut_val *now, yyjson_mut_val *old) {
    size_t i, n, others = 0;
    yyjson_mut_val *key, *v;
    yyjson_mut_obj_foreach(now, i, n, key, v) {
        struct str k = json_mstr(key);
        if (is_apart(kind, k)) {
            continue;
        }
        others++;
        yyjson_mut_val *o = json_mget(old, k);
        if (o == NULL || !json_mequal(v, o)) {
            return false;
        }
    }
    yyjson_mut_obj_foreach(old, i, n, key, v) {
        struct str k = json_mstr(key);
        others -= !is_apart(kind, k);
    }
    return others == 0;
}

int meta_generation(struct write *w) {
    if (!(w->req->kind->flags & KIND_GENERATION) || str_is(w->req->subresource, "status")) {
        return 0; /* a write of the status takes the rest from the stored object */
    }
    yyjson_mut_doc *old = json_mut_copy(w->arena, w->old_tree);
    yyjson_mut_val *meta = metadata_of(w);
    if (old == NULL || meta == NULL) {
        return nomem(w);
    }
    if (same_spec(w->req->kind, yyjson_mut_doc_get_root(w->doc), yyjson_mut_doc_get_root(old))) {
        return 0;
    }
    return json_mset_i64(w->doc, meta, "generation", w->old->generation + 1) != 0 ? nomem(w) : 0;
}

bool meta_released(const struct kind *k, yyjson_mut_val *root) {
    if (json_mpath(root, "metadata.deletionTimestamp") == NULL) {
        return false;
    }
    yyjson_mut_val *grace = json_mpath(root, "metadata.deletionGracePeriodSeconds");
    if (yyjson_mut_arr_size(json_mpath(root, "metadata.finalizers")) > 0 ||
        (grace != NULL && yyjson_mut_get_sint(grace) > 0)) {
        return false;
    }
    bool is_namespace = k->group[0] == '\0' && str_is(str_of(k->kind), "Namespace");
    return !is_namespace || yyjson_mut_arr_size(json_mpath(root, "spec.finalizers")) == 0;
}

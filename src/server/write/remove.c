/* remove: see remove.h. */
#include "server/write/remove.h"

#include "base/limits.h"
#include "server/write/admit.h"
#include "server/write/body.h"
#include "server/write/crd.h"
#include "server/write/evict.h"
#include "server/write/hooks.h"
#include "server/write/meta.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

#define FINALIZER_ORPHAN "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

static int bad_options(struct failure *f, struct arena *a, const char *field, struct str value,
                       const char *text) {
    return failure_invalid_one(f, a, "meta.k8s.io", "DeleteOptions", (struct str){0}, CAUSE_INVALID,
                               field, "Invalid value: \"%.*s\": %s", STR_ARG(str_head(value, 64)),
                               text);
}

static int check_options(const struct delete_options *o, const struct opt_bool *orphan,
                         struct arena *a, struct failure *f) {
    struct str p = o->propagation;
    if (orphan->set && p.n > 0) {
        return bad_options(f, a, "propagationPolicy", p,
                           "orphanDependents and deletionPropagation cannot be both set");
    }
    if (o->grace_seconds > LIMIT_GRACE_SECONDS) {
        return bad_options(f, a, "gracePeriodSeconds",
                           arena_f(a, "%lld", (long long)o->grace_seconds),
                           "must be at most 2147483647");
    }
    if (p.n > 0 && !str_is(p, "Background") && !str_is(p, "Foreground") && !str_is(p, "Orphan")) {
        return bad_options(f, a, "propagationPolicy", p,
                           "must be one of Foreground, Background, Orphan");
    }
    return 0;
}

static int settle_options(struct delete_options *o, struct opt_bool orphan, struct arena *a,
                          struct failure *f) {
    int r = check_options(o, &orphan, a, f);
    if (r == 0 && orphan.set) {
        o->propagation = orphan.v ? STR("Orphan") : STR("Background");
    }
    return r;
}

/* What is not understood is refused: a policy that was overlooked deletes what somebody wanted to keep. */
static int check_members(yyjson_mut_val *v, struct arena *a, struct failure *f) {
    static const struct {
        const char *name, *expected;
        bool (*fits)(yyjson_mut_val *v);
    } rows[] = {
        {"apiVersion", "a string", yyjson_mut_is_str},
        {"kind", "a string", yyjson_mut_is_str},
        {"gracePeriodSeconds", "an integer", yyjson_mut_is_int},
        {"propagationPolicy", "a string", yyjson_mut_is_str},
        {"orphanDependents", "true or false", yyjson_mut_is_bool},
        {"preconditions", "an object", yyjson_mut_is_obj},
        {"dryRun", "a list", yyjson_mut_is_arr},
        {"ignoreStoreReadErrorWithClusterBreakingPotential", "true or false", yyjson_mut_is_bool},
    };
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(k);
        size_t i = 0;
        while (i < sizeof(rows) / sizeof(rows[0]) && !str_is(json_mstr(k), rows[i].name)) {
            i++;
        }
        if (i == sizeof(rows) / sizeof(rows[0])) {
            return failure_set(f, a, ERR_BAD_REQUEST, "DeleteOptions: unknown field \"%.*s\"",
                               STR_ARG(str_head(json_mstr(k), 64)));
        }
        if (!yyjson_mut_is_null(value) && !rows[i].fits(value)) {
            return failure_set(f, a, ERR_BAD_REQUEST, "DeleteOptions: %s: expected %s",
                               rows[i].name, rows[i].expected);
        }
    }
    return 0;
}

static int tree_options(yyjson_mut_val *v, struct arena *a, struct delete_options *o,
                        struct opt_bool *orphan, bool *dry, struct failure *f) {
    int r = check_members(v, a, f);
    if (r != 0) {
        return r;
    }
    yyjson_mut_val *grace = json_mget(v, STR("gracePeriodSeconds"));
    if (yyjson_mut_is_int(grace)) {
        o->grace_seconds = yyjson_mut_get_sint(grace);
        o->grace_seconds = o->grace_seconds < 0 ? 1 : o->grace_seconds;
    }
    struct str policy = json_mstr_at(v, "propagationPolicy");
    o->propagation = policy.n > 0 ? policy : o->propagation;
    yyjson_mut_val *dependents = json_mget(v, STR("orphanDependents"));
    if (yyjson_mut_is_bool(dependents)) {
        *orphan = (struct opt_bool){true, yyjson_mut_get_bool(dependents)};
    }
    o->uid = json_mstr_at(v, "preconditions.uid");
    struct str rv = json_mstr_at(v, "preconditions.resourceVersion");
    if (rv.n > 0 && !str_to_u64(rv, &o->rv)) {
        return bad_options(f, a, "preconditions.resourceVersion", rv, "must be a number");
    }
    size_t i, n;
    yyjson_mut_val *word;
    yyjson_mut_val *list = json_mget(v, STR("dryRun"));
    yyjson_mut_arr_foreach(list, i, n, word) {
        if (!str_is(json_mstr(word), "All")) {
            return bad_options(f, a, "dryRun", json_mstr(word), "must be All");
        }
        *dry = true;
    }
    return 0;
}

int remove_options_of(yyjson_mut_val *v, struct arena *a, struct delete_options *ret,
                      bool *ret_dry_run, struct failure *f) {
    struct delete_options o = {.grace_seconds = -1};
    struct opt_bool orphan = {0};
    bool dry = *ret_dry_run;
    int r = tree_options(v, a, &o, &orphan, &dry, f);
    r = r ? r : settle_options(&o, orphan, a, f);
    if (r == 0) {
        *ret = o;
        *ret_dry_run = dry;
    }
    return r;
}

int remove_options(const struct api_request *q, struct arena *a, struct str body,
                   enum body_type type, struct delete_options *ret, bool *ret_dry_run,
                   struct failure *f) {
    struct delete_options o = {.grace_seconds = q->opt.grace_seconds,
                               .propagation = q->opt.propagation_policy};
    struct opt_bool orphan = q->opt.orphan_dependents;
    bool dry = q->opt.dry_run;
    yyjson_mut_doc *doc = NULL;
    int r = body_any(a, body, type, &doc, f);
    if (r == 0 && doc != NULL) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        struct str kind = json_mstr_at(root, "kind");
        if (kind.n > 0 && !str_is(kind, "DeleteOptions")) {
            return failure_set(f, a, ERR_BAD_REQUEST, "the body of a delete must be DeleteOptions");
        }
        r = tree_options(root, a, &o, &orphan, &dry, f);
    }
    r = r ? r : settle_options(&o, orphan, a, f);
    if (r == 0) {
        *ret = o;
        *ret_dry_run = dry;
    }
    return r;
}

static int check_preconditions(struct write *w, const struct delete_options *o) {
    const struct object *old = w->old;
    if (o->uid.n > 0 && !str_eq(o->uid, old->uid)) {
        return failure_conflict(&w->failure, w->arena, old->kind, old->name,
                                arena_f(w->arena,
                                        "Precondition failed: UID in precondition: %.*s, UID in "
                                        "object meta: %.*s",
                                        STR_ARG(o->uid), STR_ARG(old->uid)));
    }
    if (o->rv != 0 && o->rv != old->rv) {
        return failure_conflict(&w->failure, w->arena, old->kind, old->name,
                                arena_f(w->arena,
                                        "Precondition failed: ResourceVersion in precondition: "
                                        "%llu, ResourceVersion in object meta: %llu",
                                        (unsigned long long)o->rv, (unsigned long long)old->rv));
    }
    return 0;
}

static void drop_finalizer(yyjson_mut_val *list, const char *name) {
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(list);
    for (yyjson_mut_val *e; (e = yyjson_mut_arr_iter_next(&it));) {
        if (str_is(json_mstr(e), name)) {
            (void)yyjson_mut_arr_iter_remove(&it);
        }
    }
}

/* The garbage collector's finalizers, as the policy asks; *ret_n is how many finalizers remain. */
static int settle_finalizers(struct write *w, struct str policy, size_t *ret_n) {
    yyjson_mut_val *meta = json_mensure(w->doc, yyjson_mut_doc_get_root(w->doc), "metadata");
    yyjson_mut_val *list = json_mget(meta, STR("finalizers"));
    bool set = json_mfind(list, NULL, STR(FINALIZER_ORPHAN)) != NULL ||
               json_mfind(list, NULL, STR(FINALIZER_FOREGROUND)) != NULL;
    if (policy.n == 0 && !set && (w->req->kind->flags & KIND_ORPHANS)) {
        policy = STR("Orphan");
    }
    if (policy.n > 0) {
        drop_finalizer(list, FINALIZER_ORPHAN);
        drop_finalizer(list, FINALIZER_FOREGROUND);
    }
    const char *add = str_is(policy, "Orphan")       ? FINALIZER_ORPHAN
                      : str_is(policy, "Foreground") ? FINALIZER_FOREGROUND
                                                     : NULL;
    if (add != NULL) {
        if (list == NULL) {
            list = yyjson_mut_arr(w->doc);
            if (list == NULL || json_mset(w->doc, meta, STR("finalizers"), list) != 0) {
                return ERR_NOMEM;
            }
        }
        if (!yyjson_mut_arr_add_str(w->doc, list, add)) {
            return ERR_NOMEM;
        }
    }
    if (list != NULL && yyjson_mut_arr_size(list) == 0) {
        json_mdel(meta, STR("finalizers"));
    }
    *ret_n = yyjson_mut_arr_size(list);
    return 0;
}

/* Seconds that a pod gets to end; 0 for what has no node or has ended. */
static int64_t grace_of(const struct write *w, int64_t asked) {
    if (!(w->req->kind->flags & KIND_GRACEFUL)) {
        return 0;
    }
    struct str phase = json_str_at(w->old_tree, "status.phase");
    if (json_str_at(w->old_tree, "spec.nodeName").n == 0 || str_is(phase, "Succeeded") ||
        str_is(phase, "Failed")) {
        return 0;
    }
    int64_t grace =
        asked >= 0 ? asked : json_i64_at(w->old_tree, "spec.terminationGracePeriodSeconds", 30);
    return grace < 0 ? 1 : grace > LIMIT_GRACE_SECONDS ? LIMIT_GRACE_SECONDS : grace;
}

static bool is_namespace(const struct kind *k) {
    return k->group[0] == '\0' && str_is(str_of(k->kind), "Namespace");
}

/* deletionTimestamp and its company; only ever moved to earlier. */
static int mark(struct write *w, int64_t grace) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    yyjson_mut_val *meta = json_mensure(w->doc, root, "metadata");
    if (meta == NULL) {
        return ERR_NOMEM;
    }
    int r = 0;
    int64_t end = w->now + grace * NS_PER_SEC;
    if (w->old->deleting_ns == 0 || end < w->old->deleting_ns) {
        r = meta_set_time(w->doc, meta, "deletionTimestamp", end);
    }
    r = r ? r : json_mset_i64(w->doc, meta, "deletionGracePeriodSeconds", grace);
    if (r == 0 && w->old->deleting_ns == 0 && w->old->generation > 0) {
        r = json_mset_i64(w->doc, meta, "generation", w->old->generation + 1);
    }
    if (r == 0 && is_namespace(w->req->kind)) {
        yyjson_mut_val *status = json_mensure(w->doc, root, "status");
        r = status == NULL ? ERR_NOMEM : json_mset_str(w->doc, status, "phase", STR("Terminating"));
    }
    return r;
}

/* True when the object is marked already and this delete asks for nothing new. */
static bool is_repeat(const struct write *w, int64_t grace, size_t finalizers) {
    if (w->old->deleting_ns == 0 || finalizers != w->old->n_finalizers) {
        return false;
    }
    return json_i64_at(w->old_tree, "metadata.deletionGracePeriodSeconds", 0) <= grace;
}

/* Namespaces that the system cannot do without. */
static bool is_immortal(const struct write *w) {
    return is_namespace(w->req->kind) &&
           (str_is(w->old->name, "default") || str_is(w->old->name, "kube-system") ||
            str_is(w->old->name, "kube-public"));
}

static int remove_steps(struct write *w, bool *ret_repeat, struct object **ret, bool *ret_gone) {
    static const struct delete_options none = {.grace_seconds = -1};
    const struct delete_options *o = w->delete_options != NULL ? w->delete_options : &none;
    struct err err = {0};
    size_t finalizers = 0;
    int r = write_load(w);
    r = r ? r : check_preconditions(w, o);
    if (r == 0 && is_immortal(w)) {
        r = failure_forbidden(&w->failure, w->arena, w->req->kind, w->old->name,
                              "this namespace may not be deleted");
    }
    r = r ? r : admit_remove(w);
    r = r ? r : admit_policies(w, true);
    r = r ? r : hooks_remove(w);
    if (r != 0) {
        return r;
    }
    w->doc = json_mut_copy(w->arena, w->old_tree);
    if (w->doc == NULL || settle_finalizers(w, o->propagation, &finalizers) != 0 ||
        (crd_is_definition(w->req->kind) && crd_mark_terminating(w) != 0) ||
        (w->evicts && evict_mark(w) != 0)) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(w->doc);
    json_mdel(json_mget(root, STR("metadata")), STR("resourceVersion"));
    int64_t grace = grace_of(w, o->grace_seconds);
    finalizers = yyjson_mut_arr_size(json_mpath(root, "metadata.finalizers"));
    size_t held = finalizers;
    if (is_namespace(w->req->kind)) {
        held += yyjson_mut_arr_size(json_mpath(root, "spec.finalizers"));
    }
    *ret_gone = held == 0 && grace == 0;
    const struct object *seen = mirror_get(w->s->o.mirror, w->old->kind, w->old->ns, w->old->name);
    if (!*ret_gone && seen == w->old && is_repeat(w, grace, finalizers)) {
        *ret_repeat = true;
        return 0;
    }
    if (!*ret_gone || (w->req->kind->flags & KIND_GRACEFUL)) {
        if (mark(w, grace) != 0) {
            return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
        }
    }
    r = object_new_mut(kind_stored(w->req->kind), root, ret, &err);
    return r != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

void remove_run(struct write *w) {
    struct object *obj = NULL;
    bool repeat = false, gone = false;
    w->http = 200;
    int r = remove_steps(w, &repeat, &obj, &gone);
    if (r == ERR_AGAIN) {
        return; /* it waits for webhooks, and runs again by itself */
    }
    if (r != 0) {
        write_finish(w);
    } else if (repeat) {
        w->obj = w->old;
        write_finish(w);
    } else {
        write_stage(w, gone ? CHANGE_DELETED : CHANGE_MODIFIED, obj);
    }
}

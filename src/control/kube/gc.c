/* gc: keys are uids, in place of names. See gc.h. */
#include "control/kube/gc.h"

#include "base/map.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"

#define FOREGROUND "foregroundDeletion"
#define ORPHAN "orphan"

enum { BODY_MAX = 256 << 10, BURST = 500, WALK_BYTES = 8 << 20, SCRATCH_MAX = 64 << 20 };

struct gc_controller {
    struct controller base;
    struct arena scratch; /* of one look into an object */
};

static bool add_uid(void *ctx, const struct object *o) {
    struct gc_controller *c = ctx;
    workqueue_add(c->base.queue, STR(""), o->uid);
    return true;
}

/* ---- reading ---- */

static bool has_finalizer(struct gc_controller *c, const struct object *o, const char *name) {
    yyjson_doc *d;
    size_t i, n;
    yyjson_val *v;
    arena_reset(&c->scratch);
    if (!o->n_finalizers || !str_contains(o->json, str_of(name)) ||
        object_tree(o, &c->scratch, &d, NULL) != 0) {
        return false;
    }
    yyjson_val *list = json_path(yyjson_doc_get_root(d), "metadata.finalizers");
    yyjson_arr_foreach(list, i, n, v) {
        if (str_is(json_str(v), name)) {
            return true;
        }
    }
    return false;
}

/* Being deleted, and gone only after its dependents. */
static bool waits_below(struct gc_controller *c, const struct object *o) {
    return o->deleting_ns && has_finalizer(c, o, FOREGROUND);
}

enum reference { REF_SOLID, REF_WAITING, REF_DANGLING };

static enum reference classify(struct gc_controller *c, const struct object *o,
                               const struct owner_ref *ref) {
    const struct object *owner = mirror_owner(c->base.env.mirror, o->ns, ref);
    if (owner == NULL) {
        /* A namespaced owner of a cluster-scoped object cannot be looked up: it is not taken for absent. */
        const struct kind *k = kind_by_api_version(ref->api_version, ref->kind);
        bool unknown = k == NULL || (str_empty(o->ns) && (k->flags & KIND_NAMESPACED));
        return unknown ? REF_SOLID : REF_DANGLING;
    }
    return waits_below(c, owner) ? REF_WAITING : REF_SOLID;
}

struct dependents {
    struct gc_controller *c;
    const struct object *owner;
    const struct object **v; /* up to BURST */
    size_t n, blocking;
};

/* Whether the owner may not go before o. */
static bool blocks(const struct object *o, const struct object *owner) {
    for (size_t i = 0; i < o->n_owners; i++) {
        if (o->owners[i].block && object_named_by(owner, o->ns, &o->owners[i])) {
            return true;
        }
    }
    return false;
}

static bool gather(void *ctx, const struct object *o) {
    struct dependents *d = ctx;
    d->blocking += blocks(o, d->owner);
    if (d->n < BURST) {
        d->v[d->n++] = o;
    }
    return true;
}

static bool dependents_of(struct gc_controller *c, const struct object *owner,
                          struct dependents *ret) {
    *ret = (struct dependents){.c = c, .owner = owner};
    ret->v = ARENA_ARRAY(&c->base.arena, const struct object *, BURST);
    if (ret->v == NULL) {
        return false;
    }
    mirror_owned(c->base.env.mirror, owner, gather, ret);
    return true;
}

/* From an owner down through those that it waits for and that wait themselves. */
struct gc_walk {
    struct gc_controller *c;
    const struct object *from, *at;
    struct map seen; /* uids */
    const struct object **todo;
    size_t n, max, bytes;
    bool back, full;
};

static bool walk_on(void *ctx, const struct object *o) {
    struct gc_walk *w = ctx;
    if (!blocks(o, w->at) || !waits_below(w->c, o) || map_get(&w->seen, o->uid)) {
        return true;
    }
    w->bytes += o->json.n;
    w->back = o == w->from;
    w->full = w->n == w->max || w->bytes > WALK_BYTES || map_put(&w->seen, o->uid, w, NULL) != 0;
    if (!w->back && !w->full) {
        w->todo[w->n++] = o;
    }
    return !w->back && !w->full;
}

/* Whether the owner waits for itself. */
static bool in_circle(struct gc_controller *c, const struct object *owner) {
    enum { AT_ONCE = 4096 };
    struct gc_walk w = {.c = c, .from = owner, .at = owner, .max = AT_ONCE};
    w.todo = ARENA_ARRAY(&c->base.arena, const struct object *, AT_ONCE);
    w.full = w.todo == NULL;
    for (bool more = !w.full; more && !w.back && !w.full;) {
        mirror_owned(c->base.env.mirror, w.at, walk_on, &w);
        more = w.n > 0;
        w.at = more ? w.todo[--w.n] : w.at;
    }
    map_release(&w.seen);
    return w.back || w.full;
}

/* ---- writing ---- */

/* Strikes out the references for which drop[i] holds; NULL: keeps all, and none of them blocks any more. */
static void patch_owners(struct gc_controller *c, struct round *r, const struct object *o,
                         const bool *drop) {
    struct arena *a = &c->base.arena;
    struct meta *was, want;
    int code = edit_read_meta(o, a, &was);
    struct owner_reference *v =
        code ? NULL : ARENA_ARRAY(a, struct owner_reference, was->owner_references.n + 1);
    if (v == NULL || was->owner_references.n != o->n_owners) {
        round_fail(r, code ? code : ERR_NOMEM);
        return;
    }
    want = *was;
    want.owner_references.v = v;
    want.owner_references.n = 0;
    for (size_t i = 0; i < o->n_owners; i++) {
        if (drop == NULL || !drop[i]) {
            v[want.owner_references.n] = was->owner_references.v[i];
            if (drop == NULL) {
                v[want.owner_references.n].block_owner_deletion = (struct opt_bool){0};
            }
            want.owner_references.n++;
        }
    }
    (void)edit_send_meta(r, o, EDIT_VERSION | EDIT_UID, was, &want);
}

static enum work drop_finalizer(struct gc_controller *c, const struct object *o,
                                const char *finalizer) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    struct round *r = NULL;
    if (edit_drop_finalizer(o, finalizer, &c->base.arena, &b) == 0) {
        r = controller_begin(&c->base);
    }
    if (r) {
        round_patch(r, o->kind, o->ns, o->name, "", PATCH_MERGE, buf_view(&b));
    }
    buf_release(&b);
    return r ? round_end(r) : WORK_RETRY;
}

static enum work orphan_dependents(struct gc_controller *c, const struct object *owner,
                                   const struct dependents *d) {
    if (d->n == 0) {
        return drop_finalizer(c, owner, ORPHAN);
    }
    struct round *r = controller_begin(&c->base);
    for (size_t i = 0; i < d->n; i++) {
        const struct object *o = d->v[i];
        bool *drop = ARENA_ARRAY(&c->base.arena, bool, o->n_owners);
        if (drop == NULL) {
            round_fail(r, ERR_NOMEM);
            break;
        }
        for (size_t k = 0; k < o->n_owners; k++) {
            drop[k] = object_named_by(owner, o->ns, &o->owners[k]);
        }
        patch_owners(c, r, o, drop);
    }
    return round_end(r);
}

/* Its owners no longer wait for it. */
static enum work unblock(struct gc_controller *c, const struct object *o) {
    struct round *r = controller_begin(&c->base);
    patch_owners(c, r, o, NULL);
    return round_end(r);
}

static bool holds_owner(const struct object *o) {
    for (size_t i = 0; i < o->n_owners; i++) {
        if (o->owners[i].block) {
            return true;
        }
    }
    return false;
}

/* Those that go already are looked at when they do. */
static bool add_staying(void *ctx, const struct object *o) {
    return o->deleting_ns ? true : add_uid(ctx, o);
}

static enum work process_owner(struct gc_controller *c, const struct object *owner) {
    bool orphan = has_finalizer(c, owner, ORPHAN);
    struct dependents d;
    if (!orphan && !has_finalizer(c, owner, FOREGROUND)) {
        return WORK_OK;
    }
    if (!dependents_of(c, owner, &d)) {
        return WORK_RETRY;
    }
    if (orphan) {
        return orphan_dependents(c, owner, &d);
    }
    if (d.blocking == 0) {
        return drop_finalizer(c, owner, FOREGROUND);
    }
    mirror_owned(c->base.env.mirror, owner, add_staying, c);
    return holds_owner(owner) && in_circle(c, owner) ? unblock(c, owner) : WORK_OK;
}

static enum work remove_dependent(struct gc_controller *c, const struct object *o, bool waiting) {
    struct dependents own;
    struct round *r = controller_begin(&c->base);
    bool foreground = waiting && dependents_of(c, o, &own) && own.n > 0;
    struct delete_options opts = {.uid = o->uid, .rv = o->rv, .grace_seconds = -1};
    opts.propagation = foreground || has_finalizer(c, o, FOREGROUND) ? STR("Foreground")
                       : has_finalizer(c, o, ORPHAN)                 ? STR("Orphan")
                                                                     : STR("Background");
    round_remove(r, o->kind, o->ns, o->name, &opts);
    return round_end(r);
}

static enum work process_dependent(struct gc_controller *c, const struct object *o) {
    size_t count[3] = {0};
    bool *drop = ARENA_ARRAY(&c->base.arena, bool, o->n_owners);
    if (drop == NULL) {
        return WORK_RETRY;
    }
    for (size_t i = 0; i < o->n_owners; i++) {
        enum reference ref = classify(c, o, &o->owners[i]);
        count[ref]++;
        drop[i] = ref != REF_SOLID;
    }
    if (count[REF_SOLID] == o->n_owners) {
        return WORK_OK;
    }
    if (count[REF_SOLID] == 0) {
        return remove_dependent(c, o, count[REF_WAITING] > 0);
    }
    struct round *r = controller_begin(&c->base);
    patch_owners(c, r, o, drop);
    return round_end(r);
}

static enum work step(void *self, struct work_key key) {
    struct gc_controller *c = self;
    const struct object *o = mirror_by_uid(c->base.env.mirror, key.name);
    if (o == NULL) {
        return WORK_OK;
    }
    if (o->deleting_ns) {
        return o->n_finalizers ? process_owner(c, o) : WORK_OK;
    }
    return o->n_owners ? process_dependent(c, o) : WORK_OK;
}

/* ---- what to look at ---- */

static void look_at(struct gc_controller *c, const struct object *o) {
    if (o->deleting_ns) {
        if (o->n_finalizers) {
            add_uid(c, o);
        }
        return;
    }
    for (size_t i = 0; i < o->n_owners; i++) {
        const struct object *owner = mirror_owner(c->base.env.mirror, o->ns, &o->owners[i]);
        if (owner == NULL || owner->deleting_ns) {
            add_uid(c, o);
            return;
        }
    }
}

/* Owners that go wait for their dependents to go, or to name them no more. */
static void look_at_owners(struct gc_controller *c, const struct object *o) {
    for (size_t i = 0; i < o->n_owners; i++) {
        const struct object *owner = mirror_owner(c->base.env.mirror, o->ns, &o->owners[i]);
        if (owner && owner->deleting_ns) {
            add_uid(c, owner);
        }
    }
}

static bool had_owner(const struct object *o, struct str uid) {
    for (size_t i = 0; o && i < o->n_owners; i++) {
        if (str_eq(o->owners[i].uid, uid)) {
            return true;
        }
    }
    return false;
}

/* Says once of each reference that it leads into another namespace. */
static void tell_outsiders(struct gc_controller *c, const struct change *ch) {
    const struct object *o = ch->obj;
    for (size_t i = 0; i < o->n_owners; i++) {
        const struct owner_ref *w = &o->owners[i];
        const struct object *owner =
            had_owner(ch->old, w->uid) ? NULL : mirror_by_uid(c->base.env.mirror, w->uid);
        if (owner && !str_empty(owner->ns) && !str_eq(owner->ns, o->ns)) {
            recorder_event(c->base.recorder, o, EVENT_WARNING, "OwnerRefInvalidNamespace",
                           "ownerRef [%.*s/%.*s, namespace: %.*s, name: %.*s, uid: %.*s] does not "
                           "exist in namespace \"%.*s\"",
                           STR_ARG(w->api_version), STR_ARG(w->kind), STR_ARG(o->ns),
                           STR_ARG(w->name), STR_ARG(w->uid), STR_ARG(o->ns));
        }
    }
}

static void changed(void *ctx, const struct change *ch) {
    struct gc_controller *c = ctx;
    const struct object *o = ch->obj;
    if (ch->old) {
        look_at_owners(c, ch->old);
    }
    if (ch->type != CHANGE_DELETED) {
        look_at(c, o);
        tell_outsiders(c, ch);
        if (o->deleting_ns && ch->old && !ch->old->deleting_ns) {
            mirror_owned(c->base.env.mirror, o, add_uid, c);
        }
        return;
    }
    mirror_owned(c->base.env.mirror, o, add_uid, c);
    look_at_owners(c, o);
}

static bool look_at_each(void *ctx, const struct object *o) {
    look_at(ctx, o);
    return true;
}

static void start(void *self) {
    struct gc_controller *c = self;
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (!(kinds[i]->flags & KIND_VIRTUAL)) {
            mirror_scan(c->base.env.mirror, kinds[i], STR(""), look_at_each, c);
        }
    }
}

static int init(void *self, struct err *err) {
    struct gc_controller *c = self;
    arena_init(&c->scratch, SCRATCH_MAX);
    return 0;
}

static void release(void *self) {
    struct gc_controller *c = self;
    arena_release(&c->scratch);
}

const struct controller_row gc_controller = {
    .name = "garbage-collector",
    .set = CONTROL_GC,
    .who = "garbage-collector",
    CONTROLLER_KINDS({NULL, NULL, changed, .may = MAY_PATCH | MAY_DELETE}),
    .start = start,
    .step = step,
    .size = sizeof(struct gc_controller),
    .init = init,
    .release = release,
};

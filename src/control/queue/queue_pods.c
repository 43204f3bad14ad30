/*
 * queue_pods: pods take places. A pod of an admitted Workload takes one of its seats; any other pod is placed if it
 * fits; nothing happens to pods that are not Berth's to place (pool_is_ours) or are gated.
 *
 * One patch binds: devices annotation and spec.nodeName together, so that a node never sees a pod without its devices.
 * The PodScheduled condition follows.
 *
 * A pod that gets another place than its Workload's placement says, because that one is out of service, is bound only
 * once the placement says so: a restart has nothing else to know by whom a place is held between two pods.
 */
#include "api/meta.h"
#include "base/limits.h"
#include "control/load/integration.h"
#include "control/queue/queue_private.h"
#include "control/volumes/pod_claims.h"

#define PLAN_AGAIN_NS (60 * NS_PER_SEC) /* a placement that was too long to be written */

static bool terminal(const struct pod *p) {
    return p->status != NULL &&
           (str_is(p->status->phase, "Succeeded") || str_is(p->status->phase, "Failed"));
}

/* ---- whose pod is it? ---- */

struct kin {
    struct queue_controller *c;
    struct str workload; /* uid of an admitted one */
    bool waits;          /* there is one that is not admitted */
};

static bool kin_each(void *ctx, const struct object *o) {
    struct kin *k = ctx;
    if (o->kind != k->c->base.kinds[QK_WORKLOAD]) {
        return true;
    }
    const struct queue_work *q = map_get(&k->c->by_uid, o->uid);
    if (q != NULL && q->written) {
        k->workload = q->uid;
        return false;
    }
    k->waits = k->waits || q == NULL || q->state == QW_PENDING;
    return true;
}

/* Is the controller queued itself? Its pods wait for its Workload then, also while nobody has made that one, or
 * somebody deleted it. */
static bool names_queue(struct queue_controller *c, struct str ns, const struct owner_ref *owner) {
    const struct object *o = mirror_owner(c->env->mirror, ns, owner);
    const struct integration *row = o != NULL ? integration_of(o->kind) : NULL;
    return row != NULL && object_label(o, STR(KUEUE_QUEUE_LABEL)).n > 0 &&
           integration_enabled(row, c->settings) &&
           integration_in_namespace(c->env->mirror, c->settings, ns);
}

/* The Workload of a pod: the one that the pod owns itself, alone or with its group, else the one that its controller
 * owns. One that is queued by itself has no other. */
static struct kin kin_of(struct queue_controller *c, const struct object *o) {
    struct kin k = {.c = c};
    const struct owner_ref *owner = object_controller(o);
    mirror_owned(c->env->mirror, o, kin_each, &k);
    if (!str_empty(k.workload) || k.waits) {
        return k;
    }
    if (str_is(object_label(o, STR("kueue.x-k8s.io/managed")), "true")) {
        k.waits = true; /* its Workload is not made yet, or gone */
    } else if (owner != NULL) {
        mirror_siblings(c->env->mirror, o->ns, owner, kin_each, &k);
        k.waits = k.waits || (str_empty(k.workload) && names_queue(c, o->ns, owner));
    }
    return k;
}

/* The pod set of a pod: its label, or the only one there is. */
static struct str set_of(struct queue_controller *c, const struct object *o, struct str workload) {
    struct str set = object_label(o, STR("kueue.x-k8s.io/podset"));
    struct seat *s = pool_workload_first(engine_pool(c->engine), workload);
    return str_empty(set) && s != NULL ? s->set : set;
}

/* ---- places ---- */

static int amounts_of(struct queue_controller *c, const struct pod_spec *p,
                      struct pool_amount **ret, size_t *ret_n) {
    struct amounts m;
    int r = translate_requests(p, &c->base.arena, &m);
    struct pool_amount *v =
        r == 0 ? ARENA_ARRAY(&c->base.arena, struct pool_amount, m.n + 2) : NULL;
    r = r == 0 && v == NULL ? ERR_NOMEM : r;
    for (size_t i = 0; i < m.n && r == 0; i++) {
        v[i].v = m.v[i].v;
        r = names_intern_guest(engine_resources(c->engine), m.v[i].resource, &v[i].resource);
    }
    if (r == 0) {
        *ret = v;
        *ret_n = m.n;
    }
    return r;
}

bool queue_pod_adopt(struct queue_controller *c, const struct object *o) {
    struct pool *pool = engine_pool(c->engine);
    arena_reset(&c->base.arena);
    struct pod *p = queue_decode(c, o);
    if (p == NULL) {
        return false;
    }
    if (terminal(p)) {
        if (pool_pod_seat(pool, o->uid) != NULL) {
            queue_slice_pod_gone(c, o->uid);
            queue_kick(c);
        }
        return true;
    }
    if (p->spec == NULL || str_empty(p->spec->node_name)) {
        return false;
    }
    bool said = p->status != NULL && conditions_true(&p->status->conditions, "PodScheduled");
    if (pool_pod_seat(pool, o->uid) != NULL) {
        return said;
    }
    struct pod_devices d = {0};
    struct str text = meta_annotation(p->metadata, DEVICES_ANNOTATION);
    struct kin kin = kin_of(c, o);
    struct seat as = {.pod = o->uid, .node = p->spec->node_name, .workload = kin.workload};
    struct seat *made;
    as.loose = pool_workload_first(pool, kin.workload) == NULL; /* no plan: see seat_for */
    as.set = set_of(c, o, kin.workload);
    int r = str_empty(text) ? 0 : pod_devices_decode(text, &c->base.arena, &d, NULL);
    if (r == 0) {
        r = translate_devices(&d, engine_resources(c->engine), &c->base.arena, &as.devices);
    }
    if (r == 0) {
        r = amounts_of(c, p->spec, &as.amounts, &as.n_amounts);
    }
    as.n_devices = d.n;
    if (r != 0 || pool_seat_restore(pool, &as, &made) != 0) {
        log_warn(c->env->log, "pod %.*s/%.*s: its place on node %.*s is not understood",
                 STR_ARG(o->ns), STR_ARG(o->name), STR_ARG(as.node));
    }
    return said;
}

static struct place_input place_of(const struct queue_controller *c, const struct shape *shape,
                                   struct str set, const struct pool_amount *v, size_t n) {
    return (struct place_input){.set = set,
                                .shape = shape,
                                .amounts = v,
                                .n_amounts = n,
                                .ends_ns = amount_add(clock_wall(c->env->clock), PLACE_RUN_NS)};
}

/* Would the pods of a Workload without a plan have more devices with this one than its quota is for? More pods than it
 * was admitted for, or a LimitRange that came later. What is counted as another resource cannot be compared. */
static bool beyond_quota(struct queue_controller *c, struct str workload,
                         const struct place_input *in) {
    const struct queue_resource_settings *s = &c->settings->resources;
    size_t n;
    struct str queue;
    const struct held_amount *held = engine_workload_held(c->engine, workload, &n, &queue);
    for (size_t i = 0; i < in->n_amounts; i++) {
        struct pool_amount ask = in->amounts[i];
        struct str resource = names_text(engine_resources(c->engine), ask.resource);
        int64_t most = 0;
        if (ask.v == 0 || !str_starts(resource, STR(POD_DEVICE_PREFIX)) ||
            s->n_exclude_prefixes + s->n_transformations > 0) {
            continue;
        }
        for (size_t k = 0; held != NULL && k < n; k++) {
            most += held[k].resource == ask.resource ? held[k].v : 0;
        }
        int64_t taken = pool_loose_taken(engine_pool(c->engine), workload, ask.resource);
        if (amount_add(taken, ask.v) > most) {
            return true;
        }
    }
    return false;
}

/* What a seat has of a device: single ones, or where devices are a plain number, that. */
static int64_t seat_has(const struct seat *s, uint32_t resource) {
    int64_t devices = 0, number = 0;
    for (size_t i = 0; i < s->n_devices; i++) {
        devices += s->devices[i].resource == resource;
    }
    for (size_t i = 0; i < s->n_amounts && s->n_devices == 0; i++) {
        number += s->amounts[i].resource == resource ? s->amounts[i].v : 0;
    }
    return devices > number ? devices : number;
}

/* A pod that asks for more devices than its Workload planned for it (somebody else changed it on the way, or a
 * LimitRange came later) would run with fewer than it counts on: its seat stays free, and *why says so. All seats of
 * a pod set are alike. What is counted as another resource cannot be compared. */
static bool seats_too_small(struct queue_controller *c, struct str workload,
                            const struct place_input *in, struct place_why *why) {
    const struct queue_resource_settings *rules = &c->settings->resources;
    const struct seat *s = pool_workload_first(engine_pool(c->engine), workload);
    if (rules->n_exclude_prefixes + rules->n_transformations > 0) {
        return false;
    }
    while (s != NULL && !str_eq(s->set, in->set)) {
        s = s->group_next;
    }
    for (size_t i = 0; s != NULL && i < in->n_amounts; i++) {
        struct pool_amount ask = in->amounts[i];
        struct str resource = names_text(engine_resources(c->engine), ask.resource);
        if (str_starts(resource, STR(POD_DEVICE_PREFIX)) && ask.v > seat_has(s, ask.resource)) {
            *why = (struct place_why){.trouble = PLACE_SMALL,
                                      .set = in->set,
                                      .resource = ask.resource,
                                      .need = ask.v,
                                      .most = seat_has(s, ask.resource)};
            return true;
        }
    }
    return false;
}

/* A seat for the pod, or NULL with why. *ret_ours false: somebody else places it, or it has to wait. Pods of a Workload
 * that was admitted without a plan, when no node was ours, are placed one by one, and their seats go with them. */
static int seat_for(struct queue_controller *c, const struct object *o, const struct pod *p,
                    struct seat **ret, struct place_why *why, bool *ret_ours) {
    struct pool *pool = engine_pool(c->engine);
    struct pool_amount *v;
    struct shape shape;
    size_t n;
    int r = amounts_of(c, p->spec, &v, &n);
    if (r == 0) {
        r = translate_shape(p->spec, &c->base.arena, &shape);
    }
    if (r != 0) {
        return r;
    }
    shape.together = meta_annotation(p->metadata, "kueue.x-k8s.io/podset-required-topology");
    struct kin kin = kin_of(c, o);
    struct str set = set_of(c, o, kin.workload);
    struct place_input in = place_of(c, &shape, set, v, n);
    bool placed = false;
    (void)engine_workload_held(c->engine, kin.workload, &n, &in.queue);
    *ret = pool_pod_seat(pool, o->uid);
    if (*ret != NULL && !pool_seat_usable(pool, *ret)) {
        pool_pod_gone(pool, o->uid); /* its node or GPU went away before it was bound */
        *ret = NULL;
    }
    *ret_ours = pool_is_ours(pool, &in) && !(kin.waits && str_empty(kin.workload));
    if (*ret != NULL || !*ret_ours) {
        return 0;
    }
    if (seats_too_small(c, kin.workload, &in, why)) {
        return 0;
    }
    *ret = pool_take(pool, kin.workload, set, o->uid, (struct str){0});
    if (*ret != NULL) {
        return 0;
    }
    bool planned = pool_workload_first(pool, kin.workload) != NULL;
    if (!planned && !str_empty(kin.workload) && beyond_quota(c, kin.workload, &in)) {
        *why =
            (struct place_why){.trouble = PLACE_TAKEN, .set = str_empty(set) ? STR("main") : set};
        return 0;
    }
    r = planned ? pool_replace(pool, kin.workload, o->uid, &in, &placed, why)
                : pool_plan_loose(pool, kin.workload, o->uid, &in, &placed, why);
    struct queue_work *q = map_get(&c->by_uid, kin.workload);
    if (r == 0 && placed && planned && q != NULL) {
        q->plan++;
    }
    *ret = r == 0 && placed ? pool_pod_seat(pool, o->uid) : NULL;
    return r;
}

/* ---- writing ---- */

/* The condition PodScheduled, as a patch of the status; ERR_NOT_FOUND: it says so already. */
static int scheduled(struct queue_controller *c, const struct object *o, const struct pod *p,
                     const struct condition_want *x, struct buf *out) {
    struct pod_status status = {0};
    struct pod want = *p;
    if (p->status != NULL) {
        status = *p->status;
    }
    want.status = &status;
    int r = conditions_copy(p->status != NULL ? &p->status->conditions : NULL, &c->base.arena,
                            &status.conditions);
    if (r != 0) {
        return r;
    }
    r = conditions_put(&status.conditions, &c->base.arena, x, clock_wall(c->env->clock),
                       o->generation, NULL);
    if (r != 0) {
        return r;
    }
    return edit_write(o, EDIT_VERSION, p, &want, out);
}

static const struct condition_want is_scheduled = {"PodScheduled", "True", "", {0}};

static int after_bind(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    const struct object *o = res->obj;
    if (res->code != 0 || o == NULL || tag != 1) {
        return res->code;
    }
    struct seat *s = pool_pod_seat(engine_pool(c->engine), o->uid);
    if (s != NULL) {
        recorder_event(c->base.recorder, o, EVENT_NORMAL, "Scheduled",
                       "Successfully assigned %.*s/%.*s to %.*s", STR_ARG(o->ns), STR_ARG(o->name),
                       STR_ARG(s->node));
    }
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    const struct pod *p = queue_decode(c, o);
    if (p != NULL && scheduled(c, o, p, &is_scheduled, &body) == 0) {
        round_tag(r, 2);
        round_patch(r, o->kind, o->ns, o->name, "status", PATCH_MERGE, buf_view(&body));
    }
    buf_release(&body);
    return 0;
}

static enum work bind(struct queue_controller *c, const struct object *o, const struct pod *p,
                      const struct seat *s) {
    struct meta meta = *p->metadata;
    struct pod_spec spec = *p->spec;
    struct pod want = {.metadata = &meta, .spec = &spec, .status = p->status};
    struct buf devices, body;
    enum work w = WORK_RETRY;
    buf_init(&devices, LIMIT_ANNOTATION_BYTES);
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int r =
        translate_devices_json(s, p->spec, engine_resources(c->engine), &c->base.arena, &devices);
    spec.node_name = s->node;
    if (r == 0 && s->n_devices > 0) {
        r = meta_set(&meta.annotations, &c->base.arena, DEVICES_ANNOTATION, buf_view(&devices));
    }
    if (r == 0) {
        r = edit_write(o, EDIT_VERSION, p, &want, &body);
    }
    struct round *round = r == 0 ? controller_begin(&c->base) : NULL;
    if (round != NULL) {
        round_on_done(round, after_bind, c);
        round_tag(round, 1);
        round_patch(round, o->kind, o->ns, o->name, "", PATCH_MERGE, buf_view(&body));
        w = round_end(round);
    }
    buf_release(&devices);
    buf_release(&body);
    return w;
}

static int after_waiting(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    if (res->code == 0 && res->obj != NULL) {
        arena_reset(&c->base.arena);
        struct pod *p = queue_decode(c, res->obj);
        const struct condition *x = p != NULL && p->status != NULL
                                        ? conditions_find(&p->status->conditions, "PodScheduled")
                                        : NULL;
        if (x != NULL) {
            recorder_event(c->base.recorder, res->obj, EVENT_WARNING, "FailedScheduling", "%.*s",
                           STR_ARG(x->message));
        }
    }
    return res->code;
}

static enum work say(struct queue_controller *c, const struct object *o, const struct pod *p,
                     const struct condition_want *x, round_hook *hook) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int code = scheduled(c, o, p, x, &body);
    return queue_send(c, o, "status", code, &body, hook);
}

static enum work say_unschedulable(struct queue_controller *c, const struct object *o,
                                   const struct pod *p, struct str message) {
    struct condition_want x = {"PodScheduled", "False", "Unschedulable", message};
    return say(c, o, p, &x, after_waiting);
}

/* The annotations of its Workload have no room for where this pod would go: it is told so, and tried again by and by,
 * since they may be edited. */
static enum work say_too_long(struct queue_controller *c, const struct object *o,
                              const struct pod *p, size_t bytes, size_t room) {
    queue_look(c, QS_POD, o->ns, o->name, PLAN_AGAIN_NS);
    return say_unschedulable(c, o, p,
                             arena_f(&c->base.arena,
                                     "the places of its Workload would take %zu bytes in the "
                                     "annotation " PLACEMENT_ANNOTATION
                                     ", and there is room for %zu: shorten its other annotations",
                                     bytes, room));
}

static int after_plan(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    struct queue_work *q =
        res->code == 0 && res->obj != NULL ? map_get(&c->by_uid, res->obj->uid) : NULL;
    if (q != NULL) {
        q->plan_kept = (uint32_t)tag;
        queue_plan_drop(c, r, q, res->obj);
        queue_look(c, QS_POD, round_ns(r), round_name(r), 0); /* now it may be bound */
    }
    return res->code;
}

/* The placement of the seat's Workload, when that is not as written: true when it was, and the pod waits for it. */
static bool keep_plan(struct queue_controller *c, const struct object *o, const struct pod *p,
                      const struct seat *s, enum work *ret) {
    struct queue_work *q = str_empty(s->workload) ? NULL : map_get(&c->by_uid, s->workload);
    const struct object *w =
        q != NULL && q->plan != q->plan_kept ? mirror_by_uid(c->env->mirror, s->workload) : NULL;
    const struct workload *view = w != NULL ? queue_decode(c, w) : NULL;
    struct buf plan, body;
    *ret = WORK_RETRY;
    if (view == NULL) {
        return w != NULL;
    }
    struct meta meta = *view->metadata;
    struct round *round = NULL;
    const struct long_note note = queue_plan(c);
    struct long_text text;
    buf_init(&plan, LIMIT_PLAN_BYTES);
    buf_init(&body, LIMIT_OBJECT_BYTES);
    translate_placement_json(pool_workload_first(engine_pool(c->engine), s->workload), &plan);
    int r = buf_ok(&plan);
    if (r == 0) {
        r = long_note_make(&note, w, view->metadata, buf_view(&plan), &c->base.arena, &text);
    } else {
        text = (struct long_text){.bytes = plan.n, .room = long_note_room(&note, view->metadata)};
    }
    if (r == ERR_TOO_LARGE) {
        *ret = say_too_long(c, o, p, text.bytes, text.room);
    } else if (r == 0 && text.n_missing > 0) {
        *ret = queue_plan_create(c, w, &text, queue_plan_written);
    } else if (r == 0) {
        r = meta_set(&meta.annotations, &c->base.arena, PLACEMENT_ANNOTATION, text.text);
        if (r == 0) {
            r = edit_write_meta(w, EDIT_VERSION, view->metadata, &meta, &body);
        }
        round = r == 0 ? controller_begin(&c->base) : NULL;
    }
    if (round != NULL) {
        queue_plan_note(c, q, view->metadata);
    }
    if (round != NULL) {
        round_on_done(round, after_plan, c);
        round_tag(round, q->plan);
        round_patch(round, w->kind, w->ns, w->name, "", PATCH_MERGE, buf_view(&body));
        *ret = round_end(round);
    }
    q->plan_kept = r == ERR_NOT_FOUND ? q->plan : q->plan_kept; /* it is as written */
    buf_release(&plan);
    buf_release(&body);
    return r != ERR_NOT_FOUND;
}

static enum work say_waiting(struct queue_controller *c, const struct object *o,
                             const struct pod *p, const struct place_why *why) {
    struct verdict v = {.reason = PEND_WAITING_FOR_PLACEMENT, .place = *why};
    struct buf text;
    buf_init(&text, LIMIT_CONDITION_MESSAGE);
    verdict_text(&v, engine_flavors(c->engine), engine_resources(c->engine), &c->base.arena, &text);
    enum work w = say_unschedulable(
        c, o, p, str_skip(buf_view(&text), sizeof("quota is available, but ") - 1));
    buf_release(&text);
    return w;
}

/* ---- pods that wait for a place ---- */

static void waiting_set(struct queue_controller *c, const struct object *o, bool waits) {
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    if (n < 0 || (size_t)n >= sizeof(key)) {
        return;
    }
    struct str k = str_from(key, (size_t)n);
    char *there = map_get(&c->waiting, k);
    if (waits && there == NULL) {
        char *copy = mem_cstr(k);
        if (copy == NULL || map_put(&c->waiting, str_from(copy, (size_t)n), copy, NULL) != 0) {
            mem_free(copy);
            queue_look(c, QS_POD, o->ns, o->name, NS_PER_SEC); /* no memory: by time */
        }
    } else if (!waits && there != NULL) {
        map_del(&c->waiting, k);
        mem_free(there);
    }
}

void queue_pods_retry(struct queue_controller *c) {
    uint64_t now = pool_generation(engine_pool(c->engine));
    if (now == c->pods_seen) {
        return;
    }
    c->pods_seen = now;
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&c->waiting, &i)) != NULL;) {
        struct str ns, name;
        if (str_cut(e->key, '/', &ns, &name)) {
            queue_look(c, QS_POD, ns, name, 0);
        }
    }
}

void queue_pods_claim(void *self, const struct change *ch) {
    struct queue_controller *c = self;
    const struct map_entry *e;
    struct str ns, name;
    for (size_t i = 0; c->env->claims && (e = map_next(&c->waiting, &i)) != NULL;) {
        if (str_cut(e->key, '/', &ns, &name) && str_eq(ns, ch->obj->ns)) {
            queue_look(c, QS_POD, ns, name, 0);
        }
    }
}

enum work queue_pod_work(struct queue_controller *c, struct str ns, struct str name) {
    const struct object *o;
    struct pod *p = queue_view(c, QK_POD, ns, name, &o);
    if (o == NULL) {
        struct object gone = {.ns = ns, .name = name};
        waiting_set(c, &gone, false);
        return WORK_OK;
    }
    if (p == NULL || p->spec == NULL) {
        return WORK_RETRY;
    }
    struct seat *bound = pool_pod_seat(engine_pool(c->engine), o->uid);
    if (!terminal(p) && o->deleting_ns == 0 && !str_empty(p->spec->node_name) && bound != NULL &&
        pool_seat_usable(engine_pool(c->engine), bound)) { /* on one of our nodes */
        waiting_set(c, o, false);
        return say(c, o, p, &is_scheduled, NULL); /* that was not written, or we were stopped */
    }
    bool settled = terminal(p) || o->deleting_ns != 0 || !str_empty(p->spec->node_name) ||
                   p->spec->scheduling_gates.n > 0;
    struct seat *s = NULL;
    struct place_why why = {0};
    struct str held;
    bool ours = false;
    if (!settled && c->env->claims &&
        pod_claims_wait(c->env->mirror, o, p, &c->base.arena, &held)) {
        waiting_set(c, o, true);
        return say_unschedulable(c, o, p, held);
    }
    int r = settled ? 0 : seat_for(c, o, p, &s, &why, &ours);
    waiting_set(c, o, !settled && s == NULL);
    if (r != 0) {
        return WORK_RETRY;
    }
    if (settled || (s == NULL && !ours)) {
        return WORK_OK;
    }
    if (s == NULL) {
        return say_waiting(c, o, p, &why);
    }
    enum work kept;
    return keep_plan(c, o, p, s, &kept) ? kept : bind(c, o, p, s);
}

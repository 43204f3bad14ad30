/*
 * job_queue: hears of changes and looks. One look at an object and its Workload takes the first step of the table in
 * job_queue.h that applies (job_queue_steps.c).
 *
 * Kinds come and go while this runs, so it hears of every change and knows by the kind whose it is; each integrated
 * kind has a queue of its own, since two kinds may have objects of one name.
 */
#include "control/hold/job_queue.h"

#include <assert.h>

#include "api/schema/codec.h"
#include "base/mem.h"
#include "control/hold/job_queue_private.h"

enum { SYNC_ARENA = 64 << 20 };

/* ---- what to look at ---- */

static bool wanted(const struct lane *lane, const struct object *o) {
    const struct queue_settings *s = lane->c->settings;
    const struct owner_ref *owner = object_controller(o);
    if (str_empty(object_label(o, STR(KUEUE_QUEUE_LABEL))) && !s->manage_jobs_without_queue_name &&
        !(owner && integration_of_owner(owner))) {
        return false;
    }
    return integration_in_namespace(lane->c->base.env.mirror, s, o->ns);
}

static struct lane *lane_of_row(struct job_queue_controller *c, const struct integration *row) {
    for (size_t i = 0; row && i < c->n_lanes; i++) {
        if (c->lanes[i].row == row) {
            return &c->lanes[i];
        }
    }
    return NULL;
}

struct lane *job_queue_lane(struct job_queue_controller *c, const struct kind *k) {
    if (k != c->last_kind) {
        c->last_kind = k;
        c->last_lane = lane_of_row(c, integration_of(k));
        if (c->last_lane) {
            c->last_lane->kind = k;
        }
    }
    return c->last_lane;
}

/* Of the object that a Workload belongs to. */
static struct lane *lane_of_workload(struct job_queue_controller *c, const struct object *wl) {
    const struct owner_ref *o = object_controller(wl);
    return o ? lane_of_row(c, integration_of_owner(o)) : NULL;
}

static void add_key(const struct lane *lane, struct str ns, struct str name) {
    workqueue_look(lane->c->base.queue, (struct work_key){lane->sort, ns, name}, 0);
}

static bool add_workload(void *ctx, const struct object *o) {
    struct job_queue_controller *c = ctx;
    if (o->kind == c->workloads) {
        workqueue_look(c->base.queue, (struct work_key){ORPHANED_KEY, o->ns, o->name}, 0);
    }
    return true;
}

static bool add_object(void *ctx, const struct object *o) {
    struct job_queue_controller *c = ctx;
    bool custom = o->kind == c->jobs || (o->kind->flags & KIND_CUSTOM);
    struct lane *lane = custom && o->kind != c->workloads ? job_queue_lane(c, o->kind) : NULL;
    if (lane && wanted(lane, o)) {
        add_key(lane, o->ns, o->name);
    }
    return true;
}

static void object_changed(struct lane *lane, const struct change *ch) {
    if (ch->type == CHANGE_DELETED) {
        mirror_owned(lane->c->base.env.mirror, ch->obj, add_workload, lane->c);
    } else if (wanted(lane, ch->obj)) {
        add_key(lane, ch->obj->ns, ch->obj->name);
    }
}

/* False: nobody that it belongs to is here. */
static bool look_at_owner(struct job_queue_controller *c, const struct object *wl) {
    struct lane *lane = lane_of_workload(c, wl);
    const struct owner_ref *o = object_controller(wl);
    const struct object *owner = lane ? mirror_owner(c->base.env.mirror, wl->ns, o) : NULL;
    if (owner) {
        add_key(lane, wl->ns, o->name);
        if (lane->kind != c->jobs) { /* objects below it follow its Workload; a Job has only pods */
            mirror_owned(c->base.env.mirror, owner, add_object, c);
        }
    }
    return owner != NULL;
}

static void workload_changed(struct job_queue_controller *c, const struct change *ch) {
    if (object_left(ch->old, ch->obj)) {
        (void)look_at_owner(c, ch->old);
    }
    if (!look_at_owner(c, ch->obj) && ch->type != CHANGE_DELETED) {
        add_workload(c, ch->obj);
    }
}

/* Whether its jobs are queued may depend on its labels. */
static void namespace_changed(struct job_queue_controller *c, const struct change *ch) {
    for (size_t i = 0; integration_namespace_moved(c->settings, ch) && i < c->n_lanes; i++) {
        const struct kind *k = integration_kind(c->lanes[i].row);
        if (k) {
            mirror_scan(c->base.env.mirror, k, ch->obj->name, add_object, c);
        }
    }
}

/* A pod that waits behind the gate of elastic Jobs: its Job is looked at. */
static void pod_changed(struct job_queue_controller *c, const struct object *pod) {
    const struct owner_ref *o = object_controller(pod);
    const struct object *job = o && str_contains(pod->json, STR("\"" KUEUE_ELASTIC_GATE "\""))
                                   ? mirror_owner(c->base.env.mirror, pod->ns, o)
                                   : NULL;
    if (job && job_kind_resizes(job->kind)) {
        add_object(c, job);
    }
}

static void changed(void *ctx, const struct change *ch) {
    struct job_queue_controller *c = ctx;
    const struct kind *k = ch->obj->kind;
    if (k == c->pods) {
        if (ch->type != CHANGE_DELETED) {
            pod_changed(c, ch->obj);
        }
        return;
    }
    if (k == c->workloads) {
        workload_changed(c, ch);
    } else if (k == c->namespaces) {
        namespace_changed(c, ch);
    } else if (k == c->jobs || (k->flags & KIND_CUSTOM)) {
        struct lane *lane = job_queue_lane(c, k);
        if (lane) {
            object_changed(lane, ch);
        }
    }
}

static void start(void *self) {
    struct job_queue_controller *c = self;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct kind *k = integration_kind(c->lanes[i].row);
        if (k) {
            mirror_scan(c->base.env.mirror, k, STR(""), add_object, c);
        }
    }
    mirror_scan(c->base.env.mirror, c->workloads, STR(""), add_workload, c);
}

/* ---- seeing ---- */

static bool find_workload(void *ctx, const struct object *o) {
    struct pair *p = ctx;
    p->n_pods += o->kind == p->c->pods;
    p->n_owned += o->kind != p->c->workloads;
    if (o->kind != p->c->workloads || lane_of_workload(p->c, o) != p->lane) {
        return true;
    }
    *(p->h.wl_obj ? &p->extra : &p->h.wl_obj) = o;
    return true;
}

/* One that was made beforehand, unless another object has it. */
static void find_prebuilt(struct pair *p) {
    const struct object *o =
        mirror_get(p->c->base.env.mirror, p->c->workloads, p->obj->ns, p->prebuilt);
    const struct owner_ref *owner = o ? object_controller(o) : NULL;
    p->extra = NULL;
    p->h.wl_obj = owner && !object_named_by(p->obj, o->ns, owner) ? NULL : o;
}

static void see_object(struct pair *p) {
    p->suspended = job_look_suspended(&p->look);
    p->finished = job_look_finished(&p->look, &p->end);
    p->idle = !job_look_active(&p->look);
    if (p->obj->deleting_ns) { /* nobody keeps the status of what goes */
        p->idle = p->obj->kind == p->c->jobs ? p->n_pods == 0 : p->idle || p->n_owned == 0;
    }
}

static int see_slices(struct pair *p) {
    int r = job_slices_look(&p->look, &p->slices, &p->err);
    const struct job_slice *s = &p->slices.holder;
    p->extra = NULL;
    p->h.wl_obj = s->obj;
    if (r == 0 && s->obj) {
        p->h.wl_tree = s->tree;
        p->was = json_path(s->tree, "spec.podSets");
        p->h.wl = s->wl;
        hold_sync(&p->h);
    }
    return r;
}

static int see(struct pair *p) {
    int r = job_look_init(&p->look, &p->err);
    if (r == ERR_NOT_FOUND || r == ERR_INVALID) {
        p->unclear = r;
        r = 0;
    }
    if (r == 0 && json_path(p->look.tree, "spec") == NULL) {
        r = err_set(&p->err, ERR_INVALID, "no spec");
    }
    if (r != 0) {
        return r;
    }
    mirror_owned(p->c->base.env.mirror, p->obj, find_workload, p);
    p->elastic = job_is_elastic(&p->look);
    if (p->elastic) {
        see_object(p);
        return see_slices(p);
    }
    p->prebuilt = job_workload_prebuilt(&p->look);
    if (!str_empty(p->prebuilt)) {
        find_prebuilt(p);
    }
    see_object(p);
    if (p->h.wl_obj == NULL) {
        return 0;
    }
    r = hold_see(&p->h, &p->err);
    p->was = json_path(p->h.wl_tree, "spec.podSets");
    return r;
}

/* Queued itself, or by something above it, or not at all. */
static enum work look(struct pair *p) {
    const struct queue_settings *s = p->c->settings;
    const struct object *above = NULL;
    int r = integration_ancestor(p->c->base.env.mirror, s, object_controller(p->obj), p->obj->ns,
                                 &above);
    if (r == ERR_TOO_LARGE) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_WARNING, "JobNestingTooDeep",
                       "Terminated search for Kueue-managed Job because ancestor depth exceeded "
                       "limit of 10");
    }
    if (r != 0) {
        return WORK_RETRY;
    }
    if (above == NULL && str_empty(object_label(p->obj, STR(KUEUE_QUEUE_LABEL))) &&
        !s->manage_jobs_without_queue_name) {
        return WORK_OK;
    }
    if (see(p) != 0) {
        log_error(p->c->base.env.log, "%s %.*s/%.*s: %s", p->lane->row->is->name,
                  STR_ARG(p->obj->ns), STR_ARG(p->obj->name), p->err.text);
        return WORK_RETRY;
    }
    if (p->lane->row->skipped && p->lane->row->skipped(&p->look)) {
        return WORK_OK;
    }
    return above ? job_queue_child(p, above) : job_queue_step(p);
}

static enum work look_at_object(struct lane *lane, struct str ns, struct str name) {
    struct job_queue_controller *c = lane->c;
    const struct kind *k = lane->kind ? lane->kind : integration_kind(lane->row);
    struct pair p = {
        .c = c, .lane = lane, .obj = k ? mirror_get(c->base.env.mirror, k, ns, name) : NULL};
    if (p.obj == NULL || !wanted(lane, p.obj)) {
        return WORK_OK;
    }
    p.h = (struct hold_look){.c = &c->base, .settings = c->settings, .about = p.obj};
    p.look = (struct job_look){.row = lane->row,
                               .obj = p.obj,
                               .mirror = c->base.env.mirror,
                               .settings = c->settings,
                               .arena = &c->base.arena};
    return look(&p);
}

static enum work look_at_orphan(struct job_queue_controller *c, struct str ns, struct str name) {
    const struct object *wl = mirror_get(c->base.env.mirror, c->workloads, ns, name);
    if (wl == NULL) {
        return WORK_OK;
    }
    struct lane *lane = lane_of_workload(c, wl);
    const struct owner_ref *o = object_controller(wl);
    bool ours = lane || (c->settings->gates.finish_orphaned_workloads && !wl->n_owners &&
                         !str_empty(object_label(wl, STR(KUEUE_JOB_UID_LABEL))));
    if (lane && mirror_owner(c->base.env.mirror, ns, o)) {
        add_key(lane, ns, o->name);
        return WORK_OK;
    }
    /* Of a Workload that somebody made by hand only a deletion is followed. */
    return ours || (!wl->n_owners && wl->deleting_ns) ? job_queue_let_go(c, wl) : WORK_OK;
}

static enum work step(void *self, struct work_key key) {
    struct job_queue_controller *c = self;
    return key.what == ORPHANED_KEY
               ? look_at_orphan(c, key.ns, key.name)
               : look_at_object(&c->lanes[key.what - LANE_KEYS], key.ns, key.name);
}

/* ---- life ---- */

enum { ALL, WORKLOADS, PODS, NAMESPACES }; /* of the row's kinds */

static int init(void *self, struct err *err) {
    struct job_queue_controller *c = self;
    const struct queue_settings *s = c->base.env.settings;
    size_t n;
    const struct integration *rows = integration_rows(&n);
    c->settings = s ? s : queue_settings_defaults();
    c->jobs = kind_by_name(STR("batch"), STR("Job"));
    c->workloads = c->base.kinds[WORKLOADS];
    c->pods = c->base.kinds[PODS];
    c->namespaces = c->base.kinds[NAMESPACES];
    assert(LANE_KEYS + n <= WORK_KEY_SORTS);
    c->lanes = mem_zalloc(n * sizeof *c->lanes);
    for (size_t i = 0; c->lanes && i < n; i++) {
        if (rows[i].suspend && integration_enabled(&rows[i], c->settings)) {
            unsigned sort = LANE_KEYS + (unsigned)c->n_lanes;
            c->lanes[c->n_lanes++] = (struct lane){.c = c, .row = &rows[i], .sort = sort};
        }
    }
    return c->lanes ? 0 : ERR_NOMEM;
}

static void release(void *self) {
    struct job_queue_controller *c = self;
    mem_free(c->lanes);
}

const struct controller_row job_queue_controller = {
    .name = "job-queue",
    .set = CONTROL_JOB_QUEUE,
    .who = "berth-job-queue-controller",
    .tells = "kueue-job-controller",
    /* Of every kind: those that are queued come when somebody defines them. */
    CONTROLLER_KINDS([ALL] = {NULL, NULL, changed, .may = MAY_PATCH | MAY_STATUS | MAY_DELETE},
                     [WORKLOADS] = {"kueue.x-k8s.io", "Workload",
                                    .may = MAY_CREATE | MAY_PATCH | MAY_STATUS | MAY_DELETE},
                     [PODS] = {"", "Pod", .may = MAY_PATCH}, [NAMESPACES] = {"", "Namespace"},
                     {"batch", "Job", .may = MAY_PATCH | MAY_STATUS | MAY_DELETE},
                     {"kueue.x-k8s.io", "ClusterQueue"}, {"kueue.x-k8s.io", "LocalQueue"},
                     {"kueue.x-k8s.io", "ResourceFlavor"},
                     {"kueue.x-k8s.io", "WorkloadPriorityClass", .optional = true},
                     {"kueue.x-k8s.io", "Topology", .optional = true},
                     {"scheduling.k8s.io", "PriorityClass"}),
    .start = start,
    .step = step,
    .budget = CONTROLLER_TURN,
    .arena = SYNC_ARENA,
    .size = sizeof(struct job_queue_controller),
    .init = init,
    .release = release,
};

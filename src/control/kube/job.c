/*
 * job: feeds in, decisions from job_decide, rounds of writes out. See job.h.
 */
#include "control/kube/job.h"

#include "api/schema/codec.h"
#include "api/walk/value.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kube/job_events.h"
#include "control/kube/job_pod_read.h"
#include "control/kube/job_write.h"
#include "control/load/integration.h"
#include "core/job/job_decide.h"

enum {
    SYNC_ARENA = 512 << 20, /* a Job of 100,000 pods */
    BODY_MAX = 4 << 20,
    MANY_PODS = 64, /* from here on changes of pods are gathered for a while */
    PODS_GATHER_MS = 200,
    HELD_MS = 100, /* so long a new Job that is held back is nobody's concern here */
};

enum job_write {
    WRITE_STATUS,
    WRITE_CREATE,
    WRITE_STRIP,
    WRITE_STRIP_DELETE,
    WRITE_DELETE,
    WRITE_TTL
};

enum { JOBS, PODS };            /* of the row's kinds */
enum { LOOK_JOB, LOOK_ORPHAN }; /* sorts of keys: a Job; a pod whose Job is gone */

struct job_controller {
    struct controller base;
    struct arena scratch; /* of one step */
    struct map many;      /* uids of Jobs with more than MANY_PODS pods */
};

/* ---- what to look at ---- */

static bool of_job(const struct job_controller *c, const struct owner_ref *o) {
    return o && str_is(o->kind, "Job") && str_starts(o->api_version, STR("batch/"));
}

static bool add_orphan(void *ctx, const struct object *o) {
    struct job_controller *c = ctx;
    if (o->kind == c->base.kinds[PODS] && o->n_finalizers) {
        workqueue_look(c->base.queue, (struct work_key){LOOK_ORPHAN, o->ns, o->name}, 0);
    }
    return true;
}

/* A Job with many pods is looked at for several of their changes together, since each look reads them all. */
static void remember_many(struct job_controller *c, struct str uid, bool many) {
    char *known = map_get(&c->many, uid);
    if (known && !many) {
        map_del(&c->many, uid);
        mem_free(known);
    } else if (known == NULL && many) {
        char *key = mem_cstr(uid);
        if (key && map_put(&c->many, str_from(key, uid.n), key, NULL) != 0) {
            mem_free(key); /* it is only slower without */
        }
    }
}

/* Created suspended, for a queue that may well have room: what is written of it at once would have to be taken back in
 * the next moment, three writes later. Its next change is looked at in any case. */
static bool is_new_in_queue(const struct change *ch) {
    return ch->type == CHANGE_ADDED && !str_empty(object_label(ch->obj, STR(KUEUE_QUEUE_LABEL))) &&
           str_contains(ch->obj->json, STR("\"suspend\":true"));
}

static void job_changed(void *ctx, const struct change *ch) {
    struct job_controller *c = ctx;
    job_events_tell(c->base.recorder, ch);
    if (ch->type == CHANGE_DELETED) {
        mirror_owned(c->base.env.mirror, ch->obj, add_orphan, c);
        remember_many(c, ch->obj->uid, false);
    }
    workqueue_add_after(c->base.queue, ch->obj->ns, ch->obj->name,
                        is_new_in_queue(ch) ? HELD_MS * NS_PER_MS : 0);
}

static void look_at_pod(struct job_controller *c, const struct object *o) {
    const struct owner_ref *owner = object_controller(o);
    if (!of_job(c, owner)) {
        return;
    }
    if (mirror_owner(c->base.env.mirror, o->ns, owner) == NULL) {
        add_orphan(c, o);
        return;
    }
    bool many = map_get(&c->many, owner->uid) != NULL;
    workqueue_add_after(c->base.queue, o->ns, owner->name, many ? PODS_GATHER_MS * NS_PER_MS : 0);
}

static void pod_changed(void *ctx, const struct change *ch) {
    if (object_left(ch->old, ch->obj)) { /* its Job misses it */
        look_at_pod(ctx, ch->old);
    }
    look_at_pod(ctx, ch->obj);
}

static bool add_job(void *ctx, const struct object *o) {
    struct job_controller *c = ctx;
    workqueue_add(c->base.queue, o->ns, o->name);
    return true;
}

static bool add_pod_if_orphan(void *ctx, const struct object *o) {
    struct job_controller *c = ctx;
    const struct owner_ref *owner = object_controller(o);
    if (of_job(c, owner) && mirror_owner(c->base.env.mirror, o->ns, owner) == NULL) {
        add_orphan(c, o);
    }
    return true;
}

static void start(void *self) {
    struct job_controller *c = self;
    mirror_scan(c->base.env.mirror, c->base.kinds[JOBS], STR(""), add_job, c);
    mirror_scan(c->base.env.mirror, c->base.kinds[PODS], STR(""), add_pod_if_orphan, c);
}

/* ---- one sync ---- */

struct pod_gather {
    struct job_controller *c;
    const struct object *job;
    struct job_pod *v;
    size_t n, cap;
    int code;
};

static bool gather_pod(void *ctx, const struct object *o) {
    struct pod_gather *g = ctx;
    const struct owner_ref *owner = object_controller(o);
    if (o->kind != g->c->base.kinds[PODS] || owner == NULL ||
        !object_named_by(g->job, o->ns, owner)) {
        return true;
    }
    if (g->n == g->cap && ARENA_GROW(&g->c->base.arena, g->v, g->cap) != 0) {
        g->code = ERR_NOMEM;
        return false;
    }
    arena_reset(&g->c->scratch);
    g->code = job_pod_read(o, &g->c->scratch, &g->c->base.arena, &g->v[g->n], NULL);
    g->n += g->code == 0;
    return g->code == 0;
}

static int pod_answer(struct job_controller *c, struct round *r, const struct write_result *res,
                      const struct object *job, uint64_t what) {
    switch (what) {
    case WRITE_CREATE:
        if (res->code != 0) {
            recorder_event(c->base.recorder, job, EVENT_WARNING, "FailedCreate",
                           "Error creating: %s", res->err.text);
        } else if (res->obj) {
            recorder_event(c->base.recorder, job, EVENT_NORMAL, "SuccessfulCreate",
                           "Created pod: %.*s", STR_ARG(res->obj->name));
        }
        return res->code;
    case WRITE_STRIP_DELETE:
        if (res->code == 0 && res->obj) {
            struct delete_options o = {
                .uid = res->obj->uid, .grace_seconds = -1, .propagation = STR("Background")};
            round_tag(r, WRITE_DELETE);
            round_remove(r, c->base.kinds[PODS], res->obj->ns, res->obj->name, &o);
        }
        break;
    case WRITE_DELETE:
        if (res->code == 0 && res->obj) {
            recorder_event(c->base.recorder, job, EVENT_NORMAL, "SuccessfulDelete",
                           "Deleted pod: %.*s", STR_ARG(res->obj->name));
        }
        break;
    default:
        break;
    }
    /* A pod that is gone needs neither its finalizer nor its deletion. */
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

static int answered(void *ctx, struct round *r, uint64_t what, const struct write_result *res) {
    struct job_controller *c = ctx;
    const struct object *job =
        mirror_get(c->base.env.mirror, c->base.kinds[JOBS], round_ns(r), round_name(r));
    if (what == WRITE_STATUS || what == WRITE_TTL) {
        return res->code == ERR_NOT_FOUND ? 0 : res->code;
    }
    return pod_answer(c, r, res, job, what);
}

static void write_strip(struct job_controller *c, struct round *r, const struct job_pod *p,
                        enum job_write what) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    arena_reset(&c->scratch);
    int code = p->tracked ? edit_drop_finalizer(p->obj, JOB_FINALIZER, &c->scratch, &b) : 0;
    if (code == 0 && p->tracked) {
        round_tag(r, what);
        round_patch(r, c->base.kinds[PODS], p->obj->ns, p->name, "", PATCH_MERGE, buf_view(&b));
    } else if (code != 0) {
        round_fail(r, code);
    }
    buf_release(&b);
}

static void write_delete(struct job_controller *c, struct round *r, const struct job_pod *p,
                         bool strip_first) {
    if (strip_first && p->tracked) {
        write_strip(c, r, p, WRITE_STRIP_DELETE);
        return;
    }
    struct delete_options o = {
        .uid = p->uid, .grace_seconds = -1, .propagation = STR("Background")};
    round_tag(r, WRITE_DELETE);
    round_remove(r, c->base.kinds[PODS], p->obj->ns, p->name, &o);
}

static void write_creates(struct job_controller *c, struct round *r, const struct object *obj,
                          yyjson_val *tree, const struct job *job, const struct job_plan *plan) {
    bool per_index = job->spec->backoff_limit_per_index.set;
    struct buf b;
    buf_init(&b, BODY_MAX);
    round_tag(r, WRITE_CREATE);
    for (size_t i = 0; i < plan->n_creates; i++) {
        const struct job_create *x = &plan->creates[i];
        /* Pods without an index are all alike. */
        if (i == 0 || x->index >= 0) {
            buf_reset(&b);
            arena_reset(&c->scratch);
            int code = job_write_pod(obj, tree, x, per_index, &c->scratch, &b);
            if (code != 0) {
                round_fail(r, code);
                break;
            }
        }
        round_create(r, c->base.kinds[PODS], obj->ns, buf_view(&b));
    }
    buf_release(&b);
}

/* The first status has the counts too, though they are 0. */
static void write_status(struct round *r, const struct object *obj, const struct job *job,
                         const struct job_plan *plan) {
    static const struct job_status none;
    struct job was = *job, want = *job;
    if (was.status && value_views_same(&schema_job_status, was.status, &none)) {
        was.status = NULL;
    }
    want.status = (struct job_status *)&plan->status;
    round_tag(r, WRITE_STATUS);
    (void)edit_send(r, obj, "status", EDIT_VERSION, &was, &want);
}

static enum work carry_out(struct job_controller *c, const struct object *obj, yyjson_val *tree,
                           const struct job *job, const struct job_facts *f,
                           const struct job_plan *plan) {
    if (!plan->write_status && !plan->n_strips && !plan->n_deletes && !plan->n_creates) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&c->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_on_done(r, answered, c);
    for (size_t i = 0; i < plan->n_strips; i++) {
        write_strip(c, r, &f->pods[plan->strips[i]], WRITE_STRIP);
    }
    for (size_t i = 0; i < plan->n_deletes; i++) {
        write_delete(c, r, &f->pods[plan->deletes[i]], plan->strip_first);
    }
    write_creates(c, r, obj, tree, job, plan);
    if (plan->write_status) {
        write_status(r, obj, job, plan);
    }
    return round_end(r);
}

/* How long it stays when it has finished: what it says, else what this cluster does; -1: for ever. */
static int64_t kept_ns(const struct job_controller *c, const struct job *job) {
    int64_t otherwise = c->base.env.kept.jobs_ns;
    return job->spec->ttl_seconds_after_finished.set
               ? job->spec->ttl_seconds_after_finished.v * NS_PER_SEC
           : otherwise ? otherwise
                       : -1;
}

/* A finished Job whose time is over is deleted with its pods. */
static enum work expire(struct job_controller *c, const struct object *obj, const struct job *job) {
    int64_t kept = kept_ns(c, job);
    if (kept < 0 || obj->deleting_ns) {
        return WORK_OK;
    }
    const struct condition *end = job_condition_true(job, "Complete")
                                      ? job_condition(job, "Complete")
                                      : job_condition(job, "Failed");
    int64_t left = end->last_transition_ns + kept - clock_wall(c->base.env.clock);
    if (left > 0) {
        workqueue_add_after(c->base.queue, obj->ns, obj->name, left);
        return WORK_OK;
    }
    struct round *r = controller_begin(&c->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    struct delete_options o = {
        .uid = obj->uid, .rv = obj->rv, .grace_seconds = -1, .propagation = STR("Foreground")};
    round_on_done(r, answered, c);
    round_tag(r, WRITE_TTL);
    round_remove(r, c->base.kinds[JOBS], obj->ns, obj->name, &o);
    return round_end(r);
}

static bool ours(const struct job *job) {
    return job->spec && (str_empty(job->spec->managed_by) ||
                         str_is(job->spec->managed_by, "kubernetes.io/job-controller"));
}

static enum work sync_object(struct job_controller *c, const struct object *obj) {
    struct job job;
    yyjson_doc *tree;
    struct err err = {0};
    struct job_plan plan;
    if (object_tree(obj, &c->base.arena, &tree, &err) != 0 ||
        codec_decode(&schema_job, yyjson_doc_get_root(tree), &c->base.arena, &job, &err) != 0) {
        log_error(c->base.env.log, "job %.*s/%.*s: %s", STR_ARG(obj->ns), STR_ARG(obj->name),
                  err.text);
        return err.code == ERR_NOMEM ? WORK_RETRY : WORK_OK;
    }
    if (!ours(&job)) {
        return WORK_OK;
    }
    struct pod_gather g = {.c = c, .job = obj};
    mirror_owned(c->base.env.mirror, obj, gather_pod, &g);
    remember_many(c, obj->uid, g.n > MANY_PODS);
    unsigned failures = workqueue_tried(c->base.queue, c->base.key);
    struct job_facts f = {.job = &job,
                          .deleting = obj->deleting_ns != 0,
                          .pods = g.v,
                          .n_pods = g.n,
                          .now_ns = clock_wall(c->base.env.clock),
                          .create_max = failures ? 1 : JOB_BURST_MAX};
    if (g.code != 0 || job_decide(&f, &c->base.arena, &plan, &err) != 0) {
        log_error(c->base.env.log, "job %.*s/%.*s: %s", STR_ARG(obj->ns), STR_ARG(obj->name),
                  err.text);
        return WORK_RETRY;
    }
    if (plan.again_ns) {
        workqueue_add_after(c->base.queue, obj->ns, obj->name, plan.again_ns);
    }
    if (job_finished(&job) && !plan.n_strips) {
        return expire(c, obj, &job);
    }
    return carry_out(c, obj, yyjson_doc_get_root(tree), &job, &f, &plan);
}

static enum work look_at_orphan(struct job_controller *c, const struct object *obj) {
    const struct owner_ref *owner = obj ? object_controller(obj) : NULL;
    struct job_pod pod;
    if (!of_job(c, owner) || mirror_owner(c->base.env.mirror, obj->ns, owner)) {
        return WORK_OK;
    }
    if (job_pod_read(obj, &c->scratch, &c->base.arena, &pod, NULL) != 0) {
        return WORK_RETRY;
    }
    struct round *r = controller_begin(&c->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_on_done(r, answered, c);
    write_strip(c, r, &pod, WRITE_STRIP);
    return round_end(r);
}

static enum work step(void *self, struct work_key key) {
    struct job_controller *c = self;
    const struct kind *k = c->base.kinds[key.what == LOOK_JOB ? JOBS : PODS];
    const struct object *o = mirror_get(c->base.env.mirror, k, key.ns, key.name);
    enum work w = o == NULL              ? WORK_OK
                  : key.what == LOOK_JOB ? sync_object(c, o)
                                         : look_at_orphan(c, o);
    arena_reset(&c->scratch);
    return w;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct job_controller *c = self;
    arena_init(&c->scratch, SYNC_ARENA);
    return 0;
}

static void release(void *self) {
    struct job_controller *c = self;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->many, &i));) {
        mem_free(e->value);
    }
    map_release(&c->many);
    arena_release(&c->scratch);
}

const struct controller_row job_controller = {
    .name = "jobs",
    .set = CONTROL_JOBS,
    .who = "berth-job-controller",
    .tells = "job-controller",
    CONTROLLER_KINDS([JOBS] = {"batch", "Job", job_changed, .may = MAY_STATUS | MAY_DELETE},
                     [PODS] = {"", "Pod", pod_changed, .may = MAY_CREATE | MAY_PATCH | MAY_DELETE}),
    .start = start,
    .step = step,
    .arena = SYNC_ARENA,
    .size = sizeof(struct job_controller),
    .init = init,
    .release = release,
};

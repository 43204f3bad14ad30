/*
 * job_queue: one look at a Job and its Workload takes the first step of the table in job_queue.h that applies.
 */
#include "control/job_queue.h"

#include "api/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/job_decide.h"
#include "control/job_follow.h"
#include "control/job_workload.h"
#include "control/job_write.h"
#include "control/recorder.h"
#include "control/round.h"
#include "control/workload_status.h"

#define WHO "berth-job-queue-controller"
#define STOP_NOT_ADMITTED "Not admitted by cluster queue"

enum {
    SYNC_ARENA = 64 << 20,
    BODY_MAX = 2 * LIMIT_OBJECT_BYTES,
    POLL_MS = 500, /* a Job that goes has no status to wait for */
};

struct job_queue_controller {
    struct control_env env;
    const struct queue_settings *settings;
    const struct kind *jobs, *workloads, *pods, *namespaces;
    struct workqueue *queue;    /* Jobs */
    struct workqueue *orphaned; /* Workloads to let go */
    struct expect *expect;
    struct recorder *recorder;
    struct feed *job_feed, *workload_feed;
    struct arena arena;
};

/* What one look sees. */
struct pair {
    struct job_queue_controller *c;
    const struct object *obj;
    yyjson_val *tree;
    struct job job;
    const struct object *wl_obj; /* NULL: no Workload */
    const struct object *extra;  /* a second Workload, which should not be */
    yyjson_val *wl_tree;
    struct workload wl;
    bool suspended, finished, idle;
    size_t n_pods; /* owned */
    bool admitted, evicted, reserved, wl_finished;
};

/* ---- what to look at ---- */

static bool managed(const struct job_queue_controller *c, const struct object *job) {
    const struct queue_settings *s = c->settings;
    if (str_empty(object_label(job, STR(KUEUE_QUEUE_LABEL))) &&
        (!s->manage_jobs_without_queue_name || object_controller(job))) {
        return false;
    }
    if (!s->managed_namespaces) {
        return !str_is(job->ns, "kube-system");
    }
    const struct object *ns = mirror_get(c->env.mirror, c->namespaces, STR(""), job->ns);
    const struct str_map none = {0};
    return selector_matches(s->managed_namespaces, ns ? &ns->labels : &none);
}

static const struct owner_ref *job_owner(const struct object *wl) {
    const struct owner_ref *o = object_controller(wl);
    return o && str_is(o->kind, "Job") && str_starts(o->api_version, STR("batch/")) ? o : NULL;
}

static bool add_workload(void *ctx, const struct object *o) {
    struct job_queue_controller *c = ctx;
    if (o->kind == c->workloads) {
        workqueue_add(c->orphaned, o->ns, o->name);
    }
    return true;
}

static void job_changed(void *ctx, const struct change *ch) {
    struct job_queue_controller *c = ctx;
    expect_seen(c->expect, ch);
    if (ch->type == CHANGE_DELETED) {
        mirror_owned(c->env.mirror, ch->obj->uid, add_workload, c);
    } else if (managed(c, ch->obj)) {
        workqueue_add(c->queue, ch->obj->ns, ch->obj->name);
    }
}

static void workload_changed(void *ctx, const struct change *ch) {
    struct job_queue_controller *c = ctx;
    const struct owner_ref *o = job_owner(ch->obj);
    expect_seen(c->expect, ch);
    if (o && mirror_by_uid(c->env.mirror, o->uid)) {
        workqueue_add(c->queue, ch->obj->ns, o->name);
    } else if (ch->type != CHANGE_DELETED) {
        workqueue_add(c->orphaned, ch->obj->ns, ch->obj->name);
    }
}

static bool add_job(void *ctx, const struct object *o) {
    struct job_queue_controller *c = ctx;
    if (managed(c, o)) {
        workqueue_add(c->queue, o->ns, o->name);
    }
    return true;
}

static void add_all(void *ctx) {
    struct job_queue_controller *c = ctx;
    mirror_scan(c->env.mirror, c->jobs, STR(""), add_job, c);
    mirror_scan(c->env.mirror, c->workloads, STR(""), add_workload, c);
}

/* ---- seeing ---- */

static bool find_workload(void *ctx, const struct object *o) {
    struct pair *p = ctx;
    p->n_pods += o->kind == p->c->pods;
    if (o->kind != p->c->workloads || !job_owner(o)) {
        return true;
    }
    *(p->wl_obj ? &p->extra : &p->wl_obj) = o;
    return true;
}

static int see(struct pair *p, struct err *err) {
    struct arena *a = &p->c->arena;
    yyjson_doc *d;
    int r = object_tree(p->obj, a, &d, err);
    p->tree = r ? NULL : yyjson_doc_get_root(d);
    r = r ? r : codec_decode(&schema_job, p->tree, a, &p->job, err);
    if (r != 0 || !p->job.spec) {
        return r ? r : err_set(err, ERR_INVALID, "no spec");
    }
    mirror_owned(p->c->env.mirror, p->obj->uid, find_workload, p);
    p->suspended = p->job.spec->suspend.set && p->job.spec->suspend.v;
    p->finished = job_finished(&p->job);
    p->idle = !p->job.status || (p->job.status->active == 0 && (!p->job.status->terminating.set ||
                                                                p->job.status->terminating.v == 0));
    if (p->obj->deleting_ns) {
        p->idle = p->n_pods == 0; /* nobody keeps the status of a Job that goes */
    }
    if (!p->wl_obj) {
        return 0;
    }
    r = object_tree(p->wl_obj, a, &d, err);
    p->wl_tree = r ? NULL : yyjson_doc_get_root(d);
    r = r ? r : codec_decode(&schema_workload, p->wl_tree, a, &p->wl, err);
    if (r == 0 && p->wl.status) {
        const struct condition_list *l = &p->wl.status->conditions;
        p->admitted = conditions_true(l, "Admitted");
        p->evicted = conditions_true(l, "Evicted");
        p->reserved = conditions_true(l, "QuotaReserved");
        p->wl_finished = conditions_true(l, "Finished");
    }
    return r;
}

/* ---- writing ---- */

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

static struct round *begin(struct job_queue_controller *c, struct workqueue *q,
                           const struct object *o) {
    struct round *r = round_new(q, c->env.writer, c->expect, WHO, o->ns, o->name);
    if (r) {
        round_on_done(r, answered, c);
    }
    return r;
}

/* One patch as a whole round; `code` is that of the body. */
static enum work send(struct job_queue_controller *c, struct workqueue *q, const struct object *key,
                      const struct object *o, const char *sub, int code, struct buf *b) {
    struct round *r = code == 0 ? begin(c, q, key) : NULL;
    if (code != 0 && code != ERR_NOT_FOUND) {
        buf_release(b);
        return WORK_RETRY;
    }
    if (code == ERR_NOT_FOUND) {
        buf_release(b);
        return WORK_OK;
    }
    if (r) {
        round_patch(r, o->kind, o->ns, o->name, sub, PATCH_MERGE, buf_view(b));
    }
    buf_release(b);
    return r ? round_end(r) : WORK_RETRY;
}

static enum work send_change(struct pair *p, struct workload_change *ch) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = workload_change_write(ch, &b);
    return send(p->c, p->c->queue, p->obj, p->wl_obj, "status", code, &b);
}

static void start_change(struct pair *p, struct workload_change *ch) {
    workload_change_init(ch, p->wl_obj, &p->wl, &p->c->arena, clock_wall(p->c->env.clock));
    ch->settings = p->c->settings;
}

static enum work drop_finalizer(struct job_queue_controller *c, struct workqueue *q,
                                const struct object *key, const struct object *wl) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = wl->n_finalizers ? write_without_finalizer(wl, KUEUE_FINALIZER, &c->arena, &b)
                                : ERR_NOT_FOUND;
    return send(c, q, key, wl, "", code, &b);
}

static enum work remove_workload(struct pair *p, const struct object *wl) {
    struct round *r = begin(p->c, p->c->queue, p->obj);
    if (!r) {
        return WORK_RETRY;
    }
    struct delete_options o = {
        .uid = wl->uid, .grace_seconds = -1, .propagation = STR("Background")};
    round_remove(r, wl->kind, wl->ns, wl->name, &o);
    recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "DeletedWorkload",
                   "Deleted not matching Workload: %.*s/%.*s", STR_ARG(wl->ns), STR_ARG(wl->name));
    return round_end(r);
}

/* ---- the steps ---- */

static enum work finish(struct pair *p) {
    if (p->wl_finished) {
        return drop_finalizer(p->c, p->c->queue, p->obj, p->wl_obj);
    }
    struct workload_change ch;
    bool good = job_condition_true(&p->job, "Complete");
    const struct condition *end = job_condition(&p->job, good ? "Complete" : "Failed");
    start_change(p, &ch);
    workload_change_set(&ch, "Finished", true, good ? "Succeeded" : "Failed", end->message);
    recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "FinishedWorkload",
                   "Workload '%.*s/%.*s' is declared finished", STR_ARG(p->wl_obj->ns),
                   STR_ARG(p->wl_obj->name));
    return send_change(p, &ch);
}

static enum work stop(struct pair *p, struct str message) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"suspend\":true}}",
          (unsigned long long)p->obj->rv);
    recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "Stopped", "%.*s", STR_ARG(message));
    return send(p->c, p->c->queue, p->obj, p->obj, "", buf_ok(&b), &b);
}

/* Takes the injected parts out. A started Job's template may not change, so the start is forgotten first. */
static enum work restore(struct pair *p) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    if (p->job.status && p->job.status->start_ns) {
        buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"startTime\":null}}",
              (unsigned long long)p->obj->rv);
        return send(p->c, p->c->queue, p->obj, p->obj, "status", buf_ok(&b), &b);
    }
    int code = job_workload_restore(p->obj, p->tree, p->wl_tree, &p->c->arena, &b);
    return send(p->c, p->c->queue, p->obj, p->obj, "", code, &b);
}

static enum work create(struct pair *p) {
    struct job_queue_controller *c = p->c;
    struct workload_priority prio;
    struct str missing, label = object_label(p->obj, STR(KUEUE_PRIORITY_LABEL));
    const struct pod_template *t = p->job.spec->template;
    struct str pod_class = t && t->spec ? t->spec->priority_class_name : STR("");
    if (workload_priority_resolve(c->env.mirror, label, pod_class, &prio, &missing) != 0) {
        if (!str_empty(label)) {
            recorder_event(c->recorder, p->obj, EVENT_WARNING, "WorkloadPriorityClassNotFound",
                           "WorkloadPriorityClass \"%.*s\" not found", STR_ARG(missing));
        } else {
            recorder_event(c->recorder, p->obj, EVENT_WARNING, "ErrWorkloadCompose",
                           "PriorityClass \"%.*s\" not found", STR_ARG(missing));
        }
        return WORK_RETRY;
    }
    struct buf b;
    buf_init(&b, BODY_MAX);
    struct round *r = NULL;
    if (job_workload_write(p->obj, p->tree, &p->job, &prio, c->settings, &c->arena, &b) == 0) {
        r = begin(c, c->queue, p->obj);
    }
    if (r) {
        struct str name = workload_name("Job", "batch", p->obj->name, p->obj->uid, &c->arena);
        round_create(r, c->workloads, p->obj->ns, buf_view(&b));
        recorder_event(c->recorder, p->obj, EVENT_NORMAL, "CreatedWorkload",
                       "Created Workload: %.*s/%.*s", STR_ARG(p->obj->ns), STR_ARG(name));
    }
    buf_release(&b);
    return r ? round_end(r) : WORK_RETRY;
}

static enum work update_in_place(struct pair *p) {
    struct buf b;
    int32_t limit = job_workload_limit(&p->job), least = job_workload_least(&p->job);
    buf_init(&b, BODY_MAX);
    buf_f(&b,
          "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"podSets\":[{\"name\":\"main\","
          "\"count\":%d,",
          (unsigned long long)p->wl_obj->rv, job_workload_count(&p->job));
    if (least > 0) {
        buf_f(&b, "\"minCount\":%d,", least);
    }
    buf_c(&b, "\"template\":");
    json_write(&b, json_path(p->tree, "spec.template"));
    buf_f(&b,
          limit > 0 ? "}],\"maximumExecutionTimeSeconds\":%d}}"
                    : "}],\"maximumExecutionTimeSeconds\":null}}",
          limit);
    recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated not matching Workload for suspended job: %.*s/%.*s",
                   STR_ARG(p->wl_obj->ns), STR_ARG(p->wl_obj->name));
    return send(p->c, p->c->queue, p->obj, p->wl_obj, "", buf_ok(&b), &b);
}

static enum work mismatch(struct pair *p) {
    if (!p->suspended) {
        return stop(
            p, STR("No matching Workload; restoring pod templates according to existent Workload"));
    }
    return p->reserved ? remove_workload(p, p->wl_obj) : update_in_place(p);
}

static enum work start(struct pair *p) {
    struct buf b;
    struct err err = {0};
    buf_init(&b, BODY_MAX);
    int code = job_workload_start(p->obj, p->tree, &p->job, &p->wl, p->c->env.mirror,
                                  p->c->settings, &p->c->arena, &b, &err);
    if (code == ERR_CONFLICT) {
        struct workload_change ch;
        buf_release(&b);
        start_change(p, &ch);
        workload_change_set(&ch, "Finished", true, "FailedToStart", str_of(err.text));
        return send_change(p, &ch);
    }
    if (code != 0) {
        buf_release(&b);
        return WORK_RETRY; /* a flavor that is not in the mirror yet, or memory */
    }
    recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "Started", "Admitted by clusterQueue %.*s",
                   STR_ARG(p->wl.status->admission->cluster_queue));
    return send(p->c, p->c->queue, p->obj, p->obj, "", 0, &b);
}

static enum work release(struct pair *p) {
    struct workload_change ch;
    start_change(p, &ch);
    workload_change_release(&ch);
    if (p->c->settings->ready.on) {
        job_ready_set(&ch, false, false);
    }
    return send_change(p, &ch);
}

/* ---- what the Workload takes over from its Job ---- */

/* False WaitForStart is written with the admission; here is what comes after. */
static enum work sync_ready(struct pair *p) {
    struct workload_change ch;
    start_change(p, &ch);
    job_ready_set(&ch, true, job_pods_ready(&p->job));
    return send_change(p, &ch);
}

static enum work sync_annotations(struct pair *p) {
    struct buf b;
    struct str had = {0}, now = {0};
    bool gates;
    buf_init(&b, BODY_MAX);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"annotations\":{",
          (unsigned long long)p->wl_obj->rv);
    if (!job_annotations_write(&p->job, &p->wl.metadata->annotations, &b)) {
        buf_release(&b);
        return WORK_OK;
    }
    buf_c(&b, "}}}");
    had = json_str(
        json_get(json_path(p->wl_tree, "metadata.annotations"), STR(KUEUE_GATED_ANNOTATION)));
    now =
        json_str(json_get(json_path(p->tree, "metadata.annotations"), STR(KUEUE_GATED_ANNOTATION)));
    gates = !str_eq(had, now);
    if (gates) {
        recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                       "Updated workload AdmissionGatedBy to \"%.*s\"", STR_ARG(now));
    }
    return send(p->c, p->c->queue, p->obj, p->wl_obj, "", buf_ok(&b), &b);
}

/* The class may be another one at any time; while quota is held it stays a WorkloadPriorityClass. */
static enum work sync_priority_class(struct pair *p) {
    struct str label = object_label(p->obj, STR(KUEUE_PRIORITY_LABEL)), missing;
    const struct priority_class_ref *ref = p->wl.spec->priority_class_ref;
    struct workload_priority prio;
    bool of_kueue = ref && str_is(ref->group, "kueue.x-k8s.io");
    if (str_empty(label) || (of_kueue && str_eq(ref->name, label)) || (p->reserved && !of_kueue) ||
        workload_priority_resolve(p->c->env.mirror, label, STR(""), &prio, &missing) != 0) {
        return WORK_OK;
    }
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_f(&b,
          "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"priority\":%d,"
          "\"priorityClassRef\":{\"group\":\"%s\",\"kind\":\"%s\",\"name\":",
          (unsigned long long)p->wl_obj->rv, prio.value, prio.group, prio.kind);
    buf_json(&b, prio.name);
    buf_c(&b, "}}}");
    recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated workload priority class: %.*s/%.*s", STR_ARG(p->wl_obj->ns),
                   STR_ARG(p->wl_obj->name));
    return send(p->c, p->c->queue, p->obj, p->wl_obj, "", buf_ok(&b), &b);
}

/* A Job that was deactivated here goes when its time is over; true when it went. */
static bool expired(struct pair *p, enum work *ret) {
    int64_t keep = p->c->settings->keep_deactivated_ns;
    const struct condition *e =
        p->wl.status ? conditions_find(&p->wl.status->conditions, "Evicted") : NULL;
    if (keep < 0 || !p->evicted || !str_starts(e->reason, STR("DeactivatedDueTo")) ||
        !p->wl.spec->active.set || p->wl.spec->active.v) {
        return false;
    }
    int64_t left = e->last_transition_ns + keep - clock_wall(p->c->env.clock);
    if (left > 0) {
        workqueue_add_after(p->c->queue, p->obj->ns, p->obj->name, left);
        return false;
    }
    struct round *r = begin(p->c, p->c->queue, p->obj);
    struct delete_options o = {
        .uid = p->obj->uid, .grace_seconds = -1, .propagation = STR("Background")};
    if (r) {
        round_remove(r, p->obj->kind, p->obj->ns, p->obj->name, &o);
        recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "Deleted",
                       "Deleted job: deactivation retention period expired");
    }
    *ret = r ? round_end(r) : WORK_RETRY;
    return true;
}

/* Each writes at most once; the next look goes on. */
static enum work take_over(struct pair *p) {
    static enum work (*const steps[])(struct pair *) = {sync_annotations, sync_priority_class};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        enum work w = steps[i](p);
        if (w != WORK_OK) {
            return w;
        }
    }
    return WORK_OK;
}

static enum work sync_queue_name(struct pair *p) {
    struct str want = object_label(p->obj, STR(KUEUE_QUEUE_LABEL));
    if (p->reserved || str_eq(p->wl.spec->queue_name, want)) {
        return WORK_OK;
    }
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"queueName\":",
          (unsigned long long)p->wl_obj->rv);
    buf_json(&b, want);
    buf_c(&b, "}}");
    return send(p->c, p->c->queue, p->obj, p->wl_obj, "", buf_ok(&b), &b);
}

static enum work sync_reclaimable(struct pair *p) {
    const struct workload_status *s = p->wl.status;
    int32_t had = s && s->reclaimable_pods.n ? s->reclaimable_pods.v[0].count : 0;
    int32_t now = job_workload_reclaimable(&p->job, &p->c->arena);
    if (!p->reserved || now <= had || !p->c->settings->gates.reclaimable_pods) {
        return WORK_OK; /* it may only grow while quota is held */
    }
    struct workload_change ch;
    start_change(p, &ch);
    ch.reclaimable = now;
    ch.changed = true;
    return send_change(p, &ch);
}

/* Suspended, with quota, not admitted yet: what it waits for. */
static enum work tell_checks(struct pair *p) {
    struct str text = job_pending_checks(&p->wl, &p->c->arena);
    if (!str_empty(text)) {
        recorder_event(p->c->recorder, p->obj, EVENT_NORMAL, "UpdatedAdmissionCheck", "%.*s",
                       STR_ARG(text));
    }
    return WORK_OK;
}

/* The Job has a Workload that is neither finished nor being deleted, and the Job goes on. */
static enum work follow(struct pair *p) {
    enum work w;
    if (!job_workload_matches(p->tree, &p->job, p->wl_tree, &p->wl, p->reserved)) {
        return mismatch(p);
    }
    if (!p->suspended && (p->evicted || !p->admitted)) {
        const struct condition *e =
            p->evicted ? conditions_find(&p->wl.status->conditions, "Evicted") : NULL;
        return stop(p, e ? e->message : STR(STOP_NOT_ADMITTED));
    }
    if (expired(p, &w)) {
        return w;
    }
    w = take_over(p);
    if (w == WORK_OK && !p->suspended) {
        w = p->c->settings->ready.on ? sync_ready(p) : WORK_OK;
        return w == WORK_OK ? sync_reclaimable(p) : w;
    }
    if (w != WORK_OK) {
        return w;
    }
    /* What an earlier admission put in goes first, also when there is a new one: its flavors may be others. */
    if (job_workload_injected(&p->job, &p->wl)) {
        return restore(p);
    }
    if (p->admitted && !p->evicted) {
        return start(p);
    }
    if (p->evicted && p->reserved) {
        return p->idle ? release(p) : WORK_OK;
    }
    return p->reserved ? tell_checks(p) : sync_queue_name(p);
}

/* The Workload is being deleted: it goes once nothing of the Job runs, alone or with the Job. */
static enum work give_up(struct pair *p) {
    if (!p->obj->deleting_ns && !p->suspended) {
        return stop(p, STR("Workload is deleted"));
    }
    if (!p->obj->deleting_ns && job_workload_injected(&p->job, &p->wl)) {
        return restore(p);
    }
    if (p->idle) {
        return drop_finalizer(p->c, p->c->queue, p->obj, p->wl_obj);
    }
    if (p->obj->deleting_ns) {
        workqueue_add_after(p->c->queue, p->obj->ns, p->obj->name, POLL_MS * NS_PER_MS);
    }
    return WORK_OK;
}

static enum work step(struct pair *p) {
    if (!p->wl_obj) {
        if (p->finished || p->obj->deleting_ns) {
            return WORK_OK;
        }
        if (!p->suspended) {
            return stop(p, STR("missing workload"));
        }
        return p->idle ? create(p) : WORK_OK;
    }
    if (p->extra) {
        return remove_workload(p, p->extra);
    }
    if (p->finished || p->wl_finished) {
        return p->finished ? finish(p) : WORK_OK;
    }
    return p->wl_obj->deleting_ns ? give_up(p) : follow(p);
}

static enum work sync_job(void *ctx, struct str ns, struct str name) {
    struct job_queue_controller *c = ctx;
    struct pair p = {.c = c, .obj = mirror_get(c->env.mirror, c->jobs, ns, name)};
    struct err err = {0};
    int64_t wait;
    if (!p.obj || !managed(c, p.obj)) {
        return WORK_OK;
    }
    if (!expect_met(c->expect, ns, name, &wait)) {
        workqueue_add_after(c->queue, ns, name, wait);
        return WORK_OK;
    }
    enum work w = WORK_RETRY;
    if (see(&p, &err) == 0) {
        w = step(&p);
    } else {
        log_error(c->env.log, "job %.*s/%.*s: %s", STR_ARG(ns), STR_ARG(name), err.text);
    }
    arena_reset(&c->arena);
    return w;
}

/* A Workload whose Job is gone: it is finished, and once it is being deleted nothing holds it. */
static enum work let_go(struct job_queue_controller *c, const struct object *wl) {
    struct workload w;
    yyjson_doc *d;
    struct workload_change ch;
    struct buf b;
    if (wl->deleting_ns) {
        return drop_finalizer(c, c->orphaned, wl, wl);
    }
    if (object_tree(wl, &c->arena, &d, NULL) != 0 ||
        codec_decode(&schema_workload, yyjson_doc_get_root(d), &c->arena, &w, NULL) != 0) {
        return WORK_RETRY;
    }
    if (w.status && conditions_true(&w.status->conditions, "Finished")) {
        return WORK_OK;
    }
    workload_change_init(&ch, wl, &w, &c->arena, clock_wall(c->env.clock));
    workload_change_set(&ch, "Finished", true, "OwnerNotFound",
                        STR("The workload's owner does not exist"));
    buf_init(&b, BODY_MAX);
    int code = workload_change_write(&ch, &b);
    return send(c, c->orphaned, wl, wl, "status", code, &b);
}

static enum work sync_orphaned(void *ctx, struct str ns, struct str name) {
    struct job_queue_controller *c = ctx;
    const struct object *wl = mirror_get(c->env.mirror, c->workloads, ns, name);
    if (!wl) {
        return WORK_OK;
    }
    const struct owner_ref *o = job_owner(wl);
    bool ours = o || (c->settings->gates.finish_orphaned_workloads && !wl->n_owners &&
                      !str_empty(object_label(wl, STR(KUEUE_JOB_UID_LABEL))));
    if (o && mirror_by_uid(c->env.mirror, o->uid)) {
        workqueue_add(c->queue, ns, o->name);
        return WORK_OK;
    }
    /* Of a Workload that somebody made by hand only a deletion is followed. */
    enum work w = ours || (!wl->n_owners && wl->deleting_ns) ? let_go(c, wl) : WORK_OK;
    arena_reset(&c->arena);
    return w;
}

/* ---- life ---- */

struct job_queue_controller *job_queue_controller_new(const struct control_env *env,
                                                      struct err *err) {
    struct job_queue_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->env = *env;
    c->settings = env->settings ? env->settings : queue_settings_defaults();
    c->namespaces = kind_by_name(STR(""), STR("Namespace"));
    c->jobs = kind_by_name(STR("batch"), STR("Job"));
    c->workloads = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    c->pods = kind_by_name(STR(""), STR("Pod"));
    arena_init(&c->arena, SYNC_ARENA);
    c->queue = workqueue_new(&(struct workqueue_options){
        .clock = env->clock, .work = sync_job, .resync = add_all, .ctx = c});
    c->orphaned = workqueue_new(&(struct workqueue_options){
        .clock = env->clock, .work = sync_orphaned, .resync = add_all, .ctx = c});
    c->expect = expect_new(env->mirror, env->clock);
    c->recorder = recorder_new(env, "kueue-job-controller");
    c->job_feed = mirror_feed(env->mirror, c->jobs, job_changed, c);
    c->workload_feed = mirror_feed(env->mirror, c->workloads, workload_changed, c);
    if (!c->queue || !c->orphaned || !c->expect || !c->recorder || !c->job_feed ||
        !c->workload_feed) {
        job_queue_controller_free(c);
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    add_all(c);
    return c;
}

void job_queue_controller_free(struct job_queue_controller *c) {
    if (!c) {
        return;
    }
    if (c->job_feed) {
        feed_free(c->job_feed);
    }
    if (c->workload_feed) {
        feed_free(c->workload_feed);
    }
    workqueue_free(c->queue);
    workqueue_free(c->orphaned);
    expect_free(c->expect);
    recorder_free(c->recorder);
    arena_release(&c->arena);
    mem_free(c);
}

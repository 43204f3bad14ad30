/* job_queue_steps: the steps of reconciling a Job and its Workload. Each step writes at most once. */
#include "control/hold/job_queue_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "control/kit/edit.h"

#define STOP_NOT_ADMITTED "Not admitted by cluster queue"
#define STOP_NO_MATCH "No matching Workload; restoring pod templates according to existent Workload"

/* ---- writing ---- */

static enum work send_object(struct pair *p, const char *sub, int code, struct buf *b) {
    return controller_patch(&p->c->base, p->obj, sub, code, b);
}

static enum work remove_workload(struct pair *p, const struct object *wl) {
    hold_tell_removed(&p->h, wl);
    return controller_remove(&p->c->base, wl);
}

static enum work look_again(struct pair *p, int64_t ms) {
    workqueue_look(p->c->base.queue, p->c->base.key, ms * NS_PER_MS);
    return WORK_OK;
}

/* ---- stop ---- */

static bool fixed(const struct pair *p) {
    return p->lane->row->flags & INTEGRATION_TEMPLATE_FIXED;
}

/* Held back again, with what it was given taken out in the same write where its API allows. */
static enum work stop(struct pair *p, struct str message) {
    struct buf b;
    bool later = fixed(p) || (p->lane->row->flags & INTEGRATION_APART);
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = job_look_stop(&p->look, later || p->h.wl_obj == NULL ? NULL : p->was, &b);
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "Stopped", "%.*s", STR_ARG(message));
    return send_object(p, "", code, &b);
}

/* A started Job's template may not change: before it does, the start is forgotten. */
static bool is_fixed_now(const struct pair *p) {
    return fixed(p) && json_path(p->look.tree, "status.startTime");
}

static enum work forget_start(struct pair *p) {
    struct job job, want;
    struct job_status status;
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = codec_decode(&schema_job, p->look.tree, &p->c->base.arena, &job, NULL);
    if (code == 0) {
        want = job;
        status = *job.status;
        status.start_ns = 0;
        want.status = &status;
        code = edit_write(p->obj, EDIT_VERSION, &job, &want, &b);
    }
    return send_object(p, "status", code, &b);
}

/* Takes the injected parts out. */
static enum work restore(struct pair *p) {
    struct buf b;
    if ((p->lane->row->flags & INTEGRATION_APART) && !p->idle) {
        return WORK_OK; /* its status will say */
    }
    if (is_fixed_now(p)) {
        return forget_start(p);
    }
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = job_look_stop(&p->look, p->was, &b);
    return send_object(p, "", code, &b);
}

/* ---- a Workload is made ---- */

static enum work tell_unclear(struct pair *p) {
    recorder_event(p->c->base.recorder, p->obj, EVENT_WARNING, "ErrWorkloadCompose", "%s",
                   p->unclear ? p->err.text : "no pod sets");
    return look_again(p, JOB_QUEUE_AGAIN_MS);
}

static void tell_created(struct pair *p) {
    const struct integration *row = p->lane->row;
    struct str name = p->elastic ? job_slice_name(&p->look)
                                 : workload_name(row->is->kind, row->is->group, p->obj->name,
                                                 p->obj->uid, &p->c->base.arena);
    hold_tell_created(&p->h, name);
}

enum work job_queue_create(struct pair *p, const struct job_slice *prior) {
    struct workload_priority prio;
    struct buf b;
    struct round *r = NULL;
    if (p->unclear || p->look.n_parts == 0) {
        return tell_unclear(p);
    }
    if (hold_priority(&p->h, job_look_priority_class(&p->look), &prio) != 0) {
        return WORK_RETRY;
    }
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = p->elastic ? job_slice_write(&p->look, prior, &prio, &b)
                          : job_workload_write(&p->look, &prio, NULL, &b);
    if (code == 0) {
        r = controller_begin(&p->c->base);
    }
    if (r) {
        round_create(r, p->c->workloads, p->obj->ns, buf_view(&b));
        tell_created(p);
    }
    buf_release(&b);
    return r ? round_end(r) : WORK_RETRY;
}

static enum work without_workload(struct pair *p) {
    if (p->finished || p->obj->deleting_ns) {
        return WORK_OK;
    }
    if (!p->suspended) {
        return stop(p, STR("missing workload"));
    }
    if (p->lane->row->on_hold && p->lane->row->on_hold(&p->look)) {
        return WORK_OK;
    }
    if (!str_empty(p->prebuilt)) {
        return look_again(p, JOB_QUEUE_AGAIN_MS);
    }
    return p->idle ? job_queue_create(p, NULL) : WORK_OK;
}

/* ---- a Workload that does not fit ---- */

static enum work update_in_place(struct pair *p) {
    struct workload_draft was, want;
    struct workload_draft_spec spec;
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = workload_draft_read(p->h.wl_tree, &p->c->base.arena, &was);
    if (code == 0) {
        int32_t limit = workload_time_limit(object_label(p->obj, STR(KUEUE_MAX_TIME_LABEL)));
        spec = *was.spec;
        spec.maximum_execution_time_seconds = (struct opt_i32){limit > 0, limit};
        want = (struct workload_draft){was.metadata, &spec};
        code = job_workload_pod_sets(&p->look, &spec.pod_sets);
        code = code ? code : workload_draft_patch(p->h.wl_obj, EDIT_VERSION, &was, &want, &b);
    }
    hold_tell_updated(&p->h);
    return controller_patch(&p->c->base, p->h.wl_obj, "", code, &b);
}

static enum work mismatch(struct pair *p) {
    if (!str_empty(p->prebuilt)) {
        return hold_end(&p->h, "OutOfSync",
                        STR("The prebuilt workload is out of sync with its user job"));
    }
    if (!p->suspended) {
        return stop(p, STR(STOP_NO_MATCH));
    }
    return p->h.reserved ? remove_workload(p, p->h.wl_obj) : update_in_place(p);
}

/* A Workload that was made beforehand becomes this object's. */
static enum work adopt(struct pair *p) {
    struct arena *a = &p->c->base.arena;
    struct meta meta = *p->h.wl.metadata;
    int code = meta_set(&meta.labels, a, KUEUE_JOB_UID_LABEL, p->obj->uid);
    return hold_remeta(&p->h, code ? code : job_workload_own(&meta, a, p->obj), &meta);
}

/* ---- start ---- */

static enum work start(struct pair *p) {
    struct podset_info *infos = NULL;
    struct err err = {0};
    struct buf b;
    const struct podset_ask q = {.wl_obj = p->h.wl_obj,
                                 .wl = &p->h.wl,
                                 .mirror = p->c->base.env.mirror,
                                 .settings = p->c->settings,
                                 .arena = &p->c->base.arena};
    if (is_fixed_now(p)) { /* it ran before it was held back */
        return forget_start(p);
    }
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = podset_infos_admitted(&q, p->look.n_parts, &infos, &err);
    code = code ? code : job_look_start(&p->look, infos, p->look.n_parts, &b, &err);
    if (code == ERR_CONFLICT) {
        buf_release(&b);
        return hold_end(&p->h, "FailedToStart", str_of(err.text));
    }
    if (code != 0) {
        buf_release(&b);
        return WORK_RETRY; /* a flavor that is not in the mirror yet, or memory */
    }
    if (str_contains(buf_view(&b), STR("\"suspend\":false"))) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "Started",
                       "Admitted by clusterQueue %.*s",
                       STR_ARG(p->h.wl.status->admission->cluster_queue));
    }
    return send_object(p, "", 0, &b);
}

/* ---- what the Workload takes over from its object ---- */

static enum work release(struct pair *p) {
    struct workload_change ch;
    hold_change_init(&p->h, &ch);
    workload_change_release(&ch);
    if (p->c->settings->ready.on) {
        workload_change_ready(&ch, false, false);
    }
    return hold_change(&p->h, &ch);
}

/* False WaitForStart is written with the admission; here is what comes after. */
static enum work sync_ready(struct pair *p) {
    return hold_ready(&p->h, true, job_look_ready(&p->look));
}

static enum work sync_annotations(struct pair *p) {
    struct arena *a = &p->c->base.arena;
    struct meta meta = *p->h.wl.metadata, *now;
    struct buf b;
    int code = edit_meta_of(p->look.tree, a, &now);
    code =
        code ? code : workload_annotations_follow(&now->annotations, false, a, &meta.annotations);
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    code = code ? code : edit_write_meta(p->h.wl_obj, EDIT_VERSION, p->h.wl.metadata, &meta, &b);
    struct str gates = code == 0 ? meta_annotation(now, KUEUE_GATED_ANNOTATION) : STR("");
    if (code == 0 && !str_eq(meta_annotation(p->h.wl.metadata, KUEUE_GATED_ANNOTATION), gates)) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                       "Updated workload AdmissionGatedBy to \"%.*s\"", STR_ARG(gates));
    }
    return controller_patch(&p->c->base, p->h.wl_obj, "", code, &b);
}

/* The class may be another one at any time. */
static enum work sync_priority_class(struct pair *p) {
    struct str label = object_label(p->obj, STR(KUEUE_PRIORITY_LABEL)), missing;
    struct workload_priority prio;
    if (!hold_wants_class(&p->h)) {
        return WORK_OK;
    }
    int code = workload_priority_resolve(p->c->base.env.mirror, label, STR(""), &prio, &missing);
    if (code == ERR_NOT_FOUND) {
        return look_again(p, JOB_QUEUE_AGAIN_MS);
    }
    if (code != 0) {
        return WORK_RETRY;
    }
    struct workload_spec spec = *p->h.wl.spec;
    spec.priority = (struct opt_i32){true, prio.value};
    spec.priority_class_ref = workload_class_ref(&prio, &p->c->base.arena);
    if (spec.priority_class_ref == NULL) {
        return WORK_RETRY;
    }
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated workload priority class: %.*s/%.*s", STR_ARG(p->h.wl_obj->ns),
                   STR_ARG(p->h.wl_obj->name));
    return hold_respec(&p->h, &spec);
}

static enum work sync_queue_name(struct pair *p) {
    struct str want = object_label(p->obj, STR(KUEUE_QUEUE_LABEL));
    if (p->h.reserved || str_eq(p->h.wl.spec->queue_name, want)) {
        return WORK_OK;
    }
    struct workload_spec spec = *p->h.wl.spec;
    spec.queue_name = want;
    return hold_respec(&p->h, &spec);
}

/* It may only grow while quota is held. */
static enum work sync_reclaimable(struct pair *p) {
    struct arena *a = &p->c->base.arena;
    bool more = false;
    size_t n = 0;
    if (!p->h.reserved || p->lane->row->reclaimable == NULL ||
        !p->c->settings->gates.reclaimable_pods) {
        return WORK_OK;
    }
    struct reclaimable_pod *v = ARENA_ARRAY(a, struct reclaimable_pod, p->look.n_parts + 1);
    for (size_t i = 0; v && i < p->look.n_parts; i++) {
        int64_t had = hold_reclaimed(&p->h, p->look.parts[i].name);
        int64_t now = job_look_reclaimable(&p->look, i);
        more = more || now > had;
        now = now > had ? now : had;
        now = p->elastic && now > p->look.parts[i].count ? p->look.parts[i].count : now;
        if (now > 0) {
            v[n++] = (struct reclaimable_pod){p->look.parts[i].name, (int32_t)now};
        }
    }
    if (v == NULL) {
        return WORK_RETRY;
    }
    return more ? hold_reclaim(&p->h, v, n) : WORK_OK;
}

/* Suspended, with quota, not admitted yet: what it waits for. */
static enum work tell_checks(struct pair *p) {
    struct str text = workload_pending_checks(&p->h.wl, &p->c->base.arena);
    if (!str_empty(text)) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedAdmissionCheck", "%.*s",
                       STR_ARG(text));
    }
    return WORK_OK;
}

/* What was deactivated here goes when its time is over. */
static enum work expire(struct pair *p) {
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "Deleted",
                   "Deleted job: deactivation retention period expired");
    return controller_remove(&p->c->base, p->obj);
}

/* Each writes at most once; the next look goes on. */
static enum work run(struct pair *p, enum work (*const *steps)(struct pair *), size_t n) {
    for (size_t i = 0; i < n; i++) {
        enum work w = steps[i](p);
        if (w != WORK_OK) {
            return w;
        }
    }
    return WORK_OK;
}

/* ---- the steps ---- */

static enum work finish(struct pair *p) {
    return p->h.wl_finished
               ? hold_drop_finalizer(&p->h, p->h.wl_obj)
               : hold_finish(&p->h, p->end.good ? "Succeeded" : "Failed", p->end.message);
}

static enum work hold(struct pair *p) {
    return p->h.reserved ? hold_unset(&p->h, "OnHold", STR("Job is on hold")) : WORK_OK;
}

/* It was on hold and can run now: it waits for quota again. */
static enum work let_queue(struct pair *p) {
    return hold_unset(&p->h, "PendingEvaluation",
                      STR("Workload no longer on hold; waiting for quota reservation"));
}

static bool injected(const struct pair *p) {
    return job_look_injected(&p->look, p->was);
}

static enum work follow_suspended(struct pair *p) {
    bool goes = p->h.admitted && !p->h.evicted;
    /* What an earlier admission put in goes first, also when there is a new one: its flavors may be others. */
    if (!(goes && (p->lane->row->flags & INTEGRATION_APART)) && injected(p)) {
        return restore(p);
    }
    if (goes) {
        return start(p);
    }
    if (p->h.evicted && p->h.reserved) {
        return p->idle ? release(p) : WORK_OK;
    }
    return p->h.reserved ? tell_checks(p) : sync_queue_name(p);
}

/* One that grew goes on with the pods that it had while checks of the new Workload are not ready. */
static bool may_run(const struct pair *p) {
    yyjson_val *notes = json_path(p->h.wl_tree, "metadata.annotations");
    return p->h.admitted ||
           (p->elastic && p->h.reserved && json_get(notes, STR(KUEUE_SLICE_REPLACES)));
}

/* It has a Workload that is neither finished nor being deleted, and it goes on. */
static enum work follow(struct pair *p) {
    static enum work (*const always[])(struct pair *) = {sync_annotations, sync_priority_class};
    static enum work (*const running[])(struct pair *) = {job_queue_ungate, sync_ready,
                                                          sync_reclaimable};
    enum work w;
    if (p->unclear) {
        return tell_unclear(p);
    }
    if (p->elastic ? !job_queue_resize(p, &w)
                   : !job_workload_matches(&p->look, p->h.wl_tree, &p->h.wl, p->h.reserved)) {
        return mismatch(p);
    }
    if (p->elastic && w != WORK_OK) {
        return w;
    }
    if (!p->suspended && (p->h.evicted || !may_run(p))) {
        const struct condition *e =
            p->h.evicted ? conditions_find(&p->h.wl.status->conditions, "Evicted") : NULL;
        return stop(p, e ? e->message : STR(STOP_NOT_ADMITTED));
    }
    if (hold_is_expired(&p->h)) {
        return expire(p);
    }
    w = run(p, always, sizeof always / sizeof *always);
    if (w == WORK_OK && p->slices.next.obj) {
        struct pair next = *p;
        next.h.wl_obj = p->slices.next.obj;
        next.h.wl_tree = p->slices.next.tree;
        next.h.wl = p->slices.next.wl;
        next.h.reserved = false;
        w = run(&next, always, sizeof always / sizeof *always);
    }
    if (w != WORK_OK) {
        return w;
    }
    return p->suspended ? follow_suspended(p) : run(p, running, sizeof running / sizeof *running);
}

/* The Workload is being deleted: it goes once nothing of its object runs, alone or with that. */
static enum work give_up(struct pair *p) {
    if (!p->obj->deleting_ns && !p->suspended) {
        return stop(p, STR("Workload is deleted"));
    }
    if (!p->obj->deleting_ns && injected(p)) {
        return restore(p);
    }
    if (p->idle) {
        return hold_drop_finalizer(&p->h, p->h.wl_obj);
    }
    return p->obj->deleting_ns ? look_again(p, JOB_QUEUE_POLL_MS) : WORK_OK;
}

/* Somebody else ended the Workload (it could not start, or does not fit): it is let go. */
static enum work abandon(struct pair *p) {
    if (!str_empty(p->prebuilt) && !p->suspended) {
        return stop(p, STR("missing workload"));
    }
    return WORK_OK;
}

enum work job_queue_step(struct pair *p) {
    enum work w;
    if (p->elastic && job_queue_slices(p, &w)) {
        return w;
    }
    if (p->h.wl_obj == NULL) {
        return without_workload(p);
    }
    if (p->extra) {
        return remove_workload(p, p->extra);
    }
    if (p->finished) {
        return finish(p);
    }
    if (p->h.wl_finished) {
        return abandon(p);
    }
    if (p->h.wl_obj->deleting_ns) {
        return give_up(p);
    }
    if (p->lane->row->on_hold && p->lane->row->on_hold(&p->look)) {
        return hold(p);
    }
    if (p->lane->row->on_hold && hold_is_on_hold(&p->h)) {
        return let_queue(p);
    }
    return !str_empty(p->prebuilt) && object_controller(p->h.wl_obj) == NULL ? adopt(p) : follow(p);
}

enum work job_queue_child(struct pair *p, const struct object *ancestor) {
    const struct object *wl;
    struct workload w;
    yyjson_doc *d;
    if (p->finished || p->suspended || p->obj->deleting_ns) {
        return WORK_OK;
    }
    wl = integration_workload(p->c->base.env.mirror, ancestor);
    if (wl && (object_tree(wl, &p->c->base.arena, &d, NULL) != 0 ||
               codec_decode(&schema_workload, yyjson_doc_get_root(d), &p->c->base.arena, &w,
                            NULL) != 0)) {
        return WORK_RETRY;
    }
    if (wl && w.status && conditions_true(&w.status->conditions, "Admitted")) {
        return WORK_OK;
    }
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = job_look_stop(&p->look, NULL, &b);
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "Suspended",
                   "Kueue managed child job suspended");
    return send_object(p, "", code, &b);
}

enum work job_queue_let_go(struct job_queue_controller *c, const struct object *wl) {
    struct hold_look h = {.c = &c->base, .settings = c->settings, .wl_obj = wl};
    if (wl->deleting_ns) {
        return hold_drop_finalizer(&h, wl);
    }
    if (hold_see(&h, NULL) != 0) {
        return WORK_RETRY;
    }
    return h.wl_finished
               ? WORK_OK
               : hold_end(&h, "OwnerNotFound", STR("The workload's owner does not exist"));
}

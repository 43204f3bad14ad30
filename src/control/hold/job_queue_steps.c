/* job_queue_steps: the steps of reconciling a Job and its Workload. Each step writes at most once. */
#include "control/hold/job_queue_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "control/kit/edit.h"

#define STOP_NOT_ADMITTED "Not admitted by cluster queue"
#define STOP_NO_MATCH "No matching Workload; restoring pod templates according to existent Workload"

/* ---- writing ---- */

/* One patch as a whole round; `code` is that of the body. ERR_NOT_FOUND: there is nothing to write. */
static enum work send(struct job_queue_controller *c, const struct object *o, const char *sub,
                      int code, struct buf *b) {
    struct round *r = code == 0 ? controller_begin(&c->base) : NULL;
    enum work w = code == ERR_NOT_FOUND ? WORK_OK : WORK_RETRY;
    if (r) {
        round_patch(r, o->kind, o->ns, o->name, sub, PATCH_MERGE, buf_view(b));
    }
    buf_release(b);
    return r ? round_end(r) : w;
}

static enum work send_object(struct pair *p, const char *sub, int code, struct buf *b) {
    return send(p->c, p->obj, sub, code, b);
}

static enum work send_workload(struct pair *p, const char *sub, int code, struct buf *b) {
    return send(p->c, p->wl_obj, sub, code, b);
}

static enum work send_change(struct pair *p, struct workload_change *ch) {
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = workload_change_write(ch, &b);
    return send_workload(p, "status", code, &b);
}

static void start_change(struct pair *p, struct workload_change *ch) {
    workload_change_init(ch, p->wl_obj, &p->wl, &p->c->base.arena,
                         clock_wall(p->c->base.env.clock));
    ch->settings = p->c->settings;
}

/* The Workload with another spec. */
static enum work send_spec(struct pair *p, struct workload_spec *spec) {
    struct workload want = p->wl;
    struct buf b;
    want.spec = spec;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = edit_write(p->wl_obj, EDIT_VERSION, &p->wl, &want, &b);
    return send_workload(p, "", code, &b);
}

/* The Workload with other metadata; `code` is that of making them. */
static enum work send_meta(struct pair *p, int code, const struct meta *meta) {
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    code = code ? code : edit_write_meta(p->wl_obj, EDIT_VERSION, p->wl.metadata, meta, &b);
    return send_workload(p, "", code, &b);
}

static enum work drop_finalizer(struct job_queue_controller *c, const struct object *wl) {
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = wl->n_finalizers ? edit_drop_finalizer(wl, KUEUE_FINALIZER, &c->base.arena, &b)
                                : ERR_NOT_FOUND;
    return send(c, wl, "", code, &b);
}

static enum work remove_object(struct pair *p, const struct object *o) {
    struct round *r = controller_begin(&p->c->base);
    struct delete_options options = {
        .uid = o->uid, .grace_seconds = -1, .propagation = STR("Background")};
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_remove(r, o->kind, o->ns, o->name, &options);
    return round_end(r);
}

static enum work remove_workload(struct pair *p, const struct object *wl) {
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "DeletedWorkload",
                   "Deleted not matching Workload: %.*s/%.*s", STR_ARG(wl->ns), STR_ARG(wl->name));
    return remove_object(p, wl);
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
    int code = job_look_stop(&p->look, later || p->wl_obj == NULL ? NULL : p->was, &b);
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

static int find_priority(struct pair *p, struct workload_priority *ret) {
    struct job_queue_controller *c = p->c;
    struct str missing, label = object_label(p->obj, STR(KUEUE_PRIORITY_LABEL));
    int r = workload_priority_resolve(c->base.env.mirror, label, job_look_priority_class(&p->look),
                                      ret, &missing);
    if (r == ERR_NOT_FOUND && !str_empty(label)) {
        recorder_event(c->base.recorder, p->obj, EVENT_WARNING, "WorkloadPriorityClassNotFound",
                       "WorkloadPriorityClass \"%.*s\" not found", STR_ARG(missing));
    } else if (r == ERR_NOT_FOUND) {
        recorder_event(c->base.recorder, p->obj, EVENT_WARNING, "ErrWorkloadCompose",
                       "PriorityClass \"%.*s\" not found", STR_ARG(missing));
    }
    return r;
}

static void tell_created(struct pair *p) {
    const struct integration *row = p->lane->row;
    struct str name = p->elastic ? job_slice_name(&p->look)
                                 : workload_name(row->is->kind, row->is->group, p->obj->name,
                                                 p->obj->uid, &p->c->base.arena);
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "CreatedWorkload",
                   "Created Workload: %.*s/%.*s", STR_ARG(p->obj->ns), STR_ARG(name));
}

enum work job_queue_create(struct pair *p, const struct job_slice *prior) {
    struct workload_priority prio;
    struct buf b;
    struct round *r = NULL;
    if (p->unclear || p->look.n_parts == 0) {
        return tell_unclear(p);
    }
    if (find_priority(p, &prio) != 0) {
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
    int code = workload_draft_read(p->wl_tree, &p->c->base.arena, &was);
    if (code == 0) {
        int32_t limit = workload_time_limit(object_label(p->obj, STR(KUEUE_MAX_TIME_LABEL)));
        spec = *was.spec;
        spec.maximum_execution_time_seconds = (struct opt_i32){limit > 0, limit};
        want = (struct workload_draft){was.metadata, &spec};
        code = job_workload_pod_sets(&p->look, &spec.pod_sets);
        code = code ? code : workload_draft_patch(p->wl_obj, EDIT_VERSION, &was, &want, &b);
    }
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated not matching Workload for suspended job: %.*s/%.*s",
                   STR_ARG(p->wl_obj->ns), STR_ARG(p->wl_obj->name));
    return send_workload(p, "", code, &b);
}

static enum work mismatch(struct pair *p) {
    if (!str_empty(p->prebuilt)) {
        struct workload_change ch;
        start_change(p, &ch);
        workload_change_set(&ch, "Finished", true, "OutOfSync",
                            STR("The prebuilt workload is out of sync with its user job"));
        return send_change(p, &ch);
    }
    if (!p->suspended) {
        return stop(p, STR(STOP_NO_MATCH));
    }
    return p->reserved ? remove_workload(p, p->wl_obj) : update_in_place(p);
}

/* A Workload that was made beforehand becomes this object's. */
static enum work adopt(struct pair *p) {
    struct arena *a = &p->c->base.arena;
    struct meta meta = *p->wl.metadata;
    int code = meta_set(&meta.labels, a, KUEUE_JOB_UID_LABEL, p->obj->uid);
    return send_meta(p, code ? code : job_workload_own(&meta, a, p->obj), &meta);
}

/* ---- start ---- */

static enum work fail_to_start(struct pair *p, const struct err *err) {
    struct workload_change ch;
    start_change(p, &ch);
    workload_change_set(&ch, "Finished", true, "FailedToStart", str_of(err->text));
    return send_change(p, &ch);
}

static enum work start(struct pair *p) {
    struct podset_info *infos = NULL;
    struct err err = {0};
    struct buf b;
    const struct podset_ask q = {.wl_obj = p->wl_obj,
                                 .wl = &p->wl,
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
        return fail_to_start(p, &err);
    }
    if (code != 0) {
        buf_release(&b);
        return WORK_RETRY; /* a flavor that is not in the mirror yet, or memory */
    }
    if (str_contains(buf_view(&b), STR("\"suspend\":false"))) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "Started",
                       "Admitted by clusterQueue %.*s",
                       STR_ARG(p->wl.status->admission->cluster_queue));
    }
    return send_object(p, "", 0, &b);
}

/* ---- what the Workload takes over from its object ---- */

static enum work release(struct pair *p) {
    struct workload_change ch;
    start_change(p, &ch);
    workload_change_release(&ch);
    if (p->c->settings->ready.on) {
        workload_change_ready(&ch, false, false);
    }
    return send_change(p, &ch);
}

/* False WaitForStart is written with the admission; here is what comes after. */
static enum work sync_ready(struct pair *p) {
    struct workload_change ch;
    if (!p->c->settings->ready.on) {
        return WORK_OK;
    }
    start_change(p, &ch);
    workload_change_ready(&ch, true, job_look_ready(&p->look));
    return send_change(p, &ch);
}

static enum work sync_annotations(struct pair *p) {
    struct arena *a = &p->c->base.arena;
    struct meta meta = *p->wl.metadata, *now;
    struct buf b;
    int code = edit_meta_of(p->look.tree, a, &now);
    code =
        code ? code : workload_annotations_follow(&now->annotations, false, a, &meta.annotations);
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    code = code ? code : edit_write_meta(p->wl_obj, EDIT_VERSION, p->wl.metadata, &meta, &b);
    struct str gates = code == 0 ? meta_annotation(now, KUEUE_GATED_ANNOTATION) : STR("");
    if (code == 0 && !str_eq(meta_annotation(p->wl.metadata, KUEUE_GATED_ANNOTATION), gates)) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                       "Updated workload AdmissionGatedBy to \"%.*s\"", STR_ARG(gates));
    }
    return send_workload(p, "", code, &b);
}

/* The class may be another one at any time; while quota is held it stays a WorkloadPriorityClass. */
static enum work sync_priority_class(struct pair *p) {
    struct str label = object_label(p->obj, STR(KUEUE_PRIORITY_LABEL)), missing;
    const struct priority_class_ref *ref = p->wl.spec->priority_class_ref;
    struct workload_priority prio;
    bool of_kueue = ref && str_is(ref->group, "kueue.x-k8s.io");
    if (str_empty(label) || (of_kueue && str_eq(ref->name, label)) || (p->reserved && !of_kueue)) {
        return WORK_OK;
    }
    int code = workload_priority_resolve(p->c->base.env.mirror, label, STR(""), &prio, &missing);
    if (code == ERR_NOT_FOUND) {
        return look_again(p, JOB_QUEUE_AGAIN_MS);
    }
    if (code != 0) {
        return WORK_RETRY;
    }
    struct workload_spec spec = *p->wl.spec;
    spec.priority = (struct opt_i32){true, prio.value};
    spec.priority_class_ref = workload_class_ref(&prio, &p->c->base.arena);
    if (spec.priority_class_ref == NULL) {
        return WORK_RETRY;
    }
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated workload priority class: %.*s/%.*s", STR_ARG(p->wl_obj->ns),
                   STR_ARG(p->wl_obj->name));
    return send_spec(p, &spec);
}

static enum work sync_queue_name(struct pair *p) {
    struct str want = object_label(p->obj, STR(KUEUE_QUEUE_LABEL));
    if (p->reserved || str_eq(p->wl.spec->queue_name, want)) {
        return WORK_OK;
    }
    struct workload_spec spec = *p->wl.spec;
    spec.queue_name = want;
    return send_spec(p, &spec);
}

static int32_t reclaimed(const struct workload_status *s, struct str name) {
    for (size_t i = 0; s && i < s->reclaimable_pods.n; i++) {
        if (str_eq(s->reclaimable_pods.v[i].name, name)) {
            return s->reclaimable_pods.v[i].count;
        }
    }
    return 0;
}

/* It may only grow while quota is held. */
static enum work sync_reclaimable(struct pair *p) {
    struct arena *a = &p->c->base.arena;
    struct workload_change ch;
    bool more = false;
    size_t n = 0;
    if (!p->reserved || p->lane->row->reclaimable == NULL ||
        !p->c->settings->gates.reclaimable_pods) {
        return WORK_OK;
    }
    struct reclaimable_pod *v = ARENA_ARRAY(a, struct reclaimable_pod, p->look.n_parts + 1);
    for (size_t i = 0; v && i < p->look.n_parts; i++) {
        int64_t had = reclaimed(p->wl.status, p->look.parts[i].name);
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
    start_change(p, &ch);
    ch.status.reclaimable_pods.v = v;
    ch.status.reclaimable_pods.n = n;
    return more ? send_change(p, &ch) : WORK_OK;
}

/* Suspended, with quota, not admitted yet: what it waits for. */
static enum work tell_checks(struct pair *p) {
    struct str text = workload_pending_checks(&p->wl, &p->c->base.arena);
    if (!str_empty(text)) {
        recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedAdmissionCheck", "%.*s",
                       STR_ARG(text));
    }
    return WORK_OK;
}

/* What was deactivated here goes when its time is over; true when it went. */
static bool expired(struct pair *p, enum work *ret) {
    int64_t keep = p->c->settings->keep_deactivated_ns;
    const struct condition *e =
        p->wl.status ? conditions_find(&p->wl.status->conditions, "Evicted") : NULL;
    if (keep < 0 || !p->evicted || !str_starts(e->reason, STR("DeactivatedDueTo")) ||
        !p->wl.spec->active.set || p->wl.spec->active.v) {
        return false;
    }
    int64_t left = e->last_transition_ns + keep - clock_wall(p->c->base.env.clock);
    if (left > 0) {
        workqueue_look(p->c->base.queue, p->c->base.key, left);
        return false;
    }
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "Deleted",
                   "Deleted job: deactivation retention period expired");
    *ret = remove_object(p, p->obj);
    return true;
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

/* ---- what other files write with ---- */

enum work job_queue_patch(struct pair *p, const struct object *o, const char *sub, int code,
                          struct buf *b) {
    return send(p->c, o, sub, code, b);
}

enum work job_queue_drop_finalizer(struct pair *p, const struct object *wl) {
    return drop_finalizer(p->c, wl);
}

enum work job_queue_remove(struct pair *p, const struct object *o) {
    return remove_object(p, o);
}

/* ---- the steps ---- */

static enum work finish(struct pair *p) {
    if (p->wl_finished) {
        return drop_finalizer(p->c, p->wl_obj);
    }
    struct workload_change ch;
    start_change(p, &ch);
    workload_change_set(&ch, "Finished", true, p->end.good ? "Succeeded" : "Failed",
                        p->end.message);
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "FinishedWorkload",
                   "Workload '%.*s/%.*s' is declared finished", STR_ARG(p->wl_obj->ns),
                   STR_ARG(p->wl_obj->name));
    return send_change(p, &ch);
}

static enum work hold(struct pair *p) {
    struct workload_change ch;
    if (!p->reserved) {
        return WORK_OK;
    }
    start_change(p, &ch);
    workload_change_unset(&ch, "OnHold", STR("Job is on hold"));
    return send_change(p, &ch);
}

/* It was on hold and can run now: it waits for quota again. */
static bool was_held(const struct pair *p) {
    const struct condition *x =
        p->wl.status ? conditions_find(&p->wl.status->conditions, "QuotaReserved") : NULL;
    return x && str_is(x->status, "False") && str_is(x->reason, "OnHold");
}

static enum work let_queue(struct pair *p) {
    struct workload_change ch;
    start_change(p, &ch);
    workload_change_unset(&ch, "PendingEvaluation",
                          STR("Workload no longer on hold; waiting for quota reservation"));
    return send_change(p, &ch);
}

static bool injected(const struct pair *p) {
    return job_look_injected(&p->look, p->was);
}

static enum work follow_suspended(struct pair *p) {
    bool goes = p->admitted && !p->evicted;
    /* What an earlier admission put in goes first, also when there is a new one: its flavors may be others. */
    if (!(goes && (p->lane->row->flags & INTEGRATION_APART)) && injected(p)) {
        return restore(p);
    }
    if (goes) {
        return start(p);
    }
    if (p->evicted && p->reserved) {
        return p->idle ? release(p) : WORK_OK;
    }
    return p->reserved ? tell_checks(p) : sync_queue_name(p);
}

/* One that grew goes on with the pods that it had while checks of the new Workload are not ready. */
static bool may_run(const struct pair *p) {
    yyjson_val *notes = json_path(p->wl_tree, "metadata.annotations");
    return p->admitted || (p->elastic && p->reserved && json_get(notes, STR(KUEUE_SLICE_REPLACES)));
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
                   : !job_workload_matches(&p->look, p->wl_tree, &p->wl, p->reserved)) {
        return mismatch(p);
    }
    if (p->elastic && w != WORK_OK) {
        return w;
    }
    if (!p->suspended && (p->evicted || !may_run(p))) {
        const struct condition *e =
            p->evicted ? conditions_find(&p->wl.status->conditions, "Evicted") : NULL;
        return stop(p, e ? e->message : STR(STOP_NOT_ADMITTED));
    }
    if (expired(p, &w)) {
        return w;
    }
    w = run(p, always, sizeof always / sizeof *always);
    if (w == WORK_OK && p->slices.next.obj) {
        struct pair next = *p;
        next.wl_obj = p->slices.next.obj;
        next.wl_tree = p->slices.next.tree;
        next.wl = p->slices.next.wl;
        next.reserved = false;
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
        return drop_finalizer(p->c, p->wl_obj);
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
    if (p->wl_obj == NULL) {
        return without_workload(p);
    }
    if (p->extra) {
        return remove_workload(p, p->extra);
    }
    if (p->finished) {
        return finish(p);
    }
    if (p->wl_finished) {
        return abandon(p);
    }
    if (p->wl_obj->deleting_ns) {
        return give_up(p);
    }
    if (p->lane->row->on_hold && p->lane->row->on_hold(&p->look)) {
        return hold(p);
    }
    if (p->lane->row->on_hold && was_held(p)) {
        return let_queue(p);
    }
    return !str_empty(p->prebuilt) && object_controller(p->wl_obj) == NULL ? adopt(p) : follow(p);
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
    struct workload w;
    yyjson_doc *d;
    struct workload_change ch;
    struct buf b;
    if (wl->deleting_ns) {
        return drop_finalizer(c, wl);
    }
    if (object_tree(wl, &c->base.arena, &d, NULL) != 0 ||
        codec_decode(&schema_workload, yyjson_doc_get_root(d), &c->base.arena, &w, NULL) != 0) {
        return WORK_RETRY;
    }
    if (w.status && conditions_true(&w.status->conditions, "Finished")) {
        return WORK_OK;
    }
    workload_change_init(&ch, wl, &w, &c->base.arena, clock_wall(c->base.env.clock));
    workload_change_set(&ch, "Finished", true, "OwnerNotFound",
                        STR("The workload's owner does not exist"));
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = workload_change_write(&ch, &b);
    return send(c, wl, "status", code, &b);
}

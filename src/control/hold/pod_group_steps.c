/* pod_group_steps: one look takes the first step of the table in pod_group.h that applies. */
#include "base/limits.h"
#include "control/hold/pod_group_private.h"

#define NOT_ADMITTED "Not admitted by cluster queue"

static bool quick(const struct pod_unit *u) {
    return false; /* FastQuotaReleaseInPodIntegration is off and not configurable */
}

/* Does anything run? When it stops to count by time, the pods are looked at then. */
static bool active(struct pod_unit *u) {
    int64_t until = 0;
    bool any = false;
    for (size_t i = 0; i < u->pods.n; i++) {
        const struct gated_pod *p = u->pods.v[i];
        if (gated_pod_active(p, quick(u), u->now)) {
            any = true;
            until = gated_pod_until(p) > until ? gated_pod_until(p) : until;
        }
    }
    if (any && until > u->now) {
        workqueue_look(u->c->base.queue, u->c->base.key, until - u->now + NS_PER_SEC);
    }
    return any;
}

static bool serving(const struct pod_unit *u) {
    return u->group && u->first->serving;
}

/* ---- the end ---- */

/* Has it done its work? */
static bool done(struct pod_unit *u, const char **reason, struct str *message) {
    size_t succeeded = 0;
    bool goes_on = false, lasting = false;
    if (serving(u)) {
        return false;
    }
    *reason = "Succeeded";
    if (!u->group) {
        *reason = u->first->succeeded ? "Succeeded" : "Failed";
        *message = u->first->message;
        return gated_pod_over(u->first);
    }
    for (size_t i = 0; i < u->pods.n; i++) {
        succeeded += u->pods.v[i]->succeeded;
        goes_on |= !gated_pod_over(u->pods.v[i]);
        lasting |= u->pods.v[i]->lasting;
    }
    *message = arena_f(&u->c->base.arena, "Pods succeeded: %zu/%d.", succeeded, u->first->total);
    return u->first->total > 0 && ((int64_t)succeeded == u->first->total || (!goes_on && lasting));
}

/* Nothing holds the pods, then nothing holds the Workload. */
static enum work close(struct pod_unit *u) {
    enum work w = pod_unit_let_go(u, &u->pods, false);
    return w == WORK_OK && u->h.wl_obj ? hold_drop_finalizer(&u->h, u->h.wl_obj) : w;
}

/* Somebody else than a pod owns it, and is there. */
static bool has_keeper(const struct pod_unit *u) {
    for (size_t i = 0; i < u->h.wl_obj->n_owners; i++) {
        if (!str_is(u->h.wl_obj->owners[i].kind, "Pod") &&
            mirror_owner(u->c->base.env.mirror, u->ns, &u->h.wl_obj->owners[i])) {
            return true;
        }
    }
    return false;
}

/* No pod is left. */
static enum work alone(struct pod_unit *u) {
    if (u->h.wl_obj == NULL || u->foreign) {
        return WORK_OK;
    }
    if (u->h.wl_obj->deleting_ns) {
        return hold_drop_finalizer(&u->h, u->h.wl_obj);
    }
    if (u->h.wl_obj->n_owners == 0 || has_keeper(u)) {
        return WORK_OK; /* it was made beforehand */
    }
    return u->h.wl_finished
               ? hold_drop_finalizer(&u->h, u->h.wl_obj)
               : hold_finish(&u->h, "OwnerNotFound", STR("The workload's owner no longer exists"));
}

/* A pod of its own is being deleted. It counts until it has stopped. */
static enum work leave(struct pod_unit *u) {
    const char *reason = "OwnerNotFound";
    struct str message;
    if (active(u)) {
        return WORK_OK;
    }
    u->h.wl_obj = u->foreign ? NULL : u->h.wl_obj;
    if (u->h.wl_obj && !u->h.wl_finished && !u->h.wl_obj->deleting_ns) {
        if (!done(u, &reason, &message)) {
            reason = "OwnerNotFound";
            message = STR("The workload's owner no longer exists");
        }
        return hold_finish(&u->h, reason, message);
    }
    return close(u);
}

/* ---- no Workload ---- */

static enum work without(struct pod_unit *u) {
    const char *reason;
    struct str message;
    struct group_match m;
    enum work w;
    if (done(u, &reason, &message)) {
        return close(u);
    }
    w = pod_unit_stop(u, false, "NoMatchingWorkload",
                      STR("Missing Workload; unable to restore pod templates"));
    if (w == WORK_OK && !str_empty(u->first->prebuilt)) { /* whoever makes it may yet */
        workqueue_look(u->c->base.queue, u->c->base.key, POD_AGAIN_NS);
    }
    if (w != WORK_OK || !str_empty(u->first->prebuilt)) {
        return w;
    }
    if (active(u)) {
        return WORK_OK;
    }
    if (u->group) {
        if (pod_group_surplus(&u->pods, u->first->total > 0 ? u->first->total : INT32_MAX,
                              &u->c->base.arena, &m) != 0) {
            return WORK_RETRY;
        }
        w = pod_unit_let_go(u, &m.loose, false);
        struct str fault = pod_group_fault(&u->pods, u->first, &u->c->base.arena);
        if (arena_ok(&u->c->base.arena) != 0) {
            return w == WORK_OK ? WORK_RETRY : w;
        }
        if (w != WORK_OK || !str_empty(fault)) {
            if (w == WORK_OK) {
                recorder_event(u->c->base.recorder, u->first->obj, EVENT_WARNING,
                               "ErrWorkloadCompose", "%.*s", STR_ARG(fault));
            }
            return w;
        }
        w = pod_unit_let_go(u, &m.excess, true);
        u->pods = m.kept;
    }
    return w == WORK_OK ? pod_unit_compose(u) : w;
}

/* ---- is it the Workload of these pods? ---- */

static bool same_limit(const struct pod_unit *u) {
    const struct opt_i32 *limit = &u->h.wl.spec->maximum_execution_time_seconds;
    return (limit->set ? limit->v : 0) ==
           workload_time_limit(object_label(u->first->obj, STR(KUEUE_MAX_TIME_LABEL)));
}

static enum work mismatch(struct pod_unit *u) {
    bool over = true;
    for (size_t i = 0; i < u->pods.n; i++) {
        over = over && gated_pod_suspended(u->pods.v[i]);
    }
    if (over && !u->h.reserved && str_empty(u->first->prebuilt)) {
        struct str fault =
            u->group ? pod_group_fault(&u->pods, u->first, &u->c->base.arena) : STR("");
        if (str_empty(fault)) {
            return pod_unit_compose(u);
        }
        recorder_event(u->c->base.recorder, u->first->obj, EVENT_WARNING, "ErrWorkloadCompose",
                       "%.*s", STR_ARG(fault));
        return WORK_OK;
    }
    enum work w = pod_unit_stop(
        u, false, "NoMatchingWorkload",
        STR("No matching Workload; restoring pod templates according to existent Workload"));
    if (w != WORK_OK) {
        return w;
    }
    return str_empty(u->first->prebuilt)
               ? pod_unit_remove_workload(u, u->h.wl_obj)
               : hold_finish(&u->h, "OutOfSync",
                             STR("The prebuilt workload is out of sync with its user job"));
}

static enum work own(struct pod_unit *u, const struct pod_list *l) {
    struct buf b;
    size_t added = 0;
    buf_init(&b, 2 * POD_BODY_MAX);
    int code = group_owners_add(u->h.wl_obj, u->h.wl_tree, u->c->base.env.mirror, l->v, l->n,
                                !u->group, &added, &u->c->base.arena, &b);
    if (code == 0) {
        recorder_event(u->c->base.recorder, u->h.wl_obj, EVENT_NORMAL, "OwnerReferencesAdded",
                       "Added %zu owner reference(s)", added);
    }
    return controller_patch(&u->c->base, u->h.wl_obj, "", code, &b);
}

/* Condition WaitingForReplacementPods. */
static enum work say_absent(struct pod_unit *u, int32_t absent) {
    const struct condition *c = hold_condition(&u->h, "WaitingForReplacementPods");
    const struct condition *e = u->h.evicted ? hold_condition(&u->h, "Evicted") : NULL;
    bool was = c && str_is(c->status, "True");
    struct workload_change ch;
    if (!u->group || (absent == 0 && !was) || (was && absent > 0 && e == NULL)) {
        return WORK_OK;
    }
    hold_change_init(&u->h, &ch);
    if (absent == 0) {
        workload_change_set(&ch, "WaitingForReplacementPods", false, "PodsReady",
                            STR("No pods need replacement"));
    } else {
        struct str reason = arena_str(&u->c->base.arena, e ? e->reason : STR("PodsFailed"));
        workload_change_set(&ch, "WaitingForReplacementPods", true, reason.p ? reason.p : "",
                            e ? e->message : STR("Some Failed pods need replacement"));
    }
    return hold_change(&u->h, &ch);
}

static enum work match(struct pod_unit *u) {
    struct group_match m = {.kept = u->pods};
    struct str more;
    if (u->h.wl.spec == NULL || !same_limit(u)) {
        return mismatch(u);
    }
    if (!u->group) {
        const struct pod_set *ps = u->h.wl.spec->pod_sets.n == 1 ? u->h.wl.spec->pod_sets.v : NULL;
        int over = ps ? pod_gate_exceeds(u->first->obj, ps->template, &u->c->base.arena, &more) : 1;
        if (over != 0) {
            return over < 0 ? WORK_RETRY : mismatch(u);
        }
        return own(u, &u->pods);
    }
    if (pod_group_match(&u->pods, &u->h.wl, u->first->fast, &u->c->base.arena, &m) != 0) {
        return WORK_RETRY;
    }
    if (m.kept.n == 0) {
        return m.loose.n ? pod_unit_let_go(u, &m.loose, false) : mismatch(u);
    }
    /* Owners come before others go: a Workload whose last owner is gone is collected. */
    enum work w = own(u, &m.kept);
    if (!str_empty(u->first->prebuilt)) {
        u->pods =
            m.kept; /* whoever made it knows how many pods there are; others stay behind their gate */
        return w;
    }
    w = w == WORK_OK ? pod_unit_let_go(u, &m.excess, true) : w;
    w = w == WORK_OK ? pod_unit_let_go(u, &m.loose, false) : w;
    u->pods = m.kept;
    return w == WORK_OK ? say_absent(u, m.absent) : w;
}

/* ---- what the Workload takes over ---- */

static enum work follow(struct pod_unit *u) {
    struct str queue = object_label(u->first->obj, STR(KUEUE_QUEUE_LABEL)), missing;
    struct str label = object_label(u->first->obj, STR(KUEUE_PRIORITY_LABEL));
    bool gates = false, other = hold_wants_class(&u->h);
    struct workload_priority prio;
    struct buf b;
    if (serving(u)) {
        return WORK_OK; /* the controller of what serves does */
    }
    int r = other
                ? workload_priority_resolve(u->c->base.env.mirror, label, STR(""), &prio, &missing)
                : 0;
    if (r != 0 && r != ERR_NOT_FOUND) {
        return WORK_RETRY;
    }
    if (r == ERR_NOT_FOUND) { /* it may come */
        workqueue_look(u->c->base.queue, u->c->base.key, POD_AGAIN_NS);
    }
    other = other && r == 0;
    buf_init(&b, POD_BODY_MAX);
    int code = group_workload_follow(u->h.wl_obj, u->h.wl_tree, u->first_tree,
                                     u->h.reserved ? NULL : &queue, other ? &prio : NULL, &gates,
                                     &u->c->base.arena, &b);
    if (code == 0 && other) {
        recorder_event(u->c->base.recorder, u->first->obj, EVENT_NORMAL, "UpdatedWorkload",
                       "Updated workload priority class: %.*s/%.*s", STR_ARG(u->h.wl_obj->ns),
                       STR_ARG(u->h.wl_obj->name));
    }
    if (code == 0 && gates) {
        struct str now = group_annotation(u->first_tree, KUEUE_GATED_ANNOTATION);
        recorder_event(u->c->base.recorder, u->first->obj, EVENT_NORMAL, "UpdatedWorkload",
                       "Updated workload AdmissionGatedBy to \"%.*s\"", STR_ARG(now));
    }
    return controller_patch(&u->c->base, u->h.wl_obj, "", code, &b);
}

static int32_t reclaimed(const struct pod_unit *u, const struct pod_set *ps) {
    int32_t n = 0;
    for (size_t i = 0; i < u->pods.n; i++) {
        n += u->pods.v[i]->succeeded && str_eq(u->pods.v[i]->role, ps->name);
    }
    return n < ps->count ? n : ps->count;
}

/* Pods that have succeeded give back what they had; it may only grow while quota is held. */
static enum work reclaim(struct pod_unit *u) {
    size_t n = 0;
    if (!u->group || serving(u) || !u->c->settings->gates.reclaimable_pods) {
        return WORK_OK;
    }
    struct reclaimable_pod *v =
        ARENA_ARRAY(&u->c->base.arena, struct reclaimable_pod, u->h.wl.spec->pod_sets.n + 1);
    for (size_t i = 0; v && i < u->h.wl.spec->pod_sets.n; i++) {
        const struct pod_set *ps = &u->h.wl.spec->pod_sets.v[i];
        int32_t had = hold_reclaimed(&u->h, ps->name), now = reclaimed(u, ps);
        now = u->h.reserved && now < had ? had : now;
        if (now > 0) {
            v[n++] = (struct reclaimable_pod){ps->name, now};
        }
    }
    return v != NULL ? hold_reclaim(&u->h, v, n) : WORK_RETRY;
}

/* Condition PodsReady. One that has succeeded was ready. */
static enum work say_ready(struct pod_unit *u) {
    size_t n = 0, want = u->group && u->first->total > 0 ? (size_t)u->first->total : 1;
    for (size_t i = 0; i < u->pods.n; i++) {
        n += u->pods.v[i]->ready || u->pods.v[i]->succeeded;
    }
    return hold_ready(&u->h, u->h.admitted, n >= want && n == u->pods.n);
}

/* ---- evicted ---- */

static enum work release(struct pod_unit *u) {
    const struct condition *e = hold_condition(&u->h, "Evicted");
    bool at_once = str_is(e->reason, "Preempted") || str_is(e->reason, "NodeFailures");
    struct str reason = arena_str(&u->c->base.arena, e->reason);
    struct workload_change ch;
    /* A pod of its own that is gone cannot have the quota again; its Workload goes with it. */
    at_once = at_once && (u->group || (u->first->gated && !u->first->obj->deleting_ns));
    hold_change_init(&u->h, &ch);
    workload_change_set(&ch, "Requeued", at_once, reason.p ? reason.p : "", e->message);
    workload_change_unset(&ch, "PendingEvaluation", e->message);
    return hold_change(&u->h, &ch);
}

/* Pods of what was deactivated here go when their time is over. */
static enum work expire(struct pod_unit *u) {
    return hold_is_expired(&u->h)
               ? pod_unit_stop(u, true, "WorkloadDeleted",
                               STR("Deleted job: deactivation retention period expired"))
               : WORK_OK;
}

static enum work evicted(struct pod_unit *u) {
    const struct condition *e = hold_condition(&u->h, "Evicted");
    struct str why = arena_f(&u->c->base.arena, "WorkloadEvictedDueTo%.*s", STR_ARG(e->reason));
    enum work w = why.p ? pod_unit_stop(u, false, why.p, e->message) : WORK_RETRY;
    if (w != WORK_OK) {
        return w;
    }
    w = u->h.reserved && !active(u) ? release(u) : WORK_OK;
    return w == WORK_OK ? expire(u) : w;
}

/* ---- all ---- */

static enum work tell_checks(struct pod_unit *u) {
    struct str text = workload_pending_checks(&u->h.wl, &u->c->base.arena);
    for (size_t i = 0; !str_empty(text) && i < u->pods.n; i++) {
        recorder_event(u->c->base.recorder, u->pods.v[i]->obj, EVENT_NORMAL,
                       "UpdatedAdmissionCheck", "%.*s", STR_ARG(text));
    }
    return WORK_OK;
}

static enum work not_admitted(struct pod_unit *u) {
    bool held = false;
    for (size_t i = 0; i < u->pods.n; i++) {
        held |= gated_pod_suspended(u->pods.v[i]);
    }
    /* While what serves is rolled out, pods of the old revision are let through on purpose. */
    enum work w =
        serving(u) && held ? WORK_OK : pod_unit_stop(u, false, "NotAdmitted", STR(NOT_ADMITTED));
    return w == WORK_OK && u->h.reserved ? tell_checks(u) : w;
}

static enum work going(struct pod_unit *u) {
    enum work w = pod_unit_stop(u, true, "WorkloadDeleted", STR("Workload is deleted"));
    return w == WORK_OK && !active(u) ? close(u) : w;
}

static enum work with(struct pod_unit *u) {
    const char *reason;
    struct str message;
    if (u->h.wl_finished) {
        return close(u);
    }
    if (u->h.wl_obj->deleting_ns) {
        return going(u);
    }
    enum work w = match(u);
    if (w != WORK_OK || u->pods.n == 0) {
        return w;
    }
    if (done(u, &reason, &message)) {
        return hold_finish(&u->h, reason, message);
    }
    static enum work (*const steps[])(struct pod_unit *) = {follow, reclaim, say_ready};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        w = steps[i](u);
        if (w != WORK_OK) {
            return w;
        }
    }
    if (u->h.evicted) {
        return evicted(u);
    }
    return u->h.admitted ? pod_unit_start(u) : not_admitted(u);
}

/* A Workload of the group's name that is not the group's is left alone. */
static enum work refused(struct pod_unit *u) {
    struct pod_list loose = {
        ARENA_ARRAY(&u->c->base.arena, const struct gated_pod *, u->pods.n + 1), 0};
    recorder_event(u->c->base.recorder, u->first->obj, EVENT_WARNING, "WorkloadNameConflict",
                   "A Workload named \"%.*s\" already exists but is not a pod group workload; this "
                   "pod group cannot be admitted",
                   STR_ARG(u->h.wl_obj->name));
    for (size_t i = 0; loose.v && i < u->pods.n; i++) {
        if (!gated_pod_runnable(u->pods.v[i])) {
            loose.v[loose.n++] = u->pods.v[i];
        }
    }
    return loose.v ? pod_unit_let_go(u, &loose, false) : WORK_RETRY;
}

enum work pod_unit_step(struct pod_unit *u) {
    if (u->first == NULL) {
        return alone(u);
    }
    if (!u->group && u->first->obj->deleting_ns) {
        return leave(u);
    }
    if (u->foreign) {
        return refused(u);
    }
    if (u->h.wl_obj == NULL) {
        bool queued = u->c->settings->manage_jobs_without_queue_name ||
                      !str_empty(object_label(u->first->obj, STR(KUEUE_QUEUE_LABEL)));
        return queued ? without(u) : WORK_OK;
    }
    return u->extra ? pod_unit_remove_workload(u, u->extra) : with(u);
}

/* workload_status: see workload_status.h. */
#include "control/workload_status.h"

#include "base/clock.h"
#include "control/job_write.h"

static const struct condition_list *conditions_of(const struct workload *wl) {
    static const struct condition_list none;
    return wl->status ? &wl->status->conditions : &none;
}

void workload_change_init(struct workload_change *c, const struct object *obj,
                          const struct workload *wl, struct arena *a, int64_t now_ns) {
    const struct condition_list *was = conditions_of(wl);
    *c = (struct workload_change){
        .obj = obj, .wl = wl, .arena = a, .now_ns = now_ns, .past_seconds = -1, .reclaimable = -1};
    /* A copy: setting a condition changes it in place. */
    c->conditions.v = ARENA_ARRAY(a, struct condition, was->n + 1);
    if (!c->conditions.v) {
        c->code = ERR_NOMEM;
        return;
    }
    c->conditions.n = was->n;
    if (was->n) {
        memcpy(c->conditions.v, was->v, was->n * sizeof *was->v);
    }
}

void workload_change_set(struct workload_change *c, const char *type, bool truth,
                         const char *reason, struct str message) {
    int r = c->code ? c->code
                    : conditions_set(&c->conditions, c->arena, type, truth, reason, message,
                                     c->now_ns, c->obj->generation, &c->changed);
    c->code = r;
}

static int64_t admitted_for(const struct workload_change *c) {
    const struct condition *x = conditions_find(conditions_of(c->wl), "Admitted");
    return x && str_is(x->status, "True") ? (c->now_ns - x->last_transition_ns) / NS_PER_SEC : -1;
}

void workload_change_evict(struct workload_change *c, const char *reason, const char *cause,
                           struct str message) {
    workload_change_set(c, "Evicted", true, reason, message);
    if (conditions_true(&c->conditions, "BlockedOnPreemptionGates")) {
        workload_change_set(c, "BlockedOnPreemptionGates", false, reason, message);
    }
    c->evicted_reason =
        str_starts(str_of(reason), STR("DeactivatedDueTo")) ? STR("Deactivated") : str_of(reason);
    c->evicted_cause = str_of(cause);
}

void workload_change_release(struct workload_change *c) {
    const struct condition *e = conditions_find(&c->conditions, "Evicted");
    if (!e || !c->wl->status) {
        return;
    }
    struct str reason = e->reason, message = e->message;
    bool at_once = str_is(reason, "Preempted") || str_is(reason, "NodeFailures");
    struct str cause = arena_str(c->arena, reason);
    int64_t past = admitted_for(c);
    workload_change_set(c, "Requeued", at_once, cause.p ? cause.p : "", message);
    workload_change_set(c, "QuotaReserved", false, "PendingEvaluation", message);
    if (conditions_find(&c->conditions, "Admitted")) {
        workload_change_set(c, "Admitted", false, "NoReservation",
                            STR("The workload has no reservation"));
    }
    if (past >= 0) {
        const struct opt_i32 *before = &c->wl->status->accumulated_past_execution_time_seconds;
        c->past_seconds = (before->set ? before->v : 0) + past;
    }
    c->clear_admission = c->wl->status->admission != NULL;
    c->changed |= c->clear_admission;
}

/* ---- the patch ---- */

static void write_reset_checks(const struct workload_change *c, struct buf *out) {
    const struct workload_status *s = c->wl->status;
    if (!s || s->admission_checks.n == 0) {
        return;
    }
    buf_c(out, ",\"admissionChecks\":[");
    for (size_t i = 0; i < s->admission_checks.n; i++) {
        const struct admission_check_state *x = &s->admission_checks.v[i];
        bool pending = str_is(x->state, "Pending"), retry = str_is(x->state, "Retry");
        buf_c(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, x->name);
        buf_c(out, ",\"state\":\"Pending\",\"message\":");
        buf_json(out, pending
                          ? x->message
                          : arena_f(c->arena, "Reset to Pending after eviction. Previously: %.*s",
                                    STR_ARG(x->state)));
        write_time(out, "lastTransitionTime",
                   pending ? x->last_transition_ns : c->now_ns - c->now_ns % NS_PER_SEC);
        if (x->requeue_after_seconds.set) {
            buf_f(out, ",\"requeueAfterSeconds\":%d", x->requeue_after_seconds.v);
        }
        if (retry || (pending && x->retry_count.set)) {
            buf_f(out, ",\"retryCount\":%d", (x->retry_count.set ? x->retry_count.v : 0) + retry);
        }
        buf_c(out, "}");
    }
    buf_c(out, "]");
}

static void write_eviction(const struct workload_change *c, struct buf *out) {
    const struct scheduling_stats *st = c->wl->status ? c->wl->status->scheduling_stats : NULL;
    size_t n = st ? st->evictions.n : 0;
    bool found = false;
    buf_c(out, ",\"schedulingStats\":{\"evictions\":[");
    for (size_t i = 0; i < n; i++) {
        const struct scheduling_eviction *e = &st->evictions.v[i];
        bool same =
            str_eq(e->reason, c->evicted_reason) && str_eq(e->underlying_cause, c->evicted_cause);
        found |= same;
        buf_c(out, i ? ",{\"reason\":" : "{\"reason\":");
        buf_json(out, e->reason);
        buf_c(out, ",\"underlyingCause\":");
        buf_json(out, e->underlying_cause);
        buf_f(out, ",\"count\":%d}", e->count + same);
    }
    if (!found) {
        buf_c(out, n ? ",{\"reason\":" : "{\"reason\":");
        buf_json(out, c->evicted_reason);
        buf_c(out, ",\"underlyingCause\":");
        buf_json(out, c->evicted_cause);
        buf_c(out, ",\"count\":1}");
    }
    buf_c(out, "]},\"clusterName\":null,\"nominatedClusterNames\":null,\"unhealthyNodes\":null");
    write_reset_checks(c, out);
}

int workload_change_write(const struct workload_change *c, struct buf *out) {
    if (c->code != 0) {
        return c->code;
    }
    if (!c->changed) {
        return ERR_NOT_FOUND;
    }
    buf_f(out, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"conditions\":",
          (unsigned long long)c->obj->rv);
    write_conditions(out, &c->conditions, false);
    if (c->clear_admission) {
        buf_c(out, ",\"admission\":null");
    }
    if (c->clear_requeue_state) {
        buf_c(out, ",\"requeueState\":null");
    }
    if (c->past_seconds >= 0) {
        buf_f(out, ",\"accumulatedPastExecutionTimeSeconds\":%lld", (long long)c->past_seconds);
    }
    if (c->reclaimable > 0) {
        buf_f(out, ",\"reclaimablePods\":[{\"name\":\"main\",\"count\":%d}]", c->reclaimable);
    } else if (c->reclaimable == 0) {
        buf_c(out, ",\"reclaimablePods\":null");
    }
    if (!str_empty(c->evicted_reason)) {
        write_eviction(c, out);
    }
    buf_c(out, "}}");
    return arena_ok(c->arena) ? ERR_NOMEM : buf_ok(out);
}

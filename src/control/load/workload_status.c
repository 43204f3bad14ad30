/* workload_status: see workload_status.h. */
#include "control/load/workload_status.h"

#include "base/clock.h"
#include "base/limits.h"
#include "control/kit/body.h"

static const struct condition_list *conditions_of(const struct workload *wl) {
    static const struct condition_list none;
    return wl->status ? &wl->status->conditions : &none;
}

void workload_change_init(struct workload_change *c, const struct object *obj,
                          const struct workload *wl, struct arena *a, int64_t now_ns) {
    const struct condition_list *was = conditions_of(wl);
    *c = (struct workload_change){
        .obj = obj, .wl = wl, .arena = a, .now_ns = now_ns, .past_seconds = -1};
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

static const struct requeue_state *requeue_of(const struct workload_change *c) {
    static const struct requeue_state none;
    return c->wl->status && c->wl->status->requeue_state ? c->wl->status->requeue_state : &none;
}

void workload_change_requeue(struct workload_change *c, int32_t count, int64_t at_ns) {
    int64_t was = requeue_of(c)->requeue_at_ns;
    c->requeue_set = c->changed = true;
    c->requeue_count = count;
    c->requeue_at_ns = at_ns > was ? at_ns : was;
}

void workload_change_requeued(struct workload_change *c) {
    if (requeue_of(c)->requeue_at_ns) {
        c->requeue_set = c->changed = true;
        c->requeue_count = requeue_of(c)->count.set ? requeue_of(c)->count.v : 0;
        c->requeue_at_ns = 0;
    }
}

/* ---- eviction ---- */

static yyjson_val *status_list(const struct workload_change *c, const char *path) {
    yyjson_doc *d;
    return object_tree(c->obj, c->arena, &d, NULL) == 0 ? json_path(yyjson_doc_get_root(d), path)
                                                        : NULL;
}

static void reset_check(const struct workload_change *c, const struct admission_check_state *x,
                        struct buf *out) {
    bool retry = str_is(x->state, "Retry");
    buf_c(out, "{\"name\":");
    buf_json(out, x->name);
    buf_f(
        out,
        ",\"state\":\"Pending\",\"message\":\"Reset to Pending after eviction. Previously: %.*s\"",
        STR_ARG(x->state));
    write_time(out, "lastTransitionTime", c->now_ns - c->now_ns % NS_PER_SEC);
    if (x->requeue_after_seconds.set) {
        buf_f(out, ",\"requeueAfterSeconds\":%d", x->requeue_after_seconds.v);
    }
    if (retry) {
        buf_f(out, ",\"retryCount\":%d",
              workload_count_more(x->retry_count.set ? x->retry_count.v : 0));
    }
    buf_ch(out, '}');
}

/* Every decided check becomes Pending; one that is Pending stays as it was written. */
static void reset_checks(struct workload_change *c) {
    const struct workload_status *s = c->wl->status;
    yyjson_val *raw = s && s->admission_checks.n ? status_list(c, "status.admissionChecks") : NULL;
    struct buf b;
    int64_t at = 0;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; raw && i < s->admission_checks.n; i++) {
        const struct admission_check_state *x = &s->admission_checks.v[i];
        buf_c(&b, i ? "," : "[");
        if (str_is(x->state, "Pending")) {
            json_write(&b, yyjson_arr_get(raw, i));
            continue;
        }
        reset_check(c, x, &b);
        if (str_is(x->state, "Retry") && x->requeue_after_seconds.set) {
            int64_t until = x->last_transition_ns + x->requeue_after_seconds.v * NS_PER_SEC;
            at = until > at ? until : at;
        }
    }
    if (raw) {
        buf_ch(&b, ']');
        c->checks = arena_str(c->arena, buf_view(&b));
        c->code = c->code ? c->code : buf_ok(&b);
    }
    buf_release(&b);
    if (at > c->now_ns && !c->requeue_set) {
        workload_change_requeue(c, requeue_of(c)->count.set ? requeue_of(c)->count.v : 0, at);
    }
}

static void close_gates(struct workload_change *c) {
    const struct workload_status *s = c->wl->status;
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; s && i < s->preemption_gates.n; i++) {
        const struct preemption_gate_state *g = &s->preemption_gates.v[i];
        bool open = str_is(g->position, "Open");
        buf_c(&b, i ? ",{\"name\":" : "[{\"name\":");
        buf_json(&b, g->name);
        buf_c(&b, ",\"position\":\"Closed\"");
        write_time(&b, "lastTransitionTime",
                   open ? c->now_ns - c->now_ns % NS_PER_SEC : g->last_transition_ns);
        buf_ch(&b, '}');
    }
    if (b.n > 0) {
        buf_ch(&b, ']');
        c->gates = arena_str(c->arena, buf_view(&b));
        c->code = c->code ? c->code : buf_ok(&b);
    }
    buf_release(&b);
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
    reset_checks(c);
    close_gates(c);
}

void workload_change_unset(struct workload_change *c, const char *reason, struct str message) {
    int64_t past = admitted_for(c);
    workload_change_set(c, "QuotaReserved", false, workload_wait_reason(c->settings, reason),
                        message);
    if (conditions_find(&c->conditions, "Admitted")) {
        struct str text;
        const char *why = workload_unreserved_reason(c->settings, c->wl, c->checks.n > 0, &text);
        workload_change_set(c, "Admitted", false, why, text);
    }
    if (past >= 0) {
        const struct opt_i32 *before = &c->wl->status->accumulated_past_execution_time_seconds;
        c->past_seconds = (before->set ? before->v : 0) + past;
    }
    c->clear_admission = c->wl->status && c->wl->status->admission != NULL;
    c->changed |= c->clear_admission;
}

void workload_change_release(struct workload_change *c) {
    const struct condition *e = conditions_find(&c->conditions, "Evicted");
    if (!e || !c->wl->status) {
        return;
    }
    struct str reason = e->reason, message = e->message;
    bool at_once = str_is(reason, "Preempted") || str_is(reason, "NodeFailures");
    struct str cause = arena_str(c->arena, reason);
    workload_change_set(c, "Requeued", at_once, cause.p ? cause.p : "", message);
    workload_change_unset(c, "PendingEvaluation", message);
}

/* ---- the patch ---- */

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
        buf_f(out, ",\"count\":%d}", same ? workload_count_more(e->count) : e->count);
    }
    if (!found) {
        buf_c(out, n ? ",{\"reason\":" : "{\"reason\":");
        buf_json(out, c->evicted_reason);
        buf_c(out, ",\"underlyingCause\":");
        buf_json(out, c->evicted_cause);
        buf_c(out, ",\"count\":1}");
    }
    buf_c(out, "]},\"clusterName\":null,\"nominatedClusterNames\":null,\"unhealthyNodes\":null");
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
    if (c->requeue_set) {
        buf_c(out, ",\"requeueState\":{\"count\":");
        if (c->requeue_count > 0) {
            buf_f(out, "%d", c->requeue_count);
        } else {
            buf_c(out, "null");
        }
        write_time(out, "requeueAt", c->requeue_at_ns);
        buf_ch(out, '}');
    }
    if (!str_empty(c->checks)) {
        buf_c(out, ",\"admissionChecks\":");
        buf_str(out, c->checks);
    }
    if (!str_empty(c->gates)) {
        buf_c(out, ",\"preemptionGates\":");
        buf_str(out, c->gates);
    }
    if (c->past_seconds >= 0) {
        buf_f(out, ",\"accumulatedPastExecutionTimeSeconds\":%lld", (long long)c->past_seconds);
    }
    if (!str_empty(c->reclaimable)) {
        buf_c(out, ",\"reclaimablePods\":");
        buf_str(out, c->reclaimable);
    }
    if (!str_empty(c->evicted_reason)) {
        write_eviction(c, out);
    }
    buf_c(out, "}}");
    return arena_ok(c->arena) ? ERR_NOMEM : buf_ok(out);
}

/* ---- words ---- */

const char *workload_wait_reason(const struct queue_settings *s, const char *reason) {
    static const char *const of_old[][2] = {
        {"PendingEvaluation", "Pending"},
        {"WaitingForQuota", "Pending"},
        {"ExceedsMaxQuota", "Pending"},
        {"NoMatchingFlavor", "Pending"},
        {"TopologyPlacementFailed", "Pending"},
        {"WaitingForPlacement", "Pending"},
        {"WaitingForPreemptedWorkloads", "Pending"},
        {"WaitingForPodsReady", "Waiting"},
        {"Misconfigured", "Inadmissible"},
        {"Suspended", "Inadmissible"},
    };
    for (size_t i = 0;
         s && !s->gates.unadmitted_observability && i < sizeof of_old / sizeof *of_old; i++) {
        if (str_is(str_of(of_old[i][0]), reason)) {
            return of_old[i][1];
        }
    }
    return reason;
}

const char *workload_unreserved_reason(const struct queue_settings *s, const struct workload *w,
                                       bool reset, struct str *ret_message) {
    const struct workload_status *st = w->status;
    bool missing = reset;
    for (size_t i = 0; st && i < st->admission_checks.n; i++) {
        missing |= !str_is(st->admission_checks.v[i].state, "Ready");
    }
    bool of_old = s && !s->gates.unadmitted_observability && missing;
    *ret_message = of_old ? STR("The workload has no reservation and not all checks ready")
                          : STR("The workload has no reservation");
    return of_old ? "NoReservationUnsatisfiedChecks" : "NoReservation";
}

const char *workload_evicted_event(struct str reason, struct str cause) {
    static const struct {
        const char *reason, *cause, *event;
    } table[] = {
        {"Preempted", NULL, "EvictedDueToPreempted"},
        {"PodsReadyTimeout", NULL, "EvictedDueToPodsReadyTimeout"},
        {"AdmissionCheck", NULL, "EvictedDueToAdmissionCheck"},
        {"ClusterQueueStopped", NULL, "EvictedDueToClusterQueueStopped"},
        {"LocalQueueStopped", NULL, "EvictedDueToLocalQueueStopped"},
        {"NodeFailures", NULL, "EvictedDueToNodeFailures"},
        {"Deactivated", "RequeuingLimitExceeded",
         "EvictedDueToDeactivatedDueToRequeuingLimitExceeded"},
        {"Deactivated", "MaximumExecutionTimeExceeded",
         "EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded"},
        {"Deactivated", "AdmissionCheck", "EvictedDueToDeactivatedDueToAdmissionCheck"},
        {"Deactivated", NULL, "EvictedDueToDeactivated"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (str_is(reason, table[i].reason) &&
            (table[i].cause == NULL || str_is(cause, table[i].cause))) {
            return table[i].event;
        }
    }
    return "Evicted";
}

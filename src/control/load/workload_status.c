/* workload_status: see workload_status.h. */
#include "control/load/workload_status.h"

#include "api/walk/value.h"
#include "base/clock.h"
#include "base/limits.h"
#include "control/kit/edit.h"

static const struct condition_list *conditions_of(const struct workload *wl) {
    return wl->status ? &wl->status->conditions : NULL;
}

void workload_change_init(struct workload_change *c, const struct object *obj,
                          const struct workload *wl, struct arena *a, int64_t now_ns) {
    *c = (struct workload_change){.obj = obj, .wl = wl, .arena = a, .now_ns = now_ns};
    if (wl->status) {
        c->status = *wl->status;
    }
    c->code = conditions_copy(conditions_of(wl), a, &c->status.conditions);
}

void workload_change_put(struct workload_change *c, const struct condition_want *want) {
    if (c->code == 0) {
        c->code = conditions_put(&c->status.conditions, c->arena, want, c->now_ns,
                                 c->obj->generation, &c->changed);
    }
}

void workload_change_set(struct workload_change *c, const char *type, bool truth,
                         const char *reason, struct str message) {
    struct condition_want want = {type, truth ? "True" : "False", reason, message};
    workload_change_put(c, &want);
}

static int64_t admitted_for(const struct workload_change *c) {
    const struct condition *x = conditions_find(conditions_of(c->wl), "Admitted");
    return x && str_is(x->status, "True") ? (c->now_ns - x->last_transition_ns) / NS_PER_SEC : -1;
}

static const struct requeue_state *requeue_of(const struct workload_change *c) {
    static const struct requeue_state none;
    return c->wl->status && c->wl->status->requeue_state ? c->wl->status->requeue_state : &none;
}

static void set_requeue(struct workload_change *c, int32_t count, int64_t at_ns) {
    struct requeue_state *r = ARENA_NEW(c->arena, struct requeue_state);
    if (r == NULL) {
        c->code = ERR_NOMEM;
        return;
    }
    *r = (struct requeue_state){.count = {count > 0, count}, .requeue_at_ns = at_ns};
    c->status.requeue_state = r;
}

void workload_change_requeue(struct workload_change *c, int32_t count, int64_t at_ns) {
    int64_t was = requeue_of(c)->requeue_at_ns;
    set_requeue(c, count, at_ns > was ? at_ns : was);
}

static int32_t requeued_times(const struct workload_change *c) {
    return requeue_of(c)->count.set ? requeue_of(c)->count.v : 0;
}

void workload_change_requeued(struct workload_change *c) {
    if (requeue_of(c)->requeue_at_ns) {
        set_requeue(c, requeued_times(c), 0);
    }
}

/* ---- eviction ---- */

static int64_t this_second(const struct workload_change *c) {
    return c->now_ns - c->now_ns % NS_PER_SEC;
}

static struct admission_check_state reset_check(const struct workload_change *c,
                                                const struct admission_check_state *x) {
    struct admission_check_state now = {.name = x->name,
                                        .state = STR("Pending"),
                                        .last_transition_ns = this_second(c),
                                        .requeue_after_seconds = x->requeue_after_seconds};
    now.message =
        arena_f(c->arena, "Reset to Pending after eviction. Previously: %.*s", STR_ARG(x->state));
    if (str_is(x->state, "Retry")) {
        now.retry_count =
            (struct opt_i32){true, workload_count_more(x->retry_count.set ? x->retry_count.v : 0)};
    }
    return now;
}

/* Every decided check becomes Pending; one that is Pending stays as it is. */
static void reset_checks(struct workload_change *c) {
    size_t n = c->status.admission_checks.n;
    const struct admission_check_state *was = c->status.admission_checks.v;
    struct admission_check_state *v = ARENA_ARRAY(c->arena, struct admission_check_state, n + 1);
    bool asked = c->status.requeue_state != requeue_of(c) && c->status.requeue_state;
    int64_t at = 0;
    if (v == NULL) {
        c->code = ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct admission_check_state *x = &was[i];
        v[i] = str_is(x->state, "Pending") ? *x : reset_check(c, x);
        if (str_is(x->state, "Retry") && x->requeue_after_seconds.set) {
            int64_t until = x->last_transition_ns + x->requeue_after_seconds.v * NS_PER_SEC;
            at = until > at ? until : at;
        }
    }
    c->status.admission_checks.v = v;
    c->reset = n > 0;
    if (at > c->now_ns && !asked) {
        workload_change_requeue(c, requeued_times(c), at);
    }
}

static void close_gates(struct workload_change *c) {
    size_t n = c->status.preemption_gates.n;
    struct preemption_gate_state *v = ARENA_ARRAY(c->arena, struct preemption_gate_state, n + 1);
    if (v == NULL) {
        c->code = ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = c->status.preemption_gates.v[i];
        if (str_is(v[i].position, "Open")) {
            v[i].last_transition_ns = this_second(c);
        }
        v[i].position = STR("Closed");
    }
    c->status.preemption_gates.v = v;
}

static void count_eviction(struct workload_change *c, struct str reason, struct str cause) {
    const struct scheduling_stats *was = c->status.scheduling_stats;
    size_t n = was ? was->evictions.n : 0, i = 0;
    struct scheduling_stats *st = ARENA_NEW(c->arena, struct scheduling_stats);
    struct scheduling_eviction *v = ARENA_ARRAY(c->arena, struct scheduling_eviction, n + 1);
    if (st == NULL || v == NULL) {
        c->code = ERR_NOMEM;
        return;
    }
    if (n) {
        memcpy(v, was->evictions.v, n * sizeof *v);
    }
    while (i < n && !(str_eq(v[i].reason, reason) && str_eq(v[i].underlying_cause, cause))) {
        i++;
    }
    if (i == n) {
        v[n++] = (struct scheduling_eviction){arena_str(c->arena, reason),
                                              arena_str(c->arena, cause), 0};
    }
    v[i].count = workload_count_more(v[i].count);
    st->evictions.v = v;
    st->evictions.n = n;
    c->status.scheduling_stats = st;
}

void workload_change_evict(struct workload_change *c, const char *reason, const char *cause,
                           struct str message) {
    bool dead = str_starts(str_of(reason), STR("DeactivatedDueTo"));
    workload_change_set(c, "Evicted", true, reason, message);
    if (conditions_true(&c->status.conditions, "BlockedOnPreemptionGates")) {
        workload_change_set(c, "BlockedOnPreemptionGates", false, reason, message);
    }
    count_eviction(c, dead ? STR("Deactivated") : str_of(reason), str_of(cause));
    c->status.cluster_name = (struct str){0};
    c->status.nominated_cluster_names = (struct str_list){0};
    c->status.unhealthy_nodes.n = 0;
    reset_checks(c);
    close_gates(c);
}

void workload_change_unset(struct workload_change *c, const char *reason, struct str message) {
    int64_t past = admitted_for(c);
    workload_change_set(c, "QuotaReserved", false, workload_wait_reason(c->settings, reason),
                        message);
    if (conditions_find(&c->status.conditions, "Admitted")) {
        struct str text;
        const char *why = workload_unreserved_reason(c->settings, c->wl, c->reset, &text);
        workload_change_set(c, "Admitted", false, why, text);
    }
    if (past >= 0) {
        struct opt_i32 *spent = &c->status.accumulated_past_execution_time_seconds;
        int64_t all = (spent->set ? spent->v : 0) + past;
        *spent = (struct opt_i32){true, all < INT32_MAX ? (int32_t)all : INT32_MAX};
    }
    c->status.admission = NULL;
}

void workload_change_release(struct workload_change *c) {
    const struct condition *e = conditions_find(&c->status.conditions, "Evicted");
    if (e == NULL || c->wl->status == NULL) {
        return;
    }
    struct str reason = e->reason, message = e->message;
    bool at_once = str_is(reason, "Preempted") || str_is(reason, "NodeFailures");
    struct str cause = arena_str(c->arena, reason);
    workload_change_set(c, "Requeued", at_once, cause.p ? cause.p : "", message);
    workload_change_unset(c, "PendingEvaluation", message);
}

void workload_change_ready(struct workload_change *ch, bool admitted, bool ready) {
    const struct condition *c = conditions_find(&ch->status.conditions, "PodsReady");
    bool recovers = c && (str_is(c->reason, "WaitForRecovery") || str_is(c->reason, "Recovered"));
    if (!admitted || (!ready && !recovers && !(c && str_is(c->status, "True")))) {
        workload_change_set(ch, "PodsReady", false, "WaitForStart",
                            STR("Not all pods are ready or succeeded"));
    } else if (!ready) {
        workload_change_set(ch, "PodsReady", false, "WaitForRecovery",
                            STR("At least one pod has failed, waiting for recovery"));
    } else {
        workload_change_set(ch, "PodsReady", true, recovers ? "Recovered" : "Started",
                            STR("All pods reached readiness and the workload is running"));
    }
}

int workload_change_write(const struct workload_change *c, struct buf *out) {
    static const struct workload_status none;
    struct workload want = *c->wl;
    int r = c->code ? c->code : arena_ok(c->arena);
    if (r != 0) {
        return r;
    }
    bool unset =
        c->wl->status == NULL && value_views_same(&schema_workload_status, &c->status, &none);
    want.status = unset ? NULL : (struct workload_status *)&c->status;
    return edit_write(c->obj, EDIT_VERSION, c->wl, &want, out);
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

struct str workload_pending_checks(const struct workload *wl, struct arena *a) {
    struct buf b;
    buf_init(&b, LIMIT_EVENT_MESSAGE * 2);
    for (size_t i = 0; wl->status && i < wl->status->admission_checks.n; i++) {
        const struct admission_check_state *c = &wl->status->admission_checks.v[i];
        if (str_is(c->state, "Pending") && !str_empty(c->message)) {
            buf_f(&b, "%s%.*s: %.*s", b.n ? "; " : "", STR_ARG(c->name), STR_ARG(c->message));
        }
    }
    struct str text = b.n ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

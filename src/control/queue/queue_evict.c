/*
 * queue_evict: what happens to a Workload while it holds quota, and who may come again. The first line that holds:
 *
 *     Evicted                               it keeps its quota until whoever runs it says that nothing runs any more:
 *                                           a job's controller, or, where nobody owns it, who clears QuotaReserved
 *     chosen as a victim                    Evicted: Preempted (queue_preempt.c)
 *     a check is required and not listed    listed as Pending; what is not required goes
 *     a check is Rejected                   DeactivationTarget: AdmissionCheck
 *     a check is Retry                      Evicted: AdmissionCheck
 *     all checks are Ready                  Admitted, also where a queue stopped at the same time
 *     LocalQueue, ClusterQueue              admitted: HoldAndDrain evicts
 *       stopped, gone                       only reserving: the quota is released at once
 *     pods not ready for too long           Evicted: PodsReadyTimeout, or after too many: DeactivationTarget
 *     a check is not Ready yet              Admitted is False
 *
 * Coming again: Requeued False becomes True once its reason has passed, whatever else keeps it out by then.
 */
#include "control/kit/backoff.h"
#include "control/load/workload_status.h"
#include "control/queue/queue_private.h"
#include "wire/text/time.h"

/* One look at a Workload that holds quota. */
struct holding {
    struct queue_controller *c;
    struct queue_work *q;
    const struct object *o;
    const struct workload *w;
    const struct cluster_state *cluster; /* of its admission, or NULL */
    bool admitted;
    struct workload_change ch;
};

static void evict(struct holding *h, const char *reason, const char *cause, struct str text) {
    workload_change_evict(&h->ch, reason, cause, text);
    queue_tell(h->q, EVENT_NORMAL, workload_evicted_event(str_of(reason), str_of(cause)), "%.*s",
               STR_ARG(text));
}

/* ---- checks ---- */

static bool list_checks(struct holding *h, enum work *ret) {
    struct check_need need;
    if (queue_checks_of(h->c, h->w, &need) != 0) {
        *ret = WORK_RETRY;
        return true;
    }
    if (!queue_checks_put(h->c, &need, &h->ch)) {
        return false;
    }
    *ret = queue_change_write(h->c, &h->ch);
    return true;
}

static bool by_checks(struct holding *h, enum work *ret) {
    struct str text;
    if (list_checks(h, ret)) {
        return true;
    }
    if (queue_checks_list(h->c, h->w, "Rejected", &text) > 0) {
        workload_change_set(&h->ch, "DeactivationTarget", true, "AdmissionCheck", text);
        queue_tell(h->q, EVENT_WARNING, "AdmissionCheckRejected", "Deactivated due to %.*s",
                   STR_ARG(text));
    } else if (queue_checks_list(h->c, h->w, "Retry", &text) > 0) {
        evict(h, "AdmissionCheck", "",
              arena_f(&h->c->base.arena, "Evicted due to %.*s", STR_ARG(text)));
    } else {
        return false;
    }
    *ret = queue_change_write(h->c, &h->ch);
    return true;
}

/* ---- queues that stopped or went ---- */

static bool give_up(struct holding *h, const char *reason, struct str text, enum work *ret) {
    workload_change_unset(&h->ch, reason, text);
    *ret = queue_change_write(h->c, &h->ch);
    return true;
}

static bool by_local(struct holding *h, enum work *ret) {
    const struct local_state *l = h->q->local;
    struct arena *a = &h->c->base.arena;
    struct str name = h->w->spec->queue_name;
    if (h->admitted) {
        if (l == NULL || !l->exists || !l->drains) {
            return false;
        }
        evict(h, "LocalQueueStopped", "", STR("The LocalQueue is stopped"));
        *ret = queue_change_write(h->c, &h->ch);
        return true;
    }
    if (l == NULL || !l->exists) {
        return give_up(h, "Misconfigured",
                       arena_f(a, "LocalQueue %.*s is terminating or missing", STR_ARG(name)), ret);
    }
    return l->stopped &&
           give_up(h, "Suspended", arena_f(a, "LocalQueue %.*s is stopped", STR_ARG(name)), ret);
}

static bool by_cluster(struct holding *h, enum work *ret) {
    const struct cluster_state *s = h->cluster;
    struct arena *a = &h->c->base.arena;
    struct str name = h->w->status->admission->cluster_queue;
    if (h->admitted) {
        if (s == NULL || !s->exists || !s->drains) {
            return false;
        }
        evict(h, "ClusterQueueStopped", "", STR("The ClusterQueue is stopped"));
        *ret = queue_change_write(h->c, &h->ch);
        return true;
    }
    if (s == NULL || !s->exists || s->terminating) {
        return give_up(h, "Misconfigured",
                       arena_f(a, "ClusterQueue %.*s is terminating or missing", STR_ARG(name)),
                       ret);
    }
    return s->stopped &&
           give_up(h, "Suspended", arena_f(a, "ClusterQueue %.*s is stopped", STR_ARG(name)), ret);
}

/* ---- readiness ---- */

/* How long its pods may go on not being ready, and which wait that is; INT64_MAX: no limit. */
static int64_t ready_left(const struct holding *h, const char **ret_cause) {
    const struct queue_ready_settings *s = &h->c->settings->ready;
    const struct condition *a = conditions_find(&h->w->status->conditions, "Admitted");
    const struct condition *p = conditions_find(&h->w->status->conditions, "PodsReady");
    if (!s->on || !h->admitted || (p != NULL && str_is(p->status, "True"))) {
        return INT64_MAX;
    }
    if (p != NULL && str_is(p->reason, "WaitForRecovery")) {
        *ret_cause = "WaitForRecovery";
        return s->recovery_timeout_ns == 0
                   ? INT64_MAX
                   : p->last_transition_ns + s->recovery_timeout_ns - h->ch.now_ns;
    }
    *ret_cause = "WaitForStart";
    return a->last_transition_ns + s->timeout_ns - h->ch.now_ns;
}

static bool by_ready(struct holding *h, enum work *ret) {
    const struct queue_ready_settings *s = &h->c->settings->ready;
    const struct requeue_state *r = h->w->status->requeue_state;
    const char *cause = "";
    int64_t left = ready_left(h, &cause);
    if (left > 0) {
        if (left < INT64_MAX) {
            queue_look(h->c, QS_WORKLOAD, h->q->ns, h->q->name, left);
        }
        return false;
    }
    int32_t count = workload_count_more(r != NULL && r->count.set ? r->count.v : 0);
    if (s->backoff_limit >= 0 && count > s->backoff_limit) {
        workload_change_set(&h->ch, "DeactivationTarget", true, "RequeuingLimitExceeded",
                            STR("exceeding the maximum number of re-queuing retries"));
    } else {
        int64_t wait = backoff_ns(s->backoff_base_s, s->backoff_max_s, count, h->q->uid);
        workload_change_requeue(&h->ch, count, h->ch.now_ns + wait);
        evict(h, "PodsReadyTimeout", cause,
              arena_f(&h->c->base.arena, "Exceeded the PodsReady timeout %.*s/%.*s",
                      STR_ARG(h->q->ns), STR_ARG(h->q->name)));
    }
    *ret = queue_change_write(h->c, &h->ch);
    return true;
}

/* ---- admission ---- */

/* Whether all of its checks are Ready; false too when that cannot be known now, and *ret says so. */
static bool is_cleared(struct holding *h, enum work *ret) {
    struct check_need need;
    if (queue_checks_of(h->c, h->w, &need) != 0) {
        *ret = WORK_RETRY;
        return false;
    }
    return queue_checks_ready(h->w, &need);
}

static bool by_clearance(struct holding *h, enum work *ret) {
    const struct condition *r = conditions_find(&h->w->status->conditions, "QuotaReserved");
    if (h->admitted || !is_cleared(h, ret)) {
        return !h->admitted && *ret == WORK_RETRY;
    }
    int64_t waited = (h->ch.now_ns - r->last_transition_ns) / NS_PER_SEC;
    workload_change_set(&h->ch, "Admitted", true, "Admitted", STR("The workload is admitted"));
    queue_tell(h->q, EVENT_NORMAL, "Admitted",
               "Admitted by ClusterQueue %.*s, wait time since reservation was %llds",
               STR_ARG(h->w->status->admission->cluster_queue), (long long)waited);
    *ret = queue_change_write(h->c, &h->ch);
    return h->ch.changed;
}

static bool by_waiting(struct holding *h, enum work *ret) {
    if (h->admitted) {
        return false;
    }
    workload_change_set(&h->ch, "Admitted", false, queue_unsatisfied(h->c),
                        STR("The workload has not all checks ready"));
    *ret = queue_change_write(h->c, &h->ch);
    return h->ch.changed;
}

enum work queue_holding(struct queue_controller *c, const struct object *o,
                        const struct workload *w, struct queue_work *q) {
    static bool (*const steps[])(struct holding *, enum work *) = {
        by_checks, by_clearance, by_local, by_cluster, by_ready, by_waiting};
    struct holding h = {.c = c, .q = q, .o = o, .w = w};
    const struct condition_list *l = &w->status->conditions;
    enum work result = WORK_OK;
    workload_change_init(&h.ch, o, w, &c->base.arena, clock_wall(c->env->clock));
    h.ch.settings = c->settings;
    if (conditions_true(l, "Evicted")) {
        mem_free(q->victim);
        q->victim = NULL;
        return WORK_OK;
    }
    if (q->victim != NULL) {
        return queue_victim_write(c, o, w, q);
    }
    if ((w->spec->active.set && !w->spec->active.v) || conditions_true(l, "DeactivationTarget") ||
        o->deleting_ns != 0) {
        return WORK_OK; /* workload_life goes on with it, or its owner */
    }
    h.cluster = map_get(&c->clusters, w->status->admission->cluster_queue);
    h.admitted = conditions_true(l, "Admitted");
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (steps[i](&h, &result)) {
            return result;
        }
    }
    return WORK_OK;
}

/* ---- coming again ---- */

static const char *return_of(struct str reason, const char **ret_text) {
    static const struct {
        const char *was, *reason, *text;
    } table[] = {
        {"ClusterQueueStopped", "ClusterQueueRestarted",
         "The ClusterQueue was restarted after being stopped"},
        {"LocalQueueStopped", "LocalQueueRestarted",
         "The LocalQueue was restarted after being stopped"},
        {"PodsReadyTimeout", "BackoffFinished", "The workload backoff was finished"},
        {"AdmissionCheck", "BackoffFinished", "The workload backoff was finished"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (str_is(reason, table[i].was)) {
            *ret_text = table[i].text;
            return table[i].reason;
        }
    }
    return NULL;
}

/* Whether what it was stopped for is over. */
static bool has_passed(const struct queue_controller *c, const struct queue_work *q,
                       struct str reason) {
    const struct local_state *l = q->local;
    bool local = str_is(reason, "LocalQueueStopped"),
         cluster = str_is(reason, "ClusterQueueStopped");
    if (!local && !cluster) {
        return true;
    }
    if (l == NULL || !l->exists || l->stopped) {
        return false;
    }
    const struct cluster_state *s =
        l->cluster != NULL ? map_get(&c->clusters, str_of(l->cluster)) : NULL;
    return local || (s != NULL && s->exists && !s->stopped);
}

bool queue_returns(struct queue_controller *c, const struct object *o, const struct workload *w,
                   struct queue_work *q, enum work *ret) {
    static const struct condition_list none;
    const struct condition *r =
        conditions_find(w->status != NULL ? &w->status->conditions : &none, "Requeued");
    int64_t now = clock_wall(c->env->clock);
    int64_t at = w->status != NULL && w->status->requeue_state != NULL
                     ? w->status->requeue_state->requeue_at_ns
                     : 0;
    bool out = r != NULL && str_is(r->status, "False");
    const char *text = NULL;
    const char *reason = out && has_passed(c, q, r->reason) ? return_of(r->reason, &text) : NULL;
    if (at > now || (at == 0 && reason == NULL)) {
        return false;
    }
    struct workload_change ch;
    workload_change_init(&ch, o, w, &c->base.arena, now);
    workload_change_requeued(&ch);
    if (reason != NULL) {
        workload_change_set(&ch, "Requeued", true, reason, str_of(text));
    }
    *ret = queue_change_write(c, &ch);
    return true;
}

/* ---- preemption gates ---- */

static const struct preemption_gate_state *gate_of(const struct workload *w, struct str name) {
    for (size_t i = 0; w->status != NULL && i < w->status->preemption_gates.n; i++) {
        if (str_eq(w->status->preemption_gates.v[i].name, name)) {
            return &w->status->preemption_gates.v[i];
        }
    }
    return NULL;
}

bool queue_gates(struct queue_controller *c, const struct object *o, const struct workload *w,
                 enum work *ret) {
    size_t want = w->spec != NULL ? w->spec->preemption_gates.n : 0;
    bool same = want == (w->status != NULL ? w->status->preemption_gates.n : 0);
    struct workload_change ch;
    for (size_t i = 0; same && i < want; i++) {
        same = gate_of(w, w->spec->preemption_gates.v[i].name) != NULL;
    }
    if (same) {
        return false;
    }
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->env->clock));
    struct preemption_gate_state *v =
        ARENA_ARRAY(&c->base.arena, struct preemption_gate_state, want + 1);
    for (size_t i = 0; v != NULL && i < want; i++) {
        struct str name = w->spec->preemption_gates.v[i].name;
        const struct preemption_gate_state *g = gate_of(w, name);
        v[i] = g != NULL ? *g : (struct preemption_gate_state){.last_transition_ns = ch.now_ns};
        v[i].name = name;
        v[i].position = str_is(v[i].position, "Open") ? STR("Open") : STR("Closed");
    }
    ch.status.preemption_gates.v = v;
    ch.status.preemption_gates.n = want;
    *ret = queue_change_write(c, &ch);
    return true;
}

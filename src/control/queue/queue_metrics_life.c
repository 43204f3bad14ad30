/*
 * queue_metrics_life: what happened to a Workload between two of its versions, as counters and waiting times.
 *
 * Times are differences between now and the transition times that are written, as Kueue takes them.
 */
#include "control/queue/queue_metrics_private.h"

struct view {
    struct queue_controller *c;
    struct queue_metrics *m;
    const struct object *o;
    const struct workload *w;
    struct queue_work *q;
    struct str cq, pc;
    struct metric_owner *own;       /* of the ClusterQueue */
    struct metric_owner *local_own; /* NULL: its LocalQueue is not measured */
    int64_t now;
};

static const struct condition *find(const struct view *v, const char *type) {
    return v->w->status != NULL ? conditions_find(&v->w->status->conditions, type) : NULL;
}

static bool is_true(const struct view *v, const char *type) {
    const struct condition *x = find(v, type);
    return x != NULL && str_is(x->status, "True");
}

static double since(const struct view *v, int64_t ns) {
    return ns > 0 && v->now > ns ? (double)(v->now - ns) / 1e9 : 0;
}

static double since_condition(const struct view *v, const char *type) {
    const struct condition *x = find(v, type);
    return x != NULL ? since(v, x->last_transition_ns) : 0;
}

/* Since it was created, or queued again. */
static double queued(const struct view *v) {
    const struct condition *x = find(v, "Requeued");
    return since(v, x != NULL ? x->last_transition_ns : v->o->created_ns);
}

/* ---- into both families ---- */

_Static_assert(M_EXECUTION - M_RESERVED + 1 == METRIC_COMMON &&
                   M_LOCAL_EXECUTION - M_LOCAL_RESERVED + 1 == METRIC_COMMON,
               "what Workloads commonly pass, in one order in both families");

/* Most Workloads have no priority class: what they count in is looked up once a queue. */
static struct prom_series *cluster_series(const struct view *v, enum metric id) {
    struct prom_series **s = &v->own->common[id - M_RESERVED];
    if (v->pc.n > 0) {
        return METRIC(v->m, id, v->own, v->cq, v->pc);
    }
    return *s != NULL ? *s : (*s = METRIC(v->m, id, v->own, v->cq, v->pc));
}

static struct prom_series *local_series(const struct view *v, enum metric id) {
    const struct local_state *l = v->q->local;
    if (v->local_own == NULL) {
        return NULL;
    }
    struct prom_series **s = &v->local_own->common[id - M_LOCAL_RESERVED];
    if (v->pc.n > 0) {
        return METRIC(v->m, id, v->local_own, l->name, l->ns, v->pc);
    }
    return *s != NULL ? *s : (*s = METRIC(v->m, id, v->local_own, l->name, l->ns, v->pc));
}

static void count(const struct view *v, enum metric id, enum metric local) {
    prom_add(cluster_series(v, id), 1);
    prom_add(local_series(v, local), 1);
}

static void observe(const struct view *v, enum metric id, enum metric local, double seconds) {
    prom_observe(cluster_series(v, id), seconds);
    prom_observe(local_series(v, local), seconds);
}

/* ---- transitions ---- */

static void cohort_admitted(void *ctx, struct str cohort) {
    const struct view *v = ctx;
    struct cohort_metrics *h = metric_cohort(v->m, cohort);
    if (h != NULL) {
        prom_add(METRIC(v->m, M_COHORT_ADMITTED, &h->own, cohort, v->pc), 1);
    }
}

static void admitted(struct view *v) {
    count(v, M_ADMITTED, M_LOCAL_ADMITTED);
    observe(v, M_ADMITTED_WAIT, M_LOCAL_ADMITTED_WAIT, queued(v));
    observe(v, M_CHECKS_WAIT, M_LOCAL_CHECKS_WAIT, /* times are whole seconds */
            v->q->seen.reserved ? since_condition(v, "QuotaReserved") : 0);
    if (v->c->settings->gates.cohort_metrics) {
        (void)engine_above(v->c->engine, v->cq, cohort_admitted, v);
    }
}

static void started(struct view *v) {
    observe(v, M_READY_WAIT, M_LOCAL_READY_WAIT, queued(v));
    observe(v, M_ADMITTED_READY, M_LOCAL_ADMITTED_READY, since_condition(v, "Admitted"));
}

/* The reason as metrics tell it: what a deactivation was due to stands apart. */
static void eviction_reason(const struct view *v, struct str *reason, struct str *cause) {
    struct str due = STR("DeactivatedDueTo");
    const struct condition *x = find(v, "Evicted"), *ready = find(v, "PodsReady");
    *reason = x != NULL ? x->reason : (struct str){0};
    *cause = STR("");
    if (str_starts(*reason, due)) {
        *cause = str_skip(*reason, due.n);
        *reason = STR("Deactivated");
    } else if (str_is(*reason, "PodsReadyTimeout")) { /* whatever word whoever runs it has for it */
        bool again = ready != NULL && str_is(ready->reason, "WaitForRecovery");
        *cause = again ? STR("WaitForRecovery") : STR("WaitForStart");
    }
}

/* How often it was evicted for this; 0: nothing is written of it. */
static int32_t evictions(const struct view *v, struct str reason, struct str cause) {
    const struct scheduling_stats *s = v->w->status->scheduling_stats;
    for (size_t i = 0; s != NULL && i < s->evictions.n; i++) {
        const struct scheduling_eviction *e = &s->evictions.v[i];
        if (str_eq(e->reason, reason) && str_eq(e->underlying_cause, cause)) {
            return e->count;
        }
    }
    return 0;
}

static void evicted(struct view *v) {
    struct work_seen *seen = &v->q->seen;
    struct str reason, cause;
    eviction_reason(v, &reason, &cause);
    prom_add(METRIC(v->m, M_EVICTED, v->own, v->cq, reason, cause, v->pc), 1);
    if (evictions(v, reason, cause) <= 1) {
        prom_add(METRIC(v->m, M_EVICTED_ONCE, v->own, v->cq, reason, cause, v->pc), 1);
    }
    if (v->local_own != NULL) {
        const struct local_state *l = v->q->local;
        prom_add(METRIC(v->m, M_LOCAL_EVICTED, v->local_own, l->name, l->ns, reason, cause, v->pc),
                 1);
    }
    if (seen->ready_ns != 0) {
        prom_observe(METRIC(v->m, M_READY_EVICTED, v->own, v->cq, reason, cause),
                     since(v, seen->ready_ns));
    }
    seen->evicted_ns = v->now;
    seen->evicted_reason = metric_word(v->m, reason);
}

/* "...; preemptor path: /root/team/queue; ...": the queue. */
static void preempted(struct view *v) {
    const struct condition *x = find(v, "Preempted");
    struct str path = STR("preemptor path: "), text = x->message, name = {0}, rest;
    for (; text.n >= path.n && !str_starts(text, path);) {
        text = str_skip(text, 1);
    }
    if (!str_starts(text, path)) {
        return;
    }
    (void)str_cut(str_skip(text, path.n), ';', &rest, &text);
    while (str_cut(rest, '/', &name, &rest)) {
    }
    struct cluster_state *s = queue_cluster(v->c, name);
    if (s != NULL && s->exists) {
        prom_add(METRIC(v->m, M_PREEMPTED, &s->metrics, name, x->reason), 1);
    }
}

static void released(struct view *v) {
    struct work_seen *seen = &v->q->seen;
    struct cluster_state *s = seen->cluster;
    if (seen->evicted_ns != 0 && s != NULL && s->exists) {
        struct str reason = names_text(&v->m->words, seen->evicted_reason);
        prom_observe(METRIC(v->m, M_EVICTION_LATENCY, &s->metrics, s->name, reason),
                     since(v, seen->evicted_ns));
        seen->evicted_ns = 0;
    }
}

static void finished(struct view *v) {
    const struct condition *x = find(v, "Finished");
    count(v, M_FINISHED, M_LOCAL_FINISHED);
    if (x != NULL && str_is(x->reason, "WorkloadSliceReplaced")) {
        prom_add(METRIC(v->m, M_SLICES_REPLACED, v->own, v->cq), 1);
    }
    if (v->q->seen.admitted_ns != 0) {
        observe(v, M_EXECUTION, M_LOCAL_EXECUTION, since(v, v->q->seen.admitted_ns));
    }
}

/* How long its job was there before it. */
static void created(struct view *v) {
    const struct owner_ref *job = object_controller(v->o);
    struct str group, version;
    if (job == NULL || !str_cut(job->api_version, '/', &group, &version)) {
        return;
    }
    const struct kind *k = kind_by_name(group, job->kind);
    const struct object *o =
        k != NULL ? mirror_get(v->c->env->mirror, k, v->o->ns, job->name) : NULL;
    if (o != NULL && o->generation == 1 && str_eq(o->uid, job->uid)) {
        prom_observe(METRIC(v->m, M_CREATION, NULL, job->kind),
                     v->o->created_ns > o->created_ns
                         ? (double)(v->o->created_ns - o->created_ns) / 1e9
                         : 0);
    }
}

/* ---- what stands now ---- */

static void counted(struct queue_controller *c, struct work_seen *s, int64_t n) {
    if (s->finished) {
        struct metric_owner *o[] = {s->cluster != NULL ? &s->cluster->metrics : NULL,
                                    s->local != NULL ? &s->local->metrics : NULL};
        for (size_t i = 0; i < 2; i++) {
            if (o[i] != NULL) {
                o[i]->finished += n;
                o[i]->clean = false;
            }
        }
    }
    if (s->waits && s->cluster != NULL) {
        metric_cause_add(&s->cluster->metrics, s->reason, s->cause, n);
    }
    if (s->waits && s->local != NULL) {
        metric_cause_add(&s->local->metrics, s->reason, s->cause, n);
    }
}

static void stands(struct view *v, struct cluster_state *cluster) {
    struct work_seen *s = &v->q->seen;
    const struct condition *a = find(v, "Admitted"), *r = find(v, "QuotaReserved");
    struct work_seen next = *s;
    next.cluster = cluster;
    next.local = v->q->local;
    next.finished = is_true(v, "Finished");
    next.waits = !next.finished && v->o->deleting_ns == 0 && !is_true(v, "Admitted") &&
                 v->c->settings->gates.unadmitted_observability;
    next.reason = metric_word(v->m, a != NULL ? a->reason : STR("NoReservation"));
    next.cause = metric_word(v->m, is_true(v, "QuotaReserved") ? STR("")
                                   : r != NULL                 ? r->reason
                                                               : STR("PendingEvaluation"));
    if (next.finished != s->finished || next.waits != s->waits || next.reason != s->reason ||
        next.cause != s->cause || next.cluster != s->cluster || next.local != s->local) {
        counted(v->c, s, -1);
        queue_cluster_ref(next.cluster);
        queue_cluster_unref(v->c, s->cluster);
        *s = next;
        counted(v->c, s, 1);
    }
}

static struct cluster_state *cluster_of(const struct view *v) {
    const struct workload_admission *a = v->w->status != NULL ? v->w->status->admission : NULL;
    const struct local_state *l = v->q->local;
    struct str name = a != NULL                         ? a->cluster_queue
                      : l != NULL && l->cluster != NULL ? str_of(l->cluster)
                                                        : (struct str){0};
    return name.n > 0 ? queue_cluster(v->c, name) : NULL;
}

static void compare(struct view *v) {
    struct work_seen *s = &v->q->seen;
    bool reserved = is_true(v, "QuotaReserved"), admits = is_true(v, "Admitted");
    bool evicts = is_true(v, "Evicted"), preempts = is_true(v, "Preempted");
    const struct condition *ready = find(v, "PodsReady");
    bool begun = ready != NULL && str_is(ready->status, "True") && str_is(ready->reason, "Started");
    if (s->known) {
        if (reserved && !s->reserved) {
            count(v, M_RESERVED, M_LOCAL_RESERVED);
            observe(v, M_RESERVED_WAIT, M_LOCAL_RESERVED_WAIT, queued(v));
        }
        if (admits && !s->admitted) {
            admitted(v);
        }
        if (begun && !s->started) {
            started(v);
        }
        if (preempts && !s->preempted) {
            preempted(v);
        }
        if (evicts && !s->evicted) {
            evicted(v);
        }
        if (!reserved && s->reserved) {
            released(v);
        }
        if (is_true(v, "Finished") && !s->finished) {
            finished(v);
        }
    }
    if (admits && s->admitted_ns == 0) {
        s->admitted_ns = s->known ? v->now : find(v, "Admitted")->last_transition_ns;
    }
    s->ready_ns = ready != NULL && str_is(ready->status, "True") ? ready->last_transition_ns : 0;
    s->started = s->started || begun;
    s->reserved = reserved;
    s->admitted = admits;
    s->evicted = evicts;
    s->preempted = preempts;
}

void queue_metrics_seen(struct queue_controller *c, const struct object *o,
                        const struct workload *w, struct queue_work *q) {
    struct metric_owner none = {0};
    if (c->metrics == NULL) {
        return;
    }
    struct view v = {.c = c,
                     .m = c->metrics,
                     .o = o,
                     .w = w,
                     .q = q,
                     .now = clock_wall(c->env->clock),
                     .local_own = metric_local_on(c, q->local) ? &q->local->metrics : NULL};
    const struct priority_class_ref *pc = w->spec != NULL ? w->spec->priority_class_ref : NULL;
    struct cluster_state *s = cluster_of(&v);
    v.pc = pc != NULL ? pc->name : STR("");
    v.cq = s != NULL ? s->name : STR("");
    v.own = s != NULL ? &s->metrics : &none;
    if (!q->seen.known && (w->status == NULL || w->status->conditions.n == 0)) {
        q->seen.known = true; /* it is new: nothing of it was counted before */
        created(&v);
    }
    compare(&v);
    stands(&v, s);
    q->seen.known = true;
    metric_series_drop(&none.gauges); /* of one that belongs nowhere, nothing stays */
    metric_series_drop(&none.counters);
    metric_owner_release(&none);
}

void queue_metrics_gone(struct queue_controller *c, struct queue_work *q) {
    if (c->metrics != NULL) {
        counted(c, &q->seen, -1);
        queue_cluster_unref(c, q->seen.cluster);
        q->seen = (struct work_seen){0};
    }
}

/* ---- runs of the engine ---- */

void queue_metrics_run(struct queue_controller *c, const struct engine_action *a, size_t n,
                       int64_t started_ns) {
    struct queue_metrics *m = c->metrics;
    bool done = false;
    if (m == NULL || n == 0) {
        return;
    }
    m->run++;
    for (size_t i = 0; i < n; i++) {
        done = done || a[i].type != ACTION_PEND;
        enum pend_turn turn = a[i].type == ACTION_PEND ? a[i].verdict->turn : TURN_NONE;
        if (turn != TURN_OVERLAP && turn != TURN_DEFERRED_FIT) {
            continue;
        }
        struct cluster_state *s = queue_cluster(c, a[i].queue);
        if (s != NULL && s->exists) {
            bool skipped = turn == TURN_OVERLAP;
            prom_add(METRIC(m, M_RECOMPUTATIONS, &s->metrics, s->name,
                            skipped ? STR("skipped") : STR("deferred_fit")),
                     1);
            s->metrics.skips = s->metrics.skips_run == m->run ? s->metrics.skips : 0;
            s->metrics.skips += skipped;
            s->metrics.skips_run = m->run;
        }
    }
    struct str result = done ? STR("success") : STR("inadmissible");
    double seconds = (double)(clock_mono(c->env->clock) - started_ns) / 1e9;
    prom_add(METRIC(m, M_ATTEMPTS, NULL, result), 1);
    prom_observe(METRIC(m, M_ATTEMPT_SECONDS, NULL, result), seconds);
}

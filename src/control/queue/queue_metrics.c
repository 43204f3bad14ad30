/* queue_metrics: the table of metrics, and the series of queues and cohorts as they come and go. */
#include "control/queue/queue_metrics_private.h"

enum { WORDS_MAX = 300, SERIES_MAX = 400000, ROW_LABELS = 6 };

enum bucket_set { DEFAULT_BUCKETS, E14, E16, LATENCY };

static const struct row {
    const char *name;
    enum prom_type type;
    enum bucket_set buckets;
    const char *labels[ROW_LABELS];
    const char *help;
} rows[METRICS] = {
#define G(id, name, help, ...) [id] = {"kueue_" name, PROM_GAUGE, 0, {__VA_ARGS__}, help}
#define C(id, name, help, ...) [id] = {"kueue_" name, PROM_COUNTER, 0, {__VA_ARGS__}, help}
#define H(id, name, set, help, ...) [id] = {"kueue_" name, PROM_HISTOGRAM, set, {__VA_ARGS__}, help}
#define CQ "cluster_queue"
#define PC "priority_class"
#define LQ "name", "namespace"
#define WHY "reason", "underlying_cause"
    C(M_ATTEMPTS, "admission_attempts_total", "Runs of the scheduler that had something to decide.",
      "result"),
    H(M_ATTEMPT_SECONDS, "admission_attempt_duration_seconds", DEFAULT_BUCKETS,
      "How long such a run took.", "result"),
    G(M_SKIPS, "admission_cycle_preemption_skips",
      "Workloads with victims to preempt that were skipped in the last run.", CQ),
    C(M_RECOMPUTATIONS, "preemption_target_recomputations_total",
      "Workloads whose victims were also those of another one.", CQ, "result"),
    G(M_BUILD, "build_info", "What is running.", "git_version", "git_commit", "build_date",
      "go_version", "compiler", "platform"),
    H(M_CREATION, "workload_creation_latency_seconds", LATENCY,
      "From the creation of a job to that of its Workload.", "job_kind"),
    G(M_PENDING, "pending_workloads", "Workloads that wait.", CQ, "status"),
    G(M_HASHES, "pending_scheduling_hashes", "Sorts of workloads that wait.", CQ, "status"),
    C(M_RESERVED, "quota_reserved_workloads_total", "Workloads that got quota.", CQ, PC),
    C(M_ADMITTED, "admitted_workloads_total", "Workloads that were admitted.", CQ, PC),
    C(M_FINISHED, "finished_workloads_total", "Workloads that ended.", CQ, PC),
    H(M_RESERVED_WAIT, "quota_reserved_wait_time_seconds", E14,
      "From creation or requeueing to quota.", CQ, PC),
    H(M_ADMITTED_WAIT, "admission_wait_time_seconds", E16,
      "From creation or requeueing to admission.", CQ, PC),
    H(M_CHECKS_WAIT, "admission_checks_wait_time_seconds", E14, "From quota to admission.", CQ, PC),
    H(M_READY_WAIT, "ready_wait_time_seconds", E14, "From creation or requeueing to ready pods.",
      CQ, PC),
    H(M_ADMITTED_READY, "admitted_until_ready_wait_time_seconds", E14,
      "From admission to ready pods.", CQ, PC),
    H(M_EXECUTION, "execution_time_seconds", E16, "From the first admission to the end.", CQ, PC),
    C(M_EVICTED, "evicted_workloads_total", "Evictions.", CQ, WHY, PC),
    C(M_EVICTED_ONCE, "evicted_workloads_once_total",
      "Workloads evicted for this reason for the first time.", CQ, WHY, PC),
    C(M_SLICES_REPLACED, "replaced_workload_slices_total",
      "Workloads of elastic Jobs whose place a larger Workload took.", CQ),
    H(M_READY_EVICTED, "pods_ready_to_evicted_time_seconds", E14, "From ready pods to an eviction.",
      CQ, WHY),
    H(M_EVICTION_LATENCY, "workload_eviction_latency_seconds", E14,
      "From an eviction to its quota being free.", CQ, "reason"),
    C(M_PREEMPTED, "preempted_workloads_total", "Workloads preempted for this ClusterQueue.",
      "preempting_cluster_queue", "reason"),
    G(M_RESERVING_NOW, "reserving_active_workloads", "Workloads that hold quota.", CQ),
    G(M_ADMITTED_NOW, "admitted_active_workloads", "Workloads that are admitted.", CQ),
    G(M_FINISHED_NOW, "finished_workloads", "Workloads that ended and are still there.", CQ),
    G(M_UNADMITTED, "unadmitted_workloads", "Workloads that are not admitted, by reason.", CQ, WHY),
    G(M_STATUS, "cluster_queue_status", "1 for the state that the ClusterQueue is in.", CQ,
      "status"),
    G(M_INFO, "cluster_queue_info", "Where the ClusterQueue stands.", CQ, "parent_cohort",
      "root_cohort"),
    G(M_RESOURCE_PENDING, "cluster_queue_resource_pending", "What workloads that wait ask for.", CQ,
      "resource"),
#define CELL "cohort", CQ, "flavor", "resource"
    G(M_RESOURCE_RESERVATION, "cluster_queue_resource_reservation", "What is held.", CELL),
    G(M_RESOURCE_USAGE, "cluster_queue_resource_usage", "What admitted workloads hold.", CELL),
    G(M_NOMINAL, "cluster_queue_nominal_quota", "Nominal quota.", CELL),
    G(M_BORROWING, "cluster_queue_borrowing_limit", "Borrowing limit.", CELL),
    G(M_LENDING, "cluster_queue_lending_limit", "Lending limit.", CELL),
    G(M_SHARE, "cluster_queue_weighted_share", "Dominant resource share over the weight.", CQ,
      "cohort"),
    G(M_COHORT_SHARE, "cohort_weighted_share", "Dominant resource share over the weight.",
      "cohort"),
    G(M_COHORT_INFO, "cohort_info", "Where the Cohort stands.", "cohort", "parent_cohort",
      "root_cohort"),
    G(M_COHORT_QUOTA, "cohort_subtree_quota", "Quota in the subtree.", "cohort", "flavor",
      "resource"),
    G(M_COHORT_RESERVATIONS, "cohort_subtree_resource_reservations", "What is held in the subtree.",
      "cohort", "flavor", "resource"),
    C(M_COHORT_ADMITTED, "cohort_subtree_admitted_workloads_total",
      "Workloads that were admitted in the subtree.", "cohort", PC),
    G(M_COHORT_ADMITTED_NOW, "cohort_subtree_admitted_active_workloads",
      "Workloads that are admitted in the subtree.", "cohort"),
    G(M_LOCAL_PENDING, "local_queue_pending_workloads", "Workloads that wait.", LQ, "status"),
    G(M_LOCAL_FINISHED_NOW, "local_queue_finished_workloads",
      "Workloads that ended and are still there.", LQ),
    G(M_LOCAL_RESERVING_NOW, "local_queue_reserving_active_workloads", "Workloads that hold quota.",
      LQ),
    G(M_LOCAL_ADMITTED_NOW, "local_queue_admitted_active_workloads", "Workloads that are admitted.",
      LQ),
    C(M_LOCAL_RESERVED, "local_queue_quota_reserved_workloads_total", "Workloads that got quota.",
      LQ, PC),
    C(M_LOCAL_ADMITTED, "local_queue_admitted_workloads_total", "Workloads that were admitted.", LQ,
      PC),
    C(M_LOCAL_FINISHED, "local_queue_finished_workloads_total", "Workloads that ended.", LQ, PC),
    H(M_LOCAL_RESERVED_WAIT, "local_queue_quota_reserved_wait_time_seconds", E14,
      "From creation or requeueing to quota.", LQ, PC),
    H(M_LOCAL_ADMITTED_WAIT, "local_queue_admission_wait_time_seconds", E14,
      "From creation or requeueing to admission.", LQ, PC),
    H(M_LOCAL_CHECKS_WAIT, "local_queue_admission_checks_wait_time_seconds", E14,
      "From quota to admission.", LQ, PC),
    H(M_LOCAL_READY_WAIT, "local_queue_ready_wait_time_seconds", E14,
      "From creation or requeueing to ready pods.", LQ, PC),
    H(M_LOCAL_ADMITTED_READY, "local_queue_admitted_until_ready_wait_time_seconds", E14,
      "From admission to ready pods.", LQ, PC),
    H(M_LOCAL_EXECUTION, "local_queue_execution_time_seconds", E16,
      "From the first admission to the end.", LQ, PC),
    C(M_LOCAL_EVICTED, "local_queue_evicted_workloads_total", "Evictions.", LQ, WHY, PC),
    G(M_LOCAL_STATUS, "local_queue_status", "1 for the state that the LocalQueue is in.", LQ,
      "active"),
    G(M_LOCAL_RESERVATION, "local_queue_resource_reservation", "What is held.", LQ, "flavor",
      "resource"),
    G(M_LOCAL_USAGE, "local_queue_resource_usage", "What admitted workloads hold.", LQ, "flavor",
      "resource"),
    G(M_LOCAL_FAIR_USAGE, "local_queue_admission_fair_sharing_usage",
      "What orders LocalQueues under admission fair sharing.", LQ, CQ),
    G(M_LOCAL_UNADMITTED, "local_queue_unadmitted_workloads",
      "Workloads that are not admitted, by reason.", LQ, CQ, WHY),
};

/* ---- families ---- */

static void buckets_set(struct prom_family *f, enum bucket_set set) {
    double v[PROM_BUCKETS_MAX];
    size_t n = set == E14 ? 14 : set == E16 ? 16 : set == LATENCY ? 11 : 0;
    double next = set == LATENCY ? 0.01 : 2.5;
    for (size_t i = 0; i < n; i++) {
        v[i] = i == 0 && set != LATENCY ? 1 : next;
        next *= i == 0 && set != LATENCY ? 1 : 2;
    }
    if (n > 0) {
        (void)prom_buckets(f, v, n);
    }
}

static bool family_make(struct queue_metrics *m, enum metric id) {
    const struct row *r = &rows[id];
    const char *labels[ROW_LABELS + 1];
    size_t n = 0;
    while (n < ROW_LABELS && r->labels[n] != NULL) {
        labels[n] = r->labels[n];
        n++;
    }
    if (id != M_BUILD) {
        labels[n++] = "replica_role";
    }
    m->families[id] = prom_family(m->prom, r->type, r->name, r->help, labels, n);
    prom_limit(m->families[id], SERIES_MAX);
    if (r->type == PROM_HISTOGRAM) {
        buckets_set(m->families[id], r->buckets);
    }
    return m->families[id] != NULL;
}

int queue_metrics_init(struct queue_controller *c) {
    uint32_t unused;
    if (c->env->prom == NULL) {
        return 0;
    }
    struct queue_metrics *m = mem_zalloc(sizeof(*m));
    if (m == NULL) {
        return ERR_NOMEM;
    }
    c->metrics = m;
    m->prom = c->env->prom;
    m->role = str_of(c->env->role != NULL ? c->env->role : "standalone");
    names_init(&m->words);
    bool ok = names_intern(&m->words, STR("Other"), &unused) == 0 &&
              prom_stepper(m->prom, metrics_collect, c) == 0;
    for (enum metric id = 0; ok && id < METRICS; id++) {
        ok = family_make(m, id);
    }
    prom_set(METRIC(m, M_BUILD, NULL, STR("v" BERTH_VERSION), STR(""), STR(""), STR(""), STR("cc"),
                    STR("linux/amd64")),
             1);
    return ok ? 0 : ERR_NOMEM;
}

static void list_release(struct series_list *l) {
    mem_free(l->v);
    *l = (struct series_list){0};
}

void metric_owner_release(struct metric_owner *o) {
    list_release(&o->gauges);
    list_release(&o->counters);
    mem_free(o->causes);
    *o = (struct metric_owner){0};
}

void queue_metrics_release(struct queue_controller *c) {
    struct queue_metrics *m = c->metrics;
    if (m == NULL) {
        return;
    }
    size_t i = 0;
    prom_collector_del(m->prom, c);
    for (enum metric id = 0; id < METRICS; id++) {
        prom_clear(m->families[id]);
    }
    for (const struct map_entry *e; (e = map_next(&m->cohorts, &i)) != NULL;) {
        struct cohort_metrics *h = e->value;
        metric_owner_release(&h->own);
        tally_release(&h->tally);
        mem_free(h);
    }
    map_release(&m->cohorts);
    names_release(&m->words);
    mem_free(m);
    c->metrics = NULL;
}

/* ---- series and their owners ---- */

static int list_push(struct series_list *l, struct prom_series *s) {
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? 2 * l->cap : 8;
        struct prom_series **v = mem_realloc(l->v, cap * sizeof(*v));
        if (v == NULL) {
            return ERR_NOMEM;
        }
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = s;
    return 0;
}

struct prom_series *metric_n(struct queue_metrics *m, enum metric id, struct metric_owner *own,
                             const struct str *values, size_t n) {
    struct str all[ROW_LABELS + 1];
    struct prom_family *f = m->families[id];
    if (n > ROW_LABELS) {
        return NULL;
    }
    memcpy(all, values, n * sizeof(*values));
    all[n] = m->role;
    struct prom_series *s = prom_find(f, all);
    if (s != NULL) {
        return s;
    }
    s = prom_series(f, all);
    struct series_list *l = own == NULL                   ? NULL
                            : rows[id].type == PROM_GAUGE ? &own->gauges
                                                          : &own->counters;
    if (s != NULL && l != NULL && list_push(l, s) != 0) {
        prom_forget(s); /* rather none than one that stays for ever */
        return NULL;
    }
    return s;
}

void metric_series_drop(struct series_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        prom_forget(l->v[i]);
    }
    l->n = 0;
}

uint32_t metric_word(struct queue_metrics *m, struct str text) {
    uint32_t id = names_find(&m->words, text);
    if (id == NAME_ABSENT && m->words.v.n < WORDS_MAX && names_intern(&m->words, text, &id) != 0) {
        id = NAME_ABSENT;
    }
    return id != NAME_ABSENT ? id : 0;
}

void metric_cause_add(struct metric_owner *o, uint32_t reason, uint32_t cause, int64_t n) {
    size_t i = 0;
    o->clean = false;
    while (i < o->n_causes && (o->causes[i].reason != reason || o->causes[i].cause != cause)) {
        i++;
    }
    if (i == o->cap_causes) {
        size_t cap = o->cap_causes > 0 ? 2 * o->cap_causes : 4;
        struct metric_cause *v = mem_realloc(o->causes, cap * sizeof(*v));
        if (v == NULL) {
            return;
        }
        o->causes = v;
        o->cap_causes = cap;
    }
    if (i == o->n_causes) {
        o->causes[o->n_causes++] = (struct metric_cause){reason, cause, 0};
    }
    o->causes[i].n += n;
}

struct cohort_metrics *metric_cohort(struct queue_metrics *m, struct str name) {
    struct cohort_metrics *h = map_get(&m->cohorts, name);
    if (h != NULL) {
        return h;
    }
    h = mem_zalloc(sizeof(*h) + name.n + 1);
    if (h == NULL) {
        return NULL;
    }
    memcpy(h->name, name.p, name.n);
    if (map_put(&m->cohorts, str_from(h->name, name.n), h, NULL) != 0) {
        mem_free(h);
        return NULL;
    }
    return h;
}

/* ---- objects that change or go ---- */

static void owner_changed(struct metric_owner *o, bool gone) {
    o->clean = false;
    o->place = NULL;
    metric_series_drop(&o->gauges);
    if (gone) {
        metric_series_drop(&o->counters);
        for (size_t i = 0; i < METRIC_COMMON; i++) {
            o->common[i] = NULL;
        }
    }
}

void queue_metrics_cluster(struct queue_controller *c, struct cluster_state *s) {
    if (c->metrics != NULL) {
        owner_changed(&s->metrics, !s->exists);
    }
}

bool metric_local_on(const struct queue_controller *c, const struct local_state *l) {
    return l != NULL && l->measured && c->settings->metrics.local_queues &&
           c->settings->gates.local_queue_metrics;
}

void queue_metrics_local(struct queue_controller *c, struct local_state *l, const struct object *o,
                         bool changed) {
    const struct selector *s = c->settings->metrics.local_queue_selector;
    bool measured = l->exists && (s == NULL || selector_matches(s, &o->labels));
    if (c->metrics != NULL && (changed || measured != l->measured)) {
        l->measured = measured;
        owner_changed(&l->metrics, !measured);
    }
}

/* queue_metrics_gauges: gauges, set when somebody asks; what did not change since is left as it is. */
#include "control/queue/queue_metrics_private.h"

#include <math.h>

enum { SLICE = 128 }; /* queues looked at in a turn */

/* An amount as people count it: cpu in cores. */
static double units(struct str resource, int64_t v) {
    return str_is(resource, "cpu") && v != AMOUNT_UNLIMITED ? (double)v / 1000 : (double)v;
}

static double limit(struct str resource, int64_t v) {
    return v == AMOUNT_NONE || v == AMOUNT_UNLIMITED ? INFINITY : units(resource, v);
}

static double whole(int64_t n) {
    return n > 0 ? (double)n : 0;
}

/* ---- ClusterQueues ---- */

static void cluster_pending(struct queue_controller *c, struct cluster_state *s) {
    struct queue_metrics *m = c->metrics;
    struct engine_counts n = {0};
    size_t active = 0, parked = 0;
    (void)engine_queue_counts(c->engine, s->name, &n);
    (void)engine_hashes(c->engine, s->name, &active, &parked);
    bool on = queue_cluster_active(c, s->name);
    int64_t ready = on ? (int64_t)(n.pending - n.parked) : 0;
    ready = ready < s->tally.pending ? ready : s->tally.pending;
    prom_set(METRIC(m, M_PENDING, &s->metrics, s->name, STR("active")), whole(ready));
    prom_set(METRIC(m, M_PENDING, &s->metrics, s->name, STR("inadmissible")),
             whole(s->tally.pending - ready));
    prom_set(METRIC(m, M_SKIPS, &s->metrics, s->name),
             s->metrics.skips_run == m->run ? whole(s->metrics.skips) : 0);
    prom_set(METRIC(m, M_HASHES, &s->metrics, s->name, STR("active")), (double)active);
    prom_set(METRIC(m, M_HASHES, &s->metrics, s->name, STR("inadmissible")), (double)parked);
}

static void cluster_cell(struct queue_controller *c, struct cluster_state *s,
                         const struct cluster_flavor *f, const struct cluster_resource *r) {
    struct queue_metrics *m = c->metrics;
    uint32_t flavor = names_find(engine_flavors(c->engine), f->name);
    uint32_t resource = names_find(engine_resources(c->engine), r->name);
    struct str h = s->shape->cohort;
#define CELL(id) METRIC(m, id, &s->metrics, h, s->name, f->name, r->name)
    prom_set(CELL(M_RESOURCE_RESERVATION),
             units(r->name, tally_reserved(&s->tally, flavor, resource)));
    prom_set(CELL(M_RESOURCE_USAGE), units(r->name, tally_admitted(&s->tally, flavor, resource)));
    prom_set(CELL(M_NOMINAL), limit(r->name, r->nominal));
    prom_set(CELL(M_BORROWING), limit(r->name, r->borrowing));
    prom_set(CELL(M_LENDING), limit(r->name, r->lending));
#undef CELL
}

static void cluster_asks(struct queue_controller *c, struct cluster_state *s) {
    for (size_t i = 0; i < s->tally.n; i++) {
        const struct tally_cell *x = &s->tally.v[i];
        if (x->flavor == NAME_ABSENT) {
            struct str r = names_text(engine_resources(c->engine), x->resource);
            prom_set(METRIC(c->metrics, M_RESOURCE_PENDING, &s->metrics, s->name, r),
                     units(r, amount_clamp(x->reserved)));
        }
    }
}

static void causes(struct queue_metrics *m, struct metric_owner *o, enum metric id,
                   const struct str *head, size_t n_head) {
    struct str v[6];
    memcpy(v, head, n_head * sizeof(*head));
    for (size_t i = 0; i < o->n_causes; i++) {
        v[n_head] = names_text(&m->words, o->causes[i].reason);
        v[n_head + 1] = names_text(&m->words, o->causes[i].cause);
        prom_set(metric_n(m, id, o, v, n_head + 2), whole(o->causes[i].n));
    }
}

struct ends {
    struct str first, last;
};

static void above(void *ctx, struct str cohort) {
    struct ends *e = ctx;
    e->first = e->first.n > 0 ? e->first : cohort;
    e->last = cohort;
}

/* Cohorts above it move without it: what was told of its old place goes. */
static void place(struct queue_controller *c, struct cluster_state *s) {
    struct metric_owner *o = &s->metrics;
    struct ends e = {0};
    (void)engine_above(c->engine, s->name, above, &e);
    if (e.first.n == 0) { /* not linked, because it is not active */
        e.first = s->shape != NULL ? s->shape->cohort : e.first;
        e.last = e.first;
    }
    struct prom_series *x = METRIC(c->metrics, M_INFO, o, s->name, e.first, e.last);
    if (o->place != NULL && o->place != x) {
        metric_series_drop(&o->gauges);
        x = METRIC(c->metrics, M_INFO, o, s->name, e.first, e.last);
    }
    o->place = x;
    prom_set(x, 1);
}

static void cluster_gauges(struct queue_controller *c, struct cluster_state *s) {
    struct queue_metrics *m = c->metrics;
    struct metric_owner *o = &s->metrics;
    static const char *const states[] = {"pending", "active", "terminating"};
    size_t is = s->terminating ? 2 : queue_cluster_sound(c, s) ? 1 : 0;
    place(c, s);
    for (size_t i = 0; i < 3; i++) {
        prom_set(METRIC(m, M_STATUS, o, s->name, str_of(states[i])), i == is);
    }
    prom_set(METRIC(m, M_RESERVING_NOW, o, s->name), whole(s->tally.reserving));
    prom_set(METRIC(m, M_ADMITTED_NOW, o, s->name), whole(s->tally.admitted));
    prom_set(METRIC(m, M_FINISHED_NOW, o, s->name), whole(o->finished));
    causes(m, o, M_UNADMITTED, &s->name, 1);
    cluster_asks(c, s);
    for (size_t i = 0;
         c->settings->metrics.cluster_queue_resources && s->shape != NULL && i < s->shape->n; i++) {
        for (size_t k = 0; k < s->shape->flavors[i].n; k++) {
            cluster_cell(c, s, &s->shape->flavors[i], &s->shape->flavors[i].v[k]);
        }
    }
    o->clean = true;
}

/* A slice of a map; false: that was the last one. */
static bool slice(const struct map *m, size_t *at,
                  void (*each)(struct queue_controller *c, void *v), struct queue_controller *c) {
    const struct map_entry *e = NULL;
    for (size_t n = 0; n < SLICE && (e = map_next(m, at)) != NULL; n++) {
        each(c, e->value);
    }
    return e != NULL;
}

static void cluster(struct queue_controller *c, void *v) {
    struct cluster_state *s = v;
    bool shares = c->settings->fair_sharing && c->settings->metrics.cluster_queue_resources;
    if (!s->exists) {
        return;
    }
    if (!s->metrics.clean) {
        cluster_gauges(c, s);
    }
    cluster_pending(c, s);
    if (shares) {
        prom_set(METRIC(c->metrics, M_SHARE, &s->metrics, s->name,
                        s->shape != NULL ? s->shape->cohort : STR("")),
                 engine_share_exact(c->engine, true, s->name));
    }
}

/* ---- LocalQueues ---- */

static void local_cells(struct queue_controller *c, struct local_state *l,
                        const struct cluster_shape *shape) {
    struct queue_metrics *m = c->metrics;
    for (size_t i = 0; shape != NULL && i < shape->n; i++) {
        const struct cluster_flavor *f = &shape->flavors[i];
        uint32_t flavor = names_find(engine_flavors(c->engine), f->name);
        for (size_t k = 0; k < f->n; k++) {
            struct str r = f->v[k].name;
            uint32_t resource = names_find(engine_resources(c->engine), r);
            prom_set(METRIC(m, M_LOCAL_RESERVATION, &l->metrics, l->name, l->ns, f->name, r),
                     units(r, tally_reserved(&l->tally, flavor, resource)));
            prom_set(METRIC(m, M_LOCAL_USAGE, &l->metrics, l->name, l->ns, f->name, r),
                     units(r, tally_admitted(&l->tally, flavor, resource)));
        }
    }
}

static void local_gauges(struct queue_controller *c, struct local_state *l) {
    struct queue_metrics *m = c->metrics;
    struct metric_owner *o = &l->metrics;
    static const char *const states[] = {"True", "False", "Unknown"};
    struct str cq = l->cluster != NULL ? str_of(l->cluster) : STR("");
    const struct cluster_state *s = map_get(&c->clusters, cq);
    bool on = !l->stopped && s != NULL && queue_cluster_sound(c, s);
    for (size_t i = 0; i < 3; i++) {
        prom_set(METRIC(m, M_LOCAL_STATUS, o, l->name, l->ns, str_of(states[i])),
                 i == (on ? 0 : 1));
    }
    int64_t told = on ? l->tally.told : l->tally.pending;
    prom_set(METRIC(m, M_LOCAL_PENDING, o, l->name, l->ns, STR("active")),
             whole(l->tally.pending - told));
    prom_set(METRIC(m, M_LOCAL_PENDING, o, l->name, l->ns, STR("inadmissible")), whole(told));
    prom_set(METRIC(m, M_LOCAL_RESERVING_NOW, o, l->name, l->ns), whole(l->tally.reserving));
    prom_set(METRIC(m, M_LOCAL_ADMITTED_NOW, o, l->name, l->ns), whole(l->tally.admitted));
    prom_set(METRIC(m, M_LOCAL_FINISHED_NOW, o, l->name, l->ns), whole(o->finished));
    causes(m, o, M_LOCAL_UNADMITTED, (const struct str[]){l->name, l->ns, cq}, 3);
    local_cells(c, l, s != NULL && s->exists ? s->shape : NULL);
    o->clean = true;
}

static void local(struct queue_controller *c, void *v) {
    struct local_state *l = v;
    if (!metric_local_on(c, l)) {
        return;
    }
    if (!l->metrics.clean) {
        local_gauges(c, l);
    }
    double used = c->settings->usage.on ? engine_local_usage(c->engine, l->key) : -1;
    if (used >= 0) {
        prom_set(METRIC(c->metrics, M_LOCAL_FAIR_USAGE, &l->metrics, l->name, l->ns,
                        l->cluster != NULL ? str_of(l->cluster) : STR("")),
                 used);
    }
}

/* ---- Cohorts ---- */

struct gauge_round {
    struct queue_controller *c;
    const struct tally *tally; /* of the ClusterQueue whose cohorts are walked */
    struct str cohort;
    struct cohort_metrics *h;
};

static void cohort_sum(void *ctx, struct str cohort) {
    struct gauge_round *r = ctx;
    struct cohort_metrics *h = metric_cohort(r->c->metrics, cohort);
    if (h != NULL) {
        (void)tally_merge(&h->tally, r->tally);
    }
}

static bool cohort_begin(void *ctx, const struct engine_cohort *e) {
    struct gauge_round *r = ctx;
    struct queue_metrics *m = r->c->metrics;
    struct cohort_metrics *h = metric_cohort(m, e->name);
    if (h == NULL) {
        return true;
    }
    h->seen = true;
    metric_series_drop(&h->own.gauges);
    prom_set(METRIC(m, M_COHORT_INFO, &h->own, e->name, e->parent, e->root), 1);
    if (r->c->settings->fair_sharing) {
        prom_set(METRIC(m, M_COHORT_SHARE, &h->own, e->name),
                 engine_share_exact(r->c->engine, false, e->name));
    }
    return true;
}

static void cohort_cell(void *ctx, uint32_t flavor, uint32_t resource, int64_t quota) {
    struct gauge_round *r = ctx;
    struct queue_metrics *m = r->c->metrics;
    struct str f = names_text(engine_flavors(r->c->engine), flavor);
    struct str name = names_text(engine_resources(r->c->engine), resource);
    prom_set(METRIC(m, M_COHORT_QUOTA, &r->h->own, r->cohort, f, name), limit(name, quota));
    prom_set(METRIC(m, M_COHORT_RESERVATIONS, &r->h->own, r->cohort, f, name),
             units(name, tally_reserved(&r->h->tally, flavor, resource)));
}

static void cohorts_begin(struct queue_controller *c) {
    struct queue_metrics *m = c->metrics;
    struct gauge_round r = {.c = c};
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&m->cohorts, &i)) != NULL;) {
        struct cohort_metrics *h = e->value;
        h->seen = false;
        tally_release(&h->tally);
    }
    (void)engine_cohorts(c->engine, cohort_begin, &r); /* without memory there are none this time */
}

static void cohort_add(struct queue_controller *c, void *v) {
    const struct cluster_state *s = v;
    if (s->exists && s->shape != NULL && s->shape->cohort.n > 0) {
        struct gauge_round r = {.c = c, .tally = &s->tally};
        (void)engine_above(c->engine, s->name, cohort_sum, &r);
    }
}

static void cohorts_end(struct queue_controller *c) {
    struct queue_metrics *m = c->metrics;
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&m->cohorts, &i)) != NULL;) {
        struct cohort_metrics *h = e->value;
        struct gauge_round r = {.c = c, .cohort = e->key, .h = h};
        if (h->seen) {
            prom_set(METRIC(m, M_COHORT_ADMITTED_NOW, &h->own, e->key), whole(h->tally.admitted));
            (void)engine_cohort_quota(c->engine, e->key, cohort_cell, &r);
        } else {
            metric_series_drop(&h->own.gauges);
            metric_series_drop(&h->own.counters);
            metric_owner_release(&h->own);
            tally_release(&h->tally);
            map_del(&m->cohorts, e->key);
            mem_free(h);
        }
    }
}

/* ---- a slice at a time ---- */

enum { PHASE_CLUSTERS, PHASE_LOCALS, PHASE_COHORTS, PHASE_SUMS };

/* *at: phase, round of the cohorts' sums, place in a map. Two who ask at once would add to the same sums: the later one
 * begins them anew, and the earlier one leaves them to it. */
bool metrics_collect(void *ctx, uint64_t *at) {
    struct queue_controller *c = ctx;
    struct queue_metrics *m = c->metrics;
    uint64_t phase = *at >> 56, round = *at >> 32 & 0xffffff;
    size_t place = *at & 0xffffffff;
    if (phase == PHASE_CLUSTERS) {
        phase += !slice(&c->clusters, &place, cluster, c);
        place = phase == PHASE_CLUSTERS ? place : 0;
    }
    if (phase == PHASE_LOCALS && slice(&c->locals, &place, local, c) == false) {
        phase = PHASE_COHORTS;
        place = 0;
    }
    if (phase == PHASE_COHORTS) {
        if (!c->settings->gates.cohort_metrics) {
            return false;
        }
        cohorts_begin(c);
        round = m->round = (m->round + 1) & 0xffffff;
        phase = PHASE_SUMS;
    }
    if (phase == PHASE_SUMS) {
        if (round != m->round) {
            return false;
        }
        if (!slice(&c->clusters, &place, cohort_add, c)) {
            cohorts_end(c);
            return false;
        }
    }
    *at = phase << 56 | round << 32 | place;
    return true;
}

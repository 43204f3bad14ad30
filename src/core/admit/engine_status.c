/* engine_status (core): questions to the engine that change nothing. */
#include <math.h>

#include "core/admit/engine_list.h"
#include "core/admit/engine_parts.h"
#include "core/admit/engine_private.h"
#include "core/admit/fair.h"

bool engine_queue_counts(const struct engine *e, struct str queue, struct engine_counts *ret) {
    const struct queue *q = map_get(&e->queues.by_name, queue);
    if (q == NULL) {
        return false;
    }
    *ret = (struct engine_counts){.pending = queue_pending(q),
                                  .parked = q->n_parked,
                                  .holding = q->n_holding,
                                  .evicting = q->n_evicting};
    return true;
}

static uint64_t uid_hash(const struct queue_workload *w) {
    return hash_mix(hash_str(0, w->uid), 1);
}

/* Also those that are about to be tried again. */
size_t engine_active(const struct engine *e, uint64_t *ret_hash) {
    size_t i = 0, n = 0;
    uint64_t sum = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues.by_name, &i)) != NULL;) {
        const struct queue *q = m->value;
        bool valid = tree_valid(q), soon = valid ? q->tree->retry : !q->held;
        if (valid ? !q->active : q->held) {
            continue;
        }
        size_t k = 0;
        for (const struct map_entry *x; (x = map_next(&q->classes, &k)) != NULL;) {
            const struct queue_class *c = x->value;
            for (const struct queue_workload *w = c->first; w != NULL && (soon || !c->parked);
                 w = w->next) {
                sum += uid_hash(w);
                n++;
            }
        }
        for (const struct queue_workload *w = q->parked; w != NULL && soon; w = w->next) {
            sum += uid_hash(w);
            n++;
        }
    }
    *ret_hash = sum;
    return n;
}

double engine_share_exact(struct engine *e, bool queue, struct str name) {
    const struct quota_node *n = engine_settle(e) == 0 ? quota_find(&e->forest, queue, name) : NULL;
    if (n == NULL) {
        return 0;
    }
    double weighted = fair_share(&e->resources, n).weighted;
    return isinf(weighted) ? NAN : weighted;
}

int64_t engine_share(struct engine *e, bool queue, struct str name) {
    double weighted = engine_share_exact(e, queue, name);
    return isnan(weighted) || weighted >= 9e18 ? INT64_MAX : (int64_t)ceil(weighted);
}

static void path_of(const struct quota_node *n, struct buf *out) {
    if (n != NULL) {
        path_of(n->parent, out);
        buf_ch(out, '/');
        buf_str(out, n->name);
    }
}

void engine_path(struct engine *e, struct str queue, struct buf *out) {
    if (engine_settle(e) == 0) {
        path_of(quota_find(&e->forest, true, queue), out);
    }
}

int engine_parts(struct engine *e, struct engine_parts *ret) {
    int r = engine_settle(e);
    if (r != 0) {
        return r;
    }
    *ret = (struct engine_parts){.o = &e->o,
                                 .resources = &e->resources,
                                 .flavors = &e->flavors,
                                 .forest = &e->forest,
                                 .pool = e->pool,
                                 .queues = &e->queues,
                                 .workloads = &e->workloads};
    return 0;
}

int64_t engine_reserved(const struct engine *e, const struct quota_cell *c) {
    int64_t v = 0;
    for (size_t i = 0; i < e->cycle.reserved.n; i++) {
        v += e->cycle.reserved.v[i].cell == c ? e->cycle.reserved.v[i].v : 0;
    }
    return v;
}

/* ---- LocalQueues ---- */

int engine_local_put(struct engine *e, struct str local, double weight) {
    return usage_local_put(&e->queues.usage, local, weight);
}

void engine_local_del(struct engine *e, struct str local) {
    usage_local_del(&e->queues.usage, local);
}

int engine_local_usage_set(struct engine *e, struct str local, const struct resource_weight *used,
                           size_t n, int64_t at_ns) {
    return usage_local_set(&e->queues.usage, local, used, n, at_ns);
}

void engine_local_sample(struct engine *e, int64_t now_ns, int64_t *ret_next_ns) {
    usage_sample(&e->queues.usage, now_ns, ret_next_ns);
}

double engine_local_usage(const struct engine *e, struct str local) {
    return usage_local(&e->queues.usage, local);
}

bool engine_local_consumed(const struct engine *e, struct str local, int64_t *ret_at_ns,
                           void (*each)(void *ctx, struct str resource, double v), void *ctx) {
    return usage_consumed(&e->queues.usage, local, ret_at_ns, each, ctx);
}

/* ---- invariants ---- */

static bool queue_consistent(const struct engine *e, const struct queue *q) {
    for (size_t k = 0; k < q->node->n_cells; k++) {
        const struct quota_cell *c = &q->node->cells[k];
        int64_t held = 0;
        size_t j = 0;
        for (const struct map_entry *x; (x = map_next(&e->workloads, &j)) != NULL;) {
            const struct queue_workload *w = x->value;
            for (size_t h = 0; w->queue == q && h < w->n_held; h++) {
                bool same = quota_pair(w->held[h].flavor, w->held[h].resource) == c->q.pair;
                held += same ? w->held[h].v : 0;
            }
        }
        if (held != c->usage) {
            return false;
        }
    }
    return true;
}

/* Everybody is in one bucket, and counted there. */
static bool buckets_consistent(const struct engine *e) {
    size_t i = 0, counted = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues.by_name, &i)) != NULL;) {
        const struct queue *q = m->value;
        size_t active = 0, parked = 0, k = 0;
        for (const struct map_entry *x; (x = map_next(&q->classes, &k)) != NULL;) {
            const struct queue_class *c = x->value;
            *(c->parked ? &parked : &active) += c->members.n;
            if (!c->parked && (c->members.n > 0) != (c->place > 0)) {
                return false;
            }
        }
        for (const struct queue_workload *w = q->parked; w != NULL; w = w->next) {
            parked++;
        }
        if (active != q->n_active || parked != q->n_parked || q->n_holding < q->holders.n) {
            return false;
        }
        counted += active + parked + q->n_holding + (q->flight != NULL);
    }
    return counted == map_count(&e->workloads);
}

bool engine_consistent(struct engine *e) {
    cycle_abort(e);
    if (engine_settle(e) != 0 || !pool_consistent(e->pool) || !buckets_consistent(e)) {
        return false;
    }
    uint64_t before = quota_digest(&e->forest);
    quota_touch_all(&e->forest); /* sums made anew from the queues must come to the same */
    if (quota_settle(&e->forest) != 0 || quota_digest(&e->forest) != before) {
        return false;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues.by_name, &i)) != NULL;) {
        if (!queue_consistent(e, m->value)) {
            return false;
        }
    }
    return true;
}

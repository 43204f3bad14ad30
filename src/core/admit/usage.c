/*
 * usage (core): the ledger of LocalQueues. See usage.h.
 *
 * Amounts are doubles in whole units: milli-units of cpu are divided by a thousand when they come in. Three columns for
 * each resource: consumed, penalty (of those that were given quota and are not admitted yet; with the admission it
 * becomes part of consumed) and held (by admitted workloads now). The order is kept ready in `order`, because heaps ask
 * for it far more often than it changes.
 */
#include "core/admit/usage.h"

#include "core/admit/engine_list.h"

#include <math.h>

struct usage_row {
    double consumed, penalty;
    int64_t held; /* in the unit of quota */
};
VEC(row_vec, struct usage_row);

struct usage_local {
    struct str name;
    bool put; /* by its own object; false: only known because workloads hold quota for it */
    double weight, order;
    int64_t sampled_ns;  /* 0: never */
    struct row_vec rows; /* by resource number */
    size_t n_workloads;
    struct engine_lane *lanes; /* where its workloads wait */
};

struct usage_ledger {
    struct map locals;
};

static void local_free(struct usage_local *l) {
    row_vec_release(&l->rows);
    mem_free(l);
}

void usage_free(struct engine *e) {
    size_t i = 0;
    for (const struct map_entry *m; e->usage != NULL && (m = map_next(&e->usage->locals, &i));) {
        local_free(m->value);
    }
    if (e->usage != NULL) {
        map_release(&e->usage->locals);
        mem_free(e->usage);
        e->usage = NULL;
    }
}

static struct usage_local *local_find(const struct engine *e, struct str name) {
    return e->usage != NULL ? map_get(&e->usage->locals, name) : NULL;
}

static struct usage_local *local_get(struct engine *e, struct str name) {
    if (e->usage == NULL) {
        e->usage = mem_zalloc(sizeof(*e->usage));
    }
    struct usage_local *l = local_find(e, name);
    if (l != NULL || e->usage == NULL) {
        return l;
    }
    l = mem_zalloc(sizeof(*l) + name.n);
    if (l == NULL) {
        return NULL;
    }
    if (name.n > 0) {
        memcpy(l + 1, name.p, name.n);
    }
    l->name = str_from((const char *)(l + 1), name.n);
    l->weight = 1;
    if (map_put(&e->usage->locals, l->name, l, NULL) != 0) {
        mem_free(l);
        return NULL;
    }
    return l;
}

/* When nothing refers to it any more. */
static void local_drop(struct engine *e, struct usage_local *l) {
    if (!l->put && l->n_workloads == 0 && l->lanes == NULL) {
        map_del(&e->usage->locals, l->name);
        local_free(l);
    }
}

static int row_at(struct usage_local *l, uint32_t resource, struct usage_row **ret) {
    while (l->rows.n <= resource) {
        if (row_vec_push(&l->rows, (struct usage_row){0}) != 0) {
            return ERR_NOMEM;
        }
    }
    *ret = &l->rows.v[resource];
    return 0;
}

/* ---- the order ---- */

static double unit_of(const struct engine *e, uint32_t resource) {
    return str_eq(names_text(&e->resource_names, resource), STR("cpu")) ? 1000 : 1;
}

static double weight_of(const struct engine *e, uint32_t resource) {
    struct str name = names_text(&e->resource_names, resource);
    for (size_t i = 0; i < e->o.n_resource_weights; i++) {
        if (str_eq(e->o.resource_weights[i].resource, name)) {
            return e->o.resource_weights[i].weight;
        }
    }
    return 1;
}

static void lanes_moved(const struct engine *e, struct usage_local *l) {
    for (struct engine_lane *x = l->lanes; x != NULL; x = x->usage_next) {
        if (usage_orders(e, x->queue)) {
            lane_used(x);
        }
    }
}

static void reorder(struct engine *e, struct usage_local *l) {
    double sum = 0;
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct usage_row *r = &l->rows.v[i];
        sum += weight_of(e, i) * (r->consumed + r->penalty);
    }
    double order = l->weight > 0 ? sum / l->weight : INFINITY;
    if (order != l->order) {
        l->order = order;
        lanes_moved(e, l);
    }
}

double engine_local_usage(const struct engine *e, struct str local) {
    const struct usage_local *l = local_find(e, local);
    return l != NULL && l->put ? l->order : -1;
}

double usage_of(const struct engine *e, const struct engine_workload *w) {
    return engine_local_usage(e, w->local);
}

int usage_cmp(const struct engine *e, const struct engine_workload *a,
              const struct engine_workload *b) {
    if (str_eq(a->local, b->local)) {
        return 0;
    }
    double x = usage_of(e, a), y = usage_of(e, b);
    return x < 0 || y < 0 ? 0 : (x > y) - (x < y);
}

/* ---- lanes ---- */

int usage_lane_add(struct engine *e, struct engine_lane *x) {
    struct usage_local *l = local_get(e, x->local);
    if (l == NULL) {
        return ERR_NOMEM;
    }
    x->usage = l;
    x->usage_prev = NULL;
    x->usage_next = l->lanes;
    if (l->lanes != NULL) {
        l->lanes->usage_prev = x;
    }
    l->lanes = x;
    return 0;
}

void usage_lane_del(struct engine *e, struct engine_lane *x) {
    struct usage_local *l = x->usage;
    if (l == NULL) {
        return;
    }
    *(x->usage_prev != NULL ? &x->usage_prev->usage_next : &l->lanes) = x->usage_next;
    if (x->usage_next != NULL) {
        x->usage_next->usage_prev = x->usage_prev;
    }
    x->usage = NULL;
    local_drop(e, l);
}

static double lane_order(const struct engine_lane *l) {
    return l->usage->put ? l->usage->order : -1;
}

int usage_lane_cmp(const struct engine_lane *a, const struct engine_lane *b) {
    double x = lane_order(a), y = lane_order(b);
    return x < 0 || y < 0 ? 0 : (x > y) - (x < y);
}

/* ---- what workloads hold ---- */

/* The part of the present that a sample takes in after that time. */
static double alpha(const struct engine *e, int64_t elapsed_ns) {
    return e->o.usage_half_life_ns > 0
               ? 1 - exp2(-(double)elapsed_ns / (double)e->o.usage_half_life_ns)
               : 0;
}

/* Of what it holds in its ith place. */
static double penalty(const struct engine *e, const struct engine_workload *w, size_t i) {
    double part = w->entered ? alpha(e, e->o.usage_interval_ns) : 0;
    return part * (double)w->held[i].v / unit_of(e, w->held[i].resource);
}

int usage_take(struct engine *e, struct engine_workload *w, bool anew) {
    if (!e->o.local_usage || str_empty(w->local)) {
        return 0;
    }
    struct usage_local *l = local_get(e, w->local);
    if (l == NULL) {
        return ERR_NOMEM;
    }
    struct usage_row *row;
    for (size_t i = 0; i < w->n_held; i++) {
        if (row_at(l, w->held[i].resource, &row) != 0) {
            return ERR_NOMEM;
        }
    }
    w->entered = w->entered || anew;
    for (size_t i = 0; i < w->n_held; i++) {
        row = &l->rows.v[w->held[i].resource];
        row->held = amount_add(row->held, w->admitted ? w->held[i].v : 0);
        row->penalty += penalty(e, w, i);
    }
    l->n_workloads++;
    reorder(e, l);
    return 0;
}

void usage_give(struct engine *e, struct engine_workload *w) {
    struct usage_local *l = e->o.local_usage ? local_find(e, w->local) : NULL;
    if (l == NULL || l->n_workloads == 0) {
        return;
    }
    for (size_t i = 0; i < w->n_held && w->held[i].resource < l->rows.n; i++) {
        struct usage_row *row = &l->rows.v[w->held[i].resource];
        row->held = amount_sub(row->held, w->admitted ? w->held[i].v : 0);
        row->penalty = fmax(row->penalty - penalty(e, w, i), 0);
    }
    l->n_workloads--;
    reorder(e, l);
    local_drop(e, l);
}

void engine_workload_admitted(struct engine *e, struct str uid) {
    struct engine_workload *w = map_get(&e->workloads, uid);
    if (w == NULL || w->state != WORKLOAD_HOLDING || w->admitted) {
        return;
    }
    struct usage_local *l = e->o.local_usage ? local_find(e, w->local) : NULL;
    for (size_t i = 0; l != NULL && i < w->n_held && w->held[i].resource < l->rows.n; i++) {
        struct usage_row *row = &l->rows.v[w->held[i].resource];
        double entry =
            fmin(penalty(e, w, i), row->penalty); /* less: the LocalQueue was forgotten meanwhile */
        row->penalty -= entry;
        row->consumed += entry;
        row->held = amount_add(row->held, w->held[i].v);
    }
    w->entered = false;
    w->admitted = true;
    if (l != NULL) {
        reorder(e, l);
    }
}

/* ---- LocalQueues ---- */

int engine_local_put(struct engine *e, struct str local, double weight) {
    struct usage_local *l = local_get(e, local);
    if (l == NULL) {
        return ERR_NOMEM;
    }
    bool fresh = !l->put;
    l->put = true;
    l->weight = weight;
    reorder(e, l);
    if (fresh) {
        lanes_moved(e, l);
    }
    return 0;
}

void engine_local_del(struct engine *e, struct str local) {
    struct usage_local *l = local_find(e, local);
    if (l == NULL) {
        return;
    }
    l->put = false; /* what it used is forgotten with it */
    l->sampled_ns = 0;
    for (size_t i = 0; i < l->rows.n; i++) {
        l->rows.v[i].consumed = l->rows.v[i].penalty = 0;
    }
    lanes_moved(e, l);
    local_drop(e, l);
}

int engine_local_usage_set(struct engine *e, struct str local, const struct resource_weight *used,
                           size_t n, int64_t at_ns) {
    struct usage_local *l = local_find(e, local);
    if (l == NULL) {
        return ERR_NOT_FOUND;
    }
    struct usage_row *row;
    uint32_t resource;
    for (size_t i = 0; i < n; i++) {
        int r = names_intern(&e->resource_names, used[i].resource, &resource);
        r = r == 0 ? row_at(l, resource, &row) : r;
        if (r != 0) {
            return r;
        }
    }
    for (size_t i = 0; i < l->rows.n; i++) {
        l->rows.v[i].consumed = l->rows.v[i].penalty = 0;
    }
    for (size_t i = 0; i < n; i++) {
        l->rows.v[names_find(&e->resource_names, used[i].resource)].consumed = used[i].weight;
    }
    l->sampled_ns = at_ns;
    reorder(e, l);
    return 0;
}

bool engine_local_consumed(const struct engine *e, struct str local, int64_t *ret_at_ns,
                           void (*each)(void *ctx, struct str resource, double v), void *ctx) {
    const struct usage_local *l = local_find(e, local);
    if (l == NULL || !l->put || l->sampled_ns == 0) {
        return false;
    }
    for (uint32_t i = 0; i < l->rows.n; i++) {
        if (l->rows.v[i].consumed > 0) {
            each(ctx, names_text(&e->resource_names, i), l->rows.v[i].consumed);
        }
    }
    *ret_at_ns = l->sampled_ns;
    return true;
}

static void sample(struct engine *e, struct usage_local *l, int64_t now_ns) {
    double part = l->sampled_ns != 0 ? alpha(e, now_ns - l->sampled_ns) : 0;
    for (uint32_t i = 0; i < l->rows.n; i++) {
        struct usage_row *r = &l->rows.v[i];
        r->consumed = e->o.usage_half_life_ns > 0
                          ? r->consumed * (1 - part) + (double)r->held / unit_of(e, i) * part
                          : 0;
    }
    l->sampled_ns = now_ns;
    reorder(e, l);
}

void engine_local_sample(struct engine *e, int64_t now_ns, int64_t *ret_next_ns) {
    int64_t next = INT64_MAX, interval = e->o.usage_interval_ns;
    size_t i = 0;
    for (const struct map_entry *m;
         e->usage != NULL && interval > 0 && (m = map_next(&e->usage->locals, &i));) {
        struct usage_local *l = m->value;
        if (!l->put) {
            continue;
        }
        if (l->sampled_ns > now_ns) {
            l->sampled_ns = now_ns; /* the clock was put back */
        }
        if (l->sampled_ns == 0 || now_ns - l->sampled_ns >= interval) {
            sample(e, l, now_ns);
        }
        next = amount_min(next, amount_add(l->sampled_ns, interval));
    }
    *ret_next_ns = next;
}

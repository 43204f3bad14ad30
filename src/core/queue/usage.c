/*
 * usage (core): the ledger of LocalQueues. See usage.h.
 *
 * Amounts are doubles in whole units: milli-units of cpu are divided by a thousand when they come in. Three columns for
 * each resource: consumed, penalty (of those that were given quota and are not admitted yet; with the admission it
 * becomes part of consumed) and held (by admitted workloads now). The order is kept ready in `order`, because heaps ask
 * for it far more often than it changes.
 */
#include "core/queue/usage.h"

#include <math.h>

#include "core/queue/queue.h"

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
    struct queue_lane *lanes; /* where its workloads wait */
};

static void local_free(struct usage_local *l) {
    row_vec_release(&l->rows);
    mem_free(l);
}

void usage_release(struct usage_ledger *u) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&u->locals, &i)) != NULL;) {
        local_free(m->value);
    }
    map_release(&u->locals);
}

static struct usage_local *local_find(const struct usage_ledger *u, struct str name) {
    return map_get(&u->locals, name);
}

static struct usage_local *local_get(struct usage_ledger *u, struct str name) {
    struct usage_local *l = local_find(u, name);
    if (l != NULL) {
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
    if (map_put(&u->locals, l->name, l, NULL) != 0) {
        mem_free(l);
        return NULL;
    }
    return l;
}

/* When nothing refers to it any more. */
static void local_drop(struct usage_ledger *u, struct usage_local *l) {
    if (!l->put && l->n_workloads == 0 && l->lanes == NULL) {
        map_del(&u->locals, l->name);
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

static double unit_of(const struct usage_ledger *u, uint32_t resource) {
    return str_eq(names_text(u->resources, resource), STR("cpu")) ? 1000 : 1;
}

static double weight_of(const struct usage_ledger *u, uint32_t resource) {
    struct str name = names_text(u->resources, resource);
    for (size_t i = 0; i < u->n_weights; i++) {
        if (str_eq(u->weights[i].resource, name)) {
            return u->weights[i].weight;
        }
    }
    return 1;
}

static void lanes_moved(struct usage_local *l) {
    for (struct queue_lane *x = l->lanes; x != NULL; x = x->usage_next) {
        if (usage_orders(x->queue)) {
            lane_used(x);
        }
    }
}

static void reorder(struct usage_ledger *u, struct usage_local *l) {
    double sum = 0;
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct usage_row *r = &l->rows.v[i];
        sum += weight_of(u, i) * (r->consumed + r->penalty);
    }
    double order = l->weight > 0 ? sum / l->weight : INFINITY;
    if (order != l->order) {
        l->order = order;
        lanes_moved(l);
    }
}

double usage_local(const struct usage_ledger *u, struct str local) {
    const struct usage_local *l = local_find(u, local);
    return l != NULL && l->put ? l->order : -1;
}

int usage_cmp(const struct usage_ledger *u, const struct queue_workload *a,
              const struct queue_workload *b) {
    if (str_eq(a->local, b->local)) {
        return 0;
    }
    double x = usage_local(u, a->local), y = usage_local(u, b->local);
    return x < 0 || y < 0 ? 0 : (x > y) - (x < y);
}

/* ---- lanes ---- */

int usage_lane_add(struct usage_ledger *u, struct queue_lane *x) {
    struct usage_local *l = local_get(u, x->local);
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

void usage_lane_del(struct usage_ledger *u, struct queue_lane *x) {
    struct usage_local *l = x->usage;
    if (l == NULL) {
        return;
    }
    *(x->usage_prev != NULL ? &x->usage_prev->usage_next : &l->lanes) = x->usage_next;
    if (x->usage_next != NULL) {
        x->usage_next->usage_prev = x->usage_prev;
    }
    x->usage = NULL;
    local_drop(u, l);
}

static double lane_order(const struct queue_lane *l) {
    return l->usage->put ? l->usage->order : -1;
}

int usage_lane_cmp(const struct queue_lane *a, const struct queue_lane *b) {
    double x = lane_order(a), y = lane_order(b);
    return x < 0 || y < 0 ? 0 : (x > y) - (x < y);
}

/* ---- what workloads hold ---- */

/* The part of the present that a sample takes in after that time. */
static double alpha(const struct usage_ledger *u, int64_t elapsed_ns) {
    return u->half_life_ns > 0 ? 1 - exp2(-(double)elapsed_ns / (double)u->half_life_ns) : 0;
}

/* Of what it holds in its ith place. */
static double penalty(const struct usage_ledger *u, const struct queue_workload *w, size_t i) {
    double part = w->usage == USAGE_ENTERED ? alpha(u, u->interval_ns) : 0;
    return part * (double)w->held[i].v / unit_of(u, w->held[i].resource);
}

int usage_take(struct usage_ledger *u, struct queue_workload *w, bool anew) {
    if (!u->on || str_empty(w->local)) {
        return 0;
    }
    struct usage_local *l = local_get(u, w->local);
    if (l == NULL) {
        return ERR_NOMEM;
    }
    struct usage_row *row;
    for (size_t i = 0; i < w->n_held; i++) {
        if (row_at(l, w->held[i].resource, &row) != 0) {
            return ERR_NOMEM;
        }
    }
    w->usage = anew ? USAGE_ENTERED : w->usage;
    for (size_t i = 0; i < w->n_held; i++) {
        row = &l->rows.v[w->held[i].resource];
        row->held = amount_add(row->held, w->usage == USAGE_ADMITTED ? w->held[i].v : 0);
        row->penalty += penalty(u, w, i);
    }
    l->n_workloads++;
    reorder(u, l);
    return 0;
}

void usage_give(struct usage_ledger *u, struct queue_workload *w) {
    struct usage_local *l = u->on ? local_find(u, w->local) : NULL;
    if (l == NULL || l->n_workloads == 0) {
        return;
    }
    for (size_t i = 0; i < w->n_held && w->held[i].resource < l->rows.n; i++) {
        struct usage_row *row = &l->rows.v[w->held[i].resource];
        row->held = amount_sub(row->held, w->usage == USAGE_ADMITTED ? w->held[i].v : 0);
        row->penalty = fmax(row->penalty - penalty(u, w, i), 0);
    }
    l->n_workloads--;
    reorder(u, l);
    local_drop(u, l);
}

void usage_admitted(struct usage_ledger *u, struct queue_workload *w) {
    struct usage_local *l = u->on ? local_find(u, w->local) : NULL;
    for (size_t i = 0; l != NULL && i < w->n_held && w->held[i].resource < l->rows.n; i++) {
        struct usage_row *row = &l->rows.v[w->held[i].resource];
        double entry =
            fmin(penalty(u, w, i), row->penalty); /* less: the LocalQueue was forgotten meanwhile */
        row->penalty -= entry;
        row->consumed += entry;
        row->held = amount_add(row->held, w->held[i].v);
    }
    w->usage = USAGE_ADMITTED;
    if (l != NULL) {
        reorder(u, l);
    }
}

/* ---- LocalQueues ---- */

int usage_local_put(struct usage_ledger *u, struct str local, double weight) {
    struct usage_local *l = local_get(u, local);
    if (l == NULL) {
        return ERR_NOMEM;
    }
    bool fresh = !l->put;
    l->put = true;
    l->weight = weight;
    reorder(u, l);
    if (fresh) {
        lanes_moved(l);
    }
    return 0;
}

void usage_local_del(struct usage_ledger *u, struct str local) {
    struct usage_local *l = local_find(u, local);
    if (l == NULL) {
        return;
    }
    l->put = false; /* what it used is forgotten with it */
    l->sampled_ns = 0;
    for (size_t i = 0; i < l->rows.n; i++) {
        l->rows.v[i].consumed = l->rows.v[i].penalty = 0;
    }
    lanes_moved(l);
    local_drop(u, l);
}

int usage_local_set(struct usage_ledger *u, struct str local, const struct resource_weight *used,
                    size_t n, int64_t at_ns) {
    struct usage_local *l = local_find(u, local);
    if (l == NULL) {
        return ERR_NOT_FOUND;
    }
    struct usage_row *row;
    uint32_t resource;
    for (size_t i = 0; i < n; i++) {
        int r = names_intern(u->resources, used[i].resource, &resource);
        if (r != 0) {
            return r;
        }
        r = row_at(l, resource, &row);
        if (r != 0) {
            return r;
        }
    }
    for (size_t i = 0; i < l->rows.n; i++) {
        l->rows.v[i].consumed = l->rows.v[i].penalty = 0;
    }
    for (size_t i = 0; i < n; i++) {
        l->rows.v[names_find(u->resources, used[i].resource)].consumed = used[i].weight;
    }
    l->sampled_ns = at_ns;
    reorder(u, l);
    return 0;
}

bool usage_consumed(const struct usage_ledger *u, struct str local, int64_t *ret_at_ns,
                    void (*each)(void *ctx, struct str resource, double v), void *ctx) {
    const struct usage_local *l = local_find(u, local);
    if (l == NULL || !l->put || l->sampled_ns == 0) {
        return false;
    }
    for (uint32_t i = 0; i < l->rows.n; i++) {
        if (l->rows.v[i].consumed > 0) {
            each(ctx, names_text(u->resources, i), l->rows.v[i].consumed);
        }
    }
    *ret_at_ns = l->sampled_ns;
    return true;
}

static void sample(struct usage_ledger *u, struct usage_local *l, int64_t now_ns) {
    double part = l->sampled_ns != 0 ? alpha(u, now_ns - l->sampled_ns) : 0;
    for (uint32_t i = 0; i < l->rows.n; i++) {
        struct usage_row *r = &l->rows.v[i];
        r->consumed = u->half_life_ns > 0
                          ? r->consumed * (1 - part) + (double)r->held / unit_of(u, i) * part
                          : 0;
    }
    l->sampled_ns = now_ns;
    reorder(u, l);
}

void usage_sample(struct usage_ledger *u, int64_t now_ns, int64_t *ret_next_ns) {
    int64_t next = INT64_MAX, interval = u->interval_ns;
    size_t i = 0;
    for (const struct map_entry *m; interval > 0 && (m = map_next(&u->locals, &i));) {
        struct usage_local *l = m->value;
        if (!l->put) {
            continue;
        }
        if (l->sampled_ns > now_ns) {
            l->sampled_ns = now_ns; /* the clock was put back */
        }
        if (l->sampled_ns == 0 || now_ns - l->sampled_ns >= interval) {
            sample(u, l, now_ns);
        }
        next = amount_min(next, amount_add(l->sampled_ns, interval));
    }
    *ret_next_ns = next;
}

/*
 * engine_list (core): the order of a queue without sorting it.
 *
 * Members of a class stand in a heap, so the next of all is the root of some class, or below one that was taken: a
 * frontier holds those that may be next. Those parked alone, and the one in flight, are in it from the start. For one
 * LocalQueue its own are sorted, and the others only counted: how many stand before each that is shown.
 */
#include "core/admit/engine_list.h"

#include <stdlib.h>

#include "core/admit/engine_private.h"
#include "core/admit/usage.h"

struct order {
    struct engine *e;
    struct engine_queue *q;
};

static int order_cmp(const struct engine_workload *x, const struct engine_workload *y,
                     const struct order *o) {
    int r = usage_orders(o->e, o->q) ? usage_cmp(o->e, x, y) : 0;
    if (r != 0) {
        return r;
    }
    const struct engine_workload *p = o->q->strict ? NULL : o->q->preemptor;
    if (p != NULL && x != y && (x == p || y == p)) {
        return x == p ? -1 : 1;
    }
    return workload_order(x, y, NULL);
}

/* ---- the frontier ---- */

struct list_spot {
    struct engine_workload *w;
    struct engine_class *class; /* its members' heap, with w at index; NULL: alone */
    size_t index;
};

struct frontier {
    struct order order;
    struct arena *a;
    struct heap heap; /* of spots in the arena */
    int failed;
};

static int spot_cmp(const void *a, const void *b, void *ctx) {
    const struct list_spot *x = a, *y = b;
    return order_cmp(x->w, y->w, ctx);
}

static void frontier_add(struct frontier *f, struct engine_workload *w, struct engine_class *c,
                         size_t index) {
    struct list_spot *s = ARENA_NEW(f->a, struct list_spot);
    if (s == NULL) {
        f->failed = ERR_NOMEM;
        return;
    }
    *s = (struct list_spot){w, c, index};
    f->failed = f->failed != 0 ? f->failed : heap_push(&f->heap, s);
}

static void member_add(struct frontier *f, struct engine_class *c, size_t index) {
    if (index < c->members.n) {
        frontier_add(f, c->members.v[index], c, index);
    }
}

static void frontier_init(struct frontier *f, struct engine *e, struct engine_queue *q,
                          struct arena *a) {
    *f = (struct frontier){.order = {e, q}, .a = a};
    heap_init(&f->heap, spot_cmp, &f->order, HEAP_NO_PLACE);
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        member_add(f, m->value, 0);
    }
    for (struct engine_workload *w = q->parked; w != NULL; w = w->next) {
        frontier_add(f, w, NULL, 0);
    }
    if (q->flight != NULL) {
        frontier_add(f, q->flight, NULL, 0);
    }
}

static struct engine_workload *frontier_next(struct frontier *f) {
    struct list_spot *s = f->failed == 0 ? heap_pop(&f->heap) : NULL;
    if (s == NULL) {
        return NULL;
    }
    if (s->class != NULL) {
        member_add(f, s->class, 2 * s->index + 1);
        member_add(f, s->class, 2 * s->index + 2);
    }
    return s->w;
}

/* ---- a queue ---- */

static size_t pending_of(const struct engine_queue *q) {
    return q->n_active + q->n_parked + (q->flight != NULL);
}

/* The next position in a LocalQueue. */
static size_t count_local(struct map *seen, struct arena *a, struct str local, int *failed) {
    size_t *n = map_get(seen, local);
    if (n == NULL) {
        n = ARENA_NEW(a, size_t);
        if (n == NULL || map_put(seen, local, n, NULL) != 0) {
            *failed = ERR_NOMEM;
            return 0;
        }
    }
    return (*n)++;
}

int engine_list_queue(struct engine *e, struct str queue, size_t offset, size_t limit,
                      struct arena *a, struct engine_listed **ret, size_t *ret_n) {
    struct engine_queue *q = map_get(&e->queues, queue);
    if (q == NULL) {
        return ERR_NOT_FOUND;
    }
    size_t all = pending_of(q), n = 0;
    limit = offset >= all ? 0 : limit < all - offset ? limit : all - offset;
    struct engine_listed *v = ARENA_ARRAY(a, struct engine_listed, limit);
    struct frontier f;
    struct map seen;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    map_init(&seen);
    frontier_init(&f, e, q, a);
    for (size_t at = 0; f.failed == 0 && limit > 0 && at < offset + limit; at++) {
        struct engine_workload *w = frontier_next(&f);
        if (w == NULL) {
            break;
        }
        size_t at_local = count_local(&seen, a, w->local, &f.failed);
        if (at >= offset) {
            v[n++] = (struct engine_listed){w->uid, w->local, at, at_local};
        }
    }
    heap_release(&f.heap);
    map_release(&seen);
    if (f.failed == 0) {
        *ret = v;
        *ret_n = n;
    }
    return f.failed;
}

/* ---- a LocalQueue ---- */

static int pointer_cmp(const void *a, const void *b, void *ctx) {
    return order_cmp(*(struct engine_workload *const *)a, *(struct engine_workload *const *)b, ctx);
}

/* How many of v[0..n), which is sorted, stand before w. */
static size_t before(struct engine_workload *const *v, size_t n, const struct engine_workload *w,
                     const struct order *o) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        bool is = order_cmp(v[mid], w, o) < 0;
        low = is ? mid + 1 : low;
        high = is ? high : mid;
    }
    return low;
}

int engine_list_local(struct engine *e, struct str queue, struct str local, size_t offset,
                      size_t limit, struct arena *a, struct engine_listed **ret, size_t *ret_n) {
    struct engine_queue *q = map_get(&e->queues, queue);
    struct order o = {e, q};
    struct workload_vec all = {0};
    if (q == NULL) {
        return ERR_NOT_FOUND;
    }
    int r = queue_waiting(q, SIZE_MAX, &all);
    size_t mine = 0;
    for (size_t i = 0; i < all.n; i++) { /* its own come first */
        if (str_eq(all.v[i]->local, local)) {
            struct engine_workload *w = all.v[i];
            all.v[i] = all.v[mine];
            all.v[mine++] = w;
        }
    }
    limit = offset >= mine ? 0 : limit < mine - offset ? limit : mine - offset;
    struct engine_listed *v = ARENA_ARRAY(a, struct engine_listed, limit);
    size_t *ahead = ARENA_ARRAY(a, size_t, limit + 1);
    if (r != 0 || v == NULL || ahead == NULL) {
        workload_vec_release(&all);
        return ERR_NOMEM;
    }
    if (limit > 0) {
        qsort_r(all.v, mine, sizeof(struct engine_workload *), pointer_cmp, &o);
    }
    /* Whoever stands before the k-th that is shown, and not before the one before it, is counted at k. */
    for (size_t i = 0; i < all.n && limit > 0; i++) {
        ahead[before(all.v + offset, limit, all.v[i], &o)]++;
    }
    for (size_t k = 0, at = 0; k < limit; k++) {
        const struct engine_workload *w = all.v[offset + k];
        at += ahead[k] - 1; /* w itself is counted at k */
        v[k] = (struct engine_listed){w->uid, w->local, at, offset + k};
        at++;
    }
    workload_vec_release(&all);
    *ret = v;
    *ret_n = limit;
    return 0;
}

/* ---- one ---- */

bool engine_is_parked(const struct engine *e, struct str uid) {
    const struct engine_workload *w = workload_find(e, uid);
    return w != NULL && (w->state == WORKLOAD_PARKED ||
                         (w->state == WORKLOAD_HEAP && w->class != NULL && w->class->parked));
}

size_t engine_requests(const struct engine *e, struct str uid, struct held_amount *out,
                       size_t max) {
    const struct engine_workload *w = workload_find(e, uid);
    size_t n = 0;
    if (w == NULL || w->state == WORKLOAD_HOLDING) {
        return 0;
    }
    for (size_t i = 0; i < w->n_sets; i++) {
        const struct engine_set *s = &w->sets[i];
        for (size_t k = 0; k < s->n_requests; k++) {
            size_t at = 0;
            while (at < n && out[at].resource != s->requests[k].resource) {
                at++;
            }
            if (at == n && n < max) {
                out[n++] = (struct held_amount){.flavor = NAME_ABSENT,
                                                .resource = s->requests[k].resource};
            }
            if (at < n) {
                out[at].v = amount_add(out[at].v, amount_mul(s->requests[k].v, s->count));
            }
        }
    }
    return n;
}

bool engine_hashes(const struct engine *e, struct str queue, size_t *ret_active,
                   size_t *ret_parked) {
    const struct engine_queue *q = map_get(&e->queues, queue);
    if (q == NULL) {
        return false;
    }
    *ret_active = lanes_active(q);
    *ret_parked = 0;
    for (const struct engine_class *c = q->parked_classes; c != NULL; c = c->next) {
        *ret_parked += c->members.n > 0;
    }
    return true;
}

/* ---- cohorts ---- */

int engine_cohorts(struct engine *e, bool (*each)(void *ctx, const struct engine_cohort *h),
                   void *ctx) {
    if (engine_settle(e) != 0) {
        return ERR_NOMEM;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->forest.cohorts, &i)) != NULL;) {
        const struct quota_node *n = m->value;
        struct engine_cohort h = {n->name, n->parent_name,
                                  n->root != NULL ? n->root->name : n->name};
        if (!each(ctx, &h)) {
            break;
        }
    }
    return 0;
}

int engine_cohort_quota(struct engine *e, struct str name,
                        void (*each)(void *ctx, uint32_t flavor, uint32_t resource, int64_t quota),
                        void *ctx) {
    if (engine_settle(e) != 0) {
        return ERR_NOMEM;
    }
    const struct quota_node *n = quota_find(&e->forest, false, name);
    if (n == NULL) {
        return ERR_NOT_FOUND;
    }
    for (size_t i = 0; i < n->n_cells; i++) {
        const struct quota_cell *c = &n->cells[i];
        each(ctx, c->q.pair >> 16, c->q.pair & 0xffff, c->subtree);
    }
    return 0;
}

bool engine_above(struct engine *e, struct str queue, void (*each)(void *ctx, struct str cohort),
                  void *ctx) {
    const struct engine_queue *q = map_get(&e->queues, queue);
    if (q == NULL || engine_settle(e) != 0) {
        return q != NULL;
    }
    for (const struct quota_node *n = q->node->parent; n != NULL; n = n->parent) {
        each(ctx, n->name);
    }
    return true;
}

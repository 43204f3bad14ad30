/* queue_list (core): see queue_list.h. */
#include "core/queue/queue_list.h"

#include <stdlib.h>

#include "core/queue/queue.h"

enum { LIST_BYTES = 64 << 20 };

int queue_list_cmp(const struct queue_workload *x, const struct queue_workload *y,
                   const struct queue *q) {
    int r = usage_orders(q) ? usage_cmp(&q->of->usage, x, y) : 0;
    if (r != 0) {
        return r;
    }
    const struct queue_workload *p = q->strict ? NULL : q->preemptor;
    if (p != NULL && x != y && (x == p || y == p)) {
        return x == p ? -1 : 1;
    }
    return workload_order(x, y, NULL);
}

/* ---- the frontier ---- */

struct list_spot {
    struct queue_workload *w;
    struct queue_class *class; /* its members' heap, with w at index; NULL: alone */
    size_t index;
};

struct frontier {
    struct arena *a;
    struct heap heap; /* of spots in the arena */
    int failed;
};

static int spot_cmp(const void *a, const void *b, void *ctx) {
    const struct list_spot *x = a, *y = b;
    return queue_list_cmp(x->w, y->w, ctx);
}

static void frontier_add(struct frontier *f, struct queue_workload *w, struct queue_class *c,
                         size_t index) {
    struct list_spot *s = ARENA_NEW(f->a, struct list_spot);
    if (s == NULL) {
        f->failed = ERR_NOMEM;
        return;
    }
    *s = (struct list_spot){w, c, index};
    f->failed = f->failed != 0 ? f->failed : heap_push(&f->heap, s);
}

static void member_add(struct frontier *f, struct queue_class *c, size_t index) {
    if (index < c->members.n) {
        frontier_add(f, c->members.v[index], c, index);
    }
}

/* At most `most` classes, and as many parked alone. */
static void frontier_init(struct frontier *f, struct queue *q, size_t most, struct arena *a) {
    *f = (struct frontier){.a = a};
    heap_init(&f->heap, spot_cmp, q, HEAP_NO_PLACE);
    size_t i = 0, n = 0;
    for (const struct map_entry *m; n < most && (m = map_next(&q->classes, &i)) != NULL; n++) {
        member_add(f, m->value, 0);
    }
    n = 0;
    for (struct queue_workload *w = q->parked; n < most && w != NULL; w = w->next, n++) {
        frontier_add(f, w, NULL, 0);
    }
    if (q->flight != NULL) {
        frontier_add(f, q->flight, NULL, 0);
    }
}

static struct queue_workload *frontier_next(struct frontier *f) {
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

int queue_list_first(struct queue *q, size_t limit, size_t most, struct workload_vec *out) {
    struct arena a;
    struct frontier f;
    int r = 0;
    arena_init(&a, LIST_BYTES);
    frontier_init(&f, q, most, &a);
    for (struct queue_workload *w; r == 0 && limit > 0 && (w = frontier_next(&f)) != NULL;
         limit--) {
        r = workload_vec_push(out, w);
    }
    heap_release(&f.heap);
    arena_release(&a);
    return r != 0 ? r : f.failed;
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

int queue_list(struct queue *q, size_t offset, size_t limit, struct arena *a,
               struct queue_listed **ret, size_t *ret_n) {
    size_t all = queue_pending(q), n = 0;
    limit = offset >= all ? 0 : limit < all - offset ? limit : all - offset;
    struct queue_listed *v = ARENA_ARRAY(a, struct queue_listed, limit);
    struct frontier f;
    struct map seen;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    map_init(&seen);
    frontier_init(&f, q, SIZE_MAX, a);
    for (size_t at = 0; f.failed == 0 && limit > 0 && at < offset + limit; at++) {
        struct queue_workload *w = frontier_next(&f);
        if (w == NULL) {
            break;
        }
        size_t at_local = count_local(&seen, a, w->local, &f.failed);
        if (at >= offset) {
            v[n++] = (struct queue_listed){w->uid, w->local, at, at_local};
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
    return queue_list_cmp(*(struct queue_workload *const *)a, *(struct queue_workload *const *)b,
                          ctx);
}

/* How many of v[0..n), which is sorted, stand before w. */
static size_t before(struct queue_workload *const *v, size_t n, const struct queue_workload *w,
                     const struct queue *q) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        bool is = queue_list_cmp(v[mid], w, q) < 0;
        low = is ? mid + 1 : low;
        high = is ? high : mid;
    }
    return low;
}

int queue_list_local(struct queue *q, struct str local, size_t offset, size_t limit,
                     struct arena *a, struct queue_listed **ret, size_t *ret_n) {
    struct workload_vec all = {0};
    int r = queue_waiting(q, SIZE_MAX, &all);
    size_t mine = 0;
    for (size_t i = 0; i < all.n; i++) { /* its own come first */
        if (str_eq(all.v[i]->local, local)) {
            struct queue_workload *w = all.v[i];
            all.v[i] = all.v[mine];
            all.v[mine++] = w;
        }
    }
    limit = offset >= mine ? 0 : limit < mine - offset ? limit : mine - offset;
    struct queue_listed *v = ARENA_ARRAY(a, struct queue_listed, limit);
    size_t *ahead = ARENA_ARRAY(a, size_t, limit + 1);
    if (r != 0 || v == NULL || ahead == NULL) {
        workload_vec_release(&all);
        return ERR_NOMEM;
    }
    if (limit > 0) {
        qsort_r(all.v, mine, sizeof(struct queue_workload *), pointer_cmp, q);
    }
    /* Whoever stands before the k-th that is shown, and not before the one before it, is counted at k. */
    for (size_t i = 0; i < all.n && limit > 0; i++) {
        ahead[before(all.v + offset, limit, all.v[i], q)]++;
    }
    for (size_t k = 0, at = 0; k < limit; k++) {
        const struct queue_workload *w = all.v[offset + k];
        at += ahead[k] - 1; /* w itself is counted at k */
        v[k] = (struct queue_listed){w->uid, w->local, at, offset + k};
        at++;
    }
    workload_vec_release(&all);
    *ret = v;
    *ret_n = limit;
    return 0;
}

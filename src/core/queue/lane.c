/* lane (core): see lane.h. */
#include "core/queue/lane.h"

#include <assert.h>

#include "core/queue/queue.h"

/* By their first members; the priority is that of all members. */
static int class_order(const void *a, const void *b, void *ctx) {
    const struct queue_class *c = a, *d = b;
    (void)ctx;
    if (c->priority != d->priority) {
        return c->priority > d->priority ? -1 : 1;
    }
    if (c->queued_ns != d->queued_ns) {
        return c->queued_ns < d->queued_ns ? -1 : 1;
    }
    return str_cmp(c->head->uid, d->head->uid);
}

static int lane_order(const void *a, const void *b, void *ctx) {
    const struct queue_lane *x = a, *y = b;
    (void)ctx;
    int r = usage_orders(x->queue) ? usage_lane_cmp(x, y) : 0;
    return r != 0 ? r : class_order(heap_peek(&x->heap), heap_peek(&y->heap), NULL);
}

static void lane_init(struct queue_lane *l, struct queue *q) {
    l->queue = q;
    heap_init(&l->heap, class_order, NULL, offsetof(struct queue_class, place));
}

void lanes_init(struct queue *q) {
    heap_init(&q->heap, lane_order, NULL, offsetof(struct queue_lane, place));
    lane_init(&q->lane, q);
}

static void lane_free(struct queue_lane *l) {
    usage_lane_del(&l->queue->of->usage, l);
    heap_release(&l->heap);
    mem_free(l);
}

void lanes_release(struct queue *q) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->lanes, &i)) != NULL;) {
        lane_free(m->value);
    }
    map_release(&q->lanes);
    heap_release(&q->lane.heap);
    heap_release(&q->heap);
}

static struct queue_lane *lane_new(struct queue *q, struct str local) {
    struct queue_lane *l = mem_zalloc(sizeof(*l) + local.n);
    if (l == NULL) {
        return NULL;
    }
    if (local.n > 0) {
        memcpy(l + 1, local.p, local.n);
    }
    l->local = str_from((const char *)(l + 1), local.n);
    lane_init(l, q);
    if (usage_lane_add(&q->of->usage, l) != 0 || map_put(&q->lanes, l->local, l, NULL) != 0) {
        lane_free(l);
        return NULL;
    }
    return l;
}

int lane_join(struct queue_class *c, struct str local) {
    struct queue *q = c->queue;
    struct queue_lane *l = &q->lane;
    if (q->of->usage.on) {
        l = map_get(&q->lanes, local);
        l = l != NULL ? l : lane_new(q, local);
    }
    if (l == NULL) {
        return ERR_NOMEM;
    }
    c->lane = l;
    l->n++;
    return 0;
}

void lane_leave(struct queue_class *c) {
    struct queue_lane *l = c->lane;
    assert(c->place == 0);
    l->n--;
    if (l->n == 0 && l != &l->queue->lane) {
        map_del(&l->queue->lanes, l->local);
        lane_free(l);
    }
}

/* Its first class, or what that has as its first member, is another one. */
static void lane_fix(struct queue_lane *l) {
    if (l->heap.n == 0) {
        heap_remove(&l->queue->heap, l);
    } else {
        heap_fix(&l->queue->heap, l);
    }
}

int lane_push(struct queue_class *c) {
    struct queue_lane *l = c->lane;
    int r = heap_push(&l->heap, c);
    if (r == 0 && l->place == 0) {
        r = heap_push(&l->queue->heap, l);
        if (r != 0) {
            heap_remove(&l->heap, c);
        }
    } else if (r == 0) {
        lane_fix(l);
    }
    return r;
}

void lane_remove(struct queue_class *c) {
    if (c->place != 0) {
        heap_remove(&c->lane->heap, c);
        lane_fix(c->lane);
    }
}

void lane_moved(struct queue_class *c) {
    if (c->place != 0) {
        heap_fix(&c->lane->heap, c);
        lane_fix(c->lane);
    }
}

void lane_used(struct queue_lane *l) {
    heap_fix(&l->queue->heap, l);
}

void lanes_order(struct queue *q) {
    size_t n = q->heap.n;
    q->heap.n = 0;
    for (size_t i = 0; i < n; i++) {
        int r = heap_push(&q->heap, q->heap.v[i]);
        assert(r == 0); /* there is room for those it had */
        (void)r;
    }
}

struct queue_class *lanes_first(const struct queue *q) {
    const struct queue_lane *l = heap_peek(&q->heap);
    return l != NULL ? heap_peek(&l->heap) : NULL;
}

size_t lanes_active(const struct queue *q) {
    size_t n = 0;
    for (size_t i = 0; i < q->heap.n; i++) {
        n += ((const struct queue_lane *)q->heap.v[i])->heap.n;
    }
    return n;
}

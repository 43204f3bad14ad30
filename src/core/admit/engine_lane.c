/*
 * engine_lane (core): the active classes of a queue, in lanes.
 *
 * Where usage may order (admission fair sharing is configured), the classes of one LocalQueue are a lane: what it used
 * moves its lane among the others of its queue, and no class. Elsewhere a queue has one lane. The queue's heap has the
 * lanes with active classes, a lane's heap those classes, each by its first member.
 */
#include <assert.h>

#include "core/admit/usage.h"

/* By their first members; the priority is that of all members. */
static int class_order(const void *a, const void *b, void *ctx) {
    const struct engine_class *c = a, *d = b;
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
    const struct engine_lane *x = a, *y = b;
    const struct engine *e = ctx;
    int r = usage_orders(e, x->queue) ? usage_lane_cmp(x, y) : 0;
    return r != 0 ? r : class_order(heap_peek(&x->heap), heap_peek(&y->heap), NULL);
}

static void lane_init(struct engine_lane *l, struct engine_queue *q) {
    l->queue = q;
    heap_init(&l->heap, class_order, NULL, offsetof(struct engine_class, place));
}

void lanes_init(struct engine *e, struct engine_queue *q) {
    heap_init(&q->heap, lane_order, e, offsetof(struct engine_lane, place));
    lane_init(&q->lane, q);
}

static void lane_free(struct engine *e, struct engine_lane *l) {
    usage_lane_del(e, l);
    heap_release(&l->heap);
    mem_free(l);
}

void lanes_release(struct engine *e, struct engine_queue *q) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->lanes, &i)) != NULL;) {
        lane_free(e, m->value);
    }
    map_release(&q->lanes);
    heap_release(&q->lane.heap);
    heap_release(&q->heap);
}

static struct engine_lane *lane_new(struct engine *e, struct engine_queue *q, struct str local) {
    struct engine_lane *l = mem_zalloc(sizeof(*l) + local.n);
    if (l == NULL) {
        return NULL;
    }
    if (local.n > 0) {
        memcpy(l + 1, local.p, local.n);
    }
    l->local = str_from((const char *)(l + 1), local.n);
    lane_init(l, q);
    if (usage_lane_add(e, l) != 0 || map_put(&q->lanes, l->local, l, NULL) != 0) {
        lane_free(e, l);
        return NULL;
    }
    return l;
}

int lane_join(struct engine *e, struct engine_class *c, struct str local) {
    struct engine_queue *q = c->queue;
    struct engine_lane *l = &q->lane;
    if (e->o.local_usage) {
        l = map_get(&q->lanes, local);
        l = l != NULL ? l : lane_new(e, q, local);
    }
    if (l == NULL) {
        return ERR_NOMEM;
    }
    c->lane = l;
    l->n++;
    return 0;
}

void lane_leave(struct engine *e, struct engine_class *c) {
    struct engine_lane *l = c->lane;
    assert(c->place == 0);
    l->n--;
    if (l->n == 0 && l != &l->queue->lane) {
        map_del(&l->queue->lanes, l->local);
        lane_free(e, l);
    }
}

/* Its first class, or what that has as its first member, is another one. */
static void lane_fix(struct engine_lane *l) {
    if (l->heap.n == 0) {
        heap_remove(&l->queue->heap, l);
    } else {
        heap_fix(&l->queue->heap, l);
    }
}

int lane_push(struct engine_class *c) {
    struct engine_lane *l = c->lane;
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

void lane_remove(struct engine_class *c) {
    if (c->place != 0) {
        heap_remove(&c->lane->heap, c);
        lane_fix(c->lane);
    }
}

void lane_moved(struct engine_class *c) {
    if (c->place != 0) {
        heap_fix(&c->lane->heap, c);
        lane_fix(c->lane);
    }
}

void lane_used(struct engine_lane *l) {
    heap_fix(&l->queue->heap, l);
}

void lanes_order(struct engine_queue *q) {
    size_t n = q->heap.n;
    q->heap.n = 0;
    for (size_t i = 0; i < n; i++) {
        int r = heap_push(&q->heap, q->heap.v[i]);
        assert(r == 0); /* there is room for those it had */
        (void)r;
    }
}

struct engine_class *lanes_first(const struct engine_queue *q) {
    const struct engine_lane *l = heap_peek(&q->heap);
    return l != NULL ? heap_peek(&l->heap) : NULL;
}

size_t lanes_active(const struct engine_queue *q) {
    size_t n = 0;
    for (size_t i = 0; i < q->heap.n; i++) {
        n += ((const struct engine_lane *)q->heap.v[i])->heap.n;
    }
    return n;
}

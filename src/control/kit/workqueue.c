/*
 * workqueue: one item per key, in at most one of three places.
 *
 *     state     where it is                      left by
 *     idle      only in the map (has failures)   add
 *     waiting   in the heap, ordered by due      the timer
 *     working   held by a worker                 its result, or workqueue_done
 *
 * `again` is set on a working item that was added meanwhile, with the time at which it is due. An idle item without
 * failures is freed. Keys due at the same time come out in the order in which they were added.
 */
#include "control/kit/workqueue.h"

#include <assert.h>

#include "base/err.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"

enum { BASE_NS = 5000000, BUDGET = 128, MAX_SHIFT = 40 };

enum item_state { ITEM_IDLE, ITEM_WAITING, ITEM_WORKING };

struct item {
    struct str key; /* the sort as a byte, then "ns/name", in `text` */
    size_t ns_n;
    enum item_state state;
    bool again;
    unsigned failures;
    int64_t due, again_due;
    uint64_t order;
    size_t place;
    char text[];
};

struct workqueue {
    struct workqueue_options o;
    struct map items;
    struct heap waiting;
    struct timer *timer;
    struct clock_watch watch;
    struct workqueue_link links; /* head of a ring */
    uint64_t order;
    int64_t armed; /* when the timer fires, INT64_MAX when it does not run */
    bool lost, draining;
};

static int item_cmp(const void *va, const void *vb, void *ctx) {
    const struct item *a = va, *b = vb;
    if (a->due != b->due) {
        return a->due < b->due ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* Names of objects are at most 253 bytes each. */
enum { KEY_MAX = 512 };

static struct work_key item_key(const struct item *it) {
    return (struct work_key){(unsigned char)it->text[0], str_head(str_skip(it->key, 1), it->ns_n),
                             str_skip(it->key, 1 + it->ns_n + 1)};
}

static size_t key_length(struct work_key key) {
    return 1 + key.ns.n + 1 + key.name.n;
}

static void key_write(struct work_key key, char *to) {
    assert(key.what < WORK_KEY_SORTS);
    *to++ = (char)key.what;
    if (key.ns.n) {
        memcpy(to, key.ns.p, key.ns.n);
    }
    to[key.ns.n] = '/';
    if (key.name.n) {
        memcpy(to + key.ns.n + 1, key.name.p, key.name.n);
    }
}

static struct item *item_find(const struct workqueue *q, struct work_key key) {
    char text[KEY_MAX];
    size_t n = key_length(key);
    if (n > sizeof text) {
        return NULL;
    }
    key_write(key, text);
    return map_get(&q->items, str_from(text, n));
}

static struct item *item_make(struct workqueue *q, struct work_key key) {
    size_t n = key_length(key);
    struct item *it = n <= KEY_MAX ? mem_zalloc(sizeof *it + n) : NULL;
    if (it == NULL) {
        return NULL;
    }
    key_write(key, it->text);
    it->key = str_from(it->text, n);
    it->ns_n = key.ns.n;
    if (map_put(&q->items, it->key, it, NULL) != 0) {
        mem_free(it);
        return NULL;
    }
    return it;
}

static void item_drop_if_idle(struct workqueue *q, struct item *it) {
    if (it->state == ITEM_IDLE && it->failures == 0) {
        map_del(&q->items, it->key);
        mem_free(it);
    }
}

/* The timer runs iff something waits or was lost. */
static void arm(struct workqueue *q) {
    if (q->draining) {
        return; /* the drain arms once at its end */
    }
    const struct item *first = heap_peek(&q->waiting);
    int64_t now = clock_mono(q->o.clock);
    int64_t at = first ? first->due : INT64_MAX;
    if (q->lost && at > now + NS_PER_SEC) {
        at = now + NS_PER_SEC;
    }
    if (at == INT64_MAX || at == q->armed) {
        return;
    }
    q->armed = at;
    q->o.clock->timer_start(q->timer, at > now ? at - now : 0);
}

static void lose(struct workqueue *q) {
    q->lost = q->o.resync != NULL;
    arm(q);
}

static void enqueue(struct workqueue *q, struct item *it, int64_t due) {
    if (it->state == ITEM_WAITING) {
        if (due < it->due) {
            it->due = due;
            heap_fix(&q->waiting, it);
        }
    } else if (it->state == ITEM_WORKING) {
        it->again_due = it->again && it->again_due < due ? it->again_due : due;
        it->again = true;
        return;
    } else {
        it->due = due;
        it->order = q->order++;
        if (heap_push(&q->waiting, it) != 0) {
            item_drop_if_idle(q, it);
            lose(q);
            return;
        }
        it->state = ITEM_WAITING;
    }
    arm(q);
}

void workqueue_look(struct workqueue *q, struct work_key key, int64_t delay_ns) {
    struct item *it = item_find(q, key);
    if (it == NULL) {
        it = item_make(q, key);
    }
    if (it == NULL) {
        lose(q);
        return;
    }
    int64_t now = clock_mono(q->o.clock);
    int64_t due;
    if (delay_ns < 0) {
        delay_ns = 0;
    }
    if (__builtin_add_overflow(now, delay_ns, &due)) {
        due = INT64_MAX - 1;
    }
    enqueue(q, it, due);
}

void workqueue_add_after(struct workqueue *q, struct str ns, struct str name, int64_t delay_ns) {
    workqueue_look(q, (struct work_key){0, ns, name}, delay_ns);
}

void workqueue_add(struct workqueue *q, struct str ns, struct str name) {
    workqueue_add_after(q, ns, name, 0);
}

static int64_t backoff_ns(const struct workqueue *q, unsigned failures) {
    int64_t delay = q->o.base_ns;
    for (unsigned i = 1; i < failures && i < MAX_SHIFT && delay < q->o.max_ns; i++) {
        delay *= 2;
    }
    return delay < q->o.max_ns ? delay : q->o.max_ns;
}

static void settle(struct workqueue *q, struct item *it, enum work result) {
    it->state = ITEM_IDLE;
    if (result == WORK_OK) {
        it->failures = 0;
        if (it->again) {
            it->again = false;
            enqueue(q, it, it->again_due);
        } else {
            item_drop_if_idle(q, it);
        }
        return;
    }
    /* A change seen meanwhile does not shorten the back-off: the loop of a write that fails, is undone by the very
     * change it caused and fails again must slow down. */
    it->failures++;
    it->again = false;
    enqueue(q, it, clock_mono(q->o.clock) + backoff_ns(q, it->failures));
}

void workqueue_done(struct workqueue *q, struct work_key key, enum work result) {
    struct item *it = item_find(q, key);
    assert(it && it->state == ITEM_WORKING && result != WORK_BUSY);
    settle(q, it, result);
}

static void work_one(struct workqueue *q, struct item *it) {
    it->state = ITEM_WORKING;
    enum work r = q->o.step(q->o.ctx, item_key(it));
    if (r != WORK_BUSY) {
        settle(q, it, r);
    }
}

static void drain(void *ctx) {
    struct workqueue *q = ctx;
    q->armed = INT64_MAX;
    q->draining = true;
    if (q->lost) {
        q->lost = false;
        q->o.resync(q->o.ctx);
    }
    int64_t now = clock_mono(q->o.clock);
    for (size_t i = 0; i < q->o.budget; i++) {
        struct item *it = heap_peek(&q->waiting);
        if (it == NULL || it->due > now) {
            break;
        }
        heap_pop(&q->waiting);
        work_one(q, it);
    }
    q->draining = false;
    arm(q);
}

static void stepped(void *ctx) {
    struct workqueue *q = ctx;
    int64_t now = clock_mono(q->o.clock);
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&q->items, &i));) {
        struct item *it = e->value;
        if (it->state == ITEM_WAITING && it->due > now) {
            it->due = now;
            heap_fix(&q->waiting, it);
        } else if (it->again && it->again_due > now) {
            it->again_due = now;
        }
    }
    arm(q);
}

struct workqueue *workqueue_new(const struct workqueue_options *o) {
    struct workqueue *q = mem_zalloc(sizeof *q);
    if (q == NULL) {
        return NULL;
    }
    q->o = *o;
    q->o.base_ns = o->base_ns ? o->base_ns : BASE_NS;
    q->o.max_ns = o->max_ns ? o->max_ns : 1000 * NS_PER_SEC;
    q->o.budget = o->budget ? o->budget : BUDGET;
    q->armed = INT64_MAX;
    q->links.prev = q->links.next = &q->links;
    map_init(&q->items);
    heap_init(&q->waiting, item_cmp, NULL, offsetof(struct item, place));
    q->timer = o->clock->timer_new(o->clock, drain, q);
    if (q->timer == NULL) {
        mem_free(q);
        return NULL;
    }
    q->watch = (struct clock_watch){.stepped = stepped, .ctx = q};
    clock_watch_add(o->clock, &q->watch);
    return q;
}

void workqueue_free(struct workqueue *q) {
    if (q == NULL) {
        return;
    }
    while (q->links.next != &q->links) {
        struct workqueue_link *l = q->links.next;
        workqueue_detach(l);
        l->cut(l);
    }
    clock_watch_remove(q->o.clock, &q->watch);
    q->o.clock->timer_free(q->timer);
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&q->items, &i));) {
        mem_free(e->value);
    }
    map_release(&q->items);
    heap_release(&q->waiting);
    mem_free(q);
}

void workqueue_attach(struct workqueue *q, struct workqueue_link *l) {
    l->prev = q->links.prev;
    l->next = &q->links;
    l->prev->next = l;
    q->links.prev = l;
}

void workqueue_detach(struct workqueue_link *l) {
    if (l->next) {
        l->prev->next = l->next;
        l->next->prev = l->prev;
        l->prev = l->next = NULL;
    }
}

size_t workqueue_len(const struct workqueue *q) {
    return q->waiting.n;
}

unsigned workqueue_tried(const struct workqueue *q, struct work_key key) {
    const struct item *it = item_find(q, key);
    return it ? it->failures : 0;
}

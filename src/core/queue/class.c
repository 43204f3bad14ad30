/* class (core): see class.h. */
#include "core/queue/class.h"

#include <assert.h>

#include "core/queue/alike.h"
#include "core/queue/queue.h"

void queue_class_free(struct queue_class *c) {
    heap_release(&c->members);
    mem_free(c);
}

static struct str class_key(const uint64_t *key) {
    return str_from((const char *)key, sizeof(*key));
}

/* Those alike, of other LocalQueues, are a ring; with one LocalQueue for all there is one of a kind. */
static int kind_join(struct queue_class *c, const struct queue_workload *w) {
    struct map *kinds = &c->queue->kinds;
    struct queue_class *other = NULL;
    while (c->queue->of->usage.on && (other = map_get(kinds, class_key(&c->hash))) != NULL &&
           !workload_alike(other->joined, w)) {
        c->hash = hash_mix(c->hash, 1);
    }
    c->alike = other != NULL ? other->alike : c;
    c->alike_prev = other != NULL ? other : c;
    c->alike->alike_prev = c->alike_prev->alike = c;
    return other == NULL && c->queue->of->usage.on ? map_put(kinds, class_key(&c->hash), c, NULL)
                                                   : 0;
}

static void kind_leave(struct queue_class *c) {
    struct map *kinds = &c->queue->kinds;
    struct queue_class *other = c->alike;
    c->alike->alike_prev = c->alike_prev;
    c->alike_prev->alike = c->alike;
    if (map_get(kinds, class_key(&c->hash)) != c) {
        return;
    }
    if (other == c) {
        map_del(kinds, class_key(&c->hash));
    } else { /* the key is its memory */
        int r = map_put(kinds, class_key(&other->hash), other, NULL);
        assert(r == 0); /* it replaces */
        (void)r;
    }
}

static struct queue_class *class_new(struct queue *q, uint64_t key,
                                     const struct queue_workload *w) {
    struct queue_class *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->hash = w->hash;
    c->key = key;
    c->queue = q;
    c->told = 1;
    c->priority = w->priority;
    heap_init(&c->members, workload_order, NULL, offsetof(struct queue_workload, place));
    if (lane_join(c, w->local) != 0) {
        queue_class_free(c);
        return NULL;
    }
    if (kind_join(c, w) != 0) {
        lane_leave(c);
        queue_class_free(c);
        return NULL;
    }
    if (map_put(&q->classes, class_key(&c->key), c, NULL) != 0) {
        kind_leave(c);
        lane_leave(c);
        queue_class_free(c);
        return NULL;
    }
    return c;
}

static bool class_is(const struct queue_class *c, const struct queue_workload *w) {
    const struct queue_workload *x = c->joined;
    return workload_alike(x, w) && (!c->queue->of->usage.on || str_eq(x->local, w->local));
}

static void joined_link(struct queue_class *c, struct queue_workload *w) {
    w->class = c;
    w->join_prev = NULL;
    w->join_next = c->joined;
    if (w->join_next != NULL) {
        w->join_next->join_prev = w;
    }
    c->joined = w;
    c->n++;
}

static void joined_unlink(struct queue_class *c, struct queue_workload *w) {
    *(w->join_prev != NULL ? &w->join_prev->join_next : &c->joined) = w->join_next;
    if (w->join_next != NULL) {
        w->join_next->join_prev = w->join_prev;
    }
    w->join_prev = w->join_next = NULL;
    c->n--;
}

/* A number that others have by chance, or by design, is passed by; one that is free again is taken by whoever comes
 * next, and then those alike may be two classes for a while: each is decided about for itself. */
int class_join(struct queue *q, struct queue_workload *w) {
    uint64_t key = q->of->usage.on ? hash_str(w->hash, w->local) : w->hash;
    struct queue_class *c;
    while ((c = map_get(&q->classes, class_key(&key))) != NULL && !class_is(c, w)) {
        key = hash_mix(key, 1);
    }
    c = c != NULL ? c : class_new(q, key, w);
    if (c == NULL) {
        return ERR_NOMEM;
    }
    joined_link(c, w);
    if (preemptor_is(q, w)) {
        q->preemptor = w;
    }
    return 0;
}

static void parked_unlink(struct queue_class *c) {
    *(c->prev != NULL ? &c->prev->next : &c->queue->parked_classes) = c->next;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    c->prev = c->next = NULL;
}

void class_leave(struct queue_workload *w) {
    struct queue_class *c = w->class;
    w->class = NULL;
    if (w->queue->preemptor == w) {
        w->queue->preemptor = NULL;
    }
    if (c == NULL) {
        return;
    }
    joined_unlink(c, w);
    if (c->n > 0) {
        return;
    }
    if (c->parked) {
        parked_unlink(c);
    }
    class_tell_end(c);
    map_del(&c->queue->classes, class_key(&c->key));
    kind_leave(c);
    lane_leave(c);
    queue_class_free(c);
}

/* Those that know their reason stand last. */
static void member_link(struct queue_class *c, struct queue_workload *w) {
    bool last = w->told == c->told;
    w->prev = last ? c->last : NULL;
    w->next = last ? NULL : c->first;
    *(w->prev != NULL ? &w->prev->next : &c->first) = w;
    *(w->next != NULL ? &w->next->prev : &c->last) = w;
}

static void member_unlink(struct queue_class *c, struct queue_workload *w) {
    *(w->prev != NULL ? &w->prev->next : &c->first) = w->next;
    *(w->next != NULL ? &w->next->prev : &c->last) = w->prev;
    w->prev = w->next = NULL;
}

/* ---- telling ---- */

void class_tell_begin(struct queue_class *c) {
    if (c->telling || c->first == NULL || c->first->told == c->told) {
        return;
    }
    struct queues *queues = c->queue->of;
    c->telling = true;
    c->tell_prev = queues->tell_last;
    c->tell_next = NULL;
    *(queues->tell_last != NULL ? &queues->tell_last->tell_next : &queues->tell) = c;
    queues->tell_last = c;
}

void class_tell_end(struct queue_class *c) {
    if (!c->telling) {
        return;
    }
    struct queues *queues = c->queue->of;
    *(c->tell_prev != NULL ? &c->tell_prev->tell_next : &queues->tell) = c->tell_next;
    *(c->tell_next != NULL ? &c->tell_next->tell_prev : &queues->tell_last) = c->tell_prev;
    c->tell_prev = c->tell_next = NULL;
    c->telling = false;
}

void class_tell(struct queue_class *c, int reason) {
    if (c->told_reason != reason) {
        c->told_reason = reason;
        c->told++;
    }
    class_tell_begin(c);
}

void class_told(struct queue_class *c, struct queue_workload *w) {
    bool linked = w->state == WORKLOAD_HEAP;
    if (linked) {
        member_unlink(c, w);
    }
    w->told = c->told;
    if (linked) {
        member_link(c, w);
    }
}

/* ---- members ---- */

/* The class's first member may have changed. */
static void class_fix(struct queue_class *c) {
    struct queue_workload *w = heap_peek(&c->members);
    bool same = w == c->head;
    c->head = w;
    if (!same && w != NULL) {
        c->queued_ns = w->queued_ns;
    }
    if (c->parked || same) {
        return;
    }
    if (w == NULL) {
        lane_remove(c);
    } else {
        lane_moved(c);
    }
}

int class_member_add(struct queue_class *c, struct queue_workload *w) {
    int r = heap_push(&c->members, w);
    if (r != 0) {
        return r;
    }
    class_fix(c);
    if (!c->parked && c->place == 0) {
        r = lane_push(c);
        if (r != 0) {
            heap_remove(&c->members, w);
            class_fix(c);
            return r;
        }
    }
    member_link(c, w);
    return 0;
}

void class_member_remove(struct queue_class *c, struct queue_workload *w) {
    heap_remove(&c->members, w);
    member_unlink(c, w);
    class_fix(c);
}

/* ---- parking and trying again ---- */

void class_park(struct queue_class *c, bool wants_place) {
    struct queue *q = c->queue;
    c->wants_place = wants_place;
    if (c->parked) {
        return;
    }
    lane_remove(c);
    c->parked = true;
    c->prev = NULL;
    c->next = q->parked_classes;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    q->parked_classes = c;
    q->n_active -= c->members.n;
    q->n_parked += c->members.n;
    tree_parks(q);
}

int class_unpark(struct queue_class *c) {
    struct queue *q = c->queue;
    if (c->members.n > 0) {
        int r = lane_push(c);
        if (r != 0) {
            return r;
        }
    }
    parked_unlink(c);
    c->parked = c->wants_place = false;
    q->n_parked -= c->members.n;
    q->n_active += c->members.n;
    tree_list(q);
    return 0;
}

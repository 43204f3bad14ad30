/*
 * engine_queue (core): the buckets of a queue. A workload without quota is a member of its class, parked alone, or in
 * flight (the head of the cycle under way). A class with members is active, in the queue's heap, or parked.
 */
#include <assert.h>

#include "core/admit/preempt.h"
#include "core/admit/usage.h"

int workload_order(const void *a, const void *b, void *ctx) {
    const struct engine_workload *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    if (x->queued_ns != y->queued_ns) {
        return x->queued_ns < y->queued_ns ? -1 : 1;
    }
    return str_cmp(x->uid, y->uid);
}

struct engine_queue *queue_new(struct engine *e, struct str name) {
    struct engine_queue *q = mem_zalloc(sizeof(*q) + name.n);
    if (q == NULL) {
        return NULL;
    }
    if (name.n > 0) {
        memcpy(q + 1, name.p, name.n);
    }
    q->name = str_from((const char *)(q + 1), name.n);
    lanes_init(e, q);
    tree_init(&q->holders, holder_order);
    if (map_put(&e->queues, q->name, q, NULL) != 0) {
        mem_free(q);
        return NULL;
    }
    return q;
}

static void class_free(struct engine_class *c) {
    heap_release(&c->members);
    mem_free(c);
}

void queue_free(struct engine *e, struct engine_queue *q) {
    if (q == NULL) {
        return;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        class_free(m->value);
    }
    map_release(&q->classes);
    map_release(&q->kinds);
    lanes_release(e, q);
    tree_release(&q->holders);
    mem_free(q->memory);
    mem_free(q);
}

/* ---- classes ---- */

static struct str class_key(const uint64_t *key) {
    return str_from((const char *)key, sizeof(*key));
}

/* Known by uid: one that is put anew is another record. */
static uint64_t preemptor_hash(const struct engine_workload *w) {
    uint64_t h = hash_str(2, w->uid);
    return h != 0 ? h : 1;
}

void preemptor_set(struct engine_queue *q, struct engine_workload *w) {
    q->preemptor = w;
    q->preemptor_uid = w != NULL ? preemptor_hash(w) : 0;
}

void preemptor_gone(const struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    if (q->preemptor_uid != 0 && q->preemptor_uid == preemptor_hash(w)) {
        preemptor_set(q, NULL);
    }
}

/* Those alike, of other LocalQueues, are a ring; with one LocalQueue for all there is one of a kind. */
static int kind_join(struct engine *e, struct engine_class *c, const struct engine_workload *w) {
    struct map *kinds = &c->queue->kinds;
    struct engine_class *other = NULL;
    while (e->o.local_usage && (other = map_get(kinds, class_key(&c->hash))) != NULL &&
           !workload_alike(other->joined, w)) {
        c->hash = hash_mix(c->hash, 1);
    }
    c->alike = other != NULL ? other->alike : c;
    c->alike_prev = other != NULL ? other : c;
    c->alike->alike_prev = c->alike_prev->alike = c;
    return other == NULL && e->o.local_usage ? map_put(kinds, class_key(&c->hash), c, NULL) : 0;
}

static void kind_leave(struct engine_class *c) {
    struct map *kinds = &c->queue->kinds;
    struct engine_class *other = c->alike;
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

static struct engine_class *class_new(struct engine *e, struct engine_queue *q, uint64_t key,
                                      const struct engine_workload *w) {
    struct engine_class *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->hash = w->hash;
    c->key = key;
    c->queue = q;
    c->told = 1;
    c->priority = w->priority;
    heap_init(&c->members, workload_order, NULL, offsetof(struct engine_workload, place));
    if (lane_join(e, c, w->local) != 0) {
        class_free(c);
        return NULL;
    }
    if (kind_join(e, c, w) != 0) {
        lane_leave(e, c);
        class_free(c);
        return NULL;
    }
    if (map_put(&q->classes, class_key(&c->key), c, NULL) != 0) {
        kind_leave(c);
        lane_leave(e, c);
        class_free(c);
        return NULL;
    }
    return c;
}

static bool class_is(const struct engine *e, const struct engine_class *c,
                     const struct engine_workload *w) {
    const struct engine_workload *x = c->joined;
    return workload_alike(x, w) && (!e->o.local_usage || str_eq(x->local, w->local));
}

static void joined_link(struct engine_class *c, struct engine_workload *w) {
    w->class = c;
    w->join_prev = NULL;
    w->join_next = c->joined;
    if (w->join_next != NULL) {
        w->join_next->join_prev = w;
    }
    c->joined = w;
    c->n++;
}

static void joined_unlink(struct engine_class *c, struct engine_workload *w) {
    *(w->join_prev != NULL ? &w->join_prev->join_next : &c->joined) = w->join_next;
    if (w->join_next != NULL) {
        w->join_next->join_prev = w->join_prev;
    }
    w->join_prev = w->join_next = NULL;
    c->n--;
}

/* A number that others have by chance, or by design, is passed by; one that is free again is taken by whoever comes
 * next, and then those alike may be two classes for a while: each is decided about for itself. */
int class_join(struct engine *e, struct engine_queue *q, struct engine_workload *w) {
    uint64_t key = e->o.local_usage ? hash_str(w->hash, w->local) : w->hash;
    struct engine_class *c;
    while ((c = map_get(&q->classes, class_key(&key))) != NULL && !class_is(e, c, w)) {
        key = hash_mix(key, 1);
    }
    c = c != NULL ? c : class_new(e, q, key, w);
    if (c == NULL) {
        return ERR_NOMEM;
    }
    joined_link(c, w);
    if (q->preemptor_uid != 0 && q->preemptor_uid == preemptor_hash(w)) {
        q->preemptor = w;
    }
    return 0;
}

static void parked_unlink(struct engine_class *c) {
    *(c->prev != NULL ? &c->prev->next : &c->queue->parked_classes) = c->next;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    c->prev = c->next = NULL;
}

void class_leave(struct engine *e, struct engine_workload *w) {
    struct engine_class *c = w->class;
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
    class_tell_end(e, c);
    map_del(&c->queue->classes, class_key(&c->key));
    kind_leave(c);
    lane_leave(e, c);
    class_free(c);
}

/* Those that know their reason stand last. */
static void member_link(struct engine_class *c, struct engine_workload *w) {
    bool last = w->told == c->told;
    w->prev = last ? c->last : NULL;
    w->next = last ? NULL : c->first;
    *(w->prev != NULL ? &w->prev->next : &c->first) = w;
    *(w->next != NULL ? &w->next->prev : &c->last) = w;
}

static void member_unlink(struct engine_class *c, struct engine_workload *w) {
    *(w->prev != NULL ? &w->prev->next : &c->first) = w->next;
    *(w->next != NULL ? &w->next->prev : &c->last) = w->prev;
    w->prev = w->next = NULL;
}

/* ---- telling ---- */

static void tell_begin(struct engine *e, struct engine_class *c) {
    if (c->telling || c->first == NULL || c->first->told == c->told) {
        return;
    }
    c->telling = true;
    c->tell_prev = e->agenda.tell_last;
    c->tell_next = NULL;
    *(e->agenda.tell_last != NULL ? &e->agenda.tell_last->tell_next : &e->agenda.tell) = c;
    e->agenda.tell_last = c;
}

void class_tell_end(struct engine *e, struct engine_class *c) {
    if (!c->telling) {
        return;
    }
    *(c->tell_prev != NULL ? &c->tell_prev->tell_next : &e->agenda.tell) = c->tell_next;
    *(c->tell_next != NULL ? &c->tell_next->tell_prev : &e->agenda.tell_last) = c->tell_prev;
    c->tell_prev = c->tell_next = NULL;
    c->telling = false;
}

void class_tell(struct engine *e, struct engine_class *c, enum pend_reason reason) {
    if (c->told_reason != reason) {
        c->told_reason = reason;
        c->told++;
    }
    tell_begin(e, c);
}

void class_told(struct engine_class *c, struct engine_workload *w) {
    bool linked = w->state == WORKLOAD_HEAP;
    if (linked) {
        member_unlink(c, w);
    }
    w->told = c->told;
    if (linked) {
        member_link(c, w);
    }
}

/* ---- in and out ---- */

/* The class's first member may have changed. */
static void class_fix(struct engine_class *c) {
    struct engine_workload *w = heap_peek(&c->members);
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

int queue_push(struct engine *e, struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    struct engine_class *c = w->class;
    assert(w->state == WORKLOAD_IDLE);
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
    w->state = WORKLOAD_HEAP;
    member_link(c, w);
    if (c->parked) {
        q->n_parked++;
        tree_parks(e, q);
        tell_begin(e, c);
    } else {
        q->n_active++;
        tree_list(e, q);
    }
    return 0;
}

void queue_park(struct engine *e, struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    assert(w->state == WORKLOAD_IDLE);
    w->prev = NULL;
    w->next = q->parked;
    if (w->next != NULL) {
        w->next->prev = w;
    }
    q->parked = w;
    q->n_parked++;
    w->state = WORKLOAD_PARKED;
    tree_parks(e, q);
}

static void parked_remove(struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    *(w->prev != NULL ? &w->prev->next : &q->parked) = w->next;
    if (w->next != NULL) {
        w->next->prev = w->prev;
    }
    w->prev = w->next = NULL;
    q->n_parked--;
}

static void member_remove(struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    struct engine_class *c = w->class;
    heap_remove(&c->members, w);
    member_unlink(c, w);
    class_fix(c);
    *(c->parked ? &q->n_parked : &q->n_active) -= 1;
}

void queue_forget(struct engine *e, struct engine_workload *w) {
    switch (w->state) {
    case WORKLOAD_HEAP:
        member_remove(w);
        break;
    case WORKLOAD_PARKED:
        parked_remove(w);
        break;
    case WORKLOAD_FLIGHT:
        w->queue->flight = NULL;
        for (size_t i = 0; i < e->cycle.entries.n; i++) {
            if (e->cycle.entries.v[i].w == w) {
                e->cycle.entries.v[i].w = NULL;
            }
        }
        break;
    case WORKLOAD_IDLE:
    case WORKLOAD_HOLDING:
        break;
    }
    w->state = WORKLOAD_IDLE;
}

/* ---- the head ---- */

struct engine_workload *queue_head(struct engine *e, struct engine_queue *q) {
    struct engine_class *c = lanes_first(q);
    struct engine_workload *p = q->preemptor, *w = c != NULL ? c->head : NULL;
    bool sticky = p != NULL && !q->strict && p->state == WORKLOAD_HEAP && !p->class->parked;
    if (sticky && (w == NULL || !usage_orders(e, q) || usage_cmp(e, p, w) <= 0)) {
        return p;
    }
    return w;
}

/* ---- parking and trying again ---- */

static void class_park(struct engine *e, struct engine_class *c, bool place) {
    struct engine_queue *q = c->queue;
    c->wants_place = place;
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
    tree_parks(e, q);
}

void queue_park_alike(struct engine *e, struct engine_workload *w, bool place,
                      enum pend_reason reason) {
    struct engine_class *c = w->class;
    do {
        class_park(e, c, place);
        class_tell(e, c, reason);
        c = c->alike;
    } while (c != w->class);
}

int class_unpark(struct engine *e, struct engine_class *c) {
    struct engine_queue *q = c->queue;
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
    tree_list(e, q);
    return 0;
}

int queue_unpark_one(struct engine *e, struct engine_queue *q) {
    if (q->parked_classes != NULL) {
        return class_unpark(e, q->parked_classes);
    }
    struct engine_workload *w = q->parked;
    if (w == NULL) {
        return 0;
    }
    queue_forget(e, w);
    int r = queue_push(e, w);
    if (r != 0) {
        queue_park(e, w);
    }
    return r;
}

/* ---- all of them ---- */

static void members_take(const struct engine_class *c, size_t limit, struct workload_vec *out) {
    for (size_t i = 0; i < c->members.n && out->n < limit; i++) {
        out->v[out->n++] = c->members.v[i];
    }
}

int queue_waiting(const struct engine_queue *q, size_t limit, struct workload_vec *out) {
    size_t all = q->n_active + q->n_parked + (q->flight != NULL);
    int r = workload_vec_room(out, all < limit ? all : limit);
    if (r != 0) {
        return r;
    }
    limit = limit < all ? out->n + limit : out->n + all;
    if (q->flight != NULL && out->n < limit) {
        out->v[out->n++] = q->flight;
    }
    for (size_t i = 0; i < q->heap.n; i++) {
        const struct engine_lane *l = q->heap.v[i];
        for (size_t k = 0; k < l->heap.n; k++) {
            members_take(l->heap.v[k], limit, out);
        }
    }
    for (const struct engine_class *c = q->parked_classes; c != NULL; c = c->next) {
        members_take(c, limit, out);
    }
    for (struct engine_workload *w = q->parked; w != NULL && out->n < limit; w = w->next) {
        out->v[out->n++] = w;
    }
    return 0;
}

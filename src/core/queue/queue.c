/* queue (core): see queue.h. */
#include "core/queue/queue.h"

#include <assert.h>

#include "core/queue/holder.h"

struct queue *queue_new(struct queues *all, struct str name) {
    struct queue *q = mem_zalloc(sizeof(*q) + name.n);
    if (q == NULL) {
        return NULL;
    }
    if (name.n > 0) {
        memcpy(q + 1, name.p, name.n);
    }
    q->name = str_from((const char *)(q + 1), name.n);
    q->of = all;
    lanes_init(q);
    tree_init(&q->holders, holder_order);
    if (map_put(&all->by_name, q->name, q, NULL) != 0) {
        mem_free(q);
        return NULL;
    }
    return q;
}

void queue_free(struct queue *q) {
    if (q == NULL) {
        return;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        queue_class_free(m->value);
    }
    map_release(&q->classes);
    map_release(&q->kinds);
    lanes_release(q);
    tree_release(&q->holders);
    mem_free(q->memory);
    mem_free(q);
}

bool queue_names_flavor(const struct queue *q, uint32_t flavor) {
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_flavors; k++) {
            if (q->groups[i].flavors[k] == flavor) {
                return true;
            }
        }
    }
    return false;
}

/* ---- who evicted others ---- */

/* Known by uid: one that is put anew is another record. */
static uint64_t preemptor_hash(const struct queue_workload *w) {
    uint64_t h = hash_str(2, w->uid);
    return h != 0 ? h : 1;
}

void preemptor_set(struct queue *q, struct queue_workload *w) {
    q->preemptor = w;
    q->preemptor_uid = w != NULL ? preemptor_hash(w) : 0;
}

bool preemptor_is(const struct queue *q, const struct queue_workload *w) {
    return q->preemptor_uid != 0 && q->preemptor_uid == preemptor_hash(w);
}

void preemptor_gone(const struct queue_workload *w) {
    if (preemptor_is(w->queue, w)) {
        preemptor_set(w->queue, NULL);
    }
}

/* ---- in and out ---- */

int queue_push(struct queue_workload *w) {
    struct queue *q = w->queue;
    struct queue_class *c = w->class;
    assert(w->state == WORKLOAD_IDLE);
    int r = class_member_add(c, w);
    if (r != 0) {
        return r;
    }
    w->state = WORKLOAD_HEAP;
    if (c->parked) {
        q->n_parked++;
        tree_parks(q);
        class_tell_begin(c);
    } else {
        q->n_active++;
        tree_list(q);
    }
    return 0;
}

void queue_park(struct queue_workload *w) {
    struct queue *q = w->queue;
    assert(w->state == WORKLOAD_IDLE);
    w->prev = NULL;
    w->next = q->parked;
    if (w->next != NULL) {
        w->next->prev = w;
    }
    q->parked = w;
    q->n_parked++;
    w->state = WORKLOAD_PARKED;
    tree_parks(q);
}

void queue_return(struct queue_workload *w) {
    if (queue_push(w) != 0) {
        queue_park(w);
        tree_retry(w->queue);
    }
}

static void parked_remove(struct queue_workload *w) {
    struct queue *q = w->queue;
    *(w->prev != NULL ? &w->prev->next : &q->parked) = w->next;
    if (w->next != NULL) {
        w->next->prev = w->prev;
    }
    w->prev = w->next = NULL;
    q->n_parked--;
}

void queue_forget(struct queue_workload *w) {
    struct queue *q = w->queue;
    switch (w->state) {
    case WORKLOAD_HEAP:
        class_member_remove(w->class, w);
        *(w->class->parked ? &q->n_parked : &q->n_active) -= 1;
        break;
    case WORKLOAD_PARKED:
        parked_remove(w);
        break;
    case WORKLOAD_FLIGHT:
        q->flight = NULL;
        break;
    case WORKLOAD_IDLE:
    case WORKLOAD_HOLDING:
        break;
    }
    w->state = WORKLOAD_IDLE;
}

/* ---- the head ---- */

struct queue_workload *queue_head(const struct queue *q) {
    struct queue_class *c = lanes_first(q);
    struct queue_workload *p = q->preemptor, *w = c != NULL ? c->head : NULL;
    bool sticky = p != NULL && !q->strict && p->state == WORKLOAD_HEAP && !p->class->parked;
    if (sticky && (w == NULL || !usage_orders(q) || usage_cmp(&q->of->usage, p, w) <= 0)) {
        return p;
    }
    return w;
}

struct queue_workload *queue_take_off(struct queue *q) {
    struct queue_workload *w = queue_head(q);
    queue_forget(w);
    w->state = WORKLOAD_FLIGHT;
    q->flight = w;
    return w;
}

void queue_unclaim(struct queue *q) {
    if (q->claims) {
        pool_claims_drop(q->of->agenda.pool, q->name);
        q->claims = false;
    }
}

/* ---- parking and trying again ---- */

void queue_park_alike(struct queue_workload *w, bool place, int reason) {
    struct queue_class *c = w->class;
    do {
        class_park(c, place);
        class_tell(c, reason);
        c = c->alike;
    } while (c != w->class);
}

int queue_unpark_one(struct queue *q) {
    if (q->parked_classes != NULL) {
        return class_unpark(q->parked_classes);
    }
    struct queue_workload *w = q->parked;
    if (w == NULL) {
        return 0;
    }
    queue_forget(w);
    int r = queue_push(w);
    if (r != 0) {
        queue_park(w);
    }
    return r;
}

/* ---- all of them ---- */

static void members_take(const struct queue_class *c, size_t limit, struct workload_vec *out) {
    for (size_t i = 0; i < c->members.n && out->n < limit; i++) {
        out->v[out->n++] = c->members.v[i];
    }
}

int queue_waiting(const struct queue *q, size_t limit, struct workload_vec *out) {
    size_t all = queue_pending(q);
    int r = workload_vec_room(out, all < limit ? all : limit);
    if (r != 0) {
        return r;
    }
    limit = limit < all ? out->n + limit : out->n + all;
    if (q->flight != NULL && out->n < limit) {
        out->v[out->n++] = q->flight;
    }
    for (size_t i = 0; i < q->heap.n; i++) {
        const struct queue_lane *l = q->heap.v[i];
        for (size_t k = 0; k < l->heap.n; k++) {
            members_take(l->heap.v[k], limit, out);
        }
    }
    for (const struct queue_class *c = q->parked_classes; c != NULL; c = c->next) {
        members_take(c, limit, out);
    }
    for (struct queue_workload *w = q->parked; w != NULL && out->n < limit; w = w->next) {
        out->v[out->n++] = w;
    }
    return 0;
}

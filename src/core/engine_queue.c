/*
 * engine_queue (core): the buckets of a queue. A workload without quota is in the heap, parked, or in flight
 * (the head of
 * the cycle under way).
 */
#include <assert.h>

#include "core/engine_private.h"

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

int queue_list(struct engine *e, struct engine_queue *q) {
    if (q->listed) {
        return 0;
    }
    int r = queue_vec_push(&e->ready, q);
    q->listed = r == 0;
    return r;
}

/* ---- classes of equal workloads ---- */

int class_join(struct engine_queue *q, struct engine_workload *w) {
    struct str key = str_from((const char *)&w->hash, sizeof(w->hash));
    struct engine_class *c = map_get(&q->classes, key);
    if (c == NULL) {
        c = mem_zalloc(sizeof(*c));
        if (c == NULL) {
            return ERR_NOMEM;
        }
        c->hash = w->hash;
        if (map_put(&q->classes, str_from((const char *)&c->hash, sizeof(c->hash)), c, NULL) !=
            0) {
            mem_free(c);
            return ERR_NOMEM;
        }
    }
    c->n++;
    w->class = c;
    return 0;
}

void class_leave(struct engine_queue *q, struct engine_workload *w) {
    struct engine_class *c = w->class;
    w->class = NULL;
    if (c != NULL && --c->n == 0) {
        map_del(&q->classes, str_from((const char *)&c->hash, sizeof(c->hash)));
        mem_free(c);
    }
}

static void class_link(struct engine_workload *w) {
    w->class_prev = NULL;
    w->class_next = w->class->members;
    if (w->class_next != NULL) {
        w->class_next->class_prev = w;
    }
    w->class->members = w;
}

static void class_unlink(struct engine_workload *w) {
    *(w->class_prev != NULL ? &w->class_prev->class_next : &w->class->members) = w->class_next;
    if (w->class_next != NULL) {
        w->class_next->class_prev = w->class_prev;
    }
    w->class_prev = w->class_next = NULL;
}

/* ---- heap and parked ---- */

int queue_push(struct engine *e, struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    assert(w->state == WORKLOAD_IDLE);
    int r = queue_list(e, q);
    if (r == 0) {
        r = heap_push(&q->heap, w);
    }
    if (r != 0) {
        return r;
    }
    class_link(w);
    w->state = WORKLOAD_HEAP;
    return 0;
}

void queue_park(struct engine *e, struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    assert(w->state == WORKLOAD_IDLE);
    w->prev = q->parked_last;
    w->next = NULL;
    *(q->parked_last != NULL ? &q->parked_last->next : &q->parked) = w;
    q->parked_last = w;
    q->n_parked++;
    q->n_place += w->wants_place;
    w->state = WORKLOAD_PARKED;
}

static void unpark(struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    *(w->prev != NULL ? &w->prev->next : &q->parked) = w->next;
    *(w->next != NULL ? &w->next->prev : &q->parked_last) = w->prev;
    w->prev = w->next = NULL;
    q->n_parked--;
    q->n_place -= w->wants_place;
    w->wants_place = false;
    w->state = WORKLOAD_IDLE;
}

void queue_forget(struct engine *e, struct engine_workload *w) {
    struct engine_queue *q = w->queue;
    switch (w->state) {
    case WORKLOAD_HEAP:
        heap_remove(&q->heap, w);
        class_unlink(w);
        break;
    case WORKLOAD_PARKED:
        unpark(w);
        break;
    case WORKLOAD_FLIGHT:
        q->flight = NULL;
        for (size_t i = 0; i < e->entries.n; i++) {
            if (e->entries.v[i].w == w) {
                e->entries.v[i].w = NULL;
            }
        }
        break;
    case WORKLOAD_IDLE:
    case WORKLOAD_HOLDING:
        break;
    }
    w->state = WORKLOAD_IDLE;
}

int queue_park_alike(struct engine *e, struct engine_workload *w, const struct verdict *v,
                     bool place) {
    struct engine_class *c = w->class;
    c->parked = true;
    while (c->members != NULL) {
        struct engine_workload *o = c->members;
        struct engine_action a = {.type = ACTION_PEND, .uid = o->uid, .queue = o->queue->name,
                                  .verdict = v};
        int r = action_add(e, &a);
        if (r != 0) {
            return r; /* the others are met one by one */
        }
        queue_forget(e, o);
        o->wants_place = place;
        o->missed_place = false;
        queue_park(e, o);
    }
    return 0;
}

/* ---- trying again ---- */

void engine_retry_tree(struct engine *e, struct engine_queue *q) {
    struct quota_node *root = q->node->root;
    if (e->forest.dirty || root == NULL || e->retry_everyone) {
        e->retry_everyone = true; /* the roots are about to change */
        return;
    }
    if (!root->retry) {
        root->retry = quota_nodes_push(&e->retry, root) == 0;
        e->retry_everyone = !root->retry;
    }
}

bool engine_retry_due(const struct engine *e) {
    return e->retry_everyone || e->retry.n > 0;
}

static int retry_queue(struct engine *e, struct engine_queue *q) {
    q->blocked = false;
    q->generation++; /* whoever was half way through its flavors starts anew */
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        ((struct engine_class *)m->value)->parked = false;
    }
    while (q->parked != NULL) {
        struct engine_workload *w = q->parked;
        bool place = w->wants_place;
        unpark(w);
        int r = queue_push(e, w);
        if (r != 0) {
            w->wants_place = place;
            queue_park(e, w);
            return r;
        }
    }
    return 0;
}

static int retry_trees(struct engine *e) {
    while (e->retry.n > 0) {
        struct quota_node *root = e->retry.v[e->retry.n - 1];
        for (struct quota_node *n = root->tree_first; n != NULL; n = n->tree_next) {
            int r = n->user != NULL ? retry_queue(e, n->user) : 0;
            if (r != 0) {
                return r;
            }
        }
        root->retry = false;
        e->retry.n--;
    }
    return 0;
}

/* Queues that have somebody waiting for a place, or all of them. */
static int retry_scan(struct engine *e, bool all) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        struct engine_queue *q = m->value;
        if (all || q->n_place > 0 || q->blocked) {
            int r = retry_queue(e, q);
            if (r != 0) {
                return r; /* what asked for it stands: again at the next run */
            }
        }
    }
    return 0;
}

int engine_retry_all(struct engine *e) {
    uint64_t place = pool_generation(e->pool);
    if (e->retry.n > 0 && e->retry_settled != e->forest.settled) {
        e->retry.n = 0; /* noted roots may be gone */
        e->retry_everyone = true;
    }
    e->retry_settled = e->forest.settled;
    int r = 0;
    if (e->retry_everyone || place != e->pool_seen) {
        r = retry_scan(e, e->retry_everyone);
    }
    if (r == 0 && e->retry_everyone) {
        for (size_t i = 0; i < e->forest.order.n; i++) {
            e->forest.order.v[i]->retry = false;
        }
        e->retry.n = 0;
    }
    r = r == 0 ? retry_trees(e) : r;
    if (r == 0) {
        e->retry_everyone = false;
        e->pool_seen = place;
    }
    return r;
}

bool queue_is_able(const struct engine *e, const struct engine_queue *q) {
    if (q->held) {
        return false;
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_flavors; k++) {
            if (e->flavors.v[q->groups[i].flavors[k]].memory == NULL) {
                return false;
            }
        }
    }
    return true;
}

bool queue_is_active(const struct engine *e, const struct engine_queue *q) {
    bool cycle = q->node->depth > 1000 || (q->node->apart && q->node->active);
    return !cycle && queue_is_able(e, q);
}

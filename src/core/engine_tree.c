/*
 * engine_tree (core): cohort trees: which of them have something to do, and what makes them try again.
 *
 * A tree is due when it is awake (a cycle may decide something) or when its parked workloads are to be tried again.
 * Due trees take turns. Whatever frees quota or a place only marks the tree: many such events cost one retry.
 */
#include <assert.h>

#include "core/engine_private.h"

int tree_wake_order(const void *a, const void *b, void *ctx) {
    const struct engine_tree *x = a, *y = b;
    if (x->wake_ns != y->wake_ns) {
        return x->wake_ns < y->wake_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* all that are due are woken together: their order is not seen */
}

void engine_edited(struct engine *e) {
    cycle_abort(e);
    e->stale = true;
}

/* ---- due ---- */

static void due_add(struct engine *e, struct engine_tree *t) {
    if (t->due) {
        return;
    }
    t->due = true;
    t->due_next = NULL;
    *(e->due_last != NULL ? &e->due_last->due_next : &e->due) = t;
    e->due_last = t;
}

static struct engine_tree *due_pop(struct engine *e) {
    struct engine_tree *t = e->due;
    e->due = t->due_next;
    e->due_last = e->due != NULL ? e->due_last : NULL;
    t->due = false;
    return t;
}

struct engine_tree *tree_due(struct engine *e) {
    while (e->due != NULL && !e->due->awake && !e->due->retry) {
        due_pop(e);
    }
    return e->due;
}

void tree_due_last(struct engine *e) {
    due_add(e, due_pop(e));
}

void tree_wake(struct engine *e, struct engine_queue *q) {
    if (!trees_valid(e) || !q->active) {
        return;
    }
    struct engine_tree *t = q->tree;
    t->awake = t->poked = true;
    t->idle = 0;
    due_add(e, t);
}

void tree_retry(struct engine *e, struct engine_queue *q) {
    if (!trees_valid(e)) {
        return; /* all are */
    }
    struct engine_tree *t = q->tree;
    t->retry = t->poked = true;
    t->awake = t->awake || t->n_ready > 0;
    t->idle = 0;
    due_add(e, t);
}

void tree_wake_at(struct engine *e, struct engine_tree *t, int64_t ns) {
    if (t->wake_place != 0) {
        if (ns < t->wake_ns) {
            t->wake_ns = ns;
            heap_fix(&e->wakes, t);
        }
        return;
    }
    t->wake_ns = ns;
    if (heap_push(&e->wakes, t) != 0) {
        t->retry = t->poked = true;
        due_add(e, t);
    }
}

void tree_list(struct engine *e, struct engine_queue *q) {
    if (trees_valid(e) && q->active && !q->listed && q->n_active > 0) {
        q->tree->ready[q->tree->n_ready++] = q;
        q->listed = true;
    }
}

void tree_parks(struct engine *e, struct engine_queue *q) {
    if (trees_valid(e) && !q->parks) {
        q->parks_next = q->tree->parks;
        q->tree->parks = q;
        q->parks = true;
    }
}

void queue_placeless(struct engine *e, struct engine_queue *q) {
    if (!q->waits_place) {
        q->waits_place = queue_vec_push(&e->placeless, q) == 0;
        if (!q->waits_place) {
            tree_retry(e, q); /* not forgotten: tried again, until there is memory to wait */
        }
    }
}

void trees_wake(struct engine *e) {
    for (struct engine_tree *t; (t = heap_peek(&e->wakes)) != NULL && t->wake_ns <= e->now_ns;) {
        heap_pop(&e->wakes);
        t->retry = true;
        t->awake = t->awake || t->n_ready > 0;
        due_add(e, t);
    }
    uint64_t place = pool_generation(e->pool);
    if (place == e->pool_seen) {
        return;
    }
    e->pool_seen = place;
    for (; e->placeless.n > 0; e->placeless.n--) {
        struct engine_queue *q = e->placeless.v[e->placeless.n - 1];
        q->waits_place = false;
        tree_retry(e, q);
        tree_wake(e, q);
    }
}

int tree_unpark(struct engine *e, struct engine_tree *t) {
    while (t->parks != NULL && e->left > 0) {
        struct engine_queue *q = t->parks;
        if (q->parked_classes == NULL && q->parked == NULL) {
            t->parks = q->parks_next;
            q->parks = false;
            continue;
        }
        int r = queue_unpark_one(e, q);
        if (r != 0) {
            return r;
        }
        e->left -= ++e->unparked % 16 == 0; /* some sixteen of these cost what a head does */
    }
    if (t->parks == NULL) {
        t->retry = false;
        t->retries = ++e->retry_clock;
        t->awake = t->n_ready > 0;
        t->idle = 0;
    }
    return 0;
}

/* ---- made anew ---- */

/* By its own spec: not stopped, and its flavors are there. */
static bool queue_is_able(const struct engine *e, const struct engine_queue *q) {
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

static void queues_able(struct engine *e) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        struct engine_queue *q = m->value;
        bool able = queue_is_able(e, q);
        if (able != q->node->active) {
            q->node->active = able;
            e->forest.dirty = true;
        }
    }
}

void trees_free(struct engine *e) {
    mem_free(e->trees);
    mem_free(e->ready_room);
    e->trees = NULL;
    e->ready_room = NULL;
    e->n_trees = 0;
    e->due = e->due_last = NULL;
    e->wakes.n = 0;
}

/* Adds a queue to its tree as it is. */
static void tree_take(struct engine *e, struct engine_tree *t, struct engine_queue *q) {
    bool in_cycle = q->node->depth > 1000 || (q->node->apart && q->node->active);
    q->tree = t;
    q->listed = q->parks = false;
    q->active = q->node->active && !in_cycle;
    q->generation++;
    tree_list(e, q);
    if (q->n_parked > 0) {
        tree_parks(e, q);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        unsigned limit = (unsigned)(2 + 2 * q->groups[i].n_flavors);
        e->idle_limit = limit > e->idle_limit ? limit : e->idle_limit;
    }
}

static int trees_make(struct engine *e) {
    size_t n = 0;
    for (size_t i = 0; i < e->forest.order.n; i++) {
        n += e->forest.order.v[i]->tree_first != NULL;
    }
    struct engine_tree *trees = mem_array(n + 1, sizeof(*trees));
    struct engine_queue **room = mem_array(map_count(&e->queues) + 1, sizeof(*room));
    if (trees == NULL || room == NULL) {
        mem_free(trees);
        mem_free(room);
        return ERR_NOMEM;
    }
    trees_free(e);
    e->trees = trees;
    e->ready_room = room;
    e->idle_limit = 4;
    e->stale = false;
    for (size_t i = 0; i < e->forest.order.n; i++) {
        const struct quota_node *root = e->forest.order.v[i];
        if (root->tree_first == NULL) {
            continue;
        }
        struct engine_tree *t = &e->trees[e->n_trees++];
        t->ready = room;
        t->cycle = e->cycle;
        t->retries = ++e->retry_clock;
        for (struct quota_node *q = root->tree_first; q != NULL; q = q->tree_next) {
            tree_take(e, t, q->user);
            t->n_queues++;
            room++;
        }
        t->retry = t->parks != NULL;
        t->awake = t->n_ready > 0;
        if (t->retry || t->awake) {
            due_add(e, t);
        }
    }
    turns_clear(e);
    return 0;
}

int engine_settle(struct engine *e) {
    if (trees_valid(e)) {
        return 0;
    }
    assert(e->phase == CYCLE_NONE);
    e->stale = true;
    queues_able(e);
    int r = quota_settle(&e->forest);
    return r == 0 ? trees_make(e) : r;
}

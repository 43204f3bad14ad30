/*
 * engine_tree (core): cohort trees: which trees have work to do, and which changes make them try again.
 *
 * A tree is due when it is awake (a cycle may decide something) or when its parked workloads are to be tried again.
 * Due trees take turns. Whatever frees quota or a place only marks the tree: many such events cost one retry.
 */
#include <assert.h>

#include "core/admit/engine_private.h"

int tree_wake_order(const void *a, const void *b, void *ctx) {
    const struct engine_tree *x = a, *y = b;
    if (x->wake_ns != y->wake_ns) {
        return x->wake_ns < y->wake_ns ? -1 : 1;
    }
    return (x->born > y->born) -
           (x->born < y->born); /* who is first takes the places of nodes that both use */
}

void engine_edits(struct engine *e, const struct quota_node *n) {
    if (e->cycle.phase != CYCLE_NONE && n != NULL && n->root == e->cycle.tree->root) {
        cycle_abort(e);
    }
}

static bool names_flavor(const struct engine_queue *q, uint32_t flavor) {
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_flavors; k++) {
            if (q->groups[i].flavors[k] == flavor) {
                return true;
            }
        }
    }
    return false;
}

void flavor_edits(struct engine *e, uint32_t flavor) {
    const struct quota_node *n =
        e->cycle.phase != CYCLE_NONE ? e->cycle.tree->root->tree_first : NULL;
    for (; n != NULL; n = n->tree_next) {
        if (names_flavor(n->user, flavor)) {
            cycle_abort(e);
            return;
        }
    }
}

void flavor_edited(struct engine *e, uint32_t flavor) {
    size_t i = 0;
    for (const struct map_entry *m;
         e->flavors.v[flavor].named && (m = map_next(&e->queues, &i)) != NULL;) {
        struct engine_queue *q = m->value;
        if (names_flavor(q, flavor)) {
            quota_touch(&e->forest, q->node);
        }
    }
}

/* ---- due ---- */

static void due_add(struct engine *e, struct engine_tree *t) {
    if (t->due) {
        return;
    }
    t->due = true;
    t->due_next = NULL;
    t->due_prev = e->agenda.due_last;
    *(e->agenda.due_last != NULL ? &e->agenda.due_last->due_next : &e->agenda.due) = t;
    e->agenda.due_last = t;
}

static void due_remove(struct engine *e, struct engine_tree *t) {
    if (t->due) {
        *(t->due_prev != NULL ? &t->due_prev->due_next : &e->agenda.due) = t->due_next;
        *(t->due_next != NULL ? &t->due_next->due_prev : &e->agenda.due_last) = t->due_prev;
        t->due_next = t->due_prev = NULL;
        t->due = false;
    }
}

struct engine_tree *tree_due(struct engine *e) {
    while (e->agenda.due != NULL && !e->agenda.due->awake && !e->agenda.due->retry) {
        due_remove(e, e->agenda.due);
    }
    return e->agenda.due;
}

void tree_due_last(struct engine *e) {
    struct engine_tree *t = e->agenda.due;
    due_remove(e, t);
    due_add(e, t);
}

void tree_wake(struct engine *e, struct engine_queue *q) {
    if (!tree_valid(q) || !q->active) {
        return;
    }
    struct engine_tree *t = q->tree;
    t->awake = t->poked = true;
    t->idle = 0;
    due_add(e, t);
}

void tree_retry(struct engine *e, struct engine_queue *q) {
    if (!tree_valid(q)) {
        return; /* all of it is */
    }
    struct engine_tree *t = q->tree;
    t->retry = t->poked = true;
    t->idle = 0;
    due_add(e, t);
}

void tree_wake_at(struct engine *e, struct engine_tree *t, int64_t ns) {
    if (t->wake_place != 0) {
        if (ns < t->wake_ns) {
            t->wake_ns = ns;
            heap_fix(&e->agenda.wakes, t);
        }
        return;
    }
    t->wake_ns = ns;
    if (heap_push(&e->agenda.wakes, t) != 0) {
        t->retry = t->poked = true;
        due_add(e, t);
    }
}

void tree_list(struct engine *e, struct engine_queue *q) {
    struct engine_tree *t = q->tree;
    if (!tree_valid(q) || !q->active || q->listed || q->n_active == 0) {
        return;
    }
    if (e->cycle.phase == CYCLE_HEADS && e->cycle.tree == t &&
        e->cycle.at > e->cycle.kept) { /* there is room for each once */
        memmove(t->ready + e->cycle.kept, t->ready + e->cycle.at,
                (t->n_ready - e->cycle.at) * sizeof(*t->ready));
        t->n_ready -= e->cycle.at - e->cycle.kept;
        e->cycle.at = e->cycle.kept;
    }
    t->ready[t->n_ready++] = q;
    q->listed = true;
}

void tree_parks(struct engine *e, struct engine_queue *q) {
    if (tree_valid(q) && !q->parks) {
        q->parks_next = q->tree->parks;
        q->tree->parks = q;
        q->parks = true;
    }
}

void queue_placeless(struct engine *e, struct engine_queue *q) {
    if (!q->waits_place) {
        q->waits_place = queue_vec_push(&e->agenda.placeless, q) == 0;
        if (!q->waits_place) {
            tree_retry(e, q); /* not forgotten: tried again, until there is memory to wait */
        }
    }
}

void trees_wake(struct engine *e) {
    for (struct engine_tree *t;
         (t = heap_peek(&e->agenda.wakes)) != NULL && t->wake_ns <= e->now_ns;) {
        heap_pop(&e->agenda.wakes);
        t->retry = true;
        due_add(e, t);
    }
    uint64_t place = pool_generation(e->pool);
    if (place == e->agenda.pool_seen) {
        return;
    }
    e->agenda.pool_seen = place;
    for (; e->agenda.placeless.n > 0; e->agenda.placeless.n--) {
        struct engine_queue *q = e->agenda.placeless.v[e->agenda.placeless.n - 1];
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
        e->left -= ++e->agenda.unparked % 16 == 0; /* some sixteen of these cost what a head does */
    }
    if (t->parks == NULL) {
        t->retry = false;
        t->retries = ++e->agenda.retry_clock;
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
    struct quota_node *n = e->forest.first[QUOTA_EDITED];
    for (; n != NULL; n = n->list[QUOTA_EDITED].next) {
        if (n->queue && n->user != NULL) {
            n->active = queue_is_able(e, n->user);
        }
    }
}

static void tree_free(struct engine *e, struct engine_tree *t) {
    due_remove(e, t);
    if (t->wake_place != 0) {
        heap_remove(&e->agenda.wakes, t);
    }
    mem_free(t);
}

void tree_leave(struct engine *e, struct engine_queue *q) {
    struct engine_tree *t = q->tree;
    q->tree = NULL;
    if (t != NULL && --t->n_queues == 0) {
        turns_clear(e, t);
        tree_free(e, t);
    }
}

void trees_free(struct engine *e) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        tree_leave(e, m->value);
    }
}

/* Adds a queue to its tree as it is. */
static void tree_take(struct engine *e, struct engine_tree *t, struct engine_queue *q) {
    tree_leave(e, q);
    queue_unclaim(e, q);
    q->tree = t;
    t->n_queues++;
    q->listed = q->parks = false;
    q->active = q->node->active && !q->node->apart;
    q->generation += t->root->redrawn;
    tree_list(e, q);
    if (q->n_parked > 0) {
        tree_parks(e, q);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        unsigned limit = (unsigned)(2 + 2 * q->groups[i].n_flavors);
        t->idle_limit = limit > t->idle_limit ? limit : t->idle_limit;
    }
}

static struct engine_tree *tree_new(const struct quota_node *root) {
    size_t n = 0;
    for (const struct quota_node *q = root->tree_first; q != NULL; q = q->tree_next) {
        n++;
    }
    struct engine_tree *t = mem_zalloc(sizeof(*t) + n * sizeof(*t->ready));
    if (t != NULL) {
        t->root = root;
        t->idle_limit = 4;
    }
    return t;
}

/* For the trees that were built anew. Without memory they wait for the next time. */
static int trees_make(struct engine *e) {
    const struct quota_nodes *built = &e->forest.order;
    struct tree_vec made = {0};
    int r = 0;
    for (size_t i = 0; i < built->n && r == 0; i++) {
        if (built->v[i]->tree_first != NULL) {
            struct engine_tree *t = tree_new(built->v[i]);
            r = t != NULL ? tree_vec_push(&made, t) : ERR_NOMEM;
            if (r != 0) {
                mem_free(t);
            }
        }
    }
    for (size_t i = 0; i < built->n && r != 0; i++) {
        quota_touch(&e->forest, built->v[i]);
    }
    for (size_t i = 0; i < made.n; i++) {
        struct engine_tree *t = made.v[i];
        if (r != 0) {
            mem_free(t);
            continue;
        }
        t->cycle = e->cycles;
        t->born = e->agenda.trees_made++;
        t->retries = ++e->agenda.retry_clock;
        for (struct quota_node *q = t->root->tree_first; q != NULL; q = q->tree_next) {
            tree_take(e, t, q->user);
        }
        t->retry = t->parks != NULL;
        t->awake = t->n_ready > 0;
        if (t->retry || t->awake) {
            due_add(e, t);
        }
    }
    for (size_t i = 0; i < built->n && r == 0; i++) {
        built->v[i]->redrawn = false;
    }
    tree_vec_release(&made);
    return r;
}

int engine_settle(struct engine *e) {
    if (!e->forest.dirty) {
        return 0;
    }
    assert(e->cycle.phase == CYCLE_NONE || !e->cycle.tree->root->stale);
    queues_able(e);
    int r = quota_settle(&e->forest);
    return r == 0 ? trees_make(e) : r;
}

/* ---- all of them ---- */

static int root_cmp(const void *a, const void *b) {
    const struct quota_node *x = (*(struct engine_tree *const *)a)->root,
                            *y = (*(struct engine_tree *const *)b)->root;
    return x->queue != y->queue ? (x->queue ? -1 : 1) : str_cmp(x->name, y->name);
}

int trees_list(struct engine *e, struct tree_vec *out) {
    size_t i = 0;
    e->agenda.trees_seen++;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        struct engine_tree *t = ((struct engine_queue *)m->value)->tree;
        if (t == NULL || t->seen == e->agenda.trees_seen) {
            continue;
        }
        t->seen = e->agenda.trees_seen;
        if (tree_vec_push(out, t) != 0) {
            return ERR_NOMEM;
        }
    }
    if (out->n > 0) {
        qsort(out->v, out->n, sizeof(struct engine_tree *), root_cmp);
    }
    return 0;
}

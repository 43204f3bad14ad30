/* agenda (core): see agenda.h. */
#include "core/queue/agenda.h"

#include <stdlib.h>

#include "core/queue/queue.h"

int tree_wake_order(const void *a, const void *b, void *ctx) {
    const struct cohort_tree *x = a, *y = b;
    if (x->wake_ns != y->wake_ns) {
        return x->wake_ns < y->wake_ns ? -1 : 1;
    }
    return (x->born > y->born) -
           (x->born < y->born); /* who is first takes the places of nodes that both use */
}

void agenda_init(struct agenda *a, struct queues *queues, struct quota_forest *forest,
                 struct pool *pool, const struct flavor_table *flavors) {
    *a = (struct agenda){.queues = queues, .forest = forest, .pool = pool, .flavors = flavors};
    heap_init(&a->wakes, tree_wake_order, NULL, offsetof(struct cohort_tree, wake_place));
}

void agenda_flavor_edited(struct agenda *a, uint32_t flavor) {
    size_t i = 0;
    for (const struct map_entry *m;
         a->flavors->all.v[flavor].named && (m = map_next(&a->queues->by_name, &i)) != NULL;) {
        struct queue *q = m->value;
        if (queue_names_flavor(q, flavor)) {
            quota_touch(a->forest, q->node);
        }
    }
}

/* ---- due ---- */

static void due_add(struct agenda *a, struct cohort_tree *t) {
    if (t->due) {
        return;
    }
    t->due = true;
    t->due_next = NULL;
    t->due_prev = a->due_last;
    *(a->due_last != NULL ? &a->due_last->due_next : &a->due) = t;
    a->due_last = t;
}

static void due_remove(struct agenda *a, struct cohort_tree *t) {
    if (t->due) {
        *(t->due_prev != NULL ? &t->due_prev->due_next : &a->due) = t->due_next;
        *(t->due_next != NULL ? &t->due_next->due_prev : &a->due_last) = t->due_prev;
        t->due_next = t->due_prev = NULL;
        t->due = false;
    }
}

struct cohort_tree *agenda_due(struct agenda *a) {
    while (a->due != NULL && !a->due->awake && !a->due->retry) {
        due_remove(a, a->due);
    }
    return a->due;
}

void agenda_due_last(struct agenda *a) {
    struct cohort_tree *t = a->due;
    due_remove(a, t);
    due_add(a, t);
}

void tree_wake(struct queue *q) {
    if (!tree_valid(q) || !q->active) {
        return;
    }
    struct cohort_tree *t = q->tree;
    t->awake = t->poked = true;
    t->idle = 0;
    due_add(&q->of->agenda, t);
}

void tree_retry(struct queue *q) {
    if (!tree_valid(q)) {
        return; /* all of it is */
    }
    struct cohort_tree *t = q->tree;
    t->retry = t->poked = true;
    t->idle = 0;
    due_add(&q->of->agenda, t);
}

void tree_wake_at(struct agenda *a, struct cohort_tree *t, int64_t ns) {
    if (t->wake_place != 0) {
        if (ns < t->wake_ns) {
            t->wake_ns = ns;
            heap_fix(&a->wakes, t);
        }
        return;
    }
    t->wake_ns = ns;
    if (heap_push(&a->wakes, t) != 0) {
        t->retry = t->poked = true;
        due_add(a, t);
    }
}

/* ---- those with heads ---- */

/* Those not met yet move up to those that stay. */
static void heads_close_gap(struct cohort_tree *t) {
    memmove(t->ready + t->heads_kept, t->ready + t->heads_at,
            (t->n_ready - t->heads_at) * sizeof(struct queue *));
    t->n_ready -= t->heads_at - t->heads_kept;
    t->heads_at = t->heads_kept;
}

void tree_heads_begin(struct cohort_tree *t) {
    t->heads = true;
    t->heads_at = t->heads_kept = 0;
}

bool tree_heads_next(struct cohort_tree *t, struct queue **ret) {
    *ret = NULL;
    if (t->heads_at == t->n_ready) {
        return false;
    }
    struct queue *q = t->ready[t->heads_at++];
    if (q->n_active == 0) {
        q->listed = false;
        return true;
    }
    t->ready[t->heads_kept++] = q;
    *ret = q;
    return true;
}

void tree_heads_end(struct cohort_tree *t) {
    if (t->heads) {
        heads_close_gap(t);
        t->heads = false;
    }
}

void tree_list(struct queue *q) {
    struct cohort_tree *t = q->tree;
    if (!tree_valid(q) || !q->active || q->listed || q->n_active == 0) {
        return;
    }
    if (t->heads && t->heads_at > t->heads_kept) { /* there is room for each once */
        heads_close_gap(t);
    }
    t->ready[t->n_ready++] = q;
    q->listed = true;
}

void tree_parks(struct queue *q) {
    if (tree_valid(q) && !q->parks) {
        q->parks_next = q->tree->parks;
        q->tree->parks = q;
        q->parks = true;
    }
}

void tree_placeless(struct queue *q) {
    if (!q->waits_place) {
        q->waits_place = queue_vec_push(&q->of->agenda.placeless, q) == 0;
        if (!q->waits_place) {
            tree_retry(q); /* not forgotten: tried again, until there is memory to wait */
        }
    }
}

void tree_forget(struct queue *q) {
    struct queue_vec *v = &q->of->agenda.placeless;
    for (size_t i = 0; q->waits_place && i < v->n; i++) {
        if (v->v[i] == q) {
            queue_vec_swap_remove(v, i--);
        }
    }
    tree_leave(q);
}

void agenda_wake(struct agenda *a, int64_t now_ns) {
    for (struct cohort_tree *t; (t = heap_peek(&a->wakes)) != NULL && t->wake_ns <= now_ns;) {
        heap_pop(&a->wakes);
        t->retry = true;
        due_add(a, t);
    }
    uint64_t place = pool_generation(a->pool);
    if (place == a->pool_seen) {
        return;
    }
    a->pool_seen = place;
    for (; a->placeless.n > 0; a->placeless.n--) {
        struct queue *q = a->placeless.v[a->placeless.n - 1];
        q->waits_place = false;
        tree_retry(q);
        tree_wake(q);
    }
}

int tree_unpark(struct agenda *a, struct cohort_tree *t, size_t *left) {
    while (t->parks != NULL && *left > 0) {
        struct queue *q = t->parks;
        if (q->parked_classes == NULL && q->parked == NULL) {
            t->parks = q->parks_next;
            q->parks = false;
            continue;
        }
        int r = queue_unpark_one(q);
        if (r != 0) {
            return r;
        }
        *left -= ++a->unparked % 16 == 0; /* some sixteen of these cost what a head does */
    }
    if (t->parks == NULL) {
        t->retry = false;
        t->retries = ++a->retry_clock;
        t->awake = t->n_ready > 0;
        t->idle = 0;
    }
    return 0;
}

int64_t agenda_next_ns(const struct agenda *a) {
    const struct cohort_tree *t = heap_peek(&a->wakes);
    return t != NULL ? t->wake_ns : INT64_MAX;
}

/* ---- made anew ---- */

/* By its own spec: not stopped, and its flavors are there. */
static bool queue_is_able(const struct agenda *a, const struct queue *q) {
    if (q->held) {
        return false;
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_flavors; k++) {
            if (!flavors_has(a->flavors, q->groups[i].flavors[k])) {
                return false;
            }
        }
    }
    return true;
}

static void queues_able(struct agenda *a) {
    struct quota_node *n = a->forest->first[QUOTA_EDITED];
    for (; n != NULL; n = n->list[QUOTA_EDITED].next) {
        if (n->queue && n->user != NULL) {
            n->active = queue_is_able(a, n->user);
        }
    }
}

static void tree_free(struct agenda *a, struct cohort_tree *t) {
    due_remove(a, t);
    if (t->wake_place != 0) {
        heap_remove(&a->wakes, t);
    }
    mem_free(t);
}

void tree_leave(struct queue *q) {
    struct agenda *a = &q->of->agenda;
    struct cohort_tree *t = q->tree;
    q->tree = NULL;
    if (t != NULL && --t->n_queues == 0) {
        turns_clear(&a->turns, t);
        tree_free(a, t);
    }
}

void agenda_release(struct agenda *a) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&a->queues->by_name, &i)) != NULL;) {
        tree_leave(m->value);
    }
    turns_clear(&a->turns, NULL);
    map_release(&a->turns.pairs);
    heap_release(&a->wakes);
    queue_vec_release(&a->placeless);
}

/* Adds a queue to its tree as it is. */
static void tree_take(struct cohort_tree *t, struct queue *q) {
    tree_leave(q);
    queue_unclaim(q);
    q->tree = t;
    t->n_queues++;
    q->listed = q->parks = false;
    q->active = q->node->active && !q->node->apart;
    q->generation += t->root->redrawn;
    tree_list(q);
    if (q->n_parked > 0) {
        tree_parks(q);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        unsigned limit = (unsigned)(2 + 2 * q->groups[i].n_flavors);
        t->idle_limit = limit > t->idle_limit ? limit : t->idle_limit;
    }
}

static struct cohort_tree *tree_new(const struct quota_node *root) {
    size_t n = 0;
    for (const struct quota_node *q = root->tree_first; q != NULL; q = q->tree_next) {
        n++;
    }
    struct cohort_tree *t = mem_zalloc(sizeof(*t) + n * sizeof(*t->ready));
    if (t != NULL) {
        t->root = root;
        t->idle_limit = 4;
    }
    return t;
}

/* For the trees that were built anew. Without memory they wait for the next time. */
static int trees_make(struct agenda *a) {
    const struct quota_nodes *built = &a->forest->order;
    struct tree_vec made = {0};
    int r = 0;
    for (size_t i = 0; i < built->n && r == 0; i++) {
        if (built->v[i]->tree_first != NULL) {
            struct cohort_tree *t = tree_new(built->v[i]);
            r = t != NULL ? tree_vec_push(&made, t) : ERR_NOMEM;
            if (r != 0) {
                mem_free(t);
            }
        }
    }
    for (size_t i = 0; i < built->n && r != 0; i++) {
        quota_touch(a->forest, built->v[i]);
    }
    for (size_t i = 0; i < made.n; i++) {
        struct cohort_tree *t = made.v[i];
        if (r != 0) {
            mem_free(t);
            continue;
        }
        t->cycle = a->cycles;
        t->born = a->trees_made++;
        t->retries = ++a->retry_clock;
        for (struct quota_node *q = t->root->tree_first; q != NULL; q = q->tree_next) {
            tree_take(t, q->user);
        }
        t->retry = t->parks != NULL;
        t->awake = t->n_ready > 0;
        if (t->retry || t->awake) {
            due_add(a, t);
        }
    }
    for (size_t i = 0; i < built->n && r == 0; i++) {
        built->v[i]->redrawn = false;
    }
    tree_vec_release(&made);
    return r;
}

int agenda_settle(struct agenda *a) {
    if (!a->forest->dirty) {
        return 0;
    }
    queues_able(a);
    int r = quota_settle(a->forest);
    return r == 0 ? trees_make(a) : r;
}

/* ---- all of them ---- */

static int root_cmp(const void *a, const void *b) {
    const struct quota_node *x = (*(struct cohort_tree *const *)a)->root,
                            *y = (*(struct cohort_tree *const *)b)->root;
    return x->queue != y->queue ? (x->queue ? -1 : 1) : str_cmp(x->name, y->name);
}

int agenda_trees(struct agenda *a, struct tree_vec *out) {
    size_t i = 0;
    a->trees_seen++;
    for (const struct map_entry *m; (m = map_next(&a->queues->by_name, &i)) != NULL;) {
        struct cohort_tree *t = ((struct queue *)m->value)->tree;
        if (t == NULL || t->seen == a->trees_seen) {
            continue;
        }
        t->seen = a->trees_seen;
        if (tree_vec_push(out, t) != 0) {
            return ERR_NOMEM;
        }
    }
    if (out->n > 0) {
        qsort(out->v, out->n, sizeof(struct cohort_tree *), root_cmp);
    }
    return 0;
}

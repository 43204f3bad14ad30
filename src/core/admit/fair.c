/*
 * fair (core): dominant resource shares, and the order of heads by tournament. See fair.h.
 */
#include <math.h>

#include "core/admit/preempt_private.h"

/* Was the resource met in an earlier flavor? */
static bool counted(const struct quota_node *n, size_t at, uint32_t resource) {
    for (size_t i = 0; i < at; i++) {
        if (n->cells[i].over && (n->cells[i].q.pair & 0xffff) == resource) {
            return true;
        }
    }
    return false;
}

/* Of one resource, over all flavors from the cell `at` on. */
static int64_t borrowed(const struct quota_node *n, size_t at, uint32_t resource) {
    int64_t sum = 0;
    for (size_t i = at; i < n->n_cells; i++) {
        const struct quota_cell *c = &n->cells[i];
        if (c->over && (c->q.pair & 0xffff) == resource) {
            sum = amount_add(sum, amount_sub(c->usage, c->subtree));
        }
    }
    return sum;
}

struct share fair_share(const struct names *resources, const struct quota_node *n) {
    struct share best = {0};
    if (n->parent == NULL) {
        return best;
    }
    for (size_t i = 0; i < n->n_cells; i++) {
        uint32_t resource = n->cells[i].q.pair & 0xffff;
        if (!n->cells[i].over || counted(n, i, resource)) {
            continue;
        }
        best.borrows = true;
        int64_t lendable = quota_lendable(n->parent, resource);
        double ratio =
            lendable > 0 ? (double)borrowed(n, i, resource) * 1000 / (double)lendable : 0;
        if (ratio > best.ratio ||
            (ratio == best.ratio && ratio > 0 &&
             str_cmp(names_text(resources, resource), names_text(resources, best.resource)) < 0)) {
            best.ratio = ratio;
            best.resource = resource;
        }
    }
    best.weighted = best.ratio == 0 ? 0 : n->weight > 0 ? best.ratio / n->weight : INFINITY;
    return best;
}

int fair_share_cmp(struct share a, struct share b) {
    return share_cmp(&a, &b);
}

/* ---- the tournament ---- */

/* What is known of a head: its workload may go while the cycle is under way. */
struct contender {
    const struct cycle_entry *entry;
    bool preempts;
    int64_t priority, queued_ns;
    struct str uid;
};

/* A node that has heads below it, or (a leaf) one head at its queue. Each cohort keeps those below it in a heap by how
 * they would stand with their own best head admitted. */
struct knot {
    const struct quota_node *node;
    struct knot *parent;
    const struct contender *best; /* of those below; a leaf: its head */
    struct share share;           /* of node, with best admitted */
    bool borrows;                 /* node, of something that best asks for */
    size_t n_children, place;
    struct heap children;
};

struct fair_round {
    const struct cycle_entry *entries;
    struct knot **roots; /* trees with heads, in the order of their first one */
    size_t n_roots, at;
    struct knot *last; /* the leaf given last; its path is stale */
};

static int knot_cmp(const void *a, const void *b, void *ctx) {
    const struct preempt *p = ctx;
    const struct knot *x = a, *y = b;
    if (p->o->prioritize_preemptors && x->best->preempts != y->best->preempts) {
        return x->best->preempts ? -1 : 1;
    }
    if (x->borrows != y->borrows) {
        return x->borrows ? 1 : -1;
    }
    int c = fair_share_cmp(x->share, y->share);
    if (c != 0) {
        return c;
    }
    const struct contender *v = x->best, *w = y->best;
    if (!p->o->no_priority_in_cohort && v->priority != w->priority) {
        return v->priority > w->priority ? -1 : 1;
    }
    if (v->queued_ns != w->queued_ns) {
        return v->queued_ns < w->queued_ns ? -1 : 1;
    }
    return str_cmp(v->uid, w->uid);
}

/* How the node would stand with its best head admitted. */
static int knot_measure(struct preempt *p, struct knot *k) {
    const struct assignment *a = &k->best->entry->a;
    size_t mark = quota_mark(p->forest);
    int r = 0;
    for (size_t i = 0; i < a->n_held && r == 0; i++) {
        r = quota_use(p->forest, a->cells[i], a->held[i].v);
    }
    k->share = fair_share(p->resources, k->node);
    k->borrows = false;
    for (size_t i = 0; i < a->n_held && !k->borrows; i++) {
        const struct quota_cell *c = quota_cell_of(k->node, a->cells[i]->q.pair);
        k->borrows = c != NULL && c->over;
    }
    quota_undo(p->forest, mark);
    return r;
}

static struct knot *knot_new(struct preempt *p, const struct quota_node *n) {
    struct knot *k = ARENA_NEW(p->tick, struct knot);
    if (k != NULL) {
        k->node = n;
        heap_init(&k->children, knot_cmp, p, offsetof(struct knot, place));
    }
    return k;
}

/* A leaf for the head, and the cohorts above it that are not there yet. */
static int leaf_add(struct preempt *p, struct fair_round *r, const struct cycle_entry *x,
                    struct knot **ret) {
    struct quota_node *n = x->w->queue->node;
    struct knot *below = knot_new(p, n);
    struct contender *c = ARENA_NEW(p->tick, struct contender);
    if (below == NULL || c == NULL) {
        return ERR_NOMEM;
    }
    *c = (struct contender){x, x->preemptor, x->w->priority, x->w->queued_ns,
                            arena_str(p->tick, x->w->uid)};
    below->best = c;
    *ret = below;
    for (n = n->parent; n != NULL; n = n->parent) {
        bool known = n->stamp == p->forest->stamp;
        struct knot *k = known ? n->walk : knot_new(p, n);
        if (k == NULL) {
            return ERR_NOMEM;
        }
        n->stamp = p->forest->stamp;
        n->walk = k;
        below->parent = k;
        k->n_children++;
        below = k;
        if (known) {
            return 0;
        }
    }
    r->roots[r->n_roots++] = below;
    return 0;
}

/* k's best head is known, or there is none: k takes its place among its siblings. */
static int knot_settle(struct preempt *p, struct knot *k) {
    struct knot *up = k->parent;
    if (up == NULL) {
        return 0;
    }
    if (k->best == NULL) {
        heap_remove(&up->children, k);
        return 0;
    }
    int r = knot_measure(p, k);
    if (r != 0) {
        return r;
    }
    if (k->place > 0) {
        heap_fix(&up->children, k);
        return 0;
    }
    if (up->children.v == NULL) {
        up->children.v = ARENA_ARRAY(p->tick, void *, up->n_children);
        up->children.cap = up->children.v != NULL ? up->n_children : 0;
    }
    return up->children.v != NULL ? heap_push(&up->children, k) : ERR_NOMEM;
}

static void knot_choose(struct knot *k) {
    const struct knot *first = heap_peek(&k->children);
    k->best = first != NULL ? first->best : NULL;
}

/* From a leaf up: every cohort whose children have all been settled is settled in turn. */
static int settle_up(struct preempt *p, struct knot *leaf) {
    int r = knot_settle(p, leaf);
    for (struct knot *k = leaf->parent; r == 0 && k != NULL && k->children.n == k->n_children;
         k = k->parent) {
        knot_choose(k);
        r = knot_settle(p, k);
    }
    return r;
}

int fair_begin(struct preempt *p, const struct cycle_entry *entries, size_t n,
               struct fair_round **ret) {
    struct fair_round *r = ARENA_NEW(p->tick, struct fair_round);
    struct knot **leaves = ARENA_ARRAY(p->tick, struct knot *, n + 1);
    if (r == NULL || leaves == NULL) {
        return ERR_NOMEM;
    }
    r->entries = entries;
    r->roots = ARENA_ARRAY(p->tick, struct knot *, n + 1);
    int code = r->roots != NULL ? 0 : ERR_NOMEM;
    p->forest->stamp++;
    for (size_t i = 0; i < n && code == 0; i++) {
        if (entries[i].w != NULL) {
            code = leaf_add(p, r, &entries[i], &leaves[i]);
        }
    }
    for (size_t i = 0; i < n && code == 0; i++) {
        code = leaves[i] != NULL ? settle_up(p, leaves[i]) : 0;
    }
    if (code == 0) {
        *ret = r;
    }
    return code;
}

/* The leaf given last goes, and usage may have changed on its way up. */
static int refresh(struct preempt *p, struct knot *leaf) {
    leaf->best = NULL;
    int r = knot_settle(p, leaf);
    for (struct knot *k = leaf->parent; k != NULL && r == 0; k = k->parent) {
        knot_choose(k);
        r = knot_settle(p, k);
    }
    return r;
}

int fair_pop(struct preempt *p, struct fair_round *r, ptrdiff_t *ret) {
    if (r->last != NULL) {
        int code = refresh(p, r->last);
        if (code != 0) {
            return code;
        }
        r->last = NULL;
    }
    for (; r->at < r->n_roots; r->at++) {
        struct knot *k = r->roots[r->at];
        while (k->children.n > 0) {
            k = heap_peek(&k->children);
        }
        if (k->n_children == 0 && k->best != NULL) {
            r->last = k;
            *ret = k->best->entry - r->entries;
            return 0;
        }
    }
    *ret = -1;
    return 0;
}

/*
 * fair_search (core): victims under fair sharing. See preempt.h.
 *
 * The usage that the asker would add is put into the tree; then, as long as the asker does not fit, the queue that
 * has the largest share is looked for, from the root down (a cohort before a queue of the same share), and gives
 * its first candidate if the strategy allows it: the share of the asker's side, just below where both meet, is
 * held against the share of the victim's side there. Candidates that fail the first strategy are tried by the
 * second.
 *
 * Only queues that have candidates, and the cohorts above them, are part of this tree of targets: any other is
 * passed over by the rules as well.
 */
#include <assert.h>

#include "core/admit/preempt_private.h"

struct target {
    const struct quota_node *node;
    struct target *parent, *first, *next; /* children, unordered */
    struct source *source;                /* of a queue */
    struct queue_workload *retry;         /* its first candidate that failed the first strategy */
    struct share share;
    bool started; /* source->head is known */
    bool failed;  /* no candidate of it, from head on, passed the first strategy */
    bool fresh;   /* share is of now */
    bool touched; /* something was taken out of it: before that, all targets borrow */
    bool on_path; /* the asker is below, or it is the asker's own queue */
    bool pruned;
};

/* ---- candidates ---- */

static bool is_short(const struct search *s, uint32_t pair) {
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        if (s->ask->needs[i].short_ && s->ask->needs[i].cell->q.pair == pair) {
            return true;
        }
    }
    return false;
}

/* Queues below n that borrow what is short. Cohorts that borrow nothing give nothing. */
static int collect(struct search *s, const struct quota_node *n, const struct quota_node *skip) {
    uint64_t stamp = s->p->forest->stamp;
    for (size_t i = 0; i < n->n_cells; i++) {
        bool wanted = is_short(s, n->cells[i].q.pair);
        for (struct quota_cell *c = n->cells[i].over_first; c != NULL; c = c->over_next) {
            struct quota_node *child = c->node;
            if (child == skip || child->stamp == stamp || (child->queue && !wanted)) {
                continue;
            }
            child->stamp = stamp;
            int r = !child->queue ? collect(s, child, NULL)
                    : preempt_queue_may(child)
                        ? source_add(s, child->user, n, SOURCE_PRIORITY, s->q->reclaim)
                        : 0;
            if (r != 0) {
                return r;
            }
        }
    }
    return 0;
}

static int collect_all(struct search *s) {
    int r = source_add(s, s->q, NULL, SOURCE_OWN, s->q->within_queue);
    const struct quota_node *below = s->q->node;
    s->p->forest->stamp++;
    if (s->q->reclaim != PREEMPT_NEVER) {
        for (const struct quota_node *a = below->parent; a != NULL && r == 0; a = a->parent) {
            r = collect(s, a, below);
            below = a;
        }
    }
    return r;
}

/* ---- the tree of targets ---- */

static struct target *target_of(struct search *s, struct quota_node *n) {
    if (n->stamp == s->p->forest->stamp) {
        return n->walk;
    }
    struct target *t = ARENA_NEW(&s->m->memory, struct target);
    if (t != NULL) {
        t->node = n;
        n->stamp = s->p->forest->stamp;
        n->walk = t;
    }
    return t;
}

/* *ret NULL: no queue that may have candidates. */
static int targets_build(struct search *s, struct target **ret) {
    struct target *root = NULL;
    s->p->forest->stamp++;
    for (size_t i = 0; i < s->m->sources.n; i++) {
        struct source *x = &s->m->sources.v[i];
        struct target *t = NULL, *below = NULL;
        for (struct quota_node *n = x->q->node; n != NULL; n = n->parent) {
            bool known = n->stamp == s->p->forest->stamp;
            t = target_of(s, n);
            if (t == NULL) {
                return ERR_NOMEM;
            }
            if (below != NULL) {
                below->parent = t;
                below->next = t->first;
                t->first = below;
            } else {
                t->source = x;
            }
            below = t;
            if (known) {
                break; /* and so are those above */
            }
            root = n->parent == NULL ? t : root;
        }
    }
    for (struct quota_node *n = s->q->node; n != NULL; n = n->parent) {
        if (n->stamp == s->p->forest->stamp) {
            ((struct target *)n->walk)->on_path = true;
        }
    }
    *ret = root;
    return 0;
}

static int start(struct search *s, struct target *t) {
    int r = t->started || t->source == NULL ? 0 : source_start(s, t->source);
    t->started = true;
    return r;
}

/* What it is now: its share, and its first candidate. Those that give nothing are pruned. */
static int refresh(struct search *s, struct target *t) {
    if (!t->fresh) {
        t->share = fair_share(s->p->resources, t->node);
        t->fresh = true;
    }
    if (!t->share.borrows && !t->on_path) {
        t->pruned = true;
        return 0;
    }
    int r = start(s, t);
    t->pruned = t->source != NULL && t->source->head == NULL;
    return r;
}

/* The better one of two queues, or of two cohorts, to take from. */
static struct target *better(const struct search *s, struct target *a, struct target *b) {
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    int c = share_cmp(&a->share, &b->share);
    if (c == 0) {
        c = a->source != NULL ? -candidate_cmp(s, a->source->head, b->source->head)
                              : str_cmp(a->node->name, b->node->name);
    }
    return c > 0 ? a : b;
}

/* The queue to take from next; *ret NULL when a subtree turned out to have none. */
static int pick(struct search *s, struct target *root, struct target **ret) {
    *ret = NULL;
    if (root->source != NULL) { /* a queue alone */
        int r = start(s, root);
        root->pruned = root->source->head == NULL;
        *ret = r == 0 && !root->pruned ? root : NULL;
        return r;
    }
    for (struct target *at = root;;) {
        struct target *queue = NULL, *cohort = NULL;
        for (struct target *t = at->first; t != NULL; t = t->next) {
            int r = t->pruned ? 0 : refresh(s, t);
            if (r != 0) {
                return r;
            }
            if (!t->pruned) {
                struct target **best = t->source != NULL ? &queue : &cohort;
                *best = better(s, t, *best);
            }
        }
        if (queue == NULL && cohort == NULL) {
            at->pruned = true;
            return 0;
        }
        if (cohort == NULL || (queue != NULL && share_cmp(&cohort->share, &queue->share) < 0)) {
            *ret = queue;
            return 0;
        }
        at = cohort;
    }
}

/* ---- the strategies ---- */

/* The nodes just below where the asker and the target meet. */
static void sides(const struct search *s, const struct target *t,
                  const struct quota_node **ret_asker, const struct quota_node **ret_target) {
    const struct quota_node *a = s->q->node, *b = t->node;
    while (a->parent != b->parent) {
        bool up_a = a->depth >= b->depth, up_b = b->depth >= a->depth;
        a = up_a ? a->parent : a;
        b = up_b ? b->parent : b;
    }
    *ret_asker = a;
    *ret_target = b;
}

static int asker_use(struct search *s, int64_t sign) {
    int r = 0;
    for (size_t i = 0; i < s->ask->n_needs && r == 0; i++) {
        const struct preempt_need *n = &s->ask->needs[i];
        r = n->uncounted ? 0 : quota_use(s->p->forest, n->cell, sign * n->v);
    }
    return r;
}

static int fits_now(struct search *s, bool *ret) {
    size_t mark = quota_mark(s->p->forest);
    int r = asker_use(s, -1);
    bool fits = r == 0 && search_fits(s, true);
    quota_undo(s->p->forest, mark);
    *ret = fits;
    return r;
}

/* Takes the target's head out. */
static int take(struct search *s, struct target *t, enum preempt_reason reason, bool *ret_fits) {
    int r = victim_take(s, t->source->head, reason);
    for (struct target *p = t; p != NULL; p = p->parent) {
        p->fresh = false;
        p->touched = true;
    }
    return r == 0 ? fits_now(s, ret_fits) : r;
}

static bool held_alike(const struct queue_workload *a, const struct queue_workload *b) {
    bool same = a->n_held == b->n_held;
    for (size_t i = 0; same && i < a->n_held; i++) {
        same = a->held[i].flavor == b->held[i].flavor && a->held[i].v == b->held[i].v &&
               a->held[i].resource == b->held[i].resource;
    }
    return same;
}

static int share_without(struct search *s, const struct quota_node *side,
                         const struct queue_workload *w, struct share *ret) {
    size_t mark = quota_mark(s->p->forest);
    int r = holder_move(s->p->forest, w, -1);
    *ret = fair_share(s->p->resources, side);
    quota_undo(s->p->forest, mark);
    return r;
}

/* No candidate below will do as things stand, and nothing changes before they have all been asked: the next pick
 * comes back to this side until it is exhausted. */
static void give_up(const struct search *s, struct target *t) {
    t->pruned = true;
    if (t->touched && !t->on_path && !fair_share(s->p->resources, t->node).borrows) {
        return; /* it was out of the question anyway */
    }
    t->failed = t->failed || t->source != NULL;
    for (struct target *c = t->first; c != NULL; c = c->next) {
        if (!c->pruned) {
            give_up(s, c);
        }
    }
}

static struct target *side_target(const struct quota_node *side) {
    return side->walk;
}

/* The first candidate of t that the strategy lets go. A victim side's share only falls with what is taken from it,
 * so when it is below the asker's already no candidate can pass. */
static int take_by_share(struct search *s, struct target *t, enum fair_strategy strategy,
                         bool *ret_fits) {
    const struct quota_node *asker, *side;
    struct queue_workload *failed = NULL;
    sides(s, t, &asker, &side);
    struct share mine = fair_share(s->p->resources, asker),
                 before = fair_share(s->p->resources, side);
    int against = share_cmp(&mine, &before);
    if (against > 0 || (strategy == FAIR_INITIAL_SHARE && against == 0)) {
        give_up(s, side_target(side));
        return 0;
    }
    for (; t->source->head != NULL; source_next(s, t->source)) {
        struct queue_workload *w = t->source->head;
        bool passes = strategy == FAIR_INITIAL_SHARE;
        if (!passes && (failed == NULL || !held_alike(failed, w))) {
            struct share after;
            int r = share_without(s, side, w, &after);
            if (r != 0) {
                return r;
            }
            passes = share_cmp(&mine, &after) <= 0;
        }
        if (passes) {
            int r = take(s, t, PREEMPT_FAIR_SHARING, ret_fits);
            source_next(s, t->source);
            return r;
        }
        failed = w;
        t->retry = t->retry != NULL ? t->retry : w;
    }
    return 0;
}

static bool within_nominal(const struct search *s) {
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        const struct preempt_need *n = &s->ask->needs[i];
        if (n->short_ && !n->besides && n->cell->usage > n->cell->subtree) {
            return false;
        }
    }
    return true;
}

static int first_strategy(struct search *s, struct target *root, enum fair_strategy strategy,
                          bool *ret_fits) {
    bool nominal = within_nominal(s);
    int r = 0;
    while (!root->pruned && r == 0 && !*ret_fits) {
        struct target *t;
        r = pick(s, root, &t);
        if (r != 0 || t == NULL) {
            continue;
        }
        bool own = t->source->q == s->q;
        if (own || nominal) {
            r = take(s, t, own ? PREEMPT_IN_QUEUE : PREEMPT_RECLAIM, ret_fits);
            source_next(s, t->source);
        } else {
            r = take_by_share(s, t, strategy, ret_fits);
        }
    }
    return r;
}

/* Of each queue, the first candidate that failed is left. */
static int unprune(struct search *s, struct target *t) {
    int r = t->failed ? start(s, t) : 0;
    t->pruned = false;
    if (t->source != NULL) {
        struct queue_workload *first = t->failed ? t->source->head : NULL;
        t->source->head = t->retry != NULL ? t->retry : first;
        t->started = true;
    }
    for (struct target *c = t->first; c != NULL && r == 0; c = c->next) {
        r = unprune(s, c);
    }
    return r;
}

static int second_strategy(struct search *s, struct target *root, bool *ret_fits) {
    int r = unprune(s, root);
    while (!root->pruned && r == 0 && !*ret_fits) {
        struct target *t;
        r = pick(s, root, &t);
        if (r != 0 || t == NULL) {
            continue;
        }
        const struct quota_node *asker, *side;
        sides(s, t, &asker, &side);
        struct share mine = fair_share(s->p->resources, asker),
                     theirs = fair_share(s->p->resources, side);
        if (share_cmp(&mine, &theirs) < 0) {
            r = take(s, t, PREEMPT_FAIR_SHARING, ret_fits);
            t->source->head = NULL; /* one for each queue */
        } else {
            give_up(s, side_target(side)); /* nor would any other of this side */
        }
    }
    return r;
}

int fair_search(struct search *s, bool *ret_found) {
    struct target *root = NULL;
    unsigned strategies = s->p->o->fair_strategies;
    bool fits = false;
    int r = collect_all(s);
    if (r != 0) {
        return r;
    }
    r = targets_build(s, &root);
    if (r != 0 || root == NULL) {
        return r;
    }
    size_t mark = quota_mark(s->p->forest);
    r = asker_use(s, 1);
    if (r == 0) {
        r = first_strategy(s, root,
                           strategies == FAIR_INITIAL_SHARE ? FAIR_INITIAL_SHARE : FAIR_FINAL_SHARE,
                           &fits);
    }
    if (r == 0 && !fits &&
        (strategies == 0 || strategies == (FAIR_FINAL_SHARE | FAIR_INITIAL_SHARE))) {
        r = second_strategy(s, root, &fits);
    }
    if (r == 0 && fits) {
        r = asker_use(s, -1);
        if (r == 0) {
            r = search_fill_back(s, true);
        }
    }
    quota_undo(s->p->forest, mark);
    if (r == 0) {
        *ret_found = fits;
    }
    return r;
}

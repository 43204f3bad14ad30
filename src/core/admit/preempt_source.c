/* preempt_source (core): candidates of one queue, in victim order. See preempt_private.h. */
#include "core/admit/preempt_private.h"

bool source_uses(const struct search *s, const struct queue_workload *w) {
    for (size_t i = 0; i < w->n_held; i++) {
        uint32_t pair = quota_pair(w->held[i].flavor, w->held[i].resource);
        for (size_t k = 0; k < s->ask->n_needs; k++) {
            if (s->ask->needs[k].short_ && s->ask->needs[k].cell->q.pair == pair) {
                return true;
            }
        }
    }
    return false;
}

bool source_spares(const struct search *s, const struct source *x, const struct queue_workload *w) {
    bool borrows = !s->ask->place || x->lca == NULL;
    for (size_t i = 0; i < w->n_held && !borrows; i++) {
        uint32_t pair = quota_pair(w->held[i].flavor, w->held[i].resource);
        const struct quota_cell *c = quota_cell_of(w->queue->node, pair);
        for (size_t k = 0; k < s->ask->n_needs && c != NULL && c->over && !borrows; k++) {
            borrows = s->ask->needs[k].short_ && s->ask->needs[k].cell->q.pair == pair &&
                      w->held[i].v > 0;
        }
    }
    return !borrows;
}

/* By the rules that every explanation has as well; and it holds what is short. One that is evicting is on its way out,
 * protected or not. */
static bool is_candidate(struct search *s, const struct source *x, const struct queue_workload *w) {
    int64_t until;

    if (victim_policy_rule(x->policy, s->ask->w, w) != KEEP_NOT_ENOUGH || !source_uses(s, w) ||
        source_spares(s, x, w)) {
        return false;
    }
    if (victim_protection_rule(w, s->p->now_ns, &until) != KEEP_NOT_ENOUGH) {
        s->protected = true;
        s->wake_ns = amount_min(s->wake_ns, until);
        return false;
    }
    return true;
}

int candidate_cmp(const struct search *s, const struct queue_workload *a,
                  const struct queue_workload *b) {
    if (a->evicting != b->evicting) {
        return a->evicting ? -1 : 1;
    }
    if ((a->queue == s->q) != (b->queue == s->q)) {
        return a->queue == s->q ? 1 : -1;
    }
    if (a->queue == b->queue && usage_orders(a->queue)) {
        int c = usage_cmp(&a->queue->of->usage, a, b);
        if (c != 0) {
            return -c; /* who used more goes first */
        }
    }
    if (a->priority != b->priority) {
        return a->priority < b->priority ? -1 : 1;
    }
    int64_t p = a->reserved_ns != 0 ? a->reserved_ns : s->p->now_ns;
    int64_t q = b->reserved_ns != 0 ? b->reserved_ns : s->p->now_ns;
    if (p != q) {
        return p > q ? -1 : 1;
    }
    return str_cmp(a->uid, b->uid);
}

static int candidate_sort(const void *a, const void *b, void *ctx) {
    return candidate_cmp(ctx, *(struct queue_workload *const *)a,
                         *(struct queue_workload *const *)b);
}

int source_add(struct search *s, struct queue *q, const struct quota_node *lca,
               enum source_list list, enum preempt_policy policy) {
    if (q->holders.n == 0 || policy == PREEMPT_NEVER) {
        return 0;
    }
    struct source x = {
        .q = q, .lca = lca, .list = list, .policy = policy, .by_usage = usage_orders(q)};
    return source_vec_push(&s->m->sources, x);
}

/* To the first holder that is not evicting. */
static struct tree_pos seek_staying(const struct source *x) {
    struct queue_workload key = {.priority = INT64_MIN, .reserved_ns = INT64_MAX};
    return tree_seek(&x->q->holders, &key);
}

static void advance(struct search *s, struct source *x) {
    x->head = NULL;
    for (struct queue_workload *w; (w = tree_next(&x->q->holders, &x->at)) != NULL;) {
        s->p->looked++;
        x->past = x->past || !w->evicting;
        if (is_candidate(s, x, w)) {
            x->head = w;
            return;
        }
        if (victim_policy_ends(x->policy, s->ask->w, w->priority)) {
            if (x->past) {
                return;
            }
            x->past = true;
            x->at = seek_staying(x);
        }
    }
}

static void advance_sorted(struct source *x) {
    x->head = x->i_sorted < x->n_sorted ? x->sorted[x->i_sorted++] : NULL;
}

/* The order is not the tree's: all candidates are gathered and sorted. */
static int gather(struct search *s, struct source *x) {
    if (x->sorted == NULL) {
        x->sorted = ARENA_ARRAY(&s->m->memory, struct queue_workload *, x->q->holders.n);
        if (x->sorted == NULL) {
            return ERR_NOMEM;
        }
        for (advance(s, x); x->head != NULL; advance(s, x)) {
            x->sorted[x->n_sorted++] = x->head;
        }
        if (x->n_sorted > 1) {
            qsort_r(x->sorted, x->n_sorted, sizeof(struct queue_workload *), candidate_sort, s);
        }
    }
    x->i_sorted = 0;
    advance_sorted(x);
    return 0;
}

int source_start(struct search *s, struct source *x) {
    x->at = tree_seek(&x->q->holders, NULL);
    x->past = false;
    if (x->by_usage) {
        return gather(s, x);
    }
    advance(s, x);
    return 0;
}

void source_next(struct search *s, struct source *x) {
    if (x->by_usage) {
        advance_sorted(x);
    } else {
        advance(s, x);
    }
}

void source_skip_priority(struct search *s, struct source *x) {
    if (x->by_usage) {
        advance_sorted(x); /* lower priorities may follow */
        return;
    }
    if (x->past) {
        x->head = NULL;
        return;
    }
    x->past = true;
    x->at = seek_staying(x);
    advance(s, x);
}

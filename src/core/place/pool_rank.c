/*
 * pool_rank (core): the nodes that a pod fits on, best first, for the pods like it that come after.
 *
 * The place of a pod changes its own node alone. So the first of many that are alike looks at all nodes, and each later
 * one at the node of the one before: what a plan costs is nodes plus pods, not one times the other.
 */
#include "core/place/pool_private.h"

static bool rank_less(const struct plan_rank *a, const struct plan_rank *b) {
    if (score_less(&a->score, &b->score)) {
        return true;
    }
    return !score_less(&b->score, &a->score) && a->node < b->node;
}

static void rank_sink(struct rank_vec *v, size_t i) {
    for (size_t k; (k = 2 * i + 1) < v->n; i = k) {
        k += k + 1 < v->n && rank_less(&v->v[k + 1], &v->v[k]);
        if (!rank_less(&v->v[k], &v->v[i])) {
            return;
        }
        struct plan_rank x = v->v[i];
        v->v[i] = v->v[k];
        v->v[k] = x;
    }
}

void ranks_begin(struct plan_memo *m, const struct place_input *in) {
    m->in = in;
    m->ranks.n = 0;
}

void ranks_add(struct plan_memo *m, size_t node, const struct score *score) {
    struct plan_rank x = {*score, (uint32_t)node};
    if (m->in != NULL && rank_vec_push(&m->ranks, x) != 0) {
        m->in = NULL; /* without memory each pod looks at all */
    }
}

void ranks_end(struct plan_memo *m) {
    for (size_t i = m->ranks.n / 2; m->in != NULL && i-- > 0;) {
        rank_sink(&m->ranks, i);
    }
}

struct pool_node *ranks_next(const struct pool *p, const struct place_input *in,
                             struct plan_memo *m, size_t *cost, struct fitting *ret) {
    struct rank_vec *v = &m->ranks;
    if (v->n == 0) {
        return NULL;
    }
    struct pool_node *was = p->nodes.v[v->v[0].node];
    *cost += 1;
    if (plan_node_try(p, was, in, ret)) {
        v->v[0].score = ret->score;
    } else {
        v->v[0] = v->v[--v->n];
    }
    rank_sink(v, 0);
    struct pool_node *best = v->n > 0 ? p->nodes.v[v->v[0].node] : NULL;
    if (best != NULL && best != was) {
        *cost += 1;
        (void)plan_node_try(p, best, in, ret); /* nothing changed there: it fits */
    }
    return best;
}

void plan_memo_release(struct plan_memo *m) {
    rank_vec_release(&m->ranks);
}

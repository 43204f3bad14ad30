/*
 * fair (core): dominant resource shares, and the order of heads by tournament.
 */
#ifndef BERTH_CORE_FAIR_H
#define BERTH_CORE_FAIR_H

#include "core/admit/cycle.h"
#include "core/admit/preempt.h"

/* Dominant resource share of a node: borrowed over lendable, the greatest of its resources, over the weight. */
struct share {
    double ratio;    /* of the dominant resource, in thousandths; 0: borrows nothing */
    double weighted; /* ratio over weight; INFINITY: borrows with weight zero */
    uint32_t resource;
    bool borrows; /* uses more than its subtree has, of anything */
};
struct share fair_share(const struct names *resources, const struct quota_node *n);
int fair_share_cmp(struct share a, struct share b);

/* The order of the heads of a cycle, by tournament. fair_begin takes all nominated heads (a NULL w is skipped);
 * fair_pop gives the index of the next one, -1 when none is left. Between two calls usage may change only at the
 * queue of the head given last and above it, or inside a trial that is undone: only that path is looked at again.
 * The round and what it needs lie in the memory of the cycle; `entries` must stay where they are. */
struct fair_round;
int fair_begin(struct preempt *p, const struct cycle_entry *entries, size_t n,
               struct fair_round **ret);
int fair_pop(struct preempt *p, struct fair_round *r, ptrdiff_t *ret);

#endif

/*
 * nominate (core): flavors for a head, and the victims they would take.
 *
 * When the whole workload finds neither room nor victims, and some pod set may come with fewer pods, the largest size
 * that does is looked for by halving: index i of 0..total, where a set has count - (count - min) * i / total pods.
 */
#ifndef BERTH_CORE_NOMINATE_H
#define BERTH_CORE_NOMINATE_H

#include "core/admit/cycle.h"
#include "core/admit/preempt.h"

/* pin: with the victims so far out of the quota tree, and only flavors that it holds. */
int nominate_head(struct engine *e, struct queue_workload *w, const struct assignment *pin,
                  struct assignment *ret);
/* One that may start with fewer pods, and has no place for all of them: the most pods that have quota and places, in
 * the flavors of `full`, or (NULL) in the first with quota. *ret_found false: none, and *ret is left alone. */
int nominate_fewer(struct engine *e, struct queue_workload *w, const struct assignment *full,
                   struct assignment *ret, bool *ret_found);
/* What an assignment takes, one need for each cell; with room for `more`. */
int nominate_needs(struct arena *tick, const struct assignment *a, size_t more,
                   struct preempt_need **ret, size_t *ret_n);

#endif

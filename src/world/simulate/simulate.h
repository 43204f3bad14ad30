/* simulate: the report of `berth simulate` as tables. */
#ifndef BERTH_WORLD_SIMULATE_H
#define BERTH_WORLD_SIMULATE_H

#include "sim/report.h"

/* Queues are shown one by one up to a page of them, or when each_queue; else only what they come to together. */
void simulate_table(struct sim *s, enum sim_end end, const struct sim_options *o, bool each_queue,
                    struct buf *out);

#endif

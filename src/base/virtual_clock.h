/*
 * virtual_clock: a clock that stands still until it is told to move, for simulation and tests.
 *
 * Timers fire in order of time, then of starting. Both wall and monotonic time advance together from `now`. Starting a
 * timer never fails: the room for it is made when the timer is.
 */
#ifndef BERTH_BASE_VIRTUAL_CLOCK_H
#define BERTH_BASE_VIRTUAL_CLOCK_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/heap.h"

struct virtual_clock {
    struct clock clock; /* first */
    int64_t now;        /* mono */
    int64_t wall;       /* of now == 0: 2026-01-01T00:00:00Z unless init says otherwise */
    struct heap timers;
    size_t n_timers; /* running or not */
    uint64_t order;
};

void virtual_clock_init(struct virtual_clock *c, int64_t wall_ns); /* 0: the default */
void virtual_clock_release(struct virtual_clock *c);
/* Fires the next timer, moving time to it; false when none runs. */
bool virtual_clock_step(struct virtual_clock *c);
/* Moves on by delta_ns, firing what is due on the way, and everything due at the end of it. */
void virtual_clock_run(struct virtual_clock *c, int64_t delta_ns);
/* Sets the wall clock, as an administrator does; monotonic time stands still, and watches are told. */
void virtual_clock_set_wall(struct virtual_clock *c, int64_t wall_ns);
int64_t
virtual_clock_next(const struct virtual_clock *c); /* mono time of the next timer, or INT64_MAX */

#endif

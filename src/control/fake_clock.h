/*
 * fake_clock: a clock for tests that stands still until it is told to move.
 *
 * Timers fire in order of time, then of starting. Both wall and monotonic time advance together from `now`.
 */
#ifndef BERTH_CONTROL_FAKE_CLOCK_H
#define BERTH_CONTROL_FAKE_CLOCK_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/heap.h"

struct fake_clock {
    struct clock clock; /* first */
    int64_t now;        /* mono */
    int64_t wall;       /* of now == 0: 2026-01-01T00:00:00Z unless init says otherwise */
    struct heap timers;
    uint64_t order;
};

void fake_clock_init(struct fake_clock *c, int64_t wall_ns); /* 0: the default */
void fake_clock_release(struct fake_clock *c);
/* Fires the next timer, moving time to it; false when none runs. */
bool fake_clock_step(struct fake_clock *c);
/* Moves on by delta_ns, firing what is due on the way, and everything due at the end of it. */
void fake_clock_run(struct fake_clock *c, int64_t delta_ns);
int64_t fake_clock_next(const struct fake_clock *c); /* mono time of the next timer, or INT64_MAX */

#endif

/*
 * booking_ledger (core): who may have how much of the pool's hardware, and what of it may be written now. Pure sums.
 *
 * A cell is one resource in one flavor. Of each cell there is `hardware`, what others have as their own (`standing`:
 * ClusterQueues and Cohorts that bookings do not make), what each booking asks for, and the pool, which has the rest.
 * Rows are the bookings in order (who comes first is served first when hardware is missing), the last row is the pool.
 *
 *     want   what each row is to have in the end: the sum of a cell, with what is standing, is its hardware
 *     put    what may be written now, given what is seen: rows that have too much are lowered first, and nothing of the
 *            cell is raised before all of that is seen
 *
 * So each write alone leaves the sum of a cell at its hardware or below, or makes it smaller; in whatever order they
 * come, and wherever the writer stops. (What stands beyond the hardware by itself, nobody here can lower.)
 */
#ifndef BERTH_CORE_BOOKING_LEDGER_H
#define BERTH_CORE_BOOKING_LEDGER_H

#include "base/arena.h"

struct booking_ledger {
    size_t n_cells, n_bookings;
    /* Nothing may be raised now: what is seen is not sure to stay so (booking_fence.c) */
    bool hold;
    int64_t *hardware, *standing; /* of each cell */
    int64_t *seen, *asked, *want,
        *put; /* (n_bookings + 1) rows of n_cells; asked of the pool is not looked at */
};

/* All zero. ERR_NOMEM. */
int booking_ledger_init(struct booking_ledger *l, struct arena *a, size_t n_cells,
                        size_t n_bookings);
static inline size_t booking_ledger_at(const struct booking_ledger *l, size_t row, size_t cell) {
    return row * l->n_cells + cell;
}
/* Fills want and put. */
void booking_ledger_settle(struct booking_ledger *l);

#endif

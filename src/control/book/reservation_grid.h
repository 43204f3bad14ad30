/*
 * reservation_grid: the times at which bookings may start and end: multiples of a step, counted from midnight of the
 * policy's time zone, so that a grid of 15 minutes is one in +05:45, too. Seconds since 1970.
 */
#ifndef BERTH_CONTROL_RESERVATION_GRID_H
#define BERTH_CONTROL_RESERVATION_GRID_H

#include "base/str.h"

struct zones;

/* What the grid's multiples are counted from at that time; zones NULL, or a zone that is not known: UTC. */
int64_t reservation_grid_base(struct zones *zones, struct str zone, int64_t grid_s, int64_t at);
/* The last grid time that is not after `at`, and the first that is not before it. */
int64_t reservation_grid_down(int64_t at, int64_t grid_s, int64_t base);
int64_t reservation_grid_up(int64_t at, int64_t grid_s, int64_t base);

#endif

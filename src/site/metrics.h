/*
 * metrics: the process' registry, with what can be said of every world: the process itself and what the mirror holds.
 *
 * Rooms add their own families to metrics_prom. Names and labels are those of the projects people know: process_* and
 * apiserver_storage_objects.
 */
#ifndef BERTH_SITE_METRICS_H
#define BERTH_SITE_METRICS_H

#include "base/clock.h"
#include "mirror/mirror.h"
#include "wire/prometheus.h"

struct metrics;

/* mirror may be NULL (a process without one). NULL: out of memory. */
struct metrics *metrics_new(const struct mirror *mirror, struct clock *clock);
void metrics_free(struct metrics *m);
struct prom *metrics_prom(struct metrics *m);

#endif

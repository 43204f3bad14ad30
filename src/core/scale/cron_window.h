/*
 * cron_window: the window of KEDA's cron trigger: it begins at the times of one schedule and ends at those of another.
 *
 * An instant is inside unless the next start comes before the next end; so a window may span midnight, or a change of
 * clocks. The schedules are those of wire/text/cron.h with five fields; the next time of one is found as KEDA finds it,
 * by whole hours from midnight, so that where clocks change by half an hour a time of that day may be passed over.
 * Instants are seconds since 1970.
 */
#ifndef BERTH_CORE_CRON_WINDOW_H
#define BERTH_CORE_CRON_WINDOW_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/text/cron.h"

struct cron_window {
    struct cron start, end;
    /* Where a schedule begins with "TZ=NAME " or "CRON_TZ=NAME ": its zone, which the caller looks up; else empty */
    struct str start_in, end_in;
    const struct zone *start_zone, *end_zone; /* NULL: that of the trigger */
    int64_t replicas;                         /* while inside */
};
struct cron_window_at {
    bool inside, has_start, has_end; /* no next start or end: none within five years */
    int64_t next_start, next_end;
};

/* ERR_INVALID: a schedule is none. */
int cron_window_parse(struct str start, struct str end, int64_t replicas, struct cron_window *ret,
                      struct err *err);
struct cron_window_at cron_window_at(const struct cron_window *w, const struct zone *z,
                                     int64_t now);
/* The name of the metric: "s0-cron-Europe-Berlin-08xx1-5-018xx1-5". */
struct str cron_window_metric(struct arena *a, int64_t trigger, struct str zone, struct str start,
                              struct str end);

#endif

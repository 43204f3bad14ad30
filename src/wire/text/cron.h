/*
 * cron: when something is due, in the words of a CronJob's schedule: what robfig/cron v3, which Kubernetes reads
 * schedules with, accepts and means.
 *
 *     minute hour day-of-month month day-of-week     each of: a star or "?", a number, a-b, a star with a step, a/n,
 *                                                    a-b/n, and lists of them
 *     30 6-16/4 * * 1-5                              names count: jan to dec, sun to sat
 *     @yearly @annually @monthly @weekly @daily @midnight @hourly
 *     @every 1h30m                                   a Go duration in whole seconds, at least one
 *
 * A day is due when it fits both of its fields; when neither begins with a star or "?", one of them is enough. An
 * instant is due when a clock of the zone shows a minute that fits: what the clock passes over when it is put forward
 * does not come that day, what it shows twice comes twice. "@every" counts from the last time, whatever the clock says.
 * Pure: no clock, no memory. Instants are seconds since 1970 UTC; nothing is due before that or after the year 2200.
 */
#ifndef BERTH_WIRE_CRON_H
#define BERTH_WIRE_CRON_H

#include "base/err.h"
#include "wire/text/zone.h"

struct cron {
    int64_t every_s;                                 /* above 0: @every, and nothing else counts */
    uint64_t minutes, hours, days, months, weekdays; /* bit n: the number n */
    bool any_day, any_weekday;                       /* that field begins with a star */
};

/* ERR_INVALID, with the text that Kubernetes has for it. */
int cron_parse(struct str text, struct cron *ret, struct err *err);

/* The first instant after `after` that is due. False: none within five years ("0 0 31 2 *"). */
bool cron_next(const struct cron *c, const struct zone *z, int64_t after, int64_t *ret);
/* The last instant that is due after `after` and not after `until`; with @every counted from `after`. False: none
 * within the five years before `until`. */
bool cron_latest(const struct cron *c, const struct zone *z, int64_t after, int64_t until,
                 int64_t *ret);

#endif

/*
 * when: times as people write them to a program, and how it says them back. No I/O: the zone and the present are given.
 *
 * A moment is
 *
 *     now, +2h, +90m            from now on
 *     14:00, 14, 1400, 2pm, 2:30pm, noon, 24:00
 *                               the next time that clocks show this; with a day, on that day
 *     tomorrow 9:00, fri 14:00, 2026-11-23 14:00, 2026-11-23T14:00, 11-23 14:00, +3d 9:00
 *                               a day and a time, in either order; a weekday or a day of the year is the next one
 *     2026-11-23T14:00:00Z, ...+01:00
 *                               exact
 *
 * in the zone of the asker. A time that clocks skip (summer begins) is read with the offset before, so it moves on by
 * what was skipped; one that they show twice means the first. Both are told (`fit`), so that a verb can say so. A
 * plain time at most half an hour ago means now, not tomorrow.
 *
 * A length is 90m, 4h, 1h30m, 2d, 1w: elapsed time, whatever clocks do meanwhile.
 */
#ifndef BERTH_CLI_WHEN_H
#define BERTH_CLI_WHEN_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/text/zone.h"

struct when_now {
    const struct zone *zone;
    int64_t utc; /* seconds since 1970 */
};

struct when {
    int64_t utc; /* seconds since 1970 */
    enum zone_fit fit;
    bool now; /* it was "now", or so little ago that now was meant */
};

/* `day`: what a moment without a day is on ("tomorrow", "2026-11-24"); NULL: none. `after`: it is the first such time
 * after this moment; NULL: after now. `option` is named in errors (ERR_BAD_REQUEST). Moments that are over are refused,
 * unless `past`. */
struct when_ask {
    const char *option, *day;
    const struct when *after;
    bool past;
};
int when_parse(const struct when_now *now, const struct when_ask *ask, const char *text,
               struct when *ret, struct err *err);
/* Seconds from 1 to a year. */
int when_length(const char *option, const char *text, int64_t *ret, struct err *err);
/* The first second of a day, local midnight; the present day when NULL. */
int when_day(const struct when_now *now, const char *option, const char *text, int64_t *ret_utc,
             struct err *err);

/* In the arena. "Mon 23 Nov 14:00 CET"; another year than the present one is said. */
struct str when_text(const struct when_now *now, int64_t utc, struct arena *a);
/* "Mon 23 Nov 14:00-18:00 CET (4h)", "Mon 23 Nov 22:00 - Tue 24 Nov 02:00 CET (4h)"; with both names of the zone where
 * its clocks change meanwhile. */
struct str when_span(const struct when_now *now, int64_t from, int64_t to, struct arena *a);
/* "4h", "1h30m", "2d4h", "45m" */
struct str when_length_text(int64_t seconds, struct arena *a);
/* "in 2h", "3m ago", "now": from now. */
struct str when_distance(const struct when_now *now, int64_t utc, struct arena *a);
/* What to tell about a time that is not there, or there twice; empty when there is nothing to tell. */
struct str when_note(const struct when_now *now, const struct when *w, struct arena *a);
/* RFC 3339 in UTC: "2026-11-23T13:00:00Z". */
struct str when_rfc(int64_t utc, struct arena *a);

#endif

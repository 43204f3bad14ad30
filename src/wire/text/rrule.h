/*
 * rrule: recurrence rules of RFC 5545, the part that rooms are booked with.
 *
 *     FREQ=DAILY | WEEKLY | MONTHLY        required
 *     INTERVAL=2                           every second day, week or month
 *     BYDAY=MO,WE                          in MONTHLY with ordinals: 1MO, -1FR
 *     BYMONTHDAY=1,15,-1                   DAILY (as a filter) and MONTHLY; a month without such a day is passed over
 *     COUNT=10  or  UNTIL=20261224T225959Z or UNTIL=20261224 (the whole day of the zone)
 *     WKST=MO                              where weeks begin, for INTERVAL
 *
 * All else is refused, by name. Occurrences are what the rule yields from the start on; a start that it does not
 * yield is none (RFC 5545 leaves that open). They are local times (wire/text/zone.h): the same reading of the clock on
 * every day, whatever the offset. Pure: no clock, no memory. It ends with the year 2199.
 */
#ifndef BERTH_WIRE_RRULE_H
#define BERTH_WIRE_RRULE_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/text/zone.h"

enum rrule_freq { RRULE_DAILY = 1, RRULE_WEEKLY, RRULE_MONTHLY };
enum { RRULE_DAYS_MAX = 35, RRULE_MONTH_DAYS_MAX = 62 };

struct rrule_day {
    int8_t ordinal;  /* 0: every; else -5 to 5 */
    uint8_t weekday; /* 0 = Sunday */
};

struct rrule {
    enum rrule_freq freq;
    int32_t interval; /* from 1 */
    int32_t count;    /* 0: none */
    enum { RRULE_NO_UNTIL, RRULE_UNTIL_UTC, RRULE_UNTIL_LOCAL } has_until;
    int64_t until;      /* instant, or local time; inclusive */
    uint8_t week_start; /* 0 = Sunday */
    uint8_t n_days, n_month_days;
    struct rrule_day days[RRULE_DAYS_MAX];
    int8_t month_days[RRULE_MONTH_DAYS_MAX]; /* 1 to 31, -31 to -1 */
};

/* Text like "FREQ=WEEKLY;BYDAY=MO,WE"; a leading "RRULE:" and any case are taken. ERR_INVALID, naming the part. */
int rrule_parse(struct str text, struct rrule *ret, struct err *err);
/* Canonical text, for a calendar or a comparison. */
void rrule_write(const struct rrule *r, struct buf *out);

/* The occurrences in order:
 *
 *     struct rrule_iter it;
 *     rrule_begin(&it, &rule, zone, start_local);
 *     while (rrule_next(&it, &local)) { int64_t utc = zone_utc(zone, local, NULL); ... }
 */
struct rrule_iter {
    struct rrule rule;
    const struct zone *zone; /* for an UNTIL in UTC; borrowed */
    int64_t start;           /* the local time before which there are none */
    int64_t period;          /* the next day, week or month to look at, counted from the start's */
    int64_t base;            /* first day of the one being given */
    uint32_t left;           /* its days to come, as bits */
    int32_t given;
    bool done;
};

void rrule_begin(struct rrule_iter *it, const struct rrule *r, const struct zone *z,
                 int64_t start_local);
/* false: there are no more. */
bool rrule_next(struct rrule_iter *it, int64_t *ret_local);
/* The next at or after `local`. Those before it count, and are not looked at one by one without COUNT. */
bool rrule_next_from(struct rrule_iter *it, int64_t local, int64_t *ret_local);

/* An EXDATE or recurrence id: "20261123T090000" (local), "20261123T080000Z", "20261123" (any time of that day), or the
 * forms with dashes and colons. */
struct rrule_date {
    enum { RRULE_DATE_LOCAL, RRULE_DATE_UTC, RRULE_DATE_DAY } form;
    int64_t at; /* local time, instant, or local midnight */
};
int rrule_date_parse(struct str text, struct rrule_date *ret, struct err *err);
bool rrule_date_is(const struct rrule_date *d, const struct zone *z, int64_t local);

#endif

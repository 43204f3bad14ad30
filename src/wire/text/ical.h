/*
 * ical: writes calendars as text/calendar (RFC 5545, RFC 7986), for programs that subscribe to one.
 *
 * Lines end in CRLF and are folded at 75 octets, never inside a UTF-8 sequence. Texts are escaped, control characters
 * and what is not UTF-8 become a blank or U+FFFD, and a text is cut at LIMIT_ICAL_TEXT. Values of properties that are
 * no texts are written from numbers alone. A calendar is at most LIMIT_ICAL_BYTES and LIMIT_ICAL_EVENTS long; what is
 * beyond is left out and ical_end says so.
 *
 *     struct ical c;
 *     ical_begin(&c, &out, &(struct ical_calendar){.name = STR("Team Physics"), .method = STR("")});
 *     ical_event(&c, &event);
 *     int code = ical_end(&c);
 */
#ifndef BERTH_WIRE_ICAL_H
#define BERTH_WIRE_ICAL_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/text/zone.h"

struct ical {
    struct buf *out;
    size_t events;
    bool cut;
};

struct ical_calendar {
    struct str name, description, color; /* color: a CSS name; empty: none */
    struct str method;                   /* PUBLISH, REQUEST, CANCEL; empty: none */
    struct str url;                      /* of the dashboard; empty: none */
    int32_t refresh_minutes;             /* how often programs should ask; 0: not said */
};

enum ical_status { ICAL_CONFIRMED, ICAL_TENTATIVE, ICAL_CANCELLED };

struct ical_event {
    struct str uid;                   /* the same for the object's whole life */
    int64_t stamp, created, modified; /* instants, seconds; created 0: not said */
    int64_t start, end;
    /* NULL: times are written in UTC; else with TZID, and ical_zone comes before. An instant that the zone's clock
     * cannot tell from an earlier one is in UTC all the same. */
    const struct zone *zone;
    struct str rrule;       /* canonical; with a zone */
    const int64_t *exdates; /* local times */
    size_t n_exdates;
    bool has_recurrence_id;
    int64_t recurrence_id; /* local time with a zone, instant without */
    int32_t sequence;
    enum ical_status status;
    bool transparent;                                        /* takes no time of its owner's */
    struct str summary, description, location, url, contact; /* contact: who booked; empty: none */
    const struct str *categories;
    size_t n_categories;
    int32_t alarm_minutes; /* before the start; 0: none */
};

struct ical_busy {
    int64_t start, end; /* instants */
    bool tentative;
};

void ical_begin(struct ical *c, struct buf *out, const struct ical_calendar *calendar);
/* VTIMEZONE with what holds at `from` and every change up to `until` (instants), once for each zone used, before its
 * events. */
void ical_zone(struct ical *c, const struct zone *z, int64_t from, int64_t until);
void ical_event(struct ical *c, const struct ical_event *e);
/* VFREEBUSY of [start, end). */
void ical_freebusy(struct ical *c, struct str uid, int64_t stamp, int64_t start, int64_t end,
                   const struct ical_busy *busy, size_t n);
/* 0; ERR_NOMEM; ERR_TOO_LARGE: it is valid, but not all of it is there. */
int ical_end(struct ical *c);

/* A property that is not above, its value a text. */
void ical_text(struct ical *c, const char *name, struct str value);

#endif

/*
 * calendar_source: the iCalendar texts behind unguessable addresses, by interface. `control/series/calendar_feed` makes
 * them, `site` serves them at /calendar/TOKEN.ics. Loop thread only.
 *
 * World owns a seat and hands it to both; whoever can answer sits in it while it lives:
 *
 *     struct calendar_source *s = seat->source;         NULL: not now (503), e.g. another replica leads
 *     int code = s ? s->get(s, token, &body, &err) : ERR_UNAVAILABLE;
 */
#ifndef BERTH_PORT_CALENDAR_SOURCE_H
#define BERTH_PORT_CALENDAR_SOURCE_H

#include "base/err.h"
#include "base/str.h"

/* The views are valid until the next call, or the turn of the loop ends. */
struct calendar_body {
    struct str text;     /* text/calendar; charset=utf-8 */
    struct str etag;     /* with its quotes; the same for the same text */
    int64_t modified_ns; /* wall time of the latest change of what is in it, whole seconds */
};

struct calendar_source {
    /* token: what stands in the address, without ".ics", as the client sent it. ERR_NOT_FOUND: never was one, or it is
     * revoked; which of both is not told. */
    int (*get)(struct calendar_source *s, struct str token, struct calendar_body *ret,
               struct err *err);
};

struct calendar_seat {
    struct calendar_source *source; /* NULL: nobody */
};

#endif

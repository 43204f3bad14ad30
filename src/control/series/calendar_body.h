/* calendar_body: the parts of a feed's text that its files share: calendar_body.c, and calendar_body_series.c for what
 * recurs. */
#ifndef BERTH_CONTROL_CALENDAR_BODY_H
#define BERTH_CONTROL_CALENDAR_BODY_H

#include "control/series/calendar_feed_private.h"
#include "wire/text/ical.h"

struct feed_item {
    const struct feed_booking *b;
    struct reservation *r;
    enum booking_phase phase;
    bool anonymous; /* its reader may not see whose it is */
    bool done;      /* it is written */
};
struct feed_items {
    struct feed_item *v; /* in order of start */
    size_t n;
};

/* "Training (2 x 2g.35gb)" */
struct str feed_summary(struct arena *a, struct str purpose, const struct reservation_line_list *l);
enum ical_status feed_status(const struct feed_item *it);
struct ical_event feed_event(struct feed_ask *q, const struct feed_item *it);
/* Writes each series that is to be seen as one event with a rule, with its zone, and what is different from the rule
 * beside it; marks what it wrote as done. What cannot be said so stays for events of its own. */
void feed_put_series(struct feed_ask *q, struct ical *c, struct feed_items *l);

#endif

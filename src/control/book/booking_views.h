/*
 * booking_views: objects decoded, each kept for as long as it stays as it is. What is asked again and again of
 * thousands of objects is decoded once for each change of them.
 *
 *     views.left = 64;                                          so many may be decoded now
 *     r = booking_views_get(&views, o, &schema_reservation);    NULL: see below
 *     booking_views_drop(&views, o->uid);                       from the feed: it changed, or is gone
 *
 * A view is the views', valid until it is dropped or hollowed. Members that are JSON as it stands (FIELD_ANY) must not
 * be looked at: the tree they point into is gone.
 */
#ifndef BERTH_CONTROL_BOOKING_VIEWS_H
#define BERTH_CONTROL_BOOKING_VIEWS_H

#include "api/schema/codec.h"
#include "base/arena.h"
#include "base/map.h"
#include "mirror/object.h"

struct booking_views {
    struct map by_uid;
    struct arena scratch;
    size_t bytes, max; /* held, and their limit */
    size_t left;       /* to be decoded in this turn */
    uint64_t decoded;  /* since the beginning */
    bool more;         /* one was not decoded, for there was nothing left */
    bool failed;       /* nor one for want of memory, or beyond max: this is `full` too */
    bool full;
};

void booking_views_init(struct booking_views *v, size_t max_bytes);
void booking_views_release(struct booking_views *v);

/* What the schema makes of the object. NULL: it cannot be decoded, or it is hollow, or `more` or `failed` says why. */
void *booking_views_get(struct booking_views *v, const struct object *o, const struct schema *s);
/* Nothing in it matters as long as it stays as it is: only that is remembered. */
void booking_views_hollow(struct booking_views *v, const struct object *o);
/* A number that the user keeps with a view, 0 at first; NULL when there is none of the object as it is. */
uint64_t *booking_views_note(struct booking_views *v, const struct object *o);
void booking_views_drop(struct booking_views *v, struct str uid);

#endif

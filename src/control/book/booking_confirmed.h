/*
 * booking_confirmed: Reservations that are confirmed, by project and start: who comes next where a booking ends.
 *
 * They have no objects yet and are many, up to all there are; what is asked of them is always a few. Of each its names
 * and start are kept, and whatever number the user notes of it to tell it from others without decoding it again.
 */
#ifndef BERTH_CONTROL_BOOKING_CONFIRMED_H
#define BERTH_CONTROL_BOOKING_CONFIRMED_H

#include "base/arena.h"
#include "base/map.h"
#include "base/tree.h"
#include "mirror/object.h"

struct booking_confirmed_row {
    struct str ns, uid, name;
    int64_t start; /* ns */
    uint64_t note; /* the user's; 0 when the Reservation has changed */
    char text[];
};

struct booking_confirmed {
    struct map by_uid;
    struct tree by_start; /* by namespace, start, uid */
};

void booking_confirmed_init(struct booking_confirmed *x);
void booking_confirmed_release(struct booking_confirmed *x);

/* A Reservation came or changed; `a` is for scratch, and reset. ERR_NOMEM: it is not in the index now. */
int booking_confirmed_put(struct booking_confirmed *x, const struct object *o, struct arena *a);
void booking_confirmed_del(struct booking_confirmed *x, struct str uid);

/* for (pos = booking_confirmed_seek(x, ns, start); (row = booking_confirmed_next(x, ns, start, &pos)) != NULL;)
 * Rows may be noted on, not added or removed meanwhile. */
struct tree_pos booking_confirmed_seek(const struct booking_confirmed *x, struct str ns,
                                       int64_t start);
struct booking_confirmed_row *booking_confirmed_next(const struct booking_confirmed *x,
                                                     struct str ns, int64_t start,
                                                     struct tree_pos *pos);

#endif

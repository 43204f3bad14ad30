/* calendar_feed_private: declarations shared by the files of the feeds' controller. */
#ifndef BERTH_CONTROL_CALENDAR_FEED_PRIVATE_H
#define BERTH_CONTROL_CALENDAR_FEED_PRIVATE_H

#include "api/tables/view_reservation.h"
#include "base/map.h"
#include "control/kit/controller.h"
#include "control/series/calendar_feed.h"
#include "core/booking/booking.h"
#include "port/calendar_source.h"
#include "wire/text/zone.h"

enum { FEED_ANSWERS = 8, FEED_FRESH = 600, FEED_LARGE = 256 << 10, FEED_LARGE_FRESH = 20 };
enum { FEED_DAY = 86400, FEED_KEEP = 30 * FEED_DAY, FEED_AHEAD = 400 * FEED_DAY };

/* What is known of a Reservation without decoding it again. */
struct feed_booking {
    const struct object *obj; /* a reference */
    int64_t start, end;       /* seconds */
    int64_t modified;         /* of status, seconds */
    int64_t over;             /* when it was cancelled, deleted, ...; 0: it was not */
    uint64_t users[2];        /* hashes of who booked and for whom; 0: none */
    uint64_t resources;       /* a bit for the hash of each resource */
    enum booking_phase phase;
    bool gone; /* deleted */
};

/* An address that is valid. */
struct feed_token {
    char *token, *key; /* key: "ns/name" of the feed */
    struct str ns, name;
    uint8_t hash[32];
};

/* Programs ask again and again: a text is kept while nothing changed, and large ones for a moment in any case. */
struct feed_answer {
    char *token; /* NULL: free */
    struct buf text;
    char etag[48];
    int64_t modified, built; /* seconds */
    uint64_t version;
};

struct calendar_feed_controller {
    struct controller base;
    const struct kind *feeds, *reservations, *series, *policies;
    struct zones *zones, *own_zones;
    struct map bookings; /* by uid: feed_booking */
    struct map tokens;   /* by hash: feed_token */
    struct map by_feed;  /* by "ns/name": feed_token, the same */
    size_t n_gone;
    struct calendar_source source;
    struct arena scratch; /* of events and answers */
    struct arena item;    /* of one booking in an answer */
    uint64_t version;     /* of all that answers are made of */
    struct feed_answer answers[FEED_ANSWERS];
};

static inline uint64_t feed_resource_bit(struct str resource) {
    return UINT64_C(1) << (str_hash(resource) & 63);
}

/* One answer. */
struct feed_ask {
    struct calendar_feed_controller *c;
    struct arena *a;
    const struct object *obj;
    struct calendar_feed *feed;
    /* Whose it is: who made it, which admission wrote down; a status may be anybody's */
    struct str user;
    int64_t now, modified;
    struct str pool;
    struct buf *out;
};

/* Fills q->out and q->modified. 0 or ERR_NOMEM. */
int calendar_body_write(struct feed_ask *q);

#endif

/* calendar_feed_private: what the files of the feeds' controller share. */
#ifndef BERTH_CONTROL_CALENDAR_FEED_PRIVATE_H
#define BERTH_CONTROL_CALENDAR_FEED_PRIVATE_H

#include "api/view_reservation.h"
#include "base/map.h"
#include "control/calendar_feed.h"
#include "control/controller.h"
#include "mirror/calendar_source.h"
#include "wire/zone.h"

enum { FEED_DAY = 86400, FEED_KEEP = 30 * FEED_DAY, FEED_AHEAD = 400 * FEED_DAY };

/* What is known of a Reservation without decoding it again. */
struct feed_booking {
    const struct object *obj; /* a reference */
    int64_t start, end;       /* seconds */
    int64_t modified;         /* of status, seconds */
    int64_t over;             /* when it was cancelled, deleted, ...; 0: it was not */
    uint64_t users[2];        /* hashes of who booked and for whom; 0: none */
    bool gone;                /* deleted */
};

/* An address that is valid. */
struct feed_token {
    char *token, *key; /* key: "ns/name" of the feed */
    struct str ns, name;
    uint8_t hash[32];
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
    struct buf text;      /* the last answer */
    char etag[72];
};

/* One answer. */
struct feed_ask {
    struct calendar_feed_controller *c;
    struct arena *a;
    const struct object *obj;
    struct calendar_feed *feed;
    int64_t now, modified;
    struct str pool;
};

/* Fills c->text. 0 (*ret_modified: seconds), ERR_NOMEM. */
int calendar_body_write(struct feed_ask *q);

#endif

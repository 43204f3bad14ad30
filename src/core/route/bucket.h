/*
 * bucket (core): an exact rate limit.
 *
 * A token bucket that is filled evenly: `limit` units in `period` ns, at most `burst` at once. Its decisions are those
 * of the generic cell rate algorithm (ITU-T I.371, annex A; the theoretical arrival time there is the time at which
 * this bucket would be full), but it keeps a level, because levels may be settled afterwards. Levels are in units *
 * period, so nothing is ever rounded: in any time t at most burst + t * limit / period units pass, and a steady caller
 * gets all of them.
 *
 * The cost of a request may be known only when it is over (tokens). It is charged an estimate, which is settled then;
 * the level may become negative, and the next request waits. A running stream is never cut for it.
 */
#ifndef BERTH_CORE_ROUTE_BUCKET_H
#define BERTH_CORE_ROUTE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

enum { BUCKET_LIMIT_MAX = 1000000000 };

struct bucket {
    int64_t limit, burst; /* units; limit 0: nothing is limited */
    int64_t period;       /* ns */
    int64_t level;        /* units * period; may be below 0 */
    int64_t at;           /* the time of that level */
};

/* Full. limit and burst up to BUCKET_LIMIT_MAX, period up to an hour. */
void bucket_init(struct bucket *b, int64_t limit, int64_t burst, int64_t period, int64_t now);
/* Changes the limit; the level keeps its proportion. */
void bucket_change(struct bucket *b, int64_t limit, int64_t burst, int64_t now);
/* Whether n units may pass now; nothing is charged. More than the burst pass when the bucket is full. */
bool bucket_allows(struct bucket *b, int64_t n, int64_t now);
void bucket_charge(struct bucket *b, int64_t n, int64_t now);
/* Returns n units that were overcharged; a negative n charges more. */
void bucket_settle(struct bucket *b, int64_t n, int64_t now);
/* Units left, at least 0; ns until n units may pass, 0: now; ns until it is full. */
int64_t bucket_left(struct bucket *b, int64_t now);
int64_t bucket_wait(struct bucket *b, int64_t n, int64_t now);
int64_t bucket_full_in(struct bucket *b, int64_t now);

#endif

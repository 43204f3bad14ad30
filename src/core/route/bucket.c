/* bucket: see bucket.h. */
#include "core/route/bucket.h"

#include <assert.h>

enum { HOUR_S = 3600 };
#define PERIOD_MAX (INT64_C(1000000000) * HOUR_S)
/* burst * period stays below 2^62: at most 1e9 * 4.6e9 ns. Longer periods are counted in coarser units. */
#define LEVEL_MAX (INT64_C(1) << 62)

static int64_t most(const struct bucket *b) {
    int64_t level;
    return __builtin_mul_overflow(b->burst, b->period, &level) || level > LEVEL_MAX ? LEVEL_MAX
                                                                                    : level;
}

static void fill(struct bucket *b, int64_t now) {
    int64_t more, full = most(b);

    if (now <= b->at) {
        return; /* clocks of others may go back: nothing is gained */
    }
    if (__builtin_mul_overflow(now - b->at, b->limit, &more) ||
        __builtin_add_overflow(b->level, more, &b->level) || b->level > full) {
        b->level = full;
    }
    b->at = now;
}

static int64_t units(const struct bucket *b, int64_t n) {
    int64_t level;
    return __builtin_mul_overflow(n, b->period, &level) || level > LEVEL_MAX ? LEVEL_MAX : level;
}

void bucket_init(struct bucket *b, int64_t limit, int64_t burst, int64_t period, int64_t now) {
    assert(limit >= 0 && limit <= BUCKET_LIMIT_MAX && burst >= 0 && burst <= BUCKET_LIMIT_MAX);
    assert(period > 0 && period <= PERIOD_MAX);
    *b = (struct bucket){
        .limit = limit, .burst = burst > 0 ? burst : limit, .period = period, .at = now};
    b->level = most(b);
}

void bucket_change(struct bucket *b, int64_t limit, int64_t burst, int64_t now) {
    struct bucket was = *b;

    fill(&was, now);
    bucket_init(b, limit, burst, was.period, now);
    double share = most(&was) > 0 ? (double)was.level / (double)most(&was) : 1;
    b->level = (int64_t)(share * (double)most(b));
}

bool bucket_allows(struct bucket *b, int64_t n, int64_t now) {
    return bucket_wait(b, n, now) == 0;
}

int64_t bucket_wait(struct bucket *b, int64_t n, int64_t now) {
    int64_t need = units(b, n), full = most(b);

    if (b->limit == 0 || n <= 0) {
        return 0;
    }
    fill(b, now);
    need = need < full ? need : full;
    int64_t lacks = need - b->level;
    return lacks <= 0 ? 0 : lacks / b->limit + (lacks % b->limit != 0);
}

void bucket_charge(struct bucket *b, int64_t n, int64_t now) {
    bucket_settle(b, -n, now);
}

void bucket_settle(struct bucket *b, int64_t n, int64_t now) {
    int64_t full = most(b), more = n < 0 ? -units(b, -n) : units(b, n);

    if (b->limit == 0) {
        return;
    }
    fill(b, now);
    if (__builtin_add_overflow(b->level, more, &b->level)) {
        b->level = more < 0 ? -LEVEL_MAX : full;
    }
    b->level = b->level > full ? full : b->level < -LEVEL_MAX ? -LEVEL_MAX : b->level;
}

int64_t bucket_left(struct bucket *b, int64_t now) {
    fill(b, now);
    return b->level > 0 ? b->level / b->period : 0;
}

int64_t bucket_full_in(struct bucket *b, int64_t now) {
    return bucket_wait(b, b->burst, now);
}

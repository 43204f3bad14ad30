/*
 * amount (core): quota amounts. CPU in milli-units, everything else in whole units, int64.
 *
 * UNLIMITED compares greater than any bounded amount. Unlimited + x and unlimited - bounded stay unlimited,
 * bounded - unlimited is the smallest amount, unlimited - unlimited is 0; bounded sums saturate below UNLIMITED.
 */
#ifndef BERTH_CORE_AMOUNT_H
#define BERTH_CORE_AMOUNT_H

#include <stdint.h>

#define AMOUNT_UNLIMITED INT64_MAX
#define AMOUNT_MAX (INT64_MAX - 1)
#define AMOUNT_NONE (-1) /* an absent borrowing or lending limit */

static inline int64_t amount_clamp(__int128 v) {
    return v > AMOUNT_MAX ? AMOUNT_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static inline int64_t amount_add(int64_t a, int64_t b) {
    if (a == AMOUNT_UNLIMITED || b == AMOUNT_UNLIMITED) {
        return AMOUNT_UNLIMITED;
    }
    return amount_clamp((__int128)a + b);
}

static inline int64_t amount_sub(int64_t a, int64_t b) {
    if (a == AMOUNT_UNLIMITED) {
        return b == AMOUNT_UNLIMITED ? 0 : AMOUNT_UNLIMITED;
    }
    if (b == AMOUNT_UNLIMITED) {
        return INT64_MIN;
    }
    return amount_clamp((__int128)a - b);
}

static inline int64_t amount_mul(int64_t a, int64_t n) {
    return a == AMOUNT_UNLIMITED ? a : amount_clamp((__int128)a * n);
}

static inline int64_t amount_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t amount_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* part of whole in thousandths; whole > 0 */
static inline int64_t amount_share(int64_t part, int64_t whole) {
    return (int64_t)((__int128)part * 1000 / whole);
}

#endif

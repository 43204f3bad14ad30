/* backoff: see backoff.h. */
#include "control/kit/backoff.h"

#include "base/clock.h"
#include "base/prng.h"

static uint64_t hash(struct str s) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < s.n; i++) {
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(1099511628211);
    }
    return h;
}

int64_t backoff_ns(int32_t base_s, int32_t max_s, int32_t n, struct str uid) {
    struct prng r;
    int64_t max = max_s * NS_PER_SEC, wait = base_s * NS_PER_SEC;
    for (int32_t i = 1; i < n && wait > 0 && wait < max; i++) {
        wait *= 2;
    }
    prng_seed(&r, hash(uid) + (uint64_t)n);
    wait += (int64_t)(prng_unit(&r) * 1e-4 * (double)wait);
    return wait < max ? wait : max;
}

/* prng: xoshiro256**. See prng.h. */
#include "base/prng.h"

#include <assert.h>

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

void prng_seed(struct prng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        r->s[i] = z ^ (z >> 31);
    }
}

uint64_t prng_u64(struct prng *r) {
    uint64_t *s = r->s;
    uint64_t out = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

uint64_t prng_below(struct prng *r, uint64_t n) {
    assert(n > 0);
    uint64_t min = (0 - n) % n;
    uint64_t x;
    do {
        x = prng_u64(r);
    } while (x < min);
    return x % n;
}

double prng_unit(struct prng *r) {
    return (double)(prng_u64(r) >> 11) * 0x1.0p-53;
}

/*
 * prng: a small seeded generator (splitmix64 seeding xoshiro256**, Blackman and Vigna 2018). For simulation, tests and
 * jitter; never for secrets.
 */
#ifndef BERTH_BASE_PRNG_H
#define BERTH_BASE_PRNG_H

#include <stdint.h>

struct prng {
    uint64_t s[4];
};

void prng_seed(struct prng *r, uint64_t seed);
uint64_t prng_u64(struct prng *r);
uint64_t prng_below(struct prng *r, uint64_t n); /* 0..n-1, unbiased; n > 0 */
double prng_unit(struct prng *r);                /* [0, 1) */

#endif

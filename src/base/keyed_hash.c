/* keyed_hash: a keyed multiply-fold hash, eight bytes a step. */
#include "base/keyed_hash.h"

#include <string.h>

static uint64_t seed = 0x9e3779b97f4a7c15u;

void keyed_hash_seed(uint64_t s) {
    seed = s | 1;
}

static uint64_t mix(uint64_t a, uint64_t b) {
    __uint128_t p = (__uint128_t)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t keyed_hash(struct str key) {
    uint64_t h = seed ^ key.n;
    size_t i = 0;
    for (; i + 8 <= key.n; i += 8) {
        uint64_t w;
        memcpy(&w, key.p + i, 8);
        h = mix(h ^ w, 0xa0761d6478bd642fu ^ seed);
    }
    uint64_t w = 0;
    if (key.n > i) {
        memcpy(&w, key.p + i, key.n - i);
    }
    return mix(h ^ w, 0xe7037ed1a0b428dbu ^ seed);
}

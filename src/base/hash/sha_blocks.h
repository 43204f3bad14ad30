/* sha_blocks: what SHA-1 and SHA-256 do alike: the text in blocks of 64 bytes, padded with its length (FIPS 180-4). */
#ifndef BERTH_BASE_SHA_BLOCKS_H
#define BERTH_BASE_SHA_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "base/str.h"

/* Takes each block into h, whose words are then written to out as `n` bytes. */
static inline void sha_blocks(struct str data, void (*block)(uint32_t *h, const uint8_t *p),
                              uint32_t *h, uint8_t *out, int n) {
    uint8_t tail[128] = {0};
    size_t whole = data.n / 64 * 64, rest = data.n - whole;
    for (size_t i = 0; i < whole; i += 64) {
        block(h, (const uint8_t *)data.p + i);
    }
    if (rest) {
        memcpy(tail, data.p + whole, rest);
    }
    tail[rest] = 0x80;
    size_t end = rest + 9 > 64 ? 128 : 64;
    for (int i = 0; i < 8; i++) {
        tail[end - 1 - (size_t)i] = (uint8_t)((uint64_t)data.n * 8 >> (8 * i));
    }
    for (size_t i = 0; i < end; i += 64) {
        block(h, tail + i);
    }
    for (int i = 0; i < n; i++) {
        out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    }
}

#endif

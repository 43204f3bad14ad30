/* fuzz: what the targets share. Each target is one file with LLVMFuzzerTestOneInput; main.c replays a corpus. */
#ifndef BERTH_FUZZ_H
#define BERTH_FUZZ_H

#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { FUZZ_ARENA_BYTES = 64 << 20, FUZZ_INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input up to the first byte `sep`, and what follows it, for targets that take two texts. */
static inline struct str fuzz_text(const uint8_t *data, size_t size) {
    return str_from((const char *)data, size);
}

#endif

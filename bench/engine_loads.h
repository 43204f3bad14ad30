/* engine_loads: the loads of bench-engine. Each runs in a process of its own, at a size that means what `unit` says. */
#ifndef BERTH_BENCH_ENGINE_LOADS_H
#define BERTH_BENCH_ENGINE_LOADS_H

#include "engine_drive.h"

enum { SIZES_MAX = 4 };

struct load {
    const char *name, *unit;
    const char *what; /* a line or two for the reader */
    size_t sizes[SIZES_MAX];
    void (*run)(size_t size, struct figures *ret);
};

extern const struct load loads[];
extern const size_t n_loads;

#endif

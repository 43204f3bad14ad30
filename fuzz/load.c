/* fuzz/load: any bytes as a load for the simulator. What is accepted can be walked, within the limits. */
#include "base/limits.h"
#include "fuzz.h"
#include "sim/load_file.h"

static int walk(void *ctx, const struct load_place *p) {
    int64_t *left = ctx;
    struct buf name;
    buf_init(&name, 1 << 16);
    load_queue_name(p, &name);
    assert(name.n > 0 && p->index < p->queues->count);
    for (size_t i = 0; i < p->queues->n_sets; i++) {
        struct load_stream s = {.set = &p->queues->sets[i], .set_index = i};
        for (int k = 0; k < 16 && load_stream_next(&s, &name); k++) {
            assert(s.due_ms >= 0 && s.due_ms <= LIMIT_SIM_ARRIVALS_MS);
        }
    }
    buf_release(&name);
    return --*left < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct load_file l;
    int64_t left = 64;
    arena_init(&a, FUZZ_ARENA_BYTES);
    if (size <= FUZZ_INPUT_MAX && load_file_read(&a, fuzz_text(data, size), &l, NULL) == 0) {
        assert(l.total_queues <= LIMIT_SIM_QUEUES && l.total_workloads <= LIMIT_SIM_WORKLOADS);
        load_each_queue(&l, walk, &left);
    }
    arena_release(&a);
    return 0;
}

/* fuzz/trace: any bytes as a trace, in both forms. What is accepted is in order and within the limits. */
#include "sim/trace.h"

#include "base/limits.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct trace t;
    arena_init(&a, FUZZ_ARENA_BYTES);
    for (int form = TRACE_PLAIN; form <= TRACE_PHILLY && size <= FUZZ_INPUT_MAX; form++) {
        if (trace_read(&a, (enum trace_form)form, fuzz_text(data, size), &t, NULL) != 0) {
            continue;
        }
        for (size_t i = 0; i < t.n; i++) {
            const struct trace_job *j = &t.v[i];
            assert(j->submit_ns >= 0 && j->duration_ns >= 0 && j->queue.n && j->ns.n);
            assert(j->gpus >= 0 && j->gpus <= LIMIT_SIM_PODS);
            assert(i == 0 || t.v[i - 1].submit_ns <= j->submit_ns);
        }
    }
    arena_release(&a);
    return 0;
}

/* fuzz/modelconfig: any text as the config.json of a model. Layers that are taken add up, and sizes are sizes. */
#include "core/model/facts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct facts f;

    arena_init(&a, FUZZ_ARENA_BYTES);
    if (facts_of_config(&a, fuzz_text(data, size), &f, NULL) == 0) {
        int64_t n = 0;
        for (size_t i = 0; i < f.n_groups; i++) {
            assert(f.groups[i].count > 0 && f.groups[i].state_bytes >= 0 && f.groups[i].key >= 0);
            n += f.groups[i].count;
        }
        assert(f.layers > 0 && n >= f.layers && n <= 2 * f.layers);
        assert(f.parameters >= f.parameters_used && f.parameters_used >= 0 && f.weights >= 0);
    }
    arena_release(&a);
    return 0;
}

/* fuzz/config: any bytes as Kueue's Configuration. What is accepted has settings within their bounds. */
#include "control/admit/kueue_config.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kueue_config c;
    if (kueue_config_read(fuzz_text(data, size), &c, NULL) != 0) {
        return 0;
    }
    const struct queue_settings *s = &c.settings;
    assert(s->managed_namespaces != NULL);
    assert(s->ready.timeout_ns >= 0 && s->ready.recovery_timeout_ns >= 0);
    assert(s->ready.backoff_limit >= -1 && s->ready.backoff_base_s >= 0);
    assert(s->usage.half_life_ns >= 0 && s->usage.sampling_interval_ns > 0);
    assert(s->keep_finished_ns >= -1 && s->keep_deactivated_ns >= -1);
    for (size_t i = 0; i < s->usage.n_weights; i++) {
        assert(s->usage.weights[i].weight >= 0);
    }
    for (size_t i = 0; i < s->resources.n_transformations; i++) {
        assert(s->resources.transformations[i].input.n > 0);
    }
    for (size_t i = 0; i < c.n_warnings; i++) {
        assert(c.warnings[i].n > 0);
    }
    kueue_config_release(&c);
    return 0;
}

/* fuzz/metric: a format, a place and a body, each on its line: the number that the metrics-api trigger finds there. */
#include "core/scale/source_value.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str format, place, body, rest;
    struct arena a;
    double value;
    (void)str_cut(fuzz_text(data, size), '\n', &format, &rest);
    (void)str_cut(rest, '\n', &place, &body);
    arena_init(&a, FUZZ_ARENA_BYTES);
    (void)source_value(format, body, place, &a, &value, NULL);
    arena_release(&a);
    return 0;
}

/* fuzz/selector: any bytes as a label selector and as a field selector. */
#include "api/selector.h"
#include "fuzz.h"

static struct str get(void *ctx, struct str path) {
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct str_pair pairs[] = {
        {{"a", 1}, {"b", 1}}, {{"n", 1}, {"5", 1}}, {{"e", 1}, {"", 0}}};
    static const struct str_map labels = {pairs, 3};
    struct arena a;
    struct selector s;
    arena_init(&a, FUZZ_ARENA_BYTES);
    if (selector_parse(&a, fuzz_text(data, size), &s, NULL) == 0) {
        selector_matches(&s, &labels);
    }
    if (field_selector_parse(&a, fuzz_text(data, size), &s, NULL) == 0) {
        field_selector_matches(&s, get, NULL);
        field_selector_check(&s, NULL, NULL);
    }
    arena_release(&a);
    return 0;
}

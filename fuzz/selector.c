/* fuzz/selector: any bytes as a label selector and as a field selector. A label selector's canonical text means the
 * same. */
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
    struct buf b;
    struct selector s, again;
    arena_init(&a, FUZZ_ARENA_BYTES);
    buf_init(&b, 0);
    if (selector_parse(&a, fuzz_text(data, size), &s, NULL) == 0) {
        selector_write(&b, &s);
        int r = selector_parse(&a, buf_view(&b), &again, NULL);
        assert((r == 0 && again.n == s.n) || r == ERR_TOO_LARGE);
        assert(r != 0 || selector_matches(&s, &labels) == selector_matches(&again, &labels));
    }
    if (field_selector_parse(&a, fuzz_text(data, size), &s, NULL) == 0) {
        field_selector_matches(&s, get, NULL);
        field_selector_check(&s, NULL, NULL);
    }
    buf_release(&b);
    arena_release(&a);
    return 0;
}

/* Regular expressions: the pattern up to the first newline, the rest is the text. */
#include "wire/text/regex.h"
#include "base/limits.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str pattern, text;
    struct arena a;
    struct regex *re;
    size_t start = 0, end = 0, steps = LIMIT_REGEX_STEPS, more = LIMIT_REGEX_STEPS;
    (void)str_cut(str_from((const char *)data, size), '\n', &pattern, &text);
    if (text.n > 4096) {
        return 0;
    }
    arena_init(&a, 16 << 20);
    if (regex_new(&a, pattern, &re, NULL) == 0) {
        int any = regex_matches(re, text, &steps);
        int first = regex_find(re, text, 0, &more, &start, &end);
        assert(any == first || any < 0 || first < 0);
        assert(first != 1 || (start <= end && end <= text.n));
    }
    arena_release(&a);
    return 0;
}

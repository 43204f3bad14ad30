/* fuzz/formula: an expression of scalingModifiers over a, b and c. What parses runs, in bounded work, to the same
 * answer every time. */
#include "core/formula/formula.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct str names[] = {STR("a"), STR("b"), STR("c")};
    const struct formula_value values[] = {
        {names[0], 3, false}, {names[1], -0.5, false}, {names[2], 0, true}};
    struct arena a;
    struct formula *f;
    double first, second;
    bool first_nil, second_nil;
    int r;
    arena_init(&a, FUZZ_ARENA_BYTES);
    if (formula_parse(&a, fuzz_text(data, size), names, 3, &f, NULL) == 0) {
        r = formula_run(f, &a, values, 3, &first, &first_nil, NULL);
        assert(r == formula_run(f, &a, values, 3, &second, &second_nil, NULL));
        assert(r != 0 ||
               (first_nil == second_nil && (first_nil || first == second || first != first)));
    }
    arena_release(&a);
    return 0;
}

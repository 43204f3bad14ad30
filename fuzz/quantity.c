/* fuzz/quantity: any bytes as a quantity. Its text is canonical: it reads back as the same amount, and as the same
 * text. */
#include "wire/text/quantity.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct quantity q, back, sum;
    char text[QUANTITY_TEXT_MAX], again[QUANTITY_TEXT_MAX];
    if (quantity_parse(fuzz_text(data, size), &q, NULL) != 0) {
        return 0;
    }
    struct str s = quantity_text(q, text);
    assert(s.n < QUANTITY_TEXT_MAX);
    assert(quantity_parse(s, &back, NULL) == 0);
    assert(quantity_cmp(q, back) == 0);
    if (back.format == q.format) {
        assert(str_eq(s, quantity_text(back, again)));
    }
    sum = q;
    assert(quantity_sub(&sum, back) == 0 && quantity_is_zero(sum));
    assert(quantity_sign(q) == (quantity_milli(q) > 0) - (quantity_milli(q) < 0));
    return 0;
}

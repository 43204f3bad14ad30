/* fuzz/time: any bytes as an instant in both forms, and as a duration. What is read is written and read again equal. */
#include "wire/text/time.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str s = fuzz_text(data, size);
    char text[TIME_TEXT_MAX], duration[DURATION_TEXT_MAX];
    int64_t ns, again;
    if (time_parse(s, &ns, NULL) == 0) {
        assert(time_parse(time_text_nano(ns, text), &again, NULL) == 0 && again == ns);
    }
    if (time_parse_micro(s, &ns, NULL) == 0) {
        assert(time_parse_micro(time_text_micro(ns, text), &again, NULL) == 0 && again == ns);
    }
    if (duration_parse(s, &ns, NULL) == 0) {
        assert(duration_parse(duration_text(ns, duration), &again, NULL) == 0 && again == ns);
    }
    return 0;
}

/* fuzz/cron: a schedule. Its times come in order, in its zone's minutes, and the last of a span is the one that going
 * there one by one ends at. */
#include "wire/text/cron.h"
#include "base/limits.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct zone *z = zone_of_utc();
    const int64_t start = 1774746001;
    int64_t t = start, at, last;
    struct cron c;
    if (cron_parse(fuzz_text(data, size), &c, NULL) != 0) {
        return 0;
    }
    for (int i = 0; i < 50 && cron_next(&c, z, t, &at); i++) {
        assert(at > t && (c.every_s > 0 || at % 60 == 0));
        assert(!cron_latest(&c, z, t, at - 1, &last));
        assert(cron_latest(&c, z, start, at, &last) && last == at);
        t = at;
    }
    return 0;
}

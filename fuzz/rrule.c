/* fuzz/rrule: a rule, and after a newline a date. What is read is written and read again equal, and yields
 * occurrences in order; a jump ahead finds what going there one by one finds. */
#include "wire/text/rrule.h"
#include "base/limits.h"
#include "fuzz.h"

static void walk(const struct rrule *r) {
    const int64_t start = 1774746000, far = start + 86400 * 400;
    struct rrule_iter it;
    int64_t last = INT64_MIN, at, jumped, found = INT64_MIN;
    rrule_begin(&it, r, zone_of_utc(), start);
    for (int i = 0; i < 1000 && rrule_next(&it, &at); i++) {
        assert(at >= start && at > last && at % 86400 == start % 86400);
        last = at;
        if (at >= far && found == INT64_MIN) {
            found = at;
        }
    }
    rrule_begin(&it, r, zone_of_utc(), start);
    bool any = rrule_next_from(&it, far, &jumped);
    assert(found == INT64_MIN || (any && jumped == found));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str rule, date;
    struct rrule r, again;
    struct rrule_date d;
    struct buf text;
    buf_init(&text, 0);
    (void)str_cut(fuzz_text(data, size), '\n', &rule, &date);
    if (rrule_parse(rule, &r, NULL) == 0) {
        rrule_write(&r, &text);
        assert(rrule_parse(buf_view(&text), &again, NULL) == 0);
        assert(again.freq == r.freq && again.until == r.until && again.n_days == r.n_days);
        walk(&r);
    }
    if (rrule_date_parse(date, &d, NULL) == 0) {
        (void)rrule_date_is(&d, zone_of_utc(), d.at);
    }
    buf_release(&text);
    return 0;
}

/* fuzz/zone: any bytes as a time zone file. What is read answers for any instant, and readings of its clock lead
 * back. */
#include "wire/text/zone.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct zone *z = NULL;
    (void)zone_name_ok(fuzz_text(data, size));
    if (zone_parse(STR("Fuzz/Zone"), fuzz_text(data, size), &z, NULL) != 0) {
        return 0;
    }
    static const int64_t instants[] = {-9000000001, -2000000000, -1,         0,
                                       951782400,   1774746000,  1792890000, 2147483647,
                                       4102444800,  8999999999};
    for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++) {
        struct zone_at at = zone_at(z, instants[i]);
        enum zone_fit fit;
        int64_t utc = zone_utc(z, instants[i], &fit);
        assert(at.from <= instants[i] && instants[i] < at.until);
        assert(at.abbr.n > 0 && at.abbr.n <= ZONE_ABBR_MAX);
        assert(fit == ZONE_GAP || zone_local(z, utc) == instants[i]);
        assert(zone_utc(z, instants[i] + at.offset, &fit) <= instants[i] && fit != ZONE_GAP);
    }
    zone_free(z);
    return 0;
}

/* Tests of zone: placeholders while it is being built. */
#include "base/test.h"
#include "base/zoneinfo.h"
#include "wire/time.h"
#include "wire/zone.h"

static void test_warsaw(void **state) {
    struct zones *zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    const struct zone *z;
    struct err err = {0};
    enum zone_fit fit;
    char text[ZONE_TEXT_MAX];
    assert_ok(zones_get(zones, STR("Europe/Warsaw"), &z, &err), &err);
    assert_str_eq(zone_text(z, 0, text), STR("1970-01-01T01:00:00+01:00"));
    int64_t at = zone_utc(z, time_join(2026, 3, 29, 2, 30, 0), &fit);
    assert_int_equal(fit, ZONE_GAP);
    assert_str_eq(zone_text(z, at, text), STR("2026-03-29T03:30:00+02:00"));
    at = zone_utc(z, time_join(2026, 10, 25, 2, 30, 0), &fit);
    assert_int_equal(fit, ZONE_TWICE);
    assert_str_eq(zone_text(z, at, text), STR("2026-10-25T02:30:00+02:00"));
    zones_free(zones);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_warsaw)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of reservation_check: what the tables and rules of booking refuse, and the words they use. */
#include "base/test.h"

#include "api/schema/codec.h"

#define BERTH "berth.dev/v1alpha1"
#define ODH "infrastructure.opendatahub.io/v1"
#define OBJECT(spec_) "{\"metadata\":{\"name\":\"x\",\"namespace\":\"p\"},\"spec\":{" spec_ "}}"
#define TIMES "\"start\":\"2026-11-23T09:00:00Z\",\"end\":\"2026-11-23T13:00:00Z\","
#define LINES "\"lines\":[{\"resource\":\"nvidia.com/gpu\"}]"

struct rule_case {
    const char *api_version, *kind, *now, *want;
};

static const struct rule_case cases[] = {
    {BERTH, "Reservation", OBJECT(TIMES LINES), ""},
    {BERTH, "Reservation", OBJECT(TIMES "\"lines\":[]"),
     "spec.lines: Invalid value: []: spec.lines in body should have at least 1 items\n"},
    {BERTH, "Reservation",
     OBJECT(TIMES "\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":0}]"),
     "spec.lines[0].count: Invalid value: 0: spec.lines[0].count in body should be greater than or "
     "equal to 1\n"},
    {BERTH, "ReservationPolicy", OBJECT("\"daysAhead\":0"),
     "spec.daysAhead: Invalid value: 0: spec.daysAhead in body should be greater than or equal to "
     "1\n"},
    {BERTH, "Reservation", OBJECT(LINES), "spec.start: Required value\nspec.end: Required value\n"},
    {BERTH, "Reservation",
     OBJECT("\"start\":\"2026-11-23T09:00:00Z\",\"end\":\"2026-11-23T09:00:00Z\"," LINES),
     "spec.end: Invalid value: \"2026-11-23T09:00:00Z\": must be after start\n"},
    {BERTH, "Reservation",
     OBJECT(TIMES "\"lines\":[{\"resource\":\"cpu\",\"flavor\":\"a\",\"anyOf\":[\"b\"]}]"),
     "spec.lines[0].resource: Invalid value: \"cpu\": must be a device such as nvidia.com/gpu or "
     "nvidia.com/mig-2g.35gb\nspec.lines[0].anyOf: Forbidden: may not be given together with "
     "flavor\n"},
    {BERTH, "Reservation", OBJECT(TIMES LINES ",\"timeZone\":\"../etc/passwd\""),
     "spec.timeZone: Invalid value: \"../etc/passwd\": must be the name of a time zone, such as "
     "Europe/Warsaw\n"},
    {BERTH, "Reservation",
     OBJECT(TIMES LINES ",\"flexible\":{\"earliest\":\"2026-11-23T10:00:00Z\","
                        "\"latest\":\"2026-11-23T12:00:00Z\",\"minDuration\":\"5h\"}"),
     "spec.flexible.earliest: Invalid value: \"2026-11-23T10:00:00Z\": must not be after start\n"
     "spec.flexible.latest: Invalid value: \"2026-11-23T12:00:00Z\": must not be before end\n"
     "spec.flexible.minDuration: Invalid value: \"5h\": must be longer than nothing, and no longer "
     "than from start to end\n"},
    {BERTH, "Reservation", OBJECT(TIMES LINES ",\"approval\":{\"decision\":\"reject\"}"),
     "spec.approval.reason: Required value: say why it is rejected\n"},
    {BERTH, "ReservationCheck", OBJECT(TIMES LINES ",\"name\":\"old\""), ""},
    {BERTH, "ReservationPolicy", "{\"metadata\":{\"name\":\"default\"}}", ""},
    {BERTH, "ReservationPolicy", OBJECT("\"granularity\":\"7m\",\"warnings\":[\"x\"]"),
     "spec.granularity: Invalid value: \"7m\": must be at least 1m and divide a day\n"
     "spec.warnings[0]: Invalid value: \"x\": must be a duration such as 30m\n"},
    {BERTH, "CapacityWindow",
     OBJECT(TIMES "\"type\":\"Maintenance\",\"nodes\":[\"n\"],\"flavor\":\"f\""),
     "spec.nodes: Forbidden: may not be given together with flavor or resource\n"},
    {BERTH, "CapacityWindow", OBJECT("\"start\":\"2026-11-23T09:00:00Z\",\"type\":\"Added\""),
     "spec.flavor: Required value: what is added has a flavor\n"
     "spec.resource: Required value: what is added is a resource\n"
     "spec.count: Required value: say how many are added\n"},
    {BERTH, "ReservationSeries",
     OBJECT("\"start\":\"2026-11-23T09:00:00\",\"duration\":\"0s\",\"rrule\":\"FREQ=DAILY\","
            "\"template\":{" LINES "}"),
     "spec.duration: Invalid value: \"0s\": must be longer than nothing\n"},
    {BERTH, "ReservationSeries",
     OBJECT("\"start\":\"9 o'clock\",\"duration\":\"1h\",\"rrule\":\"FREQ=WEEKLY;BYDAY=1MO\","
            "\"exdates\":[\"2026-11-30\",\"x\"],\"template\":{" LINES "}"),
     "spec.rrule: Invalid value: \"FREQ=WEEKLY;BYDAY=1MO\": BYDAY=1MO: only FREQ=MONTHLY counts "
     "weekdays\n"
     "spec.start: Invalid value: \"9 o'clock\": must be a local time such as "
     "2026-11-23T09:00:00\n"
     "spec.exdates[1]: Invalid value: \"x\": must be a local start such as 2026-11-30T09:00:00, "
     "or a day\n"},
    {BERTH, "CalendarFeed", OBJECT("\"scope\":\"resource\""),
     "spec.resource: Required value: a feed of a resource names it\n"},
    {ODH, "HardwareProfile",
     OBJECT("\"identifiers\":[{\"displayName\":\"GPU\",\"identifier\":\"nvidia.com/gpu\","
            "\"minCount\":1,\"defaultCount\":1,\"maxCount\":0}]"),
     "spec.identifiers[0].maxCount: Invalid value: 0: must be greater than or equal to minCount\n"
     "spec.identifiers[0].defaultCount: Invalid value: 1: must be between minCount and maxCount\n"},
    {ODH, "HardwareProfile",
     OBJECT("\"identifiers\":[{\"displayName\":\"Memory\",\"identifier\":\"memory\","
            "\"minCount\":\"2Gi\",\"defaultCount\":\"4Gi\"}],\"scheduling\":{\"type\":\"Queue\","
            "\"node\":{}}"),
     "spec.scheduling.kueue: Required value: type Queue needs it\n"
     "spec.scheduling.node: Forbidden: may not be set when type is Queue\n"},
    {ODH, "HardwareProfile",
     OBJECT("\"scheduling\":{\"type\":\"Node\",\"kueue\":{\"localQueueName\":\"q\"}}"),
     "spec.scheduling.node: Required value: type Node needs it\n"
     "spec.scheduling.kueue: Forbidden: may not be set when type is Node\n"},
};

static void rules(void **state) {
    struct arena a;
    struct err err = {0};
    (void)state;
    arena_init(&a, 16 << 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct kind *k =
            kind_by_api_version(str_of(cases[i].api_version), str_of(cases[i].kind));
        struct causes causes = {.arena = &a};
        yyjson_mut_doc *d = NULL;
        struct buf b;
        assert_non_null(k);
        assert_ok(json_parse_mut(&a, str_of(cases[i].now), &d, &err), &err);
        assert_ok(codec_default(k, d, &err), &err);
        assert_int_equal(codec_validate(k, yyjson_mut_doc_get_root(d), NULL, &causes), 0);
        buf_init(&b, 0);
        for (size_t c = 0; c < causes.n; c++) {
            buf_f(&b, "%.*s: %.*s\n", STR_ARG(causes.v[c].field), STR_ARG(causes.v[c].text));
        }
        assert_str_eq(buf_view(&b), str_of(cases[i].want));
        buf_release(&b);
    }
    arena_release(&a);
}

/* What a policy says when it says nothing. */
static void policy_defaults(void **state) {
    struct arena a;
    struct err err = {0};
    yyjson_mut_doc *d = NULL;
    const struct kind *k = kind_by_api_version(STR(BERTH), STR("ReservationPolicy"));
    (void)state;
    arena_init(&a, 16 << 20);
    assert_ok(json_parse_mut(&a, STR("{\"metadata\":{\"name\":\"default\"}}"), &d, &err), &err);
    assert_ok(codec_default(k, d, &err), &err);
    yyjson_mut_val *spec = json_mget(yyjson_mut_doc_get_root(d), STR("spec"));
    assert_str_eq(json_mstr_at(spec, "pool.cohort"), STR("pool"));
    assert_str_eq(json_mstr_at(spec, "granularity"), STR("15m"));
    assert_str_eq(json_mstr_at(spec, "noShow.action"), STR("warn"));
    assert_str_eq(json_mstr_at(spec, "overstay"), STR("2h"));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(policy_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

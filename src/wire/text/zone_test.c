/* Tests of zone: real zones at known changes, rules after the table, gaps and hours that come twice, files that are
 * none. Python's zoneinfo is asked about many more instants by tests/calendar. */
#include "base/mem.h"
#include "base/prng.h"
#include "base/test.h"
#include "base/zoneinfo.h"
#include "wire/text/time.h"
#include "wire/text/zone.h"

static struct zones *zones;

static int setup(void **state) {
    zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    return zones ? 0 : -1;
}

static int teardown(void **state) {
    zones_free(zones);
    return 0;
}

static const struct zone *zone(const char *name) {
    const struct zone *z = NULL;
    struct err err = {0};
    assert_ok(zones_get(zones, str_of(name), &z, &err), &err);
    return z;
}

static int64_t local(const char *text) {
    int64_t ret = 0;
    struct err err = {0};
    assert_ok(zone_parse_local(str_of(text), &ret, &err), &err);
    return ret;
}

static void test_local_to_instant(void **state) {
    static const struct {
        const char *zone, *local;
        enum zone_fit fit;
        const char *shown;
    } cases[] = {
        {"UTC", "2026-03-29T02:30:00", ZONE_ONCE, "2026-03-29T02:30:00+00:00"},
        {"Europe/Warsaw", "2026-01-15T09:00:00", ZONE_ONCE, "2026-01-15T09:00:00+01:00"},
        {"Europe/Warsaw", "2026-03-29T01:59:59", ZONE_ONCE, "2026-03-29T01:59:59+01:00"},
        {"Europe/Warsaw", "2026-03-29T02:00:00", ZONE_GAP, "2026-03-29T03:00:00+02:00"},
        {"Europe/Warsaw", "2026-03-29T02:30:00", ZONE_GAP, "2026-03-29T03:30:00+02:00"},
        {"Europe/Warsaw", "2026-03-29T03:00:00", ZONE_ONCE, "2026-03-29T03:00:00+02:00"},
        {"Europe/Warsaw", "2026-10-25T02:00:00", ZONE_TWICE, "2026-10-25T02:00:00+02:00"},
        {"Europe/Warsaw", "2026-10-25T02:59:59", ZONE_TWICE, "2026-10-25T02:59:59+02:00"},
        {"Europe/Warsaw", "2026-10-25T03:00:00", ZONE_ONCE, "2026-10-25T03:00:00+01:00"},
        {"Europe/Warsaw", "2126-07-01T12:00:00", ZONE_ONCE, "2126-07-01T12:00:00+02:00"},
        {"America/New_York", "2007-03-11T02:30:00", ZONE_GAP, "2007-03-11T03:30:00-04:00"},
        {"America/New_York", "2007-11-04T01:30:00", ZONE_TWICE, "2007-11-04T01:30:00-04:00"},
        {"Australia/Lord_Howe", "2026-10-04T02:10:00", ZONE_GAP, "2026-10-04T02:40:00+11:00"},
        {"Australia/Lord_Howe", "2026-04-05T01:45:00", ZONE_TWICE, "2026-04-05T01:45:00+11:00"},
        {"Asia/Kathmandu", "2026-06-01T12:00:00", ZONE_ONCE, "2026-06-01T12:00:00+05:45"},
        {"America/Sao_Paulo", "2018-11-04T00:30:00", ZONE_GAP, "2018-11-04T01:30:00-02:00"},
        {"America/Sao_Paulo", "2026-11-04T00:30:00", ZONE_ONCE, "2026-11-04T00:30:00-03:00"},
        {"Africa/Casablanca", "2025-03-10T12:00:00", ZONE_ONCE, "2025-03-10T12:00:00+00:00"},
        {"Africa/Casablanca", "2025-05-10T12:00:00", ZONE_ONCE, "2025-05-10T12:00:00+01:00"},
        {"Pacific/Apia", "2011-12-30T12:00:00", ZONE_GAP, "2011-12-31T12:00:00+14:00"},
        {"Pacific/Apia", "2011-12-29T23:59:59", ZONE_ONCE, "2011-12-29T23:59:59-10:00"},
        {"Europe/Dublin", "2026-07-01T12:00:00", ZONE_ONCE, "2026-07-01T12:00:00+01:00"},
        {"Europe/Dublin", "2100-01-01T12:00:00", ZONE_ONCE, "2100-01-01T12:00:00+00:00"},
        {"America/St_Johns", "2026-01-01T00:00:00", ZONE_ONCE, "2026-01-01T00:00:00-03:30"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct zone *z = zone(cases[i].zone);
        enum zone_fit fit;
        char text[ZONE_TEXT_MAX];
        int64_t utc = zone_utc(z, local(cases[i].local), &fit);
        assert_str_eq(zone_text(z, utc, text), str_of(cases[i].shown));
        assert_int_equal(fit, cases[i].fit);
    }
}

static void test_what_a_zone_says(void **state) {
    const struct zone *z = zone("Europe/Warsaw");
    struct zone_at at = zone_at(z, time_join(2026, 7, 1, 0, 0, 0));
    assert_true(at.dst && at.offset == 7200);
    assert_str_eq(at.abbr, STR("CEST"));
    assert_true(at.from == time_join(2026, 3, 29, 1, 0, 0));
    assert_true(at.until == time_join(2026, 10, 25, 1, 0, 0));
    at = zone_at(z, at.until);
    assert_true(!at.dst && at.offset == 3600);
    assert_str_eq(at.abbr, STR("CET"));
    at = zone_at(z, time_join(2126, 7, 1, 0, 0, 0)); /* by the rule: the table ends before */
    assert_true(at.dst && at.from == time_join(2126, 3, 31, 1, 0, 0));
    assert_true(at.until == time_join(2126, 10, 27, 1, 0, 0));
    at = zone_at(zone("Asia/Kathmandu"), time_join(2026, 7, 1, 0, 0, 0));
    assert_true(at.until == INT64_MAX && at.offset == 20700);
    assert_str_eq(at.abbr, STR("+0545"));
    at = zone_at(zone_of_utc(), 0);
    assert_true(at.from == INT64_MIN && at.until == INT64_MAX && at.offset == 0);
    assert_true(zones_version(zones).n >= 5);
}

/* What is read off a clock leads back to an instant that shows it, the earliest one. */
static void test_there_and_back(void **state) {
    static const char *const names[] = {"Europe/Warsaw",       "America/New_York",  "Pacific/Apia",
                                        "Australia/Lord_Howe", "Africa/Casablanca", "Europe/Dublin",
                                        "Asia/Kathmandu",      "America/Sao_Paulo", "Etc/GMT+12"};
    struct prng p;
    prng_seed(&p, 7);
    for (size_t i = 0; i < 9; i++) {
        const struct zone *z = zone(names[i]);
        for (int n = 0; n < 20000; n++) {
            int64_t utc = (int64_t)(prng_below(&p, UINT64_C(9000000000))) - 2000000000;
            struct zone_at at = zone_at(z, utc);
            enum zone_fit fit;
            int64_t back = zone_utc(z, utc + at.offset, &fit);
            assert_true(at.from <= utc && utc < at.until);
            assert_int_not_equal(fit, ZONE_GAP);
            assert_true(back <= utc && zone_local(z, back) == utc + at.offset);
            assert_true(fit == ZONE_TWICE || back == utc);
        }
    }
}

static void test_names(void **state) {
    static const char *const good[] = {"Europe/Warsaw", "America/Argentina/Ushuaia",
                                       "Etc/GMT+12",    "GMT-0",
                                       "EST5EDT",       "America/Port-au-Prince"};
    static const char *const bad[] = {
        "",          "/etc/passwd", "../etc/passwd", "Europe/..", "Europe/",       "Europe//Warsaw",
        "posix/UTC", "right/UTC",   "localtime",     "Europe ",   "Europe/\nA",    "a/b/c/d",
        "1/2",       "posixrules",  "tzdata.zi",     "posix",     "Europe/War.saw"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(zone_name_ok(str_of(good[i])));
        zone(good[i]);
    }
    const struct zone *z = NULL;
    struct err err = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(zone_name_ok(str_of(bad[i])));
        if (bad[i][0]) {
            assert_int_equal(zones_get(zones, str_of(bad[i]), &z, &err), ERR_INVALID);
        }
    }
    assert_int_equal(zones_get(zones, STR("europe/warsaw"), &z, &err), ERR_INVALID);
    assert_true(str_contains(str_of(err.text), STR("\"europe/warsaw\"")));
    assert_int_equal(zones_get(zones, STR("America"), &z, NULL), ERR_INVALID); /* a folder */
    assert_int_equal(zones_get(zones, STR("Nowhere/Here"), &z, NULL), ERR_INVALID);
    assert_null(z);
    assert_int_equal(zones_get(zones, STR(""), &z, NULL), 0);
    assert_true(z == zone_of_utc() && zone("Etc/UTC") == z);
    assert_true(zone("Europe/Warsaw") == zone("Europe/Warsaw")); /* read once */
}

static void test_without_source(void **state) {
    struct zones *none = zones_new(NULL);
    const struct zone *z = NULL;
    assert_non_null(none);
    assert_int_equal(zones_get(none, STR("UTC"), &z, NULL), 0);
    assert_int_equal(zones_get(none, STR("Europe/Warsaw"), &z, NULL), ERR_INVALID);
    assert_str_eq(zones_version(none), STR(""));
    zones_free(none);
    zones_free(NULL);
}

/* ---- files ---- */

static void put32(struct buf *b, uint32_t v) {
    char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    buf_add(b, bytes, 4);
}

struct file {
    char version;
    uint32_t leap, n_times, n_types;
    int64_t times[3];
    uint8_t which[3];
    int32_t offsets[2];
    uint8_t abbr[2];
    const char *chars;
    size_t n_chars;
    const char *foot;
};

static const struct file plain = {.version = '2',
                                  .n_times = 1,
                                  .n_types = 2,
                                  .times = {1000},
                                  .which = {1},
                                  .offsets = {0, 3600},
                                  .abbr = {0, 4},
                                  .chars = "AAA\0BBB",
                                  .n_chars = 8,
                                  .foot = "\nBBB-1\n"};

static void header(struct buf *b, const struct file *f, bool full) {
    buf_c(b, "TZif");
    buf_ch(b, f->version);
    buf_add(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    put32(b, 0);
    put32(b, 0);
    put32(b, full ? f->leap : 0);
    put32(b, full ? f->n_times : 0);
    put32(b, full ? f->n_types : 0);
    put32(b, full ? (uint32_t)f->n_chars : 0);
}

static int parse(const struct file *f, struct zone **ret, struct err *err) {
    struct buf b;
    buf_init(&b, 0);
    header(&b, f, false);
    header(&b, f, true);
    for (size_t i = 0; i < f->n_times && i < 3; i++) {
        put32(&b, (uint32_t)((uint64_t)f->times[i] >> 32));
        put32(&b, (uint32_t)f->times[i]);
    }
    buf_add(&b, f->which, f->n_times < 3 ? f->n_times : 3);
    for (size_t i = 0; i < f->n_types && i < 2; i++) {
        put32(&b, (uint32_t)f->offsets[i]);
        buf_ch(&b, 0);
        buf_ch(&b, (char)f->abbr[i]);
    }
    buf_add(&b, f->chars, f->n_chars);
    for (uint32_t i = 0; i < f->leap; i++) {
        buf_add(&b, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    }
    buf_c(&b, f->foot);
    int code = zone_parse(STR("Test/Zone"), buf_view(&b), ret, err);
    buf_release(&b);
    return code;
}

static void test_broken_files(void **state) {
    struct zone *z = NULL;
    struct err err = {0};
    assert_ok(parse(&plain, &z, &err), &err);
    assert_true(zone_at(z, 999).offset == 0 && zone_at(z, 1000).offset == 3600);
    assert_str_eq(zone_name(z), STR("Test/Zone"));
    zone_free(z);
    z = NULL;
    static const char *const feet[] = {"",
                                       "\n",
                                       "BBB-1\n",
                                       "\nBBB-1",
                                       "\nBB-1\n",
                                       "\nBBB\n",
                                       "\nBBB-25\n",
                                       "\nBBB-1CCC\n",
                                       "\nBBB-1CCC,M3.5.0\n",
                                       "\nBBB-1CCC,M3.5.0,M13.5.0\n",
                                       "\nBBB-1CCC,M3.6.0,M10.5.0\n",
                                       "\nBBB-1CCC,M3.5.7,M10.5.0\n",
                                       "\nBBB-1CCC,J0,J365\n",
                                       "\nBBB-1CCC,366,1\n",
                                       "\nBBB-1CCC,M3.5.0,M10.5.0/168\n",
                                       "\n<B+B-1\n",
                                       "\nBBB-1CCC,M3.5.0,M10.5.0x\n",
                                       "\nBBB-1:60\n"};
    for (size_t i = 0; i < sizeof(feet) / sizeof(feet[0]); i++) {
        struct file f = plain;
        f.foot = feet[i];
        assert_int_equal(parse(&f, &z, NULL), ERR_SYNTAX);
    }
    struct file bad[] = {plain, plain, plain, plain, plain, plain, plain, plain};
    bad[0].version = 0;
    bad[1].n_types = 0;
    bad[2].which[0] = 2;
    bad[3].n_times = 2; /* not in order */
    bad[4].offsets[1] = 27 * 3600;
    bad[5].abbr[1] = 8;
    bad[6].n_times = 100000;
    bad[7].n_chars = 7; /* the abbreviation does not end */
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(&bad[i], &z, NULL), ERR_SYNTAX);
    }
    struct file leap = plain;
    leap.leap = 1;
    assert_int_equal(parse(&leap, &z, NULL), ERR_UNSUPPORTED);
    assert_null(z);
}

static void test_rules(void **state) {
    static const struct {
        const char *foot, *utc, *shown;
    } cases[] = {
        {"\nBBB-1\n", "2090-07-01T00:00", "2090-07-01T01:00:00+01:00"},
        {"\n\n", "2090-07-01T00:00", "2090-07-01T01:00:00+01:00"},
        {"\n<-03>3<-02>,M3.5.0/-2,M10.5.0/-1\n", "2090-03-26T01:00", "2090-03-25T23:00:00-02:00"},
        {"\n<-03>3<-02>,M3.5.0/-2,M10.5.0/-1\n", "2090-03-26T00:59", "2090-03-25T21:59:00-03:00"},
        {"\nIST-2IDT,M3.4.4/26,M10.5.0\n", "2090-03-23T23:59", "2090-03-24T01:59:00+02:00"},
        {"\nIST-2IDT,M3.4.4/26,M10.5.0\n", "2090-03-24T00:00", "2090-03-24T03:00:00+03:00"},
        {"\nAAA0BBB,J60/0,J300/0\n", "2088-03-01T00:00", "2088-03-01T01:00:00+01:00"},
        {"\nAAA0BBB,J60/0,J300/0\n", "2088-02-29T23:59", "2088-02-29T23:59:00+00:00"},
        {"\nAAA0BBB,59/0,299/0\n", "2088-02-29T00:00", "2088-02-29T01:00:00+01:00"},
        {"\nXXX3EDT4,0/0,J365/23\n", "2090-01-01T02:59", "2089-12-31T22:59:00-04:00"},
        {"\nXXX3EDT4,0/0,J365/23\n", "2090-01-01T03:00", "2089-12-31T23:00:00-04:00"},
        {"\nXXX3EDT4,0/0,J365/23\n", "2090-07-01T03:00", "2090-06-30T23:00:00-04:00"},
        {"\nNZST-12NZDT,M9.5.0,M4.1.0/3\n", "2090-12-31T23:00", "2091-01-01T12:00:00+13:00"},
        {"\nNZST-12NZDT,M9.5.0,M4.1.0/3\n", "2090-06-30T23:00", "2090-07-01T11:00:00+12:00"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct file f = plain;
        struct zone *z = NULL;
        struct err err = {0};
        char text[ZONE_TEXT_MAX];
        f.foot = cases[i].foot;
        assert_ok(parse(&f, &z, &err), &err);
        int64_t utc = local(cases[i].utc);
        assert_str_eq(zone_text(z, utc, text), str_of(cases[i].shown));
        struct zone_at at = zone_at(z, utc);
        assert_true(at.from <= utc && utc < at.until);
        zone_free(z);
    }
}

static void test_texts(void **state) {
    int64_t at = 0;
    char text[ZONE_TEXT_MAX];
    assert_int_equal(zone_parse_local(STR("2026-11-23 09:05"), &at, NULL), 0);
    assert_str_eq(zone_local_text(at, text), STR("2026-11-23T09:05:00"));
    static const char *const bad[] = {"",
                                      "2026-11-23",
                                      "2026-11-23T09",
                                      "2026-11-23T09:00:00Z",
                                      "2026-11-23T09:00:0",
                                      "2026-02-30T09:00:00",
                                      "2026-11-23T24:00:00",
                                      "2026-11-23x09:00:00"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(zone_parse_local(str_of(bad[i]), &at, NULL), ERR_SYNTAX);
    }
    char offset[ZONE_OFFSET_TEXT_MAX];
    assert_str_eq(zone_offset_text(-12600, offset), STR("-03:30"));
    assert_str_eq(zone_offset_text(0, offset), STR("+00:00"));
}

static void test_no_memory(void **state) {
    for (uint64_t nth = 1; nth < 20; nth++) {
        struct zones *z = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
        const struct zone *got = NULL;
        mem_fault(nth, 0);
        int code = zones_get(z, STR("Europe/Warsaw"), &got, NULL);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(hit ? code == ERR_NOMEM && !got : code == 0 && got);
        zones_free(z);
    }
}

static void test_own_zone(void **state) {
    char name[ZONEINFO_NAME_MAX];
    setenv("TZ", ":Asia/Kathmandu", 1);
    assert_str_eq(zoneinfo_local(name), STR("Asia/Kathmandu"));
    setenv("TZ", "/usr/share/zoneinfo/posix/Europe/Warsaw", 1);
    assert_str_eq(zoneinfo_local(name), STR("Europe/Warsaw"));
    unsetenv("TZ");
    assert_true(zoneinfo_local(name).n > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_to_instant),
        cmocka_unit_test(test_what_a_zone_says),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_without_source),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_own_zone),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

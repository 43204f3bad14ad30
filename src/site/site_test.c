/* Tests of health and metrics. */
#include "base/test.h"
#include "site/health.h"
#include "site/metrics.h"

static int sick(void *ctx, struct err *err) {
    return *(int *)ctx;
}

static const char *report(const struct health *h, const char *path, struct str only,
                          struct str exclude, bool verbose, bool want) {
    static char text[1024];
    struct buf b;
    buf_init(&b, sizeof text - 1);
    assert_int_equal(health_report(h, path, only, exclude, verbose, &b, NULL), want);
    assert_true(str_copy(buf_view(&b), text, sizeof text));
    buf_release(&b);
    return text;
}

static void health_says_what_fails(void **state) {
    int code = 0;
    struct health *h = health_new();
    const struct str none = {0};
    assert_int_equal(health_add(h, HEALTH_READY, "store", sick, &code), 0);
    assert_string_equal(report(h, "readyz", none, none, false, true), "ok");
    assert_string_equal(report(h, "readyz", none, none, true, true),
                        "[+]ping ok\n[+]store ok\nreadyz check passed\n");
    code = ERR_UNAVAILABLE;
    assert_string_equal(report(h, "readyz", none, none, false, false),
                        "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n");
    assert_string_equal(report(h, "livez", none, none, false, true), "ok");
    assert_string_equal(report(h, "readyz", none, STR("store"), true, true),
                        "[+]ping ok\n[+]store excluded: ok\nreadyz check passed\n");
    assert_string_equal(report(h, "readyz", STR("ping"), none, false, true), "ok");
    report(h, "healthz", STR("store"), none, false, false);
    struct buf b;
    bool unknown = false;
    buf_init(&b, 0);
    assert_false(health_report(h, "livez", STR("store"), none, false, &b, &unknown));
    assert_true(unknown);
    buf_release(&b);
    health_free(h);
}

static int64_t now(struct clock *c) {
    return INT64_C(1700000000) * NS_PER_SEC;
}

static void metrics_speak_of_the_process(void **state) {
    struct clock clock = {.wall_ns = now, .mono_ns = now};
    struct mirror *mirror = mirror_new(&(struct mirror_options){.clock = &clock});
    struct metrics *m = metrics_new(mirror, &clock);
    struct buf b;
    buf_init(&b, 0);
    prom_write(metrics_prom(m), &b);
    const char *text = buf_cstr(&b);
    assert_non_null(strstr(text, "process_resident_memory_bytes "));
    assert_null(strstr(text, "process_resident_memory_bytes 0\n"));
    assert_non_null(strstr(text, "process_start_time_seconds 1.7e+09\n"));
    assert_non_null(strstr(text, "apiserver_storage_objects{resource=\"pods\"} 0\n"));
    assert_non_null(strstr(text, "apiserver_storage_objects{resource=\"jobs.batch\"} 0\n"));
    buf_release(&b);
    metrics_free(m);
    mirror_free(mirror);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_says_what_fails),
        cmocka_unit_test(metrics_speak_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

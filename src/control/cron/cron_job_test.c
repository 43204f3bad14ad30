/*
 * Tests of the CronJob controller: times and zones, what happens when the Job before still runs, times that went by
 * unseen, clocks that are set, what is kept, and writes that are refused, lost or met by a conflict.
 */
#include "control/cron/cron_job.h"

#include "base/test.h"
#include "base/zoneinfo.h"
#include "control/test/fake_world.h"
#include "wire/text/zone.h"

static struct fake_world w;
static struct controller *c;
static struct zones *zones;

static void begin(void) {
    struct err err = {0};
    c = controller_new(&cron_job_controller, &w.env, &err);
    assert_non_null(c);
}

static int setup(void **state) {
    fake_world_init(&w);
    zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    w.env.zones = zones;
    begin();
    return 0;
}

static int teardown(void **state) {
    controller_free(c);
    fake_world_release(&w);
    zones_free(zones);
    return 0;
}

static void put(const char *spec) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"c\","
             "\"namespace\":\"default\"},\"spec\":{%s,\"jobTemplate\":{\"metadata\":{\"labels\":{"
             "\"kueue.x-k8s.io/queue-name\":\"q\"},\"annotations\":{\"a\":\"b\"}},\"spec\":{"
             "\"backoffLimit\":2,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
             "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}}}",
             spec);
    fake_world_put(&w, json);
}

static const struct object *cron(void) {
    return fake_world_get(&w, "CronJob", "default", "c");
}

static size_t jobs(void) {
    return fake_world_count(&w, "Job");
}

static bool keep_name(void *ctx, const struct object *o) {
    struct buf *b = ctx;
    buf_f(b, "%s%.*s", b->n ? " " : "", STR_ARG(str_skip(o->name, 2)));
    return true;
}

/* The minutes in the names of all Jobs, in order. */
static void assert_jobs(const char *want) {
    struct buf b;
    buf_init(&b, 0);
    mirror_scan(w.mirror, fake_world_kind("Job"), STR(""), keep_name, &b);
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

static void finish(const char *name, const char *how) {
    char json[512];
    snprintf(
        json, sizeof json,
        "{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\",\"completionTime\":\"2026-01-01T00:"
        "00:07Z\",\"conditions\":[{\"type\":\"%s\",\"status\":\"True\"}]}}",
        how);
    fake_world_patch(&w, "Job", "default", name, "status", json);
    fake_world_run(&w, NS_PER_SEC);
}

/* 2026-01-01T00:00:00Z is minute 29453760. */
static void a_job_each_minute(void **state) {
    put("\"schedule\":\"* * * * *\"");
    fake_world_run(&w, 59 * NS_PER_SEC);
    assert_int_equal(jobs(), 0);
    fake_world_run(&w, 2 * NS_PER_SEC);
    assert_jobs("29453761");
    const struct object *j = fake_world_get(&w, "Job", "default", "c-29453761");
    assert_str_eq(object_label(j, STR("kueue.x-k8s.io/queue-name")), STR("q"));
    assert_string_equal(fake_world_text(j, "metadata.annotations"),
                        "{\"a\":\"b\",\"batch.kubernetes.io/cronjob-scheduled-timestamp\":"
                        "\"2026-01-01T00:01:00Z\"}");
    assert_string_equal(fake_world_text(j, "spec.backoffLimit"), "2");
    assert_true(object_controller(j)->block);
    assert_string_equal(fake_world_text(cron(), "status.active.0.name"), "c-29453761");
    assert_string_equal(fake_world_text(cron(), "status.lastScheduleTime"), "2026-01-01T00:01:00Z");
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_jobs("29453761 29453762"); /* Allow */
    assert_int_equal(fake_world_events(&w, "SuccessfulCreate"), 2);
    finish("c-29453761", "Complete");
    assert_string_equal(fake_world_text(cron(), "status.active.0.name"), "c-29453762");
    assert_string_equal(fake_world_text(cron(), "status.lastSuccessfulTime"),
                        "2026-01-01T00:00:07Z");
    assert_int_equal(fake_world_events(&w, "SawCompletedJob"), 1);
    uint64_t writes = w.writes;
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);
}

/* Its Job has ended before the status could say that it is active. */
static void a_job_that_ends_at_once(void **state) {
    put("\"schedule\":\"* * * * *\"");
    for (int i = 0; i < 70000 && jobs() == 0; i++) {
        fake_world_run(&w, NS_PER_MS);
    }
    controller_free(c);
    assert_string_equal(fake_world_text(cron(), "status.lastScheduleTime"), "");
    finish("c-29453761", "Complete");
    begin();
    fake_world_run(&w, NS_PER_SEC);
    assert_string_equal(fake_world_text(cron(), "status.lastScheduleTime"), "2026-01-01T00:01:00Z");
    assert_string_equal(fake_world_text(cron(), "status.active"), "");
    assert_int_equal(fake_world_events(&w, "SawCompletedJob"), 1);
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "SawCompletedJob"), 1);
}

static void at_nine_in_warsaw(void **state) {
    put("\"schedule\":\"0 9 * * *\",\"timeZone\":\"Europe/Warsaw\"");
    fake_world_run(&w, (8 * 3600 - 1) * NS_PER_SEC);
    assert_int_equal(jobs(), 0);
    fake_world_run(&w, 2 * NS_PER_SEC);
    assert_jobs("29454240");
    assert_string_equal(
        fake_world_text(fake_world_get(&w, "Job", "default", "c-29454240"), "metadata.annotations"),
        "{\"a\":\"b\",\"batch.kubernetes.io/cronjob-scheduled-timestamp\":"
        "\"2026-01-01T09:00:00+01:00\"}");
}

static void forbid_waits(void **state) {
    put("\"schedule\":\"* * * * *\",\"concurrencyPolicy\":\"Forbid\"");
    fake_world_run(&w, 150 * NS_PER_SEC);
    assert_jobs("29453761");
    assert_true(fake_world_events(&w, "JobAlreadyActive") >= 1);
    finish("c-29453761", "Failed");
    assert_jobs("29453761 29453762"); /* the latest time that was missed */
    assert_string_equal(fake_world_text(cron(), "status.lastScheduleTime"), "2026-01-01T00:02:00Z");
}

static void replace_ends_the_one_before(void **state) {
    put("\"schedule\":\"* * * * *\",\"concurrencyPolicy\":\"Replace\"");
    fake_world_run(&w, 121 * NS_PER_SEC);
    assert_jobs("29453762");
    assert_string_equal(fake_world_text(cron(), "status.active.0.name"), "c-29453762");
    assert_string_equal(fake_world_text(cron(), "status.active.1.name"), "");
    assert_int_equal(fake_world_events(&w, "SuccessfulDelete"), 1);
    assert_int_equal(fake_world_events(&w, "MissingJob"), 0);
}

static void only_the_latest_of_the_missed(void **state) {
    put("\"schedule\":\"* * * * *\"");
    controller_free(c);
    fake_world_run(&w, 3 * 3600 * NS_PER_SEC);
    begin();
    fake_world_run(&w, NS_PER_SEC);
    assert_jobs("29453940");
    assert_int_equal(fake_world_events(&w, "TooManyMissedTimes"), 1);
}

static void too_late_is_let_pass(void **state) {
    put("\"schedule\":\"@hourly\",\"startingDeadlineSeconds\":60");
    controller_free(c);
    fake_world_run(&w, (3600 + 61) * NS_PER_SEC);
    begin();
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(jobs(), 0);
    assert_int_equal(fake_world_events(&w, "MissSchedule"), 1);
    fake_world_run(&w, 3600 * NS_PER_SEC);
    assert_jobs("29453880");
}

/* Work that waits for a wall time is looked at when the clock is set. */
static void the_clock_is_set(void **state) {
    put("\"schedule\":\"0 12 1 6 *\"");
    fake_world_run(&w, NS_PER_SEC);
    virtual_clock_set_wall(&w.clock, INT64_C(1780315200) * NS_PER_SEC + 5); /* June 1, 12:00 */
    fake_world_run(&w, NS_PER_SEC);
    assert_jobs("29671920");
    virtual_clock_set_wall(&w.clock, INT64_C(1767225600) * NS_PER_SEC); /* January again */
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_jobs("29671920");
}

static void history_is_kept(void **state) {
    put("\"schedule\":\"* * * * *\",\"successfulJobsHistoryLimit\":2,\"failedJobsHistoryLimit\":0");
    for (int i = 1; i <= 4; i++) {
        char name[32];
        fake_world_run(&w, (i == 1 ? 61 : 59) * NS_PER_SEC);
        snprintf(name, sizeof name, "c-%d", 29453760 + i);
        finish(name, i == 2 ? "Failed" : "Complete");
    }
    assert_jobs("29453763 29453764");
    assert_int_equal(fake_world_events(&w, "SuccessfulDelete"), 2);
    assert_string_equal(fake_world_text(cron(), "status.active"), "");
}

static void suspended_and_resumed(void **state) {
    put("\"schedule\":\"* * * * *\",\"suspend\":true");
    fake_world_run(&w, 600 * NS_PER_SEC);
    assert_int_equal(jobs(), 0);
    fake_world_patch(&w, "CronJob", "default", "c", "", "{\"spec\":{\"suspend\":false}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_jobs("29453770");
}

static void what_cannot_be(void **state) {
    put("\"schedule\":\"0 0 31 2 *\"");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "InvalidSchedule"), 1);
    fake_world_patch(&w, "CronJob", "default", "c", "", "{\"spec\":{\"schedule\":\"nonsense\"}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "UnparseableSchedule"), 1);
    fake_world_patch(&w, "CronJob", "default", "c", "", "{\"spec\":{\"timeZone\":\"Mars/Base\"}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "UnknownTimeZone"), 1);
}

static void every_few_seconds_is_once_a_minute(void **state) {
    put("\"schedule\":\"@every 7s\"");
    fake_world_run(&w, 50 * NS_PER_SEC);
    assert_jobs("29453760");
    assert_string_equal(fake_world_text(cron(), "status.lastScheduleTime"), "2026-01-01T00:00:07Z");
    fake_world_run(&w, 20 * NS_PER_SEC);
    assert_jobs("29453760 29453761");
}

static void jobs_that_were_not_made_by_us(void **state) {
    char json[1024];
    put("\"schedule\":\"@yearly\"");
    for (int i = 0; i < 2; i++) {
        snprintf(json, sizeof json,
                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"by-%d\","
                 "\"namespace\":\"default\"%s,\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                 "\"kind\":\"CronJob\",\"name\":\"c\",\"uid\":\"%.*s\",\"controller\":true}]},"
                 "\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
                 "\"name\":\"c\",\"image\":\"i\"}]}}}}",
                 i,
                 i ? ",\"annotations\":{\"cronjob.kubernetes.io/instantiate\":\"manual\","
                     "\"batch.kubernetes.io/cronjob-scheduled-timestamp\":"
                     "\"2026-01-01T00:00:00Z\"}"
                   : "",
                 STR_ARG(cron()->uid));
        fake_world_put(&w, json);
    }
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "UnexpectedJob"), 1);
    assert_string_equal(fake_world_text(cron(), "status.active"), "");
    assert_string_equal(fake_world_text(cron(), "status.lastScheduleTime"), "");
}

static void a_job_that_went_missing(void **state) {
    put("\"schedule\":\"@hourly\"");
    fake_world_run(&w, 3601 * NS_PER_SEC);
    fake_world_delete(&w, "Job", "default", "c-29453820", "Background");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "MissingJob"), 1);
    assert_int_equal(jobs(), 0); /* its time is over */
    assert_string_equal(fake_world_text(cron(), "status.active"), "");
}

/* Whatever fails at whatever write: each time has one Job in the end, and the status says so. */
static void faults(void **state) {
    static const enum fake_fault kinds[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    teardown(NULL);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (uint64_t at = 1; at <= 8; at++) {
            setup(NULL);
            w.fault = kinds[k];
            put("\"schedule\":\"* * * * *\",\"concurrencyPolicy\":\"Replace\"");
            w.fail_at = at;
            fake_world_run(&w, 122 * NS_PER_SEC);
            assert_jobs("29453762");
            assert_string_equal(fake_world_text(cron(), "status.active.0.name"), "c-29453762");
            assert_string_equal(fake_world_text(cron(), "status.active.1.name"), "");
            teardown(NULL);
        }
    }
    setup(NULL);
}

int main(void) {
    round_be_strict();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_ends_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_each_minute, setup, teardown),
        cmocka_unit_test_setup_teardown(at_nine_in_warsaw, setup, teardown),
        cmocka_unit_test_setup_teardown(forbid_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(replace_ends_the_one_before, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_latest_of_the_missed, setup, teardown),
        cmocka_unit_test_setup_teardown(too_late_is_let_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(the_clock_is_set, setup, teardown),
        cmocka_unit_test_setup_teardown(history_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(suspended_and_resumed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(every_few_seconds_is_once_a_minute, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_that_were_not_made_by_us, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_went_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(faults, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

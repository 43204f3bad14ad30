/* Tests of control_set. */
#include "base/test.h"
#include "control/control_set.h"
#include "control/kit/controller.h"

static void reads(const char *list, unsigned all, const char *expected, unsigned named) {
    struct control_list got = {0};
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    assert_ok(control_set_parse(str_of(list), all, &got, &err), &err);
    control_set_words(got.set, &b);
    assert_string_equal(buf_cstr(&b), expected);
    assert_int_equal(got.named, named);
    buf_release(&b);
}

static void test_lists(void **state) {
    const char *kueue = "queues,job-queue,workloads";
    reads("all", CONTROL_CLUSTER, kueue, 0);
    reads("*", CONTROL_CLUSTER, kueue, 0);
    reads("none", CONTROL_ALL, "none", 0);
    reads("kueue", CONTROL_ALL, kueue, CONTROL_CLUSTER);
    reads(" queues , jobs", CONTROL_ALL, "queues,jobs", CONTROL_QUEUES | CONTROL_JOBS);
    reads("all,-workloads", CONTROL_CLUSTER, "queues,job-queue", 0);
    reads("-workloads", CONTROL_CLUSTER, "queues,job-queue", 0);
    reads("kueue,-queues", CONTROL_ALL, "job-queue,workloads",
          CONTROL_JOB_QUEUE | CONTROL_WORKLOADS);
    reads("kubernetes", CONTROL_ALL,
          "bootstrap,namespaces,service-accounts,garbage-collector,jobs,nodes,roles,event-ttl,"
          "endpoints,cron-jobs,disruptions,quotas,apps,volumes,autoscaling",
          CONTROL_KUBERNETES);
    reads("kubernetes,kueue,reservations,defaults,serving", 0,
          "queues,job-queue,workloads,reservations,defaults,bootstrap,namespaces,service-accounts,"
          "garbage-collector,jobs,nodes,roles,event-ttl,endpoints,cron-jobs,disruptions,quotas,"
          "apps,volumes,autoscaling,serving",
          CONTROL_ALL);
}

/* Every controller has a word, and every word its own bit. */
static void test_all_have_words(void **state) {
    unsigned seen = 0;
    for (unsigned bit = 1; bit < CONTROL_ALL; bit <<= 1) {
        struct control_list got = {0};
        struct buf b;
        buf_init(&b, 0);
        control_set_words(bit, &b);
        assert_int_equal(control_set_parse(buf_view(&b), 0, &got, NULL), 0);
        assert_int_equal(got.set, bit);
        seen |= got.set;
        buf_release(&b);
    }
    assert_int_equal(seen, CONTROL_ALL);
}

/* A controller's row says the word by which people turn its set on and off. */
static void test_rows_say_their_word(void **state) {
    size_t n;
    const struct controller_row *const *rows = control_rows(&n);
    assert_true(n > 15);
    for (size_t i = 0; i < n; i++) {
        struct buf b;
        buf_init(&b, 0);
        control_set_words(rows[i]->set, &b);
        assert_string_equal(buf_cstr(&b), rows[i]->name);
        buf_release(&b);
    }
}

static void test_errors(void **state) {
    static const char *const bad[] = {"", " ", "queue", "queues,,jobs", "-", "ALL", "-x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct control_list got = {.set = 7};
        struct err err = {0};
        assert_int_equal(control_set_parse(str_of(bad[i]), CONTROL_ALL, &got, &err),
                         ERR_BAD_REQUEST);
        assert_int_equal(got.set, 7);
    }
    struct control_list got;
    struct err err = {0};
    control_set_parse(STR("queues,jobz"), CONTROL_ALL, &got, &err);
    assert_non_null(strstr(err.text, "\"jobz\""));
    assert_non_null(strstr(err.text, "event-ttl"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_all_have_words),
        cmocka_unit_test(test_rows_say_their_word),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* probe: thresholds, who waits for whom, and when the next question is due. */
#include "base/test.h"

#include "base/clock.h"
#include "node/life/probe.h"

static struct prober make(enum probe_kind kind, int success, int failure) {
    struct prober p = {.kind = kind,
                       .set = true,
                       .delay_ns = 5 * NS_PER_SEC,
                       .period_ns = 10 * NS_PER_SEC,
                       .success = success,
                       .failure = failure};
    probe_begin(&p, 100 * NS_PER_SEC);
    return p;
}

static bool answer(struct prober *p, bool ok, int64_t at_s) {
    probe_asked(p, at_s * NS_PER_SEC);
    return probe_answer(p, ok, at_s * NS_PER_SEC + 1);
}

static void test_readiness(void **state) {
    struct prober p = make(PROBE_READINESS, 2, 3);

    assert_false(p.passed);
    assert_true(probe_due(&p, false) == INT64_MAX); /* startup has not passed */
    assert_true(probe_due(&p, true) == 105 * NS_PER_SEC);
    assert_false(answer(&p, true, 105));
    assert_false(p.passed);
    assert_true(probe_due(&p, true) == 115 * NS_PER_SEC);
    answer(&p, true, 115);
    assert_true(p.passed);
    for (int i = 0; i < 3; i++) {
        assert_true(p.passed);
        assert_false(answer(&p, false, 125 + i)); /* never ends the container */
    }
    assert_false(p.passed);
}

static void test_liveness(void **state) {
    struct prober p = make(PROBE_LIVENESS, 1, 3);

    assert_true(p.passed);
    assert_false(answer(&p, false, 105));
    assert_false(answer(&p, false, 115));
    assert_false(answer(&p, true, 125)); /* counts from the beginning again */
    assert_false(answer(&p, false, 135));
    assert_false(answer(&p, false, 145));
    assert_true(answer(&p, false, 155));
    assert_true(probe_due(&p, true) == INT64_MAX); /* until the container has begun anew */
    probe_begin(&p, 200 * NS_PER_SEC);
    assert_true(probe_due(&p, true) == 205 * NS_PER_SEC);
    probe_release(&p, 300 * NS_PER_SEC); /* a long start: asked at once */
    assert_true(probe_due(&p, true) == 300 * NS_PER_SEC);
}

static void test_startup(void **state) {
    struct prober p = make(PROBE_STARTUP, 1, 2);

    assert_true(probe_due(&p, false) == 105 * NS_PER_SEC);
    assert_false(answer(&p, false, 105));
    assert_false(answer(&p, true, 115));
    assert_true(p.passed);
    assert_true(probe_due(&p, true) == INT64_MAX);
    p.set = false;
    assert_true(probe_due(&p, false) == INT64_MAX);
}

/* An answer that came late does not make the next question late. */
static void test_late_answer(void **state) {
    struct prober p = make(PROBE_LIVENESS, 1, 3);

    probe_asked(&p, 105 * NS_PER_SEC);
    assert_true(probe_due(&p, true) == INT64_MAX);
    probe_answer(&p, true, 109 * NS_PER_SEC);
    assert_true(probe_due(&p, true) == 115 * NS_PER_SEC);
    probe_asked(&p, 115 * NS_PER_SEC);
    probe_answer(&p, true, 140 * NS_PER_SEC);
    assert_true(probe_due(&p, true) == 140 * NS_PER_SEC);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readiness),
        cmocka_unit_test(test_liveness),
        cmocka_unit_test(test_startup),
        cmocka_unit_test(test_late_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

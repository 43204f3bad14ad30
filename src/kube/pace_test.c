/* Tests of pace: it grows while answers are quick, shrinks to one while they are slow, and learns a new best. */
#include "base/clock.h"
#include "base/test.h"
#include "kube/pace.h"

static const int64_t MS = NS_PER_MS;

static void it_yields_and_comes_back(void **state) {
    struct pace p;
    int64_t now = NS_PER_SEC;
    pace_init(&p, 32, now);
    assert_true(pace_room(&p, 31));
    assert_false(pace_room(&p, 32));
    for (int i = 0; i < 100; i++, now += MS) {
        pace_answer(&p, 4 * MS, now);
    }
    assert_true(pace_room(&p, 31)); /* quick: nothing is held back */
    for (int i = 0; i < 100; i++, now += 50 * MS) {
        pace_answer(&p, 40 * MS, now);
    }
    assert_true(pace_room(&p, 0)); /* one may always go when nothing else does */
    assert_false(pace_room(&p, 1));
    for (int i = 0; i < 2000; i++, now += MS) {
        pace_answer(&p, 5 * MS, now);
    }
    assert_true(pace_room(&p, 31));
}

static void many_slow_answers_of_one_round_halve_once(void **state) {
    struct pace p;
    pace_init(&p, 32, 0);
    pace_answer(&p, 4 * MS, 10 * NS_PER_SEC);
    for (int i = 0; i < 20; i++) {
        pace_answer(&p, 100 * MS, 11 * NS_PER_SEC + i * MS);
    }
    assert_true(pace_room(&p, 15));
    assert_false(pace_room(&p, 16));
}

static void a_best_of_long_ago_does_not_count(void **state) {
    struct pace p;
    int64_t now = 0;
    pace_init(&p, 8, now);
    pace_answer(&p, MS, now);
    for (int i = 0; i < 4 * 60; i++, now += NS_PER_SEC) { /* the server is farther away now */
        pace_answer(&p, 30 * MS, now);
    }
    for (int i = 0; i < 100; i++, now += MS) {
        pace_answer(&p, 30 * MS, now);
    }
    assert_true(pace_room(&p, 7));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_yields_and_comes_back),
        cmocka_unit_test(many_slow_answers_of_one_round_halve_once),
        cmocka_unit_test(a_best_of_long_ago_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of run_times: medians, who is alike, and what is forgotten. */
#include "control/kit/run_times.h"

#include "base/mem.h"
#include "base/test.h"

static struct run_times_of of(const char *queue, const char *name) {
    return (struct run_times_of){STR("team"), str_of(queue), STR("Job"), str_of(name)};
}

static int64_t median(const struct run_times *t, const char *queue, const char *name) {
    struct run_times_of o = of(queue, name);
    size_t n;
    return run_times_median(t, &o, &n);
}

static void note(struct run_times *t, const char *queue, const char *name, int64_t ran) {
    struct run_times_of o = of(queue, name);
    run_times_note(t, &o, ran);
}

static void medians(void **state) {
    struct run_times *t = run_times_new();
    assert_int_equal(median(t, "a", "train-1"), -1);
    note(t, "a", "train-1", 100);
    assert_int_equal(median(t, "a", "train-22"), 100);
    note(t, "a", "train-x7f2k", 900);
    note(t, "a", "train-3", 200);
    assert_int_equal(median(t, "a", "train-4"), 200);
    assert_int_equal(median(t, "b", "train-4"), -1);
    assert_int_equal(median(t, "a", "other"), 200); /* three of the queue and kind */
    note(t, "a", "step2of3-run", 7);
    assert_int_equal(median(t, "a", "step9of3-run"), 7);
    for (int i = 0; i < RUN_TIMES_KEPT; i++) {
        note(t, "a", "train-5", 50); /* the old ones are forgotten */
    }
    assert_int_equal(median(t, "a", "train-6"), 50);
    run_times_free(t);
}

/* One that outlived the short ones is one of the long ones. */
static void what_is_left(void **state) {
    struct run_times *t = run_times_new();
    struct run_times_of o = of("a", "train-1");
    assert_int_equal(run_times_left(t, &o, 0), -1);
    for (int i = 0; i < 5; i++) {
        note(t, "a", "train-2", 100);
    }
    note(t, "a", "train-2", 900);
    note(t, "a", "train-2", 1000);
    note(t, "a", "train-2", 1100);
    assert_int_equal(run_times_left(t, &o, 0), 100);
    assert_int_equal(run_times_left(t, &o, 99), 1);
    assert_int_equal(run_times_left(t, &o, 100), 900); /* of 900, 1000, 1100 */
    assert_int_equal(run_times_left(t, &o, 950), 50);
    assert_int_equal(run_times_left(t, &o, 1000), 100);
    assert_int_equal(run_times_left(t, &o, 1100), -1);
    run_times_free(t);
}

/* The last ones, the shortest first. */
static void seen(void **state) {
    struct run_times *t = run_times_new();
    struct run_times_of o = of("a", "train-1");
    size_t n;
    assert_null(run_times_seen(t, &o, &n));
    assert_int_equal(n, 0);
    for (int i = 0; i < RUN_TIMES_KEPT + 5; i++) {
        note(t, "a", "train-2", 1 + i * 7 % 31);
    }
    const int64_t *v = run_times_seen(t, &o, &n);
    assert_int_equal(n, RUN_TIMES_KEPT);
    int64_t sum = 0, expected = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || v[i - 1] <= v[i]);
        sum += v[i];
        expected += 1 + (int64_t)(i + 5) * 7 % 31;
    }
    assert_int_equal(sum, expected);
    run_times_free(t);
}

/* Of what they declare all take a fourth. */
static void shares(void **state) {
    struct run_times *t = run_times_new();
    struct run_times_of o = of("a", "train-1"), other = of("a", "eval");
    const int64_t sec = 1000000000;
    size_t n;
    for (int i = 1; i <= 3; i++) {
        assert_null(run_times_shares(t, &o, &n)); /* three at least */
        run_times_note_declared(t, &o, i * 250 * sec, i * 1000 * sec);
    }
    const int64_t *v = run_times_shares(t, &o, &n);
    assert_int_equal(n, 3);
    assert_int_equal(v[0], RUN_TIMES_WHOLE / 4);
    assert_int_equal(v[2], RUN_TIMES_WHOLE / 4);
    assert_non_null(run_times_shares(t, &other, &n)); /* of the queue and kind */
    assert_null(run_times_seen(t, &o, &n));           /* another memory */
    run_times_note_declared(t, &o, 5, 0);
    run_times_note_declared(t, &o, -1, 1000 * sec);
    (void)run_times_shares(t, &o, &n);
    assert_int_equal(n, 3);
    run_times_free(t);
}

static void bounded(void **state) {
    struct run_times *t = run_times_new();
    char queue[32];
    for (int i = 0; i < RUN_TIMES_KEYS; i++) {
        snprintf(queue, sizeof(queue), "q%d", i);
        note(t, queue, "x", i);
        note(t, "used", "x", 5);
    }
    assert_int_equal(median(t, "used", "x"), 5);
    assert_int_equal(median(t, "q2048", "x"), -1);
    assert_int_equal(median(t, "q2049", "x"), 2049);
    assert_int_equal(median(t, "q4095", "x"), 4095);
    struct run_times *copy = run_times_copy(t);
    run_times_free(t);
    assert_int_equal(median(copy, "q2048", "x"), -1); /* each has two keys, "used" too */
    assert_int_equal(median(copy, "q2049", "x"), 2049);
    assert_int_equal(median(copy, "q4095", "x"), 4095);
    run_times_free(copy);
    run_times_free(NULL);
}

static void without_memory(void **state) {
    struct run_times *t = run_times_new();
    note(t, "a", "x", 1);
    for (uint64_t n = 1;; n++) {
        mem_fault(n, 0);
        note(t, "b", "y", 2);
        struct run_times *copy = run_times_copy(t);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        run_times_free(copy);
        if (!hit) {
            break;
        }
    }
    assert_int_equal(median(t, "a", "x"), 1);
    assert_int_equal(median(t, "b", "y"), 2);
    run_times_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(medians), cmocka_unit_test(what_is_left),
                                       cmocka_unit_test(seen),    cmocka_unit_test(shares),
                                       cmocka_unit_test(bounded), cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of hindsight: what comes of forecasts stretches the next ones; and what is forgotten. */
#include "core/whatif/hindsight.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/test.h"

#define SEC INT64_C(1000000000)
#define CLASS STR("q/0/1,cpu1")

static struct outlook outlook(int64_t at, int64_t early, int64_t mid, int64_t late) {
    return (struct outlook){(at + early) * SEC, (at + mid) * SEC, (at + late) * SEC};
}

/* One was told 80 to 120 s at second `at`, and waited for `waited`. */
static void life(struct hindsight *h, int64_t at, int64_t waited) {
    struct hindsight_told told = {at * SEC, outlook(at, 80, 100, 120)};
    hindsight_note(h, STR("w"), CLASS, &told);
    hindsight_started(h, STR("w"), (at + waited) * SEC);
}

static struct outlook adjusted(const struct hindsight *h, struct str class) {
    struct outlook o = outlook(0, 80, 100, 120);
    hindsight_adjust(h, class, NULL, 0, &o);
    return o;
}

static void as_said_at_first(void **state) {
    struct hindsight *h = hindsight_new();
    struct outlook o = adjusted(h, CLASS);
    assert_int_equal(o.mid, 100 * SEC);
    assert_int_equal(o.early, 80 * SEC);
    assert_int_equal(o.late, 120 * SEC);
    o = (struct outlook){100 * SEC, 100 * SEC, 100 * SEC}; /* nothing is that sure */
    hindsight_adjust(h, CLASS, NULL, 0, &o);
    assert_true(o.early < 90 * SEC && o.mid == 100 * SEC && o.late > 110 * SEC);
    struct outlook never = {100 * SEC, 200 * SEC, FORECAST_NEVER}, as = never;
    hindsight_adjust(h, CLASS, NULL, 0, &as);
    assert_memory_equal(&as, &never, sizeof(as));
    hindsight_free(h);
    hindsight_free(NULL);
}

static void who_keeps_his_word_is_believed(void **state) {
    struct hindsight *h = hindsight_new();
    for (int i = 0; i < HINDSIGHT_SCORES; i++) {
        life(h, 1000 * i, 98 + i % 5);
    }
    struct outlook o = adjusted(h, CLASS);
    assert_true(o.early > 90 * SEC && o.late < 110 * SEC);
    assert_int_equal(outlook_says(&o, 0), OUTLOOK_TIME);
    o = adjusted(h, STR("another class"));
    assert_int_equal(o.late, 120 * SEC);
    hindsight_free(h);
}

/* All of them wait three times as long as was said; some many times. */
static void who_slides_is_told_later(void **state) {
    struct hindsight *h = hindsight_new();
    for (int i = 0; i < HINDSIGHT_SCORES; i++) {
        life(h, 1000 * i, 290 + i);
    }
    struct outlook o = adjusted(h, CLASS);
    assert_true(o.mid > 290 * SEC && o.mid < 320 * SEC);
    assert_true(o.early > 280 * SEC && o.late < 330 * SEC);
    for (int i = 0; i < HINDSIGHT_SCORES; i++) {
        life(h, 1000 * i, i % 2 ? 5000 : 60);
    }
    o = adjusted(h, CLASS);
    assert_true(o.early < 70 * SEC && o.late > 1200 * SEC);
    for (int i = 0; i < HINDSIGHT_SCORES; i++) {
        life(h, 1000 * i, i % 4 ? 100 : 5000);
    }
    o = adjusted(h, CLASS);
    assert_int_equal(outlook_says(&o, 0), OUTLOOK_UNKNOWN); /* nobody knows */
    for (int i = 0; i < HINDSIGHT_SCORES; i++) {
        life(h, 1000 * i, 100); /* what is long ago is forgotten */
    }
    o = adjusted(h, CLASS);
    assert_int_equal(outlook_says(&o, 0), OUTLOOK_TIME);
    hindsight_free(h);
}

/* Who waits on past what was said of it counts for the others, in one copy; and most for itself. */
static void waiting_on_counts(void **state) {
    struct hindsight *h = hindsight_new();
    struct hindsight_told told = {1, outlook(0, 80, 100, 120)};
    struct outlook o = outlook(500, 80, 100, 120);
    for (int i = 0; i < 10; i++) {
        hindsight_late(h, CLASS, &told, 110 * SEC); /* not past it */
    }
    struct hindsight *copy = hindsight_copy(h);
    hindsight_late(copy, CLASS, &told, 500 * SEC);
    hindsight_late(copy, CLASS, &told, 500 * SEC);
    assert_true(adjusted(copy, CLASS).late > adjusted(h, CLASS).late + 100 * SEC);
    struct outlook own = o;
    hindsight_adjust(h, CLASS, NULL, 500 * SEC, &o);
    hindsight_adjust(h, CLASS, &told, 500 * SEC, &own);
    assert_true(own.late > o.late + 100 * SEC);
    own = outlook(500, 9, 10, 11); /* a little more, as ever */
    hindsight_adjust(h, CLASS, &told, 500 * SEC, &own);
    assert_int_equal(own.late, (500 + 380) * SEC);
    assert_int_equal(outlook_says(&own, 500 * SEC), OUTLOOK_UNKNOWN);
    told.said = outlook(0, 4, 5, 6); /* a hundred times as long as was said */
    own = outlook(500, 4, 5, 6);
    hindsight_adjust(h, CLASS, &told, 500 * SEC, &own);
    assert_int_equal(outlook_says(&own, 500 * SEC), OUTLOOK_UNKNOWN);
    hindsight_free(copy);
    hindsight_free(h);
}

static void the_first_word_counts(void **state) {
    struct hindsight *h = hindsight_new();
    struct hindsight_told first = {1, outlook(0, 80, 100, 120)};
    struct hindsight_told second = {50 * SEC, outlook(50, 180, 200, 220)};
    struct hindsight_told soon = {1, outlook(0, 1, 2, 3)};
    struct hindsight_told never = {1, {100 * SEC, 200 * SEC, FORECAST_NEVER}};
    hindsight_note(h, STR("w"), CLASS, &first);
    hindsight_note(h, STR("w"), CLASS, &second);
    assert_int_equal(hindsight_told(h, STR("w")).at, 1);
    hindsight_note(h, STR("x"), CLASS, &soon);
    hindsight_note(h, STR("y"), CLASS, &never);
    assert_int_equal(hindsight_told(h, STR("x")).at, 0);
    assert_int_equal(hindsight_told(h, STR("y")).at, 0);
    hindsight_gone(h, STR("w"));
    hindsight_gone(h, STR("w"));
    hindsight_started(h, STR("w"), 900 * SEC); /* not known any more */
    assert_true(adjusted(h, CLASS).mid == 100 * SEC);
    hindsight_free(h);
}

static void bounded(void **state) {
    struct hindsight *h = hindsight_new();
    char uid[32], class[32];
    struct hindsight_told told = {1, outlook(0, 80, 100, 120)};
    for (int i = 0; i <= HINDSIGHT_OPEN; i++) {
        snprintf(uid, sizeof(uid), "w%d", i);
        hindsight_note(h, str_of(uid), CLASS, &told);
    }
    assert_int_equal(hindsight_told(h, STR("w0")).at, 0);
    assert_int_equal(hindsight_told(h, STR("w1")).at, 1);
    for (int i = 0; i <= HINDSIGHT_CLASSES; i++) {
        snprintf(uid, sizeof(uid), "c%d", i);
        snprintf(class, sizeof(class), "class %d", i);
        hindsight_note(h, str_of(uid), str_of(class), &told);
        hindsight_started(h, str_of(uid), 3000 * SEC);
    }
    assert_true(adjusted(h, STR("class 0")).mid == 100 * SEC); /* forgotten */
    assert_true(adjusted(h, STR("class 1")).late > 1000 * SEC);
    struct hindsight *copy = hindsight_copy(h);
    hindsight_free(h);
    assert_true(adjusted(copy, STR("class 512")).late > 1000 * SEC);
    assert_int_equal(hindsight_told(copy, STR("w1")).at, 0); /* classes alone */
    hindsight_free(copy);
}

static void classes(void **state) {
    char a[HINDSIGHT_KEY_MAX], b[HINDSIGHT_KEY_MAX], name[400];
    struct node_amount gpus = {STR("gpu"), 5};
    struct set_input s = {.count = 1, .requests = &gpus, .n_requests = 1};
    struct workload_input in = {.queue = STR("team"), .priority = -3, .sets = &s, .n_sets = 1};
    struct str one = hindsight_class(&in, a);
    gpus.v = 7;
    assert_true(str_eq(one, hindsight_class(&in, b)));
    gpus.v = 8;
    assert_false(str_eq(one, hindsight_class(&in, b)));
    gpus.v = 5;
    s.count = 2;
    assert_false(str_eq(one, hindsight_class(&in, b)));
    s.count = 1;
    in.priority = 3;
    assert_false(str_eq(one, hindsight_class(&in, b)));
    in.priority = INT64_MIN;
    memset(name, 'x', sizeof(name));
    in.queue = str_from(name, sizeof(name));
    gpus.resource = in.queue;
    assert_true(hindsight_class(&in, b).n <= HINDSIGHT_KEY_MAX);
}

static void without_memory(void **state) {
    struct hindsight *h = hindsight_new();
    struct hindsight_told told = {1, outlook(0, 80, 100, 120)};
    hindsight_note(h, STR("a"), STR("k"), &told);
    for (uint64_t n = 1;; n++) {
        mem_fault(n, 0);
        hindsight_note(h, STR("b"), STR("l"), &told);
        hindsight_started(h, STR("b"), 300 * SEC);
        struct hindsight *copy = hindsight_copy(h);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        hindsight_free(copy);
        if (!hit) {
            break;
        }
    }
    assert_int_equal(hindsight_told(h, STR("a")).at, 1);
    hindsight_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_said_at_first),
        cmocka_unit_test(who_keeps_his_word_is_believed),
        cmocka_unit_test(who_slides_is_told_later),
        cmocka_unit_test(waiting_on_counts),
        cmocka_unit_test(the_first_word_counts),
        cmocka_unit_test(bounded),
        cmocka_unit_test(classes),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of rollout: bounds of rolling updates, and whole updates step by step. */
#include "control/apps/rollout.h"

#include "base/test.h"

static void bounds(void **state) {
    struct rollout_bounds b = rollout_bounds(5, true, STR("25%"), STR("25%"));
    assert_int_equal(b.surge, 2);       /* up */
    assert_int_equal(b.unavailable, 1); /* down */
    b = rollout_bounds(3, true, STR("0"), STR("25%"));
    assert_int_equal(b.surge, 0);
    assert_int_equal(b.unavailable, 1); /* both 0: one */
    b = rollout_bounds(2, true, STR("1"), STR("7"));
    assert_int_equal(b.surge, 1);
    assert_int_equal(b.unavailable, 2); /* no more than there are */
    b = rollout_bounds(9, false, STR("50%"), STR("50%"));
    assert_int_equal(b.surge + b.unavailable, 0);
    b = rollout_bounds(10000, true, STR("100%"), STR("-3"));
    assert_int_equal(b.surge, 10000);
    assert_int_equal(b.unavailable, 0);
}

static void new_set_grows_into_the_room(void **state) {
    struct rollout_bounds b = rollout_bounds(10, true, STR("3"), STR("2"));
    assert_int_equal(rollout_new_replicas(&b, 10, 0), 3);
    assert_int_equal(rollout_new_replicas(&b, 13, 3), 3);
    assert_int_equal(rollout_new_replicas(&b, 8, 8), 10);
    struct rollout_bounds all = rollout_bounds(10, false, STR(""), STR(""));
    assert_int_equal(rollout_new_replicas(&all, 0, 0), 10);
}

static void unhealthy_old_ones_go_first(void **state) {
    struct rollout_bounds b = rollout_bounds(10, true, STR("3"), STR("2"));
    struct rollout_set new = {.replicas = 3, .to = 3, .available = 0};
    struct rollout_set old[] = {
        {.replicas = 6, .available = 6, .created_ns = 2, .name = STR("a")},
        {.replicas = 4, .available = 1, .created_ns = 1, .name = STR("b")},
    };
    /* 13 pods, 8 must be, 3 new ones are not available: at most 2 less, and these do not run */
    assert_true(rollout_old_replicas(&b, old, 2, &new));
    assert_str_eq(old[0].name, STR("b"));
    assert_int_equal(old[0].to, 2);
    assert_int_equal(old[1].to, 6);
}

static void nothing_goes_below_what_must_be(void **state) {
    struct rollout_bounds b = rollout_bounds(4, true, STR("1"), STR("0"));
    struct rollout_set new = {.replicas = 1, .to = 1, .available = 0};
    struct rollout_set old = {.replicas = 4, .available = 4};
    assert_false(rollout_old_replicas(&b, &old, 1, &new));
    new.available = 1;
    assert_true(rollout_old_replicas(&b, &old, 1, &new));
    assert_int_equal(old.to, 3);
}

/* A whole update, whose pods become available as soon as they are there. */
static void a_whole_update_keeps_its_promise(void **state) {
    static const char *const ways[][2] = {{"25%", "25%"}, {"1", "0"}, {"0", "1"}, {"100%", "0"}};
    for (size_t w = 0; w < 4; w++) {
        struct rollout_bounds b = rollout_bounds(7, true, str_of(ways[w][0]), str_of(ways[w][1]));
        struct rollout_set new = {0}, old = {.replicas = 7, .available = 7};
        int steps = 0;
        while ((new.replicas != 7 || old.replicas != 0) && steps++ < 100) {
            int32_t to = rollout_new_replicas(&b, new.replicas + old.replicas, new.replicas);
            if (to != new.replicas) {
                new.replicas = new.to = to;
            } else {
                new.available = new.replicas; /* they start */
                (void)rollout_old_replicas(&b, &old, 1, &new);
                old.replicas = old.available = old.to;
            }
            assert_true(new.replicas + old.replicas <= 7 + b.surge);
            assert_true(new.available + old.available >= 7 - b.unavailable);
        }
        assert_true(steps < 100);
    }
}

static void sizes_are_shared(void **state) {
    struct rollout_bounds b = rollout_bounds(20, true, STR("0"), STR("1"));
    struct rollout_set v[] = {
        {.replicas = 8, .max_before = 10, .created_ns = 1, .name = STR("old")},
        {.replicas = 2, .max_before = 10, .created_ns = 2, .name = STR("new")},
    };
    rollout_share(&b, 10, v, 2);
    assert_str_eq(v[0].name, STR("old"));
    assert_int_equal(v[0].to, 16);
    assert_int_equal(v[1].to, 4);
    b = rollout_bounds(5, true, STR("0"), STR("1"));
    v[0].replicas = 7, v[1].replicas = 3;
    rollout_share(&b, 10, v, 2);
    assert_int_equal(v[0].to + v[1].to, 5);
    b = rollout_bounds(0, true, STR("2"), STR("1"));
    rollout_share(&b, 10, v, 2);
    assert_int_equal(v[0].to + v[1].to, 0);
    b = rollout_bounds(11, true, STR("0"), STR("1")); /* not known what it was: the status says */
    v[0].max_before = v[1].max_before = -1;
    rollout_share(&b, 10, v, 2);
    assert_int_equal(v[0].to + v[1].to, 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(new_set_grows_into_the_room),
        cmocka_unit_test(unhealthy_old_ones_go_first),
        cmocka_unit_test(nothing_goes_below_what_must_be),
        cmocka_unit_test(a_whole_update_keeps_its_promise),
        cmocka_unit_test(sizes_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

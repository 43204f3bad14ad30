/* conditions: found and set as upstream's meta.SetStatusCondition does. */
#include "base/test.h"

#include "api/conditions.h"
#include "base/clock.h"
#include "base/limits.h"

#define T1 (100 * NS_PER_SEC)
#define T2 (200 * NS_PER_SEC)

static struct arena arena;

static int setup(void **state) {
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

static bool set(struct condition_list *l, const char *status, const char *reason,
                const char *message, int64_t now) {
    bool changed = false;
    struct condition_want want = {"Ready", status, reason, str_of(message)};
    assert_int_equal(conditions_put(l, &arena, &want, now, 7, &changed), 0);
    return changed;
}

static void the_transition_moves_with_the_status_alone(void **state) {
    struct condition_list l = {0};
    assert_true(set(&l, "False", "Starting", "wait", T1 + 5));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.v[0].last_transition_ns, T1); /* in whole seconds, as it is stored */
    assert_int_equal(l.v[0].observed_generation, 7);
    assert_false(set(&l, "False", "Starting", "wait", T2));
    assert_true(set(&l, "False", "Starting", "wait longer", T2));
    assert_int_equal(l.v[0].last_transition_ns, T1);
    assert_str_eq(l.v[0].message, STR("wait longer"));
    assert_true(set(&l, "Unknown", "Lost", "", T2));
    assert_int_equal(l.v[0].last_transition_ns, T2);
    assert_int_equal(l.n, 1);
}

static void a_copy_leaves_what_it_came_from(void **state) {
    struct condition_list was = {0}, want;
    assert_true(set(&was, "True", "Up", "", T1));
    assert_int_equal(conditions_copy(&was, &arena, &want), 0);
    assert_true(set(&want, "False", "Down", "", T2));
    assert_true(conditions_true(&was, "Ready"));
    assert_false(conditions_true(&want, "Ready"));
    assert_int_equal(conditions_copy(&was, &arena, &was),
                     0); /* in the place of what it came from, too */
    assert_int_equal(was.n, 1);
    assert_true(conditions_true(&was, "Ready"));
    assert_int_equal(conditions_copy(NULL, &arena, &want), 0);
    assert_int_equal(want.n, 0);
}

static void what_is_not_there_is_not_found(void **state) {
    struct condition_list l = {0};
    bool changed = false;
    assert_null(conditions_find(NULL, "Ready"));
    assert_false(conditions_true(&l, "Ready"));
    conditions_remove(&l, "Ready", &changed);
    assert_false(changed);
    set(&l, "True", "Up", "", T1);
    assert_non_null(conditions_find(&l, "Ready"));
    conditions_remove(&l, "Ready", &changed);
    assert_true(changed);
    assert_int_equal(l.n, 0);
}

static void long_messages_are_cut(void **state) {
    static char text[LIMIT_CONDITION_MESSAGE + 100];
    struct condition_list l = {0};
    memset(text, 'x', sizeof text - 1);
    set(&l, "True", "Up", text, T1);
    assert_int_equal(l.v[0].message.n, LIMIT_CONDITION_MESSAGE);
    assert_true(str_ends(l.v[0].message, STR(" ...")));
    assert_false(set(&l, "True", "Up", text, T2));
}

static void a_character_is_not_cut(void **state) {
    static char text[LIMIT_CONDITION_MESSAGE + 100];
    struct condition_list l = {0};
    for (size_t i = 0; i + 3 < sizeof text; i += 3) {
        memcpy(text + i, "\xe2\x82\xac", 3);
    }
    set(&l, "True", "Up", text, T1);
    struct str m = l.v[0].message;
    assert_true(str_ends(m, STR("\xe2\x82\xac ...")));
    assert_in_range(m.n, LIMIT_CONDITION_MESSAGE - 3, LIMIT_CONDITION_MESSAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_transition_moves_with_the_status_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_copy_leaves_what_it_came_from, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(long_messages_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(a_character_is_not_cut, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

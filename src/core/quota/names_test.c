/* Tests of names: numbers, and whose names find room. */
#include "core/test/engine_fixture.h"

static struct str name_of(int i, char *text, size_t size) {
    snprintf(text, size, "example.com/r%d", i);
    return str_of(text);
}

static void numbers(void **state) {
    struct names n;
    uint32_t a, b;
    names_init(&n);
    assert_int_equal(names_find(&n, STR("a")), NAME_ABSENT);
    assert_int_equal(names_intern(&n, STR("a"), &a), 0);
    assert_int_equal(names_intern_guest(&n, STR("b"), &b), 0);
    assert_int_not_equal(a, b);
    assert_int_equal(names_intern_guest(&n, STR("a"), &b), 0);
    assert_int_equal(a, b);
    assert_true(str_is(names_text(&n, a), "a"));
    assert_true(str_empty(names_text(&n, 7)));
    names_release(&n);
}

static void guests_leave_room(void **state) {
    struct names n;
    char text[32];
    uint32_t id;
    names_init(&n);
    for (int i = 0; i < NAMES_GUESTS_MAX; i++) {
        assert_int_equal(names_intern_guest(&n, name_of(i, text, sizeof(text)), &id), 0);
    }
    assert_int_equal(names_intern_guest(&n, STR("guest"), &id), ERR_TOO_MANY);
    assert_int_equal(names_intern_guest(&n, name_of(5, text, sizeof(text)), &id), 0);
    assert_int_equal(names_intern(&n, STR("own"), &id), 0);
    assert_int_equal(names_intern_guest(&n, STR("own"), &id), 0);
    for (int i = NAMES_GUESTS_MAX; i < NAMES_MAX - 1; i++) {
        assert_int_equal(names_intern(&n, name_of(i, text, sizeof(text)), &id), 0);
    }
    assert_int_equal(names_intern(&n, STR("more"), &id), ERR_TOO_MANY);
    names_release(&n);
}

/* Workloads that ask for resources nobody has heard of keep no queue from being edited. */
static void of_workloads(void **state) {
    struct world w;
    const struct fq f = {"f", {1000, NO, NO}};
    char text[32];
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "q", "", false, &f, 1, FUNGIBILITY_STOP);
    for (int i = 0, r = 0; i <= NAMES_MAX && r == 0; i++) {
        struct node_amount a = {name_of(i, text, sizeof(text)), 1};
        struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
        struct workload_input in = {STR("u"), STR("q"), 0, 0, &s, 1};
        r = engine_workload_put(w.e, &in);
        assert_true(r == 0 || r == ERR_TOO_MANY);
    }
    struct quota_input quota = {1000, NO, NO};
    struct group_flavor_input gf = {STR("f"), &quota};
    struct str resource = STR("example.com/new");
    struct group_input g = {&resource, 1, &gf, 1};
    struct queue_input in = {.name = STR("other"), .groups = &g, .n_groups = 1, .weight = 1};
    assert_int_equal(engine_queue_put(w.e, &in), 0);
    submit_as(&w, "v", "other", 0, 0, 1, "example.com/new", 1, &ANY);
    run(&w);
    assert_true(holds(&w, "v"));
    engine_free(w.e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(guests_leave_room),
        cmocka_unit_test(of_workloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

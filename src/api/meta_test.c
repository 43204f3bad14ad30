/* meta: annotations, labels and finalizers looked up and changed; what was decoded stays as it was. */
#include "base/test.h"

#include "api/meta.h"

static struct arena arena;

static int setup(void **state) {
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

static struct meta example(void) {
    static struct str_pair notes[] = {{STR("a"), STR("1")}, {STR("b"), STR("2")}};
    static struct str holds[] = {STR("x"), STR("y"), STR("x")};
    return (struct meta){.annotations = {notes, 2}, .finalizers = {holds, 3}};
}

static void values_are_found_by_key(void **state) {
    struct meta m = example();
    assert_str_eq(meta_annotation(&m, "b"), STR("2"));
    assert_str_eq(meta_annotation(&m, "c"), STR(""));
    assert_str_eq(meta_annotation(NULL, "a"), STR(""));
    assert_str_eq(meta_label(&m, "a"), STR(""));
}

static void values_are_set_and_removed(void **state) {
    struct meta was = example(), want = was;
    assert_int_equal(meta_set(&want.annotations, &arena, "b", STR("3")), 0);
    assert_int_equal(meta_set(&want.annotations, &arena, "c", STR("")), 0);
    assert_int_equal(meta_set(&want.annotations, &arena, "a", (struct str){0}), 0);
    assert_int_equal(meta_set(&want.annotations, &arena, "z", (struct str){0}), 0);
    assert_int_equal(want.annotations.n, 2);
    assert_str_eq(meta_annotation(&want, "b"), STR("3"));
    assert_str_eq(want.annotations.v[1].key, STR("c"));
    assert_str_eq(meta_annotation(&was, "b"), STR("2"));
    assert_int_equal(was.annotations.n, 2);
}

static void finalizers_come_once_and_go_wholly(void **state) {
    struct meta was = example(), want = was;
    assert_true(meta_has_finalizer(&want, "y"));
    assert_int_equal(meta_add_finalizer(&want, &arena, "y"), 0);
    assert_int_equal(want.finalizers.n, 3);
    assert_int_equal(meta_remove_finalizer(&want, &arena, "x"), 0);
    assert_int_equal(want.finalizers.n, 1);
    assert_int_equal(meta_remove_finalizer(&want, &arena, "x"), 0);
    assert_int_equal(meta_add_finalizer(&want, &arena, "z"), 0);
    assert_int_equal(want.finalizers.n, 2);
    assert_str_eq(want.finalizers.v[1], STR("z"));
    assert_int_equal(was.finalizers.n, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_are_found_by_key, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_set_and_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(finalizers_come_once_and_go_wholly, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Memory that a write went without: at its limit, or because there was none. */
#include "server/write/pipeline.h"

#include "base/mem.h"
#include "base/test.h"

static void done(struct write *w) {
}

/* A write that was told it had no memory. */
static struct failure end_of(struct arena *a, enum body_type type) {
    struct write w = {.arena = a, .type = type, .done = done};
    (void)failure_set(&w.failure, a, ERR_NOMEM, "out of memory");
    write_finish(&w);
    return w.failure;
}

static void test_full(void **state) {
    struct arena a;
    arena_init(&a, 4 << 10);
    assert_null(arena_alloc(&a, 5 << 10));
    struct failure f = end_of(&a, BODY_APPLY_PATCH);
    assert_int_equal(f.http, 413);
    assert_string_equal(f.reason, "RequestEntityTooLarge");
    assert_true(str_contains(f.message, STR("too many fields to be applied")));
    f = end_of(&a, BODY_JSON);
    assert_int_equal(f.http, 413);
    assert_true(str_contains(f.message, STR("too large")));
    arena_release(&a);
}

static void test_no_memory(void **state) {
    struct arena a;
    arena_init(&a, 64 << 10);
    mem_fault(1, 0);
    assert_null(arena_alloc(&a, 48 << 10));
    mem_fault(0, 0);
    assert_int_equal(end_of(&a, BODY_APPLY_PATCH).http, 500);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("memory_limit", tests, NULL, NULL);
}

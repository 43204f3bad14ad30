/* prefix_test: chained hashes, what is found, and that memory is bounded. */
#include "core/route/prefix.h"

#include "base/test.h"

static char text[PREFIX_BLOCK * 40];

static void chained(void **state) {
    uint64_t a[64], b[64];
    memset(text, 'x', sizeof(text));
    assert_int_equal(prefix_hashes(1, STR("m"), str_from(text, PREFIX_BLOCK * 3 + 5), a, 64), 3);
    assert_int_equal(prefix_hashes(1, STR("m"), str_from(text, PREFIX_BLOCK - 1), a, 64), 0);
    assert_int_equal(prefix_hashes(1, STR("m"), str_from(text, sizeof(text)), a, 4), 4);
    assert_true(a[0] != a[1] && a[1] != a[2]); /* the same block, another prefix */
    text[0] = 'y';
    prefix_hashes(1, STR("m"), str_from(text, sizeof(text)), b, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(a[i] != b[i]);
    }
    text[0] = 'x';
    text[PREFIX_BLOCK * 2] = 'y';
    prefix_hashes(1, STR("m"), str_from(text, sizeof(text)), b, 4);
    assert_true(a[0] == b[0] && a[1] == b[1] && a[2] != b[2] && a[3] != b[3]);
    prefix_hashes(1, STR("n"), str_from(text, sizeof(text)), b, 1);
    assert_true(a[0] != b[0]); /* another model */
    prefix_hashes(2, STR("m"), str_from(text, sizeof(text)), b, 1);
    assert_true(a[0] != b[0]); /* another seed */
}

static void found(void **state) {
    struct prefix_index x;
    struct prefix_match m[PREFIX_WAYS];
    uint64_t h[40];
    memset(text, 'z', sizeof(text));
    size_t n = prefix_hashes(9, STR(""), str_from(text, sizeof(text)), h, 40);
    assert_int_equal(prefix_init(&x, 1 << 20), 0);
    assert_int_equal(prefix_find(&x, h, n, m), 0);
    prefix_add(&x, h, 10, 1);
    prefix_add(&x, h, 25, 2);
    assert_int_equal(prefix_find(&x, h, n, m), 2);
    assert_int_equal(m[0].endpoint, 2);
    assert_int_equal(m[0].blocks, 25);
    assert_int_equal(m[1].endpoint, 1);
    assert_int_equal(m[1].blocks, 10);
    prefix_forget(&x, 2);
    assert_int_equal(prefix_find(&x, h, n, m), 1);
    prefix_release(&x);
}

/* A million prompts in 64 KiB: what was used lately is there. */
static void bounded(void **state) {
    struct prefix_index x;
    struct prefix_match m[PREFIX_WAYS];
    uint64_t hot[2] = {UINT64_C(0x1234567800000007), UINT64_C(0x8765432100000011)};
    assert_int_equal(prefix_init(&x, 64 << 10), 0);
    assert_true(x.sets * PREFIX_WAYS * sizeof(struct prefix_pair) <= 64 << 10);
    for (uint64_t i = 1; i < 1000000; i++) {
        uint64_t cold = i * UINT64_C(0x9e3779b97f4a7c15);
        prefix_add(&x, &cold, 1, (uint32_t)i);
        if (i % 500 == 0) {
            prefix_add(&x, hot, 2, 77);
        }
    }
    assert_int_equal(prefix_find(&x, hot, 2, m), 1);
    assert_int_equal(m[0].blocks, 2);
    prefix_release(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chained), cmocka_unit_test(found),
                                       cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

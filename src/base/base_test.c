/* Tests of the small things of base: str, buf, arena, vec, map, heap, err, mem, prng. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/test.h"
#include "base/vec.h"

static void test_str_numbers(void **state) {
    int64_t v = 7;
    assert_true(str_to_i64(STR("-9223372036854775808"), &v));
    assert_true(v == INT64_MIN);
    assert_false(str_to_i64(STR("9223372036854775808"), &v));
    assert_false(str_to_i64(STR("-"), &v));
    assert_false(str_to_i64(STR(""), &v));
    assert_false(str_to_i64(STR("1x"), &v));
    assert_true(v == INT64_MIN); /* untouched on failure */
}

static void test_str_next(void **state) {
    struct str rest = STR("a,,b"), part;
    const char *want[] = {"a", "", "b"};
    size_t n = 0;
    while (str_next(&rest, ',', &part)) {
        assert_true(n < 3 && str_is(part, want[n]));
        n++;
    }
    assert_int_equal(n, 3);
    rest = STR("");
    assert_false(str_next(&rest, ',', &part));
}

static void test_str_search(void **state) {
    assert_int_equal(str_find(STR("a/b/c"), '/'), 1);
    assert_int_equal(str_find_last(STR("a/b/c"), '/'), 3);
    assert_true(str_contains(STR("hello"), STR("ell")));
    assert_false(str_contains(STR("hel"), STR("hello")));
    assert_true(str_eq(str_trim(STR(" \tx y\n")), STR("x y")));
    assert_true(str_cmp(STR("a"), STR("ab")) < 0 && str_cmp(STR("b"), STR("ab")) > 0);
}

static void test_buf_json(void **state) {
    struct buf b;
    buf_init(&b, 0);
    buf_json(&b, STR("a\"\\\n\x01\xc3\xa9\xff\xed\xa0\x80z"));
    assert_str_eq(buf_view(&b),
                  STR("\"a\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                      "\xef\xbf\xbdz\""));
    buf_release(&b);
}

static void test_buf_limit(void **state) {
    struct buf b;
    buf_init(&b, 4);
    buf_c(&b, "abcd");
    assert_int_equal(buf_ok(&b), 0);
    buf_ch(&b, 'e');
    assert_int_equal(buf_ok(&b), ERR_TOO_LARGE);
    buf_reset(&b);
    buf_f(&b, "%d", 12);
    assert_str_eq(buf_view(&b), STR("12"));
    buf_release(&b);
}

static void test_arena_grow(void **state) {
    struct arena a;
    uint16_t *v = NULL;
    size_t cap = 0;
    arena_init(&a, 4096);
    for (size_t n = 0; n < 100; n++) {
        assert_true(n < cap || ARENA_GROW(&a, v, cap) == 0);
        v[n] = (uint16_t)n;
    }
    assert_int_equal(cap, 128);
    for (size_t n = 0; n < 100; n++) {
        assert_int_equal(v[n], n);
    }
    while (ARENA_GROW(&a, v, cap) == 0) {
    }
    assert_int_equal(v[99], 99); /* what could not grow is as it was */
    arena_release(&a);
}

static void test_arena_allowance(void **state) {
    struct arena a;
    arena_init(&a, 64 << 10);
    assert_true(arena_charge(&a, UINT64_MAX)); /* without an allowance */
    assert_true(arena_charge(&a, 1));
    arena_reset(&a);
    arena_allow(&a, 10);
    assert_true(arena_charge(&a, 4) && arena_charge(&a, 6));
    assert_false(arena_spent(&a));
    assert_false(arena_charge(&a, 1));
    assert_false(arena_charge(&a, UINT64_MAX)); /* no overflow */
    assert_true(arena_spent(&a));
    assert_non_null(arena_alloc(&a, 100)); /* to tell of it */
    assert_int_equal(arena_ok(&a), 0);
    arena_reset(&a);
    assert_false(arena_spent(&a));
    assert_false(arena_charge(&a, 11));
    arena_release(&a);
    assert_false(arena_charge(&a, 11));
}

static void test_arena(void **state) {
    struct arena a;
    arena_init(&a, 64 << 10);
    assert_str_eq(arena_f(&a, "%s-%d", "x", 5), STR("x-5"));
    for (int i = 0; i < 100; i++) {
        assert_non_null(arena_zalloc(&a, 100));
    }
    arena_reset(&a);
    assert_false(arena_full(&a));
    assert_null(arena_alloc(&a, 65 << 10));
    assert_int_equal(arena_ok(&a), ERR_NOMEM);
    assert_null(arena_alloc(&a, 1)); /* sticky */
    assert_true(arena_full(&a));
    arena_reset(&a);
    assert_false(arena_full(&a));
    assert_non_null(arena_alloc(&a, 1));
    while (arena_alloc(&a, 1 << 10) != NULL) {
    }
    assert_true(arena_full(&a));
    arena_release(&a);
    mem_fault(1, 0);
    assert_null(arena_alloc(&a, 48 << 10)); /* of no size that is kept */
    mem_fault(0, 0);
    assert_int_equal(arena_ok(&a), ERR_NOMEM);
    assert_null(arena_alloc(&a, 65 << 10)); /* the first failure counts */
    assert_false(arena_full(&a));
    arena_release(&a);
}

VEC(int_vec, int);

static void test_vec(void **state) {
    struct int_vec v = {0};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(int_vec_push(&v, i), 0);
    }
    int_vec_remove(&v, 0);
    int_vec_swap_remove(&v, 0);
    assert_int_equal(v.n, 998);
    assert_int_equal(v.v[0], 999);
    assert_int_equal(v.v[1], 2);
    int_vec_release(&v);
}

static void test_map_against_model(void **state) {
    enum { KEYS = 500 };
    static char keys[KEYS][16];
    static int present[KEYS];
    struct map m = {0};
    struct prng r;
    prng_seed(&r, 1);
    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "key-%d", i);
    }
    size_t live = 0;
    for (int step = 0; step < 20000; step++) {
        size_t k = prng_below(&r, KEYS);
        if (prng_below(&r, 2)) {
            assert_int_equal(map_put(&m, str_of(keys[k]), &present[k], NULL), 0);
            live += !present[k];
            present[k] = 1;
        } else {
            assert_ptr_equal(map_del(&m, str_of(keys[k])), present[k] ? &present[k] : NULL);
            live -= (size_t)present[k];
            present[k] = 0;
        }
        assert_int_equal(map_count(&m), live);
    }
    size_t seen = 0;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&m, &i));) {
        seen++;
        assert_ptr_equal(map_get(&m, e->key), e->value);
    }
    assert_int_equal(seen, live);
    map_release(&m);
}

struct item {
    int key;
    size_t place;
};

static int by_key(const void *a, const void *b, void *ctx) {
    return ((const struct item *)a)->key - ((const struct item *)b)->key;
}

static void test_heap(void **state) {
    static struct item items[300];
    struct heap h;
    struct prng r;
    prng_seed(&r, 2);
    heap_init(&h, by_key, NULL, offsetof(struct item, place));
    for (int i = 0; i < 300; i++) {
        items[i].key = (int)prng_below(&r, 1000);
        assert_int_equal(heap_push(&h, &items[i]), 0);
    }
    for (int i = 0; i < 300; i += 3) {
        heap_remove(&h, &items[i]);
    }
    for (int i = 1; i < 300; i += 3) {
        items[i].key = (int)prng_below(&r, 1000);
        heap_fix(&h, &items[i]);
    }
    int last = -1, n = 0;
    for (struct item *it; (it = heap_pop(&h)); n++) {
        assert_true(it->key >= last && it->place == 0);
        last = it->key;
    }
    assert_int_equal(n, 200);
    heap_release(&h);
}

static void test_err(void **state) {
    struct err e = {0};
    assert_int_equal(err_set(&e, ERR_INVALID, "spec.%s: must be positive", "x"), ERR_INVALID);
    assert_int_equal(err_wrap(&e, "jobs \"j\""), ERR_INVALID);
    assert_string_equal(e.text, "jobs \"j\": spec.x: must be positive");
    assert_string_equal(err_name(ERR_CONFLICT), "Conflict");
    assert_string_equal(err_name(ERR_UNSUPPORTED), "Unsupported");
    assert_int_equal(err_set(NULL, ERR_IO, "x"), ERR_IO);
}

static void test_alloc_faults(void **state) {
    for (uint64_t nth = 1;; nth++) {
        struct map m = {0};
        struct buf b;
        buf_init(&b, 0);
        mem_fault(nth, 0);
        int r = map_put(&m, STR("k"), &m, NULL);
        buf_c(&b, "value");
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(hit == (r != 0 || buf_ok(&b) != 0));
        map_release(&m);
        buf_release(&b);
        if (!hit) {
            assert_true(nth > 2);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str_numbers),  cmocka_unit_test(test_str_next),
        cmocka_unit_test(test_str_search),   cmocka_unit_test(test_buf_json),
        cmocka_unit_test(test_buf_limit),    cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_grow),   cmocka_unit_test(test_arena_allowance),
        cmocka_unit_test(test_vec),          cmocka_unit_test(test_map_against_model),
        cmocka_unit_test(test_heap),         cmocka_unit_test(test_err),
        cmocka_unit_test(test_alloc_faults),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

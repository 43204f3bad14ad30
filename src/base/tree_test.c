/* Tests of tree against a plain sorted array, at random and at the edges of its leaves. */
#include "base/err.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/test.h"
#include "base/tree.h"

enum { KEYS = 2000 };

static int items[KEYS]; /* items[i] == i */

static int cmp_int(const void *key, const void *item) {
    int a = *(const int *)key, b = *(const int *)item;
    return (a > b) - (a < b);
}

/* The tree holds exactly the keys that are set in `in`, in order, from every third seek point. */
static void check(const struct tree *t, const bool *in) {
    size_t n = 0;
    for (int i = 0; i < KEYS; i++) {
        n += in[i];
    }
    assert_int_equal(t->n, n);
    for (int from = 0; from < KEYS; from += KEYS / 3) {
        struct tree_pos p = tree_seek(t, from ? &from : NULL);
        for (int i = from; i < KEYS; i++) {
            if (in[i]) {
                assert_ptr_equal(tree_next(t, &p), &items[i]);
            }
        }
        assert_null(tree_next(t, &p));
    }
    for (int i = 0; i < KEYS; i++) {
        assert_ptr_equal(tree_get(t, &i), in[i] ? &items[i] : NULL);
    }
}

static void setup(void) {
    for (int i = 0; i < KEYS; i++) {
        items[i] = i;
    }
}

static void test_random(void **state) {
    setup();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct prng r;
        prng_seed(&r, seed);
        bool in[KEYS] = {false};
        struct tree t;
        tree_init(&t, cmp_int);
        for (int step = 0; step < 6000; step++) {
            int k = (int)prng_below(&r, KEYS);
            /* grows for a while, then shrinks to almost nothing, so that leaves split, join and go */
            bool add = prng_below(&r, 10) < (step < 3000 ? 7u : 2u);
            if (add) {
                void *old = &t;
                assert_int_equal(tree_put(&t, &k, &items[k], &old), 0);
                assert_ptr_equal(old, in[k] ? &items[k] : NULL);
            } else {
                assert_ptr_equal(tree_del(&t, &k), in[k] ? &items[k] : NULL);
            }
            in[k] = add;
            if (step % 1000 == 999) {
                check(&t, in);
            }
        }
        tree_release(&t);
    }
}

static void test_ascending_fills(void **state) {
    setup();
    struct tree t;
    tree_init(&t, cmp_int);
    bool in[KEYS];
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(tree_put(&t, &i, &items[i], NULL), 0);
        in[i] = true;
    }
    check(&t, in);
    assert_true(t.n_leaves <= KEYS / 62 + 1);
    for (int i = 0; i < KEYS; i++) {
        assert_ptr_equal(tree_del(&t, &i), &items[i]);
    }
    assert_int_equal(t.n_leaves, 0);
    assert_null(tree_del(&t, &items[3]));
    tree_release(&t);
}

static void test_no_memory(void **state) {
    setup();
    struct tree t;
    tree_init(&t, cmp_int);
    bool in[KEYS] = {false};
    for (int i = 0; i < KEYS; i++) {
        int k = (i * 37) % KEYS;
        for (uint64_t nth = 1;; nth++) {
            mem_fault(nth, 0);
            int code = tree_put(&t, &k, &items[k], NULL);
            int hit = mem_fault_hit();
            mem_fault(0, 0);
            assert_int_equal(code, hit ? ERR_NOMEM : 0);
            if (code == 0) {
                break;
            }
            assert_null(tree_get(&t, &k));
        }
        in[k] = true;
    }
    check(&t, in);
    tree_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_ascending_fills),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

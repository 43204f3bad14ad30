/* Tests of pset against a plain array, with few hashes so that runs collide and wrap. */
#include "base/prng.h"
#include "base/test.h"
#include "mirror/pset.h"

enum { ITEMS = 200 };

static void test_model(void **state) {
    static int items[ITEMS];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct prng r;
        prng_seed(&r, seed);
        struct pset s = {0};
        bool in[ITEMS] = {false};
        for (int step = 0; step < 4000; step++) {
            size_t k = prng_below(&r, ITEMS);
            uint64_t hash = (k % 23) * 11;
            if (in[k]) {
                pset_del(&s, hash, &items[k]);
            } else {
                assert_int_equal(pset_add(&s, hash, &items[k]), 0);
            }
            in[k] = !in[k];
            size_t other = (k + 23) % ITEMS; /* of the same hash, but at the end of the array */
            if (in[k] && !in[other] && other % 23 == k % 23) {
                pset_swap(&s, hash, &items[k], &items[other]);
                in[k] = false;
                in[other] = true;
            }
            uint64_t h = prng_below(&r, 23);
            size_t want = 0, got = 0;
            for (size_t i = h; i < ITEMS; i += 23) {
                want += in[i];
            }
            int *item;
            for (size_t i = pset_first(&s, h * 11); (item = pset_next(&s, h * 11, &i));) {
                assert_true(in[item - items] && (size_t)(item - items) % 23 == h);
                got++;
            }
            assert_int_equal(got, want);
        }
        pset_release(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* mig_set: the same geometry as mig.h has, place by place; what an instance costs; what counts allow. */
#include "core/mig/mig_set.h"

#include "base/test.h"
#include "core/mig/mig.h"

enum { G1, G2, G3, G7, G1ME, PROFILES };
/* An H200, as it prints itself. */
static const struct gpu_profile H200[PROFILES] = {
    {.id = 19, .size = 1, .compute_slices = 1, .max_instances = 7, .starts = 0x7f},
    {.id = 14, .size = 2, .compute_slices = 2, .max_instances = 3, .starts = 0x15},
    {.id = 9, .size = 4, .compute_slices = 3, .max_instances = 2, .starts = 0x11},
    {.id = 0, .size = 8, .compute_slices = 7, .max_instances = 1, .starts = 0x01},
    {.id = 20, .size = 1, .compute_slices = 1, .max_instances = 1, .starts = 0x7f, .media = true},
};

static void make(struct mig_set *s, size_t n) {
    mig_set_begin(s, 8, H200, n);
    mig_set_add_all(s, H200, n);
    mig_set_close(s);
}

static int find(const struct mig_set *s, int profile, int start) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->p[i].profile == profile && s->p[i].start == start) {
            return (int)i;
        }
    }
    return -1;
}

/* Two instances may stand together by masks exactly where they may by what is placed. */
static void test_same_as_placed(void **state) {
    struct mig_profile profiles[PROFILES];
    struct mig_board board = {profiles, PROFILES, 8};
    struct mig_set s;

    make(&s, PROFILES);
    assert_int_equal(s.n, 1 + 7 + 3 + 2 + 1 + 7);
    for (size_t i = 0; i < PROFILES; i++) {
        profiles[i] = (struct mig_profile){.size = H200[i].size,
                                           .max = H200[i].max_instances,
                                           .starts = H200[i].starts,
                                           .media = H200[i].media};
    }
    for (size_t i = 1; i < s.n; i++) {
        struct mig_state placed = {{0}};
        placed.at[s.p[i].start] = (int8_t)(s.p[i].profile + 1);
        int32_t options = 0;
        for (size_t j = 1; j < s.n; j++) {
            bool legal = mig_legal(&board, &placed, (size_t)s.p[j].profile, s.p[j].start);
            struct mig_sums sums = mig_sums_of(&s, (uint8_t)j);
            mig_sums_add(&sums, (uint8_t)i);
            bool free = (s.p[i].block & mig_bit(j)) == 0 && mig_sums_allow(&sums);
            assert_true(legal == free);
            options += free && !s.p[j].media;
        }
        assert_int_equal(options, mig_capability(&board, &placed));
    }
    assert_int_equal(s.p[0].block, s.all);
}

static void test_least_loss(void **state) {
    struct mig_set s;
    int32_t loss;

    make(&s, PROFILES);
    uint64_t free = s.all & ~s.whole, ones = 0, twos = 0;
    for (size_t i = 0; i < s.n; i++) {
        ones |= s.p[i].profile == G1 ? mig_bit(i) : 0;
        twos |= s.p[i].profile == G2 ? mig_bit(i) : 0;
    }
    assert_int_equal(mig_set_least_loss(&s, free, ones, &loss), find(&s, G1, 6));
    assert_int_equal(loss, 3); /* itself, 3g at 4, 7g */
    assert_int_equal(mig_set_least_loss(&s, free, twos, &loss), find(&s, G2, 0));
    assert_int_equal(mig_set_weight(&s, s.all), 13 + MIG_WHOLE_WEIGHT);
    assert_int_equal(mig_set_together(&s, G1, ones), 7);
    assert_int_equal(mig_set_together(&s, G2, twos), 3);
    assert_int_equal(mig_set_together(&s, MIG_WHOLE, s.whole), 1);
}

/* A board that offers more starts than its counts allow. */
static void test_counts(void **state) {
    struct gpu_profile p = {.size = 1, .compute_slices = 1, .max_instances = 2, .starts = 0xf};
    struct mig_set s;

    make(&s, PROFILES);
    assert_false(mig_set_can_bind(&s)); /* the legal starts say it all */
    mig_set_begin(&s, 4, &p, 1);
    mig_set_add_all(&s, &p, 1);
    mig_set_close(&s);
    assert_true(mig_set_can_bind(&s));
    struct mig_sums sums = mig_sums_of(&s, 1);
    assert_true(mig_sums_allow(&sums)); /* alone */
    mig_sums_add(&sums, 2);
    assert_false(mig_sums_allow(&sums)); /* a card of one compute slice */
    assert_int_equal(mig_set_together(&s, 0, s.all & ~s.whole), 1);
}

/* A profile that has no room for all of its starts is not offered at all. */
static void test_full(void **state) {
    struct gpu_profile p[10];
    struct mig_set s;

    for (size_t i = 0; i < 10; i++) {
        p[i] = (struct gpu_profile){
            .size = 1, .compute_slices = 1, .max_instances = 7, .starts = 0x7f};
    }
    mig_set_begin(&s, 8, p, 10);
    mig_set_add_all(&s, p, 10);
    assert_int_equal(s.n, 1 + 8 * 7);
    assert_int_equal(s.p[s.n - 1].profile, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_placed),
        cmocka_unit_test(test_least_loss),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

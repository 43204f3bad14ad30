/* Tests of slice geometry: the number of valid states of known boards, and the best starts. */
#include "core/mig/mig.h"

#include <stdlib.h>

#include "base/test.h"

enum { G1, G2, G3, G4, G7, G1D, G1ME };
static const struct mig_profile SEVEN[] = {
    {.id = 19, .size = 1, .max = 7, .starts = 0x7f},
    {.id = 14, .size = 2, .max = 3, .starts = 0x15},
    {.id = 9, .size = 4, .max = 2, .starts = 0x11},
    {.id = 5, .size = 4, .max = 1, .starts = 0x01},
    {.id = 0, .size = 8, .max = 1, .starts = 0x01},
    {.id = 15, .size = 2, .max = 4, .starts = 0x55},
    {.id = 20, .size = 1, .max = 1, .starts = 0x7f, .media = true},
};
static const struct mig_profile A30[] = {
    {.id = 14, .size = 1, .max = 4, .starts = 0xf},
    {.id = 5, .size = 2, .max = 2, .starts = 0x5},
    {.id = 0, .size = 4, .max = 1, .starts = 0x1},
};
static const struct mig_profile RTX[] = {
    {.id = 14, .size = 3, .max = 4, .starts = 0x249},
    {.id = 5, .size = 6, .max = 2, .starts = 0x41},
    {.id = 0, .size = 12, .max = 1, .starts = 0x1},
};

struct census {
    const struct mig_board *b;
    int states, maximal;
};

/* Each valid set of placed instances once: starts are filled in rising order. */
static void walk(struct census *c, struct mig_state *s, int32_t from) {
    bool grows = false;
    c->states++;
    for (int32_t i = 0; i < c->b->slices; i++) {
        for (size_t p = 0; p < c->b->n; p++) {
            if (!mig_legal(c->b, s, p, i)) {
                continue;
            }
            grows = true;
            if (i >= from) {
                s->at[i] = (int8_t)(p + 1);
                walk(c, s, i + 1);
                s->at[i] = 0;
            }
        }
    }
    c->maximal += !grows;
}

static void census(const struct mig_profile *p, size_t n, int32_t slices, int states, int maximal) {
    struct mig_board b = {p, n, slices};
    struct census c = {.b = &b};
    struct mig_state s = {{0}};
    walk(&c, &s, 0);
    assert_int_equal(c.states, states);
    assert_int_equal(c.maximal, maximal);
}

static void states(void **state) {
    census(SEVEN, 5, 8, 298, 19);
    census(SEVEN, 6, 8, 723, 78);
    census(SEVEN, 7, 8, 2319, 239);
    census(A30, 3, 4, 26, 5);
    census(RTX, 3, 12, 26, 5);
}

static void best_starts(void **state) {
    struct mig_board b = {SEVEN, 7, 8}; /* media counts for nothing in capability */
    struct mig_state empty = {{0}};
    assert_int_equal(mig_capability(&b, &empty), 18);
    const struct {
        size_t profile;
        int32_t start, left;
    } want[] = {{G1, 6, 14}, {G1D, 6, 14}, {G2, 4, 12}, {G3, 4, 10}, {G4, 0, 7}, {G7, 0, 0}};
    for (size_t i = 0; i < 6; i++) {
        int32_t left = -1;
        assert_int_equal(mig_best_start(&b, &empty, want[i].profile, 0, &left), want[i].start);
        assert_int_equal(left, want[i].left);
    }
    const int32_t after_1g[] = {12, 12, 12, 12, 13, 13, 14};
    for (int32_t i = 0; i < 7; i++) {
        struct mig_state s = {{0}};
        s.at[i] = G1 + 1;
        assert_int_equal(mig_capability(&b, &s), after_1g[i]);
    }
}

static void media_and_most(void **state) {
    struct mig_board b = {SEVEN, 7, 8};
    struct mig_state s = {{0}};
    s.at[0] = G1ME + 1;
    assert_false(mig_legal(&b, &s, G1ME, 1));
    assert_true(mig_legal(&b, &s, G1, 1));
    const int32_t most[] = {7, 3, 2, 1, 1, 4, 1};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(mig_most(&b, i), most[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),
        cmocka_unit_test(best_starts),
        cmocka_unit_test(media_and_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

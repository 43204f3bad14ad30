/* Tests of tallies: shares in and out, never a rest. */
#include "base/test.h"

#include "base/err.h"
#include "base/mem.h"
#include "control/queue/queue_tally.h"
#include "core/admit/engine.h"

static void count(struct tally_share *s, struct tally *l, struct tally *c, enum tally_state state,
                  const struct held_amount *h, size_t n, bool news) {
    bool got = !news;
    assert_int_equal(tally_count(s, l, c, state, h, n, &got), 0);
    assert_int_equal(got, news);
}

static void transitions(void **state) {
    struct tally l = {0}, c = {0};
    struct tally_share a = {0}, b = {0};
    struct held_amount h[] = {{.flavor = 3, .resource = 1, .v = 5},
                              {.flavor = 1, .resource = 2, .v = 7},
                              {.set = 1, .flavor = 3, .resource = 1, .v = 10}};
    count(&a, &l, &c, TALLY_PENDING, NULL, 0, true);
    count(&a, &l, &c, TALLY_PENDING, NULL, 0, false);
    tally_told(&a, true);
    assert_int_equal(l.told, 1);
    count(&b, &l, &c, TALLY_PENDING, NULL, 0, true);
    assert_int_equal(c.pending, 2);
    count(&a, &l, &c, TALLY_RESERVING, h, 3, true);
    assert_int_equal(l.told, 0);
    assert_int_equal(c.pending, 1);
    assert_int_equal(c.reserving, 1);
    assert_int_equal(c.admitted, 0);
    assert_int_equal(tally_reserved(&c, 3, 1), 15);
    assert_int_equal(tally_reserved(&l, 1, 2), 7);
    assert_int_equal(tally_admitted(&c, 3, 1), 0);
    count(&a, &l, &c, TALLY_ADMITTED, h, 3, true);
    count(&a, &l, &c, TALLY_ADMITTED, h, 3, false);
    assert_int_equal(tally_admitted(&c, 3, 1), 15);
    count(&a, &l, &c, TALLY_ADMITTED, h, 1, true); /* pods were given back */
    assert_int_equal(tally_admitted(&c, 3, 1), 5);
    assert_int_equal(tally_reserved(&c, 1, 2), 0);
    count(&a, NULL, &c, TALLY_ADMITTED, h, 1, true); /* its LocalQueue changed */
    assert_int_equal(l.admitted, 0);
    assert_int_equal(c.admitted, 1);
    count(&a, NULL, NULL, TALLY_NONE, NULL, 0, true);
    count(&b, NULL, NULL, TALLY_NONE, NULL, 0, true);
    assert_int_equal(c.reserving + c.admitted + c.pending + l.pending + l.reserving, 0);
    assert_int_equal(tally_reserved(&c, 3, 1), 0);
    tally_release(&l);
    tally_release(&c);
}

/* A sum beyond an amount is shown as the greatest one, and comes back when it shrinks. */
static void saturates(void **state) {
    struct tally c = {0};
    struct tally_share a = {0}, b = {0};
    struct held_amount big = {.v = AMOUNT_MAX}, small = {.v = 9};
    count(&a, NULL, &c, TALLY_ADMITTED, &big, 1, true);
    count(&b, NULL, &c, TALLY_ADMITTED, &small, 1, true);
    assert_true(tally_admitted(&c, 0, 0) == AMOUNT_MAX);
    count(&a, NULL, NULL, TALLY_NONE, NULL, 0, true);
    assert_int_equal(tally_admitted(&c, 0, 0), 9);
    count(&b, NULL, NULL, TALLY_NONE, NULL, 0, true);
    tally_release(&c);
}

static void no_memory(void **state) {
    struct held_amount h = {.flavor = 1, .v = 1};
    for (uint64_t nth = 1; nth <= 3; nth++) {
        struct tally l = {0}, c = {0};
        struct tally_share a = {0};
        bool news;
        count(&a, &l, &c, TALLY_PENDING, NULL, 0, true);
        mem_fault(nth, 0);
        int r = tally_count(&a, &l, &c, TALLY_ADMITTED, &h, 1, &news);
        mem_fault(0, 0);
        assert_int_equal(r, ERR_NOMEM);
        assert_int_equal(c.pending, 1);
        assert_int_equal(c.admitted, 0);
        count(&a, &l, &c, TALLY_ADMITTED, &h, 1, true);
        assert_int_equal(tally_admitted(&l, 1, 0), 1);
        count(&a, NULL, NULL, TALLY_NONE, NULL, 0, true);
        tally_release(&l);
        tally_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transitions),
        cmocka_unit_test(saturates),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

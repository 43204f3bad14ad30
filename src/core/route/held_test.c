/* held_test: bounds, order, shares and pace of requests that wait; in virtual time, by seeds. */
#include "core/route/held.h"

#include "base/prng.h"
#include "base/test.h"

#define SECOND INT64_C(1000000000)
#define LATER (1000 * SECOND)

static char names[4096]; /* owners: their addresses */

static struct held_queue make(size_t most, size_t tenant, int64_t bytes, int64_t pace) {
    struct held_queue h;
    struct held_bounds b = {
        .most = most, .most_tenant = tenant, .bytes = bytes, .pace = pace, .burst = 2};
    assert_int_equal(held_init(&h, &b, 0), 0);
    return h;
}

static enum held_refusal add(struct held_queue *h, uint64_t tenant, int32_t weight,
                             int32_t priority, int owner, void **shed) {
    uint64_t handle;
    struct held_request r = {.tenant = tenant,
                             .weight = weight,
                             .priority = priority,
                             .cost = 1,
                             .bytes = 10,
                             .deadline = LATER,
                             .owner = &names[owner]};
    return held_add(h, &r, 0, &handle, shed);
}

/* Two tenants that always wait share 3 to 1, whatever their numbers. */
static void shares(void **state) {
    struct held_queue h = make(2000, 0, 0, 0);
    void *shed;
    int got[2] = {0, 0};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(add(&h, 1, 1, 0, 1, &shed), HELD_TAKEN);
    }
    for (int i = 0; i < 400; i++) {
        assert_int_equal(add(&h, 2, 3, 0, 2, &shed), HELD_TAKEN);
    }
    for (int i = 0; i < 400; i++) {
        got[(char *)held_next(&h, 0) - names - 1]++;
        if (i % 40 == 39) { /* at any moment, to one request */
            assert_in_range(got[1], (i + 1) * 3 / 4 - 1, (i + 1) * 3 / 4 + 1);
        }
    }
    held_release(&h);
}

/* Who was away gets nothing for it: from then on they take turns. */
static void no_credit(void **state) {
    struct held_queue h = make(2000, 0, 0, 0);
    void *shed;
    int got[2] = {0, 0};
    for (int i = 0; i < 500; i++) {
        add(&h, 1, 1, 0, 1, &shed);
    }
    for (int i = 0; i < 300; i++) {
        held_next(&h, 0);
    }
    for (int i = 0; i < 200; i++) {
        add(&h, 2, 1, 0, 2, &shed);
    }
    for (int i = 0; i < 100; i++) {
        got[(char *)held_next(&h, 0) - names - 1]++;
    }
    assert_in_range(got[1], 49, 51);
    held_release(&h);
}

static void bounds(void **state) {
    struct held_queue h = make(4, 3, 45, 0);
    void *shed;
    uint64_t handle;
    assert_int_equal(add(&h, 1, 1, 0, 1, &shed), HELD_TAKEN);
    assert_int_equal(add(&h, 1, 1, 0, 2, &shed), HELD_TAKEN);
    assert_int_equal(add(&h, 1, 1, 0, 3, &shed), HELD_TAKEN);
    assert_int_equal(add(&h, 1, 1, 0, 4, &shed), HELD_TENANT_FULL);
    assert_int_equal(add(&h, 2, 1, 0, 5, &shed), HELD_TAKEN);
    assert_int_equal(add(&h, 3, 1, 0, 6, &shed), HELD_FULL);
    assert_null(shed);
    assert_int_equal(add(&h, 3, 1, 5, 7, &shed),
                     HELD_TAKEN); /* more important: the newest of the others goes */
    assert_ptr_equal(shed, &names[5]);
    assert_ptr_equal(held_next(&h, 0), &names[7]);
    struct held_request large = {
        .tenant = 9, .weight = 1, .priority = 9, .bytes = 46, .deadline = LATER, .owner = names};
    assert_int_equal(held_add(&h, &large, 0, &handle, &shed), HELD_FULL);
    assert_null(shed); /* nobody goes for what cannot come */
    large.bytes = 1;
    assert_int_equal(held_add(&h, &large, LATER, &handle, &shed), HELD_LATE);
    held_release(&h);
}

static void handles(void **state) {
    struct held_queue h = make(4, 0, 0, 0);
    void *shed;
    uint64_t a, b;
    struct held_request r = {.tenant = 1, .weight = 1, .deadline = 5 * SECOND, .owner = &names[1]};
    assert_int_equal(held_add(&h, &r, 0, &a, &shed), HELD_TAKEN);
    assert_true(held_cancel(&h, a));
    assert_false(held_cancel(&h, a));
    assert_int_equal(held_add(&h, &r, 0, &b, &shed), HELD_TAKEN);
    assert_true(a != b);
    assert_false(held_cancel(&h, a));
    assert_int_equal(held_wait(&h, 0), 0);
    assert_null(held_expire(&h, 5 * SECOND - 1));
    assert_null(held_next(&h, 5 * SECOND)); /* too late to begin */
    assert_ptr_equal(held_expire(&h, 5 * SECOND), &names[1]);
    assert_int_equal(held_wait(&h, 0), -1);
    assert_int_equal(h.n, 0);
    assert_int_equal(h.bytes, 0);
    held_release(&h);
}

/* A server that has just started: two at once, then ten a second. */
static void paced(void **state) {
    struct held_queue h = make(100, 0, 0, 10);
    void *shed;
    int went = 0;
    for (int i = 0; i < 100; i++) {
        add(&h, (uint64_t)i % 7, 1, 0, i, &shed);
    }
    held_open(&h, 0);
    int64_t now = 0;
    while (now < 3 * SECOND) {
        while (held_next(&h, now) != NULL) {
            went++;
        }
        now += held_wait(&h, now);
    }
    assert_in_range(went, 31, 32);
    held_release(&h);
}

/* Any calls: sums hold, nobody is lost, nobody goes twice; the same seed gives the same order. */
static uint64_t random_life(uint64_t seed) {
    struct held_queue h = make(50, 12, 2000, 0);
    struct prng r;
    uint64_t trace = 0, handle[64] = {0};
    bool waits[4096] = {false};
    int in = 0, out = 0;
    prng_seed(&r, seed);
    for (int i = 0; i < 4000; i++) {
        void *owner = NULL, *shed = NULL;
        int64_t now = i * 10;
        struct held_request q = {.tenant = prng_below(&r, 6),
                                 .weight = (int32_t)prng_below(&r, 5) + 1,
                                 .priority = (int32_t)prng_below(&r, 3),
                                 .cost = (int64_t)prng_below(&r, 100),
                                 .bytes = (int64_t)prng_below(&r, 100),
                                 .owner = &names[i],
                                 .deadline = now + (int64_t)prng_below(&r, 900) + 1};
        switch (prng_below(&r, 4)) {
        case 0:
        case 1:
            if (held_add(&h, &q, now, &handle[i % 64], &shed) == HELD_TAKEN) {
                waits[i] = true;
                in++;
            }
            owner = shed;
            break;
        case 2:
            owner = held_next(&h, now);
            break;
        default:
            owner = held_expire(&h, now);
        }
        if (owner != NULL) {
            assert_true(waits[(char *)owner - names]);
            waits[(char *)owner - names] = false;
            trace = trace * 31 + (uint64_t)((char *)owner - names);
            out++;
        }
        assert_int_equal(h.n, in - out);
        assert_true(h.n <= 50 && h.bytes <= 2000 && h.bytes >= 0);
    }
    held_release(&h);
    return trace;
}

static bool is_not(void *ctx, void *owner) {
    return owner != ctx;
}

/* Who may not go is passed over, keeps the place, and uses up no release. */
static void passed_over(void **state) {
    struct held_queue h = make(10, 0, 0, 1);
    void *shed;
    for (int i = 1; i <= 4; i++) {
        add(&h, 1, 1, 0, i, &shed);
    }
    assert_ptr_equal(held_next_that(&h, 0, is_not, &names[1]), &names[2]);
    assert_ptr_equal(held_next_that(&h, 0, is_not, &names[1]), &names[3]);
    assert_null(held_next(&h, 0)); /* the burst of two is over */
    held_open(&h, 0);
    assert_ptr_equal(held_next_that(&h, 0, is_not, &names[4]), &names[1]);
    for (int i = 0; i < 100; i++) {
        assert_null(held_next_that(&h, 0, is_not, &names[4]));
    }
    assert_int_equal(h.n, 1);
    assert_ptr_equal(held_next(&h, 0), &names[4]);
    held_release(&h);
}

static void any_life(void **state) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        assert_true(random_life(seed) == random_life(seed));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),      cmocka_unit_test(no_credit), cmocka_unit_test(bounds),
        cmocka_unit_test(handles),     cmocka_unit_test(paced),     cmocka_unit_test(any_life),
        cmocka_unit_test(passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of booking_ledger: the sum of quota over random lives of bookings, writes in any order, stops anywhere. */
#include "base/test.h"

#include "base/prng.h"
#include "core/booking/booking_ledger.h"

enum { CELLS = 3, ROWS = 6 };

struct life {
    struct prng r;
    int64_t hardware[CELLS], standing[CELLS], has[ROWS + 1][CELLS], asked[ROWS][CELLS];
};

static int64_t below(struct life *w, int64_t n) {
    return (int64_t)prng_below(&w->r, (uint64_t)n);
}

static int64_t total(const struct life *w, size_t c) {
    int64_t sum = w->standing[c];
    for (size_t row = 0; row <= ROWS; row++) {
        sum += w->has[row][c];
    }
    return sum;
}

static void read(const struct life *w, struct booking_ledger *l) {
    for (size_t c = 0; c < CELLS; c++) {
        l->hardware[c] = w->hardware[c];
        l->standing[c] = w->standing[c];
        for (size_t row = 0; row <= ROWS; row++) {
            l->seen[booking_ledger_at(l, row, c)] = w->has[row][c];
            l->asked[booking_ledger_at(l, row, c)] = row < ROWS ? w->asked[row][c] : 0;
        }
    }
}

/* One object is written: all its cells at once. */
static bool write_row(struct life *w, const struct booking_ledger *l, size_t row) {
    bool wrote = false;
    for (size_t c = 0; c < CELLS; c++) {
        int64_t before = total(w, c), put = l->put[booking_ledger_at(l, row, c)];
        wrote = wrote || put != w->has[row][c];
        assert_true(put >= 0);
        assert_true(!l->hold || put <= w->has[row][c]); /* held: nothing is raised */
        w->has[row][c] = put;
        assert_true(total(w, c) <= w->hardware[c] || total(w, c) <= before);
    }
    return wrote;
}

/* Some of the writes, in any order; true when all were made. */
static bool step(struct life *w, bool all) {
    struct arena a;
    struct booking_ledger l;
    bool wrote = false;
    arena_init(&a, 1 << 20);
    assert_int_equal(booking_ledger_init(&l, &a, CELLS, ROWS), 0);
    read(w, &l);
    l.hold = !all && below(w, 4) == 0;
    booking_ledger_settle(&l);
    size_t from = (size_t)below(w, ROWS + 1);
    for (size_t i = 0; i <= ROWS; i++) {
        if (all || below(w, 2) == 0) {
            wrote = write_row(w, &l, (from + i) % (ROWS + 1)) || wrote;
        }
    }
    arena_release(&a);
    return wrote;
}

static void change(struct life *w) {
    size_t c = (size_t)below(w, CELLS);
    switch (below(w, 6)) {
    case 0:
        w->hardware[c] = below(w, 12);
        break;
    case 1:
        w->standing[c] = below(w, 6);
        break;
    case 2:
        w->has[below(w, ROWS + 1)][c] = below(w, 12); /* somebody edits */
        break;
    default:
        w->asked[below(w, ROWS)][c] = below(w, 5);
    }
}

static void lives(void **state) {
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct life w = {0};
        prng_seed(&w.r, seed);
        for (size_t c = 0; c < CELLS; c++) {
            w.hardware[c] = 8;
            w.has[ROWS][c] = 8;
        }
        for (int i = 0; i < 40; i++) {
            change(&w);
            step(&w, false);
        }
        for (int i = 0; i < 4 && step(&w, true); i++) {
        }
        assert_false(step(&w, true)); /* and then it rests */
        for (size_t c = 0; c < CELLS; c++) {
            int64_t most = w.standing[c] > w.hardware[c] ? w.standing[c] : w.hardware[c];
            assert_int_equal(total(&w, c), most);
        }
    }
}

/* Who comes first is served first; the pool gets what is left. */
static void order(void **state) {
    struct arena a;
    struct booking_ledger l;
    arena_init(&a, 1 << 20);
    assert_int_equal(booking_ledger_init(&l, &a, 1, 3), 0);
    l.hardware[0] = 8;
    l.standing[0] = 2;
    l.asked[0] = 4;
    l.asked[1] = 3;
    l.asked[2] = 1;
    l.seen[3] = 6;
    booking_ledger_settle(&l);
    assert_int_equal(l.want[0], 4);
    assert_int_equal(l.want[1], 2);
    assert_int_equal(l.want[2], 0);
    assert_int_equal(l.want[3], 0);
    assert_int_equal(l.put[3], 0); /* lowered now */
    assert_int_equal(l.put[0], 0); /* raised when that is seen */
    l.seen[3] = 0;
    booking_ledger_settle(&l);
    assert_int_equal(l.put[0], 4);
    assert_int_equal(l.put[1], 2);
    l.standing[0] = 20; /* beyond what there is */
    booking_ledger_settle(&l);
    assert_int_equal(l.want[0] + l.want[1] + l.want[3], 0);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives),
        cmocka_unit_test(order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

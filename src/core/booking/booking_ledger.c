/* booking_ledger (core): see booking_ledger.h. */
#include "core/booking/booking_ledger.h"

#include "base/err.h"

int booking_ledger_init(struct booking_ledger *l, struct arena *a, size_t n_cells,
                        size_t n_bookings) {
    size_t n = (n_bookings + 1) * n_cells;
    *l = (struct booking_ledger){
        .n_cells = n_cells,
        .n_bookings = n_bookings,
        .hardware = ARENA_ARRAY(a, int64_t, n_cells + 1),
        .standing = ARENA_ARRAY(a, int64_t, n_cells + 1),
        .seen = ARENA_ARRAY(a, int64_t, n + 1),
        .asked = ARENA_ARRAY(a, int64_t, n + 1),
        .want = ARENA_ARRAY(a, int64_t, n + 1),
        .put = ARENA_ARRAY(a, int64_t, n + 1),
    };
    return arena_ok(a);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void settle_cell(struct booking_ledger *l, size_t c) {
    int64_t left = l->hardware[c] - least(l->standing[c], l->hardware[c]);
    bool lower = l->hold;
    for (size_t row = 0; row <= l->n_bookings; row++) {
        size_t at = booking_ledger_at(l, row, c);
        l->want[at] = row < l->n_bookings ? least(l->asked[at], left) : left;
        left -= l->want[at];
        lower = lower || l->seen[at] > l->want[at];
    }
    for (size_t row = 0; row <= l->n_bookings; row++) {
        size_t at = booking_ledger_at(l, row, c);
        l->put[at] = lower ? least(l->seen[at], l->want[at]) : l->want[at];
    }
}

void booking_ledger_settle(struct booking_ledger *l) {
    for (size_t c = 0; c < l->n_cells; c++) {
        settle_cell(l, c);
    }
}

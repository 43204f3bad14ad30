/* booking_waitlist (core): the order of the waitlist, and which bookings may pass others. */
#include <stdlib.h>

#include "core/booking/booking.h"

static int order(const void *pa, const void *pb) {
    const struct booking_waiter *a = pa, *b = pb;
    if (a->class_rank != b->class_rank) {
        return a->class_rank > b->class_rank ? -1 : 1;
    }
    if (a->used != b->used) {
        return a->used < b->used ? -1 : 1;
    }
    if (a->since != b->since) {
        return a->since < b->since ? -1 : 1;
    }
    return str_cmp(a->name, b->name);
}

void booking_waitlist_sort(struct booking_waiter *v, size_t n) {
    if (n > 0) {
        qsort(v, n, sizeof(*v), order);
    }
}

static bool flexible(const struct booking_waiter *w) {
    return w->latest > w->earliest;
}

static int64_t from_of(const struct booking_waiter *w) {
    return flexible(w) ? w->earliest : w->ask.start;
}

static int64_t to_of(const struct booking_waiter *w) {
    return flexible(w) ? w->latest : w->ask.end;
}

static bool lines_meet(const struct calendar_line *a, const struct calendar_line *b) {
    for (size_t i = 0; i < a->n_flavors; i++) {
        for (size_t k = 0; k < b->n_flavors; k++) {
            if (str_eq(a->flavors[i], b->flavors[k])) {
                return true;
            }
        }
    }
    return a->n_flavors == 0 || b->n_flavors == 0;
}

/* Could one have what the other needs? */
static bool compete(const struct booking_waiter *a, const struct booking_waiter *b) {
    if (from_of(a) >= to_of(b) || from_of(b) >= to_of(a)) {
        return false;
    }
    for (size_t i = 0; i < a->ask.n_lines; i++) {
        for (size_t k = 0; k < b->ask.n_lines; k++) {
            if (lines_meet(&a->ask.lines[i], &b->ask.lines[k])) {
                return true;
            }
        }
    }
    return false;
}

static bool may_be_passed(const struct booking_waiter *w, int64_t now) {
    return w->passes < BOOKING_PASSES_MAX && now - w->since < BOOKING_PASS_SECONDS;
}

/* Nobody before it in line forbids it. */
static bool may_pass(const struct booking_waiter *v, size_t i, int64_t now) {
    for (size_t k = 0; k < i; k++) {
        if (!v[k].granted && !may_be_passed(&v[k], now) && compete(&v[k], &v[i])) {
            return false;
        }
    }
    return true;
}

/* 0: it is in the calendar; ERR_CONFLICT: no room; ERR_NOMEM. */
static int grant(struct calendar *c, struct booking_waiter *w, int64_t now) {
    struct calendar_ask ask = w->ask;
    if (flexible(w)) {
        int r = calendar_fit(c, &ask, (struct str){0}, w->earliest > now ? w->earliest : now,
                             w->latest, w->min_s, &ask.start, &ask.end);
        if (r != 0) {
            return r == ERR_NOMEM ? r : ERR_CONFLICT;
        }
    } else if (ask.start < now) {
        return ERR_CONFLICT;
    }
    int r = calendar_insert(c, &ask, NULL);
    if (r == 0) {
        w->granted = true;
        w->start = ask.start;
        w->end = ask.end;
    }
    return r == 0 || r == ERR_NOMEM ? r : ERR_CONFLICT;
}

int booking_waitlist_run(struct calendar *c, struct booking_waiter *v, size_t n, int64_t now) {
    int32_t position = 0;
    int r = 0;
    booking_waitlist_sort(v, n);
    for (size_t i = 0; i < n; i++) {
        v[i].granted = v[i].passed = false;
        v[i].position = 0;
    }
    for (size_t i = 0; i < n; i++) {
        int one = r != 0 || !may_pass(v, i, now) ? ERR_CONFLICT : grant(c, &v[i], now);
        r = one == ERR_NOMEM ? ERR_NOMEM : r;
        for (size_t k = 0; one == 0 && k < i; k++) {
            v[k].passed = v[k].passed || (!v[k].granted && compete(&v[k], &v[i]));
        }
        v[i].position = v[i].granted ? 0 : ++position;
    }
    return r;
}

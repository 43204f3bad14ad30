/*
 * clock: time and timers by interface, so that one controller runs in real and in virtual time.
 *
 * `net` has the real one (on its loop), `sim` a virtual one, tests a manual one. wall_ns is nanoseconds since 1970 UTC
 * and may step; mono_ns never goes back and has no meaning between processes. All calls are made on the owner's thread.
 */
#ifndef BERTH_BASE_CLOCK_H
#define BERTH_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

struct timer; /* opaque, made by the clock */

/* Told when the wall clock was set: what waits for a wall time by a timer waits for the wrong moment then, and is to be
 * judged anew. The owner's memory; `stepped` may start timers, but add or remove no watch. */
struct clock_watch {
    struct clock_watch *prev, *next;
    void (*stepped)(void *ctx);
    void *ctx;
};

struct clock {
    int64_t (*wall_ns)(struct clock *c);
    int64_t (*mono_ns)(struct clock *c);
    /* A timer that is not running; NULL when out of memory. */
    struct timer *(*timer_new)(struct clock *c, void (*fire)(void *ctx), void *ctx);
    /* Fires once, delay_ns from now (>= 0); starting a running timer moves it. Never fires inside this call. */
    void (*timer_start)(struct timer *t, int64_t delay_ns);
    void (*timer_stop)(struct timer *t);
    void (*timer_free)(struct timer *t); /* NULL is a no-op */
    struct clock_watch *watches;         /* see clock_watch_add */
};

static inline int64_t clock_wall(struct clock *c) {
    return c->wall_ns(c);
}
static inline int64_t clock_mono(struct clock *c) {
    return c->mono_ns(c);
}

static inline void clock_watch_add(struct clock *c, struct clock_watch *w) {
    w->prev = NULL;
    w->next = c->watches;
    if (w->next) {
        w->next->prev = w;
    }
    c->watches = w;
}

/* One that was not added is left as it is. */
static inline void clock_watch_remove(struct clock *c, struct clock_watch *w) {
    if (w->prev) {
        w->prev->next = w->next;
    } else if (c->watches == w) {
        c->watches = w->next;
    }
    if (w->next) {
        w->next->prev = w->prev;
    }
    w->prev = w->next = NULL;
}

/* By whoever has the clock, after a step of wall_ns. */
static inline void clock_stepped(struct clock *c) {
    for (struct clock_watch *w = c->watches; w; w = w->next) {
        w->stepped(w->ctx);
    }
}

#endif

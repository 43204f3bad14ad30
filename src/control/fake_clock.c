/* fake_clock: see fake_clock.h. */
#include "control/fake_clock.h"

#include <assert.h>

#include "base/mem.h"

#define DEFAULT_WALL (INT64_C(1767225600) * NS_PER_SEC) /* 2026-01-01 */

struct timer {
    struct fake_clock *clock;
    void (*fire)(void *ctx);
    void *ctx;
    int64_t due;
    uint64_t order;
    size_t place;
};

static int timer_cmp(const void *va, const void *vb, void *ctx) {
    const struct timer *a = va, *b = vb;
    if (a->due != b->due) {
        return a->due < b->due ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

static int64_t fake_wall(struct clock *c) {
    struct fake_clock *f = (struct fake_clock *)c;
    return f->wall + f->now;
}

static int64_t fake_mono(struct clock *c) {
    return ((struct fake_clock *)c)->now;
}

static struct timer *fake_timer_new(struct clock *c, void (*fire)(void *ctx), void *ctx) {
    struct timer *t = mem_zalloc(sizeof *t);
    if (t) {
        *t = (struct timer){.clock = (struct fake_clock *)c, .fire = fire, .ctx = ctx};
    }
    return t;
}

static void fake_timer_stop(struct timer *t) {
    heap_remove(&t->clock->timers, t);
}

static void fake_timer_start(struct timer *t, int64_t delay_ns) {
    heap_remove(&t->clock->timers, t);
    t->due = t->clock->now + delay_ns;
    t->order = t->clock->order++;
    int r = heap_push(&t->clock->timers, t);
    assert(r == 0);
    (void)r;
}

static void fake_timer_free(struct timer *t) {
    if (t) {
        fake_timer_stop(t);
        mem_free(t);
    }
}

void fake_clock_init(struct fake_clock *c, int64_t wall_ns) {
    *c = (struct fake_clock){
        .clock = {.wall_ns = fake_wall,
                  .mono_ns = fake_mono,
                  .timer_new = fake_timer_new,
                  .timer_start = fake_timer_start,
                  .timer_stop = fake_timer_stop,
                  .timer_free = fake_timer_free},
        .wall = wall_ns ? wall_ns : DEFAULT_WALL,
    };
    heap_init(&c->timers, timer_cmp, NULL, offsetof(struct timer, place));
}

void fake_clock_release(struct fake_clock *c) {
    heap_release(&c->timers);
}

int64_t fake_clock_next(const struct fake_clock *c) {
    const struct timer *t = heap_peek(&c->timers);
    return t ? t->due : INT64_MAX;
}

bool fake_clock_step(struct fake_clock *c) {
    struct timer *t = heap_pop(&c->timers);
    if (!t) {
        return false;
    }
    if (t->due > c->now) {
        c->now = t->due;
    }
    t->fire(t->ctx);
    return true;
}

void fake_clock_run(struct fake_clock *c, int64_t delta_ns) {
    int64_t end = c->now + delta_ns;
    while (fake_clock_next(c) <= end) {
        fake_clock_step(c);
    }
    c->now = end;
}

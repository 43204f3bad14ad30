/* virtual_clock: see virtual_clock.h. */
#include "base/virtual_clock.h"

#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"

#define DEFAULT_WALL (INT64_C(1767225600) * NS_PER_SEC) /* 2026-01-01 */

struct timer {
    struct virtual_clock *clock;
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

static int64_t virtual_wall(struct clock *c) {
    struct virtual_clock *f = (struct virtual_clock *)c;
    return f->wall + f->now;
}

static int64_t virtual_mono(struct clock *c) {
    return ((struct virtual_clock *)c)->now;
}

static struct timer *virtual_timer_new(struct clock *c, void (*fire)(void *ctx), void *ctx) {
    struct virtual_clock *v = (struct virtual_clock *)c;
    struct heap *h = &v->timers;
    struct timer *t = mem_zalloc(sizeof *t);
    size_t more = v->n_timers + 1 - h->n;
    if (t == NULL || vec_grow((void **)&h->v, &h->cap, h->n, more, sizeof *h->v) != 0) {
        mem_free(t);
        return NULL;
    }
    *t = (struct timer){.clock = v, .fire = fire, .ctx = ctx};
    v->n_timers++;
    return t;
}

static void virtual_timer_stop(struct timer *t) {
    heap_remove(&t->clock->timers, t);
}

static void virtual_timer_start(struct timer *t, int64_t delay_ns) {
    heap_remove(&t->clock->timers, t);
    t->due = t->clock->now + delay_ns;
    t->order = t->clock->order++;
    int r = heap_push(&t->clock->timers, t);
    assert(r == 0); /* there is room for every timer */
    (void)r;
}

static void virtual_timer_free(struct timer *t) {
    if (t) {
        virtual_timer_stop(t);
        t->clock->n_timers--;
        mem_free(t);
    }
}

void virtual_clock_init(struct virtual_clock *c, int64_t wall_ns) {
    *c = (struct virtual_clock){
        .clock = {.wall_ns = virtual_wall,
                  .mono_ns = virtual_mono,
                  .timer_new = virtual_timer_new,
                  .timer_start = virtual_timer_start,
                  .timer_stop = virtual_timer_stop,
                  .timer_free = virtual_timer_free},
        .wall = wall_ns ? wall_ns : DEFAULT_WALL,
    };
    heap_init(&c->timers, timer_cmp, NULL, offsetof(struct timer, place));
}

void virtual_clock_release(struct virtual_clock *c) {
    heap_release(&c->timers);
}

void virtual_clock_set_wall(struct virtual_clock *c, int64_t wall_ns) {
    c->wall = wall_ns - c->now;
    clock_stepped(&c->clock);
}

int64_t virtual_clock_next(const struct virtual_clock *c) {
    const struct timer *t = heap_peek(&c->timers);
    return t ? t->due : INT64_MAX;
}

bool virtual_clock_step(struct virtual_clock *c) {
    struct timer *t = heap_pop(&c->timers);
    if (t == NULL) {
        return false;
    }
    if (t->due > c->now) {
        c->now = t->due;
    }
    t->fire(t->ctx);
    return true;
}

void virtual_clock_run(struct virtual_clock *c, int64_t delta_ns) {
    int64_t end = c->now + delta_ns;
    while (virtual_clock_next(c) <= end) {
        virtual_clock_step(c);
    }
    c->now = end;
}

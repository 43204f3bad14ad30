/* turns: see turns.h. */
#include "server/read/turns.h"

#include "base/mem.h"
#include "server/flow/flow.h"

#define TURN_NS (4 * NS_PER_MS) /* of steps, before others have the loop */

struct read_turns {
    struct server *s;
    struct answer_turn *first, **last;
    struct timer *timer;
};

/* The one whose flow had the least goes next, and of these the one that waits longest. */
static struct answer_turn *take_next(struct read_turns *h) {
    struct answer_turn **best = &h->first, *t;
    for (struct answer_turn **at = &h->first->next; *at != NULL; at = &(*at)->next) {
        best = flow_before((*at)->call, (*best)->call) ? at : best;
    }
    t = *best;
    *best = t->next;
    h->last = t->next == NULL ? best : h->last;
    t->queued = false;
    return t;
}

static void step_of(struct answer_turn *t, int64_t now, int64_t *ret_then) {
    struct server *s = t->call->s;
    struct flow *f = flow_hold(t->call); /* the step may be its call's last */
    t->go(t);
    *ret_then = clock_mono(s->clock);
    flow_charge(s, f, *ret_then - now);
}

static void take(void *ctx) {
    struct read_turns *h = ctx;
    struct clock *clock = h->s->clock;
    int64_t end = clock_mono(clock) + TURN_NS;
    for (int64_t now = clock_mono(clock), then; h->first != NULL && now < end; now = then) {
        step_of(take_next(h), now, &then);
    }
    if (h->first != NULL) {
        clock->timer_start(h->timer, 0);
    }
}

void turn_ready(struct answer_turn *t) {
    struct read_turns *h = t->call->s->turns;
    if (t->queued) {
        return;
    }
    if (h->first == NULL) {
        h->s->clock->timer_start(h->timer, 0);
    }
    t->queued = true;
    t->next = NULL;
    *h->last = t;
    h->last = &t->next;
}

void turn_forget(struct answer_turn *t) {
    struct read_turns *h = t->call->s->turns;
    struct answer_turn **at = &h->first;
    while (t->queued && *at != t) {
        at = &(*at)->next;
    }
    if (t->queued) {
        *at = t->next;
        h->last = t->next == NULL ? at : h->last;
        t->queued = false;
    }
}

int turns_init(struct server *s, struct err *err) {
    struct read_turns *h = mem_zalloc(sizeof(*h));
    if (h == NULL || (h->timer = s->clock->timer_new(s->clock, take, h)) == NULL) {
        mem_free(h);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    h->s = s;
    h->last = &h->first;
    s->turns = h;
    return 0;
}

void turns_release(struct server *s) {
    if (s->turns != NULL) {
        s->clock->timer_free(s->turns->timer);
        mem_free(s->turns);
        s->turns = NULL;
    }
}

/* turns: see turns.h. */
#include "server/read/turns.h"

#include "base/mem.h"

#define TURN_NS (4 * NS_PER_MS) /* of steps, before others have the loop */

struct read_turns {
    struct server *s;
    struct answer_turn *first, **last;
    struct timer *timer;
};

static void take(void *ctx) {
    struct read_turns *h = ctx;
    struct clock *clock = h->s->clock;
    int64_t end = clock_mono(clock) + TURN_NS;
    for (struct answer_turn *t; (t = h->first) != NULL && clock_mono(clock) < end;) {
        h->first = t->next;
        h->last = h->first == NULL ? &h->first : h->last;
        t->queued = false;
        t->go(t);
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

/*
 * queue_news: what a Workload waits for is written when the API server has time for it.
 *
 * Nobody decides by these words, but on a busy server each costs as much as an admission. So those that have something
 * to say stand in a line while the writer has no room (mirror/writer.h), and the first is let go when it has, or after
 * a while all the same. Who is admitted before its turn has nothing to say any more.
 */
#include "control/queue/queue_private.h"

static const int64_t LOOK_NS = 10 * NS_PER_MS, ANYWAY_NS = 50 * NS_PER_MS;
enum { AT_ONCE = 4 }; /* a look: their writes go out before the next */

static void join(struct queue_news *l, struct queue_work *q) {
    q->news_prev = l->last;
    q->news_next = NULL;
    *(l->last != NULL ? &l->last->news_next : &l->first) = q;
    l->last = q;
    q->news = NEWS_WAIT;
}

void queue_news_leave(struct queue_controller *c, struct queue_work *q) {
    struct queue_news *l = &c->news;
    if (q->news == NEWS_WAIT) {
        *(q->news_prev != NULL ? &q->news_prev->news_next : &l->first) = q->news_next;
        *(q->news_next != NULL ? &q->news_next->news_prev : &l->last) = q->news_prev;
    }
    q->news = NEWS_NONE;
}

bool queue_news_now(struct queue_controller *c, struct queue_work *q) {
    if (q->news == NEWS_DUE) {
        q->news = NEWS_NONE;
        return true;
    }
    if (c->news.first == NULL && writer_room(c->env->writer)) {
        return true;
    }
    if (q->news == NEWS_NONE) {
        if (c->news.first == NULL) {
            c->news.let_ns = clock_mono(c->env->clock);
            c->env->clock->timer_start(c->news.timer, LOOK_NS);
        }
        join(&c->news, q);
    }
    return false;
}

static void look(void *ctx) {
    struct queue_controller *c = ctx;
    struct queue_news *l = &c->news;
    int64_t now = clock_mono(c->env->clock);
    bool room = writer_room(c->env->writer);
    int n = room ? AT_ONCE : now - l->let_ns >= ANYWAY_NS ? 1 : 0;
    for (struct queue_work *q; n > 0 && (q = l->first) != NULL; n--) {
        queue_news_leave(c, q);
        q->news = NEWS_DUE;
        l->let_ns = now;
        queue_look(c, QS_WORKLOAD, q->ns, q->name, 0);
    }
    if (l->first != NULL) {
        c->env->clock->timer_start(l->timer, LOOK_NS);
    }
}

int queue_news_init(struct queue_controller *c) {
    c->news.timer = c->env->clock->timer_new(c->env->clock, look, c);
    return c->news.timer != NULL ? 0 : ERR_NOMEM;
}

void queue_news_release(struct queue_controller *c) {
    if (c->news.timer != NULL) {
        c->env->clock->timer_free(c->news.timer);
    }
}

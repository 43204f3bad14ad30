/*
 * scrape: /metrics, written a piece a turn. A small registry is one plain answer; a great one (tens of megabytes with
 * ten thousand queues) goes out as a stream, each piece after other work had its turn, and no faster than it is read.
 */
#include "base/mem.h"
#include "server/kit/handlers.h"

enum { PIECE = 128 << 10, HIGH_WATER = 1 << 20, REGISTRIES = 2 };

struct scrape {
    struct call *call;
    struct prom *registries[REGISTRIES];
    size_t at; /* of registries */
    struct prom_cursor cursor;
    struct timer *timer;
    bool paused;
    struct buf piece;
};

/* The next piece; true: there is more. */
static bool fill(struct scrape *x) {
    buf_reset(&x->piece);
    while (x->at < REGISTRIES && x->piece.n < PIECE) {
        struct prom *p = x->registries[x->at];
        if (p != NULL && prom_write_some(p, &x->cursor, PIECE, &x->piece)) {
            break;
        }
        x->at++;
        if (x->at < REGISTRIES && x->registries[x->at] != NULL) {
            prom_begin(x->registries[x->at], &x->cursor);
        }
    }
    return x->at < REGISTRIES;
}

static void release(struct scrape *x) {
    x->call->s->clock->timer_free(x->timer);
    x->timer = NULL;
    buf_release(&x->piece);
}

static void gone(struct call *c, void *ctx) {
    release(ctx);
    c->s->long_running--;
}

static void again(struct scrape *x) {
    if (!x->paused) {
        x->call->s->clock->timer_start(x->timer, 0);
    }
}

static void drained(void *user) {
    struct call *c = user;
    struct scrape *x = c->detach != NULL ? c->detach_ctx : NULL;
    if (x != NULL && x->paused) {
        x->paused = false;
        again(x);
    }
}

static void step(void *ctx) {
    struct scrape *x = ctx;
    bool more = fill(x);
    if (x->piece.n > 0 && buf_ok(&x->piece) == 0 &&
        http_stream_write(x->call->http, buf_view(&x->piece)) != 0) {
        return; /* the connection is being cut; detach follows */
    }
    if (!more || buf_ok(&x->piece) != 0) {
        x->call->detach = NULL;
        release(x);
        call_stream_end(x->call);
        return;
    }
    x->paused = http_stream_waiting(x->call->http) > HIGH_WATER;
    again(x);
}

/* The first piece is not all of it. */
static void stream(struct scrape *x) {
    struct call *c = x->call;
    x->timer = c->s->clock->timer_new(c->s->clock, step, x);
    if (x->timer == NULL) {
        buf_release(&x->piece);
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
        return;
    }
    c->detach = gone;
    c->detach_ctx = x;
    call_stream(c, PROM_CONTENT_TYPE);
    http_stream_on_drain(c->http, drained);
    if (x->piece.n == 0 || http_stream_write(c->http, buf_view(&x->piece)) == 0) {
        again(x);
    }
}

void scrape_request(struct call *c, struct prom *ours) {
    struct scrape *x = ARENA_NEW(c->arena, struct scrape);
    if (x == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
        return;
    }
    x->call = c;
    x->registries[0] = ours;
    x->registries[1] = c->s->o.metrics;
    buf_init(&x->piece, 0);
    prom_begin(ours, &x->cursor);
    bool more = fill(x);
    if (buf_ok(&x->piece) != 0) {
        buf_release(&x->piece);
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
    } else if (more) {
        stream(x);
    } else {
        call_bytes(c, 200, PROM_CONTENT_TYPE, buf_view(&x->piece));
        buf_release(&x->piece);
    }
}

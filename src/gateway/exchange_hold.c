/*
 * exchange_hold: requests that wait for a server: of a model that is at zero or starts, or that is busy. See
 * gateway_private.h; core/route/held.h has the order.
 */
#include "gateway/gateway_private.h"

enum {
    HELD_MOST_DEFAULT = 10000,
    PACE = 2000,
    BURST = 64,
    SERVING_MS = 10000,
    LOOKS_A_TICK = 64,
    CHOICES_A_PUMP = 32, /* looks at the servers for requests that were tried already */
    QUEUED_RETRY_S = 30,
    QUEUED_GRACE_MS = 3000 /* every start is in the line for a moment before it is admitted */
};
#define HELD_BYTES (INT64_C(1) << 30)

static void tell(struct gateway_exchange *x, enum gateway_demand_what what) {
    static const struct gateway_key nobody = {.weight = 1};
    struct gateway_demand *d = x->worker->gateway->o.demand;
    if (d == NULL || d->tell == NULL) {
        return;
    }
    struct gateway_demand_event e = {
        .what = what,
        .model = x->found.model,
        .key = x->key ? x->key : &nobody,
        .waited_ns = x->held_at ? exchange_now(x) - x->held_at : 0,
        .held = x->pool->held_made ? x->pool->held.n : 0,
    };
    d->tell(d, x->worker->number, &e);
}

/* ---- those that wait at this worker ---- */

static void line_add(struct gateway_exchange *x) {
    struct gateway_worker *w = x->worker;
    x->held_next = w->held;
    x->held_prev = &w->held;
    if (w->held) {
        w->held->held_prev = &x->held_next;
    }
    w->held = x;
    worker_tick_soon(w);
}

static void line_remove(struct gateway_exchange *x) {
    *x->held_prev = x->held_next;
    if (x->held_next) {
        x->held_next->held_prev = x->held_prev;
    }
}

/* The request waits no longer: it has left the queue, or leaves it now. */
static void end_wait(struct gateway_exchange *x, enum gateway_demand_what what) {
    line_remove(x);
    x->phase = EXCHANGE_CHECKED;
    x->seen.held_ns += exchange_now(x) - x->held_at;
    tell(x, what);
}

void exchange_unhold(struct gateway_exchange *x, enum gateway_demand_what what) {
    held_cancel(&x->pool->held, x->handle);
    end_wait(x, what);
}

/* ---- who may not wait ---- */

static void refuse_state(struct gateway_exchange *x) {
    const struct routes_model *m = x->found.model;
    bool queued = m->state == ROUTES_QUEUED;
    struct refusal r = {503, queued ? "model_queued" : "model_stopped", 0, NULL,
                        GATEWAY_END_REFUSED};
    char position[64] = "";
    tell(x, GATEWAY_DENIED);
    if (!queued) {
        refusal_answer(x, &r, "the model %.*s is stopped%s%.*s", STR_ARG(x->asked),
                       m->reason.n ? ": " : "", STR_ARG(m->reason));
        return;
    }
    r.retry_after_s = m->eta_s > 0 ? m->eta_s : QUEUED_RETRY_S;
    if (m->position > 0) {
        snprintf(position, sizeof(position), ", position %lld", (long long)m->position);
    }
    refusal_answer(x, &r, "the model %.*s waits for quota%s%s%.*s; it may be ready in about %lld s",
                   STR_ARG(x->asked), position, m->reason.n ? ": " : "", STR_ARG(m->reason),
                   (long long)r.retry_after_s);
}

static void refuse_full(struct gateway_exchange *x, enum held_refusal why) {
    struct refusal r = {429, "too_many_waiting", 5, NULL, GATEWAY_END_REFUSED};
    refusal_answer(x, &r,
                   why == HELD_FULL ? "too many requests wait for %.*s"
                                    : "too many requests of the project wait for %.*s",
                   STR_ARG(x->asked));
}

static void shed(struct gateway_exchange *x) {
    end_wait(x, GATEWAY_SHED);
    struct refusal r = {429, "shed", 5, NULL, GATEWAY_END_REFUSED};
    refusal_answer(x, &r,
                   "a request of higher priority took the place of this one in the line for %.*s",
                   STR_ARG(x->asked));
}

static void refuse_late(struct gateway_exchange *x) {
    const struct routes_model *m = x->found.model;
    bool starting = m->state == ROUTES_AT_ZERO || m->state == ROUTES_STARTING;
    struct refusal r = {503, starting ? "model_starting" : "overloaded",
                        m->eta_s > 0 ? m->eta_s : 10, NULL, GATEWAY_END_TIMED_OUT};
    refusal_answer(x, &r,
                   starting ? "the model %.*s is still starting%s%.*s"
                            : "no server of %.*s had room in time%s%.*s",
                   STR_ARG(x->asked), m->reason.n ? ": " : "", STR_ARG(m->reason));
}

/* ---- waiting ---- */

static bool make_queue(struct gateway_exchange *x, int64_t now) {
    struct server_pool *p = x->pool;
    size_t most = x->worker->gateway->o.held_max;
    struct held_bounds b = {
        .most = most ? most : HELD_MOST_DEFAULT, .bytes = HELD_BYTES, .pace = PACE, .burst = BURST};
    b.most_tenant = b.most / 2 ? b.most / 2 : 1;
    b.bytes_tenant = b.bytes / 2;
    p->held_made = p->held_made || held_init(&p->held, &b, now) == 0;
    return p->held_made;
}

static int64_t hold_ms(const struct routes_model *m, enum endpoint_none why) {
    int64_t ms = m->hold_ms ? m->hold_ms : GATEWAY_HOLD_MS;
    bool restarts = why == ENDPOINT_NO_READY && m->state == ROUTES_SERVING;
    return restarts && ms > SERVING_MS ? SERVING_MS : ms;
}

/* Whether a start that waits for quota is told to the client: not within the first seconds. */
static bool is_queued(const struct gateway_exchange *x, const struct routes_model *m, int64_t now) {
    return m->state == ROUTES_QUEUED && now >= x->begun + QUEUED_GRACE_MS * NS_PER_MS;
}

void exchange_hold(struct gateway_exchange *x, enum endpoint_none why) {
    const struct routes_model *m = x->found.model;
    int64_t now = exchange_now(x);
    void *loser = NULL;
    x->hold_until = x->hold_until ? x->hold_until : now + hold_ms(m, why) * NS_PER_MS;
    if (why == ENDPOINT_NO_READY && (m->state == ROUTES_STOPPED || is_queued(x, m, now))) {
        refuse_state(x);
        return;
    }
    if (!make_queue(x, now)) {
        refusal_answer(x, &(struct refusal){500, "no_memory", .end = GATEWAY_END_REFUSED},
                       "no memory");
        return;
    }
    struct held_request r = {
        .tenant = x->key ? server_pool_hash(x->key->project) : 1,
        .weight = x->key && x->key->weight > 0 ? x->key->weight : 1,
        .priority = m->priority + (x->key ? x->key->priority : 0),
        .cost = 1,
        .bytes = (int64_t)http_body(x->request).n,
        .deadline = x->hold_until,
        .owner = x,
    };
    enum held_refusal refused =
        x->hold_until <= now ? HELD_LATE : held_add(&x->pool->held, &r, now, &x->handle, &loser);
    if (refused == HELD_LATE) {
        refuse_late(x);
        return;
    }
    if (refused != HELD_TAKEN) {
        refuse_full(x, refused);
        return;
    }
    x->phase = EXCHANGE_HELD;
    x->held_at = now;
    x->comment_at = now + GATEWAY_COMMENT_MS * NS_PER_MS;
    line_add(x);
    tell(x, GATEWAY_HELD);
    if (loser) {
        shed(loser);
    }
}

/* ---- going on ---- */

/* Whether the line moves: a server has room, or the model cannot start any more and who waits is answered now. */
static bool moves(struct server_pool *p, int64_t now) {
    static const struct endpoint_request any;
    enum endpoint_none none = endpoint_room(&p->endpoints, &any, now);
    bool stopped = p->model && p->model->state == ROUTES_STOPPED;
    return none == ENDPOINT_CHOSEN || (stopped && none != ENDPOINT_NO_ROOM);
}

struct pump {
    struct server_pool *pool;
    int64_t now;
    unsigned choices;
};

/* A request that has failed at the servers with room waits for the others: released, it would only join the line again,
 * and take the turn of one that could go. */
static bool may_go(void *ctx, void *owner) {
    struct pump *m = ctx;
    const struct gateway_exchange *x = owner;
    if (x->choice.n_tried == 0) {
        return true;
    }
    return m->choices++ < CHOICES_A_PUMP &&
           endpoint_room(&m->pool->endpoints, &x->choice, m->now) != ENDPOINT_NO_ROOM;
}

/* Looks at the routes and the servers anew, having left the line; it does not join the line's end. */
static void look_again(struct gateway_exchange *x) {
    end_wait(x, GATEWAY_RELEASED);
    x->seen.held_ns = x->seen.held_ns ? x->seen.held_ns : 1;
    exchange_route(x);
}

void exchange_pump(struct server_pool *p) {
    struct gateway_exchange *x;
    if (!p->held_made || p->held.n == 0 || p->pumping) {
        return;
    }
    int64_t now = clock_mono(p->worker->clock);
    p->pumping = true;
    server_pool_hold(p);
    while (p->model == NULL && (x = held_expire(&p->held, INT64_MAX)) != NULL) {
        end_wait(x, GATEWAY_DENIED);
        refusal_answer(x,
                       &(struct refusal){404, "model_not_found", 0, "model", GATEWAY_END_REFUSED},
                       "the model %.*s was deleted", STR_ARG(x->asked));
    }
    struct pump m = {p, now, 0};
    while (moves(p, now) && (x = held_next_that(&p->held, now, may_go, &m)) != NULL) {
        look_again(x);
    }
    p->pumping = false;
    server_pool_drop(p);
}

/* A comment to the client of a stream, so that the connection is not idle. */
static void comment(struct gateway_exchange *x, int64_t now) {
    if (!x->stream || now < x->comment_at) {
        return;
    }
    if (!x->commented) {
        x->commented = true;
        x->status = 200;
        http_add_header(x->request, "X-Accel-Buffering", STR("no"));
        http_add_header(x->request, "Cache-Control", STR("no-cache"));
        http_stream_begin(x->request, 200, "text/event-stream; charset=utf-8");
    }
    (void)http_stream_write(x->request, STR(": waiting\n\n"));
    x->comment_at = now + GATEWAY_COMMENT_MS * NS_PER_MS;
}

void exchange_tick(struct gateway_worker *w, int64_t now) {
    const struct map_entry *e;
    struct gateway_exchange *x = w->held;
    for (size_t looked = 0; x;) {
        if (looked < LOOKS_A_TICK && x->pool->model && is_queued(x, x->pool->model, now)) {
            held_cancel(&x->pool->held, x->handle);
            look_again(x); /* and is refused; others of the list may have gone with it */
            looked++;
            x = w->held;
        } else {
            comment(x, now);
            x = x->held_next;
        }
    }
    for (size_t i = 0; (e = map_next(&w->pools, &i)) != NULL;) {
        struct server_pool *p = e->value;
        while (p->held_made && (x = held_expire(&p->held, now)) != NULL) {
            end_wait(x, GATEWAY_LATE);
            refuse_late(x);
        }
        exchange_pump(p);
    }
}

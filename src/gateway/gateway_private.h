/*
 * gateway_private: what the files of the data plane share: gateway.c (workers, starting, stopping), worker.c (one
 * worker's routes and pools), exchange.c (a request's life), exchange_send.c (to a server), exchange_answer.c (back
 * to the client), exchange_hold.c (waiting), own.c (what the gateway answers itself), refusal.c (its errors).
 *
 * An exchange is one request. It lies in the request's arena and ends with exchange_closed, which http_server calls
 * once, whatever happened: there everything it holds is given back.
 *
 *     KEY ──► CHECKED ──► HELD ──► SENT ──► ANSWERING ──► OVER
 *      └────────┴──────────┴────────┴───── refused ──────► OVER
 */
#ifndef BERTH_GATEWAY_GATEWAY_PRIVATE_H
#define BERTH_GATEWAY_GATEWAY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "gateway/body.h"
#include "gateway/gateway.h"
#include "gateway/limit_book.h"
#include "gateway/paths.h"
#include "gateway/server_pool.h"
#include "gateway/usage.h"
#include "net/http_server.h"

struct gateway_worker {
    struct gateway *gateway;
    unsigned number;
    pthread_t thread;
    bool running; /* the thread was started */
    struct loop *loop;
    struct clock *clock;
    struct http_server *server;
    struct http_peers *peers;
    struct routes *routes;         /* NULL: none yet */
    struct map pools;              /* key -> struct server_pool */
    struct server_pool **by_place; /* of the routes */
    struct timer *tick;
    bool ticking;
    bool stopping;
    struct gateway_exchange *held; /* that wait, the newest first */
    uint64_t seed;
};

struct gateway {
    struct gateway_options o;
    char *host, *zone;
    pthread_mutex_t lock;
    struct routes *routes; /* under lock: the newest */
    struct limit_book *limits;
    struct gateway_worker *workers;
    unsigned n_workers;
    atomic_uint unstopped;
    _Atomic int64_t grace_ms;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

enum exchange_phase {
    EXCHANGE_KEY,
    EXCHANGE_CHECKED,
    EXCHANGE_HELD,
    EXCHANGE_SENT,
    EXCHANGE_ANSWERING,
    EXCHANGE_OVER, /* the answer was handed over */
};

struct exchange_header {
    const char *name;
    struct str value;
};

struct gateway_exchange {
    struct http_request *request;
    struct gateway_worker *worker;
    enum exchange_phase phase;
    struct paths_found path;
    struct body_facts facts;
    struct str asked; /* the model's name */
    bool stream;

    const struct gateway_key *key;
    struct timer *key_timer; /* while it is asked for elsewhere */
    int64_t key_until;

    struct routes *routes; /* that it goes by */
    struct routes_found found;
    struct server_pool *pool;
    struct limit_charge charge;
    bool charged;
    struct limit_view limits;

    /* waiting */
    uint64_t handle;
    struct gateway_exchange *held_next, **held_prev;
    int64_t held_at, hold_until, comment_at;
    bool commented; /* the head of a stream is out already */

    /* sending */
    struct endpoint_request choice;
    struct retry_request retry;
    struct http_ask *ask;
    size_t place_backend;
    uint32_t number;                /* of the endpoint of the last try */
    struct routes_endpoint sent_to; /* the same; views of `routes` */
    bool fresh, asks_usage;
    struct body_edit edits[BODY_EDITS_MAX];
    uint64_t hashes[64];
    size_t n_hashes;
    struct prefix_match prefixes[PREFIX_WAYS];

    /* answering */
    int status;
    const char *type;
    struct exchange_header *headers;
    size_t n_headers;
    bool gathering, sse, paused;
    struct buf gathered;
    struct usage_stream events;
    struct token_usage usage;

    /* what the observer gets at the end */
    struct gateway_trace trace;
    bool started;
    struct gateway_seen seen;
    int64_t begun;
};

/* exchange.c */
void exchange_handle(void *ctx,
                     struct http_request *r); /* http_server's handler; ctx: the worker */
bool exchange_head(void *ctx, struct http_request *r);
void exchange_checked(struct gateway_exchange *x); /* the key is known */
int64_t exchange_now(const struct gateway_exchange *x);
void exchange_over(struct gateway_exchange *x, enum gateway_end end, int status);
/* exchange_send.c */
void exchange_route(struct gateway_exchange *x); /* to a server, or into the line */
/* exchange_answer.c */
void exchange_on_head(void *ctx, const struct http_answer *a);
void exchange_on_body(void *ctx, struct str bytes);
void exchange_on_done(void *ctx, enum http_ask_end end, const char *trouble);
/* exchange_send.c: after a failure. True: it goes on. */
bool exchange_again(struct gateway_exchange *x, enum retry_cause cause);
void exchange_ended(struct gateway_exchange *x,
                    enum endpoint_end end); /* the server has done with it */
/* exchange_hold.c */
void exchange_hold(struct gateway_exchange *x, enum endpoint_none why);
void exchange_unhold(struct gateway_exchange *x, enum gateway_demand_what what);
void exchange_pump(struct server_pool *p);
void exchange_tick(struct gateway_worker *w, int64_t now);
/* own.c */
void own_answer(struct gateway_exchange *x);
void own_page(struct gateway_exchange *x);
/* worker.c */
int worker_init(struct gateway_worker *w, struct gateway *g, unsigned number, uint16_t port,
                struct err *err);
void worker_release(struct gateway_worker *w);
void worker_update(void *worker); /* takes the gateway's newest routes */
void worker_tick_soon(struct gateway_worker *w);
struct server_pool *worker_pool(struct gateway_worker *w,
                                const struct routes_found *f); /* NULL: no memory */
/* refusal.c */
struct refusal {
    int status;
    const char *code;      /* for machines */
    int64_t retry_after_s; /* 0: not said */
    const char *param;     /* the member of the body; NULL: none */
    enum gateway_end end;
};
void refusal_answer(struct gateway_exchange *x, const struct refusal *r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void refusal_body(struct buf *b, bool anthropic, int status, const char *code, const char *param,
                  struct str text);
void refusal_plain(struct buf *b, int status, const char *text); /* http_server's refusal */

#endif

/* gateway: workers, each a thread with a loop of its own. See gateway.h. */
#include "gateway/gateway.h"

#include <signal.h>

#include "base/mem.h"
#include "gateway/gateway_private.h"

static void *run(void *ctx) {
    struct gateway_worker *w = ctx;
    loop_run(w->loop);
    return NULL;
}

/* Signals are for the thread that started the gateway. */
static int start_thread(struct gateway_worker *w, struct err *err) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    w->running = e == 0;
    return e ? err_sys(err, e, "starting a worker") : 0;
}

static int start_workers(struct gateway *g, struct err *err) {
    int code = 0;
    uint16_t port = g->o.port;
    for (unsigned i = 0; i < g->o.workers && code == 0; i++) {
        g->n_workers++;
        code = worker_init(&g->workers[i], g, i, port, err);
        port = code ? port : http_server_port(g->workers[0].server);
    }
    for (unsigned i = 0; i < g->n_workers && code == 0; i++) {
        code = start_thread(&g->workers[i], err);
    }
    return code;
}

int gateway_start(const struct gateway_options *o, struct gateway **ret, struct err *err) {
    if (o->workers < 1 || o->workers > GATEWAY_WORKERS_MAX) {
        return err_set(err, ERR_INVALID, "workers: must be 1 to %d", GATEWAY_WORKERS_MAX);
    }
    struct gateway *g = mem_zalloc(sizeof(*g));
    if (g == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    pthread_mutex_init(&g->lock, NULL);
    g->o = *o;
    g->host = mem_cstr(o->host);
    g->zone = mem_cstr(o->zone);
    g->o.host = str_of(g->host);
    g->limits = limit_book_new();
    g->workers = mem_array(o->workers, sizeof(*g->workers));
    int code = g->host && g->zone && g->limits && g->workers ? 0 : ERR_NOMEM;
    code = code ? err_set(err, code, "no memory") : start_workers(g, err);
    if (code != 0) {
        gateway_free(g);
        return code;
    }
    *ret = g;
    return 0;
}

uint16_t gateway_port(const struct gateway *g) {
    return http_server_port(g->workers[0].server);
}

void gateway_set_routes(struct gateway *g, struct routes *r) {
    pthread_mutex_lock(&g->lock);
    struct routes *old = g->routes;
    g->routes = r;
    pthread_mutex_unlock(&g->lock);
    for (unsigned i = 0; i < g->n_workers; i++) {
        (void)loop_post(g->workers[i].loop, worker_update, &g->workers[i]);
    }
    routes_unref(old);
}

/* ---- stopping ---- */

static void worker_stopped(void *ctx) {
    struct gateway_worker *w = ctx;
    struct gateway *g = w->gateway;
    if (atomic_fetch_sub(&g->unstopped, 1) == 1) {
        g->stopped(g->stopped_ctx);
    }
}

static void stop_worker(void *ctx) {
    struct gateway_worker *w = ctx;
    w->stopping = true;
    http_server_stop(w->server, w->gateway->grace_ms, worker_stopped, w);
}

void gateway_stop(struct gateway *g, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx) {
    g->stopped = stopped;
    g->stopped_ctx = ctx;
    g->grace_ms = grace_ms;
    g->unstopped = g->n_workers;
    for (unsigned i = 0; i < g->n_workers; i++) {
        (void)loop_post(g->workers[i].loop, stop_worker, &g->workers[i]);
    }
}

static void end_loop(void *ctx) {
    loop_stop(((struct gateway_worker *)ctx)->loop);
}

void gateway_free(struct gateway *g) {
    if (g == NULL) {
        return;
    }
    for (unsigned i = 0; i < g->n_workers; i++) {
        struct gateway_worker *w = &g->workers[i];
        if (w->running) {
            (void)loop_post(w->loop, end_loop, w);
            pthread_join(w->thread, NULL);
        }
        worker_release(w);
    }
    routes_unref(g->routes);
    limit_book_free(g->limits);
    mem_free(g->workers);
    mem_free(g->host);
    mem_free(g->zone);
    pthread_mutex_destroy(&g->lock);
    mem_free(g);
}

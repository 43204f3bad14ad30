/* worker: the routes and pools of one worker. See gateway_private.h. */
#include <stdio.h>

#include "base/mem.h"
#include "gateway/gateway_private.h"

enum { PEER_IDLE_MS = 55000, TICK_MS = 20, MIB = 1 << 20 };

static void tick(void *ctx) {
    struct gateway_worker *w = ctx;
    w->ticking = false;
    exchange_tick(w, clock_mono(w->clock));
    if (w->held) {
        worker_tick_soon(w);
    }
}

void worker_tick_soon(struct gateway_worker *w) {
    if (!w->ticking) {
        w->ticking = true;
        w->clock->timer_start(w->tick, TICK_MS * NS_PER_MS);
    }
}

static struct http_server_options server_options(struct gateway_worker *w, uint16_t port) {
    const struct gateway_options *o = &w->gateway->o;
    size_t connections = o->connections_max ? o->connections_max : 20000;
    return (struct http_server_options){
        .host = o->host,
        .port = port,
        .allow_any = o->allow_any,
        .tls = o->tls,
        .body_max = o->body_max ? o->body_max : 64 * (size_t)MIB,
        .out_max = 8 * (size_t)MIB,
        .out_total = 512 * (size_t)MIB,
        .bodies_max = 1024 * (size_t)MIB,
        .bodies_account_max = 256 * (size_t)MIB,
        .connections_max = connections,
        .connections_account_max = connections,
        .share_port = true,
        .refusal = refusal_plain,
        .head = o->keys ? exchange_head : NULL,
        .handler = exchange_handle,
        .ctx = w,
    };
}

int worker_init(struct gateway_worker *w, struct gateway *g, unsigned number, uint16_t port,
                struct err *err) {
    *w = (struct gateway_worker){.gateway = g, .number = number};
    map_init(&w->pools);
    w->loop = loop_new(err);
    if (w->loop == NULL) {
        return ERR_IO;
    }
    w->clock = loop_clock(w->loop);
    w->seed = (uint64_t)clock_wall(w->clock) * 2654435761u + number;
    w->peers = http_peers_new(w->loop, PEER_IDLE_MS);
    w->tick = w->clock->timer_new(w->clock, tick, w);
    if (w->peers == NULL || w->tick == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    http_peers_sockets(w->peers, g->o.socket, g->o.socket_ctx);
    struct http_server_options o = server_options(w, port);
    return http_server_start(w->loop, &o, &w->server, err);
}

void worker_release(struct gateway_worker *w) {
    const struct map_entry *e;
    if (w->loop == NULL) {
        return;
    }
    http_server_free(w->server); /* ends what is under way */
    for (size_t i = 0; (e = map_next(&w->pools, &i)) != NULL;) {
        server_pool_drop(e->value);
    }
    map_release(&w->pools);
    mem_free(w->by_place);
    routes_unref(w->routes);
    http_peers_free(w->peers);
    w->clock->timer_free(w->tick);
    loop_free(w->loop);
    w->loop = NULL;
}

/* ---- routes ---- */

static struct str key_of(const struct routes_model *m, char *to, size_t cap) {
    int n = snprintf(to, cap, "%.*s/%.*s", STR_ARG(m->project), STR_ARG(m->name));
    return str_from(to, n > 0 && (size_t)n < cap ? (size_t)n : 0);
}

static struct server_pool *find_pool(struct gateway_worker *w, const struct routes_model *m) {
    char text[1024];
    return map_get(&w->pools, key_of(m, text, sizeof(text)));
}

struct server_pool *worker_pool(struct gateway_worker *w, const struct routes_found *f) {
    struct server_pool *p = w->by_place ? w->by_place[f->place] : find_pool(w, f->model);
    if (p) {
        return p;
    }
    char text[1024];
    int64_t now = clock_mono(w->clock);
    p = server_pool_new(w, key_of(f->model, text, sizeof(text)), w->seed++, now);
    if (p && map_put(&w->pools, p->key, p, NULL) != 0) {
        server_pool_drop(p);
        return NULL;
    }
    if (p) {
        server_pool_take(p, w->peers, f->model, str_of(w->gateway->zone), now);
        if (w->by_place) {
            w->by_place[f->place] = p;
        }
    }
    return p;
}

/* Pools are made when they are first asked for; those there are get what is new, or learn that their model is gone.
 * */
static void take_over(struct gateway_worker *w, struct routes *old) {
    const struct map_entry *e;
    int64_t now = clock_mono(w->clock);
    for (size_t i = 0; (e = map_next(&w->pools, &i)) != NULL;) {
        ((struct server_pool *)e->value)->model = NULL;
    }
    for (size_t i = 0; i < routes_count(w->routes); i++) {
        struct server_pool *p = find_pool(w, routes_at(w->routes, i));
        if (p) {
            server_pool_take(p, w->peers, routes_at(w->routes, i), str_of(w->gateway->zone), now);
        }
        if (w->by_place) {
            w->by_place[i] = p;
        }
    }
    routes_unref(old);
    for (size_t i = 0; (e = map_next(&w->pools, &i)) != NULL;) {
        struct server_pool *p = e->value;
        if (p->model == NULL) {
            map_del(&w->pools, p->key);
            server_pool_take(p, w->peers, NULL, STR(""), now);
            exchange_pump(p); /* waiting requests learn that their model was removed */
            server_pool_drop(p);
        }
    }
    for (size_t i = 0; w->by_place && i < routes_count(w->routes); i++) {
        if (w->by_place[i]) {
            exchange_pump(w->by_place[i]);
        }
    }
}

void worker_update(void *worker) {
    struct gateway_worker *w = worker;
    struct gateway *g = w->gateway;
    struct routes *old = w->routes;
    pthread_mutex_lock(&g->lock);
    struct routes *r = g->routes ? routes_ref(g->routes) : NULL;
    pthread_mutex_unlock(&g->lock);
    if (r == NULL || r == old) {
        routes_unref(r);
        return;
    }
    mem_free(w->by_place);
    w->by_place = mem_array(routes_count(r) ? routes_count(r) : 1, sizeof(struct server_pool *));
    w->routes = r;
    take_over(w, old);
}

/* server_pool: see server_pool.h. */
#include "gateway/server_pool.h"

#include "base/clock.h"
#include "base/mem.h"

enum { IDLE_CONNECTIONS = 256, RETRY_SHARE_PPM = 150000, RETRY_RESERVE = 10 };

uint64_t server_pool_hash(struct str s) {
    uint64_t h = str_hash(s);
    return h ? h : 1;
}

static uint32_t zone_of(struct str s) {
    return s.n ? (uint32_t)(server_pool_hash(s) | 1) : 0;
}

struct server_pool *server_pool_new(struct gateway_worker *w, struct str key, uint64_t seed,
                                    int64_t now) {
    struct server_pool *p = mem_zalloc(sizeof(*p) + key.n);
    if (p == NULL) {
        return NULL;
    }
    memcpy((char *)(p + 1), key.p, key.n);
    p->key = str_from((char *)(p + 1), key.n);
    p->worker = w;
    p->holders = 1;
    prng_seed(&p->endpoints.prng, seed);
    retry_init(&p->retries, RETRY_SHARE_PPM, RETRY_RESERVE, now);
    return p;
}

struct server_pool *server_pool_hold(struct server_pool *p) {
    p->holders++;
    return p;
}

void server_pool_drop(struct server_pool *p) {
    if (p == NULL || --p->holders > 0) {
        return;
    }
    for (size_t i = 0; i < p->endpoints.n; i++) {
        http_peer_free(p->servers[i].peer);
    }
    mem_free(p->servers);
    if (p->held_made) {
        held_release(&p->held);
    }
    if (p->prefixes_made) {
        prefix_release(&p->prefixes);
    }
    mem_free(p);
}

/* ---- another table ---- */

static struct pool_server *server_of(struct server_pool *p, uint32_t id) {
    for (size_t i = 0; i < p->endpoints.n; i++) {
        if (p->servers[i].id == id) {
            return &p->servers[i];
        }
    }
    return NULL;
}

static void drop_server(struct server_pool *p, size_t i) {
    http_peer_free(p->servers[i].peer);
    if (p->prefixes_made) {
        prefix_forget(&p->prefixes, p->servers[i].number);
    }
    endpoint_drop(&p->endpoints,
                  p->servers[i].number); /* the last one takes its place: here as well */
    p->servers[i] = p->servers[p->endpoints.n];
}

static struct pool_server *add_server(struct server_pool *p, struct http_peers *peers,
                                      const struct routes_endpoint *e) {
    struct http_peer *peer = NULL;
    if (vec_grow((void **)&p->servers, &p->cap, p->endpoints.n, 1, sizeof(*p->servers)) != 0 ||
        http_peer_new(peers, e->address, e->port, IDLE_CONNECTIONS, &peer, NULL) != 0) {
        return NULL;
    }
    size_t place = p->endpoints.n;
    if (endpoint_add(&p->endpoints, p->last_number + 1) == NULL) {
        http_peer_free(peer);
        return NULL;
    }
    p->servers[place] = (struct pool_server){.id = e->id, .number = ++p->last_number, .peer = peer};
    return &p->servers[place];
}

/* The same id at another address is another server. */
static bool moved(const struct pool_server *s, const struct routes_endpoint *e) {
    return !str_eq(s->route->address, e->address) || s->route->port != e->port;
}

static void take_server(struct server_pool *p, struct http_peers *peers, size_t backend,
                        const struct routes_endpoint *e, int64_t now) {
    struct pool_server *s = server_of(p, e->id);
    if (s && moved(s, e)) {
        drop_server(p, (size_t)(s - p->servers));
        s = NULL;
    }
    s = s ? s : add_server(p, peers, e);
    if (s == NULL) {
        return;
    }
    s->route = e;
    s->backend = backend;
    s->seen = true;
    struct endpoint *x = &p->endpoints.v[s - p->servers];
    x->zone = zone_of(e->zone);
    x->group = (uint32_t)backend;
    x->limit = e->limit;
    x->draining = e->draining;
    if (x->ready != e->ready) {
        endpoint_ready(x, e->ready, now);
    }
}

void server_pool_take(struct server_pool *p, struct http_peers *peers, const struct routes_model *m,
                      struct str own_zone, int64_t now) {
    p->model = m;
    p->endpoints.own_zone = zone_of(own_zone);
    for (size_t i = 0; i < p->endpoints.n; i++) {
        p->servers[i].seen = false;
    }
    for (size_t b = 0; m && b < m->n_backends; b++) {
        p->endpoints.groups[b].weight = m->backends[b].weight;
        for (size_t i = 0; i < m->backends[b].n_endpoints; i++) {
            take_server(p, peers, b, &m->backends[b].endpoints[i], now);
        }
    }
    for (size_t b = m ? m->n_backends : 0; b < ENDPOINT_GROUPS_MAX; b++) {
        p->endpoints.groups[b].weight = 0;
    }
    for (size_t i = p->endpoints.n; i-- > 0;) {
        if (!p->servers[i].seen) {
            drop_server(p, i);
        }
    }
}

/* api_way: see api_way.h. */
#include "node/net/api_way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/net/splice.h"

enum { BACKLOG = 128, OF_PODS = 0x7f800000 /* 127.128.0.0 */ };

/* A connection under way. */
struct api_way_one {
    struct api_way *way;
    uint32_t pod;
    const struct api_way_pod *of;
    struct splice *splice;
    struct api_way_one *prev, *next;
};

struct api_way {
    struct router *r;
    struct model_endpoint to; /* ip 0: nowhere */
    int fd;
    struct loop_fd *watch;
    struct api_way_one *first;
    size_t n;
    struct map pods; /* count of connections by address: struct api_way_pod */
};

struct api_way_pod {
    char key[16];
    size_t n;
};

uint32_t api_way_source(const struct router_options *o, uint32_t pod) {
    uint32_t mask = ((uint32_t)1 << (32 - o->pods_bits)) - 1;

    if ((pod & ~mask) != o->pods) {
        return 0;
    }
    /* A range of /8 has no bit to spare; its first addresses are no pod's. */
    return o->pods_bits > 8 ? OF_PODS | (pod & mask) : 0x7f000000 | (pod & mask);
}

/* ---- how many a pod has ---- */

static struct api_way_pod *of_pod(struct api_way *w, uint32_t ip) {
    char key[16];

    model_ip_text(ip, key);
    struct api_way_pod *p = map_get(&w->pods, str_of(key));
    if (p) {
        return p;
    }
    p = mem_zalloc(sizeof(*p));
    if (p) {
        memcpy(p->key, key, sizeof(key));
    }
    if (p && map_put(&w->pods, str_of(p->key), p, NULL)) {
        mem_free(p);
        p = NULL;
    }
    return p;
}

static void leave(struct api_way *w, uint32_t ip) {
    struct api_way_pod *p = of_pod(w, ip);

    if (p && --p->n == 0) {
        map_del(&w->pods, str_of(p->key));
        mem_free(p);
    }
}

/* ---- connections ---- */

static void forget(struct api_way_one *c) {
    struct api_way *w = c->way;

    *(c->prev ? &c->prev->next : &w->first) = c->next;
    if (c->next) {
        c->next->prev = c->prev;
    }
    w->n--;
    leave(w, c->pod);
    mem_free(c);
}

static void on_ended(void *ctx, struct splice *s) {
    (void)s;
    forget(ctx);
}

/* Takes `in`. */
static void carry(struct api_way *w, int in, uint32_t pod) {
    struct api_way_pod *p = of_pod(w, pod);
    struct api_way_one *c = p ? mem_zalloc(sizeof(*c)) : NULL;
    int on = 1, out = -1;

    if (c) {
        out = outside_connect(&w->r->outside, &w->to, api_way_source(&w->r->o, pod), NULL);
    }
    if (out == -1) {
        close(in);
        if (p) {
            p->n++;
            leave(w, pod);
        }
        mem_free(c);
        return;
    }
    setsockopt(in, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    *c = (struct api_way_one){.way = w, .pod = pod, .of = p, .next = w->first};
    if (w->first) {
        w->first->prev = c;
    }
    w->first = c;
    w->n++;
    p->n++;
    if (splice_start(w->r->loop, in, out, on_ended, c, &c->splice, NULL)) {
        forget(c);
    }
}

size_t api_way_gives_up(const size_t *of, size_t n, size_t mine) {
    size_t most = n;

    for (size_t i = 0; i < n; i++) {
        most = of[i] > mine + 1 && (most == n || of[i] >= of[most]) ? i : most;
    }
    return most;
}

/* All are taken: of the pods that have the most one loses its oldest, so that many pods of one project do not keep the
 * others out. */
static bool make_room(struct api_way *w, size_t mine) {
    struct api_way_one *all[API_WAY_CONNECTIONS_MAX];
    size_t of[API_WAY_CONNECTIONS_MAX] = {0}, n = 0;

    for (struct api_way_one *c = w->first; c && n < API_WAY_CONNECTIONS_MAX; c = c->next) {
        all[n] = c;
        of[n++] = c->of->n;
    }
    size_t i = api_way_gives_up(of, n, mine);
    if (i < n) {
        splice_free(all[i]->splice);
        forget(all[i]);
    }
    return i < n;
}

static bool may(struct api_way *w, uint32_t pod) {
    char key[16];

    model_ip_text(pod, key);
    const struct api_way_pod *p = map_get(&w->pods, str_of(key));
    size_t mine = p ? p->n : 0;
    return api_way_source(&w->r->o, pod) && mine < API_WAY_OF_ONE &&
           (w->n < API_WAY_CONNECTIONS_MAX || make_room(w, mine));
}

static void on_connection(void *ctx, int events) {
    struct api_way *w = ctx;
    struct sockaddr_in from;
    socklen_t n = sizeof(from);
    int in = accept4(w->fd, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (in == -1) {
        return;
    }
    uint32_t pod = ntohl(from.sin_addr.s_addr);
    if (may(w, pod)) {
        carry(w, in, pod);
    } else {
        close(in);
    }
}

/* ---- the listener ---- */

static int listen_on(uint32_t ip, struct err *err) {
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(API_WAY_PORT), .sin_addr.s_addr = htonl(ip)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd != -1) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    }
    if (fd == -1 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) == -1 ||
        listen(fd, BACKLOG) == -1) {
        err_sys(err, errno, "listen for pods that want the API server");
        if (fd != -1) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

struct api_way *api_way_new(struct router *r) {
    struct api_way *w = mem_zalloc(sizeof(*w));

    if (w) {
        w->r = r;
        w->fd = -1;
        map_init(&w->pods);
    }
    return w;
}

static void shut(struct api_way *w) {
    loop_fd_free(w->watch);
    w->watch = NULL;
    if (w->fd != -1) {
        close(w->fd);
        w->fd = -1;
    }
}

int api_way_open(struct api_way *w, struct str to, struct err *err) {
    struct model_endpoint e = {0};

    if (to.n && !model_endpoint(to, &e)) {
        return err_set(err, ERR_INVALID, "the API server's address \"%.*s\"", STR_ARG(to));
    }
    w->to = e;
    if (e.ip == 0) {
        shut(w);
        return 0;
    }
    if (w->fd != -1) {
        return 0;
    }
    w->fd = listen_on(router_api(&w->r->o), err);
    w->watch =
        w->fd == -1 ? NULL : loop_fd(w->r->loop, w->fd, LOOP_READABLE, on_connection, w, err);
    if (w->watch == NULL) {
        shut(w);
        return ERR_IO;
    }
    return 0;
}

void api_way_free(struct api_way *w) {
    if (w == NULL) {
        return;
    }
    shut(w);
    while (w->first) {
        splice_free(w->first->splice);
        forget(w->first);
    }
    map_release(&w->pods);
    mem_free(w);
}

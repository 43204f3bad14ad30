/* ports: see ports.h. */
#include "node/net/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/net/splice.h"

struct port_listener {
    struct node_ports *ports;
    struct port_listener *next;
    uint16_t node_port, port;
    uint32_t ip;
    bool wanted;
    int fd;
    struct loop_fd *watch;
};

struct node_ports {
    struct router *r;
    struct port_listener *first;
    struct splice *v[PORTS_CONNECTIONS_MAX];
    size_t n;
};

struct node_ports *ports_new(struct router *r) {
    struct node_ports *p = mem_zalloc(sizeof(*p));

    if (p) {
        p->r = r;
    }
    return p;
}

static void free_listener(struct port_listener *l) {
    loop_fd_free(l->watch);
    close(l->fd);
    mem_free(l);
}

void ports_free(struct node_ports *p) {
    if (p == NULL) {
        return;
    }
    while (p->first) {
        struct port_listener *l = p->first;
        p->first = l->next;
        free_listener(l);
    }
    for (size_t i = 0; i < p->n; i++) {
        splice_free(p->v[i]);
    }
    mem_free(p);
}

static void on_ended(void *ctx, struct splice *s) {
    struct node_ports *p = ctx;

    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i] == s) {
            p->v[i] = p->v[--p->n];
            return;
        }
    }
}

static int dial(uint32_t ip, uint16_t port) {
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd != -1 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) == -1 &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static void on_connection(void *ctx, int events) {
    struct port_listener *l = ctx;
    struct node_ports *p = l->ports;
    int in = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (in == -1) {
        return;
    }
    int out = p->n < PORTS_CONNECTIONS_MAX ? dial(l->ip, l->port) : -1;
    if (out == -1) {
        close(in);
        return;
    }
    struct splice *s;
    if (splice_start(p->r->loop, in, out, on_ended, p, &s, NULL) == 0) {
        p->v[p->n++] = s;
    }
}

static void want(struct node_ports *p, uint16_t node_port, uint32_t ip, uint16_t port) {
    struct port_listener *l = p->first;
    size_t n = 0;

    for (; l && l->node_port != node_port; l = l->next) {
        n++;
    }
    if (l) {
        l->wanted = true;
        l->ip = ip;
        l->port = port;
        return;
    }
    l = n < PORTS_MAX ? mem_zalloc(sizeof(*l)) : NULL;
    if (l == NULL) {
        return;
    }
    *l = (struct port_listener){
        .ports = p, .node_port = node_port, .ip = ip, .port = port, .wanted = true};
    l->fd = outside_socket(&p->r->outside, SOCK_STREAM, node_port, NULL);
    l->watch =
        l->fd != -1 ? loop_fd(p->r->loop, l->fd, LOOP_READABLE, on_connection, l, NULL) : NULL;
    if (l->watch == NULL) {
        if (l->fd != -1) {
            close(l->fd);
        }
        mem_free(l);
        return;
    }
    l->next = p->first;
    p->first = l;
}

void ports_follow(struct node_ports *p) {
    const struct map_entry *e;

    for (struct port_listener *l = p->first; l; l = l->next) {
        l->wanted = false;
    }
    for (size_t i = 0; (e = map_next(&p->r->model.services, &i));) {
        const struct model_service *s = e->value;
        for (size_t k = 0; k < s->n_ports; k++) {
            if (s->ports[k].node_port && s->ip && s->ports[k].protocol == MODEL_TCP) {
                want(p, s->ports[k].node_port, s->ip, s->ports[k].port);
            }
        }
    }
    for (struct port_listener **at = &p->first; *at;) {
        struct port_listener *l = *at;
        if (l->wanted) {
            at = &l->next;
        } else {
            *at = l->next;
            free_listener(l);
        }
    }
}

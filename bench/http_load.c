/* http_load: see http_load.h. */
#include "http_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "measure.h"

enum { IN_BYTES = 64 << 10 };

struct load_conn {
    SSL *ssl;
    int fd;
    size_t index; /* of the request under way */
    int64_t start;
    char out[LOAD_REQUEST_MAX];
    size_t out_n, out_sent;
    char in[IN_BYTES];
    size_t in_n;
};

static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd == -1 || connect(fd, (struct sockaddr *)&a, sizeof(a)) == -1) {
        perror("bench: connect");
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* Connects and shakes hands, then turns the socket non-blocking. */
static SSL *connect_tls(SSL_CTX *tls, int port, int *ret_fd) {
    int fd = dial(port);
    SSL *ssl = fd == -1 ? NULL : SSL_new(tls);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || SSL_connect(ssl) != 1) {
        fprintf(stderr, "bench: no TLS connection to port %d\n", port);
        SSL_free(ssl);
        close(fd);
        return NULL;
    }
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    *ret_fd = fd;
    return ssl;
}

static bool would_wait(SSL *ssl, int rc) {
    int e = SSL_get_error(ssl, rc);
    return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

static int send_more(struct load_conn *c) {
    while (c->out_sent < c->out_n) {
        int n = SSL_write(c->ssl, c->out + c->out_sent, (int)(c->out_n - c->out_sent));
        if (n <= 0) {
            return would_wait(c->ssl, n) ? 0 : -1;
        }
        c->out_sent += (size_t)n;
    }
    return 0;
}

static void next_request(struct load *l, struct load_conn *c, size_t index) {
    c->index = index;
    c->out_n = l->request(l->ctx, index, c->out);
    c->out_sent = c->in_n = 0;
    c->start = measure_now();
}

/* The length of a whole answer at the start of the bytes; 0: not whole yet. */
static size_t answer_length(char *p, size_t n) {
    p[n] = 0;
    char *body = strstr(p, "\r\n\r\n");
    if (body == NULL) {
        return 0;
    }
    body += 4;
    char *length = strcasestr(p, "\r\ncontent-length:");
    if (length && length < body) {
        size_t all = (size_t)(body - p) + strtoul(length + 17, NULL, 10);
        return n >= all ? all : 0;
    }
    if (strcasestr(p, "\r\ntransfer-encoding: chunked")) {
        char *end = strstr(body - 2, "\r\n0\r\n\r\n");
        return end ? (size_t)(end + 7 - p) : 0;
    }
    return (size_t)(body - p);
}

/* 1: answered; 0: not yet; -1: broken. */
static int receive(struct load *l, struct load_conn *c) {
    for (;;) {
        int n = SSL_read(c->ssl, c->in + c->in_n, (int)(sizeof(c->in) - 1 - c->in_n));
        if (n <= 0) {
            return would_wait(c->ssl, n) ? 0 : -1;
        }
        c->in_n += (size_t)n;
        if (answer_length(c->in, c->in_n)) {
            l->latency[c->index] = measure_now() - c->start;
            int status = c->in_n > 12 ? (int)strtol(c->in + 9, NULL, 10) : 0;
            if (status != l->status) {
                fprintf(stderr, "bench: status %d: %.300s\n", status, c->in);
                return -1;
            }
            return 1;
        }
    }
}

static int serve(struct load *l, struct load_conn *c, size_t *next, size_t *done) {
    int got = send_more(c) == -1 ? -1 : receive(l, c);
    if (got == 1) {
        ++*done;
        if (*next < l->requests) {
            next_request(l, c, (*next)++);
            return send_more(c);
        }
    }
    return got == -1 ? -1 : 0;
}

static int drive(struct load *l, struct load_conn *conns, int ep) {
    size_t next = 0, done = 0;
    int64_t start = measure_now();
    for (size_t i = 0; i < l->connections && next < l->requests; i++) {
        next_request(l, &conns[i], next++);
        if (send_more(&conns[i]) == -1) {
            return -1;
        }
    }
    while (done < l->requests) {
        struct epoll_event events[64];
        int n = epoll_wait(ep, events, 64, 30000);
        if (n == 0 || (n == -1 && errno != EINTR)) {
            fprintf(stderr, "bench: no answer for 30 s\n");
            return -1;
        }
        for (int i = 0; i < n; i++) {
            if (serve(l, events[i].data.ptr, &next, &done) == -1) {
                fprintf(stderr, "bench: a connection broke\n");
                return -1;
            }
        }
    }
    l->seconds = (double)(measure_now() - start) / 1e9;
    return 0;
}

int load_run(struct load *l) {
    struct load_conn *conns = calloc(l->connections, sizeof(*conns));
    int ep = epoll_create1(EPOLL_CLOEXEC), code = conns && ep != -1 ? 0 : -1;
    size_t open = 0;
    for (; code == 0 && open < l->connections; open++) {
        struct load_conn *c = &conns[open];
        c->ssl = connect_tls(l->tls, l->port, &c->fd);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        if (c->ssl == NULL || epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e) == -1) {
            code = -1;
            break;
        }
    }
    code = code ? code : drive(l, conns, ep);
    for (size_t i = 0; i < open; i++) {
        SSL_free(conns[i].ssl);
        close(conns[i].fd);
    }
    close(ep);
    free(conns);
    return code;
}

struct load_stream {
    SSL *ssl;
    int fd;
};

struct load_stream *load_open(SSL_CTX *tls, int port, const char *request, size_t n) {
    struct load_stream *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->ssl = connect_tls(tls, port, &s->fd);
    if (s->ssl == NULL || (n && load_write(s, request, n) != 0)) {
        load_close(s);
        return NULL;
    }
    return s;
}

int load_write(struct load_stream *s, const char *p, size_t n) {
    return SSL_write(s->ssl, p, (int)n) == (int)n ? 0 : -1;
}

int load_fd(const struct load_stream *s) {
    return s->fd;
}

int load_read(struct load_stream *s, char *out, size_t cap) {
    int n = SSL_read(s->ssl, out, (int)cap);
    return n > 0 ? n : would_wait(s->ssl, n) ? 0 : -1;
}

void load_close(struct load_stream *s) {
    if (s && s->ssl) {
        SSL_free(s->ssl);
        close(s->fd);
    }
    free(s);
}

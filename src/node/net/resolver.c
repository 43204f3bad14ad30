/* resolver: see resolver.h. */
#include "node/net/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "node/net/names.h"

enum { PORT = 53, AT_ONCE = 64, BACKLOG = 16, QUESTION_MAX = 4096, ALIAS_ADDRESSES = 16 };

/* A question that was passed on. */
struct resolver_asked {
    struct resolver *s;
    struct loop_fd *watch; /* NULL: free */
    int fd;
    struct sockaddr_in who;
    struct dns_question q;        /* the asker's */
    char alias[DNS_NAME_MAX + 1]; /* what was asked for instead, of an alias; else "" */
    int64_t until;
};

struct resolver_line {
    struct resolver *s;
    struct loop_fd *watch; /* NULL: free */
    int fd;
    int64_t until;
    size_t n;
    unsigned char in[QUESTION_MAX + 2];
};

struct resolver {
    struct router *r;
    int udp, tcp;
    struct loop_fd *udp_watch, *tcp_watch;
    struct timer *sweep;
    struct sockaddr_in server; /* of the machine; family 0: none */
    unsigned turn;
    struct resolver_asked asked[RESOLVER_ASKED_MAX];
    struct resolver_line lines[RESOLVER_TCP_MAX];
};

static int64_t now(const struct resolver *s) {
    return clock_mono(loop_clock(s->r->loop));
}

/* ---- questions that are passed on ---- */

static void forget(struct resolver_asked *a) {
    loop_fd_free(a->watch);
    a->watch = NULL;
    close(a->fd);
}

static void answer_alias(struct resolver_asked *a, struct str told) {
    uint32_t ips[ALIAS_ADDRESSES];
    struct buf out;

    buf_init(&out, DNS_MESSAGE_MAX);
    size_t n = dns_read_addresses(told, ips, ALIAS_ADDRESSES);
    names_answer_alias(&a->q, str_of(a->alias), ips, n, a->q.room, &out);
    if (buf_ok(&out) == 0) {
        (void)!sendto(a->s->udp, out.p, out.n, 0, (struct sockaddr *)&a->who, sizeof(a->who));
    }
    buf_release(&out);
}

static void on_told(void *ctx, int events) {
    struct resolver_asked *a = ctx;
    unsigned char m[DNS_MESSAGE_MAX];
    ssize_t n = recv(a->fd, m, sizeof(m), 0);

    (void)events;
    if (n == -1 && errno == EAGAIN) {
        return;
    }
    if (n > 0 && a->alias[0]) {
        answer_alias(a, str_from((const char *)m, (size_t)n));
    } else if (n >= 12) {
        m[0] = (unsigned char)(a->q.id >> 8);
        m[1] = (unsigned char)a->q.id;
        (void)!sendto(a->s->udp, m, (size_t)n, 0, (struct sockaddr *)&a->who, sizeof(a->who));
    }
    forget(a);
}

/* false: it cannot be. The source port is the kernel's choice, another one for each question, and so is the id ours. */
static bool pass_on(struct resolver *s, struct str message, const struct dns_question *q,
                    struct str alias, const struct sockaddr_in *who) {
    struct resolver_asked *a = s->asked;
    struct err err;

    while (a < s->asked + RESOLVER_ASKED_MAX && a->watch) {
        a++;
    }
    if (a == s->asked + RESOLVER_ASKED_MAX) {
        return false;
    }
    *a = (struct resolver_asked){
        .s = s, .who = *who, .q = *q, .until = now(s) + RESOLVER_WAIT_S * NS_PER_SEC};
    str_copy(alias, a->alias, sizeof(a->alias));
    a->fd = outside_socket(&s->r->outside, SOCK_DGRAM, 0, &err);
    if (a->fd == -1) {
        return false;
    }
    if (connect(a->fd, (struct sockaddr *)&s->server, sizeof(s->server)) == -1 ||
        send(a->fd, message.p, message.n, MSG_NOSIGNAL) == -1) {
        close(a->fd);
        return false;
    }
    a->watch = loop_fd(s->r->loop, a->fd, LOOP_READABLE, on_told, a, &err);
    if (a->watch == NULL) {
        close(a->fd);
    }
    return a->watch != NULL;
}

static bool pass_on_alias(struct resolver *s, const struct dns_question *q, struct str alias,
                          const struct sockaddr_in *who) {
    struct buf m;

    buf_init(&m, DNS_UDP_PLAIN);
    dns_ask(&m, (uint16_t)(q->id ^ (s->turn * 40503u)), alias, DNS_A);
    bool asked = buf_ok(&m) == 0 && pass_on(s, buf_view(&m), q, alias, who);
    buf_release(&m);
    return asked;
}

static bool may_leave(const struct resolver *s, const struct sockaddr_in *who) {
    const struct model_pod *p = model_pod_at(&s->r->model, ntohl(who->sin_addr.s_addr));

    return s->r->uplink && s->server.sin_family && !(p && p->closed);
}

/* ---- answers ---- */

/* udp: what cannot be answered here may be passed on; then out stays empty. */
static void reply(struct resolver *s, struct str message, const struct sockaddr_in *who, bool udp,
                  struct buf *out) {
    struct dns_question q;
    struct str alias;
    int code = dns_read(message, &q);

    if (code == ERR_SYNTAX) {
        return;
    }
    if (code) {
        names_refuse(&q, code == ERR_UNSUPPORTED ? DNS_NOTIMP : DNS_FORMERR, out);
    } else if (udp && names_alias(&s->r->model, &q, &alias) && may_leave(s, who) &&
               pass_on_alias(s, &q, alias, who)) {
        s->turn++;
    } else if (names_answer(&s->r->model, &q, s->turn++, udp ? q.room : DNS_MESSAGE_MAX, out)) {
        return;
    } else if (!may_leave(s, who)) {
        names_refuse(&q, DNS_NXDOMAIN, out);
    } else if (!udp || !pass_on(s, message, &q, STR(""), who)) {
        names_refuse(&q, DNS_SERVFAIL, out);
    }
}

static void on_udp(void *ctx, int events) {
    struct resolver *s = ctx;
    struct buf out;

    (void)events;
    buf_init(&out, DNS_MESSAGE_MAX);
    for (int i = 0; i < AT_ONCE; i++) {
        unsigned char m[QUESTION_MAX];
        struct sockaddr_in who;
        socklen_t n_who = sizeof(who);
        ssize_t n = recvfrom(s->udp, m, sizeof(m), 0, (struct sockaddr *)&who, &n_who);
        if (n == -1) {
            break;
        }
        buf_reset(&out);
        reply(s, str_from((const char *)m, (size_t)n), &who, true, &out);
        if (out.n && buf_ok(&out) == 0) {
            (void)!sendto(s->udp, out.p, out.n, 0, (struct sockaddr *)&who, n_who);
        }
    }
    buf_release(&out);
}

/* ---- TCP: two bytes of length before each message ---- */

static void hang_up(struct resolver_line *l) {
    loop_fd_free(l->watch);
    l->watch = NULL;
    close(l->fd);
}

/* Answers what is there; false: the line is of no use any more. Who does not read its answers loses the line. */
static bool answer_line(struct resolver_line *l, const struct sockaddr_in *who) {
    size_t want = (size_t)(l->in[0] << 8 | l->in[1]);
    struct buf out;

    if (l->n < 2) {
        return true;
    }
    if (want > QUESTION_MAX) {
        return false;
    }
    if (l->n < want + 2) {
        return true;
    }
    buf_init(&out, DNS_MESSAGE_MAX + 2);
    buf_add(&out, "\0\0", 2);
    reply(l->s, str_from((const char *)l->in + 2, want), who, false, &out);
    bool good = buf_ok(&out) == 0 && out.n > 2;
    if (good) {
        out.p[0] = (char)((out.n - 2) >> 8);
        out.p[1] = (char)(out.n - 2);
        good = send(l->fd, out.p, out.n, MSG_NOSIGNAL) == (ssize_t)out.n;
    }
    buf_release(&out);
    memmove(l->in, l->in + want + 2, l->n - want - 2);
    l->n -= want + 2;
    return good;
}

static void on_line(void *ctx, int events) {
    struct resolver_line *l = ctx;
    struct sockaddr_in who = {0};
    socklen_t n_who = sizeof(who);
    ssize_t n = recv(l->fd, l->in + l->n, sizeof(l->in) - l->n, 0);

    (void)events;
    if (n == -1 && errno == EAGAIN) {
        return;
    }
    getpeername(l->fd, (struct sockaddr *)&who, &n_who);
    l->n += n > 0 ? (size_t)n : 0;
    if (n <= 0 || !answer_line(l, &who)) {
        hang_up(l);
    }
}

static void on_tcp(void *ctx, int events) {
    struct resolver *s = ctx;
    struct resolver_line *l = s->lines;
    int fd = accept4(s->tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    while (l < s->lines + RESOLVER_TCP_MAX && l->watch) {
        l++;
    }
    if (fd == -1 || l == s->lines + RESOLVER_TCP_MAX) {
        if (fd != -1) {
            close(fd);
        }
        return;
    }
    l->s = s;
    l->fd = fd;
    l->n = 0;
    l->until = now(s) + RESOLVER_WAIT_S * NS_PER_SEC;
    l->watch = loop_fd(s->r->loop, fd, LOOP_READABLE, on_line, l, NULL);
    if (l->watch == NULL) {
        close(fd);
    }
}

/* ---- life ---- */

static void on_sweep(void *ctx) {
    struct resolver *s = ctx;
    struct clock *c = loop_clock(s->r->loop);
    int64_t t = now(s);

    for (int i = 0; i < RESOLVER_ASKED_MAX; i++) {
        if (s->asked[i].watch && s->asked[i].until < t) {
            forget(&s->asked[i]);
        }
    }
    for (int i = 0; i < RESOLVER_TCP_MAX; i++) {
        if (s->lines[i].watch && s->lines[i].until < t) {
            hang_up(&s->lines[i]);
        }
    }
    c->timer_start(s->sweep, NS_PER_SEC);
}

/* The machine's first name server with an IPv4 address. */
static void find_server(struct resolver *s) {
    struct arena a;
    struct str text, line, word, rest;
    uint32_t ip;

    arena_init(&a, 1 << 20);
    if (file_load("/etc", "resolv.conf", &a, &text, NULL) == 0) {
        while (str_next(&text, '\n', &line) && !s->server.sin_family) {
            if (str_cut(line, ' ', &word, &rest) && str_is(word, "nameserver") &&
                model_ip(str_trim(rest), &ip, NULL)) {
                s->server = (struct sockaddr_in){
                    .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(ip)};
            }
        }
    }
    arena_release(&a);
}

static int open_port(struct resolver *s, int type, struct err *err) {
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons(PORT),
                                  .sin_addr.s_addr = htonl(router_gateway(&s->r->o))};
    int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd == -1 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) == -1 ||
        (type == SOCK_STREAM && listen(fd, BACKLOG) == -1)) {
        err_sys(err, errno, "the name server's port");
        if (fd != -1) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

int resolver_start(struct router *r, struct resolver **ret, struct err *err) {
    struct resolver *s = mem_zalloc(sizeof(*s));
    struct clock *c = loop_clock(r->loop);

    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    s->r = r;
    s->tcp = -1;
    find_server(s);
    s->udp = open_port(s, SOCK_DGRAM, err);
    s->tcp = s->udp == -1 ? -1 : open_port(s, SOCK_STREAM, err);
    s->sweep = c->timer_new(c, on_sweep, s);
    if (s->tcp != -1 && s->sweep) {
        s->udp_watch = loop_fd(r->loop, s->udp, LOOP_READABLE, on_udp, s, err);
        s->tcp_watch = loop_fd(r->loop, s->tcp, LOOP_READABLE, on_tcp, s, err);
    }
    if (s->udp_watch == NULL || s->tcp_watch == NULL) {
        resolver_free(s);
        return err && err->code ? err->code : ERR_NOMEM;
    }
    c->timer_start(s->sweep, NS_PER_SEC);
    *ret = s;
    return 0;
}

void resolver_free(struct resolver *s) {
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < RESOLVER_ASKED_MAX; i++) {
        if (s->asked[i].watch) {
            forget(&s->asked[i]);
        }
    }
    for (int i = 0; i < RESOLVER_TCP_MAX; i++) {
        if (s->lines[i].watch) {
            hang_up(&s->lines[i]);
        }
    }
    loop_fd_free(s->udp_watch);
    loop_fd_free(s->tcp_watch);
    if (s->udp != -1) {
        close(s->udp);
    }
    if (s->tcp != -1) {
        close(s->tcp);
    }
    loop_clock(s->r->loop)->timer_free(s->sweep);
    mem_free(s);
}

/* splice: see splice.h. What each side waits for follows from what is held for it; it is found anew at each event. */
#include "node/net/splice.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

/* One direction: read from `from`, held, written to the other side. */
struct splice_way {
    char held[SPLICE_BYTES];
    size_t n, at;
    bool ended, told; /* no more comes; the other side has been told */
};

struct splice_side {
    struct splice *s;
    int fd, events;
    struct loop_fd *watch;
    struct splice_way out; /* what came from this side */
};

struct splice {
    struct loop *loop;
    struct splice_side side[2];
    void (*ended)(void *ctx, struct splice *s);
    void *ctx;
    bool over;
};

static void take(struct splice_side *x) {
    struct splice_way *w = &x->out;

    if (w->n || w->ended) {
        return;
    }
    ssize_t n = recv(x->fd, w->held, sizeof(w->held), 0);
    if (n > 0) {
        w->n = (size_t)n;
        w->at = 0;
    } else if (n == 0) {
        w->ended = true;
    } else if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
        x->s->over = true;
    }
}

static void give(struct splice_side *x, struct splice_side *to) {
    struct splice_way *w = &x->out;

    while (w->n && !x->s->over) {
        ssize_t n = send(to->fd, w->held + w->at, w->n, MSG_NOSIGNAL);
        if (n == -1) {
            x->s->over = errno != EAGAIN && errno != EINTR && errno != ENOTCONN;
            return;
        }
        w->at += (size_t)n;
        w->n -= (size_t)n;
    }
    if (w->ended && !w->told && !w->n) {
        w->told = true;
        shutdown(to->fd, SHUT_WR);
    }
}

static void on_event(void *ctx, int events);

static bool watch(struct splice_side *x, const struct splice_side *other) {
    int events = (!x->out.n && !x->out.ended ? LOOP_READABLE : 0) |
                 (other->out.n || (other->out.ended && !other->out.told) ? LOOP_WRITABLE : 0);

    if (events == x->events) {
        return true;
    }
    loop_fd_free(x->watch);
    x->events = events;
    x->watch = events ? loop_fd(x->s->loop, x->fd, events, on_event, x, NULL) : NULL;
    return !events || x->watch;
}

static void on_event(void *ctx, int events) {
    struct splice_side *x = ctx;
    struct splice *s = x->s;
    struct splice_side *a = &s->side[0], *b = &s->side[1];

    (void)events;
    take(a);
    take(b);
    give(a, b);
    give(b, a);
    if (s->over || (a->out.told && b->out.told) || !watch(a, b) || !watch(b, a)) {
        s->ended(s->ctx, s);
        splice_free(s);
    }
}

int splice_start(struct loop *l, int a, int b, void (*ended)(void *ctx, struct splice *s),
                 void *ctx, struct splice **ret, struct err *err) {
    struct splice *s = mem_zalloc(sizeof(*s));

    if (s == NULL) {
        close(a);
        close(b);
        return err_set(err, ERR_NOMEM, "no memory");
    }
    s->loop = l;
    s->ended = ended;
    s->ctx = ctx;
    s->side[0].s = s->side[1].s = s;
    s->side[0].fd = a;
    s->side[1].fd = b;
    if (!watch(&s->side[0], &s->side[1]) || !watch(&s->side[1], &s->side[0])) {
        splice_free(s);
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *ret = s;
    return 0;
}

void splice_free(struct splice *s) {
    for (int i = 0; s && i < 2; i++) {
        loop_fd_free(s->side[i].watch);
        close(s->side[i].fd);
    }
    mem_free(s);
}

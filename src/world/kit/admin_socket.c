/* admin_socket: one line in, one line out, over a Unix socket. See admin_socket.h. */
#include "world/kit/admin_socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

enum { LINE_MAX_BYTES = 8192, REPLY_MAX_BYTES = 2048, CALLS_MAX = 16 };

struct admin_call {
    struct admin_socket *owner;
    struct admin_call *next;
    struct loop_fd *watch;
    int fd;
    size_t n;
    bool asked;
    char line[LINE_MAX_BYTES];
};

struct admin_socket {
    struct loop *loop;
    struct loop_fd *watch;
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    void (*handle)(void *ctx, struct admin_call *call, struct str line);
    void *ctx;
    struct admin_call *calls;
    size_t n_calls;
};

static int address_of(const char *path, struct sockaddr_un *a, struct err *err) {
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!str_copy(str_of(path), a->sun_path, sizeof(a->sun_path))) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--data: %s: the path is too long for a socket (at most %zu bytes)", path,
                       sizeof(a->sun_path) - 1);
    }
    return 0;
}

static void call_free(struct admin_call *c) {
    struct admin_call **at = &c->owner->calls;
    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    c->owner->n_calls--;
    loop_fd_free(c->watch);
    close(c->fd);
    mem_free(c);
}

static void say(struct admin_call *call, const char *word, struct str text) {
    char line[REPLY_MAX_BYTES];
    int n = snprintf(line, sizeof(line), "%s%s%.*s\n", word, text.n ? " " : "",
                     STR_ARG(str_head(text, REPLY_MAX_BYTES - 16)));
    (void)!send(call->fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    call_free(call);
}

void admin_reply(struct admin_call *call, int code, const struct err *why) {
    struct str text = str_of(why ? why->text : err_name(code));
    say(call, code == 0 ? "ok" : "error", code == 0 ? (struct str){0} : text);
}

void admin_reply_text(struct admin_call *call, struct str text) {
    say(call, "ok", text);
}

static void readable(void *ctx, int events) {
    struct admin_call *c = ctx;
    if (c->asked) {
        loop_fd_free(TAKE(c->watch)); /* the peer left; the answer goes nowhere */
        return;
    }
    ssize_t n = recv(c->fd, c->line + c->n, sizeof(c->line) - c->n, MSG_DONTWAIT);
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    c->n += n > 0 ? (size_t)n : 0;
    ptrdiff_t end = str_find(str_from(c->line, c->n), '\n');
    if (end >= 0) {
        c->asked = true;
        c->owner->handle(c->owner->ctx, c, str_from(c->line, (size_t)end));
    } else if (n <= 0 || c->n == sizeof(c->line)) {
        call_free(c);
    }
}

static void acceptable(void *ctx, int events) {
    struct admin_socket *s = ctx;
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd == -1) {
        return;
    }
    struct admin_call *c = s->n_calls < CALLS_MAX ? mem_zalloc(sizeof(*c)) : NULL;
    struct loop_fd *watch = c ? loop_fd(s->loop, fd, LOOP_READABLE, readable, c, NULL) : NULL;
    if (watch == NULL) {
        mem_free(c);
        close(fd);
        return;
    }
    c->owner = s;
    c->fd = fd;
    c->watch = watch;
    c->next = s->calls;
    s->calls = c;
    s->n_calls++;
}

static int listen_at(struct admin_socket *s, struct err *err) {
    struct sockaddr_un a;
    int r = address_of(s->path, &a, err);
    if (r != 0) {
        return r;
    }
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd == -1) {
        return err_sys(err, errno, "socket");
    }
    unlink(s->path); /* we hold the data folder's lock, so a socket here is a dead one */
    mode_t old = umask(0177);
    int bound = bind(s->fd, (struct sockaddr *)&a, sizeof(a));
    int e = errno;
    umask(old);
    if (bound == -1) {
        return err_sys(err, e, "bind %s", s->path);
    }
    return listen(s->fd, 8) == -1 ? err_sys(err, errno, "listen %s", s->path) : 0;
}

int admin_socket_open(struct loop *l, const char *path,
                      void (*handle)(void *ctx, struct admin_call *call, struct str line),
                      void *ctx, struct admin_socket **ret, struct err *err) {
    struct sockaddr_un probe;
    int r = address_of(path, &probe, err);
    if (r != 0) {
        return r;
    }
    struct admin_socket *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "admin socket: no memory");
    }
    *s = (struct admin_socket){.loop = l, .fd = -1, .handle = handle, .ctx = ctx};
    str_copy(str_of(path), s->path, sizeof(s->path));
    r = listen_at(s, err);
    if (r == 0) {
        s->watch = loop_fd(l, s->fd, LOOP_READABLE, acceptable, s, err);
        r = s->watch ? 0 : ERR_NOMEM;
    }
    if (r != 0) {
        admin_socket_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

void admin_socket_close(struct admin_socket *s) {
    if (s == NULL) {
        return;
    }
    while (s->calls) {
        call_free(s->calls);
    }
    loop_fd_free(s->watch);
    if (s->fd >= 0) {
        close(s->fd);
        unlink(s->path);
    }
    mem_free(s);
}

static int exchange(int fd, const struct sockaddr_un *a, struct str line, char *reply, size_t cap,
                    struct err *err) {
    if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == -1) {
        return err_set(err, ERR_GONE, "no berth up answers at %s", a->sun_path);
    }
    if (send(fd, line.p, line.n, MSG_NOSIGNAL) != (ssize_t)line.n ||
        send(fd, "\n", 1, MSG_NOSIGNAL) != 1) {
        return err_sys(err, errno, "send to %s", a->sun_path);
    }
    size_t n = 0;
    while (n < cap - 1 && (n == 0 || reply[n - 1] != '\n')) {
        ssize_t got = recv(fd, reply + n, cap - 1 - n, 0);
        if (got == -1 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return err_set(err, ERR_GONE, "berth up ended before it answered");
        }
        n += (size_t)got;
    }
    reply[n - 1] = 0;
    return 0;
}

int admin_ask(const char *path, struct str line, struct err *err) {
    return admin_ask_text(path, line, NULL, err);
}

int admin_ask_text(const char *path, struct str line, struct buf *ret, struct err *err) {
    struct sockaddr_un a;
    char reply[REPLY_MAX_BYTES];
    int r = address_of(path, &a, err);
    if (r != 0) {
        return r;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1) {
        return err_sys(err, errno, "socket");
    }
    r = exchange(fd, &a, line, reply, sizeof(reply), err);
    close(fd);
    if (r != 0) {
        return r;
    }
    struct str text = str_of(reply), word, rest;
    str_cut(text, ' ', &word, &rest);
    if (!str_is(word, "ok")) {
        return err_set(err, ERR_INTERNAL, "%.*s", STR_ARG(str_is(word, "error") ? rest : text));
    }
    if (ret) {
        buf_str(ret, rest);
    }
    return 0;
}

/* ask: see ask.h. This file: connecting, HTTP; ask_grpc.c has gRPC. */
#include "node/life/ask.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/life/reach.h"

static bool over(struct inquiry *a, bool ok) {
    a->ok = ok;
    return true;
}

/* As Go says it: "connection refused". */
static const char *error_text(int e, char out[64]) {
    snprintf(out, 64, "%s", strerror(e));
    out[0] = (char)tolower((unsigned char)out[0]);
    return out;
}

static bool not_connected(struct inquiry *a, int e) {
    const struct handler *h = a->h;
    char why[64];

    error_text(e, why);
    if (h->kind == HANDLER_HTTP) {
        snprintf(a->text, sizeof(a->text),
                 "Get \"http://%.100s:%u%.200s\": dial tcp %.100s:%u: connect: %s", h->host,
                 h->port, h->path, h->host, h->port, why);
    } else if (h->kind == HANDLER_GRPC) {
        snprintf(a->text, sizeof(a->text), "error: failed to connect service at \"%.100s:%u\": %s",
                 h->host, h->port, why);
    } else {
        snprintf(a->text, sizeof(a->text), "dial tcp %.100s:%u: connect: %s", h->host, h->port,
                 why);
    }
    return over(a, false);
}

static bool broken(struct inquiry *a, const char *why) {
    const struct handler *h = a->h;

    if (h->kind == HANDLER_GRPC) {
        snprintf(a->text, sizeof(a->text), "error: health rpc probe failed: %.400s", why);
    } else {
        snprintf(a->text, sizeof(a->text), "Get \"http://%.100s:%u%.200s\": %.160s", h->host,
                 h->port, h->path, why);
    }
    return over(a, false);
}

void ask_http_request(const struct handler *h, const char *path, struct buf *out) {
    buf_f(out, "GET %s HTTP/1.1\r\n", path);
    buf_str(out, h->headers);
    buf_c(out, "Connection: close\r\n\r\n");
}

bool ask_begin(struct inquiry *a, const struct handler *h) {
    *a = (struct inquiry){.h = h, .fd = reach_connect(h->host, h->port)};
    buf_init(&a->out, ASK_READ_MAX);
    buf_init(&a->in, ASK_READ_MAX);
    buf_init(&a->grpc, ASK_READ_MAX);
    if (a->fd == -1) {
        return not_connected(a, errno);
    }
    if (h->kind == HANDLER_HTTP) {
        ask_http_request(h, h->path, &a->out);
    } else if (h->kind == HANDLER_GRPC) {
        ask_grpc_request(h, &a->out);
    }
    return false;
}

short ask_events(const struct inquiry *a) {
    return (short)((!a->connected || a->sent < a->out.n ? POLLOUT : 0) |
                   (a->connected ? POLLIN : 0));
}

/* The value of a header of the answer's head; empty: it has none. */
static struct str header(struct str head, const char *name) {
    struct str line, key, value;

    while (str_next(&head, '\n', &line)) {
        if (str_cut(line, ':', &key, &value) && str_eq_nocase(str_trim(key), str_of(name))) {
            return str_trim(value);
        }
    }
    return STR("");
}

static bool head_of(struct str answer, struct str *ret, int *ret_code) {
    static const char end[] = "\r\n\r\n";
    const char *at = answer.n ? memmem(answer.p, answer.n, end, 4) : NULL;
    int64_t code;

    if (at == NULL) {
        return false;
    }
    *ret = str_from(answer.p, (size_t)(at - answer.p));
    bool good = str_starts(*ret, STR("HTTP/1.")) && ret->n >= 12 &&
                str_to_i64(str_from(ret->p + 9, 3), &code) && code >= 100;
    *ret_code = good ? (int)code : 0;
    return true;
}

bool ask_http_judge(struct str answer, bool whole, bool *ret_ok, char text[ASK_TEXT]) {
    struct str head;
    int code;

    *ret_ok = false;
    if (!head_of(answer, &head, &code)) {
        snprintf(text, ASK_TEXT, "%s", answer.n ? "malformed HTTP response" : "EOF");
        return whole;
    }
    if (code == 0) {
        snprintf(text, ASK_TEXT, "malformed HTTP response");
        return true;
    }
    *ret_ok = code >= 200 && code < 400;
    snprintf(text, ASK_TEXT, *ret_ok ? "" : "HTTP probe failed with statuscode: %d", code);
    return true;
}

/* A redirection to the same host is followed, as Kubernetes does. True: it is. */
static bool follow(struct inquiry *a) {
    struct str head, to;
    char path[1024], same[300];
    int code;

    if (!head_of(buf_view(&a->in), &head, &code) || code < 300 || code >= 400) {
        return false;
    }
    to = header(head, "Location");
    snprintf(same, sizeof(same), "http://%.200s:%u/", a->h->host, a->h->port);
    if (str_starts(to, str_of(same))) {
        to = str_skip(to, strlen(same) - 1);
    }
    if (to.n < 1 || to.p[0] != '/' || str_starts(to, STR("//")) || str_find(to, ' ') >= 0 ||
        !str_copy(to, path, sizeof(path)) || ++a->redirects > ASK_REDIRECTS) {
        return false;
    }
    close(a->fd);
    a->fd = reach_connect(a->h->host, a->h->port);
    a->connected = false;
    a->sent = 0;
    buf_reset(&a->out);
    buf_reset(&a->in);
    ask_http_request(a->h, path, &a->out);
    return a->fd != -1;
}

static bool judge_http(struct inquiry *a, bool whole) {
    char why[ASK_TEXT];
    bool ok;

    if (!ask_http_judge(buf_view(&a->in), whole || buf_ok(&a->in), &ok, why)) {
        return false;
    }
    if (ok && follow(a)) {
        return false;
    }
    if (!ok && strncmp(why, "HTTP probe", 10) != 0) {
        return broken(a, why);
    }
    snprintf(a->text, sizeof(a->text), "%s", why);
    return over(a, ok);
}

static bool take(struct inquiry *a) {
    char *room = buf_room(&a->in, 4096);
    ssize_t n = room ? recv(a->fd, room, 4096, 0) : 0;

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    a->in.n += n > 0 ? (size_t)n : 0;
    if (a->h->kind == HANDLER_HTTP) {
        return judge_http(a, n <= 0);
    }
    return ask_grpc_frames(a) || (n <= 0 && broken(a, n == 0 ? "EOF" : "connection reset by peer"));
}

bool ask_step(struct inquiry *a) {
    if (!a->connected) {
        struct pollfd p = {.fd = a->fd, .events = POLLOUT};
        if (poll(&p, 1, 0) <= 0) {
            return false;
        }
        int e = reach_error(a->fd);
        if (e) {
            return not_connected(a, e);
        }
        a->connected = true;
        if (a->h->kind == HANDLER_TCP) {
            return over(a, true);
        }
    }
    if (a->sent < a->out.n) {
        ssize_t n = send(a->fd, a->out.p + a->sent, a->out.n - a->sent, MSG_NOSIGNAL);
        a->sent += n > 0 ? (size_t)n : 0;
    }
    return take(a);
}

void ask_late(struct inquiry *a, int64_t timeout_s) {
    const struct handler *h = a->h;

    if (h->kind == HANDLER_HTTP) {
        broken(a, a->connected
                      ? "context deadline exceeded (Client.Timeout exceeded while awaiting "
                        "headers)"
                      : "net/http: request canceled while waiting for connection "
                        "(Client.Timeout exceeded while awaiting headers)");
    } else if (h->kind == HANDLER_GRPC && a->connected) {
        snprintf(a->text, sizeof(a->text), "timeout: health rpc did not complete within %llds",
                 (long long)timeout_s);
    } else if (h->kind == HANDLER_GRPC) {
        snprintf(a->text, sizeof(a->text),
                 "timeout: failed to connect service \"%.100s:%u\" within %llds: context deadline "
                 "exceeded",
                 h->host, h->port, (long long)timeout_s);
    } else {
        snprintf(a->text, sizeof(a->text), "dial tcp %.100s:%u: i/o timeout", h->host, h->port);
    }
    a->ok = false;
}

void ask_end(struct inquiry *a) {
    if (a->h && a->fd != -1) {
        close(a->fd);
    }
    buf_release(&a->out);
    buf_release(&a->in);
    buf_release(&a->grpc);
    *a = (struct inquiry){.fd = -1};
}

/*
 * nvml_client: see nvml_client.h. The helper's life is a table:
 *
 * none -> (a request waits, the pause is over) -> starting -> (hello) -> ready -> (exit, kill) ->
 * none
 */
#include "node/gpu/nvml_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/gpu/nvml.h"

enum { PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 60000, ANSWER_BYTES_MAX = 8 << 20 };

struct request {
    struct request *next;
    nvml_answer *done;
    void *ctx;
    char text[480];
};

/* A helper process outlives its usefulness until it is reaped: so it is an object of its own. */
struct nvml_process {
    struct nvml_client *client; /* NULL once the client no longer wants it */
    struct loop_child *child;
};

enum helper_state { HELPER_NONE, HELPER_STARTING, HELPER_READY };

struct nvml_client {
    struct nvml_client_options o;
    struct clock *clock;
    enum helper_state state;
    struct nvml_process *helper;
    int fd;
    struct loop_fd *watch;
    struct buf in;
    struct request *first, **last;
    size_t n_requests;
    bool sent; /* the first request is with the helper */
    uint64_t id;
    struct timer *limit, *pause, *grave;
    int64_t pause_ms;
    struct nvml_process *dying; /* killed, not yet reaped: watched by `grave` */
    int stuck;
    bool simulated, opened, renew; /* renew: the helper goes as soon as it has answered */
    struct err hello;              /* why the library could not be opened */
};

static void pump(struct nvml_client *c);

static int map_result(int64_t result) {
    switch (result) {
    case 0:
        return 0;
    case NVML_INSUFFICIENT_RESOURCES:
        return ERR_CONFLICT;
    case NVML_IN_USE:
        return ERR_TOO_MANY;
    case NVML_NOT_FOUND:
    case NVML_GPU_NOT_FOUND:
        return ERR_NOT_FOUND;
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_RESET_REQUIRED:
        return ERR_UNSUPPORTED;
    case NVML_NO_PERMISSION:
        return ERR_FORBIDDEN;
    case NVML_GPU_IS_LOST:
        return ERR_GONE;
    default:
        return ERR_IO;
    }
}

static struct request *take_first(struct nvml_client *c) {
    struct request *r = c->first;

    c->first = r->next;
    if (c->first == NULL) {
        c->last = &c->first;
    }
    c->n_requests--;
    c->sent = false;
    c->clock->timer_stop(c->limit);
    return r;
}

static void fail_first(struct nvml_client *c, int code, const char *why) {
    struct request *r = take_first(c);
    struct err err;

    err_set(&err, code, "%s", why);
    r->done(r->ctx, code, NULL, &err);
    mem_free(r);
}

/* The helper is of no more use: its socket closes, which ends a healthy one; a sick one is killed.
 */
static void drop_helper(struct nvml_client *c, bool kill_it) {
    loop_fd_free(c->watch);
    c->watch = NULL;
    if (c->fd != -1) {
        close(c->fd);
        c->fd = -1;
    }
    buf_reset(&c->in);
    c->state = HELPER_NONE;
    if (c->helper && kill_it) {
        loop_child_kill(c->helper->child, SIGKILL);
        c->dying = c->helper;
        c->clock->timer_start(c->grave, NVML_DIE_MS * NS_PER_MS);
    }
    c->helper = NULL;
}

static void on_exit_of_helper(void *ctx, int pid, int64_t status, int signal) {
    struct nvml_process *h = ctx;
    struct nvml_client *c = h->client;

    loop_child_free(h->child);
    if (c && c->dying == h) {
        c->dying = NULL;
        c->clock->timer_stop(c->grave);
        pump(c);
    }
    if (c && c->helper == h) {
        h->child = NULL;
        c->helper = NULL;
        bool lost = c->sent;
        drop_helper(c, false);
        if (lost) {
            fail_first(c, ERR_GONE, "the NVML helper ended");
        }
        pump(c);
    }
    mem_free(h);
}

/* Whatever becomes of it, nobody asks: the loop reaps it, or leaves it behind at its end. */
static void forget(struct nvml_process *h) {
    loop_child_free(h->child);
    mem_free(h);
}

/* It did not die in time: it sits in the kernel. It is counted, and forgotten. */
static void on_grave(void *ctx) {
    struct nvml_client *c = ctx;

    if (c->dying) {
        forget(c->dying);
        c->dying = NULL;
        c->stuck++;
    }
    pump(c);
}

static void on_limit(void *ctx) {
    struct nvml_client *c = ctx;

    drop_helper(c, true);
    if (c->first) {
        fail_first(c, c->sent ? ERR_TIMEOUT : ERR_UNAVAILABLE, "the NVIDIA driver does not answer");
    }
    pump(c);
}

static void on_hello(struct nvml_client *c, yyjson_val *v) {
    int64_t code = json_i64_at(v, "code", ERR_IO);

    c->opened = code == 0;
    if (code) {
        err_set(&c->hello, (int)code, "%.*s", STR_ARG(json_str_at(v, "error")));
        drop_helper(c, true);
        while (c->first) {
            fail_first(c, (int)code, c->hello.text);
        }
        return;
    }
    c->simulated = json_bool_at(v, "simulated", false);
    c->state = HELPER_READY;
    c->clock->timer_stop(c->limit);
    pump(c);
}

static void on_answer(struct nvml_client *c, yyjson_val *v) {
    struct err err = {0};

    if (!c->sent || json_i64_at(v, "id", -1) != (int64_t)c->id) {
        return;
    }
    c->pause_ms = 0;
    int code = map_result(json_i64_at(v, "result", NVML_UNKNOWN));
    if (code) {
        err_set(&err, code, "%.*s", STR_ARG(json_str_at(v, "error")));
    }
    struct request *r = take_first(c);
    if (c->renew) {
        nvml_client_renew(c);
    }
    r->done(r->ctx, code, v, &err);
    mem_free(r);
    pump(c);
}

static bool take_line(struct nvml_client *c) {
    struct str line, rest;
    struct arena a;
    yyjson_doc *doc;

    if (!str_cut(buf_view(&c->in), '\n', &line, &rest)) {
        return false;
    }
    arena_init(&a, 64 << 20);
    size_t n = line.n + 1;
    int code = json_parse(&a, line, &doc, NULL);
    buf_consume(&c->in, n); /* the document has its own copy of every string */
    if (code == 0 && c->state == HELPER_STARTING) {
        on_hello(c, yyjson_doc_get_root(doc));
    } else if (code == 0) {
        on_answer(c, yyjson_doc_get_root(doc));
    }
    arena_release(&a);
    return true;
}

static void on_readable(void *ctx, int events) {
    struct nvml_client *c = ctx;
    char *room = buf_room(&c->in, 65536);
    ssize_t n = room ? read(c->fd, room, 65536) : -1;

    if (n == -1 && room && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        bool lost = c->sent;
        drop_helper(c, true);
        if (lost) {
            fail_first(c, ERR_GONE, "the NVML helper ended");
        }
        pump(c);
        return;
    }
    c->in.n += (size_t)n;
    while (c->watch && take_line(c)) {
    }
}

static int start_helper(struct nvml_client *c, struct err *err) {
    const char *argv[] = {c->o.program, "nvml-helper", c->o.library, NULL};
    struct child_options o = {.file = c->o.program, .argv = argv, .envp = c->o.envp, .n_fds = 3};
    struct nvml_process *h = mem_zalloc(sizeof(*h));
    int pair[2];

    if (h == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
        mem_free(h);
        return err_sys(err, errno, "socketpair");
    }
    o.fds[0] = o.fds[1] = pair[1];
    o.fds[2] = STDERR_FILENO;
    h->client = c;
    int code = loop_spawn(c->o.loop, &o, on_exit_of_helper, h, &h->child, err);
    close(pair[1]);
    if (code) {
        close(pair[0]);
        mem_free(h);
        return code;
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    c->helper = h;
    c->fd = pair[0];
    c->state = HELPER_STARTING;
    c->watch = loop_fd(c->o.loop, c->fd, LOOP_READABLE, on_readable, c, err);
    if (c->watch == NULL) {
        drop_helper(c, true);
        return ERR_NOMEM;
    }
    c->clock->timer_start(c->limit, c->o.request_ms * NS_PER_MS);
    return 0;
}

static void on_pause_over(void *ctx) {
    struct nvml_client *c = ctx;
    struct err err;

    if (c->state != HELPER_NONE) {
        pump(c);
        return;
    }
    if (c->first == NULL || c->dying || c->stuck >= NVML_STUCK_MAX) {
        pump(c);
        return;
    }
    c->pause_ms = c->pause_ms ? c->pause_ms * 2 : PAUSE_FIRST_MS;
    c->pause_ms = c->pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : c->pause_ms;
    if (start_helper(c, &err)) {
        fail_first(c, err.code, err.text);
        pump(c);
    }
}

/* Moves on: sends the next request, or sees to it that there will be a helper. */
static void pump(struct nvml_client *c) {
    if (c->first == NULL || c->sent || c->state == HELPER_STARTING) {
        return;
    }
    if (c->state == HELPER_NONE) {
        if (c->stuck >= NVML_STUCK_MAX) {
            while (c->first) {
                fail_first(c, ERR_UNAVAILABLE,
                           "helpers are stuck in the NVIDIA driver; no more are started");
            }
            return;
        }
        if (c->dying == NULL) {
            c->clock->timer_start(c->pause, c->pause_ms * NS_PER_MS);
        }
        return;
    }
    char line[512];
    int n = snprintf(line, sizeof(line), "%llu %s\n", (unsigned long long)++c->id, c->first->text);
    if (send(c->fd, line, (size_t)n, MSG_NOSIGNAL) != n) {
        drop_helper(c, true);
        fail_first(c, ERR_UNAVAILABLE, "the NVML helper ended");
        return pump(c);
    }
    c->sent = true;
    c->clock->timer_start(c->limit, c->o.request_ms * NS_PER_MS);
}

struct nvml_client *nvml_client_new(const struct nvml_client_options *o, struct err *err) {
    struct nvml_client *c = mem_zalloc(sizeof(*c));

    if (c == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    c->o = *o;
    c->o.request_ms = o->request_ms ? o->request_ms : NVML_REQUEST_MS;
    c->clock = loop_clock(o->loop);
    c->fd = -1;
    c->last = &c->first;
    buf_init(&c->in, ANSWER_BYTES_MAX);
    c->limit = c->clock->timer_new(c->clock, on_limit, c);
    c->pause = c->clock->timer_new(c->clock, on_pause_over, c);
    c->grave = c->clock->timer_new(c->clock, on_grave, c);
    if (c->limit == NULL || c->pause == NULL || c->grave == NULL) {
        nvml_client_free(c);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    return c;
}

void nvml_client_free(struct nvml_client *c) {
    if (c == NULL) {
        return;
    }
    drop_helper(c, true);
    if (c->dying) {
        forget(c->dying);
    }
    while (c->first) {
        mem_free(take_first(c));
    }
    c->clock->timer_free(c->limit);
    c->clock->timer_free(c->pause);
    c->clock->timer_free(c->grave);
    buf_release(&c->in);
    mem_free(c);
}

int nvml_ask(struct nvml_client *c, nvml_answer *done, void *ctx, const char *fmt, ...) {
    struct request *r;
    va_list ap;

    if (c->n_requests >= NVML_QUEUE_MAX || (r = mem_zalloc(sizeof(*r))) == NULL) {
        return ERR_TOO_MANY;
    }
    va_start(ap, fmt);
    int n = vsnprintf(r->text, sizeof(r->text), fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof(r->text)) {
        mem_free(r);
        return ERR_TOO_LARGE;
    }
    r->done = done;
    r->ctx = ctx;
    *c->last = r;
    c->last = &r->next;
    c->n_requests++;
    /* Answers never come inside this call: all that follows comes from the timer. */
    if (!c->sent) {
        c->clock->timer_start(c->pause, c->state == HELPER_NONE ? c->pause_ms * NS_PER_MS : 0);
    }
    return 0;
}

void nvml_client_renew(struct nvml_client *c) {
    c->renew = c->sent || c->state == HELPER_STARTING;
    if (c->renew) {
        return;
    }
    c->pause_ms = 0;
    if (c->state == HELPER_READY) {
        drop_helper(c, true); /* it is idle: nothing of it is in the driver */
    }
}

bool nvml_client_opened(const struct nvml_client *c) {
    return c->opened;
}

bool nvml_client_simulated(const struct nvml_client *c) {
    return c->simulated;
}

int nvml_client_stuck(const struct nvml_client *c) {
    return c->stuck;
}

/*
 * shim_attempt: one question or hook on its way: a command inside of the container, a question over the network, or
 * time that passes. Output is kept up to SHIM_OUTPUT_MAX, and each has its time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/life/reach.h"
#include "node/sandbox/shim.h"

static void over(struct shim_attempt *a, bool ok, struct str text) {
    a->done = true;
    a->ok = ok;
    snprintf(a->text, sizeof(a->text), "%.*s", STR_ARG(str_head(text, sizeof(a->text) - 1)));
}

static bool by_child(const struct handler *h) {
    return (h->kind == HANDLER_HTTP || h->kind == HANDLER_TCP || h->kind == HANDLER_GRPC) &&
           (h->https || !reach_is_address(h->host));
}

/* A question that blocks, asked by a process that does nothing else. It has the rights of the shim: what it says goes
 * no further than into the verdict. */
static void begin_child(struct shim_attempt *a, int out) {
    a->pid = fork();
    if (a->pid == 0) {
        sigset_t none;

        setsid();
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        _exit(ask_child(a->h, out));
    }
    if (a->pid == -1) {
        a->pid = 0;
        a->errored = true;
        over(a, false, str_of(strerror(errno)));
    }
}

static void begin_command(struct shim *s, struct shim_container *c, struct shim_attempt *a,
                          int out) {
    const struct shim_inside how = {.argv = a->h->argv, .in = -1, .out = out, .err = out};
    char what[64], text[SHIM_TEXT];
    int e = shim_inside(s, c, &how, &a->pid, what);

    if (e) {
        snprintf(text, sizeof(text), "cannot %s \"%.800s\": %s", what, a->h->argv[0], strerror(e));
        a->errored = true;
        over(a, false, str_of(text));
    }
}

void shim_attempt_begin(struct shim *s, struct shim_container *c, struct shim_attempt *a,
                        const struct handler *h, int64_t timeout_ns) {
    int out[2] = {-1, -1};
    int64_t now = shim_mono();

    shim_attempt_end(a);
    a->h = h;
    a->fd = -1;
    a->timeout_s = timeout_ns / NS_PER_SEC;
    a->until_mono = timeout_ns < INT64_MAX - now ? now + timeout_ns : INT64_MAX;
    buf_init(&a->out, SHIM_OUTPUT_MAX);
    if (h->kind == HANDLER_SLEEP) {
        int64_t most = INT64_MAX / NS_PER_SEC - now / NS_PER_SEC - 1;
        int64_t until = now + (h->sleep_s < most ? h->sleep_s : most) * NS_PER_SEC;
        a->until_mono = until < a->until_mono ? until : a->until_mono;
        return;
    }
    if (h->kind != HANDLER_EXEC && !by_child(h)) {
        a->asking = true;
        if (ask_begin(&a->ask, h)) {
            over(a, a->ask.ok, str_of(a->ask.text));
        }
        return;
    }
    if (pipe2(out, O_CLOEXEC | O_NONBLOCK) == -1) {
        a->errored = true;
        over(a, false, str_of(strerror(errno)));
        return;
    }
    a->fd = out[0];
    fcntl(out[1], F_SETFL, 0);
    if (h->kind == HANDLER_EXEC) {
        begin_command(s, c, a, out[1]);
    } else {
        begin_child(a, out[1]);
    }
    close(out[1]);
}

static void close_output(struct shim_attempt *a) {
    if (a->fd != -1) {
        close(a->fd);
        a->fd = -1;
    }
}

/* What does not fit is read and dropped: a command must not wait for us. */
static void read_output(struct shim_attempt *a) {
    char bytes[4096];
    ssize_t n = 0;

    for (int i = 0; a->fd != -1 && i < 16 && (n = read(a->fd, bytes, sizeof(bytes))) > 0; i++) {
        size_t room = SHIM_OUTPUT_MAX - a->out.n;
        buf_add(&a->out, bytes, (size_t)n < room ? (size_t)n : room);
    }
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        close_output(a);
    }
}

static void on_fd(struct shim *s, void *who) {
    struct shim_attempt *a = who;

    if (a->h && a->asking && !a->done && ask_step(&a->ask)) {
        over(a, a->ask.ok, str_of(a->ask.text));
    } else if (a->h && !a->asking) {
        read_output(a);
    }
}

void shim_attempt_poll(struct shim_attempt *a, struct shim_poll *p) {
    if (a->h && a->asking && !a->done) {
        shim_poll_add(p, a->ask.fd, ask_events(&a->ask), on_fd, a);
    } else if (a->h && a->fd != -1) {
        shim_poll_add(p, a->fd, POLLIN, on_fd, a);
    }
}

static void end_command(struct shim_attempt *a) {
    if (a->pid) {
        kill(-a->pid, SIGKILL);
        kill(a->pid, SIGKILL); /* before it has a session of its own */
        a->pid = 0;            /* reaped as a stranger */
    }
}

static void late(struct shim_attempt *a) {
    struct buf b;

    if (a->asking) {
        ask_late(&a->ask, a->timeout_s);
        over(a, false, str_of(a->ask.text));
        return;
    }
    end_command(a);
    buf_init(&b, SHIM_TEXT);
    buf_c(&b, a->h->kind == HANDLER_EXEC ? "command \"" : "Get: context deadline exceeded");
    for (char **w = a->h->argv; a->h->kind == HANDLER_EXEC && *w; w++) {
        buf_f(&b, "%s%.256s", w == a->h->argv ? "" : " ", *w);
    }
    buf_c(&b, a->h->kind == HANDLER_EXEC ? "\" timed out" : "");
    over(a, false, buf_ok(&b) ? STR("the command timed out") : buf_view(&b));
    buf_release(&b);
}

void shim_attempt_step(struct shim_attempt *a, int64_t now) {
    if (a->h && !a->done && now >= a->until_mono) {
        if (a->h->kind == HANDLER_SLEEP) {
            over(a, true, STR(""));
        } else {
            late(a);
        }
    }
}

bool shim_attempt_reaped(struct shim_attempt *a, pid_t pid, int status) {
    if (a->h == NULL || a->pid != pid) {
        return false;
    }
    a->pid = 0;
    read_output(a);
    close_output(a);
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ok && a->h->kind == HANDLER_HTTP) {
        char text[ASK_TEXT];
        ask_http_judge(buf_view(&a->out), true, &ok, text);
        over(a, ok, str_of(text));
    } else if (a->out.n || ok) {
        over(a, ok, buf_view(&a->out));
    } else {
        char text[64];
        snprintf(text, sizeof(text), WIFEXITED(status) ? "exit status %d" : "signal %d",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        over(a, false, str_of(text));
    }
    return true;
}

int64_t shim_attempt_due(const struct shim_attempt *a) {
    return a->h && !a->done ? a->until_mono : INT64_MAX;
}

void shim_attempt_end(struct shim_attempt *a) {
    if (a->h == NULL) {
        return;
    }
    end_command(a);
    close_output(a);
    if (a->asking) {
        ask_end(&a->ask);
    }
    buf_release(&a->out);
    a->h = NULL;
    a->asking = a->done = a->ok = a->errored = false;
    a->fd = -1;
}

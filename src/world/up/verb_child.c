/* verb_child: see verb_child.h. */
#include "world/up/verb_child.h"

#include <signal.h>

#include "base/mem.h"

enum { BACKOFF_FIRST_MS = 200, BACKOFF_MAX_MS = 30000, HEALTHY_MS = 60000, KILL_AFTER_MS = 10000 };

struct verb_child {
    struct loop *loop;
    struct log *log;
    const char *program;
    const char *const *argv;
    struct loop_child *child; /* NULL while none runs */
    struct timer *timer;      /* next start, or the kill after a stop */
    int64_t started_ns, backoff_ms;
    bool stopping;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

static int spawn(struct verb_child *c, struct err *err);

static void finish_stop(struct verb_child *c) {
    struct clock *clock = loop_clock(c->loop);
    clock->timer_stop(c->timer);
    if (c->stopped) {
        void (*stopped)(void *) = TAKE(c->stopped);
        stopped(c->stopped_ctx);
    }
}

static void again_later(struct verb_child *c) {
    struct clock *clock = loop_clock(c->loop);
    if (clock_mono(clock) - c->started_ns > HEALTHY_MS * NS_PER_MS) {
        c->backoff_ms = BACKOFF_FIRST_MS;
    }
    clock->timer_start(c->timer, c->backoff_ms * NS_PER_MS);
    c->backoff_ms = c->backoff_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : c->backoff_ms * 2;
}

static void exited(void *ctx, int pid, int64_t status, int signum) {
    struct verb_child *c = ctx;
    loop_child_free(TAKE(c->child));
    if (c->stopping) {
        finish_stop(c);
        return;
    }
    log_warn(c->log, "%s process %d ended (status %d, signal %d); starting it again", c->argv[1],
             pid, (int)status, signum);
    again_later(c);
}

static int spawn(struct verb_child *c, struct err *err) {
    struct child_options o = {.file = c->program, .argv = c->argv, .fds = {-1, 2, 2}, .n_fds = 3};
    c->started_ns = clock_mono(loop_clock(c->loop));
    return loop_spawn(c->loop, &o, exited, c, &c->child, err);
}

static void fire(void *ctx) {
    struct verb_child *c = ctx;
    struct err err;
    if (c->stopping) {
        loop_child_kill(c->child, SIGKILL);
    } else if (spawn(c, &err) != 0) {
        log_error(c->log, "%s process: %s", c->argv[1], err.text);
        again_later(c);
    }
}

int verb_child_start(struct loop *l, struct log *log, const char *program, const char *const *argv,
                     struct verb_child **ret, struct err *err) {
    struct verb_child *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return err_set(err, ERR_NOMEM, "child process: no memory");
    }
    *c = (struct verb_child){
        .loop = l, .log = log, .program = program, .argv = argv, .backoff_ms = BACKOFF_FIRST_MS};
    struct clock *clock = loop_clock(l);
    c->timer = clock->timer_new(clock, fire, c);
    int r = c->timer ? spawn(c, err) : err_set(err, ERR_NOMEM, "child process: no memory");
    if (r != 0) {
        verb_child_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

void verb_child_stop(struct verb_child *c, void (*stopped)(void *ctx), void *ctx) {
    struct clock *clock = loop_clock(c->loop);
    c->stopping = true;
    c->stopped = stopped;
    c->stopped_ctx = ctx;
    clock->timer_stop(c->timer);
    if (c->child == NULL) {
        finish_stop(c);
        return;
    }
    loop_child_kill(c->child, SIGTERM);
    clock->timer_start(c->timer, KILL_AFTER_MS * NS_PER_MS);
}

void verb_child_free(struct verb_child *c) {
    if (c == NULL) {
        return;
    }
    loop_clock(c->loop)->timer_free(c->timer);
    loop_child_free(c->child);
    mem_free(c);
}

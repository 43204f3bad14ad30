/*
 * loop: libuv's loop with our clock. See loop.h.
 *
 * Timers lie in a heap of our own under one libuv timer: they are freed at once and keep nanoseconds. A timer that a
 * timer starts for now fires after the loop has looked at its sockets: libuv would fire it at once, and work that is
 * cut into steps would let nobody in before its last. What was deferred runs in the prepare and the check phase of a
 * turn, that is just before and just after the loop may sleep; when a deferred function defers again, an idle handle
 * keeps the loop awake for one more turn.
 */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/vec.h"
#include "net/loop_uv.h"

enum { FAR_S = 365 * 24 * 3600 };

struct task {
    void (*fn)(void *ctx);
    void *ctx;
};
VEC(task_vec, struct task);

struct loop {
    struct clock clock; /* first: a clock is cast back to its loop */
    uv_loop_t uv;
    uv_async_t async;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
    uv_timer_t alarm;
    uv_poll_t wall; /* of wall_fd, which can be read when the wall clock was set */
    int wall_fd;
    struct heap timers; /* with room for every timer there is, so that starting one cannot fail */
    size_t n_timers;
    uint64_t timer_seq;
    bool firing; /* timers fire just now */
    bool again;  /* they do once more in the check phase */
    struct task_vec deferred, deferred_now;
    struct task_vec posted_now;
    struct loop_children children;
    bool closing;

    pthread_mutex_t lock;
    struct task_vec posted; /* under lock */
};

uv_loop_t *loop_uv(struct loop *l) {
    return &l->uv;
}

struct loop_children *loop_children(struct loop *l) {
    return &l->children;
}

int loop_uv_err(struct err *err, int uv_code, const char *what) {
    return err_set(err, ERR_IO, "%s: %s", what, uv_strerror(uv_code));
}

/* ---- clock ---- */

struct timer {
    struct loop *loop;
    void (*fire)(void *ctx);
    void *ctx;
    int64_t at;   /* mono ns */
    uint64_t seq; /* order of starting, for equal times */
    size_t place;
};

static int64_t now_of(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    int64_t ns;
    /* A clock beyond 2262 stands at its end. */
    return __builtin_mul_overflow((int64_t)ts.tv_sec, NS_PER_SEC, &ns) ||
                   __builtin_add_overflow(ns, ts.tv_nsec, &ns)
               ? INT64_MAX
               : ns;
}

static int64_t loop_wall_ns(struct clock *c) {
    return now_of(CLOCK_REALTIME);
}

static int64_t loop_mono_ns(struct clock *c) {
    return now_of(CLOCK_MONOTONIC);
}

static int timer_cmp(const void *pa, const void *pb, void *ctx) {
    const struct timer *a = pa, *b = pb;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (a->seq > b->seq) - (a->seq < b->seq);
}

static void on_alarm(uv_timer_t *alarm);

static void arm(struct loop *l) {
    const struct timer *t = heap_peek(&l->timers);
    if (t == NULL || l->firing) {
        return;
    }
    int64_t wait = t->at - loop_mono_ns(&l->clock);
    uint64_t ms = wait <= 0 ? 0 : (uint64_t)((wait + NS_PER_MS - 1) / NS_PER_MS);
    uv_update_time(&l->uv);
    uv_timer_start(&l->alarm, on_alarm, ms, 0);
}

static void noop_idle(uv_idle_t *idle) {
}

static void fire_timers(struct loop *l) {
    int64_t now = loop_mono_ns(&l->clock);
    uint64_t seq_end = l->timer_seq; /* timers started by timers wait for the next turn */
    struct timer *t;
    l->firing = true;
    while ((t = heap_peek(&l->timers)) && t->at <= now && t->seq < seq_end) {
        heap_pop(&l->timers);
        t->fire(t->ctx);
    }
    l->firing = false;
    l->again = t && t->at <= loop_mono_ns(&l->clock);
    if (l->again && !l->closing) {
        uv_idle_start(&l->idle, noop_idle); /* it does not sleep until then */
    } else {
        arm(l);
    }
}

static void on_alarm(uv_timer_t *alarm) {
    fire_timers(alarm->data);
}

static struct timer *loop_timer_new(struct clock *c, void (*fire)(void *ctx), void *ctx) {
    struct loop *l = (struct loop *)c;
    if (vec_grow((void **)&l->timers.v, &l->timers.cap, l->n_timers, 1, sizeof(void *)) != 0) {
        return NULL;
    }
    struct timer *t = mem_zalloc(sizeof(*t));
    if (t) {
        *t = (struct timer){.loop = l, .fire = fire, .ctx = ctx};
        l->n_timers++;
    }
    return t;
}

static void loop_timer_stop(struct timer *t) {
    heap_remove(&t->loop->timers, t);
}

static void loop_timer_start(struct timer *t, int64_t delay_ns) {
    struct loop *l = t->loop;
    heap_remove(&l->timers, t);
    int64_t now = loop_mono_ns(&l->clock);
    if (__builtin_add_overflow(now, delay_ns > 0 ? delay_ns : 0, &t->at)) {
        t->at = INT64_MAX;
    }
    t->seq = l->timer_seq++;
    int r = heap_push(&l->timers, t);
    assert(r == 0);
    (void)r;
    if (heap_peek(&l->timers) == t) {
        arm(l);
    }
}

static void loop_timer_free(struct timer *t) {
    if (t) {
        loop_timer_stop(t);
        t->loop->n_timers--;
        mem_free(t);
    }
}

struct clock *loop_clock(struct loop *l) {
    return &l->clock;
}

/* ---- deferred and posted functions ---- */

/* Runs what is in *from now; what is added meanwhile stays for the next time. */
static void run_tasks(struct task_vec *from, struct task_vec *spare) {
    struct task_vec now = *from;
    *from = *spare;
    *spare = (struct task_vec){0};
    for (size_t i = 0; i < now.n; i++) {
        now.v[i].fn(now.v[i].ctx);
    }
    now.n = 0;
    if (from->cap == 0) {
        *from = now;
    } else {
        *spare = now;
    }
}

static void run_deferred(struct loop *l) {
    if (l->deferred.n > 0) {
        run_tasks(&l->deferred, &l->deferred_now);
    }
    if (l->closing) {
        return;
    }
    if (l->deferred.n > 0 || l->again) {
        uv_idle_start(&l->idle, noop_idle);
    } else {
        uv_idle_stop(&l->idle);
    }
}

static void on_prepare(uv_prepare_t *h) {
    run_deferred(h->data);
}

static void on_check(uv_check_t *h) {
    struct loop *l = h->data;
    if (l->again) {
        fire_timers(l);
    }
    run_deferred(h->data);
}

int loop_defer(struct loop *l, void (*fn)(void *ctx), void *ctx) {
    return task_vec_push(&l->deferred, (struct task){fn, ctx});
}

static void run_posted(struct loop *l) {
    pthread_mutex_lock(&l->lock);
    struct task_vec now = l->posted;
    l->posted = l->posted_now;
    l->posted_now = (struct task_vec){0};
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < now.n; i++) {
        now.v[i].fn(now.v[i].ctx);
    }
    now.n = 0;
    l->posted_now = now;
}

static void on_async(uv_async_t *h) {
    run_posted(h->data);
}

int loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx) {
    pthread_mutex_lock(&l->lock);
    int r = task_vec_push(&l->posted, (struct task){fn, ctx});
    pthread_mutex_unlock(&l->lock);
    if (r == 0) {
        uv_async_send(&l->async);
    }
    return r;
}

/* ---- the wall clock is set ---- */

/* A timer that never ends, but is cancelled by whoever sets the clock. */
static bool arm_wall(struct loop *l) {
    struct itimerspec far = {.it_value = {.tv_sec = now_of(CLOCK_REALTIME) / NS_PER_SEC + FAR_S}};
    int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
    return timerfd_settime(l->wall_fd, flags, &far, NULL) == 0;
}

static void on_wall(uv_poll_t *h, int status, int events) {
    struct loop *l = h->data;
    uint64_t n;
    bool set = read(l->wall_fd, &n, sizeof(n)) == -1 && errno == ECANCELED;
    if (!arm_wall(l)) {
        uv_poll_stop(h);
    }
    if (set) {
        clock_stepped(&l->clock);
    }
}

/* Where there is no such timer nothing is told: timers then fire when they would have. */
static void watch_wall(struct loop *l) {
    l->wall_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->wall_fd != -1 && uv_poll_init(&l->uv, &l->wall, l->wall_fd) == 0) {
        l->wall.data = l;
        if (arm_wall(l)) {
            uv_poll_start(&l->wall, UV_READABLE, on_wall);
        }
    }
}

/* ---- life ---- */

static int init_handles(struct loop *l) {
    int r = uv_async_init(&l->uv, &l->async, on_async);
    if (r != 0) {
        return r;
    }
    uv_prepare_init(&l->uv, &l->prepare);
    uv_check_init(&l->uv, &l->check);
    uv_idle_init(&l->uv, &l->idle);
    uv_timer_init(&l->uv, &l->alarm);
    l->async.data = l->prepare.data = l->check.data = l->alarm.data = l;
    uv_prepare_start(&l->prepare, on_prepare);
    uv_check_start(&l->check, on_check);
    return 0;
}

struct loop *loop_new(struct err *err) {
    struct loop *l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    int r = uv_loop_init(&l->uv);
    if (r != 0) {
        loop_uv_err(err, r, "making an event loop");
        mem_free(l);
        return NULL;
    }
    l->clock = (struct clock){.wall_ns = loop_wall_ns,
                              .mono_ns = loop_mono_ns,
                              .timer_new = loop_timer_new,
                              .timer_start = loop_timer_start,
                              .timer_stop = loop_timer_stop,
                              .timer_free = loop_timer_free};
    l->wall_fd = -1;
    heap_init(&l->timers, timer_cmp, NULL, offsetof(struct timer, place));
    pthread_mutex_init(&l->lock, NULL);
    r = init_handles(l);
    if (r != 0) {
        loop_uv_err(err, r, "making an event loop");
        loop_free(l);
        return NULL;
    }
    watch_wall(l);
    signal(
        SIGPIPE,
        SIG_IGN); /* a peer that went away is an error of the write, not the end of the process */
    return l;
}

static void close_handle(uv_handle_t *h, void *arg) {
    if (!uv_is_closing(h)) {
        uv_close(h, NULL);
    }
}

void loop_free(struct loop *l) {
    if (l == NULL) {
        return;
    }
    loop_children_release(&l->children);
    run_posted(l); /* what was posted is run, if only to free what it was given */
    l->closing = true;
    do { /* what was deferred may release the last things, and these may defer once more */
        run_deferred(l);
        uv_walk(&l->uv, close_handle, NULL);
        uv_run(&l->uv, UV_RUN_DEFAULT);
    } while (l->deferred.n > 0 || uv_loop_close(&l->uv) == UV_EBUSY);
    if (l->wall_fd != -1) {
        close(l->wall_fd);
    }
    heap_release(&l->timers);
    task_vec_release(&l->deferred);
    task_vec_release(&l->deferred_now);
    task_vec_release(&l->posted);
    task_vec_release(&l->posted_now);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

int loop_run(struct loop *l) {
    uv_run(&l->uv, UV_RUN_DEFAULT);
    return 0;
}

void loop_stop(struct loop *l) {
    uv_stop(&l->uv);
}

/* ---- signals ---- */

struct loop_signal {
    uv_signal_t uv;
    void (*fn)(void *ctx, int signum);
    void *ctx;
};

static void free_signal(uv_handle_t *h) {
    mem_free(h->data);
}

static void on_signal(uv_signal_t *h, int signum) {
    struct loop_signal *s = h->data;
    s->fn(s->ctx, signum);
}

struct loop_signal *loop_signal(struct loop *l, int signum, void (*fn)(void *ctx, int signum),
                                void *ctx, struct err *err) {
    struct loop_signal *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    s->fn = fn;
    s->ctx = ctx;
    int r = uv_signal_init(&l->uv, &s->uv);
    if (r != 0) {
        loop_uv_err(err, r, "watching a signal");
        mem_free(s);
        return NULL;
    }
    s->uv.data = s;
    r = uv_signal_start(&s->uv, on_signal, signum);
    if (r != 0) {
        loop_uv_err(err, r, "watching a signal");
        uv_close((uv_handle_t *)&s->uv, free_signal);
        return NULL;
    }
    return s;
}

void loop_signal_free(struct loop_signal *s) {
    if (s) {
        uv_close((uv_handle_t *)&s->uv, free_signal);
    }
}

/* ---- descriptors ---- */

struct loop_fd {
    uv_poll_t uv;
    void (*fn)(void *ctx, int events);
    void *ctx;
    int events;
};

static void free_fd(uv_handle_t *h) {
    mem_free(h->data);
}

static void on_poll(uv_poll_t *h, int status, int uv_events) {
    struct loop_fd *f = h->data;
    int events = status < 0 ? f->events : 0; /* the owner's next read or write shows the error */
    events |= uv_events & UV_READABLE ? LOOP_READABLE : 0;
    events |= uv_events & UV_WRITABLE ? LOOP_WRITABLE : 0;
    f->fn(f->ctx, events);
}

struct loop_fd *loop_fd(struct loop *l, int fd, int events, void (*fn)(void *ctx, int events),
                        void *ctx, struct err *err) {
    struct loop_fd *f = mem_zalloc(sizeof(*f));
    if (f == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    f->fn = fn;
    f->ctx = ctx;
    f->events = events;
    int r = uv_poll_init(&l->uv, &f->uv, fd);
    if (r != 0) {
        loop_uv_err(err, r, "watching a descriptor");
        mem_free(f);
        return NULL;
    }
    f->uv.data = f;
    int uv_events =
        (events & LOOP_READABLE ? UV_READABLE : 0) | (events & LOOP_WRITABLE ? UV_WRITABLE : 0);
    uv_poll_start(&f->uv, uv_events, on_poll);
    return f;
}

void loop_fd_free(struct loop_fd *f) {
    if (f) {
        uv_poll_stop(&f->uv); /* the owner may close the descriptor right away */
        uv_close((uv_handle_t *)&f->uv, free_fd);
    }
}

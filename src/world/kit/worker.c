/*
 * worker: see worker.h. Jobs go to the thread in a list under a lock, and come back in another; a post to the loop says
 * that something is there. Posts that are under way when the worker is freed find an empty shell, which the last frees.
 */
#include "world/kit/worker.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"

struct offload_job {
    struct worker *owner;
    void (*work)(void *ctx, const atomic_bool *stop);
    void (*done)(void *ctx);
    void *ctx;
    atomic_bool stop;
    struct offload_job *next;                /* waiting */
    struct offload_job *all_next, *all_prev; /* loop thread: not done */
};

struct worker {
    struct offload offload; /* first */
    struct loop *loop;
    struct offload_job *all; /* loop thread */
    size_t n_all;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t more;
    struct offload_job *first, *last, *finished;
    size_t posts; /* under way */
    bool closing, closed;
};

static void finish(struct worker *w, struct offload_job *j) {
    *(j->all_prev != NULL ? &j->all_prev->all_next : &w->all) = j->all_next;
    if (j->all_next != NULL) {
        j->all_next->all_prev = j->all_prev;
    }
    w->n_all--;
    j->done(j->ctx);
    mem_free(j);
}

static void finish_all(struct worker *w) {
    for (;;) {
        pthread_mutex_lock(&w->lock);
        struct offload_job *j = w->finished;
        w->finished = j != NULL ? j->next : NULL;
        pthread_mutex_unlock(&w->lock);
        if (j == NULL) {
            return;
        }
        finish(w, j);
    }
}

static void release(struct worker *w) {
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
}

static void posted(void *ctx) {
    struct worker *w = ctx;
    pthread_mutex_lock(&w->lock);
    bool last = --w->posts == 0 && w->closed;
    pthread_mutex_unlock(&w->lock);
    if (last) {
        release(w);
    } else {
        finish_all(w);
    }
}

static struct offload_job *next_job(struct worker *w) {
    pthread_mutex_lock(&w->lock);
    while (w->first == NULL && !w->closing) {
        pthread_cond_wait(&w->more, &w->lock);
    }
    struct offload_job *j = w->first;
    if (j != NULL) {
        w->first = j->next;
        w->last = w->first != NULL ? w->last : NULL;
    }
    pthread_mutex_unlock(&w->lock);
    return j;
}

static void *run(void *ctx) {
    struct worker *w = ctx;
    for (struct offload_job *j; (j = next_job(w)) != NULL;) {
        if (!atomic_load(&j->stop)) {
            j->work(j->ctx, &j->stop);
        }
        pthread_mutex_lock(&w->lock);
        j->next = NULL;
        struct offload_job **at = &w->finished;
        while (*at != NULL) {
            at = &(*at)->next;
        }
        *at = j;
        w->posts++;
        pthread_mutex_unlock(&w->lock);
        while (loop_post(w->loop, posted, w) != 0) {
            struct timespec ts = {0, 10000000}; /* no memory for it; somebody waits, so again */
            nanosleep(&ts, NULL);
        }
    }
    return NULL;
}

/* Signals are for the loop thread. */
static int start_thread(struct worker *w, struct err *err) {
    sigset_t all, old;
    if (w->started) {
        return 0;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    w->started = e == 0;
    return e == 0 ? 0 : err_sys(err, e, "a thread for what-if runs");
}

static int start(struct offload *o, void (*work)(void *ctx, const atomic_bool *stop),
                 void (*done)(void *ctx), void *ctx, struct offload_job **ret, struct err *err) {
    struct worker *w = (struct worker *)o;
    if (w->n_all >= WORKER_WAITING_MAX) {
        return err_set(err, ERR_TOO_MANY, "%d what-if runs are waiting; try again later",
                       WORKER_WAITING_MAX);
    }
    int r = start_thread(w, err);
    struct offload_job *j = r == 0 ? mem_zalloc(sizeof(*j)) : NULL;
    if (j == NULL) {
        return r ? r : err_set(err, ERR_NOMEM, "out of memory");
    }
    *j = (struct offload_job){
        .owner = w, .work = work, .done = done, .ctx = ctx, .all_next = w->all};
    if (w->all != NULL) {
        w->all->all_prev = j;
    }
    w->all = j;
    w->n_all++;
    pthread_mutex_lock(&w->lock);
    *(w->last != NULL ? &w->last->next : &w->first) = j;
    w->last = j;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
    *ret = j;
    return 0;
}

static void cancel(struct offload *o, struct offload_job *j) {
    atomic_store(&j->stop, true);
}

struct worker *worker_new(struct loop *l) {
    struct worker *w = mem_zalloc(sizeof(*w));
    if (w != NULL) {
        *w = (struct worker){.offload = {start, cancel}, .loop = l};
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->more, NULL);
    }
    return w;
}

struct offload *worker_offload(struct worker *w) {
    return &w->offload;
}

void worker_free(struct worker *w) {
    if (w == NULL) {
        return;
    }
    for (struct offload_job *j = w->all; j != NULL; j = j->all_next) {
        atomic_store(&j->stop, true);
    }
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
    if (w->started) {
        pthread_join(w->thread, NULL);
    }
    finish_all(w);
    pthread_mutex_lock(&w->lock);
    w->closed = true;
    bool last = w->posts == 0;
    pthread_mutex_unlock(&w->lock);
    if (last) {
        release(w);
    }
}

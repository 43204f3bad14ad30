/* fake_loop: a loop thread's queue of posts, for tests and benchmarks of the store. */
#ifndef BERTH_STORE_FAKE_LOOP_H
#define BERTH_STORE_FAKE_LOOP_H

#include <pthread.h>

#include "base/err.h"

enum { FAKE_POSTS = 64 };

struct fake_loop {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct {
        void (*fn)(void *arg);
        void *arg;
    } posts[FAKE_POSTS];
    int n;
};

#define FAKE_LOOP_INIT                                                                             \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0}}, 0 }

static inline int fake_post(void *ctx, void (*fn)(void *arg), void *arg) {
    struct fake_loop *l = ctx;
    pthread_mutex_lock(&l->lock);
    int code = l->n < FAKE_POSTS ? 0 : ERR_NOMEM;
    if (code == 0) {
        l->posts[l->n].fn = fn;
        l->posts[l->n++].arg = arg;
        pthread_cond_signal(&l->some);
    }
    pthread_mutex_unlock(&l->lock);
    return code;
}

/* Runs what is posted; waits for the first when there is nothing and `wait` is set. */
static inline void fake_turn(struct fake_loop *l, int wait) {
    pthread_mutex_lock(&l->lock);
    while (wait && l->n == 0) {
        pthread_cond_wait(&l->some, &l->lock);
    }
    int n = l->n;
    for (int i = 0; i < n; i++) {
        void (*fn)(void *) = l->posts[0].fn;
        void *arg = l->posts[0].arg;
        l->n--;
        for (int k = 0; k < l->n; k++) {
            l->posts[k] = l->posts[k + 1];
        }
        pthread_mutex_unlock(&l->lock);
        fn(arg);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

#endif

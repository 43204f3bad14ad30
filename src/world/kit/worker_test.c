/* Tests of worker: jobs run elsewhere and are done here, in order; limits; cancelling; freeing at any moment. */
#include "world/kit/worker.h"

#include <pthread.h>

#include "base/test.h"

struct job {
    struct loop *loop;
    pthread_t worked, finished;
    bool ran, was_done;
    int *order, place;
};

static void work(void *ctx, const atomic_bool *stop) {
    struct job *j = ctx;
    j->worked = pthread_self();
    j->ran = true;
}

static void until_stopped(void *ctx, const atomic_bool *stop) {
    struct job *j = ctx;
    while (!atomic_load(stop)) {
    }
    j->ran = true;
}

static void done(void *ctx) {
    struct job *j = ctx;
    j->was_done = true;
    j->finished = pthread_self();
    j->place = ++*j->order;
    if (j->loop != NULL) {
        loop_stop(j->loop);
    }
}

static void runs_elsewhere(void **state) {
    struct err err;
    int order = 0;
    struct loop *l = loop_new(&err);
    struct worker *w = worker_new(l);
    struct offload *o = worker_offload(w);
    struct offload_job *job;
    struct job a = {.order = &order}, b = {.order = &order}, c = {.order = &order, .loop = l};
    assert_ok(o->start(o, work, done, &a, &job, &err), &err);
    assert_ok(o->start(o, until_stopped, done, &b, &job, &err), &err);
    o->cancel(o, job);
    assert_ok(o->start(o, work, done, &c, &job, &err), &err);
    assert_false(a.was_done); /* never inside start */
    loop_run(l);
    assert_true(a.ran && a.was_done && b.was_done && c.was_done);
    assert_false(pthread_equal(a.worked, pthread_self()));
    assert_true(pthread_equal(a.finished, pthread_self()));
    assert_int_equal(a.place, 1);
    assert_int_equal(c.place, 3);
    worker_free(w);
    loop_free(l);
}

static void bounded_and_freed(void **state) {
    struct err err = {0};
    int order = 0;
    static struct job jobs[WORKER_WAITING_MAX + 1];
    struct loop *l = loop_new(&err);
    struct worker *w = worker_new(l);
    struct offload *o = worker_offload(w);
    struct offload_job *job;
    for (int i = 0; i < WORKER_WAITING_MAX; i++) {
        jobs[i].order = &order;
        assert_ok(o->start(o, until_stopped, done, &jobs[i], &job, &err), &err);
    }
    assert_int_equal(o->start(o, work, done, &jobs[WORKER_WAITING_MAX], &job, &err), ERR_TOO_MANY);
    worker_free(w);
    assert_int_equal(order, WORKER_WAITING_MAX);
    loop_free(l); /* what was posted finds nothing left to do */
    worker_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_elsewhere),
                                       cmocka_unit_test(bounded_and_freed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * testbed: what tests of the node share: a loop that runs until something is so, a data folder, a
 * writer that remembers. For x_test.c files only.
 */
#ifndef BERTH_NODE_TESTBED_H
#define BERTH_NODE_TESTBED_H

#include "base/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mirror/writer.h"
#include "net/loop.h"
#include "node/files/files.h"

/* The last status patch of each pod, all events, all removals. */
struct test_writer {
    struct writer writer;
    struct loop *loop;
    char status[16][8192];
    char name[16][64];
    size_t n_pods;
    struct buf events;
    int removed;
};

struct late_done {
    write_done *done;
    void *ctx;
};

static inline void late_ok(void *p) {
    struct late_done d = *(struct late_done *)p;
    struct write_result r = {0};

    free(p);
    d.done(d.ctx, &r);
}

static inline void answer_later(struct test_writer *w, write_done *done, void *ctx) {
    struct late_done *d = malloc(sizeof(*d));

    *d = (struct late_done){done, ctx};
    loop_defer(w->loop, late_ok, d);
}

static inline void test_create(struct writer *writer, const char *who, const struct kind *k,
                               struct str ns, struct str json, write_done *done, void *ctx) {
    struct test_writer *w = (struct test_writer *)writer;

    buf_str(&w->events, json);
    buf_ch(&w->events, '\n');
    answer_later(w, done, ctx);
}

static inline size_t test_slot(struct test_writer *w, struct str name) {
    size_t i = 0;

    while (i < w->n_pods && !str_is(name, w->name[i])) {
        i++;
    }
    if (i == w->n_pods) {
        assert_true(i < 16);
        str_copy(name, w->name[w->n_pods++], 64);
    }
    return i;
}

static inline void test_patch(struct writer *writer, const char *who, const struct kind *k,
                              struct str ns, struct str name, const char *subresource,
                              enum patch_type type, struct str body, write_done *done, void *ctx) {
    struct test_writer *w = (struct test_writer *)writer;

    if (!*subresource) { /* an Event that is counted */
        buf_str(&w->events, body);
        buf_ch(&w->events, '\n');
        answer_later(w, done, ctx);
        return;
    }
    assert_string_equal(subresource, "status");
    assert_true(str_copy(body, w->status[test_slot(w, name)], 8192));
    answer_later(w, done, ctx);
}

static inline void test_remove(struct writer *writer, const char *who, const struct kind *k,
                               struct str ns, struct str name, const struct delete_options *o,
                               write_done *done, void *ctx) {
    struct test_writer *w = (struct test_writer *)writer;

    assert_int_equal(o->grace_seconds, 0);
    w->removed++;
    answer_later(w, done, ctx);
}

static inline void test_writer_init(struct test_writer *w, struct loop *l) {
    *w = (struct test_writer){
        .writer = {.create = test_create, .patch = test_patch, .remove = test_remove}, .loop = l};
    buf_init(&w->events, 1 << 20);
}

static inline const char *test_status(struct test_writer *w, const char *name) {
    return w->status[test_slot(w, str_of(name))];
}

/* Runs the loop until done(ctx), looking every few milliseconds; fails after 20 s. */
struct test_wait {
    struct loop *loop;
    struct timer *timer;
    bool (*done)(void *ctx);
    void *ctx;
    int rounds;
    bool ok;
};

static inline void test_look(void *p) {
    struct test_wait *t = p;

    t->ok = t->done(t->ctx);
    if (t->ok || ++t->rounds > 5000) {
        loop_stop(t->loop);
        return;
    }
    loop_clock(t->loop)->timer_start(t->timer, 4 * NS_PER_MS);
}

static inline void test_until(struct loop *l, bool (*done)(void *ctx), void *ctx) {
    struct test_wait t = {.loop = l, .done = done, .ctx = ctx};
    struct clock *c = loop_clock(l);

    t.timer = c->timer_new(c, test_look, &t);
    c->timer_start(t.timer, 0);
    loop_run(l);
    c->timer_free(t.timer);
    assert_true(t.ok);
}

static inline bool test_never_mind(void *ctx) {
    return ++*(int *)ctx > 25;
}

/* Gives children that were ended the time to be reaped. */
static inline void test_settle(struct loop *l) {
    int rounds = 0;

    test_until(l, test_never_mind, &rounds);
}

/* A folder that other users may pass through, as a data folder must be. */
static inline void test_folder(char out[PATH_LEN]) {
    snprintf(out, PATH_LEN, "/tmp/berth-node-XXXXXX");
    assert_non_null(mkdtemp(out));
    assert_int_equal(chmod(out, 0711), 0);
}

static inline struct object *test_object(const char *kind, const char *json) {
    struct object *o = NULL;
    struct err err;

    assert_ok(object_new(kind_by_name(STR(""), str_of(kind)), str_of(json), &o, &err), &err);
    return o;
}

#endif

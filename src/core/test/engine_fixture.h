/* engine_fixture (core): an engine with small queues over cpu, for its tests. */
#ifndef BERTH_CORE_ENGINE_FIXTURE_H
#define BERTH_CORE_ENGINE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "core/admit/engine.h"

#define FIXTURE __attribute__((unused)) static

static const struct shape ANY __attribute__((unused)) = {0};

struct world {
    struct engine *e;
    char last[64];     /* uid of the last admitted */
    char reason[64];   /* of the last that waits */
    char text[1024];   /* and its message */
    char story[4096];  /* of the last run: "+a" admitted, "-b<a" evicted for a */
    char flavors[512]; /* considered for the last that was decided about */
    int admitted, pended, evicted;
    int64_t now, wake;
    int32_t count; /* pods of the first set of the last admitted; -1: as asked */
};

FIXTURE void setup_with(struct world *w, struct engine_options o) {
    o.check_undo = true;
    *w = (struct world){.e = engine_new(&o)};
    assert_non_null(w->e);
}

FIXTURE void setup(struct world *w) {
    setup_with(w, (struct engine_options){0});
}

FIXTURE void flavor(struct world *w, const char *name, struct flavor_input f) {
    f.name = str_of(name);
    assert_int_equal(engine_flavor_put(w->e, &f), 0);
}

/* One group over cpu, one flavor per entry. */
struct fq {
    const char *flavor;
    struct quota_input q;
};
#define NO AMOUNT_NONE

/* `in` with one group over cpu. */
FIXTURE void queue_as(struct world *w, struct queue_input in, const struct fq *fq, size_t n) {
    struct str resource = STR("cpu");
    struct group_flavor_input flavors[4];
    for (size_t i = 0; i < n; i++) {
        flavors[i] = (struct group_flavor_input){str_of(fq[i].flavor), &fq[i].q};
    }
    struct group_input g = {&resource, 1, flavors, n};
    in.groups = &g;
    in.n_groups = 1;
    in.weight = in.weight > 0 ? in.weight : 1;
    assert_int_equal(engine_queue_put(w->e, &in), 0);
}

FIXTURE void queue(struct world *w, const char *name, const char *cohort, bool strict,
                   const struct fq *fq, size_t n, enum fungibility borrow) {
    queue_as(w,
             (struct queue_input){.name = str_of(name),
                                  .cohort = str_of(cohort),
                                  .strict = strict,
                                  .when_can_borrow = borrow,
                                  .when_can_preempt = FUNGIBILITY_NEXT},
             fq, n);
}

/* Its set and its amount of cpu. */
FIXTURE void put_as(struct world *w, struct workload_input in, int32_t count, int32_t min,
                    int64_t cpu) {
    struct node_amount a = {STR("cpu"), cpu};
    struct set_input s = {STR("main"), count, min, &ANY, &a, 1};
    in.sets = &s;
    in.n_sets = 1;
    assert_int_equal(engine_workload_put(w->e, &in), 0);
}

/* What was decided about it is written, and is seen. */
FIXTURE void hold_as(struct world *w, struct workload_input in, int64_t cpu) {
    size_t n;
    struct str q;
    const struct held_amount *held = engine_workload_held(w->e, in.uid, &n, &q);
    struct held_amount copy = held[0];
    struct node_amount amount = {STR("cpu"), cpu};
    struct set_input s = {STR("main"), 1, 0, &ANY, &amount, 1};
    in.sets = &s;
    in.n_sets = 1;
    assert_int_equal(engine_workload_hold(w->e, &in, &copy, 1), 0);
}

FIXTURE void submit_as(struct world *w, const char *uid, const char *q, int64_t priority,
                       int64_t at, int32_t count, const char *resource, int64_t amount,
                       const struct shape *shape) {
    struct node_amount a = {str_of(resource), amount};
    struct set_input s = {STR("main"), count, 0, shape, &a, 1};
    struct workload_input in = {str_of(uid), str_of(q), priority, at, &s, 1};
    assert_int_equal(engine_workload_put(w->e, &in), 0);
}

FIXTURE void submit(struct world *w, const char *uid, const char *q, int64_t priority, int64_t at,
                    int64_t cpu) {
    submit_as(w, uid, q, priority, at, 1, "cpu", cpu, &ANY);
}

/* Notes what an action says. */
FIXTURE void hear(struct world *w, const struct engine_action *a) {
    struct arena scratch;
    struct buf b;
    char *end = w->story + strlen(w->story);
    size_t room = (size_t)(w->story + sizeof(w->story) - end);
    arena_init(&scratch, 1 << 20);
    buf_init(&b, 0);
    if (a->type != ACTION_PREEMPT) {
        considered_text(a->considered, engine_flavors(w->e), engine_resources(w->e), &scratch, &b);
        str_copy(buf_view(&b), w->flavors, sizeof(w->flavors));
        buf_reset(&b);
    }
    if (a->type == ACTION_ADMIT) {
        w->admitted++;
        w->count = a->counts != NULL ? a->counts[0] : -1;
        assert_int_equal(a->seated, pool_workload_first(engine_pool(w->e), a->uid) != NULL);
        str_copy(a->uid, w->last, sizeof(w->last));
        snprintf(end, room, "+%.*s ", STR_ARG(a->uid));
    } else if (a->type == ACTION_PREEMPT) {
        w->evicted++;
        snprintf(end, room, "-%.*s<%.*s ", STR_ARG(a->uid), STR_ARG(a->by));
    } else {
        w->pended++;
        str_copy(str_of(pend_reason_text(a->verdict->reason)), w->reason, sizeof(w->reason));
        verdict_text(a->verdict, engine_flavors(w->e), engine_resources(w->e), &scratch, &b);
        str_copy(buf_view(&b), w->text, sizeof(w->text));
    }
    buf_release(&b);
    arena_release(&scratch);
}

FIXTURE void run_by(struct world *w, size_t budget) {
    const struct engine_action *a;
    size_t n;
    bool more = true;
    w->admitted = w->pended = w->evicted = 0;
    w->story[0] = '\0';
    for (int i = 0; i < 100000 && more; i++) {
        assert_int_equal(engine_run(w->e, w->now, budget, &a, &n, &more, &w->wake), 0);
        for (size_t k = 0; k < n; k++) {
            hear(w, &a[k]);
        }
    }
    assert_false(more);
    assert_true(engine_consistent(w->e));
}

FIXTURE void run(struct world *w) {
    run_by(w, 1000);
}

/* One of Kueue's cycles. */
FIXTURE void cycle(struct world *w) {
    const struct engine_action *a;
    size_t n;
    w->admitted = w->pended = w->evicted = 0;
    w->story[0] = '\0';
    assert_int_equal(engine_cycle(w->e, w->now, &a, &n), 0);
    for (size_t k = 0; k < n; k++) {
        hear(w, &a[k]);
    }
}

FIXTURE bool holds(struct world *w, const char *uid) {
    bool h = false;
    return engine_workload_known(w->e, str_of(uid), &h) && h;
}

FIXTURE void gone(struct world *w, const char *uid) {
    engine_workload_del(w->e, str_of(uid));
}

FIXTURE struct engine_counts counts(struct world *w, const char *q) {
    struct engine_counts n = {0};
    assert_true(engine_queue_counts(w->e, str_of(q), &n));
    return n;
}

#endif

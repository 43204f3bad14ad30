/* search_fixture (core): for tests: an engine whose queues hold what the test says, without cycles. */
#ifndef BERTH_CORE_SEARCH_FIXTURE_H
#define BERTH_CORE_SEARCH_FIXTURE_H

#include "base/prng.h"
#include "base/test.h"
#include "core/admit/engine_private.h"
#include "core/admit/preempt_private.h"

#define NO AMOUNT_NONE

/* One group over one resource, or over "cpu" and "gpu"; quotas are given flavor by flavor. */
struct fixture_queue {
    const char *name, *cohort;
    int64_t nominal, borrowing, lending; /* of cpu in flavor "f" */
    enum preempt_policy within, reclaim, borrow_within;
    bool has_threshold;
    int64_t threshold;
    double weight; /* 0: 1; negative: 0 */
    bool local_usage;
};

struct fixture_held {
    const char *uid, *queue;
    int64_t priority, v, reserved_ns;
    bool evicting;
    int64_t protected_until_ns, minimum_runtime_ns, queued_ns;
    const char *local;
};

static inline struct engine *fixture_new(struct engine_options o) {
    o.check_undo = true;
    struct engine *e = engine_new(&o);
    assert_non_null(e);
    for (const char *f = "fg"; *f != '\0'; f++) {
        assert_int_equal(engine_flavor_put(e, &(struct flavor_input){.name = str_from(f, 1)}), 0);
    }
    return e;
}

static inline void fixture_cohort(struct engine *e, const char *name, const char *parent,
                                  struct quota_input q, double weight) {
    struct str cpu = STR("cpu");
    struct group_flavor_input f = {STR("f"), &q};
    struct group_input g = {&cpu, 1, &f, 1};
    struct cohort_input in = {str_of(name), str_of(parent), &g, 1, weight};
    assert_int_equal(engine_cohort_put(e, &in), 0);
    quota_find(&e->forest, false, str_of(name))->weight = weight;
}

static inline void fixture_queue(struct engine *e, const struct fixture_queue *s) {
    struct str cpu = STR("cpu");
    struct quota_input q = {s->nominal, s->borrowing, s->lending};
    struct group_flavor_input f = {STR("f"), &q};
    struct group_input g = {&cpu, 1, &f, 1};
    double weight = s->weight == 0 ? 1 : s->weight < 0 ? 0 : s->weight;
    struct queue_input in = {.name = str_of(s->name),
                             .cohort = str_of(s->cohort),
                             .groups = &g,
                             .n_groups = 1,
                             .within_queue = s->within,
                             .reclaim = s->reclaim,
                             .borrow_within = s->borrow_within,
                             .has_threshold = s->has_threshold,
                             .threshold = s->threshold,
                             .weight = weight,
                             .local_usage = s->local_usage};
    assert_int_equal(engine_queue_put(e, &in), 0);
    quota_find(&e->forest, true, str_of(s->name))->weight = weight;
}

static inline struct workload_input fixture_input(const struct fixture_held *h) {
    return (struct workload_input){.uid = str_of(h->uid),
                                   .queue = str_of(h->queue),
                                   .priority = h->priority,
                                   .queued_ns = h->queued_ns,
                                   .local = h->local != NULL ? str_of(h->local) : (struct str){0},
                                   .reserved_ns = h->reserved_ns,
                                   .evicting = h->evicting,
                                   .protected_until_ns = h->protected_until_ns,
                                   .minimum_runtime_ns = h->minimum_runtime_ns};
}

static inline struct queue_workload *fixture_hold_pairs(struct engine *e,
                                                        const struct fixture_held *h,
                                                        const struct held_amount *held, size_t n) {
    struct workload_input in = fixture_input(h);
    assert_int_equal(engine_workload_hold(e, &in, held, n), 0);
    struct queue_workload *w = map_get(&e->workloads, in.uid);
    assert_non_null(tree_get(&w->queue->holders, w));
    return w;
}

static inline struct queue_workload *fixture_hold(struct engine *e, const struct fixture_held *h) {
    struct held_amount held = {0, names_find(&e->flavors.names, STR("f")),
                               names_find(&e->resources, STR("cpu")), h->v};
    return fixture_hold_pairs(e, h, &held, 1);
}

/* One that waits: the asker. */
static inline struct queue_workload *fixture_wait(struct engine *e, const char *uid,
                                                  const char *queue, int64_t priority,
                                                  int64_t queued_ns) {
    struct workload_input in = {
        .uid = str_of(uid), .queue = str_of(queue), .priority = priority, .queued_ns = queued_ns};
    assert_int_equal(engine_workload_put(e, &in), 0);
    return map_get(&e->workloads, in.uid);
}

static inline struct quota_cell *fixture_cell_at(struct engine *e, const struct quota_node *n) {
    assert_int_equal(quota_settle(&e->forest), 0);
    return quota_cell_of(n, quota_pair(names_find(&e->flavors.names, STR("f")),
                                       names_find(&e->resources, STR("cpu"))));
}

static inline struct quota_cell *fixture_cell(struct engine *e, bool queue, const char *name) {
    return fixture_cell_at(e, quota_find(&e->forest, queue, str_of(name)));
}

/* The victims of w, which asks for v, as "uid:Reason uid:Reason"; "" when there are none. */
static inline const char *fixture_find(struct engine *e, struct queue_workload *w, int64_t v) {
    static char text[512];
    static const char *const words[] = {"own", "reclaim", "borrowing", "fair"};
    struct preempt_need need = {fixture_cell_at(e, w->queue->node), v, true};
    struct preempt_ask ask = {.w = w, .needs = &need, .n_needs = 1};
    struct victim *out;
    size_t n, at = 0;
    bool protected;
    int64_t wake = INT64_MAX;
    uint64_t before = quota_digest(&e->forest);
    assert_int_equal(preempt_find(&e->preempt, &ask, &out, &n, &protected, &wake), 0);
    assert_true(before == quota_digest(&e->forest));
    assert_int_equal(e->forest.trial, 0);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s:%s", i > 0 ? " " : "",
                               STR_ARG(out[i].w->uid), words[out[i].reason]);
    }
    return text;
}

#endif

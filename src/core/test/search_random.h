/*
 * search_random (core): for tests: random trees with what they hold, for searches to be compared on.
 *
 * Up to three levels of cohorts, six queues, two flavors of one resource, limits, weights, policies; workloads of
 * a few priorities that hold more than is theirs here and there; and one that asks.
 */
#ifndef BERTH_CORE_SEARCH_RANDOM_H
#define BERTH_CORE_SEARCH_RANDOM_H

#include "core/test/search_fixture.h"

struct random_case {
    struct engine *e;
    struct queue_workload *asker;
    struct preempt_need needs[2];
    size_t n_needs;
    char names[64][8];
    size_t n_names;
};

static inline int64_t random_limit(struct prng *r) {
    return prng_below(r, 3) > 0 ? NO : (int64_t)prng_below(r, 6);
}

static inline const char *random_name(struct random_case *c, char kind, size_t i) {
    char *p = c->names[c->n_names++];
    snprintf(p, sizeof(c->names[0]), "%c%02u", kind, (unsigned)i % 100);
    return p;
}

static inline void random_groups(struct prng *r, struct quota_input q[2],
                                 struct group_flavor_input f[2], bool root) {
    for (int i = 0; i < 2; i++) {
        q[i] = (struct quota_input){(int64_t)prng_below(r, 8), root ? NO : random_limit(r),
                                    root ? NO : random_limit(r)};
        f[i] = (struct group_flavor_input){i == 0 ? STR("f") : STR("g"), &q[i]};
    }
}

static inline void random_tree(struct random_case *c, struct prng *r) {
    struct str cpu = STR("cpu");
    struct quota_input q[2];
    struct group_flavor_input f[2];
    struct group_input g = {&cpu, 1, f, 2};
    static const double weights[] = {1, 1, 1, 2, 0.5, 0};
    for (size_t i = 0; i < 4; i++) {
        const char *parent = i == 0 ? "" : c->names[prng_below(r, i)];
        random_groups(r, q, f, i == 0);
        struct cohort_input in = {str_of(random_name(c, 'c', i)), str_of(parent), &g, 1,
                                  weights[prng_below(r, 6)]};
        assert_int_equal(engine_cohort_put(c->e, &in), 0);
        quota_find(&c->e->forest, false, in.name)->weight = in.weight;
    }
    for (size_t i = 0; i < 6; i++) {
        const char *parent = prng_below(r, 12) == 0 ? "" : c->names[prng_below(r, 4)];
        random_groups(r, q, f, false);
        struct queue_input in = {.name = str_of(random_name(c, 'q', i)),
                                 .cohort = str_of(parent),
                                 .groups = &g,
                                 .n_groups = 1,
                                 .within_queue = (enum preempt_policy)prng_below(r, 3),
                                 .reclaim = (enum preempt_policy)prng_below(r, 4),
                                 .borrow_within = (enum preempt_policy)prng_below(r, 2),
                                 .has_threshold = prng_below(r, 2) == 0,
                                 .threshold = (int64_t)prng_below(r, 4),
                                 .weight = weights[prng_below(r, 6)]};
        assert_int_equal(engine_queue_put(c->e, &in), 0);
        quota_find(&c->e->forest, true, in.name)->weight = in.weight;
    }
}

static inline void random_holders(struct random_case *c, struct prng *r) {
    size_t n = 4 + prng_below(r, 14);
    uint32_t cpu = names_find(&c->e->resources, STR("cpu"));
    for (size_t i = 0; i < n; i++) {
        struct held_amount held[2];
        size_t k = 0;
        for (uint32_t f = 0; f < 2; f++) {
            if (prng_below(r, 3) > 0 || (f == 1 && k == 0)) {
                held[k++] = (struct held_amount){f, f, cpu, 1 + (int64_t)prng_below(r, 4)};
            }
        }
        struct fixture_held h = {random_name(c, 'w', i),
                                 c->names[4 + prng_below(r, 6)],
                                 (int64_t)prng_below(r, 4),
                                 0,
                                 1 + (int64_t)prng_below(r, 5),
                                 .evicting = prng_below(r, 8) == 0,
                                 .protected_until_ns = prng_below(r, 10) == 0 ? 200 : 0,
                                 .queued_ns = 1 + (int64_t)prng_below(r, 5)};
        fixture_hold_pairs(c->e, &h, held, k);
    }
}

/* false: nothing is asked that quota does not give at once. */
static inline bool random_case(struct random_case *c, uint64_t seed, struct engine_options o) {
    struct prng r;
    prng_seed(&r, seed);
    *c = (struct random_case){.e = fixture_new(o)};
    c->e->preempt.now_ns = 100;
    random_tree(c, &r);
    random_holders(c, &r);
    c->asker = fixture_wait(c->e, random_name(c, 'a', 0), c->names[4 + prng_below(&r, 6)],
                            (int64_t)prng_below(&r, 5), 1 + (int64_t)prng_below(&r, 5));
    assert_int_equal(quota_settle(&c->e->forest), 0);
    bool any = false;
    uint32_t cpu = names_find(&c->e->resources, STR("cpu"));
    for (uint32_t f = 0; f < 2; f++) {
        struct quota_cell *cell = quota_cell_of(c->asker->queue->node, quota_pair(f, cpu));
        int64_t v = 1 + (int64_t)prng_below(&r, 6);
        if (prng_below(&r, 3) == 0 || v > quota_potential(cell)) {
            continue;
        }
        bool lacks = v > amount_max(0, quota_available(cell));
        c->needs[c->n_needs++] = (struct preempt_need){cell, v, lacks};
        any = any || lacks;
    }
    return any;
}

#endif

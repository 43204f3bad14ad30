/* Without memory, at any point: every call may fail once, is made again, and all comes out as if it had not. */
#include "core/test/engine_fixture.h"

#include "base/mem.h"

static int put(struct engine *e, const char *uid, const char *q, int64_t priority, int64_t at,
               int64_t cpu) {
    struct node_amount a = {STR("cpu"), cpu};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    struct workload_input in = {str_of(uid), str_of(q), priority, at, &s, 1};
    return engine_workload_put(e, &in);
}

/* The n-th call of a life; victims come back one call after they were named. 1: it is over. */
struct life {
    struct world w;
    int at;
    char back[64]; /* uid of a victim that is to come back */
};

static int put_queue(struct engine *e, const char *name, enum preempt_policy reclaim) {
    struct str cpu = STR("cpu");
    struct quota_input q = {2000, NO, NO};
    struct group_flavor_input f = {STR("f"), &q};
    struct group_input g = {&cpu, 1, &f, 1};
    struct queue_input in = {.name = str_of(name),
                             .cohort = STR("co"),
                             .groups = &g,
                             .n_groups = 1,
                             .reclaim = reclaim,
                             .within_queue = PREEMPT_LOWER,
                             .weight = 1};
    return engine_queue_put(e, &in);
}

static int run_once(struct life *l, bool *ret_more) {
    const struct engine_action *a;
    size_t n = SIZE_MAX;
    int r = engine_run(l->w.e, 0, 3, &a, &n, ret_more, NULL);
    assert_int_equal(n != SIZE_MAX, r == 0); /* what failed says nothing */
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (a[i].type == ACTION_PREEMPT) {
            str_copy(a[i].uid, l->back, sizeof(l->back));
        }
    }
    return r;
}

static int quiet(struct life *l) {
    bool more = true;
    int r = 0;
    while (r == 0 && more) {
        r = run_once(l, &more);
        if (r == 0 && l->back[0] != '\0') {
            r = put(l->w.e, l->back, "z", 0, 1, 3000);
            l->back[0] = r == 0 ? '\0' : l->back[0];
            more = true;
        }
    }
    return r;
}

static int step(struct life *l) {
    struct engine *e = l->w.e;
    struct flavor_input f = {.name = STR("f")};
    switch (l->at) {
    case 0:
        return engine_flavor_put(e, &f);
    case 1:
        return put_queue(e, "x", PREEMPT_ANY);
    case 2:
        return put_queue(e, "y", PREEMPT_ANY);
    case 3:
        return put_queue(e, "z", PREEMPT_NEVER);
    case 4:
        return put(e, "z1", "z", 0, 1, 3000);
    case 6:
        return put(e, "x1", "x", 0, 2, 2000);
    case 7:
        return put(e, "y1", "y", 0, 3, 2000);
    case 8:
        return put(e, "y2", "y", 0, 3, 2000);
    case 10:
        return engine_workload_undo(e, STR("y1"));
    case 12:
        gone(&l->w, "x1");
        return 0;
    default:
        return quiet(l);
    }
}

/* Who holds quota in the end. */
static void live(uint64_t fault, char *ret, bool *ret_hit) {
    struct life l = {0};
    setup(&l.w);
    mem_fault(fault, 0);
    for (int tries = 0; l.at < 14; tries++) {
        assert_true(tries < 100);
        int r = step(&l);
        assert_true(r == 0 || r == ERR_NOMEM);
        l.at += r == 0;
    }
    *ret_hit = mem_fault_hit();
    mem_fault(0, 0);
    assert_int_equal(quiet(&l), 0);
    assert_true(engine_consistent(l.w.e));
    snprintf(ret, 16, "%d%d%d%d", holds(&l.w, "x1"), holds(&l.w, "y1"), holds(&l.w, "y2"),
             holds(&l.w, "z1"));
    engine_free(l.w.e);
}

static void any_allocation(void **state) {
    char expect[16], got[16];
    bool hit = true;
    live(0, expect, &hit);
    assert_string_equal(expect, "0110");
    hit = true;
    for (uint64_t n = 1; hit; n++) {
        live(n, got, &hit);
        assert_string_equal(got, expect);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

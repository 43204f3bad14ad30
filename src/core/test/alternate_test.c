/*
 * Tests of evictions that go round for ever by Kueue's rules, and end with break_alternation.
 *
 * Two queues of nominal 6 in one cohort. a reclaims what is its own from anybody, and while it borrows from lower
 * priorities only:
 *
 * Two that take turns: `large` (8 in b, priority 9) borrows. `parts` (3 pods of 3 in a, at least one of them)
 * would borrow too, and is behind it by priority; then it makes do with 2 pods, which are within a's own quota,
 * and reclaims it from `large`. Once that is gone all 3 pods fit again, and so it is behind again.
 *
 * A ring of three: `large` again; `small` (6 in a, priority 0) is within a's own and reclaims it; `middle` (9 in
 * a, priority 5) would borrow, so that it may not touch `large`, but it may evict `small`; then `large` is before
 * it.
 */
#include "core/test/search_fixture.h"

enum { ROUNDS = 100 };

static struct engine *two_queues(bool break_alternation) {
    struct engine *e = fixture_new((struct engine_options){.break_alternation = break_alternation});
    fixture_queue(e, &(struct fixture_queue){"a", "all", 6, NO, NO, PREEMPT_LOWER, PREEMPT_ANY,
                                             PREEMPT_LOWER});
    fixture_queue(e, &(struct fixture_queue){"b", "all", 6, NO, NO});
    return e;
}

struct job {
    const char *uid, *queue;
    int64_t priority;
    int32_t count, min_count;
    int64_t each;
};

static void put(struct engine *e, const struct job *j) {
    static const struct shape any = {0};
    struct node_amount amount = {STR("cpu"), j->each};
    struct set_input set = {STR("main"), j->count, j->min_count, &any, &amount, 1};
    struct workload_input in = {.uid = str_of(j->uid),
                                .queue = str_of(j->queue),
                                .priority = j->priority,
                                .queued_ns = 1,
                                .sets = &set,
                                .n_sets = 1};
    assert_int_equal(engine_workload_put(e, &in), 0);
}

/* Rounds in which something was evicted, of ROUNDS: everything is decided, then every victim returns to its queue. */
static int rounds_with_evictions(struct engine *e, const struct job *jobs, size_t n,
                                 bool *ret_refused) {
    int evicting = 0;
    for (int round = 0; round < ROUNDS; round++) {
        bool evicted[3] = {false}, any = false, more = true;
        while (more) {
            const struct engine_action *a;
            size_t n_actions;
            assert_int_equal(engine_run(e, round + 1, 1000, &a, &n_actions, &more, NULL), 0);
            for (size_t i = 0; i < n_actions; i++) {
                for (size_t k = 0; k < n; k++) {
                    evicted[k] = evicted[k] || (a[i].type == ACTION_PREEMPT &&
                                                str_eq(a[i].uid, str_of(jobs[k].uid)));
                }
                *ret_refused = *ret_refused ||
                               (a[i].type == ACTION_PEND && a[i].verdict->turn == TURN_REFUSED);
            }
        }
        for (size_t k = 0; k < n; k++) {
            if (evicted[k]) {
                put(e, &jobs[k]);
                any = true;
            }
        }
        evicting += any;
    }
    return evicting;
}

static void goes_round_and_ends(const struct job *jobs, size_t n) {
    for (int on = 0; on < 2; on++) {
        struct engine *e = two_queues(on == 1);
        bool refused = false;
        for (size_t i = 0; i < n; i++) {
            put(e, &jobs[i]);
        }
        int rounds = rounds_with_evictions(e, jobs, n, &refused);
        if (on == 0) {
            assert_in_range(rounds, ROUNDS - 2, ROUNDS);
            assert_false(refused);
        } else {
            assert_in_range(rounds, 1, n); /* each pair once at most */
            assert_true(refused);
        }
        assert_true(engine_consistent(e));
        engine_free(e);
    }
}

static void two_take_turns(void **state) {
    static const struct job jobs[] = {{"large", "b", 9, 1, 0, 8}, {"parts", "a", 0, 3, 1, 3}};
    goes_round_and_ends(jobs, 2);
}

static void three_in_a_ring(void **state) {
    static const struct job jobs[] = {
        {"large", "b", 9, 1, 0, 8}, {"small", "a", 0, 1, 0, 6}, {"middle", "a", 5, 1, 0, 9}};
    goes_round_and_ends(jobs, 3);
}

/* What was settled in an era that has ended is forgotten, and makes room. */
static void old_turns_go(void **state) {
    struct engine *e = two_queues(true);
    struct queue_workload *v[3];
    char uid[3][2] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++) {
        v[i] = fixture_hold(e, &(struct fixture_held){uid[i], "b", 0, 1, 1});
    }
    struct queue_workload *w = fixture_wait(e, "w", "a", 1, 1);
    assert_int_equal(engine_settle(e), 0);
    e->queues.agenda.turns.room = 2;
    assert_int_equal(turns_take(&e->queues.agenda.turns, w, v[0]), 0);
    assert_int_equal(turns_take(&e->queues.agenda.turns, w, v[1]), 0);
    assert_int_equal(turns_take(&e->queues.agenda.turns, w, v[1]), 0); /* the same again */
    assert_true(turns_refuse(&e->queues.agenda.turns, w, v[0]) &&
                turns_refuse(&e->queues.agenda.turns, w, v[1]));
    assert_false(turns_refuse(&e->queues.agenda.turns, w, v[2]));
    w->queue->tree->era++;
    assert_false(turns_refuse(&e->queues.agenda.turns, w, v[0]));
    assert_int_equal(turns_take(&e->queues.agenda.turns, w, v[2]), 0);
    assert_int_equal(map_count(&e->queues.agenda.turns.pairs), 1);
    assert_true(turns_refuse(&e->queues.agenda.turns, w, v[2]));
    assert_int_equal(turns_take(&e->queues.agenda.turns, w, v[0]), 0);
    assert_true(turns_refuse(&e->queues.agenda.turns, w, v[0]));
    engine_free(e);
}

/* An edit of another tree is nothing from outside to this one; one of its own is. */
static void edits_elsewhere(void **state) {
    struct engine *e = two_queues(true);
    struct queue_workload *v = fixture_hold(e, &(struct fixture_held){"x", "b", 0, 1, 1});
    struct queue_workload *w = fixture_wait(e, "w", "a", 1, 1);
    assert_int_equal(engine_settle(e), 0);
    assert_int_equal(turns_take(&e->queues.agenda.turns, w, v), 0);
    fixture_queue(e, &(struct fixture_queue){"c", "others", 6, NO, NO});
    assert_int_equal(engine_settle(e), 0);
    assert_true(turns_refuse(&e->queues.agenda.turns, w, v));
    fixture_queue(e, &(struct fixture_queue){"c", "all", 6, NO, NO});
    assert_int_equal(engine_settle(e), 0);
    assert_false(turns_refuse(&e->queues.agenda.turns, w, v));
    assert_int_equal(map_count(&e->queues.agenda.turns.pairs), 0);
    engine_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_take_turns), cmocka_unit_test(three_in_a_ring),
        cmocka_unit_test(old_turns_go), cmocka_unit_test(edits_elsewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Table tests of what a Job needs next: hand-made Jobs and pods, no API, no time passing.
 */
#include "core/job/job_decide.h"

#include "base/clock.h"
#include "base/test.h"

#define NOW (INT64_C(1000000) * NS_PER_SEC)

static struct arena arena;

/* A pod by one word: phase letter (p, r, s, f), then flags: d deleting, u without finalizer, and =<index>. */
struct case_pod {
    const char *word;
    int32_t seconds_ago; /* since it ended */
    int32_t exit;
    int32_t failures; /* earlier ones of its index */
};

struct decide_case {
    const char *name;
    struct job_spec spec;
    struct job_status status;
    struct case_pod pods[6];
    /* what is wanted */
    size_t creates, deletes, strips;
    const char *target, *reason, *end; /* conditions */
    int32_t failed, succeeded;
    size_t uncounted;
    int64_t again_s;
};

#define ONE(n)                                                                                     \
    { .set = true, .v = (n) }
#define INDEXED .completion_mode = {"Indexed", 7}

static const struct decide_case cases[] = {
    {.name = "a new Job starts its pods",
     .spec = {.parallelism = ONE(3), .completions = ONE(5)},
     .creates = 3},
    {.name = "no more than are left to complete",
     .spec = {.parallelism = ONE(3), .completions = ONE(5)},
     .status = {.succeeded = 3, .start_ns = NOW},
     .succeeded = 3,
     .creates = 2},
    {.name = "missing ones only",
     .spec = {.parallelism = ONE(3), .completions = ONE(5)},
     .pods = {{"r"}, {"p"}},
     .creates = 1},
    {.name = "none while suspended",
     .spec = {.parallelism = ONE(3), .completions = ONE(5), .suspend = ONE(true)},
     .pods = {{"r"}, {"p"}},
     .deletes = 2},
    {.name = "too many",
     .spec = {.parallelism = ONE(1), .completions = ONE(5)},
     .pods = {{"r"}, {"p"}, {"p"}},
     .deletes = 2},
    {.name = "an end is counted first",
     .spec = {.parallelism = ONE(1), .completions = ONE(2)},
     .pods = {{"s"}},
     .uncounted = 1,
     .creates = 1},
    {.name = "then the finalizer goes",
     .spec = {.parallelism = ONE(1), .completions = ONE(2)},
     .status = {.uncounted_terminated_pods =
                    &(struct uncounted_pods){.succeeded = {(struct str[]){{"u0", 2}}, 1}}},
     .pods = {{"s"}, {"r"}},
     .uncounted = 1,
     .strips = 1},
    {.name = "the last ends are counted by the write that ends the Job",
     .spec = {.parallelism = ONE(2), .completions = ONE(2)},
     .status = {.uncounted_terminated_pods =
                    &(struct uncounted_pods){.succeeded = {(struct str[]){{"u0", 2}}, 1}}},
     .pods = {{"s"}, {"s"}},
     .strips = 1,
     .succeeded = 2,
     .target = "SuccessCriteriaMet",
     .reason = "CompletionsReached",
     .end = "Complete"},
    {.name = "indexes: the last ones as well",
     .spec = {.parallelism = ONE(2), .completions = ONE(2), INDEXED},
     .status = {.completed_indexes = {"0", 1}, .succeeded = 1},
     .pods = {{"s=0"}, {"s=1"}},
     .strips = 1,
     .succeeded = 2,
     .target = "SuccessCriteriaMet",
     .end = "Complete"},
    {.name = "then it is in the counter, and the Job is complete",
     .spec = {.parallelism = ONE(1), .completions = ONE(1)},
     .status = {.uncounted_terminated_pods =
                    &(struct uncounted_pods){.succeeded = {(struct str[]){{"u0", 2}}, 1}}},
     .pods = {{"su"}},
     .succeeded = 1,
     .target = "SuccessCriteriaMet",
     .reason = "CompletionsReached",
     .end = "Complete"},
    {.name = "also when the pod is gone",
     .spec = {.parallelism = ONE(1), .completions = ONE(1)},
     .status = {.uncounted_terminated_pods =
                    &(struct uncounted_pods){.succeeded = {(struct str[]){{"u0", 2}}, 1}}},
     .succeeded = 1,
     .target = "SuccessCriteriaMet",
     .end = "Complete"},
    {.name = "not while a pod runs",
     .spec = {.parallelism = ONE(2), .completions = ONE(1)},
     .status = {.succeeded = 1},
     .pods = {{"r"}},
     .succeeded = 1,
     .deletes = 1},
    {.name = "nor while one ends",
     .spec = {.parallelism = ONE(2), .completions = ONE(1)},
     .status = {.succeeded = 1},
     .pods = {{"rdu"}},
     .succeeded = 1,
     .target = "SuccessCriteriaMet"},
    {.name = "a failure delays the next pod by 10 s",
     .spec = {.parallelism = ONE(1), .completions = ONE(1), .backoff_limit = ONE(6)},
     .pods = {{"f", 4, 1}},
     .uncounted = 1,
     .again_s = 6},
    {.name = "two by 20 s",
     .spec = {.parallelism = ONE(1), .completions = ONE(1), .backoff_limit = ONE(6)},
     .status = {.failed = 1},
     .pods = {{"fu", 30, 1}, {"f", 4, 1}},
     .failed = 1,
     .uncounted = 1,
     .again_s = 16},
    {.name = "a success ends the row of failures",
     .spec = {.parallelism = ONE(1), .completions = ONE(3), .backoff_limit = ONE(6)},
     .status = {.failed = 1, .succeeded = 1},
     .pods = {{"fu", 30, 1}, {"su", 3}},
     .failed = 1,
     .succeeded = 1,
     .creates = 1},
    {.name = "past the limit",
     .spec = {.parallelism = ONE(2), .completions = ONE(2), .backoff_limit = ONE(0)},
     .pods = {{"f", 1, 1}, {"r"}},
     .deletes = 1,
     .uncounted = 2,
     .target = "FailureTarget",
     .reason = "BackoffLimitExceeded"},
    {.name = "a deleted pod is replaced at once and counts",
     .spec = {.parallelism = ONE(1), .completions = ONE(1), .backoff_limit = ONE(6)},
     .pods = {{"rd", 20}},
     .uncounted = 1,
     .creates = 1},
    {.name = "or only when it has failed",
     .spec = {.parallelism = ONE(1),
              .completions = ONE(1),
              .backoff_limit = ONE(6),
              .pod_replacement_policy = {"Failed", 6}},
     .pods = {{"rd", 20}}},
    {.name = "a deadline",
     .spec = {.parallelism = ONE(1), .completions = ONE(1), .active_deadline_seconds = ONE(10)},
     .status = {.start_ns = NOW - 10 * NS_PER_SEC},
     .pods = {{"r"}},
     .deletes = 1,
     .uncounted = 1,
     .target = "FailureTarget",
     .reason = "DeadlineExceeded"},
    {.name = "a deadline to come",
     .spec = {.parallelism = ONE(1), .completions = ONE(1), .active_deadline_seconds = ONE(10)},
     .status = {.start_ns = NOW - 4 * NS_PER_SEC},
     .pods = {{"r"}},
     .again_s = 6},
    {.name = "indexes: the lowest that are missing",
     .spec = {.parallelism = ONE(2), .completions = ONE(4), INDEXED},
     .status = {.completed_indexes = {"0", 1}, .succeeded = 1},
     .pods = {{"r=1"}},
     .succeeded = 1,
     .creates = 1},
    {.name = "indexes: a second pod of one goes",
     .spec = {.parallelism = ONE(2), .completions = ONE(2), INDEXED},
     .pods = {{"r=0"}, {"p=0"}},
     .deletes = 1},
    {.name = "indexes: an end goes to the set at once",
     .spec = {.parallelism = ONE(2), .completions = ONE(2), INDEXED},
     .pods = {{"s=0"}, {"r=1"}},
     .succeeded = 1},
    {.name = "indexes: and its finalizer after that",
     .spec = {.parallelism = ONE(2), .completions = ONE(2), INDEXED},
     .status = {.completed_indexes = {"0", 1}, .succeeded = 1},
     .pods = {{"s=0"}, {"r=1"}},
     .succeeded = 1,
     .strips = 1},
    {.name = "per index: a failed pod is held until it is replaced",
     .spec =
         {.parallelism = ONE(1), .completions = ONE(1), .backoff_limit_per_index = ONE(2), INDEXED},
     .pods = {{"f=0", 3, 1}},
     .again_s = 7},
    {.name = "per index: and counted then",
     .spec =
         {.parallelism = ONE(1), .completions = ONE(1), .backoff_limit_per_index = ONE(2), INDEXED},
     .pods = {{"f=0", 30, 1}, {"r=0", 0, 0, 1}},
     .uncounted = 1},
    {.name = "per index: past its limit",
     .spec =
         {.parallelism = ONE(2), .completions = ONE(2), .backoff_limit_per_index = ONE(0), INDEXED},
     .pods = {{"f=0", 3, 1}, {"r=1"}},
     .uncounted = 1},
    {.name = "per index: all ended, one badly",
     .spec =
         {.parallelism = ONE(2), .completions = ONE(2), .backoff_limit_per_index = ONE(0), INDEXED},
     .status =
         {.completed_indexes = {"1", 1}, .failed_indexes = {"0", 1}, .succeeded = 1, .failed = 1},
     .succeeded = 1,
     .failed = 1,
     .target = "FailureTarget",
     .reason = "FailedIndexes",
     .end = "Failed"},
    {.name = "per index: too many failed",
     .spec = {.parallelism = ONE(3),
              .completions = ONE(3),
              .backoff_limit_per_index = ONE(0),
              .max_failed_indexes = ONE(0),
              INDEXED},
     .pods = {{"f=0", 3, 1}, {"r=1"}, {"r=2"}},
     .deletes = 2,
     .uncounted = 3,
     .target = "FailureTarget",
     .reason = "MaxFailedIndexesExceeded"},
    {.name = "ignored failures do not count",
     .spec = {.parallelism = ONE(1),
              .completions = ONE(1),
              .backoff_limit = ONE(0),
              .pod_failure_policy =
                  &(struct pod_failure_policy){
                      .rules = {(struct pod_failure_rule[]){
                                    {.action = {"Ignore", 6},
                                     .on_exit_codes =
                                         &(struct exit_codes_rule){
                                             .operator= {"In", 2},
                                             .values = {(int32_t[]){137}, 1}}}},
                                1}}},
     .pods = {{"f", 3, 137}},
     .strips = 1,
     .creates = 1},
    {.name = "others do",
     .spec = {.parallelism = ONE(1),
              .completions = ONE(1),
              .backoff_limit = ONE(0),
              .pod_failure_policy =
                  &(struct pod_failure_policy){
                      .rules = {(struct pod_failure_rule[]){
                                    {.action = {"Ignore", 6},
                                     .on_exit_codes =
                                         &(struct exit_codes_rule){
                                             .operator= {"In", 2},
                                             .values = {(int32_t[]){137}, 1}}}},
                                1}}},
     .pods = {{"f", 3, 1}},
     .failed = 1,
     .target = "FailureTarget",
     .reason = "BackoffLimitExceeded",
     .end = "Failed"},
    {.name = "a work queue starts no more after a success",
     .spec = {.parallelism = ONE(3)},
     .status = {.succeeded = 1},
     .pods = {{"r"}},
     .succeeded = 1},
    {.name = "and is complete when all have ended",
     .spec = {.parallelism = ONE(3)},
     .status = {.succeeded = 2},
     .succeeded = 2,
     .target = "SuccessCriteriaMet",
     .end = "Complete"},
};

static struct job_pod make_pod(const struct case_pod *c, size_t i) {
    static char names[8][8];
    const char *index = strchr(c->word, '=');
    snprintf(names[i], sizeof names[i], "u%zu", i);
    struct job_pod p = {.ns = STR("ns"),
                        .name = str_of(names[i]),
                        .uid = str_of(names[i]),
                        .tracked = strchr(c->word, 'u') == NULL,
                        .deleting = strchr(c->word, 'd') != NULL,
                        .index = index ? index[1] - '0' : -1,
                        .created_ns = NOW - 100 * NS_PER_SEC,
                        .finished_ns = NOW - c->seconds_ago * NS_PER_SEC,
                        .index_failures = c->failures};
    p.phase = c->word[0] == 'p'   ? POD_PENDING
              : c->word[0] == 'r' ? POD_RUNNING
              : c->word[0] == 's' ? POD_SUCCEEDED
                                  : POD_FAILED;
    if (c->exit) {
        p.exits = ARENA_NEW(&arena, struct pod_exit);
        assert_non_null(p.exits);
        *p.exits = (struct pod_exit){STR("c"), c->exit};
        p.n_exits = 1;
    }
    return p;
}

static const struct condition *find(const struct job_status *s, const char *type) {
    for (size_t i = 0; i < s->conditions.n; i++) {
        if (str_is(s->conditions.v[i].type, type)) {
            return &s->conditions.v[i];
        }
    }
    return NULL;
}

static void check_conditions(const struct decide_case *c, const struct job_plan *plan) {
    static const char *const types[] = {"FailureTarget", "SuccessCriteriaMet", "Complete",
                                        "Failed"};
    for (size_t i = 0; i < 4; i++) {
        const struct condition *x = find(&plan->status, types[i]);
        bool wanted = (c->target && strcmp(types[i], c->target) == 0) ||
                      (c->end && strcmp(types[i], c->end) == 0);
        assert_int_equal(x != NULL, wanted);
        if (x && c->reason) {
            assert_str_eq(x->reason, str_of(c->reason));
        }
    }
}

static void check(const struct decide_case *c) {
    struct job_pod pods[6];
    struct job_spec spec = c->spec;
    struct job_status status = c->status;
    struct job job = {.spec = &spec, .status = &status};
    struct job_facts f = {.job = &job, .pods = pods, .now_ns = NOW, .create_max = JOB_BURST_MAX};
    struct job_plan plan;
    struct err err = {0};
    print_message("    %s\n", c->name);
    for (size_t i = 0; i < 6 && c->pods[i].word; i++) {
        pods[f.n_pods++] = make_pod(&c->pods[i], i);
    }
    assert_ok(job_decide(&f, &arena, &plan, &err), &err);
    const struct uncounted_pods *u = plan.status.uncounted_terminated_pods;
    assert_int_equal(plan.n_creates, c->creates);
    assert_int_equal(plan.n_deletes, c->deletes);
    assert_int_equal(plan.n_strips, c->strips);
    assert_int_equal(plan.status.failed, c->failed);
    assert_int_equal(plan.status.succeeded, c->succeeded);
    assert_int_equal(u->succeeded.n + u->failed.n, c->uncounted);
    assert_int_equal(plan.again_ns, c->again_s * NS_PER_SEC);
    assert_false(plan.n_creates && plan.n_deletes);
    check_conditions(c, &plan);
    arena_reset(&arena);
}

static void every_case(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check(&cases[i]);
    }
}

static void backoff_doubles_to_ten_minutes(void **state) {
    static const int64_t seconds[] = {0, 10, 20, 40, 80, 160, 320, 600, 600};
    for (int i = 0; i < 9; i++) {
        assert_int_equal(job_backoff_ns(i), seconds[i] * NS_PER_SEC);
    }
    assert_int_equal(job_backoff_ns(1000000), 600 * NS_PER_SEC);
}

static void no_memory_decides_nothing(void **state) {
    struct job_spec spec = {.parallelism = ONE(3), .completions = ONE(5)};
    struct job_status status = {0};
    struct job job = {.spec = &spec, .status = &status};
    struct job_facts f = {.job = &job, .now_ns = NOW, .create_max = 1};
    for (size_t max = 0; max < 20000; max += 500) {
        struct arena small;
        struct job_plan plan = {.again_ns = 77};
        arena_init(&small, max);
        int r = job_decide(&f, &small, &plan, NULL);
        assert_true(r == 0 || (r == ERR_NOMEM && plan.again_ns == 77));
        arena_release(&small);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
        cmocka_unit_test(backoff_doubles_to_ten_minutes),
        cmocka_unit_test(no_memory_decides_nothing),
    };
    arena_init(&arena, 16 << 20);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return r;
}

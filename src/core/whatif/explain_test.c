/* Tests of explain: amounts to the unit, who holds, which rule keeps whom, in words and numbers. */
#include "core/whatif/explain.h"

#include "base/test.h"

static const struct shape ANY = {0};
#define NO AMOUNT_NONE

struct world {
    struct engine *e;
    struct explain_index *x;
    struct arena a;
    struct explanation out;
};

static struct queue_input base(const char *name, const char *cohort) {
    return (struct queue_input){.name = str_of(name),
                                .cohort = str_of(cohort),
                                .weight = 1,
                                .when_can_preempt = FUNGIBILITY_NEXT};
}

static void setup(struct world *w) {
    struct engine_options o = {0};
    struct flavor_input f = {.name = STR("f")};
    struct taint t = {.key = STR("gpu"), .value = STR("old"), .effect = STR("NoSchedule")};
    struct flavor_input tainted = {.name = STR("t"), .taints = {&t, 1}};
    *w = (struct world){.e = engine_new(&o)};
    assert_non_null(w->e);
    arena_init(&w->a, 1 << 20);
    assert_int_equal(engine_flavor_put(w->e, &f), 0);
    assert_int_equal(engine_flavor_put(w->e, &tainted), 0);
}

static void teardown(struct world *w) {
    explain_index_free(w->x);
    engine_free(w->e);
    arena_release(&w->a);
}

static void queue(struct world *w, struct queue_input in, struct quota_input q) {
    struct str resource = STR("gpu");
    struct group_flavor_input f[] = {{STR("t"), &q}, {STR("f"), &q}};
    struct group_input g = {&resource, 1, f, 2};
    in.groups = &g;
    in.n_groups = 1;
    assert_int_equal(engine_queue_put(w->e, &in), 0);
}

static void submit_least(struct world *w, const char *uid, const char *q, int64_t priority,
                         int64_t at, int32_t pods, int32_t least, int64_t gpus) {
    struct node_amount a = {STR("gpu"), gpus};
    struct set_input s = {STR("main"), pods, least, &ANY, &a, 1};
    struct workload_input in = {.uid = str_of(uid),
                                .queue = str_of(q),
                                .priority = priority,
                                .queued_ns = at,
                                .sets = &s,
                                .n_sets = 1};
    assert_int_equal(engine_workload_put(w->e, &in), 0);
}

static void submit(struct world *w, const char *uid, const char *q, int64_t priority, int64_t at,
                   int32_t pods, int64_t gpus) {
    submit_least(w, uid, q, priority, at, pods, 0, gpus);
}

static void hold(struct world *w, const char *uid, const char *q, int64_t priority, int64_t at,
                 int64_t gpus) {
    struct held_amount h = {0, names_find(engine_flavors(w->e), STR("f")),
                            names_find(engine_resources(w->e), STR("gpu")), gpus};
    struct node_amount a = {STR("gpu"), gpus};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    struct workload_input in = {.uid = str_of(uid),
                                .queue = str_of(q),
                                .priority = priority,
                                .queued_ns = at,
                                .sets = &s,
                                .n_sets = 1};
    assert_int_equal(engine_workload_hold(w->e, &in, &h, 1), 0);
}

static int explain(struct world *w, const char *uid) {
    struct explain_options o = {.now = 1000, .holders_max = 2, .borrowers_max = 2};
    explain_index_free(w->x);
    w->x = NULL;
    assert_int_equal(explain_index_new(w->e, &w->x), 0);
    return explain_workload(w->x, str_of(uid), &o, &w->a, &w->out);
}

static enum keep_rule only_rule(const struct world *w) {
    assert_int_equal(w->out.n_rules, 1);
    return w->out.rules[0].rule;
}

/* A stopped queue holds until it has given back, and is told so; nothing is taken from it. */
static void stopped_borrower(void **state) {
    struct world w;
    struct queue_input a = base("a", "c");
    setup(&w);
    a.held = true;
    queue(&w, a, (struct quota_input){2, NO, NO});
    queue(&w, base("b", "c"), (struct quota_input){6, NO, NO});
    hold(&w, "h", "a", 0, 1, 5);
    submit(&w, "p", "b", 0, 2, 1, 4);
    assert_int_equal(explain(&w, "p"), 0);
    const struct explain_lack *l = &w.out.lacks[1];
    assert_int_equal(l->kind, LACK_QUOTA);
    assert_int_equal(l->available, 3);
    assert_int_equal(l->missing, 1);
    assert_int_equal(l->capacity, 8);
    assert_int_equal(l->n_holders_all, 1);
    assert_int_equal(l->n_borrowers_all, 1);
    assert_str_eq(l->borrowers[0].queue, STR("a"));
    assert_int_equal(l->borrowers[0].amount, 3);
    assert_int_equal(only_rule(&w), KEEP_RECLAIM_NEVER);
    submit(&w, "huge", "b", 0, 3, 1, 9);
    assert_int_equal(explain(&w, "huge"), 0);
    assert_int_equal(w.out.lacks[1].kind, LACK_CAPACITY);
    struct queue_input b = base("b", "c");
    b.reclaim = PREEMPT_ANY;
    queue(&w, b, (struct quota_input){6, NO, NO});
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(only_rule(&w), KEEP_INACTIVE);
    a.held = false;
    queue(&w, a, (struct quota_input){2, NO, NO});
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(only_rule(&w), KEEP_NOT_ENOUGH);
    teardown(&w);
}

static void amounts_and_holders(void **state) {
    struct world w;
    setup(&w);
    queue(&w, base("a", ""), (struct quota_input){8, NO, NO});
    hold(&w, "h1", "a", 0, 1, 3);
    hold(&w, "h2", "a", 0, 2, 1);
    hold(&w, "h3", "a", 0, 3, 2);
    submit(&w, "p", "a", 0, 4, 2, 2);
    submit(&w, "huge", "a", 0, 5, 1, 9);
    submit(&w, "fits", "a", 0, 6, 1, 2);
    assert_int_equal(explain(&w, "p"), 0);
    assert_false(w.out.fits);
    assert_true(w.out.active);
    assert_int_equal(w.out.n_lacks, 2);
    assert_int_equal(w.out.lacks[0].kind, LACK_TAINT);
    assert_str_eq(w.out.lacks[0].taint_value, STR("old"));
    const struct explain_lack *l = &w.out.lacks[1];
    assert_int_equal(l->kind, LACK_QUOTA);
    assert_int_equal(l->need, 4);
    assert_int_equal(l->available, 2);
    assert_int_equal(l->missing, 2);
    assert_int_equal(l->capacity, 8);
    assert_str_eq(l->limit_at, STR("a"));
    assert_int_equal(l->n_holders_all, 3);
    assert_int_equal(l->held_all, 6);
    assert_int_equal(l->n_holders, 2); /* biggest first, no more than asked for */
    assert_str_eq(l->holders[0].uid, STR("h1"));
    assert_str_eq(l->holders[1].uid, STR("h3"));
    assert_int_equal(only_rule(&w), KEEP_WITHIN_NEVER);
    assert_int_equal(w.out.rules[0].workloads, 3);
    assert_int_equal(explain(&w, "huge"), 0);
    assert_int_equal(w.out.lacks[1].kind, LACK_CAPACITY);
    assert_int_equal(w.out.lacks[1].missing, 1);
    assert_int_equal(explain(&w, "fits"), 0);
    assert_true(w.out.fits);
    assert_int_equal(explain(&w, "h1"), ERR_NOT_FOUND);
    assert_int_equal(explain(&w, "nobody"), ERR_NOT_FOUND);
    teardown(&w);
}

/* What may start with fewer pods lacks what the fewest need. */
static void fewer_pods(void **state) {
    struct world w;
    setup(&w);
    queue(&w, base("a", ""), (struct quota_input){8, NO, NO});
    hold(&w, "h1", "a", 0, 1, 4);
    submit_least(&w, "some", "a", 0, 2, 20, 3, 2);
    submit_least(&w, "few", "a", 0, 3, 20, 2, 2);
    assert_int_equal(explain(&w, "some"), 0);
    assert_int_equal(w.out.lacks[1].kind, LACK_QUOTA); /* not more than there is */
    assert_int_equal(w.out.lacks[1].need, 6);
    assert_int_equal(w.out.lacks[1].missing, 2);
    assert_true(w.out.lacks[1].least);
    assert_int_equal(explain(&w, "few"), 0);
    assert_true(w.out.fits);
    teardown(&w);
}

/* A flavor of other nodes than its pods ask for. */
static void other_nodes(void **state) {
    struct world w;
    struct str_pair have = {STR("kind"), STR("new")}, want = {STR("kind"), STR("old")};
    struct flavor_input f = {.name = STR("f"), .labels = {&have, 1}};
    struct shape shape = {.selector = {&want, 1}};
    struct node_amount a = {STR("gpu"), 1};
    struct set_input s = {STR("main"), 1, 0, &shape, &a, 1};
    struct workload_input in = {
        .uid = STR("p"), .queue = STR("a"), .queued_ns = 1, .sets = &s, .n_sets = 1};
    setup(&w);
    assert_int_equal(engine_flavor_put(w.e, &f), 0);
    queue(&w, base("a", ""), (struct quota_input){8, NO, NO});
    assert_int_equal(engine_workload_put(w.e, &in), 0);
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(w.out.n_lacks, 2);
    assert_int_equal(w.out.lacks[0].kind, LACK_TAINT);
    assert_int_equal(w.out.lacks[1].kind, LACK_AFFINITY);
    assert_false(w.out.fits);
    teardown(&w);
}

static void resource_of_no_group(void **state) {
    struct world w;
    setup(&w);
    queue(&w, base("a", ""), (struct quota_input){8, NO, NO});
    struct node_amount a = {STR("licence"), 1};
    struct set_input s = {STR("main"), 3, 0, &ANY, &a, 1};
    struct workload_input in = {.uid = STR("p"), .queue = STR("a"), .sets = &s, .n_sets = 1};
    assert_int_equal(engine_workload_put(w.e, &in), 0);
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(w.out.n_lacks, 1);
    assert_int_equal(w.out.lacks[0].kind, LACK_RESOURCE);
    assert_int_equal(w.out.lacks[0].missing, 3);
    teardown(&w);
}

/* One queue full, one asker of priority 5: which rule keeps a holder of this priority and time? */
static enum keep_rule within(enum preempt_policy policy, int64_t priority, int64_t at) {
    struct world w;
    struct queue_input q = base("a", "");
    setup(&w);
    q.within_queue = policy;
    queue(&w, q, (struct quota_input){4, NO, NO});
    hold(&w, "h", "a", priority, at, 4);
    submit(&w, "p", "a", 5, 10, 1, 4);
    assert_int_equal(explain(&w, "p"), 0);
    enum keep_rule r = only_rule(&w);
    teardown(&w);
    return r;
}

static void rules_of_the_queue(void **state) {
    assert_int_equal(within(PREEMPT_NEVER, 1, 1), KEEP_WITHIN_NEVER);
    assert_int_equal(within(PREEMPT_LOWER, 5, 1), KEEP_PRIORITY);
    assert_int_equal(within(PREEMPT_LOWER, 4, 1), KEEP_NOT_ENOUGH);
    assert_int_equal(within(PREEMPT_LOWER_OR_NEWER, 5, 1), KEEP_OLDER);
    assert_int_equal(within(PREEMPT_LOWER_OR_NEWER, 5, 10), KEEP_OLDER); /* just as old */
    assert_int_equal(within(PREEMPT_LOWER_OR_NEWER, 5, 11), KEEP_NOT_ENOUGH);
    assert_int_equal(within(PREEMPT_LOWER_OR_NEWER, 6, 11), KEEP_PRIORITY);
}

/* A larger version of what runs: that goes when its successor starts, and is no victim before. */
static void replaced_by_the_asker(void **state) {
    struct world w;
    struct queue_input q = base("a", "");
    struct node_amount amount = {STR("gpu"), 2};
    struct set_input s = {STR("main"), 2, 0, &ANY, &amount, 1};
    struct workload_input in = {.uid = STR("p"),
                                .queue = STR("a"),
                                .priority = 5,
                                .queued_ns = 10,
                                .sets = &s,
                                .n_sets = 1,
                                .replaces = STR("h")};
    setup(&w);
    q.within_queue = PREEMPT_LOWER;
    queue(&w, q, (struct quota_input){4, NO, NO});
    hold(&w, "h", "a", 1, 1, 2);
    hold(&w, "other", "a", 5, 1, 2);
    assert_int_equal(engine_workload_put(w.e, &in), 0);
    assert_int_equal(explain(&w, "p"), 0);
    bool told = false;
    for (size_t i = 0; i < w.out.n_rules; i++) {
        told = told || w.out.rules[i].rule == KEEP_REPLACED;
        assert_true(w.out.rules[i].rule == KEEP_REPLACED || w.out.rules[i].rule == KEEP_PRIORITY);
    }
    assert_true(told);
    assert_string_equal(keep_rule_name(KEEP_REPLACED), "Replaced");
    teardown(&w);
}

/* a has 4, b has 2 and holds `holds`; an asker of priority 5 in a wants `wants` beside 2 held in a. */
static enum keep_rule cohort(struct queue_input a, int64_t holds, int64_t priority, int64_t wants) {
    struct world w;
    setup(&w);
    queue(&w, a, (struct quota_input){4, NO, NO});
    queue(&w, base("b", "c"), (struct quota_input){2, NO, NO});
    hold(&w, "h", "b", priority, 1, holds);
    submit(&w, "p", "a", 5, 10, 1, wants);
    assert_int_equal(explain(&w, "p"), 0);
    const struct explain_lack *l = &w.out.lacks[1];
    assert_int_equal(l->kind, LACK_QUOTA);
    assert_str_eq(l->limit_at, STR("c"));
    assert_false(l->limit_is_queue);
    assert_int_equal(l->n_borrowers_all, holds > 2);
    if (holds > 2) {
        assert_str_eq(l->borrowers[0].queue, STR("b"));
        assert_int_equal(l->borrowers[0].amount, holds - 2);
    }
    enum keep_rule r = only_rule(&w);
    teardown(&w);
    return r;
}

static void rules_of_the_cohort(void **state) {
    struct queue_input a = base("a", "c");
    assert_int_equal(cohort(a, 4, 1, 4), KEEP_RECLAIM_NEVER);
    a.reclaim = PREEMPT_LOWER;
    assert_int_equal(cohort(a, 4, 5, 4), KEEP_PRIORITY);
    assert_int_equal(cohort(a, 4, 4, 4), KEEP_NOT_ENOUGH);
    a.reclaim = PREEMPT_ANY;
    assert_int_equal(cohort(a, 4, 9, 4), KEEP_NOT_ENOUGH);
    assert_int_equal(cohort(a, 2, 1, 5), KEEP_NOMINAL);
    assert_int_equal(cohort(a, 4, 1, 5), KEEP_BORROWING);
    a.borrow_within = PREEMPT_LOWER;
    assert_int_equal(cohort(a, 4, 5, 5), KEEP_BORROWING_PRIORITY);
    assert_int_equal(cohort(a, 4, 4, 5), KEEP_NOT_ENOUGH);
    a.has_threshold = true;
    a.threshold = 3;
    assert_int_equal(cohort(a, 4, 4, 5), KEEP_THRESHOLD);
    assert_int_equal(cohort(a, 4, 3, 5), KEEP_NOT_ENOUGH);
}

/* A queue with cpu in flavor t and gpu in f, as the samples have them. */
static void queue_of_two(struct world *w, struct queue_input in, int64_t cpus, int64_t gpus) {
    struct str resources[] = {STR("gpu"), STR("cpu")};
    struct quota_input cpu = {cpus, NO, NO}, gpu = {gpus, NO, NO};
    struct group_flavor_input t = {STR("t"), &cpu}, f = {STR("f"), &gpu};
    struct group_input g[] = {{&resources[1], 1, &t, 1}, {&resources[0], 1, &f, 1}};
    in.groups = g;
    in.n_groups = 2;
    assert_int_equal(engine_queue_put(w->e, &in), 0);
}

static void cohort_of_cpu(struct world *w, const char *name, const char *parent, int64_t cpus) {
    struct str resource = STR("cpu");
    struct quota_input q = {cpus, NO, NO};
    struct group_flavor_input f = {STR("t"), &q};
    struct group_input g = {&resource, 1, &f, 1};
    struct cohort_input in = {.name = str_of(name), .parent = str_of(parent), .weight = 1};
    in.groups = &g;
    in.n_groups = 1;
    assert_int_equal(engine_cohort_put(w->e, &in), 0);
}

static void submit_two(struct world *w, int64_t priority, int64_t gpus, int64_t cpus) {
    struct node_amount a[] = {{STR("cpu"), cpus}, {STR("gpu"), gpus}};
    struct toleration t = {.key = STR("gpu"), .operator= STR("Exists")};
    struct shape shape = {.tolerations = {&t, 1}};
    struct set_input s = {STR("main"), 2, 0, &shape, a, 2};
    struct workload_input in = {.uid = STR("p"),
                                .queue = STR("a"),
                                .priority = priority,
                                .queued_ns = 9,
                                .sets = &s,
                                .n_sets = 1};
    assert_int_equal(engine_workload_put(w->e, &in), 0);
}

/* An owner asks for no more GPUs than his own, and for a little CPU, of which he has none: that bars him. */
static void barred_by_another_resource(void **state) {
    struct world w;
    struct queue_input a = base("a", "c");
    setup(&w);
    a.reclaim = PREEMPT_ANY;
    cohort_of_cpu(&w, "c", "", 100);
    queue_of_two(&w, a, 1, 2);
    queue_of_two(&w, base("b", "c"), 0, 2);
    hold(&w, "h", "b", 7, 1, 4);
    submit_two(&w, 0, 1, 3); /* two pods: 6 of cpu, 2 of gpu */
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(w.out.n_lacks, 1);
    assert_int_equal(only_rule(&w), KEEP_BORROWING);
    assert_true(keep_rule_borrows(KEEP_BORROWING));
    assert_int_equal(w.out.n_bars, 1);
    const struct explain_bar *b = &w.out.bars[0];
    assert_str_eq(names_text(engine_resources(w.e), b->resource), STR("cpu"));
    assert_str_eq(names_text(engine_flavors(w.e), b->flavor), STR("t"));
    assert_int_equal(b->need, 6);
    assert_int_equal(b->nominal, 1);
    assert_int_equal(b->used, 0);
    assert_int_equal(b->missing, 5);
    assert_int_equal(b->group, 0);
    assert_true(b->remedy);
    /* it asks for more GPUs than its own as well: then CPU alone is no remedy */
    submit_two(&w, 0, 2, 3);
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(only_rule(&w), KEEP_BORROWING);
    assert_int_equal(w.out.n_bars, 2);
    assert_false(w.out.bars[0].remedy || w.out.bars[1].remedy);
    /* borrowWithinCohort lets it, but for the priority */
    submit_two(&w, 0, 1, 3);
    a.borrow_within = PREEMPT_LOWER;
    queue_of_two(&w, a, 1, 2);
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(only_rule(&w), KEEP_BORROWING_PRIORITY);
    assert_true(w.out.n_bars == 1 && w.out.bars[0].remedy);
    submit_two(&w, 8, 1, 3);
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(only_rule(&w), KEEP_NOT_ENOUGH);
    assert_int_equal(w.out.n_bars, 0);
    /* and so does what is missing, of its own */
    a.borrow_within = PREEMPT_NEVER;
    queue_of_two(&w, a, 6, 2);
    submit_two(&w, 0, 1, 3);
    assert_int_equal(explain(&w, "p"), 0);
    assert_int_equal(only_rule(&w), KEEP_NOT_ENOUGH);
    assert_int_equal(w.out.n_bars, 0);
    teardown(&w);
}

/* The queue's own cohort has what it would borrow: others below that are safe, those beyond are not. */
static void barred_within_a_cohort(void **state) {
    struct world w;
    struct queue_input a = base("a", "c");
    setup(&w);
    a.reclaim = PREEMPT_ANY;
    cohort_of_cpu(&w, "root", "", 0);
    cohort_of_cpu(&w, "c", "root", 100);
    cohort_of_cpu(&w, "d", "root", 0);
    queue_of_two(&w, a, 0, 2);
    queue_of_two(&w, base("b", "c"), 0, 0);
    queue_of_two(&w, base("y", "c"), 0, 1);
    queue_of_two(&w, base("z", "d"), 0, 0);
    hold(&w, "near", "b", 0, 1, 1);
    hold(&w, "far", "z", 0, 1, 1);
    submit_two(&w, 0, 1, 3);
    assert_int_equal(explain(&w, "p"), 0);
    const struct explain_lack *l = &w.out.lacks[0];
    assert_int_equal(l->n_holders, 2);
    for (size_t i = 0; i < 2; i++) {
        bool near = str_is(l->holders[i].uid, "near");
        assert_int_equal(l->holders[i].keeps, near ? KEEP_BORROWING : KEEP_NOT_ENOUGH);
    }
    assert_int_equal(w.out.n_bars, 1);
    teardown(&w);
}

/* A lower holder, protected, evicting, or before a closed gate: policies would let it go. */
static enum keep_rule although(struct workload_input h, bool gated, int64_t *ret_until) {
    struct world w;
    struct queue_input q = base("a", "");
    struct node_amount a = {STR("gpu"), 4};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    setup(&w);
    q.within_queue = PREEMPT_LOWER;
    queue(&w, q, (struct quota_input){4, NO, NO});
    h.uid = STR("h");
    h.queue = STR("a");
    h.sets = &s;
    h.n_sets = 1;
    struct held_amount held = {0, names_find(engine_flavors(w.e), STR("f")),
                               names_find(engine_resources(w.e), STR("gpu")), 4};
    assert_int_equal(engine_workload_hold(w.e, &h, &held, 1), 0);
    struct workload_input p = {
        .uid = STR("p"), .queue = STR("a"), .priority = 5, .sets = &s, .n_sets = 1, .gated = gated};
    assert_int_equal(engine_workload_put(w.e, &p), 0);
    assert_int_equal(explain(&w, "p"), 0);
    enum keep_rule r = only_rule(&w);
    *ret_until = w.out.rules[0].until_ns;
    teardown(&w);
    return r;
}

static void protections(void **state) {
    struct workload_input h = {.reserved_ns = 900};
    int64_t until;
    assert_int_equal(although(h, false, &until), KEEP_NOT_ENOUGH);
    assert_int_equal(although(h, true, &until), KEEP_GATED);
    h.protected_until_ns = 1500; /* now is 1000 */
    assert_int_equal(although(h, false, &until), KEEP_PROTECTED);
    assert_int_equal(until, 1500);
    h.minimum_runtime_ns = 800;
    assert_int_equal(although(h, false, &until), KEEP_MINIMUM_RUNTIME);
    assert_int_equal(until, 1700);
    h.minimum_runtime_ns = h.protected_until_ns = 90; /* over */
    assert_int_equal(although(h, false, &until), KEEP_NOT_ENOUGH);
    h.evicting = true;
    assert_int_equal(although(h, false, &until), KEEP_EVICTING);
}

/* The asker's own borrowing limit: what other queues hold is not in the way. */
static void own_limit(void **state) {
    struct world w;
    setup(&w);
    queue(&w, base("a", "c"), (struct quota_input){4, 1, NO});
    queue(&w, base("b", "c"), (struct quota_input){8, NO, NO});
    hold(&w, "h", "a", 0, 1, 4);
    hold(&w, "o", "b", 0, 1, 1);
    submit(&w, "p", "a", 5, 10, 1, 3);
    assert_int_equal(explain(&w, "p"), 0);
    const struct explain_lack *l = &w.out.lacks[1];
    assert_str_eq(l->limit_at, STR("a"));
    assert_true(l->limit_is_queue);
    assert_int_equal(l->available, 1);
    assert_int_equal(l->missing, 2);
    assert_int_equal(l->n_holders_all, 1);
    assert_str_eq(l->holders[0].uid, STR("h"));
    teardown(&w);
}

static void every_rule_has_words(void **state) {
    for (int i = 0; i < KEEP_RULES; i++) {
        assert_true(strlen(keep_rule_name((enum keep_rule)i)) > 3);
        assert_true(strlen(keep_rule_text((enum keep_rule)i)) > 10);
    }
}

static void without_memory(void **state) {
    struct world w;
    setup(&w);
    queue(&w, base("a", ""), (struct quota_input){8, NO, NO});
    hold(&w, "h1", "a", 0, 1, 8);
    submit(&w, "p", "a", 0, 4, 2, 2);
    assert_int_equal(explain(&w, "p"), 0);
    for (uint64_t n = 1;; n++) {
        struct explain_index *x = NULL;
        struct explain_options o = {.now = 0, .holders_max = 5, .borrowers_max = 5};
        struct explanation out;
        struct arena a;
        arena_init(&a, 1 << 20);
        mem_fault(n, 0);
        int r = explain_index_new(w.e, &x);
        r = r == 0 ? explain_workload(x, STR("p"), &o, &a, &out) : r;
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        explain_index_free(x);
        arena_release(&a);
        assert_int_equal(r, hit ? ERR_NOMEM : 0);
        if (!hit) {
            break;
        }
    }
    teardown(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_borrower),
        cmocka_unit_test(amounts_and_holders),
        cmocka_unit_test(resource_of_no_group),
        cmocka_unit_test(rules_of_the_queue),
        cmocka_unit_test(rules_of_the_cohort),
        cmocka_unit_test(replaced_by_the_asker),
        cmocka_unit_test(own_limit),
        cmocka_unit_test(protections),
        cmocka_unit_test(every_rule_has_words),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(other_nodes),
        cmocka_unit_test(fewer_pods),
        cmocka_unit_test(barred_by_another_resource),
        cmocka_unit_test(barred_within_a_cohort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of the engine: admission, waiting and its reasons, order, places; and random runs that keep
 * the invariants. */
#include "core/test/engine_fixture.h"

#include "api/h200_fixture.h"
#include "base/prng.h"

static void waits_and_goes(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "q", "", false, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    submit(&w, "a", "q", 0, 1, 3000);
    submit(&w, "b", "q", 0, 2, 2500);
    submit(&w, "c", "q", 0, 3, 2500);
    submit(&w, "big", "q", 0, 4, 5000);
    run(&w);
    assert_int_equal(w.admitted, 1);
    assert_true(holds(&w, "a"));
    assert_string_equal(w.reason, "ExceedsMaxQuota");
    assert_string_equal(w.text, "couldn't assign flavors to pod set main: insufficient quota for "
                                "cpu in flavor f, previously considered podsets requests (0) + "
                                "current podset request (5) > maximum capacity (4)");
    struct engine_counts n;
    assert_true(engine_queue_counts(w.e, STR("q"), &n));
    assert_int_equal(n.pending, 3);
    assert_int_equal(n.parked, 3);
    /* one like those parked is parked at once, and told why */
    submit(&w, "d", "q", 0, 5, 2500);
    run(&w);
    assert_int_equal(w.admitted, 0);
    assert_int_equal(w.pended, 1);
    assert_string_equal(w.reason, "WaitingForQuota");
    assert_string_equal(w.text,
                        "couldn't assign flavors to pod set main: insufficient unused quota "
                        "for cpu in flavor f, 1500m more needed");
    engine_workload_del(w.e, STR("a"));
    run(&w);
    assert_int_equal(w.admitted, 1);
    assert_true(holds(&w, "b"));
    engine_free(w.e);
}

static void strict_blocks(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "s", "", true, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    queue(&w, "b", "", false, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    for (int i = 0; i < 2; i++) {
        const char *q = i == 0 ? "s" : "b";
        const char *uids[2][3] = {{"s1", "s2", "s3"}, {"b1", "b2", "b3"}};
        submit(&w, uids[i][0], q, 0, 1, 3000);
        submit(&w, uids[i][1], q, 0, 2, 3000);
        submit(&w, uids[i][2], q, 0, 3, 1000);
    }
    run(&w);
    assert_true(holds(&w, "s1") && !holds(&w, "s3"));
    assert_true(holds(&w, "b1") && holds(&w, "b3"));
    submit(&w, "s0", "s", 5, 9, 1000); /* a higher priority goes before the blocked head */
    run(&w);
    assert_true(holds(&w, "s0") && !holds(&w, "s3"));
    engine_workload_del(w.e, STR("s2"));
    engine_workload_del(w.e, STR("s0"));
    run(&w);
    assert_true(holds(&w, "s3"));
    engine_free(w.e);
}

static void borrowing_and_order(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "x", "co", false, (struct fq[]){{"f", {2000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    queue(&w, "y", "co", false, (struct fq[]){{"f", {2000, 1000, NO}}}, 1, FUNGIBILITY_STOP);
    submit(&w, "y4", "y", 0, 1, 4000); /* beyond the borrowing limit for ever */
    run(&w);
    assert_string_equal(w.reason, "ExceedsMaxQuota");
    submit(&w, "y3", "y", 9, 1, 3000);
    submit(&w, "x2", "x", 0, 2, 2000);
    run(&w); /* who does not borrow goes first, whatever the priority */
    assert_true(holds(&w, "x2"));
    assert_false(holds(&w, "y3"));
    engine_workload_del(w.e, STR("x2"));
    run(&w);
    assert_true(holds(&w, "y3"));
    submit(&w, "x1", "x", 0, 3, 1000);
    run(&w);
    assert_true(holds(&w, "x1"));
    engine_free(w.e);
}

static void flavors_in_order(void **state) {
    struct world w;
    struct str_pair label = {STR("zone"), STR("east")};
    struct taint spot = {STR("spot"), STR("true"), STR("NoSchedule"), 0};
    setup(&w);
    flavor(&w, "f1", (struct flavor_input){.labels = {&label, 1}, .taints = {&spot, 1}});
    flavor(&w, "f2", (struct flavor_input){.labels = {&label, 1}});
    struct fq two[] = {{"f1", {1000, NO, NO}}, {"f2", {1000, NO, NO}}};
    queue(&w, "q", "co", false, two, 2, FUNGIBILITY_NEXT);
    queue(&w, "lender", "co", false, two, 2, FUNGIBILITY_NEXT);
    struct str_pair west = {STR("zone"), STR("west")};
    struct shape goes_west = {.selector = {&west, 1}};
    submit_as(&w, "west", "q", 0, 1, 1, "cpu", 500, &goes_west);
    run(&w);
    assert_string_equal(w.reason, "NoMatchingFlavor");
    assert_string_equal(w.text, "couldn't assign flavors to pod set main: flavor f2 doesn't match "
                                "node affinity, untolerated taint {spot true NoSchedule <nil>} in "
                                "flavor f1");
    struct str_pair other = {STR("disk"), STR("ssd")}; /* a key the flavors do not name */
    struct shape plain = {.selector = {&other, 1}};
    submit_as(&w, "plain", "q", 0, 2, 1, "cpu", 500, &plain);
    run(&w);
    size_t n;
    struct str q;
    const struct held_amount *held = engine_workload_held(w.e, STR("plain"), &n, &q);
    assert_int_equal(n, 1);
    assert_int_equal(held->flavor, names_find(engine_flavors(w.e), STR("f2")));
    assert_int_equal(held->v, 500);
    struct toleration t = {.key = STR("spot"), .operator= STR("Exists")};
    struct shape tolerant = {.tolerations = {&t, 1}};
    submit_as(&w, "spot", "q", 0, 3, 1, "cpu", 1000, &tolerant);
    submit_as(&w, "gpu", "q", 0, 4, 1, "nvidia.com/gpu", 1, &ANY);
    run(&w);
    assert_true(holds(&w, "spot"));
    assert_string_equal(w.text, "couldn't assign flavors to pod set main: resource nvidia.com/gpu "
                                "unavailable in ClusterQueue");
    engine_flavor_del(w.e, STR("f1"));
    assert_false(engine_queue_active(w.e, STR("q")));
    engine_free(w.e);
}

static void held_and_undone(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "q", "", false, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    uint32_t cpu, f;
    assert_int_equal(names_intern(engine_resources(w.e), STR("cpu"), &cpu), 0);
    assert_int_equal(names_intern(engine_flavors(w.e), STR("f"), &f), 0);
    struct node_amount a = {STR("cpu"), 3000};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    struct workload_input in = {STR("a"), STR("q"), 0, 1, &s, 1};
    struct held_amount h = {0, f, cpu, 3000};
    assert_int_equal(engine_workload_hold(w.e, &in, &h, 1), 0);
    assert_int_equal(engine_workload_hold(w.e, &in, &h, 1), 0); /* twice is once */
    submit(&w, "b", "q", 0, 2, 2000);
    run(&w);
    assert_false(holds(&w, "b"));
    h.v = 1000; /* part of it is given back */
    assert_int_equal(engine_workload_hold(w.e, &in, &h, 1), 0);
    run(&w);
    assert_true(holds(&w, "b"));
    assert_int_equal(engine_workload_undo(w.e, STR("b")), 0);
    assert_false(holds(&w, "b"));
    run(&w);
    assert_true(holds(&w, "b"));
    engine_free(w.e);
}

/* ---- places ---- */

static struct gpu_profile PROFILES[] = {
    H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_4G_71GB, H200_1G_35GB, H200_7G_141GB,
};

static void node_with(struct world *w, const char *name, int gpus, bool ready, int64_t cpu) {
    struct gpu_card cards[8] = {0};
    char uuid[8][32];
    for (int i = 0; i < gpus; i++) {
        snprintf(uuid[i], sizeof(uuid[i]), "GPU-%s-%d", name, i);
        cards[i] = (struct gpu_card){.uuid = str_of(uuid[i]),
                                     .index = i,
                                     .slices = 8,
                                     .mig_enabled = true,
                                     .mig_managed = true,
                                     .healthy = true,
                                     .profiles = PROFILES,
                                     .n_profiles = 6};
    }
    struct inventory inv = {cards, (size_t)gpus, true};
    struct node_amount amounts[] = {{STR("cpu"), cpu}, {STR("pods"), 110}};
    struct node_input in = {.name = str_of(name),
                            .managed = true,
                            .ready = ready,
                            .amounts = amounts,
                            .n_amounts = 2,
                            .inventory = &inv};
    assert_int_equal(pool_node_put(engine_pool(w->e), &in, NULL), 0);
}

static void node(struct world *w, const char *name, int gpus, bool ready) {
    node_with(w, name, gpus, ready, 16000);
}

static void mig_queue(struct world *w, int64_t quota) {
    struct str resources[] = {STR("nvidia.com/mig-1g.18gb"), STR("nvidia.com/mig-2g.35gb"),
                              STR("nvidia.com/mig-3g.71gb"), STR("nvidia.com/gpu")};
    struct quota_input q[4];
    for (int i = 0; i < 4; i++) {
        q[i] = (struct quota_input){quota, NO, NO};
    }
    struct group_flavor_input f = {STR("f"), q};
    struct group_input g = {resources, 4, &f, 1};
    struct queue_input in = {.name = STR("q"), .groups = &g, .n_groups = 1};
    flavor(w, "f", (struct flavor_input){0});
    assert_int_equal(engine_queue_put(w->e, &in), 0);
}

static void slices(void **state) {
    struct world w;
    setup(&w);
    mig_queue(&w, 100);
    node(&w, "n1", 1, true);
    submit_as(&w, "a", "q", 0, 1, 1, "nvidia.com/mig-2g.35gb", 1, &ANY);
    submit_as(&w, "b", "q", 0, 2, 2, "nvidia.com/mig-2g.35gb", 1, &ANY);
    submit_as(&w, "c", "q", 0, 3, 1, "nvidia.com/mig-2g.35gb", 1, &ANY);
    run(&w);
    assert_true(holds(&w, "a") && holds(&w, "b") && !holds(&w, "c"));
    assert_string_equal(w.reason, "WaitingForPlacement");
    assert_string_equal(w.text, "quota is available, but no GPU has room for 2g.35gb: 1 GPU in "
                                "service on 1 node, at most 2 memory slices free on one GPU (pod "
                                "set main)");
    struct seat *s = pool_workload_first(engine_pool(w.e), STR("a"));
    assert_int_equal(s->devices[0].start, 4); /* the start that keeps most options */
    s = pool_workload_first(engine_pool(w.e), STR("b"));
    assert_int_equal(s->devices[0].start + s->group_next->devices[0].start, 2);
    /* a pod sits down; its workload goes; the slice is free only when the pod has gone too */
    assert_non_null(
        pool_take(engine_pool(w.e), STR("a"), STR("main"), STR("pod-a"), (struct str){0}));
    engine_workload_del(w.e, STR("a"));
    run(&w);
    assert_false(holds(&w, "c"));
    pool_pod_gone(engine_pool(w.e), STR("pod-a"));
    run(&w);
    assert_true(holds(&w, "c"));
    submit_as(&w, "g", "q", 0, 4, 1, "nvidia.com/gpu", 1, &ANY);
    run(&w);
    assert_string_equal(w.text,
                        "quota is available, but no node has 1 whole GPU free: at most 0 on "
                        "one node (pod set main)");
    node(&w, "n2", 1, true); /* a new node is tried at once */
    run(&w);
    assert_true(holds(&w, "g"));
    engine_free(w.e);
}

/* A queue that is stopped lends all the same, and admits its own once it goes on. */
static void stopped_and_back(void **state) {
    struct world w;
    struct str cpu = STR("cpu");
    struct quota_input none = {0, NO, NO}, four = {4000, NO, NO};
    struct group_flavor_input gf = {STR("f"), &four};
    struct group_input g = {&cpu, 1, &gf, 1};
    struct queue_input in = {.name = STR("rich"), .cohort = STR("co"), .groups = &g, .n_groups = 1};
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "poor", "co", false, (struct fq[]){{"f", none}}, 1, FUNGIBILITY_STOP);
    in.held = true;
    assert_int_equal(engine_queue_put(w.e, &in), 0);
    submit(&w, "a", "poor", 0, 1, 3000);
    submit(&w, "b", "rich", 0, 2, 1000);
    run(&w);
    assert_true(holds(&w, "a"));
    assert_false(holds(&w, "b"));
    in.held = false;
    assert_int_equal(engine_queue_put(w.e, &in), 0);
    run(&w);
    assert_true(holds(&w, "b"));
    engine_free(w.e);
}

/* A flavor without a place is followed by the next; a place in the first one is not forgotten meanwhile. */
static void places_of_flavors(void **state) {
    struct world w;
    struct str cpu = STR("cpu");
    struct str_pair a = {STR("pool"), STR("a")}, b = {STR("pool"), STR("b")};
    struct quota_input q = {4000, NO, NO};
    setup(&w);
    flavor(&w, "f1", (struct flavor_input){.labels = {&a, 1}});
    flavor(&w, "f2", (struct flavor_input){.labels = {&b, 1}});
    struct group_flavor_input gf[] = {{STR("f1"), &q}, {STR("f2"), &q}};
    struct group_input g = {&cpu, 1, gf, 2};
    struct queue_input in = {.name = STR("q"), .groups = &g, .n_groups = 1};
    assert_int_equal(engine_queue_put(w.e, &in), 0);
    struct node_amount amount = {cpu, 4000};
    struct node_input n = {.name = STR("n1"),
                           .managed = true,
                           .ready = true,
                           .amounts = &amount,
                           .n_amounts = 1,
                           .labels = {&b, 1}};
    assert_int_equal(pool_node_put(engine_pool(w.e), &n, NULL), 0);
    submit(&w, "first", "q", 0, 1, 3000); /* f1 has quota and no node: f2 */
    run(&w);
    assert_true(holds(&w, "first"));
    submit(&w, "second", "q", 0, 2, 3000); /* f1 no node, f2 no quota: for a place */
    run(&w);
    assert_int_equal(w.pended, 1);
    assert_string_equal(w.reason, "WaitingForPlacement");
    n.name = STR("n2");
    n.labels = (struct str_map){&a, 1};
    assert_int_equal(pool_node_put(engine_pool(w.e), &n, NULL), 0);
    run(&w);
    assert_true(holds(&w, "second"));
    engine_free(w.e);
}

/* Some cpu and slices without end, in a queue whose lower priorities go. */
static void cpu_and_slices(struct world *w, const char *name, int64_t cpu) {
    struct str resources[] = {STR("cpu"), STR("nvidia.com/mig-1g.18gb"),
                              STR("nvidia.com/mig-4g.71gb")};
    struct quota_input q[] = {{cpu, NO, NO}, {100, NO, NO}, {100, NO, NO}};
    struct group_flavor_input f = {STR("f"), q};
    struct group_input g = {resources, 3, &f, 1};
    struct queue_input in = {.name = str_of(name),
                             .groups = &g,
                             .n_groups = 1,
                             .within_queue = PREEMPT_LOWER,
                             .when_can_preempt = FUNGIBILITY_NEXT,
                             .weight = 1};
    flavor(w, "f", (struct flavor_input){0});
    assert_int_equal(engine_queue_put(w->e, &in), 0);
}

static void slice(struct world *w, const char *uid, const char *q, int64_t priority, int64_t at,
                  const char *resource) {
    struct node_amount a[] = {{STR("cpu"), 1000}, {str_of(resource), 1}};
    struct set_input s = {STR("main"), 1, 0, &ANY, a, 2};
    struct workload_input in = {str_of(uid), str_of(q), priority, at, &s, 1};
    assert_int_equal(engine_workload_put(w->e, &in), 0);
    w->now = at;
    run(w);
}

/* Who would have no place afterwards evicts nobody: else the victim came back, and was evicted again, for ever. */
static void no_eviction_without_a_place(void **state) {
    struct world w;
    setup(&w);
    node(&w, "n1", 1, true);
    cpu_and_slices(&w, "other", 1000);
    cpu_and_slices(&w, "q", 1000);
    slice(&w, "hold", "other", 0, 1, "nvidia.com/mig-4g.71gb");
    slice(&w, "low", "q", 0, 2, "nvidia.com/mig-1g.18gb");
    slice(&w, "high", "q", 9, 3, "nvidia.com/mig-4g.71gb");
    assert_int_equal(w.evicted, 0);
    assert_string_equal(w.reason, "WaitingForPlacement");
    assert_string_equal(w.text, "the preemption of 1 workload(s) would not help: then no GPU has "
                                "room for 4g.71gb: 1 GPU in service on 1 node, at most 4 memory "
                                "slices free on one GPU (pod set main)");
    gone(&w, "hold"); /* now it would have one */
    run(&w);
    assert_string_equal(w.story, "-low<high ");
    gone(&w, "low");
    run(&w);
    assert_true(holds(&w, "high"));
    engine_free(w.e);
}

/* The first candidate would leave quota, and no place; the second leaves both, and the first is spared. */
static void victims_that_leave_a_place(void **state) {
    struct world w;
    setup(&w);
    node(&w, "n1", 1, true);
    cpu_and_slices(&w, "q", 2000);
    slice(&w, "large", "q", 0, 1, "nvidia.com/mig-4g.71gb");
    slice(&w, "small", "q", 0, 2, "nvidia.com/mig-1g.18gb");
    slice(&w, "high", "q", 9, 3, "nvidia.com/mig-4g.71gb");
    assert_string_equal(w.story, "-large<high ");
    assert_string_equal(w.reason, "WaitingForPreemptedWorkloads");
    engine_free(w.e);
}

static void nodes_out_of_service(void **state) {
    struct world w;
    setup(&w);
    mig_queue(&w, 100);
    node(&w, "n1", 2, false);
    submit_as(&w, "a", "q", 0, 1, 1, "nvidia.com/mig-3g.71gb", 1, &ANY);
    run(&w);
    assert_string_equal(w.text, "quota is available, but no matching node is ready (pod set main)");
    node(&w, "n1", 2, true);
    run(&w);
    assert_true(holds(&w, "a"));
    engine_free(w.e);
}

/* One that joins others without a place takes nobody's turn: they are looked at again, and whoever comes after them. */
static void one_more_without_a_place(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "q", "", false, (struct fq[]){{"f", {64000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    node(&w, "n1", 0, true);
    submit(&w, "large", "q", 0, 1, 20000);
    run(&w);
    assert_string_equal(w.reason, "WaitingForPlacement");
    submit(&w, "alike", "q", 0, 2, 20000);
    run(&w);
    assert_int_equal(w.pended, 2); /* both were looked at, and told */
    assert_int_equal(counts(&w, "q").parked, 2);
    submit(&w, "small", "q", 0, 3, 1000);
    run(&w);
    assert_true(holds(&w, "small"));
    engine_free(w.e);
}

/* One that may start with fewer pods starts with as many as have a place, once nobody can be evicted for more. */
static void fewer_where_there_is_no_place(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    struct fq fq = {"f", {64000, NO, NO}};
    queue_as(&w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER}, &fq, 1);
    queue(&w, "none", "", false, &fq, 1, FUNGIBILITY_STOP);
    node(&w, "n1", 0, true);
    put_as(&w, (struct workload_input){.uid = STR("a"), .queue = STR("q"), .queued_ns = 1}, 40, 3,
           1000);
    run(&w);
    assert_true(holds(&w, "a"));
    assert_int_equal(w.count, 16); /* quota for 40, places for 16 */
    put_as(&w, (struct workload_input){.uid = STR("b"), .queue = STR("none"), .queued_ns = 2}, 8, 3,
           1000);
    run(&w);
    assert_string_equal(w.reason, "WaitingForPlacement");
    node_with(&w, "n2", 0, true, 2000);
    run(&w);
    assert_false(holds(&w, "b")); /* not with fewer than its least */
    node_with(&w, "n3", 0, true, 5500);
    run(&w);
    assert_true(holds(&w, "b"));
    assert_int_equal(w.count, 7);
    put_as(&w, (struct workload_input){STR("c"), STR("q"), 1, 3}, 2, 1, 1000);
    run(&w);
    assert_int_equal(w.evicted, 1); /* all of it, where somebody may go for it */
    assert_int_equal(pool_seats(engine_pool(w.e)), 23);
    engine_free(w.e);
}

/* The same where another flavor comes after the one with places, and has no quota. */
static void fewer_in_a_flavor_before(void **state) {
    static const enum preempt_policy policies[] = {PREEMPT_NEVER, PREEMPT_LOWER};
    for (size_t i = 0; i < 2; i++) {
        for (int64_t other = 0; other <= 4000; other += 4000) { /* none ever, or none left */
            struct world w;
            setup(&w);
            flavor(&w, "f1", (struct flavor_input){0});
            flavor(&w, "f2", (struct flavor_input){0});
            struct fq fq[] = {{"f1", {64000, NO, NO}}, {"f2", {other, NO, NO}}};
            queue_as(&w,
                     (struct queue_input){.name = STR("q"),
                                          .within_queue = policies[i],
                                          .when_can_preempt = FUNGIBILITY_NEXT},
                     fq, 2);
            node(&w, "n1", 0, true);
            put_as(&w, (struct workload_input){.uid = STR("a"), .queue = STR("q"), .queued_ns = 1},
                   40, 5, 1000);
            run(&w);
            assert_true(holds(&w, "a"));
            assert_int_equal(w.count, 16);
            engine_free(w.e);
        }
    }
}

/* Random queues, nodes and workloads that come and go, with random budgets: invariants hold after
 * every step, nothing is
 * admitted twice, and when all is quiet a parked workload that would fit does not exist. */
static void random_runs(void **state) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world w;
        struct prng r;
        bool alive[40] = {false};
        prng_seed(&r, seed);
        setup(&w);
        flavor(&w, "f1", (struct flavor_input){0});
        flavor(&w, "f2", (struct flavor_input){0});
        const char *queues[] = {"q0", "q1", "q2"};
        bool any_strict = false;
        for (int i = 0; i < 3; i++) {
            bool strict = prng_below(&r, 3) == 0;
            struct fq fq[] = {{"f1", {(int64_t)prng_below(&r, 6) * 1000, NO, NO}},
                              {"f2", {(int64_t)prng_below(&r, 6) * 1000, NO, NO}}};
            queue(&w, queues[i], prng_below(&r, 2) ? "co" : "", strict, fq, 2,
                  prng_below(&r, 2) ? FUNGIBILITY_NEXT : FUNGIBILITY_STOP);
            any_strict = any_strict || strict; /* its head may keep quota from others for ever */
        }
        bool alike = seed % 4 == 0; /* few kinds, and too little of a node for them */
        if (seed % 2 == 0) {
            node_with(&w, "n1", 0, true, alike ? 5000 : 16000);
        }
        for (int step = 0; step < 150; step++) {
            char uid[8];
            uint64_t i = prng_below(&r, 40);
            snprintf(uid, sizeof(uid), "w%u", (unsigned)i % 100);
            if (alive[i]) {
                engine_workload_del(w.e, str_of(uid));
                pool_pod_gone(engine_pool(w.e), str_of(uid));
            } else {
                submit_as(&w, uid, queues[prng_below(&r, 3)], (int64_t)prng_below(&r, 3), step,
                          1 + (int32_t)prng_below(&r, 2), "cpu",
                          alike ? 1000 + 1000 * (int64_t)prng_below(&r, 2)
                                : 1 + (int64_t)prng_below(&r, 3000),
                          &ANY);
            }
            alive[i] = !alive[i];
            run_by(&w, 1 + prng_below(&r, 7));
            for (int k = 0; k < 3; k++) {
                struct engine_counts n = counts(&w, queues[k]);
                assert_true(any_strict || n.pending == n.parked); /* all were looked at */
            }
        }
        /* quiet: an edit that changes nothing makes everybody try again, and nobody gets in */
        flavor(&w, "f1", (struct flavor_input){0});
        run(&w);
        assert_int_equal(w.admitted, 0);
        for (int i = 0; i < 40; i++) {
            char uid[8];
            snprintf(uid, sizeof(uid), "w%u", (unsigned)i % 100);
            engine_workload_del(w.e, str_of(uid));
        }
        run(&w);
        assert_int_equal(pool_seats(engine_pool(w.e)), 0);
        engine_free(w.e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_and_goes),
        cmocka_unit_test(strict_blocks),
        cmocka_unit_test(borrowing_and_order),
        cmocka_unit_test(flavors_in_order),
        cmocka_unit_test(held_and_undone),
        cmocka_unit_test(slices),
        cmocka_unit_test(no_eviction_without_a_place),
        cmocka_unit_test(victims_that_leave_a_place),
        cmocka_unit_test(nodes_out_of_service),
        cmocka_unit_test(places_of_flavors),
        cmocka_unit_test(one_more_without_a_place),
        cmocka_unit_test(fewer_where_there_is_no_place),
        cmocka_unit_test(fewer_in_a_flavor_before),
        cmocka_unit_test(stopped_and_back),
        cmocka_unit_test(random_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of places: what is chosen, what is never done, and that nothing is lost when memory is short. */
#include "core/place/pool.h"

#include "api/h200_fixture.h"
#include "base/prng.h"
#include "base/test.h"
#include "core/admit/engine.h"

static struct gpu_profile PROFILES[] = {
    H200_1G_18GB, H200_1G_18GB_ME, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB,
};
enum { N_PROFILES = sizeof(PROFILES) / sizeof(*PROFILES) };

static const struct shape ANY = {0};

struct machine {
    struct names names;
    struct pool *pool;
};

static void setup(struct machine *m) {
    names_init(&m->names);
    m->pool = pool_new(&m->names);
    assert_non_null(m->pool);
}

static void teardown(struct machine *m) {
    pool_free(m->pool);
    names_release(&m->names);
}

/* `busy` (may be empty): a pod that the inventory shows on slices 4 to 7 of GPU 0; "whole...": on all of the last. */
static int node_put(struct machine *m, const char *name, int gpus, const char *busy) {
    struct gpu_instance held = {9, 4, 4, STR("MIG-1"), str_of(busy)};
    struct gpu_card cards[8] = {0};
    char uuid[8][32];
    for (int i = 0; i < gpus; i++) {
        snprintf(uuid[i], sizeof(uuid[i]), "GPU-%s-%d", name, i);
        cards[i] = (struct gpu_card){.uuid = str_of(uuid[i]),
                                     .index = i,
                                     .slices = 8,
                                     .mig_enabled = i % 2 == 0,
                                     .mig_managed = true,
                                     .healthy = true,
                                     .profiles = PROFILES,
                                     .n_profiles = N_PROFILES};
    }
    if (str_starts(str_of(busy), STR("whole"))) {
        cards[gpus - 1].pod_uid = str_of(busy);
    } else if (*busy != '\0') {
        cards[0].instances = &held;
        cards[0].n_instances = 1;
    }
    struct inventory inv = {cards, (size_t)gpus, true};
    struct node_amount amounts[] = {{STR("cpu"), 8000}, {STR("memory"), 1 << 20}};
    struct node_input in = {.name = str_of(name),
                            .managed = true,
                            .ready = true,
                            .amounts = amounts,
                            .n_amounts = 2,
                            .inventory = &inv};
    return pool_node_put(m->pool, &in, NULL);
}

static int plan(struct machine *m, const char *workload, const char *resource, int64_t each,
                int pods, bool *placed, struct place_why *why) {
    struct pool_amount v[2] = {{0, each}, {0, 500}};
    struct place_input in[8];
    int r = names_intern(&m->names, str_of(resource), &v[0].resource);
    r = r == 0 ? names_intern(&m->names, STR("cpu"), &v[1].resource) : r;
    for (int i = 0; i < pods; i++) {
        in[i] = (struct place_input){
            .set = STR("main"), .ordinal = i, .shape = &ANY, .amounts = v, .n_amounts = 2};
    }
    return r == 0 ? pool_plan(m->pool, str_of(workload), (struct str){0}, in, (size_t)pods, placed,
                              why)
                  : r;
}

static struct seat *planned(struct machine *m, const char *workload, const char *resource,
                            int64_t each) {
    bool placed = false;
    struct place_why why;
    assert_int_equal(plan(m, workload, resource, each, 1, &placed, &why), 0);
    return placed ? pool_workload_first(m->pool, str_of(workload)) : NULL;
}

static void packs(void **state) {
    struct machine m;
    setup(&m);
    assert_int_equal(node_put(&m, "n2", 2, ""), 0);
    assert_int_equal(node_put(&m, "n1", 2, ""), 0);
    /* a whole GPU goes where no MIG mode has to change; the first node by name */
    struct seat *s = planned(&m, "whole", "nvidia.com/gpu", 1);
    assert_str_eq(s->node, STR("n1"));
    assert_int_equal(s->devices[0].gpu_index, 1);
    assert_int_equal(s->devices[0].profile_id, -1);
    /* slices share a GPU that is in MIG mode already */
    struct seat *a = planned(&m, "a", "nvidia.com/mig-2g.35gb", 1);
    struct seat *b = planned(&m, "b", "nvidia.com/mig-2g.35gb", 1);
    assert_str_eq(a->devices[0].gpu, b->devices[0].gpu);
    assert_int_equal(a->devices[0].gpu_index, 0);
    /* one pod's devices are on one node */
    s = planned(&m, "pair", "nvidia.com/gpu", 2);
    assert_int_equal(s->n_devices, 2);
    assert_str_eq(s->node, STR("n2"));
    assert_null(planned(&m, "more", "nvidia.com/gpu", 1));
    assert_true(pool_consistent(m.pool));
    teardown(&m);
}

static struct place_why why_not(struct machine *m, const char *resource, int64_t each) {
    struct place_why why = {0};
    bool placed = true;
    assert_int_equal(plan(m, "more", resource, each, 1, &placed, &why), 0);
    assert_false(placed);
    return why;
}

/* Who has no place is told the most that one node, or one GPU, has. */
static void says_what_is_left(void **state) {
    struct machine m;
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 4, ""), 0);
    assert_int_equal(node_put(&m, "n2", 3, ""), 0);
    struct place_why why = why_not(&m, "nvidia.com/gpu", 5);
    assert_int_equal(why.trouble, PLACE_NO_GPU);
    assert_int_equal(why.most, 4);
    assert_int_equal(why.gpus, 7);
    assert_non_null(planned(&m, "four", "nvidia.com/gpu", 4));
    assert_int_equal(why_not(&m, "nvidia.com/gpu", 4).most, 3);
    assert_non_null(planned(&m, "two", "nvidia.com/gpu", 2));
    assert_non_null(planned(&m, "half", "nvidia.com/mig-3g.71gb", 1));
    why = why_not(&m, "nvidia.com/gpu", 1);
    assert_int_equal(why.trouble, PLACE_NO_GPU);
    assert_int_equal(why.most, 0);
    why = why_not(&m, "nvidia.com/mig-7g.141gb", 1);
    assert_int_equal(why.trouble, PLACE_NO_SLICE);
    assert_int_equal(why.most, 4);
    teardown(&m);
}

/* A node is for whom its labels and taints let in: by the pod itself, or by its flavor. */
static void whose_nodes(void **state) {
    struct machine m;
    struct str_pair label = {STR("zone"), STR("a")}, other = {STR("zone"), STR("b")};
    struct taint taint = {.key = STR("gpu"), .value = STR("yes"), .effect = STR("NoSchedule")};
    struct toleration may = {.key = STR("gpu"), .operator= STR("Exists")};
    struct node_amount cpu = {STR("cpu"), 8000};
    struct node_input node = {.name = STR("n1"),
                              .managed = true,
                              .ready = true,
                              .labels = {&label, 1},
                              .taints = {&taint, 1},
                              .amounts = &cpu,
                              .n_amounts = 1};
    struct flavor_input flavors[] = {{.labels = {&label, 1}, .tolerations = {&may, 1}},
                                     {.labels = {&other, 1}, .tolerations = {&may, 1}}};
    struct {
        struct shape shape;
        const struct flavor_input *flavor;
        bool fits;
    } cases[] = {
        {.fits = false},
        {.shape = {.tolerations = {&may, 1}}, .fits = true},
        {.flavor = &flavors[0], .fits = true},
        {.flavor = &flavors[1], .fits = false},
        {.shape = {.selector = {&label, 1}, .tolerations = {&may, 1}}, .fits = true},
        {.shape = {.selector = {&other, 1}, .tolerations = {&may, 1}}, .fits = false},
    };
    setup(&m);
    assert_int_equal(pool_node_put(m.pool, &node, NULL), 0);
    struct pool_amount v = {0, 500};
    assert_int_equal(names_intern(&m.names, STR("cpu"), &v.resource), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place_input in = {.set = STR("main"),
                                 .shape = &cases[i].shape,
                                 .amounts = &v,
                                 .n_amounts = 1,
                                 .flavors = &cases[i].flavor,
                                 .n_flavors = cases[i].flavor != NULL};
        struct place_why why;
        bool placed = !cases[i].fits;
        assert_int_equal(pool_plan(m.pool, STR("w"), (struct str){0}, &in, 1, &placed, &why), 0);
        assert_int_equal(placed, cases[i].fits);
        assert_true(placed || why.trouble == PLACE_NO_NODE);
        pool_workload_gone(m.pool, STR("w"));
    }
    teardown(&m);
}

/* A pod that could also go to a node where others place is not ours to place. */
static void whose_pods(void **state) {
    struct machine m;
    struct str_pair ours = {STR("zone"), STR("a")}, theirs = {STR("zone"), STR("b")};
    struct shape here = {.selector = {&ours, 1}}, there = {.selector = {&theirs, 1}};
    struct place_input in = {.set = STR("main"), .shape = &ANY};
    struct node_input node = {
        .name = STR("n1"), .managed = true, .ready = true, .labels = {&ours, 1}};
    setup(&m);
    assert_false(pool_is_ours(m.pool, &in));
    assert_int_equal(pool_node_put(m.pool, &node, NULL), 0);
    assert_true(pool_is_ours(m.pool, &in));
    node = (struct node_input){.name = STR("n2"), .ready = true, .labels = {&theirs, 1}};
    assert_int_equal(pool_node_put(m.pool, &node, NULL), 0);
    assert_false(pool_is_ours(m.pool, &in));
    in.shape = &here;
    assert_true(pool_is_ours(m.pool, &in));
    in.shape = &there;
    assert_false(pool_is_ours(m.pool, &in));
    teardown(&m);
}

enum { TOGETHER = 30 };

/* Pods of three sets: slices first, which is the order of a plan, then two sizes of those without devices. */
static void together_inputs(struct machine *m, struct prng *rng, struct pool_amount v[3][2],
                            struct place_input *in) {
    uint32_t slice, cpu;
    assert_int_equal(names_intern(&m->names, STR("nvidia.com/mig-1g.18gb"), &slice), 0);
    assert_int_equal(names_intern(&m->names, STR("cpu"), &cpu), 0);
    for (int k = 0; k < 3; k++) {
        v[k][0] = (struct pool_amount){cpu, 300 + (int64_t)prng_below(rng, 1000)};
        v[k][1] = (struct pool_amount){slice, k == 0};
    }
    for (int i = 0; i < TOGETHER; i++) {
        int k = i / (TOGETHER / 3);
        in[i] = (struct place_input){
            .set = STR("main"), .ordinal = i, .shape = &ANY, .amounts = v[k], .n_amounts = 2};
    }
}

/* All pods of a workload at once go where they would go one after the other. */
static void together(void **state) {
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct machine m[2];
        struct place_why why;
        for (int k = 0; k < 2; k++) {
            struct prng rng;
            struct pool_amount v[3][2];
            struct place_input in[TOGETHER];
            char name[8];
            bool placed = true;
            setup(&m[k]);
            prng_seed(&rng, seed);
            for (int i = 0; i < 6; i++) {
                snprintf(name, sizeof(name), "n%d", i);
                assert_int_equal(node_put(&m[k], name, (int)prng_below(&rng, 3), ""), 0);
            }
            together_inputs(&m[k], &rng, v, in); /* some room is taken first */
            for (int i = 0; i < TOGETHER && i < (int)(seed % 9); i++) {
                char pod[8];
                snprintf(pod, sizeof(pod), "p%d", i);
                assert_int_equal(
                    pool_plan_loose(m[k].pool, STR("x"), str_of(pod), &in[i * 3], &placed, &why),
                    0);
            }
            together_inputs(&m[k], &rng, v, in);
            bool all = false;
            if (k == 0) {
                assert_int_equal(
                    pool_plan(m[k].pool, STR("w"), (struct str){0}, in, TOGETHER, &all, &why), 0);
            }
            for (int i = 0; i < TOGETHER && placed && k == 1; i++) {
                assert_int_equal(
                    pool_plan(m[k].pool, STR("w"), (struct str){0}, &in[i], 1, &placed, &why), 0);
            }
            assert_true(k == 1 || all || pool_workload_first(m[0].pool, STR("w")) == NULL);
        }
        const struct seat *a = pool_workload_first(m[0].pool, STR("w"));
        const struct seat *b = a != NULL ? pool_workload_first(m[1].pool, STR("w")) : NULL;
        for (; a != NULL && b != NULL; a = a->group_next, b = b->group_next) {
            assert_int_equal(a->ordinal, b->ordinal);
            assert_str_eq(a->node, b->node);
            assert_true(a->n_devices == 0 || a->devices[0].start == b->devices[0].start);
        }
        assert_null(a);
        assert_null(b);
        teardown(&m[0]);
        teardown(&m[1]);
    }
}

static void the_node_has_the_last_word(void **state) {
    struct machine m;
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 1, "somebody"), 0);
    struct seat *s = planned(&m, "a", "nvidia.com/mig-3g.71gb", 1);
    assert_int_equal(s->devices[0].start, 0);
    assert_null(planned(&m, "b", "nvidia.com/mig-3g.71gb", 1));
    assert_int_equal(node_put(&m, "n1", 1, ""), 0); /* it is gone; the seat stands */
    assert_int_equal(planned(&m, "b", "nvidia.com/mig-3g.71gb", 1)->devices[0].start, 4);
    assert_null(planned(&m, "c", "nvidia.com/mig-1g.18gb", 1));
    teardown(&m);
}

static void media_once(void **state) {
    struct machine m;
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 1, ""), 0);
    assert_non_null(planned(&m, "a", "nvidia.com/mig-1g.18gb.me", 1));
    assert_null(planned(&m, "b", "nvidia.com/mig-1g.18gb.me", 1));
    assert_non_null(planned(&m, "c", "nvidia.com/mig-1g.18gb", 1));
    teardown(&m);
}

static void seats_written_down(void **state) {
    struct machine m;
    struct seat *made;
    setup(&m);
    /* seats come before the node is known, and the pod before its seat is asked for */
    struct seat_device d = {
        .gpu = STR("GPU-n1-0"), .profile_id = 14, .start = 2, .size = 2, .profile = STR("2g.35gb")};
    struct seat as = {
        .workload = STR("w"), .set = STR("main"), .node = STR("n1"), .devices = &d, .n_devices = 1};
    assert_int_equal(pool_seat_restore(m.pool, &as, &made), 0);
    as.pod = STR("p");
    assert_int_equal(pool_seat_restore(m.pool, &as, &made), 0);
    assert_int_equal(pool_seats(m.pool), 1); /* the pod sits in the seat of its workload */
    assert_int_equal(node_put(&m, "n1", 1, ""), 0);
    assert_true(pool_seat_usable(m.pool, made));
    assert_null(pool_take(m.pool, STR("w"), STR("main"), STR("q"), (struct str){0}));
    assert_null(planned(&m, "seven", "nvidia.com/mig-7g.141gb", 1));
    pool_workload_gone(m.pool, STR("w"));
    assert_null(planned(&m, "seven", "nvidia.com/mig-7g.141gb", 1)); /* the pod is there still */
    pool_pod_gone(m.pool, STR("p"));
    assert_non_null(planned(&m, "seven", "nvidia.com/mig-7g.141gb", 1));
    teardown(&m);
}

static const char *const WANTED[] = {"nvidia.com/mig-1g.18gb", "nvidia.com/mig-2g.35gb",
                                     "nvidia.com/mig-3g.71gb", "nvidia.com/mig-7g.141gb",
                                     "nvidia.com/gpu",         "memory"};

/* Comings and goings at random: nothing is held twice, a failed plan leaves no trace, the end is as the start. */
static void random_plans(void **state) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct machine m;
        struct prng r;
        bool alive[24] = {false};
        prng_seed(&r, seed);
        setup(&m);
        assert_int_equal(node_put(&m, "n1", 2, ""), 0);
        assert_int_equal(node_put(&m, "n2", 1, ""), 0);
        uint64_t empty = pool_digest(m.pool);
        for (int step = 0; step < 300; step++) {
            char name[8];
            uint64_t i = prng_below(&r, 24);
            snprintf(name, sizeof(name), "w%u", (unsigned)i % 100);
            uint64_t before = pool_digest(m.pool);
            bool placed = false;
            struct place_why why = {0};
            if (alive[i]) {
                pool_workload_gone(m.pool, str_of(name));
                alive[i] = false;
                continue;
            }
            assert_int_equal(plan(&m, name, WANTED[prng_below(&r, 6)],
                                  1 + (int64_t)prng_below(&r, 3), 1 + (int)prng_below(&r, 4),
                                  &placed, &why),
                             0);
            alive[i] = placed;
            assert_true(placed || before == pool_digest(m.pool));
            assert_true(placed || why.trouble != PLACE_OK);
            assert_true(pool_consistent(m.pool));
            if (prng_below(&r, 20) == 0) { /* the node reports again: nothing moves */
                uint64_t now = pool_digest(m.pool);
                assert_int_equal(node_put(&m, "n1", 2, prng_below(&r, 2) ? "x" : ""), 0);
                assert_true(now == pool_digest(m.pool));
                assert_int_equal(node_put(&m, "n1", 2, ""), 0);
            }
        }
        for (unsigned i = 0; i < 24; i++) {
            char name[8];
            snprintf(name, sizeof(name), "w%u", i % 100);
            pool_workload_gone(m.pool, str_of(name));
        }
        assert_int_equal(pool_seats(m.pool), 0);
        assert_true(pool_digest(m.pool) == empty);
        teardown(&m);
    }
}

/* A small life of an engine; any step may fail for want of memory, and is then done again. */
static int life(struct engine *e) {
    const struct engine_action *a;
    bool more = true;
    size_t n;
    struct flavor_input f = {.name = STR("f")};
    struct str resource = STR("cpu");
    struct quota_input q = {2000, AMOUNT_NONE, AMOUNT_NONE};
    struct group_flavor_input gf = {STR("f"), &q};
    struct group_input g = {&resource, 1, &gf, 1};
    struct queue_input in = {.name = STR("q"), .cohort = STR("co"), .groups = &g, .n_groups = 1};
    int r = engine_flavor_put(e, &f);
    r = r == 0 ? engine_queue_put(e, &in) : r;
    const char *const uids[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4 && r == 0; i++) {
        struct node_amount amount = {resource, 1000};
        struct set_input s = {STR("main"), 1, 0, &ANY, &amount, 1};
        struct workload_input w = {.uid = str_of(uids[i]),
                                   .queue = STR("q"),
                                   .queued_ns = (int64_t)i,
                                   .sets = &s,
                                   .n_sets = 1};
        r = engine_workload_put(e, &w);
    }
    while (r == 0 && more) {
        r = engine_run(e, 0, 100, &a, &n, &more, NULL);
    }
    return r;
}

static void short_of_memory(void **state) {
    bool hit = true;
    for (uint64_t nth = 1; hit; nth++) {
        struct engine_options o = {.check_undo = true};
        struct engine *e = engine_new(&o);
        assert_non_null(e);
        mem_fault(nth, 0);
        int r = life(e);
        hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(r == 0 || r == ERR_NOMEM);
        r = life(e);
        assert_int_equal(r, 0);
        struct engine_counts n;
        assert_true(engine_queue_counts(e, STR("q"), &n));
        assert_int_equal(n.holding, 2);
        assert_int_equal(n.pending, 2);
        assert_true(engine_consistent(e));
        engine_free(e);
    }
}

static void plans_short_of_memory(void **state) {
    bool hit = true;
    for (uint64_t nth = 1; hit; nth++) {
        struct machine m;
        setup(&m);
        mem_fault(nth, 0);
        int r = node_put(&m, "n1", 2, "");
        bool placed = false;
        struct place_why why;
        uint64_t before = pool_digest(m.pool);
        int p = r == 0 ? plan(&m, "w", "nvidia.com/mig-2g.35gb", 1, 3, &placed, &why) : r;
        hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(p == 0 || p == ERR_NOMEM);
        assert_true(p == 0 || pool_digest(m.pool) == before);
        assert_int_equal(node_put(&m, "n1", 2, ""), 0);
        if (p != 0) {
            assert_int_equal(plan(&m, "w", "nvidia.com/mig-2g.35gb", 1, 3, &placed, &why), 0);
        }
        assert_true(placed);
        assert_true(pool_consistent(m.pool));
        teardown(&m);
    }
}

/* A place that somebody holds, asked about as if he had gone: with what the inventory shows of him. */
static void set_aside(void **state) {
    struct machine m;
    struct place_why why;
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 1, ""), 0);
    struct seat *s = planned(&m, "holder", "nvidia.com/mig-3g.71gb", 1);
    assert_int_equal(s->devices[0].start, 4);
    assert_int_equal(node_put(&m, "n1", 1, "pod-of-holder"), 0);
    assert_non_null(planned(&m, "other", "nvidia.com/mig-3g.71gb", 1));
    struct pool_amount v = {0, 1};
    assert_int_equal(names_intern(&m.names, STR("nvidia.com/mig-3g.71gb"), &v.resource), 0);
    struct place_input in = {.set = STR("main"), .shape = &ANY, .amounts = &v, .n_amounts = 1};
    s = pool_take(m.pool, STR("holder"), STR("main"), STR("pod-of-holder"), (struct str){0});
    assert_non_null(s);
    uint64_t before = pool_digest(m.pool);
    for (int round = 0; round < 2; round++) {
        bool placed = true;
        pool_trial_begin(m.pool, STR("me"));
        assert_int_equal(pool_trial_place(m.pool, &in, 1, &placed, &why), 0);
        assert_false(placed);
        assert_int_equal(why.trouble, PLACE_NO_SLICE);
        pool_trial_lift(m.pool, STR("holder"));
        assert_int_equal(pool_trial_place(m.pool, &in, 1, &placed, &why), 0);
        assert_true(placed);
        pool_trial_unlift(m.pool, STR("holder"));
        assert_int_equal(pool_trial_place(m.pool, &in, 1, &placed, &why), 0);
        assert_false(placed);
        assert_int_equal(why.trouble, PLACE_NO_SLICE);
        pool_trial_end(m.pool);
        assert_true(pool_digest(m.pool) == before);
    }
    pool_workload_gone(m.pool, STR("holder")); /* the node has the last word again */
    assert_null(planned(&m, "next", "nvidia.com/mig-3g.71gb", 1));
    assert_true(pool_consistent(m.pool));
    teardown(&m);
}

/* The same of a whole GPU; what the inventory shows of a stranger there stays in the way. */
static void set_aside_whole(void **state) {
    struct machine m;
    struct place_why why;
    struct pool_amount v = {0, 2};
    struct place_input in = {.set = STR("main"), .shape = &ANY, .amounts = &v, .n_amounts = 1};
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 2, ""), 0);
    assert_int_equal(names_intern(&m.names, STR("nvidia.com/gpu"), &v.resource), 0);
    assert_int_equal(planned(&m, "holder", "nvidia.com/gpu", 1)->devices[0].gpu_index, 1);
    assert_non_null(
        pool_take(m.pool, STR("holder"), STR("main"), STR("whole-pod"), (struct str){0}));
    for (int stranger = 0; stranger < 2; stranger++) {
        assert_int_equal(node_put(&m, "n1", 2, stranger ? "whole-other" : "whole-pod"), 0);
        uint64_t before = pool_digest(m.pool);
        for (int round = 0; round < 3; round++) { /* away, back, and away until the end */
            bool placed = round != 1, away = round != 1;
            if (round == 0) {
                pool_trial_begin(m.pool, STR("me"));
                assert_int_equal(pool_trial_place(m.pool, &in, 1, &placed, &why), 0);
                assert_false(placed);
            }
            (away ? pool_trial_lift : pool_trial_unlift)(m.pool, STR("holder"));
            assert_int_equal(pool_trial_place(m.pool, &in, 1, &placed, &why), 0);
            assert_int_equal(placed, away && !stranger);
        }
        pool_trial_end(m.pool);
        assert_true(pool_digest(m.pool) == before);
    }
    assert_null(planned(&m, "next", "nvidia.com/gpu", 2));
    teardown(&m);
}

/* ---- pins ---- */

static int plan_until(struct machine *m, const char *queue, const char *workload,
                      const char *resource, int64_t ends_ns, bool *ret_placed) {
    uint32_t id;
    struct place_why why;
    assert_int_equal(names_intern(&m->names, str_of(resource), &id), 0);
    struct pool_amount one = {id, 1};
    struct place_input in = {.set = STR("main"),
                             .queue = str_of(queue),
                             .shape = &ANY,
                             .amounts = &one,
                             .n_amounts = 1,
                             .ends_ns = ends_ns};
    return pool_plan(m->pool, str_of(workload), (struct str){0}, &in, 1, ret_placed, &why);
}

static int plan_for(struct machine *m, const char *queue, const char *workload,
                    const char *resource, bool *ret_placed) {
    return plan_until(m, queue, workload, resource, 0, ret_placed);
}

static const struct seat_device *device_of(struct machine *m, const char *workload) {
    struct seat *s = pool_workload_first(m->pool, str_of(workload));
    assert_non_null(s);
    return &s->devices[0];
}

#define PLANS(queue, workload, resource, want)                                                     \
    do {                                                                                           \
        bool placed_;                                                                              \
        assert_int_equal(plan_for(&m, queue, workload, resource, &placed_), 0);                    \
        assert_int_equal(placed_, want);                                                           \
    } while (0)

/* The owner gets exactly his place; others stay away while they can, and sit there when they must. */
static void pins(void **state) {
    struct machine m;
    struct pool_pin pin = {STR("n1"), STR("GPU-n1-0"), STR("nvidia.com/mig-2g.35gb"), 2, 2};
    setup(&m);
    assert_int_equal(pool_pins_set(m.pool, STR("rsv"), &pin, 1), 0);
    assert_int_equal(node_put(&m, "n1", 1, ""), 0); /* pins may come first */
    PLANS("other", "a", "nvidia.com/mig-2g.35gb", true);
    PLANS("other", "b", "nvidia.com/mig-2g.35gb", true);
    assert_true(device_of(&m, "a")->start != 2 && device_of(&m, "b")->start != 2);
    PLANS("rsv", "mine", "nvidia.com/mig-2g.35gb", true);
    assert_int_equal(device_of(&m, "mine")->start, 2);
    PLANS("rsv", "more", "nvidia.com/mig-2g.35gb", false); /* it has one place */
    pool_workload_gone(m.pool, STR("mine"));
    PLANS("other", "c", "nvidia.com/mig-2g.35gb", true); /* the last place there is */
    assert_int_equal(device_of(&m, "c")->start, 2);
    PLANS("rsv", "mine", "nvidia.com/mig-2g.35gb", false);
    pool_workload_gone(m.pool, STR("a"));
    PLANS("rsv", "mine", "nvidia.com/mig-2g.35gb", false); /* another place is none */
    pool_workload_gone(m.pool, STR("c"));
    assert_int_equal(node_put(&m, "n1", 1, "gone"), 0); /* the node is made anew */
    assert_int_equal(node_put(&m, "n1", 1, ""), 0);
    PLANS("rsv", "mine", "nvidia.com/mig-2g.35gb", true);
    assert_int_equal(device_of(&m, "mine")->start, 2);
    pool_workload_gone(m.pool, STR("mine"));
    pool_workload_gone(m.pool, STR("b"));
    assert_int_equal(pool_pins_set(m.pool, STR("rsv"), NULL, 0), 0);
    PLANS("rsv", "mine", "nvidia.com/mig-2g.35gb", true);
    assert_int_equal(device_of(&m, "mine")->start, 0); /* as without any */
    assert_true(pool_consistent(m.pool));
    teardown(&m);
}

/* Whole GPUs: another card is taken rather than a promised one, and rather than one with a promised slice. */
static void pinned_cards(void **state) {
    struct machine m;
    struct pool_pin card = {STR("n1"), STR("GPU-n1-0"), STR(POOL_GPU_RESOURCE), 0, 8};
    struct pool_pin slice = {STR("n1"), STR("GPU-n1-1"), STR("nvidia.com/mig-1g.18gb"), 6, 1};
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 3, ""), 0);
    assert_int_equal(pool_pins_set(m.pool, STR("r1"), &card, 1), 0);
    assert_int_equal(pool_pins_set(m.pool, STR("r2"), &slice, 1), 0);
    PLANS("", "a", POOL_GPU_RESOURCE, true);
    assert_true(str_is(device_of(&m, "a")->gpu, "GPU-n1-2"));
    PLANS("", "b", POOL_GPU_RESOURCE, true);
    assert_true(str_is(device_of(&m, "b")->gpu, "GPU-n1-1"));
    PLANS("r2", "mine", "nvidia.com/mig-1g.18gb", false);
    PLANS("r1", "whole", POOL_GPU_RESOURCE, true);
    assert_true(str_is(device_of(&m, "whole")->gpu, "GPU-n1-0"));
    PLANS("r1", "second", POOL_GPU_RESOURCE, false);
    pool_workload_gone(m.pool, STR("b"));
    PLANS("r1", "second", POOL_GPU_RESOURCE, false);      /* free, and not his */
    PLANS("r1", "small", "nvidia.com/mig-1g.18gb", true); /* of that he has no pin: anywhere */
    PLANS("r2", "mine", "nvidia.com/mig-1g.18gb", true);
    assert_int_equal(device_of(&m, "mine")->start, 6);
    for (uint64_t nth = 1;; nth++) { /* short of memory, what was promised stays */
        mem_fault(nth, 0);
        struct pool_pin two[2] = {card, slice};
        int r = pool_pins_set(m.pool, STR("r1"), two, 2);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        if (!hit) {
            assert_int_equal(r, 0);
            break;
        }
        assert_int_equal(r, ERR_NOMEM);
        PLANS("r1", "second", POOL_GPU_RESOURCE, false);
    }
    teardown(&m);
}

/* The GPU that a workload gets whose pod has ended by then. */
static struct str gpu_until(struct machine *m, const char *workload, int64_t ends_ns) {
    bool placed;
    assert_int_equal(plan_until(m, "other", workload, POOL_GPU_RESOURCE, ends_ns, &placed), 0);
    assert_true(placed);
    return device_of(m, workload)->gpu;
}

/* Who has ended before a booking begins takes its place as any other; who has not leaves it, while there is another. */
static void booked_later(void **state) {
    struct machine m;
    struct pool_pin first = {STR("n1"), STR("GPU-n1-1"), STR(POOL_GPU_RESOURCE), 0, 8, 200};
    struct pool_pin slice = {STR("n1"), STR("GPU-n1-0"), STR("nvidia.com/mig-1g.18gb"), 0, 1, 100};
    setup(&m); /* its second GPU is not in MIG mode, and is the first choice */
    assert_int_equal(node_put(&m, "n1", 3, ""), 0);
    assert_int_equal(pool_pins_set(m.pool, STR("late"), &first, 1), 0);
    assert_int_equal(pool_pins_set(m.pool, STR("soon"), &slice, 1), 0);
    assert_true(str_is(gpu_until(&m, "a", 100), "GPU-n1-1"));
    pool_workload_gone(m.pool, STR("a"));
    assert_true(str_is(gpu_until(&m, "a", 201), "GPU-n1-2"));
    assert_true(str_is(gpu_until(&m, "b", 101), "GPU-n1-1"));
    assert_true(str_is(gpu_until(&m, "c", 101), "GPU-n1-0")); /* the last one there is */
    pool_workload_gone(m.pool, STR("a"));
    pool_workload_gone(m.pool, STR("b"));
    pool_workload_gone(m.pool, STR("c"));
    slice.from_ns = 300; /* it was moved */
    assert_int_equal(pool_pins_set(m.pool, STR("soon"), &slice, 1), 0);
    assert_true(str_is(gpu_until(&m, "a", 201), "GPU-n1-0"));
    assert_int_equal(pool_pins(m.pool), 2);
    assert_int_equal(pool_pins_set(m.pool, STR("soon"), NULL, 0), 0);
    assert_int_equal(pool_pins_set(m.pool, STR("late"), NULL, 0), 0);
    assert_true(str_is(gpu_until(&m, "b", 1000), "GPU-n1-1"));
    assert_int_equal(pool_pins(m.pool), 0);
    teardown(&m);
}

/* A seat whose node is gone is planned anew for as much as it had, even if its pod asks for more by now. */
static void replaced_by_as_much(void **state) {
    struct machine m;
    struct pool_amount ask[2] = {{0, 2}, {0, 900}};
    struct place_input in = {.set = STR("main"), .shape = &ANY, .amounts = ask, .n_amounts = 2};
    struct place_why why = {0};
    bool placed = false;
    setup(&m);
    assert_int_equal(node_put(&m, "n1", 2, ""), 0);
    assert_int_equal(plan(&m, "w", "nvidia.com/gpu", 1, 2, &placed, &why), 0);
    assert_true(placed);
    assert_int_equal(names_intern(&m.names, STR("nvidia.com/gpu"), &ask[0].resource), 0);
    assert_int_equal(names_intern(&m.names, STR("cpu"), &ask[1].resource), 0);
    assert_non_null(pool_take(m.pool, STR("w"), STR("main"), STR("p0"), (struct str){0}));
    assert_non_null(pool_take(m.pool, STR("w"), STR("main"), STR("p1"), (struct str){0}));
    pool_pod_gone(m.pool, STR("p1"));
    assert_true(pool_node_del(m.pool, STR("n1")));
    assert_int_equal(node_put(&m, "n2", 4, ""), 0);
    assert_int_equal(pool_replace(m.pool, STR("w"), STR("p2"), &in, &placed, &why), 0);
    assert_true(placed);
    struct seat *s = pool_pod_seat(m.pool, STR("p2"));
    assert_str_eq(s->node, STR("n2"));
    assert_int_equal(s->n_devices, 1);
    assert_int_equal(s->amounts[0].v, 1);
    assert_int_equal(s->amounts[1].v, 500);
    assert_int_equal(s->ordinal, 1);
    /* p0 still has its own: there is nothing to replace any more */
    assert_int_equal(pool_replace(m.pool, STR("w"), STR("p3"), &in, &placed, &why), 0);
    assert_false(placed);
    assert_int_equal(why.trouble, PLACE_TAKEN);
    assert_non_null(planned(&m, "rest", "nvidia.com/gpu", 3));
    assert_true(pool_consistent(m.pool));
    teardown(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs),
        cmocka_unit_test(says_what_is_left),
        cmocka_unit_test(whose_nodes),
        cmocka_unit_test(whose_pods),
        cmocka_unit_test(together),
        cmocka_unit_test(the_node_has_the_last_word),
        cmocka_unit_test(media_once),
        cmocka_unit_test(seats_written_down),
        cmocka_unit_test(random_plans),
        cmocka_unit_test(set_aside),
        cmocka_unit_test(set_aside_whole),
        cmocka_unit_test(pins),
        cmocka_unit_test(booked_later),
        cmocka_unit_test(pinned_cards),
        cmocka_unit_test(replaced_by_as_much),
        cmocka_unit_test(short_of_memory),
        cmocka_unit_test(plans_short_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

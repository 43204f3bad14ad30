/* Tests of evictions for places: who goes, who stays, and that a place freed for one is not lost to another. */
#include "core/test/engine_fixture.h"

#include "api/h200_fixture.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/prng.h"

static struct gpu_profile PROFILES[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB};
enum { N_PROFILES = sizeof(PROFILES) / sizeof(*PROFILES) };
static const char *const SIZES[] = {"nvidia.com/mig-1g.18gb", "nvidia.com/mig-2g.35gb",
                                    "nvidia.com/mig-3g.71gb", "nvidia.com/mig-7g.141gb"};
#define ONE "nvidia.com/mig-1g.18gb"
#define SEVEN "nvidia.com/mig-7g.141gb"

/* A slice that the inventory shows; pod NULL: none. */
struct shown {
    const char *pod;
    int gpu, profile, start;
};

/* Two GPUs; bit i of healthy: GPU i is in service. */
static int node_put(struct engine *e, const char *name, unsigned healthy, struct shown live) {
    struct gpu_card cards[2] = {0};
    struct gpu_instance one = {.profile_id = PROFILES[live.profile].id,
                               .start = live.start,
                               .size = PROFILES[live.profile].size,
                               .uuid = STR("MIG-1"),
                               .pod_uid = str_of(live.pod != NULL ? live.pod : "")};
    char uuid[2][32];
    for (int i = 0; i < 2; i++) {
        snprintf(uuid[i], sizeof(uuid[i]), "GPU-%s-%d", name, i);
        cards[i] = (struct gpu_card){.uuid = str_of(uuid[i]),
                                     .index = i,
                                     .slices = 8,
                                     .mig_enabled = true,
                                     .mig_managed = true,
                                     .healthy = (healthy >> i & 1) != 0,
                                     .profiles = PROFILES,
                                     .n_profiles = N_PROFILES};
        if (live.pod != NULL && live.gpu == i) {
            cards[i].instances = &one;
            cards[i].n_instances = 1;
        }
    }
    struct inventory inv = {cards, 2, true};
    struct node_amount cpu = {STR("cpu"), 64000};
    struct str_pair pool = {STR("pool"), str_of(name)};
    struct node_input in = {.name = str_of(name),
                            .managed = true,
                            .ready = true,
                            .labels = {&pool, 1},
                            .amounts = &cpu,
                            .n_amounts = 1,
                            .inventory = &inv};
    return pool_node_put(engine_pool(e), &in, NULL);
}

static void node(struct world *w, const char *name, unsigned healthy) {
    assert_int_equal(node_put(w->e, name, healthy, (struct shown){0}), 0);
}

/* Slices of all sizes, `each` of them, in one flavor or two. */
static int slices_put(struct engine *e, struct queue_input in, int64_t each, size_t n_flavors) {
    struct str resources[N_PROFILES];
    struct quota_input q[N_PROFILES];
    struct group_flavor_input f[2] = {{STR("f"), q}, {STR("g"), q}};
    struct group_input g = {resources, N_PROFILES, f, n_flavors};
    for (int i = 0; i < N_PROFILES; i++) {
        resources[i] = str_of(SIZES[i]);
        q[i] = (struct quota_input){each, NO, NO};
    }
    in.groups = &g;
    in.n_groups = 1;
    in.weight = 1;
    in.when_can_preempt = FUNGIBILITY_NEXT;
    return engine_queue_put(e, &in);
}

static void slices(struct world *w, const char *name, const char *cohort, int64_t each,
                   enum preempt_policy within, enum preempt_policy reclaim) {
    struct queue_input in = {
        .name = str_of(name), .cohort = str_of(cohort), .within_queue = within, .reclaim = reclaim};
    assert_int_equal(slices_put(w->e, in, each, 1), 0);
}

static void begin(struct world *w) {
    setup(w);
    flavor(w, "f", (struct flavor_input){0});
    slices(w, "q", "", 100, PREEMPT_LOWER, PREEMPT_NEVER);
}

static void sized(struct world *w, const char *uid, const char *q, int64_t priority, int64_t at,
                  int32_t pods, const char *size) {
    submit_as(w, uid, q, priority, at, pods, size, 1, &ANY);
    w->now = at;
    run(w);
}

/* ---- how many places ---- */

/* A queue over cpu that is never full, and a node with as much. */
static void wide(struct world *w, bool managed) {
    struct fq f = {"f", {INT64_MAX, NO, NO}};
    struct node_amount cpu = {STR("cpu"), INT64_C(1) << 40};
    struct node_input n = {
        .name = STR("n1"), .managed = managed, .ready = true, .amounts = &cpu, .n_amounts = 1};
    setup(w);
    flavor(w, "f", (struct flavor_input){0});
    queue_as(w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER}, &f, 1);
    assert_int_equal(pool_node_put(engine_pool(w->e), &n, NULL), 0);
}

static int seats(struct world *w, const char *uid) {
    int n = 0;
    for (const struct seat *s = pool_workload_first(engine_pool(w->e), str_of(uid)); s != NULL;
         s = s->group_next) {
        n++;
    }
    return n;
}

static void as_many_as_can_be_written(void **state) {
    struct world w;
    wide(&w, true);
    submit_as(&w, "most", "q", 0, 1, LIMIT_WORKLOAD_PLAIN, "cpu", 1, &ANY);
    submit_as(&w, "more", "q", 0, 2, LIMIT_WORKLOAD_PLAIN + 1, "cpu", 1, &ANY);
    submit_as(&w, "next", "q", 0, 3, 1, "cpu", 1, &ANY);
    run(&w);
    assert_string_equal(w.story, "+most +next ");
    assert_string_equal(w.reason, "WaitingForPlacement");
    assert_string_equal(w.text,
                        "quota is available, but it has 20001 pods without devices, and one "
                        "workload may have at most 20000 on nodes of Berth: let it ask for fewer "
                        "at once, or make several of it (pod set main)");
    assert_int_equal(seats(&w, "most"), LIMIT_WORKLOAD_PLAIN);
    assert_int_equal(seats(&w, "more"), 0);
    struct node_amount a = {STR("cpu"), 1};
    struct set_input sets[] = {{STR("few"), 1, 0, &ANY, &a, 1},
                               {STR("many"), LIMIT_WORKLOAD_PLAIN, 0, &ANY, &a, 1}};
    struct workload_input in = {.uid = STR("sets"), .queue = STR("q"), .sets = sets, .n_sets = 2};
    assert_int_equal(engine_workload_put(w.e, &in), 0);
    run(&w);
    assert_string_equal(w.story, "");
    assert_non_null(strstr(w.text, "20001 pods"));
    assert_non_null(strstr(w.text, "(pod set many)"));
    engine_free(w.e);
}

/* Where pods get no places of ours, none are counted. */
static void as_many_as_others_place(void **state) {
    struct world w;
    wide(&w, false);
    submit_as(&w, "all", "q", 0, 1, LIMIT_WORKLOAD_PODS, "cpu", 1, &ANY);
    run(&w);
    assert_string_equal(w.story, "+all ");
    engine_free(w.e);
}

/* Devices count, and nobody goes for what can never be. */
static void devices_count(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    slices(&w, "q", "", LIMIT_WORKLOAD_PLACES, PREEMPT_LOWER, PREEMPT_NEVER);
    node(&w, "n1", 3);
    sized(&w, "low", "q", 0, 1, 14, ONE);
    assert_string_equal(w.story, "+low ");
    sized(&w, "high", "q", 9, 2, LIMIT_WORKLOAD_PLACES / 2 + 1, ONE);
    assert_string_equal(w.story, "");
    assert_non_null(strstr(w.text, "10002 places, and one workload may have at most 10000"));
    sized(&w, "full", "q", 9, 3, LIMIT_WORKLOAD_PLACES - 13, ONE); /* and its quota is not there */
    assert_string_equal(w.story, "");
    assert_string_equal(w.reason, "WaitingForPlacement");
    assert_string_equal(
        w.text, "the preemption of 1 workload(s) would not help: then its pods and "
                "their devices would take 19974 places, and one workload may have "
                "at most 10000: let it ask for fewer at once, or make several of it (pod set "
                "main)");
    assert_true(holds(&w, "low"));
    engine_free(w.e);
}

/* Interleaved in time, on both GPUs: only those of one GPU go, though the next in order is on the other. */
static void one_gpu_is_cleared(void **state) {
    struct world w;
    begin(&w);
    const char *const uids[] = {"l1", "m1", "l2", "m2"};
    for (int i = 0; i < 4; i++) {
        node(&w, "n1", i % 2 == 0 ? 1 : 2);
        sized(&w, uids[i], "q", 0, i + 1, 1, ONE);
        assert_true(holds(&w, uids[i]));
    }
    node(&w, "n1", 3);
    sized(&w, "high", "q", 9, 9, 1, SEVEN);
    assert_string_equal(w.story, "-m2<high -m1<high ");
    assert_string_equal(w.reason, "WaitingForPreemptedWorkloads");
    assert_string_equal(w.text, "quota is available, but no GPU has room for 7g.141gb: 2 GPUs in "
                                "service on 1 node, at most 6 memory slices free on one GPU (pod "
                                "set main). Pending the preemption of 2 workload(s)");
    gone(&w, "m1");
    run(&w);
    assert_string_equal(w.story, "");
    submit_as(&w, "m2", "q", 0, 4, 1, ONE, 1, &ANY);
    run(&w);
    assert_string_equal(w.story, "+high +m2 "); /* the latter beside those on the other GPU */
    assert_true(holds(&w, "l1") && holds(&w, "l2"));
    engine_free(w.e);
}

static void nobody_goes_for_nothing(void **state) {
    struct world w;
    begin(&w);
    node(&w, "n1", 1);
    sized(&w, "low", "q", 0, 1, 1, ONE);
    sized(&w, "peer", "q", 9, 2, 1, ONE);
    sized(&w, "high", "q", 9, 3, 1, SEVEN);
    assert_int_equal(w.evicted, 0);
    assert_string_equal(w.reason, "WaitingForPlacement");
    sized(&w, "gang", "q", 5, 4, 9, ONE); /* seven fit at most */
    assert_int_equal(w.evicted, 0);
    gone(&w, "peer");
    run(&w);
    assert_string_equal(w.story, "-low<high ");
    engine_free(w.e);
}

/* A place under protection is looked at again when that ends. */
static void a_place_when_protection_ends(void **state) {
    struct world w;
    struct node_amount one = {STR(ONE), 1};
    struct set_input s = {STR("main"), 1, 0, &ANY, &one, 1};
    struct workload_input in = {.uid = STR("low"),
                                .queue = STR("q"),
                                .queued_ns = 1,
                                .protected_until_ns = 100,
                                .sets = &s,
                                .n_sets = 1};
    begin(&w);
    node(&w, "n1", 1);
    assert_int_equal(engine_workload_put(w.e, &in), 0);
    run(&w);
    assert_string_equal(w.story, "+low ");
    sized(&w, "high", "q", 9, 2, 1, SEVEN);
    assert_string_equal(w.story, "");
    assert_string_equal(w.reason, "WaitingForPlacement");
    assert_int_equal(w.wake, 100);
    w.now = 100;
    run(&w);
    assert_string_equal(w.story, "-low<high ");
    engine_free(w.e);
}

/* Who stays where no policy lets it go. */
static void policies_hold(void **state) {
    for (int own = 0; own < 2; own++) { /* z: within its own, or borrowing */
        for (int reclaims = 0; reclaims < 2; reclaims++) {
            struct world w;
            setup(&w);
            flavor(&w, "f", (struct flavor_input){0});
            slices(&w, "q", "co", 4, PREEMPT_NEVER, reclaims ? PREEMPT_ANY : PREEMPT_NEVER);
            slices(&w, "z", "co", own ? 4 : 0, PREEMPT_NEVER, PREEMPT_NEVER);
            node(&w, "n1", 1);
            sized(&w, "z1", "z", 0, 1, 1, ONE);
            sized(&w, "q1", "q", 9, 2, 1, SEVEN);
            assert_string_equal(w.story, reclaims && !own ? "-z1<q1 " : "");
            engine_free(w.e);
        }
    }
}

/* While victims leave, nobody takes the place: not in the time between two of them, not from another queue, and not
 * while pods and slices are still there. */
static void the_place_is_kept(void **state) {
    for (int strict = 0; strict < 2; strict++) {
        struct world w;
        begin(&w);
        struct queue_input in = {.name = STR("q"), .strict = strict, .within_queue = PREEMPT_LOWER};
        assert_int_equal(slices_put(w.e, in, 100, 1), 0);
        slices(&w, "z", "", 100, PREEMPT_NEVER, PREEMPT_NEVER);
        node(&w, "n1", 1);
        sized(&w, "v1", "q", 0, 1, 1, ONE);
        sized(&w, "v2", "q", 0, 2, 1, ONE);
        struct seat *s =
            pool_take(engine_pool(w.e), STR("v1"), STR("main"), STR("p1"), (struct str){0});
        assert_non_null(s);
        struct shown p1 = {"p1", 0, 0, s->devices[0].start};
        assert_int_equal(node_put(w.e, "n1", 1, p1), 0);
        sized(&w, "high", "q", 9, 3, 1, SEVEN);
        assert_string_equal(w.story, "-v2<high -v1<high ");
        submit_as(&w, "v2", "q", 0, 2, 1, ONE, 1, &ANY); /* back already */
        sized(&w, "z1", "z", 0, 4, 1, ONE);
        assert_string_equal(w.story, "");
        submit_as(&w, "v1", "q", 0, 1, 1, ONE, 1, &ANY); /* its pod is not gone yet */
        run(&w);
        assert_string_equal(w.story, "");
        pool_pod_gone(engine_pool(w.e), STR("p1"));
        run(&w);
        assert_string_equal(w.story, ""); /* the node shows it still */
        assert_int_equal(node_put(w.e, "n1", 1, p1), 0);
        run(&w);
        assert_string_equal(w.story, "");
        node(&w, "n1", 1);
        run(&w);
        assert_string_equal(w.story, "+high ");
        gone(&w, "high");
        run(&w);
        assert_true(holds(&w, "z1") && holds(&w, "v1") && holds(&w, "v2"));
        engine_free(w.e);
    }
}

/* Who leaves the queue, or has its queue edited, keeps nothing. */
static void a_place_is_kept_no_longer(void **state) {
    for (int edit = 0; edit < 2; edit++) {
        struct world w;
        begin(&w);
        slices(&w, "z", "", 100, PREEMPT_NEVER, PREEMPT_NEVER);
        node(&w, "n1", 1);
        sized(&w, "v1", "q", 0, 1, 1, ONE);
        sized(&w, "high", "q", 9, 3, 1, SEVEN);
        sized(&w, "z1", "z", 0, 4, 1, ONE);
        assert_string_equal(w.story, "");
        if (edit) {
            engine_queue_del(w.e, STR("q"));
        } else {
            gone(&w, "high");
        }
        run(&w);
        assert_string_equal(w.story, "+z1 ");
        engine_free(w.e);
    }
}

/* Admitted before there was a node, it has no plan; its pods have places all the same, and give them back. */
static void without_a_plan(void **state) {
    struct world w;
    begin(&w);
    sized(&w, "low", "q", 0, 1, 2, ONE);
    assert_string_equal(w.story, "+low ");
    node(&w, "n1", 1);
    struct pool *p = engine_pool(w.e);
    struct pool_amount one = {names_find(engine_resources(w.e), STR(ONE)), 1};
    struct place_input in = {.set = STR("main"), .shape = &ANY, .amounts = &one, .n_amounts = 1};
    struct place_why why;
    bool placed;
    assert_int_equal(pool_plan_loose(p, STR("low"), STR("p1"), &in, &placed, &why), 0);
    assert_true(placed);
    assert_int_equal(pool_plan_loose(p, STR("low"), STR("p2"), &in, &placed, &why), 0);
    assert_true(placed);
    assert_null(pool_workload_first(p, STR("low"))); /* they are no plan */
    pool_pod_gone(p, STR("p2"));
    assert_int_equal(pool_seats(p), 1); /* and nothing stays of one whose pod ended */
    sized(&w, "high", "q", 9, 2, 1, SEVEN);
    assert_string_equal(w.story, "-low<high ");
    gone(&w, "low");
    run(&w);
    assert_string_equal(w.story, ""); /* the pod still sits there */
    pool_pod_gone(p, STR("p1"));
    run(&w);
    assert_string_equal(w.story, "+high ");
    engine_free(w.e);
}

/* The next flavor has a place: nobody goes. It has none: then somebody does, of the first that helps. */
static void flavors_before_victims(void **state) {
    for (int full = 0; full < 2; full++) {
        struct world w;
        setup(&w);
        struct str_pair f = {STR("pool"), STR("n1")}, g = {STR("pool"), STR("n2")};
        flavor(&w, "f", (struct flavor_input){.labels = {&f, 1}});
        flavor(&w, "g", (struct flavor_input){.labels = {&g, 1}});
        struct queue_input in = {.name = STR("q"), .within_queue = PREEMPT_LOWER};
        assert_int_equal(slices_put(w.e, in, 100, 2), 0);
        node(&w, "n1", 1);
        sized(&w, "low", "q", 0, 1, 1, SEVEN);
        node(&w, "n2", 1);
        if (full) {
            sized(&w, "peer", "q", 9, 2, 1, SEVEN);
        }
        sized(&w, "high", "q", 9, 3, 1, SEVEN);
        assert_string_equal(w.story, full ? "-low<high " : "+high ");
        gone(&w, "low");
        run(&w);
        assert_true(holds(&w, "high"));
        engine_free(w.e);
    }
}

/* ---- at random ---- */

static void size_put(struct world *w, unsigned i, struct prng *r) {
    char uid[16];
    snprintf(uid, sizeof(uid), "w%u", i);
    submit_as(w, uid, prng_below(r, 3) == 0 ? "z" : "q", (int64_t)prng_below(r, 4), (int64_t)i,
              1 + (int32_t)prng_below(r, 2), SIZES[prng_below(r, N_PROFILES)], 1, &ANY);
}

enum { EVICTIONS_MAX = 64 };

struct evictions {
    char victim[EVICTIONS_MAX][16], by[EVICTIONS_MAX][16];
    bool in[EVICTIONS_MAX]; /* whoever it was for was admitted */
    size_t n;
};

static void note(struct evictions *x, const struct engine_action *a) {
    if (a->type == ACTION_PREEMPT) {
        assert_true(x->n < EVICTIONS_MAX);
        str_copy(a->uid, x->victim[x->n], sizeof(x->victim[0]));
        str_copy(a->by, x->by[x->n], sizeof(x->by[0]));
        x->in[x->n++] = false;
    }
    for (size_t i = 0; a->type == ACTION_ADMIT && i < x->n; i++) {
        x->in[i] = x->in[i] || str_eq(a->uid, str_of(x->by[i]));
    }
}

static void run_noting(struct world *w, struct evictions *x) {
    const struct engine_action *a;
    size_t n;
    bool more = true;
    while (more) {
        assert_int_equal(engine_run(w->e, w->now, 100, &a, &n, &more, NULL), 0);
        for (size_t i = 0; i < n; i++) {
            note(x, &a[i]);
        }
        assert_true(pool_consistent(engine_pool(w->e)));
    }
    assert_true(engine_consistent(w->e));
}

/* All victims leave, one after the other or together; some come back, behind those they left for. */
static void victims_leave(struct world *w, struct prng *r, struct evictions *x) {
    for (size_t i = 0; i < x->n; i++) {
        if (prng_below(r, 2) == 0) {
            gone(w, x->victim[i]);
        } else {
            submit_as(w, x->victim[i], "q", 0, 1000 + w->now, 1, ONE, 1, &ANY);
        }
        if (i + 1 == x->n || prng_below(r, 2) == 0) {
            run_noting(w, x);
        }
    }
    for (size_t i = 0; i < x->n; i++) {
        assert_true(x->in[i]);
    }
}

/* Whoever others were evicted for comes in, and it ends. */
static void whoever_evicts_comes_in(void **state) {
    size_t evictions = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct world w;
        struct prng r;
        prng_seed(&r, seed);
        setup_with(&w, (struct engine_options){.fair_sharing = seed % 3 == 0});
        flavor(&w, "f", (struct flavor_input){0});
        slices(&w, "q", "co", 100, PREEMPT_LOWER, PREEMPT_ANY);
        slices(&w, "z", "co", seed % 2 == 0 ? 100 : 0, PREEMPT_LOWER, PREEMPT_NEVER);
        node(&w, "n1", 3);
        node(&w, "n2", seed % 4 == 0 ? 3 : 1);
        for (unsigned step = 0; step < 30; step++) {
            struct evictions x = {.n = 0};
            w.now++;
            size_put(&w, step, &r);
            run_noting(&w, &x);
            victims_leave(&w, &r, &x);
            evictions += x.n;
        }
        engine_free(w.e);
    }
    assert_true(evictions > 150);
}

/* ---- without memory ---- */

static int put_size(struct engine *e, const char *uid, int64_t priority, int64_t at,
                    const char *size) {
    struct node_amount a = {str_of(size), 1};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    struct workload_input in = {str_of(uid), STR("q"), priority, at, &s, 1};
    return engine_workload_put(e, &in);
}

static int quiet(struct engine *e) {
    const struct engine_action *a;
    size_t n;
    bool more = true;
    int r = 0;
    while (r == 0 && more) {
        r = engine_run(e, 0, 10, &a, &n, &more, NULL);
    }
    return r;
}

static int step(struct world *w, int at) {
    struct flavor_input f = {.name = STR("f")};
    struct queue_input in = {.name = STR("q"), .within_queue = PREEMPT_LOWER};
    switch (at) {
    case 0:
        return engine_flavor_put(w->e, &f);
    case 1:
        return slices_put(w->e, in, 100, 1);
    case 2:
        return node_put(w->e, "n1", 1, (struct shown){0});
    case 3:
        return put_size(w->e, "v1", 0, 1, ONE);
    case 4:
        return put_size(w->e, "v2", 0, 2, ONE);
    case 6:
        return put_size(w->e, "high", 9, 3, SEVEN);
    case 8:
        gone(w, "v2");
        return 0;
    case 10:
        return put_size(w->e, "v1", 0, 1, ONE);
    default:
        return quiet(w->e);
    }
}

static void any_allocation(void **state) {
    bool hit = true;
    for (uint64_t nth = 1; hit; nth++) {
        struct world w;
        setup(&w);
        mem_fault(nth, 0);
        for (int at = 0, tries = 0; at < 12; tries++) {
            assert_true(tries < 100);
            int r = step(&w, at);
            assert_true(r == 0 || r == ERR_NOMEM);
            at += r == 0;
        }
        hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_int_equal(quiet(w.e), 0);
        assert_true(engine_consistent(w.e) && pool_consistent(engine_pool(w.e)));
        assert_true(holds(&w, "high"));
        assert_false(holds(&w, "v1"));
        engine_free(w.e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_can_be_written),
        cmocka_unit_test(as_many_as_others_place),
        cmocka_unit_test(devices_count),
        cmocka_unit_test(one_gpu_is_cleared),
        cmocka_unit_test(nobody_goes_for_nothing),
        cmocka_unit_test(policies_hold),
        cmocka_unit_test(a_place_when_protection_ends),
        cmocka_unit_test(the_place_is_kept),
        cmocka_unit_test(a_place_is_kept_no_longer),
        cmocka_unit_test(without_a_plan),
        cmocka_unit_test(flavors_before_victims),
        cmocka_unit_test(whoever_evicts_comes_in),
        cmocka_unit_test(any_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What places cost: counted in nodes, seats and steps of the budget, never in time. */
#include "api/h200_fixture.h"
#include "base/prng.h"
#include "core/admit/engine_private.h"
#include "core/place/pool_private.h"
#include "core/test/engine_fixture.h"

static struct gpu_profile PROFILES[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB};
enum { N_PROFILES = sizeof(PROFILES) / sizeof(*PROFILES), CARDS = 4 };

/* What of a node varies. */
struct seen {
    const char *pod; /* on slice 0 of GPU 0, or NULL */
    int64_t cpu;
    unsigned healthy;       /* GPUs, by bit */
    bool mig, ready, fixed; /* fixed: the mode is not Berth's to change */
    const char *label;
};
static const struct seen IDLE = {.cpu = 64000, .healthy = 15, .mig = true, .ready = true};

static int put(struct pool *p, const char *name, struct seen x) {
    struct gpu_card cards[CARDS];
    struct gpu_instance one = {.profile_id = PROFILES[1].id,
                               .size = PROFILES[1].size,
                               .uuid = STR("MIG-1"),
                               .pod_uid = str_of(x.pod != NULL ? x.pod : "")};
    char uuid[CARDS][40];
    for (int i = 0; i < CARDS; i++) {
        snprintf(uuid[i], sizeof(uuid[i]), "GPU-%s-%d", name, i);
        cards[i] = (struct gpu_card){.uuid = str_of(uuid[i]),
                                     .index = i,
                                     .slices = 8,
                                     .mig_enabled = x.mig && i % 2 == 0,
                                     .mig_managed = !x.fixed,
                                     .healthy = (x.healthy >> i & 1) != 0,
                                     .profiles = PROFILES,
                                     .n_profiles = N_PROFILES};
    }
    if (x.pod != NULL) {
        cards[0].instances = &one;
        cards[0].n_instances = 1;
    }
    struct inventory inv = {cards, CARDS, true};
    struct node_amount cpu = {STR("cpu"), x.cpu};
    struct str_pair label = {STR("l"), str_of(x.label != NULL ? x.label : "")};
    struct node_input in = {.name = str_of(name),
                            .managed = true,
                            .ready = x.ready,
                            .labels = {&label, 1},
                            .amounts = &cpu,
                            .n_amounts = 1,
                            .inventory = &inv};
    return pool_node_put(p, &in, NULL);
}

static void nodes(struct pool *p, int n, struct prng *g) {
    char name[24];
    for (int i = 0; i < n; i++) {
        struct seen x = IDLE;
        snprintf(name, sizeof(name), "n%05d", i);
        if (g != NULL) {
            x.cpu = 1000 * (int64_t)prng_below(g, 40);
            x.healthy = (unsigned)prng_below(g, 16);
            x.mig = prng_below(g, 2) == 0;
            x.pod = prng_below(g, 4) == 0 ? "somebody" : NULL;
        }
        assert_int_equal(put(p, name, x), 0);
    }
}

/* `n` pods that ask for cpu, and devices of up to two kinds. */
static bool plan(struct names *names, struct pool *p, const char *workload,
                 const int64_t amounts[3], int first, size_t n) {
    static const char *const asked[] = {"cpu", "nvidia.com/gpu", "nvidia.com/mig-2g.35gb"};
    struct pool_amount v[3];
    struct place_input in[400];
    struct place_why why;
    bool placed;
    for (int i = 0; i < 3; i++) {
        v[i].v = amounts[i];
        assert_int_equal(names_intern(names, str_of(asked[i]), &v[i].resource), 0);
    }
    for (size_t i = 0; i < n; i++) {
        in[i] = (struct place_input){.set = STR("main"),
                                     .ordinal = first + (int32_t)i,
                                     .shape = &ANY,
                                     .amounts = v,
                                     .n_amounts = 3};
    }
    assert_int_equal(pool_plan(p, str_of(workload), (struct str){0}, in, n, &placed, &why), 0);
    return placed;
}

static void same_seats(struct pool *a, struct pool *b, const char *workload) {
    const struct seat *x = pool_workload_first(a, str_of(workload)),
                      *y = pool_workload_first(b, str_of(workload));
    for (; x != NULL && y != NULL; x = x->group_next, y = y->group_next) {
        assert_str_eq(x->node, y->node);
        assert_int_equal(x->n_devices, y->n_devices);
        for (size_t i = 0; i < x->n_devices; i++) {
            assert_str_eq(x->devices[i].gpu, y->devices[i].gpu);
            assert_int_equal(x->devices[i].start, y->devices[i].start);
        }
    }
    assert_ptr_equal(x, y);
}

/* Many alike at once come to the places that they would come to one by one, each looking at all nodes. */
static void many_as_one_by_one(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct names names[2];
        struct pool *p[2];
        struct prng g;
        for (int i = 0; i < 2; i++) {
            names_init(&names[i]);
            p[i] = pool_new(&names[i]);
            prng_seed(&g, seed);
            nodes(p[i], 12, &g);
        }
        for (int w = 0; w < 6; w++) {
            int64_t amounts[3] = {500 * (int64_t)prng_below(&g, 8), (int64_t)prng_below(&g, 3),
                                  (int64_t)prng_below(&g, 3)};
            size_t n = 1 + prng_below(&g, 12), one = 0;
            char name[8];
            snprintf(name, sizeof(name), "w%d", w);
            bool placed = plan(&names[0], p[0], name, amounts, 0, n);
            while (one < n && plan(&names[1], p[1], name, amounts, (int)one, 1)) {
                one++;
            }
            assert_int_equal(placed, one == n);
            if (!placed) {
                pool_undo(p[1], str_of(name));
            }
            same_seats(p[0], p[1], name);
        }
        assert_true(pool_digest(p[0]) == pool_digest(p[1]));
        for (int i = 0; i < 2; i++) {
            pool_free(p[i]);
            names_release(&names[i]);
        }
    }
}

/* Nodes plus pods, not nodes times pods. */
static void a_plan_is_told_its_cost(void **state) {
    struct names names;
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        int64_t amounts[3] = {kind == 0 ? 50000 : 1, kind == 1, kind == 2};
        names_init(&names);
        struct pool *p = pool_new(&names);
        nodes(p, 400, NULL);
        assert_true(plan(&names, p, "w", amounts, 0, 400));
        assert_in_range(pool_plan_cost(p), 400, 4 * 400);
        pool_free(p);
        names_release(&names);
    }
}

/* A node that changes, or goes, looks at its own seats. */
static void a_change_looks_at_its_own(void **state) {
    struct names names;
    int64_t amounts[3] = {1000, 1, 0};
    struct seen less = IDLE;
    (void)state;
    names_init(&names);
    struct pool *p = pool_new(&names);
    nodes(p, 100, NULL);
    assert_true(plan(&names, p, "w", amounts, 0, 400)); /* all of them, four a node */
    size_t before = p->recounted;
    less.cpu = 5000;
    assert_int_equal(put(p, "n00007", less), 0);
    assert_int_equal(p->recounted - before, CARDS);
    assert_true(pool_node_del(p, STR("n00007")));
    assert_int_equal(p->recounted - before, 2 * CARDS);
    assert_int_equal(put(p, "n00007", IDLE), 0);
    assert_int_equal(p->recounted - before, 3 * CARDS);
    assert_true(pool_consistent(p));
    pool_workload_gone(p, STR("w"));
    assert_int_equal(map_count(&p->homes), 0);
    pool_free(p);
    names_release(&names);
}

/* A pod that starts on its place gives nobody anything; all else may. */
static void who_gives(void **state) {
    struct names names;
    const struct seen none = IDLE;
    struct seen busy = IDLE, x;
    busy.pod = "pod";
    (void)state;
    names_init(&names);
    struct pool *p = pool_new(&names);
    assert_int_equal(put(p, "n", none), 0);
    uint64_t was = pool_generation(p);
    assert_int_equal(put(p, "n", busy), 0); /* it starts */
    assert_int_equal(pool_generation(p), was);
    assert_int_equal(put(p, "n", none), 0); /* it has gone */
    assert_int_equal(pool_generation(p), was + 1);
    x = none;
    x.mig = false; /* the mode changes by itself where it may */
    assert_int_equal(put(p, "n", x), 0);
    assert_int_equal(pool_generation(p), was + 1);
    x.cpu = 1000;
    assert_int_equal(put(p, "n", x), 0);
    assert_int_equal(pool_generation(p), was + 1);
    const struct seen more[] = {
        {.cpu = 2000, .healthy = 15, .ready = true},
        {.cpu = 2000, .healthy = 7, .ready = true},
        {.cpu = 2000, .healthy = 15, .ready = true},
        {.cpu = 2000, .healthy = 15},
        {.cpu = 2000, .healthy = 15, .ready = true, .label = "x"},
        {.pod = "pod", .cpu = 2000, .healthy = 15, .ready = true},
        {.pod = "other", .cpu = 2000, .healthy = 15, .ready = true},
    };
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
        was = pool_generation(p);
        assert_int_equal(put(p, "n", more[i]), 0);
        assert_int_equal(pool_generation(p), was + 1);
    }
    x = (struct seen){.cpu = 2000, .healthy = 15, .ready = true, .fixed = true};
    for (int i = 0; i < 3;
         i++) { /* now only a switch makes slices of a card, or a card of slices */
        x.mig = i == 1;
        was = pool_generation(p);
        assert_int_equal(put(p, "n", x), 0);
        assert_int_equal(pool_generation(p), was + 1);
    }
    pool_free(p);
    names_release(&names);
}

/* Heads that look for places among many nodes use the budget of a run up. */
static void charged(void **state) {
    struct world w;
    const struct engine_action *a;
    size_t n, most = 0, told = 0;
    bool more = true;
    (void)state;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    nodes(engine_pool(w.e), 640, NULL);
    queue(&w, "q", "", false, (struct fq[]){{"f", {INT64_MAX / 2, NO, NO}}}, 1, FUNGIBILITY_STOP);
    for (int i = 0; i < 60; i++) {
        char uid[8];
        snprintf(uid, sizeof(uid), "w%d", i);
        submit(&w, uid, "q", 0, i, 1000);
    }
    while (more) {
        assert_int_equal(engine_run(w.e, 0, 100, &a, &n, &more, NULL), 0);
        most = n > most ? n : most;
        told += n;
    }
    assert_int_equal(told, 60);
    assert_in_range(most, 1, 5); /* 640 nodes are the price of 20 heads */
    engine_free(w.e);
}

/* What an edit makes anew is a part of the turn in which it is. */
static void settling_is_charged(void **state) {
    struct world w;
    const struct engine_action *a;
    size_t n;
    bool more;
    char name[16], uid[16];
    (void)state;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        queue(&w, name, "all", false, (struct fq[]){{"f", {1000, NO, NO}}}, 1, FUNGIBILITY_STOP);
        snprintf(uid, sizeof(uid), "w%d", i);
        submit(&w, uid, name, 0, i, 1000);
    }
    assert_int_equal(engine_run(w.e, 0, 20, &a, &n, &more, NULL), 0);
    assert_int_equal(w.e->left, 0);
    assert_int_equal(w.e->cycle.phase, CYCLE_HEADS);
    assert_int_equal(w.e->cycle.tree->heads_at,
                     1); /* 401 nodes are the price of more than 20 heads: one is looked at */
    run(&w);
    assert_int_equal(w.admitted, 400);
    engine_free(w.e);
}

/* A search passes all that a queue holds, and cannot make enough room. */
static void a_search_is_charged(void **state) {
    struct world w;
    const struct engine_action *a;
    size_t n;
    bool more;
    char uid[16];
    (void)state;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    struct queue_input in = {.name = STR("q"), .within_queue = PREEMPT_LOWER};
    queue_as(&w, in, (struct fq[]){{"f", {2001, NO, NO}}}, 1);
    submit(&w, "top", "q", 9, 0, 1);
    for (int i = 0; i < 2000; i++) {
        snprintf(uid, sizeof(uid), "w%d", i);
        submit(&w, uid, "q", 0, i, 1);
    }
    run(&w);
    submit(&w, "all", "q", 5, 3000, 2001); /* "top" stays */
    assert_int_equal(engine_run(w.e, 0, 1000, &a, &n, &more, NULL), 0);
    assert_in_range(w.e->left, 900, 1000 - 2000 / ENGINE_HOLDERS_A_HEAD);
    engine_free(w.e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_as_one_by_one),
        cmocka_unit_test(a_plan_is_told_its_cost),
        cmocka_unit_test(a_change_looks_at_its_own),
        cmocka_unit_test(who_gives),
        cmocka_unit_test(charged),
        cmocka_unit_test(settling_is_charged),
        cmocka_unit_test(a_search_is_charged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* pool_domain: pods of a set that run together: in which domain, all or none, and in trials. */
#include <stdio.h>

#include "api/h200_fixture.h"
#include "base/prng.h"
#include "base/test.h"
#include "core/place/pool_private.h"

enum { RACKS = 3, NODES = 2, PODS_MAX = 8 };

static struct names resources;
static uint32_t cpu;
static const struct flavor_input any = {.name = STR("f")};
static const struct flavor_input *const flavors[] = {&any};
static const struct shape together = {.together = STR("rack")}, apart = {0};

static struct str node_name(int rack, int i) {
    static char names[4][16];
    static unsigned next;
    char *p = names[next++ % 4];
    return str_from(p, (size_t)snprintf(p, sizeof(names[0]), "r%d-n%d", rack, i));
}

static void node(struct pool *p, int rack, int i, int64_t room) {
    char value[8] = "";
    struct str_pair label = {STR("rack"), str_from(value, 0)};
    label.value.n = (size_t)snprintf(value, sizeof(value), "r%d", rack);
    struct node_amount amount = {STR("cpu"), room};
    struct node_input in = {.name = node_name(rack, i),
                            .managed = true,
                            .ready = true,
                            .labels = {&label, rack >= 0 ? 1 : 0},
                            .amounts = &amount,
                            .n_amounts = 1};
    assert_int_equal(pool_node_put(p, &in, NULL), 0);
}

/* Racks with room for 4, 6 and 8 pods of one cpu, and a node of no rack with room for many. */
static struct pool *racks(void) {
    names_init(&resources);
    assert_int_equal(names_intern(&resources, STR("cpu"), &cpu), 0);
    struct pool *p = pool_new(&resources);
    assert_non_null(p);
    for (int r = 0; r < RACKS; r++) {
        for (int i = 0; i < NODES; i++) {
            node(p, r, i, 2 + r);
        }
    }
    node(p, -1, 0, 100);
    return p;
}

static void end(struct pool *p) {
    assert_true(pool_consistent(p));
    pool_free(p);
    names_release(&resources);
}

static void fill(struct place_input *in, const struct pool_amount *one, const struct shape *s,
                 size_t n) {
    for (size_t i = 0; i < n; i++) {
        in[i] = (struct place_input){.set = STR("main"),
                                     .ordinal = (int32_t)i,
                                     .shape = s,
                                     .flavors = flavors,
                                     .n_flavors = 1,
                                     .amounts = one,
                                     .n_amounts = 1};
    }
}

/* n pods of one cpu each, or what `one` says. */
static bool plan(struct pool *p, const char *workload, const struct shape *s, size_t n, int64_t v,
                 struct place_why *why) {
    struct pool_amount one = {cpu, v};
    struct place_input in[16];
    bool placed;
    assert_true(n <= 16);
    fill(in, &one, s, n);
    assert_int_equal(pool_plan(p, str_of(workload), (struct str){0}, in, n, &placed, why), 0);
    return placed;
}

/* The rack that all seats of a workload are in; -1: none, or several. */
static int rack_of(struct pool *p, const char *workload, size_t n) {
    int rack = -1;
    size_t k = 0;
    for (const struct seat *s = pool_workload_first(p, str_of(workload)); s != NULL;
         s = s->group_next, k++) {
        int r = s->node.p[1] - '0';
        if (k > 0 && r != rack) {
            return -1;
        }
        rack = r;
    }
    return k == n ? rack : -1;
}

static void smallest_with_room(void **state) {
    struct pool *p = racks();
    struct place_why why;
    assert_true(plan(p, "a", &together, 5, 1, &why));
    assert_int_equal(rack_of(p, "a", 5), 1); /* 4 is too few, 8 stays whole */
    assert_true(plan(p, "b", &together, 4, 1, &why));
    assert_int_equal(rack_of(p, "b", 4), 0);
    assert_true(plan(p, "c", &together, 4, 2, &why)); /* two on each node */
    assert_int_equal(rack_of(p, "c", 4), 2);
    end(p);
}

static void all_or_none(void **state) {
    struct pool *p = racks();
    struct place_why why;
    uint64_t before = pool_digest(p);
    assert_false(plan(p, "a", &together, 9, 1, &why)); /* there is room for 18, and for 100 */
    assert_int_equal(why.trouble, PLACE_NO_DOMAIN);
    assert_int_equal(why.need, 9);
    assert_true(str_is(why.label, "rack"));
    assert_int_equal(why.pods, 9);
    assert_true(pool_digest(p) == before);
    assert_true(plan(p, "a", &apart, 9, 1, &why));
    end(p);
}

static void gpu_node(struct pool *p, const char *name, const char *rack, size_t cards) {
    static struct gpu_profile profiles[] = {H200_1G_18GB, H200_3G_71GB};
    struct gpu_card v[2] = {h200_card("GPU-0", 0, profiles, 2), h200_card("GPU-1", 1, profiles, 2)};
    struct inventory inv = {v, cards, true};
    struct str_pair label = {STR("rack"), str_of(rack)};
    struct node_input in = {.name = str_of(name),
                            .managed = true,
                            .ready = true,
                            .labels = {&label, 1},
                            .inventory = &inv};
    assert_int_equal(pool_node_put(p, &in, NULL), 0);
}

/* Two profiles each for itself fit twice on a GPU, and both together once: of the domain that seemed to have room
 * nothing is kept, and the next one is tried. */
static void next_domain(void **state) {
    struct place_why why;
    struct place_input in[2];
    struct pool_amount both[2] = {{0, 1}, {0, 1}};
    bool placed;
    names_init(&resources);
    assert_int_equal(names_intern(&resources, STR("nvidia.com/mig-1g.18gb"), &both[0].resource), 0);
    assert_int_equal(names_intern(&resources, STR("nvidia.com/mig-3g.71gb"), &both[1].resource), 0);
    struct pool *p = pool_new(&resources);
    gpu_node(p, "r0-n0", "r0", 1);
    gpu_node(p, "r1-n0", "r1", 2);
    fill(in, both, &together, 2);
    in[0].n_amounts = in[1].n_amounts = 2;
    assert_int_equal(pool_plan(p, STR("a"), (struct str){0}, in, 2, &placed, &why), 0);
    assert_true(placed);
    assert_int_equal(rack_of(p, "a", 2), 1);
    assert_int_equal(pool_seats(p), 2);
    assert_int_equal(pool_plan(p, STR("b"), (struct str){0}, in, 2, &placed, &why), 0);
    assert_false(placed);
    assert_int_equal(pool_seats(p), 2);
    pool_trial_begin(p, STR("q"));
    assert_int_equal(pool_trial_place(p, in, 2, &placed, &why), 0);
    assert_false(placed);
    pool_trial_lift(p, STR("a"));
    assert_int_equal(pool_trial_place(p, in, 2, &placed, &why), 0);
    assert_true(placed);
    assert_true(str_is(p->trial.spots.v[1].node->name, "r1-n0"));
    pool_trial_end(p);
    end(p);
}

static void stays_where_it_is(void **state) {
    struct pool *p = racks();
    struct place_why why;
    struct pool_amount one = {cpu, 1};
    struct place_input in;
    bool placed;
    assert_true(plan(p, "a", &together, 3, 1, &why));
    assert_int_equal(rack_of(p, "a", 3), 0);
    fill(&in, &one, &together, 1);
    in.ordinal = 3;
    assert_int_equal(pool_plan(p, STR("a"), STR("pod-3"), &in, 1, &placed, &why), 0);
    assert_true(placed);
    assert_int_equal(rack_of(p, "a", 4), 0);
    in.ordinal = 4;
    assert_int_equal(pool_plan(p, STR("a"), STR("pod-4"), &in, 1, &placed, &why), 0);
    assert_false(placed); /* its rack is full, others are not */
    assert_int_equal(why.trouble, PLACE_NO_DOMAIN);
    end(p);
}

/* With victims gone: only those of one rack help. */
static void in_a_trial(void **state) {
    struct pool *p = racks();
    struct pool_amount one = {cpu, 1};
    struct place_input in[8];
    struct place_why why;
    bool placed;
    assert_true(plan(p, "v0", &together, 4, 1, &why));
    assert_true(plan(p, "v1", &together, 6, 1, &why));
    assert_true(plan(p, "v2", &together, 8, 1, &why));
    fill(in, &one, &together, 6);
    uint64_t before = pool_digest(p);
    pool_trial_begin(p, STR("q"));
    pool_trial_lift(p, STR("v0"));
    assert_int_equal(pool_trial_place(p, in, 6, &placed, &why), 0);
    assert_false(placed);
    assert_int_equal(why.trouble, PLACE_NO_DOMAIN);
    pool_trial_lift(p, STR("v1"));
    assert_int_equal(pool_trial_place(p, in, 6, &placed, &why), 0);
    assert_true(placed);
    for (size_t i = 0; i < p->trial.spots.n; i++) {
        assert_true(str_starts(p->trial.spots.v[i].node->name, STR("r1-")));
    }
    pool_trial_end(p);
    assert_true(pool_digest(p) == before);
    end(p);
}

/* One amount alone: there is a place for all if and only if the nodes of some rack have room for as many. */
static void as_counted(void **state) {
    struct prng g;
    prng_seed(&g, 7);
    for (int round = 0; round < 300; round++) {
        struct place_why why;
        int64_t v = 1 + (int64_t)prng_below(&g, 3), best = 0;
        size_t n = 1 + prng_below(&g, PODS_MAX);
        names_init(&resources);
        assert_int_equal(names_intern(&resources, STR("cpu"), &cpu), 0);
        struct pool *p = pool_new(&resources);
        for (int r = 0; r < RACKS; r++) {
            int64_t sum = 0;
            for (int i = 0; i < NODES; i++) {
                int64_t room = (int64_t)prng_below(&g, 9);
                node(p, r, i, room);
                sum += room / v;
            }
            best = sum > best ? sum : best;
        }
        assert_int_equal(plan(p, "a", &together, n, v, &why), best >= (int64_t)n);
        assert_true(best < (int64_t)n || rack_of(p, "a", n) >= 0);
        end(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_with_room), cmocka_unit_test(all_or_none),
        cmocka_unit_test(next_domain),        cmocka_unit_test(stays_where_it_is),
        cmocka_unit_test(in_a_trial),         cmocka_unit_test(as_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

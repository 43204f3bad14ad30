/* pool_copy: what is in a copy, what is left out of it, and that a pool made of it is the same. */
#include "core/place/pool_copy.h"

#include "api/h200_fixture.h"
#include "base/test.h"

static struct gpu_profile profiles[] = {H200_1G_18GB, H200_3G_71GB, H200_7G_141GB};
static struct gpu_profile others[] = {H200_1G_18GB, H200_2G_35GB};

/* Of one zone, with two cards: a stranger has a slice of the first, and the second is of another model. */
static void node(struct pool *p, const char *name, const char *zone) {
    struct gpu_instance one = {19, 2, 1, STR("MIG-1"), STR("stranger")};
    struct gpu_card cards[2] = {h200_card("GPU-0", 0, profiles, 3),
                                h200_card("GPU-1", 1, others, 2)};
    struct inventory inv = {cards, 2, true};
    struct str_pair label = {STR("zone"), str_of(zone)};
    struct node_amount cpu = {STR("cpu"), 8000};
    struct node_input in = {.name = str_of(name),
                            .managed = true,
                            .ready = true,
                            .labels = {&label, 1},
                            .amounts = &cpu,
                            .n_amounts = 1,
                            .inventory = &inv};
    cards[0].instances = &one;
    cards[0].n_instances = 1;
    assert_int_equal(pool_node_put(p, &in, NULL), 0);
}

static void seat(struct pool *p, const char *workload, const char *on) {
    struct pool_amount cpu = {0, 1000};
    struct seat *s;
    struct seat in = {.workload = str_of(workload),
                      .set = STR("main"),
                      .node = str_of(on),
                      .amounts = &cpu,
                      .n_amounts = 1};
    assert_int_equal(pool_seat_restore(p, &in, &s), 0);
}

static struct pool *two_zones(struct names *resources) {
    uint32_t id;
    names_init(resources);
    assert_int_equal(names_intern(resources, STR("cpu"), &id), 0);
    struct pool *p = pool_new(resources);
    assert_non_null(p);
    node(p, "a1", "a");
    node(p, "a2", "a");
    node(p, "b1", "b");
    seat(p, "w1", "a1");
    seat(p, "w2", "a2");
    seat(p, "w3", "b1");
    return p;
}

static const struct pool_copy_limits many = {100, 100};

static void as_it_was(void **state) {
    struct names resources;
    struct pool *p = two_zones(&resources), *to = pool_new(&resources);
    struct flavor_input any = {.name = STR("f")};
    struct pool_copy c;
    struct arena a;
    arena_init(&a, 16 << 20);
    assert_int_equal(pool_copy_take(p, &any, 1, &many, &a, &c), 0);
    assert_int_equal(c.n_nodes, 3);
    assert_int_equal(c.n_seats, 3);
    const struct gpu_card *g = c.nodes[0].inventory->gpus;
    assert_int_equal(g[0].n_profiles, 3);
    assert_int_equal(g[1].n_profiles, 2);
    assert_int_equal(g[0].n_instances, 1);
    assert_int_equal(pool_copy_build(&c, to), 0);
    assert_true(pool_digest(to) == pool_digest(p));
    pool_free(to);
    pool_free(p);
    arena_release(&a);
    names_release(&resources);
}

/* A node where none of the flavors may run is left out, and so is who sits there. */
static void of_its_flavors(void **state) {
    struct names resources;
    struct pool *p = two_zones(&resources);
    struct str_pair zone = {STR("zone"), STR("b")};
    struct flavor_input f = {.name = STR("f"), .labels = {&zone, 1}};
    struct pool_copy c;
    struct arena a;
    arena_init(&a, 16 << 20);
    assert_int_equal(pool_copy_take(p, &f, 1, &many, &a, &c), 0);
    assert_int_equal(c.n_nodes, 1);
    assert_true(str_is(c.nodes[0].name, "b1"));
    assert_int_equal(c.n_seats, 1);
    assert_true(str_is(c.seats[0].workload, "w3"));
    pool_free(p);
    arena_release(&a);
    names_release(&resources);
}

/* Nodes that no flavor wants do not count; too many of the others, or of their seats, and nothing is copied. */
static void too_many(void **state) {
    struct names resources;
    struct pool *p = two_zones(&resources);
    struct str_pair zone = {STR("zone"), STR("a")};
    struct flavor_input f = {.name = STR("f"), .labels = {&zone, 1}};
    static const struct {
        struct pool_copy_limits most;
        bool left_out;
    } cases[] = {{{2, 2}, false}, {{1, 2}, true}, {{2, 1}, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pool_copy c;
        struct arena a;
        arena_init(&a, 16 << 20);
        assert_int_equal(pool_copy_take(p, &f, 1, &cases[i].most, &a, &c), 0);
        assert_int_equal(c.left_out, cases[i].left_out);
        assert_int_equal(c.n_nodes, cases[i].left_out ? 0 : 2);
        assert_int_equal(c.n_seats, cases[i].left_out ? 0 : 2);
        arena_release(&a);
    }
    pool_free(p);
    names_release(&resources);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_was),
        cmocka_unit_test(of_its_flavors),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

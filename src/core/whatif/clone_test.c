/*
 * Tests of clone and forecast: a clone decides as its original does, whatever happened before; limits; edits; and who
 * starts when, exactly, when run times are known.
 */
#include "core/whatif/clone.h"

#include "api/h200_fixture.h"
#include "base/prng.h"
#include "base/test.h"
#include "core/admit/engine_private.h"
#include "core/whatif/forecast.h"

static const struct shape ANY = {0};
#define NO AMOUNT_NONE
#define SEC INT64_C(1000000000)

static struct engine *engine(void) {
    struct engine_options o = {0};
    struct engine *e = engine_new(&o);
    struct flavor_input f = {.name = STR("f")}, g = {.name = STR("g")};
    assert_non_null(e);
    assert_int_equal(engine_flavor_put(e, &f), 0);
    assert_int_equal(engine_flavor_put(e, &g), 0);
    return e;
}

static struct queue_input *queue_in(struct queue_input *in, const char *name, const char *cohort,
                                    int64_t cpu_f, int64_t cpu_g) {
    static struct str resource = {"cpu", 3};
    static struct quota_input q[64][2];
    static struct group_flavor_input flavors[64][2];
    static struct group_input groups[64];
    static size_t at;
    size_t i = at++ % 64;
    q[i][0] = (struct quota_input){cpu_f, NO, NO};
    q[i][1] = (struct quota_input){cpu_g, NO, NO};
    flavors[i][0] = (struct group_flavor_input){STR("f"), &q[i][0]};
    flavors[i][1] = (struct group_flavor_input){STR("g"), &q[i][1]};
    groups[i] = (struct group_input){&resource, 1, flavors[i], cpu_g > 0 ? 2 : 1};
    *in = (struct queue_input){.name = str_of(name),
                               .cohort = str_of(cohort),
                               .groups = &groups[i],
                               .n_groups = 1,
                               .when_can_borrow = FUNGIBILITY_STOP,
                               .when_can_preempt = FUNGIBILITY_NEXT,
                               .weight = 1};
    return in;
}

static void queue(struct engine *e, const char *name, const char *cohort, int64_t f, int64_t g) {
    struct queue_input in;
    assert_int_equal(engine_queue_put(e, queue_in(&in, name, cohort, f, g)), 0);
}

static void submit(struct engine *e, const char *uid, const char *q, int64_t priority, int64_t at,
                   int64_t cpu) {
    struct node_amount a = {STR("cpu"), cpu};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    struct workload_input in = {.uid = str_of(uid),
                                .queue = str_of(q),
                                .priority = priority,
                                .queued_ns = at,
                                .sets = &s,
                                .n_sets = 1};
    assert_int_equal(engine_workload_put(e, &in), 0);
}

/* What a queue uses of cpu in the first flavor. */
static int64_t used(struct engine *e, const char *name) {
    const struct queue *q = map_get(&e->queues.by_name, str_of(name));
    uint32_t cpu = names_find(engine_resources(e), STR("cpu"));
    assert_non_null(q);
    assert_int_equal(engine_settle(e), 0);
    const struct quota_cell *c = quota_cell_of(q->node, quota_pair(0, cpu));
    assert_non_null(c);
    return c->usage;
}

/* Decides until there is nothing more; what was decided, as text, in order. */
static void decide(struct engine *e, struct buf *out) {
    const struct engine_action *a;
    size_t n;
    bool more = true;
    while (more) {
        assert_int_equal(engine_run(e, 0, 100, &a, &n, &more, NULL), 0);
        for (size_t i = 0; i < n; i++) {
            buf_f(out, "%d %.*s %.*s;", (int)a[i].type, STR_ARG(a[i].uid), STR_ARG(a[i].queue));
        }
    }
}

static bool holds(struct engine *e, const char *uid) {
    bool h = false;
    return engine_workload_known(e, str_of(uid), &h) && h;
}

static void take(struct engine *e, const char *q, struct clone *c) {
    struct str name = str_of(q);
    assert_int_equal(clone_take(e, &name, 1, NULL, 0, NULL, c), 0);
}

/* ---- clones ---- */

static void only_its_tree(void **state) {
    struct engine *e = engine(), *copy;
    struct clone c;
    struct buf b;
    buf_init(&b, 0);
    queue(e, "a", "left", 4000, 2000);
    queue(e, "b", "left", 4000, 0);
    queue(e, "z", "right", 4000, 0);
    submit(e, "a1", "a", 0, 1, 6000);
    decide(e, &b);
    submit(e, "b1", "b", 0, 2, 3000);
    submit(e, "z1", "z", 0, 2, 3000);
    decide(e, &b);
    take(e, "b", &c);
    assert_int_equal(c.n_queues, 2);
    assert_int_equal(c.n_flavors, 2);
    assert_int_equal(c.n_works, 2);
    assert_int_equal(c.n_holding, 1);
    assert_true(clone_queue(&c, STR("z")) == NULL);
    assert_str_eq(clone_root(e, STR("b"), &c.arena), STR("cohort:left"));
    assert_str_eq(clone_root(e, STR("none"), &c.arena), STR(""));
    assert_int_equal(clone_build(&c, &copy), 0);
    assert_int_equal(used(copy, "a"), 6000);
    assert_true(engine_consistent(copy));
    clone_release(&c);
    engine_free(e); /* nothing is shared */
    assert_true(holds(copy, "a1"));
    engine_workload_del(copy, STR("a1"));
    decide(copy, &b);
    assert_true(holds(copy, "b1"));
    engine_free(copy);
    buf_release(&b);
}

static void limits_are_kept(void **state) {
    struct engine *e = engine();
    struct clone c;
    struct str q = STR("a");
    struct clone_limits l = {.pending = 3, .holding = 1};
    struct buf b;
    buf_init(&b, 0);
    queue(e, "a", "", 4000, 0);
    const char *names[] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6"};
    for (int i = 0; i < 7; i++) {
        submit(e, names[i], "a", 0, i, 2000);
    }
    decide(e, &b);
    assert_int_equal(clone_take(e, &q, 1, NULL, 0, &l, &c), 0);
    assert_int_equal(c.n_holding, 2); /* one, and the rest as one */
    assert_int_equal(c.holding_left_out, 1);
    assert_int_equal(c.n_works, 5);
    assert_int_equal(c.pending_left_out, 2);
    assert_str_eq(c.works[2].in.uid, STR("w2")); /* in order */
    assert_str_eq(c.works[4].in.uid, STR("w4"));
    struct engine *copy;
    assert_int_equal(clone_build(&c, &copy), 0);
    assert_int_equal(used(copy, "a"), 4000);
    engine_free(copy);
    clone_release(&c);
    engine_free(e);
    buf_release(&b);
}

/* What the original goes on to decide, its clone decides as well. */
static void decides_alike(void **state) {
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct prng p;
        prng_seed(&p, seed);
        struct engine *e = engine(), *copy;
        struct buf before, x, y;
        struct clone c;
        char uid[8][40];
        buf_init(&before, 0);
        buf_init(&x, 0);
        buf_init(&y, 0);
        const char *const queues[] = {"a", "b", "c"};
        for (int i = 0; i < 3; i++) {
            queue(e, queues[i], i < 2 ? "left" : "", 1000 * (int64_t)prng_below(&p, 8),
                  1000 * (int64_t)prng_below(&p, 3));
        }
        for (int i = 0; i < 8; i++) {
            snprintf(uid[i], sizeof(uid[i]), "w%d", i);
            submit(e, uid[i], queues[prng_below(&p, 3)], (int64_t)prng_below(&p, 3), i,
                   500 * (1 + (int64_t)prng_below(&p, 10)));
        }
        decide(e, &before);
        struct str all[] = {STR("a"), STR("c")};
        assert_int_equal(clone_take(e, all, 2, NULL, 0, NULL, &c), 0);
        assert_int_equal(c.n_works, 8);
        assert_int_equal(clone_build(&c, &copy), 0);
        clone_release(&c);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(holds(e, uid[i]), holds(copy, uid[i]));
        }
        decide(copy, &y); /* it tells why each waits once more, and admits nobody */
        for (int i = 0; i < 8; i++) {
            assert_int_equal(holds(e, uid[i]), holds(copy, uid[i]));
        }
        for (int i = 0; i < 8; i += 2) {
            engine_workload_del(e, str_of(uid[i]));
            engine_workload_del(copy, str_of(uid[i]));
        }
        decide(e, &x);
        decide(copy, &y);
        for (int i = 1; i < 8; i += 2) {
            assert_int_equal(holds(e, uid[i]), holds(copy, uid[i]));
        }
        assert_true(engine_consistent(copy));
        engine_free(e);
        engine_free(copy);
        buf_release(&before);
        buf_release(&x);
        buf_release(&y);
    }
}

/* In the middle of a cycle: nobody is missing from the copy, and the cycle goes on. */
static void amid_a_cycle(void **state) {
    for (size_t budget = 1; budget < 20; budget++) {
        struct engine *e = engine(), *copy;
        const struct engine_action *a;
        struct clone c;
        struct buf b;
        size_t n;
        bool more;
        const char *const queues[] = {"a", "b", "c"};
        const char *const uids[] = {"w0", "w1", "w2", "w3", "w4", "w5"};
        buf_init(&b, 0);
        for (int i = 0; i < 3; i++) {
            queue(e, queues[i], "left", 2000, 0);
        }
        for (int i = 0; i < 6; i++) {
            submit(e, uids[i], queues[i % 3], 0, i, 1500);
        }
        assert_int_equal(engine_run(e, 0, budget, &a, &n, &more, NULL), 0);
        take(e, "a", &c);
        assert_int_equal(c.n_works, 6);
        assert_int_equal(clone_build(&c, &copy), 0);
        clone_release(&c);
        decide(copy, &b);
        decide(e, &b);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(holds(e, uids[i]), holds(copy, uids[i]));
        }
        assert_true(engine_consistent(copy));
        engine_free(copy);
        engine_free(e);
        buf_release(&b);
    }
}

/* A question leaves the cycle under way alone, and does not take for usage what it keeps for its heads. */
static void ends_no_cycle(void **state) {
    bool kept = false;
    (void)state;
    for (size_t budget = 1; budget < 20; budget++) {
        struct engine *e = engine();
        const struct engine_action *a;
        struct clone_limits l = {.holding = 1};
        struct str q = STR("a");
        struct clone c;
        struct queue_input in;
        size_t n;
        bool more;
        queue_in(&in, "a", "left", 6000, 0);
        in.within_queue =
            PREEMPT_LOWER; /* a head that finds nobody to evict keeps what is its own */
        in.reclaim = PREEMPT_LOWER;
        assert_int_equal(engine_queue_put(e, &in), 0);
        for (int i = 0; i < 3; i++) {
            submit(e, (const char *[]){"h0", "h1", "h2"}[i], "a", 9, i, 1500);
        }
        for (more = true; more;) {
            assert_int_equal(engine_run(e, 0, 100, &a, &n, &more, NULL), 0);
        }
        submit(e, "w", "a", 5, 9, 3000);
        assert_int_equal(engine_run(e, 0, budget, &a, &n, &more, NULL), 0);
        enum cycle_phase phase = e->cycle.phase;
        kept = kept || e->cycle.reserved.n > 0;
        assert_int_equal(clone_take(e, &q, 1, NULL, 0, &l, &c), 0);
        assert_int_equal(e->cycle.phase, phase);
        assert_int_equal(c.holding_left_out, 2);
        int64_t held = 0;
        for (size_t i = 0; i < c.n_holding; i++) {
            for (size_t k = 0; k < c.works[i].n_held; k++) {
                held += c.works[i].held[k].v;
            }
        }
        assert_int_equal(held, 4500);
        clone_release(&c);
        engine_free(e);
    }
    assert_true(kept);
}

/* LocalQueues that used less go first, in the copy as well. */
static void by_usage(void **state) {
    struct engine_options o = {.local_usage = true, .usage_half_life_ns = 3600 * SEC};
    struct engine *e = engine_new(&o), *copy;
    struct flavor_input f = {.name = STR("f")};
    struct queue_input in;
    struct clone c;
    struct buf b;
    struct resource_weight much = {STR("cpu"), 100}, little = {STR("cpu"), 1};
    buf_init(&b, 0);
    assert_int_equal(engine_flavor_put(e, &f), 0);
    queue_in(&in, "a", "", 2000, 0)->local_usage = true;
    assert_int_equal(engine_queue_put(e, &in), 0);
    assert_int_equal(engine_local_put(e, STR("n/much"), 1), 0);
    assert_int_equal(engine_local_put(e, STR("n/little"), 1), 0);
    assert_int_equal(engine_local_usage_set(e, STR("n/much"), &much, 1, 0), 0);
    assert_int_equal(engine_local_usage_set(e, STR("n/little"), &little, 1, 0), 0);
    submit(e, "h", "a", 0, 0, 2000);
    decide(e, &b);
    for (int i = 0; i < 2; i++) {
        struct node_amount cpu = {STR("cpu"), 2000};
        struct set_input s = {STR("main"), 1, 0, &ANY, &cpu, 1};
        struct workload_input w = {.uid = i ? STR("w2") : STR("w1"),
                                   .queue = STR("a"),
                                   .priority = 0,
                                   .queued_ns = i + 1,
                                   .sets = &s,
                                   .n_sets = 1,
                                   .local = i ? STR("n/little") : STR("n/much")};
        assert_int_equal(engine_workload_put(e, &w), 0);
    }
    decide(e, &b);
    take(e, "a", &c);
    assert_int_equal(c.n_locals, 2);
    assert_str_eq(c.works[1].in.uid, STR("w2"));
    assert_int_equal(clone_build(&c, &copy), 0);
    clone_release(&c);
    engine_free(e);
    decide(copy, &b);
    engine_workload_del(copy, STR("h"));
    decide(copy, &b);
    assert_true(holds(copy, "w2"));
    engine_free(copy);
    buf_release(&b);
}

/* ---- places ---- */

#define TWO "nvidia.com/mig-2g.35gb"

/* A GPU of which a stranger has the last slice but one, and one that a stranger has all of. */
static void node(struct engine *e) {
    struct gpu_profile profiles[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB};
    struct gpu_instance one = {19, 6, 1, STR("MIG-1"), STR("stranger")};
    struct gpu_card cards[2] = {{.uuid = STR("GPU-0"),
                                 .slices = 8,
                                 .mig_enabled = true,
                                 .mig_managed = true,
                                 .healthy = true,
                                 .profiles = profiles,
                                 .n_profiles = 4,
                                 .instances = &one,
                                 .n_instances = 1}};
    cards[1] = cards[0];
    cards[1].uuid = STR("GPU-1");
    cards[1].index = 1;
    cards[1].mig_enabled = false;
    cards[1].n_instances = 0;
    cards[1].pod_uid = STR("another");
    struct inventory inv = {cards, 2, true};
    struct node_amount cpu = {STR("cpu"), 8000};
    struct node_input in = {.name = STR("n1"),
                            .managed = true,
                            .ready = true,
                            .amounts = &cpu,
                            .n_amounts = 1,
                            .inventory = &inv};
    assert_int_equal(pool_node_put(engine_pool(e), &in, NULL), 0);
}

static void slice(struct engine *e, const char *uid, const char *q, int64_t at) {
    struct node_amount a = {STR(TWO), 1};
    struct set_input s = {STR("main"), 1, 0, &ANY, &a, 1};
    struct workload_input in = {
        .uid = str_of(uid), .queue = str_of(q), .queued_ns = at, .sets = &s, .n_sets = 1};
    assert_int_equal(engine_workload_put(e, &in), 0);
}

/* Where its slice begins; -1: it has none. */
static int start_of(struct engine *e, const char *uid) {
    const struct seat *s = pool_workload_first(engine_pool(e), str_of(uid));
    return s != NULL ? s->devices[0].start : -1;
}

/* Nodes, who sits there and what is promised are in the copy: the next ones get the places that they get here. */
static void places_alike(void **state) {
    struct engine *e = engine(), *copy;
    struct str resource = STR(TWO);
    struct quota_input q = {9, NO, NO};
    struct group_flavor_input f = {STR("f"), &q};
    struct group_input g = {&resource, 1, &f, 1};
    struct pool_pin pin = {STR("n1"), STR("GPU-0"), STR(TWO), 2, 2};
    const char *const queues[] = {"a", "rsv"};
    struct clone c;
    struct buf b;
    buf_init(&b, 0);
    node(e);
    for (int i = 0; i < 2; i++) {
        struct queue_input in = {.name = str_of(queues[i]),
                                 .cohort = STR("left"),
                                 .groups = &g,
                                 .n_groups = 1,
                                 .weight = 1};
        assert_int_equal(engine_queue_put(e, &in), 0);
    }
    assert_int_equal(pool_pins_set(engine_pool(e), STR("rsv"), &pin, 1), 0);
    slice(e, "a1", "a", 1);
    decide(e, &b);
    assert_int_equal(start_of(e, "a1"), 4);
    take(e, "a", &c);
    assert_int_equal(clone_build(&c, &copy), 0);
    clone_release(&c);
    assert_true(pool_digest(engine_pool(copy)) == pool_digest(engine_pool(e)));
    for (struct engine *x = e; x != NULL; x = x == e ? copy : NULL) {
        slice(x, "r1", "rsv", 2);
        decide(x, &b);
        assert_int_equal(start_of(x, "r1"), 2);
        slice(x, "r2", "rsv", 3);
        decide(x, &b);
        assert_int_equal(start_of(x, "r2"), -1); /* it has one place */
        slice(x, "a2", "a", 4);
        slice(x, "a3", "a", 5);
        decide(x, &b);
        assert_int_equal(start_of(x, "a2"), 0);
        assert_int_equal(start_of(x, "a3"), -1); /* strangers have the others */
    }
    engine_free(copy);
    engine_free(e);
    buf_release(&b);
}

static void edits(void **state) {
    struct engine *e = engine(), *copy;
    struct clone c;
    struct buf b;
    struct queue_input more;
    buf_init(&b, 0);
    queue(e, "a", "", 2000, 0);
    submit(e, "w1", "a", 0, 1, 2000);
    submit(e, "w2", "a", 0, 2, 2000);
    decide(e, &b);
    take(e, "a", &c);
    assert_int_equal(clone_queue_put(&c, queue_in(&more, "a", "", 4000, 0)), 0);
    assert_int_equal(c.n_queues, 1);
    assert_int_equal(clone_queue_put(&c, queue_in(&more, "new", "", 4000, 0)), 0);
    assert_int_equal(c.n_queues, 2);
    assert_int_equal(clone_build(&c, &copy), 0);
    decide(copy, &b);
    assert_true(holds(copy, "w2"));
    assert_false(holds(e, "w2"));
    clone_flavor_del(&c, STR("f"));
    engine_free(copy);
    assert_int_equal(clone_build(&c, &copy), 0);
    decide(copy, &b);
    assert_false(holds(copy, "w2")); /* a queue whose flavor is not there admits nothing */
    engine_free(copy);
    clone_release(&c);
    engine_free(e);
    buf_release(&b);
}

/* A stopped queue is a part of its tree: what it borrowed counts in the copy as well. */
static void stopped_borrower(void **state) {
    struct engine *e = engine(), *copy;
    struct clone c;
    struct buf b;
    struct queue_input in;
    buf_init(&b, 0);
    queue(e, "a", "left", 2000, 0);
    queue(e, "b", "left", 6000, 0);
    submit(e, "a5", "a", 0, 1, 5000);
    decide(e, &b);
    queue_in(&in, "a", "left", 2000, 0)->held = true;
    assert_int_equal(engine_queue_put(e, &in), 0);
    submit(e, "b4", "b", 0, 2, 4000);
    decide(e, &b);
    take(e, "b", &c);
    assert_int_equal(c.n_queues, 2);
    assert_str_eq(clone_root(e, STR("a"), &c.arena), STR("cohort:left"));
    assert_int_equal(clone_build(&c, &copy), 0);
    decide(copy, &b);
    assert_false(holds(e, "b4") || holds(copy, "b4"));
    engine_workload_del(copy, STR("a5"));
    decide(copy, &b);
    assert_true(holds(copy, "b4"));
    engine_free(copy);
    clone_release(&c);
    engine_free(e);
    buf_release(&b);
}

/* Nothing leaks and nothing breaks when memory ends at any point. */
static void without_memory(void **state) {
    struct engine *e = engine();
    struct buf b;
    struct str q = STR("a");
    buf_init(&b, 0);
    queue(e, "a", "left", 2000, 1000);
    submit(e, "w1", "a", 0, 1, 2000);
    submit(e, "w2", "a", 0, 2, 2000);
    decide(e, &b);
    for (uint64_t n = 1;; n++) {
        struct clone c;
        struct engine *copy = NULL;
        mem_fault(n, 0);
        int r = clone_take(e, &q, 1, NULL, 0, NULL, &c);
        r = r == 0 ? clone_build(&c, &copy) : r;
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        engine_free(copy);
        clone_release(&c);
        if (!hit) {
            assert_int_equal(r, 0);
            break;
        }
        assert_true(r == 0 || r == ERR_NOMEM); /* where there is another way, it is taken */
    }
    assert_true(engine_consistent(e));
    engine_free(e);
    buf_release(&b);
}

/* ---- forecasts ---- */

static struct forecast_work works[16];

static void work(size_t i, const char *uid, bool holding, int64_t seconds,
                 enum forecast_basis basis) {
    int64_t ns = seconds < 0 ? FORECAST_UNKNOWN : seconds * SEC;
    works[i] = (struct forecast_work){
        .uid = str_of(uid), .holds = holding, .runtime = ns, .remaining = ns, .basis = basis};
}

/* Two at a time; run times 100 and 70 s of the holders, 50, 30, 10 s of those that wait. */
static struct engine *two_at_a_time(void) {
    struct engine *e = engine();
    struct buf b;
    buf_init(&b, 0);
    queue(e, "a", "", 4000, 0);
    const char *const uids[] = {"h1", "h2", "p1", "p2", "p3"};
    for (int i = 0; i < 5; i++) {
        submit(e, uids[i], "a", 0, i, 2000);
    }
    decide(e, &b);
    buf_release(&b);
    work(0, "h1", true, 100, BASIS_DECLARED);
    work(1, "h2", true, 70, BASIS_OBSERVED);
    work(2, "p1", false, 50, BASIS_DECLARED);
    work(3, "p2", false, 30, BASIS_DECLARED);
    work(4, "p3", false, 10, BASIS_DECLARED);
    return e;
}

static void starts_exactly(void **state) {
    struct engine *e = two_at_a_time();
    struct forecast_options o = {.now = 1000 * SEC};
    bool cut;
    assert_int_equal(forecast_run(e, works, 5, &o, &cut), 0);
    assert_false(cut);
    assert_true(works[2].start == 1070 * SEC); /* when h2 ends */
    assert_int_equal(works[2].after, BASIS_OBSERVED);
    assert_true(works[3].start == 1100 * SEC); /* h1 */
    assert_int_equal(works[3].after, BASIS_OBSERVED | BASIS_DECLARED);
    assert_true(works[4].start == 1120 * SEC); /* p1 */
    engine_free(e);
}

static void unknown_run_times(void **state) {
    struct engine *e = two_at_a_time();
    bool cut;
    work(0, "h1", true, -1, BASIS_UNKNOWN);
    work(3, "p2", false, -1, BASIS_UNKNOWN);
    struct forecast_options o = {.now = 0};
    assert_int_equal(forecast_run(e, works, 5, &o, &cut), 0);
    assert_true(works[2].start == 70 * SEC);
    assert_true(works[3].start == 120 * SEC);
    assert_true(works[4].start == FORECAST_NEVER);
    engine_free(e);
    e = two_at_a_time();
    work(0, "h1", true, -1, BASIS_UNKNOWN);
    work(3, "p2", false, -1, BASIS_UNKNOWN);
    o.unknown_ends = true;
    assert_int_equal(forecast_run(e, works, 5, &o, &cut), 0);
    assert_true(works[4].start == 50 * SEC); /* not before p1, which starts at once, ends */
    assert_true(works[4].after & BASIS_UNKNOWN);
    engine_free(e);
}

static void settles_only(void **state) {
    struct engine *e = two_at_a_time();
    struct forecast_options o = {.now = 0, .settle_only = true};
    bool cut;
    engine_workload_del(e, STR("h1"));
    assert_int_equal(forecast_run(e, works + 1, 4, &o, &cut), 0);
    assert_true(works[2].start == 0);
    assert_true(works[3].start == FORECAST_NEVER);
    engine_free(e);
}

static void is_stopped(void **state) {
    struct engine *e = two_at_a_time();
    atomic_bool stop = true;
    struct forecast_options o = {.now = 0, .stop = &stop};
    bool cut;
    assert_int_equal(forecast_run(e, works, 5, &o, &cut), ERR_GONE);
    o.stop = NULL;
    o.heads_max = 1;
    assert_int_equal(forecast_run(e, works, 5, &o, &cut), 0);
    assert_true(cut);
    engine_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_tree),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(decides_alike),
        cmocka_unit_test(amid_a_cycle),
        cmocka_unit_test(ends_no_cycle),
        cmocka_unit_test(by_usage),
        cmocka_unit_test(edits),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(starts_exactly),
        cmocka_unit_test(unknown_run_times),
        cmocka_unit_test(settles_only),
        cmocka_unit_test(is_stopped),
        cmocka_unit_test(stopped_borrower),
        cmocka_unit_test(places_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

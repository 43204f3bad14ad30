/* Tests of booking_fence: writes of a leader before that land after another has decided. */
#include "control/kit/controller.h"
#include "control/test/booking_objects_scene.h"

/* Who leads: the way of his writes is his own, and as long as it is. */
struct leader {
    struct memory_writer writer;
    struct booking_objects_controller *b;
    int refused, landed; /* patches of the Cohort */
    int refuse;          /* so many writes of it from now, as an API server does that is not well */
    struct buf held;     /* the first of them that raises it: given up, and not done */
    bool give_up;
};

static int before(void *ctx, const struct memory_write *x, struct err *err) {
    struct leader *l = ctx;
    if (strcmp(x->kind->kind, "Cohort") != 0) {
        return 0;
    }
    if (l->refuse > 0) {
        l->refuse--;
        return err_set(err, ERR_UNAVAILABLE, "not now");
    }
    if (l->give_up && x->verb == MEMORY_PATCH) {
        l->give_up = false;
        buf_str(&l->held, x->body);
        return err_set(err, ERR_TIMEOUT, "nobody knows");
    }
    return 0;
}

static void after(void *ctx, const struct memory_write *x, struct write_result *res) {
    struct leader *l = ctx;
    if (x->verb == MEMORY_PATCH && strcmp(x->kind->kind, "Cohort") == 0) {
        l->refused += res->code == ERR_CONFLICT;
        l->landed += res->code == 0;
    }
}

static void lead(struct scene *s, struct leader *l, const char *term) {
    struct err err = {0};
    struct control_env env = s->w.env;
    *l = (struct leader){0};
    buf_init(&l->held, 0);
    assert_int_equal(memory_writer_init(&l->writer, &s->w.store), 0);
    l->writer.latency_ns = NS_PER_MS;
    l->writer.before = before;
    l->writer.after = after;
    l->writer.ctx = l;
    env.writer = &l->writer.writer;
    env.term = str_of(term);
    l->b = controller_new(&booking_objects_controller, &env, &err);
    assert_non_null(l->b);
}

static void falls(struct leader *l) {
    controller_free(l->b);
    l->b = NULL;
}

static void forget(struct leader *l) {
    falls(l);
    memory_writer_release(&l->writer);
    buf_release(&l->held);
}

/* All but the scene's own controller of bookings. */
static void start_led(struct scene *s, struct leader *l, const char *term) {
    start(s);
    controller_free(s->b);
    s->b = NULL;
    lead(s, l, term);
    settle(s);
}

/* Runs until the next write is a patch of the Cohort. */
static void until_pool(struct scene *s, const struct leader *l) {
    for (int i = 0; i < 10000; i++) {
        const struct memory_write *x = l->writer.first;
        if (x != NULL && x->verb == MEMORY_PATCH && strcmp(x->kind->kind, "Cohort") == 0) {
            return;
        }
        fake_world_run(&s->w, NS_PER_MS);
    }
    fail_msg("the pool is not written");
}

/* What the pool gets back is on its way when the next one gives it to somebody else. */
static void late_raise(void **state) {
    struct scene s;
    struct leader one, two;
    start_led(&s, &one, "one");
    is_text(get(&s, "Cohort", "", "pool"), "metadata.annotations.berth", "");
    assert_true(
        str_contains(get(&s, "Cohort", "", "pool")->json, STR("\"berth.dev/term\":\"one\"")));
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    assert_int_equal(pool(&s), 5);
    one.writer.latency_ns = NS_PER_SEC;
    one.landed = 0;
    phase(&s, "a", "Ended", "");
    until_pool(&s, &one); /* all of it is gone, and the pool not yet raised */
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    assert_int_equal(pool(&s), 5);
    falls(&one);
    book(&s, "b", 0, 60, 1, "");
    phase(&s, "b", "Active", "");
    lead(&s, &two, "two");
    fake_world_run(&s.w, 400 * NS_PER_MS);
    assert_int_equal(nominal_of(queue_of(&s, "b"), SLICE), 1);
    assert_int_equal(one.refused + one.landed, 0);
    settle(&s);
    assert_int_equal(one.refused, 1);
    assert_int_equal(one.landed, 0);
    assert_int_equal(pool(&s), 5);
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.ready", "true");
    uint64_t writes = two.writer.writes;
    settle(&s);
    assert_int_equal(two.writer.writes, writes);
    forget(&one);
    forget(&two);
    end(&s);
}

/* It lands between the look of the next one and his mark: the mark is refused, and what landed is seen. */
static void just_before(void **state) {
    struct scene s;
    struct leader one, two;
    start_led(&s, &one, "one");
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    one.writer.latency_ns = NS_PER_SEC;
    one.landed = 0;
    phase(&s, "a", "Ended", "");
    until_pool(&s, &one);
    fake_world_run(&s.w, 990 * NS_PER_MS);
    assert_int_equal(pool(&s), 5);
    falls(&one);
    book(&s, "b", 0, 60, 1, "");
    phase(&s, "b", "Active", "");
    lead(&s, &two, "two");
    two.writer.latency_ns = 50 * NS_PER_MS;
    settle(&s);
    assert_int_equal(one.landed, 1);
    assert_int_equal(two.refused, 1);
    assert_int_equal(pool(&s), 5);
    assert_int_equal(nominal_of(queue_of(&s, "b"), SLICE), 1);
    forget(&one);
    forget(&two);
    end(&s);
}

/* As long as one mark is missing nothing is raised, also not what is marked. */
static void one_is_missing(void **state) {
    struct scene s;
    struct leader one, two;
    start_led(&s, &one, "one");
    book(&s, "a", 0, 60, 1, "");
    book(&s, "b", 10, 60, 1, ""); /* not yet */
    phase(&s, "a", "Active", "");
    phase(&s, "b", "Preparing", "");
    settle(&s);
    one.writer.latency_ns = NS_PER_SEC;
    phase(&s, "a", "Ended", "");
    until_pool(&s, &one);
    falls(&one);
    phase(&s, "b", "Active", "");
    lead(&s, &two, "two");
    two.refuse = 3;
    fake_world_run(&s.w, 100 * NS_PER_MS);
    assert_true(two.refuse < 3 && two.refuse > 0);
    assert_true(str_contains(queue_of(&s, "b")->json, STR("\"berth.dev/term\":\"two\"")));
    assert_int_equal(nominal_of(queue_of(&s, "b"), SLICE), 0);
    fake_world_run(&s.w, 800 * NS_PER_MS);
    assert_int_equal(nominal_of(queue_of(&s, "b"), SLICE), 1);
    settle(&s);
    assert_int_equal(one.refused, 1);
    assert_int_equal(pool(&s), 5);
    forget(&one);
    forget(&two);
    end(&s);
}

/* A pool that is not there, as far as is seen, may be there and have everything. */
static void no_pool(void **state) {
    struct scene s;
    struct leader l;
    start_led(&s, &l, "one");
    fake_world_delete(&s.w, "Cohort", "", "pool", "");
    l.refuse = 3;
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    fake_world_run(&s.w, 100 * NS_PER_MS);
    assert_true(l.refuse < 3 && l.refuse > 0);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 0);
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 1);
    assert_int_equal(pool(&s), 5);
    forget(&l);
    end(&s);
}

/* Nothing to book, and so no pool: it waits, and does not look again and again. */
static void nothing_to_book(void **state) {
    struct fake_world w;
    struct err err = {0};
    fake_world_init(&w);
    w.env.term = STR("one");
    fake_world_put(
        &w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\"}}");
    fake_world_put(&w,
                   "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
                   "\"name\":\"a\",\"namespace\":\"team\"},\"spec\":{\"start\":"
                   "\"2026-01-01T00:00:00Z\",\"end\":\"2026-01-03T00:00:00Z\",\"lines\":[{"
                   "\"resource\":\"" SLICE "\",\"count\":1}]}}");
    fake_world_patch(&w, "Reservation", "team", "a", "status",
                     "{\"status\":{\"phase\":\"Active\"}}");
    struct booking_objects_controller *b =
        controller_new(&booking_objects_controller, &w.env, &err);
    assert_non_null(b);
    fake_world_run(&w, 100 * NS_PER_SEC); /* never ends where it looks again at once */
    assert_int_equal(fake_world_count(&w, "Cohort"), 0);
    controller_free(b);
    fake_world_release(&w);
}

/* A patch of our own whose end nobody ever learned. */
static void given_up(void **state) {
    struct scene s;
    struct leader l;
    struct err err = {0};
    const struct object *o = NULL;
    start_led(&s, &l, "one");
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    l.give_up = true;
    phase(&s, "a", "Ended", "");
    fake_world_run(&s.w, 20 * NS_PER_MS);
    assert_false(l.give_up);
    assert_int_equal(pool(&s), 5);
    book(&s, "b", 0, 60, 1, ""); /* gets what the pool was to get */
    phase(&s, "b", "Active", "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "b"), SLICE), 1);
    assert_int_equal(fake_store_patch(&s.w, fake_world_kind("Cohort"), STR(""), STR("pool"), "",
                                      PATCH_MERGE, buf_view(&l.held), &o, &err),
                     ERR_CONFLICT);
    assert_int_equal(pool(&s), 5);
    forget(&l);
    end(&s);
}

/* What is created has no quota: it may come as late as it likes. */
static void on_made(void *ctx, const struct change *ch) {
    int *made = ctx;
    if (ch->type == CHANGE_ADDED) {
        ++*made;
        assert_int_equal(nominal_of(ch->obj, SLICE), 0);
    }
}

static void made_empty(void **state) {
    struct scene s;
    int made = 0;
    start(&s);
    struct feed *cohorts = mirror_feed(s.w.mirror, fake_world_kind("Cohort"), on_made, &made);
    struct feed *queues = mirror_feed(s.w.mirror, fake_world_kind("ClusterQueue"), on_made, &made);
    fake_world_delete(&s.w, "Cohort", "", "pool", "");
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    assert_int_equal(made, 2);
    assert_int_equal(pool(&s), 5);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 1);
    /* here nobody's writes come late, and nothing is marked */
    assert_false(str_contains(get(&s, "Cohort", "", "pool")->json, STR("berth.dev/term")));
    assert_false(str_contains(queue_of(&s, "a")->json, STR("berth.dev/term")));
    feed_free(cohorts);
    feed_free(queues);
    end(&s);
}

/* ---- random lives under many leaders ---- */

enum { LEADERS = 8, BOOKINGS = 4, STEPS = 80 };

static void one_step(struct scene *s, struct prng *r, bool *there) {
    static const char *const phases[] = {"Preparing", "Active", "Active", "Ending", "Ended"};
    size_t i = (size_t)prng_below(r, BOOKINGS);
    char name[32];
    snprintf(name, sizeof(name), "r%zu", i);
    if (!there[i]) {
        book(s, name, 0, 600, 1 + (int)prng_below(r, 4), "");
        there[i] = true;
    } else if (prng_below(r, 8) == 0) {
        fake_world_delete(&s->w, "Reservation", "team", name, "");
        there[i] = false;
    } else {
        phase(s, name, phases[prng_below(r, sizeof phases / sizeof *phases)], "");
    }
}

static void many(void **state) {
    static struct leader l[LEADERS];
    int refused = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct scene s;
        struct prng r;
        bool there[BOOKINGS] = {false};
        char term[LEADERS][8];
        size_t n = 0;
        prng_seed(&r, seed);
        start_led(&s, &l[n++], "first");
        for (int i = 0; i < STEPS; i++) {
            one_step(&s, &r, there);
            l[n - 1].writer.latency_ns = (int64_t)prng_below(&r, 400 * NS_PER_MS);
            fake_world_run(&s.w, (int64_t)prng_below(&r, 300 * NS_PER_MS));
            if (n < LEADERS && prng_below(&r, 8) == 0) {
                falls(&l[n - 1]);
                snprintf(term[n], sizeof(term[n]), "t%zu", n);
                lead(&s, &l[n], term[n]);
                n++;
            }
        }
        for (size_t i = 0; i < BOOKINGS; i++) {
            char name[32];
            snprintf(name, sizeof(name), "r%zu", i);
            if (there[i]) {
                phase(&s, name, "Ended", "");
            }
        }
        fake_world_run(&s.w, 60 * NS_PER_SEC);
        assert_int_equal(pool(&s), s.most);
        assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
        for (size_t i = 0; i < n; i++) {
            refused += l[i].refused;
            forget(&l[i]);
        }
        end(&s);
    }
    assert_true(refused > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_raise), cmocka_unit_test(just_before),
        cmocka_unit_test(given_up),   cmocka_unit_test(made_empty),
        cmocka_unit_test(many),       cmocka_unit_test(one_is_missing),
        cmocka_unit_test(no_pool),    cmocka_unit_test(nothing_to_book),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

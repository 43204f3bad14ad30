/* Tests of outlook: draws from a history, and the ranges that come of running it forward several times. */
#include "core/whatif/outlook.h"

#include "core/test/engine_fixture.h"

#define SEC INT64_C(1000000000)

static const int64_t STEADY[] = {98 * SEC, 99 * SEC, 100 * SEC, 100 * SEC, 101 * SEC, 102 * SEC};
static const int64_t WIDE[] = {10 * SEC, 30 * SEC, 60 * SEC, 150 * SEC, 400 * SEC, 1200 * SEC};
static const int64_t SHORT[] = {100 * SEC};
enum { N = 6 };

static void draws_are_of_the_history(void **state) {
    int64_t before = 0;
    for (int i = 1; i < 100; i++) {
        int64_t v = outlook_draw(WIDE, N, -1, i / 100.0);
        assert_true(v >= before && v > 0);
        before = v;
    }
    assert_int_equal(outlook_draw(WIDE, N, -1, 0.5) / SEC, 105); /* between 60 and 150 */
    assert_true(outlook_draw(WIDE, N, -1, 0.99) > 1200 * SEC);
    assert_true(outlook_draw(WIDE, N, -1, 0.01) < 10 * SEC);
    assert_true(outlook_draw(STEADY, N, -1, 0.97) < 150 * SEC);
    assert_true(outlook_draw(SHORT, 1, -1, 0.9) > 150 * SEC); /* one run says little */
    assert_true(outlook_draw(SHORT, 1, -1, 0.1) < 80 * SEC);
}

static void what_ran_on_runs_on(void **state) {
    for (int i = 1; i < 100; i++) {
        assert_true(outlook_draw(WIDE, N, 60 * SEC, i / 100.0) > 60 * SEC);
        assert_true(outlook_draw(WIDE, N, 5000 * SEC, i / 100.0) > 5000 * SEC);
    }
    assert_int_equal(outlook_draw(WIDE, N, 60 * SEC, 0.5) / SEC, 400); /* of 150, 400, 1200 */
    int64_t steady = outlook_draw(STEADY, N, 200 * SEC, 0.5) - 200 * SEC;
    int64_t wide = outlook_draw(WIDE, N, 2000 * SEC, 0.5) - 2000 * SEC;
    assert_true(steady < 20 * SEC && wide > 200 * SEC);
    assert_true(outlook_draw(WIDE, N, INT64_MAX / 2, 0.999) > INT64_MAX / 2); /* no overflow */
}

/* ---- runs ---- */

struct scene {
    struct world w;
    struct clone c;
    struct arena a;
    struct forecast_work works[4];
    struct outlook out[4];
    bool cut;
};

/* One at a time: h runs, p waits, then q, then r. */
static void start(struct scene *s) {
    static const char *const uids[] = {"h", "p", "q", "r"};
    struct str queue_name = STR("a");
    *s = (struct scene){0};
    setup(&s->w);
    flavor(&s->w, "f", (struct flavor_input){0});
    queue(&s->w, "a", "", true, &(struct fq){"f", {1, NO, NO}}, 1, FUNGIBILITY_STOP);
    for (int i = 0; i < 4; i++) {
        struct workload_input in = {
            .uid = str_of(uids[i]), .queue = queue_name, .queued_ns = i + 1};
        put_as(&s->w, in, 1, 0, 1);
        s->works[i] = (struct forecast_work){.uid = str_of(uids[i]), .holds = i == 0};
    }
    const struct engine_action *a;
    size_t n;
    for (bool more = true; more;) {
        assert_int_equal(engine_run(s->w.e, 0, 100, &a, &n, &more, NULL), 0);
    }
    assert_int_equal(clone_take(s->w.e, &queue_name, 1, NULL, 0, NULL, &s->c), 0);
    arena_init(&s->a, 1 << 20);
}

static void end(struct scene *s) {
    clone_release(&s->c);
    engine_free(s->w.e);
    arena_release(&s->a);
}

static void observed(struct scene *s, const int64_t *seen, size_t n) {
    for (int i = 0; i < 4; i++) {
        struct forecast_work *w = &s->works[i];
        w->runtime = w->remaining = seen[(n - 1) / 2];
        w->basis = BASIS_OBSERVED;
        w->seen = seen;
        w->n_seen = n;
        w->unit = 1;
    }
}

static int look(struct scene *s, const struct forecast_options *o) {
    struct engine *e;
    assert_int_equal(clone_build(&s->c, &e), 0);
    assert_int_equal(forecast_run(e, s->works, 4, o, &s->cut), 0);
    engine_free(e);
    return outlook_run(&s->c, s->works, 4, o, &s->a, s->out, &s->cut);
}

static const struct forecast_options NOW = {.now = 1000 * SEC};

static void steady_is_a_time(void **state) {
    struct scene s;
    start(&s);
    observed(&s, STEADY, N);
    assert_int_equal(look(&s, &NOW), 0);
    for (int i = 1; i < 4; i++) {
        int64_t about = (1000 + 100 * i) * SEC;
        assert_true(s.out[i].early <= s.out[i].mid && s.out[i].mid <= s.out[i].late);
        assert_true(s.out[i].mid > about - 10 * SEC && s.out[i].mid < about + 10 * SEC);
        assert_int_equal(outlook_says(&s.out[i], NOW.now), OUTLOOK_TIME);
    }
    end(&s);
}

static void wide_is_a_range(void **state) {
    struct scene s;
    struct outlook again[4];
    start(&s);
    observed(&s, WIDE, N);
    assert_int_equal(look(&s, &NOW), 0);
    memcpy(again, s.out, sizeof(again));
    for (int i = 1; i < 4; i++) {
        assert_true(outlook_says(&s.out[i], NOW.now) >= OUTLOOK_RANGE);
        assert_true(s.out[i].early > s.out[i - 1].early || i == 1);
    }
    assert_int_equal(outlook_says(&s.out[1], NOW.now), OUTLOOK_UNKNOWN); /* 105 to 1,200 s */
    assert_int_equal(look(&s, &NOW), 0); /* the same question, the same answer */
    assert_memory_equal(again, s.out, sizeof(again));
    end(&s);
}

/* Of one that declares to take 1,000 s where alike ones took a tenth of what they declared. */
static void shares_of_what_was_declared(void **state) {
    static const int64_t shares[] = {98, 99, 100, 100, 101, 102}; /* in 1/1,000 */
    struct scene s;
    start(&s);
    observed(&s, shares, N);
    for (int i = 0; i < 4; i++) {
        s.works[i].basis = BASIS_DECLARED;
        s.works[i].runtime = s.works[i].remaining = 1000 * SEC;
        s.works[i].unit = SEC;
    }
    s.works[0].elapsed = 50 * SEC;
    assert_int_equal(look(&s, &NOW), 0);
    assert_true(s.out[1].mid > 1040 * SEC && s.out[1].mid < 1060 * SEC);
    assert_true(s.out[2].mid > 1130 * SEC && s.out[2].mid < 1170 * SEC);
    s.works[0].unit = INT64_MAX / 100; /* no overflow */
    s.works[0].elapsed = 0;
    assert_int_equal(look(&s, &NOW), 0);
    assert_true(s.out[1].late == FORECAST_NEVER || s.out[1].late > NOW.now);
    end(&s);
}

static void declared_stands(void **state) {
    struct scene s;
    start(&s);
    observed(&s, STEADY, N);
    for (int i = 0; i < 4; i++) {
        s.works[i].basis = BASIS_DECLARED;
        s.works[i].n_seen = 0; /* of none like it is known what it took */
    }
    assert_int_equal(look(&s, &NOW), 0);
    assert_true(s.out[2].early == s.works[2].start && s.out[2].late == s.works[2].start);
    s.works[1].basis = BASIS_OBSERVED; /* q waits for p, of which only the like are known */
    s.works[1].n_seen = N;
    assert_int_equal(look(&s, &NOW), 0);
    assert_true(s.out[1].early == s.out[1].late);
    assert_true(s.out[2].early < s.out[2].late);
    end(&s);
}

static void unknown_stays_unknown(void **state) {
    struct scene s;
    start(&s);
    observed(&s, STEADY, N);
    s.works[1].basis = BASIS_UNKNOWN;
    s.works[1].runtime = FORECAST_UNKNOWN;
    s.works[1].n_seen = 0;
    assert_int_equal(look(&s, &NOW), 0);
    assert_int_equal(outlook_says(&s.out[1], NOW.now), OUTLOOK_TIME);
    assert_int_equal(outlook_says(&s.out[2], NOW.now), OUTLOOK_NEVER);
    end(&s);
}

static void is_bounded(void **state) {
    struct scene s;
    atomic_bool stop = true;
    struct forecast_options o = NOW;
    start(&s);
    observed(&s, STEADY, N);
    assert_int_equal(look(&s, &o), 0);
    size_t heads;
    o.heads = &heads;
    assert_int_equal(look(&s, &o), 0);
    o.heads_max = 7 * heads; /* some of the runs come to their end */
    assert_int_equal(look(&s, &o), 0);
    assert_false(s.cut);
    assert_true(s.out[3].early < s.out[3].mid && s.out[3].mid < s.out[3].late);
    o.heads_max = 4 * heads;
    assert_int_equal(look(&s, &o), 0);
    assert_true(s.cut);
    assert_int_equal(outlook_says(&s.out[1], o.now), OUTLOOK_NEVER);
    o.heads_max = 0;
    o.stop = &stop;
    assert_int_equal(outlook_run(&s.c, s.works, 4, &o, &s.a, s.out, &s.cut), ERR_GONE);
    o.stop = NULL;
    arena_release(&s.a);
    arena_init(&s.a, 100);
    assert_int_equal(outlook_run(&s.c, s.works, 4, &o, &s.a, s.out, &s.cut), ERR_NOMEM);
    end(&s);
}

static enum outlook_kind says(int64_t early, int64_t mid, int64_t late) {
    struct outlook o = {early * SEC, mid * SEC, late * SEC};
    return outlook_says(&o, 0);
}

static void what_is_said(void **state) {
    assert_int_equal(says(80, 100, 124), OUTLOOK_TIME);
    assert_int_equal(says(80, 100, 126), OUTLOOK_RANGE);
    assert_int_equal(says(0, 0, 20), OUTLOOK_TIME); /* nobody minds twenty seconds */
    assert_int_equal(says(0, 0, 21), OUTLOOK_UNKNOWN);
    assert_int_equal(says(0, 100, 800), OUTLOOK_RANGE);
    assert_int_equal(says(0, 100, 900), OUTLOOK_UNKNOWN);
    struct outlook o = {100 * SEC, 200 * SEC, FORECAST_NEVER};
    assert_int_equal(outlook_says(&o, 0), OUTLOOK_UNKNOWN);
    o.mid = FORECAST_NEVER;
    assert_int_equal(outlook_says(&o, 0), OUTLOOK_NEVER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_of_the_history),
        cmocka_unit_test(what_ran_on_runs_on),
        cmocka_unit_test(steady_is_a_time),
        cmocka_unit_test(wide_is_a_range),
        cmocka_unit_test(shares_of_what_was_declared),
        cmocka_unit_test(declared_stands),
        cmocka_unit_test(unknown_stays_unknown),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(what_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

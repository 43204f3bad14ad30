/* Tests of the order of a queue: windows over it are those of the whole, sorted the plain way. */
#include "core/admit/engine_list.h"

#include <stdlib.h>

#include "base/prng.h"
#include "base/test.h"

enum { MANY = 400 };

struct one {
    char uid[24];
    const char *local;
    int64_t priority, at;
    bool waits;
};

struct world {
    struct engine *e;
    struct one v[MANY];
    size_t n;
};

static void queue(struct engine *e, const char *name, const char *cohort, int64_t nominal) {
    struct str cpu = STR("cpu");
    struct quota_input q = {nominal, AMOUNT_NONE, AMOUNT_NONE};
    struct group_flavor_input f = {STR("f"), &q};
    struct group_input g = {&cpu, 1, &f, 1};
    struct queue_input in = {
        .name = str_of(name), .cohort = str_of(cohort), .groups = &g, .n_groups = 1, .weight = 1};
    assert_int_equal(engine_queue_put(e, &in), 0);
}

static void put(struct world *w, struct one *o, int64_t cpu) {
    static const struct shape any;
    struct node_amount a = {STR("cpu"), cpu};
    struct set_input s = {STR("main"), 2, 0, &any, &a, 1};
    struct workload_input in = {.uid = str_of(o->uid),
                                .queue = STR("q"),
                                .priority = o->priority,
                                .queued_ns = o->at,
                                .sets = &s,
                                .n_sets = 1,
                                .local = str_of(o->local)};
    assert_int_equal(engine_workload_put(w->e, &in), 0);
}

static void run(struct world *w) {
    const struct engine_action *a;
    size_t n;
    bool more = true;
    while (more) {
        assert_int_equal(engine_run(w->e, 0, 100, &a, &n, &more, NULL), 0);
    }
}

static int plain_cmp(const void *a, const void *b) {
    const struct one *x = a, *y = b;
    if (x->waits != y->waits) {
        return x->waits ? -1 : 1;
    }
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : strcmp(x->uid, y->uid);
}

static void make(struct world *w, uint64_t seed, size_t n) {
    static const char *const locals[] = {"ns/a", "ns/b", "ns/c"};
    struct prng r = {0};
    struct engine_options o = {0};
    prng_seed(&r, seed);
    *w = (struct world){.e = engine_new(&o), .n = n};
    assert_int_equal(engine_flavor_put(w->e, &(struct flavor_input){.name = STR("f")}), 0);
    queue(w->e, "q", "team", 40);
    for (size_t i = 0; i < n; i++) {
        struct one *x = &w->v[i];
        snprintf(x->uid, sizeof(x->uid), "u%03zu", i);
        x->local = locals[prng_below(&r, 3)];
        x->priority = (int64_t)prng_below(&r, 3);
        x->at = (int64_t)prng_below(&r, 50);
        put(w, x, 1 + (int64_t)prng_below(&r, 30));
        if (i % 40 == 39) {
            run(w); /* some hold, some are parked, the rest come later */
        }
    }
    for (size_t i = 0; i < n; i++) {
        bool holds = false;
        assert_true(engine_workload_known(w->e, str_of(w->v[i].uid), &holds));
        w->v[i].waits = !holds;
    }
    qsort(w->v, n, sizeof(*w->v), plain_cmp);
    for (w->n = 0; w->n < n && w->v[w->n].waits;) {
        w->n++;
    }
    assert_true(w->n > n / 2);
}

static size_t local_place(const struct world *w, size_t i) {
    size_t n = 0;
    for (size_t k = 0; k < i; k++) {
        n += strcmp(w->v[k].local, w->v[i].local) == 0;
    }
    return n;
}

static void windows(void **state) {
    static struct world w;
    struct arena a;
    arena_init(&a, 1 << 24);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make(&w, seed, 100 + seed * 15);
        for (size_t offset = 0; offset < w.n + 20; offset += 17) {
            struct queue_listed *v;
            size_t n;
            assert_int_equal(engine_list_queue(w.e, STR("q"), offset, 25, &a, &v, &n), 0);
            assert_int_equal(n, offset >= w.n ? 0 : w.n - offset < 25 ? w.n - offset : 25);
            for (size_t i = 0; i < n; i++) {
                assert_str_eq(v[i].uid, str_of(w.v[offset + i].uid));
                assert_str_eq(v[i].local, str_of(w.v[offset + i].local));
                assert_int_equal(v[i].at, offset + i);
                assert_int_equal(v[i].at_local, local_place(&w, offset + i));
            }
            arena_reset(&a);
        }
        engine_free(w.e);
    }
    arena_release(&a);
}

static void of_a_local_queue(void **state) {
    static struct world w;
    struct arena a;
    arena_init(&a, 1 << 24);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make(&w, seed, 100 + seed * 15);
        for (size_t offset = 0; offset < w.n; offset += 13) {
            struct queue_listed *v;
            size_t n, k = 0;
            assert_int_equal(engine_list_local(w.e, STR("q"), STR("ns/b"), offset, 9, &a, &v, &n),
                             0);
            for (size_t i = 0; i < w.n; i++) {
                bool shown = strcmp(w.v[i].local, "ns/b") == 0 && local_place(&w, i) >= offset &&
                             local_place(&w, i) < offset + 9;
                if (shown) {
                    assert_true(k < n);
                    assert_str_eq(v[k].uid, str_of(w.v[i].uid));
                    assert_int_equal(v[k].at, i);
                    assert_int_equal(v[k].at_local, local_place(&w, i));
                    k++;
                }
            }
            assert_int_equal(k, n);
            arena_reset(&a);
        }
        engine_free(w.e);
    }
    arena_release(&a);
}

static void bounds(void **state) {
    static struct world w;
    struct queue_listed *v;
    struct held_amount sum[4];
    struct arena a;
    size_t n = 7, active, parked;
    arena_init(&a, 1 << 20);
    make(&w, 1, 100);
    assert_int_equal(engine_list_queue(w.e, STR("none"), 0, 1, &a, &v, &n), ERR_NOT_FOUND);
    assert_int_equal(engine_list_queue(w.e, STR("q"), SIZE_MAX, 10, &a, &v, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(engine_list_queue(w.e, STR("q"), 0, 0, &a, &v, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(engine_list_queue(w.e, STR("q"), 1, SIZE_MAX, &a, &v, &n), 0);
    assert_int_equal(n, w.n - 1);
    assert_int_equal(engine_list_local(w.e, STR("q"), STR("ns/none"), 0, 9, &a, &v, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(engine_requests(w.e, str_of(w.v[0].uid), sum, 4), 1);
    assert_true(sum[0].v >= 2 && sum[0].v % 2 == 0); /* two pods */
    assert_int_equal(engine_requests(w.e, STR("nobody"), sum, 4), 0);
    assert_true(engine_is_parked(w.e, str_of(w.v[0].uid)));
    assert_false(engine_is_parked(w.e, STR("nobody")));
    assert_true(engine_hashes(w.e, STR("q"), &active, &parked));
    assert_in_range(active, 1, 20); /* of the last ones, which no run has seen */
    assert_in_range(parked, 2, w.n);
    engine_free(w.e);
    arena_release(&a);
}

struct tree {
    char text[256];
};

static bool cohort_each(void *ctx, const struct engine_cohort *h) {
    struct tree *t = ctx;
    size_t n = strlen(t->text);
    snprintf(t->text + n, sizeof(t->text) - n, "%.*s<%.*s<%.*s;", STR_ARG(h->name),
             STR_ARG(h->parent), STR_ARG(h->root));
    return true;
}

static void above_each(void *ctx, struct str cohort) {
    struct tree *t = ctx;
    size_t n = strlen(t->text);
    snprintf(t->text + n, sizeof(t->text) - n, "%.*s;", STR_ARG(cohort));
}

static void quota_each(void *ctx, uint32_t flavor, uint32_t resource, int64_t quota) {
    *(int64_t *)ctx += quota;
}

static void cohorts(void **state) {
    struct engine_options o = {0};
    struct engine *e = engine_new(&o);
    struct tree t = {""};
    int64_t sum = 0;
    struct cohort_input in = {.name = STR("team"), .parent = STR("org"), .weight = 1};
    assert_int_equal(engine_flavor_put(e, &(struct flavor_input){.name = STR("f")}), 0);
    assert_int_equal(engine_cohort_put(e, &in), 0);
    queue(e, "a", "team", 3);
    queue(e, "b", "team", 4);
    queue(e, "lone", "", 5);
    assert_int_equal(engine_cohorts(e, cohort_each, &t), 0);
    assert_non_null(strstr(t.text, "team<org<org;"));
    assert_non_null(strstr(t.text, "org<<org;"));
    t.text[0] = '\0';
    assert_true(engine_above(e, STR("a"), above_each, &t));
    assert_string_equal(t.text, "team;org;");
    t.text[0] = '\0';
    assert_true(engine_above(e, STR("lone"), above_each, &t));
    assert_string_equal(t.text, "");
    assert_false(engine_above(e, STR("none"), above_each, &t));
    assert_int_equal(engine_cohort_quota(e, STR("org"), quota_each, &sum), 0);
    assert_int_equal(sum, 7);
    assert_int_equal(engine_cohort_quota(e, STR("none"), quota_each, &sum), ERR_NOT_FOUND);
    engine_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),
        cmocka_unit_test(of_a_local_queue),
        cmocka_unit_test(bounds),
        cmocka_unit_test(cohorts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

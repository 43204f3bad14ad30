/* Tests of prometheus: the text format, escapes, histograms, what is refused, faults. */
#include <math.h>

#include "base/mem.h"
#include "base/test.h"
#include "wire/prometheus.h"

static void collect(void *ctx) {
    prom_add(ctx, 1);
}

static void test_text(void **state) {
    struct prom *p = prom_new();
    struct buf b;
    static const char *const labels[] = {"code", "path"};
    static const double bounds[] = {0.1, 1};
    struct prom_family *c =
        prom_family(p, PROM_COUNTER, "requests_total", "All\nof \\ them \"x\".", labels, 2);
    struct prom_family *g = prom_family(p, PROM_GAUGE, "up", "Up.", NULL, 0);
    struct prom_family *h = prom_family(p, PROM_HISTOGRAM, "lat_seconds", "Latency.", labels, 1);
    prom_family(p, PROM_GAUGE, "unused", "No series, no text.", NULL, 0);
    assert_int_equal(prom_buckets(h, bounds, 2), 0);
    prom_add(prom_with(c, "200", "/a\"b\\\n"), 2);
    prom_add(prom_with(c, "200", "/a\"b\\\n"), 1);
    prom_add(prom_with(c, "", ""), 0.5);
    prom_add(prom_with(c, "", ""), -5); /* a counter does not fall */
    prom_set(prom_series(g, NULL), 1e10);
    prom_observe(prom_with(h, "x"), 0.1);
    prom_observe(prom_with(h, "x"), 0.5);
    prom_observe(prom_with(h, "x"), 7);
    assert_int_equal(prom_collector(p, collect, prom_series(g, NULL)), 0);
    buf_init(&b, 0);
    prom_write(p, &b);
    assert_str_eq(
        buf_view(&b),
        STR("# HELP requests_total All\\nof \\\\ them \"x\".\n# TYPE requests_total counter\n"
            "requests_total{code=\"200\",path=\"/a\\\"b\\\\\\n\"} "
            "3\nrequests_total{code=\"\",path=\"\"} 0.5\n"
            "# HELP up Up.\n# TYPE up gauge\nup 10000000001\n"
            "# HELP lat_seconds Latency.\n# TYPE lat_seconds histogram\n"
            "lat_seconds_bucket{code=\"x\",le=\"0.1\"} 1\nlat_seconds_bucket{code=\"x\",le=\"1\"} "
            "2\n"
            "lat_seconds_bucket{code=\"x\",le=\"+Inf\"} 3\nlat_seconds_sum{code=\"x\"} 7.6\n"
            "lat_seconds_count{code=\"x\"} 3\n"));
    buf_release(&b);
    prom_free(p);
}

static size_t lines_of(struct str text, const char *line) {
    size_t n = 0;
    struct str one;
    while (text.n > 0) {
        str_cut(text, '\n', &one, &text);
        n += str_is(one, line);
    }
    return n;
}

/* A piece at a time, while series come and go. */
static void test_pieces(void **state) {
    struct prom *p = prom_new();
    static const char *const labels[] = {"a"};
    struct prom_family *f = prom_family(p, PROM_GAUGE, "x", "X.", labels, 1);
    struct prom_family *g = prom_family(p, PROM_COUNTER, "y", "Y.", labels, 1);
    struct prom_cursor at;
    struct buf b;
    char name[16], line[32];
    size_t pieces = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "%d", i);
        prom_set(prom_with(f, name), i);
        prom_add(prom_with(g, name), i);
    }
    buf_init(&b, 0);
    prom_begin(p, &at);
    while (prom_write_some(p, &at, 100, &b)) {
        snprintf(name, sizeof(name), "%zu", pieces); /* one that was written, in the end all */
        prom_forget(prom_find(f, &(struct str){name, strlen(name)}));
        snprintf(name, sizeof(name), "new%zu", pieces++);
        prom_set(prom_with(f, name), 1); /* the map is rebuilt now and then */
    }
    assert_in_range(pieces, 20, 100);
    assert_int_equal(lines_of(buf_view(&b), "# TYPE x gauge"), 1);
    assert_int_equal(lines_of(buf_view(&b), "# TYPE y counter"), 1);
    for (int i = 0; i < 100; i++) {
        snprintf(line, sizeof(line), "x{a=\"%d\"} %d", i, i);
        assert_int_equal(lines_of(buf_view(&b), line), 1);
        snprintf(line, sizeof(line), "y{a=\"%d\"} %d", i, i);
        assert_int_equal(lines_of(buf_view(&b), line), 1);
    }
    buf_release(&b);
    prom_free(p);
}

struct steps {
    struct prom_series *s;
    int n;
};

static bool three_steps(void *ctx, uint64_t *at) {
    struct steps *x = ctx;
    assert_int_equal(*at, x->n % 3);
    prom_add(x->s, 1);
    x->n++;
    return ++*at < 3;
}

/* Collectors that take several turns are done before the first line. */
static void test_stepper(void **state) {
    struct prom *p = prom_new();
    struct prom_cursor at;
    struct buf b;
    struct steps x = {.s = prom_series(prom_family(p, PROM_GAUGE, "g", "G.", NULL, 0), NULL)};
    buf_init(&b, 0);
    assert_int_equal(prom_stepper(p, three_steps, &x), 0);
    prom_begin(p, &at);
    assert_true(prom_write_some(p, &at, 1000, &b));
    assert_true(prom_write_some(p, &at, 1000, &b));
    assert_int_equal(b.n, 0);
    assert_false(prom_write_some(p, &at, 1000, &b));
    assert_str_eq(buf_view(&b), STR("# HELP g G.\n# TYPE g gauge\ng 3\n"));
    buf_reset(&b);
    prom_write(p, &b); /* at once */
    assert_int_equal(lines_of(buf_view(&b), "g 6"), 1);
    prom_collector_del(p, &x);
    prom_write(p, &b);
    assert_int_equal(x.n, 6);
    buf_release(&b);
    prom_free(p);
}

static void test_refused(void **state) {
    struct prom *p = prom_new();
    static const char *const labels[] = {"a"};
    struct prom_family *f = prom_family(p, PROM_GAUGE, "x", "", labels, 1);
    assert_ptr_equal(prom_family(p, PROM_GAUGE, "x", "", labels, 1), f);
    assert_null(prom_family(p, PROM_COUNTER, "x", "", labels, 1));
    assert_null(prom_family(p, PROM_GAUGE, "x", "", NULL, 0));
    assert_null(prom_with(f, "a", "b"));
    for (int i = 0; i < PROM_SERIES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%d", i);
        assert_non_null(prom_with(f, name));
    }
    assert_null(prom_with(f, "one more"));
    prom_set(NULL, 1);
    prom_observe(NULL, 1);
    prom_add(NULL, 1);
    struct str first = STR("0");
    prom_set(prom_with(f, "0"), 5);
    prom_forget(prom_find(f, &first));
    assert_null(prom_find(f, &first));
    assert_non_null(prom_with(f, "one more")); /* in its place */
    prom_free(p);
}

static void test_numbers(void **state) {
    struct buf b;
    buf_init(&b, 0);
    double v[] = {0, 1, -1.5, 0.1, 1e21, 123456789012, INFINITY, -INFINITY, NAN, 1.0 / 3};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        prom_write_number(&b, v[i]);
        buf_ch(&b, ' ');
    }
    assert_str_eq(buf_view(&b),
                  STR("0 1 -1.5 0.1 1e+21 123456789012 +Inf -Inf NaN 0.3333333333333333 "));
    buf_release(&b);
}

static void test_alloc_faults(void **state) {
    static const char *const labels[] = {"a"};
    for (uint64_t nth = 1;; nth++) {
        mem_fault(nth, 0);
        struct prom *p = prom_new();
        prom_add(prom_with(prom_family(p, PROM_COUNTER, "c", "h", labels, 1), "v"), 1);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        prom_free(p);
        if (!hit) {
            assert_true(nth > 8);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_stepper), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_alloc_faults),
    };
    return cmocka_run_group_tests_name("prometheus", tests, NULL, NULL);
}

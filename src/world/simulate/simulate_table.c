/* simulate_table: the report of `berth simulate` for people. See simulate.h. */
#include "cli/kit/table.h"
#include "world/simulate/simulate.h"

enum { QUEUES_SHOWN = 40, LEFT_SHOWN = 10, ARENA_MAX = 256 << 20 };

static void text(struct table *t, size_t column, struct str s) {
    table_set(t, column, STYLE_PLAIN, s);
}

__attribute__((format(printf, 3, 4))) static void cell(struct table *t, size_t column,
                                                       const char *fmt, ...) {
    char s[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s, sizeof s, fmt, ap);
    va_end(ap);
    text(t, column, str_of(s));
}

/* 0.2s, 61.3s, 12m40s, 5h20m, 3d4h: short, and wide enough to compare. */
static void span(struct table *t, size_t column, double s) {
    if (s < 120) {
        cell(t, column, "%.1fs", s);
    } else if (s < 7200) {
        cell(t, column, "%dm%02ds", (int)s / 60, (int)s % 60);
    } else if (s < 172800) {
        cell(t, column, "%dh%02dm", (int)(s / 3600), (int)(s / 60) % 60);
    } else {
        cell(t, column, "%dd%02dh", (int)(s / 86400), (int)(s / 3600) % 24);
    }
}

static void spans(struct table *t, size_t column, const struct report_times *x) {
    const double v[] = {x->mean, x->p50, x->p95, x->p99, x->max};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        if (x->n) {
            span(t, column + i, v[i]);
        } else {
            text(t, column + i, STR("-"));
        }
    }
}

static const char *const group_columns[] = {"",        "WORKLOADS", "DONE", "LEFT", "WAIT MEAN",
                                            "P50",     "P95",       "P99",  "MAX",  "RUN MEAN",
                                            "EVICTED", "LOST",      "SHARE"};
enum { GROUP_COLUMNS = sizeof group_columns / sizeof *group_columns };

static void group_row(struct table *t, struct ledger_group *g, double share) {
    struct report_group r;
    report_group(g, &r);
    table_row(t);
    text(t, 0, r.name);
    cell(t, 1, "%lld", (long long)r.submitted);
    cell(t, 2, "%lld", (long long)r.finished);
    cell(t, 3, "%lld", (long long)r.left);
    spans(t, 4, &r.wait);
    if (r.run.n) {
        span(t, 9, r.run.mean);
    } else {
        text(t, 9, STR("-"));
    }
    cell(t, 10, "%lld", (long long)r.evicted);
    span(t, 11, r.lost_s);
    if (share >= 0) {
        cell(t, 12, "%.1f%%", share);
    }
}

static void begin(struct table *t, struct arena *a, const char **columns, const char *first,
                  size_t n) {
    memcpy(columns, group_columns, sizeof group_columns);
    columns[0] = first;
    table_init(t, a, columns, n);
}

static void groups(struct ledger *l, bool each_queue, struct arena *a, struct buf *out) {
    const char *columns[GROUP_COLUMNS];
    struct table t;
    struct ledger_queue *q;
    struct ledger_group *c;
    size_t n = map_count(&l->queues);
    begin(&t, a, columns, "QUEUE", GROUP_COLUMNS);
    for (size_t i = 0; (each_queue || n <= QUEUES_SHOWN) && (q = report_queue(l, i)); i++) {
        group_row(&t, &q->group, report_share(l, q));
    }
    if (t.n_rows == 0) {
        buf_f(out, "%zu queues (--each-queue shows them)\n", n);
    }
    group_row(&t, &l->all, -1);
    table_write(&t, false, 0, out);
    buf_c(out, "\n");
    begin(&t, a, columns, "CLASS", GROUP_COLUMNS - 1);
    for (size_t i = 0; (c = report_class(l, i)); i++) {
        group_row(&t, c, -1);
    }
    table_write(&t, false, 0, out);
}

static void uses(struct ledger *l, struct arena *a, struct buf *out) {
    static const char *const columns[] = {"FLAVOR",   "RESOURCE", "QUOTA",
                                          "MEAN USE", "PEAK",     "USED"};
    struct table t;
    table_init(&t, a, columns, sizeof columns / sizeof *columns);
    for (size_t p = 0; p < l->n_pairs; p++) {
        struct report_use r;
        report_use(l, &l->use[p], p, &r);
        table_row(&t);
        text(&t, 0, r.flavor);
        text(&t, 1, r.resource);
        cell(&t, 2, "%.1f", r.nominal);
        cell(&t, 3, "%.1f", r.mean);
        cell(&t, 4, "%.1f", r.peak);
        cell(&t, 5, "%.1f%%", 100 * r.share);
    }
    table_write(&t, false, 0, out);
}

static void evictions(struct ledger *l, struct arena *a, struct buf *out) {
    static const char *const columns[] = {"EVICTED FOR", "TIMES"};
    struct table t;
    table_init(&t, a, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < l->n_reasons; i++) {
        table_row(&t);
        text(&t, 0, l->reasons[i]);
        cell(&t, 1, "%lld", (long long)l->all.evictions[i]);
    }
    if (l->n_reasons) {
        buf_c(out, "\n");
        table_write(&t, false, 0, out);
    }
}

static void summary(struct sim *s, const struct report_run *r, const struct ledger *l,
                    struct buf *out) {
    static const char *const ends[] = {"everything is over", "the time was up",
                                       "nothing moves any more"};
    buf_f(out, "\n%.3f s of virtual time went by; %s.\n", r->time_s, ends[r->end]);
    if (l->all.finished) {
        buf_f(out, "The last workload ended at %.3f s", r->makespan_s);
        if (r->floor_s > 0) {
            buf_f(out, "; the arithmetic least is %.3f s (%+.1f%%)", r->floor_s,
                  100 * (r->makespan_s / r->floor_s - 1));
        }
        if (r->floor_lost_s > r->floor_s) {
            buf_f(out, ", with the work that evictions lost %.3f s (%+.1f%%)", r->floor_lost_s,
                  100 * (r->makespan_s / r->floor_lost_s - 1));
        }
        buf_c(out, ".\n");
    }
    if (r->fairness >= 0) {
        buf_f(out, "Fairness (Jain's index of shares over weights, 1 is even): %.3f.\n",
              r->fairness);
    }
}

static void left(struct sim *s, struct arena *a, struct buf *out) {
    static const char *const columns[] = {"LEFT", "STATE", "REASON", "MESSAGE"};
    struct table t;
    struct report_left r;
    size_t at = 0;
    table_init(&t, a, columns, sizeof columns / sizeof *columns);
    while (t.n_rows < LEFT_SHOWN && report_left(s, &at, a, &r)) {
        table_row(&t);
        text(&t, 0, arena_f(a, "%.*s/%.*s", STR_ARG(r.ns), STR_ARG(r.name)));
        text(&t, 1, r.state);
        text(&t, 2, r.reason);
        text(&t, 3, r.message);
    }
    if (t.n_rows) {
        buf_c(out, "\n");
        table_write(&t, false, 0, out);
    }
}

void simulate_table(struct sim *s, enum sim_end end, const struct sim_options *o, bool each_queue,
                    struct buf *out) {
    struct ledger *l = sim_ledger(s);
    struct report_run r;
    struct arena a;
    arena_init(&a, ARENA_MAX);
    report_run(s, end, o, &r);
    if (sim_story(s)) {
        story_lines(sim_story(s), out);
        buf_ch(out, '\n');
    }
    groups(l, each_queue, &a, out);
    buf_c(out, "\n");
    uses(l, &a, out);
    evictions(l, &a, out);
    left(s, &a, out);
    summary(s, &r, l, out);
    arena_release(&a);
}

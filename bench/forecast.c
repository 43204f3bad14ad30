/*
 * forecast: how far from the truth the first estimated start of a job is, on simulated lives of one queue, by kind of
 * history. The estimate is made as `control/insight` makes it: a copy of the engine is run forward on the medians of
 * the run times seen so far. The error is |told - came| over the wait that came.
 *
 *     bench-forecast [SEED]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "control/run_times.h"
#include "core/clone.h"
#include "core/forecast.h"

enum { JOBS = 1500, SLOTS = 8, LEARNT = 300, MINUTE = 60 };
#define NS ((int64_t)1000000000)

/* Run times of one kind of history: around `typical` minutes, and of some a multiple of it. */
static const struct kind_of_life {
    const char *name;
    double sigma;        /* of the logarithm */
    double often, times; /* share of the jobs that run so many times as long */
} KINDS[] = {
    {"all nearly the same", 0.05, 0, 1},
    {"as usual", 0.3, 0, 1},
    {"wide", 1.0, 0, 1},
    {"two sorts of one name", 0.1, 0.3, 8},
};

struct job {
    char uid[12];
    int64_t at, runs, started, told;
    bool waits, ended;
};

struct life {
    struct engine *e;
    struct run_times *times;
    struct job jobs[JOBS];
    size_t n; /* that came */
    double errors[JOBS];
    size_t n_errors, unknown;
};

static const struct shape ANY = {0};
static const struct run_times_of ALIKE = {
    .ns = {"team", 4}, .queue = {"q", 1}, .kind = {"Job", 3}, .name = {"train-1", 7}};

static void must(int code, const char *what) {
    if (code != 0) {
        fprintf(stderr, "bench-forecast: %s: %s\n", what, err_name(code));
        exit(1);
    }
}

static void begin(struct life *l) {
    struct engine_options o = {0};
    struct flavor_input f = {.name = STR("f")};
    struct str cpu = STR("cpu");
    struct quota_input q = {SLOTS, AMOUNT_NONE, AMOUNT_NONE};
    struct group_flavor_input gf = {STR("f"), &q};
    struct group_input g = {&cpu, 1, &gf, 1};
    struct queue_input in = {.name = STR("q"), .groups = &g, .n_groups = 1, .weight = 1};
    *l = (struct life){.e = engine_new(&o), .times = run_times_new()};
    must(l->e != NULL && l->times != NULL ? 0 : ERR_NOMEM, "engine");
    must(engine_flavor_put(l->e, &f), "flavor");
    must(engine_queue_put(l->e, &in), "queue");
}

static struct job *job_of(struct life *l, struct str uid) {
    return &l->jobs[strtoul(uid.p + 1, NULL, 10)];
}

static void decide(struct life *l, int64_t now) {
    bool more = true;
    while (more) {
        const struct engine_action *a;
        size_t n;
        must(engine_run(l->e, now, 256, &a, &n, &more, NULL), "run");
        for (size_t i = 0; i < n; i++) {
            struct job *j = job_of(l, a[i].uid);
            if (a[i].type != ACTION_ADMIT) {
                continue;
            }
            j->started = now;
            if (j->waits && j->told != FORECAST_NEVER && now > j->at) {
                l->errors[l->n_errors++] = fabs((double)(j->told - now)) / (double)(now - j->at);
            }
        }
    }
}

/* What a whole run takes, and what is left of one that began. */
static void work_of(const struct life *l, const struct job *j, int64_t now,
                    struct forecast_work *ret) {
    size_t n;
    int64_t median = run_times_median(l->times, &ALIKE, &n), elapsed = now - j->started;
    *ret = (struct forecast_work){.uid = str_of(j->uid),
                                  .holds = j->started >= 0,
                                  .runtime = median < 0 ? FORECAST_UNKNOWN : median,
                                  .remaining = FORECAST_UNKNOWN,
                                  .basis = median < 0 ? BASIS_UNKNOWN : BASIS_OBSERVED};
    if (median >= 0 && j->started >= 0) {
        int64_t left = run_times_left(l->times, &ALIKE, elapsed);
        ret->remaining = left > 0 ? left : median / 10 + NS;
    }
}

static void tell(struct life *l, struct job *j, int64_t now) {
    static struct forecast_work works[JOBS];
    struct forecast_options o = {.now = now};
    struct str q = STR("q");
    struct engine *copy;
    struct clone c;
    size_t n = 0, it = 0;
    bool cut;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->jobs[i].ended) {
            it = &l->jobs[i] == j ? n : it;
            work_of(l, &l->jobs[i], now, &works[n++]);
        }
    }
    must(clone_take(l->e, &q, 1, NULL, 0, NULL, &c), "clone");
    must(clone_build(&c, &copy), "clone");
    must(forecast_run(copy, works, n, &o, &cut), "forecast");
    j->waits = true;
    j->told = works[it].start;
    l->unknown += j->told == FORECAST_NEVER;
    engine_free(copy);
    clone_release(&c);
}

static void arrive(struct life *l, int64_t now, int64_t runs) {
    struct job *j = &l->jobs[l->n];
    struct node_amount cpu = {STR("cpu"), l->n % 5 == 0 ? 3 : 1};
    struct set_input s = {STR("main"), 1, 0, &ANY, &cpu, 1};
    *j = (struct job){.at = now, .runs = runs, .started = -1, .told = FORECAST_NEVER};
    (void)snprintf(j->uid, sizeof(j->uid), "j%zu", l->n);
    struct workload_input in = {
        .uid = str_of(j->uid), .queue = STR("q"), .queued_ns = now, .sets = &s, .n_sets = 1};
    must(engine_workload_put(l->e, &in), "put");
    l->n++;
    decide(l, now);
    if (j->started < 0 && l->n > LEARNT) {
        tell(l, j, now);
    }
}

static struct job *next_end(struct life *l) {
    struct job *first = NULL;
    for (size_t i = 0; i < l->n; i++) {
        struct job *j = &l->jobs[i];
        if (j->started >= 0 && !j->ended &&
            (first == NULL || j->started + j->runs < first->started + first->runs)) {
            first = j;
        }
    }
    return first;
}

static double normal(struct prng *r) {
    return sqrt(-2 * log(1 - prng_unit(r))) * cos(2 * M_PI * prng_unit(r));
}

static void live(struct life *l, const struct kind_of_life *k, struct prng *r) {
    double mean = 10 * MINUTE * exp(k->sigma * k->sigma / 2) * (1 - k->often + k->often * k->times);
    int64_t arrival = 0;
    for (struct job *j = NULL; l->n < JOBS || (j = next_end(l)) != NULL;) {
        j = next_end(l);
        int64_t end = j != NULL ? j->started + j->runs : INT64_MAX;
        if (l->n < JOBS && arrival <= end) {
            double runs = 10 * MINUTE * exp(k->sigma * normal(r));
            runs *= prng_unit(r) < k->often ? k->times : 1;
            arrive(l, arrival, (int64_t)(runs * (double)NS));
            /* 1.4 slots a job; somewhat less comes than there is room for */
            double gap = -log(1 - prng_unit(r)) * mean * 1.4 / SLOTS / 0.85;
            arrival += (int64_t)(gap * (double)NS);
            continue;
        }
        j->ended = true;
        run_times_note(l->times, &ALIKE, j->runs);
        engine_workload_del(l->e, str_of(j->uid));
        decide(l, end);
    }
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static struct life l;
    printf("%-24s %8s %8s %8s %8s\n", "history", "told", "unknown", "p50 %", "p90 %");
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        struct prng r;
        prng_seed(&r, argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
        begin(&l);
        live(&l, &KINDS[i], &r);
        qsort(l.errors, l.n_errors, sizeof(l.errors[0]), rising);
        size_t n = l.n_errors;
        printf("%-24s %8zu %8zu %8.1f %8.1f\n", KINDS[i].name, n, l.unknown,
               n > 0 ? 100 * l.errors[n / 2] : 0, n > 0 ? 100 * l.errors[n * 9 / 10] : 0);
        engine_free(l.e);
        run_times_free(l.times);
    }
    return 0;
}

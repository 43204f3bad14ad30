/*
 * forecast: how far from the truth the first estimated start of a job is, on simulated lives of one queue, by kind of
 * history. The estimate is made as `control/see/insight` makes it: an outlook on the run times seen so far, stretched
 * by what came of earlier ones.
 *
 * Of the jobs that waited: how many were told a time, and its error |told - came| over the wait that came; how many a
 * range, how often the start lay in it or after it, how wide it is over its middle, and how far off that middle was;
 * how many were told "unknown"; and how many outlived the latest start that they were told, when they asked again
 * then: once, or three times.
 *
 *     bench-forecast [SEED]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "control/kit/run_times.h"
#include "core/whatif/clone.h"
#include "core/whatif/hindsight.h"

enum { LIVES = 8, JOBS = 1500, SLOTS = 8, LEARNT = 300, MINUTE = 60 };
#define NS ((int64_t)1000000000)

/* Run times of one kind of history: around `typical` minutes, and of some a multiple of it. */
static const struct kind_of_life {
    const char *name;
    double sigma;        /* of the logarithm */
    double often, times; /* share of the jobs that run so many times as long */
    int declared;        /* minutes that are declared for each; 0: none are */
} KINDS[] = {
    {"all nearly the same", 0.05, 0, 1, 0},
    {"as usual", 0.3, 0, 1, 0},
    {"wide", 1.0, 0, 1, 0},
    {"two sorts of one name", 0.1, 0.3, 8, 0},
    {"declared, as usual", 0.3, 0, 1, 10},
    {"declared, three times that", 0.3, 0, 1, 30},
};

struct job {
    char uid[12];
    int slots;
    int64_t at, runs, started;
    struct outlook told;
    enum outlook_kind says;
    int64_t until; /* the latest start that was told last */
    unsigned slid; /* how many times that passed */
    bool waits, ended;
};

enum { TOLD_MAX = 6 * LIVES * JOBS };
struct sums {
    double errors[TOLD_MAX];  /* of those told a time: |told - came| over the wait */
    double middles[TOLD_MAX]; /* of those told a range: the same of its middle */
    double widths[TOLD_MAX];  /* of those: the range over the wait to its middle */
    size_t n_errors, n_middles, within, later, unknown, waited, slid, slid_thrice;
};

struct life {
    struct engine *e;
    struct run_times *times;
    struct job jobs[JOBS];
    size_t n; /* that came */
    struct hindsight *hindsight;
    const struct kind_of_life *kind;
    struct sums *sums; /* of this kind, and of all */
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
    *l = (struct life){.e = engine_new(&o), .times = run_times_new(), .hindsight = hindsight_new()};
    must(l->e != NULL && l->times != NULL ? 0 : ERR_NOMEM, "engine");
    must(engine_flavor_put(l->e, &f), "flavor");
    must(engine_queue_put(l->e, &in), "queue");
}

static struct job *job_of(struct life *l, struct str uid) {
    return &l->jobs[strtoul(uid.p + 1, NULL, 10)];
}

static void judge(struct sums *s, const struct job *j) {
    double off = fabs((double)(j->told.mid - j->started)) / (double)(j->started - j->at);
    s->waited++;
    s->slid += j->slid > 0;
    s->slid_thrice += j->slid > 2;
    if (j->says == OUTLOOK_TIME) {
        s->errors[s->n_errors++] = off;
    } else if (j->says == OUTLOOK_RANGE) {
        s->widths[s->n_middles] =
            (double)(j->told.late - j->told.early) / (double)(j->told.mid - j->at);
        s->middles[s->n_middles++] = off;
        s->within += j->started >= j->told.early && j->started <= j->told.late;
        s->later += j->started > j->told.late;
    } else {
        s->unknown++;
    }
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
            hindsight_started(l->hindsight, a[i].uid, now);
            if (j->waits && now > j->at) {
                judge(&l->sums[0], j);
                judge(&l->sums[1], j);
            }
        }
    }
}

static void declared_of(const struct life *l, int64_t elapsed, struct forecast_work *ret) {
    ret->basis = BASIS_DECLARED;
    ret->runtime = l->kind->declared * MINUTE * NS;
    ret->remaining = ret->runtime - elapsed;
    if (ret->remaining <= 0) {
        int64_t tenth = ret->runtime / 10;
        ret->remaining = tenth > -ret->remaining ? tenth : -ret->remaining;
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
                                  .basis = median < 0 ? BASIS_UNKNOWN : BASIS_OBSERVED,
                                  .elapsed = elapsed};
    ret->seen = run_times_seen(l->times, &ALIKE, &ret->n_seen);
    ret->unit = 1;
    if (l->kind->declared > 0) {
        declared_of(l, elapsed, ret);
        ret->seen = run_times_shares(l->times, &ALIKE, &ret->n_seen);
        ret->unit = ret->runtime / RUN_TIMES_WHOLE;
    } else if (median >= 0 && j->started >= 0) {
        int64_t left = run_times_left(l->times, &ALIKE, elapsed);
        ret->remaining = left > 0 ? left : median / 10 + NS;
    }
}

static struct workload_input input_of(const struct job *j) {
    static struct node_amount cpu;
    static struct set_input s;
    cpu = (struct node_amount){STR("cpu"), j->slots};
    s = (struct set_input){STR("main"), 1, 0, &ANY, &cpu, 1};
    return (struct workload_input){
        .uid = str_of(j->uid), .queue = STR("q"), .queued_ns = j->at, .sets = &s, .n_sets = 1};
}

/* Who waits past what was said of it shows in what is said of the others. */
static void look_back(struct life *l, struct hindsight *h, int64_t now) {
    char key[HINDSIGHT_KEY_MAX];
    for (size_t i = 0; i < l->n; i++) {
        if (l->jobs[i].started < 0) {
            struct workload_input in = input_of(&l->jobs[i]);
            struct hindsight_told told = hindsight_told(l->hindsight, in.uid);
            hindsight_late(h, hindsight_class(&in, key), &told, now);
        }
    }
}

static void say(struct life *l, struct job *j, const struct outlook *o, int64_t now) {
    char key[HINDSIGHT_KEY_MAX];
    struct workload_input in = input_of(j);
    struct str class = hindsight_class(&in, key);
    struct hindsight_told told = {.at = now, .said = *o};
    struct hindsight *h = hindsight_copy(l->hindsight);
    look_back(l, h, now);
    struct hindsight_told first = hindsight_told(l->hindsight, in.uid);
    struct outlook adjusted = *o;
    hindsight_adjust(h, class, &first, now, &adjusted);
    j->until = outlook_says(&adjusted, now) == OUTLOOK_UNKNOWN ? INT64_MAX : adjusted.late;
    if (!j->waits) {
        j->waits = true;
        j->told = adjusted;
        j->says = outlook_says(&adjusted, now);
    }
    hindsight_note(l->hindsight, in.uid, class, &told);
    hindsight_free(h);
}

static void tell(struct life *l, struct job *j, int64_t now) {
    static struct forecast_work works[JOBS];
    static struct outlook outlooks[JOBS];
    struct forecast_options o = {.now = now};
    struct str q = STR("q");
    struct engine *copy;
    struct clone c;
    struct arena a;
    size_t n = 0, it = 0;
    bool cut;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->jobs[i].ended) {
            it = &l->jobs[i] == j ? n : it;
            work_of(l, &l->jobs[i], now, &works[n++]);
        }
    }
    arena_init(&a, 64 << 20);
    must(clone_take(l->e, &q, 1, NULL, 0, NULL, &c), "clone");
    must(clone_build(&c, &copy), "clone");
    must(forecast_run(copy, works, n, &o, &cut), "forecast");
    must(outlook_run(&c, works, n, &o, &a, outlooks, &cut), "outlook");
    say(l, j, &outlooks[it], now);
    engine_free(copy);
    clone_release(&c);
    arena_release(&a);
}

/* Whoever waits past the latest start that was told asks again. */
static void ask_again(struct life *l, int64_t now) {
    for (size_t i = 0; i < l->n; i++) {
        struct job *j = &l->jobs[i];
        if (j->waits && j->started < 0 && now > j->until) {
            j->slid++;
            tell(l, j, now);
        }
    }
}

static void arrive(struct life *l, int64_t now, int64_t runs) {
    struct job *j = &l->jobs[l->n];
    *j = (struct job){.at = now, .runs = runs, .started = -1, .slots = l->n % 5 == 0 ? 3 : 1};
    (void)snprintf(j->uid, sizeof(j->uid), "j%zu", l->n);
    struct workload_input in = input_of(j);
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

static void live(struct life *l, struct prng *r) {
    const struct kind_of_life *k = l->kind;
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
        run_times_note_declared(l->times, &ALIKE, j->runs, l->kind->declared * MINUTE * NS);
        engine_workload_del(l->e, str_of(j->uid));
        decide(l, end);
        ask_again(l, end);
    }
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at(double *v, size_t n, double share) {
    qsort(v, n, sizeof(*v), rising);
    return n > 0 ? v[(size_t)((double)(n - 1) * share)] : 0;
}

static double share(size_t n, size_t of) {
    return of > 0 ? 100 * (double)n / (double)of : 0;
}

static void report(const char *name, struct sums *s) {
    printf("%-26s %6zu | %5.1f %6.1f %6.1f | %5.1f %6.1f %6.1f %6.1f %8.1f | %7.1f | %6.1f %6.1f\n",
           name, s->waited, share(s->n_errors, s->waited), 100 * at(s->errors, s->n_errors, 0.5),
           100 * at(s->errors, s->n_errors, 0.9), share(s->n_middles, s->waited),
           share(s->within, s->n_middles), share(s->later, s->n_middles),
           100 * at(s->widths, s->n_middles, 0.5), 100 * at(s->middles, s->n_middles, 0.5),
           share(s->unknown, s->waited), share(s->slid, s->waited),
           share(s->slid_thrice, s->waited));
}

static void lives(const struct kind_of_life *k, uint64_t seed, struct sums *sums) {
    static struct life l;
    for (uint64_t i = 0; i < LIVES; i++) {
        struct prng r;
        prng_seed(&r, seed + i);
        begin(&l);
        l.kind = k;
        l.sums = sums;
        live(&l, &r);
        engine_free(l.e);
        run_times_free(l.times);
        hindsight_free(l.hindsight);
    }
}

int main(int argc, char **argv) {
    static struct sums sums[2];
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    printf("%-26s %6s | %5s %6s %6s | %5s %6s %6s %6s %8s | %7s | %6s %6s\n", "history", "waited",
           "time", "p50 %", "p90 %", "range", "within", "later", "width", "middle %", "unknown",
           "slid", "3 x");
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        memset(&sums[0], 0, sizeof(sums[0]));
        lives(&KINDS[i], seed, sums);
        report(KINDS[i].name, &sums[0]);
    }
    report("all", &sums[1]);
    return 0;
}

/*
 * bench-calendar: the calendar with 100,000 reservations: a query (does this fit?), an insertion, a removal, and what a
 * page of availability costs.   bench-calendar [RESERVATIONS [LOAD]]
 *
 * The floor is one search in a sorted array of as many starts, in random order: no index of them can do with less. Each
 * figure is of one call, in time of the processor; the clock's own cost is taken off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/prng.h"
#include "core/test/calendar_fixture.h"
#include "measure.h"

enum { NODES = 64, CARDS = 8, SAMPLES = 20000, DAYS = 120, QUARTER = 900, DAY_QUARTERS = 96 };
static const int64_t T0 = 1700000100 - 1700000100 % 86400;

struct load {
    const char *name;
    bool cards, slices;
    int64_t longest; /* in quarters of an hour */
    int days;
    size_t most; /* reservations, where there is no room for as many as are asked for; 0: those */
};

static const struct load LOADS[] = {
    {"512 H200, whole GPUs and slices", true, true, 32, DAYS, 0},
    {"the same, crowded", true, true, 32, DAYS / 6, 0},
    {"512 whole GPUs, crowded", true, false, 32, DAYS / 2, 0},
    {"a pool of 512 GPUs", false, false, 32, DAYS, 0},
    {"512 whole GPUs, more asked for than there is", true, false, 32, DAYS / 3, 0},
    {"512 H200, slices, more asked for than there is", true, true, 32, DAYS / 40, 20000},
};

static int64_t cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct run {
    const struct load *load;
    struct calendar *c;
    struct prng r;
    size_t n, next;
    uint8_t *live; /* by number of the id */
    int64_t *samples;
    int64_t clock; /* what reading it costs */
};

static const char *const SLICES[] = {MIG("1g.18gb"), MIG("1g.18gb"), MIG("1g.18gb"), MIG("1g.35gb"),
                                     MIG("2g.35gb"), MIG("2g.35gb"), MIG("3g.71gb"), CALENDAR_GPU};

/* Any booking of the load, under the id of a number. */
static void any(struct run *x, size_t number, char id[32], struct calendar_line *line,
                struct calendar_ask *ask) {
    int n = snprintf(id, 32, "r%zu", number);
    int64_t start = (int64_t)prng_below(&x->r, (uint64_t)x->load->days * DAY_QUARTERS);
    const char *what = x->load->slices ? SLICES[prng_below(&x->r, 8)] : CALENDAR_GPU;
    uint64_t dice = prng_below(&x->r, 20);
    *line = (struct calendar_line){.resource = str_of(what),
                                   .count = dice == 0  ? 4
                                            : dice < 3 ? 2
                                                       : 1,
                                   .same_node = dice == 0};
    *ask = (struct calendar_ask){.id = str_from(id, (size_t)n),
                                 .start = T0 + QUARTER * (4 + start),
                                 .lines = line,
                                 .n_lines = 1,
                                 .order = (int64_t)number};
    ask->end = ask->start + QUARTER * (2 + (int64_t)prng_below(&x->r, (uint64_t)x->load->longest));
}

static void supply(struct run *x) {
    struct err err;
    char buf[48];
    for (int n = 0; x->load->cards && n < NODES; n++) {
        for (int i = 0; i < CARDS; i++) {
            struct calendar_card card = h200(buf, n, i, x->load->slices ? 120 : 0);
            card.dynamic = x->load->slices;
            if (calendar_card_put(x->c, &card, &err) != 0) {
                exit(1);
            }
        }
    }
    if (!x->load->cards &&
        calendar_pool_put(x->c, STR("h200"), STR(CALENDAR_GPU), NODES * CARDS, &err) != 0) {
        exit(1);
    }
    calendar_now(x->c, T0);
}

/* 1 accepted, 0 refused; its time in *ret_ns. */
static int insert(struct run *x, int64_t *ret_ns) {
    char id[32];
    struct calendar_line line;
    struct calendar_ask ask;
    any(x, x->next, id, &line, &ask);
    int64_t begun = cpu_now();
    int r = calendar_insert(x->c, &ask, NULL);
    *ret_ns = cpu_now() - begun - x->clock;
    x->live[x->next++] = r == 0;
    return r == 0;
}

static void remove_any(struct run *x) {
    for (;;) {
        size_t k = prng_below(&x->r, x->next);
        char id[32];
        if (x->live[k]) {
            int n = snprintf(id, sizeof(id), "r%zu", k);
            (void)calendar_remove(x->c, str_from(id, (size_t)n));
            x->live[k] = 0;
            return;
        }
    }
}

static void print(struct run *x, const char *what, size_t n, double floor) {
    int64_t p50 = measure_percentile(x->samples, n, 0.5), p99 = x->samples[n - 1 - n / 100];
    printf("  %-34s p50 %8.2f us  p99 %8.2f us  max %8.1f us   p99 is %6.1f floors\n", what,
           (double)p50 / 1e3, (double)p99 / 1e3, (double)x->samples[n - 1] / 1e3,
           (double)p99 / floor);
}

static void queries(struct run *x, double floor) {
    size_t fits = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        char id[32];
        struct calendar_line line;
        struct calendar_ask ask;
        any(x, x->next, id, &line, &ask);
        int64_t begun = cpu_now();
        fits += calendar_check(x->c, &ask, (struct str){0}, NULL, NULL, NULL) == 0;
        x->samples[i] = cpu_now() - begun - x->clock;
    }
    char what[64];
    snprintf(what, sizeof(what), "query (%.1f %% fit)", 100.0 * (double)fits / SAMPLES);
    print(x, what, SAMPLES, floor);
}

static void insertions(struct run *x, double floor) {
    size_t n = 0, fits = 0;
    for (; n < SAMPLES; n++) {
        int ok = insert(x, &x->samples[n]);
        fits += (size_t)ok;
        if (ok) {
            remove_any(x);
        }
    }
    char what[64];
    snprintf(what, sizeof(what), "insertion (%.1f %% accepted)", 100.0 * (double)fits / SAMPLES);
    print(x, what, n, floor);
    for (size_t i = 0; i < SAMPLES / 10; i++) {
        int64_t begun = cpu_now();
        remove_any(x);
        x->samples[i] = cpu_now() - begun - x->clock;
    }
    print(x, "removal", SAMPLES / 10, floor);
}

static void pages(struct run *x) {
    struct calendar_free v[7 * 24];
    struct calendar_type t;
    size_t pos = 0, types = 0;
    int64_t begun = cpu_now();
    while (calendar_type_next(x->c, &pos, &t)) {
        types += calendar_slots(x->c, t.flavor, t.resource, T0 + 86400 * 7, 3600, 7 * 24, v) == 0;
    }
    printf("  a week of hours, %zu resources: %.2f ms\n", types, (double)(cpu_now() - begun) / 1e6);
    struct arena a;
    struct calendar_line line;
    struct calendar_ask ask;
    struct calendar_alternative *alts;
    size_t n, k = 0, offered = 0;
    char id[32];
    arena_init(&a, 1 << 20);
    for (int tries = 0; k < 200 && tries < 200000; tries++) {
        any(x, x->next, id, &line, &ask);
        if (calendar_check(x->c, &ask, (struct str){0}, NULL, NULL, NULL) == 0) {
            continue;
        }
        begun = cpu_now();
        (void)calendar_alternatives(x->c, &ask, (struct str){0}, T0, ask.start + 14 * 86400, &a,
                                    &alts, &n);
        x->samples[k++] = cpu_now() - begun;
        offered += n;
        arena_reset(&a);
    }
    if (k > 0) {
        printf("  alternatives to a refusal (%.1f each) p50 %.2f ms  p99 %.2f ms\n",
               (double)offered / (double)k, (double)measure_percentile(x->samples, k, 0.5) / 1e6,
               (double)measure_percentile(x->samples, k, 0.99) / 1e6);
    }
    arena_release(&a);
}

/* ns of one search in a sorted array of n. */
static double floor_of(size_t n) {
    int64_t *v = malloc(n * sizeof(*v));
    struct prng r;
    uint64_t sum = 0;
    double best = 1e18;
    prng_seed(&r, 3);
    for (size_t i = 0; v != NULL && i < n; i++) {
        v[i] = (int64_t)i * QUARTER;
    }
    for (int round = 0; v != NULL && round < 5; round++) {
        int64_t begun = cpu_now();
        for (int i = 0; i < SAMPLES; i++) {
            int64_t want = (int64_t)prng_below(&r, n * QUARTER);
            size_t lo = 0, hi = n;
            while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (v[mid] < want) {
                    lo = mid + 1;
                } else {
                    hi = mid;
                }
            }
            sum += lo;
        }
        double each = (double)(cpu_now() - begun) / SAMPLES;
        best = each < best ? each : best;
    }
    free(v);
    return sum > 0 ? best : 1;
}

static int64_t clock_cost(void) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t begun = cpu_now(), d = cpu_now() - begun;
        least = d < least ? d : least;
    }
    return least;
}

static void one_load(const struct load *l, size_t reservations) {
    reservations = l->most > 0 && l->most < reservations ? l->most : reservations;
    size_t tries = 0, most = 20 * reservations + 8 * SAMPLES;
    struct run x = {.load = l, .c = calendar_new(NULL), .clock = clock_cost()};
    int64_t ns;
    x.live = calloc(most + 1000000, 1);
    x.samples = calloc(SAMPLES, sizeof(*x.samples));
    if (x.c == NULL || x.live == NULL || x.samples == NULL) {
        exit(1);
    }
    prng_seed(&x.r, 1);
    supply(&x);
    double floor = floor_of(reservations);
    int64_t begun = cpu_now();
    while (x.n < reservations && tries++ < 3 * reservations) {
        x.n += (size_t)insert(&x, &ns);
    }
    double spent = (double)(cpu_now() - begun) / 1e9;
    fflush(stdout);
    printf("\n%s, %d days: %zu reservations (%zu refused) in %.2f s; floor %.0f ns\n", l->name,
           l->days, x.n, tries - x.n, spent, floor);
    queries(&x, floor);
    insertions(&x, floor);
    pages(&x);
    struct err err = {0};
    begun = cpu_now();
    int r = calendar_verify(x.c, &err);
    printf("  certificate: %s, proved in %.0f ms\n", r == 0 ? "sound" : err.text,
           (double)(cpu_now() - begun) / 1e6);
    calendar_free(x.c);
    free(x.live);
    free(x.samples);
    if (r != 0) {
        exit(1);
    }
}

int main(int argc, char **argv) {
    size_t reservations = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    size_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, n = sizeof(LOADS) / sizeof(*LOADS);
    for (size_t i = first; i < (argc > 2 && first < n ? first + 1 : n); i++) {
        one_load(&LOADS[i], reservations);
    }
    return 0;
}

/* engine_loads: see engine_loads.h. Quotas are in GPUs; cpu and memory go with them and are never what is short. */
#include "engine_loads.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/prng.h"

enum { GPU, CPU, MEMORY, N_RESOURCES };
enum { ASKS = 8, NO_END = 20000000 };
#define GIB (INT64_C(1) << 30)

static struct str resources[N_RESOURCES];

static void name_resources(void) {
    resources[GPU] = STR("nvidia.com/gpu");
    resources[CPU] = STR("cpu");
    resources[MEMORY] = STR("memory");
}

/* Each GPU comes with 16 processors and 256 GiB in the quota. */
static void quotas_of(int64_t gpus, struct quota_input *ret) {
    static const int64_t each[N_RESOURCES] = {1, 16000, 256 * GIB};
    for (size_t i = 0; i < N_RESOURCES; i++) {
        ret[i] = (struct quota_input){gpus * each[i], AMOUNT_NONE, AMOUNT_NONE};
    }
}

static struct ask ask_of(int64_t gpus, int64_t milli) {
    return (struct ask){.count = 1,
                        .n = N_RESOURCES,
                        .amounts = {{resources[GPU], gpus},
                                    {resources[CPU], milli},
                                    {resources[MEMORY], 16 * GIB}}};
}

static struct ask *asks_new(size_t n) {
    struct ask *asks = calloc(n, sizeof(*asks));
    if (asks == NULL) {
        exit(1);
    }
    return asks;
}

/* A handful of sizes, as people have them: 1, 2, 4 or 8 GPUs, with more or fewer processors. */
static struct ask *usual_asks(void) {
    struct ask *a = asks_new(ASKS);
    for (size_t i = 0; i < ASKS; i++) {
        a[i] = ask_of(INT64_C(1) << i % 4, i < 4 ? 4000 : 8000);
    }
    return a;
}

struct team {
    int64_t gpus;
    struct str cohort;
    enum preempt_policy within, reclaim, borrow_within;
    double weight;
    bool usage; /* LocalQueues that used less go first */
};

static void put_queue(struct drive *d, uint32_t number, const struct team *t) {
    struct quota_input quotas[N_RESOURCES];
    struct group_flavor_input flavor = {STR("h200"), quotas};
    struct group_input group = {resources, N_RESOURCES, &flavor, 1};
    quotas_of(t->gpus, quotas);
    drive_queue(d,
                &(struct queue_input){.cohort = t->cohort,
                                      .groups = &group,
                                      .n_groups = 1,
                                      .when_can_preempt = FUNGIBILITY_NEXT,
                                      .within_queue = t->within,
                                      .reclaim = t->reclaim,
                                      .borrow_within = t->borrow_within,
                                      .weight = t->weight != 0 ? t->weight : 1,
                                      .local_usage = t->usage},
                number);
}

static void put_cohort(struct drive *d, struct str name, struct str parent, double weight) {
    drive_cohort(d, &(struct cohort_input){.name = name, .parent = parent, .weight = weight});
}

static void begin(struct drive *d, const struct engine_options *o, struct ask *asks, size_t max) {
    drive_init(d, o, asks, max);
    drive_flavor(d, "h200");
}

/* One of the first `asks`, in one of the first `queues`, with a priority below `priorities`. */
static void put_any(struct drive *d, struct prng *r, size_t queues, size_t asks,
                    size_t priorities) {
    drive_put(d, (uint32_t)prng_below(r, queues), (uint32_t)prng_below(r, asks),
              (int32_t)prng_below(r, priorities));
}

/* What was put is what is measured from here on. */
static void decide(struct drive *d) {
    drive_reset(d);
    drive_quiet(d, NO_END);
}

static void end(struct drive *d, size_t size, struct figures *ret) {
    drive_quiet(d, NO_END);
    drive_end(d, size);
    *ret = d->f;
}

/* ---- drain ---- */

static int item_order(const void *a, const void *b, void *ctx) {
    const struct item *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return (x->queued_ns > y->queued_ns) - (x->queued_ns < y->queued_ns);
}

/* The least that a queue could do: the heads of a heap, one after the other, and a counter. */
static double heap_floor(struct drive *d) {
    struct heap h;
    int64_t left[N_RESOURCES] = {INT64_MAX, INT64_MAX, INT64_MAX};
    double best = 0;
    for (int round = 0; round < 3; round++) {
        heap_init(&h, item_order, NULL, HEAP_NO_PLACE);
        for (size_t i = 0; i < d->n_items; i++) {
            heap_push(&h, &d->items[i]);
        }
        int64_t start = drive_now();
        for (struct item *it; (it = heap_pop(&h)) != NULL;) {
            for (size_t k = 0; k < N_RESOURCES; k++) {
                left[k] -= d->asks[it->ask].amounts[k].v;
            }
        }
        double took = (double)(drive_now() - start) / 1e9 + (double)(left[0] == 0);
        best = round == 0 || took < best ? took : best;
        heap_release(&h);
    }
    return best;
}

static void drain(size_t size, struct figures *ret) {
    struct drive d;
    struct prng r;
    prng_seed(&r, size);
    begin(&d, &(struct engine_options){0}, usual_asks(), size);
    put_queue(&d, 0, &(struct team){.gpus = (int64_t)size * 8});
    double before = drive_resident();
    for (size_t i = 0; i < size; i++) {
        drive_put(&d, 0, (uint32_t)prng_below(&r, ASKS), (int32_t)prng_below(&r, 100));
    }
    d.f.bytes = (drive_resident() - before) / (double)size;
    d.f.floor = heap_floor(&d);
    drive_reset(&d);
    end(&d, size, ret);
}

/* ---- cohorts whose queues borrow ---- */

/* One holder ends, another like it comes; the first admission is what the latency is of. */
static void churn(struct drive *d, struct prng *r, size_t events, uint32_t asks) {
    for (size_t i = 0; i < events && d->n_holders > 0; i++) {
        uint32_t gone = d->holders[prng_below(r, d->n_holders)];
        uint32_t queue = d->items[gone].queue;
        drive_put(d, queue, (uint32_t)prng_below(r, asks), (int32_t)prng_below(r, 3));
        drive_event(d, false);
        drive_finish(d, gone);
        drive_quiet(d, NO_END);
    }
}

static void cohorts(size_t size, struct figures *ret) {
    enum { TREE = 25, EACH = 40, GPUS = 8 };
    struct drive d;
    struct prng r;
    size_t events = 2 * size < 800 ? 2 * size : 800;
    prng_seed(&r, size);
    begin(&d, &(struct engine_options){0}, usual_asks(), size * EACH + events);
    for (uint32_t q = 0; q < size; q++) {
        put_queue(&d, q, &(struct team){.gpus = GPUS, .cohort = drive_name("cohort", q / TREE)});
    }
    double before = drive_resident();
    for (size_t i = 0; i < size * EACH;
         i++) { /* three of five queues want four times what is theirs */
        uint32_t q = (uint32_t)prng_below(&r, size);
        q -= q % 5 > 2 ? 3 : 0;
        drive_put(&d, q, (uint32_t)prng_below(&r, ASKS), (int32_t)prng_below(&r, 3));
    }
    d.f.bytes = (drive_resident() - before) / (double)(size * EACH);
    decide(&d);
    churn(&d, &r, events, ASKS);
    end(&d, size, ret);
}

/* ---- LocalQueues that used less go first ---- */

static void usage(size_t size, struct figures *ret) {
    enum { QUEUES = 10, EACH = 8, GPUS = 64 };
    struct drive d;
    struct prng r;
    size_t events = 1000;
    prng_seed(&r, size);
    begin(&d,
          &(struct engine_options){.local_usage = true,
                                   .usage_half_life_ns = INT64_C(3600000000000),
                                   .usage_interval_ns = INT64_C(300000000000)},
          usual_asks(), size * EACH + events);
    for (uint32_t q = 0; q < QUEUES; q++) {
        put_queue(&d, q, &(struct team){.gpus = GPUS, .cohort = STR("all"), .usage = true});
    }
    drive_locals(&d, QUEUES, (uint32_t)size / QUEUES);
    double before = drive_resident();
    for (size_t i = 0; i < size * EACH; i++) {
        put_any(&d, &r, QUEUES, ASKS, 3);
    }
    d.f.bytes = (drive_resident() - before) / (double)(size * EACH);
    decide(&d);
    churn(&d, &r, events, ASKS);
    end(&d, size, ret);
}

/* ---- many that cannot fit, a few that can ---- */

static void storm(size_t size, struct figures *ret) {
    enum { QUEUES = 10, GPUS = 64, TRICKLE = 20 };
    struct drive d;
    struct ask *asks = asks_new(size + 2);
    for (size_t i = 0; i < size; i++) { /* no two alike; one of ten could never fit */
        int64_t gpus = i % 10 == 0 ? QUEUES * GPUS + 1 : 8 + (int64_t)(i % 8);
        asks[i] = ask_of(gpus, 1000 + (int64_t)i);
    }
    asks[size] = ask_of(GPUS - 1, 4000); /* leaves one GPU in each queue, ten in the cohort */
    asks[size + 1] = ask_of(1, 500);
    asks[0] = ask_of(11, 900);
    for (size_t i = 0; i < size; i++) {
        asks[i].amounts[GPU].v += asks[i].amounts[GPU].v < 11 ? 11 : 0;
    }
    begin(&d, &(struct engine_options){0}, asks, size + QUEUES + TRICKLE);
    for (uint32_t q = 0; q < QUEUES; q++) {
        put_queue(&d, q, &(struct team){.gpus = GPUS, .cohort = STR("all")});
        drive_put(&d, q, (uint32_t)size, 9);
    }
    drive_quiet(&d, NO_END);
    double before = drive_resident();
    for (uint32_t i = 0; i < size; i++) {
        drive_put(&d, i % QUEUES, i, 0);
    }
    d.f.bytes = (drive_resident() - before) / (double)size;
    decide(&d);
    for (uint32_t i = 0; i < TRICKLE; i++) { /* each ends at once: everyone is tried again */
        drive_event(&d, false);
        uint32_t small = drive_put(&d, i % QUEUES, (uint32_t)size + 1, 0);
        drive_quiet(&d, NO_END);
        drive_finish(&d, small);
        drive_quiet(&d, NO_END);
    }
    end(&d, size, ret);
}

/* ---- a wave of high priority ---- */

static void wave(size_t size, struct figures *ret) {
    enum { QUEUES = 10, LOW_ASKS = 4 };
    struct drive d;
    struct prng r;
    struct ask *asks = asks_new(LOW_ASKS + 1);
    size_t high = size / 8;
    for (size_t i = 0; i < LOW_ASKS; i++) {
        asks[i] = ask_of(1, 1000 * (int64_t)(i + 1));
    }
    asks[LOW_ASKS] = ask_of(4, 8000);
    prng_seed(&r, size);
    begin(&d, &(struct engine_options){0}, asks, size + high);
    for (uint32_t q = 0; q < QUEUES; q++) {
        put_queue(&d, q,
                  &(struct team){.gpus = (int64_t)size / QUEUES,
                                 .cohort = STR("all"),
                                 .within = PREEMPT_LOWER,
                                 .reclaim = PREEMPT_ANY});
    }
    double before = drive_resident();
    for (size_t i = 0; i < size; i++) {
        drive_put(&d, (uint32_t)(i % QUEUES), (uint32_t)prng_below(&r, LOW_ASKS),
                  (int32_t)prng_below(&r, 10));
    }
    drive_quiet(&d, NO_END);
    d.f.bytes = (drive_resident() - before) / (double)size;
    drive_reset(&d);
    for (size_t i = 0; i < high; i++) {
        drive_event(&d, false);
        drive_put(&d, (uint32_t)prng_below(&r, QUEUES), LOW_ASKS, 100);
        drive_run(&d);
    }
    end(&d, size, ret);
}

/* ---- fair sharing, and reclaiming in a hierarchy ---- */

/* A root, groups below it, queues below them; half of the queues take everything, then the others come. By shares alone
 * some pairs would evict each other for ever, so the option that ends that is on. */
static void tree_load(size_t size, bool fair, struct figures *ret) {
    enum { GPUS = 8, TAKEN = 20, WANTED = 10, DECISIONS = 2000000 };
    static const double weights[] = {1, 2, 0.5, 4};
    struct drive d;
    struct prng r;
    uint32_t groups = 1;
    size_t half = size / 2, events = size < 400 ? size : 400;
    while (groups * groups < size) {
        groups *= 2;
    }
    prng_seed(&r, size);
    begin(&d, &(struct engine_options){.fair_sharing = fair, .break_alternation = fair},
          usual_asks(), half * (TAKEN + WANTED) + events);
    put_cohort(&d, STR("root"), (struct str){0}, 1);
    for (uint32_t g = 0; g < groups; g++) { /* the second half of them one level deeper */
        struct str parent = g < groups / 2 ? STR("root") : drive_name("group", g - groups / 2);
        put_cohort(&d, drive_name("group", g), parent, weights[g % 4]);
    }
    for (uint32_t q = 0; q < size; q++) {
        put_queue(&d, q,
                  &(struct team){.gpus = GPUS,
                                 .cohort = drive_name("group", q % groups),
                                 .within = PREEMPT_LOWER,
                                 .reclaim = PREEMPT_ANY,
                                 .weight = weights[q / groups % 4]});
    }
    double before = drive_resident();
    for (size_t i = 0; i < half * TAKEN; i++) {
        drive_put(&d, (uint32_t)(i % half) * 2, (uint32_t)prng_below(&r, 2), 0);
    }
    drive_quiet(&d, DECISIONS);
    d.f.bytes = (drive_resident() - before) / (double)(half * TAKEN);
    drive_reset(&d);
    for (size_t i = 0; i < half * WANTED; i++) {
        drive_put(&d, (uint32_t)(i % half) * 2 + 1, (uint32_t)prng_below(&r, 2), 0);
    }
    drive_quiet(&d, DECISIONS);
    churn(&d, &r, events, 2);
    end(&d, size, ret);
}

static void fair(size_t size, struct figures *ret) {
    tree_load(size, true, ret);
}

static void hierarchy(size_t size, struct figures *ret) {
    tree_load(size, false, ret);
}

/* ---- a million ---- */

enum { EACH = 100, TREE = 100 };

static void backlog_put(struct drive *d, struct prng *r, size_t size, size_t events) {
    prng_seed(r, size);
    begin(d, &(struct engine_options){0}, usual_asks(), size + size / EACH * 24 + events);
    for (uint32_t q = 0; q < size / EACH; q++) {
        put_queue(d, q, &(struct team){.gpus = 16, .cohort = drive_name("cohort", q / TREE)});
    }
    double before = drive_resident();
    size_t all = size + size / EACH * 4; /* as many as will hold quota, and `size` */
    for (size_t i = 0; i < all; i++) {
        put_any(d, r, size / EACH, ASKS, 3);
    }
    d->f.bytes = (drive_resident() - before) / (double)all;
}

static void backlog(size_t size, struct figures *ret) {
    struct drive d;
    struct prng r;
    backlog_put(&d, &r, size, 0);
    drive_reset(&d);
    end(&d, size, ret);
}

static void million(size_t size, struct figures *ret) {
    enum { EVENTS = 2000 };
    struct drive d;
    struct prng r;
    backlog_put(&d, &r, size, EVENTS);
    drive_quiet(&d, NO_END);
    drive_reset(&d);
    for (size_t i = 0; i < EVENTS / 2; i++) {
        drive_event(&d, false);
        drive_finish(&d, d.holders[prng_below(&r, d.n_holders)]);
        drive_quiet(&d, NO_END);
        drive_event(&d, true);
        put_any(&d, &r, size / EACH, ASKS, 3);
        drive_quiet(&d, NO_END);
    }
    end(&d, size, ret);
}

/* An event each 10 ms of processor time, whether or not what came before is done. */
static void steady(size_t size, struct figures *ret) {
    enum { EVENTS = 3000, GAP_NS = 10000000 };
    struct drive d;
    struct prng r;
    backlog_put(&d, &r, size, EVENTS);
    drive_quiet(&d, NO_END);
    drive_reset(&d);
    drive_steady(&d, size / EACH / TREE + 1, TREE);
    int64_t due = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        due += (int64_t)(prng_unit(&r) * 2 * GAP_NS);
        drive_steady_wait(&d, due);
        if (i % 2 == 0) {
            drive_steady_finish(&d, d.holders[prng_below(&r, d.n_holders)], due);
        } else {
            drive_steady_put(&d, (uint32_t)prng_below(&r, size / EACH),
                             (uint32_t)prng_below(&r, ASKS), (int32_t)prng_below(&r, 3), due);
        }
    }
    end(&d, size, ret);
}

const struct load loads[] = {
    {"drain",
     "workloads",
     "one queue with room for all, submitted before; floor: a binary heap",
     {12500, 25000, 50000, 100000},
     drain},
    {"cohorts",
     "queues",
     "25 queues a cohort, borrowing; 40 workloads each; then finishes",
     {25, 100, 400, 1600},
     cohorts},
    {"usage",
     "LocalQs",
     "LocalQueues that used less go first, in 10 queues of a cohort; 8 workloads each; finishes",
     {40, 160, 640, 2560},
     usage},
    {"storm",
     "workloads",
     "that cannot fit, no two alike, 10 queues; 20 come that can and end at once",
     {1250, 2500, 5000, 10000},
     storm},
    {"wave",
     "workloads",
     "of low priority hold everything in 10 queues; 1/8 as many of high priority and 4 GPUs come",
     {2000, 4000, 8000, 16000},
     wave},
    {"fair",
     "queues",
     "fair sharing in a tree with weights: half the queues hold everything, the others come; "
     "finishes",
     {16, 64, 256, 1024},
     fair},
    {"hierarchy",
     "queues",
     "the same tree under the classical rules, reclaiming what is their own",
     {16, 64, 256, 1024},
     hierarchy},
    {"backlog",
     "pending",
     "submitted at once, 100 to a queue, 100 queues a cohort: until all are decided",
     {31250, 125000, 500000, 1000000},
     backlog},
    {"million",
     "pending",
     "the same, decided: then finishes and submissions, one at a time",
     {31250, 125000, 500000, 1000000},
     million},
    {"steady",
     "pending",
     "the same: 100 events a second of processor time, done with the last or not",
     {31250, 125000, 500000, 1000000},
     steady},
};
const size_t n_loads = sizeof(loads) / sizeof(*loads);

__attribute__((constructor)) static void prepare(void) {
    name_resources();
}

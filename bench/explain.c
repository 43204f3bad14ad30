/*
 * explain: what a question costs: the copy, which is all that the loop thread pays, and the work elsewhere, for growing
 * numbers of workloads in one cohort. Times are the thread's own; the floor of the copy is memcpy of as many bytes.
 *
 * Then the copy of a pool, for growing numbers of nodes.
 *
 *     bench-explain [PENDING...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/h200_fixture.h"
#include "control/see/insight.h"
#include "core/place/pool_copy.h"
#include "measure.h"

enum { QUEUES = 100, HOLDING = 2000, ROUNDS = 15 };

static struct engine *e;
static struct mirror *m;

static int64_t thread_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(int code, const char *what) {
    if (code != 0) {
        fprintf(stderr, "bench-explain: %s: %s\n", what, err_name(code));
        exit(1);
    }
}

static struct str name(const char *kind, size_t i) {
    static char names[8][48];
    static unsigned next;
    char *p = names[next++ % 8];
    return str_from(p, (size_t)snprintf(p, sizeof(names[0]), "%s-%05zu", kind, i));
}

static void object(struct str uid) {
    static const struct kind *k;
    char json[1200];
    struct object *o;
    k = k ? k : kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    int n = snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
        "\"name\":\"%.*s\",\"namespace\":\"team\",\"uid\":\"%.*s\",\"annotations\":{%s}},\"spec\":{"
        "\"queueName\":\"lq\","
        "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
        "\"containers\":[{\"name\":\"c\",\"image\":\"registry/image:latest\",\"resources\":"
        "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}}]}}",
        STR_ARG(uid), STR_ARG(uid),
        uid.p[uid.n - 1] % 2 ? "\"berth.dev/expected-runtime\":\"1h\"" : "");
    must(object_new(k, str_from(json, (size_t)n), &o, NULL), "object");
    must(mirror_load(m, o, NULL), "load");
}

static void queues(void) {
    struct flavor_input f = {.name = STR("f")};
    struct str resources[] = {STR("cpu"), STR("memory")};
    struct quota_input q[] = {{HOLDING / QUEUES * 1000, AMOUNT_NONE, AMOUNT_NONE},
                              {AMOUNT_MAX / QUEUES, AMOUNT_NONE, AMOUNT_NONE}};
    struct group_flavor_input flavor = {f.name, q};
    struct group_input g = {resources, 2, &flavor, 1};
    must(engine_flavor_put(e, &f), "flavor");
    for (size_t i = 0; i < QUEUES; i++) {
        struct queue_input in = {
            .name = name("q", i), .cohort = STR("all"), .groups = &g, .n_groups = 1, .weight = 1};
        must(engine_queue_put(e, &in), "queue");
    }
}

static void submit(size_t i, int64_t at) {
    static const struct shape any;
    struct node_amount a[] = {{STR("cpu"), 1000}, {STR("memory"), 1 << 30}};
    struct set_input s = {STR("main"), 1, 0, &any, a, 2};
    struct workload_input in = {.uid = name("w", i),
                                .queue = name("q", i % QUEUES),
                                .priority = (int64_t)(i % 3),
                                .queued_ns = at,
                                .sets = &s,
                                .n_sets = 1,
                                .local = STR("team/lq")};
    must(engine_workload_put(e, &in), "put");
    object(in.uid);
}

static void settle(void) {
    const struct engine_action *a;
    size_t n;
    for (bool more = true; more;) {
        must(engine_run(e, 0, 1000, &a, &n, &more, NULL), "run");
    }
}

/* What is remembered is full: half of the run times are observed ones. */
static void remember(struct run_times *times, struct hindsight *h) {
    struct run_times_of of = {STR("team"), STR("lq"), STR("Workload"), STR("w-1")};
    char class[32];
    for (size_t i = 0; i < (size_t)RUN_TIMES_KEYS * RUN_TIMES_KEPT; i++) {
        struct run_times_of other = {STR("others"), name("q", i % RUN_TIMES_KEYS), STR("Job"),
                                     STR("x")};
        run_times_note(times, &other, (int64_t)i);
    }
    for (int64_t i = 0; i < RUN_TIMES_KEPT; i++) {
        run_times_note(times, &of, (i + 5) * 200 * 1000000000);
    }
    for (size_t i = 0; i < HINDSIGHT_OPEN; i++) {
        struct hindsight_told told = {.at = 1,
                                      .said = {3600000000000, 3600000000001, 3600000000002}};
        struct str k = str_from(class, (size_t)snprintf(class, sizeof(class), "class-%zu", i));
        hindsight_note(h, k, k, &told);
        hindsight_started(h, k, 3600000000001);
        hindsight_note(h, name("w", HOLDING + i), k, &told);
    }
}

static void report(size_t pending, struct run_times *times, struct hindsight *hindsight) {
    static int64_t took[ROUNDS];
    struct str q = name("q", 7);
    struct insight_options o = {.mirror = m,
                                .engine = e,
                                .times = times,
                                .hindsight = hindsight,
                                .queues = &q,
                                .n_queues = 1};
    struct insight *in = NULL;
    static const atomic_bool never;
    struct insight_viewer v = {.everything = true, .queues = true};
    for (int i = 0; i < ROUNDS; i++) {
        insight_free(in);
        int64_t from = thread_now();
        must(insight_take(&o, &in), "take");
        took[i] = thread_now() - from;
    }
    int64_t from = thread_now();
    char *copy = malloc(in->clone.arena.used), *to = malloc(in->clone.arena.used);
    memset(copy, 1, in->clone.arena.used);
    memset(to, 1, in->clone.arena.used);
    from = thread_now();
    memcpy(to, copy, in->clone.arena.used);
    __asm__ volatile("" : : "r"(to) : "memory");
    int64_t floor = thread_now() - from;
    size_t bytes = in->clone.arena.used;
    free(copy);
    free(to);
    from = thread_now();
    insight_work(in, &never);
    int64_t work = thread_now() - from;
    must(in->code, "work");
    struct buf b;
    buf_init(&b, 0);
    from = thread_now();
    for (size_t i = 0; i < 100; i++) {
        buf_reset(&b);
        must(insight_explain(in, in->clone.n_works - 1 - i, &v, true, &b), "explain");
    }
    int64_t one = (thread_now() - from) / 100;
    buf_release(&b);
    int64_t p50 = measure_percentile(took, ROUNDS, 0.5), max = measure_percentile(took, ROUNDS, 1);
    printf("%9zu %9zu %9zu %8.2f %8.2f %8.2f %9.1f %10.1f %9.1f\n", pending, in->clone.n_works,
           bytes >> 10, (double)p50 / 1e6, (double)max / 1e6, (double)p50 / (double)floor,
           (double)p50 / (double)in->clone.n_works, (double)work / 1e6, (double)one / 1e3);
    insight_free(in);
}

static void run(size_t pending) {
    struct engine_options eo = {0};
    struct mirror_options mo = {0};
    struct run_times *times = run_times_new();
    struct hindsight *hindsight = hindsight_new();
    remember(times, hindsight);
    e = engine_new(&eo);
    m = mirror_new(&mo);
    queues();
    for (size_t i = 0; i < HOLDING; i++) {
        submit(i, 0);
    }
    settle();
    for (size_t i = 0; i < pending; i++) {
        submit(HOLDING + i, (int64_t)i);
    }
    settle();
    report(pending, times, hindsight);
    hindsight_free(hindsight);
    engine_free(e);
    mirror_free(m);
    run_times_free(times);
}

/* ---- places ---- */

enum { CARDS = 8, LABELS = 20 };

static void node(struct pool *p, size_t i) {
    struct gpu_profile profiles[] = {H200_1G_18GB, H200_1G_35GB, H200_2G_35GB,
                                     H200_3G_71GB, H200_4G_71GB, H200_7G_141GB};
    char uuids[CARDS][64], keys[LABELS][48];
    struct gpu_card cards[CARDS];
    struct str_pair labels[LABELS];
    struct inventory inv = {cards, CARDS, true};
    struct node_amount amounts[] = {{STR("cpu"), 192000}, {STR("memory"), (int64_t)1 << 40}};
    for (int k = 0; k < CARDS; k++) {
        snprintf(uuids[k], sizeof(uuids[k]), "GPU-%08zx-0000-4000-8000-%012d", i, k);
        cards[k] = h200_card(uuids[k], k, profiles, sizeof(profiles) / sizeof(profiles[0]));
    }
    for (int k = 0; k < LABELS; k++) {
        snprintf(keys[k], sizeof(keys[k]), "feature.node.kubernetes.io/label-%02d", k);
        labels[k] = (struct str_pair){str_of(keys[k]), STR("true")};
    }
    struct node_input in = {.name = name("node", i),
                            .managed = true,
                            .ready = true,
                            .labels = {labels, LABELS},
                            .amounts = amounts,
                            .n_amounts = 2,
                            .inventory = &inv};
    must(pool_node_put(p, &in, NULL), "node");
}

/* A pod with a whole GPU on every second card. */
static void seat(struct pool *p, size_t i, int card) {
    char uuid[64], uid[64];
    struct seat *s;
    struct pool_amount cpu = {0, 8000};
    snprintf(uuid, sizeof(uuid), "GPU-%08zx-0000-4000-8000-%012d", i, card);
    snprintf(uid, sizeof(uid), "w-%zu-%d", i, card);
    struct seat_device d = {.gpu = str_of(uuid), .start = -1};
    struct seat in = {.workload = str_of(uid),
                      .set = STR("main"),
                      .node = name("node", i),
                      .amounts = &cpu,
                      .n_amounts = 1,
                      .devices = &d,
                      .n_devices = 1};
    must(pool_seat_restore(p, &in, &s), "seat");
}

static void places(size_t nodes) {
    static int64_t took[ROUNDS];
    struct names resources;
    struct flavor_input any = {.name = STR("f")};
    struct pool_copy_limits most = {SIZE_MAX, SIZE_MAX};
    struct pool_copy c;
    struct arena a;
    names_init(&resources);
    struct pool *p = pool_new(&resources);
    for (size_t i = 0; i < nodes; i++) {
        node(p, i);
        for (int k = 0; k < CARDS; k += 2) {
            seat(p, i, k);
        }
    }
    arena_init(&a, (size_t)2 << 30);
    for (int i = 0; i < ROUNDS; i++) {
        arena_reset(&a);
        int64_t from = thread_now();
        must(pool_copy_take(p, &any, 1, &most, &a, &c), "copy");
        took[i] = thread_now() - from;
    }
    printf("%9zu %9zu %9zu %8.2f %8.2f\n", c.n_nodes, c.n_seats, a.used >> 10,
           (double)measure_percentile(took, ROUNDS, 0.5) / 1e6,
           (double)measure_percentile(took, ROUNDS, 1) / 1e6);
    arena_release(&a);
    pool_free(p);
    names_release(&resources);
}

static void places_table(void) {
    static const size_t sizes[] = {200, 1000, 2000, 5000};
    printf("\nplaces: nodes of %d GPUs, half of them held\n", CARDS);
    printf("%9s %9s %9s %8s %8s\n", "nodes", "seats", "KiB", "copy ms", "max ms");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        places(sizes[i]);
    }
}

int main(int argc, char **argv) {
    printf("one cohort, %d queues, %d workloads hold quota\n", QUEUES, HOLDING);
    printf("%9s %9s %9s %8s %8s %8s %9s %10s %9s\n", "pending", "copied", "KiB", "copy ms",
           "max ms", "x memcpy", "ns each", "work ms", "answer us");
    if (argc < 2) {
        size_t sizes[] = {100, 1000, 3000, 10000, 100000};
        for (size_t i = 0; i < 5; i++) {
            run(sizes[i]);
        }
        places_table();
    }
    for (int i = 1; i < argc; i++) {
        run((size_t)strtoul(argv[i], NULL, 10));
    }
    return 0;
}

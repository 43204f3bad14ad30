/*
 * planner: the planner of bookings with many of them: what one event costs it, and what it remembers of each.
 *
 *     bench-planner [RESERVATIONS...]                    100,000, unless told; each size beside a tenth of it
 *
 * It lives in a world in memory, whose own work for each write (parsing, patching, feeds) is in every figure; the floor
 * is that work alone: the same writes where no planner listens. 512 H200 on 64 nodes, bookings of 1,000 users in 100
 * projects over 120 days, limits on users, projects and a tenant of ten projects. Figures are of one event and all that
 * follows from it within 20 ms of the world's time, in time of the processor.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/h200_fixture.h"
#include "base/prng.h"
#include "base/test.h"
#include "control/book/reservation.h"
#include "control/kit/controller.h"
#include "control/test/fake_world.h"
#include "core/calendar/calendar.h"
#include "measure.h"
#include "wire/text/time.h"
#include "wire/text/zone.h"

enum { NODES = 64, CARDS = 8, USERS = 1000, PROJECTS = 100, DAYS = 120, QUARTER = 900 };
enum { SAMPLES = 1000 };
#define MIDNIGHT INT64_C(1772323200) /* 2026-03-01T00:00:00Z */
#define GPU "nvidia.com/gpu"
#define MIG "nvidia.com/mig-"

static struct gpu_profile profiles[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB};

enum event { BOOK, REFUSED, EXTEND, CANCEL, CHECKED, NODE_TELLS, EVENTS };
static const char *const names[EVENTS] = {"a new booking",      "one that a limit refuses",
                                          "a longer one",       "one that is cancelled",
                                          "a ReservationCheck", "a node that tells of itself"};

struct result {
    int64_t p50[EVENTS], p99[EVENTS], most[EVENTS];
    int64_t minute,
        restart; /* of the clock, nothing due or few; of a new planner, to its first answer */
    double planner_bytes, all_bytes;
    size_t held;
};

struct run {
    struct fake_world w;
    struct zones *zones;
    struct reservation_controller *c;
    struct prng r;
    size_t n, next;
    int64_t *samples;
};

static int64_t cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* What is allocated. */
static double held_bytes(void) {
    struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
}

static const char *at(int64_t seconds) {
    static char texts[4][TIME_TEXT_MAX];
    static int next;
    char *text = texts[next++ % 4];
    (void)time_text((MIDNIGHT + seconds) * NS_PER_SEC, text);
    return text;
}

static void node_json(struct buf *out, int node, int temperature) {
    struct gpu_card cards[CARDS] = {0};
    char uuids[CARDS][32];
    struct inventory inv = {.gpus = cards, .n = CARDS, .simulated = true};
    struct buf text;
    for (int i = 0; i < CARDS; i++) {
        (void)snprintf(uuids[i], sizeof uuids[i], "GPU-%d-%d", node, i);
        cards[i] = h200_card(uuids[i], i, profiles, 4);
        cards[i].temperature_c = temperature;
    }
    buf_init(&text, 0);
    inventory_encode(&inv, &text);
    buf_f(out,
          "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\",\"labels\":{"
          "\"nvidia.com/gpu.product\":\"NVIDIA-H200\",\"berth.dev/managed\":\"true\"},"
          "\"annotations\":{\"berth.dev/gpus\":",
          node);
    buf_json(out, buf_view(&text));
    buf_c(out, "}},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    buf_release(&text);
}

static void world_init(struct run *x) {
    struct buf b;
    char json[400];
    fake_world_init(&x->w);
    x->w.clock.wall = MIDNIGHT * NS_PER_SEC;
    x->zones = zones_new(NULL);
    x->w.env.zones = x->zones;
    x->w.env.virtuals = virtual_new();
    for (int i = 0; i < PROJECTS; i++) {
        (void)snprintf(json, sizeof json,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                       "\"name\":\"p%d\",\"labels\":{\"berth.dev/tenant\":\"t%d\"}}}",
                       i, i / 10);
        fake_world_put(&x->w, json);
    }
    fake_world_put(&x->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"h200\"},\"spec\":{\"nodeLabels\":{"
                          "\"nvidia.com/gpu.product\":\"NVIDIA-H200\"}}}");
    fake_world_put(&x->w,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Cohort\",\"metadata\":{"
                   "\"name\":\"pool\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":["
                   "\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"h200\",\"resources\":[{"
                   "\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"512\"}]}]}]}}");
    fake_world_put(&x->w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
                          "\"metadata\":{\"name\":\"default\"},\"spec\":{\"daysAhead\":365,"
                          "\"limits\":{\"user\":{\"concurrentUnits\":64,\"gpuHoursPerWeek\":5000,"
                          "\"maxDuration\":\"168h\"},\"project\":{\"gpuHoursPerMonth\":200000},"
                          "\"tenant\":{\"concurrentUnits\":4000}}}}");
    buf_init(&b, 0);
    for (int i = 0; i < NODES; i++) {
        buf_reset(&b);
        node_json(&b, i, -1);
        fake_world_put(&x->w, buf_cstr(&b));
    }
    buf_release(&b);
}

/* ---- events ---- */

static void spec(struct run *x, size_t number, bool refused, char *to, size_t cap) {
    static const char *const what[] = {MIG "1g.18gb", MIG "1g.18gb", MIG "2g.35gb", MIG "3g.71gb",
                                       GPU};
    int64_t start = QUARTER * (96 + (int64_t)prng_below(&x->r, DAYS * 96));
    int64_t end = start + QUARTER * (2 + (int64_t)prng_below(&x->r, 32));
    int n = (int)prng_below(&x->r, 10) == 0 ? 4 : 1;
    (void)snprintf(to, cap,
                   "\"start\":\"%s\",\"end\":\"%s\",\"lines\":[{\"resource\":\"%s\",\"count\":%d}]",
                   at(start), at(end), what[number % 5], refused ? 65 : n);
}

static void put(struct run *x, size_t number, bool refused) {
    char json[800], text[300];
    spec(x, number, refused, text, sizeof text);
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\","
                   "\"metadata\":{\"namespace\":\"p%zu\",\"name\":\"r%zu\",\"annotations\":{"
                   "\"berth.dev/requested-by\":\"u%zu\"}},\"spec\":{%s}}",
                   number % PROJECTS, number, number % USERS, text);
    fake_world_put(&x->w, json);
}

static void told(void *ctx, int code, struct str json, const struct err *err) {
    (void)ctx, (void)json, (void)err;
    assert_int_equal(code, 0);
}

static void ask(struct run *x) {
    char json[600], text[300];
    struct virtual_call *call = NULL;
    struct err err = {0};
    struct virtual_source *s =
        virtual_find(x->w.env.virtuals, STR("berth.dev"), STR("reservationchecks"), STR(""));
    spec(x, x->next, false, text, sizeof text);
    (void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"x\"},\"spec\":{%s}}", text);
    struct virtual_ask q = {.verb = "create",
                            .kind = fake_world_kind("ReservationCheck"),
                            .ns = STR("p1"),
                            .user = STR("u1"),
                            .body = str_of(json)};
    if (s) {
        assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    }
}

static void event(struct run *x, enum event e) {
    char ns[16], name[24];
    struct buf b;
    size_t any = prng_below(&x->r, x->n);
    (void)snprintf(ns, sizeof ns, "p%zu", any % PROJECTS);
    (void)snprintf(name, sizeof name, "r%zu", any);
    if (e == BOOK || e == REFUSED) {
        put(x, x->next++, e == REFUSED);
    } else if (e == CHECKED) {
        ask(x);
    } else if (e == NODE_TELLS) {
        buf_init(&b, 0);
        node_json(&b, (int)(any % NODES), (int)prng_below(&x->r, 90));
        fake_world_patch(&x->w, "Node", "",
                         (snprintf(name, sizeof name, "n%zu", any % NODES), name), "",
                         buf_cstr(&b));
        buf_release(&b);
    } else {
        char patch[100];
        const struct object *o = fake_world_get(&x->w, "Reservation", ns, name);
        int64_t end = 0;
        (void)time_parse(str_of(fake_world_text(o, "spec.end")), &end, NULL);
        (void)snprintf(patch, sizeof patch,
                       e == CANCEL ? "{\"spec\":{\"cancel\":{}}}" : "{\"spec\":{\"end\":\"%s\"}}",
                       at(end / NS_PER_SEC - MIDNIGHT + QUARTER));
        fake_world_patch(&x->w, "Reservation", ns, name, "", patch);
    }
    fake_world_run(&x->w, 20 * NS_PER_MS);
}

static void measure(struct run *x, enum event e, struct result *to) {
    for (int i = 0; i < SAMPLES; i++) {
        int64_t begun = cpu_now();
        event(x, e);
        x->samples[i] = cpu_now() - begun;
    }
    to->p50[e] = measure_percentile(x->samples, SAMPLES, 0.5);
    to->p99[e] = measure_percentile(x->samples, SAMPLES, 0.99);
    to->most[e] = measure_percentile(x->samples, SAMPLES, 1);
}

static void life(size_t n, bool planner, struct result *to) {
    static struct run x;
    struct err err = {0};
    x = (struct run){.n = n, .next = n, .samples = calloc(SAMPLES, sizeof *x.samples)};
    prng_seed(&x.r, 5);
    double before = held_bytes();
    world_init(&x);
    x.c = planner ? controller_new(&reservation_controller, &x.w.env, &err) : NULL;
    for (size_t i = 0; i < n; i++) {
        put(&x, i, false);
        fake_world_run(&x.w, i % 100 ? NS_PER_MS : 100 * NS_PER_MS);
    }
    fake_world_run(&x.w, 2 * NS_PER_SEC);
    to->all_bytes = (held_bytes() - before) / (double)n;
    to->held = x.c ? calendar_entries(reservation_controller_calendar(x.c)) : 0;
    for (enum event e = 0; e < EVENTS; e++) {
        measure(&x, e, to);
    }
    fake_world_run(&x.w, INT64_C(2) * 86400 * NS_PER_SEC); /* until bookings begin and end */
    int64_t begun = cpu_now();
    for (int i = 0; i < 60; i++) {
        fake_world_run(&x.w, 60 * NS_PER_SEC);
    }
    to->minute = (cpu_now() - begun) / 60;
    if (planner) {
        controller_free(x.c);
        before = held_bytes();
        begun = cpu_now();
        x.c = controller_new(&reservation_controller, &x.w.env, &err);
        ask(&x);
        to->restart = cpu_now() - begun;
        to->planner_bytes = (held_bytes() - before) / (double)n;
        controller_free(x.c);
    }
    virtual_free(x.w.env.virtuals);
    fake_world_release(&x.w);
    zones_free(x.zones);
    free(x.samples);
}

static void one_size(size_t n) {
    static struct result little, much, floor;
    life(n / 10, true, &little);
    life(n, false, &floor);
    life(n, true, &much);
    printf("\n%zu Reservations, %zu with a place; us of the processor\n", n, much.held);
    printf("%-30s %9s %9s %9s %9s | %9s | %9s %7s\n", "", "p50", "p99", "most", "floor p50",
           "of a tenth", "ratio", "n^");
    for (enum event e = 0; e < EVENTS; e++) {
        double ratio = (double)much.p50[e] / (double)little.p50[e];
        printf("%-30s %9.0f %9.0f %9.0f %9.0f | %9.0f | %8.2fx %7.2f\n", names[e],
               (double)much.p50[e] / 1e3, (double)much.p99[e] / 1e3, (double)much.most[e] / 1e3,
               (double)floor.p50[e] / 1e3, (double)little.p50[e] / 1e3, ratio, log10(ratio));
    }
    printf("%-30s %9.0f %29.0f | %9.0f |\n", "a minute of the clock", (double)much.minute / 1e3,
           (double)floor.minute / 1e3, (double)little.minute / 1e3);
    printf("a new planner, to its first answer: %.2f s (a tenth: %.2f s)\n",
           (double)much.restart / 1e9, (double)little.restart / 1e9);
    printf("memory of a Reservation: %.0f bytes in all, %.0f of them the planner's\n",
           much.all_bytes, much.planner_bytes);
}

static void print_bounds(void) {
    printf("Bounds: a repair tries %d placements; a search in time tries %d starts, and looks at "
           "%d cards and entries.\n",
           CALENDAR_REPAIR_STEPS, CALENDAR_SEARCH_STEPS, CALENDAR_SEARCH_LOOKS);
}

int main(int argc, char **argv) {
    print_bounds();
    for (int i = 1; i < argc; i++) {
        one_size(strtoul(argv[i], NULL, 10));
    }
    if (argc < 2) {
        one_size(100000);
    }
    return 0;
}

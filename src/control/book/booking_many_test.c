/* Tests of booking_objects with thousands of bookings at once: what one look takes, and what becomes of too many. */
#include "control/berths/booking_objects_private.h"
#include "control/kit/controller.h"

#include "base/test.h"
#include "control/test/fake_world.h"

#define GPU "nvidia.com/gpu"

enum { BOOKINGS = 2000, PROJECTS = 20, OF_NODE = 8 };

struct many {
    struct fake_world w;
    struct booking_objects_controller *b;
    struct log log;
    int told;
};

static void told(struct log *l, enum log_level level, struct str line) {
    struct many *m = (struct many *)((char *)l - offsetof(struct many, log));
    m->told += str_contains(line, STR("bookings at once"));
}

static void put(struct many *m, const char *fmt, ...) {
    char json[2048];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(json, sizeof(json), fmt, args);
    va_end(args);
    fake_world_put(&m->w, json);
}

static void booked(struct many *m, int i) {
    char name[48], ns[32], status[512];
    snprintf(name, sizeof(name), "training-run-of-the-week-%d", i);
    snprintf(ns, sizeof(ns), "project-%d", i % PROJECTS);
    put(m,
        "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"%s\",\"annotations\":{\"berth.dev/requested-by\":\"ann\"}},"
        "\"spec\":{\"start\":\"1970-01-01T00:00:00Z\",\"end\":\"1970-01-03T00:00:00Z\",\"lines\":["
        "{\"resource\":\"" GPU "\",\"count\":1}]}}",
        name, ns);
    snprintf(status, sizeof(status),
             "{\"status\":{\"phase\":\"Active\",\"plan\":[{\"line\":0,\"resource\":\"" GPU
             "\",\"flavor\":\"h200\",\"node\":\"node-%d\",\"gpu\":"
             "\"GPU-0c1e33f5-58cb-4b11-b6a1-%012d\",\"gpuIndex\":%d,\"start\":0,\"size\":8}]}}",
             i / OF_NODE, i, i % OF_NODE);
    fake_world_patch(&m->w, "Reservation", ns, name, "status", status);
}

static void start(struct many *m, int bookings, size_t limit) {
    struct err err = {0};
    *m = (struct many){.log = {.level = LOG_WARN, .write = told}};
    fake_world_init(&m->w);
    m->w.env.log = &m->log;
    put(m, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{"
           "\"name\":\"h200\"},\"spec\":{\"nodeLabels\":{\"nvidia.com/gpu.product\":\"H200\"}}}");
    for (int i = 0; i < PROJECTS; i++) {
        put(m,
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"project-%d\"}}",
            i);
    }
    for (int i = 0; i < BOOKINGS / OF_NODE; i++) {
        char name[32];
        snprintf(name, sizeof(name), "node-%d", i);
        put(m,
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
            "\"nvidia.com/gpu.product\":\"H200\",\"nvidia.com/gpu.count\":\"8\"}},\"spec\":{}}",
            name);
        fake_world_patch(&m->w, "Node", "", name, "status",
                         "{\"status\":{\"allocatable\":{\"cpu\":\"96\",\"memory\":\"1Ti\",\"" GPU
                         "\":\"8\"}}}");
    }
    for (int i = 0; i < bookings; i++) {
        booked(m, i);
    }
    m->b = controller_new(&booking_objects_controller, &m->w.env, &err);
    assert_non_null(m->b);
    if (limit > 0) {
        m->b->limit = m->b->views.max = limit;
    }
    fake_world_run(&m->w, 5 * NS_PER_SEC);
}

static void end(struct many *m) {
    controller_free(m->b);
    fake_world_release(&m->w);
}

static bool count_ready(void *ctx, const struct object *o) {
    *(size_t *)ctx += str_contains(o->json, STR("\"ready\":true"));
    return true;
}

static size_t ready(struct many *m) {
    size_t n = 0;
    mirror_scan(m->w.mirror, fake_world_kind("Reservation"), STR(""), count_ready, &n);
    return n;
}

/* One look decodes and compares a few hundred, however many begin together. */
enum { MOST_IN_A_LOOK = 256 };

/* All get what they booked, and one look at them takes no more than is said of it. */
static void thousands(void **state) {
    static struct many m;
    start(&m, BOOKINGS, (size_t)BOOKINGS * BOOKING_LOOK_EACH);
    assert_int_equal(ready(&m), BOOKINGS);
    assert_int_equal(fake_world_count(&m.w, "ClusterQueue"), BOOKINGS);
    assert_int_equal(fake_world_count(&m.w, "LocalQueue"), BOOKINGS);
    assert_int_equal(fake_world_count(&m.w, "HardwareProfile"), BOOKINGS);
    assert_true(str_contains(fake_world_get(&m.w, "Cohort", "", "pool")->json,
                             STR("{\"name\":\"" GPU "\",\"nominalQuota\":\"0\"}")));
    assert_true(m.b->most > 0 && m.b->most <= MOST_IN_A_LOOK);
    uint64_t writes = m.w.writes, decoded = m.b->views.decoded, acted = m.b->acted;
    fake_world_run(&m.w, 90 * NS_PER_SEC);
    assert_int_equal(m.w.writes, writes);
    assert_int_equal(m.told, 0);
    assert_int_equal(m.b->views.decoded, decoded);
    assert_int_equal(m.b->acted, acted);
    /* looks are long: each waits for more news; and what has not changed is not gone through */
    fake_world_delete(&m.w, "HardwareProfile", "project-7", "rsv-training-run-of-the-week-7-gpu",
                      "");
    fake_world_run(&m.w, 40 * NS_PER_MS);
    assert_int_equal(fake_world_count(&m.w, "HardwareProfile"), BOOKINGS - 1);
    fake_world_run(&m.w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&m.w, "HardwareProfile"), BOOKINGS);
    assert_true(m.b->acted > acted && m.b->acted < acted + MOST_IN_A_LOOK);
    /* a booking is longer: it alone is read, and its objects, when they have changed */
    decoded = m.b->views.decoded;
    acted = m.b->acted;
    fake_world_patch(&m.w, "Reservation", "project-7", "training-run-of-the-week-7", "",
                     "{\"spec\":{\"end\":\"1970-01-04T00:00:00Z\"}}");
    fake_world_run(&m.w, 5 * NS_PER_SEC);
    assert_true(str_contains(
        fake_world_get(&m.w, "HardwareProfile", "project-7", "rsv-training-run-of-the-week-7-gpu")
            ->json,
        STR("to 1970-01-04T00:00:00Z")));
    assert_true(m.b->views.decoded > decoded && m.b->views.decoded < decoded + 8);
    assert_true(m.b->acted > acted && m.b->acted < acted + MOST_IN_A_LOOK);
    end(&m);
}

/* More than one look may take: it is said, not more than once a minute, and nothing is half done. */
static void too_many(void **state) {
    static struct many m;
    start(&m, 100, 64 << 10);
    assert_int_equal(ready(&m), 0);
    assert_int_equal(fake_world_count(&m.w, "ClusterQueue"), 0);
    assert_int_equal(m.told, 1);
    fake_world_run(&m.w, 50 * NS_PER_SEC);
    assert_int_equal(m.told, 1);
    fake_world_run(&m.w, 120 * NS_PER_SEC);
    assert_true(m.told > 1 && m.told < 5);
    m.b->limit = m.b->views.max = LIMIT_BOOKING_LOOK;
    fake_world_run(&m.w, 120 * NS_PER_SEC);
    assert_int_equal(ready(&m), 100);
    end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

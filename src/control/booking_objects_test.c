/*
 * Tests of booking_objects in a fake world: phases are written by hand, where the planner would; queues, jobs and the
 * defaults of a fresh machine are the real ones. At every revision the quota of the pool is summed up.
 */
#include "base/test.h"

#include "api/inventory.h"
#include "base/mem.h"
#include "control/booking_objects.h"
#include "control/fake_world.h"
#include "control/gc.h"
#include "control/job.h"
#include "control/job_queue.h"
#include "control/queue_controller.h"
#include "wire/time.h"

#define SLICE "nvidia.com/mig-2g.35gb"
#define RSV "rsv-"

enum { GPUS = 2 };

struct scene {
    struct fake_world w;
    struct queue_controller *q;
    struct defaults_controller *d;
    struct booking_objects_controller *b;
    struct job_controller *jobs;
    struct job_queue_controller *job_queue;
    struct gc_controller *gc;
    struct feed *feed;
    int64_t most; /* of SLICE */
    size_t sums;
};

/* ---- the sum ---- */

static int64_t nominal_of(const struct object *o, const char *resource) {
    char find[128];
    snprintf(find, sizeof(find), "{\"name\":\"%s\",\"nominalQuota\":\"", resource);
    struct str rest = o->json, number, tail;
    int64_t sum = 0, v;
    while (rest.n > 0) {
        if (str_starts(rest, str_of(find))) {
            assert_true(str_cut(str_skip(rest, strlen(find)), '"', &number, &tail));
            sum += str_to_i64(number, &v) ? v : 0;
        }
        rest = str_skip(rest, 1);
    }
    return sum;
}

struct summing {
    int64_t sum;
    const struct change *ch;
};

static bool add(void *ctx, const struct object *o) {
    struct summing *x = ctx;
    bool news = o->kind == x->ch->obj->kind && str_eq(o->name, x->ch->obj->name);
    x->sum += news ? 0 : nominal_of(o, SLICE);
    return true;
}

/* A revision: all as it was, and what changed. */
static void on_change(void *ctx, const struct change *ch) {
    struct scene *s = ctx;
    const struct kind *cq = fake_world_kind("ClusterQueue"), *cohort = fake_world_kind("Cohort");
    if (ch->obj->kind != cq && ch->obj->kind != cohort) {
        return;
    }
    struct summing x = {ch->type != CHANGE_DELETED ? nominal_of(ch->obj, SLICE) : 0, ch};
    mirror_scan(s->w.mirror, cq, STR(""), add, &x);
    mirror_scan(s->w.mirror, cohort, STR(""), add, &x);
    if (x.sum > s->most) {
        print_error("%lld of %lld at %.*s\n", (long long)x.sum, (long long)s->most,
                    STR_ARG(ch->obj->json));
    }
    assert_true(x.sum <= s->most);
    s->sums++;
}

/* ---- the world ---- */

static void controllers(struct scene *s) {
    struct err err = {0};
    s->q = queue_controller_new(&s->w.env, &err);
    s->d = defaults_controller_new(&s->w.env, &err);
    s->b = booking_objects_controller_new(&s->w.env, &err);
    s->jobs = job_controller_new(&s->w.env, &err);
    s->job_queue = job_queue_controller_new(&s->w.env, &err);
    s->gc = gc_controller_new(&s->w.env, &err);
    assert_true(s->q && s->d && s->b && s->jobs && s->job_queue && s->gc);
}

static void stop(struct scene *s) {
    gc_controller_free(s->gc);
    job_queue_controller_free(s->job_queue);
    job_controller_free(s->jobs);
    booking_objects_controller_free(s->b);
    defaults_controller_free(s->d);
    queue_controller_free(s->q);
}

static struct gpu_profile PROFILES[] = {
    {STR("1g.18gb"), STR("nvidia.com/mig-1g.18gb"), 19, 1, 1, 16384, 7, 0x7f, false},
    {STR("2g.35gb"), STR(SLICE), 14, 2, 2, 33024, 3, 0x15, false},
};

static void node(struct scene *s, const char *name, size_t gpus) {
    struct gpu_card cards[GPUS] = {0};
    char uuid[GPUS][32];
    struct buf text, json;
    for (size_t i = 0; i < gpus; i++) {
        snprintf(uuid[i], sizeof(uuid[i]), "GPU-%s-%zu", name, i);
        cards[i] = (struct gpu_card){.uuid = str_of(uuid[i]),
                                     .model = STR("NVIDIA H200"),
                                     .board = STR("0x233510DE"),
                                     .index = (int32_t)i,
                                     .memory_mib = 143771,
                                     .slices = 8,
                                     .mig_enabled = true,
                                     .mig_managed = true,
                                     .healthy = true,
                                     .profiles = PROFILES,
                                     .n_profiles = 2};
    }
    struct inventory inv = {cards, gpus, true};
    buf_init(&text, 0);
    buf_init(&json, 0);
    inventory_encode(&inv, &text);
    buf_f(&json,
          "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":"
          "{\"berth.dev/managed\":\"true\",\"nvidia.com/gpu.product\":\"NVIDIA-H200\"},"
          "\"annotations\":{\"" INVENTORY_ANNOTATION "\":",
          name);
    buf_json(&json, buf_view(&text));
    buf_c(&json, "}},\"spec\":{}}");
    fake_world_put(&s->w, buf_cstr(&json));
    fake_world_patch(&s->w, "Node", "", name, "status",
                     "{\"status\":{\"allocatable\":{\"cpu\":\"16\",\"memory\":\"64Gi\"},"
                     "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    buf_release(&text);
    buf_release(&json);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 3 * NS_PER_SEC);
}

static void project(struct scene *s, const char *name) {
    char json[256];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\","
             "\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}}}",
             name, name);
    if (fake_world_get(&s->w, "Namespace", "", name) == NULL) {
        fake_world_put(&s->w, json);
    }
}

static int runs_on(void *ctx, const struct object *pod) {
    return -1;
}

static void start(struct scene *s) {
    *s = (struct scene){.most = 3 * GPUS};
    fake_world_init(&s->w);
    s->w.outcome = runs_on;
    project(s, "default");
    project(s, "kube-system");
    project(s, "team");
    s->feed = mirror_feed(s->w.mirror, NULL, on_change, s);
    controllers(s);
    node(s, "n1", GPUS);
    settle(s);
}

static void end(struct scene *s) {
    stop(s);
    feed_free(s->feed);
    fake_world_release(&s->w);
}

/* from and to in minutes from the epoch of the test. */
static struct str minute(struct scene *s, int64_t m, char *out) {
    (void)s;
    int64_t base = INT64_C(1767225600); /* 2026-01-01 */
    return time_text((base + m * 60) * NS_PER_SEC, out);
}

static void book(struct scene *s, const char *name, int from, int to, int count, const char *more) {
    char json[1024], a[TIME_TEXT_MAX], b[TIME_TEXT_MAX];
    minute(s, from, a);
    minute(s, to, b);
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"team\",\"annotations\":{"
             "\"berth.dev/requested-by\":\"ann\"}},\"spec\":{\"start\":\"%s\",\"end\":\"%s\","
             "\"lines\":[{\"resource\":\"" SLICE "\",\"count\":%d}]%s}}",
             name, a, b, count, more);
    fake_world_put(&s->w, json);
}

/* As the planner would write it. */
static void phase(struct scene *s, const char *name, const char *to, const char *more) {
    char json[2048];
    snprintf(json, sizeof(json), "{\"status\":{\"phase\":\"%s\"%s}}", to, more);
    fake_world_patch(&s->w, "Reservation", "team", name, "status", json);
}

#define PLAN1                                                                                      \
    ",\"plan\":[{\"line\":0,\"resource\":\"" SLICE                                                 \
    "\",\"flavor\":\"nvidia-h200\",\"node\":\"n1\","                                               \
    "\"gpu\":\"GPU-n1-0\",\"gpuIndex\":0,\"profile\":\"2g.35gb\",\"start\":4,\"size\":2}]"

static const struct object *get(struct scene *s, const char *kind, const char *ns,
                                const char *name) {
    return fake_world_get(&s->w, kind, ns, name);
}

/* The ClusterQueue of a Reservation. */
static const struct object *queue_of(struct scene *s, const char *name) {
    const struct object *r = get(s, "Reservation", "team", name);
    const char *q = r ? fake_world_text(r, "status.objects.clusterQueue") : "";
    return *q ? get(s, "ClusterQueue", "", q) : NULL;
}

static int64_t pool(struct scene *s) {
    return nominal_of(get(s, "Cohort", "", "pool"), SLICE);
}

static void is_text(const struct object *o, const char *path, const char *want) {
    assert_non_null(o);
    assert_string_equal(fake_world_text(o, path), want);
}

static void job(struct scene *s, const char *ns, const char *name, const char *queue, int pods) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"}},\"spec\":"
             "{\"suspend\":true,\"parallelism\":%d,\"completions\":%d,\"template\":{\"spec\":{"
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{\"requests\":{\"cpu\":\"10m\",\"" SLICE
             "\":\"1\"},\"limits\":{\"" SLICE "\":\"1\"}}}]}}}}",
             name, ns, queue, pods, pods);
    fake_world_put(&s->w, json);
}

struct found {
    const char *prefix;
    const struct object *o;
};
static bool match(void *ctx, const struct object *o) {
    struct found *f = ctx;
    if (str_starts(o->name, str_of(f->prefix))) {
        f->o = o;
    }
    return true;
}
static const struct object *workload(struct scene *s, const char *ns, const char *job) {
    char prefix[128];
    snprintf(prefix, sizeof(prefix), "job-%s-", job);
    struct found f = {prefix, NULL};
    mirror_scan(s->w.mirror, fake_world_kind("Workload"), str_of(ns), match, &f);
    assert_non_null(f.o);
    return f.o;
}
static bool admitted(struct scene *s, const char *ns, const char *job) {
    return strcmp(fake_world_condition(workload(s, ns, job), "Admitted"), "True") == 0;
}

static void until(struct scene *s, int m) {
    int64_t now = clock_wall(s->w.env.clock);
    int64_t to = (INT64_C(1767225600) + (int64_t)m * 60) * NS_PER_SEC;
    assert_true(to >= now);
    fake_world_run(&s->w, to - now);
}

/* ---- tests ---- */

/* From Preparing to gone: objects, quota, status. */
static void life(void **state) {
    struct scene s;
    start(&s);
    assert_int_equal(pool(&s), 6);
    book(&s, "a", 60, 120, 1, "");
    phase(&s, "a", "Confirmed", PLAN1);
    settle(&s);
    assert_null(queue_of(&s, "a"));
    phase(&s, "a", "Preparing", PLAN1);
    settle(&s);
    const struct object *q = queue_of(&s, "a");
    is_text(q, "spec.stopPolicy", "Hold");
    is_text(q, "spec.cohortName", "pool");
    assert_true(str_contains(q->json, STR("\"matchLabels\":{\"kubernetes.io/metadata.name\":"
                                          "\"team\"}")));
    assert_true(str_contains(q->json, STR("\\\"gpu\\\":\\\"GPU-n1-0\\\"")));
    assert_int_equal(nominal_of(q, SLICE), 0);
    assert_int_equal(pool(&s), 6);
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "None");
    is_text(get(&s, "HardwareProfile", "team", "rsv-a-mig-2g.35gb"),
            "spec.scheduling.kueue.localQueueName", "rsv-a");
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
    until(&s, 60);
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    q = queue_of(&s, "a");
    is_text(q, "spec.stopPolicy", "None");
    assert_int_equal(nominal_of(q, SLICE), 1);
    assert_int_equal(pool(&s), 5);
    assert_true(str_contains(q->json, STR("{\"name\":\"cpu\",\"nominalQuota\":\"2\"}")));
    assert_true(str_contains(q->json, STR("{\"name\":\"memory\",\"nominalQuota\":\"8Gi\"}")));
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
    uint64_t writes = s.w.writes;
    settle(&s);
    assert_int_equal(s.w.writes, writes); /* and then nobody writes */
    until(&s, 120);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    assert_int_equal(pool(&s), 6);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    assert_null(get(&s, "LocalQueue", "team", "rsv-a"));
    phase(&s, "a", "Ended", PLAN1);
    settle(&s);
    writes = s.w.writes;
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    assert_true(s.sums > 4);
    end(&s);
}

/* Deleted objects come back, edits are undone and told; what others add stays. */
static void edits(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 0, 120, 2, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    const struct object *q = queue_of(&s, "a");
    char name[64];
    snprintf(name, sizeof(name), "%.*s", STR_ARG(q->name));
    assert_int_equal(nominal_of(q, SLICE), 2);
    s.most = 100; /* what people write is not for us to answer for */
    fake_world_patch(
        &s.w, "ClusterQueue", "", name, "",
        "{\"spec\":{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"fairSharing\":{"
        "\"weight\":\"2\"}}}");
    settle(&s);
    q = queue_of(&s, "a");
    assert_true(
        str_contains(q->json, STR("\"matchLabels\":{\"kubernetes.io/metadata.name\":\"team\"}}")));
    is_text(q, "spec.fairSharing.weight", "2");
    assert_int_equal(fake_world_events(&s.w, "Reverted"), 1);
    fake_world_patch(&s.w, "LocalQueue", "team", "rsv-a", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    fake_world_delete(&s.w, "HardwareProfile", "team", "rsv-a-mig-2g.35gb", "");
    settle(&s);
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "None");
    assert_non_null(get(&s, "HardwareProfile", "team", "rsv-a-mig-2g.35gb"));
    fake_world_delete(&s.w, "LocalQueue", "team", "rsv-a", "");
    fake_world_delete(&s.w, "ClusterQueue", "", name, "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 2);
    assert_non_null(get(&s, "LocalQueue", "team", "rsv-a"));
    /* the pool's quota is nobody's to raise */
    int64_t was = pool(&s);
    struct str json = get(&s, "Cohort", "", "pool")->json;
    (void)json;
    fake_world_patch(&s.w, "Cohort", "", "pool", "", "{\"spec\":{\"resourceGroups\":null}}");
    settle(&s);
    assert_int_equal(pool(&s), was);
    end(&s);
}

/* Quota that others have as their own is not the pool's. */
static void standing(void **state) {
    struct scene s;
    start(&s);
    s.most = 100;
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
                         "\"metadata\":{\"name\":\"own\"},\"spec\":{\"namespaceSelector\":{},"
                         "\"resourceGroups\":[{\"coveredResources\":[\"" SLICE "\"],\"flavors\":[{"
                         "\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"" SLICE "\","
                         "\"nominalQuota\":\"4\"}]}]}]}}");
    settle(&s);
    assert_int_equal(pool(&s), 2);
    s.most = 6;
    book(&s, "a", 0, 120, 3, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 2);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "false");
    assert_true(
        strstr(fake_world_text(get(&s, "Reservation", "team", "a"), "status.objects.message"),
               "2 of 3") != NULL);
    fake_world_delete(&s.w, "ClusterQueue", "", "own", "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 3);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
    assert_int_equal(pool(&s), 3);
    node(&s, "n2", 1); /* hardware is added */
    s.most = 9;
    settle(&s);
    assert_int_equal(pool(&s), 6);
    end(&s);
}

/* A data folder from before: it is said, nothing is touched; and when the queue is moved, the pool is made. */
static void from_before(void **state) {
    struct scene s;
    start(&s);
    fake_world_delete(&s.w, "Cohort", "", "pool", "");
    s.most = 100;
    fake_world_patch(
        &s.w, "ClusterQueue", "", "default", "",
        "{\"spec\":{\"cohortName\":null,\"resourceGroups\":[{\"coveredResources\":[\"" SLICE
        "\"],\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"" SLICE
        "\",\"nominalQuota\":\"6\"}]}]}]}}");
    settle(&s);
    assert_null(get(&s, "Cohort", "", "pool"));
    assert_int_equal(fake_world_events(&s.w, "OwnsTheMachine"), 1);
    fake_world_patch(
        &s.w, "ClusterQueue", "", "default", "",
        "{\"spec\":{\"cohortName\":\"pool\",\"resourceGroups\":[{\"coveredResources\":[\"" SLICE
        "\"],\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"" SLICE
        "\",\"nominalQuota\":\"0\"}]}]}]}}");
    settle(&s);
    assert_int_equal(pool(&s), 6);
    end(&s);
}

/* The owner's job takes back what a borrower has; another project may not send work there. */
static void reclaim(void **state) {
    struct scene s;
    start(&s);
    job(&s, "default", "big", "default", 6);
    settle(&s);
    assert_true(admitted(&s, "default", "big"));
    book(&s, "a", 0, 120, 1, "");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    assert_true(admitted(&s, "default", "big")); /* nobody needs it yet */
    job(&s, "team", "mine", "rsv-a", 1);
    fake_world_live(&s.w, 5);
    assert_true(admitted(&s, "team", "mine"));
    assert_false(admitted(&s, "default", "big"));
    char q[64];
    snprintf(q, sizeof(q), "%.*s", STR_ARG(queue_of(&s, "a")->name));
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{"
             "\"name\":\"sly\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"%s\"}}",
             q);
    fake_world_put(&s.w, json);
    job(&s, "default", "sly", "sly", 1);
    settle(&s);
    assert_false(admitted(&s, "default", "sly"));
    end(&s);
}

/* The plan's place is the pod's, whoever sits there; others stay away from it while they can. */
static void place(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 30, 120, 1, "");
    phase(&s, "a", "Preparing", PLAN1);
    settle(&s);
    job(&s, "default", "five", "default", 5);
    fake_world_live(&s.w, 3);
    assert_true(admitted(&s, "default", "five"));
    assert_false(str_contains(workload(&s, "default", "five")->json,
                              STR("\\\"gpu\\\":\\\"GPU-n1-0\\\",\\\"profile\\\":\\\"2g.35gb\\\","
                                  "\\\"start\\\":4")));
    job(&s, "default", "last", "default", 1);
    fake_world_live(&s.w, 3);
    assert_true(admitted(&s, "default", "last")); /* there is no other */
    until(&s, 30);
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    job(&s, "team", "mine", "rsv-a", 1);
    fake_world_live(&s.w, 8);
    assert_true(admitted(&s, "team", "mine"));
    assert_true(str_contains(workload(&s, "team", "mine")->json,
                             STR("\\\"gpu\\\":\\\"GPU-n1-0\\\",\\\"profile\\\":\\\"2g.35gb\\\","
                                 "\\\"start\\\":4")));
    assert_false(admitted(&s, "default", "last")); /* he sat there */
    assert_true(admitted(&s, "default", "five"));
    end(&s);
}

/* demote: what runs borrows; what waits goes home; nothing is left in the end. */
static void demote(void **state) {
    struct scene s;
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                         "\"metadata\":{\"name\":\"default\",\"namespace\":\"team\"},\"spec\":"
                         "{\"clusterQueue\":\"default\"}}");
    fake_world_put(&s.w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
                         "\"metadata\":{\"name\":\"default\"},\"spec\":{\"overstay\":\"10m\","
                         "\"warnings\":[\"30m\",\"15m\",\"5m\"]}}");
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    job(&s, "team", "runs", "rsv-a", 1);
    fake_world_live(&s.w, 5);
    job(&s, "team", "waits", "rsv-a", 1);
    settle(&s);
    assert_true(admitted(&s, "team", "runs"));
    assert_false(admitted(&s, "team", "waits"));
    until(&s, 29);
    is_text(workload(&s, "team", "runs"), "metadata.annotations.berth", "");
    assert_int_equal(fake_world_events(&s.w, "ReservationEnding"), 0);
    until(&s, 59);
    assert_int_equal(fake_world_events(&s.w, "ReservationEnding"), 3); /* 30, 15, 5 minutes */
    assert_true(str_contains(workload(&s, "team", "runs")->json,
                             STR("\"berth.dev/reservation-warning\":\"5m\"")));
    until(&s, 60);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    assert_int_equal(pool(&s), 6);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 0);
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "Hold");
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "false");
    assert_true(admitted(&s, "team", "runs"));
    assert_true(admitted(&s, "team", "waits")); /* in the project's own queue, by borrowing */
    is_text(workload(&s, "team", "waits"), "spec.queueName", "default");
    assert_true(str_contains(get(&s, "Job", "team", "waits")->json,
                             STR("from LocalQueue rsv-a: reservation a ended at")));
    until(&s, 71); /* it stayed too long */
    fake_world_live(&s.w, 5);
    assert_null(queue_of(&s, "a"));
    assert_null(get(&s, "LocalQueue", "team", "rsv-a"));
    is_text(workload(&s, "team", "runs"), "spec.queueName", "default");
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    end(&s);
}

/* hard: free at the end; drain: no new work before it. */
static void ends(void **state) {
    struct scene s;
    start(&s);
    book(&s, "h", 0, 60, 1, ",\"endPolicy\":\"hard\"");
    book(&s, "d", 0, 60, 1, ",\"endPolicy\":\"drain\"");
    phase(&s, "h", "Active", "");
    phase(&s, "d", "Active", "");
    settle(&s);
    job(&s, "team", "h", "rsv-h", 1);
    job(&s, "team", "d", "rsv-d", 1);
    fake_world_live(&s.w, 5);
    until(&s, 54);
    is_text(queue_of(&s, "d"), "spec.stopPolicy", "None");
    until(&s, 56);
    is_text(queue_of(&s, "d"), "spec.stopPolicy", "Hold");
    is_text(queue_of(&s, "h"), "spec.stopPolicy", "None");
    assert_true(admitted(&s, "team", "d"));
    until(&s, 59);
    assert_true(admitted(&s, "team", "h"));
    fake_world_live(&s.w, 40); /* a pod has 30 s */
    is_text(queue_of(&s, "h"), "spec.stopPolicy", "HoldAndDrain");
    assert_false(admitted(&s, "team", "h"));
    assert_true(admitted(&s, "team", "d"));
    until(&s, 60);
    phase(&s, "h", "Ending", "");
    phase(&s, "d", "Ending", "");
    fake_world_live(&s.w, 5);
    assert_false(admitted(&s, "team", "d"));
    assert_int_equal(pool(&s), 6);
    assert_int_equal(fake_world_count(&s.w, "LocalQueue"), 1); /* default/default */
    end(&s);
}

/* Back to back: the same objects go on, and what runs is not told of an end. */
static void back_to_back(void **state) {
    struct scene s;
    char name[64];
    start(&s);
    book(&s, "a", 0, 60, 1, ",\"endPolicy\":\"hard\"");
    book(&s, "b", 60, 120, 1, ",\"endPolicy\":\"hard\"");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    snprintf(name, sizeof(name), "%.*s", STR_ARG(queue_of(&s, "a")->name));
    job(&s, "team", "j", "rsv-a", 1);
    phase(&s, "b", "Confirmed", ",\"start\":\"2026-01-01T01:00:00Z\"" PLAN1);
    fake_world_live(&s.w, 5);
    until(&s, 55);
    assert_int_equal(fake_world_events(&s.w, "ReservationEnding"), 0);
    phase(&s, "b", "Preparing", PLAN1);
    settle(&s);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 2);
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.ready", "true");
    until(&s, 60);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    phase(&s, "b", "Active", PLAN1);
    settle(&s);
    assert_non_null(get(&s, "ClusterQueue", "", name));
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.clusterQueue", name);
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.localQueue", "rsv-a");
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "None");
    assert_int_equal(nominal_of(get(&s, "ClusterQueue", "", name), SLICE), 1);
    assert_true(admitted(&s, "team", "j"));
    assert_int_equal(fake_world_events(&s.w, "Evicted"), 0);
    phase(&s, "a", "Ended", PLAN1);
    until(&s, 120);
    phase(&s, "b", "Ending", PLAN1);
    fake_world_live(&s.w, 5);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
    end(&s);
}

/* The Reservation, or its whole project, is deleted: nothing stays behind. */
static void gone(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 0, 60, 1, "");
    book(&s, "b", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    phase(&s, "b", "Active", "");
    settle(&s);
    assert_int_equal(pool(&s), 4);
    fake_world_delete(&s.w, "Reservation", "team", "a", "");
    settle(&s);
    assert_int_equal(pool(&s), 5);
    assert_null(get(&s, "LocalQueue", "team", "rsv-a"));
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 1);
    stop(&s); /* while nobody looks, ClusterQueue and Reservation go */
    char name[64];
    snprintf(name, sizeof(name), "%.*s", STR_ARG(queue_of(&s, "b")->name));
    fake_world_patch(&s.w, "ClusterQueue", "", name, "", "{\"metadata\":{\"finalizers\":null}}");
    fake_world_delete(&s.w, "ClusterQueue", "", name, "");
    fake_world_delete(&s.w, "Reservation", "team", "b", "");
    controllers(&s);
    settle(&s);
    assert_int_equal(pool(&s), 6);
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
    assert_null(get(&s, "LocalQueue", "team", "rsv-b"));
    end(&s);
}

/* ---- stops ---- */

static void story(struct scene *s) {
    book(s, "a", 0, 60, 1, "");
    book(s, "b", 0, 60, 2, ",\"endPolicy\":\"hard\"");
    phase(s, "a", "Active", PLAN1);
    phase(s, "b", "Active", "");
}

/* What there is in the end, as text. */
static bool tell(void *ctx, const struct object *o) {
    buf_f(ctx, "%.*s/%.*s %s\n", STR_ARG(o->ns), STR_ARG(o->name),
          fake_world_text(o, "spec.stopPolicy"));
    return true;
}

static char *outcome(struct scene *s) {
    static const char *const kinds[] = {"LocalQueue", "HardwareProfile"};
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < 2; i++) {
        mirror_scan(s->w.mirror, fake_world_kind(kinds[i]), STR(""), tell, &b);
    }
    buf_f(&b, "pool %lld queues %zu", (long long)pool(s), fake_world_count(&s->w, "ClusterQueue"));
    const struct object *q = queue_of(s, "b");
    buf_f(&b, " b %lld", q ? (long long)nominal_of(q, SLICE) : -1);
    buf_ch(&b, 0);
    return buf_take(&b, &(size_t){0});
}

/* Stops after the nth write, or has it fail; then all begins anew. `fault` negative: it stops. */
static char *told(uint64_t nth, int fault, uint64_t *ret_writes) {
    struct scene s;
    start(&s);
    uint64_t from = s.w.writes;
    if (nth > 0 && fault >= 0) {
        s.w.fault = (enum fake_fault)fault;
        s.w.fail_at = nth;
    }
    story(&s);
    for (int i = 0; i < 400; i++) {
        fake_world_run(&s.w, NS_PER_MS / 2);
        if (nth > 0 && fault < 0 && s.w.writes - from >= nth) {
            nth = 0;
            stop(&s);
            fake_world_run(&s.w, NS_PER_SEC);
            controllers(&s);
        }
    }
    fake_world_run(&s.w, 30 * NS_PER_SEC);
    phase(&s, "a", "Ending", PLAN1);
    fake_world_delete(&s.w, "Reservation", "team", "a", "");
    for (int i = 0; i < 400; i++) {
        fake_world_run(&s.w, NS_PER_MS / 2);
        if (nth > 0 && fault < 0 && s.w.writes - from >= nth) {
            nth = 0;
            stop(&s);
            fake_world_run(&s.w, NS_PER_SEC);
            controllers(&s);
        }
    }
    fake_world_run(&s.w, 60 * NS_PER_SEC);
    *ret_writes = s.w.writes - from;
    char *text = outcome(&s);
    end(&s);
    return text;
}

static void stops(void **state) {
    uint64_t all, n;
    _cleanup_free_ char *want = told(0, -1, &all);
    assert_true(strstr(want, "pool 4 queues 2 b 2") != NULL);
    for (int fault = -1; fault <= (int)FAULT_CONFLICT; fault++) {
        for (uint64_t nth = 1; nth <= all; nth++) {
            _cleanup_free_ char *have = told(nth, fault, &n);
            if (strcmp(have, want) != 0) {
                print_error("stop %d at write %llu:\n%s\nnot\n%s\n", fault, (unsigned long long)nth,
                            have, want);
            }
            assert_string_equal(have, want);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(life),         cmocka_unit_test(edits),       cmocka_unit_test(standing),
        cmocka_unit_test(reclaim),      cmocka_unit_test(from_before), cmocka_unit_test(place),
        cmocka_unit_test(demote),       cmocka_unit_test(ends),        cmocka_unit_test(gone),
        cmocka_unit_test(back_to_back), cmocka_unit_test(stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

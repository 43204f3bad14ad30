/*
 * booking_objects_scene: a fake world with two simulated H200 in which bookings begin and end. Phases are written by
 * hand, where the planner would; queues, jobs and the defaults of a fresh machine are the real ones. At every revision
 * the quota of the pool is summed up.
 */
#ifndef BERTH_CONTROL_BOOKING_OBJECTS_SCENE_H
#define BERTH_CONTROL_BOOKING_OBJECTS_SCENE_H

#include "base/test.h"

#include "api/h200_fixture.h"
#include "base/mem.h"
#include "base/prng.h"
#include "control/berths/booking_objects.h"
#include "control/hold/job_queue.h"
#include "control/kit/controller.h"
#include "control/kube/gc.h"
#include "control/kube/job.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"
#include "wire/text/time.h"

#define SLICE "nvidia.com/mig-2g.35gb"
#define RSV "rsv-"

enum { GPUS = 2 };

struct scene {
    struct fake_world w;
    struct queue_controller *q;
    struct controller *d;
    struct booking_objects_controller *b;
    struct controller *jobs;
    struct controller *job_queue;
    struct controller *gc;
    struct feed *feed;
    int64_t most; /* of SLICE */
    size_t sums;
};

/* ---- the sum ---- */

__attribute__((unused)) static int64_t nominal_of(const struct object *o, const char *resource) {
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

__attribute__((unused)) static bool add(void *ctx, const struct object *o) {
    struct summing *x = ctx;
    bool news = o->kind == x->ch->obj->kind && str_eq(o->name, x->ch->obj->name);
    x->sum += news ? 0 : nominal_of(o, SLICE);
    return true;
}

/* A revision: all as it was, and what changed. */
__attribute__((unused)) static void on_change(void *ctx, const struct change *ch) {
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

__attribute__((unused)) static void controllers(struct scene *s) {
    struct err err = {0};
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    s->d = controller_new(&defaults_controller, &s->w.env, &err);
    s->b = controller_new(&booking_objects_controller, &s->w.env, &err);
    s->jobs = controller_new(&job_controller, &s->w.env, &err);
    s->job_queue = controller_new(&job_queue_controller, &s->w.env, &err);
    s->gc = controller_new(&gc_controller, &s->w.env, &err);
    assert_true(s->q && s->d && s->b && s->jobs && s->job_queue && s->gc);
}

__attribute__((unused)) static void stop(struct scene *s) {
    controller_free(s->gc);
    controller_free(s->job_queue);
    controller_free(s->jobs);
    controller_free(s->b);
    controller_free(s->d);
    controller_free(s->q);
}

static struct gpu_profile PROFILES[] = {H200_1G_18GB, H200_2G_35GB};

__attribute__((unused)) static void node(struct scene *s, const char *name, size_t gpus) {
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

__attribute__((unused)) static void settle(struct scene *s) {
    fake_world_run(&s->w, 3 * NS_PER_SEC);
}

__attribute__((unused)) static void project(struct scene *s, const char *name) {
    char json[256];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\","
             "\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}}}",
             name, name);
    if (fake_world_get(&s->w, "Namespace", "", name) == NULL) {
        fake_world_put(&s->w, json);
    }
}

__attribute__((unused)) static int runs_on(void *ctx, const struct object *pod) {
    return -1;
}

__attribute__((unused)) static void start(struct scene *s) {
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

__attribute__((unused)) static void end(struct scene *s) {
    stop(s);
    feed_free(s->feed);
    fake_world_release(&s->w);
}

/* from and to in minutes from the epoch of the test. */
__attribute__((unused)) static struct str minute(struct scene *s, int64_t m, char *out) {
    (void)s;
    int64_t base = INT64_C(1767225600); /* 2026-01-01 */
    return time_text((base + m * 60) * NS_PER_SEC, out);
}

__attribute__((unused)) static void book(struct scene *s, const char *name, int from, int to,
                                         int count, const char *more) {
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
__attribute__((unused)) static void phase(struct scene *s, const char *name, const char *to,
                                          const char *more) {
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

__attribute__((unused)) static int64_t pool(struct scene *s) {
    return nominal_of(get(s, "Cohort", "", "pool"), SLICE);
}

__attribute__((unused)) static void is_text(const struct object *o, const char *path,
                                            const char *want) {
    assert_non_null(o);
    assert_string_equal(fake_world_text(o, path), want);
}

__attribute__((unused)) static void job(struct scene *s, const char *ns, const char *name,
                                        const char *queue, int pods) {
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
__attribute__((unused)) static bool match(void *ctx, const struct object *o) {
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
__attribute__((unused)) static bool admitted(struct scene *s, const char *ns, const char *job) {
    return strcmp(fake_world_condition(workload(s, ns, job), "Admitted"), "True") == 0;
}

__attribute__((unused)) static void until(struct scene *s, int m) {
    int64_t now = clock_wall(s->w.env.clock);
    int64_t to = (INT64_C(1767225600) + (int64_t)m * 60) * NS_PER_SEC;
    assert_true(to >= now);
    fake_world_run(&s->w, to - now);
}

#endif

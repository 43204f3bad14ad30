/*
 * Every controller in a world that is edited, broken and restarted at random, watched by soak_model; then faults stop,
 * and everything has to come to its end: what could be admitted is admitted, Jobs have their successes, counters are
 * what a recount gives, and nothing is left over. A run is its seed: control-soak-test [SEED [COUNT]].
 */
#include <stdlib.h>

#include "api/inventory.h"
#include "base/mem.h"
#include "base/test.h"
#include "control/control.h"
#include "control/queue/queue_private.h" /* to look into the engine */
#include "control/test/soak_nodes.h"
#include "wire/text/time.h"

#define KUEUE "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

enum {
    NAMESPACES = 2,
    STEPS = 45,
    SEEDS = 250,
    QUIET_S = 12
}; /* quiet for longer than nodes take to report */

struct run {
    struct soak s; /* first */
    struct control *rest;
    struct queue_controller *queues;
    int serial;
};

static uint64_t first_seed = 1, seeds = SEEDS;

static int below(struct run *x, int n) {
    return (int)prng_below(&x->s.r, (uint64_t)n);
}

/* ---- controllers ---- */

static void queues_start(struct run *x) {
    struct err err = {0};
    x->queues = controller_new(&queue_controller, &x->s.w.env, &err);
    assert_non_null(x->queues);
}

static void rest_start(struct run *x) {
    struct err err = {0};
    /* Bookings have restarts of their own: reservation_restart_test. */
    unsigned without = CONTROL_DEFAULTS | CONTROL_QUEUES | CONTROL_RESERVATIONS;
    x->rest = control_new(&x->s.w.env, CONTROL_ALL & ~without, &err);
    assert_non_null(x->rest);
}

/* What was on its way arrives before anything is read again: writes do not outlive the process that made them. */
static void restart(struct run *x) {
    if (below(x, 2)) {
        controller_free(x->queues);
        fake_world_run(&x->s.w, x->s.w.writer.latency_ns);
        queues_start(x);
    } else {
        control_free(x->rest);
        fake_world_run(&x->s.w, x->s.w.writer.latency_ns);
        rest_start(x);
    }
}

/* ---- who decides admission checks ---- */

static bool undecided(void *ctx, const struct object *o) {
    const struct object **found = ctx;
    *found = str_contains(o->json, STR("\"state\":\"Pending\"")) &&
                     strcmp(fake_world_condition(o, "QuotaReserved"), "True") == 0 &&
                     strcmp(fake_world_condition(o, "Evicted"), "True") != 0
                 ? o
                 : *found;
    return true;
}

static void check_one(struct run *x) {
    const struct object *o = NULL;
    char json[512], ns[16], name[300], at[TIME_TEXT_MAX];
    mirror_scan(x->s.w.mirror, fake_world_kind("Workload"), STR(""), undecided, &o);
    if (o == NULL || (!x->s.calm && below(x, 3) == 0)) {
        return;
    }
    bool again = !x->s.calm && below(x, 4) == 0;
    str_copy(o->ns, ns, sizeof ns);
    str_copy(o->name, name, sizeof name);
    snprintf(
        json, sizeof json,
        "{\"status\":{\"admissionChecks\":[{\"name\":\"check\",\"state\":\"%s\",\"message\":\"\","
        "\"lastTransitionTime\":\"%s\"%s}]}}",
        again ? "Retry" : "Ready", time_text(clock_wall(&x->s.w.clock.clock), at).p,
        again ? ",\"requeueAfterSeconds\":3" : "");
    fake_world_patch(&x->s.w, "Workload", ns, name, "status", json);
}

static void second(struct run *x) {
    fake_world_run(&x->s.w, NS_PER_SEC);
    check_one(x);
    soak_hands(&x->s);
}

/* ---- queues ---- */

static void limit(struct buf *b, const char *name, int64_t v, const char *unit) {
    if (v >= 0) {
        buf_f(b, ",\"%s\":\"%lld%s\"", name, (long long)v, unit);
    }
}

static void cluster_write(struct run *x, int q) {
    const struct soak_queue *c = &x->s.queues[q];
    struct buf b;
    char name[3] = {'q', (char)('0' + q), 0};
    buf_init(&b, 0);
    buf_f(&b,
          "{" KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
          "\"namespaceSelector\":{},\"cohortName\":%s,\"queueingStrategy\":\"%s\","
          "\"stopPolicy\":\"%s\",\"resourceGroups\":[{\"coveredResources\":[",
          name, c->cohort ? "\"co\"" : "null", c->strict ? "StrictFIFO" : "BestEffortFIFO",
          !c->stopped   ? "None"
          : below(x, 2) ? "Hold"
                        : "HoldAndDrain");
    for (int r = 0; r < SOAK_RESOURCES; r++) {
        buf_f(&b, "%s\"%s\"", r ? "," : "", soak_resources[r]);
    }
    buf_c(&b, "],\"flavors\":[");
    for (int f = 0; f < SOAK_FLAVORS; f++) {
        buf_f(&b, "%s{\"name\":\"f%d\",\"resources\":[", f ? "," : "", f);
        for (int r = 0; r < SOAK_RESOURCES; r++) {
            const struct soak_quota *l = &c->quota[f][r];
            const char *unit = r == 0 ? "m" : r == 1 ? "Gi" : "";
            buf_f(&b, "%s{\"name\":\"%s\",\"nominalQuota\":\"%lld%s\"", r ? "," : "",
                  soak_resources[r], (long long)l->nominal, unit);
            limit(&b, "borrowingLimit", c->cohort ? l->borrowing : -1, unit);
            limit(&b, "lendingLimit", c->cohort ? l->lending : -1, unit);
            buf_c(&b, "}");
        }
        buf_c(&b, "]}");
    }
    buf_f(&b,
          "]}],\"preemption\":{\"withinClusterQueue\":\"%s\",\"reclaimWithinCohort\":\"%s\"},"
          "\"admissionChecksStrategy\":%s}}",
          c->preempts ? "LowerPriority" : "Never", c->preempts ? "Any" : "Never",
          c->checks ? "{\"admissionChecks\":[{\"name\":\"check\"}]}" : "null");
    x->s.edited_ns = x->s.w.clock.now;
    if (fake_world_get(&x->s.w, "ClusterQueue", "", name)) {
        fake_world_patch(&x->s.w, "ClusterQueue", "", name, "", buf_cstr(&b));
    } else {
        fake_world_put(&x->s.w, buf_cstr(&b));
    }
    buf_release(&b);
}

static void cluster_edit(struct run *x, int q, bool stopped) {
    struct soak_queue *c = &x->s.queues[q];
    *c = (struct soak_queue){.stopped = stopped,
                             .strict = below(x, 3) == 0,
                             .cohort = below(x, 3) != 0,
                             .preempts = below(x, 3) != 0,
                             .checks = below(x, 4) == 0};
    for (int f = 0; f < SOAK_FLAVORS; f++) {
        for (int r = 0; r < SOAK_RESOURCES; r++) {
            int most = r == 0 ? 8000 : r == 1 ? 16 : r == 2 ? 4 : 5;
            c->quota[f][r] =
                (struct soak_quota){below(x, most + 1), below(x, 2) ? below(x, most + 1) : -1,
                                    below(x, 2) ? below(x, most + 1) : -1};
        }
    }
    cluster_write(x, q);
}

static void local_write(struct run *x, int ns, int q, const char *stop) {
    char json[512], name[16], space[8];
    snprintf(name, sizeof name, "lq%d", q);
    snprintf(space, sizeof space, "ns%d", ns);
    const struct object *n = fake_world_get(&x->s.w, "Namespace", "", space);
    if (n == NULL) {
        snprintf(json, sizeof json,
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                 "\"name\":\"%s\"},\"spec\":{\"finalizers\":[\"kubernetes\"]}}",
                 space);
        fake_world_put(&x->s.w, json);
    } else if (n->deleting_ns) {
        return;
    }
    const struct object *l = fake_world_get(&x->s.w, "LocalQueue", space, name);
    snprintf(json, sizeof json,
             "{" KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\"},\"spec\":{\"clusterQueue\":\"q%d\","
             "\"stopPolicy\":\"%s\"}}",
             name, space, q, stop);
    if (l) {
        fake_world_patch(&x->s.w, "LocalQueue", space, name, "", json);
    } else {
        fake_world_put(&x->s.w, json);
    }
}

/* ---- Jobs ---- */

static void job_put(struct run *x) {
    char json[2048], devices[128] = "", priority[64] = "";
    int ns = below(x, NAMESPACES), kind = below(x, SOAK_PROFILES + 3);
    int completions = 1 + below(x, 3), parallelism = 1 + below(x, 3);
    char space[8];
    snprintf(space, sizeof space, "ns%d", ns);
    const struct object *n = fake_world_get(&x->s.w, "Namespace", "", space);
    if (n == NULL || n->deleting_ns) {
        return;
    }
    if (kind <= SOAK_PROFILES) {
        snprintf(devices, sizeof devices, ",\"%s\":\"%d\"", soak_resources[2 + kind],
                 1 + (below(x, 4) == 0));
    }
    if (below(x, 3) == 0) {
        snprintf(priority, sizeof priority, ",\"kueue.x-k8s.io/priority-class\":\"high\"");
    }
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\","
             "\"namespace\":\"%s\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq%d\"%s}},\"spec\":"
             "{\"suspend\":true,\"backoffLimit\":1000,\"completions\":%d,\"parallelism\":%d,"
             "\"completionMode\":\"%s\",\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
             "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":"
             "\"%dm\",\"memory\":\"%dGi\"%s},\"limits\":{\"memory\":\"16Gi\"%s}}}]}}}}",
             ++x->serial, space, below(x, SOAK_QUEUES), priority, completions, parallelism,
             below(x, 2) ? "Indexed" : "NonIndexed", 100 + below(x, 2000), 1 + below(x, 4), devices,
             devices);
    fake_world_put(&x->s.w, json);
}

struct pick {
    struct run *x;
    const struct object *o;
    int n;
};

static bool pick_each(void *ctx, const struct object *o) {
    struct pick *p = ctx;
    p->n++;
    if (below(p->x, p->n) == 0) {
        p->o = o;
    }
    return true;
}

/* One of a kind in the namespaces of the run, at random; its name and namespace are copied. */
static bool pick(struct run *x, const char *kind, char ns[16], char name[300]) {
    struct pick p = {.x = x};
    for (int i = 0; i < NAMESPACES; i++) {
        mirror_scan(x->s.w.mirror, fake_world_kind(kind), i ? STR("ns1") : STR("ns0"), pick_each,
                    &p);
    }
    return p.o && str_copy(p.o->ns, ns, 16) && str_copy(p.o->name, name, 300);
}

static void edit_one(struct run *x) {
    char ns[16], name[300], json[128];
    int what = below(x, 9);
    const char *kind = what < 2 || what == 6 ? "Job" : what == 7 ? "LocalQueue" : "Workload";
    if (!pick(x, kind, ns, name)) {
        return;
    }
    switch (what) {
    case 0:
    case 1:
        fake_world_delete(&x->s.w, kind, ns, name, what ? "Foreground" : "Background");
        break;
    case 2:
    case 3:
    case 4:
        fake_world_patch(&x->s.w, kind, ns, name, "",
                         what == 3 ? "{\"spec\":{\"active\":false}}"
                                   : "{\"spec\":{\"active\":true}}");
        break;
    case 6: /* only a Job that waits may go to another queue */
        if (strcmp(fake_world_text(fake_world_get(&x->s.w, kind, ns, name), "spec.suspend"),
                   "true") == 0) {
            snprintf(json, sizeof json,
                     "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":"
                     "\"lq%d\"}}}",
                     below(x, SOAK_QUEUES));
            fake_world_patch(&x->s.w, kind, ns, name, "", json);
        }
        break;
    case 8: /* while an admission is being written, too */
        snprintf(json, sizeof json, "{\"spec\":{\"queueName\":\"lq%d\"}}", below(x, SOAK_QUEUES));
        if (strcmp(fake_world_condition(fake_world_get(&x->s.w, kind, ns, name), "QuotaReserved"),
                   "True") != 0) {
            fake_world_patch(&x->s.w, kind, ns, name, "", json);
        }
        break;
    default:
        fake_world_delete(&x->s.w, kind, ns, name, "Background");
    }
}

static void step(struct run *x) {
    static const char *const stops[] = {"None", "Hold", "HoldAndDrain"};
    int what = below(x, 20);
    if (what < 6) {
        job_put(x);
    } else if (what < 9) {
        edit_one(x);
    } else if (what < 11) {
        cluster_edit(x, below(x, SOAK_QUEUES), below(x, 3) == 0);
    } else if (what < 13) {
        local_write(x, below(x, NAMESPACES), below(x, SOAK_QUEUES), stops[below(x, 3)]);
    } else if (what < 15) {
        soak_node_break(&x->s);
    } else if (what == 15 && below(x, 4) == 0 && fake_world_get(&x->s.w, "Namespace", "", "ns1")) {
        fake_world_delete(&x->s.w, "Namespace", "", "ns1", "Background");
    } else if (what == 16) {
        restart(x);
    } else if (what > 16) {
        x->s.w.fail_at = 1 + (uint64_t)below(x, 6);
        x->s.w.fault = (enum fake_fault)below(x, 3);
    }
    x->s.ends = below(x, 2);
    for (int i = below(x, 4); i > 0; i--) {
        second(x);
    }
    fake_world_run(&x->s.w, below(x, 4) * NS_PER_MS);
    if (!engine_consistent(x->queues->engine)) {
        soak_fail(&x->s, "the engine contradicts itself");
    }
}

/* ---- the end ---- */

static void until_quiet(struct run *x, int most_s) {
    uint64_t writes = x->s.w.writes;
    for (int quiet = 0; quiet < QUIET_S; quiet++) {
        second(x);
        if (x->s.w.writes != writes) {
            writes = x->s.w.writes;
            quiet = 0;
        }
        if (--most_s == 0) {
            soak_fail(&x->s, "no end of writing");
        }
    }
}

static bool activate(void *ctx, const struct object *o) {
    struct run *x = ctx;
    struct err err = {0};
    const struct object *now;
    if (str_contains(o->json, STR("\"active\":false"))) {
        assert_ok(fake_store_patch(&x->s.w, o->kind, o->ns, o->name, "", PATCH_MERGE,
                                   STR("{\"spec\":{\"active\":true}}"), &now, &err),
                  &err);
        object_unref(now);
        return false;
    }
    return true;
}

static void heal(struct run *x) {
    x->s.w.fail_at = 0;
    x->s.ends = false;
    x->s.calm = true;
    for (int n = 0; n < SOAK_NODES; n++) {
        x->s.ready[n] = true;
        x->s.away[n] = false;
        for (int g = 0; g < SOAK_GPUS; g++) {
            soak_gpu_set(&x->s, n, g, true);
        }
        soak_node_write(&x->s, n);
    }
    for (int q = 0; q < SOAK_QUEUES; q++) {
        x->s.queues[q].stopped = false;
        cluster_write(x, q);
        for (int ns = 0; ns < NAMESPACES; ns++) {
            local_write(x, ns, q, "None");
        }
    }
    for (size_t n = fake_world_count(&x->s.w, "Workload") + 1; n > 0; n--) {
        mirror_scan(x->s.w.mirror, fake_world_kind("Workload"), STR(""), activate, x);
    }
}

/* Whether a Job is under way: failed pods are made anew only after a while. */
static bool job_goes_on(void *ctx, const struct object *o) {
    bool *goes = ctx;
    *goes = strcmp(fake_world_text(o, "spec.suspend"), "true") != 0 &&
            strcmp(fake_world_condition(o, "Complete"), "True") != 0;
    return !*goes;
}

static void until_done(struct run *x) {
    bool goes = true;
    for (int i = 0; goes && i < 100; i++) {
        goes = false;
        until_quiet(x, 4000);
        mirror_scan(x->s.w.mirror, fake_world_kind("Job"), STR(""), job_goes_on, &goes);
    }
}

static bool tell_each(void *ctx, const struct object *o) {
    struct run *x = ctx;
    if (str_starts(o->ns, STR("ns"))) {
        print_message("%.*s/%.*s in %s: ", STR_ARG(o->ns), STR_ARG(o->name),
                      fake_world_text(o, "spec.queueName"));
        print_message("%s: ", fake_world_condition(o, "QuotaReserved"));
        print_message("%s", fake_world_condition_message(o, "QuotaReserved"));
        print_message(" %s\n", x->s.w.log_writes ? fake_world_text(o, "metadata.annotations") : "");
    }
    return true;
}

static void tell(struct run *x) {
    if (getenv("SOAK_TELL")) {
        mirror_scan(x->s.w.mirror, fake_world_kind("Workload"), STR(""), tell_each, x);
    }
}

/* A second look with nothing remembered must not find more. */
static void nothing_forgotten(struct run *x, const char *when) {
    int had = x->s.n_works;
    if (!engine_consistent(x->queues->engine)) {
        soak_fail(&x->s, "the engine contradicts itself %s", when);
    }
    tell(x);
    controller_free(x->queues);
    queues_start(x);
    for (int i = 0; i < 10; i++) {
        second(x);
    }
    tell(x);
    if (x->s.n_works > had) {
        soak_fail(&x->s, "%s: %d hold quota, of which %d were admitted only after a restart", when,
                  x->s.n_works, x->s.n_works - had);
    }
}

struct count {
    int64_t reserving[SOAK_QUEUES], waiting[SOAK_QUEUES];
    struct run *x;
};

static bool tally_each(void *ctx, const struct object *o) {
    struct count *t = ctx;
    char lq[64];
    str_copy(str_of(fake_world_text(o, "spec.queueName")), lq, sizeof lq);
    if (strcmp(fake_world_condition(o, "Finished"), "True") == 0 || strncmp(lq, "lq", 2) != 0) {
        return true;
    }
    bool holds = strcmp(fake_world_condition(o, "QuotaReserved"), "True") == 0;
    int q = holds ? fake_world_text(o, "status.admission.clusterQueue")[1] - '0' : lq[2] - '0';
    (holds ? t->reserving : t->waiting)[q]++;
    return true;
}

static int64_t number(const char *text) {
    return strtoll(text, NULL, 10);
}

static void counters_right(struct run *x) {
    struct count t = {.x = x};
    mirror_scan(x->s.w.mirror, fake_world_kind("Workload"), STR(""), tally_each, &t);
    for (int q = 0; q < SOAK_QUEUES; q++) {
        char name[3] = {'q', (char)('0' + q), 0};
        const struct object *o = fake_world_get(&x->s.w, "ClusterQueue", "", name);
        int64_t pending = number(fake_world_text(o, "status.pendingWorkloads"));
        int64_t reserving = number(fake_world_text(o, "status.reservingWorkloads"));
        int64_t admitted = number(fake_world_text(o, "status.admittedWorkloads"));
        if (pending != t.waiting[q] || reserving != t.reserving[q] || admitted != reserving) {
            soak_fail(&x->s, "%s says %lld wait, %lld reserve, %lld are admitted: %lld, %lld do",
                      name, (long long)pending, (long long)reserving, (long long)admitted,
                      (long long)t.waiting[q], (long long)t.reserving[q]);
        }
    }
}

/* A Job is complete, or its Workload waits for what there is not. */
static bool job_over(void *ctx, const struct object *o) {
    struct run *x = ctx;
    bool complete = strcmp(fake_world_condition(o, "Complete"), "True") == 0;
    bool waits = strcmp(fake_world_text(o, "spec.suspend"), "true") == 0;
    if (!complete && !waits) {
        soak_fail(&x->s, "job %.*s neither ends nor waits", STR_ARG(o->name));
    }
    return true;
}

static void all_gone(struct run *x) {
    static const char *const kinds[] = {
        "Job", "Pod", "Workload", "LocalQueue", "ClusterQueue", "ResourceFlavor", "AdmissionCheck"};
    fake_world_delete(&x->s.w, "Namespace", "", "ns0", "Background");
    if (fake_world_get(&x->s.w, "Namespace", "", "ns1")) {
        fake_world_delete(&x->s.w, "Namespace", "", "ns1", "Background");
    }
    for (int q = 0; q < SOAK_QUEUES; q++) {
        char name[3] = {'q', (char)('0' + q), 0};
        fake_world_delete(&x->s.w, "ClusterQueue", "", name, "");
    }
    fake_world_delete(&x->s.w, "AdmissionCheck", "", "check", "");
    fake_world_delete(&x->s.w, "ResourceFlavor", "", "f0", "");
    fake_world_delete(&x->s.w, "ResourceFlavor", "", "f1", "");
    until_quiet(x, 900);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (fake_world_count(&x->s.w, kinds[i]) != 0) {
            soak_fail(&x->s, "%zu left of %s", fake_world_count(&x->s.w, kinds[i]), kinds[i]);
        }
    }
    if (fake_world_get(&x->s.w, "Namespace", "", "ns0") ||
        fake_world_get(&x->s.w, "Namespace", "", "ns1")) {
        soak_fail(&x->s, "a namespace is left");
    }
    if (pool_seats(engine_pool(x->queues->engine)) != 0) {
        soak_fail(&x->s, "seats are left");
    }
}

static void begin(struct run *x, uint64_t seed) {
    static const char *const puts[] = {
        "{" KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"f0\"},\"spec\":{}}",
        "{" KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"f1\"},\"spec\":{\"nodeLabels\":{"
        "\"pool\":\"b\"}}}",
        "{" KUEUE "\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":10}",
        "{" KUEUE "\"AdmissionCheck\",\"metadata\":{\"name\":\"check\"},\"spec\":{"
        "\"controllerName\":\"example.com/c\"}}",
    };
    x->s.seed = seed;
    prng_seed(&x->s.r, seed);
    fake_world_init(&x->s.w);
    x->s.w.log.level = LOG_ERROR;
    x->s.w.log_writes = getenv("SOAK_WRITES") != NULL;
    arena_init(&x->s.arena, 8 << 20);
    soak_watch(&x->s);
    rest_start(x);
    queues_start(x);
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        fake_world_put(&x->s.w, puts[i]);
    }
    fake_world_patch(&x->s.w, "AdmissionCheck", "", "check", "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\","
                     "\"reason\":\"R\",\"message\":\"\"}]}}");
    soak_nodes_start(&x->s);
    for (int q = 0; q < SOAK_QUEUES; q++) {
        cluster_edit(x, q, false);
        for (int ns = 0; ns < NAMESPACES; ns++) {
            local_write(x, ns, q, "None");
        }
    }
}

static void end(struct run *x) {
    controller_free(x->queues);
    control_free(x->rest);
    feed_free(x->s.feed);
    arena_release(&x->s.arena);
    fake_world_release(&x->s.w);
    mem_free(x);
}

static void one(uint64_t seed) {
    struct run *x = mem_zalloc(sizeof *x);
    assert_non_null(x);
    begin(x, seed);
    for (int i = 0; i < STEPS; i++) {
        step(x);
    }
    heal(x);
    until_quiet(x, 2000);
    if (fake_world_get(&x->s.w, "Namespace", "", "ns1") ==
        NULL) { /* it was going when the rest was healed */
        heal(x);
        until_quiet(x, 900);
    }
    nothing_forgotten(x, "while all run");
    counters_right(x);
    x->s.ends = true;
    until_done(x);
    nothing_forgotten(x, "at the end");
    counters_right(x);
    mirror_scan(x->s.w.mirror, fake_world_kind("Job"), STR(""), job_over, x);
    all_gone(x);
    end(x);
}

static void soak(void **state) {
    for (uint64_t i = 0; i < seeds; i++) {
        one(first_seed + i);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(soak)};
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : first_seed;
    seeds = argc > 1 ? 1 : seeds;
    seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : seeds;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

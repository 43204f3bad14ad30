/*
 * Tests of the table of integrations: for each kind one object, from its creation to its end, with everything that its
 * own operator would do told by hand: pod sets, start, readiness, eviction and restoration, a second start, reclaimable
 * pods, the end.
 */
#include "control/kit/controller.h"
#include "control/load/integration.h"

#include "api/kinds/kinds_foreign.h"
#include "base/test.h"
#include "control/hold/job_queue.h"
#include "control/load/integration_private.h"
#include "control/load/job_workload.h"
#include "control/test/fake_world.h"

/* clang-format off */
#define POD(name_)                                                                                 \
    "{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"" name_      \
    "\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}"
#define STATUS(json_) "{\"status\":" json_ "}"
#define COND(type_, message_)                                                                      \
    "{\"conditions\":[{\"type\":\"" type_ "\",\"status\":\"True\",\"reason\":\"r\",\"message\":\"" \
    message_ "\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}"
#define RUNTIME                                                                                    \
    "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"ClusterTrainingRuntime\","       \
    "\"metadata\":{\"name\":\"torch\"},\"spec\":{\"mlPolicy\":{\"numNodes\":1},\"template\":"      \
    "{\"spec\":{\"replicatedJobs\":[{\"name\":\"dataset-initializer\",\"template\":{\"metadata\":" \
    "{\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"dataset-initializer\"}},"      \
    "\"spec\":{\"template\":" POD("dataset-initializer") "}}},{\"name\":\"node\",\"template\":"    \
    "{\"metadata\":{\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},"    \
    "\"spec\":{\"template\":" POD("node") "}}}]}}}}"

/* What happens to one kind. NULL: nothing of the sort. */
static const struct sample {
    const char *api, *kind, *spec; /* without the braces, without suspend */
    const char *before;            /* an object that it needs */
    const char *suspended;         /* its member, with quotes and value */
    const char *sets;              /* "name:count,..." */
    size_t injected;               /* places that get a node selector */
    const char *active, *idle;     /* status while pods run, and after they went */
    const char *ready;             /* status when all run */
    const char *reclaim, *reclaimed;
    const char *end, *reason, *message;
} samples[] = {
    {
        "jobset.x-k8s.io/v1alpha2", "JobSet",
        "\"replicatedJobs\":[{\"name\":\"leader\",\"replicas\":1,\"template\":{\"spec\":{"
        "\"parallelism\":1,\"completions\":1,\"template\":" POD("c") "}}},{\"name\":\"workers\","
        "\"replicas\":2,\"template\":{\"spec\":{\"parallelism\":4,\"completions\":3,\"template\":"
        POD("c") "}}}]",
        .suspended = "\"suspend\":true", .sets = "leader:1,workers:6", .injected = 2,
        .active = STATUS("{\"replicatedJobsStatus\":[{\"name\":\"workers\",\"active\":2}]}"),
        .idle = STATUS("{\"replicatedJobsStatus\":[{\"name\":\"workers\",\"active\":0}]}"),
        .ready = STATUS("{\"replicatedJobsStatus\":[{\"name\":\"leader\",\"ready\":1},{\"name\":"
                        "\"workers\",\"ready\":2,\"active\":2}]}"),
        .reclaim = STATUS("{\"replicatedJobsStatus\":[{\"name\":\"leader\",\"active\":1},{\"name\":"
                          "\"workers\",\"active\":1,\"succeeded\":1}]}"),
        .reclaimed = "[{\"name\":\"workers\",\"count\":3}]",
        .end = STATUS(COND("Completed", "jobset completed successfully")),
        .reason = "Succeeded", .message = "jobset completed successfully",
    },
#define KUBEFLOW_LIFE                                                                              \
    .suspended = "\"runPolicy\":{\"suspend\":true}",                                               \
    .active = STATUS("{\"replicaStatuses\":{\"Worker\":{\"active\":1}}}"),                         \
    .idle = STATUS("{\"replicaStatuses\":{\"Worker\":{\"active\":0}}}"),                           \
    .ready = STATUS(COND("Running", "runs")), .end = STATUS(COND("Failed", "it broke")),           \
    .reason = "Failed", .message = "it broke"
    {
        "kubeflow.org/v1", "PyTorchJob",
        "\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":3,\"template\":" POD("pytorch")
        "},\"Master\":{\"template\":" POD("pytorch") "}}",
        .sets = "master:1,worker:3", .injected = 2, KUBEFLOW_LIFE,
    },
    {
        "kubeflow.org/v1", "TFJob",
        "\"tfReplicaSpecs\":{\"Evaluator\":{\"template\":" POD("tensorflow") "},\"Worker\":"
        "{\"replicas\":2,\"template\":" POD("tensorflow") "},\"PS\":{\"replicas\":2,\"template\":"
        POD("tensorflow") "},\"Chief\":{\"replicas\":1,\"template\":" POD("tensorflow") "}}",
        .sets = "chief:1,ps:2,worker:2,evaluator:1", .injected = 4, KUBEFLOW_LIFE,
    },
    {
        "kubeflow.org/v1", "XGBoostJob",
        "\"xgbReplicaSpecs\":{\"Master\":{\"replicas\":1,\"template\":" POD("xgboost")
        "},\"Worker\":{\"replicas\":2,\"template\":" POD("xgboost") "}}",
        .sets = "master:1,worker:2", .injected = 2, KUBEFLOW_LIFE,
    },
    {
        "kubeflow.org/v1", "PaddleJob",
        "\"paddleReplicaSpecs\":{\"Worker\":{\"replicas\":2,\"template\":" POD("paddle") "}}",
        .sets = "worker:2", .injected = 1, KUBEFLOW_LIFE,
    },
    {
        "kubeflow.org/v1", "JAXJob",
        "\"jaxReplicaSpecs\":{\"Worker\":{\"replicas\":2,\"template\":" POD("jax") "}}",
        .sets = "worker:2", .injected = 1, KUBEFLOW_LIFE,
    },
    {
        "kubeflow.org/v2beta1", "MPIJob",
        "\"slotsPerWorker\":1,\"mpiReplicaSpecs\":{\"Worker\":{\"replicas\":2,\"template\":"
        POD("mpi") "},\"Launcher\":{\"replicas\":1,\"template\":" POD("mpi") "}}",
        .sets = "launcher:1,worker:2", .injected = 2, KUBEFLOW_LIFE,
    },
    {
        "trainer.kubeflow.org/v1alpha1", "TrainJob",
        "\"runtimeRef\":{\"name\":\"torch\"},\"trainer\":{\"numNodes\":3,\"image\":\"mine\","
        "\"resourcesPerNode\":{\"requests\":{\"cpu\":\"4\"}}}",
        .before = RUNTIME, .suspended = "\"suspend\":true",
        .sets = "dataset-initializer:1,node:3", .injected = 2,
        .active = STATUS("{\"jobsStatus\":[{\"name\":\"node\",\"active\":1}]}"),
        .idle = STATUS("{\"jobsStatus\":[{\"name\":\"node\",\"active\":0}]}"),
        .ready = STATUS("{\"jobsStatus\":[{\"name\":\"node\",\"ready\":1},{\"name\":"
                        "\"dataset-initializer\",\"succeeded\":1}]}"),
        .reclaim = STATUS("{\"jobsStatus\":[{\"name\":\"dataset-initializer\",\"succeeded\":1}]}"),
        .reclaimed = "[{\"name\":\"dataset-initializer\",\"count\":1}]",
        .end = STATUS(COND("Complete", "done")), .reason = "Succeeded", .message = "done",
    },
#define RAY_CLUSTER                                                                                \
    "\"headGroupSpec\":{\"template\":" POD("ray-head") "},\"workerGroupSpecs\":[{\"groupName\":"   \
    "\"small\",\"replicas\":2,\"numOfHosts\":3,\"template\":" POD("ray-worker")                    \
    "},{\"groupName\":\"Big\",\"template\":" POD("ray-worker") "}]"
    {
        "ray.io/v1", "RayCluster", RAY_CLUSTER, .suspended = "\"suspend\":true",
        .sets = "head:1,small:6,big:1", .injected = 3,
        .active = STATUS("{\"state\":\"ready\"}"), .idle = STATUS("{\"state\":\"suspended\"}"),
        .ready = STATUS("{\"state\":\"ready\"}"),
    },
    {
        "ray.io/v1", "RayJob",
        "\"shutdownAfterJobFinishes\":true,\"rayClusterSpec\":{" RAY_CLUSTER "}",
        .suspended = "\"suspend\":true", .sets = "head:1,small:6,big:1,submitter:1",
        .injected = 4, .active = STATUS("{\"jobDeploymentStatus\":\"Running\"}"),
        .idle = STATUS("{\"jobDeploymentStatus\":\"Suspended\"}"),
        .ready = STATUS("{\"jobDeploymentStatus\":\"Running\",\"rayClusterStatus\":{\"state\":"
                        "\"ready\"}}"),
        .end = STATUS("{\"jobDeploymentStatus\":\"Complete\",\"jobStatus\":\"SUCCEEDED\","
                      "\"message\":\"Job finished successfully.\"}"),
        .reason = "Succeeded", .message = "Job finished successfully.",
    },
    {
        "ray.io/v1", "RayService", "",
        .suspended = "\"rayClusterConfig\":{\"suspend\":true," RAY_CLUSTER "}",
        .sets = "head:1,small:6,big:1", .injected = 3,
        .active = STATUS(COND("Ready", "serves")),
        .idle = STATUS("{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"r\","
                       "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}"),
        .ready = STATUS(COND("Ready", "serves")),
    },
    {
        "workload.codeflare.dev/v1beta2", "AppWrapper",
        "\"components\":[{\"podSets\":[{\"replicas\":2,\"path\":\"template.spec.jobs[1].template\"}"
        "],\"template\":{\"apiVersion\":\"v1\",\"kind\":\"Any\",\"spec\":{\"jobs\":[{},"
        "{\"template\":" POD("c") "}]}}},{\"template\":{\"kind\":\"Service\"}},{\"podSets\":"
        "[{\"path\":\"template\"}],\"template\":" POD("d") "}]",
        .suspended = "\"suspend\":true", .sets = "x-0:2,x-1:1", .injected = 2,
        .active = STATUS(COND("QuotaReserved", "")),
        .idle = STATUS("{\"phase\":\"Suspended\",\"conditions\":[]}"),
        .ready = STATUS(COND("PodsReady", "")), .end = STATUS("{\"phase\":\"Succeeded\"}"),
        .reason = "Succeeded", .message = "AppWrapper finished successfully",
    },
};
/* clang-format on */

struct fixture {
    struct fake_world world;
    struct controller *queue;
    char wl[300];
};

static void setup(struct fixture *f) {
    size_t n;
    struct err err = {0};
    const struct kind *rows = kinds_foreign(&n);
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < n; i++) {
        int r = kinds_add(&rows[i], &err); /* there already when a test before this one failed */
        assert_true(r == 0 || r == ERR_EXISTS);
    }
    fake_world_init(&f->world);
    fake_world_put(&f->world,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                   "\"metadata\":{\"name\":\"h200\"},\"spec\":{\"nodeLabels\":{\"gpu\":\"h200\"},"
                   "\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}]}}");
    f->queue = controller_new(&job_queue_controller, &f->world.env, &err);
    assert_non_null(f->queue);
}

static void teardown(struct fixture *f) {
    size_t n;
    const struct kind *rows = kinds_foreign(&n);
    controller_free(f->queue);
    fake_world_release(&f->world);
    for (size_t i = 0; i < n; i++) {
        kinds_remove(&rows[i]);
    }
}

static void put(struct fixture *f, const struct sample *s, const char *meta, const char *more) {
    char json[16384];
    if (s->before) {
        fake_world_put(&f->world, s->before);
    }
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"x\","
                   "\"namespace\":\"default\"%s},\"spec\":{%s%s%s%s}}",
                   s->api, s->kind, meta, s->suspended, *s->spec ? "," : "", s->spec, more);
    fake_world_put(&f->world, json);
    fake_world_run(&f->world, NS_PER_SEC);
}

#define QUEUED ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}"

static bool keep_name(void *ctx, const struct object *o) {
    struct fixture *f = ctx;
    assert_true(str_copy(o->name, f->wl, sizeof f->wl));
    return true;
}

static const struct object *workload(struct fixture *f) {
    f->wl[0] = 0;
    mirror_scan(f->world.mirror, fake_world_kind("Workload"), STR(""), keep_name, f);
    return *f->wl ? fake_world_get(&f->world, "Workload", "default", f->wl) : NULL;
}

static const struct object *object(struct fixture *f, const struct sample *s) {
    return fake_world_get(&f->world, s->kind, "default", "x");
}

static yyjson_val *tree(const struct object *o, struct arena *a) {
    yyjson_doc *d;
    assert_int_equal(object_tree(o, a, &d, NULL), 0);
    return yyjson_doc_get_root(d);
}

/* "name:count,..." of the Workload. */
static const char *sets_of(struct fixture *f) {
    static char text[512];
    struct arena a;
    size_t i, n, at = 0;
    yyjson_val *set;
    arena_init(&a, 64 << 20);
    assert_non_null(workload(f));
    text[0] = 0;
    yyjson_arr_foreach(json_path(tree(workload(f), &a), "spec.podSets"), i, n, set) {
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s%.*s:%d", i ? "," : "",
                             STR_ARG(json_str_at(set, "name")), (int)json_i64_at(set, "count", -1));
    }
    arena_release(&a);
    return text;
}

static size_t count_text(const struct object *o, const char *what) {
    size_t n = 0, len = strlen(what);
    for (size_t i = 0; i + len <= o->json.n; i++) {
        n += memcmp(o->json.p + i, what, len) == 0;
    }
    return n;
}

/* The queue's part, by hand. */
static void admit(struct fixture *f) {
    struct arena a;
    struct buf b;
    size_t i, n;
    yyjson_val *set;
    arena_init(&a, 64 << 20);
    buf_init(&b, 0);
    buf_c(&b, "{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[");
    yyjson_arr_foreach(json_path(tree(workload(f), &a), "spec.podSets"), i, n, set) {
        buf_f(&b, "%s{\"name\":\"%.*s\",\"flavors\":{\"cpu\":\"h200\"},\"count\":%d}", i ? "," : "",
              STR_ARG(json_str_at(set, "name")), (int)json_i64_at(set, "count", 0));
    }
    buf_c(&b, "]},\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
              "\"QuotaReserved\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},"
              "{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\","
              "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    buf_ch(&b, 0);
    fake_world_patch(&f->world, "Workload", "default", f->wl, "status", b.p);
    buf_release(&b);
    arena_release(&a);
    fake_world_run(&f->world, NS_PER_SEC);
}

static void evict(struct fixture *f) {
    workload(f);
    fake_world_patch(
        &f->world, "Workload", "default", f->wl, "status",
        "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
        "\"QuotaReserved\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{"
        "\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Evicted\",\"status\":"
        "\"True\","
        "\"reason\":\"Preempted\",\"message\":\"make room\",\"lastTransitionTime\":"
        "\"2026-01-01T00:00:00Z\"}]}}");
    fake_world_run(&f->world, NS_PER_SEC);
}

static void status(struct fixture *f, const struct sample *s, const char *json) {
    fake_world_patch(&f->world, s->kind, "default", "x", "status", json);
    fake_world_run(&f->world, NS_PER_SEC);
}

static bool held_back(struct fixture *f, const struct sample *s) {
    return count_text(object(f, s), "\"suspend\":true") == 1;
}

static void starts(struct fixture *f, const struct sample *s) {
    admit(f);
    assert_true(!held_back(f, s));
    assert_int_equal(count_text(object(f, s), "\"gpu\":\"h200\""), s->injected);
    assert_int_equal(count_text(object(f, s), "\"key\":\"gpu\""), s->injected);
    assert_int_equal(count_text(object(f, s), "\"kueue.x-k8s.io/podset\":"), s->injected);
    assert_int_equal(count_text(workload(f), "h200\",\"x"), 0);
}

/* From there, evicted and back. What it was given is gone after it. */
static void is_evicted(struct fixture *f, const struct sample *s) {
    status(f, s, s->active);
    evict(f);
    assert_true(held_back(f, s));
    assert_string_equal(fake_world_condition(workload(f), "QuotaReserved"), "True");
    status(f, s, s->idle);
    assert_string_equal(fake_world_condition(workload(f), "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition(workload(f), "Requeued"), "True");
    assert_int_equal(count_text(object(f, s), "h200"), 0);
    assert_int_equal(count_text(object(f, s), "\"kueue.x-k8s.io/podset\":"), 0);
}

static void ends(struct fixture *f, const struct sample *s) {
    status(f, s, s->end);
    assert_string_equal(fake_world_condition(workload(f), "Finished"), "True");
    assert_string_equal(fake_world_condition_reason(workload(f), "Finished"), s->reason);
    assert_string_equal(fake_world_condition_message(workload(f), "Finished"), s->message);
    assert_string_equal(fake_world_text(workload(f), "metadata.finalizers"), "");
}

static void whole_life(const struct sample *s) {
    struct fixture f;
    setup(&f);
    put(&f, s, QUEUED, "");
    assert_string_equal(sets_of(&f), s->sets);
    assert_true(held_back(&f, s));
    assert_string_equal(fake_world_text(workload(&f), "spec.queueName"), "q");
    uint64_t rv = workload(&f)->rv;
    status(&f, s, s->idle); /* another look changes nothing */
    assert_int_equal(workload(&f)->rv, rv);
    starts(&f, s);
    is_evicted(&f, s);
    starts(&f, s);
    status(&f, s, s->ready);
    assert_string_equal(fake_world_condition(workload(&f), "PodsReady"), "True");
    if (s->reclaim) {
        status(&f, s, s->reclaim);
        assert_string_equal(fake_world_text(workload(&f), "status.reclaimablePods"), s->reclaimed);
    }
    if (s->end) {
        ends(&f, s);
    }
    teardown(&f);
}

static void each_kind_lives(void **state) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        print_message("%s\n", samples[i].kind);
        whole_life(&samples[i]);
    }
}

static const struct sample *sample_of(const char *kind) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        if (strcmp(samples[i].kind, kind) == 0) {
            return &samples[i];
        }
    }
    fail();
    return NULL;
}

static void names_are_by_kind(void **state) {
    struct fixture f;
    struct arena a;
    setup(&f);
    arena_init(&a, 1 << 20);
    put(&f, sample_of("RayJob"), QUEUED, "");
    assert_str_eq(workload(&f)->name, workload_name("RayJob", "ray.io", STR("x"),
                                                    object(&f, sample_of("RayJob"))->uid, &a));
    assert_true(str_starts(workload(&f)->name, STR("rayjob-x-")));
    assert_true(!str_eq(workload_name("A", "b", STR("c"), STR("d"), &a),
                        workload_name_extra("A", "b", STR("c"), STR("d"), STR("2"), &a)));
    arena_release(&a);
    teardown(&f);
}

static void without_a_queue_nothing_is_done(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, sample_of("JobSet"), "", "");
    assert_null(workload(&f));
    teardown(&f);
}

/* What KubeRay adds to the head counts. */
static void rays_sidecars_count(void **state) {
    const struct sample *s = sample_of("RayJob");
    struct fixture f;
    setup(&f);
    put(&f, s, QUEUED, ",\"submissionMode\":\"SidecarMode\"");
    assert_string_equal(sets_of(&f), "head:1,small:6,big:1");
    assert_int_equal(count_text(workload(&f), "ray-job-submitter"), 1);
    admit(&f);
    assert_true(!held_back(&f, s));
    assert_int_equal(count_text(object(&f, s), "ray-job-submitter"), 0);
    assert_int_equal(count_text(object(&f, s), "\"gpu\":\"h200\""), 3);
    teardown(&f);
    setup(&f);
    s = sample_of("RayCluster");
    put(&f, s, QUEUED,
        ",\"enableInTreeAutoscaling\":true,\"gcsFaultToleranceOptions\":{\"redisAddress\":\"r\"}");
    assert_int_equal(count_text(workload(&f), "\"name\":\"autoscaler\""), 1);
    assert_int_equal(count_text(workload(&f), "\"memory\":\"512Mi\""), 2);
    assert_int_equal(count_text(workload(&f), "\"memory\":\"1Gi\""),
                     3); /* more than cleaning takes */
    teardown(&f);
}

static void a_ray_job_on_hold_gives_its_quota_back(void **state) {
    const struct sample *s = sample_of("RayJob");
    struct fixture f;
    setup(&f);
    put(&f, s, QUEUED, "");
    admit(&f);
    status(&f, s, STATUS("{\"jobDeploymentStatus\":\"ValidationFailed\"}"));
    assert_string_equal(fake_world_condition(workload(&f), "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition_reason(workload(&f), "QuotaReserved"), "OnHold");
    status(&f, s, STATUS("{\"jobDeploymentStatus\":\"Initializing\"}")); /* it was mended */
    assert_string_equal(fake_world_condition(workload(&f), "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition_reason(workload(&f), "QuotaReserved"),
                        "PendingEvaluation");
    assert_string_equal(fake_world_condition_message(workload(&f), "QuotaReserved"),
                        "Workload no longer on hold; waiting for quota reservation");
    assert_true(held_back(&f, s));
    admit(&f);
    assert_true(!held_back(&f, s));
    teardown(&f);
}

static void a_ray_job_on_a_given_cluster_is_left_alone(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, sample_of("RayJob"), QUEUED, ",\"clusterSelector\":{\"ray.io/cluster\":\"c\"}");
    assert_null(workload(&f));
    teardown(&f);
}

static void a_train_job_waits_for_its_runtime(void **state) {
    struct sample s = *sample_of("TrainJob");
    struct fixture f;
    setup(&f);
    s.before = NULL;
    put(&f, &s, QUEUED, "");
    assert_null(workload(&f));
    assert_true(fake_world_events(&f.world, "ErrWorkloadCompose") > 0);
    fake_world_put(&f.world, RUNTIME);
    fake_world_run(&f.world, 10 * NS_PER_SEC);
    assert_string_equal(sets_of(&f), s.sets);
    assert_int_equal(count_text(workload(&f), "\"cpu\":\"4\""), 1);
    assert_int_equal(count_text(workload(&f), "\"image\":\"mine\""), 1);
    teardown(&f);
}

/* Its own template has another value for a key that the flavor needs. */
static void what_contradicts_itself_never_starts(void **state) {
    const struct sample *s = sample_of("PaddleJob");
    struct fixture f;
    struct sample other = *s;
    setup(&f);
    other.spec = "\"paddleReplicaSpecs\":{\"Worker\":{\"template\":{\"spec\":{\"nodeSelector\":"
                 "{\"gpu\":\"h100\"},\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}";
    put(&f, &other, QUEUED, "");
    admit(&f);
    assert_true(held_back(&f, s));
    assert_string_equal(fake_world_condition_reason(workload(&f), "Finished"), "FailedToStart");
    assert_string_equal(fake_world_condition_message(workload(&f), "Finished"),
                        "invalid admission check PodSetUpdate: conflict for nodeSelector: conflict "
                        "for key=gpu, value1=h100, value2=h200");
    teardown(&f);
}

static void a_changed_object_changes_its_workload(void **state) {
    const struct sample *s = sample_of("PaddleJob");
    struct fixture f;
    setup(&f);
    put(&f, s, QUEUED, "");
    fake_world_patch(&f.world, s->kind, "default", "x", "",
                     "{\"spec\":{\"paddleReplicaSpecs\":{\"Worker\":{\"replicas\":5}}}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_string_equal(sets_of(&f), "worker:5");
    assert_int_equal(fake_world_events(&f.world, "UpdatedWorkload"), 1);
    admit(&f);
    fake_world_patch(&f.world, s->kind, "default", "x", "",
                     "{\"spec\":{\"paddleReplicaSpecs\":{\"Worker\":{\"replicas\":6}}}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_true(held_back(&f, s)); /* stopped, and queued anew */
    assert_string_equal(sets_of(&f), "worker:6");
    assert_string_equal(fake_world_condition(workload(&f), "Admitted"), "");
    teardown(&f);
}

/* ---- who is queued ---- */

static void child_json(struct fixture *f, char *json, size_t n, const char *more) {
    struct str uid = object(f, sample_of("JobSet"))->uid;
    (void)snprintf(json, n,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"x-0\","
                   "\"namespace\":\"default\"%s,\"ownerReferences\":[{\"apiVersion\":"
                   "\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"name\":\"x\",\"uid\":"
                   "\"%.*s\",\"controller\":true}]},\"spec\":{\"suspend\":false,\"template\":"
                   "{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
                   "\"image\":\"i\"}]}}}}",
                   more, STR_ARG(uid));
}

static void children_follow_their_ancestor(void **state) {
    char json[2048];
    struct fixture f;
    setup(&f);
    put(&f, sample_of("JobSet"), QUEUED, "");
    child_json(&f, json, sizeof json, QUEUED);
    fake_world_put(&f.world, json);
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(fake_world_count(&f.world, "Workload"), 1); /* that of the JobSet */
    const struct object *job = fake_world_get(&f.world, "Job", "default", "x-0");
    assert_string_equal(fake_world_text(job, "spec.suspend"), "true");
    assert_int_equal(fake_world_events(&f.world, "Suspended"), 1);
    workload(&f);
    admit(&f);
    fake_world_patch(&f.world, "Job", "default", "x-0", "", "{\"spec\":{\"suspend\":false}}");
    fake_world_run(&f.world, NS_PER_SEC);
    job = fake_world_get(&f.world, "Job", "default", "x-0");
    assert_string_equal(fake_world_text(job, "spec.suspend"), "false");
    evict(&f);
    job = fake_world_get(&f.world, "Job", "default", "x-0");
    assert_string_equal(fake_world_text(job, "spec.suspend"), "true");
    teardown(&f);
}

static void a_child_of_something_without_a_queue_is_queued_itself(void **state) {
    char json[2048];
    struct fixture f;
    setup(&f);
    put(&f, sample_of("JobSet"), "", "");
    child_json(&f, json, sizeof json, QUEUED);
    fake_world_put(&f.world, json);
    fake_world_run(&f.world, NS_PER_SEC);
    assert_true(str_starts(workload(&f)->name, STR("job-x-0-")));
    teardown(&f);
}

/* Where Berth runs nothing is queued; a selector says otherwise. */
static void our_own_namespace_is_left_alone(void **state) {
    struct selector all = {0};
    struct fixture f;
    setup(&f);
    struct queue_settings s = *queue_settings_defaults();
    assert_true(integration_in_namespace(f.world.mirror, &s, STR("berth-system")));
    s.own_namespace = STR("berth-system");
    assert_false(integration_in_namespace(f.world.mirror, &s, STR("berth-system")));
    assert_false(integration_in_namespace(f.world.mirror, &s, STR("kube-system")));
    assert_true(integration_in_namespace(f.world.mirror, &s, STR("default")));
    s.managed_namespaces = &all;
    assert_true(integration_in_namespace(f.world.mirror, &s, STR("berth-system")));
    teardown(&f);
}

static void only_listed_frameworks_are_queued(void **state) {
    const struct str listed[] = {STR("batch/job")};
    struct queue_settings s = *queue_settings_defaults();
    const struct integration *row = integration_by_name(STR("ray.io/rayjob"));
    assert_non_null(row);
    assert_true(integration_enabled(row, &s));
    s.frameworks = listed;
    s.n_frameworks = 1;
    assert_true(!integration_enabled(row, &s));
    assert_true(integration_enabled(integration_by_name(STR("batch/job")), &s));
    assert_null(integration_by_name(STR("replicaset")));
    assert_null(integration_by_name(STR("ray.io/rayjobs")));
}

/* ---- prebuilt ---- */

static void a_prebuilt_workload_is_taken(void **state) {
    const struct sample *s = sample_of("PaddleJob");
    char json[2048];
    struct fixture f;
    setup(&f);
    put(&f, s,
        ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\",\"kueue.x-k8s.io/"
        "prebuilt-workload-name\":"
        "\"mine\"}",
        "");
    assert_null(workload(&f));
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
                   "{\"name\":\"mine\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"q\","
                   "\"podSets\":[{\"name\":\"worker\",\"count\":2,\"template\":%s}]}}",
                   POD("paddle"));
    fake_world_put(&f.world, json);
    fake_world_run(&f.world, 10 * NS_PER_SEC);
    assert_str_eq(object_controller(workload(&f))->uid, object(&f, s)->uid);
    assert_str_eq(object_label(workload(&f), STR(KUEUE_JOB_UID_LABEL)), object(&f, s)->uid);
    admit(&f);
    assert_true(!held_back(&f, s));
    fake_world_patch(&f.world, s->kind, "default", "x", "",
                     "{\"spec\":{\"paddleReplicaSpecs\":{\"Worker\":{\"replicas\":9}}}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_string_equal(fake_world_condition_reason(workload(&f), "Finished"), "OutOfSync");
    assert_true(held_back(&f, s));
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_lives),
        cmocka_unit_test(names_are_by_kind),
        cmocka_unit_test(without_a_queue_nothing_is_done),
        cmocka_unit_test(rays_sidecars_count),
        cmocka_unit_test(a_ray_job_on_hold_gives_its_quota_back),
        cmocka_unit_test(a_ray_job_on_a_given_cluster_is_left_alone),
        cmocka_unit_test(a_train_job_waits_for_its_runtime),
        cmocka_unit_test(what_contradicts_itself_never_starts),
        cmocka_unit_test(a_changed_object_changes_its_workload),
        cmocka_unit_test(children_follow_their_ancestor),
        cmocka_unit_test(a_child_of_something_without_a_queue_is_queued_itself),
        cmocka_unit_test(only_listed_frameworks_are_queued),
        cmocka_unit_test(our_own_namespace_is_left_alone),
        cmocka_unit_test(a_prebuilt_workload_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

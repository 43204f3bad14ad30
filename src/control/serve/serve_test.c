/*
 * Scenario tests of serve in a fake world, with the controllers of Deployments and ReplicaSets beside it: lives of
 * services, canaries, what is refused, and that a world at rest is written to no more.
 */
#include "control/serve/serve.h"

#include "base/test.h"

#include "api/tables/table.h"
#include "api/tables/view_meta.h"
#include "control/apps/deployment.h"
#include "control/apps/replica_set.h"
#include "control/serve/serve_runtimes.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static void *serve, *deployments, *sets;

static int keeps_running(void *ctx, const struct object *pod) {
    return -1;
}

/* HorizontalPodAutoscaler, where the program has no row of its own. */
static const struct field scaler_fields[] = {
    F(STRING, ONE, "apiVersion", 0), F(STRING, ONE, "kind", 0),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta), F(ANY, ONE, "spec", 0)};
static const struct schema scaler_schema = SCHEMA("test.Scaler", scaler_fields, 0, NULL);
static const struct kind scaler_kind = {
    .group = "autoscaling",
    .api_version = "autoscaling/v2",
    .kind = "HorizontalPodAutoscaler",
    .plural = "horizontalpodautoscalers",
    .singular = "horizontalpodautoscaler",
    .flags = KIND_NAMESPACED | KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v2", .schema = &scaler_schema},
    .n_versions = 1,
};

static void start(void) {
    struct err err = {0};
    if (kind_by_name(STR("autoscaling"), STR("HorizontalPodAutoscaler")) == NULL) {
        assert_ok(kinds_add(&scaler_kind, &err), &err);
    }
    sets = controller_new(&replica_set_controller, &w.env, &err);
    deployments = controller_new(&deployment_controller, &w.env, &err);
    serve = controller_new(&serve_controller, &w.env, &err);
    assert_true(sets && deployments && serve);
}

static void stop(void) {
    controller_free(serve);
    controller_free(deployments);
    controller_free(sets);
}

static int setup(void **state) {
    fake_world_init(&w);
    w.outcome = keeps_running;
    start();
    return 0;
}

static int teardown(void **state) {
    stop();
    fake_world_release(&w);
    return 0;
}

/* With all defaults: patches of this world give none. */
#define RUNTIME(name_)                                                                             \
    "{\"apiVersion\":\"serving.kserve.io/v1alpha1\",\"kind\":\"ClusterServingRuntime\","           \
    "\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"supportedModelFormats\":[{\"name\":"        \
    "\"vLLM\",\"autoSelect\":true}],\"containers\":[{\"name\":\"kserve-container\",\"image\":"     \
    "\"i\",\"imagePullPolicy\":\"Always\",\"terminationMessagePath\":\"/dev/termination-log\","    \
    "\"terminationMessagePolicy\":\"File\",\"resources\":{},\"args\":[\"--model={{.Name}}\"],"     \
    "\"ports\":[{\"containerPort\":8000,\"protocol\":\"TCP\"}],\"readinessProbe\":{\"tcpSocket\""  \
    ":{\"port\":8000},\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,"           \
    "\"failureThreshold\":3}}]}}"

static void put(const char *labels, const char *predictor) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"serving.kserve.io/v1beta1\",\"kind\":\"InferenceService\","
             "\"metadata\":{\"name\":\"m\",\"namespace\":\"default\",\"labels\":{%s}},\"spec\":{"
             "\"predictor\":{%s}}}",
             labels, predictor);
    fake_world_put(&w, json);
}

#define MODEL "\"model\":{\"modelFormat\":{\"name\":\"vLLM\"},\"args\":[\"--x=1\"]}"

static void patch(const char *json) {
    fake_world_patch(&w, "InferenceService", "default", "m", "", json);
}

static const struct object *get(const char *kind, const char *name) {
    return fake_world_get(&w, kind, "default", name);
}

static const struct object *service(void) {
    return get("InferenceService", "m");
}

#define TEXT(kind_, name_, path_, want_)                                                           \
    assert_string_equal(fake_world_text(get(kind_, name_), path_), want_)
#define ARG "spec.template.spec.containers.0.args.1"

static void is_ready(void) {
    assert_string_equal(fake_world_condition(service(), "Ready"), "True");
    TEXT("InferenceService", "m", "status.modelStatus.states.activeModelState", "Loaded");
    TEXT("InferenceService", "m", "status.modelStatus.transitionStatus", "UpToDate");
}

/* ---- lives ---- */

static void a_service_serves(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("\"team\":\"a\"", MODEL ",\"minReplicas\":2");
    fake_world_live(&w, 10);
    TEXT("Deployment", "m-predictor", "spec.replicas", "2");
    TEXT("Deployment", "m-predictor", "spec.template.spec.containers.0.args.0", "--model=m");
    TEXT("Deployment", "m-predictor", ARG, "--x=1");
    TEXT("Deployment", "m-predictor", "spec.strategy.rollingUpdate.maxUnavailable", "0");
    TEXT("Deployment", "m-predictor", "metadata.labels.team", "a");
    TEXT("Deployment", "m-predictor", "spec.template.metadata.labels.app", "isvc.m-predictor");
    TEXT("Service", "m-predictor", "spec.selector.app", "isvc.m-predictor");
    TEXT("Service", "m-predictor", "spec.ports.0.targetPort", "8000");
    TEXT("InferenceService", "m", "status.url", "http://m-predictor.default.svc.cluster.local");
    TEXT("InferenceService", "m", "status.clusterServingRuntimeName", "vllm");
    TEXT("InferenceService", "m", "status.modelStatus.copies.totalCopies", "2");
    TEXT("InferenceService", "m", "status.components.predictor.traffic.0.percent", "100");
    is_ready();
}

static void a_world_at_rest_is_not_written_to(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL);
    fake_world_live(&w, 10);
    uint64_t writes = w.writes;
    fake_world_live(&w, 30);
    stop();
    start();
    fake_world_live(&w, 10);
    assert_int_equal(w.writes, writes);
}

static void a_runtime_that_comes_later(void **state) {
    put("", MODEL);
    fake_world_live(&w, 2);
    assert_string_equal(fake_world_condition_reason(service(), "PredictorReady"),
                        "NoSupportingRuntime");
    TEXT("InferenceService", "m", "status.modelStatus.lastFailureInfo.reason",
         "NoSupportingRuntime");
    TEXT("InferenceService", "m", "status.modelStatus.transitionStatus", "InvalidSpec");
    assert_null(get("Deployment", "m-predictor"));
    fake_world_put(&w, RUNTIME("vllm"));
    fake_world_live(&w, 10);
    is_ready();
    assert_string_equal(fake_world_text(service(), "status.modelStatus.lastFailureInfo.reason"),
                        "");
}

/* Every service of a namespace reads all of them, on the thread of the controllers. */
static void large_runtimes(void **state) {
    struct buf b;
    buf_init(&b, 0);
    fake_world_put(&w, RUNTIME("vllm"));
    for (int i = 0; i < 11; i++) {
        buf_reset(&b);
        buf_f(&b,
              "{\"apiVersion\":\"serving.kserve.io/v1alpha1\",\"kind\":\"ServingRuntime\","
              "\"metadata\":{\"name\":\"r%d\",\"namespace\":\"default\"},\"spec\":{"
              "\"containers\":[{\"name\":\"kserve-container\",\"image\":\"%0400000d\"}]}}",
              i, 0);
        buf_ch(&b, 0);
        fake_world_put(&w, b.p);
    }
    buf_release(&b);
    put("", MODEL);
    fake_world_live(&w, 2);
    TEXT("InferenceService", "m", "status.modelStatus.lastFailureInfo.reason",
         "RuntimeNotRecognized");
    assert_null(get("Deployment", "m-predictor"));
}

static void from_zero(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"minReplicas\":0,\"maxReplicas\":2");
    fake_world_live(&w, 5);
    TEXT("Deployment", "m-predictor", "spec.replicas", "0");
    assert_string_equal(fake_world_condition_reason(service(), "PredictorReady"), "ScaledToZero");
    TEXT("InferenceService", "m", "status.modelStatus.states.activeModelState", "Standby");
    fake_world_patch(&w, "Deployment", "default", "m-predictor", "", "{\"spec\":{\"replicas\":1}}");
    fake_world_live(&w, 10);
    TEXT("Deployment", "m-predictor", "spec.replicas", "1");
    is_ready();
    fake_world_patch(&w, "Deployment", "default", "m-predictor", "", "{\"spec\":{\"replicas\":5}}");
    fake_world_live(&w, 10);
    TEXT("Deployment", "m-predictor", "spec.replicas", "2");
    fake_world_patch(&w, "Deployment", "default", "m-predictor", "", "{\"spec\":{\"replicas\":0}}");
    fake_world_live(&w, 10);
    TEXT("Deployment", "m-predictor", "spec.replicas", "0");
}

#define ARGS(n_) "\"model\":{\"modelFormat\":{\"name\":\"vLLM\"},\"args\":[\"--x=" n_ "\"]}"
#define EDIT(n_, rest_) "{\"spec\":{\"predictor\":{" ARGS(n_) rest_ "}}}"

static void an_update_keeps_replicas(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"minReplicas\":2");
    fake_world_live(&w, 10);
    patch(EDIT("2", ""));
    for (int i = 0; i < 30; i++) {
        fake_world_live(&w, 1);
        const struct object *d = get("Deployment", "m-predictor");
        assert_true(fake_world_text(d, "status.readyReplicas")[0] >= '2');
    }
    TEXT("Deployment", "m-predictor", ARG, "--x=2");
    TEXT("Deployment", "m-predictor", "status.updatedReplicas", "2");
    TEXT("Deployment", "m-predictor", "status.replicas", "2");
    is_ready();
}

static void a_canary(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"minReplicas\":4,\"canaryTrafficPercent\":30");
    fake_world_live(&w, 10);
    assert_null(get("Deployment", "m-predictor-canary")); /* there is none before it */
    patch(EDIT("2", ""));
    fake_world_live(&w, 10);
    TEXT("Deployment", "m-predictor", ARG, "--x=1");
    TEXT("Deployment", "m-predictor-canary", ARG, "--x=2");
    TEXT("Deployment", "m-predictor-canary", "spec.replicas", "2");
    TEXT("Service", "m-predictor-canary", "spec.selector.app", "isvc.m-predictor-canary");
    TEXT("InferenceService", "m", "status.components.predictor.traffic.0.revisionName",
         "m-predictor-canary");
    TEXT("InferenceService", "m", "status.components.predictor.traffic.0.percent", "30");
    TEXT("InferenceService", "m", "status.components.predictor.traffic.1.percent", "70");
    TEXT("InferenceService", "m", "status.components.predictor.traffic.1.tag", "prev");
    patch("{\"spec\":{\"predictor\":{\"canaryTrafficPercent\":0}}}");
    fake_world_live(&w, 10);
    TEXT("Deployment", "m-predictor-canary", "spec.replicas", "0");
    TEXT("Deployment", "m-predictor", ARG, "--x=1");
    patch("{\"spec\":{\"predictor\":{\"canaryTrafficPercent\":null}}}");
    fake_world_live(&w, 30);
    TEXT("Deployment", "m-predictor", ARG, "--x=2");
    TEXT("Deployment", "m-predictor", "status.updatedReplicas", "4");
    assert_null(get("Deployment", "m-predictor-canary"));
    assert_null(get("Service", "m-predictor-canary"));
    is_ready();
}

static void a_canary_taken_back(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"canaryTrafficPercent\":10");
    fake_world_live(&w, 10);
    patch(EDIT("2", ""));
    fake_world_live(&w, 10);
    assert_non_null(get("Deployment", "m-predictor-canary"));
    patch(EDIT("1", ""));
    fake_world_live(&w, 10);
    assert_null(get("Deployment", "m-predictor-canary"));
    TEXT("Deployment", "m-predictor", ARG, "--x=1");
    is_ready();
}

static void stopped(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL);
    fake_world_live(&w, 10);
    patch("{\"metadata\":{\"annotations\":{\"serving.kserve.io/stop\":\"true\"}}}");
    fake_world_live(&w, 5);
    assert_null(get("Deployment", "m-predictor"));
    assert_null(get("Service", "m-predictor"));
    assert_string_equal(fake_world_condition(service(), "Stopped"), "True");
    assert_string_equal(fake_world_condition(service(), "Ready"), "False");
    assert_string_equal(fake_world_text(service(), "status.url"), "");
    patch("{\"metadata\":{\"annotations\":{\"serving.kserve.io/stop\":null}}}");
    fake_world_live(&w, 10);
    is_ready();
}

/* ---- what its pod waits for ---- */

static bool note_pod(void *ctx, const struct object *o) {
    *(const struct object **)ctx = o;
    return false;
}

static const struct object *some_pod(void) {
    const struct object *pod = NULL;
    mirror_scan(w.mirror, fake_world_kind("Pod"), STR("default"), note_pod, &pod);
    return pod;
}

static void a_container_that_cannot_start(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL);
    fake_world_live(&w, 10);
    char name[256];
    str_copy(some_pod()->name, name, sizeof name);
    fake_world_patch(&w, "Pod", "default", name, "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}],"
                     "\"containerStatuses\":[{\"name\":\"kserve-container\",\"ready\":false,"
                     "\"restartCount\":0,\"image\":\"i\",\"imageID\":\"\",\"state\":{\"waiting\":{"
                     "\"reason\":\"ImagePullBackOff\",\"message\":\"no image i\"}}}]}}");
    fake_world_live(&w, 5);
    assert_string_equal(fake_world_condition_reason(service(), "PredictorReady"),
                        "ImagePullBackOff");
    assert_string_equal(fake_world_condition_message(service(), "PredictorReady"), "no image i");
    assert_string_equal(fake_world_condition(service(), "Ready"), "False");
}

/* ---- what is not its own ---- */

static void somebody_elses_deployment(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    fake_world_put(&w, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                       "\"m-predictor\",\"namespace\":\"default\"},\"spec\":{\"replicas\":0,"
                       "\"selector\":{\"matchLabels\":{\"app\":\"x\"}},\"template\":{\"metadata\":{"
                       "\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                       "\"image\":\"theirs\"}]}}}}");
    put("", MODEL);
    fake_world_live(&w, 5);
    TEXT("Deployment", "m-predictor", "spec.template.spec.containers.0.image", "theirs");
    assert_string_equal(fake_world_condition_message(service(), "PredictorReady"),
                        "Deployment \"m-predictor\" is there and not of this service");
}

static void where_kserve_is(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    fake_world_put(&w, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                       "\"CustomResourceDefinition\",\"metadata\":{\"name\":"
                       "\"inferenceservices.serving.kserve.io\"},\"spec\":{}}");
    put("", MODEL);
    fake_world_live(&w, 5);
    assert_null(get("Deployment", "m-predictor"));
    assert_string_equal(fake_world_text(service(), "status"), "");
    fake_world_patch(&w, "CustomResourceDefinition", "", "inferenceservices.serving.kserve.io", "",
                     "{\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"berth\"}}}");
    fake_world_live(&w, 10);
    is_ready();
}

/* ---- hardware, and what is not acted on ---- */

#define PROFILE                                                                                    \
    "{\"apiVersion\":\"infrastructure.opendatahub.io/v1\",\"kind\":\"HardwareProfile\","           \
    "\"metadata\":{\"name\":\"p\",\"namespace\":\"default\"},\"spec\":{\"identifiers\":[{"         \
    "\"identifier\":\"nvidia.com/mig-1g.18gb\",\"displayName\":\"s\",\"minCount\":1,"              \
    "\"defaultCount\":1}],\"scheduling\":{\"type\":\"Queue\",\"kueue\":{\"localQueueName\":"       \
    "\"booked\"}}}}"

static void a_profile(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"timeout\":5");
    patch("{\"metadata\":{\"annotations\":{\"opendatahub.io/hardware-profile-name\":\"p\"}}}");
    fake_world_live(&w, 5);
    assert_string_equal(fake_world_condition_reason(service(), "PredictorReady"),
                        "InvalidPredictorSpec");
    fake_world_put(&w, PROFILE);
    fake_world_live(&w, 10);
    const struct object *d = get("Deployment", "m-predictor");
    assert_true(str_is(object_label(d, STR("kueue.x-k8s.io/queue-name")), "booked"));
    assert_non_null(strstr(d->json.p, "\"limits\":{\"nvidia.com/mig-1g.18gb\":\"1\"}"));
    assert_string_equal(fake_world_condition_message(service(), "FieldsHonored"),
                        "kept, and nothing acts on them: spec.predictor.timeout");
}

#define SCALER "HorizontalPodAutoscaler"

static void an_autoscaler(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("",
        MODEL ",\"minReplicas\":0,\"maxReplicas\":4,\"scaleMetric\":\"memory\",\"scaleTarget\":60");
    fake_world_live(&w, 5);
    TEXT(SCALER, "m-predictor", "spec.minReplicas", "1");
    TEXT(SCALER, "m-predictor", "spec.maxReplicas", "4");
    TEXT(SCALER, "m-predictor", "spec.scaleTargetRef.name", "m-predictor");
    TEXT(SCALER, "m-predictor", "spec.metrics.0.resource.name", "memory");
    TEXT(SCALER, "m-predictor", "spec.metrics.0.resource.target.averageUtilization", "60");
    assert_string_equal(fake_world_condition(service(), "FieldsHonored"), "");
    patch("{\"spec\":{\"predictor\":{\"scaleMetric\":\"rps\"}}}");
    fake_world_live(&w, 5);
    assert_null(get(SCALER, "m-predictor"));
    assert_string_equal(fake_world_condition(service(), "FieldsHonored"), "False");
    patch("{\"spec\":{\"predictor\":{\"scaleMetric\":\"cpu\",\"maxReplicas\":2}}}");
    fake_world_live(&w, 5);
    TEXT(SCALER, "m-predictor", "spec.maxReplicas", "2");
    patch("{\"metadata\":{\"annotations\":{\"serving.kserve.io/autoscalerClass\":\"external\"}}}");
    fake_world_live(&w, 5);
    assert_null(get(SCALER, "m-predictor"));
}

static void no_request_no_autoscaler(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"maxReplicas\":4");
    fake_world_live(&w, 5);
    assert_null(get(SCALER, "m-predictor"));
    patch("{\"spec\":{\"predictor\":{\"model\":{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}}}}");
    fake_world_live(&w, 5);
    TEXT(SCALER, "m-predictor", "spec.metrics.0.resource.name", "cpu");
    TEXT(SCALER, "m-predictor", "spec.metrics.0.resource.target.averageUtilization", "80");
}

static void an_llm(void **state) {
    fake_world_put(&w, RUNTIME("vllm"));
    fake_world_put(&w,
                   "{\"apiVersion\":\"serving.kserve.io/v1alpha1\",\"kind\":"
                   "\"LLMInferenceService\",\"metadata\":{\"name\":\"l\",\"namespace\":"
                   "\"default\"},\"spec\":{\"model\":{\"uri\":\"hf://a/b\",\"name\":\"a/b\"},"
                   "\"replicas\":2,\"parallelism\":{\"tensor\":2},\"template\":{\"containers\":["
                   "{\"name\":\"main\",\"args\":[\"--y\"]}]}}}");
    fake_world_live(&w, 10);
    TEXT("Deployment", "l-kserve", "spec.replicas", "2");
    TEXT("Deployment", "l-kserve", "spec.template.spec.containers.0.name", "kserve-container");
    TEXT("Deployment", "l-kserve", ARG, "--y");
    TEXT("Deployment", "l-kserve", "spec.template.spec.containers.0.args.2",
         "--served-model-name=a/b");
    TEXT("Deployment", "l-kserve", "spec.template.spec.containers.0.args.3",
         "--tensor-parallel-size=2");
    TEXT("Service", "l-kserve-workload-svc", "spec.ports.0.port", "8000");
    assert_string_equal(fake_world_condition(get("LLMInferenceService", "l"), "Ready"), "True");
}

/* ---- what ships ---- */

static void shipped_runtimes_are_made_once(void **state) {
    struct err err = {0};
    void *c = controller_new(&serve_runtimes_controller, &w.env, &err);
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                       "\"kube-system\"}}");
    fake_world_live(&w, 5);
    size_t n = fake_world_count(&w, "ClusterServingRuntime");
    assert_true(n >= 4);
    assert_non_null(fake_world_get(&w, "ClusterServingRuntime", "", "vllm"));
    fake_world_delete(&w, "ClusterServingRuntime", "", "vllm", NULL);
    controller_free(c);
    c = controller_new(&serve_runtimes_controller, &w.env, &err);
    fake_world_live(&w, 5);
    assert_int_equal(fake_world_count(&w, "ClusterServingRuntime"), n - 1);
    controller_free(c);
}

/* ---- faults ---- */

static void life(void) {
    fake_world_put(&w, RUNTIME("vllm"));
    put("", MODEL ",\"canaryTrafficPercent\":50");
    fake_world_live(&w, 10);
    patch(EDIT("2", ""));
    fake_world_live(&w, 10);
    patch("{\"spec\":{\"predictor\":{\"canaryTrafficPercent\":null}}}");
    fake_world_live(&w, 40);
}

/* The nth write is refused, lost, or meets a conflict: the end is the same. */
static void each_write_fails_once(void **state) {
    for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
        for (uint64_t n = 1;; n++) {
            if (n > 1 || fault != FAULT_REFUSED) {
                teardown(NULL);
                setup(NULL);
            }
            w.fail_at = n;
            w.fault = (enum fake_fault)fault;
            life();
            TEXT("Deployment", "m-predictor", ARG, "--x=2");
            assert_null(get("Deployment", "m-predictor-canary"));
            is_ready();
            if (w.fail_at > 0) {
                break;
            }
        }
    }
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_service_serves),
        TEST(a_world_at_rest_is_not_written_to),
        TEST(a_runtime_that_comes_later),
        TEST(large_runtimes),
        TEST(from_zero),
        TEST(an_update_keeps_replicas),
        TEST(a_canary),
        TEST(a_canary_taken_back),
        TEST(stopped),
        TEST(a_container_that_cannot_start),
        TEST(somebody_elses_deployment),
        TEST(where_kserve_is),
        TEST(a_profile),
        TEST(an_autoscaler),
        TEST(no_request_no_autoscaler),
        TEST(an_llm),
        TEST(shipped_runtimes_are_made_once),
        TEST(each_write_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

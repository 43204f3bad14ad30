/* models_check: what is refused of served models, and in which words. */
#include "base/test.h"

#include "api/schema/codec.h"
#include "api/schema/kind.h"

static struct arena arena;

static int setup(void **state) {
    (void)state;
    arena_init(&arena, 64 << 20);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_release(&arena);
    return 0;
}

/* All causes as "field: text\n". */
static const char *faults(const char *api_version, const char *kind, const char *json) {
    const struct kind *k = kind_by_api_version(str_of(api_version), str_of(kind));
    struct causes causes = {.arena = &arena};
    yyjson_mut_doc *d;
    struct err err;
    struct buf b;
    assert_non_null(k);
    assert_ok(json_parse_mut(&arena, str_of(json), &d, &err), &err);
    assert_ok(codec_default(k, d, &err), &err);
    assert_int_equal(codec_validate(k, yyjson_mut_doc_get_root(d), NULL, &causes), 0);
    buf_init(&b, 0);
    for (size_t i = 0; i < causes.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(causes.v[i].field), STR_ARG(causes.v[i].text));
    }
    buf_ch(&b, '\0');
    const char *text = arena_str(&arena, buf_view(&b)).p;
    buf_release(&b);
    return text;
}

#define SERVICE(notes_, spec_)                                                                     \
    faults("serving.kserve.io/v1beta1", "InferenceService",                                        \
           "{\"metadata\":{\"name\":\"m\",\"namespace\":\"a\",\"annotations\":{" notes_            \
           "}},\"spec\":{" spec_ "}}")
#define MODEL(rest_) "\"predictor\":{\"model\":{\"modelFormat\":{\"name\":\"vLLM\"}" rest_ "}}"
#define PREDICTOR(rest_) "\"predictor\":{\"model\":{\"modelFormat\":{\"name\":\"vLLM\"}}," rest_ "}"

static void services(void **state) {
    (void)state;
    assert_string_equal(SERVICE("", MODEL(",\"storageUri\":\"hf://a/b\"")), "");
    assert_string_equal(SERVICE("", PREDICTOR("\"minReplicas\":0,\"maxReplicas\":4,"
                                              "\"canaryTrafficPercent\":10")),
                        "");
    assert_string_equal(SERVICE("", ""), "spec.predictor: Required value\n");
    assert_string_equal(SERVICE("", "\"predictor\":{}"),
                        "spec.predictor: Invalid value: null: exactly one of model and containers "
                        "must be set\n");
    assert_string_equal(SERVICE("", MODEL(",\"storageUri\":\"gs://a/b\"")),
                        "spec.predictor.model.storageUri: Invalid value: \"gs://a/b\": must be one "
                        "of hf://ORGANISATION/MODEL, s3://BUCKET/PATH, https://HOST/PATH, "
                        "pvc://CLAIM/PATH, file:///PATH\n");
    assert_string_equal(SERVICE("", PREDICTOR("\"minReplicas\":3,\"maxReplicas\":2")),
                        "spec.predictor.minReplicas: Invalid value: 3: must be less than or equal "
                        "to maxReplicas (2)\n");
    assert_string_equal(SERVICE("", PREDICTOR("\"canaryTrafficPercent\":101")),
                        "spec.predictor.canaryTrafficPercent: Invalid value: 101: "
                        "spec.predictor.canaryTrafficPercent in body should be less than or equal "
                        "to 100\n");
    assert_string_equal(SERVICE("\"serving.kserve.io/deploymentMode\":\"Knative\"", MODEL("")),
                        "metadata.annotations.serving.kserve.io/deploymentMode: Unsupported value: "
                        "\"Knative\": supported values: \"Standard\", \"RawDeployment\"\n");
}

static void what_is_not_run(void **state) {
    (void)state;
    assert_string_equal(SERVICE("", MODEL("") ",\"transformer\":{}"),
                        "spec.transformer: Forbidden: is not supported; serve it as an "
                        "InferenceService of its own\n");
    assert_string_equal(SERVICE("", PREDICTOR("\"workerSpec\":{}")),
                        "spec.predictor.workerSpec: Forbidden: a replica of several pods is not "
                        "supported; a replica runs in one pod\n");
}

#define NAMED_SERVICE(name_)                                                                       \
    faults("serving.kserve.io/v1beta1", "InferenceService",                                        \
           "{\"metadata\":{\"name\":\"" name_ "\",\"namespace\":\"a\"},\"spec\":{" MODEL("") "}}")

static void names(void **state) {
    (void)state;
    assert_string_equal(NAMED_SERVICE("a1234567890123456789012345678901234567890"), "");
    assert_true(strlen(NAMED_SERVICE("a12345678901234567890123456789012345678901")) > 0);
    assert_true(strlen(NAMED_SERVICE("1a")) > 0);
}

#define RUNTIME(spec_)                                                                             \
    faults("serving.kserve.io/v1alpha1", "ClusterServingRuntime",                                  \
           "{\"metadata\":{\"name\":\"r\"},\"spec\":{" spec_ "}}")
#define SERVER "\"containers\":[{\"name\":\"kserve-container\",\"image\":\"i\"}]"

static void runtimes(void **state) {
    (void)state;
    assert_string_equal(RUNTIME(SERVER), "");
    assert_string_equal(RUNTIME("\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"),
                        "spec.containers: Required value: the model server is the container named "
                        "kserve-container\n");
    assert_string_equal(
        RUNTIME(SERVER ",\"multiModel\":true"),
        "spec.multiModel: Forbidden: a server of several models is not supported\n");
    assert_string_equal(
        RUNTIME(SERVER ",\"supportedModelFormats\":[{\"name\":\"a\",\"priority\":1},"
                       "{\"name\":\"a\",\"priority\":1}]"),
        "spec.supportedModelFormats[1].priority: Invalid value: 1: format a has the same priority "
        "twice\n");
    assert_string_equal(
        RUNTIME(SERVER ",\"protocolVersions\":[\"v3\"]"),
        "spec.protocolVersions[0]: Unsupported value: \"v3\": supported values: \"v1\", \"v2\", "
        "\"grpc-v1\", \"grpc-v2\", \"openai\"\n");
}

#define LLM(spec_)                                                                                 \
    faults("serving.kserve.io/v1alpha2", "LLMInferenceService",                                    \
           "{\"metadata\":{\"name\":\"m\",\"namespace\":\"a\"},\"spec\":{\"model\":{\"uri\":"      \
           "\"hf://a/b\"}" spec_ "}}")

static void llm_services(void **state) {
    (void)state;
    assert_string_equal(LLM(",\"replicas\":2,\"parallelism\":{\"tensor\":4}"), "");
    assert_string_equal(
        LLM(",\"template\":{\"containers\":[{\"name\":\"main\",\"args\":[\"x\"]}]}"), "");
    assert_string_equal(
        LLM(",\"template\":{\"containers\":[{\"name\":\"other\"}]}"),
        "spec.template.containers: Required value: the model server is the container "
        "named main\n");
    assert_string_equal(LLM(",\"parallelism\":{\"pipeline\":2}"),
                        "spec.parallelism.pipeline: Invalid value: 2: must be 1: a replica of "
                        "several pods is not supported; a replica runs in one pod\n");
    assert_string_equal(LLM(",\"replicas\":1,\"scaling\":{\"minReplicas\":0}"),
                        "spec.scaling: Forbidden: may not be set together with replicas\n");
    assert_string_equal(LLM(",\"prefill\":{}"),
                        "spec.prefill: Forbidden: is not supported: prompts are read where answers "
                        "are made\n");
}

static void pools(void **state) {
    (void)state;
    assert_string_equal(faults("inference.networking.k8s.io/v1", "InferencePool",
                               "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\"},\"spec\":{"
                               "\"selector\":{\"matchLabels\":{\"app\":\"x\"}},\"targetPorts\":["
                               "{\"number\":8000},{\"number\":8000}]}}"),
                        "spec.targetPorts[1].number: Invalid value: 8000: stands there twice\n");
    assert_string_equal(faults("inference.networking.x-k8s.io/v1alpha2", "InferenceObjective",
                               "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\"},\"spec\":{"
                               "\"priority\":-1,\"poolRef\":{\"name\":\"x\"}}}"),
                        "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(services, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_run, setup, teardown),
        cmocka_unit_test_setup_teardown(names, setup, teardown),
        cmocka_unit_test_setup_teardown(runtimes, setup, teardown),
        cmocka_unit_test_setup_teardown(llm_services, setup, teardown),
        cmocka_unit_test_setup_teardown(pools, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

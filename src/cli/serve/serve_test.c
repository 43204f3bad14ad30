/* serve_test (cli): `berth models`, `berth deploy` and `berth services`: what they send, print and refuse. */
#include "base/test.h"

#include "cli/cli.h"
#include "cli/kit/bed.h"

#define SERVICES "/apis/serving.kserve.io/v1beta1/namespaces/x/inferenceservices"

static bool has(struct buf *b, const char *text) {
    return strstr(buf_cstr(b), text) != NULL;
}

static void test_models(void **state) {
    bed_start(NULL, 0);
    assert_int_equal(RUN("models"), CLI_OK);
    assert_true(has(&bed.out, "meta-llama/Llama-3.1-8B-Instruct") && has(&bed.out, "llama3.1"));
    assert_int_equal(RUN("models", "--slice", "1g.18gb", "-o", "name"), CLI_OK);
    assert_true(has(&bed.out, "Mistral-7B") && !has(&bed.out, "Llama-3.1-8B"));
    assert_int_equal(
        RUN("models", "--license", "mit", "--task", "feature-extraction", "-o", "name"), CLI_OK);
    assert_string_equal(buf_cstr(&bed.out), "BAAI/bge-m3\n");
    assert_int_equal(
        RUN("models", "--size", "1B", "--filter", "tensor_type = 'INT4'", "-o", "json"), CLI_OK);
    assert_true(has(&bed.out, "q4_k_m.gguf"));
    assert_int_equal(RUN("models", "--slice", "big"), CLI_USAGE);
    assert_true(has(&bed.told, "--slice: expected a profile such as 3g.71gb, not \"big\""));
    assert_int_equal(RUN("models", "--filter", "license ="), CLI_USAGE);
    assert_int_equal(RUN("models", "--size", "many"), CLI_USAGE);
    assert_int_equal(RUN("models", "--catalog", "/nonexistent"), CLI_FAILED);
    bed_stop();
}

static void test_dry_run(void **state) {
    bed_start(NULL, 0);
    assert_int_equal(RUN("deploy", "llama-3.1-8b-instruct", "--slice", "3g.71gb", "--min", "0",
                         "--max", "4", "--arg=--max-model-len=8192", "--dry-run", "-o", "json"),
                     CLI_OK);
    assert_true(has(&bed.out, "\"storageUri\": \"hf://meta-llama/Llama-3.1-8B-Instruct\""));
    assert_true(has(&bed.out, "\"name\": \"llama-3-1-8b-instruct\""));
    assert_true(has(&bed.out, "\"nvidia.com/mig-3g.71gb\": \"1\""));
    assert_true(has(&bed.out, "\"minReplicas\": 0") && has(&bed.out, "\"maxReplicas\": 4"));
    assert_true(has(&bed.out, "\"kueue.x-k8s.io/queue-name\": \"default\""));
    assert_true(has(&bed.out, "\"--max-model-len=8192\""));
    assert_int_equal(
        RUN("deploy", "hf://org/Big_Model", "--gpus", "2", "--hardware-profile", "p", "--dry-run"),
        CLI_OK);
    assert_true(has(&bed.out, "name: big-model\n") && !has(&bed.out, "queue-name"));
    assert_true(has(&bed.out, "--tensor-parallel-size=2"));
    assert_true(has(&bed.out, "opendatahub.io/hardware-profile-name: p\n"));
    assert_int_equal(RUN("deploy", "echo", "--command", "serve $PORT", "--dry-run"), CLI_OK);
    assert_true(has(&bed.out, "name: command\n") && !has(&bed.out, "storageUri"));
    assert_int_equal(RUN("deploy", "s3://b/m.GGUF", "--dry-run"), CLI_OK);
    assert_true(has(&bed.out, "name: gguf\n"));
    bed_stop();
}

static void test_refusals(void **state) {
    bed_start(NULL, 0);
    assert_int_equal(RUN("deploy", "nothing-like-it", "--dry-run"), CLI_NOT_FOUND);
    assert_true(has(&bed.told, "\"nothing-like-it\" is not in the catalog (`berth models`)"));
    assert_int_equal(RUN("deploy", "/nonexistent/model", "--dry-run"), CLI_NOT_FOUND);
    assert_int_equal(RUN("deploy", "phi-4", "--slice", "7", "--dry-run"), CLI_USAGE);
    assert_true(has(&bed.told, "--slice: expected a MIG profile, as 3g.71gb, not \"7\""));
    assert_int_equal(RUN("deploy", "phi-4", "--min", "3", "--max", "2", "--dry-run"), CLI_USAGE);
    assert_true(has(&bed.told, "--min: expected at most --max (2), not \"3\""));
    assert_int_equal(RUN("deploy", "phi-4", "--min", "-1", "--dry-run"), CLI_USAGE);
    assert_int_equal(RUN("deploy", "phi-4", "--gpus", "1", "--slice", "1g.18gb", "--dry-run"),
                     CLI_USAGE);
    assert_true(has(&bed.told, "--slice and --gpus: expected only one of them"));
    assert_int_equal(RUN("deploy", "phi-4", "--memory", "lots", "--dry-run"), CLI_USAGE);
    assert_int_equal(RUN("deploy", "phi-4", "--env", "A", "--dry-run"), CLI_USAGE);
    bed_stop();
}

static void test_deploy(void **state) {
    static const struct route routes[] = {
        {"GET " SERVICES "/phi-4", 404, "{\"message\":\"not found\",\"reason\":\"NotFound\"}"},
        {"PATCH " SERVICES "/phi-4?fieldManager=berth-deploy&fieldValidation=Strict", 201,
         "{\"kind\":\"InferenceService\",\"metadata\":{\"name\":\"phi-4\"}}"},
        {"GET " SERVICES "/phi-4", 200, "{\"metadata\":{\"name\":\"phi-4\"}}", 1},
    };
    bed_start(routes, 3);
    assert_int_equal(RUN("deploy", "phi-4", "--gpus", "1"), CLI_OK);
    assert_string_equal(buf_cstr(&bed.out),
                        "inferenceservice/phi-4 created; `berth services phi-4` "
                        "shows its state\n");
    assert_int_equal(RUN("deploy", "phi-4", "--gpus", "1"), CLI_OK);
    assert_true(has(&bed.out, "inferenceservice/phi-4 configured"));
    bed_stop();
}

#define NODES(by_)                                                                                 \
    "{\"items\":[{\"metadata\":{\"name\":\"n\"},\"status\":{\"nodeInfo\":{"                        \
    "\"containerRuntimeVersion\":\"" by_ "1\"}}}]}"

/* Nodes of Berth download nothing; of others somebody may. */
static void test_what_nobody_downloads(void **state) {
    static const struct route routes[] = {
        {"PATCH " SERVICES, 200, "{\"kind\":\"InferenceService\",\"metadata\":{\"name\":\"m\"}}"},
        {"GET " SERVICES, 200, "{\"metadata\":{\"name\":\"m\"}}"},
        {"GET /api/v1/nodes", 200, NODES("berth://")},
        {"GET /api/v1/nodes", 200, NODES("containerd://"), 2},
    };
    bed_start(routes, 4);
    assert_int_equal(RUN("deploy", "phi-4"), CLI_OK);
    assert_true(has(&bed.told, "the nodes download nothing, so replicas of hf://microsoft/phi-4"));
    assert_int_equal(RUN("deploy", "pvc://claim/phi-4"), CLI_OK);
    assert_false(has(&bed.told, "download nothing"));
    assert_int_equal(RUN("deploy", "phi-4"), CLI_OK);
    assert_false(has(&bed.told, "download nothing"));
    bed_stop();
}

#define CONDITIONS(reason_, status_)                                                               \
    "\"conditions\":[{\"type\":\"PredictorReady\",\"status\":\"" status_                           \
    "\",\"reason\":\"" reason_                                                                     \
    "\",\"message\":\"short\"},{\"type\":\"Ready\",\"status\":\"" status_ "\"}]"

static void test_services(void **state) {
    static const struct route routes[] = {
        {"GET " SERVICES, 200,
         "{\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"},\"spec\":{\"predictor\":{}"
         "},"
         "\"status\":{\"url\":\"http://a\"," CONDITIONS(
             "", "True") "}},"
                         "{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\"},\"spec\":{"
                         "\"predictor\":{}},"
                         "\"status\":{" CONDITIONS(
                             "Queued", "False") "}},"
                                                "{\"metadata\":{\"name\":\"c\",\"namespace\":\"x\"}"
                                                ",\"spec\":{\"predictor\":{}},"
                                                "\"status\":{" CONDITIONS("ScaledToZero",
                                                                          "True") "}}]}"},
        {"GET /apis/serving.kserve.io/v1alpha1/namespaces/x/llminferenceservices", 200,
         "{\"items\":[]}"},
        {"GET /apis/apps/v1/namespaces/x/deployments", 200,
         "{\"items\":[{\"metadata\":{\"name\":\"a-predictor\",\"namespace\":\"x\"},\"spec\":{"
         "\"replicas\":2},\"status\":{\"readyReplicas\":1}}]}"},
        {"GET /apis/berth.dev/v1alpha1/namespaces/x/workloadexplanations", 200,
         "{\"items\":[{\"metadata\":{\"namespace\":\"x\"},\"status\":{\"job\":\"b-predictor-1-2\","
         "\"position\":{\"clusterQueue\":3},\"estimate\":{\"text\":\"in 5m (declared)\"},"
         "\"summary\":\"1 gpu missing\"}}]}"},
    };
    bed_start(routes, 4);
    assert_int_equal(RUN("services"), CLI_OK);
    assert_true(has(&bed.out, "ready     1/2") && has(&bed.out, "at zero"));
    assert_true(has(&bed.out, "position 3, starts in 5m: 1 gpu missing"));
    assert_int_equal(RUN("services", "b", "-o", "name"), CLI_OK);
    assert_true(has(&bed.out, "b") && !has(&bed.out, "a\n"));
    assert_int_equal(RUN("services", "bb"), CLI_NOT_FOUND);
    assert_true(has(&bed.told, "there is no service \"bb\"; did you mean b?"));
    bed_stop();
}

/* A server that listens on loopback alone looks like one that loads. */
static void test_one_that_loads(void **state) {
    static const struct route routes[] = {
        {"GET " SERVICES, 200,
         "{\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"},\"spec\":{\"predictor\":{}"
         "},"
         "\"status\":{\"modelStatus\":{\"states\":{\"targetModelState\":\"Loading\"}}," CONDITIONS(
             "MinimumReplicasUnavailable", "False") "}}]}"},
    };
    bed_start(routes, 1);
    assert_int_equal(RUN("services"), CLI_OK);
    assert_true(has(&bed.out, "loading") && has(&bed.out, "listen on all addresses of its pod"));
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),         cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_deploy),
        cmocka_unit_test(test_services),       cmocka_unit_test(test_what_nobody_downloads),
        cmocka_unit_test(test_one_that_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

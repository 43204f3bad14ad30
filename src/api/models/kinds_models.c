/*
 * kinds_models: the rows of KServe's kinds and of the Gateway API Inference Extension's: columns and versions as in the
 * definitions of those projects.
 */
#include "api/kinds/kinds.h"
#include "api/models/models_check.h"
#include "api/models/view_models.h"

#define COLUMN_CRD_AGE                                                                             \
    {                                                                                              \
        .name = "Age", .type = "date", .path = "metadata.creationTimestamp",                       \
        .doc = "How long ago the object was created."                                              \
    }
#define COLUMN_JSON(name_, type_, json_path_, doc_)                                                \
    { .name = name_, .type = type_, .json_path = json_path_, .doc = doc_ }
#define LATEST(member_) ".status.components.predictor.traffic[?(@.latestRevision==true)]." member_
#define PREVIOUS(member_) ".status.components.predictor.traffic[?(@.tag=='prev')]." member_
#define CONDITION(type_, member_) ".status.conditions[?(@.type=='" type_ "')]." member_
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FLAGS (KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED)
#define SAME(version_, schema_)                                                                    \
    {                                                                                              \
        .version = version_, .schema = &schema_, .to_storage = convert_nothing,                    \
        .from_storage = convert_nothing                                                            \
    }

/* ---- serving.kserve.io ---- */

static const struct column service_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("URL", "string", 0, "status.url", "URL of the service."),
    COLUMN_JSON("Ready", "string", CONDITION("Ready", "status"), "Whether it serves."),
    COLUMN_JSON("Prev", "integer", PREVIOUS("percent"), "Share of the revision before."),
    COLUMN_JSON("Latest", "integer", LATEST("percent"), "Share of the latest revision."),
    COLUMN_JSON("PrevRolledoutRevision", "string", PREVIOUS("revisionName"),
                "Revision before the latest."),
    COLUMN_JSON("LatestReadyRevision", "string", LATEST("revisionName"), "Latest revision."),
    COLUMN_CRD_AGE,
};
const struct kind kind_inference_service = {
    .group = "serving.kserve.io",
    .api_version = "serving.kserve.io/v1beta1",
    .kind = "InferenceService",
    .plural = "inferenceservices",
    .singular = "inferenceservice",
    .short_names = NAMES("isvc"),
    .flags = FLAGS | KIND_NAMESPACED | KIND_STATUS,
    .versions =
        &(const struct kind_version){.version = "v1beta1", .schema = &schema_inference_service},
    .n_versions = 1,
    .columns = service_columns,
    .n_columns = COUNT(service_columns),
    .prepare = prepare_status,
    .check = inference_service_check,
};

static const struct column runtime_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Disabled", "boolean", 0, "spec.disabled", "Whether nobody may use it."),
    COLUMN_JSON("ModelType", "string", ".spec.supportedModelFormats[*].name", "Formats."),
    COLUMN_JSON("Containers", "string", ".spec.containers[*].name", "Containers."),
    COLUMN_CRD_AGE,
};
#define RUNTIME(kind_, plural_, singular_, flags_)                                                 \
    {                                                                                              \
        .group = "serving.kserve.io", .api_version = "serving.kserve.io/v1alpha1", .kind = kind_,  \
        .plural = plural_, .singular = singular_, .flags = FLAGS | (flags_),                       \
        .versions = &(const struct kind_version){.version = "v1alpha1",                            \
                                                 .schema = &schema_serving_runtime},               \
        .n_versions = 1, .columns = runtime_columns, .n_columns = COUNT(runtime_columns),          \
        .check = serving_runtime_check                                                             \
    }
const struct kind kind_serving_runtime =
    RUNTIME("ServingRuntime", "servingruntimes", "servingruntime", KIND_NAMESPACED);
const struct kind kind_cluster_serving_runtime =
    RUNTIME("ClusterServingRuntime", "clusterservingruntimes", "clusterservingruntime", 0);

static const struct column llm_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("URL", "string", 0, "status.url", "URL of the service."),
    COLUMN_JSON("Ready", "string", CONDITION("Ready", "status"), "Whether it serves."),
    COLUMN_JSON("Reason", "string", CONDITION("Ready", "reason"), "Why it does not."),
    COLUMN_CRD_AGE,
};
static const struct kind_version llm_versions[] = {
    {.version = "v1alpha1", .schema = &schema_llm_service},
    SAME("v1alpha2", schema_llm_service),
};
const struct kind kind_llm_service = {
    .group = "serving.kserve.io",
    .api_version = "serving.kserve.io/v1alpha1",
    .kind = "LLMInferenceService",
    .plural = "llminferenceservices",
    .singular = "llminferenceservice",
    .short_names = NAMES("llmisvc"),
    .flags = FLAGS | KIND_NAMESPACED | KIND_STATUS,
    .versions = llm_versions,
    .n_versions = COUNT(llm_versions),
    .columns = llm_columns,
    .n_columns = COUNT(llm_columns),
    .prepare = prepare_status,
    .check = llm_service_check,
};

/* ---- inference.networking ---- */

#define NOT_YET "stored and checked, but the gateway does not use it yet."

static const struct column pool_columns[] = {COLUMN_NAME, COLUMN_CRD_AGE};
const struct kind kind_inference_pool = {
    .group = "inference.networking.k8s.io",
    .api_version = "inference.networking.k8s.io/v1",
    .kind = "InferencePool",
    .plural = "inferencepools",
    .singular = "inferencepool",
    .short_names = NAMES("infpool"),
    .flags = FLAGS | KIND_NAMESPACED | KIND_STATUS,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_inference_pool},
    .n_versions = 1,
    .columns = pool_columns,
    .n_columns = COUNT(pool_columns),
    .prepare = prepare_status,
    .check = inference_pool_check,
    .notice = "InferencePool: " NOT_YET,
};

static const struct column objective_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Inference Pool", "string", 0, "spec.poolRef.name", "Pool of the requests."),
    COLUMN_PATH("Priority", "string", 0, "spec.priority", "Priority of the requests."),
    COLUMN_CRD_AGE,
};
const struct kind kind_inference_objective = {
    .group = "inference.networking.x-k8s.io",
    .api_version = "inference.networking.x-k8s.io/v1alpha2",
    .kind = "InferenceObjective",
    .plural = "inferenceobjectives",
    .singular = "inferenceobjective",
    .flags = FLAGS | KIND_NAMESPACED | KIND_STATUS,
    .versions =
        &(const struct kind_version){.version = "v1alpha2", .schema = &schema_inference_objective},
    .n_versions = 1,
    .columns = objective_columns,
    .n_columns = COUNT(objective_columns),
    .prepare = prepare_status,
    .notice = "InferenceObjective: " NOT_YET,
};

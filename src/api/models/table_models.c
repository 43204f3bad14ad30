/* table_models: the fields of KServe's InferenceService and of the status that LLMInferenceService has as well. */
#include "api/models/pod_rows.h"
#include "api/models/view_models.h"
#include "base/limits.h"

#define KSERVE(name_) "io.kserve.serving.v1beta1." name_
#define PART(name_, component_, doc_, ...)                                                         \
    TABLE(static, name_, KSERVE(component_), doc_, __VA_ARGS__)
#define COUNTED(json_, min_, max_, doc_)                                                           \
    F(INT32, ONE, json_, 0, .flags = FIELD_F_OPT, .min = min_, .max = max_, .doc = doc_)

static const char *const protocols[] = {"v1", "v2", "grpc-v1", "grpc-v2", "openai", NULL};
static const char *const scale_metrics[] = {"cpu", "memory", "concurrency", "rps", NULL};
static const char *const scale_types[] = {"Utilization", "AverageValue", NULL};
static const char *const strategies[] = {"RollingUpdate", "Recreate", NULL};

/* ---- the predictor ---- */

PART(model_format, "ModelFormat", "Format of a model.",
     F(STRING, ONE, "name", 0, .flags = REQUIRED, .min = 1, .max = 63,
       .doc = "Name of the format: vLLM, gguf, onnx, ..."),
     F(STRING, ONE, "version", 0, .max = 63, .doc = "Version of the format; any unless set."));
PART(model_storage, "StorageSpec", "A model in a storage that a Secret describes.",
     TEXT("key", "Key of the Secret storage-config."), TEXT("path", "Path below that storage."),
     F(STRING, MAP, "parameters", 0, .doc = "Parameters of the storage."),
     TEXT("schemaPath", "Path of the model's schema."));
PART(model_spec, "ModelSpec", "A model, and what is different from its runtime's container.",
     ONE_OF("modelFormat", model_format, REQUIRED, "Format of the model."),
     TEXT("name", "Name of the container; kserve-container."),
     F(STRING, ONE, "runtime", 0, .max = 253,
       .doc = "ServingRuntime or ClusterServingRuntime; chosen by format unless set."),
     F(STRING, ONE, "runtimeVersion", 0, .max = 128, .doc = "Tag of the runtime's image."),
     F(STRING, ONE, "protocolVersion", 0, .values = protocols,
       .doc = "Protocol to serve: v1, v2, grpc-v2, openai."),
     F(STRING, ONE, "storageUri", 0, .max = 2048,
       .doc = "Where the model is: hf://, s3://, https://, pvc://, file://."),
     ONE_OF("storage", model_storage, 0, "A storage with credentials, instead of storageUri."),
     ROWS_OF_CONTAINER);

PART(strategy_rolling, "RollingUpdateDeployment", "Bounds of a rolling update.",
     F(INT_OR_STRING, ONE, "maxUnavailable", 0, .doc = "Replicas that may be missing."),
     F(INT_OR_STRING, ONE, "maxSurge", 0, .doc = "Replicas that may be there in addition."));
PART(strategy, "DeploymentStrategy", "How replicas are replaced by an update.",
     ENUM("type", 0, strategies, "RollingUpdate or Recreate."),
     ONE_OF("rollingUpdate", strategy_rolling, 0, "Bounds of a rolling update."));
TABLE(, autoscaling_spec, KSERVE("AutoScalingSpec"), "Metrics by which replicas are scaled.",
      F(ANY, LIST, "metrics", 0, .doc = "Metrics: Resource, External or PodMetric."),
      F(ANY, ONE, "behavior", 0, .doc = "Behavior, as of a HorizontalPodAutoscaler."));

#define ROWS_OF_COMPONENT                                                                          \
    COUNTED("minReplicas", 0, LIMIT_SET_REPLICAS,                                                  \
            "Least replicas; 1 unless set, 0: none when "                                          \
            "nobody asks."),                                                                       \
        COUNTED("maxReplicas", 0, LIMIT_SET_REPLICAS, "Most replicas; 0: as many as at least."),   \
        COUNTED("scaleTarget", 0, INT32_MAX, "Value of the metric that replicas are scaled to."),  \
        ENUM("scaleMetric", 0, scale_metrics, "cpu, memory, concurrency or rps."),                 \
        ENUM("scaleMetricType", 0, scale_types, "Utilization or AverageValue."),                   \
        ONE_OF("autoScaling", autoscaling_spec, 0, "Metrics by which replicas are scaled."),       \
        F(INT64, ONE, "containerConcurrency", 0, .flags = FIELD_F_OPT, .min = 0, .max = 1000000,   \
          .doc = "Requests at once for one replica; 0: any number."),                              \
        F(INT64, ONE, "timeout", 0, .flags = FIELD_F_OPT, .min = 0, .max = 86400,                  \
          .doc = "Seconds after which a request is ended."),                                       \
        F(INT64, ONE, "canaryTrafficPercent", 0, .flags = FIELD_F_OPT, .min = 0, .max = 100,       \
          .doc = "Share of requests for the latest revision, while the one before serves the "     \
                 "rest."),                                                                         \
        F(ANY, ONE, "logger", 0, .doc = "Not supported."),                                         \
        F(ANY, ONE, "batcher", 0, .doc = "Not supported."),                                        \
        F(STRING, MAP, "labels", 0, .doc = "Labels of the pods."),                                 \
        F(STRING, MAP, "annotations", 0, .doc = "Annotations of the pods."),                       \
        ONE_OF("deploymentStrategy", strategy, 0,                                                  \
               "How replicas are replaced; never below those that serve, unless set.")

PART(predictor_spec, "PredictorSpec", "What serves the model.",
     ONE_OF("model", model_spec, 0, "The model; its runtime gives the container."),
     NAMED("containers", container, "name", "Containers of one's own instead of a runtime's."),
     F(ANY, ONE, "workerSpec", 0, .doc = "Not supported."), ROWS_OF_COMPONENT, ROWS_OF_POD);
PART(inference_service_spec, "InferenceServiceSpec", "A model that is served.",
     ONE_OF("predictor", predictor_spec, REQUIRED, "What serves the model."),
     F(ANY, ONE, "transformer", 0, .doc = "Not supported."),
     F(ANY, ONE, "explainer", 0, .doc = "Not supported."));

/* ---- the status ---- */

static const struct field failure_rows[] = {
    M(model_failure, location, STRING, ONE, "location", 0, .doc = "Pod that failed."),
    M(model_failure, reason, STRING, ONE, "reason", 0, .doc = "One CamelCase word."),
    M(model_failure, message, STRING, ONE, "message", 0, .doc = "Human-readable message."),
    M(model_failure, model_revision_name, STRING, ONE, "modelRevisionName", 0,
      .doc = "Revision that failed."),
    M(model_failure, time_ns, TIME, ONE, "time", 0, .doc = "Time of the failure."),
    M(model_failure, exit_code, INT32, ONE, "exitCode", 0, .flags = FIELD_F_OPT,
      .doc = "Exit code of the server."),
};
static const struct schema schema_failure =
    SCHEMA(KSERVE("FailureInfo"), failure_rows, sizeof(struct model_failure), NULL);

static const struct field states_rows[] = {
    M(model_states, active, STRING, ONE, "activeModelState", 0, .doc = "Of what serves."),
    M(model_states, target, STRING, ONE, "targetModelState", 0, .doc = "Of what shall serve."),
};
static const struct schema schema_states =
    SCHEMA(KSERVE("ModelRevisionStates"), states_rows, sizeof(struct model_states), NULL);

static const struct field copies_rows[] = {
    M(model_copies, failed, INT32, ONE, "failedCopies", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Replicas that failed."),
    M(model_copies, total, INT32, ONE, "totalCopies", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Replicas that there are."),
};
static const struct schema schema_copies =
    SCHEMA(KSERVE("ModelCopies"), copies_rows, sizeof(struct model_copies), NULL);

static const struct field model_status_rows[] = {
    M(model_status, transition, STRING, ONE, "transitionStatus", 0,
      .doc = "UpToDate, InProgress, BlockedByFailedLoad or InvalidSpec."),
    M(model_status, states, OBJECT, ONE, "states", 0, .of = &schema_states, .doc = "States."),
    M(model_status, copies, OBJECT, ONE, "copies", 0, .of = &schema_copies, .doc = "Replicas."),
    M(model_status, last_failure, OBJECT, ONE, "lastFailureInfo", 0, .of = &schema_failure,
      .doc = "What failed last."),
};
static const struct schema schema_model_status =
    SCHEMA(KSERVE("ModelStatus"), model_status_rows, sizeof(struct model_status), NULL);

static const struct field address_rows[] = {
    M(model_address, url, STRING, ONE, "url", 0, .doc = "URL."),
};
static const struct schema schema_address =
    SCHEMA(KSERVE("Addressable"), address_rows, sizeof(struct model_address), NULL);

static const struct field traffic_rows[] = {
    M(model_traffic, revision_name, STRING, ONE, "revisionName", 0, .doc = "Deployment."),
    M(model_traffic, latest_revision, BOOL, ONE, "latestRevision", 0,
      .doc = "Whether it is the latest revision."),
    M(model_traffic, percent, INT64, ONE, "percent", 0, .flags = FIELD_F_OPT,
      .doc = "Share of requests."),
    M(model_traffic, tag, STRING, ONE, "tag", 0, .doc = "prev: the revision before."),
};
static const struct schema schema_traffic =
    SCHEMA(KSERVE("TrafficTarget"), traffic_rows, sizeof(struct model_traffic), NULL);

static const struct field predictor_status_rows[] = {
    M(predictor_status, latest_ready_revision, STRING, ONE, "latestReadyRevision", 0,
      .doc = "Newest revision that is ready."),
    M(predictor_status, latest_created_revision, STRING, ONE, "latestCreatedRevision", 0,
      .doc = "Newest revision."),
    M(predictor_status, latest_rolledout_revision, STRING, ONE, "latestRolledoutRevision", 0,
      .doc = "Newest revision that has all requests."),
    M(predictor_status, previous_rolledout_revision, STRING, ONE, "previousRolledoutRevision", 0,
      .doc = "The one before."),
    M(predictor_status, url, STRING, ONE, "url", 0, .doc = "URL of the predictor."),
    M(predictor_status, address, OBJECT, ONE, "address", 0, .of = &schema_address,
      .doc = "Address in the cluster."),
    M(predictor_status, traffic, OBJECT, LIST, "traffic", 0, .of = &schema_traffic,
      .flags = FIELD_F_ATOMIC, .doc = "Shares of the revisions."),
};
static const struct schema schema_predictor_status = SCHEMA(
    KSERVE("ComponentStatusSpec"), predictor_status_rows, sizeof(struct predictor_status), NULL);

static const struct field components_rows[] = {
    M(model_components, predictor, OBJECT, ONE, "predictor", 0, .of = &schema_predictor_status,
      .doc = "Of the predictor."),
};
static const struct schema schema_components =
    SCHEMA(KSERVE("ComponentStatuses"), components_rows, sizeof(struct model_components), NULL);

static const struct field status_rows[] = {
    M(inference_status, observed_generation, INT64, ONE, "observedGeneration", 0,
      .doc = "Generation that the status is about."),
    M(inference_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
    M(inference_status, url, STRING, ONE, "url", 0, .doc = "URL of the service."),
    M(inference_status, address, OBJECT, ONE, "address", 0, .of = &schema_address,
      .doc = "Address in the cluster."),
    M(inference_status, components, OBJECT, ONE, "components", 0, .of = &schema_components,
      .doc = "Revisions and their shares."),
    M(inference_status, deployment_mode, STRING, ONE, "deploymentMode", 0, .doc = "Standard."),
    M(inference_status, runtime, STRING, ONE, "servingRuntimeName", 0,
      .doc = "ServingRuntime that was chosen."),
    M(inference_status, cluster_runtime, STRING, ONE, "clusterServingRuntimeName", 0,
      .doc = "ClusterServingRuntime that was chosen."),
    M(inference_status, model, OBJECT, ONE, "modelStatus", 0, .of = &schema_model_status,
      .doc = "State of the model."),
};
const struct schema schema_inference_status =
    SCHEMA(KSERVE("InferenceServiceStatus"), status_rows, sizeof(struct inference_status), NULL);

static const struct field inference_service_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    M(inference_service, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(inference_service, spec, OBJECT, ONE, "spec", 0, .of = &schema_inference_service_spec,
      .flags = REQUIRED, .doc = "Desired state, set by the user."),
    M(inference_service, status, OBJECT, ONE, "status", 0, .of = &schema_inference_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_inference_service =
    SCHEMA(KSERVE("InferenceService"), inference_service_rows, sizeof(struct inference_service),
           "A model that is served, with its replicas and its address.");

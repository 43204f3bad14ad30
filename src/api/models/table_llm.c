/*
 * table_llm: the fields of KServe's LLMInferenceService, and of the Gateway API Inference Extension's InferencePool and
 * InferenceObjective.
 */
#include "api/models/pod_rows.h"
#include "api/models/view_models.h"
#include "base/limits.h"

#define KSERVE(name_) "io.kserve.serving.v1alpha1." name_
#define PART(name_, component_, doc_, ...)                                                         \
    TABLE(static, name_, KSERVE(component_), doc_, __VA_ARGS__)
#define COUNTED(json_, min_, max_, doc_)                                                           \
    F(INT32, ONE, json_, 0, .flags = FIELD_F_OPT, .min = min_, .max = max_, .doc = doc_)

/* ---- LLMInferenceService ---- */

PART(llm_adapter, "LLMAdapter", "A LoRA adapter.", MUST("uri", "Where the adapter is."),
     TEXT("name", "Name under which it is served."));
PART(llm_lora, "LoRASpec", "Adapters of the model.",
     SOME("adapters", llm_adapter, 0, "The adapters."));
PART(llm_model, "LLMModelSpec", "The model.",
     F(STRING, ONE, "uri", 0, .flags = REQUIRED, .min = 1, .max = 2048,
       .doc = "Where the model is: hf://, s3://, https://, pvc://, file://."),
     F(STRING, ONE, "name", 0, .max = 253, .doc = "Name under which it is served; the object's."),
     TEXT("criticality", "Not acted on: priorities are an InferenceObjective's."),
     ONE_OF("lora", llm_lora, 0, "Adapters; not supported."));
PART(llm_scaling, "ScalingSpec", "Bounds of the number of replicas.",
     COUNTED("minReplicas", 0, LIMIT_SET_REPLICAS, "Least replicas."),
     COUNTED("maxReplicas", 1, LIMIT_SET_REPLICAS, "Most replicas."),
     F(ANY, ONE, "keda", 0, .doc = "Settings of KEDA; not acted on."),
     F(ANY, ONE, "wva", 0, .doc = "Settings of the variant autoscaler; not acted on."));
PART(llm_parallelism, "ParallelismSpec", "How a replica is spread over GPUs.",
     COUNTED("tensor", 1, 1024, "GPUs that share each layer."),
     COUNTED("pipeline", 1, 1024, "Groups of layers; only 1 is supported."),
     COUNTED("data", 1, 1024, "Copies that share requests; only 1 is supported."),
     COUNTED("dataLocal", 1, 1024, "Copies in one pod; only 1 is supported."),
     COUNTED("dataRPCPort", 1, 65535, "Port between copies; not acted on."),
     FLAG("expert", "Whether experts are spread over the GPUs."));
PART(llm_template, "LLMPodSpec", "What is different from the runtime's pod.",
     NAMED("containers", container, "name", "main is laid over the runtime's server."),
     ROWS_OF_POD);
PART(llm_spec, "LLMInferenceServiceSpec", "A large language model that is served.",
     ONE_OF("model", llm_model, REQUIRED, "The model."),
     COUNTED("replicas", 0, LIMIT_SET_REPLICAS, "Replicas; 1 unless set."),
     ONE_OF("scaling", llm_scaling, 0, "Bounds instead of a fixed number."),
     ONE_OF("parallelism", llm_parallelism, 0, "How a replica is spread over GPUs."),
     ONE_OF("template", llm_template, 0, "What is different from the runtime's pod."),
     F(ANY, ONE, "worker", 0, .doc = "Not supported."),
     F(ANY, ONE, "prefill", 0, .doc = "Not supported."),
     F(ANY, ONE, "router", 0, .doc = "Not acted on: berth gateway routes."),
     F(ANY, LIST, "baseRefs", 0, .doc = "Not supported."),
     F(STRING, MAP, "labels", 0, .doc = "Labels of the pods."),
     F(STRING, MAP, "annotations", 0, .doc = "Annotations of the pods."));

static const struct field llm_service_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    M(inference_service, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(inference_service, spec, OBJECT, ONE, "spec", 0, .of = &schema_llm_spec, .flags = REQUIRED,
      .doc = "Desired state, set by the user."),
    M(inference_service, status, OBJECT, ONE, "status", 0, .of = &schema_inference_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_llm_service =
    SCHEMA(KSERVE("LLMInferenceService"), llm_service_rows, sizeof(struct inference_service),
           "A large language model that is served by one pool of replicas.");

/* ---- InferencePool, InferenceObjective ---- */

#define EXTENSION(name_) "io.k8s.networking.inference." name_

static const char *const failure_modes[] = {"FailOpen", "FailClose", NULL};
static const char *const protocols[] = {"http", "kubernetes.io/h2c", NULL};

TABLE(static, pool_selector, EXTENSION("v1.LabelSelector"), "Labels of the pods of the pool.",
      F(STRING, MAP, "matchLabels", 0, .flags = REQUIRED, .min = 1, .max = 64,
        .doc = "Labels that a pod must have."));
TABLE(static, pool_port, EXTENSION("v1.Port"), "A port of the pods.",
      F(INT32, ONE, "number", 0, .flags = REQUIRED, .min = 1, .max = 65535,
        .doc = "Number of the port."));
TABLE(static, picker_ref, EXTENSION("v1.EndpointPickerRef"), "A picker of endpoints.",
      TEXT("group", "Group of the picker."), TEXT("kind", "Kind; Service unless set."),
      MUST("name", "Name of the picker."), ONE_OF("port", pool_port, 0, "Its port."),
      F(STRING, ONE, "failureMode", 0, .def = "\"FailClose\"", .values = failure_modes,
        .doc = "What becomes of requests when the picker does not answer."));
TABLE(static, pool_spec, EXTENSION("v1.InferencePoolSpec"), "Which pods serve.",
      ONE_OF("selector", pool_selector, REQUIRED, "Labels of the pods."),
      F(OBJECT, LIST, "targetPorts", 0, .of = &schema_pool_port, .flags = REQUIRED | FIELD_F_ATOMIC,
        .min = 1, .max = 8, .doc = "Ports at which the pods serve."),
      F(STRING, ONE, "appProtocol", 0, .values = protocols, .doc = "http, kubernetes.io/h2c."),
      ONE_OF("endpointPickerRef", picker_ref, 0,
             "Not acted on: berth gateway chooses endpoints itself."));
TABLE(static, pool_parent, EXTENSION("v1.ParentStatus"), "What a gateway says of the pool.",
      F(ANY, ONE, "parentRef", 0, .doc = "The gateway."),
      F(STRING, ONE, "controllerName", 0, .doc = "Who says so."),
      SOME("conditions", condition, 0, "Its conditions."));
TABLE(static, pool_status, EXTENSION("v1.InferencePoolStatus"), "What gateways say of the pool.",
      SOME("parents", pool_parent, 0, "One entry per gateway."));
TABLE(, inference_pool, EXTENSION("v1.InferencePool"), "Pods that serve the same models.",
      ROWS_OF_OBJECT, ONE_OF("spec", pool_spec, REQUIRED, "Which pods serve."),
      ONE_OF("status", pool_status, 0, "Observed state, set by controllers."));

TABLE(static, pool_ref, EXTENSION("v1alpha2.PoolObjectReference"), "An InferencePool.",
      F(STRING, ONE, "group", 0, .def = "\"inference.networking.k8s.io\"", .doc = "Group."),
      F(STRING, ONE, "kind", 0, .def = "\"InferencePool\"", .doc = "Kind."),
      MUST("name", "Name of the pool."));
TABLE(static, objective_spec, EXTENSION("v1alpha2.InferenceObjectiveSpec"),
      "How important requests are.",
      F(INT32, ONE, "priority", 0, .flags = FIELD_F_OPT, .min = INT32_MIN, .max = INT32_MAX,
        .doc = "The higher one is served first; 0 unless set."),
      ONE_OF("poolRef", pool_ref, REQUIRED, "The pool that serves the requests."));
TABLE(static, objective_status, EXTENSION("v1alpha2.InferenceObjectiveStatus"), "Observed state.",
      SOME("conditions", condition, 0, "Current conditions."));
TABLE(, inference_objective, EXTENSION("v1alpha2.InferenceObjective"),
      "The priority of requests for an InferencePool.", ROWS_OF_OBJECT,
      ONE_OF("spec", objective_spec, REQUIRED, "How important requests are."),
      ONE_OF("status", objective_status, 0, "Observed state, set by controllers."));

/*
 * view_models: the C views of InferenceService and LLMInferenceService. What pods are made of stays JSON: the
 * controller lays the model's part over its runtime's and passes both on whole, also the members that no view has.
 */
#ifndef BERTH_API_VIEW_MODELS_H
#define BERTH_API_VIEW_MODELS_H

#include "api/tables/view_meta.h"

/* Of names: "isvc.NAME-predictor-canary" is the value of a label, of 63 bytes at most (core/serve/serve_names.h). */
enum { MODEL_NAME_MAX = 63 - 5 - 17 };

struct model_failure {
    struct str location, reason, message, model_revision_name;
    int64_t time_ns;
    struct opt_i32 exit_code;
};
struct model_states {
    struct str active, target; /* Pending, Standby, Loading, Loaded, FailedToLoad */
};
struct model_copies {
    int32_t failed, total;
};
struct model_status {
    struct str transition; /* UpToDate, InProgress, BlockedByFailedLoad, InvalidSpec */
    struct model_states *states;
    struct model_copies *copies;
    struct model_failure *last_failure;
};
struct model_traffic {
    struct str revision_name, tag; /* tag "prev": the revision before the latest */
    bool latest_revision;
    struct opt_i64 percent;
};
struct model_address {
    struct str url;
};
struct predictor_status {
    struct str latest_ready_revision, latest_created_revision, latest_rolledout_revision;
    struct str previous_rolledout_revision, url;
    struct model_address *address;
    struct {
        struct model_traffic *v;
        size_t n;
    } traffic;
};
struct model_components {
    struct predictor_status *predictor;
};
struct inference_status {
    int64_t observed_generation;
    struct condition_list conditions;
    struct str url, deployment_mode, runtime, cluster_runtime;
    struct model_address *address;
    struct model_components *components;
    struct model_status *model;
};
/* Of both kinds. */
struct inference_service {
    struct meta *metadata;
    yyjson_val *spec;
    struct inference_status *status;
};

extern const struct schema schema_inference_service, schema_llm_service;
extern const struct schema schema_inference_status;
extern const struct schema schema_serving_runtime;
extern const struct schema schema_inference_pool, schema_inference_objective;
extern const struct schema schema_autoscaling_spec;

#endif

/*
 * runtime_choice (core): which ServingRuntime serves a model, chosen as in KServe (v1beta1 predictor_model.go, and the
 * predictor's reconciler):
 *
 *   named      the ServingRuntime of the namespace with that name, else the ClusterServingRuntime. It must exist, not
 *              be disabled, support the format (with or without autoSelect), and speak the requested protocol, if any.
 *   not named  all that are not disabled, serve a single model, support the format with autoSelect, and speak the
 *              protocol (v1 by default). Those of the namespace come before those of the cluster. Within each: the
 *              higher priority for the format, any priority before none; then the simpler protocol (v1, v2, grpc-v1,
 *              grpc-v2, others), the newer runtime, the name.
 *
 * A format is supported by name, and by name and version if the model has a version. A runtime without a list of
 * protocols speaks all. Reasons are those of status.modelStatus.lastFailureInfo.
 */
#ifndef BERTH_CORE_SERVE_RUNTIME_CHOICE_H
#define BERTH_CORE_SERVE_RUNTIME_CHOICE_H

#include "base/arena.h"
#include "base/err.h"

struct runtime_format {
    struct str name, version; /* version empty: any */
    bool auto_select;
    int32_t priority; /* 0: none */
};

struct serving_runtime {
    struct str name;
    bool cluster, disabled, multi_model;
    int64_t created_ns;
    const struct runtime_format *formats;
    size_t n_formats;
    const struct str *protocols; /* "v1", "v2", "grpc-v2", "openai" */
    size_t n_protocols;
};

struct runtime_wish {
    struct str format, version, protocol, runtime; /* but for format each may be empty */
};

/* The chosen one's place in v. ERR_NOT_FOUND: RuntimeNotRecognized; ERR_FORBIDDEN: RuntimeDisabled; ERR_UNSUPPORTED:
 * NoSupportingRuntime; ERR_INVALID: InvalidPredictorSpec (no format). The text is for people and names what there is.
 * */
int runtime_choice(const struct serving_runtime *v, size_t n, const struct runtime_wish *w,
                   size_t *ret, struct err *err);
/* The reason for status.modelStatus.lastFailureInfo.reason of such a code; NULL for others. */
const char *runtime_choice_reason(int code);
/* Of a new runtime: two formats of the same name with the same priority cannot be told apart. ERR_INVALID. */
int runtime_choice_check(const struct serving_runtime *r, struct err *err);

#endif

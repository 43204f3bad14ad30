/* models_check: see models_check.h. */
#include "api/models/models_check.h"

#include "api/kinds/kinds.h"
#include "api/models/view_models.h"

#define SERVER "kserve-container"
#define NOTE(name_) "serving.kserve.io/" name_

/* Members that are known, and refused when they are there. */
struct refused {
    const char *name, *why;
};
static void refuse(yyjson_mut_val *v, const struct path *at, const struct refused *r, size_t n,
                   struct causes *c) {
    for (size_t i = 0; i < n; i++) {
        struct path p = path_member(at, r[i].name);
        if (json_mget(v, str_of(r[i].name)) != NULL) {
            cause_forbidden(c, &p, "%s", r[i].why);
        }
    }
}
#define ONE_NODE "a replica of several pods is not supported; a replica runs in one pod"

/* ---- names, notes, places ---- */

static void name_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path meta = path_member(NULL, "metadata"), at = path_member(&meta, "name");
    struct str name = json_mstr_at(obj, "metadata.name");
    if (old != NULL || name.n == 0) {
        return;
    }
    const char *fault = format_fault("dns1123-label", name);
    if (fault != NULL || name.p[0] < 'a' || name.p[0] > 'z' || name.n > MODEL_NAME_MAX) {
        cause_invalid(c, &at, name,
                      "must be at most %d lower case letters, digits and '-', begin with a letter "
                      "and end with a letter or digit: Services and labels are named after it",
                      MODEL_NAME_MAX);
    }
}

static void word_check(yyjson_mut_val *notes, const char *key, const char *const *values,
                       struct causes *c) {
    struct path meta = path_member(NULL, "metadata"), at = path_member(&meta, "annotations");
    struct path p = path_member(&at, key);
    yyjson_mut_val *v = json_mget(notes, str_of(key));
    bool known = v == NULL;
    for (size_t i = 0; values[i] != NULL; i++) {
        known = known || str_is(json_mstr(v), values[i]);
    }
    if (!known) {
        cause_unsupported(c, &p, json_mstr(v), values);
    }
}

static void notes_check(yyjson_mut_val *obj, struct causes *c) {
    static const char *const modes[] = {"Standard", "RawDeployment", NULL};
    static const char *const flags[] = {"true", "false", NULL};
    static const char *const scalers[] = {"hpa", "keda", "external", "none", NULL};
    yyjson_mut_val *notes = json_mpath(obj, "metadata.annotations");
    word_check(notes, NOTE("deploymentMode"), modes, c);
    word_check(notes, NOTE("stop"), flags, c);
    word_check(notes, NOTE("autoscalerClass"), scalers, c);
}

/* Where a model is. */
static void uri_check(yyjson_mut_val *of, const char *name, const struct path *at,
                      struct causes *c) {
    static const char *const schemes[] = {"hf://", "s3://", "https://", "pvc://", "file://"};
    struct str uri = json_mstr_at(of, name);
    struct path p = path_member(at, name);
    bool known = uri.n == 0;
    for (size_t i = 0; i < COUNT(schemes); i++) {
        known = known || (str_starts(uri, str_of(schemes[i])) && uri.n > strlen(schemes[i]));
    }
    if (!known) {
        cause_invalid(
            c, &p, uri,
            "must be one of hf://ORGANISATION/MODEL, s3://BUCKET/PATH, https://HOST/PATH, "
            "pvc://CLAIM/PATH, file:///PATH");
    }
}

static int64_t number(yyjson_mut_val *of, const char *name, int64_t otherwise) {
    yyjson_mut_val *v = json_mget(of, str_of(name));
    return yyjson_mut_is_int(v) ? yyjson_mut_get_sint(v) : otherwise;
}

static void bounds_check(yyjson_mut_val *of, const struct path *at, struct causes *c) {
    struct path p = path_member(at, "minReplicas");
    int64_t min = number(of, "minReplicas", 1), max = number(of, "maxReplicas", 0);
    if (max > 0 && min > max && json_mget(of, STR("minReplicas")) != NULL) {
        cause_invalid_json(c, &p, json_mget(of, STR("minReplicas")),
                           "must be less than or equal to maxReplicas (%lld)", (long long)max);
    }
}

/* ---- InferenceService ---- */

static void server_check(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    struct path p = path_member(at, "containers");
    if (yyjson_mut_arr_size(list) > 1 && json_mfind(list, "name", STR(SERVER)) == NULL) {
        cause_required(c, &p, "of several containers one is named " SERVER);
    }
}

static void model_check(yyjson_mut_val *model, const struct path *at, struct causes *c) {
    static const struct refused fields[] = {
        {"storage", "is not supported; use storageUri, and a Secret of the ServiceAccount"}};
    if (model == NULL) {
        return;
    }
    refuse(model, at, fields, COUNT(fields), c);
    uri_check(model, "storageUri", at, c);
    pod_refuse_container(model, at, c);
}

void inference_service_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const struct refused parts[] = {
        {"transformer", "is not supported; serve it as an InferenceService of its own"},
        {"explainer", "is not supported; serve it as an InferenceService of its own"}};
    static const struct refused fields[] = {{"workerSpec", ONE_NODE},
                                            {"logger", "is not supported"},
                                            {"batcher", "is not supported: model servers batch"}};
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "predictor");
    struct path model_at = path_member(&at, "model");
    yyjson_mut_val *predictor = json_mpath(obj, "spec.predictor");
    yyjson_mut_val *model = json_mget(predictor, STR("model"));
    yyjson_mut_val *own = json_mget(predictor, STR("containers"));
    name_check(obj, old, c);
    notes_check(obj, c);
    refuse(json_mget(obj, STR("spec")), &spec, parts, COUNT(parts), c);
    refuse(predictor, &at, fields, COUNT(fields), c);
    if (predictor != NULL && (model == NULL) == (yyjson_mut_arr_size(own) == 0)) {
        cause_invalid_json(c, &at, NULL, "exactly one of model and containers must be set");
    }
    model_check(model, &model_at, c);
    server_check(own, &at, c);
    bounds_check(predictor, &at, c);
    pod_spec_check(predictor, &at, c);
    pod_refuse(predictor, &at, c);
}

/* ---- ServingRuntime ---- */

static void formats_check(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, x) {
        struct path item = path_index(at, i), p = path_member(&item, "priority");
        EACH(list, k, y) {
            yyjson_mut_val *priority = json_mget(y, STR("priority"));
            bool same = k < i && priority != NULL &&
                        str_eq(json_mstr_at(x, "name"), json_mstr_at(y, "name")) &&
                        str_eq(json_mstr_at(x, "version"), json_mstr_at(y, "version")) &&
                        number(x, "priority", 0) == number(y, "priority", 0);
            if (same) {
                cause_invalid_json(c, &p, json_mget(x, STR("priority")),
                                   "format %.*s has the same priority twice",
                                   STR_ARG(json_mstr_at(x, "name")));
            }
        }
    }
}

void serving_runtime_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const struct refused fields[] = {{"workerSpec", ONE_NODE}};
    struct path at = path_member(NULL, "spec"), list = path_member(&at, "containers");
    struct path formats = path_member(&at, "supportedModelFormats");
    struct path many = path_member(&at, "multiModel");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *containers = json_mget(spec, STR("containers"));
    (void)old;
    refuse(spec, &at, fields, COUNT(fields), c);
    if (yyjson_mut_is_true(json_mget(spec, STR("multiModel")))) {
        cause_forbidden(c, &many, "a server of several models is not supported");
    }
    if (yyjson_mut_arr_size(containers) > 0 &&
        json_mfind(containers, "name", STR(SERVER)) == NULL) {
        cause_required(c, &list, "the model server is the container named " SERVER);
    }
    if (check_size(json_mget(spec, STR("supportedModelFormats")), &formats, c)) {
        formats_check(json_mget(spec, STR("supportedModelFormats")), &formats, c);
    }
    pod_spec_check(spec, &at, c);
    pod_refuse(spec, &at, c);
}

/* ---- LLMInferenceService ---- */

static void parallelism_check(yyjson_mut_val *v, const struct path *at, struct causes *c) {
    static const char *const names[] = {"pipeline", "data", "dataLocal"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct path p = path_member(at, names[i]);
        if (number(v, names[i], 1) > 1) {
            cause_invalid_json(c, &p, json_mget(v, str_of(names[i])), "must be 1: " ONE_NODE);
        }
    }
}

void llm_service_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const struct refused fields[] = {
        {"worker", ONE_NODE},
        {"prefill", "is not supported: prompts are read where answers are made"},
        {"baseRefs", "is not supported; use a ServingRuntime for what services share"}};
    static const struct refused parts[] = {
        {"lora", "is not supported; give the adapters in the arguments of container main"}};
    struct path at = path_member(NULL, "spec"), model_at = path_member(&at, "model");
    struct path scaling = path_member(&at, "scaling"), template = path_member(&at, "template");
    struct path parallelism = path_member(&at, "parallelism");
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *pod = json_mget(spec, STR("template"));
    name_check(obj, old, c);
    notes_check(obj, c);
    refuse(spec, &at, fields, COUNT(fields), c);
    refuse(json_mget(spec, STR("model")), &model_at, parts, COUNT(parts), c);
    uri_check(json_mget(spec, STR("model")), "uri", &model_at, c);
    if (json_mget(spec, STR("scaling")) != NULL && json_mget(spec, STR("replicas")) != NULL) {
        cause_forbidden(c, &scaling, "may not be set together with replicas");
    }
    bounds_check(json_mget(spec, STR("scaling")), &scaling, c);
    parallelism_check(json_mget(spec, STR("parallelism")), &parallelism, c);
    if (yyjson_mut_arr_size(json_mget(pod, STR("containers"))) > 0 &&
        json_mfind(json_mget(pod, STR("containers")), "name", STR("main")) == NULL) {
        struct path list = path_member(&template, "containers");
        cause_required(c, &list, "the model server is the container named main");
    }
    if (pod != NULL) {
        pod_refuse(pod, &template,
                   c); /* it is half a pod: the whole is checked with the Deployment */
    }
}

/* ---- InferencePool ---- */

void inference_pool_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "targetPorts");
    yyjson_mut_val *ports = json_mpath(obj, "spec.targetPorts");
    (void)old;
    if (!check_size(ports, &at, c)) {
        return;
    }
    EACH(ports, i, x) {
        struct path item = path_index(&at, i), p = path_member(&item, "number");
        EACH(ports, k, y) {
            if (k < i && number(x, "number", 0) == number(y, "number", -1)) {
                cause_invalid_json(c, &p, json_mget(x, STR("number")), "stands there twice");
            }
        }
    }
}

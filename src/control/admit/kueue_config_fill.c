/* kueue_config_fill: from a valid Configuration to settings, and warnings for what has no effect by its value. */
#include "control/admit/kueue_config_private.h"

#include "base/clock.h"
#include "control/load/integration.h"
#include "core/admit/engine.h"
#include "wire/text/time.h"

static const int64_t OLD_READY_TIMEOUT_NS = 300 * NS_PER_SEC; /* v1beta1's default */

static int64_t duration_at(yyjson_val *v, const char *path, int64_t otherwise) {
    int64_t ns;
    struct str text = json_str_at(v, path);
    return text.n > 0 && duration_parse(text, &ns, NULL) == 0 ? ns : otherwise;
}

static struct quantity quantity_at(yyjson_val *v) {
    struct quantity q = {0};
    char text[32];
    if (yyjson_is_num(v)) {
        (void)snprintf(text, sizeof(text), "%.9g", yyjson_get_num(v));
        (void)quantity_parse(str_of(text), &q, NULL);
    } else {
        (void)quantity_parse(json_str(v), &q, NULL);
    }
    return q;
}

static const struct str *texts(struct config_reader *r, yyjson_val *list, size_t *ret_n) {
    size_t n = yyjson_get_len(list);
    struct str *v = ARENA_ARRAY(&r->c->arena, struct str, n);
    *ret_n = v != NULL ? n : 0;
    CONFIG_EACH(list, i, e) {
        if (v != NULL) {
            v[i] = json_str(e);
        }
    }
    return v;
}

static const struct selector *selector_of(struct config_reader *r, yyjson_val *v) {
    struct selector *s = ARENA_NEW(&r->c->arena, struct selector);
    return s != NULL && selector_from_json(&r->c->arena, v, s, NULL) == 0 ? s : NULL;
}

/* All namespaces but those of the cluster's and of Berth's own programs. */
static const struct selector *all_but_system(struct config_reader *r) {
    struct selector *s = ARENA_NEW(&r->c->arena, struct selector);
    struct str text = arena_f(&r->c->arena, "kubernetes.io/metadata.name notin (kube-system,%.*s)",
                              STR_ARG(r->namespace));
    return s != NULL && selector_parse(&r->c->arena, text, s, NULL) == 0 ? s : NULL;
}

/* ---- sections ---- */

static void jobs(struct config_reader *r, yyjson_val *root, struct queue_settings *s) {
    yyjson_val *given = json_path(root, "managedJobsNamespaceSelector");
    s->manage_jobs_without_queue_name = json_bool_at(root, "manageJobsWithoutQueueName", false);
    s->managed_namespaces = yyjson_is_obj(given) ? selector_of(r, given) : all_but_system(r);
    s->label_keys_to_copy =
        texts(r, json_path(root, "integrations.labelKeysToCopy"), &s->n_label_keys_to_copy);
    yyjson_val *list = json_path(root, "integrations.frameworks");
    s->frameworks = texts(r, list, &s->n_frameworks);
    CONFIG_EACH(list, i, e) {
        if (integration_by_name(json_str(e)) == NULL) {
            config_warn(r,
                        "integrations.frameworks[%zu]: \"%.*s\" has no effect: Berth does not "
                        "queue it",
                        i, STR_ARG(json_str(e)));
        }
    }
}

static void ready(struct config_reader *r, yyjson_val *root, struct queue_settings *s) {
    yyjson_val *w = json_path(root, "waitForPodsReady");
    struct queue_ready_settings *x = &s->ready;
    bool block = false;
    if (!yyjson_is_obj(w)) {
        return;
    }
    if (r->old) { /* there it was off unless it was enabled, and then blocked admission unless told not to */
        x->on = x->on && json_bool_at(w, "enable", false);
        x->timeout_ns = OLD_READY_TIMEOUT_NS;
        block = x->on;
    }
    x->timeout_ns = duration_at(w, "timeout", x->timeout_ns);
    x->recovery_timeout_ns = duration_at(w, "recoveryTimeout", x->timeout_ns);
    x->block_admission = json_bool_at(w, "blockAdmission", block);
    yyjson_val *q = json_path(w, "requeuingStrategy");
    x->by_creation = str_is(json_str_at(q, "timestamp"), "Creation");
    x->backoff_limit = (int32_t)json_i64_at(q, "backoffLimitCount", x->backoff_limit);
    x->backoff_base_s = (int32_t)json_i64_at(q, "backoffBaseSeconds", x->backoff_base_s);
    x->backoff_max_s = (int32_t)json_i64_at(q, "backoffMaxSeconds", x->backoff_max_s);
}

static void sharing(struct config_reader *r, yyjson_val *root, struct queue_settings *s) {
    yyjson_val *f = json_path(root, "fairSharing");
    s->fair_sharing = yyjson_is_obj(f) && (!r->old || json_bool_at(f, "enable", false));
    CONFIG_EACH(json_path(f, "preemptionStrategies"), i, e) {
        s->fair_strategies |=
            str_is(json_str(e), "LessThanInitialShare") ? FAIR_INITIAL_SHARE : FAIR_FINAL_SHARE;
    }
}

static void usage(struct config_reader *r, yyjson_val *root, struct queue_settings *s) {
    yyjson_val *u = json_path(root, "admissionFairSharing");
    yyjson_val *weights = json_path(u, "resourceWeights");
    if (!yyjson_is_obj(u)) {
        return;
    }
    s->usage.on = json_bool_at(json_path(root, "featureGates"), "AdmissionFairSharing", true);
    s->usage.half_life_ns = duration_at(u, "usageHalfLifeTime", 0);
    s->usage.sampling_interval_ns =
        duration_at(u, "usageSamplingInterval", s->usage.sampling_interval_ns);
    struct queue_weight *v =
        ARENA_ARRAY(&r->c->arena, struct queue_weight, yyjson_get_len(weights));
    CONFIG_MEMBERS(weights, k) {
        if (v != NULL) {
            v[s->usage.n_weights++] =
                (struct queue_weight){json_str(k), yyjson_get_num(yyjson_obj_iter_get_val(k))};
        }
    }
    s->usage.weights = v;
}

static void transformation(struct config_reader *r, yyjson_val *e,
                           struct queue_transformation *ret) {
    yyjson_val *outputs = json_path(e, "outputs");
    struct queue_transformation_output *v =
        ARENA_ARRAY(&r->c->arena, struct queue_transformation_output, yyjson_get_len(outputs));
    *ret = (struct queue_transformation){
        .input = json_str_at(e, "input"),
        .replace = str_is(json_str_at(e, "strategy"), "Replace"),
        .multiply_by = json_str_at(e, "multiplyBy"),
        .outputs = v,
    };
    CONFIG_MEMBERS(outputs, k) {
        if (v != NULL) {
            v[ret->n_outputs++] = (struct queue_transformation_output){
                json_str(k), quantity_at(yyjson_obj_iter_get_val(k))};
        }
    }
}

static void device_classes(struct config_reader *r, yyjson_val *list,
                           struct queue_resource_settings *x) {
    struct queue_device_mapping *v =
        ARENA_ARRAY(&r->c->arena, struct queue_device_mapping, yyjson_get_len(list));
    CONFIG_EACH(list, i, e) {
        if (v != NULL) {
            struct queue_device_mapping *m = &v[x->n_devices++];
            m->resource = json_str_at(e, "name");
            m->classes = texts(r, json_path(e, "deviceClassNames"), &m->n_classes);
        }
    }
    x->devices = v;
}

static void resources(struct config_reader *r, yyjson_val *root, struct queue_settings *s) {
    struct queue_resource_settings *x = &s->resources;
    yyjson_val *list = json_path(root, "resources.transformations");
    x->exclude_prefixes =
        texts(r, json_path(root, "resources.excludeResourcePrefixes"), &x->n_exclude_prefixes);
    x->ignore_undeclared =
        str_is(json_str_at(root, "resources.quotaCheckStrategy"), "IgnoreUndeclared") &&
        s->gates.quota_check_strategy;
    struct queue_transformation *v =
        ARENA_ARRAY(&r->c->arena, struct queue_transformation, yyjson_get_len(list));
    CONFIG_EACH(list, i, e) {
        if (v != NULL) {
            transformation(r, e, &v[x->n_transformations++]);
        }
    }
    x->transformations = v;
    device_classes(r, json_path(root, "resources.deviceClassMappings"), x);
}

static void observability(struct config_reader *r, yyjson_val *root, struct queue_settings *s) {
    yyjson_val *m = json_path(root, "metrics");
    yyjson_val *selector = json_path(m, "localQueueMetrics.localQueueSelector");
    s->metrics.cluster_queue_resources = json_bool_at(m, "enableClusterQueueResources", false);
    s->metrics.local_queues =
        json_bool_at(m, "localQueueMetrics.enable", true) && s->gates.local_queue_metrics;
    if (yyjson_is_obj(selector)) {
        s->metrics.local_queue_selector = selector_of(r, selector);
    }
}

int config_fill(struct config_reader *r, yyjson_val *root) {
    struct queue_settings *s = &r->c->settings;
    yyjson_val *keep = json_path(root, "objectRetentionPolicies.workloads");
    yyjson_val *ours = json_path(root, "metadata.annotations");
    jobs(r, root, s);
    ready(r, root, s);
    sharing(r, root, s);
    usage(r, root, s);
    resources(r, root, s);
    observability(r, root, s);
    s->keep_finished_ns = duration_at(keep, "afterFinished", -1);
    s->keep_deactivated_ns = duration_at(keep, "afterDeactivatedByKueue", -1);
    struct str alternation = json_str(json_get(ours, STR("berth.dev/break-alternation")));
    if (alternation.n > 0 && !str_is(alternation, "true") && !str_is(alternation, "false")) {
        return config_fault(r, "metadata.annotations[berth.dev/break-alternation]",
                            "expected \"true\" or \"false\"");
    }
    s->break_alternation = str_is(alternation, "true");
    return 0;
}

/* kueue_config_rules: what Kueue checks of its Configuration beyond shapes: values against one another. */
#include "control/admit/kueue_config_private.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "api/frameworks.h"
#include "wire/text/time.h"

enum { PATH_BYTES = 160, SHOWN = 64, LABELS_PER_KIND = 6, LABELS_OF_WORKLOADS = 2 };

/* ---- namespaces ---- */

static bool selector_takes(struct config_reader *r, yyjson_val *selector, struct str ns) {
    struct selector s;
    struct str_pair pair = {STR("kubernetes.io/metadata.name"), ns};
    struct str_map labels = {&pair, 1};
    return selector_from_json(&r->c->arena, selector, &s, NULL) == 0 &&
           selector_matches(&s, &labels);
}

static int namespaces(struct config_reader *r, yyjson_val *root) {
    const char *path = "managedJobsNamespaceSelector";
    yyjson_val *s = json_path(root, path);
    r->namespace = json_str_at(root, "namespace");
    r->has_namespace = r->namespace.n > 0;
    r->namespace = r->has_namespace ? r->namespace : STR("kueue-system");
    if (!yyjson_is_obj(s)) {
        return 0;
    }
    if (selector_takes(r, s, STR("kube-system"))) {
        return config_fault(r, path, "should not match the \"kube-system\" namespace");
    }
    return selector_takes(r, s, r->namespace)
               ? config_fault(r, path, "should not match the \"%.*s\" namespace",
                              STR_ARG(r->namespace))
               : 0;
}

/* ---- metrics.customLabels ---- */

static bool label_name_fits(struct str s) {
    bool fits = s.n > 0 && s.n <= SHOWN;
    for (size_t i = 0; i < s.n && fits; i++) {
        char ch = s.p[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
        fits = letter || (i > 0 && (ch == '_' || (ch >= '0' && ch <= '9')));
    }
    return fits;
}

/* The first text that stands twice in a list; empty when none does. */
static struct str twice(yyjson_val *list) {
    CONFIG_EACH(list, i, a) {
        CONFIG_EACH(list, k, b) {
            if (k < i && str_eq(json_str(a), json_str(b))) {
                return json_str(a);
            }
        }
    }
    return (struct str){0};
}

static int custom_label(struct config_reader *r, yyjson_val *list, yyjson_val *e, size_t at,
                        const char *path) {
    char below[PATH_BYTES + 16];
    struct str name = json_str_at(e, "name"), kind = json_str_at(e, "sourceKind");
    kind = kind.n > 0 ? kind : STR("ClusterQueue");
    bool workload = str_is(kind, "Workload");
    yyjson_val *tracked = json_path(e, "trackedValues");
    size_t n = yyjson_get_len(tracked), alike = 0;
    (void)snprintf(below, sizeof(below), "%s.name", path);
    if (!label_name_fits(name)) {
        return config_fault(r, below, "must match ^[a-zA-Z][a-zA-Z0-9_]*$");
    }
    CONFIG_EACH(list, i, other) {
        struct str k = json_str_at(other, "sourceKind");
        if (i < at && str_eq(name, json_str_at(other, "name"))) {
            return config_fault(r, below, "stands twice");
        }
        alike += i <= at && str_eq(kind, k.n > 0 ? k : STR("ClusterQueue"));
    }
    if (alike > (workload ? LABELS_OF_WORKLOADS : LABELS_PER_KIND)) {
        return config_fault(r, path, "at most %d labels of %.*s",
                            workload ? LABELS_OF_WORKLOADS : LABELS_PER_KIND, STR_ARG(kind));
    }
    if (json_str_at(e, "sourceLabelKey").n > 0 && json_str_at(e, "sourceAnnotationKey").n > 0) {
        return config_fault(r, path, "only one of sourceLabelKey and sourceAnnotationKey");
    }
    (void)snprintf(below, sizeof(below), "%s.trackedValues", path);
    if (workload && (n < 1 || n > 12)) {
        return config_fault(r, below, "expected 1 to 12 values for Workload, not %zu", n);
    }
    return twice(tracked).n > 0 ? config_fault(r, below, "\"%.*s\" stands twice",
                                               STR_ARG(str_head(twice(tracked), SHOWN)))
                                : 0;
}

static int custom_labels(struct config_reader *r, yyjson_val *root) {
    yyjson_val *list = json_path(root, "metrics.customLabels");
    CONFIG_EACH(list, i, e) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof(path), "metrics.customLabels[%zu]", i);
        int code = custom_label(r, list, e, i, path);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

/* ---- addresses and certificates ---- */

static int transport(struct config_reader *r, yyjson_val *root) {
    struct str ip = json_str_at(root, "visibilityServer.bindAddress");
    char text[INET6_ADDRSTRLEN + 1], raw[16];
    if (str_is(json_str_at(root, "tls.minVersion"), "VersionTLS13") &&
        yyjson_get_len(json_path(root, "tls.cipherSuites")) > 0) {
        return config_fault(r, "tls.cipherSuites", "may not be set with minVersion VersionTLS13");
    }
    CONFIG_EACH(json_path(root, "tls.cipherSuites"), i, e) {
        if (!str_starts(json_str(e), STR("TLS_"))) {
            char path[PATH_BYTES];
            (void)snprintf(path, sizeof(path), "tls.cipherSuites[%zu]", i);
            return config_fault(r, path, "expected the name of a cipher suite, TLS_...");
        }
    }
    if (ip.n == 0) {
        return 0;
    }
    bool fits = str_copy(ip, text, sizeof(text)) &&
                (inet_pton(AF_INET, text, raw) == 1 || inet_pton(AF_INET6, text, raw) == 1);
    return fits ? 0 : config_fault(r, "visibilityServer.bindAddress", "expected an IP address");
}

/* ---- integrations ---- */

/* Kind.version.group: two dots at least, none of the first two parts empty. */
static bool kind_arg(struct str s) {
    size_t dots = 0, part = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && dots < 2) {
            if (part == 0) {
                return false;
            }
            dots++;
            part = 0;
        } else {
            part++;
        }
    }
    return dots == 2;
}

/* Kueue knows it; Berth does not queue it. */
static const struct framework spark = {.name = "sparkoperator.k8s.io/sparkapplication",
                                       .long_name =
                                           "SparkApplication.v1beta2.sparkoperator.k8s.io"};

static const struct framework *framework_of(struct str name, bool by_kind) {
    for (size_t i = 0; i <= FRAMEWORKS; i++) {
        const struct framework *f = i < FRAMEWORKS ? &frameworks[i] : &spark;
        if (str_is(name, by_kind ? f->long_name : f->name)) {
            return f;
        }
    }
    return NULL;
}

static bool listed(yyjson_val *list, const char *name, size_t before) {
    CONFIG_EACH(list, i, e) {
        if (i < before && str_is(json_str(e), name)) {
            return true;
        }
    }
    return false;
}

static int framework_lists(struct config_reader *r, yyjson_val *root) {
    yyjson_val *list = json_path(root, "integrations.frameworks");
    yyjson_val *outside = json_path(root, "integrations.externalFrameworks");
    char path[PATH_BYTES];
    CONFIG_EACH(list, i, e) {
        const struct framework *f = framework_of(json_str(e), false);
        (void)snprintf(path, sizeof(path), "integrations.frameworks[%zu]", i);
        if (f == NULL) {
            return config_fault(r, path, "\"%.*s\" is not a known framework",
                                STR_ARG(str_head(json_str(e), SHOWN)));
        }
        if (listed(list, f->name, i)) {
            return config_fault(r, path, "\"%s\" stands twice", f->name);
        }
    }
    CONFIG_EACH(outside, k, x) {
        const struct framework *f = framework_of(json_str(x), true);
        (void)snprintf(path, sizeof(path), "integrations.externalFrameworks[%zu]", k);
        if (!kind_arg(json_str(x))) {
            return config_fault(r, path, "expected Kind.version.group");
        }
        if (f != NULL && listed(list, f->name, SIZE_MAX)) {
            return config_fault(r, path, "is already in integrations.frameworks as \"%s\"",
                                f->name);
        }
    }
    return twice(outside).n > 0
               ? config_fault(r, "integrations.externalFrameworks", "\"%.*s\" stands twice",
                              STR_ARG(str_head(twice(outside), SHOWN)))
               : 0;
}

#define DISPATCHER "kueue.x-k8s.io/multikueue-dispatcher-"

static int multikueue(struct config_reader *r, yyjson_val *root) {
    yyjson_val *m = json_path(root, "multiKueue");
    yyjson_val *list = json_path(m, "externalFrameworks");
    char path[PATH_BYTES];
    if (json_path(m, "incrementalDispatcherConfig") != NULL &&
        !str_is(json_str_at(m, "dispatcherName"), DISPATCHER "incremental")) {
        return config_fault(r, "multiKueue.incrementalDispatcherConfig",
                            "needs dispatcherName " DISPATCHER "incremental");
    }
    CONFIG_EACH(list, i, e) {
        struct str name = json_str_at(e, "name");
        (void)snprintf(path, sizeof(path), "multiKueue.externalFrameworks[%zu].name", i);
        if (!kind_arg(name)) {
            return config_fault(r, path, "expected Kind.version.group");
        }
        if (framework_of(name, true) != NULL) {
            return config_fault(r, path, "\"%.*s\" is built in", STR_ARG(str_head(name, SHOWN)));
        }
        CONFIG_EACH(list, k, other) {
            if (k < i && str_eq(name, json_str_at(other, "name"))) {
                return config_fault(r, path, "\"%.*s\" stands twice",
                                    STR_ARG(str_head(name, SHOWN)));
            }
        }
    }
    if (json_path(m, "clusterProfile.accessProviders") != NULL &&
        json_path(m, "clusterProfile.credentialsProviders") != NULL) {
        return config_fault(r, "multiKueue.clusterProfile",
                            "only one of accessProviders and credentialsProviders");
    }
    return 0;
}

/* ---- fair sharing ---- */

static int fair_sharing(struct config_reader *r, yyjson_val *root) {
    yyjson_val *f = json_path(root, "fairSharing");
    yyjson_val *list = json_path(f, "preemptionStrategies");
    const char *path = "fairSharing.preemptionStrategies";
    if (!yyjson_is_obj(f)) {
        return 0;
    }
    if (yyjson_get_len(list) == 0) {
        return r->old ? 0 : config_fault(r, path, "required");
    }
    if (yyjson_get_len(list) == 2 &&
        !str_is(json_str(yyjson_arr_get_first(list)), "LessThanOrEqualToFinalShare")) {
        return config_fault(r, path,
                            "of two, LessThanOrEqualToFinalShare comes first and "
                            "LessThanInitialShare second");
    }
    return twice(list).n > 0 ? config_fault(r, path, "\"%.*s\" stands twice", STR_ARG(twice(list)))
                             : 0;
}

/* ---- resources ---- */

static int device_classes(struct config_reader *r, yyjson_val *list) {
    char path[PATH_BYTES];
    CONFIG_EACH(list, i, e) {
        yyjson_val *classes = json_path(e, "deviceClassNames");
        (void)snprintf(path, sizeof(path), "resources.deviceClassMappings[%zu]", i);
        if (twice(classes).n > 0) {
            return config_fault(r, path, "device class \"%.*s\" stands twice",
                                STR_ARG(str_head(twice(classes), SHOWN)));
        }
        CONFIG_EACH(list, k, other) {
            if (k < i && str_eq(json_str_at(e, "name"), json_str_at(other, "name"))) {
                return config_fault(r, path, "name \"%.*s\" stands twice",
                                    STR_ARG(str_head(json_str_at(e, "name"), SHOWN)));
            }
        }
    }
    return 0;
}

static int resources(struct config_reader *r, yyjson_val *root) {
    yyjson_val *list = json_path(root, "resources.transformations");
    char path[PATH_BYTES];
    CONFIG_EACH(list, i, e) {
        CONFIG_EACH(list, k, other) {
            if (k < i && str_eq(json_str_at(e, "input"), json_str_at(other, "input"))) {
                (void)snprintf(path, sizeof(path), "resources.transformations[%zu].input", i);
                return config_fault(r, path, "\"%.*s\" stands twice",
                                    STR_ARG(str_head(json_str_at(e, "input"), SHOWN)));
            }
        }
    }
    if (str_is(json_str_at(root, "resources.quotaCheckStrategy"), "IgnoreUndeclared") &&
        yyjson_get_len(json_path(root, "resources.excludeResourcePrefixes")) > 0) {
        return config_fault(r, "resources.quotaCheckStrategy",
                            "IgnoreUndeclared may not be set with excludeResourcePrefixes");
    }
    return device_classes(r, json_path(root, "resources.deviceClassMappings"));
}

/* ---- single values ---- */

static int durations(struct config_reader *r, yyjson_val *root) {
    static const char *const paths[] = {
        "leaderElection.leaseDuration",
        "leaderElection.renewDeadline",
        "leaderElection.retryPeriod",
        "controller.cacheSyncTimeout",
        "waitForPodsReady.timeout",
        "waitForPodsReady.recoveryTimeout",
        "multiKueue.gcInterval",
        "multiKueue.workerLostTimeout",
        "admissionFairSharing.usageHalfLifeTime",
        "objectRetentionPolicies.workloads.afterFinished",
        "objectRetentionPolicies.workloads.afterDeactivatedByKueue",
    };
    const char *path = "admissionFairSharing.usageSamplingInterval";
    int64_t ns;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (duration_parse(json_str_at(root, paths[i]), &ns, NULL) == 0 && ns < 0) {
            return config_fault(r, paths[i], "must be greater than or equal to 0");
        }
    }
    return duration_parse(json_str_at(root, path), &ns, NULL) == 0 && ns <= 0
               ? config_fault(r, path, "must be greater than 0")
               : 0;
}

static int numbers(struct config_reader *r, yyjson_val *root) {
    char path[PATH_BYTES];
    yyjson_val *qps = json_path(root, "clientConnection.qps");
    if (qps != NULL && yyjson_get_num(qps) < -1) {
        return config_fault(r, "clientConnection.qps", "must be greater than or equal to -1");
    }
    CONFIG_MEMBERS(json_path(root, "admissionFairSharing.resourceWeights"), k) {
        if (yyjson_get_num(yyjson_obj_iter_get_val(k)) < 0) {
            (void)snprintf(path, sizeof(path), "admissionFairSharing.resourceWeights[%.*s]",
                           STR_ARG(str_head(json_str(k), SHOWN)));
            return config_fault(r, path, "must be greater than or equal to 0");
        }
    }
    return 0;
}

static int selectors(struct config_reader *r, yyjson_val *root) {
    static const char *const paths[] = {
        "managedJobsNamespaceSelector",
        "metrics.localQueueMetrics.localQueueSelector",
        "integrations.podOptions.namespaceSelector",
        "integrations.podOptions.podSelector",
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct selector s;
        struct err why = {0};
        yyjson_val *v = json_path(root, paths[i]);
        int code = v != NULL ? selector_from_json(&r->c->arena, v, &s, &why) : 0;
        if (code != 0) {
            return code == ERR_NOMEM ? err_set(r->err, ERR_NOMEM, "out of memory")
                                     : config_fault(r, paths[i], "%.300s", why.text);
        }
    }
    return 0;
}

int config_rules(struct config_reader *r, yyjson_val *root) {
    int (*const rules[])(struct config_reader *, yyjson_val *) = {
        durations, numbers,         selectors,  namespaces,   custom_labels,
        transport, framework_lists, multikueue, fair_sharing, resources,
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        int code = rules[i](r, root);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

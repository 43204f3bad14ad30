/* webhooks: see webhooks.h. */
#include "api/webhooks.h"

#define C WEBHOOK_CREATE
#define CU (WEBHOOK_CREATE | WEBHOOK_UPDATE)

#define MUTATE(name_, group_, dashed_, version_, kind_, plural_, ops_)                             \
    {                                                                                              \
        .name = "m" name_ ".berth.dev", .path = "/mutate-" dashed_ "-" version_ "-" kind_,         \
        .group = group_, .version = version_, .plural = plural_, .mutating = true, .ops = ops_     \
    }
#define VALIDATE(name_, group_, dashed_, version_, kind_, plural_)                                 \
    {                                                                                              \
        .name = "v" name_ ".berth.dev", .path = "/validate-" dashed_ "-" version_ "-" kind_,       \
        .group = group_, .version = version_, .plural = plural_, .ops = CU                         \
    }
#define BOTH(group_, dashed_, version_, kind_, plural_, ops_)                                      \
    MUTATE(kind_, group_, dashed_, version_, kind_, plural_, ops_),                                \
        VALIDATE(kind_, group_, dashed_, version_, kind_, plural_)

#define QUEUE_MUTATE(kind_, plural_)                                                               \
    {                                                                                              \
        .name = "m" kind_ ".berth.dev", .path = "/mutate-kueue-x-k8s-io-v1beta2-" kind_,           \
        .group = "kueue.x-k8s.io", .version = "v1beta2", .plural = plural_, .mutating = true,      \
        .own_kind = true, .ops = C                                                                 \
    }
#define QUEUE_VALIDATE(kind_, plural_, status_)                                                    \
    {                                                                                              \
        .name = "v" kind_ ".berth.dev", .path = "/validate-kueue-x-k8s-io-v1beta2-" kind_,         \
        .group = "kueue.x-k8s.io", .version = "v1beta2", .plural = plural_, .status = status_,     \
        .own_kind = true, .ops = CU                                                                \
    }

static const struct webhook rows[] = {
    QUEUE_MUTATE("clusterqueue", "clusterqueues"),
    QUEUE_MUTATE("resourceflavor", "resourceflavors"),
    QUEUE_MUTATE("workload", "workloads"),
    QUEUE_VALIDATE("clusterqueue", "clusterqueues", false),
    QUEUE_VALIDATE("cohort", "cohorts", false),
    QUEUE_VALIDATE("localqueue", "localqueues", false),
    QUEUE_VALIDATE("resourceflavor", "resourceflavors", false),
    QUEUE_VALIDATE("workload", "workloads", true),
    QUEUE_VALIDATE("workloadpriorityclass", "workloadpriorityclasses", false),
    QUEUE_VALIDATE("admissioncheck", "admissionchecks", false),
    QUEUE_VALIDATE("topology", "topologies", false),
    BOTH("", "", "v1", "pod", "pods", C),
    BOTH("apps", "apps", "v1", "deployment", "deployments", CU),
    BOTH("apps", "apps", "v1", "statefulset", "statefulsets", CU),
    BOTH("batch", "batch", "v1", "job", "jobs", C),
    BOTH("jobset.x-k8s.io", "jobset-x-k8s-io", "v1alpha2", "jobset", "jobsets", C),
    BOTH("leaderworkerset.x-k8s.io", "leaderworkerset-x-k8s-io", "v1", "leaderworkerset",
         "leaderworkersets", CU),
    BOTH("kubeflow.org", "kubeflow-org", "v1", "jaxjob", "jaxjobs", C),
    BOTH("kubeflow.org", "kubeflow-org", "v2beta1", "mpijob", "mpijobs", C),
    BOTH("kubeflow.org", "kubeflow-org", "v1", "notebook", "notebooks", C),
    BOTH("kubeflow.org", "kubeflow-org", "v1", "paddlejob", "paddlejobs", C),
    BOTH("kubeflow.org", "kubeflow-org", "v1", "pytorchjob", "pytorchjobs", C),
    BOTH("kubeflow.org", "kubeflow-org", "v1", "tfjob", "tfjobs", C),
    BOTH("kubeflow.org", "kubeflow-org", "v1", "xgboostjob", "xgboostjobs", C),
    BOTH("ray.io", "ray-io", "v1", "raycluster", "rayclusters", C),
    BOTH("ray.io", "ray-io", "v1", "rayjob", "rayjobs", C),
    BOTH("ray.io", "ray-io", "v1", "rayservice", "rayservices", C),
    BOTH("trainer.kubeflow.org", "trainer-kubeflow-org", "v1alpha1", "trainjob", "trainjobs", C),
    BOTH("workload.codeflare.dev", "workload-codeflare-dev", "v1beta2", "appwrapper", "appwrappers",
         C),
};

const struct webhook *webhooks_all(size_t *ret_n) {
    *ret_n = sizeof(rows) / sizeof(rows[0]);
    return rows;
}

const struct webhook *webhook_by_path(struct str path) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_is(path, rows[i].path)) {
            return &rows[i];
        }
    }
    return NULL;
}

static void write_rule(const struct webhook *w, struct buf *out) {
    static const char *const names[] = {"CREATE", "UPDATE", "DELETE"};
    buf_f(out,
          "  rules:\n"
          "  - apiGroups: [\"%s\"]\n"
          "    apiVersions: [%s]\n"
          "    resources: [%s%s%s%s]\n"
          "    operations: [",
          w->group, w->version, w->plural, w->status ? ", " : "", w->status ? w->plural : "",
          w->status ? "/status" : "");
    const char *comma = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (w->ops & 1U << i) {
            buf_f(out, "%s%s", comma, names[i]);
            comma = ", ";
        }
    }
    buf_c(out, "]\n");
}

static void write_webhook(const struct webhook *w, struct str ns, struct buf *out) {
    buf_f(out,
          "- name: %s\n"
          "  admissionReviewVersions: [v1]\n"
          "  clientConfig:\n"
          "    service: {name: " WEBHOOK_SERVICE ", namespace: %.*s, port: 443, path: %s}\n"
          "  failurePolicy: Fail\n"
          "  matchPolicy: Equivalent\n"
          "  sideEffects: None\n"
          "  timeoutSeconds: 10\n",
          w->name, STR_ARG(ns), w->path);
    if (w->own_kind) {
        /* Every status of every Workload would come back to who wrote it. */
        buf_f(out,
              "  matchConditions:\n"
              "  - name: not-by-berth\n"
              "    expression: request.userInfo.username != "
              "'system:serviceaccount:%.*s:berth-controller'\n",
              STR_ARG(ns));
    } else {
        buf_f(out,
              "  namespaceSelector:\n"
              "    matchExpressions:\n"
              "    - key: kubernetes.io/metadata.name\n"
              "      operator: NotIn\n"
              "      values: [kube-system, %.*s]\n",
              STR_ARG(ns));
    }
    write_rule(w, out);
}

static void write_all(bool mutating, struct str ns, struct buf *out) {
    buf_f(out,
          "---\n"
          "apiVersion: admissionregistration.k8s.io/v1\n"
          "kind: %sWebhookConfiguration\n"
          "metadata:\n"
          "  name: " WEBHOOK_CONFIGURATION "\n"
          "  labels:\n"
          "    app.kubernetes.io/name: berth\n"
          "    app.kubernetes.io/component: controller\n"
          "webhooks:\n",
          mutating ? "Mutating" : "Validating");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].mutating == mutating) {
            write_webhook(&rows[i], ns, out);
        }
    }
}

void webhooks_write(struct str ns, struct buf *out) {
    write_all(true, ns, out);
    write_all(false, ns, out);
}

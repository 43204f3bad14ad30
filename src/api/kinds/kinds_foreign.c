/* kinds_foreign: see kinds_foreign.h. */
#include "api/kinds/kinds_foreign.h"

#include "api/kinds/kinds.h"
#include "api/tables/view_meta.h"

static const struct field fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Group and version of the object."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Standard object metadata."),
    F(ANY, ONE, "spec", 0, .doc = "Desired state, set by the user."),
    F(ANY, ONE, "status", 0, .doc = "Observed state, set by controllers."),
};
static const struct schema schema_opaque =
    SCHEMA("io.berth.api.opaque.Object", fields, 0, "An object of another project.");

#define V(version_)                                                                                \
    { .version = version_, .schema = &schema_opaque }
#define ROW(group_, kind_, plural_, singular_, flags_, version_, ...)                              \
    {                                                                                              \
        .group = group_, .kind = kind_, .plural = plural_, .singular = singular_,                  \
        .api_version = group_ "/" version_, .flags = KIND_STATUS | KIND_GENERATION | (flags_),     \
        .versions = (const struct kind_version[]){V(version_), __VA_ARGS__},                       \
        .n_versions = sizeof((const struct kind_version[]){V(version_), __VA_ARGS__}) /            \
                      sizeof(struct kind_version),                                                 \
    }
#define NS KIND_NAMESPACED | KIND_CUSTOM
#define TRAINING "kubeflow.org"
#define TRAINER "trainer.kubeflow.org"

static const struct kind rows[] = {
    ROW("jobset.x-k8s.io", "JobSet", "jobsets", "jobset", NS, "v1alpha2"),
    ROW(TRAINING, "PyTorchJob", "pytorchjobs", "pytorchjob", NS, "v1"),
    ROW(TRAINING, "TFJob", "tfjobs", "tfjob", NS, "v1"),
    ROW(TRAINING, "XGBoostJob", "xgboostjobs", "xgboostjob", NS, "v1"),
    ROW(TRAINING, "PaddleJob", "paddlejobs", "paddlejob", NS, "v1"),
    ROW(TRAINING, "JAXJob", "jaxjobs", "jaxjob", NS, "v1"),
    ROW(TRAINING, "MPIJob", "mpijobs", "mpijob", NS, "v2beta1"),
    ROW(TRAINER, "TrainJob", "trainjobs", "trainjob", NS, "v1alpha1"),
    ROW(TRAINER, "TrainingRuntime", "trainingruntimes", "trainingruntime", NS, "v1alpha1"),
    ROW(TRAINER, "ClusterTrainingRuntime", "clustertrainingruntimes", "clustertrainingruntime",
        KIND_CUSTOM, "v1alpha1"),
    ROW("ray.io", "RayCluster", "rayclusters", "raycluster", NS, "v1", V("v1alpha1")),
    ROW("ray.io", "RayJob", "rayjobs", "rayjob", NS, "v1", V("v1alpha1")),
    ROW("ray.io", "RayService", "rayservices", "rayservice", NS, "v1", V("v1alpha1")),
    ROW("workload.codeflare.dev", "AppWrapper", "appwrappers", "appwrapper", NS, "v1beta2"),
    ROW("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", "leaderworkerset", NS,
        "v1"),
    ROW("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates",
        "resourceclaimtemplate", KIND_NAMESPACED, "v1", V("v1beta2")),
};

const struct kind *kinds_foreign(size_t *ret_n) {
    *ret_n = COUNT(rows);
    return rows;
}

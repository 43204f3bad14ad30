/* kinds_foreign: see kinds_foreign.h. */
#include "api/kinds/kinds_foreign.h"

#include "api/frameworks.h"
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

#define OLDER(version_)                                                                            \
    { .version = version_, .schema = &schema_opaque }
#define ROW(group_, kind_, singular_, plural_, flags_, version_, ...)                              \
    {                                                                                              \
        .group = group_, .kind = kind_, .plural = plural_, .singular = singular_,                  \
        .api_version = group_ "/" version_, .flags = KIND_STATUS | KIND_GENERATION | (flags_),     \
        .versions = (const struct kind_version[]){OLDER(version_), __VA_ARGS__},                   \
        .n_versions = sizeof((const struct kind_version[]){OLDER(version_), __VA_ARGS__}) /        \
                      sizeof(struct kind_version),                                                 \
    }
#define NS KIND_NAMESPACED | KIND_CUSTOM
#define FRAMEWORK_ROW(id_, name_, group_, dashed_, kind_, singular_, plural_, version_, ...)       \
    ROW(group_, kind_, singular_, plural_, NS, version_, __VA_ARGS__),
#define TRAINER "trainer.kubeflow.org"

static const struct kind rows[] = {
    FRAMEWORKS_JOBS(FRAMEWORK_ROW) FRAMEWORKS_GROUPS(FRAMEWORK_ROW)
        ROW(TRAINER, "TrainingRuntime", "trainingruntime", "trainingruntimes", NS, "v1alpha1"),
    ROW(TRAINER, "ClusterTrainingRuntime", "clustertrainingruntime", "clustertrainingruntimes",
        KIND_CUSTOM, "v1alpha1"),
    ROW("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplate",
        "resourceclaimtemplates", KIND_NAMESPACED, "v1", OLDER("v1beta2")),
};

const struct kind *kinds_foreign(size_t *ret_n) {
    *ret_n = COUNT(rows);
    return rows;
}

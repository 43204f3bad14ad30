/* kinds_kueue: the rows of Kueue's kinds; their rules are in kueue_check.c and workload_check.c. */
#include "api/tables/view_kueue.h"

#include "api/kinds/kinds.h"

#define KUEUE_GROUP "kueue.x-k8s.io"
#define FINALIZER "kueue.x-k8s.io/resource-in-use"

/* Flavors and cluster queues may not vanish while in use: the controller takes this finalizer off in the end. */
static void hold(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    prepare_status(d, obj, old, now);
    if (old != NULL) {
        return;
    }
    yyjson_mut_val *meta = json_mensure(d, obj, "metadata");
    yyjson_mut_val *list = json_mget(meta, STR("finalizers"));
    EACH(list, i, e) {
        (void)i;
        if (str_is(json_mstr(e), FINALIZER)) {
            return;
        }
    }
    if (list == NULL) {
        list = yyjson_mut_arr(d);
        json_mset(d, meta, STR("finalizers"), list);
    }
    yyjson_mut_arr_add_str(d, list, FINALIZER);
}

static void workload_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    struct str v = condition_status(obj, i == 3 ? "Admitted" : "Finished");
    if (v.n > 0) {
        buf_json(out, v);
    } else {
        buf_c(out, "null");
    }
}

#define COLUMN_CRD_AGE                                                                             \
    {                                                                                              \
        .name = "Age", .type = "date", .path = "metadata.creationTimestamp",                       \
        .doc = "How long ago the object was created."                                              \
    }

#define COLUMN_CONDITION(name_, doc_)                                                              \
    { .name = name_, .type = "string", .condition = name_, .doc = doc_ }

static const struct column plain_columns[] = {COLUMN_NAME, COLUMN_CRD_AGE};
static const struct column cluster_queue_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Cohort", "string", 0, "spec.cohortName", "Cohort with which it shares quota."),
    COLUMN_PATH("Strategy", "string", 1, "spec.queueingStrategy", "Queueing strategy."),
    COLUMN_PATH("Pending Workloads", "integer", 0, "status.pendingWorkloads",
                "Workloads that wait for admission."),
    COLUMN_PATH("Admitted Workloads", "integer", 1, "status.admittedWorkloads",
                "Admitted workloads that have not finished."),
};
static const struct column local_queue_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("ClusterQueue", "string", 0, "spec.clusterQueue",
                "ClusterQueue that the queue "
                "submits to."),
    COLUMN_PATH("Pending Workloads", "integer", 0, "status.pendingWorkloads",
                "Workloads that wait for admission."),
    COLUMN_PATH("Admitted Workloads", "integer", 0, "status.admittedWorkloads",
                "Admitted workloads that have not finished."),
};
static const struct column workload_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Queue", "string", 0, "spec.queueName", "LocalQueue of the workload."),
    COLUMN_PATH("Reserved in", "string", 0, "status.admission.clusterQueue",
                "ClusterQueue in which it holds quota."),
    COLUMN_CONDITION("Admitted", "Whether the workload is admitted."),
    COLUMN_CONDITION("Finished", "Whether the workload has finished."),
    COLUMN_CRD_AGE,
};
static const struct column priority_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Value", "integer", 0, "value", "Value of the priority."),
};

/* v1beta2 first: preferred and stored. */
#define VERSIONS(new_, old_, up_, down_)                                                           \
    .versions =                                                                                    \
        (const struct kind_version[]){                                                             \
            {.version = "v1beta2", .schema = &new_},                                               \
            {.version = "v1beta1",                                                                 \
             .schema = &old_,                                                                      \
             .deprecated = true,                                                                   \
             .to_storage = up_,                                                                    \
             .from_storage = down_},                                                               \
        },                                                                                         \
    .n_versions = 2
#define NAMES(...)                                                                                 \
    (const char *const[]) { __VA_ARGS__, NULL }
#define KUEUE_ROW(kind_, plural_, singular_, flags_, columns_)                                     \
    .group = KUEUE_GROUP, .kind = kind_, .plural = plural_, .singular = singular_,                 \
    .flags = KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED | (flags_), .columns = columns_,     \
    .n_columns = COUNT(columns_)

const struct kind kind_resource_flavor = {
    KUEUE_ROW("ResourceFlavor", "resourceflavors", "resourceflavor", 0, plain_columns),
    VERSIONS(schema_resource_flavor, schema_resource_flavor, convert_nothing, convert_nothing),
    .short_names = NAMES("flavor", "flavors", "rf"),
    .prepare = hold,
    .check = resource_flavor_check,
};

const struct kind kind_cluster_queue = {
    KUEUE_ROW("ClusterQueue", "clusterqueues", "clusterqueue", KIND_STATUS, cluster_queue_columns),
    VERSIONS(schema_cluster_queue, schema_v1beta1_cluster_queue, cluster_queue_up,
             cluster_queue_down),
    .short_names = NAMES("cq"),
    .prepare = hold,
    .check = cluster_queue_check,
};

const struct kind kind_cohort = {
    KUEUE_ROW("Cohort", "cohorts", "cohort", KIND_STATUS, plain_columns),
    VERSIONS(schema_cohort, schema_v1beta1_cohort, convert_nothing, convert_nothing),
    .short_names = NAMES("co"),
    .prepare = prepare_status,
    .check = cohort_check,
};

const struct kind kind_local_queue = {
    KUEUE_ROW("LocalQueue", "localqueues", "localqueue", KIND_NAMESPACED | KIND_STATUS,
              local_queue_columns),
    VERSIONS(schema_local_queue, schema_v1beta1_local_queue, local_queue_up, local_queue_down),
    .short_names = NAMES("queue", "queues", "lq"),
    .prepare = prepare_status,
    .check = local_queue_check,
};

const struct kind kind_workload = {
    KUEUE_ROW("Workload", "workloads", "workload", KIND_NAMESPACED | KIND_STATUS, workload_columns),
    VERSIONS(schema_workload, schema_v1beta1_workload, workload_up, workload_down),
    .short_names = NAMES("kwl", "kueueworkload", "kueueworkloads"),
    .selectable = NAMES("status.admission.clusterQueue"),
    .prepare = prepare_status,
    .check = workload_check,
    .cell = workload_cell,
};

const struct kind kind_workload_priority_class = {
    KUEUE_ROW("WorkloadPriorityClass", "workloadpriorityclasses", "workloadpriorityclass", 0,
              priority_columns),
    VERSIONS(schema_workload_priority_class, schema_workload_priority_class, convert_nothing,
             convert_nothing),
    .short_names = NAMES("wpc"),
};

const struct kind kind_admission_check = {
    KUEUE_ROW("AdmissionCheck", "admissionchecks", "admissioncheck", KIND_STATUS, plain_columns),
    VERSIONS(schema_admission_check, schema_v1beta1_admission_check, admission_check_up,
             convert_nothing),
    .short_names = NAMES("ac"),
    .prepare = prepare_status,
};

const struct kind kind_topology = {
    KUEUE_ROW("Topology", "topologies", "topology", 0, plain_columns),
    VERSIONS(schema_topology, schema_topology, convert_nothing, convert_nothing),
    .short_names = NAMES("topo"),
    .check = topology_check,
};

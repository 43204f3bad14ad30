/*
 * kinds_computed: others' kinds that are computed when asked for (port/virtual.h). Kueue's visibility API: who waits in
 * a queue, and where, of which the subresource pendingworkloads alone is there. And metrics.k8s.io, which `kubectl top`
 * asks: what pods and nodes take.
 */
#include "api/kinds/kinds.h"
#include "api/tables/table.h"
#include "api/tables/view_kueue.h"
#include "api/usage_view.h"

#define API_VERSION F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")

static const struct field pending_workload_fields[] = {
    M(pending_workload, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name, namespace, time of creation and owners of the Workload."),
    M(pending_workload, priority, INT32, ONE, "priority", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Priority of the workload."),
    M(pending_workload, local_queue_name, STRING, ONE, "localQueueName", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "LocalQueue of the workload."),
    M(pending_workload, position_in_cluster_queue, INT32, ONE, "positionInClusterQueue", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Position in the ClusterQueue, from 0."),
    M(pending_workload, position_in_local_queue, INT32, ONE, "positionInLocalQueue", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Position in the LocalQueue, from 0."),
};
const struct schema schema_pending_workload =
    SCHEMA("io.x-k8s.kueue.visibility.v1beta2.PendingWorkload", pending_workload_fields,
           sizeof(struct pending_workload), "A Workload that waits.");
static const struct field summary_fields[] = {
    API_VERSION,
    KIND,
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Standard list metadata; empty."),
    F(OBJECT, LIST, "items", 0, .of = &schema_pending_workload,
      .doc = "Pending workloads, in queue order."),
};
static const struct schema schema_pending_workloads_summary =
    SCHEMA("io.x-k8s.kueue.visibility.v1beta2.PendingWorkloadsSummary", summary_fields, 0,
           "Those that wait in a queue, or some of them.");

static const char *const pending_workloads[] = {"pendingworkloads", NULL};
static const struct kind_version versions[] = {
    {.version = "v1beta2", .schema = &schema_pending_workloads_summary},
    {.version = "v1beta1", .schema = &schema_pending_workloads_summary},
};

const struct kind kind_visible_cluster_queue = {
    .group = "visibility.kueue.x-k8s.io",
    .kind = "ClusterQueue",
    .plural = "clusterqueues",
    .singular = "",
    .flags = KIND_COMPUTED,
    .versions = versions,
    .n_versions = COUNT(versions),
    .subresources = pending_workloads,
};
const struct kind kind_visible_local_queue = {
    .group = "visibility.kueue.x-k8s.io",
    .kind = "LocalQueue",
    .plural = "localqueues",
    .singular = "",
    .flags = KIND_COMPUTED | KIND_NAMESPACED,
    .versions = versions,
    .n_versions = COUNT(versions),
    .subresources = pending_workloads,
};

/* ---- what pods and nodes take ---- */

#define MEASURED(type_)                                                                            \
    M(type_, timestamp_ns, TIME, ONE, "timestamp", 2, .doc = "When it was measured."),             \
        M(type_, window, STRING, ONE, "window", 3, .flags = FIELD_F_KEEP_EMPTY,                    \
          .doc = "Over what time before it the processor was measured.")

static const struct field container_metrics_fields[] = {
    M(container_metrics, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Name of the container."),
    M(container_metrics, usage, QUANTITY, MAP, "usage", 2, .doc = "Processors and memory."),
};
static const struct schema schema_container_metrics =
    SCHEMA("io.k8s.metrics.pkg.apis.metrics.v1beta1.ContainerMetrics", container_metrics_fields,
           sizeof(struct container_metrics), "What a container takes.");

static const struct field pod_metrics_fields[] = {
    API_VERSION,
    KIND,
    M(pod_metrics, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Name, namespace and labels of the pod."),
    MEASURED(pod_metrics),
    M(pod_metrics, containers, OBJECT, LIST, "containers", 4, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_container_metrics, .doc = "Containers that run."),
};
static const struct schema schema_pod_metrics =
    SCHEMA("io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics", pod_metrics_fields,
           sizeof(struct pod_metrics), "What a pod takes.");

static const struct field node_metrics_fields[] = {
    API_VERSION,
    KIND,
    M(node_metrics, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Name and labels of the node."),
    MEASURED(node_metrics),
    M(node_metrics, usage, QUANTITY, MAP, "usage", 4, .doc = "Processors and memory."),
};
static const struct schema schema_node_metrics =
    SCHEMA("io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics", node_metrics_fields,
           sizeof(struct node_metrics), "What a node takes.");

/* Sums of a pod's containers. */
static void pod_metrics_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(obj, STR("containers")));
    struct quantity sum = {0}, one;

    for (yyjson_val *c; (c = yyjson_arr_iter_next(&it));) {
        struct str text = json_str_at(c, i == 1 ? "usage.cpu" : "usage.memory");
        if (quantity_parse(text, &one, NULL) == 0) {
            (void)quantity_add(&sum, one);
        }
    }
    char text[QUANTITY_TEXT_MAX];
    cell_str(out, quantity_text(sum, text));
}

static const struct column pod_metrics_columns[] = {
    COLUMN_NAME,
    COLUMN("CPU", "string", 0, "Processors of all containers."),
    COLUMN("Memory", "string", 0, "Memory of all containers."),
    COLUMN_PATH("Window", "string", 0, "window", "Over what time it was measured."),
};
static const struct column node_metrics_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("CPU", "string", 0, "usage.cpu", "Processors that are busy."),
    COLUMN_PATH("Memory", "string", 0, "usage.memory", "Memory that is in use."),
    COLUMN_PATH("Window", "string", 0, "window", "Over what time it was measured."),
};

const struct kind kind_pod_metrics = {
    .group = "metrics.k8s.io",
    .kind = "PodMetrics",
    .plural = "pods",
    .api_version = "metrics.k8s.io/v1beta1",
    .singular = "",
    .flags = KIND_COMPUTED | KIND_NAMESPACED,
    .versions = &(const struct kind_version){.version = "v1beta1", .schema = &schema_pod_metrics},
    .n_versions = 1,
    .columns = pod_metrics_columns,
    .n_columns = COUNT(pod_metrics_columns),
    .cell = pod_metrics_cell,
};
const struct kind kind_node_metrics = {
    .group = "metrics.k8s.io",
    .kind = "NodeMetrics",
    .plural = "nodes",
    .api_version = "metrics.k8s.io/v1beta1",
    .singular = "",
    .flags = KIND_COMPUTED,
    .versions = &(const struct kind_version){.version = "v1beta1", .schema = &schema_node_metrics},
    .n_versions = 1,
    .columns = node_metrics_columns,
    .n_columns = COUNT(node_metrics_columns),
};

/*
 * kinds_visibility: Kueue's visibility API: who waits in a queue, and where. Only the subresource pendingworkloads
 * is there; it is computed when asked for.
 */
#include "api/kinds/kinds.h"
#include "api/tables/table.h"
#include "api/tables/view_kueue.h"

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

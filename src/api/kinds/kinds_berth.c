/* kinds_berth: Berth's own kinds. Those here are computed when asked for (port/virtual.h), never stored. */
#include "api/kinds/kinds.h"

static const struct column explanation_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Queue", "string", 0, "status.localQueue", "LocalQueue of the workload."),
    COLUMN_PATH("State", "string", 0, "status.state",
                "Waiting, Held, Reserved, Admitted, Stopping or Finished."),
    COLUMN_PATH("Position", "integer", 0, "status.position.clusterQueue",
                "Place among those that wait in the ClusterQueue."),
    COLUMN_PATH("Starts", "string", 0, "status.estimate.text", "Estimated start."),
    COLUMN_PATH("Waits For", "string", 0, "status.summary", "Why the workload waits."),
};
const struct kind kind_workload_explanation = {
    .group = "berth.dev",
    .kind = "WorkloadExplanation",
    .plural = "workloadexplanations",
    .singular = "workloadexplanation",
    .short_names = (const char *const[]){"why", NULL},
    .flags = KIND_COMPUTED | KIND_NAMESPACED,
    .versions =
        &(const struct kind_version){.version = "v1alpha1", .schema = &schema_workload_explanation},
    .n_versions = 1,
    .columns = explanation_columns,
    .n_columns = COUNT(explanation_columns),
};

const struct kind kind_queue_preview = {
    .group = "berth.dev",
    .kind = "QueuePreview",
    .plural = "queuepreviews",
    .singular = "queuepreview",
    .flags = KIND_COMPUTED | KIND_VIRTUAL,
    .versions =
        &(const struct kind_version){.version = "v1alpha1", .schema = &schema_queue_preview},
    .n_versions = 1,
};

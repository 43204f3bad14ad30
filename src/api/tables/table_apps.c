/*
 * table_apps: the fields of the apps/v1 kinds; of core/v1's ReplicationController, a ReplicaSet with a plain selector;
 * and of PodTemplate.
 */
#include "api/tables/view_apps.h"

#include "api/tables/rows.h"
#include "api/tables/view_storage.h"
#include "base/limits.h"

#define APPS(name_) "io.k8s.api.apps.v1." name_
/* What all the kinds count and say alike. */
#define ROWS_OF_CONDITION                                                                          \
    M(condition, type, STRING, ONE, "type", 1, .flags = REQUIRED | FIELD_F_KEEP_EMPTY,             \
      .doc = "Type of the condition."),                                                            \
        M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,                \
          .doc = "Status of the condition: True, False or Unknown.")
#define ROWS_OF_WHY                                                                                \
    M(condition, reason, STRING, ONE, "reason", 4,                                                 \
      .doc = "Machine-readable reason, one CamelCase word."),                                      \
        M(condition, message, STRING, ONE, "message", 5, .doc = "Human-readable message.")
#define CONDITIONS(view_, schema_, tag_)                                                           \
    M(view_, conditions, OBJECT, LIST, "conditions", tag_, .of = &schema_,                         \
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",                            \
      .doc = "Current conditions, one entry per type.")
#define COUNTED(view_, member_, json_, tag_, doc_)                                                 \
    M(view_, member_, INT32, ONE, json_, tag_, .doc = doc_)
#define REPLICAS(view_)                                                                            \
    M(view_, replicas, INT32, ONE, "replicas", 1, .flags = FIELD_F_OPT, .def = "1",                \
      .max = LIMIT_SET_REPLICAS, .doc = "Number of pods wanted; 1 unless set.")
#define SELECTOR(view_)                                                                            \
    M(view_, selector, OBJECT, ONE, "selector", 2, .of = &schema_label_selector,                   \
      .flags = REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_ATOMIC,                                      \
      .doc = "Labels of its pods; its template has them.")
#define TEMPLATE(view_)                                                                            \
    M(view_, template, OBJECT, ONE, "template", 3, .of = &schema_pod_template,                     \
      .flags = REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Template of the pods.")
#define MIN_READY(view_, tag_)                                                                     \
    M(view_, min_ready_seconds, INT32, ONE, "minReadySeconds", tag_, .max = INT32_MAX,             \
      .doc = "Seconds for which a pod is ready before it counts as available.")
#define HISTORY(view_, tag_)                                                                       \
    M(view_, revision_history_limit, INT32, ONE, "revisionHistoryLimit", tag_,                     \
      .flags = FIELD_F_OPT, .def = "10", .max = INT32_MAX,                                         \
      .doc = "Old revisions that are kept to go back to; 10 unless set.")
/* An object and its schema. */
#define WHOLE(view_, component_, spec_, status_, doc_)                                             \
    static const struct field view_##_rows[] = {                                                   \
        TEXT("apiVersion", "Version of the API in which the object is written."),                  \
        TEXT("kind", "Kind of the object."),                                                       \
        M(view_, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,                         \
          .doc = "Standard object metadata."),                                                     \
        M(view_, spec, OBJECT, ONE, "spec", 2, .of = &spec_, .def = "{}",                          \
          .doc = "Desired state, set by the user."),                                               \
        M(view_, status, OBJECT, ONE, "status", 3, .of = &status_,                                 \
          .doc = "Observed state, set by controllers."),                                           \
    };                                                                                             \
    const struct schema schema_##view_ =                                                           \
        SCHEMA(APPS(component_), view_##_rows, sizeof(struct view_), doc_)

static const struct field condition_rows[] = {
    ROWS_OF_CONDITION,
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 3,
      .doc = "Time of the last change of status."),
    ROWS_OF_WHY,
};
static const struct schema schema_set_condition =
    SCHEMA(APPS("ReplicaSetCondition"), condition_rows, sizeof(struct condition), NULL);

/* ---- ReplicaSet ---- */

static const struct field replica_set_spec_rows[] = {
    REPLICAS(replica_set_spec),
    MIN_READY(replica_set_spec, 4),
    SELECTOR(replica_set_spec),
    TEMPLATE(replica_set_spec),
};
static const struct schema schema_replica_set_spec =
    SCHEMA(APPS("ReplicaSetSpec"), replica_set_spec_rows, sizeof(struct replica_set_spec),
           "How many pods of which template there are.");

static const struct field replica_set_status_rows[] = {
    M(replica_set_status, replicas, INT32, ONE, "replicas", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that are not being deleted."),
    COUNTED(replica_set_status, fully_labeled_replicas, "fullyLabeledReplicas", 2,
            "Pods that have all labels of the template."),
    COUNTED(replica_set_status, ready_replicas, "readyReplicas", 4, "Pods that are ready."),
    COUNTED(replica_set_status, available_replicas, "availableReplicas", 5,
            "Pods that have been ready for minReadySeconds."),
    M(replica_set_status, terminating_replicas, INT32, ONE, "terminatingReplicas", 7,
      .flags = FIELD_F_OPT, .doc = "Pods that are being deleted."),
    M(replica_set_status, observed_generation, INT64, ONE, "observedGeneration", 3,
      .doc = "Generation of the object that the status is about."),
    CONDITIONS(replica_set_status, schema_set_condition, 6),
};
const struct schema schema_replica_set_status =
    SCHEMA(APPS("ReplicaSetStatus"), replica_set_status_rows, sizeof(struct replica_set_status),
           NULL);
WHOLE(replica_set, "ReplicaSet", schema_replica_set_spec, schema_replica_set_status,
      "Keeps a number of pods of one template running.");

/* ---- ReplicationController ---- */

#define CORE(name_) "io.k8s.api.core.v1." name_

static const struct field replication_spec_rows[] = {
    REPLICAS(replica_set_spec),
    MIN_READY(replica_set_spec, 4),
    F(STRING, MAP, "selector", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Labels of its pods, which its template has; those of the template unless set."),
    M(replica_set_spec, template, OBJECT, ONE, "template", 3, .of = &schema_pod_template,
      .flags = REQUIRED | FIELD_F_OPT, .doc = "Template of the pods."),
};
static const struct schema schema_replication_spec =
    SCHEMA(CORE("ReplicationControllerSpec"), replication_spec_rows,
           sizeof(struct replica_set_spec), "How many pods of which template there are.");
static const struct schema schema_replication_condition =
    SCHEMA(CORE("ReplicationControllerCondition"), condition_rows, sizeof(struct condition), NULL);

static const struct field replication_status_rows[] = {
    M(replica_set_status, replicas, INT32, ONE, "replicas", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that are not being deleted."),
    COUNTED(replica_set_status, fully_labeled_replicas, "fullyLabeledReplicas", 2,
            "Pods that have all labels of the template."),
    COUNTED(replica_set_status, ready_replicas, "readyReplicas", 4, "Pods that are ready."),
    COUNTED(replica_set_status, available_replicas, "availableReplicas", 5,
            "Pods that have been ready for minReadySeconds."),
    M(replica_set_status, observed_generation, INT64, ONE, "observedGeneration", 3,
      .doc = "Generation of the object that the status is about."),
    CONDITIONS(replica_set_status, schema_replication_condition, 6),
};
static const struct schema schema_replication_status =
    SCHEMA(CORE("ReplicationControllerStatus"), replication_status_rows,
           sizeof(struct replica_set_status), NULL);

static const struct field replication_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    M(replica_set, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(replica_set, spec, OBJECT, ONE, "spec", 2, .of = &schema_replication_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    M(replica_set, status, OBJECT, ONE, "status", 3, .of = &schema_replication_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_replication_controller =
    SCHEMA(CORE("ReplicationController"), replication_rows, sizeof(struct replica_set),
           "Keeps a number of pods of one template running; a ReplicaSet does the same.");

/* ---- PodTemplate ---- */

static const struct field pod_template_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .doc = "Standard object metadata."),
    F(OBJECT, ONE, "template", 2, .of = &schema_pod_template, .def = "{}",
      .doc = "Template of pods, kept for whoever reads it."),
};
const struct schema schema_kept_pod_template =
    SCHEMA(CORE("PodTemplate"), pod_template_rows, 0, "A template of pods, under a name.");

/* ---- Deployment ---- */

static const char *const strategies[] = {"Recreate", "RollingUpdate", NULL};

static const struct field rolling_rows[] = {
    M(deployment_rolling, max_unavailable, INT_OR_STRING, ONE, "maxUnavailable", 1,
      .flags = FIELD_F_OPT, .doc = "How many of the wanted pods may be missing; 25% unless set."),
    M(deployment_rolling, max_surge, INT_OR_STRING, ONE, "maxSurge", 2, .flags = FIELD_F_OPT,
      .doc = "How many pods more than wanted there may be; 25% unless set."),
};
static const struct schema schema_deployment_rolling =
    SCHEMA(APPS("RollingUpdateDeployment"), rolling_rows, sizeof(struct deployment_rolling), NULL);

static const struct field strategy_rows[] = {
    M(deployment_strategy, type, STRING, ONE, "type", 1, .def = "\"RollingUpdate\"",
      .values = strategies, .doc = "RollingUpdate, or Recreate: old pods end first."),
    M(deployment_strategy, rolling_update, OBJECT, ONE, "rollingUpdate", 2,
      .of = &schema_deployment_rolling, .flags = FIELD_F_OPT,
      .doc = "Bounds of a rolling update."),
};
static const struct schema schema_deployment_strategy =
    SCHEMA(APPS("DeploymentStrategy"), strategy_rows, sizeof(struct deployment_strategy), NULL);

static const struct field deployment_spec_rows[] = {
    REPLICAS(deployment_spec),
    SELECTOR(deployment_spec),
    TEMPLATE(deployment_spec),
    M(deployment_spec, strategy, OBJECT, ONE, "strategy", 4, .of = &schema_deployment_strategy,
      .flags = FIELD_F_RETAIN_KEYS, .def = "{}", .doc = "How new pods replace old ones."),
    MIN_READY(deployment_spec, 5),
    HISTORY(deployment_spec, 6),
    M(deployment_spec, paused, BOOL, ONE, "paused", 7,
      .doc = "Whether changes of the template wait."),
    M(deployment_spec, progress_deadline_seconds, INT32, ONE, "progressDeadlineSeconds", 9,
      .flags = FIELD_F_OPT, .def = "600", .max = INT32_MAX,
      .doc = "Seconds without progress after which a rollout counts as failed; 600 unless set."),
};
static const struct schema schema_deployment_spec =
    SCHEMA(APPS("DeploymentSpec"), deployment_spec_rows, sizeof(struct deployment_spec),
           "How many pods of which template there are, and how they are replaced.");

static const struct field deployment_condition_rows[] = {
    ROWS_OF_CONDITION,
    M(condition, last_probe_ns, TIME, ONE, "lastUpdateTime", 6,
      .doc = "Time of the last update of the condition."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 7,
      .doc = "Time of the last change of status."),
    ROWS_OF_WHY,
};
static const struct schema schema_deployment_condition =
    SCHEMA(APPS("DeploymentCondition"), deployment_condition_rows, sizeof(struct condition), NULL);

static const struct field deployment_status_rows[] = {
    M(deployment_status, observed_generation, INT64, ONE, "observedGeneration", 1,
      .doc = "Generation of the object that the status is about."),
    COUNTED(deployment_status, replicas, "replicas", 2, "Pods that are not being deleted."),
    COUNTED(deployment_status, updated_replicas, "updatedReplicas", 3,
            "Pods of the current template."),
    COUNTED(deployment_status, ready_replicas, "readyReplicas", 7, "Pods that are ready."),
    COUNTED(deployment_status, available_replicas, "availableReplicas", 4,
            "Pods that have been ready for minReadySeconds."),
    COUNTED(deployment_status, unavailable_replicas, "unavailableReplicas", 5,
            "Pods that are wanted, or were, and are not available."),
    M(deployment_status, terminating_replicas, INT32, ONE, "terminatingReplicas", 9,
      .flags = FIELD_F_OPT, .doc = "Pods that are being deleted."),
    CONDITIONS(deployment_status, schema_deployment_condition, 6),
    M(deployment_status, collision_count, INT32, ONE, "collisionCount", 8, .flags = FIELD_F_OPT,
      .doc = "How often the name of a new ReplicaSet was taken."),
};
const struct schema schema_deployment_status =
    SCHEMA(APPS("DeploymentStatus"), deployment_status_rows, sizeof(struct deployment_status),
           NULL);
WHOLE(deployment, "Deployment", schema_deployment_spec, schema_deployment_status,
      "Keeps pods of a template running, and replaces them when the template changes.");

/* ---- DaemonSet ---- */

static const char *const daemon_strategies[] = {"OnDelete", "RollingUpdate", NULL};

static const struct field daemon_rolling_rows[] = {
    M(deployment_rolling, max_unavailable, INT_OR_STRING, ONE, "maxUnavailable", 1,
      .flags = FIELD_F_OPT, .doc = "On how many nodes the pod may be missing; 1 unless set."),
    M(deployment_rolling, max_surge, INT_OR_STRING, ONE, "maxSurge", 2, .flags = FIELD_F_OPT,
      .doc = "On how many nodes there may be a new pod beside an old one; 0 unless set."),
};
static const struct schema schema_daemon_rolling = SCHEMA(
    APPS("RollingUpdateDaemonSet"), daemon_rolling_rows, sizeof(struct deployment_rolling), NULL);

static const struct field daemon_strategy_rows[] = {
    M(daemon_set_strategy, type, STRING, ONE, "type", 1, .def = "\"RollingUpdate\"",
      .values = daemon_strategies, .doc = "RollingUpdate, or OnDelete: old pods stay."),
    M(daemon_set_strategy, rolling_update, OBJECT, ONE, "rollingUpdate", 2,
      .of = &schema_daemon_rolling, .flags = FIELD_F_OPT, .doc = "Bounds of a rolling update."),
};
static const struct schema schema_daemon_strategy =
    SCHEMA(APPS("DaemonSetUpdateStrategy"), daemon_strategy_rows,
           sizeof(struct daemon_set_strategy), NULL);

static const struct field daemon_set_spec_rows[] = {
    M(daemon_set_spec, selector, OBJECT, ONE, "selector", 1, .of = &schema_label_selector,
      .flags = REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_ATOMIC,
      .doc = "Labels of its pods; its template has them."),
    M(daemon_set_spec, template, OBJECT, ONE, "template", 2, .of = &schema_pod_template,
      .flags = REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Template of the pods."),
    M(daemon_set_spec, update_strategy, OBJECT, ONE, "updateStrategy", 3,
      .of = &schema_daemon_strategy, .def = "{}", .doc = "How new pods replace old ones."),
    MIN_READY(daemon_set_spec, 4),
    HISTORY(daemon_set_spec, 6),
};
static const struct schema schema_daemon_set_spec =
    SCHEMA(APPS("DaemonSetSpec"), daemon_set_spec_rows, sizeof(struct daemon_set_spec),
           "Which pod there is on every node that it fits.");

#define NODES(member_, json_, tag_, doc_)                                                          \
    M(daemon_set_status, member_, INT32, ONE, json_, tag_, .flags = FIELD_F_KEEP_EMPTY, .doc = doc_)
static const struct field daemon_set_status_rows[] = {
    NODES(current_number_scheduled, "currentNumberScheduled", 1, "Nodes that have their pod."),
    NODES(number_misscheduled, "numberMisscheduled", 2, "Nodes that have one and should not."),
    NODES(desired_number_scheduled, "desiredNumberScheduled", 3, "Nodes that should have one."),
    NODES(number_ready, "numberReady", 4, "Nodes whose pod is ready."),
    M(daemon_set_status, observed_generation, INT64, ONE, "observedGeneration", 5,
      .doc = "Generation of the object that the status is about."),
    COUNTED(daemon_set_status, updated_number_scheduled, "updatedNumberScheduled", 6,
            "Nodes whose pod is of the current template."),
    COUNTED(daemon_set_status, number_available, "numberAvailable", 7,
            "Nodes whose pod has been ready for minReadySeconds."),
    COUNTED(daemon_set_status, number_unavailable, "numberUnavailable", 8,
            "Nodes that should have an available pod and have none."),
};
const struct schema schema_daemon_set_status =
    SCHEMA(APPS("DaemonSetStatus"), daemon_set_status_rows, sizeof(struct daemon_set_status), NULL);
WHOLE(daemon_set, "DaemonSet", schema_daemon_set_spec, schema_daemon_set_status,
      "Keeps a pod of a template on every node that it fits.");

/* ---- StatefulSet ---- */

static const char *const orders[] = {"OrderedReady", "Parallel", NULL};
static const char *const ways[] = {"OnDelete", "RollingUpdate", NULL};
static const char *const retentions[] = {"Delete", "Retain", NULL};

static const struct field stateful_rolling_rows[] = {
    M(stateful_rolling, partition, INT32, ONE, "partition", 1, .flags = FIELD_F_OPT, .def = "0",
      .max = INT32_MAX, .doc = "Pods with a lower ordinal keep their revision."),
    M(stateful_rolling, max_unavailable, INT_OR_STRING, ONE, "maxUnavailable", 2,
      .flags = FIELD_F_OPT, .doc = "How many pods may be missing in an update; 1 unless set."),
};
static const struct schema schema_stateful_rolling =
    SCHEMA(APPS("RollingUpdateStatefulSetStrategy"), stateful_rolling_rows,
           sizeof(struct stateful_rolling),
           NULL);

static const struct field stateful_strategy_rows[] = {
    M(stateful_strategy, type, STRING, ONE, "type", 1, .def = "\"RollingUpdate\"", .values = ways,
      .doc = "RollingUpdate, or OnDelete: pods are updated as they are deleted."),
    M(stateful_strategy, rolling_update, OBJECT, ONE, "rollingUpdate", 2,
      .of = &schema_stateful_rolling, .flags = FIELD_F_OPT, .doc = "Bounds of a rolling update."),
};
static const struct schema schema_stateful_strategy =
    SCHEMA(APPS("StatefulSetUpdateStrategy"), stateful_strategy_rows,
           sizeof(struct stateful_strategy),
           NULL);

static const struct field ordinals_rows[] = {
    M(stateful_ordinals, start, INT32, ONE, "start", 1, .flags = FIELD_F_KEEP_EMPTY,
      .max = INT32_MAX, .doc = "The first ordinal."),
};
static const struct schema schema_stateful_ordinals =
    SCHEMA(APPS("StatefulSetOrdinals"), ordinals_rows, sizeof(struct stateful_ordinals), NULL);

static const struct field retention_rows[] = {
    F(STRING, ONE, "whenDeleted", 1, .def = "\"Retain\"", .values = retentions,
      .doc = "What becomes of claims when the set is deleted."),
    F(STRING, ONE, "whenScaled", 2, .def = "\"Retain\"", .values = retentions,
      .doc = "What becomes of claims when the set gets smaller."),
};
static const struct schema schema_stateful_retention =
    SCHEMA(APPS("StatefulSetPersistentVolumeClaimRetentionPolicy"), retention_rows, 0, NULL);

static const struct field stateful_spec_rows[] = {
    M(stateful_set_spec, replicas, INT32, ONE, "replicas", 1, .flags = FIELD_F_OPT, .def = "1",
      .max = LIMIT_SET_REPLICAS, .doc = "Number of pods wanted; 1 unless set."),
    M(stateful_set_spec, selector, OBJECT, ONE, "selector", 2, .of = &schema_label_selector,
      .flags = REQUIRED | FIELD_F_ATOMIC, .doc = "Labels of its pods; its template has them."),
    M(stateful_set_spec, template, OBJECT, ONE, "template", 3, .of = &schema_pod_template,
      .flags = REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Template of the pods."),
    F(OBJECT, LIST, "volumeClaimTemplates", 4, .of = &schema_claim, .flags = FIELD_F_ATOMIC,
      .doc = "Claims of which each pod has one of its own, that stays its own."),
    M(stateful_set_spec, service_name, STRING, ONE, "serviceName", 5, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Service that gives the pods their names."),
    M(stateful_set_spec, pod_management_policy, STRING, ONE, "podManagementPolicy", 6,
      .def = "\"OrderedReady\"", .values = orders,
      .doc = "OrderedReady: one pod after the other; or Parallel."),
    M(stateful_set_spec, update_strategy, OBJECT, ONE, "updateStrategy", 7,
      .of = &schema_stateful_strategy, .def = "{}", .doc = "How new pods replace old ones."),
    M(stateful_set_spec, revision_history_limit, INT32, ONE, "revisionHistoryLimit", 8,
      .flags = FIELD_F_OPT, .def = "10", .max = INT32_MAX,
      .doc = "Old revisions that are kept to go back to; 10 unless set."),
    M(stateful_set_spec, min_ready_seconds, INT32, ONE, "minReadySeconds", 9, .max = INT32_MAX,
      .doc = "Seconds for which a pod is ready before it counts as available."),
    F(OBJECT, ONE, "persistentVolumeClaimRetentionPolicy", 10, .of = &schema_stateful_retention,
      .flags = FIELD_F_OPT, .def = "{}", .doc = "What becomes of claims that have no pod."),
    M(stateful_set_spec, ordinals, OBJECT, ONE, "ordinals", 11, .of = &schema_stateful_ordinals,
      .flags = FIELD_F_OPT, .doc = "Numbers of the pods."),
};
static const struct schema schema_stateful_set_spec =
    SCHEMA(APPS("StatefulSetSpec"), stateful_spec_rows, sizeof(struct stateful_set_spec),
           "How many pods of which template there are, each with a name of its own.");

#define COUNTED_PODS(member_, json_, tag_, doc_)                                                   \
    M(stateful_set_status, member_, INT32, ONE, json_, tag_, .doc = doc_)
static const struct field stateful_status_rows[] = {
    M(stateful_set_status, observed_generation, INT64, ONE, "observedGeneration", 1,
      .doc = "Generation of the object that the status is about."),
    M(stateful_set_status, replicas, INT32, ONE, "replicas", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that there are."),
    COUNTED_PODS(ready_replicas, "readyReplicas", 3, "Pods that are ready."),
    COUNTED_PODS(current_replicas, "currentReplicas", 4, "Pods of the current revision."),
    COUNTED_PODS(updated_replicas, "updatedReplicas", 5,
                 "Pods of the revision that is rolled out."),
    M(stateful_set_status, current_revision, STRING, ONE, "currentRevision", 6,
      .doc = "Revision that pods had before the update."),
    M(stateful_set_status, update_revision, STRING, ONE, "updateRevision", 7,
      .doc = "Revision that is rolled out."),
    M(stateful_set_status, collision_count, INT32, ONE, "collisionCount", 9, .flags = FIELD_F_OPT,
      .doc = "How often the name of a new revision was taken."),
    M(stateful_set_status, conditions, OBJECT, LIST, "conditions", 10,
      .of = &schema_set_condition, .flags = FIELD_F_MERGE, .merge_key = "type",
      .list_keys = "type", .doc = "Current conditions, one entry per type."),
    M(stateful_set_status, available_replicas, INT32, ONE, "availableReplicas", 11,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods that have been ready for minReadySeconds."),
};
const struct schema schema_stateful_set_status =
    SCHEMA(APPS("StatefulSetStatus"), stateful_status_rows, sizeof(struct stateful_set_status),
           NULL);

static const struct field set_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    M(stateful_set, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(stateful_set, spec, OBJECT, ONE, "spec", 2, .of = &schema_stateful_set_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    M(stateful_set, status, OBJECT, ONE, "status", 3, .of = &schema_stateful_set_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_stateful_set =
    SCHEMA(APPS("StatefulSet"), set_rows, sizeof(struct stateful_set),
           "Keeps pods running that have names and volumes of their own.");

static const struct field revision_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    M(controller_revision, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(controller_revision, data, ANY, ONE, "data", 2, .flags = FIELD_F_IMMUTABLE,
      .doc = "What the revision was; set by controllers."),
    M(controller_revision, revision, INT64, ONE, "revision", 3,
      .flags = REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Its number."),
};
const struct schema schema_controller_revision =
    SCHEMA(APPS("ControllerRevision"), revision_rows, sizeof(struct controller_revision),
           "A state of an object to which one can go back.");

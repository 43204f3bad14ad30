/*
 * table_stateful: the fields of apps/v1 StatefulSet and ControllerRevision.
 */
#include "api/tables/view_stateful.h"

#include "api/tables/rows.h"
#include "api/tables/view_storage.h"
#include "base/limits.h"

#define APPS(name_) "io.k8s.api.apps.v1." name_

static const char *const orders[] = {"OrderedReady", "Parallel", NULL};
static const char *const ways[] = {"OnDelete", "RollingUpdate", NULL};
static const char *const retentions[] = {"Delete", "Retain", NULL};

static const struct field rolling_rows[] = {
    M(stateful_rolling, partition, INT32, ONE, "partition", 1, .flags = FIELD_F_OPT, .def = "0",
      .max = INT32_MAX, .doc = "Pods with a lower ordinal keep their revision."),
    M(stateful_rolling, max_unavailable, INT_OR_STRING, ONE, "maxUnavailable", 2,
      .flags = FIELD_F_OPT, .doc = "How many pods may be missing in an update; 1 unless set."),
};
static const struct schema schema_stateful_rolling =
    SCHEMA(APPS("RollingUpdateStatefulSetStrategy"), rolling_rows, sizeof(struct stateful_rolling),
           NULL);

static const struct field strategy_rows[] = {
    M(stateful_strategy, type, STRING, ONE, "type", 1, .def = "\"RollingUpdate\"", .values = ways,
      .doc = "RollingUpdate, or OnDelete: pods are updated as they are deleted."),
    M(stateful_strategy, rolling_update, OBJECT, ONE, "rollingUpdate", 2,
      .of = &schema_stateful_rolling, .flags = FIELD_F_OPT, .doc = "Bounds of a rolling update."),
};
static const struct schema schema_stateful_strategy =
    SCHEMA(APPS("StatefulSetUpdateStrategy"), strategy_rows, sizeof(struct stateful_strategy),
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

static const struct field spec_rows[] = {
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
    SCHEMA(APPS("StatefulSetSpec"), spec_rows, sizeof(struct stateful_set_spec),
           "How many pods of which template there are, each with a name of its own.");

static const struct field condition_rows[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Status of the condition: True, False or Unknown."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 3,
      .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 4,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(condition, message, STRING, ONE, "message", 5, .doc = "Human-readable message."),
};
static const struct schema schema_stateful_condition =
    SCHEMA(APPS("StatefulSetCondition"), condition_rows, sizeof(struct condition), NULL);

#define COUNTED(member_, json_, tag_, doc_)                                                        \
    M(stateful_set_status, member_, INT32, ONE, json_, tag_, .doc = doc_)
static const struct field status_rows[] = {
    M(stateful_set_status, observed_generation, INT64, ONE, "observedGeneration", 1,
      .doc = "Generation of the object that the status is about."),
    M(stateful_set_status, replicas, INT32, ONE, "replicas", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that there are."),
    COUNTED(ready_replicas, "readyReplicas", 3, "Pods that are ready."),
    COUNTED(current_replicas, "currentReplicas", 4, "Pods of the current revision."),
    COUNTED(updated_replicas, "updatedReplicas", 5, "Pods of the revision that is rolled out."),
    M(stateful_set_status, current_revision, STRING, ONE, "currentRevision", 6,
      .doc = "Revision that pods had before the update."),
    M(stateful_set_status, update_revision, STRING, ONE, "updateRevision", 7,
      .doc = "Revision that is rolled out."),
    M(stateful_set_status, collision_count, INT32, ONE, "collisionCount", 9, .flags = FIELD_F_OPT,
      .doc = "How often the name of a new revision was taken."),
    M(stateful_set_status, conditions, OBJECT, LIST, "conditions", 10,
      .of = &schema_stateful_condition, .flags = FIELD_F_MERGE, .merge_key = "type",
      .list_keys = "type", .doc = "Current conditions, one entry per type."),
    M(stateful_set_status, available_replicas, INT32, ONE, "availableReplicas", 11,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods that have been ready for minReadySeconds."),
};
const struct schema schema_stateful_set_status =
    SCHEMA(APPS("StatefulSetStatus"), status_rows, sizeof(struct stateful_set_status), NULL);

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

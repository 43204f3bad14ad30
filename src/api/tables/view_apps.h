/*
 * view_apps: the C views of the apps/v1 kinds: what runs as long as it is wanted.
 *
 * The amounts of a rolling update are texts: digits, or a percentage.
 */
#ifndef BERTH_API_VIEW_APPS_H
#define BERTH_API_VIEW_APPS_H

#include "api/tables/view_core.h"

struct replica_set_spec {
    struct opt_i32 replicas;
    int32_t min_ready_seconds;
    struct label_selector *selector;
    struct pod_template *template;
};
struct replica_set_status {
    int32_t replicas, fully_labeled_replicas, ready_replicas, available_replicas;
    struct opt_i32 terminating_replicas;
    int64_t observed_generation;
    struct condition_list conditions;
};
struct replica_set {
    struct meta *metadata;
    struct replica_set_spec *spec;
    struct replica_set_status *status;
};

struct deployment_strategy {
    struct str type; /* RollingUpdate, Recreate */
    struct deployment_rolling {
        struct str max_unavailable, max_surge;
    } * rolling_update;
};
struct deployment_spec {
    struct opt_i32 replicas;
    struct label_selector *selector;
    struct pod_template *template;
    struct deployment_strategy *strategy;
    int32_t min_ready_seconds;
    struct opt_i32 revision_history_limit;
    bool paused;
    struct opt_i32 progress_deadline_seconds;
};
struct deployment_status {
    int64_t observed_generation;
    int32_t replicas, updated_replicas, ready_replicas, available_replicas, unavailable_replicas;
    struct opt_i32 terminating_replicas, collision_count;
    struct condition_list conditions; /* last_probe_ns: lastUpdateTime */
};
struct deployment {
    struct meta *metadata;
    struct deployment_spec *spec;
    struct deployment_status *status;
};

struct daemon_set_strategy {
    struct str type; /* RollingUpdate, OnDelete */
    struct deployment_rolling *rolling_update;
};
struct daemon_set_spec {
    struct label_selector *selector;
    struct pod_template *template;
    struct daemon_set_strategy *update_strategy;
    int32_t min_ready_seconds;
    struct opt_i32 revision_history_limit;
};
struct daemon_set_status {
    int32_t current_number_scheduled, number_misscheduled, desired_number_scheduled, number_ready;
    int64_t observed_generation;
    int32_t updated_number_scheduled, number_available, number_unavailable;
};
struct daemon_set {
    struct meta *metadata;
    struct daemon_set_spec *spec;
    struct daemon_set_status *status;
};

extern const struct schema schema_daemon_set, schema_daemon_set_status;
/* The view of a ReplicationController is a ReplicaSet's, without the selector; of PodTemplate there is none. */
extern const struct schema schema_replication_controller, schema_kept_pod_template;
extern const struct schema schema_deployment, schema_deployment_status;
extern const struct schema schema_replica_set, schema_replica_set_status;

struct stateful_strategy {
    struct str type; /* RollingUpdate, OnDelete */
    struct stateful_rolling {
        struct opt_i32 partition;
        struct str max_unavailable;
    } * rolling_update;
};
struct stateful_set_spec {
    struct opt_i32 replicas;
    struct label_selector *selector;
    struct pod_template *template;
    struct str service_name;
    struct str pod_management_policy; /* OrderedReady, Parallel */
    struct stateful_strategy *update_strategy;
    struct opt_i32 revision_history_limit;
    int32_t min_ready_seconds;
    struct stateful_ordinals {
        int32_t start;
    } * ordinals;
};
struct stateful_set_status {
    int64_t observed_generation;
    int32_t replicas, ready_replicas, current_replicas, updated_replicas, available_replicas;
    struct str current_revision, update_revision;
    struct opt_i32 collision_count;
    struct condition_list conditions;
};
struct stateful_set {
    struct meta *metadata;
    struct stateful_set_spec *spec;
    struct stateful_set_status *status;
};

struct controller_revision {
    struct meta *metadata;
    yyjson_val *data;
    int64_t revision;
};

extern const struct schema schema_stateful_set, schema_stateful_set_status;
extern const struct schema schema_controller_revision;

#endif

/* view_stateful: the C views of apps/v1 StatefulSet and ControllerRevision. */
#ifndef BERTH_API_VIEW_STATEFUL_H
#define BERTH_API_VIEW_STATEFUL_H

#include "api/tables/view_core.h"

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

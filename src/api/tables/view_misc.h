/* view_misc: the C views of Lease, PriorityClass, RuntimeClass, Event and Eviction. */
#ifndef BERTH_API_VIEW_MISC_H
#define BERTH_API_VIEW_MISC_H

#include "api/tables/view_core.h"

struct lease_spec {
    struct str holder_identity;
    struct opt_i32 lease_duration_seconds;
    int64_t acquire_ns, renew_ns;
    struct opt_i32 lease_transitions;
    struct str strategy, preferred_holder;
};
struct lease {
    struct meta *metadata;
    struct lease_spec *spec;
};

struct priority_class {
    struct meta *metadata;
    int32_t value;
    bool global_default;
    struct str description, preemption_policy;
};

struct runtime_overhead {
    struct quantity_map pod_fixed;
};
struct runtime_scheduling {
    struct str_map node_selector;
    struct toleration_list tolerations;
};
struct runtime_class {
    struct meta *metadata;
    struct str handler;
    struct runtime_overhead *overhead;
    struct runtime_scheduling *scheduling;
};

struct event_source {
    struct str component, host;
};
struct event_series {
    int32_t count;
    int64_t last_observed_ns;
};
struct event { /* core/v1, the stored form */
    struct meta *metadata;
    struct object_reference *involved_object;
    struct str reason, message;
    struct event_source *source;
    int64_t first_ns, last_ns;
    int32_t count;
    struct str type; /* Normal, Warning */
    int64_t event_ns;
    struct event_series *series;
    struct str action;
    struct object_reference *related;
    struct str reporting_component, reporting_instance;
};

struct eviction {
    struct meta *metadata;
    struct delete_options_view *delete_options;
};

extern const struct schema schema_lease, schema_priority_class, schema_runtime_class;
extern const struct schema schema_event, schema_eviction;

#endif

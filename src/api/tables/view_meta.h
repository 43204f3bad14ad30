/*
 * view_meta: the C views of what every object shares: metadata, conditions, selectors, references, amounts.
 *
 * A view is what codec_decode fills; field.h says how each member looks by type. Everything points into the JSON
 * document or the arena it was decoded with. A view that a controller does not need all of leaves fields out: what is
 * not here is still served and kept. Times end in _ns (since 1970, 0 when absent).
 */
#ifndef BERTH_API_VIEW_META_H
#define BERTH_API_VIEW_META_H

#include "api/tables/field.h"
#include "wire/json/json.h"
#include "wire/text/quantity.h"

/* FIELD_QUANTITY with FIELD_F_OPT: unset is not the same as 0. */
struct opt_quantity {
    bool set;
    struct quantity v;
};
struct quantity_pair {
    struct str key;
    struct quantity value;
};
/* A resource list: "cpu", "memory", "nvidia.com/gpu" to amounts. */
struct quantity_map {
    struct quantity_pair *v;
    size_t n;
};

struct owner_reference {
    struct str api_version, kind, name, uid;
    struct opt_bool controller, block_owner_deletion;
};

struct meta {
    struct str name, generate_name, namespace, uid, resource_version;
    int64_t generation;
    int64_t creation_ns, deletion_ns;
    struct opt_i64 deletion_grace_period_seconds;
    struct str_map labels, annotations;
    struct {
        struct owner_reference *v;
        size_t n;
    } owner_references;
    struct str_list finalizers;
};

/* Any object, of which only the metadata are looked at. */
struct partial_object {
    struct meta *metadata;
};

/* Any object that is to be made of a spec as it stands. */
struct object_draft {
    struct meta *metadata;
    yyjson_val *spec;
};

/* Of metav1.Condition, PodCondition, JobCondition, NodeCondition and the others alike. */
struct condition {
    struct str type, status, reason, message;
    int64_t last_transition_ns;
    int64_t last_probe_ns; /* pods, jobs; nodes: the last heartbeat */
    int64_t observed_generation;
};
struct condition_list {
    struct condition *v;
    size_t n;
};

struct label_requirement {
    struct str key, operator; /* In, NotIn, Exists, DoesNotExist */
    struct str_list values;
};
struct label_selector {
    struct str_map match_labels;
    struct {
        struct label_requirement *v;
        size_t n;
    } match_expressions;
};

struct object_reference {
    struct str kind, namespace, name, uid, api_version, resource_version, field_path;
};
struct local_object_reference {
    struct str name;
};

struct delete_options_view {
    struct opt_i64 grace_period_seconds;
    struct opt_bool orphan_dependents;
    struct str propagation_policy; /* Orphan, Background, Foreground */
    struct delete_preconditions {
        struct str uid, resource_version;
    } *preconditions;
    struct str_list dry_run;
};

extern const struct schema schema_meta; /* ObjectMeta alone */
extern const struct schema schema_partial_object, schema_object_draft;
extern const struct schema schema_condition, schema_label_selector, schema_delete_options;
extern const struct schema schema_list_meta, schema_status;

#endif

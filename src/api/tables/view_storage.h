/*
 * view_storage: the C views of PersistentVolumeClaim, PersistentVolume, StorageClass and of snapshots of volumes.
 *
 * What a volume is made of (a folder of the machine, a driver's handle) is read as a view; what only people read (mount
 * options, topologies) is served and kept, and has no member.
 */
#ifndef BERTH_API_VIEW_STORAGE_H
#define BERTH_API_VIEW_STORAGE_H

#include "api/tables/view_core.h"

struct volume_amounts { /* VolumeResourceRequirements */
    struct quantity_map limits, requests;
};
struct claim_spec {
    struct str_list access_modes;
    struct label_selector *selector;
    struct volume_amounts *resources;
    struct str volume_name;
    struct str storage_class_name; /* p NULL: not said; "" is the class of no provisioner */
    struct str volume_mode;
    struct typed_reference *data_source, *data_source_ref;
};
struct claim_status {
    struct str phase; /* Pending, Bound, Lost */
    struct str_list access_modes;
    struct quantity_map capacity;
    struct condition_list conditions;
    struct quantity_map allocated_resources;
    struct str_map allocated_resource_statuses;
};
struct claim {
    struct meta *metadata;
    struct claim_spec *spec;
    struct claim_status *status;
};

struct local_volume {
    struct str path;
};
struct driver_volume { /* CSIPersistentVolumeSource */
    struct str driver, volume_handle;
    bool read_only;
};
struct volume_node_affinity {
    struct node_selector_view *required;
};
struct volume_spec {
    struct quantity_map capacity;
    struct host_path_volume *host_path;
    struct local_volume *local;
    struct driver_volume *csi;
    struct str_list access_modes;
    struct object_reference *claim_ref;
    struct str reclaim_policy, storage_class_name, volume_mode;
    struct volume_node_affinity *node_affinity;
};
struct volume_status {
    struct str phase; /* Pending, Available, Bound, Released, Failed */
    struct str message, reason;
    int64_t last_transition_ns;
};
struct persistent_volume {
    struct meta *metadata;
    struct volume_spec *spec;
    struct volume_status *status;
};

struct storage_class {
    struct meta *metadata;
    struct str provisioner, reclaim_policy, volume_binding_mode;
    struct opt_bool allow_volume_expansion;
};

struct snapshot_error {
    int64_t time_ns;
    struct str message;
};
struct snapshot_source {
    struct str claim_name, content_name;
};
struct snapshot_spec {
    struct snapshot_source *source;
    struct str class_name;
};
struct snapshot_status {
    struct str content_name;
    int64_t creation_ns;
    struct opt_bool ready_to_use;
    struct opt_quantity restore_size;
    struct snapshot_error *error;
};
struct snapshot {
    struct meta *metadata;
    struct snapshot_spec *spec;
    struct snapshot_status *status;
};
struct snapshot_class {
    struct meta *metadata;
    struct str driver, deletion_policy;
};
struct snapshot_content_source {
    struct str volume_handle, snapshot_handle;
};
struct snapshot_content_spec {
    struct object_reference *snapshot_ref;
    struct str deletion_policy, driver, class_name;
    struct snapshot_content_source *source;
};
struct snapshot_content_status {
    struct str snapshot_handle;
    int64_t creation_ns; /* a number on the wire */
    struct opt_i64 restore_size;
    struct opt_bool ready_to_use;
    struct snapshot_error *error;
};
struct snapshot_content {
    struct meta *metadata;
    struct snapshot_content_spec *spec;
    struct snapshot_content_status *status;
};

extern const struct schema schema_claim, schema_persistent_volume, schema_storage_class;
extern const struct schema schema_volume_snapshot, schema_volume_snapshot_class;
extern const struct schema schema_volume_snapshot_content;

#endif

/*
 * table_storage: the fields of PersistentVolumeClaim, PersistentVolume and StorageClass.
 *
 * Of the many things that a PersistentVolume may be made of on clusters, a machine has three: a folder of its own
 * (hostPath, local) and what the local driver keeps (csi). The others are not known here, so that nobody waits for
 * them.
 */
#include "api/tables/view_storage.h"

#include "api/tables/table.h"

static const char *const access_modes[] = {
    "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", NULL,
};
static const char *const volume_modes[] = {"Block", "Filesystem", NULL};
static const char *const reclaim_policies[] = {"Delete", "Retain", NULL};
static const char *const binding_modes[] = {"Immediate", "WaitForFirstConsumer", NULL};

#define HEAD(view_)                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),  \
        F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),                                   \
        M(view_, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,                         \
          .doc = "Standard object metadata.")

/* ---- PersistentVolumeClaim ---- */

static const struct field volume_resource_requirements_fields[] = {
    M(volume_amounts, limits, QUANTITY, MAP, "limits", 1, .doc = "Upper limits, by resource."),
    M(volume_amounts, requests, QUANTITY, MAP, "requests", 2,
      .doc = "Amounts that are asked for, by resource."),
};
static const struct schema schema_volume_resource_requirements =
    SCHEMA("io.k8s.api.core.v1.VolumeResourceRequirements", volume_resource_requirements_fields,
           sizeof(struct volume_amounts), NULL);

static const struct field claim_spec_fields[] = {
    M(claim_spec, access_modes, STRING, LIST, "accessModes", 1, .flags = FIELD_F_ATOMIC,
      .values = access_modes, .doc = "How the volume may be mounted."),
    M(claim_spec, selector, OBJECT, ONE, "selector", 4, .of = &schema_label_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Labels of volumes that may be bound."),
    M(claim_spec, resources, OBJECT, ONE, "resources", 2,
      .of = &schema_volume_resource_requirements, .doc = "The size that is asked for."),
    M(claim_spec, volume_name, STRING, ONE, "volumeName", 3, .doc = "Name of the bound volume."),
    M(claim_spec, storage_class_name, STRING, ONE, "storageClassName", 5, .flags = FIELD_F_OPT,
      .doc = "StorageClass; the default one unless set, none of them where it is empty."),
    M(claim_spec, volume_mode, STRING, ONE, "volumeMode", 6, .flags = FIELD_F_OPT,
      .def = "\"Filesystem\"", .values = volume_modes,
      .doc = "Filesystem, or Block, which no volume of this machine is."),
    M(claim_spec, data_source, OBJECT, ONE, "dataSource", 7,
      .of = &schema_typed_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "VolumeSnapshot or PersistentVolumeClaim that the volume begins as a copy of."),
    M(claim_spec, data_source_ref, OBJECT, ONE, "dataSourceRef", 8,
      .of = &schema_typed_object_reference,
      .flags = FIELD_F_OPT, .doc = "The same as dataSource."),
    F(STRING, ONE, "volumeAttributesClassName", 9, .flags = FIELD_F_OPT,
      .doc = "VolumeAttributesClass, which no volume of this machine has."),
};
const struct schema schema_claim_spec =
    SCHEMA("io.k8s.api.core.v1.PersistentVolumeClaimSpec", claim_spec_fields,
           sizeof(struct claim_spec), NULL);

static const struct field claim_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "True, False or Unknown."),
    M(condition, last_probe_ns, TIME, ONE, "lastProbeTime", 3, .doc = "Time of the last look."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 4,
      .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 5, .doc = "Reason, one CamelCase word."),
    M(condition, message, STRING, ONE, "message", 6, .doc = "Human-readable message."),
};
static const struct schema schema_claim_condition =
    SCHEMA("io.k8s.api.core.v1.PersistentVolumeClaimCondition", claim_condition_fields,
           sizeof(struct condition), NULL);

static const struct field claim_status_fields[] = {
    M(claim_status, phase, STRING, ONE, "phase", 1, .doc = "Pending, Bound or Lost."),
    M(claim_status, access_modes, STRING, LIST, "accessModes", 2, .flags = FIELD_F_ATOMIC,
      .doc = "How the bound volume may be mounted."),
    M(claim_status, capacity, QUANTITY, MAP, "capacity", 3, .doc = "Size of the bound volume."),
    M(claim_status, conditions, OBJECT, LIST, "conditions", 4, .of = &schema_claim_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Conditions: Resizing while the volume is made larger."),
    M(claim_status, allocated_resources, QUANTITY, MAP, "allocatedResources", 5,
      .doc = "The size that is being given to the volume."),
    M(claim_status, allocated_resource_statuses, STRING, MAP, "allocatedResourceStatuses", 7,
      .doc = "How far a change of size is."),
    F(STRING, ONE, "currentVolumeAttributesClassName", 8, .flags = FIELD_F_OPT,
      .doc = "VolumeAttributesClass of the volume."),
};
static const struct schema schema_claim_status =
    SCHEMA("io.k8s.api.core.v1.PersistentVolumeClaimStatus", claim_status_fields,
           sizeof(struct claim_status), NULL);

static const struct field claim_fields[] = {
    HEAD(claim),
    M(claim, spec, OBJECT, ONE, "spec", 2, .of = &schema_claim_spec,
      .doc = "Desired state, set by the user."),
    M(claim, status, OBJECT, ONE, "status", 3, .of = &schema_claim_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_claim =
    SCHEMA("io.k8s.api.core.v1.PersistentVolumeClaim", claim_fields, sizeof(struct claim),
           "Storage that outlives the pods that mount it.");

/* ---- PersistentVolume ---- */

static const struct field local_volume_fields[] = {
    M(local_volume, path, STRING, ONE, "path", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Folder of the node, below the one that --host-path names."),
    F(STRING, ONE, "fsType", 2, .flags = FIELD_F_OPT,
      .doc = "File system to mount, which a folder has none of."),
};
static const struct schema schema_local_volume =
    SCHEMA("io.k8s.api.core.v1.LocalVolumeSource", local_volume_fields, sizeof(struct local_volume),
           NULL);

static const struct field driver_volume_fields[] = {
    M(driver_volume, driver, STRING, ONE, "driver", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .format = "dns1123-subdomain",
      .doc = "Driver that keeps the volume: local.berth.dev."),
    M(driver_volume, volume_handle, STRING, ONE, "volumeHandle", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .format = "dns1123-subdomain",
      .doc = "The driver's name of the volume: its folder below volumes/ of the data folder."),
    M(driver_volume, read_only, BOOL, ONE, "readOnly", 3,
      .doc = "Whether the volume is mounted read-only."),
    F(STRING, ONE, "fsType", 4, .doc = "File system to mount, which a folder has none of."),
    F(STRING, MAP, "volumeAttributes", 5, .doc = "Notes of the driver."),
};
static const struct schema schema_driver_volume =
    SCHEMA("io.k8s.api.core.v1.CSIPersistentVolumeSource", driver_volume_fields,
           sizeof(struct driver_volume), NULL);

static const struct field volume_node_affinity_fields[] = {
    M(volume_node_affinity, required, OBJECT, ONE, "required", 1,
      .of = &schema_node_selector, .flags = FIELD_F_OPT, .doc = "Nodes that have it."),
};
static const struct schema schema_volume_node_affinity =
    SCHEMA("io.k8s.api.core.v1.VolumeNodeAffinity", volume_node_affinity_fields,
           sizeof(struct volume_node_affinity), NULL);

static const struct field volume_spec_fields[] = {
    M(volume_spec, capacity, QUANTITY, MAP, "capacity", 1, .doc = "Size of the volume."),
    M(volume_spec, host_path, OBJECT, ONE, "hostPath", 3, .of = &schema_host_path_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "A folder of the node."),
    M(volume_spec, local, OBJECT, ONE, "local", 20, .of = &schema_local_volume,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "A folder of one node."),
    M(volume_spec, csi, OBJECT, ONE, "csi", 22, .of = &schema_driver_volume, .flags = FIELD_F_OPT,
      .proto_in = 2, .doc = "A volume that the local driver keeps."),
    M(volume_spec, access_modes, STRING, LIST, "accessModes", 3, .flags = FIELD_F_ATOMIC,
      .values = access_modes, .doc = "How the volume may be mounted."),
    M(volume_spec, claim_ref, OBJECT, ONE, "claimRef", 4, .of = &schema_object_reference,
      .flags = FIELD_F_OPT, .doc = "Claim that has it, or is to have it."),
    M(volume_spec, reclaim_policy, STRING, ONE, "persistentVolumeReclaimPolicy", 5,
      .def = "\"Retain\"", .values = reclaim_policies,
      .doc = "What becomes of it when its claim is gone."),
    M(volume_spec, storage_class_name, STRING, ONE, "storageClassName", 6,
      .doc = "StorageClass it belongs to."),
    F(STRING, LIST, "mountOptions", 7, .flags = FIELD_F_ATOMIC,
      .doc = "Options of the mount, which folders have none of."),
    M(volume_spec, volume_mode, STRING, ONE, "volumeMode", 8, .flags = FIELD_F_OPT,
      .def = "\"Filesystem\"", .values = volume_modes, .doc = "Filesystem or Block."),
    M(volume_spec, node_affinity, OBJECT, ONE, "nodeAffinity", 9,
      .of = &schema_volume_node_affinity, .flags = FIELD_F_OPT, .doc = "Nodes that have it."),
};
static const struct schema schema_volume_spec =
    SCHEMA("io.k8s.api.core.v1.PersistentVolumeSpec", volume_spec_fields,
           sizeof(struct volume_spec), NULL);

static const struct field volume_status_fields[] = {
    M(volume_status, phase, STRING, ONE, "phase", 1,
      .doc = "Pending, Available, Bound, Released or Failed."),
    M(volume_status, message, STRING, ONE, "message", 2, .doc = "Why it is in that phase."),
    M(volume_status, reason, STRING, ONE, "reason", 3, .doc = "Reason, one CamelCase word."),
    M(volume_status, last_transition_ns, TIME, ONE, "lastPhaseTransitionTime", 4,
      .flags = FIELD_F_OPT, .doc = "Time of the last change of phase."),
};
static const struct schema schema_volume_status =
    SCHEMA("io.k8s.api.core.v1.PersistentVolumeStatus", volume_status_fields,
           sizeof(struct volume_status), NULL);

static const struct field persistent_volume_fields[] = {
    HEAD(persistent_volume),
    M(persistent_volume, spec, OBJECT, ONE, "spec", 2, .of = &schema_volume_spec,
      .doc = "Desired state, set by the user."),
    M(persistent_volume, status, OBJECT, ONE, "status", 3, .of = &schema_volume_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_persistent_volume =
    SCHEMA("io.k8s.api.core.v1.PersistentVolume", persistent_volume_fields,
           sizeof(struct persistent_volume), "A piece of storage that a claim may have.");

/* ---- StorageClass ---- */

static const struct field topology_requirement_fields[] = {
    F(STRING, ONE, "key", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key of a label."),
    F(STRING, LIST, "values", 2, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Values, of which one must be there."),
};
static const struct schema schema_topology_requirement =
    SCHEMA("io.k8s.api.core.v1.TopologySelectorLabelRequirement", topology_requirement_fields, 0,
           NULL);
static const struct field topology_term_fields[] = {
    F(OBJECT, LIST, "matchLabelExpressions", 1, .of = &schema_topology_requirement,
      .flags = FIELD_F_ATOMIC, .doc = "Conditions that must all hold."),
};
static const struct schema schema_topology_term =
    ATOMIC_SCHEMA("io.k8s.api.core.v1.TopologySelectorTerm", topology_term_fields, 0, NULL);

static const struct field storage_class_fields[] = {
    HEAD(storage_class),
    M(storage_class, provisioner, STRING, ONE, "provisioner", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Who makes its volumes: berth.dev/local, or nobody here."),
    F(STRING, MAP, "parameters", 3, .doc = "Parameters of the provisioner."),
    M(storage_class, reclaim_policy, STRING, ONE, "reclaimPolicy", 4, .flags = FIELD_F_OPT,
      .def = "\"Delete\"", .values = reclaim_policies,
      .doc = "What becomes of its volumes when their claims are gone."),
    F(STRING, LIST, "mountOptions", 5, .flags = FIELD_F_ATOMIC, .doc = "Options of the mounts."),
    M(storage_class, allow_volume_expansion, BOOL, ONE, "allowVolumeExpansion", 6,
      .flags = FIELD_F_OPT, .doc = "Whether its claims may be made larger."),
    M(storage_class, volume_binding_mode, STRING, ONE, "volumeBindingMode", 7,
      .flags = FIELD_F_OPT, .def = "\"Immediate\"", .values = binding_modes,
      .doc = "Whether a volume is made at once, or where the first pod that needs it is placed."),
    F(OBJECT, LIST, "allowedTopologies", 8, .of = &schema_topology_term, .flags = FIELD_F_ATOMIC,
      .doc = "Where its volumes may be made."),
};
const struct schema schema_storage_class =
    SCHEMA("io.k8s.api.storage.v1.StorageClass", storage_class_fields, sizeof(struct storage_class),
           "A kind of storage that claims may name.");

/*
 * table_snapshot: the fields of VolumeSnapshot, VolumeSnapshotClass and VolumeSnapshotContent, as the CSI snapshotter
 * has them.
 */
#include "api/tables/view_storage.h"

#include "api/tables/table.h"

static const char *const deletion_policies[] = {"Delete", "Retain", NULL};
static const char *const source_modes[] = {"Block", "Filesystem", NULL};

#define SNAPSHOT "com.github.kubernetes-csi.external-snapshotter.v1."
#define HEAD(view_)                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),  \
        F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),                                   \
        M(view_, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,                         \
          .doc = "Standard object metadata.")

static const struct field error_fields[] = {
    M(snapshot_error, time_ns, TIME, ONE, "time", 0, .doc = "Time of the error."),
    M(snapshot_error, message, STRING, ONE, "message", 0, .doc = "What went wrong."),
};
static const struct schema schema_snapshot_error =
    SCHEMA(SNAPSHOT "VolumeSnapshotError", error_fields, sizeof(struct snapshot_error), NULL);

/* ---- VolumeSnapshot ---- */

static const struct field source_fields[] = {
    M(snapshot_source, claim_name, STRING, ONE, "persistentVolumeClaimName", 0,
      .flags = FIELD_F_IMMUTABLE, .doc = "Claim of the namespace to take a snapshot of."),
    M(snapshot_source, content_name, STRING, ONE, "volumeSnapshotContentName", 0,
      .flags = FIELD_F_IMMUTABLE, .doc = "VolumeSnapshotContent that is there already."),
};
static const struct schema schema_snapshot_source =
    SCHEMA(SNAPSHOT "VolumeSnapshotSource", source_fields, sizeof(struct snapshot_source), NULL);

static const struct field snapshot_spec_fields[] = {
    M(snapshot_spec, source, OBJECT, ONE, "source", 0, .of = &schema_snapshot_source,
      .flags = FIELD_F_REQUIRED, .doc = "What it is a snapshot of."),
    M(snapshot_spec, class_name, STRING, ONE, "volumeSnapshotClassName", 0,
      .doc = "VolumeSnapshotClass; the default one unless set."),
};
static const struct schema schema_snapshot_spec = SCHEMA(
    SNAPSHOT "VolumeSnapshotSpec", snapshot_spec_fields, sizeof(struct snapshot_spec), NULL);

static const struct field snapshot_status_fields[] = {
    M(snapshot_status, content_name, STRING, ONE, "boundVolumeSnapshotContentName", 0,
      .doc = "VolumeSnapshotContent that holds it."),
    M(snapshot_status, creation_ns, TIME, ONE, "creationTime", 0,
      .doc = "Time at which it was taken."),
    M(snapshot_status, ready_to_use, BOOL, ONE, "readyToUse", 0, .flags = FIELD_F_OPT,
      .doc = "Whether a claim can be made from it."),
    M(snapshot_status, restore_size, QUANTITY, ONE, "restoreSize", 0, .flags = FIELD_F_OPT,
      .doc = "Smallest size of a claim that is made from it."),
    M(snapshot_status, error, OBJECT, ONE, "error", 0, .of = &schema_snapshot_error,
      .doc = "The last error; it is tried again."),
};
static const struct schema schema_snapshot_status = SCHEMA(
    SNAPSHOT "VolumeSnapshotStatus", snapshot_status_fields, sizeof(struct snapshot_status), NULL);

static const struct field snapshot_fields[] = {
    HEAD(snapshot),
    M(snapshot, spec, OBJECT, ONE, "spec", 0, .of = &schema_snapshot_spec,
      .flags = FIELD_F_REQUIRED, .doc = "Desired state, set by the user."),
    M(snapshot, status, OBJECT, ONE, "status", 0, .of = &schema_snapshot_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_volume_snapshot =
    SCHEMA(SNAPSHOT "VolumeSnapshot", snapshot_fields, sizeof(struct snapshot),
           "A volume as it was at one moment, from which claims can be made.");

/* ---- VolumeSnapshotClass ---- */

static const struct field snapshot_class_fields[] = {
    HEAD(snapshot_class),
    M(snapshot_class, driver, STRING, ONE, "driver", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_KEEP_EMPTY,
      .doc = "Driver of its volumes: local.berth.dev."),
    F(STRING, MAP, "parameters", 0, .doc = "Parameters of the driver."),
    M(snapshot_class, deletion_policy, STRING, ONE, "deletionPolicy", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .values = deletion_policies,
      .doc = "What becomes of the contents when their snapshots are gone."),
};
const struct schema schema_volume_snapshot_class =
    SCHEMA(SNAPSHOT "VolumeSnapshotClass", snapshot_class_fields, sizeof(struct snapshot_class),
           "A kind of snapshots that VolumeSnapshots may name.");

/* ---- VolumeSnapshotContent ---- */

static const struct field content_source_fields[] = {
    M(snapshot_content_source, volume_handle, STRING, ONE, "volumeHandle", 0,
      .flags = FIELD_F_IMMUTABLE, .format = "dns1123-subdomain",
      .doc = "The driver's name of the volume to take a snapshot of."),
    M(snapshot_content_source, snapshot_handle, STRING, ONE, "snapshotHandle", 0,
      .flags = FIELD_F_IMMUTABLE, .format = "dns1123-subdomain",
      .doc = "The driver's name of a snapshot that is there already."),
};
static const struct schema schema_content_source =
    SCHEMA(SNAPSHOT "VolumeSnapshotContentSource", content_source_fields,
           sizeof(struct snapshot_content_source), NULL);

static const struct field content_spec_fields[] = {
    M(snapshot_content_spec, snapshot_ref, OBJECT, ONE, "volumeSnapshotRef", 0,
      .of = &schema_object_reference, .flags = FIELD_F_REQUIRED,
      .doc = "VolumeSnapshot that it is for."),
    M(snapshot_content_spec, deletion_policy, STRING, ONE, "deletionPolicy", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .values = deletion_policies,
      .doc = "What becomes of the files when it is deleted."),
    M(snapshot_content_spec, driver, STRING, ONE, "driver", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_KEEP_EMPTY,
      .doc = "Driver that keeps it: local.berth.dev."),
    M(snapshot_content_spec, class_name, STRING, ONE, "volumeSnapshotClassName", 0,
      .doc = "VolumeSnapshotClass it was made by."),
    M(snapshot_content_spec, source, OBJECT, ONE, "source", 0, .of = &schema_content_source,
      .flags = FIELD_F_REQUIRED, .doc = "What it is a snapshot of."),
    F(STRING, ONE, "sourceVolumeMode", 0, .values = source_modes, .flags = FIELD_F_IMMUTABLE,
      .doc = "Mode of the volume."),
};
static const struct schema schema_content_spec =
    SCHEMA(SNAPSHOT "VolumeSnapshotContentSpec", content_spec_fields,
           sizeof(struct snapshot_content_spec), NULL);

static const struct field content_status_fields[] = {
    M(snapshot_content_status, snapshot_handle, STRING, ONE, "snapshotHandle", 0,
      .doc = "The driver's name of the snapshot."),
    M(snapshot_content_status, creation_ns, INT64, ONE, "creationTime", 0,
      .doc = "Time at which it was taken, in nanoseconds since 1970."),
    M(snapshot_content_status, restore_size, INT64, ONE, "restoreSize", 0, .flags = FIELD_F_OPT,
      .max = INT64_MAX,
      .doc = "Smallest size of a claim that is made from it, in bytes."),
    M(snapshot_content_status, ready_to_use, BOOL, ONE, "readyToUse", 0, .flags = FIELD_F_OPT,
      .doc = "Whether a claim can be made from it."),
    M(snapshot_content_status, error, OBJECT, ONE, "error", 0, .of = &schema_snapshot_error,
      .doc = "The last error; it is tried again."),
};
static const struct schema schema_content_status =
    SCHEMA(SNAPSHOT "VolumeSnapshotContentStatus", content_status_fields,
           sizeof(struct snapshot_content_status), NULL);

static const struct field content_fields[] = {
    HEAD(snapshot_content),
    M(snapshot_content, spec, OBJECT, ONE, "spec", 0, .of = &schema_content_spec,
      .flags = FIELD_F_REQUIRED, .doc = "Desired state, set by whoever made it."),
    M(snapshot_content, status, OBJECT, ONE, "status", 0, .of = &schema_content_status,
      .doc = "Observed state, set by the node that has it."),
};
const struct schema schema_volume_snapshot_content =
    SCHEMA(SNAPSHOT "VolumeSnapshotContent", content_fields, sizeof(struct snapshot_content),
           "What holds a snapshot: the files behind a VolumeSnapshot.");

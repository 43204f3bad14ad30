/* kinds_snapshot: the rows of VolumeSnapshot, VolumeSnapshotClass and VolumeSnapshotContent, with their rules. */
#include "api/tables/view_storage.h"

#include "api/kinds/kinds.h"
#include "api/tables/storage.h"

#define GROUP "snapshot.storage.k8s.io"

#define COLUMN_CRD_AGE                                                                             \
    {                                                                                              \
        .name = "Age", .type = "date", .path = "metadata.creationTimestamp",                       \
        .doc = "How long ago the object was created."                                              \
    }
#define ROW(kind_, plural_, singular_, flags_, schema_, columns_, check_, prepare_, ...)           \
    {                                                                                              \
        .group = GROUP, .kind = kind_, .plural = plural_, .singular = singular_,                   \
        .api_version = GROUP "/v1", .short_names = (const char *const[]){__VA_ARGS__, NULL},       \
        .flags = KIND_GENERATION | (flags_),                                                       \
        .versions = &(const struct kind_version){.version = "v1", .schema = &schema_},             \
        .n_versions = 1, .columns = columns_, .n_columns = COUNT(columns_), .check = check_,       \
        .prepare = prepare_                                                                        \
    }

static void one_source(yyjson_mut_val *obj, const char *a, const char *b, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "source");
    yyjson_mut_val *source = json_mpath(obj, "spec.source");
    bool has_a = json_mstr_at(source, a).n > 0, has_b = json_mstr_at(source, b).n > 0;
    if (has_a == has_b) {
        cause_invalid_json(c, &at, source, "exactly one of %s and %s must be set", a, b);
    }
}

static void snapshot_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    one_source(obj, "persistentVolumeClaimName", "volumeSnapshotContentName", c);
}

static void no_parameters(yyjson_mut_val *obj, struct causes *c) {
    struct path at = path_member(NULL, "parameters");
    if (str_is(json_mstr_at(obj, "driver"), STORAGE_DRIVER) &&
        yyjson_mut_obj_size(json_mget(obj, STR("parameters"))) > 0) {
        cause_forbidden(c, &at, "the driver " STORAGE_DRIVER " has no parameters");
    }
}

static void class_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    no_parameters(obj, c);
}

static void content_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), ref_at = path_member(&spec, "volumeSnapshotRef");
    yyjson_mut_val *ref = json_mpath(obj, "spec.volumeSnapshotRef");
    (void)old;
    one_source(obj, "volumeHandle", "snapshotHandle", c);
    if (json_mstr_at(ref, "name").n == 0 || json_mstr_at(ref, "namespace").n == 0) {
        cause_invalid_json(c, &ref_at, ref,
                           "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace "
                           "must be set");
    }
}

static const struct column snapshot_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("ReadyToUse", "boolean", 0, "status.readyToUse",
                "Whether a claim can be made from it."),
    COLUMN_PATH("SourcePVC", "string", 0, "spec.source.persistentVolumeClaimName",
                "Claim it is a snapshot of."),
    COLUMN_PATH("SourceSnapshotContent", "string", 0, "spec.source.volumeSnapshotContentName",
                "Content that was there already."),
    COLUMN_PATH("RestoreSize", "string", 0, "status.restoreSize",
                "Smallest size of a claim that is made from it."),
    COLUMN_PATH("SnapshotClass", "string", 0, "spec.volumeSnapshotClassName",
                "VolumeSnapshotClass it belongs to."),
    COLUMN_PATH("SnapshotContent", "string", 0, "status.boundVolumeSnapshotContentName",
                "Content that holds it."),
    COLUMN_PATH("CreationTime", "date", 0, "status.creationTime", "Time at which it was taken."),
    COLUMN_CRD_AGE,
};
const struct kind kind_volume_snapshot =
    ROW("VolumeSnapshot", "volumesnapshots", "volumesnapshot", KIND_NAMESPACED | KIND_STATUS,
        schema_volume_snapshot, snapshot_columns, snapshot_check, prepare_status, "vs");

static const struct column class_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Driver", "string", 0, "driver", "Driver of its volumes."),
    COLUMN_PATH("DeletionPolicy", "string", 0, "deletionPolicy",
                "What becomes of the contents when their snapshots are gone."),
    COLUMN_CRD_AGE,
};
const struct kind kind_volume_snapshot_class =
    ROW("VolumeSnapshotClass", "volumesnapshotclasses", "volumesnapshotclass", 0,
        schema_volume_snapshot_class, class_columns, class_check, NULL, "vsclass", "vsclasses");

static const struct column content_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("ReadyToUse", "boolean", 0, "status.readyToUse",
                "Whether a claim can be made from it."),
    COLUMN_PATH("RestoreSize", "integer", 0, "status.restoreSize",
                "Smallest size of a claim that is made from it, in bytes."),
    COLUMN_PATH("DeletionPolicy", "string", 0, "spec.deletionPolicy",
                "What becomes of the files when it is deleted."),
    COLUMN_PATH("Driver", "string", 0, "spec.driver", "Driver that keeps it."),
    COLUMN_PATH("VolumeSnapshotClass", "string", 0, "spec.volumeSnapshotClassName",
                "VolumeSnapshotClass it was made by."),
    COLUMN_PATH("VolumeSnapshot", "string", 0, "spec.volumeSnapshotRef.name",
                "VolumeSnapshot that it is for."),
    COLUMN_PATH("VolumeSnapshotNamespace", "string", 0, "spec.volumeSnapshotRef.namespace",
                "Namespace of that."),
    COLUMN_CRD_AGE,
};
const struct kind kind_volume_snapshot_content = ROW(
    "VolumeSnapshotContent", "volumesnapshotcontents", "volumesnapshotcontent", KIND_STATUS,
    schema_volume_snapshot_content, content_columns, content_check, prepare_status, "vsc", "vscs");

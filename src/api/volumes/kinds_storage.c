/* kinds_storage: the rows of PersistentVolumeClaim, PersistentVolume and StorageClass; their rules: storage_check.c. */
#include "api/tables/view_storage.h"

#include "api/kinds/kinds.h"
#include "api/tables/storage.h"

/* Adds a finalizer to what is created, so that it stays until whoever uses it is gone. */
static void protect(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *finalizer) {
    yyjson_mut_val *meta = json_mensure(d, obj, "metadata");
    yyjson_mut_val *list = json_mget(meta, STR("finalizers"));
    if (json_mfind(list, NULL, str_of(finalizer)) != NULL) {
        return;
    }
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        json_mset(d, meta, STR("finalizers"), list);
    }
    yyjson_mut_arr_add_str(d, list, finalizer);
}

static void begin(yyjson_mut_doc *d, yyjson_mut_val *obj) {
    json_mdel(obj, STR("status"));
    json_mset_str(d, json_mensure(d, obj, "status"), "phase", STR("Pending"));
}

/* "RWO,ROX,RWX,RWOP", in this order, as kubectl writes them. */
static void modes_cell(yyjson_val *list, struct buf *out) {
    static const char *const names[][2] = {{"ReadWriteOnce", "RWO"},
                                           {"ReadOnlyMany", "ROX"},
                                           {"ReadWriteMany", "RWX"},
                                           {"ReadWriteOncePod", "RWOP"}};
    struct buf b;
    buf_init(&b, 0);
    for (size_t k = 0; k < COUNT(names); k++) {
        size_t i, n;
        yyjson_val *v;
        bool has = false;
        yyjson_arr_foreach(list, i, n, v) {
            has = has || str_is(json_str(v), names[k][0]);
        }
        if (has) {
            buf_f(&b, "%s%s", b.n ? "," : "", names[k][1]);
        }
    }
    buf_json(out, buf_view(&b));
    buf_release(&b);
}

static void text_or(struct buf *out, struct str s, const char *otherwise) {
    buf_json(out, s.n > 0 ? s : str_of(otherwise));
}

static struct str storage_of(yyjson_val *amounts) {
    return json_str(json_get(amounts, STR("storage")));
}

/* ---- PersistentVolumeClaim ---- */

static void claim_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    (void)now;
    if (old == NULL) {
        protect(d, obj, STORAGE_CLAIM_PROTECTION);
        begin(d, obj);
    }
}

/* dataSource and dataSourceRef say the same, whichever of them was written. */
static void claim_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *source = json_mget(spec, STR("dataSource")),
                   *ref = json_mget(spec, STR("dataSourceRef"));
    int r = 0;
    if (source != NULL && ref == NULL) {
        r = json_mset(d, spec, STR("dataSourceRef"), yyjson_mut_val_mut_copy(d, source));
    } else if (ref != NULL && source == NULL && json_mget(ref, STR("namespace")) == NULL) {
        r = json_mset(d, spec, STR("dataSource"), yyjson_mut_val_mut_copy(d, ref));
    }
    if (r != 0) {
        err_set(err, ERR_NOMEM, "out of memory");
    }
}

static void claim_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    yyjson_val *status = json_get(obj, STR("status")), *spec = json_get(obj, STR("spec"));
    bool bound = json_str_at(spec, "volumeName").n > 0;
    yyjson_val *class = json_get(spec, STR("storageClassName"));
    switch (i) {
    case 1:
        buf_json(out, json_path(obj, "metadata.deletionTimestamp") ? STR("Terminating")
                                                                   : json_str_at(status, "phase"));
        break;
    case 2:
        buf_json(out, json_str_at(spec, "volumeName"));
        break;
    case 3:
        buf_json(out, bound ? storage_of(json_get(status, STR("capacity"))) : STR(""));
        break;
    case 4:
        modes_cell(bound ? json_get(status, STR("accessModes")) : NULL, out);
        break;
    case 5:
        buf_json(out, json_str(class));
        break;
    case 6:
        text_or(out, json_str_at(spec, "volumeAttributesClassName"), "<unset>");
        break;
    default:
        text_or(out, json_str_at(spec, "volumeMode"), "<unset>");
        break;
    }
}

static const struct column claim_columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", 0, "Pending, Bound or Lost; Terminating once deleted."),
    COLUMN("Volume", "string", 0, "Name of the bound volume."),
    COLUMN("Capacity", "string", 0, "Size of the bound volume."),
    COLUMN("Access Modes", "string", 0, "How the bound volume may be mounted."),
    COLUMN("StorageClass", "string", 0, "StorageClass of the claim."),
    COLUMN("VolumeAttributesClass", "string", 0, "VolumeAttributesClass of the claim."),
    COLUMN_AGE,
    COLUMN("VolumeMode", "string", 1, "Filesystem or Block."),
};
const struct kind kind_persistent_volume_claim = {
    .group = "",
    .kind = "PersistentVolumeClaim",
    .plural = "persistentvolumeclaims",
    .singular = "persistentvolumeclaim",
    .short_names = (const char *const[]){"pvc", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_RETURNS_DELETED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_claim},
    .n_versions = 1,
    .columns = claim_columns,
    .n_columns = COUNT(claim_columns),
    .set_defaults = claim_defaults,
    .prepare = claim_prepare,
    .check = claim_check,
    .cell = claim_cell,
};

/* ---- PersistentVolume ---- */

static void volume_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    (void)now;
    if (old == NULL) {
        protect(d, obj, STORAGE_VOLUME_PROTECTION);
        begin(d, obj);
    }
}

static void volume_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    yyjson_val *spec = json_get(obj, STR("spec")), *claim = json_get(spec, STR("claimRef"));
    struct buf b;
    switch (i) {
    case 1:
        buf_json(out, storage_of(json_get(spec, STR("capacity"))));
        break;
    case 2:
        modes_cell(json_get(spec, STR("accessModes")), out);
        break;
    case 4:
        buf_json(out, json_path(obj, "metadata.deletionTimestamp")
                          ? STR("Terminating")
                          : json_str_at(obj, "status.phase"));
        break;
    case 5:
        buf_init(&b, 0);
        if (claim != NULL) {
            buf_str(&b, json_str_at(claim, "namespace"));
            buf_ch(&b, '/');
            buf_str(&b, json_str_at(claim, "name"));
        }
        buf_json(out, buf_view(&b));
        buf_release(&b);
        break;
    case 6:
        buf_json(out, json_str_at(spec, "storageClassName"));
        break;
    case 7:
        buf_c(out, "\"<unset>\"");
        break;
    case 8:
        buf_json(out, json_str_at(obj, "status.reason"));
        break;
    default:
        text_or(out, json_str_at(spec, "volumeMode"), "<unset>");
        break;
    }
}

static const struct column volume_columns[] = {
    COLUMN_NAME,
    COLUMN("Capacity", "string", 0, "Size of the volume."),
    COLUMN("Access Modes", "string", 0, "How the volume may be mounted."),
    COLUMN_PATH("Reclaim Policy", "string", 0, "spec.persistentVolumeReclaimPolicy",
                "What becomes of it when its claim is gone."),
    COLUMN("Status", "string", 0,
           "Available, Bound, Released or Failed; Terminating once deleted."),
    COLUMN("Claim", "string", 0, "Claim that has it."),
    COLUMN("StorageClass", "string", 0, "StorageClass it belongs to."),
    COLUMN("VolumeAttributesClass", "string", 0, "VolumeAttributesClass of the volume."),
    COLUMN("Reason", "string", 0, "Why it is in that status."),
    COLUMN_AGE,
    COLUMN("VolumeMode", "string", 1, "Filesystem or Block."),
};
const struct kind kind_persistent_volume = {
    .group = "",
    .kind = "PersistentVolume",
    .plural = "persistentvolumes",
    .singular = "persistentvolume",
    .short_names = (const char *const[]){"pv", NULL},
    .flags = KIND_STATUS | KIND_RETURNS_DELETED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_persistent_volume},
    .n_versions = 1,
    .columns = volume_columns,
    .n_columns = COUNT(volume_columns),
    .prepare = volume_prepare,
    .check = volume_check,
    .cell = volume_cell,
};

/* ---- StorageClass ---- */

static void class_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    yyjson_val *notes = json_path(obj, "metadata.annotations");
    if (i == 0) {
        bool is_default = str_is(json_str(json_get(notes, STR(STORAGE_DEFAULT_CLASS))), "true");
        struct str name = json_str_at(obj, "metadata.name");
        cell_f(out, "%.*s%s", STR_ARG(name), is_default ? " (default)" : "");
    } else {
        buf_c(out, json_bool_at(obj, "allowVolumeExpansion", false) ? "true" : "false");
    }
}

static const struct column class_columns[] = {
    {.name = "Name", .type = "string", .format = "name", .doc = "Name of the class."},
    COLUMN_PATH("Provisioner", "string", 0, "provisioner", "Who makes its volumes."),
    COLUMN_PATH("ReclaimPolicy", "string", 0, "reclaimPolicy",
                "What becomes of its volumes when their claims are gone."),
    COLUMN_PATH("VolumeBindingMode", "string", 0, "volumeBindingMode",
                "When its volumes are made."),
    COLUMN("AllowVolumeExpansion", "boolean", 0, "Whether its claims may be made larger."),
    COLUMN_AGE,
};
const struct kind kind_storage_class = {
    .group = "storage.k8s.io",
    .kind = "StorageClass",
    .plural = "storageclasses",
    .singular = "storageclass",
    .api_version = "storage.k8s.io/v1",
    .short_names = (const char *const[]){"sc", NULL},
    .flags = KIND_RETURNS_DELETED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_storage_class},
    .n_versions = 1,
    .columns = class_columns,
    .n_columns = COUNT(class_columns),
    .check = storage_class_check,
    .cell = class_cell,
};

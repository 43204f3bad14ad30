/*
 * storage_check: the rules of PersistentVolumeClaim, PersistentVolume and StorageClass, in Kubernetes' words.
 *
 * What the machine's volumes can never be (block devices, another driver's, with options of a mount) is refused here,
 * so that nobody waits for it.
 */
#include "api/kinds/kinds.h"
#include "api/tables/storage.h"
#include "wire/text/quantity.h"

#define MODE_ALONE "may not use ReadWriteOncePod with other access modes"
#define NO_BLOCK "volumes of this machine are folders: Block is not supported"

/* ---- what claims and volumes have in common ---- */

static void check_modes(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "accessModes");
    yyjson_mut_val *modes = json_mget(spec, STR("accessModes"));
    if (!check_size(modes, &here, c)) {
        return;
    }
    if (yyjson_mut_arr_size(modes) == 0) {
        cause_required(c, &here, "at least 1 access mode is required");
    } else if (yyjson_mut_arr_size(modes) > 1 &&
               json_mfind(modes, NULL, STR("ReadWriteOncePod")) != NULL) {
        cause_forbidden(c, &here, MODE_ALONE);
    }
}

/* `storage` of a map of amounts, which must be there and more than nothing. */
static void check_storage(yyjson_mut_val *amounts, const struct path *at, struct causes *c) {
    struct path here = path_key(at, STR("storage"));
    yyjson_mut_val *v = json_mget(amounts, STR("storage"));
    struct quantity q;
    if (v == NULL) {
        cause_required(c, &here, NULL);
    } else if (quantity_parse(json_mstr(v), &q, NULL) == 0 && quantity_sign(q) <= 0) {
        cause_invalid(c, &here, json_mstr(v), "must be greater than zero");
    } else if (quantity_parse(json_mstr(v), &q, NULL) == 0 && quantity_value(q) == INT64_MAX) {
        cause_invalid(c, &here, json_mstr(v), "must be less than 8Ei");
    }
}

static void check_mode_of_volume(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "volumeMode");
    if (str_is(json_mstr_at(spec, "volumeMode"), "Block")) {
        cause_forbidden(c, &here, NO_BLOCK);
    }
}

static void check_class_name(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "storageClassName");
    struct str name = json_mstr_at(spec, "storageClassName");
    const char *fault = name.n > 0 ? format_fault("dns1123-subdomain", name) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &here, name, "%s", fault);
    }
}

/* ---- PersistentVolumeClaim ---- */

static void check_source(yyjson_mut_val *source, const struct path *at, struct causes *c) {
    struct path name_at = path_member(at, "name"), kind_at = path_member(at, "kind");
    struct path group_at = path_member(at, "apiGroup"), ns_at = path_member(at, "namespace");
    struct str group = json_mstr_at(source, "apiGroup"), kind = json_mstr_at(source, "kind");
    if (source == NULL) {
        return;
    }
    if (json_mstr_at(source, "name").n == 0) {
        cause_required(c, &name_at, NULL);
    }
    if (kind.n == 0) {
        cause_required(c, &kind_at, NULL);
    } else if (group.n == 0 && !str_is(kind, "PersistentVolumeClaim")) {
        cause_invalid(c, at, kind,
                      "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    } else if (group.n > 0 &&
               !(str_is(group, "snapshot.storage.k8s.io") && str_is(kind, "VolumeSnapshot"))) {
        cause_invalid(c, &group_at, group,
                      "volumes are made from a VolumeSnapshot of snapshot.storage.k8s.io or a "
                      "PersistentVolumeClaim");
    }
    if (json_mstr_at(source, "namespace").n > 0) {
        cause_forbidden(c, &ns_at, "volumes are made from what is in the claim's own namespace");
    }
}

static void check_claim_spec(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path resources = path_member(at, "resources"), selector = path_member(at, "selector");
    struct path source = path_member(at, "dataSource"), ref = path_member(at, "dataSourceRef");
    struct path attributes = path_member(at, "volumeAttributesClassName");
    struct path limits = path_member(&resources, "limits");
    check_modes(spec, at, c);
    check_storage(json_mpath(spec, "resources.requests"), &resources, c);
    if (json_mpath(spec, "resources.limits.storage") != NULL) {
        cause_forbidden(c, &limits,
                        "a claim's size is resources.requests.storage, at least and at "
                        "most");
    }
    check_selector(c, &selector, json_mget(spec, STR("selector")));
    check_class_name(spec, at, c);
    check_mode_of_volume(spec, at, c);
    yyjson_mut_val *a = json_mget(spec, STR("dataSource")),
                   *b = json_mget(spec, STR("dataSourceRef"));
    check_source(a, &source, c);
    if (a == NULL) {
        check_source(b, &ref, c);
    } else if (b == NULL || !json_mequal(a, b)) {
        cause_invalid(c, &source, json_mstr_at(a, "name"), "must match dataSourceRef");
    }
    if (json_mstr_at(spec, "volumeAttributesClassName").n > 0) {
        cause_forbidden(c, &attributes, "volumes of this machine have no attributes to choose");
    }
}

static int size_of(struct str text, struct quantity *ret) {
    return text.n > 0 ? quantity_parse(text, ret, NULL) : ERR_NOT_FOUND;
}

static void check_claim_change(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const may[] = {"resources", "volumeName", "storageClassName", NULL};
    struct path at = path_member(NULL, "spec"), resources = path_member(&at, "resources");
    struct path requests = path_member(&resources, "requests");
    struct path size = path_member(&requests, "storage");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_val *was = json_get(old, STR("spec"));
    struct quantity now_size, old_size, has;
    bool bound = str_is(json_str_at(old, "status.phase"), "Bound");
    bool same = same_except(spec, was, may);
    same = same && (json_str_at(was, "volumeName").n == 0 ||
                    str_eq(json_str_at(was, "volumeName"), json_mstr_at(spec, "volumeName")));
    same = same && (json_get(was, STR("storageClassName")) == NULL ||
                    same_value(json_mget(spec, STR("storageClassName")),
                               json_get(was, STR("storageClassName"))));
    same = same && (bound ||
                    same_value(json_mget(spec, STR("resources")), json_get(was, STR("resources"))));
    if (!same) {
        cause_forbidden(c, &at,
                        "spec is immutable after creation except resources.requests and "
                        "volumeAttributesClassName for bound claims");
    }
    if (size_of(json_mstr_at(spec, "resources.requests.storage"), &now_size) == 0 &&
        size_of(json_str_at(was, "resources.requests.storage"), &old_size) == 0 &&
        quantity_cmp(now_size, old_size) < 0 &&
        (size_of(json_str_at(old, "status.capacity.storage"), &has) != 0 ||
         quantity_cmp(now_size, has) <= 0)) {
        cause_forbidden(c, &size, "field can not be less than status.capacity");
    }
}

void claim_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    check_claim_spec(spec, at, c);
}

void claim_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec");
    if (c->status_alone) {
        return;
    }
    check_claim_spec(json_mget(obj, STR("spec")), &at, c);
    if (old != NULL) {
        check_claim_change(obj, old, c);
    }
}

/* ---- PersistentVolume ---- */

static const char *const sources[] = {"hostPath", "local", "csi", NULL};

static void check_path(yyjson_mut_val *source, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "path");
    struct str path = json_mstr_at(source, "path"), rest = path, part;
    if (path.n == 0) {
        cause_required(c, &here, NULL);
        return;
    }
    if (path.p[0] != '/') {
        cause_invalid(c, &here, path, "must be an absolute path");
    }
    while (str_next(&rest, '/', &part)) {
        if (str_is(part, "..")) {
            cause_invalid(c, &here, path, "must not contain '..'");
            return;
        }
    }
}

static void check_sources(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path host = path_member(at, "hostPath"), local = path_member(at, "local");
    struct path csi = path_member(at, "csi"), driver = path_member(&csi, "driver");
    struct path affinity = path_member(at, "nodeAffinity");
    struct path options = path_member(at, "mountOptions");
    size_t n = 0;
    for (size_t i = 0; sources[i] != NULL; i++) {
        struct path here = path_member(at, sources[i]);
        n += json_mget(spec, str_of(sources[i])) != NULL;
        if (n > 1) {
            cause_forbidden(c, &here, "may not specify more than 1 volume type");
            return;
        }
    }
    if (n == 0) {
        cause_required(c, at, "must specify a volume type: hostPath, local or csi");
    }
    if (json_mget(spec, STR("hostPath")) != NULL) {
        check_path(json_mget(spec, STR("hostPath")), &host, c);
    }
    if (json_mget(spec, STR("local")) != NULL) {
        check_path(json_mget(spec, STR("local")), &local, c);
        if (json_mpath(spec, "nodeAffinity.required") == NULL) {
            cause_required(c, &affinity, "Local volume requires node affinity");
        }
    }
    struct str name = json_mstr_at(spec, "csi.driver");
    if (name.n > 0 && !str_is(name, STORAGE_DRIVER)) {
        static const char *const drivers[] = {STORAGE_DRIVER, NULL};
        cause_unsupported(c, &driver, name, drivers);
    }
    if (yyjson_mut_arr_size(json_mget(spec, STR("mountOptions"))) > 0) {
        cause_forbidden(c, &options, "volumes of this machine are folders: they have no options");
    }
}

static void check_volume_change(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "persistentvolumesource");
    struct path affinity = path_member(&spec, "nodeAffinity"),
                mode = path_member(&spec, "volumeMode");
    for (size_t i = 0; sources[i] != NULL; i++) {
        if (!same_value(json_mget(json_mget(obj, STR("spec")), str_of(sources[i])),
                        json_get(json_get(old, STR("spec")), str_of(sources[i])))) {
            cause_forbidden(c, &at, "spec.persistentvolumesource is immutable after creation");
            break;
        }
    }
    check_immutable(c, &mode, json_mpath(obj, "spec.volumeMode"),
                    json_path(old, "spec.volumeMode"));
    if (json_path(old, "spec.nodeAffinity") != NULL) {
        check_immutable(c, &affinity, json_mpath(obj, "spec.nodeAffinity"),
                        json_path(old, "spec.nodeAffinity"));
    }
}

void volume_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const resources[] = {"storage", NULL};
    struct path at = path_member(NULL, "spec"), capacity = path_member(&at, "capacity");
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *amounts = json_mget(spec, STR("capacity"));
    if (c->status_alone) {
        return;
    }
    check_modes(spec, &at, c);
    if (yyjson_mut_obj_size(amounts) == 0) {
        cause_required(c, &capacity, NULL);
    } else if (yyjson_mut_obj_size(amounts) > 1 || json_mget(amounts, STR("storage")) == NULL) {
        cause_unsupported(c, &capacity, STR("capacity"), resources);
    } else {
        check_storage(amounts, &capacity, c);
    }
    check_sources(spec, &at, c);
    check_class_name(spec, &at, c);
    check_mode_of_volume(spec, &at, c);
    if (old != NULL) {
        check_volume_change(obj, old, c);
    }
}

/* ---- StorageClass ---- */

static void check_class_change(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const fixed[] = {"parameters", "provisioner", "reclaimPolicy", NULL};
    struct path mode = path_member(NULL, "volumeBindingMode");
    for (size_t i = 0; fixed[i] != NULL; i++) {
        struct path at = path_member(NULL, fixed[i]);
        if (!same_value(json_mget(obj, str_of(fixed[i])), json_get(old, str_of(fixed[i])))) {
            cause_invalid_json(c, &at, json_mget(obj, str_of(fixed[i])), "field is immutable");
        }
    }
    check_immutable(c, &mode, json_mget(obj, STR("volumeBindingMode")),
                    json_get(old, STR("volumeBindingMode")));
}

void storage_class_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const nothing[] = {"parameters", "mountOptions", "allowedTopologies", NULL};
    struct path maker = path_member(NULL, "provisioner");
    struct str provisioner = json_mstr_at(obj, "provisioner");
    const char *fault = provisioner.n > 0 ? format_fault("label-key", provisioner) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &maker, provisioner, "%s", fault);
    }
    bool ours = str_is(provisioner, STORAGE_PROVISIONER);
    for (size_t i = 0; ours && nothing[i] != NULL; i++) {
        struct path at = path_member(NULL, nothing[i]);
        yyjson_mut_val *v = json_mget(obj, str_of(nothing[i]));
        if (yyjson_mut_obj_size(v) + yyjson_mut_arr_size(v) > 0) {
            cause_forbidden(c, &at, "the provisioner " STORAGE_PROVISIONER " has no %s",
                            nothing[i]);
        }
    }
    if (old != NULL) {
        check_class_change(obj, old, c);
    }
}

/* kinds_replication: the rows of ReplicationController and PodTemplate, with the rules and texts of Kubernetes. */
#include "api/tables/view_apps.h"

#include "api/kinds/kinds.h"

/* ---- ReplicationController ---- */

/* Labels and selector are the template's where they are not said. */
static void replication_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *labels = json_mpath(obj, "spec.template.metadata.labels");
    pod_spec_defaults(d, json_mpath(obj, "spec.template.spec"));
    if (yyjson_mut_obj_size(labels) == 0) {
        return;
    }
    yyjson_mut_val *meta = json_mensure(d, obj, "metadata"), *spec = json_mensure(d, obj, "spec");
    bool bare = yyjson_mut_obj_size(json_mget(spec, STR("selector"))) == 0;
    bool unlabelled = yyjson_mut_obj_size(json_mget(meta, STR("labels"))) == 0;
    int r = bare ? json_mset(d, spec, STR("selector"), yyjson_mut_val_mut_copy(d, labels)) : 0;
    r = r == 0 && unlabelled ? json_mset(d, meta, STR("labels"), yyjson_mut_val_mut_copy(d, labels))
                             : r;
    if (r != 0) {
        err_set(err, ERR_NOMEM, "out of memory");
    }
}

/* Whether every label of the selector is one of the template's. */
static bool template_matches(yyjson_mut_val *selector, yyjson_mut_val *labels) {
    size_t i, n;
    yyjson_mut_val *key, *v;
    yyjson_mut_obj_foreach(selector, i, n, key, v) {
        yyjson_mut_val *own = json_mget(labels, json_mstr(key));
        if (own == NULL || !str_eq(json_mstr(own), json_mstr(v))) {
            return false;
        }
    }
    return true;
}

static void replication_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), selector_at = path_member(&at, "selector");
    struct path template = path_member(&at, "template"), meta = path_member(&template, "metadata");
    struct path labels_at = path_member(&meta, "labels");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *selector = json_mget(spec, STR("selector"));
    yyjson_mut_val *labels = json_mpath(spec, "template.metadata.labels");
    (void)old;
    if (c->status_alone) {
        return;
    }
    if (yyjson_mut_obj_size(selector) == 0) {
        cause_required(c, &selector_at, NULL);
    } else if (check_size(selector, &selector_at, c) && check_size(labels, &labels_at, c) &&
               !template_matches(selector, labels)) {
        cause_invalid_json(c, &labels_at, labels, "`selector` does not match template `labels`");
    }
    if (json_mget(spec, STR("template")) != NULL) {
        lasting_template_check(spec, "ReplicationController", c);
    }
}

static void replication_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    static const char *const counts[] = {NULL, "spec.replicas", "status.replicas",
                                         "status.readyReplicas"};
    (void)now;
    if (i < COUNT(counts)) {
        buf_i64(out, json_i64_at(obj, counts[i], 0));
    } else if (i == 7) {
        cell_labels(out, json_path(obj, "spec.selector"));
    } else {
        cell_containers(out, json_path(obj, "spec.template.spec"), i == 5 ? "name" : "image");
    }
}

static const struct column replication_columns[] = {
    COLUMN_NAME,
    COLUMN("Desired", "integer", 0, "Pods wanted."),
    COLUMN("Current", "integer", 0, "Pods that there are."),
    COLUMN("Ready", "integer", 0, "Pods that are ready."),
    COLUMN_AGE,
    COLUMN("Containers", "string", 1, "Names of the containers."),
    COLUMN("Images", "string", 1, "Images of the containers."),
    COLUMN("Selector", "string", 1, "Label selector of the pods."),
};
static const struct scale_paths replication_scale = {
    .spec_path = {"spec.replicas", 13},
    .status_path = {"status.replicas", 15},
    .selector_path = {"spec.selector", 13},
};
const struct kind kind_replication_controller = {
    .group = "",
    .kind = "ReplicationController",
    .plural = "replicationcontrollers",
    .singular = "replicationcontroller",
    .short_names = (const char *const[]){"rc", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_ORPHANS,
    .versions = &(const struct kind_version){.version = "v1",
                                             .schema = &schema_replication_controller,
                                             .scale = &replication_scale},
    .n_versions = 1,
    .columns = replication_columns,
    .n_columns = COUNT(replication_columns),
    .selectable = (const char *const[]){"status.replicas", NULL},
    .subresources = (const char *const[]){"scale", NULL},
    .set_defaults = replication_defaults,
    .prepare = prepare_status,
    .check = replication_check,
    .cell = replication_cell,
};

/* ---- PodTemplate ---- */

static void template_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)err;
    pod_spec_defaults(d, json_mpath(obj, "template.spec"));
}

static void template_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "template"), pod = path_member(&at, "spec");
    (void)old;
    pod_template_check(json_mget(obj, STR("template")), &at, c);
    pod_refuse(json_mpath(obj, "template.spec"), &pod, c);
}

static void template_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 3) {
        cell_labels(out, json_path(obj, "template.metadata.labels"));
    } else {
        cell_containers(out, json_path(obj, "template.spec"), i == 1 ? "name" : "image");
    }
}

static const struct column template_columns[] = {
    COLUMN_NAME,
    COLUMN("Containers", "string", 0, "Names of the containers."),
    COLUMN("Images", "string", 0, "Images of the containers."),
    COLUMN("Pod Labels", "string", 0, "Labels of the pods."),
};
const struct kind kind_pod_template = {
    .group = "",
    .kind = "PodTemplate",
    .plural = "podtemplates",
    .singular = "podtemplate",
    .flags = KIND_NAMESPACED | KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_kept_pod_template},
    .n_versions = 1,
    .columns = template_columns,
    .n_columns = COUNT(template_columns),
    .set_defaults = template_defaults,
    .check = template_check,
    .cell = template_cell,
};

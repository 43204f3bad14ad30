/*
 * kinds_stateful: the rows of StatefulSet and ControllerRevision.
 */
#include "api/tables/view_stateful.h"

#include "api/kinds/kinds.h"
#include "api/kinds/kinds_apps.h"

#define MAY_CHANGE                                                                                 \
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "       \
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "        \
    "'minReadySeconds' are forbidden"

static void stateful_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *way = json_mpath(obj, "spec.updateStrategy");
    pod_spec_defaults(d, json_mpath(obj, "spec.template.spec"));
    if (!str_is(json_mstr_at(way, "type"), "RollingUpdate")) {
        return;
    }
    yyjson_mut_val *rolling = json_mensure(d, way, "rollingUpdate");
    if (json_mget(rolling, STR("partition")) == NULL &&
        json_mset_i64(d, rolling, "partition", 0) != 0) {
        err_set(err, ERR_NOMEM, "out of memory");
    }
}

static void change_check(yyjson_mut_val *spec, yyjson_val *was, struct causes *c) {
    static const char *const free_[] = {"replicas",
                                        "ordinals",
                                        "template",
                                        "updateStrategy",
                                        "revisionHistoryLimit",
                                        "persistentVolumeClaimRetentionPolicy",
                                        "minReadySeconds",
                                        NULL};
    struct path at = path_member(NULL, "spec");
    if (!same_except(spec, was, free_)) {
        cause_forbidden(c, &at, MAY_CHANGE);
    }
}

/* What nothing acts on yet. */
static void retention_check(yyjson_mut_val *spec, struct causes *c) {
    static const char *const members[] = {"whenDeleted", "whenScaled"};
    static const char *const retain[] = {"Retain", NULL};
    struct path at = path_member(NULL, "spec");
    struct path policy = path_member(&at, "persistentVolumeClaimRetentionPolicy");
    for (size_t i = 0; i < COUNT(members); i++) {
        struct path here = path_member(&policy, members[i]);
        struct str v =
            json_mstr_at(json_mget(spec, STR("persistentVolumeClaimRetentionPolicy")), members[i]);
        if (v.n > 0 && !str_is(v, "Retain")) {
            cause_unsupported(c, &here, v, retain);
        }
    }
}

static void claims_check(yyjson_mut_val *spec, struct causes *c) {
    struct path at = path_member(NULL, "spec"), list = path_member(&at, "volumeClaimTemplates");
    EACH(json_mget(spec, STR("volumeClaimTemplates")), i, claim) {
        struct path one = path_index(&list, i), meta = path_member(&one, "metadata");
        struct path name = path_member(&meta, "name");
        struct str v = json_mstr_at(claim, "metadata.name");
        const char *fault = v.n ? format_fault("dns1123-label", v) : NULL;
        if (v.n == 0) {
            cause_required(c, &name, NULL);
        } else if (fault) {
            cause_invalid(c, &name, v, "%s", fault);
        }
    }
}

static void stateful_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), way = path_member(&at, "updateStrategy");
    struct path rolling = path_member(&way, "rollingUpdate");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (c->status_alone) {
        return;
    }
    apps_check(spec, "statefulset", c);
    retention_check(spec, c);
    claims_check(spec, c);
    if (str_is(json_mstr_at(spec, "updateStrategy.type"), "OnDelete") &&
        json_mpath(spec, "updateStrategy.rollingUpdate") != NULL) {
        cause_invalid_json(c, &rolling, json_mpath(spec, "updateStrategy.rollingUpdate"),
                           "only allowed for updateStrategy 'RollingUpdate'");
    }
    if (old != NULL) {
        change_check(spec, json_get(old, STR("spec")), c);
    }
}

static void stateful_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 1) {
        cell_f(out, "%lld/%lld", (long long)json_i64_at(obj, "status.readyReplicas", 0),
               (long long)json_i64_at(obj, "spec.replicas", 0));
    } else {
        cell_containers(out, json_path(obj, "spec.template.spec"), i == 3 ? "name" : "image");
    }
}

static void revision_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 2) {
        buf_i64(out, json_i64_at(obj, "revision", 0));
        return;
    }
    yyjson_val *o = yyjson_arr_get(json_path(obj, "metadata.ownerReferences"), 0);
    struct str api = json_str_at(o, "apiVersion"), group, version, kind = json_str_at(o, "kind");
    char lower[64];
    size_t n = kind.n < sizeof(lower) ? kind.n : sizeof(lower) - 1;
    for (size_t k = 0; k < n; k++) {
        lower[k] = (char)(kind.p[k] >= 'A' && kind.p[k] <= 'Z' ? kind.p[k] + 32 : kind.p[k]);
    }
    if (o == NULL) {
        cell_str(out, (struct str){0});
    } else if (str_cut(api, '/', &group, &version)) {
        cell_f(out, "%.*s.%.*s/%.*s", (int)n, lower, STR_ARG(group),
               STR_ARG(json_str_at(o, "name")));
    } else {
        cell_f(out, "%.*s/%.*s", (int)n, lower, STR_ARG(json_str_at(o, "name")));
    }
}

static const struct column stateful_columns[] = {
    COLUMN_NAME,
    COLUMN("Ready", "string", 0, "Ready pods, out of those wanted."),
    COLUMN_AGE,
    COLUMN("Containers", "string", 1, "Names of the containers."),
    COLUMN("Images", "string", 1, "Images of the containers."),
};
static const struct column revision_columns[] = {
    COLUMN_NAME,
    COLUMN("Controller", "string", 0, "Object that it is a revision of."),
    COLUMN("Revision", "string", 0, "Its number."),
    COLUMN_AGE,
};

const struct kind kind_stateful_set = {
    .group = "apps",
    .kind = "StatefulSet",
    .plural = "statefulsets",
    .singular = "statefulset",
    .short_names = (const char *const[]){"sts", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1",
                                             .schema = &schema_stateful_set,
                                             .scale = &apps_scale},
    .n_versions = 1,
    .columns = stateful_columns,
    .n_columns = COUNT(stateful_columns),
    .subresources = (const char *const[]){"scale", NULL},
    .set_defaults = stateful_defaults,
    .prepare = prepare_status,
    .check = stateful_check,
    .cell = stateful_cell,
};
const struct kind kind_controller_revision = {
    .group = "apps",
    .kind = "ControllerRevision",
    .plural = "controllerrevisions",
    .singular = "controllerrevision",
    .flags = KIND_NAMESPACED,
    .versions =
        &(const struct kind_version){.version = "v1", .schema = &schema_controller_revision},
    .n_versions = 1,
    .columns = revision_columns,
    .n_columns = COUNT(revision_columns),
    .cell = revision_cell,
};

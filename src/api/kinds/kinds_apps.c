/*
 * kinds_apps: the rows of apps/v1: what their pods may be, what may change, their cells.
 *
 * The texts of violated rules are Kubernetes', also where those speak of another kind.
 */
#include "api/tables/view_apps.h"

#include "api/kinds/kinds.h"
#include "api/selector.h"

#define NO_MATCH "`selector` does not match template `labels`"

/* ---- selector and template ---- */

/* A part of what is checked, to be read; NULL: absent, or out of memory. */
static yyjson_val *readable(yyjson_mut_val *v, struct arena *a) {
    yyjson_doc *d = NULL;
    struct buf b;
    buf_init(&b, 0);
    if (v != NULL) {
        json_write_mut(&b, v);
    }
    int r = v != NULL && buf_ok(&b) == 0 ? json_parse(a, buf_view(&b), &d, NULL) : ERR_NOMEM;
    buf_release(&b);
    return r == 0 ? yyjson_doc_get_root(d) : NULL;
}

static bool has_labels(const struct selector *s, yyjson_mut_val *labels, struct arena *a) {
    size_t n = yyjson_mut_obj_size(labels), k = 0, i, max;
    struct str_map m = {.v = ARENA_ARRAY(a, struct str_pair, n + 1)};
    yyjson_mut_val *key, *v;
    yyjson_mut_obj_foreach(labels, i, max, key, v) {
        if (m.v != NULL && k < n) {
            m.v[k++] = (struct str_pair){json_mstr(key), json_mstr(v)};
        }
    }
    m.n = k;
    return selector_matches(s, &m);
}

static void selector_check(yyjson_mut_val *spec, const char *name, struct causes *c) {
    struct path at = path_member(NULL, "spec"), selector = path_member(&at, "selector");
    struct path template = path_member(&at, "template"), meta = path_member(&template, "metadata");
    struct path labels = path_member(&meta, "labels");
    yyjson_mut_val *v = json_mget(spec, STR("selector"));
    yyjson_mut_val *own = json_mpath(spec, "template.metadata.labels");
    struct selector s;
    size_t before = c->n;
    check_selector(c, &selector, v);
    if (!yyjson_mut_is_obj(v) || c->n > before) {
        return; /* told already */
    }
    if (yyjson_mut_obj_size(json_mget(v, STR("matchLabels"))) == 0 &&
        yyjson_mut_arr_size(json_mget(v, STR("matchExpressions"))) == 0) {
        cause_invalid_json(c, &selector, v, "empty selector is invalid for %s", name);
    } else if (selector_from_json(c->arena, readable(v, c->arena), &s, NULL) == 0 &&
               !has_labels(&s, own, c->arena)) {
        if (own != NULL) {
            cause_invalid_json(c, &labels, own, NO_MATCH);
        } else {
            causes_add(c, CAUSE_INVALID, path_text(&labels, c->arena),
                       "Invalid value: null: " NO_MATCH);
        }
    }
}

/* Pods that are to stay. */
void lasting_template_check(yyjson_mut_val *spec, const char *kind, struct causes *c) {
    static const char *const always[] = {"Always", NULL};
    struct path at = path_member(NULL, "spec"), template = path_member(&at, "template");
    struct path pod = path_member(&template, "spec"), restart = path_member(&pod, "restartPolicy");
    struct path deadline = path_member(&pod, "activeDeadlineSeconds");
    struct str policy = json_mstr_at(spec, "template.spec.restartPolicy");
    pod_template_check(json_mget(spec, STR("template")), &template, c);
    pod_refuse(json_mpath(spec, "template.spec"), &pod, c);
    if (!str_is(policy, "Always")) {
        cause_unsupported(c, &restart, policy, always);
    }
    if (json_mpath(spec, "template.spec.activeDeadlineSeconds") != NULL) {
        cause_forbidden(c, &deadline, "activeDeadlineSeconds in %s is not Supported", kind);
    }
}

static void set_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)err;
    pod_spec_defaults(d, json_mpath(obj, "spec.template.spec"));
}

static void apps_check(yyjson_mut_val *spec, const char *name, struct causes *c) {
    selector_check(spec, name, c);
    lasting_template_check(spec, "ReplicaSet", c);
}

static void set_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old; /* the table says what is immutable */
    if (!c->status_alone) {
        apps_check(json_mget(obj, STR("spec")), "deployment", c);
    }
}

/* ---- rolling updates ---- */

static void deployment_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    static const char *const bounds[] = {"maxUnavailable", "maxSurge"};
    yyjson_mut_val *strategy = json_mpath(obj, "spec.strategy");
    set_defaults(d, obj, err);
    if (!str_is(json_mstr_at(strategy, "type"), "RollingUpdate")) {
        return;
    }
    yyjson_mut_val *rolling = json_mensure(d, strategy, "rollingUpdate");
    for (size_t i = 0; i < COUNT(bounds); i++) {
        if (json_mget(rolling, str_of(bounds[i])) == NULL &&
            json_mset_str(d, rolling, bounds[i], STR("25%")) != 0) {
            err_set(err, ERR_NOMEM, "out of memory");
        }
    }
}

/* A number or percentage from 0; -1, told: it is none. *ret_percent: which of both. */
static int64_t bound_check(yyjson_mut_val *v, const struct path *at, bool *ret_percent,
                           struct causes *c) {
    struct str s = json_mstr(v);
    int64_t n = yyjson_mut_get_sint(v);
    *ret_percent = yyjson_mut_is_str(v);
    if (v == NULL) {
        return 0;
    }
    bool digits = s.n > 1 && s.n < 12 && s.p[s.n - 1] == '%';
    for (size_t i = 0; digits && i + 1 < s.n; i++) {
        digits = s.p[i] >= '0' && s.p[i] <= '9';
    }
    if (*ret_percent && !(digits && str_to_i64(str_head(s, s.n - 1), &n))) {
        cause_invalid(c, at, s,
                      "a valid percent string must be a numeric string followed by an ending '%%' "
                      "(e.g. '1%%',  or '93%%', regex used for validation is '[0-9]+%%')");
        return -1;
    }
    if (n < 0 || n > INT32_MAX) {
        cause_invalid_json(c, at, v,
                           n < 0 ? "must be greater than or equal to 0"
                                 : "must be less than or equal to 2147483647");
        return -1;
    }
    return n;
}

static void rolling_check(yyjson_mut_val *rolling, const struct path *at, struct causes *c) {
    struct path down = path_member(at, "maxUnavailable"), up = path_member(at, "maxSurge");
    yyjson_mut_val *unavailable = json_mget(rolling, STR("maxUnavailable"));
    bool percent, other;
    int64_t n = bound_check(unavailable, &down, &percent, c);
    int64_t surge = bound_check(json_mget(rolling, STR("maxSurge")), &up, &other, c);
    if (n == 0 && surge == 0) {
        cause_invalid_json(c, &down, unavailable, "may not be 0 when `maxSurge` is 0");
    }
    if (percent && n > 100) {
        cause_invalid_json(c, &down, unavailable, "must not be greater than 100%%");
    }
}

static void deployment_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "strategy");
    struct path rolling = path_member(&at, "rollingUpdate");
    struct path deadline = path_member(&spec, "progressDeadlineSeconds");
    yyjson_mut_val *strategy = json_mpath(obj, "spec.strategy");
    yyjson_mut_val *v = json_mget(strategy, STR("rollingUpdate"));
    yyjson_mut_val *seconds = json_mpath(obj, "spec.progressDeadlineSeconds");
    int64_t ready = yyjson_mut_get_sint(json_mpath(obj, "spec.minReadySeconds"));
    if (c->status_alone) {
        return;
    }
    set_check(obj, old, c);
    if (str_is(json_mstr_at(strategy, "type"), "Recreate")) {
        if (v != NULL) {
            cause_forbidden(c, &rolling, "may not be specified when strategy `type` is '%s'",
                            "Recreate");
        }
    } else {
        rolling_check(v, &rolling, c);
    }
    if (seconds != NULL && yyjson_mut_get_sint(seconds) <= ready) {
        cause_invalid_json(c, &deadline, seconds, "must be greater than minReadySeconds");
    }
}

/* ---- cells ---- */

static void count_cell(yyjson_val *obj, const char *path, struct buf *out) {
    buf_i64(out, json_i64_at(obj, path, 0));
}

static void selector_cell(yyjson_val *obj, struct buf *out) {
    struct arena a;
    struct selector s;
    struct buf b;
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    if (selector_from_json(&a, json_path(obj, "spec.selector"), &s, NULL) == 0) {
        selector_write(&s, &b);
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
    arena_release(&a);
}

/* Containers, images and selector, which all kinds end with. */
static void last_cells(yyjson_val *obj, size_t i, struct buf *out) {
    if (i == 2) {
        selector_cell(obj, out);
    } else {
        cell_containers(out, json_path(obj, "spec.template.spec"), i ? "image" : "name");
    }
}

static void deployment_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    switch (i) {
    case 1:
        cell_f(out, "%lld/%lld", (long long)json_i64_at(obj, "status.readyReplicas", 0),
               (long long)json_i64_at(obj, "spec.replicas", 0));
        break;
    case 2:
        count_cell(obj, "status.updatedReplicas", out);
        break;
    case 3:
        count_cell(obj, "status.availableReplicas", out);
        break;
    default:
        last_cells(obj, i - 5, out);
        break;
    }
}

static void replica_set_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    static const char *const counts[] = {NULL, "spec.replicas", "status.replicas",
                                         "status.readyReplicas"};
    (void)now;
    if (i < COUNT(counts)) {
        count_cell(obj, counts[i], out);
    } else {
        last_cells(obj, i - 5, out);
    }
}

#define LAST_COLUMNS                                                                               \
    COLUMN("Containers", "string", 1, "Names of the containers."),                                 \
        COLUMN("Images", "string", 1, "Images of the containers."),                                \
        COLUMN("Selector", "string", 1, "Label selector of the pods.")

static const struct column deployment_columns[] = {
    COLUMN_NAME,
    COLUMN("Ready", "string", 0, "Ready pods, out of those wanted."),
    COLUMN("Up-to-date", "string", 0, "Pods of the current template."),
    COLUMN("Available", "string", 0, "Pods that have been ready for minReadySeconds."),
    COLUMN_AGE,
    LAST_COLUMNS,
};
static const struct column replica_set_columns[] = {
    COLUMN_NAME,
    COLUMN("Desired", "integer", 0, "Pods wanted."),
    COLUMN("Current", "integer", 0, "Pods that there are."),
    COLUMN("Ready", "integer", 0, "Pods that are ready."),
    COLUMN_AGE,
    LAST_COLUMNS,
};

/* ---- rows ---- */

static const struct scale_paths apps_scale = {
    .spec_path = {"spec.replicas", 13},
    .status_path = {"status.replicas", 15},
    .selector_path = {"spec.selector", 13},
};
#define APPS(kind_, plural_, singular_, short_, schema_, columns_)                                 \
    .group = "apps", .kind = kind_, .plural = plural_, .singular = singular_,                      \
    .short_names = (const char *const[]){short_, NULL},                                            \
    .categories = (const char *const[]){"all", NULL},                                              \
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,                                      \
    .versions =                                                                                    \
        &(const struct kind_version){.version = "v1", .schema = &schema_, .scale = &apps_scale},   \
    .n_versions = 1, .columns = columns_, .n_columns = COUNT(columns_),                            \
    .subresources = (const char *const[]){"scale", NULL}, .prepare = prepare_status

const struct kind kind_deployment = {
    APPS("Deployment", "deployments", "deployment", "deploy", schema_deployment,
         deployment_columns),
    .set_defaults = deployment_defaults,
    .check = deployment_check,
    .cell = deployment_cell,
};
const struct kind kind_replica_set = {
    APPS("ReplicaSet", "replicasets", "replicaset", "rs", schema_replica_set, replica_set_columns),
    .selectable = (const char *const[]){"status.replicas", NULL},
    .set_defaults = set_defaults,
    .check = set_check,
    .cell = replica_set_cell,
};

/* ---- DaemonSet ---- */

static void daemon_set_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *strategy = json_mpath(obj, "spec.updateStrategy");
    set_defaults(d, obj, err);
    if (!str_is(json_mstr_at(strategy, "type"), "RollingUpdate")) {
        return;
    }
    yyjson_mut_val *rolling = json_mensure(d, strategy, "rollingUpdate");
    if (rolling == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
        return;
    }
    if (json_mget(rolling, STR("maxUnavailable")) == NULL) {
        json_mset_i64(d, rolling, "maxUnavailable", 1);
    }
    if (json_mget(rolling, STR("maxSurge")) == NULL) {
        json_mset_i64(d, rolling, "maxSurge", 0);
    }
}

static void daemon_set_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "updateStrategy");
    struct path rolling_at = path_member(&at, "rollingUpdate");
    struct path surge_at = path_member(&rolling_at, "maxSurge");
    yyjson_mut_val *strategy = json_mpath(obj, "spec.updateStrategy");
    yyjson_mut_val *rolling = json_mget(strategy, STR("rollingUpdate"));
    if (c->status_alone) {
        return;
    }
    set_check(obj, old, c);
    if (str_is(json_mstr_at(strategy, "type"), "RollingUpdate")) {
        yyjson_mut_val *down = json_mget(rolling, STR("maxUnavailable"));
        yyjson_mut_val *surge = json_mget(rolling, STR("maxSurge"));
        bool lowers = down != NULL &&
                      !(yyjson_mut_is_int(down) && yyjson_mut_get_sint(down) == 0) &&
                      !str_is(json_mstr(down), "0%");
        bool raises = surge != NULL &&
                      !(yyjson_mut_is_int(surge) && yyjson_mut_get_sint(surge) == 0) &&
                      !str_is(json_mstr(surge), "0%");
        rolling_check(rolling, &rolling_at, c);
        if (lowers && raises) {
            cause_invalid_json(c, &surge_at, surge,
                               "may not be set when maxUnavailable is non-zero");
        }
    }
}

static void daemon_set_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    static const char *const counts[] = {NULL,
                                         "status.desiredNumberScheduled",
                                         "status.currentNumberScheduled",
                                         "status.numberReady",
                                         "status.updatedNumberScheduled",
                                         "status.numberAvailable"};
    (void)now;
    if (i < COUNT(counts)) {
        count_cell(obj, counts[i], out);
    } else if (i == 6) {
        cell_labels(out, json_path(obj, "spec.template.spec.nodeSelector"));
    } else {
        last_cells(obj, i - 8, out);
    }
}

static const struct column daemon_set_columns[] = {
    COLUMN_NAME,
    COLUMN("Desired", "integer", 0, "Nodes that should have a pod."),
    COLUMN("Current", "integer", 0, "Nodes that have their pod."),
    COLUMN("Ready", "integer", 0, "Nodes whose pod is ready."),
    COLUMN("Up-to-date", "integer", 0, "Nodes whose pod is of the current template."),
    COLUMN("Available", "integer", 0, "Nodes whose pod has been ready for minReadySeconds."),
    COLUMN("Node Selector", "string", 0, "Labels of the nodes that the template asks for."),
    COLUMN_AGE,
    LAST_COLUMNS,
};
const struct kind kind_daemon_set = {
    .group = "apps",
    .kind = "DaemonSet",
    .plural = "daemonsets",
    .singular = "daemonset",
    .short_names = (const char *const[]){"ds", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_daemon_set},
    .n_versions = 1,
    .columns = daemon_set_columns,
    .n_columns = COUNT(daemon_set_columns),
    .set_defaults = daemon_set_defaults,
    .prepare = prepare_status,
    .check = daemon_set_check,
    .cell = daemon_set_cell,
};

/* ---- StatefulSet and ControllerRevision ---- */

#define MAY_CHANGE                                                                                 \
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "       \
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "        \
    "'minReadySeconds' are forbidden"

static void stateful_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *way = json_mpath(obj, "spec.updateStrategy");
    pod_spec_defaults(d, json_mpath(obj, "spec.template.spec"));
    EACH(json_mpath(obj, "spec.volumeClaimTemplates"), i, claim) {
        (void)i;
        if (json_mset_str(d, claim, "apiVersion", STR("v1")) != 0 ||
            json_mset_str(d, claim, "kind", STR("PersistentVolumeClaim")) != 0) {
            err_set(err, ERR_NOMEM, "out of memory");
        }
    }
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

static void claims_check(yyjson_mut_val *spec, struct causes *c) {
    struct path at = path_member(NULL, "spec"), list = path_member(&at, "volumeClaimTemplates");
    EACH(json_mget(spec, STR("volumeClaimTemplates")), i, claim) {
        struct path one = path_index(&list, i), meta = path_member(&one, "metadata");
        struct path name = path_member(&meta, "name");
        struct str v = json_mstr_at(claim, "metadata.name");
        const char *fault = v.n ? format_fault("dns1123-label", v) : NULL;
        struct path claim_at = path_member(&one, "spec");
        if (v.n == 0) {
            cause_required(c, &name, NULL);
        } else if (fault) {
            cause_invalid(c, &name, v, "%s", fault);
        }
        claim_spec_check(json_mget(claim, STR("spec")), &claim_at, c);
    }
}

static void stateful_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), way = path_member(&at, "updateStrategy");
    struct path rolling = path_member(&way, "rollingUpdate");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (c->status_alone) {
        return;
    }
    c->claims = json_mget(spec, STR("volumeClaimTemplates"));
    apps_check(spec, "statefulset", c);
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

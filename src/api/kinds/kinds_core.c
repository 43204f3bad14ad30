/* kinds_core: the rows of Namespace, Node, ConfigMap, Secret and ServiceAccount, with their hooks. */
#include "api/tables/view_core.h"

#include "api/kinds/kinds.h"
#include "base/limits.h"
#include "base/map.h"
#include "wire/text/base64.h"

void prepare_status(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    (void)d;
    (void)now;
    if (old == NULL) {
        json_mdel(obj, STR("status"));
    }
}

/* --- Namespace --- */

static void namespace_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    struct str name = json_mstr_at(obj, "metadata.name");
    yyjson_mut_val *labels = json_mensure(d, obj, "metadata.labels");
    if (labels == NULL ||
        (name.n > 0 && json_mset_str(d, labels, "kubernetes.io/metadata.name", name) < 0)) {
        err_set(err, ERR_NOMEM, "out of memory");
    }
}

static void namespace_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old,
                              int64_t now) {
    (void)now;
    if (old != NULL) {
        return;
    }
    yyjson_mut_val *spec = json_mensure(d, obj, "spec");
    yyjson_mut_val *list = json_mget(spec, STR("finalizers"));
    bool has = false;
    EACH(list, i, e) {
        (void)i;
        has |= str_is(json_mstr(e), "kubernetes");
    }
    if (!has && spec != NULL) {
        if (list == NULL) {
            list = yyjson_mut_arr(d);
            json_mset(d, spec, STR("finalizers"), list);
        }
        yyjson_mut_arr_add_str(d, list, "kubernetes");
    }
    json_mdel(obj, STR("status"));
    json_mset_str(d, json_mensure(d, obj, "status"), "phase", STR("Active"));
}

static const struct column namespace_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Status", "string", 0, "status.phase", "Active, or Terminating once deleted."),
    COLUMN_AGE,
};
static const struct kind_version namespace_versions[] = {
    {.version = "v1", .schema = &schema_namespace},
};
const struct kind kind_namespace = {
    .group = "",
    .kind = "Namespace",
    .plural = "namespaces",
    .singular = "namespace",
    .short_names = (const char *const[]){"ns", NULL},
    .flags = KIND_STATUS | KIND_STATUS_NOTES | KIND_RETURNS_DELETED | KIND_LABEL_NAME,
    .versions = namespace_versions,
    .n_versions = COUNT(namespace_versions),
    .columns = namespace_columns,
    .n_columns = COUNT(namespace_columns),
    .selectable = (const char *const[]){"status.phase", NULL},
    .subresources = (const char *const[]){"finalize", NULL},
    .set_defaults = namespace_defaults,
    .prepare = namespace_prepare,
};

/* --- Node --- */

static void node_roles(yyjson_val *obj, struct buf *out) {
    struct buf b;
    buf_init(&b, 0);
    yyjson_obj_iter it = yyjson_obj_iter_with(json_path(obj, "metadata.labels"));
    yyjson_val *k;
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        struct str prefix = STR("node-role.kubernetes.io/");
        if (str_starts(json_str(k), prefix) && json_str(k).n > prefix.n) {
            buf_c(&b, b.n ? "," : "");
            buf_str(&b, str_skip(json_str(k), prefix.n));
        }
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

static void node_address(yyjson_val *obj, const char *type, struct buf *out) {
    struct str found = {0};
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "status.addresses"));
    yyjson_val *a;
    while (found.n == 0 && (a = yyjson_arr_iter_next(&it)) != NULL) {
        if (str_is(json_str_at(a, "type"), type)) {
            found = json_str_at(a, "address");
        }
    }
    cell_str(out, found);
}

static void node_info(yyjson_val *obj, const char *path, struct buf *out) {
    struct str v = json_str_at(obj, path);
    buf_json(out, v.n ? v : STR("<unknown>"));
}

static void node_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    struct str ready = condition_status(obj, "Ready");
    switch (i) {
    case 1:
        cell_f(out, "%s%s",
               str_is(ready, "True") ? "Ready"
               : ready.n             ? "NotReady"
                                     : "Unknown",
               json_bool_at(obj, "spec.unschedulable", false) ? ",SchedulingDisabled" : "");
        break;
    case 2:
        node_roles(obj, out);
        break;
    case 4:
        buf_json(out, json_str_at(obj, "status.nodeInfo.kubeletVersion"));
        break;
    case 5:
        node_address(obj, "InternalIP", out);
        break;
    case 6:
        node_address(obj, "ExternalIP", out);
        break;
    case 7:
        node_info(obj, "status.nodeInfo.osImage", out);
        break;
    case 8:
        node_info(obj, "status.nodeInfo.kernelVersion", out);
        break;
    default:
        node_info(obj, "status.nodeInfo.containerRuntimeVersion", out);
        break;
    }
}

static void node_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    struct path spec = path_member(NULL, "spec"), taints = path_member(&spec, "taints");
    struct path status = path_member(NULL, "status"), capacity = path_member(&status, "capacity");
    struct path allocatable = path_member(&status, "allocatable");
    yyjson_mut_val *list = json_mpath(obj, "spec.taints");
    if (!check_size(list, &taints, c)) {
        return;
    }
    EACH(list, i, t) {
        EACH(list, j, earlier) {
            struct path here = path_index(&taints, i);
            if (j < i && str_eq(json_mstr_at(t, "key"), json_mstr_at(earlier, "key")) &&
                str_eq(json_mstr_at(t, "effect"), json_mstr_at(earlier, "effect"))) {
                cause_duplicate(c, &here, json_mstr_at(t, "key"));
            }
        }
    }
    check_amounts(json_mpath(obj, "status.capacity"), &capacity, c);
    check_amounts(json_mpath(obj, "status.allocatable"), &allocatable, c);
}

static const struct column node_columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", 0, "Whether the node is ready and accepts new pods."),
    COLUMN("Roles", "string", 0, "Roles, from the node's labels."),
    COLUMN_AGE,
    COLUMN("Version", "string", 0, "Version of the node agent."),
    COLUMN("Internal-IP", "string", 1, "Address inside the cluster."),
    COLUMN("External-IP", "string", 1, "Address outside the cluster."),
    COLUMN("OS-Image", "string", 1, "Operating system."),
    COLUMN("Kernel-Version", "string", 1, "Kernel."),
    COLUMN("Container-Runtime", "string", 1, "Container runtime and its version."),
};
static const struct kind_version node_versions[] = {{.version = "v1", .schema = &schema_node}};
const struct kind kind_node = {
    .group = "",
    .kind = "Node",
    .plural = "nodes",
    .singular = "node",
    .short_names = (const char *const[]){"no", NULL},
    .flags = KIND_STATUS,
    .versions = node_versions,
    .n_versions = COUNT(node_versions),
    .columns = node_columns,
    .n_columns = COUNT(node_columns),
    .selectable = (const char *const[]){"spec.unschedulable", NULL},
    .check = node_check,
    .cell = node_cell,
};

/* --- ConfigMap and Secret --- */

static void count_cell(yyjson_val *obj, const char *first, const char *second, struct buf *out) {
    buf_u64(out, yyjson_obj_size(json_path(obj, first)) +
                     (second ? yyjson_obj_size(json_path(obj, second)) : 0));
}

static void check_keys(yyjson_mut_val *obj, const char *member, struct causes *c) {
    struct path at = path_member(NULL, member);
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(json_mget(obj, str_of(member)));
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct path here = path_key(&at, json_mstr(k));
        const char *fault = format_fault("config-key", json_mstr(k));
        if (fault != NULL) {
            cause_invalid(c, &here, json_mstr(k), "%s", fault);
        }
    }
}

/* Once `immutable` is true, neither it nor the data may change. */
static void check_frozen(yyjson_mut_val *obj, yyjson_val *old, const char *member,
                         struct causes *c) {
    if (!json_bool_at(old, "immutable", false)) {
        return;
    }
    struct path at = path_member(NULL, member);
    yyjson_mut_val *now = json_mget(obj, str_of(member));
    if (!same_value(now, json_get(old, str_of(member))) &&
        !(yyjson_mut_obj_size(now) == 0 && yyjson_obj_size(json_get(old, str_of(member))) == 0)) {
        cause_forbidden(c, &at, "field is immutable when `immutable` is set");
    }
}

/* A key is in one of both maps. By a table, since either may be long. */
static void check_twice(yyjson_mut_val *obj, struct causes *c) {
    struct path at = path_member(NULL, "data");
    yyjson_mut_val *text = json_mget(obj, STR("data")), *bytes = json_mget(obj, STR("binaryData"));
    yyjson_mut_val *k, *v;
    struct map keys = {0};
    size_t i, n;
    if (yyjson_mut_obj_size(text) == 0 || yyjson_mut_obj_size(bytes) == 0) {
        return;
    }
    yyjson_mut_obj_foreach(text, i, n, k, v) {
        (void)map_put(&keys, json_mstr(k), k, NULL); /* without memory it is not looked for */
    }
    yyjson_mut_obj_foreach(bytes, i, n, k, v) {
        struct path here = path_key(&at, json_mstr(k));
        if (map_get(&keys, json_mstr(k)) != NULL) {
            cause_invalid(c, &here, json_mstr(k), "duplicate of key present in binaryData");
        }
    }
    map_release(&keys);
}

static void config_map_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    check_keys(obj, "data", c);
    check_keys(obj, "binaryData", c);
    check_twice(obj, c);
    check_frozen(obj, old, "immutable", c);
    check_frozen(obj, old, "data", c);
    check_frozen(obj, old, "binaryData", c);
}

static void config_map_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)i;
    (void)now;
    count_cell(obj, "data", "binaryData", out);
}

static const struct column config_map_columns[] = {
    COLUMN_NAME,
    COLUMN("Data", "integer", 0, "Number of entries."),
    COLUMN_AGE,
};
static const struct kind_version config_map_versions[] = {
    {.version = "v1", .schema = &schema_config_map},
};
const struct kind kind_config_map = {
    .group = "",
    .kind = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .short_names = (const char *const[]){"cm", NULL},
    .flags = KIND_NAMESPACED,
    .versions = config_map_versions,
    .n_versions = COUNT(config_map_versions),
    .columns = config_map_columns,
    .n_columns = COUNT(config_map_columns),
    .check = config_map_check,
    .cell = config_map_cell,
};

/* stringData is data that the server encodes; it wins over data of the same key. */
static void secret_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *plain = json_mget(obj, STR("stringData"));
    if (plain == NULL) {
        return;
    }
    if (yyjson_mut_obj_size(plain) > LIMIT_NAMED_ITEMS) {
        err_set(err, ERR_TOO_LARGE, "stringData has more than %d entries", LIMIT_NAMED_ITEMS);
        return;
    }
    yyjson_mut_val *data = json_mensure(d, obj, "data");
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(plain);
    yyjson_mut_val *k;
    while (data != NULL && (k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct buf b;
        buf_init(&b, 0);
        base64_encode(&b, json_mstr(yyjson_mut_obj_iter_get_val(k)));
        yyjson_mut_val *text = yyjson_mut_strncpy(d, buf_cstr(&b), b.n);
        if (buf_ok(&b) < 0 || text == NULL || json_mset(d, data, json_mstr(k), text) < 0) {
            data = NULL;
        }
        buf_release(&b);
    }
    json_mdel(obj, STR("stringData"));
    if (data == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
    }
}

static void secret_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    check_keys(obj, "data", c);
    check_frozen(obj, old, "immutable", c);
    check_frozen(obj, old, "data", c);
}

static void secret_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)i;
    (void)now;
    count_cell(obj, "data", NULL, out);
}

static const struct column secret_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Type", "string", 0, "type", "Type of the secret."),
    COLUMN("Data", "integer", 0, "Number of entries."),
    COLUMN_AGE,
};
static const struct kind_version secret_versions[] = {{.version = "v1", .schema = &schema_secret}};
const struct kind kind_secret = {
    .group = "",
    .kind = "Secret",
    .plural = "secrets",
    .singular = "secret",
    .flags = KIND_NAMESPACED,
    .versions = secret_versions,
    .n_versions = COUNT(secret_versions),
    .columns = secret_columns,
    .n_columns = COUNT(secret_columns),
    .selectable = (const char *const[]){"type", NULL},
    .set_defaults = secret_defaults,
    .check = secret_check,
    .cell = secret_cell,
};

static const struct column account_columns[] = {COLUMN_NAME, COLUMN_AGE};
static const struct kind_version account_versions[] = {
    {.version = "v1", .schema = &schema_service_account},
};
const struct kind kind_service_account = {
    .group = "",
    .kind = "ServiceAccount",
    .plural = "serviceaccounts",
    .singular = "serviceaccount",
    .short_names = (const char *const[]){"sa", NULL},
    .flags = KIND_NAMESPACED | KIND_RETURNS_DELETED,
    .versions = account_versions,
    .n_versions = COUNT(account_versions),
    .columns = account_columns,
    .n_columns = COUNT(account_columns),
    .subresources = (const char *const[]){"token", NULL},
};

/*
 * kinds_misc: the rows of Service, Endpoints, EndpointSlice, LimitRange, Lease, PriorityClass, RuntimeClass and of
 * bodies.
 */
#include "api/tables/view_misc.h"

#include "api/kinds/kinds.h"
#include "base/limits.h"

/* --- Service, Endpoints, EndpointSlice --- */

static void service_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)err;
    EACH(json_mpath(obj, "spec.ports"), i, p) {
        (void)i;
        if (json_mget(p, STR("targetPort")) == NULL) {
            json_mset_i64(d, p, "targetPort", yyjson_mut_get_sint(json_mget(p, STR("port"))));
        }
    }
    struct str ip = json_mstr_at(obj, "spec.clusterIP");
    if (ip.n > 0 && json_mpath(obj, "spec.clusterIPs") == NULL) {
        yyjson_mut_val *list = yyjson_mut_arr(d);
        yyjson_mut_arr_add_strncpy(d, list, ip.p, ip.n);
        json_mset(d, json_mget(obj, STR("spec")), STR("clusterIPs"), list);
    }
}

static void ports_cell(yyjson_val *obj, struct buf *out) {
    struct buf b;
    buf_init(&b, 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "spec.ports"));
    yyjson_val *p;
    while ((p = yyjson_arr_iter_next(&it)) != NULL) {
        int64_t node = json_i64_at(p, "nodePort", 0);
        buf_c(&b, b.n ? "," : "");
        buf_i64(&b, json_i64_at(p, "port", 0));
        if (node > 0) {
            buf_f(&b, ":%lld", (long long)node);
        }
        buf_ch(&b, '/');
        buf_str(&b, json_str_at(p, "protocol"));
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

static void service_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    switch (i) {
    case 2:
        cell_str(out, json_str_at(obj, "spec.clusterIP"));
        break;
    case 3:
        cell_str(out, json_str_at(obj, "spec.externalName"));
        break;
    case 4:
        ports_cell(obj, out);
        break;
    default:
        cell_labels(out, json_path(obj, "spec.selector"));
        break;
    }
}

static void service_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), ip = path_member(&at, "clusterIP");
    struct path selector = path_member(&at, "selector"), ports = path_member(&at, "ports");
    struct str was = json_str_at(old, "spec.clusterIP");
    if (was.n > 0 && !str_eq(was, json_mstr_at(obj, "spec.clusterIP"))) {
        cause_invalid(c, &ip, json_mstr_at(obj, "spec.clusterIP"), "field is immutable");
    }
    yyjson_mut_val *list = json_mpath(obj, "spec.ports");
    bool headless = str_is(json_mstr_at(obj, "spec.clusterIP"), "None") ||
                    str_is(json_mstr_at(obj, "spec.type"), "ExternalName");
    if (yyjson_mut_arr_size(list) == 0 && !headless) {
        cause_required(c, &ports, NULL);
    }
    check_labels(c, &selector, json_mpath(obj, "spec.selector"));
}

static const struct column service_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Type", "string", 0, "spec.type", "Type of the service."),
    COLUMN("Cluster-IP", "string", 0, "Address inside the cluster."),
    COLUMN("External-IP", "string", 0, "Address outside the cluster."),
    COLUMN("Port(s)", "string", 0, "Ports it listens on."),
    COLUMN_AGE,
    COLUMN("Selector", "string", 1, "Label selector of the service's pods."),
};
const struct kind kind_service = {
    .group = "",
    .kind = "Service",
    .plural = "services",
    .singular = "service",
    .short_names = (const char *const[]){"svc", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_CREATE_ON_UPDATE | KIND_RETURNS_DELETED |
             KIND_LABEL_NAME,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_service},
    .n_versions = 1,
    .columns = service_columns,
    .n_columns = COUNT(service_columns),
    .selectable = (const char *const[]){"spec.clusterIP", "spec.type", NULL},
    .set_defaults = service_defaults,
    .prepare = prepare_status,
    .check = service_check,
    .cell = service_cell,
};

static void endpoints_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)i;
    (void)now;
    struct buf b;
    buf_init(&b, 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "subsets"));
    yyjson_val *s;
    while ((s = yyjson_arr_iter_next(&it)) != NULL) {
        int64_t port = json_i64_at(yyjson_arr_get(json_path(s, "ports"), 0), "port", 0);
        yyjson_arr_iter each = yyjson_arr_iter_with(json_path(s, "addresses"));
        yyjson_val *a;
        while ((a = yyjson_arr_iter_next(&each)) != NULL) {
            buf_c(&b, b.n ? "," : "");
            buf_str(&b, json_str_at(a, "ip"));
            buf_f(&b, ":%lld", (long long)port);
        }
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

static const struct column endpoints_columns[] = {
    COLUMN_NAME,
    COLUMN("Endpoints", "string", 0, "Addresses of ready endpoints."),
    COLUMN_AGE,
};
const struct kind kind_endpoints = {
    .group = "",
    .kind = "Endpoints",
    .plural = "endpoints",
    .singular = "endpoints",
    .short_names = (const char *const[]){"ep", NULL},
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_endpoints},
    .n_versions = 1,
    .columns = endpoints_columns,
    .n_columns = COUNT(endpoints_columns),
    .cell = endpoints_cell,
};

static void slice_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    struct buf b;
    buf_init(&b, 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, i == 2 ? "ports" : "endpoints"));
    yyjson_val *v;
    while ((v = yyjson_arr_iter_next(&it)) != NULL) {
        buf_c(&b, b.n ? "," : "");
        if (i == 2) {
            buf_i64(&b, json_i64_at(v, "port", 0));
        } else {
            buf_str(&b, json_str(yyjson_arr_get_first(json_path(v, "addresses"))));
        }
    }
    cell_str(out, b.n ? buf_view(&b) : STR("<unset>"));
    buf_release(&b);
}

static const struct column slice_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("AddressType", "string", 0, "addressType", "Address type: IPv4, IPv6 or FQDN."),
    COLUMN("Ports", "string", 0, "Ports of the endpoints."),
    COLUMN("Endpoints", "string", 0, "Addresses of ready endpoints."),
    COLUMN_AGE,
};
const struct kind kind_endpoint_slice = {
    .group = "discovery.k8s.io",
    .kind = "EndpointSlice",
    .plural = "endpointslices",
    .singular = "endpointslice",
    .flags = KIND_NAMESPACED | KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_endpoint_slice},
    .n_versions = 1,
    .columns = slice_columns,
    .n_columns = COUNT(slice_columns),
    .cell = slice_cell,
};

/* --- LimitRange --- */

/* Defaults follow: a maximum is also the default, which is also the default request; else the minimum. */
static void inherit(yyjson_mut_doc *d, yyjson_mut_val *item, const char *to, const char *from) {
    yyjson_mut_val *source = json_mget(item, str_of(from));
    if (yyjson_mut_obj_size(source) == 0 || yyjson_mut_obj_size(source) > LIMIT_NAMED_ITEMS ||
        yyjson_mut_obj_size(json_mget(item, str_of(to))) > LIMIT_NAMED_ITEMS) {
        return;
    }
    yyjson_mut_val *target = json_mensure(d, item, to);
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(source);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        if (json_mget(target, json_mstr(k)) == NULL) {
            json_mset(d, target, json_mstr(k),
                      yyjson_mut_val_mut_copy(d, yyjson_mut_obj_iter_get_val(k)));
        }
    }
}

static void limit_range_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)err;
    EACH(json_mpath(obj, "spec.limits"), i, item) {
        (void)i;
        if (str_is(json_mstr_at(item, "type"), "Container")) {
            inherit(d, item, "default", "max");
            inherit(d, item, "defaultRequest", "default");
            inherit(d, item, "defaultRequest", "min");
        }
    }
}

static const struct column created_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Created At", "date", 0, "metadata.creationTimestamp", "Time of creation."),
};
const struct kind kind_limit_range = {
    .group = "",
    .kind = "LimitRange",
    .plural = "limitranges",
    .singular = "limitrange",
    .short_names = (const char *const[]){"limits", NULL},
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_limit_range},
    .n_versions = 1,
    .columns = created_columns,
    .n_columns = COUNT(created_columns),
    .set_defaults = limit_range_defaults,
};

/* --- Lease, PriorityClass, RuntimeClass --- */

static const struct column lease_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Holder", "string", 0, "spec.holderIdentity", "Identity of the holder."),
    COLUMN_AGE,
};
const struct kind kind_lease = {
    .group = "coordination.k8s.io",
    .kind = "Lease",
    .plural = "leases",
    .singular = "lease",
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE | KIND_RV_REQUIRED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_lease},
    .n_versions = 1,
    .columns = lease_columns,
    .n_columns = COUNT(lease_columns),
};

static void priority_class_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    enum { HIGHEST_FOR_USERS = 1000000000 };
    (void)old;
    struct path meta = path_member(NULL, "metadata"), name_at = path_member(&meta, "name");
    struct path value_at = path_member(NULL, "value");
    struct str name = json_mstr_at(obj, "metadata.name");
    int64_t value = yyjson_mut_get_sint(json_mget(obj, STR("value")));
    if (str_starts(name, STR("system-"))) {
        if (!str_is(name, "system-cluster-critical") && !str_is(name, "system-node-critical")) {
            cause_forbidden(c, &name_at,
                            "priority class names with 'system-' prefix are reserved for system "
                            "use only. error: %.*s is not a known system priority class",
                            STR_ARG(name));
        }
    } else if (value > HIGHEST_FOR_USERS) {
        cause_forbidden(c, &value_at, "maximum allowed value of a user defined priority is %d",
                        HIGHEST_FOR_USERS);
    }
}

static void priority_class_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 1) {
        buf_i64(out, json_i64_at(obj, "value", 0));
    } else {
        buf_c(out, json_bool_at(obj, "globalDefault", false) ? "true" : "false");
    }
}

static const struct column priority_class_columns[] = {
    COLUMN_NAME,
    COLUMN("Value", "integer", 0, "Value of the priority."),
    COLUMN("Global-Default", "boolean", 0, "Whether pods without a class get it."),
    COLUMN_AGE,
    COLUMN_PATH("PreemptionPolicy", "string", 0, "preemptionPolicy", "Preemption policy."),
};
const struct kind kind_priority_class = {
    .group = "scheduling.k8s.io",
    .kind = "PriorityClass",
    .plural = "priorityclasses",
    .singular = "priorityclass",
    .short_names = (const char *const[]){"pc", NULL},
    .flags = KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_priority_class},
    .n_versions = 1,
    .columns = priority_class_columns,
    .n_columns = COUNT(priority_class_columns),
    .check = priority_class_check,
    .cell = priority_class_cell,
};

static const struct column runtime_class_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Handler", "string", 0, "handler", "Container runtime handler on the nodes."),
    COLUMN_AGE,
};
const struct kind kind_runtime_class = {
    .group = "node.k8s.io",
    .kind = "RuntimeClass",
    .plural = "runtimeclasses",
    .singular = "runtimeclass",
    .flags = KIND_CREATE_ON_UPDATE,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_runtime_class},
    .n_versions = 1,
    .columns = runtime_class_columns,
    .n_columns = COUNT(runtime_class_columns),
};

/* --- bodies --- */

const struct kind kind_delete_options = {
    .group = "",
    .kind = "DeleteOptions",
    .plural = "",
    .singular = "",
    .flags = KIND_VIRTUAL,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_delete_options},
    .n_versions = 1,
};
const struct kind kind_eviction = {
    .group = "policy",
    .kind = "Eviction",
    .plural = "",
    .singular = "",
    .flags = KIND_VIRTUAL | KIND_NAMESPACED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_eviction},
    .n_versions = 1,
};
const struct kind kind_status = {
    .group = "",
    .kind = "Status",
    .plural = "",
    .singular = "",
    .flags = KIND_VIRTUAL,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_status},
    .n_versions = 1,
};

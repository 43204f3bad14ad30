/*
 * kinds_misc: the rows of Endpoints, EndpointSlice, LimitRange, Lease, PriorityClass, RuntimeClass and of
 * bodies.
 */
#include "api/tables/view_misc.h"

#include "api/kinds/kinds.h"
#include "base/limits.h"

/* --- Endpoints, EndpointSlice --- */

enum { CELL_SHOWN = 3 }; /* addresses or ports in a cell, as upstream; the others are counted */

struct cell_list {
    struct buf b;
    size_t n;
};

static void list_add(struct cell_list *l, struct str text, int64_t port) {
    if (l->n++ < CELL_SHOWN) {
        buf_c(&l->b, l->b.n ? "," : "");
        buf_str(&l->b, text);
        if (port >= 0) {
            buf_f(&l->b, "%s%lld", text.n ? ":" : "", (long long)port);
        }
    }
}

static void list_tell(struct cell_list *l, struct str none, struct buf *out) {
    if (l->n > CELL_SHOWN) {
        buf_f(&l->b, " + %zu more...", l->n - CELL_SHOWN);
    }
    cell_str(out, l->n ? buf_view(&l->b) : none);
    buf_release(&l->b);
}

/* The ready addresses of a subset: with each of its ports, or without where it has none. */
static void list_subset(struct cell_list *l, yyjson_val *s) {
    yyjson_val *ports = json_path(s, "ports"), *a;
    size_t n = yyjson_arr_size(ports);

    for (size_t i = 0; i < (n ? n : 1); i++) {
        int64_t port = n ? json_i64_at(yyjson_arr_get(ports, i), "port", 0) : -1;
        yyjson_arr_iter each = yyjson_arr_iter_with(json_path(s, "addresses"));
        while ((a = yyjson_arr_iter_next(&each)) != NULL) {
            list_add(l, json_str_at(a, "ip"), port);
        }
    }
}

static void endpoints_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)i;
    (void)now;
    struct cell_list l = {.n = 0};
    buf_init(&l.b, 0);
    yyjson_val *subsets = json_path(obj, "subsets"), *s;
    yyjson_arr_iter it = yyjson_arr_iter_with(subsets);
    while ((s = yyjson_arr_iter_next(&it)) != NULL) {
        list_subset(&l, s);
    }
    list_tell(&l, yyjson_arr_size(subsets) ? STR("") : STR("<none>"), out);
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
    .versions =
        &(const struct kind_version){.version = "v1",
                                     .schema = &schema_endpoints,
                                     .deprecated = true,
                                     .deprecation = "v1 Endpoints is deprecated in v1.33+; use "
                                                    "discovery.k8s.io/v1 EndpointSlice"},
    .n_versions = 1,
    .columns = endpoints_columns,
    .n_columns = COUNT(endpoints_columns),
    .cell = endpoints_cell,
};

static void slice_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    struct cell_list l = {.n = 0};
    buf_init(&l.b, 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, i == 2 ? "ports" : "endpoints"));
    yyjson_val *v, *a;
    while ((v = yyjson_arr_iter_next(&it)) != NULL) {
        if (i == 2) {
            list_add(&l, STR(""), json_i64_at(v, "port", 0));
            continue;
        }
        yyjson_arr_iter each = yyjson_arr_iter_with(json_path(v, "addresses"));
        while ((a = yyjson_arr_iter_next(&each)) != NULL) {
            list_add(&l, json_str(a), -1);
        }
    }
    list_tell(&l, STR("<unset>"), out);
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
    struct path meta = path_member(NULL, "metadata"), name_at = path_member(&meta, "name");
    struct path value_at = path_member(NULL, "value");
    struct str name = json_mstr_at(obj, "metadata.name");
    int64_t value = yyjson_mut_get_sint(json_mget(obj, STR("value")));
    if (old != NULL && value != json_i64_at(old, "value", 0)) {
        cause_forbidden(c, &value_at, "may not be changed in an update.");
    }
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

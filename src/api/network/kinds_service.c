/*
 * kinds_service: the row of Service: what follows from what is said, and what may not be said. Addresses and node ports
 * are given at admission (server/write/admit_service.c), since they depend on what others have.
 */
#include "api/tables/view_core.h"

#include "api/kinds/kinds.h"
#include "base/limits.h"

enum { AFFINITY_S = 10800, AFFINITY_MAX_S = 86400 };

static bool is_type(yyjson_mut_val *spec, const char *type) {
    return str_is(json_mstr(json_mget(spec, STR("type"))), type);
}

static bool has_node_ports(yyjson_mut_val *spec) {
    return is_type(spec, "NodePort") || is_type(spec, "LoadBalancer");
}

static void default_list(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *name,
                         struct str value) {
    if (json_mget(spec, str_of(name)) == NULL) {
        yyjson_mut_val *list = yyjson_mut_arr(d);
        yyjson_mut_arr_add_strncpy(d, list, value.p, value.n);
        json_mset(d, spec, str_of(name), list);
    }
}

static void default_text(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *name,
                         const char *value) {
    if (json_mget(spec, str_of(name)) == NULL) {
        json_mset_str(d, spec, name, str_of(value));
    }
}

static void service_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    (void)err;

    EACH(json_mget(spec, STR("ports")), i, p) {
        (void)i;
        if (json_mget(p, STR("targetPort")) == NULL) {
            json_mset_i64(d, p, "targetPort", yyjson_mut_get_sint(json_mget(p, STR("port"))));
        }
    }
    if (spec == NULL || is_type(spec, "ExternalName")) {
        return;
    }
    struct str ip = json_mstr(json_mget(spec, STR("clusterIP")));
    if (ip.n > 0) {
        default_list(d, spec, "clusterIPs", ip);
    }
    if (json_mget(spec, STR("ipFamilies")) == NULL) {
        default_list(d, spec, "ipFamilies", STR("IPv4"));
    }
    default_text(d, spec, "ipFamilyPolicy", "SingleStack");
    if (has_node_ports(spec)) {
        default_text(d, spec, "externalTrafficPolicy", "Cluster");
    }
    if (is_type(spec, "LoadBalancer") &&
        json_mget(spec, STR("allocateLoadBalancerNodePorts")) == NULL) {
        json_mset_bool(d, spec, "allocateLoadBalancerNodePorts", true);
    }
    if (str_is(json_mstr(json_mget(spec, STR("sessionAffinity"))), "ClientIP") &&
        json_mpath(spec, "sessionAffinityConfig.clientIP.timeoutSeconds") == NULL) {
        yyjson_mut_val *c = json_mensure(d, spec, "sessionAffinityConfig.clientIP");
        if (c) {
            json_mset_i64(d, c, "timeoutSeconds", AFFINITY_S);
        }
    }
}

/* ---- what may not be said ---- */

static void check_target(yyjson_mut_val *port, const struct path *at, struct causes *c) {
    struct path target = path_member(at, "targetPort");
    yyjson_mut_val *v = json_mget(port, STR("targetPort"));
    struct str name = json_mstr(v);

    if (yyjson_mut_is_int(v)) {
        int64_t n = yyjson_mut_get_sint(v);
        if (n < 1 || n > 65535) {
            cause_invalid_json(c, &target, v, "must be between 1 and 65535, inclusive");
        }
        return;
    }
    const char *fault = name.n > 15 ? "must be no more than 15 characters" : NULL;
    bool letter = false;
    for (size_t i = 0; i < name.n; i++) {
        char x = name.p[i];
        letter |= x >= 'a' && x <= 'z';
        if (!((x >= 'a' && x <= 'z') || (x >= '0' && x <= '9') || x == '-')) {
            fault = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
        }
    }
    fault = fault == NULL && !letter ? "must contain at least one letter (a-z)" : fault;
    if (fault && v) {
        cause_invalid(c, &target, name, "%s", fault);
    }
}

static void check_twins(yyjson_mut_val *list, size_t i, yyjson_mut_val *p, const struct path *at,
                        struct causes *c) {
    struct path name_at = path_member(at, "name"), node_at = path_member(at, "nodePort");
    struct str name = json_mstr(json_mget(p, STR("name")));
    int64_t node = yyjson_mut_get_sint(json_mget(p, STR("nodePort")));

    EACH(list, k, q) {
        if (k >= i) {
            return;
        }
        bool same = str_eq(json_mstr(json_mget(p, STR("protocol"))),
                           json_mstr(json_mget(q, STR("protocol"))));
        if (name.n && str_eq(name, json_mstr(json_mget(q, STR("name"))))) {
            cause_duplicate(c, &name_at, name);
        }
        if (same && yyjson_mut_get_sint(json_mget(p, STR("port"))) ==
                        yyjson_mut_get_sint(json_mget(q, STR("port")))) {
            cause_duplicate(c, at, json_mstr(json_mget(p, STR("protocol"))));
        }
        if (node && same && node == yyjson_mut_get_sint(json_mget(q, STR("nodePort")))) {
            cause_duplicate(c, &node_at, STR("nodePort"));
        }
    }
}

static void check_port(yyjson_mut_val *spec, yyjson_mut_val *p, const struct path *at, bool many,
                       struct causes *c) {
    struct path name = path_member(at, "name"), node = path_member(at, "nodePort");
    struct str text = json_mstr(json_mget(p, STR("name")));
    int64_t n = yyjson_mut_get_sint(json_mget(p, STR("nodePort")));

    if (many && text.n == 0) {
        cause_required(c, &name, NULL);
    }
    const char *fault = text.n ? format_fault("dns1123-label", text) : NULL;
    if (fault) {
        cause_invalid(c, &name, text, "%s", fault);
    }
    if (n && !has_node_ports(spec)) {
        cause_forbidden(c, &node, "may not be used when `type` is 'ClusterIP'");
    } else if (n && !str_is(json_mstr(json_mget(p, STR("protocol"))), "TCP")) {
        cause_forbidden(c, &node, "node ports carry TCP alone here");
    }
    check_target(p, at, c);
}

static void check_ports(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path ports = path_member(at, "ports");
    yyjson_mut_val *list = json_mget(spec, STR("ports"));
    size_t n = yyjson_mut_arr_size(list);

    if (n == 0 && !is_type(spec, "ExternalName") &&
        !str_is(json_mstr(json_mget(spec, STR("clusterIP"))), "None")) {
        cause_required(c, &ports, NULL);
    }
    if (n > LIMIT_SERVICE_PORTS) {
        cause_invalid(c, &ports, STR("ports"), "must have at most %d items", LIMIT_SERVICE_PORTS);
        return;
    }
    EACH(list, i, p) {
        struct path one = path_index(&ports, i);
        check_port(spec, p, &one, n > 1, c);
        check_twins(list, i, p, &one, c);
    }
}

/* Nothing here would act on it. */
static void check_unsupported(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path ips = path_member(at, "externalIPs"), families = path_member(at, "ipFamilies"),
                policy = path_member(at, "ipFamilyPolicy"),
                health = path_member(at, "healthCheckNodePort");

    if (yyjson_mut_arr_size(json_mget(spec, STR("externalIPs")))) {
        cause_forbidden(c, &ips, "no address of the machine leads to Services: use a NodePort");
    }
    EACH(json_mget(spec, STR("ipFamilies")), i, f) {
        (void)i;
        if (!str_is(json_mstr(f), "IPv4")) {
            cause_invalid(c, &families, json_mstr(f), "may only contain IPv4 here");
        }
    }
    if (str_is(json_mstr(json_mget(spec, STR("ipFamilyPolicy"))), "RequireDualStack")) {
        cause_invalid(c, &policy, STR("RequireDualStack"), "this cluster is IPv4 alone");
    }
    if (yyjson_mut_get_sint(json_mget(spec, STR("healthCheckNodePort")))) {
        cause_forbidden(c, &health, "there are no load balancers that would ask");
    }
}

static void check_external(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path name = path_member(at, "externalName"), ip = path_member(at, "clusterIP");
    struct str text = json_mstr(json_mget(spec, STR("externalName")));

    if (json_mstr(json_mget(spec, STR("clusterIP"))).n) {
        cause_forbidden(c, &ip, "may not be set for ExternalName services");
    }
    if (text.n == 0) {
        cause_required(c, &name, NULL);
        return;
    }
    const char *fault = format_fault("dns1123-subdomain", text);
    if (fault) {
        cause_invalid(c, &name, text, "%s", fault);
    }
}

static void check_affinity(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path config = path_member(at, "sessionAffinityConfig"),
                ip = path_member(&config, "clientIP"), s = path_member(&ip, "timeoutSeconds");
    yyjson_mut_val *v = json_mpath(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");

    if (!str_is(json_mstr(json_mget(spec, STR("sessionAffinity"))), "ClientIP")) {
        if (json_mget(spec, STR("sessionAffinityConfig"))) {
            cause_forbidden(c, &config, "must not be set when session affinity is None");
        }
    } else if (v && (yyjson_mut_get_sint(v) < 1 || yyjson_mut_get_sint(v) > AFFINITY_MAX_S)) {
        cause_invalid_json(c, &s, v, "must be greater than 0 and less than %d", AFFINITY_MAX_S);
    }
}

static void check_address(yyjson_mut_val *obj, yyjson_val *old, const struct path *at,
                          struct causes *c) {
    struct path ip = path_member(at, "clusterIP");
    struct str was = json_str_at(old, "spec.clusterIP"), now = json_mstr_at(obj, "spec.clusterIP");
    bool external = str_is(json_str_at(old, "spec.type"), "ExternalName") ||
                    str_is(json_mstr_at(obj, "spec.type"), "ExternalName");

    if (was.n > 0 && !external && !str_eq(was, now)) {
        cause_invalid(c, &ip, now, "field is immutable");
    }
    if (str_is(now, "None") && has_node_ports(json_mget(obj, STR("spec")))) {
        cause_invalid(c, &ip, now, "may not be set to 'None' for %.*s services",
                      STR_ARG(json_mstr_at(obj, "spec.type")));
    }
}

static void service_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), selector = path_member(&at, "selector");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));

    check_address(obj, old, &at, c);
    check_ports(spec, &at, c);
    check_labels(c, &selector, json_mget(spec, STR("selector")));
    check_unsupported(spec, &at, c);
    check_affinity(spec, &at, c);
    if (is_type(spec, "ExternalName")) {
        check_external(spec, &at, c);
    }
}

/* ---- as a row of a table ---- */

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
    cell_str(out, b.n ? buf_view(&b) : STR("<none>"));
    buf_release(&b);
}

static void service_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    struct str type = json_str_at(obj, "spec.type"), ip = json_str_at(obj, "spec.clusterIP");
    (void)now;
    switch (i) {
    case 2:
        cell_str(out, ip.n ? ip : STR("<none>"));
        break;
    case 3:
        cell_str(out, str_is(type, "ExternalName")   ? json_str_at(obj, "spec.externalName")
                      : str_is(type, "LoadBalancer") ? STR("<pending>")
                                                     : STR("<none>"));
        break;
    case 4:
        ports_cell(obj, out);
        break;
    default:
        cell_labels(out, json_path(obj, "spec.selector"));
        break;
    }
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

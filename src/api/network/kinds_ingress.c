/*
 * kinds_ingress: Ingress and IngressClass: their fields, rows and rules. They are stored and checked as Kubernetes
 * does; no controller here routes by them, and each write of an Ingress gets a warning that says so.
 */
#include "api/kinds/kinds.h"
#include "api/tables/rows.h"
#include "base/limits.h"

#define NET "io.k8s.api.networking.v1."

enum { CONTROLLER_BYTES = 250 }; /* of the name of a class's controller */

static const char *const path_types[] = {"Exact", "ImplementationSpecific", "Prefix", NULL};

/* ---- fields ---- */

static const struct field port_rows[] = {
    F(STRING, ONE, "name", 1, .doc = "Name of the Service's port; excludes number."),
    F(INT32, ONE, "number", 2, .doc = "Number of the Service's port; excludes name."),
};
static const struct schema schema_port =
    ATOMIC_SCHEMA(NET "ServiceBackendPort", port_rows, 0, "A port of a Service.");

static const struct field service_rows[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Service of the namespace."),
    F(OBJECT, ONE, "port", 2, .of = &schema_port, .doc = "Port of the Service."),
};
static const struct schema schema_service_backend =
    SCHEMA(NET "IngressServiceBackend", service_rows, 0, "A Service that takes requests.");

static const struct field backend_rows[] = {
    F(OBJECT, ONE, "service", 4, .of = &schema_service_backend, .flags = FIELD_F_OPT,
      .doc = "A Service; excludes resource."),
    F(OBJECT, ONE, "resource", 3, .of = &schema_typed_local_object_reference, .flags = FIELD_F_OPT,
      .doc = "An object of the namespace; excludes service."),
};
static const struct schema schema_backend =
    SCHEMA(NET "IngressBackend", backend_rows, 0, "What takes requests.");

static const struct field path_rows[] = {
    F(STRING, ONE, "path", 1, .doc = "Path of requests, with its slash at the beginning."),
    F(STRING, ONE, "pathType", 3, .flags = FIELD_F_OPT,
      .doc = "Exact, Prefix (by elements of the path) or ImplementationSpecific."),
    F(OBJECT, ONE, "backend", 2, .of = &schema_backend, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "What takes the requests."),
};
static const struct schema schema_path =
    SCHEMA(NET "HTTPIngressPath", path_rows, 0, "Requests to a path.");

static const struct field http_rows[] = {
    F(OBJECT, LIST, "paths", 1, .of = &schema_path, .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Paths, of which the longest that matches counts."),
};
static const struct schema schema_http =
    SCHEMA(NET "HTTPIngressRuleValue", http_rows, 0, "Paths of a host.");

static const struct field rule_rows[] = {
    F(STRING, ONE, "host", 1, .doc = "Host of requests; *.example.com stands for one label more."),
    F(OBJECT, ONE, "http", 1, .proto_in = 2, .of = &schema_http, .flags = FIELD_F_OPT,
      .doc = "Paths of the host."),
};
static const struct schema schema_rule =
    SCHEMA(NET "IngressRule", rule_rows, 0, "Requests to a host.");

static const struct field tls_rows[] = {
    F(STRING, LIST, "hosts", 1, .flags = FIELD_F_ATOMIC, .doc = "Hosts of the certificate."),
    F(STRING, ONE, "secretName", 2, .doc = "Secret that has the certificate and its key."),
};
static const struct schema schema_tls = SCHEMA(NET "IngressTLS", tls_rows, 0, "A certificate.");

static const struct field spec_rows[] = {
    F(STRING, ONE, "ingressClassName", 4, .flags = FIELD_F_OPT, .doc = "IngressClass."),
    F(OBJECT, ONE, "defaultBackend", 1, .of = &schema_backend, .flags = FIELD_F_OPT,
      .doc = "What takes requests that no rule is about."),
    F(OBJECT, LIST, "tls", 2, .of = &schema_tls, .flags = FIELD_F_ATOMIC, .doc = "Certificates."),
    F(OBJECT, LIST, "rules", 3, .of = &schema_rule, .flags = FIELD_F_ATOMIC,
      .doc = "Which requests go where."),
};
static const struct schema schema_spec =
    SCHEMA(NET "IngressSpec", spec_rows, 0, "Which requests go where.");

static const struct field port_status_rows[] = {
    F(INT32, ONE, "port", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Port."),
    F(STRING, ONE, "protocol", 2, .flags = FIELD_F_KEEP_EMPTY, .doc = "TCP, UDP or SCTP."),
    F(STRING, ONE, "error", 3, .flags = FIELD_F_OPT, .doc = "Why it does not serve."),
};
static const struct schema schema_port_status =
    SCHEMA(NET "IngressPortStatus", port_status_rows, 0, "A port that is served.");

static const struct field entry_rows[] = {
    F(STRING, ONE, "ip", 1, .doc = "Address."),
    F(STRING, ONE, "hostname", 2, .doc = "Name."),
    F(OBJECT, LIST, "ports", 4, .of = &schema_port_status, .flags = FIELD_F_ATOMIC,
      .doc = "Ports that are served."),
};
static const struct schema schema_entry =
    SCHEMA(NET "IngressLoadBalancerIngress", entry_rows, 0, "Where requests come in.");

static const struct field balancer_rows[] = {
    F(OBJECT, LIST, "ingress", 1, .of = &schema_entry, .flags = FIELD_F_ATOMIC,
      .doc = "Where requests come in."),
};
static const struct schema schema_balancer =
    SCHEMA(NET "IngressLoadBalancerStatus", balancer_rows, 0, "What routes by the Ingress.");

static const struct field status_rows[] = {
    F(OBJECT, ONE, "loadBalancer", 1, .of = &schema_balancer, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "What routes by the Ingress."),
};
static const struct schema schema_ingress_status =
    SCHEMA(NET "IngressStatus", status_rows, 0, "Observed state, set by controllers.");

static const struct field ingress_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 2, .of = &schema_spec, .doc = "Which requests go where."),
    F(OBJECT, ONE, "status", 3, .of = &schema_ingress_status, .doc = "Observed state."),
};
static const struct schema schema_ingress =
    SCHEMA(NET "Ingress", ingress_rows, 0, "Which requests from outside go to which Service.");

static const struct field parameters_rows[] = {
    F(STRING, ONE, "apiGroup", 1, .flags = FIELD_F_OPT, .doc = "Group; the core one unless set."),
    F(STRING, ONE, "kind", 2, .flags = FIELD_F_KEEP_EMPTY, .doc = "Kind."),
    F(STRING, ONE, "name", 3, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name."),
    F(STRING, ONE, "scope", 4, .flags = FIELD_F_OPT, .def = "\"Cluster\"",
      .doc = "Cluster or Namespace."),
    F(STRING, ONE, "namespace", 5, .flags = FIELD_F_OPT,
      .doc = "Namespace, where the scope is Namespace."),
};
static const struct schema schema_parameters =
    SCHEMA(NET "IngressClassParametersReference", parameters_rows, 0, "An object.");

static const struct field class_spec_rows[] = {
    F(STRING, ONE, "controller", 1, .doc = "Controller of the class, like example.com/routes."),
    F(OBJECT, ONE, "parameters", 2, .of = &schema_parameters, .flags = FIELD_F_OPT,
      .doc = "Object with more settings of the controller."),
};
static const struct schema schema_class_spec =
    SCHEMA(NET "IngressClassSpec", class_spec_rows, 0, "Who routes.");

static const struct field class_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 2, .of = &schema_class_spec, .doc = "Who routes."),
};
static const struct schema schema_ingress_class =
    SCHEMA(NET "IngressClass", class_rows, 0, "Who routes by the Ingresses that name it.");

/* ---- rules of an Ingress ---- */

static void format_check(struct causes *c, const struct path *at, const char *format,
                         struct str v) {
    const char *fault = format_fault(format, v);
    if (fault) {
        cause_invalid(c, at, v, "%s", fault);
    }
}

/* Four numbers with dots between. */
static bool is_ipv4(struct str s) {
    struct str part;
    uint64_t v;
    int n = 0;
    while (str_next(&s, '.', &part)) {
        if (part.n == 0 || part.n > 3 || !str_to_u64(part, &v) || v > 255) {
            return false;
        }
        n++;
    }
    return n == 4;
}

static void host_check(struct causes *c, const struct path *at, struct str host) {
    struct str rest = str_skip(host, 2);
    if (str_find(host, '*') < 0) {
        format_check(c, at, "dns1123-subdomain", host);
    } else if (!str_starts(host, STR("*.")) || format_fault("dns1123-subdomain", rest) != NULL) {
        cause_invalid(c, at, host,
                      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                      "subdomain, which must consist of lower case alphanumeric characters, '-' or "
                      "'.' and end with an alphanumeric character (e.g. '*.example.com', regex "
                      "used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]"
                      "([-a-z0-9]*[a-z0-9])?)*')");
    }
}

/* A reference of kind and name, both segments of a path. */
static void object_check(yyjson_mut_val *ref, const struct path *at, struct causes *c) {
    static const char *const members[] = {"kind", "name"};
    struct path group = path_member(at, "apiGroup");
    if (json_mget(ref, STR("apiGroup")) != NULL) {
        format_check(c, &group, "dns1123-subdomain", json_mstr_at(ref, "apiGroup"));
    }
    for (size_t i = 0; i < COUNT(members); i++) {
        struct path here = path_member(at, members[i]);
        struct str v = json_mstr_at(ref, members[i]);
        if (v.n == 0) {
            cause_required(c, &here, NULL);
        } else {
            format_check(c, &here, "path-name", v);
        }
    }
}

static void service_check(yyjson_mut_val *service, const struct path *backend, struct causes *c) {
    struct path at = path_member(backend, "service"), name_at = path_member(&at, "name");
    struct path port = path_member(&at, "port"), port_name = path_member(&port, "name");
    struct path number_at = path_member(&port, "number");
    struct str name = json_mstr_at(service, "name"), label = json_mstr_at(service, "port.name");
    yyjson_mut_val *number = json_mpath(service, "port.number");
    int64_t n = yyjson_mut_get_sint(number);
    if (name.n == 0) {
        cause_required(c, &name_at, NULL);
    } else {
        format_check(c, &name_at, "dns1123-label", name);
    }
    if (label.n > 0 && n != 0) {
        cause_invalid(c, backend, STR(""), "cannot set both port name & port number");
    } else if (label.n > 0) {
        format_check(c, &port_name, "port-name", label);
    } else if (n < 0 || n > 65535) {
        cause_invalid_json(c, &number_at, number, "must be between 1 and 65535, inclusive");
    } else if (n == 0) {
        cause_required(c, backend, "port name or number is required");
    }
}

static void backend_check(yyjson_mut_val *backend, const struct path *at, struct causes *c) {
    struct path resource_at = path_member(at, "resource");
    yyjson_mut_val *service = json_mget(backend, STR("service"));
    yyjson_mut_val *resource = json_mget(backend, STR("resource"));
    if (service && resource) {
        cause_invalid(c, at, STR(""), "cannot set both resource and service backends");
    } else if (resource) {
        object_check(resource, &resource_at, c);
    } else if (service) {
        service_check(service, at, c);
    } else {
        cause_invalid(c, at, STR(""), "resource or service backend is required");
    }
}

static void path_text_check(struct str text, const struct path *at, struct causes *c) {
    static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const ends[] = {"/..", "/."};
    for (size_t i = 0; i < COUNT(inside); i++) {
        if (str_contains(text, str_of(inside[i]))) {
            cause_invalid(c, at, text, "must not contain '%s'", inside[i]);
        }
    }
    for (size_t i = 0; i < COUNT(ends); i++) {
        if (str_ends(text, str_of(ends[i]))) {
            cause_invalid(c, at, text, "cannot end with '%s'", ends[i]);
        }
    }
}

static void one_path_check(yyjson_mut_val *p, const struct path *at, struct causes *c) {
    struct path type_at = path_member(at, "pathType"), here = path_member(at, "path");
    struct path backend = path_member(at, "backend");
    struct str type = json_mstr_at(p, "pathType"), text = json_mstr_at(p, "path");
    bool loose = str_is(type, "ImplementationSpecific");
    bool strict = str_is(type, "Exact") || str_is(type, "Prefix");
    if (json_mget(p, STR("pathType")) == NULL) {
        cause_required(c, &type_at, "pathType must be specified");
        return;
    }
    if (!loose && !strict) {
        cause_unsupported(c, &type_at, type, path_types);
    } else if (!str_starts(text, STR("/")) && (strict || text.n > 0)) {
        cause_invalid(c, &here, text, "must be an absolute path");
    }
    if (strict) {
        path_text_check(text, &here, c);
    }
    backend_check(json_mget(p, STR("backend")), &backend, c);
}

static void rule_check(yyjson_mut_val *rule, const struct path *at, struct causes *c) {
    struct path host_at = path_member(at, "host"), http_at = path_member(at, "http");
    struct path paths_at = path_member(&http_at, "paths");
    struct str host = json_mstr_at(rule, "host");
    yyjson_mut_val *http = json_mget(rule, STR("http"));
    yyjson_mut_val *paths = json_mget(http, STR("paths"));
    if (is_ipv4(host)) {
        cause_invalid(c, &host_at, host, "must be a DNS name, not an IP address");
    }
    if (host.n > 0) {
        host_check(c, &host_at, host);
    }
    if (http != NULL && yyjson_mut_arr_size(paths) == 0) {
        cause_required(c, &paths_at, NULL);
    }
    EACH(paths, i, p) {
        struct path one = path_index(&paths_at, i);
        one_path_check(p, &one, c);
    }
}

static void tls_check(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, tls) {
        struct path one = path_index(at, i), hosts_at = path_member(&one, "hosts");
        struct path secret_at = path_member(&one, "secretName");
        struct str secret = json_mstr_at(tls, "secretName");
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(json_mget(tls, STR("hosts")));
        yyjson_mut_val *host;
        for (size_t k = 0; (host = yyjson_mut_arr_iter_next(&it)) != NULL; k++) {
            struct path here = path_index(&hosts_at, k);
            host_check(c, &here, json_mstr(host));
        }
        if (secret.n > 0) {
            format_check(c, &secret_at, "dns1123-subdomain", secret);
        }
    }
}

/* An annotation named the class before the spec could. */
static void class_annotation_check(yyjson_mut_val *obj, struct causes *c) {
    struct path at = path_member(NULL, "annotations");
    struct path here = path_member(&at, "kubernetes.io/ingress.class");
    yyjson_mut_val *note =
        json_mget(json_mpath(obj, "metadata.annotations"), STR("kubernetes.io/ingress.class"));
    yyjson_mut_val *name = json_mpath(obj, "spec.ingressClassName");
    if (note && name && !str_eq(json_mstr(note), json_mstr(name))) {
        cause_invalid(c, &here, json_mstr(note),
                      "must match `ingressClassName` when both are specified");
    }
}

static void ingress_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), rules_at = path_member(&at, "rules");
    struct path backend_at = path_member(&at, "defaultBackend"), tls_at = path_member(&at, "tls");
    struct path class_at = path_member(&at, "ingressClassName");
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *rules = json_mget(spec, STR("rules"));
    yyjson_mut_val *backend = json_mget(spec, STR("defaultBackend"));
    if (c->status_alone) {
        return;
    }
    if (yyjson_mut_arr_size(rules) == 0 && backend == NULL) {
        cause_invalid_json(c, &at, rules, "either `defaultBackend` or `rules` must be specified");
    }
    if (backend) {
        backend_check(backend, &backend_at, c);
    }
    EACH(rules, i, rule) {
        struct path one = path_index(&rules_at, i);
        rule_check(rule, &one, c);
    }
    tls_check(json_mget(spec, STR("tls")), &tls_at, c);
    if (json_mget(spec, STR("ingressClassName")) != NULL) {
        format_check(c, &class_at, "dns1123-subdomain", json_mstr_at(spec, "ingressClassName"));
    }
    if (old == NULL) {
        class_annotation_check(obj, c);
    }
}

/* ---- rules of an IngressClass ---- */

/* A domain, a slash and a path. */
static void controller_check(struct str v, const struct path *at, struct causes *c) {
    struct str domain, path;
    if (v.n > CONTROLLER_BYTES) {
        causes_add(c, CAUSE_TOO_LONG, path_text(at, c->arena),
                   "Too long: may not be more than %d bytes", CONTROLLER_BYTES);
    }
    if (v.n == 0) {
        cause_required(c, at, NULL);
    } else if (!str_cut(v, '/', &domain, &path) || domain.n == 0 || path.n == 0) {
        cause_invalid(c, at, v, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    } else {
        format_check(c, at, "dns1123-subdomain", domain);
    }
}

static void parameters_check(yyjson_mut_val *p, const struct path *at, struct causes *c) {
    static const char *const scopes[] = {"Cluster", "Namespace", NULL};
    struct path scope_at = path_member(at, "scope"), ns_at = path_member(at, "namespace");
    struct str scope = json_mstr_at(p, "scope");
    yyjson_mut_val *ns = json_mget(p, STR("namespace"));
    object_check(p, at, c);
    if (str_is(scope, "Namespace")) {
        if (ns == NULL) {
            cause_required(c, &ns_at, "`parameters.scope` is set to 'Namespace'");
        } else {
            format_check(c, &ns_at, "dns1123-label", json_mstr(ns));
        }
    } else if (!str_is(scope, "Cluster")) {
        cause_unsupported(c, &scope_at, scope, scopes);
    } else if (ns != NULL) {
        cause_forbidden(c, &ns_at, "`parameters.scope` is set to 'Cluster'");
    }
}

static void ingress_class_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), controller_at = path_member(&at, "controller");
    struct path parameters_at = path_member(&at, "parameters");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *controller = json_mget(spec, STR("controller"));
    if (old != NULL) {
        check_immutable(c, &controller_at, controller, json_path(old, "spec.controller"));
    }
    controller_check(json_mstr(controller), &controller_at, c);
    if (json_mget(spec, STR("parameters")) != NULL) {
        parameters_check(json_mget(spec, STR("parameters")), &parameters_at, c);
    }
}

/* ---- cells ---- */

enum { HOSTS_SHOWN = 3 };

static void hosts_cell(yyjson_val *rules, struct buf *out) {
    struct buf b;
    size_t i, n, shown = 0;
    yyjson_val *rule;
    buf_init(&b, 0);
    yyjson_arr_foreach(rules, i, n, rule) {
        struct str host = json_str_at(rule, "host");
        if (host.n > 0 && shown++ < HOSTS_SHOWN) {
            buf_c(&b, b.n ? "," : "");
            buf_str(&b, host);
        }
    }
    if (shown > HOSTS_SHOWN) {
        buf_f(&b, " + %zu more...", shown - HOSTS_SHOWN);
    }
    cell_str(out, shown ? buf_view(&b) : STR("*"));
    buf_release(&b);
}

static void address_cell(yyjson_val *list, struct buf *out) {
    struct buf b;
    size_t i, n;
    yyjson_val *e;
    buf_init(&b, 0);
    yyjson_arr_foreach(list, i, n, e) {
        struct str ip = json_str_at(e, "ip");
        buf_c(&b, b.n ? "," : "");
        buf_str(&b, ip.n ? ip : json_str_at(e, "hostname"));
    }
    buf_json(out, buf_view(&b));
    buf_release(&b);
}

static void ingress_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 1) {
        cell_str(out, json_str_at(obj, "spec.ingressClassName"));
    } else if (i == 2) {
        hosts_cell(json_path(obj, "spec.rules"), out);
    } else if (i == 3) {
        address_cell(json_path(obj, "status.loadBalancer.ingress"), out);
    } else {
        cell_str(out, yyjson_arr_size(json_path(obj, "spec.tls")) ? STR("80, 443") : STR("80"));
    }
}

static void ingress_class_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    yyjson_val *p = json_path(obj, "spec.parameters"),
               *notes = json_path(obj, "metadata.annotations");
    struct str group = json_str_at(p, "apiGroup");
    bool chosen = str_is(
        json_str(json_get(notes, STR("ingressclass.kubernetes.io/is-default-class"))), "true");
    (void)now;
    if (i == 0) {
        cell_f(out, "%.*s%s", STR_ARG(json_str_at(obj, "metadata.name")),
               chosen ? " (default)" : "");
    } else if (p == NULL) {
        cell_str(out, (struct str){0});
    } else {
        cell_f(out, "%.*s%s%.*s/%.*s", STR_ARG(json_str_at(p, "kind")), group.n ? "." : "",
               STR_ARG(group), STR_ARG(json_str_at(p, "name")));
    }
}

/* ---- rows ---- */

static const struct column ingress_columns[] = {
    COLUMN_NAME,
    COLUMN("Class", "string", 0, "IngressClass."),
    COLUMN("Hosts", "string", 0, "Hosts of the rules."),
    COLUMN("Address", "string", 0, "Where requests come in."),
    COLUMN("Ports", "string", 0, "Ports that are open."),
    COLUMN_AGE,
};
const struct kind kind_ingress = {
    .group = "networking.k8s.io",
    .kind = "Ingress",
    .plural = "ingresses",
    .singular = "ingress",
    .short_names = (const char *const[]){"ing", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_STATUS_NOTES,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_ingress},
    .n_versions = 1,
    .columns = ingress_columns,
    .n_columns = COUNT(ingress_columns),
    .notice = "Ingress: Stored and checked, but nothing routes by it here: make a Service of type "
              "NodePort, or use kubectl port-forward",
    .prepare = prepare_status,
    .check = ingress_check,
    .cell = ingress_cell,
};

static const struct column ingress_class_columns[] = {
    {.name = "Name", .type = "string", .format = "name", .doc = "Name; whether it is the default."},
    COLUMN_PATH("Controller", "string", 0, "spec.controller", "Who routes."),
    COLUMN("Parameters", "string", 0, "Object with more settings."),
    COLUMN_AGE,
};
const struct kind kind_ingress_class = {
    .group = "networking.k8s.io",
    .kind = "IngressClass",
    .plural = "ingressclasses",
    .singular = "ingressclass",
    .flags = KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_ingress_class},
    .n_versions = 1,
    .columns = ingress_class_columns,
    .n_columns = COUNT(ingress_class_columns),
    .check = ingress_class_check,
    .cell = ingress_class_cell,
};

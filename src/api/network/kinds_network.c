/*
 * kinds_network: NetworkPolicy: its fields, its row and its rules. What the network of pods cannot do here (named
 * ports, addresses of IPv6) is refused, not left out.
 */
#include "api/kinds/kinds.h"
#include "api/tables/rows.h"
#include "base/limits.h"

#define NET "io.k8s.api.networking.v1."

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const policy_types[] = {"Egress", "Ingress", NULL};

static const struct field block_rows[] = {
    F(STRING, ONE, "cidr", 1, .flags = REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Addresses, like 10.0.0.0/8."),
    F(STRING, LIST, "except", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Those of them that are not meant."),
};
static const struct schema schema_block = SCHEMA(NET "IPBlock", block_rows, 0, "Addresses.");

static const struct field peer_rows[] = {
    F(OBJECT, ONE, "podSelector", 1, .of = &schema_label_selector, .flags = FIELD_F_OPT,
      .doc = "Pods by their labels; of the policy's namespace without a namespaceSelector."),
    F(OBJECT, ONE, "namespaceSelector", 2, .of = &schema_label_selector, .flags = FIELD_F_OPT,
      .doc = "Pods of namespaces with these labels."),
    F(OBJECT, ONE, "ipBlock", 3, .of = &schema_block, .flags = FIELD_F_OPT,
      .doc = "Addresses; excludes the others."),
};
static const struct schema schema_peer =
    SCHEMA(NET "NetworkPolicyPeer", peer_rows, 0, "Whom a rule is about.");

static const struct field policy_port_rows[] = {
    F(STRING, ONE, "protocol", 1, .flags = FIELD_F_OPT, .def = "\"TCP\"", .values = protocols,
      .doc = "TCP, UDP or SCTP."),
    F(INT_OR_STRING, ONE, "port", 2, .flags = FIELD_F_OPT, .doc = "Port; all unless set."),
    F(INT32, ONE, "endPort", 3, .flags = FIELD_F_OPT, .doc = "The last of a range of ports."),
};
static const struct schema schema_policy_port =
    SCHEMA(NET "NetworkPolicyPort", policy_port_rows, 0, "Ports of a rule.");

static const struct field ingress_rows[] = {
    F(OBJECT, LIST, "ports", 1, .of = &schema_policy_port, .flags = FIELD_F_ATOMIC,
      .doc = "Ports; all unless set."),
    F(OBJECT, LIST, "from", 2, .of = &schema_peer, .flags = FIELD_F_ATOMIC,
      .doc = "Who may connect; everyone unless set."),
};
static const struct schema schema_ingress =
    SCHEMA(NET "NetworkPolicyIngressRule", ingress_rows, 0, "What may come in.");

static const struct field egress_rows[] = {
    F(OBJECT, LIST, "ports", 1, .of = &schema_policy_port, .flags = FIELD_F_ATOMIC,
      .doc = "Ports; all unless set."),
    F(OBJECT, LIST, "to", 2, .of = &schema_peer, .flags = FIELD_F_ATOMIC,
      .doc = "Where pods may connect to; anywhere unless set."),
};
static const struct schema schema_egress =
    SCHEMA(NET "NetworkPolicyEgressRule", egress_rows, 0, "What may go out.");

static const struct field policy_spec_rows[] = {
    F(OBJECT, ONE, "podSelector", 1, .of = &schema_label_selector, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods of the namespace that it applies to; all when empty."),
    F(OBJECT, LIST, "ingress", 2, .of = &schema_ingress, .flags = FIELD_F_ATOMIC,
      .doc = "What may come in; nothing when empty."),
    F(OBJECT, LIST, "egress", 3, .of = &schema_egress, .flags = FIELD_F_ATOMIC,
      .doc = "What may go out; nothing when empty."),
    F(STRING, LIST, "policyTypes", 4, .flags = FIELD_F_ATOMIC, .values = policy_types,
      .doc = "Ingress, Egress or both; else Ingress, and Egress where there are such rules."),
};
static const struct schema schema_policy_spec =
    SCHEMA(NET "NetworkPolicySpec", policy_spec_rows, 0, "Which pods, and what they may.");

static const struct field policy_rows[] = {
    TEXT("apiVersion", "Version of the API in which the object is written."),
    TEXT("kind", "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 2, .of = &schema_policy_spec, .doc = "Which pods, and what they may."),
};
static const struct schema schema_network_policy =
    SCHEMA(NET "NetworkPolicy", policy_rows, 0, "What pods may send and receive.");

static void policy_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    (void)err;

    if (spec && yyjson_mut_arr_size(json_mget(spec, STR("policyTypes"))) == 0) {
        yyjson_mut_val *types = yyjson_mut_arr(d);
        yyjson_mut_arr_add_str(d, types, "Ingress");
        if (yyjson_mut_arr_size(json_mget(spec, STR("egress")))) {
            yyjson_mut_arr_add_str(d, types, "Egress");
        }
        json_mset(d, spec, STR("policyTypes"), types);
    }
}

/* An IPv4 network in its usual text. */
static bool is_cidr(struct str s) {
    struct str ip, bits, part;
    uint64_t v;
    int n = 0;

    if (!str_cut(s, '/', &ip, &bits) || !str_to_u64(bits, &v) || v > 32) {
        return false;
    }
    while (str_next(&ip, '.', &part)) {
        if (part.n == 0 || part.n > 3 || (part.n > 1 && part.p[0] == '0') ||
            !str_to_u64(part, &v) || v > 255) {
            return false;
        }
        n++;
    }
    return n == 4;
}

static void check_block(yyjson_mut_val *block, const struct path *at, struct causes *c) {
    struct path cidr = path_member(at, "cidr"), except = path_member(at, "except");
    struct str text = json_mstr(json_mget(block, STR("cidr")));

    if (!is_cidr(text)) {
        cause_invalid(c, &cidr, text, "must be a valid IPv4 CIDR value, (e.g. 10.9.8.0/24)");
    }
    EACH(json_mget(block, STR("except")), i, e) {
        struct path one = path_index(&except, i);
        if (!is_cidr(json_mstr(e))) {
            cause_invalid(c, &one, json_mstr(e), "must be a valid IPv4 CIDR value");
        }
    }
}

static void check_peers(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, p) {
        struct path one = path_index(at, i), block = path_member(&one, "ipBlock"),
                    pods = path_member(&one, "podSelector"),
                    spaces = path_member(&one, "namespaceSelector");
        yyjson_mut_val *b = json_mget(p, STR("ipBlock")), *ps = json_mget(p, STR("podSelector")),
                       *ns = json_mget(p, STR("namespaceSelector"));
        if (b == NULL && ps == NULL && ns == NULL) {
            cause_required(c, &one, "must specify a peer");
        } else if (b && (ps || ns)) {
            cause_forbidden(c, &one, "may not specify both ipBlock and another peer");
        } else if (b) {
            check_block(b, &block, c);
        }
        check_selector(c, &pods, ps);
        check_selector(c, &spaces, ns);
    }
}

static void check_policy_ports(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, p) {
        struct path one = path_index(at, i), port = path_member(&one, "port"),
                    last = path_member(&one, "endPort");
        yyjson_mut_val *v = json_mget(p, STR("port")), *e = json_mget(p, STR("endPort"));
        int64_t n = yyjson_mut_get_sint(v), end = yyjson_mut_get_sint(e);
        if (yyjson_mut_is_str(v)) {
            cause_invalid(c, &port, json_mstr(v),
                          "must be a number: names of ports are not "
                          "looked up here");
        } else if (v && (n < 1 || n > 65535)) {
            cause_invalid_json(c, &port, v, "must be between 1 and 65535, inclusive");
        }
        if (e && v == NULL) {
            cause_invalid_json(c, &last, e, "may not be specified when `port` is not specified");
        } else if (e && (end < n || end > 65535)) {
            cause_invalid_json(c, &last, e, "must be greater than or equal to `port`");
        }
    }
}

static void check_rules(yyjson_mut_val *list, const struct path *at, const char *peers,
                        struct causes *c) {
    if (yyjson_mut_arr_size(list) > LIMIT_POLICY_RULES) {
        cause_invalid(c, at, STR("rules"), "must have at most %d items", LIMIT_POLICY_RULES);
        return;
    }
    EACH(list, i, r) {
        struct path one = path_index(at, i), ports = path_member(&one, "ports"),
                    who = path_member(&one, peers);
        if (yyjson_mut_arr_size(json_mget(r, str_of(peers))) > LIMIT_POLICY_RULES ||
            yyjson_mut_arr_size(json_mget(r, STR("ports"))) > LIMIT_POLICY_RULES) {
            cause_invalid(c, &one, STR("rule"), "must have at most %d peers and ports",
                          LIMIT_POLICY_RULES);
            continue;
        }
        check_peers(json_mget(r, str_of(peers)), &who, c);
        check_policy_ports(json_mget(r, STR("ports")), &ports, c);
    }
}

static void policy_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), pods = path_member(&spec, "podSelector"),
                in = path_member(&spec, "ingress"), out = path_member(&spec, "egress");
    yyjson_mut_val *s = json_mget(obj, STR("spec"));
    (void)old;

    check_selector(c, &pods, json_mget(s, STR("podSelector")));
    check_rules(json_mget(s, STR("ingress")), &in, "from", c);
    check_rules(json_mget(s, STR("egress")), &out, "to", c);
}

/* The selector as kubectl prints it. */
static void policy_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    yyjson_val *s = json_path(obj, "spec.podSelector");
    (void)i;
    (void)now;
    cell_labels(out, json_get(s, STR("matchLabels")));
}

static const struct column policy_columns[] = {
    COLUMN_NAME,
    COLUMN("Pod-Selector", "string", 0, "Pods that it applies to."),
    COLUMN_AGE,
};
const struct kind kind_network_policy = {
    .group = "networking.k8s.io",
    .kind = "NetworkPolicy",
    .plural = "networkpolicies",
    .singular = "networkpolicy",
    .short_names = (const char *const[]){"netpol", NULL},
    .flags = KIND_NAMESPACED | KIND_GENERATION,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_network_policy},
    .n_versions = 1,
    .columns = policy_columns,
    .n_columns = COUNT(policy_columns),
    .set_defaults = policy_defaults,
    .check = policy_check,
    .cell = policy_cell,
};

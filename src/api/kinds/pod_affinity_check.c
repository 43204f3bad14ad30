/* pod_affinity_check: the selectors by which a pod is placed beside others, or spread. */
#include "api/kinds/kinds.h"
#include "api/schema/check.h"

static void check_format(struct causes *c, const struct path *at, const char *format,
                         struct str v) {
    const char *fault = v.n > 0 ? format_fault(format, v) : NULL;
    if (fault != NULL) {
        cause_invalid(c, at, v, "%s", fault);
    }
}

static void check_term(yyjson_mut_val *term, const struct path *at, struct causes *c) {
    struct path labels = path_member(at, "labelSelector");
    struct path spaces = path_member(at, "namespaceSelector");
    check_selector(c, &labels, json_mget(term, STR("labelSelector")));
    struct path topology = path_member(at, "topologyKey");
    check_selector(c, &spaces, json_mget(term, STR("namespaceSelector")));
    check_format(c, &topology, "label-key", json_mstr_at(term, "topologyKey"));
}

static void check_terms(yyjson_mut_val *affinity, const struct path *at, struct causes *c) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
    struct path hard = path_member(at, required), soft = path_member(at, preferred);
    EACH(json_mget(affinity, str_of(required)), i, term) {
        struct path here = path_index(&hard, i);
        check_term(term, &here, c);
    }
    EACH(json_mget(affinity, str_of(preferred)), i, weighted) {
        struct path here = path_index(&soft, i), inner = path_member(&here, "podAffinityTerm");
        check_term(json_mget(weighted, STR("podAffinityTerm")), &inner, c);
    }
}

/* The operators of nodes' labels; a table says which there are. */
static void check_node_term(yyjson_mut_val *term, const struct path *at, struct causes *c) {
    struct path list = path_member(at, "matchExpressions");
    EACH(json_mget(term, STR("matchExpressions")), i, e) {
        struct path here = path_index(&list, i), values = path_member(&here, "values");
        struct str op = json_mstr_at(e, "operator");
        struct path key = path_member(&here, "key");
        size_t n = yyjson_mut_arr_size(json_mget(e, STR("values")));
        check_format(c, &key, "label-key", json_mstr_at(e, "key"));
        EACH(json_mget(e, STR("values")), k, value) {
            struct path one = path_index(&values, k);
            check_format(c, &one, "label-value", json_mstr(value));
        }
        if ((str_is(op, "In") || str_is(op, "NotIn")) && n == 0) {
            cause_required(c, &values, "must be specified when `operator` is 'In' or 'NotIn'");
        } else if ((str_is(op, "Exists") || str_is(op, "DoesNotExist")) && n > 0) {
            cause_forbidden(c, &values,
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        } else if ((str_is(op, "Gt") || str_is(op, "Lt")) && n != 1) {
            cause_required(c, &values,
                           "must be specified single value when `operator` is 'Lt' or "
                           "'Gt'");
        }
    }
}

static void check_nodes(yyjson_mut_val *affinity, const struct path *at, struct causes *c) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
    struct path hard = path_member(at, required), soft = path_member(at, preferred);
    struct path terms = path_member(&hard, "nodeSelectorTerms");
    yyjson_mut_val *must = json_mget(affinity, str_of(required));
    EACH(json_mget(must, STR("nodeSelectorTerms")), i, term) {
        struct path here = path_index(&terms, i);
        check_node_term(term, &here, c);
    }
    EACH(json_mget(affinity, str_of(preferred)), i, weighted) {
        struct path here = path_index(&soft, i), inner = path_member(&here, "preference");
        check_node_term(json_mget(weighted, STR("preference")), &inner, c);
    }
}

void pod_affinity_check(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path affinity = path_member(at, "affinity"), spread;
    struct path with = path_member(&affinity, "podAffinity");
    struct path apart = path_member(&affinity, "podAntiAffinity");
    yyjson_mut_val *v = json_mget(spec, STR("affinity"));
    struct path nodes = path_member(&affinity, "nodeAffinity");
    check_nodes(json_mget(v, STR("nodeAffinity")), &nodes, c);
    check_terms(json_mget(v, STR("podAffinity")), &with, c);
    check_terms(json_mget(v, STR("podAntiAffinity")), &apart, c);
    spread = path_member(at, "topologySpreadConstraints");
    EACH(json_mget(spec, STR("topologySpreadConstraints")), i, constraint) {
        struct path here = path_index(&spread, i), labels = path_member(&here, "labelSelector");
        check_selector(c, &labels, json_mget(constraint, STR("labelSelector")));
    }
}

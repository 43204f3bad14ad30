/* kueue_check: Kueue's rules for flavors, cluster queues, cohorts, local queues and topologies. */
#include "api/kinds/kinds.h"
#include "base/limits.h"
#include "wire/text/quantity.h"

enum { MAX_FLAVORS = 256, MAX_RESOURCES = 256, MAX_CELLS = 512 };

static const char hostname_label[] = "kubernetes.io/hostname";

/* Rules over an object or a list as a whole are worded as those of a CustomResourceDefinition. */
#define RULE_OBJECT(c_, at_, ...) cause_invalid(c_, at_, STR("object"), __VA_ARGS__)
#define RULE_LIST(c_, at_, ...) cause_invalid(c_, at_, STR("array"), __VA_ARGS__)

static void check_taints(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, t) {
        EACH(list, j, earlier) {
            struct path here = path_index(at, i);
            if (j < i && str_eq(json_mstr_at(t, "key"), json_mstr_at(earlier, "key")) &&
                str_eq(json_mstr_at(t, "effect"), json_mstr_at(earlier, "effect"))) {
                cause_duplicate(c, &here, json_mstr_at(t, "key"));
            }
        }
    }
}

void resource_flavor_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), labels = path_member(&at, "nodeLabels");
    struct path taints = path_member(&at, "nodeTaints");
    struct path tolerations = path_member(&at, "tolerations");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct str topology = json_mstr_at(spec, "topologyName");
    struct str was = json_str_at(old, "spec.topologyName");
    check_labels(c, &labels, json_mget(spec, STR("nodeLabels")));
    check_taints(json_mget(spec, STR("nodeTaints")), &taints, c);
    check_tolerations(json_mget(spec, STR("tolerations")), &tolerations, c);
    if (topology.n > 0 && yyjson_mut_obj_size(json_mget(spec, STR("nodeLabels"))) == 0) {
        RULE_OBJECT(c, &at, "at least one nodeLabel is required when topology is set");
    }
    if (was.n > 0 && !str_eq(was, topology)) {
        RULE_OBJECT(c, &at, "topologyName is immutable when topologyName is set");
    }
}

/* --- resource groups, of cluster queues and cohorts alike --- */

struct groups {
    struct causes *c;
    bool has_parent;  /* borrowing and lending are limits towards a parent */
    bool cap_lending; /* a cluster queue lends at most what it has */
    yyjson_mut_val *list;
    const struct path *at;
};

/* Whether the text occurs earlier: in a group before `upto` at all, or in this group before element n. */
static bool listed_before(yyjson_mut_val *groups, size_t upto, const char *member,
                          const char *name_member, struct str text, size_t n) {
    EACH(groups, g, group) {
        if (g > upto) {
            return false;
        }
        EACH(json_mget(group, str_of(member)), i, e) {
            if (g == upto && i >= n) {
                return false;
            }
            if (str_eq(name_member ? json_mstr_at(e, name_member) : json_mstr(e), text)) {
                return true;
            }
        }
    }
    return false;
}

static void check_limit(struct groups *g, yyjson_mut_val *quota, const char *member,
                        const struct path *at) {
    struct path here = path_member(at, member);
    yyjson_mut_val *v = json_mget(quota, str_of(member));
    struct quantity limit, nominal;
    if (v == NULL || quantity_parse(json_mstr(v), &limit, NULL) < 0) {
        return;
    }
    if (quantity_sign(limit) < 0) {
        cause_invalid(g->c, &here, json_mstr(v), "must be greater than or equal to 0");
    }
    if (!g->has_parent) {
        cause_invalid(g->c, &here, json_mstr(v), "must be nil when %s is empty",
                      g->cap_lending ? "cohort" : "parent");
    }
    if (g->cap_lending && strcmp(member, "lendingLimit") == 0 &&
        quantity_parse(json_mstr_at(quota, "nominalQuota"), &nominal, NULL) == 0 &&
        quantity_cmp(limit, nominal) > 0) {
        cause_invalid(g->c, &here, json_mstr(v), "must be less than or equal to the nominalQuota");
    }
}

static void check_flavor(struct groups *g, yyjson_mut_val *flavor, yyjson_mut_val *covered,
                         const struct path *at) {
    struct path list_at = path_member(at, "resources");
    EACH(json_mget(flavor, STR("resources")), i, quota) {
        struct path here = path_index(&list_at, i), name_at = path_member(&here, "name");
        struct path nominal_at = path_member(&here, "nominalQuota");
        struct str name = json_mstr_at(quota, "name");
        struct quantity q;
        if (!str_eq(name, json_mstr(yyjson_mut_arr_get(covered, i)))) {
            cause_invalid(g->c, &name_at, name, "must match the name in coveredResources");
        }
        struct str nominal = json_mstr_at(quota, "nominalQuota");
        if (quantity_parse(nominal, &q, NULL) == 0 && quantity_sign(q) < 0) {
            cause_invalid(g->c, &nominal_at, nominal, "must be greater than or equal to 0");
        }
        check_limit(g, quota, "borrowingLimit", &here);
        check_limit(g, quota, "lendingLimit", &here);
    }
}

static void check_group(struct groups *g, size_t n, yyjson_mut_val *group) {
    struct path here = path_index(g->at, n), covered_at = path_member(&here, "coveredResources");
    struct path flavors_at = path_member(&here, "flavors");
    yyjson_mut_val *covered = json_mget(group, STR("coveredResources"));
    size_t width = yyjson_mut_arr_size(covered);
    EACH(covered, i, e) {
        struct path at = path_index(&covered_at, i);
        struct str resource = json_mstr(e);
        const char *fault = format_fault("label-key", resource);
        if (fault != NULL) {
            cause_invalid(g->c, &at, resource, "%s", fault);
        }
        if (listed_before(g->list, n, "coveredResources", NULL, resource, i)) {
            cause_duplicate(g->c, &at, resource);
        }
    }
    EACH(json_mget(group, STR("flavors")), f, flavor) {
        struct path at = path_index(&flavors_at, f), name_at = path_member(&at, "name");
        struct str name = json_mstr_at(flavor, "name");
        if (listed_before(g->list, n, "flavors", "name", name, f)) {
            cause_duplicate(g->c, &name_at, name);
        }
        if (yyjson_mut_arr_size(json_mget(flavor, STR("resources"))) != width) {
            RULE_OBJECT(g->c, &here,
                        "flavors must have the same number of resources as the coveredResources");
            continue;
        }
        check_flavor(g, flavor, covered, &at);
    }
}

static void check_groups(struct groups *g) {
    size_t flavors = 0, resources = 0;
    EACH(g->list, n, group) {
        size_t f = yyjson_mut_arr_size(json_mget(group, STR("flavors")));
        size_t r = yyjson_mut_arr_size(json_mget(group, STR("coveredResources")));
        struct path here = path_index(g->at, n);
        check_group(g, n, group);
        if (f * r > MAX_CELLS) {
            RULE_OBJECT(g->c, &here, "the product of flavors and resources must be at most %d",
                        MAX_CELLS);
        }
        flavors += f;
        resources += r;
    }
    if (flavors > MAX_FLAVORS) {
        RULE_LIST(g->c, g->at, "the total number of flavors must be at most %d", MAX_FLAVORS);
    }
    if (resources > MAX_RESOURCES) {
        RULE_LIST(g->c, g->at, "the total number of covered resources must be at most %d",
                  MAX_RESOURCES);
    }
}

static void check_weight(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path sharing = path_member(at, "fairSharing"), here = path_member(&sharing, "weight");
    struct str text = json_mstr_at(spec, "fairSharing.weight");
    struct quantity q;
    if (text.n == 0 || quantity_parse(text, &q, NULL) < 0) {
        return;
    }
    if (quantity_sign(q) < 0) {
        cause_invalid(c, &here, text, "must be greater than or equal to 0");
    } else if (q.whole == 0 && q.nano == 1) {
        cause_invalid(c, &here, text, "When not 0, it must be greater than 10^-9");
    }
}

static void check_preemption(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path preemption = path_member(at, "preemption");
    struct path fungibility = path_member(at, "flavorFungibility");
    struct str borrow = json_mstr_at(spec, "preemption.borrowWithinCohort.policy");
    if (str_is(json_mstr_at(spec, "preemption.reclaimWithinCohort"), "Never") && borrow.n > 0 &&
        !str_is(borrow, "Never")) {
        RULE_OBJECT(c, &preemption,
                    "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never");
    }
    if (json_mstr_at(spec, "flavorFungibility.preference").n > 0 &&
        !(str_is(json_mstr_at(spec, "flavorFungibility.whenCanBorrow"), "TryNextFlavor") &&
          str_is(json_mstr_at(spec, "flavorFungibility.whenCanPreempt"), "TryNextFlavor"))) {
        RULE_OBJECT(c, &fungibility,
                    "preference can only be set when both whenCanBorrow and whenCanPreempt are "
                    "TryNextFlavor");
    }
}

/* Checks may name only flavors that the queue has; a wrong one that was there before is put up with. */
static void check_on_flavors(yyjson_mut_val *spec, yyjson_val *old, const struct path *at,
                             struct causes *c) {
    struct path strategy = path_member(at, "admissionChecksStrategy");
    struct path list_at = path_member(&strategy, "admissionChecks");
    yyjson_mut_val *groups = json_mget(spec, STR("resourceGroups"));
    yyjson_mut_val *rules = json_mpath(spec, "admissionChecksStrategy.admissionChecks");
    if (old != NULL &&
        same_value(rules, json_path(old, "spec.admissionChecksStrategy.admissionChecks"))) {
        return;
    }
    EACH(rules, i, rule) {
        struct path here = path_index(&list_at, i), flavors_at = path_member(&here, "onFlavors");
        EACH(json_mget(rule, STR("onFlavors")), f, flavor) {
            struct path flavor_at = path_index(&flavors_at, f);
            if (!listed_before(groups, SIZE_MAX, "flavors", "name", json_mstr(flavor), 0)) {
                cause_invalid(c, &flavor_at, json_mstr(flavor),
                              "must be one of the flavors of the ClusterQueue");
            }
        }
    }
}

void cluster_queue_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), groups_at = path_member(&at, "resourceGroups");
    struct path selector = path_member(&at, "namespaceSelector");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct groups g = {
        .c = c,
        .has_parent = json_mstr_at(spec, "cohortName").n > 0,
        .cap_lending = true,
        .list = json_mget(spec, STR("resourceGroups")),
        .at = &groups_at,
    };
    check_groups(&g);
    check_preemption(spec, &at, c);
    check_on_flavors(spec, old, &at, c);
    check_weight(spec, &at, c);
    check_selector(c, &selector, json_mget(spec, STR("namespaceSelector")));
    cluster_queue_notes_check(obj, old, c);
}

void cohort_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    struct path at = path_member(NULL, "spec"), groups_at = path_member(&at, "resourceGroups");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct groups g = {
        .c = c,
        .has_parent = json_mstr_at(spec, "parentName").n > 0,
        .list = json_mget(spec, STR("resourceGroups")),
        .at = &groups_at,
    };
    check_groups(&g);
    check_weight(spec, &at, c);
}

/* Its ClusterQueue may be left out, but not be named nothing. */
void local_queue_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    struct path at = path_member(NULL, "spec"), queue_at = path_member(&at, "clusterQueue");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *queue = json_mget(spec, STR("clusterQueue"));
    if (yyjson_mut_is_str(queue) && json_mstr(queue).n == 0) {
        cause_invalid(c, &queue_at, STR(""), "%s", format_fault("dns1123-subdomain", STR("")));
    }
    check_weight(spec, &at, c);
}

static struct str lowest_level(yyjson_val *spec) {
    yyjson_val *levels = json_get(spec, STR("levels"));
    return json_str_at(yyjson_arr_get_last(levels), "nodeLabel");
}

void topology_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), levels_at = path_member(&at, "levels");
    yyjson_mut_val *levels = json_mpath(obj, "spec.levels");
    size_t n = yyjson_mut_arr_size(levels);
    struct str lowest = json_mstr_at(yyjson_mut_arr_get_last(levels), "nodeLabel");
    EACH(levels, i, level) {
        struct path here = path_index(&levels_at, i), label_at = path_member(&here, "nodeLabel");
        struct str label = json_mstr_at(level, "nodeLabel");
        const char *fault = format_fault("label-key", label);
        if (fault != NULL) {
            cause_invalid(c, &label_at, label, "%s", fault);
        }
        if (i + 1 < n && str_is(label, hostname_label)) {
            RULE_LIST(c, &levels_at,
                      "the kubernetes.io/hostname label can only be used at the lowest level of "
                      "topology");
        }
        EACH(levels, j, earlier) {
            if (j < i && str_eq(label, json_mstr_at(earlier, "nodeLabel"))) {
                RULE_LIST(c, &levels_at, "must be unique");
            }
        }
    }
    if (old != NULL && !same_value(levels, json_path(old, "spec.levels")) &&
        !(str_is(lowest, hostname_label) &&
          str_is(lowest_level(json_get(old, STR("spec"))), hostname_label))) {
        RULE_LIST(c, &levels_at,
                  "levels are mutable only when kubernetes.io/hostname is the lowest level both "
                  "before and after the change");
    }
}

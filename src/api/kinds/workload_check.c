/*
 * workload_check: Kueue's rules for workloads.
 *
 * What holds quota may not change what it holds it for: while QuotaReserved is true the pod sets, the queue and the
 * kind of priority class are fixed, and pods that were given back are not taken again; while Admitted the time limit
 * is fixed, too.
 */
#include "api/kinds/kinds.h"
#include "wire/text/quantity.h"

#define RULE_OBJECT(c_, at_, ...) cause_invalid(c_, at_, STR("object"), __VA_ARGS__)

static bool condition_is_true(yyjson_mut_val *obj, const char *type) {
    EACH(json_mpath(obj, "status.conditions"), i, e) {
        (void)i;
        if (str_is(json_mstr_at(e, "type"), type)) {
            return str_is(json_mstr_at(e, "status"), "True");
        }
    }
    return false;
}

static void check_topology_request(yyjson_mut_val *r, const struct path *at, struct causes *c) {
    static const char *const keys[] = {"required", "preferred", "podSetSliceRequiredTopology"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct path here = path_member(at, keys[i]);
        struct str v = json_mstr_at(r, keys[i]);
        const char *fault = v.n > 0 ? format_fault("label-key", v) : NULL;
        if (fault != NULL) {
            cause_invalid(c, &here, v, "%s", fault);
        }
    }
    bool topology = json_mget(r, STR("podSetSliceRequiredTopology")) != NULL;
    bool size = json_mget(r, STR("podSetSliceSize")) != NULL;
    if (topology != size) {
        RULE_OBJECT(c, at, "podSetSliceRequiredTopology and podSetSliceSize must be set together");
    }
    if (topology && json_mget(r, STR("podsetSliceRequiredTopologyConstraints")) != NULL) {
        RULE_OBJECT(c, at,
                    "podsetSliceRequiredTopologyConstraints cannot be set together with "
                    "podSetSliceRequiredTopology");
    }
}

static void check_reserved_resource(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    static const char *const lists[] = {"initContainers", "containers"};
    for (size_t l = 0; l < COUNT(lists); l++) {
        struct path list_at = path_member(at, lists[l]);
        EACH(json_mget(spec, str_of(lists[l])), i, container) {
            struct path here = path_index(&list_at, i), r = path_member(&here, "resources");
            struct path requests = path_member(&r, "requests");
            if (json_mget(json_mpath(container, "resources.requests"), STR("pods")) != NULL) {
                cause_invalid(c, &requests, STR("pods"),
                              "the key is reserved for internal kueue use");
            }
        }
    }
}

/* How many may have fewer pods. */
static int check_pod_sets(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    int partial = 0;
    EACH(list, i, set) {
        struct path here = path_index(at, i), template = path_member(&here, "template");
        struct path spec_at = path_member(&template, "spec");
        struct path request = path_member(&here, "topologyRequest");
        struct str name = json_mstr_at(set, "name");
        yyjson_mut_val *min = json_mget(set, STR("minCount"));
        if (min != NULL &&
            yyjson_mut_get_sint(min) > yyjson_mut_get_sint(json_mget(set, STR("count")))) {
            RULE_OBJECT(c, &here, "minCount should be positive and less or equal to count");
        }
        partial += min != NULL;
        EACH(list, j, earlier) {
            if (j < i && str_eq(name, json_mstr_at(earlier, "name"))) {
                cause_duplicate(c, &here, name);
            }
        }
        c->claims_elsewhere = true; /* of a StatefulSet, say */
        pod_template_check(json_mget(set, STR("template")), &template, c);
        check_reserved_resource(json_mpath(set, "template.spec"), &spec_at, c);
        check_topology_request(json_mget(set, STR("topologyRequest")), &request, c);
    }
    if (partial > 1) {
        cause_invalid(c, at, STR("array"), "at most one podSet can use minCount");
    }
    return partial;
}

static void check_priority(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path ref_at = path_member(at, "priorityClassRef");
    yyjson_mut_val *ref = json_mget(spec, STR("priorityClassRef"));
    struct str group = json_mstr_at(ref, "group"), kind = json_mstr_at(ref, "kind");
    if (ref == NULL) {
        return;
    }
    if (json_mget(spec, STR("priority")) == NULL) {
        RULE_OBJECT(c, at, "priority should not be nil when priorityClassRef is set");
    }
    if (str_is(group, "scheduling.k8s.io") && !str_is(kind, "PriorityClass")) {
        RULE_OBJECT(c, &ref_at,
                    "only the PriorityClass kind is allowed for the scheduling.k8s.io group");
    }
    if (str_is(group, "kueue.x-k8s.io") && !str_is(kind, "WorkloadPriorityClass")) {
        RULE_OBJECT(c, &ref_at,
                    "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group");
    }
}

/* Usage is counted for all pods of a set, so each amount divides by the count. */
static void check_usage(yyjson_mut_val *set, const struct path *at, struct causes *c) {
    struct path usage_at = path_member(at, "resourceUsage");
    int64_t count = yyjson_mut_get_sint(json_mget(set, STR("count")));
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(json_mget(set, STR("resourceUsage")));
    yyjson_mut_val *k;
    while (count > 0 && (k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct path here = path_key(&usage_at, json_mstr(k));
        struct str text = json_mstr(yyjson_mut_obj_iter_get_val(k));
        struct quantity q;
        if (quantity_parse(text, &q, NULL) == 0 && q.whole < INT64_MAX / 1000 &&
            quantity_milli(q) % count != 0) {
            cause_invalid(c, &here, text, "is not a multiple of %lld", (long long)count);
        }
    }
}

/* An admission appears and goes as a whole; only the placing inside may be filled in later. */
static void check_admission(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const later[] = {"topologyAssignment", "delayedTopologyRequest", NULL};
    static const char *const sets_only[] = {"podSetAssignments", NULL};
    struct path status = path_member(NULL, "status"), at = path_member(&status, "admission");
    struct path list_at = path_member(&at, "podSetAssignments");
    yyjson_mut_val *now = json_mpath(obj, "status.admission");
    yyjson_val *was = json_path(old, "status.admission");
    yyjson_mut_val *sets = json_mget(now, STR("podSetAssignments"));
    if (now == NULL) {
        return;
    }
    EACH(sets, i, set) {
        struct path here = path_index(&list_at, i);
        check_usage(set, &here, c);
    }
    if (condition_is_true(obj, "QuotaReserved") &&
        yyjson_mut_arr_size(sets) != yyjson_mut_arr_size(json_mpath(obj, "spec.podSets"))) {
        RULE_OBJECT(c, NULL, "podSetAssignments must have the same number of podSets as the spec");
    }
    if (was == NULL) {
        return;
    }
    yyjson_val *old_sets = json_get(was, STR("podSetAssignments"));
    bool same =
        same_except(now, was, sets_only) && yyjson_mut_arr_size(sets) == yyjson_arr_size(old_sets);
    yyjson_arr_iter theirs = yyjson_arr_iter_with(old_sets);
    EACH(sets, j, assigned) {
        (void)j;
        same = same && same_except(assigned, yyjson_arr_iter_next(&theirs), later);
    }
    if (!same) {
        RULE_OBJECT(c, &at, "field is immutable");
    }
}

static bool is_elastic(yyjson_mut_val *obj) {
    yyjson_mut_val *notes = json_mpath(obj, "metadata.annotations");
    return str_is(json_mstr(json_mget(notes, STR("kueue.x-k8s.io/elastic-job"))), "true");
}

/* ---- reclaimable pods ---- */

enum { SETS_NAMED = 32 };

/* Old lists are short: their tables bound them. */
static yyjson_val *stored(yyjson_val *list, struct str name) {
    size_t i, n;
    yyjson_val *x;
    yyjson_arr_foreach(list, i, n, x) {
        if (str_eq(json_str_at(x, "name"), name)) {
            return x;
        }
    }
    return NULL;
}

static void unknown_set(yyjson_mut_val *sets, const struct path *at, struct str name,
                        struct causes *c) {
    const char *names[SETS_NAMED + 1] = {0};
    struct path here = path_member(at, "name");
    EACH(sets, i, set) {
        if (i < SETS_NAMED) {
            names[i] = yyjson_mut_get_str(json_mget(set, STR("name")));
        }
    }
    cause_unsupported(c, &here, name, names);
}

/* Each is of a pod set, and of no more pods than that has. A count from before the set became smaller may stay (in
 * Kueue only an elastic Job's: others could then not be made smaller while they wait). */
static void check_reclaimable(yyjson_mut_val *obj, yyjson_val *old, const struct path *list_at,
                              struct causes *c) {
    yyjson_mut_val *sets = json_mpath(obj, "spec.podSets");
    EACH(json_mpath(obj, "status.reclaimablePods"), i, r) {
        (void)i;
        struct str name = json_mstr_at(r, "name");
        struct path at = path_key(list_at, name), count_at = path_member(&at, "count");
        yyjson_mut_val *set = json_mfind(sets, "name", name), *n = json_mget(r, STR("count"));
        yyjson_val *was = stored(json_path(old, "status.reclaimablePods"), name);
        int64_t most = yyjson_mut_get_sint(json_mget(set, STR("count")));
        bool stale = was != NULL && same_value(n, json_get(was, STR("count")));
        if (set == NULL) {
            unknown_set(sets, &at, name, c);
        } else if (yyjson_mut_get_sint(n) > most && !stale) {
            cause_invalid_json(c, &count_at, n, "should be less or equal to %lld", (long long)most);
        }
    }
}

/* Of an elastic Job: it was given more pods than it has by now. */
static bool scaled_down(yyjson_mut_val *obj, struct str name) {
    yyjson_mut_val *given =
        json_mfind(json_mpath(obj, "status.admission.podSetAssignments"), "name", name);
    yyjson_mut_val *set = json_mfind(json_mpath(obj, "spec.podSets"), "name", name);
    return is_elastic(obj) && yyjson_mut_get_sint(json_mget(given, STR("count"))) >
                                  yyjson_mut_get_sint(json_mget(set, STR("count")));
}

/* While quota is held, what was given back is others' by now. */
static void check_given_back(yyjson_mut_val *obj, yyjson_val *old, const struct path *list_at,
                             struct causes *c) {
    yyjson_mut_val *list = json_mpath(obj, "status.reclaimablePods");
    size_t i, n;
    yyjson_val *was;
    if (!str_is(condition_status(old, "QuotaReserved"), "True") ||
        !condition_is_true(obj, "QuotaReserved")) {
        return;
    }
    yyjson_arr_foreach(json_path(old, "status.reclaimablePods"), i, n, was) {
        struct str name = json_str_at(was, "name");
        struct path at = path_key(list_at, name), count_at = path_member(&at, "count");
        yyjson_mut_val *now = json_mfind(list, "name", name);
        yyjson_mut_val *count = json_mget(now, STR("count"));
        int64_t had = json_i64_at(was, "count", 0);
        if (scaled_down(obj, name)) {
            continue;
        }
        if (now == NULL) {
            cause_required(c, &at, "cannot be removed");
        } else if (yyjson_mut_get_sint(count) < had) {
            cause_invalid_json(c, &count_at, count, "cannot be less than %lld", (long long)had);
        }
    }
}

static void check_status(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path status = path_member(NULL, "status"), at = path_member(&status, "reclaimablePods");
    check_admission(obj, old, c);
    check_reclaimable(obj, old, &at, c);
    check_given_back(obj, old, &at, c);
}

/* One of an elastic Job may give pods back, and nothing else. */
static void check_held_sets(yyjson_mut_val *obj, yyjson_val *was, const struct path *at,
                            struct causes *c) {
    static const char *const count[] = {"count", NULL};
    yyjson_mut_val *now = json_mpath(obj, "spec.podSets");
    yyjson_val *before = json_get(was, STR("podSets"));
    bool fewer = is_elastic(obj) && yyjson_mut_arr_size(now) == yyjson_arr_size(before);
    yyjson_arr_iter theirs = yyjson_arr_iter_with(before);
    EACH(now, i, set) {
        (void)i;
        yyjson_val *old = yyjson_arr_iter_next(&theirs);
        fewer = fewer && same_except(set, old, count) &&
                yyjson_mut_get_sint(json_mget(set, STR("count"))) <= json_i64_at(old, "count", 0);
    }
    if (!fewer) {
        check_immutable(c, at, now, before);
    }
}

static void check_held(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), sets = path_member(&at, "podSets");
    struct path queue = path_member(&at, "queueName");
    struct path ref_at = path_member(&at, "priorityClassRef");
    struct path limit = path_member(&at, "maximumExecutionTimeSeconds");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_val *was = json_get(old, STR("spec"));
    bool reserved = str_is(condition_status(old, "QuotaReserved"), "True");
    bool still = reserved && condition_is_true(obj, "QuotaReserved");
    if (reserved) {
        check_held_sets(obj, was, &sets, c);
        yyjson_mut_val *ref = json_mget(spec, STR("priorityClassRef"));
        yyjson_val *old_ref = json_get(was, STR("priorityClassRef"));
        bool by_workload = str_is(json_mstr_at(ref, "group"), "kueue.x-k8s.io");
        if ((ref == NULL) != (old_ref == NULL) ||
            !str_eq(json_mstr_at(ref, "group"), json_str_at(old_ref, "group")) ||
            !str_eq(json_mstr_at(ref, "kind"), json_str_at(old_ref, "kind")) ||
            (!by_workload && !str_eq(json_mstr_at(ref, "name"), json_str_at(old_ref, "name")))) {
            RULE_OBJECT(c, &ref_at, "field is immutable while quota reserved");
        }
    }
    if (still && !str_eq(json_mstr_at(spec, "queueName"), json_str_at(was, "queueName"))) {
        cause_invalid(c, &queue, json_mstr_at(spec, "queueName"),
                      "queueName is immutable while quota reserved");
    }
    if (str_is(condition_status(old, "Admitted"), "True") && condition_is_true(obj, "Admitted") &&
        !same_value(json_mget(spec, STR("maximumExecutionTimeSeconds")),
                    json_get(was, STR("maximumExecutionTimeSeconds")))) {
        RULE_OBJECT(c, &limit, "maximumExecutionTimeSeconds is immutable while admitted");
    }
}

void workload_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), sets = path_member(&at, "podSets");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (c->status_alone) { /* what is fixed is the same, and the rest was valid */
        check_status(obj, old, c);
        return;
    }
    int partial = check_pod_sets(json_mget(spec, STR("podSets")), &sets, c);
    if (partial > 0 && is_elastic(obj)) {
        cause_invalid(c, &sets, STR("array"),
                      "partial admission and elastic job cannot be used together");
    }
    check_priority(spec, &at, c);
    check_status(obj, old, c);
    workload_notes_check(obj, old, c);
    if (old != NULL) {
        check_held(obj, old, c);
    }
}

/*
 * convert_kueue: kueue.x-k8s.io v1beta1 to v1beta2, which is stored, and back, in place.
 *
 * Both ways keep what the other version can say. Lost on the way down: concurrent admission policies, preemption gates
 * and slice constraints; on the way up: pendingWorkloadsStatus, flavors of a local queue, retryDelayMinutes.
 */
#include "api/kinds/kinds.h"

static int move_member(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *from, const char *to) {
    yyjson_mut_val *v = json_mget(obj, str_of(from));
    if (v == NULL) {
        return 0;
    }
    json_mdel(obj, str_of(from));
    return json_mset(d, obj, str_of(to), v);
}

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "out of memory");
}

/* --- ClusterQueue --- */

int cluster_queue_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    static const char *const policies[] = {"whenCanBorrow", "whenCanPreempt"};
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *checks = json_mget(spec, STR("admissionChecks"));
    if (move_member(d, spec, "cohort", "cohortName") < 0) {
        return no_memory(err);
    }
    if (yyjson_mut_arr_size(checks) > 0) {
        yyjson_mut_val *rules = yyjson_mut_arr(d);
        EACH(checks, i, name) {
            (void)i;
            yyjson_mut_val *rule = yyjson_mut_arr_add_obj(d, rules);
            if (rule == NULL || json_mset_str(d, rule, "name", json_mstr(name)) < 0) {
                return no_memory(err);
            }
        }
        yyjson_mut_val *strategy = json_mensure(d, spec, "admissionChecksStrategy");
        if (strategy == NULL || json_mset(d, strategy, STR("admissionChecks"), rules) < 0) {
            return no_memory(err);
        }
    }
    if (checks != NULL) {
        json_mdel(spec, STR("admissionChecks"));
    }
    yyjson_mut_val *fungibility = json_mget(spec, STR("flavorFungibility"));
    for (size_t i = 0; i < COUNT(policies); i++) {
        struct str v = json_mstr_at(fungibility, policies[i]);
        if (str_is(v, "Borrow") || str_is(v, "Preempt")) {
            json_mset_str(d, fungibility, policies[i], STR("MayStopSearch"));
        }
    }
    yyjson_mut_val *status = json_mget(obj, STR("status"));
    if (status != NULL) {
        json_mdel(status, STR("pendingWorkloadsStatus"));
    }
    return 0;
}

int cluster_queue_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (spec != NULL) {
        json_mdel(spec, STR("concurrentAdmissionPolicy"));
    }
    return move_member(d, spec, "cohortName", "cohort") < 0 ? no_memory(err) : 0;
}

/* --- LocalQueue --- */

int local_queue_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *status = json_mget(obj, STR("status"));
    if (status != NULL) {
        json_mdel(status, STR("flavors"));
    }
    return move_member(d, status, "flavorUsage", "flavorsUsage") < 0 ? no_memory(err) : 0;
}

int local_queue_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *status = json_mget(obj, STR("status"));
    return move_member(d, status, "flavorsUsage", "flavorUsage") < 0 ? no_memory(err) : 0;
}

/* --- Workload: the priority class --- */

static const struct {
    const char *source, *group, *kind;
} sources[] = {
    {"kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"},
    {"scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"},
};

static int priority_up(yyjson_mut_doc *d, yyjson_mut_val *spec) {
    struct str source = json_mstr_at(spec, "priorityClassSource");
    struct str name = json_mstr_at(spec, "priorityClassName");
    for (size_t i = 0; i < COUNT(sources); i++) {
        if (!str_is(source, sources[i].source)) {
            continue;
        }
        yyjson_mut_val *ref = json_mensure(d, spec, "priorityClassRef");
        if (ref == NULL || json_mset_str(d, ref, "group", str_of(sources[i].group)) < 0 ||
            json_mset_str(d, ref, "kind", str_of(sources[i].kind)) < 0 ||
            json_mset_str(d, ref, "name", name) < 0) {
            return ERR_NOMEM;
        }
    }
    if (spec != NULL) {
        json_mdel(spec, STR("priorityClassSource"));
        json_mdel(spec, STR("priorityClassName"));
    }
    return 0;
}

static int priority_down(yyjson_mut_doc *d, yyjson_mut_val *spec) {
    yyjson_mut_val *ref = json_mget(spec, STR("priorityClassRef"));
    for (size_t i = 0; ref != NULL && i < COUNT(sources); i++) {
        if (str_is(json_mstr_at(ref, "group"), sources[i].group) &&
            (json_mset_str(d, spec, "priorityClassSource", str_of(sources[i].source)) < 0 ||
             json_mset_str(d, spec, "priorityClassName", json_mstr_at(ref, "name")) < 0)) {
            return ERR_NOMEM;
        }
    }
    if (ref != NULL) {
        json_mdel(spec, STR("priorityClassRef"));
    }
    return 0;
}

/* --- Workload: topology assignments --- */

enum { MAX_LEVELS = 16, MAX_DOMAINS = 100000 };

/* The value of every domain at one level: one text when they are equal, else all of them. */
static yyjson_mut_val *level_values(yyjson_mut_doc *d, yyjson_mut_val *domains, size_t level) {
    yyjson_mut_val *out = yyjson_mut_obj(d), *roots = yyjson_mut_arr(d);
    struct str first = {0};
    bool equal = true;
    EACH(domains, i, domain) {
        struct str v = json_mstr(yyjson_mut_arr_get(json_mget(domain, STR("values")), level));
        first = i == 0 ? v : first;
        equal = equal && str_eq(first, v);
        yyjson_mut_arr_add_strncpy(d, roots, v.p ? v.p : "", v.n);
    }
    if (equal) {
        json_mset_str(d, out, "universal", first);
    } else {
        json_mset(d, json_mensure(d, out, "individual"), STR("roots"), roots);
    }
    return out;
}

static yyjson_mut_val *pod_counts(yyjson_mut_doc *d, yyjson_mut_val *domains) {
    yyjson_mut_val *out = yyjson_mut_obj(d), *all = yyjson_mut_arr(d);
    int64_t first = 0;
    bool equal = true;
    EACH(domains, i, domain) {
        int64_t n = yyjson_mut_get_sint(json_mget(domain, STR("count")));
        first = i == 0 ? n : first;
        equal = equal && n == first;
        yyjson_mut_arr_add_sint(d, all, n);
    }
    if (equal) {
        json_mset_i64(d, out, "universal", first);
    } else {
        json_mset(d, out, STR("individual"), all);
    }
    return out;
}

static int assignment_up(yyjson_mut_doc *d, yyjson_mut_val *assignment) {
    yyjson_mut_val *domains = json_mget(assignment, STR("domains"));
    size_t n = yyjson_mut_arr_size(domains);
    if (domains == NULL) {
        return 0;
    }
    if (n > MAX_DOMAINS || yyjson_mut_arr_size(json_mget(assignment, STR("levels"))) > MAX_LEVELS) {
        return ERR_TOO_LARGE;
    }
    if (n > 0) {
        yyjson_mut_val *slices = yyjson_mut_arr(d), *values = yyjson_mut_arr(d);
        yyjson_mut_val *slice = slices ? yyjson_mut_arr_add_obj(d, slices) : NULL;
        size_t levels = yyjson_mut_arr_size(json_mget(assignment, STR("levels")));
        if (slice == NULL || values == NULL) {
            return ERR_NOMEM;
        }
        for (size_t l = 0; l < levels; l++) {
            yyjson_mut_arr_append(values, level_values(d, domains, l));
        }
        if (json_mset_i64(d, slice, "domainCount", (int64_t)n) < 0 ||
            json_mset(d, slice, STR("valuesPerLevel"), values) < 0 ||
            json_mset(d, slice, STR("podCounts"), pod_counts(d, domains)) < 0 ||
            json_mset(d, assignment, STR("slices"), slices) < 0) {
            return ERR_NOMEM;
        }
    }
    json_mdel(assignment, STR("domains"));
    return 0;
}

/* The next domain's value at one level of a slice; `roots` steps through the level's list. */
static int add_value(yyjson_mut_doc *d, yyjson_mut_val *values, yyjson_mut_val *level,
                     yyjson_mut_arr_iter *roots) {
    struct str universal = json_mstr_at(level, "universal");
    if (universal.n > 0) {
        return yyjson_mut_arr_add_strncpy(d, values, universal.p, universal.n) ? 0 : ERR_NOMEM;
    }
    yyjson_mut_val *each = json_mget(level, STR("individual"));
    struct str root = json_mstr(yyjson_mut_arr_iter_next(roots));
    struct buf b;
    buf_init(&b, 0);
    buf_str(&b, json_mstr_at(each, "prefix"));
    buf_str(&b, root);
    buf_str(&b, json_mstr_at(each, "suffix"));
    bool ok = yyjson_mut_arr_add_strncpy(d, values, buf_cstr(&b), b.n) && buf_ok(&b) == 0;
    buf_release(&b);
    return ok ? 0 : ERR_NOMEM;
}

static int slice_down(yyjson_mut_doc *d, yyjson_mut_val *slice, yyjson_mut_val *domains) {
    int64_t n = yyjson_mut_get_sint(json_mget(slice, STR("domainCount")));
    yyjson_mut_val *counts = json_mget(slice, STR("podCounts"));
    yyjson_mut_val *each = json_mget(counts, STR("individual"));
    int64_t universal = yyjson_mut_get_sint(json_mget(counts, STR("universal")));
    yyjson_mut_val *levels = json_mget(slice, STR("valuesPerLevel"));
    yyjson_mut_arr_iter roots[MAX_LEVELS], count_it = yyjson_mut_arr_iter_with(each);
    if (n > MAX_DOMAINS || yyjson_mut_arr_size(levels) > MAX_LEVELS) {
        return ERR_TOO_LARGE;
    }
    EACH(levels, k, depth) {
        roots[k] = yyjson_mut_arr_iter_with(json_mpath(depth, "individual.roots"));
    }
    for (int64_t i = 0; i < n; i++) {
        yyjson_mut_val *domain = yyjson_mut_arr_add_obj(d, domains), *values = yyjson_mut_arr(d);
        if (domain == NULL || values == NULL) {
            return ERR_NOMEM;
        }
        EACH(levels, l, level) {
            if (add_value(d, values, level, &roots[l]) < 0) {
                return ERR_NOMEM;
            }
        }
        int64_t count = each ? yyjson_mut_get_sint(yyjson_mut_arr_iter_next(&count_it)) : universal;
        if (json_mset(d, domain, STR("values"), values) < 0 ||
            json_mset_i64(d, domain, "count", count) < 0) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

static int assignment_down(yyjson_mut_doc *d, yyjson_mut_val *assignment) {
    yyjson_mut_val *slices = json_mget(assignment, STR("slices"));
    yyjson_mut_val *domains = yyjson_mut_arr(d);
    if (domains == NULL) {
        return ERR_NOMEM;
    }
    EACH(slices, i, slice) {
        (void)i;
        int r = slice_down(d, slice, domains);
        if (r < 0) {
            return r;
        }
    }
    if (slices != NULL) {
        json_mdel(assignment, STR("slices"));
    }
    return json_mset(d, assignment, STR("domains"), domains);
}

static int each_assignment(yyjson_mut_doc *d, yyjson_mut_val *obj,
                           int (*convert)(yyjson_mut_doc *d, yyjson_mut_val *assignment)) {
    EACH(json_mpath(obj, "status.admission.podSetAssignments"), i, set) {
        (void)i;
        yyjson_mut_val *assignment = json_mget(set, STR("topologyAssignment"));
        int r = yyjson_mut_is_obj(assignment) ? convert(d, assignment) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int workload_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *status = json_mget(obj, STR("status"));
    int r = priority_up(d, json_mget(obj, STR("spec")));
    if (r == 0) {
        /* The old version has a misspelling. */
        r = move_member(d, status, "accumulatedPastExexcutionTimeSeconds",
                        "accumulatedPastExecutionTimeSeconds");
    }
    if (r == 0) {
        r = each_assignment(d, obj, assignment_up);
    }
    return r < 0 ? err_set(err, r, "workload: cannot be converted to v1beta2") : 0;
}

int workload_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *status = json_mget(obj, STR("status")), *spec = json_mget(obj, STR("spec"));
    int r = priority_down(d, spec);
    if (r == 0) {
        r = move_member(d, status, "accumulatedPastExecutionTimeSeconds",
                        "accumulatedPastExexcutionTimeSeconds");
    }
    if (r == 0) {
        r = each_assignment(d, obj, assignment_down);
    }
    if (spec != NULL) {
        json_mdel(spec, STR("preemptionGates"));
    }
    if (status != NULL) {
        json_mdel(status, STR("preemptionGates"));
    }
    EACH(json_mget(spec, STR("podSets")), i, set) {
        (void)i;
        yyjson_mut_val *request = json_mget(set, STR("topologyRequest"));
        if (request != NULL) {
            json_mdel(request, STR("podsetSliceRequiredTopologyConstraints"));
        }
    }
    return r < 0 ? err_set(err, r, "workload: cannot be converted to v1beta1") : 0;
}

int admission_check_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    (void)d;
    (void)err;
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (spec != NULL) {
        json_mdel(spec, STR("retryDelayMinutes"));
    }
    return 0;
}

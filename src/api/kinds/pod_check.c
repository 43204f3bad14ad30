/* pod_check: the rules of a pod spec beyond its fields: names that refer to each other, amounts, what may change. */
#include "api/kinds/kinds.h"
#include "wire/text/quantity.h"

void check_amounts(yyjson_mut_val *map, const struct path *at, struct causes *c) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct path here = path_key(at, json_mstr(k));
        struct str text = json_mstr(yyjson_mut_obj_iter_get_val(k));
        struct quantity q;
        const char *fault = format_fault("label-key", json_mstr(k));
        if (fault != NULL) {
            cause_invalid(c, &here, json_mstr(k), "%s", fault);
        }
        if (quantity_parse(text, &q, NULL) == 0 && quantity_sign(q) < 0) {
            cause_invalid(c, &here, text, "must be greater than or equal to 0");
        }
    }
}

/* Kubernetes' own resources may be fractions and overcommitted; all others count devices. */
static bool is_extended(struct str name) {
    struct str prefix, rest;
    return str_cut(name, '/', &prefix, &rest) && !str_ends(prefix, STR("kubernetes.io"));
}

static bool is_overcommittable(struct str name) {
    return !is_extended(name) && !str_starts(name, STR("hugepages-"));
}

static void check_request(struct str name, struct str text, yyjson_mut_val *limits,
                          const struct path *at, struct causes *c) {
    struct quantity request, limit;
    struct str limit_text = json_mstr(json_mget(limits, name));
    if (quantity_parse(text, &request, NULL) < 0) {
        return;
    }
    if (limit_text.n == 0 || quantity_parse(limit_text, &limit, NULL) < 0) {
        if (!is_overcommittable(name)) {
            cause_required(c, at, "Limit must be set for non overcommitable resources");
        }
        return;
    }
    int order = quantity_cmp(request, limit);
    if (order != 0 && !is_overcommittable(name)) {
        cause_invalid(c, at, text, "must be equal to %.*s limit of %.*s", STR_ARG(name),
                      STR_ARG(limit_text));
    } else if (order > 0) {
        cause_invalid(c, at, text, "must be less than or equal to %.*s limit of %.*s",
                      STR_ARG(name), STR_ARG(limit_text));
    }
}

static void check_whole(yyjson_mut_val *map, const struct path *at, struct causes *c) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct quantity q;
        struct str text = json_mstr(yyjson_mut_obj_iter_get_val(k));
        if (is_extended(json_mstr(k)) && quantity_parse(text, &q, NULL) == 0 && q.nano != 0) {
            struct path here = path_key(at, json_mstr(k));
            cause_invalid(c, &here, text, "must be an integer");
        }
    }
}

static void check_resources(yyjson_mut_val *resources, const struct path *at, struct causes *c) {
    struct path limits_at = path_member(at, "limits"), requests_at = path_member(at, "requests");
    yyjson_mut_val *limits = json_mget(resources, STR("limits"));
    yyjson_mut_val *requests = json_mget(resources, STR("requests"));
    if (!check_size(limits, &limits_at, c) || !check_size(requests, &requests_at, c)) {
        return;
    }
    check_amounts(limits, &limits_at, c);
    check_amounts(requests, &requests_at, c);
    check_whole(limits, &limits_at, c);
    check_whole(requests, &requests_at, c);
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(requests);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        check_request(json_mstr(k), json_mstr(yyjson_mut_obj_iter_get_val(k)), limits, &requests_at,
                      c);
    }
}

/* Whether an element before index n of the list has this text at the member. */
static bool seen_before(struct causes *c, yyjson_mut_val *list, size_t n, const char *member,
                        struct str text) {
    size_t all = yyjson_mut_arr_size(list);
    if (!arena_charge(c->arena, 4 * (n < all ? n : all))) {
        return true; /* the object is refused, whatever else is wrong with it */
    }
    EACH(list, i, e) {
        if (i >= n) {
            return false;
        }
        if (str_eq(json_mstr_at(e, member), text)) {
            return true;
        }
    }
    return false;
}

static void check_mounts(yyjson_mut_val *container, yyjson_mut_val *volumes, const struct path *at,
                         struct causes *c) {
    struct path list_at = path_member(at, "volumeMounts");
    yyjson_mut_val *mounts = json_mget(container, STR("volumeMounts"));
    size_t n_volumes = yyjson_mut_arr_size(volumes);
    if (!check_size(mounts, &list_at, c)) {
        return;
    }
    EACH(mounts, i, m) {
        struct path here = path_index(&list_at, i);
        struct path name = path_member(&here, "name"), where = path_member(&here, "mountPath");
        struct str volume = json_mstr_at(m, "name"), path = json_mstr_at(m, "mountPath");
        if (!c->claims_elsewhere && !seen_before(c, volumes, n_volumes, "name", volume) &&
            !seen_before(c, c->claims, yyjson_mut_arr_size(c->claims), "metadata.name", volume)) {
            struct buf b;
            buf_init(&b, 0);
            buf_json(&b, volume);
            causes_add(c, CAUSE_NOT_FOUND, path_text(&name, c->arena), "Not found: %s",
                       buf_cstr(&b));
            buf_release(&b);
        }
        if (seen_before(c, mounts, i, "mountPath", path)) {
            cause_invalid(c, &where, path, "must be unique");
        }
    }
}

/* What a probe asks or a hook does: exactly one thing, and that whole. */
static void check_handler(yyjson_mut_val *v, const struct path *here, struct causes *c) {
    static const char *const handlers[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
    struct path exec = path_member(here, "exec"), command = path_member(&exec, "command");
    int n = 0;
    for (size_t i = 0; i < COUNT(handlers); i++) {
        n += json_mget(v, str_of(handlers[i])) != NULL;
    }
    if (v != NULL && n == 0) {
        cause_required(c, here, "must specify a handler type");
    } else if (n > 1) {
        cause_forbidden(c, here, "may not specify more than 1 handler type");
    } else if (json_mget(v, STR("exec")) != NULL &&
               yyjson_mut_arr_size(json_mpath(v, "exec.command")) == 0) {
        cause_required(c, &command, NULL);
    }
}

static bool is_sidecar(yyjson_mut_val *container) {
    return str_is(json_mstr_at(container, "restartPolicy"), "Always");
}

static void check_probe(yyjson_mut_val *container, const char *member, bool init,
                        const struct path *at, struct causes *c) {
    struct path here = path_member(at, member), most = path_member(&here, "successThreshold");
    struct path grace = path_member(&here, "terminationGracePeriodSeconds");
    yyjson_mut_val *probe = json_mget(container, str_of(member));
    yyjson_mut_val *success = json_mget(probe, STR("successThreshold"));
    yyjson_mut_val *seconds = json_mget(probe, STR("terminationGracePeriodSeconds"));
    bool readiness = strcmp(member, "readinessProbe") == 0;
    if (probe == NULL) {
        return;
    }
    if (init && !is_sidecar(container)) {
        cause_forbidden(c, &here,
                        "may not be set for init containers without restartPolicy=Always");
    }
    check_handler(probe, &here, c);
    if (!readiness && success != NULL && yyjson_mut_get_sint(success) != 1) {
        cause_invalid_json(c, &most, success, "must be 1");
    }
    if (readiness && seconds != NULL) {
        cause_invalid_json(c, &grace, seconds, "must not be set for readinessProbes");
    } else if (seconds != NULL && yyjson_mut_get_sint(seconds) <= 0) {
        cause_invalid_json(c, &grace, seconds, "must be greater than 0");
    }
}

static void check_lifecycle(yyjson_mut_val *container, bool init, int64_t grace_s,
                            const struct path *at, struct causes *c) {
    static const char *const hooks[] = {"postStart", "preStop"};
    struct path here = path_member(at, "lifecycle");
    yyjson_mut_val *lifecycle = json_mget(container, STR("lifecycle"));
    if (lifecycle != NULL && init && !is_sidecar(container)) {
        cause_forbidden(c, &here,
                        "may not be set for init containers without restartPolicy=Always");
    }
    for (size_t i = 0; i < COUNT(hooks); i++) {
        struct path hook_at = path_member(&here, hooks[i]);
        struct path sleep_at = path_member(&hook_at, "sleep");
        struct path seconds_at = path_member(&sleep_at, "seconds");
        yyjson_mut_val *hook = json_mget(lifecycle, str_of(hooks[i]));
        yyjson_mut_val *seconds = json_mpath(hook, "sleep.seconds");
        check_handler(hook, &hook_at, c);
        if (seconds != NULL &&
            (yyjson_mut_get_sint(seconds) < 0 || yyjson_mut_get_sint(seconds) > grace_s)) {
            cause_invalid_json(
                c, &seconds_at, seconds,
                "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                (long long)grace_s);
        }
    }
}

static void check_containers(yyjson_mut_val *spec, const char *member, const struct path *at,
                             struct causes *c) {
    struct path list_at = path_member(at, member);
    yyjson_mut_val *list = json_mget(spec, str_of(member));
    yyjson_mut_val *volumes = json_mget(spec, STR("volumes"));
    bool init = strcmp(member, "initContainers") == 0;
    yyjson_mut_val *seconds = json_mget(spec, STR("terminationGracePeriodSeconds"));
    int64_t grace_s = seconds == NULL ? 30 : yyjson_mut_get_sint(seconds);
    if (!check_size(list, &list_at, c)) {
        return;
    }
    EACH(list, i, e) {
        struct path here = path_index(&list_at, i);
        struct path name_at = path_member(&here, "name"), image = path_member(&here, "image");
        struct path resources = path_member(&here, "resources");
        struct str name = json_mstr_at(e, "name");
        if (seen_before(c, list, i, "name", name) ||
            (init && seen_before(c, json_mget(spec, STR("containers")), SIZE_MAX, "name", name))) {
            cause_duplicate(c, &name_at, name);
        }
        if (json_mstr_at(e, "image").n == 0) {
            cause_required(c, &image, NULL);
        }
        check_resources(json_mget(e, STR("resources")), &resources, c);
        check_mounts(e, volumes, &here, c);
        check_probe(e, "livenessProbe", init, &here, c);
        check_probe(e, "readinessProbe", init, &here, c);
        check_probe(e, "startupProbe", init, &here, c);
        check_lifecycle(e, init, grace_s, &here, c);
    }
}

void check_tolerations(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, t) {
        struct path here = path_index(at, i), op_at = path_member(&here, "operator");
        struct path effect_at = path_member(&here, "effect");
        struct str op = json_mstr_at(t, "operator"), value = json_mstr_at(t, "value");
        if (json_mstr_at(t, "key").n == 0 && !str_is(op, "Exists")) {
            cause_invalid(c, &op_at, op,
                          "operator must be Exists when `key` is empty, which means \"match all "
                          "values and all keys\"");
        }
        if (json_mget(t, STR("tolerationSeconds")) != NULL &&
            !str_is(json_mstr_at(t, "effect"), "NoExecute")) {
            cause_invalid(c, &effect_at, json_mstr_at(t, "effect"),
                          "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        if (str_is(op, "Exists") && value.n > 0) {
            cause_invalid(c, &op_at, value, "value must be empty when `operator` is 'Exists'");
        }
    }
}

static void check_volumes(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    EACH(list, i, v) {
        struct path here = path_index(at, i), name_at = path_member(&here, "name");
        struct str name = json_mstr_at(v, "name");
        if (seen_before(c, list, i, "name", name)) {
            cause_duplicate(c, &name_at, name);
        }
        if (yyjson_mut_obj_size(v) > 2) {
            cause_forbidden(c, &here, "may not specify more than 1 volume type");
        }
    }
}

void pod_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path volumes = path_member(at, "volumes"), labels = path_member(at, "nodeSelector");
    struct path tolerations = path_member(at, "tolerations");
    struct path grace = path_member(at, "terminationGracePeriodSeconds");
    struct path overhead = path_member(at, "overhead");
    if (!check_size(json_mget(spec, STR("volumes")), &volumes, c)) {
        return; /* mounts are looked up there */
    }
    check_volumes(json_mget(spec, STR("volumes")), &volumes, c);
    check_containers(spec, "initContainers", at, c);
    check_containers(spec, "containers", at, c);
    check_containers(spec, "ephemeralContainers", at, c);
    check_labels(c, &labels, json_mget(spec, STR("nodeSelector")));
    if (check_size(json_mget(spec, STR("tolerations")), &tolerations, c)) {
        check_tolerations(json_mget(spec, STR("tolerations")), &tolerations, c);
    }
    check_amounts(json_mget(spec, STR("overhead")), &overhead, c);
    yyjson_mut_val *seconds = json_mget(spec, STR("terminationGracePeriodSeconds"));
    if (yyjson_mut_get_sint(seconds) < 0) {
        cause_invalid_json(c, &grace, seconds, "must be greater than or equal to 0");
    }
    pod_sources_check(spec, at, c);
    pod_affinity_check(spec, at, c);
}

void pod_template_check(yyjson_mut_val *template, const struct path *at, struct causes *c) {
    struct path meta = path_member(at, "metadata"), spec = path_member(at, "spec");
    struct path labels = path_member(&meta, "labels"), notes = path_member(&meta, "annotations");
    check_labels(c, &labels, json_mpath(template, "metadata.labels"));
    check_annotations(c, &notes, json_mpath(template, "metadata.annotations"));
    pod_spec_check(json_mget(template, STR("spec")), &spec, c);
}

static bool named_in(struct str name, const char *const *members) {
    for (size_t i = 0; members[i] != NULL; i++) {
        if (str_is(name, members[i])) {
            return true;
        }
    }
    return false;
}

bool same_except(yyjson_mut_val *a, yyjson_val *b, const char *const *members) {
    yyjson_mut_obj_iter x = yyjson_mut_obj_iter_with(a);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&x)) != NULL) {
        if (!named_in(json_mstr(k), members) &&
            !same_value(yyjson_mut_obj_iter_get_val(k), json_get(b, json_mstr(k)))) {
            return false;
        }
    }
    yyjson_obj_iter y = yyjson_obj_iter_with(b);
    yyjson_val *o;
    while ((o = yyjson_obj_iter_next(&y)) != NULL) {
        if (!named_in(json_str(o), members) && json_mget(a, json_str(o)) == NULL) {
            return false;
        }
    }
    return true;
}

/* Elements may change in these members only; their number may not change. */
static bool lists_same_except(yyjson_mut_val *a, yyjson_val *b, const char *const *members) {
    if (yyjson_mut_arr_size(a) != yyjson_arr_size(b)) {
        return false;
    }
    yyjson_arr_iter was = yyjson_arr_iter_with(b);
    EACH(a, i, e) {
        (void)i;
        if (!same_except(e, yyjson_arr_iter_next(&was), members)) {
            return false;
        }
    }
    return true;
}

/* Every element of `part` is in `whole`. */
static bool old_contains(yyjson_val *whole, yyjson_mut_val *part) {
    EACH(part, i, e) {
        (void)i;
        bool found = false;
        yyjson_arr_iter it = yyjson_arr_iter_with(whole);
        yyjson_val *o;
        while (!found && (o = yyjson_arr_iter_next(&it)) != NULL) {
            found = same_value(e, o);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static bool new_contains(yyjson_mut_val *whole, yyjson_val *part) {
    yyjson_arr_iter it = yyjson_arr_iter_with(part);
    yyjson_val *o;
    while ((o = yyjson_arr_iter_next(&it)) != NULL) {
        bool found = false;
        EACH(whole, i, e) {
            (void)i;
            found = found || same_value(e, o);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Every member of `part` is in `whole` as it was. */
static bool map_contains(yyjson_mut_val *whole, yyjson_val *part) {
    yyjson_obj_iter it = yyjson_obj_iter_with(part);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        if (!same_value(json_mget(whole, json_str(key)), yyjson_obj_iter_get_val(key))) {
            return false;
        }
    }
    return true;
}

static void check_pod_change(yyjson_mut_val *spec, yyjson_val *was, struct causes *c) {
    static const char *const image[] = {"image", NULL};
    static const char *const handled[] = {
        "containers",
        "initContainers",
        "activeDeadlineSeconds",
        "tolerations",
        "schedulingGates",
        "nodeName",
        "terminationGracePeriodSeconds",
        "nodeSelector",
        "affinity",
        NULL,
    };
    struct path at = path_member(NULL, "spec"), gates = path_member(&at, "schedulingGates");
    struct path node = path_member(&at, "nodeName");
    bool gated = yyjson_arr_size(json_get(was, STR("schedulingGates"))) > 0;
    struct str old_node = json_str_at(was, "nodeName");
    struct path tolerations = path_member(&at, "tolerations");
    if (!check_size(json_mget(spec, STR("tolerations")), &tolerations, c) ||
        !check_size(json_mget(spec, STR("schedulingGates")), &gates, c)) {
        return;
    }
    bool same =
        same_except(spec, was, handled) &&
        lists_same_except(json_mget(spec, STR("containers")), json_get(was, STR("containers")),
                          image) &&
        lists_same_except(json_mget(spec, STR("initContainers")),
                          json_get(was, STR("initContainers")), image) &&
        new_contains(json_mget(spec, STR("tolerations")), json_get(was, STR("tolerations")));
    /* A gated pod is not placed yet: what steers its placing may still be narrowed. */
    if (gated &&
        !map_contains(json_mget(spec, STR("nodeSelector")), json_get(was, STR("nodeSelector")))) {
        struct path selector = path_member(&at, "nodeSelector");
        cause_forbidden(c, &selector, "only additions are allowed while the pod is gated");
    }
    same = same &&
           (gated ||
            (same_value(json_mget(spec, STR("nodeSelector")), json_get(was, STR("nodeSelector"))) &&
             same_value(json_mget(spec, STR("affinity")), json_get(was, STR("affinity")))));
    if (!same) {
        cause_forbidden(c, &at,
                        "pod updates may not change fields other than "
                        "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
                        "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to "
                        "be set to 1 if it was previously negative)");
    }
    if (!old_contains(json_get(was, STR("schedulingGates")),
                      json_mget(spec, STR("schedulingGates")))) {
        cause_forbidden(c, &gates, "only deletion is allowed, but found new scheduling gates");
    }
    if (old_node.n > 0 && !str_eq(old_node, json_mstr_at(spec, "nodeName"))) {
        cause_forbidden(c, &node, "a pod that was placed cannot be moved");
    }
}

/* A pod as a whole asks for what its containers share: devices are a container's. */
static void check_whole_pod(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    static const char *const members[] = {"limits", "requests"};
    static const char *const shared[] = {"cpu", "hugepages-", "memory", NULL};
    struct path resources = path_member(at, "resources");
    for (size_t i = 0; i < COUNT(members); i++) {
        struct path map = path_member(&resources, members[i]);
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(
            json_mget(json_mget(spec, STR("resources")), str_of(members[i])));
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            struct str name = json_mstr(k);
            struct path here = path_key(&map, name);
            if (!str_is(name, "cpu") && !str_is(name, "memory") &&
                !str_starts(name, STR("hugepages-"))) {
                cause_unsupported(c, &here, name, shared);
            }
        }
    }
}

void pod_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (old == NULL) {
        struct path node = path_member(&at, "nodeName");
        if (yyjson_mut_arr_size(json_mget(spec, STR("schedulingGates"))) > 0 &&
            json_mstr_at(spec, "nodeName").n > 0) {
            cause_forbidden(c, &node, "cannot be set until all schedulingGates have been cleared");
        }
        check_whole_pod(spec, &at, c);
        pod_spec_check(spec, &at, c);
        pod_refuse(spec, &at, c);
    } else if (c->ephemeral) {
        pod_ephemeral_check(spec, json_get(old, STR("spec")), &at, c);
        pod_spec_check(spec, &at, c);
    } else {
        check_pod_change(spec, json_get(old, STR("spec")), c);
        pod_spec_check(spec, &at, c);
    }
}

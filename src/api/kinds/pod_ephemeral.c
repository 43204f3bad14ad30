/*
 * pod_ephemeral: containers that are added to a pod that is there, by its subresource ephemeralcontainers alone, to
 * look at what it does. They are never taken away or changed, ask for nothing that the pod was admitted for, and are
 * judged by what no container gets.
 */
#include "api/kinds/kinds.h"
#include "base/limits.h"

static yyjson_mut_val *named(yyjson_mut_val *list, struct str name) {
    EACH(list, i, e) {
        (void)i;
        if (str_eq(json_mstr_at(e, "name"), name)) {
            return e;
        }
    }
    return NULL;
}

static bool says_something(yyjson_mut_val *v) {
    return v != NULL && !yyjson_mut_is_null(v) &&
           !((yyjson_mut_is_arr(v) || yyjson_mut_is_obj(v)) && unsafe_yyjson_get_len(v) == 0);
}

/* What the pod was admitted, probed and ended by is not for one that comes later. */
static void check_members(yyjson_mut_val *e, const struct path *at, struct causes *c) {
    static const char *const none[] = {
        "ports",     "livenessProbe", "readinessProbe", "startupProbe",       "lifecycle",
        "resources", "resizePolicy",  "restartPolicy",  "restartPolicyRules", "volumeDevices",
        NULL};

    for (size_t i = 0; none[i] != NULL; i++) {
        struct path here = path_member(at, none[i]);
        if (says_something(json_mget(e, str_of(none[i])))) {
            cause_forbidden(c, &here, "cannot be set for an Ephemeral Container");
        }
    }
    struct path context = path_member(at, "securityContext"),
                user = path_member(&context, "runAsUser"),
                group = path_member(&context, "runAsGroup");
    if (says_something(json_mpath(e, "securityContext.runAsUser"))) {
        cause_forbidden(c, &user, "it runs as the user of its pod");
    }
    if (says_something(json_mpath(e, "securityContext.runAsGroup"))) {
        cause_forbidden(c, &group, "it runs as the group of its pod");
    }
    struct path mounts = path_member(at, "volumeMounts");
    EACH(json_mget(e, STR("volumeMounts")), i, m) {
        struct path one = path_index(&mounts, i), sub = path_member(&one, "subPath");
        if (json_mstr_at(m, "subPath").n || json_mstr_at(m, "subPathExpr").n) {
            cause_forbidden(c, &sub, "cannot be set for an Ephemeral Container");
        }
    }
}

static void check_new(yyjson_mut_val *spec, yyjson_mut_val *e, const struct path *at,
                      struct causes *c) {
    static const char *const others[] = {"containers", "initContainers"};
    struct str name = json_mstr_at(e, "name"), target = json_mstr_at(e, "targetContainerName");
    struct path name_at = path_member(at, "name"),
                target_at = path_member(at, "targetContainerName");

    for (size_t i = 0; i < COUNT(others); i++) {
        if (named(json_mget(spec, str_of(others[i])), name)) {
            cause_duplicate(c, &name_at, name);
        }
    }
    if (target.n && !named(json_mget(spec, STR("containers")), target) &&
        !named(json_mget(spec, STR("initContainers")), target)) {
        cause_invalid(c, &target_at, target, "there is no such container");
    }
    check_members(e, at, c);
    pod_refuse_container(e, at, c);
}

void pod_ephemeral_check(yyjson_mut_val *spec, yyjson_val *was, const struct path *at,
                         struct causes *c) {
    struct path list_at = path_member(at, "ephemeralContainers");
    yyjson_mut_val *list = json_mget(spec, STR("ephemeralContainers"));
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(was, STR("ephemeralContainers")));

    if (yyjson_mut_arr_size(list) > LIMIT_EPHEMERAL_CONTAINERS) {
        causes_add(c, CAUSE_TOO_MANY, path_text(&list_at, c->arena),
                   "Too many: %zu: must have at most %d items", yyjson_mut_arr_size(list),
                   LIMIT_EPHEMERAL_CONTAINERS);
        return;
    }
    for (yyjson_val *o; (o = yyjson_arr_iter_next(&it));) {
        yyjson_mut_val *now = named(list, json_str_at(o, "name"));
        if (now == NULL || !same_value(now, o)) {
            cause_forbidden(c, &list_at,
                            "existing ephemeral containers \"%.*s\" may not be changed or removed",
                            STR_ARG(json_str_at(o, "name")));
        }
    }
    EACH(list, i, e) {
        struct path here = path_index(&list_at, i);
        yyjson_arr_iter old = yyjson_arr_iter_with(json_get(was, STR("ephemeralContainers")));
        bool known = false;
        for (yyjson_val *o; (o = yyjson_arr_iter_next(&old));) {
            known = known || str_eq(json_str_at(o, "name"), json_mstr_at(e, "name"));
        }
        if (!known) {
            check_new(spec, e, &here, c);
        }
    }
}

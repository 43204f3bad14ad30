/* pod_ids: see pod_ids.h. */
#include "node/spec/pod_ids.h"

#include "node/sandbox/users.h"

static bool may_be(int64_t id) {
    bool own = id >= USERS_FIRST && id < USERS_PODS_FIRST + USERS_PODS_MAX;

    return id >= POD_ID_LEAST && id <= INT32_MAX && !own;
}

static int take(yyjson_val *context, const char *member, uint32_t *one, struct err *err) {
    yyjson_val *v = json_get(context, str_of(member));
    int64_t id = yyjson_get_sint(v);

    if (!yyjson_is_int(v)) {
        return 0;
    }
    if (!may_be(id) || (*one && *one != (uint32_t)id)) {
        return err_set(err, ERR_INVALID,
                       "securityContext.%s %lld: expected one for all containers, from %d on",
                       member, (long long)id, POD_ID_LEAST);
    }
    *one = (uint32_t)id;
    return 0;
}

static int read_context(yyjson_val *context, struct pod_ids *ids, struct err *err) {
    int code = take(context, "runAsUser", &ids->user, err);

    return code ? code : take(context, "runAsGroup", &ids->group, err);
}

static int read_groups(yyjson_val *context, struct pod_ids *ids, struct err *err) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(context, STR("supplementalGroups")));
    int64_t fs = json_i64_at(context, "fsGroup", 0);

    for (yyjson_val *v; (v = yyjson_arr_iter_next(&it));) {
        int64_t id = yyjson_get_sint(v);
        if (!may_be(id) || ids->n == POD_GROUPS_MAX) {
            return err_set(err, ERR_INVALID,
                           "securityContext.supplementalGroups: %lld: expected at most %d, from %d "
                           "on",
                           (long long)id, POD_GROUPS_MAX, POD_ID_LEAST);
        }
        ids->more[ids->n++] = (gid_t)id;
    }
    ids->volume = may_be(fs) ? (gid_t)fs : 0;
    return 0;
}

int pod_ids_read(yyjson_val *pod, struct pod_ids *ret, struct err *err) {
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};
    yyjson_val *context = json_path(pod, "spec.securityContext");
    struct pod_ids ids = {0};
    int code = read_context(context, &ids, err);

    code = code ? code : read_groups(context, &ids, err);
    for (int i = 0; i < 2 && code == 0; i++) {
        yyjson_arr_iter it = yyjson_arr_iter_with(json_path(pod, lists[i]));
        for (yyjson_val *c; code == 0 && (c = yyjson_arr_iter_next(&it));) {
            code = read_context(json_get(c, STR("securityContext")), &ids, err);
        }
    }
    if (code == 0) {
        *ret = ids;
    }
    return code;
}

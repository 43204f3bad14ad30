/*
 * pod_default: what the tables cannot say about a pod spec that leaves things out.
 *
 * The image pull policy follows the tag, requests follow limits, a volume without a source is an emptyDir, and the two
 * spellings of the service account mean the same.
 */
#include "api/kinds/kinds.h"
#include "base/limits.h"

/* "repo/image:tag" -> whether it is the moving tag. A digest pins, a ':' before the last '/' is a port. */
static bool is_latest(struct str image) {
    if (str_find(image, '@') >= 0) {
        return false;
    }
    ptrdiff_t slash = str_find_last(image, '/');
    struct str name = str_skip(image, (size_t)(slash + 1)), base, tag;
    return !str_cut(name, ':', &base, &tag) || str_is(tag, "latest");
}

static void default_if_absent(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key,
                              struct str v) {
    if (obj != NULL && json_mstr_at(obj, key).n == 0) {
        json_mset_str(d, obj, key, v);
    }
}

static void requests_from_limits(yyjson_mut_doc *d, yyjson_mut_val *container) {
    yyjson_mut_val *limits = json_mpath(container, "resources.limits");
    yyjson_mut_val *requests = json_mpath(container, "resources.requests");
    if (yyjson_mut_obj_size(limits) == 0 || yyjson_mut_obj_size(limits) > LIMIT_NAMED_ITEMS ||
        yyjson_mut_obj_size(requests) > LIMIT_NAMED_ITEMS) {
        return; /* nothing to do, or it will be refused */
    }
    requests = json_mensure(d, container, "resources.requests");
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(limits);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        if (json_mget(requests, json_mstr(k)) == NULL) {
            json_mset(d, requests, json_mstr(k),
                      yyjson_mut_val_mut_copy(d, yyjson_mut_obj_iter_get_val(k)));
        }
    }
}

static void container_defaults(yyjson_mut_doc *d, yyjson_mut_val *c, bool host_network) {
    if (!yyjson_mut_is_obj(c)) {
        return;
    }
    default_if_absent(d, c, "imagePullPolicy",
                      is_latest(json_mstr_at(c, "image")) ? STR("Always") : STR("IfNotPresent"));
    requests_from_limits(d, c);
    if (!host_network) {
        return;
    }
    EACH(json_mget(c, STR("ports")), i, port) {
        (void)i;
        if (yyjson_mut_get_int(json_mget(port, STR("hostPort"))) == 0) {
            json_mset_i64(d, port, "hostPort",
                          yyjson_mut_get_sint(json_mget(port, STR("containerPort"))));
        }
    }
}

void pod_spec_defaults(yyjson_mut_doc *d, yyjson_mut_val *spec) {
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    bool host_network = yyjson_mut_get_bool(json_mget(spec, STR("hostNetwork")));
    for (size_t l = 0; l < COUNT(lists); l++) {
        EACH(json_mget(spec, str_of(lists[l])), i, c) {
            (void)i;
            container_defaults(d, c, host_network);
        }
    }
    EACH(json_mget(spec, STR("volumes")), i, v) {
        (void)i;
        if (yyjson_mut_is_obj(v) && yyjson_mut_obj_size(v) == 1 &&
            json_mget(v, STR("name")) != NULL) {
            json_mset(d, v, STR("emptyDir"), yyjson_mut_obj(d));
        }
    }
    struct str account = json_mstr_at(spec, "serviceAccountName");
    struct str old_spelling = json_mstr_at(spec, "serviceAccount");
    if (account.n > 0) {
        json_mset_str(d, spec, "serviceAccount", account);
    } else if (old_spelling.n > 0) {
        json_mset_str(d, spec, "serviceAccountName", old_spelling);
    }
}

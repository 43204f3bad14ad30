/* policy_scale: see policy_scale.h. */
#include "server/auth/policy_scale.h"

static bool may_scale(struct rbac *b, const struct api_request *q, struct rbac_attributes want,
                      struct arena *a) {
    static const char *const verbs[] = {"update", "patch"}, *const parts[] = {"scale", ""};
    struct str reason;
    want.user = &q->user;
    want.resource_request = true;
    want.ns = q->ns;
    for (size_t i = 0; i < 4; i++) {
        want.verb = str_of(verbs[i / 2]);
        want.subresource = str_of(parts[i % 2]);
        if (rbac_allows(b, &want, a, &reason)) {
            return true;
        }
    }
    return false;
}

/* 1: the spec is as it was. */
static int is_unchanged(yyjson_mut_val *obj, const struct object *old, struct arena *a,
                        struct err *err) {
    yyjson_mut_doc *d;
    int r = old == NULL ? 0 : json_parse_mut(a, old->json, &d, err);
    return r || old == NULL ? r
                            : json_mequal(json_mget(obj, STR("spec")),
                                          json_mget(yyjson_mut_doc_get_root(d), STR("spec")));
}

int policy_scale(struct rbac *b, const struct api_request *q, yyjson_mut_val *obj,
                 const struct object *old, struct arena *a, struct err *err) {
    struct str version = json_mstr_at(obj, "spec.scaleTargetRef.apiVersion");
    struct str kind = json_mstr_at(obj, "spec.scaleTargetRef.kind");
    ptrdiff_t slash = str_find(version, '/');
    struct str group = slash < 0 ? STR("") : str_head(version, (size_t)slash);
    if (strcmp(q->kind->group, "autoscaling") != 0 || str_is(q->subresource, "status")) {
        return 0;
    }
    int r = is_unchanged(obj, old, a, err);
    if (r != 0) {
        return r < 0 ? r : 0;
    }
    const struct kind *k = kind_by_api_version(version, kind);
    k = k != NULL ? k : kind_by_name(group, kind);
    struct rbac_attributes want = {.group = group,
                                   .resource = str_of(k != NULL ? k->plural : "*"),
                                   .name = json_mstr_at(obj, "spec.scaleTargetRef.name")};
    if (may_scale(b, q, want, a)) {
        return 0;
    }
    return err_set(
        err, ERR_FORBIDDEN,
        "spec.scaleTargetRef: user \"%.*s\" cannot update resource \"%.*s/scale\" in API "
        "group \"%.*s\" in the namespace \"%.*s\", so no autoscaler of theirs may",
        STR_ARG(q->user.name), STR_ARG(want.resource), STR_ARG(group), STR_ARG(q->ns));
}

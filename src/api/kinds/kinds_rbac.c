/* kinds_rbac: the rows of roles and bindings, and of the reviews that are answered without being stored. */
#include "api/tables/view_rbac.h"

#include "api/kinds/kinds.h"
#include "base/limits.h"

static void binding_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    EACH(json_mget(obj, STR("subjects")), i, s) {
        (void)i;
        struct str kind = json_mstr_at(s, "kind");
        bool person = str_is(kind, "User") || str_is(kind, "Group");
        if (person && json_mstr_at(s, "apiGroup").n == 0 &&
            json_mset_str(d, s, "apiGroup", STR("rbac.authorization.k8s.io")) < 0) {
            err_set(err, ERR_NOMEM, "out of memory");
        }
    }
}

static const char *const entry_lists[] = {"verbs", "apiGroups", "resources", "resourceNames",
                                          "nonResourceURLs"};

static size_t count_old_entries(yyjson_val *old) {
    size_t n = 0, i, max;
    yyjson_val *r;
    yyjson_arr_foreach(json_get(old, STR("rules")), i, max, r) {
        for (size_t k = 0; k < COUNT(entry_lists); k++) {
            n += yyjson_arr_size(json_get(r, str_of(entry_lists[k])));
        }
        n++;
    }
    return n;
}

/* All that the rules list, which whoever asks is held against. What was too long before may stay, and shrink: else no
 * finalizer could be taken off it. */
static void check_entries(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    size_t n = 0;
    EACH(json_mget(obj, STR("rules")), i, r) {
        (void)i;
        for (size_t k = 0; k < COUNT(entry_lists); k++) {
            n += yyjson_mut_arr_size(json_mget(r, str_of(entry_lists[k])));
        }
        n++;
    }
    if (n > LIMIT_ROLE_ENTRIES && n > count_old_entries(old)) {
        causes_add(c, CAUSE_TOO_MANY, STR("rules"),
                   "Too many: %zu: rules and what they list must be at most %d", n,
                   LIMIT_ROLE_ENTRIES);
    }
}

static void role_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    check_entries(obj, old, c);
    struct path at = path_member(NULL, "rules");
    bool namespaced = str_is(json_mstr_at(obj, "kind"), "Role");
    EACH(json_mget(obj, STR("rules")), i, r) {
        struct path here = path_index(&at, i), groups = path_member(&here, "apiGroups");
        struct path resources = path_member(&here, "resources");
        struct path urls = path_member(&here, "nonResourceURLs");
        size_t n_urls = yyjson_mut_arr_size(json_mget(r, STR("nonResourceURLs")));
        size_t n_resources = yyjson_mut_arr_size(json_mget(r, STR("resources")));
        size_t n_groups = yyjson_mut_arr_size(json_mget(r, STR("apiGroups")));
        if (n_urls > 0) {
            if (namespaced) {
                cause_invalid_json(c, &urls, json_mget(r, STR("nonResourceURLs")),
                                   "namespaced rules cannot apply to non-resource URLs");
            }
            if (n_groups + n_resources > 0) {
                cause_invalid_json(c, &urls, json_mget(r, STR("nonResourceURLs")),
                                   "rules cannot apply to both regular resources and "
                                   "non-resource URLs");
            }
            continue;
        }
        if (n_groups == 0) {
            cause_required(c, &groups, "resource rules must supply at least one api group");
        }
        if (n_resources == 0) {
            cause_required(c, &resources, "resource rules must supply at least one resource");
        }
    }
}

/* People are of the group of RBAC, accounts of the core. */
static void check_subject_group(yyjson_mut_val *s, struct str kind, const struct path *at,
                                struct causes *c) {
    static const char *const of_people[] = {"rbac.authorization.k8s.io", NULL};
    static const char *const of_accounts[] = {"", NULL};
    struct str group = json_mstr_at(s, "apiGroup"), name = json_mstr_at(s, "name");
    struct path group_at = path_member(at, "apiGroup"), name_at = path_member(at, "name");
    bool account = str_is(kind, "ServiceAccount");
    if (account && group.n > 0) {
        cause_unsupported(c, &group_at, group, of_accounts);
    } else if ((str_is(kind, "User") || str_is(kind, "Group")) && !str_is(group, of_people[0])) {
        cause_unsupported(c, &group_at, group, of_people);
    }
    const char *fault = account && name.n > 0 ? format_fault("dns1123-subdomain", name) : NULL;
    if (fault != NULL) {
        cause_invalid(c, &name_at, name, "%s", fault);
    }
}

static void binding_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const kinds[] = {"User", "Group", "ServiceAccount", NULL};
    static const char *const roles[] = {"Role", "ClusterRole", NULL};
    static const char *const groups[] = {"rbac.authorization.k8s.io", NULL};
    struct path at = path_member(NULL, "subjects"), ref = path_member(NULL, "roleRef");
    struct path ref_kind = path_member(&ref, "kind");
    size_t n = yyjson_mut_arr_size(json_mget(obj, STR("subjects")));
    if (n > LIMIT_BINDING_SUBJECTS && n > yyjson_arr_size(json_get(old, STR("subjects")))) {
        causes_add(c, CAUSE_TOO_MANY, STR("subjects"), "Too many: %zu: must have at most %d items",
                   n, LIMIT_BINDING_SUBJECTS);
        return;
    }
    bool namespaced = str_is(json_mstr_at(obj, "kind"), "RoleBinding");
    struct str role = json_mstr_at(obj, "roleRef.kind");
    struct str group = json_mstr_at(obj, "roleRef.apiGroup");
    if (!str_is(group, groups[0])) {
        struct path group_at = path_member(&ref, "apiGroup");
        cause_unsupported(c, &group_at, group, groups);
    }
    if (!str_is(role, "ClusterRole") && !(namespaced && str_is(role, "Role"))) {
        cause_unsupported(c, &ref_kind, role, namespaced ? roles : roles + 1);
    }
    EACH(json_mget(obj, STR("subjects")), i, s) {
        struct path here = path_index(&at, i), kind_at = path_member(&here, "kind");
        struct path space = path_member(&here, "namespace");
        struct str kind = json_mstr_at(s, "kind");
        if (!str_is(kind, "User") && !str_is(kind, "Group") && !str_is(kind, "ServiceAccount")) {
            cause_unsupported(c, &kind_at, kind, kinds);
        } else if (str_is(kind, "ServiceAccount") && json_mstr_at(s, "namespace").n == 0 &&
                   !namespaced) {
            cause_required(c, &space, NULL);
        }
        check_subject_group(s, kind, &here, c);
    }
}

/* Subjects of one kind, joined: users, groups, or namespace/name of service accounts. */
static void subjects_cell(yyjson_val *obj, const char *kind, struct buf *out) {
    struct buf b;
    buf_init(&b, 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "subjects"));
    yyjson_val *s;
    while ((s = yyjson_arr_iter_next(&it)) != NULL) {
        if (!str_is(json_str_at(s, "kind"), kind)) {
            continue;
        }
        buf_c(&b, b.n ? ", " : "");
        if (strcmp(kind, "ServiceAccount") == 0) {
            buf_str(&b, json_str_at(s, "namespace"));
            buf_ch(&b, '/');
        }
        buf_str(&b, json_str_at(s, "name"));
    }
    buf_json(out, buf_view(&b));
    buf_release(&b);
}

static void binding_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    static const char *const kinds[] = {"User", "Group", "ServiceAccount"};
    if (i == 1) {
        struct str kind = json_str_at(obj, "roleRef.kind"), name = json_str_at(obj, "roleRef.name");
        cell_f(out, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name));
    } else {
        subjects_cell(obj, kinds[i - 3], out);
    }
}

static const struct column role_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Created At", "date", 0, "metadata.creationTimestamp", "Time of creation."),
};
static const struct column binding_columns[] = {
    COLUMN_NAME,
    COLUMN("Role", "string", 0, "The granted role."),
    COLUMN_AGE,
    COLUMN("Users", "string", 1, "Users that are granted the role."),
    COLUMN("Groups", "string", 1, "Groups that are granted the role."),
    COLUMN("ServiceAccounts", "string", 1, "Service accounts that are granted the role."),
};

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define RBAC_KIND(name_, kind_, plural_, singular_, flags_, schema_, columns_, ...)                \
    const struct kind name_ = {                                                                    \
        .group = RBAC_GROUP,                                                                       \
        .kind = kind_,                                                                             \
        .plural = plural_,                                                                         \
        .singular = singular_,                                                                     \
        .flags = KIND_PATH_NAME | KIND_CREATE_ON_UPDATE | (flags_),                                \
        .versions = &(const struct kind_version){.version = "v1", .schema = &schema_},             \
        .n_versions = 1,                                                                           \
        .columns = columns_,                                                                       \
        .n_columns = COUNT(columns_),                                                              \
        __VA_ARGS__}

RBAC_KIND(kind_role, "Role", "roles", "role", KIND_NAMESPACED, schema_role, role_columns,
          .check = role_check);
RBAC_KIND(kind_cluster_role, "ClusterRole", "clusterroles", "clusterrole", 0, schema_cluster_role,
          role_columns, .check = role_check);
RBAC_KIND(kind_role_binding, "RoleBinding", "rolebindings", "rolebinding", KIND_NAMESPACED,
          schema_role_binding, binding_columns, .set_defaults = binding_defaults,
          .check = binding_check, .cell = binding_cell);
RBAC_KIND(kind_cluster_role_binding, "ClusterRoleBinding", "clusterrolebindings",
          "clusterrolebinding", 0, schema_cluster_role_binding, binding_columns,
          .set_defaults = binding_defaults, .check = binding_check, .cell = binding_cell);

#define REVIEW_KIND(name_, group_, kind_, plural_, singular_, flags_, schema_)                     \
    const struct kind name_ = {                                                                    \
        .group = group_,                                                                           \
        .kind = kind_,                                                                             \
        .plural = plural_,                                                                         \
        .singular = singular_,                                                                     \
        .flags = KIND_VIRTUAL | (flags_),                                                          \
        .versions = &(const struct kind_version){.version = "v1", .schema = &schema_},             \
        .n_versions = 1}

REVIEW_KIND(kind_self_subject_review, "authentication.k8s.io", "SelfSubjectReview",
            "selfsubjectreviews", "selfsubjectreview", 0, schema_self_subject_review);
REVIEW_KIND(kind_token_review, "authentication.k8s.io", "TokenReview", "tokenreviews",
            "tokenreview", 0, schema_token_review);
REVIEW_KIND(kind_token_request, "authentication.k8s.io", "TokenRequest", "tokenrequests",
            "tokenrequest", KIND_NAMESPACED, schema_token_request);
REVIEW_KIND(kind_subject_access_review, "authorization.k8s.io", "SubjectAccessReview",
            "subjectaccessreviews", "subjectaccessreview", 0, schema_subject_access_review);
REVIEW_KIND(kind_self_subject_access_review, "authorization.k8s.io", "SelfSubjectAccessReview",
            "selfsubjectaccessreviews", "selfsubjectaccessreview", 0,
            schema_self_subject_access_review);
REVIEW_KIND(kind_local_subject_access_review, "authorization.k8s.io", "LocalSubjectAccessReview",
            "localsubjectaccessreviews", "localsubjectaccessreview", KIND_NAMESPACED,
            schema_local_subject_access_review);
REVIEW_KIND(kind_self_subject_rules_review, "authorization.k8s.io", "SelfSubjectRulesReview",
            "selfsubjectrulesreviews", "selfsubjectrulesreview", 0,
            schema_self_subject_rules_review);

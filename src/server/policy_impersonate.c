/* policy_impersonate: acting as somebody else. See policy_impersonate.h. */
#include "server/policy_impersonate.h"

#include "server/authn.h"

enum { GROUPS_MAX = 100 }; /* as many as there may be headers */

static int allow(struct rbac *b, const struct user *u, const char *group, const char *resource,
                 struct str ns, struct str name, struct arena *a, struct err *err) {
    struct str reason;
    struct rbac_attributes q = {.user = u,
                                .verb = STR("impersonate"),
                                .resource_request = true,
                                .group = str_of(group),
                                .resource = str_of(resource),
                                .ns = ns,
                                .name = name};
    if (rbac_allows(b, &q, a, &reason)) {
        return 0;
    }
    struct str where =
        ns.n ? arena_f(a, "in the namespace \"%.*s\"", STR_ARG(ns)) : STR("at the cluster scope");
    return err_set(err, ERR_FORBIDDEN,
                   "%s%s%s \"%.*s\" is forbidden: User \"%.*s\" cannot impersonate resource \"%s\" "
                   "in API group \"%s\" %.*s",
                   resource, group[0] ? "." : "", group, STR_ARG(name), STR_ARG(u->name), resource,
                   group, STR_ARG(where));
}

/* "system:serviceaccount:NS:NAME" -> both parts. */
static bool split_account(struct str user, struct str *ret_ns, struct str *ret_name) {
    const struct str prefix = STR("system:serviceaccount:");
    return str_starts(user, prefix) && str_cut(str_skip(user, prefix.n), ':', ret_ns, ret_name);
}

static int allow_user(struct rbac *b, const struct user *u, struct str name, struct arena *a,
                      struct err *err) {
    struct str ns, account;
    return split_account(name, &ns, &account)
               ? allow(b, u, "", "serviceaccounts", ns, account, a, err)
               : allow(b, u, "", "users", STR(""), name, a, err);
}

/* The groups asked for; a service account has its own when none are. */
static int take_groups(struct rbac *b, struct http_request *r, struct arena *a,
                       const struct user *u, struct str name, struct str_list *ret,
                       struct err *err) {
    struct str groups[GROUPS_MAX], ns, account, g;
    size_t n = 0;
    for (size_t i = 0; i < GROUPS_MAX - 2 && http_header_nth(r, "Impersonate-Group", i, &g); i++) {
        int code = allow(b, u, "", "groups", STR(""), g, a, err);
        if (code != 0) {
            return code;
        }
        groups[n++] = g;
    }
    if (n == 0 && split_account(name, &ns, &account)) {
        groups[n++] = STR("system:serviceaccounts");
        groups[n++] = arena_f(a, "system:serviceaccounts:%.*s", STR_ARG(ns));
    }
    if (str_is(name, "system:anonymous")) {
        groups[n++] = STR("system:unauthenticated");
        ret->v = ARENA_ARRAY(a, struct str, n);
        ret->n = ret->v ? n : 0;
        if (ret->v) {
            memcpy(ret->v, groups, n * sizeof(*groups));
        }
        return ret->v ? 0 : err_set(err, ERR_NOMEM, "no memory to impersonate");
    }
    return authn_groups(a, groups, n, ret) == 0
               ? 0
               : err_set(err, ERR_NOMEM, "no memory to impersonate");
}

int policy_impersonate(struct rbac *b, struct http_request *r, struct arena *a, struct user *u,
                       struct err *err) {
    struct str name = http_header(r, "Impersonate-User"), uid = http_header(r, "Impersonate-Uid");
    struct str group = http_header(r, "Impersonate-Group");
    struct user other = {.impersonated_by = u->name, .expires_ns = u->expires_ns};
    if (name.n == 0) {
        return uid.n || group.n
                   ? err_set(
                         err, ERR_BAD_REQUEST,
                         "requested impersonation of a group or uid without impersonating a user")
                   : 0;
    }
    int code = allow_user(b, u, name, a, err);
    code = code ? code : take_groups(b, r, a, u, name, &other.groups, err);
    if (code == 0 && uid.n) {
        code = allow(b, u, "authentication.k8s.io", "uids", STR(""), uid, a, err);
    }
    if (code == 0) {
        other.name = name;
        other.uid = uid;
        *u = other;
    }
    return code;
}

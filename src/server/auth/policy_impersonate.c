/* policy_impersonate: acting as somebody else. See policy_impersonate.h. */
#include "server/auth/policy_impersonate.h"

#include "server/auth/authn.h"

enum { GROUPS_MAX = 100 }; /* as many as there may be headers */

#define EXTRA STR("impersonate-extra-")

/* resource may have a subresource, which is `sub`. */
static int allow_below(struct rbac *b, const struct user *u, const char *group,
                       const char *resource, struct str sub, struct str ns, struct str name,
                       struct arena *a, struct err *err) {
    struct str reason;
    struct rbac_attributes q = {.user = u,
                                .verb = STR("impersonate"),
                                .resource_request = true,
                                .group = str_of(group),
                                .resource = str_of(resource),
                                .subresource = sub,
                                .ns = ns,
                                .name = name};
    if (rbac_allows(b, &q, a, &reason)) {
        return 0;
    }
    struct str where =
        ns.n ? arena_f(a, "in the namespace \"%.*s\"", STR_ARG(ns)) : STR("at the cluster scope");
    return err_set(err, ERR_FORBIDDEN,
                   "%s%s%s \"%.*s\" is forbidden: User \"%.*s\" cannot impersonate resource "
                   "\"%s%s%.*s\" in API group \"%s\" %.*s",
                   resource, group[0] ? "." : "", group, STR_ARG(name), STR_ARG(u->name), resource,
                   sub.n ? "/" : "", STR_ARG(sub), group, STR_ARG(where));
}

static int allow(struct rbac *b, const struct user *u, const char *group, const char *resource,
                 struct str ns, struct str name, struct arena *a, struct err *err) {
    return allow_below(b, u, group, resource, STR(""), ns, name, a, err);
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

/* The key in the name of a header, in lower case and unescaped; empty: it is another header, or malformed. */
static struct str extra_key(struct str header, struct arena *a) {
    struct str key;
    struct err err = {0};
    if (header.n <= EXTRA.n || !str_eq_nocase(str_head(header, EXTRA.n), EXTRA)) {
        return (struct str){0};
    }
    char *p = arena_alloc(a, header.n - EXTRA.n + 1);
    if (p == NULL) {
        return (struct str){0};
    }
    for (size_t i = EXTRA.n; i < header.n; i++) {
        char c = header.p[i];
        p[i - EXTRA.n] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    struct str lower = str_from(p, header.n - EXTRA.n);
    return request_unescape(a, lower, false, &key, &err) == 0 ? key : lower;
}

static int add_extra(struct user *u, struct str key, struct str value, struct arena *a) {
    struct user_extra *x = NULL;
    for (size_t i = 0; i < u->n_extra && x == NULL; i++) {
        x = str_eq(u->extra[i].key, key) ? &u->extra[i] : NULL;
    }
    if (x == NULL) {
        x = &u->extra[u->n_extra];
        *x = (struct user_extra){.key = key, .values.v = ARENA_ARRAY(a, struct str, GROUPS_MAX)};
        u->n_extra += x->values.v != NULL;
    }
    if (x->values.v == NULL || x->values.n == GROUPS_MAX) {
        return ERR_NOMEM;
    }
    x->values.v[x->values.n++] = value;
    return 0;
}

/* Whether any extra is asked for. */
static bool has_extra(struct http_request *r, struct arena *a) {
    struct str name, value;
    for (size_t i = 0; http_header_at(r, i, &name, &value); i++) {
        if (extra_key(name, a).n > 0) {
            return true;
        }
    }
    return false;
}

/* Each value of each key is a right of its own: userextras/KEY with the value as its name. */
static int take_extra(struct rbac *b, struct http_request *r, struct arena *a, const struct user *u,
                      struct user *other, struct err *err) {
    struct str name, value;
    other->extra = ARENA_ARRAY(a, struct user_extra, GROUPS_MAX);
    for (size_t i = 0, n = 0; other->extra != NULL && http_header_at(r, i, &name, &value); i++) {
        struct str key = extra_key(name, a);
        if (key.n == 0) {
            continue;
        }
        if (++n > GROUPS_MAX) {
            return err_set(err, ERR_BAD_REQUEST, "more than %d Impersonate-Extra headers",
                           GROUPS_MAX);
        }
        int code =
            allow_below(b, u, "authentication.k8s.io", "userextras", key, STR(""), value, a, err);
        if (code != 0) {
            return code;
        }
        if (add_extra(other, key, value, a) != 0) {
            return err_set(err, ERR_NOMEM, "no memory to impersonate");
        }
    }
    return other->extra ? 0 : err_set(err, ERR_NOMEM, "no memory to impersonate");
}

int policy_impersonate(struct rbac *b, struct http_request *r, struct arena *a, struct user *u,
                       struct err *err) {
    struct str name = http_header(r, "Impersonate-User"), uid = http_header(r, "Impersonate-Uid");
    struct str group = http_header(r, "Impersonate-Group");
    struct user other = {.impersonated_by = u->name, .expires_ns = u->expires_ns};
    if (name.n == 0) {
        return uid.n || group.n || has_extra(r, a)
                   ? err_set(err, ERR_BAD_REQUEST,
                             "requested impersonation of a group, uid or extra without "
                             "impersonating a user")
                   : 0;
    }
    int code = allow_user(b, u, name, a, err);
    code = code ? code : take_groups(b, r, a, u, name, &other.groups, err);
    code = code ? code : take_extra(b, r, a, u, &other, err);
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

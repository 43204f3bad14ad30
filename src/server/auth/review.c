/* review: answers about permissions and identities. See review.h. */
#include "server/auth/review.h"

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "no memory for a review");
}

static struct str_list strings_of(struct arena *a, yyjson_mut_val *list) {
    struct str_list l = {0};
    size_t i, max;
    yyjson_mut_val *v;
    l.v = ARENA_ARRAY(a, struct str, yyjson_mut_arr_size(list) + 1);
    if (l.v == NULL) {
        return l;
    }
    yyjson_mut_arr_foreach(list, i, max, v) {
        l.v[l.n++] = json_mstr(v);
    }
    return l;
}

static yyjson_mut_val *list_of(yyjson_mut_doc *d, const struct str_list *l) {
    yyjson_mut_val *arr = yyjson_mut_arr(d);
    for (size_t i = 0; arr && i < l->n; i++) {
        arr =
            yyjson_mut_arr_add_strncpy(d, arr, l->v[i].p ? l->v[i].p : "", l->v[i].n) ? arr : NULL;
    }
    return arr;
}

/* Sets a member to a list; a NULL list is a failure. */
static int set_list(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *name,
                    const struct str_list *l) {
    yyjson_mut_val *arr = list_of(d, l);
    return arr ? json_mset(d, obj, str_of(name), arr) : ERR_NOMEM;
}

/* ---- may somebody do something ---- */

static enum verb verb_of(struct str name) {
    static const struct {
        const char *name;
        enum verb verb;
    } rows[] = {{"get", VERB_GET},       {"list", VERB_LIST},
                {"watch", VERB_WATCH},   {"create", VERB_CREATE},
                {"update", VERB_UPDATE}, {"patch", VERB_PATCH},
                {"delete", VERB_DELETE}, {"deletecollection", VERB_DELETECOLLECTION}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_is(name, rows[i].name)) {
            return rows[i].verb;
        }
    }
    return VERB_OTHER;
}

/* The request that is asked about, as request_parse would have made it. */
static struct api_request request_of(const struct user *u, yyjson_mut_val *resource,
                                     yyjson_mut_val *path) {
    struct str verb = json_mstr_at(resource ? resource : path, "verb");
    if (resource == NULL) {
        return (struct api_request){
            .user = *u, .verb_name = verb, .path = json_mstr_at(path, "path")};
    }
    struct api_request q = {
        .user = *u,
        .resource = true,
        .verb = verb_of(verb),
        .verb_name = verb,
        .group = json_mstr_at(resource, "group"),
        .version = json_mstr_at(resource, "version"),
        .plural = json_mstr_at(resource, "resource"),
        .subresource = json_mstr_at(resource, "subresource"),
        .ns = json_mstr_at(resource, "namespace"),
        .authz_name = json_mstr_at(resource, "name"),
    };
    bool many = q.verb == VERB_LIST || q.verb == VERB_WATCH || q.verb == VERB_DELETECOLLECTION;
    q.name = many ? (struct str){0} : q.authz_name;
    q.opt.field_selector = json_mstr_at(resource, "fieldSelector.rawSelector");
    if (str_is(q.plural, "namespaces") && q.group.n == 0 && q.name.n > 0) {
        q.ns = q.name;
    }
    return q;
}

static int check_spec(yyjson_mut_val *spec, bool self, bool local, struct str ns, struct err *err) {
    yyjson_mut_val *resource = json_mget(spec, STR("resourceAttributes"));
    yyjson_mut_val *path = json_mget(spec, STR("nonResourceAttributes"));
    if ((resource == NULL) == (path == NULL)) {
        return err_set(err, ERR_INVALID,
                       "spec.resourceAttributes: Invalid value: null: exactly one of "
                       "nonResourceAttributes or resourceAttributes must be specified");
    }
    if (!self && json_mstr_at(spec, "user").n == 0 &&
        yyjson_mut_arr_size(json_mget(spec, STR("groups"))) == 0) {
        return err_set(
            err, ERR_INVALID,
            "spec.user: Invalid value: \"\": at least one of user or group must be specified");
    }
    if (local && (resource == NULL || !str_eq(json_mstr_at(resource, "namespace"), ns))) {
        return err_set(err, ERR_INVALID,
                       "spec.resourceAttributes.namespace: Invalid value: \"%.*s\": must match "
                       "metadata.namespace",
                       STR_ARG(json_mstr_at(resource, "namespace")));
    }
    return 0;
}

int review_access(review_allows *allows, void *ctx, const struct user *u, const struct kind *k,
                  struct str ns, yyjson_mut_doc *d, struct arena *a, struct err *err) {
    yyjson_mut_val *spec = json_mget(d->root, STR("spec"));
    bool self = str_is(str_of(k->kind), "SelfSubjectAccessReview");
    bool local = str_is(str_of(k->kind), "LocalSubjectAccessReview");
    struct user named = {.name = json_mstr_at(spec, "user"),
                         .uid = json_mstr_at(spec, "uid"),
                         .groups = strings_of(a, json_mget(spec, STR("groups")))};
    struct str reason = {0};
    int r = check_spec(spec, self, local, ns, err);
    if (r != 0) {
        return r;
    }
    struct api_request q = request_of(self ? u : &named, json_mget(spec, STR("resourceAttributes")),
                                      json_mget(spec, STR("nonResourceAttributes")));
    bool allowed = allows(ctx, &q, a, &reason);
    yyjson_mut_val *status = yyjson_mut_obj(d);
    if (status == NULL || json_mset(d, d->root, STR("status"), status) != 0 ||
        json_mset_bool(d, status, "allowed", allowed) != 0 ||
        (reason.n && json_mset_str(d, status, "reason", reason) != 0)) {
        return no_memory(err);
    }
    return 0;
}

/* ---- all rules somebody has ---- */

struct review_rules {
    yyjson_mut_doc *doc;
    yyjson_mut_val *resource, *path;
    int code;
};

static bool add_rule(void *ctx, const struct policy_rule *r) {
    struct review_rules *out = ctx;
    yyjson_mut_doc *d = out->doc;
    bool is_path = r->non_resource_urls.n > 0;
    yyjson_mut_val *rule = yyjson_mut_obj(d);
    out->code = rule ? set_list(d, rule, "verbs", &r->verbs) : ERR_NOMEM;
    if (out->code == 0 && is_path) {
        out->code = set_list(d, rule, "nonResourceURLs", &r->non_resource_urls);
    } else if (out->code == 0) {
        out->code = set_list(d, rule, "apiGroups", &r->api_groups);
        out->code = out->code ? out->code : set_list(d, rule, "resources", &r->resources);
        if (out->code == 0 && r->resource_names.n) {
            out->code = set_list(d, rule, "resourceNames", &r->resource_names);
        }
    }
    if (out->code == 0) {
        yyjson_mut_arr_append(is_path ? out->path : out->resource, rule);
    }
    return out->code == 0;
}

int review_rules(struct rbac *b, const struct user *u, yyjson_mut_doc *d, struct err *err) {
    struct str ns = json_mstr_at(d->root, "spec.namespace");
    struct review_rules out = {.doc = d, .resource = yyjson_mut_arr(d), .path = yyjson_mut_arr(d)};
    if (ns.n == 0) {
        return err_set(err, ERR_BAD_REQUEST, "no namespace on request");
    }
    yyjson_mut_val *status = json_mensure(d, d->root, "status");
    if (out.resource == NULL || out.path == NULL || status == NULL) {
        return no_memory(err);
    }
    rbac_rules_of(b, u, ns, add_rule, &out);
    if (out.code != 0 || json_mset(d, status, STR("resourceRules"), out.resource) != 0 ||
        json_mset(d, status, STR("nonResourceRules"), out.path) != 0 ||
        json_mset_bool(d, status, "incomplete", user_in_group(u, STR("system:nodes"))) != 0) {
        return no_memory(err);
    }
    return 0;
}

/* ---- who somebody is ---- */

static int add_user(yyjson_mut_doc *d, yyjson_mut_val *info, const struct user *u) {
    int r = json_mset_str(d, info, "username", u->name);
    if (r == 0 && u->uid.n) {
        r = json_mset_str(d, info, "uid", u->uid);
    }
    r = r ? r : set_list(d, info, "groups", &u->groups);
    yyjson_mut_val *extra = r == 0 && u->n_extra ? json_mensure(d, info, "extra") : NULL;
    for (size_t i = 0; r == 0 && i < u->n_extra; i++) {
        yyjson_mut_val *values = list_of(d, &u->extra[i].values);
        r = extra && values ? json_mset(d, extra, u->extra[i].key, values) : ERR_NOMEM;
    }
    return r;
}

int review_self(const struct user *u, yyjson_mut_doc *d, struct err *err) {
    yyjson_mut_val *info = json_mensure(d, d->root, "status.userInfo");
    return info && add_user(d, info, u) == 0 ? 0 : no_memory(err);
}

int review_token(const struct user *who, const struct str_list *audiences, yyjson_mut_doc *d,
                 struct err *err) {
    yyjson_mut_val *user = json_mensure(d, d->root, "status.user");
    yyjson_mut_val *status = json_mget(d->root, STR("status"));
    int r = user ? 0 : ERR_NOMEM;
    if (r == 0 && who == NULL) {
        r = json_mset_str(d, status, "error", STR("invalid bearer token"));
    } else if (r == 0) {
        r = json_mset_bool(d, status, "authenticated", true);
        r = r ? r : add_user(d, user, who);
        r = r ? r : set_list(d, status, "audiences", audiences);
    }
    return r ? no_memory(err) : 0;
}

/* escalate: nobody grants what he does not hold. See escalate.h. */
#include "server/escalate.h"

#include "api/codec.h"

#define RBAC_GROUP STR("rbac.authorization.k8s.io")

struct check {
    struct rbac *b;
    const struct user *user;
    struct str ns;
    struct arena *arena;
    struct buf missing; /* lines */
};

/* ---- covering ---- */

static bool lists(const struct str_list *l, struct str s) {
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i], s)) {
            return true;
        }
    }
    return false;
}

static bool lists_or_all(const struct str_list *l, struct str s) {
    return lists(l, STR("*")) || lists(l, s);
}

/* "*" covers all, "x" covers "x", and a subresource of any resource is covered by the same one. */
static bool covers_resource(const struct str_list *held, struct str wanted) {
    struct str head, tail;
    if (lists_or_all(held, wanted)) {
        return true;
    }
    for (size_t i = 0; str_find(wanted, '/') >= 0 && i < held->n; i++) {
        struct str wanted_head, wanted_tail;
        str_cut(wanted, '/', &wanted_head, &wanted_tail);
        if (str_cut(held->v[i], '/', &head, &tail) && str_is(head, "*") &&
            str_eq(tail, wanted_tail)) {
            return true;
        }
    }
    return false;
}

static bool covers_path(const struct str_list *held, struct str wanted) {
    for (size_t i = 0; i < held->n; i++) {
        struct str h = held->v[i];
        if (str_eq(h, wanted) ||
            (str_ends(h, STR("*")) && str_starts(wanted, str_head(h, h.n - 1)))) {
            return true;
        }
    }
    return false;
}

/* One thing a rule grants: a verb on a resource (by name or not), or on a path. */
struct atom {
    struct str verb, group, resource, name, path;
    bool named, is_path, covered;
};

static bool cover(void *ctx, const struct policy_rule *held) {
    struct atom *a = ctx;
    if (!lists_or_all(&held->verbs, a->verb)) {
        return true;
    }
    if (a->is_path) {
        a->covered = covers_path(&held->non_resource_urls, a->path);
    } else {
        bool name_ok =
            held->resource_names.n == 0 || (a->named && lists(&held->resource_names, a->name));
        a->covered = name_ok && lists_or_all(&held->api_groups, a->group) &&
                     covers_resource(&held->resources, a->resource);
    }
    return !a->covered;
}

static bool is_covered(struct check *c, struct atom *atom) {
    rbac_rules_of(c->b, c->user, c->ns, cover, atom);
    return atom->covered;
}

/* ---- what is missing, in words ---- */

static void quote_list(struct buf *b, const char *name, const struct str *v, size_t n, bool *any) {
    if (n == 0) {
        return;
    }
    buf_f(b, "%s%s:[", *any ? ", " : "{", name);
    for (size_t i = 0; i < n; i++) {
        buf_c(b, i ? " " : "");
        buf_json(b, v[i]);
    }
    buf_ch(b, ']');
    *any = true;
}

static void note_missing(struct check *c, const struct atom *atom, const struct str *verbs,
                         size_t n_verbs) {
    bool any = false;
    buf_ch(&c->missing, '\n');
    quote_list(&c->missing, "APIGroups", &atom->group, !atom->is_path, &any);
    quote_list(&c->missing, "Resources", &atom->resource, !atom->is_path, &any);
    quote_list(&c->missing, "NonResourceURLs", &atom->path, atom->is_path, &any);
    quote_list(&c->missing, "ResourceNames", &atom->name, atom->named, &any);
    quote_list(&c->missing, "Verbs", verbs, n_verbs, &any);
    buf_ch(&c->missing, '}');
}

/* All verbs of a rule on one thing: those not covered make one line. */
static int check_verbs(struct check *c, const struct policy_rule *r, struct atom atom) {
    struct str *verbs = ARENA_ARRAY(c->arena, struct str, r->verbs.n ? r->verbs.n : 1);
    size_t n = 0;
    if (!verbs) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < r->verbs.n; i++) {
        atom.verb = r->verbs.v[i];
        atom.covered = false;
        if (!is_covered(c, &atom)) {
            verbs[n++] = atom.verb;
        }
    }
    if (n > 0) {
        note_missing(c, &atom, verbs, n);
    }
    return buf_ok(&c->missing);
}

static int check_names(struct check *c, const struct policy_rule *r, struct atom atom) {
    int code = r->resource_names.n ? 0 : check_verbs(c, r, atom);
    for (size_t i = 0; code == 0 && i < r->resource_names.n; i++) {
        atom.named = true;
        atom.name = r->resource_names.v[i];
        code = check_verbs(c, r, atom);
    }
    return code;
}

static int check_rule(struct check *c, const struct policy_rule *r) {
    int code = 0;
    for (size_t g = 0; code == 0 && g < r->api_groups.n; g++) {
        for (size_t i = 0; code == 0 && i < r->resources.n; i++) {
            code = check_names(
                c, r, (struct atom){.group = r->api_groups.v[g], .resource = r->resources.v[i]});
        }
    }
    for (size_t i = 0; code == 0 && i < r->non_resource_urls.n; i++) {
        code = check_verbs(c, r, (struct atom){.is_path = true, .path = r->non_resource_urls.v[i]});
    }
    return code;
}

struct collected {
    struct check *c;
    int code;
};

static bool check_each(void *ctx, const struct policy_rule *r) {
    struct collected *l = ctx;
    l->code = check_rule(l->c, r);
    return l->code == 0;
}

static int verdict(struct check *c, int code, struct err *err) {
    struct buf groups;
    if (code != 0) {
        return err_set(err, code == ERR_TOO_LARGE ? ERR_FORBIDDEN : code,
                       "the rules cannot be checked against what the user holds");
    }
    if (c->missing.n == 0) {
        return 0;
    }
    buf_init(&groups, 4096);
    for (size_t i = 0; i < c->user->groups.n; i++) {
        buf_c(&groups, i ? " " : "");
        buf_json(&groups, c->user->groups.v[i]);
    }
    err_set(err, ERR_FORBIDDEN,
            "user \"%.*s\" (groups=[%.*s]) is attempting to grant RBAC permissions not currently "
            "held:%.*s",
            STR_ARG(c->user->name), STR_ARG(buf_view(&groups)), STR_ARG(buf_view(&c->missing)));
    buf_release(&groups);
    return ERR_FORBIDDEN;
}

/* ---- roles and bindings ---- */

static bool may(struct check *c, const char *verb, struct str resource, struct str name,
                struct str ns) {
    struct str reason;
    return rbac_allows(c->b,
                       &(struct rbac_attributes){.user = c->user,
                                                 .verb = str_of(verb),
                                                 .resource_request = true,
                                                 .group = RBAC_GROUP,
                                                 .resource = resource,
                                                 .name = name,
                                                 .ns = ns},
                       c->arena, &reason);
}

static bool unchanged(struct check *c, yyjson_mut_val *obj, const struct object *old,
                      const char *const *members) {
    yyjson_mut_doc *was;
    if (!old || json_parse_mut(c->arena, old->json, &was, NULL) != 0) {
        return false;
    }
    for (size_t i = 0; members[i]; i++) {
        if (!json_mequal(json_mget(obj, str_of(members[i])),
                         json_mget(was->root, str_of(members[i])))) {
            return false;
        }
    }
    return true;
}

static int decode(struct check *c, const struct kind *k, yyjson_mut_val *obj, void *view,
                  struct err *err) {
    struct buf text;
    yyjson_doc *doc;
    buf_init(&text, 0);
    json_write_mut(&text, obj);
    int r = buf_ok(&text) ? err_set(err, buf_ok(&text), "no memory to check a role")
                          : json_parse(c->arena, buf_view(&text), &doc, err);
    buf_release(&text);
    return r ? r
             : codec_decode(kind_storage(k)->schema, yyjson_doc_get_root(doc), c->arena, view, err);
}

static int check_role(struct check *c, const struct kind *k, yyjson_mut_val *obj,
                      const struct object *old, struct err *err) {
    static const char *const members[] = {"rules", "aggregationRule", NULL};
    static struct str star[] = {{"*", 1}};
    const struct str_list all = {star, 1};
    const struct policy_rule resources = {.verbs = all, .api_groups = all, .resources = all};
    const struct policy_rule paths = {.verbs = all, .non_resource_urls = all};
    struct role role = {0};
    struct str name = json_mstr_at(obj, "metadata.name");
    if (unchanged(c, obj, old, members) || may(c, "escalate", str_of(k->plural), name, c->ns)) {
        return 0;
    }
    int r = decode(c, k, obj, &role, err);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; r == 0 && i < role.rules.n; i++) {
        r = check_rule(c, &role.rules.v[i]);
    }
    if (r == 0 && role.aggregation_rule) {
        r = check_rule(c, &resources);
        r = r ? r : check_rule(c, &paths);
    }
    return verdict(c, r, err);
}

static int check_binding(struct check *c, yyjson_mut_val *obj, const struct object *old,
                         struct err *err) {
    static const char *const members[] = {"roleRef", "subjects", NULL};
    struct str kind = json_mstr_at(obj, "roleRef.kind"), name = json_mstr_at(obj, "roleRef.name");
    bool cluster = str_is(kind, "ClusterRole");
    struct str plural = cluster ? STR("clusterroles") : STR("roles");
    struct collected l = {.c = c};
    if (unchanged(c, obj, old, members) || may(c, "bind", plural, name, c->ns)) {
        return 0;
    }
    if (!rbac_role_rules(c->b, kind, c->ns, name, check_each, &l)) {
        return err_set(err, ERR_NOT_FOUND, "%.*s.rbac.authorization.k8s.io \"%.*s\" not found",
                       STR_ARG(plural), STR_ARG(name));
    }
    return verdict(c, l.code, err);
}

int escalate_check(struct rbac *b, const struct user *u, const struct kind *k, struct str ns,
                   yyjson_mut_val *obj, const struct object *old, struct arena *a,
                   struct err *err) {
    struct check c = {.b = b, .user = u, .ns = ns, .arena = a};
    struct str plural = str_of(k->plural);
    int r = 0;
    if (!str_eq(str_of(k->group), RBAC_GROUP) || user_in_group(u, STR("system:masters"))) {
        return 0;
    }
    buf_init(&c.missing, 64 << 10);
    if (str_is(plural, "roles") || str_is(plural, "clusterroles")) {
        r = check_role(&c, k, obj, old, err);
    } else if (str_is(plural, "rolebindings") || str_is(plural, "clusterrolebindings")) {
        r = check_binding(&c, obj, old, err);
    }
    buf_release(&c.missing);
    return r;
}

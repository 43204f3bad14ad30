/* rbac: decisions by roles and bindings, compiled. See rbac.h. */
#include "server/rbac.h"

#include "api/codec.h"
#include "api/selector.h"
#include "base/map.h"
#include "base/mem.h"

#define RBAC_GROUP STR("rbac.authorization.k8s.io")

enum { COMPILED_BYTES = 256 << 20, MISSING_NAMED = 8 };

struct compiled_role {
    struct role *role;
    struct str_map labels;
    struct policy_rule *rules;
    size_t n_rules;
    enum { ROLE_OWN_RULES, ROLE_RESOLVING, ROLE_RESOLVED } state;
};

struct compiled_binding {
    struct str ns, name;
    struct role_binding *view;
    const struct compiled_role *role; /* NULL: missing */
};

/* The bindings of one namespace: a run of the array, which is sorted by namespace. */
struct namespace_bindings {
    struct compiled_binding *v;
    size_t n;
};

struct rbac {
    struct mirror *mirror;
    const struct kind *kinds[4];
    struct feed *feeds[4];
    bool stale;
    struct arena arena;
    struct compiled_role *cluster_roles, *roles;
    size_t n_cluster_roles, n_roles;
    struct map by_name; /* "ns/name", "/name" for a ClusterRole -> struct compiled_role */
    struct namespace_bindings everywhere;
    struct map by_namespace; /* ns -> struct namespace_bindings */
};

enum { ROLE, CLUSTER_ROLE, ROLE_BINDING, CLUSTER_ROLE_BINDING };

static void changed(void *ctx, const struct change *c) {
    ((struct rbac *)ctx)->stale = true;
}

int rbac_new(struct mirror *m, struct rbac **ret, struct err *err) {
    static const char *const names[] = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"};
    struct rbac *b = mem_zalloc(sizeof(*b));
    if (!b) {
        return err_set(err, ERR_NOMEM, "no memory for RBAC");
    }
    *b = (struct rbac){.mirror = m, .stale = true};
    arena_init(&b->arena, COMPILED_BYTES);
    for (int i = 0; i < 4; i++) {
        b->kinds[i] = kind_by_name(RBAC_GROUP, str_of(names[i]));
        b->feeds[i] = b->kinds[i] ? mirror_feed(m, b->kinds[i], changed, b) : NULL;
        if (!b->feeds[i]) {
            rbac_free(b);
            return err_set(err, ERR_NOMEM, "no memory for RBAC");
        }
    }
    *ret = b;
    return 0;
}

static void forget(struct rbac *b) {
    map_release(&b->by_name);
    map_release(&b->by_namespace);
    arena_reset(&b->arena);
    b->roles = b->cluster_roles = NULL;
    b->n_roles = b->n_cluster_roles = 0;
    b->everywhere = (struct namespace_bindings){0};
}

void rbac_free(struct rbac *b) {
    if (!b) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (b->feeds[i]) {
            feed_free(b->feeds[i]);
        }
    }
    forget(b);
    arena_release(&b->arena);
    mem_free(b);
}

/* ---- compiling ---- */

struct collect {
    struct rbac *b;
    void *view; /* decoded so far: struct compiled_role or compiled_binding */
    size_t n, max;
    bool failed;
};

/* *ret_view stays NULL for an object that cannot be read: it grants nothing. ERR_NOMEM is the only failure. */
static int decode(struct rbac *b, const struct object *o, size_t size, void **ret_view) {
    void *view = arena_zalloc(&b->arena, size);
    yyjson_doc *doc;
    int r = view ? object_tree(o, &b->arena, &doc, NULL) : ERR_NOMEM;
    r = r ? r
          : codec_decode(kind_storage(o->kind)->schema, yyjson_doc_get_root(doc), &b->arena, view,
                         NULL);
    *ret_view = r == 0 ? view : NULL;
    return r == ERR_NOMEM ? ERR_NOMEM : arena_ok(&b->arena);
}

static bool collect_role(void *ctx, const struct object *o) {
    struct collect *c = ctx;
    struct compiled_role *r = &((struct compiled_role *)c->view)[c->n];
    if (c->n == c->max) {
        return false;
    }
    void *view;
    c->failed = decode(c->b, o, sizeof(*r->role), &view) != 0;
    if (!view) {
        return !c->failed;
    }
    r->role = view;
    r->rules = r->role->rules.v;
    r->n_rules = r->role->rules.n;
    r->labels = r->role->metadata ? r->role->metadata->labels : (struct str_map){0};
    struct str key = arena_f(&c->b->arena, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    c->failed = !key.p || map_put(&c->b->by_name, key, r, NULL) != 0;
    c->n++;
    return !c->failed;
}

static const struct compiled_role *find_role(const struct rbac *b, struct str kind, struct str ns,
                                             struct str name) {
    char key[1024];
    bool cluster = str_is(kind, "ClusterRole");
    if (!cluster && !str_is(kind, "Role")) {
        return NULL;
    }
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(cluster ? STR("") : ns), STR_ARG(name));
    return n > 0 && (size_t)n < sizeof(key) ? map_get(&b->by_name, str_from(key, (size_t)n)) : NULL;
}

static bool collect_binding(void *ctx, const struct object *o) {
    struct collect *c = ctx;
    struct compiled_binding *b = &((struct compiled_binding *)c->view)[c->n];
    if (c->n == c->max) {
        return false;
    }
    void *view;
    c->failed = decode(c->b, o, sizeof(*b->view), &view) != 0;
    b->ns = arena_str(&c->b->arena, o->ns);
    b->name = arena_str(&c->b->arena, o->name);
    c->failed = c->failed || arena_ok(&c->b->arena) != 0;
    if (!view || c->failed) {
        return !c->failed;
    }
    b->view = view;
    const struct role_ref *ref = b->view->role_ref;
    b->role = ref ? find_role(c->b, ref->kind, o->ns, ref->name) : NULL;
    c->n++;
    return true;
}

/* One array of all objects of a kind; false when memory ran out. */
static bool collect_kind(struct rbac *b, int kind, size_t size,
                         bool (*each)(void *ctx, const struct object *o), void **ret,
                         size_t *ret_n) {
    struct collect c = {.b = b, .max = mirror_count(b->mirror, b->kinds[kind])};
    c.view = arena_array(&b->arena, c.max, size);
    if (!c.view) {
        return false;
    }
    mirror_scan(b->mirror, b->kinds[kind], STR(""), each, &c);
    *ret = c.view;
    *ret_n = c.n;
    return !c.failed;
}

/* The LabelSelector's view as terms that match. */
static bool matches_view(struct rbac *b, const struct label_selector *view,
                         const struct str_map *labels) {
    struct selector map;
    if (selector_from_map(&b->arena, &view->match_labels, &map, NULL) != 0 ||
        !selector_matches(&map, labels)) {
        return false;
    }
    for (size_t i = 0; i < view->match_expressions.n; i++) {
        const struct label_requirement *e = &view->match_expressions.v[i];
        const struct str *value = NULL;
        for (size_t k = 0; k < labels->n; k++) {
            value = str_eq(labels->v[k].key, e->key) ? &labels->v[k].value : value;
        }
        bool in = false;
        for (size_t k = 0; value && k < e->values.n; k++) {
            in = in || str_eq(e->values.v[k], *value);
        }
        bool ok = str_is(e->operator, "In")       ? in
                  : str_is(e->operator, "NotIn")  ? !in
                  : str_is(e->operator, "Exists") ? value != NULL
                                                  : value == NULL;
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool selected(struct rbac *b, const struct aggregation_rule *rule,
                     const struct str_map *labels) {
    for (size_t i = 0; i < rule->cluster_role_selectors.n; i++) {
        if (matches_view(b, &rule->cluster_role_selectors.v[i], labels)) {
            return true;
        }
    }
    return false;
}

/* Gives an aggregated role the rules of the roles it selects, theirs resolved first. A circle ends where it closes. */
static bool resolve(struct rbac *b, struct compiled_role *r) {
    const struct aggregation_rule *rule = r->role->aggregation_rule;
    if (r->state != ROLE_OWN_RULES || !rule) {
        return true;
    }
    r->state = ROLE_RESOLVING;
    size_t n = 0,
           at = 0; /* its own rules are an earlier union, as Kubernetes' controller writes it */
    for (size_t i = 0; i < b->n_cluster_roles; i++) {
        struct compiled_role *other = &b->cluster_roles[i];
        if (other != r && selected(b, rule, &other->labels)) {
            if (!resolve(b, other)) {
                return false;
            }
            n += other->n_rules;
        }
    }
    struct policy_rule *rules = ARENA_ARRAY(&b->arena, struct policy_rule, n ? n : 1);
    if (!rules) {
        return false;
    }
    for (size_t i = 0; i < b->n_cluster_roles; i++) {
        struct compiled_role *other = &b->cluster_roles[i];
        if (other != r && selected(b, rule, &other->labels) && other->n_rules) {
            memcpy(rules + at, other->rules, other->n_rules * sizeof(*rules));
            at += other->n_rules;
        }
    }
    r->rules = rules;
    r->n_rules = at;
    r->state = ROLE_RESOLVED;
    return true;
}

static bool index_namespaces(struct rbac *b, struct compiled_binding *v, size_t n) {
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && str_eq(v[to].ns, v[from].ns);) {
            to++;
        }
        struct namespace_bindings *run = ARENA_NEW(&b->arena, struct namespace_bindings);
        if (!run) {
            return false;
        }
        *run = (struct namespace_bindings){&v[from], to - from};
        if (map_put(&b->by_namespace, v[from].ns, run, NULL) != 0) {
            return false;
        }
    }
    return true;
}

static bool compile(struct rbac *b) {
    void *cluster_roles, *roles, *bindings, *everywhere;
    size_t n_bindings;
    forget(b);
    if (!collect_kind(b, CLUSTER_ROLE, sizeof(struct compiled_role), collect_role, &cluster_roles,
                      &b->n_cluster_roles) ||
        !collect_kind(b, ROLE, sizeof(struct compiled_role), collect_role, &roles, &b->n_roles)) {
        return false;
    }
    b->cluster_roles = cluster_roles;
    b->roles = roles;
    for (size_t i = 0; i < b->n_cluster_roles; i++) {
        if (!resolve(b, &b->cluster_roles[i])) {
            return false;
        }
    }
    if (!collect_kind(b, ROLE_BINDING, sizeof(struct compiled_binding), collect_binding, &bindings,
                      &n_bindings) ||
        !collect_kind(b, CLUSTER_ROLE_BINDING, sizeof(struct compiled_binding), collect_binding,
                      &everywhere, &b->everywhere.n)) {
        return false;
    }
    b->everywhere.v = everywhere;
    return index_namespaces(b, bindings, n_bindings);
}

/* False: no memory, and then nothing is known, so that everything is refused. */
static bool ready(struct rbac *b) {
    if (b->stale) {
        b->stale = !compile(b);
        if (b->stale) {
            forget(b);
        }
    }
    return !b->stale;
}

/* ---- matching ---- */

static bool has(const struct str_list *l, struct str s) {
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i], s) || str_is(l->v[i], "*")) {
            return true;
        }
    }
    return false;
}

static bool names_resource(const struct str_list *l, struct str resource, struct str sub) {
    for (size_t i = 0; i < l->n; i++) {
        struct str rule = l->v[i], head, tail;
        bool cut = str_cut(rule, '/', &head, &tail);
        if (str_is(rule, "*") || (!cut && sub.n == 0 && str_eq(head, resource)) ||
            (cut && sub.n > 0 && str_eq(tail, sub) &&
             (str_is(head, "*") || str_eq(head, resource)))) {
            return true;
        }
    }
    return false;
}

static bool names_path(const struct str_list *l, struct str path) {
    for (size_t i = 0; i < l->n; i++) {
        struct str rule = l->v[i];
        bool prefix = rule.n > 0 && rule.p[rule.n - 1] == '*';
        if (prefix ? str_starts(path, str_head(rule, rule.n - 1)) : str_eq(path, rule)) {
            return true;
        }
    }
    return false;
}

bool rbac_rule_allows(const struct policy_rule *r, const struct rbac_attributes *q) {
    if (!has(&r->verbs, q->verb)) {
        return false;
    }
    if (!q->resource_request) {
        return names_path(&r->non_resource_urls, q->path);
    }
    bool named = r->resource_names.n == 0;
    for (size_t i = 0; !named && i < r->resource_names.n; i++) {
        named = q->name.n > 0 && str_eq(r->resource_names.v[i], q->name);
    }
    return named && has(&r->api_groups, q->group) &&
           names_resource(&r->resources, q->resource, q->subresource);
}

bool user_in_group(const struct user *u, struct str group) {
    for (size_t i = 0; i < u->groups.n; i++) {
        if (str_eq(u->groups.v[i], group)) {
            return true;
        }
    }
    return false;
}

static bool is_account(struct str user, struct str ns, struct str name) {
    const struct str prefix = STR("system:serviceaccount:");
    struct str head, tail;
    return str_starts(user, prefix) && str_cut(str_skip(user, prefix.n), ':', &head, &tail) &&
           str_eq(head, ns) && str_eq(tail, name);
}

static bool is_subject(const struct subject *s, const struct user *u, struct str binding_ns) {
    if (str_is(s->kind, "User")) {
        return str_eq(s->name, u->name);
    }
    if (str_is(s->kind, "Group")) {
        return user_in_group(u, s->name);
    }
    struct str ns = s->namespace.n ? s->namespace : binding_ns;
    return str_is(s->kind, "ServiceAccount") && ns.n > 0 && is_account(u->name, ns, s->name);
}

/* Calls each(ctx, binding, subject, rule) for the rules of a user; each returns false to stop. */
typedef bool visit(void *ctx, const struct compiled_binding *b, const struct subject *s,
                   const struct policy_rule *rule);

static bool visit_bindings(const struct namespace_bindings *run, const struct user *u, visit *each,
                           void *ctx) {
    for (size_t i = 0; i < run->n; i++) {
        const struct compiled_binding *b = &run->v[i];
        const struct subject *s = NULL;
        for (size_t k = 0; !s && k < b->view->subjects.n; k++) {
            s = is_subject(&b->view->subjects.v[k], u, b->ns) ? &b->view->subjects.v[k] : NULL;
        }
        if (!s) {
            continue;
        }
        if (!b->role && !each(ctx, b, s, NULL)) {
            return false;
        }
        for (size_t k = 0; b->role && k < b->role->n_rules; k++) {
            if (!each(ctx, b, s, &b->role->rules[k])) {
                return false;
            }
        }
    }
    return true;
}

static void visit_rules(struct rbac *b, const struct user *u, struct str ns, visit *each,
                        void *ctx) {
    const struct namespace_bindings *run = ns.n ? map_get(&b->by_namespace, ns) : NULL;
    if (visit_bindings(&b->everywhere, u, each, ctx) && run) {
        visit_bindings(run, u, each, ctx);
    }
}

/* ---- decisions ---- */

struct decision {
    const struct rbac_attributes *q;
    const struct compiled_binding *binding, *missing[MISSING_NAMED];
    const struct subject *subject;
    size_t n_missing;
};

static bool decide(void *ctx, const struct compiled_binding *b, const struct subject *s,
                   const struct policy_rule *rule) {
    struct decision *d = ctx;
    if (!rule) {
        if (d->n_missing < MISSING_NAMED) {
            d->missing[d->n_missing++] = b;
        }
        return true;
    }
    if (!rbac_rule_allows(rule, d->q)) {
        return true;
    }
    d->binding = b;
    d->subject = s;
    return false;
}

static struct str why_allowed(const struct decision *d, struct arena *a) {
    const struct compiled_binding *b = d->binding;
    const struct role_ref *ref = b->view->role_ref;
    bool account = str_is(d->subject->kind, "ServiceAccount"), local = b->ns.n > 0;
    struct str ns = d->subject->namespace.n ? d->subject->namespace : b->ns;
    return arena_f(a, "RBAC: allowed by %s \"%.*s%s%.*s\" of %.*s \"%.*s\" to %.*s \"%.*s%s%.*s\"",
                   local ? "RoleBinding" : "ClusterRoleBinding", STR_ARG(b->name), local ? "/" : "",
                   STR_ARG(b->ns), STR_ARG(ref->kind), STR_ARG(ref->name),
                   STR_ARG(d->subject->kind), STR_ARG(d->subject->name), account ? "/" : "",
                   STR_ARG(account ? ns : STR("")));
}

static struct str why_unsure(const struct decision *d, struct arena *a) {
    struct str text = {0};
    for (size_t i = 0; i < d->n_missing; i++) {
        const struct role_ref *ref = d->missing[i]->view->role_ref;
        bool cluster = ref && str_is(ref->kind, "ClusterRole");
        text = arena_f(a, "%.*s%s%s.rbac.authorization.k8s.io \"%.*s\" not found", STR_ARG(text),
                       i ? ", " : "", cluster ? "clusterrole" : "role",
                       STR_ARG(ref ? ref->name : STR("")));
    }
    return d->n_missing == 0   ? text
           : d->n_missing == 1 ? arena_f(a, "RBAC: %.*s", STR_ARG(text))
                               : arena_f(a, "RBAC: [%.*s]", STR_ARG(text));
}

bool rbac_allows(struct rbac *b, const struct rbac_attributes *q, struct arena *a,
                 struct str *ret_reason) {
    struct decision d = {.q = q};
    if (user_in_group(q->user, STR("system:masters"))) {
        *ret_reason = (struct str){0};
        return true;
    }
    if (!ready(b)) {
        *ret_reason = STR("RBAC: out of memory");
        return false;
    }
    visit_rules(b, q->user, q->resource_request ? q->ns : STR(""), decide, &d);
    *ret_reason = d.binding ? why_allowed(&d, a) : why_unsure(&d, a);
    return d.binding != NULL;
}

/* ---- listing ---- */

struct listing {
    bool (*each)(void *ctx, const struct policy_rule *r);
    void *ctx;
};

static bool list_rule(void *ctx, const struct compiled_binding *b, const struct subject *s,
                      const struct policy_rule *rule) {
    struct listing *l = ctx;
    return rule ? l->each(l->ctx, rule) : true;
}

void rbac_rules_of(struct rbac *b, const struct user *u, struct str ns,
                   bool (*each)(void *ctx, const struct policy_rule *r), void *ctx) {
    static struct str everything[] = {{"*", 1}};
    const struct str_list all = {everything, 1};
    const struct policy_rule master[] = {
        {.verbs = all, .api_groups = all, .resources = all},
        {.verbs = all, .non_resource_urls = all},
    };
    struct listing l = {each, ctx};
    if (user_in_group(u, STR("system:masters"))) {
        if (each(ctx, &master[0])) {
            each(ctx, &master[1]);
        }
    } else if (ready(b)) {
        visit_rules(b, u, ns, list_rule, &l);
    }
}

bool rbac_role_rules(struct rbac *b, struct str kind, struct str ns, struct str name,
                     bool (*each)(void *ctx, const struct policy_rule *r), void *ctx) {
    const struct compiled_role *r = ready(b) ? find_role(b, kind, ns, name) : NULL;
    for (size_t i = 0; r && i < r->n_rules; i++) {
        if (!each(ctx, &r->rules[i])) {
            break;
        }
    }
    return r != NULL;
}

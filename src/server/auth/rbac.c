/* rbac: decisions by roles and bindings, compiled. See rbac.h. */
#include "server/auth/rbac.h"

#include "api/schema/codec.h"
#include "api/selector.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

#define RBAC_GROUP STR("rbac.authorization.k8s.io")

enum { COMPILED_BYTES = 256 << 20, SPACE_BYTES = 64 << 20, MISSING_NAMED = 8 };

enum { ROLE, CLUSTER_ROLE, ROLE_BINDING, CLUSTER_ROLE_BINDING };

struct compiled_role {
    struct role *role;
    struct str_map labels;
    struct policy_rule *rules;
    size_t n_rules;
    enum { ROLE_OWN_RULES, ROLE_RESOLVING, ROLE_RESOLVED } state;
    uint64_t visit; /* the last that came by: see visit_rules */
};

struct compiled_binding {
    struct str ns, name;
    struct role_binding *view;
    struct compiled_role *role; /* NULL: missing */
};

struct bindings {
    struct compiled_binding *v;
    size_t n;
};

/*
 * The Roles and RoleBindings of one namespace: compiled when somebody asks for them, and again when one of them or a
 * ClusterRole has changed. Its memory is its own: what a tenant has too many of costs that namespace alone.
 */
struct space {
    struct arena arena;
    struct compiled_role *roles;
    struct map by_name;
    struct bindings bindings;
    uint64_t generation; /* of the ClusterRoles it was compiled with; 0: it is not */
    bool too_large;
    struct str ns; /* behind it */
};

struct rbac {
    struct mirror *mirror;
    const struct kind *kinds[4];
    struct feed *feeds[4];
    bool stale;
    struct arena arena;
    struct compiled_role *cluster_roles;
    size_t n_cluster_roles;
    struct map by_name; /* of ClusterRoles -> struct compiled_role */
    struct bindings everywhere;
    uint64_t generation; /* of all that is compiled for everywhere; from 1 */
    uint64_t visit;      /* number of the last one; from 1 */
    struct map spaces;   /* ns -> struct space; of each namespace that has a Role or RoleBinding */
    bool unknown;        /* not all of these were found yet */
};

static void space_clear(struct space *x) {
    map_release(&x->by_name);
    arena_reset(&x->arena);
    x->roles = NULL;
    x->bindings = (struct bindings){0};
    x->generation = 0;
    x->too_large = false;
}

static void space_free(struct space *x) {
    space_clear(x);
    arena_release(&x->arena);
    mem_free(x);
}

/* The namespace's, to be compiled anew. False: no memory. */
static bool space_mark(struct rbac *b, struct str ns) {
    struct space *x = map_get(&b->spaces, ns);
    if (x) {
        space_clear(x);
        return true;
    }
    x = mem_zalloc(sizeof(*x) + ns.n);
    if (x == NULL) {
        return false;
    }
    memcpy((char *)(x + 1), ns.p, ns.n);
    x->ns = str_from((char *)(x + 1), ns.n);
    arena_init(&x->arena, SPACE_BYTES);
    if (map_put(&b->spaces, x->ns, x, NULL) != 0) {
        mem_free(x);
        return false;
    }
    return true;
}

static bool find_any(void *ctx, const struct object *o) {
    *(bool *)ctx = true;
    return false;
}

/* Where the last Role or RoleBinding of a namespace went, nothing of it is kept. */
static void space_drop_empty(struct rbac *b, struct str ns) {
    bool any = false;
    mirror_scan(b->mirror, b->kinds[ROLE], ns, find_any, &any);
    if (!any) {
        mirror_scan(b->mirror, b->kinds[ROLE_BINDING], ns, find_any, &any);
    }
    struct space *x = any ? NULL : map_del(&b->spaces, ns);
    if (x) {
        space_free(x);
    }
}

static void changed(void *ctx, const struct change *c) {
    struct rbac *b = ctx;
    bool local = c->obj->kind == b->kinds[ROLE] || c->obj->kind == b->kinds[ROLE_BINDING];
    if (!local) {
        b->stale = true;
    } else if (c->type == CHANGE_DELETED) {
        struct space *x = map_get(&b->spaces, c->obj->ns);
        if (x) {
            space_clear(x);
            space_drop_empty(b, c->obj->ns);
        }
    } else if (!space_mark(b, c->obj->ns)) {
        b->unknown = true;
    }
}

int rbac_new(struct mirror *m, struct rbac **ret, struct err *err) {
    static const char *const names[] = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"};
    struct rbac *b = mem_zalloc(sizeof(*b));
    if (b == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for RBAC");
    }
    *b = (struct rbac){.mirror = m, .stale = true, .unknown = true};
    arena_init(&b->arena, COMPILED_BYTES);
    for (int i = 0; i < 4; i++) {
        b->kinds[i] = kind_by_name(RBAC_GROUP, str_of(names[i]));
        b->feeds[i] = b->kinds[i] ? mirror_feed(m, b->kinds[i], changed, b) : NULL;
        if (b->feeds[i] == NULL) {
            rbac_free(b);
            return err_set(err, ERR_NOMEM, "no memory for RBAC");
        }
    }
    *ret = b;
    return 0;
}

static void forget(struct rbac *b) {
    map_release(&b->by_name);
    arena_reset(&b->arena);
    b->cluster_roles = NULL;
    b->n_cluster_roles = 0;
    b->everywhere = (struct bindings){0};
}

void rbac_free(struct rbac *b) {
    if (b == NULL) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (b->feeds[i]) {
            feed_free(b->feeds[i]);
        }
    }
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&b->spaces, &i)) != NULL;) {
        space_free(e->value);
    }
    map_release(&b->spaces);
    forget(b);
    arena_release(&b->arena);
    mem_free(b);
}

/* ---- compiling ---- */

struct collect {
    struct rbac *b;
    struct arena *arena;
    struct map *names;   /* of roles */
    struct space *space; /* of bindings: whose Roles they may name; NULL: none */
    void *view;          /* decoded so far: struct compiled_role or compiled_binding */
    size_t n, max;
    bool failed;
};

/* *ret_view stays NULL for an object that cannot be read: it grants nothing. ERR_NOMEM is the only failure. */
static int decode(struct arena *a, const struct object *o, size_t size, void **ret_view) {
    void *view = arena_zalloc(a, size);
    yyjson_doc *doc;
    int r = view ? object_tree(o, a, &doc, NULL) : ERR_NOMEM;
    r = r ? r
          : codec_decode(kind_storage(o->kind)->schema, yyjson_doc_get_root(doc), a, view, NULL);
    *ret_view = r == 0 ? view : NULL;
    return r == ERR_NOMEM ? ERR_NOMEM : arena_ok(a);
}

static bool collect_role(void *ctx, const struct object *o) {
    struct collect *c = ctx;
    struct compiled_role *r = &((struct compiled_role *)c->view)[c->n];
    if (c->n == c->max) {
        return false;
    }
    void *view;
    c->failed = decode(c->arena, o, sizeof(*r->role), &view) != 0;
    if (view == NULL) {
        return !c->failed;
    }
    r->role = view;
    r->rules = r->role->rules.v;
    r->n_rules = r->role->rules.n;
    r->labels = r->role->metadata ? r->role->metadata->labels : (struct str_map){0};
    struct str key = arena_str(c->arena, o->name);
    c->failed = key.p == NULL || map_put(c->names, key, r, NULL) != 0;
    c->n++;
    return !c->failed;
}

/* x: the namespace's, or NULL. */
static struct compiled_role *find_role(const struct rbac *b, const struct space *x, struct str kind,
                                       struct str name) {
    if (str_is(kind, "ClusterRole")) {
        return map_get(&b->by_name, name);
    }
    return x && str_is(kind, "Role") ? map_get(&x->by_name, name) : NULL;
}

static bool collect_binding(void *ctx, const struct object *o) {
    struct collect *c = ctx;
    struct compiled_binding *b = &((struct compiled_binding *)c->view)[c->n];
    if (c->n == c->max) {
        return false;
    }
    void *view;
    c->failed = decode(c->arena, o, sizeof(*b->view), &view) != 0;
    b->ns = arena_str(c->arena, o->ns);
    b->name = arena_str(c->arena, o->name);
    c->failed = c->failed || arena_ok(c->arena) != 0;
    if (view == NULL || c->failed) {
        return !c->failed;
    }
    b->view = view;
    const struct role_ref *ref = b->view->role_ref;
    b->role = ref ? find_role(c->b, c->space, ref->kind, ref->name) : NULL;
    c->n++;
    return true;
}

static bool count_object(void *ctx, const struct object *o) {
    (*(size_t *)ctx)++;
    return true;
}

/* One array of all objects of a kind in c's namespace, or of all; false when memory ran out. */
static bool collect_kind(struct collect *c, int kind, size_t size,
                         bool (*each)(void *ctx, const struct object *o), void **ret,
                         size_t *ret_n) {
    struct rbac *b = c->b;
    struct str ns = c->space ? c->space->ns : STR("");
    c->n = c->max = 0;
    c->failed = false;
    mirror_scan(b->mirror, b->kinds[kind], ns, count_object, &c->max);
    c->view = arena_array(c->arena, c->max, size);
    if (c->view == NULL) {
        return false;
    }
    mirror_scan(b->mirror, b->kinds[kind], ns, each, c);
    *ret = c->view;
    *ret_n = c->n;
    return !c->failed;
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
    if (r->state != ROLE_OWN_RULES || rule == NULL) {
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
    if (rules == NULL) {
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

static bool compile(struct rbac *b) {
    struct collect c = {.b = b, .arena = &b->arena, .names = &b->by_name};
    void *roles, *everywhere;
    forget(b);
    if (!collect_kind(&c, CLUSTER_ROLE, sizeof(struct compiled_role), collect_role, &roles,
                      &b->n_cluster_roles)) {
        return false;
    }
    b->cluster_roles = roles;
    for (size_t i = 0; i < b->n_cluster_roles; i++) {
        if (!resolve(b, &b->cluster_roles[i])) {
            return false;
        }
    }
    if (!collect_kind(&c, CLUSTER_ROLE_BINDING, sizeof(struct compiled_binding), collect_binding,
                      &everywhere, &b->everywhere.n)) {
        return false;
    }
    b->everywhere.v = everywhere;
    b->generation++;
    return true;
}

static bool find_space(void *ctx, const struct object *o) {
    struct rbac *b = ctx;
    if (map_get(&b->spaces, o->ns) == NULL) {
        b->unknown = !space_mark(b, o->ns);
    }
    return !b->unknown;
}

/* False: no memory, and then nothing is known, so that everything is refused. */
static bool ready(struct rbac *b) {
    if (b->unknown) {
        b->unknown = false;
        mirror_scan(b->mirror, b->kinds[ROLE], STR(""), find_space, b);
        if (!b->unknown) {
            mirror_scan(b->mirror, b->kinds[ROLE_BINDING], STR(""), find_space, b);
        }
    }
    if (b->stale) {
        b->stale = !compile(b);
        if (b->stale) {
            forget(b);
        }
    }
    return !b->stale && !b->unknown;
}

static bool compile_space(struct rbac *b, struct space *x) {
    struct collect c = {.b = b, .arena = &x->arena, .names = &x->by_name, .space = x};
    void *roles, *bindings;
    size_t n;
    if (!collect_kind(&c, ROLE, sizeof(struct compiled_role), collect_role, &roles, &n)) {
        return false;
    }
    x->roles = roles;
    if (!collect_kind(&c, ROLE_BINDING, sizeof(struct compiled_binding), collect_binding, &bindings,
                      &x->bindings.n)) {
        return false;
    }
    x->bindings.v = bindings;
    x->generation = b->generation;
    return true;
}

/* After ready(): the namespace's, compiled; NULL: there is nothing, or no memory for it. */
static struct space *space_of(struct rbac *b, struct str ns) {
    struct space *x = ns.n ? map_get(&b->spaces, ns) : NULL;
    if (x == NULL || x->too_large || x->generation == b->generation) {
        return x;
    }
    space_clear(x);
    if (!compile_space(b, x)) {
        /* With too much in it it stays empty until something of it changes; without memory it is tried again. */
        bool full = x->arena.used > SPACE_BYTES / 2;
        space_clear(x);
        x->too_large = full;
        return full ? x : NULL;
    }
    return x;
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

static bool visit_bindings(const struct bindings *run, const struct user *u, uint64_t number,
                           visit *each, void *ctx) {
    for (size_t i = 0; i < run->n; i++) {
        const struct compiled_binding *b = &run->v[i];
        const struct subject *s = NULL;
        for (size_t k = 0; s == NULL && k < b->view->subjects.n; k++) {
            s = is_subject(&b->view->subjects.v[k], u, b->ns) ? &b->view->subjects.v[k] : NULL;
        }
        if (s == NULL || (b->role && b->role->visit == number)) {
            continue;
        }
        if (b->role) {
            b->role->visit = number;
        }
        if (b->role == NULL && !each(ctx, b, s, NULL)) {
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

/* A role that several bindings give is visited once, for the first of them: a thousand cost no more than one. */
static void visit_rules(struct rbac *b, const struct user *u, struct str ns, visit *each,
                        void *ctx) {
    uint64_t number = ++b->visit;
    if (visit_bindings(&b->everywhere, u, number, each, ctx)) {
        const struct space *x = space_of(b, ns);
        if (x) {
            visit_bindings(&x->bindings, u, number, each, ctx);
        }
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
    if (rule == NULL) {
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
    struct str ns = q->resource_request ? q->ns : STR("");
    visit_rules(b, q->user, ns, decide, &d);
    const struct space *x = d.binding || ns.n == 0 ? NULL : map_get(&b->spaces, ns);
    *ret_reason = d.binding           ? why_allowed(&d, a)
                  : x && x->too_large ? STR("RBAC: the namespace has too many roles and bindings")
                                      : why_unsure(&d, a);
    return d.binding != NULL;
}

/* ---- listing ---- */

struct rbac_listing {
    bool (*each)(void *ctx, const struct policy_rule *r);
    void *ctx;
};

static bool list_rule(void *ctx, const struct compiled_binding *b, const struct subject *s,
                      const struct policy_rule *rule) {
    struct rbac_listing *l = ctx;
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
    struct rbac_listing l = {each, ctx};
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
    const struct compiled_role *r = ready(b) ? find_role(b, space_of(b, ns), kind, name) : NULL;
    for (size_t i = 0; r && i < r->n_rules; i++) {
        if (!each(ctx, &r->rules[i])) {
            break;
        }
    }
    return r != NULL;
}

size_t rbac_namespaces(const struct rbac *b) {
    return map_count(&b->spaces);
}

/* ---- how much one namespace may hold ---- */

struct size {
    size_t n, bytes;
    struct str but; /* an object that is about to be replaced */
    bool replaces;
    size_t was; /* bytes of it */
};

static bool add_size(void *ctx, const struct object *o) {
    struct size *s = ctx;
    if (!str_eq(o->name, s->but)) {
        s->n++;
        s->bytes += o->json.n;
    } else {
        s->replaces = true;
        s->was = o->json.n;
    }
    return true;
}

int rbac_check_room(struct rbac *b, const struct kind *k, struct str ns, struct str name,
                    size_t bytes, struct err *err) {
    struct size all = {.n = 1, .bytes = bytes};
    static const int local[] = {ROLE, ROLE_BINDING};
    for (size_t i = 0; i < 2; i++) {
        all.but = b->kinds[local[i]] == k ? name : (struct str){0};
        mirror_scan(b->mirror, b->kinds[local[i]], ns, add_size, &all);
    }
    if (all.n > LIMIT_NAMESPACE_BINDINGS && !all.replaces) {
        return err_set(err, ERR_FORBIDDEN,
                       "the namespace would have %zu Roles and RoleBindings, and may have %d",
                       all.n, LIMIT_NAMESPACE_BINDINGS);
    }
    if (all.bytes > LIMIT_NAMESPACE_RBAC_BYTES && bytes > all.was) {
        return err_set(err, ERR_FORBIDDEN,
                       "the Roles and RoleBindings of the namespace would take %zu bytes, and may "
                       "take %d",
                       all.bytes, LIMIT_NAMESPACE_RBAC_BYTES);
    }
    return 0;
}

/* escalate: refuses roles and bindings that grant more than their author holds. See escalate.h. */
#include "server/auth/escalate.h"

#include "api/schema/codec.h"
#include "base/map.h"

#define RBAC_GROUP STR("rbac.authorization.k8s.io")

struct held;

struct check {
    struct rbac *b;
    const struct user *user;
    struct str ns;
    struct arena *arena;
    struct held *held;
    struct buf missing; /* lines */
};

/* ---- what the user holds: for each word, by which rules, as a set of bits ---- */

enum { BITS = 64 };

struct words {
    struct map by_word; /* -> uint64_t[n_words]: the rules that list it */
    uint64_t *all;      /* those that list "*" */
};

struct held {
    const struct policy_rule **rules;
    size_t n, cap, words; /* words of one set */
    struct words verbs, groups, resources, names;
    int code;
};

static bool collect_held(void *ctx, const struct policy_rule *r) {
    struct check *c = ctx;
    struct held *h = c->held;
    if (h->n == h->cap && ARENA_GROW(c->arena, h->rules, h->cap) != 0) {
        h->code = ERR_NOMEM;
        return false;
    }
    h->rules[h->n++] = r;
    return arena_charge(c->arena, 1 + r->verbs.n + r->api_groups.n + r->resources.n +
                                      r->resource_names.n + r->non_resource_urls.n);
}

static uint64_t *new_set(struct check *c) {
    return arena_charge(c->arena, c->held->words) ? ARENA_ARRAY(c->arena, uint64_t, c->held->words)
                                                  : NULL;
}

/* `star`: "*" stands for all, as everywhere but among names. */
static int add_words(struct check *c, struct words *w, const struct str_list *l, bool star,
                     size_t rule) {
    for (size_t i = 0; i < l->n; i++) {
        bool all = star && str_is(l->v[i], "*");
        uint64_t *set = all ? w->all : map_get(&w->by_word, l->v[i]);
        if (set == NULL) {
            set = new_set(c);
            int r = set ? map_put(&w->by_word, l->v[i], set, NULL) : ERR_NOMEM;
            if (r != 0) {
                return r;
            }
        }
        set[rule / BITS] |= UINT64_C(1) << (rule % BITS);
    }
    return 0;
}

static int index_held(struct check *c) {
    struct held *h = c->held;
    struct words *const all[] = {&h->verbs, &h->groups, &h->resources, &h->names};
    rbac_rules_of(c->b, c->user, c->ns, collect_held, c);
    h->words = (h->n + BITS - 1) / BITS + 1;
    int r = h->code;
    for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
        all[i]->all = new_set(c);
        r = all[i]->all ? 0 : ERR_NOMEM;
    }
    for (size_t i = 0; r == 0 && i < h->n; i++) {
        const struct policy_rule *rule = h->rules[i];
        r = add_words(c, &h->verbs, &rule->verbs, true, i);
        r = r ? r : add_words(c, &h->groups, &rule->api_groups, true, i);
        r = r ? r : add_words(c, &h->resources, &rule->resources, true, i);
        r = r ? r : add_words(c, &h->names, &rule->resource_names, false, i);
        if (rule->resource_names.n == 0) { /* any name, and none */
            h->names.all[i / BITS] |= UINT64_C(1) << (i % BITS);
        }
    }
    return r;
}

static void release_held(struct held *h) {
    map_release(&h->verbs.by_word);
    map_release(&h->groups.by_word);
    map_release(&h->resources.by_word);
    map_release(&h->names.by_word);
}

static void add_set(const struct held *h, uint64_t *to, const uint64_t *from) {
    for (size_t i = 0; from && i < h->words; i++) {
        to[i] |= from[i];
    }
}

static bool meet(const struct held *h, const uint64_t *a, const uint64_t *b, uint64_t *ret) {
    uint64_t any = 0;
    for (size_t i = 0; i < h->words; i++) {
        ret[i] = a[i] & b[i];
        any |= ret[i];
    }
    return any != 0;
}

/* For each of the list a set, one after the other: the rules by which it is held. NULL: no memory, or no steps. */
static uint64_t *sets_of(struct check *c, const struct words *w, const struct str_list *l,
                         bool resources) {
    struct held *h = c->held;
    uint64_t *sets = arena_charge(c->arena, h->words * l->n)
                         ? ARENA_ARRAY(c->arena, uint64_t, h->words * l->n + 1)
                         : NULL;
    for (size_t i = 0; sets && i < l->n; i++) {
        uint64_t *set = sets + i * h->words;
        struct str head, sub;
        add_set(h, set, w->all);
        add_set(h, set, map_get(&w->by_word, l->v[i]));
        if (resources && str_cut(l->v[i], '/', &head, &sub)) { /* "*" before a subresource */
            struct str any = arena_f(c->arena, "*/%.*s", STR_ARG(sub));
            add_set(h, set, map_get(&w->by_word, any));
        }
    }
    return sets;
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

/* One thing a rule grants on which there are verbs: a resource (by name or not), or a path. */
struct atom {
    struct str group, resource, name, path;
    bool named, is_path;
};

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

/* A rule that is checked, and by which rules of the user's its parts are held. */
struct wanted {
    const struct policy_rule *rule;
    uint64_t *verbs, *groups, *resources, *names; /* sets, one behind the other */
    uint64_t *every;                              /* the rules that have all its verbs */
    uint64_t *met, *left;                         /* while it is checked */
};

/* All verbs on one thing, which the rules of `on` hold: those not held make one line. */
static int check_verbs(struct check *c, const struct wanted *w, const struct atom *atom,
                       const uint64_t *on) {
    const struct policy_rule *r = w->rule;
    if (!arena_charge(c->arena, c->held->words)) {
        return ERR_TOO_LARGE;
    }
    if (meet(c->held, on, w->every, w->left)) {
        return 0;
    }
    struct str *verbs = ARENA_ARRAY(c->arena, struct str, r->verbs.n + 1);
    size_t n = 0;
    if (verbs == NULL || !arena_charge(c->arena, r->verbs.n * c->held->words)) {
        return verbs ? ERR_TOO_LARGE : ERR_NOMEM;
    }
    for (size_t i = 0; i < r->verbs.n; i++) {
        if (!meet(c->held, on, w->verbs + i * c->held->words, w->left)) {
            verbs[n++] = r->verbs.v[i];
        }
    }
    if (n > 0) {
        note_missing(c, atom, verbs, n);
    }
    return buf_ok(&c->missing);
}

/* w->met: the rules that hold the group and the resource. Where it names none, w->names are those that hold all. */
static int check_names(struct check *c, const struct wanted *w, struct atom atom, uint64_t *on) {
    const struct policy_rule *r = w->rule;
    if (r->resource_names.n == 0) {
        (void)meet(c->held, w->met, w->names, on);
        return check_verbs(c, w, &atom, on);
    }
    int code = 0;
    for (size_t i = 0; code == 0 && i < r->resource_names.n; i++) {
        atom.named = true;
        atom.name = r->resource_names.v[i];
        (void)meet(c->held, w->met, w->names + i * c->held->words, on);
        code = check_verbs(c, w, &atom, on);
    }
    return code;
}

static int check_path(struct check *c, const struct wanted *w, struct str path, uint64_t *on) {
    struct held *h = c->held;
    struct atom atom = {.is_path = true, .path = path};
    memset(on, 0, h->words * sizeof(*on));
    for (size_t i = 0; i < h->n; i++) {
        const struct str_list *paths = &h->rules[i]->non_resource_urls;
        if (!arena_charge(c->arena, 1 + paths->n)) {
            return ERR_TOO_LARGE;
        }
        if (covers_path(paths, path)) {
            on[i / BITS] |= UINT64_C(1) << (i % BITS);
        }
    }
    return check_verbs(c, w, &atom, on);
}

/* Fills w's sets; false: no memory, or no steps. */
static bool prepare(struct check *c, struct wanted *w) {
    const struct policy_rule *r = w->rule;
    struct held *h = c->held;
    w->verbs = sets_of(c, &h->verbs, &r->verbs, false);
    w->groups = sets_of(c, &h->groups, &r->api_groups, false);
    w->resources = sets_of(c, &h->resources, &r->resources, true);
    w->names =
        r->resource_names.n ? sets_of(c, &h->names, &r->resource_names, false) : h->names.all;
    w->every = new_set(c);
    w->met = new_set(c);
    w->left = new_set(c);
    if (w->verbs == NULL || w->groups == NULL || w->resources == NULL || w->names == NULL ||
        w->every == NULL || w->met == NULL || w->left == NULL) {
        return false;
    }
    memset(w->every, 0xff, h->words * sizeof(*w->every));
    for (size_t i = 0; i < r->verbs.n; i++) {
        (void)meet(h, w->every, w->verbs + i * h->words, w->every);
    }
    return true;
}

static int check_rule(struct check *c, const struct policy_rule *r) {
    struct wanted w = {.rule = r};
    uint64_t *on = prepare(c, &w) ? new_set(c) : NULL;
    size_t words = c->held->words;
    int code = on ? 0 : arena_spent(c->arena) ? ERR_TOO_LARGE : ERR_NOMEM;
    for (size_t g = 0; code == 0 && g < r->api_groups.n; g++) {
        for (size_t i = 0; code == 0 && i < r->resources.n; i++) {
            struct atom atom = {.group = r->api_groups.v[g], .resource = r->resources.v[i]};
            (void)meet(c->held, w.groups + g * words, w.resources + i * words, w.met);
            code = check_names(c, &w, atom, on);
        }
    }
    for (size_t i = 0; code == 0 && i < r->non_resource_urls.n; i++) {
        code = check_path(c, &w, r->non_resource_urls.v[i], on);
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
    if (old == NULL || json_parse_mut(c->arena, old->json, &was, NULL) != 0) {
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
    r = index_held(c);
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
    l.code = index_held(c);
    if (l.code == 0 && !rbac_role_rules(c->b, kind, c->ns, name, check_each, &l)) {
        return err_set(err, ERR_NOT_FOUND, "%.*s.rbac.authorization.k8s.io \"%.*s\" not found",
                       STR_ARG(plural), STR_ARG(name));
    }
    return verdict(c, l.code, err);
}

int escalate_check(struct rbac *b, const struct user *u, const struct kind *k, struct str ns,
                   yyjson_mut_val *obj, const struct object *old, struct arena *a,
                   struct err *err) {
    struct held held = {0};
    struct check c = {.b = b, .user = u, .ns = ns, .arena = a, .held = &held};
    struct str plural = str_of(k->plural);
    int r = 0;
    if (!str_eq(str_of(k->group), RBAC_GROUP) || user_in_group(u, STR("system:masters"))) {
        return 0;
    }
    if (k->flags & KIND_NAMESPACED) {
        struct buf text;
        buf_init(&text, 0);
        json_write_mut(&text, obj);
        r = rbac_check_room(b, k, ns, json_mstr_at(obj, "metadata.name"), text.n, err);
        buf_release(&text);
    }
    if (r != 0) {
        return r;
    }
    buf_init(&c.missing, 64 << 10);
    if (str_is(plural, "roles") || str_is(plural, "clusterroles")) {
        r = check_role(&c, k, obj, old, err);
    } else if (str_is(plural, "rolebindings") || str_is(plural, "clusterrolebindings")) {
        r = check_binding(&c, obj, old, err);
    }
    buf_release(&c.missing);
    release_held(&held);
    return r;
}

/* role_aggregation: keys are all aggregates, or one ClusterRole. See role_aggregation.h. */
#include "control/kube/role_aggregation.h"

#include "api/schema/codec.h"
#include "api/selector.h"
#include "api/walk/value.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"

enum { ROLES }; /* of the row's kinds */
enum { LOOK_AT_ALL, LOOK_AT_ONE };

struct union_of {
    struct controller *c;
    struct str self;
    struct selector *selectors;
    size_t n;
    struct role role; /* whose rules are gathered */
    size_t cap;
    int code;
};

static struct role *read_role(struct controller *c, const struct object *o, yyjson_val **ret_root) {
    struct arena *a = &c->arena;
    struct role *role = ARENA_NEW(a, struct role);
    yyjson_doc *d;
    if (role == NULL || object_tree(o, a, &d, NULL) != 0) {
        return NULL;
    }
    *ret_root = yyjson_doc_get_root(d);
    return codec_decode(&schema_cluster_role, *ret_root, a, role, NULL) == 0 ? role : NULL;
}

static bool in_rules(const struct union_of *u, const struct policy_rule *rule) {
    for (size_t i = 0; i < u->role.rules.n; i++) {
        if (value_views_same(&schema_policy_rule, &u->role.rules.v[i], rule)) {
            return true;
        }
    }
    return false;
}

static int add_rule(struct union_of *u, const struct policy_rule *rule) {
    if (in_rules(u, rule)) {
        return 0;
    }
    if (u->role.rules.n == u->cap) {
        struct policy_rule *v = ARENA_ARRAY(&u->c->arena, struct policy_rule, 2 * u->cap + 16);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        if (u->cap) {
            memcpy(v, u->role.rules.v, u->cap * sizeof *v);
        }
        u->role.rules.v = v;
        u->cap = 2 * u->cap + 16;
    }
    u->role.rules.v[u->role.rules.n++] = *rule;
    return 0;
}

static bool add_rules(void *ctx, const struct object *o) {
    struct union_of *u = ctx;
    bool match = false;
    for (size_t i = 0; i < u->n && !match; i++) {
        match = selector_matches(&u->selectors[i], &o->labels);
    }
    if (!match || str_eq(o->name, u->self)) {
        return true;
    }
    yyjson_val *root;
    const struct role *role = read_role(u->c, o, &root);
    u->code = role ? 0 : ERR_NOMEM;
    for (size_t i = 0; role && i < role->rules.n && u->code == 0; i++) {
        u->code = add_rule(u, &role->rules.v[i]);
    }
    return u->code == 0;
}

static int read_selectors(struct union_of *u, yyjson_val *list) {
    struct arena *a = &u->c->arena;
    size_t i, n;
    yyjson_val *v;
    u->selectors = ARENA_ARRAY(a, struct selector, yyjson_arr_size(list) + 1);
    if (u->selectors == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(list, i, n, v) {
        int r = selector_from_json(a, v, &u->selectors[u->n], NULL);
        if (r == ERR_NOMEM) {
            return r;
        }
        u->n += r == 0; /* a selector that is no selector matches nothing */
    }
    return 0;
}

static enum work aggregate(struct controller *c, const struct object *o) {
    yyjson_val *root = NULL;
    const struct role *role = read_role(c, o, &root);
    struct union_of u = {.c = c, .self = o->name};
    if (role == NULL) {
        return WORK_RETRY;
    }
    yyjson_val *list = json_path(root, "aggregationRule.clusterRoleSelectors");
    if (list == NULL) {
        return WORK_OK;
    }
    if (read_selectors(&u, list) != 0) {
        return WORK_RETRY;
    }
    mirror_scan(c->env.mirror, c->kinds[ROLES], STR(""), add_rules, &u);
    if (u.code != 0) {
        return WORK_RETRY;
    }
    struct round *r = controller_begin(c);
    struct role want = *role;
    want.rules = u.role.rules;
    (void)edit_send(r, o, "", EDIT_VERSION, role, &want);
    return round_end(r);
}

static bool add(void *ctx, const struct object *o) {
    struct controller *c = ctx;
    if (str_contains(o->json, STR("\"aggregationRule\""))) {
        workqueue_look(c->queue, (struct work_key){LOOK_AT_ONE, o->ns, o->name}, 0);
    }
    return true;
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    if (key.what == LOOK_AT_ALL) {
        mirror_scan(c->env.mirror, c->kinds[ROLES], STR(""), add, c);
        return WORK_OK;
    }
    const struct object *o = mirror_get(c->env.mirror, c->kinds[ROLES], STR(""), key.name);
    return o && !o->deleting_ns ? aggregate(c, o) : WORK_OK;
}

/* Any role may be part of any aggregate; there are a handful of those. */
static void changed(void *self, const struct change *ch) {
    struct controller *c = self;
    workqueue_look(c->queue, (struct work_key){LOOK_AT_ALL}, 0);
}

const struct controller_row role_aggregation_controller = {
    .name = "roles",
    .set = CONTROL_ROLES,
    .who = "clusterrole-aggregation-controller",
    CONTROLLER_KINDS([ROLES] = {"rbac.authorization.k8s.io", "ClusterRole", changed, .first = true,
                                .may = MAY_PATCH}),
    .step = step,
};

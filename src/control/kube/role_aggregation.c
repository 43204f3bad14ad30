/* role_aggregation: keys are all aggregates, or one ClusterRole. See role_aggregation.h. */
#include "control/kube/role_aggregation.h"

#include "api/selector.h"
#include "control/kit/controller.h"

enum { BODY_MAX = 2 << 20 };

enum { ROLES }; /* of the row's kinds */
enum { LOOK_AT_ALL, LOOK_AT_ONE };

struct union_of {
    struct controller *c;
    struct str self;
    struct selector *selectors;
    size_t n;
    yyjson_mut_doc *d;
    yyjson_mut_val *rules;
    int code;
};

static bool in_rules(const struct union_of *u, yyjson_mut_val *rule) {
    size_t i, n;
    yyjson_mut_val *r;
    yyjson_mut_arr_foreach(u->rules, i, n, r) {
        if (json_mequal(r, rule)) {
            return true;
        }
    }
    return false;
}

static bool add_rules(void *ctx, const struct object *o) {
    struct union_of *u = ctx;
    yyjson_doc *d;
    bool match = false;
    for (size_t i = 0; i < u->n && !match; i++) {
        match = selector_matches(&u->selectors[i], &o->labels);
    }
    if (!match || str_eq(o->name, u->self)) {
        return true;
    }
    u->code = object_tree(o, &u->c->arena, &d, NULL);
    if (u->code != 0) {
        return false;
    }
    size_t i, n;
    yyjson_val *r, *list = json_path(yyjson_doc_get_root(d), "rules");
    yyjson_arr_foreach(list, i, n, r) {
        yyjson_mut_val *copy = yyjson_val_mut_copy(u->d, r);
        if (!copy || (!in_rules(u, copy) && !yyjson_mut_arr_append(u->rules, copy))) {
            u->code = ERR_NOMEM;
            return false;
        }
    }
    return true;
}

static int read_selectors(struct union_of *u, yyjson_val *list, struct arena *a) {
    size_t i, n;
    yyjson_val *v;
    u->selectors = ARENA_ARRAY(a, struct selector, yyjson_arr_size(list) + 1);
    u->d = json_mut_new(a);
    u->rules = u->d ? yyjson_mut_arr(u->d) : NULL;
    if (!u->selectors || !u->rules) {
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

static enum work write_rules(struct controller *c, const struct object *o,
                             const struct union_of *u) {
    struct buf b;
    struct round *r = controller_begin(c);
    buf_init(&b, BODY_MAX);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"rules\":", (unsigned long long)o->rv);
    json_write_mut(&b, u->rules);
    buf_c(&b, "}");
    if (buf_ok(&b) == 0) {
        round_patch(r, c->kinds[ROLES], STR(""), o->name, "", PATCH_MERGE, buf_view(&b));
    } else {
        round_fail(r, buf_ok(&b));
    }
    buf_release(&b);
    return round_end(r);
}

static enum work aggregate(struct controller *c, const struct object *o) {
    struct arena *a = &c->arena;
    yyjson_doc *d;
    if (object_tree(o, a, &d, NULL) != 0) {
        return WORK_RETRY;
    }
    yyjson_val *root = yyjson_doc_get_root(d);
    yyjson_val *list = json_path(root, "aggregationRule.clusterRoleSelectors");
    if (!list) {
        return WORK_OK;
    }
    struct union_of u = {.c = c, .self = o->name};
    if (read_selectors(&u, list, a) != 0) {
        return WORK_RETRY;
    }
    mirror_scan(c->env.mirror, c->kinds[ROLES], STR(""), add_rules, &u);
    yyjson_val *have = json_get(root, STR("rules"));
    yyjson_mut_val *was = have ? yyjson_val_mut_copy(u.d, have) : yyjson_mut_arr(u.d);
    if (u.code != 0 || !was) {
        return WORK_RETRY;
    }
    return json_mequal(was, u.rules) ? WORK_OK : write_rules(c, o, &u);
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

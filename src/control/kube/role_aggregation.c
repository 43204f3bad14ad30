/* role_aggregation: keys are ClusterRoles. See role_aggregation.h. */
#include "control/kube/role_aggregation.h"

#include "api/selector.h"
#include "base/mem.h"
#include "control/kit/controller.h"

enum { BODY_MAX = 2 << 20 };

struct role_aggregation_controller {
    struct controller base;
    const struct kind *roles;
};

struct union_of {
    struct role_aggregation_controller *c;
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
    u->code = object_tree(o, &u->c->base.arena, &d, NULL);
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

static enum work write_rules(struct role_aggregation_controller *c, const struct object *o,
                             const struct union_of *u) {
    struct buf b;
    struct round *r = controller_round(&c->base, STR(""), o->name);
    if (!r) {
        return WORK_RETRY;
    }
    buf_init(&b, BODY_MAX);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"rules\":", (unsigned long long)o->rv);
    json_write_mut(&b, u->rules);
    buf_c(&b, "}");
    if (buf_ok(&b) == 0) {
        round_patch(r, c->roles, STR(""), o->name, "", PATCH_MERGE, buf_view(&b));
    } else {
        round_fail(r, buf_ok(&b));
    }
    buf_release(&b);
    return round_end(r);
}

static enum work aggregate(struct role_aggregation_controller *c, const struct object *o) {
    struct arena *a = &c->base.arena;
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
    mirror_scan(c->base.env.mirror, c->roles, STR(""), add_rules, &u);
    yyjson_val *have = json_get(root, STR("rules"));
    yyjson_mut_val *was = have ? yyjson_val_mut_copy(u.d, have) : yyjson_mut_arr(u.d);
    if (u.code != 0 || !was) {
        return WORK_RETRY;
    }
    return json_mequal(was, u.rules) ? WORK_OK : write_rules(c, o, &u);
}

static enum work work(void *ctx, struct str ns, struct str name) {
    struct role_aggregation_controller *c = ctx;
    const struct object *o = mirror_get(c->base.env.mirror, c->roles, STR(""), name);
    return controller_done(&c->base, o && !o->deleting_ns ? aggregate(c, o) : WORK_OK);
}

static bool add(void *ctx, const struct object *o) {
    struct role_aggregation_controller *c = ctx;
    if (str_contains(o->json, STR("\"aggregationRule\""))) {
        workqueue_add(c->base.queue, STR(""), o->name);
    }
    return true;
}

static void add_all(void *ctx) {
    struct role_aggregation_controller *c = ctx;
    mirror_scan(c->base.env.mirror, c->roles, STR(""), add, c);
}

/* Any role may be part of any aggregate; there are a handful of those. */
static void changed(void *ctx, const struct change *ch) {
    add_all(ctx);
}

struct role_aggregation_controller *role_aggregation_controller_new(const struct control_env *env,
                                                                    struct err *err) {
    struct role_aggregation_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->roles = kind_by_name(STR("rbac.authorization.k8s.io"), STR("ClusterRole"));
    if (controller_init(&c->base, env, "clusterrole-aggregation-controller", work, add_all, c,
                        err) != 0 ||
        controller_feed(&c->base, c->roles, changed, c, err) != 0) {
        role_aggregation_controller_free(c);
        return NULL;
    }
    add_all(c);
    return c;
}

void role_aggregation_controller_free(struct role_aggregation_controller *c) {
    if (c) {
        controller_release(&c->base);
        mem_free(c);
    }
}

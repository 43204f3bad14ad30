/* serviceaccount: keys are namespaces. See serviceaccount.h. */
#include "control/kube/serviceaccount.h"

#include "control/kit/controller.h"

#define ROOT_CA "kube-root-ca.crt"

enum { BODY_MAX = 1 << 20 };

enum { NAMESPACES, ACCOUNTS, MAPS }; /* of the row's kinds */

static bool ca_is_current(struct controller *c, const struct object *map) {
    yyjson_doc *d;
    return object_tree(map, &c->arena, &d, NULL) == 0 &&
           str_eq(json_str(json_get(json_path(yyjson_doc_get_root(d), "data"), STR("ca.crt"))),
                  c->env.root_ca);
}

static void write_ca(struct controller *c, struct round *r, struct str ns,
                     const struct object *have) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_c(&b,
          have ? "{"
               : "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" ROOT_CA
                 "\",\"annotations\":{\"kubernetes.io/description\":\"Contains a CA bundle "
                 "that can be used to verify the kube-apiserver.\"}},");
    buf_c(&b, "\"data\":{\"ca.crt\":");
    buf_json(&b, c->env.root_ca);
    buf_c(&b, "}}");
    if (buf_ok(&b) != 0) {
        round_fail(r, buf_ok(&b));
    } else if (have) {
        round_patch(r, c->kinds[MAPS], ns, STR(ROOT_CA), "", PATCH_MERGE, buf_view(&b));
    } else {
        round_create(r, c->kinds[MAPS], ns, buf_view(&b));
    }
    buf_release(&b);
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct str name = key.name;
    const struct mirror *m = c->env.mirror;
    const struct object *ns = mirror_get(m, c->kinds[NAMESPACES], STR(""), name);
    if (!ns || ns->deleting_ns) {
        return WORK_OK;
    }
    const struct object *map = mirror_get(m, c->kinds[MAPS], name, STR(ROOT_CA));
    bool no_account = !mirror_get(m, c->kinds[ACCOUNTS], name, STR("default"));
    bool no_ca = !str_empty(c->env.root_ca) && (!map || !ca_is_current(c, map));
    if (!no_account && !no_ca) {
        return WORK_OK;
    }
    struct round *r = controller_begin(c);
    if (no_account) {
        round_create(
            r, c->kinds[ACCOUNTS], name,
            STR("{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                "\"default\"}}"));
    }
    if (no_ca) {
        write_ca(c, r, name, map);
    }
    return round_end(r);
}

static void namespace_changed(void *ctx, const struct change *ch) {
    struct controller *c = ctx;
    if (ch->type == CHANGE_ADDED) {
        workqueue_add(c->queue, STR(""), ch->obj->name);
    }
}

static void account_changed(void *ctx, const struct change *ch) {
    struct controller *c = ctx;
    if (ch->type == CHANGE_DELETED && str_is(ch->obj->name, "default")) {
        workqueue_add(c->queue, STR(""), ch->obj->ns);
    }
}

static void map_changed(void *ctx, const struct change *ch) {
    struct controller *c = ctx;
    if (ch->type != CHANGE_ADDED && str_is(ch->obj->name, ROOT_CA)) {
        workqueue_add(c->queue, STR(""), ch->obj->ns);
    }
}

const struct controller_row serviceaccount_controller = {
    .name = "service-accounts",
    .set = CONTROL_SERVICEACCOUNTS,
    .who = "serviceaccount-controller",
    CONTROLLER_KINDS([NAMESPACES] = {"", "Namespace", namespace_changed, .first = true},
                     [ACCOUNTS] = {"", "ServiceAccount", account_changed, .may = MAY_CREATE},
                     [MAPS] = {"", "ConfigMap", map_changed, .may = MAY_CREATE | MAY_PATCH}),
    .step = step,
};

/* serviceaccount: keys are namespaces. See serviceaccount.h. */
#include "control/kube/serviceaccount.h"

#include "control/kit/apply.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"

#define ROOT_CA "kube-root-ca.crt"

enum { NAMESPACES, ACCOUNTS, MAPS }; /* of the row's kinds */

static void write_ca(struct controller *c, struct round *r, struct str ns,
                     const struct object *have) {
    struct str_pair note = {STR("kubernetes.io/description"),
                            STR("Contains a CA bundle that can be used to verify the "
                                "kube-apiserver.")};
    struct str_pair ca = {STR("ca.crt"), c->env.root_ca};
    struct meta m = {.name = STR(ROOT_CA), .namespace = ns, .annotations = {&note, 1}};
    struct config_map map = {.metadata = &m, .data = {&ca, 1}};
    struct apply x = {.round = r, .arena = &c->arena};
    (void)apply_object(&x, c->kinds[MAPS], have, &map, &m);
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct str name = key.name;
    const struct mirror *m = c->env.mirror;
    const struct object *ns = mirror_get(m, c->kinds[NAMESPACES], STR(""), name);
    if (ns == NULL || ns->deleting_ns) {
        return WORK_OK;
    }
    const struct object *map = mirror_get(m, c->kinds[MAPS], name, STR(ROOT_CA));
    bool no_account = mirror_get(m, c->kinds[ACCOUNTS], name, STR("default")) == NULL;
    struct round *r = controller_begin(c);
    if (no_account) {
        struct meta meta = {.name = STR("default")};
        (void)edit_create(r, c->kinds[ACCOUNTS], name,
                          &(struct service_account){.metadata = &meta});
    }
    if (!str_empty(c->env.root_ca)) {
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

/* serviceaccount: keys are namespaces. See serviceaccount.h. */
#include "control/kube/serviceaccount.h"

#include "base/mem.h"
#include "control/kit/controller.h"

#define ROOT_CA "kube-root-ca.crt"

enum { BODY_MAX = 1 << 20 };

struct serviceaccount_controller {
    struct controller base;
    const struct kind *namespaces, *accounts, *maps;
};

static bool ca_is_current(struct serviceaccount_controller *c, const struct object *map) {
    yyjson_doc *d;
    return object_tree(map, &c->base.arena, &d, NULL) == 0 &&
           str_eq(json_str(json_get(json_path(yyjson_doc_get_root(d), "data"), STR("ca.crt"))),
                  c->base.env.root_ca);
}

static void write_ca(struct serviceaccount_controller *c, struct round *r, struct str ns,
                     const struct object *have) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_c(&b,
          have ? "{"
               : "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" ROOT_CA
                 "\",\"annotations\":{\"kubernetes.io/description\":\"Contains a CA bundle "
                 "that can be used to verify the kube-apiserver.\"}},");
    buf_c(&b, "\"data\":{\"ca.crt\":");
    buf_json(&b, c->base.env.root_ca);
    buf_c(&b, "}}");
    if (buf_ok(&b) != 0) {
        round_fail(r, buf_ok(&b));
    } else if (have) {
        round_patch(r, c->maps, ns, STR(ROOT_CA), "", PATCH_MERGE, buf_view(&b));
    } else {
        round_create(r, c->maps, ns, buf_view(&b));
    }
    buf_release(&b);
}

static enum work work(void *ctx, struct str unused, struct str name) {
    struct serviceaccount_controller *c = ctx;
    const struct mirror *m = c->base.env.mirror;
    const struct object *ns = mirror_get(m, c->namespaces, STR(""), name);
    if (!ns || ns->deleting_ns) {
        return WORK_OK;
    }
    const struct object *map = mirror_get(m, c->maps, name, STR(ROOT_CA));
    bool no_account = !mirror_get(m, c->accounts, name, STR("default"));
    bool no_ca = !str_empty(c->base.env.root_ca) && (!map || !ca_is_current(c, map));
    if (!no_account && !no_ca) {
        return controller_done(&c->base, WORK_OK);
    }
    struct round *r = controller_round(&c->base, STR(""), name);
    if (!r) {
        return controller_done(&c->base, WORK_RETRY);
    }
    if (no_account) {
        round_create(
            r, c->accounts, name,
            STR("{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                "\"default\"}}"));
    }
    if (no_ca) {
        write_ca(c, r, name, map);
    }
    return controller_done(&c->base, round_end(r));
}

static void namespace_changed(void *ctx, const struct change *ch) {
    struct serviceaccount_controller *c = ctx;
    if (ch->type == CHANGE_ADDED) {
        workqueue_add(c->base.queue, STR(""), ch->obj->name);
    }
}

static void account_changed(void *ctx, const struct change *ch) {
    struct serviceaccount_controller *c = ctx;
    if (ch->type == CHANGE_DELETED && str_is(ch->obj->name, "default")) {
        workqueue_add(c->base.queue, STR(""), ch->obj->ns);
    }
}

static void map_changed(void *ctx, const struct change *ch) {
    struct serviceaccount_controller *c = ctx;
    if (ch->type != CHANGE_ADDED && str_is(ch->obj->name, ROOT_CA)) {
        workqueue_add(c->base.queue, STR(""), ch->obj->ns);
    }
}

static bool add(void *ctx, const struct object *o) {
    struct serviceaccount_controller *c = ctx;
    workqueue_add(c->base.queue, STR(""), o->name);
    return true;
}

static void add_all(void *ctx) {
    struct serviceaccount_controller *c = ctx;
    mirror_scan(c->base.env.mirror, c->namespaces, STR(""), add, c);
}

struct serviceaccount_controller *serviceaccount_controller_new(const struct control_env *env,
                                                                struct err *err) {
    struct serviceaccount_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->namespaces = kind_by_name(STR(""), STR("Namespace"));
    c->accounts = kind_by_name(STR(""), STR("ServiceAccount"));
    c->maps = kind_by_name(STR(""), STR("ConfigMap"));
    if (controller_init(&c->base, env, "serviceaccount-controller", work, add_all, c, err) != 0 ||
        controller_feed(&c->base, c->namespaces, namespace_changed, c, err) != 0 ||
        controller_feed(&c->base, c->accounts, account_changed, c, err) != 0 ||
        controller_feed(&c->base, c->maps, map_changed, c, err) != 0) {
        serviceaccount_controller_free(c);
        return NULL;
    }
    add_all(c);
    return c;
}

void serviceaccount_controller_free(struct serviceaccount_controller *c) {
    if (c) {
        controller_release(&c->base);
        mem_free(c);
    }
}

/* bootstrap: keys are ("Kind", name). See bootstrap.h. */
#include "control/kube/bootstrap.h"

#include "base/mem.h"
#include "control/kit/controller.h"

static const struct first_object {
    const char *group, *kind, *name, *json;
} first_objects[] = {
#define NAMESPACE(name)                                                                            \
    {                                                                                              \
        "", "Namespace", name,                                                                     \
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}"  \
    }
    NAMESPACE("default"),
    NAMESPACE("kube-system"),
    NAMESPACE("kube-public"),
    NAMESPACE("kube-node-lease"),
    NAMESPACE("berth-system"),
#undef NAMESPACE
#define PRIORITY(name, value, text)                                                                \
    {                                                                                              \
        "scheduling.k8s.io", "PriorityClass", name,                                                \
            "{\"apiVersion\":\"scheduling.k8s.io/"                                                 \
            "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"" name                       \
            "\"},\"value\":" value ",\"description\":\"" text "\"}"                                \
    }
    PRIORITY("system-cluster-critical", "2000000000",
             "Used for system critical pods that must run in the cluster, but can be moved to "
             "another node if necessary."),
    PRIORITY("system-node-critical", "2000001000",
             "Used for system critical pods that must not be moved from their current node."),
#undef PRIORITY
};

enum { FIRST_OBJECTS = sizeof first_objects / sizeof *first_objects };

struct bootstrap_controller {
    struct controller base;
};

static const struct object *find(const struct bootstrap_controller *c,
                                 const struct first_object *f) {
    const struct kind *k = kind_by_name(str_of(f->group), str_of(f->kind));
    return k ? mirror_get(c->base.env.mirror, k, STR(""), str_of(f->name)) : NULL;
}

static enum work work(void *ctx, struct str kind, struct str name) {
    struct bootstrap_controller *c = ctx;
    for (size_t i = 0; i < FIRST_OBJECTS; i++) {
        const struct first_object *f = &first_objects[i];
        if (!str_is(kind, f->kind) || !str_is(name, f->name) || find(c, f)) {
            continue;
        }
        const struct kind *k = kind_by_name(str_of(f->group), kind);
        struct round *r = k ? controller_round(&c->base, kind, name) : NULL;
        if (!r) {
            return WORK_RETRY;
        }
        round_create(r, k, STR(""), str_of(f->json));
        return round_end(r);
    }
    return WORK_OK;
}

static void add_all(void *ctx) {
    struct bootstrap_controller *c = ctx;
    for (size_t i = 0; i < FIRST_OBJECTS; i++) {
        workqueue_add(c->base.queue, str_of(first_objects[i].kind), str_of(first_objects[i].name));
    }
}

static void changed(void *ctx, const struct change *ch) {
    struct bootstrap_controller *c = ctx;
    if (ch->type == CHANGE_DELETED) {
        workqueue_add(c->base.queue, str_of(ch->obj->kind->kind), ch->obj->name);
    }
}

bool bootstrap_done(const struct bootstrap_controller *c) {
    for (size_t i = 0; i < FIRST_OBJECTS; i++) {
        if (!find(c, &first_objects[i])) {
            return false;
        }
    }
    return true;
}

struct bootstrap_controller *bootstrap_controller_new(const struct control_env *env,
                                                      struct err *err) {
    struct bootstrap_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    const struct kind *namespaces = kind_by_name(STR(""), STR("Namespace"));
    const struct kind *classes = kind_by_name(STR("scheduling.k8s.io"), STR("PriorityClass"));
    if (controller_init(&c->base, env, "berth-bootstrap", work, add_all, c, err) != 0 ||
        controller_feed(&c->base, namespaces, changed, c, err) != 0 ||
        controller_feed(&c->base, classes, changed, c, err) != 0) {
        bootstrap_controller_free(c);
        return NULL;
    }
    add_all(c);
    return c;
}

void bootstrap_controller_free(struct bootstrap_controller *c) {
    if (c) {
        controller_release(&c->base);
        mem_free(c);
    }
}

/* priority_class: keys are Workloads. See priority_class.h. */
#include "control/priority_class.h"

#include "api/codec.h"
#include "base/mem.h"
#include "control/controller.h"
#include "control/views.h"

struct priority_class_controller {
    struct controller base;
    const struct kind *workloads, *classes;
};

struct search {
    struct priority_class_controller *c;
    struct str name; /* of the class */
};

static int64_t value_of(const struct object *o, struct arena *a, int64_t otherwise) {
    yyjson_doc *d;
    return object_tree(o, a, &d, NULL) == 0
               ? json_i64_at(yyjson_doc_get_root(d), "value", otherwise)
               : otherwise;
}

static enum work work(void *ctx, struct str ns, struct str name) {
    struct priority_class_controller *c = ctx;
    struct arena *a = &c->base.arena;
    const struct object *o = mirror_get(c->base.env.mirror, c->workloads, ns, name);
    yyjson_doc *d;
    if (!o || o->deleting_ns || object_tree(o, a, &d, NULL) != 0) {
        return controller_done(&c->base, o && !o->deleting_ns ? WORK_RETRY : WORK_OK);
    }
    yyjson_val *spec = json_path(yyjson_doc_get_root(d), "spec");
    struct str class = json_str_at(spec, "priorityClassRef.name");
    int64_t now = json_i64_at(spec, "priority", 0);
    const struct object *k =
        str_is(json_str_at(spec, "priorityClassRef.kind"), "WorkloadPriorityClass")
            ? mirror_get(c->base.env.mirror, c->classes, STR(""), class)
            : NULL;
    int64_t want = k ? value_of(k, a, now) : now;
    struct round *r = want != now ? controller_round(&c->base, ns, name) : NULL;
    if (want == now || !r) {
        return controller_done(&c->base, want == now ? WORK_OK : WORK_RETRY);
    }
    struct str body =
        arena_f(a, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"priority\":%lld}}",
                (unsigned long long)o->rv, (long long)want);
    if (arena_ok(a) == 0) {
        round_patch(r, c->workloads, ns, name, "", PATCH_MERGE, body);
    } else {
        round_fail(r, ERR_NOMEM);
    }
    return controller_done(&c->base, round_end(r));
}

static bool add(void *ctx, const struct object *o) {
    struct search *s = ctx;
    if (str_contains(o->json, STR("\"WorkloadPriorityClass\"")) &&
        (str_empty(s->name) || str_contains(o->json, s->name)) &&
        !str_contains(o->json, STR("\"type\":\"Finished\""))) {
        workqueue_add(s->c->base.queue, o->ns, o->name);
    }
    return true;
}

static void changed(void *ctx, const struct change *ch) {
    struct priority_class_controller *c = ctx;
    struct search s = {c, ch->obj->name};
    expect_seen(c->base.expect, ch);
    if (ch->type != CHANGE_DELETED) {
        mirror_scan(c->base.env.mirror, c->workloads, STR(""), add, &s);
    }
}

static void add_all(void *ctx) {
    struct priority_class_controller *c = ctx;
    struct search s = {c, STR("")};
    mirror_scan(c->base.env.mirror, c->workloads, STR(""), add, &s);
}

struct priority_class_controller *priority_class_controller_new(const struct control_env *env,
                                                                struct err *err) {
    struct priority_class_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->workloads = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    c->classes = kind_by_name(STR("kueue.x-k8s.io"), STR("WorkloadPriorityClass"));
    if (controller_init(&c->base, env, "kueue-priority-class-controller", work, add_all, c, err) !=
            0 ||
        controller_feed(&c->base, c->classes, changed, c, err) != 0) {
        priority_class_controller_free(c);
        return NULL;
    }
    add_all(c);
    return c;
}

void priority_class_controller_free(struct priority_class_controller *c) {
    if (c) {
        controller_release(&c->base);
        mem_free(c);
    }
}

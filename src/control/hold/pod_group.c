/*
 * pod_group: which pods and Workloads belong together, and what to look at when one of them changes. The steps are in
 * pod_group_steps.c and pod_group_act.c.
 */
#include "api/schema/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/hold/pod_group_private.h"

enum { SYNC_ARENA = 256 << 20, CHANGE_ARENA = 64 << 20 };

#define IS_GROUP_TEXT "\"" POD_IS_GROUP "\":\"true\""

/* ---- what to look at ---- */

static void add_key(struct pod_group_controller *c, unsigned sort, struct str ns, struct str name) {
    workqueue_look(c->base.queue, (struct work_key){sort, ns, name}, 0);
}

static void look_at(struct pod_group_controller *c, struct str ns, struct str group,
                    struct str pod) {
    if (str_empty(group)) {
        add_key(c, POD_ALONE, ns, pod);
    } else {
        add_key(c, POD_GROUP, ns, group);
    }
}

static const struct owner_ref *pod_owner(const struct object *wl) {
    const struct owner_ref *o = object_controller(wl);
    return o && str_is(o->kind, "Pod") && str_is(o->api_version, "v1") ? o : NULL;
}

static bool is_group(const struct object *wl) {
    return str_contains(wl->json, STR(IS_GROUP_TEXT));
}

static bool add_loose(void *ctx, const struct object *o) {
    struct pod_group_controller *c = ctx;
    if (o->kind == c->workloads) {
        add_key(c, POD_LOOSE, o->ns, o->name);
    }
    return true;
}

/* Everything is looked at again, which brings back what there was no memory for. */
static void lost(struct pod_group_controller *c) {
    workqueue_look(c->base.queue, (struct work_key){POD_ALL}, NS_PER_SEC);
}

static void put(struct pod_group_controller *c, const struct object *o) {
    struct str left;
    arena_reset(&c->scratch);
    if (pod_index_put(&c->index, o, &c->scratch, &left) != 0) {
        lost(c);
        return;
    }
    look_at(c, o->ns, pod_index_get(&c->index, o->uid)->group, o->name);
    if (!str_empty(left)) {
        add_key(c, POD_GROUP, o->ns, left);
    }
}

static void pod_changed(void *ctx, const struct change *ch) {
    struct pod_group_controller *c = ctx;
    const struct object *o = ch->obj;
    const struct gated_pod *was = pod_index_get(&c->index, o->uid);
    if (ch->type != CHANGE_DELETED && pod_gate_managed(o)) {
        put(c, o);
    } else if (was) {
        look_at(c, o->ns, was->group, o->name);
        pod_index_drop(&c->index, o);
    }
    if (ch->type == CHANGE_DELETED) {
        mirror_owned(c->base.env.mirror, o, add_loose, c);
    }
}

static void look_at_workload(struct pod_group_controller *c, const struct object *wl, bool gone) {
    const struct owner_ref *o = pod_owner(wl);
    if (is_group(wl)) {
        add_key(c, POD_GROUP, wl->ns, wl->name);
    } else if (o && mirror_owner(c->base.env.mirror, wl->ns, o)) {
        add_key(c, POD_ALONE, wl->ns, o->name);
    } else if (o && !gone) {
        add_key(c, POD_LOOSE, wl->ns, wl->name);
    } else if (gone && pod_index_groups(&c->index) > 0) {
        add_key(c, POD_GROUP, wl->ns, wl->name); /* its name is free for a group now */
    }
}

static void workload_changed(void *ctx, const struct change *ch) {
    struct pod_group_controller *c = ctx;
    if (object_left(ch->old, ch->obj) || (ch->old && is_group(ch->old) && !is_group(ch->obj))) {
        look_at_workload(c, ch->old, true);
    }
    look_at_workload(c, ch->obj, ch->type == CHANGE_DELETED);
}

static bool add_pod(void *ctx, const struct object *o) {
    struct pod_group_controller *c = ctx;
    if (pod_gate_managed(o)) {
        put(c, o);
    }
    return true;
}

static void namespace_changed(void *ctx, const struct change *ch) {
    struct pod_group_controller *c = ctx;
    if (integration_namespace_moved(c->settings, ch)) {
        mirror_scan(c->base.env.mirror, c->pods, ch->obj->name, add_pod, c);
    }
}

static bool add_workload(void *ctx, const struct object *o) {
    look_at_workload(ctx, o, false);
    return true;
}

static void start(void *self) {
    struct pod_group_controller *c = self;
    mirror_scan(c->base.env.mirror, c->pods, STR(""), add_pod, c);
    mirror_scan(c->base.env.mirror, c->workloads, STR(""), add_workload, c);
}

/* ---- seeing ---- */

/* Are such pods queued? Where only what serves is, those that it asked for. */
static bool wanted(const struct pod_unit *u) {
    const struct queue_settings *s = u->c->settings;
    const struct integration *pod = integration_by_name(STR("pod"));
    const struct integration *by = integration_by_name(u->first->parent);
    bool enabled = (pod && integration_enabled(pod, s)) || (by && integration_enabled(by, s));
    return enabled && integration_in_namespace(u->c->base.env.mirror, s, u->ns);
}

static bool find_workload(void *ctx, const struct object *o) {
    struct pod_unit *u = ctx;
    if (o->kind == u->c->workloads && pod_owner(o) &&
        object_named_by(u->first->obj, o->ns, pod_owner(o))) {
        *(u->h.wl_obj ? &u->extra : &u->h.wl_obj) = o;
    }
    return true;
}

static int see(struct pod_unit *u, struct err *err) {
    yyjson_doc *d;
    int r = 0;
    pod_list_by_age(&u->pods);
    for (size_t i = 0; i < u->pods.n && u->first == NULL; i++) {
        u->first = u->pods.v[i]->failed ? NULL : u->pods.v[i];
    }
    u->first = u->first ? u->first : u->pods.n ? u->pods.v[0] : NULL;
    if (u->first) {
        r = object_tree(u->first->obj, &u->c->base.arena, &d, err);
        u->first_tree = r ? NULL : yyjson_doc_get_root(d);
    }
    u->h.about = u->first ? u->first->obj : NULL;
    struct str name = u->group ? u->name : u->first ? u->first->prebuilt : (struct str){0};
    if (!str_empty(name)) {
        u->h.wl_obj = mirror_get(u->c->base.env.mirror, u->c->workloads, u->ns, name);
    } else if (u->first) {
        mirror_owned(u->c->base.env.mirror, u->first->obj, find_workload, u);
    }
    r = r == 0 && u->h.wl_obj ? hold_see(&u->h, err) : r;
    if (r == 0 && u->h.wl_obj) {
        bool marked = str_is(group_annotation(u->h.wl_tree, POD_IS_GROUP), "true");
        const struct owner_ref *o = object_controller(u->h.wl_obj);
        u->foreign =
            u->group ? !marked : o && u->first && !object_named_by(u->first->obj, u->ns, o);
    }
    u->now = clock_wall(u->c->base.env.clock);
    return r;
}

static enum work look(struct pod_unit *u) {
    struct err err = {0};
    enum work w = WORK_RETRY;
    if (see(u, &err) == 0) {
        bool ours = u->first == NULL || u->first->obj->deleting_ns || wanted(u);
        w = ours ? pod_unit_step(u) : WORK_OK;
    } else {
        log_error(u->c->base.env.log, "pods %.*s/%.*s: %s", STR_ARG(u->ns), STR_ARG(u->name),
                  err.text);
    }
    return w;
}

static enum work look_alone(struct pod_group_controller *c, struct pod_unit *u) {
    const struct object *o = mirror_get(c->base.env.mirror, c->pods, u->ns, u->name);
    const struct gated_pod *p = o ? pod_index_get(&c->index, o->uid) : NULL;
    if (p == NULL || !str_empty(p->group)) {
        return WORK_OK;
    }
    u->pods = (struct pod_list){&p, 1};
    return look(u);
}

static enum work look_at_group(struct pod_group_controller *c, struct pod_unit *u) {
    struct arena *a = &c->base.arena;
    u->group = true;
    return pod_index_group(&c->index, u->ns, u->name, a, &u->pods.v, &u->pods.n) == 0 ? look(u)
                                                                                      : WORK_RETRY;
}

/* A Workload whose pod is gone. */
static enum work look_at_loose(struct pod_group_controller *c, struct pod_unit *u) {
    struct err err = {0};
    u->h.wl_obj = mirror_get(c->base.env.mirror, c->workloads, u->ns, u->name);
    const struct owner_ref *o = u->h.wl_obj ? pod_owner(u->h.wl_obj) : NULL;
    if (o == NULL || mirror_owner(c->base.env.mirror, u->ns, o)) {
        return WORK_OK;
    }
    u->now = clock_wall(c->base.env.clock);
    return hold_see(&u->h, &err) == 0 ? pod_unit_step(u) : WORK_RETRY;
}

static enum work step(void *self, struct work_key key) {
    struct pod_group_controller *c = self;
    struct pod_unit u = {
        .c = c, .ns = key.ns, .name = key.name, .h = {.c = &c->base, .settings = c->settings}};
    switch (key.what) {
    case POD_ALONE:
        return look_alone(c, &u);
    case POD_GROUP:
        return look_at_group(c, &u);
    case POD_LOOSE:
        return look_at_loose(c, &u);
    default:
        start(c);
        return WORK_OK;
    }
}

/* ---- life ---- */

enum { PODS, WORKLOADS }; /* of the row's kinds */

static int init(void *self, struct err *err) {
    struct pod_group_controller *c = self;
    const struct queue_settings *s = c->base.env.settings;
    c->settings = s ? s : queue_settings_defaults();
    c->pods = c->base.kinds[PODS];
    c->workloads = c->base.kinds[WORKLOADS];
    pod_index_init(&c->index);
    arena_init(&c->scratch, CHANGE_ARENA);
    return 0;
}

static void release(void *self) {
    struct pod_group_controller *c = self;
    pod_index_release(&c->index);
    arena_release(&c->scratch);
}

const struct controller_row pod_group_controller = {
    .name = "job-queue",
    .set = CONTROL_JOB_QUEUE,
    .who = "berth-pod-controller",
    .tells = "kueue-pod-controller",
    CONTROLLER_KINDS([PODS] = {"", "Pod", pod_changed, .may = MAY_PATCH | MAY_STATUS | MAY_DELETE},
                     [WORKLOADS] = {"kueue.x-k8s.io", "Workload", workload_changed,
                                    .may = MAY_CREATE | MAY_PATCH | MAY_STATUS | MAY_DELETE},
                     {"", "Namespace", namespace_changed}),
    .start = start,
    .step = step,
    .arena = SYNC_ARENA,
    .size = sizeof(struct pod_group_controller),
    .init = init,
    .release = release,
};

/* node_life: a key is a node to watch, or one that may be gone for good, due after its grace. See node_life.h. */
#include "control/kube/node_life.h"

#include "api/conditions.h"
#include "api/schema/codec.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"
#include "wire/text/time.h"

#define SILENT "Kubelet stopped posting node status."

enum { GRACE_S = 40 };
enum { NODES, PODS, LEASES }; /* of the row's kinds */
enum { WATCH, GONE };         /* sorts of keys */

struct node_life_controller {
    struct controller base;
    struct arena scratch;
    int64_t started_ns; /* silence is counted from here on: nobody could be heard before */
    struct clock_watch watch;
    int64_t gone_mono; /* no node is gone for good before: see stepped */
};

/* Times that nodes told are by the clock as it was: each gets a grace again. */
static void stepped(void *ctx) {
    struct node_life_controller *c = ctx;
    c->started_ns = clock_wall(c->base.env.clock);
    c->gone_mono = clock_mono(c->base.env.clock) + GRACE_S * NS_PER_SEC;
}

/* One that a node told by a clock that was ahead says nothing about when it lived. */
static int64_t latest(int64_t seen, int64_t told, int64_t now) {
    return told > seen && (told <= now || told - now <= GRACE_S * NS_PER_SEC) ? told : seen;
}

/* ---- silence ---- */

static int64_t renewed(struct node_life_controller *c, struct str node) {
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[LEASES], STR("kube-node-lease"), node);
    yyjson_doc *d;
    int64_t ns;
    if (o == NULL || object_tree(o, &c->base.arena, &d, NULL) != 0 ||
        time_parse(json_str_at(yyjson_doc_get_root(d), "spec.renewTime"), &ns, NULL) != 0) {
        return 0;
    }
    return ns;
}

struct pods_of {
    struct node_life_controller *c;
    struct str node;
    struct round *round; /* of a node that is gone; NULL: only tell */
};

static struct str node_of(struct node_life_controller *c, const struct object *pod,
                          yyjson_val **ret_root) {
    yyjson_doc *d;
    arena_reset(&c->scratch);
    if (object_tree(pod, &c->scratch, &d, NULL) != 0) {
        return (struct str){0};
    }
    *ret_root = yyjson_doc_get_root(d);
    return json_str_at(*ret_root, "spec.nodeName");
}

static bool tell_pod(void *ctx, const struct object *pod) {
    struct pods_of *p = ctx;
    yyjson_val *root = NULL;
    if (str_eq(node_of(p->c, pod, &root), p->node) &&
        str_is(json_str_at(root, "status.phase"), "Running")) {
        recorder_event(p->c->base.recorder, pod, EVENT_WARNING, "NodeNotReady",
                       "Node is not ready");
    }
    return true;
}

static enum work mark_unknown(struct node_life_controller *c, const struct object *o,
                              const struct node *node) {
    struct node want = *node;
    struct node_status status = *node->status;
    struct condition_want unknown = {"Ready", "Unknown", "NodeStatusUnknown", STR(SILENT)};
    const struct condition *ready = conditions_find(&status.conditions, "Ready");
    struct arena *a = &c->base.arena;
    if (ready == NULL || str_is(ready->status, "Unknown")) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&c->base);
    int code = conditions_copy(&node->status->conditions, a, &status.conditions);
    code = code ? code
                : conditions_put(&status.conditions, a, &unknown, clock_wall(c->base.env.clock), 0,
                                 NULL);
    want.status = &status;
    if (code) {
        round_fail(r, code);
        return round_end(r);
    }
    (void)edit_send(r, o, "status", EDIT_VERSION, node, &want);
    struct pods_of p = {.c = c, .node = o->name};
    recorder_event(c->base.recorder, o, EVENT_NORMAL, "NodeNotReady",
                   "Node %.*s status is now: NodeNotReady", STR_ARG(o->name));
    mirror_scan(c->base.env.mirror, c->base.kinds[PODS], STR(""), tell_pod, &p);
    return round_end(r);
}

static enum work watch_node(struct node_life_controller *c, const struct object *o) {
    struct node node;
    yyjson_doc *d;
    if (object_tree(o, &c->base.arena, &d, NULL) != 0 ||
        codec_decode(&schema_node, yyjson_doc_get_root(d), &c->base.arena, &node, NULL) != 0) {
        return WORK_RETRY;
    }
    if (node.status == NULL) {
        return WORK_OK;
    }
    const struct condition *ready = conditions_find(&node.status->conditions, "Ready");
    int64_t now = clock_wall(c->base.env.clock), seen = c->started_ns;
    seen = latest(seen, o->created_ns, now);
    seen = latest(seen, renewed(c, o->name), now);
    seen = ready ? latest(seen, ready->last_probe_ns, now) : seen;
    int64_t left = GRACE_S * NS_PER_SEC - (now - seen);
    if (left > 0) {
        workqueue_look(c->base.queue, c->base.key, left + NS_PER_MS);
        return WORK_OK;
    }
    /* Also after it was marked: the next status of the node brings it back here. */
    return mark_unknown(c, o, &node);
}

/* ---- pods of a node that is gone ---- */

/* Its node cannot say any more how it ended. */
static void mark_lost(struct pods_of *p, const struct object *pod) {
    struct pod_status lost = {.phase = STR("Failed"),
                              .reason = STR("NodeLost"),
                              .message = STR("PodGC: node no longer exists")};
    struct pod_status none = {0};
    struct pod was = {.status = &none}, want = {.status = &lost};
    (void)edit_send(p->round, pod, "status", 0, &was, &want);
}

static bool remove_pod(void *ctx, const struct object *pod) {
    struct pods_of *p = ctx;
    yyjson_val *root = NULL;
    if (!str_eq(node_of(p->c, pod, &root), p->node)) {
        return true;
    }
    struct str phase = json_str_at(root, "status.phase");
    if (!str_is(phase, "Succeeded") && !str_is(phase, "Failed")) {
        mark_lost(p, pod);
    }
    if (pod->deleting_ns == 0 || pod->n_finalizers == 0) {
        struct delete_options opts = {
            .uid = pod->uid, .grace_seconds = 0, .propagation = STR("Background")};
        round_remove(p->round, p->c->base.kinds[PODS], pod->ns, pod->name, &opts);
    }
    return true;
}

static enum work clear_node(struct node_life_controller *c, struct str name) {
    struct pods_of p = {.c = c, .node = name};
    p.round = controller_begin(&c->base);
    mirror_scan(c->base.env.mirror, c->base.kinds[PODS], STR(""), remove_pod, &p);
    return round_end(p.round);
}

static enum work step(void *self, struct work_key key) {
    struct node_life_controller *c = self;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[NODES], STR(""), key.name);
    int64_t now = clock_mono(c->base.env.clock);
    enum work w = WORK_OK;
    if (o && key.what == WATCH) {
        w = watch_node(c, o);
    } else if (o == NULL && key.what == GONE && now < c->gone_mono) {
        workqueue_look(c->base.queue, key, c->gone_mono - now);
    } else if (o == NULL && key.what == GONE) {
        w = clear_node(c, key.name);
    }
    arena_reset(&c->scratch);
    return w;
}

/* ---- what to look at ---- */

static void node_changed(void *ctx, const struct change *ch) {
    struct node_life_controller *c = ctx;
    /* A node that comes back under its name within the grace keeps its pods. */
    bool gone = ch->type == CHANGE_DELETED;
    workqueue_look(c->base.queue, (struct work_key){gone ? GONE : WATCH, .name = ch->obj->name},
                   gone ? GRACE_S * NS_PER_SEC : 0);
}

static void add_lost_pod(struct node_life_controller *c, const struct object *pod) {
    yyjson_val *root = NULL;
    struct str node = node_of(c, pod, &root);
    if (!str_empty(node) &&
        mirror_get(c->base.env.mirror, c->base.kinds[NODES], STR(""), node) == NULL) {
        workqueue_look(c->base.queue, (struct work_key){GONE, .name = node}, GRACE_S * NS_PER_SEC);
    }
}

/* Bound to a node that never was, or is gone already: a change of its node or its deletion changes the generation. */
static void pod_changed(void *ctx, const struct change *ch) {
    struct node_life_controller *c = ctx;
    if (ch->type != CHANGE_DELETED &&
        (ch->old == NULL || ch->old->generation != ch->obj->generation) &&
        str_contains(ch->obj->json, STR("\"nodeName\""))) {
        add_lost_pod(c, ch->obj);
        arena_reset(&c->scratch);
    }
}

static int init(void *self, struct err *err) {
    struct node_life_controller *c = self;
    c->started_ns = clock_wall(c->base.env.clock);
    arena_init(&c->scratch, 16 << 20);
    c->watch = (struct clock_watch){.stepped = stepped, .ctx = c};
    clock_watch_add(c->base.env.clock, &c->watch);
    return 0;
}

static void release(void *self) {
    struct node_life_controller *c = self;
    if (c->watch.stepped) {
        clock_watch_remove(c->base.env.clock, &c->watch);
    }
    arena_release(&c->scratch);
}

const struct controller_row node_life_controller = {
    .name = "nodes",
    .set = CONTROL_NODES,
    .who = "node-controller",
    CONTROLLER_KINDS([NODES] = {"", "Node", node_changed, .first = true, .may = MAY_STATUS},
                     [PODS] = {"", "Pod", pod_changed, .first = true,
                               .may = MAY_STATUS | MAY_DELETE},
                     [LEASES] = {"coordination.k8s.io", "Lease"}),
    .step = step,
    .size = sizeof(struct node_life_controller),
    .init = init,
    .release = release,
};

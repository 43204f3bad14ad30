/* pod_gc: see pod_gc.h. One key, the sweep. */
#include "control/kube/pod_gc.h"

#include "control/kube/oldest.h"

enum { SWEEP_S = 5, BURST = 1000, MORE_MS = 200 };

/* An annotation may say the same of a pod that runs: it is read before it goes. */
static bool seems_finished(const struct object *o) {
    return str_contains(o->json, STR("\"phase\":\"Succeeded\"")) ||
           str_contains(o->json, STR("\"phase\":\"Failed\""));
}

static bool is_finished(struct arena *a, const struct object *o) {
    yyjson_doc *d;
    if (object_tree(o, a, &d, NULL) != 0) {
        return false;
    }
    struct str phase = json_str_at(yyjson_doc_get_root(d), "status.phase");
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct round *r = controller_begin(c);
    const struct oldest how = {.kind = c->kinds[0],
                               .keep = c->env.kept.pods,
                               .most = BURST,
                               .counts = seems_finished,
                               .may_go = is_finished};
    bool more = oldest_remove(c, r, &how);
    workqueue_look(c->queue, key, more ? MORE_MS * NS_PER_MS : SWEEP_S * NS_PER_SEC);
    return round_end(r);
}

const struct controller_row pod_gc_controller = {.name = "nodes",
                                                 .set = CONTROL_NODES,
                                                 .who = "pod-garbage-collector",
                                                 CONTROLLER_KINDS({"", "Pod", .may = MAY_DELETE}),
                                                 .every_ns = SWEEP_S * NS_PER_SEC,
                                                 .step = step};

/* disruption: feeds in, the status from disruption_decide out. See disruption.h. */
#include "control/bounds/disruption.h"

#include "api/disruption.h"
#include "api/schema/codec.h"
#include "api/schema/crd_kind.h"
#include "api/selector.h"
#include "base/map.h"
#include "control/bounds/disruption_decide.h"
#include "control/kit/edit.h"

enum { BUDGETS, PODS };               /* of the row's kinds */
enum { LOOK_BUDGET, LOOK_NAMESPACE }; /* sorts of keys */
enum { GATHER_MS = 100, SCRATCH = 64 << 20 };

struct disruption_controller {
    struct controller base;
    struct arena scratch; /* of one object */
};

/* ---- what to look at ---- */

/* Pods change in crowds: the budgets of their namespace are looked at for all changes of a moment together. */
static void pod_changed(void *self, const struct change *ch) {
    struct controller *c = self;
    if (mirror_count(c->env.mirror, c->kinds[BUDGETS]) > 0) {
        workqueue_look(c->queue, (struct work_key){LOOK_NAMESPACE, ch->obj->ns, STR("")},
                       GATHER_MS * NS_PER_MS);
    }
}

static bool add_budget(void *ctx, const struct object *o) {
    struct controller *c = ctx;
    workqueue_add(c->queue, o->ns, o->name);
    return true;
}

/* ---- pods ---- */

struct gathered {
    struct disruption_controller *c;
    struct selector selector;
    struct guarded_pod *v;
    const struct object **objects;
    size_t n, cap;
    int code;
};

static int grow(struct gathered *g) {
    struct arena *a = &g->c->base.arena;
    size_t cap = g->cap ? g->cap * 2 : 16;
    struct guarded_pod *v = ARENA_ARRAY(a, struct guarded_pod, cap);
    const struct object **objects = ARENA_ARRAY(a, const struct object *, cap);
    if (v == NULL || objects == NULL) {
        return ERR_NOMEM;
    }
    if (g->n) {
        memcpy(v, g->v, g->n * sizeof *v);
        memcpy(objects, g->objects, g->n * sizeof *objects);
    }
    g->v = v;
    g->objects = objects;
    g->cap = cap;
    return 0;
}

static bool gather(void *ctx, const struct object *o) {
    struct gathered *g = ctx;
    yyjson_doc *d;
    if (!selector_matches(&g->selector, &o->labels)) {
        return true;
    }
    arena_reset(&g->c->scratch);
    g->code = g->n == g->cap ? grow(g) : 0;
    g->code = g->code ? g->code : object_tree(o, &g->c->scratch, &d, NULL);
    if (g->code == 0) {
        g->objects[g->n] = o;
        g->v[g->n++] = (struct guarded_pod){.name = o->name,
                                            .ready = disruption_pod_ready(yyjson_doc_get_root(d)),
                                            .deleting = o->deleting_ns != 0};
    }
    return g->code == 0;
}

/* ---- what their controllers want ---- */

static bool has_replicas(const struct kind *k) {
    static const char *const rows[][2] = {{"apps", "Deployment"},
                                          {"apps", "ReplicaSet"},
                                          {"apps", "StatefulSet"},
                                          {"", "ReplicationController"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(k->group, rows[i][0]) == 0 && strcmp(k->kind, rows[i][1]) == 0) {
            return true;
        }
    }
    return false;
}

/* ERR_UNSUPPORTED: it has no scale. */
static int scale_of(struct disruption_controller *c, const struct object *o, int64_t *ret) {
    char path[512] = "spec.replicas";
    yyjson_doc *d;
    bool plain = has_replicas(o->kind);
    const struct scale_paths *scale =
        o->kind->flags & KIND_CUSTOM ? crd_kind_scale(kind_storage(o->kind)) : NULL;
    if (!plain && (scale == NULL || !str_copy(scale->spec_path, path, sizeof path))) {
        return ERR_UNSUPPORTED;
    }
    arena_reset(&c->scratch);
    int r = object_tree(o, &c->scratch, &d, NULL);
    if (r == 0) {
        *ret = json_i64_at(yyjson_doc_get_root(d), path, plain ? 1 : 0);
    }
    return r;
}

/* A ReplicaSet's Deployment, anything else itself. */
static const struct object *who_scales(const struct mirror *m, const struct object *o) {
    const struct owner_ref *above = object_controller(o);
    bool set = strcmp(o->kind->kind, "ReplicaSet") == 0 && above != NULL;
    const struct object *top = set ? mirror_owner(m, o->ns, above) : NULL;
    return top && has_replicas(top->kind) ? top : o;
}

/* The sum over the pods' controllers, each counted once; pods without one count for nothing. *failure: why it is not
 * known. */
static int count_wanted(struct disruption_controller *c, const struct gathered *g, int64_t *ret,
                        struct str *failure) {
    struct arena *a = &c->base.arena;
    struct map seen;
    int r = 0;
    map_init(&seen);
    *ret = 0;
    for (size_t i = 0; r == 0 && failure->n == 0 && i < g->n; i++) {
        const struct owner_ref *ref = object_controller(g->objects[i]);
        const struct object *o =
            ref ? mirror_owner(c->base.env.mirror, g->objects[i]->ns, ref) : NULL;
        int64_t n = 0;
        if (ref && o == NULL) {
            *failure =
                arena_f(a, "found no controllers for pod %.*s", STR_ARG(g->objects[i]->name));
        }
        o = o ? who_scales(c->base.env.mirror, o) : NULL;
        if (o == NULL || map_get(&seen, o->uid)) {
            continue;
        }
        r = map_put(&seen, o->uid, (void *)o, NULL);
        r = r ? r : scale_of(c, o, &n);
        if (r == ERR_UNSUPPORTED) {
            *failure = arena_f(a, "%s%s%s does not implement the scale subresource",
                               o->kind->plural, o->kind->group[0] ? "." : "", o->kind->group);
            r = 0;
        }
        *ret += n > 0 ? n : 0;
    }
    map_release(&seen);
    return r;
}

/* ---- one look ---- */

static enum work carry_out(struct disruption_controller *c, const struct object *o,
                           const struct disruption_facts *f, const struct disruption_plan *p,
                           const struct gathered *g) {
    struct recorder *told = c->base.recorder;
    if (p->again_ns) {
        workqueue_add_after(c->base.queue, o->ns, o->name, p->again_ns);
    }
    for (size_t i = 0; i < p->n_overdue; i++) {
        recorder_event(told, g->objects[p->overdue[i]], EVENT_WARNING, "NotDeleted",
                       "Pod was expected by PDB %.*s/%.*s to be deleted but it wasn't",
                       STR_ARG(o->ns), STR_ARG(o->name));
    }
    if (!p->write) {
        return WORK_OK;
    }
    if (f->failure.n > 0) {
        recorder_event(told, o, EVENT_WARNING, "CalculateExpectedPodCountFailed",
                       "Failed to calculate the number of expected pods: %.*s",
                       STR_ARG(f->failure));
    } else if (g->n == 0) {
        recorder_event(told, o, EVENT_NORMAL, "NoPods", "No matching pods found");
    }
    struct disruption_budget want = *f->budget;
    want.status = (struct disruption_status *)&p->status;
    struct round *r = controller_begin(&c->base);
    (void)edit_send(r, o, "status", EDIT_VERSION, f->budget, &want);
    return round_end(r);
}

static enum work look(struct disruption_controller *c, const struct object *o) {
    struct arena *a = &c->base.arena;
    struct disruption_budget budget;
    struct disruption_plan plan;
    struct gathered g = {.c = c};
    struct err err = {0};
    yyjson_doc *d;
    int r = object_tree(o, a, &d, &err);
    yyjson_val *root = r == 0 ? yyjson_doc_get_root(d) : NULL;
    r = r ? r : codec_decode(&schema_disruption_budget, root, a, &budget, &err);
    r = r ? r : selector_from_json(a, json_path(root, "spec.selector"), &g.selector, &err);
    if (r != 0) {
        log_error(c->base.env.log, "pod disruption budget %.*s/%.*s: %s", STR_ARG(o->ns),
                  STR_ARG(o->name), err.text);
        return r == ERR_NOMEM ? WORK_RETRY : WORK_OK;
    }
    struct disruption_facts f = {
        .budget = &budget, .generation = o->generation, .now_ns = clock_wall(c->base.env.clock)};
    mirror_scan(c->base.env.mirror, c->base.kinds[PODS], o->ns, gather, &g);
    r = g.code;
    if (r == 0 && disruption_counts_wanted(&budget)) {
        r = count_wanted(c, &g, &f.wanted, &f.failure);
    }
    f.pods = g.v;
    f.n_pods = g.n;
    r = r ? r : disruption_decide(&f, a, &plan);
    return r ? WORK_RETRY : carry_out(c, o, &f, &plan, &g);
}

static enum work step(void *self, struct work_key key) {
    struct disruption_controller *c = self;
    if (key.what == LOOK_NAMESPACE) {
        mirror_scan(c->base.env.mirror, c->base.kinds[BUDGETS], key.ns, add_budget, c);
        return WORK_OK;
    }
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[BUDGETS], key.ns, key.name);
    enum work w = o && !o->deleting_ns ? look(c, o) : WORK_OK;
    arena_reset(&c->scratch);
    return w;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct disruption_controller *c = self;
    (void)err;
    arena_init(&c->scratch, SCRATCH);
    return 0;
}

static void release(void *self) {
    struct disruption_controller *c = self;
    arena_release(&c->scratch);
}

const struct controller_row disruption_controller = {
    .name = "disruptions",
    .set = CONTROL_DISRUPTIONS,
    .who = "disruption-controller",
    .tells = "controllermanager",
    CONTROLLER_KINDS([BUDGETS] = {"policy", "PodDisruptionBudget", controller_changed,
                                  .first = true, .may = MAY_STATUS},
                     [PODS] = {"", "Pod", pod_changed}),
    .step = step,
    .size = sizeof(struct disruption_controller),
    .init = init,
    .release = release,
};

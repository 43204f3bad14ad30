/* serving: what to look at when something changes, and the pods: each is told which Workload is its. See serving.h. */
#include "api/meta.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/hold/serving_private.h"
#include "control/kit/edit.h"

#define REVISION_LABEL "controller-revision-hash"

enum { ARENA_MAX = 64 << 20, BODY_MAX = 2 * LIMIT_OBJECT_BYTES };

const struct kind *serving_kind(const char *framework) {
    const struct integration *i = integration_by_name(str_of(framework));
    return i ? integration_kind(i) : NULL;
}

/* ---- what to look at ---- */

static void add_key(struct serving_controller *c, unsigned sort, struct str ns, struct str name) {
    workqueue_look(c->base.queue, (struct work_key){sort, ns, name}, 0);
}

static bool add_member(void *ctx, const struct object *o) {
    struct serving_controller *c = ctx;
    if (o->kind == c->pods) {
        add_key(c, SERVING_POD, o->ns, o->name);
    }
    return true;
}

static void workload_changed(struct serving_controller *c, const struct object *wl) {
    for (size_t i = 0; i < wl->n_owners; i++) {
        if (str_is(wl->owners[i].kind, "StatefulSet")) {
            add_key(c, SERVING_SET, wl->ns, wl->owners[i].name);
        } else if (str_is(wl->owners[i].kind, "LeaderWorkerSet")) {
            add_key(c, SERVING_LEADERS, wl->ns, wl->owners[i].name);
        }
    }
}

static void pod_changed(struct serving_controller *c, const struct object *o, bool gone) {
    const struct owner_ref *owner = object_controller(o);
    if (!str_contains(o->json, STR("\"" POD_PARENT "\""))) {
        return;
    }
    if (!gone) {
        add_key(c, SERVING_POD, o->ns, o->name);
    }
    if (owner && str_is(owner->kind, "StatefulSet")) {
        add_key(c, SERVING_SET, o->ns, owner->name); /* it waits for its pods to stop */
    }
}

static void look_at(struct serving_controller *c, const struct object *o, bool gone) {
    if (o->kind == c->pods) {
        pod_changed(c, o, gone);
    } else if (o->kind == c->workloads) {
        workload_changed(c, o);
    } else if (o->kind == serving_kind(SERVING_STATEFULSET)) {
        add_key(c, SERVING_SET, o->ns, o->name);
        mirror_owned(c->base.env.mirror, o, add_member, c);
    } else if (o->kind == serving_kind(SERVING_LWS)) {
        add_key(c, SERVING_LEADERS, o->ns, o->name);
    }
}

/* Pods say by a label of which LeaderWorkerSet they are. */
static bool add_labelled(void *ctx, const struct object *o) {
    struct serving_controller *c = ctx;
    if (!str_empty(object_label(o, STR(LWS_NAME_LABEL)))) {
        add_key(c, SERVING_POD, o->ns, o->name);
    }
    return true;
}

static bool each(void *ctx, const struct object *o) {
    look_at(ctx, o, false);
    return true;
}

static bool same_labels(const struct object *x, const struct object *y) {
    bool same = x->labels.n == y->labels.n;
    for (size_t i = 0; same && i < x->labels.n; i++) {
        same = str_eq(x->labels.v[i].key, y->labels.v[i].key) &&
               str_eq(x->labels.v[i].value, y->labels.v[i].value);
    }
    return same;
}

/* Whether its sets are queued may depend on its labels. */
static void namespace_changed(struct serving_controller *c, const struct change *ch) {
    const struct kind *kinds[] = {serving_kind(SERVING_STATEFULSET), serving_kind(SERVING_LWS),
                                  c->pods};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i] && integration_namespace_moved(c->settings, ch)) {
            mirror_scan(c->base.env.mirror, kinds[i], ch->obj->name, each, c);
        }
    }
}

/* Of all kinds: those that serve come when somebody defines them. */
static void changed(void *ctx, const struct change *ch) {
    struct serving_controller *c = ctx;
    const struct object *o = ch->obj;
    look_at(c, o, ch->type == CHANGE_DELETED);
    if (o->kind == c->workloads && ch->old) {
        workload_changed(c, ch->old); /* an owner that it had may want it back */
    } else if (o->kind == c->namespaces) {
        namespace_changed(c, ch);
    } else if (o->kind == serving_kind(SERVING_LWS) && ch->type != CHANGE_DELETED &&
               (ch->old == NULL || ch->old->generation != o->generation ||
                !same_labels(ch->old, o))) {
        mirror_scan(c->base.env.mirror, c->pods, o->ns, add_labelled, c);
    }
}

static void start(void *self) {
    struct serving_controller *c = self;
    const struct kind *kinds[] = {serving_kind(SERVING_STATEFULSET), serving_kind(SERVING_LWS),
                                  c->pods};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i]) {
            mirror_scan(c->base.env.mirror, kinds[i], STR(""), each, c);
        }
    }
}

/* ---- shared ---- */

struct str serving_workload_name(const struct object *o, int64_t index, struct arena *a) {
    struct str name =
        index < 0 ? o->name : arena_f(a, "%.*s-%lld", STR_ARG(o->name), (long long)index);
    return workload_name(o->kind->kind, o->kind->group, name, o->uid, a);
}

int serving_look(struct set_look *l, const char *framework, bool *ret_ours, struct err *err) {
    const struct integration *row = integration_by_name(str_of(framework));
    const struct queue_settings *s = l->c->settings;
    const struct object *above = NULL;
    yyjson_doc *d;
    int r = object_tree(l->obj, &l->c->base.arena, &d, err);
    *ret_ours = false;
    if (r != 0) {
        return r;
    }
    l->tree = yyjson_doc_get_root(d);
    l->h = (struct hold_look){.c = &l->c->base, .settings = s, .about = l->obj};
    int64_t n = json_i64_at(l->tree, "spec.replicas", 1);
    l->replicas = n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
    l->queue_name = object_label(l->obj, STR("kueue.x-k8s.io/queue-name"));
    if (row == NULL || !integration_enabled(row, s) ||
        !integration_in_namespace(l->c->base.env.mirror, s, l->obj->ns) ||
        (str_empty(l->queue_name) && !s->manage_jobs_without_queue_name)) {
        return 0;
    }
    r = integration_ancestor(l->c->base.env.mirror, s, object_controller(l->obj), l->obj->ns,
                             &above);
    *ret_ours = r == 0 && above == NULL;
    return r == ERR_TOO_LARGE ? 0 : r;
}

int serving_priority(struct set_look *l, const struct group_set *sets, size_t n,
                     struct workload_priority *ret) {
    struct str class = {0};
    for (size_t i = 0; i < n && str_empty(class); i++) {
        class = json_str(json_get(sets[i].spec, STR("priorityClassName")));
    }
    return hold_priority(&l->h, class, ret);
}

/* ---- pods ---- */

struct membership {
    const struct object *set;      /* StatefulSet or LeaderWorkerSet */
    const struct object *stateful; /* what controls the pod; NULL: nothing that is known */
    struct str group;
    int64_t total;
    const char *role;
    bool fast;
};

static bool stateful_membership(struct serving_controller *c, const struct object *set,
                                yyjson_val *tree, struct membership *m) {
    m->set = set;
    m->group = serving_workload_name(set, -1, &c->base.arena);
    m->total = json_i64_at(tree, "spec.replicas", 1);
    m->role = "main";
    m->fast = true;
    return true;
}

static bool leader_membership(struct serving_controller *c, const struct object *set,
                              yyjson_val *tree, const struct object *pod, yyjson_val *pod_tree,
                              struct membership *m) {
    int64_t index;
    if (!str_to_i64(object_label(pod, STR(LWS_INDEX_LABEL)), &index) || index < 0) {
        return false; /* it comes */
    }
    m->set = set;
    m->group = serving_workload_name(set, index, &c->base.arena);
    m->total = json_i64_at(tree, "spec.leaderWorkerTemplate.size", 1);
    m->role = json_path(tree, "spec.leaderWorkerTemplate.leaderTemplate") == NULL ? "main"
              : group_annotation(pod_tree, LWS_LEADER_ANNOTATION).p               ? "worker"
                                                                                  : "leader";
    return true;
}

/* Is the pod of a revision that is about to be replaced? 1, 0 or ERR_NOMEM. */
static int outdated(const struct membership *m, const struct object *pod, struct arena *a) {
    yyjson_doc *d;
    int r = m->stateful ? object_tree(m->stateful, a, &d, NULL) : 0;
    if (m->stateful == NULL || r != 0) {
        return r;
    }
    struct str now = json_str_at(yyjson_doc_get_root(d), "status.currentRevision");
    struct str next = json_str_at(yyjson_doc_get_root(d), "status.updateRevision");
    return !str_empty(now) && !str_eq(now, next) &&
           str_eq(now, object_label(pod, STR(REVISION_LABEL)));
}

static int write_membership(const struct object *pod, yyjson_val *tree, const struct membership *m,
                            struct arena *a, struct buf *b) {
    struct str queue = object_label(m->set, STR("kueue.x-k8s.io/queue-name"));
    struct str class = object_label(m->set, STR(KUEUE_PRIORITY_LABEL));
    struct str total = arena_f(a, "%lld", (long long)m->total);
    struct str index = m->fast ? STR("apps.kubernetes.io/pod-index") : STR("");
    const struct str_pair labels[] = {
        {STR(POD_MANAGED), STR("true")},
        {STR("kueue.x-k8s.io/queue-name"), queue},
        {STR(KUEUE_PRIORITY_LABEL), class},
    };
    const struct str_pair notes[] = {
        {STR(POD_PREBUILT), m->group},
        {STR(POD_GROUP_NAME), m->group},
        {STR(POD_GROUP_TOTAL), total},
        {STR(POD_ROLE_HASH), str_of(m->role)},
        {STR(POD_GROUP_FAST), m->fast ? STR("true") : STR("")},
        {STR(POD_GROUP_INDEX_LABEL), index},
        {STR(POD_GROUP_SERVING), STR("true")},
    };
    struct meta *was, want;
    int r = edit_meta_of(tree, a, &was);
    if (r != 0) {
        return r;
    }
    want = *was;
    for (size_t i = 0; r == 0 && i < sizeof labels / sizeof *labels; i++) {
        r = str_empty(labels[i].value)
                ? 0
                : meta_set(&want.labels, a, labels[i].key.p, labels[i].value);
    }
    for (size_t i = 0; r == 0 && i < sizeof notes / sizeof *notes; i++) {
        r = str_empty(notes[i].value)
                ? 0
                : meta_set(&want.annotations, a, notes[i].key.p, notes[i].value);
    }
    r = r ? r : arena_ok(a);
    return r ? r : edit_write_meta(pod, EDIT_VERSION | EDIT_UID, was, &want, b);
}

/* Which set a pod is of: 1; 0: of none that is queued here; or an error. */
static int membership_of(struct serving_controller *c, const struct object *pod, yyjson_val *tree,
                         struct membership *m) {
    const struct owner_ref *o = object_controller(pod);
    struct str parent = group_annotation(tree, POD_PARENT);
    bool leaders = str_is(parent, SERVING_LWS), ours = false;
    const char *framework = leaders ? SERVING_LWS : SERVING_STATEFULSET;
    const struct kind *k = serving_kind(framework);
    m->stateful = o ? mirror_owner(c->base.env.mirror, pod->ns, o) : NULL;
    const struct object *set = leaders && k ? mirror_get(c->base.env.mirror, k, pod->ns,
                                                         object_label(pod, STR(LWS_NAME_LABEL)))
                                            : m->stateful;
    struct set_look l = {.c = c, .obj = set};
    if (set == NULL || set->kind != k || (!leaders && !str_is(parent, SERVING_STATEFULSET))) {
        return 0;
    }
    int r = serving_look(&l, framework, &ours, NULL);
    if (r != 0 || !ours) {
        return r;
    }
    return leaders ? leader_membership(c, set, l.tree, pod, tree, m)
                   : stateful_membership(c, set, l.tree, m);
}

static enum work member_step(struct serving_controller *c, const struct object *pod) {
    struct membership m = {0};
    yyjson_doc *d;
    struct buf b;
    if (object_tree(pod, &c->base.arena, &d, NULL) != 0) {
        return WORK_RETRY;
    }
    yyjson_val *tree = yyjson_doc_get_root(d);
    struct str phase = json_str_at(tree, "status.phase");
    if (pod->deleting_ns || str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        return WORK_OK;
    }
    int ours = membership_of(c, pod, tree, &m);
    int old = ours > 0 ? outdated(&m, pod, &c->base.arena) : 0;
    if (ours < 0 || old < 0 || arena_ok(&c->base.arena) != 0) {
        return WORK_RETRY;
    }
    if (ours == 0) {
        return WORK_OK;
    }
    buf_init(&b, BODY_MAX);
    if (old) {
        int code = pod_gate_drop(pod, POD_GATE, KUEUE_TOPOLOGY_GATE, &c->base.arena, &b);
        return controller_patch(&c->base, pod, "", code, &b);
    }
    struct str queue = object_label(m.set, STR("kueue.x-k8s.io/queue-name"));
    bool told =
        pod_gate_managed(pod) && str_eq(group_annotation(tree, POD_GROUP_NAME), m.group) &&
        (str_empty(queue) || str_eq(object_label(pod, STR("kueue.x-k8s.io/queue-name")), queue));
    int code = told ? ERR_NOT_FOUND : write_membership(pod, tree, &m, &c->base.arena, &b);
    return controller_patch(&c->base, pod, "", code, &b);
}

static enum work step(void *self, struct work_key key) {
    struct serving_controller *c = self;
    if (key.what == SERVING_SET) {
        return serving_stateful_work(c, key.ns, key.name);
    }
    if (key.what == SERVING_LEADERS) {
        return serving_leader_work(c, key.ns, key.name);
    }
    const struct object *pod = mirror_get(c->base.env.mirror, c->pods, key.ns, key.name);
    return pod ? member_step(c, pod) : WORK_OK;
}

/* ---- life ---- */

enum { ALL, PODS, NAMESPACES, WORKLOADS }; /* of the row's kinds */

static int init(void *self, struct err *err) {
    struct serving_controller *c = self;
    const struct queue_settings *s = c->base.env.settings;
    c->settings = s ? s : queue_settings_defaults();
    c->pods = c->base.kinds[PODS];
    c->namespaces = c->base.kinds[NAMESPACES];
    c->workloads = c->base.kinds[WORKLOADS];
    return 0;
}

const struct controller_row serving_controller = {
    .name = "job-queue",
    .set = CONTROL_JOB_QUEUE,
    .who = "berth-serving-controller",
    .tells = "kueue-serving-controller",
    /* Of every kind: those that serve come when somebody defines them. */
    CONTROLLER_KINDS([ALL] = {NULL, NULL, changed, .may = MAY_PATCH},
                     [PODS] = {"", "Pod", .may = MAY_PATCH}, [NAMESPACES] = {"", "Namespace"},
                     [WORKLOADS] = {"kueue.x-k8s.io", "Workload",
                                    .may = MAY_CREATE | MAY_PATCH | MAY_STATUS | MAY_DELETE}),
    .start = start,
    .step = step,
    .arena = ARENA_MAX,
    .size = sizeof(struct serving_controller),
    .init = init,
};

/* daemon_set: feeds in, decisions from daemon_set_decide, a round of writes out. See daemon_set.h. */
#include "control/apps/daemon_set.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/apps/claims.h"
#include "control/apps/daemon_history.h"
#include "control/apps/daemon_set_decide.h"
#include "control/apps/template_text.h"
#include "control/kit/edit.h"
#include "control/kit/template_pod.h"
#include "control/load/translate.h"

#define HASH_LABEL "controller-revision-hash"

enum { SETS, PODS, NODES, REVISIONS };                            /* of the row's kinds */
enum { WRITE_STATUS, WRITE_CREATE, WRITE_DELETE, WRITE_HISTORY }; /* tags */
enum { STEP_ARENA = 256 << 20, SCRATCH = 64 << 20 };

struct daemon_set_controller {
    struct controller base;
    struct claim_book claims;
    struct arena scratch; /* of one object */
};

/* ---- what to look at ---- */

static void set_changed(void *self, const struct change *ch) {
    claims_owner_changed(&((struct daemon_set_controller *)self)->claims, ch);
}

static void pod_changed(void *self, const struct change *ch) {
    claims_owned_changed(&((struct daemon_set_controller *)self)->claims, ch);
}

static bool add_set(void *ctx, const struct object *o) {
    struct controller *c = ctx;
    workqueue_look(c->queue, (struct work_key){CLAIM_OWNER, o->ns, o->name}, 0);
    return true;
}

/* Labels and taints of a node; the rest of it changes all the time. */
static bool node_differs(struct daemon_set_controller *c, const struct object *a,
                         const struct object *b) {
    yyjson_doc *x, *y;
    arena_reset(&c->scratch);
    bool same =
        object_tree(a, &c->scratch, &x, NULL) == 0 && object_tree(b, &c->scratch, &y, NULL) == 0;
    for (int i = 0; same && i < 2; i++) {
        yyjson_val *p = json_path(yyjson_doc_get_root(x), i ? "spec" : "metadata.labels");
        yyjson_val *q = json_path(yyjson_doc_get_root(y), i ? "spec" : "metadata.labels");
        same = p && q ? json_equal(p, q) : (p == NULL) == (q == NULL);
    }
    arena_reset(&c->scratch);
    return !same;
}

static void node_changed(void *self, const struct change *ch) {
    struct daemon_set_controller *c = self;
    if (mirror_count(c->base.env.mirror, c->base.kinds[SETS]) > 0 &&
        (ch->type != CHANGE_MODIFIED || node_differs(c, ch->old, ch->obj))) {
        mirror_scan(c->base.env.mirror, c->base.kinds[SETS], STR(""), add_set, c);
    }
}

/* ---- one look ---- */

struct daemon_step {
    struct daemon_set_controller *c;
    const struct object *obj;
    yyjson_val *tree;
    struct daemon_set set;
    struct daemon_facts facts;
    struct daemon_plan plan;
    struct daemon_node *nodes;
    struct shape shape;           /* of the template, with what is added to its pods */
    char hash[TEMPLATE_HASH_MAX]; /* of the template */
    int code;
};

/* What every pod of a DaemonSet tolerates. */
static const struct {
    const char *key, *effect;
    bool host_network; /* only then */
} tolerated[] = {
    {"node.kubernetes.io/not-ready", "NoExecute", false},
    {"node.kubernetes.io/unreachable", "NoExecute", false},
    {"node.kubernetes.io/disk-pressure", "NoSchedule", false},
    {"node.kubernetes.io/memory-pressure", "NoSchedule", false},
    {"node.kubernetes.io/pid-pressure", "NoSchedule", false},
    {"node.kubernetes.io/unschedulable", "NoSchedule", false},
    {"node.kubernetes.io/network-unavailable", "NoSchedule", true},
};
enum { TOLERATED = sizeof tolerated / sizeof *tolerated };

static int read_shape(struct daemon_step *l, const struct pod_spec *spec) {
    struct arena *a = &l->c->base.arena;
    int r = translate_shape(spec, a, &l->shape);
    struct toleration *v = ARENA_ARRAY(a, struct toleration, spec->tolerations.n + TOLERATED);
    size_t n = spec->tolerations.n;
    if (r != 0 || v == NULL) {
        return ERR_NOMEM;
    }
    if (n > 0) {
        memcpy(v, spec->tolerations.v, n * sizeof *v);
    }
    for (size_t i = 0; i < TOLERATED; i++) {
        if (!tolerated[i].host_network || spec->host_network) {
            v[n++] = (struct toleration){.key = str_of(tolerated[i].key),
                                         .operator= STR("Exists"),
                                         .effect = str_of(tolerated[i].effect)};
        }
    }
    l->shape.tolerations.v = v;
    l->shape.tolerations.n = n;
    return 0;
}

/* ---- nodes ---- */

static bool read_node(void *ctx, const struct object *o) {
    struct daemon_step *l = ctx;
    const struct pod_spec *spec = l->set.spec->template->spec;
    struct daemon_node *n = &l->nodes[l->facts.n_nodes];
    struct node node;
    yyjson_doc *d;
    arena_reset(&l->c->scratch);
    l->code = object_tree(o, &l->c->scratch, &d, NULL);
    l->code = l->code
                  ? l->code
                  : codec_decode(&schema_node, yyjson_doc_get_root(d), &l->c->scratch, &node, NULL);
    if (l->code != 0 || o->deleting_ns) {
        return l->code == 0;
    }
    struct taint_list all = {0}, hard = {0};
    if (node.spec && node.spec->taints.n > 0) {
        all = node.spec->taints;
        hard.v = ARENA_ARRAY(&l->c->scratch, struct taint, all.n);
        for (size_t i = 0; hard.v && i < all.n; i++) {
            if (str_is(all.v[i].effect, "NoExecute")) {
                hard.v[hard.n++] = all.v[i];
            }
        }
    }
    bool fits = (spec->node_name.n == 0 || str_eq(spec->node_name, o->name)) &&
                shape_matches_node(&l->shape, NULL, o->name, o->labels);
    *n = (struct daemon_node){
        .name = o->name,
        .should_run = fits && taints_untolerated(all, &l->shape, NULL) == NULL,
        .may_stay = fits && taints_untolerated(hard, &l->shape, NULL) == NULL,
    };
    l->facts.n_nodes++;
    return true;
}

static int read_nodes(struct daemon_step *l) {
    const struct mirror *m = l->c->base.env.mirror;
    const struct kind *k = l->c->base.kinds[NODES];
    l->nodes = ARENA_ARRAY(&l->c->base.arena, struct daemon_node, mirror_count(m, k) + 1);
    if (l->nodes == NULL) {
        return ERR_NOMEM;
    }
    mirror_scan(m, k, STR(""), read_node, l);
    l->facts.nodes = l->nodes;
    return l->code;
}

/* ---- pods ---- */

#define REQUIRED "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

/* The node that its affinity names. */
static struct str meant_for(yyjson_val *pod) {
    yyjson_val *terms = json_path(json_get(pod, STR("spec")), REQUIRED ".nodeSelectorTerms");
    yyjson_val *field = yyjson_arr_get_first(json_path(yyjson_arr_get_first(terms), "matchFields"));
    return str_is(json_str_at(field, "key"), "metadata.name")
               ? json_str(yyjson_arr_get_first(json_get(field, STR("values"))))
               : (struct str){0};
}

static int read_pods(struct daemon_step *l, const struct claimed *pods) {
    struct arena *a = &l->c->base.arena;
    struct daemon_pod *v = ARENA_ARRAY(a, struct daemon_pod, pods->n + 1);
    int r = v ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < pods->n; i++) {
        yyjson_doc *d;
        r = owned_pod_read(pods->v[i], &l->c->scratch, a, &v[i].pod);
        v[i].node = v[i].pod.node;
        if (r == 0 && v[i].node.n == 0) {
            arena_reset(&l->c->scratch);
            r = object_tree(pods->v[i], &l->c->scratch, &d, NULL);
            v[i].node = r == 0 ? arena_str(a, meant_for(yyjson_doc_get_root(d))) : (struct str){0};
        }
        v[i].current = str_is(object_label(pods->v[i], STR(HASH_LABEL)), l->hash);
    }
    l->facts.pods = v;
    l->facts.n_pods = pods->n;
    return r ? r : arena_ok(a);
}

/* ---- writes ---- */

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct daemon_set_controller *c = ctx;
    const struct object *set =
        mirror_get(c->base.env.mirror, c->base.kinds[SETS], round_ns(r), round_name(r));
    bool made = tag == WRITE_CREATE;
    if (tag == WRITE_STATUS || tag == WRITE_HISTORY ||
        (tag == WRITE_DELETE && res->code == ERR_NOT_FOUND)) {
        return res->code == ERR_NOT_FOUND ? 0 : res->code;
    }
    if (set && res->code != 0) {
        recorder_event(c->base.recorder, set, EVENT_WARNING, made ? "FailedCreate" : "FailedDelete",
                       "Error %s: %s", made ? "creating" : "deleting", res->err.text);
    } else if (set && res->obj) {
        recorder_event(c->base.recorder, set, EVENT_NORMAL,
                       made ? "SuccessfulCreate" : "SuccessfulDelete", "%s pod: %.*s",
                       made ? "Created" : "Deleted", STR_ARG(res->obj->name));
    }
    return res->code;
}

/* Its affinity is for one node, whatever the template says of nodes: that was asked before. */
static int set_node(yyjson_mut_doc *d, yyjson_mut_val *spec, struct str node) {
    yyjson_mut_val *terms = yyjson_mut_arr(d), *term = yyjson_mut_arr_add_obj(d, terms);
    yyjson_mut_val *fields = yyjson_mut_arr(d), *field = yyjson_mut_arr_add_obj(d, fields);
    yyjson_mut_val *values = yyjson_mut_arr(d);
    yyjson_mut_val *required = json_mensure(d, spec, REQUIRED);
    if (required == NULL || field == NULL || term == NULL ||
        !yyjson_mut_arr_add_strncpy(d, values, node.p, node.n)) {
        return ERR_NOMEM;
    }
    int r = json_mset_str(d, field, "key", STR("metadata.name"));
    r = r ? r : json_mset_str(d, field, "operator", STR("In"));
    r = r ? r : json_mset(d, field, STR("values"), values);
    r = r ? r : json_mset(d, term, STR("matchFields"), fields);
    return r ? r : json_mset(d, required, STR("nodeSelectorTerms"), terms);
}

static int set_tolerations(yyjson_mut_doc *d, yyjson_mut_val *spec, bool host_network) {
    yyjson_mut_val *list = json_mget(spec, STR("tolerations"));
    int r = 0;
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        r = json_mset(d, spec, STR("tolerations"), list);
    }
    for (size_t i = 0; r == 0 && i < TOLERATED; i++) {
        if (tolerated[i].host_network && !host_network) {
            continue;
        }
        yyjson_mut_val *t = yyjson_mut_arr_add_obj(d, list);
        r = t ? json_mset_str(d, t, "key", str_of(tolerated[i].key)) : ERR_NOMEM;
        r = r ? r : json_mset_str(d, t, "operator", STR("Exists"));
        r = r ? r : json_mset_str(d, t, "effect", str_of(tolerated[i].effect));
    }
    return r;
}

static int write_pod(struct daemon_step *l, struct str node, struct buf *out) {
    struct arena *a = &l->c->base.arena;
    struct template_pod t = {.owner = l->obj,
                             .template = json_path(l->tree, "spec.template"),
                             .generate_name = arena_f(a, "%.*s-", STR_ARG(l->obj->name))};
    yyjson_mut_doc *d = template_pod_new(&t, a);
    yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
    yyjson_mut_val *spec = json_mget(root, STR("spec"));
    yyjson_mut_val *labels = d ? json_mensure(d, root, "metadata.labels") : NULL;
    int r = labels && spec ? json_mset_str(d, labels, HASH_LABEL, str_of(l->hash)) : ERR_NOMEM;
    r = r ? r : set_node(d, spec, node);
    r = r ? r : set_tolerations(d, spec, l->set.spec->template->spec->host_network);
    if (r == 0) {
        json_write_mut(out, root);
        r = buf_ok(out);
    }
    return r;
}

static void write_creates(struct daemon_step *l, struct round *r) {
    for (size_t i = 0; i < l->plan.n_creates; i++) {
        struct buf b;
        buf_init(&b, LIMIT_OBJECT_BYTES);
        int code = write_pod(l, l->nodes[l->plan.creates[i]].name, &b);
        if (code == 0) {
            round_tag(r, WRITE_CREATE);
            round_create(r, l->c->base.kinds[PODS], l->obj->ns, buf_view(&b));
        } else {
            round_fail(r, code);
        }
        buf_release(&b);
    }
}

static void tell_ended(const struct daemon_step *l) {
    for (size_t i = 0; i < l->plan.n_ended; i++) {
        const struct daemon_pod *p = &l->facts.pods[l->plan.ended[i]];
        bool failed = p->pod.phase == OWNED_FAILED;
        recorder_event(l->c->base.recorder, l->obj, failed ? EVENT_WARNING : EVENT_NORMAL,
                       failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                       "Found %s daemon pod %.*s/%.*s on node %.*s, will try to %s it",
                       failed ? "failed" : "succeeded", STR_ARG(l->obj->ns),
                       STR_ARG(p->pod.obj->name), STR_ARG(p->node), failed ? "kill" : "delete");
    }
}

static bool has_pods_of(void *ctx, struct str hash) {
    const struct daemon_step *l = ctx;
    for (size_t i = 0; i < l->facts.n_pods; i++) {
        if (str_eq(object_label(l->facts.pods[i].pod.obj, STR(HASH_LABEL)), hash)) {
            return true;
        }
    }
    return false;
}

static enum work carry_out(struct daemon_step *l) {
    struct daemon_set want = l->set;
    struct daemon_history history = {.mirror = l->c->base.env.mirror,
                                     .kind = l->c->base.kinds[REVISIONS],
                                     .set = l->obj,
                                     .tree = l->tree,
                                     .hash = str_of(l->hash),
                                     .limit = l->set.spec->revision_history_limit,
                                     .arena = &l->c->base.arena,
                                     .lives = has_pods_of,
                                     .ctx = l};
    tell_ended(l);
    if (!l->plan.write_status && !l->plan.n_creates && !l->plan.n_deletes &&
        daemon_history_keep(&history, NULL) == 0) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&l->c->base);
    round_on_done(r, answered, l->c);
    want.status = &l->plan.status;
    if (l->plan.write_status) {
        round_tag(r, WRITE_STATUS);
        (void)edit_send(r, l->obj, "status", EDIT_VERSION, &l->set, &want);
    }
    write_creates(l, r);
    for (size_t i = 0; i < l->plan.n_deletes; i++) {
        const struct object *pod = l->facts.pods[l->plan.deletes[i]].pod.obj;
        struct delete_options o = {.uid = pod->uid, .grace_seconds = -1};
        round_tag(r, WRITE_DELETE);
        round_remove(r, pod->kind, pod->ns, pod->name, &o);
    }
    round_tag(r, WRITE_HISTORY);
    (void)daemon_history_keep(&history, r);
    return round_end(r);
}

static int name_template(struct daemon_step *l) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    template_text(json_path(l->tree, "spec.template"), &l->c->base.arena, &b);
    int r = buf_ok(&b);
    if (r == 0) {
        (void)template_hash(buf_view(&b), 0, l->hash);
    }
    buf_release(&b);
    return r;
}

static enum work look_at(struct daemon_set_controller *c, const struct object *o) {
    struct daemon_step l = {.c = c, .obj = o};
    struct arena *a = &c->base.arena;
    struct claimed pods;
    struct err err = {0};
    enum work w = WORK_OK;
    yyjson_doc *d;
    int r = object_tree(o, a, &d, &err);
    l.tree = r == 0 ? yyjson_doc_get_root(d) : NULL;
    r = r ? r : codec_decode(&schema_daemon_set, l.tree, a, &l.set, &err);
    if (r == 0 && (l.set.spec == NULL || l.set.spec->template == NULL ||
                   l.set.spec->template->spec == NULL)) {
        return WORK_OK; /* it was not valid */
    }
    r = r ? r : claims_collect(&c->claims, &c->base, o, a, &pods, &w);
    if (r == 1) {
        return w;
    }
    l.facts = (struct daemon_facts){.set = &l.set,
                                    .generation = o->generation,
                                    .deleting = o->deleting_ns != 0,
                                    .now_ns = clock_wall(c->base.env.clock)};
    r = r ? r : name_template(&l);
    r = r ? r : read_shape(&l, l.set.spec->template->spec);
    r = r ? r : read_nodes(&l);
    r = r ? r : read_pods(&l, &pods);
    r = r ? r : daemon_set_decide(&l.facts, a, &l.plan);
    arena_reset(&c->scratch);
    if (r != 0) {
        log_error(c->base.env.log, "daemon set %.*s/%.*s: %s", STR_ARG(o->ns), STR_ARG(o->name),
                  err.text[0] ? err.text : err_name(r));
        return r == ERR_NOMEM ? WORK_RETRY : WORK_OK;
    }
    if (l.plan.again_ns) {
        workqueue_look(c->base.queue, (struct work_key){CLAIM_OWNER, o->ns, o->name},
                       l.plan.again_ns);
    }
    return carry_out(&l);
}

static enum work step(void *self, struct work_key key) {
    struct daemon_set_controller *c = self;
    const struct kind *k = c->base.kinds[key.what == CLAIM_ORPHAN ? PODS : SETS];
    const struct object *o = mirror_get(c->base.env.mirror, k, key.ns, key.name);
    if (key.what == CLAIM_ORPHAN) {
        return claims_orphan(&c->claims, o, &c->base.arena);
    }
    return o ? look_at(c, o) : WORK_OK;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct daemon_set_controller *c = self;
    arena_init(&c->scratch, SCRATCH);
    int r = claims_init(&c->claims, &c->base, c->base.kinds[SETS], c->base.kinds[PODS]);
    return r ? err_set(err, r, "out of memory") : 0;
}

static void release(void *self) {
    struct daemon_set_controller *c = self;
    claims_release(&c->claims);
    arena_release(&c->scratch);
}

const struct controller_row daemon_set_controller = {
    .name = "apps",
    .set = CONTROL_APPS,
    .who = "daemonset-controller",
    CONTROLLER_KINDS([SETS] = {"apps", "DaemonSet", set_changed, .first = true, .may = MAY_STATUS},
                     [PODS] = {"", "Pod", pod_changed, .first = true,
                               .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [NODES] = {"", "Node", node_changed},
                     [REVISIONS] = {"apps", "ControllerRevision",
                                    .may = MAY_CREATE | MAY_PATCH | MAY_DELETE}),
    .step = step,
    .arena = STEP_ARENA,
    .size = sizeof(struct daemon_set_controller),
    .init = init,
    .release = release,
};

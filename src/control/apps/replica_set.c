/* replica_set: feeds in, decisions from replica_set_decide, rounds of writes out. See replica_set.h. */
#include "control/apps/replica_set.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/apps/claims.h"
#include "control/apps/replica_set_decide.h"
#include "control/kit/edit.h"
#include "control/kit/template_pod.h"

enum { SETS, PODS };                               /* of the row's kinds */
enum { WRITE_STATUS, WRITE_CREATE, WRITE_DELETE }; /* tags */
enum { STEP_ARENA = 256 << 20 };                   /* a set of LIMIT_SET_REPLICAS pods */

struct replica_set_controller {
    struct controller base;
    struct claim_book claims;
    const struct schema *schema; /* of the sets, whose view is struct replica_set */
    struct arena scratch;        /* of one pod */
};

static void set_changed(void *self, const struct change *ch) {
    claims_owner_changed(&((struct replica_set_controller *)self)->claims, ch);
}

static void pod_changed(void *self, const struct change *ch) {
    claims_owned_changed(&((struct replica_set_controller *)self)->claims, ch);
}

/* ---- answers ---- */

static int failed(struct replica_set_controller *c, const struct object *set, const char *reason,
                  const char *what, const struct write_result *res) {
    if (set) {
        recorder_event(c->base.recorder, set, EVENT_WARNING, reason, "Error %s: %s", what,
                       res->err.text);
        claims_fail(&c->claims, set->uid, res->err.text);
    }
    return res->code;
}

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct replica_set_controller *c = ctx;
    const struct object *set =
        mirror_get(c->base.env.mirror, c->base.kinds[SETS], round_ns(r), round_name(r));
    if (tag == WRITE_STATUS || (tag == WRITE_DELETE && res->code == ERR_NOT_FOUND)) {
        return res->code == ERR_NOT_FOUND ? 0 : res->code;
    }
    if (res->code != 0) {
        return tag == WRITE_CREATE ? failed(c, set, "FailedCreate", "creating", res)
                                   : failed(c, set, "FailedDelete", "deleting", res);
    }
    if (set && res->obj) {
        bool made = tag == WRITE_CREATE;
        claims_fail(&c->claims, set->uid, NULL);
        recorder_event(c->base.recorder, set, EVENT_NORMAL,
                       made ? "SuccessfulCreate" : "SuccessfulDelete", "%s pod: %.*s",
                       made ? "Created" : "Deleted", STR_ARG(res->obj->name));
    }
    return 0;
}

/* ---- one look ---- */

struct replica_look {
    struct replica_set_controller *c;
    const struct object *obj;
    yyjson_val *tree;
    struct replica_set set;
    struct replica_set_facts facts;
    struct replica_set_plan plan;
};

static void write_creates(struct replica_look *l, struct round *r) {
    struct template_pod t = {.owner = l->obj,
                             .template = json_path(l->tree, "spec.template"),
                             .generate_name =
                                 arena_f(&l->c->base.arena, "%.*s-", STR_ARG(l->obj->name))};
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    yyjson_mut_doc *d = template_pod_new(&t, &l->c->base.arena);
    if (d) {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
    }
    if (d == NULL || buf_ok(&b) != 0) {
        round_fail(r, ERR_NOMEM);
    } else {
        round_tag(r, WRITE_CREATE);
        for (size_t i = 0; i < l->plan.creates; i++) {
            round_create(r, l->c->base.kinds[PODS], l->obj->ns, buf_view(&b));
        }
    }
    buf_release(&b);
}

static enum work carry_out(struct replica_look *l) {
    struct replica_set was = l->set, want = l->set;
    if (!l->plan.write_status && !l->plan.creates && !l->plan.deletes) {
        return WORK_OK;
    }
    struct round *r = controller_begin(&l->c->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_on_done(r, answered, l->c);
    want.status = &l->plan.status;
    if (l->plan.write_status) {
        round_tag(r, WRITE_STATUS);
        (void)edit_send(r, l->obj, "status", EDIT_VERSION, &was, &want);
    }
    if (l->plan.creates) {
        write_creates(l, r);
    }
    for (size_t i = 0; i < l->plan.deletes; i++) {
        const struct object *pod = l->facts.active.v[i].obj;
        struct delete_options o = {.uid = pod->uid, .grace_seconds = -1};
        round_tag(r, WRITE_DELETE);
        round_remove(r, pod->kind, pod->ns, pod->name, &o);
    }
    return round_end(r);
}

static int read_pods(struct replica_look *l, const struct claimed *pods) {
    struct arena *a = &l->c->base.arena;
    struct owned_pods *active = &l->facts.active;
    active->v = ARENA_ARRAY(a, struct owned_pod, pods->n + 1);
    int r = active->v ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < pods->n; i++) {
        struct owned_pod *p = &active->v[active->n];
        r = owned_pod_read(pods->v[i], &l->c->scratch, a, p);
        bool ended = p->phase == OWNED_SUCCEEDED || p->phase == OWNED_FAILED;
        active->n += r == 0 && owned_pod_active(p);
        l->facts.terminating += r == 0 && !ended && pods->v[i]->deleting_ns != 0;
    }
    arena_reset(&l->c->scratch);
    return r;
}

static enum work look_at(struct replica_set_controller *c, const struct object *o) {
    struct replica_look l = {.c = c, .obj = o};
    struct arena *a = &c->base.arena;
    const struct claim_owner *own = claims_of(&c->claims, o->uid);
    struct work_key key = {CLAIM_OWNER, o->ns, o->name};
    struct claimed pods;
    struct err err = {0};
    enum work w = WORK_OK;
    yyjson_doc *d;
    int r = object_tree(o, a, &d, &err);
    l.tree = r == 0 ? yyjson_doc_get_root(d) : NULL;
    r = r ? r : codec_decode(c->schema, l.tree, a, &l.set, &err);
    r = r ? r : claims_collect(&c->claims, &c->base, o, a, &pods, &w);
    if (r == 1) {
        return w;
    }
    l.facts = (struct replica_set_facts){.set = &l.set,
                                         .deleting = o->deleting_ns != 0,
                                         .generation = o->generation,
                                         .untold = c->claims.plain,
                                         .fault = own && own->fault ? str_of(own->fault)
                                                                    : (struct str){0},
                                         .tried = workqueue_tried(c->base.queue, key) > 0,
                                         .now_ns = clock_wall(c->base.env.clock)};
    r = r ? r : l.set.spec ? read_pods(&l, &pods) : ERR_INVALID;
    r = r ? r : replica_set_decide(&l.facts, a, &l.plan);
    if (r != 0) {
        log_error(c->base.env.log, "%s %.*s/%.*s: %s", o->kind->singular, STR_ARG(o->ns),
                  STR_ARG(o->name), err.text[0] ? err.text : err_name(r));
        return r == ERR_NOMEM ? WORK_RETRY : WORK_OK;
    }
    if (l.plan.again_ns) {
        workqueue_look(c->base.queue, key, l.plan.again_ns);
    }
    return carry_out(&l);
}

static enum work step(void *self, struct work_key key) {
    struct replica_set_controller *c = self;
    const struct kind *k = c->base.kinds[key.what == CLAIM_ORPHAN ? PODS : SETS];
    const struct object *o = mirror_get(c->base.env.mirror, k, key.ns, key.name);
    if (key.what == CLAIM_ORPHAN) {
        return claims_orphan(&c->claims, o, &c->base.arena);
    }
    return o ? look_at(c, o) : WORK_OK;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct replica_set_controller *c = self;
    arena_init(&c->scratch, 64 << 20);
    int r = claims_init(&c->claims, &c->base, c->base.kinds[SETS], c->base.kinds[PODS]);
    c->schema = kind_storage(c->base.kinds[SETS])->schema;
    c->claims.plain = c->schema != &schema_replica_set;
    return r ? err_set(err, r, "out of memory") : 0;
}

static void release(void *self) {
    struct replica_set_controller *c = self;
    claims_release(&c->claims);
    arena_release(&c->scratch);
}

#define ROW(group_, kind_, who_)                                                                   \
    {                                                                                              \
        .name = "apps", .set = CONTROL_APPS, .who = who_,                                          \
        CONTROLLER_KINDS([SETS] = {group_, kind_, set_changed, .first = true, .may = MAY_STATUS},  \
                         [PODS] = {"", "Pod", pod_changed,                                         \
                                   .may = MAY_CREATE | MAY_PATCH | MAY_DELETE}),                   \
        .step = step, .budget = 32, .arena = STEP_ARENA,                                           \
        .size = sizeof(struct replica_set_controller), .init = init, .release = release,           \
    }
const struct controller_row replica_set_controller =
    ROW("apps", "ReplicaSet", "replicaset-controller");
const struct controller_row replication_controller =
    ROW("", "ReplicationController", "replication-controller");

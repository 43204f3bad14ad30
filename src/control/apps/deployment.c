/* deployment: feeds in, decisions from deployment_decide, rounds of writes out. See deployment.h. */
#include "control/apps/deployment.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/apps/claims.h"
#include "control/apps/deployment_decide.h"
#include "control/apps/deployment_write.h"
#include "control/apps/owned_pods.h"
#include "control/apps/template_text.h"
#include "control/kit/edit.h"

enum { DEPLOYMENTS, SETS, PODS };                 /* of the row's kinds */
enum { WRITE_OTHER, WRITE_CREATE, WRITE_REMOVE }; /* tags */
enum { STEP_ARENA = 512 << 20 };

struct deployment_controller {
    struct controller base;
    struct claim_book claims;
    struct arena scratch; /* of one pod */
};

/* ---- what to look at, and what is told ---- */

static void deployment_changed(void *self, const struct change *ch) {
    claims_owner_changed(&((struct deployment_controller *)self)->claims, ch);
}

/* -1: not read. */
static int64_t replicas_of(const struct object *o, struct arena *a) {
    yyjson_doc *d;
    arena_reset(a);
    return object_tree(o, a, &d, NULL) == 0
               ? json_i64_at(yyjson_doc_get_root(d), "spec.replicas", 1)
               : -1;
}

/* Told when a committed change shows it: once, and never for a write that failed. */
static void tell_scaled(struct deployment_controller *c, const struct change *ch) {
    const struct owner_ref *ref = object_controller(ch->obj);
    const struct object *owner = ref ? mirror_owner(c->base.env.mirror, ch->obj->ns, ref) : NULL;
    bool new = ch->type == CHANGE_ADDED;
    if (owner == NULL || owner->kind != c->base.kinds[DEPLOYMENTS] || ch->type == CHANGE_DELETED ||
        (!new && ch->old->generation == ch->obj->generation)) {
        return;
    }
    int64_t from = new ? 0 : replicas_of(ch->old, &c->scratch);
    int64_t to = replicas_of(ch->obj, &c->scratch);
    arena_reset(&c->scratch);
    if (from != to && from >= 0 && to >= 0) {
        recorder_event(c->base.recorder, owner, EVENT_NORMAL, "ScalingReplicaSet",
                       "Scaled %s replica set %.*s from %lld to %lld", from < to ? "up" : "down",
                       STR_ARG(ch->obj->name), (long long)from, (long long)to);
    }
}

static void set_changed(void *self, const struct change *ch) {
    struct deployment_controller *c = self;
    tell_scaled(c, ch);
    claims_owned_changed(&c->claims, ch);
}

/* One that recreates waits until the pods of old sets have ended. */
static void pod_changed(void *self, const struct change *ch) {
    struct deployment_controller *c = self;
    const struct owner_ref *ref = ch->type == CHANGE_DELETED ? object_controller(ch->obj) : NULL;
    const struct object *set = ref ? mirror_owner(c->base.env.mirror, ch->obj->ns, ref) : NULL;
    const struct owner_ref *up =
        set && set->kind == c->base.kinds[SETS] ? object_controller(set) : NULL;
    const struct object *o = up ? mirror_owner(c->base.env.mirror, set->ns, up) : NULL;
    if (o && o->kind == c->base.kinds[DEPLOYMENTS] && str_contains(o->json, STR("\"Recreate\""))) {
        workqueue_look(c->base.queue, (struct work_key){CLAIM_OWNER, o->ns, o->name}, 0);
    }
}

/* ---- answers ---- */

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct deployment_controller *c = ctx;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[DEPLOYMENTS], round_ns(r), round_name(r));
    if (tag == WRITE_CREATE && o) {
        claims_fail(&c->claims, o->uid, res->code ? res->err.text : NULL);
        if (res->code != 0) {
            recorder_event(c->base.recorder, o, EVENT_WARNING, "ReplicaSetCreateError",
                           "Failed to create new replica set: %s", res->err.text);
        }
    }
    return tag == WRITE_REMOVE && res->code == ERR_NOT_FOUND ? 0 : res->code;
}

/* ---- one look ---- */

struct deployment_look {
    struct deployment_controller *c;
    const struct object *obj;
    yyjson_val *tree;
    struct deployment deployment;
    char hash[TEMPLATE_HASH_MAX];
    struct deployment_facts facts;
    struct deployment_plan plan;
};

static struct arena *arena_of(struct deployment_look *l) {
    return &l->c->base.arena;
}

static int text_of(yyjson_val *template, struct arena *a, struct str *ret) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    template_text(template, a, &b);
    int r = buf_ok(&b);
    *ret = r == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return r ? r : arena_ok(a);
}

struct pod_search {
    struct deployment_look *l;
    const struct object *set;
    bool found;
    int code;
};

static bool not_ended(void *ctx, const struct object *o) {
    struct pod_search *s = ctx;
    const struct owner_ref *ref = object_controller(o);
    struct owned_pod p;
    if (o->kind != s->l->c->base.kinds[PODS] || ref == NULL ||
        !object_named_by(s->set, o->ns, ref)) {
        return true;
    }
    s->code = owned_pod_read(o, &s->l->c->scratch, arena_of(s->l), &p);
    s->found = s->code == 0 && p.phase != OWNED_SUCCEEDED && p.phase != OWNED_FAILED;
    return s->code == 0 && !s->found;
}

static int read_set(struct deployment_look *l, const struct object *o, struct deployment_set *ret,
                    struct err *err) {
    struct pod_search pods = {.l = l, .set = o};
    struct deployment_set x = {.obj = o};
    const struct deployment_strategy *way = l->deployment.spec->strategy;
    yyjson_doc *d;
    int r = object_tree(o, arena_of(l), &d, err);
    yyjson_val *tree = r == 0 ? yyjson_doc_get_root(d) : NULL;
    r = r ? r : codec_decode(&schema_replica_set, tree, arena_of(l), &x.set, err);
    r = r ? r : x.set.spec && x.set.metadata ? 0 : ERR_INVALID;
    r = r ? r : text_of(json_path(tree, "spec.template"), arena_of(l), &x.text);
    if (r == 0 && way && str_is(way->type, "Recreate")) {
        mirror_owned(l->c->base.env.mirror, o, not_ended, &pods);
        x.has_pods = pods.found;
        r = pods.code;
    }
    *ret = x;
    return r;
}

/* The name that a new set would have, and whether somebody has it. */
static int name_new(struct deployment_look *l) {
    const struct deployment_status *s = l->deployment.status;
    struct str hash = template_hash(l->facts.text, s ? s->collision_count.v : 0, l->hash);
    l->facts.name = arena_f(arena_of(l), "%.*s-%.*s", STR_ARG(l->obj->name), STR_ARG(hash));
    const struct kind *k = l->c->base.kinds[SETS];
    l->facts.taken =
        l->facts.name.p && mirror_get(l->c->base.env.mirror, k, l->obj->ns, l->facts.name) != NULL;
    return arena_ok(arena_of(l));
}

static int read_facts(struct deployment_look *l, const struct claimed *sets, struct err *err) {
    struct deployment_facts *f = &l->facts;
    const struct claim_owner *own = claims_of(&l->c->claims, l->obj->uid);
    if (l->deployment.spec == NULL || l->deployment.metadata == NULL) {
        return ERR_INVALID;
    }
    *f = (struct deployment_facts){
        .obj = l->obj, .deployment = &l->deployment, .now_ns = clock_wall(l->c->base.env.clock)};
    f->fault = own && own->fault ? str_of(own->fault) : (struct str){0};
    f->sets = ARENA_ARRAY(arena_of(l), struct deployment_set, sets->n + 1);
    int r = f->sets ? 0 : ERR_NOMEM;
    r = r ? r : text_of(json_path(l->tree, "spec.template"), arena_of(l), &f->text);
    for (size_t i = 0; r == 0 && i < sets->n; i++) {
        r = read_set(l, sets->v[i], &f->sets[i], err);
        f->n += r == 0;
    }
    arena_reset(&l->c->scratch);
    return r ? r : name_new(l);
}

static void write_sets(struct deployment_look *l, struct round *r) {
    for (size_t i = 0; i < l->facts.n; i++) {
        struct deployment_set *x = &l->facts.sets[i];
        struct replica_set want = x->set;
        want.spec = &x->spec;
        want.metadata = &x->meta;
        if (x->write) {
            (void)edit_send(r, x->obj, "", EDIT_VERSION, &x->set, &want);
        }
        if (x->remove) {
            round_tag(r, WRITE_REMOVE);
            round_remove(r, x->obj->kind, x->obj->ns, x->obj->name,
                         &(struct delete_options){
                             .uid = x->obj->uid, .rv = x->obj->rv, .grace_seconds = -1});
            round_tag(r, WRITE_OTHER);
        }
    }
}

static void write_new(struct deployment_look *l, struct round *r) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = deployment_write_set(l->obj, l->tree, l->facts.name, str_of(l->hash), &l->plan,
                                    arena_of(l), &b);
    if (code != 0) {
        round_fail(r, code);
    } else {
        round_tag(r, WRITE_CREATE);
        round_create(r, l->c->base.kinds[SETS], l->obj->ns, buf_view(&b));
        round_tag(r, WRITE_OTHER);
    }
    buf_release(&b);
}

/* The status goes first, and alone is conditional on the version: the revision is nobody else's to write. */
static enum work carry_out(struct deployment_look *l) {
    struct deployment want = l->deployment;
    struct round *r = controller_begin(&l->c->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_on_done(r, answered, l->c);
    round_tag(r, WRITE_OTHER);
    want.status = &l->plan.status;
    if (l->plan.write_status) {
        (void)edit_send(r, l->obj, "status", EDIT_VERSION, &l->deployment, &want);
    }
    if (l->plan.write_meta) {
        (void)edit_send_meta(r, l->obj, EDIT_UID, l->deployment.metadata, &l->plan.meta);
    }
    write_sets(l, r);
    if (l->plan.create) {
        write_new(l, r);
    }
    return round_end(r);
}

static enum work look_at(struct deployment_controller *c, const struct object *o) {
    struct deployment_look l = {.c = c, .obj = o};
    struct claimed sets;
    struct err err = {0};
    enum work w = WORK_OK;
    yyjson_doc *d;
    int r = object_tree(o, &c->base.arena, &d, &err);
    l.tree = r == 0 ? yyjson_doc_get_root(d) : NULL;
    r = r ? r : codec_decode(&schema_deployment, l.tree, &c->base.arena, &l.deployment, &err);
    r = r ? r : claims_collect(&c->claims, &c->base, o, &c->base.arena, &sets, &w);
    if (r == 1) {
        return w;
    }
    r = r ? r : read_facts(&l, &sets, &err);
    r = r ? r : deployment_decide(&l.facts, &c->base.arena, &l.plan);
    if (r != 0) {
        log_error(c->base.env.log, "deployment %.*s/%.*s: %s", STR_ARG(o->ns), STR_ARG(o->name),
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
    struct deployment_controller *c = self;
    const struct kind *k = c->base.kinds[key.what == CLAIM_ORPHAN ? SETS : DEPLOYMENTS];
    const struct object *o = mirror_get(c->base.env.mirror, k, key.ns, key.name);
    if (key.what == CLAIM_ORPHAN) {
        return claims_orphan(&c->claims, o, &c->base.arena);
    }
    return o ? look_at(c, o) : WORK_OK;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct deployment_controller *c = self;
    arena_init(&c->scratch, 64 << 20);
    int r = claims_init(&c->claims, &c->base, c->base.kinds[DEPLOYMENTS], c->base.kinds[SETS]);
    return r ? err_set(err, r, "out of memory") : 0;
}

static void release(void *self) {
    struct deployment_controller *c = self;
    claims_release(&c->claims);
    arena_release(&c->scratch);
}

const struct controller_row deployment_controller = {
    .name = "apps",
    .set = CONTROL_APPS,
    .who = "deployment-controller",
    CONTROLLER_KINDS([DEPLOYMENTS] = {"apps", "Deployment", deployment_changed, .first = true,
                                      .may = MAY_PATCH | MAY_STATUS},
                     [SETS] = {"apps", "ReplicaSet", set_changed,
                               .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [PODS] = {"", "Pod", pod_changed}),
    .step = step,
    .budget = 32,
    .arena = STEP_ARENA,
    .size = sizeof(struct deployment_controller),
    .init = init,
    .release = release,
};

/* stateful_set: feeds in, decisions from stateful_decide, rounds of writes out. See stateful_set.h. */
#include "control/apps/stateful_set.h"

#include <stdlib.h>

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/apps/claims.h"
#include "control/apps/stateful_decide.h"
#include "control/apps/stateful_retain.h"
#include "control/apps/stateful_write.h"
#include "control/apps/template_text.h"
#include "control/kit/edit.h"

enum { SETS, PODS, REVISIONS, CLAIMS };                     /* of the row's kinds */
enum { WRITE_OTHER, WRITE_POD, WRITE_REMOVE, WRITE_CLAIM }; /* tags */
enum { STEP_ARENA = 512 << 20 };

struct stateful_controller {
    struct controller base;
    struct claim_book claims;
    struct arena scratch; /* of one pod */
};

/* ---- what to look at ---- */

static void set_changed(void *self, const struct change *ch) {
    claims_owner_changed(&((struct stateful_controller *)self)->claims, ch);
}

static void pod_changed(void *self, const struct change *ch) {
    claims_owned_changed(&((struct stateful_controller *)self)->claims, ch);
}

/* Pods have the set's name and an ordinal. */
static bool is_member(const struct object *set, const struct object *pod) {
    return stateful_ordinal(set->name, pod->name) >= 0;
}

/* ---- answers ---- */

static void tell(struct stateful_controller *c, const struct object *set, uint64_t tag,
                 const struct write_result *res) {
    const char *verb = tag == WRITE_REMOVE ? "delete" : "create";
    const char *what = tag == WRITE_CLAIM ? "Claim" : "Pod";
    bool good = res->code == 0;
    const char *reason = tag == WRITE_REMOVE ? (good ? "SuccessfulDelete" : "FailedDelete")
                         : good              ? "SuccessfulCreate"
                                             : "FailedCreate";
    if (good && res->obj) {
        recorder_event(c->base.recorder, set, EVENT_NORMAL, reason,
                       "%s %s %.*s in StatefulSet %.*s successful", verb, what,
                       STR_ARG(res->obj->name), STR_ARG(set->name));
    } else if (!good) {
        recorder_event(c->base.recorder, set, EVENT_WARNING, reason,
                       "%s %s in StatefulSet %.*s failed error: %s", verb, what, STR_ARG(set->name),
                       res->err.text);
    }
}

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct stateful_controller *c = ctx;
    const struct object *set =
        mirror_get(c->base.env.mirror, c->base.kinds[SETS], round_ns(r), round_name(r));
    bool gone = tag == WRITE_REMOVE && res->code == ERR_NOT_FOUND;
    if (tag != WRITE_OTHER && set && !gone) {
        tell(c, set, tag, res);
    }
    return gone ? 0 : res->code;
}

/* ---- revisions ---- */

struct revision {
    const struct object *obj;
    yyjson_val *template;
    struct str text; /* of the template */
    int64_t number;
    bool lives; /* pods have it, or it is the current or the update's */
};

struct stateful_look {
    struct stateful_controller *c;
    const struct object *obj;
    yyjson_val *tree;
    struct stateful_set set;
    struct revision *revisions;
    size_t n_revisions;
    struct revision *current, *update;
    struct str text; /* of the set's template */
    struct stateful_facts facts;
    struct stateful_plan plan;
    int code;
};

static struct arena *arena_of(struct stateful_look *l) {
    return &l->c->base.arena;
}

static int text_of(struct stateful_look *l, yyjson_val *template, struct str *ret) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    template_text(template, arena_of(l), &b);
    int r = buf_ok(&b);
    *ret = r == 0 ? arena_str(arena_of(l), buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return r ? r : arena_ok(arena_of(l));
}

static bool is_revision(const struct stateful_look *l, const struct object *o) {
    const struct owner_ref *ref = object_controller(o);
    return o->kind == l->c->base.kinds[REVISIONS] && ref && object_named_by(l->obj, o->ns, ref);
}

static bool count_revision(void *ctx, const struct object *o) {
    struct stateful_look *l = ctx;
    l->n_revisions += is_revision(l, o);
    return true;
}

static bool read_revision(void *ctx, const struct object *o) {
    struct stateful_look *l = ctx;
    struct revision *x = &l->revisions[l->n_revisions];
    yyjson_doc *d;
    if (!is_revision(l, o)) {
        return true;
    }
    l->code = object_tree(o, arena_of(l), &d, NULL);
    if (l->code == 0) {
        yyjson_val *root = yyjson_doc_get_root(d);
        *x = (struct revision){.obj = o,
                               .template = json_path(root, "data.spec.template"),
                               .number = json_i64_at(root, "revision", 0)};
        l->code = text_of(l, x->template, &x->text);
        l->n_revisions++;
    }
    return l->code == 0;
}

static int by_number(const void *va, const void *vb) {
    const struct revision *a = va, *b = vb;
    return a->number != b->number ? (a->number > b->number) * 2 - 1
                                  : str_cmp(a->obj->name, b->obj->name);
}

static int read_revisions(struct stateful_look *l) {
    const struct mirror *m = l->c->base.env.mirror;
    const struct stateful_set_status *s = l->set.status;
    mirror_owned(m, l->obj, count_revision, l);
    l->revisions = ARENA_ARRAY(arena_of(l), struct revision, l->n_revisions + 1);
    l->n_revisions = 0;
    l->code = l->revisions ? text_of(l, json_path(l->tree, "spec.template"), &l->text) : ERR_NOMEM;
    if (l->code == 0) {
        mirror_owned(m, l->obj, read_revision, l);
    }
    if (l->code == 0 && l->n_revisions) {
        qsort(l->revisions, l->n_revisions, sizeof *l->revisions, by_number);
    }
    for (size_t i = 0; l->code == 0 && i < l->n_revisions; i++) {
        struct revision *x = &l->revisions[i];
        l->update = str_eq(x->text, l->text) ? x : l->update; /* the latest of them */
        l->current = s && str_eq(x->obj->name, s->current_revision) ? x : l->current;
    }
    l->current = l->current ? l->current : l->update;
    return l->code;
}

static int64_t newest(const struct stateful_look *l) {
    return l->n_revisions ? l->revisions[l->n_revisions - 1].number : 0;
}

/* The template has no revision yet; when it has one, the set is looked at again. */
static enum work make_revision(struct stateful_look *l) {
    char hash[TEMPLATE_HASH_MAX];
    const struct stateful_set_status *s = l->set.status;
    int32_t taken = s ? s->collision_count.v : 0;
    const struct kind *k = l->c->base.kinds[REVISIONS];
    struct str name, short_hash;
    do { /* a few tries at most: names that are taken are others' */
        short_hash = template_hash(l->text, taken++, hash);
        name = arena_f(arena_of(l), "%.*s-%.*s", STR_ARG(l->obj->name), STR_ARG(short_hash));
    } while (name.p && taken < 16 && mirror_get(l->c->base.env.mirror, k, l->obj->ns, name));
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int r = name.p ? stateful_write_revision(l->obj, l->tree, name, short_hash, newest(l) + 1,
                                             arena_of(l), &b)
                   : ERR_NOMEM;
    struct round *round = r == 0 ? controller_begin(&l->c->base) : NULL;
    if (round) {
        round_create(round, k, l->obj->ns, buf_view(&b));
        workqueue_look(l->c->base.queue, (struct work_key){CLAIM_OWNER, l->obj->ns, l->obj->name},
                       0);
    }
    buf_release(&b);
    return round ? round_end(round) : WORK_RETRY;
}

/* One that serves again is the newest again. */
static void renumber(struct stateful_look *l, struct round *r) {
    struct controller_revision was = {.revision = l->update->number}, want = was;
    want.revision = newest(l) + 1;
    if (l->update->number < newest(l)) {
        (void)edit_send(r, l->update->obj, "", EDIT_VERSION, &was, &want);
    }
}

static void forget_old(struct stateful_look *l, struct round *r) {
    struct opt_i32 limit = l->set.spec->revision_history_limit;
    size_t dead = 0;
    for (size_t i = 0; i < l->n_revisions; i++) {
        struct revision *x = &l->revisions[i];
        x->lives = x == l->current || x == l->update;
        for (size_t k = 0; !x->lives && k < l->facts.n; k++) {
            x->lives = str_eq(l->facts.pods[k].revision, x->obj->name);
        }
        dead += !x->lives;
    }
    for (size_t i = 0; limit.set && i < l->n_revisions && dead > (size_t)limit.v; i++) {
        const struct object *o = l->revisions[i].obj;
        if (!l->revisions[i].lives && !o->deleting_ns) {
            round_remove(r, o->kind, o->ns, o->name,
                         &(struct delete_options){.uid = o->uid, .grace_seconds = -1});
            dead--;
        }
    }
}

/* ---- pods ---- */

static int read_pods(struct stateful_look *l, const struct claimed *pods) {
    struct stateful_facts *f = &l->facts;
    f->pods = ARENA_ARRAY(arena_of(l), struct stateful_pod, pods->n + 1);
    int r = f->pods ? 0 : ERR_NOMEM;
    for (size_t i = 0; r == 0 && i < pods->n; i++) {
        struct stateful_pod *p = &f->pods[f->n];
        const struct object *o = pods->v[i];
        *p = (struct stateful_pod){.ordinal = stateful_ordinal(l->obj->name, o->name),
                                   .revision = object_label(o, STR(STATEFUL_REVISION_LABEL))};
        r = p->ordinal >= 0 ? owned_pod_read(o, &l->c->scratch, arena_of(l), &p->pod) : 0;
        f->n += r == 0 && p->ordinal >= 0;
    }
    arena_reset(&l->c->scratch);
    return r;
}

static void make_claims(struct stateful_look *l, const struct stateful_write *w, struct round *r) {
    const struct kind *k = l->c->base.kinds[CLAIMS];
    yyjson_val *list = json_path(l->tree, "spec.volumeClaimTemplates"), *claim;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, claim) {
        struct str name = stateful_claim_name(w, claim, arena_of(l));
        struct buf b;
        if (mirror_get(l->c->base.env.mirror, k, l->obj->ns, name)) {
            continue;
        }
        buf_init(&b, LIMIT_OBJECT_BYTES);
        int code = stateful_write_claim(w, claim, arena_of(l), &b);
        if (code != 0) {
            round_fail(r, code);
        } else {
            round_tag(r, WRITE_CLAIM);
            round_create(r, k, l->obj->ns, buf_view(&b));
        }
        buf_release(&b);
    }
}

static void make_pod(struct stateful_look *l, const struct stateful_create *x, struct round *r) {
    const struct revision *of = x->current ? l->current : l->update;
    struct stateful_write w = {.set = l->obj,
                               .tree = l->tree,
                               .template = of->template,
                               .revision = of->obj->name,
                               .ordinal = x->ordinal};
    struct buf b;
    make_claims(l, &w, r);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int code = stateful_write_pod(&w, arena_of(l), &b);
    if (code != 0) {
        round_fail(r, code);
    } else {
        round_tag(r, WRITE_POD);
        round_create(r, l->c->base.kinds[PODS], l->obj->ns, buf_view(&b));
    }
    buf_release(&b);
}

/* Before a pod goes its claims have the owners that the policy wants. True: they are being written. */
static bool keep_claims(struct stateful_look *l, struct round *r) {
    const struct stateful_retain t = {.mirror = l->c->base.env.mirror,
                                      .claims = l->c->base.kinds[CLAIMS],
                                      .set = l->obj,
                                      .tree = l->tree,
                                      .arena = arena_of(l)};
    const struct stateful_set_spec *s = l->set.spec;
    int64_t start = s->ordinals ? s->ordinals->start : 0;
    int64_t end = start + (s->replicas.set ? s->replicas.v : 1);
    bool wrote = false;
    if (l->obj->deleting_ns) {
        return false;
    }
    for (size_t i = 0; i < l->facts.n; i++) {
        const struct stateful_pod *p = &l->facts.pods[i];
        bool gone = p->ordinal < start || p->ordinal >= end;
        wrote |= stateful_retain_claims(&t, p->ordinal, p->pod.obj, gone, r);
    }
    return wrote;
}

static enum work carry_out(struct stateful_look *l) {
    struct stateful_set want = l->set;
    struct round *r = controller_begin(&l->c->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    round_on_done(r, answered, l->c);
    round_tag(r, WRITE_OTHER);
    if (keep_claims(l, r)) { /* the rest when that is written */
        workqueue_look(l->c->base.queue, (struct work_key){CLAIM_OWNER, l->obj->ns, l->obj->name},
                       0);
        return round_end(r);
    }
    want.status = &l->plan.status;
    if (l->plan.write_status) {
        (void)edit_send(r, l->obj, "status", EDIT_VERSION, &l->set, &want);
    }
    renumber(l, r);
    forget_old(l, r);
    for (size_t i = 0; i < l->facts.n; i++) {
        const struct object *pod = l->facts.pods[i].pod.obj;
        if (l->facts.pods[i].remove) {
            round_tag(r, WRITE_REMOVE);
            round_remove(r, pod->kind, pod->ns, pod->name,
                         &(struct delete_options){.uid = pod->uid, .grace_seconds = -1});
        }
    }
    for (size_t i = 0; i < l->plan.n_creates; i++) {
        make_pod(l, &l->plan.creates[i], r);
    }
    return round_end(r);
}

/* ---- one look ---- */

static enum work look_at(struct stateful_controller *c, const struct object *o) {
    struct stateful_look l = {.c = c, .obj = o};
    struct work_key key = {CLAIM_OWNER, o->ns, o->name};
    struct claimed pods;
    struct err err = {0};
    enum work w = WORK_OK;
    yyjson_doc *d;
    int r = object_tree(o, &c->base.arena, &d, &err);
    l.tree = r == 0 ? yyjson_doc_get_root(d) : NULL;
    r = r ? r : codec_decode(&schema_stateful_set, l.tree, &c->base.arena, &l.set, &err);
    r = r ? r : l.set.spec ? 0 : ERR_INVALID;
    r = r ? r : claims_collect(&c->claims, &c->base, o, &c->base.arena, &pods, &w);
    if (r == 1) {
        return w;
    }
    r = r ? r : read_revisions(&l);
    if (r == 0 && l.update == NULL) {
        return o->deleting_ns ? WORK_OK : make_revision(&l);
    }
    l.facts = (struct stateful_facts){.set = &l.set,
                                      .deleting = o->deleting_ns != 0,
                                      .generation = o->generation,
                                      .now_ns = clock_wall(c->base.env.clock)};
    r = r ? r : read_pods(&l, &pods);
    if (r == 0) {
        l.facts.current = l.current->obj->name;
        l.facts.update = l.update->obj->name;
        r = stateful_decide(&l.facts, &c->base.arena, &l.plan);
    }
    if (r != 0) {
        log_error(c->base.env.log, "stateful set %.*s/%.*s: %s", STR_ARG(o->ns), STR_ARG(o->name),
                  err.text[0] ? err.text : err_name(r));
        return r == ERR_NOMEM ? WORK_RETRY : WORK_OK;
    }
    if (l.plan.again_ns) {
        workqueue_look(c->base.queue, key, l.plan.again_ns);
    }
    return carry_out(&l);
}

static enum work step(void *self, struct work_key key) {
    struct stateful_controller *c = self;
    const struct kind *k = c->base.kinds[key.what == CLAIM_ORPHAN ? PODS : SETS];
    const struct object *o = mirror_get(c->base.env.mirror, k, key.ns, key.name);
    if (key.what == CLAIM_ORPHAN) {
        return claims_orphan(&c->claims, o, &c->base.arena);
    }
    return o ? look_at(c, o) : WORK_OK;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct stateful_controller *c = self;
    arena_init(&c->scratch, 64 << 20);
    int r = claims_init(&c->claims, &c->base, c->base.kinds[SETS], c->base.kinds[PODS]);
    c->claims.fits = is_member;
    return r ? err_set(err, r, "out of memory") : 0;
}

static void release(void *self) {
    struct stateful_controller *c = self;
    claims_release(&c->claims);
    arena_release(&c->scratch);
}

const struct controller_row stateful_set_controller = {
    .name = "apps",
    .set = CONTROL_APPS,
    .who = "statefulset-controller",
    CONTROLLER_KINDS([SETS] = {"apps", "StatefulSet", set_changed, .first = true,
                               .may = MAY_STATUS},
                     [PODS] = {"", "Pod", pod_changed, .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [REVISIONS] = {"apps", "ControllerRevision",
                                    .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [CLAIMS] = {"", "PersistentVolumeClaim", .may = MAY_CREATE | MAY_PATCH}),
    .step = step,
    .budget = 32,
    .arena = STEP_ARENA,
    .size = sizeof(struct stateful_controller),
    .init = init,
    .release = release,
};

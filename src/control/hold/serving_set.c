/*
 * serving_set: the Workload of a StatefulSet. It is made for all replicas at once, kept through a scale to zero, and
 * written anew when the set comes back with another number of them.
 */
#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/hold/serving_private.h"
#include "control/kit/edit.h"

#define ON_HOLD "StatefulSet scaled to zero; workload on hold"
#define OFF_HOLD "Workload no longer on hold; waiting for quota reservation"

enum { BODY_MAX = 2 * LIMIT_OBJECT_BYTES };

struct stateful {
    struct set_look l;
    struct str name; /* of the Workload */
    bool active;     /* the Workload is */
    bool runs;       /* some pod does */
};

static int see_workload(struct stateful *s, struct err *err) {
    int r = hold_see(&s->l.h, err);
    if (r != 0 || s->l.h.wl.spec == NULL) {
        return r != 0 ? r : err_set(err, ERR_INVALID, "no spec");
    }
    const struct opt_bool *active = &s->l.h.wl.spec->active;
    s->active = !active->set || active->v;
    return 0;
}

static bool find_running(void *ctx, const struct object *o) {
    struct stateful *s = ctx;
    s->runs =
        s->runs || (o->kind == s->l.c->pods && str_contains(o->json, STR("\"phase\":\"Running\"")));
    return true;
}

/* ---- making it ---- */

static int describe(struct stateful *s, struct group_set *set, struct str_pair notes[2],
                    struct owner_reference *owner, struct group_workload *w) {
    const struct object *o = s->l.obj;
    *set = (struct group_set){.name = STR("main"),
                              .count = s->l.replicas,
                              .spec = json_path(s->l.tree, "spec.template.spec")};
    notes[0] =
        (struct str_pair){STR("kueue.x-k8s.io/job-owner-gvk"), STR("apps/v1, Kind=StatefulSet")};
    notes[1] = (struct str_pair){STR("kueue.x-k8s.io/job-owner-name"), o->name};
    *owner = group_owner("apps/v1", "StatefulSet", o, false);
    *w = (struct group_workload){.ns = o->ns,
                                 .name = s->name,
                                 .about = s->l.tree,
                                 .job_uid = o->uid,
                                 .group = true,
                                 .annotations = notes,
                                 .n_annotations = 2,
                                 .owners = owner,
                                 .n_owners = 1,
                                 .sets = set,
                                 .n_sets = 1};
    return set->spec ? 0 : ERR_INVALID;
}

/* Makes the Workload, or makes the one there as it would be made. */
static enum work make(struct stateful *s) {
    struct workload_priority prio;
    struct group_workload w;
    struct group_set set;
    struct owner_reference owner;
    struct str_pair notes[2];
    if (describe(s, &set, notes, &owner, &w) != 0) {
        return WORK_OK;
    }
    if (serving_priority(&s->l, &set, 1, &prio) != 0) {
        return WORK_RETRY;
    }
    w.priority = &prio;
    return hold_make(&s->l.h, &w);
}

/* ---- keeping it ---- */

static bool is_owned(const struct stateful *s) {
    for (size_t i = 0; i < s->l.h.wl_obj->n_owners; i++) {
        if (object_named_by(s->l.obj, s->l.h.wl_obj->ns, &s->l.h.wl_obj->owners[i])) {
            return true;
        }
    }
    return false;
}

static enum work own(struct stateful *s) {
    struct owner_reference owner = group_owner("apps/v1", "StatefulSet", s->l.obj, false);
    struct meta meta = *s->l.h.wl.metadata;
    int code = meta_add_owner(&meta, &s->l.c->base.arena, &owner);
    return hold_remeta(&s->l.h, code, &meta);
}

static enum work follow(struct stateful *s) {
    bool gates = false;
    struct buf b;
    buf_init(&b, BODY_MAX);
    const struct str *queue = s->l.replicas > 0 && !s->l.h.reserved ? &s->l.queue_name : NULL;
    int code = group_workload_follow(s->l.h.wl_obj, s->l.h.wl_tree, s->l.tree, queue, NULL, &gates,
                                     &s->l.c->base.arena, &b);
    return controller_patch(&s->l.c->base, s->l.h.wl_obj, "", code, &b);
}

static enum work step(struct stateful *s) {
    if (s->l.h.wl_obj == NULL) {
        return s->l.replicas > 0 && !s->l.obj->deleting_ns ? make(s) : WORK_OK;
    }
    if (s->l.h.wl_obj->deleting_ns || s->l.h.wl_finished || s->l.obj->deleting_ns) {
        return WORK_OK;
    }
    if (s->l.replicas == 0) {
        return s->l.h.reserved && s->active && !s->runs
                   ? hold_unset(&s->l.h, "OnHold", STR(ON_HOLD))
                   : WORK_OK;
    }
    if (!is_owned(s)) {
        return own(s);
    }
    const struct pod_set *ps = s->l.h.wl.spec->pod_sets.n ? s->l.h.wl.spec->pod_sets.v : NULL;
    if (!s->l.h.reserved && (ps == NULL || ps->count != s->l.replicas)) {
        return make(s);
    }
    enum work w = follow(s);
    return w == WORK_OK && hold_is_on_hold(&s->l.h)
               ? hold_unset(&s->l.h, "PendingEvaluation", STR(OFF_HOLD))
               : w;
}

static bool others(const struct stateful *s) {
    yyjson_val *notes = json_path(s->l.tree, "spec.template.metadata.annotations");
    struct str parent = json_str(json_get(notes, STR(POD_PARENT)));
    return !str_empty(parent) && !str_is(parent, SERVING_STATEFULSET);
}

enum work serving_stateful_work(struct serving_controller *c, struct str ns, struct str name) {
    const struct kind *k = serving_kind(SERVING_STATEFULSET);
    struct stateful s = {.l = {.c = c}};
    struct err err = {0};
    bool ours = false;
    s.l.obj = k ? mirror_get(c->base.env.mirror, k, ns, name) : NULL;
    if (s.l.obj == NULL) {
        return WORK_OK;
    }
    enum work w = serving_look(&s.l, SERVING_STATEFULSET, &ours, &err) == 0 ? WORK_OK : WORK_RETRY;
    if (ours && !others(&s)) {
        s.name = serving_workload_name(s.l.obj, -1, &c->base.arena);
        s.l.h.wl_obj = mirror_get(c->base.env.mirror, c->workloads, ns, s.name);
        mirror_owned(c->base.env.mirror, s.l.obj, find_running, &s);
        w = s.name.p == NULL || (s.l.h.wl_obj && see_workload(&s, &err) != 0) ? WORK_RETRY
                                                                              : step(&s);
    }
    return w;
}

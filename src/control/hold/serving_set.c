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
    const struct object *wl_obj;
    yyjson_val *wl_tree;
    struct workload wl;
    bool reserved, finished, on_hold, active;
    bool runs; /* some pod does */
};

static int see_workload(struct stateful *s, struct err *err) {
    static const struct condition_list none;
    yyjson_doc *d;
    struct arena *a = &s->l.c->base.arena;
    int r = object_tree(s->wl_obj, a, &d, err);
    s->wl_tree = r ? NULL : yyjson_doc_get_root(d);
    r = r ? r : codec_decode(&schema_workload, s->wl_tree, a, &s->wl, err);
    if (r != 0 || s->wl.spec == NULL) {
        return r ? r : err_set(err, ERR_INVALID, "no spec");
    }
    const struct condition_list *l = s->wl.status ? &s->wl.status->conditions : &none;
    const struct condition *q = conditions_find(l, "QuotaReserved");
    s->reserved = conditions_true(l, "QuotaReserved");
    s->finished = conditions_true(l, "Finished");
    s->on_hold = q && str_is(q->status, "False") && str_is(q->reason, "OnHold");
    s->active = !s->wl.spec->active.set || s->wl.spec->active.v;
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
    struct buf b;
    struct serving_controller *c = s->l.c;
    if (describe(s, &set, notes, &owner, &w) != 0) {
        return WORK_OK;
    }
    if (!serving_priority(&s->l, &set, 1, &prio)) {
        return WORK_RETRY;
    }
    w.priority = &prio;
    buf_init(&b, BODY_MAX);
    if (s->wl_obj) {
        int code = group_workload_update(s->wl_obj, s->wl_tree, &w, &c->base.arena, &b);
        return serving_send(&s->l, s->wl_obj, "", code, &b);
    }
    struct round *r =
        group_workload_write(&w, &c->base.arena, &b) == 0 ? controller_begin(&c->base) : NULL;
    if (r) {
        round_create(r, c->workloads, s->l.obj->ns, buf_view(&b));
        recorder_event(c->base.recorder, s->l.obj, EVENT_NORMAL, "CreatedWorkload",
                       "Created Workload: %.*s/%.*s", STR_ARG(s->l.obj->ns), STR_ARG(s->name));
    }
    buf_release(&b);
    return r ? round_end(r) : WORK_RETRY;
}

/* ---- keeping it ---- */

static bool is_owned(const struct stateful *s) {
    for (size_t i = 0; i < s->wl_obj->n_owners; i++) {
        if (object_named_by(s->l.obj, s->wl_obj->ns, &s->wl_obj->owners[i])) {
            return true;
        }
    }
    return false;
}

static enum work own(struct stateful *s) {
    struct owner_reference owner = group_owner("apps/v1", "StatefulSet", s->l.obj, false);
    struct meta meta = *s->wl.metadata;
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = meta_add_owner(&meta, &s->l.c->base.arena, &owner);
    code = code ? code : edit_write_meta(s->wl_obj, EDIT_VERSION, s->wl.metadata, &meta, &b);
    return serving_send(&s->l, s->wl_obj, "", code, &b);
}

/* QuotaReserved False: on hold, or no longer. */
static enum work unset(struct stateful *s, const char *reason, struct str message) {
    struct workload_change ch;
    struct buf b;
    workload_change_init(&ch, s->wl_obj, &s->wl, &s->l.c->base.arena,
                         clock_wall(s->l.c->base.env.clock));
    ch.settings = s->l.c->settings;
    workload_change_unset(&ch, reason, message);
    buf_init(&b, BODY_MAX);
    int code = workload_change_write(&ch, &b);
    return serving_send(&s->l, s->wl_obj, "status", code, &b);
}

static enum work follow(struct stateful *s) {
    bool gates = false;
    struct buf b;
    buf_init(&b, BODY_MAX);
    const struct str *queue = s->l.replicas > 0 && !s->reserved ? &s->l.queue_name : NULL;
    int code = group_workload_follow(s->wl_obj, s->wl_tree, s->l.tree, queue, NULL, &gates,
                                     &s->l.c->base.arena, &b);
    return serving_send(&s->l, s->wl_obj, "", code, &b);
}

static enum work step(struct stateful *s) {
    if (s->wl_obj == NULL) {
        return s->l.replicas > 0 && !s->l.obj->deleting_ns ? make(s) : WORK_OK;
    }
    if (s->wl_obj->deleting_ns || s->finished || s->l.obj->deleting_ns) {
        return WORK_OK;
    }
    if (s->l.replicas == 0) {
        return s->reserved && s->active && !s->runs ? unset(s, "OnHold", STR(ON_HOLD)) : WORK_OK;
    }
    if (!is_owned(s)) {
        return own(s);
    }
    const struct pod_set *ps = s->wl.spec->pod_sets.n ? s->wl.spec->pod_sets.v : NULL;
    if (!s->reserved && (ps == NULL || ps->count != s->l.replicas)) {
        return make(s);
    }
    enum work w = follow(s);
    return w == WORK_OK && s->on_hold ? unset(s, "PendingEvaluation", STR(OFF_HOLD)) : w;
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
        s.wl_obj = mirror_get(c->base.env.mirror, c->workloads, ns, s.name);
        mirror_owned(c->base.env.mirror, s.l.obj, find_running, &s);
        w = s.name.p == NULL || (s.wl_obj && see_workload(&s, &err) != 0) ? WORK_RETRY : step(&s);
    }
    return w;
}

/* pod_group_act: what the steps of pod_group consist of: writes and what is told about them. */
#include "base/limits.h"
#include "control/hold/pod_group_private.h"
#include "control/kit/edit.h"

/* ---- sending ---- */

/* Adds a body to a round; `code` is that of the body, which is released. True when something was sent. */
static bool add_patch(struct round *r, const struct object *o, const char *sub, int code,
                      struct buf *b) {
    if (code == 0) {
        round_patch(r, o->kind, o->ns, o->name, sub, PATCH_MERGE, buf_view(b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(b);
    return code == 0;
}

/* Its finalizer goes first, then it does. */
enum work pod_unit_remove_workload(struct pod_unit *u, const struct object *wl) {
    enum work w = hold_drop_finalizer(&u->h, wl);
    if (w != WORK_OK || wl->deleting_ns) {
        return w;
    }
    hold_tell_removed(&u->h, wl);
    return controller_remove(&u->c->base, wl);
}

/* ---- of the pods ---- */

static void remove_pod(struct round *r, const struct object *o) {
    struct delete_options opts = {.uid = o->uid, .grace_seconds = -1};
    round_remove(r, o->kind, o->ns, o->name, &opts);
}

/* A pod that was marked goes. When the answer brought no object, the next look removes it. */
static int marked(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    if (res->code == 0 && tag == 1 && res->obj && !res->obj->deleting_ns) {
        round_tag(r, 0);
        remove_pod(r, res->obj);
    }
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

enum work pod_unit_stop(struct pod_unit *u, bool all, const char *reason, struct str message) {
    struct round *r = NULL;
    size_t sent = 0;
    for (size_t i = 0; i < u->pods.n && sent < POD_BURST; i++) {
        const struct gated_pod *p = u->pods.v[i];
        struct buf b;
        if (p->obj->deleting_ns || (!all && gated_pod_suspended(p))) {
            continue;
        }
        r = r ? r : controller_begin(&u->c->base);
        if (r == NULL) {
            return WORK_RETRY;
        }
        round_on_done(r, marked, u->c);
        sent++;
        if (p->ending || gated_pod_over(p)) {
            round_tag(r, 0);
            remove_pod(r, p->obj);
            continue;
        }
        buf_init(&b, POD_BODY_MAX);
        round_tag(r, 1);
        (void)add_patch(
            r, p->obj, "status",
            pod_gate_terminate(p->obj, str_of(reason), message, u->now, &u->c->base.arena, &b), &b);
        recorder_event(u->c->base.recorder, p->obj, EVENT_NORMAL, "Stopped", "%.*s",
                       STR_ARG(message));
    }
    return r ? round_end(r) : WORK_OK;
}

enum work pod_unit_let_go(struct pod_unit *u, const struct pod_list *l, bool remove) {
    struct round *r = NULL;
    size_t sent = 0;
    for (size_t i = 0; i < l->n && sent < POD_BURST; i++) {
        const struct gated_pod *p = l->v[i];
        struct buf b;
        if (!p->finalizer && (!remove || p->obj->deleting_ns)) {
            continue;
        }
        r = r ? r : controller_begin(&u->c->base);
        if (r == NULL) {
            return WORK_RETRY;
        }
        sent++;
        if (p->finalizer) {
            buf_init(&b, POD_BODY_MAX);
            (void)add_patch(r, p->obj, "",
                            edit_drop_finalizer(p->obj, POD_MANAGED, &u->c->base.arena, &b), &b);
            continue;
        }
        remove_pod(r, p->obj);
        recorder_event(u->c->base.recorder, p->obj, EVENT_NORMAL, "ExcessPodDeleted",
                       "Excess pod deleted");
    }
    return r ? round_end(r) : WORK_OK;
}

/* ---- opening the gate ---- */

static const struct podset_info *info_of(const struct pod_unit *u, const struct podset_info *v,
                                         size_t n, const struct gated_pod *p, size_t *ret_set) {
    for (size_t i = 0; i < n; i++) {
        if (!u->group || str_eq(v[i].name, p->role)) {
            for (size_t k = 0; k < u->h.wl.spec->pod_sets.n; k++) {
                *ret_set = str_eq(u->h.wl.spec->pod_sets.v[k].name, v[i].name) ? k : *ret_set;
            }
            return &v[i];
        }
    }
    return NULL;
}

static int infos(struct pod_unit *u, struct podset_info **ret, struct err *err) {
    struct podset_ask q = {.wl_obj = u->h.wl_obj,
                           .wl = &u->h.wl,
                           .mirror = u->c->base.env.mirror,
                           .settings = u->c->settings,
                           .arena = &u->c->base.arena};
    return podset_infos_admitted(&q, u->h.wl.spec->pod_sets.n, ret, err);
}

/* 1: sent; 0: nothing to do; or an error code, of which ERR_CONFLICT is for ever. */
static int open_one(struct pod_unit *u, struct round *r, const struct gated_pod *p,
                    const struct podset_info *v, size_t n, struct err *err) {
    size_t set = SIZE_MAX;
    const struct podset_info *in = info_of(u, v, n, p, &set);
    struct str more;
    struct buf b;
    if (in == NULL || set == SIZE_MAX) {
        return 0; /* of a role that the Workload does not have */
    }
    int over =
        pod_gate_exceeds(p->obj, u->h.wl.spec->pod_sets.v[set].template, &u->c->base.arena, &more);
    if (over < 0) {
        round_fail(r, over);
        return 0;
    }
    if (over) {
        recorder_event(u->c->base.recorder, p->obj, EVENT_WARNING, "ErrWorkloadCompose",
                       "The gate stays: %.*s", STR_ARG(more));
        return 0;
    }
    buf_init(&b, POD_BODY_MAX);
    int code = pod_gate_open(p->obj, in, &u->c->base.arena, &b, err);
    if (code == ERR_CONFLICT) {
        buf_release(&b);
        return code;
    }
    if (!add_patch(r, p->obj, "", code, &b)) {
        return 0;
    }
    recorder_event(u->c->base.recorder, p->obj, EVENT_NORMAL, "Started",
                   "Admitted by clusterQueue %.*s",
                   STR_ARG(u->h.wl.status->admission->cluster_queue));
    return 1;
}

static bool waits(const struct gated_pod *p) {
    return p->gated && !p->obj->deleting_ns && !gated_pod_over(p);
}

enum work pod_unit_start(struct pod_unit *u) {
    struct podset_info *v;
    struct err err = {0};
    struct round *r = NULL;
    size_t sent = 0, waiting = 0;
    for (size_t i = 0; i < u->pods.n; i++) {
        waiting += waits(u->pods.v[i]);
    }
    if (waiting == 0 || u->h.wl.status->admission == NULL || u->h.wl.spec == NULL) {
        return WORK_OK;
    }
    int code = infos(u, &v, &err);
    r = code == 0 ? controller_begin(&u->c->base) : NULL;
    if (code == 0 && r == NULL) {
        return WORK_RETRY;
    }
    for (size_t i = 0; code == 0 && i < u->pods.n && sent < POD_BURST; i++) {
        int x = waits(u->pods.v[i])
                    ? open_one(u, r, u->pods.v[i], v, u->h.wl.spec->pod_sets.n, &err)
                    : 0;
        code = x < 0 ? x : 0;
        sent += x > 0;
    }
    if (code == ERR_CONFLICT && sent == 0) {
        if (r) {
            (void)round_end(r);
        }
        return hold_finish(&u->h, "FailedToStart", str_of(err.text));
    }
    if (r == NULL) {
        return WORK_RETRY; /* a flavor that is not in the mirror yet, or memory */
    }
    return round_end(r);
}

/* ---- composing ---- */

static void refuse(struct pod_unit *u, struct str why) {
    recorder_event(u->c->base.recorder, u->first->obj, EVENT_WARNING, "ErrWorkloadCompose", "%.*s",
                   STR_ARG(why));
}

/* Labels of the pods that the Workload gets too. False: they differ. */
static bool copied_labels(struct pod_unit *u, struct str_pair **ret, size_t *ret_n) {
    const struct queue_settings *s = u->c->settings;
    struct str_pair *v =
        ARENA_ARRAY(&u->c->base.arena, struct str_pair, s->n_label_keys_to_copy + 1);
    size_t n = 0;
    for (size_t k = 0; v && k < s->n_label_keys_to_copy; k++) {
        struct str key = s->label_keys_to_copy[k], value = {0};
        for (size_t i = 0; i < u->pods.n; i++) {
            struct str own = object_label(u->pods.v[i]->obj, key);
            if (own.p && value.p && !str_eq(own, value)) {
                return false;
            }
            value = own.p ? own : value;
        }
        if (value.p && !str_is(key, KUEUE_JOB_UID_LABEL)) {
            v[n++] = (struct str_pair){key, value};
        }
    }
    *ret = v;
    *ret_n = v ? n : 0;
    return true;
}

static int make_sets(struct pod_unit *u, struct group_workload *w) {
    struct pod_role *roles, alone = {.name = STR("main"), .count = 1};
    size_t n = 1;
    alone.sample = u->first;
    roles = &alone;
    int r = u->group ? pod_group_roles(&u->pods, u->first->fast, u->first->total, &u->c->base.arena,
                                       &roles, &n)
                     : 0;
    struct group_set *sets =
        r == 0 ? ARENA_ARRAY(&u->c->base.arena, struct group_set, n + 1) : NULL;
    for (size_t i = 0; sets && i < n; i++) {
        yyjson_doc *d;
        if (object_tree(roles[i].sample->obj, &u->c->base.arena, &d, NULL) != 0) {
            return ERR_NOMEM;
        }
        sets[i] = (struct group_set){.name = roles[i].name,
                                     .count = roles[i].count,
                                     .spec = json_path(yyjson_doc_get_root(d), "spec")};
    }
    w->sets = sets;
    w->n_sets = n;
    return sets ? 0 : ERR_NOMEM;
}

static int make_owners(struct pod_unit *u, struct group_workload *w) {
    struct owner_reference *v =
        ARENA_ARRAY(&u->c->base.arena, struct owner_reference, u->pods.n + 1);
    for (size_t i = 0; v && i < u->pods.n; i++) {
        v[i] = group_owner("v1", "Pod", u->pods.v[i]->obj, !u->group);
    }
    w->owners = v;
    w->n_owners = u->pods.n;
    return v ? 0 : ERR_NOMEM;
}

/* Of the first set whose pods name a class. */
static struct str class_of(const struct group_workload *w) {
    struct str class = {0};
    for (size_t i = 0; i < w->n_sets && str_empty(class); i++) {
        class = json_str(json_get(w->sets[i].spec, STR("priorityClassName")));
    }
    return class;
}

enum work pod_unit_compose(struct pod_unit *u) {
    struct workload_priority prio;
    struct str_pair *labels = NULL;
    struct group_workload w = {.ns = u->ns, .about = u->first_tree, .group = u->group};
    const struct object *o = u->first->obj;
    struct arena *a = &u->c->base.arena;
    if (make_sets(u, &w) != 0 || make_owners(u, &w) != 0) {
        return WORK_RETRY;
    }
    if (w.n_sets == 0 || w.n_sets > POD_GROUP_ROLES) {
        refuse(u, w.n_sets ? arena_f(a, "a group has at most %d roles", POD_GROUP_ROLES)
                           : STR("no pod of the group can run"));
        return WORK_OK;
    }
    if (!copied_labels(u, &labels, &w.n_labels)) {
        refuse(u, STR("constructing workload: pods have different label values"));
        return WORK_OK;
    }
    if (hold_priority(&u->h, class_of(&w), &prio) != 0) {
        return WORK_RETRY;
    }
    w.name = u->group ? u->name : workload_name("Pod", "", o->name, o->uid, a);
    w.job_uid = u->group ? (struct str){0} : o->uid;
    w.labels = labels;
    w.priority = &prio;
    if (arena_ok(a) != 0) {
        return WORK_RETRY;
    }
    if (u->h.wl_obj != NULL) {
        hold_tell_updated(&u->h);
    }
    return hold_make(&u->h, &w);
}

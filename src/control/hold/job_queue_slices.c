/*
 * job_queue_slices: elastic Jobs, which change their size while they run (job_slices.h). The first line that applies:
 *
 *     one that has ended has its finalizer     it goes
 *     many have ended                          the oldest is removed
 *     neither holder nor next                  Finished: OutOfSync
 *     next, and the holder is evicted, or the
 *       Job is suspended, or wants what the
 *       holder has, or less                    Finished: OutOfSync; then, as without it:
 *     fewer pods than the holder               its counts become smaller, in place
 *     more pods, without quota                 its counts become larger, in place
 *     more pods, with quota, no next           a Workload is made that names the holder
 *     other pods than next has                 its counts change, in place
 *
 * A Workload has one successor at a time. Which Workload replaces which, and that the replaced one ends, is decided by
 * the queue controller (queue_slices.c). Pods of such a Job are made behind a scheduling gate, which is taken off as
 * many pods as the Workload that holds quota has.
 */
#include "control/hold/job_queue_private.h"

#include "control/kit/edit.h"
#include "control/load/pod_gate.h"

enum { UNGATE_MAX = 256 }; /* pods in one round */

static enum work out_of_sync(struct pair *p, const struct object *o, const struct workload *wl) {
    struct hold_look h = {.c = &p->c->base, .settings = p->c->settings, .wl_obj = o, .wl = *wl};
    return o->deleting_ns ? hold_drop_finalizer(&h, o)
                          : hold_end(&h, "OutOfSync",
                                     STR("The workload slice is out of sync with its parent job"));
}

/* The next one has nothing to wait for. */
static bool is_idle(const struct pair *p) {
    const struct job_slice *next = &p->slices.next;
    return next->obj->deleting_ns || p->h.evicted || p->suspended || p->obj->deleting_ns ||
           p->finished ||
           (!p->unclear && (!job_slice_alike(&p->look, next) ||
                            job_slice_size(&p->look, &p->slices.holder) != SLICE_MORE));
}

bool job_queue_slices(struct pair *p, enum work *ret) {
    const struct job_slices *s = &p->slices;
    if (s->ended && s->ended != s->holder.obj) {
        *ret = hold_drop_finalizer(&p->h, s->ended);
    } else if (s->oldest && s->oldest != s->holder.obj) {
        *ret = controller_remove(&p->c->base, s->oldest);
    } else if (s->odd) {
        *ret = out_of_sync(p, s->odd, &s->odd_wl);
    } else if (s->next.obj && is_idle(p)) {
        *ret = out_of_sync(p, s->next.obj, &s->next.wl);
    } else {
        return false;
    }
    return true;
}

/* ---- another size ---- */

static enum work set_counts(struct pair *p, const struct job_slice *s) {
    struct workload_draft was, want;
    struct workload_draft_spec spec;
    struct pod_set_draft_list sets;
    struct buf b;
    buf_init(&b, JOB_QUEUE_BODY_MAX);
    int code = job_slice_draft(&p->look, s, &was, &sets);
    if (code == 0) {
        spec = *was.spec;
        spec.pod_sets = sets;
        want = (struct workload_draft){was.metadata, &spec};
        code = workload_draft_patch(s->obj, EDIT_VERSION, &was, &want, &b);
    }
    recorder_event(p->c->base.recorder, p->obj, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated the size of Workload %.*s/%.*s", STR_ARG(s->obj->ns),
                   STR_ARG(s->obj->name));
    return controller_patch(&p->c->base, s->obj, "", code, &b);
}

static enum work grow(struct pair *p) {
    const struct job_slice *next = &p->slices.next;
    if (next->obj) {
        return job_slice_size(&p->look, next) == SLICE_SAME ? WORK_OK : set_counts(p, next);
    }
    return p->h.evicted ? WORK_OK : job_queue_create(p, &p->slices.holder);
}

bool job_queue_resize(struct pair *p, enum work *ret) {
    const struct job_slice *holder = &p->slices.holder;
    *ret = WORK_OK;
    if (!job_slice_alike(&p->look, holder)) {
        return false;
    }
    enum job_slice_size size = job_slice_size(&p->look, holder);
    if (size == SLICE_SAME) {
        return true;
    }
    if (p->h.reserved && p->suspended) {
        return p->h.evicted ||
               p->h.admitted; /* evicted: once it holds nothing. Else it is made anew */
    }
    *ret = p->h.reserved && size == SLICE_MORE ? grow(p) : set_counts(p, holder);
    return true;
}

/* ---- pods ---- */

struct gates {
    struct pair *p;
    const struct object **v; /* gated, by name */
    size_t n;
    int64_t open;
    bool failed;      /* no memory: not all was read */
    struct arena one; /* of the pod that is looked at */
};

/* What counts is read from the fields: an annotation may say `"phase":"Succeeded"`, too. That no field says so can be
 * told from the text alone, without parsing each pod. */
static yyjson_val *pod_tree(struct gates *g, const struct object *o) {
    yyjson_doc *d;
    arena_reset(&g->one);
    if (object_tree(o, &g->one, &d, NULL) != 0) {
        g->failed = true;
        return NULL;
    }
    return yyjson_doc_get_root(d);
}

static bool is_over(struct gates *g, const struct object *o) {
    if (!str_contains(o->json, STR("\"phase\":\"Succeeded\"")) &&
        !str_contains(o->json, STR("\"phase\":\"Failed\""))) {
        return false;
    }
    struct str phase = json_str(json_path(pod_tree(g, o), "status.phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

static bool is_gated(struct gates *g, const struct object *o) {
    yyjson_val *gate;
    size_t i, n;
    if (!str_contains(o->json, STR("\"" KUEUE_ELASTIC_GATE "\""))) {
        return false;
    }
    yyjson_arr_foreach(json_path(pod_tree(g, o), "spec.schedulingGates"), i, n, gate) {
        if (str_is(json_str_at(gate, "name"), KUEUE_ELASTIC_GATE)) {
            return true;
        }
    }
    return false;
}

static bool gate_each(void *ctx, const struct object *o) {
    struct gates *g = ctx;
    const struct owner_ref *owner = o->kind == g->p->c->pods ? object_controller(o) : NULL;
    if (owner == NULL || !str_eq(owner->uid, g->p->obj->uid)) {
        return true;
    }
    bool over = is_over(g, o), gated = is_gated(g, o);
    if (gated && !over && !o->deleting_ns) {
        g->v[g->n++] = o;
    }
    g->open += !gated && !over;
    return true;
}

static int by_name(const void *a, const void *b) {
    return str_cmp((*(const struct object *const *)a)->name,
                   (*(const struct object *const *)b)->name);
}

static enum work open_gates(struct pair *p, const struct object *const *v, size_t n) {
    struct round *r = controller_begin(&p->c->base);
    struct buf b;
    for (size_t i = 0; r && i < n; i++) {
        buf_init(&b, JOB_QUEUE_BODY_MAX);
        int code = pod_gate_drop(v[i], KUEUE_ELASTIC_GATE, NULL, &p->c->base.arena, &b);
        if (code == 0) {
            round_patch(r, v[i]->kind, v[i]->ns, v[i]->name, "", PATCH_MERGE, buf_view(&b));
        } else if (code != ERR_NOT_FOUND) {
            round_fail(r, code);
        }
        buf_release(&b);
    }
    return r ? round_end(r) : WORK_RETRY;
}

/* By what it holds now: a smaller size counts at once. */
static int64_t granted(const struct pair *p) {
    int64_t n = 0;
    for (size_t i = 0; i < p->h.wl.spec->pod_sets.n; i++) {
        n += p->h.wl.spec->pod_sets.v[i].count;
    }
    return n;
}

enum work job_queue_ungate(struct pair *p) {
    struct gates g = {.p = p};
    if (!p->elastic || !p->h.admitted || p->n_pods == 0) {
        return WORK_OK;
    }
    g.v = arena_alloc(&p->c->base.arena, p->n_pods * sizeof *g.v);
    if (g.v == NULL) {
        return WORK_RETRY;
    }
    arena_init(&g.one, LIMIT_OBJECT_BYTES * 8);
    mirror_owned(p->c->base.env.mirror, p->obj, gate_each, &g);
    arena_release(&g.one);
    if (g.failed) {
        return WORK_RETRY;
    }
    int64_t room = granted(p) - g.open;
    if (room <= 0 || g.n == 0) {
        return WORK_OK;
    }
    qsort(g.v, g.n, sizeof *g.v, by_name);
    size_t n = (int64_t)g.n < room ? g.n : (size_t)room;
    return open_gates(p, g.v, n < UNGATE_MAX ? n : UNGATE_MAX);
}

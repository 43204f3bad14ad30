/*
 * queue_slices: Workloads of elastic Jobs. A Job that asks for more pods while it runs gets a second Workload that
 * names the first (control/load/job_slices.h); the engine gives it the difference (core/admit/engine.h: a holder that
 * grows or shrinks).
 *
 *     the second                          the first
 *     waits                               goes on
 *     is given the difference             goes on; what it holds is promised to the second
 *     its admission is written            the engine forgets it; Finished: WorkloadSliceReplaced
 *
 * The names in annotations prove nothing: both have to be controlled by one Job of their namespace, by its uid, which
 * is elastic; and the engine compares their pod sets. Whoever may not admit Workloads may not write the annotation
 * either (server/auth/policy_protect.c).
 */
#include "api/meta.h"
#include "control/load/job_slices.h"
#include "control/load/workload_status.h"
#include "control/queue/queue_private.h"

bool queue_slice_elastic(const struct queue_controller *c, const struct workload *w) {
    return c->settings->gates.elastic_jobs &&
           str_is(meta_annotation(w->metadata, KUEUE_ELASTIC_ANNOTATION), "true");
}

static const struct object *object_of(const struct queue_controller *c, const struct workload *w) {
    return mirror_get(c->env->mirror, c->base.kinds[QK_WORKLOAD], w->metadata->namespace,
                      w->metadata->name);
}

/* The elastic Job that made the Workload; NULL: none did. */
static const struct object *job_of(const struct queue_controller *c, const struct object *wl) {
    const struct owner_ref *ref = wl != NULL ? object_controller(wl) : NULL;
    const struct object *job = ref != NULL ? mirror_owner(c->env->mirror, wl->ns, ref) : NULL;
    bool ours = job != NULL && job_kind_resizes(job->kind) &&
                str_eq(object_label(wl, STR(KUEUE_JOB_UID_LABEL)), job->uid);
    return ours ? job : NULL;
}

struct str queue_slice_prior(struct queue_controller *c, const struct workload *w) {
    struct str ns, name, key = meta_annotation(w->metadata, KUEUE_SLICE_REPLACES);
    if (str_empty(key) || !queue_slice_elastic(c, w) || !str_cut(key, '/', &ns, &name) ||
        !str_eq(ns, w->metadata->namespace)) {
        return (struct str){0};
    }
    const struct object *prior = mirror_get(c->env->mirror, c->base.kinds[QK_WORKLOAD], ns, name);
    const struct object *job = job_of(c, object_of(c, w));
    return prior != NULL && job != NULL && job_of(c, prior) == job ? prior->uid : (struct str){0};
}

/* ---- who replaces it? ---- */

struct heirs {
    struct queue_controller *c;
    struct str uid;
    const struct object *heir;
    int left;
};

static bool heir_each(void *ctx, const struct object *o) {
    struct heirs *h = ctx;
    const struct queue_work *q =
        o->kind == h->c->base.kinds[QK_WORKLOAD] ? map_get(&h->c->by_uid, o->uid) : NULL;
    if (q == NULL || !q->written || str_eq(o->uid, h->uid) ||
        !str_contains(o->json, STR(KUEUE_SLICE_REPLACES))) {
        return true;
    }
    const struct workload *w = queue_decode(h->c, o);
    if (w != NULL && str_eq(queue_slice_prior(h->c, w), h->uid)) {
        h->heir = o;
    }
    return h->heir == NULL && --h->left > 0;
}

const struct object *queue_slice_heir(struct queue_controller *c, const struct workload *w) {
    const struct object *o = object_of(c, w);
    const struct owner_ref *ref = o != NULL ? object_controller(o) : NULL;
    struct heirs h = {.c = c, .uid = w->metadata->uid, .left = JOB_SLICES_MAX};
    if (ref != NULL) {
        mirror_siblings(c->env->mirror, o->ns, ref, heir_each, &h);
    }
    return h.heir;
}

enum work queue_slice_finish(struct queue_controller *c, const struct object *o,
                             const struct workload *w, struct queue_work *q,
                             const struct object *heir) {
    struct workload_change ch;
    struct str text =
        arena_f(&c->base.arena,
                "Replaced to accommodate a workload (UID: %.*s, JobUID: %.*s) due to "
                "workload slice aggregation",
                STR_ARG(heir->uid), STR_ARG(object_label(heir, STR(KUEUE_JOB_UID_LABEL))));
    (void)queue_count(c, q, QW_IDLE);
    mem_free(q->victim);
    q->victim = NULL;
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->env->clock));
    workload_change_set(&ch, "Finished", true, "WorkloadSliceReplaced", text);
    queue_tell(q, EVENT_NORMAL, "WorkloadSliceReplaced", "%.*s", STR_ARG(text));
    return queue_change_write(c, &ch);
}

/* ---- what it holds ---- */

int queue_slice_hold(struct queue_controller *c, const struct workload_input *in,
                     const struct held_amount *held, size_t n) {
    int r = engine_workload_resize(c->engine, in, held, n);
    struct queue_work *prior =
        r == 0 && !str_empty(in->replaces) ? map_get(&c->by_uid, in->replaces) : NULL;
    if (prior != NULL && prior->written) {
        prior->written = false; /* pods are the other's from here on */
        (void)queue_count(c, prior, QW_IDLE);
        queue_look(c, QS_WORKLOAD, prior->ns, prior->name, 0);
    }
    return r;
}

int queue_slice_held(struct queue_controller *c, struct str uid, const struct held_amount **held,
                     size_t *n) {
    struct str queue, prior = engine_workload_prior(c->engine, uid);
    size_t had = 0;
    const struct held_amount *more =
        str_empty(prior) ? NULL : engine_workload_held(c->engine, prior, &had, &queue);
    if (more == NULL) {
        return 0;
    }
    struct held_amount *v = ARENA_ARRAY(&c->base.arena, struct held_amount, *n + had + 1);
    size_t count = *n;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < *n; i++) {
        v[i] = (*held)[i];
    }
    for (size_t i = 0; i < had; i++) {
        size_t k = 0;
        while (k < count && (v[k].set != more[i].set || v[k].flavor != more[i].flavor ||
                             v[k].resource != more[i].resource)) {
            k++;
        }
        if (k < count) {
            v[k].v = amount_add(v[k].v, more[i].v);
        } else {
            v[count++] = more[i];
        }
    }
    *held = v;
    *n = count;
    return 0;
}

void queue_slice_pod_gone(struct queue_controller *c, struct str pod) {
    struct pool *pool = engine_pool(c->engine);
    const struct seat *s = pool_pod_seat(pool, pod);
    const struct queue_work *q =
        s != NULL && !str_empty(s->workload) ? map_get(&c->by_uid, s->workload) : NULL;
    pool_pod_gone(pool, pod);
    if (q != NULL && q->elastic) {
        engine_workload_trim(c->engine, q->uid);
    }
}

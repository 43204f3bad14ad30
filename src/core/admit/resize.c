/* resize (core): see resize.h. */
#include "core/admit/resize.h"

#include "core/admit/engine_private.h"
#include "core/queue/alike.h"

struct queue_workload *resize_prior(const struct engine *e, const struct queue_workload *w) {
    struct queue_workload *p = str_empty(w->replaces) ? NULL : engine_workload(e, w->replaces);
    bool fits = p != NULL && p != w && p->state == WORKLOAD_HOLDING && p->queue == w->queue &&
                !p->evicting && p->heir == NULL && workload_resized(p, w);
    return fits ? p : NULL;
}

static int32_t more_pods(const struct queue_workload *w, const struct queue_workload *prior,
                         size_t set) {
    int32_t now = w->sets[set].count, had = prior->sets[set].count;
    return now > had ? now - had : 0;
}

const int32_t *resize_counts(struct arena *tick, const struct queue_workload *w,
                             const struct queue_workload *prior) {
    int32_t *v = ARENA_ARRAY(tick, int32_t, w->n_sets + 1);
    for (size_t i = 0; v != NULL && i < w->n_sets; i++) {
        v[i] = more_pods(w, prior, i);
    }
    return v;
}

bool resize_same(const struct engine *e, const struct queue_workload *w, const int32_t *counts) {
    const struct queue_workload *p = resize_prior(e, w);
    bool same = p != NULL;
    for (size_t i = 0; same && i < w->n_sets; i++) {
        same = counts[i] == more_pods(w, p, i);
    }
    return same;
}

int64_t resize_flavor(const struct queue_workload *prior, uint32_t set, uint32_t resource) {
    for (size_t i = 0; i < prior->n_held; i++) {
        if (prior->held[i].set == set && prior->held[i].resource == resource) {
            return prior->held[i].flavor;
        }
    }
    return -1;
}

int32_t resize_ordinal(const struct pool *p, const struct queue_workload *w, struct str set) {
    int32_t next = 0;
    for (const struct seat *s = pool_workload_first(p, w->replaces); s != NULL; s = s->group_next) {
        next = str_eq(s->set, set) && s->ordinal >= next && s->ordinal < INT32_MAX ? s->ordinal + 1
                                                                                   : next;
    }
    return next;
}

/* ---- the heir ---- */

void resize_promise(struct engine *e, struct queue_workload *w) {
    struct queue_workload *p = resize_prior(e, w);
    if (p != NULL) {
        p->heir = w;
    }
}

/* The holder that w is the heir of. */
static struct queue_workload *prior_of(const struct engine *e, const struct queue_workload *w) {
    struct queue_workload *p = str_empty(w->replaces) ? NULL : engine_workload(e, w->replaces);
    return p != NULL && p->heir == w ? p : NULL;
}

/* There is room for all of them (cycle_process.c: admit). */
static void held_join(struct queue_workload *to, struct queue_workload *from) {
    for (size_t i = 0; i < from->n_held; i++) {
        const struct held_amount *x = &from->held[i];
        size_t k = 0;
        while (k < to->n_held && (to->held[k].set != x->set || to->held[k].flavor != x->flavor ||
                                  to->held[k].resource != x->resource)) {
            k++;
        }
        if (k < to->n_held) {
            to->held[k].v = amount_add(to->held[k].v, x->v);
        } else {
            to->held[to->n_held++] = *x;
        }
    }
    from->n_held = 0;
}

/* Quota and seats change hands; no cell of the quota tree notices. */
static void inherit(struct engine *e, struct queue_workload *w, struct queue_workload *prior) {
    chosen_gone(e, prior);
    chosen_gone(e, w);
    if (prior->usage == USAGE_ADMITTED) {
        engine_workload_admitted(e, w->uid); /* it goes on as that does */
    }
    usage_give(&e->queues.usage, prior);
    usage_give(&e->queues.usage, w);
    held_join(w, prior);
    prior->heir = NULL;
    holder_unlist(prior); /* it has nothing to give any more */
    (void)usage_take(&e->queues.usage, prior, false);
    (void)usage_take(&e->queues.usage, w, false);
    (void)pool_workload_move(e->pool, prior->uid,
                             w->uid); /* no memory: its pods keep their seats */
}

void resize_take(struct engine *e, struct queue_workload *w) {
    struct queue_workload *p = prior_of(e, w);
    if (p != NULL) {
        inherit(e, w, p);
    }
}

void resize_release(struct engine *e, struct queue_workload *w) {
    struct queue_workload *p = prior_of(e, w);
    if (p != NULL) {
        p->heir = NULL;
    }
    if (w->heir != NULL) {
        inherit(e, w->heir, w);
    }
}

struct str engine_workload_prior(const struct engine *e, struct str uid) {
    const struct queue_workload *w = engine_workload(e, uid);
    const struct queue_workload *p = w != NULL ? prior_of(e, w) : NULL;
    return p != NULL ? p->uid : (struct str){0};
}

/* ---- the end of it ---- */

void engine_workload_trim(struct engine *e, struct str uid) {
    const struct queue_workload *w = engine_workload(e, uid);
    for (size_t i = 0; w != NULL && w->state == WORKLOAD_HOLDING && i < w->n_sets; i++) {
        pool_workload_trim(e->pool, uid, w->sets[i].name, w->sets[i].count);
    }
}

int engine_workload_resize(struct engine *e, const struct workload_input *in,
                           const struct held_amount *held, size_t n) {
    int r = engine_workload_hold(e, in, held, n);
    const struct queue_workload *p =
        r == 0 && !str_empty(in->replaces) ? engine_workload(e, in->replaces) : NULL;
    if (p != NULL && p->state == WORKLOAD_HOLDING && !str_eq(p->uid, in->uid)) {
        (void)pool_workload_move(e->pool, p->uid, in->uid);
        engine_workload_del(e, in->replaces);
    }
    if (r == 0) {
        engine_workload_trim(e, in->uid);
    }
    return r;
}

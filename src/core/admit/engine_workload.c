/* engine_workload (core): workloads in and out: those that wait, and those that hold quota. */
#include "base/limits.h"
#include "core/admit/engine_private.h"
#include "core/admit/resize.h"
#include "core/admit/scan.h"
#include "core/queue/alike.h"

void engine_charge(struct engine *e, size_t heads) {
    e->left -= heads < e->left ? heads : e->left;
}

/* ---- holders ---- */

void engine_not_ready(struct engine *e, struct queue_workload *w, bool not_ready) {
    if (w->not_ready != not_ready) {
        w->not_ready = not_ready;
        e->n_not_ready += not_ready ? 1 : (size_t)-1;
    }
}

/* Gives quota and seats back. undone: the admission did not happen. */
static void quota_return(struct engine *e, struct queue_workload *w, bool undone) {
    struct queue *q = w->queue;
    bool own = w->evicting || undone; /* a consequence of what was decided here */
    resize_release(e, w);
    chosen_gone(e, w);
    usage_give(&e->queues.usage, w);
    w->usage = USAGE_HELD;
    holder_unlist(w);
    (void)holder_move(&e->forest, w, -1);
    mem_free(w->held);
    w->held = NULL;
    w->n_held = 0;
    pool_workload_gone(e->pool, w->uid);
    q->n_evicting -= w->evicting;
    w->evicting = false;
    engine_not_ready(e, w, false);
    q->n_holding--;
    q->generation++;
    w->state = WORKLOAD_IDLE;
    if (tree_valid(q)) {
        q->tree->era += !own;
        tree_retry(q);
    }
}

/* Out of everything but the map. */
static void workload_leave(struct engine *e, struct queue_workload *w) {
    struct queue *q = w->queue;
    if (q->preemptor == w) {
        queue_unclaim(q);
    }
    if (w->state == WORKLOAD_HOLDING) {
        quota_return(e, w, false);
    } else {
        bool head = w->state == WORKLOAD_FLIGHT || queue_head(q) == w;
        if (w->state == WORKLOAD_FLIGHT) {
            cycle_forget(&e->cycle, w);
        }
        queue_forget(w);
        if (head) {
            tree_wake(q); /* another one is, now */
        }
    }
    class_leave(w);
}

void engine_workload_drop(struct engine *e, struct queue_workload *w) {
    workload_leave(e, w);
    map_del(&e->workloads, w->uid);
    workload_free(w);
}

void engine_workload_del(struct engine *e, struct str uid) {
    struct queue_workload *w = engine_workload(e, uid);
    if (w != NULL) {
        if (w->queue->preemptor == w) {
            queue_unclaim(w->queue);
        }
        preemptor_gone(w);
        engine_workload_drop(e, w);
    }
}

bool engine_workload_known(const struct engine *e, struct str uid, bool *ret_holds) {
    const struct queue_workload *w = engine_workload(e, uid);
    if (w != NULL) {
        *ret_holds = w->state == WORKLOAD_HOLDING;
    }
    return w != NULL;
}

const struct held_amount *engine_workload_held(const struct engine *e, struct str uid,
                                               size_t *ret_n, struct str *ret_queue) {
    const struct queue_workload *w = engine_workload(e, uid);
    if (w == NULL || w->state != WORKLOAD_HOLDING) {
        return NULL;
    }
    *ret_n = w->n_held;
    *ret_queue = w->queue->name;
    return w->held;
}

static int input_check(const struct engine *e, const struct workload_input *in, bool known) {
    int64_t pods = 0;
    for (size_t i = 0; i < in->n_sets; i++) {
        pods += in->sets[i].count > 0 ? in->sets[i].count : 0;
    }
    bool many =
        pods > LIMIT_WORKLOAD_PODS || (!known && map_count(&e->workloads) >= e->o.workloads_max);
    return many ? ERR_TOO_MANY : 0;
}

/* ---- waiting ---- */

/* To the heap, or beside its likes that are parked already. Never fails: without memory it is parked, and tried again
 * with its tree. */
static void enqueue(struct queue_workload *w) {
    struct queue *q = w->queue;
    bool again = w->class->parked && w->class->wants_place;
    if (again) {
        class_unpark(w->class); /* one that joins looks for a place itself, with all */
    }
    if (queue_push(w) != 0) {
        queue_park(w);
        tree_retry(q);
    } else if (!w->class->parked && (again || queue_head(q) == w)) {
        tree_wake(q); /* another head: itself, or the first of those that it joined */
    }
}

/* Nothing new but a gate or a check. */
static int put_same(struct engine *e, struct queue_workload *w, const struct workload_input *in) {
    bool changed = w->gated != in->gated || w->failed_checks != in->failed_checks;
    workload_flags(w, in);
    if (!changed) {
        return 0;
    }
    if (w->state == WORKLOAD_PARKED) {
        queue_forget(w);
        enqueue(w);
    }
    tree_wake(w->queue);
    return 0;
}

int engine_workload_put(struct engine *e, const struct workload_input *in) {
    struct queue *q = map_get(&e->queues.by_name, in->queue);
    struct queue_workload *old = engine_workload(e, in->uid), *w;
    if (q == NULL) {
        return ERR_NOT_FOUND;
    }
    int r = input_check(e, in, old != NULL);
    if (r != 0) {
        return r;
    }
    if (old != NULL && old->state != WORKLOAD_HOLDING && old->queue == q &&
        old->queued_ns == in->queued_ns && str_eq(old->local, in->local) &&
        workload_says(&e->resources, old, in)) {
        return put_same(e, old, in);
    }
    r = workload_new(&e->resources, in, q, &w);
    if (r != 0) {
        return r;
    }
    r = class_join(q, w);
    if (r == 0) {
        r = map_put(&e->workloads, w->uid, w, NULL);
    }
    if (r != 0) {
        class_leave(w);
        workload_free(w);
        return r;
    }
    if (old != NULL) {
        if (old->queue == q && old->priority != w->priority) {
            tree_retry(q);
        }
        if (old->queue != q) {
            preemptor_gone(old);
        }
        workload_leave(e, old);
        workload_free(old);
    }
    enqueue(w);
    return 0;
}

int engine_workload_undo(struct engine *e, struct str uid) {
    struct queue_workload *w = engine_workload(e, uid);
    if (w == NULL || w->state != WORKLOAD_HOLDING) {
        return 0;
    }
    int r = class_join(w->queue, w);
    if (r != 0) {
        return r;
    }
    quota_return(e, w, true);
    scan_clear(w);
    enqueue(w);
    return 0;
}

/* ---- holding ---- */

/* What is held becomes `held`; quota follows. Failure changes nothing. */
static int held_set(struct engine *e, struct queue_workload *w, const struct held_amount *held,
                    size_t n) {
    struct held_amount *copy = mem_array(n + 1, sizeof(*copy));
    int r = copy != NULL ? 0 : ERR_NOMEM;
    struct quota_node *node = w->queue->node;
    for (size_t i = 0; i < n; i++) {
        if (quota_cell_of(node, quota_pair(held[i].flavor, held[i].resource)) == NULL) {
            cycle_edits(e, node); /* it gets a cell */
        }
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        r = quota_hold(&e->forest, node, quota_pair(held[i].flavor, held[i].resource), held[i].v);
        copy[i] = held[i];
        for (size_t k = i; r != 0 && k > 0; k--) {
            quota_hold(&e->forest, node, quota_pair(held[k - 1].flavor, held[k - 1].resource),
                       -held[k - 1].v);
        }
    }
    if (r != 0) {
        mem_free(copy);
        return r;
    }
    (void)holder_move(&e->forest, w, -1);
    mem_free(w->held);
    w->held = copy;
    w->n_held = (uint32_t)n;
    return 0;
}

static bool held_same(const struct queue_workload *w, const struct held_amount *held, size_t n) {
    bool same = w->n_held == n;
    for (size_t i = 0; same && i < n; i++) {
        same = w->held[i].set == held[i].set && w->held[i].flavor == held[i].flavor &&
               w->held[i].resource == held[i].resource && w->held[i].v == held[i].v;
    }
    return same;
}

static void holder_flags(struct engine *e, struct queue_workload *w,
                         const struct workload_input *in) {
    holder_unlist(w);
    workload_flags(w, in);
    w->reserved_ns = in->reserved_ns != 0 ? in->reserved_ns : w->reserved_ns;
    engine_not_ready(e, w, in->not_ready);
    holder_evicting(w, in->evicting);
}

/* It holds something else now; the ledger of its LocalQueue follows. */
static int hold_other(struct engine *e, struct queue_workload *w, const struct held_amount *held,
                      size_t n) {
    if (held_same(w, held, n)) {
        return 0;
    }
    chosen_gone(e, w);
    usage_give(&e->queues.usage, w);
    int r = held_set(e, w, held, n);
    int taken = usage_take(&e->queues.usage, w, false);
    if (r == 0 && tree_valid(w->queue)) {
        w->queue->generation++;
        w->queue->tree->era++;
        tree_retry(w->queue); /* it may hold less now */
    }
    return r != 0 ? r : taken;
}

/* The same holder by another spec. */
static int hold_anew(struct engine *e, struct queue_workload **old,
                     const struct workload_input *in) {
    struct queue_workload *w, *o = *old;
    int r = workload_new(&e->resources, in, o->queue, &w);
    if (r != 0) {
        return r;
    }
    chosen_gone(e, o);
    usage_give(&e->queues.usage, o);
    holder_unlist(o);
    w->state = WORKLOAD_HOLDING;
    w->held = o->held;
    w->n_held = o->n_held;
    w->evicting = o->evicting;
    w->not_ready = o->not_ready;
    w->reserved_ns = o->reserved_ns;
    w->usage = o->usage;
    o->held = NULL;
    map_put(&e->workloads, w->uid, w, NULL); /* replaces */
    workload_free(o);
    *old = w;
    return usage_take(&e->queues.usage, w, false);
}

static int hold_new(struct engine *e, const struct workload_input *in, struct queue *q,
                    const struct held_amount *held, size_t n) {
    struct queue_workload *old = engine_workload(e, in->uid), *w;
    int r = input_check(e, in, old != NULL);
    if (r != 0) {
        return r;
    }
    r = workload_new(&e->resources, in, q, &w);
    if (r != 0) {
        return r;
    }
    r = map_put(&e->workloads, w->uid, w, NULL);
    if (r == 0) {
        r = held_set(e, w, held, n);
    }
    if (r == 0) {
        r = usage_take(&e->queues.usage, w, false);
        if (r != 0) {
            (void)holder_move(&e->forest, w, -1);
        }
    }
    if (r != 0) {
        if (old == NULL) {
            map_del(&e->workloads, w->uid);
        } else {
            map_put(&e->workloads, old->uid, old, NULL); /* replaces */
        }
        workload_free(w);
        return r;
    }
    if (old != NULL) {
        preemptor_gone(old);
        workload_leave(e, old);
        workload_free(old);
    }
    w->state = WORKLOAD_HOLDING;
    q->n_holding++;
    holder_flags(e, w, in);
    return 0;
}

int engine_workload_hold(struct engine *e, const struct workload_input *in,
                         const struct held_amount *held, size_t n) {
    struct queue *q = map_get(&e->queues.by_name, in->queue);
    struct queue_workload *w = engine_workload(e, in->uid);
    if (q == NULL) {
        return ERR_NOT_FOUND;
    }
    if (w == NULL || w->state != WORKLOAD_HOLDING || w->queue != q) {
        return hold_new(e, in, q, held, n);
    }
    if (w->heir != NULL) {
        return 0; /* it is being replaced, by what it held when that was decided */
    }
    resize_take(e, w);
    /* It stays after all; or it may be a victim now, or no more. */
    bool again = (w->evicting && !in->evicting) || w->priority != in->priority;
    int r = 0;
    preemptor_gone(w); /* what is written was seen */
    if (!str_eq(w->local, in->local) || !workload_says(&e->resources, w, in)) {
        r = hold_anew(e, &w, in);
    }
    if (r == 0) {
        r = hold_other(e, w, held, n);
    }
    if (r == 0) {
        holder_flags(e, w, in);
    } else {
        holder_list(w);
    }
    if (r == 0 && again) {
        tree_retry(q);
    }
    return r;
}

void engine_workload_admitted(struct engine *e, struct str uid) {
    struct queue_workload *w = engine_workload(e, uid);
    if (w != NULL && w->state == WORKLOAD_HOLDING && w->usage != USAGE_ADMITTED) {
        usage_admitted(&e->queues.usage, w);
    }
}

void engine_workload_keep(struct engine *e, struct str uid) {
    struct queue_workload *w = engine_workload(e, uid);
    if (w != NULL && w->state == WORKLOAD_HOLDING && w->evicting) {
        holder_evicting(w, false);
        tree_retry(w->queue);
    }
}

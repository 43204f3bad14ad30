/*
 * cycle_requeue (core): after a cycle: requeues or parks each head that was not admitted, and reports why.
 *
 *     StrictFIFO       back to the heap, always: it blocks its queue
 *     BestEffortFIFO   back at once when it was only outrun, when its victims are on their way out, or when flavors are
 *                      left to try; otherwise parked: alone when the reason is its own, with its class when all alike
 *                      would fare alike
 */
#include "core/admit/engine_private.h"
#include "core/admit/scan.h"
#include "core/admit/seat.h"

/* Its likes are told at once as far as the budget goes, the others later. */
static int tell_alike(struct engine *e, struct queue_class *c, const struct verdict *v,
                      const struct considered *k) {
    class_tell(c, v->reason);
    while (c->telling && e->left > 0) {
        struct queue_workload *w = c->first;
        if (w == NULL || w->told == c->told) {
            class_tell_end(c);
            break;
        }
        struct engine_action a = {.type = ACTION_PEND,
                                  .uid = w->uid,
                                  .queue = w->queue->name,
                                  .verdict = v,
                                  .alike = true,
                                  .considered = k};
        int r = cycle_action_add(&e->cycle, &a);
        if (r != 0) {
            return r; /* they stay in the list */
        }
        class_told(c, w);
        e->left--;
    }
    return 0;
}

static int park_alike(struct engine *e, struct cycle_entry *n, bool place) {
    struct queue_workload *w = n->w;
    struct queue_class *c = w->class;
    e->cycle.progress++;
    scan_clear(w);
    w->missed_place = false;
    queue_park_alike(w, place, n->a.verdict->reason);
    class_told(c, w);
    queue_return(w);
    if (place) {
        tree_placeless(w->queue);
    }
    return tell_alike(e, c, n->a.verdict, n->a.considered);
}

static void park_alone(struct engine *e, struct queue_workload *w) {
    e->cycle.progress++;
    scan_clear(w);
    queue_park(w);
}

/* The workload that stays first in its queue, because its victims are on their way out. What it comes to later does not
 * change that (queue.h). */
static void preemptor_note(struct queue *q, const struct cycle_entry *n) {
    if (n->outcome == OUTCOME_PREEMPTING || n->outcome == OUTCOME_DEFERRED) {
        preemptor_set(q, n->w);
    }
}

/* Places are kept while victims leave, also when its scan passes by a flavor without a place: they would be free for an
 * instant, and everybody who waits for one would be woken. What leaves may be the node's to say. */
static void claims_note(struct engine *e, struct queue *q, const struct cycle_entry *n, bool left) {
    if (n->outcome != OUTCOME_PREEMPTING && n->outcome != OUTCOME_AGAIN && !left) {
        queue_unclaim(q);
    } else if (q->claims) {
        tree_placeless(q);
    }
}

/* All its flavors were looked at for room, and some had no place: once more, and now victims may go for a place. */
static bool looks_for_victims(struct engine *e, const struct cycle_entry *n, bool missed_before) {
    struct queue_workload *w = n->w;
    const struct queue *q = w->queue;
    bool asked = w->place_round || (n->outcome == OUTCOME_NO_PLACE && !missed_before);
    w->place_round = w->missed_place && !asked && q->when_can_preempt == FUNGIBILITY_NEXT &&
                     (q->within_queue != PREEMPT_NEVER || q->reclaim != PREEMPT_NEVER);
    e->cycle.moved = e->cycle.moved || w->place_round;
    return w->place_round;
}

/* Parked after its last flavor, though something was freed since it tried the first, or others of its cycle kept one
 * from it and may have come to nothing themselves: it begins anew. */
static bool begins_anew(const struct engine *e, const struct queue_workload *w) {
    return !e->as_kueue && w->has_tried && (w->outrun || w->scan_retries != e->cycle.tree->retries);
}

static int parked(struct engine *e, struct cycle_entry *n) {
    struct queue_workload *w = n->w;
    switch (n->outcome) {
    case OUTCOME_GATED:
    case OUTCOME_FAILED_CHECKS:
    case OUTCOME_REFUSED:
        park_alone(e, w);
        return 0;
    default:
        break;
    }
    bool no_place = n->outcome == OUTCOME_NO_PLACE;
    if (begins_anew(e, w) && (!no_place || w->outrun)) {
        scan_clear(w);
        e->cycle.moved = true;
        queue_return(w);
        return 0;
    }
    return park_alike(e, n, no_place || w->missed_place);
}

/* A flavor that had quota but no place is followed by the next one, at once; when there is none left, the workload
 * waits for a place, whatever the last flavor lacked, and starts again with the first. */
int entry_requeue(struct engine *e, struct cycle_entry *n) {
    struct queue_workload *w = n->w;
    struct queue *q = w->queue;
    bool left = scan_left(w), no_place = n->outcome == OUTCOME_NO_PLACE;
    bool again = n->outcome == OUTCOME_AGAIN || n->outcome == OUTCOME_PREEMPTING ||
                 n->outcome == OUTCOME_DEFERRED;
    q->flight = NULL;
    w->state = WORKLOAD_IDLE;
    preemptor_note(q, n);
    claims_note(e, q, n, left);
    struct engine_action a = {.type = ACTION_PEND,
                              .uid = w->uid,
                              .queue = q->name,
                              .verdict = n->a.verdict,
                              .considered = n->a.considered};
    bool says_more = w->missed_place && !no_place; /* that a place is missing */
    int r = says_more ? 0 : cycle_action_add(&e->cycle, &a);
    bool missed_before = w->missed_place;
    w->missed_place = w->missed_place || no_place;
    w->outrun = w->outrun || (n->outcome == OUTCOME_AGAIN && left);
    if (r != 0) {
        queue_return(w);
        return r;
    }
    if (!again && !left && looks_for_victims(e, n, missed_before)) {
        w->missed_place = false;
        scan_clear(w);
        queue_return(w);
        return 0;
    }
    if (again || left || q->strict) {
        if (w->missed_place && !left) {
            tree_placeless(q);
            w->missed_place = false;
        }
        queue_return(w);
        return 0;
    }
    return parked(e, n);
}

/* ---- those not told yet ---- */

/* What the members of a parked class wait for, by its first. *ret_v NULL: there is nothing to say. */
static int class_verdict(struct engine *e, struct queue_class *c, struct cycle_entry *n,
                         const struct verdict **ret_v) {
    n->w = c->first;
    *ret_v = NULL;
    scan_clear(n->w);
    int r = assign_flavors(e, n->w, NULL, NULL, &n->a);
    if (r != 0) {
        return r;
    }
    if (n->a.mode == MODE_FIT && c->wants_place) {
        bool ok, seated;
        r = seat_entry(e, n, &ok, &seated);
        if (r == 0 && !ok) {
            *ret_v = n->a.verdict;
            return 0;
        }
        pool_undo(e->pool, n->w->uid);
    }
    if (n->a.mode == MODE_FIT) {
        tree_retry(c->queue); /* it need not wait */
        return r;
    }
    if (n->a.mode != MODE_NO_FIT) {
        n->a.verdict->reason = PEND_WAITING_FOR_QUOTA;
    }
    *ret_v = n->a.verdict;
    return r;
}

int tell_some(struct engine *e) {
    while (e->queues.tell != NULL && e->left > 0) {
        struct queue_class *c = e->queues.tell;
        struct cycle_entry n = {0};
        const struct verdict *v = NULL;
        int r = 0;
        if (c->parked && c->queue->active && c->first != NULL && c->first->told != c->told) {
            r = class_verdict(e, c, &n, &v);
        }
        if (r == 0 && v != NULL) {
            e->left += e->left == 0; /* what the reason cost has been paid: at least one is told */
            r = tell_alike(e, c, v, n.a.considered);
        } else if (r == 0) {
            e->left--;
            class_tell_end(c);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

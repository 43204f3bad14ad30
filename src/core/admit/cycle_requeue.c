/*
 * cycle_requeue (core): after a cycle: sends each head that was not admitted where requeue.h says, and reports why it
 * waits; then those that are parked beside it.
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
    queue_park_alike(w, place, (int)n->a.verdict->reason);
    class_told(c, w);
    queue_return(w);
    if (place) {
        tree_placeless(w->queue);
    }
    return tell_alike(e, c, n->a.verdict, n->a.considered);
}

/* ---- by the table ---- */

static enum requeue_round round_of(const struct queue_workload *w, bool left) {
    bool missed = scan_missed(w);
    if (left) {
        return missed ? REQUEUE_LEFT_MISSED : REQUEUE_LEFT;
    }
    if (scan_seeks(w)) {
        return missed ? REQUEUE_SOUGHT_MISSED : REQUEUE_SOUGHT;
    }
    return missed ? REQUEUE_DONE_MISSED : REQUEUE_DONE;
}

/* Something was freed since it tried the first flavor, or others of its cycle kept one from it and may have come to
 * nothing themselves. */
static enum requeue_news news_of(const struct engine *e, const struct queue_workload *w) {
    if (e->as_kueue || w->progress == SCAN_NEW) {
        return REQUEUE_NO_NEWS;
    }
    if (w->progress == SCAN_OUTRUN) {
        return REQUEUE_OUTRUN;
    }
    return w->scan.retries != e->cycle.tree->retries ? REQUEUE_FREED : REQUEUE_NO_NEWS;
}

static enum requeue_policy policy_of(const struct queue *q) {
    bool seeks = q->when_can_preempt == FUNGIBILITY_NEXT &&
                 (q->within_queue != PREEMPT_NEVER || q->reclaim != PREEMPT_NEVER);
    if (q->strict) {
        return seeks ? REQUEUE_STRICT_SEEKS : REQUEUE_STRICT;
    }
    return seeks ? REQUEUE_BEST_EFFORT_SEEKS : REQUEUE_BEST_EFFORT;
}

/* The workload stays first in its queue whose victims are on their way out. What it comes to later does not change
 * that (queue.h). Places are kept while they leave, also when its scan passes by a flavor without a place: they would
 * be free for an instant, and everybody who waits for one would be woken. What leaves may be the node's to say. */
static void victims_note(const struct cycle_entry *n, struct queue *q, bool keeps_places) {
    if (n->outcome == OUTCOME_PREEMPTING || n->outcome == OUTCOME_DEFERRED) {
        preemptor_set(q, n->w);
    }
    if (!keeps_places) {
        queue_unclaim(q);
    } else if (q->claims) {
        tree_placeless(q);
    }
}

/* What the scan is to remember of this cycle, and of its round where that is over. */
static void scan_note(struct queue_workload *w, bool left, enum outcome outcome,
                      struct requeue to) {
    bool again = outcome == OUTCOME_AGAIN;
    bool over = !left && !again && outcome != OUTCOME_PREEMPTING && outcome != OUTCOME_DEFERRED;
    bool missed = scan_missed(w) || outcome == OUTCOME_NO_PLACE;
    if (again && left) {
        w->progress = SCAN_OUTRUN;
    }
    switch (to.to) {
    case REQUEUE_TO_HEAP_SEEKING:
    case REQUEUE_TO_ALIKE:
    case REQUEUE_TO_ALIKE_PLACED:
        scan_clear(w);
        missed = false;
        break;
    case REQUEUE_TO_HEAP_PLACED:
        missed = false;
        break;
    case REQUEUE_TO_HEAP_ANEW:
    case REQUEUE_TO_ALONE:
        scan_clear(w);
        break;
    case REQUEUE_TO_HEAP:
        break;
    }
    scan_round_set(w, over ? to.to == REQUEUE_TO_HEAP_SEEKING : scan_seeks(w), missed);
}

static int entry_go(struct engine *e, struct cycle_entry *n, enum requeue_place to) {
    struct queue_workload *w = n->w;
    switch (to) {
    case REQUEUE_TO_HEAP_SEEKING:
    case REQUEUE_TO_HEAP_ANEW:
        e->cycle.moved = true;
        queue_return(w);
        return 0;
    case REQUEUE_TO_HEAP_PLACED:
        tree_placeless(w->queue);
        queue_return(w);
        return 0;
    case REQUEUE_TO_HEAP:
        queue_return(w);
        return 0;
    case REQUEUE_TO_ALONE:
        e->cycle.progress++;
        queue_park(w);
        return 0;
    case REQUEUE_TO_ALIKE:
    case REQUEUE_TO_ALIKE_PLACED:
        break;
    }
    return park_alike(e, n, to == REQUEUE_TO_ALIKE_PLACED);
}

int entry_requeue(struct engine *e, struct cycle_entry *n) {
    struct queue_workload *w = n->w;
    struct queue *q = w->queue;
    bool left = scan_left(w);
    struct requeue to = requeue_decide(&e->cycle.requeue, n->outcome, round_of(w, left),
                                       news_of(e, w), policy_of(q));
    struct engine_action a = {.type = ACTION_PEND,
                              .uid = w->uid,
                              .queue = q->name,
                              .verdict = n->a.verdict,
                              .considered = n->a.considered};
    q->flight = NULL;
    w->state = WORKLOAD_IDLE;
    victims_note(n, q, to.keeps_places);
    int r = to.told ? cycle_action_add(&e->cycle, &a) : 0;
    if (r != 0) {
        scan_round_set(w, scan_seeks(w), scan_missed(w) || n->outcome == OUTCOME_NO_PLACE);
        queue_return(w);
        return r;
    }
    scan_note(w, left, n->outcome, to);
    return entry_go(e, n, to.to);
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

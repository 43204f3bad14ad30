/*
 * queue_evict: who has to go because a queue is drained, and who may come again.
 *
 *     holds quota, queue HoldAndDrain             Evicted: ClusterQueueStopped, LocalQueueStopped
 *     Evicted, owned by nobody                    its quota is released (jobs' owners do that themselves)
 *     Requeued False for a stopped queue          Requeued True once the queue is back
 *     Requeued False for a back-off               Requeued True, BackoffFinished, once it is over
 */
#include "base/limits.h"
#include "control/queue_private.h"
#include "control/workload_status.h"

static enum work write(struct queue_controller *c, struct workload_change *ch) {
    struct buf body;
    enum work w = WORK_RETRY;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int r = workload_change_write(ch, &body);
    if (r == ERR_NOT_FOUND) {
        w = WORK_OK;
    } else if (r == 0) {
        struct round *round = round_new(c->works, c->env->writer, c->expect, QUEUE_WHO,
                                        ch->obj->ns, ch->obj->name);
        if (round != NULL) {
            round_patch(round, ch->obj->kind, ch->obj->ns, ch->obj->name, "status", PATCH_MERGE,
                        buf_view(&body));
            w = round_end(round);
        }
    }
    buf_release(&body);
    return w;
}

enum work queue_drain(struct queue_controller *c, const struct object *o, const struct workload *w,
                      const struct queue_work *q) {
    struct workload_change ch;
    const struct cluster_state *s = map_get(&c->clusters, w->status->admission->cluster_queue);
    bool evicted = condition_true(&w->status->conditions, "Evicted");
    workload_change_init(&ch, o, w, &c->arena, clock_wall(c->env->clock));
    if (!evicted && s != NULL && s->exists && s->drains) {
        workload_change_evict(&ch, "ClusterQueueStopped", "", STR("The ClusterQueue is stopped"));
        return write(c, &ch);
    }
    if (!evicted && q->local != NULL && q->local->exists && q->local->drains) {
        workload_change_evict(&ch, "LocalQueueStopped", "", STR("The LocalQueue is stopped"));
        return write(c, &ch);
    }
    if (evicted && o->n_owners == 0) {
        workload_change_release(&ch);
        return write(c, &ch);
    }
    return WORK_OK;
}

bool queue_returns(struct queue_controller *c, const struct object *o, const struct workload *w,
                   const struct queue_work *q, enum work *ret) {
    const struct condition *r =
        w->status != NULL ? condition_find(&w->status->conditions, "Requeued") : NULL;
    struct workload_change ch;
    const char *reason = NULL, *text = NULL;
    if (r == NULL || !str_is(r->status, "False")) {
        return false;
    }
    if (str_is(r->reason, "ClusterQueueStopped")) {
        reason = "ClusterQueueRestarted";
        text = "The ClusterQueue was restarted after being stopped";
    } else if (str_is(r->reason, "LocalQueueStopped")) {
        reason = "LocalQueueRestarted";
        text = "The LocalQueue was restarted after being stopped";
    } else if (str_is(r->reason, "PodsReadyTimeout") || str_is(r->reason, "AdmissionCheck")) {
        if (w->status->requeue_state != NULL &&
            w->status->requeue_state->requeue_at_ns > clock_wall(c->env->clock)) {
            return false;
        }
        reason = "BackoffFinished";
        text = "The workload backoff was finished";
    }
    if (reason == NULL) {
        return false;
    }
    workload_change_init(&ch, o, w, &c->arena, clock_wall(c->env->clock));
    workload_change_set(&ch, "Requeued", true, reason, str_of(text));
    *ret = write(c, &ch);
    return true;
}

/*
 * queue_preempt: a Workload that the engine takes the quota from, in Kueue's words.
 *
 * The victim is Evicted and Preempted in one write, and keeps its quota until nothing of it runs; meanwhile the engine
 * counts it as going. A write that can never succeed is told to the engine, which then looks for another way.
 */
#include "control/load/workload_status.h"
#include "control/queue/queue_private.h"

static const struct {
    const char *reason, *human;
} words[] = {
    [PREEMPT_IN_QUEUE] = {"InClusterQueue", "prioritization in the ClusterQueue"},
    [PREEMPT_RECLAIM] = {"InCohortReclamation", "reclamation within the cohort"},
    [PREEMPT_RECLAIM_BORROWING] = {"InCohortReclaimWhileBorrowing",
                                   "reclamation within the cohort while borrowing"},
    [PREEMPT_FAIR_SHARING] = {"InCohortFairSharing", "Fair Sharing within the cohort"},
};

void queue_victim_note(struct queue_controller *c, const struct engine_action *a) {
    struct queue_work *q = map_get(&c->by_uid, a->uid);
    struct queue_victim *v = q != NULL ? mem_alloc(sizeof(*v) + a->by.n) : NULL;
    if (v == NULL) {
        engine_workload_keep(c->engine, a->uid);
        return;
    }
    *v = (struct queue_victim){.reason = a->reason, .by_n = a->by.n};
    memcpy(v->by, a->by.p, a->by.n);
    mem_free(q->victim);
    q->victim = v;
    queue_look(c, QS_WORKLOAD, q->ns, q->name, 0);
}

static void spare(struct queue_controller *c, struct queue_work *q) {
    mem_free(q->victim);
    q->victim = NULL;
    engine_workload_keep(c->engine, q->uid);
    queue_kick(c);
}

static struct str path_of(struct queue_controller *c, struct str queue) {
    struct buf b;
    buf_init(&b, LIMIT_CONDITION_MESSAGE);
    engine_path(c->engine, queue, &b);
    struct str path = b.n > 0 ? arena_str(&c->base.arena, buf_view(&b)) : STR("UNKNOWN");
    buf_release(&b);
    return path;
}

/* "effective priority: 3 (base: 1, boost: 2)" */
static struct str priority_text(struct queue_controller *c, const struct workload *w) {
    int64_t boost, all = translate_priority(w, c->settings, &boost);
    return arena_f(&c->base.arena, "effective priority: %lld (base: %lld, boost: %lld)",
                   (long long)all, (long long)(w->spec->priority.set ? w->spec->priority.v : 0),
                   (long long)boost);
}

static int written(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_WORKLOAD], round_ns(r), round_name(r));
    struct queue_work *q = o != NULL ? map_get(&c->by_uid, o->uid) : NULL;
    if (res->code != 0 && res->code != ERR_CONFLICT && q != NULL && q->victim != NULL) {
        spare(c, q);
    }
    struct str by =
        q != NULL && q->victim != NULL ? str_from(q->victim->by, q->victim->by_n) : (struct str){0};
    const struct object *asker = by.n > 0 ? mirror_by_uid(c->env->mirror, by) : NULL;
    if (res->code == 0 && asker != NULL && q->says != NULL) {
        struct str cq = {0};
        size_t n;
        (void)engine_workload_held(c->engine, q->uid, &n, &cq);
        const char *tail = strstr(q->says->text, "; preemptor effective");
        recorder_event(c->base.recorder, asker, EVENT_NORMAL, "PreemptedWorkload",
                       "Preempted workload %.*s/%.*s (UID: %.*s) in ClusterQueue %.*s%s",
                       STR_ARG(q->ns), STR_ARG(q->name), STR_ARG(q->uid), STR_ARG(cq),
                       tail != NULL ? tail : "");
    }
    return queue_written(ctx, r, tag, res);
}

enum work queue_victim_write(struct queue_controller *c, const struct object *o,
                             const struct workload *w, struct queue_work *q) {
    struct str by = str_from(q->victim->by, q->victim->by_n);
    const struct object *asker = mirror_by_uid(c->env->mirror, by);
    const struct queue_work *aq = map_get(&c->by_uid, by);
    const struct workload *aw = asker != NULL ? queue_decode(c, asker) : NULL;
    if (aw == NULL || aw->spec == NULL || aq == NULL || aq->local == NULL ||
        aq->local->cluster == NULL) {
        spare(c, q); /* nobody needs it any more */
        return WORK_OK;
    }
    struct str job = object_label(asker, STR("kueue.x-k8s.io/job-uid"));
    struct str text = arena_f(
        &c->base.arena,
        "Preempted to accommodate a workload (UID: %.*s, JobUID: %.*s) due to %s; preemptor path: "
        "%.*s; preemptee path: %.*s",
        STR_ARG(by), STR_ARG(str_empty(job) ? STR("UNKNOWN") : job), words[q->victim->reason].human,
        STR_ARG(path_of(c, str_of(aq->local->cluster))),
        STR_ARG(path_of(c, w->status->admission->cluster_queue)));
    struct workload_change ch;
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->env->clock));
    workload_change_evict(&ch, "Preempted", "", text);
    workload_change_set(&ch, "Preempted", true, words[q->victim->reason].reason, text);
    queue_tell(q, EVENT_NORMAL, "Preempted", "%.*s; preemptor %.*s; preemptee %.*s", STR_ARG(text),
               STR_ARG(priority_text(c, aw)), STR_ARG(priority_text(c, w)));
    queue_tell(q, EVENT_NORMAL, workload_evicted_event(STR("Preempted"), STR("")), "%.*s",
               STR_ARG(text));
    return queue_change_send(c, &ch, written);
}

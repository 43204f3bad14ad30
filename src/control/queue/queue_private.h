/* queue_private: what the files of the queue controller share. */
#ifndef BERTH_CONTROL_QUEUE_PRIVATE_H
#define BERTH_CONTROL_QUEUE_PRIVATE_H

#include "control/load/translate.h"

#include "api/selector.h"
#include "base/limits.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/kit/long_note.h"
#include "control/load/queue_settings.h"
#include "control/queue/queue_controller.h"
#include "control/queue/queue_metrics.h"
#include "control/queue/queue_tally.h"

#define QUEUE_WHO "berth-queue-controller"

enum queue_kind { /* those it looks at, in the order of its row */
                  QK_FLAVOR,
                  QK_CLUSTER_QUEUE,
                  QK_COHORT,
                  QK_LOCAL_QUEUE,
                  QK_WORKLOAD,
                  QK_NAMESPACE,
                  QK_LIMIT_RANGE,
                  QK_NODE,
                  QK_POD,
                  QK_CHECK, /* AdmissionCheck */
                  QK_RUNTIME_CLASS,
                  QK_TOPOLOGY,
                  QK_CLAIM,    /* PersistentVolumeClaim */
                  QK_REVISION, /* ControllerRevision */
                  QK_RESERVATION,
                  QK_JOB,
                  QK_COUNT,
};

/* When a status was written last, and when it is due; monotonic, 0: never, not. */
struct status_pace {
    int64_t written_ns, due_ns;
};

/* A LocalQueue, or only its name as workloads use it. */
struct local_state {
    struct str key; /* "ns/name", in the record's memory */
    struct str ns, name;
    bool exists, stopped, drains;
    char *cluster;            /* ClusterQueue's name, or NULL */
    struct cluster_state *of; /* its record */
    struct local_state *of_next, *of_prev;
    struct queue_work *works;
    struct tally tally;
    struct status_pace pace;
    struct metric_owner metrics;
    bool measured;  /* by the selector of LocalQueues with metrics */
    int64_t listed; /* while its pending ones are listed: how many so far */
};

/* The flavors of a ClusterQueue as its status lists them: in order, their resources by name. */
struct cluster_resource {
    struct str name;
    int64_t nominal, borrowing, lending; /* limits: AMOUNT_NONE when absent */
};
struct cluster_flavor {
    struct str name;
    struct cluster_resource *v;
    size_t n;
};
struct cluster_shape {
    struct cluster_flavor *flavors;
    size_t n;
    struct str cohort;  /* empty: none */
    struct str *checks; /* admission checks by name */
    size_t n_checks;
};

/* A ClusterQueue as far as the engine does not know it. */
struct cluster_state {
    struct str name;
    struct arena arena; /* of the selector */
    struct selector namespaces;
    bool exists, stopped, drains, terminating;
    struct admission_check_rule *rules; /* in the arena */
    size_t n_rules;
    bool checks_bad;           /* one of them is missing or not active */
    bool covers_pods;          /* its quota counts the resource "pods" */
    int64_t max_protection_ns; /* 0: none is granted */
    bool was_active;
    bool gone; /* in queue_controller.gone */
    struct cluster_state *gone_next;
    struct local_state *locals; /* that point at it */
    size_t refs;                /* those, and Workloads counted here */
    struct tally tally;
    struct status_pace pace;
    struct cluster_shape *shape; /* in the arena */
    struct metric_owner metrics;
};

/* An event about a Workload, to be told once the write that it is about has succeeded. */
struct queue_say {
    struct queue_say *next;
    enum event_type type;
    const char *reason;
    char text[];
};

/* The engine wants it gone; forgotten once that is written. */
struct queue_victim {
    enum preempt_reason reason;
    size_t by_n;
    char by[]; /* uid of the Workload it makes room for */
};

/* A Workload. */
struct queue_work {
    struct str uid, ns, name; /* in the record's memory */
    struct local_state *local;
    struct queue_work *prev, *next;                                /* of the LocalQueue */
    enum { QW_IDLE, QW_PENDING, QW_RESERVING, QW_ADMITTED } state; /* as enum tally_state */
    uint64_t classes; /* RuntimeClasses of its pods, a bit for each by queue_class_bit; 0: none */
    struct queue_work *class_prev, *class_next; /* of queue_controller.classed */
    struct tally_share share;
    struct cluster_state *cluster; /* where it is counted */
    struct work_seen seen;
    bool written;   /* the mirror showed its admission */
    int64_t asked;  /* generation of the Workload that the engine was given */
    uint64_t edits; /* queue_controller.edits when its admission was decided */
    struct queue_say *says;
    struct queue_victim *victim;
    int32_t *
        counts; /* pods of each set of an admission under way, where they are fewer than asked for */
    size_t n_counts;
    uint32_t plan,
        plan_kept;      /* pods were given other places: the newest, and the one that is written */
    int64_t unwritable; /* generation of which a placement was too long to be written; 0: none */
    size_t unwritable_bytes, unwritable_room; /* how long, and what there was room for */
    char *plan_was;   /* the annotation before, when it named revisions; NULL: none to remove */
    bool elastic;     /* one of an elastic Job: it may shrink, and be replaced (queue_slices.c) */
    bool gated;       /* it would preempt, but a gate of its own is closed */
    bool bypassed;    /* its condition says that one like it was refused, not why (queue_admit.c) */
    char *considered; /* flavors looked at, for the event of the admission; NULL: nothing to say */
    const char *reason; /* why it waits: static; NULL: nothing to say */
    char *message;
    size_t message_n;
    enum { NEWS_NONE, NEWS_WAIT, NEWS_DUE } news; /* queue_news.c */
    struct queue_work *news_prev, *news_next;
};

/* Those who have something to say, while the writer has no room for it. */
struct queue_news {
    struct queue_work *first, *last;
    struct timer *timer;
    int64_t let_ns; /* when one was last let go (monotonic) */
};

/* Sorts of keys. Workloads, pods and everything else have a queue each: a flood of one keeps no other waiting. */
enum queue_sort {
    QS_WORKLOAD,
    QS_POD,
    QS_LOCAL_QUEUE, /* its status, as those below */
    QS_CLUSTER_QUEUE,
    QS_COHORT,
    QS_FLAVOR, /* its finalizer, as the next one */
    QS_CHECK,
    QS_READ, /* all of what the engine knows of queues and nodes, after memory was short */
};

struct queue_controller {
    struct controller base;
    const struct control_env *env; /* the base's */
    const struct queue_settings *settings;
    struct engine *engine;
    struct queue_metrics *metrics; /* NULL: nobody asks for any */
    struct queue_visibility *visibility;
    struct timer *sampler; /* of what LocalQueues use */
    bool sampling;
    struct resource_weight *weights; /* the settings', as the engine has them */
    struct workqueue *pods, *states; /* the lanes beside that of Workloads */
    struct timer *timer;             /* the engine's next run */
    struct clock_watch watch; /* the wall clock was set: what the engine waits for is asked anew */
    struct timer *wake;       /* and when a protection ends */
    bool timer_on;
    bool activity_due;          /* before the next run: which ClusterQueues are active? */
    uint64_t edits;             /* of flavors, cohorts and ClusterQueues */
    int64_t settle_ns;          /* and not sooner than this (monotonic) */
    struct cluster_state *gone; /* records that may be forgotten by then */
    struct map by_uid;          /* uid -> queue_work */
    struct queue_work *classed; /* those with pods of a RuntimeClass */
    struct map locals;          /* "ns/name" -> local_state */
    struct map clusters;        /* name -> cluster_state */
    struct map topologies;      /* of flavors (queue_topology.c) */
    struct map waiting;         /* pods without a place: "ns/name" -> mem_cstr of it */
    uint64_t pods_seen;         /* pool generation when waiting pods were last tried */
    struct queue_news news;
};

/* queue_news.c */
int queue_news_init(struct queue_controller *c);
void queue_news_release(struct queue_controller *c);
/* Whether to say now why q waits; if not, it is worked on again when there is room. */
bool queue_news_now(struct queue_controller *c, struct queue_work *q);
void queue_news_leave(struct queue_controller *c, struct queue_work *q);

/* queue_controller.c */
void queue_kick(struct queue_controller *c); /* the engine runs soon */
/* As workqueue_look, in the lane of the sort. */
void queue_look(struct queue_controller *c, enum queue_sort sort, struct str ns, struct str name,
                int64_t delay_ns);
/* There was no memory to take in what o says now: flavors, cohorts, queues and nodes are read again in a second. */
void queue_lost(struct queue_controller *c, const struct object *o);
void queue_read_all(struct queue_controller *c); /* then */
bool queue_cluster_active(struct queue_controller *c, struct str name);
/* Decodes the newest state into the arena, which is reset first; NULL: absent, or out of memory. */
void *queue_view(struct queue_controller *c, enum queue_kind k, struct str ns, struct str name,
                 const struct object **ret_obj);
void *queue_decode(struct queue_controller *c, const struct object *o);

/* queue_records.c */
/* The record of a ClusterQueue, or only of its name: kept when it is referred to before the next run. NULL: out of
 * memory. */
struct cluster_state *queue_cluster(struct queue_controller *c, struct str name);
void queue_cluster_ref(struct cluster_state *s); /* NULL is a no-op, also below */
void queue_cluster_unref(struct queue_controller *c, struct cluster_state *s);
void queue_cluster_gone(struct queue_controller *c, struct cluster_state *s);
void queue_cluster_free(struct queue_controller *c, struct cluster_state *s);
void queue_clusters_sweep(struct queue_controller *c); /* frees what nothing refers to */
/* The LocalQueue points there; empty: nowhere. ERR_NOMEM: nowhere. */
int queue_local_point(struct queue_controller *c, struct local_state *l, struct str cluster);

/* queue_count.c */
/* Counts a workload anew, by the engine's word on what it holds, and has the statuses written where that is news.
 * ERR_NOMEM: nothing changed; never for states that hold nothing. */
int queue_count(struct queue_controller *c, struct queue_work *q, int state);
/* The engine said why it waits. */
void queue_told(struct queue_controller *c, struct queue_work *q);
void queue_state_soon(struct queue_controller *c, struct local_state *l);
void queue_cluster_soon(struct queue_controller *c, struct str name);

/* queue_workload.c */
enum work queue_workload_work(struct queue_controller *c, struct str ns, struct str name);
/* queue_admit.c: how the placement of a Workload is written. */
struct long_note queue_plan(const struct queue_controller *c);
/* Writes the revisions that are missing, as a whole round. */
enum work queue_plan_create(struct queue_controller *c, const struct object *o,
                            const struct long_text *t, round_hook *hook);
int queue_plan_written(void *ctx, struct round *r, uint64_t tag, const struct write_result *res);
/* Before another placement is written: the one that was, if it named revisions; and once that has succeeded, in the
 * same round: those go. */
void queue_plan_note(struct queue_controller *c, struct queue_work *q, const struct meta *m);
void queue_plan_drop(struct queue_controller *c, struct round *r, struct queue_work *q,
                     const struct object *o);
/* queue_admit.c: its places were decided, and are too much to be written; it waits until it asks for something else,
 * its other annotations leave more room, or queues are edited. *text: that. */
bool queue_unwritable(struct queue_controller *c, const struct workload *w,
                      const struct queue_work *q, struct str *text);
/* One that holds quota by what is written: the engine knows at once. */
void queue_workload_adopt(struct queue_controller *c, const struct object *o);
void queue_workload_gone(struct queue_controller *c, const struct object *o);
struct queue_work *queue_work_get(struct queue_controller *c, const struct workload *w);
uint64_t queue_class_bit(struct str runtime_class);
void queue_work_free(struct queue_controller *c, struct queue_work *q);
void queue_work_clear(struct queue_work *q); /* what was noted for its next write */
struct local_state *queue_local(struct queue_controller *c, struct str ns, struct str name);
/* Frees the record of a name that neither a LocalQueue nor a Workload bears any more. */
void queue_local_forget(struct queue_controller *c, struct local_state *l);
/* What the engine is told of it. ERR_NOMEM. */
int queue_input(struct queue_controller *c, const struct workload *w, struct str cq,
                struct workload_input *ret);
int queue_message_set(struct queue_work *q, const char *reason, struct str text);

/* The placement, then the admission that the engine gave; with what is required it may be admitted at once. */
enum work queue_write_admission(struct queue_controller *c, const struct object *o,
                                const struct workload *w, struct queue_work *q,
                                const struct held_amount *held, size_t n, struct str cq);
/* QuotaReserved False with q's reason, and the checks required of one without quota, when either is news. */
enum work queue_say_waits(struct queue_controller *c, const struct object *o,
                          const struct workload *w, struct queue_work *q);
/* Admitted False while checks are not Ready. */
const char *queue_unsatisfied(const struct queue_controller *c);
enum work queue_finalizer_drop(struct queue_controller *c, const struct object *o);

/* queue_evict.c */
/* One that holds quota: the first step that is due (see there); WORK_OK when nothing is. */
enum work queue_holding(struct queue_controller *c, const struct object *o,
                        const struct workload *w, struct queue_work *q);
/* One that was kept out and may be queued: true when that had to be written first. */
bool queue_returns(struct queue_controller *c, const struct object *o, const struct workload *w,
                   struct queue_work *q, enum work *ret);
/* status.preemptionGates as spec says; true when that had to be written. */
bool queue_gates(struct queue_controller *c, const struct object *o, const struct workload *w,
                 enum work *ret);

/* queue_slices.c: Workloads of elastic Jobs */
bool queue_slice_elastic(const struct queue_controller *c, const struct workload *w);
/* The uid of the Workload that this one replaces: the two are of one elastic Job; empty: none. */
struct str queue_slice_prior(struct queue_controller *c, const struct workload *w);
/* One of the same Job that replaces it and holds quota as written; NULL: none. */
const struct object *queue_slice_heir(struct queue_controller *c, const struct workload *w);
/* Such a one is Finished, for `heir`. */
enum work queue_slice_finish(struct queue_controller *c, const struct object *o,
                             const struct workload *w, struct queue_work *q,
                             const struct object *heir);
/* The engine's holder `in` is as written: what it replaces is nobody's any more. As engine_workload_hold. */
int queue_slice_hold(struct queue_controller *c, const struct workload_input *in,
                     const struct held_amount *held, size_t n);
/* What the admission of one that was given the difference says: all of it. ERR_NOMEM. */
int queue_slice_held(struct queue_controller *c, struct str uid, const struct held_amount **held,
                     size_t *n);
/* A pod has ended, or lost its place: the pool knows, and a Workload that shrank gives the place back. */
void queue_slice_pod_gone(struct queue_controller *c, struct str pod);

/* queue_preempt.c */
struct workload_change;
void queue_victim_note(struct queue_controller *c, const struct engine_action *a);
/* Evicts q's Workload for the one that it stands in the way of. */
enum work queue_victim_write(struct queue_controller *c, const struct object *o,
                             const struct workload *w, struct queue_work *q);

/* queue_tell.c: events that wait for their write */
void queue_tell(struct queue_work *q, enum event_type type, const char *reason, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));
void queue_tell_not(struct queue_work *q);
int queue_written(void *ctx, struct round *r, uint64_t tag, const struct write_result *res);

/* queue_resources.c */
/* The decoded Workload with its pods' requests as the API server will make them; NULL: out of memory. */
struct workload *queue_filled(struct queue_controller *c, struct workload *w);
/* No pod could be made of it: why, in the arena. */
bool queue_resources_refused(struct queue_controller *c, const struct workload *w,
                             struct str *ret_text);

/* queue_claims.c */
/* Adds the devices that a pod set's pods claim to what they ask for. ERR_NOMEM. What cannot be counted is left out. */
int queue_claims_fill(struct queue_controller *c, struct str ns, struct pod_spec *p);
/* Claims of its pods cannot be counted: why, in the arena. It is looked at again by and by. */
bool queue_claims_refused(struct queue_controller *c, const struct workload *w,
                          struct str *ret_text);

/* queue_checks.c */
struct check_need {
    struct str *names; /* sorted */
    size_t n;
};
/* The rules of a ClusterQueue, into s. ERR_NOMEM. */
int queue_checks_read(struct queue_controller *c, struct cluster_state *s,
                      const struct cluster_queue *q);
/* What about its checks keeps a ClusterQueue from being active: parts joined by ", "; *reason is that of the first part
 * in the buffer, and stays when there was one already. */
void queue_checks_reasons(struct queue_controller *c, const struct cluster_state *s,
                          const char **reason, struct buf *parts);
/* Does anything about them? */
bool queue_checks_bad(struct queue_controller *c, const struct cluster_state *s);
/* Each ClusterQueue that names it; true when there is one. each may be NULL, and returns false to stop. */
bool queue_checks_named(const struct queue_controller *c, struct str check,
                        bool (*each)(void *ctx, struct cluster_state *s), void *ctx);
/* What is required: with an assignment to `flavors`, or without any. s may be NULL. ERR_NOMEM. */
int queue_checks_needed(struct queue_controller *c, const struct cluster_state *s,
                        const struct str *flavors, size_t n, bool assigned, struct check_need *ret);
int queue_checks_of(struct queue_controller *c, const struct workload *w, struct check_need *ret);
bool queue_checks_ready(const struct workload *w, const struct check_need *need);
/* The status lists just those afterwards; false when it does already. */
bool queue_checks_put(struct queue_controller *c, const struct check_need *need,
                      struct workload_change *ch);
/* How many are in this state, and `AdmissionCheck in Retry state: "name" (message)`. */
size_t queue_checks_list(struct queue_controller *c, const struct workload *w, const char *state,
                         struct str *ret);

/* queue_fair.c: fair sharing and admission fair sharing; nothing where they are not configured */
int queue_fair_init(struct queue_controller *c, struct engine_options *o); /* ERR_NOMEM */
void queue_fair_release(struct queue_controller *c);                       /* after the engine */
/* What a status says of them, in the arena; NULL: nothing, or no memory. */
struct fair_sharing_status *queue_share_status(struct queue_controller *c, bool queue,
                                               struct str name);
struct local_queue_fair_sharing_status *queue_usage_status(struct queue_controller *c,
                                                           const struct local_state *l);
void queue_cohort_soon(struct queue_controller *c, struct str name);
void queue_shares_soon(struct queue_controller *c, const struct cluster_state *s); /* above it */
/* A LocalQueue came, changed or went; fresh: not seen before. */
void queue_usage_local(struct queue_controller *c, struct local_state *l,
                       const struct local_queue *q, bool fresh);

/* queue_pins.c */
/* The places that a ClusterQueue's annotation promises to it; NULL: it is gone. */
void queue_pins_read(struct queue_controller *c, struct str name, const struct object *o);
/* The places of a booking that has not begun. */
void queue_booking_read(struct queue_controller *c, const struct object *o, bool gone);

/* queue_topology.c */
bool queue_flavor_named(struct queue_controller *c, struct str flavor); /* by a ClusterQueue */
/* The Topology of a flavor, or empty; each ClusterQueue that lists it is passed when that is news. ERR_NOMEM. */
int queue_topology_flavor(struct queue_controller *c, struct str flavor, struct str topology,
                          bool (*each)(void *ctx, struct cluster_state *s), void *ctx);
/* Each ClusterQueue with a flavor of this Topology; true when there is one. */
bool queue_topology_named(struct queue_controller *c, struct str topology,
                          bool (*each)(void *ctx, struct cluster_state *s), void *ctx);
/* As queue_checks_reasons; parts may be NULL. True: one is missing. */
bool queue_topologies_missing(struct queue_controller *c, const struct cluster_state *s,
                              const char **reason, struct buf *parts);
void queue_topology_release(struct queue_controller *c);

/* queue_visibility.c */
struct queue_visibility *queue_visibility_new(struct queue_controller *c); /* NULL: out of memory */
void queue_visibility_free(struct queue_visibility *x);

/* queue_status.c */
/* Would its status say Active? Unlike queue_cluster_active, a cycle of cohorts does not count. */
bool queue_cluster_sound(struct queue_controller *c, const struct cluster_state *s);
/* What the status of a ClusterQueue lists, into s's arena. ERR_NOMEM. */
int queue_shape_read(struct cluster_state *s, const struct cluster_queue *q);
/* The sorts but Workloads and pods. */
enum work queue_state_work(struct queue_controller *c, struct work_key key);

/* queue_pods.c */
enum work queue_pod_work(struct queue_controller *c, struct str ns, struct str name);
/* A pod that has a node, or has ended: the pool knows at once. False: it needs a place. */
bool queue_pod_adopt(struct queue_controller *c, const struct object *o);
void queue_pods_retry(struct queue_controller *c);
/* A claim changed: pods of its namespace may wait for it. */
void queue_pods_claim(void *self, const struct change *ch);

/* queue_write.c */
/* Sends the patch that edit_write made with this code, if any, in a round for the key of this step, and releases it.
 * WORK_OK: nothing differs. hook may be NULL. */
enum work queue_send(struct queue_controller *c, const struct object *o, const char *sub, int code,
                     struct buf *body, round_hook *hook);
/* A Workload from one view to another; queue_written, or a hook that calls it, tells when it is done. */
enum work queue_edit(struct queue_controller *c, const struct object *o, const struct workload *was,
                     const struct workload *want, round_hook *hook);
enum work queue_change_send(struct queue_controller *c, const struct workload_change *ch,
                            round_hook *hook);
enum work queue_change_write(struct queue_controller *c, const struct workload_change *ch);

#endif

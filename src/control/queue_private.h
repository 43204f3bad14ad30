/* queue_private: what the files of the queue controller share. */
#ifndef BERTH_CONTROL_QUEUE_PRIVATE_H
#define BERTH_CONTROL_QUEUE_PRIVATE_H

#include "control/translate.h" /* first */

#include "api/selector.h"
#include "control/queue_controller.h"
#include "control/queue_tally.h"
#include "control/recorder.h"
#include "control/round.h"

#define QUEUE_WHO "berth-queue-controller"

enum queue_kind { /* those it looks at */
    QK_FLAVOR,
    QK_CLUSTER_QUEUE,
    QK_COHORT,
    QK_LOCAL_QUEUE,
    QK_WORKLOAD,
    QK_NAMESPACE,
    QK_LIMIT_RANGE,
    QK_NODE,
    QK_POD,
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
    char *cluster; /* ClusterQueue's name, or NULL */
    struct queue_work *works;
    struct tally tally;
    struct status_pace pace;
};

/* The flavors of a ClusterQueue as its status lists them: in order, their resources by name. */
struct cluster_resource {
    struct str name;
    int64_t nominal;
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
    bool exists, stopped, drains, checks; /* checks: it names admission checks, which nothing here can satisfy */
    bool was_active;
    struct tally tally;
    struct status_pace pace;
    struct cluster_shape *shape; /* in the arena */
};

/* A Workload. */
struct queue_work {
    struct str uid, ns, name; /* in the record's memory */
    struct local_state *local;
    struct queue_work *prev, *next; /* of the LocalQueue */
    enum { QW_IDLE, QW_PENDING, QW_RESERVING, QW_ADMITTED } state; /* as enum tally_state */
    struct tally_share share;
    struct cluster_state *cluster; /* where it is counted */
    bool written;         /* the mirror showed its admission */
    int64_t asked;        /* generation of the Workload that the engine was given */
    const char *reason;   /* why it waits: static; NULL: nothing to say */
    char *message;
    size_t message_n;
};

struct queue_controller {
    struct control_env env_copy;
    const struct control_env *env; /* the copy */
    const struct kind *kinds[QK_COUNT];
    struct feed *feeds[QK_COUNT];
    struct engine *engine;
    struct recorder *recorder;
    struct expect *expect;
    struct workqueue *works;  /* Workloads: ns, name */
    struct workqueue *states; /* ("/queue", ClusterQueue), ("/flavor", ResourceFlavor), (ns, LocalQueue) */
    struct workqueue *pods;   /* Pods: ns, name */
    struct timer *timer;      /* the engine's next run */
    bool timer_on;
    bool activity_due; /* before the next run: which ClusterQueues are active? */
    struct map by_uid;   /* uid -> queue_work */
    struct map locals;   /* "ns/name" -> local_state */
    struct map clusters; /* name -> cluster_state */
    struct map waiting;  /* pods without a place: "ns/name" -> mem_cstr of it */
    uint64_t pods_seen;  /* pool generation when waiting pods were last tried */
    struct arena arena;  /* of the work under way */
};

/* queue_controller.c */
void queue_kick(struct queue_controller *c); /* the engine runs soon */
struct cluster_state *queue_cluster(struct queue_controller *c, struct str name);
bool queue_cluster_active(struct queue_controller *c, struct str name);
/* Decodes the newest state into c->arena, which is reset first; NULL: absent, or out of memory. */
void *queue_view(struct queue_controller *c, enum queue_kind k, struct str ns, struct str name,
                 const struct object **ret_obj);
void *queue_decode(struct queue_controller *c, const struct object *o);

/* queue_count.c */
/* Counts a workload anew, by the engine's word on what it holds, and has the statuses written where that is news.
 * ERR_NOMEM: nothing changed; never for states that hold nothing. */
int queue_count(struct queue_controller *c, struct queue_work *q, int state);
void queue_state_soon(struct queue_controller *c, struct local_state *l);
void queue_cluster_soon(struct queue_controller *c, struct str name);

/* queue_workload.c */
enum work queue_workload_work(void *ctx, struct str ns, struct str name);
/* One that holds quota by what is written: the engine knows at once. */
void queue_workload_adopt(struct queue_controller *c, const struct object *o);
void queue_workload_gone(struct queue_controller *c, const struct object *o);
struct queue_work *queue_work_get(struct queue_controller *c, const struct workload *w);
void queue_work_free(struct queue_controller *c, struct queue_work *q);
struct local_state *queue_local(struct queue_controller *c, struct str ns, struct str name);

/* queue_evict.c */
/* One that holds quota: evicts it when its queue is drained; WORK_OK when nothing is to be done. */
enum work queue_drain(struct queue_controller *c, const struct object *o, const struct workload *w,
                      const struct queue_work *q);
/* One that was kept out and may be queued: true when that had to be written first. */
bool queue_returns(struct queue_controller *c, const struct object *o, const struct workload *w,
                   const struct queue_work *q, enum work *ret);

/* queue_status.c */
/* What the status of a ClusterQueue lists, into s's arena. ERR_NOMEM. */
int queue_shape_read(struct cluster_state *s, const struct cluster_queue *q);
enum work queue_state_work(void *ctx, struct str ns, struct str name);

/* queue_pods.c */
enum work queue_pod_work(void *ctx, struct str ns, struct str name);
/* A pod that has a node, or has ended: the pool knows at once. False: it needs a place. */
bool queue_pod_adopt(struct queue_controller *c, const struct object *o);
void queue_pods_retry(struct queue_controller *c);

/* queue_write.c */
struct condition_change {
    const char *type, *status, *reason;
    struct str message;
};
/* "conditions":[...] with the changes applied to those of the object; transitions keep their time
 * when the status does.
 * False when nothing would change (then out is left as it was). */
bool conditions_json(const struct object *o, struct arena *a,
                     const struct condition_change *changes, size_t n, int64_t now_ns,
                     const char *time_field, struct buf *out);

#endif

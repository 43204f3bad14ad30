/* explain_private: what queue_explain.c and queue_preview.c share: questions under way, and insights for them. */
#ifndef BERTH_CONTROL_EXPLAIN_PRIVATE_H
#define BERTH_CONTROL_EXPLAIN_PRIVATE_H

#include "control/queue/queue_private.h"

#include "base/offload.h"
#include "control/see/insight.h"
#include "control/see/queue_explain.h"
#include "port/virtual.h"

enum {
    EXPLAIN_PARTS_MAX = 16,       /* trees that one question is about */
    EXPLAIN_ITEMS_MAX = 500,      /* of a list */
    EXPLAIN_COPY_MAX = 20000,     /* workloads copied for one question */
    EXPLAIN_FINISHED_PER_S = 200, /* run times noted in a second */
};

/* An insight and who uses it. */
struct shared_insight {
    struct insight *in;
    size_t users;
    char *key;        /* the tree; NULL: not to be shared */
    int64_t taken_ns; /* monotonic */
    struct shared_insight *next;
};

struct explain_part {
    struct shared_insight *s;
    struct insight_viewer v;
};

struct explain_item {
    const struct object *obj; /* a reference */
    size_t part;              /* EXPLAIN_PARTS_MAX: none, from what is written */
    size_t at;                /* among the insight's works; works of a queue stand in its order */
    struct str cluster;       /* of one that waits in no queue: where it would */
    struct str inactive;      /* and why that admits nobody, where it does not */
    struct str awaits;        /* whose end one waits for that is being evicted */
};

struct virtual_call {
    struct queue_explain *x; /* NULL: it is gone, nobody waits */
    virtual_done *done;
    void *ctx;
    bool cancelled;
    struct explain_part parts[EXPLAIN_PARTS_MAX];
    size_t n_parts;
    struct explain_item *items;
    size_t n_items;
    size_t remaining; /* not listed */
    bool list;
    struct str cluster, inactive; /* of the last item that is in no queue */
    uint64_t revision;
    int64_t now;
    struct preview *preview; /* of a preview */
    struct arena arena;
    struct buf out;
    int code;
    struct err err;
    struct offload_job *job;
    struct virtual_call *prev, *next;
};

struct queue_explain {
    struct queue_controller *c;
    struct virtual_source why, preview;
    struct shared_insight *insights; /* newest first */
    size_t n_insights;
    struct virtual_call *calls;
    struct run_times *times;
    struct hindsight *hindsight;
    struct feed *feed;
    int64_t second;  /* of what follows, monotonic */
    size_t finished; /* noted in it */
};

struct virtual_call *explain_call_new(struct queue_explain *x, const struct virtual_ask *q,
                                      virtual_done *done, void *ctx);
void explain_call_free(struct virtual_call *k);
/* Has work(k) run elsewhere, then answers. Takes k over, also on failure. */
int explain_call_start(struct virtual_call *k, void (*work)(void *ctx, const atomic_bool *stop),
                       struct virtual_call **ret, struct err *err);
/* What the asker of q may see of an insight; in the call's arena. ERR_NOMEM. */
int explain_viewer(struct virtual_call *k, const struct virtual_ask *q, const struct insight *in,
                   struct insight_viewer *ret);
int explain_insight_take(struct queue_explain *x, const struct str *queues, size_t n_queues,
                         const struct str *cohorts, size_t n_cohorts, struct insight **ret);

/* queue_preview_stopped.c */
struct preview_more {   /* one that waits in no queue today */
    size_t at;          /* among the insight's works */
    struct str cluster; /* the ClusterQueue behind its LocalQueue */
    bool stopped;       /* its LocalQueue is, or is not there */
};
/* Adds those whose LocalQueues lead to one of the queues; in the call's arena. ERR_NOMEM. */
int preview_more(struct virtual_call *k, struct insight *in, const struct str *queues, size_t n,
                 struct preview_more **ret, size_t *ret_n, size_t *ret_left_out);

/* queue_preview_remedy.c */
enum { PREVIEW_REMEDIES_MAX = 20 };
struct preview_remedy { /* a quota to raise; texts in the call's arena */
    struct str queue;
    size_t at; /* the work that needs it, among the insight's */
    struct explain_bar bar;
    struct str field, quota, text;
};
struct preview_remedies {
    struct preview_remedy v[PREVIEW_REMEDIES_MAX];
    size_t n;
};
/* For the first 200 of the engine's that wait and that the viewer may know of. ERR_NOMEM. */
int preview_remedies(struct engine *e, const struct insight *in, const struct insight_viewer *v,
                     struct arena *keep, struct preview_remedies *ret);

/* queue_preview.c */
int preview_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                void *ctx, struct virtual_call **ret, struct err *err);

#endif

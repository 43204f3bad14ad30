/*
 * queue_count: what each workload is counted as, and when what changed is written into a status.
 *
 * A status of a quiet object is written almost at once; that of a busy one at most once in a while, the last state
 * always. The more objects wait for their status, the longer the while: statuses must not push out admissions.
 */
#include "control/queue/queue_private.h"

#include "core/admit/engine_list.h"

static const int64_t LEAD_NS = 10 * NS_PER_MS;       /* what happens together is written together */
static const int64_t GAP_NS = 100 * NS_PER_MS;       /* between two writes of an object ... */
static const int64_t GAP_BACKLOG_NS = 1 * NS_PER_MS; /* ... and this for each object that waits */
static const int64_t GAP_MAX_NS = 2 * NS_PER_SEC;

enum { REQUESTS_MAX = 32 };

static void soon(struct queue_controller *c, struct status_pace *p, enum queue_sort sort,
                 struct str ns, struct str name) {
    int64_t now = clock_mono(c->env->clock);
    if (p->due_ns != 0 && now < p->due_ns + NS_PER_SEC) {
        return; /* it waits already; longer ago than that, it may have been lost */
    }
    int64_t gap = GAP_NS + GAP_BACKLOG_NS * (int64_t)workqueue_len(c->states);
    gap = gap < GAP_MAX_NS ? gap : GAP_MAX_NS;
    int64_t due = p->written_ns != 0 ? p->written_ns + gap : 0;
    due = due > now + LEAD_NS ? due : now + LEAD_NS;
    p->due_ns = due;
    queue_look(c, sort, ns, name, due - now);
}

void queue_state_soon(struct queue_controller *c, struct local_state *l) {
    l->metrics.clean = false;
    soon(c, &l->pace, QS_LOCAL_QUEUE, l->ns, l->name);
}

static void cluster_soon(struct queue_controller *c, struct cluster_state *s) {
    s->metrics.clean = false;
    soon(c, &s->pace, QS_CLUSTER_QUEUE, STR(""), s->name);
    queue_shares_soon(c, s);
}

void queue_cluster_soon(struct queue_controller *c, struct str name) {
    struct cluster_state *s = map_get(&c->clusters, name);
    if (s != NULL) {
        cluster_soon(c, s);
    }
}

static void news(struct queue_controller *c, struct local_state *l, struct cluster_state *s) {
    if (l != NULL) {
        queue_state_soon(c, l);
    }
    if (s != NULL) {
        cluster_soon(c, s);
    }
}

void queue_told(struct queue_controller *c, struct queue_work *q) {
    bool known;
    bool told =
        !engine_workload_known(c->engine, q->uid, &known) || engine_is_parked(c->engine, q->uid);
    if (c->metrics != NULL && q->share.state == TALLY_PENDING && told != q->share.told) {
        tally_told(&q->share, told);
        if (q->local != NULL) {
            q->local->metrics.clean = false;
        }
    }
}

int queue_count(struct queue_controller *c, struct queue_work *q, int state) {
    struct local_state *l = q->local;
    const struct held_amount *held = NULL;
    struct held_amount asks[REQUESTS_MAX];
    struct str name = {0};
    size_t n = 0;
    int counted = state;
    if (state == QW_RESERVING || state == QW_ADMITTED) {
        held = engine_workload_held(c->engine, q->uid, &n, &name);
    } else if (state == QW_PENDING && l != NULL && l->exists && !l->stopped) {
        name = l->cluster != NULL ? str_of(l->cluster) : name;
        held = asks;
        n = c->metrics != NULL ? engine_requests(c->engine, q->uid, asks, REQUESTS_MAX) : 0;
    } else {
        counted = TALLY_NONE;
    }
    struct cluster_state *s = counted != TALLY_NONE && name.n > 0 ? queue_cluster(c, name) : NULL;
    struct tally *local = counted != TALLY_NONE && l != NULL ? &l->tally : NULL;
    bool changed = false;
    int r = tally_count(&q->share, local, s != NULL ? &s->tally : NULL, counted, held, n, &changed);
    if (r == 0) {
        q->state = state;
    }
    if (changed) {
        if (q->cluster != s) {
            news(c, NULL, q->cluster);
        }
        news(c, l, s);
        if (r == 0 && q->cluster != s) {
            queue_cluster_ref(s);
            queue_cluster_unref(c, q->cluster);
            q->cluster = s;
        }
    }
    queue_told(c, q);
    return r;
}

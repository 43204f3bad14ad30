/*
 * preempt_private (core): declarations shared by the two searches for victims.
 *
 * A source is one queue that victims may come from: a cursor over its holders, which gives candidates in victim
 * order and passes over those that the policy spares. Reading ends as soon as no later holder can be a candidate,
 * so that a queue costs what is read of it.
 */
#ifndef BERTH_CORE_PREEMPT_PRIVATE_H
#define BERTH_CORE_PREEMPT_PRIVATE_H

#include <math.h>

#include "core/admit/fair.h"
#include "core/admit/victim_rules.h"
#include "core/queue/holder.h"

enum source_list { SOURCE_HIERARCHY, SOURCE_PRIORITY, SOURCE_OWN, SOURCE_LISTS };

struct source {
    struct queue *q;
    const struct quota_node *lca; /* the lowest cohort above both; NULL for the asker's own queue */
    enum source_list list;
    enum preempt_policy policy;
    struct queue_workload *head; /* the next candidate; NULL: no more */
    struct tree_pos at;
    bool past;     /* the cursor is beyond those that are evicting */
    bool by_usage; /* candidates are ordered by the usage of their LocalQueues: sorted[] */
    struct queue_workload **sorted;
    size_t n_sorted, i_sorted;
};
VEC(source_vec, struct source);
VEC(victim_vec, struct victim);

/* Memory of searches, kept between them. */
struct preempt_scratch {
    struct source_vec sources;
    struct victim_vec out; /* taken out so far */
    struct heap merge;     /* sources by head */
    struct arena memory;
};

struct search {
    struct preempt *p;
    const struct preempt_ask *ask;
    struct queue *q; /* the asker's */
    struct preempt_scratch *m;
    bool protected;
    int64_t wake_ns;
};

/* fair_share_cmp, where it is asked often. */
static inline int share_cmp(const struct share *a, const struct share *b) {
    if (a->weighted != b->weighted) {
        return a->weighted > b->weighted ? 1 : -1;
    }
    return isinf(a->weighted) ? (a->ratio > b->ratio) - (a->ratio < b->ratio) : 0;
}

/* preempt_source.c */
bool source_spares(const struct search *s, const struct source *x,
                   const struct queue_workload *w); /* by preempt_ask.place */
bool source_uses(const struct search *s, const struct queue_workload *w);
int source_add(struct search *s, struct queue *q, const struct quota_node *lca,
               enum source_list list, enum preempt_policy policy);
int source_start(struct search *s, struct source *x); /* to the first candidate */
void source_next(struct search *s, struct source *x); /* to the one after head */
/* To the one after head, and beyond those of its priority or more where they come next in order: none of them will
 * do. */
void source_skip_priority(struct search *s, struct source *x);
/* Victim order among candidates of two queues (or of one, by usage): never 0 for two workloads. */
int candidate_cmp(const struct search *s, const struct queue_workload *a,
                  const struct queue_workload *b);

/* preempt.c */
/* Steps inside a trial. */
int victim_take(struct search *s, struct queue_workload *w, enum preempt_reason reason);
bool search_fits(const struct search *s, bool borrow);
int search_fill_back(struct search *s, bool borrow);

/* fair_search.c: the victims under fair sharing, into m->out. */
int fair_search(struct search *s, bool *ret_found);

#endif

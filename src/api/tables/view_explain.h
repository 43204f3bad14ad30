/*
 * view_explain: the C views of WorkloadExplanation and QueuePreview (berth.dev/v1alpha1), which are computed when asked
 * for. Amounts are texts, as they are read: "2", "unlimited".
 */
#ifndef BERTH_API_VIEW_EXPLAIN_H
#define BERTH_API_VIEW_EXPLAIN_H

#include "api/tables/view_meta.h"

struct explained_workload { /* names are empty for who may not see it */
    struct str namespace, name, cluster_queue;
    int64_t priority;
    struct str amount, ends, basis;
    bool overdue;
    struct str keeps, reason;
};
struct explained_workload_list {
    struct explained_workload *v;
    size_t n;
};
struct explained_borrower {
    struct str cluster_queue, amount;
};
struct explained_lack {
    struct str flavor, resource, needed, available, missing, capacity, limited_by, reason;
    struct explained_workload_list holders;
    struct opt_i64 holder_count;
    struct str held_by_others;
    struct {
        struct explained_borrower *v;
        size_t n;
    } borrowers;
};
struct explained_rule {
    struct str rule, message;
    int64_t workloads, until_ns;
};
struct explained_borrowing {
    struct str resource, flavor, requested, nominal_quota, used, missing, remedy;
};
struct explained_position {
    int64_t cluster_queue, local_queue, ahead;
    struct explained_workload_list next;
};
struct explained_estimate {
    int64_t start_ns, earliest_ns, latest_ns, not_before_ns;
    struct str basis, text, note;
};
struct explanation_status {
    struct str state, job, local_queue, cluster_queue;
    int64_t priority;
    struct str reason, summary, text;
    struct explained_position *position;
    struct {
        struct explained_lack *v;
        size_t n;
    } lacks;
    struct {
        struct explained_rule *v;
        size_t n;
    } preemption;
    struct {
        struct explained_borrowing *v;
        size_t n;
    } borrowing;
    struct explained_estimate *estimate;
    int64_t computed_ns;
};
struct workload_explanation {
    struct meta *metadata;
    struct explanation_status *status;
};

struct preview_suggestion {
    struct str cluster_queue, field, nominal_quota, message;
};
struct preview_status {
    struct explained_workload_list admitted, evicted, waiting;
    int64_t admitted_count, evicted_count, waiting_count;
    struct {
        struct preview_suggestion *v;
        size_t n;
    } suggestions;
    struct str_list notes;
    int64_t computed_ns;
};
struct queue_preview { /* as it is answered */
    struct meta *metadata;
    struct preview_status *status;
};

extern const struct schema schema_workload_explanation, schema_queue_preview;

#endif

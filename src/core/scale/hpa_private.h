/* hpa_private: what the files of hpa share: one look while it goes on. */
#ifndef BERTH_CORE_HPA_PRIVATE_H
#define BERTH_CORE_HPA_PRIVATE_H

#include "core/scale/hpa.h"

struct hpa_look {
    const struct hpa_config *config;
    const struct hpa_input *in;
    struct hpa_memory *memory;
    struct arena *arena;
    struct hpa_answer *answer;
    const struct hpa_pod **pods; /* that the selector picks */
    size_t n_pods;
    int32_t min_replicas;
    int failed; /* 0 or ERR_NOMEM */
};

/* A metric's proposal. */
struct hpa_proposal {
    int32_t replicas;
    int64_t usage;          /* thousandths, for the status */
    bool undefined;         /* an average over no replicas */
    struct opt_i32 percent; /* utilization */
    struct str name;        /* for texts: "cpu resource" */
};

void hpa_event(struct hpa_look *k, bool warning, const char *reason, struct str message);
void hpa_condition(struct hpa_look *k, const char *type, bool truth, const char *reason,
                   struct str message);

/* hpa_usage.c: from metrics to replicas. False: *why says why not. */
bool hpa_utilization(struct hpa_look *k, const struct hpa_resource_source *s,
                     struct hpa_proposal *ret, struct str *why);
bool hpa_average_use(struct hpa_look *k, const struct hpa_resource_source *s,
                     struct hpa_proposal *ret, struct str *why);
bool hpa_pods_metric(struct hpa_look *k, const struct hpa_plain_source *s,
                     const struct hpa_reading *r, struct hpa_proposal *ret, struct str *why);

/* hpa_plain.c: from the value of one metric to replicas. */
bool hpa_per_target(struct hpa_look *k, int64_t usage, int64_t target, struct hpa_proposal *ret,
                    struct str *why);
void hpa_per_pod(struct hpa_look *k, int64_t usage, int64_t target, struct hpa_proposal *ret);
bool hpa_within(const struct hpa_look *k,
                double ratio); /* so near to the target that nothing changes */
int32_t hpa_ceil(double v);

/* hpa_metric.c: all metrics. False: no replicas can be proposed, *failure says why. */
bool hpa_metrics(struct hpa_look *k, int32_t *ret_replicas, struct str *ret_metric,
                 struct hpa_metric_list *ret_statuses, struct str *failure);

/* hpa_limit.c: steadied, and within bounds and rates. */
int32_t hpa_normalize(struct hpa_look *k, int32_t current, int32_t desired);
void hpa_remember(struct hpa_look *k, int32_t before, int32_t after);

/* hpa_text.c */
struct str hpa_selector_text(struct arena *a, const struct label_selector *s);

#endif

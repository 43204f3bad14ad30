/* usage_view: the C views of metrics.k8s.io: what pods and nodes take. */
#ifndef BERTH_API_USAGE_VIEW_H
#define BERTH_API_USAGE_VIEW_H

#include "api/tables/view_meta.h"

struct container_metrics {
    struct str name;
    struct quantity_map usage;
};
struct container_metrics_list {
    struct container_metrics *v;
    size_t n;
};
struct pod_metrics {
    struct meta *metadata;
    int64_t timestamp_ns;
    struct str window; /* a duration: "10.002s" */
    struct container_metrics_list containers;
};
struct node_metrics {
    struct meta *metadata;
    int64_t timestamp_ns;
    struct str window;
    struct quantity_map usage;
};

#endif

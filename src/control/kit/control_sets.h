/*
 * control_sets: which controllers run together. A set is what people turn on or off by one word of `--controllers`
 * (control_set.h, which lists the words in the order of these bits); each controller's row names the set that it
 * belongs to (kit/controller.h).
 */
#ifndef BERTH_CONTROL_CONTROL_SETS_H
#define BERTH_CONTROL_CONTROL_SETS_H

enum control_set {
    CONTROL_QUEUES = 1 << 0,       /* admission, placement, status of queues */
    CONTROL_JOB_QUEUE = 1 << 1,    /* Workloads of Jobs, pods and what serves */
    CONTROL_WORKLOADS = 1 << 2,    /* deactivation, time limits, priority classes */
    CONTROL_RESERVATIONS = 1 << 3, /* bookings: the planner, their objects, series, calendars */
    CONTROL_DEFAULTS = 1 << 4,     /* flavors and queues of a fresh data folder */
    CONTROL_BOOTSTRAP = 1 << 5,    /* namespaces and PriorityClasses that must be there */
    CONTROL_NAMESPACES = 1 << 6,   /* emptying deleted namespaces */
    CONTROL_SERVICEACCOUNTS =
        1 << 7, /* default ServiceAccount and root certificate per namespace */
    CONTROL_GC = 1 << 8,
    CONTROL_JOBS = 1 << 9,
    CONTROL_NODES = 1 << 10, /* nodes that fell silent, pods of nodes that are gone */
    CONTROL_ROLES = 1 << 11, /* aggregated ClusterRoles */
    CONTROL_EVENT_TTL = 1 << 12,
    CONTROL_CRON_JOBS = 1 << 13,   /* Jobs at the times of a schedule */
    CONTROL_DISRUPTIONS = 1 << 14, /* how many pods may be evicted */
    CONTROL_QUOTAS = 1 << 15,      /* what namespaces have, of what they may have */
    CONTROL_APPS = 1 << 16,      /* what runs as long as it is wanted: Deployments, StatefulSets */
    CONTROL_ENDPOINTS = 1 << 17, /* EndpointSlices of Services */
    CONTROL_VOLUMES = 1 << 18,   /* claims, volumes, snapshots */
    CONTROL_SERVING = 1 << 19,   /* InferenceServices: their Deployments and Services */
    CONTROL_AUTOSCALING = 1 << 20, /* replicas by what pods use */
    CONTROL_ALL = (1 << 21) - 1,
    CONTROL_CLUSTER = CONTROL_JOB_QUEUE | CONTROL_QUEUES | CONTROL_WORKLOADS,
    CONTROL_KUBERNETES = CONTROL_ENDPOINTS | CONTROL_BOOTSTRAP | CONTROL_NAMESPACES |
                         CONTROL_SERVICEACCOUNTS | CONTROL_GC | CONTROL_JOBS | CONTROL_NODES |
                         CONTROL_ROLES | CONTROL_EVENT_TTL | CONTROL_CRON_JOBS |
                         CONTROL_DISRUPTIONS | CONTROL_QUOTAS | CONTROL_APPS | CONTROL_VOLUMES |
                         CONTROL_AUTOSCALING,
};

#endif

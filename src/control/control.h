/*
 * control: all controllers of a world, made and freed together.
 *
 * `berth up` runs every one; on a cluster that has its own Job controller, garbage collector and so on (the set
 * CONTROL_KUBERNETES), only the set CONTROL_CLUSTER runs. Order does not matter: each goes on from what the mirror
 * says. Their names for people are in control_set.h.
 */
#ifndef BERTH_CONTROL_CONTROL_H
#define BERTH_CONTROL_CONTROL_H

#include "base/err.h"
#include "control/kit/env.h"

enum control_set {
    CONTROL_BOOTSTRAP = 1 << 0,  /* namespaces and PriorityClasses that must be there */
    CONTROL_NAMESPACES = 1 << 1, /* emptying deleted namespaces */
    CONTROL_SERVICEACCOUNTS =
        1 << 2, /* default ServiceAccount and root certificate per namespace */
    CONTROL_GC = 1 << 3,
    CONTROL_JOBS = 1 << 4,
    CONTROL_JOB_QUEUE = 1 << 5, /* Workloads of Jobs */
    CONTROL_QUEUES = 1 << 6,    /* admission, placement, status of queues */
    CONTROL_DEFAULTS = 1 << 7,  /* flavors and queues of a fresh data folder */
    CONTROL_NODES = 1 << 8,     /* nodes that fell silent, pods of nodes that are gone */
    CONTROL_ROLES = 1 << 9,     /* aggregated ClusterRoles */
    CONTROL_EVENT_TTL = 1 << 10,
    CONTROL_WORKLOADS = 1 << 11, /* deactivation, time limits */
    CONTROL_RESERVATIONS = 1 << 12, /* bookings: the planner, their objects, series, calendars */
    CONTROL_ALL = (1 << 13) - 1,
    CONTROL_CLUSTER = CONTROL_JOB_QUEUE | CONTROL_QUEUES | CONTROL_WORKLOADS,
    CONTROL_KUBERNETES = CONTROL_BOOTSTRAP | CONTROL_NAMESPACES | CONTROL_SERVICEACCOUNTS |
                         CONTROL_GC | CONTROL_JOBS | CONTROL_NODES | CONTROL_ROLES |
                         CONTROL_EVENT_TTL,
};

struct control;

/* env is copied; what it points to is borrowed. */
struct control *control_new(const struct control_env *env, unsigned set, struct err *err);
void control_free(struct control *c); /* NULL is a no-op */
/* The engine of CONTROL_QUEUES, for questions and checks; NULL when that does not run. */
struct engine;
struct engine *control_engine(const struct control *c);

#endif

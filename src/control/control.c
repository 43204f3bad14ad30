/* control: a table of controllers. See control.h. */
#include "control/control.h"

#include "base/mem.h"
#include "control/kit/api_service.h"
#include "control/berths/booking_objects.h"
#include "control/kube/bootstrap.h"
#include "control/series/calendar_feed.h"
#include "control/kube/event_ttl.h"
#include "control/kube/gc.h"
#include "control/kube/job.h"
#include "control/hold/job_queue.h"
#include "control/kube/namespace.h"
#include "control/kube/node_life.h"
#include "control/hold/pod_group.h"
#include "control/load/priority_class.h"
#include "control/queue/queue_controller.h"
#include "control/book/reservation.h"
#include "control/series/reservation_series.h"
#include "control/kube/role_aggregation.h"
#include "control/see/see.h"
#include "control/hold/serving.h"
#include "control/kube/serviceaccount.h"
#include "control/hold/workload_life.h"

/* Each controller has types of its own; the wrappers make one type of them. */
#define WRAP(name)                                                                                 \
    static void *name##_make(const struct control_env *env, struct err *err) {                     \
        return name##_controller_new(env, err);                                                    \
    }                                                                                              \
    static void name##_drop(void *c) {                                                             \
        name##_controller_free(c);                                                                 \
    }
WRAP(bootstrap)
WRAP(api_service)
WRAP(namespace)
WRAP(serviceaccount)
WRAP(gc)
WRAP(job)
WRAP(job_queue)
WRAP(pod_group)
WRAP(serving)
WRAP(queue)
WRAP(defaults)
WRAP(node_life)
WRAP(role_aggregation)
WRAP(event_ttl)
WRAP(workload_life)
WRAP(priority_class)
WRAP(reservation)
WRAP(booking_objects)
WRAP(reservation_series)
WRAP(calendar_feed)
#undef WRAP

static const struct part {
    unsigned bit;
    const char *name;
    void *(*make)(const struct control_env *env, struct err *err);
    void (*drop)(void *c);
} parts[] = {
    {CONTROL_BOOTSTRAP, "bootstrap", bootstrap_make, bootstrap_drop},
    {CONTROL_BOOTSTRAP, "service of the api", api_service_make, api_service_drop},
    {CONTROL_NAMESPACES, "namespaces", namespace_make, namespace_drop},
    {CONTROL_SERVICEACCOUNTS, "service accounts", serviceaccount_make, serviceaccount_drop},
    {CONTROL_GC, "garbage collector", gc_make, gc_drop},
    {CONTROL_JOBS, "jobs", job_make, job_drop},
    {CONTROL_JOB_QUEUE, "job queue", job_queue_make, job_queue_drop},
    {CONTROL_JOB_QUEUE, "pods", pod_group_make, pod_group_drop},
    {CONTROL_JOB_QUEUE, "what serves", serving_make, serving_drop},
    {CONTROL_QUEUES, "queues", queue_make, queue_drop},
    {CONTROL_DEFAULTS, "defaults", defaults_make, defaults_drop},
    {CONTROL_NODES, "nodes", node_life_make, node_life_drop},
    {CONTROL_ROLES, "roles", role_aggregation_make, role_aggregation_drop},
    {CONTROL_EVENT_TTL, "event ttl", event_ttl_make, event_ttl_drop},
    {CONTROL_WORKLOADS, "workloads", workload_life_make, workload_life_drop},
    {CONTROL_WORKLOADS, "priority classes", priority_class_make, priority_class_drop},
    {CONTROL_RESERVATIONS, "reservations", reservation_make, reservation_drop},
    {CONTROL_RESERVATIONS, "series", reservation_series_make, reservation_series_drop},
    {CONTROL_RESERVATIONS, "calendars", calendar_feed_make, calendar_feed_drop},
    {CONTROL_RESERVATIONS, "booking objects", booking_objects_make, booking_objects_drop},
};

enum { PARTS = sizeof parts / sizeof *parts };

struct control {
    struct control_env env; /* what the controllers point to */
    void *running[PARTS];
    struct see *see; /* beside the queues */
};

static struct queue_controller *queues_of(const struct control *c) {
    for (size_t i = 0; i < PARTS; i++) {
        if (parts[i].bit == CONTROL_QUEUES) {
            return c->running[i];
        }
    }
    return NULL;
}

struct control *control_new(const struct control_env *env, unsigned set, struct err *err) {
    struct control *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->env = *env;
    for (size_t i = 0; i < PARTS; i++) {
        if (!(set & parts[i].bit)) {
            continue;
        }
        c->running[i] = parts[i].make(&c->env, err);
        if (!c->running[i]) {
            err_wrap(err, "controller %s", parts[i].name);
            control_free(c);
            return NULL;
        }
    }
    struct queue_controller *queues = queues_of(c);
    c->see = queues != NULL ? see_new(queues, err) : NULL;
    if (queues != NULL && c->see == NULL) {
        control_free(c);
        return NULL;
    }
    return c;
}

void control_free(struct control *c) {
    if (!c) {
        return;
    }
    see_free(c->see);
    for (size_t i = PARTS; i-- > 0;) {
        if (c->running[i]) {
            parts[i].drop(c->running[i]);
        }
    }
    mem_free(c);
}

struct engine *control_engine(const struct control *c) {
    struct queue_controller *queues = queues_of(c);
    return queues != NULL ? queue_controller_engine(queues) : NULL;
}

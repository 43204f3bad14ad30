/* control: a table of controllers. See control.h. */
#include "control/control.h"

#include "base/mem.h"
#include "control/berths/booking_objects.h"
#include "control/book/reservation.h"
#include "control/hold/job_queue.h"
#include "control/hold/pod_group.h"
#include "control/hold/serving.h"
#include "control/hold/workload_life.h"
#include "control/kit/api_service.h"
#include "control/kit/controller.h"
#include "control/kube/bootstrap.h"
#include "control/kube/event_ttl.h"
#include "control/kube/gc.h"
#include "control/kube/job.h"
#include "control/kube/namespace.h"
#include "control/kube/node_life.h"
#include "control/kube/role_aggregation.h"
#include "control/kube/serviceaccount.h"
#include "control/load/priority_class.h"
#include "control/queue/queue_controller.h"
#include "control/see/see.h"
#include "control/series/calendar_feed.h"
#include "control/series/reservation_series.h"

/* Each controller has types of its own; the wrappers make one type of them. */
#define WRAP(name)                                                                                 \
    static void *name##_make(const struct control_env *env, struct err *err) {                     \
        return name##_controller_new(env, err);                                                    \
    }                                                                                              \
    static void name##_drop(void *c) {                                                             \
        name##_controller_free(c);                                                                 \
    }
WRAP(queue)
WRAP(defaults)
#undef WRAP

static const struct part {
    unsigned bit;
    const char *name;
    void *(*make)(const struct control_env *env, struct err *err);
    void (*drop)(void *c);
    const struct controller_row *row; /* instead of the two */
} parts[] = {
    {CONTROL_BOOTSTRAP, "bootstrap", .row = &bootstrap_controller},
    {CONTROL_BOOTSTRAP, "service of the api", .row = &api_service_controller},
    {CONTROL_NAMESPACES, "namespaces", .row = &namespace_controller},
    {CONTROL_SERVICEACCOUNTS, "service accounts", .row = &serviceaccount_controller},
    {CONTROL_GC, "garbage collector", .row = &gc_controller},
    {CONTROL_JOBS, "jobs", .row = &job_controller},
    {CONTROL_JOB_QUEUE, "job queue", .row = &job_queue_controller},
    {CONTROL_JOB_QUEUE, "pods", .row = &pod_group_controller},
    {CONTROL_JOB_QUEUE, "what serves", .row = &serving_controller},
    {CONTROL_QUEUES, "queues", queue_make, queue_drop},
    {CONTROL_DEFAULTS, "defaults", defaults_make, defaults_drop},
    {CONTROL_NODES, "nodes", .row = &node_life_controller},
    {CONTROL_ROLES, "roles", .row = &role_aggregation_controller},
    {CONTROL_EVENT_TTL, "event ttl", .row = &event_ttl_controller},
    {CONTROL_WORKLOADS, "workloads", .row = &workload_life_controller},
    {CONTROL_WORKLOADS, "priority classes", .row = &priority_class_controller},
    {CONTROL_RESERVATIONS, "reservations", .row = &reservation_controller},
    {CONTROL_RESERVATIONS, "series", .row = &reservation_series_controller},
    {CONTROL_RESERVATIONS, "calendars", .row = &calendar_feed_controller},
    {CONTROL_RESERVATIONS, "booking objects", .row = &booking_objects_controller},
};

enum { PARTS = sizeof parts / sizeof *parts };

const struct controller_row *const *control_rows(size_t *ret_n) {
    static const struct controller_row *rows[PARTS];
    size_t n = 0;
    for (size_t i = 0; i < PARTS; i++) {
        if (parts[i].row) {
            rows[n++] = parts[i].row;
        }
    }
    *ret_n = n;
    return rows;
}

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
        c->running[i] =
            parts[i].row ? controller_new(parts[i].row, &c->env, err) : parts[i].make(&c->env, err);
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
        if (parts[i].row) {
            controller_free(c->running[i]);
        } else if (c->running[i]) {
            parts[i].drop(c->running[i]);
        }
    }
    mem_free(c);
}

struct engine *control_engine(const struct control *c) {
    struct queue_controller *queues = queues_of(c);
    return queues != NULL ? queue_controller_engine(queues) : NULL;
}

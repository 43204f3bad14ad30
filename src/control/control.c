/* control: a table of controllers. See control.h. */
#include "control/control.h"

#include "base/mem.h"
#include "control/apps/daemon_set.h"
#include "control/apps/deployment.h"
#include "control/apps/replica_set.h"
#include "control/apps/stateful_set.h"
#include "control/berths/booking_objects.h"
#include "control/book/reservation.h"
#include "control/bounds/disruption.h"
#include "control/bounds/quota_count.h"
#include "control/cron/cron_job.h"
#include "control/hold/job_queue.h"
#include "control/hold/pod_group.h"
#include "control/hold/serving.h"
#include "control/hold/workload_life.h"
#include "control/kit/api_service.h"
#include "control/kit/controller.h"
#include "control/kube/bootstrap.h"
#include "control/kube/csr_ttl.h"
#include "control/kube/event_ttl.h"
#include "control/kube/gc.h"
#include "control/kube/job.h"
#include "control/kube/namespace.h"
#include "control/kube/node_life.h"
#include "control/kube/pod_gc.h"
#include "control/kube/role_aggregation.h"
#include "control/kube/serviceaccount.h"
#include "control/load/priority_class.h"
#include "control/net/endpoint_slice.h"
#include "control/net/endpoints.h"
#include "control/queue/queue_controller.h"
#include "control/scale/autoscaler.h"
#include "control/see/see.h"
#include "control/series/calendar_feed.h"
#include "control/series/reservation_series.h"
#include "control/serve/serve.h"
#include "control/serve/serve_runtimes.h"
#include "control/volumes/volumes.h"

/* In the order in which they are made. */
static const struct controller_row *const parts[] = {
    &bootstrap_controller,
    &api_service_controller,
    &namespace_controller,
    &serviceaccount_controller,
    &gc_controller,
    &job_controller,
    &cron_job_controller,
    &disruption_controller,
    &quota_controller,
    &replica_set_controller,
    &replication_controller,
    &daemon_set_controller,
    &deployment_controller,
    &stateful_set_controller,
    &job_queue_controller,
    &pod_group_controller,
    &serving_controller,
    &queue_controller,
    &defaults_controller,
    &node_life_controller,
    &pod_gc_controller,
    &role_aggregation_controller,
    &event_ttl_controller,
    &csr_ttl_controller,
    &workload_life_controller,
    &priority_class_controller,
    &reservation_controller,
    &reservation_series_controller,
    &calendar_feed_controller,
    &booking_objects_controller,
    &endpoint_slice_controller,
    &endpoints_controller,
    &autoscaler_controller,
    &volumes_controller,
    &serve_controller,
    &serve_runtimes_controller,
};

enum { PARTS = sizeof parts / sizeof *parts };

const struct controller_row *const *control_rows(size_t *ret_n) {
    *ret_n = PARTS;
    return parts;
}

struct control {
    struct control_env env; /* what the controllers point to */
    void *running[PARTS];   /* NULL: not of the set */
    struct see *see;        /* beside the queues */
};

static struct queue_controller *queues_of(const struct control *c) {
    size_t i = 0;
    while (parts[i] != &queue_controller) {
        i++;
    }
    return c->running[i];
}

/* False: with err. */
static bool make(struct control *c, size_t i, unsigned set, struct err *err) {
    if (!(set & parts[i]->set)) {
        return true;
    }
    c->running[i] = controller_new(parts[i], &c->env, err);
    if (c->running[i] != NULL) {
        return true;
    }
    err_wrap(err, "controller %s", parts[i]->who);
    return false;
}

struct control *control_new(const struct control_env *env, unsigned set, struct err *err) {
    struct control *c = mem_zalloc(sizeof *c);
    if (c == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->env = *env;
    bool ok = true;
    for (size_t i = 0; ok && i < PARTS; i++) {
        ok = make(c, i, set, err);
    }
    if (ok && queues_of(c)) {
        c->see = see_new(queues_of(c), err);
        ok = c->see != NULL;
    }
    if (!ok) {
        control_free(c);
        return NULL;
    }
    return c;
}

void control_free(struct control *c) {
    if (c == NULL) {
        return;
    }
    see_free(c->see);
    for (size_t i = PARTS; i-- > 0;) {
        controller_free(c->running[i]);
    }
    mem_free(c);
}

struct engine *control_engine(const struct control *c) {
    struct queue_controller *q = queues_of(c);
    return q != NULL ? queue_controller_engine(q) : NULL;
}

/*
 * source_prometheus: the request of KEDA's prometheus trigger, and what its answer says.
 */
#ifndef BERTH_CORE_SOURCE_PROMETHEUS_H
#define BERTH_CORE_SOURCE_PROMETHEUS_H

#include "base/err.h"
#include "core/scale/trigger.h"

struct prometheus_request {
    struct str url; /* as KEDA writes it: the namespace is not escaped */
    struct str_map headers;
};

/* t: a trigger of the type prometheus without faults; now in nanoseconds. 0 or ERR_NOMEM. */
int prometheus_request(const struct trigger *t, int64_t now_ns, struct arena *a,
                       struct prometheus_request *ret);
/* The value of one series; -1: it is null. ERR_INVALID: there is none, and err says why. */
int prometheus_value(const struct trigger *t, int status, struct str body, struct arena *a,
                     double *ret, struct err *err);

#endif

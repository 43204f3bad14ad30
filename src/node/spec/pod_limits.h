/* pod_limits: how much a pod may take: what it says itself, and what keeps the machine alive. */
#ifndef BERTH_NODE_POD_LIMITS_H
#define BERTH_NODE_POD_LIMITS_H

#include "wire/json/json.h"

/* The sum of its containers' limits, in units or thousandths; 0 when one of them has none. */
int64_t pod_limit(yyjson_val *pod, struct str resource, bool milli);
int64_t pod_memory_most(void); /* of a pod that says no limit */
/* Processes: that the kernel can have, of one pod, of all pods together. */
int64_t pod_pids_of_machine(void);
int64_t pod_pids_most(void);
int64_t pod_pids_of_all(void);

#endif

/* metric_name: the names of KEDA's external metrics: "s0-" and a part of which some bytes become dashes. */
#ifndef BERTH_CORE_METRIC_NAME_H
#define BERTH_CORE_METRIC_NAME_H

#include "base/arena.h"

struct str metric_name(struct arena *a, int64_t trigger, struct str part);

#endif

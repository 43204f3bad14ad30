/*
 * backoff: how long a Workload that was sent back waits before it is queued again.
 *
 * The nth time it waits base * 2^(n-1) seconds, at most max, with a tail of up to a ten-thousandth that depends on the
 * Workload (its uid) and n alone, so that a run can be repeated and a crowd does not return at one instant.
 */
#ifndef BERTH_CONTROL_BACKOFF_H
#define BERTH_CONTROL_BACKOFF_H

#include "base/str.h"

/* n from 1. Nanoseconds. */
int64_t backoff_ns(int32_t base_s, int32_t max_s, int32_t n, struct str uid);

#endif

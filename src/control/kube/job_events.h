/*
 * job_events: what people are told of a Job: said when a committed change shows it, so exactly once and never of a
 * write that failed.
 */
#ifndef BERTH_CONTROL_JOB_EVENTS_H
#define BERTH_CONTROL_JOB_EVENTS_H

#include "control/kit/recorder.h"

void job_events_tell(struct recorder *r, const struct change *c);

#endif

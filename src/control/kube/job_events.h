/*
 * job_events: Events of a Job, emitted when a committed change shows the fact: exactly once, never for a write that
 * failed.
 */
#ifndef BERTH_CONTROL_JOB_EVENTS_H
#define BERTH_CONTROL_JOB_EVENTS_H

#include "control/kit/recorder.h"

void job_events_tell(struct recorder *r, const struct change *c);

#endif

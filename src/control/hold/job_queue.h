/*
 * job_queue: a Workload for each object of an integrated kind (integration.h) that names a queue. `Job` stands for one
 * of any of them.
 *
 *     Job                              Workload                    what is done
 *     queued by something above it     of that: not Admitted       hold it back
 *     no Workload                                                  nothing runs: create it, or wait for the named one
 *     suspended, nothing injected      Admitted                    start: unsuspend, inject flavors
 *     running                          not Admitted                stop: suspend (and restore, where one patch may)
 *     running                          Evicted                     stop
 *     suspended, injected              any                         restore the templates
 *     suspended, restored, nothing runs  Evicted, QuotaReserved    release the quota, requeue
 *     other pods, suspended            without quota               change the Workload
 *     other pods                       with quota                  stop; delete the Workload
 *     cannot run as it is              QuotaReserved               release the quota (OnHold)
 *     can run again                    OnHold                      let it queue
 *     ended                            not Finished                finish it; its finalizer goes
 *     gone                             any                         finish it; its finalizer goes
 *     any                              being deleted               stop; then its finalizer goes
 *
 * Whether a Workload is admitted or evicted is decided elsewhere; here its conditions are only followed.
 */
#ifndef BERTH_CONTROL_JOB_QUEUE_H
#define BERTH_CONTROL_JOB_QUEUE_H

#include "base/err.h"
#include "control/kit/env.h"

extern const struct controller_row job_queue_controller;

#endif

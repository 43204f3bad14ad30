/*
 * job_queue: Kueue's integration of batch/v1 Jobs: a Workload for each Job that names a queue.
 *
 *     Job                              Workload                    what is done
 *     no Workload                                                  once nothing runs: create it
 *     suspended, nothing injected      Admitted                    start: unsuspend, inject flavors
 *     running                          not Admitted                stop: suspend
 *     running                          Evicted                     stop: suspend
 *     suspended, injected              any                         restore the template
 *     suspended, restored, nothing runs  Evicted, QuotaReserved    release the quota, requeue
 *     ended                            not Finished                finish it; its finalizer goes
 *     gone                             any                         finish it; its finalizer goes
 *     any                              being deleted               stop; then its finalizer goes
 *
 * Whether a Workload is admitted or evicted is decided elsewhere; here its conditions are only followed.
 */
#ifndef BERTH_CONTROL_JOB_QUEUE_H
#define BERTH_CONTROL_JOB_QUEUE_H

#include "base/err.h"
#include "control/env.h"

struct job_queue_controller;

struct job_queue_controller *job_queue_controller_new(const struct control_env *env,
                                                      struct err *err);
void job_queue_controller_free(struct job_queue_controller *c);

#endif

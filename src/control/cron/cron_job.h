/*
 * cron_job: the controller of CronJobs: makes Jobs of their templates at the times of their schedules (cron_decide.h
 * says which), keeps their status, and deletes their oldest Jobs.
 *
 * A Job gets the labels and annotations of jobTemplate, so a queue that those name queues it, and is judged as what a
 * user's template makes (server/write/pipeline.h). When the wall clock is set, all schedules are looked at again
 * (control/kit/workqueue.h).
 */
#ifndef BERTH_CONTROL_CRON_JOB_H
#define BERTH_CONTROL_CRON_JOB_H

#include "control/kit/controller.h"

extern const struct controller_row cron_job_controller;

#endif

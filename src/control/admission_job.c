/*
 * admission_job: what Kueue's webhooks of jobs do. A Job with a queue starts suspended, so that no pod exists before it
 * is admitted; every Job does where all are managed. One that another controller owns is that one's business, and so
 * are Jobs in namespaces where none are queued: nobody would ever start them.
 */
#include "control/admission.h"

static int mutate_job(const struct admission_context *c, struct admission_ask *q, struct err *err) {
    return q->op == ADMISSION_CREATE ? admission_suspend(c, q, "spec.suspend", err) : 0;
}

const struct admission_row admission_job_rows[] = {
    {"batch", "Job", mutate_job, NULL},
    {0},
};

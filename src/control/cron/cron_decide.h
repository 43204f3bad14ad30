/*
 * cron_decide: what a CronJob needs next, as one pure function of the CronJob, its Jobs and the time.
 *
 * Nothing is remembered between calls. A Job that is made for a time carries it in its name and in an annotation, so
 * status.lastScheduleTime follows from the Jobs that are there: a controller that was stopped after it made a Job and
 * before it wrote that down does not make it twice. What differs in the status is written first; a Job is made when
 * nothing does.
 *
 * Of the times that went by since the last Job only the latest counts, once, and only within startingDeadlineSeconds.
 * A Job under Forbid that waited for the one before starts when that has ended, if its time is still the latest. At
 * most one Job is made for each minute, whatever "@every" says: their names say minutes.
 */
#ifndef BERTH_CONTROL_CRON_DECIDE_H
#define BERTH_CONTROL_CRON_DECIDE_H

#include "base/arena.h"
#include "control/kit/recorder.h"
#include "control/kit/views.h"
#include "wire/text/zone.h"

#define CRON_TIME_ANNOTATION "batch.kubernetes.io/cronjob-scheduled-timestamp"

/* One of its Jobs. */
struct cron_run {
    struct str name, uid;
    const char *finished; /* "Complete" or "Failed"; NULL: it runs, or waits */
    bool manual;          /* made by hand from the CronJob's template */
    bool deleting;
    int64_t start_ns, completion_ns;
    int64_t due_s; /* the time it was made for; -1: not by us */
};

struct cron_facts {
    const struct cron_job *job;
    struct str name;
    int64_t created_ns;
    bool deleting;
    const struct cron_run *runs;
    size_t n_runs;
    int64_t now_ns;          /* wall */
    const struct zone *zone; /* of the schedule; NULL: this machine does not know it */
};

/* What people are told about the CronJob. */
struct cron_note {
    enum event_type type;
    const char *reason;
    struct str text;
};

struct cron_plan {
    struct cron_job_status status; /* wanted; its list is in the arena */
    bool write_status;             /* it differs from what the CronJob has */
    size_t *deletes, n_deletes;    /* into facts.runs */
    int64_t due_s;                 /* a Job is made for this time; 0: none */
    struct cron_note *notes;
    size_t n_notes;
    int64_t again_ns; /* look again after this long; 0: only when something changes */
};

/* ERR_NOMEM. */
int cron_decide(const struct cron_facts *f, struct arena *a, struct cron_plan *ret,
                struct err *err);

/* The Job's name: "nightly-29920580". */
struct str cron_run_name(struct str cron_job, int64_t due_s, struct arena *a);

#endif

/*
 * trace: lists of jobs with their times, as CSV.
 *
 * The first line names the columns, in any order:
 *
 *     submit_s     when it came, in seconds; fractions allowed
 *     duration_s   how long it runs
 *     gpus         whole GPUs
 *     queue        LocalQueue, as "name" (in namespace default) or "namespace/name"
 *     priority     optional: an integer
 *     class        optional: what the report counts it under
 *
 * Philly's form (TRACE_PHILLY) is that of the public job list of that cluster: timestamp, duration, num_gpus,
 * gpu_time, cluster; times are counted from the first one; "cluster" becomes the queue. Jobs without GPUs or run time,
 * of which such traces have some, are left out and counted.
 *
 * Jobs come back in the order of their submission; those of one moment, in the order of the file.
 */
#ifndef BERTH_SIM_TRACE_H
#define BERTH_SIM_TRACE_H

#include "base/arena.h"
#include "base/err.h"

enum trace_form { TRACE_PLAIN, TRACE_PHILLY };

struct trace_job {
    int64_t submit_ns, duration_ns, gpus, priority;
    struct str ns, queue, class; /* views of the text */
    size_t line;
};

struct trace {
    struct trace_job *v;
    size_t n, left_out;
};

/* ERR_INVALID "line 12: gpus: expected ...", ERR_TOO_LARGE, ERR_NOMEM. The text must outlive the trace. */
int trace_read(struct arena *a, enum trace_form form, struct str text, struct trace *ret,
               struct err *err);

#endif

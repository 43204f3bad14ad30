/*
 * job_queue_private: declarations shared by the files of job_queue. job_queue.c hears of changes and looks;
 * job_queue_steps.c decides
 * and writes, one step a look.
 */
#ifndef BERTH_CONTROL_JOB_QUEUE_PRIVATE_H
#define BERTH_CONTROL_JOB_QUEUE_PRIVATE_H

#include "base/limits.h"
#include "control/hold/hold.h"
#include "control/hold/job_queue.h"
#include "control/load/job_slices.h"
#include "control/load/job_workload.h"

enum {
    JOB_QUEUE_BODY_MAX = 2 * LIMIT_OBJECT_BYTES,
    JOB_QUEUE_POLL_MS = 500,   /* what goes has no status to wait for */
    JOB_QUEUE_AGAIN_MS = 5000, /* something that it names is not there (yet) */
};

/* One integrated kind. */
struct lane {
    struct job_queue_controller *c;
    const struct integration *row;
    const struct kind *kind; /* as last served; NULL: never */
    unsigned sort;           /* of the keys of its objects: LANE_KEYS and on */
};
enum { ORPHANED_KEY, LANE_KEYS }; /* sorts: a Workload to let go; objects of the first lane, ... */

struct job_queue_controller {
    struct controller base;
    const struct queue_settings *settings;
    const struct kind *jobs, *workloads, *pods, *namespaces; /* of base.kinds */
    struct lane *lanes;
    size_t n_lanes;
    const struct kind *last_kind; /* the kind that was asked for last, and its lane */
    struct lane *last_lane;
};

/* What one look sees. */
struct pair {
    struct job_queue_controller *c;
    struct lane *lane;
    const struct object *obj;
    struct job_look look;
    int unclear; /* why the pod sets cannot be said: ERR_NOT_FOUND, ERR_INVALID; with err */
    struct err err;
    struct job_end end;
    struct str prebuilt;
    struct hold_look h;         /* its Workload */
    const struct object *extra; /* a second Workload, which should not be */
    yyjson_val *was;            /* the pod sets of its Workload */
    bool suspended, finished, idle;
    size_t n_pods, n_owned; /* owned: anything but Workloads */
    bool elastic;           /* its Workload is slices.holder */
    struct job_slices slices;
};

/* The lane of a kind; NULL when it is not queued here. */
struct lane *job_queue_lane(struct job_queue_controller *c, const struct kind *k);
/* The first step that applies. */
enum work job_queue_step(struct pair *p);
/* An object whose ancestor is queued: it is held back while that is not admitted. */
enum work job_queue_child(struct pair *p, const struct object *ancestor);
/* A Workload that is to replace `prior`; NULL: the first. */
enum work job_queue_create(struct pair *p, const struct job_slice *prior);

/* ---- elastic Jobs (job_queue_slices.c) ---- */

/* Workloads of the Job beside the one that it runs by: true when there was something to do about them. */
bool job_queue_slices(struct pair *p, enum work *ret);
/* The Job wants another number of pods than its Workload has. False: it wants other pods. *ret WORK_OK: what there is
 * will do. */
bool job_queue_resize(struct pair *p, enum work *ret);
/* Lets as many of its pods be scheduled as it holds quota for. */
enum work job_queue_ungate(struct pair *p);

/* A Workload whose object is gone: it is finished, and once it is being deleted nothing holds it. */
enum work job_queue_let_go(struct job_queue_controller *c, const struct object *wl);

#endif

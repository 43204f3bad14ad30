/*
 * job_queue_private: what job_queue's files share. job_queue.c hears of changes and looks; job_queue_steps.c decides
 * and writes, one step a look.
 */
#ifndef BERTH_CONTROL_JOB_QUEUE_PRIVATE_H
#define BERTH_CONTROL_JOB_QUEUE_PRIVATE_H

#include "base/limits.h"
#include "control/load/job_follow.h"
#include "control/hold/job_queue.h"
#include "control/load/job_workload.h"
#include "control/kit/recorder.h"
#include "control/kit/round.h"
#include "control/load/workload_status.h"

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
    struct workqueue *queue;
};

struct job_queue_controller {
    struct control_env env;
    const struct queue_settings *settings;
    const struct kind *jobs, *workloads, *pods, *namespaces;
    struct lane *lanes;
    size_t n_lanes;
    const struct kind *last_kind; /* the kind that was asked for last, and its lane */
    struct lane *last_lane;
    struct lane orphaned; /* Workloads to let go; no row */
    struct recorder *recorder;
    struct feed *feed;
    struct arena arena;
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
    const struct object *wl_obj; /* NULL: no Workload */
    const struct object *extra;  /* a second Workload, which should not be */
    yyjson_val *wl_tree, *was;   /* was: its pod sets */
    struct workload wl;
    bool suspended, finished, idle;
    size_t n_pods, n_owned; /* owned: anything but Workloads */
    bool admitted, evicted, reserved, wl_finished;
};

/* The lane of a kind; NULL when it is not queued here. */
struct lane *job_queue_lane(struct job_queue_controller *c, const struct kind *k);
/* The first step that applies. */
enum work job_queue_step(struct pair *p);
/* An object whose ancestor is queued: it is held back while that is not admitted. */
enum work job_queue_child(struct pair *p, const struct object *ancestor);
/* A Workload whose object is gone: it is finished, and once it is being deleted nothing holds it. */
enum work job_queue_let_go(struct job_queue_controller *c, const struct object *wl);

#endif

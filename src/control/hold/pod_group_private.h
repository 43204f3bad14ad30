/*
 * pod_group_private: declarations shared by the files of pod_group: one look at the pods of a Workload, and the
 * steps.
 */
#ifndef BERTH_CONTROL_POD_GROUP_PRIVATE_H
#define BERTH_CONTROL_POD_GROUP_PRIVATE_H

#include "control/hold/hold.h"
#include "control/hold/pod_group.h"
#include "control/hold/pod_group_match.h"
#include "control/load/integration.h"
#include "control/load/pod_index.h"

#define POD_AGAIN_NS (5 * NS_PER_SEC) /* something that pods name is not there (yet) */

enum {
    POD_BURST = 128, /* writes of one look; the next look goes on */
    POD_BODY_MAX = 2 * LIMIT_OBJECT_BYTES,
};

/* Sorts of keys. */
enum {
    POD_ALONE, /* a pod of its own */
    POD_GROUP, /* by the group's name */
    POD_LOOSE, /* a Workload whose pod is gone */
    POD_ALL,   /* everything: there was no memory for something */
};

struct pod_group_controller {
    struct controller base;
    const struct queue_settings *settings;
    const struct kind *pods, *workloads; /* of base.kinds */
    struct pod_index index;
    struct arena scratch; /* of one change */
};

/* What one look sees. */
struct pod_unit {
    struct pod_group_controller *c;
    struct str ns, name; /* of the key */
    bool group;
    struct pod_list pods; /* by age */
    /* Whose word counts: the oldest that did not fail, else the oldest */
    const struct gated_pod *first;
    yyjson_val *first_tree;
    struct hold_look h;         /* their Workload */
    const struct object *extra; /* a second Workload, which should not be */
    bool foreign;               /* the Workload of that name is not one of pods */
    int64_t now;
};

/* pod_group_steps.c: the first step of the table that applies. */
enum work pod_unit_step(struct pod_unit *u);

/* pod_group_act.c: what steps consist of. */
/* WORK_OK: there was nothing to do; else what was begun. */
enum work pod_unit_stop(struct pod_unit *u, bool all, const char *reason, struct str message);
enum work pod_unit_start(struct pod_unit *u);
enum work pod_unit_let_go(struct pod_unit *u, const struct pod_list *l, bool remove);
enum work pod_unit_remove_workload(struct pod_unit *u, const struct object *wl);
/* Makes the Workload, or makes the one there as it would be made. */
enum work pod_unit_compose(struct pod_unit *u);

#endif

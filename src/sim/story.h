/*
 * story: what happened to each Workload of a simulated world, in order: it came, each change of a condition, it went.
 *
 * A condition that is written anew with the same status and reason is no change. It is told as a watch of the Workloads
 * would tell it, so that a run on a server can be compared with a simulated one.
 */
#ifndef BERTH_SIM_STORY_H
#define BERTH_SIM_STORY_H

#include "mirror/mirror.h"

struct story;

/* Subscribes; changes before are not seen. */
struct story *story_new(struct mirror *m, struct clock *clock, struct err *err);
void story_free(struct story *y);       /* NULL is a no-op */
int story_error(const struct story *y); /* ERR_NOMEM when something could not be kept */

/* Members of an object, after others:
 *     ,"workloads":[{"namespace","name","owner","queue",
 *                    "events":[{"at","revision","type","status","reason"}]}]
 *     ,"clusterQueues":[{"name","status"}]
 * owner: of the controller, Kind/name, or ""; type: Created, Deleted, or of the condition; revision: the same number
 * for what changed at once; with QuotaReserved True also "admission". ClusterQueues are as they are in the end. */
void story_json(struct story *y, const struct mirror *m, struct buf *out);
/* A line for each change in order of time: when, who, what. */
void story_lines(const struct story *y, struct buf *out);

#endif

/*
 * admit (server): admission, in order: namespace, ServiceAccount, Priority, LimitRanger, then
 * Kueue's webhooks.
 *
 * Each step may change w->doc (storage version, defaulted) and may refuse by filling w->failure.
 * It reads the newest
 * state (mirror_pending) so that a manifest's objects see each other. Runs on create and update of
 * main resources.
 */
#ifndef BERTH_SERVER_ADMIT_H
#define BERTH_SERVER_ADMIT_H

#include "server/pipeline.h"

/* The namespace must exist, and be Active for creates. Before defaulting, so that a 404 comes
 * first. */
int admit_namespace(struct write *w);
/* All the rest. */
int admit_object(struct write *w);

/* admit_pod.c: default ServiceAccount, priority. */
int admit_pod(struct write *w);
/* admit_limits.c: defaults and bounds of the LimitRanges of the pod's namespace. */
int admit_limits(struct write *w);
/* admit_kueue.c: jobs with a queue name wait suspended; Workloads get their priority. */
int admit_kueue(struct write *w);

#endif

/*
 * inlet: fills a mirror with the kinds that the chosen controllers read, and tells when all caches have synced.
 *
 *     UNKNOWN --(the server lists its resources)--> ABSENT or FOLLOWED --(listed once)--> synced
 *
 * Groups are asked for what they serve; what is not served is asked for again every few seconds, so that a
 * CustomResourceDefinition may be installed later. It is complete when nothing is UNKNOWN, every required kind is
 * FOLLOWED, and everything that is FOLLOWED was listed once; from then on it stays so. A kind that is not required and
 * cannot be listed (we may not, its own conversion is broken) holds the others up for ten seconds, not for ever.
 */
#ifndef BERTH_WORLD_INLET_H
#define BERTH_WORLD_INLET_H

#include "base/log.h"
#include "kube/client.h"
#include "mirror/mirror.h"
#include "world/operate/operate_kinds.h"

struct inlet;

struct inlet_options {
    struct loop *loop;
    struct kube_client *client;
    struct mirror *mirror;
    struct log *log;
    const struct operate_kind *kinds; /* copied */
    size_t n_kinds;
    void (*complete)(void *ctx); /* once; never inside inlet_new */
    void (*fresh)(void *ctx);    /* after inlet_refresh; never inside it */
    void *ctx;
};

struct inlet *inlet_new(const struct inlet_options *o, struct err *err);
void inlet_free(struct inlet *in);
bool inlet_complete(const struct inlet *in);
/* Reads the required kinds anew, as the server has them now: a watch may be behind what another has written. Only when
 * complete; it stays so. */
void inlet_refresh(struct inlet *in);
/* What it waits for, for people: "workloads.kueue.x-k8s.io is not served; listing pods". Empty when complete. */
void inlet_waits(const struct inlet *in, struct buf *out);

#endif

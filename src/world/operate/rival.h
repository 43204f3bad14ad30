/*
 * rival: is Kueue's own manager at work on this cluster? Two programs that admit the same Workloads would each count
 * only on their own decisions, so Berth leaves the queues alone where Kueue is.
 *
 *     sign                                                            it counts
 *     a Deployment kueue-controller-manager that wants replicas       always
 *     the Lease c1f6bfd2.kueue.x-k8s.io, held and renewed lately      always
 *     Kueue's webhook configurations                                  unless the Deployment was scaled to nothing
 *
 * What we may not read, and what is not served, is no sign. Looked at first of all, and then once a minute.
 */
#ifndef BERTH_WORLD_RIVAL_H
#define BERTH_WORLD_RIVAL_H

#include "kube/client.h"

struct rival;

/* changed(ctx): it is known for the first time, or it came or went; never inside rival_new. */
struct rival *rival_new(struct loop *l, struct kube_client *c, void (*changed)(void *ctx),
                        void *ctx, struct err *err);
void rival_free(struct rival *r);
bool rival_known(const struct rival *r);
/* What was seen of it, for people; empty: it is not there. */
struct str rival_signs(const struct rival *r);

#endif

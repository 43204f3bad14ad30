/*
 * fleet: what GPUs there are and how they do, at a glance: the computed kinds Fleet (`fleet/current`) and FleetHistory
 * (berth.dev/v1alpha1), which the dashboard and `berth top` read.
 *
 * Fleet.types: each kind of GPU (a ResourceFlavor, or what its name would be) with a count for whole GPUs and one for
 * each slice size. Of a resource
 *
 *     total     how many there are; of slices: how many the cards could be cut into, were they cut into nothing else
 *     broken    not in service: the card is broken, its node is not ready or takes no pods
 *     used      held by pods. A GPU that is cut counts as used when one of its slices is
 *     reserved  kept for bookings that run now, and not in use by them
 *     free      could be had at this moment; of slices: as the cards are cut and held now, so sizes share what is free
 *     waiting   asked for by Workloads without quota, where a flavor of their ClusterQueue leads here; what may go to
 *               several types counts at each
 *
 * so that of whole GPUs total = broken + used + reserved + free. On nodes that tell their inventory (api/inventory.h)
 * this is read from their cards; of others only numbers are known (gpu_inventory.h), and there are no cards.
 *
 * Fleet.cards[].instances say who holds them (namespace, pod, workload) where the asker may list pods in that
 * namespace; a whole GPU that is held has one instance without a profile. With the query parameter `node` only the
 * cards of that node are written. Fleet.attention tells of broken GPUs, nodes that are not ready, queues that are not
 * active, Workloads that were evicted or could not be admitted for long, and bookings that lack what was booked or wait
 * for approval, each where the asker may see its object.
 *
 * FleetHistory has one item for each type with a sample a minute of the last 24 hours, kept in memory: total, used and
 * reserved in GPUs, where a slice counts as its share of the memory, and busyPct, the mean utilisation of those that
 * tell it. It begins anew with the process.
 */
#ifndef BERTH_CONTROL_FLEET_H
#define BERTH_CONTROL_FLEET_H

#include "base/err.h"

struct fleet;
struct queue_controller;

/* Part of the queue controller, whose engine and records it reads; outlived by it. NULL: out of memory. */
struct fleet *fleet_new(struct queue_controller *c);
void fleet_free(struct fleet *f); /* NULL is a no-op */

#endif

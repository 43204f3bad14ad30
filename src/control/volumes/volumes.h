/*
 * volumes: claims get volumes, as Kubernetes' binder, provisioner, resizer and protection controllers do it.
 *
 * A claim is bound to a volume that somebody made and that fits, the smallest one; where there is none and its class
 * is the local provisioner's, a PersistentVolume `pvc-<uid>` is made for it. That volume is a folder of one node: the
 * node makes it (and copies into it what the claim's data source has), says so in an annotation of the volume, and only
 * then is the claim Bound. Where the class says WaitForFirstConsumer the node is that of the first pod which names the
 * claim.
 *
 * What is deleted stays while it is used: a claim as long as a pod names it, a volume as long as it is bound, and a
 * volume that goes with its claim until its node has taken the folder away.
 */
#ifndef BERTH_CONTROL_VOLUMES_H
#define BERTH_CONTROL_VOLUMES_H

struct controller_row;

extern const struct controller_row volumes_controller;

#endif

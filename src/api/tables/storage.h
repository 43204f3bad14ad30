/*
 * storage: the names that claims, volumes and snapshots are held together by, wherever they are read or written.
 *
 * The names are Kubernetes' own where it has one. A volume of the local driver is a folder of one node; its handle
 * names it. The controller writes what should be (spec, annotations), the node that has the folder answers in the
 * annotations that are said to be the node's.
 */
#ifndef BERTH_API_STORAGE_NAMES_H
#define BERTH_API_STORAGE_NAMES_H

#define STORAGE_PROVISIONER "berth.dev/local" /* of StorageClasses whose volumes are made here */
#define STORAGE_DRIVER "local.berth.dev"      /* of their PersistentVolumes, and of snapshots */

#define STORAGE_CLAIM_PROTECTION "kubernetes.io/pvc-protection"
#define STORAGE_VOLUME_PROTECTION "kubernetes.io/pv-protection"
/* Of a volume or a snapshot whose files the node takes away before the object goes. */
#define STORAGE_VOLUME_FILES "external-provisioner.volume.kubernetes.io/finalizer"
#define STORAGE_CONTENT_FILES                                                                      \
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
#define STORAGE_SNAPSHOT_BOUND "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"

#define STORAGE_DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define STORAGE_DEFAULT_SNAPSHOT_CLASS "snapshot.storage.kubernetes.io/is-default-class"
#define STORAGE_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define STORAGE_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define STORAGE_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define STORAGE_CLAIM_PROVISIONER "volume.kubernetes.io/storage-provisioner"
#define STORAGE_SELECTED_NODE "volume.kubernetes.io/selected-node"

/* On a volume: what its folder begins as a copy of, "volume/HANDLE" or "snapshot/HANDLE". */
#define STORAGE_SOURCE "berth.dev/volume-source"
/* The node's, on a volume: the size with which its folder is ready; what holds it to that size, "quota" or
 * "measured" (also on the claim); why the folder could not be made. */
#define STORAGE_READY "berth.dev/volume-ready"
#define STORAGE_LIMIT "berth.dev/volume-limit"
#define STORAGE_ERROR "berth.dev/volume-error"
#define STORAGE_NODE "berth.dev/node" /* on a snapshot's content: the node that has it */

#define STORAGE_HOSTNAME "kubernetes.io/hostname" /* label by which a volume says its node */

#endif

/*
 * rootfs: a container whose root is that of an image, not the view of the machine.
 *
 * The image's folder is shared by all containers of the image and never written to; what a container writes goes to a
 * layer of its own, the two joined by overlayfs. Of the machine there is nothing in it but the pod's /proc and /dev
 * and a read-only /sys. Volumes are mounted where they are wanted: links of the image on the way there lead within the
 * image, and folders that are missing are made in the layer.
 *
 * The container has a user namespace of its own in which one number exists, that of the image's user (0 for most
 * images): outside it is the pod's user, as of every pod. Files that the image's user owns are its own in there, as
 * far as the file system of the data folder can map owners (ext4, xfs, btrfs, tmpfs); where it cannot they are root's
 * and may only be read.
 */
#ifndef BERTH_NODE_ROOTFS_H
#define BERTH_NODE_ROOTFS_H

#include <stdbool.h>
#include <sys/types.h>

struct sandbox_mount;

struct sandbox_root {
    const char *lower; /* the image's folder */
    const char *layer; /* the container's own: upper/ and work/ in it */
    bool read_only;    /* the root: volumes are as they say */
    uid_t uid;         /* of the image's user */
    gid_t gid;
};

/* Can overlayfs write to layers below `dir`, which is ours? Mounts, in the mount namespace that we are in. 0 or an
 * errno. */
int rootfs_try(const char *dir);

/* Empties the layer of a container that is started again, as Kubernetes does. By who made it, before rootfs_open. */
int rootfs_renew(const struct sandbox_root *r);

/* Opened where the machine can be seen, used where it cannot. -1: none. */
struct rootfs_sources {
    int lower, layer;
    int users; /* the container's user namespace */
};

/* In a forked child of the shim, as all of this. `uid`, `gid`: of the pod; 0: as we are. 0 or errno, with the step in
 * *ret_what. */
int rootfs_open(const struct sandbox_root *r, uid_t uid, gid_t gid, struct rootfs_sources *ret,
                const char **ret_what);
/* In the pod's namespaces: puts the root together and enters it. `trees` as of mounts_open; `cwd` is made when it is
 * missing. */
int rootfs_enter(const struct sandbox_root *r, const struct rootfs_sources *c,
                 const struct sandbox_mount *v, const int *trees, size_t n, const char *cwd,
                 const char **ret_what);
/* The user namespace of a container that runs. */
int rootfs_users_of(pid_t container, int *ret);

#endif

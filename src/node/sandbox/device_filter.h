/*
 * device_filter: the kernel lets a pod open the devices of its /dev and no others, whatever files it may come by. A
 * second wall: pods can make no device files, and see none but those of their /dev.
 *
 * On cgroup v1 by the devices controller: pods without devices of their own share one group, others have one each. On
 * v2 by a small program on the pod's group, which needs no controller. Where there is neither, the first wall is all.
 */
#ifndef BERTH_NODE_DEVICE_FILTER_H
#define BERTH_NODE_DEVICE_FILTER_H

#include "node/files/files.h"
#include "node/sandbox/sandbox.h"

/* Makes the group of v1 below `root` (its devices mount), for this pod; its folder. 0 or an errno. */
int device_filter_v1(const char *root, const struct sandbox *s, char ret_dir[PATH_LEN]);
int device_filter_v1_dir(const char *root, const struct sandbox *s, char ret_dir[PATH_LEN]);
void device_filter_v1_remove(const char *root, const char *cgroup_name);
/* Puts the program on the group of v2 that `dir` is. 0 or an errno. */
int device_filter_v2(const char *dir, const struct sandbox_device *v, size_t n);

#endif

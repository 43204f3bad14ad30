/*
 * pods_quota: what a pod may write, by its emptyDir sizeLimit and its containers' limits of ephemeral-storage,
 * measured as the kubelet does: a few files a tick, and a pod that is over is evicted.
 *
 * Volumes in memory are no business of this: their file system has its size. The limit of a pod is the sum of its
 * containers', when each has one; it counts what is on disk of it: working folder, /tmp, emptyDirs and logs.
 */
#ifndef BERTH_NODE_PODS_QUOTA_H
#define BERTH_NODE_PODS_QUOTA_H

#include "node/files/disk_walk.h"
#include "wire/json/json.h"

enum { POD_QUOTA_VOLUMES = 64 };

struct pod;

struct pod_quota_part {
    char volume[254]; /* "": the whole pod */
    uint64_t most;
};

struct pod_quota {
    struct disk_walk walk;
    size_t n, at; /* v[at] is being measured */
    struct pod_quota_part v[];
};

/* The limits that the Pod has, or NULL when it has none (or no memory). */
struct pod_quota *pod_quota_new(yyjson_val *pod);
void pod_quota_free(struct pod_quota *q);
/* Goes on with measuring below `dir` for up to `steps` entries. The part that is over, and what it takes; NULL: none
 * is known to be. */
const struct pod_quota_part *pod_quota_on(struct pod_quota *q, const char *dir, unsigned steps,
                                          uint64_t *ret_bytes);

#endif

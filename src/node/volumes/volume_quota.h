/*
 * volume_quota: holds the folders of volumes to their sizes by project quotas, where the file system has them (ext4
 * made with the features quota and project, or XFS; mounted with prjquota) and we are root.
 *
 * A folder gets a project of its own while it is empty, and what is made in it belongs to that project. The number is
 * kept by the folder itself, which is root's, so no pod can change it, and is one that nothing on the file system uses
 * or has a limit for. A folder that had files before it could get a project has none, and is only measured, as all are
 * where there are no project quotas: nothing here is an error for a volume, and what fails is logged once.
 */
#ifndef BERTH_NODE_VOLUME_QUOTA_H
#define BERTH_NODE_VOLUME_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

/* The projects that are given to folders. */
enum { VOLUME_PROJECT_FIRST = 1907000000, VOLUME_PROJECT_LAST = 1907999999 };

struct volume_quota {
    struct log *log;
    int dir; /* any folder of the file system; not ours to close */
    bool on, told;
};

/* Asks the file system of `dir`, which stays open for as long as q is used, and logs how sizes are held. */
void volume_quota_init(struct volume_quota *q, int dir, struct log *log);

/* Gives the folder a project if it has none and is empty. Whether it has one of ours. */
bool volume_quota_mark(struct volume_quota *q, int folder);
/* Marks the folder, and holds it to `bytes` from now on. Whether it does. */
bool volume_quota_hold(struct volume_quota *q, int folder, uint64_t bytes);
/* The folder's project, if it has one of ours, has no limit any more. */
void volume_quota_clear(struct volume_quota *q, int folder);

#endif

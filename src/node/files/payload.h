/*
 * payload: the files of a volume that the API makes (ConfigMap, Secret, downward API, token), stored so that a reader
 * sees all of one version or all of the next, never some of each.
 *
 *     volume/..first              the first version, in a folder of its own; others are ..1, ..2 and so on
 *     volume/..data -> ..first    which one counts: replaced by rename
 *     volume/key    -> ..data/key for each first name of a path
 *
 * Folders are the node's own; files are given to the user of the pod, who may read them, and change its copy, but not
 * put anything else in their places. Everything is opened by descriptor and through no link, as a pod without a user of
 * its own may write here.
 */
#ifndef BERTH_NODE_PAYLOAD_H
#define BERTH_NODE_PAYLOAD_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum {
    PAYLOAD_FILES_MAX = 4096
}; /* they are compared pairwise, and written while other pods wait */

struct payload_file {
    struct str path, bytes; /* path: relative, without ".." and with no first part that begins so */
    mode_t mode;
};
VEC(payload_files, struct payload_file);

struct payload {
    struct payload_files files;
};

/* Views are kept: they must outlive the payload. The same path again takes the place of the one before. ERR_INVALID: a
 * bad path, or one file too many. */
int payload_add(struct payload *p, struct str path, struct str bytes, mode_t mode, struct err *err);
void payload_release(struct payload *p);
/* Of paths, bytes and modes: the same for the same content. */
uint64_t payload_hash(const struct payload *p);

/* Makes it the content of `dir`, which is there. keep: the first version stays beside those that follow, for mounts of
 * a part of it. uid 0: files are as we are. */
struct payload_owner {
    uid_t uid;
    gid_t gid;
};
int payload_store(const struct payload *p, const char *dir, struct payload_owner owner, bool keep,
                  struct err *err);
/* The folder of the first version: what a part of the volume is mounted from. */
#define PAYLOAD_FIRST "..first"

#endif

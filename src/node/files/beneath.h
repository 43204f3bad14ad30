/*
 * beneath: what a path names below a folder, by descriptor. A tenant may turn names on the way into links while we
 * look; whatever it does, nothing is opened, made or mounted that its links lead to.
 *
 * A path is relative to `dir`, "" being `dir` itself; a leading '/' counts for nothing, so that with a descriptor of
 * "/" absolute paths may be given. No part may be a link, and ".." is refused. Descriptors returned are the caller's,
 * O_PATH unless `flags` say otherwise, always close-on-exec. -1 with errno: ELOOP or ENOTDIR for a link, EXDEV for
 * "..".
 */
#ifndef BERTH_NODE_BENEATH_H
#define BERTH_NODE_BENEATH_H

#include <stdbool.h>
#include <sys/types.h>

/* With openat2 where the kernel has it, otherwise by beneath_walk. flags: O_PATH and its like; nothing is created. */
int beneath_open(int dir, const char *path, int flags);
/* The same part by part, each held while the next is opened. */
int beneath_walk(int dir, const char *path, int flags);
/* From "/". */
int beneath_root(const char *path, int flags);

/* As mkdir -p: folders that are missing are made with `mode`, those alone given to uid and gid when uid is not 0. Opens
 * the last. */
int beneath_make(int dir, const char *path, mode_t mode, uid_t uid, gid_t gid);

/* Mounts what `source` is open on over `place`, with all that is mounted below. 0 or an errno. */
int beneath_bind(int source, int place);

#endif

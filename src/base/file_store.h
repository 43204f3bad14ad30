/*
 * file_store: the one way in which Berth replaces a small file: written whole under another name in the same folder,
 * then renamed, so that a reader sees the old bytes or the new ones and a crash leaves one of them.
 *
 * State that must outlive the machine (the journal of MIG instances, GPUs out of service, users, certificates,
 * kubeconfigs) is stored with file_store_synced: the bytes are on disk before the rename, and the name is before the
 * function returns. file_store does not wait for the disk: for what dies with the machine anyway (a pod's spec and
 * state, the files of its volumes). A folder has one writer a name at a time. Links are not followed: a temporary
 * file that is in the way is removed, never written through.
 */
#ifndef BERTH_BASE_FILE_STORE_H
#define BERTH_BASE_FILE_STORE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* On failure the old file stays and no temporary file is left; only where the folder itself could not be synced, the
 * new bytes are there and a power cut may take them back. */
int file_store(const char *dir, const char *name, struct str bytes, mode_t mode, struct err *err);
int file_store_synced(const char *dir, const char *name, struct str bytes, mode_t mode,
                      struct err *err);
/* file_store_synced of a path. */
int file_store_path(const char *path, struct str bytes, mode_t mode, struct err *err);

/* All of the bytes, however many calls that takes. 0, or -1 with errno. */
int file_write_all(int fd, struct str bytes);

/* The steps, in order: a crash may come between any two. */
enum file_step {
    FILE_STEP_NONE,
    FILE_STEP_OPEN,
    FILE_STEP_WRITE, /* half of the bytes are written before it fails */
    FILE_STEP_SYNC,
    FILE_STEP_RENAME,
    FILE_STEP_SYNC_FOLDER,
    FILE_STEPS
};
/* For tests, of this thread: the next time that this step comes it fails with EIO, or, with `crash`, everything stops
 * there as kill -9 would stop it: the temporary file stays. NONE: no more. */
void file_store_fault(enum file_step step, int crash);

#endif

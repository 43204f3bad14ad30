/*
 * volume_files: the folders behind PersistentVolumes and snapshots, in DATA/volumes, by descriptor.
 *
 *     <handle>             a volume: 2770, of its project's group, so that what pods make there is the project's
 *     .snapshots/<handle>  a snapshot: a copy that nobody mounts
 *     .part/<handle>       a copy that is being made; it is moved to its place when it is whole
 *     .gone/<n>-<handle>   what was taken away and is being removed: whatever is there goes, also after a restart
 *
 * DATA/volumes is nobody's but ours (0700), so names in it do not change under us; what lies below a volume is its
 * pods' and is never followed by name. A folder that no object knows is left alone: nothing is removed but by way of
 * .gone. Removing and copying are done by processes (rm, cp), one at a time each, so that no size blocks the node.
 */
#ifndef BERTH_NODE_VOLUME_FILES_H
#define BERTH_NODE_VOLUME_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"
#include "net/loop.h"
#include "node/files/files.h"
#include "node/volumes/volume_quota.h"

enum volume_place { VOLUME_FOLDER, VOLUME_SNAPSHOT };

struct volume_files {
    struct loop *loop;
    struct log *log;
    char path[PATH_LEN]; /* DATA/volumes */
    int dir;
    struct volume_quota quota;
    unsigned gone; /* names in .gone begin with it */
    struct loop_child *remover, *copier;
    char part[256]; /* the handle that is being copied to */
    enum volume_place part_place;
    void (*copied)(void *ctx, bool ok);
    void *copied_ctx;
};

/* Makes what is missing and goes on with what was being removed. */
int volume_files_init(struct volume_files *f, struct loop *l, struct log *log, const char *data_dir,
                      struct err *err);
void volume_files_release(struct volume_files *f);

/* A handle is a file name that does not begin with a dot. */
bool volume_handle_good(struct str handle);
bool volume_files_has(const struct volume_files *f, enum volume_place place, struct str handle);
/* Makes a volume, or gives the one that is there to the group again. gid 0: nobody's own. */
int volume_files_make(const struct volume_files *f, struct str handle, gid_t gid, struct err *err);
/* Whether the file system refuses what is written to the volume beyond so many bytes (volume_quota.h), from now on. A
 * volume is there before pods write into it: hold it then. */
bool volume_files_hold(struct volume_files *f, struct str handle, uint64_t bytes);
/* Takes it away; not there is fine. */
int volume_files_retire(struct volume_files *f, enum volume_place place, struct str handle,
                        struct err *err);
bool volume_files_busy(const struct volume_files *f); /* a copy is being made */
/* A copy of one at another place; done(ctx, ok) comes on the loop thread when it is there, or is not. ERR_CONFLICT
 * while another is made. */
int volume_files_copy(struct volume_files *f, enum volume_place from, struct str source,
                      enum volume_place to, struct str handle, void (*done)(void *ctx, bool ok),
                      void *ctx, struct err *err);
/* Names the folders that known(ctx, place, handle) does not know, in the log, some at most. */
void volume_files_tell_strays(const struct volume_files *f,
                              bool (*known)(void *ctx, enum volume_place place, struct str handle),
                              void *ctx);

#endif

/*
 * disk_walk: what a tree takes on its file system, counted a few entries at a time and gone on with later, while its
 * owner goes on writing. By descriptor: names may be as long and folders as deep as they like. Links are not followed,
 * other file systems not entered.
 */
#ifndef BERTH_NODE_DISK_WALK_H
#define BERTH_NODE_DISK_WALK_H

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct disk_level {
    ino_t ino;
    long pos; /* where to read on, back from the folder below */
    int fd;   /* -1: found again as the parent of the folder below */
};
VEC(disk_levels, struct disk_level);

struct disk_walk { /* zeroed: over, with 0 bytes */
    DIR *at;       /* NULL: not begun, or over */
    dev_t dev;
    struct disk_levels above;
    uint64_t bytes; /* so far: the tree takes at least so many */
};

/* Begins anew. A tree that is not there is over at once, with 0 bytes. */
void disk_walk_begin(struct disk_walk *w, const char *path);
/* Looks at up to `steps` entries and returns at how many it did; over when w->at is NULL then. */
unsigned disk_walk_on(struct disk_walk *w, unsigned steps);
/* Lets go of what it holds; bytes stay. Again is harmless. */
void disk_walk_end(struct disk_walk *w);

#endif

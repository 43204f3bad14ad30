/*
 * mounts: the volumes of a container in their places, in a copy of the mounts around it. Inside the node room only.
 *
 * A source is opened where the machine can be seen (mounts_open: detached trees; -1 for what lies below
 * `pod_dir`/root, which a cell shows at its own path), and mounted where it cannot. All return 0 or an errno.
 */
#ifndef BERTH_NODE_MOUNTS_H
#define BERTH_NODE_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

/* A folder of every pod's view on which a new root may be put together. */
#define MOUNTS_SPARE "/.berth"

struct sandbox_mount {
    const char *source, *target;
    bool read_only;
};

int mounts_open(const struct sandbox_mount *v, size_t n, const char *pod_dir, int **ret_trees);
/* On the machine's view. `spare`: MOUNTS_SPARE. */
int mounts_enter(const struct sandbox_mount *v, const int *trees, size_t n, const char *spare);

/* What lies at `path`, with all that is mounted below, detached; no link on the way. -1 with errno. */
int mounts_tree(const char *path);
/* Mounts one below `root`, no link on the way there; folders on the way are made. `tree` is taken; -1: the source is
 * opened here. */
int mounts_place(const char *root, const struct sandbox_mount *m, int tree);

#endif

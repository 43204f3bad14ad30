/*
 * volume_keeper: a node's side of PersistentVolumes and snapshots (volume_files.h has the folders).
 *
 * It watches the volumes and contents of the local driver that name this node, makes what is missing, says so (the
 * annotation berth.dev/volume-ready of a volume, the status of a content), and takes away what is deleted, after which
 * its finalizer goes. Sizes are held to by measuring: a few entries of one volume a second, and when one holds more
 * than its size, the pods that use it are ended. Where the file system can, it holds them too (volume_quota.h).
 * Whatever it was doing when it stopped, it sees again from the objects and the folders.
 */
#ifndef BERTH_NODE_VOLUME_KEEPER_H
#define BERTH_NODE_VOLUME_KEEPER_H

#include "kube/client.h"
#include "mirror/writer.h"
#include "node/sandbox/users.h"
#include "node/volumes/volume_files.h"

struct volume_keeper;

struct volume_keeper_options {
    struct loop *loop;
    struct log *log;
    struct kube_client *kube;
    struct writer *writer;
    struct users *users; /* NULL: folders are as we are */
    const char *data_dir, *node_name;
    /* The volume of a claim holds more than its size, as it does each time that it is measured. */
    void (*over)(void *ctx, struct str ns, struct str claim, const char *why);
    void *ctx;
};

/* NULL and err. Watching begins with volume_keeper_watch, once the API may be asked. */
struct volume_keeper *volume_keeper_new(const struct volume_keeper_options *o, struct err *err);
int volume_keeper_watch(struct volume_keeper *k, struct err *err);
void volume_keeper_free(struct volume_keeper *k); /* NULL is a no-op */

#endif

/*
 * image_get: brings an image here, whole and unpacked. For processes that may wait: `berth image load`, and the helper
 * that the node starts for each image that is missing:
 *
 *     berth image-get DIR NAMESPACE NAME POLICY AUTHFILE|- may-pull|if-reachable [HOSTS]
 *
 * (HOSTS: the registries that it may be pulled from, image_hosts.h), which prints lines: "pulling"; "note TEXT", as
 * long as it goes on; and then one of
 *
 *     here ID            it was here (in podman's store), or
 *     pulled ID BYTES    it was fetched;
 *     absent             it is not here, and may not be fetched: its policy is Never, or it is of no registry;
 *     unreachable TEXT   its registry does not answer, or is not one of HOSTS (only with if-reachable);
 *     failed TEXT
 */
#ifndef BERTH_NODE_IMAGE_GET_H
#define BERTH_NODE_IMAGE_GET_H

#include "base/err.h"
#include "base/str.h"
#include "node/images/image_store.h"

/* Of an archive (docker save, podman save, skopeo): each image in it, for anyone. `each` hears its names. */
int image_get_load(const char *dir, const char *file,
                   void (*each)(void *ctx, struct str name, struct str id), void *ctx,
                   struct err *err);
/* What no pod uses and none has asked for since `before` (wall clock): its folder, its names, and podman's copy where
 * Berth fetched it. What podman does not give up stays whole, with whose it is; the others go, and the failure is told.
 * ERR_CONFLICT: an image is just being brought. */
int image_get_prune(const char *dir, const char *pods_dir, int64_t before_ns,
                    void (*each)(void *ctx, const struct image_entry *e), void *ctx,
                    struct err *err);

#endif

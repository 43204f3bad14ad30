/*
 * pod_image: what a container has of its image: variables, command, working folder, root.
 *
 * As in Kubernetes: `command` takes the place of the image's entrypoint and its arguments, `args` that of its
 * arguments; variables of the pod go before those of the image.
 */
#ifndef BERTH_NODE_POD_IMAGE_H
#define BERTH_NODE_POD_IMAGE_H

#include "base/buf.h"
#include "node/images/image_store.h"
#include "node/spec/pod_env.h"

/* Its own variables, and HOME of its user where it has none. Before any others. 0 or an error of pod_env_set. */
int pod_image_env(struct pod_env *e, const struct image *image);
/* The words of the command, as members of a JSON list. ERR_INVALID: neither the pod nor the image has one. */
int pod_image_argv(const struct pod_env *e, const struct image *image, yyjson_val *container,
                   struct buf *out, struct err *err);
/* The container's, the image's, or "/". */
struct str pod_image_folder(const struct image *image, yyjson_val *container);
/* Makes the container's layer, in the folder of its pod, and writes member "root" of spec.json. uid, gid: the pod's;
 * 0: as we are. */
int pod_image_root(const struct image *image, yyjson_val *container, const char *pod_dir, uid_t uid,
                   gid_t gid, struct buf *out, struct err *err);

#endif

/*
 * weights: the folder of a model's files, which a pod names by a URI in KServe's annotation and finds read-only at
 * /mnt/models in each of its containers (docs/weights.md).
 *
 *     file:///srv/models/llama       a folder of the machine, below the one that `--weights` allows
 *
 * Other schemes are refused by name. Called while the files of a pod are made; it looks at the file system, and the
 * mount opens what it gives anew, following no link (mounts.h).
 */
#ifndef BERTH_NODE_WEIGHTS_H
#define BERTH_NODE_WEIGHTS_H

#include "wire/json/json.h"

#define WEIGHTS_URI "internal.serving.kserve.io/storage-initializer-sourceuri"
#define WEIGHTS_TARGET "/mnt/models"

enum { WEIGHTS_URI_MAX = 2048 };

/* The path that a URI names: a view of it. ERR_INVALID says what is wrong, and what is expected. Public for tests. */
int weights_uri_path(struct str uri, struct str *ret, struct err *err);

/*
 * The folder of the weights that `pod` asks for: a real path in `a`, or empty where it asks for none. allowed: the
 * folder of `--weights`, or NULL. `container` is the one that gets them. ERR_NOT_FOUND: nothing is there yet, and
 * trying again makes sense; ERR_INVALID: trying again makes no sense, such as for a container that mounts something
 * else at WEIGHTS_TARGET.
 */
int weights_source(yyjson_val *pod, yyjson_val *container, const char *allowed, struct arena *a,
                   struct str *ret, struct err *err);

#endif

/*
 * image_name: what images are called. "busybox" is docker.io/library/busybox:latest, as everywhere.
 *
 * A name is [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]. The first part is a host when it has a dot or a port, or is
 * "localhost". Names of host "localhost" without a port are in no registry: they were loaded or built here.
 */
#ifndef BERTH_NODE_IMAGE_NAME_H
#define BERTH_NODE_IMAGE_NAME_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { IMAGE_NAME_MAX = 256 }; /* with its end; a whole name is a file's name in the store */

/* The whole name. ERR_INVALID says what is wrong with it; nothing that could be an option or a path gets through. */
int image_name_full(struct str name, char out[IMAGE_NAME_MAX], struct err *err);
/* Of a whole name: "docker.io", "127.0.0.1:5000". */
struct str image_name_host(struct str full);
bool image_name_local(struct str full);    /* of no registry */
bool image_name_loopback(struct str full); /* of a registry on this machine's loopback */

#endif

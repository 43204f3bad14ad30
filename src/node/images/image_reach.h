/* image_reach: does a registry answer at all? Asked before podman is, which takes its time to give up. Blocks for
 * IMAGE_REACH_S at most; where the way out is a proxy it is not asked. */
#ifndef BERTH_NODE_IMAGE_REACH_H
#define BERTH_NODE_IMAGE_REACH_H

#include "base/err.h"
#include "base/str.h"

enum { IMAGE_REACH_S = 4 };

/* host: "docker.io", "[HOST]:PORT". 0 or ERR_UNAVAILABLE. */
int image_reach(struct str host, struct err *err);

#endif

/*
 * podman: podman's command line, for processes that may wait: the node's own loop never does (images.h).
 *
 * podman fetches images, checks them, and keeps their layers; containers are not its business here (rootfs.h).
 */
#ifndef BERTH_NODE_PODMAN_H
#define BERTH_NODE_PODMAN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Where it is, or NULL. */
const char *podman_program(void);

struct podman_call {
    const char *const *argv; /* behind "podman", NULL-terminated */
    void (*line)(void *ctx,
                 struct str line); /* of what it says on its standard error; NULL: nobody listens */
    void *ctx;
};

/* Runs it to its end; what it prints comes in `out`. ERR_UNSUPPORTED: it is not installed; ERR_IO: it failed, with what
 * it said last. */
int podman_run(const struct podman_call *c, struct buf *out, struct err *err);
/* The files of container `name` into the folder `into`, owners and modes as they are (as root). */
int podman_export(const char *name, const char *into, struct err *err);

#endif

/*
 * devices: a /dev with what every process may use, and the devices that a pod was given; nothing else.
 */
#ifndef BERTH_NODE_DEVICES_H
#define BERTH_NODE_DEVICES_H

#include <stddef.h>
#include <sys/types.h>

enum { DEVICES_MAX = 256 };

/* A character device below /dev: "nvidia0", "nvidia-caps/nvidia-cap3". */
struct sandbox_device {
    const char *name;
    unsigned major, minor;
    int tree; /* a detached mount of the machine's own node, for where none may be made; -1: none */
};

/* Mounts a tmpfs at `dir` and fills it: null, zero, full, random, urandom, tty, links to /proc/self/fd, ptmx, folders
 * pts, shm and mqueue, and the devices; read-only then. A node is made; where that is refused (a user namespace), the
 * machine's is bound. 0 or an errno. */
int devices_make(const char *dir, const struct sandbox_device *v, size_t n);
/* Opens the machine's node of each, where it has one, before the machine is out of sight. */
void devices_open(struct sandbox_device *v, size_t n);

#endif

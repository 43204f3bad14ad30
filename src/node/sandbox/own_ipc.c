/*
 * own_ipc: /dev/shm and System V IPC of a pod's own. What a pod leaves there goes when its last process does; without,
 * it stayed in the machine's memory for ever, and pods saw each other's.
 *
 * Entered by the shim, so that the containers of a pod share it. The shim's view of the machine follows the machine's
 * mounts but for this one.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "node/sandbox/sandbox.h"

enum { SHM_PART = 4 /* of the machine's memory, for a pod without a limit */ };

static int64_t shm_bytes(const struct sandbox *s) {
    return s->memory_bytes ? s->memory_bytes
                           : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / SHM_PART;
}

int own_ipc_enter(const struct sandbox *s) {
    char options[64];

    if (!s->own_ipc) {
        return 0;
    }
    snprintf(options, sizeof(options), "mode=1777,size=%lld", (long long)shm_bytes(s));
    if (unshare(CLONE_NEWNS | CLONE_NEWIPC) == -1 ||
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1) {
        return errno;
    }
    /* A machine without the folder has no shared memory to keep apart. */
    return mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) == -1 &&
                   errno != ENOENT
               ? errno
               : 0;
}

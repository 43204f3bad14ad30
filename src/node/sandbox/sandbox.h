/*
 * sandbox: isolates a pod's process, as far as this kernel can.
 *
 * Applied between fork and exec, in this order: the pod's namespaces (cell.h), mounts, limits, groups and user,
 * capabilities, working folder, no_new_privs, Landlock, seccomp. The cgroup comes before them, and is joined by whoever
 * starts the process. Each part may be missing on a machine; sandbox_probe says which are there, in words for a
 * condition on the Node.
 * What is there must work: a part that fails stops the container.
 */
#ifndef BERTH_NODE_SANDBOX_H
#define BERTH_NODE_SANDBOX_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "node/mounts/mounts.h"
#include "node/mounts/rootfs.h"
#include "node/sandbox/cell.h"
#include "node/sandbox/devices.h"

enum cgroup_mode { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
enum { SANDBOX_GROUPS_MAX = 20 };

/* A volume in memory (emptyDir, medium Memory): a folder of the pod's own, as containers name its source. */
struct sandbox_memory {
    const char *path;
    int64_t bytes;
};

struct sandbox {
    bool strict;                 /* a limit that cannot be set is an error */
    bool walls;                  /* namespaces of the pod's own: see cell.h */
    const struct pod_cell *cell; /* opened; NULL: none */
    const char *hostname;        /* NULL: the machine's */
    const char *netns;           /* a network namespace to join, by its path; NULL: none */
    bool own_network;            /* without netns: an empty one */
    /* Of /dev/shm; 0: as much as the pod's memory, or a quarter of the machine's */
    int64_t shm_bytes;
    struct sandbox_device *devices;
    size_t n_devices;
    const struct sandbox_memory *memory;
    size_t n_memory;
    uid_t uid; /* 0: keep the user we are */
    gid_t gid;
    gid_t groups[SANDBOX_GROUPS_MAX]; /* besides */
    size_t n_groups;
    const char *data_dir; /* not readable inside, but for the pod's own folders */
    const char *pod_dir;  /* pods/<uid>: root/ below it is writable */
    enum cgroup_mode cgroup;
    const char *cgroup_name;               /* "berth/<pod uid>" */
    int64_t memory_bytes, cpu_milli, pids; /* limits; 0: none */
    int64_t memory_most; /* for a pod without a limit: what leaves the machine alive; 0: none */
    int64_t pids_of_all; /* of all pods together; 0: any */
    int64_t user_pids;   /* processes of the pod's user; 0: any */
};

/* What this machine offers. */
struct sandbox_probe {
    int landlock_abi; /* 0: none */
    bool seccomp, root;
    /* Cells can be made, so every pod has mounts, processes, IPC and a /dev of its own */
    bool mounts;
    bool user;   /* ... in a user namespace, for want of root */
    bool users;  /* as root: each pod in one of its own */
    bool hidden; /* a folder above the data folder is closed to project users: see mounts.c */
    enum cgroup_mode cgroup;
};
void sandbox_probe(struct sandbox_probe *ret);
/* "namespaces, Landlock 6, seccomp, a user id and a user namespace per pod, cgroup v2" */
void sandbox_describe(const struct sandbox_probe *p, struct buf *out);
/* What keeps pods apart elsewhere and is missing here, and what that means; empty: nothing is missing. */
void sandbox_lacks(const struct sandbox_probe *p, struct buf *out);

/* No program executed from here on has any capability, root's neither; what this process has itself stays. Once for all
 * that are forked from it. 0 or errno. */
int sandbox_drop_bounds(void);
/* Can containers have images here: namespaces, and layers of overlayfs in `dir`, which is made and removed? Tried in a
 * child. ERR_UNSUPPORTED says what is missing. */
int sandbox_images(const struct sandbox_probe *p, const char *dir, struct err *err);

/* Builds the seccomp filter once per process; children use it. */
int sandbox_prepare(struct err *err);

/* What differs between the containers of a pod. */
struct sandbox_container {
    const struct sandbox_mount *mounts;
    size_t n_mounts;
    const struct sandbox_root *root; /* NULL: the view of the machine (view.h) */
    const char *cwd;                 /* or NULL */
};

/* In the child. Returns 0, or an errno with *ret_what naming the step. Only async-signal-safe-ish
 * calls. */
int sandbox_enter(const struct sandbox *s, const struct sandbox_container *c,
                  const char **ret_what);
/* The same beside a container that runs, for what is executed in it: its namespaces and mounts, and the same walls.
 * In a forked child of the pod's shim. */
int sandbox_join(const struct sandbox *s, pid_t beside, const struct sandbox_container *c,
                 const char **ret_what);

/* cgroup.c */
enum cgroup_mode cgroup_probe(void);
/* Makes the pod's group and sets its limits, in the parent. What the kernel did not take is named in `unmet`, which is
 * empty when every limit holds: "memory.max (is max, not 1048576), cpu.max (No such file or directory)". */
int cgroup_make(const struct sandbox *s, struct buf *unmet, struct err *err);
int cgroup_join(const struct sandbox *s); /* in the child, which has one thread; 0 or errno */
/* The pod's group of v2, for a child that is to begin in it (spawn.h); -1: join it. */
int cgroup_open(const struct sandbox *s);
void cgroup_remove(enum cgroup_mode mode, const char *name);
/* SIGKILLs all members; true when any was there. */
bool cgroup_kill(enum cgroup_mode mode, const char *name);
int64_t cgroup_oom_kills(enum cgroup_mode mode, const char *name); /* 0 when unknown */
/* Members, as many as there is room for. */
size_t cgroup_processes(enum cgroup_mode mode, const char *name, pid_t *v, size_t cap);
/* Processor time of all members so far, and memory without inactive files; each as it was where it is not counted. */
void cgroup_usage(enum cgroup_mode mode, const char *name, int64_t *cpu_ns, int64_t *memory);

/* landlock.c */
int landlock_abi(void);
int landlock_enter(const struct sandbox *s, const struct sandbox_container *c); /* 0 or errno */

#endif

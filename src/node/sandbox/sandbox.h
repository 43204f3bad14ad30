/*
 * sandbox: isolates a pod's process, as far as this kernel can.
 *
 * Applied between fork and exec, in this order: cgroups, session, descriptors, mounts, limits,
 * groups and user, capabilities, working folder, no_new_privs, Landlock, seccomp. Each part may be
 * missing on a machine; sandbox_probe says which are there, in words for a condition on the Node.
 * What is there must work: a part that fails stops the container.
 */
#ifndef BERTH_NODE_SANDBOX_H
#define BERTH_NODE_SANDBOX_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum cgroup_mode { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

struct sandbox_mount {
    const char *source, *target;
    bool read_only;
};

struct sandbox {
    bool plain; /* cgroup and working folder alone: podman makes its own walls */
    uid_t uid;  /* 0: keep the user we are */
    gid_t gid;
    const char *data_dir; /* not readable inside, but for the pod's own folders */
    const char *pod_dir;  /* pods/<uid>: root/ below it is writable */
    enum cgroup_mode cgroup;
    const char *cgroup_name;               /* "berth/<pod uid>" */
    int64_t memory_bytes, cpu_milli, pids; /* limits; 0: none */
    int64_t memory_most;                   /* for a pod without a limit: what leaves the machine alive; 0: none */
    int64_t user_pids;                     /* processes of the project's user, in all its pods; 0: any */
    bool own_ipc;                          /* see own_ipc_enter */
};

/* What this machine offers. */
struct sandbox_probe {
    int landlock_abi; /* 0: none */
    bool seccomp, root, mounts;
    bool hidden; /* a folder above the data folder is closed to project users: see mounts.c */
    enum cgroup_mode cgroup;
};
void sandbox_probe(struct sandbox_probe *ret);
/* "Landlock 6, seccomp, user ids per project, cgroup v2" */
void sandbox_describe(const struct sandbox_probe *p, struct buf *out);

/* Builds the seccomp filter once per process; children use it. */
int sandbox_prepare(struct err *err);

/* In the child. Returns 0, or an errno with *ret_what naming the step. Only async-signal-safe-ish
 * calls. */
int sandbox_enter(const struct sandbox *s, const struct sandbox_mount *mounts, size_t n,
                  const char *cwd, const char **ret_what);

/* cgroup.c */
enum cgroup_mode cgroup_probe(void);
int cgroup_make(const struct sandbox *s, struct err *err); /* limits set; in the parent */
int cgroup_join(const struct sandbox *s);                  /* in the child; 0 or errno */
void cgroup_remove(enum cgroup_mode mode, const char *name);
/* SIGKILLs all members; true when any was there. */
bool cgroup_kill(enum cgroup_mode mode, const char *name);
int64_t cgroup_oom_kills(enum cgroup_mode mode, const char *name); /* 0 when unknown */

/* landlock.c */
int landlock_abi(void);
int landlock_enter(const struct sandbox *s, const struct sandbox_mount *mounts,
                   size_t n); /* 0 or errno */

/* own_ipc.c: once, in the shim, before its containers: shared memory and System V segments that are the pod's alone and
 * end with it. Does nothing unless s->own_ipc. 0 or errno. */
int own_ipc_enter(const struct sandbox *s);

/* mounts.c: a private view of the file system with the volumes in their places. */
bool mounts_possible(void);
int mounts_enter(const struct sandbox_mount *v, size_t n, const char *pod_dir);

#endif

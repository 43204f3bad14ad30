/*
 * node_kill: ends every pod of a data folder, with or without a node: each shim is asked, then
 * shot, then what it held is looked for by cgroup and by the mark in its environment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "node/files/files.h"
#include "node/net/pod_net.h"
#include "node/node.h"
#include "node/sandbox/proctree.h"
#include "node/sandbox/sandbox.h"
#include "wire/json/json.h"

enum { STEP_MS = 10, AFTER_KILL_MS = 2000 };

struct kill_victim {
    char uid[64];
    bool asked, gone;
};
VEC(victim_vec, struct kill_victim);

static bool lock_held(const char *dir) {
    char path[PATH_LEN];
    int fd = path_join(path, dir, "lock", NULL) ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    if (fd == -1) {
        return false;
    }
    bool held = flock(fd, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

static bool pod_dir(char out[PATH_LEN], const char *data_dir, const char *uid) {
    return snprintf(out, PATH_LEN, "%s/pods/%s", data_dir, uid) < PATH_LEN;
}

/* Signals the shim that state.json names, if it is still that process. */
static bool signal_shim(const char *dir, int sig, int64_t grace_s) {
    struct arena a;
    struct str text;
    yyjson_doc *doc;
    bool sent = false;

    arena_init(&a, 32 << 20);
    if (file_load(dir, "state.json", &a, &text, NULL) == 0 &&
        json_parse(&a, text, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        pid_t pid = (pid_t)json_i64_at(root, "pid", 0);
        int fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
        siginfo_t i = {.si_signo = sig, .si_code = SI_QUEUE};
        i.si_value.sival_int = (int)grace_s;
        if (fd != -1 && proc_start(pid) == (uint64_t)json_i64_at(root, "start", 0)) {
            sent = syscall(SYS_pidfd_send_signal, fd, sig, &i, 0) == 0;
        }
        if (fd != -1) {
            close(fd);
        }
    }
    arena_release(&a);
    return sent;
}

static int list(const char *data_dir, struct victim_vec *v, struct err *err) {
    char path[PATH_LEN];
    struct dirent *e;

    if (path_join(path, data_dir, "pods", err)) {
        return ERR_TOO_LARGE;
    }
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s", path);
    }
    while ((e = readdir(d))) {
        struct kill_victim x = {0};
        if (e->d_name[0] != '.' && str_copy(str_of(e->d_name), x.uid, sizeof(x.uid)) &&
            pod_dir(path, data_dir, x.uid) && lock_held(path)) {
            victim_vec_push(v, x);
        }
    }
    closedir(d);
    return 0;
}

/* One look at all of them; how many shims still live. */
static size_t look(const char *data_dir, struct victim_vec *v, int64_t grace_s) {
    char path[PATH_LEN];
    size_t alive = 0;

    for (size_t i = 0; i < v->n; i++) {
        struct kill_victim *x = &v->v[i];
        pod_dir(path, data_dir, x->uid);
        x->gone = x->gone || !lock_held(path);
        if (!x->gone && !x->asked) { /* a shim that has just begun has no state yet: next time */
            x->asked = signal_shim(path, SIGTERM, grace_s);
        }
        alive += !x->gone;
    }
    return alive;
}

static void wait_for_all(const char *data_dir, struct victim_vec *v, int64_t grace_s, int64_t ms) {
    for (int64_t waited = 0; waited <= ms && look(data_dir, v, grace_s); waited += STEP_MS) {
        usleep(STEP_MS * 1000);
    }
}

static void end_strays(const struct kill_victim *x, enum cgroup_mode mode) {
    char mark[128], group[128];

    snprintf(mark, sizeof(mark), "BERTH_POD_UID=%s", x->uid);
    snprintf(group, sizeof(group), "berth/%s", x->uid);
    for (int i = 0; i < 100; i++) {
        bool any = cgroup_kill(mode, group);
        any |= proc_kill_marked(mark, SIGKILL) > 0;
        if (!any) {
            break;
        }
        usleep(STEP_MS * 1000);
    }
    cgroup_remove(mode, group);
}

int node_kill_all(const char *data_dir, int64_t grace_ms, int *ret_killed, struct err *err) {
    struct victim_vec v = {0};
    enum cgroup_mode mode = cgroup_probe();
    char path[PATH_LEN];
    int code = list(data_dir, &v, err);

    if (code) {
        return code;
    }
    /* The shims get the whole seconds; they kill, and reap, better than we can. */
    wait_for_all(data_dir, &v, grace_ms / 1000, grace_ms + AFTER_KILL_MS);
    for (size_t i = 0; i < v.n; i++) {
        if (!v.v[i].gone && pod_dir(path, data_dir, v.v[i].uid)) {
            signal_shim(path, SIGKILL, 0);
            end_strays(&v.v[i], mode);
        }
    }
    wait_for_all(data_dir, &v, grace_ms / 1000,
                 AFTER_KILL_MS); /* what was killed lets go of its lock */
    if (ret_killed) {
        *ret_killed = (int)v.n;
    }
    victim_vec_release(&v);
    return pod_net_stop(data_dir, err);
}

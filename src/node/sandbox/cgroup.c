/*
 * cgroup: one group per pod, on v2, on v1 (three controllers, three places), or not at all.
 *
 * v2 is taken where it has the controllers; a machine may mount it beside v1 and leave it empty.
 * Groups lie below the one we are in (v1) or below the root of the mount, under berth/.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "node/files/files.h"
#include "node/sandbox/sandbox.h"

static const char *const v1_mounts[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory",
                                        "/sys/fs/cgroup/cpu"};
enum { V1_PIDS, V1_MEMORY, V1_CPU, V1_COUNT };

/* Overridden by tests: a folder that looks like a v2 mount. */
static const char *v2_root(void) {
    const char *fake = getenv("BERTH_CGROUP_ROOT");

    return fake ? fake : "/sys/fs/cgroup";
}

static int put(const char *dir, const char *file, const char *text) {
    char path[PATH_LEN];
    int e = 0;

    if (path_join(path, dir, file, NULL)) {
        return ENAMETOOLONG;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd == -1) {
        return errno;
    }
    if (write(fd, text, strlen(text)) == -1) {
        e = errno;
    }
    close(fd);
    return e;
}

static int put_number(const char *dir, const char *file, int64_t n) {
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    return put(dir, file, text);
}

static size_t get(const char *dir, const char *file, char *out, size_t cap) {
    char path[PATH_LEN];

    out[0] = 0;
    if (path_join(path, dir, file, NULL)) {
        return 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return 0;
    }
    ssize_t n = read(fd, out, cap - 1);
    close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

enum cgroup_mode cgroup_probe(void) {
    char text[256];

    if (get(v2_root(), "cgroup.controllers", text, sizeof(text)) && strstr(text, "pids") &&
        strstr(text, "memory") && access(v2_root(), W_OK) == 0) {
        return CGROUP_V2;
    }
    char dir[PATH_LEN];
    if (path_join(dir, v1_mounts[V1_PIDS], "berth", NULL) == 0 &&
        (mkdir(dir, 0755) == 0 || errno == EEXIST) && access(dir, W_OK) == 0) {
        return CGROUP_V1;
    }
    return CGROUP_NONE;
}

static int64_t memory_of(const struct sandbox *s) {
    return s->memory_bytes ? s->memory_bytes : s->memory_most;
}

static int make_v2(const struct sandbox *s, struct err *err) {
    char base[PATH_LEN], dir[PATH_LEN];

    if (path_join(base, v2_root(), "berth", err) ||
        path_join(dir, v2_root(), s->cgroup_name, err)) {
        return ERR_TOO_LARGE;
    }
    put(v2_root(), "cgroup.subtree_control", "+memory +pids +cpu");
    if (mkdir(base, 0755) == 0) {
        put(base, "cgroup.subtree_control", "+memory +pids +cpu");
    }
    if (s->memory_most) { /* all pods together, too */
        put_number(base, "memory.max", s->memory_most);
    }
    if (mkdir(dir, 0755) == -1 && errno != EEXIST) {
        return err_sys(err, errno, "%s", dir);
    }
    if (memory_of(s)) {
        put_number(dir, "memory.max", memory_of(s));
        put(dir, "memory.oom.group", "1");
    }
    if (s->pids) {
        put_number(dir, "pids.max", s->pids);
    }
    if (s->cpu_milli) {
        char text[64];
        snprintf(text, sizeof(text), "%lld 100000", (long long)s->cpu_milli * 100);
        put(dir, "cpu.max", text);
    }
    return 0;
}

/* A controller is used only where something is limited: making and removing groups costs time. */
static bool v1_wanted(const struct sandbox *s, int i) {
    return i == V1_PIDS || (i == V1_MEMORY && memory_of(s)) || (i == V1_CPU && s->cpu_milli);
}

static int make_v1(const struct sandbox *s, struct err *err) {
    for (int i = 0; i < V1_COUNT; i++) {
        char dir[PATH_LEN];
        if (!v1_wanted(s, i)) {
            continue;
        }
        if (path_join(dir, v1_mounts[i], s->cgroup_name, err)) {
            return ERR_TOO_LARGE;
        }
        if (mkdir(dir, 0755) == -1 && errno != EEXIST && dir_make(dir, 0755, err)) {
            return ERR_IO;
        }
        if (i == V1_PIDS && s->pids) {
            put_number(dir, "pids.max", s->pids);
        } else if (i == V1_MEMORY) {
            put_number(dir, "memory.limit_in_bytes", memory_of(s));
        } else if (i == V1_CPU) {
            put_number(dir, "cpu.cfs_quota_us", s->cpu_milli * 100);
        }
    }
    return 0;
}

int cgroup_make(const struct sandbox *s, struct err *err) {
    switch (s->cgroup) {
    case CGROUP_V2:
        return make_v2(s, err);
    case CGROUP_V1:
        return make_v1(s, err);
    case CGROUP_NONE:
        break;
    }
    return 0;
}

int cgroup_join(const struct sandbox *s) {
    char dir[PATH_LEN];
    int e = 0;

    if (s->cgroup == CGROUP_V2) {
        return path_join(dir, v2_root(), s->cgroup_name, NULL) ? ENAMETOOLONG
                                                               : put(dir, "cgroup.procs", "0");
    }
    for (int i = 0; s->cgroup == CGROUP_V1 && i < V1_COUNT && e == 0; i++) {
        if (v1_wanted(s, i)) {
            e = path_join(dir, v1_mounts[i], s->cgroup_name, NULL) ? ENAMETOOLONG
                                                                   : put(dir, "cgroup.procs", "0");
        }
    }
    return e;
}

void cgroup_remove(enum cgroup_mode mode, const char *name) {
    char dir[PATH_LEN];

    if (mode == CGROUP_V2 && path_join(dir, v2_root(), name, NULL) == 0) {
        rmdir(dir);
    }
    for (int i = 0; mode == CGROUP_V1 && i < V1_COUNT; i++) {
        if (path_join(dir, v1_mounts[i], name, NULL) == 0) {
            rmdir(dir);
        }
    }
}

bool cgroup_kill(enum cgroup_mode mode, const char *name) {
    char dir[PATH_LEN], text[65536];
    struct str rest, line;
    bool any = false;
    uint64_t pid;

    if (mode == CGROUP_NONE ||
        path_join(dir, mode == CGROUP_V2 ? v2_root() : v1_mounts[V1_PIDS], name, NULL)) {
        return false;
    }
    rest = str_from(text, get(dir, "cgroup.procs", text, sizeof(text)));
    if (str_empty(rest)) {
        return false;
    }
    if (mode == CGROUP_V2 && put(dir, "cgroup.kill", "1") == 0) {
        return true;
    }
    while (str_next(&rest, '\n', &line)) {
        if (str_to_u64(line, &pid) && pid > 1) {
            any |= kill((pid_t)pid, SIGKILL) == 0;
        }
    }
    return any;
}

int64_t cgroup_oom_kills(enum cgroup_mode mode, const char *name) {
    char dir[PATH_LEN], text[512];
    struct str rest, line;
    int64_t n = 0;

    if (mode == CGROUP_NONE ||
        path_join(dir, mode == CGROUP_V2 ? v2_root() : v1_mounts[V1_MEMORY], name, NULL)) {
        return 0;
    }
    size_t len =
        get(dir, mode == CGROUP_V2 ? "memory.events" : "memory.oom_control", text, sizeof(text));
    rest = str_from(text, len);
    while (str_next(&rest, '\n', &line)) {
        if (str_starts(line, STR("oom_kill "))) {
            str_to_i64(str_skip(line, strlen("oom_kill ")), &n);
        }
    }
    return n;
}

/*
 * cgroup: one group per pod, on v2, on v1 (each controller has a place of its own), or not at all.
 *
 * v2 is taken where it has the controllers; a machine may mount it beside v1 and leave it empty.
 * Groups lie below the one we are in (v1) or below the root of the mount, under berth/. Every limit is read back
 * after it was written: what the kernel did not take is told, and is no limit. A pod's memory limit holds for memory
 * and swap together, and where the kernel can it ends the whole pod rather than one process of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "node/files/files.h"
#include "node/sandbox/device_filter.h"
#include "node/sandbox/sandbox.h"

enum { V1_PIDS, V1_MEMORY, V1_CPU, V1_COUNT, NUMBER_MAX = 64 };
static const char *const v1_controllers[V1_COUNT] = {"pids", "memory", "cpu"};

/* Overridden by tests: folders that look like mounts of v2, or of v1's controllers. */
static const char *root_or(const char *variable) {
    const char *fake = getenv(variable);

    return fake ? fake : "/sys/fs/cgroup";
}

static const char *v2_root(void) {
    return root_or("BERTH_CGROUP_ROOT");
}

static int v1_dir(int controller, const char *name, char out[PATH_LEN]) {
    int n = snprintf(out, PATH_LEN, "%s/%s%s%s", root_or("BERTH_CGROUP_V1_ROOT"),
                     v1_controllers[controller], name ? "/" : "", name ? name : "");

    return n >= PATH_LEN ? ENAMETOOLONG : 0;
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
    char text[256], dir[PATH_LEN];

    if (get(v2_root(), "cgroup.controllers", text, sizeof(text)) && strstr(text, "pids") &&
        strstr(text, "memory") && access(v2_root(), W_OK) == 0) {
        return CGROUP_V2;
    }
    if (v1_dir(V1_PIDS, "berth", dir) == 0 && (mkdir(dir, 0755) == 0 || errno == EEXIST) &&
        access(dir, W_OK) == 0) {
        return CGROUP_V1;
    }
    return CGROUP_NONE;
}

static int64_t memory_of(const struct sandbox *s) {
    return s->memory_bytes ? s->memory_bytes : s->memory_most;
}

/* ---- limits, and whether the kernel has them ---- */

static void note(struct buf *unmet, const char *file, const char *why) {
    buf_f(unmet, "%s%s (%s)", unmet->n ? ", " : "", file, why);
}

static bool is_number(const char *dir, const char *file, int64_t n) {
    char got[NUMBER_MAX];
    int64_t has;

    return str_to_i64(str_trim(str_from(got, get(dir, file, got, sizeof(got)))), &has) && has == n;
}

/* Writes a limit and reads it back; numbers may come back rounded down to a page. */
static void limit(const char *dir, const char *file, const char *text, struct buf *unmet) {
    char got[NUMBER_MAX];
    int64_t want = 0, has = 0, page = sysconf(_SC_PAGESIZE);
    int e = put(dir, file, text);

    if (e) {
        note(unmet, file, strerror(e));
        return;
    }
    struct str now = str_trim(str_from(got, get(dir, file, got, sizeof(got))));
    if (str_is(now, text)) {
        return;
    }
    if (!str_to_i64(str_of(text), &want) || !str_to_i64(now, &has) || has > want ||
        has < want - page) {
        char why[NUMBER_MAX + 32];
        snprintf(why, sizeof(why), "is %.*s, not %s", STR_ARG(now), text);
        note(unmet, file, why);
    }
}

static void limit_number(const char *dir, const char *file, int64_t n, struct buf *unmet) {
    char text[NUMBER_MAX];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    limit(dir, file, text, unmet);
}

/* Where the kernel does not count swap there is no such file, and memory's own limit is all there is. */
static void limit_swap(const char *dir, const char *file, int64_t n, struct buf *unmet) {
    char path[PATH_LEN];

    if (path_join(path, dir, file, NULL) == 0 && access(path, F_OK) == 0) {
        limit_number(dir, file, n, unmet);
    }
}

static int make_v2(const struct sandbox *s, struct buf *unmet, struct err *err) {
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
        limit_number(base, "memory.max", s->memory_most, unmet);
    }
    if (s->pids_of_all && !is_number(base, "pids.max", s->pids_of_all)) {
        limit_number(base, "pids.max", s->pids_of_all, unmet);
    }
    if (mkdir(dir, 0755) == -1 && errno != EEXIST) {
        return err_sys(err, errno, "%s", dir);
    }
    if (memory_of(s)) {
        limit_number(dir, "memory.max", memory_of(s), unmet);
        limit_swap(dir, "memory.swap.max", 0, unmet);
        limit(dir, "memory.oom.group", "1", unmet);
    }
    if (s->pids) {
        limit_number(dir, "pids.max", s->pids, unmet);
    }
    if (s->cpu_milli) {
        char text[NUMBER_MAX];
        snprintf(text, sizeof(text), "%lld 100000", (long long)s->cpu_milli * 100);
        limit(dir, "cpu.max", text, unmet);
    }
    if (s->walls) {
        device_filter_v2(dir, s->devices,
                         s->n_devices); /* a second wall, where the kernel lets us */
    }
    return 0;
}

/* A controller is used only where something is limited: making and removing groups costs time. */
static bool v1_wanted(const struct sandbox *s, int i) {
    return i == V1_PIDS || (i == V1_MEMORY && memory_of(s)) || (i == V1_CPU && s->cpu_milli);
}

static void limit_v1(const struct sandbox *s, int i, const char *dir, struct buf *unmet) {
    if (i == V1_PIDS && s->pids) {
        limit_number(dir, "pids.max", s->pids, unmet);
    } else if (i == V1_MEMORY) {
        limit_number(dir, "memory.limit_in_bytes", memory_of(s), unmet);
        limit_swap(dir, "memory.memsw.limit_in_bytes", memory_of(s), unmet);
    } else if (i == V1_CPU) {
        limit_number(dir, "cpu.cfs_quota_us", s->cpu_milli * 100, unmet);
    }
}

/* Of v1's devices controller; false: it is not mounted. */
static bool devices_root(char out[PATH_LEN]) {
    char path[PATH_LEN];
    int n = snprintf(out, PATH_LEN, "%s/devices", root_or("BERTH_CGROUP_V1_ROOT"));

    return n < PATH_LEN && path_join(path, out, "devices.deny", NULL) == 0 &&
           access(path, F_OK) == 0;
}

/* A process that has one thread, and moves itself, writes "0" to `tasks`: the kernel then needs no lock over all
 * threads of the machine, for which `cgroup.procs` waits a grace period of RCU, some 10 ms. */
static int join_v1(const char *dir) {
    return put(dir, "tasks", "0");
}

static int join_devices(const struct sandbox *s) {
    char root[PATH_LEN], dir[PATH_LEN];

    if (!s->walls || !devices_root(root) || device_filter_v1_dir(root, s, dir)) {
        return 0;
    }
    int e = join_v1(dir);
    return e == ENOENT ? 0 : e;
}

static int make_v1(const struct sandbox *s, struct buf *unmet, struct err *err) {
    char dir[PATH_LEN];

    for (int i = 0; i < V1_COUNT; i++) {
        if (!v1_wanted(s, i)) {
            continue;
        }
        if (v1_dir(i, s->cgroup_name, dir)) {
            return err_set(err, ERR_TOO_LARGE, "the name of a cgroup");
        }
        if (mkdir(dir, 0755) == -1 && errno != EEXIST && dir_make(dir, 0755, err)) {
            if (i == V1_PIDS) { /* which the pod is ended by */
                return ERR_IO;
            }
            note(unmet, v1_controllers[i], "no such cgroup controller");
            continue;
        }
        limit_v1(s, i, dir, unmet);
    }
    if (s->pids_of_all && v1_dir(V1_PIDS, "berth", dir) == 0 &&
        !is_number(dir, "pids.max", s->pids_of_all)) {
        limit_number(dir, "pids.max", s->pids_of_all, unmet);
    }
    if (s->walls && devices_root(dir)) {
        char group[PATH_LEN];
        device_filter_v1(dir, s, group); /* a second wall, where the kernel lets us */
    }
    return 0;
}

int cgroup_make(const struct sandbox *s, struct buf *unmet, struct err *err) {
    switch (s->cgroup) {
    case CGROUP_V2:
        return make_v2(s, unmet, err);
    case CGROUP_V1:
        return make_v1(s, unmet, err);
    case CGROUP_NONE:
        break;
    }
    if (s->memory_bytes) {
        note(unmet, "memory", "the node has no cgroups");
    }
    if (s->cpu_milli) {
        note(unmet, "cpu", "the node has no cgroups");
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
            e = v1_dir(i, s->cgroup_name, dir);
            e = e ? e : join_v1(dir);
            e = e == ENOENT && i != V1_PIDS ? 0 : e; /* told by cgroup_make */
        }
    }
    return e || s->cgroup != CGROUP_V1 ? e : join_devices(s);
}

int cgroup_open(const struct sandbox *s) {
    char dir[PATH_LEN];

    return s->cgroup != CGROUP_V2 || path_join(dir, v2_root(), s->cgroup_name, NULL)
               ? -1
               : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void cgroup_remove(enum cgroup_mode mode, const char *name) {
    char dir[PATH_LEN];

    if (mode == CGROUP_V2 && path_join(dir, v2_root(), name, NULL) == 0) {
        rmdir(dir);
    }
    for (int i = 0; mode == CGROUP_V1 && i < V1_COUNT; i++) {
        if (v1_dir(i, name, dir) == 0) {
            rmdir(dir);
        }
    }
    if (mode == CGROUP_V1 && devices_root(dir)) {
        device_filter_v1_remove(dir, name);
    }
}

static int group_of(enum cgroup_mode mode, int controller, const char *name, char out[PATH_LEN]) {
    return mode == CGROUP_V2 ? path_join(out, v2_root(), name, NULL)
                             : v1_dir(controller, name, out);
}

bool cgroup_kill(enum cgroup_mode mode, const char *name) {
    char dir[PATH_LEN], text[65536];
    struct str rest, line;
    bool any = false;
    uint64_t pid;

    if (mode == CGROUP_NONE || group_of(mode, V1_PIDS, name, dir)) {
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

    if (mode == CGROUP_NONE || group_of(mode, V1_MEMORY, name, dir)) {
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

size_t cgroup_processes(enum cgroup_mode mode, const char *name, pid_t *v, size_t cap) {
    char dir[PATH_LEN], text[65536];
    struct str rest, line;
    size_t n = 0;
    uint64_t pid;

    if (mode == CGROUP_NONE || group_of(mode, V1_PIDS, name, dir)) {
        return 0;
    }
    rest = str_from(text, get(dir, "cgroup.procs", text, sizeof(text)));
    while (n < cap && str_next(&rest, '\n', &line)) {
        if (str_to_u64(line, &pid) && pid > 1) {
            v[n++] = (pid_t)pid;
        }
    }
    return n;
}

/* The number behind a word at the beginning of a line; -1: there is none. */
static int64_t number_after(const char *dir, const char *file, const char *word) {
    char text[8192];
    struct str rest = str_from(text, get(dir, file, text, sizeof(text))), line;
    int64_t n;

    while (str_next(&rest, '\n', &line)) {
        if (str_starts(line, str_of(word)) && str_to_i64(str_skip(line, strlen(word)), &n)) {
            return n;
        }
    }
    return -1;
}

void cgroup_usage(enum cgroup_mode mode, const char *name, int64_t *cpu_ns, int64_t *memory) {
    bool v2 = mode == CGROUP_V2;
    char dir[PATH_LEN];

    if (mode == CGROUP_NONE || group_of(mode, V1_MEMORY, name, dir)) {
        return;
    }
    int64_t all = number_after(dir, v2 ? "memory.current" : "memory.usage_in_bytes", "");
    int64_t idle = number_after(dir, "memory.stat", v2 ? "inactive_file " : "total_inactive_file ");
    if (all >= 0) {
        *memory = idle > 0 && idle <= all ? all - idle : all;
    }
    int64_t us =
        v2 ? number_after(dir, "cpu.stat", "usage_usec ") : -1; /* of v1 it may be anywhere */
    *cpu_ns = us >= 0 ? us * 1000 : *cpu_ns;
}

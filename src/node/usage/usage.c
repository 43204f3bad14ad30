/* usage: see usage.h. */
#include "node/usage/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { TEXT = 65536 };

struct usage_process {
    pid_t pid, parent, session;
    size_t owner; /* index of its container; SIZE_MAX: not known yet */
    struct usage now;
    int64_t shared;
};

/* ---- /proc ---- */

static size_t read_text(const char *path, char *out, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;

    while (fd != -1 && n < cap - 1) {
        ssize_t k = read(fd, out + n, cap - 1 - n);
        if (k <= 0) {
            break;
        }
        n += (size_t)k;
    }
    if (fd != -1) {
        close(fd);
    }
    out[n] = 0;
    return n;
}

static bool read_process(pid_t pid, struct usage_process *ret) {
    char path[64], text[2048];
    unsigned long long t[4], resident = 0, shared = 0;
    int parent, session;
    int64_t tick = NS_PER_SEC / sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    const char *p = read_text(path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
    if (p == NULL || sscanf(p + 1, " %*c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
                            &parent, &session, &t[0], &t[1], &t[2], &t[3]) != 6) {
        return false;
    }
    *ret =
        (struct usage_process){.pid = pid, .parent = parent, .session = session, .owner = SIZE_MAX};
    ret->now.cpu_ns = (int64_t)(t[0] + t[1] + t[2] + t[3]) * tick;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    if (read_text(path, text, sizeof(text)) &&
        sscanf(text, "%*u %llu %llu", &resident, &shared) == 2 && resident >= shared) {
        ret->now.memory = (int64_t)(resident - shared) * page;
        ret->shared = (int64_t)shared * page;
    }
    return true;
}

/* Without a cgroup: what the shim has started, and what that has. */
static size_t list_children(pid_t ancestor, pid_t *v, size_t cap) {
    char path[80], text[TEXT];
    size_t n = 0;

    for (size_t at = 0; at == 0 || at <= n; at++) {
        pid_t of = at == 0 ? ancestor : v[at - 1];
        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)of, (int)of);
        struct str rest = str_from(text, read_text(path, text, sizeof(text))), word;
        while (n < cap && str_next(&rest, ' ', &word)) {
            uint64_t pid;
            if (str_to_u64(word, &pid)) {
                v[n++] = (pid_t)pid;
            }
        }
    }
    return n;
}

/* ---- whose is a process? ---- */

static size_t owner_by_session(const struct usage_process *p, const struct usage_container *v,
                               size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].pid && (p->session == v[i].pid || p->pid == v[i].pid)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t owner_of(const struct usage_process *all, size_t count, pid_t pid) {
    for (size_t i = 0; i < count; i++) {
        if (all[i].pid == pid) {
            return all[i].owner;
        }
    }
    return SIZE_MAX;
}

/* Sessions first, then children of what is known, some generations deep; the rest is the first one's that runs. */
static void find_owners(struct usage_process *all, size_t count, const struct usage_container *v,
                        size_t n) {
    size_t first = 0;
    bool more = true;

    while (first < n && v[first].pid == 0) {
        first++;
    }
    for (size_t i = 0; i < count; i++) {
        all[i].owner = owner_by_session(&all[i], v, n);
    }
    for (int round = 0; more && round < 8; round++) {
        more = false;
        for (size_t i = 0; n > 1 && i < count; i++) {
            if (all[i].owner == SIZE_MAX) {
                all[i].owner = owner_of(all, count, all[i].parent);
                more |= all[i].owner != SIZE_MAX;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        all[i].owner = all[i].owner == SIZE_MAX ? first : all[i].owner;
    }
}

/* ---- the pod ---- */

static void sum_up(const struct usage_process *all, size_t count, struct usage_container *v,
                   size_t n) {
    for (size_t k = 0; k < n; k++) {
        int64_t shared = 0;
        v[k].now = (struct usage){0, 0};
        for (size_t i = 0; i < count; i++) {
            if (all[i].owner == k) {
                v[k].now.cpu_ns += all[i].now.cpu_ns;
                v[k].now.memory += all[i].now.memory;
                shared = all[i].shared > shared ? all[i].shared : shared;
            }
        }
        v[k].now.memory += shared;
    }
}

static int64_t part_of(int64_t whole, int64_t part, int64_t sum) {
    return sum ? (int64_t)((double)whole * ((double)part / (double)sum)) : 0;
}

/* The group's numbers, which also count what has ended, in the proportion of the processes'. */
static void share_out(const struct usage *group, struct usage_container *v, size_t n) {
    struct usage sum = {0, 0};
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        sum.cpu_ns += v[i].now.cpu_ns;
        sum.memory += v[i].now.memory;
    }
    while (first + 1 < n && v[first].pid == 0) {
        first++;
    }
    for (size_t i = 0; i < n; i++) {
        if (group->cpu_ns >= 0) {
            v[i].now.cpu_ns = sum.cpu_ns   ? part_of(group->cpu_ns, v[i].now.cpu_ns, sum.cpu_ns)
                              : i == first ? group->cpu_ns
                                           : 0;
        }
        if (group->memory >= 0) {
            v[i].now.memory = sum.memory   ? part_of(group->memory, v[i].now.memory, sum.memory)
                              : i == first ? group->memory
                                           : 0;
        }
    }
}

bool usage_of_pod(enum cgroup_mode mode, const char *name, pid_t shim, struct usage_container *v,
                  size_t n) {
    pid_t *pids = mem_array(USAGE_PROCESSES_MAX, sizeof(*pids));
    struct usage_process *all = mem_array(USAGE_PROCESSES_MAX, sizeof(*all));
    struct usage group = {-1, -1};
    size_t count = 0, found = 0;

    if (pids && all && n) {
        found = mode == CGROUP_NONE ? list_children(shim, pids, USAGE_PROCESSES_MAX)
                                    : cgroup_processes(mode, name, pids, USAGE_PROCESSES_MAX);
        for (size_t i = 0; i < found; i++) {
            count += read_process(pids[i], &all[count]);
        }
        find_owners(all, count, v, n);
        sum_up(all, count, v, n);
        cgroup_usage(mode, name, &group.cpu_ns, &group.memory);
        share_out(&group, v, n);
    }
    mem_free(pids);
    mem_free(all);
    return count > 0;
}

/* ---- the machine ---- */

bool usage_of_machine(struct usage *ret) {
    char text[8192];
    unsigned long long t[8], all = 0, free_ = 0;
    int64_t tick = NS_PER_SEC / sysconf(_SC_CLK_TCK);

    if (read_text("/proc/stat", text, sizeof(text)) == 0 ||
        sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
               &t[4], &t[5], &t[6], &t[7]) != 8) {
        return false;
    }
    read_text("/proc/meminfo", text, sizeof(text));
    const char *total = strstr(text, "MemTotal:"), *left = strstr(text, "MemAvailable:");
    if (total == NULL || left == NULL || sscanf(total, "MemTotal: %llu", &all) != 1 ||
        sscanf(left, "MemAvailable: %llu", &free_) != 1 || free_ > all) {
        return false;
    }
    ret->cpu_ns = (int64_t)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) * tick;
    ret->memory = (int64_t)(all - free_) * 1024;
    return true;
}

/* proctree: see proctree.h. One walk over /proc per call: the table of children that some kernels
 * have is not everywhere. */
#include "node/sandbox/proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"

struct proc {
    pid_t pid, parent;
    bool below;
};
VEC(proc_vec, struct proc);

static ssize_t read_proc(pid_t pid, const char *file, char *out, size_t cap) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return -1;
    }
    ssize_t n = read(fd, out, cap - 1);
    close(fd);
    out[n > 0 ? n : 0] = 0;
    return n;
}

/* Fields after the command name, which may hold anything, blanks and brackets included. */
static bool read_stat(pid_t pid, pid_t *ret_parent, uint64_t *ret_start) {
    char text[1024];
    unsigned long long start;
    int parent;

    if (read_proc(pid, "stat", text, sizeof(text)) <= 0) {
        return false;
    }
    const char *p = strrchr(text, ')');
    if (p == NULL ||
        sscanf(p + 1,
               " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &parent, &start) != 2) {
        return false;
    }
    *ret_parent = parent;
    *ret_start = start;
    return true;
}

uint64_t proc_start(pid_t pid) {
    uint64_t start;
    pid_t parent;

    return read_stat(pid, &parent, &start) ? start : 0;
}

static void list(struct proc_vec *v) {
    struct dirent *e;
    uint64_t start, pid;
    DIR *d = opendir("/proc");

    while (d && (e = readdir(d))) {
        struct proc p = {0};
        if (str_to_u64(str_of(e->d_name), &pid)) {
            p.pid = (pid_t)pid;
            if (read_stat(p.pid, &p.parent, &start)) {
                proc_vec_push(v, p);
            }
        }
    }
    if (d) {
        closedir(d);
    }
}

int proc_kill_descendants(pid_t ancestor, int sig) {
    struct proc_vec v = {0};
    bool more = true;
    int n = 0;

    list(&v);
    while (more) { /* parents may have higher numbers than their children */
        more = false;
        for (size_t i = 0; i < v.n; i++) {
            bool below = v.v[i].parent == ancestor;
            for (size_t j = 0; !below && j < v.n; j++) {
                below = v.v[j].below && v.v[j].pid == v.v[i].parent;
            }
            if (below && !v.v[i].below) {
                v.v[i].below = more = true;
                n += kill(v.v[i].pid, sig) == 0;
            }
        }
    }
    proc_vec_release(&v);
    return n;
}

int proc_kill_marked(const char *mark, int sig) {
    static char text[262144];
    struct proc_vec v = {0};
    size_t len = strlen(mark);
    int n = 0;

    list(&v);
    for (size_t i = 0; i < v.n; i++) {
        ssize_t k =
            v.v[i].pid == getpid() ? 0 : read_proc(v.v[i].pid, "environ", text, sizeof(text));
        for (ssize_t at = 0; at < k; at += (ssize_t)strlen(text + at) + 1) {
            if (!strncmp(text + at, mark, len) && text[at + (ssize_t)len] == 0) {
                n += kill(v.v[i].pid, sig) == 0;
                break;
            }
        }
    }
    proc_vec_release(&v);
    return n;
}

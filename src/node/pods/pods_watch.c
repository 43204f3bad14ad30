/* pods_watch: the shim's side of a pod: its lock, its state.json by inotify, its end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/pods/pods_private.h"
#include "node/sandbox/proctree.h"

static struct str wd_key(const struct pod *p) {
    return str_from((const char *)&p->wd, sizeof(p->wd));
}

void pod_watch(struct pod *p) {
    if (p->wd != -1) {
        return;
    }
    p->wd = inotify_add_watch(p->pods->inotify, p->dir, IN_MOVED_TO);
    if (p->wd != -1 && map_put(&p->pods->by_wd, wd_key(p), p, NULL)) {
        inotify_rm_watch(p->pods->inotify, p->wd);
        p->wd = -1; /* the tick still sees the shim's end */
    }
}

void pod_unwatch(struct pod *p) {
    if (p->wd != -1) {
        map_del(&p->pods->by_wd, wd_key(p));
        inotify_rm_watch(p->pods->inotify, p->wd);
        p->wd = -1;
    }
}

void pods_on_inotify(void *ctx, int events) {
    struct pods *ps = ctx;
    char buf[16384] __attribute__((aligned(8)));
    ssize_t n = read(ps->inotify, buf, sizeof(buf));

    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const struct inotify_event *)(buf + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        struct pod *p = map_get(&ps->by_wd, str_from((const char *)&e->wd, sizeof(e->wd)));
        if (p && e->len && !strcmp(e->name, "state.json")) {
            pod_read_state(p);
        }
    }
}

bool pod_shim_alive(const struct pod *p) {
    char path[PATH_LEN];

    if (path_join(path, p->dir, "lock", NULL)) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return false;
    }
    bool held = flock(fd, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

void pod_read_state(struct pod *p) {
    struct arena a;
    struct str text;
    yyjson_doc *doc;

    arena_init(&a, 32 << 20);
    if (file_load(p->dir, "state.json", &a, &text, NULL) || json_parse(&a, text, &doc, NULL)) {
        arena_release(&a);
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    char *copy = mem_cstr(text);
    bool over = !str_is(json_str_at(root, "phase"), "Running");
    if (copy) {
        mem_free(p->shim_state);
        p->shim_state = copy;
        p->shim_pid = json_i64_at(root, "pid", 0);
        p->shim_start = (uint64_t)json_i64_at(root, "start", 0);
        p->ended = json_bool_at(root, "ended", false);
    }
    if (p->recovering) {
        pod_tell_forget(p, root);
    } else {
        pod_tell_state(p, root);
    }
    struct str unmet = json_str_at(root, "unmet");
    if (!p->recovering && !str_empty(unmet) && !p->unmet_told) {
        p->unmet_told = true;
        pod_tell(p, true, "LimitNotEnforced", "The node could not set: %.*s", STR_ARG(unmet));
    }
    arena_release(&a);
    if (copy) {
        pod_event(p, over ? POD_EV_DOWN : POD_EV_UP);
    }
}

/* A signal with a value, to this very process: the pid is pinned before its start time is compared. */
static bool send_signal(int64_t pid, uint64_t start, int signum, int64_t value) {
    siginfo_t i = {0};
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    bool sent = false;

    if (fd == -1) {
        return false;
    }
    if (proc_start((pid_t)pid) == start) {
        i.si_signo = signum;
        i.si_code = SI_QUEUE;
        i.si_pid = getpid();
        i.si_uid = getuid();
        i.si_value.sival_int = (int)(value > INT32_MAX ? INT32_MAX : value);
        sent = syscall(SYS_pidfd_send_signal, fd, signum, &i, 0) == 0;
    }
    close(fd);
    return sent;
}

/* Who holds the lock, told by itself before its first state. */
static void read_lock(struct pod *p) {
    struct arena a;
    struct str text;
    yyjson_doc *doc;

    arena_init(&a, 1 << 20);
    if (file_load(p->dir, "lock", &a, &text, NULL) == 0 && json_parse(&a, text, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        p->shim_pid = json_i64_at(root, "pid", 0);
        p->shim_start = (uint64_t)json_i64_at(root, "start", 0);
    }
    arena_release(&a);
}

void pod_send_stop(struct pod *p) {
    if (p->shim_pid == 0) {
        pod_read_state(p); /* comes back here by POD_EV_UP once the shim has told its pid */
        if (p->shim_pid || p->state != POD_STOPPING || !pod_shim_alive(p)) {
            return;
        }
        read_lock(p);
        if (p->shim_pid == 0) {
            return;
        }
    }
    send_signal(p->shim_pid, p->shim_start, SIGTERM, p->stop_grace_s);
    pod_report(p);
}

void pod_send_more(struct pod *p) {
    send_signal(p->shim_pid, p->shim_start, SIGHUP, 0);
}

void pod_end_strays(struct pod *p) {
    char mark[128], group[128];

    snprintf(mark, sizeof(mark), "BERTH_POD_UID=%s", p->uid);
    snprintf(group, sizeof(group), "berth/%s", p->uid);
    for (int i = 0; i < 20; i++) {
        bool any = cgroup_kill(p->pods->o.probe->cgroup, group);
        any |= proc_kill_marked(mark, SIGKILL) > 0;
        if (!any) {
            break;
        }
        usleep(1000);
    }
    cgroup_remove(p->pods->o.probe->cgroup, group);
}

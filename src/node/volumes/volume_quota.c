/* volume_quota: see volume_quota.h. */
#include "node/volumes/volume_quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file for every so many bytes, and at least so many. */
enum { BYTES_A_FILE = 4096, FILES_MIN = 1000 };

/* No C library has a function for it yet. */
static int quota_call(const struct volume_quota *q, unsigned command, uint32_t id, void *arg) {
    return (int)syscall(SYS_quotactl_fd, (unsigned)q->dir, QCMD(command, PRJQUOTA), id, arg);
}

static void tell(struct volume_quota *q, const char *what) {
    if (!q->told) {
        log_warn(q->log, "volumes: the size of a volume is measured only: %s: %s", what,
                 strerror(errno));
    }
    q->told = true;
}

/* The lowest project from `id` on that has files or a limit. errno ENOENT: there is none. */
static int next_used(const struct volume_quota *q, uint32_t id, uint32_t *ret) {
    struct if_nextdqblk d = {0};
    if (quota_call(q, Q_GETNEXTQUOTA, id, &d) == -1) {
        return -1;
    }
    *ret = d.dqb_id;
    return 0;
}

void volume_quota_init(struct volume_quota *q, int dir, struct log *log) {
    struct fs_quota_statv state = {.qs_version = FS_QSTATV_VERSION1};
    uint32_t used;
    *q = (struct volume_quota){.log = log, .dir = dir};
    q->on = quota_call(q, Q_XGETQSTATV, 0, &state) == 0 &&
            (state.qs_flags & FS_QUOTA_PDQ_ENFD) != 0 &&
            (next_used(q, VOLUME_PROJECT_FIRST, &used) == 0 || errno == ENOENT);
    log_info(log, "volumes: sizes are %s", q->on ? "held by project quotas" : "measured");
}

/* ---- projects ---- */

static int free_project(const struct volume_quota *q, uint32_t *ret) {
    uint32_t used;
    for (uint32_t id = VOLUME_PROJECT_FIRST; id <= VOLUME_PROJECT_LAST; id++) {
        int r = next_used(q, id, &used);
        if (r == -1 && errno != ENOENT) {
            return -1;
        }
        if (r == -1 || used != id) {
            *ret = id;
            return 0;
        }
    }
    errno = ENOSPC;
    return -1;
}

static bool is_ours(const struct fsxattr *x) {
    return (x->fsx_xflags & FS_XFLAG_PROJINHERIT) != 0 && x->fsx_projid >= VOLUME_PROJECT_FIRST &&
           x->fsx_projid <= VOLUME_PROJECT_LAST;
}

/* 0, and the folder's project. errno ENOENT: it has none of ours. */
static int project_of(int folder, uint32_t *ret) {
    struct fsxattr x;
    if (ioctl(folder, FS_IOC_FSGETXATTR, &x) == -1) {
        return -1;
    }
    if (!is_ours(&x)) {
        errno = ENOENT;
        return -1;
    }
    *ret = x.fsx_projid;
    return 0;
}

static bool is_empty(int folder) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd != -1 ? fdopendir(fd) : NULL;
    unsigned n = 0;
    if (d == NULL) {
        if (fd != -1) {
            close(fd);
        }
        return false;
    }
    while (n < 3 && readdir(d) != NULL) { /* itself, and the one above */
        n++;
    }
    closedir(d);
    return n < 3;
}

static int give_project(const struct volume_quota *q, int folder) {
    struct fsxattr x;
    uint32_t id;
    if (free_project(q, &id) == -1 || ioctl(folder, FS_IOC_FSGETXATTR, &x) == -1) {
        return -1;
    }
    x.fsx_projid = id;
    x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
    return ioctl(folder, FS_IOC_FSSETXATTR, &x);
}

bool volume_quota_mark(struct volume_quota *q, int folder) {
    uint32_t id;
    if (!q->on) {
        return false;
    }
    if (project_of(folder, &id) == 0) {
        return true;
    }
    if (errno == ENOENT && !is_empty(folder)) { /* it is older than the quotas */
        return false;
    }
    if (give_project(q, folder) == -1) {
        tell(q, "its folder gets no project");
        return false;
    }
    return true;
}

/* ---- limits ---- */

static int set_limits(const struct volume_quota *q, uint32_t id, uint64_t blocks, uint64_t files) {
    struct if_dqblk d = {
        .dqb_bhardlimit = blocks, .dqb_ihardlimit = files, .dqb_valid = QIF_LIMITS};
    return quota_call(q, Q_SETQUOTA, id, &d);
}

bool volume_quota_hold(struct volume_quota *q, int folder, uint64_t bytes) {
    uint64_t blocks = bytes / QIF_DQBLKSIZE + (bytes % QIF_DQBLKSIZE != 0);
    uint64_t files = bytes / BYTES_A_FILE;
    uint32_t id;
    if (!volume_quota_mark(q, folder) || project_of(folder, &id) == -1) {
        return false;
    }
    blocks = blocks > 0 ? blocks : 1; /* 0 is no limit */
    if (set_limits(q, id, blocks, files > FILES_MIN ? files : FILES_MIN) == -1) {
        tell(q, "its project gets no limit");
        return false;
    }
    return true;
}

void volume_quota_clear(struct volume_quota *q, int folder) {
    uint32_t id;
    if (q->on && project_of(folder, &id) == 0 && set_limits(q, id, 0, 0) == -1) {
        log_warn(q->log, "volumes: the limit of project %u cannot be taken away: %s", id,
                 strerror(errno));
    }
}

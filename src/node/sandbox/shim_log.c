/*
 * shim_log: two pipes into one file of lines (wire/podlog.h), rotated by size: N.log, N.log.1
 * (newest) ... N is the run of the container, so that the log of the previous run stays until it is
 * pushed out.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_store.h"
#include "base/limits.h"
#include "node/files/files.h"
#include "node/sandbox/shim_talk.h"

enum { READ_MAX = 32768 };

static void file_name(char out[64], int restart, int rotated) {
    if (rotated) {
        snprintf(out, 64, "%d.log.%d", restart, rotated);
    } else {
        snprintf(out, 64, "%d.log", restart);
    }
}

static void open_file(struct shim_log *l) {
    char name[64];

    file_name(name, l->restart, 0);
    l->fd = openat(l->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    l->bytes = 0;
}

static void rotate(struct shim_log *l) {
    char from[64], to[64];

    close(l->fd);
    for (int i = LIMIT_LOG_FILES - 1; i >= 1; i--) {
        file_name(from, l->restart, i - 1);
        file_name(to, l->restart, i);
        renameat(l->dir, from, l->dir, to);
    }
    open_file(l);
}

/* A full disk loses lines, not the pod. */
static void flush(struct shim_log *l) {
    if (l->fd != -1) {
        (void)file_write_all(l->fd, buf_view(&l->out));
    }
    l->bytes += l->out.n;
    buf_reset(&l->out);
    if (l->fd != -1 && l->bytes >= LIMIT_LOG_FILE_BYTES) {
        rotate(l);
    }
}

void shim_log_open(struct shim *s, struct shim_container *c) {
    struct shim_log *l = &c->log;
    char path[PATH_LEN], name[64], folder[300];

    snprintf(folder, sizeof(folder), "log/%.*s", STR_ARG(str_head(c->name, 253)));
    if (l->dir == -1 && path_join(path, s->dir, folder, NULL) == 0 &&
        dir_make(path, 0700, NULL) == 0) {
        l->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    }
    l->restart = c->restarts;
    /* Two runs are kept: this one and the one before. */
    for (int i = 0; c->restarts >= 2 && i < LIMIT_LOG_FILES; i++) {
        file_name(name, c->restarts - 2, i);
        unlinkat(l->dir, name, 0);
    }
    open_file(l);
}

static void add(struct shim_log *l, int stream, struct str bytes) {
    struct buf *part = &l->part[stream];
    int64_t now = shim_wall();

    while (bytes.n) {
        ptrdiff_t at = str_find(bytes, '\n');
        size_t n = at < 0 ? bytes.n : (size_t)at, room = SHIM_LINE_MAX - part->n;
        bool full = at >= 0 && n <= room;
        n = n > room ? room : n;
        if (full && part->n == 0) {
            podlog_write(&l->out, now, stream, true, str_head(bytes, n));
        } else {
            buf_add(part, bytes.p, n);
            if (full || part->n >= SHIM_LINE_MAX) {
                podlog_write(&l->out, now, stream, full, buf_view(part));
                buf_reset(part);
            }
        }
        bytes = str_skip(bytes, n + (full ? 1 : 0));
    }
}

bool shim_log_pump(struct shim *s, struct shim_container *c, int stream) {
    char bytes[READ_MAX];
    ssize_t n = read(c->fd[stream], bytes, sizeof(bytes));

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n <= 0) {
        close(c->fd[stream]);
        c->fd[stream] = -1;
        return false;
    }
    add(&c->log, stream, str_from(bytes, (size_t)n));
    shim_talk_wrote(s, c, stream, str_from(bytes, (size_t)n));
    flush(&c->log);
    return true;
}

void shim_log_close(struct shim_container *c) {
    for (int i = 0; i < 2; i++) {
        if (c->log.part[i].n) {
            podlog_write(&c->log.out, shim_wall(), i, true, buf_view(&c->log.part[i]));
            buf_reset(&c->log.part[i]);
        }
    }
    flush(&c->log);
    if (c->log.fd != -1) {
        close(c->log.fd);
        c->log.fd = -1;
    }
}

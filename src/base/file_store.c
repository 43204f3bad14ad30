/* file_store: see file_store.h. */
#include "base/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static _Thread_local enum file_step fault_step;
static _Thread_local int fault_crash;

void file_store_fault(enum file_step step, int crash) {
    fault_step = step;
    fault_crash = crash;
}

static bool fails(enum file_step step) {
    if (fault_step != step) {
        return false;
    }
    fault_step = FILE_STEP_NONE;
    errno = EIO;
    return true;
}

int file_write_all(int fd, struct str s) {
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n == -1 && errno != EINTR) {
            return -1;
        }
        s = str_skip(s, n > 0 ? (size_t)n : 0);
    }
    return 0;
}

static int write_bytes(int fd, struct str s) {
    if (fails(FILE_STEP_WRITE)) {
        (void)!write(fd, s.p, s.n / 2);
        errno = EIO;
        return -1;
    }
    return file_write_all(fd, s);
}

static int sync_folder(const char *dir) {
    if (fails(FILE_STEP_SYNC_FOLDER)) {
        return -1;
    }
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd == -1 ? -1 : fsync(fd), e = errno;

    if (fd != -1) {
        close(fd);
    }
    errno = e;
    return r;
}

/* The whole file under its temporary name. 0 or errno. */
static int write_temp(const char *temp, struct str bytes, mode_t mode, bool synced) {
    unlink(temp); /* of a crash in the middle */
    int fd = fails(FILE_STEP_OPEN)
                 ? -1
                 : open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd == -1) {
        return errno;
    }
    bool done = write_bytes(fd, bytes) == 0 && fchmod(fd, mode) == 0;
    done = done && (!synced || (!fails(FILE_STEP_SYNC) && fsync(fd) == 0));
    int e = done ? 0 : errno;
    return close(fd) == -1 && e == 0 ? errno : e;
}

static int store(const char *dir, const char *name, struct str bytes, mode_t mode, bool synced,
                 struct err *err) {
    char path[PATH_BYTES], temp[PATH_BYTES];
    int crash = fault_crash;

    /* A name may be as long as a file system takes: then its temporary one is cut. */
    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path) ||
        snprintf(temp, sizeof(temp), "%s/.%.240s.new", dir, name) >= (int)sizeof(temp)) {
        return err_set(err, ERR_TOO_LARGE, "%.200s/%.200s: the path is too long", dir, name);
    }
    int e = write_temp(temp, bytes, mode, synced);
    if (e == 0 && (fails(FILE_STEP_RENAME) || rename(temp, path) == -1)) {
        e = errno;
    }
    if (e && !crash) {
        unlink(temp);
    }
    if (e == 0 && synced && sync_folder(dir) == -1) {
        e = errno;
    }
    return e ? err_sys(err, e, "%s", path) : 0;
}

int file_store(const char *dir, const char *name, struct str bytes, mode_t mode, struct err *err) {
    return store(dir, name, bytes, mode, false, err);
}

int file_store_synced(const char *dir, const char *name, struct str bytes, mode_t mode,
                      struct err *err) {
    return store(dir, name, bytes, mode, true, err);
}

int file_store_path(const char *path, struct str bytes, mode_t mode, struct err *err) {
    char dir[PATH_BYTES];
    ptrdiff_t slash = str_find_last(str_of(path), '/');
    struct str folder = slash < 0    ? STR(".")
                        : slash == 0 ? STR("/")
                                     : str_head(str_of(path), (size_t)slash);

    return str_copy(folder, dir, sizeof(dir))
               ? file_store_synced(dir, path + slash + 1, bytes, mode, err)
               : err_set(err, ERR_TOO_LARGE, "%.400s: the path is too long", path);
}

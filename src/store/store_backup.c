/*
 * store_backup: copies of the store, and a store from a copy.
 *
 * A backup is made by SQLite's backup interface on the store's own connection, some pages between batches: what
 * the connection changes meanwhile it changes in the copy too, so that the copy is the state at its end, and
 * never starts over.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_private.h"

enum { STEP_PAGES = 64, COPY_BYTES = 64 << 10 };

static void finish(struct backup *b, int code) {
    if (b->copy) {
        sqlite3_backup_finish(b->copy);
    }
    if (b->to) {
        sqlite3_close(b->to);
    }
    b->copy = NULL;
    b->to = NULL;
    if (code != 0) {
        (void)unlink(b->part);
    }
    b->code = code;
}

static int sqlite_failed(struct backup *b, int rc) {
    return err_set(&b->err, ERR_IO, "cannot back up to %s: %s", b->path, sqlite3_errstr(rc));
}

static int start(struct backup *b, struct db *from) {
    (void)unlink(b->part);
    int rc = sqlite3_open_v2(
        b->part, &b->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) {
        (void)chmod(b->part, 0600);
        /* the copy is synced once, when it is whole */
        rc = sqlite3_exec(b->to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", NULL, NULL,
                          NULL);
    }
    if (rc != SQLITE_OK) {
        return sqlite_failed(b, rc);
    }
    b->copy = sqlite3_backup_init(b->to, "main", from->h, "main");
    return b->copy ? 0 : sqlite_failed(b, sqlite3_errcode(b->to));
}

static int sync_file(const char *path, struct err *err) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd == -1) {
        return err_sys(err, errno, "cannot open %s", path);
    }
    int code = fsync(fd) == -1 ? err_sys(err, errno, "cannot sync %s", path) : 0;
    close(fd);
    return code;
}

static int folder_of(const char *path, char dir[static STORE_PATH_MAX]) {
    ptrdiff_t slash = str_find_last(str_of(path), '/');
    return str_copy(slash < 0 ? STR(".") : str_head(str_of(path), slash ? (size_t)slash : 1), dir,
                    STORE_PATH_MAX)
               ? 0
               : ERR_TOO_LARGE;
}

/* Syncs `part` and gives it its name, which must be free. */
static int publish(const char *part, const char *path, struct err *err) {
    char dir[STORE_PATH_MAX];
    int code = sync_file(part, err);
    if (code == 0 && renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == -1) {
        code = err_sys(err, errno, "cannot rename to %s", path);
    }
    if (code == 0) {
        code = folder_of(path, dir) ? err_set(err, ERR_TOO_LARGE, "the path is too long")
                                    : sync_folder(dir, err);
    }
    return code;
}

bool backup_step(struct backup *b, struct db *from) {
    int code = b->copy ? 0 : start(b, from);
    int rc = code ? SQLITE_OK : sqlite3_backup_step(b->copy, STEP_PAGES);
    if (code == 0 && rc == SQLITE_OK) {
        return false;
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = sqlite_failed(b, rc);
    }
    finish(b, code);
    if (code == 0) {
        b->code = publish(b->part, b->path, &b->err);
        if (b->code != 0) {
            (void)unlink(b->part);
        }
    }
    return true;
}

void backup_cancel(struct backup *b) {
    finish(b, err_set(&b->err, ERR_UNAVAILABLE, "the store was closed before the backup was done"));
}

/* ---- restoring ---- */

static int copy_bytes(int from, int to) {
    char buf[COPY_BYTES];
    for (;;) {
        ssize_t n = read(from, buf, sizeof(buf));
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? 0 : -1;
        }
        for (ssize_t done = 0; done < n;) {
            ssize_t w = write(to, buf + done, (size_t)(n - done));
            if (w == -1 && errno != EINTR) {
                return -1;
            }
            done += w > 0 ? w : 0;
        }
    }
}

static int copy_file(const char *from, const char *to, struct err *err) {
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in == -1) {
        return err_sys(err, errno, "cannot open %s", from);
    }
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out == -1) {
        int e = errno;
        close(in);
        return err_sys(err, e, "cannot make %s", to);
    }
    int code = 0;
    if (copy_bytes(in, out) == -1) {
        code = err_sys(err, errno, "cannot copy %s to %s", from, to);
    }
    close(in);
    if (close(out) == -1 && code == 0) {
        code = err_sys(err, errno, "cannot write %s", to);
    }
    return code;
}

/* Program, version and integrity of a copy that nobody else uses. */
static int check_copy(const char *path, struct err *err) {
    struct db d;
    int code = db_open(&d, &(struct db_options){.path = path, .offline = true}, err);
    if (code != 0) {
        return code;
    }
    int64_t problems;
    code = db_int(&d, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
                  &problems, err);
    if (code == 0 && problems != 0) {
        code = err_set(err, ERR_SYNTAX, "the backup is damaged");
    }
    db_close(&d, true);
    return code;
}

static int make_empty_folder(const char *dir, struct err *err) {
    if (mkdir(dir, 0700) == 0) {
        return 0;
    }
    DIR *d = errno == EEXIST ? opendir(dir) : NULL;
    if (d == NULL) {
        return err_sys(err, errno, "cannot make %s", dir);
    }
    size_t n = 0;
    while (readdir(d)) {
        n++;
    }
    closedir(d);
    return n <= 2 ? 0 : err_set(err, ERR_EXISTS, "%s is not empty", dir); /* "." and ".." */
}

int store_restore(const char *file, const char *dir, struct err *err) {
    char part[STORE_PATH_MAX], path[STORE_PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/berth.db", dir) >= STORE_PATH_MAX ||
        snprintf(part, sizeof(part), "%s/part.db", dir) >= STORE_PATH_MAX) {
        return err_set(err, ERR_TOO_LARGE, "the path is too long");
    }
    int code = make_empty_folder(dir, err);
    if (code != 0) {
        return code;
    }
    code = copy_file(file, part, err);
    if (code == 0) {
        code = check_copy(part, err);
        code = code ? code : publish(part, path, err);
        if (code != 0) {
            (void)err_wrap(err, "%s", file);
        }
    }
    if (code != 0) {
        static const char *const left[] = {"", "-wal", "-shm", "-journal"};
        for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
            char name[STORE_PATH_MAX + 16];
            snprintf(name, sizeof(name), "%s%s", part, left[i]);
            (void)unlink(name);
        }
    }
    return code;
}

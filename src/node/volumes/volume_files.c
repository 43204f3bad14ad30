/* volume_files: see volume_files.h. */
#include "node/volumes/volume_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SNAPSHOTS ".snapshots"
#define PART ".part"
#define GONE ".gone"

enum { STRAYS_TOLD = 20, HANDLE_MAX = 200 };

static void remove_next(struct volume_files *f);

bool volume_handle_good(struct str h) {
    return h.n > 0 && h.n <= HANDLE_MAX && h.p[0] != '.' && path_plain(h);
}

/* "<handle>" or ".snapshots/<handle>", below DATA/volumes. */
static bool place_of(enum volume_place place, struct str handle, char out[300]) {
    int n = snprintf(out, 300, "%s%.*s", place == VOLUME_SNAPSHOT ? SNAPSHOTS "/" : "",
                     STR_ARG(handle));
    return volume_handle_good(handle) && n > 0 && n < 300;
}

static int bad(struct str handle, struct err *err) {
    return err_set(err, ERR_INVALID, "\"%.*s\" is no name of a volume", STR_ARG(handle));
}

static int make_own(int dir, const char *name, struct err *err) {
    if (mkdirat(dir, name, 0700) == -1 && errno != EEXIST) {
        return err_sys(err, errno, "volumes/%s", name);
    }
    return 0;
}

/* ---- removing ---- */

static void on_removed(void *ctx, int pid, int64_t status, int signal) {
    struct volume_files *f = ctx;
    (void)pid;
    loop_child_free(f->remover);
    f->remover = NULL;
    if (status != 0 || signal != 0) {
        log_warn(f->log,
                 "volumes: what was deleted could not be removed whole from %s/" GONE
                 "; it is tried again at the next start",
                 f->path);
        return;
    }
    remove_next(f);
}

static bool first_in(int dir, const char *folder, char out[256]) {
    int fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd != -1 ? fdopendir(fd) : NULL;
    struct dirent *e;
    bool found = false;
    while (d != NULL && !found && (e = readdir(d)) != NULL) {
        found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                str_copy(str_of(e->d_name), out, 256);
    }
    if (d != NULL) {
        closedir(d);
    } else if (fd != -1) {
        close(fd);
    }
    return found;
}

static void remove_next(struct volume_files *f) {
    char name[256], path[PATH_LEN + 300];
    struct err err;
    if (f->remover != NULL || !first_in(f->dir, GONE, name)) {
        return;
    }
    snprintf(path, sizeof(path), "%s/" GONE "/%s", f->path, name);
    const char *argv[] = {"rm", "-rf", "--one-file-system", "--", path, NULL};
    const struct child_options o = {
        .file = "/bin/rm", .argv = argv, .fds = {-1, -1, -1}, .n_fds = 3};
    if (loop_spawn(f->loop, &o, on_removed, f, &f->remover, &err) != 0) {
        log_warn(f->log, "volumes: %s", err.text);
    }
}

static void drop_limit(struct volume_files *f, const char *from) {
    int fd = openat(f->dir, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd != -1) {
        volume_quota_clear(&f->quota, fd);
        close(fd);
    }
}

static int retire(struct volume_files *f, const char *from, struct str handle, struct err *err) {
    char to[400];
    drop_limit(f, from);
    for (int i = 0; i < 1000; i++) {
        snprintf(to, sizeof(to), GONE "/%u-%.*s", f->gone++, STR_ARG(handle));
        if (renameat2(f->dir, from, f->dir, to, RENAME_NOREPLACE) == 0) {
            remove_next(f);
            return 0;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return errno == ENOENT ? 0 : err_sys(err, errno, "volumes/%s", from);
}

int volume_files_retire(struct volume_files *f, enum volume_place place, struct str handle,
                        struct err *err) {
    char from[300];
    return place_of(place, handle, from) ? retire(f, from, handle, err) : bad(handle, err);
}

/* ---- life ---- */

int volume_files_init(struct volume_files *f, struct loop *l, struct log *log, const char *data_dir,
                      struct err *err) {
    char name[256], part[300];
    *f = (struct volume_files){.loop = l, .log = log, .dir = -1};
    int r = path_join(f->path, data_dir, "volumes", err);
    r = r ? r : dir_make(f->path, 0700, err);
    if (r) {
        return r;
    }
    f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (f->dir == -1) {
        return err_sys(err, errno, "%s", f->path);
    }
    volume_quota_init(&f->quota, f->dir, f->log);
    r = make_own(f->dir, SNAPSHOTS, err);
    r = r ? r : make_own(f->dir, PART, err);
    r = r ? r : make_own(f->dir, GONE, err);
    while (r == 0 && first_in(f->dir, PART, name)) { /* a copy that a stop cut off */
        snprintf(part, sizeof(part), PART "/%s", name);
        r = retire(f, part, str_of(name), err);
    }
    if (r == 0) {
        remove_next(f);
    }
    return r;
}

void volume_files_release(struct volume_files *f) {
    if (f->copier != NULL) {
        loop_child_kill(f->copier, SIGKILL);
        loop_child_free(f->copier);
    }
    if (f->remover != NULL) {
        loop_child_free(f->remover); /* what it removes is gone for good: it may go on */
    }
    f->copier = f->remover = NULL;
    if (f->dir > 0) {
        close(f->dir);
    }
    f->dir = -1;
}

/* ---- volumes ---- */

static int open_place(const struct volume_files *f, enum volume_place place, struct str handle) {
    char name[300];
    if (!place_of(place, handle, name)) {
        errno = EINVAL;
        return -1;
    }
    return openat(f->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

bool volume_files_has(const struct volume_files *f, enum volume_place place, struct str handle) {
    int fd = open_place(f, place, handle);
    if (fd != -1) {
        close(fd);
    }
    return fd != -1;
}

static int own(int fd, gid_t gid) {
    if (gid != 0 && fchown(fd, 0, gid) == -1) {
        return -1;
    }
    return fchmod(fd, gid != 0 ? 02770 : 0700);
}

int volume_files_make(const struct volume_files *f, struct str handle, gid_t gid, struct err *err) {
    char name[300];
    if (!place_of(VOLUME_FOLDER, handle, name)) {
        return bad(handle, err);
    }
    if (mkdirat(f->dir, name, 0700) == -1 && errno != EEXIST) {
        return err_sys(err, errno, "volumes/%s", name);
    }
    int fd = open_place(f, VOLUME_FOLDER, handle);
    int r = fd == -1 || own(fd, gid) == -1 ? err_sys(err, errno, "volumes/%s", name) : 0;
    if (fd != -1) {
        close(fd);
    }
    return r;
}

bool volume_files_hold(struct volume_files *f, struct str handle, uint64_t bytes) {
    int fd = f->quota.on ? open_place(f, VOLUME_FOLDER, handle) : -1;
    bool held = fd != -1 && volume_quota_hold(&f->quota, fd, bytes);
    if (fd != -1) {
        close(fd);
    }
    return held;
}

/* ---- copies ---- */

static void on_copied(void *ctx, int pid, int64_t status, int signal) {
    struct volume_files *f = ctx;
    char from[300], to[300];
    struct err err = {0};
    (void)pid;
    loop_child_free(f->copier);
    f->copier = NULL;
    snprintf(from, sizeof(from), PART "/%s", f->part);
    bool ok = status == 0 && signal == 0 && place_of(f->part_place, str_of(f->part), to) &&
              renameat2(f->dir, from, f->dir, to, RENAME_NOREPLACE) == 0;
    if (!ok) {
        log_warn(f->log, "volumes: a copy to %s failed (status %lld, signal %d)", f->part,
                 (long long)status, signal);
        (void)retire(f, from, str_of(f->part), &err);
    }
    f->copied(f->copied_ctx, ok);
}

bool volume_files_busy(const struct volume_files *f) {
    return f->copier != NULL;
}

int volume_files_copy(struct volume_files *f, enum volume_place from, struct str source,
                      enum volume_place to, struct str handle, void (*done)(void *ctx, bool ok),
                      void *ctx, struct err *err) {
    static const char *const argv[] = {
        "cp", "-a", "--reflink=auto", "-x", "--", "/proc/self/fd/3/.", "/proc/self/fd/4/", NULL};
    char part[300];
    if (f->copier != NULL) {
        return err_set(err, ERR_CONFLICT, "another copy is being made");
    }
    if (!volume_handle_good(handle) || !str_copy(handle, f->part, sizeof(f->part))) {
        return bad(handle, err);
    }
    int in = open_place(f, from, source), out = -1, r = 0;
    snprintf(part, sizeof(part), PART "/%s", f->part);
    if (in == -1) {
        return err_sys(err, errno, "%s \"%.*s\"", from == VOLUME_SNAPSHOT ? "snapshot" : "volume",
                       STR_ARG(source));
    }
    if ((mkdirat(f->dir, part, 0700) == -1 && errno != EEXIST) ||
        (out = openat(f->dir, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) == -1) {
        r = err_sys(err, errno, "volumes/%s", part);
    }
    if (r == 0 && to == VOLUME_FOLDER) { /* its limit comes when it is whole */
        (void)volume_quota_mark(&f->quota, out);
    }
    struct child_options o = {
        .file = "/bin/cp", .argv = argv, .fds = {-1, -1, 2, in, out}, .n_fds = 5};
    f->part_place = to;
    f->copied = done;
    f->copied_ctx = ctx;
    r = r ? r : loop_spawn(f->loop, &o, on_copied, f, &f->copier, err);
    close(in);
    if (out != -1) {
        close(out);
    }
    return r;
}

/* ---- strays ---- */

static unsigned tell_in(const struct volume_files *f, enum volume_place place, unsigned told,
                        bool (*known)(void *ctx, enum volume_place place, struct str handle),
                        void *ctx) {
    const char *folder = place == VOLUME_SNAPSHOT ? SNAPSHOTS : ".";
    int fd = openat(f->dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd != -1 ? fdopendir(fd) : NULL;
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.' || known(ctx, place, str_of(e->d_name))) {
            continue;
        }
        if (told++ < STRAYS_TOLD) {
            log_warn(f->log, "volumes: no object knows %s/%s/%s; it is kept", f->path, folder,
                     e->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    } else if (fd != -1) {
        close(fd);
    }
    return told;
}

void volume_files_tell_strays(const struct volume_files *f,
                              bool (*known)(void *ctx, enum volume_place place, struct str handle),
                              void *ctx) {
    unsigned told = tell_in(f, VOLUME_FOLDER, 0, known, ctx);
    told = tell_in(f, VOLUME_SNAPSHOT, told, known, ctx);
    if (told > STRAYS_TOLD) {
        log_warn(f->log, "volumes: and %u more that no object knows", told - STRAYS_TOLD);
    }
}

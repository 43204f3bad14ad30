/* files: see files.h. */
#include "node/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

int path_join(char out[PATH_LEN], const char *a, const char *b, struct err *err) {
    int n = snprintf(out, PATH_LEN, "%s/%s", a, b);

    return n < 0 || n >= PATH_LEN ? err_set(err, ERR_TOO_LARGE, "%s/%s: the path is too long", a, b)
                                  : 0;
}

bool path_plain(struct str name) {
    return name.n > 0 && name.n < 256 && str_find(name, '/') < 0 && str_find(name, 0) < 0 &&
           !str_is(name, ".") && !str_is(name, "..");
}

int file_load(const char *dir, const char *name, struct arena *a, struct str *ret,
              struct err *err) {
    char path[PATH_LEN];
    struct stat st;
    size_t n = 0;

    if (path_join(path, dir, name, err)) {
        return ERR_TOO_LARGE;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd == -1) {
        return errno == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s: not there", path)
                               : err_sys(err, errno, "%s", path);
    }
    char *p = NULL;
    int code = 0;
    if (fstat(fd, &st) == -1 || st.st_size > FILE_READ_MAX) {
        code = err_set(err, ERR_TOO_LARGE, "%s: too large", path);
    } else if ((p = arena_alloc(a, (size_t)st.st_size + 1)) == NULL) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    while (code == 0 && n < (size_t)st.st_size) {
        ssize_t k = read(fd, p + n, (size_t)st.st_size - n);
        if (k == -1 && errno != EINTR) {
            code = err_sys(err, errno, "%s", path);
        }
        if (k == 0) {
            break;
        }
        n += k > 0 ? (size_t)k : 0;
    }
    close(fd);
    if (code == 0) {
        p[n] = 0;
        *ret = str_from(p, n);
    }
    return code;
}

int file_load_json(const char *dir, const char *name, struct arena *a, yyjson_doc **ret,
                   struct err *err) {
    struct str text;
    struct err why;
    int code = file_load(dir, name, a, &text, err);

    if (code) {
        return code;
    }
    if (str_empty(str_trim(text))) {
        return err_set(err, ERR_SYNTAX, "%s/%s is empty", dir, name);
    }
    if (json_parse(a, text, ret, &why)) {
        return err_set(err, ERR_SYNTAX, "%s/%s is damaged (%.200s)", dir, name, why.text);
    }
    return 0;
}

int dir_make(const char *path, mode_t mode, struct err *err) {
    char parent[PATH_LEN];

    if (mkdir(path, mode) == 0 || errno == EEXIST) {
        return 0;
    }
    const char *slash = strrchr(path, '/');
    if (errno != ENOENT || slash == NULL || slash == path) {
        return err_sys(err, errno, "%s", path);
    }
    if (!str_copy(str_from(path, (size_t)(slash - path)), parent, sizeof(parent))) {
        return err_set(err, ERR_TOO_LARGE, "%s: the path is too long", path);
    }
    int code = dir_make(parent, mode, err);
    if (code == 0 && mkdir(path, mode) == -1 && errno != EEXIST) {
        code = err_sys(err, errno, "%s", path);
    }
    return code;
}

/* ---- removing a tree: by descriptor, as what is removed may still be a tenant's to turn into links ---- */

enum { REMOVE_DEPTH = 32, REMOVE_ROUNDS = 10000 };

struct removal {
    int top; /* what lies deeper than REMOVE_DEPTH is moved here first: descriptors are few, and folders may be deep */
    dev_t dev;
    unsigned moved;
};

static int remove_all_in(struct removal *r, int dir, int depth);

static int move_up(struct removal *r, int dir, const char *name) {
    char to[40];

    for (int i = 0; i < 1000; i++) {
        snprintf(to, sizeof(to), ".removed-%u", r->moved++);
        if (renameat(dir, name, r->top, to) == 0) {
            return 0;
        }
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) {
            return -1;
        }
    }
    return -1;
}

static int remove_folder(struct removal *r, int dir, const char *name, int depth) {
    struct stat st;

    if (depth >= REMOVE_DEPTH) {
        return move_up(r, dir, name);
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1) {
        return -1;
    }
    if (fstat(fd, &st) == -1 || st.st_dev != r->dev) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    return remove_all_in(r, fd, depth + 1) == -1 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}

/* Takes `dir`. All that can be removed is; -1 when anything was left. */
static int remove_all_in(struct removal *r, int dir, int depth) {
    DIR *d = fdopendir(dir);
    struct dirent *e;
    int result = 0, why = 0;

    if (d == NULL) {
        close(dir);
        return -1;
    }
    while ((e = readdir(d))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            unlinkat(dirfd(d), e->d_name, 0) == 0 || errno == ENOENT) {
            continue;
        }
        if ((errno != EISDIR && errno != EPERM) ||
            (remove_folder(r, dirfd(d), e->d_name, depth) == -1 && errno != ENOENT)) {
            result = -1;
            why = errno;
        }
    }
    closedir(d);
    errno = why;
    return result;
}

int dir_remove(const char *path, struct err *err) {
    return dir_remove_at(AT_FDCWD, path, err);
}

int dir_remove_at(int at, const char *path, struct err *err) {
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), result = 0;
    struct removal r = {.top = fd};
    struct stat st;
    unsigned before, rounds = 0;

    if (fd == -1 && (errno == ENOTDIR || errno == ELOOP)) {
        return unlinkat(at, path, 0) == -1 ? err_sys(err, errno, "%s: cannot be removed", path) : 0;
    }
    if (fd == -1 || fstat(fd, &st) == -1) {
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s: cannot be removed", path);
    }
    r.dev = st.st_dev;
    do {
        before = r.moved;
        int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        result = again == -1 ? -1 : remove_all_in(&r, again, 0);
    } while (result == 0 && r.moved != before && ++rounds < REMOVE_ROUNDS);
    int e = errno;
    close(fd);
    if (result == 0 && unlinkat(at, path, AT_REMOVEDIR) == -1 && errno != ENOENT) {
        result = -1;
        e = errno;
    }
    return result == -1 ? err_sys(err, e, "%s: cannot be removed", path) : 0;
}

static uid_t own_uid;
static gid_t own_gid;

static int own_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    return lchown(path, own_uid, own_gid);
}

int dir_own(const char *path, uid_t uid, gid_t gid, struct err *err) {
    own_uid = uid;
    own_gid = gid;
    if (nftw(path, own_one, 16, FTW_PHYS | FTW_MOUNT) == -1) {
        return err_sys(err, errno, "%s: cannot be given to user %u", path, (unsigned)uid);
    }
    return 0;
}

/* payload: see payload.h. */
#include "node/files/payload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_store.h"
#include "node/files/beneath.h"
#include "node/files/files.h"

#define DATA "..data"
#define DATA_NEW "..data_tmp"

enum { NAMES_TRIED = 100 };

int payload_add(struct payload *p, struct str path, struct str bytes, mode_t mode,
                struct err *err) {
    struct str rest = path, part;

    if (str_empty(path) || str_starts(path, STR("..")) || str_ends(path, STR("/")) ||
        path.n >= PATH_LEN) {
        return err_set(err, ERR_INVALID, "volume path \"%.*s\" is not allowed", STR_ARG(path));
    }
    while (str_next(&rest, '/', &part)) {
        if (!path_plain(part)) {
            return err_set(err, ERR_INVALID, "volume path \"%.*s\" is not allowed", STR_ARG(path));
        }
    }
    for (size_t i = 0; i < p->files.n; i++) {
        if (str_eq(p->files.v[i].path, path)) {
            p->files.v[i] = (struct payload_file){path, bytes, mode & 0777};
            return 0;
        }
    }
    if (p->files.n == PAYLOAD_FILES_MAX) {
        return err_set(err, ERR_INVALID, "a volume of more than %d files", PAYLOAD_FILES_MAX);
    }
    return payload_files_push(&p->files, (struct payload_file){path, bytes, mode & 0777})
               ? err_set(err, ERR_NOMEM, "no memory")
               : 0;
}

void payload_release(struct payload *p) {
    payload_files_release(&p->files);
}

static uint64_t mix(uint64_t h, uint64_t x) {
    return (h ^ x) * UINT64_C(0x100000001b3);
}

uint64_t payload_hash(const struct payload *p) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < p->files.n; i++) {
        const struct payload_file *f = &p->files.v[i];
        h = mix(mix(mix(h, str_hash(f->path)), str_hash(f->bytes)), f->mode);
        h = mix(h, f->bytes.n);
    }
    return mix(h, p->files.n);
}

/* ---- one version ---- */

/* In the folder that is open as `dir`, where nothing has its name. 0 or -1 with errno. */
static int write_file(int dir, const struct payload_file *f, struct payload_owner owner) {
    char text[PATH_LEN];
    ptrdiff_t slash = str_find_last(f->path, '/');
    struct str folder = str_head(f->path, slash < 0 ? 0 : (size_t)slash);

    str_copy(folder, text, sizeof(text));
    int at = beneath_make(dir, text, 0755, 0, 0);
    if (at == -1) {
        return -1;
    }
    str_copy(str_skip(f->path, slash < 0 ? 0 : (size_t)slash + 1), text, sizeof(text));
    int fd = openat(at, text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd == -1 || file_write_all(fd, f->bytes) == -1 ||
                    (owner.uid && fchown(fd, owner.uid, owner.gid) == -1) ||
                    fchmod(fd, f->mode) == -1
                ? -1
                : 0;
    int error = errno;
    if (fd != -1) {
        close(fd);
    }
    close(at);
    errno = error;
    return r;
}

static int open_folder(int at, const char *name) {
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The number of the version that counts; 0 for the first, or none. */
static unsigned long number_of(int dir) {
    char text[40];
    ssize_t n = readlinkat(dir, DATA, text, sizeof(text) - 1);
    uint64_t number = 0;

    return n > 2 && str_to_u64(str_from(text + 2, (size_t)n - 2), &number) && number < 1000000000
               ? (unsigned long)number
               : 0;
}

/* A new, empty folder for a version: its descriptor, or -1 with errno. */
static int make_version(int dir, char name[32]) {
    unsigned long number = number_of(dir);
    int made = -1;

    snprintf(name, 32, PAYLOAD_FIRST);
    made = mkdirat(dir, name, 0755);
    for (int i = 1; made == -1 && errno == EEXIST && i < NAMES_TRIED; i++) {
        snprintf(name, 32, "..%lu", number + (unsigned long)i);
        made = mkdirat(dir, name, 0755);
    }
    int fd = made == 0 ? open_folder(dir, name) : -1;
    if (fd != -1) {
        fchmod(fd, 0755);
    }
    return fd;
}

static int write_version(const struct payload *p, int dir, struct payload_owner owner,
                         char name[32]) {
    int fd = make_version(dir, name), r = fd == -1 ? -1 : 0;

    for (size_t i = 0; r == 0 && i < p->files.n; i++) {
        r = write_file(fd, &p->files.v[i], owner);
    }
    int error = errno;
    if (fd != -1) {
        close(fd);
    }
    if (r == -1 && fd != -1) {
        dir_remove_at(dir, name, NULL);
    }
    errno = error;
    return r;
}

/* ---- which one counts ---- */

static struct str first_part(struct str path) {
    ptrdiff_t slash = str_find(path, '/');

    return slash < 0 ? path : str_head(path, (size_t)slash);
}

static int link_names(const struct payload *p, int dir) {
    char name[256], to[300];

    for (size_t i = 0; i < p->files.n; i++) {
        str_copy(first_part(p->files.v[i].path), name, sizeof(name));
        snprintf(to, sizeof(to), DATA "/%s", name);
        if (symlinkat(to, dir, name) == -1 && errno != EEXIST) {
            return -1;
        }
    }
    return 0;
}

static int swap(int dir, const char *version) {
    unlinkat(dir, DATA_NEW, 0);
    return symlinkat(version, dir, DATA_NEW) == -1 ? -1 : renameat(dir, DATA_NEW, dir, DATA);
}

static bool is_meant(const struct payload *p, const char *name, const char *version, bool keep) {
    if (name[0] == '.' && name[1] == '.') {
        return !strcmp(name, DATA) || !strcmp(name, version) ||
               (keep && !strcmp(name, PAYLOAD_FIRST));
    }
    for (size_t i = 0; i < p->files.n; i++) {
        if (str_is(first_part(p->files.v[i].path), name)) {
            return true;
        }
    }
    return false;
}

static void clear_rest(const struct payload *p, int dir, const char *version, bool keep) {
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again == -1 ? NULL : fdopendir(again);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            !is_meant(p, e->d_name, version, keep)) {
            dir_remove_at(dir, e->d_name, NULL);
        }
    }
    if (d) {
        closedir(d);
    } else if (again != -1) {
        close(again);
    }
}

int payload_store(const struct payload *p, const char *path, struct payload_owner owner, bool keep,
                  struct err *err) {
    char version[32];
    int dir = beneath_root(path, O_RDONLY | O_DIRECTORY);

    if (dir == -1) {
        return err_sys(err, errno, "%s", path);
    }
    int code = write_version(p, dir, owner, version) == -1 || swap(dir, version) == -1 ||
                       link_names(p, dir) == -1
                   ? err_sys(err, errno, "%s", path)
                   : 0;
    if (code == 0) {
        clear_rest(p, dir, version, keep);
    }
    close(dir);
    return code;
}

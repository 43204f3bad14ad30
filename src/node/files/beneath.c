/* beneath: see beneath.h. */
#include "node/files/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

/* The next part that is a name; false at the end. *ret_bad: the path is refused, errno says why. */
static bool next_part(struct str *rest, char name[256], bool *ret_bad) {
    struct str part = {NULL, 0};

    *ret_bad = false;
    while (str_next(rest, '/', &part)) {
        if (part.n == 0 || str_is(part, ".")) {
            continue;
        }
        if (str_is(part, "..") || !str_copy(part, name, 256)) {
            errno = str_is(part, "..") ? EXDEV : ENAMETOOLONG;
            *ret_bad = true;
        }
        return !*ret_bad;
    }
    return false;
}

static int close_keeping_errno(int fd) {
    int e = errno;

    close(fd);
    errno = e;
    return -1;
}

/* One part below `dir`, which is no link. */
static int step(int dir, const char *name, int flags) {
    struct stat st;
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);

    if (fd != -1 && (flags & O_PATH) && (fstat(fd, &st) == -1 || S_ISLNK(st.st_mode))) {
        errno = ELOOP;
        return close_keeping_errno(fd);
    }
    return fd;
}

int beneath_walk(int dir, const char *path, int flags) {
    struct str rest = str_of(path);
    char name[256];
    bool bad;
    int fd = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    while (fd != -1 && next_part(&rest, name, &bad)) {
        int next = step(fd, name, O_PATH);
        close_keeping_errno(fd);
        fd = next;
    }
    if (fd != -1 && bad) {
        return close_keeping_errno(fd);
    }
    if (fd == -1 || flags == O_PATH) {
        return fd;
    }
    /* Again what is held already, for more than its name. */
    char again[40];
    snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
    int wanted = open(again, flags | O_CLOEXEC);
    close_keeping_errno(fd);
    return wanted;
}

/* Do all parts name something below? */
static bool goes_down(const char *path) {
    struct str rest = str_of(path);
    char name[256];
    bool bad;

    while (next_part(&rest, name, &bad)) {
    }
    return !bad;
}

int beneath_open(int dir, const char *path, int flags) {
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    if (!goes_down(path)) {
        return -1;
    }
    path += strspn(path, "/");
    int fd = (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
    /* A kernel before 5.6 has no such call, and walls around us may forbid what they do not know. */
    return fd == -1 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN)
               ? beneath_walk(dir, path, flags)
               : fd;
}

int beneath_root(const char *path, int flags) {
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = root != -1 ? beneath_open(root, path, flags) : -1;

    if (root != -1) {
        close_keeping_errno(root);
    }
    return fd;
}

/* Who may write to the folder above may have put another folder in the place of ours: what we give away is what we
 * made, or just like it. */
static bool just_made(int fd) {
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again != -1 ? fdopendir(again) : NULL;
    struct dirent *e;
    struct stat st;
    /* The group's bit comes from the folder above. */
    bool empty = d && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
                 (st.st_mode & 07777 & ~(mode_t)S_ISGID) == 0700;

    while (empty && (e = readdir(d))) {
        empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    }
    if (d) {
        closedir(d);
    } else if (again != -1) {
        close(again);
    }
    return empty;
}

static int make_step(int dir, const char *name, mode_t mode, uid_t uid, gid_t gid) {
    bool made = mkdirat(dir, name, 0700) == 0;

    if (!made && errno != EEXIST) {
        return -1;
    }
    int fd = step(dir, name, O_RDONLY | O_DIRECTORY);
    if (fd == -1 || !made) {
        return fd;
    }
    if (!just_made(fd)) {
        errno = EEXIST;
        return close_keeping_errno(fd);
    }
    return fchmod(fd, mode) == -1 || (uid && fchown(fd, uid, gid) == -1) ? close_keeping_errno(fd)
                                                                         : fd;
}

int beneath_make(int dir, const char *path, mode_t mode, uid_t uid, gid_t gid) {
    struct str rest = str_of(path);
    char name[256];
    bool bad;
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    while (fd != -1 && next_part(&rest, name, &bad)) {
        int next = make_step(fd, name, mode, uid, gid);
        close_keeping_errno(fd);
        fd = next;
    }
    return fd != -1 && bad ? close_keeping_errno(fd) : fd;
}

int beneath_bind(int source, int place) {
    char from[40], to[40];

    snprintf(from, sizeof(from), "/proc/self/fd/%d", source);
    snprintf(to, sizeof(to), "/proc/self/fd/%d", place);
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == -1 ? errno : 0;
}

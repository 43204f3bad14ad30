/* disk_walk: see disk_walk.h. */
#include "node/files/disk_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Of the first levels the descriptors are kept: a tenant who moves folders about below them loses the walk no more
     * than what it was in. */
    LEVELS_OPEN = 3,
    LEVELS_MAX = 1 << 18, /* deeper is not looked at */
    BLOCK = 512,          /* of st_blocks, whatever the file system has */
};

static DIR *open_dir(int at, const char *name, struct stat *ret) {
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd == -1 || fstat(fd, ret) == -1 ? NULL : fdopendir(fd);

    if (d == NULL && fd != -1) {
        close(fd);
    }
    return d;
}

void disk_walk_end(struct disk_walk *w) {
    if (w->at) {
        closedir(w->at);
    }
    for (size_t i = 0; i < w->above.n && i < LEVELS_OPEN; i++) {
        close(w->above.v[i].fd);
    }
    disk_levels_release(&w->above);
    w->at = NULL;
}

void disk_walk_begin(struct disk_walk *w, const char *path) {
    struct stat st;

    disk_walk_end(w);
    w->bytes = 0;
    w->at = open_dir(AT_FDCWD, path, &st);
    w->dev = w->at ? st.st_dev : 0;
}

static void descend(struct disk_walk *w, const char *name) {
    struct stat here, st;
    struct disk_level level = {.pos = telldir(w->at), .fd = -1};

    if (w->above.n >= LEVELS_MAX || fstat(dirfd(w->at), &here) == -1 ||
        disk_levels_room(&w->above, 1)) {
        return;
    }
    DIR *below = open_dir(dirfd(w->at), name, &st);
    if (below == NULL || st.st_dev != w->dev) {
        if (below) {
            closedir(below);
        }
        return;
    }
    level.ino = here.st_ino;
    if (w->above.n < LEVELS_OPEN) {
        level.fd = fcntl(dirfd(w->at), F_DUPFD_CLOEXEC, 0);
        if (level.fd == -1) {
            closedir(below);
            return;
        }
    }
    (void)disk_levels_push(&w->above, level); /* there is room */
    closedir(w->at);
    w->at = below;
}

/* Back to the folder above; where the one below has been moved meanwhile, to the next above whose descriptor was kept:
 * never to where it was moved. */
static void ascend(struct disk_walk *w) {
    bool moved = false;

    while (w->above.n) {
        struct disk_level l = w->above.v[--w->above.n];
        struct stat st;
        DIR *d = NULL;
        if (l.fd != -1) {
            d = open_dir(l.fd, ".", &st);
            close(l.fd);
        } else if (!moved) {
            d = open_dir(dirfd(w->at), "..", &st);
        }
        if (d && st.st_ino == l.ino && st.st_dev == w->dev) {
            seekdir(d, l.pos);
            closedir(w->at);
            w->at = d;
            return;
        }
        if (d) {
            closedir(d);
        }
        moved = true;
    }
    disk_walk_end(w);
}

unsigned disk_walk_on(struct disk_walk *w, unsigned steps) {
    unsigned n = 0;

    while (w->at && n < steps) {
        struct dirent *e = readdir(w->at);
        struct stat st;
        n++;
        if (e == NULL) {
            ascend(w);
        } else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                   fstatat(dirfd(w->at), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   st.st_dev == w->dev) {
            /* What has several names, as the files of package managers' caches have, counts once over all of them. */
            nlink_t names = S_ISDIR(st.st_mode) || st.st_nlink == 0 ? 1 : st.st_nlink;
            w->bytes += (uint64_t)st.st_blocks * BLOCK / names;
            if (S_ISDIR(st.st_mode)) {
                descend(w, e->d_name);
            }
        }
    }
    return n;
}

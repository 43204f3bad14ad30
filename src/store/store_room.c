/*
 * store_room: what still works on a full disk: deletions, ends and evictions, so that whoever fills the disk can be
 * taken off it.
 *
 * The WAL has room set aside past its end (blocks that the file owns and nobody else can take), and ordinary writes
 * stop before the file system's last MiB does: store_may refuses them when they are staged, so that what is left over
 * is written from what was set aside. berth.reserve is for the next start, which finds no WAL after an orderly end: it
 * is given up for the WAL then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/store_int.h"

enum {
    ROOM_BYTES = 1 << 20,    /* less room, and a disk is full */
    SET_ASIDE_MAX = 8 << 20, /* of the WAL; at most a part of the file system */
    SET_ASIDE_PART = 8,
    GROWTH_MAX = 128 << 10, /* by which objects may grow while the disk is full, all together */
    GROWTH_ONE_MAX = 4 << 10,
};

bool room_in(const struct statvfs *v, bool root) {
    return v->f_blocks == 0 ||
           (uint64_t)(root ? v->f_bfree : v->f_bavail) * v->f_frsize >= ROOM_BYTES;
}

bool room_left(const struct store *s) {
    struct statvfs v;

    return statvfs(s->path, &v) == -1 || room_in(&v, geteuid() == 0);
}

static int set_aside(const char *path, size_t bytes, int flags) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    int e = fd == -1 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == -1 ? errno : 0;

    if (fd != -1) {
        close(fd);
    }
    return e;
}

void room_keep(struct store *s) {
    char wal[STORE_PATH_MAX + 8], reserve[STORE_PATH_MAX + 16];
    struct statvfs v;

    if (s->mark.fd == -1 || statvfs(s->path, &v) == -1) { /* not in this folder */
        return;
    }
    size_t part = (size_t)((uint64_t)v.f_blocks * v.f_frsize / SET_ASIDE_PART);
    s->set_aside = part && part < SET_ASIDE_MAX ? part : SET_ASIDE_MAX;
    snprintf(wal, sizeof(wal), "%s-wal", s->path);
    snprintf(reserve, sizeof(reserve), "%.*s.reserve", (int)(strlen(s->path) - 3), s->path);
    if (set_aside(wal, s->set_aside, 0) == ENOSPC) {
        unlink(reserve);
        set_aside(wal, ROOM_BYTES, 0);
    } else if (room_left(s)) {
        set_aside(reserve, ROOM_BYTES, O_CREAT);
    }
}

/* Changes by which something ends: a Workload that is evicted, a pod that reports its end; and a node that says it
 * lives. */
static bool ends_something(const struct object *o, const struct object *now) {
    static const char *const kinds[] = {"Workload", "Pod", "Job", "Node", "Lease"};
    bool known = false;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        known |= !strcmp(o->kind->kind, kinds[i]);
    }
    return known && (!str_contains(o->json, STR("\"admission\":{")) ||
                     str_contains(now->json, STR("\"admission\":{")));
}

int store_may(void *store, enum change_type type, const struct object *o, const struct object *now,
              struct err *err) {
    struct store *s = store;

    if (!s->told_refusing || type == CHANGE_DELETED || (now && o->deleting_ns)) {
        return 0;
    }
    if (now && ends_something(o, now)) {
        size_t growth = o->json.n > now->json.n ? o->json.n - now->json.n : 0;
        if (growth <= GROWTH_ONE_MAX && s->grown + growth <= GROWTH_MAX) {
            s->grown += growth;
            return 0;
        }
    }
    return err_set(err, ERR_UNAVAILABLE,
                   "store: the disk is full: only deletions are written until there is room");
}

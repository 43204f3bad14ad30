/*
 * pods_disk: who fills the data disk is ended. When little room is left, what each pod wrote is measured, and the pod
 * with the most is evicted, one at a time: what it wrote goes with it once it is deleted.
 */
#include <ftw.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "node/pods_int.h"

enum {
    LOOK_S = 5,
    ROOM_PART = 20,      /* of the file system ... */
    ROOM_MIN = 2 << 20,  /* ... but at least this (the store refuses writes below 1 MiB) */
    ROOM_MAX = 1 << 30,  /* ... and at most this: less is little room */
    WROTE_PART = 16,     /* a pod that wrote less is not the one */
    ENTRIES_MAX = 50000, /* that are looked at a pod; who has more than that has enough of it */
};

static uint64_t wrote;
static unsigned looked;

static int add_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    wrote += type == FTW_F ? (uint64_t)st->st_blocks * 512 : 0;
    return ++looked >= ENTRIES_MAX;
}

static uint64_t written_by(const struct pod *p) {
    wrote = looked = 0;
    nftw(p->dir, add_entry, 16, FTW_PHYS | FTW_MOUNT);
    return looked >= ENTRIES_MAX ? UINT64_MAX : wrote;
}

static bool little_room(const struct pods *ps, uint64_t *ret_all) {
    struct statvfs v;

    if (statvfs(ps->o.data_dir, &v) == -1 || v.f_blocks == 0) { /* FUSE, 9p: not told */
        return false;
    }
    uint64_t all = (uint64_t)v.f_blocks * v.f_frsize, room = all / ROOM_PART;
    room = room < ROOM_MIN ? ROOM_MIN : room > ROOM_MAX ? ROOM_MAX : room;
    *ret_all = all;
    return (uint64_t)v.f_bavail * v.f_frsize < room;
}

void pods_watch_disk(struct pods *ps, int64_t now) {
    const struct map_entry *e;
    struct pod *worst = NULL;
    uint64_t most = 0, all;
    char why[200];

    if (now < ps->disk_mono) {
        return;
    }
    ps->disk_mono = now + LOOK_S * NS_PER_SEC;
    if (!little_room(ps, &all)) {
        return;
    }
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        uint64_t n = p->state == POD_RUNNING || p->state == POD_STARTING ? written_by(p) : 0;
        if (p->state == POD_STOPPING) {
            return; /* one is on its way out: what that gives comes first */
        }
        worst = n > most ? p : worst;
        most = n > most ? n : most;
    }
    if (worst && most >= all / WROTE_PART) {
        snprintf(why, sizeof(why),
                 "The node was low on disk space: the pod wrote the most of all, %s%llu MiB",
                 most == UINT64_MAX ? "in too many files to count, more than " : "",
                 (unsigned long long)((most == UINT64_MAX ? wrote : most) >> 20));
        pods_end(ps, str_of(worst->uid), "Evicted", why);
    }
}

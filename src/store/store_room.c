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

#include "store/store_private.h"

enum {
    ROOM_BYTES = 1 << 20,    /* less room, and a disk is full */
    SET_ASIDE_MAX = 8 << 20, /* of the WAL; at most a part of the file system */
    SET_ASIDE_PART = 8,
    GROWTH_MAX =
        128 << 10, /* by which the status of objects may grow while the disk is full, in all */
    GROWTH_ONE_MAX = 4 << 10,
    REST_MAX = 32 << 10, /* the same for what is not status: tenants write that too */
    REST_ONE_MAX = 64,
    DELETION_MAX = 1 << 10, /* by which an object may grow as its deletion begins */
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

/* What is said of an object, beside what was asked for and its metadata: its `status`, which tenants do not write. A
 * view of the object's own compact JSON, empty when there is none. */
static struct str status_of(const struct object *o) {
    struct str j = o->json;
    size_t from = 0;
    int depth = 0;

    for (size_t i = 0; i < j.n; i++) {
        char c = j.p[i];
        size_t at = i;
        if (c == '"') {
            for (i++; i < j.n && j.p[i] != '"'; i++) {
                i += j.p[i] == '\\';
            }
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (from && ((c == ',' && depth == 1) || depth == 0)) {
            return str_from(j.p + from, i - from);
        }
        if (c == '"' && depth == 1 && str_starts(str_skip(j, at), STR("\"status\":"))) {
            from = at;
        }
    }
    return (struct str){0};
}

static size_t more(size_t n, size_t than) {
    return n > than ? n - than : 0;
}

struct growth {
    size_t status, rest;
};

static struct growth growth_of(const struct object *o, const struct object *now) {
    size_t s = status_of(o).n, before = status_of(now).n;

    return (struct growth){more(s, before), more(o->json.n - s, now->json.n - before)};
}

bool room_frees(enum change_type type, const struct object *o, const struct object *now) {
    if (type == CHANGE_DELETED) {
        return true;
    }
    if (now == NULL || !o->deleting_ns) {
        return false;
    }
    /* The time of the deletion and who waits for it are written once. */
    return more(o->json.n, now->json.n) <= (now->deleting_ns ? 0 : DELETION_MAX);
}

/* Kinds of which something ends: a Workload that is evicted, a pod that reports its end; and a node that says it
 * lives. Nothing is admitted. */
static bool ends_something(const struct object *o, const struct object *now) {
    static const struct {
        const char *group, *kind;
    } rows[] = {{"kueue.x-k8s.io", "Workload"},
                {"", "Pod"},
                {"batch", "Job"},
                {"", "Node"},
                {"coordination.k8s.io", "Lease"}};
    bool known = false;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        known |= !strcmp(o->kind->kind, rows[i].kind) && !strcmp(o->kind->group, rows[i].group);
    }
    return known && (!str_contains(o->json, STR("\"admission\":{")) ||
                     str_contains(now->json, STR("\"admission\":{")));
}

/* A node's own object is its node's to write, whole. Of all others tenants write what is not status: what that grows
 * by, such as "suspend", has a small part of its own, so that nobody spends what evictions need. */
static bool may_grow(struct store *s, const struct object *o, struct growth g) {
    if (!strcmp(o->kind->kind, "Node")) {
        g = (struct growth){.status = g.status + g.rest};
    }
    if (g.status > GROWTH_ONE_MAX || s->grown + g.status > GROWTH_MAX || g.rest > REST_ONE_MAX ||
        s->grown_rest + g.rest > REST_MAX) {
        return false;
    }
    s->grown += g.status;
    s->grown_rest += g.rest;
    return true;
}

int store_may(void *store, enum change_type type, const struct object *o, const struct object *now,
              struct err *err) {
    struct store *s = store;

    if (!s->told_refusing || room_frees(type, o, now) ||
        (now && ends_something(o, now) && may_grow(s, o, growth_of(o, now)))) {
        return 0;
    }
    return err_set(err, ERR_UNAVAILABLE,
                   "store: the disk is full: only deletions are written until there is room");
}

/*
 * pods_disk: evicts the pod that fills the data disk. When little room is left, what pods that are over wrote goes
 * first, but
 * not their logs: nobody can read it any more. Then what each pod wrote is measured, a few files a tick, and the one
 * with the most is evicted, one at a time.
 */
#include <sys/statvfs.h>

#include "node/pods/pods_private.h"

enum {
    LOOK_S = 5,
    ROOM_PART = 20,     /* of the file system ... */
    ROOM_MIN = 2 << 20, /* ... but at least this (the store refuses writes below 1 MiB) */
    ROOM_MAX = 1 << 30, /* ... and at most this: less is little room */
    WROTE_PART = 16,    /* a pod that wrote less of the file system is not the one ... */
    WROTE_MIN =
        64 << 10, /* ... except below ROOM_MIN, where many small ones may have filled it together */
    EMPTY_TICK = 16, /* pods that are emptied a tick */
    STEPS = 5000,    /* entries that are looked at a tick, for all pods together */
    DECIDE_TICKS =
        120, /* then it is decided by what is known, though some have more files than could be seen */
};

static bool little_room(const struct disk_room *r) {
    uint64_t least = r->all / ROOM_PART;

    least = least < ROOM_MIN ? ROOM_MIN : least > ROOM_MAX ? ROOM_MAX : least;
    return r->all && r->free < least; /* FUSE, 9p: the size may not be told */
}

static bool may_be_evicted(const struct pod *p) {
    return p->state == POD_RUNNING || p->state == POD_STARTING || p->state == POD_STOPPING;
}

static void stop_measuring(struct pods *ps) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        disk_walk_end(&p->walk);
        p->walked = 0;
    }
    ps->disk_ticks = 0;
}

/* A few pods that are over a tick: removing may take long. */
static bool empty_some(struct pods *ps) {
    static const char *const folders[] = {"root", "layers"};
    const struct map_entry *e;
    char path[PATH_LEN];
    struct err err;
    unsigned n = 0;

    for (size_t i = 0; n < EMPTY_TICK && (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (p->state != POD_OVER || p->emptied || p->waiting_answer) {
            continue;
        }
        n++;
        p->emptied = true;
        disk_walk_end(&p->walk);
        for (size_t k = 0; k < sizeof(folders) / sizeof(folders[0]); k++) {
            if (path_join(path, p->dir, folders[k], &err) || dir_remove(path, &err)) {
                log_warn(ps->o.log, "pod %s: %s", p->uid, err.text);
            }
        }
    }
    return n > 0;
}

static bool one_leaves(const struct pods *ps) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        const struct pod *p = e->value;
        if (p->state == POD_STOPPING && p->evicted) {
            return true;
        }
    }
    return false;
}

static void begin_round(struct pods *ps) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (may_be_evicted(p) && p->walk.at == NULL) {
            disk_walk_begin(&p->walk, p->dir);
        }
    }
}

/* Each pod that is not through gets the same share. Returns how many are not through then. */
static unsigned measure(struct pods *ps, unsigned steps) {
    const struct map_entry *e;
    unsigned open = 0, left = 0;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        const struct pod *p = e->value;
        open += may_be_evicted(p) && p->walk.at;
    }
    for (size_t i = 0; open && (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (may_be_evicted(p) && p->walk.at) {
            disk_walk_on(&p->walk, steps / open + 1);
            p->walked = p->walk.at ? p->walked : p->walk.bytes;
            left += p->walk.at != NULL;
        }
    }
    return left;
}

/* The most that is known: of a walk that goes on, what it saw or what the one before did. */
static struct pod *largest(const struct pods *ps, uint64_t *ret) {
    const struct map_entry *e;
    struct pod *worst = NULL;

    *ret = 0;
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        uint64_t n = p->walk.bytes > p->walked ? p->walk.bytes : p->walked;
        if (may_be_evicted(p) && n > *ret) {
            worst = p;
            *ret = n;
        }
    }
    return worst;
}

static void evict(struct pods *ps, struct pod *p, uint64_t bytes) {
    char why[200];

    snprintf(why, sizeof(why),
             "The node was low on disk space: the pod wrote the most of all, %s%llu MiB",
             p->walk.at ? "at least " : "", (unsigned long long)(bytes >> 20));
    p->evicted = true;
    pods_end(ps, str_of(p->uid), "Evicted", why);
}

bool pods_disk_tick(struct pods *ps, const struct disk_room *r) {
    uint64_t most;

    if (!little_room(r)) {
        stop_measuring(ps);
        return false;
    }
    if (empty_some(ps) || one_leaves(ps)) {
        return true;
    }
    if (ps->disk_ticks++ == 0) {
        begin_round(ps);
    }
    if (measure(ps, STEPS) && ps->disk_ticks < DECIDE_TICKS) {
        return true;
    }
    struct pod *p = largest(ps, &most);
    if (p && most >= (r->free < ROOM_MIN ? WROTE_MIN : r->all / WROTE_PART)) {
        evict(ps, p, most);
    }
    ps->disk_ticks = 0;
    return false;
}

/* ---- limits of single pods ---- */

static void read_quota(struct pod *p) {
    struct arena a;
    yyjson_doc *doc;

    p->quota_known = true;
    if (!str_contains(p->obj->json, STR("sizeLimit")) &&
        !str_contains(p->obj->json, STR("ephemeral-storage"))) {
        return;
    }
    arena_init(&a, 32 << 20);
    if (object_tree(p->obj, &a, &doc, NULL) == 0) {
        p->quota = pod_quota_new(yyjson_doc_get_root(doc));
    }
    arena_release(&a);
}

/* As the kubelet says it. */
static void over_quota(struct pods *ps, struct pod *p, const struct pod_quota_part *part) {
    char why[400];

    if (part->volume[0]) {
        snprintf(why, sizeof(why),
                 "Usage of EmptyDir volume \"%s\" exceeds the limit of %llu bytes.", part->volume,
                 (unsigned long long)part->most);
    } else {
        snprintf(
            why, sizeof(why),
            "Pod ephemeral local storage usage exceeds the total limit of containers, %llu bytes.",
            (unsigned long long)part->most);
    }
    p->evicted = true;
    pods_end(ps, str_of(p->uid), "Evicted", why);
}

void pods_hold_quotas(struct pods *ps) {
    const struct map_entry *e;
    uint64_t bytes;
    unsigned n = 0;

    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (!p->quota_known && p->obj && p->state == POD_RUNNING) {
            read_quota(p);
        }
        n += p->quota && p->state == POD_RUNNING;
    }
    for (size_t i = 0; n && (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (p->quota && p->state == POD_RUNNING) {
            const struct pod_quota_part *over =
                pod_quota_on(p->quota, p->dir, STEPS / n + 1, &bytes);
            if (over) {
                over_quota(ps, p, over);
            }
        } else if (p->quota && p->state == POD_OVER) {
            pod_quota_free(p->quota);
            p->quota = NULL;
        }
    }
}

void pods_watch_disk(struct pods *ps, int64_t now) {
    struct statvfs v;

    if (now < ps->disk_mono || statvfs(ps->o.data_dir, &v) == -1) {
        return;
    }
    struct disk_room r = {.all = (uint64_t)v.f_blocks * v.f_frsize,
                          .free = (uint64_t)v.f_bavail * v.f_frsize};
    bool soon = pods_disk_tick(ps, &r);
    ps->disk_mono = soon ? now : now + LOOK_S * NS_PER_SEC;
}

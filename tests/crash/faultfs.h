/*
 * faultfs: an SQLite VFS whose files are in memory and whose power can fail.
 *
 * Each file is what is durable plus the writes since its last sync. Calls are counted; at call `crash_at` the
 * power goes: that call and all later ones fail. faultfs_power_on then decides what of the unsynced writes
 * survived. Separately call `fail_at` can fail (once or from then on), and the disk has a size. Used by one
 * thread at a time.
 */
#ifndef BERTH_TESTS_CRASH_FAULTFS_H
#define BERTH_TESTS_CRASH_FAULTFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"

enum survival {
    SURVIVE_NOTHING, /* of what was not synced */
    SURVIVE_SUBSET,  /* each write by chance */
    SURVIVE_TORN,    /* the first so many writes, the last of them cut at a sector */
    SURVIVE_ALL,
    SURVIVALS,
};

struct faultfs {
    uint64_t calls; /* that change something: write, sync, truncate, delete, create */
    uint64_t reads;
    uint64_t crash_at; /* of calls; 0: never */
    uint64_t fail_at;  /* of calls + reads; 0: never */
    bool fail_forever;
    uint64_t disk_bytes;     /* 0: no limit */
    bool dead, failed, full; /* what has happened */
};

extern struct faultfs faultfs;

int faultfs_register(void); /* as "fault"; once */
void faultfs_reset(void);   /* an empty disk */
void faultfs_power_on(enum survival s, struct prng *r);
uint64_t faultfs_used(void); /* bytes of all files */

#endif

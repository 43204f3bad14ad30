/*
 * Power loss, failing calls and full disks under the store, at every call it makes of the disk.
 *
 *     crash-vfs-test [times]      times 1 (default): within a minute; more: as many seeds
 *
 * Each run is one life of the store over faultfs, ended by its fault; then a second life recovers from what the
 * disk kept, is judged by the witness, writes on, and a third one is judged again. Every fourth power loss is
 * followed by another one during recovery. A run's failure prints the line that repeats it.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "faultfs.h"
#include "life.h"

enum { ROUNDS = 14, WAL_SMALL = 48 << 10 };

enum fault { FAULT_CRASH, FAULT_ONCE, FAULT_FOREVER, FAULT_FULL, FAULT_MEMORY };

struct run {
    uint64_t seed, at;
    enum fault fault;
    enum survival survival;
    bool nosync;
};

static char dir[PATH_MAX];
static struct witness witness;
static uint64_t runs, recoveries;
static bool hit; /* the last run's fault came */

static struct store_options options(const struct run *run) {
    return (struct store_options){
        .dir = dir, .vfs = "fault", .wal_bytes = WAL_SMALL, .unsafe_nosync = run->nosync};
}

static void set_fault(const struct run *run) {
    if (run->fault == FAULT_CRASH) {
        faultfs.crash_at = run->at;
    } else if (run->fault == FAULT_FULL) {
        faultfs.disk_bytes = run->at;
    } else if (run->fault != FAULT_MEMORY) {
        faultfs.fail_at = run->at;
        faultfs.fail_forever = run->fault == FAULT_FOREVER;
    }
}

static void live(struct life *l, const struct run *run, struct prng *r, int rounds) {
    for (int i = 0; i < rounds && !l->stopped; i++) {
        if (run->fault == FAULT_MEMORY && i == rounds / 2) {
            mem_fault(run->at, 0);
        }
        life_writes(l, r);
        if (prng_below(r, 4)) {
            life_settle(l);
        }
    }
    hit = hit || mem_fault_hit();
    mem_fault(0, 0);
    life_settle(l);
}

/* A life after the fault: what it finds is judged. NULL or what is wrong. */
static const char *judge(struct life *l, const struct run *run) {
    static char text[700];
    struct err err = {0};
    int code = life_begin(l, options(run), &err);
    if (code != 0) {
        snprintf(text, sizeof(text), "recovery failed: %s", err.text);
        return text;
    }
    recoveries++;
    const char *wrong = witness_check(&witness, l->m);
    if (wrong) {
        life_end(l);
        return wrong;
    }
    witness_rebase(&witness, l->m);
    return NULL;
}

/* A recovery that is itself cut off by a power loss. */
static void crash_again(struct life *l, const struct run *run, struct prng *r) {
    faultfs.crash_at = prng_below(r, 30) + 1;
    if (life_begin(l, options(run), NULL) == 0) {
        life_end(l);
    }
    faultfs_power_on(run->survival, r);
}

/* After a full disk has room again, the same store takes writes. */
static const char *room_again(struct life *l, struct prng *r) {
    faultfs.disk_bytes = 0;
    uint64_t acks = witness.acks;
    life_writes(l, r);
    life_settle(l);
    bool takes = !l->stopped && witness.acks > acks;
    return takes ? NULL : "a store with room again does not take writes";
}

static const char *one_run(const struct run *run) {
    struct prng r;
    prng_seed(&r, run->seed);
    faultfs_reset();
    memset(&witness, 0, sizeof(witness));
    struct life l = {.w = &witness};
    const char *wrong = NULL;
    set_fault(run);
    hit = false;
    if (life_begin(&l, options(run), NULL) == 0) {
        live(&l, run, &r, ROUNDS);
        hit = hit || faultfs.full;
        if (run->fault == FAULT_FULL) {
            wrong = room_again(&l, &r);
        }
        life_end(&l);
    }
    hit = hit || faultfs.dead || faultfs.failed || faultfs.full;
    faultfs_power_on(run->survival, &r);
    if (run->fault == FAULT_CRASH && prng_below(&r, 4) == 0) {
        crash_again(&l, run, &r);
    }
    wrong = wrong ? wrong : judge(&l, run);
    if (wrong) {
        return wrong;
    }
    live(&l, &(struct run){.fault = FAULT_CRASH}, &r, 3);
    wrong = l.stopped ? "the store stopped without a fault" : NULL;
    life_end(&l);
    faultfs_power_on(SURVIVE_NOTHING, &r);
    wrong = wrong ? wrong : judge(&l, run);
    if (wrong == NULL) {
        life_end(&l);
    }
    runs++;
    return wrong;
}

/* Runs; a failure is printed and ends the test, unless it is wanted. */
static bool try(struct run run, bool wanted) {
    const char *wrong = one_run(&run);
    if (wrong && !wanted) {
        printf("not ok - %s: fault %d at %llu, survival %d, seed %llu\n", wrong, run.fault,
               (unsigned long long)run.at, run.survival, (unsigned long long)run.seed);
        exit(1);
    }
    return wrong != NULL;
}

/* Every call from the first to the last, until the fault does not come any more; `step` skips some. */
static uint64_t sweep(struct run run, uint64_t step) {
    for (run.at = 1;; run.at += step) {
        (void)try(run, false);
        if (!hit) {
            return run.at;
        }
    }
}

static void test_power(uint64_t seed) {
    uint64_t calls = 0;
    for (int s = 0; s < SURVIVALS; s++) {
        calls = sweep((struct run){.seed = seed, .fault = FAULT_CRASH, .survival = s}, 1);
    }
    printf("ok - power loss at each of %llu calls, %d ways of surviving\n",
           (unsigned long long)calls, SURVIVALS);
}

static void test_failures(uint64_t seed) {
    uint64_t once =
        sweep((struct run){.seed = seed, .fault = FAULT_ONCE, .survival = SURVIVE_ALL}, 1);
    (void)sweep((struct run){.seed = seed, .fault = FAULT_ONCE, .survival = SURVIVE_NOTHING}, 3);
    (void)sweep((struct run){.seed = seed, .fault = FAULT_FOREVER, .survival = SURVIVE_SUBSET}, 2);
    printf("ok - each of %llu calls fails, once and for ever\n", (unsigned long long)once);
}

/* Sizes around every page of the file and the WAL, and around the last sectors. */
static void test_full(uint64_t seed) {
    struct run run = {.seed = seed, .fault = FAULT_FULL};
    uint64_t n = 0, full = 0;
    static const int around[] = {-1, 0, 1, 24, 25, 512, 2048};
    for (uint64_t page = 10; page < 60; page++) {
        for (size_t i = 0; i < sizeof(around) / sizeof(*around); i++) {
            run.at = page * 4096 + (uint64_t)(int64_t)around[i];
            run.survival = n % SURVIVALS;
            (void)try(run, false);
            full += hit;
            n++;
        }
    }
    printf("ok - a full disk in %llu sizes (%llu were reached)\n", (unsigned long long)n,
           (unsigned long long)full);
    if (full == 0) {
        exit(1);
    }
}

static void test_memory(uint64_t seed) {
    uint64_t n = sweep((struct run){.seed = seed, .fault = FAULT_MEMORY}, 1);
    printf("ok - each of %llu allocations of the writes fails\n", (unsigned long long)n);
}

/* The harness must see what it is for: without syncs, a power loss loses acknowledged writes. */
static void test_harness(void) {
    struct run run = {.seed = 1, .fault = FAULT_CRASH, .survival = SURVIVE_NOTHING, .nosync = true};
    uint64_t found = 0;
    for (run.at = 60; run.at < 100; run.at += 5) {
        found += try(run, true);
    }
    if (found == 0) {
        printf("not ok - a store that never syncs passes\n");
        exit(1);
    }
    printf("ok - a store that never syncs is found out (%llu of 8)\n", (unsigned long long)found);
}

int main(int argc, char **argv) {
    const char *shm = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(dir, sizeof(dir), "%s/berth-vfs-XXXXXX", shm);
    int64_t times = 1;
    if ((argc > 1 && !str_to_i64(str_of(argv[1]), &times)) || mkdtemp(dir) == NULL ||
        faultfs_register() != 0) {
        return 2;
    }
    test_harness();
    for (int64_t seed = 1; seed <= times; seed++) {
        test_power((uint64_t)seed);
        test_failures((uint64_t)seed);
        test_full((uint64_t)seed);
        test_memory((uint64_t)seed);
    }
    faultfs_reset();
    printf("# %llu runs, %llu recoveries\n", (unsigned long long)runs,
           (unsigned long long)recoveries);
    char lock[PATH_MAX + 8];
    snprintf(lock, sizeof(lock), "%s/lock", dir);
    (void)unlink(lock);
    (void)rmdir(dir);
    return 0;
}

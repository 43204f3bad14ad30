/*
 * store: the durable log of a mirror, in one SQLite file.
 *
 * It keeps the newest state of every object and the revision counter: facts, not history. After a restart a watch that
 * asks for anything older than the recovered revision is answered "expired"; a deleted object never comes back, because
 * the deletion's revision is kept even when nothing else remembers it.
 *
 * One connection (WAL, synchronous=FULL), used by one thread at a time: the opener until store_recover has
 * returned, then the writer thread for everything: batches, checkpoints (only between batches, with a bound on
 * the WAL), backups. Batches that arrive while one is being written are joined into the next transaction.
 *
 *     store_open -> mirror_new(journal = store_journal) -> store_recover(store, mirror) -> writes
 *     -> store_close -> mirror_free
 *
 * What can go wrong with a batch:
 *   - the disk is full, or memory is out: the transaction is rolled back, it and every batch submitted before the
 *     mirror was told fail, and the store goes on; it accepts writes again when there is space;
 *   - anything else (a failed write or fsync, a damaged file): never retried. Everything pending fails, later
 *     submits fail too, and `failed` is called once on the loop thread: the process shall end and recover.
 *
 * A file that has less than was written is not taken in silence: see known_revision.
 *
 * Objects of kinds that `find_kind` does not know stay in the file untouched and are reported by store_recover.
 */
#ifndef BERTH_STORE_STORE_H
#define BERTH_STORE_STORE_H

#include "mirror/mirror.h"

struct store;

struct store_options {
    const char *dir; /* data folder, made (0700) when missing: berth.db, berth.db-wal, lock */

    /* The kind of rows (group, plural); NULL when unknown. Called only inside store_recover. */
    const struct kind *(*find_kind)(void *ctx, struct str group, struct str plural);
    void *find_kind_ctx;
    /* A kind whose objects say what other kinds there are: they are recovered before any other kind is looked up, then
     * first_loaded is called. NULL: none. */
    const struct kind *first;
    int (*first_loaded)(void *ctx, struct mirror *m, struct err *err);

    /* Runs fn(arg) soon on the loop thread; called from the writer thread: loop_post fits. Retried while it fails. */
    int (*post)(void *ctx, void (*fn)(void *arg), void *arg);
    void *post_ctx;

    /* The store has stopped for good (see above). On the loop thread, at most once, after the pending writes failed. */
    void (*failed)(void *ctx, const struct err *err);
    void *failed_ctx;
    /* Writes are refused for now, because the disk is full or memory is out (err says which), or no more (NULL): a
     * while after the last that failed, when the file system has a MiB of room. On the loop thread, at each change. */
    void (*refuses)(void *ctx, const struct err *err);
    void *refuses_ctx;

    /* A revision that somebody saw on disk (0: nobody). A database that ends before it, or before the store's own mark
     * (berth.mark, see store_mark.c), is refused by store_open or store_recover with ERR_IO, and nothing is changed. */
    uint64_t known_revision;
    /* It is taken as it is instead, and revisions go on after the one that is known */
    bool accept_loss;

    /* For tests; zero for everyone else. */
    const char *vfs; /* name of a registered SQLite VFS; NULL: the default */
    /* synchronous=OFF: loses writes at power loss; proves that the crash tests can see it */
    bool unsafe_nosync;
    size_t wal_bytes; /* checkpoint beyond this; 0: 2 MiB */
};

/* Opens or creates. ERR_UNAVAILABLE when another process holds the folder (the text names its pid), ERR_UNSUPPORTED for
 * a file of a newer version or another program, ERR_IO. */
int store_open(const struct store_options *o, struct store **ret, struct err *err);

struct journal *store_journal(struct store *s);

struct store_recovered {
    uint64_t objects;         /* loaded into the mirror */
    uint64_t unknown_objects; /* kept in the file, of kinds nobody knows */
    uint64_t revision;        /* the mirror's revision now; history starts here */
    char unknown_kinds[256];  /* "foos.example.com, ..." cut with "..." */
    /* Kept in the file, but not loaded: nested deeper than is read (LIMIT_JSON_DEPTH), by a program that let them in.
     * Who creates one of the name replaces it. */
    uint64_t too_deep;
    char too_deep_names[256]; /* "configmaps team/a, ..." cut with "..." */
};
/* Fills an empty mirror and starts the writer thread. Once, before the first write. ret may be NULL. A failure leaves
 * the mirror half filled: free both. */
int store_recover(struct store *s, struct mirror *m, struct store_recovered *ret, struct err *err);

/* For mirror_options.may. While `refuses` holds, only deletions are taken, changes by which what is being deleted does
 * not grow, and small changes by which Workloads, Jobs and pods end, and a Node and a Lease live: there is room set
 * aside for them. What their statuses grow by is bounded by one budget, and the rest of them, which tenants may write,
 * by a smaller one of its own. */
int store_may(void *store, enum change_type type, const struct object *obj,
              const struct object *now, struct err *err);

/* Writes what was submitted, tells the mirror, stops the thread, checkpoints, closes. On the loop thread, after the
 * last submit; the mirror must still be alive. NULL is a no-op. Later runs of posted functions are harmless. */
void store_close(struct store *s);

struct store_stats {
    uint64_t batches; /* transactions committed */
    uint64_t writes;  /* changes in them */
    uint64_t failed;  /* transactions rolled back */
    uint64_t checkpoints;
    uint64_t wal_bytes; /* now */
    uint64_t commit_ns; /* spent in transactions, in all */
    uint64_t commit_ns_max;
    bool stopped;
};
void store_stats(struct store *s, struct store_stats *ret);

/* Copies the store to `path` (which must not exist) while it runs: a few pages between batches, consistent at the end,
 * synced, then renamed into place. done comes once on the loop thread with 0 or an error. One at a time:
 * ERR_TOO_MANY. */
int store_backup(struct store *s, const char *path,
                 void (*done)(void *ctx, int code, const struct err *err), void *ctx,
                 struct err *err);

/* Offline: checks the backup `file` (integrity, program, version) and makes data folder `dir` from it. ERR_EXISTS when
 * dir is there and not empty. */
int store_restore(const char *file, const char *dir, struct err *err);

#endif

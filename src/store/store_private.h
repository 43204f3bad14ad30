/*
 * store_private: declarations shared by the files of the store. Not for other rooms.
 *
 * db (store_db.c) is the SQLite file: one connection and what is prepared on it, used by one thread at a time.
 * store.c has the queue between the loop thread and the writer thread.
 */
#ifndef BERTH_STORE_STORE_PRIVATE_H
#define BERTH_STORE_STORE_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/statvfs.h>

#include "base/vec.h"
#include "store/store.h"

enum {
    STORE_APP_ID = 0x42525448, /* "BRTH" in the header of the file */
    STORE_VERSION = 2,
    STORE_PAGE = 4096,
    STORE_PATH_MAX = 4096,
};

/* A row of the table `kinds`. */
struct db_kind {
    int64_t id;
    char *group, *plural;
    const struct kind *kind; /* NULL: not known, or not looked up yet */
};
VEC(db_kinds, struct db_kind);

enum db_stmt {
    DB_BEGIN,
    DB_COMMIT,
    DB_ROLLBACK,
    DB_INSERT,
    DB_UPDATE,
    DB_DELETE,
    DB_REVISION,
    DB_KIND,
    DB_STMTS
};

struct db {
    sqlite3 *h;
    sqlite3_stmt *stmts[DB_STMTS];
    struct db_kinds kinds;
    size_t kinds_before; /* at the begin of the transaction: a rollback forgets the rest */
    int wal_frames;      /* in the WAL after the last commit */
};

struct db_options {
    const char *path, *vfs;
    bool nosync;
    bool offline; /* must exist; nothing is made or changed in it */
};

int db_open(struct db *d, const struct db_options *o, struct err *err);
void db_close(struct db *d, bool checkpoint);
/* One transaction of these changes, in order. *ret_final: the failure is not the kind that may pass (see store.h). */
int db_begin(struct db *d, struct err *err, bool *ret_final);
int db_put(struct db *d, const struct change *c, struct err *err, bool *ret_final);
int db_commit(struct db *d, const struct change *last, struct err *err, bool *ret_final);
void db_rollback(struct db *d, bool *final);
/* Moves the WAL into the file. A full disk is no error: it is tried again later. */
int db_checkpoint(struct db *d, struct err *err);
int db_recover(struct db *d, const struct store_options *o, struct mirror *m,
               struct store_recovered *ret, struct err *err);
int db_error(struct db *d, int rc, const char *what, struct err *err, bool *ret_final);
/* Runs a statement that gives one integer. */
int db_int(struct db *d, const char *sql, int64_t *ret, struct err *err);

/* Writes the revision counter, in a transaction of its own. */
int db_set_revision(struct db *d, uint64_t revision, struct err *err);

/* store_room.c */
/* What is kept for root is there for root alone. A file system that does not tell how large it is (FUSE and 9p may
 * report 0 blocks) has room: the write itself tells when it has none. */
bool room_in(const struct statvfs *v, bool root);
bool room_left(const struct store *s);
/* Whether a change is a deletion, or what is left of one: an object that is being deleted and does not grow. */
bool room_frees(enum change_type type, const struct object *o, const struct object *now);
void room_keep(struct store *s); /* sets room aside, as far as there is any; again is harmless */

/* store_mark.c: the newest revision known to be durable. Failures to write it are none: it is behind, then. */
struct mark {
    int fd; /* -1: none */
    uint64_t revision;
};
void mark_open(struct mark *m, const char *dir);
void mark_write(struct mark *m, uint64_t revision); /* only after a synced commit */
void mark_close(struct mark *m);
/* Before the database is opened, which would make a missing one; and with the revision that it was found to have. */
int mark_check_file(const struct store *s, struct err *err);
int mark_check_revision(struct store *s, uint64_t *revision, struct err *err);

/* store_backup.c: an online copy, step by step on the writer thread. */
struct backup {
    char path[STORE_PATH_MAX], part[STORE_PATH_MAX];
    void (*done)(void *ctx, int code, const struct err *err);
    void *ctx;
    sqlite3 *to;
    sqlite3_backup *copy;
    int code;
    struct err err;
    /* The copy has its name, or has failed: set with the store's lock held, then the loop frees it */
    bool finished;
};
bool backup_step(struct backup *b,
                 struct db *from); /* true: it was the last, code and err are set */
void backup_cancel(struct backup *b);
int sync_folder(const char *dir, struct err *err);

/* Of the writes that were submitted together. */
struct store_batch {
    struct store_batch *next;
    uint64_t id;
    int code;         /* once done */
    uint64_t failure; /* which one, when code != 0 */
    struct err *err;  /* NULL, or the text of the failure, owned by the store */
    bool frees;       /* each of the changes does (room_frees) */
    size_t n;
    struct change changes[]; /* with a reference of each obj */
};

struct store_wake;

struct store {
    struct journal journal;
    struct store_options o;
    char path[STORE_PATH_MAX];
    int lock_fd;
    size_t set_aside; /* bytes of the WAL that need no room */
    size_t grown,
        grown_rest; /* loop thread: by so much statuses, and the rest, grew since the disk is full */
    struct mark mark; /* the writer thread's, as db */
    uint64_t known;   /* what the database must have at least */
    struct mirror *m;
    struct db db; /* the writer thread's, while there is one */
    pthread_t thread;
    bool threaded;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t work;
    struct store_batch *queue, **queue_last; /* to write */
    struct store_batch *done, **done_last;   /* to tell the mirror */
    bool closing;
    bool stopped; /* for good */
    bool told;    /* of that */
    bool failing; /* a batch failed and the mirror has not been told yet: all after it fail too */
    uint64_t failure; /* counts them */
    struct err err;   /* of the last one */
    bool refusing;    /* it may pass, and has not yet */
    bool told_refusing;
    int64_t looked; /* mono ns: when it was looked for room, or something failed */
    struct backup *backup;
    struct store_wake *wake;
    struct store_stats stats;
};

#endif

/*
 * store: the data folder, the queue, the writer thread, and the way back to the loop. See store.h.
 *
 * A batch goes from `queue` (loop thread) through one transaction (writer thread) to `done`, and from there to
 * the mirror (loop thread). After a failure nothing that the mirror built on the failed batch may be written:
 * from that moment until the mirror is being told, everything queued goes to `done` as failed. `failure` counts
 * failures, so that the report of an earlier one does not end a later one.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/store_private.h"

enum {
    GROUP_CHANGES = 4096, /* at most so many in one transaction */
    WAL_BYTES =
        2 << 20, /* small: a checkpoint, which holds up the batch behind it, is then short */
    WAL_IDLE_FRAMES = 64, /* worth a checkpoint when there is nothing else to do */
    IDLE_MS = 200,
};

#define LOOK_NS NS_PER_SEC /* between two looks for it */

/* What a posted call holds on to: it may run after the store is gone. */
struct store_wake {
    struct store *s; /* NULL: closed */
    bool posted;
};

static int64_t mono_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* ---- the loop thread ---- */

static void free_batch(struct store_batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        object_unref(b->changes[i].obj);
    }
    mem_free(b);
}

static struct store_batch *take_done(struct store *s) {
    pthread_mutex_lock(&s->lock);
    struct store_batch *b = s->done;
    s->done = NULL;
    s->done_last = &s->done;
    pthread_mutex_unlock(&s->lock);
    return b;
}

static void tell_mirror(struct store *s, struct store_batch *b) {
    struct err err = {0};
    if (b->code != 0) {
        pthread_mutex_lock(&s->lock);
        err = s->err;
        /* from here on, what comes is not built on the failed batch any more */
        s->failing = s->failing && (s->stopped || b->failure != s->failure);
        pthread_mutex_unlock(&s->lock);
    }
    mirror_journal_done(s->m, b->id, b->code, b->code ? &err : NULL);
}

static void tell_backup(struct store *s) {
    pthread_mutex_lock(&s->lock);
    struct backup *b = s->backup && s->backup->finished ? s->backup : NULL;
    s->backup = b ? NULL : s->backup;
    pthread_mutex_unlock(&s->lock);
    if (b) {
        b->done(b->ctx, b->code, b->code ? &b->err : NULL);
        mem_free(b);
    }
}

static void deliver(struct store *s) {
    for (struct store_batch *b = take_done(s), *next; b; b = next) {
        next = b->next;
        tell_mirror(s, b);
        free_batch(b);
    }
    tell_backup(s);
    pthread_mutex_lock(&s->lock);
    bool tell = s->stopped && !s->told;
    s->told = s->told || tell;
    struct err err = s->err;
    bool refusing = s->refusing, changed = refusing != s->told_refusing;
    s->told_refusing = refusing;
    s->grown = changed ? 0 : s->grown;
    s->grown_rest = changed ? 0 : s->grown_rest;
    pthread_mutex_unlock(&s->lock);
    if (changed && s->o.refuses) {
        s->o.refuses(s->o.refuses_ctx, refusing ? &err : NULL);
    }
    if (tell && s->o.failed) {
        s->o.failed(s->o.failed_ctx, &err);
    }
}

static void wake_run(void *arg) {
    struct store_wake *w = arg;
    if (w->s == NULL) {
        mem_free(w);
        return;
    }
    pthread_mutex_lock(&w->s->lock);
    w->posted = false;
    pthread_mutex_unlock(&w->s->lock);
    deliver(w->s);
}

/* With the lock held. */
static void put_done(struct store *s, struct store_batch *b, int code) {
    b->code = code;
    b->failure = s->failure;
    b->next = NULL;
    *s->done_last = b;
    s->done_last = &b->next;
}

/* With the lock held. Asks the loop to deliver, unless it is asked already. */
static void wake(struct store *s) {
    while (!s->wake->posted && !s->closing) {
        if (s->o.post(s->o.post_ctx, wake_run, s->wake) == 0) {
            s->wake->posted = true;
            return;
        }
        pthread_mutex_unlock(&s->lock);
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
        pthread_mutex_lock(&s->lock);
    }
}

static int submit(struct journal *j, const struct change *changes, size_t n, uint64_t batch,
                  struct err *err) {
    struct store *s = (struct store *)j;
    struct store_batch *b = mem_alloc(sizeof(*b) + n * sizeof(*changes));
    if (b == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    assert(n > 0 && s->m);
    *b = (struct store_batch){.id = batch, .n = n, .frees = true};
    for (size_t i = 0; i < n; i++) {
        b->frees = b->frees && room_frees(changes[i].type, changes[i].obj, changes[i].old);
        b->changes[i] = (struct change){.type = changes[i].type, .obj = object_ref(changes[i].obj)};
    }
    pthread_mutex_lock(&s->lock);
    if (s->failing || s->stopped) {
        put_done(s, b, s->err.code);
        wake(s);
    } else {
        *s->queue_last = b;
        s->queue_last = &b->next;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    return 0;
}

struct journal *store_journal(struct store *s) {
    return &s->journal;
}

void store_stats(struct store *s, struct store_stats *ret) {
    pthread_mutex_lock(&s->lock);
    *ret = s->stats;
    ret->stopped = s->stopped;
    pthread_mutex_unlock(&s->lock);
}

int store_backup(struct store *s, const char *path,
                 void (*done)(void *ctx, int code, const struct err *err), void *ctx,
                 struct err *err) {
    struct backup *b = mem_zalloc(sizeof(*b));
    if (b == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    b->done = done;
    b->ctx = ctx;
    int n = snprintf(b->path, sizeof(b->path), "%s", path);
    int part = snprintf(b->part, sizeof(b->part), "%s.part", path);
    int code = 0;
    if (n >= STORE_PATH_MAX || part >= STORE_PATH_MAX) {
        code = err_set(err, ERR_TOO_LARGE, "the path is too long");
    } else if (access(path, F_OK) == 0) {
        code = err_set(err, ERR_EXISTS, "%s is there already", path);
    }
    pthread_mutex_lock(&s->lock);
    if (code == 0 && (s->stopped || !s->threaded)) {
        code = err_set(err, ERR_UNAVAILABLE, "the store is not running");
    } else if (code == 0 && s->backup) {
        code = err_set(err, ERR_TOO_MANY, "a backup is being made");
    } else if (code == 0) {
        s->backup = b;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (code != 0) {
        mem_free(b);
    }
    return code;
}

/* ---- the writer thread ---- */

/* Writes the batches as one transaction. */
static int write_group(struct db *d, const struct store_batch *group, struct err *err,
                       bool *ret_final) {
    int code = db_begin(d, err, ret_final);
    const struct change *last = NULL;
    for (const struct store_batch *b = group; b && code == 0; b = b->next) {
        for (size_t i = 0; i < b->n && code == 0; i++) {
            last = &b->changes[i];
            code = db_put(d, last, err, ret_final);
        }
    }
    code = code ? code : db_commit(d, last, err, ret_final);
    if (code != 0) {
        db_rollback(d, ret_final);
    }
    return code;
}

static uint64_t last_revision(const struct store_batch *group) {
    while (group->next) {
        group = group->next;
    }
    return group->changes[group->n - 1].obj->rv;
}

static bool only_frees(const struct store_batch *group) {
    while (group && group->frees) {
        group = group->next;
    }
    return group == NULL;
}

/* With the lock held: takes batches for one transaction off the queue. */
static struct store_batch *take_group(struct store *s) {
    struct store_batch *group = s->queue, **end = &s->queue;
    size_t n = 0;
    while (*end && (n == 0 || n + (*end)->n <= GROUP_CHANGES)) {
        n += (*end)->n;
        end = &(*end)->next;
    }
    s->queue = *end;
    s->queue_last = s->queue ? s->queue_last : &s->queue;
    *end = NULL;
    return group;
}

/* With the lock held. */
static void put_group(struct store *s, struct store_batch *group, int code) {
    for (struct store_batch *b = group, *next; b; b = next) {
        next = b->next;
        s->stats.writes += code ? 0 : b->n;
        put_done(s, b, code);
    }
}

/* With the lock held: the group (or NULL) has failed, and with it all that waits, for now or for good. */
static void fail(struct store *s, struct store_batch *group, const struct err *err, bool final) {
    s->err = *err;
    s->failing = true;
    s->failure++;
    s->stopped = s->stopped || final;
    s->refusing = !s->stopped;
    s->looked = mono_ns();
    s->stats.failed++;
    struct store_batch *rest = s->queue;
    s->queue = NULL;
    s->queue_last = &s->queue;
    put_group(s, group, err->code);
    put_group(s, rest, err->code);
}

/* With the lock held, which it lets go of while it writes. */
static void write_next(struct store *s) {
    struct store_batch *group = take_group(s);
    struct err err = {0};
    bool final = false;
    /* While writes are refused, store_may has looked at each. */
    bool ordinary = !s->refusing && !only_frees(group);
    pthread_mutex_unlock(&s->lock);
    int64_t start = mono_ns();
    int code = ordinary && !room_left(s) ? err_set(&err, ERR_UNAVAILABLE, "store: the disk is full")
                                         : write_group(&s->db, group, &err, &final);
    if (code == 0) {
        mark_write(&s->mark, last_revision(group));
    }
    uint64_t ns = (uint64_t)(mono_ns() - start);
    pthread_mutex_lock(&s->lock);
    if (code != 0) {
        fail(s, group, &err, final);
    } else {
        s->stats.batches++;
        s->stats.commit_ns += ns;
        s->stats.commit_ns_max = ns > s->stats.commit_ns_max ? ns : s->stats.commit_ns_max;
        put_group(s, group, 0);
    }
    wake(s);
}

/* With the lock held, which it lets go of. */
static void checkpoint(struct store *s) {
    struct err err = {0};
    pthread_mutex_unlock(&s->lock);
    int code = db_checkpoint(&s->db, &err);
    pthread_mutex_lock(&s->lock);
    s->stats.checkpoints++;
    if (code != 0) {
        fail(s, NULL, &err, true);
        wake(s);
    }
}

/* With the lock held, which it lets go of. */
static void copy_some(struct store *s) {
    struct backup *b = s->backup;
    pthread_mutex_unlock(&s->lock);
    bool last = backup_step(b, &s->db);
    pthread_mutex_lock(&s->lock);
    b->finished = last;
    if (last) {
        wake(s);
    }
}

static uint64_t wal_bytes(const struct store *s) {
    return (uint64_t)s->db.wal_frames * (STORE_PAGE + 24);
}

/* With the lock held, which it lets go of. Writes of one page may go on while larger ones fail, so one that went well
 * says nothing; room does. */
static void look_for_room(struct store *s) {
    int64_t now = mono_ns();
    if (!s->refusing || now - s->looked < LOOK_NS) {
        return;
    }
    s->looked = now;
    pthread_mutex_unlock(&s->lock);
    bool room = room_left(s);
    if (room) {
        room_keep(s);
    }
    pthread_mutex_lock(&s->lock);
    s->refusing = !room;
    if (room) {
        wake(s);
    }
}

/* With the lock held: waits for something to do; true when the WAL may be written back meanwhile. */
static bool wait_for_work(struct store *s) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += IDLE_MS * NS_PER_MS;
    t.tv_sec += t.tv_nsec / NS_PER_SEC;
    t.tv_nsec %= NS_PER_SEC;
    bool frames = s->db.wal_frames >= WAL_IDLE_FRAMES;
    if (!frames && !s->refusing) {
        pthread_cond_wait(&s->work, &s->lock);
        return false;
    }
    return pthread_cond_timedwait(&s->work, &s->lock, &t) == ETIMEDOUT && frames;
}

static void *writer(void *arg) {
    struct store *s = arg;
    uint64_t bound = s->o.wal_bytes ? s->o.wal_bytes : WAL_BYTES;
    pthread_mutex_lock(&s->lock);
    while (!s->stopped && (s->queue || !s->closing)) {
        if (s->queue) {
            write_next(s);
        } else if (s->backup == NULL || s->backup->finished) {
            if (wait_for_work(s) && s->queue == NULL) {
                checkpoint(s);
            }
        }
        if (!s->stopped && s->backup && !s->backup->finished) {
            copy_some(s);
        }
        size_t most = s->refusing && s->set_aside / 2 < bound ? s->set_aside / 2 : bound;
        if (!s->stopped && wal_bytes(s) > most) {
            checkpoint(s);
        }
        s->stats.wal_bytes = wal_bytes(s);
        look_for_room(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- opening and closing ---- */

int sync_folder(const char *dir, struct err *err) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) {
        return err_sys(err, errno, "cannot open %s", dir);
    }
    int code = fsync(fd) == -1 ? err_sys(err, errno, "cannot sync %s", dir) : 0;
    close(fd);
    return code;
}

static void read_holder(int fd, char pid[32]) {
    ssize_t n = pread(fd, pid, 31, 0);
    n = n > 0 ? n : 0;
    while (n > 0 && (pid[n - 1] == '\n' || pid[n - 1] == ' ')) {
        n--;
    }
    pid[n] = 0;
}

/* Takes the folder for this process until the descriptor is closed. */
static int lock_folder(const char *dir, int *ret_fd, struct err *err) {
    char path[STORE_PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/lock", dir) >= (int)sizeof(path)) {
        return err_set(err, ERR_TOO_LARGE, "the path of the data folder is too long");
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1) {
        return err_sys(err, errno, "cannot open %s", path);
    }
    char pid[32];
    if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
        int e = errno;
        read_holder(fd, pid);
        close(fd);
        return e == EWOULDBLOCK
                   ? err_set(err, ERR_UNAVAILABLE, "data folder %s is in use by process %s", dir,
                             pid[0] ? pid : "(unknown)")
                   : err_sys(err, e, "cannot lock %s", path);
    }
    /* In place: a start on a full disk needs no block for this. */
    int n = snprintf(pid, sizeof(pid), "%-20ld\n", (long)getpid());
    if (pwrite(fd, pid, (size_t)n, 0) != n || ftruncate(fd, n) == -1) {
        int e = errno;
        close(fd);
        return err_sys(err, e, "cannot write %s", path);
    }
    *ret_fd = fd;
    return 0;
}

static int init_threads(struct store *s) {
    pthread_condattr_t a;
    if (pthread_mutex_init(&s->lock, NULL) != 0 || pthread_condattr_init(&a) != 0) {
        return ERR_NOMEM;
    }
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    int rc = pthread_cond_init(&s->work, &a);
    pthread_condattr_destroy(&a);
    return rc ? ERR_NOMEM : 0;
}

static struct store *new_store(const struct store_options *o) {
    struct store *s = mem_zalloc(sizeof(*s));
    struct store_wake *w = s ? mem_zalloc(sizeof(*w)) : NULL;
    if (w == NULL || init_threads(s) != 0) {
        mem_free(w);
        mem_free(s);
        return NULL;
    }
    s->journal.submit = submit;
    s->o = *o;
    s->o.dir = NULL; /* the caller's: not kept */
    s->lock_fd = -1;
    s->mark.fd = -1;
    s->queue_last = &s->queue;
    s->done_last = &s->done;
    s->wake = w;
    w->s = s;
    return s;
}

int store_open(const struct store_options *o, struct store **ret, struct err *err) {
    struct store *s = new_store(o);
    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    int code = 0;
    if (mkdir(o->dir, 0700) == -1 && errno != EEXIST) {
        code = err_sys(err, errno, "cannot make data folder %s", o->dir);
    }
    if (code == 0 && snprintf(s->path, sizeof(s->path), "%s/berth.db", o->dir) >= STORE_PATH_MAX) {
        code = err_set(err, ERR_TOO_LARGE, "the path of the data folder is too long");
    }
    code = code ? code : lock_folder(o->dir, &s->lock_fd, err);
    if (code == 0 && o->vfs == NULL &&
        !o->unsafe_nosync) { /* what such a store has is not durable, or not in this folder */
        mark_open(&s->mark, o->dir);
    }
    s->known = s->mark.revision > o->known_revision ? s->mark.revision : o->known_revision;
    code = code ? code : mark_check_file(s, err);
    mode_t old = umask(0077); /* what SQLite makes in the folder is nobody else's either */
    if (code == 0) {
        struct db_options d = {.path = s->path, .vfs = o->vfs, .nosync = o->unsafe_nosync};
        code = db_open(&s->db, &d, err);
    }
    umask(old);
    code = code ? code : sync_folder(o->dir, err);
    if (code != 0) {
        store_close(s);
        return code;
    }
    *ret = s;
    return 0;
}

int store_recover(struct store *s, struct mirror *m, struct store_recovered *ret, struct err *err) {
    assert(!s->threaded && !s->m);
    struct store_recovered r;
    int code = db_recover(&s->db, &s->o, m, &r, err);
    code = code ? code : mark_check_revision(s, &r.revision, err);
    if (code != 0) {
        return code;
    }
    mirror_set_revision(m, r.revision);
    if (ret) { /* no mark of this revision: what was recovered may not be synced before the next commit */
        *ret = r;
    }
    room_keep(s);
    s->m = m;
    int rc = pthread_create(&s->thread, NULL, writer, s);
    if (rc != 0) {
        return err_sys(err, rc, "cannot start the writer thread");
    }
    s->threaded = true;
    return 0;
}

static void end_backup(struct store *s) {
    struct backup *b = s->backup;
    if (b && !b->finished) {
        backup_cancel(b);
        b->finished = true;
    }
    tell_backup(s);
}

void store_close(struct store *s) {
    if (s == NULL) {
        return;
    }
    if (s->threaded) {
        pthread_mutex_lock(&s->lock);
        s->closing = true;
        pthread_cond_signal(&s->work);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
        s->threaded = false;
        end_backup(s);
        bool stopped = s->stopped;
        s->told = s->told || !stopped;
        s->failing = s->stopped = true; /* a callback that writes again is told so */
        (void)(stopped ? 0 : err_set(&s->err, ERR_UNAVAILABLE, "the store is closed"));
        do {
            deliver(s);
        } while (s->done);
        db_close(&s->db, !stopped);
    } else {
        db_close(&s->db, s->m != NULL); /* what was refused stays as it is, its WAL included */
    }
    mark_close(&s->mark);
    if (s->wake->posted) {
        s->wake->s = NULL;
    } else {
        mem_free(s->wake);
    }
    if (s->lock_fd != -1) {
        close(s->lock_fd);
    }
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

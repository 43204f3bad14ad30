/* faultfs: see faultfs.h. */
#include "faultfs.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"

enum { FILES = 16, SECTOR = 512 };

struct op {
    int64_t offset; /* -1: truncate to `n` */
    char *bytes;
    size_t n;
};
VEC(ops, struct op);

struct node {
    char name[300];
    bool exists, durable; /* now; after a power loss */
    struct buf now, synced;
    struct ops unsynced;
};

struct file {
    sqlite3_file base;
    struct node *node;
    bool delete_on_close;
    bool sync_folder; /* with its first sync, as SQLite does for new journals and WALs on Unix */
};

struct faultfs faultfs;
static struct node nodes[FILES];

static void apply(struct buf *b, const struct op *op) {
    size_t end = op->offset < 0 ? op->n : (size_t)op->offset + op->n;
    if (b->n < end) {
        size_t more = end - b->n;
        char *p = buf_room(b, more);
        assert(p);
        memset(p, 0, more);
        b->n = end;
    }
    if (op->offset < 0) {
        b->n = op->n;
    } else if (op->n) {
        memcpy(b->p + op->offset, op->bytes, op->n);
    }
}

static void drop_unsynced(struct node *n) {
    for (size_t i = 0; i < n->unsynced.n; i++) {
        free(n->unsynced.v[i].bytes);
    }
    n->unsynced.n = 0;
}

static void clear(struct node *n) {
    drop_unsynced(n);
    ops_release(&n->unsynced);
    buf_release(&n->now);
    buf_release(&n->synced);
    *n = (struct node){0};
}

void faultfs_reset(void) {
    for (int i = 0; i < FILES; i++) {
        clear(&nodes[i]);
    }
    faultfs = (struct faultfs){0};
}

uint64_t faultfs_used(void) {
    uint64_t n = 0;
    for (int i = 0; i < FILES; i++) {
        n += nodes[i].exists ? nodes[i].now.n : 0;
    }
    return n;
}

static void copy(struct buf *to, const struct buf *from) {
    buf_reset(to);
    buf_add(to, from->p, from->n);
    assert(buf_ok(to) == 0);
}

/* What a power loss leaves of one file. */
static void survive(struct node *n, enum survival s, struct prng *r) {
    size_t keep = n->unsynced.n;
    if (s == SURVIVE_NOTHING) {
        keep = 0;
    } else if (s == SURVIVE_TORN && keep) {
        keep = prng_below(r, keep) + 1;
    }
    for (size_t i = 0; i < keep; i++) {
        struct op op = n->unsynced.v[i];
        if (s == SURVIVE_SUBSET && prng_below(r, 2)) {
            continue;
        }
        if (s == SURVIVE_TORN && i + 1 == keep && op.offset >= 0) {
            op.n = prng_below(r, op.n / SECTOR + 1) * SECTOR;
        }
        apply(&n->synced, &op);
    }
    drop_unsynced(n);
    copy(&n->now, &n->synced);
    if (!n->durable && s != SURVIVE_ALL && (s == SURVIVE_NOTHING || prng_below(r, 2))) {
        clear(n);
    } else {
        n->exists = n->exists || n->durable;
        n->durable = n->exists;
    }
}

void faultfs_power_on(enum survival s, struct prng *r) {
    for (int i = 0; i < FILES; i++) {
        if (nodes[i].name[0]) {
            survive(&nodes[i], s, r);
        }
    }
    faultfs.dead = faultfs.failed = faultfs.full = false;
    faultfs.crash_at = faultfs.fail_at = faultfs.calls = faultfs.reads = faultfs.disk_bytes = 0;
}

/* Counts a call; true when it must fail. */
static bool fails(bool changes) {
    changes ? faultfs.calls++ : faultfs.reads++;
    if (faultfs.dead) {
        return true;
    }
    if (faultfs.fail_at && faultfs.calls + faultfs.reads >= faultfs.fail_at) {
        bool now = !faultfs.failed || faultfs.fail_forever;
        faultfs.failed = true;
        return now;
    }
    if (changes && faultfs.crash_at && faultfs.calls >= faultfs.crash_at) {
        faultfs.dead = true; /* what the caller was about to do is under way when the power goes */
    }
    return false;
}

static int record(struct node *n, struct op op) {
    apply(&n->now, &op);
    if (op.offset >= 0) {
        char *bytes = malloc(op.n ? op.n : 1);
        assert(bytes);
        memcpy(bytes, op.bytes, op.n);
        op.bytes = bytes;
    }
    int code = ops_push(&n->unsynced, op);
    assert(code == 0);
    return faultfs.dead ? SQLITE_IOERR : SQLITE_OK;
}

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 offset) {
    struct node *node = ((struct file *)f)->node;
    if (fails(true)) {
        return SQLITE_IOERR_WRITE;
    }
    struct op op = {.offset = offset, .bytes = (char *)(uintptr_t)p, .n = (size_t)n};
    size_t end = (size_t)offset + (size_t)n;
    if (faultfs.disk_bytes && end > node->now.n) {
        uint64_t room = faultfs.disk_bytes - faultfs_used(), more = end - node->now.n;
        if (more > room) { /* what fits is written */
            faultfs.full = true;
            op.n = op.n > more - room ? op.n - (more - room) : 0;
            (void)(op.n ? record(node, op) : 0);
            return SQLITE_FULL;
        }
    }
    return record(node, op);
}

static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 offset) {
    struct node *node = ((struct file *)f)->node;
    if (fails(false)) {
        return SQLITE_IOERR_READ;
    }
    size_t have = (size_t)offset < node->now.n ? node->now.n - (size_t)offset : 0;
    have = have < (size_t)n ? have : (size_t)n;
    memset(p, 0, (size_t)n);
    if (have) {
        memcpy(p, node->now.p + offset, have);
    }
    return have == (size_t)n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size) {
    if (fails(true)) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return record(((struct file *)f)->node, (struct op){.offset = -1, .n = (size_t)size});
}

static void remove_node(struct node *n, bool durable) {
    n->exists = false;
    if (durable || !n->durable) {
        clear(n);
    }
}

/* What was made is there, and what was deleted is gone, for good. */
static void sync_folder(void) {
    for (int i = 0; i < FILES; i++) {
        if (nodes[i].name[0] && !nodes[i].exists) {
            clear(&nodes[i]);
        }
        nodes[i].durable = nodes[i].exists;
    }
}

static int f_sync(sqlite3_file *f, int flags) {
    struct file *file = (struct file *)f;
    struct node *n = file->node;
    if (fails(true) || faultfs.dead) {
        return SQLITE_IOERR_FSYNC;
    }
    for (size_t i = 0; i < n->unsynced.n; i++) {
        apply(&n->synced, &n->unsynced.v[i]);
    }
    drop_unsynced(n);
    if (file->sync_folder) {
        file->sync_folder = false;
        sync_folder();
    }
    return SQLITE_OK;
}

static int f_size(sqlite3_file *f, sqlite3_int64 *ret) {
    *ret = (sqlite3_int64)((struct file *)f)->node->now.n;
    return SQLITE_OK;
}

static int f_lock(sqlite3_file *f, int level) {
    return SQLITE_OK;
}

static int f_reserved(sqlite3_file *f, int *ret) {
    *ret = 0;
    return SQLITE_OK;
}

static int f_control(sqlite3_file *f, int op, void *arg) {
    return SQLITE_NOTFOUND;
}

static int f_sector(sqlite3_file *f) {
    return 4096;
}

static int f_device(sqlite3_file *f) {
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* as on Linux */
}

static int f_close(sqlite3_file *f) {
    struct file *file = (struct file *)f;
    if (file->delete_on_close) {
        remove_node(file->node, true);
    }
    return SQLITE_OK;
}

static struct node *find(const char *name) {
    for (int i = 0; i < FILES; i++) {
        if (nodes[i].name[0] && strcmp(nodes[i].name, name) == 0) {
            return &nodes[i];
        }
    }
    return NULL;
}

static struct node *make(const char *name) {
    struct node *n = find(name);
    if (n == NULL) {
        for (int i = 0; i < FILES && n == NULL; i++) {
            n = nodes[i].name[0] ? NULL : &nodes[i];
        }
        assert(n && strlen(name) < sizeof(n->name));
        memcpy(n->name, name, strlen(name) + 1);
    }
    /* a file that was deleted without a sync and is made again: what was in it is gone for good */
    drop_unsynced(n);
    buf_reset(&n->now);
    buf_reset(&n->synced);
    n->exists = true;
    return n;
}

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags) {
    static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = f_close,
        .xRead = f_read,
        .xWrite = f_write,
        .xTruncate = f_truncate,
        .xSync = f_sync,
        .xFileSize = f_size,
        .xLock = f_lock,
        .xUnlock = f_lock,
        .xCheckReservedLock = f_reserved,
        .xFileControl = f_control,
        .xSectorSize = f_sector,
        .xDeviceCharacteristics = f_device,
    };
    struct file *file = (struct file *)f;
    *file = (struct file){0};
    const char *path = name ? name : "(temporary)";
    struct node *n = find(path);
    bool there = n && n->exists;
    if (fails(!there && (flags & SQLITE_OPEN_CREATE)) || faultfs.dead) {
        return SQLITE_CANTOPEN;
    }
    if (!there && !(flags & SQLITE_OPEN_CREATE)) {
        return SQLITE_CANTOPEN;
    }
    file->node = there ? n : make(path);
    file->delete_on_close = flags & SQLITE_OPEN_DELETEONCLOSE;
    file->sync_folder = !there && (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL));
    file->base.pMethods = &methods;
    if (ret_flags) {
        *ret_flags = flags;
    }
    return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *v, const char *name, int sync) {
    if (fails(true) || faultfs.dead) {
        return SQLITE_IOERR_DELETE;
    }
    struct node *n = find(name);
    if (n == NULL || !n->exists) {
        return SQLITE_IOERR_DELETE_NOENT;
    }
    remove_node(n, sync);
    return SQLITE_OK;
}

static int v_access(sqlite3_vfs *v, const char *name, int flags, int *ret) {
    struct node *n = find(name);
    *ret = n && n->exists;
    return SQLITE_OK;
}

static int v_path(sqlite3_vfs *v, const char *name, int n, char *out) {
    sqlite3_snprintf(n, out, "%s", name);
    return SQLITE_OK;
}

int faultfs_register(void) {
    static sqlite3_vfs vfs;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    vfs = *real;
    vfs.iVersion = 1;
    vfs.szOsFile = sizeof(struct file);
    vfs.pNext = NULL;
    vfs.zName = "fault";
    vfs.xOpen = v_open;
    vfs.xDelete = v_delete;
    vfs.xAccess = v_access;
    vfs.xFullPathname = v_path;
    return sqlite3_vfs_register(&vfs, 0);
}

/*
 * store_db: the SQLite file: its schema, one transaction a group of batches, checkpoints, recovery.
 *
 *     kinds(id, grp, plural)                one row a kind that ever had an object; a row is never changed
 *     objects(id, kind, ns, name, rv, json, sum)  the newest state of each object; unique by (kind, ns, name)
 *     meta(key, value)                      'revision': the newest revision that no row of objects has
 *
 * The last committed revision is the greatest of all rv and of meta's: it is written only where a transaction
 * ends with a deletion. The table has row ids and a separate index, because rows of a kilobyte in an index would
 * overflow its pages.
 *
 * `sum` is over the other columns: SQLite notices a broken page, but not a bit that turned inside a value. Version 1 of
 * the file had no such column; a row without is taken as it is, until it is written again.
 *
 * The connection holds the file exclusively, so the index of the WAL is in memory and no lock is taken per transaction.
 */
#include <assert.h>
#include <stdio.h>

#include "base/limits.h"
#include "store/store_private.h"

static const char schema[] =
    "BEGIN;"
    "CREATE TABLE kinds(id INTEGER PRIMARY KEY, grp TEXT NOT NULL, plural TEXT NOT NULL,"
    " UNIQUE(grp, plural));"
    "CREATE TABLE objects(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, ns TEXT NOT NULL,"
    " name TEXT NOT NULL, rv INTEGER NOT NULL, json BLOB NOT NULL, sum INTEGER);"
    "CREATE UNIQUE INDEX objects_key ON objects(kind, ns, name);"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('revision', 0);"
    "PRAGMA application_id = 1112691784;"
    "PRAGMA user_version = 2;"
    "COMMIT;";
static const char from_version_1[] = "BEGIN; ALTER TABLE objects ADD COLUMN sum INTEGER;"
                                     "PRAGMA user_version = 2; COMMIT;";
static_assert(STORE_VERSION == 2, "so do these two");
static_assert(STORE_APP_ID == 1112691784, "the schema says it in decimal");

static const char *const statements[DB_STMTS] = {
    [DB_BEGIN] = "BEGIN IMMEDIATE",
    [DB_COMMIT] = "COMMIT",
    [DB_ROLLBACK] = "ROLLBACK",
    [DB_INSERT] = "INSERT INTO objects(kind, ns, name, rv, json, sum)"
                  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [DB_UPDATE] = "UPDATE objects SET rv = ?4, json = ?5, sum = ?6"
                  " WHERE kind = ?1 AND ns = ?2 AND name = ?3",
    [DB_DELETE] = "DELETE FROM objects WHERE kind = ?1 AND ns = ?2 AND name = ?3",
    [DB_REVISION] = "UPDATE meta SET value = ?1 WHERE key = 'revision'",
    [DB_KIND] = "INSERT INTO kinds(grp, plural) VALUES(?1, ?2)",
};

/* What may pass: no space, no memory. All else ends the store. */
int db_error(struct db *d, int rc, const char *what, struct err *err, bool *ret_final) {
    int code = (rc & 0xff) == SQLITE_NOMEM  ? ERR_NOMEM
               : (rc & 0xff) == SQLITE_FULL ? ERR_UNAVAILABLE
                                            : ERR_IO;
    if (ret_final) {
        *ret_final = *ret_final || code == ERR_IO;
    }
    return err_set(err, code, "store: %s: %s (%d)", what,
                   code == ERR_UNAVAILABLE ? "the disk is full"
                   : d->h                  ? sqlite3_errmsg(d->h)
                                           : sqlite3_errstr(rc),
                   rc);
}

static int exec(struct db *d, const char *sql, struct err *err) {
    int rc = sqlite3_exec(d->h, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_error(d, rc, "cannot set up the file", err, NULL);
}

int db_int(struct db *d, const char *sql, int64_t *ret, struct err *err) {
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(d->h, sql, -1, &s, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(s);
    }
    if (rc == SQLITE_ROW) {
        *ret = sqlite3_column_int64(s, 0);
    }
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? 0 : db_error(d, rc, "cannot read the file", err, NULL);
}

/* Makes the schema in an empty file; otherwise the file must be ours and not from the future. */
static int check_schema(struct db *d, bool offline, struct err *err) {
    int64_t tables, app, version;
    int code = db_int(d, "SELECT count(*) FROM sqlite_schema", &tables, err);
    code = code ? code : db_int(d, "PRAGMA application_id", &app, err);
    code = code ? code : db_int(d, "PRAGMA user_version", &version, err);
    if (code != 0) {
        return code;
    }
    if (tables == 0 && app == 0 && version == 0 && !offline) {
        return exec(d, schema, err);
    }
    if (app != STORE_APP_ID) {
        return err_set(err, ERR_UNSUPPORTED, "store: the file is not Berth's");
    }
    if (version > STORE_VERSION || version < 1) {
        return err_set(err, ERR_UNSUPPORTED,
                       "store: the file has version %lld, this program knows version %d",
                       (long long)version, STORE_VERSION);
    }
    return version == 1 && !offline ? exec(d, from_version_1, err) : 0;
}

static int on_wal(void *ctx, sqlite3 *h, const char *name, int frames) {
    ((struct db *)ctx)->wal_frames = frames;
    return SQLITE_OK;
}

static int add_kind(struct db *d, int64_t id, struct str group, struct str plural,
                    const struct kind *k) {
    struct db_kind row = {
        .id = id, .group = mem_cstr(group), .plural = mem_cstr(plural), .kind = k};
    if (row.group == NULL || row.plural == NULL || db_kinds_push(&d->kinds, row) != 0) {
        mem_free(row.group);
        mem_free(row.plural);
        return ERR_NOMEM;
    }
    return 0;
}

static struct str column_str(sqlite3_stmt *s, int i) {
    const char *p = sqlite3_column_blob(s, i);
    return str_from(p, (size_t)sqlite3_column_bytes(s, i));
}

static int load_kinds(struct db *d, struct err *err) {
    sqlite3_stmt *s = NULL;
    int code = 0;
    int rc = sqlite3_prepare_v2(d->h, "SELECT id, grp, plural FROM kinds", -1, &s, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        code = add_kind(d, sqlite3_column_int64(s, 0), column_str(s, 1), column_str(s, 2), NULL);
        rc = code ? SQLITE_NOMEM : SQLITE_OK;
    }
    code = rc == SQLITE_DONE ? 0 : db_error(d, rc, "cannot read the kinds", err, NULL);
    sqlite3_finalize(s);
    return code;
}

static int prepare(struct db *d, struct err *err) {
    for (int i = 0; i < DB_STMTS; i++) {
        int rc = sqlite3_prepare_v3(d->h, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &d->stmts[i], NULL);
        if (rc != SQLITE_OK) {
            return db_error(d, rc, "cannot prepare a statement", err, NULL);
        }
    }
    return 0;
}

static int set_up(struct db *d, const struct db_options *o, struct err *err) {
    int code = exec(d,
                    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 4096;"
                    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                    "PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY;",
                    err);
    if (code == 0 && !o->offline) {
        code = exec(d,
                    "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                    "PRAGMA secure_delete = FAST; PRAGMA journal_size_limit = 67108864;",
                    err);
    }
    if (code == 0) {
        code = exec(d, o->nosync ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL", err);
    }
    code = code ? code : check_schema(d, o->offline, err);
    if (code != 0 || o->offline) {
        return code;
    }
    sqlite3_wal_hook(d->h, on_wal, d);
    code = load_kinds(d, err);
    return code ? code : prepare(d, err);
}

int db_open(struct db *d, const struct db_options *o, struct err *err) {
    *d = (struct db){0};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (o->offline ? 0 : SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(o->path, &d->h, flags, o->vfs);
    int code;
    if (rc != SQLITE_OK) {
        code = db_error(d, rc, "cannot open the file", err, NULL);
    } else {
        sqlite3_extended_result_codes(d->h, 1);
        code = set_up(d, o, err);
    }
    if (code != 0) {
        db_close(d, false);
    }
    return code;
}

static void forget_kinds(struct db *d, size_t keep) {
    while (d->kinds.n > keep) {
        struct db_kind *k = &d->kinds.v[--d->kinds.n];
        mem_free(k->group);
        mem_free(k->plural);
    }
}

void db_close(struct db *d, bool checkpoint) {
    for (int i = 0; i < DB_STMTS; i++) {
        sqlite3_finalize(d->stmts[i]);
    }
    if (d->h) {
        sqlite3_db_config(d->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !checkpoint, NULL);
        sqlite3_close(d->h);
    }
    forget_kinds(d, 0);
    db_kinds_release(&d->kinds);
    *d = (struct db){0};
}

/* ---- writing ---- */

/* Runs a statement that gives no rows. */
static int run(struct db *d, enum db_stmt which, const char *what, struct err *err,
               bool *ret_final) {
    int rc = sqlite3_step(d->stmts[which]);
    int code = rc == SQLITE_DONE ? 0 : db_error(d, rc, what, err, ret_final);
    sqlite3_reset(d->stmts[which]);
    return code;
}

int db_begin(struct db *d, struct err *err, bool *ret_final) {
    d->kinds_before = d->kinds.n;
    return run(d, DB_BEGIN, "cannot begin", err, ret_final);
}

static void bind_str(sqlite3_stmt *s, int i, struct str v) {
    sqlite3_bind_text(s, i, v.p ? v.p : "", (int)v.n, SQLITE_STATIC);
}

/* The id of a kind, from the rows that were read, or of a new row. */
static int kind_id(struct db *d, const struct kind *k, int64_t *ret, struct err *err,
                   bool *ret_final) {
    for (size_t i = 0; i < d->kinds.n; i++) {
        struct db_kind *row = &d->kinds.v[i];
        if (row->kind == k ||
            (strcmp(row->plural, k->plural) == 0 && strcmp(row->group, k->group) == 0)) {
            row->kind = k;
            *ret = row->id;
            return 0;
        }
    }
    bind_str(d->stmts[DB_KIND], 1, str_of(k->group));
    bind_str(d->stmts[DB_KIND], 2, str_of(k->plural));
    int code = run(d, DB_KIND, "cannot write", err, ret_final);
    if (code != 0) {
        return code;
    }
    *ret = sqlite3_last_insert_rowid(d->h);
    if (add_kind(d, *ret, str_of(k->group), str_of(k->plural), k) != 0) {
        return err_set(err, ERR_NOMEM, "store: out of memory");
    }
    return 0;
}

/* Not against an enemy, who would compute it too. */
static int64_t sum_of(int64_t kind, struct str ns, struct str name, uint64_t rv, struct str json) {
    const uint64_t parts[] = {str_hash(ns), str_hash(name), rv, str_hash(json)};
    uint64_t h = (uint64_t)kind;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        h = (h ^ parts[i]) * 0x9e3779b97f4a7c15ULL;
        h ^= h >> 32;
    }
    return (int64_t)h;
}

int db_put(struct db *d, const struct change *c, struct err *err, bool *ret_final) {
    int64_t kind;
    int code = kind_id(d, c->obj->kind, &kind, err, ret_final);
    if (code != 0) {
        return code;
    }
    enum db_stmt which = c->type == CHANGE_ADDED      ? DB_INSERT
                         : c->type == CHANGE_MODIFIED ? DB_UPDATE
                                                      : DB_DELETE;
    sqlite3_stmt *s = d->stmts[which];
    sqlite3_bind_int64(s, 1, kind);
    bind_str(s, 2, c->obj->ns);
    bind_str(s, 3, c->obj->name);
    if (c->type != CHANGE_DELETED) {
        sqlite3_bind_int64(s, 4, (int64_t)c->obj->rv);
        sqlite3_bind_blob(s, 5, c->obj->json.p, (int)c->obj->json.n, SQLITE_STATIC);
        sqlite3_bind_int64(s, 6, sum_of(kind, c->obj->ns, c->obj->name, c->obj->rv, c->obj->json));
    }
    code = run(d, which, "cannot write", err, ret_final);
    if (code == 0 && sqlite3_changes(d->h) != 1) {
        *ret_final = true;
        return err_set(err, ERR_INTERNAL, "store: %s \"%.*s\" is in memory but not in the file",
                       c->obj->kind->plural, STR_ARG(c->obj->name));
    }
    return code;
}

int db_commit(struct db *d, const struct change *last, struct err *err, bool *ret_final) {
    if (last->type == CHANGE_DELETED) {
        sqlite3_bind_int64(d->stmts[DB_REVISION], 1, (int64_t)last->obj->rv);
        int code = run(d, DB_REVISION, "cannot write the revision", err, ret_final);
        if (code != 0) {
            return code;
        }
    }
    return run(d, DB_COMMIT, "cannot commit", err, ret_final);
}

int db_set_revision(struct db *d, uint64_t revision, struct err *err) {
    bool final = false;
    int code = db_begin(d, err, &final);
    sqlite3_bind_int64(d->stmts[DB_REVISION], 1, (int64_t)revision);
    code = code ? code : run(d, DB_REVISION, "cannot write the revision", err, &final);
    code = code ? code : run(d, DB_COMMIT, "cannot commit", err, &final);
    if (code != 0) {
        db_rollback(d, &final);
    }
    return code;
}

void db_rollback(struct db *d, bool *final) {
    forget_kinds(d, d->kinds_before);
    if (!sqlite3_get_autocommit(d->h)) {
        (void)run(d, DB_ROLLBACK, "cannot roll back", NULL, final);
    }
    *final = *final || !sqlite3_get_autocommit(d->h);
}

int db_checkpoint(struct db *d, struct err *err) {
    int frames = 0, moved = 0;
    int rc = sqlite3_wal_checkpoint_v2(d->h, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
    if (rc == SQLITE_OK && frames == moved) {
        d->wal_frames = 0; /* the next transaction starts the WAL from its beginning */
    }
    bool final = false;
    int code = rc == SQLITE_OK ? 0 : db_error(d, rc, "cannot checkpoint", err, &final);
    return final ? code : 0;
}

/* ---- recovery ---- */

/* Bytes of an older version of the API, taken to the storage version. */
static int convert(const struct kind *k, struct str json, struct object **ret, struct err *err) {
    struct arena a;
    arena_init(&a, 64 << 20);
    yyjson_mut_doc *doc;
    int code = json_parse_mut(&a, json, &doc, err);
    yyjson_mut_val *root = code ? NULL : yyjson_mut_doc_get_root(doc);
    struct str gv = code ? STR("") : json_mstr_at(root, "apiVersion");
    struct str version = str_skip(gv, (size_t)(str_find_last(gv, '/') + 1));
    for (size_t i = 0; code == 0 && i < k->n_versions; i++) {
        const struct kind_version *v = &k->versions[i];
        if (str_is(version, v->version) && v->to_storage) {
            code = v->to_storage(doc, root, err);
        }
    }
    code = code ? code : object_new_mut(k, root, ret, err);
    arena_release(&a);
    return code;
}

static bool is_storage_version(const struct kind *k, struct str json) {
    char start[256];
    int n = snprintf(start, sizeof(start), "{\"apiVersion\":\"%s%s%s\"", k->group,
                     k->group[0] ? "/" : "", k->versions[k->storage].version);
    return str_starts(json, str_from(start, (size_t)n));
}

static int load_row(const struct kind *k, sqlite3_stmt *s, struct mirror *m, struct err *err) {
    struct str json = column_str(s, 4);
    struct object *o;
    int code =
        is_storage_version(k, json) ? object_new(k, json, &o, err) : convert(k, json, &o, err);
    if (code != 0) {
        return err_wrap(err, "store: %s \"%.*s\"", k->plural, STR_ARG(column_str(s, 2)));
    }
    if (!str_eq(o->ns, column_str(s, 1)) || !str_eq(o->name, column_str(s, 2))) {
        object_unref(o);
        return err_set(err, ERR_SYNTAX, "store: %s \"%.*s\" has another name inside", k->plural,
                       STR_ARG(column_str(s, 2)));
    }
    o->rv = (uint64_t)sqlite3_column_int64(s, 3);
    return mirror_load(m, o, err);
}

static struct db_kind *row_kind(struct db *d, int64_t id) {
    for (size_t i = 0; i < d->kinds.n; i++) {
        if (d->kinds.v[i].id == id) {
            return &d->kinds.v[i];
        }
    }
    return NULL;
}

static int check_sum(sqlite3_stmt *s, struct err *err) {
    struct str ns = column_str(s, 1), name = column_str(s, 2), json = column_str(s, 4);
    int64_t sum =
        sum_of(sqlite3_column_int64(s, 0), ns, name, (uint64_t)sqlite3_column_int64(s, 3), json);
    if (sqlite3_column_type(s, 5) == SQLITE_NULL || sqlite3_column_int64(s, 5) == sum) {
        return 0;
    }
    return err_set(err, ERR_IO,
                   "store: the file is damaged: \"%.*s\" is not as it was written; "
                   "restore a backup",
                   STR_ARG(str_head(name, 253)));
}

/* One object that cannot be read must not keep all others from being served. */
static void set_aside(struct store_recovered *r, const struct db_kind *k, sqlite3_stmt *s) {
    struct str ns = column_str(s, 1), name = column_str(s, 2);
    size_t n = strlen(r->too_deep_names), cap = sizeof(r->too_deep_names);
    int add = snprintf(r->too_deep_names + n, cap - n, "%s%s %.*s%s%.*s", n ? ", " : "", k->plural,
                       STR_ARG(ns), ns.n ? "/" : "", STR_ARG(name));
    if (add > 0 && n + (size_t)add >= cap) {
        memcpy(r->too_deep_names + cap - 4, "...", 4);
    }
    r->too_deep++;
}

/* What was set aside is no object to the mirror: one of its name is created over it. Without such rows an insert of
 * what is there stays the fault that it is. */
static int insert_over(struct db *d, struct err *err) {
    static const char sql[] = "INSERT OR REPLACE INTO objects(kind, ns, name, rv, json, sum)"
                              " VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
    sqlite3_finalize(d->stmts[DB_INSERT]);
    d->stmts[DB_INSERT] = NULL;
    int rc =
        sqlite3_prepare_v3(d->h, sql, -1, SQLITE_PREPARE_PERSISTENT, &d->stmts[DB_INSERT], NULL);
    return rc == SQLITE_OK ? 0 : db_error(d, rc, "cannot prepare a statement", err, NULL);
}

static int load_rows(struct db *d, sqlite3_stmt *s, struct mirror *m, struct store_recovered *r,
                     struct err *err) {
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        int code = check_sum(s, err);
        if (code != 0) {
            return code;
        }
        const struct db_kind *k = row_kind(d, sqlite3_column_int64(s, 0));
        uint64_t rv = (uint64_t)sqlite3_column_int64(s, 3);
        r->revision = rv > r->revision ? rv : r->revision;
        if (k == NULL || k->kind == NULL) {
            r->unknown_objects++;
            continue;
        }
        code = load_row(k->kind, s, m, err);
        if (code == ERR_TOO_LARGE) {
            set_aside(r, k, s);
        } else if (code != 0) {
            return code;
        } else {
            r->objects++;
        }
    }
    return rc == SQLITE_DONE ? 0 : db_error(d, rc, "cannot read the objects", err, NULL);
}

static void find_kinds(struct db *d, const struct store_options *o, struct store_recovered *r) {
    size_t n = 0;
    for (size_t i = 0; i < d->kinds.n; i++) {
        struct db_kind *k = &d->kinds.v[i];
        k->kind = o->find_kind(o->find_kind_ctx, str_of(k->group), str_of(k->plural));
        if (k->kind == NULL && n < sizeof(r->unknown_kinds)) {
            int add = snprintf(r->unknown_kinds + n, sizeof(r->unknown_kinds) - n, "%s%s%s%s",
                               n ? ", " : "", k->plural, k->group[0] ? "." : "", k->group);
            n += add > 0 ? (size_t)add : 0;
        }
    }
    if (n >= sizeof(r->unknown_kinds)) {
        memcpy(r->unknown_kinds + sizeof(r->unknown_kinds) - 4, "...", 4);
    }
}

static int load_some(struct db *d, const char *sql, int64_t kind, struct mirror *m,
                     struct store_recovered *r, struct err *err) {
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(d->h, sql, -1, &s, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(s, 1, kind);
    }
    int code = rc == SQLITE_OK ? load_rows(d, s, m, r, err)
                               : db_error(d, rc, "cannot read the objects", err, NULL);
    sqlite3_finalize(s);
    return code;
}

int db_recover(struct db *d, const struct store_options *o, struct mirror *m,
               struct store_recovered *ret, struct err *err) {
    struct store_recovered r = {0};
    int64_t revision = 0;
    int code = db_int(d, "SELECT value FROM meta WHERE key = 'revision'", &revision, err);
    if (code != 0) {
        return code;
    }
    r.revision = (uint64_t)revision;
    int64_t first = 0; /* no row has this id */
    find_kinds(d, o, &r);
    for (size_t i = 0; o->first != NULL && i < d->kinds.n; i++) {
        first = d->kinds.v[i].kind == o->first ? d->kinds.v[i].id : first;
    }
    if (first != 0) {
        code = load_some(d, "SELECT kind, ns, name, rv, json, sum FROM objects WHERE kind = ?1",
                         first, m, &r, err);
        code = code || o->first_loaded == NULL ? code : o->first_loaded(o->find_kind_ctx, m, err);
        r.unknown_kinds[0] = '\0';
        find_kinds(d, o, &r);
    }
    code = code ? code
                : load_some(d,
                            "SELECT kind, ns, name, rv, json, sum FROM objects NOT INDEXED"
                            " WHERE kind <> ?1",
                            first, m, &r, err);
    code = code == 0 && r.too_deep > 0 ? insert_over(d, err) : code;
    if (code != 0) {
        return code;
    }
    *ret = r;
    return 0;
}

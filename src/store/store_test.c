/* Tests of store: what was written is there again, revisions never return, the folder's lock, strangers, backups. */
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"

#include "base/limits.h"
#include "mirror/fake_kind.h"
#include "store/fake_loop.h"
#include "store/store.h"

struct world {
    struct fake_loop loop;
    struct store *s;
    struct mirror *m;
    struct store_recovered r;
    int done, failed, backups;
    int backup_code;
};

static char top[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f) {
    return remove(path);
}

static int setup(void **state) {
    snprintf(top, sizeof(top), "/tmp/berth-store-XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state) {
    return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_top(const char *name) {
    static char path[2][128];
    static int which;
    which = !which;
    snprintf(path[which], sizeof(path[0]), "%s/%s", top, name);
    return path[which];
}

static int world_open_knowing(struct world *w, const char *dir, uint64_t known, bool accept_loss,
                              struct err *err) {
    *w = (struct world){.loop = FAKE_LOOP_INIT};
    struct store_options o = {.dir = dir,
                              .find_kind = fake_find,
                              .post = fake_post,
                              .post_ctx = &w->loop,
                              .known_revision = known,
                              .accept_loss = accept_loss};
    int code = store_open(&o, &w->s, err);
    if (code != 0) {
        return code;
    }
    w->m = mirror_new(&(struct mirror_options){.journal = store_journal(w->s)});
    return store_recover(w->s, w->m, &w->r, err);
}

static int world_open(struct world *w, const char *dir, struct err *err) {
    return world_open_knowing(w, dir, 0, false, err);
}

static void world_close(struct world *w) {
    store_close(w->s);
    mirror_free(w->m);
    fake_turn(&w->loop, 0);
}

static void on_done(void *ctx, int code, const struct object *o, const struct err *err) {
    struct world *w = ctx;
    w->done += code == 0;
    w->failed += code != 0;
}

static void put(struct world *w, const struct kind *k, const char *name, const char *value) {
    const struct object *now = mirror_pending(w->m, k, STR("ns"), str_of(name));
    struct object *o;
    struct err err;
    assert_ok(
        fake_object(k, STR("ns"), str_of(name), str_of(name), STR(""), str_of(value), &o, &err),
        &err);
    assert_ok(mirror_write(w->m, now ? CHANGE_MODIFIED : CHANGE_ADDED, o, now ? now->rv : 0,
                           on_done, w, &err),
              &err);
}

static void del(struct world *w, const struct kind *k, const char *name) {
    const struct object *now = mirror_pending(w->m, k, STR("ns"), str_of(name));
    struct object *o;
    struct err err;
    assert_ok(object_new(k, now->json, &o, &err), &err);
    assert_ok(mirror_write(w->m, CHANGE_DELETED, o, now->rv, on_done, w, &err), &err);
}

static void settle(struct world *w) {
    mirror_flush(w->m);
    while (mirror_staged(w->m)) {
        fake_turn(&w->loop, 1);
    }
}

static bool has(const struct world *w, const struct kind *k, const char *name, const char *value) {
    const struct object *o = mirror_get(w->m, k, STR("ns"), str_of(name));
    return o && str_contains(o->json, str_of(value));
}

static void test_restart(void **state) {
    struct world w;
    struct err err;
    assert_ok(world_open(&w, in_top("a"), &err), &err);
    struct stat st;
    assert_int_equal(stat(in_top("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(in_top("a/berth.db"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    put(&w, &fake_map, "one", "v1");
    put(&w, &fake_job, "one", "v2");
    put(&w, &fake_map, "gone", "v3");
    assert_null(mirror_get(w.m, &fake_map, STR("ns"), STR("one"))); /* not yet durable */
    settle(&w);
    put(&w, &fake_map, "one", "v4");
    del(&w, &fake_map, "gone");
    settle(&w);
    assert_int_equal(w.done, 5);
    world_close(&w);

    assert_ok(world_open(&w, in_top("a"), &err), &err);
    assert_int_equal(w.r.objects, 2);
    assert_true(w.r.revision == 5); /* that of the deletion */
    assert_true(has(&w, &fake_map, "one", "v4") && has(&w, &fake_job, "one", "v2"));
    assert_true(mirror_get(w.m, &fake_map, STR("ns"), STR("one"))->rv == 4);
    assert_int_equal(mirror_since(w.m, &fake_map, 4, NULL, NULL, NULL, NULL), ERR_EXPIRED);
    put(&w, &fake_map, "gone", "v5");
    mirror_flush(w.m);
    world_close(&w); /* writes what was submitted */
    assert_int_equal(w.done, 1);
    assert_ok(world_open(&w, in_top("a"), &err), &err);
    assert_true(w.r.revision == 6 && has(&w, &fake_map, "gone", "v5"));
    world_close(&w);
}

static void test_lock(void **state) {
    struct world w, other;
    struct err err;
    assert_ok(world_open(&w, in_top("lock"), &err), &err);
    assert_int_equal(world_open(&other, in_top("lock"), &err), ERR_UNAVAILABLE);
    char pid[32];
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_true(str_contains(str_of(err.text), str_of(pid)));
    world_close(&w);
    assert_ok(world_open(&w, in_top("lock"), &err), &err);
    world_close(&w);
}

static void sql(const char *path, const char *text) {
    sqlite3 *h;
    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_exec(h, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(h);
}

static void test_strangers(void **state) {
    struct world w;
    struct err err;
    assert_ok(world_open(&w, in_top("s"), &err), &err);
    put(&w, &fake_map, "one", "v1");
    settle(&w);
    world_close(&w);
    sql(in_top("s/berth.db"), "INSERT INTO kinds VALUES(99, 'example.com', 'foos');"
                              "INSERT INTO objects VALUES(99, 99, '', 'x', 77, 'anything', NULL);");
    for (int i = 0; i < 2; i++) { /* kept, reported, and its revision counts */
        assert_ok(world_open(&w, in_top("s"), &err), &err);
        assert_int_equal(w.r.unknown_objects, 1);
        assert_string_equal(w.r.unknown_kinds, "foos.example.com");
        assert_true(w.r.revision == 77 + (uint64_t)i);
        put(&w, &fake_map, "one", "v2");
        settle(&w);
        world_close(&w);
    }
    sql(in_top("s/berth.db"), "PRAGMA user_version = 3");
    assert_int_equal(world_open(&w, in_top("s"), &err), ERR_UNSUPPORTED);
    sql(in_top("s/berth.db"), "PRAGMA user_version = 2;"
                              "UPDATE objects SET name = 'b', sum = NULL WHERE kind < 9");
    assert_int_equal(world_open(&w, in_top("s"), &err), ERR_SYNTAX);
    world_close(&w);
    assert_int_equal(mkdir(in_top("t"), 0700), 0);
    sql(in_top("t/berth.db"), "CREATE TABLE mine(x)");
    assert_int_equal(world_open(&w, in_top("t"), &err), ERR_UNSUPPORTED);
}

/* A bit that turned inside a value is no error of SQLite's; a file without sums is taken and gets them. */
static void test_sums(void **state) {
    struct world w;
    struct err err;
    assert_ok(world_open(&w, in_top("sum"), &err), &err);
    put(&w, &fake_map, "one", "v1");
    settle(&w);
    world_close(&w);
    static const char *const turns[] = {
        "json = replace(json, 'v1', 'v3')",
        "rv = rv + 1",
        "name = 'onf'",
        "ns = ns || 'x'",
    };
    char text[128];
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        sql(in_top("sum/berth.db"), "CREATE TABLE kept AS SELECT * FROM objects");
        (void)snprintf(text, sizeof(text), "UPDATE objects SET %s", turns[i]);
        sql(in_top("sum/berth.db"), text);
        assert_int_equal(world_open(&w, in_top("sum"), &err), ERR_IO);
        assert_non_null(strstr(err.text, "damaged"));
        world_close(&w);
        sql(in_top("sum/berth.db"), "DELETE FROM objects; INSERT INTO objects SELECT * FROM kept;"
                                    "DROP TABLE kept");
    }
    sql(in_top("sum/berth.db"), "ALTER TABLE objects DROP COLUMN sum; PRAGMA user_version = 1");
    assert_ok(world_open(&w, in_top("sum"), &err), &err);
    put(&w, &fake_map, "one", "v2");
    settle(&w);
    world_close(&w);
    sql(in_top("sum/berth.db"), "UPDATE objects SET json = replace(json, 'v2', 'v3')");
    assert_int_equal(world_open(&w, in_top("sum"), &err), ERR_IO);
    world_close(&w);
}

/* An object that an older program let in, too deep to be read: all others are served, and it is told and kept. */
static void test_too_deep(void **state) {
    struct world w;
    struct err err;
    struct buf b;
    assert_ok(world_open(&w, in_top("deep"), &err), &err);
    put(&w, &fake_map, "one", "v1");
    put(&w, &fake_map, "two", "v1");
    settle(&w);
    world_close(&w);
    buf_init(&b, 0);
    buf_c(&b, "UPDATE objects SET sum = NULL, json = replace(json, '\"v1\"', '");
    for (int i = 0; i < LIMIT_JSON_DEPTH; i++) {
        buf_ch(&b, '[');
    }
    for (int i = 0; i < LIMIT_JSON_DEPTH; i++) {
        buf_ch(&b, ']');
    }
    buf_c(&b, "') WHERE name = 'two'");
    sql(in_top("deep/berth.db"), buf_cstr(&b));
    buf_release(&b);
    for (int i = 0; i < 2; i++) {
        assert_ok(world_open(&w, in_top("deep"), &err), &err);
        assert_true(has(&w, &fake_map, "one", "v1"));
        assert_null(mirror_get(w.m, &fake_map, STR("ns"), STR("two")));
        assert_int_equal(w.r.objects, 1);
        assert_int_equal(w.r.too_deep, 1);
        assert_non_null(strstr(w.r.too_deep_names, " ns/two"));
        world_close(&w);
    }
    assert_ok(world_open(&w, in_top("deep"), &err), &err);
    put(&w, &fake_map, "two", "v2");
    settle(&w);
    assert_int_equal(w.done, 1);
    world_close(&w);
    assert_ok(world_open(&w, in_top("deep"), &err), &err);
    assert_true(has(&w, &fake_map, "two", "v2"));
    assert_int_equal(w.r.too_deep, 0);
    world_close(&w);
}

static void on_backup(void *ctx, int code, const struct err *err) {
    struct world *w = ctx;
    w->backup_code = code;
    w->backups++;
}

static void test_backup(void **state) {
    struct world w, copy;
    struct err err;
    assert_ok(world_open(&w, in_top("b"), &err), &err);
    char name[16], big[2000];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        put(&w, &fake_map, name, big);
    }
    settle(&w);
    assert_ok(store_backup(w.s, in_top("copy.db"), on_backup, &w, &err), &err);
    assert_int_equal(store_backup(w.s, in_top("copy2.db"), on_backup, &w, &err), ERR_TOO_MANY);
    for (int i = 0; w.backups == 0; i++) { /* writes go on while it is made */
        snprintf(name, sizeof(name), "k%d", i % 500);
        put(&w, &fake_map, name, "newer");
        mirror_flush(w.m);
        fake_turn(&w.loop, 1);
    }
    assert_int_equal(w.backup_code, 0);
    uint64_t revision = mirror_revision(w.m);
    assert_int_equal(store_backup(w.s, in_top("copy.db"), on_backup, &w, &err), ERR_EXISTS);
    settle(&w);
    world_close(&w);

    assert_int_equal(store_restore(in_top("copy.db"), in_top("b"), &err), ERR_EXISTS);
    assert_ok(store_restore(in_top("copy.db"), in_top("c"), &err), &err);
    assert_ok(world_open(&copy, in_top("c"), &err), &err);
    assert_int_equal(copy.r.objects, 500);
    assert_true(copy.r.revision >= 500 && copy.r.revision <= revision + 1);
    world_close(&copy);

    assert_int_equal(truncate(in_top("copy.db"), 100000), 0);
    assert_int_not_equal(store_restore(in_top("copy.db"), in_top("d"), &err), 0);
    assert_int_not_equal(store_restore(in_top("none.db"), in_top("d"), &err), 0);
    assert_int_equal(rmdir(in_top("d")), 0); /* nothing is left in it */
}

/* Batches written while one is under way share a transaction, and each is reported. */
static void test_group(void **state) {
    struct world w;
    struct err err;
    char name[16];
    assert_ok(world_open(&w, in_top("g"), &err), &err);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        put(&w, &fake_map, name, "v");
        mirror_flush(w.m);
    }
    settle(&w);
    struct store_stats st;
    store_stats(w.s, &st);
    assert_int_equal(w.done, 300);
    assert_int_equal(st.writes, 300);
    assert_true(st.batches < 300);
    world_close(&w);
}

static void copy(const char *from, const char *to) {
    char bytes[1 << 16];
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    assert_true(in && out);
    for (size_t n; (n = fread(bytes, 1, sizeof(bytes), in)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    }
    fclose(in);
    fclose(out);
}

static void assert_refused(const char *dir, uint64_t known) {
    struct world w;
    struct err err;
    assert_int_equal(world_open_knowing(&w, in_top(dir), known, false, &err), ERR_IO);
    assert_non_null(strstr(err.text, "--accept-loss"));
    world_close(&w);
}

/* A database that has less than was written is refused and left as it is, until somebody accepts the loss. */
static void test_lost_database(void **state) {
    struct world w;
    struct err err;
    struct stat st;
    assert_ok(world_open(&w, in_top("lost"), &err), &err);
    put(&w, &fake_map, "one", "v1");
    settle(&w);
    world_close(&w);
    copy(in_top("lost/berth.db"), in_top("older"));
    assert_ok(world_open(&w, in_top("lost"), &err), &err);
    put(&w, &fake_map, "two", "v1");
    put(&w, &fake_map, "three", "v1");
    settle(&w);
    world_close(&w);
    copy(in_top("lost/berth.db"), in_top("newest"));
    assert_int_equal(unlink(in_top("lost/berth.db")), 0); /* deleted */
    assert_refused("lost", 0);
    assert_int_equal(stat(in_top("lost/berth.db"), &st), -1);
    fclose(fopen(in_top("lost/berth.db"), "we")); /* emptied */
    assert_refused("lost", 0);
    assert_int_equal(stat(in_top("lost/berth.db"), &st), 0);
    assert_int_equal(st.st_size, 0);
    copy(in_top("older"), in_top("lost/berth.db")); /* replaced */
    assert_refused("lost", 0);
    copy(in_top("newest"), in_top("lost/berth.db")); /* put back */
    assert_ok(world_open(&w, in_top("lost"), &err), &err);
    assert_int_equal(w.r.revision, 3);
    world_close(&w);
    assert_refused("lost", 7); /* others know of more */
    copy(in_top("older"), in_top("lost/berth.db"));
    assert_ok(world_open_knowing(&w, in_top("lost"), 7, true, &err), &err);
    assert_int_equal(w.r.revision, 7);
    assert_true(has(&w, &fake_map, "one", "v1") && !has(&w, &fake_map, "two", "v1"));
    world_close(&w);
    assert_ok(world_open_knowing(&w, in_top("lost"), 7, false, &err), &err); /* once is enough */
    put(&w, &fake_map, "two", "v2");
    settle(&w);
    assert_int_equal(mirror_revision(w.m), 8);
    world_close(&w);
}

/* What lies in the WAL alone, as a kill leaves it. A damaged one is refused and kept; a torn mark says nothing. */
static void test_lost_wal(void **state) {
    struct world w;
    struct err err;
    struct stat st, after;
    assert_ok(world_open(&w, in_top("live"), &err), &err);
    for (int i = 0; i < 5; i++) {
        put(&w, &fake_map, "one", i % 2 ? "v1" : "v2");
        settle(&w);
    }
    assert_int_equal(mkdir(in_top("wal"), 0700), 0);
    copy(in_top("live/berth.db"), in_top("wal/berth.db"));
    copy(in_top("live/berth.db-wal"), in_top("wal/berth.db-wal"));
    copy(in_top("live/berth.mark"), in_top("wal/berth.mark"));
    world_close(&w);
    assert_int_equal(stat(in_top("wal/berth.db-wal"), &st), 0);
    assert_int_equal(truncate(in_top("wal/berth.db-wal"), st.st_size - 5000), 0);
    assert_refused("wal", 0);
    assert_int_equal(stat(in_top("wal/berth.db-wal"), &after), 0);
    assert_int_equal(after.st_size, st.st_size - 5000);
    assert_int_equal(truncate(in_top("wal/berth.mark"), 17), 0);
    assert_ok(world_open(&w, in_top("wal"), &err), &err);
    assert_in_range(w.r.revision, 1, 4);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart),       cmocka_unit_test(test_lock),
        cmocka_unit_test(test_strangers),     cmocka_unit_test(test_sums),
        cmocka_unit_test(test_too_deep),      cmocka_unit_test(test_backup),
        cmocka_unit_test(test_lost_database), cmocka_unit_test(test_lost_wal),
        cmocka_unit_test(test_group),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

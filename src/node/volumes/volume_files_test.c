/* volume_files: folders are made, copied and taken away, and nothing else is touched; what was begun is ended later. */
#include "node/files/testbed.h"

#include <fcntl.h>

#include "node/volumes/volume_files.h"

struct store {
    char base[PATH_LEN];
    struct loop *loop;
    struct log_fd log;
    struct volume_files files;
    int copied; /* 1: done, -1: failed */
};

static int set_up(void **state) {
    struct store *s = calloc(1, sizeof(*s));
    struct err err;
    test_folder(s->base);
    s->loop = loop_new(&err);
    log_fd_init(&s->log, LOG_ERROR, 2);
    assert_ok(volume_files_init(&s->files, s->loop, &s->log.log, s->base, &err), &err);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    struct store *s = *state;
    volume_files_release(&s->files);
    loop_free(s->loop);
    dir_remove(s->base, NULL);
    free(s);
    return 0;
}

static char *at(struct store *s, const char *rest) {
    static char path[PATH_LEN + 64];
    snprintf(path, sizeof(path), "%s/volumes/%s", s->base, rest);
    return path;
}

static bool there(struct store *s, const char *rest) {
    struct stat st;
    return lstat(at(s, rest), &st) == 0;
}

static void write_in(struct store *s, const char *dir, const char *name) {
    struct err err;
    assert_ok(file_store(at(s, dir), name, STR("text"), 0644, &err), &err);
}

static bool gone_is_empty(void *ctx) {
    struct store *s = ctx;
    return rmdir(at(s, ".gone")) == 0 && mkdir(at(s, ".gone"), 0700) == 0 &&
           s->files.remover == NULL;
}

static void a_volume_is_made_and_taken_away(void **state) {
    struct store *s = *state;
    struct err err;
    struct stat st;
    assert_false(volume_files_has(&s->files, VOLUME_FOLDER, STR("v")));
    assert_ok(volume_files_make(&s->files, STR("v"), geteuid() == 0 ? 1900000000 : 0, &err), &err);
    assert_ok(volume_files_make(&s->files, STR("v"), geteuid() == 0 ? 1900000000 : 0, &err), &err);
    assert_int_equal(stat(at(s, "v"), &st), 0);
    assert_int_equal(st.st_mode & 07777, geteuid() == 0 ? 02770 : 0700);
    write_in(s, "v", "file");
    assert_int_equal(symlink(s->base, at(s, "v/link")), 0);
    write_in(s, ".", "beside");
    assert_ok(volume_files_retire(&s->files, VOLUME_FOLDER, STR("v"), &err), &err);
    assert_false(there(s, "v"));
    assert_ok(volume_files_retire(&s->files, VOLUME_FOLDER, STR("v"), &err), &err);
    test_until(s->loop, gone_is_empty, s);
    assert_true(there(s, "beside"));
}

static void names_that_lead_elsewhere_are_refused(void **state) {
    struct store *s = *state;
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", ".gone", ".snapshots"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(volume_files_make(&s->files, str_of(bad[i]), 0, NULL), ERR_INVALID);
        assert_int_equal(volume_files_retire(&s->files, VOLUME_FOLDER, str_of(bad[i]), NULL),
                         ERR_INVALID);
        assert_false(volume_files_has(&s->files, VOLUME_FOLDER, str_of(bad[i])));
    }
    assert_int_equal(symlink(s->base, at(s, "link")), 0);
    assert_false(volume_files_has(&s->files, VOLUME_FOLDER, STR("link")));
}

static void on_copy(void *ctx, bool ok) {
    ((struct store *)ctx)->copied = ok ? 1 : -1;
}

static bool is_copied(void *ctx) {
    return ((struct store *)ctx)->copied != 0;
}

static void a_snapshot_is_a_copy(void **state) {
    struct store *s = *state;
    struct err err;
    char target[64];
    assert_ok(volume_files_make(&s->files, STR("v"), 0, &err), &err);
    write_in(s, "v", "file");
    assert_int_equal(symlink("/etc", at(s, "v/link")), 0);
    assert_ok(volume_files_copy(&s->files, VOLUME_FOLDER, STR("v"), VOLUME_SNAPSHOT, STR("s"),
                                on_copy, s, &err),
              &err);
    assert_true(volume_files_busy(&s->files));
    assert_int_equal(volume_files_copy(&s->files, VOLUME_FOLDER, STR("v"), VOLUME_SNAPSHOT,
                                       STR("t"), on_copy, s, NULL),
                     ERR_CONFLICT);
    test_until(s->loop, is_copied, s);
    assert_int_equal(s->copied, 1);
    assert_true(there(s, ".snapshots/s/file"));
    assert_int_equal(readlink(at(s, ".snapshots/s/link"), target, sizeof(target)), 4);
    s->copied = 0; /* where something is already, nothing is put over it */
    assert_ok(volume_files_copy(&s->files, VOLUME_FOLDER, STR("v"), VOLUME_SNAPSHOT, STR("s"),
                                on_copy, s, &err),
              &err);
    test_until(s->loop, is_copied, s);
    assert_int_equal(s->copied, -1);
    test_until(s->loop, gone_is_empty, s);
    assert_true(there(s, ".snapshots/s/file"));
    assert_false(there(s, ".part/s"));
}

static void what_a_stop_cut_off_is_removed_at_the_next_start(void **state) {
    struct store *s = *state;
    struct err err;
    volume_files_release(&s->files);
    assert_int_equal(mkdir(at(s, ".part/half"), 0700), 0);
    write_in(s, ".part/half", "file");
    assert_int_equal(mkdir(at(s, ".gone/0-old"), 0700), 0);
    assert_int_equal(mkdir(at(s, "stray"), 0700), 0);
    assert_ok(volume_files_init(&s->files, s->loop, &s->log.log, s->base, &err), &err);
    test_until(s->loop, gone_is_empty, s);
    assert_false(there(s, ".part/half"));
    assert_true(there(s, "stray"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_volume_is_made_and_taken_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_lead_elsewhere_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_snapshot_is_a_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_stop_cut_off_is_removed_at_the_next_start, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

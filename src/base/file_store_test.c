/* file_store: whatever step fails or is the last before a crash, the file is the old one or the new one, whole. */
#include "base/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_store.h"

static char dir[] = "/tmp/berth-file-store-XXXXXX";

static struct str path_of(const char *name) {
    static char path[256];

    return str_from(path, (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name));
}

static struct str content(const char *name) {
    static char text[256];
    FILE *f = fopen(path_of(name).p, "re");

    if (f == NULL) {
        return STR("(none)");
    }
    size_t n = fread(text, 1, sizeof(text), f);
    fclose(f);
    return str_from(text, n);
}

static void test_replaces_whole(void **state) {
    struct err err;
    struct stat st;

    assert_ok(file_store_synced(dir, "a", STR("one"), 0640, &err), &err);
    assert_ok(file_store(dir, "a", STR("two two"), 0600, &err), &err);
    assert_str_eq(content("a"), STR("two two"));
    assert_int_equal(stat(path_of("a").p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_ok(file_store_path(path_of("a").p, STR(""), 0600, &err), &err);
    assert_str_eq(content("a"), STR(""));
    assert_int_equal(file_store(dir, "no/such", STR("x"), 0600, &err), ERR_IO);
}

static void test_every_step_may_fail(void **state) {
    struct err err;

    for (int step = FILE_STEP_OPEN; step < FILE_STEPS; step++) {
        assert_ok(file_store_synced(dir, "b", STR("old"), 0600, &err), &err);
        file_store_fault((enum file_step)step, false);
        assert_int_equal(file_store_synced(dir, "b", STR("newer"), 0600, &err), ERR_IO);
        assert_non_null(strstr(err.text, "/b"));
        assert_str_eq(content("b"), step < FILE_STEP_SYNC_FOLDER ? STR("old") : STR("newer"));
        assert_str_eq(content(".b.new"), STR("(none)"));
    }
}

static void test_crash_at_every_step(void **state) {
    struct err err;

    for (int step = FILE_STEP_OPEN; step < FILE_STEPS; step++) {
        assert_ok(file_store_synced(dir, "c", STR("old"), 0600, &err), &err);
        file_store_fault((enum file_step)step, true);
        assert_int_equal(file_store_synced(dir, "c", STR("newer"), 0600, &err), ERR_IO);
        file_store_fault(FILE_STEP_NONE, false);
        assert_str_eq(content("c"), step < FILE_STEP_SYNC_FOLDER ? STR("old") : STR("newer"));
        /* What a crash left in the way is no hindrance, nor is a link that somebody put there. */
        assert_ok(file_store_synced(dir, "c", STR("after"), 0600, &err), &err);
        assert_str_eq(content("c"), STR("after"));
        assert_str_eq(content(".c.new"), STR("(none)"));
    }
}

static void test_link_is_not_followed(void **state) {
    struct err err;

    assert_ok(file_store(dir, "victim", STR("kept"), 0600, &err), &err);
    assert_int_equal(symlink("victim", path_of(".d.new").p), 0);
    assert_ok(file_store(dir, "d", STR("new"), 0600, &err), &err);
    assert_str_eq(content("victim"), STR("kept"));
    assert_str_eq(content("d"), STR("new"));
}

static int make_folder(void **state) {
    return mkdtemp(dir) == NULL;
}

static int remove_folder(void **state) {
    static const char *const names[] = {"a", "b", "c", "d", "victim"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unlink(path_of(names[i]).p);
    }
    return rmdir(dir); /* nothing else is left in it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replaces_whole),
        cmocka_unit_test(test_every_step_may_fail),
        cmocka_unit_test(test_crash_at_every_step),
        cmocka_unit_test(test_link_is_not_followed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

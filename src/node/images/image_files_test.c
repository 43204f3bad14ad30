/* image_files: modes and devices of hostile images. */
#include "node/files/testbed.h"

#include <sys/sysmacros.h>

#include "node/images/image_files.h"

static void test_tame(void **state) {
    char dir[PATH_LEN], path[8][PATH_LEN];
    static const char *const names[] = {"shut", "shut/su", "tmp", "device", "link", "plain"};
    struct stat st;
    struct err err;

    test_folder(dir);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(path_join(path[i], dir, names[i], NULL), 0);
    }
    assert_int_equal(mkdir(path[0], 0755), 0);
    assert_int_equal(file_store(path[0], "su", STR("x"), 0755, NULL), 0);
    assert_int_equal(chmod(path[1], 06511), 0);
    assert_int_equal(chmod(path[0], 02555), 0);
    assert_int_equal(mkdir(path[2], 0755), 0);
    assert_int_equal(chmod(path[2], 01777), 0);
    bool device = mknod(path[3], S_IFCHR | 0666, makedev(1, 3)) == 0; /* takes root */
    assert_int_equal(symlink("/etc/passwd", path[4]), 0);
    assert_int_equal(file_store(dir, "plain", STR("x"), 0640, NULL), 0);
    assert_ok(image_files_tame(dir, &err), &err);
    assert_int_equal(stat(path[1], &st), 0);
    assert_int_equal(st.st_mode & 06777, geteuid() == 0 ? 0511 : 0711);
    assert_int_equal(stat(path[0], &st), 0);
    assert_int_equal(st.st_mode & 06777, geteuid() == 0 ? 0555 : 0755);
    assert_int_equal(stat(path[2], &st), 0);
    assert_int_equal(st.st_mode & 07777, 01777);
    assert_int_equal(lstat(path[3], &st), -1);
    assert_true(device || geteuid() != 0);
    assert_int_equal(lstat(path[4], &st), 0);
    assert_int_equal(stat(path[5], &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_ok(dir_remove(dir, &err), &err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tame)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

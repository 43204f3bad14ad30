/* files: what is removed, and what a link or another depth must not change about that. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>

/* Folders within folders, deeper than any path is long, with a file in each. */
static void make_deep(const char *top, int depth) {
    int fd = open(top, O_RDONLY | O_DIRECTORY);

    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(fd, "below", 0755), 0);
        int file = openat(fd, "file", O_CREAT | O_WRONLY, 0600);
        int next = openat(fd, "below", O_RDONLY | O_DIRECTORY);
        assert_true(file != -1 && next != -1);
        close(file);
        close(fd);
        fd = next;
    }
    close(fd);
}

static void test_remove_deep(void **state) {
    char base[PATH_LEN], pod[PATH_LEN];
    struct err err;

    test_folder(base);
    assert_ok(path_join(pod, base, "pod", &err), &err);
    assert_ok(dir_make(pod, 0755, &err), &err);
    make_deep(pod, 3000);
    assert_ok(dir_remove(pod, &err), &err);
    assert_int_equal(access(pod, F_OK), -1);
    assert_ok(dir_remove(pod, &err), &err);
    assert_int_equal(rmdir(base), 0);
}

/* Links are removed, never what they lead to; a link in place of the folder likewise. */
static void test_remove_links(void **state) {
    char base[PATH_LEN], pod[PATH_LEN], other[PATH_LEN], kept[PATH_LEN], link[PATH_LEN];
    struct err err;

    test_folder(base);
    assert_ok(path_join(pod, base, "pod", &err), &err);
    assert_ok(path_join(other, base, "other", &err), &err);
    assert_ok(path_join(kept, other, "kept", &err), &err);
    assert_ok(path_join(link, pod, "link", &err), &err);
    assert_ok(dir_make(pod, 0755, &err), &err);
    assert_ok(dir_make(other, 0755, &err), &err);
    assert_ok(file_store(other, "kept", STR("x"), 0644, &err), &err);
    assert_int_equal(symlink("../other", link), 0);
    assert_ok(dir_remove(pod, &err), &err);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(symlink("other", pod), 0);
    assert_ok(dir_remove(pod, &err), &err);
    assert_int_equal(access(pod, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_ok(dir_remove(other, &err), &err);
    assert_int_equal(rmdir(base), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remove_deep),
        cmocka_unit_test(test_remove_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

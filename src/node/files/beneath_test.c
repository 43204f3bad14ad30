/* beneath: links on the way are refused by the call and by the walk alike; what is made has the right owner. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>

#include "node/files/beneath.h"

struct bed {
    char base[PATH_LEN];
    int inside; /* base/in; base/out lies beside it */
};

static void add_link(struct bed *b, const char *name, const char *to) {
    assert_int_equal(symlinkat(to, b->inside, name), 0);
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    char in[PATH_LEN], out[PATH_LEN], deep[PATH_LEN];
    struct err err;

    test_folder(b->base);
    assert_ok(path_join(in, b->base, "in", &err), &err);
    assert_ok(path_join(out, b->base, "out", &err), &err);
    assert_ok(path_join(deep, in, "a/b", &err), &err);
    assert_ok(dir_make(deep, 0755, &err), &err);
    assert_ok(dir_make(out, 0755, &err), &err);
    assert_ok(file_store(deep, "file", STR("x"), 0644, &err), &err);
    assert_ok(file_store(out, "secret", STR("x"), 0644, &err), &err);
    b->inside = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(b->inside != -1);
    add_link(b, "up", "../out");
    add_link(b, "absolute", out);
    add_link(b, "own", "a");
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    close(b->inside);
    dir_remove(b->base, NULL);
    free(b);
    return 0;
}

static const struct {
    const char *path;
    bool works;
} cases[] = {
    {"", true},
    {".", true},
    {"/", true},
    {"a", true},
    {"a/b", true},
    {"/a//b/", true},
    {"a/./b/file", true},
    {"a/nothing", false},
    {"up", false},
    {"up/secret", false},
    {"absolute", false},
    {"absolute/secret", false},
    {"own", false},
    {"own/b", false},
    {"..", false},
    {"a/../a", false},
    {"../out/secret", false},
};

static void test_open(void **state) {
    struct bed *b = *state;
    int (*const ways[])(int, const char *, int) = {beneath_open, beneath_walk};
    static const int kinds[] = {O_PATH, O_RDONLY};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) * 4; i++) {
        const char *path = cases[i / 4].path;
        int fd = ways[i % 2](b->inside, path, kinds[i / 2 % 2]);
        if ((fd != -1) != cases[i / 4].works) {
            fail_msg("\"%s\", way %zu: %d, %s", path, i % 4, fd, strerror(errno));
        }
        if (fd != -1) {
            close(fd);
        }
    }
}

static void test_make(void **state) {
    struct bed *b = *state;
    uid_t uid = geteuid() == 0 ? 1900000000 : 0;
    struct stat st;
    static const char *const refused[] = {"up/new", "absolute/new", "own/new", "../new",
                                          "a/b/file"};

    int fd = beneath_make(b->inside, "/a/new/deep", 0755, uid, uid);
    assert_true(fd != -1 && fstat(fd, &st) == 0);
    assert_int_equal(st.st_uid, uid ? uid : geteuid());
    assert_int_equal(st.st_mode & 0777, 0755);
    close(fd);
    assert_int_equal(fstatat(b->inside, "a/new", &st, 0), 0);
    assert_int_equal(st.st_uid, uid ? uid : geteuid());
    /* What was there is as it was. */
    assert_int_equal(fstatat(b->inside, "a", &st, 0), 0);
    assert_int_equal(st.st_uid, geteuid());
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(beneath_make(b->inside, refused[i], 0755, uid, uid), -1);
    }
    assert_int_equal(fstatat(b->inside, "../out/new", &st, 0), -1);
    assert_int_equal(fstatat(b->inside, "../new", &st, 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_make, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* image_user: numbers and names, by the image's own files, whatever these are. */
#include "node/files/testbed.h"

#include "node/images/image_user.h"

struct bed {
    char root[PATH_LEN];
};

static void put(const struct bed *b, const char *name, const char *text) {
    char dir[PATH_LEN];

    assert_int_equal(path_join(dir, b->root, "etc", NULL), 0);
    assert_int_equal(file_store(dir, name, str_of(text), 0644, NULL), 0);
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    char dir[PATH_LEN];

    test_folder(b->root);
    assert_int_equal(path_join(dir, b->root, "etc", NULL), 0);
    assert_int_equal(dir_make(dir, 0755, NULL), 0);
    put(b, "passwd",
        "root:x:0:7::/root:/bin/sh\nbroken\n:::\napp:x:1000:1001::/srv:/bin/"
        "sh\nbig:x:4000000000:1::/:/\n");
    put(b, "group", "root:x:0:\nteam:x:50:app\n");
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->root, NULL);
    free(b);
    return 0;
}

static void test_who(void **state) {
    static const struct {
        const char *user, *home;
        unsigned uid, gid;
    } rows[] = {
        {"", "/root", 0, 7},         {"app", "/srv", 1000, 1001},    {"1000", "/srv", 1000, 1001},
        {"33", "/", 33, 0},          {"app:team", "/srv", 1000, 50}, {"5:6", "/", 5, 6},
        {"app:", "/srv", 1000, 1001}};
    struct bed *b = *state;
    struct image_user u;
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_ok(image_user_find(b->root, str_of(rows[i].user), &u, &err), &err);
        assert_int_equal(u.uid, rows[i].uid);
        assert_int_equal(u.gid, rows[i].gid);
        assert_string_equal(u.home, rows[i].home);
    }
}

static void test_refused(void **state) {
    static const char *const rows[] = {"nobody-here", "app:no-group", "big",      "-1",
                                       "65536",       "4294967296",   "app:70000"};
    struct bed *b = *state;
    struct image_user u;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(image_user_find(b->root, str_of(rows[i]), &u, NULL), ERR_INVALID);
    }
}

/* Links lead within the image: the machine's own file is not read. */
static void test_links(void **state) {
    struct bed *b = *state;
    struct image_user u;
    char path[PATH_LEN];

    snprintf(path, sizeof(path), "%.500s/etc/passwd", b->root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/../../../etc/group", path), 0);
    put(b, "group", "only:x:77:78::/of-the-image:\n");
    assert_int_equal(image_user_find(b->root, STR("only"), &u, NULL), 0);
    assert_string_equal(u.home, "/of-the-image");
    assert_int_equal(image_user_find(b->root, STR("daemon"), &u, NULL), ERR_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

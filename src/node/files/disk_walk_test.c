/* disk_walk: what is counted, in steps, and what a tenant who moves folders about meanwhile cannot change. */
#include "node/files/disk_walk.h"
#include "node/files/testbed.h"

#include <fcntl.h>

enum { LARGE = 1 << 20 };

static char base[PATH_LEN], tree[PATH_LEN];

static int set_up(void **state) {
    struct err err;

    test_folder(base);
    assert_ok(path_join(tree, base, "tree", &err), &err);
    assert_ok(dir_make(tree, 0755, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    assert_ok(dir_remove(base, NULL), &(struct err){0});
    return 0;
}

static void write_file(int at, const char *name, size_t n) {
    static const char some[4096] = {1};
    int fd = openat(at, name, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    assert_true(fd != -1);
    for (size_t i = 0; i < n; i += sizeof(some)) {
        assert_int_equal(write(fd, some, sizeof(some)), sizeof(some));
    }
    close(fd);
}

static int open_tree(void) {
    int fd = open(tree, O_RDONLY | O_DIRECTORY);

    assert_true(fd != -1);
    return fd;
}

static int go_below(int at, const char *name) {
    assert_int_equal(mkdirat(at, name, 0755), 0);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY);
    assert_true(fd != -1);
    close(at);
    return fd;
}

/* Returns how many turns of so many steps it took. */
static unsigned walk_all(struct disk_walk *w, unsigned steps) {
    unsigned n = 0;

    disk_walk_begin(w, tree);
    for (; w->at; n++) {
        assert_in_range(disk_walk_on(w, steps), 1, steps);
    }
    return n;
}

static void test_steps(void **state) {
    struct disk_walk w = {0};
    char name[32];
    int fd = go_below(open_tree(), "many");

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        write_file(fd, name, i < 16 ? LARGE / 16 : 0);
    }
    close(fd);
    assert_true(walk_all(&w, 10) >= 30);
    assert_in_range(w.bytes, LARGE, LARGE + LARGE / 4);
    uint64_t whole = w.bytes;
    assert_int_equal(walk_all(&w, 100000), 1);
    assert_int_equal(w.bytes, whole);
    disk_walk_begin(&w, "/nowhere/at/all");
    assert_null(w.at);
    assert_int_equal(w.bytes, 0);
    disk_walk_end(&w);
}

/* Deeper than any path is long, and back up to what comes after. */
static void test_deep(void **state) {
    char name[256];
    struct disk_walk w = {0};
    int fd = open_tree();

    memset(name, 'n', 255);
    name[255] = 0;
    for (int i = 0; i < 100; i++) {
        write_file(fd, "before", 4096);
        write_file(fd, "z", 4096);
        fd = go_below(fd, name);
    }
    write_file(fd, "large", LARGE);
    close(fd);
    walk_all(&w, 7);
    assert_in_range(w.bytes, LARGE + 200 * 4096, 2 * LARGE + 200 * 4096);
}

static void test_links(void **state) {
    struct disk_walk w = {0};
    char other[PATH_LEN], name[32];
    int fd = open_tree();

    write_file(fd, "one", LARGE);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "same%d", i);
        assert_int_equal(linkat(fd, "one", fd, name, 0), 0);
    }
    snprintf(other, sizeof(other), "%.500s/other", base);
    write_file(AT_FDCWD, other, LARGE);
    assert_int_equal(symlinkat(other, fd, "to-a-file"), 0);
    assert_int_equal(symlinkat(base, fd, "to-a-folder"), 0);
    close(fd);
    walk_all(&w, 5);
    assert_in_range(w.bytes, LARGE - 4096, LARGE + LARGE / 2);
}

/* The folder that is walked is moved out of the tree: its new neighbours are not the tree's, and what comes after it is
 * counted still. */
static void test_moved(void **state) {
    struct disk_walk w = {0};
    char from[PATH_LEN], to[PATH_LEN], other[PATH_LEN + 8];
    int fd = open_tree();

    fd = go_below(go_below(fd, "root"), "work");
    write_file(fd, "after", LARGE);
    fd = go_below(go_below(go_below(go_below(fd, "a"), "b"), "c"), "d");
    write_file(fd, "file", 4096);
    close(fd);
    disk_walk_begin(&w, tree);
    while (w.above.n < 6) {
        assert_int_equal(disk_walk_on(&w, 1), 1);
        assert_non_null(w.at);
    }
    snprintf(from, sizeof(from), "%.400s/root/work/a/b/c/d", tree);
    snprintf(to, sizeof(to), "%.400s/elsewhere", base);
    assert_int_equal(mkdir(to, 0755), 0);
    snprintf(other, sizeof(other), "%s/huge", to);
    write_file(AT_FDCWD, other, 8 * LARGE);
    snprintf(other, sizeof(other), "%s/d", to);
    assert_int_equal(rename(from, other), 0);
    while (w.at) {
        disk_walk_on(&w, 3);
    }
    assert_in_range(w.bytes, LARGE, 2 * LARGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* pods_disk: whose files go when there is little room, and who is evicted. No process runs here. */
#include "base/mem.h"
#include "node/files/testbed.h"
#include "node/pods/pods_private.h"

#include <fcntl.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

struct bed {
    struct pods pods;
    struct sandbox_probe probe;
    struct loop *loop;
    struct log_fd log;
    char dir[PATH_LEN];
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;

    test_folder(b->dir);
    log_fd_init(&b->log, LOG_ERROR, 2);
    b->loop = loop_new(&err);
    b->pods.o = (struct pods_options){.log = &b->log.log, .data_dir = b->dir, .probe = &b->probe};
    b->pods.clock = loop_clock(b->loop);
    map_init(&b->pods.by_uid);
    map_init(&b->pods.by_wd);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&b->pods.by_uid, &i));) {
        struct pod *p = e->value;
        disk_walk_end(&p->walk);
        arena_release(&p->arena);
        mem_free(p->dir);
        free(p);
    }
    map_release(&b->pods.by_uid);
    map_release(&b->pods.by_wd);
    loop_free(b->loop);
    assert_ok(dir_remove(b->dir, NULL), &(struct err){0});
    free(b);
    return 0;
}

static void write_at(const struct pod *p, const char *folder, const char *name, size_t n) {
    static const char some[4096] = {1};
    char dir[PATH_LEN], path[PATH_LEN];
    struct err err;

    assert_ok(path_join(dir, p->dir, folder, &err), &err);
    assert_ok(dir_make(dir, 0755, &err), &err);
    assert_ok(path_join(path, dir, name, &err), &err);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd != -1);
    for (size_t i = 0; i < n; i += sizeof(some)) {
        assert_int_equal(write(fd, some, sizeof(some)), sizeof(some));
    }
    close(fd);
}

static bool is_there(const struct pod *p, const char *name) {
    char path[PATH_LEN];

    return path_join(path, p->dir, name, NULL) == 0 && access(path, F_OK) == 0;
}

static struct pod *add(struct bed *b, const char *uid, enum pod_state state, size_t bytes) {
    struct pod *p = calloc(1, sizeof(*p));
    char dir[PATH_LEN];

    p->pods = &b->pods;
    p->wd = -1;
    p->state = state;
    arena_init(&p->arena, 1 << 20);
    assert_true(str_copy(str_of(uid), p->uid, sizeof(p->uid)));
    snprintf(dir, sizeof(dir), "%.500s/%s", b->dir, uid);
    p->dir = mem_cstr(str_of(dir));
    assert_int_equal(map_put(&b->pods.by_uid, str_of(p->uid), p, NULL), 0);
    write_at(p, "log/main", "0.log", 0);
    write_at(p, "root/work", "file", bytes);
    return p;
}

static unsigned evicted(const struct bed *b) {
    const struct map_entry *e;
    unsigned n = 0;

    for (size_t i = 0; (e = map_next(&b->pods.by_uid, &i));) {
        const struct pod *p = e->value;
        n += p->failed && !strcmp(p->reason, "Evicted");
    }
    return n;
}

static const struct disk_room full = {.all = 1 << 30, .free = MIB},
                              little = {.all = 1 << 30, .free = 10 * MIB},
                              enough = {.all = 1 << 30, .free = 100 * MIB};

static void test_pods_that_are_over_give_first(void **state) {
    struct bed *b = *state;
    struct pod *over = add(b, "over", POD_OVER, 4 * MIB), *runs = add(b, "runs", POD_RUNNING, MIB);

    assert_false(pods_disk_tick(&b->pods, &enough));
    assert_true(is_there(over, "root/work/file"));
    assert_true(pods_disk_tick(&b->pods, &full));
    assert_false(is_there(over, "root"));
    assert_true(is_there(over, "log/main/0.log"));
    assert_false(pods_disk_tick(&b->pods, &enough));
    assert_int_equal(evicted(b), 0);
    assert_true(is_there(runs, "root/work/file"));
    assert_false(pods_disk_tick(&b->pods, &full)); /* with nothing else to give */
    assert_string_equal(runs->reason, "Evicted");
    /* While it ends, nobody else is; then what it wrote goes before anybody else does. */
    struct pod *next = add(b, "next", POD_RUNNING, MIB);
    assert_true(pods_disk_tick(&b->pods, &full));
    runs->state = POD_OVER;
    assert_true(pods_disk_tick(&b->pods, &full));
    assert_false(is_there(runs, "root"));
    assert_false(next->failed);
}

static void test_bytes_count_and_not_files(void **state) {
    struct bed *b = *state;
    struct pod *files = add(b, "files", POD_RUNNING, 0);
    struct pod *large = add(b, "large", POD_RUNNING, 8 * MIB);
    unsigned ticks = 1;
    char name[32];

    for (int i = 0; i < 12000; i++) {
        snprintf(name, sizeof(name), "root/work/%d", i % 40);
        char file[32];
        snprintf(file, sizeof(file), "f%d", i);
        write_at(files, name, file, 0);
    }
    for (; pods_disk_tick(&b->pods, &full); ticks++) {
        assert_int_equal(evicted(b), 0);
    }
    assert_in_range(ticks, 3, 20); /* 5000 entries each */
    assert_string_equal(large->reason, "Evicted");
    assert_non_null(strstr(large->message, " 8 MiB"));
    assert_false(files->failed);
}

static void test_many_small_pods(void **state) {
    struct bed *b = *state;
    char uid[32];

    for (int i = 0; i < 20; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        add(b, uid, POD_RUNNING, i == 7 ? 300 * KIB : 200 * KIB);
    }
    assert_false(pods_disk_tick(&b->pods, &little));
    assert_int_equal(evicted(b), 0);
    assert_false(pods_disk_tick(&b->pods, &full));
    assert_int_equal(evicted(b), 1);
    assert_true(((struct pod *)map_get(&b->pods.by_uid, STR("p7")))->failed);
}

/* A pod that its owner deleted with hours to end in is no shelter for itself, nor for others. */
static void test_a_pod_that_ends_slowly(void **state) {
    struct bed *b = *state;
    struct pod *slow = add(b, "slow", POD_STOPPING, 2 * MIB);

    slow->stop_grace_s = 36000;
    add(b, "other", POD_RUNNING, MIB);
    assert_false(pods_disk_tick(&b->pods, &full));
    assert_string_equal(slow->reason, "Evicted");
    assert_int_equal(slow->stop_grace_s, 10);
    assert_int_equal(evicted(b), 1);
}

static void test_a_disk_that_does_not_tell(void **state) {
    struct bed *b = *state;

    add(b, "p", POD_RUNNING, MIB);
    assert_false(pods_disk_tick(&b->pods, &(struct disk_room){0}));
    assert_int_equal(evicted(b), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pods_that_are_over_give_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_count_and_not_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_small_pods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_pod_that_ends_slowly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_disk_that_does_not_tell, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

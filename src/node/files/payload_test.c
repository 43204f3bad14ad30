/* payload_test: versions of a volume, one after the other. */
#include "node/files/payload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "node/files/files.h"

struct scene {
    char dir[64];
    struct arena a;
};

static void begin(struct scene *s) {
    snprintf(s->dir, sizeof(s->dir), "/tmp/payload-test-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    arena_init(&s->a, 1 << 20);
}

static void end(struct scene *s) {
    assert_int_equal(dir_remove(s->dir, NULL), 0);
    arena_release(&s->a);
}

static int add(struct payload *p, const char *path, const char *bytes) {
    return payload_add(p, str_of(path), str_of(bytes), 0640, NULL);
}

static void store(struct scene *s, const char *path, const char *bytes, bool keep) {
    struct payload p = {0};

    assert_int_equal(add(&p, path, bytes), 0);
    assert_int_equal(payload_store(&p, s->dir, (struct payload_owner){0}, keep, NULL), 0);
    payload_release(&p);
}

/* What a file says, read as a pod does: through the links. "" when it is not there. */
static const char *says(struct scene *s, const char *name) {
    static char text[64];
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd != -1) {
        close(fd);
    }
    text[n > 0 ? n : 0] = 0;
    return text;
}

static void one_version_follows_another(void **state) {
    struct scene s;

    begin(&s);
    store(&s, "a/b", "one", false);
    assert_string_equal(says(&s, "a/b"), "one");
    store(&s, "a/b", "two", false);
    assert_string_equal(says(&s, "a/b"), "two");
    assert_string_equal(says(&s, "..first/a/b"), "");
    store(&s, "c", "three", false); /* another key: the one before goes */
    assert_string_equal(says(&s, "a/b"), "");
    assert_string_equal(says(&s, "c"), "three");
    assert_string_equal(says(&s, "..1/a/b"), "");
    end(&s);
}

static void the_first_is_kept_where_a_part_of_it_is_mounted(void **state) {
    struct scene s;

    begin(&s);
    store(&s, "a", "one", true);
    store(&s, "a", "two", true);
    store(&s, "a", "three", true);
    assert_string_equal(says(&s, "a"), "three");
    assert_string_equal(says(&s, PAYLOAD_FIRST "/a"), "one");
    assert_string_equal(says(&s, "..1/a"), "");
    end(&s);
}

static void modes_are_as_asked(void **state) {
    struct scene s;
    struct stat st;
    char path[128];

    begin(&s);
    store(&s, "a", "one", false);
    snprintf(path, sizeof(path), "%s/a", s.dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    end(&s);
}

/* A pod that may write to the volume puts links in the way. */
static void links_lead_nowhere(void **state) {
    struct scene s, other;
    char path[128];

    begin(&s);
    begin(&other);
    store(&s, "a", "one", false);
    snprintf(path, sizeof(path), "%s/keep", other.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/..old", s.dir);
    assert_int_equal(symlink(other.dir, path), 0);
    snprintf(path, sizeof(path), "%s/..1", s.dir);
    assert_int_equal(symlink(other.dir, path), 0);
    store(&s, "a", "two", false);
    assert_string_equal(says(&s, "a"), "two");
    assert_string_equal(says(&other, "a"), "");
    snprintf(path, sizeof(path), "%s/keep", other.dir);
    assert_int_equal(access(path, F_OK), 0);
    end(&s);
    end(&other);
}

static void bad_paths_are_refused(void **state) {
    static const char *const bad[] = {"", "/a", "a/", "a//b", "..", "a/../b", "..data", "./a"};
    struct payload p = {0};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(add(&p, bad[i], "x"), ERR_INVALID);
    }
    assert_int_equal(p.files.n, 0);
}

static void content_is_told_by_its_hash(void **state) {
    struct payload a = {0}, b = {0};

    assert_int_equal(add(&a, "a", "one") || add(&b, "a", "one"), 0);
    assert_true(payload_hash(&a) == payload_hash(&b));
    assert_int_equal(add(&b, "a", "two"), 0);
    assert_int_equal(b.files.n, 1);
    assert_true(payload_hash(&a) != payload_hash(&b));
    payload_release(&a);
    payload_release(&b);
}

static void files_are_bounded(void **state) {
    struct payload p = {0};
    char name[32];

    for (int i = 0; i < PAYLOAD_FILES_MAX; i++) {
        struct str path = {name, (size_t)snprintf(name, sizeof(name), "%d", i)};
        struct payload_file f = {path, STR(""), 0600};
        assert_int_equal(payload_files_push(&p.files, f), 0);
    }
    assert_int_equal(add(&p, "more", ""), ERR_INVALID);
    p.files.v[7].path = STR("seven");
    assert_int_equal(add(&p, "seven", "again"), 0);
    assert_int_equal(p.files.n, PAYLOAD_FILES_MAX);
    payload_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_version_follows_another),
        cmocka_unit_test(the_first_is_kept_where_a_part_of_it_is_mounted),
        cmocka_unit_test(modes_are_as_asked),
        cmocka_unit_test(links_lead_nowhere),
        cmocka_unit_test(bad_paths_are_refused),
        cmocka_unit_test(files_are_bounded),
        cmocka_unit_test(content_is_told_by_its_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

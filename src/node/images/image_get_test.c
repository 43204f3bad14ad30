/* image_get: what is removed, and whose an image is meanwhile; with a podman that does what it is told to. */
#include "node/files/testbed.h"

#include "node/images/image_get.h"
#include "node/images/podman.h"
#include "node/node.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME "r.example:5000/team/app:1"
#define LATER INT64_MAX

/* ---- podman ---- */

static struct {
    bool has, gives, works; /* A; and gives it up; and answers at all */
} podman;

const char *podman_program(void) {
    return "/podman";
}

int podman_export(const char *name, const char *into, struct err *err) {
    return err_set(err, ERR_IO, "no container");
}

static int images(struct buf *out) {
    buf_c(out, podman.has ? "sha256:" A "\n" : "sha256:" B "\n");
    return 0;
}

static int image_rm(struct err *err) {
    if (!podman.has || !podman.gives) {
        return err_set(err, ERR_IO, "image not known, or in use");
    }
    podman.has = false;
    return 0;
}

int podman_run(const struct podman_call *c, struct buf *out, struct err *err) {
    if (!podman.works) {
        return err_set(err, ERR_IO, "podman failed");
    }
    if (strcmp(c->argv[0], "images") == 0) {
        return images(out);
    }
    if (strcmp(c->argv[0], "image") == 0 && strcmp(c->argv[1], "rm") == 0) {
        return image_rm(err);
    }
    buf_c(out, A "\n"); /* inspect */
    return podman.has ? 0 : err_set(err, ERR_IO, "image not known");
}

/* ---- the store ---- */

struct bed {
    char dir[PATH_LEN], pods[PATH_LEN];
    struct arena a;
    int removed;
};

static void put(const struct bed *b, const char *id, const char *text) {
    char path[PATH_LEN];

    assert_int_equal(path_join(path, b->dir, id, NULL), 0);
    assert_int_equal(dir_make(path, 0755, NULL), 0);
    assert_int_equal(file_store(path, "image.json", str_of(text), 0600, NULL), 0);
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));

    test_folder(b->dir);
    arena_init(&b->a, 64 << 20);
    assert_int_equal(path_join(b->pods, b->dir, "pods", NULL), 0);
    put(b, A, "{\"ours\":true}");
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(A), STR("one"), NULL), 0);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->dir, NULL);
    arena_release(&b->a);
    free(b);
    return 0;
}

static void on_removed(void *ctx, const struct image_entry *e) {
    ((struct bed *)ctx)->removed++;
}

static int prune(struct bed *b) {
    b->removed = 0;
    return image_get_prune(b->dir, b->pods, LATER, on_removed, b, NULL);
}

static int find(struct bed *b, const char *ns) {
    struct image i;
    return image_store_find(b->dir, STR(NAME), str_of(ns), &b->a, &i, NULL);
}

/* What podman keeps is whose it was. */
static void test_kept(void **state) {
    struct bed *b = *state;
    struct image i;

    put(b, B, "{}");
    podman.has = podman.works = true;
    podman.gives = false;
    assert_int_equal(prune(b), ERR_IO);
    assert_int_equal(b->removed, 1); /* the other one */
    assert_int_equal(image_store_read(b->dir, STR(B), &b->a, &i, NULL), ERR_NOT_FOUND);
    podman.works = false;
    assert_int_equal(prune(b), ERR_IO);
    assert_int_equal(b->removed, 0);
    assert_int_equal(find(b, "one"), 0);
    assert_int_equal(find(b, "two"), ERR_FORBIDDEN);
    assert_int_equal(image_store_owner(b->dir, STR(NAME), STR(A), STR("two")), IMAGE_OF_OTHERS);
    podman.gives = podman.works = true;
    assert_int_equal(prune(b), 0);
    assert_int_equal(b->removed, 1);
    assert_false(podman.has);
    assert_int_equal(find(b, "one"), ERR_NOT_FOUND);
}

static void test_gone_already(void **state) {
    struct bed *b = *state;

    podman.works = true;
    podman.has = podman.gives = false;
    assert_int_equal(prune(b), 0);
    assert_int_equal(b->removed, 1);
    assert_int_equal(find(b, "one"), ERR_NOT_FOUND);
}

/* One that is somebody's is podman's because of us, though it was found there: its pull was cut short. */
static void test_found(void **state) {
    struct bed *b = *state;
    struct image i;
    const char *argv[] = {"image-get", b->dir, "one", NAME, "IfNotPresent", "-", "may-pull", NULL};
    char **args = (char **)(uintptr_t)argv;

    put(b, A, "{\"ours\":false}");
    podman.has = podman.works = true;
    assert_int_equal(image_get_main(7, args), 0);
    assert_int_equal(image_store_read(b->dir, STR(A), &b->a, &i, NULL), 0);
    assert_true(i.ours);
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(A), STR(""), NULL), 0);
    put(b, A, "{\"ours\":false}");
    assert_int_equal(image_get_main(7, args), 0);
    assert_int_equal(image_store_read(b->dir, STR(A), &b->a, &i, NULL), 0);
    assert_false(i.ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone_already, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_found, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

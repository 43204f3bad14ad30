/* image_store: what names mean and to whom, what is in use, what goes. */
#include "node/files/testbed.h"

#include "node/images/image_store.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME "r.example:5000/team/app:1"

struct bed {
    char dir[PATH_LEN], pods[PATH_LEN];
    struct arena a;
};

static void put(const char *dir, const char *below, const char *name, const char *text) {
    char path[PATH_LEN];

    assert_int_equal(path_join(path, dir, below, NULL), 0);
    assert_int_equal(dir_make(path, 0755, NULL), 0);
    assert_int_equal(file_store(path, name, str_of(text), 0600, NULL), 0);
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));

    test_folder(b->dir);
    arena_init(&b->a, 64 << 20);
    assert_int_equal(path_join(b->pods, b->dir, "pods", NULL), 0);
    put(b->dir, A, "image.json",
        "{\"uid\":5,\"gid\":6,\"home\":\"/"
        "h\",\"bytes\":7,\"ours\":true,\"config\":{\"Cmd\":[\"x\"]}}");
    put(b->dir, A "/root", "f", "");
    put(b->dir, B, "image.json", "{}");
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

static int find(struct bed *b, const char *name, const char *ns, struct image *ret) {
    return image_store_find(b->dir, str_of(name), str_of(ns), &b->a, ret, NULL);
}

static void test_whose(void **state) {
    struct bed *b = *state;
    struct image i;

    assert_int_equal(find(b, NAME, "one", &i), ERR_NOT_FOUND);
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(A), STR("one"), NULL), 0);
    assert_int_equal(find(b, NAME, "one", &i), 0);
    assert_string_equal(i.id, A);
    assert_true(i.uid == 5 && i.gid == 6 && i.bytes == 7 && i.ours && str_is(i.home, "/h"));
    assert_int_equal(yyjson_arr_size(json_get(i.config, STR("Cmd"))), 1);
    assert_int_equal(find(b, NAME, "two", &i), ERR_FORBIDDEN);
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(A), STR("two"), NULL), 0);
    assert_int_equal(find(b, NAME, "one", &i), 0);
    assert_int_equal(find(b, NAME, "two", &i), 0);
    /* Another image of the same name: whoever had the old one has not shown anything for this one. */
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(B), STR("two"), NULL), 0);
    assert_int_equal(find(b, NAME, "one", &i), ERR_FORBIDDEN);
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(B), STR(""), NULL), 0);
    assert_int_equal(find(b, NAME, "three", &i), 0);
    assert_string_equal(i.id, B);
    /* Once for anyone, credentials take nothing away. */
    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(B), STR("two"), NULL), 0);
    assert_int_equal(find(b, NAME, "three", &i), 0);
}

/* What podman has by another name, or before its name is known here, is whose it would be by its own. */
static void test_owner(void **state) {
    struct bed *b = *state;
    struct str other = STR("r.example:5000/team/app@sha256:" A), name = STR(NAME);
    struct image i;

    assert_int_equal(image_store_owner(b->dir, name, STR(A), STR("one")), IMAGE_OF_ANYONE);
    assert_int_equal(image_store_claim(b->dir, name, STR("one"), NULL), 0);
    assert_int_equal(find(b, NAME, "two", &i), ERR_FORBIDDEN);
    assert_int_not_equal(find(b, NAME, "one", &i), 0);
    assert_int_equal(image_store_owner(b->dir, name, STR(A), STR("one")), IMAGE_OF_THIS);
    assert_int_equal(image_store_owner(b->dir, name, STR(A), STR("two")), IMAGE_OF_OTHERS);
    assert_int_equal(image_store_name(b->dir, name, STR(A), STR("one"), NULL), 0);
    image_store_unclaim(b->dir, name);
    assert_int_equal(image_store_claim(b->dir, name, STR("two"), NULL), 0);
    assert_int_equal(find(b, NAME, "one", &i), 0);
    assert_int_equal(find(b, NAME, "two", &i), ERR_FORBIDDEN);
    assert_int_equal(image_store_owner(b->dir, other, STR(A), STR("one")), IMAGE_OF_THIS);
    assert_int_equal(image_store_owner(b->dir, other, STR(A), STR("two")), IMAGE_OF_OTHERS);
    assert_int_equal(image_store_owner(b->dir, other, STR(B), STR("two")), IMAGE_OF_ANYONE);
    assert_int_equal(image_store_name(b->dir, STR("r.example/b:1"), STR(A), STR(""), NULL), 0);
    assert_int_equal(image_store_owner(b->dir, other, STR(A), STR("two")), IMAGE_OF_ANYONE);
    assert_int_equal(image_store_claim(b->dir, other, STR("one"), NULL), 0);
    image_store_unclaim(b->dir, other);
    assert_int_equal(find(b, "r.example:5000/team/app@sha256:" A, "two", &i), ERR_NOT_FOUND);
}

static void test_what_goes(void **state) {
    struct bed *b = *state;
    struct image_entry *v;
    struct image i;
    size_t n;

    assert_int_equal(image_store_name(b->dir, STR(NAME), STR(A), STR(""), NULL), 0);
    assert_int_equal(image_store_name(b->dir, STR("localhost/b:latest"), STR(A), STR(""), NULL), 0);
    put(b->dir, "names", "broken", "{");
    assert_int_equal(image_store_list(b->dir, &b->a, &v, &n, NULL), 0);
    assert_int_equal(n, 3); /* two names of one, and one without a name */
    put(b->pods, "u", "spec.json", "{\"lower\":\"/images/" A "/root\"}");
    assert_true(image_store_used(b->pods, STR(A)));
    assert_false(image_store_used(b->pods, STR(B)));
    put(b->pods, "u", "state.json", "{\"phase\":\"Running\"}");
    assert_true(image_store_used(b->pods, STR(A)));
    put(b->pods, "u", "state.json", "{\"phase\":\"Failed\"}");
    assert_false(image_store_used(b->pods, STR(A)));
    assert_int_equal(image_store_remove(b->dir, STR(A), NULL), 0);
    assert_int_equal(find(b, NAME, "one", &i), ERR_NOT_FOUND);
    assert_int_equal(image_store_read(b->dir, STR(A), &b->a, &i, NULL), ERR_NOT_FOUND);
    assert_int_equal(image_store_list(b->dir, &b->a, &v, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(image_store_remove(b->dir, STR("../pods"), NULL), ERR_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whose, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_goes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

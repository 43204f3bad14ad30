/* image_name: short names, tags, digests, and what is none. */
#include "base/test.h"

#include "node/images/image_name.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_whole_names(void **state) {
    static const char *const rows[][2] = {
        {"busybox", "docker.io/library/busybox:latest"},
        {"busybox:1.36", "docker.io/library/busybox:1.36"},
        {"team/app", "docker.io/team/app:latest"},
        {"index.docker.io/busybox", "docker.io/library/busybox:latest"},
        {"localhost/t", "localhost/t:latest"},
        {"localhost:5000/t:V1_x", "localhost:5000/t:V1_x"},
        {"127.0.0.1:5000/a/b-c/d__e", "127.0.0.1:5000/a/b-c/d__e:latest"},
        {"ghcr.io/a/b:t@sha256:" HEX, "ghcr.io/a/b@sha256:" HEX},
    };
    char out[IMAGE_NAME_MAX];
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_ok(image_name_full(str_of(rows[i][0]), out, &err), &err);
        assert_string_equal(out, rows[i][1]);
    }
    assert_true(image_name_local(STR("localhost/t:latest")));
    assert_false(image_name_local(STR("localhost:5000/t:latest")));
    assert_true(image_name_loopback(STR("localhost:5000/t:latest")));
    assert_true(image_name_loopback(STR("127.0.0.1:5000/t:latest")));
    assert_false(image_name_loopback(STR("docker.io/library/t:latest")));
    assert_false(image_name_loopback(STR("127.example.com/t:latest")));
    assert_str_eq(image_name_host(STR("127.0.0.1:5000/t:latest")), STR("127.0.0.1:5000"));
}

static void test_refused(void **state) {
    static const char *const rows[] = {
        "",      "-v",      "--help", "a b",       "A",          "a/../b",     "/a",
        "a/",    "a//b",    "a:",     "a:-x",      "a@sha256:1", "a@md5:" HEX, "oci-archive:/x",
        "a:b:c", "host:x/", "a\nb",   "a/.hidden", "dir:/etc",   "a%b",        "x/y=z"};
    char out[IMAGE_NAME_MAX], longer[400];
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (image_name_full(str_of(rows[i]), out, &err) != ERR_INVALID) {
            fail_msg("\"%s\" passed", rows[i]);
        }
    }
    memset(longer, 'a', sizeof(longer));
    assert_int_equal(image_name_full(str_from(longer, sizeof(longer)), out, &err), ERR_INVALID);
}

/* What podman would take for its own store, a folder or an archive. */
static void test_no_registry(void **state) {
    static const char *const rows[] = {"containers-storage:r.example/a",
                                       "containers-storage:5000/a", "dir:x/a", "r.example:/a",
                                       "a:1:2/b"};
    char out[IMAGE_NAME_MAX];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (image_name_full(str_of(rows[i]), out, NULL) != ERR_INVALID) {
            fail_msg("\"%s\" passed", rows[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

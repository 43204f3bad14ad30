/* weights: which folders a URI may name, and how others are refused. */
#include "node/weights/weights.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "node/files/files.h"

struct bed {
    char dir[64], allowed[128];
    struct arena arena;
};

static int setup(void **state) {
    static struct bed b;
    char path[256];

    snprintf(b.dir, sizeof(b.dir), "/tmp/berth-weights-XXXXXX");
    assert_non_null(mkdtemp(b.dir));
    snprintf(b.allowed, sizeof(b.allowed), "%s/models", b.dir);
    assert_int_equal(mkdir(b.allowed, 0755), 0);
    snprintf(path, sizeof(path), "%s/llama", b.allowed);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/out", b.allowed);
    assert_int_equal(symlink("/usr", path), 0);
    arena_init(&b.arena, 1 << 20);
    *state = &b;
    return 0;
}

static int teardown(void **state) {
    struct bed *b = *state;

    arena_release(&b->arena);
    return dir_remove(b->dir, NULL);
}

static int find(struct bed *b, const char *uri, const char *more, const char *allowed,
                struct str *ret, struct err *err) {
    struct str text = arena_f(&b->arena,
                              "{\"metadata\":{\"annotations\":{\"" WEIGHTS_URI "\":\"%s\"}},"
                              "\"container\":{\"volumeMounts\":[%s]}}",
                              uri, more);
    yyjson_doc *doc;

    assert_ok(json_parse(&b->arena, text, &doc, err), err);
    yyjson_val *pod = yyjson_doc_get_root(doc);
    return weights_source(pod, json_path(pod, "container"), allowed, &b->arena, ret, err);
}

static void test_folder(void **state) {
    struct bed *b = *state;
    struct str got = STR("x"), want = arena_f(&b->arena, "%s/llama", b->allowed);
    struct err err = {0};
    const char *uri = arena_f(&b->arena, "file://%s/llama", b->allowed).p;

    assert_ok(find(b, uri, "", b->allowed, &got, &err), &err);
    assert_str_eq(got, want);
    assert_ok(find(b, "", "", b->allowed, &got, &err), &err);
    assert_int_equal(got.n, 0);
}

static void refused(struct bed *b, const char *uri, const char *more, const char *allowed, int want,
                    const char *text) {
    struct err err = {0};
    struct str got = STR("x");

    assert_int_equal(find(b, uri, more, allowed, &got, &err), want);
    if (strstr(err.text, text) == NULL) {
        print_error("%s: %s\n", uri, err.text);
        fail();
    }
    assert_str_eq(got, STR("x"));
}

static void test_refused(void **state) {
    struct bed *b = *state;
    const char *llama = arena_f(&b->arena, "file://%s/llama", b->allowed).p;
    const char *links = arena_f(&b->arena, "file://%s/out/bin", b->allowed).p;
    const char *up = arena_f(&b->arena, "file://%s/../x", b->allowed).p;
    const char *beside = arena_f(&b->arena, "file://%sx", b->allowed).p;
    const char *none = arena_f(&b->arena, "file://%s/none", b->allowed).p;

    refused(b, llama, "", NULL, ERR_INVALID, "--weights DIR");
    refused(b, "file:///etc", "", b->allowed, ERR_INVALID, "lies outside");
    refused(b, beside, "", b->allowed, ERR_INVALID, "lies outside");
    refused(b, links, "", b->allowed, ERR_INVALID, "leads out");
    refused(b, up, "", b->allowed, ERR_INVALID, "whole path");
    refused(b, none, "", b->allowed, ERR_NOT_FOUND, "No such file");
    refused(b, "file://host/x", "", b->allowed, ERR_INVALID, "whole path");
    refused(b, "hf://a/b", "", b->allowed, ERR_INVALID, "downloads nothing");
    refused(b, "pvc://c/p", "", b->allowed, ERR_INVALID, "volume of the pod");
    refused(b, "llama", "", b->allowed, ERR_INVALID, "must be a file://");
    refused(b, llama, "{\"mountPath\":\"/mnt/models/\"}", b->allowed, ERR_INVALID, "already");
    refused(b, llama, "{\"mountPath\":\"/mnt/models/a\"}", b->allowed, ERR_INVALID, "already");
}

static void test_long(void **state) {
    struct bed *b = *state;
    static char uri[WEIGHTS_URI_MAX + 2] = "file:///";

    memset(uri + 8, 'a', sizeof(uri) - 9);
    refused(b, uri, "", b->allowed, ERR_INVALID, "2048");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

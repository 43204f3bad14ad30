/* pods_quota: which limits a Pod has, and when it is over one. */
#include "node/files/testbed.h"
#include "node/pods/pods_quota.h"

static const char pod_text[] =
    "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{\"sizeLimit\":\"64Ki\"}},"
    "{\"name\":\"m\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Ki\"}},"
    "{\"name\":\"free\",\"emptyDir\":{}}],\"containers\":["
    "{\"resources\":{\"limits\":{\"ephemeral-storage\":\"100Ki\"}}},"
    "{\"resources\":{\"limits\":{\"ephemeral-storage\":\"100Ki\"}}}]}}";

static struct pod_quota *quota(struct arena *a, const char *text) {
    yyjson_doc *doc;
    struct err err;

    assert_ok(json_parse(a, str_of(text), &doc, &err), &err);
    return pod_quota_new(yyjson_doc_get_root(doc));
}

static void fill(const char *dir, const char *folder, const char *name, size_t n) {
    char path[PATH_LEN];
    char *bytes = calloc(1, n);
    struct err err;

    memset(bytes, 1, n);
    snprintf(path, sizeof(path), "%.500s/%.300s", dir, folder);
    assert_ok(dir_make(path, 0755, &err), &err);
    assert_ok(file_store(path, name, str_from(bytes, n), 0600, &err), &err);
    free(bytes);
}

/* Goes round a few times with so many steps a time: which part was over, or NULL. */
static const char *measure(struct pod_quota *q, const char *dir, unsigned steps) {
    uint64_t bytes;

    for (int i = 0; i < 200; i++) {
        const struct pod_quota_part *p = pod_quota_on(q, dir, steps, &bytes);
        if (p) {
            assert_true(bytes > p->most);
            return p->volume;
        }
    }
    return NULL;
}

static void test_over(void **state) {
    char dir[PATH_LEN];
    struct arena a;

    test_folder(dir);
    arena_init(&a, 1 << 20);
    struct pod_quota *q = quota(&a, pod_text);
    assert_non_null(q);
    assert_int_equal(q->n, 2);
    fill(dir, "root/volumes/a", "f", 40 << 10);
    fill(dir, "root/volumes/free", "f", 80 << 10);
    assert_null(measure(q, dir, 1000));
    assert_null(measure(q, dir, 1));
    fill(dir, "root/volumes/a", "g", 40 << 10);
    assert_string_equal(measure(q, dir, 2), "a");
    fill(dir, "log/main", "0.log", 80 << 10);
    pod_quota_free(q);
    q = quota(&a, pod_text);
    assert_string_equal(measure(q, dir, 1000), "");
    pod_quota_free(q);
    arena_release(&a);
    dir_remove(dir, NULL);
}

static void test_none(void **state) {
    struct arena a;

    arena_init(&a, 1 << 20);
    assert_null(quota(&a,
                      "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"containers\":[{"
                      "\"resources\":{\"limits\":{\"ephemeral-storage\":\"1Ki\"}}},{}]}}"));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of webhooks: paths are found again, names are told apart, and what is printed has every row once. */
#include "api/webhooks.h"
#include "base/test.h"

static size_t count(struct str text, const char *what) {
    size_t n = 0;
    struct str w = str_of(what);
    for (size_t i = 0; i + w.n <= text.n; i++) {
        n += memcmp(text.p + i, w.p, w.n) == 0;
    }
    return n;
}

static void paths(void **state) {
    size_t n;
    const struct webhook *all = webhooks_all(&n);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(webhook_by_path(str_of(all[i].path)), &all[i]);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(all[i].name, all[j].name);
        }
        assert_true(all[i].ops != 0);
    }
    assert_null(webhook_by_path(STR("/mutate-batch-v1-jobs")));
    assert_string_equal(webhook_by_path(STR("/mutate--v1-pod"))->plural, "pods");
}

static void written(void **state) {
    size_t n;
    (void)webhooks_all(&n);
    struct buf b;
    buf_init(&b, 0);
    webhooks_write(STR("{{ .Release.Namespace }}"), &b);
    assert_int_equal(buf_ok(&b), 0);
    struct str text = buf_view(&b);
    assert_int_equal(count(text, "---\n"), 2);
    assert_int_equal(count(text, "- name: m") + count(text, "- name: v"), n);
    assert_int_equal(count(text, "failurePolicy: Fail"), n);
    assert_true(count(text, "values: [kube-system, {{ .Release.Namespace }}]") > 20);
    assert_int_equal(count(text, "resources: [workloads, workloads/status]"), 1);
    assert_int_equal(
        count(text, "operations: [CREATE, UPDATE]") + count(text, "operations: [CREATE]"), n);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths), cmocka_unit_test(written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

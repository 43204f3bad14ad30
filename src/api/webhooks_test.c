/* Tests of webhooks: paths are found again, names are told apart, and what is printed tells what is queued from what
 * is not. */
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

static size_t share(bool mutating, bool own_kind) {
    size_t n, found = 0;
    const struct webhook *all = webhooks_all(&n);
    for (size_t i = 0; i < n; i++) {
        found += all[i].mutating == mutating && all[i].own_kind == own_kind;
    }
    return found;
}

static void written(void **state) {
    size_t own = share(true, true) + share(false, true);
    size_t mutate = share(true, false), validate = share(false, false);
    struct buf b;
    buf_init(&b, 0);
    webhooks_write(STR("{{ .Release.Namespace }}"), &b);
    assert_int_equal(buf_ok(&b), 0);
    struct str text = buf_view(&b);
    /* Pods have four shares and two more that have rules. */
    size_t n = own + 2 * mutate + 3 + validate + 2;
    assert_int_equal(count(text, "---\n"), 2);
    assert_int_equal(count(text, "- name: m") + count(text, "- name: v"), n);
    assert_int_equal(count(text, "failurePolicy: Ignore"), mutate);
    assert_int_equal(count(text, "failurePolicy: Fail"), n - mutate);
    assert_int_equal(count(text, "values: [kube-system, {{ .Release.Namespace }}]"), n - own);
    assert_int_equal(count(text, "resources: [workloads, workloads/status]"), 1);
    assert_int_equal(count(text, "operations: [CREATE, UPDATE]") +
                         count(text, "operations: [CREATE, UPDATE, DELETE]") +
                         count(text, "operations: [CREATE]"),
                     n);
    buf_release(&b);
}

/* The webhook of this name, up to the next. */
static struct str of(struct str text, const char *name) {
    struct str at = {0};
    char line[64];
    snprintf(line, sizeof(line), "- name: %s\n", name);
    for (size_t i = 0; i + strlen(line) <= text.n; i++) {
        struct str rest = str_from(text.p + i, text.n - i);
        if (at.p == NULL && str_starts(rest, str_of(line))) {
            at = rest;
        } else if (at.p != NULL && rest.p > at.p && str_starts(rest, STR("\n- name: "))) {
            return str_from(at.p, (size_t)(rest.p - at.p));
        }
    }
    return at;
}

#define QUEUE(operator_) "- {key: kueue.x-k8s.io/queue-name, operator: " operator_ "}"

/* What is queued needs an answer; what is not needs none. */
static void a_queue_needs_an_answer(void **state) {
    static const char *const kinds[] = {"mjob", "mdeployment", "mstatefulset", "mpod", "mrayjob"};
    struct buf b;
    buf_init(&b, 0);
    webhooks_write(STR("ns"), &b);
    struct str text = buf_view(&b);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s.berth.dev", kinds[i]);
        struct str queued = of(text, name);
        assert_int_equal(count(queued, "failurePolicy: Fail"), 1);
        assert_int_equal(count(queued, QUEUE("Exists")), 1);
        snprintf(name, sizeof(name), "%s-unqueued.berth.dev", kinds[i]);
        struct str rest = of(text, name);
        assert_int_equal(count(rest, "failurePolicy: Ignore"), 1);
        assert_int_equal(count(rest, QUEUE("DoesNotExist")), 1);
        name[0] = 'v';
        assert_true(of(text, name).p == NULL);
    }
    assert_int_equal(count(of(text, "mpod-parent.berth.dev"), "pod-suspending-parent"), 1);
    assert_int_equal(count(of(text, "mpod-parent.berth.dev"), "failurePolicy: Fail"), 1);
    assert_int_equal(count(of(text, "mpod-unqueued.berth.dev"), "DoesNotExist"), 3);
    assert_int_equal(count(of(text, "mclusterqueue.berth.dev"), "objectSelector"), 0);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths), cmocka_unit_test(written),
                                       cmocka_unit_test(a_queue_needs_an_answer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

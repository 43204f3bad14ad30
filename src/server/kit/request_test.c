/* request_test: URLs to verbs, names and options. */
#include "server/kit/request.h"

#include "base/test.h"

struct row {
    const char *method, *path, *query;
    const char *verb, *group, *version, *plural, *sub, *ns, *name;
};

static const struct row rows[] = {
    {"GET", "/api/v1/pods", "", "list", "", "v1", "pods", "", "", ""},
    {"GET", "/api/v1/pods", "watch=true", "watch", "", "v1", "pods", "", "", ""},
    {"GET", "/api/v1/pods", "watch", "watch", "", "v1", "pods", "", "", ""},
    {"GET", "/api/v1/pods", "watch=0", "list", "", "v1", "pods", "", "", ""},
    {"GET", "/api/v1/watch/pods", "", "watch", "", "v1", "pods", "", "", ""},
    {"POST", "/api/v1/namespaces/a/pods", "", "create", "", "v1", "pods", "", "a", ""},
    {"GET", "/api/v1/namespaces/a/pods/p", "watch=1", "get", "", "v1", "pods", "", "a", "p"},
    {"GET", "/api/v1/namespaces/a/pods/p/log", "", "get", "", "v1", "pods", "log", "a", "p"},
    {"PUT", "/api/v1/namespaces/a/finalize", "", "update", "", "v1", "namespaces", "finalize", "a",
     "a"},
    {"DELETE", "/api/v1/namespaces/a", "", "delete", "", "v1", "namespaces", "", "a", "a"},
    {"DELETE", "/apis/batch/v1/namespaces/a/jobs", "", "deletecollection", "batch", "v1", "jobs",
     "", "a", ""},
    {"PATCH", "/apis/batch/v1/namespaces/a/jobs/x%2Dy", "", "patch", "batch", "v1", "jobs", "", "a",
     "x-y"},
};

static void verbs(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct arena a;
        struct api_request q;
        struct err err = {0};
        arena_init(&a, 1 << 20);
        assert_ok(request_parse(&a, str_of(r->method), str_of(r->path), str_of(r->query), &q, &err),
                  &err);
        assert_true(q.resource);
        assert_str_eq(q.verb_name, str_of(r->verb));
        assert_str_eq(q.group, str_of(r->group));
        assert_str_eq(q.version, str_of(r->version));
        assert_str_eq(q.plural, str_of(r->plural));
        assert_str_eq(q.subresource, str_of(r->sub));
        assert_str_eq(q.ns, str_of(r->ns));
        assert_str_eq(q.name, str_of(r->name));
        assert_non_null(q.kv);
        arena_release(&a);
    }
}

static int parse(const char *method, const char *path, const char *query, struct arena *a,
                 struct api_request *ret) {
    struct err err = {0};
    return request_parse(a, str_of(method), str_of(path), str_of(query), ret, &err);
}

static void options(void **state) {
    struct arena a;
    struct api_request q;
    arena_init(&a, 1 << 20);
    assert_int_equal(parse("GET", "/api/v1/pods",
                           "limit=500&labelSelector=a%3Db%2Cc&fieldSelector=metadata.name%3Dx&"
                           "allowWatchBookmarks=True&sendInitialEvents=false&timeoutSeconds=7",
                           &a, &q),
                     0);
    assert_int_equal(q.opt.limit, 500);
    assert_int_equal(q.opt.timeout_seconds, 7);
    assert_int_equal(q.opt.grace_seconds, -1);
    assert_str_eq(q.opt.label_selector, STR("a=b,c"));
    assert_str_eq(q.authz_name, STR("x"));
    assert_true(q.opt.allow_bookmarks && q.opt.send_initial_events.set &&
                !q.opt.send_initial_events.v);
    assert_int_equal(parse("POST", "/api/v1/namespaces/a/pods", "dryRun=All", &a, &q), 0);
    assert_true(q.opt.dry_run);
    assert_int_equal(parse("POST", "/api/v1/namespaces/a/pods", "dryRun=Some", &a, &q),
                     ERR_INVALID);
    assert_int_equal(parse("GET", "/api/v1/pods", "limit=many", &a, &q), ERR_BAD_REQUEST);
    assert_int_equal(parse("GET", "/api/v1/pods", "fieldValidation=Loud", &a, &q), ERR_INVALID);
    assert_int_equal(parse("GET", "/api/v1/pods/%zz", "", &a, &q), ERR_BAD_REQUEST);
    assert_int_equal(parse("GET", "/api/v1/namespaces/a/pods/%2e%2e", "", &a, &q), ERR_BAD_REQUEST);
    assert_int_equal(parse("HEAD", "/api/v1/pods", "", &a, &q), ERR_METHOD);
    assert_int_equal(parse("GET", "/version", "timeout=32s", &a, &q), 0);
    assert_false(q.resource);
    assert_str_eq(q.verb_name, STR("get"));
    assert_int_equal(parse("GET", "/apis/batch/v1", "", &a, &q), 0);
    assert_false(q.resource);
    arena_release(&a);
}

/* Whoever makes service accounts in a namespace, or impersonates, does not become many users by it. */
static void accounts(void **state) {
    static const char *const cases[][3] = {
        {"alice", "", "alice"},
        {"system:serviceaccount:team:a", "", "system:serviceaccount:team"},
        {"system:serviceaccount:team:b", "", "system:serviceaccount:team"},
        {"system:serviceaccount:other:a", "", "system:serviceaccount:other"},
        {"system:serviceaccount:", "", "system:serviceaccount:"},
        {"system:serviceaccount:team:a", "alice", "alice"},
        {"bob", "system:serviceaccount:team:a", "system:serviceaccount:team"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct user u = {.name = str_of(cases[i][0]), .impersonated_by = str_of(cases[i][1])};
        assert_str_eq(user_account(&u), str_of(cases[i][2]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs),
        cmocka_unit_test(options),
        cmocka_unit_test(accounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

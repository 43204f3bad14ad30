/* status_test: failures as Status objects, in the words that clients look for. */
#include "server/kit/status.h"

#include "base/test.h"

static void check(const struct failure *f, const char *want) {
    struct buf b;
    buf_init(&b, 0);
    failure_json(f, &b);
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

static void not_found(void **state) {
    struct arena a;
    struct failure f;
    arena_init(&a, 1 << 20);
    const struct kind *job = kind_by_name(STR("batch"), STR("Job"));
    assert_int_equal(failure_not_found(&f, &a, job, STR("x")), ERR_NOT_FOUND);
    check(&f, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
              "\"message\":\"jobs.batch \\\"x\\\" not found\",\"reason\":\"NotFound\",\"details\":{"
              "\"name\":\"x\",\"group\":\"batch\",\"kind\":\"jobs\"},\"code\":404}\n");
    arena_release(&a);
}

static void invalid(void **state) {
    struct arena a;
    struct failure f;
    arena_init(&a, 1 << 20);
    struct causes c = {.arena = &a};
    causes_add(&c, CAUSE_REQUIRED, STR("spec.a"), "Required value");
    causes_add(&c, CAUSE_INVALID, STR("spec.b"), "Invalid value: 1: too small");
    assert_int_equal(failure_invalid(&f, &a, "batch", "Job", STR("x"), &c), ERR_INVALID);
    assert_str_eq(f.message, STR("Job.batch \"x\" is invalid: [spec.a: Required value, spec.b: "
                                 "Invalid value: 1: too small]"));
    assert_int_equal(f.n_causes, 2);
    assert_str_eq(f.causes[0].reason, STR("FieldValueRequired"));
    assert_str_eq(f.causes[1].field, STR("spec.b"));
    arena_release(&a);
}

static void others(void **state) {
    struct arena a;
    struct failure f;
    struct err err;
    arena_init(&a, 1 << 20);
    const struct kind *map = kind_by_name(STR(""), STR("ConfigMap"));
    (void)failure_conflict(&f, &a, map, STR("x"), (struct str){0});
    assert_str_eq(f.message,
                  STR("Operation cannot be fulfilled on configmaps \"x\": the object has "
                      "been modified; please apply your changes to the latest version and "
                      "try again"));
    assert_int_equal(f.http, 409);
    failure_to_err(&f, &err);
    assert_int_equal(err.code, ERR_CONFLICT);
    (void)failure_too_many(&f);
    assert_int_equal(f.retry_after, 1);
    assert_int_equal(f.http, 429);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_found),
        cmocka_unit_test(invalid),
        cmocka_unit_test(others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

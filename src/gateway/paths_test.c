/* Tests of paths: what is passed on, and what is not reached. */
#include "gateway/paths.h"

#include "base/test.h"
#include "gateway/routes.h"

static void test_paths(void **state) {
    static const struct {
        const char *method, *path, *model, *after;
        enum paths_answer want;
    } v[] = {
        {"POST", "/v1/chat/completions", "", "", PATHS_FOUND},
        {"GET", "/v1/chat/completions", "", "", PATHS_METHOD},
        {"GET", "/v1/models", "", "", PATHS_FOUND},
        {"GET", "/v1/models/a/b", "a/b", "", PATHS_FOUND},
        {"POST", "/v1/models/m:predict", "m", ":predict", PATHS_FOUND},
        {"POST", "/v1/models/m", "", "", PATHS_METHOD},
        {"POST", "/v2/models/m/infer", "m", "/infer", PATHS_FOUND},
        {"POST", "/v2/models/a/b/versions/3/infer", "a/b", "/versions/3/infer", PATHS_FOUND},
        {"POST", "/v2/models/m/versions/..%2f../infer", "m/versions/..%2f..", "/infer",
         PATHS_FOUND},
        {"GET", "/v2/models/m/ready", "m", "/ready", PATHS_FOUND},
        {"GET", "/v2/models/m", "m", "", PATHS_FOUND},
        {"POST", "/v2/models//infer", "", "", PATHS_UNKNOWN},
        {"POST", "/v2/repository/models/m/load", "", "", PATHS_UNKNOWN},
        {"GET", "/load", "", "", PATHS_UNKNOWN},
        {"POST", "/sleep", "", "", PATHS_UNKNOWN},
        {"POST", "/v1/load_lora_adapter", "", "", PATHS_UNKNOWN},
        {"GET", "/version", "", "", PATHS_UNKNOWN},
        {"GET", "/healthz", "", "", PATHS_FOUND},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        struct paths_found f = {0};
        enum paths_answer a = paths_find(str_of(v[i].method), str_of(v[i].path), &f);
        if (a != v[i].want) {
            fail_msg("%s %s: %d", v[i].method, v[i].path, (int)a);
        }
        assert_str_eq(f.model, str_of(v[i].model));
        assert_str_eq(f.after, str_of(v[i].after));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

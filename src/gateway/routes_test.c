/* Tests of routes, keys' scopes and the file of routes. */
#include "gateway/routes.h"

#include "base/test.h"
#include "gateway/keys.h"
#include "gateway/routes_yaml.h"

static void add(struct routes *r, const char *project, const char *name, const char *alias) {
    struct err err = {0};
    struct routes_alias a = {.name = str_of(alias), .served = STR("adapter")};
    struct routes_endpoint e = {.id = 1, .address = STR("127.0.0.1"), .port = 1, .ready = true};
    struct routes_backend b = {.name = STR("x"), .weight = 1, .endpoints = &e, .n_endpoints = 1};
    struct routes_model m = {.project = str_of(project),
                             .name = str_of(name),
                             .aliases = &a,
                             .n_aliases = alias != NULL,
                             .backends = &b,
                             .n_backends = 1};
    assert_ok(routes_add(r, &m, &err), &err);
}

static void finds(const struct routes *r, const char *project, const char *name,
                  enum routes_answer want, const char *of) {
    struct routes_found f = {0};
    assert_int_equal(routes_find(r, str_of(project), str_of(name), &f), want);
    if (of) {
        assert_str_eq(f.model->project, str_of(of));
    }
}

static void test_names(void **state) {
    struct routes *r = routes_new();
    struct err err = {0};
    add(r, "a", "m", "lora");
    add(r, "b", "m", NULL);
    add(r, "b", "only/b", NULL);
    finds(r, "a", "m", ROUTES_FOUND, "a");
    finds(r, "b", "m", ROUTES_FOUND, "b");
    finds(r, "c", "m", ROUTES_AMBIGUOUS, NULL);
    finds(r, "", "m", ROUTES_AMBIGUOUS, NULL);
    finds(r, "c", "b/m", ROUTES_FOUND, "b");
    finds(r, "a", "only/b", ROUTES_FOUND, "b");
    finds(r, "a", "b/only/b", ROUTES_FOUND, "b");
    finds(r, "b", "lora", ROUTES_FOUND, "a");
    finds(r, "a", "nothing", ROUTES_UNKNOWN, NULL);
    struct routes_found f;
    routes_find(r, STR("a"), STR("lora"), &f);
    assert_str_eq(routes_served(&f, 0, STR("lora")), STR("adapter"));
    routes_find(r, STR("a"), STR("m"), &f);
    assert_str_eq(routes_served(&f, 0, STR("m")), STR("m"));
    struct routes_model twice = {.project = STR("a"), .name = STR("lora")};
    assert_int_equal(routes_add(r, &twice, &err), ERR_EXISTS);
    routes_unref(routes_ref(r));
    assert_int_equal(routes_count(r), 3);
    routes_unref(r);
}

/* It goes into requests to servers. */
static void test_served_names(void **state) {
    static const char *const bad[] = {"a b", "a\r\nHost: b", "../../sleep", "a/../b",
                                      "a\n", "..",           "a/.",         "\x7f"};
    char longest[ROUTES_NAME_MAX + 2] = "";
    memset(longest, 'x', ROUTES_NAME_MAX + 1);
    for (size_t i = 0; i <= sizeof(bad) / sizeof(*bad); i++) {
        struct str served = str_of(i < sizeof(bad) / sizeof(*bad) ? bad[i] : longest);
        struct routes_backend b = {.name = STR("x"), .weight = 1, .served = served};
        struct routes_alias a = {.name = STR("lora"), .served = served};
        struct routes_model one = {.name = STR("m"), .backends = &b, .n_backends = 1};
        struct routes_model two = {.name = STR("m"), .aliases = &a, .n_aliases = 1};
        struct routes *r = routes_new();
        struct err err = {0};
        assert_int_equal(routes_add(r, &one, &err), ERR_INVALID);
        assert_true(str_contains(str_of(err.text), STR("backends.served")));
        assert_int_equal(routes_add(r, &two, &err), ERR_INVALID);
        assert_true(str_contains(str_of(err.text), STR("aliases.served")));
        b.served = a.served = STR("org/m...\"1");
        assert_ok(routes_add(r, &one, &err), &err);
        routes_unref(r);
    }
}

static void test_keys(void **state) {
    const struct str models[] = {STR("llama*"), STR("lora")}, projects[] = {STR("shared")};
    struct routes_model m = {.project = STR("a"), .name = STR("llama-3")};
    struct routes_alias lora = {.name = STR("lora")};
    struct gateway_key k = {.project = STR("a")};
    assert_true(gateway_key_may(&k, &m, NULL));
    m.project = STR("shared");
    assert_false(gateway_key_may(&k, &m, NULL));
    k.projects = projects;
    k.n_projects = 1;
    assert_true(gateway_key_may(&k, &m, NULL));
    k.models = models;
    k.n_models = 2;
    assert_true(gateway_key_may(&k, &m, NULL));
    m.name = STR("mistral");
    assert_false(gateway_key_may(&k, &m, NULL));
    assert_true(gateway_key_may(&k, &m, &lora));
}

/* A project takes no name away from those who may not use its models. */
static void test_names_of_others(void **state) {
    const struct str projects[] = {STR("a"), STR("b")};
    struct gateway_key k = {.project = STR("home"), .projects = projects, .n_projects = 2};
    struct routes *r = routes_new();
    struct routes_found f;
    add(r, "b", "m", NULL);
    add(r, "evil", "m", NULL);
    assert_int_equal(gateway_key_find(r, NULL, STR("m"), &f), ROUTES_AMBIGUOUS);
    assert_int_equal(gateway_key_find(r, &k, STR("m"), &f), ROUTES_FOUND);
    assert_str_eq(f.model->project, STR("b"));
    assert_int_equal(gateway_key_find(r, &k, STR("evil/m"), &f), ROUTES_FOUND);
    assert_false(gateway_key_may(&k, f.model, f.alias));
    add(r, "a", "m", NULL);
    assert_int_equal(gateway_key_find(r, &k, STR("m"), &f), ROUTES_AMBIGUOUS);
    k.project = STR("a");
    assert_int_equal(gateway_key_find(r, &k, STR("m"), &f), ROUTES_FOUND);
    assert_str_eq(f.model->project, STR("a"));
    routes_unref(r);
}

static void test_file(void **state) {
    struct routes *r = NULL;
    struct err err = {0};
    assert_ok(routes_read_yaml(STR("models:\n"
                                   "- name: m\n"
                                   "  project: p\n"
                                   "  state: AtZero\n"
                                   "  limits: {requests: 10}\n"
                                   "  timeouts: {idle: 3s}\n"
                                   "  aliases: [{name: nn, served: oo}]\n"
                                   "  backends:\n"
                                   "  - weight: 9\n"
                                   "    endpoints:\n"
                                   "    - {address: '127.0.0.1:8000', zone: z, limit: 4}\n"
                                   "    - {address: '[::1]:8000', ready: false}\n"),
                               &r, &err),
              &err);
    const struct routes_model *m = routes_at(r, 0);
    assert_int_equal(m->state, ROUTES_AT_ZERO);
    assert_int_equal(m->limits.requests, 10);
    assert_int_equal(m->idle_ms, 3000);
    assert_int_equal(m->backends[0].weight, 9);
    assert_int_equal(m->backends[0].endpoints[0].limit, 4);
    assert_true(m->backends[0].endpoints[0].ready);
    assert_str_eq(m->backends[0].endpoints[1].address, STR("::1"));
    assert_false(m->backends[0].endpoints[1].ready);
    routes_unref(r);
}

static void test_bad_files(void **state) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"models: 3", "models: must be a list"},
        {"model: []", "unknown member model"},
        {"models: [{}]", "name: must be"},
        {"models: [{name: m, weight: 1}]", "models[0]: unknown member weight"},
        {"models: [{name: m}, {name: m}]", "has a model m already"},
        {"models: [{name: m, state: Up}]", "models[0].state: must be Serving"},
        {"models: [{name: m, timeouts: {idle: 3}}]", "models[0].timeouts.idle: must be a duration"},
        {"models: [{name: m, backends: [{endpoints: [{address: host:1}]}]}]", "not an IP"},
        {"models: [{name: m, backends: [{endpoints: [{}]}]}]", "endpoints[0].address: must be"},
        {"models: [{name: m, backends: [{endpoints: [{address: 1.2.3.4:5}, {address: "
         "1.2.3.4:5}]}]}]",
         "endpoints[1].address: must be another"},
        {"models: [", "line"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct routes *r = NULL;
        struct err err = {0};
        if (routes_read_yaml(str_of(bad[i].text), &r, &err) == 0 ||
            !str_contains(str_of(err.text), str_of(bad[i].says))) {
            fail_msg("%s: %s", bad[i].text, err.text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_served_names),
        cmocka_unit_test(test_keys),  cmocka_unit_test(test_names_of_others),
        cmocka_unit_test(test_file),  cmocka_unit_test(test_bad_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

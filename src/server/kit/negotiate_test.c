/* negotiate_test: Accept and Content-Type as clients send them. */
#include "server/kit/negotiate.h"

#include "base/test.h"

#define TABLES                                                                                     \
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"            \
    "g=meta.k8s.io,application/json"
#define DISCOVERY "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static int accept(const char *text, unsigned allowed, struct media *ret) {
    return negotiate_accept(str_of(text), allowed, ret, NULL);
}

static void answers(void **state) {
    struct media m;
    assert_int_equal(accept("", 0, &m), 0);
    assert_int_equal(m.shape, SHAPE_OBJECT);
    assert_int_equal(accept("*/*", 0, &m), 0);
    assert_int_equal(accept(TABLES, ACCEPT_SHAPES, &m), 0);
    assert_int_equal(m.shape, SHAPE_TABLE);
    assert_false(m.v1beta1);
    assert_int_equal(accept(TABLES, 0, &m), 0);
    assert_int_equal(m.shape, SHAPE_OBJECT);
    assert_int_equal(accept("application/vnd.kubernetes.protobuf,application/json", 0, &m), 0);
    assert_int_equal(accept("application/vnd.kubernetes.protobuf", 0, &m), ERR_NOT_ACCEPTABLE);
    assert_int_equal(accept(DISCOVERY ",application/json", ACCEPT_DISCOVERY, &m), 0);
    assert_int_equal(m.shape, SHAPE_DISCOVERY);
    assert_false(m.v1beta1);
    assert_int_equal(accept("application/json;g=apidiscovery.k8s.io;v=v2beta1;as="
                            "APIGroupDiscoveryList",
                            ACCEPT_DISCOVERY, &m),
                     0);
    assert_true(m.shape == SHAPE_DISCOVERY && m.v1beta1);
    assert_int_equal(accept("application/yaml", 0, &m), 0);
    assert_true(m.yaml);
}

static void bodies(void **state) {
    enum body_type t;
    assert_int_equal(negotiate_body(STR(""), &t, NULL), 0);
    assert_int_equal(t, BODY_JSON);
    assert_int_equal(negotiate_body(STR("application/json; charset=utf-8"), &t, NULL), 0);
    assert_int_equal(negotiate_body(STR("application/vnd.kubernetes.protobuf"), &t, NULL), 0);
    assert_int_equal(t, BODY_PROTOBUF);
    assert_int_equal(negotiate_body(STR("text/html"), &t, NULL), ERR_MEDIA_TYPE);
    assert_int_equal(negotiate_patch(STR("application/json"), false, &t, NULL), ERR_MEDIA_TYPE);
    struct str strategic = STR("application/strategic-merge-patch+json");
    assert_int_equal(negotiate_patch(strategic, false, &t, NULL), 0);
    assert_int_equal(t, BODY_STRATEGIC_PATCH);
    assert_int_equal(negotiate_patch(strategic, true, &t, NULL), ERR_MEDIA_TYPE);
}

static void tags(void **state) {
    assert_true(negotiate_etag(STR("\"a\", W/\"b\""), STR("\"b\"")));
    assert_false(negotiate_etag(STR("\"a\""), STR("\"b\"")));
    assert_false(negotiate_etag(STR(""), STR("\"b\"")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(bodies),
        cmocka_unit_test(tags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

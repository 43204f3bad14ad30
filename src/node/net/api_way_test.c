/* api_way_test: whom the API server takes a pod for. */
#include "node/net/api_way.h"

#include "base/test.h"

static uint32_t ip(const char *text) {
    uint32_t v = 0;

    assert_true(model_ip(str_of(text), &v, NULL));
    return v;
}

static void each_pod_has_a_source_of_its_own(void **state) {
    const struct router_options o = {.pods = ip("10.42.0.0"), .pods_bits = 16},
                                wide = {.pods = ip("10.0.0.0"), .pods_bits = 8},
                                narrow = {.pods = ip("10.42.1.16"), .pods_bits = 28};

    assert_int_equal(api_way_source(&o, ip("10.42.0.2")), ip("127.128.0.2"));
    assert_int_equal(api_way_source(&o, ip("10.42.255.254")), ip("127.128.255.254"));
    assert_int_equal(api_way_source(&wide, ip("10.42.0.2")), ip("127.42.0.2"));
    assert_int_equal(api_way_source(&wide, ip("10.128.0.2")), ip("127.128.0.2"));
    assert_int_equal(api_way_source(&narrow, ip("10.42.1.18")), ip("127.128.0.2"));
}

static void others_have_none(void **state) {
    const struct router_options o = {.pods = ip("10.42.0.0"), .pods_bits = 16};

    assert_int_equal(api_way_source(&o, ip("10.43.0.1")), 0);
    assert_int_equal(api_way_source(&o, ip("127.0.0.1")), 0);
}

static void who_has_most_gives_up(void **state) {
    const size_t of[] = {1, 3, 2, 3, 3, 1};

    assert_int_equal(api_way_gives_up(of, 6, 0), 4); /* the oldest of those with three */
    assert_int_equal(api_way_gives_up(of, 6, 1), 4);
    assert_int_equal(api_way_gives_up(of, 6, 2), 6); /* it would have as many itself */
    assert_int_equal(api_way_gives_up(of, 1, 0), 1);
    assert_int_equal(api_way_gives_up(of, 0, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pod_has_a_source_of_its_own),
        cmocka_unit_test(others_have_none),
        cmocka_unit_test(who_has_most_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

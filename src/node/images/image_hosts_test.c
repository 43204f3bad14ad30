/* image_hosts: who is allowed, who is refused, and what is no list. */
#include "base/test.h"

#include "node/images/image_hosts.h"

static void test_allow(void **state) {
    static const struct {
        const char *list, *host;
        bool is;
    } rows[] = {
        {"", "docker.io", true},
        {"docker.io", "docker.io", true},
        {"docker.io", "ghcr.io", false},
        {"docker.io", "docker.io.evil.org", false},
        {"docker.io", "xdocker.io", false},
        {"docker.io,ghcr.io", "ghcr.io", true},
        {"localhost", "localhost:5000", true},
        {"localhost:5000", "localhost:5001", false},
        {"localhost:5000", "localhost:5000", true},
        {"*.example.org", "a.b.example.org:5000", true},
        {"*.example.org", "example.org", false},
        {"*.example.org", ".example.org", false},
        {"*.example.org", "badexample.org", false},
        {"*.example.org:5000", "a.example.org", false},
        {"!evil.org", "docker.io", true},
        {"!evil.org", "evil.org:443", false},
        {"!evil.org", "Evil.ORG", false}, /* the same host to whoever pulls */
        {"!*.evil.org", "a.EVIL.org:443", false},
        {"docker.io", "Docker.IO", true},
        {"*.example.org,!evil.example.org", "evil.example.org", false},
        {"!evil.example.org,*.example.org", "evil.example.org", false},
        {"!evil.example.org,*.example.org", "good.example.org", true},
        {"!evil.example.org,*.example.org", "docker.io", false},
    };
    struct err err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int code = image_hosts_allow(str_of(rows[i].list), str_of(rows[i].host), &err);
        if (code != (rows[i].is ? 0 : ERR_FORBIDDEN)) {
            fail_msg("%s of \"%s\": %d", rows[i].host, rows[i].list, code);
        }
    }
    static const struct {
        const char *list, *host;
        bool allowed;
    } same[] = {
        {"a.org:443", "a.org", true},
        {"a.org", "a.org:443", true},
        {"a.org:443", "a.org:5000", false},
        {"!a.org:443", "a.org", false},
        {"*.b.org:443", "a.b.org", true},
        {"docker.io", "registry-1.docker.io", true},
        {"!docker.io", "registry-1.docker.io", false},
        {"!docker.io", "index.docker.io:443", false},
        {"registry-1.docker.io", "docker.io", true},
        {"!*.docker.io", "registry-1.docker.io", false},
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        assert_int_equal(image_hosts_allow(str_of(same[i].list), str_of(same[i].host), NULL) == 0,
                         same[i].allowed);
    }
    assert_int_equal(image_hosts_allow(STR("a.org"), STR("b.org"), &err), ERR_FORBIDDEN);
    assert_string_equal(
        err.text,
        "images may not be pulled from b.org here: the node's --image-registries does not name it");
}

static void test_check(void **state) {
    static const char *const good[] = {"docker.io", "a.org:5000,*.b.org,!c.org", "10.0.0.1:5000"};
    static const char *const bad[] = {
        "",  ",a.org", "a.org,",     "https://a.org", "a.org/x", "A.org", "*",      "a.*.org",
        "!", "a.org:", "a.org:http", ":5000",         "!!a.org", "a b",   "-a.org", "a.org:1:2"};
    static char longer[IMAGE_HOSTS_MAX + 2];
    struct err err;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_ok(image_hosts_check(str_of(good[i]), &err), &err);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (image_hosts_check(str_of(bad[i]), &err) != ERR_BAD_REQUEST) {
            fail_msg("\"%s\" passed", bad[i]);
        }
    }
    memset(longer, 'a', sizeof(longer) - 1);
    assert_int_equal(image_hosts_check(str_of(longer), &err), ERR_BAD_REQUEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allow),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

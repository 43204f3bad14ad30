/* names_test: questions to the name server, and what it makes of them. */
#include "node/net/names.h"

#include "base/test.h"

static void nothing_service(void *ctx, const struct model_service *was,
                            const struct model_service *now) {
}

static const char *const records[] = {
    "{\"key\":\"svc/a/"
    "web\",\"ip\":\"10.43.0.5\",\"ports\":[{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,"
    "\"to\":[]}]}",
    "{\"key\":\"svc/a/"
    "set\",\"ip\":\"None\",\"ports\":[{\"name\":\"db\",\"protocol\":\"TCP\",\"port\":5432,"
    "\"to\":[\"10.42.0.2:5432\",\"10.42.0.3:5432\"]}],\"hosts\":[{\"ip\":\"10.42.0.2\",\"host\":"
    "\"set-0\"},"
    "{\"ip\":\"10.42.0.3\",\"host\":\"set-1\"}]}",
    "{\"key\":\"svc/a/out\",\"ip\":\"\",\"external\":\"example.org\"}",
};

/* The answer as text: "rcode answers first-address". */
static void ask(const char *name, uint16_t type, const char *want) {
    struct net_model m = {.service = nothing_service};
    struct dns_question q = {.id = 7, .type = type};
    struct arena a;
    struct buf out;
    char got[100] = "elsewhere";

    arena_init(&a, 1 << 20);
    buf_init(&out, 0);
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        yyjson_doc *d;
        assert_int_equal(json_parse(&a, str_of(records[i]), &d, NULL), 0);
        assert_int_equal(model_put(&m, yyjson_doc_get_root(d), NULL), 0);
    }
    str_copy(str_of(name), q.name, sizeof(q.name));
    q.name_n = strlen(name);
    if (names_answer(&m, &q, 0, DNS_MESSAGE_MAX, &out)) {
        int n = out.p[7], at = snprintf(got, sizeof(got), "%d %d", out.p[3] & 15, n);
        size_t first = 12 + strlen(name) + 2 + 4; /* after the question */
        const unsigned char *r = (const unsigned char *)out.p + first + strlen(name) + 2;
        if (n && type == DNS_A && r[1] == DNS_A) {
            snprintf(got + at, sizeof(got) - (size_t)at, " %u.%u.%u.%u", r[10], r[11], r[12],
                     r[13]);
        } else if (n) {
            snprintf(got + at, sizeof(got) - (size_t)at, " type %u", r[1]);
        }
    }
    assert_string_equal(got, want);
    buf_release(&out);
    arena_release(&a);
    model_release(&m);
}

static void services_have_addresses(void **state) {
    ask("web.a.svc.cluster.local", DNS_A, "0 1 10.43.0.5");
    ask("web.a.svc.cluster.local", DNS_AAAA, "0 0");
    ask("web.b.svc.cluster.local", DNS_A, "3 0");
    ask("x.web.a.svc.cluster.local", DNS_A, "3 0");
    ask("cluster.local", DNS_A, "0 0");
    ask("nothing.cluster.local", DNS_A, "3 0");
}

static void headless_ones_have_hosts(void **state) {
    ask("set.a.svc.cluster.local", DNS_A, "0 2 10.42.0.2");
    ask("set-1.set.a.svc.cluster.local", DNS_A, "0 1 10.42.0.3");
    ask("set-2.set.a.svc.cluster.local", DNS_A, "3 0");
    ask("a.set-1.set.a.svc.cluster.local", DNS_A, "3 0");
}

static void ports_are_found(void **state) {
    ask("_http._tcp.web.a.svc.cluster.local", DNS_SRV, "0 1 type 33");
    ask("_http._udp.web.a.svc.cluster.local", DNS_SRV, "0 0");
    ask("_db._tcp.set.a.svc.cluster.local", DNS_SRV, "0 2 type 33");
    ask("_http.web.a.svc.cluster.local", DNS_SRV, "3 0");
}

static void an_alias_is_named(void **state) {
    ask("out.a.svc.cluster.local", DNS_A, "0 1 type 5");
}

static void other_names_are_not_ours(void **state) {
    ask("example.org", DNS_A, "elsewhere");
    ask("xcluster.local", DNS_A, "elsewhere");
    ask("", DNS_A, "elsewhere");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_have_addresses),  cmocka_unit_test(headless_ones_have_hosts),
        cmocka_unit_test(ports_are_found),          cmocka_unit_test(an_alias_is_named),
        cmocka_unit_test(other_names_are_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

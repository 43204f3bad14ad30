/* pod_files_test: what a pod finds in /etc. */
#include "node/spec/pod_files.h"

#include "base/test.h"

static void look(const char *spec, const char *want_hosts, const char *want_resolv) {
    struct arena a;
    struct buf b;
    yyjson_doc *d;

    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    struct str pod =
        arena_f(&a, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{%s}}", spec);
    assert_int_equal(json_parse(&a, pod, &d, NULL), 0);
    if (want_hosts) {
        pod_hosts_write(yyjson_doc_get_root(d), STR("10.42.0.9"), &b);
        assert_string_equal(buf_cstr(&b), want_hosts);
    }
    buf_reset(&b);
    if (want_resolv) {
        pod_resolv_write(yyjson_doc_get_root(d), STR("10.42.0.1"),
                         STR("nameserver 192.0.2.1\nsearch corp.example lab.example\n"), &b);
        assert_string_equal(buf_cstr(&b), want_resolv);
    }
    buf_release(&b);
    arena_release(&a);
}

#define LOCAL "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
#define CLUSTER                                                                                    \
    "search n.svc.cluster.local svc.cluster.local cluster.local corp.example lab.example"

static void hosts_have_its_own_name(void **state) {
    look("", LOCAL "10.42.0.9\tp\n", NULL);
    look("\"hostname\":\"h\",\"subdomain\":\"s\"", LOCAL "10.42.0.9\th.s.n.svc.cluster.local\th\n",
         NULL);
    look("\"hostAliases\":[{\"ip\":\"1.2.3.4\",\"hostnames\":[\"a\",\"b\"]}]",
         LOCAL "10.42.0.9\tp\n1.2.3.4\ta\tb\n", NULL);
}

static void names_are_asked_of_the_cluster_first(void **state) {
    look("", NULL, CLUSTER "\nnameserver 10.42.0.1\noptions ndots:5\n");
    look("\"dnsPolicy\":\"Default\"", NULL,
         "search corp.example lab.example\nnameserver 192.0.2.1\n");
    look("\"dnsPolicy\":\"None\",\"dnsConfig\":{\"nameservers\":[\"9.9.9.9\"],\"searches\":[\"x."
         "org\"]}",
         NULL, "search x.org\nnameserver 9.9.9.9\n");
    look("\"dnsConfig\":{\"options\":[{\"name\":\"ndots\",\"value\":\"2\"},{\"name\":\"edns0\"}]}",
         NULL, CLUSTER "\nnameserver 10.42.0.1\noptions ndots:2 edns0\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_have_its_own_name),
        cmocka_unit_test(names_are_asked_of_the_cluster_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

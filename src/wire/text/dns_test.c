/* dns_test: questions as resolvers send them, answers byte by byte. */
#include "wire/text/dns.h"

#include "base/test.h"

/* id 0x1234, RD, one question: "Web.prod.svc.cluster.local" A IN, and OPT with 4096 bytes. */
static const char asked[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01"
                            "\x03Web\x04prod\x03svc\x07"
                            "cluster\x05local\x00\x00\x01\x00\x01"
                            "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00";

static struct str whole(void) {
    return str_from(asked, sizeof(asked) - 1);
}

static void reads_a_question(void **state) {
    struct dns_question q;

    assert_int_equal(dns_read(whole(), &q), 0);
    assert_string_equal(q.name, "web.prod.svc.cluster.local");
    assert_int_equal(q.id, 0x1234);
    assert_int_equal(q.type, DNS_A);
    assert_true(q.recurse && q.edns);
    assert_int_equal(q.room, 1232);
}

static void refuses_what_is_cut(void **state) {
    struct dns_question q;

    for (size_t n = 0; n < 12; n++) {
        assert_int_equal(dns_read(str_from(asked, n), &q), ERR_SYNTAX);
    }
    for (size_t n = 12; n < 12 + 28 + 4; n++) {
        assert_int_equal(dns_read(str_from(asked, n), &q), ERR_INVALID);
        assert_int_equal(q.id, 0x1234);
    }
}

static void answers_are_not_answered(void **state) {
    char m[sizeof(asked)];
    struct dns_question q;

    memcpy(m, asked, sizeof(m));
    m[2] = (char)0x81;
    assert_int_equal(dns_read(str_from(m, sizeof(m) - 1), &q), ERR_SYNTAX);
    m[2] = 0x28; /* opcode UPDATE */
    assert_int_equal(dns_read(str_from(m, sizeof(m) - 1), &q), ERR_UNSUPPORTED);
}

static void a_pointer_is_no_label(void **state) {
    char m[sizeof(asked)];
    struct dns_question q;

    memcpy(m, asked, sizeof(m));
    m[12] = (char)0xc0;
    assert_int_equal(dns_read(str_from(m, sizeof(m) - 1), &q), ERR_INVALID);
}

static void writes_an_address(void **state) {
    static const char want[] = "\x12\x34\x85\x80\x00\x01\x00\x01\x00\x00\x00\x01"
                               "\x03web\x04prod\x03svc\x07"
                               "cluster\x05local\x00\x00\x01\x00\x01"
                               "\x03web\x04prod\x03svc\x07"
                               "cluster\x05local\x00\x00\x01\x00\x01"
                               "\x00\x00\x00\x05\x00\x04\x0a\x2b\x00\x07"
                               "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";
    struct dns_question q;
    struct dns_answer a;
    struct buf b;

    buf_init(&b, 0);
    assert_int_equal(dns_read(whole(), &q), 0);
    dns_begin(&a, &b, &q, DNS_OK, true, q.room);
    dns_a(&a, str_from(q.name, q.name_n), 5, 0x0a2b0007);
    assert_int_equal(dns_end(&a, &q), 0);
    assert_int_equal(b.n, sizeof(want) - 1);
    assert_memory_equal(b.p, want, b.n);
    buf_release(&b);
}

static void what_has_no_room_is_cut(void **state) {
    struct dns_question q;
    struct dns_answer a;
    struct buf b;

    buf_init(&b, 0);
    assert_int_equal(dns_read(whole(), &q), 0);
    dns_begin(&a, &b, &q, DNS_OK, true, DNS_UDP_PLAIN);
    for (uint32_t i = 0; i < 100; i++) {
        dns_a(&a, str_from(q.name, q.name_n), 5, i);
    }
    assert_int_equal(dns_end(&a, &q), 0);
    assert_true(b.n <= DNS_UDP_PLAIN && b.n > DNS_UDP_PLAIN - 60);
    assert_true(b.p[2] & 2);
    assert_int_equal(b.p[7], a.answers);
    buf_release(&b);
}

static void addresses_are_read_past_pointers(void **state) {
    static const char told[] = "\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00"
                               "\x03www\x01"
                               "b\x00\x00\x01\x00\x01"
                               "\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x05\x00\x02\xc0\x10"
                               "\xc0\x10\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x0a\x01\x02\x03";
    uint32_t ip[2];

    assert_int_equal(dns_read_addresses(str_from(told, sizeof(told) - 1), ip, 2), 1);
    assert_int_equal(ip[0], 0x0a010203);
    for (size_t n = 0; n < sizeof(told) - 1; n++) {
        assert_int_equal(dns_read_addresses(str_from(told, n), ip, 2), 0);
    }
}

static void no_such_name_says_for_how_long(void **state) {
    struct dns_question q;
    struct dns_answer a;
    struct buf b;

    buf_init(&b, 0);
    assert_int_equal(dns_read(whole(), &q), 0);
    dns_begin(&a, &b, &q, DNS_NXDOMAIN, true, q.room);
    dns_soa(&a, STR("cluster.local"), 5);
    assert_int_equal(dns_end(&a, &q), 0);
    assert_int_equal(b.p[3] & 15, DNS_NXDOMAIN);
    assert_int_equal(b.p[9], 1);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_question),
        cmocka_unit_test(refuses_what_is_cut),
        cmocka_unit_test(answers_are_not_answered),
        cmocka_unit_test(a_pointer_is_no_label),
        cmocka_unit_test(writes_an_address),
        cmocka_unit_test(what_has_no_room_is_cut),
        cmocka_unit_test(addresses_are_read_past_pointers),
        cmocka_unit_test(no_such_name_says_for_how_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of protobuf: wire types, every way of being cut off, Kubernetes' envelope. */
#include "base/test.h"
#include "wire/protobuf.h"

#define BYTES(lit) str_from("" lit, sizeof(lit) - 1)

static void test_fields(void **state) {
    /* 1: varint 150; 2: "ab"; 3: fixed32 1; 4: fixed64 1.5; 5: varint -1; 536870911: empty */
    struct pb r = pb_of(BYTES("\x08\x96\x01"
                              "\x12\x02"
                              "ab"
                              "\x1d\x01\x00\x00\x00"
                              "\x21\x00\x00\x00\x00\x00\x00\xf8\x3f"
                              "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                              "\xfa\xff\xff\xff\x0f\x00"));
    struct pb_field f;
    assert_true(pb_next(&r, &f) && f.number == 1 && f.wire == PB_VARINT && f.value == 150);
    assert_true(pb_next(&r, &f) && f.number == 2 && str_is(f.bytes, "ab"));
    assert_true(pb_next(&r, &f) && f.number == 3 && f.wire == PB_FIXED32 && f.value == 1);
    assert_true(pb_next(&r, &f) && f.number == 4 && pb_double(&f) == 1.5);
    assert_true(pb_next(&r, &f) && f.number == 5 && pb_i64(&f) == -1);
    assert_true(pb_next(&r, &f) && f.number == 536870911 && f.bytes.n == 0);
    assert_false(pb_next(&r, &f));
    assert_null(r.bad);
}

static void test_malformed(void **state) {
    struct str bad[] = {
        BYTES("\x08"),                                             /* no value */
        BYTES("\x08\x80"),                                         /* varint cut off */
        BYTES("\x80"),                                             /* key cut off */
        BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),     /* 65 bits */
        BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* 11 bytes */
        BYTES("\x12\x03"
              "ab"),                                           /* length beyond the end */
        BYTES("\x12"),                                         /* no length */
        BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* length 2^64-1 */
        BYTES("\x1d\x01\x00\x00"),                             /* fixed32 cut off */
        BYTES("\x21\x01\x00\x00"),                             /* fixed64 cut off */
        BYTES("\x00\x00"),                                     /* field 0 */
        BYTES("\x0b\x0c"),                                     /* groups */
        BYTES("\x0e"),
        BYTES("\x0f"),                     /* wire types 6 and 7 */
        BYTES("\x82\x80\x80\x80\x10\x00"), /* field 2^29 */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct pb r = pb_of(bad[i]);
        struct pb_field f;
        assert_false(pb_next(&r, &f));
        assert_non_null(r.bad);
        assert_false(pb_next(&r, &f)); /* sticky */
    }
    struct pb none = pb_of((struct str){NULL, 0});
    struct pb_field f;
    assert_false(pb_next(&none, &f));
    assert_null(none.bad);
}

static void test_packed_and_zigzag(void **state) {
    struct pb r = pb_of(BYTES("\x01\x02\x03"));
    uint64_t v;
    assert_true(pb_varint(&r, &v) && pb_zigzag(v) == -1);
    assert_true(pb_varint(&r, &v) && pb_zigzag(v) == 1);
    assert_true(pb_varint(&r, &v) && pb_zigzag(v) == -2);
    assert_false(pb_varint(&r, &v));
    assert_null(r.bad);
}

static void test_envelope(void **state) {
    struct pb_envelope e;
    struct err err = {0};
    assert_ok(pb_envelope(BYTES("k8s\0"
                                "\x0a\x0f\x0a\x02v1\x12\x09Namespace"
                                "\x12\x03raw\x1a\x00\x22\x00"),
                          &e, &err),
              &err);
    assert_str_eq(e.api_version, STR("v1"));
    assert_str_eq(e.kind, STR("Namespace"));
    assert_str_eq(e.raw, STR("raw"));
    assert_int_equal(pb_envelope(STR("{}"), &e, &err), ERR_SYNTAX);
    assert_int_equal(pb_envelope(BYTES("k8s\0\x0a\x05\x0a"), &e, &err), ERR_SYNTAX);
    assert_int_equal(pb_envelope(BYTES("k8s\0\x0a\x02\x0a\x7f"), &e, &err), ERR_SYNTAX);
    assert_str_eq(e.raw, STR("raw")); /* untouched */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_packed_and_zigzag),
        cmocka_unit_test(test_envelope),
    };
    return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}

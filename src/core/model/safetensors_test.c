/* safetensors_test: headers that are right, and each way in which one can be wrong. */
#include "core/model/safetensors.h"

#include "base/test.h"

static struct arena arena;

static int setup(void **state) {
    arena_init(&arena, 16 << 20);
    return 0;
}

static int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

static int read_header(const char *json, int64_t data, struct safetensors *ret, struct err *err) {
    return safetensors_read(&arena, str_of(json), data, ret, err);
}

static void length(void **state) {
    struct err err = {0};
    int64_t n = 0;
    assert_ok(safetensors_length(str_from("\x10\0\0\0\0\0\0\0", 8), 100, &n, &err), &err);
    assert_int_equal(n, 16);
    assert_int_equal(safetensors_length(str_from("\x10\0\0", 3), 100, &n, &err), ERR_SYNTAX);
    assert_int_equal(safetensors_length(str_from("\x5d\0\0\0\0\0\0\0", 8), 100, &n, &err),
                     ERR_SYNTAX);
    assert_int_equal(
        safetensors_length(str_from("\xff\xff\xff\xff\xff\xff\xff\xff", 8), INT64_MAX, &n, &err),
        ERR_SYNTAX);
    assert_int_equal(safetensors_length(str_from("\0\0\0\x10\0\0\0\0", 8), INT64_MAX, &n, &err),
                     ERR_TOO_LARGE);
    assert_int_equal(n, 16);
}

static void sums(void **state) {
    struct safetensors s;
    struct err err = {0};
    assert_ok(read_header("{\"__metadata__\":{\"format\":\"pt\"},"
                          "\"b\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[12,16]},"
                          "\"a\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
                          "\"c\":{\"dtype\":\"F4\",\"shape\":[2,2],\"data_offsets\":[16,18]},"
                          "\"d\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[16,16]},"
                          "\"e\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[18,22]}}",
                          22, &s, &err),
              &err);
    assert_int_equal(s.n, 5);
    assert_int_equal(s.bytes, 22);
    assert_int_equal(s.elements, 6 + 4 + 4 + 0 + 1);
    assert_str_eq(s.v[0].name, STR("a"));
    assert_ok(read_header("{}", 0, &s, &err), &err);
    assert_int_equal(s.bytes, 0);
}

static void wrong(void **state) {
    static const struct {
        const char *json, *says;
        int code;
        int64_t data;
    } cases[] = {
        {"", "begins", ERR_SYNTAX, 0},
        {" {}", "begins", ERR_SYNTAX, 0},
        {"{\"a\":3}", "dtype", ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"F5\",\"shape\":[1],\"data_offsets\":[0,1]}}", "dtype", ERR_INVALID,
         -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", "shape", ERR_INVALID,
         -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,1]}}",
         "shape", ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,1]}}",
         "do not hold", ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", "from <= to",
         ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", "from <= to", ERR_INVALID,
         -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", "do not hold",
         ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", "lie before",
         ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         "another's", ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
         "twice", ERR_INVALID, -1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", "cut short",
         ERR_INVALID, 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", "longer", ERR_INVALID,
         3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct safetensors s = {.n = 77};
        struct err err = {0};
        int code = read_header(cases[i].json, cases[i].data, &s, &err);
        if (code != cases[i].code || strstr(err.text, cases[i].says) == NULL) {
            print_error("%s: %d \"%s\"\n", cases[i].json, code, err.text);
            fail();
        }
        assert_int_equal(s.n, 77);
    }
}

static void in_parts(void **state) {
    struct safetensors_index x;
    struct err err = {0};
    assert_ok(
        safetensors_index_read(&arena,
                               STR("{\"metadata\":{\"total_size\":16060522496},\"weight_map\":{"
                                   "\"b\":\"m-2.safetensors\",\"a\":\"m-1.safetensors\","
                                   "\"c\":\"m-2.safetensors\"}}"),
                               &x, &err),
        &err);
    assert_int_equal(x.total_bytes, 16060522496);
    assert_int_equal(x.n, 2);
    assert_str_eq(x.files[1], STR("m-2.safetensors"));
    assert_int_equal(safetensors_index_read(&arena, STR("{}"), &x, &err), ERR_INVALID);
    assert_int_equal(safetensors_index_read(&arena, STR("{\"weight_map\":{\"a\":1}}"), &x, &err),
                     ERR_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(length, setup, teardown),
        cmocka_unit_test_setup_teardown(sums, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(in_parts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

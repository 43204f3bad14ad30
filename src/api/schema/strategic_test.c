/* Tests of strategic merge patch by field tables: which lists merge, and by what. */
#include "api/schema/strategic.h"
#include "base/test.h"

static const struct field container_fields[] = {{.json = "name", .type = FIELD_STRING}};
static const struct schema container = {"container", container_fields, 1, 0, NULL};
static const struct field root_fields[] = {
    {.json = "containers",
     .type = FIELD_OBJECT,
     .shape = FIELD_LIST,
     .flags = FIELD_F_MERGE,
     .of = &container,
     .merge_key = "name"},
    {.json = "finalizers", .type = FIELD_STRING, .shape = FIELD_LIST, .flags = FIELD_F_MERGE},
    {.json = "args", .type = FIELD_STRING, .shape = FIELD_LIST},
    {.json = "template", .type = FIELD_OBJECT, .of = &container},
};
static const struct schema root = {"root", root_fields, 4, 0, NULL};

static void test_lists_by_table(void **state) {
    struct arena a;
    struct buf b;
    yyjson_mut_doc *d;
    yyjson_doc *p;
    struct err err = {0};
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    assert_ok(json_parse_mut(&a,
                             STR("{\"containers\":[{\"name\":\"a\",\"x\":1}],\"finalizers\":[\"f\"]"
                                 ",\"args\":[\"1\"],"
                                 "\"unknown\":[{\"name\":\"a\"}],\"template\":{\"name\":\"t\"}}"),
                             &d, &err),
              &err);
    assert_ok(json_parse(&a,
                         STR("{\"containers\":[{\"name\":\"a\",\"y\":2}],\"finalizers\":[\"g\"],"
                             "\"args\":[\"2\"],"
                             "\"unknown\":[{\"name\":\"b\"}],\"template\":{\"z\":1}}"),
                         &p, &err),
              &err);
    assert_ok(api_patch_strategic(&root, d, yyjson_doc_get_root(p), &err), &err);
    json_write_mut(&b, d->root);
    assert_str_eq(
        buf_view(&b),
        STR("{\"containers\":[{\"name\":\"a\",\"x\":1,\"y\":2}],\"finalizers\":[\"g\",\"f\"],"
            "\"args\":[\"2\"],\"unknown\":[{\"name\":\"b\"}],\"template\":{\"name\":\"t\",\"z\":1}"
            "}"));
    buf_release(&b);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists_by_table)};
    return cmocka_run_group_tests_name("strategic", tests, NULL, NULL);
}

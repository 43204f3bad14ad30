/* json_fixture (wire): an arena that each test has for itself, and JSON in it, for tests. */
#ifndef BERTH_WIRE_JSON_FIXTURE_H
#define BERTH_WIRE_JSON_FIXTURE_H

#include "base/test.h"
#include "wire/json/json.h"

#define FIXTURE __attribute__((unused)) static

FIXTURE struct arena arena;

FIXTURE int setup(void **state) {
    arena_init(&arena, 512 << 20);
    return 0;
}

FIXTURE int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

FIXTURE yyjson_val *parse(const char *text) {
    yyjson_doc *doc = NULL;
    struct err err = {0};
    assert_ok(json_parse(&arena, str_of(text), &doc, &err), &err);
    return yyjson_doc_get_root(doc);
}

FIXTURE yyjson_mut_doc *parse_mut(const char *text) {
    yyjson_mut_doc *doc = NULL;
    struct err err = {0};
    assert_ok(json_parse_mut(&arena, str_of(text), &doc, &err), &err);
    return doc;
}

FIXTURE void assert_text(yyjson_mut_doc *d, const char *want) {
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, d->root);
    assert_int_equal(buf_ok(&b), 0);
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

#endif

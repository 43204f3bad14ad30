/* status_notes: what a write of a status may annotate. */
#include "server/kit/status_notes.h"

#include "base/test.h"

static void check(const char *was, const char *now, const char *want) {
    struct arena a;
    struct err err = {0};
    struct buf b;
    yyjson_mut_doc *d = NULL, *n = NULL;
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    assert_ok(json_parse_mut(&a, str_of(was), &d, &err), &err);
    assert_ok(json_parse_mut(&a, str_of(now), &n, &err), &err);
    yyjson_mut_val *notes = yyjson_mut_val_mut_copy(d, yyjson_mut_doc_get_root(n));
    assert_int_equal(status_notes(d, notes, yyjson_mut_doc_get_root(d)), 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
    arena_release(&a);
}

#define WITH(notes_) "{\"metadata\":{\"name\":\"x\",\"annotations\":" notes_ "}}"
#define BARE "{\"metadata\":{\"name\":\"x\"}}"

static void notes_are_written(void **state) {
    check(BARE, "{\"a\":\"1\"}", WITH("{\"a\":\"1\"}"));
    check(WITH("{\"a\":\"1\",\"b\":\"2\"}"), "{\"a\":\"3\"}", WITH("{\"a\":\"3\"}"));
    check(WITH("{\"a\":\"1\"}"), "{}", BARE);
}

static void what_steers_stays(void **state) {
    check(WITH("{\"openshift.io/sa.scc.uid-range\":\"1/1\"}"),
          "{\"openshift.io/sa.scc.uid-range\":\"0/9\",\"a\":\"1\"}",
          WITH("{\"openshift.io/sa.scc.uid-range\":\"1/1\",\"a\":\"1\"}"));
    check(WITH("{\"berth.dev/x\":\"1\"}"), "{}", WITH("{\"berth.dev/x\":\"1\"}"));
    check(BARE, "{\"x.kueue.x-k8s.io/y\":\"1\",\"notberth.dev/z\":\"2\"}",
          WITH("{\"notberth.dev/z\":\"2\"}"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_are_written),
        cmocka_unit_test(what_steers_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

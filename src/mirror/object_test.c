/* Tests of object: canonical bytes in and out, the head, hostile and odd input, no memory. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"
#include "mirror/fake_kind.h"

#define META "\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u-1\""
#define START "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"

static struct object *make(const char *json) {
    struct object *o = NULL;
    struct err err = {0};
    assert_ok(object_new(&fake_job, str_of(json), &o, &err), &err);
    return o;
}

static void assert_emits(const struct object *o, const char *whole, const char *item) {
    struct buf b;
    buf_init(&b, 0);
    object_emit(o, &b);
    assert_str_eq(buf_view(&b), str_of(whole));
    buf_reset(&b);
    object_emit_item(o, &b);
    assert_str_eq(buf_view(&b), str_of(item));
    buf_release(&b);
}

static void test_canonical(void **state) {
    struct object *o = make(START META "},\"spec\":{\"x\":[1,\"}]\"]}}");
    o->rv = 7;
    assert_str_eq(o->json, STR(START META "},\"spec\":{\"x\":[1,\"}]\"]}}"));
    assert_emits(o, START "\"resourceVersion\":\"7\"," META "},\"spec\":{\"x\":[1,\"}]\"]}}",
                 "{\"metadata\":{\"resourceVersion\":\"7\"," META "},\"spec\":{\"x\":[1,\"}]\"]}}");
    assert_true(o->name.p > o->json.p && o->name.p < o->json.p + o->json.n);
    object_unref(o);
}

static void test_made_canonical(void **state) {
    struct object *o = make("{ \"spec\":{\"a\":1}, \"metadata\":{\"n\\u0061me\":\"a\", "
                            "\"resourceVersion\":\"41\",\"uid\":\"u\\/1\"} }");
    assert_str_eq(o->json, STR(START "\"name\":\"a\",\"uid\":\"u/1\"},\"spec\":{\"a\":1}}"));
    assert_true(o->rv == 41);
    assert_str_eq(o->name, STR("a"));
    assert_str_eq(o->uid, STR("u/1"));
    object_unref(o);
}

static void test_head(void **state) {
    struct object *o = make(
        START META
        ",\"labels\":{\"app\":\"x\",\"q\":\"a\\\"b\\n\"},\"generation\":3,"
        "\"creationTimestamp\":\"1970-01-01T00:00:05Z\",\"deletionTimestamp\":null,"
        "\"finalizers\":[\"a/b\",\"c\"],\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"K\","
        "\"name\":\"o\",\"uid\":\"o-1\"},{\"uid\":\"o-2\",\"controller\":true,"
        "\"blockOwnerDeletion\":true}],\"annotations\":{\"name\":\"not me\"}},\"spec\":{}}");
    assert_str_eq(o->name, STR("a"));
    assert_str_eq(o->ns, STR("n"));
    assert_int_equal(o->labels.n, 2);
    assert_str_eq(object_label(o, STR("app")), STR("x"));
    assert_str_eq(object_label(o, STR("q")), STR("a\"b\n"));
    assert_str_eq(object_label(o, STR("none")), STR(""));
    assert_int_equal(o->generation, 3);
    assert_true(o->created_ns == 5 * NS_PER_SEC && o->deleting_ns == 0);
    assert_int_equal(o->n_finalizers, 2);
    assert_int_equal(o->n_owners, 2);
    assert_str_eq(o->owners[0].kind, STR("K"));
    assert_ptr_equal(object_controller(o), &o->owners[1]);
    assert_true(o->owners[1].block && !o->owners[0].controller);
    object_unref(o);
}

static void test_refused(void **state) {
    const char *bad[] = {
        "",
        "[]",
        "{}",
        "{\"metadata\":{}}",
        "{\"metadata\":{\"name\":\"\"}}",
        "{\"metadata\":[]}",
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}",
        START META "}",
        START META ",",
        START "\"name\":\"a\",\"creationTimestamp\":\"yesterday\"}}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct object *o = (void *)bad;
        struct err err = {0};
        assert_int_equal(object_new(&fake_job, str_of(bad[i]), &o, &err), ERR_SYNTAX);
        assert_true(err.text[0] && o == (void *)bad);
    }
    char *big = mem_alloc(LIMIT_OBJECT_BYTES + 100);
    memset(big, 'x', LIMIT_OBJECT_BYTES + 100);
    memcpy(big, START META ",\"a\":\"", strlen(START META ",\"a\":\""));
    memcpy(big + LIMIT_OBJECT_BYTES + 97, "\"}}", 3);
    struct object *o;
    assert_int_equal(object_new(&fake_job, str_from(big, LIMIT_OBJECT_BYTES + 100), &o, NULL),
                     ERR_TOO_LARGE);
    mem_free(big);
}

/* What was put together and not parsed: as deep as can be read again, and a level more. */
static void test_deep(void **state) {
    for (size_t levels = LIMIT_JSON_DEPTH; levels <= LIMIT_JSON_DEPTH + 1; levels++) {
        struct arena a;
        yyjson_mut_doc *d = NULL;
        struct object *o = NULL, *again = NULL;
        struct err err = {0};
        arena_init(&a, 1 << 20);
        assert_ok(json_parse_mut(&a, STR(START META "}}"), &d, &err), &err);
        yyjson_mut_val *at = yyjson_mut_doc_get_root(d);
        for (size_t i = 1; i < levels; i++) {
            yyjson_mut_val *below = i % 2 ? yyjson_mut_arr(d) : yyjson_mut_obj(d);
            yyjson_mut_is_obj(at) ? (void)yyjson_mut_obj_add_val(d, at, "x", below)
                                  : (void)yyjson_mut_arr_append(at, below);
            at = below;
        }
        int code = object_new_mut(&fake_job, yyjson_mut_doc_get_root(d), &o, &err);
        assert_int_equal(code, levels > LIMIT_JSON_DEPTH ? ERR_TOO_LARGE : 0);
        if (code == 0) {
            assert_ok(object_new(&fake_job, o->json, &again, &err), &err);
        }
        object_unref(o);
        object_unref(again);
        arena_release(&a);
    }
}

/* Every prefix and every changed byte of a good object is refused or read without touching what is not there. */
static void test_damaged(void **state) {
    static const char good[] = START META ",\"labels\":{\"a\":\"b\\\\\"},\"finalizers\":[\"x\"],"
                                          "\"ownerReferences\":[{\"uid\":\"z\"}]},\"d\":[{}]}";
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        for (size_t c = 0; c < 8; c++) {
            char *copy = mem_alloc(sizeof(good) - 1);
            memcpy(copy, good, sizeof(good) - 1);
            copy[i] = "\"\\{}[],x"[c];
            struct object *o;
            if (object_new(&fake_job, str_from(copy, sizeof(good) - 1), &o, NULL) == 0) {
                object_unref(o);
            }
            assert_int_not_equal(object_new(&fake_job, str_from(copy, i), &o, NULL), 0);
            mem_free(copy);
        }
    }
}

static void test_no_memory(void **state) {
    for (uint64_t nth = 1;; nth++) {
        struct object *o = NULL;
        mem_fault(nth, 0);
        int code = object_new(&fake_job, STR(" {\"metadata\":{" META "}}"), &o, NULL);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        object_unref(o);
        if (!hit) {
            assert_int_equal(code, 0);
            break;
        }
        assert_true(code == ERR_NOMEM || code == 0); /* some are only to save memory */
    }
}

static void test_tree(void **state) {
    struct object *o = make(START META "}}");
    o->rv = 12;
    struct arena a;
    arena_init(&a, 1 << 20);
    yyjson_doc *d;
    struct err err;
    assert_ok(object_tree(o, &a, &d, &err), &err);
    assert_str_eq(json_str_at(yyjson_doc_get_root(d), "metadata.resourceVersion"), STR("12"));
    arena_release(&a);
    object_unref(object_ref(o));
    object_unref(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_made_canonical),
        cmocka_unit_test(test_head),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),   cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_tree),      cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

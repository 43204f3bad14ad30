/* Tests of strategic merge patch over a small schema: the order of elements, every directive, refusals, faults. */
#include "base/mem.h"
#include "wire/json/json_fixture.h"
#include "wire/json/strategic.h"

/* A schema of three nodes: the root, a pod-like spec, a container. */
static const char root, spec, container;

static void field(const void *node, struct str name, struct strategic_field *ret) {
    if (node == &root && str_is(name, "spec")) {
        ret->node = &spec;
    } else if (node == &root && str_is(name, "finalizers")) {
        ret->merge = true;
    } else if (node == &spec && str_is(name, "containers")) {
        *ret = (struct strategic_field){.node = &container, .merge_key = "name", .merge = true};
    } else if (node == &container && str_is(name, "ports")) {
        *ret = (struct strategic_field){.node = &spec, .merge_key = "containerPort", .merge = true};
    }
}

static const struct strategic_schema schema = {field};

static int patch(const char *doc, const char *text, yyjson_mut_doc **ret, struct err *err) {
    yyjson_doc *p = NULL;
    assert_ok(json_parse_mut(&arena, str_of(doc), ret, err), err);
    assert_ok(json_parse(&arena, str_of(text), &p, err), err);
    return patch_strategic(*ret, yyjson_doc_get_root(p), &schema, &root, err);
}

static void expect(const char *doc, const char *text, const char *want) {
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    assert_ok(patch(doc, text, &d, &err), &err);
    assert_text(d, want);
}

static void expect_error(const char *doc, const char *text, int code) {
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    assert_int_equal(patch(doc, text, &d, &err), code);
    assert_true(strlen(err.text) > 0);
}

#define C(list) "{\"spec\":{\"containers\":[" list "]}}"

static void test_maps(void **state) {
    expect("{\"a\":1,\"m\":{\"x\":1,\"y\":2}}",
           "{\"m\":{\"x\":null,\"z\":3},\"n\":{\"p\":null,\"q\":1}}",
           "{\"a\":1,\"m\":{\"y\":2,\"z\":3},\"n\":{\"q\":1}}");
    expect("{\"m\":{\"x\":1}}", "{\"m\":[1]}", "{\"m\":[1]}");
    expect("{\"m\":[1]}", "{\"m\":{\"x\":1}}", "{\"m\":{\"x\":1}}");
    expect("{\"m\":{\"x\":1}}", "{\"m\":{\"$patch\":\"replace\",\"y\":2}}", "{\"m\":{\"y\":2}}");
    expect("{\"m\":{\"x\":1},\"n\":2}", "{\"m\":{\"$patch\":\"delete\"}}", "{\"m\":{},\"n\":2}");
    expect("{\"m\":{\"x\":1}}", "{\"m\":{\"$patch\":\"merge\",\"y\":2}}",
           "{\"m\":{\"x\":1,\"y\":2}}");
    expect("{\"l\":[1,2]}", "{\"l\":[3]}", "{\"l\":[3]}"); /* no strategy: replaced */
}

static void test_order_without_directive(void **state) {
    expect(C("{\"name\":\"c\"}"), C("{\"name\":\"new\"}"),
           C("{\"name\":\"new\"},{\"name\":\"c\"}"));
    /* the patch's order holds among its elements; the server's others keep their place before later ones */
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}"),
           C("{\"name\":\"c\",\"x\":1},{\"name\":\"a\"}"),
           C("{\"name\":\"b\"},{\"name\":\"c\",\"x\":1},{\"name\":\"a\"}"));
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"}"), C("{\"name\":\"b\",\"x\":1}"),
           C("{\"name\":\"a\"},{\"name\":\"b\",\"x\":1}"));
}

static void test_set_element_order(void **state) {
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}"),
           "{\"spec\":{\"$setElementOrder/"
           "containers\":[{\"name\":\"new\"},{\"name\":\"c\"},{\"name\":\"a\"}],"
           "\"containers\":[{\"name\":\"new\",\"x\":1}]}}",
           C("{\"name\":\"new\",\"x\":1},{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"a\"}"));
    /* the order alone, before or after, and for a list that is not there */
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"}"),
           "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}",
           C("{\"name\":\"b\"},{\"name\":\"a\"}"));
    expect("{\"spec\":{}}", "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"}]}}",
           "{\"spec\":{}}");
    expect("{\"spec\":{}}",
           "{\"spec\":{\"containers\":[{\"name\":\"a\",\"v\":null}],\"$setElementOrder/"
           "containers\":[{\"name\":\"a\"}]}}",
           "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}");
    /* what kubectl apply sends to remove an element */
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"}"),
           "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"a\"}],"
           "\"containers\":[{\"$patch\":\"delete\",\"name\":\"b\"}]}}",
           C("{\"name\":\"a\"}"));
    expect("{\"finalizers\":[\"a\",\"b\",\"s\"]}",
           "{\"$setElementOrder/finalizers\":[\"c\",\"b\",\"a\"],\"finalizers\":[\"c\"]}",
           "{\"finalizers\":[\"c\",\"b\",\"a\",\"s\"]}");
    expect_error(C("{\"name\":\"a\"}"),
                 "{\"spec\":{\"$setElementOrder/"
                 "containers\":[{\"name\":\"a\"}],\"containers\":[{\"name\":\"b\"}]}}",
                 ERR_BAD_REQUEST);
    expect_error("{}", "{\"$setElementOrder/finalizers\":{}}", ERR_BAD_REQUEST);
}

static void test_element_directives(void **state) {
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"}"), C("{\"$patch\":\"delete\",\"name\":\"a\"}"),
           C("{\"name\":\"b\"}"));
    expect(C("{\"name\":\"a\"},{\"name\":\"b\"}"), C("{\"$patch\":\"replace\"},{\"name\":\"c\"}"),
           C("{\"name\":\"c\"}"));
    expect(C("{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"p\":1}]}"),
           C("{\"name\":\"a\",\"ports\":[{\"containerPort\":81},{\"containerPort\":80,\"p\":2}]}"),
           C("{\"name\":\"a\",\"ports\":[{\"containerPort\":81},{\"containerPort\":80,\"p\":2}]}"));
    /* two elements with one key: the first merges, a deletion takes both */
    expect(C("{\"name\":\"a\",\"n\":1},{\"name\":\"a\",\"n\":2}"), C("{\"name\":\"a\",\"n\":3}"),
           C("{\"name\":\"a\",\"n\":3},{\"name\":\"a\",\"n\":2}"));
    expect(C("{\"name\":\"a\"},{\"x\":1},{\"name\":\"a\"}"),
           C("{\"name\":\"a\",\"$patch\":\"delete\"}"), C("{\"x\":1}"));
    expect_error(C("{\"name\":\"a\"}"), C("{\"x\":1}"), ERR_INVALID);
    expect_error(C("{\"name\":\"a\"}"), C("{\"name\":{}}"), ERR_INVALID);
    expect_error(C("{\"name\":\"a\"}"), C("{\"$patch\":\"spam\",\"name\":\"a\"}"), ERR_BAD_REQUEST);
    expect_error("{\"m\":{}}", "{\"m\":{\"$patch\":\"spam\"}}", ERR_BAD_REQUEST);
    expect_error("{\"finalizers\":[\"a\"]}", "{\"finalizers\":[{}]}", ERR_INVALID);
}

static void test_scalar_sets(void **state) {
    expect("{\"finalizers\":[\"a\",\"b\"]}", "{\"finalizers\":[\"c\",\"b\"]}",
           "{\"finalizers\":[\"c\",\"a\",\"b\"]}");
    expect("{\"finalizers\":[\"a\",\"b\"]}",
           "{\"$deleteFromPrimitiveList/finalizers\":[\"a\",\"x\"]}", "{\"finalizers\":[\"b\"]}");
    expect("{}", "{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}", "{}");
    expect_error("{}", "{\"$deleteFromPrimitiveList/finalizers\":1}", ERR_BAD_REQUEST);
}

static void test_retain_keys(void **state) {
    expect("{\"strategy\":{\"type\":\"R\",\"rolling\":{},\"x\":1}}",
           "{\"strategy\":{\"$retainKeys\":[\"type\"],\"type\":\"Recreate\"}}",
           "{\"strategy\":{\"type\":\"Recreate\"}}");
    expect_error("{\"s\":{}}", "{\"s\":{\"$retainKeys\":[\"a\"],\"b\":1}}", ERR_BAD_REQUEST);
    expect_error("{\"s\":{}}", "{\"s\":{\"$retainKeys\":1}}", ERR_BAD_REQUEST);
    expect_error("{}", "[]", ERR_BAD_REQUEST);
}

/* A large list and a large map take time in proportion, not its square. */
static void test_large(void **state) {
    enum { N = 40000 };
    struct buf doc, p;
    buf_init(&doc, 0);
    buf_init(&p, 0);
    buf_c(&doc, "{\"spec\":{\"containers\":[");
    buf_c(&p, "{\"spec\":{\"containers\":[");
    for (int i = 0; i < N; i++) {
        buf_f(&doc, "%s{\"name\":\"c%d\"}", i ? "," : "", i);
        buf_f(&p, "%s{\"name\":\"c%d\",\"x\":1}", i ? "," : "", N - i);
    }
    buf_c(&doc, "]},\"m\":{");
    buf_c(&p, "]},\"m\":{");
    for (int i = 0; i < N; i++) {
        buf_f(&doc, "%s\"k%d\":1", i ? "," : "", i);
        buf_f(&p, "%s\"k%d\":null", i ? "," : "", N - i);
    }
    buf_c(&doc, "}}");
    buf_c(&p, "}}");
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    assert_ok(patch(buf_cstr(&doc), buf_cstr(&p), &d, &err), &err);
    assert_int_equal(yyjson_mut_arr_size(json_mpath(d->root, "spec.containers")), N + 1);
    assert_int_equal(yyjson_mut_obj_size(json_mpath(d->root, "m")), 1);
    buf_release(&doc);
    buf_release(&p);
}

static int run_once(void) {
    struct arena a;
    yyjson_mut_doc *d;
    yyjson_doc *p;
    arena_init(&a, 1 << 20);
    int r = json_parse_mut(&a, STR(C("{\"name\":\"a\"},{\"name\":\"b\"}")), &d, NULL);
    r = r ? r
          : json_parse(&a,
                       STR("{\"spec\":{\"$setElementOrder/"
                           "containers\":[{\"name\":\"c\"},{\"name\":\"a\"}],"
                           "\"containers\":[{\"name\":\"c\",\"ports\":[1]},{\"$patch\":\"delete\","
                           "\"name\":\"b\"}]},"
                           "\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}"),
                       &p, NULL);
    r = r ? r : patch_strategic(d, yyjson_doc_get_root(p), &schema, &root, NULL);
    arena_release(&a);
    return r;
}

static void test_alloc_faults(void **state) {
    for (uint64_t nth = 1;; nth++) {
        mem_fault(nth, 1);
        int r = run_once();
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_int_equal(r, hit ? ERR_NOMEM : 0);
        if (!hit) {
            assert_true(nth > 3);
            break;
        }
    }
}

/* One key n times on the server, in the patch and in its order: the work is that of reading them. */
static void test_one_key_many_times(void **state) {
    enum { MANY = 2000 };
    static const char *const parts[] = {"\"finalizers\":", ",\"$setElementOrder/finalizers\":",
                                        ",\"$deleteFromPrimitiveList/finalizers\":"};
    struct buf list, text, doc;
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    buf_init(&list, 0);
    buf_init(&text, 0);
    buf_init(&doc, 0);
    for (int i = 0; i < MANY; i++) {
        buf_c(&list, i ? ",\"a\"" : "[\"a\"");
    }
    buf_ch(&list, ']');
    buf_f(&doc, "{\"finalizers\":%.*s}", STR_ARG(buf_view(&list)));
    for (size_t n = 1; n <= sizeof(parts) / sizeof(parts[0]); n++) {
        buf_reset(&text);
        for (size_t i = 0; i < n; i++) {
            buf_f(&text, "%s%s%.*s", i ? "" : "{", parts[i], STR_ARG(buf_view(&list)));
        }
        buf_ch(&text, '}');
        arena_reset(&arena);
        assert_ok(patch(buf_cstr(&doc), buf_cstr(&text), &d, &err), &err);
        assert_in_range(arena.steps, 1, 4 * MANY);
    }
    buf_release(&list);
    buf_release(&text);
    buf_release(&doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_maps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_key_many_times, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order_without_directive, setup, teardown),
        cmocka_unit_test_setup_teardown(test_set_element_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_element_directives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scalar_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retain_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("strategic", tests, NULL, NULL);
}

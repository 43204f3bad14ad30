/* openapi: documents are whole, in pieces of any size, of tables and of structural schemas alike. */
#include "api/openapi/openapi_private.h"

#include "api/schema/crd_kind.h"
#include "api/schema/crd_schema.h"
#include "base/mem.h"
#include "base/test.h"
#include "wire/protobuf.h"

struct fixture {
    struct arena arena;
    struct buf text;
    struct err err;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof(*f));
    arena_init(&f->arena, 256 << 20);
    buf_init(&f->text, 0);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    arena_release(&f->arena);
    buf_release(&f->text);
    free(f);
    return 0;
}

static yyjson_val *document(struct fixture *f, enum openapi_form form, const char *group,
                            const char *version) {
    yyjson_doc *doc;
    buf_reset(&f->text);
    assert_ok(openapi_write(form, str_of(group), str_of(version), &f->text, &f->err), &f->err);
    struct str text = arena_str(&f->arena, buf_view(&f->text));
    assert_ok(json_parse(&f->arena, text, &doc, &f->err), &f->err);
    return yyjson_doc_get_root(doc);
}

/* Every $ref below v leads somewhere. */
static void check_refs(yyjson_val *root, yyjson_val *v, size_t *n) {
    yyjson_obj_iter o = yyjson_obj_iter_with(v);
    yyjson_arr_iter a = yyjson_arr_iter_with(v);
    yyjson_val *k;
    while (yyjson_is_obj(v) && (k = yyjson_obj_iter_next(&o)) != NULL) {
        yyjson_val *x = yyjson_obj_iter_get_val(k);
        if (str_is(json_str(k), "$ref") && yyjson_is_str(x)) {
            char pointer[512];
            (void)snprintf(pointer, sizeof(pointer), "%s", yyjson_get_str(x) + 1);
            assert_non_null(yyjson_ptr_get(root, pointer));
            ++*n;
        }
        check_refs(root, x, n);
    }
    while (yyjson_is_arr(v) && (k = yyjson_arr_iter_next(&a)) != NULL) {
        check_refs(root, k, n);
    }
}

static void documents_are_whole(void **state) {
    struct fixture *f = *state;
    size_t n;
    const struct kind *const *kinds = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < kinds[i]->n_versions; v++) {
            size_t refs = 0;
            arena_reset(&f->arena);
            yyjson_val *root =
                document(f, OPENAPI_V3, kinds[i]->group, kinds[i]->versions[v].version);
            check_refs(root, root, &refs);
            assert_true(refs > 10);
            yyjson_val *schemas = json_path(root, "components.schemas");
            assert_int_equal(json_duplicates(schemas, &f->arena, NULL, NULL), 0);
            assert_non_null(json_get(schemas, str_of(kinds[i]->versions[v].schema->name)));
        }
    }
    assert_int_equal(openapi_write(OPENAPI_V3, STR("none"), STR("v1"), &f->text, NULL),
                     ERR_NOT_FOUND);
}

static void merge_keys_and_patches(void **state) {
    struct fixture *f = *state;
    yyjson_val *root = document(f, OPENAPI_V3, "batch", "v1");
    yyjson_val *spec =
        json_get(json_path(root, "components.schemas"), STR("io.k8s.api.core.v1.PodSpec"));
    yyjson_val *containers = json_path(spec, "properties.containers");
    assert_str_eq(json_str_at(containers, "x-kubernetes-patch-merge-key"), STR("name"));
    assert_str_eq(json_str_at(containers, "x-kubernetes-list-type"), STR("map"));
    assert_str_eq(json_str_at(json_path(spec, "properties.volumes"), "x-kubernetes-patch-strategy"),
                  STR("merge,retainKeys"));
    yyjson_val *path = json_get(json_path(root, "paths"),
                                STR("/apis/batch/v1/namespaces/{namespace}/jobs/{name}"));
    yyjson_val *patch = json_get(path, STR("patch"));
    assert_str_eq(json_str_at(patch, "operationId"), STR("patchBatchV1NamespacedJob"));
    assert_str_eq(json_str_at(patch, "x-kubernetes-group-version-kind.kind"), STR("Job"));
    assert_non_null(json_get(json_path(patch, "requestBody.content"),
                             STR("application/strategic-merge-patch+json")));
    bool found = false;
    size_t i, n;
    yyjson_val *p, *list = json_get(patch, STR("parameters"));
    yyjson_arr_foreach(list, i, n, p) {
        found |= str_is(json_str_at(p, "name"), "fieldValidation") &&
                 str_is(json_str_at(p, "in"), "query");
    }
    assert_true(found);
}

static void version_2_is_whole(void **state) {
    struct fixture *f = *state;
    size_t refs = 0;
    yyjson_val *root = document(f, OPENAPI_V2, "", "");
    check_refs(root, root, &refs);
    assert_true(refs > 1000);
    yyjson_val *definitions = json_path(root, "definitions");
    yyjson_val *pod = json_get(definitions, STR("io.k8s.api.core.v1.Pod"));
    assert_str_eq(json_str_at(pod, "type"), STR("object"));
    assert_non_null(json_get(pod, STR("x-kubernetes-group-version-kind")));
    assert_non_null(json_get(definitions, STR("io.k8s.api.core.v1.PodList")));
    /* nothing is named twice: the parser of clients would refuse it */
    struct map seen;
    map_init(&seen);
    yyjson_obj_iter it = yyjson_obj_iter_with(definitions);
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        if (map_get(&seen, json_str(k)) != NULL) {
            print_message("%s\n", yyjson_get_str(k));
        }
        assert_null(map_get(&seen, json_str(k)));
        assert_int_equal(map_put(&seen, json_str(k), k, NULL), 0);
    }
    map_release(&seen);
}

/* The same names in the same order, read back from the protobuf. */
static void protobuf_says_the_same(void **state) {
    struct fixture *f = *state;
    yyjson_val *root = document(f, OPENAPI_V2, "", "");
    yyjson_obj_iter it = yyjson_obj_iter_with(json_get(root, STR("definitions")));
    struct buf b;
    struct pb_field part, named, member;
    size_t n = 0, paths = 0;
    buf_init(&b, 0);
    assert_ok(openapi_write(OPENAPI_V2_PROTOBUF, STR(""), STR(""), &b, &f->err), &f->err);
    struct pb r = pb_of(buf_view(&b));
    while (pb_next(&r, &part)) {
        struct pb in = pb_of(part.bytes);
        while ((part.number == GNOSTIC_DEFINITIONS || part.number == GNOSTIC_PATHS) &&
               pb_next(&in, &named)) {
            struct pb entry = pb_of(named.bytes);
            assert_true(pb_next(&entry, &member) && member.number == 1);
            if (part.number == GNOSTIC_DEFINITIONS) {
                assert_str_eq(member.bytes, json_str(yyjson_obj_iter_next(&it)));
                n++;
            } else {
                assert_int_equal(named.number, 2);
                paths++;
            }
            assert_true(pb_next(&entry, &member) && member.number == 2);
            assert_false(pb_next(&entry, &member));
            assert_null(entry.bad);
        }
        assert_null(in.bad);
    }
    assert_null(r.bad);
    assert_int_equal(n, yyjson_obj_size(json_get(root, STR("definitions"))));
    assert_int_equal(paths, yyjson_obj_size(json_get(root, STR("paths"))));
    buf_release(&b);
}

/* ---- structural schemas ---- */

static struct str written(struct fixture *f, bool v2, const char *schema, const char *own) {
    yyjson_doc *doc;
    assert_ok(json_parse(&f->arena, str_of(schema), &doc, &f->err), &f->err);
    struct place p = place_of_written(yyjson_doc_get_root(doc), false);
    buf_reset(&f->text);
    openapi_schema(&f->text, v2, &p, str_of(own));
    return buf_view(&f->text);
}

static void schemas_as_a_kube_apiserver_publishes_them(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *schema, *v3, *v2;
    } cases[] = {
        {"{\"type\":\"string\",\"pattern\":\"a\"}", "{\"type\":\"string\",\"pattern\":\"a\"}",
         "{\"type\":\"string\",\"pattern\":\"a\"}"},
        /* nullable: no type, no members */
        {"{\"type\":\"object\",\"nullable\":true,\"properties\":{\"a\":{\"type\":\"string\"}}}",
         "{\"type\":\"object\",\"nullable\":true,\"properties\":{\"a\":{\"type\":\"string\"}}}",
         "{}"},
        /* and not required */
        {"{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"properties\":{\"a\":{\"type\":"
         "\"string\",\"nullable\":true},\"b\":{\"type\":\"string\"}}}",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"nullable\":true},\"b\":"
         "{"
         "\"type\":\"string\"}},\"required\":[\"a\",\"b\"]}",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{\"type\":\"string\"}},\"required\":["
         "\"b\"]}"},
        /* open objects */
        {"{\"type\":\"object\",\"description\":\"d\",\"x-kubernetes-preserve-unknown-fields\":true,"
         "\"properties\":{\"a\":{\"type\":\"string\"}}}",
         "{\"description\":\"d\",\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
         "\"x-kubernetes-preserve-unknown-fields\":true}",
         "{\"description\":\"d\",\"x-kubernetes-preserve-unknown-fields\":true}"},
        /* alternatives */
        {"{\"type\":\"integer\",\"minimum\":1,\"oneOf\":[{\"minimum\":3}]}",
         "{\"type\":\"integer\",\"minimum\":1,\"oneOf\":[{\"minimum\":3}]}",
         "{\"type\":\"integer\",\"minimum\":1}"},
        {"{\"x-kubernetes-int-or-string\":true}",
         "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-kubernetes-int-or-string\":"
         "true}",
         "{\"x-kubernetes-int-or-string\":true}"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\"}",
         "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\"}",
         "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\"}"},
        {"{\"type\":\"object\",\"additionalProperties\":true}",
         "{\"type\":\"object\",\"additionalProperties\":true}",
         "{\"type\":\"object\",\"additionalProperties\":true}"},
        {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"default\":3,"
         "\"enum\":[3,4]}}",
         "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"default\":3,"
         "\"enum\":[3,4]}}",
         "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"default\":3,"
         "\"enum\":[3,4]}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(written(f, false, cases[i].schema, ""), str_of(cases[i].v3));
        assert_str_eq(written(f, true, cases[i].schema, ""), str_of(cases[i].v2));
    }
    assert_str_eq(written(f, true, "{}", "\"x\":1"), STR("{\"x\":1}"));
}

/* An object in an object has what every object has. */
static void embedded_objects(void **state) {
    struct fixture *f = *state;
    yyjson_doc *doc;
    const char *schema = "{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
                         "\"required\":[\"kind\"],\"properties\":{\"metadata\":{\"type\":"
                         "\"object\"},\"spec\":{\"type\":\"object\"}}}";
    struct str text = arena_str(&f->arena, written(f, false, schema, ""));
    assert_ok(json_parse(&f->arena, text, &doc, &f->err), &f->err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_int_equal(yyjson_obj_size(json_get(root, STR("properties"))), 4);
    assert_int_equal(yyjson_arr_size(json_get(root, STR("required"))), 2);
    assert_non_null(json_path(root, "properties.metadata.allOf"));
}

static void memory_may_end_anywhere(void **state) {
    struct fixture *f = *state;
    static const enum openapi_form forms[] = {OPENAPI_V3, OPENAPI_V2_PROTOBUF};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int hit = 1;
        for (uint64_t n = 1; hit; n += i ? 37 : 1) {
            buf_release(&f->text);
            mem_fault(n, 0);
            int r = openapi_write(forms[i], STR("batch"), STR("v1"), &f->text, NULL);
            hit = mem_fault_hit();
            mem_fault(0, 0);
            assert_true(r == 0 || r == ERR_NOMEM);
            assert_true(hit || r == 0);
            assert_true(r == 0 || f->text.n == 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(documents_are_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(merge_keys_and_patches, setup, teardown),
        cmocka_unit_test_setup_teardown(version_2_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(protobuf_says_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(schemas_as_a_kube_apiserver_publishes_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(embedded_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bodies: what does not decode into upstream's types, and how what does is kept. */
#include "base/test.h"

#include "api/schema/codec.h"

struct fixture {
    struct arena arena;
    struct err err;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, 64 << 20);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    arena_release(&((struct fixture *)*state)->arena);
    return 0;
}

/* A body read as upstream's types read it: what does not decode, zeros for nulls, and what is not written. */
static struct str body_of(struct fixture *f, const char *version, const char *kind,
                          const char *text) {
    const struct kind *k = kind_by_api_version(str_of(version), str_of(kind));
    struct causes types = {.arena = &f->arena};
    yyjson_mut_doc *d = NULL;
    struct buf b;
    assert_non_null(k);
    assert_int_equal(json_parse_mut(&f->arena, str_of(text), &d, NULL), 0);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    assert_int_equal(codec_prune_body(kind_storage(k)->schema, d, root, NULL, NULL, &types), 0);
    buf_init(&b, 0);
    if (types.n > 0) {
        buf_f(&b, "%.*s: %.*s", STR_ARG(types.v[0].field), STR_ARG(types.v[0].text));
    } else {
        json_write_mut(&b, root);
    }
    struct str got = arena_str(&f->arena, buf_view(&b));
    buf_release(&b);
    return got;
}

static void bodies(void **state) {
    static const struct {
        const char *version, *kind, *text, *want;
    } all[] = {
        {"v1", "Secret", "{\"stringData\":{\"a\":1}}",
         "stringData[a]: Invalid value: \"integer\": stringData[a] in body must be of type string: "
         "\"integer\""},
        {"v1", "Pod", "{\"metadata\":7}",
         "metadata: Invalid value: \"integer\": metadata in body must be of type object: "
         "\"integer\""},
        {"v1", "Pod", "{\"spec\":[]}",
         "spec: Invalid value: \"array\": spec in body must be of type object: \"array\""},
        {"v1", "Pod", "{\"spec\":{\"containers\":{}}}",
         "spec.containers: Invalid value: \"object\": spec.containers in body must be of type "
         "array: \"object\""},
        {"v1", "Service", "{\"spec\":{\"ports\":[{\"port\":2147483648}]}}",
         "spec.ports[0].port: Invalid value: number is out of range for int32"},
        {"v1", "ResourceQuota", "{\"spec\":{\"hard\":{\"cpu\":null,\"pods\":3}}}",
         "{\"spec\":{\"hard\":{\"cpu\":\"0\",\"pods\":3}}}"},
        {"v1", "Pod", "{\"spec\":{\"containers\":[null,{\"args\":[null,\"a\"],\"stdin\":false}]}}",
         "{\"spec\":{\"containers\":[{},{\"args\":[\"\",\"a\"]}]}}"},
        {"scheduling.k8s.io/v1", "PriorityClass",
         "{\"value\":0,\"globalDefault\":false,\"description\":\"\"}", "{\"value\":0}"},
        {"v1", "PersistentVolumeClaim",
         "{\"spec\":{\"storageClassName\":\"\",\"volumeName\":\"\"}}",
         "{\"spec\":{\"storageClassName\":\"\"}}"},
        {"batch/v1", "Job", "{\"spec\":{\"suspend\":false,\"backoffLimit\":0}}",
         "{\"spec\":{\"suspend\":false,\"backoffLimit\":0}}"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        assert_str_eq(body_of(*state, all[i].version, all[i].kind, all[i].text),
                      str_of(all[i].want));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bodies, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of protobuf out: known bytes, and an object of every kind with every field set, written and read back.
 *
 * That the two ways agree does not say that the numbers are right: tests/http2 reads answers with numbers of its own.
 */
#include "api/protobuf/codec_protobuf.h"
#include "base/limits.h"
#include "base/test.h"
#include "wire/protobuf.h"

enum { DEEP = 6, ARENA_BYTES = 256 << 20 };

struct fixture {
    struct arena arena;
    struct err err;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, ARENA_BYTES);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    arena_release(&f->arena);
    return 0;
}

/* ---- a sample of a schema ---- */

static yyjson_mut_val *object_of(yyjson_mut_doc *d, const struct schema *s, int depth);

static yyjson_mut_val *text(yyjson_mut_doc *d, const char *t) {
    return yyjson_mut_str(d, t);
}

static yyjson_mut_val *value_of(yyjson_mut_doc *d, const struct field *f, int depth, int nth) {
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
        return text(d, nth ? "two" : "one");
    case FIELD_BOOL:
        return yyjson_mut_bool(d, true);
    case FIELD_INT32:
        return yyjson_mut_sint(d, nth ? -7 : 2147483647);
    case FIELD_INT64:
        return yyjson_mut_sint(d, nth ? -7 : INT64_MAX);
    case FIELD_DOUBLE:
        return yyjson_mut_real(d, 0.25);
    case FIELD_BYTES:
        return text(d, "aGVsbG8=");
    case FIELD_QUANTITY:
        return text(d, "1500m");
    case FIELD_TIME:
        return text(d, nth ? "1969-12-31T23:59:59Z" : "2026-01-02T03:04:05Z");
    case FIELD_MICROTIME:
        return text(d, "2026-01-02T03:04:05.000006Z");
    case FIELD_DURATION:
        return text(d, "1m30s");
    case FIELD_INT_OR_STRING:
        return f->json[0] % 2 ? yyjson_mut_sint(d, 8080) : text(d, "25%");
    case FIELD_OBJECT:
        return object_of(d, f->of, depth + 1);
    case FIELD_ANY:
        break;
    }
    yyjson_mut_val *v = yyjson_mut_obj(d);
    yyjson_mut_obj_add_int(d, v, "a", 1);
    return v;
}

static yyjson_mut_val *texts(yyjson_mut_doc *d) {
    yyjson_mut_val *v = yyjson_mut_arr(d);
    yyjson_mut_arr_add_str(d, v, "x");
    yyjson_mut_arr_add_str(d, v, "y");
    return v;
}

/* One of the two that FIELD_F_EITHER allows, by turns. */
static yyjson_mut_val *either_of(yyjson_mut_doc *d, const struct field *f, int depth, int i) {
    bool object = (depth + i) % 2 == 0;
    if (object) {
        return object_of(d, f->of, depth + 1);
    }
    if (f->shape == FIELD_MAP) {
        return texts(d);
    }
    if (f->type == FIELD_ANY) {
        return yyjson_mut_bool(d, false);
    }
    yyjson_mut_val *v = yyjson_mut_arr(d);
    yyjson_mut_arr_append(v, object_of(d, f->of, depth + 1));
    return v;
}

static yyjson_mut_val *field_of(yyjson_mut_doc *d, const struct field *f, int depth) {
    yyjson_mut_val *v;
    bool either = f->flags & FIELD_F_EITHER;
    if (either && f->shape == FIELD_ONE) {
        return either_of(d, f, depth, 0);
    }
    if (f->shape == FIELD_ONE) {
        return value_of(d, f, depth, 0);
    }
    if (f->shape == FIELD_LIST) {
        v = yyjson_mut_arr(d);
        yyjson_mut_arr_append(v, value_of(d, f, depth, 0));
        yyjson_mut_arr_append(v, value_of(d, f, depth, 1));
        return v;
    }
    v = yyjson_mut_obj(d);
    for (int i = 0; i < 2; i++) {
        yyjson_mut_obj_add(v, text(d, i ? "k2" : "k1"),
                           either                 ? either_of(d, f, depth, i)
                           : f->type == FIELD_ANY ? texts(d)
                                                  : value_of(d, f, depth, i));
    }
    return v;
}

/* Deep schemas that hold themselves end; what is left out below DEEP is whole objects. */
static yyjson_mut_val *object_of(yyjson_mut_doc *d, const struct schema *s, int depth) {
    yyjson_mut_val *o = yyjson_mut_obj(d);
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        bool named =
            f->proto == 0 && (strcmp(f->json, "apiVersion") == 0 || strcmp(f->json, "kind") == 0);
        bool inner = f->type == FIELD_OBJECT || (f->flags & FIELD_F_EITHER);
        if (f->proto == 0 && !named) {
            print_error("%s of %s has no number\n", f->json, s->name);
            fail();
        }
        if (!named && !(inner && depth >= DEEP)) {
            yyjson_mut_obj_add(o, yyjson_mut_strcpy(d, f->json), field_of(d, f, depth));
        }
    }
    if (yyjson_mut_obj_size(o) == 0 && s->n > 0) {
        yyjson_mut_val *v = field_of(d, &s->fields[0], depth);
        yyjson_mut_obj_add(o, yyjson_mut_strcpy(d, s->fields[0].json), v);
    }
    return o;
}

/* ---- tests ---- */

static void round_trip(struct fixture *f, const struct kind *k, const struct kind_version *kv) {
    char api[128];
    struct buf out;
    yyjson_mut_doc *back = NULL, *d = yyjson_mut_doc_new(NULL);
    const struct kind *k2;
    const struct kind_version *kv2;
    snprintf(api, sizeof(api), "%s%s%s", k->group, k->group[0] ? "/" : "", kv->version);
    yyjson_mut_val *o = object_of(d, kv->schema, 0);
    yyjson_mut_doc_set_root(d, o);
    yyjson_mut_obj_add_str(d, o, "apiVersion", api);
    yyjson_mut_obj_add_str(d, o, "kind", k->kind);
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(d, NULL);
    buf_init(&out, 0);
    arena_reset(&f->arena);
    assert_ok(codec_to_protobuf(kv->schema, yyjson_doc_get_root(whole), &f->arena, &out, &f->err),
              &f->err);
    pb_put_envelope(&out, 0, str_of(api), str_of(k->kind));
    assert_int_equal(buf_ok(&out), 0);
    assert_ok(codec_from_protobuf(buf_view(&out), &f->arena, &back, &k2, &kv2, &f->err), &f->err);
    assert_ptr_equal(k2, k);
    if (!yyjson_mut_equals(o, yyjson_mut_doc_get_root(back))) {
        fprintf(stderr, "%s %s\nout  %s\nback %s\n", api, k->kind, yyjson_mut_write(d, 0, NULL),
                yyjson_mut_write(back, 0, NULL));
        fail();
    }
    yyjson_doc_free(whole);
    yyjson_mut_doc_free(d);
    buf_release(&out);
}

static void every_field_of_every_kind(void **state) {
    size_t n, done = 0;
    const struct kind *const *all = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < all[i]->n_versions; v++) {
            if (codec_has_protobuf(all[i]->versions[v].schema)) {
                round_trip(*state, all[i], &all[i]->versions[v]);
                done++;
            }
        }
    }
    assert_true(done >= 40);
}

static void known_bytes(void **state) {
    struct fixture *f = *state;
    static const char want[] = "k8s\0"
                               "\x0a\x0f\x0a\x02v1\x12\x09Namespace"
                               "\x12\x17"
                               "\x0a\x15\x0a\x03"
                               "foo\x5a\x04\x0a\x00\x12\x00\x42\x08\x08\xa5\xeb\xdc\xca\x06\x10\x00"
                               "\x1a\x00\x22\x00";
    yyjson_doc *doc;
    struct buf out;
    const struct kind *k = kind_by_api_version(STR("v1"), STR("Namespace"));
    assert_ok(
        json_parse(
            &f->arena,
            STR("{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\","
                "\"labels\":{\"\":\"\"},\"creationTimestamp\":\"2026-01-02T03:04:05Z\"},"
                "\"spec\":null}"),
            &doc, &f->err),
        &f->err);
    buf_init(&out, 0);
    assert_ok(codec_to_protobuf(k->versions[0].schema, yyjson_doc_get_root(doc), &f->arena, &out,
                                &f->err),
              &f->err);
    pb_put_envelope(&out, 0, STR("v1"), STR("Namespace"));
    assert_str_eq(buf_view(&out), str_from(want, sizeof(want) - 1));
    buf_release(&out);
}

static void what_has_no_number_is_refused(void **state) {
    struct fixture *f = *state;
    yyjson_doc *doc;
    struct buf out;
    const struct kind *k = kind_by_api_version(STR("v1"), STR("Namespace"));
    assert_ok(json_parse(&f->arena, STR("{\"metadata\":{\"other\":1}}"), &doc, &f->err), &f->err);
    buf_init(&out, 0);
    assert_int_equal(codec_to_protobuf(k->versions[0].schema, yyjson_doc_get_root(doc), &f->arena,
                                       &out, &f->err),
                     ERR_UNSUPPORTED);
    buf_release(&out);
    assert_false(
        codec_has_protobuf(kind_by_api_version(STR("kueue.x-k8s.io/v1beta1"), STR("ClusterQueue"))
                               ->versions[0]
                               .schema));
}

/* A ConfigMap with so many finalizers ("r\0"), or keys of data: two bytes of the body each. */
static int read_many(struct fixture *f, size_t n, const char *one) {
    yyjson_mut_doc *d;
    const struct kind *k;
    const struct kind_version *kv;
    struct buf out;
    bool data = one[0] == '\x12';
    buf_init(&out, 0);
    arena_reset(&f->arena);
    size_t at = data ? 0 : pb_begin(&out, 1);
    for (size_t i = 0; i < n; i++) {
        buf_add(&out, one, 2);
    }
    if (!data) {
        pb_end(&out, at);
    }
    pb_put_envelope(&out, 0, STR("v1"), STR("ConfigMap"));
    int r = codec_from_protobuf(buf_view(&out), &f->arena, &d, &k, &kv, &f->err);
    buf_release(&out);
    return r;
}

static void too_many_values_are_refused(void **state) {
    struct fixture *f = *state;
    assert_ok(read_many(f, LIMIT_BODY_VALUES - 10, "r"), &f->err);
    assert_int_equal(read_many(f, LIMIT_BODY_VALUES, "r"), ERR_TOO_LARGE);
    assert_int_equal(read_many(f, LIMIT_BODY_VALUES, "\x12"), ERR_TOO_LARGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_field_of_every_kind, setup, teardown),
        cmocka_unit_test_setup_teardown(known_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_no_number_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_values_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

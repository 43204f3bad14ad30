/* edit: what is written of a change, and on what it is conditional. */
#include "base/test.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "control/kit/edit.h"
#include "control/kit/views.h"

struct fixture {
    struct arena arena;
    struct buf out;
    struct object *obj;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, 1 << 20);
    buf_init(&f.out, 0);
    assert_int_equal(
        object_new(kind_by_name(STR("batch"), STR("Job")),
                   STR("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                       "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\","
                       "\"finalizers\":[\"a\",\"b\"]},\"spec\":{\"parallelism\":2}}"),
                   &f.obj, NULL),
        0);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    object_unref(f->obj);
    arena_release(&f->arena);
    buf_release(&f->out);
    return 0;
}

static void a_finalizer_is_dropped_once(void **state) {
    struct fixture *f = *state;
    assert_int_equal(edit_drop_finalizer(f->obj, "a", &f->arena, &f->out), 0);
    assert_str_eq(buf_view(&f->out), STR("{\"metadata\":{\"resourceVersion\":\"5\",\"uid\":\"u\","
                                         "\"finalizers\":[\"b\"]}}"));
    buf_reset(&f->out);
    assert_int_equal(edit_drop_finalizer(f->obj, "c", &f->arena, &f->out), ERR_NOT_FOUND);
    assert_int_equal(f->out.n, 0);
}

static void conditions_of_a_write_are_those_asked_for(void **state) {
    struct fixture *f = *state;
    struct job was, want;
    struct job_spec spec;
    yyjson_doc *d;
    assert_int_equal(object_tree(f->obj, &f->arena, &d, NULL), 0);
    assert_int_equal(codec_decode(&schema_job, yyjson_doc_get_root(d), &f->arena, &was, NULL), 0);
    want = was;
    assert_int_equal(edit_write(f->obj, EDIT_VERSION, &was, &want, &f->out), ERR_NOT_FOUND);
    spec = *was.spec;
    spec.parallelism.v = 3;
    want.spec = &spec;
    assert_int_equal(edit_write(f->obj, EDIT_VERSION, &was, &want, &f->out), 0);
    assert_str_eq(buf_view(&f->out), STR("{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{"
                                         "\"parallelism\":3}}"));
    buf_reset(&f->out);
    assert_int_equal(edit_write(f->obj, EDIT_UID, &was, &want, &f->out), 0);
    assert_true(str_starts(buf_view(&f->out), STR("{\"metadata\":{\"uid\":\"u\"},")));
    buf_reset(&f->out);
    assert_int_equal(edit_write(f->obj, 0, &was, &want, &f->out), 0);
    assert_str_eq(buf_view(&f->out), STR("{\"spec\":{\"parallelism\":3}}"));
}

static void metadata_of_any_kind_are_written(void **state) {
    struct fixture *f = *state;
    struct meta *was, want;
    assert_int_equal(edit_read_meta(f->obj, &f->arena, &was), 0);
    want = *was;
    assert_int_equal(meta_set(&want.annotations, &f->arena, "k", STR("v")), 0);
    assert_int_equal(edit_write_meta(f->obj, 0, was, &want, &f->out), 0);
    assert_str_eq(buf_view(&f->out), STR("{\"metadata\":{\"annotations\":{\"k\":\"v\"}}}"));
}

/* Of kinds without a view. */
static void trees_are_compared(void **state) {
    struct fixture *f = *state;
    yyjson_doc *was;
    assert_int_equal(object_tree(f->obj, &f->arena, &was, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(was);
    yyjson_mut_doc *d = json_mut_copy(&f->arena, root);
    assert_int_equal(edit_write_tree(f->obj, EDIT_VERSION, root, d->root, &f->out), ERR_NOT_FOUND);
    assert_int_equal(
        json_mset_i64(d, json_mensure(d, d->root, "spec"), "completions", 4) +
            json_mset_str(d, json_mensure(d, d->root, "metadata.labels"), "a", STR("b")),
        0);
    assert_int_equal(edit_write_spec(f->obj, EDIT_VERSION, root, d->root, &f->out), 0);
    assert_str_eq(buf_view(&f->out), STR("{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{"
                                         "\"completions\":4}}"));
    buf_reset(&f->out);
    assert_int_equal(edit_write_tree(f->obj, EDIT_UID, root, d->root, &f->out), 0);
    assert_str_eq(buf_view(&f->out), STR("{\"metadata\":{\"uid\":\"u\",\"labels\":{\"a\":\"b\"}},"
                                         "\"spec\":{\"completions\":4}}"));
}

static void a_body_that_is_too_long_is_an_error(void **state) {
    struct fixture *f = *state;
    struct buf small;
    buf_init(&small, 30);
    assert_int_equal(edit_drop_finalizer(f->obj, "a", &f->arena, &small), ERR_TOO_LARGE);
    buf_release(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_finalizer_is_dropped_once, setup, teardown),
        cmocka_unit_test_setup_teardown(conditions_of_a_write_are_those_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(metadata_of_any_kind_are_written, setup, teardown),
        cmocka_unit_test_setup_teardown(trees_are_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_that_is_too_long_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

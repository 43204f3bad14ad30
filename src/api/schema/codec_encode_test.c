/* codec_encode: what is decoded is encoded as it was, for objects of every kind that are made from its table by chance;
 * merge patches lead where they should, and are as small as they can be. */
#include "base/test.h"

#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "api/tables/table.h"
#include "api/tables/view_batch.h"
#include "api/tables/view_kueue.h"
#include "api/walk/value.h"
#include "base/prng.h"
#include "wire/json/patch.h"
#include "wire/text/time.h"

struct fixture {
    struct arena arena;
    struct err err;
    struct buf out, text;
    struct prng prng;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, 64 << 20);
    buf_init(&f.out, 0);
    buf_init(&f.text, 0);
    prng_seed(&f.prng, 13);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    arena_release(&f->arena);
    buf_release(&f->out);
    buf_release(&f->text);
    return 0;
}

/* ---- objects by chance ---- */

enum { DEEPEST = 7, LIST_MOST = 3 };

static size_t pick(struct fixture *f, size_t n) {
    return (size_t)prng_below(&f->prng, n);
}

static const char *one_of(struct fixture *f, const char *const *texts, size_t n) {
    return texts[pick(f, n)];
}

static void make_object(struct fixture *f, const struct schema *s, int depth);

static void make_text(struct fixture *f) {
    static const char *const texts[] = {"a", "b c", "\\u00e9\\n\\\"", "nvidia.com/gpu", "7", "-0x"};
    buf_f(&f->text, "\"%s%zu\"", one_of(f, texts, 6), pick(f, 3));
}

static void make_any(struct fixture *f) {
    static const char *const values[] = {"1",
                                         "true",
                                         "\"t\"",
                                         "[]",
                                         "[1,{\"a\":2}]",
                                         "1.5",
                                         "{}",
                                         "{\"a\":{\"b\":1}}",
                                         "{\"a\":{\"c\":[2]},\"d\":\"x\"}"};
    buf_c(&f->text, one_of(f, values, 9));
}

static void make_quantity(struct fixture *f) {
    static const char *const values[] = {"\"100m\"", "\"3\"",   "\"1Gi\"",
                                         "\"0\"",    "\"1e3\"", "\"-5\""};
    buf_c(&f->text, one_of(f, values, 6));
}

static void make_time(struct fixture *f, const struct field *row) {
    char text[TIME_TEXT_MAX];
    int64_t ns = ((int64_t)pick(f, 1 << 30) + 1) * INT64_C(1000000000);
    if (row->type == FIELD_MICROTIME) {
        buf_json(&f->text, time_text_micro(ns + (int64_t)pick(f, 1000000) * 1000, text));
    } else {
        buf_json(&f->text, time_text(ns, text));
    }
}

static void make_value(struct fixture *f, const struct field *row, int depth) {
    static const char *const durations[] = {"\"1h2m3.5s\"", "\"0s\"", "\"300ms\""};
    switch ((enum field_type)row->type) {
    case FIELD_STRING:
    case FIELD_BYTES:
        make_text(f);
        return;
    case FIELD_BOOL:
        buf_c(&f->text, pick(f, 2) ? "true" : "false");
        return;
    case FIELD_INT32:
        buf_i64(&f->text, (int32_t)prng_u64(&f->prng) >> pick(f, 32));
        return;
    case FIELD_INT64:
        buf_i64(&f->text, (int64_t)prng_u64(&f->prng) >> pick(f, 64));
        return;
    case FIELD_DOUBLE:
        buf_f(&f->text, "%.3f", prng_unit(&f->prng));
        return;
    case FIELD_QUANTITY:
        make_quantity(f);
        return;
    case FIELD_TIME:
    case FIELD_MICROTIME:
        make_time(f, row);
        return;
    case FIELD_DURATION:
        buf_c(&f->text, one_of(f, durations, 3));
        return;
    case FIELD_INT_OR_STRING:
        buf_c(&f->text, pick(f, 2) ? "8080" : "\"50%\"");
        return;
    case FIELD_OBJECT:
        if (value_is_view(row)) {
            make_object(f, row->of, depth + 1);
            return;
        }
        make_any(f);
        return;
    case FIELD_ANY:
        make_any(f);
        return;
    }
}

static void make_member(struct fixture *f, const struct field *row, int depth) {
    size_t n = pick(f, LIST_MOST + 1);
    if (row->shape == FIELD_ONE) {
        make_value(f, row, depth);
        return;
    }
    buf_ch(&f->text, row->shape == FIELD_LIST ? '[' : '{');
    for (size_t i = 0; i < n; i++) {
        buf_c(&f->text, i ? "," : "");
        if (row->shape == FIELD_MAP) {
            buf_f(&f->text, "\"k%zu.%zu/x\":", i, pick(f, 2));
        }
        make_value(f, row, depth);
    }
    buf_ch(&f->text, row->shape == FIELD_LIST ? ']' : '}');
}

static void make_object(struct fixture *f, const struct schema *s, int depth) {
    bool some = false;
    buf_ch(&f->text, '{');
    for (size_t i = 0; i < s->n; i++) {
        const struct field *row = &s->fields[i];
        if (row->member < 0 || pick(f, 3) == 0 || (depth > DEEPEST && row->type == FIELD_OBJECT)) {
            continue;
        }
        buf_f(&f->text, "%s\"%s\":", some ? "," : "", row->json);
        some = true;
        make_member(f, row, depth);
    }
    buf_ch(&f->text, '}');
}

static char *decoded(struct fixture *f, const struct schema *s, struct str text) {
    yyjson_doc *d = NULL;
    char *view = arena_zalloc(&f->arena, s->size);
    assert_ok(json_parse(&f->arena, arena_str(&f->arena, text), &d, &f->err), &f->err);
    assert_ok(codec_decode(s, yyjson_doc_get_root(d), &f->arena, view, &f->err), &f->err);
    return view;
}

static char *by_chance(struct fixture *f, const struct schema *s) {
    buf_reset(&f->text);
    make_object(f, s, 0);
    return decoded(f, s, buf_view(&f->text));
}

static struct str encoded(struct fixture *f, const struct schema *s, const void *view) {
    buf_reset(&f->out);
    codec_encode(s, view, &f->out);
    assert_int_equal(buf_ok(&f->out), 0);
    return arena_str(&f->arena, buf_view(&f->out));
}

/* `was` encoded, patched, decoded. */
static char *patched(struct fixture *f, const struct schema *s, struct str was, struct str patch) {
    yyjson_mut_doc *d = NULL;
    yyjson_doc *p = NULL;
    assert_ok(json_parse_mut(&f->arena, was, &d, &f->err), &f->err);
    assert_ok(json_parse(&f->arena, patch, &p, &f->err), &f->err);
    assert_ok(patch_merge(d, yyjson_doc_get_root(p), &f->err), &f->err);
    buf_reset(&f->text);
    json_write_mut(&f->text, yyjson_mut_doc_get_root(d));
    return decoded(f, s, buf_view(&f->text));
}

static void round_trip(struct fixture *f, const struct schema *s) {
    char *view = by_chance(f, s);
    struct str text = encoded(f, s, view);
    char *again = decoded(f, s, text);
    assert_true(value_views_same(s, view, again));
    assert_true(value_views_same(s, again, view));
    assert_str_eq(encoded(f, s, again), text);
    assert_false(codec_patch(s, view, again, NULL, &f->out));
}

static void patch_trip(struct fixture *f, const struct schema *s) {
    char *was = by_chance(f, s), *want = by_chance(f, s);
    struct str from = encoded(f, s, was);
    buf_reset(&f->out);
    bool any = codec_patch(s, was, want, NULL, &f->out);
    assert_int_equal(buf_ok(&f->out), 0);
    assert_int_equal(any, !value_views_same(s, was, want));
    assert_int_equal(any, f->out.n > 0);
    if (any) {
        struct str patch = arena_str(&f->arena, buf_view(&f->out));
        char *now = patched(f, s, from, patch);
        if (!value_views_same(s, now, want)) {
            print_error("%s: %.*s\nand %.*s\nis not %.*s\n", s->name, STR_ARG(from), STR_ARG(patch),
                        STR_ARG(encoded(f, s, want)));
        }
        assert_true(value_views_same(s, now, want));
    }
}

static void every_kind(struct fixture *f, void (*check)(struct fixture *, const struct schema *)) {
    size_t n, kinds = 0;
    const struct kind *const *all = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        const struct schema *s = kind_storage(all[i])->schema;
        kinds += s->size > 0;
        for (int k = 0; s->size > 0 && k < 60; k++) {
            arena_reset(&f->arena);
            check(f, s);
        }
    }
    assert_true(kinds > 15);
}

static void what_is_decoded_is_encoded(void **state) {
    every_kind(*state, round_trip);
}

static void patches_lead_where_they_should(void **state) {
    every_kind(*state, patch_trip);
}

/* ---- what is written ---- */

static void a_job_is_written_as_it_was(void **state) {
    struct fixture *f = *state;
    struct str text = STR(
        "{\"metadata\":{\"name\":\"j\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":"
        "{\"a\":\"b\"}},\"spec\":{\"parallelism\":0,\"suspend\":false},\"status\":{\"conditions\":"
        "[{\"type\":\"Complete\",\"status\":\"True\"}],\"active\":0,\"succeeded\":2,\"failed\":0,"
        "\"ready\":0}}");
    void *job = decoded(f, &schema_job, text);
    assert_str_eq(encoded(f, &schema_job, job), text);
    buf_reset(&f->out);
    codec_encode_object(kind_by_name(STR("batch"), STR("Job")), job, &f->out);
    assert_true(str_starts(buf_view(&f->out), STR("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                                  "\"metadata\":{\"name\":\"j\",")));
}

static void a_whole_object_may_be_empty(void **state) {
    struct fixture *f = *state;
    struct job none = {0};
    codec_encode_object(kind_by_name(STR("batch"), STR("Job")), &none, &f->out);
    assert_str_eq(buf_view(&f->out), STR("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"}"));
}

/* What a table says is always there is written though it is 0, and what is a pointer upstream, though it is zero. */
static void zeros_are_written_where_they_mean_something(void **state) {
    struct fixture *f = *state;
    struct cluster_queue_status s = {0};
    assert_str_eq(encoded(f, &schema_cluster_queue, &(struct cluster_queue){.status = &s}),
                  STR("{\"status\":{\"pendingWorkloads\":0,\"reservingWorkloads\":0,"
                      "\"admittedWorkloads\":0}}"));
    struct job_spec j = {.parallelism = {.set = true}};
    assert_str_eq(encoded(f, &schema_job_spec, &j), STR("{\"parallelism\":0}"));
}

/* ---- the smallest patch ---- */

#define WORKLOAD                                                                                   \
    "{\"metadata\":{\"name\":\"w\",\"annotations\":{\"a\":\"1\",\"b\":\"2\"},\"finalizers\":"      \
    "[\"x\",\"y\"]},\"spec\":{\"queueName\":\"q\",\"priority\":5},\"status\":{\"conditions\":[{"   \
    "\"type\":\"T\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\"}],\"admission\":{"       \
    "\"clusterQueue\":\"c\",\"podSetAssignments\":[]},\"requeueState\":{\"count\":2,"              \
    "\"requeueAt\":"                                                                               \
    "\"2026-01-02T03:04:05Z\"}}}"

static struct str patch_of(struct fixture *f, const struct workload *was,
                           const struct workload *want, const struct codec_lock *lock) {
    buf_reset(&f->out);
    bool any = codec_patch(&schema_workload, was, want, lock, &f->out);
    assert_int_equal(any, f->out.n > 0);
    return buf_view(&f->out);
}

static void nothing_is_written_for_nothing(void **state) {
    struct fixture *f = *state;
    void *was = decoded(f, &schema_workload, STR(WORKLOAD));
    void *same = decoded(f, &schema_workload, STR(WORKLOAD));
    struct codec_lock lock = {.rv = 7, .uid = STR("u")};
    assert_str_eq(patch_of(f, was, was, &lock), STR(""));
    assert_str_eq(patch_of(f, was, same, &lock), STR(""));
    assert_str_eq(patch_of(f, was, same, NULL), STR(""));
}

static void only_what_differs_is_written(void **state) {
    struct fixture *f = *state;
    struct workload *was = (void *)decoded(f, &schema_workload, STR(WORKLOAD)), want = *was;
    struct workload_status status = *was->status;
    struct requeue_state requeue = *status.requeue_state;
    struct codec_lock lock = {.rv = 7, .uid = STR("u")};
    want.status = &status;
    status.admission = NULL;
    status.requeue_state = &requeue;
    requeue.requeue_at_ns = 0;
    requeue.count.v = 3;
    assert_str_eq(patch_of(f, was, &want, &lock),
                  STR("{\"metadata\":{\"resourceVersion\":\"7\",\"uid\":\"u\"},\"status\":{"
                      "\"admission\":null,\"requeueState\":{\"count\":3,\"requeueAt\":null}}}"));
    assert_true(codec_patch_is_locked(buf_view(&f->out)));
    assert_true(str_starts(patch_of(f, was, &want, NULL), STR("{\"status\":{")));
    assert_false(codec_patch_is_locked(buf_view(&f->out)));
}

static void metadata_go_with_the_lock(void **state) {
    struct fixture *f = *state;
    struct workload *was = (void *)decoded(f, &schema_workload, STR(WORKLOAD)), want = {0};
    struct meta m = *was->metadata;
    struct str_pair notes[] = {{STR("b"), STR("3")}, {STR("c"), STR("4")}};
    struct str left[] = {STR("y")};
    want = *was;
    want.metadata = &m;
    m.annotations = (struct str_map){notes, 2};
    m.finalizers = (struct str_list){left, 1};
    struct codec_lock lock = {.uid = STR("u")};
    assert_str_eq(patch_of(f, was, &want, &lock),
                  STR("{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"b\":\"3\",\"c\":\"4\","
                      "\"a\":null},\"finalizers\":[\"y\"]}}"));
    assert_false(codec_patch_is_locked(buf_view(&f->out)));
}

/* A view without metadata says nothing of them. */
static void a_lock_needs_no_metadata(void **state) {
    struct fixture *f = *state;
    struct workload_spec off = {.active = {.set = true}};
    struct workload_spec on = {.priority = {.set = true}};
    off.priority.set = true;
    struct workload was = {.spec = &on}, want = {.spec = &off};
    struct codec_lock lock = {.rv = 9};
    assert_str_eq(patch_of(f, &was, &want, &lock),
                  STR("{\"metadata\":{\"resourceVersion\":\"9\"},\"spec\":{\"active\":false}}"));
}

/* A name that would end a JSON text does not. */
static void texts_are_escaped(void **state) {
    struct fixture *f = *state;
    struct str_pair note = {STR("a\"b"), STR("\",\"x\":\"\n")};
    struct meta m = {.annotations = {&note, 1}};
    struct workload was = {0}, want = {.metadata = &m};
    struct codec_lock lock = {.uid = STR("u\"")};
    assert_str_eq(patch_of(f, &was, &want, &lock),
                  STR("{\"metadata\":{\"uid\":\"u\\\"\",\"annotations\":{\"a\\\"b\":"
                      "\"\\\",\\\"x\\\":\\\"\\n\"}}}"));
}

/* A body that would be too long says so, and is not half a body that looks whole. */
static void a_full_buffer_is_told(void **state) {
    struct fixture *f = *state;
    void *w = decoded(f, &schema_workload, STR(WORKLOAD));
    struct buf small;
    buf_init(&small, 40);
    codec_encode(&schema_workload, w, &small);
    assert_int_equal(buf_ok(&small), ERR_TOO_LARGE);
    buf_release(&small);
}

/* ---- one view over another ---- */

static struct cluster_queue *queue_from(struct fixture *f, const char *json) {
    struct cluster_queue *q = ARENA_NEW(&f->arena, struct cluster_queue);
    yyjson_doc *d;
    assert_ok(json_parse(&f->arena, str_of(json), &d, &f->err), &f->err);
    assert_ok(codec_decode(&schema_cluster_queue, yyjson_doc_get_root(d), &f->arena, q, &f->err),
              &f->err);
    return q;
}

static void what_is_laid_over_a_view_is_owned(void **state) {
    struct fixture *f = *state;
    struct cluster_queue *was = queue_from(
        f, "{\"metadata\":{\"name\":\"q\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"spec\":{"
           "\"cohortName\":\"c\",\"stopPolicy\":\"Hold\",\"namespaceSelector\":{\"matchLabels\":{"
           "\"x\":\"1\"},\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}}}");
    struct cluster_queue *want = queue_from(
        f, "{\"metadata\":{\"name\":\"q\",\"labels\":{\"b\":\"3\",\"d\":\"4\",\"e\":\"\"}},"
           "\"spec\":{\"stopPolicy\":\"None\",\"namespaceSelector\":{\"matchLabels\":{\"y\":"
           "\"1\"}}}}");
    struct cluster_queue *both = value_lay(&schema_cluster_queue, was, want, &f->arena);
    assert_non_null(both);
    assert_str_eq(both->spec->cohort_name, STR("c")); /* nothing is said of it */
    assert_true(codec_patch(&schema_cluster_queue, was, both, NULL, &f->out));
    assert_str_eq(buf_view(&f->out),
                  STR("{\"metadata\":{\"labels\":{\"b\":\"3\",\"d\":\"4\"}},\"spec\":{"
                      "\"namespaceSelector\":{\"matchLabels\":{\"y\":\"1\",\"x\":null},"
                      "\"matchExpressions\":null},\"stopPolicy\":\"None\"}}"));
    buf_reset(&f->out);
    void *again = value_lay(&schema_cluster_queue, both, want, &f->arena);
    assert_false(codec_patch(&schema_cluster_queue, both, again, NULL, &f->out));
}

static void lists_are_written_item_by_item(void **state) {
    struct fixture *f = *state;
    struct reclaimable_pod v[] = {{STR("a"), 1}, {STR("b"), 2}};
    const char *both = "[{\"name\":\"a\",\"count\":1},{\"name\":\"b\",\"count\":2}]";
    codec_list_begin_at("XList", STR("g"), STR("v1"), 7, 0, &f->out);
    codec_list_item(&schema_reclaimable_pod, &v[0], &f->out);
    codec_list_item(&schema_reclaimable_pod, &v[1], &f->out);
    codec_list_end(&f->out);
    buf_f(&f->text,
          "{\"kind\":\"XList\",\"apiVersion\":\"g/v1\",\"metadata\":{"
          "\"resourceVersion\":\"7\"},\"items\":%s}",
          both);
    assert_str_eq(buf_view(&f->out), buf_view(&f->text));
    buf_reset(&f->out);
    codec_encode_list(&schema_reclaimable_pod, v, 2, &f->out);
    assert_str_eq(buf_view(&f->out), str_of(both));
    buf_reset(&f->out);
    codec_encode_list(&schema_reclaimable_pod, v, 0, &f->out);
    assert_str_eq(buf_view(&f->out), STR("[]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_decoded_is_encoded, setup, teardown),
        cmocka_unit_test_setup_teardown(patches_lead_where_they_should, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_is_written_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(a_whole_object_may_be_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(zeros_are_written_where_they_mean_something, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_is_written_for_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_differs_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(metadata_go_with_the_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_needs_no_metadata, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_laid_over_a_view_is_owned, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_are_written_item_by_item, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_buffer_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

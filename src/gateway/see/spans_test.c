/* Tests of spans: what a collector is sent, in batches, and that the queue has an end. */
#include "base/test.h"

#include "gateway/see/spans.h"
#include "wire/json/json.h"

static const struct gateway_key key = {.project = {"team", 4}};
static const struct routes_model model = {.name = {"llama", 5}};

static void add(struct span_queue *s, int status) {
    struct trace_context at;
    struct gateway_trace t = {.span = 0x1234};
    assert_true(trace_parse(STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), &at));
    struct gateway_seen seen = {.key = &key,
                                .model = &model,
                                .operation = STR("chat"),
                                .method = STR("POST"),
                                .path = STR("/v1/chat/completions"),
                                .asked = STR("my \"llama\""),
                                .status = status,
                                .tries = 1,
                                .begun_wall_ns = 1000,
                                .took_ns = 500,
                                .tokens_in = 7,
                                .tokens_out = -1,
                                .trace = &t};
    spans_add(s, &at, &seen);
}

static yyjson_val *take(struct span_queue *s, struct arena *a, size_t want) {
    struct buf body;
    struct err err = {0};
    yyjson_doc *d;
    buf_init(&body, 0);
    assert_int_equal(spans_take(s, &body), want);
    assert_ok(json_parse(a, arena_str(a, buf_view(&body)), &d, &err), &err);
    buf_release(&body);
    yyjson_val *r = yyjson_arr_get_first(json_get(yyjson_doc_get_root(d), STR("resourceSpans")));
    yyjson_val *scope = yyjson_arr_get_first(json_get(r, STR("scopeSpans")));
    return json_get(scope, STR("spans"));
}

static void a_span_says_what_happened(void **state) {
    struct span_queue *s = spans_new();
    struct arena a;
    arena_init(&a, 1 << 20);
    add(s, 200);
    add(s, 502);
    yyjson_val *list = take(s, &a, 2), *one = yyjson_arr_get_first(list);
    assert_str_eq(json_str_at(one, "traceId"), STR("0af7651916cd43dd8448eb211c80319c"));
    assert_str_eq(json_str_at(one, "spanId"), STR("0000000000001234"));
    assert_str_eq(json_str_at(one, "parentSpanId"), STR("b7ad6b7169203331"));
    assert_str_eq(json_str_at(one, "name"), STR("chat"));
    assert_str_eq(json_str_at(one, "endTimeUnixNano"), STR("1500"));
    assert_int_equal(json_i64_at(one, "status.code", 0), 0);
    assert_int_equal(json_i64_at(yyjson_arr_get_last(list), "status.code", 0), 2);
    yyjson_val *attribute = yyjson_arr_get(json_get(one, STR("attributes")), 4);
    assert_str_eq(json_str_at(attribute, "key"), STR("gen_ai.request.model"));
    assert_str_eq(json_str_at(attribute, "value.stringValue"), STR("my \"llama\""));
    assert_int_equal(spans_take(s, NULL), 0);
    arena_release(&a);
    spans_free(s);
}

static void the_queue_has_an_end(void **state) {
    struct span_queue *s = spans_new();
    struct arena a;
    arena_init(&a, 64 << 20);
    for (int i = 0; i < SPANS_MAX + 10; i++) {
        add(s, 200);
    }
    assert_int_equal(spans_dropped(s), 10);
    for (int i = 0; i < SPANS_MAX / SPANS_BATCH; i++) {
        assert_int_equal(yyjson_arr_size(take(s, &a, SPANS_BATCH)), SPANS_BATCH);
    }
    add(s, 200); /* one is left behind, and is freed */
    arena_release(&a);
    spans_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_says_what_happened),
        cmocka_unit_test(the_queue_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

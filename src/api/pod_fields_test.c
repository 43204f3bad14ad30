/* pod_fields: every place where a pod can ask for a device, and every depth at which it may be described. */
#include "base/test.h"

#include "api/pod_fields.h"
#include "wire/json/json.h"

static struct arena arena;

static yyjson_mut_val *parse(const char *json) {
    yyjson_mut_doc *d;
    struct err err = {0};
    assert_ok(json_parse_mut(&arena, str_of(json), &d, &err), &err);
    return d->root;
}

#define GPU "{\"nvidia.com/gpu\":\"1\"}"
#define NONE "{\"nvidia.com/gpu\":\"0\",\"cpu\":\"4\",\"example.com/gpu\":\"1\"}"

/* A place of a spec, with %s for amounts. */
static const char *const places[] = {
    "{\"containers\":[{},{\"resources\":{\"limits\":%s}}]}",
    "{\"containers\":[{\"resources\":{\"requests\":%s}}]}",
    "{\"containers\":[],\"initContainers\":[{\"resources\":{\"limits\":%s}}]}",
    "{\"containers\":[],\"initContainers\":[{\"resources\":{\"requests\":%s}}]}",
    "{\"containers\":[],\"ephemeralContainers\":[{\"resources\":{\"limits\":%s}}]}",
    "{\"containers\":[],\"resources\":{\"limits\":%s}}",
    "{\"containers\":[],\"resources\":{\"requests\":%s}}",
    "{\"containers\":[],\"overhead\":%s}",
};

/* Where a spec may stand; %s is the spec. */
static const char *const templates[] = {
    "{\"spec\":{\"template\":{\"spec\":%s}}}",
    "{\"template\":{\"spec\":%s}}",
    "{\"spec\":{\"podSets\":[{\"template\":{\"spec\":%s}}]}}",
    "{\"spec\":{\"pytorchReplicaSpecs\":{\"Worker\":{\"template\":{\"spec\":%s}}}}}",
    "{\"spec\":{\"components\":[{\"template\":{\"spec\":{\"template\":{\"spec\":%s}}}}]}}",
    "{\"spec\":{\"predictor\":%s}}",
    "{\"spec\":{\"a\":[[{\"b\":{\"c\":[%s]}}]]}}",
};

static yyjson_mut_val *fill(const char *pattern, const char *part) {
    char text[1024];
    size_t at = (size_t)(strstr(pattern, "%s") - pattern);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)at, pattern, part, pattern + at + 2);
    return parse(text);
}

static void test_every_place_is_asked(void **state) {
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (!pod_asks_device(fill(places[i], GPU)) || pod_asks_device(fill(places[i], NONE))) {
            fail_msg("%s", places[i]);
        }
    }
    assert_true(pod_asks_device(parse("{\"resourceClaims\":[{\"name\":\"gpu\"}]}")));
    assert_true(pod_asks_device(
        parse("{\"containers\":[{\"resources\":{\"claims\":[{\"name\":\"gpu\"}]}}]}")));
    assert_true(pod_asks_device(
        parse("{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/mig-1g.18gb\":2}}}]}")));
    assert_true(pod_asks_device(
        parse("{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"x\"}}}]}")));
    assert_false(pod_asks_device(parse("{\"containers\":[{}]}")));
    assert_false(pod_asks_device(NULL));
    arena_release(&arena);
}

static void test_every_depth_is_asked(void **state) {
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
        for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
            char spec[512];
            size_t at = (size_t)(strstr(places[k], "%s") - places[k]);
            snprintf(spec, sizeof(spec), "%.*s%s%s", (int)at, places[k], GPU, places[k] + at + 2);
            assert_true(pod_asks_device_below(fill(templates[i], spec)));
        }
        assert_false(pod_asks_device_below(fill(templates[i], "{\"containers\":[{}]}")));
    }
    assert_false(pod_asks_device_below(NULL));
    arena_release(&arena);
}

/* The lines for json. */
static const char *fields(const char *json) {
    static char text[512];
    struct buf b;
    buf_init(&b, 0);
    struct err err = {0};
    assert_ok(pod_scheduler_fields(parse(json), &arena, &b, &err), &err);
    assert_int_equal(pod_has_scheduler_fields(parse(json), &arena), b.n > 0);
    assert_true(str_copy(buf_view(&b), text, sizeof(text)));
    buf_release(&b);
    return text;
}

static void test_what_the_scheduler_says_is_found(void **state) {
    arena_init(&arena, 1 << 20);
    assert_string_equal(
        fields("{\"spec\":{\"template\":{\"spec\":{\"nodeName\":\"n\",\"containers\":[]}}}}"),
        "spec.template.spec.nodeName: \"n\"\n");
    assert_string_equal(
        fields("{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"berth.dev/devices\":"
               "\"[]\",\"berth.dev/placement\":\"x\"}}}}}"),
        "spec.template.metadata.annotations[berth.dev/devices]: \"[]\"\n"
        "spec.template.metadata.annotations[berth.dev/placement]: \"x\"\n");
    /* Without containers it is a template's by where it hangs. */
    assert_string_equal(
        fields("{\"spec\":{\"podTemplateOverrides\":[{\"spec\":{\"nodeName\":\"n\"}}"
               "]}}"),
        "spec.podTemplateOverrides[0].spec.nodeName: \"n\"\n");
    assert_string_equal(fields("{\"spec\":{\"a\":[{\"nodeName\":\"n\",\"initContainers\":[]}]}}"),
                        "spec.a[0].nodeName: \"n\"\n");
    assert_string_equal(fields("{\"metadata\":{\"annotations\":{\"berth.dev/devices\":\"[]\"}}}"),
                        "metadata.annotations[berth.dev/devices]: \"[]\"\n");
    /* What is no pod may have a node, and a status says what is. */
    assert_string_equal(
        fields("{\"spec\":{\"nodeName\":\"n\"},\"endpoints\":[{\"nodeName\":\"n\"}],"
               "\"status\":{\"template\":{\"spec\":{\"nodeName\":\"n\"}}}}"),
        "");
    assert_string_equal(fields("{\"spec\":{\"nodeName\":\"\",\"containers\":[]}}"), "");
    arena_release(&arena);
}

/* A long name over many places, each of which writes it again. */
static void test_lines_are_bounded(void **state) {
    enum { NAME = 200 << 10, PLACES = 2000 };
    struct err err = {0};
    struct buf json, out;
    buf_init(&json, 0);
    buf_init(&out, 0);
    buf_c(&json, "{\"spec\":{\"");
    memset(buf_room(&json, NAME), 'x', NAME);
    json.n += NAME;
    buf_c(&json, "\":[");
    for (size_t i = 0; i < PLACES; i++) {
        buf_c(&json, i ? "," : "");
        buf_c(&json, "{\"containers\":[],\"nodeName\":\"a\"}");
    }
    buf_c(&json, "]}}");
    arena_init(&arena, 64 << 20);
    yyjson_mut_val *v = parse(buf_cstr(&json));
    uint64_t before = arena.steps;
    assert_int_equal(pod_scheduler_fields(v, &arena, &out, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "nodeName"));
    assert_true(out.n <= POD_FIELDS_BYTES);
    assert_true(arena.steps - before < 20); /* the walk ended where the lines did */
    assert_true(pod_has_scheduler_fields(v, &arena));
    arena_allow(&arena, arena.steps + PLACES); /* each place is an object and a list */
    assert_true(pod_has_scheduler_fields(parse("{\"spec\":{}}"), NULL) == false);
    assert_int_equal(pod_priority_class(v, &arena, NULL, NULL).n, 0);
    assert_true(arena_spent(&arena));
    assert_true(pod_has_scheduler_fields(v, &arena)); /* it is not known that there is none */
    buf_release(&json);
    buf_release(&out);
    arena_release(&arena);
}

static bool not_high(void *ctx, struct str name, bool queue) {
    return !str_is(name, queue ? "high" : "system-node-critical");
}

static void test_classes_are_found(void **state) {
    static const char *const named[] = {
        "{\"spec\":{\"priorityClassName\":\"system-node-critical\"}}",
        "{\"spec\":{\"template\":{\"spec\":{\"priorityClassName\":\"system-node-critical\"}}}}",
        "{\"spec\":{\"runPolicy\":{\"schedulingPolicy\":{\"priorityClass\":\"system-node-critical\""
        "}}}}",
        "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"high\"}}}",
        "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":"
        "\"high\"}}}}}",
        "{\"spec\":{\"priorityClassName\":\"low\",\"priorityClass\":\"system-node-critical\"}}",
    };
    static const char *const others[] = {
        "{\"spec\":{\"priorityClassName\":\"high\"}}",
        "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/priority-class\":\"high\"}}}",
        "{\"spec\":{\"kueue.x-k8s.io/priority-class\":\"high\"}}",
    };
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (pod_priority_class(parse(named[i]), NULL, not_high, NULL).n == 0) {
            fail_msg("%s", named[i]);
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (pod_priority_class(parse(others[i]), NULL, not_high, NULL).n > 0) {
            fail_msg("%s", others[i]);
        }
    }
    arena_release(&arena);
}

static void test_kinds(void **state) {
    assert_true(pod_kind_describes(kind_by_name(STR(""), STR("Pod"))));
    assert_true(pod_kind_describes(kind_by_name(STR("batch"), STR("Job"))));
    assert_true(pod_kind_describes(kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"))));
    /* Whatever Berth's own kinds will describe one day. */
    assert_true(pod_kind_describes(kind_by_name(STR("berth.dev"), STR("Reservation"))));
    assert_false(pod_kind_describes(kind_by_name(STR(""), STR("Secret"))));
    assert_false(pod_kind_describes(kind_by_name(STR("kueue.x-k8s.io"), STR("LocalQueue"))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_place_is_asked),
        cmocka_unit_test(test_every_depth_is_asked),
        cmocka_unit_test(test_what_the_scheduler_says_is_found),
        cmocka_unit_test(test_lines_are_bounded),
        cmocka_unit_test(test_classes_are_found),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of autoscaler_v1: what v2 says comes through v1 and back unharmed, metrics of every type and their status. */
#include "api/scaling/autoscaler.h"

#include "base/test.h"

#define METRICS(side_)                                                                             \
    "[{\"type\":\"ContainerResource\",\"containerResource\":{\"name\":\"cpu\",\"container\":"      \
    "\"c\",\"" side_ "\":{" UTIL(                                                                  \
        "50") "}}},"                                                                               \
              "{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"hits\",\"selector\":{"          \
              "\"matchLabels\":{"                                                                  \
              "\"a\":\"b\"}}},\"" side_ "\":{" AVERAGE "}}},"                                      \
              "{\"type\":\"Object\",\"object\":{\"describedObject\":{\"kind\":\"Service\","        \
              "\"name\":\"s\"},"                                                                   \
              "\"metric\":{\"name\":\"rate\",\"selector\":{}},\"" side_ "\":{" VALUE "}}},"        \
              "{\"type\":\"External\",\"external\":{\"metric\":{\"name\":\"queue\",\"selector\":{" \
              "\"matchLabels\":{\"q\":\"z\"}}},\"" side_ "\":{" AVERAGE "}}},"                     \
              "{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"" side_ "\":{" AVERAGE   \
              "}}}]"

#define UTIL(n_) "\"type\":\"Utilization\",\"averageUtilization\":" n_
#define AVERAGE "\"type\":\"AverageValue\",\"averageValue\":\"10\""
#define VALUE "\"type\":\"Value\",\"value\":\"7\""
static const char SPEC[] =
    "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"maxReplicas\":3,\"metrics\":" METRICS(
        "target") ",\"behavior\":{\"scaleUp\":{\"stabilizationWindowSeconds\":30}}}";
#undef UTIL
#undef AVERAGE
#undef VALUE
#define UTIL(n_) "\"averageUtilization\":" n_ ",\"averageValue\":\"5\""
#define AVERAGE "\"averageValue\":\"10\""
#define VALUE "\"value\":\"7\""
#define CONDITIONS "[{\"type\":\"AbleToScale\",\"status\":\"True\"}]"
static const char STATUS[] = ",\"status\":{\"desiredReplicas\":2,\"conditions\":" CONDITIONS
                             ",\"currentMetrics\":" METRICS("current") "}}";

static void test_there_and_back(void **state) {
    struct arena a;
    struct err err = {0};
    yyjson_mut_doc *d, *was;
    arena_init(&a, 1 << 20);
    struct str json = arena_f(&a, "%s%s", SPEC, STATUS);
    assert_ok(json_parse_mut(&a, json, &d, &err), &err);
    assert_ok(json_parse_mut(&a, json, &was, &err), &err);
    yyjson_mut_val *o = yyjson_mut_doc_get_root(d);
    assert_ok(autoscaler_down(d, o, &err), &err);
    assert_null(json_mpath(o, "spec.metrics"));
    assert_null(json_mpath(o, "status.currentMetrics"));
    struct str note = json_mstr(json_mget(json_mpath(o, "metadata.annotations"),
                                          STR("autoscaling.alpha.kubernetes.io/metrics")));
    assert_true(str_contains(note, STR("\"targetAverageUtilization\":50")));
    assert_true(str_contains(note, STR("\"metricSelector\":{\"matchLabels\":{\"q\":\"z\"}}")));
    assert_ok(autoscaler_up(d, o, &err), &err);
    assert_true(json_mequal(o, yyjson_mut_doc_get_root(was)));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

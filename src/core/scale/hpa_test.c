/* Tests of hpa: what is kept of past looks has a bound. What one look decides is replayed (tests/replay). */
#include "core/scale/hpa.h"

#include "base/test.h"

enum { LOOKS = 3 * HPA_PAST_MAX, MS = 1000000 };

/* By an external metric, of which each replica has 1. */
static int32_t look(struct hpa_memory *m, int64_t now_ns, int64_t value) {
    struct scaled_ref ref = {
        .api_version = STR("apps/v1"), .kind = STR("Deployment"), .name = STR("d")};
    struct hpa_metric_name name = {.name = STR("queue")};
    struct hpa_target target = {.type = STR("AverageValue"), .average_value.set = true};
    struct hpa_plain_source external = {.metric = &name, .target = &target};
    struct hpa_metric metric = {.type = STR("External"), .external = &external};
    struct hpa_policy fast = {STR("Pods"), 1000000, 1800};
    struct hpa_rules up = {.stabilization_window_seconds = {true, 0}, .policies = {&fast, 1}};
    struct hpa_behavior behavior = {.scale_up = &up};
    struct hpa_spec spec = {.scale_target_ref = &ref,
                            .max_replicas = 1000000,
                            .metrics = {&metric, 1},
                            .behavior = &behavior};
    int64_t milli = value * 1000;
    struct hpa_reading reading = {.values = &milli, .n = 1};
    struct hpa_input in = {.namespace = STR("n"),
                           .name = STR("h"),
                           .spec = &spec,
                           .now_ns = now_ns,
                           .target_kind = STR("Deployment"),
                           .spec_replicas = 10,
                           .status_replicas = 10,
                           .selector = STR("app=x"),
                           .readings = &reading};
    struct hpa_answer answer = {0};
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_int_equal(quantity_parse(STR("1"), &target.average_value.v, NULL), 0);
    assert_int_equal(hpa_decide(&hpa_config_default, &in, m, &a, &answer), 0);
    if (answer.write) {
        assert_int_equal(hpa_written(&hpa_config_default, &in, m, &a, STR(""), &answer), 0);
    }
    int32_t replicas = answer.write ? answer.replicas : in.spec_replicas;
    arena_release(&a);
    return replicas;
}

/* An autoscaler is looked at whenever its spec changes: somebody who does that all the time fills no memory. */
static void test_the_past_has_a_bound(void **state) {
    struct hpa_memory m = {0};
    const int64_t begin = INT64_C(1800000000) * 1000 * MS;
    for (int i = 0; i < LOOKS; i++) {
        assert_int_equal(look(&m, begin + (int64_t)i * MS, 12), 12);
    }
    assert_in_range(m.recommendations.n, 1, HPA_PAST_MAX);
    assert_in_range(m.ups.n, 1, HPA_PAST_MAX);
    assert_int_equal(look(&m, begin + (int64_t)LOOKS * MS, 5), 10); /* the last ones still count */
    hpa_memory_release(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_past_has_a_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

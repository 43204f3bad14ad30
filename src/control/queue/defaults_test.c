/* Tests of the defaults controller: what a fresh data folder gets, and what is added later. */
#include "control/kit/controller.h"
#include "control/test/queue_scene.h"

static void defaults(void **state) {
    struct scene s;
    struct err err = {0};
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                         "\"kube-system\"}}");
    struct controller *d = controller_new(&defaults_controller, &s.w.env, &err);
    assert_non_null(d);
    settle(&s);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 0);
    assert_int_equal(fake_world_count(&s.w, "Cohort"), 0);
    node(&s, "n1", true);
    settle(&s);
    const struct object *pool = fake_world_get(&s.w, "Cohort", "", "pool");
    assert_non_null(pool);
    assert_true(str_contains(pool->json,
                             STR("{\"name\":\"nvidia.com/mig-2g.35gb\",\"nominalQuota\":\"3\"}")));
    assert_true(str_contains(pool->json, STR("{\"name\":\"memory\",\"nominalQuota\":\"64Gi\"}")));
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "default");
    assert_non_null(cq);
    assert_string_equal(fake_world_text(cq, "spec.cohortName"), "pool");
    assert_true(str_contains(cq->json,
                             STR("{\"name\":\"nvidia.com/mig-2g.35gb\",\"nominalQuota\":\"0\"}")));
    assert_string_equal(fake_world_condition(cq, "Active"), "True");
    assert_non_null(fake_world_get(&s.w, "LocalQueue", "default", "default"));
    assert_non_null(fake_world_get(&s.w, "ResourceFlavor", "", "nvidia-h200"));
    assert_non_null(fake_world_get(&s.w, "ConfigMap", "kube-system", "berth-defaults"));
    fake_world_delete(&s.w, "LocalQueue", "default", "default", "");
    node(&s, "n1", false); /* what was deleted stays deleted */
    settle(&s);
    assert_null(fake_world_get(&s.w, "LocalQueue", "default", "default"));
    controller_free(d);
    end(&s);
}

/* Whether the pool has so much of a resource in a flavor. */
static void has_quota(struct scene *s, const char *flavor, const char *resource, const char *want) {
    char open[256], line[256];
    const struct object *cq = fake_world_get(&s->w, "Cohort", "", "pool");
    assert_non_null(cq);
    snprintf(open, sizeof(open), "{\"name\":\"%s\",\"resources\":[", flavor);
    snprintf(line, sizeof(line), "{\"name\":\"%s\",\"nominalQuota\":\"%s\"}", resource, want);
    struct str mine = cq->json, rest;
    while (mine.n && !str_starts(mine, str_of(open))) {
        mine = str_skip(mine, 1);
    }
    str_cut(str_skip(mine, strlen(open)), ']', &mine, &rest);
    if (!str_contains(mine, str_of(line))) {
        print_error("%s of %s: %.*s\n", line, flavor, STR_ARG(mine));
    }
    assert_true(str_contains(mine, str_of(line)));
}

static struct controller *defaults_of(struct scene *s) {
    struct err err = {0};
    if (fake_world_get(&s->w, "Namespace", "", "kube-system") == NULL) {
        fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                              "{\"name\":\"kube-system\"}}");
    }
    struct controller *d = controller_new(&defaults_controller, &s->w.env, &err);
    assert_non_null(d);
    settle(s);
    return d;
}

/* A flavor for each GPU type; one node has two boards, of which some profiles have the same name. */
static void defaults_of_types(void **state) {
    struct gpu_profile small[] = {
        {STR("1g.10gb"), STR("nvidia.com/mig-1g.10gb"), 19, 1, 1, 9728, 7, 0x7f, false},
        {STR("1g.18gb"), STR("nvidia.com/mig-1g.18gb"), 20, 2, 1, 16384, 4, 0x55, false}};
    struct scene s;
    start(&s);
    struct gpu_card two[] = {h200("GPU-1", true), h200("GPU-2", true)}, mixed[2];
    mixed[0] = h200("GPU-3", true);
    mixed[1] = h200("GPU-4", true);
    mixed[1].model = STR("NVIDIA A100-SXM4-80GB");
    mixed[1].board = STR("0x20B210DE");
    mixed[1].profiles = small;
    mixed[1].n_profiles = 2;
    node_of(&s, "n1", two, 2, "NVIDIA-H200");
    node_of(&s, "n2", mixed, 2, "NVIDIA-H200");
    struct controller *d = defaults_of(&s);
    has_quota(&s, "default", "cpu", "32");
    has_quota(&s, "default", "memory", "128Gi");
    has_quota(&s, "nvidia-h200", "nvidia.com/gpu", "2");
    has_quota(&s, "nvidia-h200", "nvidia.com/mig-1g.18gb", "14");
    has_quota(&s, "nvidia-h200", "nvidia.com/mig-1g.10gb", "0");
    has_quota(&s, "nvidia-h200-nvidia-a100-sxm4-80gb", "nvidia.com/mig-1g.18gb", "11");
    has_quota(&s, "nvidia-h200-nvidia-a100-sxm4-80gb", "nvidia.com/mig-1g.10gb", "7");
    assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 3);
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "default");
    assert_string_equal(fake_world_condition(cq, "Active"), "True");
    controller_free(d);
    end(&s);
}

/* No GPUs: cpu and memory alone. An edit stays, also over a second start; so does what was there before. */
static void defaults_without_gpus(void **state) {
    struct scene s;
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                         "\"metadata\":{\"name\":\"default\",\"labels\":{\"mine\":\"yes\"}},"
                         "\"spec\":{}}");
    quota(&s, "1", "BestEffortFIFO"); /* another queue, made first, is no reason to go without */
    node_of(&s, "n1", NULL, 0, NULL);
    struct controller *d = defaults_of(&s);
    has_quota(&s, "default", "cpu", "16");
    assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 2);
    assert_string_equal(fake_world_text(fake_world_get(&s.w, "ResourceFlavor", "", "default"),
                                        "metadata.labels.mine"),
                        "yes");
    fake_world_patch(&s.w, "ClusterQueue", "", "default", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    controller_free(d);
    d = defaults_of(&s);
    node_of(&s, "n2", NULL, 0, NULL);
    settle(&s);
    has_quota(&s, "default", "cpu", "16");
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "ClusterQueue", "", "default"), "spec.stopPolicy"),
        "Hold");
    controller_free(d);
    end(&s);
}

/* What ClusterQueue default has of a resource in a flavor: "" when it does not cover it. */
static bool queue_covers(struct scene *s, const char *flavor, const char *resource) {
    char want[256];
    const struct object *cq = fake_world_get(&s->w, "ClusterQueue", "", "default");
    snprintf(want, sizeof(want), "{\"name\":\"%s\",\"nominalQuota\":\"0\"}", resource);
    return str_contains(cq->json, str_of(want)) && str_contains(cq->json, str_of(flavor));
}

/* Started without GPUs, and later with some; then one of another type comes. At any write that fails, again. */
static void gpus_come_later(void **state) {
    static const enum fake_fault faults[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    for (uint64_t at = 0; at < 30; at++) {
        struct gpu_card h = h200("GPU-1", true), a = h200("GPU-2", true);
        struct scene s;
        start(&s);
        node_of(&s, "n1", NULL, 0, NULL);
        struct controller *d = defaults_of(&s);
        assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 1);
        if (at % 2 == 0) {
            controller_free(d);
            d = NULL;
        }
        s.w.fail_at = at / 3;
        s.w.fault = faults[at % 3];
        node_of(&s, "n1", &h, 1, "NVIDIA-H200");
        d = d == NULL ? defaults_of(&s) : d;
        settle(&s);
        fake_world_run(&s.w, 60 * NS_PER_SEC);
        has_quota(&s, "default", "cpu", "16");
        has_quota(&s, "nvidia-h200", "nvidia.com/gpu", "1");
        has_quota(&s, "nvidia-h200", "nvidia.com/mig-2g.35gb", "3");
        assert_true(queue_covers(&s, "nvidia-h200", "nvidia.com/mig-2g.35gb"));
        assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 2);
        a.model = STR("NVIDIA A100-SXM4-80GB");
        node_of(&s, "n2", &a, 1, "NVIDIA-A100-SXM4-80GB");
        settle(&s);
        fake_world_run(&s.w, 60 * NS_PER_SEC);
        has_quota(&s, "nvidia-a100-sxm4-80gb", "nvidia.com/gpu", "1");
        has_quota(&s, "nvidia-h200", "nvidia.com/gpu", "1");
        assert_true(queue_covers(&s, "nvidia-a100-sxm4-80gb", "nvidia.com/gpu"));
        assert_string_equal(
            fake_world_condition(fake_world_get(&s.w, "ClusterQueue", "", "default"), "Active"),
            "True");
        assert_int_equal(fake_world_count(&s.w, "Event"), 0);
        uint64_t writes = s.w.writes; /* and the same once more is no news */
        node_of(&s, "n2", &a, 1, "NVIDIA-A100-SXM4-80GB");
        settle(&s);
        assert_int_equal(s.w.writes, writes);
        controller_free(d);
        end(&s);
    }
}

/* Whoever edited the queue is told, once, and it is left alone until he says so. */
static void gpus_come_later_to_an_edited_queue(void **state) {
    struct gpu_card h = h200("GPU-1", true);
    struct scene s;
    start(&s);
    node_of(&s, "n1", NULL, 0, NULL);
    struct controller *d = defaults_of(&s);
    fake_world_patch(&s.w, "ClusterQueue", "", "default", "",
                     "{\"spec\":{\"queueingStrategy\":\"StrictFIFO\"}}");
    for (int i = 0; i < 2; i++) { /* also at the next look */
        node_of(&s, i == 0 ? "n1" : "n2", &h, 1, "NVIDIA-H200");
        settle(&s);
        assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 1);
        assert_false(queue_covers(&s, "nvidia-h200", "nvidia.com/gpu"));
        assert_int_equal(fake_world_count(&s.w, "Event"), 1);
    }
    fake_world_patch(&s.w, "ClusterQueue", "", "default", "",
                     "{\"metadata\":{\"annotations\":{\"berth.dev/default-generation\":\"2\"}}}");
    settle(&s);
    assert_true(queue_covers(&s, "nvidia-h200", "nvidia.com/gpu"));
    has_quota(&s, "nvidia-h200", "nvidia.com/gpu", "2");
    assert_string_equal(fake_world_text(fake_world_get(&s.w, "ClusterQueue", "", "default"),
                                        "spec.queueingStrategy"),
                        "StrictFIFO");
    /* taken out again by somebody: that is an edit too */
    fake_world_patch(&s.w, "ClusterQueue", "", "default", "",
                     "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":"
                     "[{\"name\":\"default\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":"
                     "\"0\"}]}]}]}}");
    controller_free(d);
    d = defaults_of(&s);
    assert_false(queue_covers(&s, "nvidia-h200", "nvidia.com/gpu"));
    controller_free(d);
    end(&s);
}

/* What cannot be read of one node keeps the others from nothing. */
static void gpus_that_cannot_be_read(void **state) {
    struct scene s;
    start(&s);
    node_of(&s, "n1", NULL, 0, NULL);
    fake_world_patch(&s.w, "Node", "", "n1", "",
                     "{\"metadata\":{\"annotations\":{\"" INVENTORY_ANNOTATION "\":\"{[\"}}}");
    node(&s, "n2", true);
    struct controller *d = defaults_of(&s);
    has_quota(&s, "default", "cpu", "32");
    has_quota(&s, "nvidia-h200", "nvidia.com/gpu", "1");
    controller_free(d);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(defaults_of_types),
        cmocka_unit_test(defaults_without_gpus),
        cmocka_unit_test(gpus_that_cannot_be_read),
        cmocka_unit_test(gpus_come_later),
        cmocka_unit_test(gpus_come_later_to_an_edited_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of gpu_inventory, with nodes as GPU Feature Discovery and the device plugin describe them. */
#include "control/load/gpu_inventory.h"

#include "base/test.h"
#include "control/test/fake_world.h"

struct lines {
    char text[4000];
};

static void add(void *ctx, const struct gpu_sum *s) {
    struct lines *l = ctx;
    size_t n = strlen(l->text);
    snprintf(
        l->text + n, sizeof l->text - n,
        "%.*s %.*s: nodes %lld total %lld bad %lld cordoned %lld held %lld idle %lld wait %lld\n",
        STR_ARG(s->product), STR_ARG(s->resource), (long long)s->nodes, (long long)s->total,
        (long long)s->unhealthy, (long long)s->cordoned, (long long)s->allocated,
        (long long)s->idle, (long long)s->waiting);
}

static void says(struct gpu_inventory *g, const char *expected) {
    struct lines l = {""};
    gpu_inventory_each(g, add, &l);
    assert_string_equal(l.text, expected);
}

static void node(struct fake_world *w, const char *name, const char *product, const char *spec,
                 const char *capacity, const char *allocatable, const char *ready) {
    char json[1500];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
        "\"nvidia.com/"
        "gpu.product\":\"%s\"}},\"spec\":{%s},\"status\":{\"capacity\":{\"cpu\":\"8\",%s},"
        "\"allocatable\":{\"cpu\":\"8\",%s},\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"reason\":\"r\",\"message\":\"\"}]}}",
        name, product, spec, capacity, allocatable, ready);
    fake_world_put(w, json);
}

static void pod(struct fake_world *w, const char *name, const char *on, const char *resource) {
    char json[1000];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\",\"image\":"
             "\"x\","
             "\"resources\":{\"limits\":{\"%s\":\"2\"},\"requests\":{\"%s\":\"2\"}}}]}}",
             name, on, resource, resource);
    fake_world_put(w, json);
}

static void queues(struct fake_world *w, const char *label) {
    char json[500];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{"
             "\"name\":\"f\"},\"spec\":{%s}}",
             label);
    fake_world_put(w, json);
    fake_world_put(
        w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{"
           "\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{"
           "\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\","
           "\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"1\"}]}]}]}}");
    fake_world_put(
        w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{"
           "\"name\":\"lq\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"cq\"}}");
}

static void workload(struct fake_world *w, const char *name, int count) {
    char json[1000];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":"
        "\"main\",\"count\":%d,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
        "\"x\","
        "\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"4\"}}}]}}}]}}",
        name, count);
    fake_world_put(w, json);
}

static int setup(void **state) {
    static struct fake_world w;
    fake_world_init(&w);
    fake_world_put(
        &w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"default\"}}");
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    fake_world_release(*state);
    return 0;
}

#define GPU(n) "\"nvidia.com/gpu\":\"" #n "\""

static void test_states(void **state) {
    struct fake_world *w = *state;
    node(w, "a", "H100", "", GPU(8), GPU(7), "True"); /* one failed */
    node(w, "b", "H100", "\"unschedulable\":true", GPU(8), GPU(8), "True");
    node(w, "c", "H100", "", GPU(8), GPU(8), "Unknown");
    pod(w, "p", "a", "nvidia.com/gpu");
    struct gpu_inventory *g = gpu_inventory_new(w->mirror, NULL, NULL);
    const char *all =
        "H100 nvidia.com/gpu: nodes 3 total 24 bad 9 cordoned 6 held 4 idle 5 wait 0\n";
    pod(w, "q", "b", "nvidia.com/gpu");
    says(g, all);
    says(g, all); /* asking changes nothing */
    fake_world_patch(w, "Pod", "default", "p", "status", "{\"status\":{\"phase\":\"Succeeded\"}}");
    fake_world_delete(w, "Node", "", "c", "Background");
    says(g, "H100 nvidia.com/gpu: nodes 2 total 16 bad 1 cordoned 6 held 2 idle 7 wait 0\n");
    gpu_inventory_free(g);
}

/* Strategy mixed: slices beside whole GPUs; other resources of the same vendor's prefix count, others do not. */
static void test_slices(void **state) {
    struct fake_world *w = *state;
    struct gpu_inventory *g = gpu_inventory_new(w->mirror, NULL, NULL);
    const char *has = GPU(4) ",\"nvidia.com/mig-1g.18gb\":\"14\",\"nvidia.com/sriov\":\"3\"";
    node(w, "a", "H200", "", has, has, "True");
    node(w, "b", "", "", GPU(1), GPU(1), "True");
    pod(w, "p", "a", "nvidia.com/mig-1g.18gb");
    says(g, "H200 nvidia.com/gpu: nodes 1 total 4 bad 0 cordoned 0 held 0 idle 4 wait 0\n"
            "H200 nvidia.com/mig-1g.18gb: nodes 1 total 14 bad 0 cordoned 0 held 2 idle 12 wait 0\n"
            " nvidia.com/gpu: nodes 1 total 1 bad 0 cordoned 0 held 0 idle 1 wait 0\n");
    gpu_inventory_free(g);
}

static void test_waiting(void **state) {
    struct fake_world *w = *state;
    struct gpu_inventory *g = gpu_inventory_new(w->mirror, NULL, NULL);
    node(w, "a", "H100", "", GPU(8), GPU(8), "True");
    node(w, "b", "A100", "", GPU(8), GPU(8), "True");
    queues(w, "\"nodeLabels\":{\"nvidia.com/gpu.product\":\"H100\"}");
    workload(w, "one", 2);
    workload(w, "two", 1);
    says(g, "H100 nvidia.com/gpu: nodes 1 total 8 bad 0 cordoned 0 held 0 idle 8 wait 12\n"
            "A100 nvidia.com/gpu: nodes 1 total 8 bad 0 cordoned 0 held 0 idle 8 wait 0\n");
    fake_world_patch(
        w, "Workload", "default", "one", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
        "\"r\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    fake_world_patch(w, "ResourceFlavor", "", "f", "", "{\"spec\":{\"nodeLabels\":null}}");
    says(g, "H100 nvidia.com/gpu: nodes 1 total 8 bad 0 cordoned 0 held 0 idle 8 wait 4\n"
            "A100 nvidia.com/gpu: nodes 1 total 8 bad 0 cordoned 0 held 0 idle 8 wait 4\n");
    gpu_inventory_free(g);
}

static void test_metrics(void **state) {
    struct fake_world *w = *state;
    struct prom *p = prom_new();
    struct gpu_inventory *g = gpu_inventory_new(w->mirror, p, NULL);
    struct buf b;
    node(w, "a", "H100", "", GPU(8), GPU(8), "True");
    for (int i = 0; i < 2; i++) {
        buf_init(&b, 0);
        prom_write(p, &b);
        assert_true(str_contains(buf_view(&b), STR("berth_gpu_inventory{product=\"H100\",resource="
                                                   "\"nvidia.com/gpu\",state=\"idle\"} 8\n")));
        assert_true(str_contains(buf_view(&b), STR("berth_gpu_queue_depth{product=\"H100\"")));
        buf_release(&b);
    }
    gpu_inventory_free(g);
    prom_free(p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {T(test_states), T(test_slices), T(test_waiting),
                                       T(test_metrics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

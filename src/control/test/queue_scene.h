/* queue_scene: a fake world with the queue controller, a small queue and nodes with GPUs, for tests. */
#ifndef BERTH_CONTROL_QUEUE_SCENE_H
#define BERTH_CONTROL_QUEUE_SCENE_H

#include "base/test.h"

#include "api/inventory.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"

#define SCENE __attribute__((unused)) static

struct scene {
    struct fake_world w;
    struct queue_controller *q;
};

SCENE void controllers(struct scene *s) {
    struct err err = {0};
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    if (s->q == NULL) {
        print_error("%s\n", err.text);
    }
    assert_non_null(s->q);
}

SCENE void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

SCENE void quota(struct scene *s, const char *cpu, const char *strategy) {
    char json[2048];
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
        "{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"queueingStrategy\":\"%s\","
        "\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/mig-2g.35gb\"],"
        "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%s\"},"
        "{\"name\":\"nvidia.com/mig-2g.35gb\",\"nominalQuota\":\"100\"}]}]}]}}",
        strategy, cpu);
    fake_world_put(&s->w, json);
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                          "\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},\"spec\":"
                          "{\"clusterQueue\":\"cq\"}}");
}

SCENE void start(struct scene *s) {
    fake_world_init(&s->w);
    if (fake_world_get(&s->w, "Namespace", "", "default") == NULL) {
        fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                              "{\"name\":\"default\"}}");
    }
    controllers(s);
}

SCENE void end(struct scene *s) {
    controller_free(s->q);
    fake_world_release(&s->w);
}

SCENE struct gpu_profile PROFILES[] = {
    {STR("1g.18gb"), STR("nvidia.com/mig-1g.18gb"), 19, 1, 1, 16384, 7, 0x7f, false},
    {STR("2g.35gb"), STR("nvidia.com/mig-2g.35gb"), 14, 2, 2, 33024, 3, 0x15, false},
    {STR("3g.71gb"), STR("nvidia.com/mig-3g.71gb"), 9, 4, 3, 71168, 2, 0x11, false},
    {STR("7g.141gb"), STR("nvidia.com/mig-7g.141gb"), 0, 8, 7, 143360, 1, 0x01, false},
};

/* A node with these cards, of which the label names the first. */
SCENE void node_of(struct scene *s, const char *name, struct gpu_card *cards, size_t n,
                   const char *product) {
    struct inventory inv = {cards, n, true};
    struct buf gpus, json;
    buf_init(&gpus, 0);
    buf_init(&json, 0);
    inventory_encode(&inv, &gpus);
    buf_f(
        &json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
        "\"labels\":{\"berth.dev/managed\":\"true\"%s%s%s},\"annotations\":{\"" INVENTORY_ANNOTATION
        "\":",
        name, product ? ",\"nvidia.com/gpu.product\":\"" : "", product ? product : "",
        product ? "\"" : "");
    buf_json(&json, buf_view(&gpus));
    buf_c(&json, "}},\"spec\":{}}");
    if (fake_world_get(&s->w, "Node", "", name) == NULL) {
        fake_world_put(&s->w, buf_cstr(&json));
    } else {
        fake_world_patch(&s->w, "Node", "", name, "", buf_cstr(&json));
    }
    fake_world_patch(&s->w, "Node", "", name, "status",
                     "{\"status\":{\"allocatable\":{\"cpu\":\"16\",\"memory\":\"64Gi\"},"
                     "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    buf_release(&gpus);
    buf_release(&json);
}

SCENE struct gpu_card h200(const char *uuid, bool healthy) {
    return (struct gpu_card){.uuid = str_of(uuid),
                             .model = STR("NVIDIA H200"),
                             .slices = 8,
                             .board = STR("0x233510DE"),
                             .memory_mib = 143771,
                             .healthy = healthy,
                             .mig_enabled = true,
                             .mig_managed = true,
                             .profiles = PROFILES,
                             .n_profiles = 4,
                             .trouble = healthy ? (struct str){0} : STR("Xid 79")};
}

SCENE void node(struct scene *s, const char *name, bool healthy) {
    struct gpu_card card = h200("GPU-0", healthy);
    node_of(s, name, &card, 1, "NVIDIA-H200");
}

#endif

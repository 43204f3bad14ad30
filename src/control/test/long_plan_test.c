/* Tests of plans that are longer than annotations are (kit/long_note.h), in a fake world. */
#include "control/test/queue_scene.h"
#include "core/admit/engine.h"

enum { NODES = 1000, CARDS = 8 };

static void gpu_queue(struct scene *s) {
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    fake_world_put(
        &s->w,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
        "{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{"
        "\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{"
        "\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"100000\"}]}]}]}}");
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                          "\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},\"spec\":"
                          "{\"clusterQueue\":\"cq\"}}");
}

static void nodes(struct scene *s) {
    for (int i = 0; i < NODES; i++) {
        struct gpu_card cards[CARDS];
        char names[CARDS][48], name[16];
        for (int k = 0; k < CARDS; k++) {
            snprintf(names[k], sizeof(names[k]), "GPU-%08x-0000-4000-8000-%012x", i, k);
            cards[k] = h200(names[k], true);
            cards[k].index = k;
            cards[k].mig_enabled = false;
        }
        snprintf(name, sizeof(name), "n%04d", i);
        node_of(s, name, cards, CARDS, "NVIDIA-H200");
    }
}

static void workload(struct scene *s, const char *name, int count) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"lq\","
             "\"active\":true,\"podSets\":[{\"name\":\"main\",\"count\":%d,\"template\":{\"spec\":{"
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"},\"requests\":{"
             "\"nvidia.com/gpu\":\"8\"}}}]}}}]}}",
             name, count);
    fake_world_put(&s->w, json);
}

static const struct object *get(struct scene *s, const char *name) {
    const struct object *o = fake_world_get(&s->w, "Workload", "default", name);
    assert_non_null(o);
    return o;
}

struct parts {
    size_t n;
    char first[256];
};

static bool add(void *ctx, const struct object *o) {
    struct parts *p = ctx;
    if (p->n++ == 0) {
        snprintf(p->first, sizeof(p->first), "%.*s", STR_ARG(o->name));
    }
    return true;
}

static struct parts parts(struct scene *s) {
    struct parts p = {0};
    mirror_scan(s->w.mirror, fake_world_kind("ControllerRevision"), STR("default"), add, &p);
    return p;
}

static struct pool *pool(struct scene *s) {
    return engine_pool(queue_controller_engine(s->q));
}

/* A thousand pods of eight GPUs each. Their plan is there before the admission, holds the same places after a restart,
 * and is another after it was admitted again; the one before has gone then. */
static void thousand(void **state) {
    struct scene s;
    start(&s);
    gpu_queue(&s);
    nodes(&s);
    workload(&s, "large", NODES);
    settle(&s);
    assert_string_equal(fake_world_condition_message(get(&s, "large"), "QuotaReserved"),
                        "Quota reserved in ClusterQueue cq");
    assert_string_equal(fake_world_condition(get(&s, "large"), "Admitted"), "True");
    assert_true(get(&s, "large")->json.n < 16 << 10);
    struct parts was = parts(&s);
    assert_int_equal(was.n, 2);
    const struct object *part = fake_world_get(&s.w, "ControllerRevision", "default", was.first);
    assert_true(str_eq(object_controller(part)->uid, get(&s, "large")->uid));
    assert_int_equal(pool_seats(pool(&s)), NODES);
    uint64_t digest = pool_digest(pool(&s)), writes = s.w.writes;
    controller_free(s.q);
    controllers(&s);
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    assert_int_equal(pool_digest(pool(&s)), digest);
    workload(&s, "more", 1); /* all are taken */
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "more"), "QuotaReserved"),
                        "WaitingForPlacement");
    fake_world_patch(&s.w, "Workload", "default", "large", "", "{\"spec\":{\"active\":false}}");
    fake_world_patch(&s.w, "Workload", "default", "large", "status",
                     "{\"status\":{\"conditions\":[],\"admission\":null}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "more"), "Admitted"), "True");
    fake_world_patch(
        &s.w, "Workload", "default", "large", "",
        "{\"spec\":{\"active\":true,\"podSets\":[{\"name\":\"main\",\"count\":999,\"template\":{"
        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"},\"requests\":{"
        "\"nvidia.com/gpu\":\"8\"}}}]}}}]}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "large"), "Admitted"), "True");
    struct parts now = parts(&s);
    assert_int_equal(now.n, 2);
    assert_string_not_equal(now.first, was.first);
    end(&s);
}

/* A part that somebody took away: what is admitted stays so, and the other part still holds its places. */
static void part_gone(void **state) {
    struct scene s;
    start(&s);
    gpu_queue(&s);
    nodes(&s);
    workload(&s, "large", NODES);
    settle(&s);
    struct parts was = parts(&s);
    fake_world_delete(&s.w, "ControllerRevision", "default", was.first, "");
    controller_free(s.q);
    controllers(&s);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "large"), "Admitted"), "True");
    assert_in_range(pool_seats(pool(&s)), 1, NODES - 1);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousand),
        cmocka_unit_test(part_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of what queues say of themselves: counters, usage, conditions, and how often that is written. */
#include "base/test.h"

#include "control/fake_world.h"
#include "control/queue_controller.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","

struct scene {
    struct fake_world w;
    struct queue_controller *q;
};

static void start(struct scene *s) {
    struct err err = {0};
    fake_world_init(&s->w);
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                          "{\"name\":\"default\"}}");
    s->q = queue_controller_new(&s->w.env, &err);
    assert_non_null(s->q);
}

static void end(struct scene *s) {
    queue_controller_free(s->q);
    fake_world_release(&s->w);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

static void flavor(struct scene *s, const char *name) {
    char json[256];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"%s\"},\"spec\":{}}", name);
    fake_world_put(&s->w, json);
}

/* more: members of the spec, each with a comma after it. */
static void cluster_queue(struct scene *s, const char *name, const char *more) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
                "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"memory\","
                "\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"memory\","
                "\"nominalQuota\":\"4Gi\"},{\"name\":\"cpu\",\"nominalQuota\":\"400\"}]}]}]}}",
             name, more);
    fake_world_put(&s->w, json);
}

static void local_queue(struct scene *s, const char *name, const char *cq) {
    char json[512];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"clusterQueue\":\"%s\"}}",
             name, cq);
    fake_world_put(&s->w, json);
}

static void workload(struct scene *s, const char *name, const char *lq, const char *cpu) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"queueName\":\"%s\",\"active\":true,\"podSets\":[{\"name\":\"main\","
                "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
                "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}}]}}",
             name, lq, cpu);
    fake_world_put(&s->w, json);
}

static const struct object *cluster(struct scene *s, const char *name) {
    return fake_world_get(&s->w, "ClusterQueue", "", name);
}

static const struct object *local(struct scene *s, const char *name) {
    return fake_world_get(&s->w, "LocalQueue", "default", name);
}

static void usage(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "\"cohortName\":\"team\",");
    cluster_queue(&s, "other", "\"cohortName\":\"team\",");
    local_queue(&s, "lq", "cq");
    local_queue(&s, "empty", "cq");
    workload(&s, "a", "lq", "401500m");
    workload(&s, "b", "lq", "900");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.flavorsUsage"),
                        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"401500m\","
                        "\"borrowed\":\"1500m\"},{\"name\":\"memory\",\"total\":\"0\","
                        "\"borrowed\":\"0\"}]}]");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.flavorsUsage"),
                        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"401500m\"},"
                        "{\"name\":\"memory\",\"total\":\"0\"}]}]");
    assert_string_equal(fake_world_text(local(&s, "empty"), "status.flavorsReservation"),
                        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"0\"},"
                        "{\"name\":\"memory\",\"total\":\"0\"}]}]");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.pendingWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.pendingWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "other"), "status.admittedWorkloads"), "0");
    fake_world_patch(&s.w, "LocalQueue", "default", "lq", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.pendingWorkloads"), "0");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.pendingWorkloads"), "0");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.admittedWorkloads"), "1");
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.reservingWorkloads"), "0");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.reservingWorkloads"), "0");
    assert_string_equal(
        fake_world_text(cluster(&s, "cq"), "status.flavorsReservation"),
        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"0\",\"borrowed\":\"0\"},"
        "{\"name\":\"memory\",\"total\":\"0\",\"borrowed\":\"0\"}]}]");
    end(&s);
}

/* One that holds quota and waits for a check is in the reservation, not in the usage. */
static void reserved_is_not_used(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq",
                  "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"x\"}]},");
    local_queue(&s, "lq", "cq");
    workload(&s, "a", "lq", "3");
    fake_world_patch(
        &s.w, "Workload", "default", "a", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
        "\"QuotaReserved\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],"
        "\"admissionChecks\":[{\"name\":\"x\",\"state\":\"Pending\",\"message\":\"\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],"
        "\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\","
        "\"flavors\":{\"cpu\":\"f\"},\"resourceUsage\":{\"cpu\":\"3\"},\"count\":1}]}}}");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.reservingWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "0");
    assert_non_null(strstr(fake_world_text(local(&s, "lq"), "status.flavorsReservation"),
                           "\"cpu\",\"total\":\"3\""));
    assert_non_null(
        strstr(fake_world_text(local(&s, "lq"), "status.flavorsUsage"), "\"cpu\",\"total\":\"0\""));
    assert_non_null(strstr(fake_world_text(cluster(&s, "cq"), "status.flavorsUsage"),
                           "\"cpu\",\"total\":\"0\""));
    end(&s);
}

static void counted(void *ctx, const struct change *ch) {
    *(size_t *)ctx += ch->type == CHANGE_MODIFIED;
}

/* A busy queue's status is written now and then, a quiet one's at once, and the last state always. */
static void paced(void **state) {
    struct scene s;
    size_t writes = 0;
    char name[32];
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "");
    local_queue(&s, "lq", "cq");
    settle(&s);
    struct feed *f = mirror_feed(s.w.mirror, fake_world_kind("ClusterQueue"), counted, &writes);
    workload(&s, "first", "lq", "1");
    fake_world_run(&s.w, 20 * NS_PER_MS);
    assert_int_equal(writes, 1);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        workload(&s, name, "lq", "1");
        fake_world_run(&s.w, 10 * NS_PER_MS);
    }
    assert_in_range(writes, 10, 32);
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "301");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.admittedWorkloads"), "301");
    feed_free(f);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage),
        cmocka_unit_test(reserved_is_not_used),
        cmocka_unit_test(paced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

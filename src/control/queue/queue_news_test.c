/* Tests of the news line: nothing is written while the writer has no room, but one now and then; who is admitted
 * meanwhile says nothing; with room all is said. */
#include "base/test.h"

#include "control/queue/queue_private.h"
#include "control/test/fake_world.h"

static bool roomy;

static bool room(struct writer *w) {
    (void)w;
    return roomy;
}

static void workload(struct fake_world *w, const char *name, int cpu) {
    char json[768];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
        "{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"lq\",\"podSets\":"
        "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"%d\"}}}]}}}]}}",
        name, cpu);
    fake_world_put(w, json);
}

static int said(struct fake_world *w, int n) {
    char name[16];
    int count = 0;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        const char *truth =
            fake_world_condition(fake_world_get(w, "Workload", "default", name), "QuotaReserved");
        count += strcmp(truth, "False") == 0;
    }
    return count;
}

static struct queue_controller *start(struct fake_world *w) {
    struct err err = {0};
    fake_world_init(w);
    fake_world_put(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                      "\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    fake_world_put(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
                      "\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
                      "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":"
                      "\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"1\"}]}]}]}}");
    fake_world_put(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                      "\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},\"spec\":"
                      "{\"clusterQueue\":\"cq\"}}");
    w->writer.writer.room = room;
    struct queue_controller *q = controller_new(&queue_controller, &w->env, &err);
    assert_non_null(q);
    fake_world_run(w, 5 * NS_PER_SEC);
    return q;
}

static void they_wait_for_room(void **state) {
    enum { N = 100 };
    struct fake_world w;
    char name[16];
    roomy = false;
    struct queue_controller *q = start(&w);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        workload(&w, name, 2); /* more than there is */
    }
    fake_world_run(&w, NS_PER_SEC);
    int early = said(&w, N);
    assert_in_range(early, 2, 40); /* one now and then */
    workload(&w, "one", 1);
    fake_world_run(&w, 100 * NS_PER_MS); /* an admission does not wait */
    assert_string_equal(
        fake_world_condition(fake_world_get(&w, "Workload", "default", "one"), "Admitted"), "True");
    roomy = true;
    fake_world_run(&w, 2 * NS_PER_SEC);
    assert_int_equal(said(&w, N), N);
    controller_free(q);
    fake_world_release(&w);
}

/* Also while ever more of them come. */
static void one_now_and_then(void **state) {
    enum { N = 60 };
    struct fake_world w;
    char name[16];
    roomy = false;
    struct queue_controller *q = start(&w);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        workload(&w, name, 2);
        fake_world_run(&w, 20 * NS_PER_MS);
    }
    assert_in_range(said(&w, N), 10, 40);
    controller_free(q);
    fake_world_release(&w);
}

static void they_may_go_while_they_wait(void **state) {
    struct fake_world w;
    char name[16];
    roomy = false;
    struct queue_controller *q = start(&w);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        workload(&w, name, 2);
    }
    fake_world_run(&w, 200 * NS_PER_MS);
    for (int i = 0; i < 20; i += 2) {
        snprintf(name, sizeof(name), "w%d", i);
        fake_world_delete(&w, "Workload", "default", name, NULL);
    }
    roomy = true;
    fake_world_run(&w, 2 * NS_PER_SEC);
    for (int i = 1; i < 20; i += 2) {
        snprintf(name, sizeof(name), "w%d", i);
        assert_string_equal(
            fake_world_condition(fake_world_get(&w, "Workload", "default", name), "QuotaReserved"),
            "False");
    }
    controller_free(q); /* also with some in the line: the leak check sees it */
    fake_world_release(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_wait_for_room),
        cmocka_unit_test(one_now_and_then),
        cmocka_unit_test(they_may_go_while_they_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

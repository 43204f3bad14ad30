/* Tests of the queue controller's feeds: which changes are news to the engine, and what is kept of what has gone. */
#include "base/test.h"

#include "control/queue/queue_private.h"
#include "control/test/fake_world.h"
#include "core/admit/engine_private.h"

struct scene {
    struct fake_world w;
    struct queue_controller *q;
};

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

static void start(struct scene *s) {
    struct err err = {0};
    fake_world_init(&s->w);
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    fake_world_put(
        &s->w,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\","
        "\"metadata\":{\"name\":\"check\"},\"spec\":{\"controllerName\":\"example.com/c\"}}");
    fake_world_patch(
        &s->w, "AdmissionCheck", "", "check", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\",\"reason\":"
        "\"a\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Cohort\","
                          "\"metadata\":{\"name\":\"co\"},\"spec\":{}}");
    fake_world_put(&s->w,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
                   "\"metadata\":{\"name\":\"cq\",\"annotations\":"
                   "{\"berth.dev/max-protection\":\"2h\"}},\"spec\":{\"namespaceSelector\":"
                   "{},\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"check\"}]},"
                   "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":"
                   "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":"
                   "\"2\"}]}]}]}}");
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    assert_non_null(s->q);
    settle(s);
}

static void end(struct scene *s) {
    controller_free(s->q);
    fake_world_release(&s->w);
}

/* What the controllers themselves write of queues ends no cycle and wakes nobody. */
static void status_is_no_edit(void **state) {
    static const struct {
        const char *kind, *name, *sub, *json;
        bool edit;
    } changes[] = {
        {"ClusterQueue", "cq", "status", "{\"status\":{\"pendingWorkloads\":7}}", false},
        {"Cohort", "co", "status", "{\"status\":{\"fairSharing\":{\"weightedShare\":7}}}", false},
        {"Cohort", "co", "", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", false},
        {"ResourceFlavor", "f", "", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", false},
        {"ClusterQueue", "cq", "",
         "{\"metadata\":{\"annotations\":{\"berth.dev/max-protection\":\"1h\"}}}", true},
        {"AdmissionCheck", "check", "status",
         "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\",\"reason\":\"a\","
         "\"message\":\"once more\",\"lastTransitionTime\":\"2026-01-01T00:00:01Z\"}]}}",
         false},
        {"AdmissionCheck", "check", "status",
         "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"False\",\"reason\":\"a\","
         "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:02Z\"}]}}",
         true},
        {"ClusterQueue", "cq", "", "{\"spec\":{\"cohortName\":\"other\"}}", true},
        {"Cohort", "co", "", "{\"spec\":{\"parentName\":\"other\"}}", true},
        {"ResourceFlavor", "f", "", "{\"spec\":{\"nodeLabels\":{\"a\":\"b\"}}}", true},
    };
    struct scene s;
    start(&s);
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        struct engine *e = queue_controller_engine(s.q);
        uint64_t before = e->queues.agenda.retry_clock; /* grows whenever trees are made anew */
        fake_world_patch(&s.w, changes[i].kind, "", changes[i].name, changes[i].sub,
                         changes[i].json);
        settle(&s);
        if ((e->queues.agenda.retry_clock != before) != changes[i].edit) {
            print_error("change %zu\n", i);
        }
        assert_int_equal(e->queues.agenda.retry_clock != before, changes[i].edit);
    }
    end(&s);
}

/* Names of LocalQueues are kept as long as something bears them. */
static void names_are_forgotten(void **state) {
    struct scene s;
    char json[512], name[16];
    start(&s);
    for (int i = 0; i < 6; i++) {
        bool exists = i % 2 == 0;
        snprintf(name, sizeof(name), "q%d", i);
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
                 "{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"cq\"}}",
                 name);
        if (exists) {
            fake_world_put(&s.w, json);
        }
        snprintf(
            json, sizeof(json),
            "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
            "{\"name\":\"w\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"%s\",\"podSets\":"
            "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
            "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
            "{\"cpu\":\"9\"}}}]}}}]}}",
            name);
        fake_world_put(&s.w, json);
        settle(&s);
        assert_int_equal(map_count(&s.q->locals), 1);
        if (i < 4) {
            fake_world_delete(&s.w, "Workload", "default", "w", NULL);
            settle(&s);
            assert_int_equal(map_count(&s.q->locals), exists);
        }
        if (exists) {
            fake_world_delete(&s.w, "LocalQueue", "default", name, NULL);
            settle(&s);
            assert_int_equal(map_count(&s.q->locals), i == 4);
        }
        if (i == 4) { /* it outlives its LocalQueue, then moves */
            snprintf(json, sizeof(json), "{\"spec\":{\"queueName\":\"other\"}}");
            fake_world_patch(&s.w, "Workload", "default", "w", "", json);
            settle(&s);
            assert_int_equal(map_count(&s.q->locals), 1);
            fake_world_delete(&s.w, "Workload", "default", "w", NULL);
            settle(&s);
            assert_int_equal(map_count(&s.q->locals), 0);
        }
    }
    end(&s);
}

static void put_queues(struct scene *s, const char *name, const char *cohort) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
             "{\"name\":\"%s\"},\"spec\":{\"cohortName\":\"%s\",\"namespaceSelector\":{},"
             "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\","
             "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"2\"}]}]}]}}",
             name, cohort);
    fake_world_put(&s->w, json);
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
             "{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"%s\"}}",
             name, name);
    fake_world_put(&s->w, json);
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
        "{\"name\":\"w-%s\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"%s\","
        "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"restartPolicy\":"
        "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
        "\"requests\":{\"cpu\":\"9\"}}}]}}}]}}",
        name, name);
    fake_world_put(&s->w, json);
}

/* Queues that come and go leave nothing behind, in whatever order they go. */
static void nothing_is_left(void **state) {
    static const char *const orders[] = {"cqw", "wqc", "qwc", "wcq", "qcw", "cwq"};
    struct scene s;
    char name[16], work[24];
    start(&s);
    struct engine *e = queue_controller_engine(s.q);
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        snprintf(work, sizeof(work), "w-q%d", i);
        put_queues(&s, name, i % 7 == 0 ? "co" : "");
        settle(&s);
        for (const char *o = orders[i % 6]; *o != '\0'; o++) {
            fake_world_delete(&s.w,
                              *o == 'c'   ? "ClusterQueue"
                              : *o == 'q' ? "LocalQueue"
                                          : "Workload",
                              *o == 'c' ? "" : "default", *o == 'w' ? work : name, NULL);
            if (i % 5 > 0) {
                settle(&s);
            }
        }
        settle(&s);
        assert_int_equal(map_count(&s.q->clusters), 1);
        assert_int_equal(map_count(&s.q->locals), 0);
        assert_int_equal(map_count(&s.q->by_uid), 0);
        assert_int_equal(map_count(&e->queues.by_name), 1);
        assert_int_equal(map_count(&e->forest.queues), 1);
        assert_int_equal(map_count(&e->forest.cohorts), 1);
    }
    assert_in_range(s.q->clusters.cap, 1, 64);
    assert_in_range(s.q->locals.cap, 1, 64);
    end(&s);
}

/* A LocalQueue keeps the name that it points at, and finds the ClusterQueue that comes after it. */
static void pointed_at(void **state) {
    struct scene s;
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                         "\"metadata\":{\"name\":\"l\",\"namespace\":\"default\"},\"spec\":"
                         "{\"clusterQueue\":\"late\"}}");
    settle(&s);
    assert_int_equal(map_count(&s.q->clusters), 2);
    const struct object *l = fake_world_get(&s.w, "LocalQueue", "default", "l");
    assert_string_equal(fake_world_condition_reason(l, "Active"), "ClusterQueueDoesNotExist");
    put_queues(&s, "late", "");
    settle(&s);
    l = fake_world_get(&s.w, "LocalQueue", "default", "l");
    assert_string_equal(fake_world_condition_reason(l, "Active"), "Ready");
    fake_world_delete(&s.w, "ResourceFlavor", "", "f", NULL);
    fake_world_delete(&s.w, "LocalQueue", "default", "l", NULL);
    settle(&s);
    assert_int_equal(map_count(&s.q->clusters), 2);
    end(&s);
}

/* An edit of one queue has the statuses of no others looked at. */
static void others_rest(void **state) {
    struct scene s;
    char name[16];
    start(&s);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        put_queues(&s, name, "");
    }
    settle(&s);
    struct engine *e = queue_controller_engine(s.q);
    uint64_t built = e->forest.built;
    fake_world_patch(&s.w, "ClusterQueue", "", "q7", "", "{\"spec\":{\"cohortName\":\"x\"}}");
    fake_world_run(&s.w, NS_PER_MS);
    assert_in_range(workqueue_len(s.q->states), 1, 4);
    assert_in_range(workqueue_len(s.q->base.queue), 0, 2);
    settle(&s);
    assert_int_equal(e->forest.built, built + 2);
    end(&s);
}

/* Edits of a large tree come together; a small tree is settled at once. */
static void edits_share(void **state) {
    struct scene s;
    char name[16];
    start(&s);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        put_queues(&s, name, "large");
    }
    settle(&s);
    struct engine *e = queue_controller_engine(s.q);
    uint64_t built = e->forest.built;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "more%d", i);
        put_queues(&s, name, "large");
        fake_world_run(&s.w, 2 * NS_PER_MS);
    }
    assert_in_range(e->forest.built - built, 2000, 2100 * (100 / 20 + 2)); /* one in 20 ms */
    fake_world_run(&s.w, 25 * NS_PER_MS);
    assert_true(engine_queue_active(e, STR("more49")));
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_is_no_edit), cmocka_unit_test(names_are_forgotten),
        cmocka_unit_test(nothing_is_left),   cmocka_unit_test(pointed_at),
        cmocka_unit_test(others_rest),       cmocka_unit_test(edits_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

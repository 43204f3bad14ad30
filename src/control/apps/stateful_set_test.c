/*
 * Scenario tests of the controller of StatefulSets in a fake world: order, updates, claims and revisions, and the same
 * life with each write refused, lost or met by a conflict.
 */
#include "control/apps/stateful_set.h"

#include "base/test.h"
#include "control/apps/stateful_decide.h"
#include "control/test/fake_world.h"

struct fixture {
    struct fake_world world;
    void *sets;
};

static void start(struct fixture *f) {
    struct err err = {0};
    f->sets = controller_new(&stateful_set_controller, &f->world.env, &err);
    assert_non_null(f->sets);
}

static int keeps_running(void *ctx, const struct object *pod) {
    return -1;
}

static void setup(struct fixture *f) {
    memset(f, 0, sizeof *f);
    fake_world_init(&f->world);
    f->world.outcome = keeps_running;
    start(f);
}

static void teardown(struct fixture *f) {
    controller_free(f->sets);
    fake_world_release(&f->world);
}

/* With its defaults: patches of this world give none. */
#define TEMPLATE(image_)                                                                           \
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":" \
    "\"c\",\"image\":\"" image_ "\",\"imagePullPolicy\":\"Always\",\"terminationMessagePath\":"    \
    "\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\"}]}}"
#define SPEC(n_, more_)                                                                            \
    "{\"replicas\":" n_                                                                            \
    ",\"serviceName\":\"svc\",\"selector\":{\"matchLabels\":{\"app\":\"x\"}}," more_ TEMPLATE(     \
        "one") "}"

static void put(struct fixture *f, const char *spec) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"s\","
             "\"namespace\":\"default\"},\"spec\":%s}",
             spec);
    fake_world_put(&f->world, json);
}

static void patch(struct fixture *f, const char *json) {
    fake_world_patch(&f->world, "StatefulSet", "default", "s", "", json);
}

static const struct object *pod(struct fixture *f, int ordinal) {
    char name[16];
    snprintf(name, sizeof name, "s-%d", ordinal);
    return fake_world_get(&f->world, "Pod", "default", name);
}

static const struct object *set(struct fixture *f) {
    return fake_world_get(&f->world, "StatefulSet", "default", "s");
}

#define PODS(f) fake_world_count(&(f)->world, "Pod")
#define STATUS(f, member, want) assert_string_equal(fake_world_text(set(f), "status." member), want)
#define IMAGE(f, ordinal, want)                                                                    \
    assert_non_null(                                                                               \
        strstr(fake_world_text(pod(f, ordinal), "spec.containers"), "\"image\":\"" want "\""))

static void pods_come_one_by_one_and_go_backwards(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, SPEC("3", ""));
    fake_world_run(&f.world,
                   2 * NS_PER_SEC); /* the node does not look: the first one is waited for */
    assert_int_equal(PODS(&f), 1);
    assert_non_null(pod(&f, 0));
    fake_world_live(&f.world, 10);
    assert_int_equal(PODS(&f), 3);
    STATUS(&f, "readyReplicas", "3");
    STATUS(&f, "availableReplicas", "3");
    assert_str_eq(object_label(pod(&f, 2), STR("statefulset.kubernetes.io/pod-name")), STR("s-2"));
    assert_str_eq(object_label(pod(&f, 2), STR("apps.kubernetes.io/pod-index")), STR("2"));
    assert_string_equal(fake_world_text(pod(&f, 1), "spec.hostname"), "s-1");
    assert_string_equal(fake_world_text(pod(&f, 1), "spec.subdomain"), "svc");
    patch(&f, "{\"spec\":{\"replicas\":1}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_true(pod(&f, 2)->deleting_ns != 0);
    assert_true(pod(&f, 1)->deleting_ns == 0);
    fake_world_live(&f.world, 10);
    assert_int_equal(PODS(&f), 1);
    assert_int_equal(fake_world_events(&f.world, "SuccessfulDelete"), 2);
    teardown(&f);
}

static void parallel_ones_wait_for_nobody(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, SPEC("5", "\"podManagementPolicy\":\"Parallel\",\"ordinals\":{\"start\":3},"));
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(PODS(&f), 5);
    assert_non_null(pod(&f, 7));
    assert_null(pod(&f, 0));
    teardown(&f);
}

static void updates_go_down_to_the_partition(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, SPEC("3", "\"updateStrategy\":{\"rollingUpdate\":{\"partition\":1}},"));
    fake_world_live(&f.world, 10);
    patch(&f, "{\"spec\":{" TEMPLATE("two") "}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_true(pod(&f, 2)->deleting_ns != 0); /* from the top, one at a time */
    assert_true(pod(&f, 1)->deleting_ns == 0);
    fake_world_live(&f.world, 20);
    IMAGE(&f, 2, "two");
    IMAGE(&f, 1, "two");
    IMAGE(&f, 0, "one");
    STATUS(&f, "updatedReplicas", "2");
    STATUS(&f, "currentReplicas", "1");
    fake_world_delete(&f.world, "Pod", "default", "s-0", "Background");
    fake_world_live(&f.world, 5);
    IMAGE(&f, 0, "one"); /* below the partition the old revision comes again */
    patch(&f, "{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}");
    fake_world_live(&f.world, 10);
    IMAGE(&f, 0, "two");
    STATUS(&f, "currentReplicas", "3");
    char current[300];
    snprintf(current, sizeof current, "%s", fake_world_text(set(&f), "status.currentRevision"));
    STATUS(&f, "updateRevision", current);
    assert_int_equal(fake_world_count(&f.world, "ControllerRevision"), 2);
    /* back: the first revision serves again and is the newest */
    patch(&f, "{\"spec\":{" TEMPLATE("one") "}}");
    fake_world_live(&f.world, 20);
    IMAGE(&f, 2, "one");
    assert_int_equal(fake_world_count(&f.world, "ControllerRevision"), 2);
    teardown(&f);
}

static void on_delete_waits_for_a_deletion(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, SPEC("2", "\"updateStrategy\":{\"type\":\"OnDelete\"},"));
    fake_world_live(&f.world, 8);
    patch(&f, "{\"spec\":{" TEMPLATE("two") "}}");
    fake_world_live(&f.world, 5);
    IMAGE(&f, 1, "one");
    fake_world_delete(&f.world, "Pod", "default", "s-1", "Background");
    fake_world_live(&f.world, 5);
    IMAGE(&f, 1, "two");
    IMAGE(&f, 0, "one");
    teardown(&f);
}

static void claims_stay_with_their_pods(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, SPEC("2", "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{"
                      "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
                      "\"storage\":\"1Gi\"}}}}],"));
    fake_world_live(&f.world, 8);
    assert_int_equal(fake_world_count(&f.world, "PersistentVolumeClaim"), 2);
    const struct object *c =
        fake_world_get(&f.world, "PersistentVolumeClaim", "default", "data-s-1");
    assert_non_null(c);
    assert_str_eq(object_label(c, STR("app")), STR("x"));
    assert_non_null(strstr(fake_world_text(pod(&f, 1), "spec.volumes"), "\"data-s-1\""));
    char uid[64];
    assert_true(str_copy(c->uid, uid, sizeof uid));
    fake_world_delete(&f.world, "Pod", "default", "s-1", "Background");
    fake_world_live(&f.world, 6);
    assert_non_null(pod(&f, 1));
    c = fake_world_get(&f.world, "PersistentVolumeClaim", "default", "data-s-1");
    assert_str_eq(c->uid, str_of(uid));
    patch(&f, "{\"spec\":{\"replicas\":0}}");
    fake_world_live(&f.world, 8);
    assert_int_equal(fake_world_count(&f.world, "PersistentVolumeClaim"), 2);
    teardown(&f);
}

/* Who owns a claim: "" for nobody, else kinds and names. */
static const char *owners(struct fixture *f, const char *claim) {
    static char text[200];
    const struct object *c = fake_world_get(&f->world, "PersistentVolumeClaim", "default", claim);
    assert_non_null(c);
    text[0] = 0;
    for (size_t i = 0; i < c->n_owners; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%.*s/%.*s ", STR_ARG(c->owners[i].kind),
                 STR_ARG(c->owners[i].name));
    }
    return text;
}

#define POLICY(deleted_, scaled_)                                                                  \
    "{\"spec\":{\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"" deleted_             \
    "\",\"whenScaled\":\"" scaled_ "\"}}}"

static void claims_go_where_the_policy_says(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, SPEC("3", "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{"
                      "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
                      "\"storage\":\"1Gi\"}}}}],"));
    fake_world_live(&f.world, 8);
    assert_string_equal(owners(&f, "data-s-1"), "");
    patch(&f, POLICY("Delete", "Retain"));
    fake_world_live(&f.world, 2);
    assert_string_equal(owners(&f, "data-s-1"), "StatefulSet/s ");
    patch(&f, POLICY("Retain", "Retain"));
    fake_world_live(&f.world, 2);
    assert_string_equal(owners(&f, "data-s-1"), "");
    patch(&f, POLICY("Delete", "Delete"));
    fake_world_live(&f.world, 2);
    assert_string_equal(owners(&f, "data-s-2"), "StatefulSet/s ");
    patch(&f, "{\"spec\":{\"replicas\":2}}");
    fake_world_live(&f.world, 8);
    assert_null(pod(&f, 2));
    assert_string_equal(owners(&f, "data-s-2"), "Pod/s-2 "); /* the collector's from here on */
    assert_string_equal(owners(&f, "data-s-1"), "StatefulSet/s ");
    teardown(&f);
}

static void ordinals_of_names(void **state) {
    assert_int_equal(stateful_ordinal(STR("s"), STR("s-0")), 0);
    assert_int_equal(stateful_ordinal(STR("s"), STR("s-12")), 12);
    assert_int_equal(stateful_ordinal(STR("s"), STR("s-012")), -1);
    assert_int_equal(stateful_ordinal(STR("s"), STR("s-x")), -1);
    assert_int_equal(stateful_ordinal(STR("s"), STR("s-")), -1);
    assert_int_equal(stateful_ordinal(STR("s"), STR("t-1")), -1);
    assert_int_equal(stateful_ordinal(STR("s"), STR("s--1")), -1);
}

static void every_write_may_fail(void **state) {
    for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
        for (uint64_t at = 1; at < 30; at++) {
            struct fixture f;
            setup(&f);
            f.world.fail_at = at;
            f.world.fault = (enum fake_fault)fault;
            put(&f, SPEC("2", ""));
            fake_world_live(&f.world, 8);
            patch(&f, "{\"spec\":{" TEMPLATE("two") "}}");
            fake_world_live(&f.world, 14);
            assert_int_equal(PODS(&f), 2);
            IMAGE(&f, 0, "two");
            STATUS(&f, "updatedReplicas", "2");
            STATUS(&f, "readyReplicas", "2");
            teardown(&f);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_come_one_by_one_and_go_backwards),
        cmocka_unit_test(parallel_ones_wait_for_nobody),
        cmocka_unit_test(updates_go_down_to_the_partition),
        cmocka_unit_test(on_delete_waits_for_a_deletion),
        cmocka_unit_test(claims_stay_with_their_pods),
        cmocka_unit_test(claims_go_where_the_policy_says),
        cmocka_unit_test(ordinals_of_names),
        cmocka_unit_test(every_write_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

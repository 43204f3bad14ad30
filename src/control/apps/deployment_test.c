/*
 * Scenario tests of the controllers of Deployments, ReplicaSets and ReplicationControllers in a fake world: their
 * lives, and the same life with controllers dropped and made anew again and again, and with each write refused, lost or
 * met by a conflict.
 */
#include "control/apps/deployment.h"

#include "base/test.h"
#include "control/apps/replica_set.h"
#include "control/test/fake_world.h"

struct fixture {
    struct fake_world world;
    void *sets, *plain, *deployments;
};

static void start(struct fixture *f) {
    struct err err = {0};
    f->sets = controller_new(&replica_set_controller, &f->world.env, &err);
    f->plain = controller_new(&replication_controller, &f->world.env, &err);
    f->deployments = controller_new(&deployment_controller, &f->world.env, &err);
    assert_true(f->sets && f->plain && f->deployments);
}

static void stop(struct fixture *f) {
    controller_free(f->deployments);
    controller_free(f->plain);
    controller_free(f->sets);
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
    stop(f);
    fake_world_release(&f->world);
}

/* With its defaults: patches of this world give none. */
#define TEMPLATE(image_)                                                                           \
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":" \
    "\"c\",\"image\":\"" image_ "\",\"imagePullPolicy\":\"Always\",\"terminationMessagePath\":"    \
    "\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\"}]}}"
#define SPEC(n_, more_)                                                                            \
    "{\"replicas\":" n_ ",\"selector\":{\"matchLabels\":{\"app\":\"x\"}}," more_ TEMPLATE("one") "}"

static void put(struct fixture *f, const char *kind, const char *name, const char *spec) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\"},\"spec\":%s}",
             kind, name, spec);
    fake_world_put(&f->world, json);
}

static void patch(struct fixture *f, const char *kind, const char *name, const char *json) {
    fake_world_patch(&f->world, kind, "default", name, "", json);
}

static const struct object *get(struct fixture *f, const char *kind, const char *name) {
    return fake_world_get(&f->world, kind, "default", name);
}

#define TEXT(f, kind, name, path, want)                                                            \
    assert_string_equal(fake_world_text(get(f, kind, name), path), want)

struct tally {
    size_t n, owned;
    const struct object *one;
};

static bool tally_one(void *ctx, const struct object *o) {
    struct tally *t = ctx;
    t->n++;
    t->owned += object_controller(o) != NULL;
    t->one = o;
    return true;
}

static struct tally tally(struct fixture *f, const char *kind) {
    struct tally t = {0};
    mirror_scan(f->world.mirror, fake_world_kind(kind), STR(""), tally_one, &t);
    return t;
}

/* ---- ReplicaSets ---- */

static void a_set_has_its_pods(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "ReplicaSet", "s", SPEC("12", ""));
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "Pod").owned, 12);
    TEXT(&f, "ReplicaSet", "s", "status.replicas", "12");
    TEXT(&f, "ReplicaSet", "s", "status.readyReplicas", "12");
    TEXT(&f, "ReplicaSet", "s", "status.availableReplicas", "12");
    TEXT(&f, "ReplicaSet", "s", "status.fullyLabeledReplicas", "12");
    assert_int_equal(fake_world_events(&f.world, "SuccessfulCreate"), 12);
    patch(&f, "ReplicaSet", "s", "{\"spec\":{\"replicas\":3}}");
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "Pod").n, 3);
    assert_int_equal(fake_world_events(&f.world, "SuccessfulDelete"), 9);
    TEXT(&f, "ReplicaSet", "s", "status.observedGeneration", "2");
    patch(&f, "ReplicaSet", "s", "{\"spec\":{\"replicas\":0}}");
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "Pod").n, 0);
    TEXT(&f, "ReplicaSet", "s", "status.replicas", "0");
    teardown(&f);
}

static void what_ended_is_replaced(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "ReplicaSet", "s", SPEC("2", ""));
    fake_world_live(&f.world, 3);
    const struct object *pod = tally(&f, "Pod").one;
    char name[300];
    assert_true(str_copy(pod->name, name, sizeof name));
    fake_world_patch(&f.world, "Pod", "default", name, "status",
                     "{\"status\":{\"phase\":\"Failed\"}}");
    fake_world_live(&f.world, 3);
    assert_int_equal(tally(&f, "Pod").n, 3);
    TEXT(&f, "ReplicaSet", "s", "status.replicas", "2");
    teardown(&f);
}

static void orphans_are_adopted_and_strangers_let_go(void **state) {
    struct fixture f;
    setup(&f);
    fake_world_put(&f.world, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                             "\"lone\",\"namespace\":\"default\",\"labels\":{\"app\":\"x\"}},"
                             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    put(&f, "ReplicaSet", "s", SPEC("2", ""));
    fake_world_live(&f.world, 3);
    assert_int_equal(tally(&f, "Pod").owned, 2); /* it counts as one of both */
    assert_non_null(object_controller(get(&f, "Pod", "lone")));
    patch(&f, "Pod", "lone", "{\"metadata\":{\"labels\":{\"app\":\"y\"}}}");
    fake_world_live(&f.world, 3);
    assert_null(object_controller(get(&f, "Pod", "lone")));
    assert_int_equal(tally(&f, "Pod").owned, 2);
    patch(&f, "Pod", "lone", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}");
    fake_world_live(&f.world, 3);
    assert_int_equal(tally(&f, "Pod").n, 2); /* adopted, and one too many went */
    teardown(&f);
}

static void what_cannot_be_made_is_said(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "ReplicaSet", "s", SPEC("5", ""));
    f.world.fail_at = 2; /* the status, then the first pod */
    f.world.fault = FAULT_REFUSED;
    fake_world_run(&f.world, 6 * NS_PER_MS);
    assert_int_equal(fake_world_events(&f.world, "FailedCreate"), 1);
    f.world.fail_at = 2;
    fake_world_run(&f.world, 6 * NS_PER_MS);
    assert_string_equal(fake_world_condition(get(&f, "ReplicaSet", "s"), "ReplicaFailure"), "True");
    assert_string_equal(fake_world_condition_reason(get(&f, "ReplicaSet", "s"), "ReplicaFailure"),
                        "FailedCreate");
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "Pod").n, 5);
    assert_string_equal(fake_world_condition(get(&f, "ReplicaSet", "s"), "ReplicaFailure"), "");
    teardown(&f);
}

/* ---- ReplicationControllers ---- */

/* Its selector is a plain map, and may change: pods that it selects no more are let go, others adopted. */
static void a_plain_selector_may_change(void **state) {
    struct fixture f;
    setup(&f);
    fake_world_put(&f.world,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ReplicationController\",\"metadata\":{"
                   "\"name\":\"r\",\"namespace\":\"default\"},\"spec\":{\"replicas\":2,"
                   "\"selector\":{\"app\":\"x\"}," TEMPLATE("one") "}}");
    fake_world_live(&f.world, 4);
    assert_int_equal(tally(&f, "Pod").owned, 2);
    assert_str_eq(object_controller(tally(&f, "Pod").one)->kind, STR("ReplicationController"));
    TEXT(&f, "ReplicationController", "r", "status.readyReplicas", "2");
    TEXT(&f, "ReplicationController", "r", "status.terminatingReplicas", "");
    fake_world_put(&f.world, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                             "\"lone\",\"namespace\":\"default\",\"labels\":{\"app\":\"x\","
                             "\"of\":\"two\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                             "\"image\":\"i\"}]}}");
    patch(&f, "ReplicationController", "r",
          "{\"spec\":{\"replicas\":1,\"selector\":{\"of\":\"two\"},\"template\":{\"metadata\":{"
          "\"labels\":{\"of\":\"two\"}}}}}");
    fake_world_live(&f.world, 4);
    struct tally t = tally(&f, "Pod");
    assert_int_equal(t.n, 3);
    assert_int_equal(t.owned, 1);
    assert_non_null(object_controller(get(&f, "Pod", "lone")));
    patch(&f, "ReplicationController", "r", "{\"spec\":{\"replicas\":3}}");
    fake_world_live(&f.world, 4);
    assert_int_equal(tally(&f, "Pod").owned, 3);
    teardown(&f);
}

/* ---- Deployments ---- */

static void a_deployment_rolls_and_goes_back(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "Deployment", "d", SPEC("4", ""));
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "ReplicaSet").owned, 1);
    assert_int_equal(tally(&f, "Pod").n, 4);
    const struct object *d = get(&f, "Deployment", "d");
    assert_string_equal(fake_world_condition(d, "Available"), "True");
    assert_string_equal(fake_world_condition_reason(d, "Progressing"), "NewReplicaSetAvailable");
    TEXT(&f, "Deployment", "d", "status.updatedReplicas", "4");
    char first[300];
    assert_true(str_copy(tally(&f, "ReplicaSet").one->name, first, sizeof first));
    patch(&f, "Deployment", "d", "{\"spec\":{" TEMPLATE("two") "}}");
    fake_world_live(&f.world, 10);
    assert_int_equal(tally(&f, "ReplicaSet").n, 2);
    assert_int_equal(tally(&f, "Pod").n, 4);
    TEXT(&f, "ReplicaSet", first, "spec.replicas", "0");
    TEXT(&f, "Deployment", "d", "status.updatedReplicas", "4");
    /* back, as `kubectl rollout undo` writes it: the old set serves again, with a new revision */
    patch(&f, "Deployment", "d", "{\"spec\":{" TEMPLATE("one") "}}");
    fake_world_live(&f.world, 10);
    assert_int_equal(tally(&f, "ReplicaSet").n, 2);
    TEXT(&f, "ReplicaSet", first, "spec.replicas", "4");
    assert_non_null(strstr(fake_world_text(get(&f, "ReplicaSet", first), "metadata.annotations"),
                           "\"deployment.kubernetes.io/revision\":\"3\""));
    assert_true(fake_world_events(&f.world, "ScalingReplicaSet") >= 4);
    teardown(&f);
}

static void recreation_waits_for_the_old_pods(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "Deployment", "d", SPEC("3", "\"strategy\":{\"type\":\"Recreate\"},"));
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "Pod").n, 3);
    patch(&f, "Deployment", "d", "{\"spec\":{" TEMPLATE("two") "}}");
    fake_world_run(&f.world, 2 * NS_PER_SEC); /* the node does not look */
    assert_int_equal(tally(&f, "ReplicaSet").n, 1);
    fake_world_live(&f.world, 5);
    assert_int_equal(tally(&f, "ReplicaSet").n, 2);
    assert_int_equal(tally(&f, "Pod").n, 3);
    TEXT(&f, "Deployment", "d", "status.updatedReplicas", "3");
    teardown(&f);
}

static void a_pause_holds_changes_but_not_sizes(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "Deployment", "d", SPEC("2", ""));
    fake_world_live(&f.world, 5);
    patch(&f, "Deployment", "d", "{\"spec\":{\"paused\":true," TEMPLATE("two") "}}");
    fake_world_live(&f.world, 3);
    assert_int_equal(tally(&f, "ReplicaSet").n, 1);
    const struct object *d = get(&f, "Deployment", "d");
    assert_string_equal(fake_world_condition_reason(d, "Progressing"), "DeploymentPaused");
    patch(&f, "Deployment", "d", "{\"spec\":{\"replicas\":5}}");
    fake_world_live(&f.world, 3);
    assert_int_equal(tally(&f, "Pod").n, 5);
    assert_int_equal(tally(&f, "ReplicaSet").n, 1);
    patch(&f, "Deployment", "d", "{\"spec\":{\"paused\":false}}");
    fake_world_live(&f.world, 10);
    assert_int_equal(tally(&f, "ReplicaSet").n, 2);
    TEXT(&f, "Deployment", "d", "status.updatedReplicas", "5");
    teardown(&f);
}

static void history_is_limited(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "Deployment", "d", SPEC("1", "\"revisionHistoryLimit\":1,"));
    fake_world_live(&f.world, 5);
    patch(&f, "Deployment", "d", "{\"spec\":{" TEMPLATE("two") "}}");
    fake_world_live(&f.world, 8);
    patch(&f, "Deployment", "d", "{\"spec\":{" TEMPLATE("three") "}}");
    fake_world_live(&f.world, 8);
    assert_int_equal(tally(&f, "ReplicaSet").n, 2);
    teardown(&f);
}

static void what_does_not_progress_times_out(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "Deployment", "d", SPEC("1", "\"progressDeadlineSeconds\":20,"));
    fake_world_run(&f.world, 10 * NS_PER_SEC); /* no node looks */
    const struct object *d = get(&f, "Deployment", "d");
    assert_string_equal(fake_world_condition(d, "Progressing"), "True");
    assert_string_equal(fake_world_condition_reason(d, "Available"), "MinimumReplicasUnavailable");
    fake_world_run(&f.world, 20 * NS_PER_SEC);
    d = get(&f, "Deployment", "d");
    assert_string_equal(fake_world_condition(d, "Progressing"), "False");
    assert_string_equal(fake_world_condition_reason(d, "Progressing"), "ProgressDeadlineExceeded");
    fake_world_live(&f.world, 5);
    d = get(&f, "Deployment", "d");
    assert_string_equal(fake_world_condition_reason(d, "Progressing"), "NewReplicaSetAvailable");
    teardown(&f);
}

static void a_taken_name_is_avoided(void **state) {
    struct fixture f;
    setup(&f);
    put(&f, "Deployment", "d", SPEC("1", ""));
    fake_world_live(&f.world, 3);
    char name[300];
    assert_true(str_copy(tally(&f, "ReplicaSet").one->name, name, sizeof name));
    stop(&f);
    fake_world_delete(&f.world, "Deployment", "default", "d", "Background");
    fake_world_delete(&f.world, "ReplicaSet", "default", name, "Background");
    put(&f, "ReplicaSet", name,
        "{\"replicas\":0,\"selector\":{\"matchLabels\":{\"app\":\"z\"}},"
        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"z\"}},\"spec\":"
        "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}");
    put(&f, "Deployment", "d", SPEC("1", ""));
    start(&f);
    fake_world_live(&f.world, 5);
    TEXT(&f, "Deployment", "d", "status.collisionCount", "1");
    TEXT(&f, "Deployment", "d", "status.readyReplicas", "1");
    teardown(&f);
}

/* ---- anything may fail ---- */

static void whole_life(struct fixture *f) {
    put(f, "Deployment", "d", SPEC("3", ""));
    fake_world_live(&f->world, 6);
    patch(f, "Deployment", "d", "{\"spec\":{" TEMPLATE("two") "}}");
    fake_world_live(&f->world, 12);
}

static void is_whole(struct fixture *f) {
    assert_int_equal(tally(f, "ReplicaSet").n, 2);
    assert_int_equal(tally(f, "Pod").n, 3);
    TEXT(f, "Deployment", "d", "status.updatedReplicas", "3");
    TEXT(f, "Deployment", "d", "status.replicas", "3");
    TEXT(f, "Deployment", "d", "status.availableReplicas", "3");
}

static void every_write_may_fail(void **state) {
    for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
        for (uint64_t at = 1; at < 60; at++) {
            struct fixture f;
            setup(&f);
            f.world.fail_at = at;
            f.world.fault = (enum fake_fault)fault;
            whole_life(&f);
            is_whole(&f);
            teardown(&f);
        }
    }
}

static void controllers_may_be_made_anew_at_any_time(void **state) {
    for (int64_t at = 1; at < 40; at++) {
        struct fixture f;
        setup(&f);
        put(&f, "Deployment", "d", SPEC("3", ""));
        fake_world_run(&f.world, at * NS_PER_MS);
        stop(&f);
        start(&f);
        fake_world_live(&f.world, 6);
        patch(&f, "Deployment", "d", "{\"spec\":{" TEMPLATE("two") "}}");
        fake_world_run(&f.world, at * NS_PER_MS);
        stop(&f);
        start(&f);
        fake_world_live(&f.world, 12);
        is_whole(&f);
        teardown(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_has_its_pods),
        cmocka_unit_test(what_ended_is_replaced),
        cmocka_unit_test(orphans_are_adopted_and_strangers_let_go),
        cmocka_unit_test(what_cannot_be_made_is_said),
        cmocka_unit_test(a_plain_selector_may_change),
        cmocka_unit_test(a_deployment_rolls_and_goes_back),
        cmocka_unit_test(recreation_waits_for_the_old_pods),
        cmocka_unit_test(a_pause_holds_changes_but_not_sizes),
        cmocka_unit_test(history_is_limited),
        cmocka_unit_test(what_does_not_progress_times_out),
        cmocka_unit_test(a_taken_name_is_avoided),
        cmocka_unit_test(every_write_may_fail),
        cmocka_unit_test(controllers_may_be_made_anew_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

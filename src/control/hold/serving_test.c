/*
 * What serves, with the real queue and pod_group beside it: a StatefulSet and a LeaderWorkerSet as their own
 * controllers would leave them, pods made by the test's hand.
 */
#include "api/kinds/kinds_foreign.h"
#include "control/hold/pod_group.h"
#include "control/hold/serving.h"
#include "control/hold/serving_private.h"
#include "control/kit/controller.h"
#include "control/load/pod_gate.h"
#include "control/test/life_scene.h"

static struct scene s;
static struct controller *pods;
static struct controller *serving;

static void start(void) {
    struct err err = {0};
    static bool known;
    size_t n;
    const struct kind *v = kinds_foreign(&n);
    for (size_t i = 0; !known && i < n; i++) {
        assert_ok(kinds_add(&v[i], &err), &err);
    }
    known = true;
    scene_start(&s);
    s.outcome = -1;
    scene_controllers(&s);
    pods = controller_new(&pod_group_controller, &s.w.env, &err);
    serving = controller_new(&serving_controller, &s.w.env, &err);
    assert_true(pods && serving);
    scene_flavor(&s, "f");
}

static void again(void) {
    struct err err = {0};
    controller_free(serving);
    controller_free(pods);
    pods = controller_new(&pod_group_controller, &s.w.env, &err);
    serving = controller_new(&serving_controller, &s.w.env, &err);
    assert_true(pods && serving);
}

static void end(void) {
    controller_free(serving);
    controller_free(pods);
    scene_end(&s);
}

#define TEMPLATE(notes)                                                                            \
    "{\"metadata\":{\"annotations\":{" notes                                                       \
    "}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"   \
    "\"cpu\":\"1\"}}}]}}"

static void put_set(const char *name, int replicas) {
    char json[2048];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}},\"spec\":{"
        "\"replicas\":%d,\"template\":" TEMPLATE("\"" POD_PARENT "\":\"statefulset\"") "}}",
        name, replicas);
    fake_world_put(&s.w, json);
}

static void put_member(const char *name, const char *kind, const char *owner, const char *parent,
                       const char *labels, const char *notes) {
    char json[2048];
    const struct object *o = fake_world_get(&s.w, kind, "default", owner);
    assert_non_null(o);
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\",\"labels\":{%s},\"annotations\":{\"" POD_PARENT
             "\":\"%s\",\"" POD_ROLE_HASH
             "\":\"12345678\"%s},\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\","
             "\"name\":\"%s\",\"uid\":\"%.*s\",\"controller\":true}]},\"spec\":{"
             "\"schedulingGates\":[{\"name\":\"" POD_GATE "\"}],\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
             name, labels, parent, notes, kind_api_version(o->kind), kind, owner, STR_ARG(o->uid));
    fake_world_put(&s.w, json);
}

static const struct object *pod(const char *name) {
    return fake_world_get(&s.w, "Pod", "default", name);
}

static bool open_pod(const char *name) {
    return strlen(fake_world_text(pod(name), "spec.schedulingGates")) <= strlen("[]");
}

static void patch_set(const char *name, const char *json) {
    fake_world_patch(&s.w, "StatefulSet", "default", name, "", json);
}

static void a_set_is_one_workload(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_set("web", 2);
    scene_settle(&s);
    IS("statefulset-web-", "Admitted", "True", "Admitted", ""); /* before its pods are there */
    assert_non_null(strstr(fake_world_text(scene_get(&s, "statefulset-web-"), "spec.podSets"),
                           "{\"name\":\"main\",\"count\":2"));
    EVENTS("CreatedWorkload", 1);
    put_member("web-0", "StatefulSet", "web", "statefulset", "", "");
    scene_settle(&s);
    assert_true(open_pod("web-0"));
    assert_true(strstr(fake_world_text(pod("web-0"), "metadata.annotations"),
                       "pod-group-serving\":\"true"));
    put_member("web-1", "StatefulSet", "web", "statefulset", "", "");
    put_member("web-2", "StatefulSet", "web", "statefulset", "", "");
    scene_settle(&s);
    assert_true(open_pod("web-1") != open_pod("web-2")); /* one more than there is quota for */
    assert_true(pod("web-1") && pod("web-2"));
    NONE("statefulset-web-", "WaitingForReplacementPods");
    NONE("statefulset-web-", "Finished");
    end();
}

static void a_set_scaled_to_zero_is_on_hold(void **state) {
    start();
    scene_queue(&s, "q", 2, "");
    put_set("web", 2);
    put_member("web-0", "StatefulSet", "web", "statefulset", "", "");
    scene_settle(&s);
    fake_world_live(&s.w, 2);
    patch_set("web", "{\"spec\":{\"replicas\":0}}");
    scene_settle(&s);
    IS("statefulset-web-", "QuotaReserved", "True", "QuotaReserved", ""); /* one pod runs */
    fake_world_delete(&s.w, "Pod", "default", "web-0", "");
    fake_world_live(&s.w, 3);
    scene_settle(&s);
    assert_null(pod("web-0"));
    IS("statefulset-web-", "QuotaReserved", "False", "OnHold",
       "StatefulSet scaled to zero; workload on hold");
    again();
    scene_settle(&s);
    IS("statefulset-web-", "QuotaReserved", "False", "OnHold", "");
    put_set("other", 2); /* what it held is free */
    scene_settle(&s);
    IS("statefulset-other-", "Admitted", "True", "Admitted", "");
    fake_world_delete(&s.w, "StatefulSet", "default", "other", "Background");
    scene_settle(&s);
    scene_settle(&s);
    patch_set("web", "{\"spec\":{\"replicas\":1}}");
    scene_settle(&s);
    IS("statefulset-web-", "Admitted", "True", "Admitted", "");
    TEXT("statefulset-web-", "metadata.name",
         fake_world_text(scene_get(&s, "statefulset-web-"), "metadata.name"));
    assert_non_null(
        strstr(fake_world_text(scene_get(&s, "statefulset-web-"), "spec.podSets"), "\"count\":1"));
    put_member("web-0", "StatefulSet", "web", "statefulset", "", "");
    scene_settle(&s);
    assert_true(open_pod("web-0"));
    end();
}

static void an_old_revision_is_let_through(void **state) {
    start();
    scene_queue(&s, "q", 0, "");
    put_set("web", 1);
    put_member("web-0", "StatefulSet", "web", "statefulset", "\"controller-revision-hash\":\"old\"",
               "");
    scene_settle(&s);
    assert_false(open_pod("web-0"));
    fake_world_patch(&s.w, "StatefulSet", "default", "web", "status",
                     "{\"status\":{\"currentRevision\":\"old\",\"updateRevision\":\"new\"}}");
    fake_world_run(&s.w, 100 * NS_PER_MS);
    assert_true(!pod("web-0") || pod("web-0")->deleting_ns || open_pod("web-0"));
    end();
}

static void put_leaders(int replicas, bool leader) {
    char json[4096];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\","
             "\"metadata\":{\"name\":\"l\",\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/"
             "queue-name\":\"q\"}},\"spec\":{\"replicas\":%d,\"leaderWorkerTemplate\":{\"size\":3,"
             "%s%s\"workerTemplate\":" TEMPLATE(
                 "\"leaderworkerset.sigs.k8s.io/x\":\"y\",\"z\":\"1\"") "}}}",
             replicas, leader ? "\"leaderTemplate\":" : "", leader ? TEMPLATE("") "," : "");
    fake_world_put(&s.w, json);
}

static void each_replica_of_leaders_is_a_workload(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_leaders(2, true);
    scene_settle(&s);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 2);
    const struct object *zero = scene_get(&s, "leaderworkerset-l-0-");
    const struct object *one = scene_get(&s, "leaderworkerset-l-1-");
    bool first = strcmp(fake_world_condition(zero, "Admitted"), "True") == 0;
    assert_true(first != (strcmp(fake_world_condition(one, "Admitted"), "True") == 0));
    const char *text = fake_world_text(zero, "spec.podSets");
    assert_non_null(strstr(text, "{\"name\":\"leader\",\"count\":1"));
    assert_non_null(strstr(text, "{\"name\":\"worker\",\"count\":2"));
    assert_null(strstr(text, "leaderworkerset.sigs.k8s.io/x"));
    assert_non_null(
        strstr(fake_world_text(zero, "metadata.annotations"), "component-workload-index\":\"0"));
    const char *index = first ? "\"leaderworkerset.sigs.k8s.io/name\":\"l\",\"leaderworkerset."
                                "sigs.k8s.io/group-index\":\"0\""
                              : "\"leaderworkerset.sigs.k8s.io/name\":\"l\",\"leaderworkerset."
                                "sigs.k8s.io/group-index\":\"1\"";
    put_member("l-a", "LeaderWorkerSet", "l", "leaderworkerset.x-k8s.io/leaderworkerset", index,
               "");
    put_member("l-b", "LeaderWorkerSet", "l", "leaderworkerset.x-k8s.io/leaderworkerset", index,
               ",\"leaderworkerset.sigs.k8s.io/leader-name\":\"l-a\"");
    scene_settle(&s);
    assert_true(open_pod("l-a") && open_pod("l-b"));
    assert_non_null(strstr(fake_world_text(pod("l-a"), "metadata.labels"), "podset\":\"leader"));
    assert_non_null(strstr(fake_world_text(pod("l-b"), "metadata.labels"), "podset\":\"worker"));
    /* The replica goes: its pods stop before its Workload does. */
    fake_world_live(&s.w, 2);
    fake_world_patch(&s.w, "LeaderWorkerSet", "default", "l", "", "{\"spec\":{\"replicas\":0}}");
    fake_world_live(&s.w, 10);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    assert_null(pod("l-a"));
    end();
}

static void leaders_without_a_template_of_their_own(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_leaders(1, false);
    scene_settle(&s);
    assert_non_null(strstr(fake_world_text(scene_get(&s, "leaderworkerset-l-0-"), "spec.podSets"),
                           "{\"name\":\"main\",\"count\":3"));
    end();
}

static void no_single_failure_matters(void **state) {
    bool hit = true;
    for (uint64_t n = 1; hit; n += 2) {
        start();
        scene_queue(&s, "q", 2, "");
        scene_settle(&s);
        s.w.fault = (enum fake_fault)(n / 2 % 3);
        s.w.fail_at = n;
        put_set("web", 2);
        scene_settle(&s);
        put_member("web-0", "StatefulSet", "web", "statefulset", "", "");
        scene_settle(&s);
        put_member("web-1", "StatefulSet", "web", "statefulset", "", "");
        scene_settle(&s);
        if (n % 4 == 1) {
            again();
        }
        scene_settle(&s);
        assert_true(open_pod("web-0") && open_pod("web-1"));
        assert_int_equal(fake_world_count(&s.w, "Workload"), 1);
        hit = s.w.fail_at == 0;
        end();
    }
}

#define OF_L                                                                                       \
    "\"leaderworkerset.sigs.k8s.io/name\":\"l\",\"leaderworkerset.sigs.k8s.io/group-index\":\"0\""

enum serving_change { A_SET, A_MEMBER, LEADERS, A_LEADER, FEWER_LEADERS, SERVING_CHANGES };

static void a_change(enum serving_change x) {
    switch (x) {
    case A_SET:
        put_set("web", 1);
        break;
    case A_MEMBER:
        put_member("m", "StatefulSet", "web", "statefulset", "", "");
        break;
    case LEADERS:
        put_leaders(1, false);
        break;
    case A_LEADER:
        put_member("m", "LeaderWorkerSet", "l", SERVING_LWS, OF_L, "");
        break;
    default:
        fake_world_patch(&s.w, "LeaderWorkerSet", "default", "l", "",
                         "{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"spec\":{\"replicas\":2}}");
        break;
    }
}

/* One allocation fails while a change is heard and acted on; the same comes of it. */
static bool one_change(enum serving_change x, uint64_t nth) {
    char uid[64] = "";
    start();
    scene_queue(&s, "q", x == FEWER_LEADERS ? 6 : 3, "");
    if (x == A_MEMBER) {
        put_set("web", 1);
    } else if (x == A_LEADER || x == FEWER_LEADERS) {
        put_leaders(x == A_LEADER ? 1 : 3, false);
    }
    scene_settle(&s);
    if (x == FEWER_LEADERS) {
        snprintf(uid, sizeof uid, "%.*s", STR_ARG(scene_get(&s, "leaderworkerset-l-1-")->uid));
    }
    again(); /* with no memory at hand */
    fake_world_sabotage(&s.w, nth);
    a_change(x);
    fake_world_run(&s.w, 5 * NS_PER_MS / 2);
    bool hit = fake_world_spare(&s.w);
    fake_world_live(&s.w, 3);
    if (x == A_SET || x == LEADERS) {
        a_change(x + 1);
    }
    fake_world_live(&s.w, 5);
    bool good = x == FEWER_LEADERS
                    ? fake_world_count(&s.w, "Workload") == 2 &&
                          str_is(scene_get(&s, "leaderworkerset-l-1-")->uid, uid)
                    : pod("m") && open_pod("m") && fake_world_count(&s.w, "Workload") == 1;
    if (!good) {
        fail_msg("change %d, allocation %llu", (int)x, (unsigned long long)nth);
    }
    end();
    return hit;
}

static void sets_are_heard_of(void **state) {
    for (int x = 0; x < SERVING_CHANGES; x++) {
        uint64_t nth = 1;
        while (one_change((enum serving_change)x, nth)) {
            nth++;
        }
        assert_true(nth > 5);
    }
}

/* A pod may be seen before the set that it belongs to. */
static void a_member_may_come_first(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_set("web", 0);
    put_member("m", "StatefulSet", "web", SERVING_LWS, OF_L, "");
    scene_settle(&s);
    assert_false(open_pod("m"));
    put_leaders(1, false);
    scene_settle(&s);
    assert_true(open_pod("m"));
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_one_workload),
        cmocka_unit_test(a_set_scaled_to_zero_is_on_hold),
        cmocka_unit_test(an_old_revision_is_let_through),
        cmocka_unit_test(each_replica_of_leaders_is_a_workload),
        cmocka_unit_test(leaders_without_a_template_of_their_own),
        cmocka_unit_test(no_single_failure_matters),
        cmocka_unit_test(sets_are_heard_of),
        cmocka_unit_test(a_member_may_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Pods and pod groups from their gate to their end, with the real queue beside them; a kubelet moves those that are
 * open. And the plain functions: roles, records, matching.
 */
#include "base/hash/sha256.h"
#include "base/mem.h"
#include "control/hold/pod_group.h"
#include "control/kit/controller.h"
#include "control/load/pod_gate.h"
#include "control/load/pod_role.h"
#include "control/test/life_scene.h"

static struct scene s;
static struct controller *pods;

static void start(void) {
    struct err err = {0};
    scene_start(&s);
    s.outcome = -1;
    scene_controllers(&s);
    pods = controller_new(&pod_group_controller, &s.w.env, &err);
    assert_non_null(pods);
    scene_flavor(&s, "f");
}

static void again(void) { /* the controllers are made anew */
    struct err err = {0};
    controller_free(pods);
    pods = controller_new(&pod_group_controller, &s.w.env, &err);
    assert_non_null(pods);
}

static void end(void) {
    controller_free(pods);
    scene_end(&s);
}

/* A pod as admission leaves it: labels and annotations are added. */
static void put_pod(const char *name, const char *labels, const char *notes, const char *cpu) {
    char json[4096];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\",\"labels\":{\"kueue.x-k8s.io/managed\":\"true\",\"kueue.x-k8s.io/"
        "queue-name\":\"q\"%s},\"annotations\":{\"x\":\"y\"%s},\"finalizers\":[\"kueue.x-k8s.io/"
        "managed\"]},\"spec\":{\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
        name, labels, notes, cpu);
    fake_world_put(&s.w, json);
}

#define GROUP(total, role)                                                                         \
    ",\"kueue.x-k8s.io/pod-group-total-count\":\"" total "\",\"kueue.x-k8s.io/role-hash\":\"" role \
    "\""
#define OF_G ",\"kueue.x-k8s.io/pod-group-name\":\"g\""

static void put_group(const char *prefix, int from, int to, const char *notes) {
    char name[64];
    for (int i = from; i < to; i++) {
        snprintf(name, sizeof name, "%s%d", prefix, i);
        put_pod(name, OF_G, notes, "1");
    }
}

static const struct object *pod(const char *name) {
    return fake_world_get(&s.w, "Pod", "default", name);
}

static bool open_pod(const char *name) {
    return strlen(fake_world_text(pod(name), "spec.schedulingGates")) <= strlen("[]");
}

static void finish_pod(const char *name, const char *phase) {
    char json[256];
    snprintf(json, sizeof json, "{\"status\":{\"phase\":\"%s\",\"message\":\"so it went\"}}",
             phase);
    fake_world_patch(&s.w, "Pod", "default", name, "status", json);
}

#define POD_TEXT(name, path, want) assert_string_equal(fake_world_text(pod(name), path), want)

static int64_t queue_uses(const char *cq) {
    int64_t n = 0;
    const char *v =
        fake_world_text(fake_world_get(&s.w, "ClusterQueue", "", cq), "status.flavorsReservation");
    const char *at = strstr(v, "\"total\":\"");
    if (at) {
        str_to_i64(str_head(str_of(at + 9), strcspn(at + 9, "\"m")), &n);
    }
    return n;
}

/* ---- one pod ---- */

static void a_pod_waits_runs_and_ends(void **state) {
    start();
    scene_queue(&s, "q", 1, "");
    put_pod("p", "", "", "1");
    scene_settle(&s);
    TEXT("pod-p-", "spec.queueName", "q");
    assert_true(strstr(fake_world_text(scene_get(&s, "pod-p-"), "spec.podSets"), "\"main\""));
    assert_true(open_pod("p"));
    POD_TEXT("p", "metadata.labels.app", "");
    assert_true(
        strstr(fake_world_text(pod("p"), "metadata.labels"), "\"kueue.x-k8s.io/podset\":\"main\""));
    IS("pod-p-", "Admitted", "True", "Admitted", "");
    EVENTS("Started", 1);
    EVENTS("CreatedWorkload", 1);
    put_pod("late", "", "", "1");
    fake_world_live(&s.w, 3);
    assert_false(open_pod("late"));
    POD_TEXT("p", "status.phase", "Running");
    finish_pod("p", "Succeeded");
    scene_settle(&s);
    IS("pod-p-", "Finished", "True", "Succeeded", "so it went");
    assert_int_equal(pod("p")->n_finalizers, 0);
    assert_int_equal(scene_get(&s, "pod-p-")->n_finalizers, 0);
    assert_true(open_pod("late"));
    finish_pod("late", "Failed");
    scene_settle(&s);
    IS("pod-late-", "Finished", "True", "Failed", "so it went");
    end();
}

static void a_pod_is_deleted_behind_its_gate(void **state) {
    start();
    scene_queue(&s, "q", 0, "");
    put_pod("p", "", "", "1");
    scene_settle(&s);
    assert_false(open_pod("p"));
    fake_world_delete(&s.w, "Pod", "default", "p", "");
    assert_non_null(pod("p"));
    scene_settle(&s);
    scene_settle(&s);
    assert_null(pod("p"));
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    end();
}

static void a_pod_makes_room(void **state) {
    start();
    scene_queue(&s, "q", 1, PREEMPTS);
    fake_world_put(&s.w, "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":"
                         "\"high\"},\"value\":100}");
    put_pod("low", "", "", "1");
    scene_settle(&s);
    fake_world_live(&s.w, 2);
    POD_TEXT("low", "status.phase", "Running");
    put_pod("high", ",\"kueue.x-k8s.io/priority-class\":\"high\"", "", "1");
    scene_settle(&s);
    assert_string_equal(fake_world_condition(pod("low"), "TerminationTarget"), "True");
    assert_string_equal(fake_world_condition_reason(pod("low"), "TerminationTarget"),
                        "WorkloadEvictedDueToPreempted");
    assert_true(pod("low")->deleting_ns != 0);
    assert_false(open_pod("high")); /* the other one has not stopped */
    fake_world_live(&s.w, 8);
    assert_null(pod("low"));
    assert_true(open_pod("high"));
    assert_int_equal(queue_uses("q"), 1);
    end();
}

static void a_pod_that_grew_is_not_its_workload(void **state) {
    start();
    scene_queue(&s, "q", 4, "");
    put_pod("p", "", "", "1");
    scene_settle(&s);
    fake_world_live(&s.w, 2);
    assert_int_equal(queue_uses("q"), 1);
    fake_world_patch(&s.w, "Pod", "default", "p", "",
                     "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                     "\"requests\":{\"cpu\":\"3\"}}}]}}");
    scene_settle(&s);
    assert_true(!pod("p") || pod("p")->deleting_ns);
    end();
}

/* ---- groups ---- */

static void a_group_waits_for_all(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_group("a", 0, 2, GROUP("3", "r1"));
    scene_settle(&s);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    assert_true(fake_world_events(&s.w, "ErrWorkloadCompose") > 0);
    put_group("a", 2, 3, GROUP("3", "r0"));
    scene_settle(&s);
    TEXT("g", "metadata.ownerReferences",
         fake_world_text(scene_get(&s, "g"), "metadata.ownerReferences"));
    assert_true(
        strstr(fake_world_text(scene_get(&s, "g"), "metadata.annotations"), "is-group-workload"));
    const char *sets = fake_world_text(scene_get(&s, "g"), "spec.podSets");
    assert_true(strstr(sets, "{\"name\":\"r0\",\"count\":1") == sets + 1); /* by name */
    assert_non_null(strstr(sets, "\"name\":\"r1\",\"count\":2"));
    assert_true(open_pod("a0") && open_pod("a1") && open_pod("a2"));
    assert_int_equal(scene_get(&s, "g")->n_owners, 3);
    assert_null(object_controller(scene_get(&s, "g")));
    fake_world_live(&s.w, 3);
    finish_pod("a0", "Succeeded");
    scene_settle(&s);
    assert_int_equal(queue_uses("q"), 2); /* what is done is given back */
    assert_int_equal(pod("a0")->n_finalizers, 1);
    finish_pod("a1", "Succeeded");
    finish_pod("a2", "Succeeded");
    scene_settle(&s);
    IS("g", "Finished", "True", "Succeeded", "Pods succeeded: 3/3.");
    assert_int_equal(pod("a0")->n_finalizers + pod("a1")->n_finalizers + pod("a2")->n_finalizers,
                     0);
    end();
}

static void a_group_without_enough_quota_waits_whole(void **state) {
    start();
    scene_queue(&s, "q", 2, "");
    put_group("a", 0, 3, GROUP("3", "r"));
    scene_settle(&s);
    assert_false(open_pod("a0") || open_pod("a1") || open_pod("a2"));
    scene_spec(&s, "ClusterQueue", "q",
               "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{"
               "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"3\"}]}]}]}}");
    scene_settle(&s);
    assert_true(open_pod("a0") && open_pod("a1") && open_pod("a2"));
    end();
}

static void a_failed_pod_is_replaced(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_group("a", 0, 2, GROUP("2", "r"));
    scene_settle(&s);
    fake_world_live(&s.w, 3);
    finish_pod("a0", "Failed");
    scene_settle(&s);
    IS("g", "WaitingForReplacementPods", "True", "PodsFailed", "Some Failed pods need replacement");
    assert_int_equal(pod("a0")->n_finalizers, 1); /* it keeps its place */
    put_pod("b", OF_G, GROUP("2", "r"), "1");
    scene_settle(&s);
    IS("g", "WaitingForReplacementPods", "False", "PodsReady", "No pods need replacement");
    assert_int_equal(pod("a0")->n_finalizers, 0);
    assert_true(open_pod("b"));
    assert_int_equal(scene_get(&s, "g")->n_owners, 3);
    /* One more than places goes, without having run. */
    put_pod("c", OF_G, GROUP("2", "r"), "1");
    scene_settle(&s);
    assert_null(pod("c"));
    EVENTS("ExcessPodDeleted", 1);
    assert_true(open_pod("b") && pod("a1"));
    end();
}

static void a_lasting_pod_ends_the_group(void **state) {
    start();
    scene_queue(&s, "q", 3, "");
    put_group("a", 0, 1, GROUP("2", "r") ",\"kueue.x-k8s.io/retriable-in-group\":\"false\"");
    put_group("a", 1, 2, GROUP("2", "r"));
    scene_settle(&s);
    fake_world_live(&s.w, 2);
    finish_pod("a0", "Failed");
    scene_settle(&s);
    NONE("g", "Finished"); /* the other one runs */
    finish_pod("a1", "Succeeded");
    scene_settle(&s);
    IS("g", "Finished", "True", "Succeeded", "Pods succeeded: 1/2.");
    end();
}

static void an_evicted_group_comes_back_with_other_pods(void **state) {
    start();
    scene_queue(&s, "q", 2, PREEMPTS);
    fake_world_put(&s.w, "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":"
                         "\"high\"},\"value\":100}");
    put_group("a", 0, 2, GROUP("2", "r"));
    scene_settle(&s);
    fake_world_live(&s.w, 3);
    put_pod("h", ",\"kueue.x-k8s.io/priority-class\":\"high\"", "", "2");
    scene_settle(&s);
    fake_world_live(&s.w, 8);
    assert_true(open_pod("h"));
    IS("g", "Evicted", "True", "Preempted", "");
    IS("g", "WaitingForReplacementPods", "True", "Preempted", "");
    assert_non_null(pod("a0")); /* until it is replaced */
    put_group("b", 0, 2, GROUP("2", "r"));
    scene_settle(&s);
    assert_null(pod("a0"));
    assert_false(open_pod("b0"));
    IS("g", "WaitingForReplacementPods", "False", "PodsReady", "");
    finish_pod("h", "Succeeded");
    scene_settle(&s);
    assert_true(open_pod("b0") && open_pod("b1"));
    assert_int_equal(queue_uses("q"), 2);
    end();
}

static void all_pods_of_a_group_are_deleted(void **state) {
    start();
    scene_queue(&s, "q", 0, "");
    put_group("a", 0, 3, GROUP("3", "r"));
    scene_settle(&s);
    fake_world_delete(&s.w, "Pod", "default", "a0", "");
    scene_settle(&s);
    assert_null(pod("a0"));
    IS("g", "WaitingForReplacementPods", "True", "PodsFailed", "");
    fake_world_delete(&s.w, "Pod", "default", "a1", "");
    fake_world_delete(&s.w, "Pod", "default", "a2", "");
    scene_settle(&s);
    scene_settle(&s);
    assert_int_equal(fake_world_count(&s.w, "Pod"), 0);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    end();
}

static void a_deleted_workload_takes_its_pods(void **state) {
    start();
    scene_queue(&s, "q", 2, "");
    put_group("a", 0, 2, GROUP("2", "r"));
    scene_settle(&s);
    fake_world_live(&s.w, 2);
    finish_pod("a0", "Succeeded");
    scene_settle(&s);
    fake_world_delete(&s.w, "Workload", "default", "g", "Background");
    fake_world_live(&s.w, 10);
    assert_int_equal(fake_world_count(&s.w, "Pod"), 0);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    end();
}

static void a_fast_group_is_made_of_its_first_pod(void **state) {
    start();
    scene_queue(&s, "q", 5, "");
    put_group("a", 0, 1, GROUP("3", "r") ",\"kueue.x-k8s.io/pod-group-fast-admission\":\"true\"");
    scene_settle(&s);
    assert_true(open_pod("a0"));
    assert_int_equal(queue_uses("q"), 3);
    put_group("a", 1, 3, GROUP("3", "r") ",\"kueue.x-k8s.io/pod-group-fast-admission\":\"true\"");
    scene_settle(&s);
    assert_true(open_pod("a1") && open_pod("a2"));
    assert_int_equal(queue_uses("q"), 3);
    end();
}

static void pods_of_one_group_must_agree(void **state) {
    start();
    scene_queue(&s, "q", 5, "");
    put_group("a", 0, 1, GROUP("2", "r"));
    put_group("a", 1, 2, GROUP("3", "r"));
    scene_settle(&s);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    assert_true(fake_world_events(&s.w, "ErrWorkloadCompose") > 0);
    end();
}

static void a_name_that_is_taken(void **state) {
    start();
    scene_queue(&s, "q", 5, "");
    scene_workload(&s, "g", "q", 1, "", "");
    put_group("a", 0, 1, GROUP("1", "r"));
    scene_settle(&s);
    assert_false(open_pod("a0"));
    assert_true(fake_world_events(&s.w, "WorkloadNameConflict") > 0);
    assert_int_equal(scene_get(&s, "g")->n_owners, 0);
    fake_world_delete(&s.w, "Workload", "default", "g", "Background");
    scene_settle(&s);
    assert_true(open_pod("a0"));
    end();
}

/* A pod that asks for more than the role it names does not get through its gate. */
static void a_false_role_does_not_help(void **state) {
    start();
    scene_queue(&s, "q", 8, "");
    put_pod("a0", OF_G, GROUP("2", "r"), "1");
    fake_world_run(&s.w, NS_PER_SEC);
    put_pod("a1", OF_G, GROUP("2", "r"), "4");
    scene_settle(&s);
    assert_true(open_pod("a0"));
    assert_false(open_pod("a1"));
    end();
}

/* What holds the Workload back is said by the pod; what was opened there alone stays open. */
static void a_gate_of_another_kind(void **state) {
    start();
    scene_queue(&s, "q", 1, "");
    put_pod("p", "",
            ",\"kueue.x-k8s.io/admission-gated-by\":\"a.b/c\",\"berth.dev/"
            "minimum-runtime\":\"5m\"",
            "1");
    scene_settle(&s);
    assert_false(open_pod("p"));
    IS("pod-p-", "QuotaReserved", "False", "AdmissionGated", "Admission is gated by: a.b/c");
    assert_non_null(strstr(fake_world_text(scene_get(&s, "pod-p-"), "metadata.annotations"),
                           "minimum-runtime"));
    scene_edit(&s, "pod-p-",
               "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":null}}}");
    scene_settle(&s);
    assert_true(open_pod("p"));
    end();
}

/* ---- whatever happens in between ---- */

/* One life: gate, admission, eviction, replacement, end. Fails at the nth write, or is made anew after it. */
static bool a_life(uint64_t nth, enum fake_fault fault, bool anew) {
    start();
    scene_queue(&s, "q", 2, PREEMPTS);
    fake_world_put(&s.w, "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":"
                         "\"high\"},\"value\":100}");
    scene_settle(&s);
    s.w.fault = fault;
    s.w.fail_at = nth;
    put_group("a", 0, 2, GROUP("2", "r"));
    for (int i = 0; i < 12; i++) {
        fake_world_live(&s.w, 2);
        if (anew && i % 2 == (int)(nth % 2)) {
            again();
        }
        if (i == 3) {
            put_pod("h", ",\"kueue.x-k8s.io/priority-class\":\"high\"", "", "2");
        }
        assert_true(queue_uses("q") <= 2);
    }
    assert_true(open_pod("h"));
    put_group("b", 0, 2, GROUP("2", "r"));
    finish_pod("h", "Succeeded");
    for (int i = 0; i < 6; i++) {
        fake_world_live(&s.w, 2);
        if (anew) {
            again();
        }
    }
    assert_true(open_pod("b0") && open_pod("b1"));
    finish_pod("b0", "Succeeded");
    finish_pod("b1", "Succeeded");
    fake_world_live(&s.w, 8);
    IS("g", "Finished", "True", "Succeeded", "Pods succeeded: 2/2.");
    assert_int_equal(pod("b0")->n_finalizers, 0);
    assert_int_equal(queue_uses("q"), 0);
    bool hit = s.w.fail_at == 0;
    end();
    return hit;
}

static void no_single_failure_matters(void **state) {
    for (int fault = 0; fault < 3; fault++) {
        for (uint64_t n = 1; a_life(n, (enum fake_fault)fault, false); n += 3) {
        }
    }
    for (uint64_t n = 1; n < 20; n += 4) {
        (void)a_life(n, FAULT_LOST, true);
    }
}

/* ---- nothing is lost ---- */

enum pod_change { A_POD, THE_LAST_OF_A_GROUP, A_QUOTA, A_DEACTIVATION, POD_CHANGES };

static const char quota_2[] =
    "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\","
    "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"2\"}]}]}]}}";

/* One allocation fails while a change is heard and acted on; the same comes of it. */
static bool one_change(enum pod_change x, uint64_t nth) {
    start();
    scene_queue(&s, "q", x == A_QUOTA ? 0 : 2, "");
    if (x != A_POD) {
        put_group("a", 0, x == THE_LAST_OF_A_GROUP ? 1 : 2, GROUP("2", "x"));
    }
    scene_settle(&s);
    again(); /* with no memory at hand */
    fake_world_sabotage(&s.w, nth);
    if (x == A_POD) {
        put_pod("a0", "", "", "1");
    } else if (x == THE_LAST_OF_A_GROUP) {
        put_group("a", 1, 2, GROUP("2", "x"));
    } else if (x == A_QUOTA) {
        scene_spec(&s, "ClusterQueue", "q", quota_2);
    } else {
        scene_edit(&s, "g", "{\"spec\":{\"active\":false}}");
    }
    fake_world_run(&s.w, 5 * NS_PER_MS / 2);
    bool hit = fake_world_spare(&s.w);
    fake_world_live(&s.w, 10);
    bool last = x == A_POD || (pod("a1") && open_pod("a1"));
    bool good = x == A_DEACTIVATION ? pod("a0") == NULL || pod("a0")->deleting_ns != 0
                                    : pod("a0") && open_pod("a0") && last;
    if (!good) {
        fail_msg("change %d, allocation %llu", (int)x, (unsigned long long)nth);
    }
    end();
    return hit;
}

static void pods_are_heard_of(void **state) {
    for (int x = 0; x < POD_CHANGES; x++) {
        uint64_t nth = 1;
        while (one_change((enum pod_change)x, nth)) {
            nth++;
        }
        assert_true(nth > 5);
    }
}

static void a_workload_made_beforehand_may_come_later(void **state) {
    start();
    scene_queue(&s, "q", 1, "");
    put_pod("p", "", ",\"" POD_PREBUILT "\":\"w\"", "1");
    scene_settle(&s);
    assert_false(open_pod("p"));
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":"
                   "\"default\"},\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\","
                   "\"count\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                   "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
                   "\"cpu\":\"1\"}}}]}}}]}}");
    fake_world_run(&s.w, 15 * NS_PER_SEC);
    assert_true(open_pod("p"));
    end();
}

/* ---- plain functions ---- */

static struct str hash_of(const char *spec, struct arena *a) {
    yyjson_doc *d;
    struct err err = {0};
    assert_ok(json_parse(a, str_of(spec), &d, &err), &err);
    return pod_role_hash(yyjson_doc_get_root(d), a);
}

static void shapes_have_kueues_hashes(void **state) {
    struct arena a;
    uint8_t h[SHA256_BYTES];
    struct buf b;
    yyjson_doc *d;
    arena_init(&a, 1 << 20);
    sha256(STR("abc"), h);
    assert_int_equal(h[0], 0xba);
    assert_int_equal(h[31], 0xad);
    sha256(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), h);
    assert_int_equal(h[0], 0x24);
    assert_int_equal(h[31], 0xc1);
    assert_true(
        str_is(hash_of("{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}", &a), "7aa6c7b8"));
    /* The order of members and the form of amounts do not matter, other amounts do. */
    struct str x =
        hash_of("{\"containers\":[{\"resources\":{\"requests\":{\"memory\":\"1024Mi\","
                "\"cpu\":\"1000m\"}}}],\"tolerations\":[{\"operator\":\"Exists\",\"key\":"
                "\"k\"}]}",
                &a);
    struct str y =
        hash_of("{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"value\":\"\"}]"
                ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":"
                "\"1Gi\"},\"limits\":{\"cpu\":\"9\"}},\"name\":\"z\"}]}",
                &a);
    struct str z = hash_of("{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}", &a);
    assert_true(str_eq(x, y));
    assert_false(str_eq(x, z));
    buf_init(&b, 1 << 16);
    struct err err = {0};
    assert_ok(
        json_parse(&a,
                   STR("{\"affinity\":{\"nodeAffinity\":{"
                       "\"requiredDuringSchedulingIgnoredDuringExecution\":{}}},"
                       "\"containers\":[{\"ports\":[{\"protocol\":\"TCP\",\"containerPort\":80,"
                       "\"name\":\"w\"}]}],\"priority\":0}"),
                   &d, &err),
        &err);
    pod_role_shape(yyjson_doc_get_root(d), &a, &b);
    assert_string_equal(
        buf_cstr(&b),
        "{\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":null}}},\"containers\":[{\"ports\":[{\"name\":\"w\","
        "\"containerPort\":80,\"protocol\":\"TCP\"}],\"resources\":{\"requests\":null}}],"
        "\"initContainers\":null,\"nodeSelector\":null,\"overhead\":null,\"priority\":0,"
        "\"resourceClaims\":null,\"runtimeClassName\":null,\"tolerations\":null,"
        "\"topologySpreadConstraints\":null}");
    buf_release(&b);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_waits_runs_and_ends),
        cmocka_unit_test(a_pod_is_deleted_behind_its_gate),
        cmocka_unit_test(a_pod_makes_room),
        cmocka_unit_test(a_pod_that_grew_is_not_its_workload),
        cmocka_unit_test(a_group_waits_for_all),
        cmocka_unit_test(a_group_without_enough_quota_waits_whole),
        cmocka_unit_test(a_failed_pod_is_replaced),
        cmocka_unit_test(a_lasting_pod_ends_the_group),
        cmocka_unit_test(an_evicted_group_comes_back_with_other_pods),
        cmocka_unit_test(all_pods_of_a_group_are_deleted),
        cmocka_unit_test(a_deleted_workload_takes_its_pods),
        cmocka_unit_test(a_fast_group_is_made_of_its_first_pod),
        cmocka_unit_test(pods_of_one_group_must_agree),
        cmocka_unit_test(a_name_that_is_taken),
        cmocka_unit_test(a_false_role_does_not_help),
        cmocka_unit_test(a_gate_of_another_kind),
        cmocka_unit_test(no_single_failure_matters),
        cmocka_unit_test(pods_are_heard_of),
        cmocka_unit_test(a_workload_made_beforehand_may_come_later),
        cmocka_unit_test(shapes_have_kueues_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

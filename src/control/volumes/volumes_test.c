/*
 * Tests of claims, volumes and snapshots: what is bound to what, what is made, and what is protected. The node's part
 * is played by the test: it says that a folder is ready, and takes finalizers off.
 */
#include "base/test.h"
#include "control/kit/controller.h"
#include "control/test/fake_world.h"
#include "control/volumes/volumes.h"

static struct fake_world w;
static void *controller;

#define CLASS(name_, more_)                                                                        \
    "{\"apiVersion\":\"storage.k8s.io/"                                                            \
    "v1\",\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"" name_                               \
    "\"},\"provisioner\":\"berth.dev/local\"" more_ "}"
#define NODE "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}}"
#define SNAP "snapshot.storage.k8s.io/v1"

static int setup(void **state) {
    (void)state;
    fake_world_init(&w);
    fake_world_put(&w, CLASS("local", ",\"allowVolumeExpansion\":true"));
    fake_world_put(&w, NODE);
    controller = controller_new(&volumes_controller, &w.env, NULL);
    return controller ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    controller_free(controller);
    fake_world_release(&w);
    return 0;
}

static void run(void) {
    fake_world_run(&w, 2 * NS_PER_SEC);
}

static void put_claim(const char *name, const char *class, const char *size, const char *more) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":"
             "\"%s\",\"namespace\":\"a\",\"finalizers\":[\"kubernetes.io/pvc-protection\"]},"
             "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"volumeMode\":\"Filesystem\","
             "\"storageClassName\":\"%s\",\"resources\":{\"requests\":{\"storage\":\"%s\"}}%s},"
             "\"status\":{\"phase\":\"Pending\"}}",
             name, class, size, more);
    fake_world_put(&w, json);
}

static void put_volume(const char *name, const char *size, const char *more) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"%s\"},"
             "\"spec\":{\"capacity\":{\"storage\":\"%s\"},\"accessModes\":[\"ReadWriteOnce\"],"
             "\"volumeMode\":\"Filesystem\",\"persistentVolumeReclaimPolicy\":\"Retain\","
             "\"hostPath\":{\"path\":\"/x\"}%s}}",
             name, size, more);
    fake_world_put(&w, json);
}

static void put_pod(const char *name, const char *claim, const char *node) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"a\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":[],\"volumes\":[{\"name\":\"v\","
             "\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}]}}",
             name, node, claim);
    fake_world_put(&w, json);
}

static const char *of_claim(const char *name, const char *path) {
    return fake_world_text(fake_world_get(&w, "PersistentVolumeClaim", "a", name), path);
}

static const char *of_volume(const char *name, const char *path) {
    return fake_world_text(fake_world_get(&w, "PersistentVolume", "", name), path);
}

/* The name of the volume that is made for a claim; in a static buffer. */
static const char *made_for(const char *claim) {
    static char name[80];
    const struct object *o = fake_world_get(&w, "PersistentVolumeClaim", "a", claim);
    snprintf(name, sizeof(name), "pvc-%.*s", STR_ARG(o->uid));
    return name;
}

static void ready(const char *volume, const char *size) {
    char json[200];
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"annotations\":{\"berth.dev/volume-ready\":\"%s\","
             "\"berth.dev/volume-limit\":\"none\"}}}",
             size);
    fake_world_patch(&w, "PersistentVolume", "", volume, "", json);
    run();
}

static void bind_new(const char *claim) {
    put_claim(claim, "local", "1Gi", "");
    run();
    ready(made_for(claim), "1Gi");
    assert_string_equal(of_claim(claim, "status.phase"), "Bound");
}

static void a_volume_is_made_and_bound_when_its_folder_is_there(void **state) {
    (void)state;
    put_claim("c", "local", "1Gi", "");
    run();
    const char *name = made_for("c");
    assert_string_equal(of_volume(name, "spec.csi.driver"), "local.berth.dev");
    assert_string_equal(of_volume(name, "spec.claimRef.name"), "c");
    assert_string_equal(of_claim("c", "status.phase"), "Pending");
    ready(name, "1Gi");
    assert_string_equal(of_claim("c", "spec.volumeName"), name);
    assert_string_equal(of_claim("c", "status.phase"), "Bound");
    assert_string_equal(of_claim("c", "status.capacity.storage"), "1Gi");
    assert_string_equal(of_volume(name, "status.phase"), "Bound");
    assert_int_equal(fake_world_events(&w, "ProvisioningSucceeded"), 1);
}

static void the_smallest_volume_that_fits_is_taken(void **state) {
    (void)state;
    put_volume("large", "9Gi", "");
    put_volume("small", "1Gi", "");
    put_volume("right", "5Gi", "");
    put_volume("other", "5Gi", ",\"storageClassName\":\"fast\"");
    run();
    assert_string_equal(of_volume("right", "status.phase"), "Available");
    put_claim("c", "", "2Gi", "");
    run();
    assert_string_equal(of_claim("c", "spec.volumeName"), "right");
    assert_string_equal(of_claim("c", "status.capacity.storage"), "5Gi");
    put_claim("d", "", "99Gi", "");
    run();
    assert_string_equal(of_claim("d", "status.phase"), "Pending");
    assert_int_equal(fake_world_events(&w, "FailedBinding"), 1);
    put_volume("huge", "100Gi", "");
    run();
    assert_string_equal(of_claim("d", "spec.volumeName"), "huge");
}

static void nobody_takes_the_volume_of_another(void **state) {
    (void)state;
    bind_new("c");
    char more[200];
    snprintf(more, sizeof(more), ",\"volumeName\":\"%s\"", made_for("c"));
    put_claim("thief", "local", "1Gi", more);
    run();
    assert_string_equal(of_claim("thief", "status.phase"), "Pending");
    assert_string_equal(of_volume(made_for("c"), "spec.claimRef.name"), "c");
}

static void a_claim_that_is_used_stays(void **state) {
    (void)state;
    bind_new("c");
    char name[80];
    snprintf(name, sizeof(name), "%s", made_for("c"));
    put_pod("p", "c", "n1");
    fake_world_delete(&w, "PersistentVolumeClaim", "a", "c", "");
    run();
    assert_non_null(fake_world_get(&w, "PersistentVolumeClaim", "a", "c"));
    fake_world_delete(&w, "Pod", "a", "p", "");
    fake_world_live(&w, 3);
    assert_null(fake_world_get(&w, "PersistentVolumeClaim", "a", "c"));
    /* The volume goes with it, once its node took the folder away. */
    const struct object *o = fake_world_get(&w, "PersistentVolume", "", name);
    assert_true(o != NULL && o->deleting_ns != 0 && o->n_finalizers == 1);
}

static void a_volume_of_a_node_that_is_gone_goes(void **state) {
    (void)state;
    bind_new("c");
    char name[80];
    snprintf(name, sizeof(name), "%s", made_for("c"));
    fake_world_delete(&w, "Node", "", "n1", "");
    fake_world_delete(&w, "PersistentVolumeClaim", "a", "c", "");
    run();
    assert_null(fake_world_get(&w, "PersistentVolume", "", name));
}

static void a_volume_that_is_kept_is_released(void **state) {
    (void)state;
    put_volume("v", "1Gi", "");
    put_claim("c", "", "1Gi", "");
    run();
    fake_world_delete(&w, "PersistentVolumeClaim", "a", "c", "");
    run();
    assert_string_equal(of_volume("v", "status.phase"), "Released");
    put_claim("c", "", "1Gi", ""); /* a namesake gets it not */
    run();
    assert_string_equal(of_claim("c", "status.phase"), "Pending");
}

static void a_claim_whose_volume_is_gone_is_lost(void **state) {
    (void)state;
    put_volume("v", "1Gi", "");
    put_claim("c", "", "1Gi", "");
    run();
    fake_world_delete(&w, "PersistentVolume", "", "v", "");
    run();
    fake_world_patch(&w, "PersistentVolume", "", "v", "", "{\"metadata\":{\"finalizers\":null}}");
    run();
    assert_string_equal(of_claim("c", "status.phase"), "Lost");
}

static void more_is_given_when_the_node_has_it(void **state) {
    (void)state;
    bind_new("c");
    fake_world_patch(&w, "PersistentVolumeClaim", "a", "c", "",
                     "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}");
    run();
    assert_string_equal(of_volume(made_for("c"), "spec.capacity.storage"), "2Gi");
    assert_string_equal(of_claim("c", "status.capacity.storage"), "1Gi");
    assert_string_equal(
        fake_world_condition(fake_world_get(&w, "PersistentVolumeClaim", "a", "c"), "Resizing"),
        "True");
    ready(made_for("c"), "2Gi");
    assert_string_equal(of_claim("c", "status.capacity.storage"), "2Gi");
    assert_string_equal(
        fake_world_condition(fake_world_get(&w, "PersistentVolumeClaim", "a", "c"), "Resizing"),
        "");
}

static void the_first_pod_says_where(void **state) {
    (void)state;
    fake_world_put(&w, CLASS("late", ",\"volumeBindingMode\":\"WaitForFirstConsumer\""));
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n2\"}}");
    put_claim("c", "late", "1Gi", "");
    run();
    assert_int_equal(fake_world_events(&w, "WaitForFirstConsumer"), 1);
    assert_int_equal(fake_world_count(&w, "PersistentVolume"), 0);
    put_pod("p", "c", "n2");
    run();
    assert_true(str_contains(fake_world_get(&w, "PersistentVolume", "", made_for("c"))->json,
                             STR("\"values\":[\"n2\"]")));
}

static void a_snapshot_is_taken_and_restored(void **state) {
    (void)state;
    bind_new("c");
    fake_world_put(&w,
                   "{\"apiVersion\":\"" SNAP "\",\"kind\":\"VolumeSnapshotClass\",\"metadata\":{"
                   "\"name\":\"local\",\"annotations\":{\"snapshot.storage.kubernetes.io/"
                   "is-default-class\":\"true\"}},\"driver\":\"local.berth.dev\","
                   "\"deletionPolicy\":\"Delete\"}");
    const struct object *o = fake_world_put(
        &w, "{\"apiVersion\":\"" SNAP "\",\"kind\":\"VolumeSnapshot\",\"metadata\":{\"name\":\"s\","
            "\"namespace\":\"a\"},\"spec\":{\"source\":{\"persistentVolumeClaimName\":\"c\"}}}");
    char content[80];
    snprintf(content, sizeof(content), "snapcontent-%.*s", STR_ARG(o->uid));
    run();
    assert_non_null(fake_world_get(&w, "VolumeSnapshotContent", "", content));
    put_claim("r", "local", "1Gi",
              ",\"dataSource\":{\"apiGroup\":\"snapshot.storage.k8s.io\",\"kind\":"
              "\"VolumeSnapshot\",\"name\":\"s\"}");
    run();
    assert_null(fake_world_get(&w, "PersistentVolume", "", made_for("r")));
    fake_world_patch(&w, "VolumeSnapshotContent", "", content, "status",
                     "{\"status\":{\"snapshotHandle\":\"h\",\"restoreSize\":1073741824,"
                     "\"readyToUse\":true,\"creationTime\":1000000000}}");
    run();
    assert_string_equal(
        fake_world_text(fake_world_get(&w, "VolumeSnapshot", "a", "s"), "status.readyToUse"),
        "true");
    assert_true(str_contains(fake_world_get(&w, "PersistentVolume", "", made_for("r"))->json,
                             STR("\"berth.dev/volume-source\":\"snapshot/h\"")));
    fake_world_delete(&w, "VolumeSnapshot", "a", "s", "");
    run();
    assert_non_null(fake_world_get(&w, "VolumeSnapshot", "a", "s")); /* its files are there yet */
    fake_world_patch(&w, "VolumeSnapshotContent", "", content, "",
                     "{\"metadata\":{\"finalizers\":null}}");
    run();
    assert_null(fake_world_get(&w, "VolumeSnapshot", "a", "s"));
}

static void a_restart_goes_on(void **state) {
    (void)state;
    put_claim("c", "local", "1Gi", "");
    run();
    controller_free(controller);
    controller = NULL;
    ready(made_for("c"), "1Gi");
    put_pod("p", "c", "n1");
    controller = controller_new(&volumes_controller, &w.env, NULL);
    run();
    assert_string_equal(of_claim("c", "status.phase"), "Bound");
    fake_world_delete(&w, "PersistentVolumeClaim", "a", "c", "");
    run();
    assert_non_null(fake_world_get(&w, "PersistentVolumeClaim", "a", "c"));
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_volume_is_made_and_bound_when_its_folder_is_there),
        TEST(the_smallest_volume_that_fits_is_taken),
        TEST(nobody_takes_the_volume_of_another),
        TEST(a_claim_that_is_used_stays),
        TEST(a_volume_of_a_node_that_is_gone_goes),
        TEST(a_volume_that_is_kept_is_released),
        TEST(a_claim_whose_volume_is_gone_is_lost),
        TEST(more_is_given_when_the_node_has_it),
        TEST(the_first_pod_says_where),
        TEST(a_snapshot_is_taken_and_restored),
        TEST(a_restart_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

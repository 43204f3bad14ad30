/* convert: Kueue's old version to the stored one and back; the two faces of an Event. */
#include "base/test.h"

#include "api/schema/codec.h"

struct fixture {
    struct arena arena;
    struct err err;
    struct buf text;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, 16 << 20);
    buf_init(&f.text, 0);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    arena_release(&f->arena);
    buf_release(&f->text);
    return 0;
}

static void converts(struct fixture *f, const char *from, const char *name, const char *old,
                     const char *stored, const char *back) {
    const struct kind *k = kind_by_api_version(str_of(from), str_of(name));
    yyjson_mut_doc *d = NULL;
    struct str group, version;
    assert_non_null(k);
    assert_true(str_cut(str_of(from), '/', &group, &version));
    const struct kind_version *kv = kind_version(k, version);
    assert_ok(json_parse_mut(&f->arena, str_of(old), &d, &f->err), &f->err);
    assert_ok(codec_to_storage(k, kv, d, &f->err), &f->err);
    buf_reset(&f->text);
    json_write_mut(&f->text, yyjson_mut_doc_get_root(d));
    assert_str_eq(buf_view(&f->text), str_of(stored));
    assert_ok(codec_from_storage(k, kv, d, &f->err), &f->err);
    buf_reset(&f->text);
    json_write_mut(&f->text, yyjson_mut_doc_get_root(d));
    assert_str_eq(buf_view(&f->text), str_of(back));
}

static void cluster_queue(void **state) {
    converts(*state, "kueue.x-k8s.io/v1beta1", "ClusterQueue",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"admissionChecks\":[\"a\"],"
             "\"flavorFungibility\":{\"whenCanBorrow\":\"Borrow\",\"whenCanPreempt\":"
             "\"TryNextFlavor\"},\"cohort\":\"x\"},\"status\":{\"pendingWorkloadsStatus\":{}}}",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"spec\":{\"flavorFungibility\":{"
             "\"whenCanBorrow\":\"MayStopSearch\",\"whenCanPreempt\":\"TryNextFlavor\"},"
             "\"cohortName\":\"x\",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":"
             "\"a\"}]}},\"status\":{}}",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"flavorFungibility\":{"
             "\"whenCanBorrow\":\"MayStopSearch\",\"whenCanPreempt\":\"TryNextFlavor\"},"
             "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"a\"}]},\"cohort\":"
             "\"x\"},\"status\":{}}");
}

static void local_queue(void **state) {
    converts(*state, "kueue.x-k8s.io/v1beta1", "LocalQueue",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"status\":{\"flavors\":[],"
             "\"flavorUsage\":[{\"name\":\"f\"}]}}",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"status\":{\"flavorsUsage\":[{\"name\":"
             "\"f\"}]}}",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"status\":{\"flavorUsage\":[{\"name\":"
             "\"f\"}]}}");
}

static void workload(void **state) {
    converts(*state, "kueue.x-k8s.io/v1beta1", "Workload",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"priorityClassName\":\"high\","
             "\"priorityClassSource\":\"kueue.x-k8s.io/workloadpriorityclass\"},\"status\":{"
             "\"accumulatedPastExexcutionTimeSeconds\":4}}",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"spec\":{\"priorityClassRef\":{"
             "\"group\":\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\",\"name\":\"high\"}},"
             "\"status\":{\"accumulatedPastExecutionTimeSeconds\":4}}",
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"spec\":{\"priorityClassSource\":"
             "\"kueue.x-k8s.io/workloadpriorityclass\",\"priorityClassName\":\"high\"},\"status\":"
             "{\"accumulatedPastExexcutionTimeSeconds\":4}}");
}

#define ASSIGNED(version_, assignment_)                                                            \
    "{\"apiVersion\":\"kueue.x-k8s.io/" version_ "\",\"status\":{\"admission\":{"                  \
    "\"podSetAssignments\":[{\"topologyAssignment\":{\"levels\":[\"rack\",\"host\"]," assignment_  \
    "}}]}}}"

static void topology_assignment(void **state) {
    const char *domains =
        ASSIGNED("v1beta1", "\"domains\":[{\"values\":[\"r1\",\"h1\"],\"count\":2},"
                            "{\"values\":[\"r1\",\"h2\"],\"count\":1}]");
    converts(*state, "kueue.x-k8s.io/v1beta1", "Workload", domains,
             ASSIGNED("v1beta2", "\"slices\":[{\"domainCount\":2,\"valuesPerLevel\":[{"
                                 "\"universal\":"
                                 "\"r1\"},{\"individual\":{\"roots\":[\"h1\",\"h2\"]}}],"
                                 "\"podCounts\":{\"individual\":[2,1]}}]"),
             domains);
}

static void event(void **state) {
    const char *v1 = "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"reason\":\"R\","
                     "\"regarding\":{\"name\":\"p\"},\"note\":\"text\","
                     "\"reportingController\":\"c\"}";
    converts(*state, "events.k8s.io/v1", "Event", v1,
             "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"reason\":\"R\",\"involvedObject\":{"
             "\"name\":\"p\"},\"message\":\"text\",\"reportingComponent\":\"c\"}",
             v1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cluster_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(local_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(workload, setup, teardown),
        cmocka_unit_test_setup_teardown(topology_assignment, setup, teardown),
        cmocka_unit_test_setup_teardown(event, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of translate: what a pod asks for, queues, workloads, and placements there and back. */
#include "control/load/queue_settings.h"
#include "control/load/translate.h"

#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "base/test.h"

static struct arena arena;

static void *view(const struct schema *s, const char *json) {
    struct err err = {0};
    yyjson_doc *doc;
    void *v = arena_zalloc(&arena, s->size);
    assert_ok(json_parse(&arena, str_of(json), &doc, &err), &err);
    assert_ok(codec_decode(s, yyjson_doc_get_root(doc), &arena, v, &err), &err);
    return v;
}

static int placement_restore(struct str json, struct engine *e, const struct workload_input *w,
                             struct err *err) {
    yyjson_doc *doc;
    assert_ok(json_parse(&arena, json, &doc, err), err);
    yyjson_val *list = yyjson_doc_get_root(doc);
    return translate_places_restore(&list, 1, e, w, &arena, err);
}

static int setup(void **state) {
    arena_init(&arena, 4 << 20);
    return 0;
}

static int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

static int64_t amount(const struct amounts *m, const char *resource) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_is(m->v[i].resource, resource)) {
            return m->v[i].v;
        }
    }
    return -1;
}

static void requests(void **state) {
    struct amounts m;
    const struct pod_spec *p = view(
        &schema_pod_spec,
        "{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"500m\"},"
        "\"limits\":"
        "{\"cpu\":\"2\",\"memory\":\"1Gi\"}}},{\"name\":\"b\",\"resources\":{\"requests\":"
        "{\"cpu\":\"1\"}}}],\"initContainers\":[{\"name\":\"side\",\"restartPolicy\":\"Always\","
        "\"resources\":{\"requests\":{\"cpu\":\"100m\"}}},{\"name\":\"once\",\"resources\":"
        "{\"requests\":{\"cpu\":\"3\"}}}],\"overhead\":{\"memory\":\"1Mi\"}}");
    assert_int_equal(translate_requests(p, &arena, &m), 0);
    assert_int_equal(amount(&m, "cpu"), 3100); /* the init container beside the sidecar */
    assert_int_equal(amount(&m, "memory"), (1 << 30) + (1 << 20));
    p = view(&schema_pod_spec,
             "{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
             "\"resources\":{\"requests\":{\"cpu\":\"250m\"}}}");
    assert_int_equal(translate_requests(p, &arena, &m), 0);
    assert_int_equal(amount(&m, "cpu"), 250);
}

static void affinity(void **state) {
    struct shape s;
    const struct pod_spec *p = view(
        &schema_pod_spec,
        "{\"containers\":[{\"name\":\"a\"}],\"nodeSelector\":{\"zone\":\"a\"},\"affinity\":{"
        "\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":"
        "[{\"matchExpressions\":[{\"key\":\"gpu\",\"operator\":\"In\",\"values\":[\"h200\"]}]},"
        "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n2\"]}]}]}}"
        "}}");
    assert_int_equal(translate_shape(p, &arena, &s), 0);
    struct str_pair labels[] = {{STR("zone"), STR("a")}, {STR("gpu"), STR("h200")}};
    assert_true(shape_matches_node(&s, NULL, STR("n1"), (struct str_map){labels, 2}));
    assert_false(shape_matches_node(&s, NULL, STR("n1"), (struct str_map){labels, 1}));
    assert_true(shape_matches_node(&s, NULL, STR("n2"), (struct str_map){labels, 1}));
    struct flavor_input f = {.name = STR("f"), .labels = {labels, 2}};
    assert_true(shape_matches_flavor(&s, &f));
    labels[0].value = STR("b");
    assert_false(shape_matches_flavor(&s, &f));
}

static void queue(void **state) {
    struct queue_input in;
    const struct cluster_queue *q =
        view(&schema_cluster_queue,
             "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"cohortName\":\"co\",\"queueingStrategy\":"
             "\"StrictFIFO\",\"stopPolicy\":\"Hold\",\"flavorFungibility\":{\"whenCanBorrow\":"
             "\"TryNextFlavor\",\"whenCanPreempt\":\"MayStopSearch\"},\"resourceGroups\":[{"
             "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
             "\"cpu\","
             "\"nominalQuota\":\"1500m\",\"borrowingLimit\":\"0\"}]}]}]}}");
    assert_int_equal(translate_queue(q, &arena, &in), 0);
    assert_true(in.strict && in.held);
    assert_int_equal(in.when_can_borrow, FUNGIBILITY_NEXT);
    assert_int_equal(in.when_can_preempt, FUNGIBILITY_STOP);
    const struct quota_input *l = in.groups[0].flavors[0].quotas;
    assert_int_equal(l->nominal, 1500);
    assert_int_equal(l->borrowing, 0); /* zero is a limit, absence is none */
    assert_int_equal(l->lending, AMOUNT_NONE);
}

static const char WORKLOAD[] =
    "{\"metadata\":{\"name\":\"w\",\"namespace\":\"d\",\"uid\":\"u1\",\"creationTimestamp\":"
    "\"2026-01-05T09:00:00Z\"},\"spec\":{\"priority\":7,\"podSets\":[{\"name\":\"main\",\"count\":"
    "4,\"topologyRequest\":{\"required\":\"rack\"},"
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{"
    "\"nvidia.com/mig-1g.18gb\":\"1\"}}}]}}}]},\"status\":{\"reclaimablePods\":[{\"name\":\"main\","
    "\"count\":1}],\"admission\":{\"clusterQueue\":\"q\",\"podSetAssignments\":[{\"name\":\"main\","
    "\"count\":4,\"flavors\":{\"nvidia.com/mig-1g.18gb\":\"f\"},\"resourceUsage\":{"
    "\"nvidia.com/mig-1g.18gb\":\"4\"}}]}}}";

static void workload_and_placement(void **state) {
    struct engine_options o = {0};
    struct engine *e = engine_new(&o);
    const struct workload *w = view(&schema_workload, WORKLOAD);
    struct workload_input in;
    struct held_amount *held;
    struct err err = {0};
    size_t n;
    assert_int_equal(translate_workload(w, STR("q"), &arena, &in), 0);
    assert_int_equal(in.priority, 7);
    assert_int_equal(in.sets[0].count, 3);
    assert_str_eq(in.sets[0].shape->together, STR("rack"));
    assert_int_equal(translate_admission(w, e, queue_settings_defaults(), &arena, &held, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(held[0].v, 3); /* what is reclaimable is not held */
    struct pod_set_assignment *ps = &w->status->admission->pod_set_assignments.v[0];
    ps->count.v = 3; /* admitted anew after a pod had ended: it is not taken off twice */
    struct held_amount *anew;
    assert_int_equal(translate_admission(w, e, queue_settings_defaults(), &arena, &anew, &n), 0);
    assert_int_equal(anew[0].v, 4); /* all of what is written */
    struct str text = STR("[{\"podSet\":\"main\",\"index\":0,\"node\":\"n1\",\"devices\":[{"
                          "\"profileId\":19,\"gpu\":\"GPU-0\",\"profile\":"
                          "\"1g.18gb\",\"start\":6,\"size\":1}]},{\"podSet\":\"main\",\"index\":1,"
                          "\"node\":\"n1\"}]");
    assert_ok(placement_restore(text, e, &in, &err), &err);
    struct buf b;
    buf_init(&b, 0);
    struct seat *s = pool_workload_first(engine_pool(e), STR("u1"));
    translate_placement_json(s, &b);
    assert_str_eq(buf_view(&b), text);
    buf_reset(&b);
    assert_int_equal(translate_devices_json(s, w->spec->pod_sets.v[0].template->spec,
                                            engine_resources(e), &arena, &b),
                     0);
    assert_str_eq(buf_view(&b),
                  STR("[{\"profileId\":19,\"container\":\"c\",\"gpu\":\"GPU-0\",\"profile\":"
                      "\"1g.18gb\",\"start\":6,\"size\":1}]"));
    buf_reset(&b);
    struct workload_admission *admission;
    assert_int_equal(translate_assigned(e, STR("q"), &in, held, n, &arena, &admission), 0);
    codec_encode(&schema_admission, admission, &b);
    assert_str_eq(
        buf_view(&b),
        STR("{\"clusterQueue\":\"q\",\"podSetAssignments\":[{\"name\":\"main\",\"flavors\":{"
            "\"nvidia.com/mig-1g.18gb\":\"f\"},\"resourceUsage\":{"
            "\"nvidia.com/mig-1g.18gb\":\"3\"},\"count\":3}]}"));
    buf_release(&b);
    engine_free(e);
}

/* There and back; NULL: it comes back as it was. */
static void placement_restored(const char *text, const char *want, int seats) {
    struct engine_options o = {0};
    struct engine *e = engine_new(&o);
    const struct workload *w = view(&schema_workload, WORKLOAD);
    struct workload_input in;
    struct err err = {0};
    struct buf b;
    int n = 0;
    assert_int_equal(translate_workload(w, STR("q"), &arena, &in), 0);
    int r = placement_restore(str_of(text), e, &in, &err);
    if (want == NULL) {
        assert_int_equal(r, ERR_INVALID);
        assert_non_null(strstr(err.text, "expected count and index of pods"));
    } else {
        const struct seat *first = pool_workload_first(engine_pool(e), STR("u1"));
        assert_ok(r, &err);
        buf_init(&b, 0);
        translate_placement_json(first, &b);
        assert_str_eq(buf_view(&b), str_of(want));
        buf_release(&b);
        for (const struct seat *s = first; s != NULL; s = s->group_next) {
            n++;
        }
        assert_int_equal(n, seats);
    }
    engine_free(e);
}

/* Pods without devices that follow one another on a node are counted. */
static void placement_counts(void **state) {
    static const char counted[] =
        "[{\"podSet\":\"main\",\"index\":0,\"count\":5999,\"node\":\"n1\"},"
        "{\"podSet\":\"main\",\"index\":5999,\"node\":\"n2\"},"
        "{\"podSet\":\"main\",\"index\":6001,\"count\":2,\"node\":\"n2\"},"
        "{\"podSet\":\"other\",\"index\":6003,\"node\":\"n2\"}]";
    placement_restored(counted, counted, 6003);
    placement_restored("[{\"podSet\":\"main\",\"index\":0,\"node\":\"n1\"},"
                       "{\"podSet\":\"main\",\"index\":1,\"node\":\"n1\"},"
                       "{\"podSet\":\"main\",\"index\":2,\"node\":\"n1\"}]",
                       "[{\"podSet\":\"main\",\"index\":0,\"count\":3,\"node\":\"n1\"}]", 3);
    static const char *const bad[] = {
        "[{\"podSet\":\"main\",\"index\":0,\"count\":0,\"node\":\"n1\"}]",
        "[{\"podSet\":\"main\",\"index\":0,\"count\":100001,\"node\":\"n1\"}]",
        "[{\"podSet\":\"main\",\"index\":0,\"count\":99999,\"node\":\"n1\"},"
        "{\"podSet\":\"main\",\"index\":0,\"count\":2,\"node\":\"n1\"}]",
        "[{\"podSet\":\"main\",\"index\":-1,\"node\":\"n1\"}]",
        "[{\"podSet\":\"main\",\"index\":2147483647,\"count\":2,\"node\":\"n1\"}]",
        "[{\"podSet\":\"main\",\"index\":0,\"count\":2,\"node\":\"n1\",\"devices\":[]}]"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        placement_restored(bad[i], NULL, 0);
    }
}

static void amounts_as_text(void **state) {
    const struct {
        const char *resource;
        int64_t v;
        const char *text;
    } want[] = {{"cpu", 1500, "1500m"},     {"cpu", 2000, "2"},
                {"memory", 1 << 30, "1Gi"}, {"memory", 1500, "1500"},
                {"nvidia.com/gpu", 8, "8"}, {"nvidia.com/gpu", 2000, "2k"},
                {"memory", 0, "0"}};
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        struct buf b;
        buf_init(&b, 0);
        amount_text(str_of(want[i].resource), want[i].v, &b);
        assert_str_eq(buf_view(&b), str_of(want[i].text));
        buf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests, setup, teardown),
        cmocka_unit_test_setup_teardown(affinity, setup, teardown),
        cmocka_unit_test_setup_teardown(queue, setup, teardown),
        cmocka_unit_test_setup_teardown(workload_and_placement, setup, teardown),
        cmocka_unit_test_setup_teardown(placement_counts, setup, teardown),
        cmocka_unit_test(amounts_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

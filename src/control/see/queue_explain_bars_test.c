/*
 * Tests of what is said where a queue counts as borrowing by what it hardly uses: who is kept by that, which resource
 * it is, and what to raise, in explanations and in previews.
 */
#include "control/test/queue_explain_scene.h"

static const char *two_groups(const char *kind, const char *name, const char *more, const char *cpu,
                              int gpus) {
    static char json[4][2048];
    static int at;
    char *out = json[at++ % 4];
    snprintf(out, sizeof(json[0]),
             "{" V "\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
             "\"resourceGroups\":[{\"coveredResources\":[\"memory\",\"cpu\"],\"flavors\":[{"
             "\"name\":\"plain\",\"resources\":[{\"name\":\"memory\",\"nominalQuota\":\"0\"},"
             "{\"name\":\"cpu\",\"nominalQuota\":\"%s\"}]}]},{\"coveredResources\":[\"gpu\"],"
             "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"gpu\","
             "\"nominalQuota\":\"%d\"}]}]}]}}",
             kind, name, more, cpu, gpus);
    return out;
}

#define OWNER                                                                                      \
    "\"cohortName\":\"c\",\"namespaceSelector\":{},\"preemption\":{\"reclaimWithinCohort\":"       \
    "\"Any\"},"

static void with_cpu(struct scene *s, const char *team, const char *name, int gpus) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{" V "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},"
             "\"spec\":{\"queueName\":\"lq\",\"active\":true,\"podSets\":[{\"name\":\"main\","
             "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{\"requests\":{\"cpu\":\"10m\",\"gpu\":\"%d\"},\"limits\":{\"gpu\":"
             "\"%d\"}}}]}}}]}}",
             name, team, gpus, gpus);
    fake_world_put(&s->w, json);
    settle(s); /* so that creation times differ */
}

/* Both teams have GPUs and no CPU, which is their cohort's; b uses a's GPUs, and a wants its own. */
static void owner_waits(struct scene *s) {
    start(s, false);
    fake_world_put(&s->w, "{" V "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"plain\"},"
                          "\"spec\":{}}");
    fake_world_put(&s->w, two_groups("Cohort", "c", "", "4", 0));
    fake_world_put(&s->w, two_groups("ClusterQueue", "qa", OWNER, "0", 2));
    fake_world_put(&s->w, two_groups("ClusterQueue", "qb", OWNER, "0", 2));
    local_queue(s, "a", "qa");
    local_queue(s, "b", "qb");
    settle(s);
    with_cpu(s, "b", "borrower", 4);
    with_cpu(s, "a", "owner", 2);
}

#define REMEDY                                                                                     \
    "raise spec.resourceGroups[0].flavors[0].resources[1].nominalQuota (cpu in flavor plain) of "  \
    "ClusterQueue qa from 0 to 10m"

static void says_what_bars(void **state) {
    struct scene s;
    owner_waits(&s);
    why(&s, "a", "owner");
    is(&s, s.json, "status.summary",
       "2 gpu missing in flavor f (2 needed, 0 free), held by 1 workload; not reclaimed, since it "
       "would borrow cpu");
    yyjson_val *h = yyjson_arr_get_first(json_get(nth(&s, "status.lacks", 0), STR("holders")));
    is(&s, h, "name", "borrower");
    is(&s, h, "keeps", "BorrowWithinCohortNever");
    is(&s, nth(&s, "status.preemption", 0), "rule", "BorrowWithinCohortNever");
    is(&s, nth(&s, "status.preemption", 0), "message",
       "is in another ClusterQueue, this one would borrow, and borrowWithinCohort is Never; it "
       "counts as borrowing, since it is asked for 10m cpu in flavor plain (nominal quota 0, 0 "
       "used)");
    yyjson_val *b = nth(&s, "status.borrowing", 0);
    is(&s, b, "resource", "cpu");
    is(&s, b, "flavor", "plain");
    is(&s, b, "requested", "10m");
    is(&s, b, "nominalQuota", "0");
    is(&s, b, "used", "0");
    is(&s, b, "missing", "10m");
    is(&s, b, "remedy", REMEDY);
    struct str text = json_str_at(s.json, "status.text");
    assert_true(str_contains(text, STR("4 held by b/borrower")));
    assert_true(str_contains(text, STR(", kept by BorrowWithinCohortNever\n")));
    assert_true(str_contains(text, STR("Remedy: " REMEDY "\n")));
    end(&s);
}

/* Nobody but Berth writes a booking's quota: who asks is told how much he may ask for. */
static void of_a_booking(void **state) {
    struct scene s;
    owner_waits(&s);
    fake_world_patch(&s.w, "ClusterQueue", "", "qa", "",
                     "{\"metadata\":{\"labels\":{\"berth.dev/reservation\":\"x\"}}}");
    settle(&s);
    why(&s, "a", "owner");
    is(&s, nth(&s, "status.borrowing", 0), "remedy",
       "ask for no more than 0 cpu, which is what its booking has left in flavor plain");
    assert_int_equal(preview_object(&s, two_groups("ClusterQueue", "qb", OWNER, "0", 1)), 0);
    assert_int_equal(yyjson_arr_size(at(&s, "status.suggestions")), 0);
    end(&s);
}

/* The preview of another edit says what is missing; with that, who has GPUs of his own gets them. */
static void preview_suggests(void **state) {
    struct scene s;
    char patch[2048];
    owner_waits(&s);
    assert_int_equal(preview_object(&s, two_groups("ClusterQueue", "qb", OWNER, "0", 1)), 0);
    assert_int_equal(count(&s, "status.evictedCount"), 0);
    yyjson_val *x = nth(&s, "status.suggestions", 0);
    is(&s, x, "clusterQueue", "qa");
    is(&s, x, "field", "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota");
    is(&s, x, "nominalQuota", "10m");
    is(&s, x, "message", REMEDY);
    s.only = "b"; /* who may not know of the queue is not told */
    assert_int_equal(preview_object(&s, two_groups("ClusterQueue", "qb", OWNER, "0", 1)), 0);
    assert_int_equal(yyjson_arr_size(at(&s, "status.suggestions")), 0);
    s.only = NULL;
    const char *edit = two_groups("ClusterQueue", "qa", OWNER, "10m", 2);
    assert_int_equal(preview_object(&s, edit), 0);
    assert_int_equal(yyjson_arr_size(at(&s, "status.suggestions")), 0);
    assert_int_equal(count(&s, "status.evictedCount"), 1);
    is(&s, nth(&s, "status.evicted", 0), "name", "borrower");
    is(&s, nth(&s, "status.admitted", 0), "name", "owner");
    snprintf(patch, sizeof(patch), "{%s", strstr(edit, "\"spec\":"));
    fake_world_patch(&s.w, "ClusterQueue", "", "qa", "", patch);
    settle(&s); /* and so it comes */
    assert_string_equal(
        fake_world_condition(fake_world_get(&s.w, "Workload", "b", "borrower"), "Preempted"),
        "True");
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_bars),
        cmocka_unit_test(of_a_booking),
        cmocka_unit_test(preview_suggests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

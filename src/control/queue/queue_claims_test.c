/* Tests of devices that pods claim by template: counted by class, in quota and usage, and what is refused. */
#include "api/kinds/kinds_foreign.h"
#include "base/test.h"
#include "control/load/queue_settings.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","
#define GPU "\"deviceClassName\":\"gpu.example.com\""

static const struct str CLASSES[] = {{"gpu.example.com", 15}, {"gpu2.example.com", 16}};
static const struct queue_device_mapping MAPPINGS[] = {{{"whole-gpus", 10}, CLASSES, 2}};

struct scene {
    struct fake_world w;
    struct queue_controller *q;
    struct queue_settings settings;
    struct queue_weight weight;
};

static void start(struct scene *s, double weight) {
    size_t n;
    struct err err = {0};
    const struct kind *rows = kinds_foreign(&n);
    for (size_t i = 0; i < n; i++) {
        (void)kinds_add(&rows[i], &err);
    }
    fake_world_init(&s->w);
    s->settings = *queue_settings_defaults();
    s->settings.resources.devices = MAPPINGS;
    s->settings.resources.n_devices = 1;
    s->weight = (struct queue_weight){STR("whole-gpus"), weight};
    s->settings.usage = (struct queue_usage_settings){.on = true,
                                                      .half_life_ns = 600 * NS_PER_SEC,
                                                      .sampling_interval_ns = 300 * NS_PER_SEC,
                                                      .weights = &s->weight,
                                                      .n_weights = 1};
    s->w.env.settings = &s->settings;
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    assert_non_null(s->q);
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                          "\"default\"}}");
    fake_world_put(&s->w,
                   V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    fake_world_put(&s->w,
                   V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
                      "\"admissionScope\":{\"admissionMode\":\"UsageBasedAdmissionFairSharing\"},"
                      "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\","
                      "\"whole-gpus\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
                      "\"cpu\",\"nominalQuota\":\"4\"},{\"name\":\"whole-gpus\",\"nominalQuota\":"
                      "\"4\"}]}]}]}}");
}

static void end(struct scene *s) {
    controller_free(s->q);
    fake_world_release(&s->w);
}

static void local_queue(struct scene *s, const char *name) {
    char json[512];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"clusterQueue\":\"cq\"}}",
             name);
    fake_world_put(&s->w, json);
}

static void template(struct scene *s, const char *name, const char *request) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaimTemplate\","
             "\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"spec\":{"
             "\"devices\":{\"requests\":[{\"name\":\"r\",%s}]}}}}",
             name, request);
    fake_world_put(&s->w, json);
}

/* claims: members of the pod's spec, each with a comma before it. */
static void workload(struct scene *s, const char *name, const char *lq, int pods, const char *cpu,
                     const char *claims) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"queueName\":\"%s\",\"podSets\":[{\"name\":\"main\",\"count\":%d,"
                "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]%s}}}]}}",
             name, lq, pods, cpu, claims);
    fake_world_put(&s->w, json);
}

static const char *of(struct scene *s, const char *name, const char *path) {
    return fake_world_text(fake_world_get(&s->w, "Workload", "default", name), path);
}

static const char *admitted(struct scene *s, const char *name) {
    return fake_world_condition(fake_world_get(&s->w, "Workload", "default", name), "Admitted");
}

#define CLAIMS(template_)                                                                          \
    ",\"resourceClaims\":[{\"name\":\"c\",\"resourceClaimTemplateName\":\"" template_ "\"}]"

/* Each pod has a claim of its own, of as many devices as the template says. */
static void counted(void **state) {
    struct scene s;
    start(&s, 1);
    local_queue(&s, "lq");
    template(&s, "one", "\"exactly\":{" GPU "}");
    template(&s, "two",
             "\"exactly\":{\"deviceClassName\":\"gpu2.example.com\",\"count\":2,"
             "\"allocationMode\":\"ExactCount\"}");
    template(&s, "looks", "\"exactly\":{" GPU ",\"count\":9,\"adminAccess\":true}");
    workload(&s, "a", "lq", 1, "1",
             ",\"resourceClaims\":[{\"name\":\"c\",\"resourceClaimTemplateName\":\"one\"},"
             "{\"name\":\"d\",\"resourceClaimTemplateName\":\"two\"},"
             "{\"name\":\"e\",\"resourceClaimTemplateName\":\"looks\"}]");
    fake_world_run(&s.w, 2 * NS_PER_SEC);
    assert_string_equal(admitted(&s, "a"), "True");
#define USAGE "status.admission.podSetAssignments.0.resourceUsage"
    assert_string_equal(of(&s, "a", USAGE ".whole-gpus"), "3");
    workload(&s, "b", "lq", 2, "1", CLAIMS("one"));
    fake_world_run(&s.w, 2 * NS_PER_SEC);
    const struct object *b = fake_world_get(&s.w, "Workload", "default", "b");
    assert_string_equal(fake_world_condition_reason(b, "QuotaReserved"), "WaitingForQuota");
    assert_non_null(strstr(fake_world_condition_message(b, "QuotaReserved"),
                           "insufficient unused quota for whole-gpus in flavor f, 1 more needed"));
    end(&s);
}

#define AT "spec.podSets[0].template.spec.resourceClaims[0]"

static void refused(void **state) {
    static const struct {
        const char *request, *text;
    } cases[] = {
        {"\"exactly\":{\"deviceClassName\":\"other\"}",
         AT ".resourceClaimTemplateName: Not found: \"DeviceClass other is not mapped in DRA "
            "configuration for podset main\""},
        {"\"exactly\":{" GPU ",\"allocationMode\":\"All\"}",
         AT ".devices.requests[0].exactly.allocationMode: Invalid value: \"All\": "
            "ResourceClaimTemplate t: AllocationMode 'All' is not supported"},
        {"\"firstAvailable\":[{\"name\":\"x\"," GPU "}]",
         AT ".devices.requests[0]: Invalid value: null: ResourceClaimTemplate t: FirstAvailable "
            "device selection is not supported"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct scene s;
        start(&s, 1);
        local_queue(&s, "lq");
        template(&s, "t", cases[i].request);
        workload(&s, "a", "lq", 1, "1", CLAIMS("t"));
        fake_world_run(&s.w, 2 * NS_PER_SEC);
        const struct object *o = fake_world_get(&s.w, "Workload", "default", "a");
        assert_string_equal(fake_world_condition_reason(o, "QuotaReserved"), "Misconfigured");
        assert_string_equal(fake_world_condition_message(o, "QuotaReserved"), cases[i].text);
        end(&s);
    }
}

/* A template that is not there yet is waited for; a claim that somebody made is nobody's to count. */
static void not_there_yet(void **state) {
    struct scene s;
    start(&s, 1);
    local_queue(&s, "lq");
    workload(&s, "a", "lq", 1, "1", CLAIMS("late"));
    workload(&s, "b", "lq", 1, "1",
             ",\"resourceClaims\":[{\"name\":\"c\",\"resourceClaimName\":\"mine\"}]");
    fake_world_run(&s.w, 2 * NS_PER_SEC);
    const struct object *o = fake_world_get(&s.w, "Workload", "default", "a");
    assert_string_equal(fake_world_condition_message(o, "QuotaReserved"),
                        AT ": Internal error: failed to get claim spec for ResourceClaimTemplate "
                           "late in podset main: resourceclaimtemplates.resource.k8s.io \"late\" "
                           "not found");
    o = fake_world_get(&s.w, "Workload", "default", "b");
    assert_string_equal(fake_world_condition_message(o, "QuotaReserved"),
                        "KueueDRAIntegration feature does not support use of resource claims");
    template(&s, "late", "\"exactly\":{" GPU "}");
    fake_world_run(&s.w, 10 * NS_PER_SEC);
    assert_string_equal(admitted(&s, "a"), "True");
    assert_string_equal(admitted(&s, "b"), "");
    end(&s);
}

/* What templates say besides their requests is read as well, each time that one is named: that has a bound. */
static void long_templates(void **state) {
    struct scene s;
    struct buf b;
    start(&s, 1);
    local_queue(&s, "lq");
    buf_init(&b, 1 << 20);
    buf_c(&b, "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaimTemplate\","
              "\"metadata\":{\"name\":\"t\",\"namespace\":\"default\",\"annotations\":{\"a\":\"");
    for (size_t i = 0; i < 30000; i++) {
        buf_c(&b, "0123456789");
    }
    buf_c(&b, "\"}},\"spec\":{\"spec\":{\"devices\":{\"requests\":[]}}}}");
    fake_world_put(&s.w, buf_cstr(&b));
    buf_release(&b);
#define ONE "{\"name\":\"c\",\"resourceClaimTemplateName\":\"t\"}"
    workload(&s, "few", "lq", 1, "1", ",\"resourceClaims\":[" ONE "," ONE "]");
    workload(&s, "many", "lq", 1, "1",
             ",\"resourceClaims\":[" ONE "," ONE "," ONE "," ONE "," ONE "," ONE "," ONE "]");
    fake_world_run(&s.w, 2 * NS_PER_SEC);
    assert_string_equal(admitted(&s, "few"), "True");
    const struct object *o = fake_world_get(&s.w, "Workload", "default", "many");
    assert_non_null(strstr(fake_world_condition_message(o, "QuotaReserved"),
                           "[6]: Invalid value: the templates of its claims are too long"));
    end(&s);
}

/* Without a mapping nothing is counted, as before. */
static void not_configured(void **state) {
    struct scene s;
    start(&s, 1);
    s.settings.resources.n_devices = 0;
    local_queue(&s, "lq");
    workload(&s, "a", "lq", 1, "1", CLAIMS("nothing"));
    fake_world_run(&s.w, 2 * NS_PER_SEC);
    assert_string_equal(admitted(&s, "a"), "True");
    end(&s);
}

/* Who of the two comes first, when both waited, by what their LocalQueues used: of one a core and a GPU, of the other
 * three cores. */
static void usage(double weight, const char *first) {
    struct scene s;
    start(&s, weight);
    local_queue(&s, "gpus");
    local_queue(&s, "cores");
    template(&s, "one", "\"exactly\":{" GPU "}");
    workload(&s, "a", "gpus", 1, "1", CLAIMS("one"));
    workload(&s, "b", "cores", 1, "3", "");
    fake_world_run(&s.w, 320 * NS_PER_SEC);
    assert_string_equal(admitted(&s, "a"), "True");
    assert_string_equal(admitted(&s, "b"), "True");
    const char *used =
        fake_world_text(fake_world_get(&s.w, "LocalQueue", "default", "gpus"),
                        "status.fairSharing.admissionFairSharingStatus.consumedResources");
    assert_non_null(strstr(used, "\"whole-gpus\":\""));
    assert_null(strstr(used, "\"whole-gpus\":\"0\""));
    workload(&s, "from-gpus", "gpus", 1, "4", "");
    workload(&s, "from-cores", "cores", 1, "4", "");
    fake_world_run(&s.w, NS_PER_SEC);
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    fake_world_delete(&s.w, "Workload", "default", "b", "");
    fake_world_run(&s.w, 5 * NS_PER_SEC);
    assert_string_equal(admitted(&s, first), "True");
    end(&s);
}

static void used_by_weight(void **state) {
    usage(5, "from-cores");
    usage(1, "from-gpus");
    usage(0, "from-gpus");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted),        cmocka_unit_test(refused),
        cmocka_unit_test(not_there_yet),  cmocka_unit_test(not_configured),
        cmocka_unit_test(used_by_weight), cmocka_unit_test(long_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

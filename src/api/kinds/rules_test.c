/* rules: what validation refuses, and the words it uses. */
#include "base/limits.h"
#include "base/test.h"

#include "api/schema/codec.h"

struct fixture {
    struct arena arena;
    struct err err;
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, 64 << 20);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    arena_release(&((struct fixture *)*state)->arena);
    return 0;
}

/* Defaults and validates; with `old`, as an update of that. All causes as "field: text\n", in order. */
static struct str causes_of(struct fixture *f, const char *api_version, const char *name,
                            const char *now, const char *old) {
    const struct kind *k = kind_by_api_version(str_of(api_version), str_of(name));
    yyjson_mut_doc *d = NULL;
    yyjson_doc *was = NULL;
    struct causes causes = {.arena = &f->arena};
    struct buf b;
    assert_non_null(k);
    if (old != NULL) {
        buf_init(&b, 0);
        assert_ok(json_parse_mut(&f->arena, str_of(old), &d, &f->err), &f->err);
        assert_ok(codec_default(k, d, &f->err), &f->err);
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
        assert_ok(json_parse(&f->arena, arena_str(&f->arena, buf_view(&b)), &was, &f->err),
                  &f->err);
        buf_release(&b);
    }
    assert_ok(json_parse_mut(&f->arena, str_of(now), &d, &f->err), &f->err);
    assert_ok(codec_default(k, d, &f->err), &f->err);
    assert_int_equal(codec_validate(k, yyjson_mut_doc_get_root(d),
                                    was ? yyjson_doc_get_root(was) : NULL, &causes),
                     0);
    buf_init(&b, 0);
    for (size_t i = 0; i < causes.n; i++) {
        buf_str(&b, causes.v[i].field);
        buf_c(&b, ": ");
        buf_str(&b, causes.v[i].text);
        buf_ch(&b, '\n');
    }
    struct str r = arena_str(&f->arena, buf_view(&b));
    buf_release(&b);
    return r;
}

#define POD(spec_) "{\"metadata\":{\"name\":\"p\"},\"spec\":{" spec_ "}}"
#define CONTAINERS(rest_) "\"containers\":[{\"name\":\"c\",\"image\":\"i\"" rest_ "}]"

static void pods(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *now, *want;
    } cases[] = {
        {POD(CONTAINERS("")), ""},
        {POD(""), "spec.containers: Required value\n"},
        {"{\"metadata\":{\"name\":\"p\"}}", "spec.containers: Required value\n"},
        {POD(CONTAINERS(",\"livenessProbe\":{\"httpGet\":{\"port\":1,\"httpHeaders\":[{\"name\":"
                        "\"a\",\"value\":\"\"}]}}")),
         ""},
        {POD("\"containers\":[{\"name\":\"Bad_\",\"image\":\"i\"}]"),
         "spec.containers[0].name: Invalid value: \"Bad_\": a lowercase RFC 1123 label must "
         "consist of lower case alphanumeric characters or '-', and must start and end with an "
         "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n"},
        {POD("\"containers\":[{\"name\":\"c\",\"image\":\"i\"},{\"name\":\"c\",\"image\":\"i\"}]"),
         "spec.containers[1].name: Duplicate value: \"c\"\n"},
        {POD("\"containers\":[{\"name\":\"c\"}]"), "spec.containers[0].image: Required value\n"},
        {POD(CONTAINERS(",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]")),
         "spec.containers[0].volumeMounts[0].name: Not found: \"v\"\n"},
        {POD("\"restartPolicy\":\"Sometimes\"," CONTAINERS("")),
         "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
         "\"Never\", \"OnFailure\"\n"},
        {POD(CONTAINERS(
             ",\"resources\":{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"1\"}}")),
         "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal "
         "to cpu limit of 1\n"},
        {POD(CONTAINERS(",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"500m\"}}")),
         "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
         "integer\nspec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "
         "\"500m\": must be an integer\n"},
        {POD("\"resources\":{\"limits\":{\"nvidia.com/"
             "gpu\":\"1\"},\"requests\":{\"cpu\":\"1\"}}," CONTAINERS("")),
         "spec.resources.limits[nvidia.com/gpu]: Unsupported value: \"nvidia.com/gpu\": supported "
         "values: \"cpu\", \"hugepages-\", \"memory\"\n"},
        {POD(CONTAINERS(",\"resources\":{\"limits\":{\"cpu\":\"-1\"}}")),
         "spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than or "
         "equal to 0\nspec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be "
         "greater than or equal to 0\n"},
        {POD(CONTAINERS(",\"resources\":{\"limits\":{\"cpu\":\"lots\"}}")),
         "spec.containers[0].resources.limits[cpu]: quantities must match "
         "the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\n"
         "spec.containers[0].resources.requests[cpu]: quantities must "
         "match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\n"},
        {POD(CONTAINERS(",\"ports\":[{\"containerPort\":70000}]")),
         "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
         "65535, inclusive\n"},
        {POD("\"nodeName\":7," CONTAINERS("")),
         "spec.nodeName: Invalid value: \"integer\": spec.nodeName in body must be of type string: "
         "\"integer\"\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(causes_of(f, "v1", "Pod", cases[i].now, NULL), str_of(cases[i].want));
    }
}

static void pods_hardly_change(void **state) {
    struct fixture *f = *state;
    const char *gated = POD("\"schedulingGates\":[{\"name\":\"a.b/c\"}]," CONTAINERS(""));
    const char *steered = POD("\"nodeSelector\":{\"a\":\"b\"}," CONTAINERS(""));
    assert_str_eq(causes_of(f, "v1", "Pod", steered, gated), STR(""));
    struct str fault = causes_of(f, "v1", "Pod", steered, POD(CONTAINERS("")));
    assert_true(str_starts(fault, STR("spec: Forbidden: pod updates may not change fields other")));
    assert_str_eq(causes_of(f, "v1", "Pod", gated, POD(CONTAINERS(""))),
                  STR("spec.schedulingGates: Forbidden: only deletion is allowed, but found new "
                      "scheduling gates\n"));
    assert_str_eq(
        causes_of(f, "v1", "Pod", POD("\"nodeName\":\"n\"," CONTAINERS("")), POD(CONTAINERS(""))),
        STR(""));
}

static void metadata(void **state) {
    struct fixture *f = *state;
    assert_str_eq(causes_of(f, "v1", "ConfigMap", "{\"metadata\":{}}", NULL),
                  STR("metadata.name: Required value: name or generateName is required\n"));
    assert_str_eq(causes_of(f, "v1", "ConfigMap", "{\"metadata\":{\"generateName\":\"a-\"}}", NULL),
                  STR(""));
    struct str fault = causes_of(f, "v1", "ConfigMap",
                                 "{\"metadata\":{\"name\":\"a\",\"labels\":{\"k\":\"-\"}}}", NULL);
    assert_true(str_starts(
        fault, STR("metadata.labels: Invalid value: \"-\": a valid label must be an empty")));
    assert_str_eq(causes_of(f, "v1", "ConfigMap", "{\"metadata\":{\"name\":\"a\",\"uid\":\"2\"}}",
                            "{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"}}"),
                  STR("metadata.uid: Invalid value: \"2\": field is immutable\n"));
    assert_str_eq(
        causes_of(f, "v1", "ConfigMap",
                  "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\"],\"deletionTimestamp\":"
                  "\"2026-01-01T00:00:00Z\"}}",
                  "{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}"),
        STR("metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
            "deleted, found new finalizers []string{\"x.y/z\"}\n"));
    assert_str_eq(causes_of(f, "rbac.authorization.k8s.io/v1", "ClusterRole",
                            "{\"metadata\":{\"name\":\"system:a\"},\"rules\":[]}", NULL),
                  STR(""));
}

static void small_kinds(void **state) {
    struct fixture *f = *state;
    assert_str_eq(causes_of(f, "v1", "ConfigMap",
                            "{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"k\":"
                            "\"2\"}}",
                            "{\"metadata\":{\"name\":\"a\"},\"immutable\":true,\"data\":{\"k\":"
                            "\"1\"}}"),
                  STR("data: Forbidden: field is immutable when `immutable` is set\n"));
    assert_str_eq(causes_of(f, "scheduling.k8s.io/v1", "PriorityClass",
                            "{\"metadata\":{\"name\":\"a\"},\"value\":2}",
                            "{\"metadata\":{\"name\":\"a\"},\"value\":1}"),
                  STR("value: Forbidden: may not be changed in an update.\n"));
    struct str fault = causes_of(f, "coordination.k8s.io/v1", "Lease",
                                 "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"renewTime\":"
                                 "\"2026-01-01T00:00:00Z\"}}",
                                 NULL);
    assert_true(str_starts(fault, STR("spec.renewTime: Invalid value: \"2026-01-01T00:00:00Z\"")));
    assert_true(str_starts(
        causes_of(f, "rbac.authorization.k8s.io/v1", "RoleBinding",
                  "{\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"a\"},\"roleRef\":{\"kind\":"
                  "\"Role\",\"name\":\"y\"}}",
                  "{\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"a\"},\"roleRef\":{\"kind\":"
                  "\"Role\",\"name\":\"x\"}}"),
        STR("roleRef: Invalid value: ")));
}

/* A Role or binding that has `entries` of what it lists. */
static const char *grown(struct buf *b, bool role, int entries) {
    buf_reset(b);
    buf_f(b, "{\"kind\":\"%s\",\"metadata\":{\"name\":\"a\"},", role ? "Role" : "RoleBinding");
    buf_c(b, role ? "\"rules\":[{\"apiGroups\":[\"\"],\"verbs\":[\"get\"],\"resources\":["
                  : "\"roleRef\":{\"kind\":\"Role\",\"name\":\"x\"},\"subjects\":[");
    for (int i = 0; i < entries; i++) {
        buf_f(b, role ? "%s\"r%d\"" : "%s{\"kind\":\"User\",\"name\":\"u%d\"}", i ? "," : "", i);
    }
    buf_c(b, role ? "]}]}" : "]}");
    return buf_cstr(b);
}

/* What was stored before there was a bound may be written, and shrink, but not grow. */
static void old_roles_and_bindings(void **state) {
    struct fixture *f = *state;
    struct buf now, old;
    buf_init(&now, 0);
    buf_init(&old, 0);
    for (int role = 0; role < 2; role++) {
        int limit = role ? LIMIT_ROLE_ENTRIES : LIMIT_BINDING_SUBJECTS;
        const char *kind = role ? "Role" : "RoleBinding";
        for (int more = -1; more < 2; more++) {
            struct str fault =
                causes_of(f, "rbac.authorization.k8s.io/v1", kind,
                          grown(&now, role, limit + 10 + more), grown(&old, role, limit + 10));
            assert_int_equal(fault.n > 0, more > 0);
            fault = causes_of(f, "rbac.authorization.k8s.io/v1", kind,
                              grown(&now, role, limit + 10 + more), NULL);
            assert_true(str_contains(fault, STR("Too many")));
        }
    }
    buf_release(&now);
    buf_release(&old);
}

#define JOB(spec_, pod_)                                                                           \
    "{\"metadata\":{\"name\":\"j\"},\"spec\":{" spec_ "\"template\":{\"spec\":{"                   \
    "\"restartPolicy\":\"Never\"," pod_ CONTAINERS("") "}}}}"

static void jobs(void **state) {
    struct fixture *f = *state;
    const char *running = JOB("\"suspend\":false,", ""), *held = JOB("\"suspend\":true,", "");
    const char *steered = JOB("\"suspend\":false,", "\"nodeSelector\":{\"gpu\":\"a\"},");
    assert_str_eq(causes_of(f, "batch/v1", "Job", running, held), STR(""));
    assert_str_eq(causes_of(f, "batch/v1", "Job", steered, held), STR(""));
    assert_true(str_starts(causes_of(f, "batch/v1", "Job", steered, running),
                           STR("spec.template.spec: Invalid value: {")));
    assert_str_eq(causes_of(f, "batch/v1", "Job", JOB("\"completions\":3,", ""),
                            JOB("\"completions\":2,", "")),
                  STR("spec.completions: Invalid value: 3: field is immutable\n"));
    assert_str_eq(
        causes_of(f, "batch/v1", "Job",
                  "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{" CONTAINERS(
                      "") "}}}}",
                  NULL),
        STR("spec.template.spec.restartPolicy: Required value: valid values: "
            "\"OnFailure\", \"Never\"\n"));
    assert_str_eq(causes_of(f, "batch/v1", "Job", JOB("\"parallelism\":-1,", ""), NULL),
                  STR("spec.parallelism: Invalid value: -1: must be greater than or equal to 0\n"));
}

#define CRON(name_, rest_, template_)                                                              \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{" rest_                                      \
    "\"jobTemplate\":{\"spec\":{" template_                                                        \
    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("") "}}}}}}"
#define EVERY_MINUTE "\"schedule\":\"* * * * *\","
#define LONG_NAME "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffx"

static void cron_jobs(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *now, *want;
    } cases[] = {
        {CRON("c", EVERY_MINUTE, ""), ""},
        {CRON("c", "\"schedule\":\"@every 1h\",\"timeZone\":\"Europe/Warsaw\",", ""), ""},
        {CRON("c", "", ""), "spec.schedule: Required value\n"},
        {CRON("c", "\"schedule\":\"* * * *\",", ""),
         "spec.schedule: Invalid value: \"* * * *\": expected exactly 5 fields, found 4: [* * * "
         "*]\n"},
        {CRON("c", "\"schedule\":\"CRON_TZ=UTC * * * * *\",", ""),
         "spec.schedule: Invalid value: \"CRON_TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in "
         "schedule, use timeZone field instead\n"},
        {CRON("c", EVERY_MINUTE "\"timeZone\":\"\",", ""),
         "spec.timeZone: Invalid value: \"\": timeZone must be nil or non-empty string\n"},
        {CRON("c", EVERY_MINUTE "\"timeZone\":\"local\",", ""),
         "spec.timeZone: Invalid value: \"local\": timeZone must be an explicit time zone as "
         "defined in https://www.iana.org/time-zones\n"},
        {CRON("c", EVERY_MINUTE "\"timeZone\":\"../UTC\",", ""),
         "spec.timeZone: Invalid value: \"../UTC\": unknown time zone ../UTC\n"},
        {CRON("c", EVERY_MINUTE "\"concurrencyPolicy\":\"Queue\",", ""),
         "spec.concurrencyPolicy: Unsupported value: \"Queue\": supported values: \"Allow\", "
         "\"Forbid\", \"Replace\"\n"},
        {CRON("c", EVERY_MINUTE "\"startingDeadlineSeconds\":-1,", ""),
         "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0\n"},
        {CRON("c", EVERY_MINUTE "\"failedJobsHistoryLimit\":-1,", ""),
         "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0\n"},
        {CRON("c", EVERY_MINUTE, "\"manualSelector\":true,\"selector\":{},"),
         "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated\n"
         "spec.jobTemplate.spec.manualSelector: Unsupported value: \"true\": supported values: "
         "\"nil\", \"false\"\n"},
        {"{\"metadata\":{\"name\":\"c\"},\"spec\":{" EVERY_MINUTE
         "\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{" CONTAINERS("") "}}}}}}",
         "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "
         "\"OnFailure\", \"Never\"\n"},
        {CRON(LONG_NAME, EVERY_MINUTE, ""),
         "metadata.name: Invalid value: \"" LONG_NAME "\": must be no more than 52 characters\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(causes_of(f, "batch/v1", "CronJob", cases[i].now, NULL),
                      str_of(cases[i].want));
    }
    /* All of it may change later, what is settled in a Job included. */
    assert_str_eq(causes_of(f, "batch/v1", "CronJob",
                            CRON("c", "\"schedule\":\"@hourly\",",
                                 "\"completionMode\":\"Indexed\",\"completions\":2,"),
                            CRON("c", EVERY_MINUTE, "")),
                  STR(""));
}

#define BUDGET(spec_) "{\"metadata\":{\"name\":\"b\"},\"spec\":{" spec_ "}}"

static void disruption_budgets(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *now, *want;
    } cases[] = {
        {BUDGET("\"minAvailable\":2,\"selector\":{}"), ""},
        {BUDGET("\"maxUnavailable\":\"100%\""), ""},
        {BUDGET("\"maxUnavailable\":1,\"minAvailable\":1"),
         "spec: Invalid value: {\"maxUnavailable\":1,\"minAvailable\":1}: minAvailable and "
         "maxUnavailable cannot be both set\n"},
        {BUDGET("\"minAvailable\":-1"),
         "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0\n"},
        {BUDGET("\"minAvailable\":\"half\""),
         "spec.minAvailable: Invalid value: \"half\": a valid percent string must be a numeric "
         "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is "
         "'[0-9]+%')\n"},
        {BUDGET("\"maxUnavailable\":\"101%\""),
         "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%\n"},
        {BUDGET("\"unhealthyPodEvictionPolicy\":\"Never\""),
         "spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": supported values: "
         "\"AlwaysAllow\", \"IfHealthyBudget\"\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(causes_of(f, "policy/v1", "PodDisruptionBudget", cases[i].now, NULL),
                      str_of(cases[i].want));
    }
}

#define SPACE(spec_) "{\"metadata\":{\"name\":\"q\"},\"spec\":{" spec_ "}}"
#define SELECTOR(rest_) "\"scopeSelector\":{\"matchExpressions\":[{" rest_ "}]}"

static void resource_quotas(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *now, *want;
    } cases[] = {
        {SPACE(
             "\"hard\":{\"pods\":\"3\",\"requests.cpu\":\"500m\",\"requests.nvidia.com/gpu\":\"1\","
             "\"count/jobs.batch\":\"2\",\"gold.storageclass.storage.k8s.io/"
             "requests.storage\":\"1Gi\"}"),
         ""},
        {SPACE("\"hard\":{\"gpus\":\"3\"}"),
         "spec.hard[gpus]: Invalid value: \"gpus\": must be a standard resource for quota\n"},
        {SPACE("\"hard\":{\"pods\":\"1500m\"}"),
         "spec.hard[pods]: Invalid value: \"1500m\": must be an integer\n"},
        {SPACE("\"hard\":{\"cpu\":\"-1\"}"),
         "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0\n"},
        {SPACE("\"scopes\":[\"Sometimes\"]"),
         "spec.scopes: Invalid value: [\"Sometimes\"]: unsupported scope\n"},
        {SPACE("\"hard\":{\"cpu\":\"1\"},\"scopes\":[\"BestEffort\"]"),
         "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource\n"},
        {SPACE("\"scopes\":[\"Terminating\",\"NotTerminating\"]"),
         "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes\n"},
        {SPACE(SELECTOR("\"scopeName\":\"PriorityClass\",\"operator\":\"In\"")),
         "spec.scopeSelector.matchExpressions[0].values: Required value: must be at least one "
         "value when `operator` is 'In' or 'NotIn' for scope selector\n"},
        {SPACE(SELECTOR(
             "\"scopeName\":\"PriorityClass\",\"operator\":\"Exists\",\"values\":[\"a\"]")),
         "spec.scopeSelector.matchExpressions[0].values: Invalid value: [\"a\"]: must be no value "
         "when `operator` is 'Exist' or 'DoesNotExist' for scope selector\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(causes_of(f, "v1", "ResourceQuota", cases[i].now, NULL),
                      str_of(cases[i].want));
    }
    assert_str_eq(
        causes_of(f, "v1", "ResourceQuota", SPACE("\"scopes\":[\"BestEffort\"]"), SPACE("")),
        STR("spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable\n"));
}

#define KUEUE "kueue.x-k8s.io/v1beta2"
#define QUEUE(rest_, quota_)                                                                       \
    "{\"metadata\":{\"name\":\"q\"},\"spec\":{" rest_ "\"resourceGroups\":[{"                      \
    "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"        \
    "\"cpu\"" quota_ "}]}]}]}}"

static void cluster_queues(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *now, *want;
    } cases[] = {
        {QUEUE("", ",\"nominalQuota\":1"), ""},
        {QUEUE("", ""), "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Required "
                        "value\n"},
        {QUEUE("", ",\"nominalQuota\":\"-1\""),
         "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: \"-1\": must "
         "be greater than or equal to 0\n"},
        {QUEUE("", ",\"nominalQuota\":1,\"borrowingLimit\":1"),
         "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: \"1\": "
         "must be nil when cohort is empty\n"},
        {QUEUE("\"cohortName\":\"x\",", ",\"nominalQuota\":1,\"lendingLimit\":2"),
         "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: \"2\": must "
         "be less than or equal to the nominalQuota\n"},
        {QUEUE("\"preemption\":{\"borrowWithinCohort\":{\"policy\":\"LowerPriority\"}},",
               ",\"nominalQuota\":1"),
         "spec.preemption: Invalid value: \"object\": reclaimWithinCohort=Never and "
         "borrowWithinCohort.Policy!=Never\n"},
        {QUEUE("\"fairSharing\":{\"weight\":\"1n\"},", ",\"nominalQuota\":1"),
         "spec.fairSharing.weight: Invalid value: \"1n\": When not 0, it must be greater than "
         "10^-9\n"},
        {QUEUE("\"stopPolicy\":\"Maybe\",", ",\"nominalQuota\":1"),
         "spec.stopPolicy: Unsupported value: \"Maybe\": supported values: \"Hold\", "
         "\"HoldAndDrain\", \"None\"\n"},
        {QUEUE("\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\",\"onFlavors\":"
               "[\"g\"]}]},",
               ",\"nominalQuota\":1"),
         "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Invalid value: \"g\": must "
         "be one of the flavors of the ClusterQueue\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(causes_of(f, KUEUE, "ClusterQueue", cases[i].now, NULL),
                      str_of(cases[i].want));
    }
}

#define WORKLOAD(spec_, sets_, status_)                                                            \
    "{\"metadata\":{\"name\":\"w\"},\"spec\":{" spec_ "\"podSets\":[{\"name\":\"main\"," sets_     \
    "\"template\":{\"spec\":{" CONTAINERS("") "}}}]},\"status\":{" status_ "}}"
#define RESERVED                                                                                   \
    "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"}],\"admission\":{"            \
    "\"clusterQueue\":\"c\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":1}]}"

#define ELASTIC(sets_)                                                                             \
    "{\"metadata\":{\"name\":\"w\",\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"true\"}},"    \
    "\"spec\":{\"podSets\":[{\"name\":\"main\"," sets_                                             \
    "\"template\":{\"spec\":{" CONTAINERS("") "}}}]},\"status\":{" RESERVED "}}"

/* Quota is held: an elastic one may give pods back, and nothing else. */
static void elastic_workloads(void **state) {
    struct fixture *f = *state;
    assert_str_eq(causes_of(f, KUEUE, "Workload", ELASTIC("\"count\":1,"), ELASTIC("\"count\":2,")),
                  STR(""));
    assert_true(str_starts(
        causes_of(f, KUEUE, "Workload", ELASTIC("\"count\":3,"), ELASTIC("\"count\":2,")),
        STR("spec.podSets: Invalid value: [")));
    assert_true(
        str_starts(causes_of(f, KUEUE, "Workload",
                             ELASTIC("\"count\":1,\"topologyRequest\":{\"required\":\"r\"},"),
                             ELASTIC("\"count\":2,")),
                   STR("spec.podSets: Invalid value: [")));
    assert_str_eq(causes_of(f, KUEUE, "Workload", ELASTIC("\"count\":2,\"minCount\":1,"), NULL),
                  STR("spec.podSets: Invalid value: \"array\": partial admission and elastic job "
                      "cannot be used together\n"));
}

#define SETS(name_, count_, done_, status_)                                                        \
    "{\"metadata\":{\"name\":\"w\",\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"" name_       \
    "\"}},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":" count_                             \
    ",\"template\":{\"spec\":{" CONTAINERS("") "}}}]},\"status\":{\"reclaimablePods\":[" done_     \
                                               "]," status_ "}}"
#define DONE(n_) "{\"name\":\"main\",\"count\":" n_ "}"
#define HELD                                                                                       \
    "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"}],\"admission\":{"            \
    "\"clusterQueue\":\"c\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":4}]}"
#define WAITS "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\"}]"

/* Pods that were given back are of a pod set, and not taken again while quota is held. */
static void reclaimable_pods(void **state) {
    static const struct {
        const char *now, *old, *want;
    } cases[] = {
        {SETS("", "4", DONE("4"), HELD), SETS("", "4", DONE("2"), HELD), ""},
        {SETS("", "4", DONE("2"), HELD), NULL, ""},
        {SETS("", "4", DONE("5"), HELD), SETS("", "4", DONE("2"), HELD),
         "status.reclaimablePods[main].count: Invalid value: 5: should be less or equal to 4\n"},
        {SETS("", "4", DONE("1"), HELD), SETS("", "4", DONE("2"), HELD),
         "status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2\n"},
        {SETS("", "4", "", HELD), SETS("", "4", DONE("2"), HELD),
         "status.reclaimablePods[main]: Required value: cannot be removed\n"},
        {SETS("", "4", "", WAITS), SETS("", "4", DONE("2"), HELD), ""}, /* it stopped */
        {SETS("", "4", DONE("1"), HELD), SETS("", "4", DONE("2"), WAITS), ""},
        {SETS("", "4", "{\"name\":\"x\",\"count\":1}", HELD), NULL,
         "status.reclaimablePods[x].name: Unsupported value: \"x\": supported values: \"main\"\n"},
        {SETS("true", "2", DONE("3"), HELD), SETS("true", "4", DONE("3"), HELD), ""}, /* smaller */
        {SETS("true", "2", DONE("1"), HELD), SETS("true", "2", DONE("3"), HELD), ""},
        {SETS("true", "4", DONE("1"), HELD), SETS("true", "4", DONE("3"), HELD),
         "status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 3\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str_eq(causes_of(*state, KUEUE, "Workload", cases[i].now, cases[i].old),
                      str_of(cases[i].want));
    }
}

static void workloads(void **state) {
    struct fixture *f = *state;
    assert_str_eq(causes_of(f, KUEUE, "Workload", "{\"metadata\":{\"name\":\"w\"}}", NULL),
                  STR("spec: Required value\n"));
    assert_str_eq(causes_of(f, KUEUE, "Workload",
                            WORKLOAD("", "",
                                     "\"schedulingStats\":{\"evictions\":[{\"reason\":"
                                     "\"Preempted\",\"underlyingCause\":\"\",\"count\":1}"
                                     "]}"),
                            NULL),
                  STR(""));
    assert_str_eq(causes_of(f, KUEUE, "Workload", WORKLOAD("", "", ""), NULL), STR(""));
    assert_str_eq(
        causes_of(f, KUEUE, "Workload", WORKLOAD("", "\"count\":2,\"minCount\":3,", ""), NULL),
        STR("spec.podSets[0]: Invalid value: \"object\": minCount should be positive and "
            "less or equal to count\n"));
    assert_str_eq(
        causes_of(f, KUEUE, "Workload", WORKLOAD("\"queueName\":\"b\",", "", RESERVED),
                  WORKLOAD("\"queueName\":\"a\",", "", RESERVED)),
        STR("spec.queueName: Invalid value: \"b\": queueName is immutable while quota reserved\n"));
    assert_true(str_starts(causes_of(f, KUEUE, "Workload", WORKLOAD("", "\"count\":2,", RESERVED),
                                     WORKLOAD("", "\"count\":1,", RESERVED)),
                           STR("spec.podSets: Invalid value: [")));
    assert_str_eq(causes_of(f, KUEUE, "Workload",
                            WORKLOAD("\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\",\"kind\":"
                                     "\"WorkloadPriorityClass\",\"name\":\"a\"},",
                                     "", ""),
                            NULL),
                  STR("spec: Invalid value: \"object\": priority should not be nil when "
                      "priorityClassRef is set\n"));
    assert_str_eq(causes_of(f, KUEUE, "LocalQueue",
                            "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"clusterQueue\":\"b\"}}",
                            "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"clusterQueue\":\"a\"}}"),
                  STR("spec.clusterQueue: Invalid value: \"b\": field is immutable\n"));
    assert_str_eq(
        causes_of(f, KUEUE, "LocalQueue", "{\"metadata\":{\"name\":\"l\"},\"spec\":{}}", NULL),
        STR(""));
    assert_true(str_starts(
        causes_of(f, KUEUE, "LocalQueue",
                  "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"clusterQueue\":\"\"}}", NULL),
        STR("spec.clusterQueue: Invalid value: \"\": a lowercase RFC 1123 subdomain must")));
}

#define NOTED_JOB(labels_, notes_, parallelism_)                                                   \
    "{\"metadata\":{\"name\":\"j\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"" labels_        \
    "},\"annotations\":{" notes_ "}},\"spec\":{\"parallelism\":" parallelism_                      \
    ",\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("") "}}}}"

static void notes(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *now, *want;
    } cases[] = {
        {NOTED_JOB("", "\"berth.dev/protected-until\":\"2026-03-01T12:00:00Z\"", "1"), ""},
        {NOTED_JOB("", "\"berth.dev/protected-until\":\"tomorrow\"", "1"),
         "metadata.annotations[berth.dev/protected-until]: Invalid value: \"tomorrow\": must be a "
         "time as in RFC 3339, like 2026-03-01T12:00:00Z\n"},
        {NOTED_JOB("", "\"berth.dev/minimum-runtime\":\"5\"", "1"),
         "metadata.annotations[berth.dev/minimum-runtime]: Invalid value: \"5\": must be a "
         "duration, like 90m or 1h30m\n"},
        {NOTED_JOB("", "\"berth.dev/expected-runtime\":\"90\"", "1"), ""},
        {NOTED_JOB("", "\"berth.dev/expected-runtime\":\"soon\"", "1"),
         "metadata.annotations[berth.dev/expected-runtime]: Invalid value: \"soon\": must be a "
         "duration, like 1h30m, or whole seconds\n"},
        {NOTED_JOB("", "\"kueue.x-k8s.io/admission-gated-by\":\"a.com/x,paid\"", "1"),
         "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "
         "\"a.com/x,paid\": must be names with a domain prefix, of at most 63 characters, joined "
         "by commas\n"},
        {NOTED_JOB(",\"kueue.x-k8s.io/max-exec-time-seconds\":\"0\"", "", "1"),
         "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"0\": should be "
         "greater than 0\n"},
        {NOTED_JOB("", "\"kueue.x-k8s.io/job-min-parallelism\":\"4\"", "4"),
         "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: \"4\": should "
         "be between 1 and 3\n"},
        {NOTED_JOB("", "\"kueue.x-k8s.io/job-min-parallelism\":\"3\"", "4"), ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str got = causes_of(f, "batch/v1", "Job", cases[i].now, NULL);
        assert_str_eq(got, str_of(cases[i].want));
    }
    const char *bad = NOTED_JOB("", "\"berth.dev/minimum-runtime\":\"5\"", "1");
    struct str got = causes_of(f, "batch/v1", "Job", bad, bad);
    assert_str_eq(got, STR("")); /* as it was */
    const char *one = "{\"metadata\":{\"name\":\"j\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
                      "\"one\"}},\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
                      "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\"}]}}}}";
    const char *two = "{\"metadata\":{\"name\":\"j\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
                      "\"two\"}},\"spec\":{\"template\":{\"spec\":{"
                      "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\"}]}}}}";
    got = causes_of(f, "batch/v1", "Job", two, one);
    assert_true(str_contains(got, STR("metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "
                                      "\"two\": field is immutable\n")));
    got = causes_of(f, "batch/v1", "Job", one, two); /* it is suspended, and may go elsewhere */
    assert_false(str_contains(got, STR("queue-name")));
    got = causes_of(f, "kueue.x-k8s.io/v1beta2", "ClusterQueue",
                    "{\"metadata\":{\"name\":\"q\",\"annotations\":{\"berth.dev/"
                    "max-protection\":\"x\"}},\"spec\":{}}",
                    NULL);
    assert_str_eq(got, STR("metadata.annotations[berth.dev/max-protection]: Invalid value: \"x\": "
                           "must be a duration, like 90m or 1h30m\n"));
}

static void gates_only_open(void **state) {
    struct fixture *f = *state;
#define GATED(gates_) NOTED_JOB("", "\"kueue.x-k8s.io/admission-gated-by\":\"" gates_ "\"", "1")
    static const struct {
        const char *was, *now, *want;
    } cases[] = {
        {GATED("a.com/x,a.com/y"), GATED("a.com/y"), ""},
        {GATED("a.com/x,a.com/y"), GATED("a.com/y,a.com/x"), ""},
        {GATED("a.com/x"), GATED(""), ""},
        {GATED("a.com/x"), NOTED_JOB("", "", "1"), ""},
        {GATED("a.com/x"), GATED("a.com/x,a.com/y"),
         "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: can only remove "
         "gates, not add new ones\n"},
        {GATED("a.com/x"), GATED("a.com/xy"),
         "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: can only remove "
         "gates, not add new ones\n"},
        {NOTED_JOB("", "", "1"), GATED("a.com/x"),
         "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: cannot add admission "
         "gate after creation\n"},
        {GATED(""), GATED("a.com/x"),
         "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: cannot add admission "
         "gate after creation\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str got = causes_of(f, "batch/v1", "Job", cases[i].now, cases[i].was);
        assert_str_eq(got, str_of(cases[i].want));
    }
    char many[512] = "a.com/x", note[1024];
    for (int i = 0; i < 64; i++) {
        memcpy(many + 7 + 4 * (size_t)i, ",a/b", 5);
    }
    snprintf(note, sizeof(note),
             "{\"metadata\":{\"name\":\"j\",\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":"
             "\"%s\"}},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS(
                 "") "}}}}",
             many);
    assert_true(
        str_contains(causes_of(f, "batch/v1", "Job", note, NULL), STR("must be at most 64 names")));
    static const char added[] =
        "{\"metadata\":{\"name\":\"w\",\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":"
        "\"a.com/x\"}},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{"
        "\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("") "}}}]}}";
    static const char plain[] =
        "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,"
        "\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," CONTAINERS("") "}}}]}}";
    assert_str_eq(causes_of(f, KUEUE, "Workload", added, NULL), STR(""));
    assert_str_eq(causes_of(f, KUEUE, "Workload", added, plain),
                  STR("metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: cannot "
                      "add admission gate after creation\n"));
}

/* A write of the status answers for the status: what else was stored is as it is. */
static void statuses(void **state) {
    struct fixture *f = *state;
    static const char now[] =
        "{\"metadata\":{\"name\":\"Not_A_Name\"},\"spec\":{\"clusterQueue\":7},"
        "\"status\":{\"pendingWorkloads\":\"x\"}}";
    const struct kind *k = kind_by_api_version(STR("kueue.x-k8s.io/v1beta2"), STR("LocalQueue"));
    yyjson_mut_doc *d = NULL;
    struct causes whole = {.arena = &f->arena}, part = {.arena = &f->arena};
    assert_ok(json_parse_mut(&f->arena, str_of(now), &d, &f->err), &f->err);
    assert_ok(codec_default_status_in(k, kind_storage(k), d, &f->err), &f->err);
    assert_int_equal(codec_validate(k, yyjson_mut_doc_get_root(d), NULL, &whole), 0);
    assert_int_equal(codec_validate_status(k, yyjson_mut_doc_get_root(d), NULL, &part), 0);
    assert_true(whole.n > 1);
    assert_int_equal(part.n, 1);
    assert_str_eq(part.v[0].field, STR("status.pendingWorkloads"));
}

static void unknown(void *ctx, struct str path) {
    (void)ctx;
    fail_msg("%.*s is not known", STR_ARG(path));
}

/* Every source that KEDA has, with each of its fields. */
static const char every_source[] =
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{"
    "\"podIdentity\":{\"provider\":\"aws\",\"identityId\":\"i\",\"identityTenantId\":\"t\","
    "\"identityAuthorityHost\":\"h\",\"roleArn\":\"r\",\"externalID\":\"e\",\"identityOwner\":"
    "\"keda\"},"
    "\"secretTargetRef\":[{\"parameter\":\"p\",\"name\":\"n\",\"key\":\"k\"}],"
    "\"configMapTargetRef\":[{\"parameter\":\"p\",\"name\":\"n\",\"key\":\"k\"}],"
    "\"env\":[{\"parameter\":\"p\",\"name\":\"n\",\"containerName\":\"c\"}],\"filePath\":\"/f\","
    "\"hashiCorpVault\":{\"address\":\"a\",\"authentication\":\"token\",\"namespace\":\"n\","
    "\"role\":\"r\",\"mount\":\"m\",\"credential\":{\"token\":\"t\",\"serviceAccount\":\"s\","
    "\"serviceAccountName\":\"s\"},\"secrets\":[{\"parameter\":\"p\",\"path\":\"p\",\"key\":\"k\","
    "\"type\":\"pki\",\"pkiData\":{\"commonName\":\"c\",\"altNames\":\"a\",\"ipSans\":\"i\","
    "\"uriSans\":\"u\",\"otherSans\":\"o\",\"ttl\":\"t\",\"format\":\"f\"}}]},"
    "\"azureKeyVault\":{\"vaultUri\":\"v\",\"podIdentity\":{\"provider\":\"none\"},"
    "\"secrets\":[{\"parameter\":\"p\",\"name\":\"n\",\"version\":\"v\"}],"
    "\"credentials\":{\"clientId\":\"c\",\"tenantId\":\"t\",\"clientSecret\":{\"valueFrom\":"
    "{\"secretKeyRef\":{\"name\":\"n\",\"key\":\"k\"}}}},\"cloud\":{\"type\":\"Private\","
    "\"keyVaultResourceURL\":\"k\",\"activeDirectoryEndpoint\":\"a\"}},"
    "\"gcpSecretManager\":{\"secrets\":[{\"parameter\":\"p\",\"id\":\"i\",\"version\":\"v\"}],"
    "\"podIdentity\":{\"provider\":\"gcp\"},\"credentials\":{\"clientSecret\":{\"valueFrom\":"
    "{\"secretKeyRef\":{\"name\":\"n\",\"key\":\"k\"}}}}},"
    "\"awsSecretManager\":{\"region\":\"r\",\"podIdentity\":{\"provider\":\"aws-eks\"},"
    "\"secrets\":[{\"parameter\":\"p\",\"name\":\"n\",\"versionId\":\"v\",\"versionStage\":\"v\","
    "\"secretKey\":\"k\"}],\"credentials\":{"
    "\"accessKey\":{\"valueFrom\":{\"secretKeyRef\":{\"name\":\"n\",\"key\":\"k\"}}},"
    "\"accessSecretKey\":{\"valueFrom\":{\"secretKeyRef\":{\"name\":\"n\",\"key\":\"k\"}}},"
    "\"accessToken\":{\"valueFrom\":{\"secretKeyRef\":{\"name\":\"n\",\"key\":\"k\"}}}}},"
    "\"boundServiceAccountToken\":[{\"parameter\":\"p\",\"serviceAccountName\":\"s\"}],"
    "\"oauth2\":{\"clientId\":\"c\",\"tokenUrl\":\"https://t\",\"scopes\":[\"s\"],"
    "\"tokenUrlParams\":{\"a\":\"b\"},\"clientSecret\":{\"valueFrom\":{\"secretKeyRef\":"
    "{\"name\":\"n\",\"key\":\"k\"}}}}}}";

static void trigger_authentications(void **state) {
    struct fixture *f = *state;
    static const char KEDA[] = "keda.sh/v1alpha1";
    static const char *const kinds[] = {"TriggerAuthentication", "ClusterTriggerAuthentication"};
    for (size_t i = 0; i < 2; i++) {
        const struct kind *k = kind_by_api_version(str_of(KEDA), str_of(kinds[i]));
        yyjson_mut_doc *d = NULL;
        assert_str_eq(causes_of(f, KEDA, kinds[i], every_source, NULL), STR(""));
        assert_ok(json_parse_mut(&f->arena, str_of(every_source), &d, &f->err), &f->err);
        assert_int_equal(
            codec_prune(kind_storage(k)->schema, d, yyjson_mut_doc_get_root(d), unknown, NULL), 0);
        assert_non_null(k->notice); /* nothing acts on one yet, and who writes one is told so */
    }
#define REFUSED(spec_, want_)                                                                      \
    assert_str_eq(                                                                                 \
        causes_of(f, KEDA, kinds[0], "{\"metadata\":{\"name\":\"a\"},\"spec\":" spec_ "}", NULL),  \
        STR(want_))
    REFUSED("{\"secretTargetRef\":[{\"name\":\"n\"}]}",
            "spec.secretTargetRef[0].parameter: Required value\n"
            "spec.secretTargetRef[0].key: Required value\n");
    REFUSED("{\"podIdentity\":{\"provider\":\"berth\"}}",
            "spec.podIdentity.provider: Unsupported value: \"berth\": supported values: "
            "\"azure-workload\", \"gcp\", \"aws\", \"aws-eks\", \"none\"\n");
    REFUSED("{\"podIdentity\":{\"provider\":\"azure-workload\",\"identityAuthorityHost\":\"h\"}}",
            "spec.podIdentity: Forbidden: identityAuthorityHost needs identityTenantId\n");
    REFUSED(
        "{\"podIdentity\":{\"provider\":\"aws\",\"roleArn\":\"r\",\"identityOwner\":\"workload\"}}",
        "spec.podIdentity: Forbidden: roleArn needs identityOwner keda\n");
    REFUSED("{\"podIdentity\":{\"provider\":\"aws\",\"externalID\":\"e\"}}",
            "spec.podIdentity: Forbidden: externalID needs roleArn\n");
    REFUSED("{\"awsSecretManager\":{\"secrets\":[]}}",
            "spec.awsSecretManager.secrets: Invalid value: []: spec.awsSecretManager.secrets in "
            "body should have "
            "at least 1 items\n");
    REFUSED(
        "{\"oauth2\":{\"clientId\":\"c\",\"tokenUrl\":\"ftp://t\"}}",
        "spec.oauth2.tokenUrl: Invalid value: \"ftp://t\": must be a valid http or https URL\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pods, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_hardly_change, setup, teardown),
        cmocka_unit_test_setup_teardown(metadata, setup, teardown),
        cmocka_unit_test_setup_teardown(small_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(old_roles_and_bindings, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(cron_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(disruption_budgets, setup, teardown),
        cmocka_unit_test_setup_teardown(resource_quotas, setup, teardown),
        cmocka_unit_test_setup_teardown(cluster_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(workloads, setup, teardown),
        cmocka_unit_test_setup_teardown(elastic_workloads, setup, teardown),
        cmocka_unit_test_setup_teardown(reclaimable_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(notes, setup, teardown),
        cmocka_unit_test_setup_teardown(gates_only_open, setup, teardown),
        cmocka_unit_test_setup_teardown(statuses, setup, teardown),
        cmocka_unit_test_setup_teardown(trigger_authentications, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

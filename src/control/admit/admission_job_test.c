/* Tests of admission_job: what becomes of new jobs of each kind, and what is refused. */
#include "api/kinds/kinds_foreign.h"
#include "base/test.h"
#include "control/admit/admission.h"
#include "control/test/fake_world.h"

struct fixture {
    struct fake_world world;
    struct admission *admission;
    struct arena arena;
    struct admission_ask ask;
};

static void setup(struct fixture *f) {
    size_t n;
    struct err err = {0};
    const struct kind *rows = kinds_foreign(&n);
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < n; i++) {
        (void)kinds_add(&rows[i], &err);
    }
    fake_world_init(&f->world);
    arena_init(&f->arena, 16 << 20);
    f->admission = admission_new(&(struct admission_options){.mirror = f->world.mirror});
    assert_non_null(f->admission);
}

static void teardown(struct fixture *f) {
    admission_free(f->admission);
    arena_release(&f->arena);
    fake_world_release(&f->world);
}

/* Asks about a new object, or a changed one (old: NULL, or JSON): the code of validate. */
static int judge(struct fixture *f, const char *group, const char *kind, const char *json,
                 const char *old) {
    yyjson_mut_doc *doc;
    yyjson_doc *was = NULL;
    struct err err = {0};
    assert_int_equal(json_parse_mut(&f->arena, str_of(json), &doc, &err), 0);
    if (old) {
        assert_int_equal(json_parse(&f->arena, str_of(old), &was, &err), 0);
    }
    f->ask = (struct admission_ask){.op = old ? ADMISSION_UPDATE : ADMISSION_CREATE,
                                    .kind = kind_by_name(str_of(group), str_of(kind)),
                                    .ns = STR("default"),
                                    .name = STR("x"),
                                    .doc = doc,
                                    .obj = yyjson_mut_doc_get_root(doc),
                                    .old = yyjson_doc_get_root(was),
                                    .arena = &f->arena,
                                    .causes = {.arena = &f->arena}};
    assert_non_null(f->ask.kind);
    assert_int_equal(f->admission->mutate(f->admission, &f->ask, &err), 0);
    return f->admission->validate(f->admission, &f->ask, &err);
}

static void ask(struct fixture *f, const char *group, const char *kind, const char *json,
                const char *old) {
    assert_int_equal(judge(f, group, kind, json, old), 0);
}

/* "field: text" of the only cause; "" when there is none. */
static const char *cause(struct fixture *f) {
    static char text[512];
    text[0] = 0;
    assert_true(f->ask.causes.n <= 1);
    if (f->ask.causes.n == 1) {
        (void)snprintf(text, sizeof text, "%.*s: %.*s", STR_ARG(f->ask.causes.v[0].field),
                       STR_ARG(f->ask.causes.v[0].text));
    }
    return text;
}

#define META "\"metadata\":{\"name\":\"x\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}}"
#define NOTED(key_, value_)                                                                        \
    "\"metadata\":{\"name\":\"x\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"},"               \
    "\"annotations\":{\"" key_ "\":\"" value_ "\"}}"
#define LABELLED(key_, value_)                                                                     \
    "\"metadata\":{\"name\":\"x\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\",\"" key_         \
    "\":\"" value_ "\"}}"

static void each_kind_starts_suspended(void **state) {
    static const char *const kinds[][3] = {
        {"batch", "Job", "spec.suspend"},
        {"jobset.x-k8s.io", "JobSet", "spec.suspend"},
        {"kubeflow.org", "PyTorchJob", "spec.runPolicy.suspend"},
        {"kubeflow.org", "TFJob", "spec.runPolicy.suspend"},
        {"kubeflow.org", "XGBoostJob", "spec.runPolicy.suspend"},
        {"kubeflow.org", "PaddleJob", "spec.runPolicy.suspend"},
        {"kubeflow.org", "JAXJob", "spec.runPolicy.suspend"},
        {"kubeflow.org", "MPIJob", "spec.runPolicy.suspend"},
        {"trainer.kubeflow.org", "TrainJob", "spec.suspend"},
        {"ray.io", "RayCluster", "spec.suspend"},
        {"ray.io", "RayService", "spec.rayClusterConfig.suspend"},
        {"workload.codeflare.dev", "AppWrapper", "spec.suspend"},
    };
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ask(&f, kinds[i][0], kinds[i][1], "{" META ",\"spec\":{}}", NULL);
        assert_true(yyjson_mut_is_true(json_mpath(f.ask.obj, kinds[i][2])));
        assert_string_equal(cause(&f), "");
        ask(&f, kinds[i][0], kinds[i][1], "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}", NULL);
        assert_null(json_mpath(f.ask.obj, kinds[i][2]));
    }
    teardown(&f);
}

#define PLACED "{%s,\"spec\":{\"%s\":{%s\"spec\":{\"nodeName\":\"n\",\"containers\":[]}%s}}}"

/* Pods of a queue get their place from the scheduler, whoever writes the template. */
static void templates_of_a_queue_name_no_place(void **state) {
    static const char *const kinds[][3] = {
        {"batch", "Job", "template"},
        {"kubeflow.org", "PyTorchJob", "pytorchReplicaSpecs"},
        {"ray.io", "RayCluster", "headGroupSpec"},
    };
    struct fixture f;
    char json[512], field[128];
    setup(&f);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = i == 0 ? "" : ".template";
        const char *open = i == 0 ? "" : "\"template\":{", *close = i == 0 ? "" : "}";
        (void)snprintf(json, sizeof json, PLACED, META, kinds[i][2], open, close);
        (void)snprintf(field, sizeof field, "spec.%s%s.spec.nodeName: Forbidden: ", kinds[i][2],
                       at);
        ask(&f, kinds[i][0], kinds[i][1], json, NULL);
        assert_memory_equal(cause(&f), field, strlen(field));
        ask(&f, kinds[i][0], kinds[i][1], json, json); /* it was there before */
        assert_string_equal(cause(&f), "");
        (void)snprintf(json, sizeof json, PLACED, "\"metadata\":{\"name\":\"x\"}", kinds[i][2],
                       open, close);
        ask(&f, kinds[i][0], kinds[i][1], json, NULL); /* it is in no queue */
        assert_string_equal(cause(&f), "");
    }
    ask(&f, "batch", "Job",
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
        "\"berth.dev/devices\":\"[]\"}}}}}",
        NULL);
    assert_string_equal(cause(&f), "spec.template.metadata.annotations[berth.dev/devices]: "
                                   "Forbidden: it is written by the scheduler alone");
    teardown(&f);
}

/* A long name over many of them is refused as too large, not written out for each. */
static void templates_of_many_places_are_too_large(void **state) {
    static char name[64 << 10];
    struct fixture f;
    struct buf json;
    setup(&f);
    memset(name, 'x', sizeof name - 1);
    buf_init(&json, 0);
    buf_f(&json, "{" META ",\"spec\":{\"%s\":[", name);
    for (size_t i = 0; i < 1000; i++) {
        buf_c(&json, i ? ",{\"containers\":[],\"nodeName\":\"a\"}"
                       : "{\"containers\":[],\"nodeName\":\"a\"}");
    }
    buf_c(&json, "]}}");
    assert_int_equal(judge(&f, "ray.io", "RayCluster", buf_cstr(&json), NULL), ERR_TOO_LARGE);
    assert_string_equal(cause(&f), "");
    buf_release(&json);
    teardown(&f);
}

/* What an ancestor is queued for is not held back on its own. */
static void children_are_left_alone(void **state) {
    struct fixture f;
    char json[1024];
    setup(&f);
    const struct object *o = fake_world_put(
        &f.world, "{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"metadata\":"
                  "{\"name\":\"s\",\"namespace\":\"default\",\"labels\":"
                  "{\"kueue.x-k8s.io/queue-name\":\"q\"}},\"spec\":{}}");
    (void)snprintf(json, sizeof json,
                   "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[{\"apiVersion\":"
                   "\"jobset.x-k8s.io/v1alpha2\",\"kind\":\"JobSet\",\"name\":\"s\",\"uid\":"
                   "\"%.*s\",\"controller\":true}],\"labels\":{\"kueue.x-k8s.io/queue-name\":"
                   "\"q\"}},\"spec\":{\"suspend\":false}}",
                   STR_ARG(o->uid));
    ask(&f, "batch", "Job", json, NULL);
    assert_true(yyjson_mut_is_false(json_mpath(f.ask.obj, "spec.suspend")));
    teardown(&f);
}

static void kinds_are_prepared(void **state) {
    struct fixture f;
    setup(&f);
    ask(&f, "kubeflow.org", "MPIJob",
        "{" META ",\"spec\":{\"runLauncherAsWorker\":true,\"mpiReplicaSpecs\":{\"Launcher\":"
        "{\"template\":{}},\"Worker\":{\"template\":{}}}}}",
        NULL);
    yyjson_mut_val *notes =
        json_mpath(f.ask.obj, "spec.mpiReplicaSpecs.Worker.template.metadata.annotations");
    assert_str_eq(json_mstr(json_mget(notes, STR("kueue.x-k8s.io/pod-index-offset"))), STR("1"));
    ask(&f, "trainer.kubeflow.org", "TrainJob", "{" META ",\"spec\":{}}", NULL);
    yyjson_mut_val *list = json_mpath(f.ask.obj, "spec.runtimePatches");
    assert_int_equal(yyjson_mut_arr_size(list), 1);
    assert_str_eq(json_mstr(json_mget(yyjson_mut_arr_get_first(list), STR("manager"))),
                  STR("kueue.x-k8s.io/manager"));
    teardown(&f);
}

static const struct {
    const char *group, *kind, *json, *old, *cause;
} cases[] = {
    {"ray.io", "RayJob",
     "{" META ",\"spec\":{\"shutdownAfterJobFinishes\":true,"
     "\"rayClusterSpec\":{\"headGroupSpec\":{}}}}",
     NULL, ""},
    {"ray.io", "RayJob", "{" META ",\"spec\":{\"rayClusterSpec\":{\"headGroupSpec\":{}}}}", NULL,
     "spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete "
     "the cluster after finishing"},
    {"ray.io", "RayJob", "{" META ",\"spec\":{}}", NULL,
     "spec.rayClusterSpec: Required value: rayClusterSpec is required for Kueue-managed jobs "
     "that don't use clusterSelector"},
    {"ray.io", "RayJob",
     "{" META ",\"spec\":{\"clusterSelector\":{\"a\":\"b\"},"
     "\"rayClusterSpec\":{}}}",
     NULL,
     "spec.clusterSelector: Invalid value: a kueue managed job should not use an existing "
     "cluster"},
    {"ray.io", "RayCluster",
     "{" META ",\"spec\":{\"workerGroupSpecs\":[{\"groupName\":\"a\"},"
     "{\"groupName\":\"head\"}]}}",
     NULL,
     "spec.workerGroupSpecs[1].groupName: Forbidden: \"head\" is reserved for the head group"},
    {"ray.io", "RayService",
     "{" META ",\"spec\":{\"rayClusterConfig\":"
     "{\"enableInTreeAutoscaling\":true}}}",
     NULL,
     "spec.rayClusterConfig.enableInTreeAutoscaling: Invalid value: true: a kueue managed job "
     "should only use autoscaling when workload slicing is enabled"},
    {"batch", "Job",
     "{" NOTED("kueue.x-k8s.io/job-min-parallelism", "3") ",\"spec\":{\"parallelism\":3}}", NULL,
     "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: 3: should be "
     "between 0 and 2"},
    {"batch", "Job",
     "{" NOTED("kueue.x-k8s.io/job-min-parallelism", "2") ",\"spec\":{\"parallelism\":3}}", NULL,
     ""},
    {"batch", "Job",
     "{" NOTED("kueue.x-k8s.io/job-completions-equal-parallelism",
               "true") ",\"spec\":{\"parallelism\":3,\"completions\":3}}",
     NULL,
     "metadata.annotations[kueue.x-k8s.io/job-completions-equal-parallelism]: Invalid value: "
     "\"true\": should not be enabled for NonIndexed jobs"},
    {"batch", "Job", "{" LABELLED("kueue.x-k8s.io/max-exec-time-seconds", "0") ",\"spec\":{}}",
     NULL,
     "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"0\": should be "
     "greater than 0"},
    /* changes */
    {"batch", "Job", "{" META ",\"spec\":{\"suspend\":false}}",
     "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"p\"}},\"spec\":{}}",
     "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"q\": field is immutable"},
    {"batch", "Job", "{" META ",\"spec\":{\"suspend\":true}}",
     "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"p\"}},\"spec\":{\"suspend\":"
     "true}}",
     ""},
    {"batch", "Job", "{" META ",\"spec\":{\"suspend\":true}}",
     "{" LABELLED("kueue.x-k8s.io/priority-class", "c") ",\"spec\":{\"suspend\":true}}",
     "metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: \"\": "
     "WorkloadPriorityClass cannot be removed from a workload"},
    {"jobset.x-k8s.io", "JobSet",
     "{" LABELLED("kueue.x-k8s.io/priority-class", "c") ",\"spec\":{}}", "{" META ",\"spec\":{}}",
     "metadata.labels[kueue.x-k8s.io/priority-class]: Invalid value: \"c\": "
     "WorkloadPriorityClass cannot be added to a non-suspended workload"},
    {"batch", "Job",
     "{" NOTED("kueue.x-k8s.io/job-min-parallelism", "2") ",\"spec\":{\"parallelism\":4}}",
     "{" NOTED("kueue.x-k8s.io/job-min-parallelism", "2") ",\"spec\":{\"parallelism\":3}}",
     "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job "
     "is not suspended"},
    {"batch", "Job", "{" NOTED("kueue.x-k8s.io/admission-gated-by", "a.b/c") ",\"spec\":{}}",
     "{" META ",\"spec\":{}}",
     "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: \"a.b/c\": gates "
     "may be removed, not added"},
};

static void what_cannot_be_queued_is_refused(void **state) {
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ask(&f, cases[i].group, cases[i].kind, cases[i].json, cases[i].old);
        assert_string_equal(cause(&f), cases[i].cause);
    }
    teardown(&f);
}

#define ELASTIC NOTED("kueue.x-k8s.io/elastic-job", "true")

/* Which Jobs may change their size: their pods are made behind a gate, and what they cannot be as well is refused. */
static void elastic_jobs(void **state) {
    static const struct {
        const char *group, *kind, *json, *old, *cause;
    } asks[] = {
        {"batch", "Job", "{" ELASTIC ",\"spec\":{}}", NULL, ""},
        {"jobset.x-k8s.io", "JobSet", "{" ELASTIC ",\"spec\":{}}", NULL,
         "metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not "
         "supported for \"jobset.x-k8s.io/v1alpha2, Kind=JobSet\""},
        {"batch", "Job", "{" ELASTIC ",\"spec\":{\"suspend\":true}}",
         "{" META ",\"spec\":{\"suspend\":true}}",
         "metadata.annotations[kueue.x-k8s.io/elastic-job]: Invalid value: true: field is "
         "immutable"},
        {"batch", "Job", "{" META ",\"spec\":{\"suspend\":true}}",
         "{" ELASTIC ",\"spec\":{\"suspend\":true}}",
         "metadata.annotations[kueue.x-k8s.io/elastic-job]: Invalid value: false: field is "
         "immutable"},
        {"batch", "Job",
         "{\"metadata\":{\"name\":\"j\",\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"true\","
         "\"kueue.x-k8s.io/job-min-parallelism\":\"2\"}},\"spec\":{\"parallelism\":3}}",
         NULL,
         "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: \"2\": partial "
         "admission and elastic job cannot be used together"},
        {"batch", "Job",
         "{" ELASTIC ",\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
         "\"kueue.x-k8s.io/podset-required-topology\":\"rack\"}}}}}",
         NULL,
         "spec.template.metadata.annotations.kueue.x-k8s.io/podset-required-topology: Forbidden: "
         "required topology is not supported with elastic jobs"},
    };
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        ask(&f, asks[i].group, asks[i].kind, asks[i].json, asks[i].old);
        assert_string_equal(cause(&f), asks[i].cause);
    }
    ask(&f, "batch", "Job", "{" ELASTIC ",\"spec\":{}}", NULL);
    assert_non_null(json_mfind(json_mpath(f.ask.obj, "spec.template.spec.schedulingGates"), "name",
                               STR("kueue.x-k8s.io/elastic-job")));
    ask(&f, "batch", "Job", "{" META ",\"spec\":{}}", NULL);
    assert_null(json_mpath(f.ask.obj, "spec.template.spec.schedulingGates"));
    static const char held[] =
        "{\"metadata\":{\"name\":\"j\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"},"
        "\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"true\"}},\"spec\":{\"suspend\":true}}";
    ask(&f, "batch", "Job", held, "{" ELASTIC ",\"spec\":{\"suspend\":true}}");
    assert_non_null(json_mfind(json_mpath(f.ask.obj, "spec.template.spec.schedulingGates"), "name",
                               STR("kueue.x-k8s.io/elastic-job")));
    ask(&f, "batch", "Job", held,
        "{" ELASTIC ",\"spec\":{\"suspend\":true},\"status\":{\"startTime\":"
        "\"2026-01-01T00:00:00Z\"}}");
    assert_null(json_mpath(f.ask.obj, "spec.template.spec.schedulingGates"));
    ask(&f, "ray.io", "RayJob", "{" ELASTIC ",\"spec\":{}}", NULL);
    assert_int_equal(f.ask.n_warnings, 1);
    teardown(&f);
}

static void topologies_are_warned_of(void **state) {
    struct fixture f;
    setup(&f);
    ask(&f, "batch", "Job",
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
        "\"kueue.x-k8s.io/podset-required-topology\":\"rack\"}}}}}",
        NULL);
    assert_int_equal(f.ask.n_warnings, 1);
    assert_str_eq(f.ask.warnings[0],
                  STR("kueue.x-k8s.io/podset-required-topology: topologies are not "
                      "looked at; its pods may be anywhere"));
    ask(&f, "jobset.x-k8s.io", "JobSet",
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"replicatedJobs\":[{\"name\":\"a\"},{"
        "\"template\":{"
        "\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
        "\"kueue.x-k8s.io/podset-preferred-topology\":\"rack\"}}}}}}]}}",
        NULL);
    assert_int_equal(f.ask.n_warnings, 1);
    ask(&f, "batch", "Job", "{\"metadata\":{\"name\":\"j\"},\"spec\":{}}", NULL);
    assert_int_equal(f.ask.n_warnings, 0);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_starts_suspended),
        cmocka_unit_test(templates_of_a_queue_name_no_place),
        cmocka_unit_test(templates_of_many_places_are_too_large),
        cmocka_unit_test(children_are_left_alone),
        cmocka_unit_test(kinds_are_prepared),
        cmocka_unit_test(what_cannot_be_queued_is_refused),
        cmocka_unit_test(elastic_jobs),
        cmocka_unit_test(topologies_are_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of policy_protect and policy_priority: what users may not write in pods, in whatever describes pods, and in
 * Workloads; and what a controller may make of a template. */
#include "api/kinds/kinds_foreign.h"
#include "server/auth/policy_fixture.h"
#include "server/auth/policy_protect.h"

struct world {
    struct mirror *m;
    struct rbac *b;
    struct arena a;
};

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    size_t n;
    const struct kind *rows = kinds_foreign(&n);
    for (size_t i = 0; i < n; i++) {
        (void)kinds_add(&rows[i], &err);
    }
    w.m = fixture_mirror();
    assert_ok(rbac_new(w.m, &w.b, &err), &err);
    arena_init(&w.a, 64 << 20);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    rbac_free(w->b);
    mirror_free(w->m);
    arena_release(&w->a);
    return 0;
}

static struct api_request request_of(const char *group, const char *kind, struct user u) {
    const struct kind *k = kind_by_name(str_of(group), str_of(kind));
    assert_non_null(k);
    return (struct api_request){.resource = true,
                                .group = str_of(group),
                                .plural = str_of(k->plural),
                                .user = u,
                                .ns = STR("team"),
                                .kind = k};
}

static yyjson_mut_val *parse(struct world *w, const char *json) {
    yyjson_mut_doc *d;
    struct err err = {0};
    assert_ok(json_parse_mut(&w->a, str_of(json), &d, &err), &err);
    return d->root;
}

static char told[sizeof(((struct err *)0)->text)];

/* The code of a write by a user; old: NULL, or what is stored. The text goes to told. */
static int by(struct world *w, struct user u, const char *group, const char *kind, const char *json,
              const char *old) {
    struct api_request q = request_of(group, kind, u);
    struct object *stored = NULL;
    struct err err = {0};
    if (old) {
        assert_ok(object_new_mut(q.kind, parse(w, old), &stored, &err), &err);
    }
    int r = policy_protect(w->b, w->m, &q, parse(w, json), stored, &w->a, &err);
    (void)snprintf(told, sizeof(told), "%s", r ? err.text : "");
    object_unref(stored);
    return r;
}

static int tenant(struct world *w, const char *group, const char *kind, const char *json,
                  const char *old) {
    return by(w, fixture_user("bob", NULL, NULL), group, kind, json, old);
}

static int root(struct world *w, const char *group, const char *kind, const char *json,
                const char *old) {
    return by(w, fixture_user("root", "system:masters", NULL), group, kind, json, old);
}

#define TOLD(part) assert_non_null(strstr(told, part))
#define NAMED(more) "\"metadata\":{\"name\":\"x\",\"namespace\":\"team\",\"uid\":\"u\"" more "}"
#define QUEUED NAMED(",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}")
#define GPU "{\"limits\":{\"nvidia.com/gpu\":\"1\"}}"

/* ---- places in templates ---- */

static void test_templates_name_no_place(void **state) {
    static const char *const parts[] = {
        "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{}]}}",
        "{\"metadata\":{\"annotations\":{\"berth.dev/"
        "devices\":\"[]\"}},\"spec\":{\"containers\":[]}}",
        "{\"metadata\":{\"annotations\":{\"berth.dev/"
        "placement\":\"[]\"}},\"spec\":{\"containers\":[]}}",
    };
    static const char *const kinds[][3] = {
        {"batch", "Job", "{" QUEUED ",\"spec\":{\"suspend\":true,\"template\":%s}}"},
        {"kueue.x-k8s.io", "Workload", "{" QUEUED ",\"spec\":{\"podSets\":[{\"template\":%s}]}}"},
        {"kubeflow.org", "PyTorchJob",
         "{" QUEUED ",\"spec\":{\"pytorchReplicaSpecs\":{\"Worker\":{\"template\":%s}}}}"},
        {"ray.io", "RayCluster", "{" QUEUED ",\"spec\":{\"headGroupSpec\":{\"template\":%s}}}"},
        {"trainer.kubeflow.org", "TrainJob",
         "{" QUEUED ",\"spec\":{\"podTemplateOverrides\":[%s]}}"},
        {"workload.codeflare.dev", "AppWrapper",
         "{" QUEUED ",\"spec\":{\"components\":[{\"template\":{\"spec\":{\"template\":%s}}}]}}"},
        {"apps", "Deployment", "{" QUEUED ",\"spec\":{\"template\":%s}}"},
        {"apps", "ReplicaSet", "{" QUEUED ",\"spec\":{\"template\":%s}}"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *pattern = kinds[i][2], *hole = strstr(pattern, "%s");
        char json[1024], plain[1024];
        snprintf(plain, sizeof(plain), "%.*s%s%s", (int)(hole - pattern), pattern,
                 "{\"spec\":{\"containers\":[{}]}}", hole + 2);
        assert_int_equal(tenant(w, kinds[i][0], kinds[i][1], plain, NULL), 0);
        for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
            snprintf(json, sizeof(json), "%.*s%s%s", (int)(hole - pattern), pattern, parts[k],
                     hole + 2);
            if (tenant(w, kinds[i][0], kinds[i][1], json, NULL) != ERR_FORBIDDEN ||
                tenant(w, kinds[i][0], kinds[i][1], json, plain) != ERR_FORBIDDEN) {
                fail_msg("%s", json);
            }
            TOLD(k == 0 ? "nodeName is written by the scheduler" : "annotations[berth.dev/");
            /* What is there may stay, and whoever may bind pods may say so. */
            assert_int_equal(tenant(w, kinds[i][0], kinds[i][1], json, json), 0);
            assert_int_equal(root(w, kinds[i][0], kinds[i][1], json, NULL), 0);
        }
    }
}

static void test_a_place_that_was_there_is_not_moved(void **state) {
    struct world *w = *state;
    const char *one =
        "{" NAMED("") ",\"spec\":{\"template\":{\"spec\":{\"nodeName\":\"a\",\"containers\":[]}}}}";
    const char *two =
        "{" NAMED("") ",\"spec\":{\"template\":{\"spec\":{\"nodeName\":\"b\",\"containers\":[]}}}}";
    const char *none = "{" NAMED("") ",\"spec\":{\"template\":{\"spec\":{\"containers\":[]}}}}";
    assert_int_equal(tenant(w, "batch", "Job", two, one), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "batch", "Job", none, one), 0);
}

/* ---- GPUs past the queue ---- */

static void test_gpus_anywhere_need_a_queue(void **state) {
    static const char *const specs[] = {
        "\"containers\":[{\"resources\":" GPU "}]",
        "\"containers\":[],\"initContainers\":[{\"resources\":" GPU "}]",
        "\"containers\":[],\"ephemeralContainers\":[{\"resources\":" GPU "}]",
        "\"containers\":[],\"resources\":" GPU,
        "\"containers\":[],\"resources\":{\"requests\":{\"nvidia.com/mig-1g.18gb\":\"1\"}}",
        "\"containers\":[],\"overhead\":{\"nvidia.com/gpu\":\"1\"}",
        "\"containers\":[],\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"g\"}]",
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        char pod[512], job[512];
        snprintf(pod, sizeof(pod), "{" QUEUED ",\"spec\":{%s}}", specs[i]);
        snprintf(job, sizeof(job),
                 "{" NAMED("") ",\"spec\":{\"suspend\":true,\"template\":{\"spec\":{%s}}}}",
                 specs[i]);
        if (tenant(w, "", "Pod", pod, NULL) != ERR_FORBIDDEN ||
            tenant(w, "batch", "Job", job, NULL) != ERR_FORBIDDEN) {
            fail_msg("%s", specs[i]);
        }
        TOLD("GPUs are given through a queue");
        assert_int_equal(root(w, "", "Pod", pod, NULL), 0);
        assert_int_equal(tenant(w, "", "Pod", pod, "{" QUEUED ",\"spec\":{\"containers\":[]}}"),
                         ERR_FORBIDDEN);
    }
}

#define JOB(head, spec)                                                                            \
    "{" head ",\"spec\":{" spec "\"template\":{\"spec\":{\"containers\":[{\"resources\":" GPU      \
    "}]}}}}"

/* The queue starts it, and nobody else. */
static void test_a_gpu_job_waits_for_its_queue(void **state) {
    struct world *w = *state;
    const char *held = JOB(QUEUED, "\"suspend\":true,"), *going = JOB(QUEUED, "\"suspend\":false,");
    assert_int_equal(tenant(w, "batch", "Job", held, NULL), 0);
    assert_int_equal(tenant(w, "batch", "Job", going, NULL), ERR_FORBIDDEN);
    TOLD("Jobs of this namespace are not queued");
    assert_int_equal(tenant(w, "batch", "Job", going, held), ERR_FORBIDDEN);
    TOLD("spec.suspend");
    assert_int_equal(tenant(w, "batch", "Job", going, going), 0);
    assert_int_equal(tenant(w, "batch", "Job", held, going), 0);
    assert_int_equal(tenant(w, "batch", "Job", JOB(NAMED(""), "\"suspend\":true,"), held),
                     ERR_FORBIDDEN);
    assert_int_equal(root(w, "batch", "Job", going, held), 0);
}

#define LASTING(head, labels)                                                                      \
    "{" head ",\"spec\":{\"template\":{\"metadata\":{\"labels\":{" labels                          \
    "}},\"spec\":{\"containers\":[{\"resources\":" GPU "}]}}}}"
#define IN_QUEUE "\"kueue.x-k8s.io/queue-name\":\"q\""

/* Its pods wait one by one, by the label that admission gives to the template. */
static void test_what_lasts_gets_gpus_through_a_queue(void **state) {
    static const char *const kinds[] = {"Deployment", "ReplicaSet"};
    struct world *w = *state;
    for (size_t i = 0; i < 2; i++) {
        const char *queued = LASTING(QUEUED, IN_QUEUE), *bare = LASTING(NAMED(""), "");
        assert_int_equal(tenant(w, "apps", kinds[i], queued, NULL), 0);
        assert_int_equal(tenant(w, "apps", kinds[i], bare, NULL), ERR_FORBIDDEN);
        TOLD("GPUs are given through a queue");
        assert_int_equal(tenant(w, "apps", kinds[i], LASTING(QUEUED, ""), NULL), ERR_FORBIDDEN);
        assert_int_equal(tenant(w, "apps", kinds[i],
                                LASTING(QUEUED, "\"kueue.x-k8s.io/queue-name\":\"\""), NULL),
                         ERR_FORBIDDEN);
        /* neither is the queue taken off later, nor is one without a queue made larger by others */
        assert_int_equal(tenant(w, "apps", kinds[i], bare, queued), ERR_FORBIDDEN);
        assert_int_equal(tenant(w, "apps", kinds[i], bare, bare), ERR_FORBIDDEN);
        assert_int_equal(root(w, "apps", kinds[i], bare, NULL), 0);
    }
}

/* ---- ties ---- */

#define OWNED(kind, uid)                                                                           \
    NAMED(",\"ownerReferences\":[{\"apiVersion\":\"" kind "\",\"name\":\"x\",\"uid\":\"" uid       \
          "\",\"controller\":true}]")

static void test_pods_are_whose_they_are(void **state) {
    struct world *w = *state;
    const char *spec = ",\"spec\":{\"containers\":[]}}";
    char of_a[512], of_b[512], of_none[512], of_set[512], hashed[512];
    snprintf(of_a, sizeof(of_a), "{" OWNED("batch/v1\",\"kind\":\"Job", "a") "%s", spec);
    snprintf(of_b, sizeof(of_b), "{" OWNED("batch/v1\",\"kind\":\"Job", "b") "%s", spec);
    snprintf(of_set, sizeof(of_set), "{" OWNED("apps/v1\",\"kind\":\"ReplicaSet", "r") "%s", spec);
    snprintf(of_none, sizeof(of_none), "{" NAMED("") "%s", spec);
    snprintf(hashed, sizeof(hashed),
             "{" NAMED(",\"annotations\":{\"kueue.x-k8s.io/role-hash\":\"small\"}") "%s", spec);
    assert_int_equal(tenant(w, "", "Pod", of_a, NULL), ERR_FORBIDDEN);
    TOLD("a Job's pods are those that it made");
    assert_int_equal(tenant(w, "", "Pod", of_a, of_none), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "", "Pod", of_none, of_a), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "", "Pod", of_b, of_a), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "", "Pod", of_a, of_a), 0);
    assert_int_equal(tenant(w, "", "Pod", of_set, NULL), 0);
    assert_int_equal(tenant(w, "", "Pod", hashed, of_none), ERR_FORBIDDEN);
    TOLD("role-hash");
    assert_int_equal(root(w, "", "Pod", of_a, NULL), 0);
}

static void test_an_admitted_workload_keeps_its_owner(void **state) {
    struct world *w = *state;
    const char *now = "{" OWNED("batch/v1\",\"kind\":\"Job", "b") ",\"status\":{\"admission\":{}}}";
    const char *was = "{" OWNED("batch/v1\",\"kind\":\"Job", "a") ",\"status\":{\"admission\":{}}}";
    const char *free_ = "{" OWNED("batch/v1\",\"kind\":\"Job", "a") ",\"status\":{}}";
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", now, was), ERR_FORBIDDEN);
    TOLD("metadata.ownerReferences");
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", was, was), 0);
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", now, free_), 0);
    assert_int_equal(root(w, "kueue.x-k8s.io", "Workload", now, was), 0);
}

#define SLICE_OF(name)                                                                             \
    "{" NAMED(",\"annotations\":{\"kueue.x-k8s.io/workload-slice-replacement-for\":\"team/" name   \
              "\"}") "}"
#define ADMITTED(count)                                                                            \
    "{" NAMED("") ",\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":" count                    \
                  "}]},\"status\":{\"admission\":{}}}"

/* Who takes over from whom, and how many pods quota is held for, is the queue's word. */
static void test_the_queue_replaces_workloads(void **state) {
    struct world *w = *state;
    const char *bare = "{" NAMED("") "}";
    const char *gated = "{" NAMED("") ",\"spec\":{\"schedulingGates\":[{\"name\":"
                                      "\"kueue.x-k8s.io/elastic-job\"}],\"containers\":[]}}";
    const char *open = "{" NAMED("") ",\"spec\":{\"containers\":[]}}";
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", SLICE_OF("a"), NULL), ERR_FORBIDDEN);
    TOLD("workload-slice-replacement-for is written by the queue");
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", SLICE_OF("a"), bare), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", SLICE_OF("a"), SLICE_OF("a")), 0);
    assert_int_equal(root(w, "kueue.x-k8s.io", "Workload", SLICE_OF("a"), NULL), 0);
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", ADMITTED("1"), ADMITTED("2")),
                     ERR_FORBIDDEN);
    TOLD("spec.podSets");
    assert_int_equal(tenant(w, "kueue.x-k8s.io", "Workload", ADMITTED("2"), ADMITTED("2")), 0);
    assert_int_equal(root(w, "kueue.x-k8s.io", "Workload", ADMITTED("1"), ADMITTED("2")), 0);
    assert_int_equal(tenant(w, "", "Pod", open, gated), ERR_FORBIDDEN);
    TOLD("the gate kueue.x-k8s.io/elastic-job is opened by the queue");
    assert_int_equal(root(w, "", "Pod", open, gated), 0);
}

/* ---- priority ---- */

static void put_classes(struct world *w) {
    fixture_put(w->m,
                "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
                "\"metadata\":{\"name\":\"open\"},\"value\":100}");
    fixture_put(w->m,
                "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
                "\"metadata\":{\"name\":\"closed\",\"annotations\":{\"berth.dev/restricted\":"
                "\"true\"}},\"value\":1000}");
    fixture_put(w->m,
                "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","
                "\"metadata\":{\"name\":\"use\"},\"rules\":[{\"apiGroups\":[\"kueue.x-k8s.io\","
                "\"scheduling.k8s.io\"],\"resources\":[\"*\"],\"verbs\":[\"use\"]}]}");
    fixture_put(w->m,
                "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\","
                "\"metadata\":{\"name\":\"use\",\"namespace\":\"team\"},\"roleRef\":{\"apiGroup\":"
                "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"use\"},"
                "\"subjects\":[{\"kind\":\"User\",\"name\":\"lead\"}]}");
}

#define CLASS(name) NAMED(",\"labels\":{\"kueue.x-k8s.io/priority-class\":\"" name "\"}")

static void test_classes_are_a_right(void **state) {
    static const char *const critical[][3] = {
        {"", "Pod",
         "{" NAMED(
             "") ",\"spec\":{\"priorityClassName\":\"system-node-critical\",\"containers\":[]}}"},
        {"batch", "Job",
         "{" NAMED("") ",\"spec\":{\"template\":{\"spec\":{\"priorityClassName\":"
                       "\"system-cluster-critical\",\"containers\":[]}}}}"},
        {"kubeflow.org", "PyTorchJob",
         "{" NAMED("") ",\"spec\":{\"runPolicy\":{\"schedulingPolicy\":{\"priorityClass\":"
                       "\"system-node-critical\"}}}}"},
    };
    struct world *w = *state;
    struct user lead = fixture_user("lead", NULL, NULL);
    put_classes(w);
    for (size_t i = 0; i < sizeof(critical) / sizeof(critical[0]); i++) {
        const char *const *c = critical[i];
        assert_int_equal(tenant(w, c[0], c[1], c[2], NULL), ERR_FORBIDDEN);
        TOLD("in the whole cluster");
        /* The right of one namespace is too little: these evict the machine's own. */
        assert_int_equal(by(w, lead, c[0], c[1], c[2], NULL), ERR_FORBIDDEN);
        assert_int_equal(tenant(w, c[0], c[1], c[2], c[2]), 0);
        assert_int_equal(root(w, c[0], c[1], c[2], NULL), 0);
    }
    const char *job = "{" CLASS("closed") ",\"spec\":{}}";
    const char *template = "{" NAMED("") ",\"spec\":{\"template\":{" CLASS("closed") "}}}";
    assert_int_equal(tenant(w, "batch", "Job", job, NULL), ERR_FORBIDDEN);
    TOLD("closed");
    assert_int_equal(tenant(w, "batch", "Job", template, NULL), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "apps", "Deployment", template, NULL), ERR_FORBIDDEN);
    assert_int_equal(tenant(w, "batch", "Job", "{" CLASS("open") ",\"spec\":{}}", NULL), 0);
    assert_int_equal(by(w, lead, "batch", "Job", job, NULL), 0);
    assert_int_equal(by(w, lead, "apps", "Deployment", template, NULL), 0);
}

#define NOTED(name) NAMED(",\"annotations\":{\"kueue.x-k8s.io/priority-class\":\"" name "\"}")
#define MAIN(meta, class)                                                                          \
    "{" meta                                                                                       \
    ",\"spec\":{\"template\":{\"spec\":{\"containers\":[],\"priorityClassName\":\"" class "\"}}}}"

/* What was there is a class of one kind at a place that counts: a name that stood elsewhere gives no right to it. */
static void test_a_class_that_was_there_is_the_same(void **state) {
    static const char *const kinds[][2] = {
        {"kubeflow.org", "PyTorchJob"}, {"ray.io", "RayCluster"}, {"batch", "Job"}};
    struct world *w = *state;
    put_classes(w);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *group = kinds[i][0], *kind = kinds[i][1];
        const char *noted = "{" NOTED("system-node-critical") ",\"spec\":{}}";
        const char *labelled = "{" CLASS("system-node-critical") ",\"spec\":{}}";
        const char *both = MAIN(NOTED("system-node-critical"), "system-node-critical");
        assert_int_equal(tenant(w, group, kind, noted, NULL), 0);
        assert_int_equal(tenant(w, group, kind, both, noted), ERR_FORBIDDEN);
        assert_int_equal(tenant(w, group, kind, both, labelled), ERR_FORBIDDEN);
        assert_int_equal(tenant(w, group, kind, both, both), 0);
        /* Another one beside the one that was there. */
        assert_int_equal(tenant(w, group, kind, MAIN(CLASS("closed"), "system-node-critical"),
                                MAIN(NAMED(""), "system-node-critical")),
                         ERR_FORBIDDEN);
        TOLD("closed");
        assert_int_equal(tenant(w, group, kind, MAIN(CLASS("closed"), "system-node-critical"),
                                "{" CLASS("closed") ",\"spec\":{}}"),
                         ERR_FORBIDDEN);
        TOLD("system-node-critical");
    }
}

/* A member's long name over many places that are the scheduler's: who may bind may write them, and for others the
 * answer costs what is in the request. */
static void test_many_places_cost_their_bytes(void **state) {
    struct world *w = *state;
    char name[64 << 10] = "";
    struct buf json;
    memset(name, 'x', sizeof(name) - 1);
    buf_init(&json, 0);
    buf_f(&json, "{" QUEUED ",\"spec\":{\"%s\":[", name);
    for (size_t i = 0; i < 1000; i++) {
        buf_c(&json, i ? "," : "");
        buf_c(&json, "{\"containers\":[],\"nodeName\":\"a\"}");
    }
    buf_c(&json, "]}}");
    assert_int_equal(tenant(w, "ray.io", "RayCluster", buf_cstr(&json), NULL), ERR_TOO_LARGE);
    TOLD("nodeName of pods");
    assert_int_equal(root(w, "ray.io", "RayCluster", buf_cstr(&json), NULL), 0);
    buf_release(&json);
}

#define WORK(name, n)                                                                              \
    "{" NAMED("") ",\"spec\":{\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\",\"kind\":"        \
                  "\"WorkloadPriorityClass\",\"name\":\"" name "\"},\"priority\":" n "}}"
#define BARE(n) "{" NAMED("") ",\"spec\":{\"priority\":" n "}}"

static int workload(struct world *w, const char *json, const char *old) {
    return tenant(w, "kueue.x-k8s.io", "Workload", json, old);
}

static void test_a_workload_has_the_priority_of_its_class(void **state) {
    struct world *w = *state;
    put_classes(w);
    assert_int_equal(workload(w, WORK("open", "100"), NULL), 0);
    assert_int_equal(workload(w, WORK("open", "101"), NULL), ERR_FORBIDDEN);
    TOLD("spec.priority: 101 is more than the 100");
    assert_int_equal(workload(w, WORK("open", "5000"), WORK("open", "100")), ERR_FORBIDDEN);
    assert_int_equal(workload(w, WORK("open", "7"), WORK("open", "100")), 0);
    assert_int_equal(workload(w, WORK("closed", "7"), WORK("open", "100")), ERR_FORBIDDEN);
    TOLD("spec.priorityClassRef");
    assert_int_equal(workload(w, WORK("closed", "1000"), WORK("closed", "1000")), 0);
    assert_int_equal(workload(w, WORK("missing", "1"), NULL), ERR_FORBIDDEN);
    assert_int_equal(workload(w, BARE("1"), NULL), ERR_FORBIDDEN);
    assert_int_equal(workload(w, BARE("0"), NULL), 0);
    assert_int_equal(workload(w, BARE("-5"), NULL), 0);
    assert_int_equal(workload(w, BARE("5"), BARE("5")), 0);
    assert_int_equal(root(w, "kueue.x-k8s.io", "Workload", WORK("open", "5000"), NULL), 0);
}

/* ---- what a controller makes of a template ---- */

static int made_of(struct world *w, const char *group, const char *kind, const char *json) {
    struct api_request q = request_of(group, kind, (struct user){0});
    struct err err = {0};
    int r = policy_protect_template(w->m, &q, parse(w, json), &w->a, &err);
    (void)snprintf(told, sizeof(told), "%s", r ? err.text : "");
    return r;
}

static int made(struct world *w, const char *json) {
    return made_of(w, "", "Pod", json);
}

#define MADE(name, ns, spec)                                                                       \
    "{\"metadata\":{\"namespace\":\"team\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","     \
    "\"kind\":\"Job\",\"name\":\"" name "\",\"uid\":\"" ns "-" name "\",\"controller\":true}]},"   \
    "\"spec\":{" spec "\"containers\":[{}]}}"

static void put_job(struct world *w, const char *ns, const char *name, const char *labels,
                    const char *resources) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\",\"uid\":\"%s-%s\",\"labels\":{%s}},\"spec\":{\"template\":{"
             "\"spec\":{\"containers\":[{\"resources\":%s}]}}}}",
             name, ns, ns, name, labels, resources);
    fixture_put(w->m, json);
}

#define MODEL(label_, gpu_)                                                                        \
    "{\"metadata\":{\"name\":\"m\",\"namespace\":\"team\",\"labels\":{" label_                     \
    "}},\"spec\":{\"predictor\":{\"model\":{\"resources\":" gpu_ "}}}}"
#define MODEL_DEPLOYMENT(uid_, label_, gpu_)                                                       \
    "{\"metadata\":{\"namespace\":\"team\",\"ownerReferences\":[{\"apiVersion\":"                  \
    "\"serving.kserve.io/v1beta1\",\"kind\":\"InferenceService\",\"name\":\"m\",\"uid\":\"" uid_   \
    "\",\"controller\":true}]},\"spec\":{\"template\":{\"metadata\":{\"labels\":{" label_          \
    "}},\"spec\":{\"containers\":[{\"resources\":" gpu_ "}]}}}}"
#define IN_QUEUE "\"kueue.x-k8s.io/queue-name\":\"q\""

/* A model's GPU waits in a queue, whether its author or that of its runtime asked for it. */
static void test_models(void **state) {
    struct world *w = *state;
    const char *group = "serving.kserve.io", *kind = "InferenceService";
    assert_int_equal(tenant(w, group, kind, MODEL(IN_QUEUE, GPU), NULL), 0);
    assert_int_equal(tenant(w, group, kind, MODEL("", "{}"), NULL), 0);
    assert_int_equal(tenant(w, group, kind, MODEL("", GPU), NULL), ERR_FORBIDDEN);
    TOLD("kueue.x-k8s.io/queue-name is missing");
    assert_int_equal(root(w, group, kind, MODEL("", GPU), NULL), 0);
    fixture_put(w->m, "{\"apiVersion\":\"serving.kserve.io/v1beta1\",\"kind\":\"InferenceService\","
                      "\"metadata\":{\"name\":\"m\",\"namespace\":\"team\",\"uid\":\"u\"},"
                      "\"spec\":{\"predictor\":{}}}");
    assert_int_equal(made_of(w, "apps", "Deployment", MODEL_DEPLOYMENT("u", IN_QUEUE, GPU)), 0);
    assert_int_equal(made_of(w, "apps", "Deployment", MODEL_DEPLOYMENT("u", "", "{}")), 0);
    assert_int_equal(made_of(w, "apps", "Deployment", MODEL_DEPLOYMENT("u", "", GPU)),
                     ERR_FORBIDDEN);
    TOLD("kueue.x-k8s.io/queue-name is missing");
    assert_int_equal(made_of(w, "apps", "Deployment", MODEL_DEPLOYMENT("x", IN_QUEUE, GPU)),
                     ERR_FORBIDDEN);
    TOLD("metadata.ownerReferences");
}

static void test_what_is_made_is_judged_again(void **state) {
    struct world *w = *state;
    put_job(w, "team", "queued", "\"kueue.x-k8s.io/queue-name\":\"q\"", "{}");
    put_job(w, "team", "loose", "", "{}");
    put_job(w, "team", "admins", "", GPU);
    put_job(w, "other", "admins", "", GPU);
    assert_int_equal(made(w, MADE("queued", "team", "")), 0);
    assert_int_equal(made(w, MADE("queued", "team", "\"nodeName\":\"n\",")), ERR_FORBIDDEN);
    TOLD("spec.nodeName");
    assert_int_equal(made(w, MADE("loose", "team", "\"nodeName\":\"n\",")), 0);
    assert_int_equal(made(w, "{\"metadata\":{\"annotations\":{\"berth.dev/devices\":\"[]\"}}}"),
                     ERR_FORBIDDEN);
    /* A LimitRange gives a GPU: a queued one's is counted, an administrator's was judged, another one is refused. */
    assert_int_equal(made(w, MADE("queued", "team", "\"resources\":" GPU ",")), 0);
    assert_int_equal(made(w, MADE("admins", "team", "\"resources\":" GPU ",")), 0);
    assert_int_equal(made(w, MADE("loose", "team", "\"resources\":" GPU ",")), ERR_FORBIDDEN);
    TOLD("LimitRange");
    /* Whose it is has to be there, in its own namespace. */
    assert_int_equal(made(w, MADE("gone", "team", "\"resources\":" GPU ",")), ERR_FORBIDDEN);
    assert_int_equal(made(w, MADE("admins", "other", "\"resources\":" GPU ",")), ERR_FORBIDDEN);
    TOLD("metadata.ownerReferences");
}

#define CRON_METADATA "\"metadata\":{\"name\":\"c\",\"namespace\":\"team\",\"uid\":\"team-c\"}"
#define CRON(labels, resources)                                                                    \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\"," CRON_METADATA                             \
    ",\"spec\":{\"jobTemplate\":{\"metadata\":{\"labels\":{" labels                                \
    "}},\"spec\":{\"template\":{\"spec\":{"                                                        \
    "\"containers\":[{\"resources\":" resources "}]}}}}}}"
#define CRON_MADE(uid, labels, spec)                                                               \
    "{\"metadata\":{\"namespace\":\"team\",\"labels\":{" labels                                    \
    "},\"ownerReferences\":[{\"apiVersion\":\"batch/"                                              \
    "v1\",\"kind\":\"CronJob\",\"name\":\"c\",\"uid\":\"" uid                                      \
    "\",\"controller\":true}]},\"spec\":{" spec "\"template\":{\"spec\":{\"containers\":[{"        \
    "\"resources\":" GPU "}]}}}}"
#define HELD "\"suspend\":true,"

/* A schedule brings about no GPU that a Job of the same author would not get. */
static void test_schedules_with_gpus_are_queued(void **state) {
    struct world *w = *state;
    assert_int_equal(tenant(w, "batch", "CronJob", CRON("", "{}"), NULL), 0);
    assert_int_equal(tenant(w, "batch", "CronJob", CRON(IN_QUEUE, GPU), NULL), 0);
    assert_int_equal(tenant(w, "batch", "CronJob", CRON("", GPU), NULL), ERR_FORBIDDEN);
    TOLD("spec.jobTemplate.metadata.labels: GPUs are given through a queue");
    assert_int_equal(root(w, "batch", "CronJob", CRON("", GPU), NULL), 0);
    fixture_put(w->m, CRON(IN_QUEUE, GPU));
    assert_int_equal(made_of(w, "batch", "Job", CRON_MADE("team-c", IN_QUEUE, HELD)), 0);
    assert_int_equal(made_of(w, "batch", "Job", CRON_MADE("team-c", IN_QUEUE, "")), ERR_FORBIDDEN);
    TOLD("Jobs of this namespace are not queued");
    assert_int_equal(made_of(w, "batch", "Job", CRON_MADE("team-c", "", HELD)), ERR_FORBIDDEN);
    TOLD("kueue.x-k8s.io/queue-name is missing");
    assert_int_equal(made_of(w, "batch", "Job", CRON_MADE("gone", IN_QUEUE, HELD)), ERR_FORBIDDEN);
    TOLD("metadata.ownerReferences");
    /* The namespace's own queue serves as well, and a Job made by hand from the template is queued as any other. */
    fixture_put(w->m,
                "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{"
                "\"name\":\"default\",\"namespace\":\"team\",\"uid\":\"lq\"}}");
    assert_int_equal(tenant(w, "batch", "CronJob", CRON("", GPU), NULL), 0);
    assert_int_equal(tenant(w, "batch", "Job", CRON_MADE("team-c", IN_QUEUE, HELD), NULL), 0);
}

static int made_of_set(struct world *w, const char *name, const char *labels, const char *gate) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"namespace\":\"team\",\"labels\":{%s},\"ownerReferences\":[{"
             "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"%s\",\"uid\":\"%s\","
             "\"controller\":true}]},\"spec\":{%s\"resources\":" GPU ",\"containers\":[{}]}}",
             labels, name, name, gate);
    return made(w, json);
}

static void put_set(struct world *w, const char *name, const char *labels, const char *resources) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"team\",\"uid\":\"%s\",\"labels\":{%s}},\"spec\":{\"template\":{"
             "\"spec\":{\"containers\":[{\"resources\":%s}]}}}}",
             name, name, labels, resources);
    fixture_put(w->m, json);
}

/* A pod of what keeps running has GPUs only behind its gate, wherever its queue is named. */
static void test_what_lasts_makes_pods_that_wait(void **state) {
    struct world *w = *state;
    const char *gate = "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],";
    put_set(w, "labelled", IN_QUEUE, GPU);
    put_set(w, "bare", "", GPU);
    put_set(w, "none", "", "{}");
    assert_int_equal(made_of_set(w, "labelled", IN_QUEUE, gate), 0);
    assert_int_equal(made_of_set(w, "labelled", IN_QUEUE, ""), ERR_FORBIDDEN);
    TOLD("are not queued");
    assert_int_equal(made_of_set(w, "labelled", "", ""), ERR_FORBIDDEN);
    assert_int_equal(made_of_set(w, "bare", IN_QUEUE, ""), ERR_FORBIDDEN);
    assert_int_equal(made_of_set(w, "bare", "", ""), 0); /* an administrator's: it was judged */
    assert_int_equal(made_of_set(w, "none", "", ""), ERR_FORBIDDEN);
    TOLD("LimitRange");
}

/* ---- rights over the cluster ---- */

static bool clusterwide(const char *verb, const char *group, const char *plural, const char *sub) {
    return policy_is_clusterwide(&(struct api_request){.verb_name = str_of(verb),
                                                       .group = str_of(group),
                                                       .plural = str_of(plural),
                                                       .subresource = str_of(sub)});
}

static void test_what_decides_is_the_clusters(void **state) {
    assert_true(clusterwide("update", "", "pods", "status"));
    assert_true(clusterwide("create", "", "pods", "binding"));
    assert_true(clusterwide("patch", "berth.dev", "reservations", "status"));
    assert_true(clusterwide("patch", "berth.dev", "reservationseries", "status"));
    assert_true(clusterwide("update", "berth.dev", "calendarfeeds", "status"));
    assert_true(clusterwide("patch", "berth.dev", "modelkeys", "status"));
    assert_true(clusterwide("update", "kueue.x-k8s.io", "localqueues", "status"));
    assert_true(clusterwide("update", "batch", "jobs", "status"));
    assert_true(clusterwide("update", "kubeflow.org", "pytorchjobs", "status"));
    assert_false(clusterwide("get", "berth.dev", "reservations", "status"));
    assert_false(clusterwide("update", "berth.dev", "reservations", ""));
    assert_false(clusterwide("update", "berth.dev", "reservations", "approve"));
    assert_false(clusterwide("update", "example.com", "things", "status"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_templates_name_no_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_place_that_was_there_is_not_moved, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpus_anywhere_need_a_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_gpu_job_waits_for_its_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_lasts_gets_gpus_through_a_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_lasts_makes_pods_that_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pods_are_whose_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_admitted_workload_keeps_its_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_queue_replaces_workloads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_classes_are_a_right, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_class_that_was_there_is_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_places_cost_their_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_workload_has_the_priority_of_its_class, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_is_made_is_judged_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_models, setup, teardown),
        cmocka_unit_test_setup_teardown(test_schedules_with_gpus_are_queued, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_decides_is_the_clusters, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

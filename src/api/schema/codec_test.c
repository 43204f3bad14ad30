/* codec: decode, protobuf, pruning, defaults, cells and OpenAPI over the real tables. */
#include "base/test.h"

#include "api/protobuf/codec_protobuf.h"
#include "api/schema/codec.h"
#include "api/tables/view_batch.h"
#include "api/tables/view_kueue.h"
#include "api/tables/view_misc.h"
#include "base/mem.h"

struct fixture {
    struct arena arena;
    struct err err;
    struct buf text; /* collected unknown paths, or output */
};

static int setup(void **state) {
    static struct fixture f;
    f = (struct fixture){0};
    arena_init(&f.arena, 64 << 20);
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

static yyjson_mut_doc *parse(struct fixture *f, const char *text) {
    yyjson_mut_doc *d = NULL;
    assert_ok(json_parse_mut(&f->arena, str_of(text), &d, &f->err), &f->err);
    return d;
}

static yyjson_val *freeze(struct fixture *f, yyjson_mut_doc *d) {
    struct buf b;
    yyjson_doc *doc = NULL;
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    assert_ok(json_parse(&f->arena, arena_str(&f->arena, buf_view(&b)), &doc, &f->err), &f->err);
    buf_release(&b);
    return yyjson_doc_get_root(doc);
}

static const struct kind *kind(const char *api_version, const char *name) {
    const struct kind *k = kind_by_api_version(str_of(api_version), str_of(name));
    assert_non_null(k);
    return k;
}

static struct str text_of(struct fixture *f, yyjson_mut_doc *d) {
    buf_reset(&f->text);
    json_write_mut(&f->text, yyjson_mut_doc_get_root(d));
    return buf_view(&f->text);
}

static void collect(void *ctx, struct str path) {
    struct fixture *f = ctx;
    buf_str(&f->text, path);
    buf_ch(&f->text, '\n');
}

static const char job_text[] =
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"labels\":"
    "{\"kueue.x-k8s.io/queue-name\":\"q\"},\"creationTimestamp\":null},\"spec\":{\"bogus\":1,"
    "\"completions\":3,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
    "\"name\":\"c\",\"image\":\"busybox\",\"bogus\":true,\"resources\":{\"limits\":{\"cpu\":"
    "\"1000m\",\"memory\":\"1024Mi\",\"nvidia.com/gpu\":1}},\"env\":[{\"name\":\"A\","
    "\"value\":\"b\",\"nope\":{}}]}],\"volumes\":[{\"name\":\"v\"}]}}},\"extra\":[]}";

static void prune_names_what_it_removes(void **state) {
    struct fixture *f = *state;
    yyjson_mut_doc *d = parse(f, job_text);
    assert_int_equal(codec_prune(&schema_job, d, yyjson_mut_doc_get_root(d), collect, f), 0);
    assert_str_eq(buf_view(&f->text), STR("spec.bogus\nspec.template.spec.containers[0].bogus\n"
                                          "spec.template.spec.containers[0].env[0].nope\nextra\n"));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    yyjson_mut_doc *nulls = parse(f, "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"c\"}}}");
    codec_prune(&schema_job, nulls, yyjson_mut_doc_get_root(nulls), NULL, NULL);
    assert_str_eq(text_of(f, nulls), STR("{\"metadata\":{\"labels\":{\"b\":\"c\"}}}"));
    assert_null(json_mpath(root, "spec.bogus"));
    assert_null(json_mpath(root, "metadata.creationTimestamp"));
    assert_non_null(json_mpath(root, "spec.template"));
}

static void prune_of_the_status_alone(void **state) {
    struct fixture *f = *state;
    yyjson_mut_doc *d = parse(f, "{\"spec\":{\"bogus\":1},\"status\":{\"active\":1,\"bogus\":2,"
                                 "\"failed\":null}}");
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    assert_int_equal(codec_prune_status(&schema_job, d, root, collect, f), 0);
    assert_str_eq(buf_view(&f->text), STR("status.bogus\n"));
    assert_str_eq(text_of(f, d), STR("{\"spec\":{\"bogus\":1},\"status\":{\"active\":1}}"));
}

/* The pod sets were valid when they were stored; of an object that is new they are not known to be. */
static void status_alone(void **state) {
    struct fixture *f = *state;
    static const char now[] = "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"podSets\":[{\"name\":"
                              "\"main\",\"count\":1,\"minCount\":2,\"template\":{\"spec\":{"
                              "\"containers\":[]}}}]},\"status\":{}}";
    const struct kind *k = kind("kueue.x-k8s.io/v1beta2", "Workload");
    yyjson_mut_doc *d = parse(f, now);
    struct causes stored = {.arena = &f->arena}, fresh = {.arena = &f->arena};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    assert_int_equal(codec_validate_status(k, root, freeze(f, d), &stored), 0);
    assert_int_equal(codec_validate_status(k, root, NULL, &fresh), 0);
    assert_int_equal(stored.n, 0);
    assert_true(fresh.n > 0);
}

static void job_defaults_are_kubernetes_own(void **state) {
    struct fixture *f = *state;
    yyjson_mut_doc *d = parse(f, job_text);
    const struct kind *k = kind("batch/v1", "Job");
    codec_prune(&schema_job, d, yyjson_mut_doc_get_root(d), NULL, NULL);
    assert_ok(codec_default(k, d, &f->err), &f->err);
    struct job job;
    assert_ok(codec_decode(&schema_job, freeze(f, d), &f->arena, &job, &f->err), &f->err);
    assert_int_equal(job.spec->parallelism.v, 1);
    assert_int_equal(job.spec->completions.v, 3);
    assert_int_equal(job.spec->backoff_limit.v, 6);
    assert_true(job.spec->suspend.set);
    assert_false(job.spec->suspend.v);
    assert_str_eq(job.spec->completion_mode, STR("NonIndexed"));
    assert_str_eq(job.spec->pod_replacement_policy, STR("TerminatingOrFailed"));
    struct pod_spec *pod = job.spec->template->spec;
    assert_str_eq(pod->dns_policy, STR("ClusterFirst"));
    assert_int_equal(pod->termination_grace_period_seconds.v, 30);
    assert_non_null(pod->volumes.v[0].empty_dir);
    struct container *c = &pod->containers.v[0];
    assert_str_eq(c->image_pull_policy, STR("Always"));
    assert_str_eq(c->termination_message_path, STR("/dev/termination-log"));
    assert_int_equal(c->resources->requests.n, 3);
    assert_str_eq(c->resources->requests.v[2].key, STR("nvidia.com/gpu"));
    assert_int_equal(quantity_value(c->resources->requests.v[2].value), 1);
    yyjson_mut_val *limits =
        json_mpath(json_mget(yyjson_mut_arr_get_first(json_mpath(yyjson_mut_doc_get_root(d),
                                                                 "spec.template.spec.containers")),
                             STR("resources")),
                   "limits");
    assert_str_eq(json_mstr_at(limits, "cpu"), STR("1"));
    assert_str_eq(json_mstr_at(limits, "memory"), STR("1Gi"));
}

static void defaulting_twice_changes_nothing(void **state) {
    struct fixture *f = *state;
    static const char *const texts[] = {
        job_text,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{"
        "\"name\":\"c\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
        "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":10}]}]}]}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},\"stringData\":"
        "{\"a\":\"hello\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":{"
        "\"ports\":[{\"port\":80}]}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        yyjson_mut_doc *d = parse(f, texts[i]);
        yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
        const struct kind *k =
            kind_by_api_version(json_mstr_at(root, "apiVersion"), json_mstr_at(root, "kind"));
        codec_prune(kind_storage(k)->schema, d, root, NULL, NULL);
        assert_ok(codec_default(k, d, &f->err), &f->err);
        struct str once = arena_str(&f->arena, text_of(f, d));
        assert_ok(codec_default(k, d, &f->err), &f->err);
        assert_str_eq(text_of(f, d), once);
    }
}

static void other_defaults(void **state) {
    struct fixture *f = *state;
    yyjson_mut_doc *d = parse(f, "{\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"eA==\"},"
                                 "\"stringData\":{\"a\":\"hello\"}}");
    assert_ok(codec_default(kind("v1", "Secret"), d, &f->err), &f->err);
    assert_str_eq(text_of(f, d), STR("{\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"aGVsbG8=\"},"
                                     "\"type\":\"Opaque\"}"));
    d = parse(f, "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"cohortName\":\"x\"}}");
    assert_ok(codec_default(kind("kueue.x-k8s.io/v1beta2", "ClusterQueue"), d, &f->err), &f->err);
    struct cluster_queue q;
    assert_ok(codec_decode(&schema_cluster_queue, freeze(f, d), &f->arena, &q, &f->err), &f->err);
    assert_str_eq(q.spec->queueing_strategy, STR("BestEffortFIFO"));
    assert_str_eq(q.spec->flavor_fungibility->when_can_borrow, STR("MayStopSearch"));
    assert_str_eq(q.spec->preemption->borrow_within_cohort->policy, STR("Never"));
    assert_str_eq(q.spec->stop_policy, STR("None"));
    assert_null(q.spec->namespace_selector);
}

static void prepare_fills_what_create_sets(void **state) {
    struct fixture *f = *state;
    yyjson_mut_doc *d = parse(f, job_text);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    const struct kind *k = kind("batch/v1", "Job");
    json_mset_str(d, json_mensure(d, root, "metadata"), "uid", STR("u-1"));
    json_mset_i64(d, json_mensure(d, root, "status"), "active", 3);
    k->prepare(d, root, NULL, 0);
    yyjson_mut_val *labels = json_mpath(root, "spec.template.metadata.labels");
    assert_str_eq(json_mstr(json_mget(labels, STR("batch.kubernetes.io/controller-uid"))),
                  STR("u-1"));
    assert_str_eq(json_mstr(json_mget(labels, STR("job-name"))), STR("j"));
    assert_int_equal(yyjson_mut_obj_size(json_mpath(root, "spec.selector.matchLabels")), 1);
    assert_null(json_mget(root, STR("status")));

    d = parse(f, "{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"Running\"},\"spec\":{"
                 "\"containers\":[{\"name\":\"c\",\"image\":\"i:1\",\"resources\":{\"limits\":"
                 "{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}");
    root = yyjson_mut_doc_get_root(d);
    k = kind("v1", "Pod");
    assert_ok(codec_default(k, d, &f->err), &f->err);
    k->prepare(d, root, NULL, 0);
    assert_str_eq(json_mstr_at(root, "status.phase"), STR("Pending"));
    assert_str_eq(json_mstr_at(root, "status.qosClass"), STR("Guaranteed"));
}

static void decode_names_the_wrong_type(void **state) {
    struct fixture *f = *state;
    yyjson_doc *doc;
    struct pod pod;
    assert_ok(json_parse(&f->arena,
                         STR("{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":7}]}}"), &doc,
                         &f->err),
              &f->err);
    assert_int_equal(codec_decode(&schema_pod, yyjson_doc_get_root(doc), &f->arena, &pod, &f->err),
                     ERR_SYNTAX);
    assert_non_null(strstr(f->err.text, "spec.containers[1].name"));
}

static void decode_reads_every_shape(void **state) {
    struct fixture *f = *state;
    yyjson_doc *doc;
    struct pod pod;
    assert_ok(json_parse(&f->arena,
                         STR("{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":"
                             "\"2026-01-02T03:04:05Z\","
                             "\"ownerReferences\":[{\"uid\":\"o\",\"controller\":true}]},\"spec\":{"
                             "\"affinity\":{\"nodeAffinity\":{}},\"tolerations\":[{\"key\":\"k\","
                             "\"tolerationSeconds\":0}],\"containers\":[{\"name\":\"c\","
                             "\"livenessProbe\":"
                             "{\"httpGet\":{\"port\":8080},\"periodSeconds\":5}}]}}"),
                         &doc, &f->err),
              &f->err);
    assert_ok(codec_decode(&schema_pod, yyjson_doc_get_root(doc), &f->arena, &pod, &f->err),
              &f->err);
    assert_int_equal(pod.metadata->creation_ns, INT64_C(1767323045) * 1000000000);
    assert_true(pod.metadata->owner_references.v[0].controller.v);
    assert_true(yyjson_is_obj(pod.spec->affinity));
    assert_true(pod.spec->tolerations.v[0].toleration_seconds.set);
    assert_str_eq(pod.spec->containers.v[0].liveness_probe->http_get->port, STR("8080"));
    assert_int_equal(pod.spec->containers.v[0].liveness_probe->period_seconds, 5);
    assert_null(pod.status);
}

/* What `kubectl create namespace foo` sends. */
static void protobuf_namespace(void **state) {
    struct fixture *f = *state;
    static const char body[] =
        "k8s\0"
        "\x0a\x0f\x0a\x02v1\x12\x09Namespace"
        "\x12\x1f"
        "\x0a\x19\x0a\x03"
        "foo\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x5a\x04\x0a\x00\x12\x00"
        "\x12\x00"
        "\x1a\x00"
        "\x1a\x00\x22\x00";
    yyjson_mut_doc *d = NULL;
    const struct kind *k = NULL;
    const struct kind_version *kv = NULL;
    assert_ok(
        codec_from_protobuf(str_from(body, sizeof(body) - 1), &f->arena, &d, &k, &kv, &f->err),
        &f->err);
    assert_ptr_equal(k, kind("v1", "Namespace"));
    assert_str_eq(text_of(f, d), STR("{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{"
                                     "\"name\":\"foo\",\"labels\":{\"\":\"\"}}}"));
}

/* A Job whose parallelism is an explicit 0, with an inlined volume source, a quantity and an int-or-string. */
static void protobuf_keeps_explicit_zero(void **state) {
    struct fixture *f = *state;
    static const char body[] =
        "k8s\0"
        "\x0a\x0f\x0a\x08"
        "batch/v1\x12\x03Job"
        "\x12\x23"
        "\x0a\x03\x0a\x01j"                 /* metadata.name */
        "\x12\x1c"                          /* spec */
        "\x08\x00"                          /* parallelism: 0 */
        "\x32\x18"                          /* template */
        "\x12\x16"                          /* spec */
        "\x0a\x07\x0a\x01v\x12\x02\x12\x00" /* volumes: name v, source {emptyDir {}} */
        "\x12\x09\x0a\x01"
        "c\x42\x00\x12\x02im" /* containers: name, resources {}, image */
        "\x20\x1e"            /* terminationGracePeriodSeconds: 30 */
        ;
    yyjson_mut_doc *d = NULL;
    const struct kind *k = NULL;
    const struct kind_version *kv = NULL;
    assert_ok(
        codec_from_protobuf(str_from(body, sizeof(body) - 1), &f->arena, &d, &k, &kv, &f->err),
        &f->err);
    assert_str_eq(text_of(f, d),
                  STR("{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"name\":\"j\"},"
                      "\"spec\":{\"parallelism\":0,\"template\":{\"spec\":{\"volumes\":[{\"name\":"
                      "\"v\",\"emptyDir\":{}}],\"containers\":[{\"name\":\"c\",\"image\":\"im\"}],"
                      "\"terminationGracePeriodSeconds\":30}}}}"));
}

/* The schema of a definition whose version has these bytes for one. */
static struct str definition_of(struct fixture *f, struct str props) {
    static const char type[] = "\x0a\x17"
                               "apiextensions.k8s.io/v1\x12\x18"
                               "CustomResourceDefinition";
    static const char tags[] = {0x0a, 0x22, 0x3a, 0x12, 0x12}; /* from the innermost */
    struct buf b, up;
    yyjson_mut_doc *d = NULL;
    const struct kind *k = NULL;
    const struct kind_version *kv = NULL;
    buf_init(&b, 0);
    buf_init(&up, 0);
    buf_str(&b, props);
    for (size_t i = 0; i < sizeof tags; i++) {
        assert_true(b.n < 128);
        buf_reset(&up);
        buf_ch(&up, tags[i]);
        buf_ch(&up, (char)b.n);
        buf_str(&up, buf_view(&b));
        buf_reset(&b);
        buf_str(&b, buf_view(&up));
    }
    buf_reset(&up);
    buf_str(&up, str_from("k8s\0\x0a", 5));
    buf_ch(&up, (char)(sizeof type - 1));
    buf_str(&up, str_from(type, sizeof type - 1));
    buf_str(&up, buf_view(&b));
    assert_ok(codec_from_protobuf(buf_view(&up), &f->arena, &d, &k, &kv, &f->err), &f->err);
    yyjson_mut_val *v = json_mpath(yyjson_mut_doc_get_root(d), "spec.versions");
    buf_reset(&b);
    json_write_mut(&b, json_mpath(yyjson_mut_arr_get_first(v), "schema.openAPIV3Schema"));
    struct str r = arena_str(&f->arena, buf_view(&b));
    buf_release(&b);
    buf_release(&up);
    return r;
}

/* A CustomResourceDefinition: what is one of two things on the wire is the thing itself in JSON. */
static void protobuf_definition(void **state) {
    struct fixture *f = *state;
    static const char props[] =
        "\xea\x01\x0c\x0a\x01"                  /* properties */
        "a\x12\x07\xf2\x01\x04\x08\x01\x12\x00" /* a: additionalProperties {allows, schema {}} */
        "\xea\x01\x0a\x0a\x01"
        "b\x12\x05\xf2\x01\x02\x08\x00" /* b: additionalProperties {allows: false} */
        "\xea\x01\x0c\x0a\x01"
        "c\x12\x07\xc2\x01\x04\x0a\x02\x2a\x00" /* c: items {schema {type ""}} */
        "\x82\x02\x0a\x0a\x01"
        "d\x12\x05\x12\x01x\x12\x00" /* dependencies: d: {property x, ""} */
        "\x42\x03\x0a\x01"
        "1"; /* default: raw 1 */
    assert_str_eq(definition_of(f, str_from(props, sizeof(props) - 1)),
                  STR("{\"properties\":{\"a\":{\"additionalProperties\":{}},\"b\":{"
                      "\"additionalProperties\":false},\"c\":{\"items\":{}}},\"dependencies\":{"
                      "\"d\":[\"x\",\"\"]},\"default\":1}"));
}

static void protobuf_cut_anywhere_is_refused(void **state) {
    struct fixture *f = *state;
    static const char body[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x07\x0a\x05\x0a\x03"
                               "foo";
    for (size_t n = 0; n < sizeof(body) - 1; n++) {
        yyjson_mut_doc *d = NULL;
        const struct kind *k = NULL;
        const struct kind_version *kv = NULL;
        char *copy = mem_alloc(n);
        memcpy(copy, body, n);
        int r = codec_from_protobuf(str_from(copy, n), &f->arena, &d, &k, &kv, NULL);
        mem_free(copy);
        /* A body that ends after the type says only that much: an empty object. */
        assert_true(r < 0 || n == 21);
    }
}

/* Lookups in what a user sends may not take its size squared. */
static void long_maps_are_bounded(void **state) {
    struct fixture *f = *state;
    static const char twice[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
                                "ConfigMap\x12\x0e"
                                "\x12\x05\x0a\x01k\x12\x00\x12\x05\x0a\x01k\x12\x00";
    yyjson_mut_doc *d = NULL;
    const struct kind *k = NULL;
    const struct kind_version *kv = NULL;
    assert_int_equal(
        codec_from_protobuf(str_from(twice, sizeof(twice) - 1), &f->arena, &d, &k, &kv, &f->err),
        ERR_SYNTAX);
    assert_non_null(strstr(f->err.text, "twice"));

    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"a\":\"\"");
    for (int i = 0; i < 2000; i++) {
        buf_f(&b, ",\"k%d\":\"\"", i);
    }
    buf_c(&b, "}}");
    d = parse(f, buf_cstr(&b));
    buf_release(&b);
    assert_int_equal(codec_default(kind("v1", "Secret"), d, &f->err), ERR_TOO_LARGE);
}

/* The write edge, whole, in an arena of its own; 0 or the first failure. */
static int write_edge(struct err *err) {
    struct arena a;
    struct buf b;
    yyjson_mut_doc *d = NULL;
    yyjson_doc *doc = NULL;
    struct job job;
    const struct kind *k = kind_by_name(STR("batch"), STR("Job"));
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    struct causes causes = {.arena = &a};
    int r = json_parse_mut(&a, str_of(job_text), &d, err);
    r = r ? r : codec_prune(&schema_job, d, yyjson_mut_doc_get_root(d), NULL, NULL);
    r = r ? r : codec_default(k, d, err);
    if (r == 0) {
        json_mset_str(d, json_mensure(d, yyjson_mut_doc_get_root(d), "metadata"), "uid", STR("u"));
        k->prepare(d, yyjson_mut_doc_get_root(d), NULL, 0);
        r = codec_validate(k, yyjson_mut_doc_get_root(d), NULL, &causes);
    }
    if (r == 0) {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
        r = buf_ok(&b);
    }
    r = r ? r : json_parse(&a, buf_view(&b), &doc, err);
    r = r ? r : codec_decode(&schema_job, yyjson_doc_get_root(doc), &a, &job, err);
    if (r == 0) {
        assert_int_equal(causes.n, 0);
        assert_str_eq(job.spec->template->spec->containers.v[0].image_pull_policy, STR("Always"));
    }
    buf_release(&b);
    arena_release(&a);
    return r;
}

/* Each allocation fails in turn: the result is an error or whole, never something in between. */
static void memory_may_end_anywhere(void **state) {
    struct fixture *f = *state;
    for (int forever = 0; forever < 2; forever++) {
        int hit = 1;
        for (uint64_t n = 1; hit; n++) {
            mem_fault(n, forever);
            int r = write_edge(&f->err);
            hit = mem_fault_hit();
            mem_fault(0, 0);
            assert_true(r == 0 || r == ERR_NOMEM);
            assert_true(hit || r == 0);
        }
    }
}

static void cells_of(struct fixture *f, const char *api_version, const char *name,
                     const char *object, const char *want) {
    yyjson_mut_doc *d = parse(f, object);
    buf_reset(&f->text);
    codec_cells(kind(api_version, name), NULL, freeze(f, d), INT64_C(1767323045) * 1000000000,
                &f->text);
    assert_str_eq(buf_view(&f->text), str_of(want));
}

static void cells(void **state) {
    struct fixture *f = *state;
    cells_of(f, "v1", "Pod",
             "{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"2026-01-02T03:00:00Z\"},"
             "\"spec\":{\"containers\":[{},{}],\"nodeName\":\"n\"},\"status\":{\"phase\":"
             "\"Running\",\"podIP\":\"10.0.0.1\",\"containerStatuses\":[{\"ready\":true,\"state\":"
             "{\"running\":{}},\"restartCount\":2,\"lastState\":{\"terminated\":{\"finishedAt\":"
             "\"2026-01-02T03:03:05Z\"}}},{\"state\":{\"waiting\":{\"reason\":"
             "\"ImagePullBackOff\"}}}]}}",
             "[\"p\",\"1/2\",\"ImagePullBackOff\",\"2 (60s ago)\",\"4m5s\",\"10.0.0.1\",\"n\","
             "\"<none>\",\"<none>\"]");
    cells_of(f, "v1", "Pod",
             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{}]},\"status\":{\"phase\":"
             "\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":3}}}]}}",
             "[\"p\",\"0/1\",\"ExitCode:3\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\","
             "\"<none>\"]");
    cells_of(f, "batch/v1", "Job",
             "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"completions\":3},\"status\":{"
             "\"succeeded\":1,\"startTime\":\"2026-01-02T03:03:05Z\",\"conditions\":[{\"type\":"
             "\"Suspended\",\"status\":\"True\"}]}}",
             "[\"j\",\"Suspended\",\"1/3\",\"60s\",\"<unknown>\",\"<none>\",\"<none>\","
             "\"<none>\"]");
    cells_of(f, "kueue.x-k8s.io/v1beta2", "Workload",
             "{\"metadata\":{\"name\":\"w\",\"creationTimestamp\":\"2026-01-01T03:04:05Z\"},"
             "\"spec\":{\"queueName\":\"q\"},\"status\":{\"admission\":{\"clusterQueue\":\"c\"},"
             "\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\"}]}}",
             "[\"w\",\"q\",\"c\",\"True\",null,\"24h\"]");
    cells_of(f, "v1", "Node",
             "{\"metadata\":{\"name\":\"n\",\"labels\":{\"node-role.kubernetes.io/gpu\":\"\"}},"
             "\"spec\":{\"unschedulable\":true},\"status\":{\"conditions\":[{\"type\":\"Ready\","
             "\"status\":\"True\"}],\"nodeInfo\":{\"kubeletVersion\":\"v1\"}}}",
             "[\"n\",\"Ready,SchedulingDisabled\",\"gpu\",\"<unknown>\",\"v1\",\"<none>\","
             "\"<none>\",\"<unknown>\",\"<unknown>\",\"<unknown>\"]");
}

static void ages(void **state) {
    struct fixture *f = *state;
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {-5, "<invalid>"},
        {0, "0s"},
        {119, "119s"},
        {330, "5m30s"},
        {300, "5m"},
        {3600, "60m"},
        {4 * 3600 + 60, "4h1m"},
        {86400, "24h"},
        {3 * 86400 + 4 * 3600, "3d4h"},
        {100 * 86400, "100d"},
        {3 * 365 * 86400 + 86400, "3y1d"},
        {INT64_C(9) * 365 * 86400, "9y"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf_reset(&f->text);
        codec_age(0, cases[i].seconds * 1000000000, &f->text);
        assert_str_eq(buf_view(&f->text), str_of(cases[i].text));
    }
}

static void every_kind_is_whole(void **state) {
    (void)state;
    size_t n;
    const struct kind *const *kinds = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        const struct kind *k = kinds[i];
        assert_ptr_equal(kind_by_api_version(str_of(kind_api_version(k)), str_of(k->kind)), k);
        for (size_t v = 0; v < k->n_versions; v++) {
            assert_ptr_equal(kind_by_resource(str_of(k->group), str_of(k->versions[v].version),
                                              str_of(k->plural)),
                             k);
            assert_non_null(k->versions[v].schema);
        }
        for (size_t c = 0; c < k->n_columns; c++) {
            const struct column *column = &k->columns[c];
            assert_true(column->path || column->json_path || k->cell);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prune_names_what_it_removes, setup, teardown),
        cmocka_unit_test_setup_teardown(prune_of_the_status_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(status_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(job_defaults_are_kubernetes_own, setup, teardown),
        cmocka_unit_test_setup_teardown(defaulting_twice_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(other_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(prepare_fills_what_create_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(decode_names_the_wrong_type, setup, teardown),
        cmocka_unit_test_setup_teardown(decode_reads_every_shape, setup, teardown),
        cmocka_unit_test_setup_teardown(protobuf_namespace, setup, teardown),
        cmocka_unit_test_setup_teardown(protobuf_keeps_explicit_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(protobuf_definition, setup, teardown),
        cmocka_unit_test_setup_teardown(protobuf_cut_anywhere_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(long_maps_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(cells, setup, teardown),
        cmocka_unit_test_setup_teardown(ages, setup, teardown),
        cmocka_unit_test_setup_teardown(every_kind_is_whole, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

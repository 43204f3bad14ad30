/* Tests of admission: which Jobs start suspended, what is put on them, and who has no say. */
#include "base/mem.h"
#include "base/test.h"
#include "base/virtual_clock.h"
#include "control/admit/admission.h"

struct world {
    struct virtual_clock clock;
    struct mirror *mirror;
    struct admission *admission;
    struct arena arena;
    bool ready;
    struct admission_ask ask; /* the last one */
    struct err err;
    struct queue_settings settings;
};

static void put(struct world *w, const char *group, const char *kind, const char *json) {
    struct object *o;
    assert_int_equal(object_new(kind_by_name(str_of(group), str_of(kind)), str_of(json), &o, NULL),
                     0);
    assert_int_equal(mirror_load(w->mirror, o, NULL), 0);
}

static bool is_ready(void *ctx) {
    return ((struct world *)ctx)->ready;
}

static void start(struct world *w, const struct queue_settings *settings) {
    *w = (struct world){.ready = true};
    virtual_clock_init(&w->clock, 1000 * NS_PER_SEC);
    struct mirror_options mo = {.clock = &w->clock.clock};
    w->mirror = mirror_new(&mo);
    assert_non_null(w->mirror);
    w->settings = settings ? *settings : *queue_settings_defaults();
    w->settings.own_namespace = STR("berth-system");
    struct admission_options o = {
        .mirror = w->mirror, .settings = &w->settings, .ready = is_ready, .ready_ctx = w};
    w->admission = admission_new(&o);
    assert_non_null(w->admission);
    arena_init(&w->arena, 1 << 20);
    put(w, "", "Namespace",
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\",\"uid\":"
        "\"1\",\"labels\":{\"kubernetes.io/metadata.name\":\"team\"}}}");
}

static void end(struct world *w) {
    arena_release(&w->arena);
    admission_free(w->admission);
    mirror_free(w->mirror);
    virtual_clock_release(&w->clock);
}

static int mutate(struct world *w, const char *ns, const char *meta) {
    char json[1024];
    yyjson_mut_doc *doc;
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"%s},"
             "\"spec\":{\"suspend\":false}}",
             meta);
    assert_int_equal(json_parse_mut(&w->arena, str_of(json), &doc, NULL), 0);
    w->ask = (struct admission_ask){.op = ADMISSION_CREATE,
                                    .kind = kind_by_name(STR("batch"), STR("Job")),
                                    .version = STR("v1"),
                                    .ns = str_of(ns),
                                    .doc = doc,
                                    .obj = yyjson_mut_doc_get_root(doc),
                                    .arena = &w->arena,
                                    .causes = {.arena = &w->arena}};
    return w->admission->mutate(w->admission, &w->ask, &w->err);
}

static bool waits(struct world *w, const char *ns, const char *meta) {
    assert_int_equal(mutate(w, ns, meta), 0);
    return yyjson_mut_is_true(json_mpath(w->ask.obj, "spec.suspend"));
}

static struct str class_of(struct world *w, const char *meta) {
    (void)waits(w, "default", meta);
    return admission_label(&w->ask, ADMISSION_CLASS_LABEL);
}

#define QUEUED ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}"
#define OWNED                                                                                      \
    ",\"ownerReferences\":[{\"apiVersion\":\"a.com/v1\",\"kind\":\"K\",\"name\":\"n\",\"uid\":"    \
    "\"u\",\"controller\":true}]"

static void put_class(struct world *w) {
    put(w, "kueue.x-k8s.io", "WorkloadPriorityClass",
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
        "\"metadata\":{\"name\":\"default\",\"uid\":\"2\"},\"value\":5}");
}

static void by_queue_name(void **state) {
    struct world w;
    start(&w, NULL);
    assert_true(waits(&w, "default", QUEUED));
    assert_false(waits(&w, "default", ""));
    assert_true(waits(&w, "default", QUEUED OWNED)); /* by something that is not queued */
    assert_false(waits(&w, "kube-system", QUEUED));  /* nobody would start it */
    assert_false(waits(&w, "berth-system", QUEUED));
    end(&w);
}

static void all_jobs(void **state) {
    struct queue_settings all = *queue_settings_defaults();
    struct world w;
    all.manage_jobs_without_queue_name = true;
    start(&w, &all);
    put_class(&w);
    assert_true(waits(&w, "default", ""));
    assert_str_eq(admission_label(&w.ask, ADMISSION_CLASS_LABEL), STR("default"));
    assert_str_eq(admission_label(&w.ask, ADMISSION_QUEUE_LABEL), STR(""));
    assert_true(waits(&w, "default", QUEUED));
    assert_true(waits(&w, "default", OWNED));
    assert_false(waits(&w, "kube-system", ""));
    end(&w);
}

static void chosen_namespaces(void **state) {
    struct str team = STR("team");
    struct selector_term term = {STR("kubernetes.io/metadata.name"), SELECTOR_IN, &team, 1, 0};
    struct selector only = {&term, 1, false};
    struct queue_settings k = *queue_settings_defaults();
    struct world w;
    k.manage_jobs_without_queue_name = true;
    k.managed_namespaces = &only;
    start(&w, &k);
    assert_true(waits(&w, "team", ""));
    assert_false(waits(&w, "default", ""));
    assert_false(waits(&w, "default", QUEUED));
    end(&w);
}

static void classes(void **state) {
    struct queue_settings off = *queue_settings_defaults();
    struct world w;
    start(&w, NULL);
    assert_str_eq(class_of(&w, QUEUED), STR(""));
    put_class(&w);
    assert_str_eq(class_of(&w, QUEUED), STR("default"));
    assert_str_eq(class_of(&w, ""), STR(""));
    assert_str_eq(class_of(&w, ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\","
                               "\"kueue.x-k8s.io/priority-class\":\"own\"}"),
                  STR("own"));
    end(&w);
    off.gates.priority_class_defaulting = false;
    start(&w, &off);
    put_class(&w);
    assert_true(waits(&w, "default", QUEUED));
    assert_str_eq(class_of(&w, QUEUED), STR(""));
    end(&w);
}

static void default_queue(void **state) {
    struct world w;
    start(&w, NULL);
    put(&w, "kueue.x-k8s.io", "LocalQueue",
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
        "{\"name\":\"default\",\"namespace\":\"team\",\"uid\":\"3\"},\"spec\":{}}");
    assert_true(waits(&w, "team", ""));
    assert_str_eq(admission_label(&w.ask, ADMISSION_QUEUE_LABEL), STR("default"));
    assert_true(waits(&w, "team", QUEUED));
    assert_str_eq(admission_label(&w.ask, ADMISSION_QUEUE_LABEL), STR("q"));
    assert_false(waits(&w, "default", ""));
    end(&w);
}

static void held(void **state) {
    static const char *const before[] = {"{\"metadata\":{\"name\":\"q\"}}",
                                         "{\"metadata\":{\"finalizers\":[\"a/b\"]}}",
                                         "{\"metadata\":{\"finalizers\":[\"a/b\","
                                         "\"kueue.x-k8s.io/resource-in-use\"]}}"};
    static const size_t after[] = {1, 2, 2};
    struct world w;
    start(&w, NULL);
    for (size_t i = 0; i < 3; i++) {
        yyjson_mut_doc *doc;
        assert_int_equal(json_parse_mut(&w.arena, str_of(before[i]), &doc, NULL), 0);
        struct admission_ask q = {.op = ADMISSION_CREATE,
                                  .kind = kind_by_name(STR("kueue.x-k8s.io"), STR("ClusterQueue")),
                                  .doc = doc,
                                  .obj = yyjson_mut_doc_get_root(doc),
                                  .arena = &w.arena};
        assert_int_equal(w.admission->mutate(w.admission, &q, &w.err), 0);
        yyjson_mut_val *list = json_mpath(q.obj, "metadata.finalizers");
        assert_int_equal(yyjson_mut_arr_size(list), after[i]);
        assert_str_eq(json_mstr(yyjson_mut_arr_get_last(list)),
                      STR("kueue.x-k8s.io/resource-in-use"));
    }
    end(&w);
}

/* A quota of GPUs that no machine has is said at once, to whoever writes it. */
static void more_gpus_than_there_are(void **state) {
    static const struct {
        const char *quota;
        size_t warnings;
    } rows[] = {{"\"40\"", 1}, {"9", 1}, {"\"8\"", 0}, {"0", 0}};
    struct world w;
    start(&w, NULL);
    put(&w, "", "Node",
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"uid\":\"2\"},"
        "\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"4\"}}}");
    put(&w, "", "Node",
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"b\",\"uid\":\"3\","
        "\"annotations\":{\"berth.dev/gpus\":\"{\\\"gpus\\\":[{},{},{},{}]}\"}}}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char json[512];
        yyjson_mut_doc *doc;
        snprintf(
            json, sizeof(json),
            "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"resourceGroups\":[{\"flavors\":[{"
            "\"name\":\"f\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":%s}]}]}]"
            "}}",
            rows[i].quota);
        assert_int_equal(json_parse_mut(&w.arena, str_of(json), &doc, NULL), 0);
        struct admission_ask q = {.op = ADMISSION_UPDATE,
                                  .kind = kind_by_name(STR("kueue.x-k8s.io"), STR("ClusterQueue")),
                                  .doc = doc,
                                  .obj = yyjson_mut_doc_get_root(doc),
                                  .arena = &w.arena};
        assert_int_equal(w.admission->mutate(w.admission, &q, &w.err), 0);
        assert_int_equal(q.n_warnings, rows[i].warnings);
    }
    end(&w);
}

/* Nothing is promised from a mirror that is not full, and kinds that nobody asks about are let through even then. */
static void not_ready(void **state) {
    struct world w;
    start(&w, NULL);
    w.ready = false;
    assert_int_equal(mutate(&w, "default", QUEUED), ERR_UNAVAILABLE);
    w.ask.kind = kind_by_name(STR(""), STR("ConfigMap"));
    assert_int_equal(w.admission->mutate(w.admission, &w.ask, &w.err), 0);
    assert_int_equal(w.admission->validate(w.admission, &w.ask, &w.err), 0);
    end(&w);
}

/* Every row is found by its kind's address where Berth has the kind. */
static void rows(void **state) {
    size_t n, found = 0;
    const struct kind *const *all = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        const struct admission_row *r = admission_find(all[i]);
        found += r != NULL;
        assert_true(r == NULL || r->mutate != NULL || r->validate != NULL);
    }
    assert_true(found >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_queue_name),
        cmocka_unit_test(all_jobs),
        cmocka_unit_test(chosen_namespaces),
        cmocka_unit_test(classes),
        cmocka_unit_test(default_queue),
        cmocka_unit_test(more_gpus_than_there_are),
        cmocka_unit_test(not_ready),
        cmocka_unit_test(rows),
        cmocka_unit_test(held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

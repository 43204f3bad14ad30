/* Tests of admission of pods and of what serves: who waits behind the gate, what templates get, and which changes are
 * refused. */
#include "api/kinds/kinds_foreign.h"
#include "base/mem.h"
#include "base/test.h"
#include "base/virtual_clock.h"
#include "control/admit/admission.h"
#include "control/load/pod_gate.h"

struct world {
    struct virtual_clock clock;
    struct mirror *mirror;
    struct admission *admission;
    struct queue_settings settings;
    struct arena arena;
    struct admission_ask ask; /* the last one */
    struct err err;
    struct buf text;
};

static void put(struct world *w, const char *json) {
    struct object *o;
    yyjson_doc *d;
    assert_ok(json_parse(&w->arena, str_of(json), &d, &w->err), &w->err);
    yyjson_val *root = yyjson_doc_get_root(d);
    const struct kind *k =
        kind_by_api_version(json_str_at(root, "apiVersion"), json_str_at(root, "kind"));
    assert_non_null(k);
    assert_ok(object_new(k, str_of(json), &o, &w->err), &w->err);
    assert_int_equal(mirror_load(w->mirror, o, NULL), 0);
}

#define QUEUE(ns, name)                                                                            \
    "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":"   \
    "\"" name "\",\"namespace\":\"" ns "\",\"uid\":\"" ns name "\"},\"spec\":{}}"

static void start(struct world *w) {
    static bool known;
    size_t n;
    const struct kind *v = kinds_foreign(&n);
    *w = (struct world){.settings = *queue_settings_defaults()};
    for (size_t i = 0; !known && i < n; i++) {
        assert_ok(kinds_add(&v[i], &w->err), &w->err);
    }
    known = true;
    virtual_clock_init(&w->clock, 1000 * NS_PER_SEC);
    w->mirror = mirror_new(&(struct mirror_options){.clock = &w->clock.clock});
    arena_init(&w->arena, 8 << 20);
    buf_init(&w->text, 1 << 20);
    put(w, QUEUE("team", "q"));
    put(w, QUEUE("easy", "default"));
    w->admission =
        admission_new(&(struct admission_options){.mirror = w->mirror, .settings = &w->settings});
    assert_true(w->mirror && w->admission);
}

static void end(struct world *w) {
    admission_free(w->admission);
    mirror_free(w->mirror);
    buf_release(&w->text);
    arena_release(&w->arena);
    virtual_clock_release(&w->clock);
}

static void ask(struct world *w, const char *ns, const char *json, const char *old) {
    yyjson_mut_doc *d;
    yyjson_doc *was = NULL;
    assert_ok(json_parse_mut(&w->arena, str_of(json), &d, &w->err), &w->err);
    if (old) {
        assert_ok(json_parse(&w->arena, str_of(old), &was, &w->err), &w->err);
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    w->ask = (struct admission_ask){
        .op = old ? ADMISSION_UPDATE : ADMISSION_CREATE,
        .kind = kind_by_api_version(json_mstr_at(root, "apiVersion"), json_mstr_at(root, "kind")),
        .version = STR("v1"),
        .ns = str_of(ns),
        .doc = d,
        .obj = root,
        .old = was ? yyjson_doc_get_root(was) : NULL,
        .arena = &w->arena,
        .causes = {.arena = &w->arena}};
    assert_non_null(w->ask.kind);
}

static const char *mutated(struct world *w, const char *ns, const char *json) {
    ask(w, ns, json, NULL);
    assert_ok(w->admission->mutate(w->admission, &w->ask, &w->err), &w->err);
    buf_reset(&w->text);
    json_write_mut(&w->text, w->ask.obj);
    return buf_cstr(&w->text);
}

/* The field of the first cause; empty: it may be stored. */
static const char *refused(struct world *w, const char *ns, const char *json, const char *old) {
    ask(w, ns, json, old);
    assert_ok(w->admission->validate(w->admission, &w->ask, &w->err), &w->err);
    buf_reset(&w->text);
    buf_str(&w->text, w->ask.causes.n ? w->ask.causes.v[0].field : STR(""));
    return buf_cstr(&w->text);
}

#define POD(meta, spec)                                                                            \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"" meta                    \
    "},\"spec\":{" spec "\"containers\":[{\"name\":\"c\"}]}}"
#define LABELS(l) ",\"labels\":{" l "}"
#define NOTES(a) ",\"annotations\":{" a "}"
#define Q "\"kueue.x-k8s.io/queue-name\":\"q\""
#define GATED "\"schedulingGates\":[{\"name\":\"" POD_GATE "\"}],"

#define HAS(text, part) assert_non_null(strstr(text, part))
#define LACKS(text, part) assert_null(strstr(text, part))

static void pods_wait_behind_the_gate(void **state) {
    struct world w;
    start(&w);
    const char *t = mutated(&w, "team", POD(LABELS(Q), ""));
    HAS(t, "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}]");
    HAS(t, "\"finalizers\":[\"kueue.x-k8s.io/managed\"]");
    HAS(t, "\"kueue.x-k8s.io/managed\":\"true\"");
    HAS(t, "\"kueue.x-k8s.io/role-hash\":\"7aa6c7b8\"");
    LACKS(t, "kueue.x-k8s.io/topology");
    LACKS(mutated(&w, "team", POD("", "")), POD_GATE);
    HAS(mutated(&w, "easy", POD("", "")), "\"kueue.x-k8s.io/queue-name\":\"default\"");
    LACKS(mutated(&w, "kube-system", POD(LABELS(Q), "")), POD_GATE);
    /* Twice is once, and what a pod says of its own role counts for nothing. */
    t = mutated(&w, "team",
                POD(LABELS(Q) NOTES("\"" POD_ROLE_HASH "\":\"mine\"") ",\"finalizers\":[\""
                                                                      "kueue.x-k8s.io/managed\"]",
                    GATED));
    HAS(t, "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}]");
    HAS(t, "\"finalizers\":[\"kueue.x-k8s.io/managed\"]");
    LACKS(t, "\"mine\"");
    HAS(t, "\"kueue.x-k8s.io/role-hash\":\"");
    /* On behalf of a parent. */
    t = mutated(&w, "team", POD(NOTES("\"" POD_PARENT "\":\"deployment\""), ""));
    HAS(t, POD_GATE);
    LACKS(t, "finalizers");
    LACKS(t, "\"kueue.x-k8s.io/managed\"");
    w.settings.manage_jobs_without_queue_name = true;
    HAS(mutated(&w, "team", POD("", "")), POD_GATE);
    end(&w);
}

#define OWNED(kind, name, uid)                                                                     \
    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"" kind "\",\"name\":\"" name    \
    "\",\"uid\":\"" uid "\",\"controller\":true}]"

static void a_queued_ancestor_is_respected(void **state) {
    struct world w;
    start(&w);
    put(&w, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
            "\"namespace\":\"easy\",\"uid\":\"u1\",\"labels\":{" Q "}},\"spec\":{}}");
    put(&w, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"k\","
            "\"namespace\":\"easy\",\"uid\":\"u2\"},\"spec\":{}}");
    LACKS(mutated(&w, "easy", POD(LABELS(Q) OWNED("Job", "j", "u1"), "")), POD_GATE);
    HAS(mutated(&w, "easy", POD(LABELS(Q) OWNED("Job", "k", "u2"), "")), POD_GATE);
    /* A Notebook's StatefulSet names no queue, its pods have the Notebook's labels. */
    put(&w, "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"n\","
            "\"namespace\":\"team\",\"uid\":\"u4\"},\"spec\":{}}");
    const char *notebook = mutated(
        &w, "team",
        POD(LABELS(Q) ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\","
                      "\"name\":\"n\",\"uid\":\"u4\",\"controller\":true}]",
            ""));
    HAS(notebook, POD_GATE);
    HAS(notebook, "\"finalizers\":[\"kueue.x-k8s.io/managed\"]");
    /* One that is not known here yet is asked about again. */
    ask(&w, "easy", POD(LABELS(Q) OWNED("Job", "n", "u3"), ""), NULL);
    assert_int_equal(w.admission->mutate(w.admission, &w.ask, &w.err), ERR_UNAVAILABLE);
    assert_string_equal(
        refused(&w, "easy",
                POD(LABELS("\"kueue.x-k8s.io/managed\":\"true\"") OWNED("Job", "j", "u1"), ""),
                NULL),
        "");
    assert_int_equal(w.ask.n_warnings, 1);
    end(&w);
}

#define GROUP LABELS(Q ",\"" POD_GROUP_NAME "\":\"g\"")
#define TOTAL(n) NOTES("\"" POD_GROUP_TOTAL "\":\"" n "\"")

static void pods_have_rules(void **state) {
    static const struct {
        const char *json, *old, *field;
    } rows[] = {
        {POD(LABELS(Q), ""), NULL, ""},
        {POD(LABELS("\"kueue.x-k8s.io/queue-name\":\"Not_a_name\""), ""), NULL,
         "metadata.labels[kueue.x-k8s.io/queue-name]"},
        {POD(LABELS("\"kueue.x-k8s.io/managed\":\"no\""), ""), NULL,
         "metadata.labels[kueue.x-k8s.io/managed]"},
        {POD(LABELS("\"kueue.x-k8s.io/max-exec-time-seconds\":\"0\""), ""), NULL,
         "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]"},
        {POD(GROUP TOTAL("2"), ""), NULL, ""},
        {POD(GROUP, ""), NULL, "metadata.annotations[" POD_GROUP_TOTAL "]"},
        {POD(GROUP TOTAL("0"), ""), NULL, "metadata.annotations[" POD_GROUP_TOTAL "]"},
        {POD(GROUP TOTAL("x"), ""), NULL, "metadata.annotations[" POD_GROUP_TOTAL "]"},
        {POD(TOTAL("2"), ""), NULL, "metadata.labels[" POD_GROUP_NAME "]"},
        {POD(LABELS(Q) NOTES("\"" POD_GROUP_NAME "\":\"g\",\"" POD_GROUP_TOTAL
                             "\":\"2\",\"" POD_PREBUILT "\":\"other\""),
             ""),
         NULL, "metadata.annotations[" POD_PREBUILT "]"},
        {POD(LABELS(Q) NOTES("\"berth.dev/devices\":\"[]\""), ""), NULL,
         "metadata.annotations[berth.dev/devices]"},
        /* changes */
        {POD(LABELS("\"kueue.x-k8s.io/queue-name\":\"r\""), GATED), POD(LABELS(Q), GATED), ""},
        {POD(LABELS("\"kueue.x-k8s.io/queue-name\":\"r\""), ""), POD(LABELS(Q), ""),
         "metadata.labels[kueue.x-k8s.io/queue-name]"},
        {POD(LABELS(Q ",\"" POD_GROUP_NAME "\":\"h\"") TOTAL("2"), GATED),
         POD(GROUP TOTAL("2"), GATED), "metadata.labels[" POD_GROUP_NAME "]"},
        {POD(GROUP TOTAL("2"), GATED),
         POD(GROUP NOTES("\"" POD_GROUP_TOTAL "\":\"2\",\"" POD_RETRIABLE "\":\"false\""), GATED),
         "metadata.annotations[" POD_RETRIABLE "]"},
        {POD(LABELS(Q ",\"kueue.x-k8s.io/priority-class\":\"c\""), ""), POD(LABELS(Q), ""),
         "metadata.labels[kueue.x-k8s.io/priority-class]"},
        {POD(LABELS(Q ",\"kueue.x-k8s.io/priority-class\":\"c\""), GATED), POD(LABELS(Q), GATED),
         ""},
        {POD(LABELS(Q), GATED), POD(LABELS(Q ",\"kueue.x-k8s.io/priority-class\":\"c\""), GATED),
         "metadata.labels[kueue.x-k8s.io/priority-class]"},
    };
    struct world w;
    start(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(refused(&w, "team", rows[i].json, rows[i].old), rows[i].field) != 0) {
            fail_msg("row %zu: %s, not %s", i, refused(&w, "team", rows[i].json, rows[i].old),
                     rows[i].field);
        }
    }
    end(&w);
}

#define SET(kind, meta, spec, status)                                                              \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"" kind                                                 \
    "\",\"metadata\":{\"name\":\"s\",\"uid\":\"u\","                                               \
    "\"namespace\":\"team\"" meta "},\"spec\":{" spec "},\"status\":{" status "}}"
#define TEMPLATE(cpu)                                                                              \
    "\"template\":{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"      \
    "\"requests\":{\"cpu\":\"" cpu "\"}}}]}}"

static void templates_say_that_their_pods_wait(void **state) {
    struct world w;
    start(&w);
    const char *t = mutated(
        &w, "team",
        SET("Deployment", LABELS(Q ",\"kueue.x-k8s.io/priority-class\":\"c\""), TEMPLATE("1"), ""));
    HAS(t,
        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\",\"kueue.x-k8s.io/priority-class\":\"c\","
        "\"kueue.x-k8s.io/managed\":\"true\"}");
    HAS(t, "\"kueue.x-k8s.io/pod-suspending-parent\":\"deployment\"");
    LACKS(mutated(&w, "team", SET("Deployment", "", TEMPLATE("1"), "")), POD_PARENT);
    t = mutated(&w, "team", SET("StatefulSet", LABELS(Q), TEMPLATE("1"), ""));
    HAS(t, "\"kueue.x-k8s.io/pod-suspending-parent\":\"statefulset\"");
    LACKS(t, "\"kueue.x-k8s.io/managed\"");
    t = mutated(&w, "team",
                SET("StatefulSet", LABELS(Q),
                    "\"template\":{\"metadata\":{\"annotations\":{\"" POD_PARENT "\":\"other\"}}}",
                    ""));
    HAS(t, "\"other\"");
    LACKS(t, "\"statefulset\"");
    t = mutated(&w, "team",
                "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\","
                "\"metadata\":{\"name\":\"l\",\"labels\":{" Q
                "}},\"spec\":{\"leaderWorkerTemplate\":{"
                "\"leaderTemplate\":{\"spec\":{}},\"workerTemplate\":{\"spec\":{}}}}}");
    HAS(t, "\"leaderTemplate\":{\"spec\":{},\"metadata\":{\"annotations\":{\"" POD_PARENT
           "\":\"leaderworkerset.x-k8s.io/leaderworkerset\",\"" POD_GROUP_SERVING "\":\"true\"}");
    HAS(t, "\"workerTemplate\":{\"spec\":{},\"metadata\":{\"annotations\":{\"" POD_PARENT);
    end(&w);
}

#define S(q, replicas, cpu, status)                                                                \
    SET("StatefulSet", LABELS("\"kueue.x-k8s.io/queue-name\":\"" q "\""),                          \
        "\"replicas\":" replicas "," TEMPLATE(cpu), status)
#define READY "\"readyReplicas\":1"

static void what_serves_has_rules(void **state) {
    static const struct {
        const char *json, *old, *field;
    } rows[] = {
        {S("q", "2", "1", ""), S("q", "2", "1", ""), ""},
        {S("r", "2", "1", ""), S("q", "2", "1", ""), ""},
        {S("r", "2", "1", READY), S("q", "2", "1", READY),
         "metadata.labels[kueue.x-k8s.io/queue-name]"},
        {SET("StatefulSet", "", TEMPLATE("1"), ""),
         SET("StatefulSet", LABELS(Q), TEMPLATE("1"), ""),
         "metadata.labels[kueue.x-k8s.io/queue-name]"},
        {S("q", "3", "1", ""), S("q", "2", "1", ""), "spec.replicas"},
        {S("q", "0", "1", ""), S("q", "2", "1", ""), ""},
        {S("q", "3", "1", ""), S("q", "0", "1", ""), ""},
        {S("q", "3", "1", "\"replicas\":1"), S("q", "0", "1", "\"replicas\":1"), "spec.replicas"},
        {S("q", "2", "2", ""), S("q", "2", "1", ""),
         "spec.template.spec.containers[0].resources.requests"},
        {S("q", "2", "1000m", ""), S("q", "2", "1", ""), ""},
    };
    struct world w;
    start(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(refused(&w, "team", rows[i].json, rows[i].old), rows[i].field) != 0) {
            fail_msg("row %zu: %s, not %s", i, refused(&w, "team", rows[i].json, rows[i].old),
                     rows[i].field);
        }
    }
#define L(size)                                                                                    \
    "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{"  \
    "\"name\":\"l\",\"labels\":{" Q "}},\"spec\":{\"leaderWorkerTemplate\":{\"size\":" size "}}}"
    assert_string_equal(refused(&w, "team", L("3"), L("2")), "spec.leaderWorkerTemplate.size");
    assert_string_equal(refused(&w, "team", L("2"), L("2")), "");
    end(&w);
}

/* Out of memory is said, whichever allocation fails. */
static void memory_may_fail(void **state) {
    struct world w;
    start(&w);
    for (uint64_t n = 1;; n++) {
        ask(&w, "team", POD(LABELS(Q), ""), NULL);
        mem_fault(n, 0);
        int r = w.admission->mutate(w.admission, &w.ask, &w.err);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(r == 0 || r == ERR_NOMEM);
        if (!hit) {
            assert_int_equal(r, 0);
            break;
        }
    }
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_wait_behind_the_gate),
        cmocka_unit_test(a_queued_ancestor_is_respected),
        cmocka_unit_test(pods_have_rules),
        cmocka_unit_test(templates_say_that_their_pods_wait),
        cmocka_unit_test(what_serves_has_rules),
        cmocka_unit_test(memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

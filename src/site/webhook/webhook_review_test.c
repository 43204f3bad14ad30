/* Tests of reviews: what is answered to a kube-apiserver, byte for byte where it matters. */
#include "site/webhook/webhook_review.h"

#include "base/test.h"
#include "wire/json/json.h"
#include "wire/json/patch.h"
#include "wire/text/base64.h"

/* An admission that labels what is created, warns, and denies or blames by name. */
struct fake {
    struct admission a;
    bool ready;
};

static int fake_mutate(struct admission *a, struct admission_ask *q, struct err *err) {
    if (!((struct fake *)a)->ready) {
        return err_set(err, ERR_UNAVAILABLE, "not yet");
    }
    yyjson_mut_val *labels = json_mensure(q->doc, q->obj, "metadata.labels");
    assert_int_equal(json_mset_str(q->doc, labels, "seen-by/x", q->user), 0);
    q->warnings[q->n_warnings++] = STR("mind \"this\"");
    return 0;
}

static int fake_validate(struct admission *a, struct admission_ask *q, struct err *err) {
    if (str_is(q->name, "denied")) {
        q->denied = STR("not today");
    } else if (str_is(q->name, "blamed")) {
        causes_add(&q->causes, CAUSE_INVALID, STR("spec.x"), "Invalid value: 1: too small");
    } else if (q->op == ADMISSION_DELETE) {
        assert_null(q->obj);
        assert_non_null(q->old);
    }
    return 0;
}

struct bench {
    struct fake fake;
    struct arena a;
    struct buf out;
    struct err err;
    enum webhook_verdict verdict;
    yyjson_val *response;
};

static void start(struct bench *b) {
    *b = (struct bench){.fake = {{fake_mutate, fake_validate}, true}};
    arena_init(&b->a, 16 << 20);
    buf_init(&b->out, 0);
}

static void end(struct bench *b) {
    arena_release(&b->a);
    buf_release(&b->out);
}

static int ask_raw(struct bench *b, const char *path, const char *body) {
    const struct webhook *w = webhook_by_path(str_of(path));
    yyjson_doc *doc;
    buf_reset(&b->out);
    int r = w != NULL
                ? webhook_review(w, &b->fake.a, str_of(body), &b->a, &b->out, &b->verdict, &b->err)
                : webhook_convert(str_of(body), &b->a, &b->out, &b->verdict, &b->err);
    if (r == 0) {
        assert_int_equal(json_parse(&b->a, buf_view(&b->out), &doc, NULL), 0);
        b->response = json_get(yyjson_doc_get_root(doc), STR("response"));
        assert_str_eq(json_str_at(b->response, "uid"), STR("u-1"));
    }
    return r;
}

/* obj and old may be NULL. */
static int ask(struct bench *b, const char *path, const char *op, const char *name,
               const char *version, const char *kind, const char *plural, const char *obj,
               const char *old) {
    char body[8192], *slash = strchr(version, '/');
    int group = slash != NULL ? (int)(slash - version) : 0;
    snprintf(
        body, sizeof(body),
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
        "\"uid\":\"u-1\",\"operation\":\"%s\",\"name\":\"%s\",\"namespace\":\"team\",\"kind\":{"
        "\"group\":\"%.*s\",\"version\":\"%s\",\"kind\":\"%s\"},\"resource\":{\"resource\":"
        "\"%s\"},\"userInfo\":{\"username\":\"ada\",\"groups\":[\"g\"]},\"object\":%s,"
        "\"oldObject\":%s}}",
        op, name, group, version, slash != NULL ? slash + 1 : version, kind, plural,
        obj != NULL ? obj : "null", old != NULL ? old : "null");
    return ask_raw(b, path, body);
}

/* The patch of the answer, applied to what was sent. */
static yyjson_mut_val *patched(struct bench *b, const char *obj) {
    yyjson_doc *ops;
    yyjson_mut_doc *d;
    struct err err = {0};
    assert_str_eq(json_str_at(b->response, "patchType"), STR("JSONPatch"));
    struct str patch = base64_decode(&b->a, json_str_at(b->response, "patch"));
    assert_ok(json_parse(&b->a, patch, &ops, &err), &err);
    assert_int_equal(json_parse_mut(&b->a, str_of(obj), &d, NULL), 0);
    assert_ok(patch_json(d, yyjson_doc_get_root(ops), &err), &err);
    return yyjson_mut_doc_get_root(d);
}

static const char job[] = "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                          "\"j\"},\"spec\":{\"unknown\":[1,2]}}";

static void mutating(void **state) {
    struct bench b;
    start(&b);
    assert_int_equal(
        ask(&b, "/mutate-batch-v1-job", "CREATE", "j", "batch/v1", "Job", "jobs", job, NULL), 0);
    assert_int_equal(b.verdict, WEBHOOK_PATCHED);
    assert_true(json_bool_at(b.response, "allowed", false));
    yyjson_mut_val *now = patched(&b, job);
    assert_str_eq(json_mstr(json_mget(json_mpath(now, "metadata.labels"), STR("seen-by/x"))),
                  STR("ada"));
    assert_int_equal(yyjson_mut_arr_size(json_mpath(now, "spec.unknown")), 2); /* nothing is lost */
    assert_str_eq(json_str(yyjson_arr_get_first(json_get(b.response, STR("warnings")))),
                  STR("mind \"this\""));
    b.fake.ready = false;
    assert_int_equal(
        ask(&b, "/mutate-batch-v1-job", "CREATE", "j", "batch/v1", "Job", "jobs", job, NULL),
        ERR_UNAVAILABLE);
    end(&b);
}

/* A kind that nobody has tables of is let through as it is. */
static void unknown_kind(void **state) {
    struct bench b;
    start(&b);
    assert_int_equal(ask(&b, "/mutate-ray-io-v1-rayjob", "CREATE", "j", "ray.io/v1", "RayJob",
                         "rayjobs", "{}", NULL),
                     0);
    assert_int_equal(b.verdict, WEBHOOK_ALLOWED);
    assert_null(json_get(b.response, STR("patch")));
    end(&b);
}

#define CQ(version_, spec_)                                                                        \
    "{\"apiVersion\":\"kueue.x-k8s.io/" version_ "\",\"kind\":\"ClusterQueue\",\"metadata\":{"     \
    "\"name\":\"q\",\"uid\":\"1\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"generation\":"  \
    "1},"                                                                                          \
    "\"spec\":" spec_ "}"
#define ONE_QUOTA(v_)                                                                              \
    "{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\","           \
    "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":" v_ "}]}]}]}"
#define V2 "kueue.x-k8s.io/v1beta2", "ClusterQueue", "clusterqueues"
#define V1 "kueue.x-k8s.io/v1beta1", "ClusterQueue", "clusterqueues"
#define MCQ "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue"
#define VCQ "/validate-kueue-x-k8s-io-v1beta2-clusterqueue"

static void own_kinds_are_defaulted(void **state) {
    static const char v2[] = CQ("v1beta2", "{\"cohortName\":\"c\"}");
    static const char v1[] = CQ("v1beta1", "{\"cohort\":\"c\"}");
    struct bench b;
    start(&b);
    assert_int_equal(ask(&b, MCQ, "CREATE", "q", V2, v2, NULL), 0);
    yyjson_mut_val *now = patched(&b, v2);
    assert_str_eq(json_mstr_at(now, "spec.queueingStrategy"), STR("BestEffortFIFO"));
    assert_str_eq(json_mstr_at(now, "spec.preemption.reclaimWithinCohort"), STR("Never"));
    assert_int_equal(ask(&b, MCQ, "CREATE", "q", V1, v1, NULL), 0);
    now = patched(&b, v1); /* in the version that was sent */
    assert_str_eq(json_mstr_at(now, "apiVersion"), STR("kueue.x-k8s.io/v1beta1"));
    assert_str_eq(json_mstr_at(now, "spec.cohort"), STR("c"));
    assert_null(json_mpath(now, "spec.cohortName"));
    assert_str_eq(json_mstr_at(now, "spec.queueingStrategy"), STR("BestEffortFIFO"));
    end(&b);
}

static void own_kinds_are_checked(void **state) {
    struct bench b;
    start(&b);
    assert_int_equal(
        ask(&b, VCQ, "CREATE", "q", V2, CQ("v1beta2", "{\"queueingStrategy\":\"Other\"}"), NULL),
        0);
    assert_int_equal(b.verdict, WEBHOOK_DENIED);
    assert_false(json_bool_at(b.response, "allowed", true));
    assert_int_equal(json_i64_at(b.response, "status.code", 0), 422);
    assert_str_eq(json_str_at(b.response, "status.reason"), STR("Invalid"));
    yyjson_val *cause = yyjson_arr_get_first(json_path(b.response, "status.details.causes"));
    assert_str_eq(json_str_at(cause, "field"), STR("spec.queueingStrategy"));
    assert_str_eq(json_str_at(cause, "reason"), STR("FieldValueNotSupported"));
    assert_true(str_starts(json_str_at(b.response, "status.message"),
                           STR("ClusterQueue.kueue.x-k8s.io \"q\" is invalid: "
                               "spec.queueingStrategy: Unsupported value: \"Other\"")));
    assert_int_equal(ask(&b, VCQ, "UPDATE", "q", V2, CQ("v1beta2", "{}"), CQ("v1beta2", "{}")), 0);
    assert_int_equal(b.verdict, WEBHOOK_ALLOWED);
    /* Amounts may be numbers on a cluster, and are not spelled anew by an update. */
    assert_int_equal(
        ask(&b, VCQ, "UPDATE", "q", V2, CQ("v1beta2", ONE_QUOTA("4")), CQ("v1beta2", "{}")), 0);
    assert_int_equal(b.verdict, WEBHOOK_ALLOWED);
    assert_int_equal(
        ask(&b, VCQ, "UPDATE", "q", V2, CQ("v1beta2", ONE_QUOTA("-1")), CQ("v1beta2", "{}")), 0);
    assert_int_equal(b.verdict, WEBHOOK_DENIED);
    cause = yyjson_arr_get_first(json_path(b.response, "status.details.causes"));
    assert_str_eq(json_str_at(cause, "message"),
                  STR("Invalid value: \"-1\": must be greater than or equal to 0"));
    end(&b);
}

/* Rules about changes see what was there, also when it comes in the other version. */
static void changes_are_checked(void **state) {
    static const char was[] =
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"kind\":\"ResourceFlavor\",\"metadata\":{"
        "\"name\":\"f\"},\"spec\":{\"nodeLabels\":{\"a\":\"b\"},\"topologyName\":\"t\"}}";
    static const char now[] =
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"kind\":\"ResourceFlavor\",\"metadata\":{"
        "\"name\":\"f\"},\"spec\":{\"nodeLabels\":{\"a\":\"b\"},\"topologyName\":\"u\"}}";
    struct bench b;
    start(&b);
    assert_int_equal(ask(&b, "/validate-kueue-x-k8s-io-v1beta2-resourceflavor", "UPDATE", "f",
                         "kueue.x-k8s.io/v1beta1", "ResourceFlavor", "resourceflavors", now, was),
                     0);
    assert_int_equal(b.verdict, WEBHOOK_DENIED);
    assert_true(str_contains(json_str_at(b.response, "status.message"), STR("immutable")));
    end(&b);
}

static void validating(void **state) {
    struct bench b;
    start(&b);
    assert_int_equal(
        ask(&b, "/validate-batch-v1-job", "CREATE", "denied", "batch/v1", "Job", "jobs", job, NULL),
        0);
    assert_int_equal(json_i64_at(b.response, "status.code", 0), 403);
    assert_str_eq(json_str_at(b.response, "status.message"), STR("not today"));
    assert_int_equal(
        ask(&b, "/validate-batch-v1-job", "CREATE", "blamed", "batch/v1", "Job", "jobs", job, NULL),
        0);
    assert_str_eq(json_str_at(b.response, "status.message"),
                  STR("Job.batch \"j\" is invalid: spec.x: Invalid value: 1: too small"));
    assert_int_equal(
        ask(&b, "/validate-batch-v1-job", "DELETE", "j", "batch/v1", "Job", "jobs", NULL, job), 0);
    assert_true(json_bool_at(b.response, "allowed", false));
    end(&b);
}

static void no_reviews(void **state) {
    static const struct {
        const char *body;
        int code;
    } rows[] = {
        {"", ERR_SYNTAX},
        {"{", ERR_SYNTAX},
        {"[]", ERR_BAD_REQUEST},
        {"{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\"}",
         ERR_BAD_REQUEST},
        {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}", ERR_BAD_REQUEST},
        {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
         "\"uid\":\"1\",\"operation\":\"CONNECT\"}}",
         ERR_BAD_REQUEST},
        {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
         "\"uid\":\"1\",\"operation\":\"CREATE\",\"kind\":{\"group\":\"batch\",\"version\":\"v1\","
         "\"kind\":\"Job\"},\"resource\":{\"resource\":\"jobs\"},\"object\":7}}",
         ERR_BAD_REQUEST},
    };
    struct bench b;
    start(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(ask_raw(&b, "/mutate-batch-v1-job", rows[i].body), rows[i].code);
        assert_true(ask_raw(&b, "/convert", rows[i].body) < 0);
    }
    assert_int_equal(
        ask(&b, "/mutate-batch-v1-job", "CREATE", "p", "v1", "Pod", "pods", "{}", NULL),
        ERR_BAD_REQUEST);
    end(&b);
}

static int convert(struct bench *b, const char *desired, const char *objects) {
    char body[8192];
    snprintf(
        body, sizeof(body),
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":"
        "{\"uid\":\"u-1\",\"desiredAPIVersion\":\"%s\",\"objects\":[%s]}}",
        desired, objects);
    return ask_raw(b, "/convert", body);
}

static void conversion(void **state) {
    struct bench b;
    start(&b);
    assert_int_equal(convert(&b, "kueue.x-k8s.io/v1beta2",
                             CQ("v1beta1", "{\"cohort\":\"c\"}") "," CQ("v1beta2", "{}")),
                     0);
    assert_str_eq(json_str_at(b.response, "result.status"), STR("Success"));
    yyjson_val *list = json_get(b.response, STR("convertedObjects"));
    assert_int_equal(yyjson_arr_size(list), 2);
    assert_str_eq(json_str_at(yyjson_arr_get(list, 0), "spec.cohortName"), STR("c"));
    assert_str_eq(json_str_at(yyjson_arr_get(list, 0), "metadata.uid"), STR("1"));
    assert_str_eq(json_str_at(yyjson_arr_get(list, 1), "apiVersion"),
                  STR("kueue.x-k8s.io/v1beta2"));
    assert_int_equal(convert(&b, "kueue.x-k8s.io/v1beta1", CQ("v1beta2", "{\"cohortName\":\"c\"}")),
                     0);
    list = json_get(b.response, STR("convertedObjects"));
    assert_str_eq(json_str_at(yyjson_arr_get(list, 0), "spec.cohort"), STR("c"));
    assert_int_equal(convert(&b, "kueue.x-k8s.io/v1beta1", ""), 0);
    assert_str_eq(json_str_at(b.response, "result.status"), STR("Success"));
    static const struct {
        const char *to, *objects;
    } bad[] = {
        {"kueue.x-k8s.io/v1", CQ("v1beta2", "{}")},
        {"batch/v1", CQ("v1beta2", "{}")},
        {"kueue.x-k8s.io/v1beta1", "7"},
        {"kueue.x-k8s.io/v1beta1", "{\"apiVersion\":\"a/b\",\"kind\":\"C\"}"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(convert(&b, bad[i].to, bad[i].objects), 0);
        assert_str_eq(json_str_at(b.response, "result.status"), STR("Failure"));
        assert_true(json_str_at(b.response, "result.message").n > 10);
        assert_int_equal(yyjson_arr_size(json_get(b.response, STR("convertedObjects"))), 0);
    }
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutating),
        cmocka_unit_test(unknown_kind),
        cmocka_unit_test(own_kinds_are_defaulted),
        cmocka_unit_test(own_kinds_are_checked),
        cmocka_unit_test(changes_are_checked),
        cmocka_unit_test(validating),
        cmocka_unit_test(no_reviews),
        cmocka_unit_test(conversion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

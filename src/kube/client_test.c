/* Tests of the client and the writer against a scripted server: paths, Status errors, retries, waiting. */
#include "kube/client.h"

#include "kube/fake_server.h"
#include "kube/path.h"
#include "kube/reflector.h"
#include "kube/status.h"
#include "mirror/fake_kind.h"

#define STATUS(reason, code)                                                                       \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"               \
    "\"it is so\",\"reason\":\"" reason "\",\"code\":" #code "}"

static void test_paths(void **state) {
    struct buf b;
    buf_init(&b, 0);
    kube_path(&b, STR("v1"), STR("pods"), STR("a b"), STR("x/y"), STR("log"));
    kube_query(&b, "labelSelector", STR("a=b,c"));
    kube_query(&b, "limit", STR("1"));
    assert_str_eq(buf_view(&b), STR("/api/v1/namespaces/a%20b/pods/x%2Fy/log?"
                                    "labelSelector=a%3Db%2Cc&limit=1"));
    buf_reset(&b);
    kube_path(&b, STR("batch/v1"), STR("jobs"), STR(""), STR(""), STR(""));
    assert_str_eq(buf_view(&b), STR("/apis/batch/v1/jobs"));
    buf_release(&b);
}

static void test_status_codes(void **state) {
    struct err err;
    assert_int_equal(kube_status(201, STR("anything"), &err), 0);
    assert_int_equal(kube_status(409, STR(STATUS("AlreadyExists", 409)), &err), ERR_EXISTS);
    assert_int_equal(kube_status(409, STR(STATUS("Conflict", 409)), &err), ERR_CONFLICT);
    assert_int_equal(kube_status(410, STR(STATUS("Expired", 410)), &err), ERR_EXPIRED);
    assert_int_equal(kube_status(422, STR(STATUS("Invalid", 422)), &err), ERR_INVALID);
    assert_int_equal(kube_status(403, STR(STATUS("Forbidden", 403)), &err), ERR_FORBIDDEN);
    assert_string_equal(err.text, "it is so");
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_int_equal(kube_status(502, STR("<html>\n"), &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "HTTP status 502: <html>");
    assert_int_equal(kube_status(302, STR(""), &err), ERR_BAD_REQUEST);
}

static void test_wait(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .body = "{\"kind\":\"X\"}"},
        {.status = 404, .body = STATUS("NotFound", 404)},
        {.status = 429, .body = "", .header = "Retry-After: 0"},
        {.status = 503, .body = "", .header = "Retry-After: 0"},
        {.status = 200, .body = "third time"},
        {.status = 503, .body = "down"},
    };
    struct fake_server f;
    struct buf body;
    struct err err;
    buf_init(&body, 0);
    fake_start(&f, script, 6);
    assert_str_eq(kube_namespace(f.client), STR("default"));
    assert_ok(kube_wait(f.client, "GET", STR("/a"), STR(""), NULL, &body, &err), &err);
    assert_str_eq(buf_view(&body), STR("{\"kind\":\"X\"}"));
    assert_int_equal(kube_wait(f.client, "GET", STR("/b"), STR(""), NULL, &body, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "it is so");
    buf_reset(&body);
    assert_ok(kube_wait(f.client, "POST", STR("/c"), STR("{}"), NULL, &body, &err), &err);
    assert_str_eq(buf_view(&body), STR("third time"));
    assert_int_equal(kube_wait(f.client, "GET", STR("/d"), STR(""), NULL, NULL, &err),
                     ERR_UNAVAILABLE);
    assert_str_eq(buf_view(&f.seen),
                  STR("GET /a |GET /b |POST /c {}|POST /c {}|POST /c {}|GET /d |"));
    http_server_stop(f.http, 0, NULL, NULL);
    assert_int_equal(kube_wait(f.client, "GET", STR("/e"), STR(""), NULL, NULL, &err),
                     ERR_UNAVAILABLE);
    assert_true(strstr(err.text, "GET http://127.0.0.1:") == err.text);
    assert_non_null(strstr(err.text, "/e: "));
    buf_release(&body);
    fake_stop(&f);
}

/* ---- the writer ---- */

struct results {
    struct fake_server *f;
    int n, codes[8];
    struct buf names;
};

static void on_write(void *ctx, const struct write_result *r) {
    struct results *rs = ctx;
    rs->codes[rs->n++] = r->code;
    if (r->obj) {
        buf_f(&rs->names, "%.*s@%llu ", STR_ARG(r->obj->name), (unsigned long long)r->obj->rv);
    }
    loop_stop(rs->f->loop);
}

#define OBJECT(name, rv)                                                                           \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"n\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv "\"}}"

static void test_writer(void **state) {
    static const struct fake_answer script[] = {
        {.status = 201, .body = OBJECT("a", "7")},
        {.status = 200, .body = OBJECT("a", "8")},
        {.status = 409, .body = STATUS("Conflict", 409)},
        {.status = 200, .body = "{\"kind\":\"Status\",\"status\":\"Success\"}"},
    };
    struct fake_server f;
    struct err err;
    fake_start(&f, script, 4);
    struct results rs = {.f = &f};
    buf_init(&rs.names, 0);
    struct writer *w = kube_writer_new(f.client, NULL, &err);
    struct delete_options o = {
        .uid = STR("u1"), .rv = 5, .grace_seconds = 0, .propagation = STR("Background")};
    writer_create(w, "me", &fake_map, STR("n"), STR("{\"x\":1}"), on_write, &rs);
    assert_int_equal(rs.n, 0); /* never inside the call */
    loop_run(f.loop);
    writer_patch(w, "me", &fake_map, STR("n"), STR("a"), "status", PATCH_MERGE, STR("{}"), on_write,
                 &rs);
    loop_run(f.loop);
    writer_patch(w, "me", &fake_map, STR("n"), STR("a"), "", PATCH_JSON, STR("[]"), on_write, &rs);
    loop_run(f.loop);
    writer_remove(w, "me", &fake_map, STR("n"), STR("a"), &o, on_write, &rs);
    loop_run(f.loop);
    assert_int_equal(rs.n, 4);
    assert_int_equal(rs.codes[0], 0);
    assert_int_equal(rs.codes[2], ERR_CONFLICT);
    assert_int_equal(rs.codes[3], 0);
    assert_str_eq(buf_view(&rs.names), STR("a@7 a@8 "));
    assert_str_eq(buf_view(&f.seen),
                  STR("POST /api/v1/namespaces/n/configmaps?fieldManager=me {\"x\":1}|"
                      "PATCH /api/v1/namespaces/n/configmaps/a/status?fieldManager=me {}|"
                      "PATCH /api/v1/namespaces/n/configmaps/a?fieldManager=me []|"
                      "DELETE /api/v1/namespaces/n/configmaps/a {\"kind\":\"DeleteOptions\","
                      "\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,\"propagationPolicy\":"
                      "\"Background\",\"preconditions\":{\"uid\":\"u1\","
                      "\"resourceVersion\":\"5\"}}|"));
    writer_remove(w, "me", &fake_map, STR("n"), STR("b"), NULL, on_write, &rs);
    kube_writer_free(w); /* what is under way is forgotten */
    buf_release(&rs.names);
    fake_stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_status_codes),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

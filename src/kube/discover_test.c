/* Tests of discovery: aggregated, group by group, and of servers that answer something else. */
#include "kube/discover.h"

#include "kube/fake_server.h"

struct seen {
    struct fake_server *f;
    int code, n;
    struct buf text;
};

static void on_done(void *ctx, int code, const struct discovery *d, const struct err *err) {
    struct seen *s = ctx;
    s->code = code;
    s->n++;
    for (size_t i = 0; d && i < d->n; i++) {
        buf_f(&s->text, "%.*s/%.*s/%.*s=%.*s%s%s%s ", STR_ARG(d->v[i].group),
              STR_ARG(d->v[i].version), STR_ARG(d->v[i].plural), STR_ARG(d->v[i].kind),
              d->v[i].namespaced ? ",ns" : "", d->v[i].status ? ",status" : "",
              d->v[i].preferred ? ",first" : "");
    }
    if (d) {
        const struct discovered *x = discovery_find(d, STR("g"), STR(""), STR("W"));
        buf_f(&s->text, "missing %zu W %.*s", d->missing, STR_ARG(x ? x->version : STR("-")));
        assert_null(discovery_find(d, STR("g"), STR("v9"), STR("W")));
    }
    loop_stop(s->f->loop);
}

static void run(const struct fake_answer *script, size_t n, int code, const char *text,
                const char *asked) {
    struct fake_server f;
    struct err err;
    fake_start(&f, script, n);
    struct seen s = {.f = &f};
    buf_init(&s.text, 0);
    assert_non_null(discover_start(f.client, on_done, &s, &err));
    assert_int_equal(s.n, 0);
    loop_run(f.loop);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.code, code);
    assert_str_eq(buf_view(&s.text), str_of(text));
    assert_str_eq(buf_view(&f.seen), str_of(asked));
    buf_release(&s.text);
    fake_stop(&f);
}

#define RESOURCE(name, kind, scope, more)                                                          \
    "{\"resource\":\"" name "\",\"responseKind\":{\"group\":\"\",\"kind\":\"" kind                 \
    "\"},\"scope\":\"" scope "\"" more "}"
#define LIST                                                                                       \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":["

static void aggregated(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .body =
             LIST "{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\","
                  "\"resources\":[" RESOURCE("pods", "Pod", "Namespaced",
                                             ",\"subresources\":[{\"subresource\":\"log\"},"
                                             "{\"subresource\":\"status\"}]") "]}]}]}"},
        {.status = 200,
         .body = LIST
         "{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v2\",\"resources\":"
         "[" RESOURCE("ws", "W", "Cluster",
                      "") "]},{\"version\":\"v1\",\"resources\":"
                          "[" RESOURCE(
                              "ws", "W", "Cluster",
                              "") "]}]},{\"metadata\":{\"name\":\"h\"},"
                                  "\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\"}]}]}"},
    };
    run(script, 2, 0, "/v1/pods=Pod,ns,status,first g/v2/ws=W,first g/v1/ws=W missing 1 W v2",
        "GET /api |GET /apis |");
}

static void group_by_group(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .body = "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"},
        {.status = 200,
         .body =
             "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"g\",\"versions\":[{\"version\":"
             "\"v1\"},{\"version\":\"v2\"}],\"preferredVersion\":{\"version\":\"v2\"}}]}"},
        {.status = 200,
         .body = "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\","
                 "\"namespaced\":true},{\"name\":\"pods/status\",\"kind\":\"Pod\"}]}"},
        {.status = 503, .body = "down"},
        {.status = 200,
         .body = "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"ws\",\"kind\":\"W\"}]}"},
    };
    run(script, 5, 0, "/v1/pods=Pod,ns,status,first g/v2/ws=W,first missing 1 W v2",
        "GET /api |GET /apis |GET /api/v1 |GET /apis/g/v1 |GET /apis/g/v2 |");
}

static void nonsense(void **state) {
    static const struct fake_answer kind[] = {{.status = 200, .body = "{\"kind\":\"PodList\"}"}};
    static const struct fake_answer html[] = {{.status = 200, .body = "<html>"}};
    static const struct fake_answer no[] = {{.status = 403, .body = "no"}};
    run(kind, 1, ERR_SYNTAX, "", "GET /api |");
    run(html, 1, ERR_SYNTAX, "", "GET /api |");
    run(no, 1, ERR_FORBIDDEN, "", "GET /api |");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aggregated),
        cmocka_unit_test(group_by_group),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

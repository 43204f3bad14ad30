/*
 * Tests of hooks: a server whose writes ask webhooks, and webhooks that answer as their paths say, all on one loop.
 * What they change is stored, what they refuse is not, and what happened meanwhile is not lost.
 */
#include "server/write/hooks.h"

#include "base/mem.h"
#include "base/test.h"
#include "net/http_client.h"
#include "server/server.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"

enum { ASKED = 64 };

struct world {
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
    struct tls_server *tls;
    struct http_server *hooks;
    struct http_client *client;
    struct arena arena;
    struct str bundle;       /* base64 */
    struct str asked[ASKED]; /* path and object of each question */
    size_t n_asked;
    struct http_request *held; /* the one that /hold waits with */
    char held_uid[64];
    int code, status;
    struct str body;
    char warning[64];
    int open;
};

/* ---- the webhooks ---- */

static void answer(struct world *w, struct http_request *r, struct str uid, const char *rest) {
    struct buf b;
    buf_init(&b, 0);
    buf_f(&b,
          "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{"
          "\"uid\":\"%.*s\",%s}}",
          STR_ARG(uid), rest);
    http_respond(r, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

static void patch(struct world *w, struct http_request *r, struct str uid, const char *ops) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"");
    base64_encode(&b, str_of(ops));
    buf_c(&b, "\"");
    answer(w, r, uid, buf_cstr(&b));
    buf_release(&b);
}

static void ignore(void *ctx, const struct write_result *r) {
    assert_int_equal(r->code, 0);
}

static void hook_request(void *ctx, struct http_request *r) {
    struct world *w = ctx;
    yyjson_doc *doc;
    struct str path = http_path(r);
    assert_int_equal(json_parse(http_arena(r), http_body(r), &doc, NULL), 0);
    yyjson_val *q = json_get(yyjson_doc_get_root(doc), STR("request"));
    struct str uid = json_str_at(q, "uid");
    assert_true(w->n_asked < ASKED);
    w->asked[w->n_asked++] = arena_f(&w->arena, "%.*s %.*s", STR_ARG(path), STR_ARG(http_body(r)));
    if (str_is(path, "/label")) {
        patch(w, r, uid,
              "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"by\":\"hook\"}},"
              "{\"op\":\"add\",\"path\":\"/metadata/uid\",\"value\":\"stolen\"},"
              "{\"op\":\"add\",\"path\":\"/unknown\",\"value\":1}]");
    } else if (str_is(path, "/second")) {
        patch(w, r, uid, "[{\"op\":\"add\",\"path\":\"/metadata/labels/two\",\"value\":\"2\"}]");
    } else if (str_is(path, "/deny")) {
        answer(w, r, uid,
               "\"allowed\":false,\"warnings\":[\"mind it\"],\"status\":{\"code\":422,\"reason\":"
               "\"Invalid\",\"message\":\"not so\",\"details\":{\"causes\":[{\"reason\":"
               "\"FieldValueInvalid\",\"field\":\"data.x\",\"message\":\"no\"}]}}");
    } else if (str_is(path, "/refuse")) {
        answer(w, r, uid, "\"allowed\":false");
    } else if (str_is(path, "/meddle") && w->n_asked == 1) {
        /* Somebody else writes the object while we think. */
        struct writer *wr = server_writer(w->server);
        writer_patch(wr, "other", kind_by_name(STR(""), STR("ConfigMap")), STR("default"), STR("c"),
                     "", PATCH_MERGE, STR("{\"data\":{\"other\":\"was here\"}}"), ignore, NULL);
        mirror_flush(w->mirror);
        answer(w, r, uid, "\"allowed\":true");
    } else if (str_is(path, "/hold")) {
        (void)str_copy(uid, w->held_uid, sizeof(w->held_uid));
        w->held = r;
        loop_stop(w->loop);
    } else if (str_is(path, "/rubbish")) {
        http_respond(r, 200, "application/json", STR("{\"response\":7}"));
    } else if (str_is(path, "/other-uid")) {
        answer(w, r, STR("another"), "\"allowed\":true");
    } else {
        answer(w, r, uid, "\"allowed\":true");
    }
}

/* ---- the world ---- */

static void flush(void *ctx) {
    mirror_flush(((struct world *)ctx)->mirror);
}

static void staged(void *ctx) {
    struct world *w = ctx;
    assert_int_equal(loop_defer(w->loop, flush, w), 0);
}

static void create(struct world *w, const char *json) {
    struct err err = {0};
    assert_ok(server_bootstrap(w->server, str_of(json), &err), &err);
    mirror_flush(w->mirror);
}

static void start_hooks(struct world *w) {
    static const struct str names[] = {{"127.0.0.1", 9}};
    struct tls_name n = {.cn = STR("hook"), .alt = names, .n_alt = 1, .server = true};
    struct buf ca, ca_key, cert, key, text;
    struct err err = {0};
    int64_t now = clock_wall(loop_clock(w->loop)) / NS_PER_SEC;
    struct buf *all[] = {&ca, &ca_key, &cert, &key, &text};
    for (size_t i = 0; i < 5; i++) {
        buf_init(all[i], 0);
    }
    assert_ok(tls_pem_ca("test", now - 60, now + 3600, &ca, &ca_key, &err), &err);
    assert_ok(
        tls_pem_cert(buf_view(&ca), buf_view(&ca_key), &n, now - 60, now + 3600, &cert, &key, &err),
        &err);
    w->tls = tls_server_new_pem(buf_view(&cert), buf_view(&key), &err);
    base64_encode(&text, buf_view(&ca));
    w->bundle = arena_str(&w->arena, buf_view(&text));
    struct http_server_options o = {
        .host = STR("127.0.0.1"), .tls = w->tls, .handler = hook_request, .ctx = w};
    assert_ok(http_server_start(w->loop, &o, &w->hooks, &err), &err);
    for (size_t i = 0; i < 5; i++) {
        buf_release(all[i]);
    }
}

static void start(struct world *w) {
    struct err err = {0};
    *w = (struct world){.loop = loop_new(&err)};
    assert_non_null(w->loop);
    arena_init(&w->arena, 64 << 20);
    struct mirror_options mo = {.clock = loop_clock(w->loop), .staged = staged, .staged_ctx = w};
    w->mirror = mirror_new(&mo);
    struct server_options so = {.loop = w->loop, .mirror = w->mirror, .host = STR("127.0.0.1")};
    w->server = server_new(&so, &err);
    assert_non_null(w->server);
    assert_ok(server_start(w->server, &err), &err);
    start_hooks(w);
    struct http_client_options co = {0};
    assert_ok(http_client_new(w->loop, &co, &w->client, &err), &err);
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"default\"}}");
    create(w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"quiet\","
              "\"labels\":{\"hooks\":\"no\"}}}");
    w->n_asked = 0;
}

static void end(struct world *w) {
    http_client_free(w->client);
    server_free(w->server);
    http_server_free(w->hooks);
    tls_server_free(w->tls);
    mirror_free(w->mirror);
    loop_free(w->loop);
    arena_release(&w->arena);
}

/* One webhook of one configuration for some resource ("group\",\"resource"); rest: more members of it. */
static void configure_for(struct world *w, const char *group, const char *resource, bool mutating,
                          const char *name, const char *path, const char *rest) {
    struct buf b;
    buf_init(&b, 0);
    buf_f(&b,
          "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"%sWebhookConfiguration\","
          "\"metadata\":{\"name\":\"%s\"},\"webhooks\":[{\"name\":\"%s.b.c\",\"clientConfig\":{"
          "\"url\":\"https://127.0.0.1:%u%s\",\"caBundle\":\"%.*s\"},\"sideEffects\":\"None\","
          "\"admissionReviewVersions\":[\"v1\"],\"rules\":[{\"operations\":[\"*\"],\"apiGroups\":"
          "[\"%s\"],\"apiVersions\":[\"v1\"],\"resources\":[\"%s\"]}]%s}]}",
          mutating ? "Mutating" : "Validating", name, name,
          str_is(str_of(path), "/dead") ? 1 : http_server_port(w->hooks), path, STR_ARG(w->bundle),
          group, resource, rest);
    create(w, buf_cstr(&b));
    buf_release(&b);
}

static void configure(struct world *w, bool mutating, const char *name, const char *path,
                      const char *rest) {
    configure_for(w, "", "configmaps", mutating, name, path, rest);
}

static void done(void *ctx, const struct http_reply *r) {
    struct world *w = ctx;
    w->code = r->code;
    w->status = r->status;
    w->body = arena_str(&w->arena, r->body);
    loop_stop(w->loop);
}

/* path: with its group; or below the namespaces of the core. */
static struct http_call *send_call(struct world *w, const char *method, const char *path,
                                   const char *body) {
    struct err err = {0};
    struct http_call *call;
    bool merge = strcmp(method, "PATCH") == 0;
    struct str header = merge ? STR("Content-Type: application/merge-patch+json")
                              : STR("Content-Type: application/json");
    struct http_call_options o = {.method = method,
                                  .url = arena_f(&w->arena, "http://127.0.0.1:%u%s%s",
                                                 server_port(w->server),
                                                 path[0] == '/' ? "" : "/api/v1/namespaces/", path),
                                  .headers = &header,
                                  .n_headers = 1,
                                  .body = str_of(body),
                                  .timeout_ms = 30000,
                                  .done = done,
                                  .ctx = w};
    assert_ok(http_client_send(w->client, &o, &call, &err), &err);
    return call;
}

static int call(struct world *w, const char *method, const char *path, const char *body) {
    (void)send_call(w, method, path, body);
    loop_run(w->loop);
    return w->status;
}

static const struct object *get(struct world *w, const char *name) {
    return mirror_get(w->mirror, kind_by_name(STR(""), STR("ConfigMap")), STR("default"),
                      str_of(name));
}

#define C(meta_) "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{" meta_ "}}"

/* ---- */

static void changed_in_order(void **state) {
    struct world w;
    start(&w);
    configure(&w, true, "b", "/second", "");
    configure(&w, true, "a", "/label", "");
    configure(&w, false, "v", "/fine", "");
    assert_int_equal(call(&w, "POST", "default/configmaps", C("\"generateName\":\"g-\"")), 201);
    assert_int_equal(w.n_asked, 3);
    assert_true(str_starts(w.asked[0], STR("/label ")));
    assert_true(str_starts(w.asked[1], STR("/second ")));
    assert_true(str_starts(w.asked[2], STR("/fine ")));
    assert_true(str_contains(w.asked[1], STR("\"by\":\"hook\"")));
    assert_true(str_contains(w.asked[2], STR("\"two\":\"2\"")));
    yyjson_doc *doc, *question;
    assert_int_equal(json_parse(&w.arena, w.body, &doc, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_str_eq(json_str_at(root, "metadata.labels.by"), STR("hook"));
    assert_str_eq(json_str_at(root, "metadata.labels.two"), STR("2"));
    assert_null(json_get(root, STR("unknown")));
    /* One object all the way: what was made up for the first question is what is stored. */
    assert_int_equal(json_parse(&w.arena, str_skip(w.asked[0], 7), &question, NULL), 0);
    yyjson_val *q = json_get(yyjson_doc_get_root(question), STR("request"));
    assert_str_eq(json_str_at(q, "object.metadata.uid"), json_str_at(root, "metadata.uid"));
    assert_str_eq(json_str_at(q, "name"), json_str_at(root, "metadata.name"));
    assert_str_eq(json_str_at(q, "operation"), STR("CREATE"));
    assert_str_eq(json_str_at(q, "resource.resource"), STR("configmaps"));
    assert_str_eq(json_str_at(q, "namespace"), STR("default"));
    assert_true(yyjson_is_null(json_get(q, STR("oldObject"))));
    end(&w);
}

static void refused(void **state) {
    struct world w;
    start(&w);
    configure(&w, false, "v", "/deny", "");
    assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 422);
    assert_true(
        str_contains(w.body, STR("admission webhook \\\"v.b.c\\\" denied the request: not so")));
    assert_true(str_contains(w.body, STR("\"field\":\"data.x\"")));
    assert_null(get(&w, "c"));
    end(&w);
    start(&w);
    configure(&w, true, "m", "/refuse", "");
    assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 403);
    assert_true(str_contains(w.body, STR("denied the request without explanation")));
    end(&w);
}

static void without_an_answer(void **state) {
    static const char *const paths[] = {"/dead", "/rubbish", "/other-uid"};
    for (size_t i = 0; i < 3; i++) {
        struct world w;
        start(&w);
        configure(&w, true, "m", paths[i], "");
        assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 500);
        assert_true(str_contains(w.body, STR("failed calling webhook \\\"m.b.c\\\"")));
        assert_null(get(&w, "c"));
        end(&w);
        start(&w);
        configure(&w, true, "m", paths[i], ",\"failurePolicy\":\"Ignore\"");
        assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 201);
        assert_non_null(get(&w, "c"));
        end(&w);
    }
}

static void who_is_asked(void **state) {
    struct world w;
    start(&w);
    configure(&w, false, "ns", "/refuse",
              ",\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"hooks\",\"operator\":"
              "\"DoesNotExist\"}]}");
    assert_int_equal(call(&w, "POST", "quiet/configmaps", C("\"name\":\"c\"")), 201);
    assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 403);
    assert_int_equal(
        call(&w, "POST", "default/secrets",
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}"),
        201);
    end(&w);
    start(&w);
    configure(&w, false, "o", "/refuse", ",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}");
    assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 201);
    assert_int_equal(
        call(&w, "PATCH", "default/configmaps/c", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
        403);
    end(&w);
}

#define CONDITION(expression_)                                                                     \
    ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"" expression_ "\"}]"

static void conditions_are_met(void **state) {
    static const struct {
        const char *rest;
        int plain, marked;
    } rows[] = {
        {CONDITION("has(object.metadata.annotations) && 'a' in object.metadata.annotations"), 201,
         403},
        {CONDITION("request.userInfo.username != '' && oldObject == null"), 403, 403},
        {CONDITION("request.operation == 'UPDATE'"), 201, 201},
        {CONDITION("object.metadata.annotations.a == 'x'"), 403, 403}, /* cannot be told: refused */
        {CONDITION("object.metadata.annotations.a == 'x'") ",\"failurePolicy\":\"Ignore\"", 201,
         403},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world w;
        start(&w);
        configure(&w, false, "c", "/refuse", rows[i].rest);
        assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")),
                         rows[i].plain);
        assert_int_equal(call(&w, "POST", "default/configmaps",
                              C("\"name\":\"d\",\"annotations\":{\"a\":\"x\"}")),
                         rows[i].marked);
        end(&w);
    }
}

/* A patch meets what somebody else wrote while the webhook was asked: both stay, and it is asked about the result. */
static void state_moved_on(void **state) {
    struct world w;
    start(&w);
    create(&w, C("\"name\":\"c\",\"namespace\":\"default\""));
    configure(&w, false, "v", "/meddle",
              ",\"matchPolicy\":\"Exact\",\"objectSelector\":{\"matchLabels\":{\"a\":\"b\"}}");
    assert_int_equal(call(&w, "PATCH", "default/configmaps/c",
                          "{\"data\":{\"mine\":\"too\"},\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_int_equal(w.n_asked, 2);
    assert_true(str_contains(get(&w, "c")->json, STR("was here")));
    assert_true(str_contains(get(&w, "c")->json, STR("\"mine\":\"too\"")));
    assert_false(str_contains(w.asked[0], STR("was here")));
    assert_true(str_contains(w.asked[1], STR("was here")));
    end(&w);
}

static void deletions(void **state) {
    struct world w;
    start(&w);
    create(&w, C("\"name\":\"c\",\"namespace\":\"default\""));
    create(&w, C("\"name\":\"d\",\"namespace\":\"default\""));
    configure(&w, true, "m", "/fine", "");
    configure(&w, false, "v", "/refuse", "");
    assert_int_equal(call(&w, "DELETE", "default/configmaps/c", ""), 403);
    assert_non_null(get(&w, "c"));
    assert_true(str_contains(w.asked[0], STR("\"operation\":\"DELETE\"")));
    assert_true(str_contains(w.asked[0], STR("\"object\":null")));
    assert_int_equal(call(&w, "DELETE", "default/configmaps", ""), 403);
    assert_non_null(get(&w, "d"));
    end(&w);
    start(&w);
    create(&w, C("\"name\":\"c\",\"namespace\":\"default\""));
    create(&w, C("\"name\":\"d\",\"namespace\":\"default\""));
    configure(&w, true, "m", "/fine", "");
    assert_int_equal(call(&w, "DELETE", "default/configmaps", ""), 200);
    assert_null(get(&w, "c"));
    assert_null(get(&w, "d"));
    assert_int_equal(w.n_asked, 2);
    end(&w);
}

static void once_more(void *ctx) {
    loop_stop(((struct world *)ctx)->loop);
}

/* The caller hangs up while a webhook is asked, which then says yes. */
static void hang_up(struct world *w, struct http_call *c) {
    loop_run(w->loop);
    assert_non_null(w->held);
    http_call_cancel(c);
    struct clock *clock = loop_clock(w->loop);
    struct timer *t = clock->timer_new(clock, once_more, w);
    clock->timer_start(t, 200 * NS_PER_MS);
    loop_run(w->loop);
    answer(w, w->held, str_of(w->held_uid), "\"allowed\":true");
    clock->timer_start(t, 100 * NS_PER_MS);
    loop_run(w->loop);
    clock->timer_free(t);
}

/* Who asked is gone before the webhook answers: nothing is written, and nothing is touched that is no more. */
static void nobody_waits(void **state) {
    static const struct {
        const char *method, *path;
    } rows[] = {{"POST", "default/configmaps"}, {"DELETE", "default/configmaps"}};
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        start(&w);
        create(&w, C("\"name\":\"c\",\"namespace\":\"default\""));
        configure(&w, false, "v", "/hold", "");
        struct http_call *c =
            send_call(&w, rows[i].method, rows[i].path, i == 0 ? C("\"name\":\"d\"") : "");
        hang_up(&w, c);
        assert_null(get(&w, "d"));
        assert_non_null(get(&w, "c"));
        end(&w);
    }
}

#define GIZMO_URL "/apis/x.io/v1/namespaces/default/gizmos"
#define SCALE(n)                                                                                   \
    "{\"apiVersion\":\"autoscaling/"                                                               \
    "v1\",\"kind\":\"Scale\",\"metadata\":{\"name\":\"g\"},\"spec\":{"                             \
    "\"replicas\":" n "}}"

static bool gizmo_has(struct world *w, const char *text) {
    const struct object *o =
        mirror_get(w->mirror, kind_by_name(STR("x.io"), STR("Gizmo")), STR("default"), STR("g"));
    assert_non_null(o);
    return str_contains(o->json, str_of(text));
}

/* A Scale that webhooks are asked about is a Scale after they have answered, too, and nobody's who is gone. */
static void scales(void **state) {
    struct world w;
    start(&w);
    create(
        &w,
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"gizmos.x.io\"},\"spec\":{\"group\":\"x.io\",\"scope\":"
        "\"Namespaced\",\"names\":{\"plural\":\"gizmos\",\"kind\":\"Gizmo\"},\"versions\":[{"
        "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
        "\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"
        "\"n\":{\"type\":\"integer\"},\"replicas\":{\"type\":\"integer\"}}}}}},\"subresources\":"
        "{\"scale\":{\"specReplicasPath\":\".spec.n\",\"statusReplicasPath\":\".status.n\"}}}]}}");
    assert_int_equal(
        call(&w, "POST", GIZMO_URL,
             "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Gizmo\",\"metadata\":{\"name\":\"g\"},"
             "\"spec\":{\"n\":1,\"replicas\":7}}"),
        201);
    configure_for(&w, "x.io", "gizmos/scale", false, "a", "/fine", "");
    assert_int_equal(call(&w, "PUT", GIZMO_URL "/g/scale", SCALE("3")), 200);
    assert_int_equal(w.n_asked, 1);
    assert_true(str_contains(w.asked[0], STR("\"subResource\":\"scale\"")));
    assert_true(gizmo_has(&w, "\"spec\":{\"n\":3,\"replicas\":7}"));
    assert_int_equal(call(&w, "PATCH", GIZMO_URL "/g/scale", "{\"spec\":{\"replicas\":4}}"), 200);
    assert_true(gizmo_has(&w, "\"spec\":{\"n\":4,\"replicas\":7}"));
    configure_for(&w, "x.io", "gizmos/scale", false, "b", "/hold", "");
    hang_up(&w, send_call(&w, "PUT", GIZMO_URL "/g/scale", SCALE("5")));
    assert_true(gizmo_has(&w, "\"spec\":{\"n\":4,\"replicas\":7}"));
    end(&w);
}

/* The server ends while a webhook is being asked. */
static void ended_while_asking(void **state) {
    struct world w;
    start(&w);
    configure(&w, false, "v", "/hold", "");
    (void)send_call(&w, "POST", "default/configmaps", C("\"name\":\"d\""));
    loop_run(w.loop);
    assert_non_null(w.held);
    end(&w);
}

static void configuration_goes_meanwhile(void **state) {
    struct world w;
    struct writer *wr;
    start(&w);
    configure(&w, true, "a", "/hold", "");
    (void)send_call(&w, "POST", "default/configmaps", C("\"name\":\"d\""));
    loop_run(w.loop);
    wr = server_writer(w.server);
    writer_remove(
        wr, "x",
        kind_by_name(STR("admissionregistration.k8s.io"), STR("MutatingWebhookConfiguration")),
        STR(""), STR("a"), NULL, ignore, NULL);
    mirror_flush(w.mirror);
    patch(&w, w.held, str_of(w.held_uid),
          "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"x\":\"y\"}}]");
    loop_run(w.loop);
    assert_int_equal(w.status,
                     201); /* the newest state has no webhook: its answer does not count */
    assert_str_eq(object_label(get(&w, "d"), STR("x")), STR(""));
    end(&w);
}

static void asked_again_if_needed(void **state) {
    struct world w;
    start(&w);
    configure(&w, true, "a", "/fine", ",\"reinvocationPolicy\":\"IfNeeded\"");
    configure(&w, true, "b", "/label", "");
    assert_int_equal(call(&w, "POST", "default/configmaps", C("\"name\":\"c\"")), 201);
    assert_int_equal(w.n_asked, 3);
    assert_true(str_starts(w.asked[2], STR("/fine ")));
    assert_true(str_contains(w.asked[2], STR("\"by\":\"hook\"")));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_in_order),
        cmocka_unit_test(refused),
        cmocka_unit_test(without_an_answer),
        cmocka_unit_test(who_is_asked),
        cmocka_unit_test(conditions_are_met),
        cmocka_unit_test(state_moved_on),
        cmocka_unit_test(deletions),
        cmocka_unit_test(nobody_waits),
        cmocka_unit_test(scales),
        cmocka_unit_test(ended_while_asking),
        cmocka_unit_test(configuration_goes_meanwhile),
        cmocka_unit_test(asked_again_if_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

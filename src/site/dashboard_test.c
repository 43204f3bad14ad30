/* Tests of the dashboard: pages, signing in and out, feeds, over a real socket. */
#include "site/dashboard.h"

#include "site/way/way_bed.h"

static const char bytes[] = "<!doctype html>PAGE"
                            "SCRIPTzz"
                            "ICON";
static const struct asset files[] = {
    {"assets/main-ABCDEFGH.js", "text/javascript; charset=utf-8", "1111", bytes + 19, 6, 2, true},
    {"favicon.svg", "image/svg+xml", "2222", bytes + 27, 4, 0, false},
    {"index.html", "text/html; charset=utf-8", "3333", bytes, 19, 0, false},
};
static const struct assets assets = {files, 3, true};

struct feed {
    struct calendar_source source;
    bool gone;
};

static int get_feed(struct calendar_source *s, struct str token, struct calendar_body *ret,
                    struct err *err) {
    struct feed *f = (struct feed *)s;
    if (f->gone || !str_is(token, "t0ken")) {
        return err_set(err, ERR_NOT_FOUND, "no");
    }
    *ret = (struct calendar_body){.text = STR("BEGIN:VCALENDAR\r\n"),
                                  .etag = STR("\"feed-1\""),
                                  .modified_ns = 1767225600 * NS_PER_SEC};
    return 0;
}

static struct feed feed = {.source = {get_feed}};
static struct calendar_seat seat = {&feed.source};
static bool revoked;
static int signed_out;
static struct dashboard_asking *waiting; /* when answers come later: the last one */
enum { TRIES_AT_ONCE = 10 };
static struct dashboard_asking *held[TRIES_AT_ONCE];
static size_t n_held;
static bool later;

static void tell(struct dashboard_asking *k, struct str token) {
    const struct str groups[] = {STR("vision")};
    struct session_who who = {.user = STR("ana"), .groups = groups, .n_groups = 1};
    struct err err = {0};
    bool known = !revoked && str_is(token, "good");
    int code = known                     ? 0
               : str_is(token, "unsure") ? err_set(&err, ERR_UNAVAILABLE, "not now")
                                         : err_set(&err, ERR_UNAUTHORIZED, "not known");
    dashboard_identified(k, code, &who, &err);
}

static void identify(void *ctx, struct str token, struct dashboard_asking *k) {
    if (later) {
        waiting = held[n_held++ % TRIES_AT_ONCE] = k;
        if (n_held == TRIES_AT_ONCE) {
            loop_stop(((struct bed *)ctx)->loop);
        }
    } else {
        tell(k, token);
    }
}

static void on_signed_out(void *ctx) {
    signed_out++;
}

static void api(struct bed *b, struct http_request *r) {
    const struct session *one = NULL;
    struct err err = {0};
    int code = sessions_of(b->sessions, r, &one, &err);
    struct str who = one ? one->who.user : code == ERR_NOT_FOUND ? STR("anonymous") : STR("no");
    http_respond(r,
                 code == 0 || code == ERR_NOT_FOUND ? 200
                 : code == ERR_FORBIDDEN            ? 403
                                                    : 401,
                 "text/plain", who);
}

static int setup(void **state) {
    static const struct str hosts[] = {{"gpu.example", 11}};
    struct bed *b = mem_zalloc(sizeof(*b));
    struct dashboard_options o = {.assets = &assets,
                                  .calendar = &seat,
                                  .identify = identify,
                                  .signed_out = on_signed_out,
                                  .hosts = hosts,
                                  .n_hosts = 1};
    revoked = later = feed.gone = false;
    signed_out = 0;
    n_held = 0;
    waiting = NULL;
    bed_start(b, &o);
    b->api = api;
    *state = b;
    return 0;
}

static int teardown(void **state) {
    bed_end(*state);
    mem_free(*state);
    return 0;
}

#define ASK(...) bed_ask(b, __VA_ARGS__)
#define BODY assert_str_eq(buf_view(&b->body)
#define JSON "Content-Type: application/json"
#define OURS "X-Berth-Dashboard: 1"

static void test_pages(void **state) {
    struct bed *b = *state;
    ASK("GET", "/", "", 302);
    assert_str_eq(bed_header(b, "Location"), STR("/dashboard/"));
    ASK("GET", "/dashboard", "", 302);
    const char *page[] = {"/dashboard/",
                          "/dashboard/index.html",
                          "/dashboard/calendar/2026-11",
                          "/dashboard/workloads/ns/a.b.c",
                          "/dashboard/signin",
                          "/dashboard/session/x",
                          "/dashboard/..%2f..%2fetc/passwd"};
    for (size_t i = 0; i < sizeof(page) / sizeof(page[0]); i++) {
        ASK("GET", page[i], "", 200);
        BODY, STR("<!doctype html>PAGE"));
        struct str policy = bed_header(b, "Content-Security-Policy");
        assert_true(str_contains(policy, STR("script-src 'self';")));
        assert_true(str_contains(policy, STR("frame-ancestors 'none'")));
        assert_false(str_contains(policy, STR("unsafe")));
        assert_str_eq(bed_header(b, "X-Frame-Options"), STR("DENY"));
        assert_str_eq(bed_header(b, "X-Content-Type-Options"), STR("nosniff"));
        assert_str_eq(bed_header(b, "Referrer-Policy"), STR("no-referrer"));
        assert_str_eq(bed_header(b, "Cache-Control"), STR("no-cache"));
    }
    ASK("GET", "/dashboard/assets/gone-ABCDEFGH.js", "", 404);
    ASK("GET", "/dashboard/assets/", "", 404);
    ASK("POST", "/dashboard/", "", 405);
    assert_str_eq(bed_header(b, "Allow"), STR("GET, HEAD"));
    ASK("HEAD", "/dashboard/", "", 200);
    assert_str_eq(bed_header(b, "Content-Length"), STR("19"));
    BODY, STR(""));
    ASK("GET", "/dashboardish", "", 200);
    BODY, STR("anonymous")); /* not ours */
}

static void test_forms(void **state) {
    struct bed *b = *state;
    const char *script = "/dashboard/assets/main-ABCDEFGH.js";
    ASK("GET", script, "", 200);
    BODY, STR("SCRIPT"));
    assert_str_eq(bed_header(b, "ETag"), STR("\"1111\""));
    assert_str_eq(bed_header(b, "Vary"), STR("Accept-Encoding"));
    assert_true(str_contains(bed_header(b, "Cache-Control"), STR("immutable")));
    assert_str_eq(bed_header(b, "Content-Encoding"), STR(""));
    bed_with(b, "Accept-Encoding: br, gzip;q=0.5", NULL, NULL);
    ASK("GET", script, "", 200);
    BODY, STR("zz"));
    assert_str_eq(bed_header(b, "Content-Encoding"), STR("gzip"));
    assert_str_eq(bed_header(b, "ETag"), STR("\"1111-gz\""));
    ASK("GET", "/dashboard/favicon.svg", "", 200); /* there is no smaller form */
    BODY, STR("ICON"));
    bed_with(b, "Accept-Encoding: gzip", "If-None-Match: \"1111\", W/\"1111-gz\"", NULL);
    ASK("GET", script, "", 304);
    assert_str_eq(bed_header(b, "ETag"), STR("\"1111-gz\""));
    BODY, STR(""));
    bed_with(b, "Accept-Encoding: gzip", "If-None-Match: \"1111\"", NULL);
    ASK("GET", script, "", 200); /* the tag of the other form */
}

static void sign_in(struct bed *b) {
    bed_with(b, JSON, OURS, NULL);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 201);
    bed_keep_cookie(b);
    bed_with(b, NULL, NULL, NULL);
}

/* Pages may ask the gateway at its address, and nothing else but their own server. */
static void test_gateway(void **state) {
    struct bed *b = *state;
    ASK("GET", "/dashboard/", "", 200);
    assert_true(str_contains(bed_header(b, "Content-Security-Policy"), STR("connect-src 'self';")));
    dashboard_set_gateway(b->dashboard, STR("http://127.0.0.1:8091"));
    ASK("GET", "/dashboard/", "", 200);
    assert_true(str_contains(bed_header(b, "Content-Security-Policy"),
                             STR("connect-src 'self' http://127.0.0.1:8091;")));
    sign_in(b);
    ASK("GET", "/dashboard/session", "", 200);
    assert_true(str_contains(buf_view(&b->body), STR("\"gateway\":\"http://127.0.0.1:8091\"")));
}

static void test_sign_in_and_out(void **state) {
    struct bed *b = *state;
    ASK("GET", "/dashboard/session", "", 401);
    sign_in(b);
    struct str cookie = bed_header(b, "Set-Cookie");
    assert_true(str_contains(cookie, STR("; HttpOnly")));
    assert_true(str_contains(cookie, STR("; SameSite=Strict")));
    assert_true(str_contains(cookie, STR("; Path=/")));
    assert_false(str_contains(cookie, STR("good"))); /* the token stays here */
    assert_true(str_contains(buf_view(&b->body), STR("\"user\":\"ana\",\"groups\":[\"vision\"]")));
    assert_true(str_contains(buf_view(&b->body), STR("\"world\":\"test\"")));
    assert_false(str_contains(buf_view(&b->body), STR("gateway")));
    assert_str_eq(bed_header(b, "Cache-Control"), STR("no-store"));
    ASK("GET", "/dashboard/session", "", 200);
    ASK("GET", "/api/v1/pods", "", 200);
    BODY, STR("ana"));
    ASK("DELETE", "/dashboard/session", "", 403); /* without the header */
    ASK("POST", "/api/v1/pods", "{}", 403);
    bed_with(b, OURS, NULL, NULL);
    ASK("POST", "/api/v1/pods", "{}", 200);
    ASK("DELETE", "/dashboard/session", "", 204);
    assert_true(str_contains(bed_header(b, "Set-Cookie"), STR("Max-Age=0")));
    assert_int_equal(signed_out, 1);
    bed_with(b, NULL, NULL, NULL);
    ASK("GET", "/api/v1/pods", "", 401); /* the cookie is still sent, and says nothing any more */
    ASK("GET", "/dashboard/session", "", 401);
    b->cookie[0] = 0;
    ASK("GET", "/api/v1/pods", "", 200);
    BODY, STR("anonymous"));
    bed_with(b, OURS, NULL, NULL);
    ASK("GET", "/api/v1/pods", "", 401); /* a page of ours never means anonymous */
}

static void test_from_elsewhere(void **state) {
    struct bed *b = *state;
    char own[64];
    sign_in(b);
    bed_with(b, "Origin: http://evil.example", OURS, NULL);
    ASK("GET", "/api/v1/pods", "", 403);
    ASK("POST", "/api/v1/pods", "{}", 403);
    bed_with(b, "Sec-Fetch-Site: cross-site", NULL, NULL);
    ASK("GET", "/api/v1/pods", "", 403);
    bed_with(b, "Sec-Fetch-Site: same-site", NULL, NULL); /* another port of this host */
    ASK("GET", "/api/v1/pods", "", 403);
    snprintf(own, sizeof(own), "Origin: http://127.0.0.1:%u", http_server_port(b->http));
    bed_with(b, own, OURS, "Sec-Fetch-Site: same-origin");
    ASK("POST", "/api/v1/pods", "{}", 200);
    b->cookie[0] = 0; /* signing somebody in, into the attacker's own session */
    bed_with(b, JSON, "Origin: http://evil.example", OURS);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 403);
    bed_with(b, JSON, NULL, NULL);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 403);
    bed_with(b, "Content-Type: text/plain", OURS, NULL);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 415);
}

/* A proxy that ends TLS: browsers speak https to a name that was configured, and say so. */
static void test_proxy(void **state) {
    struct bed *b = *state;
    const char *host = "Host: gpu.example",
               *bad[] = {"Origin: https://gpu.example:8443", "Origin: https://evil.example",
                         "Origin: https://gpu.example.evil"};
    bed_with(b, JSON, OURS, host);
    b->headers[b->n_headers++] = STR("Origin: https://gpu.example");
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 201);
    bed_keep_cookie(b);
    bed_with(b, "Origin: https://gpu.example", OURS, host);
    ASK("POST", "/api/v1/pods", "{}", 200);
    bed_with(b, "Origin: https://gpu.example:8443", OURS, "Host: gpu.example:8443");
    ASK("POST", "/api/v1/pods", "{}", 200);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bed_with(b, bad[i], OURS, host);
        ASK("POST", "/api/v1/pods", "{}", 403);
    }
    bed_with(b, "Origin: https://localhost:8090", OURS, "Host: localhost:8090");
    ASK("POST", "/api/v1/pods", "{}", 403); /* no proxy has that name */
}

static void test_host(void **state) {
    struct bed *b = *state;
    const char *good[] = {"Host: localhost",       "Host: LOCALHOST:1", "Host: 127.0.0.1",
                          "Host: [::1]",           "Host: [::1]:8090",  "Host: 127.1.2.3:8090",
                          "Host: gpu.example:8090"};
    const char *bad[] = {"Host: evil.example",  "Host: localhost.evil.example",
                         "Host: 127.0.0.1.nip", "Host: 10.0.0.1",
                         "Host: [::2]",         "Host: 127.0.0.256",
                         "Host: 127.1",         "Host: gpu.example.evil"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        bed_with(b, good[i], NULL, NULL);
        ASK("GET", "/dashboard/", "", 200);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bed_with(b, bad[i], NULL, NULL);
        ASK("GET", "/dashboard/", "", 421);
        ASK("GET", "/api/v1/pods", "", 421);
        ASK("GET", "/calendar/t0ken.ics", "", 421);
    }
}

static void test_wrong_tokens(void **state) {
    struct bed *b = *state;
    const char *bodies[] = {
        "", "{", "[]", "{\"token\":\"\"}", "{\"token\":1}", "{\"token\":\"good\",\"code\":\"x\"}"};
    bed_with(b, JSON, OURS, NULL);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        ASK("POST", "/dashboard/session", bodies[i], 400);
    }
    ASK("POST", "/dashboard/session", "{\"token\":\"unsure\"}", 503);
    for (int i = 0; i < 9; i++) {
        ASK("POST", "/dashboard/session", "{\"token\":\"bad\"}", 401);
        assert_str_eq(bed_header(b, "Set-Cookie"), STR(""));
    }
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}",
        201); /* who is right is not counted */
    ASK("POST", "/dashboard/session", "{\"token\":\"bad\"}", 401);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 429);
    assert_str_eq(bed_header(b, "Retry-After"), STR("3"));
    for (int i = 0; i < 10; i++) { /* who guesses at tokens keeps nobody from a link, */
        ASK("POST", "/dashboard/session", "{\"code\":\"bad\"}", 401);
    }
    ASK("POST", "/dashboard/session", "{\"code\":\"bad\"}", 429);
    char code[SESSION_ID_MAX], body[200];
    struct session_who who = {.user = STR("root")};
    struct err err = {0};
    assert_ok(sessions_mint(b->sessions, &who, code, &err), &err);
    snprintf(body, sizeof(body), "{\"code\":\"%s\"}", code);
    ASK("POST", "/dashboard/session", body, 201); /* nor does who guesses at links */
    ASK("PUT", "/dashboard/session", "", 405);
}

static void gather(void *ctx, const struct http_reply *r) {
    struct bed *b = ctx;
    b->status = r->status;
    loop_stop(b->loop);
}

/* A sign-in that is not waited for. */
static struct http_call_options signing_in(struct bed *b, struct str body,
                                           void (*done)(void *ctx, const struct http_reply *r)) {
    static const struct str headers[] = {STR(JSON), STR(OURS)};
    static char url[2048];
    bed_url(b, "/dashboard/session", url);
    return (struct http_call_options){.method = "POST",
                                      .url = str_of(url),
                                      .headers = headers,
                                      .n_headers = 2,
                                      .body = body,
                                      .done = done,
                                      .ctx = b};
}

/* Those that are still looked at count; those that were right do not any more. */
static void test_tries_at_once(void **state) {
    struct bed *b = *state;
    struct http_call_options o = signing_in(b, STR("{\"token\":\"held\"}"), gather);
    bed_with(b, JSON, OURS, NULL);
    later = true;
    for (size_t i = 0; i < TRIES_AT_ONCE; i++) {
        assert_int_equal(http_client_send(b->client, &o, NULL, NULL), 0);
    }
    loop_run(b->loop);
    assert_int_equal(n_held, TRIES_AT_ONCE);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 429);
    for (size_t i = 0; i < TRIES_AT_ONCE; i++) {
        tell(held[i], STR("good"));
        loop_run(b->loop);
        assert_int_equal(b->status, 201);
    }
    later = false;
    for (size_t i = 0; i < TRIES_AT_ONCE; i++) {
        ASK("POST", "/dashboard/session", "{\"token\":\"bad\"}", 401);
    }
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 429);
}

static void test_revoked(void **state) {
    struct bed *b = *state;
    sign_in(b);
    revoked = true;
    ASK("GET", "/dashboard/session", "", 401);
    assert_int_equal(signed_out, 1);
    revoked = false;
    ASK("GET", "/dashboard/session", "", 401); /* the session is over, whatever the token does */
}

static void test_code(void **state) {
    struct bed *b = *state;
    char code[SESSION_ID_MAX], body[200];
    struct session_who who = {.user = STR("root")};
    struct err err = {0};
    assert_ok(sessions_mint(b->sessions, &who, code, &err), &err);
    snprintf(body, sizeof(body), "{\"code\":\"%s\"}", code);
    bed_with(b, JSON, OURS, NULL);
    ASK("POST", "/dashboard/session", body, 201);
    bed_keep_cookie(b);
    ASK("POST", "/dashboard/session", body, 401);
    ASK("GET", "/dashboard/session", "", 200); /* nobody has to be asked about it */
    assert_true(str_contains(buf_view(&b->body), STR("\"user\":\"root\"")));
}

static void leave(void *ctx) {
    struct bed *b = ctx;
    loop_stop(b->loop);
}

/* The browser leaves before the token was looked at; and the server, too. */
static void test_nobody_waits(void **state) {
    struct bed *b = *state;
    struct http_call_options o = signing_in(b, STR("{\"token\":\"good\"}"), bed_done);
    later = true;
    struct clock *c = loop_clock(b->loop);
    struct timer *t = c->timer_new(c, leave, b);
    for (int i = 0; i < 2; i++) {
        struct http_call *call;
        waiting = NULL;
        assert_int_equal(http_client_send(b->client, &o, &call, NULL), 0);
        while (waiting == NULL) {
            c->timer_start(t, 5 * NS_PER_MS);
            loop_run(b->loop);
        }
        http_call_cancel(call);
        for (int k = 0; k < 5; k++) {
            c->timer_start(t, 5 * NS_PER_MS);
            loop_run(b->loop);
        }
        if (i == 0) {
            tell(waiting, STR("good"));
        } /* the second one is never told: dashboard_free lets go of it */
    }
    c->timer_free(t);
    assert_int_equal(sessions_count(b->sessions), 0);
}

static void test_feeds(void **state) {
    struct bed *b = *state;
    ASK("GET", "/calendar/t0ken.ics", "", 200);
    assert_str_eq(bed_header(b, "Content-Type"), STR("text/calendar; charset=utf-8"));
    assert_str_eq(bed_header(b, "Last-Modified"), STR("Thu, 01 Jan 2026 00:00:00 GMT"));
    BODY, STR("BEGIN:VCALENDAR\r\n"));
    bed_with(b, "If-None-Match: \"feed-1\"", NULL, NULL);
    ASK("GET", "/calendar/t0ken.ics", "", 304);
    bed_with(b, "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT", NULL, NULL);
    ASK("GET", "/calendar/t0ken.ics", "", 304);
    bed_with(b, "If-None-Match: \"old\"", "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT", NULL);
    ASK("GET", "/calendar/t0ken.ics", "", 200); /* the tag wins */
    bed_with(b, NULL, NULL, NULL);
    ASK("GET", "/calendar/other.ics", "", 404);
    ASK("GET", "/calendar/t0ken", "", 404);
    ASK("GET", "/calendar/a/t0ken.ics", "", 404);
    ASK("GET", "/calendar/.ics", "", 404);
    ASK("POST", "/calendar/t0ken.ics", "", 405);
    feed.gone = true;
    ASK("GET", "/calendar/t0ken.ics", "", 404);
    seat.source = NULL;
    ASK("GET", "/calendar/t0ken.ics", "", 503);
    seat.source = &feed.source;
}

static void test_parts(void **state) {
    assert_true(dashboard_takes_gzip(STR("gzip")));
    assert_true(dashboard_takes_gzip(STR("deflate, GZIP ; q=0.1")));
    assert_true(dashboard_takes_gzip(STR("*")));
    assert_false(dashboard_takes_gzip(STR("gzip;q=0")));
    assert_false(dashboard_takes_gzip(STR("gzip; q=0.000, *")));
    assert_false(dashboard_takes_gzip(STR("identity")));
    assert_false(dashboard_takes_gzip(STR("")));
    assert_false(dashboard_takes_gzip(STR("gzipped, notgzip")));
    assert_false(dashboard_host_known(STR("localhost:x"), NULL, 0));
    assert_false(dashboard_host_known(STR("localhost:"), NULL, 0));
    assert_false(dashboard_host_known(STR(""), NULL, 0));
    assert_false(dashboard_host_known(STR("127.0.0.1.5"), NULL, 0));
    assert_true(dashboard_names_tag(STR("*"), STR("\"a\"")));
    assert_true(dashboard_names_tag(STR("\"b\",\"a\""), STR("\"a\"")));
    assert_false(dashboard_names_tag(STR("a"), STR("\"a\"")));
    assert_false(dashboard_names_tag(STR(""), STR("\"a\"")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gateway, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sign_in_and_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_from_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_proxy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tries_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_revoked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_feeds, setup, teardown),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

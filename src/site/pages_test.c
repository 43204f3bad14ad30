/* Tests of pages: what is served, and how, over a real socket. */
#include "site/pages.h"

#include "base/mem.h"
#include "base/test.h"
#include "net/http_client.h"

struct bed {
    struct loop *loop;
    struct health *health;
    struct prom *prom;
    struct pages *pages;
    struct http_client *client;
    int status, sick;
    struct buf body;
};

static int check(void *ctx, struct err *err) {
    return ((struct bed *)ctx)->sick;
}

static void done(void *ctx, const struct http_reply *r) {
    struct bed *b = ctx;
    b->status = r->status;
    buf_reset(&b->body);
    buf_str(&b->body, r->body);
    loop_stop(b->loop);
}

static void ask(struct bed *b, const char *method, const char *path, int status) {
    char url[200];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", pages_port(b->pages), path);
    struct http_call_options o = {.method = method, .url = str_of(url), .done = done, .ctx = b};
    assert_int_equal(http_client_send(b->client, &o, NULL, NULL), 0);
    loop_run(b->loop);
    assert_int_equal(b->status, status);
}

static int setup(void **state) {
    struct bed *b = mem_zalloc(sizeof *b);
    struct err err;
    b->loop = loop_new(&err);
    b->health = health_new();
    b->prom = prom_new();
    buf_init(&b->body, 0);
    health_add(b->health, HEALTH_READY, "caches", check, b);
    struct pages_options o = {
        .loop = b->loop, .host = STR("127.0.0.1"), .health = b->health, .prom = b->prom};
    assert_ok(pages_start(&o, &b->pages, &err), &err);
    struct http_client_options h = {.user_agent = STR("test")};
    assert_ok(http_client_new(b->loop, &h, &b->client, &err), &err);
    *state = b;
    return 0;
}

static int teardown(void **state) {
    struct bed *b = *state;
    http_client_free(b->client);
    pages_free(b->pages);
    prom_free(b->prom);
    health_free(b->health);
    buf_release(&b->body);
    loop_free(b->loop);
    mem_free(b);
    return 0;
}

static void test_health(void **state) {
    struct bed *b = *state;
    ask(b, "GET", "/readyz", 200);
    assert_str_eq(buf_view(&b->body), STR("ok"));
    ask(b, "GET", "/readyz/caches", 200);
    ask(b, "GET", "/readyz/nothing", 404);
    ask(b, "GET", "/livez/caches", 404);
    b->sick = ERR_UNAVAILABLE;
    ask(b, "GET", "/readyz", 500);
    assert_true(str_contains(buf_view(&b->body), STR("[-]caches failed")));
    ask(b, "GET", "/readyz?verbose&exclude=caches", 200);
    assert_true(str_contains(buf_view(&b->body), STR("readyz check passed")));
    ask(b, "GET", "/livez", 200);
    ask(b, "GET", "/healthz?exclude=caches", 200);
}

static void test_metrics(void **state) {
    struct bed *b = *state;
    static const char *const label[] = {"n"};
    struct prom_family *f = prom_family(b->prom, PROM_GAUGE, "berth_test", "Test.", label, 1);
    for (int i = 0; i < 12000; i++) { /* more than one piece, and more than may wait */
        char name[200];
        snprintf(name, sizeof name, "%0100d", i);
        prom_set(prom_with(f, name), i);
    }
    ask(b, "GET", "/metrics", 200);
    assert_true(b->body.n > 1200000);
    assert_true(str_ends(buf_view(&b->body), STR("\"} 11999\n")));
    ask(b, "GET", "/", 200);
    assert_str_eq(buf_view(&b->body),
                  STR("{\"paths\":[\"/healthz\",\"/livez\",\"/metrics\",\"/readyz\"]}\n"));
}

static void test_refused(void **state) {
    struct bed *b = *state;
    ask(b, "GET", "/metricsx", 404);
    ask(b, "GET", "/healthzx", 404);
    ask(b, "POST", "/metrics", 405);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_health, setup, teardown),
        cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

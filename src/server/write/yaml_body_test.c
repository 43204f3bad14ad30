/* Tests of long YAML bodies: how many may be read at once, of one user and of all, and how long one may be as JSON. The
 * other thread is the test's hand. */
#include "server/write/yaml_body.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"
#include "net/http_client.h"
#include "server/server.h"

enum { JOBS = LIMIT_YAML_WAITING + 1, BODY_MAX = 3 << 20, TOLD_MAX = 2 * JOBS };

struct held {
    void (*work)(void *ctx, const atomic_bool *stop);
    void (*done)(void *ctx);
    void *ctx;
};

struct bed {
    struct offload offload; /* first: it is cast back */
    struct guard guard;
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
    struct http_client *client;
    struct held held[JOBS];
    size_t n_held;
    int told[TOLD_MAX];
    size_t n_told, until, until_held;
    char text[200], retry[20];
};
static struct bed b;
static char body[BODY_MAX];

static void look(void) {
    if (b.n_told >= b.until && b.n_held >= b.until_held) {
        loop_stop(b.loop);
    }
}

static int hold(struct offload *o, void (*work)(void *ctx, const atomic_bool *stop),
                void (*done)(void *ctx), void *ctx, struct offload_job **ret, struct err *err) {
    assert_true(b.n_held < JOBS);
    b.held[b.n_held++] = (struct held){work, done, ctx};
    look();
    return 0;
}

static void cancel(struct offload *o, struct offload_job *j) {
}

/* The user is whoever the request says. */
static int authenticate(struct guard *g, struct http_request *r, const struct api_request *q,
                        struct arena *a, struct user *ret, struct err *err) {
    ret->name = http_header(r, "X-User");
    return 0;
}

static void flush(void *ctx) {
    mirror_flush(b.mirror);
}

static void staged(void *ctx) {
    assert_int_equal(loop_defer(b.loop, flush, NULL), 0);
}

static int setup(void **state) {
    struct err err = {0};
    b = (struct bed){
        .offload = {hold, cancel}, .guard = {.authenticate = authenticate}, .loop = loop_new(&err)};
    struct mirror_options mo = {.clock = loop_clock(b.loop), .staged = staged};
    b.mirror = mirror_new(&mo);
    struct server_options so = {.loop = b.loop,
                                .mirror = b.mirror,
                                .guard = &b.guard,
                                .offload = &b.offload,
                                .host = STR("127.0.0.1")};
    b.server = server_new(&so, &err);
    assert_ok(server_start(b.server, &err), &err);
    assert_ok(server_bootstrap(b.server,
                               STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                                   "\"name\":\"default\"}}"),
                               &err),
              &err);
    mirror_flush(b.mirror);
    struct http_client_options co = {.user_agent = STR("test")};
    assert_ok(http_client_new(b.loop, &co, &b.client, &err), &err);
    return 0;
}

static void stopped(void *ctx) {
    loop_stop(b.loop);
}

static int teardown(void **state) {
    http_client_free(b.client);
    server_stop(b.server, 0, stopped, NULL);
    loop_run(b.loop);
    server_free(b.server);
    mirror_free(b.mirror);
    loop_free(b.loop);
    return 0;
}

static void told(void *ctx, const struct http_reply *r) {
    assert_true(b.n_told < TOLD_MAX);
    b.told[b.n_told++] = r->status;
    if (r->status >= 400) {
        (void)str_copy(str_head(r->body, sizeof(b.text) - 1), b.text, sizeof(b.text));
    }
    look();
}

static void head(void *ctx, const struct http_head *h) {
    struct str v = {0};
    if (http_head_nth(h, "Retry-After", 0, &v)) {
        (void)str_copy(v, b.retry, sizeof(b.retry));
    }
}

static void post(const char *user, struct str yaml) {
    char url[100], from[80];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/api/v1/namespaces/default/configmaps",
                   server_port(b.server));
    (void)snprintf(from, sizeof(from), "X-User: %s", user);
    struct str headers[] = {STR("Content-Type: application/yaml"), str_of(from)};
    struct http_call_options o = {.method = "POST",
                                  .url = str_of(url),
                                  .headers = headers,
                                  .n_headers = 2,
                                  .body = yaml,
                                  .head = head,
                                  .done = told};
    assert_int_equal(http_client_send(b.client, &o, NULL, NULL), 0);
}

/* Until so many answers have come, and so many bodies are being read. */
static void wait_for(size_t answers, size_t held) {
    b.until = answers;
    b.until_held = held;
    if (b.n_told < answers || b.n_held < held) {
        loop_run(b.loop);
    }
    assert_int_equal(b.n_told, answers);
    assert_int_equal(b.n_held, held);
}

static void read_all(void) {
    atomic_bool stop = false;
    for (size_t i = 0; i < b.n_held; i++) {
        b.held[i].work(b.held[i].ctx, &stop);
        b.held[i].done(b.held[i].ctx);
    }
    b.n_held = 0;
}

/* A ConfigMap of somewhat more than what is read at once. */
static struct str long_map(int n) {
    int at = snprintf(body, sizeof(body), "metadata: {name: map-%d}\ndata: {k: ", n);
    memset(body + at, 'x', LIMIT_YAML_AT_ONCE);
    body[at + LIMIT_YAML_AT_ONCE] = '}';
    return str_from(body, (size_t)at + LIMIT_YAML_AT_ONCE + 1);
}

static void one_user_has_so_many(void **state) {
    int n = 0;
    for (; n < LIMIT_YAML_WAITING_USER; n++) {
        post("ana", long_map(n));
    }
    wait_for(0, LIMIT_YAML_WAITING_USER);
    post("ana", long_map(n++));
    wait_for(1, LIMIT_YAML_WAITING_USER);
    assert_int_equal(b.told[0], 429);
    assert_string_equal(b.retry, "1");
    assert_non_null(strstr(b.text, "too many long YAML bodies are being read"));
    post("bob", long_map(n++)); /* others have theirs */
    wait_for(1, LIMIT_YAML_WAITING_USER + 1);
    read_all();
    wait_for(2 + LIMIT_YAML_WAITING_USER, 0);
    for (size_t i = 1; i < b.n_told; i++) {
        assert_int_equal(b.told[i], 201);
    }
    post("ana", long_map(n)); /* and so has she again */
    wait_for(b.n_told, 1);
    read_all();
    wait_for(3 + LIMIT_YAML_WAITING_USER, 0);
    assert_int_equal(b.told[b.n_told - 1], 201);
}

static void all_together_have_so_many(void **state) {
    char user[20];
    for (int n = 0; n < LIMIT_YAML_WAITING; n++) {
        (void)snprintf(user, sizeof(user), "user-%d", n / LIMIT_YAML_WAITING_USER);
        post(user, long_map(n));
        wait_for(0, (size_t)n + 1);
    }
    post("one-more", long_map(LIMIT_YAML_WAITING));
    wait_for(1, LIMIT_YAML_WAITING);
    assert_int_equal(b.told[0], 429);
    read_all();
    wait_for(1 + LIMIT_YAML_WAITING, 0);
}

/* Characters that JSON writes as six: the body is in its bounds, and its JSON is not. */
static void one_is_too_long_as_json(void **state) {
    enum { CHARS = 700000 };
    int at = snprintf(body, sizeof(body), "metadata: {name: long}\ndata:\n");
    char *p = body + at;
    for (int k = 0; k < 4; k++) { /* "\a" is two bytes here, and six in JSON */
        p += snprintf(p, 20, "  k%d: \"", k);
        for (int i = 0; i < CHARS / 2; i++) {
            p = mempcpy(p, "\\a", 2);
        }
        p = mempcpy(p, "\"\n", 2);
    }
    post("ana", str_from(body, (size_t)(p - body)));
    wait_for(0, 1);
    read_all();
    wait_for(1, 0);
    assert_int_equal(b.told[0], 413);
    assert_non_null(strstr(b.text, "the body has more than 6291456 bytes as JSON"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_user_has_so_many, setup, teardown),
        cmocka_unit_test_setup_teardown(all_together_have_so_many, setup, teardown),
        cmocka_unit_test_setup_teardown(one_is_too_long_as_json, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

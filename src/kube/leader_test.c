/*
 * Tests of leader, against an API server that holds one Lease, with clocks that stand until moved.
 *
 * What happened is one text: requests ("POST lease", "PUT lease", "event became leader"), and what the leader told
 * ("started", "stopped").
 */
#include "kube/leader.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/test.h"
#include "kube/lease.h"
#include "net/http_server.h"
#include "wire/json/json.h"

enum { NOTHING, SAY_500, SAY_NOTHING };

struct bed {
    struct loop *loop;
    struct http_server *http;
    struct kube_client *client;
    struct log log;
    struct leader *leader;
    struct buf seen;
    struct buf lease; /* the object, without its rv; empty: none */
    int rv, trouble;
    int64_t boot, wall;
    const char *until;
    struct timer *timer; /* gives up */
    bool timed_out;
    char file[64];
};

static int64_t boot(void *ctx) {
    return ((struct bed *)ctx)->boot;
}

static int64_t wall(void *ctx) {
    return ((struct bed *)ctx)->wall;
}

static void note(struct bed *b, const char *text) {
    buf_f(&b->seen, "%s|", text);
    if (b->until && str_contains(buf_view(&b->seen), str_of(b->until))) {
        loop_stop(b->loop);
    }
}

static void answer_lease(struct bed *b, struct http_request *r, int status) {
    struct buf out;
    buf_init(&out, 0);
    buf_f(&out,
          "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
          "\"name\":\"x\",\"uid\":\"u\",\"labels\":{\"keep\":\"me\"},"
          "\"resourceVersion\":\"%d\"},\"spec\":%.*s}",
          b->rv, STR_ARG(buf_view(&b->lease)));
    http_respond(r, status, "application/json", buf_view(&out));
    buf_release(&out);
}

static void store(struct bed *b, struct str body) {
    struct arena a;
    yyjson_doc *doc;
    arena_init(&a, 1 << 20);
    assert_int_equal(json_parse(&a, body, &doc, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (b->lease.n) {
        assert_str_eq(json_str_at(root, "metadata.labels.keep"), STR("me"));
    }
    buf_reset(&b->lease);
    json_write(&b->lease, json_get(root, STR("spec")));
    b->rv++;
    arena_release(&a);
}

static bool stale(struct bed *b, struct str body) {
    char want[40];
    snprintf(want, sizeof want, "\"resourceVersion\":\"%d\"", b->rv);
    return !str_contains(body, str_of(want));
}

#define STATUS(code, reason)                                                                       \
    STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"" reason   \
        "\",\"message\":\"no\",\"code\":" #code "}")

static void handle(void *ctx, struct http_request *r) {
    struct bed *b = ctx;
    struct str method = http_method(r), path = http_path(r), body = http_body(r);
    if (str_ends(path, STR("/events"))) {
        note(b, str_contains(body, STR("became leader"))     ? "event became leader"
                : str_contains(body, STR("stopped leading")) ? "event stopped leading"
                                                             : "event?");
        http_respond(r, 201, "application/json", body);
        return;
    }
    if (str_contains(http_query(r), STR("watch="))) {
        return; /* held open */
    }
    char text[40];
    snprintf(text, sizeof text, "%.*s lease", STR_ARG(method));
    int trouble = b->trouble;
    if (trouble == SAY_500) {
        http_respond(r, 500, "application/json", STATUS(500, "InternalError"));
    } else if (trouble == SAY_NOTHING) {
        /* the answer never comes */
    } else if (str_is(method, "GET") && b->lease.n == 0) {
        http_respond(r, 404, "application/json", STATUS(404, "NotFound"));
    } else if (str_is(method, "PUT") && stale(b, body)) {
        http_respond(r, 409, "application/json", STATUS(409, "Conflict"));
    } else {
        if (!str_is(method, "GET")) {
            store(b, body);
        }
        answer_lease(b, r, 200);
    }
    note(b, text);
}

static void started(void *ctx) {
    note(ctx, "started");
}

static void stopped(void *ctx, const char *why) {
    note(ctx, "stopped");
}

static void quiet(struct log *l, enum log_level level, struct str line) {
}

static void gave_up(void *ctx) {
    struct bed *b = ctx;
    b->timed_out = true;
    loop_stop(b->loop);
}

/* Runs until the text has it. */
static void until(struct bed *b, const char *text) {
    struct clock *c = loop_clock(b->loop);
    b->until = text;
    if (!str_contains(buf_view(&b->seen), str_of(text))) {
        c->timer_start(b->timer, 20 * NS_PER_SEC);
        loop_run(b->loop);
        c->timer_stop(b->timer);
    }
    if (b->timed_out) {
        print_error("waited for %s, saw %s\n", text, buf_cstr(&b->seen));
        fail();
    }
    b->until = NULL;
}

static void run_ms(struct bed *b, int64_t ms) {
    struct clock *c = loop_clock(b->loop);
    c->timer_start(b->timer, ms * NS_PER_MS);
    loop_run(b->loop);
    b->timed_out = false;
}

static void hold(struct bed *b, const char *holder, int transitions) {
    buf_reset(&b->lease);
    buf_f(&b->lease,
          "{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"leaseTransitions\":%d,"
          "\"renewTime\":\"2026-01-01T00:00:0%d.000000Z\"}",
          holder, transitions, b->rv % 10);
    b->rv++;
}

static void be_candidate(struct bed *b) {
    struct err err;
    struct leader_options o = {
        .client = b->client,
        .log = &b->log,
        .ns = STR("kube-system"),
        .name = STR("x"),
        .identity = STR("me"),
        .who = "test",
        .retry_ns = 20 * NS_PER_MS,
        .started = started,
        .stopped = stopped,
        .ctx = b,
        .boot_ns = boot,
        .wall_ns = wall,
        .time_ctx = b,
    };
    b->leader = leader_new(&o, &err);
    assert_non_null(b->leader);
}

static int setup(void **state) {
    struct bed *b = calloc(1, sizeof *b);
    struct err err;
    buf_init(&b->seen, 0);
    buf_init(&b->lease, 0);
    b->rv = 1;
    b->wall = 1767225600 * NS_PER_SEC;
    b->loop = loop_new(&err);
    b->log = (struct log){LOG_ERROR, quiet};
    b->timer = loop_clock(b->loop)->timer_new(loop_clock(b->loop), gave_up, b);
    struct http_server_options o = {.host = STR("127.0.0.1"), .handler = handle, .ctx = b};
    assert_ok(http_server_start(b->loop, &o, &b->http, &err), &err);
    snprintf(b->file, sizeof b->file, "/tmp/leader-test-XXXXXX");
    int fd = mkstemp(b->file);
    FILE *f = fdopen(fd, "w");
    fprintf(f,
            "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
            "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%u'}}]\n",
            http_server_port(b->http));
    fclose(f);
    b->client = kube_client_new(b->loop, b->file, NULL, "test", &err);
    assert_non_null(b->client);
    *state = b;
    return 0;
}

static int teardown(void **state) {
    struct bed *b = *state;
    leader_free(b->leader);
    kube_client_free(b->client);
    http_server_free(b->http);
    loop_clock(b->loop)->timer_free(b->timer);
    loop_free(b->loop);
    buf_release(&b->seen);
    buf_release(&b->lease);
    unlink(b->file);
    free(b);
    return 0;
}

static bool lease_says(struct bed *b, const char *text) {
    return str_contains(buf_view(&b->lease), str_of(text));
}

/* Nobody holds it: made, renewed without reading, told of. */
static void test_takes_and_renews(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    assert_false(leader_may_write(b->leader));
    until(b, "event became leader");
    until(b, "PUT lease|PUT lease");
    assert_true(leader_is(b->leader));
    assert_true(leader_may_write(b->leader));
    assert_true(str_starts(buf_view(&b->seen), STR("GET lease|POST lease|started|")));
    assert_true(lease_says(b, "\"holderIdentity\":\"me\""));
    assert_true(lease_says(b, "\"leaseDurationSeconds\":15"));
    assert_true(lease_says(b, "\"leaseTransitions\":0"));
    assert_true(lease_says(b, "\"acquireTime\":\"2026-01-01T00:00:00.000000Z\""));
}

/* A live one of another is waited out by our own observation, whatever its times say. */
static void test_waits_out(void **state) {
    struct bed *b = *state;
    hold(b, "other", 3);
    be_candidate(b);
    until(b, "GET lease|GET lease|GET lease");
    b->boot += 14 * NS_PER_SEC;
    hold(b, "other", 3); /* a sign of life */
    buf_reset(&b->seen);
    until(b, "GET lease|GET lease");
    b->boot += 14 * NS_PER_SEC;
    buf_reset(&b->seen);
    until(b, "GET lease|GET lease");
    assert_false(leader_is(b->leader));
    b->boot += 2 * NS_PER_SEC;
    until(b, "started");
    assert_true(lease_says(b, "\"leaseTransitions\":4"));
    assert_true(lease_says(b, "\"holderIdentity\":\"me\""));
}

/* A released one is taken at once. */
static void test_released_is_free(void **state) {
    struct bed *b = *state;
    hold(b, "", 3);
    be_candidate(b);
    until(b, "started");
    assert_true(str_starts(buf_view(&b->seen), STR("GET lease|PUT lease|started|")));
}

/* The fence: shut at once when so much time went by, by either clock, whatever the loop did meanwhile. */
static void test_fence(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    until(b, "PUT lease|");
    b->boot += 9 * NS_PER_SEC;
    assert_true(leader_may_write(b->leader));
    buf_reset(&b->seen);
    until(b, "PUT lease|PUT lease");
    b->boot += 11 * NS_PER_SEC; /* stopped, and another took it */
    assert_false(leader_may_write(b->leader));
    hold(b, "other", 1);
    buf_reset(&b->seen);
    until(b, "stopped");
    assert_false(leader_is(b->leader));
    run_ms(b, 100);
    assert_null(strstr(buf_cstr(&b->seen), "PUT"));
    assert_null(strstr(buf_cstr(&b->seen), "event"));
    assert_true(lease_says(b, "other"));
}

static void test_wall_clock_leaps(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    until(b, "event became leader");
    b->wall += 60 * NS_PER_SEC;
    assert_false(leader_may_write(b->leader));
    buf_reset(&b->seen);
    until(b, "PUT lease|PUT lease|PUT lease");
    assert_true(leader_may_write(b->leader)); /* renewed: it was not suspended */
    assert_null(strstr(buf_cstr(&b->seen), "stopped"));
    b->wall -= 3600 * NS_PER_SEC;
    assert_true(leader_may_write(b->leader));
    b->boot += 11 * NS_PER_SEC;
    assert_false(leader_may_write(b->leader));
}

/* A pause without anybody else: given up, and taken again. */
static void test_paused_alone(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    until(b, "event became leader");
    b->boot += 100 * NS_PER_SEC;
    buf_reset(&b->seen);
    until(b, "stopped");
    until(b, "started");
    assert_true(lease_says(b, "\"leaseTransitions\":0"));
    assert_true(leader_may_write(b->leader));
}

/* Another one wrote it (an administrator): the loser does not fight. */
static void test_taken_away(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    until(b, "event became leader");
    hold(b, "other", 1);
    until(b, "stopped");
    run_ms(b, 100);
    assert_true(lease_says(b, "other"));
}

static void test_server_trouble(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    until(b, "event became leader");
    b->trouble = SAY_500;
    buf_reset(&b->seen);
    until(b, "PUT lease|GET lease|GET lease");
    assert_true(leader_is(b->leader));
    b->trouble = NOTHING;
    until(b, "PUT lease|PUT lease");
    assert_null(strstr(buf_cstr(&b->seen), "stopped"));
    b->trouble = SAY_NOTHING;
    run_ms(b, 60);
    b->boot += 11 * NS_PER_SEC;
    assert_false(
        leader_may_write(b->leader)); /* a request that hangs does not hold the fence open */
    until(b, "stopped");
}

static void released(void *ctx) {
    note(ctx, "released");
}

static void test_release(void **state) {
    struct bed *b = *state;
    be_candidate(b);
    until(b, "PUT lease");
    run_ms(b, 10);
    buf_reset(&b->seen);
    leader_release(b->leader, released, b);
    assert_null(strstr(buf_cstr(&b->seen), "released"));
    until(b, "released");
    assert_non_null(strstr(buf_cstr(&b->seen), "event stopped leading|PUT lease|released|"));
    assert_true(lease_says(b, "\"holderIdentity\":\"\""));
    assert_true(lease_says(b, "\"leaseDurationSeconds\":1"));
    assert_false(leader_may_write(b->leader));
}

static void test_release_of_nothing(void **state) {
    struct bed *b = *state;
    hold(b, "other", 1);
    be_candidate(b);
    until(b, "GET lease");
    leader_release(b->leader, released, b);
    until(b, "released");
    assert_true(lease_says(b, "other"));
    assert_null(strstr(buf_cstr(&b->seen), "PUT"));
}

static void test_parameters(void **state) {
    const int64_t s = NS_PER_SEC;
    struct err err;
    assert_int_equal(leader_check(15 * s, 10 * s, 2 * s, &err), 0);
    assert_int_equal(leader_check(15 * s, 15 * s, 2 * s, &err), ERR_INVALID);
    assert_int_equal(leader_check(15 * s, 10 * s, 10 * s, &err), ERR_INVALID);
    assert_int_equal(leader_check(15 * s, 12 * s, 10 * s, &err), ERR_INVALID);
    assert_int_equal(leader_check(15 * s, 13 * s, 10 * s, &err), 0);
    assert_int_equal(leader_check(s / 2, s / 4, s / 8, &err), ERR_INVALID);
    assert_int_equal(leader_check(3 * s / 2, s, s / 8, &err), ERR_INVALID);
    assert_int_equal(leader_check(15 * s, 10 * s, 0, &err), ERR_INVALID);
    struct buf a, b;
    buf_init(&a, 0);
    buf_init(&b, 0);
    assert_int_equal(leader_identity(&a, &err), 0);
    assert_int_equal(leader_identity(&b, &err), 0);
    assert_false(str_eq(buf_view(&a), buf_view(&b)));
    buf_release(&a);
    buf_release(&b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(test_takes_and_renews),
        T(test_waits_out),
        T(test_released_is_free),
        T(test_fence),
        T(test_wall_clock_leaps),
        T(test_paused_alone),
        T(test_taken_away),
        T(test_server_trouble),
        T(test_release),
        T(test_release_of_nothing),
        cmocka_unit_test(test_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of the way: what is sent on and what is not, streams both sides of which may stop, and computed kinds. */
#include "site/way/way.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mirror/fake_kind.h"
#include "mirror/mirror.h"
#include "site/way/way_bed.h"
#include "wire/json/json.h"

enum { BIG = 24 << 20, PIECE = 64 << 10 };

/* An API server, and what it was asked. */
struct upstream {
    struct bed bed;
    struct way *way;
    struct http_server *http;
    struct virtual_registry *virtuals;
    struct mirror *mirror;
    struct virtual_source source;
    char seen[4096];             /* the last request's lines that matter */
    struct http_request *stream; /* a watch that is open */
    size_t stream_sent;
    unsigned reviews, asks, version; /* version: a member of the answer; 0: it has none */
    bool all_allowed, may_ask, revoked;
    bool later; /* the source answers when it is told to, or never */
    virtual_done *done;
    void *done_ctx;
    unsigned cancelled;
};

static struct upstream *up_of(struct bed *b) {
    return (struct upstream *)b;
}

static void stream_closed(void *user) {
    struct upstream *u = user;
    u->stream = NULL;
}

static void stream_more(void *user) {
    struct upstream *u = user;
    static char piece[PIECE];
    memset(piece, 'x', sizeof(piece));
    while (u->stream && u->stream_sent < BIG && http_stream_waiting(u->stream) < 4 * PIECE) {
        if (http_stream_write(u->stream, str_from(piece, PIECE)) != 0) {
            return;
        }
        u->stream_sent += PIECE;
    }
    if (u->stream && u->stream_sent >= BIG) {
        http_stream_end(u->stream);
    }
}

static void answer_review(struct upstream *u, struct http_request *r) {
    yyjson_doc *doc;
    char text[200];
    assert_int_equal(json_parse(http_arena(r), http_body(r), &doc, NULL), 0);
    yyjson_val *x = json_path(yyjson_doc_get_root(doc), "spec.resourceAttributes");
    struct str ns = json_str_at(x, "namespace"), resource = json_str_at(x, "resource");
    bool yes = str_is(resource, "fleets") ? u->may_ask : u->all_allowed || str_is(ns, "mine");
    u->reviews++;
    snprintf(text, sizeof(text), "{\"status\":{\"allowed\":%s}}", yes ? "true" : "false");
    http_respond(r, 201, "application/json", str_of(text));
}

static void upstream(void *ctx, struct http_request *r) {
    struct upstream *u = ctx;
    struct str path = http_path(r), v;
    if (str_ends(path, STR("/selfsubjectaccessreviews"))) {
        answer_review(u, r);
        return;
    }
    snprintf(u->seen, sizeof(u->seen),
             "%.*s %.*s?%.*s auth=%.*s accept=%.*s type=%.*s cookie=%.*s as=%.*s body=%.*s",
             STR_ARG(http_method(r)), STR_ARG(path), STR_ARG(http_query(r)),
             STR_ARG(http_header(r, "Authorization")), STR_ARG(http_header(r, "Accept")),
             STR_ARG(http_header(r, "Content-Type")), STR_ARG(http_header(r, "Cookie")),
             STR_ARG(http_header(r, "Impersonate-User")), STR_ARG(http_body(r)));
    if (str_ends(path, STR("/selfsubjectreviews"))) {
        bool known = str_ends(http_header(r, "Authorization"), STR(" good"));
        http_respond(r, known ? 201 : 401, "application/json",
                     known ? STR("{\"status\":{\"userInfo\":{\"username\":\"ana\",\"groups\":"
                                 "[\"vision\"]}}}")
                           : STR("{\"message\":\"Unauthorized\"}"));
    } else if (u->revoked) {
        http_respond(r, 401, "application/json", STR("{\"message\":\"Unauthorized\"}"));
    } else if (str_contains(http_query(r), STR("watch=1"))) {
        u->stream = r;
        http_set_user(r, u, stream_closed);
        http_stream_begin(r, 200, "application/json");
        http_stream_write(r, STR("{\"type\":\"ADDED\"}\n"));
        if (str_contains(http_query(r), STR("big"))) {
            http_stream_on_drain(r, stream_more);
            stream_more(u);
        }
    } else if (str_contains(path, STR("/html"))) {
        http_respond(r, 200, "text/html", STR("<script>"));
    } else if (str_contains(path, STR("/forbidden"))) {
        (void)http_add_header(r, "Retry-After", STR("7"));
        http_respond(r, 403, "application/json", STR("{\"reason\":\"Forbidden\"}"));
    } else {
        (void)http_add_header(r, "Warning", STR("299 - \"one\""));
        (void)http_add_header(r, "Set-Cookie", STR("evil=1"));
        http_respond(r, http_header_nth(r, "X", 0, &v) ? 201 : 200, "application/json",
                     STR("{\"kind\":\"PodList\"}"));
    }
}

/* Answers with what the asker may see of two namespaces. */
static int fleet(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                 void *ctx, struct virtual_call **ret, struct err *err) {
    struct upstream *u = (struct upstream *)((char *)s - offsetof(struct upstream, source));
    char text[200];
    u->asks++;
    if (u->later) {
        u->done = done;
        u->done_ctx = ctx;
        *ret = (struct virtual_call *)u;
        return 0;
    }
    bool mine = q->may(q, "list", "", "pods", STR("mine"), STR(""));
    bool theirs = q->may(q, "list", "", "pods", STR("theirs"), STR(""));
    int n = snprintf(text, sizeof(text),
                     "{\"mine\":%d,\"theirs\":%d,\"name\":\"%.*s\",\"from\":\"%.*s\"", mine, theirs,
                     STR_ARG(q->name), STR_ARG(virtual_param(q, "from")));
    snprintf(text + n, sizeof(text) - (size_t)n, u->version ? ",\"version\":%u}" : "}", u->version);
    done(ctx, 0, str_of(text), NULL);
    return 0;
}

static void cancel(struct virtual_source *s, struct virtual_call *c) {
    struct upstream *u = (struct upstream *)((char *)s - offsetof(struct upstream, source));
    assert_ptr_equal(c, u);
    u->cancelled++;
}

static void identify(void *ctx, struct str token, struct dashboard_asking *k) {
    way_identify(up_of(ctx)->way, token, k);
}

static void signed_out(void *ctx) {
    way_recheck(up_of(ctx)->way);
}

static void api(struct bed *b, struct http_request *r) {
    way_handle(up_of(b)->way, r);
}

static bool admit(struct bed *b, struct http_request *r) {
    return way_head(up_of(b)->way, r);
}

static int setup(void **state) {
    static const struct assets none = {NULL, 0, false};
    struct upstream *u = mem_zalloc(sizeof(*u));
    struct err err = {0};
    char url[100];
    struct dashboard_options d = {.assets = &none, .identify = identify, .signed_out = signed_out};
    u->bed.admit = admit;
    bed_start(&u->bed, &d);
    u->bed.api = api;
    u->may_ask = true;
    struct http_server_options h = {
        .host = STR("127.0.0.1"), .handler = upstream, .ctx = u, .out_max = 64 << 20};
    assert_ok(http_server_start(u->bed.loop, &h, &u->http, &err), &err);
    u->mirror = mirror_new(&(struct mirror_options){.clock = loop_clock(u->bed.loop)});
    u->virtuals = virtual_new();
    u->source = (struct virtual_source){"berth.dev", "fleets", "", fleet, cancel, NULL};
    virtual_add(u->virtuals, &u->source);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_server_port(u->http));
    struct way_options w = {.loop = u->bed.loop,
                            .sessions = u->bed.sessions,
                            .server = str_of(url),
                            .virtuals = u->virtuals,
                            .mirror = u->mirror};
    u->way = way_new(&w, &err);
    assert_non_null(u->way);
    *state = u;
    return 0;
}

static int teardown(void **state) {
    struct upstream *u = *state;
    http_server_free(TAKE(u->bed.http));
    way_free(u->way);
    http_server_free(u->http);
    virtual_free(u->virtuals);
    mirror_free(u->mirror);
    bed_end(&u->bed);
    mem_free(u);
    return 0;
}

#define ASK(...) bed_ask(b, __VA_ARGS__)
#define BODY assert_str_eq(buf_view(&b->body)
#define OURS "X-Berth-Dashboard: 1"

static void sign_in(struct bed *b) {
    bed_with(b, "Content-Type: application/json", OURS, NULL);
    ASK("POST", "/dashboard/session", "{\"token\":\"good\"}", 201);
    bed_keep_cookie(b);
    bed_with(b, NULL, NULL, NULL);
}

static void test_identify(void **state) {
    struct bed *b = *state;
    bed_with(b, "Content-Type: application/json", OURS, NULL);
    ASK("POST", "/dashboard/session", "{\"token\":\"bad\"}", 401);
    assert_true(str_contains(buf_view(&b->body), STR("does not know this token")));
    ASK("POST", "/dashboard/session", "{\"token\":\"a\\r\\nX: y\"}",
        401); /* no header of its own */
    sign_in(b);
    assert_true(str_contains(buf_view(&b->body), STR("\"user\":\"ana\",\"groups\":[\"vision\"]")));
}

static void test_sent_on(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    ASK("GET", "/api/v1/pods", "", 401); /* nobody is anonymous */
    sign_in(b);
    bed_with(b, "Accept: application/json;as=Table", "Impersonate-User: root",
             "Authorization: Bearer stolen");
    ASK("GET", "/api/v1/pods?limit=5&a=%20b", "", 200);
    assert_string_equal(u->seen, "GET /api/v1/pods?limit=5&a=%20b auth=Bearer good "
                                 "accept=application/json;as=Table type= cookie= as= body=");
    BODY, STR("{\"kind\":\"PodList\"}"));
    assert_str_eq(bed_header(b, "Content-Type"), STR("application/json"));
    assert_str_eq(bed_header(b, "Warning"), STR("299 - \"one\""));
    assert_str_eq(bed_header(b, "Set-Cookie"), STR("")); /* what sets cookies here is us */
    assert_true(str_contains(bed_header(b, "Content-Security-Policy"), STR("sandbox")));
    bed_with(b, OURS, "Content-Type: application/merge-patch+json", NULL);
    ASK("PATCH", "/api/v1/namespaces/a/pods/b", "{\"x\":1}", 200);
    assert_string_equal(u->seen, "PATCH /api/v1/namespaces/a/pods/b? auth=Bearer good accept=*/* "
                                 "type=application/merge-patch+json cookie= as= body={\"x\":1}");
    bed_with(b, NULL, NULL, NULL);
    ASK("DELETE", "/api/v1/namespaces/a/pods/b", "", 403);
    ASK("GET", "/api/v1/forbidden", "", 403);
    BODY, STR("{\"reason\":\"Forbidden\"}"));
    assert_str_eq(bed_header(b, "Retry-After"), STR("7"));
    ASK("GET", "/api/v1/html", "", 200); /* never a page */
    assert_str_eq(bed_header(b, "Content-Type"), STR("application/octet-stream"));
}

static void test_paths(void **state) {
    static const struct {
        const char *path;
        int code;
    } all[] = {
        {"/api", 0},
        {"/api/v1/namespaces/proxy/pods/exec/log", 0},
        {"/apis/batch/v1/jobs", 0},
        {"/openapi/v3", 0},
        {"/version", 0},
        {"/apis/rbac.authorization.k8s.io/v1/clusterroles/berth%3Aview", 0},
        {"/metrics", ERR_NOT_FOUND},
        {"/", 0},
        {"/logs/kubelet", ERR_NOT_FOUND},
        {"/apiary", ERR_NOT_FOUND},
        {"api", ERR_BAD_REQUEST},
        {"", ERR_BAD_REQUEST},
        {"/api/v1/../metrics", ERR_BAD_REQUEST},
        {"/api/v1/%2e%2e/metrics", ERR_BAD_REQUEST},
        {"/api//v1/pods", ERR_BAD_REQUEST},
        {"/api/v1/pods%2fx", ERR_BAD_REQUEST},
        {"/api/v1/pods/%00", ERR_BAD_REQUEST},
        {"/api/v1/pods/%zz", ERR_BAD_REQUEST},
        {"/api/v1/pods/%2", ERR_BAD_REQUEST},
        {"/api/v1/pods/%252e", ERR_BAD_REQUEST},
        {"/api/v1/namespaces/a/services/b/proxy", ERR_FORBIDDEN},
        {"/api/v1/namespaces/a/services/b:80/proxy/index.html", ERR_FORBIDDEN},
        {"/api/v1/namespaces/a/pods/b/pro%78y/", ERR_FORBIDDEN},
        {"/api/v1/nodes/n/proxy/logs", ERR_FORBIDDEN},
        {"/api/v1/proxy/namespaces/a/pods/b", ERR_FORBIDDEN},
        {"/api/v1/namespaces/a/pods/b/exec", ERR_FORBIDDEN},
        {"/api/v1/namespaces/a/pods/b/attach", ERR_FORBIDDEN},
        {"/api/v1/namespaces/a/pods/b/portforward", ERR_FORBIDDEN},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (way_path_check(str_of(all[i].path), NULL) != all[i].code) {
            print_error("%s\n", all[i].path);
        }
        assert_int_equal(way_path_check(str_of(all[i].path), NULL), all[i].code);
    }
    assert_true(way_type_is_safe(STR("application/json; charset=utf-8")));
    assert_true(way_type_is_safe(STR("text/plain")));
    assert_false(way_type_is_safe(STR("text/html")));
    assert_false(way_type_is_safe(STR("image/svg+xml")));
    assert_false(way_type_is_safe(STR("")));
}

/* ---- bodies that are still to come ---- */

struct raw {
    struct loop *loop;
    int fd;
    char got[1000];
};

static void heard(void *ctx, int events) {
    struct raw *x = ctx;
    ssize_t n = recv(x->fd, x->got, sizeof(x->got) - 1, 0);
    x->got[n > 0 ? n : 0] = 0;
    loop_stop(x->loop);
}

/* Sends this and no more; x has what is said. */
static void say(struct bed *b, const char *text, struct raw *x) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http_server_port(b->http))};
    struct err err = {0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *x = (struct raw){.loop = b->loop, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(x->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(send(x->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    struct loop_fd *watch = loop_fd(b->loop, x->fd, LOOP_READABLE, heard, x, &err);
    assert_non_null(watch);
    loop_run(b->loop);
    loop_fd_free(watch);
    close(x->fd);
}

#define POST                                                                                       \
    "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nSec-Fetch-Site: same-origin\r\n" OURS               \
    "\r\n%s\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"

/* Who is not signed in is told so before the body comes; who is, is asked for it. */
static void test_bodies(void **state) {
    struct bed *b = *state;
    struct raw x;
    char text[1000];
    const unsigned port = http_server_port(b->http);
    (void)snprintf(text, sizeof(text), POST, "/api/v1/namespaces/a/configmaps", port, "A: b");
    say(b, text, &x);
    assert_true(str_starts(str_of(x.got), STR("HTTP/1.1 401 ")));
    (void)snprintf(text, sizeof(text), POST, "/dashboard/session", port, "A: b");
    say(b, text, &x); /* a stranger's body is short */
    assert_true(str_starts(str_of(x.got), STR("HTTP/1.1 413 ")));
    sign_in(b);
    (void)snprintf(text, sizeof(text), POST, "/api/v1/namespaces/a/configmaps", port, b->cookie);
    say(b, text, &x);
    assert_true(str_starts(str_of(x.got), STR("HTTP/1.1 100 ")));
}

static void test_token_ends(void **state) {
    struct arena a;
    arena_init(&a, 1 << 16);
    /* {"exp":1767225600} */
    assert_int_equal(way_token_ends(STR("e30.eyJleHAiOjE3NjcyMjU2MDB9.sig"), &a),
                     1767225600 * NS_PER_SEC);
    assert_int_equal(way_token_ends(STR("e30.e30.sig"), &a), 0);
    assert_int_equal(way_token_ends(STR("berth_abc"), &a), 0);
    assert_int_equal(way_token_ends(STR("a.!!.c"), &a), 0);
    arena_release(&a);
}

static void test_revoked(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    sign_in(b);
    u->revoked = true;
    ASK("GET", "/api/v1/pods", "", 401);
    u->revoked = false;
    ASK("GET", "/api/v1/pods", "", 401); /* the session ended with the token */
    assert_int_equal(sessions_count(b->sessions), 0);
}

/* ---- streams ---- */

struct reader {
    struct bed *b;
    struct http_call *call;
    size_t got;
    int status;
    bool hold, over;
    char last[1024]; /* the last piece that came */
};

static bool read_data(void *ctx, struct str bytes) {
    struct reader *x = ctx;
    x->got += bytes.n;
    (void)str_copy(str_head(bytes, sizeof(x->last) - 1), x->last, sizeof(x->last));
    if (x->hold) {
        http_call_pause(x->call, true);
    }
    return true;
}

static void read_done(void *ctx, const struct http_reply *r) {
    struct reader *x = ctx;
    x->over = true;
    x->status = r->status;
    x->call = NULL;
}

static void stop_loop(void *ctx) {
    struct bed *b = ctx;
    loop_stop(b->loop);
}

/* Until it holds, or for a second; then whatever. */
static void turns(struct bed *b, int n) {
    struct clock *c = loop_clock(b->loop);
    struct timer *t = c->timer_new(c, stop_loop, b);
    for (int i = 0; i < n; i++) {
        c->timer_start(t, NS_PER_MS);
        loop_run(b->loop);
    }
    c->timer_free(t);
}

static void watch(struct bed *b, struct reader *x, const char *path, struct http_client *client) {
    char url[2048];
    struct str headers[] = {str_of(b->cookie)};
    bed_url(b, path, url);
    struct http_call_options o = {.method = "GET",
                                  .url = str_of(url),
                                  .headers = headers,
                                  .n_headers = 1,
                                  .data = read_data,
                                  .done = read_done,
                                  .ctx = x};
    x->b = b;
    assert_int_equal(http_client_send(client, &o, &x->call, NULL), 0);
}

static void test_watch(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    struct reader x = {0};
    sign_in(b);
    watch(b, &x, "/api/v1/pods?watch=1", b->client);
    while (x.got == 0) {
        turns(b, 1);
    }
    assert_non_null(u->stream);
    assert_int_equal(x.got, 17);
    http_stream_write(u->stream, STR("{}\n"));
    while (x.got < 20) {
        turns(b, 1);
    }
    http_call_cancel(x.call); /* the browser leaves: so do we */
    while (u->stream) {
        turns(b, 1);
    }
    watch(b, &x, "/api/v1/pods?watch=1", b->client);
    while (u->stream == NULL) {
        turns(b, 1);
    }
    bed_with(b, OURS, NULL, NULL);
    ASK("DELETE", "/dashboard/session", "", 204); /* signing out ends what is open */
    while (!x.over || u->stream) {
        turns(b, 1);
    }
}

/* A browser that stops reading stops the reading of the API server, and nothing is lost when it goes on. */
static void test_back_pressure(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    struct reader x = {.hold = true};
    sign_in(b);
    watch(b, &x, "/api/v1/pods?watch=1&big", b->client);
    size_t before;
    do {
        before = u->stream_sent;
        turns(b, 200);
    } while (u->stream_sent != before || before == 0);
    assert_true(u->stream_sent < BIG);
    assert_true(http_server_stats(b->http).cut_slow == 0);
    x.hold = false;
    http_call_pause(x.call, false);
    while (!x.over) {
        turns(b, 1);
    }
    assert_int_equal(x.got, BIG + 17);
}

static void test_many(void **state) {
    struct bed *b = *state;
    static struct reader x[WAY_PASSES_OF_USER];
    sign_in(b);
    for (size_t i = 0; i < WAY_PASSES_OF_USER; i++) {
        x[i] = (struct reader){0};
        watch(b, &x[i], "/api/v1/pods?watch=1", b->client);
    }
    for (size_t i = 0; i < WAY_PASSES_OF_USER; i++) {
        while (x[i].got == 0) {
            turns(b, 1);
        }
    }
    ASK("GET", "/api/v1/pods", "", 429);
    http_call_cancel(x[0].call);
    turns(b, 20);
    ASK("GET", "/api/v1/pods", "", 200);
}

static void test_no_server(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    sign_in(b);
    http_server_free(TAKE(u->http));
    turns(b, 5);
    ASK("GET", "/api/v1/pods", "", 503);
    assert_true(str_contains(buf_view(&b->body), STR("cannot be reached")));
    ASK("GET", "/dashboard/session", "",
        200); /* who cannot be asked about is still who they were */
    ASK("GET", "/apis/berth.dev/v1alpha1/fleets/current", "", 503);
}

/* ---- computed ---- */

static void test_computed(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    const char *fleets = "/apis/berth.dev/v1alpha1/fleets/current?from=a%20b";
    sign_in(b);
    ASK("GET", fleets, "", 200);
    BODY, STR("{\"mine\":1,\"theirs\":0,\"name\":\"current\",\"from\":\"a b\"}"));
    /* to ask it; pods anywhere; pods in each of the two */
    assert_int_equal(u->reviews, 4);
    assert_int_equal(u->asks, 3);
    ASK("GET", fleets, "", 200); /* rights are remembered */
    assert_int_equal(u->reviews, 4);
    assert_int_equal(u->asks, 4);
    ASK("POST", fleets, "{}", 403); /* not with our header */
    bed_with(b, OURS, NULL, NULL);
    ASK("POST", fleets, "{}", 405);
    bed_with(b, NULL, NULL, NULL);
    ASK("GET", "/apis/berth.dev/v1alpha1/namespaces/mine/fleets/current", "", 200);
    BODY, STR("{\"kind\":\"PodList\"}")); /* no such thing of ours: the API server's */
    sign_in(b);                           /* another session: its own rights */
    u->all_allowed = true;
    ASK("GET", fleets, "", 200);
    BODY, STR("{\"mine\":1,\"theirs\":1,\"name\":\"current\",\"from\":\"a b\"}"));
    assert_int_equal(u->reviews, 6); /* to ask it, and pods anywhere */
    sign_in(b);
    u->may_ask = false;
    u->asks = 0;
    ASK("GET", fleets, "", 403);
    assert_int_equal(u->asks, 0);
    u->may_ask = true;
    virtual_remove(u->virtuals, &u->source);
    sign_in(b);
    ASK("GET", fleets, "", 503);
}

/* Answers that take their time: told later, not wanted any more, and never given. */
static void test_computed_later(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    const char *path = "/apis/berth.dev/v1alpha1/fleets/current";
    struct reader x = {0};
    sign_in(b);
    u->later = true;
    watch(b, &x, path, b->client);
    while (u->done == NULL) {
        turns(b, 1);
    }
    u->done(u->done_ctx, 0, STR("{\"late\":1}"), NULL);
    while (!x.over) {
        turns(b, 1);
    }
    assert_int_equal(x.got, 10);
    u->done = NULL;
    x = (struct reader){0};
    watch(b, &x, path, b->client);
    while (u->done == NULL) {
        turns(b, 1);
    }
    http_call_cancel(x.call);
    while (u->cancelled == 0) {
        turns(b, 1);
    }
    u->done = NULL;
    x = (struct reader){0};
    watch(b, &x, path, b->client);
    while (u->done == NULL) {
        turns(b, 1);
    } /* teardown lets go of it */
}

/* Something that answers may depend on is there. */
static void fake_commit(struct mirror *m) {
    struct object *o = NULL;
    assert_int_equal(
        fake_object(&fake_map, STR("x"), STR("y"), STR("u"), STR(""), STR("1"), &o, NULL), 0);
    assert_int_equal(mirror_write(m, CHANGE_ADDED, o, 0, NULL, NULL, NULL), 0);
    mirror_flush(m);
}

static void until_got(struct reader *x, const char *text) {
    while (strstr(x->last, text) == NULL) {
        assert_false(x->over);
        turns(x->b, 1);
    }
    x->last[0] = 0;
}

/* A watch with the rights of its user: shared by those of one session, asked again, ended with the right. */
static void test_computed_watch(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    const char *path =
        "/apis/berth.dev/v1alpha1/fleets?watch=true&fieldSelector=metadata.name%3Dcurrent&from=1";
    struct reader x = {0}, y = {0};
    sign_in(b);
    watch(b, &x, path, b->client);
    until_got(&x, "{\"type\":\"ADDED\",\"object\":{\"mine\":1,\"theirs\":0,\"name\":\"current\","
                  "\"from\":\"1\"}}\n");
    assert_int_equal(u->reviews, 4);
    unsigned asks = u->asks;
    watch(b, &y, path, b->client);
    until_got(&y, "\"ADDED\"");
    assert_int_equal(u->asks, asks);
    http_call_cancel(x.call); /* the other's rights are the same */
    turns(b, 20);
    fake_commit(u->mirror);
    u->version = 2;
    until_got(&y, "{\"type\":\"MODIFIED\",\"object\":{\"mine\":1,\"theirs\":0,\"name\":\"current\","
                  "\"from\":\"1\",\"version\":2}}\n");
    bed_with(b, OURS, NULL, NULL);
    ASK("DELETE", "/dashboard/session", "", 204);
    bed_with(b, NULL, NULL, NULL);
    while (!y.over) {
        turns(b, 1);
    }
    assert_true(strstr(y.last, "\"code\":401") != NULL);
}

static void test_computed_watch_refused(void **state) {
    struct bed *b = *state;
    struct upstream *u = *state;
    const char *path = "/apis/berth.dev/v1alpha1/fleets?watch=1";
    struct reader x = {0};
    sign_in(b);
    ASK("GET", "/apis/berth.dev/v1alpha1/fleets?watch=1&labelSelector=a", "", 400);
    ASK("GET", "/apis/berth.dev/v1alpha1/fleets?watch=1&fieldSelector=spec.a%3Db", "", 400);
    ASK("GET", "/apis/berth.dev/v1alpha1/fleets?watch=1&sendInitialEvents=true", "", 422);
    u->may_ask = false;
    ASK("GET", path, "", 403);
    u->may_ask = true;
    sign_in(b);
    watch(b, &x, path, b->client);
    until_got(&x, "\"ADDED\"");
    virtual_remove(u->virtuals, &u->source); /* another replica leads now */
    fake_commit(u->mirror);
    while (!x.over) {
        turns(b, 1);
    }
    assert_true(strstr(x.last, "\"ERROR\"") && strstr(x.last, "\"code\":503"));
    ASK("GET", path, "", 503);
    virtual_add(u->virtuals, &u->source);
    u->later = true;
    x = (struct reader){0};
    watch(b, &x, path, b->client);
    while (u->done == NULL) {
        turns(b, 1);
    }
    http_call_cancel(x.call); /* leaves before there is an answer */
    while (u->cancelled == 0) {
        turns(b, 1);
    }
    u->done = NULL;
    watch(b, &x, path, b->client);
    while (u->done == NULL) {
        turns(b, 1);
    } /* teardown lets go of it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_identify, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sent_on, setup, teardown),
        cmocka_unit_test(test_paths),
        cmocka_unit_test_setup_teardown(test_bodies, setup, teardown),
        cmocka_unit_test(test_token_ends),
        cmocka_unit_test_setup_teardown(test_revoked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_back_pressure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_server, setup, teardown),
        cmocka_unit_test_setup_teardown(test_computed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_computed_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_computed_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_computed_watch_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * talk: see talk.h. A request names what it wants, and offers protocols; the
 * first that is known here is taken, as upstream does. Beyond the verb of its
 * method, a session takes the right to create: clients ask with GET for
 * WebSockets, which would else be a right to read.
 */
#include "server/talk/talk.h"

#include "net/upgrade/websocket.h"
#include "server/kit/handlers.h"
#include "wire/json/json.h"

#define TUNNEL "SPDY/3.1+portforward.k8s.io"

/* WebSocket subprotocols of exec and attach, and of plain portforward. No name:
 * a client that offers none. */
static const struct talk_protocol channel_protocols[] = {
    {"v5.channel.k8s.io", false, true, true},        {"v4.channel.k8s.io", false, false, true},
    {"v4.base64.channel.k8s.io", true, false, true}, {"channel.k8s.io", false, false, false},
    {"base64.channel.k8s.io", true, false, false},   {"", false, false, false},
};
static const struct talk_protocol forward_protocols[] = {
    {TUNNEL, false, false, true},
    {"v4.channel.k8s.io", false, false, true},
    {"v4.base64.channel.k8s.io", true, false, true},
};
/* What SPDY's streams are used for. */
static const struct talk_protocol stream_protocols[] = {
    {"v5.channel.k8s.io", false, true, true},
    {"v4.channel.k8s.io", false, true, true},
};
static const struct talk_protocol port_protocols[] = {
    {"portforward.k8s.io", false, false, true},
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct talk_protocol *known(const struct talk_protocol *rows, size_t n,
                                         struct str name) {
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* The first protocol of the header's lists that is in the table. */
static const struct talk_protocol *choose(const struct call *c, const char *header,
                                          const struct talk_protocol *rows, size_t n) {
    struct str list, one;
    size_t i = 0;
    for (; http_header_nth(c->http, header, i, &list); i++) {
        while (str_next(&list, ',', &one)) {
            const struct talk_protocol *p = known(rows, n, str_trim(one));
            if (p != NULL && p->name[0] != 0) {
                return p;
            }
        }
    }
    return i == 0 ? known(rows, n, (struct str){0}) : NULL;
}

static int no_protocol(struct call *c, const char *header, const struct talk_protocol *rows,
                       size_t n) {
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < n && rows[i].name[0] != 0; i++) {
        buf_f(&b, "%s%s", i ? ", " : "", rows[i].name);
    }
    int r = failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                        "unable to upgrade: none of the protocols in %s is "
                        "served; these are: %.*s",
                        header, STR_ARG(buf_view(&b)));
    buf_release(&b);
    return r;
}

/* The headers of the answer. */
static int agree_websocket(struct call *c, const struct talk_protocol *p) {
    struct err err = {0};
    struct buf accept;
    if (!str_is(http_header(c->http, "Sec-WebSocket-Version"), "13")) {
        (void)http_add_header(c->http, "Sec-WebSocket-Version", STR("13"));
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "Sec-WebSocket-Version must be 13");
    }
    buf_init(&accept, 0);
    int r = websocket_accept(http_header(c->http, "Sec-WebSocket-Key"), &accept, &err);
    r = r ? r : buf_ok(&accept);
    if (r == 0) {
        r = http_add_header(c->http, "Sec-WebSocket-Accept", buf_view(&accept));
    }
    if (r == 0 && p->name[0] != 0) {
        r = http_add_header(c->http, "Sec-WebSocket-Protocol", str_of(p->name));
    }
    buf_release(&accept);
    if (err.code != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    return r ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory") : 0;
}

static int start_websocket(struct call *c, const struct talk_target *t) {
    bool ports = t->open.what == PODTALK_CONNECT;
    const struct talk_protocol *rows = ports ? forward_protocols : channel_protocols;
    size_t n = ports ? COUNT(forward_protocols) : COUNT(channel_protocols);
    const struct talk_protocol *p = choose(c, "Sec-WebSocket-Protocol", rows, n);
    int r = p == NULL ? no_protocol(c, "Sec-WebSocket-Protocol", rows, n) : agree_websocket(c, p);
    if (r != 0) {
        return r;
    }
    if (ports && str_is(str_of(p->name), TUNNEL)) {
        return ports_start(c, t, false);
    }
    return ports ? forward_start(c, t, p) : channels_start(c, t, p);
}

static int start_spdy(struct call *c, const struct talk_target *t) {
    bool ports = t->open.what == PODTALK_CONNECT;
    const struct talk_protocol *rows = ports ? port_protocols : stream_protocols;
    size_t n = ports ? COUNT(port_protocols) : COUNT(stream_protocols);
    const struct talk_protocol *p = choose(c, "X-Stream-Protocol-Version", rows, n);
    if (p == NULL) {
        return no_protocol(c, "X-Stream-Protocol-Version", rows, n);
    }
    if (http_add_header(c->http, "X-Stream-Protocol-Version", str_of(p->name)) != 0) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    return ports ? ports_start(c, t, true) : remote_start(c, t, p);
}

/* Rights and streams are asked again while the session lasts: see streams.c. */
static int may_create(struct call *c, const struct api_request *q, struct arena *a,
                      struct failure *f) {
    struct api_request again = *q;
    struct str decision;
    again.verb = VERB_CREATE;
    again.verb_name = STR("create");
    return guard_allow(c->s->o.guard, &again, a, &decision, f);
}

bool talk_still_may(struct call *c, const struct api_request *q, struct arena *a) {
    struct failure f = {0};
    return may_create(c, q, a, &f) == 0;
}

static int run(struct call *c) {
    struct talk_target t;
    if (c->req.verb != VERB_GET && c->req.verb != VERB_CREATE) {
        return failure_method(&c->failure);
    }
    if (c->req.verb == VERB_GET && may_create(c, &c->req, c->arena, &c->failure) != 0) {
        return c->failure.code;
    }
    int r = target_read(c, &t);
    if (r != 0) {
        return r;
    }
    if (c->s->o.sessions == NULL || c->s->stopping) {
        return failure_set(&c->failure, c->arena, ERR_UNAVAILABLE,
                           "this server has no sessions with pods");
    }
    if (hooks_connect(c) != 0) {
        return c->failure.code;
    }
    if (http_offers(c->http, "websocket")) {
        return start_websocket(c, &t);
    }
    if (http_offers(c->http, "SPDY/3.1")) {
        return start_spdy(c, &t);
    }
    return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                       "Upgrade request required: websocket or SPDY/3.1");
}

void talk_request(struct call *c) {
    if (run(c) != 0) {
        call_fail(c);
    }
}

/* ---- what both ways of exec and attach say ---- */

static uint16_t cells(yyjson_val *v) {
    uint64_t n = yyjson_is_uint(v) ? yyjson_get_uint(v) : 0;
    return n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
}

bool talk_size(struct str text, uint16_t *ret_rows, uint16_t *ret_cols) {
    struct arena a;
    yyjson_doc *d;
    uint16_t rows = 0, cols = 0;
    arena_init(&a, TALK_SIZE_TEXT * 64);
    if (text.n <= TALK_SIZE_TEXT && json_parse(&a, text, &d, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(d);
        rows = cells(yyjson_obj_get(root, "Height"));
        cols = cells(yyjson_obj_get(root, "Width"));
    }
    arena_release(&a);
    if (rows == 0 || cols == 0) {
        return false;
    }
    *ret_rows = rows;
    *ret_cols = cols;
    return true;
}

static void failed_status(struct buf *b, int code, const char *reason, struct str message) {
    buf_c(b, "{\"metadata\":{},\"status\":\"Failure\",\"message\":");
    buf_json(b, message);
    buf_f(b, ",\"reason\":\"%s\",", reason);
    if (code >= 0) {
        buf_f(b,
              "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"%"
              "d\"}]}}",
              code);
    } else {
        buf_c(b, "\"code\":500}");
    }
}

void talk_verdict(struct buf *b, const struct talk_protocol *p, enum podtalk_what what,
                  const struct podtalk_exit *e) {
    const char *doing = what == PODTALK_EXEC ? "executing command in" : "attaching to";
    struct buf text;
    int code = e->end == PODTALK_SIGNAL ? 128 + e->value : e->value;
    bool failed = e->end == PODTALK_FAILED;
    if (!failed && code == 0) {
        buf_c(b, p->status ? "{\"metadata\":{},\"status\":\"Success\"}" : "");
        return;
    }
    buf_init(&text, 0);
    if (failed) {
        buf_f(&text, "%serror %s container: %.*s", p->status ? "Internal error occurred: " : "",
              doing, STR_ARG(e->text));
    } else {
        buf_f(&text, "command terminated with non-zero exit code: exit status %d", code);
    }
    if (p->status) {
        failed_status(b, failed ? -1 : code, failed ? "InternalError" : "NonZeroExitCode",
                      buf_view(&text));
    } else {
        buf_str(b, buf_view(&text));
    }
    buf_release(&text);
}

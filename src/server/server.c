/* server: life cycle, and the answers that all handlers share. */
#include "server/server.h"
#include "server/write/admit.h"

#include "base/limits.h"
#include "base/mem.h"
#include "server/flow/flow.h"
#include "server/kit/convert.h"
#include "server/kit/handlers.h"
#include "server/kit/names.h"
#include "server/policies/policies.h"
#include "server/read/turns.h"
#include "server/write/crd.h"
#include "server/write/hooks.h"
#include "server/write/pipeline.h"
#include "server/write/yaml_body.h"
#include "wire/json/json.h"
#include "wire/protobuf.h"

enum { SCRATCH_BYTES = 64 << 20 };

int64_t server_now(struct server *s) {
    return clock_wall(s->clock);
}

struct server *server_new(const struct server_options *o, struct err *err) {
    struct server *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        (void)err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    s->o = *o;
    s->clock = loop_clock(o->loop);
    arena_init(&s->scratch, SCRATCH_BYTES);
    s->computed = virtual_hub_new(s->clock, o->mirror);
    if (s->computed == NULL) {
        err_set(err, ERR_NOMEM, "out of memory");
        server_free(s);
        return NULL;
    }
    if (watch_init(s, err) != 0 || streams_init(s, err) != 0 || turns_init(s, err) != 0 ||
        writer_init(s, err) != 0 || health_init(s, err) != 0 || crds_init(s, err) != 0 ||
        hooks_init(s, err) != 0 || convert_init(s, err) != 0 || policies_init(s, err) != 0 ||
        talk_init(s, err) != 0 || flows_init(s, err) != 0) {
        server_free(s);
        return NULL;
    }
    return s;
}

int server_start(struct server *s, struct err *err) {
    struct http_server_options o = {
        .host = s->o.host,
        .port = s->o.port,
        .allow_any = s->o.allow_any,
        .tls = s->o.tls,
        .head = route_head,
        .handler = route_request,
        .ctx = s,
    };
    return http_server_start(s->o.loop, &o, &s->http, err);
}

void server_handle(struct server *s, struct http_request *r) {
    route_request(s, r);
}

bool server_head(struct server *s, struct http_request *r) {
    return route_head(s, r);
}

uint16_t server_port(const struct server *s) {
    return s->http != NULL ? http_server_port(s->http) : 0;
}

void server_stop(struct server *s, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx) {
    s->stopping = true;
    watch_stop_all(s);
    talk_stop_all(s);
    if (s->http != NULL) {
        http_server_stop(s->http, grace_ms, stopped, ctx);
    } else {
        stopped(ctx);
    }
}

void server_free(struct server *s) {
    if (s == NULL) {
        return;
    }
    http_server_free(s->http);
    talk_release(s);
    yaml_body_release(s);
    convert_release(s);
    hooks_release(s);
    policies_release(s);
    watch_release(s);
    turns_release(s);
    virtual_hub_free(s->computed);
    streams_release(s);
    writer_release(s);
    crds_release(s);
    flows_release(s);
    health_release(s);
    openapi_release(s);
    admit_service_release(s);
    mem_free(s->ids);
    write_release_spares(s);
    arena_release(&s->scratch);
    mem_free(s);
}

/* ---- answers ---- */

/* Its notes as members of a JSON object. */
static struct str notes_of(struct call *c) {
    struct buf b;
    if (c->notes == NULL) {
        return (struct str){0};
    }
    buf_init(&b, LIMIT_POLICY_NOTES * 8);
    for (struct call_note *n = c->notes; n != NULL; n = n->next) {
        buf_c(&b, b.n > 0 ? "," : "");
        buf_json(&b, n->key);
        buf_ch(&b, ':');
        buf_json(&b, n->value);
    }
    struct str text = buf_ok(&b) == 0 ? arena_str(c->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

static void audit(struct call *c, int http) {
    struct guard *g = c->s->o.guard;
    health_count(c->s, c, http);
    if (g == NULL || g->audit == NULL) {
        return;
    }
    struct audit_record rec = {
        .req = &c->req,
        .peer = http_peer(c->http),
        .audit_id = c->audit_id,
        .status = http,
        .decision = c->decision,
        .annotations = notes_of(c),
        .started_ns = c->started_ns,
        .ended_ns = server_now(c->s),
    };
    if (c->failure.code != 0) {
        rec.reason = str_of(c->failure.reason);
        rec.message = c->failure.message;
    }
    g->audit(g, &rec);
}

static void leave(struct call *c) {
    flow_leave(c);
    if (c->inflight != NULL) {
        (*c->inflight)--;
        c->inflight = NULL;
    }
    c->answered = true;
    c->detach = NULL;
}

static void common_headers(struct call *c) {
    (void)http_add_header(c->http, "Audit-Id", c->audit_id);
    flow_headers(c);
    if (c->req.resource) {
        (void)http_add_header(c->http, "Cache-Control", STR("no-cache, private"));
    }
}

void call_bytes(struct call *c, int http, const char *type, struct str body) {
    common_headers(c);
    leave(c);
    audit(c, http);
    http_respond(c->http, http, type, body);
}

/* ---- what waits for a conversion ---- */

/* An answer that waits: an object that is to be sent (`o`), or a read that begins again. */
struct call_wait {
    struct convert_wait wait;
    struct call *call;
    const struct object *o;
    int http;
};

static void wait_gone(struct call *c, void *ctx) {
    struct call_wait *k = ctx;
    (void)c;
    convert_forget(&k->wait);
    object_unref(k->o);
    k->o = NULL;
}

static void wait_over(struct convert_wait *w) {
    struct call_wait *k = (struct call_wait *)(void *)w;
    struct call *c = k->call;
    const struct object *o = k->o;
    c->detach = NULL;
    c->failure = (struct failure){0};
    c->quiet = true; /* it was warned before */
    k->o = NULL;
    if (o != NULL) {
        call_object(c, k->http, o);
        object_unref(o);
    } else {
        route_again(c);
    }
}

/* After ERR_AGAIN: true when it waits, with `o`, or to be routed again. */
static bool wait_for_conversion(struct call *c, int http, const struct object *o) {
    bool reads = c->req.verb == VERB_GET || c->req.verb == VERB_LIST;
    if (c->failure.code != ERR_AGAIN || (o == NULL && !reads)) {
        return false;
    }
    if (c->converting == NULL && (c->converting = ARENA_NEW(c->arena, struct call_wait)) != NULL) {
        *c->converting = (struct call_wait){.call = c, .wait = {.ready = wait_over}};
    }
    if (c->converting == NULL || !convert_await(c->s, &c->converting->wait)) {
        (void)failure_set(&c->failure, c->arena, ERR_UNAVAILABLE,
                          "the objects cannot be converted: too much is asked of their webhook");
        return false;
    }
    c->converting->o = o != NULL ? object_ref(o) : NULL;
    c->converting->http = http;
    c->detach = wait_gone;
    c->detach_ctx = c->converting;
    return true;
}

void call_fail(struct call *c) {
    struct buf b;
    if (wait_for_conversion(c, 0, NULL)) {
        return;
    }
    if (arena_ok(c->arena) != 0 && c->failure.http < 500) { /* what was wrong may be just that */
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    buf_init(&b, 0);
    failure_json(&c->failure, &b);
    if (c->failure.retry_after > 0) {
        (void)http_add_header(c->http, "Retry-After",
                              arena_f(c->arena, "%d", c->failure.retry_after));
    }
    call_bytes(c, c->failure.http, "application/json", buf_view(&b));
    buf_release(&b);
}

void call_json(struct call *c, int http, struct buf *b) {
    struct err err = {0};
    int code = buf_ok(b);
    if (code == 0 && c->media.yaml) {
        code = render_yaml(b, c->arena, &err);
    }
    if (code == 0 && c->media.protobuf) {
        code = render_protobuf(b, c->arena, &err);
        c->media.protobuf = pb_is_envelope(buf_view(b));
    }
    if (code != 0) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM,
                          "Internal error occurred: out of memory");
        call_fail(c);
        return;
    }
    call_bytes(c, http, render_type(&c->media), buf_view(b));
}

static void begin_stream(struct call *c) {
    common_headers(c);
    flow_leave(c);
    if (c->inflight != NULL) {
        (*c->inflight)--;
        c->inflight = NULL;
    }
    c->s->long_running++;
    streams_add(c);
}

void call_stream(struct call *c, const char *type) {
    begin_stream(c);
    http_stream_begin(c->http, 200, type);
}

void call_upgrade(struct call *c, const char *protocol,
                  bool (*received)(void *user, struct str bytes)) {
    begin_stream(c);
    c->upgraded = true;
    audit(c, 101);
    http_upgrade(c->http, protocol, received);
}

void call_long(struct call *c, const char *type) {
    common_headers(c);
    http_stream_begin(c->http, 200, type);
}

void call_long_end(struct call *c) {
    leave(c);
    audit(c, 200);
    http_stream_end(c->http);
}

void call_stream_end(struct call *c) {
    if (c->answered) {
        return;
    }
    c->s->long_running--;
    streams_remove(c);
    leave(c);
    if (!c->upgraded) {
        audit(c, 200);
    }
    http_stream_end(c->http);
}

void call_note(struct call *c, struct str key, struct str value) {
    struct call_note **at = &c->notes;
    while (*at != NULL && !str_eq((*at)->key, key)) {
        at = &(*at)->next;
    }
    if (c->note_bytes + key.n + value.n > LIMIT_POLICY_NOTES ||
        (*at != NULL && str_contains((*at)->value, value))) {
        return;
    }
    c->note_bytes += key.n + value.n;
    if (*at != NULL) {
        (*at)->value = arena_f(c->arena, "%.*s, %.*s", STR_ARG((*at)->value), STR_ARG(value));
    } else if ((*at = ARENA_NEW(c->arena, struct call_note)) != NULL) {
        (*at)->key = key;
        (*at)->value = value;
    }
}

void call_warn(struct call *c, struct str text) {
    struct buf b;
    if (c->quiet) {
        return;
    }
    buf_init(&b, 4096);
    buf_c(&b, "299 - \"");
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];
        if (ch == '"' || ch == '\\') {
            buf_ch(&b, '\\');
        }
        buf_ch(&b, (unsigned char)ch < 0x20 ? ' ' : ch);
    }
    buf_ch(&b, '"');
    if (buf_ok(&b) == 0) {
        (void)http_add_header(c->http, "Warning", buf_view(&b));
    }
    buf_release(&b);
}

struct render call_render(struct call *c) {
    return (struct render){
        .kind = c->req.kind,
        .kv = c->req.kv,
        .media = c->media,
        .include_object = c->req.opt.include_object,
        .now = server_now(c->s),
        .scratch = &c->s->scratch,
    };
}

void call_object(struct call *c, int http, const struct object *o) {
    struct render r = call_render(c);
    struct buf b;
    struct err err = {0};
    buf_init(&b, 0);
    if (render_object(&r, o, &b, &err) != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
        if (!wait_for_conversion(c, http, o)) {
            call_fail(c);
        }
    } else {
        if (!r.media.protobuf) {
            buf_ch(&b, '\n');
        }
        call_json(c, http, &b);
    }
    buf_release(&b);
}

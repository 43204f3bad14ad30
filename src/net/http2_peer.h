/*
 * http2_peer: an HTTP/2 client for tests, over nghttp2, without a socket. What it sends is collected in `to`; what it
 * receives is recorded for each stream.
 */
#ifndef BERTH_NET_HTTP2_PEER_H
#define BERTH_NET_HTTP2_PEER_H

#include <nghttp2/nghttp2.h>

#include "base/buf.h"
#include "base/test.h"

enum { PEER_STREAMS = 512 };

struct http2_peer {
    nghttp2_session *session;
    struct buf to;
    int status[PEER_STREAMS]; /* by stream / 2 */
    size_t bytes[PEER_STREAMS];
    bool ended[PEER_STREAMS];     /* its stream is closed */
    uint32_t error[PEER_STREAMS]; /* with this code */
    int goaway;                   /* code, -1: none */
    int n_ended, n_refused;
    bool slow; /* takes bytes of bodies, and opens the window of no stream again */
};

static int peer_at(int32_t id) {
    return id / 2 % PEER_STREAMS;
}

static int peer_on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t n,
                          const uint8_t *value, size_t m, uint8_t flags, void *ctx) {
    struct http2_peer *p = ctx;
    uint64_t status = 0;
    if (n == 7 && memcmp(name, ":status", 7) == 0) {
        (void)str_to_u64(str_from((const char *)value, m), &status);
        p->status[peer_at(f->hd.stream_id)] = (int)status;
    }
    return 0;
}

static int peer_on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *at, size_t n,
                        void *ctx) {
    struct http2_peer *p = ctx;
    p->bytes[peer_at(id)] += n;
    if (p->slow) {
        nghttp2_session_consume_connection(s, n);
    } else {
        nghttp2_session_consume(s, id, n);
    }
    return 0;
}

static int peer_on_close(nghttp2_session *s, int32_t id, uint32_t code, void *ctx) {
    struct http2_peer *p = ctx;
    p->ended[peer_at(id)] = true;
    p->error[peer_at(id)] = code;
    p->n_ended++;
    p->n_refused += code == NGHTTP2_REFUSED_STREAM;
    return 0;
}

static int peer_on_frame(nghttp2_session *s, const nghttp2_frame *f, void *ctx) {
    struct http2_peer *p = ctx;
    if (f->hd.type == NGHTTP2_GOAWAY) {
        p->goaway = (int)f->goaway.error_code;
    }
    return 0;
}

static void peer_init(struct http2_peer *p) {
    nghttp2_session_callbacks *c;
    nghttp2_option *o;
    *p = (struct http2_peer){.goaway = -1};
    buf_init(&p->to, 0);
    assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
    assert_int_equal(nghttp2_option_new(&o), 0);
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_session_callbacks_set_on_header_callback(c, peer_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, peer_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, peer_on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, peer_on_frame);
    assert_int_equal(nghttp2_session_client_new2(&p->session, c, p, o), 0);
    nghttp2_session_callbacks_del(c);
    nghttp2_option_del(o);
    nghttp2_submit_settings(p->session, 0, NULL, 0);
}

static void peer_release(struct http2_peer *p) {
    nghttp2_session_del(p->session);
    buf_release(&p->to);
}

/* What it has to say, into `to`. */
static void peer_speak(struct http2_peer *p) {
    const uint8_t *at;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(p->session, &at)) > 0) {
        buf_add(&p->to, at, (size_t)n);
    }
}

static bool peer_hear(struct http2_peer *p, struct str in) {
    return nghttp2_session_mem_recv(p->session, (const uint8_t *)in.p, in.n) == (ssize_t)in.n;
}

static nghttp2_nv peer_nv(const char *name, struct str value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value.p, strlen(name),
                        value.n, 0};
}

static ssize_t peer_read(nghttp2_session *s, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx) {
    struct str *left = source->ptr;
    if (left->p == NULL) {
        return NGHTTP2_ERR_DEFERRED; /* a body that never comes */
    }
    struct str part = str_head(*left, n);
    memcpy(to, part.p, part.n);
    *left = str_skip(*left, part.n);
    *flags |= left->n == 0 ? NGHTTP2_DATA_FLAG_EOF : 0;
    return (ssize_t)part.n;
}

/* body: NULL for none; read as the session sends. more: further fields, up to 4. */
__attribute__((unused)) static int32_t peer_ask(struct http2_peer *p, const char *method,
                                                struct str path, struct str *body,
                                                const nghttp2_nv *more, size_t n) {
    nghttp2_nv nv[8] = {peer_nv(":method", str_of(method)), peer_nv(":scheme", STR("http")),
                        peer_nv(":authority", STR("h")), peer_nv(":path", path)};
    nghttp2_data_provider from = {.source.ptr = body, .read_callback = peer_read};
    for (size_t i = 0; i < n; i++) {
        nv[4 + i] = more[i];
    }
    int32_t id = nghttp2_submit_request(p->session, NULL, nv, 4 + n, body ? &from : NULL, NULL);
    assert_true(id > 0);
    return id;
}

/* A frame as it is on the wire. */
__attribute__((unused)) static void peer_raw(struct http2_peer *p, int type, int flags, int32_t id,
                                             struct str payload) {
    uint8_t h[9] = {(uint8_t)(payload.n >> 16),
                    (uint8_t)(payload.n >> 8),
                    (uint8_t)payload.n,
                    (uint8_t)type,
                    (uint8_t)flags,
                    (uint8_t)(id >> 24),
                    (uint8_t)(id >> 16),
                    (uint8_t)(id >> 8),
                    (uint8_t)id};
    buf_add(&p->to, h, sizeof(h));
    buf_str(&p->to, payload);
}

#endif

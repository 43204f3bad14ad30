/*
 * http2: a session over nghttp2, and what a peer may do to it. See http2.h.
 *
 * nghttp2 takes its memory from malloc, not by base/mem.h: where an allocation fails while it sends, version 1.52 ends
 * the process by an assertion, so that failing them one by one tests nothing of ours.
 */
#include "net/http2.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

enum { HEAD_WHOLE_MAX = 8 * LIMIT_HTTP_HEADER_BYTES, FRAME_HEAD = 9, FIELDS_MAX = 64 };

/* So many at once, and so many more in a second. */
struct http2_pace {
    int64_t at; /* when `have` was right */
    double have, most, per_s;
};

struct http2 {
    nghttp2_session *session;
    const struct http2_hooks *hooks;
    void *ctx;
    int64_t now;
    int64_t head_since;
    size_t head_bytes; /* of the head under way, names and values */
    struct http2_pace controls, credits, resets;
    struct buf *out; /* during http2_output */
    bool heard, abused, leaving;
};

static void pace_init(struct http2_pace *p, int64_t now, double most, double per_s) {
    *p = (struct http2_pace){.at = now, .have = most, .most = most, .per_s = per_s};
}

static bool pace_take(struct http2_pace *p, int64_t now) {
    double more = (double)(now - p->at) / (double)NS_PER_SEC * p->per_s, room = p->most - p->have;
    p->have += more < room ? more : room > 0 ? room : 0; /* what was earned otherwise stays */
    p->at = now;
    p->have -= 1;
    return p->have >= 0;
}

/* ---- what the peer does ---- */

static void calm(struct http2 *h) {
    if (!h->abused) {
        h->abused = true;
        (void)nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

static struct http2_stream *stream_of(nghttp2_session *session, int32_t id) {
    return nghttp2_session_get_stream_user_data(session, id);
}

static bool is_control(const nghttp2_frame_hd *hd) {
    switch (hd->type) {
    case NGHTTP2_DATA:
        return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION: /* counted by nghttp2, see make_option */
    case NGHTTP2_RST_STREAM:
    case NGHTTP2_WINDOW_UPDATE:
        return false;
    default:
        return true;
    }
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *ctx) {
    struct http2 *h = ctx;
    h->heard = true;
    if (hd->type != NGHTTP2_CONTINUATION) {
        h->head_since = 0;
    }
    bool fine = hd->type == NGHTTP2_RST_STREAM ? pace_take(&h->resets, h->now)
                : hd->type == NGHTTP2_WINDOW_UPDATE
                    ? pace_take(&h->credits, h->now)
                    : !is_control(hd) || pace_take(&h->controls, h->now);
    if (!fine) {
        calm(h);
    }
    return 0;
}

/* Nothing of the head is of interest any more, and it is not waited for unless further frames are to bring it. */
static void skip_head(struct http2 *h, const nghttp2_frame *frame) {
    h->head_since = frame->hd.flags & NGHTTP2_FLAG_END_HEADERS ? 0 : h->head_since;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx) {
    struct http2 *h = ctx;
    h->head_since = h->now;
    h->head_bytes = 0;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    struct http2_stream *s = h->hooks->open(h->ctx);
    if (s == NULL) {
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_REFUSED_STREAM);
        skip_head(h, frame);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    nghttp2_extpri turns = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    s->id = frame->hd.stream_id;
    (void)nghttp2_session_set_stream_user_data(session, s->id, s);
    (void)nghttp2_session_change_extpri_stream_priority(session, s->id, &turns, 1);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
                     void *ctx) {
    struct http2 *h = ctx;
    struct http2_stream *s = stream_of(session, frame->hd.stream_id);
    h->head_bytes += name_n + value_n + 32;
    if (h->head_bytes > HEAD_WHOLE_MAX) {
        skip_head(h, frame);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* nobody reads on to say 431 */
    }
    if (s) {
        http_parse_field(s->parse, str_from((const char *)name, name_n),
                         str_from((const char *)value, value_n));
    }
    return 0;
}

static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_n, const uint8_t *value,
                             size_t value_n, uint8_t flags, void *ctx) {
    struct http2_stream *s = stream_of(session, frame->hd.stream_id);
    if (s) {
        http_parse_refuse(s->parse, 400, "a header has a name or value that HTTP does not know");
    }
    return 0;
}

static int skip_unknown(nghttp2_session *session, void **payload, const nghttp2_frame_hd *hd,
                        void *ctx) {
    return NGHTTP2_ERR_CANCEL;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int code,
                            void *ctx) {
    struct http2 *h = ctx;
    h->head_since = 0;
    return 0;
}

static void tell(struct http2 *h, struct http2_stream *s) {
    if (!s->told) {
        s->told = true;
        h->hooks->whole(h->ctx, s);
    }
}

static void whole(struct http2 *h, struct http2_stream *s) {
    http_parse_end(s->parse);
    s->in_whole = true;
    tell(h, s);
}

static void headers_came(struct http2 *h, struct http2_stream *s, const nghttp2_frame *frame) {
    bool request = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (request) {
        http_parse_head_end(s->parse);
    }
    if (end) {
        whole(h, s);
    } else if (request && s->parse->state == HTTP_FAILED) {
        tell(h, s); /* refused; the rest of it is not waited for */
    } else if (request) {
        h->hooks->head(h->ctx, s);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx) {
    struct http2 *h = ctx;
    struct http2_stream *s = stream_of(session, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS) {
        h->head_since = 0;
        if (s) {
            headers_came(h, s, frame);
        }
    } else if (frame->hd.type == NGHTTP2_DATA && s && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        whole(h, s);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t n, void *ctx) {
    struct http2 *h = ctx;
    struct http2_stream *s = stream_of(session, id);
    if (s && !s->unread && s->parse->state == HTTP_IN_BODY) {
        http_parse_bytes(s->parse, str_from((const char *)data, n));
        if (s->parse->state == HTTP_FAILED) {
            tell(h, s);
        } else {
            h->hooks->body(h->ctx, s);
        }
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx) {
    struct http2 *h = ctx;
    struct http2_stream *s = stream_of(session, id);
    if (s) {
        bool sent = s->answered && s->out_whole && s->out_at == s->out.n;
        s->gone = true;
        h->hooks->closed(h->ctx, s, sent && code == NGHTTP2_NO_ERROR);
    }
    return 0;
}

/* ---- what goes out ---- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t n,
                         uint32_t *flags, nghttp2_data_source *source, void *ctx) {
    struct http2_stream *s = source->ptr;
    size_t have = s->out.n - s->out_at;
    if (have == 0 && !s->out_whole) {
        s->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (s->out_whole && have <= n) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)(have < n ? have : n);
}

static int send_body(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t n,
                     nghttp2_data_source *source, void *ctx) {
    struct http2 *h = ctx;
    struct http2_stream *s = source->ptr;
    buf_add(h->out, head, FRAME_HEAD);
    buf_str(h->out, str_head(str_skip(buf_view(&s->out), s->out_at), n));
    if (buf_ok(h->out) != 0) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    s->out_at += n;
    if (s->out_at == s->out.n) {
        buf_reset(&s->out);
        s->out_at = 0;
    }
    h->credits.have += (double)n / 1024;
    h->hooks->sent(h->ctx, s);
    return 0;
}

/* A stream that we had to end for what its peer did to it is as one that the peer ended. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx) {
    struct http2 *h = ctx;
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
        h->abused = true;
    }
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        !pace_take(&h->resets, h->now)) {
        calm(h);
    }
    return 0;
}

/* ---- the session ---- */

static nghttp2_session_callbacks *callbacks;
static nghttp2_option *option;

static void make_callbacks(void) {
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        callbacks = NULL;
        return;
    }
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks, skip_unknown);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_body);
}

static void make_option(void) {
    if (nghttp2_option_new(&option) != 0) {
        option = NULL;
        return;
    }
    nghttp2_option_set_max_continuations(option, LIMIT_H2_CONTINUATIONS);
    nghttp2_option_set_max_settings(option, LIMIT_H2_SETTINGS);
    nghttp2_option_set_max_deflate_dynamic_table_size(option, LIMIT_H2_TABLE);
    nghttp2_option_set_max_outbound_ack(option, 2 * LIMIT_H2_CONTROLS);
    nghttp2_option_set_no_closed_streams(option, 1);
    for (int type = NGHTTP2_CONTINUATION + 1; type <= UINT8_MAX; type++) {
        /* Frames that nobody knows are heard of, to be counted. */
        nghttp2_option_set_user_recv_extension_type(option, (uint8_t)type);
    }
}

static void make_both(void) {
    make_callbacks();
    make_option();
}

static bool begin(struct http2 *h) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_H2_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_H2_WINDOW},
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, LIMIT_H2_TABLE},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HTTP_HEADER_BYTES},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    return nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
                                   sizeof(settings) / sizeof(*settings)) == 0 &&
           nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
                                                 LIMIT_H2_WINDOW_ALL) == 0;
}

struct http2 *http2_new(const struct http2_hooks *hooks, void *ctx, int64_t now) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct http2 *h = mem_zalloc(sizeof(*h));
    pthread_once(&once, make_both);
    if (h == NULL || callbacks == NULL || option == NULL) {
        mem_free(h);
        return NULL;
    }
    h->hooks = hooks;
    h->ctx = ctx;
    h->now = now;
    pace_init(&h->controls, now, LIMIT_H2_CONTROLS, LIMIT_H2_CONTROLS);
    pace_init(&h->credits, now, LIMIT_H2_CREDITS, LIMIT_H2_CREDITS);
    pace_init(&h->resets, now, LIMIT_H2_RESETS, LIMIT_H2_RESETS_PER_S);
    if (nghttp2_session_server_new2(&h->session, callbacks, h, option) != 0 || !begin(h)) {
        http2_free(h);
        return NULL;
    }
    return h;
}

void http2_free(struct http2 *h) {
    if (h) {
        nghttp2_session_del(h->session);
        mem_free(h);
    }
}

bool http2_input(struct http2 *h, struct str in, int64_t now) {
    h->now = now;
    ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)in.p, in.n);
    if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC || n == NGHTTP2_ERR_FLOODED ||
        n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) {
        h->abused = true;
        return nghttp2_session_terminate_session(h->session, NGHTTP2_PROTOCOL_ERROR) == 0;
    }
    return n >= 0;
}

bool http2_output(struct http2 *h, struct buf *out, size_t most) {
    const uint8_t *p;
    ssize_t n = 1;
    h->out = out;
    while (out->n < most) {
        size_t had = out->n;
        n = nghttp2_session_mem_send(h->session, &p);
        if (n < 0) {
            break;
        }
        buf_add(out, p, (size_t)n);
        if (n == 0 && out->n == had) {
            break;
        }
    }
    h->out = NULL;
    return n >= 0 && buf_ok(out) == 0;
}

bool http2_over(const struct http2 *h) {
    return !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session);
}

bool http2_heard(const struct http2 *h) {
    return h->heard;
}

int64_t http2_head_since(const struct http2 *h) {
    return h->head_since;
}

bool http2_abused(const struct http2 *h) {
    return h->abused;
}

static nghttp2_nv field(struct str name, struct str value) {
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.p,
                        .namelen = name.n,
                        .value = (uint8_t *)(uintptr_t)value.p,
                        .valuelen = value.n};
}

bool http2_answer(struct http2 *h, struct http2_stream *s, const struct http2_field *fields,
                  size_t n, bool body) {
    nghttp2_nv nv[FIELDS_MAX];
    nghttp2_data_provider from = {.source.ptr = s, .read_callback = read_body};
    if (s->gone) {
        return true;
    }
    if (n > FIELDS_MAX) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        nv[i] = field(fields[i].name, fields[i].value);
    }
    s->answered = true;
    s->out_whole = s->out_whole || !body;
    return nghttp2_submit_response(h->session, s->id, nv, n, body ? &from : NULL) == 0;
}

void http2_continue(struct http2 *h, struct http2_stream *s) {
    nghttp2_nv nv = field(STR(":status"), STR("100"));
    if (!s->gone) {
        (void)nghttp2_submit_headers(h->session, NGHTTP2_FLAG_NONE, s->id, NULL, &nv, 1, NULL);
    }
}

void http2_resume(struct http2 *h, struct http2_stream *s) {
    if (s->deferred && !s->gone) {
        s->deferred = false;
        (void)nghttp2_session_resume_data(h->session, s->id);
    }
}

void http2_reset(struct http2 *h, struct http2_stream *s) {
    if (!s->gone && !s->resetting) {
        s->resetting = true;
        (void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id,
                                        NGHTTP2_INTERNAL_ERROR);
    }
}

bool http2_half_open(const struct http2_stream *s) {
    return !s->gone && !s->in_whole && s->answered && s->out_whole && s->out_at == s->out.n;
}

void http2_finish(struct http2 *h, struct http2_stream *s) {
    if (!s->gone && !s->resetting) {
        s->resetting = true;
        (void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
    }
}

void http2_go_away(struct http2 *h) {
    if (!h->leaving) {
        h->leaving = true;
        (void)nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                                    nghttp2_session_get_last_proc_stream_id(h->session),
                                    NGHTTP2_NO_ERROR, NULL, 0);
    }
}

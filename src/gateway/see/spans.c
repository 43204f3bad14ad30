/* spans: a ring of encoded spans: encoding is done by the worker, outside the lock. See spans.h. */
#include "gateway/see/spans.h"

#include <pthread.h>
#include <stdio.h>

#include "base/mem.h"

enum { SPAN_BYTES_MAX = 8 << 10, KIND_SERVER = 2, STATUS_ERROR = 2 };

struct span_queue {
    pthread_mutex_t lock;
    struct buf ring[SPANS_MAX]; /* each the JSON of a span */
    size_t first, n;
    uint64_t dropped;
};

/* ---- one span ---- */

static void key(struct buf *out, const char *name, bool *more) {
    buf_f(out, "%s{\"key\":\"%s\",\"value\":", *more ? "," : "", name);
    *more = true;
}

static void text(struct buf *out, const char *name, struct str v, bool *more) {
    if (v.n) {
        key(out, name, more);
        buf_c(out, "{\"stringValue\":");
        buf_json(out, v);
        buf_c(out, "}}");
    }
}

static void number(struct buf *out, const char *name, int64_t v, bool *more) {
    if (v >= 0) {
        key(out, name, more);
        buf_f(out, "{\"intValue\":\"%lld\"}}", (long long)v);
    }
}

static void write_attributes(struct buf *out, const struct gateway_seen *s) {
    bool more = false;
    text(out, "http.request.method", s->method, &more);
    text(out, "url.path", s->path, &more);
    number(out, "http.response.status_code", s->status, &more);
    text(out, "gen_ai.operation.name", s->operation, &more);
    text(out, "gen_ai.request.model", s->asked, &more);
    text(out, "gen_ai.response.model", s->model ? s->model->name : (struct str){0}, &more);
    number(out, "gen_ai.usage.input_tokens", s->tokens_in, &more);
    number(out, "gen_ai.usage.output_tokens", s->tokens_out, &more);
    text(out, "server.address", s->address, &more);
    text(out, "error.type", s->refused, &more);
    text(out, "berth.project", s->key ? s->key->project : (struct str){0}, &more);
    text(out, "berth.endpoint", s->endpoint, &more);
    number(out, "berth.tries", s->tries, &more);
    number(out, "berth.held_ms", s->held_ns / 1000000, &more);
}

static void write_span(struct buf *out, const struct trace_context *at,
                       const struct gateway_seen *s) {
    int64_t took = s->took_ns > 0 ? s->took_ns : 0;
    bool failed = s->status >= 500 || s->status == 0;
    buf_c(out, "{\"traceId\":\"");
    for (size_t i = 0; i < sizeof at->id; i++) {
        buf_f(out, "%02x", at->id[i]);
    }
    buf_f(out, "\",\"spanId\":\"%016llx\"", (unsigned long long)s->trace->span);
    if (at->parent != 0) {
        buf_f(out, ",\"parentSpanId\":\"%016llx\"", (unsigned long long)at->parent);
    }
    struct str name = s->operation.n ? s->operation : STR("request");
    buf_f(out, ",\"name\":\"%.*s\",\"kind\":%d", STR_ARG(name), KIND_SERVER);
    buf_f(out, ",\"startTimeUnixNano\":\"%lld\",\"endTimeUnixNano\":\"%lld\"",
          (long long)s->begun_wall_ns, (long long)(s->begun_wall_ns + took));
    buf_c(out, ",\"attributes\":[");
    write_attributes(out, s);
    buf_f(out, "],\"status\":{%s", failed ? "\"code\":" : "");
    if (failed) {
        buf_f(out, "%d", STATUS_ERROR);
    }
    buf_c(out, "}}");
}

/* ---- the queue ---- */

void spans_add(struct span_queue *s, const struct trace_context *at,
               const struct gateway_seen *seen) {
    struct buf span;
    buf_init(&span, SPAN_BYTES_MAX);
    write_span(&span, at, seen);
    pthread_mutex_lock(&s->lock);
    bool fits = buf_ok(&span) == 0 && s->n < SPANS_MAX;
    if (fits) {
        s->ring[(s->first + s->n++) % SPANS_MAX] = span;
    } else {
        s->dropped++;
    }
    pthread_mutex_unlock(&s->lock);
    if (!fits) {
        buf_release(&span);
    }
}

size_t spans_take(struct span_queue *s, struct buf *out) {
    struct buf batch[SPANS_BATCH];
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    while (n < SPANS_BATCH && s->n > 0) {
        batch[n++] = s->ring[s->first];
        s->first = (s->first + 1) % SPANS_MAX;
        s->n--;
    }
    pthread_mutex_unlock(&s->lock);
    if (n == 0) {
        return 0;
    }
    buf_c(out,
          "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
          "\"stringValue\":\"berth-gateway\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":"
          "\"berth.gateway\"},\"spans\":[");
    for (size_t i = 0; i < n; i++) {
        buf_c(out, i ? "," : "");
        buf_str(out, buf_view(&batch[i]));
        buf_release(&batch[i]);
    }
    buf_c(out, "]}]}]}");
    return n;
}

uint64_t spans_dropped(struct span_queue *s) {
    pthread_mutex_lock(&s->lock);
    uint64_t n = s->dropped;
    pthread_mutex_unlock(&s->lock);
    return n;
}

struct span_queue *spans_new(void) {
    struct span_queue *s = mem_zalloc(sizeof *s);
    if (s != NULL) {
        pthread_mutex_init(&s->lock, NULL);
    }
    return s;
}

void spans_free(struct span_queue *s) {
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        buf_release(&s->ring[(s->first + i) % SPANS_MAX]);
    }
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

/* refusal: errors of the gateway, in the shape in which OpenAI's clients expect them, or Anthropic's. */
#include <stdio.h>

#include "gateway/gateway_private.h"

static const char *type_of(int status, bool anthropic) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return anthropic ? "not_found_error" : "invalid_request_error";
    case 429:
        return "rate_limit_error";
    case 503:
        return anthropic ? "overloaded_error" : "server_error";
    default:
        return status < 500 ? "invalid_request_error" : anthropic ? "api_error" : "server_error";
    }
}

static void add_text(struct buf *b, const char *name, const char *text) {
    buf_f(b, ",\"%s\":", name);
    if (text) {
        buf_json(b, str_of(text));
    } else {
        buf_c(b, "null");
    }
}

void refusal_body(struct buf *b, bool anthropic, int status, const char *code, const char *param,
                  struct str text) {
    buf_c(b,
          anthropic ? "{\"type\":\"error\",\"error\":{\"message\":" : "{\"error\":{\"message\":");
    buf_json(b, text);
    add_text(b, "type", type_of(status, anthropic));
    if (!anthropic) {
        add_text(b, "param", param);
        add_text(b, "code", code);
    }
    buf_c(b, "}}");
}

void refusal_plain(struct buf *b, int status, const char *text) {
    refusal_body(b, false, status, status == 413 ? "request_too_large" : "bad_request", NULL,
                 str_of(text));
}

/* The head of the answer was sent already, so the error is the last event. */
static void end_stream(struct gateway_exchange *x, struct str body) {
    struct buf event;
    buf_init(&event, 0);
    buf_c(&event, "event: error\ndata: ");
    buf_str(&event, body);
    buf_c(&event, "\n\n");
    (void)http_stream_write(x->request, buf_view(&event));
    buf_release(&event);
    http_stream_end(x->request);
}

void refusal_answer(struct gateway_exchange *x, const struct refusal *r, const char *fmt, ...) {
    char text[1024], seconds[24];
    struct buf body;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (x->phase == EXCHANGE_OVER) {
        return;
    }
    buf_init(&body, 0);
    refusal_body(&body, x->path.rule && x->path.rule->anthropic, r->status, r->code, r->param,
                 str_of(text));
    x->seen.refused = str_of(r->code);
    if (x->commented || (x->phase == EXCHANGE_ANSWERING && x->sse)) {
        end_stream(x, buf_view(&body));
        exchange_over(x, r->end, x->commented ? 200 : x->status);
    } else {
        if (r->retry_after_s > 0) {
            snprintf(seconds, sizeof(seconds), "%lld", (long long)r->retry_after_s);
            http_add_header(x->request, "Retry-After", str_of(seconds));
        }
        if (r->status == 401) {
            http_add_header(x->request, "WWW-Authenticate", STR("Bearer"));
        }
        http_respond(x->request, r->status, "application/json", buf_view(&body));
        exchange_over(x, r->end, r->status);
    }
    buf_release(&body);
}

/* call: a request under way, from the engine's queue to its last token. */
#include "base/mem.h"
#include "server.h"

enum { TEXT_MAX = 64 << 20 };

static void drop(struct call *c) {
    engine_remove(&c->of->engine, &c->seq);
    if (c->timer) {
        c->of->clock->timer_stop(c->timer);
    }
}

/* The request is over, or its client gone. */
static void on_closed(void *user) {
    struct call *c = user;
    struct server *s = c->of;

    drop(c);
    s->finished[FINISH_ABORT] += !c->counted;
    *c->at = c->next;
    if (c->next) {
        c->next->at = c->at;
    }
    s->clock->timer_free(c->timer);
    buf_release(&c->text);
    mem_free(c);
    server_kick(s);
}

/* ---- what goes out ---- */

static void write_out(struct call *c, struct buf *b) {
    if (!c->begun) {
        http_add_header(c->r, "Cache-Control", STR("no-cache"));
        http_stream_begin(c->r, 200, "text/event-stream; charset=utf-8");
        c->begun = true;
    }
    http_stream_write(c->r, buf_view(b));
    buf_release(b);
}

static void send_piece(struct call *c, struct str piece, enum finish f) {
    struct buf b;

    buf_init(&b, TEXT_MAX);
    text_chunk(c, piece, f, &b);
    write_out(c, &b);
    c->chunks++;
}

static void cut(struct call *c) {
    drop(c);
    c->over = true;
    if (!c->begun) {
        http_stream_begin(c->r, 200, "application/json");
        http_stream_write(c->r, STR("{\"id\":"));
    }
    http_stream_cut(c->r);
}

static void end_stream(struct call *c, enum finish f) {
    struct buf b;

    send_piece(c, str_skip(buf_view(&c->text), c->sent), f);
    buf_init(&b, TEXT_MAX);
    if (c->ask.usage) {
        text_usage_chunk(c, &b);
    }
    buf_c(&b, "data: [DONE]\n\n");
    write_out(c, &b);
    http_stream_end(c->r);
}

static void end_whole(struct call *c, enum finish f) {
    struct buf b;

    buf_init(&b, TEXT_MAX);
    if (c->ask.kind == ASK_EMBEDDING) {
        text_embedding(c, &b);
    } else {
        text_whole(c, f, &b);
    }
    if (c->fault.kind == FAULT_BAD) {
        b.n /= 2;
    }
    http_respond(c->r, 200, "application/json", buf_view(&b));
    buf_release(&b);
}

static void measure(struct call *c, enum finish f) {
    struct server *s = c->of;

    c->counted = true;
    s->finished[f]++;
    metrics_put(s, H_E2E, (double)(c->last - c->came) / 1e9);
    metrics_put(s, H_DECODE, (double)(c->last - c->first) / 1e9);
    metrics_put(s, H_PROMPT, (double)c->ask.tokens);
    metrics_put(s, H_GENERATED, (double)c->seq.generated);
}

static void end(struct call *c, enum finish f) {
    drop(c);
    c->over = true;
    measure(c, f);
    if (c->ask.stream) {
        end_stream(c, f);
    } else {
        end_whole(c, f);
    }
}

/* ---- tokens ---- */

/* Cuts what was said at the first of the stops. */
static bool stopped(struct call *c) {
    for (size_t i = 0; i < c->ask.n_stops; i++) {
        struct str stop = c->ask.stops[i];
        for (size_t at = 0; stop.n && at + stop.n <= c->text.n; at++) {
            if (memcmp(c->text.p + at, stop.p, stop.n) == 0) {
                c->text.n = at > c->sent ? at : c->sent;
                return true;
            }
        }
    }
    return false;
}

/* What may be the beginning of a stop is kept back. */
static size_t safe_to_send(const struct call *c) {
    size_t keep = 0;

    for (size_t i = 0; i < c->ask.n_stops; i++) {
        keep = c->ask.stops[i].n > keep ? c->ask.stops[i].n : keep;
    }
    keep = keep ? keep - 1 : 0;
    return c->text.n > keep + c->sent ? c->text.n - keep : c->sent;
}

static enum finish finish_of(struct call *c) {
    int64_t n = (int64_t)c->seq.generated;

    if (c->ask.tool.n) {
        return FINISH_TOOLS;
    }
    if (stopped(c) || (!c->ask.ignore_eos && n >= c->of->o.reply_tokens)) {
        return FINISH_STOP;
    }
    return n >= c->ask.max_tokens ? FINISH_LENGTH : FINISH_NONE;
}

static void measure_token(struct call *c) {
    struct server *s = c->of;
    int64_t now = clock_mono(s->clock);

    if (c->first == 0) {
        c->first = now;
        metrics_put(s, H_TTFT, (double)(now - c->came) / 1e9);
        metrics_put(s, H_PREFILL, (double)(now - s->step_began) / 1e9);
        metrics_put(s, H_QUEUE, (double)(s->step_began - c->came) / 1e9);
    } else {
        metrics_put(s, H_ITL, (double)(now - c->last) / 1e9);
    }
    c->last = now;
}

void call_token(void *ctx, struct sequence *seq) {
    struct call *c = seq->user;

    measure_token(c);
    if (c->ask.kind != ASK_EMBEDDING && c->ask.tool.n == 0) {
        text_token(c->of, c, &c->text);
    }
    if (c->fault.kind == FAULT_CUT && (int64_t)seq->generated > c->fault.after) {
        cut(c);
        return;
    }
    enum finish f = finish_of(c);
    if (f != FINISH_NONE) {
        end(c, f);
        return;
    }
    size_t to = safe_to_send(c);
    if (c->ask.stream && to > c->sent) {
        send_piece(c, str_from(c->text.p + c->sent, to - c->sent), FINISH_NONE);
        c->sent = to;
    }
}

/* ---- the beginning ---- */

static void hash_prompt(struct call *c) {
    size_t block = c->of->o.engine.block_tokens, bytes = block * 4, n = c->ask.tokens / block;
    struct arena *a = http_arena(c->r);
    uint64_t *v = n ? ARENA_ARRAY(a, uint64_t, n) : NULL, h = str_hash(c->ask.model);

    n = c->ask.prompt.n / bytes < n ? c->ask.prompt.n / bytes : n;
    for (size_t i = 0; v && i < n; i++) {
        h = (h ^ str_hash(str_from(c->ask.prompt.p + i * bytes, bytes))) * 0x9e3779b97f4a7c15;
        v[i] = h;
    }
    c->seq.hashes = v;
    c->seq.n_hashes = v ? n : 0;
}

static void submit(void *ctx) {
    struct call *c = ctx;

    if (!engine_add(&c->of->engine, &c->seq)) {
        c->counted = c->over = true;
        answer_error(c->r, 400, "BadRequestError", "prompt",
                     "The prompt needs more memory than this server has for keys and values.");
        return;
    }
    server_kick(c->of);
}

void call_begin(struct server *s, struct http_request *r, const struct ask *a,
                const struct fault *f) {
    struct call *c = mem_zalloc(sizeof(*c));

    if (c == NULL) {
        answer_error(r, 503, "ServiceUnavailable", NULL, "no memory");
        return;
    }
    *c = (struct call){.of = s, .r = r, .ask = *a, .fault = *f, .id = ++s->next_id};
    c->came = clock_mono(s->clock);
    c->seq = (struct sequence){.prompt = a->tokens, .user = c};
    buf_init(&c->text, TEXT_MAX);
    hash_prompt(c);
    c->at = &s->calls;
    c->next = s->calls;
    if (c->next) {
        c->next->at = &c->next;
    }
    s->calls = c;
    http_set_user(r, c, on_closed);
    if (f->kind == FAULT_SLOW) {
        c->timer = s->clock->timer_new(s->clock, submit, c);
        s->clock->timer_start(c->timer, f->ms * NS_PER_MS);
    } else if (f->kind != FAULT_HANG) {
        submit(c);
    }
}

/* ---- steps ---- */

void server_kick(struct server *s) {
    int64_t ns = s->stepping ? 0 : engine_plan(&s->engine);

    if (ns) {
        s->stepping = true;
        s->step_began = clock_mono(s->clock);
        s->clock->timer_start(s->step, ns);
    }
}

void server_step_over(void *ctx) {
    struct server *s = ctx;

    engine_end(&s->engine, call_token, s);
    s->stepping = false;
    server_kick(s);
}

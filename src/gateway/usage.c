/* usage: see usage.h. */
#include "gateway/usage.h"

#include "wire/json/json.h"

enum { JSON_ARENA = 8 << 20 };

static void take(yyjson_val *usage, const char *name, int64_t *ret) {
    yyjson_val *v = yyjson_obj_get(usage, name);
    if (yyjson_is_uint(v) && yyjson_get_uint(v) <= USAGE_TOKENS_MAX) {
        *ret = (int64_t)yyjson_get_uint(v);
    }
}

static bool take_usage(yyjson_val *usage, struct token_usage *u) {
    if (!yyjson_is_obj(usage)) {
        return false;
    }
    take(usage, "prompt_tokens", &u->in);
    take(usage, "input_tokens", &u->in);
    take(usage, "completion_tokens", &u->out);
    take(usage, "output_tokens", &u->out);
    take(yyjson_obj_get(usage, "prompt_tokens_details"), "cached_tokens", &u->cached);
    take(yyjson_obj_get(usage, "input_tokens_details"), "cached_tokens", &u->cached);
    take(usage, "cache_read_input_tokens", &u->cached);
    return true;
}

/* ret_alone: `choices` is an empty list, so the event has nothing but the usage. */
static bool read_text(struct str json, struct token_usage *u, bool *ret_alone) {
    struct arena a;
    yyjson_doc *doc = NULL;
    bool told = false;
    arena_init(&a, JSON_ARENA);
    if (json_parse(&a, json, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc), *choices = yyjson_obj_get(root, "choices");
        told = take_usage(yyjson_obj_get(root, "usage"), u);
        *ret_alone = told && yyjson_is_arr(choices) && yyjson_arr_size(choices) == 0;
        told |= take_usage(yyjson_obj_get(yyjson_obj_get(root, "message"), "usage"), u);
        told |= take_usage(yyjson_obj_get(yyjson_obj_get(root, "response"), "usage"), u);
    }
    arena_release(&a);
    return told;
}

bool usage_read(struct str json, struct token_usage *u) {
    bool alone = false;
    return read_text(json, u, &alone);
}

/* ---- events ---- */

void usage_stream_init(struct usage_stream *s, bool hide) {
    *s = (struct usage_stream){.hide = hide, .usage = USAGE_NONE};
    buf_init(&s->event, USAGE_EVENT_MAX);
}

void usage_stream_release(struct usage_stream *s) {
    buf_release(&s->event);
}

/* Bytes up to the end of the event, which is an empty line; 0: it does not end in here. */
static size_t event_end(struct usage_stream *s, struct str in) {
    size_t i = 0;
    while (i < in.n) {
        if (s->line == 0) {
            const char *p = memchr(in.p + i, '\n', in.n - i);
            if (p == NULL) {
                return 0;
            }
            i = (size_t)(p - in.p) + 1;
            s->line = 1;
            continue;
        }
        char c = in.p[i++];
        if (c == '\n') {
            s->line = 0;
            return i;
        }
        s->line = c == '\r' && s->line == 1 ? 2 : 0;
    }
    return 0;
}

/* Looks at a whole event. True: it has nothing but the usage. */
static bool look(struct usage_stream *s, struct str event) {
    bool alone = false;
    if (event.n > 0 && event.p[0] != ':') {
        s->events++;
    }
    if (event.n == 0 || memmem(event.p, event.n, "\"usage\"", 7) == NULL) {
        return false;
    }
    struct str line;
    while (str_next(&event, '\n', &line)) {
        if (str_starts(line, STR("data:"))) {
            struct str data = str_trim(str_skip(line, 5));
            if (data.n && data.p[0] == '{') {
                read_text(data, &s->usage, &alone);
            }
        }
    }
    return alone;
}

struct passing {
    void (*pass)(void *ctx, struct str bytes);
    void *ctx;
};

static void give(const struct usage_stream *s, const struct passing *to, struct str bytes) {
    if (s->hide && bytes.n > 0) { /* else it was passed on as it came */
        to->pass(to->ctx, bytes);
    }
}

/* More of an event whose beginning came earlier. */
static void add(struct usage_stream *s, const struct passing *to, struct str bytes) {
    if (!s->passing) {
        buf_str(&s->event, bytes);
        if (buf_ok(&s->event) == 0) {
            return;
        }
        s->passing = true;
        struct str kept = buf_view(&s->event);
        give(s, to, kept);
        buf_reset(&s->event);
    }
    give(s, to, bytes);
}

static void finish(struct usage_stream *s, const struct passing *to) {
    if (s->passing) {
        s->events++;
    } else if (!look(s, buf_view(&s->event))) {
        give(s, to, buf_view(&s->event));
    }
    s->passing = false;
    buf_reset(&s->event);
}

void usage_stream_feed(struct usage_stream *s, struct str in, void (*pass)(void *ctx, struct str),
                       void *ctx) {
    struct passing to = {pass, ctx};
    if (!s->hide) {
        pass(ctx, in);
    }
    size_t run = 0, at = 0; /* whole events that go on together, in.p + run up to at */
    while (at < in.n) {
        struct str rest = str_skip(in, at);
        size_t n = event_end(s, rest);
        if (s->begun) {
            add(s, &to, n ? str_head(rest, n) : rest);
            if (n) {
                finish(s, &to);
            }
            run = at = n ? at + n : in.n;
        } else if (n && look(s, str_head(rest, n)) && s->hide) {
            give(s, &to, str_from(in.p + run, at - run));
            run = at = at + n;
        } else if (n) {
            at += n;
        } else {
            give(s, &to, str_from(in.p + run, at - run));
            add(s, &to, rest);
            run = at = in.n;
        }
        s->begun = n == 0;
    }
    give(s, &to, str_from(in.p + run, at - run));
}

void usage_stream_end(struct usage_stream *s, void (*pass)(void *ctx, struct str), void *ctx) {
    struct passing to = {pass, ctx};
    if (s->begun) {
        finish(s, &to);
    }
    s->begun = false;
    s->line = 0;
}

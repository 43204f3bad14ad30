/* text: what the stub says, in OpenAI's shapes. */
#include <openssl/evp.h>

#include "base/mem.h"
#include "server.h"

static const char *const finishes[] = {[FINISH_NONE] = "null",
                                       [FINISH_STOP] = "\"stop\"",
                                       [FINISH_LENGTH] = "\"length\"",
                                       [FINISH_TOOLS] = "\"tool_calls\"",
                                       [FINISH_ABORT] = "\"abort\""};

/* The words of --reply, again and again. */
void text_token(const struct server *s, const struct call *c, struct buf *out) {
    size_t i = c->seq.generated - 1;

    if (i) {
        buf_ch(out, ' ');
    }
    if (s->n_words) {
        buf_str(out, s->words[i % s->n_words]);
    }
}

static void head(const struct call *c, const char *id, const char *object, struct buf *out) {
    buf_f(out, "{\"id\":\"%s-%lld\",\"object\":\"%s\",\"created\":%lld,\"model\":", id,
          (long long)c->id, object, (long long)(clock_wall(c->of->clock) / NS_PER_SEC));
    buf_json(out, c->ask.model);
}

static void usage(const struct call *c, struct buf *out) {
    size_t g = c->ask.kind == ASK_EMBEDDING ? 0 : c->seq.generated;

    buf_f(out,
          ",\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":%zu,\"total_tokens\":%zu,"
          "\"prompt_tokens_details\":{\"cached_tokens\":%zu}}",
          c->ask.tokens, g, c->ask.tokens + g, c->seq.cached);
}

static void tool_calls(const struct call *c, struct buf *out) {
    buf_f(out,
          "\"tool_calls\":[{\"index\":0,\"id\":\"call_%lld\",\"type\":\"function\",\"function\":{"
          "\"name\":",
          (long long)c->id);
    buf_json(out, c->ask.tool);
    buf_c(out, ",\"arguments\":");
    buf_json(out, c->ask.tool_args);
    buf_c(out, "}}]");
}

void text_chunk(const struct call *c, struct str piece, enum finish f, struct buf *out) {
    bool chat = c->ask.kind == ASK_CHAT;

    buf_c(out, "data: ");
    head(c, chat ? "chatcmpl" : "cmpl", chat ? "chat.completion.chunk" : "text_completion", out);
    buf_c(out, ",\"choices\":[{\"index\":0,");
    if (!chat) {
        buf_c(out, "\"text\":");
        buf_json(out, piece);
    } else {
        buf_c(out, "\"delta\":{");
        if (c->chunks == 0) {
            buf_c(out, "\"role\":\"assistant\",");
        }
        if (f == FINISH_TOOLS) {
            tool_calls(c, out);
        } else {
            buf_c(out, "\"content\":");
            buf_json(out, piece);
        }
        buf_c(out, "}");
    }
    buf_f(out, ",\"logprobs\":null,\"finish_reason\":%s}]}\n\n", finishes[f]);
}

void text_usage_chunk(const struct call *c, struct buf *out) {
    bool chat = c->ask.kind == ASK_CHAT;

    buf_c(out, "data: ");
    head(c, chat ? "chatcmpl" : "cmpl", chat ? "chat.completion.chunk" : "text_completion", out);
    buf_c(out, ",\"choices\":[]");
    usage(c, out);
    buf_c(out, "}\n\n");
}

void text_whole(const struct call *c, enum finish f, struct buf *out) {
    bool chat = c->ask.kind == ASK_CHAT;

    head(c, chat ? "chatcmpl" : "cmpl", chat ? "chat.completion" : "text_completion", out);
    buf_c(out, ",\"choices\":[{\"index\":0,");
    if (!chat) {
        buf_c(out, "\"text\":");
        buf_json(out, buf_view(&c->text));
    } else if (f == FINISH_TOOLS) {
        buf_c(out, "\"message\":{\"role\":\"assistant\",\"content\":null,");
        tool_calls(c, out);
        buf_c(out, "}");
    } else {
        buf_c(out, "\"message\":{\"role\":\"assistant\",\"content\":");
        buf_json(out, buf_view(&c->text));
        buf_c(out, ",\"tool_calls\":[]}");
    }
    buf_f(out, ",\"logprobs\":null,\"finish_reason\":%s}]", finishes[f]);
    usage(c, out);
    buf_c(out, "}");
}

/* The same text has the same numbers, -1 to 1. */
static void numbers(const struct call *c, int64_t which, struct buf *out) {
    int64_t dims = c->of->o.dims;
    float *v = mem_array((size_t)dims, sizeof(*v));
    uint64_t h = str_hash(c->ask.prompt) + (uint64_t)which * 0x9e3779b97f4a7c15;
    size_t n = (size_t)dims * sizeof(*v);

    for (int64_t i = 0; v && i < dims; i++) {
        h = h * 6364136223846793005 + 1442695040888963407;
        v[i] = (float)((double)(h >> 40) / (1 << 23) - 1);
        if (!c->ask.base64) {
            buf_f(out, "%s%.9g", i ? "," : "", (double)v[i]);
        }
    }
    char *p = v && c->ask.base64 ? buf_room(out, n / 3 * 4 + 8) : NULL;
    if (p) {
        out->n += (size_t)EVP_EncodeBlock((unsigned char *)p, (const unsigned char *)v, (int)n);
    }
    mem_free(v);
}

void text_embedding(const struct call *c, struct buf *out) {
    head(c, "embd", "list", out);
    buf_c(out, ",\"data\":[");
    for (int64_t i = 0; i < c->ask.inputs; i++) {
        buf_f(out, "%s{\"object\":\"embedding\",\"index\":%lld,\"embedding\":%s", i ? "," : "",
              (long long)i, c->ask.base64 ? "\"" : "[");
        numbers(c, i, out);
        buf_c(out, c->ask.base64 ? "\"}" : "]}");
    }
    buf_c(out, "]");
    usage(c, out);
    buf_c(out, "}");
}

/*
 * usage: the tokens that a server says it used, out of its answers, and server-sent events on their way through.
 *
 * Of an answer in JSON they are in the member `usage` of the outermost object; of a stream in an event whose data has
 * that member, or has it in `message` (Anthropic's message_start) or `response` (OpenAI's response.completed). Names
 * are OpenAI's of chat (prompt_tokens, completion_tokens) or of responses and Anthropic's (input_tokens,
 * output_tokens).
 *
 * A stream passes as it comes, in views of what came. Only where the gateway asked for the usage and the client did
 * not (`hide`), an event is kept until it is whole, because the one that has nothing but the usage is left out; an
 * event longer than USAGE_EVENT_MAX is passed on in any case.
 */
#ifndef BERTH_GATEWAY_USAGE_H
#define BERTH_GATEWAY_USAGE_H

#include "base/buf.h"

/* What servers say is not believed beyond USAGE_TOKENS_MAX of a kind: a number like that is as good as none, and sums
 * of those below stay far from overflowing. */
enum { USAGE_EVENT_MAX = 256 << 10, USAGE_TOKENS_MAX = 1 << 24 };

struct token_usage { /* -1: not reported */
    int64_t in, out, cached;
};
#define USAGE_NONE ((struct token_usage){-1, -1, -1})

/* Takes what the text says over; what it does not say stays. False: it is not JSON, or says nothing of it. */
bool usage_read(struct str json, struct token_usage *u);

struct usage_stream {
    bool hide; /* set by the owner */
    struct token_usage usage;
    uint64_t events; /* comments do not count */
    /* its own */
    struct buf event; /* of the event that is not yet whole, what came in earlier parts */
    bool passing;     /* it is too long: it is passed on and not looked at */
    int line;         /* 0: within a line; 1: behind its end; 2: behind its end and a CR */
    bool begun;       /* a byte of the event has come */
};

void usage_stream_init(struct usage_stream *s, bool hide);
void usage_stream_release(struct usage_stream *s);
/* Calls pass(ctx, bytes) with what goes on to the client, in order; possibly not at all. */
void usage_stream_feed(struct usage_stream *s, struct str in, void (*pass)(void *ctx, struct str),
                       void *ctx);
/* The stream is over: what was kept goes on. */
void usage_stream_end(struct usage_stream *s, void (*pass)(void *ctx, struct str), void *ctx);

#endif

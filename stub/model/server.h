/*
 * server: a model server for tests, in the place of vLLM: its paths, its metrics, its errors, and an engine that is a
 * stated model (engine.h). It is no part of the berth program. README.md beside it is the manual.
 *
 * main.c reads the flags and starts; serve.c routes; ask.c reads what is asked; call.c is a request under way; text.c
 * makes what it says; metrics.c and faults.c are as they are called.
 */
#ifndef BERTH_STUB_SERVER_H
#define BERTH_STUB_SERVER_H

#include "base/arena.h"
#include "base/buf.h"
#include "engine.h"
#include "net/http_server.h"
#include "wire/json/json.h"

enum { ADAPTERS_MAX = 16, STOPS_MAX = 4, FAULTS_MAX = 16, WORDS_MAX = 64 };

struct options {
    const char *model, *name, *host, *reply;
    uint16_t port;
    struct engine_options engine;
    int64_t max_len, reply_tokens, dims;
    int64_t start_ms, load_ms, exit_ms, exit_status;
    bool must_exist; /* --model is a path, of which something must be there */
};

enum fault_kind {
    FAULT_NONE,
    FAULT_STATUS,
    FAULT_HANG,
    FAULT_CUT,
    FAULT_SLOW,
    FAULT_BAD,
    FAULT_LOADING
};
struct fault {
    enum fault_kind kind;
    int64_t status, after, ms, count; /* count: of requests it is for, -1 for all */
    char path[128];                   /* prefix of those */
};

/* Prometheus' histogram with vLLM's bounds. */
struct histogram {
    const char *name;
    const double *bounds;
    size_t n;
    uint64_t buckets[32], count;
    double sum;
};
enum { H_TTFT, H_ITL, H_E2E, H_QUEUE, H_PREFILL, H_DECODE, H_PROMPT, H_GENERATED, H_MAX };

enum ask_kind { ASK_CHAT, ASK_COMPLETION, ASK_EMBEDDING };
enum finish { FINISH_NONE, FINISH_STOP, FINISH_LENGTH, FINISH_TOOLS, FINISH_ABORT, FINISHES };

/* What a request asks for; views are in the request's arena. */
struct ask {
    enum ask_kind kind;
    struct str model, prompt, tool, tool_args;
    struct str stops[STOPS_MAX];
    size_t n_stops, tokens;     /* of the prompt */
    int64_t max_tokens, inputs; /* inputs: of an embedding */
    bool stream, usage, echo, ignore_eos, base64;
};

struct call {
    struct server *of;
    struct http_request *r; /* NULL: gone */
    struct call *next, **at;
    struct ask ask;
    struct sequence seq;
    struct fault fault;
    struct timer *timer;
    struct buf text; /* all that was said */
    size_t sent;     /* of it */
    int64_t chunks, id, came, first, last;
    bool begun, over, counted;
};

struct server {
    struct options o;
    struct loop *loop;
    struct clock *clock;
    struct http_server *http;
    struct engine engine;
    struct timer *step, *again, *exits;
    bool stepping, asleep;
    int64_t began, next_id, step_began;
    struct call *calls;
    struct fault faults[FAULTS_MAX];
    size_t n_faults;
    struct histogram histograms[H_MAX];
    uint64_t finished[FINISHES], requests, refused;
    char adapters[ADAPTERS_MAX][128];
    size_t n_adapters;
    struct buf last; /* the request that came last to a path of a model, as JSON */
    struct str words[WORDS_MAX];
    size_t n_words;
};

/* options.c. False: told on stderr. */
bool options_read(struct options *o, int argc, char **argv);

/* serve.c */
void serve_request(void *ctx, struct http_request *r);
int serve_listen(struct server *s, struct err *err);
/* OpenAI's error, with vLLM's types. */
void answer_error(struct http_request *r, int status, const char *type, const char *param,
                  const char *text);
bool serve_model(const struct server *s, struct str name);

/* ask.c. 0, or a status that was answered. */
int ask_read(struct server *s, struct http_request *r, enum ask_kind kind, struct ask *ret);

/* call.c */
void call_begin(struct server *s, struct http_request *r, const struct ask *a,
                const struct fault *f);
void call_token(void *ctx, struct sequence *seq);
void server_kick(struct server *s);
void server_step_over(void *ctx);

/* text.c: what is said. */
void text_token(const struct server *s, const struct call *c, struct buf *out);
void text_chunk(const struct call *c, struct str piece, enum finish f, struct buf *out);
void text_usage_chunk(const struct call *c, struct buf *out);
void text_whole(const struct call *c, enum finish f, struct buf *out);
void text_embedding(const struct call *c, struct buf *out);

/* faults.c */
void faults_serve(struct server *s, struct http_request *r);
struct fault faults_take(struct server *s, struct str path);
void state_serve(struct server *s, struct http_request *r);
void last_keep(struct server *s, struct http_request *r);

/* metrics.c */
void metrics_init(struct server *s);
void metrics_put(struct server *s, int which, double v);
void metrics_serve(struct server *s, struct http_request *r);

#endif

/* metrics: /metrics with vLLM's names. Histograms have its bounds. */
#include "server.h"

static const double ttft[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                              1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
static const double itl[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                             0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
static const double e2e[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                             30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
static const double lengths[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
#define BOUNDS(v) .bounds = (v), .n = sizeof(v) / sizeof((v)[0])

void metrics_init(struct server *s) {
    static const struct histogram all[H_MAX] = {
        [H_TTFT] = {"time_to_first_token_seconds", BOUNDS(ttft)},
        [H_ITL] = {"inter_token_latency_seconds", BOUNDS(itl)},
        [H_E2E] = {"e2e_request_latency_seconds", BOUNDS(e2e)},
        [H_QUEUE] = {"request_queue_time_seconds", BOUNDS(e2e)},
        [H_PREFILL] = {"request_prefill_time_seconds", BOUNDS(e2e)},
        [H_DECODE] = {"request_decode_time_seconds", BOUNDS(e2e)},
        [H_PROMPT] = {"request_prompt_tokens", BOUNDS(lengths)},
        [H_GENERATED] = {"request_generation_tokens", BOUNDS(lengths)},
    };
    for (int i = 0; i < H_MAX; i++) {
        s->histograms[i] = all[i];
    }
}

void metrics_put(struct server *s, int which, double v) {
    struct histogram *h = &s->histograms[which];

    h->count++;
    h->sum += v;
    for (size_t i = 0; i < h->n; i++) {
        h->buckets[i] += v <= h->bounds[i];
    }
}

static void line(const struct server *s, struct buf *b, const char *name, const char *suffix,
                 const char *more, double v) {
    buf_f(b, "vllm:%s%s{engine=\"0\",model_name=", name, suffix);
    buf_json(b, str_of(s->o.name));
    buf_f(b, "%s} %.10g\n", more, v);
}

static void one(const struct server *s, struct buf *b, const char *type, const char *name,
                double v) {
    const char *suffix = type[0] == 'c' ? "_total" : "";

    buf_f(b, "# TYPE vllm:%s%s %s\n", name, suffix, type);
    line(s, b, name, suffix, "", v);
}

static void histogram(const struct server *s, struct buf *b, const struct histogram *h) {
    char more[64];

    buf_f(b, "# TYPE vllm:%s histogram\n", h->name);
    for (size_t i = 0; i < h->n; i++) {
        snprintf(more, sizeof(more), ",le=\"%.10g\"", h->bounds[i]);
        line(s, b, h->name, "_bucket", more, (double)h->buckets[i]);
    }
    line(s, b, h->name, "_bucket", ",le=\"+Inf\"", (double)h->count);
    line(s, b, h->name, "_sum", "", h->sum);
    line(s, b, h->name, "_count", "", (double)h->count);
}

static void finished(const struct server *s, struct buf *b) {
    static const char *const reasons[] = {
        [FINISH_STOP] = "stop", [FINISH_LENGTH] = "length", [FINISH_ABORT] = "abort"};
    char more[64];

    buf_c(b, "# TYPE vllm:request_success_total counter\n");
    for (int i = 0; i < FINISHES; i++) {
        if (i != FINISH_NONE && i != FINISH_TOOLS) {
            snprintf(more, sizeof(more), ",finished_reason=\"%s\"", reasons[i]);
            line(s, b, "request_success", "_total", more,
                 (double)(s->finished[i] + (i == FINISH_STOP ? s->finished[FINISH_TOOLS] : 0)));
        }
    }
}

static void cache_config(const struct server *s, struct buf *b) {
    char more[128];

    snprintf(more, sizeof(more), ",block_size=\"%zu\",num_gpu_blocks=\"%zu\"",
             s->o.engine.block_tokens, s->o.engine.blocks);
    buf_c(b, "# TYPE vllm:cache_config_info gauge\n");
    line(s, b, "cache_config_info", "", more, 1);
}

static void adapters(const struct server *s, struct buf *b) {
    buf_f(b,
          "# TYPE vllm:lora_requests_info gauge\nvllm:lora_requests_info{max_lora=\"%d\","
          "running_lora_adapters=\"",
          ADAPTERS_MAX);
    for (size_t i = 0; i < s->n_adapters; i++) {
        buf_f(b, "%s%s", i ? "," : "", s->adapters[i]);
    }
    buf_f(b, "\",waiting_lora_adapters=\"\"} %lld\n",
          (long long)(clock_wall(s->clock) / NS_PER_SEC));
}

void metrics_serve(struct server *s, struct http_request *r) {
    const struct engine *e = &s->engine;
    struct buf b;

    buf_init(&b, 1 << 20);
    one(s, &b, "gauge", "num_requests_running", (double)e->n_running);
    one(s, &b, "gauge", "num_requests_waiting", (double)e->n_waiting);
    one(s, &b, "gauge", "kv_cache_usage_perc", engine_usage(e));
    one(s, &b, "counter", "num_preemptions", (double)e->counts.preemptions);
    one(s, &b, "counter", "prompt_tokens", (double)e->counts.prompt_tokens);
    one(s, &b, "counter", "generation_tokens", (double)e->counts.generated_tokens);
    one(s, &b, "counter", "prefix_cache_queries", (double)e->counts.prefix_queries);
    one(s, &b, "counter", "prefix_cache_hits", (double)e->counts.prefix_hits);
    finished(s, &b);
    cache_config(s, &b);
    adapters(s, &b);
    for (int i = 0; i < H_MAX; i++) {
        histogram(s, &b, &s->histograms[i]);
    }
    http_respond(r, 200, "text/plain; version=0.0.4; charset=utf-8", buf_view(&b));
    buf_release(&b);
}

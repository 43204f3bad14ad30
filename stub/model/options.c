/* options: the flags. Those of vLLM that change what a client sees have vLLM's names; its others are taken and do
 * nothing, so that a command of a runtime can be used as it is. */
#include <stdio.h>
#include <stdlib.h>

#include "server.h"

struct flag {
    const char *name;
    char type; /* s, i, d, b; x: taken with a value, y: without */
    size_t at;
    int64_t most;
};

#define AT(m) offsetof(struct options, m)
static const struct flag flags[] = {
    {"--model", 's', AT(model), 0},
    {"--served-model-name", 's', AT(name), 0},
    {"--host", 's', AT(host), 0},
    {"--reply", 's', AT(reply), 0},
    {"--max-model-len", 'i', AT(max_len), 1 << 24},
    {"--max-num-seqs", 'z', AT(engine.sequences), ENGINE_SEQUENCES_MAX},
    {"--max-num-batched-tokens", 'z', AT(engine.step_tokens), 1 << 24},
    {"--block-size", 'z', AT(engine.block_tokens), 1024},
    {"--num-gpu-blocks-override", 'z', AT(engine.blocks), ENGINE_BLOCKS_MAX},
    {"--prefill-tps", 'd', AT(engine.prefill_tps), 0},
    {"--decode-tps", 'd', AT(engine.decode_tps), 0},
    {"--sequence-us", 'u', AT(engine.sequence_s), 0},
    {"--reply-tokens", 'i', AT(reply_tokens), 1 << 24},
    {"--embedding-dims", 'i', AT(dims), 4096},
    {"--start-ms", 'i', AT(start_ms), 3600000},
    {"--load-ms", 'i', AT(load_ms), 3600000},
    {"--exit-after-ms", 'i', AT(exit_ms), 3600000},
    {"--exit-status", 'i', AT(exit_status), 255},
    {"--model-must-exist", 'b', AT(must_exist), 0},
    {"--gpu-memory-utilization", 'x', 0, 0},
    {"--tensor-parallel-size", 'x', 0, 0},
    {"--pipeline-parallel-size", 'x', 0, 0},
    {"--dtype", 'x', 0, 0},
    {"--kv-cache-dtype", 'x', 0, 0},
    {"--quantization", 'x', 0, 0},
    {"--tool-call-parser", 'x', 0, 0},
    {"--enable-auto-tool-choice", 'y', 0, 0},
    {"--enable-prefix-caching", 'y', 0, 0},
    {"--enforce-eager", 'y', 0, 0},
    {"--trust-remote-code", 'y', 0, 0},
    {"--disable-log-requests", 'y', 0, 0},
};

static bool number(const char *text, int64_t most, int64_t *ret) {
    return str_to_i64(str_of(text), ret) && *ret >= 0 && *ret <= most;
}

static bool set(struct options *o, const struct flag *f, const char *value) {
    void *at = (char *)o + f->at;
    int64_t n = 0;
    char *end;

    switch (f->type) {
    case 's':
        *(const char **)at = value;
        return true;
    case 'i':
        return number(value, f->most, (int64_t *)at);
    case 'z':
        *(size_t *)at = number(value, f->most, &n) ? (size_t)n : 0;
        return *(size_t *)at > 0;
    case 'd':
    case 'u':
        *(double *)at = strtod(value, &end) / (f->type == 'u' ? 1e6 : 1);
        return *end == 0 && *(double *)at >= 0 && (f->type == 'u' || *(double *)at > 0);
    default:
        return true;
    }
}

static const struct flag *find(struct str name) {
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (str_is(name, flags[i].name)) {
            return &flags[i];
        }
    }
    return NULL;
}

static bool read_port(struct options *o, const char *text) {
    int64_t n;
    bool ok = number(text, UINT16_MAX, &n);

    if (ok) {
        o->port = (uint16_t)n;
    } else {
        fprintf(stderr, "model-server: --port (or PORT): must be 0 to 65535, is \"%s\"\n", text);
    }
    return ok;
}

static bool read_one(struct options *o, int argc, char **argv, int *i) {
    struct str name, value;
    bool joined = str_cut(str_of(argv[*i]), '=', &name, &value);
    const struct flag *f = find(name);
    bool port = str_is(name, "--port"), alone = f && (f->type == 'b' || f->type == 'y');
    const char *v = joined ? value.p : alone ? "" : *i + 1 < argc ? argv[++*i] : NULL;

    if (argv[*i][0] != '-' && v == NULL && f == NULL && !port) {
        return true;
    }
    if ((f == NULL && !port) || v == NULL) {
        fprintf(stderr, "model-server: %.*s: %s\n", STR_ARG(name),
                v || (f == NULL && !port) ? "no such flag" : "needs a value");
        return false;
    }
    if (port) {
        return read_port(o, v);
    }
    if (f->type == 'b') {
        *(bool *)((char *)o + f->at) = true;
        return true;
    }
    if (!set(o, f, v)) {
        fprintf(stderr, "model-server: %s: \"%s\" is out of range\n", f->name, v);
        return false;
    }
    return true;
}

bool options_read(struct options *o, int argc, char **argv) {
    const char *port = getenv("PORT");

    *o = (struct options){
        .host = "127.0.0.1",
        .model = "stub",
        .reply = "The quick brown fox jumps over the lazy dog.",
        .port = 8000,
        .engine = {.prefill_tps = 8000,
                   .decode_tps = 100,
                   .sequence_s = 0.0002,
                   .step_tokens = 2048,
                   .sequences = 256,
                   .block_tokens = 16,
                   .blocks = 4096},
        .max_len = 8192,
        .reply_tokens = 9,
        .dims = 8,
    };
    if (port && !read_port(o, port)) {
        return false;
    }
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') { /* `vllm serve MODEL` */
            o->model = strcmp(argv[i], "serve") != 0 ? argv[i] : o->model;
        } else if (!read_one(o, argc, argv, &i)) {
            return false;
        }
    }
    o->name = o->name ? o->name : o->model;
    return true;
}

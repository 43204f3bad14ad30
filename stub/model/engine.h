/*
 * engine: continuous batching and the memory of keys and values, as a stated model. No clock, no I/O.
 *
 * Time goes in steps, as vLLM's. In a step every sequence that has its prompt gets one token, and what is left of
 * `step_tokens` goes to prompts in order of arrival, cut into chunks. A step takes
 *
 *     1 / decode_tps + sequences * sequence_s + prompt tokens / prefill_tps     seconds
 *
 * so that one sequence alone decodes decode_tps tokens a second, and a batch more of them, each more slowly. Memory is
 * `blocks` blocks of `block_tokens` tokens. A prompt waits until all of it fits; where a token finds no block, the
 * sequence that came last gives up its blocks and is computed again later (a preemption). Blocks of prompts are
 * remembered by the hash of all text up to their end, in a table with a place for each hash: a prompt that begins with
 * remembered blocks does not compute them again.
 */
#ifndef BERTH_STUB_ENGINE_H
#define BERTH_STUB_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENGINE_SEQUENCES_MAX = 1024, ENGINE_BLOCKS_MAX = 1 << 20 };

struct engine_options {
    double prefill_tps, decode_tps, sequence_s;
    size_t step_tokens, sequences, block_tokens,
        blocks; /* sequences: at most ENGINE_SEQUENCES_MAX */
};

/* One request: the owner's memory, from engine_add to engine_remove. */
struct sequence {
    size_t prompt;          /* tokens */
    const uint64_t *hashes; /* of the whole blocks of the prompt; NULL: not remembered */
    size_t n_hashes;
    void *user;
    /* Kept by the engine. */
    size_t generated, done, want, blocks, chunk, cached;
    bool running, waiting;
    struct sequence *prev, *next; /* of those that wait */
};

struct engine_counts {
    uint64_t preemptions, prefix_queries, prefix_hits, prompt_tokens, generated_tokens, steps;
};

struct engine {
    struct engine_options o;
    struct sequence *run[ENGINE_SEQUENCES_MAX], *first, *last;
    size_t n_running, n_waiting, free;
    uint64_t *remembered; /* [blocks] */
    struct engine_counts counts;
};

/* 0, or -1 without memory. */
int engine_init(struct engine *e, const struct engine_options *o);
void engine_release(struct engine *e);
/* False: it would never fit. */
bool engine_add(struct engine *e, struct sequence *s);
void engine_remove(struct engine *e, struct sequence *s); /* also one that is not in it */
/* Plans a step: how long it takes, in nanoseconds; 0: there is nothing to do. */
int64_t engine_plan(struct engine *e);
/* The planned step is over: token(ctx, s) for each sequence that got one. It may remove s, and no other. */
void engine_end(struct engine *e, void (*token)(void *ctx, struct sequence *s), void *ctx);
/* 0..1 */
double engine_usage(const struct engine *e);

#endif

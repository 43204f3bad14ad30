/*
 * overhead (core): memory of a device that is neither weights nor cache: the CUDA context, NCCL, graphs, and the peak
 * of activations. From a formula until servers have told, then from what they told.
 *
 *     context     1.0 GiB: driver, libraries, the allocator's rest, graphs of small batches
 *     NCCL        0.25 GiB where T * PP > 1
 *     activations the larger of
 *                 batched * (2 hidden + 2 intermediate / T) * 2 bytes   a layer's input and output, gate and up
 *                 sequences * vocabulary * 10 bytes logits in 16 and 32 bits, and what sampling sorts
 *
 * For Llama 3.1 8B and vLLM's defaults that is 1.56 GiB; 1.6 GiB come out of what vLLM printed on a 24 GB card
 * (docs/models.md). llama.cpp has no graphs of its own size and smaller steps: 0.6 GiB of context and
 * ubatch * vocabulary * 4 bytes.
 *
 * Learning: a server's start says what it got for its cache; what is missing from the memory it may use, besides
 * weights, is overhead. A book keeps the last OVERHEAD_SEEN of each key (the caller's words: runtime, model, T,
 * slice) and answers with the largest, as too much costs some tokens and too little a start.
 */
#ifndef BERTH_CORE_MODEL_OVERHEAD_H
#define BERTH_CORE_MODEL_OVERHEAD_H

#include "core/model/facts.h"

struct overhead_how {
    int64_t tensor, pipeline, batched, sequences;
    bool llama; /* llama.cpp */
};

int64_t overhead_guess(const struct facts *f, const struct overhead_how *how);

enum { OVERHEAD_KEYS = 256, OVERHEAD_SEEN = 8 };

struct overhead_entry {
    uint64_t key; /* a hash of the words */
    int64_t seen[OVERHEAD_SEEN];
    uint32_t n; /* that were ever seen */
    uint64_t used;
};

/* Embedded; zeroed is empty. When it is full the one that was asked for longest ago is forgotten. */
struct overhead_book {
    struct overhead_entry v[OVERHEAD_KEYS];
    size_t n;
    uint64_t clock;
};

/* Negative ones are dropped: what a server said does not add up then. */
void overhead_learn(struct overhead_book *b, struct str key, int64_t bytes);
/* -1: nothing was learnt. */
int64_t overhead_known(struct overhead_book *b, struct str key);

#endif

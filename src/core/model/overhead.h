/*
 * overhead (core): device memory that holds neither weights nor cache: the CUDA context, NCCL, graphs, and the peak of
 * activations. It is estimated by a formula until servers have reported their memory, and learnt from them afterwards.
 *
 *     context      1.0 GiB: driver, libraries, unused allocator memory, graphs of small batches
 *     NCCL         0.25 GiB if T * PP > 1
 *     activations  the larger of
 *                  batched * (2 hidden + 2 intermediate / T) * 2 bytes: input and output of a layer, gate and up
 *                  sequences * vocabulary * 10 bytes: logits in 16 and 32 bits, and the sorting of the sampler
 *
 * For Llama 3.1 8B with vLLM's defaults this is 1.56 GiB; vLLM's own figures on a 24 GB card give 1.6 GiB
 * (docs/models.md). llama.cpp has no graphs of its own size and smaller steps: 0.6 GiB of context and
 * ubatch * vocabulary * 4 bytes.
 *
 * Learning: a server that starts reports the memory for its cache. What is missing from the memory it may use,
 * besides the weights, is its overhead. A book keeps the last OVERHEAD_SEEN values of each key (text of the caller:
 * runtime, model, T, slice) and answers with the largest, because too high a value costs some tokens and too low a
 * value a start.
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

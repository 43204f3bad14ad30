/*
 * serverlog (core): what a model server says of its memory when it starts, line by line.
 *
 * The lines (vLLM: v1/worker/gpu_model_runner.py, gpu_worker.py, v1/core/kv_cache_utils.py, and those of version 0;
 * llama.cpp: llama-model.cpp, llama-kv-cache.cpp, llama-context.cpp), wherever they stand behind a time and a place:
 *
 *     Model loading took 14.99 GiB [memory] and 3.1 seconds        weights
 *     Available KV cache memory: 12.57 GiB                         cache
 *     GPU KV cache size: 102,944 tokens                            tokens
 *     # GPU blocks: 229, # CPU blocks: 512                         blocks
 *     Maximum concurrency for 8,192 tokens per request: 12.57x
 *     Graph capturing finished in 12 secs, took 0.52 GiB           graphs
 *     To serve at least one request with the model[s's] max seq len (262144), (24.00 GiB KV cache is needed ...
 *       available
 *       KV cache memory (3.18 GiB). Based on the available memory, the estimated maximum model length is 34736.
 *     Free memory on device (15.1/16.0 GiB) on startup is less than desired ... (0.9, 14.4 GiB)
 *     load_tensors:        CUDA0 model buffer size =  4685.30 MiB
 *     llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB
 *     llama_context:       CUDA0 compute buffer size =   560.00 MiB
 *
 * Numbers are taken as printed: GiB with two digits are off by up to 5 MiB, which is why tokens and bytes of a token go
 * before bytes where both are known. Lines are somebody else's: any bytes may come, each line is looked at once and
 * at most SERVERLOG_LINE of it. Of several workers the last counts, but for llama.cpp's buffers, which are summed
 * over devices and not over the CPU's.
 */
#ifndef BERTH_CORE_MODEL_SERVERLOG_H
#define BERTH_CORE_MODEL_SERVERLOG_H

#include "base/str.h"

enum { SERVERLOG_LINE = 4096 };

/* Bytes and numbers found so far; 0: not yet. Zeroed it is empty. */
struct serverlog {
    int64_t weights, cache, graphs, compute;
    int64_t tokens, blocks;
    int64_t needed, longest; /* of a refusal: bytes of one sequence, the longest that would do */
    int64_t free_memory, device_memory; /* of a refusal at the start: others are on the device */
    int64_t utilization;                /* of 1000000, where a refusal says it */
    bool cache_said;                    /* cache was said, be it negative */
};

/* One line, without its end. True: a figure was found. */
bool serverlog_line(struct serverlog *s, struct str line);

/* What is no weights and no cache of the memory that a server may use, by what it said; -1: it did not say enough. For
 * vLLM; of llama.cpp it is its compute buffers. token: bytes a token (kv_token), 0: not known. */
int64_t serverlog_overhead(const struct serverlog *s, int64_t may_use, int64_t token);

#endif

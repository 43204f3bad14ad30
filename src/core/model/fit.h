/*
 * fit (core): whether a model fits a GPU or a slice of one, how many tokens its cache holds, and a bound of its speed.
 *
 *     may use     ceil(memory * gpu_memory_utilization)      vLLM (v1/worker/utils.py); llama.cpp: memory
 *     budget      may use - weights / (T * PP) - overhead
 *     no          the budget does not hold one sequence of the requested context; vLLM then refuses to start
 *     tight       it holds fewer than two, or fewer than requested at once, or one leaves less than 5 % of memory free
 *     fits        otherwise
 *     speed       bandwidth / (weights that a token reads + cache of the sequence): an upper bound, since each step
 *                 reads them all. With experts, a sequence reads `used / experts` of their weights.
 *
 * Memory is what NVML reports for the device, never the number in a profile's name; the bandwidth of a slice is its
 * share of the memory slices. Tensor parallelism is only across whole GPUs: a process sees one MIG slice, and slices
 * of a card have no link (`slice`).
 *
 * If the verdict is no, `fixes` lists flags that would make the server start, in this order: a shorter context, an
 * 8-bit cache, 8-bit weights, 4-bit weights, more GPUs. Each is sufficient alone. If none is, `both` is set and two are
 * listed: 8-bit cache and 8-bit weights, else 8-bit weights and a shorter context. Whether a larger slice would do,
 * the caller sees in the answer for that slice.
 */
#ifndef BERTH_CORE_MODEL_FIT_H
#define BERTH_CORE_MODEL_FIT_H

#include "core/model/facts.h"

enum fit_runtime { FIT_VLLM, FIT_LLAMA };
enum fit_verdict { FIT_NO, FIT_TIGHT, FIT_YES };
enum fit_fix { FIT_FIX_CONTEXT, FIT_FIX_CACHE, FIT_FIX_WEIGHTS8, FIT_FIX_WEIGHTS4, FIT_FIX_TENSOR };
enum { FIT_FIXES_MAX = 5, FIT_PPM = 1000000, FIT_CONTEXT_LEAST = 1024 };

struct fit_device {
    int64_t memory;    /* bytes */
    int64_t bandwidth; /* bytes a second; 0: not known */
    bool slice;
    int64_t together; /* such GPUs in one machine; 0: not known */
};

struct fit_ask {
    enum fit_runtime runtime;
    int64_t utilization; /* of FIT_PPM */
    int64_t context;     /* tokens; 0: the longest of the model */
    int64_t sequences;   /* at once; 0: any number */
    int64_t kv_bits;     /* 0: as the weights */
    int64_t tensor, pipeline;
    int64_t batched, max_sequences; /* max_num_batched_tokens, max_num_seqs: for the overhead */
    int64_t overhead;               /* bytes; below 0: estimated (overhead.h) */
    int64_t least_memory; /* bytes required by a catalog; 0: none. Can only lower the verdict */
};

struct fit_answer {
    enum fit_verdict verdict;
    int64_t may_use, weights, overhead, budget; /* bytes of a device; budget may be below 0 */
    int64_t token;                              /* bytes of cache a token and device */
    int64_t context, tokens, at_once;           /* asked; room; sequences of that context */
    int64_t longest;                            /* context with one sequence */
    int64_t speed_one, speed_all;               /* tokens a second, in 1/1000; 0: not known */
    char reason[200];
    enum fit_fix fixes[FIT_FIXES_MAX];
    size_t n_fixes;
    int64_t fix_context; /* for FIT_FIX_CONTEXT */
    bool both;           /* the two fixes only together */
    int64_t fix_tensor;  /* for FIT_FIX_TENSOR */
};

/* vLLM's defaults: 0.9, T 1, PP 1, 8192 tokens a step, 256 sequences, a guess. */
struct fit_ask fit_defaults(enum fit_runtime runtime);

/* ERR_INVALID: the text names the field of the question, or says that the weights are not known. */
int fit_check(const struct facts *f, const struct fit_ask *ask, struct err *err);
/* The question must have passed fit_check. */
struct fit_answer fit_of(const struct facts *f, const struct fit_ask *ask,
                         const struct fit_device *d);

/* The i-th of `fixes` as a flag of the runtime, "--max-model-len 34736", or in words; in the arena. */
struct str fit_flag(const struct fit_answer *answer, enum fit_runtime runtime, size_t i,
                    struct arena *a);

const char *fit_word(enum fit_verdict v); /* "fits", "tight", "no" */

#endif

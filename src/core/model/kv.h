/*
 * kv (core): the size of the cache of keys and values on one device.
 *
 *     a token, a layer     local heads * (key + value) * bits / 8    local heads: kv_heads / T, at least 1 (replicated)
 *     latent attention     (latent + rope) * bits / 8, whatever T is
 *
 * A server keeps tokens in blocks, and a sequence takes whole blocks. vLLM (v1/kv_cache_interface.py,
 * kv_cache_utils.py):
 *
 *     full layers          ceil(context / block) blocks
 *     windows              ceil(min(window - 1 + batched, context) / block) + 1 blocks
 *     mixed layers         are put into groups of equal size: that of the smallest kind (of the largest, if that has
 *                          less than 1.5 times as many); kinds are filled up with unused layers
 *     tokens it prints     floor(budget / bytes of a sequence of max_model_len * max_model_len)
 *                          where all layers are full: block * floor(budget / (block * bytes of a token))
 *     longest it prints    the largest context whose sequence fits into the budget
 *
 * llama.cpp has cells in multiples of 256 and no spare block. Pipeline stages may be unequal: the largest counts.
 */
#ifndef BERTH_CORE_MODEL_KV_H
#define BERTH_CORE_MODEL_KV_H

#include "core/model/facts.h"

struct kv_how {
    int64_t bits;             /* of an element; 0: as the facts say */
    int64_t tensor, pipeline; /* T, PP: at least 1 */
    int64_t block;            /* tokens; vLLM 16, llama.cpp 256 */
    int64_t slack;            /* blocks that a window takes more: vLLM 1, llama.cpp 0 */
    int64_t batched;          /* tokens of one step: max_num_batched_tokens, n_ubatch */
};

/* Bytes of one more token of a long sequence: of full layers; 0: it has none. */
int64_t kv_token(const struct facts *f, const struct kv_how *how);
/* Bytes of one sequence of this length, states and windows included. Saturates at INT64_MAX. */
int64_t kv_sequence(const struct facts *f, const struct kv_how *how, int64_t context);
/* Tokens that a server with this budget says it has room for. */
int64_t kv_tokens(const struct facts *f, const struct kv_how *how, int64_t budget, int64_t context);
/* The longest sequence of at most `most` tokens whose cache fits; 0: none. */
int64_t kv_longest(const struct facts *f, const struct kv_how *how, int64_t budget, int64_t most);

#endif

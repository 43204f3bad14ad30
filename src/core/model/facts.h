/*
 * facts (core): the properties of a model that decide whether it fits: its layers, the cache of each, its weights.
 *
 * Facts come from a Hugging Face config.json (facts_of_config) or from the keys and tensors of a GGUF file
 * (facts_of_gguf). Weights come from the headers of the weight files if those are there (facts_weigh); otherwise they
 * are computed from the dimensions, and `weights_exact` is false.
 *
 * Each layer is listed by what it caches, because models mix them (Gemma: windows and full attention; Qwen3-Next,
 * Jamba: states):
 *
 *     FACTS_FULL    keys and values of every token
 *     FACTS_WINDOW  keys and values of the last `window` tokens
 *     FACTS_STATE   a state of `state_bytes` for each sequence, whatever its length
 *     FACTS_NONE    nothing
 *
 * A layer has `kv_heads` heads, with the given numbers of elements in a key and a value. Multi-head latent attention
 * (DeepSeek V2 and later: kv_lora_rank) is one head whose key is the latent and the rotary part and that has no value;
 * `latent` says that tensor parallelism does not divide it.
 *
 * Encoder-decoder models are refused with ERR_UNSUPPORTED. Of a vision tower only the weights are counted.
 */
#ifndef BERTH_CORE_MODEL_FACTS_H
#define BERTH_CORE_MODEL_FACTS_H

#include "base/arena.h"
#include "base/err.h"
#include "core/model/gguf.h"

enum facts_kind { FACTS_FULL, FACTS_WINDOW, FACTS_STATE, FACTS_NONE };
enum { FACTS_GROUPS_MAX = 16, FACTS_LAYERS_MAX = 1024 };

struct facts_layers {
    enum facts_kind kind;
    int64_t count;
    int64_t kv_heads, key, value; /* FULL, WINDOW */
    bool latent;
    int64_t
        extra; /* bytes a token and layer beside them: the index of sparse attention (DeepSeek V3.2) */
    int64_t state_bytes; /* STATE: of one layer and one sequence */
};

struct facts {
    struct str type; /* model_type, general.architecture: "llama" */
    int64_t layers, hidden, intermediate, heads, head, vocab;
    int64_t context; /* the longest it was made for; 0: it does not say */
    int64_t window;  /* tokens, of FACTS_WINDOW */
    struct facts_layers groups[FACTS_GROUPS_MAX];
    size_t n_groups;
    int64_t experts, experts_used; /* 0: dense */
    int64_t kv_bits;               /* of an element of the cache, unless told otherwise: 16 */
    int64_t file_bits;             /* of a weight that is not quantised, in the files: 16, 32 */
    struct str quant;              /* how weights are quantised: "fp8", "awq"; empty: not */
    int64_t weight_millibits;      /* of one quantised weight, scales included */
    int64_t parameters;            /* 0: not known */
    int64_t parameters_used;       /* that one token goes through: less with experts */
    int64_t weights;               /* bytes; 0: not known */
    bool weights_exact;
};

/* config.json. Strings lie in the arena with the document. ERR_SYNTAX; ERR_INVALID: a field, which the text names, is
 * missing or no number of that kind; ERR_UNSUPPORTED. */
int facts_of_config(struct arena *a, struct str json, struct facts *ret, struct err *err);
/* Views into what g was read from. */
int facts_of_gguf(const struct gguf *g, struct facts *ret, struct err *err);

/* Bytes of weights as the headers of its files say. Files of 32-bit weights count half: vLLM's --dtype auto serves them
 * in 16. */
void facts_weigh(struct facts *f, int64_t bytes);

/* For those who read files: layers one by one. ERR_UNSUPPORTED: more than FACTS_GROUPS_MAX kinds. */
int facts_add(struct facts *f, struct facts_layers layer, struct err *err);
/* How many layers keep this. */
int64_t facts_count(const struct facts *f, enum facts_kind kind);

#endif

/*
 * facts_layers: which layer of a config.json keeps what. Newer files list it (layer_types, layers_block_type); older
 * ones have it in a number whose meaning is the architecture's.
 */
#include "core/model/facts_private.h"

enum mix { MIX_FULL, MIX_WINDOW, MIX_STATE, MIX_NONE, MIX_BOTH, MIX_UNKNOWN };

/* ---- what a layer of each kind keeps ---- */

/* Mamba's two states, Mamba 2's, Qwen3-Next's: convolution in 16 bits, the state proper in 32. 0: sizes are missing. */
static int64_t state_bytes(struct facts_in *c) {
    int64_t kernel, groups, state, heads, width, inner, key;

    key = facts_config_number(c, "linear_key_head_dim", HEADS_LARGEST, 0);
    if (key > 0) {
        int64_t nk = facts_config_number(c, "linear_num_key_heads", HEADS_LARGEST, 0);
        int64_t nv = facts_config_number(c, "linear_num_value_heads", HEADS_LARGEST, 0);
        int64_t value = facts_config_number(c, "linear_value_head_dim", HEADS_LARGEST, key);
        kernel = facts_config_number(c, "linear_conv_kernel_dim", 1024, 4);
        return (int64_t)(2.0 * (double)(kernel > 0 ? kernel - 1 : 0) *
                             (double)(2 * key * nk + value * nv) +
                         4.0 * (double)nv * (double)key * (double)value);
    }
    state = facts_config_number(c, "mamba_d_state|ssm_state_size|state_size", HEADS_LARGEST, 0);
    kernel = facts_config_number(c, "mamba_d_conv|conv_kernel", 1024, 4);
    heads = facts_config_number(c, "mamba_n_heads|mamba_num_heads", HEADS_LARGEST, 0);
    width = facts_config_number(c, "mamba_d_head|mamba_head_dim", HEADS_LARGEST, 0);
    groups = facts_config_number(c, "mamba_n_groups|mamba_ngroups|n_groups", HEADS_LARGEST,
                                 heads ? 1 : 0);
    inner = heads > 0 && width > 0
                ? heads * width
                : facts_config_number(c, "mamba_expand|expand", 64, 2) * c->f->hidden;
    if (state == 0) {
        return 0;
    }
    return (int64_t)(2.0 * (double)(kernel > 0 ? kernel - 1 : 0) *
                         ((double)inner + 2.0 * (double)groups * (double)state) +
                     4.0 * (double)inner * (double)state);
}

static int64_t kv_heads(struct facts_in *c) {
    const struct facts *f = c->f;

    if (facts_config_is(c, "falcon") && !facts_config_flag(c, "new_decoder_architecture", false)) {
        return facts_config_flag(c, "multi_query", true) ? 1 : f->heads;
    }
    if (facts_config_is(c, "gpt_bigcode")) {
        return facts_config_flag(c, "multi_query", true) ? 1 : f->heads;
    }
    if (facts_config_is(c, "chatglm") && facts_config_flag(c, "multi_query_attention", false)) {
        return facts_config_number(c, "multi_query_group_num", HEADS_LARGEST, 1);
    }
    return facts_config_number(c,
                               "num_key_value_heads|num_kv_heads|n_head_kv|attn_config.kv_n_heads",
                               HEADS_LARGEST, facts_config_is(c, "gemma3_text") ? 4 : f->heads);
}

static struct facts_layers attention(struct facts_in *c, bool window) {
    const struct facts *f = c->f;
    struct facts_layers x = {.kind = window ? FACTS_WINDOW : FACTS_FULL, .count = 1};
    int64_t latent = facts_config_number(c, "kv_lora_rank", SIZE_LARGEST, 0);
    int64_t index = facts_config_number(c, "index_head_dim", HEADS_LARGEST, 0);

    x.kv_heads = kv_heads(c);
    x.key = x.value = f->head;
    if (latent > 0) {
        x.latent = true;
        x.kv_heads = 1;
        x.key = latent + facts_config_number(c, "qk_rope_head_dim", HEADS_LARGEST, 64);
        x.value = 0;
        x.extra = index > 0 ? index + 4 * ((index + 127) / 128) : 0;
    } else if (!window) {
        x.kv_heads =
            facts_config_number(c, "num_global_key_value_heads", HEADS_LARGEST, x.kv_heads);
        x.key = x.value = facts_config_number(c, "global_head_dim", HEADS_LARGEST, f->head);
    }
    if (x.kv_heads == 0 || x.key == 0) {
        facts_config_fault(c, ERR_INVALID, "num_attention_heads",
                           "expected the number of attention heads, and head_dim or a hidden size "
                           "that they divide");
    }
    return x;
}

static void add(struct facts_in *c, enum mix mix, int64_t state) {
    struct facts_layers none = {.kind = FACTS_NONE, .count = 1};
    struct facts_layers keeps = {.kind = FACTS_STATE, .count = 1, .state_bytes = state};
    int code = 0;

    if ((mix == MIX_STATE || mix == MIX_BOTH) && state == 0) {
        facts_config_fault(c, ERR_UNSUPPORTED, "layer_types",
                           "the sizes of layers without attention are not given by known names");
    }
    if (c->code != 0) {
        return;
    }
    if (mix == MIX_FULL || mix == MIX_WINDOW || mix == MIX_BOTH) {
        struct facts_layers x = attention(c, mix == MIX_WINDOW);
        code = c->code != 0 ? c->code : facts_add(c->f, x, c->err);
    }
    if (code == 0 && mix != MIX_FULL && mix != MIX_WINDOW) {
        code = facts_add(c->f, mix == MIX_NONE ? none : keeps, c->err);
    }
    c->code = c->code != 0 ? c->code : code;
}

/* ---- which layer is which ---- */

static enum mix of_word(struct str word) {
    static const struct {
        const char *word;
        enum mix mix;
    } words[] = {
        {"full_attention", MIX_FULL},
        {"attention", MIX_FULL},
        {"global_attention", MIX_FULL},
        {"sliding_attention", MIX_WINDOW},
        {"local_attention", MIX_WINDOW},
        {"chunked_attention", MIX_WINDOW},
        {"linear_attention", MIX_STATE},
        {"mamba", MIX_STATE},
        {"mamba2", MIX_STATE},
        {"hybrid", MIX_BOTH},
        {"moe", MIX_NONE},
        {"mlp", MIX_NONE},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_is(word, words[i].word)) {
            return words[i].mix;
        }
    }
    return MIX_UNKNOWN;
}

static bool listed(struct facts_in *c, const char *name, int64_t state) {
    yyjson_val *list = json_get(c->obj, str_of(name)), *v;
    size_t i, n;

    if (!yyjson_is_arr(list)) {
        return false;
    }
    if (yyjson_arr_size(list) != (size_t)c->f->layers) {
        facts_config_fault(c, ERR_INVALID, name, "expected one word for each layer");
    }
    yyjson_arr_foreach(list, i, n, v) {
        enum mix mix = of_word(json_str(v));
        if (mix == MIX_UNKNOWN) {
            facts_config_fault(c, ERR_UNSUPPORTED, name, "unknown kind of layer");
        }
        add(c, mix, state);
    }
    return true;
}

/* Nemotron-H: a letter a layer. */
static bool lettered(struct facts_in *c, int64_t state) {
    struct str letters = json_str_at(c->obj, "hybrid_override_pattern");

    if (letters.n == 0) {
        return false;
    }
    if (letters.n != (size_t)c->f->layers) {
        facts_config_fault(c, ERR_INVALID, "hybrid_override_pattern",
                           "expected one letter for each layer");
    }
    for (size_t i = 0; i < letters.n && c->code == 0; i++) {
        char x = letters.p[i];
        add(c, x == 'M' ? MIX_STATE : x == '*' ? MIX_FULL : MIX_NONE, state);
    }
    return true;
}

/* Where nothing is listed: layer i by its architecture and numbers. */
static enum mix by_rule(struct facts_in *c, int64_t i) {
    int64_t period = facts_config_number(c, "attn_layer_period", FACTS_LAYERS_MAX, 0);
    int64_t offset = facts_config_number(c, "attn_layer_offset", FACTS_LAYERS_MAX, 0);
    int64_t interval = facts_config_number(c, "full_attention_interval", FACTS_LAYERS_MAX,
                                           facts_config_is(c, "qwen3_next") ? 4 : 0);
    int64_t every = facts_config_is(c, "gemma3_text|gemma3")    ? 6
                    : facts_config_is(c, "gemma2|gpt_oss")      ? 2
                    : facts_config_is(c, "cohere2|llama4_text") ? 4
                                                                : 0;

    if (facts_config_is(c, "mamba|mamba2|falcon_mamba")) {
        return MIX_STATE;
    }
    if (period > 0) {
        return i % period == offset ? MIX_FULL : MIX_STATE;
    }
    if (interval > 0) {
        return (i + 1) % interval == 0 ? MIX_FULL : MIX_STATE;
    }
    if (c->f->window == 0) {
        return MIX_FULL;
    }
    every = facts_config_number(c, "sliding_window_pattern", FACTS_LAYERS_MAX, every);
    if (every > 0) {
        return (i + 1) % every == 0 ? MIX_FULL : MIX_WINDOW;
    }
    return i >= facts_config_number(c, "max_window_layers", FACTS_LAYERS_MAX, 0) ||
                   facts_config_is(c, "mistral|mixtral|phi3")
               ? MIX_WINDOW
               : MIX_FULL;
}

static int64_t window_of(struct facts_in *c) {
    bool off_unless_said =
        facts_config_is(c, "qwen2|qwen2_moe|qwen3|qwen3_moe|qwen2_5_vl_text|qwen2_vl");
    yyjson_val *pattern = json_get(c->obj, STR("sliding_window_pattern"));

    if (!facts_config_flag(c, "use_sliding_window", !off_unless_said)) {
        return 0;
    }
    if (pattern != NULL && yyjson_is_str(pattern)) {
        facts_config_fault(c, ERR_UNSUPPORTED, "sliding_window_pattern",
                           "patterns of letters are not supported");
    }
    return facts_config_number(c, "sliding_window|attention_chunk_size|sliding_window_size",
                               SIZE_LARGEST,
                               facts_config_is(c, "gemma3_text")   ? 4096
                               : facts_config_is(c, "llama4_text") ? 8192
                                                                   : 0);
}

void facts_config_layers(struct facts_in *c) {
    struct facts *f = c->f;
    int64_t state = state_bytes(c);

    f->window = window_of(c);
    if (c->code != 0 || listed(c, "layer_types", state) || listed(c, "layers_block_type", state) ||
        lettered(c, state)) {
        if (c->code == 0 && f->window == 0 && facts_count(f, FACTS_WINDOW) > 0) {
            facts_config_fault(c, ERR_INVALID, "sliding_window",
                               "expected the window of those layers");
        }
        return;
    }
    for (int64_t i = 0; i < f->layers && c->code == 0; i++) {
        add(c, by_rule(c, i), state);
    }
}

/*
 * facts_size: the number of parameters from the sizes in a config.json, if no weight file gives the bytes.
 *
 *     embedding           vocab * hidden, twice unless they are tied
 *     attention           hidden * head * (2 heads + 2 kv_heads)
 *     latent attention    hidden*q_rank + q_rank*heads*(nope+rope)  [or hidden*heads*(nope+rope)]
 *                         + hidden*(latent+rope) + latent*heads*(nope+v) + heads*v*hidden   (DeepSeek-V2, section 2.1)
 *     feed-forward        3 * hidden * intermediate with a gate, 2 without
 *     experts             the same for each, of moe_intermediate_size, and a router of hidden * experts
 *
 * Exact for Llama, Mistral, Qwen and DeepSeek to the biases; within 1 % for the others that are known here. Sums are
 * doubles: whole below 2^53, and what is larger is refused.
 */
#include "core/model/facts_private.h"

#define PARAMETERS_LARGEST 1e15

struct size_sums {
    double kept;    /* that no quantisation touches: embeddings, norms, routers */
    double layers;  /* weights of layers without experts */
    double experts; /* of experts */
    double idle;    /* of those, what one token does not go through */
};

static double attention_size(struct facts_in *c) {
    const struct facts *f = c->f;
    double hidden = (double)f->hidden, heads = (double)f->heads;
    double latent = (double)facts_config_number(c, "kv_lora_rank", SIZE_LARGEST, 0);
    double rope = (double)facts_config_number(c, "qk_rope_head_dim", HEADS_LARGEST, 64);
    double nope = (double)facts_config_number(c, "qk_nope_head_dim", HEADS_LARGEST, 128);
    double value = (double)facts_config_number(c, "v_head_dim", HEADS_LARGEST, 128);
    double rank = (double)facts_config_number(c, "q_lora_rank", SIZE_LARGEST, 0);
    double kv = 0, n = 0;

    if (latent > 0) {
        double q = rank > 0 ? hidden * rank + rank * heads * (nope + rope)
                            : hidden * heads * (nope + rope);
        return q + hidden * (latent + rope) + latent * heads * (nope + value) +
               heads * value * hidden;
    }
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct facts_layers *g = &f->groups[i];
        bool attends = g->kind == FACTS_FULL || g->kind == FACTS_WINDOW;
        kv += attends ? (double)g->count * (double)g->kv_heads * (double)(g->key + g->value) : 0;
        n += attends ? (double)g->count : 0;
    }
    double gate = facts_config_is(c, "qwen3_next") ? heads * (double)f->head * hidden : 0;
    double bias = facts_config_is(c, "qwen2|qwen2_moe") ? heads * (double)f->head + kv / n : 0;
    return n > 0 ? hidden * (2 * heads * (double)f->head + kv / n) + gate + bias : 0;
}

static double state_size(struct facts_in *c) {
    double hidden = (double)c->f->hidden;
    double key = (double)facts_config_number(c, "linear_key_head_dim", HEADS_LARGEST, 0) *
                 (double)facts_config_number(c, "linear_num_key_heads", HEADS_LARGEST, 0);
    double heads = (double)facts_config_number(c, "linear_num_value_heads", HEADS_LARGEST, 0);
    double value =
        heads * (double)facts_config_number(c, "linear_value_head_dim", HEADS_LARGEST, 128);

    if (key > 0) {
        return hidden * (2 * key + 2 * value + 2 * heads) + value * hidden;
    }
    double state =
        (double)facts_config_number(c, "mamba_d_state|ssm_state_size|state_size", HEADS_LARGEST, 0);
    double groups =
        (double)facts_config_number(c, "mamba_n_groups|mamba_ngroups|n_groups", HEADS_LARGEST, 1);
    heads = (double)facts_config_number(c, "mamba_n_heads|mamba_num_heads", HEADS_LARGEST, 0);
    double width = (double)facts_config_number(c, "mamba_d_head|mamba_head_dim", HEADS_LARGEST, 0);
    double inner = heads > 0 && width > 0
                       ? heads * width
                       : hidden * (double)facts_config_number(c, "mamba_expand|expand", 64, 2);
    return hidden * (2 * inner + 2 * groups * state + heads) + inner * hidden;
}

/* ---- feed-forward ---- */

static double feed_forward(struct facts_in *c, double width) {
    bool plain =
        facts_config_is(c, "gpt2|opt|bloom|falcon|mpt|gpt_neox|gpt_bigcode|starcoder2|phi|gptj|"
                           "nemotron|nemotron_h");
    return (plain ? 2 : 3) * (double)c->f->hidden * width;
}

static bool in_list(yyjson_val *list, int64_t n) {
    size_t i, max;
    yyjson_val *v;

    if (!yyjson_is_arr(list)) {
        return false;
    }
    yyjson_arr_foreach(list, i, max, v) {
        if (yyjson_is_int(v) && yyjson_get_sint(v) == n) {
            return true;
        }
    }
    return false;
}

/* How many layers have experts. */
static double sparse_layers(struct facts_in *c) {
    int64_t first = facts_config_number(c, "first_k_dense_replace", FACTS_LAYERS_MAX, 0);
    int64_t step =
        facts_config_number(c, "decoder_sparse_step|interleave_moe_layer_step|expert_layer_period",
                            FACTS_LAYERS_MAX, 1);
    int64_t offset = facts_config_number(c, "expert_layer_offset", FACTS_LAYERS_MAX, step - 1);
    yyjson_val *dense = json_get(c->obj, STR("mlp_only_layers"));
    int64_t n = 0;

    for (int64_t i = 0; c->f->experts > 0 && i < c->f->layers; i++) {
        n += i >= first && (step < 1 || i % step == offset) && !in_list(dense, i);
    }
    return (double)n;
}

static void add_feed_forward(struct facts_in *c, struct size_sums *s) {
    const struct facts *f = c->f;
    double sparse = sparse_layers(c), experts = (double)f->experts, hidden = (double)f->hidden;
    double width = (double)facts_config_number(
        c, "moe_intermediate_size|ffn_config.ffn_hidden_size", SIZE_LARGEST, f->intermediate);
    double shared = (double)facts_config_number(
        c, "shared_expert_intermediate_size|moe_shared_expert_intermediate_size", SIZE_LARGEST, 0);
    double n_shared =
        (double)facts_config_number(c, "n_shared_experts|num_shared_experts", 1024, 0);
    double dense_width =
        (double)facts_config_number(c, "intermediate_size_mlp", SIZE_LARGEST, f->intermediate);

    shared = shared > 0 ? shared : n_shared * width;
    shared = facts_config_is(c, "llama4_text") ? width : shared;
    s->experts = sparse * experts * feed_forward(c, width);
    s->idle = experts > 0 ? s->experts * (1 - (double)f->experts_used / experts) : 0;
    s->layers += sparse * feed_forward(c, shared);
    s->kept += sparse * hidden * experts;
    double pure = (double)facts_count(f, FACTS_NONE);
    double dense = facts_config_is(c, "nemotron_h")                  ? pure
                   : facts_config_is(c, "mamba|mamba2|falcon_mamba") ? 0
                                                                     : (double)f->layers - sparse;
    s->layers += dense * feed_forward(c, dense_width);
}

void facts_config_size(struct facts_in *c) {
    struct facts *f = c->f;
    bool tied = facts_config_flag(
        c, "tie_word_embeddings",
        facts_config_is(c, "gemma|gemma2|gemma3_text|gemma3|gpt2|cohere|cohere2|bloom|opt"));
    struct size_sums s = {.kept = (double)f->vocab * (double)f->hidden * (tied ? 1 : 2)};

    if (c->code != 0 || f->vocab == 0) {
        return;
    }
    double attends = (double)(facts_count(f, FACTS_FULL) + facts_count(f, FACTS_WINDOW));
    s.layers = attends * attention_size(c) + (double)facts_count(f, FACTS_STATE) * state_size(c);
    s.kept += (double)f->hidden * (2 * (double)f->layers + 1);
    add_feed_forward(c, &s);
    double all = s.kept + s.layers + s.experts;
    if (c->code != 0 || !(all > 0 && all < PARAMETERS_LARGEST)) {
        facts_config_fault(c, ERR_INVALID, "hidden_size",
                           "the sizes give more parameters than any model has");
        return;
    }
    f->parameters = (int64_t)all;
    f->parameters_used = (int64_t)(all - s.idle);
    bool experts_alone = str_is(f->quant, "mxfp4");
    double plain = s.kept + (experts_alone ? s.layers : 0);
    double packed = s.experts + (experts_alone ? 0 : s.layers);
    f->weights = f->weight_millibits > 0
                     ? (int64_t)(plain * 2 + packed * (double)f->weight_millibits / 8000)
                     : 0;
}

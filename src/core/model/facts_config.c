/*
 * facts_config: a Hugging Face config.json as facts. Makers name the same thing differently; the names are those of the
 * configuration classes of the transformers library, and what a class takes for granted is taken for granted here.
 *
 * A model of several kinds of input has its text model in an object of its own (text_config); that one counts.
 */
#include "core/model/facts_private.h"

#include <stdio.h>

int facts_config_fault(struct facts_in *c, int code, const char *field, const char *what) {
    if (c->code == 0) {
        c->code = err_set(c->err, code, "config.json: %s: %s", field, what);
    }
    return c->code;
}

int64_t facts_config_number(struct facts_in *c, const char *names, int64_t most,
                            int64_t otherwise) {
    struct str rest = str_of(names), name;
    char path[128];

    while (str_next(&rest, '|', &name)) {
        yyjson_val *v = str_copy(name, path, sizeof(path)) ? json_path(c->obj, path) : NULL;
        if (v == NULL || yyjson_is_null(v)) {
            continue;
        }
        if (!yyjson_is_uint(v) || yyjson_get_uint(v) > (uint64_t)most) {
            char what[96];
            snprintf(what, sizeof(what), "expected a whole number of 0 to %lld", (long long)most);
            facts_config_fault(c, ERR_INVALID, path, what);
            return 0;
        }
        return (int64_t)yyjson_get_uint(v);
    }
    return otherwise;
}

bool facts_config_flag(struct facts_in *c, const char *name, bool otherwise) {
    return json_bool_at(c->obj, name, otherwise);
}

bool facts_config_is(const struct facts_in *c, const char *types) {
    struct str rest = str_of(types), one;
    while (str_next(&rest, '|', &one)) {
        if (str_eq(one, c->f->type)) {
            return true;
        }
    }
    return false;
}

/* ---- the parts ---- */

static yyjson_val *text_model(yyjson_val *root) {
    static const char *const names[] = {"text_config", "llm_config", "language_config",
                                        "thinker_config.text_config"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        yyjson_val *v = json_path(root, names[i]);
        if (yyjson_is_obj(v) && yyjson_obj_size(v) > 0) {
            return v;
        }
    }
    return root;
}

/* As vLLM derives its --max-model-len: stretched by RoPE scaling, but for the kinds that have it in the number. */
static int64_t stretched(struct facts_in *c, int64_t context) {
    yyjson_val *scaling = json_get(c->obj, STR("rope_scaling"));
    yyjson_val *factor = json_get(scaling, STR("factor"));
    struct str kind = json_str(json_get(scaling, STR("rope_type")));

    kind = kind.n > 0 ? kind : json_str(json_get(scaling, STR("type")));
    bool stretches = str_is(kind, "linear") || str_is(kind, "dynamic") || str_is(kind, "yarn");
    double by = yyjson_is_num(factor) ? yyjson_get_num(factor) : 1;
    if (!stretches || !(by >= 1 && by <= 1024)) {
        return context;
    }
    int64_t from = str_is(kind, "yarn")
                       ? facts_config_number(c, "rope_scaling.original_max_position_embeddings",
                                             SIZE_LARGEST, context)
                       : context;
    return (int64_t)((double)from * by);
}

static void read_heads(struct facts_in *c) {
    struct facts *f = c->f;
    bool gemma3 = facts_config_is(c, "gemma3_text|gemma3");

    f->heads = facts_config_number(c, "num_attention_heads|n_head|n_heads|num_heads", HEADS_LARGEST,
                                   gemma3 ? 8 : 0);
    f->head = facts_config_number(c, "head_dim|kv_channels|attention_head_dim", HEADS_LARGEST,
                                  gemma3 ? 256 : 0);
    if (f->head == 0 && f->heads > 0) {
        f->head = f->hidden / f->heads;
    }
}

static void read_sizes(struct facts_in *c) {
    struct facts *f = c->f;

    f->layers = facts_config_number(c, "num_hidden_layers|n_layer|n_layers|num_layers",
                                    FACTS_LAYERS_MAX, 0);
    f->hidden = facts_config_number(c, "hidden_size|n_embd|d_model|dim", SIZE_LARGEST, 0);
    f->intermediate = facts_config_number(
        c, "intermediate_size|n_inner|ffn_hidden_size|ffn_dim|ffn_config.ffn_hidden_size",
        SIZE_LARGEST, 4 * f->hidden);
    f->vocab = facts_config_number(c, "vocab_size|padded_vocab_size", SIZE_LARGEST,
                                   facts_config_is(c, "gemma3_text") ? 262208 : 0);
    f->context = stretched(
        c,
        facts_config_number(c,
                            "max_position_embeddings|n_positions|max_sequence_length|max_seq_len|"
                            "seq_length|n_ctx",
                            SIZE_LARGEST, facts_config_is(c, "gemma3_text") ? 131072 : 0));
    if (f->layers == 0) {
        facts_config_fault(c, ERR_INVALID, "num_hidden_layers", "expected how many layers it has");
    } else if (f->hidden == 0) {
        facts_config_fault(c, ERR_INVALID, "hidden_size", "expected the hidden size of the model");
    }
    read_heads(c);
    f->experts = facts_config_number(
        c,
        "num_experts|num_local_experts|n_routed_experts|moe_num_experts|ffn_config.moe_num_experts",
        HEADS_LARGEST, 0);
    f->experts_used = facts_config_number(
        c, "num_experts_per_tok|num_experts_per_token|moe_topk|moe_top_k|ffn_config.moe_top_k",
        HEADS_LARGEST, f->experts > 0 ? 1 : 0);
    if (f->experts <= 1) {
        f->experts = f->experts_used = 0;
    } else if (f->experts_used < 1 || f->experts_used > f->experts) {
        facts_config_fault(c, ERR_INVALID, "num_experts_per_tok",
                           "expected 1 to the number of experts");
    }
}

static void read_dtype(struct facts_in *c, yyjson_val *root) {
    struct str dtype = json_str_at(c->obj, "torch_dtype");

    dtype = dtype.n > 0 ? dtype : json_str_at(c->obj, "dtype");
    dtype = dtype.n > 0 ? dtype : json_str_at(root, "torch_dtype");
    dtype = dtype.n > 0 ? dtype : json_str_at(root, "dtype");
    c->f->file_bits = str_is(dtype, "float32") ? 32 : 16;
    c->f->kv_bits = 16;
}

int facts_of_config(struct arena *a, struct str json, struct facts *ret, struct err *err) {
    struct facts f = {0};
    yyjson_doc *doc = NULL;

    int code = json_parse(a, json, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root)) {
        return err_set(err, ERR_INVALID, "config.json: expected an object");
    }
    struct facts_in c = {.obj = text_model(root), .f = &f, .err = err};
    f.type = json_str_at(c.obj, "model_type");
    f.type = f.type.n > 0 ? f.type : json_str_at(root, "model_type");
    if (json_bool_at(root, "is_encoder_decoder", false)) {
        return facts_config_fault(&c, ERR_UNSUPPORTED, "is_encoder_decoder",
                                  "models with an encoder are not supported");
    }
    read_sizes(&c);
    read_dtype(&c, root);
    yyjson_val *quant = json_get(c.obj, STR("quantization_config"));
    quant = quant != NULL ? quant : json_get(root, STR("quantization_config"));
    quant = quant != NULL ? quant : json_get(root, STR("compression_config"));
    facts_config_quant(&c, quant);
    facts_config_layers(&c);
    facts_config_size(&c);
    if (c.code == 0) {
        *ret = f;
    }
    return c.code;
}

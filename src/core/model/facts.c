/* facts: see facts.h; the list of layers and GGUF. facts_config.c reads config.json, facts_size.c counts parameters. */
#include "core/model/facts.h"

int facts_add(struct facts *f, struct facts_layers layer, struct err *err) {
    for (size_t i = 0; i < f->n_groups; i++) {
        struct facts_layers *g = &f->groups[i];
        if (g->kind == layer.kind && g->kv_heads == layer.kv_heads && g->key == layer.key &&
            g->value == layer.value && g->latent == layer.latent && g->extra == layer.extra &&
            g->state_bytes == layer.state_bytes) {
            g->count += layer.count;
            return 0;
        }
    }
    if (f->n_groups == FACTS_GROUPS_MAX) {
        return err_set(err, ERR_UNSUPPORTED, "layers of more than %d kinds", FACTS_GROUPS_MAX);
    }
    f->groups[f->n_groups++] = layer;
    return 0;
}

int64_t facts_count(const struct facts *f, enum facts_kind kind) {
    int64_t n = 0;
    for (size_t i = 0; i < f->n_groups; i++) {
        n += f->groups[i].kind == kind ? f->groups[i].count : 0;
    }
    return n;
}

void facts_weigh(struct facts *f, int64_t bytes) {
    f->weights = f->file_bits == 32 ? bytes / 2 : bytes;
    f->weights_exact = true;
}

/* ---- GGUF ---- */

/* Layer i's of a key that is one number for all, or a list; false: there is none. */
static bool of_layer(const struct gguf_value *v, int64_t i, int64_t *ret) {
    if (v != NULL && v->kind == GGUF_WHOLE) {
        *ret = v->whole;
        return true;
    }
    if (v != NULL && v->kind == GGUF_LIST && (uint64_t)i < v->n_list) {
        *ret = v->list[i];
        return true;
    }
    return false;
}

/* Elements of the state of a layer that is no attention: convolution and state of Mamba (ssm.*), of 32 bits each as
 * llama.cpp keeps them. */
static int64_t gguf_state(const struct gguf *g) {
    int64_t inner = gguf_whole(g, "ssm.inner_size", 0), state = gguf_whole(g, "ssm.state_size", 0);
    int64_t conv = gguf_whole(g, "ssm.conv_kernel", 0),
            groups = gguf_whole(g, "ssm.group_count", 0);
    const int64_t most = INT64_C(1) << 20;

    if (inner <= 0 || inner > most || state <= 0 || state > most || conv < 1 || conv > most ||
        groups < 0 || groups > most) {
        return 0;
    }
    return 4 * (inner * state + (conv - 1) * (inner + 2 * groups * state));
}

static bool gguf_window_layer(const struct gguf *g, const struct facts *f, int64_t i) {
    const struct gguf_value *v = gguf_arch(g, "attention.sliding_window_pattern");
    int64_t every;

    if (f->window <= 0) {
        return false;
    }
    if (v != NULL && v->kind == GGUF_LIST) {
        return (uint64_t)i < v->n_list && v->list[i] != 0;
    }
    /* Older files say nothing of it: the pattern is the architecture's. The last of each so many is full. */
    every = v != NULL && v->kind == GGUF_WHOLE ? v->whole
            : str_is(f->type, "gemma3")        ? 6
            : str_is(f->type, "gemma2")        ? 2
            : str_is(f->type, "gpt-oss")       ? 2
            : str_is(f->type, "cohere2")       ? 4
                                               : 0;
    return every <= 0 || (i + 1) % every != 0;
}

static int gguf_layer(const struct gguf *g, struct facts *f, int64_t i, struct err *err) {
    int64_t heads = f->heads, latent = gguf_whole(g, "attention.kv_lora_rank", 0);
    int64_t state = gguf_state(g);
    struct facts_layers x = {.count = 1};

    of_layer(gguf_arch(g, "attention.head_count_kv"), i, &heads);
    int64_t every = gguf_whole(g, "full_attention_interval", 0);
    bool attends = heads > 0 && (every <= 0 || (i + 1) % every == 0);
    if (heads < 0 || heads > 65536) {
        return err_set(err, ERR_INVALID, "attention.head_count_kv: expected 0 to 65536");
    }
    if (!attends) {
        x.kind = state > 0 ? FACTS_STATE : FACTS_NONE;
        x.state_bytes = state;
        return facts_add(f, x, err);
    }
    bool window = gguf_window_layer(g, f, i);
    x.kind = window ? FACTS_WINDOW : FACTS_FULL;
    x.kv_heads = heads;
    x.key = gguf_whole(g, window ? "attention.key_length_swa" : "attention.key_length", 0);
    x.key = x.key > 0 ? x.key : gguf_whole(g, "attention.key_length", f->head);
    x.value = gguf_whole(g, window ? "attention.value_length_swa" : "attention.value_length", 0);
    x.value = x.value > 0 ? x.value : gguf_whole(g, "attention.value_length", f->head);
    if (latent > 0) {
        x.latent = true;
        x.kv_heads = 1;
        x.key = latent + gguf_whole(g, "rope.dimension_count", 64);
        x.value = 0;
    }
    if (x.key < 1 || x.key > 65536 || x.value < 0 || x.value > 65536) {
        return err_set(err, ERR_INVALID, "attention.key_length: expected 1 to 65536");
    }
    return facts_add(f, x, err);
}

static int gguf_check(const struct facts *f, struct err *err) {
    if (f->layers < 1 || f->layers > FACTS_LAYERS_MAX) {
        return err_set(err, ERR_INVALID, "%.*s.block_count: expected 1 to %d", STR_ARG(f->type),
                       FACTS_LAYERS_MAX);
    }
    if (f->hidden < 1 || f->hidden > INT32_MAX || f->vocab < 0 || f->vocab > INT32_MAX ||
        f->intermediate < 0 || f->intermediate > INT32_MAX) {
        return err_set(err, ERR_INVALID, "%.*s.embedding_length: expected a size",
                       STR_ARG(f->type));
    }
    if (f->heads < 0 || f->heads > 65536) {
        return err_set(err, ERR_INVALID, "%.*s.attention.head_count: expected 0 to 65536",
                       STR_ARG(f->type));
    }
    return 0;
}

static void gguf_experts(const struct gguf *g, struct facts *f) {
    int64_t of_experts = 0;

    f->experts = gguf_whole(g, "expert_count", 0);
    f->experts_used = gguf_whole(g, "expert_used_count", 0);
    if (f->experts <= 0 || f->experts_used <= 0 || f->experts_used > f->experts) {
        f->experts = f->experts_used = 0;
        return;
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct str name = g->tensors[i].name;
        if (memmem(name.p, name.n, "_exps.", 6) != NULL) {
            of_experts += g->tensors[i].elements;
        }
    }
    f->parameters_used -=
        of_experts - (int64_t)((double)of_experts * (double)f->experts_used / (double)f->experts);
}

int facts_of_gguf(const struct gguf *g, struct facts *ret, struct err *err) {
    const struct gguf_value *arch = gguf_key(g, STR("general.architecture")), *v;
    struct facts f = {.kv_bits = 16, .file_bits = 16};

    if (arch == NULL || arch->kind != GGUF_TEXT || arch->text.n == 0 || arch->text.n > 64) {
        return err_set(err, ERR_INVALID, "general.architecture: missing");
    }
    f.type = arch->text;
    f.layers = gguf_whole(g, "block_count", 0);
    f.hidden = gguf_whole(g, "embedding_length", 0);
    f.context = gguf_whole(g, "context_length", 0);
    f.window = gguf_whole(g, "attention.sliding_window", 0);
    f.vocab = gguf_whole(g, "vocab_size", 0);
    of_layer(gguf_arch(g, "feed_forward_length"), 0, &f.intermediate);
    of_layer(gguf_arch(g, "attention.head_count"), 0, &f.heads);
    int code = gguf_check(&f, err);
    if (code != 0) {
        return code;
    }
    f.head = f.heads > 0 ? f.hidden / f.heads : 0;
    v = gguf_arch(g, "attention.key_length");
    f.head = v != NULL && v->kind == GGUF_WHOLE ? v->whole : f.head;
    for (int64_t i = 0; i < f.layers && code == 0; i++) {
        code = gguf_layer(g, &f, i, err);
    }
    if (code != 0) {
        return code;
    }
    for (size_t i = 0; i < g->n_tensors && f.vocab == 0; i++) {
        if (str_is(g->tensors[i].name, "token_embd.weight")) {
            int64_t rows = g->tensors[i].elements / f.hidden;
            f.vocab = rows < INT32_MAX ? rows : 0;
        }
    }
    f.parameters = f.parameters_used = g->elements;
    f.weight_millibits =
        g->elements > 0 ? (int64_t)((double)g->bytes * 8000.0 / (double)g->elements) : 0;
    gguf_experts(g, &f);
    facts_weigh(&f, g->bytes);
    *ret = f;
    return 0;
}

/* facts_test: facts of models that everybody knows, against what their makers publish; and of files that lie. */
#include "core/model/facts.h"

#include "base/test.h"

static struct arena arena;

static int setup(void **state) {
    arena_init(&arena, 64 << 20);
    return 0;
}

static int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

static struct facts read_ok(const char *json) {
    struct facts f;
    struct err err = {0};
    assert_ok(facts_of_config(&arena, str_of(json), &f, &err), &err);
    return f;
}

static void refuses(const char *json, int code, const char *says) {
    struct facts f = {.layers = -1};
    struct err err = {0};
    assert_int_equal(facts_of_config(&arena, str_of(json), &f, &err), code);
    if (strstr(err.text, says) == NULL) {
        print_error("\"%s\" does not say \"%s\"\n", err.text, says);
        fail();
    }
    assert_int_equal(f.layers, -1); /* untouched */
}

#define LLAMA8B                                                                                    \
    "{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":14336,"                  \
    "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"               \
    "\"vocab_size\":128256,\"max_position_embeddings\":131072,\"torch_dtype\":\"bfloat16\","       \
    "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0},\"tie_word_embeddings\":false"

static void llama(void **state) {
    struct facts f = read_ok(LLAMA8B "}");
    assert_int_equal(f.parameters, 8030261248); /* as its files count */
    assert_int_equal(f.weights, 16060522496);
    assert_false(f.weights_exact);
    assert_int_equal(f.context, 131072);
    assert_int_equal(f.n_groups, 1);
    assert_int_equal(f.groups[0].kind, FACTS_FULL);
    assert_int_equal(f.groups[0].count, 32);
    assert_int_equal(f.groups[0].kv_heads, 8);
    assert_int_equal(f.groups[0].key, 128);
    assert_int_equal(f.parameters_used, f.parameters);
}

/* The files of RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8 have 9.08 GB: embeddings stay in 16 bits. */
static void fp8(void **state) {
    struct facts f = read_ok(LLAMA8B ",\"quantization_config\":{\"quant_method\":"
                                     "\"compressed-tensors\",\"config_groups\":{\"group_0\":{"
                                     "\"weights\":{\"num_bits\":8,\"type\":\"float\"}}}}}");
    assert_int_equal(f.weight_millibits, 8000);
    assert_int_equal(f.weights / 10000000, 908);
    f = read_ok(LLAMA8B ",\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,"
                        "\"group_size\":128}}");
    assert_int_equal(f.weight_millibits, 4156);
    f = read_ok(LLAMA8B ",\"quantization_config\":{\"quant_method\":\"something\"}}");
    assert_int_equal(f.weights, 0); /* nobody knows, so nothing is claimed */
}

static void experts(void **state) {
    struct facts f = read_ok(
        "{\"model_type\":\"qwen3_moe\",\"hidden_size\":2048,\"intermediate_size\":6144,"
        "\"num_hidden_layers\":48,\"num_attention_heads\":32,\"num_key_value_heads\":4,"
        "\"head_dim\":128,\"vocab_size\":151936,\"num_experts\":128,\"num_experts_per_tok\":8,"
        "\"moe_intermediate_size\":768,\"decoder_sparse_step\":1,\"mlp_only_layers\":[],"
        "\"sliding_window\":null,\"use_sliding_window\":false,\"max_window_layers\":48,"
        "\"tie_word_embeddings\":false,\"max_position_embeddings\":262144}");
    assert_int_equal(f.parameters / 10000000, 3053);     /* 30.53 B */
    assert_int_equal(f.parameters_used / 100000000, 33); /* "A3B": 3.3 B */
    assert_int_equal(facts_count(&f, FACTS_FULL), 48);
}

static void latent(void **state) {
    struct facts f = read_ok(
        "{\"model_type\":\"deepseek_v3\",\"hidden_size\":7168,\"intermediate_size\":18432,"
        "\"moe_intermediate_size\":2048,\"num_hidden_layers\":61,\"num_attention_heads\":128,"
        "\"num_key_value_heads\":128,\"q_lora_rank\":1536,\"kv_lora_rank\":512,"
        "\"qk_rope_head_dim\":64,\"qk_nope_head_dim\":128,\"v_head_dim\":128,"
        "\"n_routed_experts\":256,\"num_experts_per_tok\":8,\"n_shared_experts\":1,"
        "\"first_k_dense_replace\":3,\"vocab_size\":129280,\"max_position_embeddings\":163840,"
        "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":40,"
        "\"original_max_position_embeddings\":4096},\"tie_word_embeddings\":false,"
        "\"quantization_config\":{\"quant_method\":\"fp8\"}}");
    assert_int_equal(f.parameters / 1000000000, 671);
    assert_int_equal(f.parameters_used / 1000000000, 37);
    assert_int_equal(f.context, 163840);
    assert_true(f.groups[0].latent);
    assert_int_equal(f.groups[0].key, 576);
    assert_int_equal(f.groups[0].value, 0);
}

static void windows(void **state) {
    struct facts f =
        read_ok("{\"model_type\":\"gemma3\",\"architectures\":[\"Gemma3ForConditionalGeneration\"],"
                "\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
                "\"intermediate_size\":10240,\"num_hidden_layers\":34,\"sliding_window\":1024,"
                "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}},"
                "\"torch_dtype\":\"bfloat16\"}");
    assert_int_equal(facts_count(&f, FACTS_FULL), 5);
    assert_int_equal(facts_count(&f, FACTS_WINDOW), 29);
    assert_int_equal(f.window, 1024);
    assert_int_equal(f.groups[0].kv_heads, 4);
    assert_int_equal(f.groups[0].key, 256);
    assert_int_equal(f.parameters / 100000000, 38); /* 3.88 B without the tower */

    f = read_ok("{\"model_type\":\"mistral\",\"hidden_size\":4096,\"num_hidden_layers\":32,"
                "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"vocab_size\":32000,"
                "\"intermediate_size\":14336,\"sliding_window\":4096}");
    assert_int_equal(facts_count(&f, FACTS_WINDOW), 32);
    f = read_ok("{\"model_type\":\"qwen2\",\"hidden_size\":3584,\"num_hidden_layers\":28,"
                "\"num_attention_heads\":28,\"num_key_value_heads\":4,\"vocab_size\":152064,"
                "\"intermediate_size\":18944,\"sliding_window\":131072,\"max_window_layers\":28,"
                "\"use_sliding_window\":false,\"tie_word_embeddings\":false}");
    assert_int_equal(facts_count(&f, FACTS_FULL), 28);
    assert_int_equal(f.parameters, 7615616512); /* Qwen2.5-7B, as its files count */
}

static void states(void **state) {
    struct facts f = read_ok(
        "{\"model_type\":\"qwen3_next\",\"hidden_size\":2048,\"intermediate_size\":5120,"
        "\"num_hidden_layers\":48,\"num_attention_heads\":16,\"num_key_value_heads\":2,"
        "\"head_dim\":256,\"vocab_size\":151936,\"num_experts\":512,\"num_experts_per_tok\":10,"
        "\"moe_intermediate_size\":512,\"shared_expert_intermediate_size\":512,"
        "\"linear_num_key_heads\":16,\"linear_num_value_heads\":32,\"linear_key_head_dim\":128,"
        "\"linear_value_head_dim\":128,\"linear_conv_kernel_dim\":4,\"full_attention_interval\":4,"
        "\"tie_word_embeddings\":false}");
    assert_int_equal(facts_count(&f, FACTS_FULL), 12);
    assert_int_equal(facts_count(&f, FACTS_STATE), 36);
    assert_int_equal(f.parameters / 1000000000, 79);
    for (size_t i = 0; i < f.n_groups; i++) {
        if (f.groups[i].kind == FACTS_STATE) {
            assert_int_equal(f.groups[i].state_bytes, 2 * 3 * 8192 + 4 * 32 * 128 * 128);
        }
    }
    f = read_ok("{\"model_type\":\"nemotron_h\",\"hidden_size\":4480,\"num_hidden_layers\":4,"
                "\"hybrid_override_pattern\":\"M-*-\",\"num_attention_heads\":40,"
                "\"num_key_value_heads\":8,\"head_dim\":128,\"vocab_size\":131072,"
                "\"ssm_state_size\":128,\"mamba_num_heads\":128,\"mamba_head_dim\":80,"
                "\"n_groups\":8,\"conv_kernel\":4,\"intermediate_size\":15680}");
    assert_int_equal(facts_count(&f, FACTS_FULL), 1);
    assert_int_equal(facts_count(&f, FACTS_NONE), 2);
}

static void listed_layers(void **state) {
    struct facts f = read_ok(
        "{\"model_type\":\"gpt_oss\",\"hidden_size\":2880,\"num_hidden_layers\":4,"
        "\"num_attention_heads\":64,\"num_key_value_heads\":8,\"head_dim\":64,"
        "\"vocab_size\":201088,\"intermediate_size\":2880,\"num_local_experts\":32,"
        "\"num_experts_per_tok\":4,\"sliding_window\":128,\"layer_types\":[\"sliding_attention\","
        "\"full_attention\",\"sliding_attention\",\"full_attention\"],"
        "\"quantization_config\":{\"quant_method\":\"mxfp4\"}}");
    assert_int_equal(facts_count(&f, FACTS_WINDOW), 2);
    assert_int_equal(f.weight_millibits, 4250);
}

static void bad(void **state) {
    refuses("{", ERR_SYNTAX, "");
    refuses("[]", ERR_INVALID, "expected an object");
    refuses("{}", ERR_INVALID, "num_hidden_layers");
    refuses("{\"num_hidden_layers\":2}", ERR_INVALID, "hidden_size");
    refuses("{\"num_hidden_layers\":-1,\"hidden_size\":8}", ERR_INVALID, "num_hidden_layers");
    refuses("{\"num_hidden_layers\":2,\"hidden_size\":8}", ERR_INVALID, "num_attention_heads");
    refuses("{\"num_hidden_layers\":1e3,\"hidden_size\":8}", ERR_INVALID, "num_hidden_layers");
    refuses("{\"is_encoder_decoder\":true}", ERR_UNSUPPORTED, "is_encoder_decoder");
    refuses("{\"num_hidden_layers\":2,\"hidden_size\":8,\"num_attention_heads\":2,"
            "\"layer_types\":[\"full_attention\"]}",
            ERR_INVALID, "layer_types");
    refuses("{\"num_hidden_layers\":1,\"hidden_size\":8,\"num_attention_heads\":2,"
            "\"layer_types\":[\"telepathy\"]}",
            ERR_UNSUPPORTED, "layer_types");
    refuses("{\"num_hidden_layers\":1,\"hidden_size\":8,\"num_attention_heads\":2,"
            "\"layer_types\":[\"linear_attention\"]}",
            ERR_UNSUPPORTED, "sizes");
    refuses("{\"num_hidden_layers\":1024,\"hidden_size\":100000000,\"num_attention_heads\":65536,"
            "\"vocab_size\":100000000,\"intermediate_size\":100000000}",
            ERR_INVALID, "more parameters");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(llama, setup, teardown),
        cmocka_unit_test_setup_teardown(fp8, setup, teardown),
        cmocka_unit_test_setup_teardown(experts, setup, teardown),
        cmocka_unit_test_setup_teardown(latent, setup, teardown),
        cmocka_unit_test_setup_teardown(windows, setup, teardown),
        cmocka_unit_test_setup_teardown(states, setup, teardown),
        cmocka_unit_test_setup_teardown(listed_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(bad, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

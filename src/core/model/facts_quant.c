/*
 * facts_quant: how the weights of a config.json are quantised, and what one of them takes with its scales.
 *
 *     fp8               8 bits
 *     awq, gptq         bits + (16 + bits) / group: a 16-bit scale and a zero of `bits` a group; a channel: no group
 *     bitsandbytes      8 bits; nf4: 4 + 32/64, with double quantisation 4 + 8/64 + 32/(64*256)  (QLoRA, section 3)
 *     compressed-tensors  num_bits, and a 16-bit scale a group (8-bit where weights are floats of 4: NVFP4)
 *     mxfp4             4 + 8/32, of the experts alone  (OCP Microscaling formats, 1.0)
 *     modelopt          FP8: 8; NVFP4: 4 + 8/16
 *
 * Of another method the size is not known: weight_millibits is 0, and the files must tell.
 */
#include "core/model/facts_private.h"

enum { BITS = 1000 };

static int64_t grouped(int64_t bits, int64_t per_group, int64_t group) {
    return bits * BITS + (group > 0 ? per_group * BITS / group : 0);
}

static int64_t number_of(yyjson_val *v, const char *one, const char *other, int64_t otherwise) {
    int64_t n = json_i64_at(v, one, -1);
    n = n > 0 ? n : json_i64_at(v, other, -1);
    return n > 0 && n <= 65536 ? n : otherwise;
}

static int64_t compressed(yyjson_val *quant) {
    yyjson_val *groups = json_get(quant, STR("config_groups")), *key, *v;
    int64_t most = 0;
    size_t i, n;

    if (!yyjson_is_obj(groups)) {
        return 0;
    }
    yyjson_obj_foreach(groups, i, n, key, v) {
        int64_t bits = json_i64_at(v, "weights.num_bits", 0);
        int64_t group = json_i64_at(v, "weights.group_size", 0);
        bool floats = str_is(json_str_at(v, "weights.type"), "float");
        int64_t one =
            bits > 0 && bits <= 32 ? grouped(bits, floats && bits == 4 ? 8 : 16, group) : 0;
        most = one > most ? one : most;
    }
    return most;
}

static int64_t bitsandbytes(yyjson_val *quant) {
    if (!json_bool_at(quant, "load_in_4bit", false)) {
        return 8 * BITS;
    }
    return json_bool_at(quant, "bnb_4bit_use_double_quant", false) ? 4127 : 4500;
}

static int64_t modelopt(yyjson_val *quant) {
    struct str algo = json_str_at(quant, "quant_algo");
    algo = algo.n > 0 ? algo : json_str_at(quant, "quantization.quant_algo");
    return str_is(algo, "FP8") ? 8 * BITS : str_is(algo, "NVFP4") ? 4500 : 0;
}

void facts_config_quant(struct facts_in *c, yyjson_val *quant) {
    struct facts *f = c->f;
    struct str method = json_str_at(quant, "quant_method");
    int64_t bits = number_of(quant, "bits", "w_bit", 4);
    int64_t group = number_of(quant, "group_size", "q_group_size", 0);

    f->weight_millibits = 16 * BITS;
    if (quant == NULL || yyjson_is_null(quant)) {
        return;
    }
    if (!yyjson_is_obj(quant) || bits > 32) {
        facts_config_fault(c, ERR_INVALID, "quantization_config",
                           "expected an object with bits of 1 to 32");
        return;
    }
    f->quant = method.n > 0 ? method : STR("unknown");
    f->weight_millibits = str_is(method, "fp8") || str_is(method, "fbgemm_fp8") ? 8 * BITS
                          : str_is(method, "awq") || str_is(method, "gptq")
                              ? grouped(bits, 16 + bits, group)
                          : str_is(method, "bitsandbytes")       ? bitsandbytes(quant)
                          : str_is(method, "compressed-tensors") ? compressed(quant)
                          : str_is(method, "mxfp4")              ? 4250
                          : str_is(method, "modelopt")           ? modelopt(quant)
                                                                 : 0;
}

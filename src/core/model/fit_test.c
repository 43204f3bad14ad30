/*
 * fit_test: worked vectors of the estimator, and what vLLM itself printed.
 *
 * Reports: vllm#34076 (Qwen3-Coder-30B), vllm#2418 and OpenRLHF#336 (blocks), SubgraphRAG#19 (Llama 3.1 8B on a card of
 * 24 GB), Qwen2.5-14B of 131072 tokens, and DeepSeek-R1-0528-Qwen3-8B of 32768: the numbers of their logs.
 */
#include "core/model/fit.h"

#include "base/test.h"
#include "core/model/kv.h"
#include "core/model/overhead.h"

#define GIB(x) ((int64_t)((x)*1073741824.0))

static struct facts plain(int64_t layers, int64_t heads, int64_t kv_heads, int64_t head,
                          int64_t hidden, double weights) {
    struct facts f = {.layers = layers,
                      .heads = heads,
                      .head = head,
                      .hidden = hidden,
                      .intermediate = 14336,
                      .vocab = 128256,
                      .context = 131072,
                      .kv_bits = 16,
                      .weights = (int64_t)weights,
                      .parameters = (int64_t)weights,
                      .parameters_used = (int64_t)weights};
    struct facts_layers x = {.count = layers, .kv_heads = kv_heads, .key = head, .value = head};
    assert_int_equal(facts_add(&f, x, NULL), 0);
    return f;
}

static const struct kv_how vllm = {
    .tensor = 1, .pipeline = 1, .block = 16, .slack = 1, .batched = 8192};

/* Memory in GiB, overhead, weights, cache bits, T; then bytes a token, budget, tokens, sequences of 8192, verdict. */
static void vectors(void **state) {
    static const struct {
        const char *name;
        double memory, overhead, parameters, bytes;
        int64_t kv_bits, tensor, token;
        double budget;
        int64_t tokens, at_once;
        enum fit_verdict verdict;
        bool large;
    } cases[] = {
        {"8B 16-bit 1g.18gb", 16, 1.5, 8.03e9, 2, 16, 1, 131072, -2.06, 0, 0, FIT_NO, false},
        {"8B fp8 1g.18gb", 16, 1.5, 8.03e9, 1, 16, 1, 131072, 5.42, 44400, 5, FIT_YES, false},
        {"8B fp8, kv fp8 1g.18gb", 16, 1.5, 8.03e9, 1, 8, 1, 65536, 5.42, 88816, 10, FIT_YES,
         false},
        {"8B 16-bit 2g.35gb", 32.25, 1.5, 8.03e9, 2, 16, 1, 131072, 12.57, 102944, 12, FIT_YES,
         false},
        {"8B 16-bit 3g.71gb", 69.5, 1.5, 8.03e9, 2, 16, 1, 131072, 46.09, 377584, 46, FIT_YES,
         false},
        {"70B 16-bit T=1", 140, 3, 70.6e9, 2, 16, 1, 327680, -8.50, 0, 0, FIT_NO, true},
        {"70B fp8 T=1", 140, 3, 70.6e9, 1, 16, 1, 327680, 57.25, 187584, 22, FIT_YES, true},
        {"70B 16-bit T=2", 140, 3, 70.6e9, 2, 16, 2, 163840, 57.25, 375184, 45, FIT_YES, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct facts f = cases[i].large
                             ? plain(80, 64, 8, 128, 8192, cases[i].parameters * cases[i].bytes)
                             : plain(32, 32, 8, 128, 4096, cases[i].parameters * cases[i].bytes);
        struct fit_ask ask = fit_defaults(FIT_VLLM);
        struct fit_device d = {.memory = GIB(cases[i].memory), .together = 8};
        struct err err = {0};
        ask.context = 8192;
        ask.kv_bits = cases[i].kv_bits;
        ask.tensor = cases[i].tensor;
        ask.overhead = GIB(cases[i].overhead);
        assert_ok(fit_check(&f, &ask, &err), &err);
        struct fit_answer r = fit_of(&f, &ask, &d);
        double off = (double)r.budget / 1073741824.0 - cases[i].budget;
        if (r.token != cases[i].token || r.tokens != cases[i].tokens ||
            r.at_once != cases[i].at_once || r.verdict != cases[i].verdict || off > 0.005 ||
            off < -0.005) {
            print_error("%s: token %lld tokens %lld at once %lld %s budget %f\n", cases[i].name,
                        (long long)r.token, (long long)r.tokens, (long long)r.at_once,
                        fit_word(r.verdict), (double)r.budget / 1073741824.0);
            fail();
        }
    }
}

/* vLLM prints GiB with two digits: some budget that rounds to what it printed gives the tokens it printed. */
static void printed_pair(const struct facts *f, int64_t context, double needs, double has,
                         int64_t longest) {
    int64_t one = kv_sequence(f, &vllm, context), least = GIB(has - 0.005), most = GIB(has + 0.005);
    double off = (double)one / 1073741824.0 - needs;
    assert_true(off < 0.005 && off > -0.005);
    int64_t budget = kv_sequence(f, &vllm, longest);
    assert_true(budget >= least && budget < most);
    assert_int_equal(kv_longest(f, &vllm, budget, context), longest);
    assert_int_equal(kv_tokens(f, &vllm, budget, context), longest);
}

static void printed_by_vllm(void **state) {
    struct facts coder = plain(48, 32, 4, 128, 2048, 1e9);
    assert_int_equal(kv_token(&coder, &vllm), 98304);
    assert_int_equal(kv_sequence(&coder, &vllm, 262144), GIB(24));
    printed_pair(&coder, 262144, 24.00, 3.18, 34736);
    struct facts qwen14 = plain(48, 40, 8, 128, 5120, 1e9);
    printed_pair(&qwen14, 131072, 24.00, 10.91, 59584);
    struct facts qwen8 = plain(36, 32, 8, 128, 4096, 1e9);
    printed_pair(&qwen8, 32768, 4.50, 4.47, 32560);

    struct facts llama = plain(32, 32, 8, 128, 4096, 1e9); /* 229 and 378 blocks */
    assert_int_equal(kv_tokens(&llama, &vllm, 229 * 16 * INT64_C(131072), 2048), 3664);
    assert_int_equal(kv_tokens(&llama, &vllm, 378 * 16 * INT64_C(131072) + 131071, 2048), 6048);

    /* 39 024 tokens on 23.7 GiB: 4.76 GiB of cache, and 1.6 GiB that nobody has. */
    struct facts real = plain(32, 32, 8, 128, 4096, 16060522496);
    struct fit_ask ask = fit_defaults(FIT_VLLM);
    struct fit_device d = {.memory = GIB(23.7)};
    ask.context = 8192;
    ask.overhead = GIB(0.9 * 23.7) - 16060522496 - 39024 * INT64_C(131072);
    assert_int_equal(fit_of(&real, &ask, &d).tokens, 39024);
    struct overhead_how how = {.tensor = 1, .pipeline = 1, .batched = 8192, .sequences = 256};
    int64_t guess = overhead_guess(&real, &how);
    assert_true(guess > GIB(1.5) && guess < GIB(1.65));
    assert_true(ask.overhead > GIB(1.5) && ask.overhead < GIB(1.65));
}

/* Gemma 3 27B: 52 windows and 10 full layers, in groups of 10; the windows are filled up to 60. */
static void windows(void **state) {
    struct facts f = {.layers = 62, .window = 1024, .kv_bits = 16};
    facts_add(&f,
              (struct facts_layers){
                  .kind = FACTS_WINDOW, .count = 52, .kv_heads = 16, .key = 128, .value = 128},
              NULL);
    facts_add(&f,
              (struct facts_layers){
                  .kind = FACTS_FULL, .count = 10, .kv_heads = 16, .key = 128, .value = 128},
              NULL);
    int64_t page = 16 * 16 * 256 * 2;
    int64_t window_blocks = (1023 + 8192 + 15) / 16 + 1;
    assert_int_equal(kv_sequence(&f, &vllm, 131072), 60 * page * window_blocks + 10 * page * 8192);
    assert_int_equal(kv_token(&f, &vllm), 10 * 16 * 256 * 2);
    struct kv_how llama = {.tensor = 1, .pipeline = 1, .block = 256, .batched = 512};
    assert_int_equal(kv_sequence(&f, &llama, 131072), 52 * page * 16 * 6 + 10 * page * 8192);
}

static void latent(void **state) {
    struct facts f = {.layers = 61, .kv_bits = 16, .heads = 128};
    facts_add(&f, (struct facts_layers){.count = 61, .kv_heads = 1, .key = 576, .latent = true},
              NULL);
    struct kv_how eight = vllm;
    eight.tensor = 8;
    assert_int_equal(kv_token(&f, &vllm), 70272);
    assert_int_equal(kv_token(&f, &eight), 70272); /* copied, not divided */
    struct facts few = plain(48, 32, 4, 128, 2048, 1e9);
    assert_int_equal(kv_token(&few, &eight), 98304 / 4); /* four heads on eight GPUs: one each */
}

static void states(void **state) {
    struct facts f = {.layers = 4, .kv_bits = 16};
    facts_add(&f, (struct facts_layers){.kind = FACTS_STATE, .count = 3, .state_bytes = 1000},
              NULL);
    facts_add(&f, (struct facts_layers){.count = 1, .kv_heads = 2, .key = 8, .value = 8}, NULL);
    assert_int_equal(kv_sequence(&f, &vllm, 1), 3000 + 16 * 64);
    assert_int_equal(kv_sequence(&f, &vllm, 160), 3000 + 160 * 64);
    assert_int_equal(kv_longest(&f, &vllm, 2999, 1000), 0);
}

static void fixes(void **state) {
    struct facts f = plain(32, 32, 8, 128, 4096, 16.06e9);
    struct fit_ask ask = fit_defaults(FIT_VLLM);
    struct fit_device d = {.memory = GIB(32.25), .slice = true, .bandwidth = 1200000000000};
    f.parameters = f.parameters_used = 8030000000;
    ask.overhead = GIB(1.5);
    struct fit_answer r = fit_of(&f, &ask, &d); /* 131072 tokens need 16 GiB, 12.57 are left */
    assert_int_equal(r.verdict, FIT_NO);
    assert_int_equal(r.longest, 102944);
    assert_non_null(strstr(r.reason, "102944"));
    assert_int_equal(r.n_fixes, 4);
    assert_int_equal(r.fixes[0], FIT_FIX_CONTEXT);
    assert_int_equal(r.fixes[1], FIT_FIX_CACHE);
    assert_int_equal(r.fixes[2], FIT_FIX_WEIGHTS8);
    assert_int_equal(r.fix_context, 102944);
    d.memory = GIB(
        16); /* 5.4 GiB are left of weights of 8 bits: no flag alone is enough, nor are the two */
    r = fit_of(&f, &ask, &d);
    assert_true(r.both && r.n_fixes == 2);
    assert_int_equal(r.fixes[0], FIT_FIX_WEIGHTS8);
    assert_int_equal(r.fixes[1], FIT_FIX_CONTEXT);
    assert_in_range(r.fix_context, 44000, 44800);
    ask.context = 50000;
    r = fit_of(&f, &ask, &d); /* the largest of both has room for 88 816 tokens */
    assert_true(r.n_fixes > 0 && !(r.both && r.fixes[1] == FIT_FIX_CONTEXT));
    ask.context = 0;
    d.memory = GIB(32.25);
    ask.tensor = 2;
    r = fit_of(&f, &ask, &d);
    assert_int_equal(r.verdict, FIT_NO);
    assert_int_equal(r.n_fixes, 0);
    assert_non_null(strstr(r.reason, "whole GPUs"));

    struct facts large = plain(80, 64, 8, 128, 8192, 141.2e9);
    large.parameters = 70600000000;
    ask = fit_defaults(FIT_VLLM);
    ask.context = 8192;
    d = (struct fit_device){.memory = GIB(140), .together = 8};
    r = fit_of(&large, &ask, &d);
    assert_int_equal(r.fixes[0], FIT_FIX_WEIGHTS8);
    assert_int_equal(r.fixes[r.n_fixes - 1], FIT_FIX_TENSOR);
    assert_int_equal(r.fix_tensor, 2);
    d.together = 1;
    r = fit_of(&large, &ask, &d);
    assert_int_equal(r.fix_tensor, 0);
}

static void tight(void **state) {
    struct facts f = plain(32, 32, 8, 128, 4096, 8.03e9);
    struct fit_ask ask = fit_defaults(FIT_VLLM);
    struct fit_device d = {.memory = GIB(16), .bandwidth = 600000000000};
    ask.overhead = GIB(1.5);
    ask.context = 40000;
    assert_int_equal(fit_of(&f, &ask, &d).verdict, FIT_TIGHT); /* one at a time */
    ask.context = 8192;
    ask.sequences = 8;
    struct fit_answer r = fit_of(&f, &ask, &d);
    assert_int_equal(r.verdict, FIT_TIGHT);
    assert_non_null(strstr(r.reason, "5 of the 8"));
    ask.sequences = 0;
    ask.least_memory = GIB(20);
    assert_int_equal(fit_of(&f, &ask, &d).verdict, FIT_NO);
    ask.least_memory = 0;
    r = fit_of(&f, &ask, &d);
    assert_int_equal(r.speed_one, (int64_t)(600e12 / (8.03e9 + 8192.0 * 131072)));
    assert_true(r.speed_all > r.speed_one * 3 && r.speed_all < r.speed_one * 5);
}

static void asked_wrong(void **state) {
    struct facts f = plain(32, 32, 8, 128, 4096, 8.03e9);
    struct fit_ask ask = fit_defaults(FIT_VLLM);
    struct err err = {0};
    ask.tensor = 3;
    assert_int_equal(fit_check(&f, &ask, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "does not divide"));
    ask.tensor = 16; /* twice the heads of the cache: copied */
    assert_ok(fit_check(&f, &ask, &err), &err);
    ask.utilization = 0;
    assert_int_equal(fit_check(&f, &ask, &err), ERR_INVALID);
    ask.utilization = 900000;
    f.weights = 0;
    assert_int_equal(fit_check(&f, &ask, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "weights"));
}

static void learning(void **state) {
    static struct overhead_book b;
    char key[16];
    assert_int_equal(overhead_known(&b, STR("vllm llama 1")), -1);
    overhead_learn(&b, STR("vllm llama 1"), 1500);
    overhead_learn(&b, STR("vllm llama 1"), 1700);
    overhead_learn(&b, STR("vllm llama 1"), -5);
    assert_int_equal(overhead_known(&b, STR("vllm llama 1")), 1700);
    for (int i = 0; i < OVERHEAD_SEEN; i++) {
        overhead_learn(&b, STR("vllm llama 1"), 1600);
    }
    assert_int_equal(overhead_known(&b, STR("vllm llama 1")), 1600); /* old ones are forgotten */
    for (int i = 0; i < 2 * OVERHEAD_KEYS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        overhead_learn(&b, str_of(key), i);
        assert_int_equal(overhead_known(&b, STR("vllm llama 1")), 1600); /* it is asked for */
    }
    assert_int_equal(overhead_known(&b, STR("k0")), -1);
    assert_int_equal(b.n, OVERHEAD_KEYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors), cmocka_unit_test(printed_by_vllm), cmocka_unit_test(windows),
        cmocka_unit_test(latent),  cmocka_unit_test(states),          cmocka_unit_test(fixes),
        cmocka_unit_test(tight),   cmocka_unit_test(asked_wrong),     cmocka_unit_test(learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

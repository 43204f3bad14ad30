/* serverlog_test: lines as servers write them, with what stands before them in a log. */
#include "core/model/serverlog.h"

#include "base/test.h"

#define GIB(x) ((int64_t)((x)*1073741824.0 + 0.5))

static void vllm_start(void **state) {
    struct serverlog s = {0};
    assert_true(
        serverlog_line(&s, STR("INFO 07-03 14:17:08 [gpu_model_runner.py:1598] Model loading took "
                               "14.9888 GiB and 3.118 seconds")));
    assert_true(serverlog_line(
        &s, STR("(EngineCore_0 pid=15) INFO [gpu_worker.py:232] Available KV cache memory: "
                "12.57 GiB")));
    assert_true(
        serverlog_line(&s, STR("INFO [kv_cache_utils.py:716] GPU KV cache size: 102,944 tokens")));
    assert_true(serverlog_line(
        &s, STR("INFO [gpu_model_runner.py] Graph capturing finished in 12 secs, took 0.52 "
                "GiB")));
    assert_false(serverlog_line(&s, STR("INFO: Uvicorn running on http://0.0.0.0:8000")));
    assert_int_equal(s.weights, GIB(14.9888));
    assert_int_equal(s.cache, GIB(12.57));
    assert_int_equal(s.tokens, 102944);
    assert_int_equal(s.graphs, GIB(0.52));
    /* Tokens are exact where GiB are rounded. */
    assert_int_equal(serverlog_overhead(&s, GIB(29.025), 131072),
                     GIB(29.025) - GIB(14.9888) - 102944 * INT64_C(131072));
    assert_int_equal(serverlog_overhead(&s, GIB(29.025), 0),
                     GIB(29.025) - GIB(14.9888) - GIB(12.57));
    assert_int_equal(serverlog_overhead(&s, GIB(20), 131072), -1);
}

static void vllm_old(void **state) {
    struct serverlog s = {0};
    assert_true(serverlog_line(
        &s, STR("INFO 01-11 gpu_executor.py:103] # GPU blocks: 229, # CPU blocks: 512")));
    assert_true(
        serverlog_line(&s, STR("INFO model_runner.py:1097] Loading model weights took 12.5 GB")));
    assert_int_equal(s.blocks, 229);
    assert_int_equal(s.weights, GIB(12.5));
    assert_int_equal(serverlog_overhead(&s, GIB(20), 0), -1);
}

static void vllm_refusal(void **state) {
    struct serverlog s = {0};
    assert_true(serverlog_line(
        &s, STR("ValueError: To serve at least one request with the models's max seq len (262144), "
                "(24.00 GiB KV "
                "cache is needed, which is larger than the available KV cache memory (3.18 GiB). "
                "Based on the "
                "available memory, the estimated maximum model length is 34736. Try increasing "
                "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the "
                "engine.")));
    assert_int_equal(s.needed, GIB(24));
    assert_int_equal(s.cache, GIB(3.18));
    assert_int_equal(s.longest, 34736);
    s = (struct serverlog){0};
    assert_true(
        serverlog_line(&s, STR("ValueError: To serve at least one request with the models's max "
                               "seq len (131072), 24.00 GiB KV "
                               "cache is needed, which is larger than the available KV cache "
                               "memory (10.91 GiB). Based on the "
                               "available memory, the estimated maximum model length is 59584.")));
    assert_int_equal(s.needed, GIB(24));
    assert_int_equal(s.longest, 59584);
    assert_true(serverlog_line(
        &s, STR("ValueError: Free memory on device (12.5/16.0 GiB) on startup is less than "
                "desired GPU memory utilization (0.9, 14.4 GiB).")));
    assert_int_equal(s.free_memory, GIB(12.5));
    assert_int_equal(s.device_memory, GIB(16));
    assert_int_equal(s.utilization, 900000);
    assert_true(serverlog_line(&s, STR("Available KV cache memory: -0.41 GiB")));
    assert_true(s.cache < 0);
}

static void llama(void **state) {
    struct serverlog s = {0};
    assert_false(
        serverlog_line(&s, STR("load_tensors:   CPU_Mapped model buffer size =   281.81 MiB")));
    assert_true(
        serverlog_line(&s, STR("load_tensors:        CUDA0 model buffer size =  4685.30 MiB")));
    assert_true(
        serverlog_line(&s, STR("load_tensors:        CUDA1 model buffer size =  4589.31 MiB")));
    assert_true(
        serverlog_line(&s, STR("llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB")));
    assert_true(
        serverlog_line(&s, STR("llama_context:      CUDA0 compute buffer size =   560.00 MiB")));
    assert_false(
        serverlog_line(&s, STR("llama_context:  CUDA_Host compute buffer size =    24.01 MiB")));
    assert_int_equal(s.weights, 4912893133 + 4812240323);
    assert_int_equal(s.cache, INT64_C(1) << 30);
    assert_int_equal(serverlog_overhead(&s, 0, 0), 560 * 1048576);
}

static void nonsense(void **state) {
    static const char *const lines[] = {
        "",
        "GPU KV cache size:",
        "GPU KV cache size: tokens",
        "GPU KV cache size: -5 tokens",
        "Available KV cache memory: 1e9 GiB",
        "Available KV cache memory: 5 parsecs",
        "Available KV cache memory: 99999999999999999999999999 GiB",
        "Model loading took",
        "# GPU blocks: ,,,",
        "max seq len (",
        "Free memory on device (5/3 GiB)",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct serverlog s = {0};
        if (serverlog_line(&s, str_of(lines[i]))) {
            print_error("taken: %s\n", lines[i]);
            fail();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vllm_start), cmocka_unit_test(vllm_old), cmocka_unit_test(vllm_refusal),
        cmocka_unit_test(llama),      cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

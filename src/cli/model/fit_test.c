/* fit_test (cli): `berth fit` on files made here: what it reads, what it says, what it refuses. */
#include "base/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/kit/bed.h"

#define LLAMA                                                                                      \
    "{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":14336,"                  \
    "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"               \
    "\"vocab_size\":128256,\"max_position_embeddings\":131072,\"tie_word_embeddings\":false}"
#define ONE(n) "{\"a\":{\"dtype\":\"U8\",\"shape\":[" n "],\"data_offsets\":[0," n "]}}"

static char folder[] = "/tmp/berth-fit-XXXXXX";
static char path[4][256];

static const char *in(int i, const char *name) {
    snprintf(path[i], sizeof(path[i]), "%s/%s", folder, name);
    return path[i];
}

static void put(const char *name, const void *bytes, size_t n) {
    FILE *f = fopen(in(3, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

/* A file of one tensor of `data` bytes: a hole, for large ones. */
static void put_weights(const char *name, const char *header, int64_t data) {
    char bytes[512] = {0};
    size_t n = strlen(header);
    bytes[0] = (char)n;
    memcpy(bytes + 8, header, n);
    put(name, bytes, n + 8);
    assert_int_equal(truncate(in(3, name), (int64_t)n + 8 + data), 0);
}

static int setup(void **state) {
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state) {
    static const char *const names[] = {"config.json",
                                        "model-1.safetensors",
                                        "model-2.safetensors",
                                        "a.gguf",
                                        "b.gguf",
                                        "other.json",
                                        "model.safetensors.index.json",
                                        "log",
                                        "consolidated.safetensors",
                                        "x.txt"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        unlink(in(0, names[i]));
    }
    return rmdir(folder);
}

static bool told(const char *text) {
    return str_contains(buf_view(&bed.told), str_of(text));
}

static bool said(const char *text) {
    if (!str_contains(buf_view(&bed.out), str_of(text))) {
        print_error("%s\n---\n%s\n", buf_cstr(&bed.out), buf_cstr(&bed.told));
        return false;
    }
    return true;
}

static const struct route nodes[] = {
    {"GET /api/v1/nodes", 200,
     "{\"items\":[{\"metadata\":{\"name\":\"n\",\"annotations\":{\"berth.dev/"
     "gpus\":\"{\\\"gpus\\\":[{\\\"uuid\\\":"
     "\\\"GPU-1\\\",\\\"model\\\":\\\"NVIDIA "
     "H200\\\",\\\"memoryMiB\\\":143771,\\\"slices\\\":8,\\\"mig\\\":true,"
     "\\\"healthy\\\":true,\\\"profiles\\\":[{\\\"name\\\":\\\"2g.35gb\\\",\\\"id\\\":14,"
     "\\\"size\\\":2,"
     "\\\"memoryMiB\\\":33024,\\\"max\\\":3,\\\"starts\\\":21}]}]}\"}}}]}"},
};

static void catalogue(void **state) {
    bed_start(nodes, 0);
    put_text("config.json", LLAMA);
    assert_int_equal(RUN("fit", in(0, "config.json"), "--gpu", "h200", "--context-length", "8192",
                         "--overhead", "1.5"),
                     CLI_OK);
    assert_true(
        said("llama: 32 layers, 8.03 billion parameters, 14.96 GiB of weights by its sizes"));
    assert_true(said("2g.35gb    32.2 GiB    fits   102944"));
    assert_true(said("1g.18gb    16.0 GiB    no "));
    assert_true(told("counted from the sizes"));
    assert_int_equal(RUN("fit", in(0, "config.json"), "--gpu", "h200", "--slice", "1g.18gb",
                         "--context-length", "8192", "--overhead", "1.5", "-o", "json"),
                     CLI_OK);
    assert_true(said("\"verdict\": \"no\""));
    assert_true(said("--quantization fp8"));
    assert_int_equal(
        RUN("fit", in(0, "config.json"), "--gpu", "h200", "--context-length", "8192", "-o", "name"),
        CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("H200\n1g.35gb\n2g.35gb\n3g.71gb\n4g.71gb\n7g.141gb\n"));
    bed_stop();
}

static void fleet(void **state) {
    bed_start(nodes, 1);
    assert_int_equal(RUN("fit", in(0, "config.json"), "--context-length", "8192", "--overhead",
                         "1.5", "-o", "yaml"),
                     CLI_OK);
    assert_true(said("slice: 2g.35gb"));
    assert_true(said("tokens: 102944"));
    assert_true(said("gpu: NVIDIA H200"));
    assert_int_equal(RUN("fit", in(0, "config.json"), "--slice", "9g.1gb"), CLI_NOT_FOUND);
    assert_true(told("no such GPU or slice"));
    bed_stop();
}

static void folders(void **state) {
    bed_start(nodes, 0);
    put_weights("model-1.safetensors", ONE("8000000000"), 8000000000);
    put_weights("model-2.safetensors", ONE("30522496"), 30522496);
    put_weights("consolidated.safetensors", ONE("5"), 5);
    assert_int_equal(RUN("fit", folder, "--gpu", "H200", "-o", "json"), CLI_OK);
    assert_true(said("\"weightsBytes\": 8030522496"));
    assert_true(said("\"weightsExact\": true"));
    put_text(
        "model.safetensors.index.json",
        "{\"metadata\":{\"total_size\":9000000000},\"weight_map\":{\"a\":\"model-1.safetensors\","
        "\"b\":\"model-3.safetensors\"}}");
    assert_int_equal(RUN("fit", folder, "--gpu", "H200", "-o", "json"), CLI_OK);
    assert_true(said("\"weightsBytes\": 9000000000"));
    assert_true(told("not all of the 2 files are there"));
    unlink(in(0, "model.safetensors.index.json"));
    assert_int_equal(truncate(in(0, "model-2.safetensors"), 1000), 0);
    assert_int_equal(RUN("fit", folder, "--gpu", "H200"), CLI_FAILED);
    assert_true(told("model-2.safetensors: tensors have 30522496 bytes"));
    assert_int_equal(RUN("fit", in(0, "model-1.safetensors"), "--gpu", "H200", "-o", "json"),
                     CLI_OK);
    assert_true(said("\"weightsBytes\": 8000000000"));
    bed_stop();
}

/* The overhead of a server that ran elsewhere: 24 GB, 39 024 tokens. */
static void learns(void **state) {
    bed_start(nodes, 0);
    put_text("log", "INFO Model loading took 14.9577 GiB and 3 seconds\nINFO Available KV cache "
                    "memory: 4.76 GiB\n"
                    "INFO GPU KV cache size: 39,024 tokens\n");
    assert_int_equal(RUN("fit", in(0, "config.json"), "--gpu", "H200", "--log", in(1, "log"),
                         "--log-memory", "23.7"),
                     CLI_OK);
    assert_true(told("log: 1.61 GiB"));
    assert_int_equal(RUN("fit", in(0, "config.json"), "--log", in(1, "log")), CLI_USAGE);
    assert_int_equal(
        RUN("fit", in(0, "config.json"), "--log", in(0, "config.json"), "--log-memory", "23"),
        CLI_USAGE);
    bed_stop();
}

static void refusals(void **state) {
    bed_start(nodes, 0);
    assert_int_equal(RUN("fit", "/nonexistent/model"), CLI_NOT_FOUND);
    assert_int_equal(RUN("fit", in(0, "config.json"), "--gpu", "H9000"), CLI_USAGE);
    assert_true(told("expected one of H200, B200"));
    assert_int_equal(RUN("fit", in(0, "config.json"), "--gpu", "H200", "--context", "8192"),
                     CLI_USAGE);
    assert_true(told("--context-length is the length of a sequence"));
    assert_int_equal(RUN("fit", in(0, "config.json"), "--context-length", "0"), CLI_USAGE);
    assert_int_equal(RUN("fit", in(0, "config.json"), "--gpu-memory-utilization", "1.5"),
                     CLI_USAGE);
    assert_int_equal(
        RUN("fit", in(0, "config.json"), "--gpu", "H200", "--tensor-parallel-size", "3"),
        CLI_FAILED);
    assert_true(told("does not divide"));
    put_text("x.txt", "hello");
    assert_int_equal(RUN("fit", in(0, "x.txt")), CLI_FAILED);
    assert_true(told("expected a folder, config.json"));
    put_text("a.gguf", "GGML");
    assert_int_equal(RUN("fit", in(0, "a.gguf")), CLI_FAILED);
    assert_true(told("not a GGUF file"));
    put_text("other.json", "{\"num_hidden_layers\":\"many\"}");
    assert_int_equal(RUN("fit", in(0, "other.json")), CLI_FAILED);
    assert_true(told("other.json: config.json: num_hidden_layers: expected a whole number"));
    unlink(in(0, "config.json"));
    put_text("b.gguf", "GGML");
    assert_int_equal(RUN("fit", folder), CLI_FAILED);
    assert_true(told("several GGUF files"));
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalogue), cmocka_unit_test(fleet),    cmocka_unit_test(folders),
        cmocka_unit_test(learns),    cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

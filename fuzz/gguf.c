/* fuzz/gguf: any bytes as the head of a GGUF file. What is read adds up; with all bytes at hand nothing more is wanted
 * than the file has. */
#include "core/model/gguf.h"
#include "core/model/facts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct gguf g;
    struct facts f;
    int64_t need = 0, half = 0, sum = 0;

    arena_init(&a, FUZZ_ARENA_BYTES);
    int code = gguf_read(&a, fuzz_text(data, size), (int64_t)size + 65536, &g, &need, NULL);
    if (code == ERR_AGAIN) {
        assert(need > (int64_t)size && need <= (int64_t)size + 65536);
    } else if (code == 0) {
        for (size_t i = 0; i < g.n_tensors; i++) {
            assert(g.tensors[i].bytes >= 0);
            sum += g.tensors[i].bytes;
        }
        assert(sum == g.bytes && g.data + sum <= (int64_t)size + 65536);
        assert(gguf_read(&a, fuzz_text(data, size / 2), (int64_t)size + 65536, &g, &half, NULL) !=
                   0 ||
               g.bytes == sum);
        if (facts_of_gguf(&g, &f, NULL) == 0) {
            assert(f.weights == sum && f.layers > 0);
        }
    }
    arena_release(&a);
    return 0;
}

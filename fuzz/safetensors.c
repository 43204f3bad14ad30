/* fuzz/safetensors: any text as a header, and as the index of a model in parts. Tensors that are taken lie one behind
 * the other. */
#include "core/model/safetensors.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct safetensors s;
    struct safetensors_index x;
    int64_t n, at = 0;

    arena_init(&a, FUZZ_ARENA_BYTES);
    if (safetensors_length(fuzz_text(data, size), (int64_t)size, &n, NULL) == 0) {
        assert(n >= 0 && (size_t)n + SAFETENSORS_PREFIX <= size);
    }
    if (safetensors_read(&a, fuzz_text(data, size), -1, &s, NULL) == 0) {
        for (size_t i = 0; i < s.n; i++) {
            assert(s.v[i].from == at && s.v[i].bytes >= 0 && s.v[i].elements >= 0);
            at += s.v[i].bytes;
        }
        assert(at == s.bytes);
    }
    if (safetensors_index_read(&a, fuzz_text(data, size), &x, NULL) == 0) {
        assert(x.total_bytes >= 0);
        for (size_t i = 1; i < x.n; i++) {
            assert(str_cmp(x.files[i - 1], x.files[i]) < 0);
        }
    }
    arena_release(&a);
    return 0;
}

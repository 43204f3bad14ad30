/* fuzz/protobuf: any bytes as Kubernetes' envelope, and as a message, messages within followed to some depth. */
#include "wire/protobuf.h"
#include "fuzz.h"

static size_t walk(struct str bytes, int depth) {
    struct pb r = pb_of(bytes);
    size_t fields = 0;
    for (struct pb_field f; pb_next(&r, &f); fields++) {
        assert(f.number >= 1 && f.number <= 0x1fffffff);
        if (f.wire == PB_BYTES) {
            assert(f.bytes.p >= bytes.p && f.bytes.p + f.bytes.n <= bytes.p + bytes.n);
            fields += depth > 0 ? walk(f.bytes, depth - 1) : 0;
        }
    }
    return fields;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pb_envelope e;
    struct str body = fuzz_text(data, size);
    if (size > FUZZ_INPUT_MAX) {
        return 0;
    }
    if (pb_envelope(body, &e, NULL) == 0) {
        walk(e.raw, 8);
    }
    walk(body, 3);
    return 0;
}

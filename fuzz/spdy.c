/* fuzz/spdy: any bytes as what a client sends, in pieces whose length the first
 * byte says. */
#include "net/upgrade/spdy.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str all = fuzz_text(data, size);
    struct spdy *s = size > 0 && size <= FUZZ_INPUT_MAX ? spdy_new() : NULL;
    int r = ERR_AGAIN;
    for (size_t at = 1; s && at < size && r == ERR_AGAIN; at += 1 + data[0]) {
        struct str in = str_head(str_skip(all, at), 1 + (size_t)data[0]), piece = in;
        struct spdy_frame f;
        size_t text = 0;
        while ((r = spdy_next(s, &in, &f, NULL)) == 0) {
            assert(f.n_headers <= SPDY_HEADERS);
            for (size_t i = 0; i < f.n_headers; i++) {
                text += f.headers[i].name.n + f.headers[i].value.n;
            }
            assert(text <= (size_t)SPDY_HEADERS_MAX * (1 + piece.n));
            assert(f.data.n == 0 ||
                   (f.data.p >= piece.p && f.data.p + f.data.n <= piece.p + piece.n));
        }
        assert(r != ERR_AGAIN || in.n == 0);
    }
    spdy_free(s);
    return 0;
}

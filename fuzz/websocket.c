/* fuzz/websocket: any bytes as what a client sends, in pieces whose length the
 * first byte says. */
#include "net/upgrade/websocket.h"
#include "base/limits.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str all = fuzz_text(data, size);
    struct websocket w;
    bool within = false;
    uint64_t got = 0;
    int r = ERR_AGAIN;
    if (size < 1 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    websocket_init(&w);
    for (size_t at = 1; at < size && r == ERR_AGAIN; at += 1 + data[0]) {
        struct str in = str_head(str_skip(all, at), 1 + (size_t)data[0]);
        struct websocket_piece p;
        while ((r = websocket_next(&w, &in, &p, NULL)) == 0) {
            got += p.bytes.n;
            if (p.op >= WEBSOCKET_CLOSE) {
                assert(p.first && p.last && p.bytes.n <= WEBSOCKET_CONTROL_MAX);
                continue;
            }
            assert(p.first == !within);
            within = !p.last;
        }
        assert(r != ERR_AGAIN || in.n == 0);
        assert((r == ERR_AGAIN) == (w.code == 0));
    }
    assert(got <= size);
    websocket_release(&w);
    return 0;
}

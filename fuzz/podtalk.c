/* fuzz/podtalk: any bytes as either side of a session, in pieces; the first byte says whose and how long they are. */
#include "wire/podtalk.h"
#include "base/limits.h"
#include "fuzz.h"

static void check(const struct podtalk_frame *f, struct str piece) {
    size_t args = 0;
    struct str arg;
    assert(f->type >= PODTALK_OPEN && f->type <= PODTALK_EXIT);
    switch (f->type) {
    case PODTALK_DATA:
        assert(f->data.n > 0 && f->data.p >= piece.p && f->data.p + f->data.n <= piece.p + piece.n);
        break;
    case PODTALK_OPEN:
        for (size_t at = 0; podtalk_arg(&f->open, &at, &arg); args++) {
        }
        assert(args == f->open.argc && args <= LIMIT_EXEC_ARGS);
        assert((f->open.what == PODTALK_EXEC) == (args > 0));
        assert((f->open.what == PODTALK_CONNECT) == (f->open.port > 0));
        break;
    case PODTALK_RESIZE:
        assert(f->rows > 0 && f->cols > 0);
        break;
    case PODTALK_EXIT:
        assert(f->exit.text.n <= PODTALK_TEXT_MAX);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str all = fuzz_text(data, size);
    struct podtalk t;
    int r = ERR_AGAIN;
    if (size < 1 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    size_t step = 1 + (data[0] >> 1);
    podtalk_init(&t, data[0] & 1);
    for (size_t at = 1; at < size && r == ERR_AGAIN; at += step) {
        struct str in = str_head(str_skip(all, at), step), piece = in;
        struct podtalk_frame f;
        while ((r = podtalk_next(&t, &in, &f, NULL)) == 0) {
            check(&f, piece);
        }
        assert(r != ERR_AGAIN || in.n == 0);
        assert(t.part.n <= PODTALK_BYTES_MAX);
    }
    podtalk_release(&t);
    return 0;
}

/* websocket: messages come as they were sent however they are cut; what RFC
 * 6455 forbids ends the connection. */
#include "net/upgrade/websocket.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"

/* A masked frame of a client. */
static void client(struct buf *b, int first, struct str payload) {
    static const char mask[4] = {0x11, (char)0xf2, 0x33, 0x7f};
    buf_ch(b, (char)first);
    if (payload.n <= 125) {
        buf_ch(b, (char)(0x80 | payload.n));
    } else {
        bool more = payload.n > 65535;
        buf_ch(b, (char)(0x80 | (more ? 127 : 126)));
        for (int i = more ? 8 : 2; i-- > 0;) {
            buf_ch(b, (char)(payload.n >> 8 * i & 0xff));
        }
    }
    buf_add(b, mask, 4);
    for (size_t i = 0; i < payload.n; i++) {
        buf_ch(b, (char)(payload.p[i] ^ mask[i % 4]));
    }
}

/* What was heard as text; returns what ended it. */
static int listen(struct str bytes, size_t step, struct buf *heard, int *ret_code) {
    struct websocket w;
    int r = ERR_AGAIN;
    websocket_init(&w);
    for (size_t at = 0; at < bytes.n && r == ERR_AGAIN; at += step) {
        struct str in = str_head(str_skip(bytes, at), step);
        struct websocket_piece p;
        while ((r = websocket_next(&w, &in, &p, NULL)) == 0) {
            bool data = p.op < WEBSOCKET_CLOSE;
            if (p.first) {
                buf_f(heard, "%d:", (int)p.op);
            }
            buf_str(heard, p.bytes);
            if (p.op == WEBSOCKET_CLOSE) {
                buf_f(heard, "(%u)", p.code);
            }
            if (p.last) {
                buf_ch(heard, data ? ';' : '!');
            }
        }
        assert_true(r != ERR_AGAIN || in.n == 0);
    }
    *ret_code = w.code;
    websocket_release(&w);
    return r;
}

static void wants(const struct buf *b, int r, int code, const char *text) {
    for (size_t step = 1; step < 300; step += step < 20 ? 1 : 93) {
        struct buf heard;
        int got_code;
        buf_init(&heard, 0);
        int got = listen(buf_view(b), step, &heard, &got_code);
        assert_str_eq(buf_view(&heard), str_of(text));
        assert_int_equal(got, r);
        assert_int_equal(got_code, code);
        buf_release(&heard);
    }
}

static void test_messages(void **state) {
    struct buf b;
    buf_init(&b, 0);
    client(&b, 0x82, STR("hello"));
    client(&b, 0x81, STR(""));
    client(&b, 0x02, STR("one,"));
    client(&b, 0x89, STR("are you there"));
    client(&b, 0x00, STR(""));
    client(&b, 0x00, STR("two,"));
    client(&b, 0x8a, STR(""));
    client(&b, 0x80, STR(""));
    client(&b, 0x01, STR(""));
    client(&b, 0x80, STR("x"));
    client(&b, 0x88,
           STR("\x03\xe8"
               "bye"));
    client(&b, 0x82, STR("nobody hears this"));
    wants(&b, ERR_AGAIN, 0, "2:hello;1:;2:one,9:are you there!two,10:!;1:x;8:bye(1000)!");
    buf_reset(&b);
    client(&b, 0x88, STR(""));
    wants(&b, ERR_AGAIN, 0, "8:(1005)!");
    buf_release(&b);
}

/* Long messages in the three forms of a length; no piece is kept. */
static void test_lengths(void **state) {
    static const size_t lengths[] = {125, 126, 65535, 65536, 200000};
    char *bytes = mem_alloc(200000);
    memset(bytes, 'x', 200000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct websocket w;
        struct websocket_piece p;
        size_t got = 0;
        struct buf b;
        buf_init(&b, 0);
        client(&b, 0x82, str_from(bytes, lengths[i]));
        websocket_init(&w);
        for (size_t at = 0; at < b.n; at += 16384) {
            struct str in = str_head(str_skip(buf_view(&b), at), 16384);
            while (websocket_next(&w, &in, &p, NULL) == 0) {
                assert_true(p.bytes.n <= 16384 && p.bytes.p[p.bytes.n - 1] == 'x');
                got += p.bytes.n;
            }
        }
        assert_int_equal(got, lengths[i]);
        assert_true(p.last);
        assert_true(w.piece.cap <= 1024);
        websocket_release(&w);
        buf_release(&b);
    }
    mem_free(bytes);
}

static void refused(struct str bytes, int code, const char *why) {
    struct websocket w;
    struct websocket_piece p;
    struct err err = {0};
    int r;
    websocket_init(&w);
    while ((r = websocket_next(&w, &bytes, &p, &err)) == 0) {
    }
    assert_int_equal(r, code == WEBSOCKET_TOO_BIG ? ERR_TOO_LARGE : ERR_SYNTAX);
    assert_int_equal(w.code, code);
    assert_true(str_contains(str_of(err.text), str_of(why)));
    assert_int_equal(websocket_next(&w, &bytes, &p, NULL), r);
    websocket_release(&w);
}

static void test_refused(void **state) {
    static const struct {
        struct str bytes;
        const char *why;
    } bad[] = {
        {{"\x82\0", 2}, "not masked"},
        {{"\xc2\x80", 2}, "extension"},
        {{"\x92\x80", 2}, "extension"},
        {{"\x83\x80", 2}, "reserved opcode"},
        {{"\x8b\x80", 2}, "reserved opcode"},
        {{"\x09\x80", 2}, "control frame"},
        {{"\x89\xfe", 2}, "control frame"},
        {{"\x80\x80", 2}, "continuation of nothing"},
        {{"\x02\x80"
          "mask"
          "\x82\x80",
          8},
         "within a message"},
        {{"\x82\xfe\0\x7d"
          "mask",
          8},
         "shortest"},
        {{"\x82\xff\0\0\0\0\0\0\xff\xff"
          "mask",
          14},
         "shortest"},
        {{"\x82\xff\x80\0\0\0\0\0\0\0"
          "mask",
          14},
         "shortest"},
        {{"\x88\x81\0\0\0\0x", 7}, "impossible code"},
        {{"\x88\x82\0\0\0\0\x03\xed", 8}, "impossible code"},
        {{"\x88\x82\0\0\0\0\0\0", 8}, "impossible code"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        print_message("%s\n", bad[i].why);
        refused(bad[i].bytes, WEBSOCKET_PROTOCOL, bad[i].why);
    }
    refused((struct str){"\x82\xff\0\0\0\0\2\0\0\1mask", 14}, WEBSOCKET_TOO_BIG, "more than");
    refused((struct str){"\x02\x81\0\0\0\0x\x80\xff\0\0\0\0\2\0\0\0mask", 21}, WEBSOCKET_TOO_BIG,
            "more than");
}

static void test_controls(void **state) {
    struct websocket w;
    struct websocket_piece p;
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < 5; i++) {
        client(&b, 0x89, STR("x"));
        client(&b, 0x82, STR("x"));
    }
    struct str in = buf_view(&b);
    websocket_init(&w);
    while (websocket_next(&w, &in, &p, NULL) == 0) {
    }
    assert_int_equal(w.controls, 5);
    websocket_release(&w);
    mem_fault(1, 0);
    in = buf_view(&b);
    assert_int_equal(websocket_next(&w, &in, &p, NULL), ERR_NOMEM);
    mem_fault(0, 0);
    assert_int_equal(w.code, WEBSOCKET_INTERNAL);
    websocket_release(&w);
    buf_release(&b);
}

static void test_writing(void **state) {
    struct buf b;
    buf_init(&b, 0);
    websocket_frame(&b, WEBSOCKET_BINARY, STR("abc"));
    assert_str_eq(buf_view(&b), STR("\x82\3"
                                    "abc"));
    buf_reset(&b);
    websocket_head(&b, WEBSOCKET_TEXT, 126);
    websocket_head(&b, WEBSOCKET_TEXT, 65536);
    assert_str_eq(buf_view(&b), str_from("\x81\x7e\0\x7e\x81\x7f\0\0\0\0\0\1\0\0", 14));
    buf_reset(&b);
    char reason[200];
    memset(reason, 'r', sizeof(reason));
    websocket_close(&b, WEBSOCKET_NORMAL, str_from(reason, sizeof(reason)));
    assert_int_equal(b.n, 2 + 125);
    assert_true(str_starts(buf_view(&b), STR("\x88\x7d\x03\xe8r")));
    buf_release(&b);
}

/* The example of RFC 6455, 1.3. */
static void test_accept(void **state) {
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(websocket_accept(STR("dGhlIHNhbXBsZSBub25jZQ=="), &b, NULL), 0);
    assert_str_eq(buf_view(&b), STR("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_int_equal(websocket_accept(STR(""), &b, NULL), ERR_BAD_REQUEST);
    assert_int_equal(websocket_accept(STR("dGhlIHNhbXBsZSBub25j*Q=="), &b, NULL), ERR_BAD_REQUEST);
    assert_int_equal(websocket_accept(STR("dGhlIHNhbXBsZSBub25jZQ==="), &b, NULL), ERR_BAD_REQUEST);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_controls),
        cmocka_unit_test(test_writing),  cmocka_unit_test(test_accept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* spdy: frames come as they were sent however they are cut, headers through one
 * deflate stream; bad ones are refused. */
#include "net/upgrade/spdy.h"

#include <zlib.h>

#include "base/mem.h"
#include "base/test.h"

/* The client's half: what it sends. */
struct client {
    z_stream z;
    struct buf b;
};

static void u32(struct buf *b, uint32_t v) {
    for (int i = 24; i >= 0; i -= 8) {
        buf_ch(b, (char)(v >> i & 0xff));
    }
}

static void client_start(struct client *c) {
    struct str d = spdy_dictionary();
    *c = (struct client){0};
    buf_init(&c->b, 0);
    assert_int_equal(deflateInit(&c->z, 9), Z_OK);
    assert_int_equal(deflateSetDictionary(&c->z, (const Bytef *)d.p, (uInt)d.n), Z_OK);
}

static void client_end(struct client *c) {
    deflateEnd(&c->z);
    buf_release(&c->b);
}

static struct str pack(struct client *c, struct str text, char *out, size_t cap) {
    c->z.next_in = (Bytef *)(uintptr_t)text.p;
    c->z.avail_in = (uInt)text.n;
    c->z.next_out = (Bytef *)out;
    c->z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&c->z, Z_SYNC_FLUSH), Z_OK);
    return str_from(out, cap - c->z.avail_out);
}

/* SYN_STREAM with `n` pairs of texts. */
static void open_stream(struct client *c, uint32_t id, const char *const *pairs, uint32_t n) {
    char block[4096];
    struct buf text;
    buf_init(&text, 0);
    u32(&text, n);
    for (uint32_t i = 0; i < 2 * n; i++) {
        u32(&text, (uint32_t)strlen(pairs[i]));
        buf_c(&text, pairs[i]);
    }
    struct str packed = pack(c, buf_view(&text), block, sizeof(block));
    u32(&c->b, 0x80030001);
    u32(&c->b, (uint32_t)(10 + packed.n));
    u32(&c->b, id);
    u32(&c->b, 0);
    buf_add(&c->b, "\0\0", 2);
    buf_str(&c->b, packed);
    buf_release(&text);
}

static int listen(struct str bytes, size_t step, struct buf *heard, struct err *err) {
    struct spdy *s = spdy_new();
    int r = ERR_AGAIN;
    assert_non_null(s);
    for (size_t at = 0; at < bytes.n && r == ERR_AGAIN; at += step) {
        struct str in = str_head(str_skip(bytes, at), step);
        struct spdy_frame f;
        while ((r = spdy_next(s, &in, &f, err)) == 0) {
            if (f.type == SPDY_DATA) {
                buf_f(heard, "%s%.*s%s", step == 1 ? "" : "<", STR_ARG(f.data), f.fin ? ">." : "");
                continue;
            }
            buf_f(heard, "%d %u %u", (int)f.type, f.stream, f.number);
            for (size_t i = 0; i < f.n_headers; i++) {
                buf_f(heard, " %.*s=%.*s", STR_ARG(f.headers[i].name), STR_ARG(f.headers[i].value));
            }
            buf_ch(heard, ';');
            assert_true(f.type != SPDY_SYN_STREAM || spdy_header(&f, "PORT").n > 0);
        }
    }
    spdy_free(s);
    return r;
}

static void test_dictionary(void **state) {
    struct str d = spdy_dictionary();
    assert_int_equal(d.n, 1423);
    assert_int_equal(adler32(adler32(0, NULL, 0), (const Bytef *)d.p, (uInt)d.n), 0xe3c6a7c2);
}

static void test_streams(void **state) {
    static const char *const error[] = {"streamtype", "error", "port", "80", "requestid", "0"};
    static const char *const data[] = {"streamtype", "data", "port", "80", "requestid", "0"};
    static const char want[] = "1 1 0 streamtype=error port=80 requestid=0;<>.1 "
                               "3 0 streamtype=data port=80 requestid=0;"
                               "<hello<>.3 3 5;6 7 7;7 0 0;";
    struct client c;
    struct buf heard;
    struct err err;
    client_start(&c);
    open_stream(&c, 1, error, 3);
    spdy_data_head(&c.b, 1, true, 0);
    open_stream(&c, 3, data, 3);
    u32(&c.b, 0x80030004); /* SETTINGS: says nothing here */
    u32(&c.b, 4);
    u32(&c.b, 0);
    u32(&c.b, 0x80030009); /* WINDOW_UPDATE, too */
    u32(&c.b, 8);
    u32(&c.b, 3);
    u32(&c.b, 1000);
    spdy_data_head(&c.b, 3, false, 5);
    buf_c(&c.b, "hello");
    spdy_data_head(&c.b, 3, false, 0);
    spdy_data_head(&c.b, 3, true, 0);
    spdy_reset(&c.b, 3, SPDY_CANCEL);
    spdy_ping(&c.b, 7);
    spdy_goaway(&c.b, 0);
    buf_init(&heard, 0);
    assert_int_equal(listen(buf_view(&c.b), c.b.n, &heard, &err), ERR_AGAIN);
    assert_str_eq(buf_view(&heard), str_of(want));
    buf_reset(&heard);
    assert_int_equal(listen(buf_view(&c.b), 1, &heard, &err), ERR_AGAIN);
    assert_true(str_contains(buf_view(&heard), STR("requestid=0;hello>.3 3 5;")));
    buf_release(&heard);
    client_end(&c);
}

static void refused(struct str bytes, int code, const char *why) {
    struct buf heard;
    struct err err = {0};
    buf_init(&heard, 0);
    assert_int_equal(listen(bytes, bytes.n, &heard, &err), code);
    print_message("%s\n", err.text);
    assert_true(str_contains(str_of(err.text), str_of(why)));
    buf_release(&heard);
}

static void test_refused(void **state) {
    refused(STR("\x80\2\0\1\0\0\0\0"), ERR_SYNTAX, "version");
    refused(STR("\x81\3\0\1\0\0\0\0"), ERR_SYNTAX, "version");
    refused(STR("\x80\3\0\1\0\0\x40\1"), ERR_TOO_LARGE, "control frame");
    refused(STR("\x80\3\0\1\0\0\0\2xx"), ERR_SYNTAX, "cut short");
    refused(STR("\x80\3\0\3\0\0\0\4\0\0\0\1"), ERR_SYNTAX, "cut short");
    refused(STR("\x80\3\0\3\0\0\0\x08\0\0\0\0\0\0\0\1"), ERR_SYNTAX, "no stream");
    refused(STR("\0\0\0\0\0\0\0\1x"), ERR_SYNTAX, "no stream");
    refused(STR("\x80\3\0\1\0\0\0\x0e\0\0\0\1\0\0\0\0\0\0abcd"), ERR_SYNTAX, "inflated");
}

/* A short frame that inflates to much. */
static void test_bomb(void **state) {
    static char zeros[SPDY_HEADERS_MAX + 1];
    char block[4096];
    struct client c;
    client_start(&c);
    struct str packed = pack(&c, str_from(zeros, sizeof(zeros)), block, sizeof(block));
    u32(&c.b, 0x80030001);
    u32(&c.b, (uint32_t)(10 + packed.n));
    u32(&c.b, 1);
    u32(&c.b, 0);
    buf_add(&c.b, "\0\0", 2);
    buf_str(&c.b, packed);
    refused(buf_view(&c.b), ERR_TOO_LARGE, "headers");
    client_end(&c);
}

/* Replies can be read by whoever has the dictionary, one after another. */
static void test_reply(void **state) {
    struct spdy *s = spdy_new();
    struct buf b, heard;
    struct err err;
    buf_init(&b, 0);
    buf_init(&heard, 0);
    assert_int_equal(spdy_reply(s, &b, 1, &err), 0);
    assert_int_equal(spdy_reply(s, &b, 3, &err), 0);
    assert_int_equal(listen(buf_view(&b), b.n, &heard, &err), ERR_AGAIN);
    assert_str_eq(buf_view(&heard), STR("2 1 0;2 3 0;"));
    buf_release(&heard);
    buf_release(&b);
    spdy_free(s);
}

static void test_no_memory(void **state) {
    for (unsigned i = 1; i < 20; i++) {
        mem_fault(i, 0);
        struct spdy *s = spdy_new();
        mem_fault(0, 0);
        spdy_free(s);
        if (s) {
            assert_true(i > 3);
            return;
        }
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dictionary), cmocka_unit_test(test_streams),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_reply),      cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

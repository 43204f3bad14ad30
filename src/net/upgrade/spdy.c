/*
 * spdy: see spdy.h.
 *
 *     control   1 | version (15 bits) | type (16) | flags (8) | length (24)
 *     data      0 | stream (31 bits)              | flags (8) | length (24)
 *
 * Headers of all streams go through one deflate stream a direction, each block
 * ended by a sync flush: every one of them is inflated, also of streams that
 * are refused, or the next could not be read.
 */
#include "net/upgrade/spdy.h"

#include <zlib.h>

#include "base/mem.h"

enum { VERSION = 3, FLAG_FIN = 1, CONTROL_BIT = 0x80, BLOCK_MAX = 1024 };
/* Our own headers are few, so that the smallest window that holds the
 * dictionary will do. */
enum { WINDOW_BITS = 11, MEMORY_LEVEL = 1 };
enum { TYPE_SETTINGS = 4, TYPE_WINDOW_UPDATE = 9, TYPE_CREDENTIAL = 10 };

struct spdy {
    uint8_t head[SPDY_HEAD];
    size_t head_n;
    size_t left; /* bytes of the frame that have not come */
    bool within;
    struct buf part; /* of a control frame */
    z_stream inflate, deflate;
    bool inflates, deflates;
    char text[SPDY_HEADERS_MAX]; /* inflated */
    struct spdy_header headers[SPDY_HEADERS];
    int failed;
};

static void *z_alloc(void *ctx, unsigned n, unsigned size) {
    return mem_array(n, size);
}

static void z_free(void *ctx, void *p) {
    mem_free(p);
}

struct spdy *spdy_new(void) {
    struct spdy *s = mem_zalloc(sizeof(*s));
    struct str d = spdy_dictionary();

    if (s == NULL) {
        return NULL;
    }
    buf_init(&s->part, SPDY_CONTROL_MAX);
    s->inflate = s->deflate = (z_stream){.zalloc = z_alloc, .zfree = z_free};
    s->inflates = inflateInit(&s->inflate) == Z_OK;
    s->deflates = deflateInit2(&s->deflate, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                               Z_DEFAULT_STRATEGY) == Z_OK;
    if (!s->inflates || !s->deflates ||
        deflateSetDictionary(&s->deflate, (const Bytef *)d.p, (uInt)d.n) != Z_OK) {
        spdy_free(s);
        return NULL;
    }
    return s;
}

void spdy_free(struct spdy *s) {
    if (s == NULL) {
        return;
    }
    if (s->inflates) {
        inflateEnd(&s->inflate);
    }
    if (s->deflates) {
        deflateEnd(&s->deflate);
    }
    buf_release(&s->part);
    mem_free(s);
}

static int broken(struct err *err, const char *why) {
    return err_set(err, ERR_SYNTAX, "spdy: %s", why);
}

static uint32_t u32_at(const void *from) {
    const uint8_t *p = from;

    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- headers ---- */

static int unpack(struct spdy *s, struct str block, struct str *ret, struct err *err) {
    struct str d = spdy_dictionary();
    z_stream *z = &s->inflate;

    z->next_in = (Bytef *)(uintptr_t)block.p;
    z->avail_in = (uInt)block.n;
    z->next_out = (Bytef *)s->text;
    z->avail_out = sizeof(s->text);
    int r = inflate(z, Z_SYNC_FLUSH);
    if (r == Z_NEED_DICT && inflateSetDictionary(z, (const Bytef *)d.p, (uInt)d.n) == Z_OK) {
        r = inflate(z, Z_SYNC_FLUSH);
    }
    if (r == Z_MEM_ERROR) {
        return err_set(err, ERR_NOMEM, "spdy: no memory");
    }
    if (z->avail_out == 0) {
        return err_set(err, ERR_TOO_LARGE, "spdy: headers have more than %d bytes",
                       SPDY_HEADERS_MAX);
    }
    if ((r != Z_OK && r != Z_BUF_ERROR) || z->avail_in > 0) {
        return broken(err, "headers cannot be inflated");
    }
    *ret = str_from(s->text, sizeof(s->text) - z->avail_out);
    return 0;
}

/* Takes a length and as many bytes off *rest. */
static bool take_text(struct str *rest, struct str *ret) {
    size_t n = rest->n >= 4 ? u32_at(rest->p) : 0;

    if (rest->n < 4 || n > rest->n - 4) {
        return false;
    }
    *ret = str_from(rest->p + 4, n);
    *rest = str_skip(*rest, 4 + n);
    return true;
}

static int read_headers(struct spdy *s, struct str block, struct spdy_frame *f, struct err *err) {
    struct str text;
    int r = unpack(s, block, &text, err);

    if (r != 0) {
        return r;
    }
    size_t n = text.n >= 4 ? u32_at(text.p) : SIZE_MAX;
    text = str_skip(text, 4);
    if (n > SPDY_HEADERS) {
        return broken(err, "too many headers, or none that could be counted");
    }
    for (size_t i = 0; i < n; i++) {
        if (!take_text(&text, &s->headers[i].name) || !take_text(&text, &s->headers[i].value)) {
            return broken(err, "headers are cut short");
        }
    }
    f->headers = s->headers;
    f->n_headers = n;
    return text.n == 0 ? 0 : broken(err, "something follows the headers");
}

struct str spdy_header(const struct spdy_frame *f, const char *name) {
    for (size_t i = 0; i < f->n_headers; i++) {
        if (str_eq_nocase(f->headers[i].name, str_of(name))) {
            return f->headers[i].value;
        }
    }
    return (struct str){0};
}

/* ---- frames ---- */

/* Where the headers begin in the bodies of frames that have some; 0: they have
 * none. */
static size_t headers_at(unsigned type) {
    return type == SPDY_SYN_STREAM                                ? 10
           : type == SPDY_SYN_REPLY || type == SPDY_HEADERS_FRAME ? 4
                                                                  : 0;
}

/* A whole control frame. ERR_AGAIN: it is one that says nothing here. */
static int take_control(struct spdy *s, struct spdy_frame *ret, struct err *err) {
    unsigned type = (unsigned)s->head[2] << 8 | s->head[3];
    struct str b = buf_view(&s->part);
    size_t at = headers_at(type);
    struct spdy_frame f = {.type = (enum spdy_type)type};

    if (type >= TYPE_SETTINGS && type != SPDY_PING && type != SPDY_GOAWAY &&
        type != SPDY_HEADERS_FRAME) {
        return ERR_AGAIN;
    }
    if (b.n < 4 || b.n < at || (type == SPDY_RST_STREAM && b.n < 8) || type == 0) {
        return broken(err, "a frame is cut short");
    }
    f.stream = u32_at(b.p) & INT32_MAX;
    f.fin = s->head[4] & FLAG_FIN;
    if (type == SPDY_PING) {
        f.number = u32_at(b.p);
    } else if (type == SPDY_RST_STREAM) {
        f.number = u32_at(b.p + 4);
    }
    if (type != SPDY_PING && type != SPDY_GOAWAY && f.stream == 0) {
        return broken(err, "a frame of no stream");
    }
    int r = at > 0 ? read_headers(s, str_skip(b, at), &f, err) : 0;
    if (r == 0) {
        *ret = f;
    }
    return r;
}

/* Takes a frame's head. ERR_AGAIN: there is not all of it. */
static int read_head(struct spdy *s, struct str *in, struct err *err) {
    size_t n = SPDY_HEAD - s->head_n < in->n ? SPDY_HEAD - s->head_n : in->n;

    if (n > 0) {
        memcpy(s->head + s->head_n, in->p, n);
    }
    s->head_n += n;
    *in = str_skip(*in, n);
    if (s->head_n < SPDY_HEAD) {
        return ERR_AGAIN;
    }
    s->left = u32_at(s->head + 4) & 0xffffff;
    if (s->head[0] & CONTROL_BIT) {
        if ((s->head[0] & 0x7f) != 0 || s->head[1] != VERSION) {
            return broken(err, "another version than 3");
        }
        if (s->left > SPDY_CONTROL_MAX) {
            return err_set(err, ERR_TOO_LARGE, "spdy: a control frame has more than %d bytes",
                           SPDY_CONTROL_MAX);
        }
    } else if (u32_at(s->head) == 0) {
        return broken(err, "data of no stream");
    }
    s->within = true;
    return 0;
}

static int next(struct spdy *s, struct str *in, struct spdy_frame *ret, struct err *err) {
    for (;;) {
        int r = s->within ? 0 : read_head(s, in, err);
        if (r != 0) {
            return r;
        }
        bool control = s->head[0] & CONTROL_BIT;
        struct str part = str_head(*in, s->left);
        if (control) {
            buf_str(&s->part, part);
            if (buf_ok(&s->part) != 0) {
                return err_set(err, ERR_NOMEM, "spdy: no memory");
            }
        }
        *in = str_skip(*in, part.n);
        s->left -= part.n;
        bool ends = s->left == 0, fin = ends && (s->head[4] & FLAG_FIN);
        s->within = !ends;
        s->head_n = ends ? 0 : s->head_n;
        if (!control && (part.n > 0 || fin)) {
            *ret = (struct spdy_frame){
                .type = SPDY_DATA, .stream = u32_at(s->head), .fin = fin, .data = part};
            return 0;
        }
        if (!ends) {
            return ERR_AGAIN;
        }
        if (control && (r = take_control(s, ret, err)) != ERR_AGAIN) {
            return r;
        }
        buf_reset(&s->part);
    }
}

int spdy_next(struct spdy *s, struct str *in, struct spdy_frame *ret, struct err *err) {
    if (s->failed != 0) {
        return err_set(err, s->failed, "spdy: it has failed");
    }
    if (!s->within) {
        buf_reset(&s->part);
    }
    int r = next(s, in, ret, err);
    s->failed = r == ERR_AGAIN ? 0 : r;
    return r;
}

/* ---- writing ---- */

static void add_u32(struct buf *b, uint32_t v) {
    for (int i = 24; i >= 0; i -= 8) {
        buf_ch(b, (char)(v >> i & 0xff));
    }
}

static void add_control(struct buf *b, enum spdy_type type, size_t n) {
    add_u32(b, (uint32_t)CONTROL_BIT << 24 | VERSION << 16 | type);
    add_u32(b, (uint32_t)n); /* no flags */
}

/* A frame of `fixed` and deflated headers. */
static int add_headers(struct spdy *s, struct buf *b, enum spdy_type type, struct str fixed,
                       struct str text, struct err *err) {
    char block[BLOCK_MAX];
    z_stream *z = &s->deflate;

    z->next_in = (Bytef *)(uintptr_t)text.p;
    z->avail_in = (uInt)text.n;
    z->next_out = (Bytef *)block;
    z->avail_out = sizeof(block);
    if (deflate(z, Z_SYNC_FLUSH) != Z_OK || z->avail_in > 0 || z->avail_out == 0) {
        return err_set(err, ERR_TOO_LARGE, "spdy: headers have more than %d bytes", BLOCK_MAX);
    }
    size_t n = sizeof(block) - z->avail_out;
    add_control(b, type, fixed.n + n);
    buf_str(b, fixed);
    buf_add(b, block, n);
    return 0;
}

int spdy_reply(struct spdy *s, struct buf *b, uint32_t stream, struct err *err) {
    struct buf fixed;

    buf_init(&fixed, 0);
    add_u32(&fixed, stream);
    int r = buf_ok(&fixed);
    r = r ? err_set(err, r, "spdy: no memory")
          : add_headers(s, b, SPDY_SYN_REPLY, buf_view(&fixed), STR("\0\0\0\0"), err);
    buf_release(&fixed);
    return r;
}

int spdy_open(struct spdy *s, struct buf *b, uint32_t stream, const struct spdy_header *h, size_t n,
              struct err *err) {
    struct buf fixed, text;

    buf_init(&fixed, 0);
    buf_init(&text, BLOCK_MAX);
    add_u32(&fixed, stream);
    buf_add(&fixed, "\0\0\0\0\0\0", 6); /* no other stream, no priority */
    add_u32(&text, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        add_u32(&text, (uint32_t)h[i].name.n);
        buf_str(&text, h[i].name);
        add_u32(&text, (uint32_t)h[i].value.n);
        buf_str(&text, h[i].value);
    }
    int r = buf_ok(&text) ? buf_ok(&text) : buf_ok(&fixed);
    r = r ? err_set(err, r, "spdy: headers have more than %d bytes", BLOCK_MAX)
          : add_headers(s, b, SPDY_SYN_STREAM, buf_view(&fixed), buf_view(&text), err);
    buf_release(&fixed);
    buf_release(&text);
    return r;
}

void spdy_data_head(struct buf *b, uint32_t stream, bool fin, size_t n) {
    add_u32(b, stream);
    add_u32(b, (uint32_t)(fin ? FLAG_FIN : 0) << 24 | (uint32_t)n);
}

void spdy_reset(struct buf *b, uint32_t stream, uint32_t status) {
    add_control(b, SPDY_RST_STREAM, 8);
    add_u32(b, stream);
    add_u32(b, status);
}

void spdy_ping(struct buf *b, uint32_t id) {
    add_control(b, SPDY_PING, 4);
    add_u32(b, id);
}

void spdy_goaway(struct buf *b, uint32_t last_stream) {
    add_control(b, SPDY_GOAWAY, 8);
    add_u32(b, last_stream);
    add_u32(b, 0);
}

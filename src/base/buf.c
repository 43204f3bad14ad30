/* buf: a growing run of bytes with a limit. See buf.h. */
#include "base/buf.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

void buf_init(struct buf *b, size_t max) {
    *b = (struct buf){.max = max ? max : SIZE_MAX / 2};
}

void buf_release(struct buf *b) {
    mem_free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_release_secret(struct buf *b) {
    mem_free_secret(b->p, b->cap);
    *b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b) {
    b->n = 0;
    b->failed = 0;
}

int buf_ok(const struct buf *b) {
    return b->failed;
}

static int grow(struct buf *b, size_t need) {
    size_t cap = b->cap ? b->cap : 256;
    while (cap < need) {
        cap *= 2;
    }
    char *p = mem_realloc(b->p, cap);
    if (p == NULL) {
        b->failed = ERR_NOMEM;
        return ERR_NOMEM;
    }
    b->p = p;
    b->cap = cap;
    return 0;
}

char *buf_room(struct buf *b, size_t n) {
    size_t max = b->max ? b->max : SIZE_MAX / 2;
    if (b->failed) {
        return NULL;
    }
    if (n > max || b->n > max - n) {
        b->failed = ERR_TOO_LARGE;
        return NULL;
    }
    if (b->n + n > b->cap && grow(b, b->n + n) != 0) {
        return NULL;
    }
    return b->p + b->n;
}

void buf_add(struct buf *b, const void *p, size_t n) {
    char *at = n ? buf_room(b, n) : NULL;
    if (at) {
        memcpy(at, p, n);
        b->n += n;
    }
}

void buf_str(struct buf *b, struct str s) {
    buf_add(b, s.p, s.n);
}

void buf_c(struct buf *b, const char *cstr) {
    buf_add(b, cstr, strlen(cstr));
}

void buf_ch(struct buf *b, char c) {
    char *at = buf_room(b, 1);
    if (at) {
        *at = c;
        b->n++;
    }
}

void buf_u64(struct buf *b, uint64_t v) {
    char tmp[20];
    size_t i = sizeof(tmp);
    do {
        tmp[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    buf_add(b, tmp + i, sizeof(tmp) - i);
}

void buf_i64(struct buf *b, int64_t v) {
    if (v < 0) {
        buf_ch(b, '-');
    }
    buf_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void buf_vf(struct buf *b, const char *fmt, va_list ap) {
    char tmp[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(tmp, sizeof(tmp), fmt, ap);
    if (n >= 0 && (size_t)n < sizeof(tmp)) {
        buf_add(b, tmp, (size_t)n);
    } else if (n >= 0) {
        char *at = buf_room(b, (size_t)n + 1);
        if (at) {
            vsnprintf(at, (size_t)n + 1, fmt, again);
            b->n += (size_t)n;
        }
    }
    va_end(again);
}

void buf_f(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vf(b, fmt, ap);
    va_end(ap);
}

/* Length of the valid UTF-8 sequence at p (at most n bytes), or 0. */
static size_t utf8_len(const unsigned char *p, size_t n) {
    if (p[0] < 0x80) {
        return 1;
    }
    size_t len = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (len == 0 || p[0] >= 0xf5 || len > n) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool outside = (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90);
    return overlong || outside ? 0 : len;
}

static void json_escape(struct buf *b, unsigned char c) {
    switch (c) {
    case '"':
        buf_c(b, "\\\"");
        break;
    case '\\':
        buf_c(b, "\\\\");
        break;
    case '\n':
        buf_c(b, "\\n");
        break;
    case '\r':
        buf_c(b, "\\r");
        break;
    case '\t':
        buf_c(b, "\\t");
        break;
    default:
        buf_f(b, "\\u%04x", c);
    }
}

void buf_json(struct buf *b, struct str s) {
    const unsigned char *p = (const unsigned char *)(s.p ? s.p : "");
    size_t from = 0, i = 0;
    buf_ch(b, '"');
    while (i < s.n) {
        if (p[i] < 0x80 && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\') { /* nearly always */
            i++;
            continue;
        }
        size_t len = utf8_len(p + i, s.n - i);
        if (len > 0 && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\') {
            i += len;
            continue;
        }
        buf_add(b, p + from, i - from);
        if (len == 0) {
            buf_c(b, "\xef\xbf\xbd");
        } else {
            json_escape(b, p[i]);
        }
        from = ++i;
    }
    buf_add(b, p + from, s.n - from);
    buf_ch(b, '"');
}

void buf_consume(struct buf *b, size_t n) {
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

struct str buf_view(const struct buf *b) {
    return (struct str){b->p, b->n};
}

const char *buf_cstr(struct buf *b) {
    char *at = buf_room(b, 1);
    if (at == NULL) {
        return "";
    }
    *at = 0;
    return b->p;
}

char *buf_take(struct buf *b, size_t *ret_n) {
    char *p = b->p;
    if (ret_n) {
        *ret_n = b->n;
    }
    size_t max = b->max;
    *b = (struct buf){.max = max};
    return p;
}

/* base64: RFC 4648. See base64.h. */
#include "wire/text/base64.h"

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(struct buf *b, struct str s, const char *alphabet, bool pad) {
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);
        buf_ch(b, alphabet[v >> 18]);
        buf_ch(b, alphabet[v >> 12 & 63]);
        if (left > 1 || pad) {
            buf_ch(b, left > 1 ? alphabet[v >> 6 & 63] : '=');
        }
        if (left > 2 || pad) {
            buf_ch(b, left > 2 ? alphabet[v & 63] : '=');
        }
    }
}

void base64_encode(struct buf *b, struct str bytes) {
    encode(b, bytes, standard, true);
}

void base64url_encode(struct buf *b, struct str bytes) {
    encode(b, bytes, url_safe, false);
}

static struct str decode(struct arena *a, struct str s, const char *alphabet, bool pad) {
    unsigned char *out = arena_alloc(a, s.n / 4 * 3 + 4);
    size_t n = 0, digits = 0, pads = 0;
    uint32_t v = 0;
    if (out == NULL) {
        return (struct str){NULL, 0};
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        const char *at = c ? memchr(alphabet, c, 64) : NULL;
        if (pad && (c == '\n' || c == '\r')) {
            continue;
        }
        if (pad && c == '=') {
            pads++;
            continue;
        }
        if (at == NULL || pads > 0) {
            return (struct str){NULL, 0};
        }
        v = v << 6 | (uint32_t)(at - alphabet);
        if (++digits % 4 == 0) {
            out[n++] = (unsigned char)(v >> 16);
            out[n++] = (unsigned char)(v >> 8);
            out[n++] = (unsigned char)v;
            v = 0;
        }
    }
    size_t tail = digits % 4;
    bool bad = tail == 1 || (tail == 2 && (v & 15)) || (tail == 3 && (v & 3)) ||
               (pad && pads != (4 - tail) % 4);
    if (bad) {
        return (struct str){NULL, 0};
    }
    if (tail == 2) {
        out[n++] = (unsigned char)(v >> 4);
    } else if (tail == 3) {
        out[n++] = (unsigned char)(v >> 10);
        out[n++] = (unsigned char)(v >> 2);
    }
    return str_from((const char *)out, n);
}

struct str base64_decode(struct arena *a, struct str text) {
    return decode(a, text, standard, true);
}

struct str base64url_decode(struct arena *a, struct str text) {
    return decode(a, text, url_safe, false);
}

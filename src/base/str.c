/* str: a view of bytes. See str.h. */
#include "base/str.h"

ptrdiff_t str_find(struct str s, char c) {
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
    return at ? at - s.p : -1;
}

ptrdiff_t str_find_last(struct str s, char c) {
    for (size_t i = s.n; i > 0; i--) {
        if (s.p[i - 1] == c) {
            return (ptrdiff_t)(i - 1);
        }
    }
    return -1;
}

bool str_contains(struct str s, struct str needle) {
    if (needle.n == 0) {
        return true;
    }
    return s.n >= needle.n && memmem(s.p, s.n, needle.p, needle.n) != NULL;
}

bool str_cut(struct str s, char c, struct str *ret_head, struct str *ret_tail) {
    ptrdiff_t at = str_find(s, c);
    if (at < 0) {
        *ret_head = s;
        *ret_tail = (struct str){NULL, 0};
        return false;
    }
    *ret_head = str_head(s, (size_t)at);
    *ret_tail = str_skip(s, (size_t)at + 1);
    return true;
}

bool str_next(struct str *rest, char c, struct str *ret_part) {
    if (rest->p == NULL) {
        return false;
    }
    struct str tail;
    if (!str_cut(*rest, c, ret_part, &tail)) {
        bool any = rest->n > 0;
        *rest = (struct str){NULL, 0};
        return any;
    }
    *rest = tail;
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s) {
    while (s.n && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_eq_nocase(struct str a, struct str b) {
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

bool str_to_u64(struct str s, uint64_t *ret) {
    uint64_t v = 0;
    if (s.n == 0) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v)) {
            return false;
        }
    }
    *ret = v;
    return true;
}

bool str_to_i64(struct str s, int64_t *ret) {
    bool neg = s.n && s.p[0] == '-';
    uint64_t v;
    if (!str_to_u64(str_skip(s, neg), &v) || v > (uint64_t)INT64_MAX + neg) {
        return false;
    }
    *ret = neg ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

uint64_t str_hash(struct str s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.n; i++) {
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    }
    return h ^ (h >> 32);
}

bool str_copy(struct str s, char *buf, size_t cap) {
    if (s.n >= cap) {
        if (cap) {
            buf[0] = 0;
        }
        return false;
    }
    if (s.n) {
        memcpy(buf, s.p, s.n);
    }
    buf[s.n] = 0;
    return true;
}

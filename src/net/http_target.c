/* http_target: checks of targets and hosts. See http_target.h. */
#include "net/http_target.h"

static bool is_alnum(unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool http_host_ok(struct str host) {
    struct str name = host, port = {0};
    if (host.n && host.p[0] == '[') {
        ptrdiff_t end = str_find(host, ']');
        if (end < 0) {
            return false;
        }
        name = str_from(host.p + 1, (size_t)end - 1);
        port = str_skip(host, (size_t)end + 1);
        for (size_t i = 0; i < name.n; i++) {
            if (!is_alnum((unsigned char)name.p[i]) && name.p[i] != ':' && name.p[i] != '.') {
                return false;
            }
        }
        if (port.n && port.p[0] != ':') {
            return false;
        }
        port = str_skip(port, 1);
    } else {
        str_cut(host, ':', &name, &port);
        for (size_t i = 0; i < name.n; i++) {
            unsigned char c = (unsigned char)name.p[i];
            if (!is_alnum(c) && c != '.' && c != '-' && c != '_') {
                return false;
            }
        }
    }
    uint64_t n = 0;
    return name.n > 0 && (port.n == 0 || (str_to_u64(port, &n) && n <= 65535 && port.n <= 5));
}

bool http_target_absolute(struct str target, size_t *ret_end) {
    size_t at = str_starts(target, STR("http://"))    ? 7
                : str_starts(target, STR("https://")) ? 8
                                                      : 0;
    if (at == 0) {
        return false;
    }
    while (at < target.n && target.p[at] != '/' && target.p[at] != '?') {
        at++;
    }
    *ret_end = at;
    return true;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One byte of the target, %xx decoded; -1 when malformed. Moves *i past it. */
static int next_byte(struct str t, size_t *i) {
    if (t.p[*i] != '%') {
        return (unsigned char)t.p[(*i)++];
    }
    bool whole = *i + 2 < t.n;
    int high = whole ? hex(t.p[*i + 1]) : -1;
    int low = whole ? hex(t.p[*i + 2]) : -1;
    *i += 3;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* A step of a UTF-8 checker: *need continuation bytes are to come, the first of them within [*low, *high]. */
static bool utf8_step(int c, int *need, int *low, int *high) {
    if (*need > 0) {
        bool ok = c >= *low && c <= *high;
        *low = 0x80;
        *high = 0xbf;
        (*need)--;
        return ok;
    }
    *low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    *need = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
    return *need >= 0;
}

/* Percent-encoding and characters of the whole target. */
static const char *bad_bytes(struct str t) {
    int need = 0, low = 0x80, high = 0xbf;
    for (size_t i = 0; i < t.n;) {
        unsigned char raw = (unsigned char)t.p[i];
        if (raw <= ' ' || raw >= 0x7f || raw == '#' || raw == '\\') {
            return "the request target has a character that must be encoded";
        }
        if (raw != '%' && need == 0) { /* printable ASCII, and most of any target */
            i++;
            continue;
        }
        int c = next_byte(t, &i);
        if (c < 0) {
            return "the request target has a malformed percent-encoding";
        }
        if (c == 0) {
            return "the request target has an encoded NUL";
        }
        if (!utf8_step(c, &need, &low, &high)) {
            return "the request target is not UTF-8";
        }
    }
    return need ? "the request target is not UTF-8" : NULL;
}

static bool is_dots(struct str segment) {
    char text[3];
    size_t n = 0;
    for (size_t i = 0; i < segment.n;) {
        int c = next_byte(segment, &i);
        if (n == sizeof(text) || c != '.') {
            return false;
        }
        text[n++] = '.';
    }
    return n == 1 || n == 2;
}

const char *http_target_trouble(struct str target) {
    struct str path, query;
    if (str_empty(target)) {
        return NULL; /* of an absolute target: "/" is meant; an origin form is never empty */
    }
    if (target.p[0] != '/') {
        return "the request target must begin with /";
    }
    const char *trouble = bad_bytes(target);
    if (trouble) {
        return trouble;
    }
    str_cut(target, '?', &path, &query);
    struct str rest = str_skip(path, 1), segment;
    while (str_next(&rest, '/', &segment)) {
        if (str_empty(segment) && !str_empty(rest)) {
            return "the request path has an empty segment";
        }
        if (is_dots(segment)) {
            return "the request path has a . or .. segment";
        }
    }
    return str_ends(path, STR("//")) ? "the request path has an empty segment" : NULL;
}

/* trace: see trace.h. */
#include "gateway/see/trace.h"

#include <stdio.h>

/* n bytes of hexadecimal digits; false when one is none, or all are zero. */
static bool hex(struct str s, unsigned char *out, size_t n, bool zeros) {
    bool any = zeros;
    for (size_t i = 0; i < 2 * n; i++) {
        char c = s.p[i];
        int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (v < 0) {
            return false;
        }
        any = any || v > 0;
        out[i / 2] = (unsigned char)(i % 2 ? out[i / 2] | v : v << 4);
    }
    return any;
}

bool trace_parse(struct str t, struct trace_context *ret) {
    unsigned char version[1], span[8], flags[1];
    struct trace_context c = {0};
    if (t.n < TRACE_TEXT || t.p[2] != '-' || t.p[35] != '-' || t.p[52] != '-' ||
        !hex(t, version, 1, true) || version[0] == 0xff || (version[0] == 0 && t.n != TRACE_TEXT) ||
        (t.n > TRACE_TEXT && t.p[TRACE_TEXT] != '-') || !hex(str_skip(t, 3), c.id, 16, false) ||
        !hex(str_skip(t, 36), span, 8, false) || !hex(str_skip(t, 53), flags, 1, true)) {
        return false;
    }
    for (size_t i = 0; i < 8; i++) {
        c.parent = c.parent << 8 | span[i];
    }
    c.sampled = flags[0] & 1;
    *ret = c;
    return true;
}

void trace_text(const struct trace_context *t, uint64_t span, char out[TRACE_TEXT + 1]) {
    int n = snprintf(out, TRACE_TEXT + 1, "00-");
    for (size_t i = 0; i < 16; i++) {
        n += snprintf(out + n, (size_t)(TRACE_TEXT + 1 - n), "%02x", t->id[i]);
    }
    (void)snprintf(out + n, (size_t)(TRACE_TEXT + 1 - n), "-%016llx-%02x", (unsigned long long)span,
                   t->sampled ? 1 : 0);
}

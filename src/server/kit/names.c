/* names: see names.h. A pool keeps the system call off the path of every create. */
#include "server/kit/names.h"

#include <string.h>

#include "server/kit/context.h"

int names_random(struct server *s, void *p, size_t n, struct err *err) {
    if (n > sizeof(s->random)) {
        return err_set(err, ERR_RANGE, "too many random bytes asked for");
    }
    if (s->random_left < n) {
        int r = tls_random(s->random, sizeof(s->random), err);
        if (r != 0) {
            return r;
        }
        s->random_left = sizeof(s->random);
    }
    s->random_left -= n;
    memcpy(p, s->random + s->random_left, n);
    return 0;
}

int names_uid(struct server *s, char out[static UID_TEXT_MAX], struct err *err) {
    static const char digits[] = "0123456789abcdef";
    unsigned char b[16];
    int r = names_random(s, b, sizeof(b), err);
    if (r != 0) {
        return r;
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* variant 1 */
    size_t n = 0;
    for (size_t i = 0; i < sizeof(b); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out[n++] = '-';
        }
        out[n++] = digits[b[i] >> 4];
        out[n++] = digits[b[i] & 15];
    }
    out[n] = '\0';
    return 0;
}

int names_generate(struct server *s, struct str base,
                   char out[static NAME_BASE_MAX + NAME_SUFFIX + 1], struct err *err) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* 27 of them */
    unsigned char b[NAME_SUFFIX * 2];
    int r = names_random(s, b, sizeof(b), err);
    if (r != 0) {
        return r;
    }
    base = str_head(base, NAME_BASE_MAX);
    memcpy(out, base.p, base.n);
    for (size_t i = 0; i < NAME_SUFFIX; i++) {
        out[base.n + i] = letters[(b[2 * i] * 256 + b[2 * i + 1]) % 27];
    }
    out[base.n + NAME_SUFFIX] = '\0';
    return 0;
}

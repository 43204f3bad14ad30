/* token_page: hexadecimal of "rv@seconds/namespace/name": no escaping needed in a URL. */
#include "server/read/token_page.h"

#include "base/limits.h"

bool page_token_too_old(const struct page_token *t, uint64_t now_s) {
    return t->rv != 0 && t->at_s != 0 && now_s > t->at_s &&
           now_s - t->at_s > LIMIT_LIST_TOKEN_SECONDS;
}

struct str page_token_write(struct arena *a, const struct page_token *t) {
    static const char digits[] = "0123456789abcdef";
    struct str plain = arena_f(a, "%llu@%llu/%.*s/%.*s", (unsigned long long)t->rv,
                               (unsigned long long)t->at_s, STR_ARG(t->ns), STR_ARG(t->name));
    char *p = arena_alloc(a, plain.n * 2 + 1);
    if (p == NULL || plain.p == NULL) {
        return (struct str){0};
    }
    for (size_t i = 0; i < plain.n; i++) {
        p[2 * i] = digits[(unsigned char)plain.p[i] >> 4];
        p[2 * i + 1] = digits[(unsigned char)plain.p[i] & 15];
    }
    p[2 * plain.n] = '\0';
    return str_from(p, 2 * plain.n);
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int page_token_read(struct arena *a, struct str text, struct page_token *ret, struct err *err) {
    char *p = arena_alloc(a, text.n / 2 + 1);
    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    bool good = text.n % 2 == 0;
    for (size_t i = 0; good && i < text.n / 2; i++) {
        int hi = digit(text.p[2 * i]), lo = digit(text.p[2 * i + 1]);
        good = hi >= 0 && lo >= 0;
        p[i] = (char)(hi * 16 + lo);
    }
    struct str when, rv, at, rest;
    struct page_token t = {0};
    if (!good || !str_cut(str_from(p, text.n / 2), '/', &when, &rest) ||
        !str_cut(when, '@', &rv, &at) || !str_to_u64(rv, &t.rv) || !str_to_u64(at, &t.at_s) ||
        !str_cut(rest, '/', &t.ns, &t.name)) {
        return err_set(err, ERR_BAD_REQUEST, "continue key is not valid");
    }
    *ret = t;
    return 0;
}

/* session_cookie: headers of browsers, read without trusting them. See session.h. */
#include "site/session.h"

bool session_cookie_value(struct str header, struct str name, size_t nth, struct str *ret) {
    struct str part, key, value;
    while (str_next(&header, ';', &part)) {
        if (!str_cut(str_trim(part), '=', &key, &value) || !str_eq(str_trim(key), name)) {
            continue;
        }
        value = str_trim(value);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"') {
            value = str_from(value.p + 1, value.n - 2);
        }
        if (nth-- == 0) {
            *ret = value;
            return true;
        }
    }
    return false;
}

bool session_origin_is(struct str origin, struct str host, bool tls) {
    const struct str scheme = tls ? STR("https://") : STR("http://");
    const struct str port = tls ? STR(":443") : STR(":80");
    if (host.n == 0 || !str_starts(origin, scheme)) {
        return false;
    }
    origin = str_skip(origin, scheme.n);
    if (str_eq_nocase(origin, host)) {
        return true;
    }
    /* A browser leaves the scheme's own port out of Origin; others may name it in Host. */
    return str_ends(host, port) && str_eq_nocase(origin, str_head(host, host.n - port.n));
}

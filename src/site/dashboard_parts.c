/* dashboard_parts: headers that the dashboard reads, without I/O. See dashboard.h. */
#include "site/dashboard.h"

/* "gzip;q=0" is a no. */
static bool weight_is_zero(struct str parameters) {
    struct str part, key, value;
    while (str_next(&parameters, ';', &part)) {
        if (str_cut(str_trim(part), '=', &key, &value) && str_eq_nocase(str_trim(key), STR("q"))) {
            value = str_trim(value);
            for (size_t i = 0; i < value.n; i++) {
                if (value.p[i] != '0' && value.p[i] != '.') {
                    return false;
                }
            }
            return true;
        }
    }
    return false;
}

bool dashboard_takes_gzip(struct str accept_encoding) {
    struct str part, name, parameters;
    bool any = false;
    while (str_next(&accept_encoding, ',', &part)) {
        str_cut(part, ';', &name, &parameters);
        name = str_trim(name);
        if (str_eq_nocase(name, STR("gzip")) || str_eq_nocase(name, STR("x-gzip"))) {
            return !weight_is_zero(parameters);
        }
        any = any || (str_is(name, "*") && !weight_is_zero(parameters));
    }
    return any;
}

bool dashboard_names_tag(struct str if_none_match, struct str tag) {
    struct str part;
    while (str_next(&if_none_match, ',', &part)) {
        part = str_trim(part);
        if (str_is(part, "*")) {
            return true;
        }
        if (str_starts(part, STR("W/"))) { /* a proxy may have weakened it */
            part = str_skip(part, 2);
        }
        if (str_eq(part, tag)) {
            return true;
        }
    }
    return false;
}

static bool all_digits(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return s.n > 0 && s.n <= 5;
}

/* 127.0.0.0/8, written as four numbers: nothing that a resolver would be asked for. */
static bool is_loopback_v4(struct str name) {
    struct str part;
    size_t n = 0;
    while (str_next(&name, '.', &part)) {
        uint64_t number;
        if (!all_digits(part) || !str_to_u64(part, &number) || number > 255 ||
            (n == 0 && number != 127)) {
            return false;
        }
        n++;
    }
    return n == 4;
}

bool dashboard_host_known(struct str host, const struct str *hosts, size_t n) {
    struct str name = host, port;
    ptrdiff_t colon = str_find_last(host, ':');
    if (colon >= 0 && colon > str_find_last(host, ']')) {
        name = str_head(host, (size_t)colon);
        port = str_skip(host, (size_t)colon + 1);
        if (!all_digits(port)) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(name, hosts[i])) {
            return true;
        }
    }
    return str_eq_nocase(name, STR("localhost")) || str_is(name, "[::1]") || is_loopback_v4(name);
}

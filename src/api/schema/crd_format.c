/*
 * crd_format: the named formats of strings in structural schemas, as a kube-apiserver reads them.
 *
 * Names are compared without dashes ("date-time" is "datetime"). Formats that it does not know mean nothing.
 */
#include <arpa/inet.h>

#include "api/schema/check.h"
#include "api/schema/crd_schema.h"
#include "wire/text/time.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_alnum(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "dddd-dd-dd": d is a digit, x a hexadecimal one, anything else itself. */
static bool is_like(struct str s, const char *form) {
    if (s.n != strlen(form)) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool fits = form[i] == 'd'   ? is_digit(s.p[i])
                    : form[i] == 'x' ? is_hex(s.p[i])
                                     : s.p[i] == form[i];
        if (!fits) {
            return false;
        }
    }
    return true;
}

static bool is_date(struct str s) {
    char text[40];
    int64_t ns;
    if (!is_like(s, "dddd-dd-dd")) {
        return false;
    }
    (void)snprintf(text, sizeof(text), "%.*sT00:00:00Z", STR_ARG(s));
    return time_parse(str_of(text), &ns, NULL) == 0;
}

static bool is_date_time(struct str s) {
    int64_t ns;
    if (s.n < 4 || (time_parse(s, &ns, NULL) != 0 && !is_date(str_head(s, 10)))) {
        return false;
    }
    return s.n > 11 && (s.p[10] == 'T' || s.p[10] == 't');
}

static bool is_duration(struct str s) {
    static const char *const units[] = {
        "ns",           "us",           "ms",         "s",       "m",    "h",     "d",     "w",
        "hr",           "min",          "day",        "days",    "week", "weeks", "hour",  "hours",
        "minute",       "minutes",      "second",     "seconds", "sec",  "milli", "micro", "nano",
        "milliseconds", "microseconds", "nanoseconds"};
    int64_t ns;
    if (duration_parse(s, &ns, NULL) == 0) {
        return true;
    }
    s = str_trim(s);
    size_t i = 0;
    while (i < s.n && is_digit(s.p[i])) {
        i++;
    }
    struct str unit = str_trim(str_skip(s, i));
    for (size_t u = 0; i > 0 && u < sizeof(units) / sizeof(units[0]); u++) {
        if (str_is(unit, units[u])) {
            return true;
        }
    }
    return false;
}

static bool is_address(struct str s, int family) {
    char text[64];
    unsigned char raw[16];
    return str_copy(s, text, sizeof(text)) && inet_pton(family, text, raw) == 1;
}

static bool is_cidr(struct str s) {
    struct str address, bits;
    uint64_t n;
    if (!str_cut(s, '/', &address, &bits) || !str_to_u64(bits, &n) || bits.n > 3) {
        return false;
    }
    return (is_address(address, AF_INET) && n <= 32) || (is_address(address, AF_INET6) && n <= 128);
}

static bool is_mac(struct str s) {
    return is_like(s, "xx:xx:xx:xx:xx:xx") || is_like(s, "xx-xx-xx-xx-xx-xx") ||
           is_like(s, "xxxx.xxxx.xxxx") || is_like(s, "xx:xx:xx:xx:xx:xx:xx:xx");
}

static bool is_uuid(struct str s, char version) {
    size_t n = 0;
    char digits[33];
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '-' && (n == 8 || n == 12 || n == 16 || n == 20)) {
            continue;
        }
        if (n == 32 || !is_hex(s.p[i])) {
            return false;
        }
        digits[n++] = s.p[i];
    }
    if (n != 32 || (version != 0 && digits[12] != version)) {
        return false;
    }
    return version == 0 || version == '3' || strchr("89abAB", digits[16]) != NULL;
}

static bool is_hostname(struct str s) {
    struct str label, last = str_skip(s, (size_t)(str_find_last(s, '.') + 1));
    if (s.n == 0 || s.n > 253) {
        return false;
    }
    for (size_t i = 0; last.n < s.n && i < last.n; i++) { /* a domain of the top has letters only */
        if (last.n < 2 || is_digit(last.p[i]) || last.p[i] == '-') {
            return false;
        }
    }
    while (str_next(&s, '.', &label)) {
        if (label.n == 0 || label.n > 63 || !is_alnum(label.p[0]) ||
            !is_alnum(label.p[label.n - 1])) {
            return false;
        }
        for (size_t i = 0; i < label.n; i++) {
            if (!is_alnum(label.p[i]) && label.p[i] != '-') {
                return false;
            }
        }
    }
    return true;
}

static bool is_email(struct str s) {
    ptrdiff_t at = str_find_last(s, '@');
    struct str open = str_trim(s);
    if (open.n > 0 && open.p[open.n - 1] == '>') { /* Name <user@host> */
        ptrdiff_t lt = str_find_last(open, '<');
        return lt >= 0 && is_email(str_from(open.p + lt + 1, open.n - (size_t)lt - 2));
    }
    return at > 0 && (size_t)at + 1 < s.n && str_find(s, ' ') < 0 && str_find(s, '<') < 0;
}

/* As Go's url.ParseRequestURI: absolute, or a path from the root. */
static bool is_uri(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f || s.p[i] == ' ') {
            return false;
        }
        if (s.p[i] == '%' && (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2]))) {
            return false;
        }
    }
    if (s.n > 0 && s.p[0] == '/') {
        return true;
    }
    ptrdiff_t colon = str_find(s, ':');
    if (colon <= 0 || is_digit(s.p[0])) {
        return false;
    }
    for (ptrdiff_t i = 0; i < colon; i++) {
        if (!is_alnum(s.p[i]) && strchr("+-.", s.p[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_base64(struct str s) {
    size_t pad = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '=') {
            pad++;
        } else if (pad > 0 || !(is_alnum(s.p[i]) || s.p[i] == '+' || s.p[i] == '/')) {
            return false;
        }
    }
    return s.n > 0 && s.n % 4 == 0 && pad <= 2;
}

static bool is_hex_color(struct str s) {
    struct str c = s.n > 0 && s.p[0] == '#' ? str_skip(s, 1) : s;
    return is_like(c, "xxx") || is_like(c, "xxxxxx");
}

static bool is_v4(struct str s) {
    return is_address(s, AF_INET);
}
static bool is_v6(struct str s) {
    return is_address(s, AF_INET6);
}
static bool is_any_uuid(struct str s) {
    return is_uuid(s, 0);
}
static bool is_uuid3(struct str s) {
    return is_uuid(s, '3');
}
static bool is_uuid4(struct str s) {
    return is_uuid(s, '4');
}
static bool is_uuid5(struct str s) {
    return is_uuid(s, '5');
}
static bool is_ssn(struct str s) {
    return is_like(s, "ddd-dd-dddd") || is_like(s, "ddddddddd") || is_like(s, "ddd dd dddd");
}
static bool is_object_id(struct str s) {
    return is_like(s, "xxxxxxxxxxxxxxxxxxxxxxxx");
}
static bool is_short_name(struct str s) {
    return format_fault("dns1123-label", s) == NULL;
}
static bool is_long_name(struct str s) {
    return format_fault("dns1123-subdomain", s) == NULL;
}

bool crd_format(struct str format, struct str v) {
    static const struct {
        const char *name;
        bool (*fits)(struct str s);
    } formats[] = {
        {"date", is_date},
        {"datetime", is_date_time},
        {"duration", is_duration},
        {"uuid", is_any_uuid},
        {"uuid3", is_uuid3},
        {"uuid4", is_uuid4},
        {"uuid5", is_uuid5},
        {"email", is_email},
        {"hostname", is_hostname},
        {"ipv4", is_v4},
        {"ipv6", is_v6},
        {"cidr", is_cidr},
        {"mac", is_mac},
        {"uri", is_uri},
        {"byte", is_base64},
        {"hexcolor", is_hex_color},
        {"ssn", is_ssn},
        {"bsonobjectid", is_object_id},
        {"k8sshortname", is_short_name},
        {"k8slongname", is_long_name},
    };
    char name[32];
    size_t n = 0;
    for (size_t i = 0; i < format.n && n + 1 < sizeof(name); i++) {
        if (format.p[i] != '-') {
            name[n++] = format.p[i];
        }
    }
    name[n] = '\0';
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(name, formats[i].name) == 0) {
            return formats[i].fits(v);
        }
    }
    return true;
}

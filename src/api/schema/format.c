/* format: the named text formats of names, labels and keys, with the texts that Kubernetes' users know. */
#include "api/schema/check.h"
#include "base/limits.h"

static bool lower_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
static bool alnum(char c) {
    return lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? */
static bool is_dns_label(struct str v) {
    if (v.n == 0 || !lower_alnum(v.p[0]) || !lower_alnum(v.p[v.n - 1])) {
        return false;
    }
    for (size_t i = 0; i < v.n; i++) {
        if (!lower_alnum(v.p[i]) && v.p[i] != '-') {
            return false;
        }
    }
    return true;
}

static const char *label_fault(struct str v) {
    if (v.n > LIMIT_LABEL) {
        return "must be no more than 63 characters";
    }
    return is_dns_label(v)
               ? NULL
               : "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
                 "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
                 "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

static bool is_subdomain(struct str v) {
    struct str part;
    if (v.n == 0 || v.p[v.n - 1] == '.') {
        return false;
    }
    while (str_next(&v, '.', &part)) {
        if (!is_dns_label(part)) {
            return false;
        }
    }
    return true;
}

static const char *subdomain_fault(struct str v) {
    if (v.n > LIMIT_NAME) {
        return "must be no more than 253 characters";
    }
    return is_subdomain(v)
               ? NULL
               : "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                 "characters, '-' or '.', and must start and end with an alphanumeric character "
                 "(e.g. 'example.com', regex used for validation is "
                 "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

/* ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9] */
static bool is_word(struct str v) {
    if (v.n == 0 || !alnum(v.p[0]) || !alnum(v.p[v.n - 1])) {
        return false;
    }
    for (size_t i = 0; i < v.n; i++) {
        if (!alnum(v.p[i]) && v.p[i] != '-' && v.p[i] != '_' && v.p[i] != '.') {
            return false;
        }
    }
    return true;
}

static const char *label_value_fault(struct str v) {
    if (v.n > LIMIT_LABEL) {
        return "must be no more than 63 characters";
    }
    return v.n == 0 || is_word(v)
               ? NULL
               : "a valid label must be an empty string or consist of alphanumeric characters, "
                 "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                 "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                 "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

static const char *label_key_fault(struct str v) {
    struct str prefix, name;
    if (str_cut(v, '/', &prefix, &name)) {
        if (str_find(name, '/') >= 0) {
            return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and "
                   "must start and end with an alphanumeric character (e.g. 'MyName',  or "
                   "'my.name',  or '123-abc', regex used for validation is "
                   "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "
                   "prefix and '/' (e.g. 'example.com/MyName')";
        }
        if (prefix.n == 0) {
            return "prefix part must be non-empty";
        }
        if (prefix.n > LIMIT_NAME || !is_subdomain(prefix)) {
            return "prefix part a lowercase RFC 1123 subdomain must consist of lower case "
                   "alphanumeric characters, '-' or '.', and must start and end with an "
                   "alphanumeric character (e.g. 'example.com', regex used for validation is "
                   "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        }
    } else {
        name = v;
    }
    if (name.n == 0) {
        return "name part must be non-empty";
    }
    if (name.n > LIMIT_LABEL) {
        return "name part must be no more than 63 characters";
    }
    return is_word(name)
               ? NULL
               : "name part must consist of alphanumeric characters, '-', '_' or '.', and must "
                 "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
                 "'123-abc', regex used for validation is "
                 "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

static const char *port_name_fault(struct str v) {
    bool letter = false;
    if (v.n > 15) {
        return "must be no more than 15 characters";
    }
    for (size_t i = 0; i < v.n; i++) {
        if (!lower_alnum(v.p[i]) && v.p[i] != '-') {
            return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
        }
        if (v.p[i] == '-' && i > 0 && v.p[i - 1] == '-') {
            return "must not contain consecutive hyphens";
        }
        letter |= v.p[i] >= 'a' && v.p[i] <= 'z';
    }
    if (!letter) {
        return "must contain at least one letter (a-z)";
    }
    return v.p[0] == '-' || v.p[v.n - 1] == '-' ? "must not begin or end with a hyphen" : NULL;
}

static const char *env_name_fault(struct str v) {
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] < ' ' || v.p[i] > '~' || v.p[i] == '=') {
            return "a valid environment variable name must consist only of printable ASCII "
                   "characters other than '='";
        }
    }
    return NULL;
}

static const char *path_name_fault(struct str v) {
    if (str_is(v, ".") || str_is(v, "..")) {
        return v.n == 1 ? "may not be '.'" : "may not be '..'";
    }
    if (str_find(v, '/') >= 0) {
        return "may not contain '/'";
    }
    return str_find(v, '%') >= 0 ? "may not contain '%'" : NULL;
}

static const char *config_key_fault(struct str v) {
    if (v.n > LIMIT_NAME) {
        return "must be no more than 253 characters";
    }
    if (str_is(v, ".") || str_is(v, "..")) {
        return v.n == 1 ? "must not be '.'" : "must not be '..'";
    }
    for (size_t i = 0; i < v.n || v.n == 0; i++) {
        if (v.n == 0 || (!alnum(v.p[i]) && v.p[i] != '-' && v.p[i] != '_' && v.p[i] != '.')) {
            return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                   "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation "
                   "is '[-._a-zA-Z0-9]+')";
        }
    }
    return NULL;
}

/* A name that begins with a letter. */
static const char *letter_label_fault(struct str v) {
    if (v.n > LIMIT_LABEL) {
        return "must be no more than 63 characters";
    }
    if (label_fault(v) != NULL || v.p[0] < 'a' || v.p[0] > 'z') {
        return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
               "with an alphabetic character, and end with an alphanumeric character (e.g. "
               "'my-name',  or 'abc-123', regex used for validation is "
               "'[a-z]([-a-z0-9]*[a-z0-9])?')";
    }
    return NULL;
}

static const struct {
    const char *name;
    const char *(*fault)(struct str v);
} formats[] = {
    {"dns1035-label", letter_label_fault},  {"dns1123-label", label_fault},
    {"dns1123-subdomain", subdomain_fault}, {"label-key", label_key_fault},
    {"label-value", label_value_fault},     {"port-name", port_name_fault},
    {"env-name", env_name_fault},           {"path-name", path_name_fault},
    {"config-key", config_key_fault},
};

const char *format_fault(const char *format, struct str v) {
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(format, formats[i].name) == 0) {
            return formats[i].fault(v);
        }
    }
    return NULL;
}

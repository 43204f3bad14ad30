/* cel_library: the functions of all files by name, and which of their overloads fit. See cel_tree.h. */
#include "api/cel/cel_access.h"
#include "api/cel/cel_tree.h"

static const struct cel_functions *const libraries[] = {
    &cel_core_functions,   &cel_text_functions,  &cel_format_functions,
    &cel_list_functions,   &cel_time_functions,  &cel_net_functions,
    &cel_amount_functions, &cel_named_functions, &cel_access_functions,
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

static const struct cel_function *find(struct str name, bool method, size_t lib, size_t from) {
    for (; lib < LIBRARIES; lib++, from = 0) {
        for (size_t i = from; i < libraries[lib]->n; i++) {
            const struct cel_function *f = &libraries[lib]->v[i];
            if (f->method == method && str_is(name, f->name)) {
                return f;
            }
        }
    }
    return NULL;
}

const struct cel_function *cel_function(struct str name, bool method) {
    return find(name, method, 0, 0);
}

const struct cel_function *cel_function_next(const struct cel_function *f) {
    for (size_t i = 0; i < LIBRARIES; i++) {
        if (f >= libraries[i]->v && f < libraries[i]->v + libraries[i]->n) {
            return find(str_of(f->name), f->method, i, (size_t)(f - libraries[i]->v) + 1);
        }
    }
    return NULL;
}

const char *cel_sig_skip(const char *p) {
    switch (*p) {
    case '[':
        return cel_sig_skip(p + 1) + 1;
    case '{':
        return cel_sig_skip(cel_sig_skip(p + 1)) + 1;
    case '?':
        return cel_sig_skip(p + 1);
    default:
        return p + 1;
    }
}

/* The letter of a value's type. */
static char letter(struct cel_value v) {
    static const char letters[] = {
        [CEL_V_NULL] = 'n',     [CEL_V_BOOL] = 'b',      [CEL_V_INT] = 'i',
        [CEL_V_UINT] = 'u',     [CEL_V_DOUBLE] = 'd',    [CEL_V_STRING] = 's',
        [CEL_V_DURATION] = 'D', [CEL_V_TIMESTAMP] = 'T', [CEL_V_QUANTITY] = 'Q',
        [CEL_V_OPTIONAL] = '?', [CEL_V_TYPE] = 't',      [CEL_V_BYTES] = 'y',
        [CEL_V_URL] = 'U',      [CEL_V_IP] = 'P',        [CEL_V_CIDR] = 'C',
        [CEL_V_FORMAT] = 'F',   [CEL_V_SEMVER] = 'V',    [CEL_V_OBJECT] = 'o',
    };
    return cel_is_list(v)              ? '['
           : cel_is_map(v)             ? '{'
           : v.type == CEL_V_ACCESS    ? cel_access_letter(v.access)
           : v.type >= sizeof(letters) ? '\0'
                                       : letters[v.type];
}

static bool fits(const char *sig, const struct cel_value *v, size_t n) {
    size_t i = 0;
    for (; *sig != '>' && i < n; i++, sig = cel_sig_skip(sig)) {
        if (v != NULL && *sig != '*' && *sig != 'A' && *sig != 'B' && *sig != letter(v[i])) {
            return false;
        }
    }
    return *sig == '>' && i == n;
}

bool cel_function_takes(const struct cel_function *f, const struct cel_value *v, size_t n) {
    for (const char *p = f->sigs; p != NULL; p = strchr(p, ' ')) {
        p += *p == ' ';
        if (fits(p, v, n)) {
            return true;
        }
    }
    return false;
}

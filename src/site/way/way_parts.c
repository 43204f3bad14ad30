/* way_parts: what is decided about requests without I/O. See way.h. */
#include "site/way/way.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"

enum { SEGMENT_MAX = 512, SEGMENTS_KEPT = 3 };

struct segment {
    char text[SEGMENT_MAX];
    size_t n;
};

static int hex(char c) {
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* False: not well-formed, too long, or with bytes that are no part of a name. */
static bool decode(struct str s, struct segment *ret) {
    ret->n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i];
        if (c == '%') {
            int high = i + 2 < s.n ? hex(s.p[i + 1]) : -1;
            int low = i + 2 < s.n ? hex(s.p[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            c = high * 16 + low;
            i += 2;
        }
        if (c < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == '%' || ret->n == SEGMENT_MAX) {
            return false;
        }
        ret->text[ret->n++] = (char)c;
    }
    return true;
}

static bool is(const struct segment *s, const char *text) {
    return str_is(str_from(s->text, s->n), text);
}

static bool one_of(const struct segment *s, const char *const *list) {
    for (; *list; list++) {
        if (is(s, *list)) {
            return true;
        }
    }
    return false;
}

int way_path_check(struct str path, struct err *err) {
    static const char *const roots[] = {"api", "apis", "openapi", "version", NULL};
    static const char *const objects[] = {"pods", "services", "nodes", NULL};
    static const char *const doors[] = {"proxy", "exec", "attach", "portforward", NULL};
    struct segment kept[SEGMENTS_KEPT];
    struct str rest = str_skip(path, 1), part;
    if (path.n == 0 || path.p[0] != '/') {
        return err_set(err, ERR_BAD_REQUEST, "the path does not begin with /");
    }
    for (size_t i = 0; str_next(&rest, '/', &part); i++) {
        struct segment *now = &kept[i % SEGMENTS_KEPT];
        const struct segment *before = &kept[(i + 1) % SEGMENTS_KEPT]; /* two back */
        if (part.n == 0 && rest.n == 0) {
            break;
        }
        if (part.n == 0 || !decode(part, now) || is(now, ".") || is(now, "..")) {
            return err_set(err, ERR_BAD_REQUEST, "the path is not plain");
        }
        if (i == 0 && !one_of(now, roots)) {
            return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
        }
        if (one_of(now, doors) && i >= 2 &&
            (one_of(before, objects) || (i == 2 && is(now, "proxy")))) {
            return err_set(err, ERR_FORBIDDEN,
                           "pods, services and nodes are not reached from here");
        }
    }
    return 0;
}

bool way_type_is_safe(struct str type) {
    static const char *const types[] = {"application/json", "application/yaml",
                                        "text/plain",       "application/apply-patch+yaml",
                                        "application/cbor", "application/vnd.kubernetes.protobuf"};
    struct str name, parameters;
    str_cut(type, ';', &name, &parameters);
    name = str_trim(name);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_eq_nocase(name, str_of(types[i]))) {
            return true;
        }
    }
    return str_starts(name, STR("application/com.github.proto-openapi.spec."));
}

int64_t way_token_ends(struct str token, struct arena *a) {
    struct str head, rest, claims, signature;
    yyjson_doc *doc;
    if (!str_cut(token, '.', &head, &rest) || !str_cut(rest, '.', &claims, &signature)) {
        return 0;
    }
    struct str text = base64url_decode(a, claims);
    if (text.n == 0 || json_parse(a, text, &doc, NULL) != 0) {
        return 0;
    }
    int64_t s = json_i64_at(yyjson_doc_get_root(doc), "exp", 0);
    return s > 0 && s < INT64_MAX / NS_PER_SEC ? s * NS_PER_SEC : 0;
}

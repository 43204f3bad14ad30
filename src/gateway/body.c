/* body: a walk over a JSON body. See body.h. */
#include "gateway/body.h"

#include <stdio.h>

struct walk {
    struct str in;
    size_t at;
    struct body_facts *f;
    struct err *err;
};

/* The members that are known. */
enum member {
    MEMBER_MODEL,
    MEMBER_STREAM,
    MEMBER_OPTIONS,
    MEMBER_STORE,
    MEMBER_MAX,
    MEMBER_MAX_COMPLETION,
    MEMBER_MAX_OUTPUT,
    MEMBER_MESSAGES,
    MEMBER_PROMPT,
    MEMBER_INPUT,
    MEMBER_USAGE,
    MEMBER_OTHER,
};
static const char *const member_names[] = {
    "model",
    "stream",
    "stream_options",
    "store",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "messages",
    "prompt",
    "input",
    "include_usage",
};

static int fault(struct walk *w, const char *what) {
    return err_set(w->err, ERR_SYNTAX, "the body is not JSON: byte %zu: %s", w->at, what);
}

static int wrong(struct walk *w, const char *member, const char *want) {
    return err_set(w->err, ERR_BAD_REQUEST, "%s: must be %s", member, want);
}

static void blanks(struct walk *w) {
    while (w->at < w->in.n && (w->in.p[w->at] == ' ' || w->in.p[w->at] == '\n' ||
                               w->in.p[w->at] == '\r' || w->in.p[w->at] == '\t')) {
        w->at++;
    }
}

static char next(struct walk *w) {
    return w->at < w->in.n ? w->in.p[w->at] : 0;
}

/* ---- strings ---- */

/* Over a string, from its first quote to behind its last. */
static int skip_string(struct walk *w) {
    size_t from = ++w->at;
    for (;;) {
        const char *q = w->at < w->in.n ? memchr(w->in.p + w->at, '"', w->in.n - w->at) : NULL;
        if (q == NULL) {
            w->at = from - 1;
            return fault(w, "a string does not end");
        }
        size_t end = (size_t)(q - w->in.p), slashes = 0;
        while (end - slashes > from && w->in.p[end - slashes - 1] == '\\') {
            slashes++;
        }
        w->at = end + 1;
        if (slashes % 2 == 0) {
            return 0;
        }
    }
}

static int hex4(const char *p, unsigned *ret) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i], l = (char)(c | 0x20);
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : l >= 'a' && l <= 'f' ? (unsigned)(l - 'a') + 10
                                            : 16;
        if (d == 16) {
            return ERR_SYNTAX;
        }
        v = v * 16 + d;
    }
    *ret = v;
    return 0;
}

static size_t utf8(unsigned c, char *to) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* One escape: *i stands at the backslash. Its bytes go to `to`; 0: it is none. */
static size_t unescape(struct str s, size_t *i, char to[4]) {
    static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
    char c = *i + 1 < s.n ? s.p[*i + 1] : 0;
    const char *at = c ? strchr(from, c) : NULL;
    unsigned code, low;
    if (at) {
        *to = is[at - from];
        *i += 2;
        return 1;
    }
    if (c != 'u' || *i + 6 > s.n || hex4(s.p + *i + 2, &code) != 0) {
        return 0;
    }
    *i += 6;
    if (code >= 0xd800 && code < 0xdc00 && *i + 6 <= s.n && s.p[*i] == '\\' && s.p[*i + 1] == 'u' &&
        hex4(s.p + *i + 2, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        *i += 6;
    }
    return code >= 0xd800 && code < 0xe000 ? 0 : utf8(code, to);
}

/* The text between the quotes, decoded; false: it is longer than cap, or has a bad escape. */
static bool decode(struct str raw, char *to, size_t cap, size_t *ret_n) {
    size_t n = 0;
    for (size_t i = 0; i < raw.n;) {
        char piece[4] = {raw.p[i]};
        size_t k = 1;
        if (raw.p[i] == '\\') {
            k = unescape(raw, &i, piece);
        } else {
            i++;
        }
        if (k == 0 || n + k > cap) {
            return false;
        }
        memcpy(to + n, piece, k);
        n += k;
    }
    *ret_n = n;
    return true;
}

/* ---- values that do not matter ---- */

static bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static int skip_plain(struct walk *w) {
    size_t from = w->at;
    while (w->at < w->in.n && is_plain(w->in.p[w->at])) {
        w->at++;
    }
    return w->at > from ? 0 : fault(w, "a value was expected");
}

/* Inside of objects and lists: over everything up to the bracket that ends the outermost. */
static int skip_nested(struct walk *w) {
    unsigned char lists[BODY_DEPTH_MAX / 8] = {0}; /* which levels are lists */
    size_t depth = 0;
    do {
        char c = next(w);
        if (c == '"') {
            int code = skip_string(w);
            if (code != 0) {
                return code;
            }
            continue;
        }
        if (c == '{' || c == '[') {
            if (depth == BODY_DEPTH_MAX) {
                return fault(w, "it is nested too deeply");
            }
            unsigned char bit = (unsigned char)(1u << depth % 8);
            lists[depth / 8] =
                (unsigned char)(c == '[' ? lists[depth / 8] | bit : lists[depth / 8] & ~bit);
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
            bool list = lists[depth / 8] >> depth % 8 & 1;
            if (list != (c == ']')) {
                return fault(w, "the brackets do not match");
            }
        } else if (!is_plain(c) && c != ',' && c != ':' && c != ' ' && c != '\n' && c != '\r' &&
                   c != '\t') {
            return fault(w, w->at < w->in.n ? "unexpected character" : "it ends too early");
        }
        w->at++;
    } while (depth > 0);
    return 0;
}

static int skip_value(struct walk *w) {
    char c = next(w);
    return c == '"' ? skip_string(w) : c == '{' || c == '[' ? skip_nested(w) : skip_plain(w);
}

/* ---- the members that do ---- */

static bool span_is(const struct walk *w, struct body_span s, const char *text) {
    return str_is(str_from(w->in.p + s.at, s.n), text);
}

static int read_bool(struct walk *w, struct body_span s, const char *member, bool *ret) {
    if (span_is(w, s, "true")) {
        *ret = true;
    } else if (!span_is(w, s, "false") && !span_is(w, s, "null")) {
        return wrong(w, member, "true or false");
    }
    return 0;
}

static int read_model(struct walk *w, struct body_span s) {
    struct body_facts *f = w->f;
    if (span_is(w, s, "null")) {
        return 0;
    }
    if (w->in.p[s.at] != '"' ||
        !decode(str_from(w->in.p + s.at + 1, s.n - 2), f->model, sizeof(f->model), &f->model_n) ||
        f->model_n == 0) {
        return wrong(w, "model", "a string of 1 to 512 bytes");
    }
    f->has_model = true;
    f->model_at = s;
    return 0;
}

static int read_max(struct walk *w, struct body_span s, const char *member) {
    int64_t n;
    if (span_is(w, s, "null")) {
        return 0;
    }
    if (!str_to_i64(str_from(w->in.p + s.at, s.n), &n) || n < 0) {
        return wrong(w, member, "an integer, 0 or more");
    }
    w->f->max_tokens = n > w->f->max_tokens ? n : w->f->max_tokens;
    return 0;
}

static int read_members(struct walk *w, bool inner);

static int read_known(struct walk *w, enum member m, struct body_span s) {
    struct body_facts *f = w->f;
    switch (m) {
    case MEMBER_MODEL:
        return read_model(w, s);
    case MEMBER_STREAM:
        return read_bool(w, s, "stream", &f->stream);
    case MEMBER_STORE:
        return read_bool(w, s, "store", &f->store);
    case MEMBER_MAX:
    case MEMBER_MAX_COMPLETION:
    case MEMBER_MAX_OUTPUT:
        return read_max(w, s, member_names[m]);
    case MEMBER_MESSAGES:
    case MEMBER_PROMPT:
    case MEMBER_INPUT:
        f->prompt_at = f->prompt_at.n ? f->prompt_at : s;
        return 0;
    case MEMBER_OPTIONS:
        f->options_at = s;
        if (w->in.p[s.at] != '{' && !span_is(w, s, "null")) {
            return wrong(w, "stream_options", "an object");
        }
        return 0;
    case MEMBER_USAGE:
        f->usage_at = s;
        return read_bool(w, s, "stream_options.include_usage", &f->usage);
    case MEMBER_OTHER:
        break;
    }
    return 0;
}

static enum member member_of(struct str raw, bool inner) {
    char name[BODY_NAME_MAX];
    size_t n = 0;
    if (!decode(raw, name, sizeof(name), &n)) {
        return MEMBER_OTHER;
    }
    for (size_t i = 0; i < MEMBER_OTHER; i++) {
        if ((i == MEMBER_USAGE) == inner && str_is(str_from(name, n), member_names[i])) {
            return (enum member)i;
        }
    }
    return MEMBER_OTHER;
}

/* "name": value. seen: the known ones that stood already. */
static int read_member(struct walk *w, bool inner, unsigned *seen) {
    size_t from = w->at;
    if (next(w) != '"') {
        return fault(w, "the name of a member was expected");
    }
    int code = skip_string(w);
    if (code != 0) {
        return code;
    }
    enum member m = member_of(str_from(w->in.p + from + 1, w->at - from - 2), inner);
    if (m != MEMBER_OTHER && *seen & 1u << m) {
        return err_set(w->err, ERR_BAD_REQUEST, "%s: stands twice", member_names[m]);
    }
    *seen |= m != MEMBER_OTHER ? 1u << m : 0;
    blanks(w);
    if (next(w) != ':') {
        return fault(w, "a colon was expected");
    }
    w->at++;
    blanks(w);
    from = w->at;
    code = m == MEMBER_OPTIONS && next(w) == '{' ? read_members(w, true) : skip_value(w);
    return code ? code : read_known(w, m, (struct body_span){from, w->at - from});
}

static int read_members(struct walk *w, bool inner) {
    unsigned seen = 0;
    w->at++;
    if (!inner) {
        w->f->open = w->at;
    }
    blanks(w);
    if (next(w) == '}') {
        w->at++;
        return 0;
    }
    for (;;) {
        int code = read_member(w, inner, &seen);
        if (code != 0) {
            return code;
        }
        blanks(w);
        char c = next(w);
        if (c != ',' && c != '}') {
            return fault(w, w->at < w->in.n ? "a comma was expected" : "it ends too early");
        }
        w->at++;
        if (c == '}') {
            return 0;
        }
        blanks(w);
    }
}

int body_read_json(struct str body, struct body_facts *ret, struct err *err) {
    struct walk w = {.in = body, .f = ret, .err = err};
    *ret = (struct body_facts){.max_tokens = -1};
    blanks(&w);
    if (next(&w) != '{') {
        return fault(&w, "an object was expected");
    }
    int code = read_members(&w, false);
    if (code != 0) {
        return code;
    }
    blanks(&w);
    return w.at == body.n ? 0 : fault(&w, "something follows the object");
}

/* ---- changes ---- */

size_t body_ask_usage(const struct body_facts *f, struct str body, struct body_edit *edits,
                      size_t n) {
    static const char with[] = "{\"include_usage\":true}";
    bool object = f->options_at.n && body.p[f->options_at.at] == '{';
    if (f->usage_at.n) {
        edits[n++] = (struct body_edit){f->usage_at.at, f->usage_at.n, STR("true")};
    } else if (object) {
        struct str inside = str_trim(str_from(body.p + f->options_at.at + 1, f->options_at.n - 2));
        edits[n++] = (struct body_edit){f->options_at.at + 1, 0,
                                        inside.n ? STR("\"include_usage\":true,")
                                                 : STR("\"include_usage\":true")};
    } else if (f->options_at.n) {
        edits[n++] = (struct body_edit){f->options_at.at, f->options_at.n, str_of(with)};
    } else {
        edits[n++] =
            (struct body_edit){f->open, 0, STR("\"stream_options\":{\"include_usage\":true},")};
    }
    return n;
}

size_t body_parts(struct str body, struct body_edit *edits, size_t n, struct str *ret) {
    size_t parts = 0, at = 0;
    for (size_t i = 1; i < n; i++) { /* by place; there are at most three */
        for (size_t k = i; k > 0 && edits[k].at < edits[k - 1].at; k--) {
            struct body_edit x = edits[k];
            edits[k] = edits[k - 1];
            edits[k - 1] = x;
        }
    }
    for (size_t i = 0; i < n; i++) {
        ret[parts++] = str_from(body.p + at, edits[i].at - at);
        ret[parts++] = edits[i].with;
        at = edits[i].at + edits[i].n;
    }
    ret[parts++] = str_skip(body, at);
    return parts;
}

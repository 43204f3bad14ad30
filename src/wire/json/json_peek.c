/* json_peek: follows quotes and brackets alone. See json_peek.h. */
#include "wire/json/json_peek.h"

static size_t skip_space(struct str s, size_t i) {
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\n' || s.p[i] == '\r' || s.p[i] == '\t')) {
        i++;
    }
    return i;
}

/* Where the text that begins after a quote at i ends: at its closing quote, or at the end of all. */
static size_t text_end(struct str s, size_t i) {
    for (i++; i < s.n && s.p[i] != '"'; i++) {
        i += s.p[i] == '\\' && i + 1 < s.n;
    }
    return i;
}

static struct str text_at(struct str s, size_t i) {
    if (i >= s.n || s.p[i] != '"') {
        return (struct str){0};
    }
    size_t end = text_end(s, i);
    struct str text = str_from(s.p + i + 1, end - i - 1);
    return end < s.n && str_find(text, '\\') < 0 ? text : (struct str){0};
}

struct str json_peek(struct str json, struct str outer, struct str inner) {
    size_t depth = 0;
    bool inside = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
            inside = inside && depth > 1;
        } else if (c == '"') {
            size_t end = text_end(json, i), next = skip_space(json, end + 1);
            struct str key = text_at(json, i);
            bool named = next < json.n && json.p[next] == ':';
            if (named && depth == 2 && inside && str_eq(key, inner)) {
                return text_at(json, skip_space(json, next + 1));
            }
            if (named && depth == 1) {
                inside = str_eq(key, outer);
            }
            i = end;
        }
    }
    return (struct str){0};
}

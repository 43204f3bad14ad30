/* yaml: JSON to YAML in block style. See yaml.h. Recursion is as deep as the document, which parsing bounds. */
#include "wire/yaml.h"
#include "wire/yaml_scalar.h"

enum { SIMPLE_KEY_MAX = 200 }; /* bytes; YAML allows 1024, longer keys take the "? key" form */

static void indent_by(struct buf *b, size_t indent) {
    for (size_t i = 0; i < indent; i++) {
        buf_ch(b, ' ');
    }
}

/* The code point at s[*i], which moves on. The text is valid UTF-8: it was parsed. */
static uint32_t next_code(struct str s, size_t *i) {
    const unsigned char *p = (const unsigned char *)s.p + *i;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (size_t k = 1; k < n && *i + k < s.n; k++) {
        c = c << 6 | (p[k] & 0x3f);
    }
    *i += n;
    return c;
}

/* What YAML 1.1 readers do not take raw, or take for a line break. */
static bool needs_escape(uint32_t c) {
    return (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
           c == 0xfeff || c == 0xfffe || c == 0xffff || (c >= 0xd800 && c < 0xe000);
}

static void write_quoted(struct buf *b, struct str s) {
    buf_ch(b, '"');
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        uint32_t c = next_code(s, &i);
        if (c == '"' || c == '\\') {
            buf_f(b, "\\%c", (char)c);
        } else if (c == '\n') {
            buf_c(b, "\\n");
        } else if (needs_escape(c)) {
            buf_f(b, "\\u%04x", c);
        } else {
            buf_add(b, s.p + from, i - from);
        }
    }
    buf_ch(b, '"');
}

static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           str_find(STR("_./-:@%+=,()[]{}<>;~^$*&!? '\"#|"), c) >= 0;
}

/* A plain scalar that every reader takes for this very string. Numbers with colons or dashes (dates, base 60) are
 * quoted because other readers of YAML 1.1 see more in them. */
static bool plain_is_safe(struct str s) {
    struct yaml_scalar scalar;
    if (s.n == 0 || s.n > 1000 || !is_word_char(s.p[0]) || s.p[s.n - 1] == ' ' ||
        s.p[s.n - 1] == ':' || str_find(STR("-?:,[]{}#&*!|>'\"%@`= ~<^$;()+."), s.p[0]) >= 0) {
        return false;
    }
    bool digit = s.p[0] >= '0' && s.p[0] <= '9';
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], after = i + 1 < s.n ? s.p[i + 1] : 0;
        if (!is_word_char(c) || (c == ':' && after == ' ') || (c == ' ' && after == '#') ||
            (digit && (c == ':' || c == '-'))) {
            return false;
        }
    }
    return yaml_resolve(s, true, STR(""), &scalar) == NULL && scalar.type == YAML_SCALAR_STRING;
}

static bool literal_is_safe(struct str s) {
    if (str_find(s, '\n') < 0 || s.p[0] == ' ' || s.p[0] == '\n' || s.p[0] == '\t') {
        return false;
    }
    for (size_t i = 0; i < s.n;) {
        uint32_t c = next_code(s, &i);
        if (needs_escape(c) && c != '\t') {
            return false;
        }
    }
    return true;
}

static void write_literal(struct buf *b, struct str s, size_t indent) {
    bool ends = s.p[s.n - 1] == '\n';
    bool keep = ends && s.n > 1 && s.p[s.n - 2] == '\n';
    buf_c(b, keep ? "|+\n" : ends ? "|\n" : "|-\n");
    for (struct str line; str_next(&s, '\n', &line);) {
        if (line.n) {
            indent_by(b, indent);
            buf_str(b, line);
        }
        if (s.n) { /* the last line's end is the caller's, as for every scalar */
            buf_ch(b, '\n');
        }
    }
}

static void write_scalar(struct buf *b, yyjson_val *v, size_t indent) {
    if (!yyjson_is_str(v)) {
        json_write(b, v);
    } else if (plain_is_safe(json_str(v))) {
        buf_str(b, json_str(v));
    } else if (indent > 0 && literal_is_safe(json_str(v))) {
        write_literal(b, json_str(v), indent);
    } else {
        write_quoted(b, json_str(v));
    }
}

static void write_map(struct buf *b, yyjson_val *v, size_t indent);
static void write_list(struct buf *b, yyjson_val *v, size_t indent);

static void write_empty_or_scalar(struct buf *b, yyjson_val *v, size_t indent) {
    write_scalar(b, v, indent);
    buf_ch(b, '\n');
}

/* The value behind "key:", whose mapping stands at `indent`. */
static void write_member(struct buf *b, yyjson_val *val, size_t indent, bool list_deeper) {
    if (yyjson_is_obj(val) && yyjson_obj_size(val) > 0) {
        buf_ch(b, '\n');
        indent_by(b, indent + 2);
        write_map(b, val, indent + 2);
    } else if (yyjson_is_arr(val) && yyjson_arr_size(val) > 0) {
        size_t at = indent + (list_deeper ? 2 : 0);
        buf_ch(b, '\n');
        indent_by(b, at);
        write_list(b, val, at);
    } else {
        buf_ch(b, ' ');
        write_empty_or_scalar(b, val, indent + 2);
    }
}

/* The cursor stands at `indent` already, in both. */
static void write_map(struct buf *b, yyjson_val *v, size_t indent) {
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(v, i, max, key, val) {
        struct str name = json_str(key);
        bool plain = plain_is_safe(name), explicit = name.n > SIMPLE_KEY_MAX;
        if (i > 0) {
            indent_by(b, indent);
        }
        buf_c(b, explicit ? "? " : "");
        if (plain && !explicit) {
            buf_str(b, name);
        } else {
            write_quoted(b, name);
        }
        if (explicit) {
            buf_ch(b, '\n');
            indent_by(b, indent);
        }
        buf_ch(b, ':');
        write_member(b, val, indent, explicit);
    }
}

static void write_list(struct buf *b, yyjson_val *v, size_t indent) {
    size_t i, max;
    yyjson_val *val;
    yyjson_arr_foreach(v, i, max, val) {
        if (i > 0) {
            indent_by(b, indent);
        }
        buf_c(b, "- ");
        if (yyjson_is_obj(val) && yyjson_obj_size(val) > 0) {
            write_map(b, val, indent + 2);
        } else if (yyjson_is_arr(val) && yyjson_arr_size(val) > 0) {
            write_list(b, val, indent + 2);
        } else {
            write_empty_or_scalar(b, val, indent + 2);
        }
    }
}

void yaml_write(struct buf *b, yyjson_val *v) {
    if (yyjson_is_obj(v) && yyjson_obj_size(v) > 0) {
        write_map(b, v, 0);
    } else if (yyjson_is_arr(v) && yyjson_arr_size(v) > 0) {
        write_list(b, v, 0);
    } else {
        write_empty_or_scalar(b, v, 0);
    }
}

/*
 * body_form: the form fields `model` and `stream` of a multipart body (RFC 7578). See body.h.
 *
 * A part begins with "--" and the boundary at the beginning of a line. Only the heads of parts are looked at, and the
 * values of these two fields; what lies in files is passed over by searching for the next boundary. Heads that two
 * servers could read in two ways are refused, so that the model which the gateway looked at is the one that is used.
 */
#include "gateway/body.h"

enum { PARTS_MAX = 256, HEAD_MAX = 4096 };

struct str body_boundary(struct str type) {
    struct str first, rest, part, found = {0};
    str_cut(type, ';', &first, &rest);
    if (!str_eq_nocase(str_trim(first), STR("multipart/form-data"))) {
        return (struct str){0};
    }
    while (str_next(&rest, ';', &part)) {
        struct str name, value;
        str_cut(str_trim(part), '=', &name, &value);
        if (str_eq_nocase(name, STR("boundary"))) {
            if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"') {
                value = str_from(value.p + 1, value.n - 2);
            }
            if (found.n > 0 || value.n > 70) {
                return (struct str){0};
            }
            found = value;
        }
    }
    return found;
}

/* Where `what` begins, from `from` on; the body's end when it does not. */
static size_t find(struct str in, size_t from, struct str what) {
    const char *p = from < in.n ? memmem(in.p + from, in.n - from, what.p, what.n) : NULL;
    return p ? (size_t)(p - in.p) : in.n;
}

static int unclear(struct err *err) {
    return err_set(err, ERR_SYNTAX,
                   "a part of the form has a head that can be read in two ways: expected one "
                   "Content-Disposition: form-data; name=\"...\"");
}

/* "text" or a word, up to the next semicolon. A backslash before a quotation mark is an escape for some, and none for
 * others. False: it is neither. */
static bool cut_value(struct str in, struct str *ret, struct str *ret_rest) {
    if (in.n == 0 || in.p[0] != '"') {
        (void)str_cut(in, ';', ret, ret_rest);
        *ret = str_trim(*ret);
        return str_find(*ret, '"') < 0;
    }
    ptrdiff_t end = str_find(str_skip(in, 1), '"');
    *ret = end < 0 ? (struct str){0} : str_head(str_skip(in, 1), (size_t)end);
    struct str rest = str_trim(str_skip(in, end < 0 ? in.n : (size_t)end + 2));
    *ret_rest = str_skip(rest, 1);
    return end >= 0 && (rest.n == 0 || rest.p[0] == ';') && !str_ends(*ret, STR("\\"));
}

/* The parameter `name` of the value of a Content-Disposition; empty: it has none. */
static int read_disposition(struct str text, struct str *ret, struct err *err) {
    struct str kind, rest, value, name;
    bool named = false;
    (void)str_cut(text, ';', &kind, &rest);
    while (str_trim(rest).n > 0) {
        if (!str_cut(rest, '=', &name, &rest) || !cut_value(str_trim(rest), &value, &rest)) {
            return unclear(err);
        }
        name = str_trim(name);
        if (str_eq_nocase(name, STR("name*")) || str_find(name, ';') >= 0 ||
            (named && str_eq_nocase(name, STR("name")))) {
            return unclear(err);
        }
        if (str_eq_nocase(name, STR("name"))) {
            *ret = value;
            named = true;
        }
    }
    return 0;
}

/* The name of a part's field, by its head, which begins behind the boundary; empty: it has none. */
static int field_name(struct str head, struct str *ret, struct err *err) {
    bool seen = false;
    *ret = (struct str){0};
    if (!str_starts(head, STR("\r\n"))) {
        return unclear(err);
    }
    head = str_skip(head, 2);
    while (head.n > 0) {
        size_t end = find(head, 0, STR("\r\n"));
        struct str line = str_head(head, end), name, value;
        head = str_skip(head, end + 2);
        if (str_find(line, '\r') >= 0 || str_find(line, '\n') >= 0 ||
            !str_cut(line, ':', &name, &value)) {
            return unclear(err);
        }
        if (!str_eq_nocase(str_trim(name), STR("content-disposition"))) {
            continue;
        }
        if (seen) {
            return unclear(err);
        }
        seen = true;
        int code = read_disposition(value, ret, err);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int take_field(struct body_facts *f, struct str name, struct body_span s, struct str value,
                      struct err *err) {
    if (str_is(name, "model")) {
        if (f->has_model) {
            return err_set(err, ERR_BAD_REQUEST, "model: stands twice");
        }
        if (value.n == 0 || value.n > sizeof(f->model)) {
            return err_set(err, ERR_BAD_REQUEST, "model: must be a text of 1 to 512 bytes");
        }
        memcpy(f->model, value.p, value.n);
        f->model_n = value.n;
        f->has_model = true;
        f->model_at = s;
    } else if (str_is(name, "stream")) {
        f->stream = str_eq_nocase(str_trim(value), STR("true"));
    }
    return 0;
}

int body_read_form(struct str body, struct str boundary, struct body_facts *ret, struct err *err) {
    char text[80] = "\r\n--";
    *ret = (struct body_facts){.max_tokens = -1};
    if (boundary.n == 0 || boundary.n > 70) {
        return err_set(err, ERR_BAD_REQUEST, "Content-Type: multipart/form-data needs a boundary");
    }
    memcpy(text + 4, boundary.p, boundary.n);
    struct str mark = str_from(text, boundary.n + 4), first = str_skip(mark, 2);
    if (!str_starts(body, first)) {
        return err_set(err, ERR_SYNTAX, "the body does not begin with its boundary");
    }
    size_t at = first.n;
    for (int part = 0; !str_starts(str_skip(body, at), STR("--")); part++) {
        size_t head = at, end = find(body, at, STR("\r\n\r\n"));
        size_t next = find(body, end, mark);
        if (part == PARTS_MAX || next == body.n || end - head > HEAD_MAX) {
            return err_set(err, ERR_SYNTAX,
                           part == PARTS_MAX ? "the form has too many parts"
                                             : "a part of the form does not end");
        }
        struct body_span s = {end + 4, next > end + 4 ? next - end - 4 : 0};
        struct str name;
        int code = field_name(str_from(body.p + head, end - head), &name, err);
        code = code ? code : take_field(ret, name, s, str_from(body.p + s.at, s.n), err);
        if (code != 0) {
            return code;
        }
        at = next + mark.n;
    }
    return 0;
}

/*
 * body_form: the form fields `model` and `stream` of a multipart body (RFC 7578). See body.h.
 *
 * A part begins with "--" and the boundary at the beginning of a line. Only the heads of parts are looked at, and the
 * values of these two fields; what lies in files is passed over by searching for the next boundary.
 */
#include "gateway/body.h"

enum { PARTS_MAX = 256, HEAD_MAX = 4096 };

struct str body_boundary(struct str type) {
    struct str first, rest, part;
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
            return value.n <= 70 ? value : (struct str){0};
        }
    }
    return (struct str){0};
}

/* Where `what` begins, from `from` on; the body's end when it does not. */
static size_t find(struct str in, size_t from, struct str what) {
    const char *p = from < in.n ? memmem(in.p + from, in.n - from, what.p, what.n) : NULL;
    return p ? (size_t)(p - in.p) : in.n;
}

/* The parameter `name` of a Content-Disposition in the head of a part; empty: none. */
static struct str field_name(struct str head) {
    const struct str mark = STR("name=\"");
    size_t at = 0;
    while ((at = find(head, at, mark)) < head.n) {
        bool whole = at > 0 && (head.p[at - 1] == ' ' || head.p[at - 1] == ';'); /* not filename= */
        struct str rest = str_skip(head, at + mark.n);
        ptrdiff_t end = str_find(rest, '"');
        if (whole && end >= 0) {
            return str_head(rest, (size_t)end);
        }
        at += mark.n;
    }
    return (struct str){0};
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
        int code = take_field(ret, field_name(str_from(body.p + head, end - head)), s,
                              str_from(body.p + s.at, s.n), err);
        if (code != 0) {
            return code;
        }
        at = next + mark.n;
    }
    return 0;
}

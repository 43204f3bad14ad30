/* table: see table.h. */
#include "cli/kit/table.h"

enum { GAP = 3, LAST_MIN = 8 };

static const char *const colours[] = {
    [STYLE_PLAIN] = "",       [STYLE_GOOD] = "\x1b[32m", [STYLE_WAIT] = "\x1b[33m",
    [STYLE_BAD] = "\x1b[31m", [STYLE_DIM] = "\x1b[2m",
};

void table_init(struct table *t, struct arena *a, const char *const *headers, size_t n_columns) {
    *t = (struct table){.arena = a,
                        .headers = headers,
                        .n_columns = n_columns < TABLE_COLUMNS_MAX ? n_columns : TABLE_COLUMNS_MAX};
}

void table_row(struct table *t) {
    if (t->n_rows == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 32, n = t->n_rows * t->n_columns;
        struct str *cells = ARENA_ARRAY(t->arena, struct str, cap * t->n_columns);
        enum table_style *styles = ARENA_ARRAY(t->arena, enum table_style, cap * t->n_columns);
        if (cells == NULL || styles == NULL) {
            return; /* the arena remembers */
        }
        if (n) {
            memcpy(cells, t->cells, n * sizeof(*cells));
            memcpy(styles, t->styles, n * sizeof(*styles));
        }
        t->cells = cells;
        t->styles = styles;
        t->cap = cap;
    }
    t->n_rows++;
}

void table_set(struct table *t, size_t column, enum table_style style, struct str text) {
    if (t->n_rows == 0 || column >= t->n_columns || arena_ok(t->arena) != 0) {
        return;
    }
    size_t at = (t->n_rows - 1) * t->n_columns + column;
    struct str copy = arena_str(t->arena, text);
    for (size_t i = 0; i < copy.n; i++) {
        unsigned char c = (unsigned char)copy.p[i];
        if (c < ' ' || c == 0x7f) {
            ((char *)(uintptr_t)copy.p)[i] = c == '\n' || c == '\t' ? ' ' : '?';
        }
    }
    t->cells[at] = copy;
    t->styles[at] = style;
}

/* Characters: bytes that do not continue one. */
static size_t width_of(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    }
    return n;
}

/* The first n characters. */
static struct str cut(struct str s, size_t n) {
    size_t i = 0;
    for (; i < s.n; i++) {
        if (((unsigned char)s.p[i] & 0xc0) != 0x80 && n-- == 0) {
            break;
        }
    }
    return str_head(s, i);
}

static void add_cell(struct buf *out, struct str s, const char *colour, size_t pad) {
    if (*colour && s.n) {
        buf_c(out, colour);
    }
    buf_str(out, s);
    if (*colour && s.n) {
        buf_c(out, "\x1b[0m");
    }
    for (size_t i = 0; i < pad; i++) {
        buf_ch(out, ' ');
    }
}

static struct str cell(const struct table *t, size_t row, size_t column) {
    struct str s = t->cells[row * t->n_columns + column];
    return s.n ? s : STR("-");
}

void table_write(const struct table *t, bool colour, int width, struct buf *out) {
    size_t widths[TABLE_COLUMNS_MAX] = {0}, before_last = 0, last = t->n_columns - 1;
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = strlen(t->headers[c]);
        for (size_t r = 0; r < t->n_rows; r++) {
            size_t w = width_of(cell(t, r, c));
            widths[c] = w > widths[c] ? w : widths[c];
        }
        before_last += c < last ? widths[c] + GAP : 0;
    }
    size_t room = SIZE_MAX; /* of the last column */
    if (width > 0) {
        bool wide = (size_t)width > before_last + LAST_MIN;
        room = wide ? (size_t)width - before_last : LAST_MIN;
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        struct str h = str_of(t->headers[c]);
        add_cell(out, h, "", c < last ? widths[c] - h.n + GAP : 0);
    }
    buf_ch(out, '\n');
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            struct str s = cell(t, r, c);
            size_t w = width_of(s);
            enum table_style style = t->styles[r * t->n_columns + c];
            s = c == last && w > room ? cut(s, room) : s;
            add_cell(out, s, colour ? colours[style] : "", c < last ? widths[c] - w + GAP : 0);
        }
        buf_ch(out, '\n');
    }
}

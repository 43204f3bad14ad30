/*
 * regex_parse: the text of a regular expression as a tree. See regex.h for what is understood.
 *
 * Recursive descent, bounded by LIMIT_REGEX_DEPTH: alternatives, then pieces in a row, then a piece with its repeats.
 */
#include "base/limits.h"
#include "wire/text/regex_private.h"
#include "wire/text/unicode_category.h"

enum { FLAG_FOLD = 1, FLAG_DOT_NEWLINE = 2, FLAG_LINES = 4, FLAG_LAZY = 8 };
#define LAST_CHAR 0x10FFFFu

struct regex_parser {
    struct arena *a;
    const char *p, *end;
    struct regex_ranges *ranges;
    unsigned flags;
    int depth;
    struct err *err;
    int code;
};

static struct regex_node *parse_alternatives(struct regex_parser *x);

static void *fail(struct regex_parser *x, int code, const char *text) {
    if (x->code == 0) {
        x->code = err_set(x->err, code, "%s", text);
    }
    return NULL;
}

static void *bad(struct regex_parser *x, const char *text) {
    return fail(x, ERR_SYNTAX, text);
}

static bool at(struct regex_parser *x, char c) {
    return x->p < x->end && *x->p == c;
}

static bool take(struct regex_parser *x, char c) {
    bool yes = at(x, c);
    x->p += yes;
    return yes;
}

static bool take_text(struct regex_parser *x, const char *s) {
    size_t n = strlen(s);
    bool yes = (size_t)(x->end - x->p) >= n && memcmp(x->p, s, n) == 0;
    x->p += yes ? n : 0;
    return yes;
}

uint32_t regex_char(const char *p, const char *end, size_t *ret_n) {
    static const struct {
        unsigned char mask, bits;
        uint32_t least;
    } forms[] = {{0x80, 0, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    unsigned char first = (unsigned char)*p;
    for (size_t n = 1; n <= 4; n++) {
        if ((first & forms[n - 1].mask) != forms[n - 1].bits || (size_t)(end - p) < n) {
            continue;
        }
        uint32_t c = first & (unsigned char)~forms[n - 1].mask;
        bool good = true;
        for (size_t i = 1; i < n; i++) {
            good &= ((unsigned char)p[i] & 0xC0) == 0x80;
            c = c << 6 | ((unsigned char)p[i] & 0x3F);
        }
        if (good && c >= forms[n - 1].least && c <= LAST_CHAR) {
            *ret_n = n;
            return c;
        }
    }
    *ret_n = 1;
    return 0xFFFD;
}

static uint32_t next_char(struct regex_parser *x) {
    size_t n;
    uint32_t c = regex_char(x->p, x->end, &n);
    x->p += n;
    return c;
}

static struct regex_node *node(struct regex_parser *x, enum node_type type) {
    struct regex_node *n = ARENA_NEW(x->a, struct regex_node);
    if (n == NULL) {
        return fail(x, ERR_NOMEM, "out of memory");
    }
    n->type = type;
    return n;
}

static void add_range(struct regex_parser *x, uint32_t lo, uint32_t hi) {
    struct regex_ranges *r = x->ranges;
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 32;
        struct regex_range *v =
            cap <= LIMIT_REGEX_INSTS * 4 ? ARENA_ARRAY(x->a, struct regex_range, cap) : NULL;
        if (v == NULL) {
            (void)fail(x, ERR_TOO_LARGE, "the expression is too large");
            return;
        }
        if (r->n > 0) {
            memcpy(v, r->v, r->n * sizeof(*v));
        }
        r->v = v;
        r->cap = cap;
    }
    r->v[r->n++] = (struct regex_range){lo, hi};
}

/* The part of lo..hi that lies in from..to, moved by `by`: the other case of its letters. */
static void add_moved(struct regex_parser *x, uint32_t lo, uint32_t hi, uint32_t from, uint32_t to,
                      int by) {
    uint32_t a = lo > from ? lo : from, b = hi < to ? hi : to;
    if (a <= b) {
        add_range(x, (uint32_t)((int64_t)a + by), (uint32_t)((int64_t)b + by));
    }
}

static void add_folded(struct regex_parser *x, uint32_t lo, uint32_t hi) {
    add_range(x, lo, hi);
    if (x->flags & FLAG_FOLD) {
        add_moved(x, lo, hi, 'a', 'z', -32);
        add_moved(x, lo, hi, 'A', 'Z', 32);
    }
}

/* "az09": pairs of ends; the opposite is what lies between them (they are in order). */
static void add_pairs(struct regex_parser *x, const char *pairs, bool opposite) {
    uint32_t next = 0;
    for (size_t i = 0; pairs[i] != '\0'; i += 2) {
        uint32_t lo = (unsigned char)pairs[i], hi = (unsigned char)pairs[i + 1];
        if (!opposite) {
            add_range(x, lo, hi);
        } else if (lo > next) {
            add_range(x, next, lo - 1);
        }
        next = hi + 1;
    }
    if (opposite) {
        add_range(x, next, LAST_CHAR);
    }
}

/* \d and its like: true when c names one. */
static bool add_escape_class(struct regex_parser *x, char c) {
    static const struct {
        char name;
        const char *pairs;
    } classes[] = {{'d', "09"}, {'s', "\t\n\f\r  "}, {'w', "09AZ__az"}};
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        bool opposite = c == classes[i].name - 32;
        if (c == classes[i].name || opposite) {
            add_pairs(x, classes[i].pairs, opposite);
            return true;
        }
    }
    return false;
}

/* \p{L}, \pL, \P{Lu}, \p{^Nd}: true when there is one at the backslash; it is taken. */
static bool add_unicode_class(struct regex_parser *x) {
    if (x->end - x->p < 3 || x->p[0] != '\\' || (x->p[1] != 'p' && x->p[1] != 'P')) {
        return false;
    }
    bool opposite = x->p[1] == 'P';
    struct str name = str_from(x->p + 2, 1);
    x->p += 3;
    if (name.p[0] == '{') {
        opposite ^= take(x, '^');
        const char *start = x->p;
        while (x->p < x->end && *x->p != '}') {
            x->p++;
        }
        name = str_from(start, (size_t)(x->p - start));
        if (!take(x, '}')) {
            (void)bad(x, "invalid character class range");
            return true;
        }
    }
    uint32_t set = unicode_categories(name);
    if (set == 0) {
        (void)fail(x, ERR_UNSUPPORTED, "of the classes of Unicode only categories are understood");
    }
    add_range(x, REGEX_CATEGORIES, set | (opposite ? REGEX_OPPOSITE : 0));
    return true;
}

static bool add_named_class(struct regex_parser *x) {
    static const struct {
        const char *name, *pairs;
    } classes[] = {
        {"alnum", "09AZaz"},
        {"alpha", "AZaz"},
        {"ascii", "\x01\x7f"},
        {"blank", "\t\t  "},
        {"cntrl", "\x01\x1f\x7f\x7f"},
        {"digit", "09"},
        {"graph", "!~"},
        {"lower", "az"},
        {"print", " ~"},
        {"punct", "!/:@[`{~"},
        {"space", "\t\r  "},
        {"upper", "AZ"},
        {"word", "09AZ__az"},
        {"xdigit", "09AFaf"},
    };
    const char *start = x->p;
    if (!take_text(x, "[:")) {
        return false;
    }
    bool opposite = take(x, '^');
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        const char *back = x->p;
        if (take_text(x, classes[i].name) && take_text(x, ":]")) {
            add_pairs(x, classes[i].pairs, opposite);
            return true;
        }
        x->p = back;
    }
    x->p = start;
    return false;
}

static int digit(char c, int base) {
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return d < base ? d : -1;
}

static uint32_t number(struct regex_parser *x, int base, int most) {
    uint32_t v = 0;
    for (int i = 0; i < most && x->p < x->end && digit(*x->p, base) >= 0; i++) {
        v = v * (uint32_t)base + (uint32_t)digit(*x->p++, base);
    }
    return v;
}

/* Behind a backslash: one character. */
static uint32_t escaped_char(struct regex_parser *x) {
    static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    if (x->p == x->end) {
        (void)bad(x, "trailing backslash at end of expression");
        return 0;
    }
    char c = *x->p;
    const char *known = strchr(names, c);
    if (known != NULL && c != '\0') {
        x->p++;
        return (unsigned char)values[known - names];
    }
    if (c == 'x') {
        x->p++;
        bool braces = take(x, '{');
        uint32_t v = number(x, 16, braces ? 8 : 2);
        if ((braces && !take(x, '}')) || v > LAST_CHAR) {
            (void)bad(x, "invalid escape sequence");
        }
        return v;
    }
    if (c >= '0' && c <= '7') {
        if (c != '0' && (x->p + 1 == x->end || digit(x->p[1], 8) < 0)) {
            (void)bad(x, "invalid escape sequence");
        }
        return number(x, 8, 3);
    }
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '8' && c <= '9');
    if (letter) {
        (void)(c == 'C' ? fail(x, ERR_UNSUPPORTED, "single bytes are not matched")
                        : bad(x, "invalid escape sequence"));
        x->p++;
        return 0;
    }
    return next_char(x);
}

static uint32_t class_char(struct regex_parser *x) {
    return take(x, '\\') ? escaped_char(x) : next_char(x);
}

static void class_item(struct regex_parser *x) {
    if (at(x, '[') && add_named_class(x)) {
        return;
    }
    if (at(x, '\\') && x->p + 1 < x->end && add_escape_class(x, x->p[1])) {
        x->p += 2;
        return;
    }
    if (add_unicode_class(x)) {
        return;
    }
    uint32_t lo = class_char(x), hi = lo;
    if (x->end - x->p >= 2 && x->p[0] == '-' && x->p[1] != ']') {
        x->p++;
        hi = class_char(x);
        if (hi < lo) {
            (void)bad(x, "invalid character class range");
        }
    }
    add_folded(x, lo, hi);
}

static struct regex_node *parse_class(struct regex_parser *x) {
    struct regex_node *n = node(x, NODE_CLASS);
    if (n == NULL) {
        return NULL;
    }
    n->first = (uint32_t)x->ranges->n;
    n->negated = take(x, '^');
    for (bool first = true; first || !at(x, ']'); first = false) {
        if (x->p == x->end) {
            return bad(x, "missing closing ]");
        }
        class_item(x);
        if (x->code != 0) {
            return NULL;
        }
    }
    x->p++;
    n->n = (uint32_t)x->ranges->n - n->first;
    return n;
}

static struct regex_node *one_char(struct regex_parser *x, uint32_t c) {
    struct regex_node *n = node(x, NODE_CLASS);
    if (n != NULL) {
        n->first = (uint32_t)x->ranges->n;
        add_folded(x, c, c);
        n->n = (uint32_t)x->ranges->n - n->first;
    }
    return n;
}

static struct regex_node *parse_dot(struct regex_parser *x) {
    struct regex_node *n = node(x, NODE_CLASS);
    if (n != NULL) {
        n->first = (uint32_t)x->ranges->n;
        if (x->flags & FLAG_DOT_NEWLINE) {
            add_range(x, 0, LAST_CHAR);
        } else {
            add_pairs(x, "\n\n", true);
        }
        n->n = (uint32_t)x->ranges->n - n->first;
    }
    return n;
}

static struct regex_node *assertion(struct regex_parser *x, enum regex_assert check) {
    struct regex_node *n = node(x, NODE_ASSERT);
    if (n != NULL) {
        n->check = check;
    }
    return n;
}

static struct regex_node *cat(struct regex_parser *x, struct regex_node *a, struct regex_node *b) {
    if (a == NULL || a->type == NODE_EMPTY) {
        return b;
    }
    struct regex_node *n = node(x, NODE_CAT);
    if (n != NULL) {
        n->a = a;
        n->b = b;
    }
    return n;
}

/* \Q...\E */
static struct regex_node *parse_quoted(struct regex_parser *x) {
    struct regex_node *all = node(x, NODE_EMPTY);
    while (x->code == 0 && x->p < x->end && !take_text(x, "\\E")) {
        all = cat(x, all, one_char(x, next_char(x)));
    }
    return all;
}

static struct regex_node *parse_escape(struct regex_parser *x) {
    if (x->p == x->end) {
        return bad(x, "trailing backslash at end of expression");
    }
    char c = *x->p;
    static const struct {
        char name;
        enum regex_assert check;
    } checks[] = {{'A', ASSERT_TEXT_START},
                  {'z', ASSERT_TEXT_END},
                  {'b', ASSERT_WORD},
                  {'B', ASSERT_NOT_WORD}};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (c == checks[i].name) {
            x->p++;
            return assertion(x, checks[i].check);
        }
    }
    if (c == 'Q') {
        x->p++;
        return parse_quoted(x);
    }
    struct regex_node *n = node(x, NODE_CLASS);
    size_t first = x->ranges->n;
    if (n != NULL && add_escape_class(x, c)) {
        x->p++;
        n->first = (uint32_t)first;
        n->n = (uint32_t)(x->ranges->n - first);
        return n;
    }
    x->p--; /* to the backslash */
    if (n != NULL && add_unicode_class(x)) {
        n->first = (uint32_t)first;
        n->n = (uint32_t)(x->ranges->n - first);
        return x->code == 0 ? n : NULL;
    }
    x->p++;
    return one_char(x, escaped_char(x));
}

/* The flags behind "(?": true when a group follows, false when they go on to the end of this one. */
static bool parse_flags(struct regex_parser *x) {
    bool set = true;
    while (x->p < x->end) {
        char c = *x->p++;
        unsigned bit = c == 'i'   ? FLAG_FOLD
                       : c == 's' ? FLAG_DOT_NEWLINE
                       : c == 'm' ? FLAG_LINES
                       : c == 'U' ? FLAG_LAZY
                                  : 0;
        if (bit != 0) {
            x->flags = set ? x->flags | bit : x->flags & ~bit;
        } else if (c == '-' && set) {
            set = false;
        } else if (c == ':' || c == ')') {
            return c == ':';
        } else {
            break;
        }
    }
    (void)bad(x, "invalid or unsupported Perl syntax");
    return false;
}

static bool group_name(struct regex_parser *x) {
    const char *start = x->p;
    while (x->p < x->end && *x->p != '>') {
        x->p++;
    }
    return x->p > start && take(x, '>');
}

static struct regex_node *parse_group(struct regex_parser *x) {
    unsigned flags = x->flags;
    if (take_text(x, "?<=") || take_text(x, "?<!")) {
        return bad(x, "invalid or unsupported Perl syntax");
    }
    if (take_text(x, "?P<") || take_text(x, "?<")) {
        if (!group_name(x)) {
            return bad(x, "invalid named capture");
        }
    } else if (take(x, '?') && !parse_flags(x)) {
        return x->code == 0 ? node(x, NODE_EMPTY) : NULL; /* they hold from here on */
    }
    struct regex_node *n = parse_alternatives(x);
    x->flags = flags;
    if (x->code == 0 && !take(x, ')')) {
        return bad(x, "missing closing )");
    }
    return n;
}

static struct regex_node *parse_atom(struct regex_parser *x) {
    char c = *x->p;
    switch (c) {
    case '(':
        x->p++;
        return parse_group(x);
    case '[':
        x->p++;
        return parse_class(x);
    case '.':
        x->p++;
        return parse_dot(x);
    case '^':
        x->p++;
        return assertion(x, x->flags & FLAG_LINES ? ASSERT_LINE_START : ASSERT_TEXT_START);
    case '$':
        x->p++;
        return assertion(x, x->flags & FLAG_LINES ? ASSERT_LINE_END : ASSERT_TEXT_END);
    case '\\':
        x->p++;
        return parse_escape(x);
    case '*':
    case '+':
    case '?':
        return bad(x, "missing argument to repetition operator");
    default:
        return one_char(x, next_char(x));
    }
}

/* {n}, {n,}, {n,m}; false: a brace that is only a brace. */
static bool parse_count(struct regex_parser *x, int *min, int *max) {
    const char *start = x->p;
    int64_t v[2] = {-1, -1};
    if (!take(x, '{')) {
        return false;
    }
    const char *digits = x->p;
    v[0] = number(x, 10, 6);
    bool good = x->p > digits;
    v[1] = v[0];
    if (good && take(x, ',')) {
        digits = x->p;
        v[1] = number(x, 10, 6);
        v[1] = x->p > digits ? v[1] : -1;
    }
    if (!good || !take(x, '}')) {
        x->p = start;
        return false;
    }
    if (v[0] > LIMIT_REGEX_REPEAT || v[1] > LIMIT_REGEX_REPEAT || (v[1] >= 0 && v[1] < v[0])) {
        (void)bad(x, "invalid repeat count");
    }
    *min = (int)v[0];
    *max = (int)v[1];
    return true;
}

static struct regex_node *parse_piece(struct regex_parser *x) {
    struct regex_node *n = parse_atom(x);
    for (bool again = false; x->code == 0; again = true) {
        int min = 0, max = -1;
        if (take(x, '*')) {
            min = 0;
        } else if (take(x, '+')) {
            min = 1;
        } else if (take(x, '?')) {
            max = 1;
        } else if (!parse_count(x, &min, &max)) {
            return n;
        }
        if (again) {
            return bad(x, "invalid nested repetition operator");
        }
        bool lazy = take(x, '?') != ((x->flags & FLAG_LAZY) != 0);
        struct regex_node *r = node(x, NODE_REPEAT);
        if (r == NULL) {
            return NULL;
        }
        r->a = n;
        r->min = min;
        r->max = max;
        r->lazy = lazy;
        n = r;
    }
    return NULL;
}

static struct regex_node *parse_row(struct regex_parser *x) {
    struct regex_node *all = node(x, NODE_EMPTY);
    while (x->code == 0 && x->p < x->end && *x->p != '|' && *x->p != ')') {
        all = cat(x, all, parse_piece(x));
    }
    return all;
}

static struct regex_node *parse_alternatives(struct regex_parser *x) {
    if (++x->depth > LIMIT_REGEX_DEPTH) {
        return fail(x, ERR_TOO_LARGE, "the expression nests too deeply");
    }
    struct regex_node *all = parse_row(x);
    while (x->code == 0 && take(x, '|')) {
        struct regex_node *n = node(x, NODE_ALT), *b = parse_row(x);
        if (n == NULL) {
            return NULL;
        }
        n->a = all;
        n->b = b;
        all = n;
    }
    x->depth--;
    return all;
}

int regex_parse(struct arena *a, struct str pattern, struct regex_ranges *ranges,
                struct regex_node **ret, struct err *err) {
    pattern = pattern.p != NULL ? pattern : STR("");
    struct regex_parser x = {
        .a = a, .p = pattern.p, .end = pattern.p + pattern.n, .ranges = ranges, .err = err};
    if (pattern.n > LIMIT_REGEX_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "a regular expression may have at most %d bytes",
                       LIMIT_REGEX_BYTES);
    }
    struct regex_node *n = parse_alternatives(&x);
    if (x.code == 0 && x.p < x.end) {
        (void)bad(&x, "unexpected )");
    }
    if (x.code == 0) {
        *ret = n;
    }
    return x.code;
}

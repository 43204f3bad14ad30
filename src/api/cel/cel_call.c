/*
 * cel_call: the functions that expressions may call. See cel_int.h.
 *
 * Texts are counted in characters, as CEL does, not in bytes.
 */
#include <math.h>

#include "api/cel/cel_int.h"
#include "base/limits.h"
#include "wire/text/regex.h"
#include "wire/text/time.h"

#define CALL(name_)                                                                                \
    static struct cel_value name_(struct cel_run *r, const struct cel_expr *e,                     \
                                  struct cel_value *v, size_t n)

static struct cel_value no_overload(struct cel_run *r) {
    return cel_error(r, "no such overload");
}

static struct cel_value list_value(const struct cel_list *l) {
    return (struct cel_value){.type = CEL_V_LIST, .list = l};
}

static struct cel_value double_value(double d) {
    return (struct cel_value){.type = CEL_V_DOUBLE, .d = d};
}

static bool are_strings(const struct cel_value *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].type != CEL_V_STRING) {
            return false;
        }
    }
    return true;
}

static bool starts_char(char c) {
    return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t characters(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += starts_char(s.p[i]);
    }
    return n;
}

/* The byte where character `at` begins; s.n at the end; -1 beyond it. */
static ptrdiff_t byte_of(struct str s, int64_t at) {
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (starts_char(s.p[i]) && n++ == at) {
            return (ptrdiff_t)i;
        }
    }
    return n == at ? (ptrdiff_t)s.n : -1;
}

/* ---- conversions ---- */

CALL(call_size) {
    (void)e;
    (void)n;
    if (v[0].type == CEL_V_STRING) {
        return cel_spend(r, v[0].s.n / 64) ? cel_int((int64_t)characters(v[0].s)) : no_overload(r);
    }
    return cel_is_list(v[0]) || cel_is_map(v[0]) ? cel_int((int64_t)cel_size(v[0]))
                                                 : no_overload(r);
}

CALL(call_int) {
    (void)e;
    (void)n;
    int64_t i;
    switch (v[0].type) {
    case CEL_V_INT:
        return v[0];
    case CEL_V_UINT:
        return v[0].u > INT64_MAX ? cel_error(r, "integer overflow") : cel_int((int64_t)v[0].u);
    case CEL_V_DOUBLE:
        return fabs(v[0].d) < 9.2233720368547e18 ? cel_int((int64_t)v[0].d)
                                                 : cel_error(r, "integer overflow");
    case CEL_V_STRING:
        return str_to_i64(v[0].s, &i) ? cel_int(i) : cel_error(r, "cannot convert to int");
    case CEL_V_TIMESTAMP:
        return cel_int(v[0].i / 1000000000);
    default:
        return no_overload(r);
    }
}

CALL(call_uint) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_UINT};
    switch (v[0].type) {
    case CEL_V_UINT:
        return v[0];
    case CEL_V_INT:
        out.u = (uint64_t)v[0].i;
        return v[0].i < 0 ? cel_error(r, "unsigned integer overflow") : out;
    case CEL_V_DOUBLE:
        out.u = v[0].d >= 0 && v[0].d < 1.8446744073709e19 ? (uint64_t)v[0].d : 0;
        return v[0].d >= 0 && v[0].d < 1.8446744073709e19
                   ? out
                   : cel_error(r, "unsigned integer overflow");
    case CEL_V_STRING:
        return str_to_u64(v[0].s, &out.u) ? out : cel_error(r, "cannot convert to uint");
    default:
        return no_overload(r);
    }
}

CALL(call_double) {
    (void)e;
    (void)n;
    char text[64], *end;
    switch (v[0].type) {
    case CEL_V_DOUBLE:
        return v[0];
    case CEL_V_INT:
        return double_value((double)v[0].i);
    case CEL_V_UINT:
        return double_value((double)v[0].u);
    case CEL_V_STRING: {
        double d = str_copy(v[0].s, text, sizeof(text)) ? strtod(text, &end) : 0;
        bool good = v[0].s.n > 0 && v[0].s.n < sizeof(text) && *end == '\0';
        return good ? double_value(d) : cel_error(r, "cannot convert to double");
    }
    default:
        return no_overload(r);
    }
}

CALL(call_string) {
    (void)e;
    (void)n;
    return cel_string_of(r, v[0]);
}

CALL(call_bool) {
    (void)e;
    (void)n;
    if (v[0].type == CEL_V_BOOL) {
        return v[0];
    }
    bool yes = v[0].type == CEL_V_STRING && str_is(v[0].s, "true");
    return yes || (v[0].type == CEL_V_STRING && str_is(v[0].s, "false"))
               ? cel_bool(yes)
               : cel_error(r, "cannot convert to bool");
}

CALL(call_dyn) {
    (void)r;
    (void)e;
    (void)n;
    return v[0];
}

CALL(call_type) {
    (void)r;
    (void)e;
    (void)n;
    return (struct cel_value){.type = CEL_V_TYPE, .s = str_of(cel_type_name(v[0]))};
}

CALL(call_duration) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_DURATION};
    if (v[0].type == CEL_V_DURATION) {
        return v[0];
    }
    return v[0].type == CEL_V_STRING && duration_parse(v[0].s, &out.i, NULL) == 0
               ? out
               : cel_error(r, "cannot convert to duration");
}

CALL(call_timestamp) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_TIMESTAMP};
    if (v[0].type == CEL_V_TIMESTAMP) {
        return v[0];
    }
    return v[0].type == CEL_V_STRING && time_parse(v[0].s, &out.i, NULL) == 0
               ? out
               : cel_error(r, "cannot convert to timestamp");
}

/* ---- texts ---- */

static bool contains(struct str s, struct str part) {
    return part.n == 0 || memmem(s.p, s.n, part.p, part.n) != NULL;
}

CALL(call_contains) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[0].s.n / 32) ? cel_bool(contains(v[0].s, v[1].s))
                                                            : no_overload(r);
}

CALL(call_starts) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[1].s.n / 64) ? cel_bool(str_starts(v[0].s, v[1].s))
                                                            : no_overload(r);
}

CALL(call_ends) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[1].s.n / 64) ? cel_bool(str_ends(v[0].s, v[1].s))
                                                            : no_overload(r);
}

/* The pattern of the call: compiled with the expression, or now. */
static const struct regex *pattern_of(struct cel_run *r, const struct cel_expr *e, struct str s) {
    struct regex *re;
    if (e->regex != NULL) {
        return e->regex;
    }
    uint64_t had = r->in->arena->steps;
    int code = cel_spend(r, s.n * 10) ? regex_new(r->in->arena, s, &re, NULL) : ERR_TOO_LARGE;
    return cel_spend(r, r->in->arena->steps - had) && code == 0 ? re : NULL;
}

/* The match, paid for: 1, 0, or negative. */
static int find(struct cel_run *r, const struct regex *re, struct str s, size_t from,
                size_t *ret_start, size_t *ret_end) {
    size_t had = cel_left(r), left = had;
    int m = regex_find(re, s, from, &left, ret_start, ret_end);
    return cel_spend(r, m == ERR_TOO_LARGE ? had + 1 : had - left) ? m : ERR_TOO_LARGE;
}

static int matches(struct cel_run *r, const struct regex *re, struct str s) {
    size_t had = cel_left(r), left = had;
    int m = regex_matches(re, s, &left);
    return cel_spend(r, m == ERR_TOO_LARGE ? had + 1 : had - left) ? m : ERR_TOO_LARGE;
}

CALL(call_matches) {
    if (!are_strings(v, n)) {
        return no_overload(r);
    }
    const struct regex *re = pattern_of(r, e, v[1].s);
    int m = re != NULL ? matches(r, re, v[0].s) : -1;
    return m < 0 ? cel_error(r, "the pattern cannot be matched") : cel_bool(m == 1);
}

CALL(call_find) {
    if (!are_strings(v, n)) {
        return no_overload(r);
    }
    const struct regex *re = pattern_of(r, e, v[1].s);
    size_t start = 0, end = 0;
    int m = re != NULL ? find(r, re, v[0].s, 0, &start, &end) : -1;
    return m < 0   ? cel_error(r, "the pattern cannot be matched")
           : m > 0 ? cel_str(str_from(v[0].s.p + start, end - start))
                   : cel_str(STR(""));
}

CALL(call_find_all) {
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    const struct regex *re = are_strings(v, 2) ? pattern_of(r, e, v[1].s) : NULL;
    int64_t most = n > 2 && v[2].type == CEL_V_INT ? v[2].i : -1;
    size_t from = 0, start, end;
    if (re == NULL || l == NULL) {
        return no_overload(r);
    }
    while (from <= v[0].s.n && (most < 0 || (int64_t)l->n < most)) {
        int m = find(r, re, v[0].s, from, &start, &end);
        if (m <= 0) {
            return m < 0 ? cel_error(r, "the pattern cannot be matched") : list_value(l);
        }
        if (cel_push(r, l, cel_str(str_from(v[0].s.p + start, end - start))) != 0) {
            return cel_error(r, "too long");
        }
        from = end > start ? end : end + 1;
    }
    return list_value(l);
}

static struct cel_value change_case(struct cel_run *r, struct str s, char from, char to, int by) {
    struct str copy = cel_spend(r, s.n / 32) ? arena_str(r->in->arena, s) : (struct str){0};
    for (size_t i = 0; copy.p != NULL && i < copy.n; i++) {
        char *c = (char *)(uintptr_t)&copy.p[i];
        *c = *c >= from && *c <= to ? (char)(*c + by) : *c;
    }
    return copy.p != NULL ? cel_str(copy) : cel_error(r, "too long");
}

CALL(call_lower) {
    (void)e;
    return are_strings(v, n) ? change_case(r, v[0].s, 'A', 'Z', 32) : no_overload(r);
}

CALL(call_upper) {
    (void)e;
    return are_strings(v, n) ? change_case(r, v[0].s, 'a', 'z', -32) : no_overload(r);
}

CALL(call_trim) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[0].s.n / 16) ? cel_str(str_trim(v[0].s))
                                                            : no_overload(r);
}

CALL(call_substring) {
    (void)e;
    bool good =
        v[0].type == CEL_V_STRING && v[1].type == CEL_V_INT && (n < 3 || v[2].type == CEL_V_INT);
    if (!good || !cel_spend(r, v[0].s.n / 16)) {
        return no_overload(r);
    }
    ptrdiff_t from = v[1].i < 0 ? -1 : byte_of(v[0].s, v[1].i);
    ptrdiff_t to = n < 3 ? (ptrdiff_t)v[0].s.n : v[2].i < 0 ? -1 : byte_of(v[0].s, v[2].i);
    if (from < 0 || to < 0 || to < from) {
        return cel_error(r, "index out of range: %lld", (long long)v[1].i);
    }
    return cel_str(str_from(v[0].s.p + from, (size_t)(to - from)));
}

CALL(call_char_at) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_STRING || v[1].type != CEL_V_INT) {
        return no_overload(r);
    }
    ptrdiff_t from = v[1].i < 0 ? -1 : byte_of(v[0].s, v[1].i);
    if (from < 0 || !cel_spend(r, v[0].s.n / 16)) {
        return cel_error(r, "index out of range: %lld", (long long)v[1].i);
    }
    size_t end = (size_t)from + ((size_t)from < v[0].s.n);
    while (end < v[0].s.n && !starts_char(v[0].s.p[end])) {
        end++;
    }
    return cel_str(str_from(v[0].s.p + from, end - (size_t)from));
}

static struct cel_value index_in_list(struct cel_run *r, struct cel_value list,
                                      struct cel_value what, bool last) {
    struct cel_cursor c = cel_walk(list);
    struct cel_value k, v;
    int64_t at = -1;
    while (cel_next(&c, &k, &v) && (last || at < 0)) {
        at = cel_equal(r, v, what) ? k.i : at;
    }
    return cel_int(at);
}

static struct cel_value index_of(struct cel_run *r, struct cel_value *v, bool last) {
    if (cel_is_list(v[0])) {
        return index_in_list(r, v[0], v[1], last);
    }
    if (!are_strings(v, 2) || !cel_spend(r, v[0].s.n / 8)) {
        return no_overload(r);
    }
    struct str s = v[0].s, part = v[1].s;
    int64_t at = -1, chars = 0;
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (i < s.n && !starts_char(s.p[i])) {
            continue;
        }
        bool begins = part.n > 0 && i < s.n && s.p[i] == part.p[0];
        if (begins && !cel_spend(r, 1 + part.n / 64)) {
            return cel_error(r, "too long");
        }
        if (str_starts(str_skip(s, i), part)) {
            at = chars;
            if (!last) {
                break;
            }
        }
        chars++;
    }
    return cel_int(at);
}

CALL(call_index_of) {
    (void)e;
    (void)n;
    return index_of(r, v, false);
}

CALL(call_last_index_of) {
    (void)e;
    (void)n;
    return index_of(r, v, true);
}

CALL(call_split) {
    (void)e;
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    int64_t most = n > 2 && v[2].type == CEL_V_INT ? v[2].i : -1;
    if (!are_strings(v, 2) || l == NULL) {
        return no_overload(r);
    }
    struct str rest = v[0].s, by = v[1].s;
    while (most != 0) {
        size_t cut = rest.n;
        if (by.n > 0 && (most < 0 || (int64_t)l->n + 1 < most)) {
            const char *p = memmem(rest.p, rest.n, by.p, by.n);
            cut = p != NULL ? (size_t)(p - rest.p) : rest.n;
        } else if (by.n == 0 && rest.n > 0 && (most < 0 || (int64_t)l->n + 1 < most)) {
            cut = 1;
            while (cut < rest.n && !starts_char(rest.p[cut])) {
                cut++;
            }
        }
        bool end = cut == rest.n;
        if (!(by.n == 0 && rest.n == 0) && cel_push(r, l, cel_str(str_head(rest, cut))) != 0) {
            return cel_error(r, "too long");
        }
        if (end) {
            break;
        }
        rest = str_skip(rest, cut + by.n);
    }
    return list_value(l);
}

CALL(call_join) {
    (void)e;
    struct buf b;
    struct cel_value k, x;
    if (!cel_is_list(v[0]) || (n > 1 && v[1].type != CEL_V_STRING)) {
        return no_overload(r);
    }
    struct cel_cursor c = cel_walk(v[0]);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    bool good = true;
    while (good && cel_next(&c, &k, &x)) {
        good = x.type == CEL_V_STRING && cel_spend(r, 1 + x.s.n / 16);
        buf_str(&b, k.i > 0 && n > 1 ? v[1].s : STR(""));
        buf_str(&b, good ? x.s : STR(""));
    }
    struct str s =
        good && buf_ok(&b) == 0 ? arena_str(r->in->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return s.p != NULL ? cel_str(s) : no_overload(r);
}

CALL(call_replace) {
    (void)e;
    int64_t most = n > 3 && v[3].type == CEL_V_INT ? v[3].i : -1;
    struct buf b;
    if (!are_strings(v, 3) || v[1].s.n == 0 || !cel_spend(r, v[0].s.n / 8)) {
        return no_overload(r);
    }
    struct str rest = v[0].s;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    const char *p;
    while (most-- != 0 && (p = memmem(rest.p, rest.n, v[1].s.p, v[1].s.n)) != NULL &&
           cel_spend(r, 1 + v[2].s.n / 16)) {
        buf_str(&b, str_head(rest, (size_t)(p - rest.p)));
        buf_str(&b, v[2].s);
        rest = str_skip(rest, (size_t)(p - rest.p) + v[1].s.n);
    }
    buf_str(&b, rest);
    struct str s = buf_ok(&b) == 0 ? arena_str(r->in->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return s.p != NULL ? cel_str(s) : cel_error(r, "too long");
}

/* ---- lists ---- */

CALL(call_sum) {
    (void)e;
    (void)n;
    struct cel_cursor c = cel_walk(v[0]);
    struct cel_value k, x, sum = cel_int(0);
    if (!cel_is_list(v[0])) {
        return no_overload(r);
    }
    while (cel_next(&c, &k, &x) && cel_spend(r, 1)) {
        if (k.i == 0 && (x.type == CEL_V_DOUBLE || x.type == CEL_V_DURATION)) {
            sum = (struct cel_value){.type = x.type};
        }
        if (x.type != sum.type) {
            return no_overload(r);
        }
        if (x.type == CEL_V_DOUBLE) {
            sum.d += x.d;
        } else if (__builtin_add_overflow(sum.i, x.i, &sum.i)) {
            return cel_error(r, "integer overflow");
        }
    }
    return sum;
}

static struct cel_value extreme(struct cel_run *r, struct cel_value list, int sign) {
    struct cel_cursor c = cel_walk(list);
    struct cel_value k, x, best = {.type = CEL_V_ERROR};
    int order;
    if (!cel_is_list(list)) {
        return no_overload(r);
    }
    while (cel_next(&c, &k, &x) && cel_spend(r, 1)) {
        if (k.i > 0 && !cel_order(r, x, best, &order)) {
            return no_overload(r);
        }
        best = k.i == 0 || order * sign > 0 ? x : best;
    }
    return best.type == CEL_V_ERROR ? cel_error(r, "min or max of an empty list") : best;
}

CALL(call_min) {
    (void)e;
    (void)n;
    return extreme(r, v[0], -1);
}

CALL(call_max) {
    (void)e;
    (void)n;
    return extreme(r, v[0], 1);
}

CALL(call_sorted) {
    (void)e;
    (void)n;
    struct cel_cursor c = cel_walk(v[0]);
    struct cel_value k, x, last = {0};
    int order;
    while (cel_is_list(v[0]) && cel_next(&c, &k, &x) && cel_spend(r, 1)) {
        if (k.i > 0 && !cel_order(r, last, x, &order)) {
            return no_overload(r);
        }
        if (k.i > 0 && order > 0) {
            return cel_bool(false);
        }
        last = x;
    }
    return cel_is_list(v[0]) ? cel_bool(true) : no_overload(r);
}

/* ---- optional values ---- */

CALL(call_has_value) {
    (void)e;
    (void)n;
    return v[0].type == CEL_V_OPTIONAL ? cel_bool(v[0].some != NULL) : no_overload(r);
}

CALL(call_value) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_OPTIONAL) {
        return no_overload(r);
    }
    return v[0].some != NULL ? *v[0].some : cel_error(r, "optional.none() dereference");
}

CALL(call_or_value) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_OPTIONAL) {
        return no_overload(r);
    }
    return v[0].some != NULL ? *v[0].some : v[1];
}

/* ---- quantities ---- */

CALL(call_quantity) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_QUANTITY};
    bool text = v[0].type == CEL_V_STRING && cel_spend(r, v[0].s.n / 8);
    return text && quantity_parse(v[0].s, &out.q, NULL) == 0
               ? out
               : cel_error(r, "quantities must match the regular expression "
                              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

CALL(call_is_quantity) {
    (void)e;
    (void)n;
    struct quantity q;
    bool text = v[0].type == CEL_V_STRING && cel_spend(r, v[0].s.n / 8);
    return text ? cel_bool(quantity_parse(v[0].s, &q, NULL) == 0) : no_overload(r);
}

static bool quantities(const struct cel_value *v, size_t n) {
    return v[0].type == CEL_V_QUANTITY && (n < 2 || v[1].type == CEL_V_QUANTITY);
}

CALL(call_compare) {
    (void)e;
    return quantities(v, n) ? cel_int(quantity_cmp(v[0].q, v[1].q)) : no_overload(r);
}

CALL(call_greater) {
    (void)e;
    return quantities(v, n) ? cel_bool(quantity_cmp(v[0].q, v[1].q) > 0) : no_overload(r);
}

CALL(call_less) {
    (void)e;
    return quantities(v, n) ? cel_bool(quantity_cmp(v[0].q, v[1].q) < 0) : no_overload(r);
}

CALL(call_sign) {
    (void)e;
    return quantities(v, n) ? cel_int(quantity_sign(v[0].q)) : no_overload(r);
}

/* add and sub: of a quantity, or of a number. */
static struct cel_value change(struct cel_run *r, struct cel_value *v, bool add) {
    struct cel_value other = v[1];
    if (v[0].type == CEL_V_QUANTITY && v[1].type == CEL_V_INT) {
        other = (struct cel_value){.type = CEL_V_QUANTITY, .q = quantity_of(v[1].i, 0)};
    }
    if (v[0].type != CEL_V_QUANTITY || other.type != CEL_V_QUANTITY) {
        return no_overload(r);
    }
    int code = add ? quantity_add(&v[0].q, other.q) : quantity_sub(&v[0].q, other.q);
    return code != 0 ? cel_error(r, "quantity overflow") : v[0];
}

CALL(call_add) {
    (void)e;
    (void)n;
    return change(r, v, true);
}

CALL(call_sub) {
    (void)e;
    (void)n;
    return change(r, v, false);
}

CALL(call_as_integer) {
    (void)e;
    return quantities(v, n) ? cel_int(quantity_value(v[0].q)) : no_overload(r);
}

CALL(call_is_integer) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_QUANTITY) {
        return no_overload(r);
    }
    struct quantity whole = quantity_of(quantity_value(v[0].q), 0);
    return cel_bool(quantity_cmp(whole, v[0].q) == 0);
}

CALL(call_approximate) {
    (void)e;
    return quantities(v, n) ? double_value((double)quantity_milli(v[0].q) / 1000.0)
                            : no_overload(r);
}

/* ---- durations ---- */

static struct cel_value duration_part(struct cel_run *r, struct cel_value v, int64_t unit) {
    return v.type == CEL_V_DURATION ? cel_int(v.i / unit) : no_overload(r);
}

CALL(call_hours) {
    (void)e;
    (void)n;
    return duration_part(r, v[0], INT64_C(3600000000000));
}
CALL(call_minutes) {
    (void)e;
    (void)n;
    return duration_part(r, v[0], INT64_C(60000000000));
}
CALL(call_seconds) {
    (void)e;
    (void)n;
    return duration_part(r, v[0], INT64_C(1000000000));
}
CALL(call_milliseconds) {
    (void)e;
    (void)n;
    return duration_part(r, v[0], INT64_C(1000000));
}

static const struct cel_function functions[] = {
    {"size", false, 1, 1, call_size},
    {"int", false, 1, 1, call_int},
    {"uint", false, 1, 1, call_uint},
    {"double", false, 1, 1, call_double},
    {"string", false, 1, 1, call_string},
    {"bool", false, 1, 1, call_bool},
    {"dyn", false, 1, 1, call_dyn},
    {"type", false, 1, 1, call_type},
    {"duration", false, 1, 1, call_duration},
    {"timestamp", false, 1, 1, call_timestamp},
    {"matches", false, 2, 2, call_matches},
    {"quantity", false, 1, 1, call_quantity},
    {"isQuantity", false, 1, 1, call_is_quantity},
    {"size", true, 0, 0, call_size},
    {"contains", true, 1, 1, call_contains},
    {"startsWith", true, 1, 1, call_starts},
    {"endsWith", true, 1, 1, call_ends},
    {"matches", true, 1, 1, call_matches},
    {"find", true, 1, 1, call_find},
    {"findAll", true, 1, 2, call_find_all},
    {"lowerAscii", true, 0, 0, call_lower},
    {"upperAscii", true, 0, 0, call_upper},
    {"trim", true, 0, 0, call_trim},
    {"substring", true, 1, 2, call_substring},
    {"charAt", true, 1, 1, call_char_at},
    {"indexOf", true, 1, 1, call_index_of},
    {"lastIndexOf", true, 1, 1, call_last_index_of},
    {"split", true, 1, 2, call_split},
    {"join", true, 0, 1, call_join},
    {"replace", true, 2, 3, call_replace},
    {"sum", true, 0, 0, call_sum},
    {"min", true, 0, 0, call_min},
    {"max", true, 0, 0, call_max},
    {"isSorted", true, 0, 0, call_sorted},
    {"hasValue", true, 0, 0, call_has_value},
    {"value", true, 0, 0, call_value},
    {"orValue", true, 1, 1, call_or_value},
    {"compareTo", true, 1, 1, call_compare},
    {"isGreaterThan", true, 1, 1, call_greater},
    {"isLessThan", true, 1, 1, call_less},
    {"sign", true, 0, 0, call_sign},
    {"add", true, 1, 1, call_add},
    {"sub", true, 1, 1, call_sub},
    {"asInteger", true, 0, 0, call_as_integer},
    {"isInteger", true, 0, 0, call_is_integer},
    {"asApproximateFloat", true, 0, 0, call_approximate},
    {"getHours", true, 0, 0, call_hours},
    {"getMinutes", true, 0, 0, call_minutes},
    {"getSeconds", true, 0, 0, call_seconds},
    {"getMilliseconds", true, 0, 0, call_milliseconds},
};

const struct cel_function *cel_function(struct str name, bool method) {
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (functions[i].method == method && str_is(name, functions[i].name)) {
            return &functions[i];
        }
    }
    return NULL;
}

/*
 * cel_text: the functions of texts: searching, cutting, regular expressions, and format. See cel_tree.h.
 *
 * Texts are counted in characters, as CEL does, not in bytes.
 */
#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/text/regex.h"

static struct cel_value no_overload(struct cel_run *r) {
    return cel_error(r, "no such overload");
}

static struct cel_value list_value(const struct cel_list *l) {
    return (struct cel_value){.type = CEL_V_LIST, .list = l};
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

static bool contains(struct str s, struct str part) {
    return part.n == 0 || memmem(s.p, s.n, part.p, part.n) != NULL;
}

CEL_CALL(call_contains) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[0].s.n / 32) ? cel_bool(contains(v[0].s, v[1].s))
                                                            : no_overload(r);
}

CEL_CALL(call_starts) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[1].s.n / 64) ? cel_bool(str_starts(v[0].s, v[1].s))
                                                            : no_overload(r);
}

CEL_CALL(call_ends) {
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

CEL_CALL(call_matches) {
    if (!are_strings(v, n)) {
        return no_overload(r);
    }
    const struct regex *re = pattern_of(r, e, v[1].s);
    int m = re != NULL ? matches(r, re, v[0].s) : -1;
    return m < 0 ? cel_error(r, "the pattern cannot be matched") : cel_bool(m == 1);
}

CEL_CALL(call_find) {
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

CEL_CALL(call_find_all) {
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

CEL_CALL(call_lower) {
    (void)e;
    return are_strings(v, n) ? change_case(r, v[0].s, 'A', 'Z', 32) : no_overload(r);
}

CEL_CALL(call_upper) {
    (void)e;
    return are_strings(v, n) ? change_case(r, v[0].s, 'a', 'z', -32) : no_overload(r);
}

CEL_CALL(call_trim) {
    (void)e;
    return are_strings(v, n) && cel_spend(r, v[0].s.n / 16) ? cel_str(str_trim(v[0].s))
                                                            : no_overload(r);
}

CEL_CALL(call_substring) {
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

CEL_CALL(call_char_at) {
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

/* bound: where the search starts, or for the last one where it may at most start; -1: anywhere. */
static struct cel_value index_of(struct cel_run *r, struct cel_value *v, int64_t bound, bool last) {
    if (!are_strings(v, 2) || !cel_spend(r, v[0].s.n / 8)) {
        return no_overload(r);
    }
    if (bound < -1 || bound > (int64_t)characters(v[0].s)) {
        return cel_error(r, "index out of range: %lld", (long long)bound);
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
        bool allowed = bound < 0 || (last ? chars <= bound : chars >= bound);
        if (allowed && str_starts(str_skip(s, i), part)) {
            at = chars;
            if (!last) {
                break;
            }
        }
        chars++;
    }
    return cel_int(at);
}

CEL_CALL(call_index_of) {
    (void)e;
    return index_of(r, v, n > 2 ? v[2].i : -1, false);
}

CEL_CALL(call_last_index_of) {
    (void)e;
    return index_of(r, v, n > 2 ? v[2].i : -1, true);
}

CEL_CALL(call_split) {
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

CEL_CALL(call_join) {
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

CEL_CALL(call_replace) {
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

static const struct cel_function functions[] = {
    {"matches", false, "ss>b", call_matches},
    {"matches", true, "ss>b", call_matches},
    {"contains", true, "ss>b", call_contains},
    {"startsWith", true, "ss>b", call_starts},
    {"endsWith", true, "ss>b", call_ends},
    {"find", true, "ss>s", call_find},
    {"findAll", true, "ss>[s] ssi>[s]", call_find_all},
    {"lowerAscii", true, "s>s", call_lower},
    {"upperAscii", true, "s>s", call_upper},
    {"trim", true, "s>s", call_trim},
    {"substring", true, "si>s sii>s", call_substring},
    {"charAt", true, "si>s", call_char_at},
    {"indexOf", true, "ss>i ssi>i", call_index_of},
    {"lastIndexOf", true, "ss>i ssi>i", call_last_index_of},
    {"split", true, "ss>[s] ssi>[s]", call_split},
    {"join", true, "[s]>s [s]s>s", call_join},
    {"replace", true, "sss>s sssi>s", call_replace},
};
CEL_FUNCTIONS(cel_text_functions, functions);

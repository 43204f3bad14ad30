/* regex: what matches, where, and what is no expression. */
#include "base/test.h"
#include "wire/regex.h"

static int matches(const char *pattern, const char *text) {
    struct arena a;
    struct regex *re;
    struct err err = {0};
    arena_init(&a, 16 << 20);
    int r = regex_new(&a, str_of(pattern), &re, &err);
    r = r != 0 ? r : regex_matches(re, str_of(text));
    arena_release(&a);
    return r;
}

static void test_matches(void **state) {
    static const struct {
        const char *pattern, *text;
        int want;
    } rows[] = {
        {"a", "xay", 1},
        {"^a$", "a", 1},
        {"^a$", "ab", 0},
        {"a|b", "b", 1},
        {"(ab)+c", "ababc", 1},
        {"a{2,3}$", "aaaa", 1},
        {"^a{2,3}$", "aaaa", 0},
        {"^a{2,}$", "aaaa", 1},
        {"^(a{0,2}b{0,2}){0,2}$", "abab", 1},
        {"[a-c]x", "bx", 1},
        {"[^a-c]x", "bx", 0},
        {"\\d+\\s\\w", "12 z", 1},
        {"\\D", "1", 0},
        {"[[:alpha:]]", "5", 0},
        {"[[:^digit:]]", "5", 0},
        {"(?i)abc", "xABC", 1},
        {"(?i:a)b", "AB", 0},
        {".", "\n", 0},
        {"(?s).", "\n", 1},
        {"(?m)^b$", "a\nb\nc", 1},
        {"^b$", "a\nb", 0},
        {"\\bfoo\\b", "a foo b", 1},
        {"\\bfoo\\b", "afoo", 0},
        {"\\Qa.b\\E", "a.b", 1},
        {"\\Qa.b\\E", "axb", 0},
        {"\\x41", "A", 1},
        {"^.$", "é", 1},
        {"^[à-ü]$", "é", 1},
        {"", "anything", 1},
        {"a{", "a{", 1},
        {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
        {"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", "my-name-1", 1},
        {"^(?P<x>a)(?:b)$", "ab", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (matches(rows[i].pattern, rows[i].text) != rows[i].want) {
            fail_msg("%s on \"%s\" is not %d", rows[i].pattern, rows[i].text, rows[i].want);
        }
    }
}

static void test_refused(void **state) {
    static const char *const bad[] = {"(",     ")",  "[a",  "a**",     "*a",   "a{1001}",
                                      "[z-a]", "\\", "\\8", "(?<=a)b", "(?P<", "a{2,1}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (matches(bad[i], "x") != ERR_SYNTAX) {
            fail_msg("%s is taken", bad[i]);
        }
    }
    assert_int_equal(matches("\\pL", "x"), ERR_UNSUPPORTED);
    assert_int_equal(matches("((a{1000}){1000}){1000}", "x"), ERR_TOO_LARGE);
}

static void test_where(void **state) {
    static const struct {
        const char *pattern, *text;
        size_t start, end;
    } rows[] = {
        {"b+", "abbbc", 1, 4}, {"b+?", "abbbc", 1, 2},    {"a|ab", "ab", 0, 1},
        {"ab|a", "ab", 0, 2},  {"[0-9]+", "a12b3", 1, 3}, {"x*", "aaa", 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct arena a;
        struct regex *re;
        size_t start = 99, end = 99;
        arena_init(&a, 1 << 20);
        assert_int_equal(regex_new(&a, str_of(rows[i].pattern), &re, NULL), 0);
        assert_int_equal(regex_find(re, str_of(rows[i].text), 0, &start, &end), 1);
        assert_int_equal(start, rows[i].start);
        assert_int_equal(end, rows[i].end);
        arena_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

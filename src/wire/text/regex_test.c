/* regex: what matches, where, and what is no expression. */
#include "base/limits.h"
#include "base/test.h"
#include "wire/text/regex.h"

static int matches(const char *pattern, const char *text) {
    struct arena a;
    struct regex *re;
    struct err err = {0};
    arena_init(&a, 16 << 20);
    int r = regex_new(&a, str_of(pattern), &re, &err);
    size_t steps = LIMIT_REGEX_STEPS;
    r = r != 0 ? r : regex_matches(re, str_of(text), &steps);
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
    assert_int_equal(matches("\\p{Greek}", "x"), ERR_UNSUPPORTED);
    assert_int_equal(matches("\\C", "x"), ERR_UNSUPPORTED);
    assert_int_equal(matches("\\p{L", "x"), ERR_SYNTAX);
    assert_int_equal(matches("^\\p{L}+$", "xé日Ω"), 1);
    assert_int_equal(matches("\\pL", "5 _"), 0);
    assert_int_equal(matches("^\\PL+$", "5 _"), 1);
    assert_int_equal(matches("^[\\p{Lu}\\p{Nd}_]+$", "ÄB٣_"), 1);
    assert_int_equal(matches("^[\\p{Lu}]+$", "Äb"), 0);
    assert_int_equal(matches("^[^\\pL]$", "é"), 0);
    assert_int_equal(matches("^\\p{^L}\\p{Any}$", "5é"), 1);
    assert_int_equal(matches("^\\p{Sc}$", "€"), 1);
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
        size_t steps = LIMIT_REGEX_STEPS;
        assert_int_equal(regex_find(re, str_of(rows[i].text), 0, &steps, &start, &end), 1);
        assert_int_equal(start, rows[i].start);
        assert_int_equal(end, rows[i].end);
        arena_release(&a);
    }
}

/* Repeats multiply, of what leaves no instruction, too; what compiling costs is counted and bounded. */
static void test_repeats_multiply(void **state) {
    static const char *const large[] = {"(((){1000}){1000})", "((((){100}){100}){100})",
                                        "((a{100}){100}){100}", "((|){1000}){1000}"};
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        struct arena a;
        struct regex *re;
        struct err err = {0};
        arena_init(&a, 16 << 20);
        assert_int_equal(regex_new(&a, str_of(large[i]), &re, &err), ERR_TOO_LARGE);
        assert_in_range(a.steps, 1, 4 * LIMIT_REGEX_VISITS);
        arena_release(&a);
    }
    assert_int_equal(matches("^(((){10}){10})$", ""), 1);
}

/* A match stops at its allowance and says what it took. */
static void test_steps(void **state) {
    static char text[100000];
    struct arena a;
    struct regex *re;
    size_t steps = sizeof(text) / 2;
    memset(text, 'a', sizeof(text));
    arena_init(&a, 16 << 20);
    assert_int_equal(regex_new(&a, STR("(a|aa)*b"), &re, NULL), 0);
    assert_int_equal(regex_matches(re, str_from(text, sizeof(text)), &steps), ERR_TOO_LARGE);
    assert_int_equal(steps, 0);
    assert_int_equal(regex_matches(re, STR("b"), &steps),
                     ERR_TOO_LARGE); /* none is left for a start */
    steps = 100 * sizeof(text);
    assert_int_equal(regex_matches(re, str_from(text, sizeof(text)), &steps), 0);
    assert_in_range(steps, 1, 100 * sizeof(text) - sizeof(text));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_where),   cmocka_unit_test(test_repeats_multiply),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of near: what was meant, nearest first, and nothing far-fetched. */
#include "cli/kit/near.h"

#include <string.h>

#include "base/test.h"

static void nearest_first(void **state) {
    static const char *const cases[][2] = {
        {"defualt", "default,"},
        {"default", "default,default-2,"},
        {"team-b", "team-a,team-c,"},
        {"TEAM-A", "team-a,team-c,"},
        {"team", "team-a,team-c,"},
        {"team-a-gpu", "team-a,"},
        {"x", ""},
        {"", ""},
        {"somethingelse", ""},
        {"research", "researchers,reserch,"},
    };
    static const struct str names[] = {
        STR("default"),     STR("team-a"),  STR("team-c"),    STR("default"),
        STR("researchers"), STR("reserch"), STR("default-2"), STR("q")};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct str found[NEAR_MOST];
        char text[256] = "";
        size_t n = near_names(str_of(cases[i][0]), names, sizeof(names) / sizeof(*names), found);
        for (size_t k = 0; k < n; k++) {
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s,", STR_ARG(found[k]));
        }
        assert_string_equal(text, cases[i][1]);
    }
}

/* Of many that are near there are the nearest; of names that are too long the beginning counts. */
static void bounded(void **state) {
    static const struct str many[] = {STR("abcdefg1"), STR("abcdefgh2"), STR("abcdexg"),
                                      STR("abcxexg"),  STR("abcdefg"),   STR("abcdefG")};
    struct str found[NEAR_MOST];
    char text[NEAR_LENGTH + 9];
    assert_int_equal(near_names(STR("abcdefg"), many, 6, found), NEAR_MOST);
    assert_str_eq(found[0], STR("abcdefg"));
    assert_str_eq(found[1], STR("abcdefG"));
    assert_str_eq(found[2], STR("abcdefg1"));
    memset(text, 'a', sizeof(text));
    struct str whole = {text, sizeof(text)}, head = {text, sizeof(text) - 1};
    assert_int_equal(near_names(head, &whole, 1, found), 1);
    text[0] = 'b';
    struct str other = {text + 1, sizeof(text) - 1};
    assert_int_equal(near_names(whole, &other, 1, found), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_first),
        cmocka_unit_test(bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

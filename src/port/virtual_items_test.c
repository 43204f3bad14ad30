/* Tests of virtual_items: what is news, what is gone, what does not count, limits, no memory. */
#include "port/virtual_items.h"

#include "base/mem.h"
#include "base/test.h"

#define ONE(name, rest) "{\"metadata\":{\"name\":\"" name "\"}" rest "}"

static int set(struct virtual_items *t, const char *json) {
    return virtual_items_set(t, str_of(json), NULL);
}

static const struct virtual_item *get(const struct virtual_items *t, const char *key) {
    return map_get(&t->map, str_of(key));
}

static void test_changes(void **state) {
    struct virtual_items t = {.max = 1 << 20};
    assert_int_equal(set(&t, "{\"items\":[" ONE("a", "") "," ONE("b", ",\"n\":1") "]}"), 0);
    assert_int_equal(t.version, 1);
    assert_int_equal(get(&t, "/a")->added, 1);
    assert_int_equal(set(&t, "{\"items\":[" ONE("b", ",\"n\":1") "," ONE("a", "") "]}"), 0);
    assert_int_equal(t.version, 1); /* in another order */
    assert_int_equal(set(&t, "{\"items\":[" ONE("b", ",\"n\":2") "," ONE("c", "") "]}"), 0);
    assert_int_equal(t.version, 2);
    assert_int_equal(get(&t, "/a")->gone, 2);
    assert_int_equal(get(&t, "/b")->added, 1);
    assert_int_equal(get(&t, "/b")->changed, 2);
    assert_int_equal(get(&t, "/c")->added, 2);
    virtual_items_forget(&t, 1);
    assert_non_null(get(&t, "/a"));
    assert_int_equal(set(&t, "{\"items\":[" ONE("a", "") "]}"), 0); /* there again, the same */
    assert_int_equal(get(&t, "/a")->gone, 0);
    assert_int_equal(get(&t, "/a")->added, 3);
    virtual_items_forget(&t, 3);
    assert_null(get(&t, "/b"));
    assert_int_equal(t.bytes, strlen(ONE("a", "")));
    assert_int_equal(set(&t, ""), 0);
    assert_int_equal(get(&t, "/a")->gone, 4);
    virtual_items_release(&t);
}

static void test_one_and_when(void **state) {
    struct virtual_items t = {.max = 1 << 20};
#define MADE(when, v)                                                                              \
    "{\"computed\":\"" when "\",\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"},"                \
    "\"status\":{\"v\":" v ",\"computed\":\"" when "\"}}"
    assert_int_equal(set(&t, MADE("1", "1")), 0);
    assert_str_eq(get(&t, "x/a")->text, STR(MADE("1", "1")));
    assert_int_equal(set(&t, MADE("2", "1")), 0);
    assert_int_equal(t.version, 1);
    assert_int_equal(set(&t, MADE("2", "2")), 0);
    assert_int_equal(t.version, 2);
    assert_str_eq(get(&t, "x/a")->text, STR(MADE("2", "2")));
    virtual_items_release(&t);
}

static void test_limits(void **state) {
    struct virtual_items t = {.max = 60};
    struct err err = {0};
    const char *big = ONE("a", ",\"n\":\"0123456789\"");
    assert_int_equal(set(&t, big), 0);
    assert_int_equal(set(&t, ONE("a", ",\"n\":\"9876543210\"")), 0); /* in its place */
    assert_int_equal(set(&t, "{\"items\":[1]}"), ERR_SYNTAX);
    assert_int_equal(set(&t, "{"), ERR_SYNTAX);
    virtual_items_release(&t);
    t = (struct virtual_items){.max = 60};
    assert_int_equal(
        virtual_items_set(&t, STR(ONE("a", ",\"n\":\"0123456789012345678901234567890\"")), &err),
        ERR_TOO_LARGE);
    assert_true(str_contains(str_of(err.text), STR("ask for less")));
    virtual_items_release(&t);
    t = (struct virtual_items){.max = 60};
    assert_int_equal(set(&t, "{\"items\":[" ONE("a", "") "," ONE("b", "") "]}"), ERR_TOO_LARGE);
    virtual_items_release(&t);
}

static void test_no_memory(void **state) {
    for (uint64_t n = 1;; n++) {
        struct virtual_items t = {.max = 1 << 20};
        mem_fault(n, 0);
        int r = set(&t, "{\"items\":[" ONE("a", "") "," ONE("b", "") "]}");
        bool hit = mem_fault_hit() != 0;
        mem_fault(0, 0);
        virtual_items_release(&t);
        if (!hit) {
            assert_int_equal(r, 0);
            return;
        }
        assert_true(r == 0 || r == ERR_NOMEM || r == ERR_TOO_LARGE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes), cmocka_unit_test(test_one_and_when),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

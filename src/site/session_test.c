/* Tests of sessions: who is signed in, until when, and what headers say. */
#include "site/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"
#include "base/virtual_clock.h"

struct bed {
    struct virtual_clock clock;
    struct sessions *s;
};

static int setup(void **state) {
    static struct bed b;
    b = (struct bed){0};
    virtual_clock_init(&b.clock, 0);
    b.s = sessions_new(&b.clock.clock, STR("/var/lib/berth"));
    *state = &b;
    return b.s ? 0 : -1;
}

static int teardown(void **state) {
    struct bed *b = *state;
    sessions_free(b->s);
    virtual_clock_release(&b->clock);
    return 0;
}

static struct session_who ana(void) {
    static const struct str groups[] = {{"vision", 6}, {"system:authenticated", 20}};
    return (struct session_who){
        .user = STR("ana"), .groups = groups, .n_groups = 2, .token = STR("berth_secret")};
}

static void test_open_find_close(void **state) {
    struct bed *b = *state;
    struct session_who w = ana();
    char id[SESSION_ID_MAX], other[SESSION_ID_MAX];
    struct err err = {0};
    assert_ok(sessions_open(b->s, &w, id, &err), &err);
    assert_ok(sessions_open(b->s, &w, other, &err), &err);
    assert_string_not_equal(id, other);
    const struct session *one = sessions_find(b->s, str_of(id));
    assert_non_null(one);
    assert_str_eq(one->who.user, STR("ana"));
    assert_str_eq(one->who.token, STR("berth_secret"));
    assert_int_equal(one->who.n_groups, 2);
    assert_str_eq(one->who.groups[1], STR("system:authenticated"));
    uint64_t number = one->number;
    assert_ptr_equal(sessions_numbered(b->s, number), one);
    assert_null(sessions_find(b->s, STR("")));
    assert_null(sessions_find(b->s, STR("nobody")));
    assert_null(sessions_find(b->s, str_of(one->key))); /* what is stored opens nothing */
    sessions_close(b->s, one);
    assert_null(sessions_find(b->s, str_of(id)));
    assert_null(sessions_numbered(b->s, number));
    assert_non_null(sessions_find(b->s, str_of(other)));
}

enum { MASK = 0x55, SECRET_LEN = 25 };

/* A secret that stands nowhere but in what is made of it: only masked is it in the program. */
static void unmask(char out[SECRET_LEN]) {
    static volatile const unsigned char masked[SECRET_LEN] = {
        0x37, 0x30, 0x27, 0x21, 0x3d, 0x0a, 0x3a, 0x33, 0x0a, 0x3b, 0x3a, 0x37, 0x3a,
        0x31, 0x2c, 0x0a, 0x37, 0x20, 0x21, 0x0a, 0x21, 0x30, 0x26, 0x21, 0x26};
    for (size_t i = 0; i < SECRET_LEN; i++) {
        out[i] = (char)(masked[i] ^ MASK);
    }
}

/* How often it stands in the memory of the process but for the stacks. */
static size_t times_in_memory(void) {
    static volatile char wanted[SECRET_LEN]; /* masked again, so that it does not find itself */
    unmask((char *)(uintptr_t)wanted);
    for (size_t i = 0; i < SECRET_LEN; i++) {
        wanted[i] ^= MASK;
    }
    char line[512];
    size_t n = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        static char page[1 << 16];
        if (strstr(line, "rw-p") == NULL || strstr(line, "[stack") ||
            sscanf(line, "%lx-%lx", &from, &to) != 2 || to - from > (64UL << 20)) {
            continue;
        }
        for (unsigned long at = from; at < to; at += sizeof(page) - SECRET_LEN) {
            size_t want = to - at < sizeof(page) ? to - at : sizeof(page);
            ssize_t got = at <= (uintptr_t)page && (uintptr_t)page < at + want
                              ? 0
                              : pread(memory, page, want, (off_t)at);
            for (ssize_t i = 0; i + SECRET_LEN <= got; i++) {
                size_t k = 0;
                while (k < SECRET_LEN && (char)(page[i + (ssize_t)k] ^ MASK) == wanted[k]) {
                    k++;
                }
                n += k == SECRET_LEN;
            }
        }
        explicit_bzero(page, sizeof(page));
    }
    fclose(maps);
    close(memory);
    return n;
}

static void test_nothing_is_left_of_a_token(void **state) {
    struct bed *b = *state;
    struct session_who w = ana();
    struct err err = {0};
    char id[SESSION_ID_MAX], text[SECRET_LEN];
    for (int how = 0; how < 3; how++) {
        unmask(text);
        w.token = str_from(text, sizeof(text));
        w.expires_ns = clock_wall(&b->clock.clock) + NS_PER_SEC;
        assert_ok(sessions_open(b->s, &w, id, &err), &err);
        explicit_bzero(text, sizeof(text));
        assert_true(times_in_memory() > 0);
        if (how == 0) {
            sessions_close(b->s, sessions_find(b->s, str_of(id)));
        } else if (how == 1) {
            virtual_clock_run(&b->clock, 2 * NS_PER_SEC);
            assert_null(sessions_find(b->s, str_of(id)));
        } else {
            sessions_free(b->s);
            b->s = NULL;
        }
        assert_int_equal(times_in_memory(), 0);
    }
}

static void test_ends(void **state) {
    struct bed *b = *state;
    struct session_who w = ana();
    char id[SESSION_ID_MAX];
    struct err err = {0};
    int64_t now = clock_wall(&b->clock.clock);
    w.expires_ns = now + 60 * NS_PER_SEC;
    assert_ok(sessions_open(b->s, &w, id, &err), &err);
    virtual_clock_run(&b->clock, 59 * NS_PER_SEC);
    assert_non_null(sessions_find(b->s, str_of(id)));
    virtual_clock_run(&b->clock, 1 * NS_PER_SEC);
    assert_null(sessions_find(b->s, str_of(id)));
    assert_int_equal(sessions_open(b->s, &w, id, &err), ERR_UNAUTHORIZED);
    w.expires_ns = now + 1000 * SESSION_MAX_NS; /* no session lasts as long as such a token */
    assert_ok(sessions_open(b->s, &w, id, &err), &err);
    virtual_clock_run(&b->clock, SESSION_MAX_NS - NS_PER_SEC);
    assert_non_null(sessions_find(b->s, str_of(id)));
    virtual_clock_run(&b->clock, NS_PER_SEC);
    assert_null(sessions_find(b->s, str_of(id)));
    assert_int_equal(sessions_count(b->s), 0);
}

static void test_limits(void **state) {
    struct bed *b = *state;
    struct session_who w = ana();
    char first[SESSION_ID_MAX], id[SESSION_ID_MAX], name[32];
    struct err err = {0};
    assert_ok(sessions_open(b->s, &w, first, &err), &err);
    for (int i = 1; i < SESSIONS_OF_USER; i++) {
        assert_ok(sessions_open(b->s, &w, id, &err), &err);
    }
    assert_non_null(sessions_find(b->s, str_of(first)));
    assert_ok(sessions_open(b->s, &w, id, &err), &err);
    assert_null(sessions_find(b->s, str_of(first))); /* the oldest made room */
    assert_int_equal(sessions_count(b->s), SESSIONS_OF_USER);
    for (int i = SESSIONS_OF_USER; i < SESSIONS_MAX; i++) {
        snprintf(name, sizeof(name), "user-%d", i);
        w.user = str_of(name);
        assert_ok(sessions_open(b->s, &w, id, &err), &err);
    }
    w.user = STR("one-too-many");
    assert_int_equal(sessions_open(b->s, &w, id, &err), ERR_TOO_MANY);
    static char big[SESSION_TOKEN_MAX + 1];
    memset(big, 'x', sizeof(big));
    w.token = str_from(big, sizeof(big));
    assert_int_equal(sessions_open(b->s, &w, id, &err), ERR_TOO_LARGE);
}

static void test_codes(void **state) {
    struct bed *b = *state;
    struct session_who w = ana();
    char code[SESSION_ID_MAX], id[SESSION_ID_MAX], late[SESSION_ID_MAX];
    struct err err = {0};
    w.token = STR("");
    assert_ok(sessions_mint(b->s, &w, code, &err), &err);
    assert_null(sessions_find(b->s, str_of(code))); /* a code is no session */
    assert_int_equal(sessions_redeem(b->s, STR("guess"), id, &err), ERR_UNAUTHORIZED);
    assert_int_equal(sessions_redeem(b->s, STR(""), id, &err), ERR_UNAUTHORIZED);
    assert_ok(sessions_redeem(b->s, str_of(code), id, &err), &err);
    assert_str_eq(sessions_find(b->s, str_of(id))->who.user, STR("ana"));
    assert_int_equal(sessions_redeem(b->s, str_of(code), id, &err), ERR_UNAUTHORIZED);
    assert_ok(sessions_mint(b->s, &w, late, &err), &err);
    virtual_clock_run(&b->clock, CODE_NS);
    assert_int_equal(sessions_redeem(b->s, str_of(late), id, &err), ERR_UNAUTHORIZED);
    assert_ok(sessions_mint(b->s, &w, code, &err), &err);
    for (int i = 0; i < CODES_MAX; i++) { /* more than are kept: the oldest is forgotten */
        virtual_clock_run(&b->clock, NS_PER_MS);
        assert_ok(sessions_mint(b->s, &w, late, &err), &err);
    }
    assert_int_equal(sessions_redeem(b->s, str_of(code), id, &err), ERR_UNAUTHORIZED);
    assert_ok(sessions_redeem(b->s, str_of(late), id, &err), &err);
}

static void test_cookie_header(void **state) {
    struct str v;
    const struct str h = STR("a=1; berth-x=abc; berth-x=\"d e\" ;berth-xy=no; =; ;;berth-x");
    assert_true(session_cookie_value(h, STR("berth-x"), 0, &v));
    assert_str_eq(v, STR("abc"));
    assert_true(session_cookie_value(h, STR("berth-x"), 1, &v));
    assert_str_eq(v, STR("d e"));
    assert_false(session_cookie_value(h, STR("berth-x"), 2, &v));
    assert_false(session_cookie_value(h, STR("BERTH-X"), 0, &v));
    assert_false(session_cookie_value(STR(""), STR("berth-x"), 0, &v));
    assert_true(session_cookie_value(STR("berth-x=\""), STR("berth-x"), 0, &v));
    assert_str_eq(v, STR("\""));
}

static void test_origin(void **state) {
    assert_true(session_origin_is(STR("http://localhost:8090"), STR("localhost:8090"), false));
    assert_true(session_origin_is(STR("http://LOCALHOST"), STR("localhost:80"), false));
    assert_true(session_origin_is(STR("https://berth.example"), STR("berth.example"), true));
    assert_true(session_origin_is(STR("https://berth.example"), STR("berth.example:443"), true));
    assert_false(session_origin_is(STR("http://localhost:8091"), STR("localhost:8090"), false));
    assert_false(session_origin_is(STR("https://localhost:8090"), STR("localhost:8090"), false));
    assert_false(session_origin_is(STR("http://berth.example"), STR("berth.example"), true));
    assert_false(session_origin_is(STR("null"), STR("localhost:8090"), false));
    assert_false(session_origin_is(STR(""), STR(""), false));
    assert_false(session_origin_is(STR("http://"), STR(""), false));
    assert_false(session_origin_is(STR("http://evil"), STR("localhost:8090"), false));
}

/* Setting the clock back prolongs nothing. */
static void test_clock_set_back(void **state) {
    struct bed *b = *state;
    struct session_who w = ana();
    char id[SESSION_ID_MAX], code[SESSION_ID_MAX], other[SESSION_ID_MAX];
    struct err err = {0};
    assert_ok(sessions_open(b->s, &w, id, &err), &err);
    assert_ok(sessions_mint(b->s, &w, code, &err), &err);
    virtual_clock_set_wall(&b->clock, b->clock.wall - 30 * 86400 * NS_PER_SEC);
    virtual_clock_run(&b->clock, CODE_NS - 1);
    assert_non_null(sessions_find(b->s, str_of(id)));
    virtual_clock_run(&b->clock, 1);
    assert_int_equal(sessions_redeem(b->s, str_of(code), other, &err), ERR_UNAUTHORIZED);
    virtual_clock_run(&b->clock, SESSION_MAX_NS - CODE_NS - 1);
    assert_non_null(sessions_find(b->s, str_of(id)));
    virtual_clock_run(&b->clock, 1);
    assert_null(sessions_find(b->s, str_of(id)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_find_close, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_left_of_a_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_codes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clock_set_back, setup, teardown),
        cmocka_unit_test(test_cookie_header),
        cmocka_unit_test(test_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* users: pods get numbers of their own, late again; projects keep theirs; both over a restart. */
#include "node/files/testbed.h"

#include "node/sandbox/users.h"

static void begin(struct users *u, const char *dir) {
    struct err err;

    assert_ok(users_init(u, dir, &err), &err);
}

static uid_t take(struct users *u) {
    struct err err;
    uid_t id = 0;

    assert_ok(users_take(u, &id, &err), &err);
    return id;
}

static gid_t group(struct users *u, const char *project) {
    struct err err;
    gid_t id = 0;

    assert_ok(users_group(u, str_of(project), &id, &err), &err);
    return id;
}

static void test_projects_keep_theirs(void **state) {
    char dir[PATH_LEN];
    struct users u;

    test_folder(dir);
    begin(&u, dir);
    gid_t a = group(&u, "a"), b = group(&u, "b");
    assert_int_equal(a, USERS_FIRST);
    assert_int_not_equal(a, b);
    assert_int_equal(group(&u, "a"), a);
    users_release(&u);
    begin(&u, dir);
    assert_int_equal(group(&u, "b"), b);
    assert_int_equal(group(&u, "a"), a);
    assert_int_not_equal(group(&u, "c"), b);
    users_release(&u);
    dir_remove(dir, NULL);
}

/* Also after a kill: what was handed out is not handed out again before the circle has gone round. */
static void test_pods_have_their_own(void **state) {
    char dir[PATH_LEN];
    struct users u;

    test_folder(dir);
    begin(&u, dir);
    uid_t a = take(&u), b = take(&u);
    assert_int_equal(a, USERS_PODS_FIRST);
    assert_int_not_equal(a, b);
    users_give(&u, a);
    uid_t c = take(&u);
    assert_true(c != a && c != b);
    users_release(&u);
    begin(&u, dir);
    assert_true(users_hold(&u, b));
    assert_false(users_hold(&u, 1000));
    assert_false(users_hold(&u, USERS_FIRST));
    uid_t d = take(&u);
    assert_true(d > c);
    users_release(&u);
    dir_remove(dir, NULL);
}

static void test_the_circle(void **state) {
    char dir[PATH_LEN];
    struct users u;
    struct err err;
    uid_t id;

    test_folder(dir);
    begin(&u, dir);
    for (uint32_t i = 0; i < USERS_PODS_MAX; i++) {
        if (i != 77) {
            users_hold(&u, (uid_t)USERS_PODS_FIRST + i);
        }
    }
    u.at = 78;
    assert_int_equal(take(&u), USERS_PODS_FIRST + 77);
    assert_int_equal(users_take(&u, &id, &err), ERR_TOO_MANY);
    users_give(&u, USERS_PODS_FIRST + 5);
    assert_int_equal(take(&u), USERS_PODS_FIRST + 5);
    users_release(&u);
    dir_remove(dir, NULL);
}

/* A damaged file is told of by name, and no number in it makes a project's pods run as a group of the machine. */
static void test_damaged_file(void **state) {
    static const struct {
        const char *text, *told;
        int code;
    } rows[] = {{"", "users.json is empty", ERR_SYNTAX},
                {"  \n", "users.json is empty", ERR_SYNTAX},
                {"{\".\":0,\"team-a\":19000", "users.json is damaged", ERR_SYNTAX},
                {"{\"team-a\":0}", "team-a has group id 0", ERR_INVALID},
                {"{\"team-a\":\"x\"}", "team-a has group id 0", ERR_INVALID}};
    char dir[PATH_LEN];
    struct users u;
    struct err err;

    test_folder(dir);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_ok(file_store(dir, "users.json", str_of(rows[i].text), 0600, &err), &err);
        assert_int_equal(users_init(&u, dir, &err), rows[i].code);
        assert_non_null(strstr(err.text, rows[i].told));
        users_release(&u);
    }
    dir_remove(dir, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_projects_keep_theirs),
        cmocka_unit_test(test_pods_have_their_own),
        cmocka_unit_test(test_the_circle),
        cmocka_unit_test(test_damaged_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

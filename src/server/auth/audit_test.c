/* Tests of audit: what is written, the chain over restarts and rotation, tampering, a disk that is full. */
#include <fcntl.h>
#include <unistd.h>

#include "server/auth/audit.h"
#include "server/auth/policy_fixture.h"
#include "wire/json/json.h"

struct world {
    char dir[64], file[96];
};

static int setup(void **state) {
    static struct world w;
    w = (struct world){.dir = "/tmp/berth-audit-XXXXXX"};
    assert_non_null(mkdtemp(w.dir));
    snprintf(w.file, sizeof(w.file), "%s/audit.log", w.dir);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    unlink(w->file);
    for (int i = 1; i <= AUDIT_FILES; i++) {
        char file[128];
        snprintf(file, sizeof(file), "%s.%d", w->file, i);
        unlink(file);
    }
    rmdir(w->dir);
    return 0;
}

static char *slurp(const char *file, struct str *ret) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    char *text = mem_alloc(1 << 20);
    ssize_t n = read(fd, text, 1 << 20);
    close(fd);
    *ret = str_from(text, (size_t)n);
    return text;
}

static struct audit *open_log(struct world *w, size_t max) {
    struct audit_options o = {.file = w->file, .max_bytes = max};
    struct audit *x = NULL;
    struct err err = {0};
    assert_ok(audit_new(&o, &x, &err), &err);
    return x;
}

static void add(struct audit *x, enum verb verb, const char *verb_name, const char *plural,
                const char *name, int status) {
    struct api_request q = {.resource = true,
                            .verb = verb,
                            .verb_name = str_of(verb_name),
                            .plural = str_of(plural),
                            .name = str_of(name),
                            .ns = STR("team"),
                            .user = fixture_user("alice", NULL, NULL)};
    struct audit_record r = {.req = &q,
                             .peer = STR("127.0.0.1:5"),
                             .status = status,
                             .started_ns = fixture_now,
                             .ended_ns = fixture_now + 1500000,
                             .decision = STR("RBAC: \"x\"")};
    audit_add(x, &r);
}

static size_t lines(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += s.p[i] == '\n';
    }
    return n;
}

static void test_lines(void **state) {
    struct world *w = *state;
    struct audit *x = open_log(w, 0);
    struct str text;
    struct err err = {0};
    struct arena a;
    yyjson_doc *doc;
    add(x, VERB_CREATE, "create", "pods", "p\",\"hash\":\"x", 201);
    add(x, VERB_GET, "get", "pods", "p", 200);    /* plain reads are left out */
    add(x, VERB_GET, "get", "secrets", "s", 200); /* but not of Secrets */
    add(x, VERB_LIST, "list", "pods", "", 403);   /* and not refusals */
    audit_free(x);
    char *bytes = slurp(w->file, &text);
    assert_int_equal(lines(text), 3);
    assert_ok(audit_check(text, NULL, NULL, &err), &err);
    arena_init(&a, 1 << 20);
    struct str line;
    struct str rest = text;
    assert_true(str_next(&rest, '\n', &line));
    assert_ok(json_parse(&a, line, &doc, &err), &err);
    yyjson_val *v = yyjson_doc_get_root(doc);
    assert_str_eq(json_str_at(v, "user"), STR("alice"));
    assert_str_eq(json_str_at(v, "name"), STR("p\",\"hash\":\"x"));
    assert_int_equal(json_i64_at(v, "us", 0), 1500);
    assert_int_equal(json_i64_at(v, "code", 0), 201);
    arena_release(&a);
    mem_free(bytes);
}

/* A session is no read, though it is asked for with GET, and its command stands there, within bounds. */
static void test_session_line(void **state) {
    static char longer[2000];
    struct world *w = *state;
    struct audit *x = open_log(w, 0);
    struct str_pair query[] = {{STR("container"), STR("main")},
                               {STR("command"), STR("sh")},
                               {STR("command"), STR("echo \"hi\"")},
                               {STR("command"), str_from(longer, sizeof(longer))}};
    struct api_request q = {.resource = true,
                            .verb = VERB_GET,
                            .verb_name = STR("get"),
                            .plural = STR("pods"),
                            .subresource = STR("exec"),
                            .name = STR("p"),
                            .query = query,
                            .n_query = 3,
                            .user = fixture_user("alice", NULL, NULL)};
    struct audit_record r = {.req = &q, .status = 101};
    struct str text;
    memset(longer, 'x', sizeof(longer));
    audit_add(x, &r);
    q.n_query = 4;
    audit_add(x, &r);
    audit_free(x);
    char *bytes = slurp(w->file, &text);
    assert_int_equal(lines(text), 2);
    assert_true(str_contains(text, STR("\"name\":\"p\",\"container\":\"main\",\"command\":[\"sh\","
                                       "\"echo \\\"hi\\\"\"],\"code\":101")));
    assert_true(str_contains(text, STR("xxx\",\"...\"],\"code\":101")));
    assert_true(text.n < 3000);
    mem_free(bytes);
}

static void test_tampering_shows(void **state) {
    struct world *w = *state;
    struct audit *x = open_log(w, 0);
    struct str text;
    for (int i = 0; i < 5; i++) {
        add(x, VERB_DELETE, "delete", "pods", "p", 200);
    }
    audit_free(x);
    char *bytes = slurp(w->file, &text);
    assert_int_equal(audit_check(text, NULL, NULL, NULL), 0);
    for (size_t i = 0; i < text.n; i += 5) {
        bytes[i] ^= 1;
        assert_int_equal(audit_check(text, NULL, NULL, NULL), ERR_INVALID);
        bytes[i] ^= 1;
    }
    /* a line taken out */
    size_t first = (size_t)str_find(text, '\n') + 1,
           second = first + (size_t)str_find(str_skip(text, first), '\n') + 1;
    memmove(bytes + first, bytes + second, text.n - second);
    assert_int_equal(audit_check(str_head(text, text.n - (second - first)), NULL, NULL, NULL),
                     ERR_INVALID);
    mem_free(bytes);
}

static void test_goes_on_after_restart(void **state) {
    struct world *w = *state;
    struct str text;
    struct err err = {0};
    for (int i = 0; i < 3; i++) {
        struct audit *x = open_log(w, 0);
        add(x, VERB_CREATE, "create", "pods", "p", 201);
        add(x, VERB_CREATE, "create", "pods", "q", 201);
        audit_free(x);
    }
    char *bytes = slurp(w->file, &text);
    assert_int_equal(lines(text), 6);
    assert_ok(audit_check(text, NULL, NULL, &err), &err);
    assert_true(str_contains(text, STR("{\"seq\":6,")));
    mem_free(bytes);
    /* a torn last line spoils only itself */
    int fd = open(w->file, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "{\"seq\":7,\"to", 12), 12);
    close(fd);
    struct audit *x = open_log(w, 0);
    add(x, VERB_CREATE, "create", "pods", "r", 201);
    audit_free(x);
    bytes = slurp(w->file, &text);
    assert_int_equal(lines(text), 8);
    assert_int_equal(audit_check(text, NULL, NULL, &err), ERR_INVALID);
    assert_string_equal(err.text, "line 7 was changed or is torn");
    mem_free(bytes);
}

static void test_rotation(void **state) {
    struct world *w = *state;
    struct audit *x = open_log(w, 1000);
    char last[AUDIT_HASH_TEXT + 1] = "";
    struct err err = {0};
    for (int i = 0; i < 20; i++) {
        add(x, VERB_CREATE, "create", "pods", "p", 201);
    }
    audit_free(x);
    size_t seen = 0;
    for (int i = AUDIT_FILES; i >= 0; i--) {
        char file[128];
        struct str text;
        snprintf(file, sizeof(file), i ? "%s.%d" : "%s", w->file, i);
        if (access(file, F_OK) != 0) {
            continue;
        }
        char *bytes = slurp(file, &text);
        seen += lines(text);
        assert_ok(audit_check(text, last[0] ? last : NULL, last, &err), &err);
        mem_free(bytes);
    }
    assert_true(seen >= 12 && seen <= 20); /* the oldest files are gone */
}

static void test_full_disk(void **state) {
    struct audit_options o = {.file = "/dev/full"};
    struct audit *x = NULL;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    assert_int_equal(audit_new(&o, &x, NULL), 0);
    for (int i = 0; i < 40000; i++) {
        add(x, VERB_CREATE, "create", "pods", "p", 201);
    }
    assert_true(audit_lost(x) > 0); /* bounded, and counted */
    audit_free(x);
}

static void add_at(struct audit *x, uint64_t revision) {
    struct api_request q = {.resource = true,
                            .verb = VERB_CREATE,
                            .verb_name = STR("create"),
                            .plural = STR("pods"),
                            .name = STR(",\"revision\":99,"),
                            .user = fixture_user("alice", NULL, NULL)};
    const struct audit_record r = {.req = &q, .status = 201, .revision = revision};
    audit_add(x, &r);
}

/* The newest revision of a whole line; names, torn and changed lines say none. */
static void test_revision(void **state) {
    struct world *w = *state;
    assert_int_equal(audit_revision(w->file), 0);
    struct audit *x = open_log(w, 0);
    add_at(x, 7);
    add_at(x, 12);
    add_at(x, 11);
    audit_free(x);
    assert_int_equal(audit_revision(w->file), 12);
    struct str text;
    char *bytes = slurp(w->file, &text);
    ptrdiff_t at = (char *)memmem(text.p, text.n, "\"revision\":12", 13) - bytes;
    int fd = open(w->file, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\"revision\":82", 13, at), 13);
    assert_int_equal(audit_revision(w->file), 11);
    assert_int_equal(ftruncate(fd, (off_t)text.n - 4), 0);
    assert_int_equal(audit_revision(w->file), 7);
    close(fd);
    mem_free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_session_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_revision, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tampering_shows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_goes_on_after_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rotation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
    };
    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}

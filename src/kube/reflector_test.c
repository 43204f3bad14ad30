/* Tests of the reflector against a scripted server: streams, the way back to lists, pages, expiry. */
#include "kube/reflector.h"

#include "base/limits.h"
#include "kube/fake_server.h"
#include "mirror/fake_kind.h"

#define META(name, rv)                                                                             \
    "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name                    \
    "\",\"resourceVersion\":\"" rv "\"}"
#define EVENT(type, name, rv)                                                                      \
    "{\"type\":\"" type                                                                            \
    "\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," META(name, rv) "}}\n"
#define BOOKMARK(rv)                                                                               \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","             \
    "\"metadata\":"                                                                                \
    "{\"resourceVersion\":\"" rv                                                                   \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define EXPIRED                                                                                    \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"too old\","   \
    "\"reason\":\"Expired\",\"code\":410}"

struct notes {
    struct log log; /* first: cast back */
    int n;
    char last[512];
};

struct bed {
    struct fake_server f;
    struct notes notes;
    struct mirror *m;
    struct reflector *r;
    int synced;
};
static struct bed b;

static void on_synced(void *ctx) {
    b.synced++;
}

static void on_log(struct log *l, enum log_level level, struct str line) {
    struct notes *n = (struct notes *)(void *)l;
    n->n++;
    str_copy(line, n->last, sizeof(n->last));
}

static void start_with(const struct fake_answer *script, size_t n, size_t stop_at,
                       int64_t silence_ms) {
    struct err err;
    b = (struct bed){.notes = {.log = {LOG_DEBUG, on_log}}};
    fake_start(&b.f, script, n);
    b.f.stop_at = stop_at;
    struct mirror_options mo = {.clock = loop_clock(b.f.loop)};
    b.m = mirror_new(&mo);
    struct reflector_options o = {.kind = &fake_map,
                                  .label_selector = STR("a=b"),
                                  .synced = on_synced,
                                  .log = &b.notes.log,
                                  .silence_ms = silence_ms};
    b.r = reflector_start(b.f.client, b.m, &o, &err);
    assert_non_null(b.r);
}

static void start(const struct fake_answer *script, size_t n, size_t stop_at) {
    start_with(script, n, stop_at, 0);
}

static uint64_t skipped(void) {
    struct reflector_stats s;
    reflector_stats(b.r, &s);
    return s.skipped;
}

static void stop(void) {
    reflector_free(b.r);
    fake_stop(&b.f);
    mirror_free(b.m);
}

static bool has(const char *name, uint64_t rv) {
    const struct object *o = mirror_get(b.m, &fake_map, STR("n"), str_of(name));
    return o && o->rv == rv;
}

/* The i-th request that was seen. */
static struct str request(size_t i) {
    struct str rest = buf_view(&b.f.seen), part = {0};
    for (size_t k = 0; k <= i; k++) {
        assert_true(str_next(&rest, '|', &part));
    }
    return part;
}

static void test_stream(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "y", "4") BOOKMARK("5")
             EVENT("MODIFIED", "x", "6") EVENT("DELETED", "y", "7")},
    };
    start(script, 1, 2); /* the stream ended cleanly: the watch goes on from its last revision */
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(reflector_synced(b.r));
    assert_true(has("x", 6));
    assert_int_equal(mirror_count(b.m, &fake_map), 1);
    assert_true(
        str_starts(request(0), STR("GET /api/v1/configmaps?labelSelector=a%3Db&watch=true&")));
    assert_true(str_contains(request(0), STR("&sendInitialEvents=true&resourceVersionMatch="
                                             "NotOlderThan")));
    assert_true(str_contains(request(1), STR("&resourceVersion=7")));
    assert_false(str_contains(request(1), STR("sendInitialEvents")));
    stop();
}

static void test_list_in_pages(void **state) {
    static const struct fake_answer script[] = {
        {.status = 422, .body = "{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\"}"},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\","
                 "\"continue\":\"p2\"},\"items\":[{" META("x", "3") "}]}"},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\"},"
                 "\"items\":[{" META("y", "4") "}]}"},
    };
    start(script, 3, 4);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(has("x", 3) && has("y", 4));
    assert_true(str_contains(request(1), STR("limit=500")));
    assert_true(str_contains(request(2), STR("continue=p2")));
    assert_true(str_contains(request(3), STR("watch=true")));
    assert_true(str_contains(request(3), STR("resourceVersion=9")));
    stop();
}

static void test_expired(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "y", "4") BOOKMARK("5")},
        {.status = 200, .stream = true, .body = "{\"type\":\"ERROR\",\"object\":" EXPIRED "}\n"},
        {.status = 200, .stream = true, .body = EVENT("ADDED", "y", "20") BOOKMARK("21")},
    };
    start(script, 3, 4);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(str_contains(request(2), STR("sendInitialEvents=true")));
    assert_false(str_contains(request(2), STR("resourceVersion=5")));
    assert_true(has("y", 20));
    assert_false(has("x", 3)); /* vanished while we could not see */
    assert_int_equal(mirror_count(b.m, &fake_map), 1);
    stop();
}

static void test_trouble(void **state) {
    static const struct fake_answer script[] = {
        {.status = 500, .body = "oops"},
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3") "{\"type\":"}, /* cut */
        {.status = 200,
         .stream = true,
         .open = true,
         .body = EVENT("ADDED", "x", "3") BOOKMARK("3")},
    };
    start(script, 3, 3);
    loop_run(b.f.loop); /* two back-offs */
    assert_int_equal(b.synced, 0);
    assert_true(str_contains(request(2), STR("sendInitialEvents=true")));
    stop();
}

static void test_silence(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .open = true,
         .body = EVENT("ADDED", "x", "3") BOOKMARK("5")},
        {.status = 200, .stream = true, .open = true, .body = ""},
        {.status = 200,
         .stream = true,
         .open = true,
         .body = EVENT("ADDED", "y", "8") BOOKMARK("9")},
    };
    start_with(script, 3, 4, 50);
    loop_run(b.f.loop);
    assert_true(str_contains(request(1), STR("&resourceVersion=5"))); /* from where it was */
    assert_false(str_contains(request(1), STR("sendInitialEvents")));
    assert_true(
        str_contains(request(2), STR("sendInitialEvents"))); /* twice in a row: everything */
    assert_true(str_contains(request(2), STR("&resourceVersion=5")));
    assert_true(str_contains(request(3), STR("&resourceVersion=9")));
    assert_true(has("y", 8) && !has("x", 3));
    assert_int_equal(b.synced, 1);
    stop();
}

/* A server that takes the question and never says where its set ends. */
static void test_silent_set(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .open = true, .body = EVENT("ADDED", "x", "3")},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\"},"
                 "\"items\":[{" META("x", "3") "}]}"},
    };
    start_with(script, 2, 3, 50);
    loop_run(b.f.loop);
    assert_true(str_contains(request(1), STR("limit=500")));
    assert_true(str_contains(request(2), STR("&resourceVersion=9")));
    assert_int_equal(b.synced, 1);
    stop();
}

#define TOO_NEW                                                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"code\":504,"             \
    "\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too "          \
    "large\"}]}}"

/* The server was restored from a backup: x is as it was, y was not made yet, z had not been deleted. */
static void test_rewound(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "30") EVENT("ADDED", "y", "31") BOOKMARK("50")},
        {.status = 504, .body = TOO_NEW}, /* the watch */
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "z", "4") BOOKMARK("5")},
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "z", "4") BOOKMARK("5")},
        {.status = 200, .stream = true, .open = true, .body = EVENT("MODIFIED", "x", "6")},
    };
    struct reflector_stats s;
    start(script, 5, 5);
    loop_run(b.f.loop);
    b.f.stop_at = 0;
    assert_true(str_contains(request(1), STR("&resourceVersion=50")));
    assert_false(str_contains(request(2), STR("&resourceVersion=")));
    assert_true(str_contains(request(4), STR("&resourceVersion=5")));
    assert_int_equal(mirror_count(b.m, &fake_map), 2);
    assert_true(has("x", 3) && has("z", 4));
    reflector_stats(b.r, &s);
    assert_int_equal(s.revision, 5);
    stop();
}

#define PAGE(rv, more, items)                                                                      \
    "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"" rv "\"" more                \
    "},\"items\":[" items "]}"
#define NO_STREAM                                                                                  \
    { .status = 422, .body = "{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\"}" }

static void test_rewound_list(void **state) {
    static const struct fake_answer script[] = {
        NO_STREAM,
        {.status = 200, .body = PAGE("50", "", "{" META("x", "30") "},{" META("y", "31") "}")},
        {.status = 410, .body = EXPIRED},
        {.status = 200, .body = PAGE("5", "", "{" META("x", "3") "}")},
    };
    start(script, 4, 5);
    loop_run(b.f.loop);
    assert_false(str_contains(request(3), STR("resourceVersion=")));
    assert_true(str_contains(request(4), STR("&resourceVersion=5")));
    assert_int_equal(mirror_count(b.m, &fake_map), 1);
    assert_true(has("x", 3));
    stop();
}

/* Pages that end before they are read: one answer with all of it, for a page from another time would hide what went. */
static void test_expired_pages(void **state) {
    static const struct fake_answer script[] = {
        NO_STREAM,
        {.status = 200, .body = PAGE("9", ",\"continue\":\"p2\"", "{" META("x", "3") "}")},
        {.status = 410, .body = EXPIRED},
        {.status = 200, .body = PAGE("12", "", "{" META("y", "4") "}")},
    };
    start(script, 4, 5);
    loop_run(b.f.loop);
    assert_true(str_contains(request(2), STR("continue=p2")));
    assert_false(str_contains(request(3), STR("limit=")));
    assert_false(str_contains(request(3), STR("continue=")));
    assert_true(str_contains(request(4), STR("&resourceVersion=12")));
    assert_true(has("y", 4) && !has("x", 3));
    assert_int_equal(b.synced, 1);
    stop();
}

/* Neither what we cannot keep nor what we cannot read holds up what comes after it. */
static void test_not_kept(void **state) {
    struct buf big;
    buf_init(&big, 16 << 20);
    buf_c(&big, EVENT("ADDED", "x", "3") "{\"type\":\"ADDED\",\"object\":{\"data\":{\"a\":\"");
    for (int i = 0; i < LIMIT_OBJECT_BYTES; i++) {
        buf_ch(&big, 'b');
    }
    buf_c(&big, "\"}," META("large", "4") "}}\n{\"type\":\"ADDED\",\"object\":{\"data\":\"");
    for (int i = 0; i < 3 * LIMIT_OBJECT_BYTES; i++) {
        buf_ch(&big, 'c');
    }
    buf_c(&big, "\"}}\n{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n\"}}}\n"
                "{\"type\":\"ADDED\",\"object\":7}\n{\"type\":\"NEW\",\"object\":{}}\n"
                "{\"type\":\"ADDED\",\"object\":{\"data\":");
    for (int i = 0; i < 100; i++) {
        buf_ch(&big, '[');
    }
    for (int i = 0; i < 100; i++) {
        buf_ch(&big, ']');
    }
    buf_c(&big, "}}\n" EVENT("ADDED", "y", "5") BOOKMARK("6") EVENT("MODIFIED", "x", "7"));
    assert_int_equal(buf_ok(&big), 0);
    const struct fake_answer script[] = {{.status = 200, .stream = true, .body = buf_cstr(&big)}};
    start(script, 1, 2);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(has("x", 7) && has("y", 5));
    assert_int_equal(mirror_count(b.m, &fake_map), 2);
    assert_int_equal(skipped(), 5);
    assert_int_equal(b.notes.n, 1); /* once a minute */
    assert_non_null(strstr(b.notes.last, "configmaps n/large: not kept: "));
    assert_true(str_contains(request(1), STR("&resourceVersion=7")));
    stop();
    buf_release(&big);
}

/* What became too large to keep is still there: its last state stays, also after a set. */
static void test_grown(void **state) {
    struct buf big;
    buf_init(&big, 16 << 20);
    buf_c(&big, "{\"type\":\"ADDED\",\"object\":{" META("x", "8") ",\"data\":\"");
    for (int i = 0; i < LIMIT_OBJECT_BYTES; i++) {
        buf_ch(&big, 'b');
    }
    buf_c(&big, "\"}}\n" BOOKMARK("9"));
    const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "y", "4") BOOKMARK("5")},
        {.status = 410, .body = EXPIRED},
        {.status = 200, .stream = true, .body = buf_cstr(&big)},
    };
    start(script, 3, 4);
    loop_run(b.f.loop);
    assert_true(has("x", 3) && !has("y", 4));
    assert_int_equal(skipped(), 1);
    stop();
    buf_release(&big);
}

static void test_bad_line(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3") BOOKMARK("5")},
        {.status = 200, .stream = true, .body = "<html>\n" EVENT("MODIFIED", "x", "6")},
        {.status = 200,
         .stream = true,
         .body =
             "<html>\n<p>\n" EVENT("MODIFIED", "x", "6") "<html>\n" EVENT("MODIFIED", "x", "7")},
    };
    start(script, 3, 4);
    loop_run(b.f.loop);
    assert_true(str_contains(request(2), STR("&resourceVersion=5"))); /* once more from before it */
    assert_true(str_contains(request(3), STR("&resourceVersion=6")));
    assert_true(
        has("x", 6)); /* of the third, what came before the line that was bad for the first time */
    assert_int_equal(skipped(), 2);
    stop();
}

static void test_put_off(void **state) {
    static const struct fake_answer script[] = {
        {.status = 429, .header = "Retry-After: 0", .body = "later"},
        {.status = 500, .header = "Retry-After: 0", .body = "later"},
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3") BOOKMARK("5")},
        {.status = 429, .header = "Retry-After: 0", .body = "later"},
        {.status = 500, .body = "oops"}, /* says nothing of later: our own pause */
    };
    struct reflector_stats s;
    start(script, 5, 6);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(str_contains(request(5), STR("&resourceVersion=5")));
    reflector_stats(b.r, &s);
    assert_int_equal(s.failures, 1);
    stop();
}

/* A stream that worked is no failure: what comes after it pauses as the first one does. */
static void test_worked_between(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3") BOOKMARK("5")},
        {.status = 500, .body = "oops"},
        {.status = 200, .stream = true, .body = EVENT("MODIFIED", "x", "6")},
        {.status = 500, .body = "oops"},
        {.status = 200, .stream = true, .open = true, .body = EVENT("MODIFIED", "x", "7")},
    };
    struct reflector_stats s;
    start(script, 5, 5);
    loop_run(b.f.loop);
    reflector_stats(b.r, &s);
    assert_int_equal(s.failures, 2);
    assert_int_equal(s.pause_ms, 800);
    stop();
}

/* Where a stream does not live long enough for all there is, pages bring it, and one that fails is asked for again. */
static void test_cut_sets(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3")},
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "y", "4")},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\","
                 "\"continue\":\"p2\"},\"items\":[{" META("y", "5") "}]}"},
        {.status = 500, .body = "oops"},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\"},"
                 "\"items\":[{" META("z", "6") "}]}"},
    };
    start(script, 5, 6);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(str_contains(request(1), STR("sendInitialEvents=true")));
    assert_true(str_contains(request(2), STR("limit=500")));
    assert_true(str_contains(request(3), STR("continue=p2")));
    assert_true(str_contains(request(4), STR("continue=p2")));
    assert_true(str_contains(request(5), STR("&resourceVersion=9")));
    assert_true(!has("x", 3) && has("y", 5) && has("z", 6));
    stop();
}

static void test_pause(void **state) {
    static const int64_t want[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    static const int64_t first[] = {200, 400, 800, 1600, 3200, 5000, 5000, 5000};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(reflector_pause_ms(i, true), want[i]);
        assert_int_equal(reflector_pause_ms(i, false), first[i]);
    }
    assert_int_equal(reflector_pause_ms(1 << 20, true), 30000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),        cmocka_unit_test(test_list_in_pages),
        cmocka_unit_test(test_expired),       cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_silence),       cmocka_unit_test(test_silent_set),
        cmocka_unit_test(test_rewound),       cmocka_unit_test(test_rewound_list),
        cmocka_unit_test(test_expired_pages), cmocka_unit_test(test_not_kept),
        cmocka_unit_test(test_grown),         cmocka_unit_test(test_bad_line),
        cmocka_unit_test(test_put_off),       cmocka_unit_test(test_worked_between),
        cmocka_unit_test(test_cut_sets),      cmocka_unit_test(test_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

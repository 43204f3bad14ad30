/* Tests of virtual_watch: when something is asked, whom it is told, what slow and leaving peers see, bounds. */
#include "port/virtual_watch.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"
#include "base/virtual_clock.h"
#include "mirror/fake_kind.h"

#define MS NS_PER_MS

/* ---- a peer, and whoever answers ---- */

struct world {
    struct virtual_clock clock;
    struct mirror *m;
    struct virtual_hub *h;
    const char *now; /* the answer; NULL: `code` */
    int code;
    int64_t takes; /* ns that an answer takes */
    bool later;    /* it comes when answer() is called */
    unsigned asked;
    uint64_t rv;
} world;

struct peer {
    struct virtual_watcher *w;
    virtual_done *done; /* asked, and not answered */
    void *done_ctx;
    char got[64 << 10];
    size_t waiting;
    unsigned begun, ended, cancelled;
    int end_code, write_code;
};

static void tell(virtual_done *done, void *ctx) {
    struct err err = {0};
    if (world.now) {
        done(ctx, 0, str_of(world.now), NULL);
    } else {
        err_set(&err, world.code, "no");
        done(ctx, world.code, (struct str){0}, &err);
    }
}

static int peer_ask(void *ctx, virtual_done *done, void *done_ctx, struct err *err) {
    struct peer *p = ctx;
    world.asked++;
    world.clock.now += world.takes;
    if (world.later) {
        p->done = done;
        p->done_ctx = done_ctx;
        return 0;
    }
    if (world.now == NULL) {
        return err_set(err, world.code, "no");
    }
    tell(done, done_ctx);
    return 0;
}

static void answer(struct peer *p) {
    tell(TAKE(p->done), p->done_ctx);
}

static void peer_cancel(void *ctx) {
    struct peer *p = ctx;
    p->done = NULL;
    p->cancelled++;
}

static void peer_begin(void *ctx) {
    struct peer *p = ctx;
    p->begun++;
}

static int peer_object(void *ctx, struct str json, struct buf *out) {
    buf_str(out, json);
    return 0;
}

static int peer_write(void *ctx, struct str bytes) {
    struct peer *p = ctx;
    size_t n = strlen(p->got);
    assert_true(p->begun == 1 && p->ended == 0 && n + bytes.n < sizeof(p->got));
    memcpy(p->got + n, bytes.p, bytes.n);
    p->got[n + bytes.n] = 0;
    return p->write_code;
}

static size_t peer_waiting(void *ctx) {
    const struct peer *p = ctx;
    return p->waiting;
}

static void peer_end(void *ctx, int code, const struct err *err) {
    struct peer *p = ctx;
    p->w = NULL;
    p->ended++;
    p->end_code = code;
}

static const struct virtual_watch_peer ops = {peer_ask,   peer_cancel,  peer_begin, peer_object,
                                              peer_write, peer_waiting, peer_end};

/* ---- the world ---- */

static int setup(void **state) {
    world = (struct world){.now = "{\"items\":[]}"};
    virtual_clock_init(&world.clock, 0);
    struct mirror_options o = {.clock = &world.clock.clock};
    world.m = mirror_new(&o);
    world.h = virtual_hub_new(&world.clock.clock, world.m);
    assert_true(world.m && world.h);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(virtual_hub_count(world.h), 0);
    virtual_hub_free(world.h);
    mirror_free(world.m);
    virtual_clock_release(&world.clock);
    return 0;
}

static int start_as(struct peer *p, const char *question, const char *user, bool initial_end) {
    *p = (struct peer){0};
    const struct virtual_watch_options o = {.peer = &ops,
                                            .ctx = p,
                                            .kind = &fake_map,
                                            .version = STR("v1"),
                                            .question = str_of(question),
                                            .user = str_of(user),
                                            .bookmarks = initial_end,
                                            .initial_end = initial_end,
                                            .seconds = 600};
    return virtual_watch_start(world.h, &o, &p->w, NULL);
}

static void start(struct peer *p) {
    assert_int_equal(start_as(p, "q", "ana", false), 0);
}

static void stop(struct peer *p) {
    virtual_watch_stop(p->w);
}

static void pass(int64_t ns) {
    virtual_clock_run(&world.clock, ns);
}

/* Something is committed. */
static void commit(void) {
    char name[20];
    struct object *o = NULL;
    snprintf(name, sizeof(name), "n%llu", (unsigned long long)world.rv++);
    assert_int_equal(
        fake_object(&fake_map, STR("x"), str_of(name), str_of(name), STR(""), STR("1"), &o, NULL),
        0);
    assert_int_equal(mirror_write(world.m, CHANGE_ADDED, o, 0, NULL, NULL, NULL), 0);
    mirror_flush(world.m);
}

#define A "{\"metadata\":{\"name\":\"a\"}"
#define LIST(items) "{\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

/* What it got since the last time. */
static void assert_got(struct peer *p, const char *want) {
    assert_string_equal(p->got, want);
    p->got[0] = 0;
}

/* ---- tests ---- */

static void test_events(void **state) {
    struct peer p;
    world.now = LIST(A ",\"n\":1}");
    start(&p);
    assert_int_equal(world.asked, 0); /* nothing is called inside */
    pass(0);
    assert_got(&p, EVENT("ADDED", A ",\"n\":1}"));
    world.now = LIST(A ",\"n\":2},{\"metadata\":{\"name\":\"b\"}}");
    commit();
    pass(999 * MS);
    assert_got(&p, "");
    pass(1 * MS);
    assert_got(&p,
               EVENT("MODIFIED", A ",\"n\":2}") EVENT("ADDED", "{\"metadata\":{\"name\":\"b\"}}"));
    world.now = LIST(A ",\"n\":2}");
    commit();
    pass(1000 * MS);
    assert_got(&p, EVENT("DELETED", "{\"metadata\":{\"name\":\"b\"}}"));
    commit();
    pass(1000 * MS);
    assert_int_equal(world.asked, 4);
    assert_got(&p, ""); /* the same bytes */
    world.now = NULL;
    world.code = ERR_NOT_FOUND;
    commit();
    pass(1000 * MS);
    assert_got(&p, EVENT("DELETED", A ",\"n\":2}"));
    stop(&p);
}

static void test_when(void **state) {
    struct peer p;
    start(&p);
    pass(0);
    pass(1999 * MS);
    assert_int_equal(world.asked, 1);
    pass(1 * MS); /* once more: the first answer may have been an old one */
    assert_int_equal(world.asked, 2);
    pass(4999 * MS);
    assert_int_equal(world.asked, 2);
    pass(1 * MS); /* the tick */
    assert_int_equal(world.asked, 3);
    pass(3000 * MS);
    commit();
    pass(50 * MS);
    commit(); /* they come in bursts, which do not put it off */
    assert_int_equal(world.asked, 3);
    pass(50 * MS);
    assert_int_equal(world.asked, 4);
    pass(2000 * MS);
    assert_int_equal(world.asked, 5);
    for (int i = 0; i < 500; i++) { /* at most once a second */
        commit();
        pass(20 * MS);
    }
    assert_in_range(world.asked, 14, 15);
    stop(&p);
    pass(60000 * MS);
    assert_in_range(world.asked, 14, 15); /* nobody looks */
}

static void test_events_and_leases_do_not_count(void **state) {
    struct peer p;
    struct object *o = NULL;
    start(&p);
    pass(3000 * MS);
    assert_int_equal(
        object_new(kind_by_name(STR(""), STR("Event")),
                   STR("{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
                       "\"e\",\"namespace\":\"n\",\"uid\":\"u\"}}"),
                   &o, NULL),
        0);
    assert_int_equal(mirror_write(world.m, CHANGE_ADDED, o, 0, NULL, NULL, NULL), 0);
    mirror_flush(world.m);
    pass(3000 * MS);
    assert_int_equal(world.asked, 2);
    stop(&p);
}

static void test_dear(void **state) {
    struct peer p;
    world.takes = 500 * MS;
    start(&p);
    pass(0);
    assert_int_equal(world.asked, 1);
    for (int i = 0; i < 99; i++) { /* half a second is one part in twenty of ten */
        commit();
        pass(100 * MS);
    }
    assert_int_equal(world.asked, 1);
    commit();
    pass(1000 * MS);
    assert_int_equal(world.asked, 2);
    stop(&p);
}

static void test_all_together(void **state) {
    struct peer p[8];
    char name[8];
    world.takes = 10 * MS;
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        assert_int_equal(start_as(&p[i], name, "ana", false), 0);
    }
    pass(0);
    assert_int_equal(world.asked, 1); /* three times as long is left to others */
    pass(39 * MS);
    assert_int_equal(world.asked, 1);
    pass(1 * MS);
    assert_int_equal(world.asked, 2);
    pass(400 * MS);
    assert_int_equal(world.asked, 8);
    for (int i = 0; i < 8; i++) {
        stop(&p[i]);
    }
}

static void test_shared(void **state) {
    struct peer p, q, r;
    world.now = LIST(A "}");
    start(&p);
    pass(0);
    start(&q);
    assert_int_equal(start_as(&r, "another", "ana", true), 0);
    pass(0);
    assert_int_equal(world.asked, 2); /* what p knows is good for q */
    assert_got(&q, EVENT("ADDED", A "}"));
    assert_non_null(strstr(r.got, EVENT("ADDED", A "}") "{\"type\":\"BOOKMARK\""));
    assert_non_null(strstr(r.got, "\"k8s.io/initial-events-end\":\"true\""));
    r.got[0] = p.got[0] = 0;
    world.now = LIST(A ",\"n\":2}");
    commit();
    pass(1000 * MS);
    assert_int_equal(world.asked, 4);
    assert_got(&p, EVENT("MODIFIED", A ",\"n\":2}"));
    assert_got(&q, EVENT("MODIFIED", A ",\"n\":2}"));
    assert_got(&r, EVENT("MODIFIED", A ",\"n\":2}"));
    stop(&p); /* q goes on with its own rights */
    commit();
    pass(1000 * MS);
    assert_int_equal(world.asked, 6);
    stop(&q);
    stop(&r);
}

static void test_slow_peer(void **state) {
    struct peer p, q;
    world.now = LIST(A "}");
    start(&p);
    start(&q);
    pass(0);
    p.got[0] = q.got[0] = 0;
    p.waiting = 1;
    for (size_t i = 0; i < 3; i++) {
        static const char *const answers[] = {LIST(A ",\"n\":2}"), LIST(A ",\"n\":3}"),
                                              LIST("{\"metadata\":{\"name\":\"b\"},\"n\":4}")};
        world.now = answers[i];
        commit();
        pass(1000 * MS);
    }
    assert_got(&p, "");
    assert_got(&q, EVENT("MODIFIED", A ",\"n\":2}") EVENT("MODIFIED", A ",\"n\":3}")
                       EVENT("DELETED", A ",\"n\":3}")
                           EVENT("ADDED", "{\"metadata\":{\"name\":\"b\"},\"n\":4}"));
    p.waiting = 0;
    virtual_watch_drained(p.w);
    assert_got(&p, EVENT("DELETED", A ",\"n\":3}")
                       EVENT("ADDED", "{\"metadata\":{\"name\":\"b\"},\"n\":4}"));
    virtual_watch_drained(p.w);
    assert_got(&p, "");
    stop(&p);
    stop(&q);
}

/* What came and went while it could not be told is nothing to it. */
static void test_slow_peer_of_nothing(void **state) {
    struct peer p, q;
    world.now = LIST("");
    start(&p);
    pass(0);
    p.waiting = 1;
    world.now = LIST(A "}");
    commit();
    pass(1000 * MS);
    start(&q); /* has seen as much, but is to be told of it */
    pass(0);
    assert_got(&q, EVENT("ADDED", A "}"));
    world.now = LIST("");
    commit();
    pass(1000 * MS);
    assert_got(&q, EVENT("DELETED", A "}"));
    p.waiting = 0;
    virtual_watch_drained(p.w);
    assert_got(&p, "");
    stop(&p);
    stop(&q);
}

static void test_refused_at_first(void **state) {
    struct peer p;
    world.now = NULL;
    world.code = ERR_BAD_REQUEST;
    start(&p);
    pass(0);
    assert_int_equal(p.begun, 0);
    assert_int_equal(p.ended, 1);
    assert_int_equal(p.end_code, ERR_BAD_REQUEST);
}

static void test_trouble(void **state) {
    struct peer p, q;
    world.now = LIST(A "}");
    start(&p);
    start(&q);
    pass(0);
    world.now = NULL;
    world.code = ERR_TOO_MANY; /* passes */
    commit();
    pass(1000 * MS);
    assert_int_equal(world.asked, 2);
    pass(2000 * MS); /* asked again, after twice as long */
    assert_int_equal(world.asked, 3);
    pass(2000 * MS);
    assert_int_equal(p.ended, 0);
    world.now = LIST(A ",\"n\":2}");
    pass(10000 * MS);
    assert_got(&p, EVENT("ADDED", A "}") EVENT("MODIFIED", A ",\"n\":2}"));
    world.now = NULL; /* and does not */
    pass(60000 * MS);
    assert_int_equal(p.end_code, ERR_TOO_MANY);
    assert_int_equal(p.ended + q.ended, 2);
    world.now = LIST(A "}");
    start(&p);
    pass(0);
    world.now = NULL;
    world.code = ERR_FORBIDDEN; /* the right was taken away */
    commit();
    pass(1000 * MS);
    assert_int_equal(p.end_code, ERR_FORBIDDEN);
}

static void test_answers_later(void **state) {
    struct peer p, q;
    world.now = LIST(A "}");
    world.later = true;
    start(&p);
    start(&q);
    pass(0);
    assert_int_equal(world.asked, 1);
    stop(&p); /* who asked leaves: the other one's rights will do */
    assert_int_equal(p.cancelled, 1);
    pass(0);
    assert_int_equal(world.asked, 2);
    answer(&q);
    assert_got(&q, EVENT("ADDED", A "}"));
    commit();
    pass(1000 * MS);
    assert_non_null(q.done);
    start(&p);
    stop(&q);
    assert_int_equal(q.cancelled, 1);
    pass(0);
    assert_got(&p, EVENT("ADDED", A "}"));
    assert_non_null(p.done);
    stop(&p);
}

static void test_time_is_over(void **state) {
    struct peer p, q;
    assert_int_equal(start_as(&p, "q", "ana", true), 0);
    pass(0);
    assert_non_null(strstr(p.got, "initial-events-end"));
    p.got[0] = 0;
    pass(60000 * MS);
    assert_non_null(strstr(p.got, "\"BOOKMARK\""));
    assert_null(strstr(p.got, "initial-events-end"));
    pass(540000 * MS);
    assert_int_equal(p.ended, 1);
    assert_int_equal(p.end_code, 0);
    world.later = true;
    start(&q);
    pass(600000 * MS); /* there never was an answer */
    assert_int_equal(q.end_code, ERR_TIMEOUT);
    assert_int_equal(q.cancelled, 1);
}

static void test_cannot_be_written(void **state) {
    struct peer p, q;
    world.now = LIST(A "}");
    start(&p);
    start(&q);
    p.write_code = ERR_TOO_LARGE;
    pass(0);
    assert_int_equal(p.end_code, ERR_TOO_LARGE);
    assert_got(&q, EVENT("ADDED", A "}"));
    virtual_hub_stop(world.h);
    assert_int_equal(q.ended, 1);
    assert_int_equal(q.end_code, 0);
    assert_int_equal(start_as(&p, "q", "ana", false), ERR_TOO_MANY);
}

static void test_bounds(void **state) {
    static struct peer p[LIMIT_COMPUTED_WATCHES_OF_USER + 1], q;
    size_t n = 0;
    while (start_as(&p[n], "q", "ana", false) == 0) {
        n++;
    }
    assert_int_equal(n, LIMIT_COMPUTED_WATCHES_OF_USER);
    assert_int_equal(start_as(&q, "q", "ben", false), 0);
    stop(&q);
    while (n > 0) {
        stop(&p[--n]);
    }
}

static void test_no_memory(void **state) {
    struct peer p;
    for (uint64_t n = 1;; n++) {
        world.now = LIST(A "}");
        mem_fault(n, 0);
        int r = start_as(&p, "q", "ana", false);
        if (r == 0) {
            pass(0);
        }
        bool hit = mem_fault_hit() != 0;
        mem_fault(0, 0);
        if (r == 0 && p.ended == 0) {
            stop(&p);
        }
        if (!hit) {
            assert_int_equal(r, 0);
            return;
        }
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {T(test_events),
                                       T(test_when),
                                       T(test_events_and_leases_do_not_count),
                                       T(test_dear),
                                       T(test_all_together),
                                       T(test_shared),
                                       T(test_slow_peer),
                                       T(test_slow_peer_of_nothing),
                                       T(test_refused_at_first),
                                       T(test_trouble),
                                       T(test_answers_later),
                                       T(test_time_is_over),
                                       T(test_cannot_be_written),
                                       T(test_bounds),
                                       T(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

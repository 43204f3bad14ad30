/*
 * Tests of a mirror filled from outside: two streams of the same changes, the watch and the answers to writes, in any
 * order, never go back and end equal.
 */
#include "base/prng.h"
#include "base/test.h"
#include "mirror/fake_kind.h"
#include "mirror/mirror.h"

static bool covers_all(const struct mirror_source *s, const struct object *o) {
    return !str_is(o->ns, "elsewhere");
}

struct bed {
    struct mirror *m;
    struct feed *feed;
    struct mirror_source source;
    struct buf seen; /* "+a@3 ~a@4 -a@5 " */
};

static void on_change(void *ctx, const struct change *c) {
    struct bed *b = ctx;
    const char marks[] = {[CHANGE_ADDED] = '+', [CHANGE_MODIFIED] = '~', [CHANGE_DELETED] = '-'};
    buf_f(&b->seen, "%c%.*s@%llu ", marks[c->type], STR_ARG(c->obj->uid),
          (unsigned long long)c->obj->rv);
}

static void setup(struct bed *b) {
    *b =
        (struct bed){.m = mirror_new(&(struct mirror_options){.history_events = MIRROR_NO_HISTORY}),
                     .source = {.kind = &fake_map, .covers = covers_all}};
    buf_init(&b->seen, 0);
    b->feed = mirror_feed(b->m, NULL, on_change, b);
    mirror_follow(b->m, &b->source);
}

static void teardown(struct bed *b) {
    mirror_unfollow(b->m, &b->source);
    mirror_unfollow(b->m, &b->source);
    feed_free(b->feed);
    mirror_free(b->m);
    buf_release(&b->seen);
}

static struct object *version_in(const char *ns, const char *name, const char *uid, uint64_t rv) {
    struct object *o = NULL;
    struct err err;
    assert_ok(fake_object(&fake_map, str_of(ns), str_of(name), str_of(uid), STR("owner"), STR("v"),
                          &o, &err),
              &err);
    o->rv = rv;
    return o;
}

static struct object *version(const char *name, const char *uid, uint64_t rv) {
    return version_in("n", name, uid, rv);
}

/* An event of the watch, which is past its revision then. */
static void event(struct bed *b, enum change_type type, const char *name, const char *uid,
                  uint64_t rv) {
    struct err err;
    assert_ok(mirror_apply(b->m, type, version(name, uid, rv), &err), &err);
    b->source.passed = rv > b->source.passed ? rv : b->source.passed;
}

static void answer(struct bed *b, const char *name, const char *uid, uint64_t rv) {
    struct err err;
    assert_ok(mirror_answer(b->m, version(name, uid, rv), &err), &err);
}

static void gone(struct bed *b, const char *name, const char *uid) {
    struct err err;
    assert_ok(mirror_answer_gone(b->m, &fake_map, STR("n"), str_of(name), str_of(uid), &err), &err);
}

static void saw(struct bed *b, const char *text) {
    assert_str_eq(buf_view(&b->seen), str_of(text));
    buf_reset(&b->seen);
}

static void never_goes_back(void **state) {
    struct bed b;
    setup(&b);
    event(&b, CHANGE_ADDED, "a", "u1", 10);
    event(&b, CHANGE_ADDED, "a", "u1", 10); /* repeated */
    event(&b, CHANGE_ADDED, "a", "u1", 12); /* "added" again is a modification */
    event(&b, CHANGE_MODIFIED, "a", "u1", 11);
    saw(&b, "+u1@10 ~u1@12 ");
    event(&b, CHANGE_DELETED, "a", "u1", 11);
    saw(&b, "");
    event(&b, CHANGE_DELETED, "a", "u1", 13);
    event(&b, CHANGE_DELETED, "a", "u1", 13);
    saw(&b, "-u1@13 ");
    event(&b, CHANGE_MODIFIED, "b", "u2", 5); /* a list comes in any order of revisions */
    assert_int_equal(mirror_revision(b.m), 13);
    event(&b, CHANGE_DELETED, "b", "u2", 0); /* and does not know when what vanished was deleted */
    assert_int_equal(mirror_count(b.m, &fake_map), 0);
    teardown(&b);
}

static void the_answer_comes_first(void **state) {
    struct bed b;
    setup(&b);
    event(&b, CHANGE_ADDED, "a", "u1", 10);
    answer(&b, "a", "u1", 13);
    saw(&b, "+u1@10 ~u1@13 ");
    event(&b, CHANGE_MODIFIED, "a", "u1", 12); /* somebody's, before ours */
    event(&b, CHANGE_MODIFIED, "a", "u1", 13); /* ours */
    saw(&b, "");
    event(&b, CHANGE_MODIFIED, "a", "u1", 14);
    answer(&b, "a", "u1", 11); /* another of ours, late */
    saw(&b, "~u1@14 ");
    answer(&b, "new", "u2", 15);
    event(&b, CHANGE_ADDED, "new", "u2", 15);
    saw(&b, "+u2@15 ");
    assert_int_equal(mirror_count(b.m, &fake_map), 2);
    teardown(&b);
}

static void a_late_answer_brings_nothing_back(void **state) {
    struct bed b;
    setup(&b);
    event(&b, CHANGE_ADDED, "a", "u1", 10);
    event(&b, CHANGE_DELETED, "a", "u1", 12);
    answer(&b, "a", "u1", 11);
    saw(&b, "+u1@10 -u1@12 ");
    assert_null(mirror_get(b.m, &fake_map, STR("n"), STR("a")));
    teardown(&b);
}

static void a_deletion_that_was_answered_stays(void **state) {
    struct bed b;
    setup(&b);
    event(&b, CHANGE_ADDED, "a", "u1", 10);
    gone(&b, "a", "other");
    saw(&b, "+u1@10 ");
    gone(&b, "a", "u1");
    saw(&b, "-u1@10 ");
    event(&b, CHANGE_MODIFIED, "a", "u1", 11); /* from before the deletion */
    answer(&b, "a", "u1", 11);
    saw(&b, "");
    answer(&b, "a", "u2", 14); /* made again */
    event(&b, CHANGE_DELETED, "a", "u1", 13);
    event(&b, CHANGE_ADDED, "a", "u2", 14);
    saw(&b, "+u2@14 ");
    gone(&b, "a", "u1");
    saw(&b, "");
    teardown(&b);
}

static void another_uid_is_another_object(void **state) {
    struct bed b;
    setup(&b);
    event(&b, CHANGE_ADDED, "a", "u1", 10);
    answer(&b, "a", "u2", 14);
    saw(&b, "+u1@10 -u1@10 +u2@14 ");
    assert_null(mirror_by_uid(b.m, STR("u1")));
    event(&b, CHANGE_DELETED, "a", "u3", 20); /* a life that we saw nothing of */
    saw(&b, "-u2@14 ");
    assert_int_equal(mirror_count(b.m, &fake_map), 0);
    teardown(&b);
}

static void nobody_follows(void **state) {
    struct bed b;
    struct err err;
    setup(&b);
    assert_ok(mirror_answer(b.m, version_in("elsewhere", "a", "u1", 10), &err), &err);
    saw(&b, "");
    mirror_unfollow(b.m, &b.source);
    answer(&b, "a", "u1", 10);
    saw(&b, "");
    teardown(&b);
}

/* ---- a server, its watch and its answers, interleaved at random ---- */

enum { KEYS = 4, EVENTS = 3000 };

struct history {
    struct {
        enum change_type type;
        int key, uid;
        bool ours; /* and so answered, between the change and its event */
        bool answered;
    } v[EVENTS];
    int uid[KEYS]; /* now; 0 absent */
    int last_uid;
};

static void server_step(struct history *h, struct prng *r, uint64_t rv) {
    int key = (int)prng_below(r, KEYS);
    h->v[rv].key = key;
    h->v[rv].ours = prng_below(r, 2);
    if (!h->uid[key]) {
        h->v[rv].type = CHANGE_ADDED;
        h->uid[key] = ++h->last_uid;
    } else {
        h->v[rv].type = prng_below(r, 3) ? CHANGE_MODIFIED : CHANGE_DELETED;
    }
    h->v[rv].uid = h->uid[key];
    h->uid[key] = h->v[rv].type == CHANGE_DELETED ? 0 : h->uid[key];
}

static void tell(struct bed *b, struct history *h, uint64_t rv, bool is_answer) {
    char name[8], uid[16];
    snprintf(name, sizeof(name), "k%d", h->v[rv].key);
    snprintf(uid, sizeof(uid), "u%d", h->v[rv].uid);
    if (!is_answer) {
        event(b, h->v[rv].type, name, uid, rv);
    } else if (h->v[rv].type == CHANGE_DELETED) {
        gone(b, name, uid);
    } else {
        answer(b, name, uid, rv);
    }
}

static bool is_here(struct bed *b, const struct history *h, uint64_t rv) {
    char uid[16];
    snprintf(uid, sizeof(uid), "u%d", h->v[rv].uid);
    return mirror_by_uid(b->m, str_of(uid)) != NULL;
}

/* Nothing that we did and were answered is seen undone: each key's state is at least as new as the newest answer. */
static void check_own(struct bed *b, const struct history *h, const uint64_t own[KEYS]) {
    for (int k = 0; k < KEYS; k++) {
        char name[8];
        snprintf(name, sizeof(name), "k%d", k);
        const struct object *o = mirror_get(b->m, &fake_map, STR("n"), str_of(name));
        if (own[k] && o) {
            assert_true(o->rv >= own[k]);
            assert_true(o->rv > own[k] || h->v[own[k]].type != CHANGE_DELETED);
        } else if (own[k] && h->v[own[k]].type != CHANGE_DELETED) {
            assert_true(b->source.passed > own[k]); /* deleted later, as the watch told */
        }
    }
}

static void test_random(void **state) {
    static struct history h;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct bed b;
        struct prng r;
        uint64_t rv = 0, told = 0, own[KEYS] = {0};
        setup(&b);
        memset(&h, 0, sizeof(h));
        prng_seed(&r, seed);
        while (told < EVENTS - 1) {
            uint64_t what = prng_below(&r, 3);
            if (what == 0 && rv < EVENTS - 1) {
                server_step(&h, &r, ++rv);
            } else if (what == 1 && told < rv) {
                tell(&b, &h, ++told, false);
            } else if (rv > 0) { /* the answer to one of the last writes, in any order */
                uint64_t at = rv - prng_below(&r, rv < 20 ? rv : 20);
                if (h.v[at].ours && !h.v[at].answered) {
                    h.v[at].answered = true;
                    int k = h.v[at].key;
                    /* a deletion of a life that has not come in yet cannot be kept in mind */
                    bool counts = h.v[at].type != CHANGE_DELETED || is_here(&b, &h, at);
                    tell(&b, &h, at, true);
                    own[k] = at > own[k] && counts ? at : own[k];
                }
            }
            check_own(&b, &h, own);
            buf_reset(&b.seen);
        }
        for (int k = 0; k < KEYS; k++) {
            char name[8];
            snprintf(name, sizeof(name), "k%d", k);
            assert_true((mirror_get(b.m, &fake_map, STR("n"), str_of(name)) != NULL) ==
                        (h.uid[k] != 0));
        }
        teardown(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_goes_back),
        cmocka_unit_test(the_answer_comes_first),
        cmocka_unit_test(a_late_answer_brings_nothing_back),
        cmocka_unit_test(a_deletion_that_was_answered_stays),
        cmocka_unit_test(another_uid_is_another_object),
        cmocka_unit_test(nobody_follows),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

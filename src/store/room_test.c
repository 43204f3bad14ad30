/* Tests of store_room: what is written on a full disk, and what is not. */
#include "base/test.h"
#include "mirror/fake_kind.h"
#include "store/store_private.h"

static void test_room(void **state) {
    struct statvfs v = {.f_blocks = 1000, .f_frsize = 4096, .f_bfree = 256, .f_bavail = 255};

    assert_true(room_in(&v, true));
    assert_false(room_in(&v, false));
    v.f_bfree = 255;
    assert_false(room_in(&v, true));
    v = (struct statvfs){.f_frsize = 4096}; /* as FUSE and 9p may tell it */
    assert_true(room_in(&v, true));
    assert_true(room_in(&v, false));
}

static const struct kind pods = {
    .group = "",
    .kind = "Pod",
    .plural = "pods",
    .singular = "pod",
    .flags = KIND_NAMESPACED,
    .versions = fake_versions,
    .n_versions = 1,
};
static const struct kind other_jobs = {
    .group = "example.com",
    .kind = "Job",
    .plural = "jobs",
    .singular = "job",
    .flags = KIND_NAMESPACED,
    .versions = fake_versions,
    .n_versions = 1,
};

enum { DELETING = 1 };

/* With an annotation and a status of so many bytes; the annotation has a "status" of its own to look past. */
static struct object *make(const struct kind *k, size_t note, size_t status, int flags) {
    struct object *o;
    struct err err;
    struct buf b;

    buf_init(&b, 0);
    buf_f(&b,
          "{\"apiVersion\":\"%s%sv1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"a\",\"namespace\":"
          "\"ns\"",
          k->group, k->group[0] ? "/" : "", k->kind);
    buf_f(&b, ",\"uid\":\"u\"%s,\"annotations\":{\"status\":\"}\\\",",
          flags & DELETING ? ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"" : "");
    for (size_t i = 0; i < note; i++) {
        buf_c(&b, "x");
    }
    buf_c(&b, "\"}},\"spec\":{\"status\":1}");
    if (status) {
        buf_c(&b, ",\"status\":{\"message\":\"");
        for (size_t i = 0; i < status; i++) {
            buf_c(&b, "y");
        }
        buf_c(&b, "\"}");
    }
    buf_c(&b, "}");
    assert_ok(object_new(k, buf_view(&b), &o, &err), &err);
    buf_release(&b);
    return o;
}

struct step {
    size_t note, status;
    int flags;
};

static bool may(struct store *s, const struct kind *k, struct step from, struct step to) {
    struct object *now = make(k, from.note, from.status, from.flags);
    struct object *o = make(k, to.note, to.status, to.flags);
    struct err err;
    int code = store_may(s, CHANGE_MODIFIED, o, now, &err);

    assert_true(code == 0 || code == ERR_UNAVAILABLE);
    object_unref(now);
    object_unref(o);
    return code == 0;
}

static bool frees(const struct kind *k, struct step from, struct step to) {
    struct object *now = make(k, from.note, from.status, from.flags);
    struct object *o = make(k, to.note, to.status, to.flags);
    bool r = room_frees(CHANGE_MODIFIED, o, now);

    object_unref(now);
    object_unref(o);
    return r;
}

static void test_what_is_deleted_does_not_grow(void **state) {
    struct store s = {.told_refusing = true};
    struct step lives = {.note = 100}, dying = {.note = 100, .flags = DELETING};
    struct step large = {.note = 1 << 20, .flags = DELETING}, less = {.flags = DELETING};

    assert_true(may(&s, &fake_map, lives, dying));
    assert_true(may(&s, &fake_map, dying, dying));
    assert_true(may(&s, &fake_map, dying, less));
    assert_false(may(&s, &fake_map, dying, large));
    assert_false(may(&s, &fake_map, less, dying));
    assert_false(may(&s, &fake_map, lives, large));
    assert_false(may(&s, &pods, dying, large));
    /* The same before anybody has been told that the disk is full. */
    assert_true(frees(&fake_map, lives, dying));
    assert_true(frees(&fake_map, dying, less));
    assert_false(frees(&fake_map, dying, large));
    assert_false(frees(&fake_map, lives, lives));
}

static void test_tenants_do_not_spend_what_evictions_need(void **state) {
    struct store s = {.told_refusing = true};
    struct step plain = {.status = 100}, noted = {.note = 4000, .status = 100};
    struct step slightly = {.note = 40, .status = 100}, ended = {.status = 600};
    struct step dying = {.status = 100, .flags = DELETING};
    struct step dead = {.status = 600, .flags = DELETING};
    int n;

    for (n = 0; n < 100; n++) {
        assert_false(may(&s, &pods, plain, noted));
    }
    for (n = 0; n < 10000 && may(&s, &pods, plain, slightly); n++) {
    }
    assert_in_range(n, 100, 9999);
    for (n = 0; n < 100; n++) {
        assert_true(may(&s, &pods, plain, ended));
    }
    assert_true(may(&s, &pods, dying, dead));
    assert_true(may(&s, &pods, noted, plain));
    for (n = 0; n < 10000 && may(&s, &pods, plain, ended); n++) {
    }
    assert_in_range(n, 50, 9999);
    assert_false(may(&s, &other_jobs, plain, ended));
    assert_false(may(&s, &fake_map, plain, ended));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_what_is_deleted_does_not_grow),
        cmocka_unit_test(test_tenants_do_not_spend_what_evictions_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

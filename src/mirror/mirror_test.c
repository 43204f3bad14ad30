/*
 * Tests of mirror: random writes against a model, with a journal that commits late or fails; feeds, resuming,
 * pages of one snapshot, owners; every allocation failing once.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/test.h"
#include "mirror/fake_kind.h"
#include "mirror/mirror.h"

enum { KEYS = 12, STATES = 4000 };

/* ---- a journal that remembers batches until told ---- */

struct fake_journal {
    struct journal j;
    uint64_t batches[64];
    size_t n;
    bool refuse;
};

static int fake_submit(struct journal *j, const struct change *changes, size_t n, uint64_t batch,
                       struct err *err) {
    struct fake_journal *f = (struct fake_journal *)j;
    for (size_t i = 1; i < n; i++) {
        assert_true(changes[i].obj->rv > changes[i - 1].obj->rv);
    }
    if (f->refuse || f->n == 64) {
        return err_set(err, ERR_UNAVAILABLE, "refused");
    }
    f->batches[f->n++] = batch;
    return 0;
}

static uint64_t take(struct fake_journal *f) {
    uint64_t id = f->batches[0];
    memmove(f->batches, f->batches + 1, --f->n * sizeof(f->batches[0]));
    return id;
}

/* ---- a model: the value of each key at each revision ---- */

struct model {
    int value[STATES][KEYS]; /* 0: absent */
    uint64_t rv;             /* newest committed */
};

struct world {
    struct mirror *m;
    struct fake_journal journal;
    struct model *model;
    struct prng r;
    int pending[KEYS];
    uint64_t pending_rv[KEYS];
    size_t done_ok, done_failed;
    struct {
        uint64_t rv;
        int key, value;
    } staged[512];
    size_t n_staged;
    uint64_t last_rv;
    uint64_t feed_rv;
};

static void key_text(int key, char ns[8], char name[8]) {
    snprintf(ns, 8, "n%d", key % 3);
    snprintf(name, 8, "k%02d", key);
}

static struct object *object_for(int key, int value) {
    char ns[8], name[8], uid[16], v[16];
    key_text(key, ns, name);
    snprintf(uid, sizeof(uid), "u%d", key);
    snprintf(v, sizeof(v), "%d", value);
    struct object *o = NULL;
    struct err err;
    assert_ok(fake_object(&fake_map, str_of(ns), str_of(name), str_of(uid),
                          key % 2 ? STR("owner") : STR(""), str_of(v), &o, &err),
              &err);
    return o;
}

static int value_of(const struct object *o) {
    ptrdiff_t at = str_find_last(o->json, ':');
    int64_t v = 0;
    assert_true(str_to_i64(str_from(o->json.p + at + 2, o->json.n - (size_t)at - 5), &v));
    return (int)v;
}

static int index_of(const struct object *o) {
    return (o->name.p[1] - '0') * 10 + o->name.p[2] - '0';
}

static void write_done(void *ctx, int code, const struct object *obj, const struct err *err) {
    struct world *w = ctx;
    if (code == 0) {
        assert_true(obj->rv <= mirror_revision(w->m));
        w->done_ok++;
    } else {
        assert_true(err && err->code == code && !obj);
        w->done_failed++;
    }
}

static void on_change(void *ctx, const struct change *c) {
    struct world *w = ctx;
    assert_true(c->obj->rv > w->feed_rv);
    assert_true(c->obj->rv == mirror_revision(w->m));
    assert_true((c->type == CHANGE_ADDED) == (c->old == NULL));
    if (c->old) {
        assert_true(c->old->rv < c->obj->rv);
    }
    const struct object *now = mirror_get(w->m, &fake_map, c->obj->ns, c->obj->name);
    assert_ptr_equal(now, c->type == CHANGE_DELETED ? NULL : c->obj);
    w->feed_rv = c->obj->rv;
}

static void stage_one(struct world *w) {
    int key = (int)prng_below(&w->r, KEYS), value = (int)prng_below(&w->r, 1000) + 1;
    enum change_type type = !w->pending[key]            ? CHANGE_ADDED
                            : prng_below(&w->r, 3) == 0 ? CHANGE_DELETED
                                                        : CHANGE_MODIFIED;
    struct object *o = object_for(key, value);
    struct err err;
    if (prng_below(&w->r, 10) == 0) { /* based on another state than the pending one */
        uint64_t wrong = w->pending[key] ? prng_below(&w->r, 2) * (w->pending_rv[key] + 1) : 5;
        assert_int_equal(
            mirror_write(w->m, CHANGE_ADDED + (wrong > 0), object_ref(o), wrong, NULL, NULL, &err),
            wrong ? ERR_CONFLICT : ERR_EXISTS);
    }
    assert_ok(mirror_write(w->m, type, o, w->pending_rv[key], write_done, w, &err), &err);
    w->last_rv++;
    w->pending[key] = type == CHANGE_DELETED ? 0 : value;
    w->pending_rv[key] = w->pending[key] ? w->last_rv : 0;
    assert_true(w->n_staged < 512);
    w->staged[w->n_staged].rv = w->last_rv;
    w->staged[w->n_staged].key = key;
    w->staged[w->n_staged++].value = w->pending[key];
    char ns[8], name[8];
    key_text(key, ns, name);
    const struct object *p = mirror_pending(w->m, &fake_map, str_of(ns), str_of(name));
    assert_int_equal(p ? value_of(p) : 0, w->pending[key]);
}

/* The model follows what is committed up to the mirror's revision. */
static void follow(struct world *w) {
    uint64_t to = mirror_revision(w->m);
    size_t used = 0;
    for (uint64_t rv = w->model->rv + 1; rv <= to; rv++) {
        memcpy(w->model->value[rv], w->model->value[rv - 1], sizeof(w->model->value[0]));
        if (used < w->n_staged && w->staged[used].rv == rv) {
            w->model->value[rv][w->staged[used].key] = w->staged[used].value;
            used++;
        }
    }
    w->model->rv = to;
    w->n_staged -= used;
    memmove(w->staged, w->staged + used, w->n_staged * sizeof(w->staged[0]));
}

struct listing {
    int value[KEYS];
    size_t n, stop_after;
    const struct object *last;
    struct str ns;
};

static bool list_one(void *ctx, const struct object *o) {
    struct listing *l = ctx;
    if (l->last) {
        int c = str_cmp(l->last->ns, o->ns);
        assert_true(c < 0 || (c == 0 && str_cmp(l->last->name, o->name) < 0));
    }
    assert_true(l->ns.n == 0 || str_eq(l->ns, o->ns));
    l->last = o;
    l->value[index_of(o)] = value_of(o);
    return ++l->n != l->stop_after;
}

static void assert_values(const int *got, const int *want, int ns) {
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(got[i], ns < 0 || i % 3 == ns ? want[i] : 0);
    }
}

static void check_past(struct world *w, uint64_t rv) {
    struct listing l = {.stop_after = 2};
    struct str after_ns = STR(""), after_name = STR("");
    int ns = (int)prng_below(&w->r, 4) - 1;
    char ns_text[16] = "";
    if (ns >= 0) {
        snprintf(ns_text, sizeof(ns_text), "n%d", ns);
        l.ns = str_of(ns_text);
    }
    for (;;) { /* pages of two */
        struct err err = {0};
        size_t before = l.n;
        l.stop_after = before + 2;
        int code =
            mirror_scan_at(w->m, &fake_map, l.ns, rv, after_ns, after_name, list_one, &l, &err);
        if (code == ERR_EXPIRED) {
            assert_true(before == 0);
            assert_int_equal(mirror_since(w->m, &fake_map, rv, NULL, NULL, NULL, NULL),
                             ERR_EXPIRED);
            return;
        }
        assert_ok(code, &err);
        if (l.n < before + 2) {
            break;
        }
        after_ns = l.last->ns;
        after_name = l.last->name;
    }
    assert_values(l.value, w->model->value[rv], ns);
}

struct replay {
    int value[KEYS];
    uint64_t rv;
};

static bool replay_one(void *ctx, const struct change *c) {
    struct replay *r = ctx;
    assert_true(c->obj->rv > r->rv);
    r->rv = c->obj->rv;
    r->value[index_of(c->obj)] = c->type == CHANGE_DELETED ? 0 : value_of(c->obj);
    return true;
}

static bool count_owned(void *ctx, const struct object *o) {
    ++*(int *)ctx;
    assert_int_equal(index_of(o) % 2, 1);
    return true;
}

static void check_now(struct world *w) {
    const int *want = w->model->value[w->model->rv];
    struct listing l = {0};
    mirror_scan(w->m, &fake_map, STR(""), list_one, &l);
    assert_values(l.value, want, -1);
    assert_int_equal(l.n, mirror_count(w->m, &fake_map));
    l = (struct listing){.ns = STR("n1")};
    mirror_scan(w->m, &fake_map, STR("n1"), list_one, &l);
    assert_values(l.value, want, 1);
    int owned = 0, want_owned = 0;
    struct object owner = {
        .kind = kind_by_name(STR("batch"), STR("Job")), .name = STR("o"), .uid = STR("owner")};
    mirror_owned(w->m, &owner, count_owned, &owned);
    for (int i = 0; i < KEYS; i++) {
        char uid[16];
        snprintf(uid, sizeof(uid), "u%d", i);
        const struct object *o = mirror_by_uid(w->m, str_of(uid));
        assert_int_equal(o ? value_of(o) : 0, want[i]);
        want_owned += i % 2 && want[i];
    }
    assert_int_equal(owned, want_owned);
    uint64_t rv = prng_below(&w->r, w->model->rv + 1);
    struct replay r = {.rv = rv};
    memcpy(r.value, w->model->value[rv], sizeof(r.value));
    if (mirror_since(w->m, &fake_map, rv, replay_one, &r, NULL, NULL) == 0) {
        assert_values(r.value, want, -1);
    }
    check_past(w, rv);
}

static void fail_all(struct world *w) {
    memset(w->pending, 0, sizeof(w->pending));
    memset(w->pending_rv, 0, sizeof(w->pending_rv));
    w->n_staged = 0;
    for (int i = 0; i < KEYS; i++) {
        char ns[8], name[8];
        key_text(i, ns, name);
        const struct object *o = mirror_get(w->m, &fake_map, str_of(ns), str_of(name));
        w->pending[i] = o ? value_of(o) : 0;
        w->pending_rv[i] = o ? o->rv : 0;
    }
}

static void journal_step(struct world *w) {
    struct err err = {0};
    switch (prng_below(&w->r, 12)) {
    case 0: {
        size_t n = w->journal.n, staged = mirror_staged(w->m), failed = w->done_failed;
        uint64_t ids[64];
        memcpy(ids, w->journal.batches, sizeof(ids));
        w->journal.n = 0;
        (void)err_set(&err, ERR_IO, "disk");
        for (size_t i = 0; i < n; i++) {
            mirror_journal_done(w->m, ids[i], ERR_IO, &err);
        }
        if (n) {
            assert_int_equal(w->done_failed - failed, staged);
            assert_int_equal(mirror_staged(w->m), 0);
            fail_all(w);
        }
        break;
    }
    case 1:
        if (mirror_staged(w->m) > 0) {
            w->journal.refuse = true;
            size_t failed = w->done_failed;
            mirror_flush(w->m);
            w->journal.refuse = false;
            while (w->journal.n) { /* what was submitted before is not touched by it */
                mirror_journal_done(w->m, take(&w->journal), 0, NULL);
            }
            follow(w);
            if (w->done_failed > failed) {
                fail_all(w);
            }
        }
        break;
    default:
        mirror_flush(w->m);
        while (w->journal.n > prng_below(&w->r, 4)) {
            mirror_journal_done(w->m, take(&w->journal), 0, NULL);
        }
    }
}

static void test_model(void **state) {
    struct model *model = mem_alloc(sizeof(*model));
    for (uint64_t seed = 1; seed <= 15; seed++) {
        memset(model, 0, sizeof(*model));
        struct world w = {.model = model, .journal = {.j = {fake_submit}}};
        prng_seed(&w.r, seed);
        struct mirror_options o = {.journal = &w.journal.j, .history_events = 60};
        w.m = mirror_new(&o);
        struct feed *f = mirror_feed(w.m, &fake_map, on_change, &w);
        for (int step = 0; step < 1000 && w.last_rv < STATES - 10; step++) {
            for (uint64_t n = prng_below(&w.r, 5); n > 0; n--) {
                stage_one(&w);
            }
            journal_step(&w);
            follow(&w);
            check_now(&w);
        }
        assert_true(w.done_ok > 100 && w.done_failed > 10);
        feed_free(f);
        mirror_free(w.m);
    }
    mem_free(model);
}

/* ---- feeds made and freed inside a delivery ---- */

struct feeds {
    struct mirror *m;
    struct feed *a, *b, *late;
    int a_n, b_n, late_n;
};

static void on_late(void *ctx, const struct change *c) {
    ((struct feeds *)ctx)->late_n++;
}

static void on_a(void *ctx, const struct change *c) {
    struct feeds *f = ctx;
    if (++f->a_n == 1) {
        f->late = mirror_feed(f->m, NULL, on_late, f);
        feed_free(f->b);
    } else {
        feed_free(f->a);
    }
}

static void on_b(void *ctx, const struct change *c) {
    ((struct feeds *)ctx)->b_n++;
}

static void put(struct mirror *m, int key, uint64_t expect) {
    struct err err;
    assert_ok(mirror_write(m, expect ? CHANGE_MODIFIED : CHANGE_ADDED, object_for(key, 1), expect,
                           NULL, NULL, &err),
              &err);
}

static void test_feeds(void **state) {
    struct mirror *m = mirror_new(&(struct mirror_options){0});
    struct feeds f = {.m = m};
    f.a = mirror_feed(m, &fake_map, on_a, &f);
    f.b = mirror_feed(m, &fake_map, on_b, &f);
    for (int i = 0; i < 3; i++) {
        put(m, i, 0);
    }
    mirror_flush(m);
    assert_int_equal(f.a_n, 2);
    assert_int_equal(f.b_n, 0);    /* freed before its turn came */
    assert_int_equal(f.late_n, 2); /* not the change inside which it was made */
    feed_free(f.late);
    mirror_free(m);
}

/* A feed that writes and flushes inside a delivery: the change comes after the one being delivered, to everybody. */
static uint64_t nested_seen;

static void on_nested(void *ctx, const struct change *c) {
    assert_true(c->obj->rv == nested_seen + 1);
    nested_seen++;
    if (nested_seen < 5) {
        put(ctx, (int)nested_seen, 0);
        mirror_flush(ctx);
    }
}

static void test_nested(void **state) {
    struct mirror *m = mirror_new(&(struct mirror_options){0});
    mirror_feed(m, &fake_map, on_nested, m);
    put(m, 0, 0);
    mirror_flush(m);
    assert_int_equal(nested_seen, 5);
    assert_int_equal(mirror_revision(m), 5);
    mirror_free(m);
}

static void test_history_limits(void **state) {
    struct mirror *m = mirror_new(&(struct mirror_options){.history_events = 3});
    mirror_set_revision(m, 100);
    uint64_t oldest = 0;
    struct replay r = {0};
    assert_int_equal(mirror_since(m, &fake_map, 99, replay_one, &r, &oldest, NULL), ERR_EXPIRED);
    assert_int_equal(oldest, 100);
    assert_int_equal(mirror_since(m, &fake_map, 100, replay_one, &r, &oldest, NULL), 0);
    for (int i = 0; i < 5; i++) {
        put(m, i, 0);
        mirror_flush(m);
    }
    assert_int_equal(mirror_since(m, &fake_map, 101, replay_one, &r, &oldest, NULL), ERR_EXPIRED);
    assert_int_equal(oldest, 102);
    assert_int_equal(mirror_since(m, &fake_map, 102, replay_one, &r, NULL, NULL), 0);
    assert_int_equal(r.rv, 105);
    /* another kind that has not changed is still whole */
    assert_int_equal(mirror_since(m, &fake_job, 100, replay_one, &r, NULL, NULL), 0);
    mirror_free(m);
}

/* Nobody resumes there, so no version stays but the newest. */
static void test_no_history(void **state) {
    struct mirror_options o = {.history_events = MIRROR_NO_HISTORY};
    struct mirror *m = mirror_new(&o);
    uint64_t oldest = 0;
    struct replay r = {0};
    for (int i = 1; i <= 40; i++) {
        put(m, 0, mirror_revision(m)); /* the one before, if any */
        mirror_flush(m);
        uint64_t now = mirror_revision(m);
        assert_int_equal(mirror_since(m, &fake_map, now - 1, replay_one, &r, &oldest, NULL),
                         ERR_EXPIRED);
        assert_int_equal(oldest, now);
        assert_int_equal(mirror_since(m, &fake_map, now, replay_one, &r, NULL, NULL), 0);
    }
    assert_int_equal(r.rv, 0);
    assert_int_equal(mirror_count(m, &fake_map), 1);
    mirror_free(m);
}

/* Every allocation of a write and its commit fails once: the write fails, or all is as without the failure. */
static void test_no_memory(void **state) {
    struct mirror *m = mirror_new(&(struct mirror_options){.history_events = 20});
    struct object *first = object_for(1, 1);
    uint64_t nth = 1, rv = 0;
    for (int step = 0; step < 400; step++) {
        struct object *o = object_ref(first);
        object_unref(o);
        o = object_for(1 + 2 * (step % 5), step + 1);
        const struct object *now = mirror_pending(m, &fake_map, o->ns, o->name);
        mem_fault(nth, 0);
        int code = mirror_write(m, now ? CHANGE_MODIFIED : CHANGE_ADDED, object_ref(o),
                                now ? now->rv : 0, NULL, NULL, NULL);
        mirror_flush(m);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(code == 0 || (hit && code == ERR_NOMEM));
        const struct object *got = mirror_get(m, &fake_map, o->ns, o->name);
        assert_true(code == 0 ? got == o : got != o);
        assert_int_equal(mirror_revision(m), rv += code == 0);
        assert_int_equal(mirror_staged(m), 0);
        nth = hit ? nth + 1 : 1;
        object_unref(o);
    }
    object_unref(first);
    mirror_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),      cmocka_unit_test(test_feeds),
        cmocka_unit_test(test_nested),     cmocka_unit_test(test_history_limits),
        cmocka_unit_test(test_no_history), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

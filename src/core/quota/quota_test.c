/* Tests of the quota tree: worked numbers, edits, and random trees against a slow model. */
#include "core/quota/quota.h"

#include "base/prng.h"
#include "base/test.h"
#include "core/quota/shape.h"

static const uint32_t PAIR = 0x10001;

static struct quota_node *put(struct quota_forest *f, bool queue, const char *name,
                              const char *parent, int64_t nominal, int64_t borrowing,
                              int64_t lending) {
    struct quota_limits q = {PAIR, nominal, borrowing, lending};
    struct quota_node *n;
    assert_int_equal(quota_put(f, queue, str_of(name), str_of(parent), true, &q, 1, &n), 0);
    return n;
}

static struct quota_cell *cell(struct quota_forest *f, bool queue, const char *name) {
    assert_int_equal(quota_settle(f), 0);
    return quota_cell_of(quota_find(f, queue, str_of(name)), PAIR);
}

static void flat_lending(void **state) {
    struct quota_forest f;
    quota_init(&f);
    put(&f, true, "A", "all", 4, AMOUNT_NONE, 3);
    put(&f, true, "B", "all", 6, AMOUNT_NONE, 2);
    struct quota_cell *a = cell(&f, true, "A"), *b = cell(&f, true, "B");
    assert_int_equal(quota_local(a), 1);
    assert_int_equal(quota_local(b), 4);
    assert_int_equal(a->up->subtree, 5);
    assert_int_equal(quota_available(a), 6);
    assert_int_equal(quota_available(b), 9);
    assert_int_equal(quota_use(&f, a, 4), 0);
    assert_int_equal(a->up->usage, 3);
    assert_int_equal(quota_available(b), 6);
    assert_int_equal(quota_use(&f, a, -4), 0);
    assert_int_equal(a->up->usage, 0);
    quota_release(&f);
}

static void fit(struct quota_cell *c, int64_t v, uint32_t height, bool smaller) {
    bool s;
    assert_int_equal(quota_lowest_fit(c, v, &s), height);
    assert_int_equal(s, smaller);
}

static void hierarchy(void **state) {
    struct quota_forest f;
    quota_init(&f);
    put(&f, false, "R", "", 10, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, false, "C1", "R", 0, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, false, "C2", "R", 5, 2, AMOUNT_NONE);
    put(&f, true, "a", "C1", 3, AMOUNT_NONE, 1);
    put(&f, true, "b", "C2", 0, AMOUNT_NONE, AMOUNT_NONE);
    const char *names[] = {"R", "C1", "C2", "a", "b"};
    const int64_t subtree[] = {16, 1, 5, 3, 0}, avail[] = {16, 16, 7, 18, 7};
    const uint32_t height[] = {2, 1, 1, 0, 0};
    for (size_t i = 0; i < 5; i++) {
        struct quota_cell *c = cell(&f, i >= 3, names[i]);
        assert_int_equal(c->subtree, subtree[i]);
        assert_int_equal(quota_available(c), avail[i]);
        assert_int_equal(quota_potential(c), avail[i]);
        assert_int_equal(c->node->height, height[i]);
    }
    struct quota_cell *a = cell(&f, true, "a"), *b = cell(&f, true, "b");
    fit(a, 3, 0, true);
    fit(a, 5, 2, false);
    fit(b, 3, 1, true);
    fit(b, 5, 1, true);
    fit(b, 7, 2, false);
    quota_use(&f, b, 6);
    assert_int_equal(b->up->usage, 6);
    assert_int_equal(b->up->up->usage, 6);
    assert_int_equal(quota_available(b->up->up), 10);
    assert_int_equal(quota_available(b), 1);
    assert_int_equal(quota_available(a), 12);
    quota_use(&f, a, 5);
    assert_int_equal(a->up->usage, 3);
    assert_int_equal(b->up->up->usage, 9);
    assert_int_equal(quota_available(a), 7);
    assert_int_equal(quota_available(b), 1);
    assert_int_equal(quota_potential(b), 7);
    quota_release(&f);
}

static void unlimited(void **state) {
    assert_int_equal(amount_add(AMOUNT_UNLIMITED, 5), AMOUNT_UNLIMITED);
    assert_int_equal(amount_sub(AMOUNT_UNLIMITED, 5), AMOUNT_UNLIMITED);
    assert_int_equal(amount_sub(5, AMOUNT_UNLIMITED), INT64_MIN);
    assert_int_equal(amount_sub(AMOUNT_UNLIMITED, AMOUNT_UNLIMITED), 0);
    assert_int_equal(amount_add(AMOUNT_MAX, AMOUNT_MAX), AMOUNT_MAX);
    assert_int_equal(amount_mul(INT64_MAX / 2, 4), AMOUNT_MAX);
}

/* As deep as a tree may be, and one deeper. */
static void the_deepest(void **state) {
    enum { DEEPEST = 1000 };
    struct quota_forest f;
    char name[8], parent[8] = "";
    quota_init(&f);
    for (int i = 0; i < DEEPEST; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        put(&f, false, name, parent, i == 0 ? 9 : 0, AMOUNT_NONE, AMOUNT_NONE);
        (void)str_copy(str_of(name), parent, sizeof(parent));
    }
    struct quota_node *q = put(&f, true, "q", parent, 0, AMOUNT_NONE, AMOUNT_NONE);
    struct quota_cell *c = cell(&f, true, "q"), *top = cell(&f, false, "c0");
    assert_int_equal(q->depth, DEEPEST);
    assert_false(q->apart);
    assert_int_equal(quota_available(c), 9);
    size_t mark = quota_mark(&f);
    assert_int_equal(quota_use(&f, c, 4), 0);
    assert_int_equal(f.journal.n, DEEPEST + 1); /* all of them */
    assert_in_range(f.journal.n, 0, f.journal.cap);
    assert_int_equal(top->usage, 4);
    quota_undo(&f, mark);
    assert_int_equal(top->usage, 0);
    put(&f, false, "deeper", parent, 0, AMOUNT_NONE, AMOUNT_NONE);
    q = put(&f, true, "r", "deeper", 0, AMOUNT_NONE, AMOUNT_NONE);
    assert_int_equal(quota_settle(&f), 0);
    assert_true(q->apart);
    quota_release(&f);
}

static void cycles_and_edits(void **state) {
    struct quota_forest f;
    quota_init(&f);
    put(&f, false, "x", "y", 1, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, false, "y", "x", 1, AMOUNT_NONE, AMOUNT_NONE);
    struct quota_node *q = put(&f, true, "q", "x", 4, AMOUNT_NONE, AMOUNT_NONE);
    assert_int_equal(quota_settle(&f), 0);
    assert_true(q->apart);
    assert_null(q->parent);
    put(&f, false, "y", "", 1, AMOUNT_NONE, AMOUNT_NONE);
    struct quota_cell *c = cell(&f, true, "q");
    assert_false(q->apart);
    assert_int_equal(quota_available(c), 6);
    quota_use(&f, c, 3);
    /* the pair is dropped from the spec: what is held stays held, and counts */
    struct quota_node *n;
    assert_int_equal(quota_put(&f, true, STR("q"), STR("x"), true, NULL, 0, &n), 0);
    c = cell(&f, true, "q");
    assert_non_null(c);
    assert_false(c->offered);
    assert_int_equal(c->usage, 3);
    assert_int_equal(c->up->usage, 3);
    /* a cohort that nobody names is gone; one that is named is not */
    quota_del(&f, quota_find(&f, false, STR("y")));
    assert_int_equal(quota_settle(&f), 0);
    assert_non_null(quota_find(&f, false, STR("y")));
    quota_del(&f, quota_find(&f, false, STR("x")));
    assert_int_equal(quota_settle(&f), 0);
    assert_null(quota_find(&f, false, STR("y")));
    quota_release(&f);
}

static void stop(struct quota_forest *f, const char *name, bool active) {
    struct quota_node *n = quota_find(f, true, str_of(name));
    n->active = active;
    quota_touch(f, n);
    assert_int_equal(quota_settle(f), 0);
}

/* A stopped queue lends, and is charged for what it uses, as any other. */
static void stopped_borrower(void **state) {
    struct quota_forest f;
    quota_init(&f);
    put(&f, false, "C1", "R", 0, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, false, "C2", "R", 0, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "a", "C1", 2, 6, 1);
    put(&f, true, "e", "C1", 2, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "b", "C2", 4, AMOUNT_NONE, AMOUNT_NONE);
    assert_int_equal(quota_use(&f, cell(&f, true, "a"), 5), 0);
    stop(&f, "a", false);
    struct quota_cell *a = cell(&f, true, "a"), *b = cell(&f, true, "b"), *r = b->up->up;
    assert_false(a->node->apart);
    assert_ptr_equal(a->node->root, r->node);
    assert_int_equal(r->subtree, 7); /* one of its two may be lent, as its limit says */
    assert_int_equal(a->up->usage, 4);
    assert_int_equal(r->usage, 4);
    assert_int_equal(quota_available(b), 3);
    assert_int_equal(quota_potential(b), 7);
    assert_true(a->over);
    quota_use(&f, a, -2);
    assert_int_equal(quota_available(b), 5);
    quota_use(&f, a, -2); /* down to 1 */
    assert_int_equal(quota_available(b), 7);
    assert_false(a->over);
    quota_use(&f, a, 1);
    assert_int_equal(r->usage, 1);
    stop(&f, "a", true);
    assert_int_equal(quota_available(b = cell(&f, true, "b")), 6);
    assert_int_equal(b->up->up->subtree, 7);
    /* a pair that is in its spec no more is nothing of its own */
    struct quota_node *n;
    assert_int_equal(quota_put(&f, true, STR("a"), STR("C1"), false, NULL, 0, &n), 0);
    assert_int_equal(quota_available(cell(&f, true, "b")), 4);
    quota_release(&f);
}

/* For the height of a cohort it is not there. */
static void stopped_height(void **state) {
    struct quota_forest f;
    quota_init(&f);
    put(&f, false, "C1", "R", 0, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "a", "C1", 2, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "b", "R", 2, AMOUNT_NONE, AMOUNT_NONE);
    assert_int_equal(cell(&f, false, "R")->node->height, 2);
    stop(&f, "a", false);
    assert_int_equal(cell(&f, false, "C1")->node->height, 0);
    assert_int_equal(cell(&f, false, "R")->node->height, 1);
    quota_release(&f);
}

/* Random trees: usage of every cohort equals the sum over its children, and an undo gives back every bit. */
static void random_trees(void **state) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct prng r;
        struct quota_forest f;
        struct quota_cell *cells[12];
        prng_seed(&r, seed);
        quota_init(&f);
        char name[2][16];
        for (int i = 0; i < 5; i++) {
            snprintf(name[0], 16, "c%d", i);
            snprintf(name[1], 16, "c%d", i > 0 ? (int)prng_below(&r, (uint64_t)i) : 0);
            put(&f, false, name[0], i > 0 ? name[1] : "", (int64_t)prng_below(&r, 5),
                i > 0 ? (int64_t)prng_below(&r, 8) - 1 : -1,
                i > 0 ? (int64_t)prng_below(&r, 8) - 1 : -1);
        }
        for (int i = 0; i < 12; i++) {
            snprintf(name[0], 16, "q%d", i);
            snprintf(name[1], 16, "c%d", (int)prng_below(&r, 5));
            put(&f, true, name[0], name[1], (int64_t)prng_below(&r, 10),
                (int64_t)prng_below(&r, 8) - 1, (int64_t)prng_below(&r, 8) - 1);
        }
        assert_int_equal(quota_settle(&f), 0);
        for (int i = 0; i < 12; i++) {
            snprintf(name[0], 16, "q%d", i);
            cells[i] = cell(&f, true, name[0]);
        }
        for (int step = 0; step < 200; step++) {
            struct quota_cell *c = cells[prng_below(&r, 12)];
            uint64_t before = quota_digest(&f);
            size_t mark = quota_mark(&f);
            int64_t v = (int64_t)prng_below(&r, 9) - (c->usage > 4 ? 4 : c->usage);
            assert_int_equal(quota_use(&f, c, v), 0);
            if (prng_below(&r, 2) == 0) {
                quota_undo(&f, mark);
                assert_true(before == quota_digest(&f));
            }
            quota_keep(&f);
            assert_true(quota_available(c) <= quota_potential(c));
        }
        uint64_t sums = quota_digest(&f);
        quota_touch_all(&f);
        assert_int_equal(quota_settle(&f), 0);
        assert_true(sums == quota_digest(&f));
        quota_release(&f);
    }
}

/* Everything that settling computes, of all nodes. */
static uint64_t computed(struct quota_forest *f) {
    struct quota_nodes v = {0};
    uint64_t h = 0;
    assert_int_equal(quota_settle(f), 0);
    assert_int_equal(quota_nodes_of(f, NULL, &v), 0);
    for (size_t i = 0; i < v.n; i++) {
        const struct quota_node *n = v.v[i];
        assert_false(quota_stale(n));
        h = hash_str(hash_mix(h, n->depth << 16 | n->height << 4 | n->apart), n->name);
        h = hash_str(hash_mix(h, n->n_children), n->root->name);
        for (size_t k = 0; k < n->n_cells; k++) {
            const struct quota_cell *c = &n->cells[k];
            h = hash_mix(hash_mix(h, (uint64_t)c->subtree), (uint64_t)c->usage);
            h = hash_mix(h, c->q.pair << 2 | c->over << 1 | c->offered);
            h = hash_mix(h, c->up != NULL ? (uint64_t)c->up->subtree : 7);
            for (const struct quota_cell *o = c->over_first; o != NULL; o = o->over_next) {
                assert_ptr_equal(o->up, c);
                h += 1;
            }
        }
        for (size_t k = 0; k < n->n_lend; k++) {
            h = hash_mix(h, (uint64_t)n->lend[k].v);
        }
        for (const struct quota_node *q = n->tree_first; q != NULL; q = q->tree_next) {
            h = hash_str(h, q->name);
        }
    }
    quota_nodes_release(&v);
    return h;
}

static void random_edit(struct quota_forest *f, struct prng *r) {
    char name[2][16];
    bool queue = prng_below(r, 3) > 0;
    snprintf(name[0], 16, "%c%d", queue ? 'q' : 'c', (int)prng_below(r, queue ? 20 : 10));
    snprintf(name[1], 16, "c%d", (int)prng_below(r, 10));
    struct quota_node *n = quota_find(f, queue, str_of(name[0]));
    struct quota_limits own[2] = {
        {PAIR, (int64_t)prng_below(r, 9), AMOUNT_NONE, (int64_t)prng_below(r, 8) - 1},
        {PAIR + 1, (int64_t)prng_below(r, 9), (int64_t)prng_below(r, 8) - 1, AMOUNT_NONE}};
    if (n != NULL && prng_below(r, 4) == 0) {
        for (size_t i = 0; queue && i < n->n_cells; i++) {
            quota_use(f, &n->cells[i], -n->cells[i].usage);
        }
        quota_del(f, n);
    } else if (n != NULL && queue && n->n_cells > 0 && prng_below(r, 3) > 0) {
        int64_t v = (int64_t)prng_below(r, 9);
        quota_use(f, &n->cells[0], n->cells[0].usage > v ? -v : v);
    } else {
        const char *up = prng_below(r, 3) == 0 ? "" : name[1];
        assert_int_equal(quota_put(f, queue, str_of(name[0]), str_of(up), prng_below(r, 5) > 0, own,
                                   prng_below(r, 3), &n),
                         0);
    }
}

/* What was built a piece at a time is what comes of building all: moves, cycles, deletions, use in between. */
static void a_piece_at_a_time(void **state) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct quota_forest f;
        struct prng r;
        prng_seed(&r, seed);
        quota_init(&f);
        for (int i = 0; i < 120; i++) {
            random_edit(&f, &r);
            if (prng_below(&r, 3) == 0) {
                uint64_t piece = computed(&f);
                quota_touch_all(&f);
                assert_true(computed(&f) == piece);
            }
        }
        quota_release(&f);
    }
}

/* An edit costs its own tree. */
static void the_others_stay(void **state) {
    struct quota_forest f;
    char name[16], up[16];
    quota_init(&f);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        snprintf(up, sizeof(up), "c%d", i / 2);
        put(&f, true, name, up, 4, AMOUNT_NONE, AMOUNT_NONE);
    }
    assert_int_equal(quota_settle(&f), 0);
    assert_int_equal(f.built, 1500);
    put(&f, true, "q7", "c3", 5, AMOUNT_NONE, AMOUNT_NONE);
    struct quota_cell *other = quota_cell_of(quota_find(&f, true, STR("q8")), PAIR);
    assert_true(quota_stale(quota_find(&f, true, STR("q6"))));
    assert_false(quota_stale(other->node));
    assert_int_equal(quota_use(&f, other, 6), 0); /* while another tree is stale */
    assert_int_equal(other->up->usage, 6);
    assert_int_equal(quota_settle(&f), 0);
    assert_int_equal(f.built, 1503);
    put(&f, true, "q7", "c4", 5, AMOUNT_NONE, AMOUNT_NONE); /* two trees, six nodes in all */
    assert_int_equal(quota_settle(&f), 0);
    assert_int_equal(f.built, 1509);
    assert_int_equal(quota_cell_of(quota_find(&f, true, STR("q6")), PAIR)->up->subtree, 4);
    quota_release(&f);
}

/* Settles, and says whether that tree lends otherwise than before; then it is known. */
static bool redrawn(struct quota_forest *f, const char *queue) {
    assert_int_equal(quota_settle(f), 0);
    struct quota_node *root = quota_find(f, true, str_of(queue))->root;
    bool was = root->redrawn;
    root->redrawn = false;
    return was;
}

/* A put that changes nothing but who is stopped is none of what can be lent; limits, parents and cohorts are. */
static void redrawn_by_limits(void **state) {
    struct quota_forest f;
    struct quota_limits same = {PAIR, 2, AMOUNT_NONE, AMOUNT_NONE};
    struct quota_node *n;
    quota_init(&f);
    put(&f, false, "R", "", 0, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "a", "R", 2, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "b", "R", 2, AMOUNT_NONE, AMOUNT_NONE);
    put(&f, true, "lone", "named", 2, AMOUNT_NONE, AMOUNT_NONE);
    assert_true(redrawn(&f, "a"));
    assert_true(redrawn(&f, "lone"));
    assert_int_equal(quota_put(&f, true, STR("a"), STR("R"), false, &same, 1, &n), 0);
    assert_false(redrawn(&f, "b"));
    put(&f, true, "a", "R", 2, 1, AMOUNT_NONE);
    assert_true(redrawn(&f, "b"));
    put(&f, true, "a", "R", 2, 1, 1);
    assert_true(redrawn(&f, "b"));
    put(&f, true, "a", "other", 2, 1, 1);
    assert_true(redrawn(&f, "b"));
    assert_true(redrawn(&f, "a"));
    put(&f, true, "a", "other", 2, 1, 1); /* alone in a cohort that is only named */
    assert_true(redrawn(&f, "a"));
    put(&f, true, "b", "R", 2, AMOUNT_NONE, AMOUNT_NONE); /* alone in one that is there */
    assert_false(redrawn(&f, "b"));
    put(&f, false, "R", "", 0, AMOUNT_NONE, AMOUNT_NONE);
    assert_true(redrawn(&f, "b"));
    put(&f, true, "c", "R", 2, AMOUNT_NONE, AMOUNT_NONE);
    assert_true(redrawn(&f, "b"));
    quota_del(&f, quota_find(&f, true, STR("c")));
    assert_true(redrawn(&f, "b"));
    assert_false(redrawn(&f, "lone"));
    quota_release(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_lending),      cmocka_unit_test(hierarchy),
        cmocka_unit_test(unlimited),         cmocka_unit_test(the_deepest),
        cmocka_unit_test(cycles_and_edits),  cmocka_unit_test(random_trees),
        cmocka_unit_test(a_piece_at_a_time), cmocka_unit_test(the_others_stay),
        cmocka_unit_test(stopped_borrower),  cmocka_unit_test(stopped_height),
        cmocka_unit_test(redrawn_by_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

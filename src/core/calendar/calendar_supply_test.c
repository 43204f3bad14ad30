/* Tests of the calendar when there is less or more: cards, windows, restarts, memory; and who then has which place. */
#include "base/mem.h"
#include "core/test/calendar_scene.h"

/* Written down before a restart, and one of the cards did not come back: what is left is nobody else's. */
static void a_restart_keeps_what_is_left(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    struct calendar_line lines[] = {{.resource = STR(CALENDAR_GPU), .count = 3},
                                    {.resource = STR("cpu"), .count = 4}};
    struct calendar_ask ask = {
        .id = STR("a"), .start = T0 + H, .end = T0 + 4 * H, .lines = lines, .n_lines = 2};
    struct calendar_place v[] = {{.gpu = STR("GPU-0-1"), .count = 1},
                                 {.gpu = STR("GPU-0-2"), .count = 1},
                                 {.line = 1, .flavor = STR("gone"), .count = 4}};
    struct calendar_card card;
    struct calendar_plan plan;
    struct arena a;
    struct err err;
    struct str id;
    char buf[48];
    size_t pos = 0;
    (void)state;
    arena_init(&a, 1 << 20);
    uint64_t before = calendar_digest(c);
    assert_int_equal(calendar_restore(c, &ask, v + 1, 2), ERR_CONFLICT); /* nothing is left */
    assert_int_equal(calendar_digest(c), before);
    assert_int_equal(calendar_restore(c, &ask, v, 3), 0);
    sound(c);
    assert_int_equal(calendar_plan_of(c, ask.id, &a, &plan), 0);
    assert_int_equal(plan.n, 3);
    assert_false(plan.v[0].lost);
    assert_true(plan.v[1].lost && plan.v[2].lost);
    assert_int_equal(plan.v[2].count, 4);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, ask.id);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 2, 3, NULL), 0);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    assert_true(calendar_remove(c, STR("b")));
    assert_ok(calendar_pool_put(c, STR("p"), STR("cpu"), 4, &err), &err);
    card = h200(buf, 0, 2, 0);
    assert_ok(calendar_card_put(c, &card, &err), &err);
    pos = 0;
    assert_false(calendar_broken_next(c, &pos, &id));
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    arena_release(&a);
    calendar_free(c);
}

static void maintenance_moves_who_can_move(void **state) {
    struct calendar *c = fleet(2, 1, 0);
    struct str node = STR("n000"), *ids, id;
    struct calendar_window w = {
        .id = STR("m"), .start = T0 + 2 * H, .end = T0 + 4 * H, .nodes = &node, .n_nodes = 1};
    struct arena a;
    struct err err;
    size_t n, pos = 0;
    (void)state;
    arena_init(&a, 1 << 20);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    assert_int_equal(calendar_window_check(c, &w, &a, &ids, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 2, 3, NULL), 0);
    uint64_t before = calendar_digest(c);
    assert_int_equal(calendar_window_check(c, &w, &a, &ids, &n, &err), 0);
    assert_int_equal(calendar_digest(c), before);
    assert_int_equal(n, 1);
    assert_ok(calendar_window_put(c, &w, &err), &err);
    sound(c);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, ids[0]);
    assert_int_equal(book(c, "x", CALENDAR_GPU, 1, 3, 3.5, NULL), 0);
    assert_int_equal(book(c, "y", CALENDAR_GPU, 1, 3, 3.5, NULL), ERR_CONFLICT);
    assert_int_equal(calendar_window_del(c, STR("m")), 0);
    pos = 0;
    assert_false(calendar_broken_next(c, &pos, &id));
    sound(c);
    arena_release(&a);
    calendar_free(c);
}

/* A stronger one that loses its place takes that of a weaker one that has not started. */
static void the_weaker_gives_way(void **state) {
    struct calendar *c = fleet(2, 1, 0);
    struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = 1};
    struct calendar_ask ask = {
        .start = T0 + H, .end = T0 + 2 * H, .lines = &line, .n_lines = 1, .rank = 1};
    struct str id;
    size_t pos = 0;
    (void)state;
    ask.id = STR("teaching");
    assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    ask.id = STR("production");
    ask.rank = 9;
    assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    struct calendar_place p = place_of(c, "production");
    assert_int_equal(calendar_card_del(c, p.gpu), 0);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, STR("teaching"));
    assert_false(place_of(c, "production").lost);
    sound(c);
    calendar_free(c);
}

static void a_card_that_changes_keeps_who_still_fits(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct calendar_slot layout[] = {{STR("3g.71gb"), 4}, {STR("3g.71gb"), 0}};
    struct err err;
    struct str id;
    char buf[48];
    size_t pos = 0;
    (void)state;
    assert_int_equal(book(c, "a", MIG("3g.71gb"), 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 4, 5, NULL), 0);
    struct calendar_card card = h200(buf, 0, 0, 0);
    assert_ok(calendar_card_put(c, &card, &err), &err); /* unchanged */
    assert_false(calendar_moved_next(c, &id));
    card.dynamic = false;
    card.layout = layout;
    card.n_layout = 2;
    assert_ok(calendar_card_put(c, &card, &err), &err);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, STR("b"));
    assert_false(calendar_broken_next(c, &pos, &id));
    assert_int_equal(place_of(c, "a").start, 4);
    sound(c);
    calendar_free(c);
}

static void added_cards_serve_from_their_day(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct err err;
    char buf[48];
    (void)state;
    struct calendar_card card = h200(buf, 0, 1, 0);
    card.from = T0 + 10 * H;
    assert_ok(calendar_card_put(c, &card, &err), &err);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 2, 9, 11, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 2, 10, 11, NULL), 0);
    calendar_free(c);
}

static void standing_quota_is_for_ever_and_may_move(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    struct calendar_line line = {.resource = STR(MIG("3g.71gb")), .count = 1};
    struct calendar_ask ask = {.id = STR("floor"),
                               .start = T0 - 100 * H,
                               .end = CALENDAR_FOREVER,
                               .lines = &line,
                               .n_lines = 1,
                               .floating = true};
    (void)state;
    assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 2, 3, 4, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "c", MIG("4g.71gb"), 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "d", MIG("1g.18gb"), 1, 1, 2, NULL), ERR_CONFLICT);
    calendar_free(c);
}

/* Whichever allocation fails: nothing changed, nothing leaked, the next try works. */
static void survives_lack_of_memory(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth < 400; nth++) {
        struct calendar *c = fleet(1, 2, 120);
        assert_int_equal(book(c, "a", MIG("1g.18gb"), 1, 1, 3, NULL), 0);
        assert_int_equal(book(c, "b", MIG("3g.71gb"), 1, 2, 3, NULL), 0);
        struct calendar_line line = {.resource = STR(MIG("4g.71gb")), .count = 2};
        struct calendar_ask ask = {
            .id = STR("c"), .start = T0 + 4 * H, .end = T0 + 6 * H, .lines = &line, .n_lines = 1};
        uint64_t before = calendar_digest(c);
        mem_fault(nth, 0);
        int r = calendar_insert(c, &ask, NULL);
        bool hit = mem_fault_hit() != 0;
        mem_fault(0, 0);
        if (r != 0) {
            assert_int_equal(r, ERR_NOMEM);
            assert_int_equal(calendar_digest(c), before);
            assert_int_equal(calendar_insert(c, &ask, NULL), 0);
        }
        sound(c);
        calendar_free(c);
        if (!hit) {
            return;
        }
    }
    fail();
}

/* The same for changes of supply, of entries, and searches: sound, and nothing leaked, whatever fails. */
static void stays_sound_without_memory(void **state) {
    struct str node = STR("n000"), *ids;
    struct calendar_window w = {
        .id = STR("m"), .start = T0 + 2 * H, .end = T0 + 4 * H, .nodes = &node, .n_nodes = 1};
    (void)state;
    for (int what = 0; what < 6; what++) {
        bool hit = true;
        for (uint64_t nth = 1; hit; nth++) {
            struct calendar *c = fleet(2, 2, 120);
            struct calendar_line line = {.resource = STR(MIG("3g.71gb")), .count = 3};
            struct calendar_ask ask = {.id = STR("a"),
                                       .start = T0 + 2 * H,
                                       .end = T0 + 5 * H,
                                       .lines = &line,
                                       .n_lines = 1};
            struct calendar_alternative *v;
            struct arena a;
            size_t n;
            char buf[48];
            struct calendar_card card = h200(buf, 0, 0, 60);
            arena_init(&a, 1 << 20);
            assert_int_equal(book(c, "a", MIG("3g.71gb"), 2, 1, 3, NULL), 0);
            assert_int_equal(book(c, "b", CALENDAR_GPU, 2, 2, 3, NULL), 0);
            assert_int_equal(calendar_pool_put(c, STR("p"), STR("cpu"), 4, NULL), 0);
            assert_int_equal(book(c, "p", "cpu", 4, 2, 3, NULL), 0);
            mem_fault(nth, 0);
            int r = what == 0   ? calendar_change(c, &ask, NULL)
                    : what == 1 ? calendar_window_put(c, &w, NULL)
                    : what == 2 ? calendar_window_check(c, &w, &a, &ids, &n, NULL)
                    : what == 3 ? calendar_card_put(c, &card, NULL)
                    : what == 4
                        ? calendar_pool_put(c, STR("p"), STR("cpu"), 3, NULL)
                        : calendar_alternatives(c, &ask, STR("a"), T0, T0 + 9 * H, &a, &v, &n);
            hit = mem_fault_hit() != 0;
            mem_fault(0, 0);
            assert_true(r == 0 || (hit && r == ERR_NOMEM));
            (void)calendar_heal(c);
            sound(c);
            arena_release(&a);
            calendar_free(c);
        }
    }
}

static struct calendar_plan plan_of(struct calendar *c, const char *id, struct arena *a) {
    struct calendar_plan plan;
    assert_int_equal(calendar_plan_of(c, str_of(id), a, &plan), 0);
    return plan;
}

/* How many units of it have a place; and, on cards, on how many nodes. */
static int64_t has(struct calendar *c, const char *id) {
    struct arena a;
    arena_init(&a, 1 << 20);
    struct calendar_plan plan = plan_of(c, id, &a);
    int64_t n = 0;
    for (size_t i = 0; i < plan.n; i++) {
        n += plan.v[i].lost ? 0 : plan.v[i].count;
    }
    arena_release(&a);
    return n;
}

/* One of three GPUs of a plain number is lost: two are left, nobody else gets what comes back. */
static void a_number_keeps_what_is_left(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct err err;
    struct str id;
    size_t pos = 0;
    (void)state;
    calendar_now(c, T0);
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 8, &err), &err);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 5, 1, 9, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 3, 1, 9, NULL), 0);
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 7, &err), &err);
    sound(c);
    assert_int_equal(has(c, "a"), 5);
    assert_int_equal(has(c, "b"), 2);
    assert_true(calendar_moved_next(c, &id));
    assert_str_eq(id, STR("b"));
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 5, &err), &err);
    assert_int_equal(has(c, "b"), 0);
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 7, &err), &err);
    sound(c);
    assert_int_equal(has(c, "b"), 2);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, STR("b"));
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 9, &err), &err);
    sound(c);
    pos = 0;
    assert_false(calendar_broken_next(c, &pos, &id));
    assert_int_equal(has(c, "b"), 3);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, NULL), 0);
    calendar_free(c);
}

static void card_back(struct calendar *c, int node, int index) {
    char buf[48];
    struct calendar_card card = h200(buf, node, index, 0);
    struct err err;
    assert_ok(calendar_card_put(c, &card, &err), &err);
    sound(c);
}

/* Two of three cards die, and come back one by one: each is the booking's before it is anybody's. */
static void cards_come_back_to_whom_they_were_promised(void **state) {
    struct calendar *c = fleet(1, 3, 0);
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 3, 1, 9, NULL), 0);
    assert_int_equal(calendar_card_del(c, STR("GPU-0-0")), 0);
    assert_int_equal(calendar_card_del(c, STR("GPU-0-2")), 0);
    sound(c);
    assert_int_equal(has(c, "a"), 1);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    card_back(c, 0, 0);
    assert_int_equal(has(c, "a"), 2);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    assert_int_equal(calendar_card_del(c, STR("GPU-0-0")), 0);
    assert_int_equal(calendar_card_del(c, STR("GPU-0-1")), 0);
    assert_int_equal(has(c, "a"), 0);
    card_back(c, 0, 1);
    assert_int_equal(has(c, "a"), 1);
    card_back(c, 0, 0);
    card_back(c, 0, 2);
    assert_int_equal(has(c, "a"), 3);
    calendar_free(c);
}

/* On one node: all of it goes to another that has room, when it has not begun; else the node keeps what is left. */
static void one_node_or_another(void **state) {
    struct calendar *c = fleet(2, 3, 0);
    struct calendar_place p;
    (void)state;
    assert_int_equal(whole_node(c, "a", 3, 1, 9, NULL), 0);
    p = place_of(c, "a");
    bool first = str_eq(p.node, STR("n000"));
    assert_int_equal(calendar_card_del(c, first ? STR("GPU-0-1") : STR("GPU-1-1")), 0);
    sound(c);
    assert_int_equal(has(c, "a"), 3);
    p = place_of(c, "a");
    assert_str_eq(p.node, first ? STR("n001") : STR("n000"));
    calendar_now(c, T0 + 2 * H);
    assert_int_equal(calendar_card_del(c, first ? STR("GPU-1-1") : STR("GPU-0-1")), 0);
    sound(c);
    assert_int_equal(has(c, "a"), 2);
    card_back(c, first ? 1 : 0, 1);
    assert_int_equal(has(c, "a"), 3);
    calendar_free(c);
}

/* Nothing is left of it, and two flavors would do: a part of one is not taken, for the other may have all of it. */
static void no_part_where_there_is_a_choice(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct err err;
    (void)state;
    calendar_now(c, T0);
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 0, &err), &err);
    assert_ok(calendar_pool_put(c, STR("r"), STR(CALENDAR_GPU), 3, &err), &err);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 3, 1, 9, NULL), 0);
    assert_ok(calendar_pool_put(c, STR("r"), STR(CALENDAR_GPU), 0, &err), &err);
    assert_ok(calendar_pool_put(c, STR("r"), STR(CALENDAR_GPU), 2, &err), &err);
    assert_int_equal(has(c, "a"), 0);
    assert_ok(calendar_pool_put(c, STR("p"), STR(CALENDAR_GPU), 3, &err), &err);
    sound(c);
    assert_int_equal(has(c, "a"), 3);
    assert_str_eq(place_of(c, "a").flavor, STR("p"));
    calendar_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_keeps_what_is_left),
        cmocka_unit_test(cards_come_back_to_whom_they_were_promised),
        cmocka_unit_test(one_node_or_another),
        cmocka_unit_test(no_part_where_there_is_a_choice),
        cmocka_unit_test(a_restart_keeps_what_is_left),
        cmocka_unit_test(maintenance_moves_who_can_move),
        cmocka_unit_test(the_weaker_gives_way),
        cmocka_unit_test(a_card_that_changes_keeps_who_still_fits),
        cmocka_unit_test(added_cards_serve_from_their_day),
        cmocka_unit_test(standing_quota_is_for_ever_and_may_move),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(stays_sound_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of the calendar: feasibility in time, geometry, changes, searches, and what is shown. */
#include <stdlib.h>

#include "base/prng.h"
#include "core/test/calendar_scene.h"

static void takes_what_is_free_and_no_more(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    struct calendar_why why;
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 2, 4, NULL), 0);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, &why), ERR_CONFLICT);
    assert_int_equal(why.trouble, CALENDAR_BUSY);
    assert_int_equal(why.from, T0 + 2 * H);
    assert_int_equal(why.to, T0 + 3 * H);
    assert_int_equal(why.free, 0);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 3, 5, NULL), 0); /* half-open */
    assert_int_equal(book(c, "d", CALENDAR_GPU, 3, 10, 11, &why), ERR_CONFLICT);
    assert_int_equal(why.trouble, CALENDAR_SMALL);
    assert_int_equal(why.most, 2);
    assert_int_equal(book(c, "e", "nvidia.com/mig-9g.99gb", 1, 1, 2, &why), ERR_CONFLICT);
    assert_int_equal(why.trouble, CALENDAR_UNKNOWN);
    calendar_free(c);
}

/* Four cards, bookings one after the other that first fit scatters: whatever fits the count is accepted. */
static void exchanges_cards_when_the_count_fits(void **state) {
    struct calendar *c = fleet(1, 3, 0);
    struct str moved;
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 1, 4, NULL), 0);
    assert_int_equal(book(c, "d", CALENDAR_GPU, 1, 4, 6, NULL), 0);
    assert_int_equal(book(c, "e", CALENDAR_GPU, 1, 3, 6, NULL), 0);
    while (calendar_moved_next(c, &moved)) {
    }
    /* one card is free from 2 to 4, another from 6: one must change so that a stretch from 2 to 9 exists */
    assert_int_equal(book(c, "f", CALENDAR_GPU, 1, 2, 9, NULL), 0);
    assert_int_equal(book(c, "g", CALENDAR_GPU, 1, 5, 9, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "h", CALENDAR_GPU, 2, 6, 9, NULL), 0);
    calendar_free(c);
}

/* Among 20 whole cards, too many to be searched: what the count allows at each instant is accepted, nothing else. */
static void the_count_decides_among_many(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct prng r;
    struct err err;
    int used[200] = {0}, accepted = 0, refused = 0;
    (void)state;
    for (int i = 0; i < 20; i++) {
        char buf[48];
        struct calendar_card card = h200(buf, i / 4, i % 4, 0);
        card.dynamic = false;
        assert_ok(calendar_card_put(c, &card, &err), &err);
    }
    calendar_now(c, T0);
    prng_seed(&r, 5);
    for (int i = 0; i < 2000; i++) {
        int from = 1 + (int)prng_below(&r, 150), to = from + 1 + (int)prng_below(&r, 40);
        int count = 1 + (int)prng_below(&r, 3);
        char id[16];
        bool fits = true;
        snprintf(id, sizeof(id), "r%d", i);
        for (int t = from; t < to; t++) {
            fits = fits && used[t] + count <= 20;
        }
        struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = count};
        struct calendar_ask ask = {.id = str_of(id),
                                   .start = T0 + from * (H / 2),
                                   .end = T0 + to * (H / 2),
                                   .lines = &line,
                                   .n_lines = 1};
        assert_int_equal(calendar_insert(c, &ask, NULL), fits ? 0 : ERR_CONFLICT);
        for (int t = from; fits && t < to; t++) {
            used[t] += count;
        }
        accepted += fits;
        refused += !fits;
    }
    assert_true(accepted > 100 && refused > 100);
    sound(c);
    calendar_free(c);
}

static void keeps_a_line_on_one_node(void **state) {
    struct calendar *c = fleet(3, 4, 0);
    struct calendar_why why;
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    assert_int_equal(whole_node(c, "b", 4, 1, 3, NULL), 0);
    assert_int_equal(whole_node(c, "c", 4, 1, 3, NULL), 0);
    assert_int_equal(whole_node(c, "d", 4, 1, 3, &why), ERR_CONFLICT);
    assert_int_equal(whole_node(c, "e", 3, 1, 3, NULL), 0);
    assert_int_equal(book(c, "x", CALENDAR_GPU, 4, 5, 6, NULL), 0);
    assert_int_equal(book(c, "y", CALENDAR_GPU, 4, 5, 6, NULL), 0);
    assert_int_equal(whole_node(c, "z", 3, 5, 6, NULL), 0);
    assert_int_equal(whole_node(c, "w", 2, 5, 6, &why), ERR_CONFLICT);
    calendar_free(c);
}

/* A trial that was taken back leaves nothing behind, though what is known of the cards was made in the midst of it. */
static void a_trial_leaves_nothing_behind(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = 2};
    struct calendar_ask ask = {
        .id = STR("a"), .start = T0 + H, .end = T0 + 6 * H, .lines = &line, .n_lines = 1};
    struct calendar_card card;
    struct err err;
    char buf[48];
    (void)state;
    calendar_set_options(c, &(struct calendar_options){.repair_steps = -1}); /* no search */
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    card = h200(buf, 0, 1, 0);
    assert_ok(calendar_card_put(c, &card, &err), &err);
    assert_int_equal(calendar_check(c, &ask, STR("a"), NULL, NULL, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 2, 3, 6, NULL), 0);
    calendar_free(c);
}

/* Singles on each node leave room for four together only after a move. */
static void moves_singles_away_for_a_node(void **state) {
    struct calendar *c = fleet(2, 2, 0);
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 1, 3, NULL), 0);
    assert_true(calendar_remove(c, STR("b")));
    assert_int_equal(whole_node(c, "d", 2, 1, 3, NULL), 0);
    calendar_free(c);
}

/* Each instant can be realised; together they cannot: the 4g forces the lasting 1g to 4..6. */
static void refuses_what_only_fits_at_each_instant(void **state) {
    static const char *const second[2][4] = {
        {MIG("3g.71gb"), MIG("2g.35gb"), MIG("1g.18gb"), NULL},
        {MIG("3g.71gb"), MIG("1g.18gb"), MIG("1g.18gb"), MIG("1g.18gb")}};
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct calendar *c = fleet(1, 1, 0);
        int refused = 0;
        assert_int_equal(book(c, "lasting", MIG("1g.18gb"), 1, 1, 3, NULL), 0);
        assert_int_equal(book(c, "first", MIG("4g.71gb"), 1, 1, 2, NULL), 0);
        for (int i = 0; i < 4 && second[which][i] != NULL; i++) {
            char id[16];
            snprintf(id, sizeof(id), "s%d", i);
            refused += book(c, id, second[which][i], 1, 2, 3, NULL) != 0;
        }
        assert_int_equal(refused, 1);
        calendar_free(c);
    }
}

/* The lasting 1g sits where nothing else minds; the 4g, asked for later, makes it move. */
static void moves_a_slice_that_is_in_the_way(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    (void)state;
    assert_int_equal(book(c, "a", MIG("1g.18gb"), 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "b", MIG("3g.71gb"), 1, 2, 3, NULL), 0);
    assert_int_equal(book(c, "c", MIG("4g.71gb"), 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "d", MIG("2g.35gb"), 1, 2, 3, NULL), 0);
    calendar_free(c);
}

/* 1g at 0 and 1g at 4 leave 6 memory and 5 compute slices, yet no 3g: they run, and cannot move. */
static void never_moves_what_has_started(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct calendar_line line = {.resource = STR(MIG("1g.18gb")), .count = 1};
    struct calendar_ask ask = {.start = T0 - H, .end = T0 + 4 * H, .lines = &line, .n_lines = 1};
    struct calendar_place p = {.flavor = STR("h200"),
                               .gpu = STR("GPU-0-0"),
                               .profile = STR("1g.18gb"),
                               .size = 1,
                               .count = 1};
    (void)state;
    ask.id = STR("a");
    assert_int_equal(calendar_restore(c, &ask, &p, 1), 0);
    assert_int_equal(calendar_restore(c, &ask, &p, 1), ERR_EXISTS);
    ask.id = STR("b");
    assert_int_equal(calendar_restore(c, &ask, &p, 1), ERR_CONFLICT);
    p.start = 4;
    assert_int_equal(calendar_restore(c, &ask, &p, 1), 0);
    assert_int_equal(book(c, "c", MIG("3g.71gb"), 1, 1, 2, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "d", MIG("2g.35gb"), 1, 1, 2, NULL), 0);
    assert_int_equal(place_of(c, "a").start, 0);
    assert_int_equal(place_of(c, "b").start, 4);
    calendar_free(c);
}

/* 78 multisets of the six plain profiles fit one empty card, as memory and compute sums say; all others do not. */
static void knows_the_78_multisets(void **state) {
    static const int most[] = {7, 4, 3, 2, 1, 1};
    int fits = 0, all = 0;
    (void)state;
    for (int code = 0; code < 8 * 5 * 4 * 3 * 2 * 2; code++) {
        int n[6], rest = code, memory = 0, compute = 0;
        struct calendar_line lines[6];
        size_t k = 0;
        for (int i = 0; i < 6; i++) {
            n[i] = rest % (most[i] + 1);
            rest /= most[i] + 1;
            memory += n[i] * H200[i].size;
            compute += n[i] * H200[i].compute_slices;
            if (n[i] > 0) {
                lines[k++] = (struct calendar_line){.resource = H200[i].resource, .count = n[i]};
            }
        }
        all++;
        if (k == 0) {
            fits++;
            continue;
        }
        struct calendar *c = fleet(1, 1, 0);
        struct calendar_ask ask = {
            .id = STR("x"), .start = T0 + H, .end = T0 + 2 * H, .lines = lines, .n_lines = k};
        int r = calendar_insert(c, &ask, NULL);
        assert_int_equal(r, memory <= 8 && compute <= 7 ? 0 : ERR_CONFLICT);
        fits += r == 0;
        sound(c);
        calendar_free(c);
    }
    assert_int_equal(all, 1920);
    assert_int_equal(fits, 78);
}

static void media_engines_are_one_a_card(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    (void)state;
    assert_int_equal(book(c, "a", MIG("1g.18gb.me"), 2, 1, 2, NULL), 0);
    assert_int_equal(book(c, "b", MIG("1g.18gb.me"), 1, 1, 2, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "c", MIG("1g.18gb"), 12, 1, 2, NULL), 0);
    calendar_free(c);
}

static void leaves_time_to_change_the_layout(void **state) {
    struct calendar *c = fleet(1, 1, 120);
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 2, 3, NULL), 0); /* the same: back to back */
    assert_int_equal(book(c, "c", MIG("1g.18gb"), 1, 3, 4, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "c", MIG("1g.18gb"), 1, 3.5, 4, NULL), 0);
    assert_int_equal(book(c, "d", MIG("1g.35gb"), 4, 4, 5, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "e", MIG("1g.35gb"), 3, 4, 5, NULL), 0);
    assert_int_equal(book(c, "f", MIG("1g.18gb"), 1, 4, 5, NULL), 0); /* where c was */
    calendar_free(c);
}

static void a_static_layout_is_all_there_is(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct calendar_slot layout[] = {
        {STR("1g.18gb"), 0}, {STR("1g.18gb"), 1}, {STR("2g.35gb"), 2}, {STR("3g.71gb"), 4}};
    struct err err;
    char buf[48];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct calendar_card card = h200(buf, 0, i, 120);
        card.dynamic = false;
        card.layout = layout;
        card.n_layout = 4;
        assert_ok(calendar_card_put(c, &card, &err), &err);
    }
    assert_int_equal(book(c, "w", CALENDAR_GPU, 1, 1, 2, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "a", MIG("1g.18gb"), 4, 1, 2, NULL), 0);
    assert_int_equal(book(c, "b", MIG("1g.18gb"), 1, 1, 2, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "c", MIG("2g.35gb"), 2, 1, 2, NULL), 0);
    /* slices are alike: late binding accepts what the count allows */
    assert_int_equal(book(c, "d", MIG("3g.71gb"), 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "e", MIG("3g.71gb"), 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "f", MIG("3g.71gb"), 1, 3, 5, NULL), 0);
    assert_int_equal(book(c, "g", MIG("3g.71gb"), 1, 2, 6, NULL), 0);
    layout[3].start = 2;
    struct calendar_card bad = h200(buf, 0, 7, 0);
    bad.dynamic = false;
    bad.layout = layout;
    bad.n_layout = 4;
    assert_int_equal(calendar_card_put(c, &bad, &err), ERR_INVALID);
    calendar_free(c);
}

static void plain_numbers_have_no_geometry(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct calendar_free v[4];
    struct err err;
    (void)state;
    assert_ok(calendar_pool_put(c, STR("a100"), STR(CALENDAR_GPU), 8, &err), &err);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 5, 1, 3, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 3, 2, 4, NULL), 0);
    assert_int_equal(book(c, "c", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    assert_int_equal(calendar_slots(c, STR("a100"), STR(CALENDAR_GPU), T0, H, 4, v), 0);
    assert_int_equal(v[0].free, 8);
    assert_int_equal(v[1].free, 3);
    assert_int_equal(v[2].free, 0);
    assert_int_equal(v[3].free, 5);
    /* less of it: who came last goes */
    assert_ok(calendar_pool_put(c, STR("a100"), STR(CALENDAR_GPU), 6, &err), &err);
    size_t pos = 0;
    struct str id;
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, STR("b"));
    assert_false(calendar_broken_next(c, &pos, &id));
    sound(c);
    assert_ok(calendar_pool_put(c, STR("a100"), STR(CALENDAR_GPU), 8, &err), &err);
    pos = 0;
    assert_false(calendar_broken_next(c, &pos, &id));
    sound(c);
    /* a standing quota has no end */
    struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = 3};
    struct calendar_ask ask = {
        .id = STR("q"), .start = T0, .end = CALENDAR_FOREVER, .lines = &line, .n_lines = 1};
    assert_true(calendar_remove(c, STR("b")));
    assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    sound(c);
    assert_int_equal(book(c, "d", CALENDAR_GPU, 1, 2, 3, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "d", CALENDAR_GPU, 5, 3, 4, NULL), 0);
    calendar_free(c);
}

static void all_lines_or_nothing_and_any_of(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct str any[] = {STR("a100"), STR("h200")};
    struct err err;
    assert_ok(calendar_pool_put(c, STR("a100"), STR(CALENDAR_GPU), 1, &err), &err);
    struct calendar_line lines[] = {
        {.resource = STR(CALENDAR_GPU), .count = 1, .flavors = any, .n_flavors = 2},
        {.resource = STR(MIG("1g.18gb")), .count = 7}};
    struct calendar_ask ask = {
        .id = STR("x"), .start = T0 + H, .end = T0 + 2 * H, .lines = lines, .n_lines = 2};
    (void)state;
    assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    assert_str_eq(place_of(c, "x").flavor, STR("a100"));
    ask.id = STR("y");
    struct calendar_why why;
    assert_int_equal(calendar_insert(c, &ask, &why), ERR_CONFLICT);
    lines[1].count = 0;
    assert_int_equal(calendar_insert(c, &ask, &why), ERR_INVALID);
    sound(c);
    calendar_free(c);
}

static int change(struct calendar *c, const char *id, const char *resource, int64_t count, double a,
                  double b, struct calendar_why *why) {
    struct calendar_line line = {.resource = str_of(resource), .count = count};
    struct calendar_ask ask = {.id = str_of(id),
                               .start = T0 + (int64_t)(a * H),
                               .end = T0 + (int64_t)(b * H),
                               .lines = &line,
                               .n_lines = 1};
    int r = calendar_change(c, &ask, why);
    sound(c);
    return r;
}

static void a_change_keeps_the_old_when_the_new_fails(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct calendar_why why;
    (void)state;
    assert_int_equal(book(c, "a", MIG("3g.71gb"), 1, 1, 2, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 1, 3, 4, NULL), 0);
    uint64_t before = calendar_digest(c);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 1, 1, 3.5, &why), ERR_CONFLICT);
    assert_int_equal(calendar_digest(c), before);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 2, 1, 3, &why), 0);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 1, 4, 6, &why), 0);
    assert_int_equal(change(c, "nobody", MIG("3g.71gb"), 1, 4, 6, &why), ERR_NOT_FOUND);
    calendar_free(c);
}

/* A change finds what the entry itself held, also as another resource. */
static void a_change_may_use_its_own_place(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 1, 5, NULL), 0);
    assert_int_equal(change(c, "a", MIG("1g.18gb"), 7, 2, 5, NULL), 0);
    assert_int_equal(book(c, "b", MIG("1g.18gb"), 1, 3, 4, NULL), ERR_CONFLICT);
    assert_int_equal(change(c, "a", CALENDAR_GPU, 1, 1, 6, NULL), 0);
    calendar_free(c);
}

static void what_runs_is_extended_where_it_is(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    struct calendar_why why;
    (void)state;
    assert_int_equal(book(c, "a", MIG("3g.71gb"), 1, 1, 3, NULL), 0);
    assert_int_equal(book(c, "b", CALENDAR_GPU, 2, 6, 7, NULL), 0);
    struct calendar_place p = place_of(c, "a");
    calendar_now(c, T0 + 2 * H);
    assert_int_equal(calendar_extend_most(c, STR("a"), T0 + 9 * H), T0 + 6 * H);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 1, 1, 7, &why), ERR_CONFLICT);
    assert_int_equal(why.trouble, CALENDAR_PLACE);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 2, 1, 6, &why), 0);
    assert_int_equal(place_of(c, "a").start, p.start);
    assert_str_eq(place_of(c, "a").gpu, p.gpu);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 1, 2, 6, &why), ERR_INVALID);
    assert_int_equal(change(c, "a", MIG("3g.71gb"), 1, 1, 2.5, &why), 0); /* shorter */
    calendar_free(c);
}

static void finds_the_nearest_times(void **state) {
    struct calendar *c = fleet(1, 1, 0);
    struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = 1};
    struct calendar_ask ask = {
        .id = STR("x"), .start = T0 + 5 * H, .end = T0 + 7 * H, .lines = &line, .n_lines = 1};
    int64_t start, end;
    (void)state;
    assert_int_equal(book(c, "a", CALENDAR_GPU, 1, 2, 3, NULL), 0);
    assert_int_equal(book(c, "b", MIG("1g.18gb"), 1, 4.5, 6.1, NULL), 0);
    assert_int_equal(calendar_earliest(c, &ask, (struct str){0}, T0 + H, T0 + 24 * H, &start), 0);
    assert_int_equal(start, T0 + (int64_t)(6.25 * H));
    assert_int_equal(calendar_latest(c, &ask, (struct str){0}, T0, T0 + 7 * H, &start), 0);
    assert_int_equal(start, T0);
    assert_int_equal(calendar_earliest(c, &ask, (struct str){0}, T0 + H, T0 + 8 * H, &start),
                     ERR_CONFLICT);
    assert_int_equal(calendar_fit(c, &ask, (struct str){0}, T0 + H, T0 + 7 * H, H, &start, &end),
                     0);
    assert_int_equal(start, T0 + 3 * H);
    assert_int_equal(end, T0 + (int64_t)(4.5 * H));
    calendar_free(c);
}

static void offers_what_fits_instead(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    struct err err;
    struct arena a;
    struct calendar_alternative *v;
    size_t n;
    uint32_t kinds = 0;
    struct str flavor = STR("h200");
    (void)state;
    arena_init(&a, 1 << 20);
    assert_ok(calendar_pool_put(c, STR("a100"), STR(CALENDAR_GPU), 4, &err), &err);
    assert_int_equal(book(c, "a", CALENDAR_GPU, 5, 4, 8, NULL),
                     ERR_CONFLICT); /* one flavor a line */
    struct calendar_line line = {
        .resource = STR(CALENDAR_GPU), .count = 1, .flavors = &flavor, .n_flavors = 1};
    struct calendar_ask ask = {
        .id = STR("b"), .start = T0 + 4 * H, .end = T0 + 8 * H, .lines = &line, .n_lines = 1};
    assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    ask.id = STR("x");
    line.count = 2;
    uint64_t before = calendar_digest(c);
    assert_int_equal(calendar_alternatives(c, &ask, (struct str){0}, T0, T0 + 48 * H, &a, &v, &n),
                     0);
    assert_int_equal(calendar_digest(c), before);
    assert_true(n >= 4);
    for (size_t i = 0; i < n; i++) {
        struct calendar_ask other = {.id = STR("y"),
                                     .start = v[i].start,
                                     .end = v[i].end,
                                     .lines = v[i].lines,
                                     .n_lines = v[i].n_lines};
        kinds |= 1u << v[i].kind;
        assert_int_equal(calendar_check(c, &other, (struct str){0}, NULL, NULL, NULL), 0);
        assert_true(i == 0 || llabs(v[i - 1].start - ask.start) <= llabs(v[i].start - ask.start));
        if (v[i].kind == CALENDAR_LATER) {
            assert_int_equal(v[i].start, T0 + 8 * H);
        } else if (v[i].kind == CALENDAR_EARLIER) {
            assert_int_equal(v[i].start, T0);
        } else if (v[i].kind == CALENDAR_FEWER) {
            assert_int_equal(v[i].lines[0].count, 1);
        }
    }
    assert_int_equal(kinds, 1u << CALENDAR_LATER | 1u << CALENDAR_EARLIER | 1u << CALENDAR_FEWER |
                                1u << CALENDAR_OTHER_FLAVOR);
    arena_release(&a);
    calendar_free(c);
}

static void shows_what_is_free(void **state) {
    struct calendar *c = fleet(1, 2, 120);
    struct calendar_type t;
    struct calendar_free v[3];
    struct calendar_busy *busy;
    struct arena a;
    size_t pos = 0, n = 0;
    (void)state;
    arena_init(&a, 1 << 20);
    while (calendar_type_next(c, &pos, &t)) {
        n++;
        assert_true(t.cards);
        if (str_is(t.resource, MIG("2g.35gb"))) {
            assert_int_equal(t.total, 6);
            assert_int_equal(t.size, 2);
            assert_int_equal(t.slices, 8);
        }
    }
    assert_int_equal(n, H200_PROFILES + 1);
    assert_int_equal(book(c, "a", MIG("3g.71gb"), 1, 1, 2, NULL), 0);
    assert_int_equal(calendar_slots(c, STR("h200"), STR(MIG("2g.35gb")), T0, H, 3, v), 0);
    assert_int_equal(v[0].total, 6);
    assert_int_equal(v[1].free, 3 + (place_of(c, "a").start == 4 ? 2 : 1));
    assert_true(v[0].free == v[1].free &&
                v[2].free == v[1].free); /* the layout must change between */
    assert_int_equal(calendar_slots(c, STR("h200"), STR(MIG("3g.71gb")), T0, H, 3, v), 0);
    assert_int_equal(v[1].free, 3);
    assert_int_equal(v[2].free, 4); /* the same instance goes on */
    assert_int_equal(
        calendar_busy_list(c, STR("h200"), (struct str){0}, T0, T0 + 9 * H, &a, &busy, &n), 0);
    assert_int_equal(n, 1);
    assert_str_eq(busy[0].id, STR("a"));
    assert_int_equal(
        calendar_busy_list(c, STR("h200"), STR(CALENDAR_GPU), T0, T0 + 9 * H, &a, &busy, &n), 0);
    assert_int_equal(n, 0);
    arena_release(&a);
    calendar_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_free_and_no_more),
        cmocka_unit_test(exchanges_cards_when_the_count_fits),
        cmocka_unit_test(the_count_decides_among_many),
        cmocka_unit_test(keeps_a_line_on_one_node),
        cmocka_unit_test(a_trial_leaves_nothing_behind),
        cmocka_unit_test(moves_singles_away_for_a_node),
        cmocka_unit_test(refuses_what_only_fits_at_each_instant),
        cmocka_unit_test(moves_a_slice_that_is_in_the_way),
        cmocka_unit_test(never_moves_what_has_started),
        cmocka_unit_test(knows_the_78_multisets),
        cmocka_unit_test(media_engines_are_one_a_card),
        cmocka_unit_test(leaves_time_to_change_the_layout),
        cmocka_unit_test(a_static_layout_is_all_there_is),
        cmocka_unit_test(plain_numbers_have_no_geometry),
        cmocka_unit_test(all_lines_or_nothing_and_any_of),
        cmocka_unit_test(a_change_keeps_the_old_when_the_new_fails),
        cmocka_unit_test(a_change_may_use_its_own_place),
        cmocka_unit_test(what_runs_is_extended_where_it_is),
        cmocka_unit_test(finds_the_nearest_times),
        cmocka_unit_test(offers_what_fits_instead),
        cmocka_unit_test(shows_what_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

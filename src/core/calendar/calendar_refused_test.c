/*
 * What is refused changes nothing: every call of random lives is made without memory first, at each allocation in turn,
 * and at the limits; the whole state is compared by digest. And entries that went from cards to a plain pool.
 */
#include "base/mem.h"
#include "base/prng.h"
#include "core/calendar/calendar_private.h"
#include "core/test/calendar_scene.h"

enum { LIVES = 40, CALLS = 40, IDS = 8 };

/* ---- the whole state, as one number ---- */

static uint64_t mixed(uint64_t h, uint64_t v) {
    h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 33;
}

static uint64_t card_state(const struct card *card) {
    uint64_t h = mixed(str_hash(card->uuid), str_hash(card->node->name));
    struct spans_at at = {0};
    const struct span *x;
    h = mixed(mixed(h, str_hash(card->flavor->name)), (uint64_t)card->index);
    h = mixed(mixed(h, (uint64_t)card->from), (uint64_t)card->to);
    h = mixed(mixed(h, (uint64_t)card->class->set.slices), card->class->set.n);
    while ((x = spans_next(&card->spans, &at, INT64_MIN, INT64_MAX)) != NULL) {
        h = mixed(mixed(mixed(h, (uint64_t)x->start), (uint64_t)x->end), x->placement);
    }
    return h;
}

static uint64_t entry_state(const struct entry *e) {
    uint64_t h = mixed(str_hash(e->id), (uint64_t)e->moved | (uint64_t)e->broken << 1);
    h = mixed(mixed(h, (uint64_t)e->start), (uint64_t)e->end);
    for (size_t i = 0; i < e->units.n; i++) {
        const struct unit *u = &e->units.v[i];
        if (u->card != NULL || u->pool != NULL || !e->closed) {
            h = mixed(mixed(h, u->line), (uint64_t)u->count);
            h = mixed(h, u->card != NULL ? str_hash(u->card->uuid) + u->placement : 7);
        }
    }
    return h;
}

static uint64_t state_of(const struct calendar *c) {
    uint64_t h = calendar_digest(c);
    h = mixed(mixed(h, c->broken), map_count(&c->card_by));
    assert_int_equal(map_count(&c->card_by), c->cards.n);
    for (size_t i = 0; i < c->cards.n; i++) {
        const struct card *card = c->cards.v[i];
        assert_ptr_equal(map_get(&c->card_by, card->uuid), card);
        h += card_state(card);
    }
    for (size_t i = 0; i < c->entries.n; i++) {
        h += c->entries.v[i] != NULL ? entry_state(c->entries.v[i]) : 0;
    }
    for (size_t i = 0; i < c->windows.n; i++) {
        const struct window *w = c->windows.v[i];
        h += mixed(mixed(mixed(str_hash(w->id), (uint64_t)w->start), (uint64_t)w->delta),
                   str_hash(w->entry->id));
    }
    for (size_t i = 0; i < c->flavors.n; i++) {
        for (size_t k = 0; k < c->flavors.v[i]->pools.n; k++) {
            const struct pool_of *p = c->flavors.v[i]->pools.v[k];
            h += mixed(str_hash(p->resource), (uint64_t)p->total);
        }
    }
    return h;
}

static void closed_when_out(const struct calendar *c) {
    for (size_t i = 0; i < c->cards.n; i++) {
        const struct card *card = c->cards.v[i];
        int64_t at[] = {card->from != 0 ? card->from - 1 : INT64_MAX,
                        card->to != 0 && card->to != CALENDAR_FOREVER ? card->to : INT64_MAX};
        for (size_t k = 0; k < 2; k++) {
            assert_true(at[k] == INT64_MAX || cal_card_free(c, card, at[k], at[k] + 1) == 0);
        }
    }
}

/* ---- one call ---- */

struct call {
    int kind;
    uint64_t dice[6];
};

static struct calendar_card card_of(const struct call *k, char buf[48]) {
    struct calendar_card card = h200(buf, (int)(k->dice[0] % 2), (int)(k->dice[1] % 3), 0);
    card.flavor = k->dice[2] % 5 == 0 ? STR("other") : STR("h200");
    card.slices = k->dice[2] % 3 == 0 ? 0 : 8;
    card.n_profiles = card.slices == 0 ? 0 : card.n_profiles;
    card.from = k->dice[3] % 4 == 0 ? T0 + H : 0;
    card.to = k->dice[3] % 4 == 1 ? T0 + 5 * H : card.from != 0 ? CALENDAR_FOREVER : 0;
    return card;
}

static int window_call(struct calendar *c, const struct call *k, struct err *err) {
    struct str node = k->dice[0] % 2 == 0 ? STR("n000") : STR("n001");
    int64_t start = T0 + (int64_t)(k->dice[1] % 6) * H;
    struct calendar_window w = {.id = k->dice[2] % 2 == 0 ? STR("w") : STR("v"),
                                .start = start,
                                .end = start + 2 * H,
                                .flavor = STR("h200"),
                                .resource = k->dice[4] % 2 == 0 ? STR("cpu") : STR(CALENDAR_GPU),
                                .delta = -(int64_t)(1 + k->dice[5] % 6)};
    if (k->dice[3] % 2 == 0) {
        w.nodes = &node;
        w.n_nodes = 1;
    }
    return calendar_window_put(c, &w, err);
}

static struct calendar_ask ask_of(const struct call *k, struct calendar_line lines[2],
                                  struct str *flavors) {
    static const char *const ids[IDS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    int64_t start = T0 + (int64_t)(1 + k->dice[1] % 6) * H;
    static const char *const names[] = {CALENDAR_GPU, MIG("2g.35gb"), MIG("3g.71gb"), "cpu"};
    *flavors = STR("h200");
    for (int i = 0; i < 2; i++) {
        lines[i] = (struct calendar_line){.resource = str_of(names[k->dice[2 + i] % 4]),
                                          .count = 1 + (int64_t)(k->dice[4] % 3),
                                          .flavors = k->dice[5] % 3 == 0 ? flavors : NULL,
                                          .n_flavors = k->dice[5] % 3 == 0,
                                          .same_node = k->dice[5] % 5 == 0};
    }
    return (struct calendar_ask){.id = str_of(ids[k->dice[0] % IDS]),
                                 .start = start,
                                 .end = start + (int64_t)(1 + k->dice[3] % 3) * H,
                                 .lines = lines,
                                 .n_lines = 1 + k->dice[5] % 2,
                                 .rank = (int32_t)(k->dice[5] % 3),
                                 .order = (int64_t)(k->dice[4] % 7)};
}

static int call_make(struct calendar *c, const struct call *k) {
    struct calendar_line lines[2];
    struct str flavors;
    struct calendar_ask ask = ask_of(k, lines, &flavors);
    struct err err;
    char buf[48];
    struct calendar_card card = card_of(k, buf);
    switch (k->kind) {
    case 0:
    case 1:
        return calendar_card_put(c, &card, &err);
    case 2:
        return window_call(c, k, &err);
    case 3:
        return calendar_pool_put(c, k->dice[2] % 4 == 0 ? STR("plain") : STR("h200"),
                                 k->dice[3] % 4 == 0 ? STR(CALENDAR_GPU) : STR("cpu"),
                                 (int64_t)(k->dice[4] % 12), &err);
    case 4:
        return calendar_change(c, &ask, NULL);
    default:
        return calendar_insert(c, &ask, NULL);
    }
}

/* Refused for want of memory at every allocation that it makes, then made. What fails later than its own part, when
 * others find new places, is no refusal. */
static void hungry(struct calendar *c, const struct call *k) {
    for (uint64_t nth = 1;; nth++) {
        uint64_t before = state_of(c);
        mem_fault(nth, 0);
        int r = call_make(c, k);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        sound(c);
        closed_when_out(c);
        if (r != 0) {
            assert_true(state_of(c) == before);
        }
        if (!hit || r != ERR_NOMEM) {
            break;
        }
    }
}

static void refused_without_memory(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= LIVES; seed++) {
        struct calendar *c = fleet(2, 2, 0);
        struct prng g;
        struct str id;
        prng_seed(&g, seed);
        for (int i = 0; i < CALLS; i++) {
            struct call k = {.kind = (int)prng_below(&g, 9)};
            for (size_t d = 0; d < 6; d++) {
                k.dice[d] = prng_below(&g, 420);
            }
            hungry(c, &k);
            if (prng_below(&g, 6) == 0) {
                calendar_window_del(c, STR("w"));
                calendar_card_del(c, STR("GPU-1-1"));
                sound(c);
            }
            while (prng_below(&g, 2) == 0 && calendar_moved_next(c, &id)) {
            }
            calendar_heal(c);
            sound(c);
        }
        calendar_free(c);
    }
}

/* Many lose their share of a pool at once: more than any call before had to note. */
static void many_lose_a_pool(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct err err;
    struct call none = {.kind = 3, .dice = {0, 0, 1, 1, 12, 0}}; /* cpu of h200: 0 */
    char id[16];
    (void)state;
    assert_ok(calendar_pool_put(c, STR("h200"), STR("cpu"), 100, &err), &err);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof(id), "e%d", i);
        assert_int_equal(book(c, id, "cpu", 1, 1, 2, NULL), 0);
    }
    mem_fault(1, 0);
    uint64_t before = state_of(c);
    assert_int_equal(call_make(c, &none), ERR_NOMEM);
    mem_fault(0, 0);
    assert_true(state_of(c) == before);
    sound(c);
    hungry(c, &none);
    assert_int_equal(c->broken, 100);
    calendar_free(c);
}

/* ---- limits ---- */

static void an_update_at_the_limit(void **state) {
    struct calendar *c = calendar_new(NULL);
    struct calendar_card card = {.flavor = STR("f")};
    struct err err;
    char node[24], uuid[24];
    (void)state;
    for (int i = 0; i < CALENDAR_CARDS_MAX; i++) {
        card.node = str_from(node, (size_t)snprintf(node, sizeof(node), "n%06d", i / 8));
        card.uuid = str_from(uuid, (size_t)snprintf(uuid, sizeof(uuid), "g%06d", i));
        card.index = i % 8;
        assert_ok(calendar_card_put(c, &card, &err), &err);
    }
    card.uuid = STR("one more");
    uint64_t before = calendar_digest(c);
    assert_int_equal(calendar_card_put(c, &card, &err), ERR_TOO_MANY);
    assert_int_equal(calendar_digest(c), before);
    card.uuid = STR("g000000");
    card.node = STR("n000000");
    card.index = 9;
    assert_ok(calendar_card_put(c, &card, &err), &err);
    assert_int_equal(c->cards.n, CALENDAR_CARDS_MAX);
    calendar_free(c);
}

/* ---- from cards to a pool ---- */

static struct calendar_ask ask_at(const char *id, const struct calendar_line *line, int32_t rank) {
    return (struct calendar_ask){.id = str_of(id),
                                 .start = T0 + H,
                                 .end = T0 + 2 * H,
                                 .lines = line,
                                 .n_lines = 1,
                                 .rank = rank};
}

/* "low" loses two cards and finds its two GPUs in a pool; one unit is left over. "high" then lacks places and looks for
 * who might yield. */
static void yields_from_a_pool(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    struct calendar_line two = {.resource = STR(CALENDAR_GPU), .count = 2};
    struct calendar_ask low = ask_at("low", &two, 0), high = ask_at("high", &two, 1);
    struct err err;
    struct str id;
    size_t pos = 0;
    (void)state;
    assert_int_equal(calendar_insert(c, &low, NULL), 0);
    assert_ok(calendar_pool_put(c, STR("plain"), STR(CALENDAR_GPU), 2, &err), &err);
    assert_int_equal(calendar_card_del(c, STR("GPU-0-0")), 0);
    assert_int_equal(calendar_card_del(c, STR("GPU-0-1")), 0);
    sound(c);
    assert_false(calendar_broken_next(c, &pos, &id));
    assert_ok(calendar_pool_put(c, STR("plain"), STR(CALENDAR_GPU), 4, &err), &err);
    assert_int_equal(calendar_insert(c, &high, NULL), 0);
    assert_ok(calendar_pool_put(c, STR("plain"), STR(CALENDAR_GPU), 2, &err), &err);
    sound(c);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, STR("low"));
    assert_false(calendar_broken_next(c, &pos, &id));
    assert_ok(calendar_pool_put(c, STR("plain"), STR(CALENDAR_GPU), 1, &err), &err);
    sound(c);
    calendar_free(c);
}

/* The same, and "high" wants cards alone: all that "low" has is looked at, the unit that is left over too. */
static void keeps_what_is_not_wanted(void **state) {
    struct calendar *c = fleet(1, 4, 0);
    struct str cards = STR("h200");
    struct calendar_line two = {.resource = STR(CALENDAR_GPU), .count = 2}, picky = two;
    picky.flavors = &cards;
    picky.n_flavors = 1;
    struct calendar_ask low = ask_at("low", &two, 0), high = ask_at("high", &picky, 1);
    struct err err;
    struct str id;
    size_t pos = 0;
    (void)state;
    assert_int_equal(calendar_insert(c, &low, NULL), 0);
    assert_int_equal(calendar_insert(c, &high, NULL), 0);
    struct calendar_place p = place_of(c, "low");
    bool first = str_eq(p.gpu, STR("GPU-0-0")) || str_eq(p.gpu, STR("GPU-0-1"));
    assert_ok(calendar_pool_put(c, STR("plain"), STR(CALENDAR_GPU), 2, &err), &err);
    assert_int_equal(calendar_card_del(c, first ? STR("GPU-0-0") : STR("GPU-0-2")), 0);
    assert_int_equal(calendar_card_del(c, first ? STR("GPU-0-1") : STR("GPU-0-3")), 0);
    assert_false(calendar_broken_next(c, &pos, &id)); /* "low" is in the pool */
    assert_int_equal(calendar_card_del(c, first ? STR("GPU-0-2") : STR("GPU-0-0")), 0);
    sound(c);
    assert_true(calendar_broken_next(c, &pos, &id));
    assert_str_eq(id, STR("high"));
    assert_false(calendar_broken_next(c, &pos, &id));
    calendar_free(c);
}

/* What comes later is not there before, though the same flavor has others that are free. */
static void not_before_it_comes(void **state) {
    struct calendar *c = fleet(1, 2, 0);
    char buf[48];
    struct calendar_card card = h200(buf, 0, 1, 0);
    struct err err;
    (void)state;
    card.from = T0 + 4 * H;
    card.to = CALENDAR_FOREVER;
    assert_ok(calendar_card_put(c, &card, &err), &err);
    closed_when_out(c);
    assert_int_equal(book(c, "a", MIG("3g.71gb"), 1, 1, 1.2, NULL), 0);
    assert_int_equal(book(c, "b", MIG("3g.71gb"), 1, 1, 1.2, NULL), 0);
    assert_int_equal(book(c, "c", MIG("3g.71gb"), 1, 1, 1.2, NULL), ERR_CONFLICT);
    assert_int_equal(book(c, "d", MIG("3g.71gb"), 1, 4, 4.2, NULL), 0);
    calendar_free(c);
}

/* ---- searches ---- */

enum { DAY_CARDS = 32, DAY_HOURS = 60 };

/* Half of each card is taken for twenty minutes of every hour: something is always free, and no card is for two hours
 * before the end. */
static struct calendar *speckled(int64_t looks) {
    struct calendar_options o = {.search_looks = looks};
    struct calendar *c = fleet(1, DAY_CARDS, 0);
    char id[24];
    calendar_set_options(c, &o);
    for (int h = 1; h <= DAY_HOURS; h++) {
        struct calendar_line line = {.resource = STR(MIG("4g.71gb")), .count = DAY_CARDS};
        struct calendar_ask ask = {.start = T0 + h * (int64_t)H,
                                   .end = T0 + h * (int64_t)H + 1200,
                                   .lines = &line,
                                   .n_lines = 1};
        ask.id = str_from(id, (size_t)snprintf(id, sizeof(id), "e%d", h));
        assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    }
    return c;
}

static void a_search_looks_at_so_much(void **state) {
    struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = 1};
    struct calendar_ask ask = {
        .id = STR("x"), .start = T0 + H, .end = T0 + 3 * H, .lines = &line, .n_lines = 1};
    const struct str none = {0};
    const int64_t until = T0 + (DAY_HOURS + 8) * (int64_t)H;
    struct calendar_alternative *v;
    struct arena a;
    int64_t start = 0, end;
    size_t n;
    (void)state;
    arena_init(&a, 1 << 20);
    struct calendar *c = speckled(0);
    assert_int_equal(calendar_earliest(c, &ask, none, T0 + H, until, &start), 0);
    assert_true(start >= T0 + DAY_HOURS * (int64_t)H);
    assert_int_equal(calendar_latest(c, &ask, none, T0 - 2 * H, T0 + 20 * H, &start), 0);
    assert_int_equal(c->looks, 0);
    calendar_free(c);
    c = speckled(20); /* a start or two */
    uint64_t before = state_of(c);
    assert_int_equal(calendar_earliest(c, &ask, none, T0 + H, until, &start), ERR_CONFLICT);
    assert_int_equal(calendar_fit(c, &ask, none, T0 + H, until, 0, &start, &end), ERR_CONFLICT);
    assert_int_equal(calendar_latest(c, &ask, none, T0 - 2 * H, T0 + 20 * H, &start), ERR_CONFLICT);
    assert_int_equal(calendar_alternatives(c, &ask, none, T0 + H, until, &a, &v, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(c->looks, 0); /* and the next has its own */
    assert_true(state_of(c) == before);
    calendar_free(c);
    arena_release(&a);
}

enum { HEAL_CARDS = 12, HEAL_LOST = 4, HEAL_BOOKINGS = 30 };

/* Each of three hours is full of whole cards; then some cards are gone. */
static struct calendar *shrunk(int64_t looks, size_t *ret_calls) {
    struct calendar_options o = {.search_looks = looks};
    struct calendar *c = fleet(1, HEAL_CARDS, 0);
    size_t pos = 0;
    char id[24];
    calendar_set_options(c, &o);
    for (int i = 0; i < HEAL_BOOKINGS; i++) {
        struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = 1};
        struct calendar_ask ask = {.start = T0 + (1 + i % 3) * (int64_t)H,
                                   .end = T0 + (2 + i % 3) * (int64_t)H,
                                   .rank = i % 2,
                                   .order = i,
                                   .lines = &line,
                                   .n_lines = 1};
        ask.id = str_from(id, (size_t)snprintf(id, sizeof(id), "b%d", i));
        assert_int_equal(calendar_insert(c, &ask, NULL), 0);
    }
    for (int i = 0; i < HEAL_LOST; i++) {
        struct calendar_card card;
        pos = 0;
        assert_true(calendar_card_next(c, &pos, &card));
        assert_int_equal(calendar_card_del(c, card.uuid), 0);
    }
    for (*ret_calls = 0; calendar_heal_due(c); ++*ret_calls) {
        assert_true(*ret_calls < 4 * HEAL_BOOKINGS); /* it ends, though not all find a place */
        (void)calendar_heal_on(c);
    }
    return c;
}

static size_t count_broken(const struct calendar *c) {
    struct str id;
    size_t n = 0;
    for (size_t pos = 0; calendar_broken_next(c, &pos, &id); n++) {
    }
    return n;
}

/* What is broken is healed a part at a time, each part within the looks of a search, and all have their turn. */
static void a_healing_looks_at_so_much(void **state) {
    size_t calls, none;
    (void)state;
    struct calendar *c = shrunk(1, &calls), *whole = shrunk(0, &none);
    assert_int_equal(none, 0);
    assert_in_range(calls, 3, 4 * HEAL_BOOKINGS);
    assert_int_equal(count_broken(c), 3 * (HEAL_BOOKINGS / 3 - (HEAL_CARDS - HEAL_LOST)));
    assert_int_equal(count_broken(whole), count_broken(c));
    assert_int_equal(c->looks, 0);
    calendar_free(whole);
    calendar_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_without_memory),    cmocka_unit_test(many_lose_a_pool),
        cmocka_unit_test(an_update_at_the_limit),    cmocka_unit_test(not_before_it_comes),
        cmocka_unit_test(a_search_looks_at_so_much), cmocka_unit_test(a_healing_looks_at_so_much),
        cmocka_unit_test(yields_from_a_pool),        cmocka_unit_test(keeps_what_is_not_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

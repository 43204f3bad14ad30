/* endpoint_test: choices in virtual time: shares, bounds, affinity, what fails and what starts; by seeds. */
#include "core/route/endpoint.h"

#include "base/test.h"

#define SECOND INT64_C(1000000000)
#define NOW (1000 * SECOND)

static struct endpoint_pool e;
static const struct endpoint_request any;

static void make(size_t n, uint64_t seed) {
    e = (struct endpoint_pool){.groups = {{.weight = 1}}};
    prng_seed(&e.prng, seed);
    for (size_t i = 0; i < n; i++) {
        struct endpoint *x = endpoint_add(&e, (uint32_t)i + 1);
        x->ready = true; /* long ago */
    }
}

static size_t send(const struct endpoint_request *r, int64_t now) {
    size_t place = SIZE_MAX;
    assert_int_equal(endpoint_choose(&e, r, now, &place), ENDPOINT_CHOSEN);
    assert_true(place < e.n);
    endpoint_sent(&e.v[place]);
    return place;
}

static int32_t most(void) {
    int32_t n = 0;
    for (size_t i = 0; i < e.n; i++) {
        n = e.v[i].outstanding > n ? e.v[i].outstanding : n;
    }
    return n;
}

/* m requests on n endpoints that do not end: a scan is even; two choices are off by ln ln n, not by more. */
static void even(void **state) {
    make(16, 1);
    for (int i = 0; i < 1600; i++) {
        send(&any, NOW);
    }
    assert_int_equal(most(), 100);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make(1000, seed);
        for (int i = 0; i < 1000; i++) {
            send(&any, NOW);
        }
        assert_true(most() <= 4); /* at random it would be 5 to 7 */
    }
}

static void canary(void **state) {
    size_t got[2] = {0, 0};
    make(5, 3);
    e.groups[0].weight = 90;
    e.groups[1].weight = 10;
    e.v[4].group = 1;
    for (int i = 1; i <= 1000; i++) {
        got[e.v[send(&any, NOW)].group]++;
        assert_in_range(got[1] * 10, i > 10 ? (size_t)i - 10 : 0,
                        (size_t)i + 10); /* at any moment */
    }
    assert_int_equal(got[1], 100);
    e.groups[0] = (struct endpoint_group){.weight = 5};
    e.groups[1] = (struct endpoint_group){.weight = 2};
    got[1] = 0;
    for (int i = 0; i < 700; i++) {
        got[1] += e.v[send(&any, NOW)].group;
    }
    assert_int_equal(got[1], 200);
    e.v[4].ready = false;
    assert_int_equal(e.v[send(&any, NOW)].group, 0); /* all to the rest */
    e.groups[0].weight = 0;
    size_t place;
    assert_int_equal(endpoint_choose(&e, &any, NOW, &place), ENDPOINT_NO_READY);
}

static void zones(void **state) {
    int here = 0;
    make(4, 5);
    e.own_zone = 1;
    for (size_t i = 0; i < 4; i++) {
        e.v[i].zone = 1 + (uint32_t)(i / 2);
    }
    for (int i = 0; i < 4; i++) {
        here += e.v[send(&any, NOW)].zone == 1;
    }
    assert_int_equal(here, 4); /* few: all at home */
    for (int i = 0; i < 396; i++) {
        here += e.v[send(&any, NOW)].zone == 1;
    }
    assert_in_range(here, 230, 250); /* many: 1.2 times the mean stays, the rest goes over */
    e.v[0].ready = e.v[1].ready = false;
    assert_int_equal(e.v[send(&any, NOW)].zone, 2); /* the zone is lost */
}

/* Sessions stay where they are; when one endpoint goes only its sessions move; nobody has more than the bound. */
static void sessions(void **state) {
    uint32_t home[500];
    int moved = 0;
    make(10, 7);
    for (uint64_t s = 0; s < 500; s++) {
        struct endpoint_request r = {.session = s + 1};
        size_t place;
        assert_int_equal(endpoint_choose(&e, &r, NOW, &place), ENDPOINT_CHOSEN);
        home[s] = e.v[place].id;
    }
    endpoint_drop(&e, 3);
    for (uint64_t s = 0; s < 500; s++) {
        struct endpoint_request r = {.session = s + 1};
        size_t place;
        endpoint_choose(&e, &r, NOW, &place);
        assert_true(home[s] == 3 || e.v[place].id == home[s]);
        moved += home[s] == 3;
    }
    assert_in_range(moved, 25, 80);
    struct endpoint_request hot = {.session = 42};
    for (int i = 0; i < 900; i++) {
        send(&hot, NOW);
        int64_t bound = ((i + 1) * INT64_C(125) + 899) / 900;
        assert_true(most() <= (bound > ENDPOINT_FEW ? bound : ENDPOINT_FEW));
    }
}

static void prefixes(void **state) {
    struct prefix_match m[] = {{5, 20}, {6, 4}};
    struct endpoint_request r = {.prefixes = m, .n_prefixes = 2};
    size_t place;
    make(8, 9);
    endpoint_choose(&e, &r, NOW, &place);
    assert_int_equal(e.v[place].id, 5);
    e.v[4].outstanding = 40;
    e.v[5].outstanding = 4;
    endpoint_choose(&e, &r, NOW, &place); /* too much more than the others: the next longest */
    assert_int_equal(e.v[place].id, 6);
    m[1].blocks = 1; /* too short to matter */
    endpoint_choose(&e, &r, NOW, &place);
    assert_int_not_equal(e.v[place].id, 6);
    r = (struct endpoint_request){.adapter = 99};
    e.v[2].adapters[e.v[2].n_adapters++] = 99;
    endpoint_choose(&e, &r, NOW, &place);
    assert_int_equal(e.v[place].id, 3);
    e.v[2].outstanding = 100;
    endpoint_choose(&e, &r, NOW, &place);
    assert_int_not_equal(e.v[place].id, 3);
}

static void by_metrics(void **state) {
    size_t place;
    make(3, 11);
    e.policy = ENDPOINT_BY_METRICS;
    for (size_t i = 0; i < 3; i++) {
        e.v[i].metrics = (struct endpoint_metrics){.waiting = 4, .cache = 0.9, .at = NOW};
    }
    e.v[1].metrics.waiting = 0;
    endpoint_choose(&e, &any, NOW, &place);
    assert_int_equal(place, 1);
    e.v[1].metrics.cache = 0.9;
    e.v[2].metrics = (struct endpoint_metrics){.waiting = 0, .cache = 0.1, .at = NOW};
    endpoint_choose(&e, &any, NOW, &place);
    assert_int_equal(place, 2);
    e.v[2].metrics.at = NOW - ENDPOINT_STALE - 1; /* old: taken for full */
    endpoint_choose(&e, &any, NOW, &place);
    assert_int_equal(place, 1);
    assert_true(endpoint_saturated(&e, NOW) ==
                ((4 / 5.0 > 0.9 / 0.8 ? 0.8 : 1.125) + 1.125 + 1 >= 3));
    e.v[0].metrics.cache = e.v[1].metrics.cache = 0.1;
    e.v[0].metrics.waiting = 0;
    assert_false(endpoint_saturated(&e, NOW));
}

static void slow_start(void **state) {
    int got = 0;
    make(4, 13);
    e.v[3].ready = false;
    endpoint_ready(&e.v[3], true, NOW);
    for (int i = 0; i < 310; i++) {
        got += send(&any, NOW) == 3;
    }
    assert_in_range(got, 9, 11); /* a tenth of what each of the others has */
    got = 0;
    for (size_t i = 0; i < 4; i++) {
        e.v[i].outstanding = 0;
    }
    for (int i = 0; i < 400; i++) {
        got += send(&any, NOW + ENDPOINT_SLOW) == 3;
    }
    assert_int_equal(got, 100);
}

/* Everything fails: half stays. It mends: all come back, one request at a time. */
static void ejected(void **state) {
    int64_t now = NOW;
    make(10, 15);
    for (int i = 0; i < 1000; i++) {
        endpoint_ended(&e, e.v[send(&any, now)].id, ENDPOINT_FAILED, now);
    }
    int open = 0;
    for (size_t i = 0; i < 10; i++) {
        open += e.v[i].health.state == HEALTH_OPEN;
    }
    assert_int_equal(open, 5);
    now += HEALTH_BASE;
    for (int i = 0; i < 1000; i++) {
        endpoint_ended(&e, e.v[send(&any, now)].id, ENDPOINT_WELL, now);
    }
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(e.v[i].health.state, HEALTH_CLOSED);
        assert_int_equal(e.v[i].outstanding, 0);
    }
}

static void breaker(void **state) {
    struct endpoint_health h = {0};
    int64_t now = NOW, waits[8];
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < HEALTH_FAILURES; k++) {
            assert_true(health_allows(&h, now));
            health_ended(&h, true, true, now);
            if (h.state == HEALTH_OPEN) {
                break;
            }
        }
        assert_int_equal(h.state, HEALTH_OPEN);
        assert_false(health_allows(&h, h.until - 1));
        waits[i] = h.until - now;
        now = h.until;
    }
    assert_true(waits[0] == HEALTH_BASE && waits[1] == 2 * HEALTH_BASE &&
                waits[7] == HEALTH_LONGEST);
    assert_true(health_allows(&h, now));
    health_sent(&h);
    assert_false(health_allows(&h, now)); /* one at a time */
    health_untold(&h);
    for (int i = 0; i < HEALTH_SUCCESSES; i++) {
        assert_true(health_allows(&h, now));
        health_sent(&h);
        health_ended(&h, false, true, now);
    }
    assert_int_equal(h.state, HEALTH_CLOSED);
    health_allows(&h, now + HEALTH_TIMES_MAX * HEALTH_FORGETS);
    assert_int_equal(h.times, 0);
    for (int k = 0; k < 100; k++) {
        health_ended(&h, true, false, now); /* the pool may not lose it */
    }
    assert_int_equal(h.state, HEALTH_CLOSED);
}

static void nobody(void **state) {
    struct endpoint_request r = {.tried = {1, 2}, .n_tried = 2};
    size_t place = 7;
    make(0, 1);
    assert_int_equal(endpoint_choose(&e, &any, NOW, &place), ENDPOINT_NO_READY);
    make(2, 1);
    assert_int_equal(endpoint_choose(&e, &r, NOW, &place), ENDPOINT_ALL_BAD);
    e.v[0].limit = e.v[1].limit = 1;
    send(&any, NOW);
    send(&any, NOW);
    assert_int_equal(endpoint_choose(&e, &any, NOW, &place), ENDPOINT_NO_ROOM);
    e.v[0].draining = e.v[1].draining = true;
    assert_int_equal(endpoint_choose(&e, &any, NOW, &place), ENDPOINT_NO_READY);
    endpoint_drop(&e, 1);
    endpoint_ended(&e, 1, ENDPOINT_WELL, NOW); /* gone meanwhile */
    assert_int_equal(place, 7);
}

/* Any life: counts hold, and the same seed decides the same. */
static uint64_t random_life(uint64_t seed) {
    struct prng r;
    uint32_t out[64] = {0}, next = 100;
    uint64_t trace = 0;
    prng_seed(&r, seed);
    make(20, seed);
    e.own_zone = 1;
    e.groups[1].weight = 3;
    for (int i = 0; i < 3000; i++) {
        int64_t now = NOW + i * SECOND / 10;
        size_t slot = prng_below(&r, 64), place;
        struct endpoint_request q = {.session = prng_below(&r, 3) == 0 ? prng_u64(&r) : 0};
        if (prng_below(&r, 50) == 0 && e.n > 2) {
            endpoint_drop(&e, e.v[prng_below(&r, e.n)].id);
        } else if (prng_below(&r, 40) == 0) {
            struct endpoint *x = endpoint_add(&e, next++);
            x->zone = (uint32_t)prng_below(&r, 3);
            x->group = (uint32_t)prng_below(&r, 2);
            x->limit = (int32_t)prng_below(&r, 9);
            endpoint_ready(x, true, now);
        }
        if (out[slot] != 0) {
            endpoint_ended(&e, out[slot], (enum endpoint_end)prng_below(&r, 3), now);
            out[slot] = 0;
        } else if (endpoint_choose(&e, &q, now, &place) == ENDPOINT_CHOSEN) {
            struct endpoint *x = &e.v[place];
            assert_true(x->ready && !x->draining && (x->limit == 0 || x->outstanding < x->limit));
            endpoint_sent(x);
            out[slot] = x->id;
            trace = trace * 31 + x->id;
        }
        int64_t open = 0;
        for (size_t k = 0; k < e.n; k++) {
            int32_t there = 0;
            for (size_t s = 0; s < 64; s++) {
                there += out[s] == e.v[k].id;
            }
            assert_int_equal(e.v[k].outstanding, there);
            open += e.v[k].health.state == HEALTH_OPEN;
        }
        (void)open;
    }
    return trace;
}

static void any_life(void **state) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_true(random_life(seed) == random_life(seed));
    }
}

/* A server that this request has tried is no room for it, though it is for others. */
static void room(void **state) {
    struct endpoint_request tried = {.tried = {1}, .n_tried = 1};
    make(2, 1);
    e.v[1].limit = e.v[1].outstanding = 1;
    assert_int_equal(endpoint_room(&e, &any, NOW), ENDPOINT_CHOSEN);
    assert_int_equal(endpoint_room(&e, &tried, NOW), ENDPOINT_NO_ROOM);
    endpoint_ended(&e, 2, ENDPOINT_WELL, NOW);
    assert_int_equal(endpoint_room(&e, &tried, NOW), ENDPOINT_CHOSEN);
    e.v[0].ready = e.v[1].ready = false;
    assert_int_equal(endpoint_room(&e, &any, NOW), ENDPOINT_NO_READY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even),       cmocka_unit_test(canary),   cmocka_unit_test(zones),
        cmocka_unit_test(sessions),   cmocka_unit_test(prefixes), cmocka_unit_test(by_metrics),
        cmocka_unit_test(slow_start), cmocka_unit_test(ejected),  cmocka_unit_test(breaker),
        cmocka_unit_test(nobody),     cmocka_unit_test(any_life), cmocka_unit_test(room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

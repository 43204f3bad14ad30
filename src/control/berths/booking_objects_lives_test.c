/* Tests of booking_objects: stops and faults at every write, and random lives. */
#include "control/test/booking_objects_scene.h"

/* ---- stops ---- */

static void story(struct scene *s) {
    book(s, "a", 0, 60, 1, "");
    book(s, "b", 0, 60, 2, ",\"endPolicy\":\"hard\"");
    phase(s, "a", "Active", PLAN1);
    phase(s, "b", "Active", "");
}

/* What there is in the end, as text. */
static bool tell(void *ctx, const struct object *o) {
    buf_f(ctx, "%.*s/%.*s %s\n", STR_ARG(o->ns), STR_ARG(o->name),
          fake_world_text(o, "spec.stopPolicy"));
    return true;
}

static char *outcome(struct scene *s) {
    static const char *const kinds[] = {"LocalQueue", "HardwareProfile"};
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < 2; i++) {
        mirror_scan(s->w.mirror, fake_world_kind(kinds[i]), STR(""), tell, &b);
    }
    buf_f(&b, "pool %lld queues %zu", (long long)pool(s), fake_world_count(&s->w, "ClusterQueue"));
    const struct object *q = queue_of(s, "b");
    buf_f(&b, " b %lld", q ? (long long)nominal_of(q, SLICE) : -1);
    buf_ch(&b, 0);
    return buf_take(&b, &(size_t){0});
}

/* Stops after the nth write, or has it fail; then all begins anew. `fault` negative: it stops. */
static char *told(uint64_t nth, int fault, uint64_t *ret_writes) {
    struct scene s;
    start(&s);
    uint64_t from = s.w.writes;
    if (nth > 0 && fault >= 0) {
        s.w.fault = (enum fake_fault)fault;
        s.w.fail_at = nth;
    }
    story(&s);
    for (int i = 0; i < 400; i++) {
        fake_world_run(&s.w, NS_PER_MS / 2);
        if (nth > 0 && fault < 0 && s.w.writes - from >= nth) {
            nth = 0;
            stop(&s);
            fake_world_run(&s.w, NS_PER_SEC);
            controllers(&s);
        }
    }
    fake_world_run(&s.w, 30 * NS_PER_SEC);
    phase(&s, "a", "Ending", PLAN1);
    fake_world_delete(&s.w, "Reservation", "team", "a", "");
    for (int i = 0; i < 400; i++) {
        fake_world_run(&s.w, NS_PER_MS / 2);
        if (nth > 0 && fault < 0 && s.w.writes - from >= nth) {
            nth = 0;
            stop(&s);
            fake_world_run(&s.w, NS_PER_SEC);
            controllers(&s);
        }
    }
    fake_world_run(&s.w, 60 * NS_PER_SEC);
    *ret_writes = s.w.writes - from;
    char *text = outcome(&s);
    end(&s);
    return text;
}

static void stops(void **state) {
    uint64_t all, n;
    _cleanup_free_ char *want = told(0, -1, &all);
    assert_true(strstr(want, "pool 4 queues 2 b 2") != NULL);
    for (int fault = -1; fault <= (int)FAULT_CONFLICT; fault++) {
        for (uint64_t nth = 1; nth <= all; nth++) {
            _cleanup_free_ char *have = told(nth, fault, &n);
            if (strcmp(have, want) != 0) {
                print_error("stop %d at write %llu:\n%s\nnot\n%s\n", fault, (unsigned long long)nth,
                            have, want);
            }
            assert_string_equal(have, want);
        }
    }
}

/* ---- random lives ---- */

enum { LIFE_BOOKINGS = 5, LIFE_STEPS = 60 };

static void life_step(struct scene *s, struct prng *r, int *made, bool *there) {
    static const char *const policies[] = {"", ",\"endPolicy\":\"drain\"",
                                           ",\"endPolicy\":\"hard\""};
    static const char *const phases[] = {"Preparing", "Active",    "Active", "Degraded",
                                         "Ending",    "Cancelled", "Ended"};
    size_t i = (size_t)prng_below(r, LIFE_BOOKINGS);
    char name[32];
    snprintf(name, sizeof(name), "r%zu", i);
    if (!there[i]) {
        book(s, name, 0, 600, 1 + (int)prng_below(r, 3), policies[prng_below(r, 3)]);
        there[i] = true;
        ++*made;
        return;
    }
    switch (prng_below(r, 12)) {
    case 0:
        fake_world_delete(&s->w, "Reservation", "team", name, "");
        there[i] = false;
        break;
    case 1:
        snprintf(name, sizeof(name), RSV "r%zu", i);
        if (get(s, "LocalQueue", "team", name) != NULL) {
            fake_world_delete(&s->w, "LocalQueue", "team", name, "");
        }
        break;
    case 2:
        stop(s);
        fake_world_run(&s->w,
                       2 * NS_PER_MS); /* who comes after does not come before its last writes */
        controllers(s);
        break;
    case 3:
        snprintf(name, sizeof(name), RSV "r%zu", i);
        if (get(s, "LocalQueue", "team", name) != NULL) {
            char work[32];
            snprintf(work, sizeof(work), "j%d", ++*made);
            job(s, "team", work, name, 1);
        }
        break;
    default:
        phase(s, name, phases[prng_below(r, sizeof phases / sizeof *phases)], "");
    }
}

/* Whatever happens, and whenever: no revision sells more than there is, and in the end all is the pool's again. */
static void lives(void **state) {
    for (uint64_t seed = 11; seed <= 22; seed++) {
        struct scene s;
        struct prng r;
        bool there[LIFE_BOOKINGS] = {false};
        int made = 0;
        prng_seed(&r, seed);
        start(&s);
        for (int i = 0; i < LIFE_STEPS; i++) {
            life_step(&s, &r, &made, there);
            fake_world_run(&s.w, (int64_t)prng_below(&r, 4 * NS_PER_MS));
            if (prng_below(&r, 6) == 0) {
                fake_world_live(&s.w, 2);
            }
        }
        for (size_t i = 0; i < LIFE_BOOKINGS; i++) {
            char name[32];
            snprintf(name, sizeof(name), "r%zu", i);
            if (there[i]) {
                phase(&s, name, "Ended", "");
            }
        }
        fake_world_live(&s.w, 2 * 3600 + 60);
        if (pool(&s) != s.most || fake_world_count(&s.w, "ClusterQueue") != 1) {
            print_error("seed %llu\n", (unsigned long long)seed);
        }
        assert_int_equal(pool(&s), s.most);
        assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
        assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops),
        cmocka_unit_test(lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

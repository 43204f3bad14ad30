/* Tests of booking_views: what is decoded, how often, and what is kept. */
#include "api/tables/view_reservation.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "control/book/booking_views.h"
#include "control/test/fake_world.h"

struct scene {
    struct fake_world w;
    struct booking_views v;
};

static const struct object *booked(struct scene *s, const char *name, int count) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{\"start\":\"2026-01-01T00:00:00Z\","
             "\"end\":\"2026-01-02T00:00:00Z\",\"lines\":[{\"resource\":\"nvidia.com/gpu\","
             "\"count\":%d}]}}",
             name, count);
    return fake_world_put(&s->w, json);
}

static void start(struct scene *s) {
    fake_world_init(&s->w);
    booking_views_init(&s->v, 1 << 20);
    s->v.left = 100;
}

static void end(struct scene *s) {
    booking_views_release(&s->v);
    fake_world_release(&s->w);
}

static int64_t count_of(struct scene *s, const struct object *o) {
    struct reservation *r = booking_views_get(&s->v, o, &schema_reservation);
    assert_non_null(r);
    return r->spec->lines.v[0].count;
}

/* Once for each state of an object. */
static void once(void **state) {
    struct scene s;
    start(&s);
    const struct object *o = booked(&s, "a", 2);
    assert_int_equal(count_of(&s, o), 2);
    assert_int_equal(count_of(&s, o), 2);
    assert_int_equal(s.v.decoded, 1);
    uint64_t *note = booking_views_note(&s.v, o);
    assert_non_null(note);
    assert_int_equal(*note, 0);
    *note = 7;
    assert_int_equal(*booking_views_note(&s.v, o), 7);
    const struct object *now =
        fake_world_patch(&s.w, "Reservation", "n", "a", "",
                         "{\"spec\":{\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":5}]}}");
    assert_null(booking_views_note(&s.v, now));
    assert_int_equal(count_of(&s, now), 5);
    assert_int_equal(*booking_views_note(&s.v, now), 0);
    assert_int_equal(s.v.decoded, 2);
    size_t bytes = s.v.bytes;
    assert_true(bytes > 0);
    booking_views_hollow(&s.v, now);
    assert_null(booking_views_get(&s.v, now, &schema_reservation));
    assert_int_equal(s.v.decoded, 2);
    assert_true(s.v.bytes < bytes && !s.v.failed && !s.v.more);
    booking_views_drop(&s.v, now->uid);
    booking_views_drop(&s.v, now->uid);
    assert_int_equal(s.v.bytes, 0);
    assert_int_equal(count_of(&s, now), 5);
    end(&s);
}

/* So many in a turn, and no more bytes than are allowed. */
static void limits(void **state) {
    struct scene s;
    start(&s);
    const struct object *a = booked(&s, "a", 1);
    s.v.left = 0;
    assert_null(booking_views_get(&s.v, a, &schema_reservation));
    assert_true(s.v.more && !s.v.failed);
    s.v.left = 1;
    assert_int_equal(count_of(&s, a), 1);
    assert_int_equal(s.v.left, 0);
    assert_int_equal(count_of(&s, a), 1);
    s.v.left = 10;
    s.v.max = s.v.bytes;
    const struct object *b = booked(&s, "b", 1);
    a = fake_world_get(&s.w, "Reservation", "n", "a");
    assert_null(booking_views_get(&s.v, b, &schema_reservation));
    assert_true(s.v.failed && s.v.full);
    assert_int_equal(s.v.bytes, s.v.max);
    assert_int_equal(count_of(&s, a), 1);
    end(&s);
}

/* Whichever allocation fails: it says so, nothing is kept, and the next time it is there. */
static void no_memory(void **state) {
    for (uint64_t n = 1;; n++) {
        struct scene s;
        start(&s);
        const struct object *o = booked(&s, "a", 3);
        mem_fault(n, 0);
        struct reservation *r = booking_views_get(&s.v, o, &schema_reservation);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(r != NULL || (s.v.failed && s.v.bytes == 0));
        assert_true(hit || r != NULL);
        s.v.failed = false;
        assert_int_equal(count_of(&s, o), 3);
        end(&s);
        if (!hit) {
            assert_true(n > 3);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once),
        cmocka_unit_test(limits),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

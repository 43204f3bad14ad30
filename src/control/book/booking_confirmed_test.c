/* Tests of booking_confirmed: what is found by project and start, as Reservations come, change and go. */
#include "control/book/booking_confirmed.h"

#include "base/mem.h"
#include "base/test.h"
#include "control/test/fake_world.h"

struct indexed {
    struct fake_world w;
    struct booking_confirmed x;
    struct arena a;
};

static void init(struct indexed *i) {
    fake_world_init(&i->w);
    booking_confirmed_init(&i->x);
    arena_init(&i->a, 1 << 20);
}

static void release(struct indexed *i) {
    arena_release(&i->a);
    booking_confirmed_release(&i->x);
    fake_world_release(&i->w);
}

static const struct object *booked(struct indexed *i, const char *ns, const char *name, int hour,
                                   const char *phase) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"start\":"
             "\"1970-01-01T%02d:00:00Z\",\"end\":\"1970-01-02T00:00:00Z\",\"purpose\":"
             "\"\\\"Confirmed\\\"\"}}",
             name, ns, hour);
    fake_world_put(&i->w, json);
    snprintf(json, sizeof(json), "{\"status\":{\"phase\":\"%s\"}}", phase);
    const struct object *o = fake_world_patch(&i->w, "Reservation", ns, name, "status", json);
    assert_int_equal(booking_confirmed_put(&i->x, o, &i->a), 0);
    return o;
}

/* Names at this hour, each with a blank behind it. */
static const char *at(struct indexed *i, const char *ns, int hour) {
    static char text[256];
    struct booking_confirmed_row *row;
    int64_t start = hour * 3600 * NS_PER_SEC;
    struct tree_pos pos = booking_confirmed_seek(&i->x, str_of(ns), start);
    text[0] = 0;
    while ((row = booking_confirmed_next(&i->x, str_of(ns), start, &pos)) != NULL) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s ", STR_ARG(row->name));
        row->note = 7;
    }
    return text;
}

static void finds(void **state) {
    struct indexed i;
    init(&i);
    booked(&i, "b", "early", 8, "Confirmed");
    const struct object *one = booked(&i, "b", "one", 9, "Confirmed");
    booked(&i, "b", "two", 9, "Confirmed");
    booked(&i, "b", "asked", 9, "Pending"); /* and says the word elsewhere */
    booked(&i, "a", "else", 9, "Confirmed");
    booked(&i, "c", "after", 9, "Confirmed");
    booked(&i, "b", "late", 10, "Confirmed");
    assert_string_equal(at(&i, "b", 9), "one two ");
    assert_string_equal(at(&i, "b", 8), "early ");
    assert_string_equal(at(&i, "b", 7), "");
    assert_string_equal(at(&i, "b", 11), "");
    assert_string_equal(at(&i, "d", 9), "");
    /* what was agreed goes before what was asked for, and a note is of what was there before */
    one = fake_world_patch(&i.w, "Reservation", "b", "one", "status",
                           "{\"status\":{\"start\":\"1970-01-01T10:00:00Z\"}}");
    struct booking_confirmed_row *row = map_get(&i.x.by_uid, one->uid);
    assert_int_equal(row->note, 7);
    assert_int_equal(booking_confirmed_put(&i.x, one, &i.a), 0);
    row = map_get(&i.x.by_uid, one->uid);
    assert_int_equal(row->note, 0);
    assert_string_equal(at(&i, "b", 9), "two ");
    assert_true(strstr(at(&i, "b", 10), "one ") != NULL);
    one = fake_world_patch(&i.w, "Reservation", "b", "one", "status",
                           "{\"status\":{\"phase\":\"Preparing\"}}");
    assert_int_equal(booking_confirmed_put(&i.x, one, &i.a), 0);
    assert_string_equal(at(&i, "b", 10), "late ");
    booking_confirmed_del(&i.x, fake_world_get(&i.w, "Reservation", "b", "late")->uid);
    booking_confirmed_del(&i.x, STR("nobody"));
    assert_string_equal(at(&i, "b", 10), "");
    release(&i);
}

static void without_memory(void **state) {
    struct indexed i;
    init(&i);
    const struct object *o = booked(&i, "b", "one", 9, "Confirmed");
    int r = ERR_NOMEM;
    for (long n = 1; r == ERR_NOMEM; n++) {
        assert_true(n < 100);
        mem_fault(n, false);
        r = booking_confirmed_put(&i.x, o, &i.a);
        mem_fault(0, false);
        assert_string_equal(at(&i, "b", 9), r == 0 ? "one " : "");
    }
    assert_int_equal(r, 0);
    release(&i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

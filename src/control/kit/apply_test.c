/* Tests of apply: a ConfigMap is kept as its intent says, in the fake world. */
#include "control/kit/apply.h"

#include "base/test.h"
#include "control/kit/controller.h"
#include "control/kit/views.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct str_pair intended;
static const char *reverted = "An edit was undone";
static bool written;

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct round *r = controller_begin(c);
    struct meta meta = {.name = key.name, .namespace = key.ns};
    struct config_map map = {.metadata = &meta, .data = {&intended, 1}};
    struct apply x = {r, c->recorder, &c->arena, reverted, {STR("made-by"), STR("the test")}};
    written = apply_object(&x, c->kinds[0],
                           mirror_get(c->env.mirror, c->kinds[0], key.ns, key.name), &map, &meta);
    return round_end(r);
}

static void look(void *self, const struct change *ch) {
    struct controller *c = self;
    workqueue_add(c->queue, STR("default"), STR("kept"));
}

static void start(void *self) {
    struct controller *c = self;
    workqueue_add(c->queue, STR("default"), STR("kept"));
}

static const struct controller_row keeper = {
    .name = "keeper",
    .set = 1,
    .who = "keeper",
    CONTROLLER_KINDS({"", "ConfigMap", look, .may = MAY_CREATE | MAY_PATCH}),
    .step = step,
    .start = start,
};

static void *c;

static int setup(void **state) {
    struct err err = {0};
    fake_world_init(&w);
    reverted = "An edit was undone";
    intended = (struct str_pair){STR("color"), STR("blue")};
    c = controller_new(&keeper, &w.env, &err);
    assert_non_null(c);
    fake_world_run(&w, NS_PER_SEC);
    return 0;
}

static int teardown(void **state) {
    controller_free(c);
    fake_world_release(&w);
    return 0;
}

static const char *said(const char *dotted) {
    const struct object *o = fake_world_get(&w, "ConfigMap", "default", "kept");
    assert_non_null(o);
    return fake_world_text(o, dotted);
}

static void patch(const char *json) {
    fake_world_patch(&w, "ConfigMap", "default", "kept", "", json);
    fake_world_run(&w, 10 * NS_PER_SEC);
}

static void what_is_missing_is_made(void **state) {
    assert_string_equal(said("data.color"), "blue");
    assert_string_equal(said("metadata.annotations.made-by"), "the test");
    fake_world_delete(&w, "ConfigMap", "default", "kept", "Background");
    fake_world_run(&w, NS_PER_SEC);
    assert_string_equal(said("data.color"), "blue");
    assert_int_equal(fake_world_events(&w, "Reverted"), 0);
}

static void an_edit_is_undone_and_told(void **state) {
    uint64_t writes = w.writes;
    patch("{\"data\":{\"color\":\"red\"}}");
    assert_string_equal(said("data.color"), "blue");
    assert_int_equal(fake_world_events(&w, "Reverted"), 1);
    assert_true(w.writes > writes);
    assert_false(written); /* the last look found nothing to do */
}

static void what_the_intent_does_not_say_stays(void **state) {
    patch("{\"data\":{\"size\":\"L\"},\"metadata\":{\"labels\":{\"a\":\"b\"},"
          "\"annotations\":{\"made-by\":\"somebody\"}}}");
    assert_string_equal(said("data.size"), "L");
    assert_string_equal(said("data.color"), "blue");
    assert_string_equal(said("metadata.labels.a"), "b");
    assert_string_equal(said("metadata.annotations.made-by"), "somebody"); /* not owned */
    assert_int_equal(fake_world_events(&w, "Reverted"), 0);
}

static void another_intent_is_no_edit(void **state) {
    intended.value = STR("green");
    patch("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"); /* to be looked at */
    assert_string_equal(said("data.color"), "green");
    assert_int_equal(fake_world_events(&w, "Reverted"), 0);
}

static void without_a_text_nothing_is_told(void **state) {
    reverted = NULL;
    patch("{\"data\":{\"color\":\"red\"}}");
    assert_string_equal(said("data.color"), "blue");
    assert_int_equal(fake_world_events(&w, "Reverted"), 0);
}

static void what_is_being_deleted_comes_again(void **state) {
    patch("{\"metadata\":{\"finalizers\":[\"example.com/wait\"]}}");
    fake_world_delete(&w, "ConfigMap", "default", "kept", "Background");
    fake_world_run(&w, NS_PER_SEC);
    assert_true(written); /* not settled yet */
    patch("{\"metadata\":{\"finalizers\":null}}");
    assert_string_equal(said("data.color"), "blue");
    assert_string_equal(said("metadata.deletionTimestamp"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_missing_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(an_edit_is_undone_and_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_intent_does_not_say_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(another_intent_is_no_edit, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_text_nothing_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_being_deleted_comes_again, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

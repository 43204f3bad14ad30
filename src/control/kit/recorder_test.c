/* Tests of Events: repeats are counted, long messages are cut. */
#include "base/test.h"

#include "base/limits.h"
#include "control/kit/recorder.h"
#include "control/test/fake_world.h"

static bool keep(void *ctx, const struct object *o) {
    *(const struct object **)ctx = o;
    return false;
}

static const struct object *only_event(struct fake_world *w) {
    const struct object *o = NULL;
    assert_int_equal(fake_world_count(w, "Event"), 1);
    mirror_scan(w->mirror, kind_by_name(STR(""), STR("Event")), STR(""), keep, &o);
    return o;
}

static void message_of(size_t n, size_t want, const char *end) {
    static char text[4 * LIMIT_EVENT_MESSAGE], got[4 * LIMIT_EVENT_MESSAGE];
    struct fake_world w;
    fake_world_init(&w);
    const struct object *ns = fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                                                 "\"metadata\":{\"name\":\"default\"}}");
    struct recorder *r = recorder_new(&w.env, "test");
    memset(text, 'x', n);
    text[n] = '\0';
    recorder_event(r, ns, EVENT_WARNING, "Long", "%s", text);
    fake_world_run(&w, NS_PER_SEC);
    assert_true(str_copy(str_of(fake_world_text(only_event(&w), "message")), got, sizeof(got)));
    assert_int_equal(strlen(got), want);
    assert_string_equal(got + want - strlen(end), end);
    recorder_free(r);
    fake_world_release(&w);
}

static void cut(void **state) {
    message_of(10, 10, "xxxx");
    message_of(LIMIT_EVENT_MESSAGE, LIMIT_EVENT_MESSAGE, "xxxx");
    message_of(LIMIT_EVENT_MESSAGE + 1, LIMIT_EVENT_MESSAGE, "x ...");
    message_of(3 * LIMIT_EVENT_MESSAGE, LIMIT_EVENT_MESSAGE, "x ...");
}

static void counted(void **state) {
    struct fake_world w;
    fake_world_init(&w);
    const struct object *ns = fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                                                 "\"metadata\":{\"name\":\"default\"}}");
    struct recorder *r = recorder_new(&w.env, "test");
    for (int i = 0; i < 5; i++) {
        recorder_event(r, ns, EVENT_NORMAL, "Again", "the same");
        fake_world_run(&w, NS_PER_SEC);
    }
    assert_string_equal(fake_world_text(only_event(&w), "count"), "5");
    recorder_free(r);
    fake_world_release(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut),
        cmocka_unit_test(counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

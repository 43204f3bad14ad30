/* Tests of admission_key: whose a key is, and that no key has more priority than its project. */
#include "base/test.h"

#include "control/admit/admission.h"
#include "control/test/fake_world.h"

struct asked {
    struct fake_world w;
    struct admission *a;
    struct arena arena;
    struct admission_ask q;
};

static struct asked *asked(const char *notes) {
    static struct asked x;
    char json[512];
    fake_world_init(&x.w);
    x.a = admission_new(&(struct admission_options){.mirror = x.w.mirror});
    arena_init(&x.arena, 1 << 20);
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\","
                   "\"annotations\":{%s}}}",
                   notes);
    fake_world_put(&x.w, json);
    return &x;
}

static void done(struct asked *x) {
    admission_free(x->a);
    arena_release(&x->arena);
    fake_world_release(&x->w);
}

/* What ann may not write; "": all is well. */
static struct str ask(struct asked *x, const char *spec, const char *old) {
    struct err err = {0};
    yyjson_doc *was = NULL;
    x->q = (struct admission_ask){.op = old ? ADMISSION_UPDATE : ADMISSION_CREATE,
                                  .kind = fake_world_kind("ModelKey"),
                                  .version = STR("v1alpha1"),
                                  .ns = STR("team"),
                                  .name = STR("k"),
                                  .user = STR("ann"),
                                  .arena = &x->arena,
                                  .causes = {.arena = &x->arena}};
    if (old) {
        assert_ok(json_parse(&x->arena, arena_f(&x->arena, "{\"spec\":%s}", old), &was, &err),
                  &err);
        x->q.old = yyjson_doc_get_root(was);
    }
    struct str json = arena_f(&x->arena, "{\"metadata\":{\"name\":\"k\"},\"spec\":%s}", spec);
    assert_ok(json_parse_mut(&x->arena, json, &x->q.doc, &err), &err);
    x->q.obj = yyjson_mut_doc_get_root(x->q.doc);
    assert_ok(x->a->mutate(x->a, &x->q, &err), &err);
    assert_ok(x->a->validate(x->a, &x->q, &err), &err);
    return x->q.causes.n ? x->q.causes.v[0].text : STR("");
}

static void a_key_is_whose_it_is(void **state) {
    struct asked *x = asked("");
    assert_str_eq(ask(x, "{\"user\":\"bob\"}", NULL), STR(""));
    assert_str_eq(json_mstr_at(x->q.obj, "spec.user"), STR("ann"));
    done(x);
}

static void priority_is_bounded_by_the_project(void **state) {
    struct asked *x = asked("");
    assert_str_eq(ask(x, "{\"priority\":-5}", NULL), STR(""));
    assert_true(str_contains(ask(x, "{\"priority\":1}", NULL), STR("1: must be at most 0")));
    assert_true(str_contains(ask(x, "{\"priority\":1}", "{}"), STR("1: must be at most 0")));
    done(x);
    x = asked("\"berth.dev/model-priority-max\":\"10\"");
    assert_str_eq(ask(x, "{\"priority\":10}", NULL), STR(""));
    assert_true(str_contains(ask(x, "{\"priority\":11}", NULL), STR("11: must be at most 10")));
    done(x);
}

/* A bound that came later stops no one from revoking a key. */
static void what_was_allowed_can_still_be_revoked(void **state) {
    struct asked *x = asked("");
    assert_str_eq(ask(x, "{\"priority\":7,\"revoked\":true}", "{\"priority\":7}"), STR(""));
    assert_true(ask(x, "{\"priority\":8}", "{\"priority\":7}").n > 0);
    done(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_whose_it_is),
        cmocka_unit_test(priority_is_bounded_by_the_project),
        cmocka_unit_test(what_was_allowed_can_still_be_revoked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

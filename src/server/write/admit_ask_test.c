/* Tests of admit_ask: what the world's admission changes is stored, what it refuses is not, deletions included. */
#include "base/test.h"
#include "server/server.h"
#include "wire/json/json.h"

struct world {
    struct admission admission; /* first */
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
    enum admission_op op; /* of the last question */
    bool had_old;
    struct write_result last;
};

static int mutate(struct admission *a, struct admission_ask *q, struct err *err) {
    if (!str_is(str_of(q->kind->kind), "ConfigMap")) {
        return 0;
    }
    yyjson_mut_val *labels = json_mensure(q->doc, q->obj, "metadata.labels");
    return json_mset_str(q->doc, labels, "seen", STR("yes"));
}

static int validate(struct admission *a, struct admission_ask *q, struct err *err) {
    struct world *w = (struct world *)a;
    struct str name = q->obj != NULL ? json_mstr_at(q->obj, "metadata.name") : q->name;
    w->op = q->op;
    w->had_old = q->old != NULL;
    if (str_is(name, "denied")) {
        q->denied = STR("not here");
    } else if (str_is(name, "blamed")) {
        causes_add(&q->causes, CAUSE_INVALID, STR("data.x"), "Invalid value: 7: no");
    } else if (str_is(name, "later")) {
        return err_set(err, ERR_UNAVAILABLE, "not yet");
    } else if (str_is(name, "stays") && q->op == ADMISSION_DELETE) {
        q->denied = STR("it stays");
    }
    return 0;
}

static void done(void *ctx, const struct write_result *r) {
    struct world *w = ctx;
    w->last = *r;
    loop_stop(w->loop);
}

static void flush(void *ctx) {
    mirror_flush(((struct world *)ctx)->mirror);
}

static void staged(void *ctx) {
    assert_int_equal(loop_defer(((struct world *)ctx)->loop, flush, ctx), 0);
}

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    w = (struct world){.admission = {mutate, validate}, .loop = loop_new(&err)};
    struct mirror_options mo = {.clock = loop_clock(w.loop), .staged = staged, .staged_ctx = &w};
    w.mirror = mirror_new(&mo);
    struct server_options so = {
        .loop = w.loop, .mirror = w.mirror, .admission = &w.admission, .host = STR("127.0.0.1")};
    w.server = server_new(&so, &err);
    assert_non_null(w.server);
    assert_ok(server_bootstrap(w.server,
                               STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
                                   "\"name\":\"default\"}}"),
                               &err),
              &err);
    mirror_flush(w.mirror);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    server_free(w->server);
    mirror_free(w->mirror);
    loop_free(w->loop);
    return 0;
}

static const struct kind *config_map(void) {
    return kind_by_name(STR(""), STR("ConfigMap"));
}

static int create(struct world *w, const char *name) {
    char json[256];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"}}", name);
    writer_create(server_writer(w->server), "test", config_map(), STR("default"), str_of(json),
                  done, w);
    loop_run(w->loop);
    return w->last.code;
}

static const struct object *get(struct world *w, const char *name) {
    return mirror_get(w->mirror, config_map(), STR("default"), str_of(name));
}

static void asked(void **state) {
    struct world *w = *state;
    assert_int_equal(create(w, "fine"), 0);
    assert_true(w->op == ADMISSION_CREATE && !w->had_old);
    assert_str_eq(object_label(get(w, "fine"), STR("seen")), STR("yes"));
    writer_patch(server_writer(w->server), "test", config_map(), STR("default"), STR("fine"), "",
                 PATCH_MERGE, STR("{\"metadata\":{\"labels\":null},\"data\":{\"a\":\"b\"}}"), done,
                 w);
    loop_run(w->loop);
    assert_int_equal(w->last.code, 0);
    assert_true(w->op == ADMISSION_UPDATE && w->had_old);
    assert_str_eq(object_label(get(w, "fine"), STR("seen")), STR("yes"));
}

static void refused(void **state) {
    struct world *w = *state;
    assert_int_equal(create(w, "denied"), ERR_FORBIDDEN);
    assert_true(str_contains(str_of(w->last.err.text), STR("is forbidden: not here")));
    assert_int_equal(create(w, "blamed"), ERR_INVALID);
    assert_true(str_contains(str_of(w->last.err.text), STR("data.x: Invalid value: 7: no")));
    assert_int_equal(create(w, "later"), ERR_UNAVAILABLE);
    assert_null(get(w, "denied"));
    assert_null(get(w, "blamed"));
    assert_null(get(w, "later"));
}

static void deletions(void **state) {
    struct world *w = *state;
    assert_int_equal(create(w, "stays"), 0);
    assert_int_equal(create(w, "goes"), 0);
    writer_remove(server_writer(w->server), "test", config_map(), STR("default"), STR("stays"),
                  NULL, done, w);
    loop_run(w->loop);
    assert_int_equal(w->last.code, ERR_FORBIDDEN);
    assert_true(w->op == ADMISSION_DELETE && w->had_old);
    assert_non_null(get(w, "stays"));
    writer_remove(server_writer(w->server), "test", config_map(), STR("default"), STR("goes"), NULL,
                  done, w);
    loop_run(w->loop);
    assert_int_equal(w->last.code, 0);
    assert_null(get(w, "goes"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(asked, setup, teardown),
        cmocka_unit_test_setup_teardown(refused, setup, teardown),
        cmocka_unit_test_setup_teardown(deletions, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of the writer's end: an answer that waits for its turn when the server goes reaches nobody. */
#include "base/test.h"
#include "server/server.h"

static void on_done(void *ctx, const struct write_result *r) {
    ++*(int *)ctx;
}

static void nobody_is_told_after_the_end(void **state) {
    struct err err = {0};
    int told = 0;
    struct loop *loop = loop_new(&err);
    struct mirror_options mo = {.clock = loop_clock(loop)};
    struct mirror *mirror = mirror_new(&mo);
    struct server_options so = {.loop = loop, .mirror = mirror, .host = STR("127.0.0.1")};
    struct server *server = server_new(&so, &err);
    assert_non_null(server);
    const struct kind *map = kind_by_name(STR(""), STR("ConfigMap"));
    writer_patch(server_writer(server), "me", map, STR("a"), STR("none"), "", PATCH_MERGE,
                 STR("{}"), on_done, &told);
    assert_int_equal(told, 0); /* never inside the call */
    server_free(server);
    mirror_free(mirror);
    loop_free(loop); /* runs what was deferred */
    assert_int_equal(told, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_told_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

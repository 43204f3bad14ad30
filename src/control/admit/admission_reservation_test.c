/* Tests of admission_reservation: who books, who may change what, and what the planner says at once. */
#include "control/admit/admission.h"
#include "control/test/reservation_scene.h"

struct asked {
    struct scene s;
    struct admission *a;
    struct arena arena;
    const char *rights; /* subresources that the asker may update */
    struct admission_ask q;
};

static bool may(const struct admission_ask *q, const char *verb, const char *group,
                const char *resource, const char *subresource, struct str ns) {
    const struct asked *x = q->may_ctx;
    return ns.n > 0 && str_contains(str_of(x->rights), str_of(subresource));
}

static struct asked *asked(void) {
    static struct asked x;
    scene_init(&x.s, 1);
    x.rights = "";
    x.a = admission_new(&(struct admission_options){
        .mirror = x.s.w.mirror, .virtuals = x.s.w.env.virtuals, .zones = x.s.zones});
    arena_init(&x.arena, 64 << 20);
    return &x;
}

static void done(struct asked *x) {
    admission_free(x->a);
    arena_release(&x->arena);
    scene_release(&x->s);
}

/* Asks both questions about a spec; `old`: what is stored. */
static void ask(struct asked *x, const char *user, const char *name, const char *spec,
                const struct object *old) {
    struct err err = {0};
    yyjson_doc *was = NULL;
    x->q = (struct admission_ask){.op = old ? ADMISSION_UPDATE : ADMISSION_CREATE,
                                  .kind = fake_world_kind("Reservation"),
                                  .version = STR("v1alpha1"),
                                  .ns = STR("a"),
                                  .name = str_of(name),
                                  .user = str_of(user),
                                  .arena = &x->arena,
                                  .may = may,
                                  .may_ctx = x,
                                  .causes = {.arena = &x->arena}};
    if (old) {
        assert_int_equal(object_tree(old, &x->arena, &was, NULL), 0);
        x->q.old = yyjson_doc_get_root(was);
        x->q.doc = json_mut_copy(&x->arena, x->q.old);
        yyjson_mut_doc *patch;
        assert_ok(json_parse_mut(&x->arena, str_of(spec), &patch, &err), &err);
        yyjson_mut_val *to = json_mget(yyjson_mut_doc_get_root(x->q.doc), STR("spec")), *key;
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(yyjson_mut_doc_get_root(patch));
        while ((key = yyjson_mut_obj_iter_next(&it)) != NULL) {
            json_mset(x->q.doc, to, json_mstr(key),
                      yyjson_mut_val_mut_copy(x->q.doc, yyjson_mut_obj_iter_get_val(key)));
        }
    } else {
        struct str json =
            arena_f(&x->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", name, spec);
        assert_ok(json_parse_mut(&x->arena, json, &x->q.doc, &err), &err);
    }
    x->q.obj = yyjson_mut_doc_get_root(x->q.doc);
    assert_ok(x->a->mutate(x->a, &x->q, &err), &err);
    assert_ok(x->a->validate(x->a, &x->q, &err), &err);
}

#define ONE "\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]"
#define NINE "{\"start\":\"2026-03-01T09:00:00Z\",\"end\":\"2026-03-01T11:00:00Z\"," ONE

static void who_asks_is_written_down(void **state) {
    struct asked *x = asked();
    ask(x, "ann", "r", NINE "}", NULL);
    assert_str_eq(json_mstr(json_mget(json_mpath(x->q.obj, "metadata.annotations"),
                                      STR("berth.dev/requested-by"))),
                  STR("ann"));
    assert_true(x->q.denied.n == 0 && x->q.conflict.n == 0 && x->q.causes.n == 0);
    ask(x, "ann", "odd",
        "{\"start\":\"2026-03-01T12:07:00Z\",\"end\":\"2026-03-01T13:20:00Z\"," ONE "}", NULL);
    assert_str_eq(json_mstr_at(x->q.obj, "spec.start"), STR("2026-03-01T12:00:00Z"));
    assert_str_eq(json_mstr_at(x->q.obj, "spec.end"), STR("2026-03-01T13:30:00Z"));
    assert_int_equal(x->q.n_warnings, 2);
    done(x);
}

static void of_two_in_one_breath_one_is_told(void **state) {
    struct asked *x = asked();
    ask(x, "ann", "r", NINE "}", NULL);
    assert_true(x->q.conflict.n == 0);
    ask(x, "bob", "q", NINE "}", NULL);
    assert_true(str_contains(x->q.conflict, STR("0 of 1 nvidia.com/gpu are free")));
    assert_true(str_contains(x->q.conflict, STR("instead there is: 1 x nvidia.com/gpu")));
    assert_true(x->q.causes.n > 1);
    ask(x, "bob", "q", NINE ",\"waitlist\":true}", NULL);
    assert_true(x->q.conflict.n == 0);
    /* Nobody made it after all: the place is free again. */
    scene_minutes(&x->s, 1);
    ask(x, "bob", "q", NINE "}", NULL);
    assert_true(x->q.conflict.n == 0);
    done(x);
}

#define NOON "{\"start\":\"2026-03-01T12:00:00Z\",\"end\":\"2026-03-01T14:00:00Z\"," ONE

/* Who of two that ask for one name gets it is not known yet: nobody else gets the place of either. */
static void of_one_name_both_are_kept(void **state) {
    static const char *const times[] = {NINE "}", NOON "}"};
    struct asked *x = asked();
    for (size_t i = 0; i < 2; i++) {
        ask(x, "ann", "r", times[i], NULL);
        assert_true(x->q.conflict.n == 0);
    }
    for (size_t i = 0; i < 2; i++) {
        ask(x, "bob", "q", times[i], NULL);
        assert_true(x->q.conflict.n > 0);
    }
    scene_book(&x->s, "a", "r", 9, 11, SCENE_GPU, 1, NULL); /* it is known now */
    scene_minutes(&x->s, 1);
    assert_phase(&x->s, "a", "r", "Confirmed");
    ask(x, "bob", "q", times[0], NULL);
    assert_true(x->q.conflict.n > 0);
    ask(x, "bob", "q", times[1], NULL);
    assert_true(x->q.conflict.n == 0);
    done(x);
}

static void bookings_of_others_are_theirs(void **state) {
    struct asked *x = asked();
    scene_book(&x->s, "a", "r", 9, 11, SCENE_GPU, 1, NULL);
    scene_minutes(&x->s, 1);
    const struct object *o = fake_world_get(&x->s.w, "Reservation", "a", "r");
    ask(x, "a-user", "r", "{\"cancel\":{}}", o);
    assert_true(x->q.denied.n == 0 && x->q.causes.n == 0);
    ask(x, "eve", "r", "{\"cancel\":{}}", o);
    assert_true(x->q.denied.n > 0);
    x->rights = "manage";
    ask(x, "eve", "r", "{\"cancel\":{}}", o);
    assert_true(x->q.denied.n == 0);
    assert_int_equal(x->q.causes.n, 1); /* the reason */
    ask(x, "eve", "r", "{\"cancel\":{\"reason\":\"a rack moves\"}}", o);
    assert_int_equal(x->q.causes.n, 0);
    ask(x, "eve", "r", "{\"approval\":{\"decision\":\"approve\"}}", o);
    assert_true(x->q.denied.n > 0);
    x->rights =
        "approve"; /* in this project; nobody asked for it, and an administrator's is not hers */
    ask(x, "eve", "r", "{\"approval\":{\"decision\":\"approve\"}}", o);
    assert_true(x->q.denied.n > 0);
    o = fake_world_patch(&x->s.w, "Reservation", "a", "r", "status",
                         "{\"status\":{\"phase\":\"PendingApproval\",\"reason\":\"NeedsAdmin\"}}");
    ask(x, "eve", "r", "{\"approval\":{\"decision\":\"approve\"}}", o);
    assert_true(x->q.denied.n > 0);
    o = fake_world_patch(&x->s.w, "Reservation", "a", "r", "status",
                         "{\"status\":{\"reason\":\"NeedsManager\"}}");
    ask(x, "eve", "r", "{\"approval\":{\"decision\":\"approve\"}}", o);
    assert_true(x->q.denied.n == 0);
    /* It is for what the booking is then, and goes with it. */
    o = fake_world_patch(&x->s.w, "Reservation", "a", "r", "",
                         "{\"spec\":{\"approval\":{\"decision\":\"approve\"}}}");
    ask(x, "a-user", "r", "{\"purpose\":\"x\"}", o);
    assert_non_null(json_mpath(x->q.obj, "spec.approval"));
    ask(x, "a-user", "r", "{\"end\":\"2026-03-01T12:00:00Z\"}", o);
    assert_null(json_mpath(x->q.obj, "spec.approval"));
    ask(x, "ann", "for", NINE ",\"beneficiary\":{\"kind\":\"User\",\"name\":\"bob\"}}", NULL);
    assert_true(x->q.denied.n > 0);
    x->q.may = NULL;
    done(x);
}

/* By whose limits a booking is judged is changed by nobody but who may book for them. */
static void a_booking_is_not_shifted_to_others(void **state) {
    struct asked *x = asked();
    scene_book(&x->s, "a", "r", 9, 11, SCENE_GPU, 1, NULL);
    scene_minutes(&x->s, 1);
    const struct object *o =
        fake_world_patch(&x->s.w, "Reservation", "a", "r", "",
                         "{\"spec\":{\"beneficiary\":{\"kind\":\"User\",\"name\":\"bob\"}}}");
    ask(x, "bob", "r", "{\"beneficiary\":null}", o); /* back to its maker, a-user */
    assert_true(str_contains(x->q.denied, STR("you may not book for a-user")));
    ask(x, "bob", "r", "{\"beneficiary\":{\"kind\":\"User\",\"name\":\"a-user\"}}", o);
    assert_true(x->q.denied.n > 0);
    ask(x, "bob", "r", "{\"purpose\":\"x\"}", o);
    assert_true(x->q.denied.n == 0);
    ask(x, "a-user", "r", "{\"beneficiary\":null}", o);
    assert_true(x->q.denied.n == 0);
    x->rights = "onbehalf";
    ask(x, "bob", "r", "{\"beneficiary\":null}", o);
    assert_true(x->q.denied.n == 0);
    x->q.may = NULL;
    done(x);
}

/* Nobody's booking is made nobody's own. */
static void whose_it_is_is_not_claimed(void **state) {
    struct asked *x = asked();
    scene_book(&x->s, "a", "r", 9, 11, SCENE_GPU, 1, NULL);
    scene_minutes(&x->s, 1);
    const struct object *o =
        fake_world_patch(&x->s.w, "Reservation", "a", "r", "",
                         "{\"metadata\":{\"annotations\":{\"berth.dev/requested-by\":null}}}");
    for (int i = 0; i < 2; i++) {
        x->rights = i ? "manage" : "";
        ask(x, "eve", "r", "{}", o);
        assert_int_equal(x->q.causes.n, 0);
        json_mset_str(x->q.doc, json_mensure(x->q.doc, x->q.obj, "metadata.annotations"),
                      "berth.dev/requested-by", STR("eve"));
        assert_int_equal(x->a->validate(x->a, &x->q, &(struct err){0}), 0);
        assert_int_equal(x->q.causes.n, i ? 0 : 1);
    }
    x->q.may = NULL;
    done(x);
}

static void what_has_begun_is_fixed(void **state) {
    struct asked *x = asked();
    scene_book(&x->s, "a", "r", 1, 3, SCENE_GPU, 1, NULL);
    scene_book(&x->s, "b", "next", 4, 6, SCENE_GPU, 1, NULL);
    scene_hour(&x->s, 1.2);
    const struct object *o = fake_world_get(&x->s.w, "Reservation", "a", "r");
    ask(x, "a-user", "r", "{\"start\":\"2026-03-01T02:00:00Z\"}", o);
    assert_int_equal(x->q.causes.n, 1);
    assert_str_eq(x->q.causes.v[0].field, STR("spec.start"));
    ask(x, "a-user", "r", "{\"end\":\"2026-03-01T04:00:00Z\"}", o);
    assert_true(x->q.causes.n == 0 && x->q.conflict.n == 0);
    ask(x, "a-user", "r", "{\"end\":\"2026-03-01T05:00:00Z\"}", o);
    assert_true(x->q.conflict.n > 0);
    done(x);
}

/* ---- what anybody may ask ---- */

static char answer[200000];

static void told(void *ctx, int code, struct str json, const struct err *err) {
    assert_int_equal(code, 0);
    (void)snprintf(answer, sizeof answer, "%.*s", STR_ARG(json));
}

static bool may_list(const struct virtual_ask *q, const char *verb, const char *group,
                     const char *resource, struct str ns, struct str name) {
    return str_eq(ns, *(struct str *)q->may_ctx);
}

static void availability_names_only_ones_own(void **state) {
    struct asked *x = asked();
    struct str own = STR("a");
    struct virtual_param query[] = {{STR("from"), STR("2026-03-01T08:00:00Z")},
                                    {STR("to"), STR("2026-03-01T14:00:00Z")},
                                    {STR("step"), STR("1h")}};
    struct err err = {0};
    scene_book(&x->s, "a", "mine", 9, 10, SCENE_2G, 1, ",\"purpose\":\"my tests\"");
    scene_book(&x->s, "b", "theirs", 9, 12, SCENE_2G, 2, ",\"purpose\":\"their secret\"");
    scene_minutes(&x->s, 1);
    struct virtual_source *s =
        virtual_find(x->s.w.env.virtuals, STR("berth.dev"), STR("availabilities"), STR(""));
    struct virtual_ask q = {.verb = "list",
                            .kind = fake_world_kind("Availability"),
                            .query = query,
                            .n_query = 3,
                            .may = may_list,
                            .may_ctx = &own};
    struct virtual_call *call = NULL;
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "my tests"));
    assert_null(strstr(answer, "their secret"));
    assert_null(strstr(answer, "theirs"));
    assert_non_null(strstr(answer, "\"resource\":\"nvidia.com/mig-2g.35gb\",\"displayName\":"
                                   "\"NVIDIA H200, 2g.35gb\",\"memoryGiB\":32.5,\"gpuShare\":"
                                   "0.25,\"total\":3,\"slots\":[{\"start\":"
                                   "\"2026-03-01T08:00:00Z\","
                                   "\"end\":\"2026-03-01T09:00:00Z\",\"free\":3,\"total\":3},{"
                                   "\"start\":\"2026-03-01T09:00:00Z\",\"end\":"
                                   "\"2026-03-01T10:00:00Z\",\"free\":0,\"total\":3}"));
    query[2].value = STR("1s");
    assert_int_equal(s->ask(s, &q, told, NULL, &call, &err), ERR_BAD_REQUEST);
    done(x);
}

/* A queue's quota is no booking, also where another's booking cuts it in two. */
static void a_quota_that_was_raised_is_no_booking(void **state) {
    struct asked *x = asked();
    struct virtual_param query[] = {{STR("from"), STR("2026-03-01T08:00:00Z")},
                                    {STR("to"), STR("2026-03-01T14:00:00Z")},
                                    {STR("step"), STR("1h")}};
    struct err err = {0};
    struct str own = STR("a");
    struct virtual_call *call = NULL;
    scene_book(&x->s, "a", "mine", 9, 10, SCENE_GPU, 1, NULL);
    scene_minutes(&x->s, 1);
    fake_world_put(
        &x->s.w,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{"
        "\"name\":\"team\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":["
        "\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{\"name\":"
        "\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    scene_minutes(&x->s, 1);
    struct virtual_source *s =
        virtual_find(x->s.w.env.virtuals, STR("berth.dev"), STR("availabilities"), STR(""));
    struct virtual_ask q = {.verb = "list",
                            .kind = fake_world_kind("Availability"),
                            .query = query,
                            .n_query = 3,
                            .may = may_list,
                            .may_ctx = &own};
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "{\"start\":\"2026-03-01T08:00:00Z\",\"end\":\""
                                   "2026-03-01T09:00:00Z\",\"count\":1,\"phase\":\"Standing\"}"));
    assert_null(strstr(answer, "\"start\":null"));
    done(x);
}

static void a_check_says_what_would_come_of_it(void **state) {
    struct asked *x = asked();
    struct err err = {0};
    struct virtual_call *call = NULL;
    scene_book(&x->s, "b", "theirs", 9, 12, SCENE_GPU, 1, NULL);
    scene_minutes(&x->s, 1);
    struct virtual_source *s =
        virtual_find(x->s.w.env.virtuals, STR("berth.dev"), STR("reservationchecks"), STR(""));
    uint64_t before = calendar_digest(reservation_controller_calendar(x->s.c));
    struct virtual_ask q = {.verb = "create",
                            .kind = fake_world_kind("ReservationCheck"),
                            .ns = STR("a"),
                            .body = STR("{\"metadata\":{\"name\":\"x\"},\"spec\":" NINE "}}")};
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"fits\":false,\"phase\":\"Rejected\""));
    assert_non_null(strstr(answer, "\"kind\":\"Later\""));
    assert_null(strstr(answer, "theirs"));
    q.body = STR("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"start\":\"2026-03-01T12:00:00Z\","
                 "\"end\":\"2026-03-01T14:00:00Z\"," ONE "}}");
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"fits\":true,\"phase\":\"Confirmed\""));
    assert_non_null(strstr(answer, "\"cost\":{\"quoted\":\"2\"}"));
    assert_non_null(strstr(answer, "\"kind\":\"HardwareProfile\""));
    assert_int_equal(calendar_digest(reservation_controller_calendar(x->s.c)), before);
    done(x);
}

static bool may_all(const struct virtual_ask *q, const char *verb, const char *group,
                    const char *resource, struct str ns, struct str name) {
    return strcmp(resource, q->may_ctx) == 0;
}

/* Limits are those of who asks, whatever the object says, and of others only for those who may book for them. */
static void a_check_is_for_who_asks(void **state) {
    struct asked *x = asked();
    struct err err = {0};
    struct virtual_call *call = NULL;
    scene_policy(&x->s, "{\"limits\":{\"user\":{\"concurrentUnits\":1}}}");
    scene_book(&x->s, "a", "r", 9, 12, SCENE_2G, 1, NULL);
    scene_minutes(&x->s, 1);
    struct virtual_source *s =
        virtual_find(x->s.w.env.virtuals, STR("berth.dev"), STR("reservationchecks"), STR(""));
#define TEN                                                                                        \
    "\"start\":\"2026-03-01T10:00:00Z\",\"end\":\"2026-03-01T11:00:00Z\",\"lines\":[{"             \
    "\"resource\":\"nvidia.com/mig-2g.35gb\",\"count\":1}]"
    struct virtual_ask q = {
        .verb = "create",
        .kind = fake_world_kind("ReservationCheck"),
        .ns = STR("a"),
        .user = STR("eve"),
        .may = may_all,
        .may_ctx = (void *)(uintptr_t) "",
        .body = STR("{\"metadata\":{\"name\":\"x\",\"annotations\":{\"berth.dev/requested-by\":"
                    "\"a-user\"}},\"spec\":{" TEN "}}")};
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"fits\":true"));
    q.user = STR("a-user");
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"reason\":\"LimitReached\""));
    assert_non_null(strstr(answer, "\"alternatives\":[{\"kind\":\"Later\",\"start\":"
                                   "\"2026-03-01T12:00:00Z\""));
    q.user = STR("eve");
    q.body = STR("{\"metadata\":{\"name\":\"x\"},\"spec\":{" TEN
                 ",\"beneficiary\":{\"kind\":\"User\",\"name\":\"a-user\"}}}");
    assert_int_equal(s->ask(s, &q, told, NULL, &call, &err), ERR_FORBIDDEN);
    q.may_ctx = (void *)(uintptr_t) "reservations/onbehalf";
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"reason\":\"LimitReached\""));
    q.body = STR("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"name\":\"r\"," TEN "}}");
    assert_int_equal(s->ask(s, &q, told, NULL, &call, &err), ERR_FORBIDDEN);
    q.user = STR("a-user");
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"fits\":true"));
    q.user = STR("boss");
    q.may_ctx = (void *)(uintptr_t) "reservations/manage";
    assert_ok(s->ask(s, &q, told, NULL, &call, &err), &err);
    assert_non_null(strstr(answer, "\"fits\":true"));
    /* The same in the answer to a create. */
    ask(x, "a-user", "more", "{" TEN "}", NULL);
    assert_true(str_contains(x->q.conflict, STR("a-user may have 1 units at one time; with this it "
                                                "would be 2; instead there is: 1 x "
                                                "nvidia.com/mig-2g.35gb from 2026-03-01 12:00")));
    done(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_is_written_down),
        cmocka_unit_test(of_two_in_one_breath_one_is_told),
        cmocka_unit_test(of_one_name_both_are_kept),
        cmocka_unit_test(bookings_of_others_are_theirs),
        cmocka_unit_test(a_booking_is_not_shifted_to_others),
        cmocka_unit_test(whose_it_is_is_not_claimed),
        cmocka_unit_test(what_has_begun_is_fixed),
        cmocka_unit_test(availability_names_only_ones_own),
        cmocka_unit_test(a_quota_that_was_raised_is_no_booking),
        cmocka_unit_test(a_check_says_what_would_come_of_it),
        cmocka_unit_test(a_check_is_for_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

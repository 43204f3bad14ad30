/* Tests of wake: who is woken, who goes to sleep, and what is tried again. */
#include "kube/fake_server.h"
#include "world/gateway/wake.h"

struct fixture {
    struct fake_server api;
    struct wake *wake;
    struct log_fd log;
    struct wake_activity activity;
};

static struct wake_activity activity(void *ctx, struct str project, struct str service) {
    return ((struct fixture *)ctx)->activity;
}

static struct fixture *fixture(const struct fake_answer *script, size_t n, bool sleeps) {
    static struct fixture f;
    f = (struct fixture){0};
    fake_start(&f.api, script, n);
    log_fd_init(&f.log, LOG_ERROR, 2);
    f.wake = wake_new(&(struct wake_options){.loop = f.api.loop,
                                             .kube = f.api.client,
                                             .log = &f.log.log,
                                             .sleeps = sleeps,
                                             .activity = activity,
                                             .ctx = &f});
    assert_non_null(f.wake);
    return &f;
}

static void done(struct fixture *f) {
    wake_free(f->wake);
    fake_stop(&f->api);
}

static void set(struct fixture *f, int64_t replicas, int64_t idle_ns, bool can) {
    const struct model_wake v = {.project = STR("team"),
                                 .service = STR("s"),
                                 .deployment = STR("d"),
                                 .replicas = replicas,
                                 .idle_ns = idle_ns,
                                 .can = can};
    assert_int_equal(wake_set(f->wake, &v, 1), 0);
}

static void tell(struct fixture *f, unsigned worker, enum gateway_demand_what what, size_t held) {
    const struct routes_model m = {.project = STR("team"), .service = STR("s"), .name = STR("any")};
    const struct gateway_demand_event e = {.what = what, .model = &m, .held = held};
    wake_demand(f->wake)->tell(wake_demand(f->wake), worker, &e);
}

/* Until so many requests have come, in all. */
static void until(struct fixture *f, size_t n) {
    f->api.stop_at = n;
    loop_run(f->api.loop);
}

static void on_step(void *ctx) {
    loop_stop(ctx);
}

/* For so long, in which nothing is expected. */
static void pass(struct fixture *f, int64_t ms) {
    struct clock *c = loop_clock(f->api.loop);
    struct timer *t = c->timer_new(c, on_step, f->api.loop);
    f->api.stop_at = 0;
    c->timer_start(t, ms * NS_PER_MS);
    loop_run(f->api.loop);
    c->timer_free(t);
}

#define TO(n)                                                                                      \
    "PATCH /apis/apps/v1/namespaces/team/deployments/d/scale {\"spec\":{\"replicas\":" n "}}|"
static const struct fake_answer fine[] = {{200, "{}"}, {200, "{}"}};

static void the_first_that_waits_wakes_it_once(void **state) {
    struct fixture *f = fixture(fine, 2, false);
    set(f, 0, 0, true);
    tell(f, 3, GATEWAY_HELD, 1);
    tell(f, 3, GATEWAY_HELD, 2);
    tell(f, 200, GATEWAY_HELD, 1);
    until(f, 1);
    assert_str_eq(buf_view(&f->api.seen), STR(TO("1")));
    pass(f, 1500); /* it was answered: nothing more is written */
    set(f, 1, 0, true);
    pass(f, 1200);
    assert_int_equal(f->api.at, 1);
    done(f);
}

static void who_did_not_agree_is_left_alone(void **state) {
    struct fixture *f = fixture(fine, 2, true);
    set(f, 0, 0, false);
    tell(f, 0, GATEWAY_HELD, 1);
    pass(f, 1200);
    set(f, 2, 1, false);
    pass(f, 1200);
    assert_int_equal(f->api.at, 0);
    done(f);
}

/* A model that becomes known, or falls to zero, while somebody waits for it. */
static void a_late_model_is_woken(void **state) {
    struct fixture *f = fixture(fine, 2, false);
    tell(f, 0, GATEWAY_HELD, 1);
    pass(f, 20);
    assert_int_equal(f->api.at, 0);
    set(f, 0, 0, true);
    until(f, 1);
    assert_str_eq(buf_view(&f->api.seen), STR(TO("1")));
    done(f);
}

static void a_refused_patch_is_tried_again_while_somebody_waits(void **state) {
    static const struct fake_answer script[] = {
        {403, "{\"kind\":\"Status\",\"message\":\"no\",\"reason\":\"Forbidden\",\"code\":403}"},
        {403, "{\"kind\":\"Status\",\"message\":\"no\",\"reason\":\"Forbidden\",\"code\":403}"},
        {200, "{}"}};
    struct fixture *f = fixture(script, 3, false);
    set(f, 0, 0, true);
    tell(f, 0, GATEWAY_HELD, 1);
    until(f, 2);
    tell(f, 0, GATEWAY_ABANDONED, 0);
    pass(f, 2500);
    assert_int_equal(f->api.at, 2);
    done(f);
}

static void an_idle_model_goes_to_sleep(void **state) {
    struct fixture *f = fixture(fine, 2, true);
    f->activity.under_way = 1;
    set(f, 3, NS_PER_MS, true);
    pass(f, 1200);
    assert_int_equal(f->api.at, 0); /* somebody uses it */
    f->activity.under_way = 0;
    until(f, 1);
    assert_str_eq(buf_view(&f->api.seen), STR(TO("0")));
    done(f);
}

static void only_one_gateway_puts_to_sleep(void **state) {
    struct fixture *f = fixture(fine, 2, false);
    set(f, 1, NS_PER_MS, true);
    pass(f, 1200);
    assert_int_equal(f->api.at, 0);
    done(f);
}

static void what_waits_is_not_put_to_sleep(void **state) {
    struct fixture *f = fixture(fine, 2, true);
    tell(f, 0, GATEWAY_HELD, 1);
    pass(f, 20);
    set(f, 1, NS_PER_MS, true);
    pass(f, 1200);
    assert_int_equal(f->api.at, 0);
    tell(f, 0, GATEWAY_RELEASED, 0);
    until(f, 1);
    assert_str_eq(buf_view(&f->api.seen), STR(TO("0")));
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_waits_wakes_it_once),
        cmocka_unit_test(who_did_not_agree_is_left_alone),
        cmocka_unit_test(a_late_model_is_woken),
        cmocka_unit_test(a_refused_patch_is_tried_again_while_somebody_waits),
        cmocka_unit_test(an_idle_model_goes_to_sleep),
        cmocka_unit_test(only_one_gateway_puts_to_sleep),
        cmocka_unit_test(what_waits_is_not_put_to_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of tally: what is counted where, the page, and what is under way. */
#include "base/test.h"

#include "gateway/see/tally.h"

static const struct routes_backend backend = {.served = {"/mnt/models", 11}};
static const struct routes_model llama = {.name = {"llama", 5},
                                          .project = {"team", 4},
                                          .service = {"svc", 3},
                                          .backends = &backend,
                                          .n_backends = 1};

static struct gateway_seen seen(const struct routes_model *m) {
    return (struct gateway_seen){.model = m,
                                 .operation = STR("chat"),
                                 .status = 200,
                                 .end = GATEWAY_END_WELL,
                                 .begun_wall_ns = INT64_C(1000) * 1000000000,
                                 .took_ns = 1500000000,
                                 .first_ns = 30000000,
                                 .tokens_in = 10,
                                 .tokens_out = 20,
                                 .tokens_cached = -1,
                                 .bytes_in = 100,
                                 .bytes_out = 2000};
}

static bool has(struct request_tally *t, const char *line) {
    struct buf page;
    buf_init(&page, 0);
    tally_write(t, &page);
    bool found = str_contains(buf_view(&page), str_of(line));
    if (!found) {
        print_message("%s\n", buf_cstr(&page));
    }
    buf_release(&page);
    return found;
}

#define RUNNING "{project=\"team\",model_name=\"llama\",target_model_name=\"/mnt/models\"} "
#define CHAT                                                                                       \
    "{project=\"team\",model_name=\"llama\",target_model_name=\"/mnt/models\","                    \
    "gen_ai_operation_name=\"chat\""

static void workers_are_added_up(void **state) {
    struct request_tally *t = tally_new(2);
    struct gateway_seen s = seen(&llama);
    for (unsigned w = 0; w < 2; w++) {
        tally_started(t, w, &llama);
        tally_started(t, w, &llama);
        tally_ended(t, w, &s, true);
    }
    assert_true(has(t, "inference_objective_running_requests" RUNNING "2\n"));
    assert_true(has(t, "inference_objective_request_total" CHAT "} 2\n"));
    assert_true(
        has(t, "inference_objective_request_duration_seconds_bucket" CHAT ",le=\"1.28\"} 0\n"));
    assert_true(
        has(t, "inference_objective_request_duration_seconds_bucket" CHAT ",le=\"2.56\"} 2\n"));
    assert_true(has(t, "gen_ai_server_request_duration_seconds_sum" CHAT "} 3\n"));
    assert_true(has(t, "gen_ai_server_time_to_first_token_seconds_count" CHAT "} 2\n"));
    assert_true(has(t, "inference_objective_input_tokens_sum" CHAT "} 20\n"));
    assert_true(has(t, "inference_objective_output_tokens_sum" CHAT "} 40\n"));
    assert_true(has(t, "berth_gateway_hold_duration_seconds_count" CHAT "} 0\n"));
    tally_free(t);
}

static void errors_have_codes(void **state) {
    struct request_tally *t = tally_new(1);
    struct gateway_seen s = seen(&llama);
    s.refused = STR("rate_limit_exceeded");
    s.end = GATEWAY_END_REFUSED;
    tally_ended(t, 0, &s, false);
    tally_ended(t, 0, &s, false);
    s.refused = STR("");
    s.end = GATEWAY_END_WELL;
    s.status = 500;
    tally_ended(t, 0, &s, false);
    s.end = GATEWAY_END_CANCELLED;
    tally_ended(t, 0, &s, false);
    assert_true(has(t, "inference_objective_request_error_total" CHAT
                       ",error_code=\"rate_limit_exceeded\"} 2\n"));
    assert_true(has(t, "inference_objective_request_error_total" CHAT ",error_code=\"500\"} 1\n"));
    assert_true(
        has(t, "inference_objective_request_error_total" CHAT ",error_code=\"client_gone\"} 1\n"));
    tally_free(t);
}

static void a_model_knows_how_busy_it_is(void **state) {
    struct request_tally *t = tally_new(3);
    struct gateway_seen s = seen(&llama);
    assert_int_equal(tally_activity(t, STR("team"), STR("svc")).last_s, 0);
    tally_started(t, 0, &llama);
    tally_started(t, 2, &llama);
    assert_int_equal(tally_activity(t, STR("team"), STR("svc")).under_way, 2);
    assert_int_equal(tally_activity(t, STR("other"), STR("svc")).under_way, 0);
    tally_ended(t, 2, &s, true);
    assert_int_equal(tally_activity(t, STR("team"), STR("svc")).under_way, 1);
    assert_int_equal(tally_activity(t, STR("team"), STR("svc")).last_s, 1001);
    tally_free(t);
}

/* Names that nobody bounds do not fill memory, nor lose a count. */
static void too_many_models_are_one(void **state) {
    struct request_tally *t = tally_new(1);
    for (int i = 0; i < TALLY_ROWS_MAX + 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "m%d", i);
        struct routes_model m = {.name = str_of(name), .project = STR("p")};
        struct gateway_seen s = seen(&m);
        tally_ended(t, 0, &s, false);
    }
    assert_true(has(t, "inference_objective_request_total{project=\"\",model_name=\"other\","
                       "target_model_name=\"other\",gen_ai_operation_name=\"other\"} 100\n"));
    tally_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_are_added_up),
        cmocka_unit_test(errors_have_codes),
        cmocka_unit_test(a_model_knows_how_busy_it_is),
        cmocka_unit_test(too_many_models_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

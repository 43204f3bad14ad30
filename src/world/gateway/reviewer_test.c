/* Tests of reviewer: whose a token is, what it may, and what is kept when the API server does not answer. */
#include "kube/fake_server.h"
#include "world/gateway/reviewer.h"

struct fixture {
    struct fake_server api;
    struct mirror *mirror;
    struct reviewer *reviewer;
    struct key_store *store;
};

#define WHO(name)                                                                                  \
    "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"" name "\",\"groups\":[\"g\"]}}" \
    "}"
#define MAY "{\"status\":{\"allowed\":true}}"
#define MAY_NOT "{\"status\":{\"allowed\":false}}"
#define TOKEN "aaa.bbb.ccc"

static struct fixture *fixture(const struct fake_answer *script, size_t n) {
    static struct fixture f;
    static const struct str projects[] = {{"a", 1}, {"b", 1}};
    f = (struct fixture){0};
    fake_start(&f.api, script, n);
    f.mirror = mirror_new(&(struct mirror_options){.history_events = MIRROR_NO_HISTORY});
    f.reviewer = reviewer_new(&(struct reviewer_options){f.api.loop, f.api.client, f.mirror});
    f.store = key_store_new(&(struct key_store_options){reviewer_ask, f.reviewer});
    assert_true(f.mirror && f.reviewer && f.store);
    reviewer_to(f.reviewer, f.store);
    assert_int_equal(reviewer_projects(f.reviewer, projects, 2), 0);
    return &f;
}

static void done(struct fixture *f) {
    reviewer_free(f->reviewer);
    key_store_free(f->store);
    mirror_free(f->mirror);
    fake_stop(&f->api);
}

static enum gateway_key_found find(struct fixture *f, const struct gateway_key **ret) {
    struct clock *c = loop_clock(f->api.loop);
    struct gateway_keys *k = key_store_keys(f->store);
    return k->find(k, STR(TOKEN), clock_wall(c) / NS_PER_SEC, ret);
}

static void on_step(void *ctx) {
    loop_stop(ctx);
}

/* What the token is in the end; ASKING: it is asked about again, as nothing was learned. */
static enum gateway_key_found settled(struct fixture *f, const struct gateway_key **ret) {
    struct clock *c = loop_clock(f->api.loop);
    struct timer *t = c->timer_new(c, on_step, f->api.loop);
    enum gateway_key_found found = find(f, ret);
    for (int i = 0; i < 1000 && found == GATEWAY_KEY_ASKING && f->api.at <= f->api.n; i++) {
        c->timer_start(t, 10 * NS_PER_MS);
        loop_run(f->api.loop);
        found = find(f, ret);
    }
    c->timer_free(t);
    return found;
}

static void a_person_may_what_the_reviews_say(void **state) {
    static const struct fake_answer script[] = {{201, WHO("ann")}, {201, MAY}, {201, MAY}};
    struct fixture *f = fixture(script, 3);
    const struct gateway_key *k = NULL;
    assert_int_equal(settled(f, &k), GATEWAY_KEY_FOUND);
    assert_str_eq(k->subject, STR("ann"));
    assert_str_eq(k->project, STR("a"));
    assert_int_equal(k->n_projects, 2);
    assert_true(str_contains(
        buf_view(&f->api.seen),
        STR("POST /apis/authentication.k8s.io/v1/tokenreviews {\"apiVersion\":"
            "\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":{\"token\":\"" TOKEN
            "\"}}|")));
    assert_true(str_contains(buf_view(&f->api.seen),
                             STR("\"user\":\"ann\",\"groups\":[\"g\"],\"resourceAttributes\":{"
                                 "\"verb\":\"use\",\"group\":\"berth.dev\",\"resource\":"
                                 "\"models\",\"namespace\":\"b\"}")));
    key_store_keys(f->store)->release(key_store_keys(f->store), k);
    done(f);
}

/* The account's project pays only where the account may use its models. */
static void an_account_pays_at_home(void **state) {
    static const struct fake_answer yes[] = {
        {201, WHO("system:serviceaccount:b:robot")}, {201, MAY}, {201, MAY}};
    static const struct fake_answer no[] = {
        {201, WHO("system:serviceaccount:c:robot")}, {201, MAY_NOT}, {201, MAY_NOT}};
    struct fixture *f = fixture(yes, 3);
    const struct gateway_key *k = NULL;
    assert_int_equal(settled(f, &k), GATEWAY_KEY_FOUND);
    assert_str_eq(k->project, STR("b"));
    key_store_keys(f->store)->release(key_store_keys(f->store), k);
    done(f);
    f = fixture(no, 3);
    assert_int_equal(settled(f, &k), GATEWAY_KEY_FOUND);
    assert_int_equal(k->project.n, 0);
    assert_int_equal(k->n_projects, 0);
    key_store_keys(f->store)->release(key_store_keys(f->store), k);
    done(f);
}

static void nobodys_token_is_remembered(void **state) {
    static const struct fake_answer script[] = {{201, "{\"status\":{\"authenticated\":false}}"}};
    struct fixture *f = fixture(script, 1);
    const struct gateway_key *k;
    assert_int_equal(settled(f, &k), GATEWAY_KEY_UNKNOWN);
    assert_int_equal(find(f, &k), GATEWAY_KEY_UNKNOWN);
    assert_int_equal(f->api.at, 1);
    done(f);
}

/* A right that could not be asked for is not a right, nor the lack of one. */
static void what_was_not_answered_is_asked_again(void **state) {
    static const struct fake_answer script[] = {{201, WHO("ann")}, {500, "{}"}, {201, MAY},
                                                {201, WHO("ann")}, {201, MAY},  {201, MAY}};
    struct fixture *f = fixture(script, 6);
    const struct gateway_key *k = NULL;
    assert_int_equal(settled(f, &k), GATEWAY_KEY_FOUND);
    assert_int_equal(f->api.at, 6);
    assert_int_equal(k->n_projects, 2);
    key_store_keys(f->store)->release(key_store_keys(f->store), k);
    done(f);
}

static void questions_under_way_end_with_it(void **state) {
    struct fixture *f = fixture(NULL, 0);
    const struct gateway_key *k;
    assert_int_equal(find(f, &k), GATEWAY_KEY_ASKING);
    f->api.stop_at = 1;
    loop_run(f->api.loop);
    assert_int_equal(find(f, &k), GATEWAY_KEY_ASKING);
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_may_what_the_reviews_say),
        cmocka_unit_test(an_account_pays_at_home),
        cmocka_unit_test(nobodys_token_is_remembered),
        cmocka_unit_test(what_was_not_answered_is_asked_again),
        cmocka_unit_test(questions_under_way_end_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

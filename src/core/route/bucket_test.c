/* bucket_test: exact over any time, for steady and for greedy callers; limits are all or nothing; retries have a
 * budget. */
#include "core/route/bucket.h"

#include "base/prng.h"
#include "base/test.h"
#include "core/route/limits.h"
#include "core/route/retry.h"

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)

/* Whoever asks as often as he can, at random moments, gets limit * t + burst, within 1 %, and never more. */
static void exact(void **state) {
    static const int64_t limits[] = {1, 7, 60, 1000, 999983};
    struct prng r;

    prng_seed(&r, 7);
    for (size_t k = 0; k < sizeof(limits) / sizeof(*limits); k++) {
        struct bucket b;
        int64_t now = 12345, start = now, passed = 0, end = now + MINUTE / limits[k] * 2000;
        int64_t step = MINUTE / limits[k] / 64 + 1;
        bucket_init(&b, limits[k], 1, MINUTE, now);
        while (now < end) {
            if (bucket_allows(&b, 1, now)) {
                bucket_charge(&b, 1, now);
                passed++;
            }
            now += (int64_t)prng_below(&r, (uint64_t)step) + 1;
        }
        double want = (double)limits[k] * (double)(now - start) / (double)MINUTE + 1;
        assert_true((double)passed <= want);
        /* A burst of 1 loses the time to the next asking, which is 1/128 of an interval. */
        assert_true((double)passed > want * 0.99);
    }
}

static void steady(void **state) {
    struct bucket b;
    int64_t now = 0, passed = 0;
    bucket_init(&b, 600, 600, MINUTE, now);
    for (; now < 60 * MINUTE; now += SECOND / 100) { /* a hundred a second, ten allowed */
        if (bucket_allows(&b, 1, now)) {
            bucket_charge(&b, 1, now);
            passed++;
        }
    }
    assert_in_range(passed, 36000 + 600 - 1, 36000 + 600);
    bucket_charge(&b, 1, now);
    int64_t wait = bucket_wait(&b, 1, now);
    assert_true(wait > 0);
    assert_false(bucket_allows(&b, 1, now + wait - 1));
    assert_true(bucket_allows(&b, 1, now + wait)); /* to the nanosecond */
    bucket_init(&b, 7, 1, MINUTE, 0);
    bucket_charge(&b, 1, 0);
    assert_int_equal(bucket_wait(&b, 1, 0), MINUTE / 7 + 1);
    assert_true(bucket_allows(&b, 1, MINUTE / 7 + 1));
}

static void settled(void **state) {
    struct bucket b;
    bucket_init(&b, 6000, 6000, MINUTE, 0); /* 100 a second */
    assert_true(bucket_allows(&b, 1000, 0));
    bucket_charge(&b, 1000, 0);
    bucket_settle(&b, 1000 - 8000, 0); /* it took 8000 */
    assert_int_equal(bucket_left(&b, 0), 0);
    assert_int_equal(bucket_wait(&b, 1, 0), SECOND * 2001 / 100);
    bucket_settle(&b, 3000, 0);
    assert_int_equal(bucket_left(&b, 0), 1000);
    assert_true(bucket_allows(&b, 100000, MINUTE)); /* more than the burst: when it is full */
    bucket_init(&b, 0, 0, MINUTE, 0);
    assert_true(bucket_allows(&b, INT64_MAX, 0)); /* no limit */
    bucket_init(&b, 100, 100, MINUTE, 50);
    bucket_charge(&b, 100, 50);
    assert_false(bucket_allows(&b, 1, 10)); /* time that goes back gives nothing */
    bucket_change(&b, 1000, 1000, 50 + MINUTE / 2);
    assert_int_equal(bucket_left(&b, 50 + MINUTE / 2), 500);
}

static void all_or_nothing(void **state) {
    struct limits_set key, project;
    struct limits_set *both[] = {&key, &project};
    limits_init(&key, 10, 1000, 2, 0);
    limits_init(&project, 2, 100000, 0, 0);
    assert_int_equal(limits_take(both, 2, 100, 0).refused, LIMITS_NONE);
    assert_int_equal(limits_take(both, 2, 100, 0).refused, LIMITS_NONE);
    struct limits_answer a = limits_take(both, 2, 100, 0);
    assert_int_equal(a.refused, LIMITS_REQUESTS);
    assert_int_equal(a.set, 1);
    assert_int_equal(a.wait, MINUTE / 2);
    assert_int_equal(bucket_left(&key.requests, 0), 8); /* not charged */
    a = limits_take(both, 1, 100, 0);
    assert_int_equal(a.refused, LIMITS_STREAMS);
    limits_give(both, 2, 100, 1700, 0); /* longer than thought: the next one waits, nobody is cut */
    a = limits_take(both, 1, 100, 0);
    assert_int_equal(a.refused, LIMITS_TOKENS);
    assert_int_equal(a.wait, (900 + 0) * MINUTE / 1000);
}

static void retries(void **state) {
    struct retry_budget b;
    struct retry_request r = {0};
    int64_t passed = 0;
    retry_init(&b, 150000, 0, 0);
    for (int i = 0; i < 10000; i++) { /* everything fails */
        retry_request(&b, 0);
        passed += retry_may(&b, &r, RETRY_CONNECT, 0);
    }
    assert_int_equal(passed, 1500);
    retry_init(&b, 150000, 10, 0);
    assert_true(retry_may(&b, &r, RETRY_BUSY, 0)); /* a quiet one may as well */
    r.answered = true;
    assert_false(retry_may(&b, &r, RETRY_CONNECT, 0));
    r = (struct retry_request){.effects = true};
    assert_true(retry_may(&b, &r, RETRY_CONNECT, 0));
    assert_false(retry_may(&b, &r, RETRY_RESET, 0));
    r = (struct retry_request){.retries = RETRY_TRIES};
    assert_false(retry_may(&b, &r, RETRY_CONNECT, 0));
    r = (struct retry_request){0};
    assert_false(retry_may(&b, &r, RETRY_SERVER, 0));
    assert_false(retry_may(&b, &r, RETRY_TIMED_OUT, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),          cmocka_unit_test(steady),  cmocka_unit_test(settled),
        cmocka_unit_test(all_or_nothing), cmocka_unit_test(retries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
